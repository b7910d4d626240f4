//! Memory from Valgrind's address space manager, and state without locks.

use core::cell::UnsafeCell;

/// A value that only the thread which runs may touch. Valgrind's big lock
/// makes that one at a time.
pub struct Single<T>(UnsafeCell<T>);

// SAFETY: Valgrind runs one thread at a time, see above.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    pub const fn new(value: T) -> Single<T> {
        Single(UnsafeCell::new(value))
    }

    /// The value. Callers hold the reference no longer than a few statements
    /// in which nobody else asks for the same value.
    #[allow(clippy::mut_from_ref, reason = "one thread at a time")]
    #[inline(always)]
    pub fn get(&self) -> &mut T {
        // SAFETY: no other thread runs, and callers do not nest.
        unsafe { &mut *self.0.get() }
    }
}

pub const PAGE: usize = 4096;

/// Zeroed memory for the tool; the program's own allocations never lie there.
/// Ends the process if there is none, as Valgrind itself does.
pub fn own(bytes: usize) -> *mut u8 {
    backend::own(bytes.next_multiple_of(PAGE))
}

/// Gives back what [`own`] gave.
pub fn disown(start: *mut u8, bytes: usize) {
    backend::disown(start as usize, bytes.next_multiple_of(PAGE));
}

/// Maps memory for the program at `start`, a multiple of a page. False if
/// there is none.
pub fn map_for_program(start: usize, bytes: usize) -> bool {
    backend::map_for_program(start, bytes)
}

/// Whether the program can read all of this memory.
pub fn is_readable(start: usize, bytes: usize) -> bool {
    backend::is_readable(start, bytes)
}

/// What a file has, in memory of the tool's.
#[cfg(all(valgrind, not(test)))]
pub fn read_file(path: &core::ffi::CStr) -> Option<&'static [u8]> {
    use crate::vg;
    const FROM_END: i32 = 2;
    // SAFETY: a C string, our own descriptor, and memory for as many bytes as
    // are read.
    unsafe {
        let file = vg::vgPlain_fd_open(path.as_ptr(), 0, 0);
        if file < 0 {
            return None;
        }
        let bytes = usize::try_from(vg::vgPlain_lseek(file, 0, FROM_END)).ok()?;
        vg::vgPlain_lseek(file, 0, 0);
        let memory = own(bytes.max(1));
        let mut done = 0;
        while done < bytes {
            let count = vg::vgPlain_read(file, memory.add(done).cast(), (bytes - done).min(1 << 20) as i32);
            match usize::try_from(count) {
                Ok(count) if count > 0 => done += count,
                _ => break,
            }
        }
        vg::vgPlain_close(file);
        (done == bytes).then(|| core::slice::from_raw_parts(memory, bytes))
    }
}

/// Gives the pages back to the system; they read as zero afterwards.
pub fn release(start: usize, bytes: usize) {
    const MADVISE: usize = 28;
    const DONTNEED: usize = 4;
    // SAFETY: the caller owns these pages, and nobody needs their content.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") MADVISE => _,
            in("rdi") start, in("rsi") bytes, in("rdx") DONTNEED,
            lateout("rcx") _, lateout("r11") _,
        );
    }
}

#[cfg(all(valgrind, not(test)))]
mod backend {
    use crate::vg;

    unsafe extern "C" {
        // Declared by the core, not for tools; the same since Valgrind 3.3.
        fn vgPlain_am_mmap_anon_fixed_client(start: usize, bytes: usize, protection: u32) -> vg::SysRes;
    }

    pub fn own(bytes: usize) -> *mut u8 {
        // SAFETY: plain request; it does not return without memory.
        unsafe {
            let start = vg::vgPlain_am_shadow_alloc(bytes as u64);
            if start.is_null() {
                vg::vgPlain_tool_panic(c"leakscope: out of memory".as_ptr());
            }
            start.cast()
        }
    }

    pub fn disown(start: usize, bytes: usize) {
        // SAFETY: memory that `own` gave, and that nobody uses any more.
        unsafe { vg::vgPlain_am_munmap_valgrind(start as u64, bytes as u64) };
    }

    pub fn map_for_program(start: usize, bytes: usize) -> bool {
        const READ_WRITE: u32 = 3;
        // SAFETY: plain requests; the place is the heap's own, or refused.
        unsafe {
            let occupied = vg::vgPlain_am_find_nsegment(start as u64);
            if !occupied.is_null() && (*occupied).kind != vg::SkFree {
                return false;
            }
            vgPlain_am_mmap_anon_fixed_client(start, bytes, READ_WRITE)._isError == 0
        }
    }

    pub fn is_readable(start: usize, bytes: usize) -> bool {
        const READ: u32 = 1;
        // SAFETY: only looks at Valgrind's list of mappings.
        unsafe { vg::vgPlain_am_is_valid_for_client(start as u64, bytes as u64, READ) != 0 }
    }
}

#[cfg(any(test, not(valgrind)))]
mod backend {
    //! For tests of the parts that do not need Valgrind.

    pub fn own(bytes: usize) -> *mut u8 {
        map(0, bytes, 0) as *mut u8
    }

    pub fn disown(start: usize, bytes: usize) {
        // SAFETY: memory that `own` gave.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") 11 => _, in("rdi") start, in("rsi") bytes,
            lateout("rcx") _, lateout("r11") _)
        };
    }

    pub fn is_readable(_: usize, _: usize) -> bool {
        true
    }

    pub fn map_for_program(start: usize, bytes: usize) -> bool {
        const FIXED_NOREPLACE: usize = 0x10_0000;
        map(start, bytes, FIXED_NOREPLACE) == start
    }

    fn map(start: usize, bytes: usize, flags: usize) -> usize {
        const PRIVATE_ANONYMOUS: usize = 0x22;
        let result;
        // SAFETY: a new private mapping.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") 9_usize => result, in("rdi") start, in("rsi") bytes,
                in("rdx") 3, in("r10") PRIVATE_ANONYMOUS | flags, in("r8") -1, in("r9") 0,
                lateout("rcx") _, lateout("r11") _);
        }
        result
    }
}
