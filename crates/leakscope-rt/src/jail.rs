//! A program that changes its root.
//!
//! What the kernel says of the process stands in `/proc`, which is not there
//! in a new root. So before the change that folder is opened for what comes
//! later (`sys`), and the modules are noted while their paths mean something.

use core::ffi::{c_char, c_int};

use crate::{modules, sys};

/// Stands in for `chroot`.
///
/// # Safety
/// As for the C function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn chroot(path: *const c_char) -> c_int {
    sys::keeping_errno(|| {
        modules::update();
        sys::keep_proc();
    });
    // SAFETY: the caller's argument.
    unsafe { libc::syscall(libc::SYS_chroot, path) as c_int }
}
