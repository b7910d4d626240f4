//! The beginning and the end.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use leakscope_wire::env;
use leakscope_wire::symbolic::{Event, EventKind, What};

use crate::{flow, inputs, objects, places, shadow, shared, terms, thread};

static STARTED: AtomicBool = AtomicBool::new(false);

/// Opens the driver's file, once; without one nothing is told.
pub fn start() {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: a C string; the environment is libc's.
    let path = unsafe {
        let mut name = [0; 32];
        name[..env::SYMBOLIC.len()].copy_from_slice(env::SYMBOLIC.as_bytes());
        let path = libc::getenv(name.as_ptr().cast());
        if path.is_null() {
            return;
        }
        core::ffi::CStr::from_ptr(path)
    };
    if !shared::open(path) {
        return;
    }
    if !(terms::start() && shadow::start() && objects::start()) {
        return shared::close();
    }
    inputs::start();
    // SAFETY: handlers that live as long as the process.
    unsafe {
        on_exit(at_exit, core::ptr::null_mut());
        libc::pthread_atfork(None, None, Some(in_child));
    }
}

/// What a derived `main` calls first: the term of its argument count.
///
/// # Safety
/// The arguments of `main`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_sym_main(count: c_int, arguments: *mut *mut u8) -> u32 {
    // SAFETY: as the caller says.
    unsafe { inputs::arguments(count, arguments) }
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    if inputs::was_read_unseen() {
        flow::note(thread::call_site(), What::Unseen);
    }
    shared::tell(Event {
        value: status as u32,
        ..shared::event(EventKind::Exit, places::number(thread::call_site()))
    });
}

unsafe extern "C" fn in_child() {
    shared::close();
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}
