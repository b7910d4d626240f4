//! Small blocks that nobody has: what each thread keeps of each class, and
//! the classes' chunks, which all threads share under a lock.
//!
//! A thread has freed blocks in a list, linked by slot numbers in their
//! metadata, and new ones in a row, which it hands out by address: so blocks
//! that are made one after the other lie one after the other.

use super::{SLOT_SHIFT, State, meta, meta_at, number_of, seat_of, slot_of};
use crate::arena::seats::Kind;
use crate::arena::{self, CHUNK, Found, NONE, Use};
use crate::lock::Lock;
use crate::size_class::{CLASSES, RECIPROCALS, SIZES};
use crate::thread::Thread;

/// A thread's free blocks of one class. Slot 0 is never a small block: chunk 0
/// is not handed out.
#[repr(C)]
pub struct Cache {
    /// The block that was freed last, and how many there are.
    first: u64,
    count: u32,
    /// Blocks that were freed of late, the oldest first. They rest before
    /// they are used again: a pointer that the program still has, and that
    /// dies soon, must not be taken for one to the block's next life.
    resting: u32,
    oldest: u64,
    /// The row of new blocks: its next one, how many are left, and whether
    /// their memory is zero.
    new: u64,
    /// The seat of the youngest that rests.
    youngest: u32,
    left: u16,
    clean: bool,
}

/// A class's chunks that have a free block.
struct Class {
    first: u32,
}

static SHARED: [Lock<Class>; CLASSES] = [const { Lock::new(Class { first: NONE }) }; CLASSES];

/// A block to hand out, and whether its memory is zero.
pub struct Taken {
    pub slot: u64,
    pub seat: usize,
    pub clean: bool,
}

impl Cache {
    /// Takes a block, if there is one without asking others.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Taken> {
        if self.first != 0 {
            let (slot, seat) = (self.first, seat_of(self.first));
            self.first = meta_at(seat).next();
            self.count -= 1;
            return Some(Taken { slot, seat, clean: false });
        }
        let slot = self.new;
        self.left = self.left.checked_sub(1)?;
        self.new += 1;
        Some(Taken { slot, seat: seat_of(slot), clean: self.clean })
    }

    /// Takes a freed block back.
    #[inline(always)]
    pub fn put(&mut self, class: usize, slot: u64, seat: usize) {
        match rest(class) {
            0 => self.push(slot, seat),
            most => {
                self.lay_down(slot, seat);
                if self.resting <= most {
                    return;
                }
                let (slot, seat) = self.take_up();
                self.push(slot, seat);
            }
        }
        if self.count > 2 * batch(class) {
            self.give_back(class, batch(class));
        }
    }

    /// Takes a freed block back that need not rest, if there is room for it.
    #[inline(always)]
    pub fn put_at_hand(&mut self, class: usize, slot: u64, seat: usize) -> bool {
        let has_room = self.count <= 2 * batch(class);
        if has_room {
            self.push(slot, seat);
        }
        has_room
    }

    #[inline(always)]
    fn push(&mut self, slot: u64, seat: usize) {
        meta_at(seat).set_free(self.first, State::Free);
        self.first = slot;
        self.count += 1;
    }

    #[inline(always)]
    fn lay_down(&mut self, slot: u64, seat: usize) {
        meta_at(seat).set_free(0, State::Free);
        if self.resting == 0 {
            self.oldest = slot;
        } else {
            meta_at(self.youngest as usize).set_free(slot, State::Free);
        }
        self.youngest = seat as u32;
        self.resting += 1;
    }

    /// The block that has rested longest; there is one.
    #[inline(always)]
    fn take_up(&mut self) -> (u64, usize) {
        let (slot, seat) = (self.oldest, seat_of(self.oldest));
        self.oldest = meta_at(seat).next();
        self.resting -= 1;
        (slot, seat)
    }

    /// Gets freed blocks, or a row of new ones where there are none.
    fn refill(&mut self, class: usize) {
        let mut shared = SHARED[class].lock();
        while self.count < batch(class) && self.left == 0 {
            let index = match shared.first {
                NONE => match new_chunk(class) {
                    Some(index) => {
                        shared.link(index);
                        index
                    }
                    None => break,
                },
                first => first as usize,
            };
            // SAFETY: a listed chunk of this class, under its lock.
            let chunk = unsafe { &mut *arena::chunk(index) };
            if chunk.free > 0 {
                let count = chunk.free.min(batch(class) - self.count);
                let first = slot_of(index, u64::from(chunk.first_free));
                let mut last = first;
                for _ in 1..count {
                    last = meta(last).next();
                }
                chunk.first_free = number_of(meta(last).next());
                chunk.free -= count;
                meta(last).set_free(self.first, State::Free);
                self.first = first;
                self.count += count;
            } else {
                let count = (chunk.capacity - chunk.carved).min(batch(class));
                (self.new, self.left) = (slot_of(index, u64::from(chunk.carved)), count as u16);
                self.clean = !chunk.dirty;
                chunk.carved += count;
            }
            if chunk.free == 0 && chunk.carved == chunk.capacity {
                shared.unlink(index);
            }
        }
    }

    #[cold]
    fn give_back(&mut self, class: usize, count: u32) {
        let mut shared = SHARED[class].lock();
        for _ in 0..count {
            let slot = self.first;
            self.first = meta(slot).next();
            self.count -= 1;
            shared.take_back(slot);
        }
    }
}

/// A block of a class of which the thread has none; `None` if there is no
/// memory.
#[cold]
pub fn refill(thread: &mut Thread, class: usize) -> Option<Taken> {
    if !arena::ready() {
        return None;
    }
    thread.caches[class].refill(class);
    thread.caches[class].take()
}

/// Gives all of a thread's free blocks back.
pub fn flush(thread: &mut Thread) {
    for (class, cache) in thread.caches.iter_mut().enumerate() {
        while cache.resting > 0 {
            let (slot, seat) = cache.take_up();
            cache.push(slot, seat);
        }
        for slot in cache.new..cache.new + u64::from(cache.left) {
            cache.push(slot, seat_of(slot));
        }
        cache.left = 0;
        if cache.count > 0 {
            cache.give_back(class, cache.count);
        }
    }
}

pub fn before_fork() {
    SHARED.iter().for_each(Lock::acquire);
}

pub fn after_fork() {
    SHARED.iter().for_each(Lock::release);
}

/// Blocks of a class that rest in each thread; none where pointers are not
/// followed.
#[inline(always)]
fn rest(class: usize) -> u32 {
    static RESTS: [u32; CLASSES] = fitting(1 << 15, 256);
    if arena::is_followed() || cfg!(test) { RESTS[class] } else { 0 }
}

/// Blocks moved between a thread and its class at a time.
#[inline(always)]
fn batch(class: usize) -> u32 {
    static BATCHES: [u32; CLASSES] = fitting(1 << 13, 128);
    BATCHES[class]
}

/// For each class, how many blocks take so many bytes: one at least, and not
/// more than `most`.
const fn fitting(bytes: u32, most: u32) -> [u32; CLASSES] {
    let mut counts = [1; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        let count = bytes / SIZES[class];
        if count > most {
            counts[class] = most;
        } else if count > 1 {
            counts[class] = count;
        }
        class += 1;
    }
    counts
}

fn new_chunk(class: usize) -> Option<usize> {
    let index = super::take_chunk(Kind::of_class(class))?;
    // SAFETY: the chunk is ours.
    let chunk = unsafe { &mut *arena::chunk(index) };
    chunk.class = class as u8;
    chunk.capacity = CHUNK as u32 / SIZES[class];
    chunk.reciprocal = RECIPROCALS[class];
    arena::set_step(index, Found::By(RECIPROCALS[class]), chunk.seat(0));
    chunk.carved = 0;
    chunk.free = 0;
    chunk.listed = false;
    chunk.start = 0;
    chunk.set_usage(Use::Small);
    if !chunk.dirty && arena::top() > POPULATED_FROM {
        arena::populate(index);
    }
    Some(index)
}

/// Chunks of a heap that is so large that one of each class, got whole from
/// the system before it is needed, is little beside it.
const POPULATED_FROM: usize = (32 << 20) / CHUNK;

impl Class {
    fn take_back(&mut self, slot: u64) {
        let index = (slot >> SLOT_SHIFT) as usize;
        // SAFETY: the block's chunk belongs to this class, whose lock is held.
        let chunk = unsafe { &mut *arena::chunk(index) };
        let next = if chunk.free > 0 { slot_of(index, u64::from(chunk.first_free)) } else { 0 };
        meta(slot).set_free(next, State::Free);
        chunk.first_free = number_of(slot);
        chunk.free += 1;
        if !chunk.listed {
            self.link(index);
        }
        // One empty chunk is kept, against going to and fro.
        if chunk.free == chunk.carved && !(self.first == index as u32 && chunk.next == NONE) {
            self.unlink(index);
            arena::give(index, 1);
        }
    }

    fn link(&mut self, index: usize) {
        if self.first != NONE {
            // SAFETY: a listed chunk of this class, under its lock.
            unsafe { (*arena::chunk(self.first as usize)).previous = index as u32 };
        }
        // SAFETY: a chunk of this class, under its lock.
        let chunk = unsafe { &mut *arena::chunk(index) };
        chunk.next = self.first;
        chunk.previous = NONE;
        chunk.listed = true;
        self.first = index as u32;
    }

    fn unlink(&mut self, index: usize) {
        // SAFETY: listed chunks of this class, under its lock.
        unsafe {
            let chunk = &mut *arena::chunk(index);
            match chunk.previous {
                NONE => self.first = chunk.next,
                previous => (*arena::chunk(previous as usize)).next = chunk.next,
            }
            if chunk.next != NONE {
                (*arena::chunk(chunk.next as usize)).previous = chunk.previous;
            }
            chunk.listed = false;
        }
    }
}
