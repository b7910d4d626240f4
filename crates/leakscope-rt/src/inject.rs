//! Leaks made on purpose, to see whether they are found: a share of the frees
//! is left out, and what was left out is remembered (SWAT, section 4.1.3).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::accesses;

/// One in so many frees is left out; 0 for none.
static ONE_IN: AtomicU32 = AtomicU32::new(0);
static RANDOM: AtomicU64 = AtomicU64::new(1);

pub fn choose(one_in: u32, seed: u64) {
    ONE_IN.store(one_in, Ordering::Relaxed);
    RANDOM.store(seed.wrapping_mul(2) | 1, Ordering::Relaxed);
}

pub fn is_wanted() -> bool {
    ONE_IN.load(Ordering::Relaxed) != 0
}

/// Whether this free is left out.
#[inline(always)]
pub fn leaves_out(seat: usize) -> bool {
    match ONE_IN.load(Ordering::Relaxed) {
        0 => false,
        one_in => draw(one_in) && accesses::mark_injected(seat),
    }
}

#[cold]
fn draw(one_in: u32) -> bool {
    // Relaxed: each draw is a step of one sequence, whoever makes it.
    let random = RANDOM.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    let mixed = (random ^ (random >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 32).is_multiple_of(u64::from(one_in))
}

/// Whether a live block should have been freed.
pub fn is_injected(seat: usize) -> bool {
    accesses::is_injected(seat)
}
