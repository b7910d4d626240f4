//! Accesses to blocks that sampled code reported: when each was first and last
//! accessed, and where last (SWAT, section 3.3).
//!
//! Time is counted in heap accesses of the process, seen or not: one that was
//! seen stands for as many as its check lets pass unseen.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::arena;
use crate::thread::Thread;

/// What is kept for each block.
#[repr(C)]
pub struct Accesses {
    /// Moment of the first access, or of the birth of a block without any.
    first: AtomicU32,
    /// 0 before the first access.
    last: AtomicU32,
    /// Stack of the last access, and whether a free was left out.
    place: AtomicU32,
}

const INJECTED: u32 = 1 << 31;

const _: () = assert!(size_of::<Accesses>() == arena::ACCESSES);

/// Accesses so far, but for what threads have pending.
static CLOCK: AtomicU64 = AtomicU64::new(1);

/// What a thread keeps to itself of the clock at most, and as a part of it: a
/// scan does not see that, and threads must not all write to one place.
const PENDING_MAX: u64 = 1 << 14;
const PENDING_PART: u64 = 1 << 10;

/// A moment in 32 bits: 26 of value, 6 of scale. Exact up to 67 million,
/// then to 1 in 33 million; later moments have larger numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment(u32);

impl Moment {
    const BITS: u32 = 26;

    #[inline(always)]
    pub fn of(time: u64) -> Moment {
        let scale = (u64::BITS - time.leading_zeros()).saturating_sub(Moment::BITS);
        Moment(scale << Moment::BITS | (time >> scale) as u32)
    }

    pub fn time(self) -> u64 {
        u64::from(self.0 & ((1 << Moment::BITS) - 1)) << (self.0 >> Moment::BITS)
    }
}

#[inline(always)]
fn now(thread: &Thread) -> u64 {
    CLOCK.load(Ordering::Relaxed) + thread.sampling.pending
}

/// The clock, for a scan.
pub fn time() -> u64 {
    CLOCK.load(Ordering::Relaxed)
}

#[inline(always)]
fn of(seat: usize) -> Option<&'static Accesses> {
    let base = arena::accesses();
    // SAFETY: committed together with the block's chunk; atomics, for which
    // zero is valid.
    (base != 0).then(|| unsafe { &*((base + seat * arena::ACCESSES) as *const Accesses) })
}

/// A block begins its life.
#[inline(always)]
pub fn begin(thread: &Thread, seat: usize) {
    if let Some(accesses) = of(seat) {
        // Relaxed, here and below: what two threads do to a block at the same
        // time has no order.
        accesses.first.store(Moment::of(now(thread)).0, Ordering::Relaxed);
        accesses.last.store(0, Ordering::Relaxed);
        accesses.place.store(0, Ordering::Relaxed);
    }
}

/// What is known of the accesses to a block, in times until now.
#[derive(Clone, Copy)]
pub struct Seen {
    pub idle: u64,
    pub active: u64,
    /// Stack of the last access; `None` if no access was seen.
    pub place: Option<u32>,
}

pub fn read(seat: usize) -> Option<Seen> {
    read_at(seat, time())
}

fn read_at(seat: usize, now: u64) -> Option<Seen> {
    let accesses = of(seat)?;
    let first = Moment(accesses.first.load(Ordering::Relaxed)).time();
    let last = match accesses.last.load(Ordering::Relaxed) {
        0 => None,
        last => Some(Moment(last).time()),
    };
    Some(Seen {
        idle: now.saturating_sub(last.unwrap_or(first)),
        active: last.unwrap_or(first).saturating_sub(first),
        place: last.map(|_| accesses.place.load(Ordering::Relaxed) & !INJECTED),
    })
}

/// Notes that a block should have been freed. False where nothing is kept.
pub fn mark_injected(seat: usize) -> bool {
    of(seat).is_some_and(|accesses| accesses.place.fetch_or(INJECTED, Ordering::Relaxed) & INJECTED == 0)
}

pub fn is_injected(seat: usize) -> bool {
    of(seat).is_some_and(|accesses| accesses.place.load(Ordering::Relaxed) & INJECTED != 0)
}

/// A time to a quarter of its order: blocks whose times are that alike are
/// written down together.
pub fn about(time: u64) -> u8 {
    let order = (u64::BITS - time.leading_zeros()).saturating_sub(3);
    (order << 2) as u8 + (time >> order) as u8
}

/// Whether anyone would call a block stale: it lay idle for a tenth of the
/// run, and for longer than it was active.
pub fn may_be_stale(seen: Seen) -> bool {
    seen.idle > time() / 10 && seen.idle > seen.active
}

/// What instrumented code calls.
#[cfg(feature = "executable")]
mod entry {
    use super::*;
    use crate::entry::keeping_all_registers;
    use crate::walk::{Caller, Near};
    use crate::{events, heap, history, outline, thread};

    keeping_all_registers!("__leakscope_access", "leakscope_access", "rcx");

    /// A block is accessed that lay idle for a tenth of the run: if it looked
    /// stale, that is counted.
    #[cold]
    fn came_back(thread: &mut Thread, pointer: usize, seat: usize, now: u64) {
        let (Some(seen), Some(block)) = (read_at(seat, now), heap::innermost(pointer)) else { return };
        if seen.idle > seen.active && block.is_live() {
            let shares = (seen.idle * 10 / now.max(1)).min(9) as u16;
            events::count_return(thread, block.stack(), (u64::BITS - now.leading_zeros()) as u16, shares);
        }
    }

    /// So many accesses through a pointer, in a function whose return address
    /// lies at `returns`.
    #[unsafe(no_mangle)]
    extern "C" fn leakscope_access(pointer: usize, count: u64, returns: usize, frame: usize) {
        // SAFETY: the thread's own state.
        let thread = unsafe { &mut *thread::current() };
        if !arena::range().contains(&pointer) {
            return;
        }
        thread.sampling.pending += count * u64::from(thread.sampling.weight);
        if thread.sampling.pending >= PENDING_MAX.min(time() / PENDING_PART) {
            CLOCK.fetch_add(core::mem::take(&mut thread.sampling.pending), Ordering::Relaxed);
        }
        let Some(seat) = heap::seat_at(pointer) else { return };
        let Some(accesses) = of(seat) else { return };
        let now = now(thread);
        let moment = Moment::of(now).0;
        let before = accesses.last.load(Ordering::Relaxed);
        let since = if before == 0 { accesses.first.load(Ordering::Relaxed) } else { before };
        if now.saturating_sub(Moment(since).time()) > now / 10 {
            came_back(thread, pointer, seat, now);
        }
        if before == 0 {
            accesses.first.store(moment, Ordering::Relaxed);
        }
        accesses.last.store(moment, Ordering::Relaxed);
        let near = Near::inside(thread, Caller { frame }.returns_to() as u64, returns);
        let context = outline::outline_again(thread, near);
        let place = events::near_number(thread, near, context);
        // A pointer to a neighbour's end is no access to a block that is gone.
        let injected = accesses.place.load(Ordering::Relaxed) & INJECTED;
        accesses.place.store(place | injected, Ordering::Relaxed);
        history::note(&mut thread.sampling.recent, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_times_are_together_and_in_order() {
        let times = [0, 1, 7, 8, 9, 10, 15, 16, 1000, 1 << 20, (1 << 20) * 5 / 4, u64::MAX];
        let groups: Vec<u8> = times.iter().map(|&time| about(time)).collect();
        assert!(groups.is_sorted(), "{groups:?}");
        assert_eq!(about(1000), about(1023));
        assert!(about(1000) < about(1024) && about(1 << 20) < about((1 << 20) * 5 / 4));
    }

    #[test]
    fn moments_keep_their_order() {
        for time in [0, 1, 67_108_863, 67_108_864, 67_108_866, 1 << 40, (1 << 40) + (1 << 16), u64::MAX] {
            let moment = Moment::of(time);
            assert!(moment.time() <= time && time - moment.time() <= time >> 25, "{time}");
            assert!(time == 0 || Moment::of(time - 1) <= moment, "{time}");
        }
    }
}
