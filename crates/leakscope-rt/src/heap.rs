//! Blocks: where they are, what is known of each, and how they are handed
//! out.
//!
//! A small block lies in a chunk of its size class, a large one has a run of
//! chunks to itself. What is known of a block is kept apart from it, in a
//! [`Meta`] of 16 bytes whose place follows from the block's: writing beyond
//! a block cannot harm the heap. Each thread has a list of free blocks for
//! each class; a class's chunks are shared under a lock, in batches.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::arena::{self, CHUNK, CHUNK_SHIFT, Chunk, NONE, Use};
use crate::lock::Lock;
use crate::size_class::{CLASSES, CLEARED_MAX, RECIPROCALS, SIZES, SMALL_MAX, class_of};
use crate::thread::Thread;

pub const META: usize = size_of::<Meta>();

/// Slots of a chunk: as many as the smallest blocks that fit.
const SLOT_SHIFT: usize = CHUNK_SHIFT - META.ilog2() as usize;

/// Larger requests fail: the payload of a [`Meta`] has so many bits.
const SIZE_MAX: usize = (1 << 40) - 1;

/// What is known of a block.
#[repr(C)]
pub struct Meta {
    /// Stack of the allocation.
    pub stack: AtomicU32,
    /// Stack of the free; while the block is live, a mark list's link.
    pub freed: AtomicU32,
    /// Payload (40 bits: size if live, next slot if free), epoch (16), state (8).
    word: AtomicU64,
}

const _: () = assert!(META == 16);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// Never handed out, and its memory is zero.
    Fresh = 0,
    Live = 1,
    Free = 2,
}

/// A process's blocks are those of its epoch: `fork` begins a new one, so
/// that a child does not count what it inherited.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// A thread's free blocks of one class, linked by slot numbers. Slot 0 is
/// never a small block: chunk 0 is not handed out.
#[repr(C)]
pub struct Cache {
    first: u64,
    count: u32,
}

/// A class's chunks that have a free block.
struct Class {
    first: u32,
}

static SHARED: [Lock<Class>; CLASSES] = [const { Lock::new(Class { first: NONE }) }; CLASSES];

/// A block, live or free.
#[derive(Clone, Copy)]
pub struct Block {
    pub start: usize,
    pub slot: u64,
    /// Bytes from the start to the next block.
    pub room: usize,
}

impl Block {
    pub fn meta(&self) -> &'static Meta {
        meta(self.slot)
    }

    pub fn is_live(&self) -> bool {
        self.meta().state() == State::Live
    }

    pub fn size(&self) -> usize {
        self.meta().payload() as usize
    }

    /// Made by this process, not by the one that it was forked from.
    pub fn is_own(&self) -> bool {
        self.meta().epoch() == EPOCH.load(Ordering::Relaxed) as u16
    }
}

impl Meta {
    #[inline(always)]
    pub fn state(&self) -> State {
        match (self.word.load(Ordering::Relaxed) >> 56) as u8 {
            0 => State::Fresh,
            1 => State::Live,
            _ => State::Free,
        }
    }

    #[inline(always)]
    fn payload(&self) -> u64 {
        self.word.load(Ordering::Relaxed) & SIZE_MAX as u64
    }

    fn epoch(&self) -> u16 {
        (self.word.load(Ordering::Relaxed) >> 40) as u16
    }

    // Relaxed throughout: a block's words are its owner's, and its address
    // reaches another thread only through the program's own synchronisation.
    #[inline(always)]
    fn set(&self, payload: u64, state: State) {
        let epoch = u64::from(EPOCH.load(Ordering::Relaxed) as u16);
        self.word.store(payload | epoch << 40 | (state as u64) << 56, Ordering::Relaxed);
    }
}

#[inline(always)]
fn meta(slot: u64) -> &'static Meta {
    // SAFETY: slots come from chunks that are handed out, whose metadata is
    // committed and stays so; zero bytes are a valid `Meta`.
    unsafe { &*((arena::metas() + slot as usize * META) as *const Meta) }
}

/// The block that `address` points into, at any offset.
#[inline]
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
                room,
            })
        }
        Use::Large => large_block(index, address),
        Use::Tail => large_block(chunk.head as usize, address),
        Use::None | Use::Free => None,
    }
}

fn large_block(index: usize, address: usize) -> Option<Block> {
    // SAFETY: the first chunk of a large run.
    let chunk = unsafe { &*arena::chunk(index) };
    let end = arena::address_of(index) + chunk.run as usize * CHUNK;
    let block = Block { start: chunk.start, slot: slot_of(index, 0), room: end - chunk.start };
    (address >= chunk.start && address < end).then_some(block)
}

#[inline(always)]
fn slot_of(chunk: usize, number: u64) -> u64 {
    ((chunk as u64) << SLOT_SHIFT) | number
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

/// A new block; 0 if there is no memory.
#[inline]
pub fn allocate(thread: &mut Thread, request: Request) -> usize {
    let class = if request.align <= 16 {
        if request.size > SMALL_MAX {
            return allocate_large(request);
        }
        class_of(request.size)
    } else {
        match aligned_class(request.size, request.align) {
            Some(class) => class,
            None => return allocate_large(request),
        }
    };
    let cache = &mut thread.caches[class];
    if cache.first == 0 && !refill(cache, class) {
        return 0;
    }
    let slot = cache.first;
    let meta = meta(slot);
    cache.first = meta.payload();
    cache.count -= 1;
    let room = SIZES[class] as usize;
    let start =
        arena::address_of((slot >> SLOT_SHIFT) as usize) + (slot & ((1 << SLOT_SHIFT) - 1)) as usize * room;
    if meta.state() != State::Fresh && (room <= CLEARED_MAX || request.zeroed) {
        // SAFETY: the block is ours until we return it, and as large as `room`.
        unsafe { clear(start, request.size) };
    }
    meta.stack.store(request.stack, Ordering::Relaxed);
    meta.freed.store(0, Ordering::Relaxed);
    meta.set(request.size as u64, State::Live);
    start
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

#[cold]
fn allocate_large(request: Request) -> usize {
    if request.size > SIZE_MAX || request.align > SIZE_MAX || !arena::ready() {
        return 0;
    }
    let count = request.size.div_ceil(CHUNK).max(1);
    let Some(index) = arena::take(count, request.align.div_ceil(CHUNK)) else { return 0 };
    // SAFETY: the run is ours.
    let dirty = unsafe { (*arena::chunk(index)).dirty };
    set_large(index, count);
    let start = arena::address_of(index);
    if dirty && request.zeroed {
        // SAFETY: the run is ours and large enough.
        unsafe { core::ptr::write_bytes(start as *mut u8, 0, request.size) };
    }
    let meta = meta(slot_of(index, 0));
    meta.stack.store(request.stack, Ordering::Relaxed);
    meta.freed.store(0, Ordering::Relaxed);
    meta.set(request.size as u64, State::Live);
    start
}

fn set_large(index: usize, count: usize) {
    for tail in index + 1..index + count {
        // SAFETY: the run is the caller's.
        let chunk = unsafe { &mut *arena::chunk(tail) };
        chunk.head = index as u32;
        chunk.set_usage(Use::Tail);
    }
    // SAFETY: the run is the caller's.
    let chunk = unsafe { &mut *arena::chunk(index) };
    chunk.run = count as u32;
    chunk.start = arena::address_of(index);
    chunk.set_usage(Use::Large);
}

/// Why a block could not be freed.
#[derive(Clone, Copy)]
pub enum Refused {
    /// No block starts there; the one around the address, if any.
    NotABlock(Option<Block>),
    FreedBefore(Block),
}

/// The live block that starts at `address`.
#[inline]
pub fn live_block(address: usize) -> Result<Block, Refused> {
    match find(address) {
        Some(block) if block.start == address => match block.meta().state() {
            State::Live => Ok(block),
            State::Free => Err(Refused::FreedBefore(block)),
            State::Fresh => Err(Refused::NotABlock(None)),
        },
        other => Err(Refused::NotABlock(other.filter(Block::is_live))),
    }
}

/// Frees a live block.
#[inline]
pub fn free(thread: &mut Thread, block: Block, stack: u32) {
    let meta = block.meta();
    meta.freed.store(stack, Ordering::Relaxed);
    if block.room > SMALL_MAX {
        meta.set(0, State::Free);
        return free_large(block);
    }
    let class = class_of(block.room);
    let cache = &mut thread.caches[class];
    meta.set(cache.first, State::Free);
    cache.first = block.slot;
    cache.count += 1;
    if cache.count > 2 * batch(class) {
        give_back(cache, class, batch(class));
    }
}

#[cold]
fn free_large(block: Block) {
    let index = (block.slot >> SLOT_SHIFT) as usize;
    // SAFETY: the first chunk of a large run that is the caller's to free.
    let count = unsafe { (*arena::chunk(index)).run as usize };
    arena::give(index, count);
}

/// Changes the size of a live block without moving it, where its place
/// allows. A block that shrinks to less than half moves instead.
pub fn resize(block: Block, size: usize, stack: u32) -> bool {
    let fits = if block.room <= SMALL_MAX {
        size <= block.room && class_of(size) + 4 > class_of(block.room)
    } else {
        size > SMALL_MAX && resize_large(block, size)
    };
    if fits {
        let meta = block.meta();
        meta.stack.store(stack, Ordering::Relaxed);
        meta.set(size as u64, State::Live);
    }
    fits
}

fn resize_large(block: Block, size: usize) -> bool {
    if size > SIZE_MAX {
        return false;
    }
    let index = (block.slot >> SLOT_SHIFT) as usize;
    // SAFETY: the first chunk of a large run that is the caller's.
    let count = unsafe { (*arena::chunk(index)).run as usize };
    let wanted = (block.start - arena::address_of(index) + size).div_ceil(CHUNK);
    if wanted > count {
        if !arena::extend(index, count, wanted) {
            return false;
        }
        set_large(index, wanted);
    } else if wanted < count {
        // SAFETY: the run's first chunk; its tail is given up.
        unsafe { (*arena::chunk(index)).run = wanted as u32 };
        arena::give(index + wanted, count - wanted);
    }
    true
}

/// Blocks moved between a thread and its class at a time.
#[inline(always)]
fn batch(class: usize) -> u32 {
    static BATCHES: [u32; CLASSES] = {
        let mut batches = [0; CLASSES];
        let mut class = 0;
        while class < CLASSES {
            let fitting = 8192 / SIZES[class];
            batches[class] = if fitting > 64 {
                64
            } else if fitting == 0 {
                1
            } else {
                fitting
            };
            class += 1;
        }
        batches
    };
    BATCHES[class]
}

#[cold]
fn refill(cache: &mut Cache, class: usize) -> bool {
    if !arena::ready() {
        return false;
    }
    let mut shared = SHARED[class].lock();
    while cache.count < batch(class) {
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
        let slot = if chunk.free > 0 {
            let slot = chunk.first_free;
            chunk.first_free = meta(slot).payload();
            chunk.free -= 1;
            meta(slot).set(cache.first, State::Free);
            slot
        } else {
            let slot = slot_of(index, u64::from(chunk.carved));
            chunk.carved += 1;
            meta(slot).set(cache.first, if chunk.dirty { State::Free } else { State::Fresh });
            slot
        };
        cache.first = slot;
        cache.count += 1;
        if chunk.free == 0 && chunk.carved == chunk.capacity {
            shared.unlink(index);
        }
    }
    cache.count > 0
}

fn new_chunk(class: usize) -> Option<usize> {
    let mut index = arena::take(1, 1)?;
    if index == 0 {
        // Kept back, so that slot 0 can mean none.
        index = arena::take(1, 1)?;
    }
    // SAFETY: the chunk is ours.
    let chunk = unsafe { &mut *arena::chunk(index) };
    chunk.class = class as u8;
    chunk.capacity = CHUNK as u32 / SIZES[class];
    chunk.carved = 0;
    chunk.free = 0;
    chunk.listed = false;
    chunk.set_usage(Use::Small);
    Some(index)
}

#[cold]
fn give_back(cache: &mut Cache, class: usize, count: u32) {
    let mut shared = SHARED[class].lock();
    for _ in 0..count {
        let slot = cache.first;
        cache.first = meta(slot).payload();
        cache.count -= 1;
        shared.take_back(slot);
    }
}

/// Gives all of a thread's free blocks back.
pub fn flush(thread: &mut Thread) {
    for (class, cache) in thread.caches.iter_mut().enumerate() {
        if cache.count > 0 {
            give_back(cache, class, cache.count);
        }
    }
}

impl Class {
    fn take_back(&mut self, slot: u64) {
        let index = (slot >> SLOT_SHIFT) as usize;
        // SAFETY: the block's chunk belongs to this class, whose lock is held.
        let chunk = unsafe { &mut *arena::chunk(index) };
        meta(slot).set(if chunk.free > 0 { chunk.first_free } else { 0 }, State::Free);
        chunk.first_free = slot;
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

/// Calls `f` for every live block. The heap must stand still.
pub fn for_each_live(mut f: impl FnMut(Block)) {
    for index in 0..arena::top() {
        // SAFETY: below the top, so committed.
        let chunk: &Chunk = unsafe { &*arena::chunk(index) };
        let blocks = match chunk.usage() {
            Use::Small => chunk.carved,
            Use::Large => 1,
            Use::None | Use::Free | Use::Tail => 0,
        };
        for number in 0..u64::from(blocks) {
            let slot = slot_of(index, number);
            if meta(slot).state() == State::Live {
                let (start, room) = if chunk.usage() == Use::Small {
                    let room = SIZES[chunk.class as usize % CLASSES] as usize;
                    (arena::address_of(index) + number as usize * room, room)
                } else {
                    (chunk.start, chunk.run as usize * CHUNK)
                };
                f(Block { start, slot, room });
            }
        }
    }
}

pub fn before_fork() {
    SHARED.iter().for_each(Lock::acquire);
    arena::before_fork();
}

pub fn after_fork() {
    arena::after_fork();
    SHARED.iter().for_each(Lock::release);
}

/// In a forked child: what was inherited is not its own.
pub fn new_epoch() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}
