//! The heap: libc's, with objects told to the driver, and calls that the
//! driver lets fail.

use core::ffi::c_void;

use super::{fails, models, pointer, set_errno, size};
use crate::{objects, shadow};

const NONE: *mut c_void = core::ptr::null_mut();

models! {
    fn [malloc](bytes: usize) -> *mut c_void = |[term]| {
        wanted(bytes, term);
        // SAFETY: no more than a size is needed.
        (new(bytes, || unsafe { libc::malloc(bytes) }), 0)
    };
    fn [calloc](count: usize, each: usize) -> *mut c_void = |[count_term, each_term]| {
        wanted_each((count, count_term), (each, each_term));
        // SAFETY: no more than sizes are needed.
        (new(count.saturating_mul(each), || unsafe { libc::calloc(count, each) }), 0)
    };
    fn [aligned_alloc](align: usize, bytes: usize) -> *mut c_void = |[_, term]| {
        wanted(bytes, term);
        // SAFETY: the caller's arguments.
        (new(bytes, || unsafe { libc::aligned_alloc(align, bytes) }), 0)
    };
    fn [memalign](align: usize, bytes: usize) -> *mut c_void = |[_, term]| {
        wanted(bytes, term);
        // SAFETY: the caller's arguments.
        (new(bytes, || unsafe { libc::memalign(align, bytes) }), 0)
    };
    fn [realloc](block: *mut c_void, bytes: usize) -> *mut c_void = |[_, term]| {
        wanted(bytes, term);
        // SAFETY: the caller's arguments.
        (unsafe { resize(block, bytes) }, 0)
    };
    fn [reallocarray](block: *mut c_void, count: usize, each: usize) -> *mut c_void = |[_, count_term, each_term]| {
        wanted_each((count, count_term), (each, each_term));
        (match count.checked_mul(each) {
            // SAFETY: the caller's arguments.
            Some(bytes) => unsafe { resize(block, bytes) },
            None => {
                set_errno(libc::ENOMEM);
                NONE
            }
        }, 0)
    };
    fn [free](block: *mut c_void) -> () = |[term]| {
        pointer(block as usize, term);
        objects::freed(block as usize);
        // SAFETY: the caller's argument.
        (unsafe { libc::free(block) }, 0)
    };
    fn [posix_memalign](to: *mut *mut c_void, align: usize, bytes: usize) -> i32 = |[_, _, term]| {
        wanted(bytes, term);
        let mut error = libc::ENOMEM;
        let block = new(bytes, || {
            let mut block = NONE;
            // SAFETY: room for a pointer.
            error = unsafe { libc::posix_memalign(&mut block, align, bytes) };
            block
        });
        if !block.is_null() {
            shadow::clear(to as usize, 8);
            // SAFETY: the caller's argument.
            unsafe { to.write(block) };
        }
        (error, 0)
    };
}

/// Blocks that are larger are not to be had in every run.
const LARGE: usize = 1 << 28;

/// How much is wanted of the heap. Which way the program goes then does not depend on it, as long as
/// there is so much: a text may get longer, and its block with it.
pub fn wanted(bytes: usize, term: u32) {
    if bytes > LARGE {
        size(bytes, term);
    }
}

/// The same of so many times as much.
fn wanted_each(count: (usize, u32), each: (usize, u32)) {
    if count.0.saturating_mul(each.0) > LARGE {
        size(count.0, count.1);
        size(each.0, each.1);
    }
}

/// A new block, or none where the driver wants that.
pub fn new(bytes: usize, allocate: impl FnOnce() -> *mut c_void) -> *mut c_void {
    if fails() {
        set_errno(libc::ENOMEM);
        return NONE;
    }
    let block = allocate();
    objects::allocated(block as usize, bytes);
    block
}

/// A block that no call of the program's own asked for: a library function's.
pub fn new_in_library(bytes: usize) -> *mut c_void {
    // SAFETY: no more than a size is needed.
    new(bytes, || unsafe { libc::malloc(bytes) })
}

/// # Safety
/// The arguments of `realloc`.
pub unsafe fn resize(block: *mut c_void, bytes: usize) -> *mut c_void {
    if fails() {
        set_errno(libc::ENOMEM);
        return NONE;
    }
    // SAFETY: as the caller says; the size of a live block is asked.
    unsafe {
        let before = if block.is_null() { 0 } else { libc::malloc_usable_size(block) };
        let kept = before.min(bytes);
        let has_terms = shadow::any(block as usize, kept);
        if !has_terms {
            let new = libc::realloc(block, bytes);
            if !new.is_null() || bytes == 0 {
                objects::freed(block as usize);
                objects::allocated(new as usize, bytes);
            }
            return new;
        }
        // Terms move along, so both blocks are needed for a moment.
        let new = libc::malloc(bytes);
        if new.is_null() {
            return NONE;
        }
        objects::freed(block as usize);
        objects::allocated(new as usize, bytes);
        shadow::copy(new as usize, block as usize, kept);
        core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), kept);
        libc::free(block);
        new
    }
}
