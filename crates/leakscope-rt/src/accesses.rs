//! Accesses to blocks that sampled code reported: when each was first and last
//! accessed, and where last (SWAT, section 3.3).
//!
//! Time is counted in heap accesses of the process, seen or not: one that was
//! seen stands for as many as its check lets pass unseen.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::arena;
use crate::thread::Thread;

/// What is kept for each block: one word, so that to begin it is one store. It
/// has the place of the last access, whether a free was left out, whether there
/// was an access, its moment (else that of the block's birth), and the moment
/// of the first one.
#[repr(transparent)]
pub struct Accesses(AtomicU64);

/// Places beyond this number are not kept. There are as many only where their
/// stacks take 256 MiB.
const PLACE_BITS: u32 = 24;
const INJECTED: u64 = 1 << PLACE_BITS;
const ACCESSED: u64 = 1 << (PLACE_BITS + 1);

const _: () = assert!(size_of::<Accesses>() == arena::ACCESSES);

/// Accesses so far, but for what threads have pending.
static CLOCK: AtomicU64 = AtomicU64::new(1);

/// What a thread keeps to itself of the clock at most, and as a part of it: a
/// scan does not see that, and threads must not all write to one place.
const PENDING_MAX: u64 = 1 << 14;
const PENDING_PART: u64 = 1 << 10;

/// A moment in 6 bits of scale and `BITS` of value, at bit `AT` of a word.
/// Later moments have larger numbers.
struct Moment<const BITS: u32, const AT: u32>;

/// To 1 in 16,384 of the time that the program ran.
type Last = Moment<15, { PLACE_BITS + 2 }>;
/// To 1 in 1,024. Less is enough: it says only how long a block was in use.
type First = Moment<11, { PLACE_BITS + 2 + 21 }>;

impl<const BITS: u32, const AT: u32> Moment<BITS, AT> {
    const ALL: u64 = ((1 << (BITS + 6)) - 1) << AT;

    #[inline(always)]
    fn scale(time: u64) -> u32 {
        (u64::BITS - time.leading_zeros()).saturating_sub(BITS)
    }

    /// The latest moment that is not after `time`.
    #[inline(always)]
    fn before(time: u64) -> u64 {
        let scale = Self::scale(time);
        (u64::from(scale) << BITS | time >> scale) << AT
    }

    /// The first one that is not before it: a block must not seem idle for
    /// longer than it is.
    #[inline(always)]
    fn after(time: u64) -> u64 {
        Self::before(time.saturating_add((1 << Self::scale(time)) - 1))
    }

    #[inline(always)]
    fn time(word: u64) -> u64 {
        let moment = (word & Self::ALL) >> AT;
        (moment & ((1 << BITS) - 1)) << (moment >> BITS)
    }
}

/// What follows from the time alone, for as long as the clock stands still.
/// Zero bytes are that of no time.
#[repr(C)]
pub struct Now {
    clock: u64,
    /// Accesses that a thread keeps to itself.
    pending_most: u64,
    /// The latest that it can be, so that no block seems idle for longer than
    /// it is: in a block's word.
    last: u64,
    /// A block that was accessed before this moment lay idle for a tenth of
    /// the run.
    idle_before: u64,
}

impl Now {
    #[inline(always)]
    fn update(&mut self) {
        let clock = time();
        if self.clock != clock {
            self.set(clock);
        }
    }

    #[inline(never)]
    fn set(&mut self, clock: u64) {
        let pending_most = PENDING_MAX.min(clock / PENDING_PART);
        *self = Now {
            clock,
            pending_most,
            last: Last::after(clock + pending_most),
            idle_before: Last::before(clock - clock / 10),
        };
    }
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
pub fn begin(thread: &mut Thread, seat: usize) {
    if let Some(Accesses(word)) = of(seat) {
        let now = &mut thread.sampling.now;
        now.update();
        // Relaxed, here and below: what two threads do to a block at the same
        // time has no order.
        word.store(now.last, Ordering::Relaxed);
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
    let Accesses(word) = of(seat)?;
    let word = word.load(Ordering::Relaxed);
    let (last, accessed) = (Last::time(word), word & ACCESSED != 0);
    Some(Seen {
        idle: time().saturating_sub(last),
        active: if accessed { last.saturating_sub(First::time(word)) } else { 0 },
        place: accessed.then_some((word & (INJECTED - 1)) as u32),
    })
}

/// Notes that a block should have been freed. False where nothing is kept.
pub fn mark_injected(seat: usize) -> bool {
    of(seat).is_some_and(|Accesses(word)| word.fetch_or(INJECTED, Ordering::Relaxed) & INJECTED == 0)
}

pub fn is_injected(seat: usize) -> bool {
    of(seat).is_some_and(|Accesses(word)| word.load(Ordering::Relaxed) & INJECTED != 0)
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
    use crate::walk::Near;
    use crate::{events, heap, history, outline, thread};

    // The count and the pointer are above the return address.
    keeping_all_registers!(
        "__leakscope_access",
        "leakscope_access",
        "mov rdi, [rbp + 24]\nmov rsi, [rbp + 16]\nmov rdx, r11\nmov rcx, [rbp + 8]",
        "ret 16"
    );

    // One access.
    keeping_all_registers!(
        "__leakscope_access_once",
        "leakscope_access",
        "mov rdi, [rbp + 16]\nmov esi, 1\nmov rdx, r11\nmov rcx, [rbp + 8]",
        "ret 8"
    );

    /// A block is accessed that lay idle for a tenth of the run: if it looked
    /// stale, that is counted.
    #[cold]
    fn came_back(thread: &mut Thread, pointer: usize, seat: usize) {
        let (Some(seen), Some(block), now) = (read(seat), heap::innermost(pointer), time()) else { return };
        if seen.idle > seen.active && block.is_live() {
            let shares = (seen.idle * 10 / now.max(1)).min(9) as u16;
            events::count_return(thread, block.stack(), (u64::BITS - now.leading_zeros()) as u16, shares);
        }
    }

    /// So many accesses through a pointer, by code at `address`, in a function
    /// whose return address lies at `returns`.
    #[unsafe(no_mangle)]
    extern "C" fn leakscope_access(pointer: usize, count: u64, returns: usize, address: u64) {
        // SAFETY: the thread's own state.
        let thread = unsafe { &mut *thread::current() };
        let Some(seat) = heap::seat_at(pointer) else { return };
        let Some(Accesses(word)) = of(seat) else { return };
        let sampling = &mut thread.sampling;
        sampling.pending += count * u64::from(sampling.weight);
        if sampling.pending >= sampling.now.pending_most {
            CLOCK.fetch_add(core::mem::take(&mut sampling.pending), Ordering::Relaxed);
        }
        sampling.now.update();
        let before = word.load(Ordering::Relaxed);
        if before & Last::ALL < sampling.now.idle_before {
            came_back(thread, pointer, seat);
        }
        let near = Near::inside(thread, address, returns);
        let context = outline::outline_again(thread, near);
        let place = events::near_number(thread, context, |_| near);
        let kept = if u64::from(place) < INJECTED { u64::from(place) } else { 0 };
        let Now { clock, last, .. } = thread.sampling.now;
        let first = if before & ACCESSED != 0 { before & First::ALL } else { First::before(clock) };
        // A pointer to a neighbour's end is no access to a block that is gone.
        word.store(kept | before & INJECTED | ACCESSED | last | first, Ordering::Relaxed);
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
        let times = [1, 2, 32_767, 32_768, 32_769, 65_537, 1 << 40, (1 << 40) + (1 << 16), u64::MAX >> 1];
        for time in times {
            let [last, first] = [Last::time(Last::after(time)), First::time(First::before(time))];
            assert!((time..=time + (time >> 14)).contains(&last), "{time}");
            assert!((time - (time >> 10)..=time).contains(&first), "{time}");
            assert!(Last::after(time - 1) <= Last::after(time), "{time}");
            assert!(First::before(time - 1) <= First::before(time), "{time}");
        }
    }

    #[test]
    fn parts_of_a_word_do_not_meet() {
        let all = [INJECTED - 1, INJECTED, ACCESSED, Last::ALL, First::ALL];
        assert_eq!(all.iter().fold(0, |sum, part| sum ^ part), u64::MAX);
        assert_eq!(all.iter().map(|part| part.count_ones()).sum::<u32>(), u64::BITS);
    }
}
