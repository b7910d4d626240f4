//! When uses of blocks are reported: always, never, or for a while at first
//! and in bursts later, so that a long run does not pay for each.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use leakscope_wire::{env, followed};

use crate::thread::Thread;

/// Looked at by instrumented code before each use.
#[cfg_attr(feature = "executable", unsafe(export_name = "leakscope_uses"))]
static WANTED: AtomicU8 = AtomicU8::new(1);

/// Uses that are reported at first, and in each burst.
const FIRST: u32 = 1 << 20;
const BURST: u32 = 1 << 12;

/// Calls of [`earn`] between two bursts.
const PAUSE: u32 = 256;

static SAMPLED: AtomicU8 = AtomicU8::new(1);
static LEFT: AtomicU32 = AtomicU32::new(FIRST);
static WAITED: AtomicU32 = AtomicU32::new(0);

pub fn choose(value: &[u8]) {
    let off = value == env::LAST_USE_OFF.as_bytes();
    let exact = value == env::LAST_USE_EXACT.as_bytes();
    SAMPLED.store((!off && !exact).into(), Ordering::Relaxed);
    WANTED.store((!off).into(), Ordering::Relaxed);
}

/// Whether uses are reported at all.
pub fn are_wanted() -> bool {
    SAMPLED.load(Ordering::Relaxed) != 0 || WANTED.load(Ordering::Relaxed) != 0
}

/// A use was reported.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
#[inline(always)]
pub fn spend(thread: &mut Thread) {
    const SHARE: u32 = followed::USES_SHARE as u32;
    thread.uses += 1;
    if thread.uses.is_multiple_of(followed::USES_SHARE) && SAMPLED.load(Ordering::Relaxed) != 0 {
        let left = LEFT.load(Ordering::Relaxed);
        LEFT.store(left.saturating_sub(SHARE), Ordering::Relaxed);
        if left <= SHARE {
            WANTED.store(0, Ordering::Relaxed);
        }
    }
}

/// The program has gone on for a while.
#[cold]
pub fn earn() {
    if SAMPLED.load(Ordering::Relaxed) != 0 && WAITED.fetch_add(1, Ordering::Relaxed) % PAUSE == PAUSE - 1 {
        LEFT.store(BURST, Ordering::Relaxed);
        WANTED.store(1, Ordering::Relaxed);
    }
}
