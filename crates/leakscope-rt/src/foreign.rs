//! Programs that ask libc itself for its allocation functions, by
//! `dlsym(handle of libc, "malloc")`: language runtimes do. They get ours, or
//! blocks would be freed by another heap than their own. A block that libc's
//! heap did give all the same goes back there.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{api, maps, unwind, waits};

/// The body of a naked function of two arguments that stands in for one of the loader's:
/// the result of `$instead` if it is not 0; else `$real` says where to go on, as if the
/// caller had called that, for the loader looks at who calls it.
#[cfg(not(test))]
macro_rules! answer_or_go_on {
    ($instead:ident, $real:ident) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "push rdi",
            ".cfi_adjust_cfa_offset 8",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "call {instead}",
            "test rax, rax",
            "jnz 2f",
            "call {real}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdi",
            ".cfi_adjust_cfa_offset -8",
            "jmp rax",
            ".cfi_adjust_cfa_offset 24",
            "2:",
            "add rsp, 24",
            ".cfi_adjust_cfa_offset -24",
            "ret",
            ".cfi_endproc",
            instead = sym $instead,
            real = sym $real,
        )
    };
}
#[cfg(not(test))]
pub(crate) use answer_or_go_on;

/// Whether `address` lies in the heap that libc would use without us.
#[cold]
pub fn is_libcs(address: usize) -> bool {
    let mut found = false;
    maps::for_each(|mapping| {
        found |= mapping.is_named(b"[heap]") && (mapping.start..mapping.end).contains(&address)
    });
    found
}

#[cold]
pub fn free(address: usize) {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    let real = waits::real(&REAL, c"free");
    if real != 0 {
        // SAFETY: libc's function, with a block of libc's heap.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(usize)>(real)(address) };
    }
}

#[cold]
pub fn realloc(address: usize, size: usize) -> *mut c_void {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    match waits::real(&REAL, c"realloc") {
        0 => core::ptr::null_mut(),
        // SAFETY: libc's function, with a block of libc's heap.
        real => unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, usize) -> *mut c_void>(real)(
                address, size,
            )
        },
    }
}

/// Stands in for `dlsym`.
///
/// # Safety
/// As for the C function.
#[cfg(not(test))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym() {
    answer_or_go_on!(instead, real_dlsym);
}

/// Our function, where libc's own of that name is asked for; else 0.
unsafe extern "C" fn instead(handle: *mut c_void, name: *const c_char) -> usize {
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> usize;
    if handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT || name.is_null() {
        return 0;
    }
    // SAFETY: the caller's C string.
    let wanted = unsafe { CStr::from_ptr(name) };
    let Some((_, ours)) = OURS.into_iter().find(|(known, _)| *known == wanted) else { return 0 };
    // SAFETY: libc's function has this type; with a handle, it does not matter
    // who calls it.
    let found = unsafe { core::mem::transmute::<usize, Dlsym>(real_dlsym())(handle, name) };
    if unwind::module_of(libc::exit as *const () as usize).contains(&found) { ours as usize } else { found }
}

/// Functions that must belong to one heap.
const OURS: [(&CStr, *const ()); 12] = [
    (c"malloc", api::malloc as *const ()),
    (c"calloc", api::calloc as *const ()),
    (c"realloc", api::realloc as *const ()),
    (c"reallocarray", api::reallocarray as *const ()),
    (c"free", api::free as *const ()),
    (c"cfree", api::cfree as *const ()),
    (c"posix_memalign", api::posix_memalign as *const ()),
    (c"aligned_alloc", api::aligned_alloc as *const ()),
    (c"memalign", api::memalign as *const ()),
    (c"valloc", api::valloc as *const ()),
    (c"pvalloc", api::pvalloc as *const ()),
    (c"malloc_usable_size", api::malloc_usable_size as *const ()),
];

extern "C" fn real_dlsym() -> usize {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    if REAL.load(Ordering::Relaxed) == 0 {
        for version in [c"GLIBC_2.34", c"GLIBC_2.2.5"] {
            // SAFETY: C strings.
            let real = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
            if !real.is_null() {
                REAL.store(real as usize, Ordering::Relaxed);
                break;
            }
        }
    }
    REAL.load(Ordering::Relaxed)
}
