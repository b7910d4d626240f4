//! The program's heap: small blocks of one size class in a chunk, large ones
//! in chunks of their own. What is known of a block lies outside of it, and is
//! found from any address inside in a few instructions: the chunk's
//! descriptor, one multiplication.
//!
//! Freed memory rests for a while before it is used again: a pointer that the
//! program forgot to clear must not be taken for one to another block.

use crate::arena::{self, BASE, CHUNK, CHUNKS};
use crate::list::{Key, List, mix};
use crate::memory::{self, Single};
use crate::parts;
use crate::size_class::{self, CLASSES, SMALL_MAX};

/// A place where a pointer died, or a block was used: the calls that led
/// there (`calls`), and the instruction (`stamps`).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Point {
    pub context: u32,
    pub site: u32,
}

/// The death of a pointer to a block.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stamp {
    /// When, in the order of all stamps, above [`HELD_BITS`]; below it, where
    /// the pointer was. 0 if there is none.
    order: u64,
    pub point: Point,
}

impl Key for Stamp {
    fn hash(&self) -> u64 {
        let point = u64::from(self.point.context) << 32 | u64::from(self.point.site);
        mix(point ^ self.order.rotate_left(17))
    }
}

impl Stamp {
    #[inline]
    pub fn new(time: u64, held: Held, point: Point) -> Stamp {
        Stamp { order: time << HELD_BITS | u64::from(held.0), point }
    }

    #[inline]
    pub fn time(self) -> u64 {
        self.order >> HELD_BITS
    }

    pub fn held(self) -> Held {
        Held(self.order as u32 % (1 << HELD_BITS))
    }
}

/// Where a pointer was, within what died with it: a word of a block or of a
/// frame, or a register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Held(u32);

const HELD_BITS: u32 = 20;
const IN_REGISTER: u32 = 1 << (HELD_BITS - 1);
const FRAME_WORDS: u32 = 12;

/// It is not known, or said by the instruction.
pub const NOWHERE: Held = Held(0);

/// In a place of a frame that no variable has: told as a register that none has.
pub const TEMPORARY: Held = Held(IN_REGISTER | 16);

impl Held {
    /// A word, counted from 0 on.
    #[inline]
    pub fn at_word(index: usize) -> Held {
        if index + 1 < IN_REGISTER as usize { Held(index as u32 + 1) } else { NOWHERE }
    }

    /// A general register, as the processor counts them.
    #[inline]
    pub fn in_register(register: usize) -> Held {
        Held(IN_REGISTER | register as u32)
    }

    /// In what an argument of a call points to.
    pub fn behind_argument(number: usize, word: usize) -> Held {
        let index = word << 1 | number & 1;
        Held::at_word(index)
    }

    /// In an outer frame, from 1 on, below its end.
    pub fn in_frame(frame: usize, words: usize) -> Held {
        let is_near = frame < 1 << (HELD_BITS - 1 - FRAME_WORDS) && words < 1 << FRAME_WORDS;
        if is_near { Held::at_word(frame << FRAME_WORDS | words) } else { NOWHERE }
    }

    pub fn word(self) -> Option<u32> {
        (self.0 & IN_REGISTER == 0).then(|| self.0.checked_sub(1)).flatten()
    }

    /// Number of the argument, and the word behind it.
    pub fn argument(self) -> Option<(u32, u32)> {
        self.word().map(|index| (index & 1, index >> 1))
    }

    /// Number of the frame, and how many words below its end.
    pub fn frame(self) -> Option<(u32, u32)> {
        self.word().map(|index| (index >> FRAME_WORDS, index % (1 << FRAME_WORDS)))
    }

    pub fn register(self) -> Option<usize> {
        (self.0 & IN_REGISTER != 0).then_some((self.0 & !IN_REGISTER) as usize)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    Free = 0,
    Live,
    /// Found by the scan.
    Reached,
    /// Not found by the scan; `link` is its number among those.
    Lost,
}

pub const USED_SINCE_MEMORY: u8 = 1;
pub const USED_SINCE_REGISTER: u8 = 2;

/// What is known of a block. Zero is a valid one, and free.
#[repr(C)]
pub struct Block {
    pub start: usize,
    /// What the program asked for; the next free block while this one is.
    pub bytes: usize,
    /// Context of the allocation; of a block that was freed too.
    pub allocated: u32,
    pub state: State,
    class: u8,
    /// The process that allocated it, by the number of forks.
    pub epoch: u16,
    /// The latest death in a register. Those are many, and seldom the last:
    /// they must not push out the others.
    pub register: Stamp,
    /// The latest deaths in memory, of different calls.
    pub stamps: [Stamp; 3],
    pub used: Point,
    /// Context of the free, or the number of a lost block.
    pub link: u32,
    /// Pointers to it that died before and are still there to be overwritten.
    pub stale: u16,
    /// The scan reached it once, where the first part of a pool in it starts.
    pub is_shared: bool,
    /// Whether it was used after its latest death in memory, and in a register:
    /// [`USED_SINCE_MEMORY`], [`USED_SINCE_REGISTER`].
    pub used_since: u8,
}

impl Block {
    #[inline]
    pub fn is_live(&self) -> bool {
        self.state != State::Free
    }

    /// Whether `word` points into the block. Just past its end is not inside:
    /// it may as well be the start of the next one.
    #[inline]
    pub fn contains(&self, word: usize) -> bool {
        word.wrapping_sub(self.start) < self.bytes.max(1)
    }

    /// When the latest stamp was.
    #[inline]
    pub fn stamped(&self) -> u64 {
        self.stamps[0].time().max(self.register.time())
    }

    /// The latest stamps of different calls. Where a register comes last, it may
    /// be a copy of what the same call had in memory.
    pub fn latest(&self) -> [Stamp; 3] {
        let [first, second, third] = self.stamps;
        let register = self.register;
        if register.time() > first.time() {
            match register.point.context {
                context if context == second.point.context => [register, first, third],
                _ => [register, first, second],
            }
        } else if [first, second].iter().any(|stamp| stamp.point.context == register.point.context) {
            self.stamps
        } else if register.time() > second.time() {
            [first, register, second]
        } else {
            [first, second, if register.time() > third.time() { register } else { third }]
        }
    }

    /// Whether a register lost the last pointer, and nobody used the block after
    /// the death before.
    pub fn is_unused_since(&self) -> bool {
        let before = self.stamps[0].time();
        before > 0 && self.register.time() > before && self.used_since & USED_SINCE_MEMORY == 0
    }

    /// Whether somebody used the block after its latest stamp: whatever died then
    /// was not the last pointer.
    pub fn is_used_after(&self) -> bool {
        let since = match self.register.time() > self.stamps[0].time() {
            true => USED_SINCE_REGISTER,
            false => USED_SINCE_MEMORY,
        };
        self.stamped() > 0 && self.used_since & since != 0
    }

    /// The words of the block that can hold pointers.
    pub fn words(&mut self) -> &mut [usize] {
        let start = self.start.next_multiple_of(8);
        let count = (self.start + self.bytes).saturating_sub(start) / 8;
        // SAFETY: the block is the program's memory, mapped and aligned; any
        // word is a valid integer.
        unsafe { core::slice::from_raw_parts_mut(start as *mut usize, count) }
    }

    /// Whether it is a pool's.
    pub fn is_part(&self) -> bool {
        self.class == PART
    }
}

#[derive(Clone, Copy)]
struct Chunk {
    /// The first block; null if there is none.
    blocks: *mut Block,
    /// Division by the size of the blocks; 0 for a large block.
    magic: u64,
}

const MAGIC_SHIFT: u32 = 48;
/// Instead of a class: a block with chunks of its own.
const LARGE: u8 = u8::MAX;
/// A block of a pool.
const PART: u8 = u8::MAX - 1;

struct Heap {
    /// For each chunk of the arena.
    chunks: *mut Chunk,
    /// By class: blocks that were never used, and those that were freed.
    new: [*mut Block; CLASSES],
    freed: [Resting; CLASSES],
    /// Descriptors of large blocks that are not in use.
    spare: List<*mut Block>,
    /// Memory for descriptors.
    fresh: *mut Block,
    fresh_end: *mut Block,
}

/// Blocks that were freed, the first of them first. Each has the next one in
/// its `bytes`.
#[derive(Clone, Copy)]
struct Resting {
    first: *mut Block,
    last: *mut Block,
    count: usize,
}

const NONE_REST: Resting = Resting { first: core::ptr::null_mut(), last: core::ptr::null_mut(), count: 0 };

/// So many bytes of each class rest, if they were freed.
const REST: usize = 256 << 10;

static HEAP: Single<Heap> = Single::new(Heap {
    chunks: core::ptr::null_mut(),
    new: [core::ptr::null_mut(); CLASSES],
    freed: [NONE_REST; CLASSES],
    spare: List::new(),
    fresh: core::ptr::null_mut(),
    fresh_end: core::ptr::null_mut(),
});

/// Must be called first.
pub fn start() {
    HEAP.get().chunks = memory::own(CHUNKS * size_of::<Chunk>()).cast();
}

/// A block of `bytes`, or `None` if there is no memory. `align` is a power of
/// two. The content is what was there before.
pub fn allocate(bytes: usize, align: usize) -> Option<&'static mut Block> {
    // A pointer to the end of a block is none to the next.
    let room = bytes.checked_add(1)?;
    let room = if align > 16 { room.max(align).checked_next_power_of_two()? } else { room };
    if room > SMALL_MAX { allocate_large(bytes, align) } else { allocate_small(bytes, size_class::of(room)) }
}

/// Frees a block.
pub fn free(block: &'static mut Block) {
    let heap = HEAP.get();
    block.state = State::Free;
    if block.class == LARGE {
        arena::give(block.start, chunks_of(block.bytes));
        heap.spare.push(block);
    } else {
        let resting = &mut heap.freed[usize::from(block.class)];
        block.bytes = 0;
        let block: *mut Block = block;
        // SAFETY: the last one rests still, or there is none.
        match unsafe { resting.last.as_mut() } {
            Some(last) => last.bytes = block as usize,
            None => resting.first = block,
        }
        resting.last = block;
        resting.count += 1;
    }
}

/// The block at `word`, live or not: a block that was freed keeps what was
/// known of it until the memory is used again.
#[inline(always)]
pub fn at(word: usize) -> Option<&'static mut Block> {
    if !arena::is_within(word) {
        return None;
    }
    let offset = word - BASE;
    // SAFETY: there is a descriptor for each chunk of the arena's place, and
    // it leads to a block for each slot.
    unsafe {
        let chunk = &*HEAP.get().chunks.add(offset / CHUNK);
        if chunk.blocks.is_null() {
            return None;
        }
        let slot = ((offset % CHUNK) as u64 * chunk.magic) >> MAGIC_SHIFT;
        Some(&mut *chunk.blocks.add(slot as usize))
    }
}

/// The innermost live block that `word` points into.
#[inline(always)]
pub fn pointed_to(word: usize) -> Option<&'static mut Block> {
    if parts::are_used()
        && let Some(part) = parts::find(word)
    {
        return Some(part);
    }
    whole(word)
}

/// The same of the heap alone.
#[inline(always)]
pub fn whole(word: usize) -> Option<&'static mut Block> {
    at(word).filter(|block| block.is_live() && block.contains(word))
}

/// Calls `f` for each live block, in the order of addresses, and then for each
/// of pools.
pub fn for_each_live(mut f: impl FnMut(&'static mut Block)) {
    for_each_whole(&mut f);
    parts::for_each_live(f);
}

fn for_each_whole(mut f: impl FnMut(&'static mut Block)) {
    let core::ops::Range { start: mut number, end } = arena::chunks();
    while number < end {
        // SAFETY: there is a descriptor for each chunk.
        let chunk = unsafe { *HEAP.get().chunks.add(number) };
        number += 1;
        if chunk.blocks.is_null() {
            continue;
        }
        if chunk.magic == 0 {
            // SAFETY: the descriptor of a large block, perhaps of a former one.
            let block = unsafe { &mut *chunk.blocks };
            if block.is_live() && block.start == BASE + (number - 1) * CHUNK {
                number += chunks_of(block.bytes) - 1;
                f(block);
            }
            continue;
        }
        let slots = slots(chunk.magic);
        for slot in 0..slots {
            // SAFETY: there is a block for each slot.
            let block = unsafe { &mut *chunk.blocks.add(slot) };
            if block.is_live() {
                f(block);
            }
        }
    }
}

fn allocate_small(bytes: usize, class: usize) -> Option<&'static mut Block> {
    let heap = HEAP.get();
    let has_rested = heap.freed[class].count > REST / size_class::bytes(class);
    if !has_rested && heap.new[class].is_null() && fill(class).is_none() && heap.freed[class].count == 0 {
        return None;
    }
    let resting = &mut heap.freed[class];
    let is_new = !has_rested && !heap.new[class].is_null();
    let first = if is_new { &mut heap.new[class] } else { &mut resting.first };
    // SAFETY: a free block of this class, whose `bytes` is the next.
    let block = unsafe { &mut **first };
    *first = block.bytes as *mut Block;
    if !is_new {
        resting.count -= 1;
        if resting.count == 0 {
            resting.last = core::ptr::null_mut();
        }
    }
    reset(block, block.start, bytes);
    Some(block)
}

/// A live block of a pool.
pub fn new_part(start: usize, bytes: usize) -> Block {
    new_block(start, bytes, PART)
}

fn reset(block: &mut Block, start: usize, bytes: usize) {
    *block = new_block(start, bytes, block.class);
}

fn new_block(start: usize, bytes: usize, class: u8) -> Block {
    Block {
        start,
        bytes,
        allocated: 0,
        state: State::Live,
        class,
        epoch: 0,
        register: Stamp::default(),
        stamps: [Stamp::default(); 3],
        used: Point::default(),
        link: 0,
        stale: 0,
        is_shared: false,
        used_since: 0,
    }
}

/// A new chunk of a class.
#[cold]
fn fill(class: usize) -> Option<()> {
    let start = arena::take(1, 0)?;
    let heap = HEAP.get();
    let size = size_class::bytes(class);
    let count = CHUNK / size;
    let blocks = descriptors(count);
    let mut next = core::ptr::null_mut::<Block>();
    for slot in (0..count).rev() {
        // SAFETY: there are so many descriptors.
        let block = unsafe { &mut *blocks.add(slot) };
        block.start = start + slot * size;
        block.bytes = next as usize;
        block.class = class as u8;
        next = block;
    }
    heap.new[class] = next;
    let magic = (1_u64 << MAGIC_SHIFT).div_ceil(size as u64);
    // SAFETY: a chunk of the arena. The last slot may be cut off by the end
    // of the chunk: addresses there have no block.
    unsafe { *heap.chunks.add((start - BASE) / CHUNK) = Chunk { blocks, magic } };
    Some(())
}

fn allocate_large(bytes: usize, align: usize) -> Option<&'static mut Block> {
    let count = chunks_of(bytes);
    let start = arena::take(count, align)?;
    let heap = HEAP.get();
    let block = heap.spare.pop().unwrap_or_else(|| descriptors(1));
    let first = (start - BASE) / CHUNK;
    for chunk in first..first + count {
        // SAFETY: chunks of this block.
        unsafe { *heap.chunks.add(chunk) = Chunk { blocks: block, magic: 0 } };
    }
    // SAFETY: a descriptor that nobody uses.
    let block = unsafe { &mut *block };
    block.class = LARGE;
    reset(block, start, bytes);
    Some(block)
}

/// Chunks of a large block of so many bytes, with one byte more.
fn chunks_of(bytes: usize) -> usize {
    bytes / CHUNK + 1
}

/// Zeroed descriptors in a row, and one more: the rest of a chunk behind its
/// last whole slot leads there.
fn descriptors(count: usize) -> *mut Block {
    const BATCH: usize = 1 << 20;
    let heap = HEAP.get();
    let count = count + 1;
    let left = (heap.fresh_end as usize - heap.fresh as usize) / size_of::<Block>();
    if left < count {
        let bytes = BATCH.max(count * size_of::<Block>());
        heap.fresh = memory::own(bytes).cast();
        heap.fresh_end = (heap.fresh as usize + bytes) as *mut Block;
    }
    let first = heap.fresh;
    // SAFETY: there are enough, as checked above.
    heap.fresh = unsafe { first.add(count) };
    first
}

fn slots(magic: u64) -> usize {
    (((CHUNK as u64) * magic) >> MAGIC_SHIFT) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    /// Deterministic numbers, as many as wanted.
    struct Dice(u64);

    impl Dice {
        fn throw(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }
    }

    /// All in one test: there is one heap.
    #[test]
    fn blocks_agree_with_a_map() {
        start();
        let mut dice = Dice(7);
        let mut model = BTreeMap::<usize, usize>::new();
        for round in 0..60_000 {
            if round % 5 < 3 {
                let bytes = match dice.throw(20) {
                    0 => dice.throw(400_000),
                    1 => dice.throw(40_000),
                    _ => dice.throw(700),
                };
                let most = if dice.throw(50) == 0 { 18 } else { 5 };
                let align = 1 << dice.throw(most);
                let block = allocate(bytes, align).expect("there is memory");
                assert_eq!(block.start % align.max(16), 0, "{bytes} {align}");
                let end = block.start + bytes.max(1);
                let before = model.range(..end).next_back();
                assert!(before.is_none_or(|(&start, &size)| start + size.max(1) <= block.start), "overlap");
                model.insert(block.start, bytes);
            } else if let Some((&start, _)) = model.range(BASE + dice.throw(1 << 30)..).next() {
                model.remove(&start);
                free(pointed_to(start).expect("it is live"));
                assert!(pointed_to(start).is_none());
            }
            let Some((&start, &bytes)) = model.iter().nth(dice.throw(8)) else { continue };
            let inside = start + dice.throw(bytes.max(1));
            assert_eq!(pointed_to(inside).map(|block| (block.start, block.bytes)), Some((start, bytes)));
        }
        let mut live = Vec::new();
        for_each_live(|block| live.push((block.start, block.bytes)));
        assert_eq!(live, model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_latest_stamps_of_different_calls() {
        let stamp = |time, context| Stamp::new(time, NOWHERE, Point { context, site: 1 });
        let check = |register: (u64, u32), memory: [(u64, u32); 3], expected: [u64; 3]| {
            // SAFETY: zero is a valid block.
            let mut block: Block = unsafe { core::mem::zeroed() };
            block.register = stamp(register.0, register.1);
            block.stamps = memory.map(|(time, context)| stamp(time, context));
            assert_eq!(block.latest().map(Stamp::time), expected);
        };
        check((9, 4), [(5, 1), (4, 2), (3, 3)], [9, 5, 4]);
        check((9, 1), [(5, 1), (4, 2), (3, 3)], [9, 5, 4]);
        check((9, 2), [(5, 1), (4, 2), (3, 3)], [9, 5, 3]);
        check((2, 1), [(5, 1), (4, 2), (3, 3)], [5, 4, 3]);
        check((4, 7), [(5, 1), (3, 2), (2, 3)], [5, 4, 3]);
        check((2, 7), [(5, 1), (3, 2), (1, 3)], [5, 3, 2]);
        check((0, 0), [(5, 1), (3, 2), (0, 0)], [5, 3, 0]);
    }
}
