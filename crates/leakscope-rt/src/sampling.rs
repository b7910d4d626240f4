//! Which executions of a code segment are reported: adaptive bursty tracing
//! (SWAT, section 2.2).
//!
//! Each check in the program has a counter and decides for itself. It begins
//! with a burst, at a rate of 100%; after each burst the rate is divided by
//! `Decr`, down to `Min`. Checks that a program seldom passes are thus traced,
//! others sampled. Counters are the program's data; every thread but the
//! first has a copy of its own, so that none wait for each other.

use core::sync::atomic::{AtomicU32, Ordering};

use leakscope_wire as wire;

use crate::accesses::Now;
use crate::history::{self, Recent};
use crate::lock::Lock;
use crate::outline::Outlined;
use crate::thread::Thread;
use crate::{accesses, arena, inject, mode, sys};

/// A check's state. Zero bytes are one that was never passed. The program
/// counts `left` down and calls [`dispatch`] when it is below zero.
#[repr(C)]
struct Counter {
    left: i32,
    /// Times that the rate was divided.
    level: u16,
    /// Executions left in a burst; 0 outside of one.
    burst: u16,
}

/// Of a thread. Zero bytes are valid.
#[repr(C)]
pub struct Sampling {
    /// Executions for which the one under way stands.
    pub weight: u32,
    /// Which copy of the counters is its own, plus one.
    copy: u32,
    /// From the program's counters to that copy, in bytes.
    distance: usize,
    /// Frees that this thread looked at, and those to come that it passes by.
    counted_frees: u32,
    pub uncounted_frees: u32,
    /// Accesses that this thread made and the clock does not show yet.
    pub pending: u64,
    pub now: Now,
    random: u64,
    pub outlined: Outlined,
    pub recent: Recent,
}

/// Levels are few: the rate reaches its minimum.
const LEVELS: usize = 16;

/// What was chosen when the program began.
struct Rates {
    burst: AtomicU32,
    /// By level: executions for which a reported one stands.
    weights: [AtomicU32; LEVELS],
}

static RATES: Rates = Rates { burst: AtomicU32::new(10), weights: [const { AtomicU32::new(1) }; LEVELS] };

/// Weights are at most so large, so that counts fit.
const WEIGHT_MAX: u64 = 1_000_000;

/// `nInstr0`, `Decr` and the reciprocal of `Min`. A burst of none turns
/// sampling off.
#[derive(Clone, Copy)]
pub struct Choice {
    pub burst: u64,
    pub divisor: u64,
    pub least: u64,
}

impl Choice {
    pub const DEFAULT: Choice = Choice { burst: 10, divisor: 10, least: 1000 };
}

/// Sets the rates: at level n one execution of `Decr`^n is reported, but not
/// fewer than `Min` says.
pub fn choose(choice: Choice) {
    RATES.burst.store(choice.burst.min(1000) as u32, Ordering::Relaxed);
    let least = choice.least.clamp(1, WEIGHT_MAX);
    let mut weight = 1_u64;
    for at in &RATES.weights {
        at.store(weight.min(least) as u32, Ordering::Relaxed);
        weight = weight.saturating_mul(choice.divisor.max(2)).min(least);
    }
}

/// What was chosen, for the record.
pub fn chosen() -> wire::Sampling {
    let weight = |level: usize| RATES.weights[level].load(Ordering::Relaxed);
    wire::Sampling {
        time: accesses::time(),
        burst: RATES.burst.load(Ordering::Relaxed),
        divisor: weight(1),
        least: weight(LEVELS - 1),
        reserved: 0,
    }
}

impl Counter {
    /// An execution that the program does not decide alone: it is reported,
    /// and the last of a burst begins a pause of `nCheck0` executions.
    #[inline(always)]
    fn next(&mut self, sampling: &mut Sampling) -> bool {
        let level = self.level as usize % LEVELS;
        let burst = RATES.burst.load(Ordering::Relaxed);
        sampling.weight = RATES.weights[level].load(Ordering::Relaxed);
        if burst == 0 {
            self.left = i32::MAX;
            return false;
        }
        if self.burst == 0 {
            self.burst = burst as u16;
            history::begin(&mut sampling.recent);
        }
        self.burst -= 1;
        self.left = 0;
        if self.burst == 0 {
            if level + 1 < LEVELS {
                self.level += 1;
            }
            let weight = RATES.weights[self.level as usize % LEVELS].load(Ordering::Relaxed);
            self.left = sampling.pause((weight - 1) * burst);
        }
        true
    }
}

impl Sampling {
    /// About so many: programs that repeat themselves must not be sampled at
    /// the same place each time.
    #[inline(always)]
    fn pause(&mut self, mean: u32) -> i32 {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let spread = u64::from(mean) / 2;
        let random = (self.random >> 33) % (spread + 1);
        (u64::from(mean) - spread / 2 + random) as i32
    }
}

/// The blocks for which the place of a free counts; none if it is not looked
/// at. Sampled programs look at all of the first, and then at some.
#[inline(always)]
pub fn counted_frees(thread: &mut Thread) -> Option<u64> {
    if mode::samples() { some_frees(&mut thread.sampling) } else { Some(1) }
}

fn some_frees(sampling: &mut Sampling) -> Option<u64> {
    const ALL: u32 = 1 << 12;
    const SOME: u32 = 16;
    if sampling.uncounted_frees > 0 {
        sampling.uncounted_frees -= 1;
        return None;
    }
    if sampling.counted_frees < ALL {
        sampling.counted_frees += 1;
        return Some(1);
    }
    // Where frees are left out on purpose, each is looked at.
    if !inject::is_wanted() {
        sampling.uncounted_frees = SOME - 1;
    }
    Some(if inject::is_wanted() { 1 } else { SOME.into() })
}

/// Copies of the counters for threads, in one reservation.
struct Copies {
    base: usize,
    made: u32,
    /// Those that no thread has, by bits.
    free: [u64; COPIES / 64],
}

const COPIES: usize = 4096;

static COPIED: Lock<Copies> = Lock::new(Copies { base: 0, made: 0, free: [0; COPIES / 64] });

core::arch::global_asm!(
    ".weak __start_leakscope_counters",
    ".weak __stop_leakscope_counters",
    ".section .data.rel.ro.leakscope,\"aw\",@progbits",
    ".balign 8",
    ".globl leakscope_counters_range",
    ".hidden leakscope_counters_range",
    "leakscope_counters_range: .quad __start_leakscope_counters, __stop_leakscope_counters",
    ".text",
);

/// Where the program's counters are.
fn counters() -> [usize; 2] {
    unsafe extern "C" {
        static leakscope_counters_range: [usize; 2];
    }
    // SAFETY: defined above, never written.
    unsafe { leakscope_counters_range }
}

/// Gives a thread counters of its own; it shares the first thread's where
/// there is no room.
pub fn give_counters(thread: &mut Thread) {
    let [start, end] = counters();
    if start == end || arena::accesses() == 0 || thread.sampling.copy != 0 {
        return;
    }
    let bytes = (end - start).next_multiple_of(sys::PAGE);
    let mut copies = COPIED.lock();
    if copies.base == 0 && arena::limited_to() == 0 {
        copies.base = sys::reserve(COPIES * bytes);
    }
    if copies.base == 0 {
        return;
    }
    let kept = copies.free.iter().position(|&bits| bits != 0).map(|word| {
        let bit = copies.free[word].trailing_zeros();
        copies.free[word] &= !(1 << bit);
        word as u32 * 64 + bit
    });
    let index = match kept {
        Some(index) => index,
        None if (copies.made as usize) < COPIES => {
            // SAFETY: within the reservation.
            if !unsafe { sys::commit(copies.base + copies.made as usize * bytes, bytes) } {
                return;
            }
            copies.made += 1;
            copies.made - 1
        }
        None => return,
    };
    let distance = (copies.base + index as usize * bytes).wrapping_sub(start);
    // The kernel takes no negative base.
    if (distance as isize) < 0 || !sys::set_gs(distance) {
        copies.free[index as usize / 64] |= 1 << (index % 64);
        return;
    }
    thread.sampling.copy = index + 1;
    thread.sampling.random = u64::from(index) << 32;
    thread.sampling.distance = distance;
}

/// For a thread that ends. A later one goes on with what its counters learned.
pub fn take_counters_back(thread: &mut Thread) {
    if let Some(index) = thread.sampling.copy.checked_sub(1) {
        (thread.sampling.copy, thread.sampling.distance) = (0, 0);
        sys::set_gs(0);
        COPIED.lock().free[index as usize / 64] |= 1 << (index % 64);
    }
}

pub fn before_fork() {
    COPIED.acquire();
}

pub fn after_fork() {
    COPIED.release();
}

/// What instrumented code calls.
#[cfg(feature = "executable")]
mod entry {
    use super::*;
    use crate::entry::keeping_all_registers;
    use crate::thread;

    // The program's `r11` is above the return address.
    keeping_all_registers!(
        "__leakscope_dispatch",
        "leakscope_dispatch",
        "mov rdi, r11",
        "mov r11, [rsp + 8]\nret 8"
    );

    /// A check whose count is below zero: whether this execution is reported.
    ///
    /// # Safety
    /// A counter of the program's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn leakscope_dispatch(shared: usize) -> u64 {
        // SAFETY: the thread's own state.
        let thread = unsafe { &mut *thread::current() };
        if !thread.known {
            thread::learn(thread);
        }
        thread.sampling.outlined.forget();
        let [start, end] = counters();
        // A shared library's counters are all threads'.
        let distance = if (start..end).contains(&shared) { thread.sampling.distance } else { 0 };
        // SAFETY: the counter, or the thread's copy of it.
        let counter = unsafe { &mut *(shared.wrapping_add(distance) as *mut Counter) };
        counter.next(&mut thread.sampling).into()
    }
}
