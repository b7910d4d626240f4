//! Functions in which a thread waits and which a signal would cut short.
//!
//! Threads in them are not stopped for a snapshot (see `park`), so their
//! registers are not seen. These stand-ins put the registers that belong to
//! the caller on the stack, where the scan looks, and call the real function.

#[cfg(not(test))]
macro_rules! waits {
    ($($name:literal)*) => {
        core::arch::global_asm!(
            $(
                concat!(".globl ", $name),
                concat!(".type ", $name, ",@function"),
                concat!($name, ":"),
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "push rbx",
                "push r12",
                "push r13",
                "push r14",
                "push r15",
                "sub rsp, 8",
                concat!("mov rax, [rip + leakscope_real_", $name, "]"),
                "test rax, rax",
                "jnz 2f",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                concat!("lea rdi, [rip + leakscope_name_", $name, "]"),
                "call {find}",
                concat!("mov [rip + leakscope_real_", $name, "], rax"),
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "2:",
                "call rax",
                // The callee left all of them as they were.
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                concat!(".size ", $name, ", .-", $name),
                ".section .rodata.leakscope,\"a\",@progbits",
                concat!("leakscope_name_", $name, ": .asciz \"", $name, "\""),
                ".section .bss.leakscope,\"aw\",@nobits",
                ".balign 8",
                concat!("leakscope_real_", $name, ": .zero 8"),
                ".text",
            )*
            find = sym find,
        );
    };
}

#[cfg(not(test))]
waits! {
    "poll" "ppoll" "select" "pselect" "epoll_wait" "epoll_pwait" "epoll_pwait2"
    "nanosleep" "clock_nanosleep" "usleep" "sleep" "pause" "sigsuspend"
    "sigtimedwait" "sigwaitinfo" "sigwait" "semop" "semtimedop" "msgrcv" "msgsnd"
}

#[cfg(not(test))]
unsafe extern "C" fn find(name: *const core::ffi::c_char) -> usize {
    // SAFETY: the name is a C string.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name) as usize }
}
