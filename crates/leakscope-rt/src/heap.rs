//! Blocks: where they are, what is known of each, and how they are handed
//! out.
//!
//! A small block lies in a chunk of its size class, a large one has a run of
//! chunks to itself. What is known of a block is kept apart from it, in a
//! [`Meta`] of 8 bytes at its seat in a table: writing beyond a block cannot
//! harm the heap.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::arena::seats::{self, Kind};
use crate::arena::{self, CHUNK, CHUNK_SHIFT, Chunk, Use};
use crate::pools;
use crate::size_class::{CLASSES, CLEARED_MAX, RECIPROCALS, SIZES, SMALL_MAX, class_of};
use crate::thread::Thread;

mod caches;
mod large;
mod parts;

use caches::Taken;
pub use caches::{Cache, flush};
pub use large::move_content;
use large::{allocate_large, free_large, freed_large, large_block, resize_large};
pub use parts::{
    begin_part, end_part, entry_of, has_parts, hold_parts, is_part, may_hold_parts, new_entries,
    slot_of_entry,
};

pub const META: usize = size_of::<Meta>();

/// Slots of a chunk: as many as the smallest blocks that fit.
const SLOT_SHIFT: usize = CHUNK_SHIFT - SIZES[0].ilog2() as usize;

/// What is known of a block, in one word, from the lowest bit on. Live: stack
/// of the allocation (32 bits), bytes of the room that were not asked for
/// (16), epoch (8), state (8). Free: next slot (40), nothing (16), state (8).
/// The stacks of a free block are kept in its own memory: they are for a
/// message about a second free, and nothing else depends on them.
#[repr(transparent)]
pub struct Meta(AtomicU64);

const _: () = assert!(META == 8);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// Never handed out, and its memory is zero.
    Fresh = 0,
    Live = 1,
    Free = 2,
    /// Live, and marked by a scan.
    Reached = 3,
    Lost = 4,
}

/// A process's blocks are those of its epoch: `fork` begins a new one, so
/// that a child does not count what it inherited.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Bytes that blocks have more than was asked for, so that a pointer to the end
/// of one is none to the next.
const SPARE: usize = 1;

/// A block, live or free.
#[derive(Clone, Copy)]
pub struct Block {
    pub start: usize,
    /// Names it: its chunk, and its number there.
    pub slot: u64,
    /// By which what is kept of it is found.
    pub seat: usize,
    /// Bytes from the start to the next block.
    pub room: usize,
}

impl Block {
    fn meta(&self) -> &'static Meta {
        meta_at(self.seat)
    }

    #[inline(always)]
    pub fn state(&self) -> State {
        self.meta().state()
    }

    #[inline(always)]
    pub fn is_live(&self) -> bool {
        !matches!(self.state(), State::Fresh | State::Free)
    }

    /// Bytes that were asked for; the block must be live.
    #[inline(always)]
    pub fn size(&self) -> usize {
        if self.room > SMALL_MAX {
            // SAFETY: the first chunk of a large run, or one of entries.
            let chunk = unsafe { &*arena::chunk((self.slot >> SLOT_SHIFT) as usize) };
            return if chunk.usage() == Use::Entries { self.room } else { chunk.size };
        }
        self.room - (self.meta().0.load(Ordering::Relaxed) >> 32) as u16 as usize
    }

    /// Made by this process, not by the one that it was forked from.
    pub fn is_own(&self) -> bool {
        (self.meta().0.load(Ordering::Relaxed) >> 48) as u8 == EPOCH.load(Ordering::Relaxed) as u8
    }

    /// Stack of the allocation; the block must be live.
    pub fn stack(&self) -> u32 {
        self.meta().0.load(Ordering::Relaxed) as u32
    }

    /// Stacks of the allocation and of the free of a free block.
    pub fn last_stacks(&self) -> (u32, u32) {
        if self.room > SMALL_MAX {
            // SAFETY: the first chunk of what was a large run.
            let stacks = unsafe { (*arena::chunk((self.slot >> SLOT_SHIFT) as usize)).size };
            return (stacks as u32, (stacks >> 32) as u32);
        }
        // SAFETY: a small block is 16 bytes or more, and stays mapped.
        let stacks = unsafe { *(self.start as *const [u32; 2]) };
        (stacks[0], stacks[1])
    }

    /// For scans, which own the heap: a new state and, in place of the stack,
    /// a number.
    pub fn mark(&self, state: State, number: u32) {
        let word = self.meta().0.load(Ordering::Relaxed) & 0x00ff_ffff_0000_0000;
        self.meta().0.store(word | u64::from(number) | (state as u64) << 56, Ordering::Relaxed);
    }

    // Relaxed throughout: a block's word is its owner's, and its address
    // reaches another thread only through the program's own synchronisation.
    #[inline(always)]
    fn set_live(&self, size: usize, stack: u32) {
        let epoch = u64::from(EPOCH.load(Ordering::Relaxed) as u8);
        let slack = if self.room > SMALL_MAX { 0 } else { (self.room - size) as u64 };
        let word = u64::from(stack) | slack << 32 | epoch << 48 | (State::Live as u64) << 56;
        self.meta().0.store(word, Ordering::Relaxed);
    }
}

impl Meta {
    #[inline(always)]
    fn state(&self) -> State {
        match (self.0.load(Ordering::Relaxed) >> 56) as u8 {
            0 => State::Fresh,
            1 => State::Live,
            3 => State::Reached,
            4 => State::Lost,
            _ => State::Free,
        }
    }

    /// The next block in the list of free ones.
    #[inline(always)]
    fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & ((1 << 40) - 1)
    }

    #[inline(always)]
    fn set_free(&self, next: u64, state: State) {
        self.0.store(next | (state as u64) << 56, Ordering::Relaxed);
    }
}

#[inline(always)]
fn meta(slot: u64) -> &'static Meta {
    meta_at(seat_of(slot))
}

#[inline(always)]
fn meta_at(seat: usize) -> &'static Meta {
    // SAFETY: seats are committed when they are given out, and stay so; zero
    // bytes are a valid `Meta`.
    unsafe { &*((arena::metas() + seat * META) as *const Meta) }
}

#[inline(always)]
pub fn seat_of(slot: u64) -> usize {
    // SAFETY: the chunk of a slot is handed out.
    let chunk = unsafe { &*arena::chunk((slot >> SLOT_SHIFT) as usize) };
    chunk.seat(number_of(slot).into())
}

/// The block that `address` points into, at any offset.
#[inline(always)]
pub fn find(address: usize) -> Option<Block> {
    let offset = address.wrapping_sub(arena::BASE.load(Ordering::Relaxed));
    let index = offset >> CHUNK_SHIFT;
    if index >= arena::top() {
        return None;
    }
    // SAFETY: below the top, so its descriptor is committed.
    let chunk = unsafe { &*arena::chunk(index) };
    match chunk.usage() {
        Use::Small => {
            let class = chunk.class as usize % CLASSES;
            let number = ((offset % CHUNK) as u64 * u64::from(RECIPROCALS[class])) >> 32;
            let room = SIZES[class] as usize;
            let start = arena::address_of(index) + number as usize * room;
            (number < u64::from(chunk.capacity)).then_some(Block {
                start,
                slot: slot_of(index, number),
                seat: chunk.seat(number),
                room,
            })
        }
        Use::Large => large_block(index, address),
        Use::Tail => large_block(chunk.head as usize, address),
        Use::None | Use::Free | Use::Entries => None,
    }
}

/// The same, or the live block of a pool that lies there.
#[inline]
pub fn innermost(address: usize) -> Option<Block> {
    if pools::are_used()
        && let Some(block) = pools::find(address)
    {
        return Some(block);
    }
    find(address)
}

/// The seat of the innermost block that `address` points into, live or not.
#[inline(always)]
pub fn seat_at(address: usize) -> Option<usize> {
    slot_at(address).map(seat_of)
}

/// Its slot, by as few loads as possible.
#[inline(always)]
pub fn slot_at(address: usize) -> Option<u64> {
    let offset = address.wrapping_sub(arena::BASE.load(Ordering::Relaxed));
    let index = offset >> CHUNK_SHIFT;
    if index >= arena::top() {
        return None;
    }
    // SAFETY: below the top, so its descriptor is committed.
    let chunk = unsafe { &*arena::chunk(index) };
    if chunk.pooled.load(Ordering::Relaxed) {
        return innermost(address).map(|block| block.slot);
    }
    match chunk.usage() {
        Use::Small => {
            let number = ((offset % CHUNK) as u64 * u64::from(chunk.reciprocal)) >> 32;
            Some(slot_of(index, number))
        }
        Use::Large => Some(slot_of(index, 0)),
        Use::Tail => Some(slot_of(chunk.head as usize, 0)),
        Use::None | Use::Free | Use::Entries => None,
    }
}

#[inline(always)]
fn slot_of(chunk: usize, number: u64) -> u64 {
    ((chunk as u64) << SLOT_SHIFT) | number
}

#[inline(always)]
fn number_of(slot: u64) -> u32 {
    slot as u32 % (1 << SLOT_SHIFT)
}

/// A chunk, with seats for its blocks. The first of all is kept back, so that
/// slot 0 can mean none.
fn take_chunk(kind: Kind) -> Option<usize> {
    let taken = arena::take(1, 1)?;
    let index = if taken == 0 { arena::take(1, 1)? } else { taken };
    let Some(row) = seats::take(kind) else {
        arena::give(index, 1);
        return None;
    };
    // SAFETY: the chunk is ours.
    unsafe { (*arena::chunk(index)).seat_all(row) };
    Some(index)
}

/// Memory as asked for.
#[derive(Clone, Copy)]
pub struct Request {
    pub size: usize,
    /// A power of two.
    pub align: usize,
    pub zeroed: bool,
    /// Stack of the allocation.
    pub stack: u32,
}

/// A new block; `None` if there is no memory.
#[inline(always)]
pub fn allocate(thread: &mut Thread, request: Request) -> Option<Block> {
    let least = request.size.saturating_add(SPARE);
    if request.align > 16 || least > SMALL_MAX {
        return allocate_apart(thread, request, least);
    }
    allocate_small(thread, request, class_of(least))
}

#[inline(always)]
fn allocate_small(thread: &mut Thread, request: Request, class: usize) -> Option<Block> {
    let taken = match thread.caches[class].take() {
        Some(taken) => taken,
        None => caches::refill(thread, class)?,
    };
    Some(hand_out(taken, class, request))
}

#[inline(always)]
fn hand_out(taken: Taken, class: usize, request: Request) -> Block {
    let Taken { slot, seat, clean } = taken;
    let room = SIZES[class] as usize;
    let start =
        arena::address_of((slot >> SLOT_SHIFT) as usize) + (slot & ((1 << SLOT_SHIFT) - 1)) as usize * room;
    if !clean && (room <= CLEARED_MAX || request.zeroed) {
        // SAFETY: the block is ours until we return it, and as large as `room`.
        unsafe { clear(start, request.size) };
    }
    let block = Block { start, slot, seat, room };
    block.set_live(request.size, request.stack);
    block
}

/// The same for a small block that the thread has at hand. It is cleared,
/// whether that is asked for or not.
#[inline(always)]
pub fn allocate_quickly(thread: &mut Thread, size: usize, stack: u32) -> Option<Block> {
    if size > CLEARED_MAX - SPARE {
        return None;
    }
    let class = class_of(size + SPARE);
    let taken = thread.caches[class].take()?;
    Some(hand_out(taken, class, Request { size, align: 16, zeroed: false, stack }))
}

/// The same for large blocks, and for those at special addresses.
#[cold]
fn allocate_apart(thread: &mut Thread, request: Request, least: usize) -> Option<Block> {
    match aligned_class(least, request.align) {
        Some(class) => allocate_small(thread, request, class),
        None => allocate_large(request),
    }
}

/// Zeroes a small block; up to 15 bytes more, since blocks are multiples of
/// 16. A call would cost more than the few stores that most blocks need.
///
/// # Safety
/// The block is the caller's and starts at a multiple of 16.
#[inline(always)]
unsafe fn clear(start: usize, size: usize) {
    use core::arch::x86_64::{__m128i, _mm_setzero_si128, _mm_store_si128};
    if size > 256 {
        // SAFETY: as the caller says.
        return unsafe { core::ptr::write_bytes(start as *mut u8, 0, size) };
    }
    let mut at = 0;
    while at < size {
        // SAFETY: as the caller says; SSE2 is part of x86-64.
        unsafe { _mm_store_si128((start + at) as *mut __m128i, _mm_setzero_si128()) };
        at += 16;
        // SAFETY: nothing; keeps the loop from becoming a call again.
        unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) };
    }
}

/// The smallest class all of whose blocks are aligned.
fn aligned_class(size: usize, align: usize) -> Option<usize> {
    let least = size.max(align);
    if least > SMALL_MAX {
        return None;
    }
    (class_of(least)..CLASSES).find(|&class| (SIZES[class] as usize).is_multiple_of(align))
}

/// Why a block could not be freed.
#[derive(Clone, Copy)]
pub enum Refused {
    /// No block starts there; the one around the address, if any.
    NotABlock(Option<Block>),
    FreedBefore(Block),
}

/// The live block that starts at `address`.
#[inline(always)]
pub fn live_block(address: usize) -> Result<Block, Refused> {
    match find(address) {
        Some(block) if block.start == address => match block.state() {
            State::Live | State::Reached | State::Lost => Ok(block),
            State::Free => Err(Refused::FreedBefore(block)),
            State::Fresh => Err(Refused::NotABlock(None)),
        },
        None => Err(freed_large(address).map_or(Refused::NotABlock(None), Refused::FreedBefore)),
        other => Err(Refused::NotABlock(other.filter(Block::is_live))),
    }
}

/// Frees a live block.
#[inline(always)]
pub fn free(thread: &mut Thread, block: Block, stack: u32) {
    if block.room > SMALL_MAX {
        return free_large(block, stack);
    }
    // SAFETY: a block that is given up, of 16 bytes or more.
    unsafe { *(block.start as *mut [u32; 2]) = [block.stack(), stack] };
    let class = class_of(block.room);
    thread.caches[class].put(class, block.slot, block.seat);
}

/// Frees what starts at `address`, if it is a live small block in which no
/// pool has any and the thread has room for it. The place of its free is not
/// known.
#[inline(always)]
pub fn free_quickly(thread: &mut Thread, address: usize) -> bool {
    let offset = address.wrapping_sub(arena::BASE.load(Ordering::Relaxed));
    let index = offset >> CHUNK_SHIFT;
    if index >= arena::top() {
        return false;
    }
    // SAFETY: below the top, so its descriptor is committed.
    let chunk = unsafe { &*arena::chunk(index) };
    let class = chunk.class as usize;
    if chunk.usage() != Use::Small || chunk.pooled.load(Ordering::Relaxed) || class >= CLASSES {
        return false;
    }
    let number = ((offset % CHUNK) as u64 * u64::from(chunk.reciprocal)) >> 32;
    let (slot, room) = (slot_of(index, number), SIZES[class] as usize);
    let seat = chunk.seat(number);
    let word = meta_at(seat).0.load(Ordering::Relaxed);
    let is_live = (word >> 56) as u8 == State::Live as u8;
    if !is_live || number as usize * room != offset % CHUNK {
        return false;
    }
    // SAFETY: a block that is given up, of 16 bytes or more.
    unsafe { *(address as *mut u64) = u64::from(word as u32) };
    thread.caches[class].put_at_hand(class, slot, seat)
}

/// Changes the size of a live block without moving it, where its place
/// allows. A block that shrinks to less than half moves instead.
pub fn resize(block: Block, size: usize, stack: u32) -> bool {
    let fits = if block.room <= SMALL_MAX {
        size + SPARE <= block.room && size + SPARE > block.room / 2
    } else {
        size > SMALL_MAX && resize_large(block, size)
    };
    if fits {
        block.set_live(size, stack);
    }
    fits
}

/// The block of a slot that is or was in use.
pub fn at(slot: u64) -> Block {
    let (index, number) = ((slot >> SLOT_SHIFT) as usize, slot as usize % (1 << SLOT_SHIFT));
    // SAFETY: the chunk of a slot.
    let chunk = unsafe { &*arena::chunk(index) };
    match chunk.usage() {
        Use::Small => {
            let room = SIZES[chunk.class as usize % CLASSES] as usize;
            let start = arena::address_of(index) + number * room;
            Block { start, slot, seat: chunk.seat(number as u64), room }
        }
        // SAFETY: an entry of the chunk, zeroed or in use.
        Use::Entries => unsafe {
            (*((arena::address_of(index) + number * pools::ENTRY) as *const pools::Entry)).block()
        },
        _ => Block { start: chunk.start, slot, seat: chunk.seat(0), room: chunk.run as usize * CHUNK },
    }
}

/// Calls `f` for every live block. The heap must stand still.
pub fn for_each_live(mut f: impl FnMut(Block)) {
    for index in 0..arena::top() {
        // SAFETY: below the top, so committed.
        let chunk: &Chunk = unsafe { &*arena::chunk(index) };
        let blocks = match chunk.usage() {
            Use::Small | Use::Entries => chunk.carved,
            Use::Large => 1,
            Use::None | Use::Free | Use::Tail => 0,
        };
        for number in 0..u64::from(blocks) {
            if !matches!(meta_at(chunk.seat(number)).state(), State::Fresh | State::Free) {
                f(at(slot_of(index, number)));
            }
        }
    }
}

pub fn before_fork() {
    caches::before_fork();
    arena::before_fork();
}

pub fn after_fork() {
    arena::after_fork();
    caches::after_fork();
}

/// In a forked child: what was inherited is not its own.
pub fn new_epoch() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod model;
