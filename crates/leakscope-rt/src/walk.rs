//! Call stacks of the running thread, as numbers.
//!
//! From one allocation to the next a stack mostly changes at its inner end. So
//! each thread keeps a [`Trail`] of the frames of its last walk through code
//! that keeps frame pointers. A new walk goes outwards only until it meets a
//! frame of the trail, and then checks that the frames further out still say
//! what they said: those loads do not depend on each other, unlike the steps
//! of a walk. Stacks that are too deep for a trail, or in which foreign code
//! calls back into the program, are walked from end to end.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::thread::{self, Thread};
use crate::unwind::Frame;
use crate::{depot, heap, modules};

/// Frames of a trail; no stack is kept longer.
pub const DEPTH_MAX: usize = 64;

/// Frames that are written down, and kept of stacks that have no trail.
static DEPTH: AtomicUsize = AtomicUsize::new(32);

pub fn set_depth(depth: usize) {
    DEPTH.store(depth.clamp(1, DEPTH_MAX), Ordering::Relaxed);
}

pub fn depth() -> usize {
    DEPTH.load(Ordering::Relaxed)
}

/// Frame of the function that the program called, from which walks start.
#[derive(Clone, Copy)]
pub struct Caller {
    pub frame: usize,
}

/// The frame of the function in which it stands.
#[macro_export]
macro_rules! caller {
    () => {{
        let frame: usize;
        // SAFETY: reads the frame pointer, which this crate is built with.
        unsafe { core::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
        $crate::walk::Caller { frame }
    }};
}

/// The frames of the last walk, outermost first. Zero bytes are an empty one.
#[repr(C)]
pub struct Trail {
    /// Frame pointers, and the two words at each: the caller's frame pointer
    /// and the return address.
    pointers: [usize; DEPTH_MAX],
    words: [[u64; 2]; DEPTH_MAX],
    /// Of the return addresses from the outermost to this one.
    hashes: [u64; DEPTH_MAX],
    count: usize,
    /// End of the stack on which it lies.
    high: usize,
    /// Walks to come that do not try to keep a trail.
    pause: u32,
}

/// Whether the code that called us was derived, in a program that was derived
/// as a whole: then the thread's context is that of the call.
#[inline(always)]
pub fn is_derived(caller: Caller) -> bool {
    // SAFETY: the frame of our own function, which has a frame pointer.
    modules::is_framed(unsafe { words_at(caller.frame) }[1])
}

/// Number of the stack that ends in the code which called us to allocate.
#[inline]
pub fn stack(thread: &mut Thread, caller: Caller) -> u32 {
    let Some((first, high)) = first_frame(thread, caller) else { return 0 };
    let trail = &mut thread.trail;
    if trail.pause == 0
        && let Some((frame, inner)) = leave_foreign_code(first, high)
        && let Some(outer) = trail.follow(frame.pointer, frame.stack, high)
    {
        let hash = depot::mix(depot::mix(outer, frame.address), inner);
        return depot::number_of(hash, |frames| collect(first, high, frames));
    }
    without_trail(trail, first, high)
}

/// Number of the innermost frames alone.
#[inline]
pub fn short_stack<const FRAMES: usize>(thread: &mut Thread, caller: Caller) -> u32 {
    let Some((first, high)) = first_frame(thread, caller) else { return 0 };
    let Frame { mut address, mut stack, mut pointer } = first;
    let (mut hash, mut count) = (depot::mix(0, address), 1);
    while count < FRAMES && modules::is_framed(address) && is_frame(pointer, stack, high) {
        // SAFETY: between a live frame and the end of the same stack.
        let [next, outer] = unsafe { words_at(pointer) };
        (address, stack, pointer) = (outer, pointer + 16, next as usize);
        hash = depot::mix(hash, address);
        count += 1;
    }
    if count == 1 {
        return short_foreign_stack(first, high, FRAMES);
    }
    depot::number_of(hash, |frames| collect(first, high, &mut frames[..count]))
}

/// The same where the innermost code keeps no frame pointers.
#[cold]
fn short_foreign_stack(first: Frame, high: usize, count: usize) -> u32 {
    let mut frames = [0; DEPTH_MAX];
    let count = collect(first, high, &mut frames[..count]);
    number_of(&frames[..count])
}

/// Whether a frame pointer can be one, in a frame that begins at `low`.
#[inline(always)]
fn is_frame(pointer: usize, low: usize, high: usize) -> bool {
    pointer.is_multiple_of(8) && pointer >= low && pointer <= high.wrapping_sub(16)
}

/// The innermost frame of the program, and the end of its stack.
#[inline(always)]
fn first_frame(thread: &mut Thread, caller: Caller) -> Option<(Frame, usize)> {
    if thread.busy > 0 {
        return None;
    }
    if !thread.known {
        thread::learn(thread);
    }
    // SAFETY: the frame of our own function, which has a frame pointer.
    let [pointer, address] = unsafe { words_at(caller.frame) };
    let frame = Frame { address, stack: caller.frame + 16, pointer: pointer as usize };
    Some((frame, bounds(thread, caller.frame)))
}

/// The innermost frame of code that keeps frame pointers, and the hash of
/// those inside it: `strdup` or `std::string` may have asked for the block.
#[inline(always)]
fn leave_foreign_code(mut frame: Frame, high: usize) -> Option<(Frame, u64)> {
    let mut hash = 0;
    for _ in 0..8 {
        if modules::is_framed(frame.address) {
            return Some((frame, hash));
        }
        hash = depot::mix(hash, frame.address);
        frame = frame.caller(high)?;
    }
    None
}

#[cold]
fn without_trail(trail: &mut Trail, first: Frame, high: usize) -> u32 {
    trail.pause = trail.pause.saturating_sub(1);
    let mut frames = [0; DEPTH_MAX];
    let count = collect(first, high, &mut frames[..DEPTH.load(Ordering::Relaxed)]);
    number_of(&frames[..count])
}

fn number_of(frames: &[u64]) -> u32 {
    let hash = frames.iter().fold(0, |hash, &address| depot::mix(hash, address));
    depot::number_of(hash, |all| {
        all[..frames.len()].copy_from_slice(frames);
        frames.len()
    })
}

/// Walks as far as there is room. Returns how many frames there are.
fn collect(first: Frame, high: usize, frames: &mut [u64]) -> usize {
    let (mut count, mut next) = (0, Some(first));
    while let Some(frame) = next.filter(|frame| frame.address != 0 && count < frames.len()) {
        frames[count] = frame.address;
        count += 1;
        next = frame.caller(high);
    }
    count
}

impl Trail {
    /// Makes this the trail of the stack whose innermost frame pointer is
    /// given, and returns the hash of its addresses. `None` if it cannot be
    /// kept; the trail is empty then.
    #[inline]
    fn follow(&mut self, mut pointer: usize, mut low: usize, high: usize) -> Option<u64> {
        if self.high != high {
            self.high = high;
            self.count = 0;
        }
        let mut new = [const { MaybeUninit::<usize>::uninit() }; DEPTH_MAX];
        let (mut kept, mut count, mut checked) = (self.count, 0, false);
        let mut hash = loop {
            while kept > 0 && self.pointers[kept - 1] < pointer {
                kept -= 1;
            }
            if kept > 0 && self.pointers[kept - 1] == pointer {
                let valid = if checked { kept } else { self.valid(kept) };
                if valid == kept {
                    break self.hashes[kept - 1];
                }
                // Further out is a frame that was made anew; the walk goes on
                // until it is past that one.
                (kept, checked) = (valid, true);
            }
            if kept + count >= DEPTH_MAX - 8 || !is_frame(pointer, low, high) {
                return self.give_up();
            }
            new[count].write(pointer);
            count += 1;
            // SAFETY: between a live frame and the end of the same stack.
            let [next, address] = unsafe { words_at(pointer) };
            low = pointer + 16;
            if !modules::is_framed(address) {
                let outside = Frame { address, stack: low, pointer: next as usize };
                match hash_outside(outside, high) {
                    Some(hash) => break hash,
                    None => return self.give_up(),
                }
            }
            pointer = next as usize;
        };
        for pointer in new[..count].iter().rev() {
            // SAFETY: written above.
            let pointer = unsafe { pointer.assume_init() };
            // SAFETY: checked and read above.
            let words = unsafe { words_at(pointer) };
            hash = depot::mix(hash, words[1]);
            (self.pointers[kept], self.words[kept], self.hashes[kept]) = (pointer, words, hash);
            kept += 1;
        }
        self.count = kept;
        Some(hash)
    }

    /// How many of the outer `count` frames still say the same, up to the
    /// first that does not.
    #[inline(always)]
    fn valid(&self, count: usize) -> usize {
        // SAFETY: the pointers lie on this stack, above a frame that was just
        // met, and below the end that the stack has now.
        let now = |pointer: usize| unsafe { words_at(pointer) };
        let mut frames = self.pointers[..count].iter().zip(&self.words[..count]);
        frames.position(|(&pointer, words)| now(pointer) != *words).unwrap_or(count)
    }

    #[cold]
    fn give_up(&mut self) -> Option<u64> {
        self.count = 0;
        self.pause = 64;
        None
    }
}

/// The two words at a frame pointer. Each by itself: they were written by two
/// instructions, perhaps just now, and one load of both would have to wait
/// for these to reach the cache.
///
/// # Safety
/// Readable memory of the stack.
#[inline(always)]
unsafe fn words_at(pointer: usize) -> [u64; 2] {
    let words = pointer as *const u64;
    // SAFETY: as the caller says.
    unsafe { [core::ptr::read_volatile(words), core::ptr::read_volatile(words.add(1))] }
}

/// Hash of the frames of foreign code at the outer end of a stack, as libc's
/// below `main`; they stay as they are while the program runs inside them.
/// `None` if the program is further out again, as it is around `qsort`.
#[cold]
fn hash_outside(outside: Frame, high: usize) -> Option<u64> {
    let (mut hash, mut next) = (0, Some(outside));
    while let Some(frame) = next.filter(|frame| frame.address != 0) {
        // The program's entry point is outermost, and has no frame.
        if modules::is_framed(frame.address) && frame.pointer != 0 {
            return None;
        }
        hash = depot::mix(hash, frame.address);
        next = frame.caller(high);
    }
    Some(hash)
}

/// The end of the stack that `address` lies on.
#[inline(always)]
fn bounds(thread: &mut Thread, address: usize) -> usize {
    if (thread.stack_low..thread.stack_high).contains(&address) {
        thread.stack_high
    } else if (thread.other_low..thread.other_high).contains(&address) {
        thread.other_high
    } else {
        other_bounds(thread, address)
    }
}

/// A signal stack or a coroutine's: a block of ours, or some mapping.
#[cold]
fn other_bounds(thread: &mut Thread, address: usize) -> usize {
    let (low, high) = match heap::find(address) {
        Some(block) => (block.start, block.start + block.room),
        None => crate::maps::around(address).unwrap_or((address, address)),
    };
    (thread.other_low, thread.other_high) = (low, high);
    high
}
