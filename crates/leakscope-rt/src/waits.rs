//! Functions in which a thread waits, or may be when another one ends the
//! program.
//!
//! Threads in those that a signal would cut short are not stopped for a
//! snapshot (see `park`), so their registers are not seen. These stand-ins put
//! the registers that belong to the caller on the stack, where the scan looks,
//! and call the real function.
//!
//! A waiting thread is where a scan finds it, and the frames of libc in which
//! it waits have gaps. So the stack below is cleared first: what dead frames
//! left there would hold blocks.

use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(not(test))]
use crate::assembly::{keeps_registers, opens_frame};

/// Bytes that are cleared; libc's frames in these functions are smaller.
const CLEARED: usize = 768;

macro_rules! waits {
    (after $clearing:tt $operands:tt: $($name:ident = $text:literal;)*) => {
        $( waits!(one $clearing $operands $name $text); )*
    };
    (one [$($clearing:literal)*] [$($operands:tt)*] $name:ident $text:literal) => {
        /// # Safety
        /// As for the C function.
        #[cfg(not(test))]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            extern "C" fn find() -> usize {
                static REAL: AtomicUsize = AtomicUsize::new(0);
                real(&REAL, $text)
            }
            core::arch::naked_asm!(
                opens_frame!(),
                keeps_registers!(),
                // The arguments, kept while the function is found.
                "sub rsp, 8",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "call {find}",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                $($clearing,)*
                "call rax",
                // The callee left the caller's registers as they were.
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                find = sym find,
                $($operands)*
            );
        }
    };
}

waits! {
    after ["lea r10, [rsp - {cleared}]" "2: mov qword ptr [r10], 0" "add r10, 8" "cmp r10, rsp" "jb 2b"]
        [cleared = const CLEARED]:
    poll = c"poll";
    ppoll = c"ppoll";
    select = c"select";
    pselect = c"pselect";
    epoll_wait = c"epoll_wait";
    epoll_pwait = c"epoll_pwait";
    epoll_pwait2 = c"epoll_pwait2";
    nanosleep = c"nanosleep";
    clock_nanosleep = c"clock_nanosleep";
    usleep = c"usleep";
    sleep = c"sleep";
    pause = c"pause";
    sigsuspend = c"sigsuspend";
    sigtimedwait = c"sigtimedwait";
    sigwaitinfo = c"sigwaitinfo";
    sigwait = c"sigwait";
    semop = c"semop";
    semtimedop = c"semtimedop";
    msgrcv = c"msgrcv";
    msgsnd = c"msgsnd";
    pthread_create = c"pthread_create";
    pthread_join = c"pthread_join";
    pthread_cond_wait = c"pthread_cond_wait";
    pthread_cond_timedwait = c"pthread_cond_timedwait";
    sem_wait = c"sem_wait";
}

// Called so often that clearing would be felt. A signal cuts them short where
// a socket has a time limit.
waits! {
    after [] []:
    accept = c"accept";
    accept4 = c"accept4";
    read = c"read";
    recv = c"recv";
    recvfrom = c"recvfrom";
    recvmsg = c"recvmsg";
}

/// libc's function of that name, found once.
pub fn real(known: &AtomicUsize, name: &core::ffi::CStr) -> usize {
    if known.load(Ordering::Relaxed) == 0 {
        // SAFETY: the name is a C string.
        known.store(unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize, Ordering::Relaxed);
    }
    known.load(Ordering::Relaxed)
}
