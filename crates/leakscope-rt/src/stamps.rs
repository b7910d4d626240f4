//! Deaths of pointers, kept with the block that they pointed to.
//!
//! Instrumented code reports each pointer into the heap that is overwritten,
//! goes out of scope or is dropped; freed blocks are searched here for the
//! pointers that die with them. A block keeps the latest few. Which of all
//! stamps is the leak point is decided elsewhere, from the record.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use leakscope_wire::{self as wire, followed};

use crate::arena::CHUNK;
use crate::events::{self, What};
use crate::heap::{self, Block};
#[cfg(feature = "executable")]
use crate::left;
use crate::pointers::pointers;
#[cfg(feature = "executable")]
use crate::thread;
use crate::thread::Thread;
use crate::walk::Caller;
use crate::{activations, arena, caller, details, mode, moments, pools, uses};

#[cfg(feature = "executable")]
mod entry;

/// What is kept for each block; instrumented code writes it too. Zero bytes
/// are where no live block is.
#[repr(C)]
pub struct Stamps {
    /// Time and event of the latest.
    latest: AtomicU64,
    /// Events of those before it, the latest in the lowest bits.
    earlier: AtomicU64,
}

const EVENT_BITS: u32 = followed::EVENT_BITS;
const EVENT: u64 = (1 << EVENT_BITS) - 1;
const _: () = assert!(size_of::<Stamps>() == 16);

/// How far any thread's clock has come, now and then.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// The stamps of the block that `pointer` points into, if it is live: they
/// have a time from its birth on.
#[inline(always)]
fn of_pointer(pointer: usize) -> Option<&'static Stamps> {
    at(pointer).filter(|stamps| stamps.time() != 0)
}

#[inline(always)]
fn at(pointer: usize) -> Option<&'static Stamps> {
    let stamps = place_of(pointer)?;
    if stamps.latest.load(Ordering::Relaxed) == ELSEWHERE { of_part(pointer) } else { Some(stamps) }
}

/// In place of the latest: blocks of pools lie there, which have their stamps
/// with their entries. The time is such that instrumented code asks us.
const ELSEWHERE: u64 = ((1 << 38) - 1) << EVENT_BITS;
const _: () = assert!(((ELSEWHERE >> EVENT_BITS) + 1).is_multiple_of(followed::TICKS));

#[cold]
fn of_part(pointer: usize) -> Option<&'static Stamps> {
    place_of(heap::entry_of(pools::find(pointer)?))
}

/// Blocks of pools lie in this memory from now on, or no more.
pub fn cover(start: usize, bytes: usize) {
    for granule in (start & !15..start + bytes).step_by(16) {
        if let Some(stamps) = place_of(granule) {
            let is_covered = [granule, granule + 8].iter().any(|&half| pools::find(half).is_some());
            stamps.latest.store(if is_covered { ELSEWHERE } else { 0 }, Ordering::Relaxed);
        }
    }
}

/// The stamps of a block, unless pools have blocks around it.
#[inline(always)]
fn of_seat(seat: usize) -> &'static Stamps {
    // SAFETY: committed with the seat; atomics, for which zero is valid.
    unsafe { &*(arena::stamps_of(seat) as *const Stamps) }
}

#[inline(always)]
fn place_of(pointer: usize) -> Option<&'static Stamps> {
    // SAFETY: committed with the chunk, and readable before; atomics, for
    // which zero is valid.
    arena::stamps_at(pointer).map(|address| unsafe { &*(address as *const Stamps) })
}

/// All stamps of a block: one, or where pools have blocks, one for each 16
/// bytes.
fn of_block(block: Block) -> impl Iterator<Item = &'static Stamps> {
    let (first, step) = match heap::has_parts(block) && !heap::is_part(block) {
        true => (block.start & !15, 16),
        false => (block.start, block.room.max(1)),
    };
    (first..block.start + block.room).step_by(step).filter_map(at)
}

impl Stamps {
    /// Of the latest; 0 if the block is not live.
    #[inline(always)]
    fn time(&self) -> u64 {
        self.latest.load(Ordering::Relaxed) >> EVENT_BITS
    }

    #[inline(always)]
    fn begin(&self, time: u64) {
        self.latest.store(time << EVENT_BITS, Ordering::Relaxed);
        self.earlier.store(0, Ordering::Relaxed);
    }
}

/// Times are comparable between threads where one has seen the other's work:
/// a stamp is later than those before it on the same block, and than what the
/// thread did before. What most stamps need of this is in instrumented code.
#[inline(always)]
fn put(thread: &mut Thread, pointer: usize, stamps: &Stamps, event: u32, caller: Caller) {
    if mode::is_selective() {
        watch(thread, pointer, event, caller);
    }
    // Relaxed: what two threads stamp at the same time has no order.
    let latest = stamps.latest.load(Ordering::Relaxed);
    let time = thread.clock.max(latest >> EVENT_BITS) + 1;
    thread.clock = time;
    if time.is_multiple_of(followed::TICKS) {
        thread.clock = CLOCK.fetch_max(time, Ordering::Relaxed).max(time);
        uses::earn();
    }
    let (before, event) = (latest & EVENT, if event >> EVENT_BITS == 0 { u64::from(event) } else { 0 });
    if before != event {
        let earlier = stamps.earlier.load(Ordering::Relaxed);
        stamps.earlier.store(earlier << EVENT_BITS | before, Ordering::Relaxed);
    }
    stamps.latest.store(time << EVENT_BITS | event, Ordering::Relaxed);
}

/// For a run that looks at more than the latest deaths.
#[cold]
fn watch(thread: &mut Thread, pointer: usize, event: u32, caller: Caller) {
    let at = core::mem::take(&mut thread.dying);
    let Some(slot) = heap::slot_at(pointer) else { return };
    if moments::are_counted() {
        moments::stamped(slot, caller.returns_to());
    }
    if details::are_kept() {
        details::died(slot, at, event);
    }
}

/// A pointer to a live block dies.
#[inline(always)]
pub fn stamp(thread: &mut Thread, pointer: usize, caller: Caller, what: What) {
    if let Some(stamps) = of_pointer(pointer) {
        let event = events::number(thread, caller, what);
        put(thread, pointer, stamps, event, caller);
    }
}

/// The same, unless it was stamped since a moment.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
pub fn stamp_since(thread: &mut Thread, pointer: usize, since: u64, caller: Caller, what: What) {
    if let Some(stamps) = of_pointer(pointer)
        && stamps.time() <= since
    {
        let event = events::number(thread, caller, what);
        put(thread, pointer, stamps, event, caller);
    }
}

/// A pointer died in an event of before, if the time of the block's latest
/// stamp is as wanted.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
pub fn stamp_if(
    thread: &mut Thread,
    pointer: usize,
    is_wanted: impl FnOnce(u64) -> bool,
    event: impl FnOnce() -> u32,
) {
    if let Some(stamps) = of_pointer(pointer).filter(|stamps| is_wanted(stamps.time())) {
        put(thread, pointer, stamps, event(), caller!());
    }
}

/// For a thread that starts: it comes after what was done so far.
pub fn start_clock(thread: &mut Thread) {
    thread.clock = CLOCK.load(Ordering::Relaxed).max(thread.clock);
}

/// Brings the clock forward before others may depend on what this thread did.
pub fn publish_clock(thread: &mut Thread) {
    thread.clock = CLOCK.fetch_max(thread.clock, Ordering::Relaxed).max(thread.clock);
}

/// A block begins its life. Its birth counts as a stamp, of no event: what got
/// its value after it, and sees no other stamp, borrows.
#[inline(always)]
pub fn begin(thread: &mut Thread, block: Block) {
    if !arena::is_followed() {
        return;
    }
    thread.clock += 1;
    if pools::are_used() {
        begin_among_parts(block, thread.clock);
    } else {
        of_seat(block.seat).begin(thread.clock);
    }
    if uses::are_wanted() {
        // SAFETY: committed with the block.
        unsafe { (*arena::use_of(block.seat)).store(0, Ordering::Relaxed) };
    }
}

/// The same of a block where pools may have blocks, or of one of these.
#[cold]
fn begin_among_parts(block: Block, time: u64) {
    of_block(block).for_each(|stamps| stamps.begin(time));
}

/// A chunk gets blocks of pools: from now on it has stamps by 16 bytes, each with
/// what was known of the block around it.
pub fn split(chunk: usize) {
    if !arena::is_followed() {
        return;
    }
    let address = arena::address_of(chunk);
    arena::split(chunk, |first| {
        for number in 0..CHUNK / 16 {
            let Some(known) = place_of(address + number * 16) else { continue };
            // SAFETY: a stamp of the chunk's, from now on.
            let stamps = unsafe { &*(first as *const Stamps).add(number) };
            stamps.latest.store(known.latest.load(Ordering::Relaxed), Ordering::Relaxed);
            stamps.earlier.store(known.earlier.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    });
}

/// Whether the block is followed.
pub fn are_kept(block: Block) -> bool {
    of_pointer(block.start).is_some()
}

/// A block is freed.
#[inline(always)]
pub fn end(block: Block) {
    if !arena::is_followed() {
        return;
    }
    if !pools::are_used() {
        of_seat(block.seat).latest.store(0, Ordering::Relaxed);
    } else {
        of_block(block).for_each(|stamps| stamps.latest.store(0, Ordering::Relaxed));
    }
}

/// The event of the last use of the block around an address.
fn used(pointer: usize) -> Option<&'static AtomicU32> {
    // SAFETY: committed with the block.
    heap::seat_at(pointer).filter(|_| arena::is_followed()).map(|seat| unsafe { &*arena::use_of(seat) })
}

/// Stamps what the pointers in `block` from `offset` on point to, because
/// that part of it is freed, and clears them: else they would stamp again
/// when the memory is used for something else.
#[inline]
pub fn holder_freed(thread: &mut Thread, block: Block, offset: usize, caller: Caller) {
    let mut site = core::mem::take(&mut thread.site);
    if thread.cleaning != 0 {
        site = thread.cleaning;
    }
    let size = block.size();
    if !arena::is_followed() || size > mode::searched_max() {
        return;
    }
    let site = if site == 0 { (&raw const HOLDER_FREED) as usize } else { site };
    // Of several pointers to one block the first is meant: `start`, not `end`.
    // SAFETY: a block that the caller gives up.
    for (address, word) in unsafe { pointers(block.start + offset, block.start + size) }.rev() {
        thread.dying = address;
        holder_dies(thread, word, caller, What::freed(site, (address - block.start) as u64));
        thread.dying = 0;
        // SAFETY: as above.
        unsafe { *(address as *mut usize) = 0 };
    }
}

/// What a freed block held dies with it, or where an exception was thrown on
/// whose way it is freed.
#[inline(always)]
fn holder_dies(thread: &mut Thread, word: usize, caller: Caller, what: What) {
    #[cfg(feature = "executable")]
    // SAFETY: a site of the module that freed it, or of ours.
    if unsafe { (*(what.site as *const wire::Descriptor)).site.cause } == wire::Cause::Unwound as u32
        && let Some(stack) = left::thrown(thread)
    {
        return stamp_if(thread, word, |_| true, || events::of_stack(stack, what));
    }
    stamp(thread, word, caller, what);
}

/// What a record says of a block: where pools have blocks, the latest of its
/// stamps.
pub fn read(block: Block) -> wire::Stamps {
    let latest = |stamps: &Stamps| stamps.latest.load(Ordering::Relaxed);
    let Some(stamps) = of_block(block).max_by_key(|&stamps| latest(stamps)) else {
        return wire::Stamps::default();
    };
    if !are_kept(block) {
        return wire::Stamps { last_used: wire::NOT_FOLLOWED, ..wire::Stamps::default() };
    }
    let (latest, earlier) = (latest(stamps), stamps.earlier.load(Ordering::Relaxed));
    wire::Stamps {
        time: latest >> EVENT_BITS,
        stacks: [latest, earlier, earlier >> EVENT_BITS].map(|event| (event & EVENT) as u32),
        last_used: used(block.start).map(|used| used.load(Ordering::Relaxed)).filter(is_known).unwrap_or(0),
    }
}

fn is_known(event: &u32) -> bool {
    *event < followed::IS_PLACE || activations::numbers().contains(event)
}

/// The site of a free that instrumented code did not announce.
pub static HOLDER_FREED: wire::Descriptor = {
    let site = wire::Site { frame: wire::BEHIND_ARGUMENT, ..wire::Site::of(wire::Cause::HolderFreed) };
    wire::Descriptor { site, bytes: 0, fields: 0 }
};
