//! Limits of the address space that the program sets for itself.
//!
//! The heap's reservation counts as address space although it costs nothing.
//! A program that limits itself means the memory it uses: so the limit it
//! sets is raised by what is reserved, the heap keeps to it by itself, and a
//! question for it is answered with what was set.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::rlimit;

use crate::{arena, depot, modules};

/// Added to the limit that the program set; 0 if it set none.
static ADDED: AtomicUsize = AtomicUsize::new(0);

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
pub unsafe extern "C" fn getrlimit(resource: c_uint, old: *mut rlimit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change(0, resource, core::ptr::null(), old) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn getrlimit64(resource: c_uint, old: *mut rlimit) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change(0, resource, core::ptr::null(), old) }
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
    let ours = resource == libc::RLIMIT_AS && (pid == 0 || pid as u32 == crate::sys::pid());
    let reserved = arena::reserved() + depot::reserved() + modules::reserved();
    let before = ADDED.load(Ordering::Relaxed);
    let mut raised = rlimit { rlim_cur: 0, rlim_max: 0 };
    let mut passed = new;
    // SAFETY: the caller's structures, where given.
    unsafe {
        if ours && !new.is_null() {
            let raise = |limit: u64| {
                if limit == libc::RLIM_INFINITY { limit } else { limit.saturating_add(reserved as u64) }
            };
            raised = rlimit { rlim_cur: raise((*new).rlim_cur), rlim_max: raise((*new).rlim_max) };
            passed = &raised;
        }
        let result = libc::syscall(libc::SYS_prlimit64, pid, resource, passed, old) as c_int;
        if result != 0 || !ours {
            return result;
        }
        if !old.is_null() && before != 0 {
            let lower = |limit: u64| {
                if limit == libc::RLIM_INFINITY { limit } else { limit.saturating_sub(before as u64) }
            };
            *old = rlimit { rlim_cur: lower((*old).rlim_cur), rlim_max: lower((*old).rlim_max) };
        }
        if !new.is_null() {
            let limited = (*new).rlim_cur != libc::RLIM_INFINITY;
            ADDED.store(if limited { reserved } else { 0 }, Ordering::Relaxed);
            arena::limit(if limited { (*new).rlim_cur as usize } else { usize::MAX });
        }
    }
    0
}
