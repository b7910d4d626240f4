//! What happens to the program when so much is lost that the user wants to
//! look at once: it is aborted, or stopped until it is told to go on.
//!
//! What is lost is known by the copy of the process that writes the record; a
//! shared word brings the number back.

use core::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::env;

use crate::park::Parked;
use crate::text::Text;
use crate::{signals, sink, sys};

const NOTHING: u8 = 0;
const ABORT: u8 = 1;
const STOP: u8 = 2;

static ACTION: AtomicU8 = AtomicU8::new(NOTHING);
static LIMIT: AtomicU64 = AtomicU64::new(1);
/// Bytes that were lost when the program was last stopped.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Address of the shared word.
static LOST: AtomicUsize = AtomicUsize::new(0);

pub fn choose(value: &[u8]) {
    let action = match value {
        _ if value == env::ON_LEAK_ABORT.as_bytes() => ABORT,
        _ if value == env::ON_LEAK_STOP.as_bytes() => STOP,
        _ => return,
    };
    LOST.store(sys::share(sys::PAGE), Ordering::Relaxed);
    ACTION.store(action, Ordering::Relaxed);
}

pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

/// Whether it matters how much is lost.
pub fn are_wanted() -> bool {
    lost().is_some()
}

/// So much is lost at this moment.
pub fn note_lost(bytes: u64) {
    if let Some(lost) = lost() {
        lost.store(bytes, Ordering::Relaxed);
    }
}

/// The program may go no further than its end's first step, and libc would
/// flush its streams next. A call in any case: `caller!` depends on a frame.
#[inline(never)]
pub fn before_end() {
    if are_wanted() {
        // SAFETY: all open streams.
        unsafe { libc::fflush(core::ptr::null_mut()) };
    }
}

/// Acts if enough was lost since the last time; `now` is where the program is.
pub fn act(now: &Parked) {
    let Some(lost) = lost() else { return };
    let bytes = lost.swap(0, Ordering::Relaxed);
    let new = bytes.saturating_sub(SEEN.load(Ordering::Relaxed));
    if new < LIMIT.load(Ordering::Relaxed) {
        return;
    }
    SEEN.store(bytes, Ordering::Relaxed);
    let aborts = ACTION.load(Ordering::Relaxed) == ABORT;
    let process = u64::from(sys::pid());
    let mut line = Text::<256>::new();
    line.push_number(bytes).push(if bytes == 1 { b" byte is" } else { b" bytes are" });
    line.push(b" lost: process ").push_number(process);
    if aborts {
        line.push(b" is aborted (--on-leak abort)");
        sink::tell(line.as_bytes());
        signals::abort(now);
    }
    line.push(b" is stopped (--on-leak stop); `gdb -p ").push_number(process);
    line.push(b"` looks into it, `kill -CONT ").push_number(process).push(b"` lets it go on");
    sink::tell(line.as_bytes());
    // SAFETY: plain calls; a stopped process may be traced by its user, also
    // where the system lets only parents do so.
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0);
        libc::kill(process as i32, libc::SIGSTOP);
    }
}

fn lost() -> Option<&'static AtomicU64> {
    // SAFETY: null, or a page that stays mapped; any word is a valid integer.
    unsafe { (LOST.load(Ordering::Relaxed) as *const AtomicU64).as_ref() }
}
