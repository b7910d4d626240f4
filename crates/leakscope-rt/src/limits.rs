//! A limit of the address space that the program sets for itself.
//!
//! The heap's reservation counts as address space although it costs nothing.
//! So before such a limit is set, the reservation shrinks to what fits; the
//! limit itself is the program's.

use core::ffi::{c_int, c_uint};

use libc::rlimit;

use crate::{arena, depot, sys};

/// # Safety
/// As for the C function, here and below.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn setrlimit(resource: c_uint, new: *const rlimit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change(0, resource, new, core::ptr::null_mut()) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn setrlimit64(resource: c_uint, new: *const rlimit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change(0, resource, new, core::ptr::null_mut()) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn prlimit(pid: i32, resource: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change(pid, resource, new, old) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn prlimit64(
    pid: i32,
    resource: c_uint,
    new: *const rlimit,
    old: *mut rlimit,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change(pid, resource, new, old) }
}

unsafe fn change(pid: i32, resource: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int {
    let own = pid == 0 || pid as u32 == sys::pid();
    // SAFETY: the caller's structures, where given.
    unsafe {
        if own && resource == libc::RLIMIT_AS && !new.is_null() && (*new).rlim_cur != libc::RLIM_INFINITY {
            depot::shrink((*new).rlim_cur as usize / 64);
            arena::shrink((*new).rlim_cur as usize);
        }
        libc::syscall(libc::SYS_prlimit64, pid, resource, new, old) as c_int
    }
}
