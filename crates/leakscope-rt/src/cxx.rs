//! The C++ allocation operators.
//!
//! Those that throw are assembly around a Rust function: an exception must
//! not pass through Rust frames, and these have none on the stack when they
//! throw. A new handler is called as the standard says, until it gives up.

#[cfg(not(test))]
use core::arch::{global_asm, naked_asm};
use core::ffi::c_void;

use crate::api::{allocate, release};
#[cfg(not(test))]
use crate::assembly::opens_frame;
use crate::caller;

const ALIGN: usize = 16;

// libstdc++'s and libc++'s, where the program has them.
#[cfg(not(test))]
global_asm!(
    ".weak _ZSt15get_new_handlerv",
    ".weak _ZSt17__throw_bad_allocv",
    ".weak _ZSt28__throw_bad_array_new_lengthv",
    ".section .data.rel.ro.leakscope,\"aw\",@progbits",
    ".balign 8",
    "leakscope_get_new_handler: .quad _ZSt15get_new_handlerv",
    "leakscope_throw_bad_alloc: .quad _ZSt17__throw_bad_allocv",
    "leakscope_throw_bad_array_new_length: .quad _ZSt28__throw_bad_array_new_lengthv",
    ".text",
);

// The function that allocates is given the operator's frame, so that its
// caller is the program.
macro_rules! throwing {
    ($($name:ident => $allocate:ident;)*) => {
        $(
            /// # Safety
            /// As for the C++ operator.
            #[cfg(not(test))]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub unsafe extern "C" fn $name() {
                naked_asm!(
                    opens_frame!(),
                    "push rdi",
                    "push rsi",
                    "2:",
                    "mov rdi, [rbp - 8]",
                    "mov rsi, [rbp - 16]",
                    "mov rdx, rbp",
                    "call {allocate}",
                    "test rax, rax",
                    "jz 3f",
                    "leave",
                    ".cfi_remember_state",
                    ".cfi_def_cfa rsp, 8",
                    "ret",
                    ".cfi_restore_state",
                    "3:",
                    "mov rax, [rip + leakscope_get_new_handler]",
                    "test rax, rax",
                    "jz 4f",
                    "call rax",
                    "test rax, rax",
                    "jz 4f",
                    "call rax",
                    "jmp 2b",
                    // Clang asks for all of memory where an array's size overflows.
                    "4:",
                    "mov rax, [rip + leakscope_throw_bad_array_new_length]",
                    "cmp qword ptr [rbp - 8], -1",
                    "je 5f",
                    "mov rax, [rip + leakscope_throw_bad_alloc]",
                    "5:",
                    "test rax, rax",
                    "jz 6f",
                    "call rax",
                    "6:",
                    "ud2",
                    ".cfi_endproc",
                    allocate = sym $allocate,
                );
            }
        )*
    };
}

throwing! {
    _Znwm => new;
    _Znam => new;
    _ZnwmSt11align_val_t => new_aligned;
    _ZnamSt11align_val_t => new_aligned;
}

#[cfg(not(test))]
extern "C" fn new(size: usize, _: usize, frame: usize) -> usize {
    allocate(size, ALIGN, false, crate::walk::Caller { frame })
}

#[cfg(not(test))]
extern "C" fn new_aligned(size: usize, align: usize, frame: usize) -> usize {
    allocate(size, align.max(ALIGN), false, crate::walk::Caller { frame })
}

macro_rules! nothrow {
    ($($name:ident($($argument:ident: $kind:ty),*) => $align:expr;)*) => {
        $(
            /// # Safety
            /// As for the C++ operator.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[allow(non_snake_case)]
            pub unsafe extern "C" fn $name(size: usize, $($argument: $kind,)* _: *const c_void) -> usize {
                allocate(size, $align, false, caller!())
            }
        )*
    };
}

nothrow! {
    _ZnwmRKSt9nothrow_t() => ALIGN;
    _ZnamRKSt9nothrow_t() => ALIGN;
    _ZnwmSt11align_val_tRKSt9nothrow_t(align: usize) => align.max(ALIGN);
    _ZnamSt11align_val_tRKSt9nothrow_t(align: usize) => align.max(ALIGN);
}

macro_rules! delete {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(
            /// # Safety
            /// As for the C++ operator.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[allow(non_snake_case)]
            pub unsafe extern "C" fn $name(pointer: usize, $($argument: $kind),*) {
                $(let _ = $argument;)*
                release(pointer, caller!());
            }
        )*
    };
}

delete! {
    _ZdlPv();
    _ZdaPv();
    _ZdlPvm(size: usize);
    _ZdaPvm(size: usize);
    _ZdlPvSt11align_val_t(align: usize);
    _ZdaPvSt11align_val_t(align: usize);
    _ZdlPvmSt11align_val_t(size: usize, align: usize);
    _ZdaPvmSt11align_val_t(size: usize, align: usize);
    _ZdlPvRKSt9nothrow_t(nothrow: usize);
    _ZdaPvRKSt9nothrow_t(nothrow: usize);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(align: usize, nothrow: usize);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(align: usize, nothrow: usize);
}
