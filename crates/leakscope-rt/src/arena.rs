//! Address space of the heap, cut into chunks of 64 KiB.
//!
//! One reservation holds all blocks, a second one the metadata of blocks at
//! positions computed from theirs, a third one a descriptor for each chunk.
//! So a range check and three loads lead from any address to its block. Only
//! what was handed out is committed.
//!
//! This file hands out runs of chunks; what is inside is the business of
//! `heap`.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::followed;

use crate::heap::META;
use crate::lock::Lock;
use crate::sys::Untouched;
use crate::{details, mode, moments, sys};

pub const CHUNK: usize = 1 << CHUNK_SHIFT;
pub const CHUNK_SHIFT: usize = followed::CHUNK_BITS as usize;

/// Reserved where the address space is not limited.
const FULL_SIZE: usize = 1 << 42;
const LEAST_SIZE: usize = 1 << 24;

/// Chunks committed at a time: their descriptors fill a page.
const GROWTH: usize = sys::PAGE / size_of::<Chunk>();

/// Freed runs from this length on are given back to the system at once.
const DISCARD_RUN: usize = 256;

/// Freed chunks that may wait for their next use with memory behind them: as
/// much as glibc keeps at most of what it mapped once.
const DIRTY_MAX: usize = 512;

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

/// Bytes kept for the accesses of a block.
pub const ACCESSES: usize = 12;

/// Where blocks and stamps lie if pointers are followed: instrumented code
/// has it built in. Nothing else is ever placed there by itself.
const BLOCKS: usize = followed::BLOCKS as usize;
const STAMPS: usize = followed::STAMPS as usize;
const USES: usize = followed::USES as usize;
const STEPS: usize = followed::STEPS as usize;
const LAST_USES: usize = followed::LAST_USES as usize;
const _: () = assert!(FULL_SIZE == (followed::END - followed::BLOCKS) as usize);

/// Address space limit that was found at the start, if it left less than
/// [`FULL_SIZE`].
static LIMITED: AtomicUsize = AtomicUsize::new(0);

static RUNS: Lock<Runs> = Lock::new(Runs { bins: [NONE; BINS], committed: 0, dirty: 0 });

const BINS: usize = 32;
pub const NONE: u32 = u32::MAX;

/// Free runs by the binary logarithm of their length.
struct Runs {
    bins: [u32; BINS],
    committed: usize,
    dirty: usize,
}

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
    usage: AtomicU32,
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
    /// Small: first free block, as a slot number.
    pub first_free: u64,
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
        self.usage.store(usage as u32, Ordering::Relaxed);
    }
}

/// Reserves the heap at the first call. False if there is no address space.
pub fn ready() -> bool {
    BASE.load(Ordering::Acquire) != 0 || reserve()
}

#[cold]
fn reserve() -> bool {
    let _runs = RUNS.lock();
    if BASE.load(Ordering::Relaxed) != 0 {
        return true;
    }
    let left = address_space_left();
    let mut size = FULL_SIZE.min(share_of(left));
    if size < FULL_SIZE {
        LIMITED.store(size, Ordering::Relaxed);
    }
    let follows = mode::follows_pointers();
    while size >= LEAST_SIZE.min(FULL_SIZE) {
        if follows && reserve_followed(size) || reserve_plain(size) {
            return true;
        }
        size = (size / 2) & !(CHUNK * GROWTH - 1);
        LIMITED.store(size, Ordering::Relaxed);
    }
    false
}

fn reserve_plain(size: usize) -> bool {
    // One more chunk, so that the start can be aligned.
    let sizes = [size + CHUNK, size / 2, size / CHUNK * size_of::<Chunk>()];
    let [blocks, metas, chunks] = sizes.map(sys::reserve);
    let accesses = if mode::samples() { sys::reserve(size / 16 * ACCESSES) } else { 0 };
    let is_whole = blocks != 0 && metas != 0 && chunks != 0 && (accesses != 0) == mode::samples();
    if is_whole {
        ACCESSES_BASE.store(accesses, Ordering::Relaxed);
        use_reservation((blocks + CHUNK - 1) & !(CHUNK - 1), metas, chunks, size);
    } else {
        let all = [blocks, metas, chunks].into_iter().zip(sizes);
        release_all(all.chain([(accesses, size / 16 * ACCESSES)]));
    }
    is_whole
}

/// The same where pointers are followed, with what that needs.
fn reserve_followed(size: usize) -> bool {
    let blocks = sys::reserve_at(BLOCKS, size, Untouched::Faults);
    let stamps = sys::reserve_at(STAMPS, size, Untouched::IsRead);
    let steps = sys::reserve_at(STEPS, size / CHUNK * size_of::<u32>(), Untouched::IsRead);
    let uses = sys::reserve_at(USES, size / 4, Untouched::Faults);
    let last_uses = sys::reserve_at(LAST_USES, size / CHUNK * size_of::<LastUse>(), Untouched::IsRead);
    let sizes = [size / 2, size / CHUNK * size_of::<Chunk>()];
    let [metas, chunks] = sizes.map(sys::reserve);
    let is_whole =
        [blocks, stamps, steps, uses, last_uses, metas, chunks].iter().all(|&address| address != 0);
    if is_whole {
        set_reach(size);
        use_reservation(blocks, metas, chunks, size);
    } else {
        let steps = (steps, size / CHUNK * size_of::<u32>());
        let last_uses = (last_uses, size / CHUNK * size_of::<LastUse>());
        let fixed = [(blocks, size), (stamps, size), (uses, size / 4), steps, last_uses];
        release_all(fixed.into_iter().chain([metas, chunks].into_iter().zip(sizes)));
    }
    is_whole
}

fn set_reach(size: usize) {
    REACH.store(size, Ordering::Relaxed);
    USE_CHUNKS.store(size / CHUNK, Ordering::Relaxed);
    OWN_REACH.store(if moments::are_counted() || details::are_kept() { 0 } else { size }, Ordering::Relaxed);
}

fn use_reservation(blocks: usize, metas: usize, chunks: usize, size: usize) {
    METAS.store(metas, Ordering::Relaxed);
    CHUNKS.store(chunks, Ordering::Relaxed);
    SIZE.store(size, Ordering::Relaxed);
    // Release: whoever sees the base sees the rest.
    BASE.store(blocks, Ordering::Release);
}

fn release_all(reservations: impl Iterator<Item = (usize, usize)>) {
    for (address, bytes) in reservations.filter(|&(address, _)| address != 0) {
        // SAFETY: reserved just now, and used by nobody.
        unsafe { sys::release(address, bytes) };
    }
}

/// Bytes that the blocks may take if the address space is limited, else 0.
pub fn limited_to() -> usize {
    LIMITED.load(Ordering::Relaxed)
}

/// Gives back what is reserved beyond a share of `limit`, which the address
/// space of the process is about to have.
pub fn shrink(limit: usize) {
    let runs = RUNS.lock();
    let size = SIZE.load(Ordering::Relaxed);
    let followed = if is_followed() { size + size / 4 + size / CHUNK * TABLES } else { 0 };
    let sampled = if accesses() != 0 { size / 16 * ACCESSES } else { 0 };
    let own = size + size / 2 + size / CHUNK * size_of::<Chunk>() + followed + sampled;
    let others = address_space_used().saturating_sub(own);
    let wanted = share_of(limit.saturating_sub(others)).max(runs.committed * CHUNK);
    if wanted >= size {
        return;
    }
    SIZE.store(wanted, Ordering::Relaxed);
    LIMITED.store(wanted, Ordering::Relaxed);
    let (kept, count) = (wanted / CHUNK, size / CHUNK);
    if is_followed() {
        set_reach(wanted);
    }
    // SAFETY: the ends of our reservations, beyond what was ever committed.
    unsafe {
        sys::unmap(address_of(kept), size - wanted);
        sys::unmap(metas() + wanted / 2, (size - wanted) / 2);
        if is_followed() {
            sys::unmap(STAMPS + wanted, size - wanted);
            sys::unmap(use_of(0) as usize + wanted / 4, (size - wanted) / 4);
            for table in [|at| step(at) as usize, |at| last_use(at) as usize] {
                let [from, end] = [kept, count].map(|chunk| table(chunk).next_multiple_of(sys::PAGE));
                sys::unmap(from, end - from);
            }
        }
        if accesses() != 0 {
            sys::unmap(accesses() + wanted / 16 * ACCESSES, (size - wanted) / 16 * ACCESSES);
        }
        sys::unmap(chunk(kept) as usize, (count - kept) * size_of::<Chunk>());
    }
}

/// What blocks get of the address space. Their metadata gets half as much,
/// their stamps as much and their uses a quarter, or their accesses three
/// quarters, and a part is left for everything else.
fn share_of(left: usize) -> usize {
    let parts = match () {
        _ if mode::follows_pointers() => 4,
        _ if mode::samples() => 3,
        _ => 2,
    };
    (left / parts) & !(CHUNK * GROWTH - 1)
}

fn address_space_left() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a plain query; the system call itself, since `getrlimit` may be ours.
    unsafe { libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_AS, 0usize, &mut limit) };
    if limit.rlim_cur == libc::RLIM_INFINITY {
        return usize::MAX;
    }
    (limit.rlim_cur as usize).saturating_sub(address_space_used())
}

fn address_space_used() -> usize {
    let mut text = [0; 64];
    sys::File::open(c"/proc/thread-self/statm").map_or(0, |file| {
        let count = file.read(&mut text);
        file.close();
        let digits = text[..count].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |pages, byte| pages * 10 + usize::from(byte - b'0')) * sys::PAGE
    })
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

/// Start of the metadata; each chunk has half as many bytes there as in the
/// heap: 8 for each of the smallest blocks.
#[inline(always)]
pub fn metas() -> usize {
    METAS.load(Ordering::Relaxed)
}

/// Whether pointers are followed.
#[inline(always)]
pub fn is_followed() -> bool {
    REACH.load(Ordering::Relaxed) != 0
}

/// Where the deaths of pointers into the block around `address` are kept: 16
/// bytes for a small block, and for each chunk of a large one. Zero where no
/// block is.
#[inline(always)]
pub fn stamps_at(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(BLOCKS);
    if offset >= REACH.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: readable for all of the reservation.
    let step = unsafe { (*step(offset >> CHUNK_SHIFT)).load(Ordering::Relaxed) };
    Some(stamps_by(address, step))
}

/// The same in a chunk in which offsets are multiplied by this.
#[inline(always)]
pub fn stamps_by(address: usize, step: u32) -> usize {
    let offset = address.wrapping_sub(BLOCKS);
    let number = ((offset % CHUNK) as u64 * u64::from(step)) >> 32;
    STAMPS + (offset & !(CHUNK - 1)) + number as usize * 16
}

/// Where the last use of a slot is kept.
#[inline(always)]
pub fn use_of(slot: u64) -> *const AtomicU32 {
    (USES + slot as usize * size_of::<u32>()) as *const AtomicU32
}

/// By what an offset in a chunk is multiplied; 0 leads to the chunk's first
/// stamp.
fn step(chunk: usize) -> *const AtomicU32 {
    (STEPS + chunk * size_of::<u32>()) as *const AtomicU32
}

/// Where instrumented code finds the last uses of a chunk's blocks.
#[repr(C)]
struct LastUse {
    first: AtomicU64,
    step: AtomicU64,
}

/// Bytes that the tables by chunk have for each.
const TABLES: usize = size_of::<u32>() + size_of::<LastUse>();

fn last_use(chunk: usize) -> *const LastUse {
    (LAST_USES + chunk * size_of::<LastUse>()) as *const LastUse
}

/// Says what blocks a chunk has, before the first of them is known, and which
/// slot the uses of the first have, if they are found by the same step.
pub fn set_step(chunk: usize, multiplier: u32, used: Option<u64>) {
    if is_followed() {
        let first = used.map_or(0, |slot| use_of(slot) as u64);
        // SAFETY: committed with the chunk, which is the caller's.
        unsafe {
            (*step(chunk)).store(multiplier, Ordering::Relaxed);
            (*last_use(chunk)).step.store(multiplier.into(), Ordering::Relaxed);
            (*last_use(chunk)).first.store(first, Ordering::Relaxed);
        }
    }
}

/// Start of what is kept of accesses, by slot as the metadata; 0 if nothing is.
#[inline(always)]
pub fn accesses() -> usize {
    ACCESSES_BASE.load(Ordering::Relaxed)
}

/// Gets the memory of a chunk from the system, and that of what is kept of so
/// many blocks in it.
pub fn populate(index: usize, blocks: usize) {
    // SAFETY: committed with the chunk, which was handed out.
    unsafe {
        sys::populate(address_of(index), CHUNK);
        sys::populate(metas() + index * CHUNK / 2, blocks * META);
        if accesses() != 0 {
            sys::populate(accesses() + index * CHUNK / 16 * ACCESSES, blocks * ACCESSES);
        }
    }
}

/// Addresses that blocks have or may get.
#[inline(always)]
pub fn range() -> core::ops::Range<usize> {
    let base = BASE.load(Ordering::Relaxed);
    base..base + (top() << CHUNK_SHIFT)
}

/// `count` chunks in a row, the first at a multiple of `align` chunks; the
/// first one's `dirty` holds for all. The caller sets their use.
pub fn take(count: usize, align: usize) -> Option<usize> {
    RUNS.lock().take(count, align)
}

/// Gives back a run.
pub fn give(index: usize, count: usize) {
    RUNS.lock().give(index, count);
}

/// Lengthens a large run in place, if what follows is free.
pub fn extend(index: usize, count: usize, wanted: usize) -> bool {
    RUNS.lock().extend(index, count, wanted)
}

pub fn before_fork() {
    RUNS.acquire();
}

pub fn after_fork() {
    RUNS.release();
}

impl Runs {
    fn take(&mut self, count: usize, align: usize) -> Option<usize> {
        let total = count + align - 1;
        let found = match self.find(total) {
            Some(found) => found,
            None => self.grow(total)?,
        };
        // Aligned as an address, not as a number of chunks.
        let origin = BASE.load(Ordering::Relaxed) >> CHUNK_SHIFT;
        let start = (origin + found).next_multiple_of(align) - origin;
        // SAFETY: a free run's descriptors are under our lock.
        let (run, dirty) = unsafe { ((*chunk(found)).run as usize, (*chunk(found)).dirty) };
        self.unlink(found);
        if start > found {
            self.link(found, start - found, dirty);
        }
        if found + run > start + count {
            self.link(start + count, found + run - start - count, dirty);
        }
        // SAFETY: as above; the run is now the caller's.
        unsafe { (*chunk(start)).dirty = dirty };
        Some(start)
    }

    /// First fit among the runs that may be long enough.
    fn find(&mut self, count: usize) -> Option<usize> {
        for bin in bin_of(count)..BINS {
            let mut index = self.bins[bin];
            while index != NONE {
                // SAFETY: a listed chunk heads a free run, under our lock.
                let free = unsafe { &*chunk(index as usize) };
                if free.run as usize >= count {
                    return Some(index as usize);
                }
                index = free.next;
            }
        }
        None
    }

    /// A free run of at least `count` chunks at the top of the heap.
    fn grow(&mut self, count: usize) -> Option<usize> {
        let top = TOP.load(Ordering::Relaxed);
        // A free run at the very end is part of the new one.
        let start = match top.checked_sub(1) {
            // SAFETY: the last chunk below the top is committed.
            Some(last) if unsafe { (*chunk(last)).usage() } == Use::Free => {
                // SAFETY: as above; the last chunk of a free run knows its length.
                top - unsafe { (*chunk(last)).run as usize }
            }
            _ => top,
        };
        let end = start + count;
        if end > SIZE.load(Ordering::Relaxed) / CHUNK {
            return None;
        }
        if end > self.committed {
            let wanted = end.next_multiple_of(GROWTH);
            let (from, more) = (self.committed, wanted - self.committed);
            // SAFETY: the ranges lie in our reservations, since `end` does and
            // their sizes are multiples of the growth.
            let done = unsafe {
                sys::commit(chunk(from) as usize, more * size_of::<Chunk>())
                    && sys::commit(metas() + from * CHUNK / 2, more * CHUNK / 2)
                    && (!is_followed() || commit_followed(from, more))
                    && (accesses() == 0 || commit_accesses(from, more))
                    && sys::commit(address_of(from), more * CHUNK)
            };
            if !done {
                return None;
            }
            self.committed = wanted;
        }
        TOP.store(end, Ordering::Relaxed);
        // SAFETY: committed above, and nobody else's yet.
        unsafe { (*chunk(top)).dirty = false };
        self.give_clean(top, end - top);
        Some(start)
    }

    fn give_clean(&mut self, index: usize, count: usize) {
        let (mut start, mut end, mut dirty) = (index, index + count, false);
        if let Some(before) = index.checked_sub(1) {
            // SAFETY: the descriptor below a handed-out one is committed.
            let last = unsafe { &*chunk(before) };
            if last.usage() == Use::Free {
                start = index - last.run as usize;
                // SAFETY: the first chunk of that free run.
                dirty |= unsafe { (*chunk(start)).dirty };
                self.unlink(start);
            }
        }
        if end < top() {
            // SAFETY: below the top, so committed.
            let next = unsafe { &*chunk(end) };
            if next.usage() == Use::Free {
                let run = next.run as usize;
                dirty |= next.dirty;
                self.unlink(end);
                end += run;
            }
        }
        // SAFETY: the run given back is nobody's.
        dirty |= unsafe { (*chunk(index)).dirty };
        self.link(start, end - start, dirty);
        if self.dirty > DIRTY_MAX {
            self.discard_all();
        }
    }

    fn give(&mut self, index: usize, count: usize) {
        // SAFETY: the caller gives up a committed run; its memory is not needed.
        unsafe {
            (*chunk(index)).dirty = count < DISCARD_RUN || !sys::discard(address_of(index), count * CHUNK)
        };
        self.give_clean(index, count);
    }

    fn extend(&mut self, index: usize, count: usize, wanted: usize) -> bool {
        let (end, more) = (index + count, wanted - count);
        if end == top() && self.grow(more).is_none() {
            return false;
        }
        // SAFETY: below the top, so committed.
        let next = unsafe { &*chunk(end) };
        if next.usage() != Use::Free || (next.run as usize) < more {
            return false;
        }
        let (run, dirty) = (next.run as usize, next.dirty);
        self.unlink(end);
        if run > more {
            self.link(end + more, run - more, dirty);
        }
        // SAFETY: the chunks are the caller's now.
        unsafe { (*chunk(end)).dirty = dirty };
        true
    }

    fn discard_all(&mut self) {
        for bin in 0..BINS {
            let mut index = self.bins[bin];
            while index != NONE {
                // SAFETY: a listed chunk heads a free run, under our lock.
                let free = unsafe { &mut *chunk(index as usize) };
                if free.dirty {
                    // SAFETY: nobody uses a free run's memory.
                    free.dirty =
                        !unsafe { sys::discard(address_of(index as usize), free.run as usize * CHUNK) };
                    self.dirty -= if free.dirty { 0 } else { free.run as usize };
                }
                index = free.next;
            }
        }
    }

    fn link(&mut self, index: usize, count: usize, dirty: bool) {
        let bin = &mut self.bins[bin_of(count)];
        if *bin != NONE {
            // SAFETY: a listed chunk, under our lock.
            unsafe { (*chunk(*bin as usize)).previous = index as u32 };
        }
        // SAFETY: both ends of a run that is free now, under our lock.
        let (first, last) = unsafe { (&mut *chunk(index), chunk(index + count - 1)) };
        first.run = count as u32;
        first.dirty = dirty;
        first.next = *bin;
        first.previous = NONE;
        first.set_usage(Use::Free);
        // SAFETY: may be the same chunk as the first, so through its pointer.
        unsafe {
            (*last).run = count as u32;
            (*last).set_usage(Use::Free);
        }
        *bin = index as u32;
        self.dirty += if dirty { count } else { 0 };
    }

    fn unlink(&mut self, index: usize) {
        // SAFETY: heads a free run, under our lock.
        let first = unsafe { &mut *chunk(index) };
        let count = first.run as usize;
        match first.previous {
            NONE => self.bins[bin_of(count)] = first.next,
            // SAFETY: a listed chunk.
            previous => unsafe { (*chunk(previous as usize)).next = first.next },
        }
        if first.next != NONE {
            // SAFETY: a listed chunk.
            unsafe { (*chunk(first.next as usize)).previous = first.previous };
        }
        first.set_usage(Use::None);
        // SAFETY: the other end of the same run.
        unsafe { (*chunk(index + count - 1)).set_usage(Use::None) };
        self.dirty -= if first.dirty { count } else { 0 };
    }
}

/// # Safety
/// The chunks lie in our reservations.
unsafe fn commit_followed(from: usize, more: usize) -> bool {
    // Whole pages of the small arrays: what lies before was committed before.
    let commit = |start: usize, bytes: usize| {
        let first = start & !(sys::PAGE - 1);
        // SAFETY: as the caller says.
        unsafe { sys::commit(first, (start + bytes - first).next_multiple_of(sys::PAGE)) }
    };
    commit(STAMPS + from * CHUNK, more * CHUNK)
        && commit(use_of(0) as usize + from * CHUNK / 4, more * CHUNK / 4)
        && commit(step(from) as usize, more * size_of::<u32>())
        && commit(last_use(from) as usize, more * size_of::<LastUse>())
}

/// # Safety
/// As [`commit_followed`].
unsafe fn commit_accesses(from: usize, more: usize) -> bool {
    let each = CHUNK / 16 * ACCESSES;
    // SAFETY: as the caller says.
    unsafe { sys::commit(accesses() + from * each, more * each) }
}

fn bin_of(count: usize) -> usize {
    (count.ilog2() as usize).min(BINS - 1)
}
