//! The C allocation functions, as the program calls them.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

use crate::events::{self, What};
use crate::heap::{self, Block, Request};
use crate::thread::{self, Thread};
use crate::walk::{self, Caller, Near};
use crate::{
    accesses, caller, details, fault, foreign, inject, mode, moments, only, outline, pools, quick, sampling,
    stamps, sys,
};

/// Alignment of all blocks, as in glibc.
const ALIGN: usize = 16;

/// # Safety
/// As for the C function, here and below.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    or_errno(allocate(size, ALIGN, false, caller!()))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let caller = caller!();
    or_errno(count.checked_mul(size).map_or(0, |bytes| allocate(bytes, ALIGN, true, caller)))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn realloc(pointer: *mut c_void, size: usize) -> *mut c_void {
    reallocate(pointer as usize, size, caller!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn reallocarray(pointer: *mut c_void, count: usize, size: usize) -> *mut c_void {
    let caller = caller!();
    match count.checked_mul(size) {
        Some(bytes) => reallocate(pointer as usize, bytes, caller),
        None => or_errno(0),
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn free(pointer: *mut c_void) {
    release(pointer as usize, caller!());
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn cfree(pointer: *mut c_void) {
    release(pointer as usize, caller!());
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, align: usize, size: usize) -> c_int {
    let caller = caller!();
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let start = sys::keeping_errno(|| allocate(size, align, false, caller));
    if start == 0 {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's place for the result.
    unsafe { *result = start as *mut c_void };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    aligned(align, size, caller!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    aligned(align, size, caller!())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    or_errno(allocate(size, sys::PAGE, false, caller!()))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    let caller = caller!();
    let size = size.checked_next_multiple_of(sys::PAGE);
    or_errno(size.map_or(0, |size| allocate(size.max(sys::PAGE), sys::PAGE, false, caller)))
}

/// What was asked for, so that nothing of the program's lies beyond it.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc_usable_size(pointer: *mut c_void) -> usize {
    heap::live_block(pointer as usize).map_or(0, |block| block.size())
}

/// A new block for the code at `caller`; 0 if there is no memory.
#[inline(always)]
pub fn allocate(size: usize, align: usize, zeroed: bool, caller: Caller) -> usize {
    let thread = this_thread();
    if !mode::samples() {
        return only_result(allocate_any(thread, size, align, zeroed, caller));
    }
    let quick = if align <= ALIGN { quick::allocate(thread, size, caller) } else { None };
    // That one is zeroed in any case.
    quick.unwrap_or_else(|| allocate_slowly(thread, size, align, zeroed, caller))
}

/// Leaves nothing in the registers that a call need not keep: a program that
/// crashes before it uses one again would seem to hold the block.
#[inline(always)]
fn only_result(start: usize) -> usize {
    // SAFETY: clears registers that are said to be written.
    unsafe {
        core::arch::asm!(
            "xor ecx, ecx",
            "xor edx, edx",
            "xor esi, esi",
            "xor edi, edi",
            "xor r8d, r8d",
            "xor r9d, r9d",
            "xor r10d, r10d",
            "xor r11d, r11d",
            out("rcx") _,
            out("rdx") _,
            out("rsi") _,
            out("rdi") _,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
            options(nomem, nostack)
        );
    }
    start
}

#[inline(never)]
fn allocate_slowly(thread: &mut Thread, size: usize, align: usize, zeroed: bool, caller: Caller) -> usize {
    allocate_any(thread, size, align, zeroed, caller)
}

#[inline(always)]
fn allocate_any(thread: &mut Thread, size: usize, align: usize, zeroed: bool, caller: Caller) -> usize {
    let stack = stack(thread, caller);
    begun(thread, Request { size, align, zeroed, stack })
}

/// A new block, whose stamps begin, or what is known of its accesses; 0 if
/// there is no memory.
#[inline(always)]
fn begun(thread: &mut Thread, request: Request) -> usize {
    let Some(block) = heap::allocate(thread, request) else { return 0 };
    if mode::samples() {
        accesses::begin(thread, block.seat);
    } else {
        begin_stamps(thread, block, request.stack);
    }
    block.start
}

/// A block begins its life, if it is one of those that are followed.
#[inline(always)]
pub fn begin_stamps(thread: &mut Thread, block: Block, stack: u32) {
    if mode::is_selective() {
        begin_selectively(thread, block, stack);
    } else {
        stamps::begin(thread, block);
    }
}

/// The same where not all blocks are followed, or their deaths are counted.
#[cold]
fn begin_selectively(thread: &mut Thread, block: Block, stack: u32) {
    moments::born(block.slot, stack);
    if only::follows(stack) {
        stamps::begin(thread, block);
    }
}

/// The block is another stack's from now on.
#[cold]
fn go_on_selectively(thread: &mut Thread, block: Block, stack: u32) {
    moments::born(block.slot, stack);
    match (only::follows(stack), stamps::are_kept(block)) {
        (true, false) => stamps::begin(thread, block),
        (false, true) => stamps::end(block),
        _ => {}
    }
}

/// Frees a block for the code at `caller`.
#[inline(always)]
pub fn release(address: usize, caller: Caller) {
    let thread = this_thread();
    if address == 0 {
        thread.site = 0;
        return;
    }
    if !mode::samples() {
        return release_any(thread, address, caller);
    }
    if !quick::release(thread, address) {
        release_slowly(thread, address, caller);
    }
}

#[inline(never)]
fn release_slowly(thread: &mut Thread, address: usize, caller: Caller) {
    release_any(thread, address, caller);
}

#[inline(always)]
fn release_any(thread: &mut Thread, address: usize, caller: Caller) {
    match heap::live_block(address) {
        Ok(block) => give_up(thread, block, caller),
        Err(_) if foreign::is_libcs(address) => foreign::free(address),
        Err(refused) => fault::stop(thread, address, refused, caller),
    }
}

/// Number of the stack that ends in the code which called us. Where that is
/// derived, its context stands for the walk.
#[inline(always)]
pub fn stack(thread: &mut Thread, caller: Caller) -> u32 {
    if walk::is_derived(caller) {
        return number(thread, caller);
    }
    if mode::samples()
        && let Some(context) = outline::library_outline(thread, caller)
    {
        thread.context = context;
        return events::number(thread, caller, What::CALL);
    }
    walk::stack(thread, caller)
}

/// The same in derived code.
#[inline(always)]
fn number(thread: &mut Thread, caller: Caller) -> u32 {
    if mode::samples() {
        thread.context = outline::outline(thread, caller);
    }
    events::number(thread, caller, What::CALL)
}

#[inline(always)]
fn give_up(thread: &mut Thread, block: Block, caller: Caller) {
    if inject::leaves_out(block.seat) {
        return;
    }
    let freed = match sampling::counted_frees(thread) {
        Some(blocks) => {
            let freed = place_of_free(thread, caller);
            events::count_free(thread, block.stack(), freed, blocks);
            freed
        }
        None => 0,
    };
    if !mode::samples() {
        stamps::holder_freed(thread, block, 0, caller);
        if details::are_kept() {
            details::end(block);
        }
        stamps::end(block);
    }
    forget_parts(block);
    heap::free(thread, block, freed);
}

#[inline(always)]
fn place_of_free(thread: &mut Thread, caller: Caller) -> u32 {
    if mode::samples() && walk::is_derived(caller) {
        let context = outline::near_outline(thread, caller);
        events::near_number(thread, context, |thread| Near::call(thread, caller))
    } else if walk::is_derived(caller) {
        number(thread, caller)
    } else {
        // Enough to see past a wrapper.
        walk::short_stack::<3>(thread, caller)
    }
}

/// Blocks of pools in a block end with it.
#[inline(always)]
fn forget_parts(block: Block) {
    if heap::may_hold_parts(block) {
        pools::forget(block.start, block.start + block.room);
    }
}

/// glibc's meaning: a null pointer allocates, a size of zero frees.
#[inline(always)]
fn reallocate(address: usize, size: usize, caller: Caller) -> *mut c_void {
    if address == 0 {
        return or_errno(allocate(size, ALIGN, false, caller));
    }
    if size == 0 {
        release(address, caller);
        return null_mut();
    }
    let thread = this_thread();
    let block = match heap::live_block(address) {
        Ok(block) => block,
        Err(_) if foreign::is_libcs(address) => return foreign::realloc(address, size),
        Err(refused) => fault::stop(thread, address, refused, caller),
    };
    let stack = stack(thread, caller);
    let before = block.size();
    if size < before && !mode::samples() {
        stamps::holder_freed(thread, block, size, caller);
    }
    if heap::resize(block, size, stack) {
        if mode::is_selective() {
            go_on_selectively(thread, block, stack);
        }
        return address as *mut c_void;
    }
    let start = begun(thread, Request { size, align: ALIGN, zeroed: false, stack });
    if start != 0 {
        heap::move_content(block, start, before.min(size));
        if !mode::samples() {
            details::copied(start, address, before.min(size), caller);
            stamps::end(block);
        }
        forget_parts(block);
        heap::free(thread, block, stack);
    }
    or_errno(start)
}

fn aligned(align: usize, size: usize, caller: Caller) -> *mut c_void {
    // glibc rounds the alignment up, and so do we.
    match align.checked_next_power_of_two() {
        Some(align) => or_errno(allocate(size, align.max(1), false, caller)),
        None => {
            sys::set_errno(libc::EINVAL);
            null_mut()
        }
    }
}

#[inline(always)]
fn or_errno(start: usize) -> *mut c_void {
    if start == 0 {
        sys::set_errno(libc::ENOMEM);
    }
    start as *mut c_void
}

#[inline(always)]
pub fn this_thread() -> &'static mut Thread {
    // SAFETY: each thread has its own, and code that holds it calls nothing
    // of the program's. A signal handler that allocates is as wrong here as
    // it is with any other `malloc`.
    unsafe { &mut *thread::current() }
}
