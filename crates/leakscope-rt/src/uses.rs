//! When uses of blocks are reported: always, never, or for a while at first
//! and in bursts later, so that a long run does not pay for each.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use leakscope_wire::env;

use crate::thread::Thread;

/// Looked at by instrumented code before each use, or where it may go over to
/// code that reports them.
#[cfg_attr(feature = "executable", unsafe(export_name = "leakscope_uses"))]
static WANTED: AtomicU8 = AtomicU8::new(1);

/// Steps of code that reports uses, at first and in each burst: its calls, and
/// rounds of its loops. A thread takes so many at once.
const FIRST: u32 = 1 << 19;
const BURST: u32 = 1 << 11;
const SHARE: u32 = 64;

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

/// A step was made. Returns whether more are wanted.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
#[inline(always)]
pub fn spend(thread: &mut Thread) -> bool {
    thread.uses_left -= 1;
    if thread.uses_left < 0 {
        take_share(thread);
    }
    WANTED.load(Ordering::Relaxed) != 0
}

#[cold]
fn take_share(thread: &mut Thread) {
    if SAMPLED.load(Ordering::Relaxed) == 0 {
        thread.uses_left = i64::MAX;
        return;
    }
    let spent = u32::try_from(-thread.uses_left).unwrap_or(u32::MAX).saturating_add(SHARE);
    thread.uses_left = SHARE.into();
    let left = LEFT.load(Ordering::Relaxed);
    LEFT.store(left.saturating_sub(spent), Ordering::Relaxed);
    if left <= spent {
        WANTED.store(0, Ordering::Relaxed);
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
