//! Programs into which nothing can be preloaded, since they are static or their
//! loader is not glibc's: their `malloc` and its kin are known by name where they
//! begin, and what is translated there is a call of our own.

use core::ffi::{CStr, c_void};

use crate::memory::Single;
use crate::{modules, replace, vg};

/// Whether the program is one of these.
static IS_INSIDE: Single<bool> = Single::new(false);

/// Decides it for a program that is mapped, but has not begun. Each child of a
/// program is asked, too.
pub fn choose_if_alone() {
    let mut has_loader = false;
    modules::for_each_segment(vg::SkFileC, |segment| {
        has_loader |= modules::path_of(segment).is_some_and(is_loader);
    });
    *IS_INSIDE.get() = !has_loader;
}

/// Whether a file is glibc's dynamic linker.
fn is_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    name.starts_with(b"ld-") && !name.starts_with(b"ld-musl")
}

/// A function that we stand in for: given its first three arguments, it has a
/// result.
type StandIn = unsafe fn(vg::ThreadId, [usize; 3]) -> usize;

/// By the name without what libc's own names for them begin with.
const STAND_INS: [(&[u8], StandIn); 11] = [
    (b"malloc", malloc),
    (b"calloc", calloc),
    (b"realloc", realloc),
    (b"free", free),
    (b"cfree", free),
    (b"memalign", memalign),
    (b"aligned_alloc", memalign),
    (b"posix_memalign", posix_memalign),
    (b"valloc", valloc),
    (b"pvalloc", valloc),
    (b"malloc_usable_size", usable_size),
];

/// The number of the function that begins at an address, if it is one of
/// these.
pub fn function_at(address: usize) -> Option<usize> {
    if !*IS_INSIDE.get() {
        return None;
    }
    let name = entry_name(address)?;
    let name = [&b"__libc_"[..], b"__"].iter().find_map(|prefix| name.strip_prefix(*prefix)).unwrap_or(name);
    STAND_INS.iter().position(|&(known, _)| known == name)
}

/// The name of the function that begins at an address.
pub fn entry_name(address: usize) -> Option<&'static [u8]> {
    let mut name = core::ptr::null();
    // SAFETY: Valgrind's question about an address, with a place for the answer,
    // which is a string of its own.
    unsafe {
        let epoch = vg::vgPlain_current_DiEpoch();
        let is_entry = vg::vgPlain_get_fnname_if_entry(epoch, address as u64, &mut name) != 0;
        is_entry.then(|| CStr::from_ptr(name).to_bytes())
    }
}

/// What function `number` gives the thread that runs.
pub fn stand_in(number: usize, arguments: [usize; 3]) -> usize {
    // SAFETY: a thread runs; the arguments are the program's, as those of the
    // functions that are preloaded elsewhere.
    unsafe { STAND_INS[number].1(vg::vgPlain_get_running_tid(), arguments) }
}

unsafe fn malloc(thread: vg::ThreadId, [bytes, ..]: [usize; 3]) -> usize {
    // SAFETY: the caller's.
    unsafe { replace::malloc(thread, bytes as u64) as usize }
}

unsafe fn calloc(thread: vg::ThreadId, [count, each, _]: [usize; 3]) -> usize {
    // SAFETY: the caller's.
    unsafe { replace::calloc(thread, count as u64, each as u64) as usize }
}

unsafe fn realloc(thread: vg::ThreadId, [place, bytes, _]: [usize; 3]) -> usize {
    // SAFETY: the caller's.
    unsafe { replace::realloc(thread, place as *mut c_void, bytes as u64) as usize }
}

unsafe fn free(thread: vg::ThreadId, [place, ..]: [usize; 3]) -> usize {
    // SAFETY: the caller's.
    unsafe { replace::free(thread, place as *mut c_void) };
    0
}

unsafe fn memalign(thread: vg::ThreadId, [align, bytes, _]: [usize; 3]) -> usize {
    let align = align.max(16).checked_next_power_of_two().unwrap_or(16);
    // SAFETY: the caller's.
    unsafe { replace::memalign(thread, align as u64, bytes as u64) as usize }
}

unsafe fn posix_memalign(thread: vg::ThreadId, [place, align, bytes]: [usize; 3]) -> usize {
    const EINVAL: usize = 22;
    const ENOMEM: usize = 12;
    if !align.is_power_of_two() || align % size_of::<usize>() != 0 {
        return EINVAL;
    }
    // SAFETY: the caller's; the result is for the program's own place.
    unsafe {
        match memalign(thread, [align, bytes, 0]) {
            0 => ENOMEM,
            block => {
                *(place as *mut usize) = block;
                0
            }
        }
    }
}

unsafe fn valloc(thread: vg::ThreadId, [bytes, ..]: [usize; 3]) -> usize {
    const PAGE: usize = 4096;
    // SAFETY: the caller's.
    unsafe { memalign(thread, [PAGE, bytes, 0]) }
}

unsafe fn usable_size(thread: vg::ThreadId, [place, ..]: [usize; 3]) -> usize {
    // SAFETY: the caller's.
    unsafe { replace::usable_size(thread, place as *mut c_void) as usize }
}
