//! Address space of the heap, cut into chunks of 64 KiB.
//!
//! One reservation holds all blocks, a second one a descriptor for each chunk,
//! others what is kept of blocks, by their seats ([`seats`]). So a range check
//! and a few loads lead from any address to its block and to what is known of
//! it. Only what was handed out is committed.
//!
//! Here runs of chunks are handed out ([`runs`]); what is inside is the business
//! of `heap`.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::followed;

use crate::heap::META;
use crate::sys;

mod reservation;
mod runs;
pub mod seats;

pub use reservation::{limited_to, ready, shrink};
pub use runs::{extend, take};
use seats::{Kind, Row};

pub const CHUNK: usize = 1 << CHUNK_SHIFT;
pub const CHUNK_SHIFT: usize = followed::CHUNK_BITS as usize;

/// Chunks committed at a time: their descriptors fill a page.
const GROWTH: usize = sys::PAGE / size_of::<Chunk>();

/// Start and size of the blocks' reservation; both 0 before the first use.
pub static BASE: AtomicUsize = AtomicUsize::new(0);
pub static SIZE: AtomicUsize = AtomicUsize::new(0);

/// Number of chunks handed out so far, counted from the start.
static TOP: AtomicUsize = AtomicUsize::new(0);
static CHUNKS: AtomicUsize = AtomicUsize::new(0);
static METAS: AtomicUsize = AtomicUsize::new(0);
static ACCESSES_BASE: AtomicUsize = AtomicUsize::new(0);

/// Bytes from the start of the blocks in which pointers are followed: all of
/// their reservation, or none.
static REACH: AtomicUsize = AtomicUsize::new(0);

/// The same for instrumented code, which asks for the runtime's help beyond
/// it: for every death if deaths are counted.
#[cfg_attr(feature = "executable", unsafe(export_name = "leakscope_reach"))]
static OWN_REACH: AtomicUsize = AtomicUsize::new(0);

/// The same in chunks, for uses, and where the last uses of a chunk's blocks
/// are found: large numbers in instrumented code would take registers from the
/// rest of it.
#[cfg_attr(feature = "executable", unsafe(export_name = "leakscope_use_chunks"))]
static USE_CHUNKS: AtomicUsize = AtomicUsize::new(0);
#[cfg(feature = "executable")]
#[unsafe(export_name = "leakscope_last_uses")]
static LAST_USES_AT: AtomicUsize = AtomicUsize::new(LAST_USES);

/// Bytes kept for the accesses of a block, for the deaths of pointers to it, and
/// for its last use.
pub const ACCESSES: usize = 8;
const STAMP: usize = 16;
const USE: usize = 4;

/// Where blocks and stamps lie if pointers are followed: instrumented code
/// has it built in. Nothing else is ever placed there by itself.
const BLOCKS: usize = followed::BLOCKS as usize;
const STAMPS: usize = followed::STAMPS as usize;
const USES: usize = followed::USES as usize;
const STEPS: usize = followed::STEPS as usize;
const LAST_USES: usize = followed::LAST_USES as usize;

pub const NONE: u32 = u32::MAX;

/// What a chunk is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Use {
    /// Not handed out, or the inside of a free run.
    None = 0,
    Free = 1,
    /// Small blocks of one class.
    Small = 2,
    /// First chunk of one large block.
    Large = 3,
    /// A later chunk of a large block; `head` is the first one.
    Tail = 4,
    /// What is known of blocks of pools, which lie elsewhere.
    Entries = 5,
}

/// Descriptor of a chunk. Which fields mean something depends on `usage`.
/// Fields other than `usage` are written only by the holder of the lock that
/// the chunk is under: the arena's, its class's, or (large) its owner's.
#[repr(C, align(64))]
pub struct Chunk {
    usage: AtomicU8,
    /// Of the row of seats of its blocks; a large block's are in its first.
    kind: Kind,
    pub class: u8,
    /// Memory behind it may be other than zero.
    pub dirty: bool,
    pub listed: bool,
    /// Blocks of pools may lie in it.
    pub pooled: AtomicBool,
    /// Length of the run; valid in the first and last chunk of a free run,
    /// and in the first of a large one.
    pub run: u32,
    pub head: u32,
    pub next: u32,
    pub previous: u32,
    /// Small: blocks that fit, were carved, and are free.
    pub capacity: u32,
    pub carved: u32,
    pub free: u32,
    /// Small: by which an offset is multiplied to get the block's number.
    pub reciprocal: u32,
    /// Small: number of the first free block.
    pub first_free: u32,
    /// The seat of its first block, as above; 0 if it has none.
    seat: u32,
    /// Large: where the block starts, and the bytes that were asked for; when
    /// it was freed, the stacks of its allocation and its free.
    pub start: usize,
    pub size: usize,
}

impl Chunk {
    #[inline(always)]
    pub fn usage(&self) -> Use {
        // Relaxed: a valid block's chunk was set up before its address was known.
        match self.usage.load(Ordering::Relaxed) {
            1 => Use::Free,
            2 => Use::Small,
            3 => Use::Large,
            4 => Use::Tail,
            5 => Use::Entries,
            _ => Use::None,
        }
    }

    pub fn set_usage(&self, usage: Use) {
        self.usage.store(usage as u8, Ordering::Relaxed);
    }

    /// The seat of a block by its number.
    #[inline(always)]
    pub fn seat(&self, number: u64) -> usize {
        self.seat as usize + number as usize
    }

    /// Gives the blocks their seats.
    pub fn seat_all(&mut self, row: Row) {
        (self.seat, self.kind) = (row.first, row.kind);
    }

    pub fn row(&self) -> Row {
        Row { first: self.seat, kind: self.kind }
    }
}

/// The descriptor of chunk `index`, which must be below [`top`].
#[inline(always)]
pub fn chunk(index: usize) -> *mut Chunk {
    (CHUNKS.load(Ordering::Relaxed) + index * size_of::<Chunk>()) as *mut Chunk
}

/// Number of chunks that were ever handed out.
#[inline(always)]
pub fn top() -> usize {
    TOP.load(Ordering::Relaxed)
}

#[inline(always)]
pub fn address_of(index: usize) -> usize {
    BASE.load(Ordering::Relaxed) + (index << CHUNK_SHIFT)
}

/// Start of the metadata, by seat.
#[inline(always)]
pub fn metas() -> usize {
    METAS.load(Ordering::Relaxed)
}

/// Whether pointers are followed.
#[inline(always)]
pub fn is_followed() -> bool {
    REACH.load(Ordering::Relaxed) != 0
}

/// Where the deaths of pointers into the block around `address` are kept: a
/// stamp for a block, or for each 16 bytes of a chunk in which pools have
/// blocks. Zero where no block is.
#[inline(always)]
pub fn stamps_at(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(BLOCKS);
    if offset >= REACH.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: readable for all of the reservation.
    let Step { multiplier, seat } = unsafe { &*step(offset >> CHUNK_SHIFT) };
    let number = ((offset % CHUNK) as u64 * u64::from(multiplier.load(Ordering::Relaxed))) >> 32;
    Some(stamps_of(seat.load(Ordering::Relaxed) as usize + number as usize))
}

#[inline(always)]
pub fn stamps_of(seat: usize) -> usize {
    STAMPS + seat * STAMP
}

/// Where the last use of a block is kept.
#[inline(always)]
pub fn use_of(seat: usize) -> *const AtomicU32 {
    (USES + seat * USE) as *const AtomicU32
}

/// Where instrumented code finds the stamps of a chunk's blocks: by what an
/// offset in it is multiplied, and divided by 2^32, to get the number of its
/// block, and the seat of the first.
#[repr(C)]
struct Step {
    multiplier: AtomicU32,
    seat: AtomicU32,
}

fn step(chunk: usize) -> *const Step {
    (STEPS + chunk * size_of::<Step>()) as *const Step
}

/// Where instrumented code finds the last uses of a chunk's blocks.
#[repr(C)]
struct LastUse {
    first: AtomicU64,
    step: AtomicU64,
}

/// Bytes that the tables by chunk have for each.
const TABLES: usize = size_of::<Step>() + size_of::<LastUse>();

fn last_use(chunk: usize) -> *const LastUse {
    (LAST_USES + chunk * size_of::<LastUse>()) as *const LastUse
}

/// How a block is found by an address in its chunk: by nothing, since no block
/// is there; as a whole; by size, or by 16 bytes, when the last use must be
/// asked for.
#[derive(Clone, Copy)]
pub enum Found {
    Nothing,
    Whole,
    By(u32),
    ByGranule,
}

/// Says what blocks a chunk has, before the first of them is known, and the seat
/// of the first.
pub fn set_step(chunk: usize, found: Found, seat: usize) {
    if !is_followed() {
        return;
    }
    let (multiplier, seat, uses) = match found {
        Found::Nothing => (0, 0, 0),
        Found::Whole => (0, seat, use_of(seat) as u64),
        Found::By(multiplier) => (multiplier, seat, use_of(seat) as u64),
        Found::ByGranule => (followed::SPLIT, seat, 0),
    };
    // SAFETY: committed with the chunk, which is the caller's.
    unsafe {
        (*step(chunk)).multiplier.store(multiplier, Ordering::Relaxed);
        (*step(chunk)).seat.store(seat as u32, Ordering::Relaxed);
        (*last_use(chunk)).step.store(multiplier.into(), Ordering::Relaxed);
        (*last_use(chunk)).first.store(uses, Ordering::Relaxed);
    }
}

/// A chunk gets blocks of pools, and a stamp for each 16 bytes from now on;
/// `fill` is given the first of these before they are looked at.
pub fn split(chunk: usize, fill: impl FnOnce(usize)) {
    if is_followed()
        && let Some(row) = seats::take(Kind::GRANULES)
    {
        fill(stamps_of(row.first as usize));
        set_step(chunk, Found::ByGranule, row.first as usize);
    }
}

/// Gives back a run.
pub fn give(index: usize, count: usize) {
    (index..index + count).for_each(leave);
    runs::give(index, count);
}

/// A chunk has no blocks any more, nor what was kept of them.
fn leave(index: usize) {
    // SAFETY: the chunk of a run that its owner gives back.
    let left = unsafe { &mut *chunk(index) };
    let was_pooled = core::mem::take(left.pooled.get_mut()) && is_followed();
    if was_pooled {
        // SAFETY: committed with the chunk.
        let Step { multiplier, seat } = unsafe { &*step(index) };
        if multiplier.load(Ordering::Relaxed) == followed::SPLIT {
            let granules = Row { first: seat.load(Ordering::Relaxed), kind: Kind::GRANULES };
            seats::forget(granules);
            seats::give(granules);
        }
    }
    set_step(index, Found::Nothing, 0);
    if left.seat != 0 {
        if was_pooled {
            // Stamps of before the pools are still there.
            seats::forget(left.row());
        }
        seats::give(left.row());
        left.seat = 0;
    }
}

/// Start of what is kept of accesses, by slot as the metadata; 0 if nothing is.
#[inline(always)]
pub fn accesses() -> usize {
    ACCESSES_BASE.load(Ordering::Relaxed)
}

/// Gets the memory of a chunk from the system, and that of what is kept of its
/// blocks.
pub fn populate(index: usize) {
    // SAFETY: committed with the chunk, which was handed out.
    unsafe {
        sys::populate(address_of(index), CHUNK);
        seats::populate((*chunk(index)).row());
    }
}

/// Addresses that blocks have or may get.
#[inline(always)]
pub fn range() -> core::ops::Range<usize> {
    let base = BASE.load(Ordering::Relaxed);
    base..base + (top() << CHUNK_SHIFT)
}

pub fn before_fork() {
    runs::before_fork();
    seats::before_fork();
}

pub fn after_fork() {
    seats::after_fork();
    runs::after_fork();
}
