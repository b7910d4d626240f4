//! Temporary files of a program that may write in its own folder only, where
//! libc does not make them: they are in memory.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(not(test))]
use crate::foreign::answer_or_go_on;
use crate::waits;

static IN_MEMORY: AtomicBool = AtomicBool::new(false);

pub fn keep_in_memory() {
    IN_MEMORY.store(true, Ordering::Relaxed);
}

/// Stands in for `tmpfile`.
///
/// # Safety
/// As for the C function, here and below.
#[cfg(not(test))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tmpfile() {
    answer_or_go_on!(instead, real);
}

#[cfg(not(test))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tmpfile64() {
    answer_or_go_on!(instead, real);
}

extern "C" fn real() -> usize {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    waits::real(&REAL, c"tmpfile")
}

/// A stream without a file; 0 where none is wanted or there is none.
#[cfg_attr(test, allow(dead_code))]
extern "C" fn instead() -> usize {
    if !IN_MEMORY.load(Ordering::Relaxed) {
        return 0;
    }
    // SAFETY: strings that end, and a descriptor that is closed where no stream has it.
    unsafe {
        let file = libc::memfd_create(c"tmpfile".as_ptr(), libc::MFD_CLOEXEC);
        let stream = if file < 0 { core::ptr::null_mut() } else { libc::fdopen(file, c"w+".as_ptr()) };
        if stream.is_null() && file >= 0 {
            libc::close(file);
        }
        stream as usize
    }
}
