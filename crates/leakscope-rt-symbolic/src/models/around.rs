//! Models of C++ functions: the real one is called, and something is done
//! before and after it.
//!
//! They may throw, and an exception must not pass through Rust frames; so they
//! are assembly around two functions each. The real ones are weak, because a
//! program in C has none.

/// The arguments of a call, and what is kept from before it until after it.
#[repr(C)]
pub struct Around {
    pub arguments: [usize; 4],
    /// The model's own address.
    pub own: usize,
    pub result: usize,
    pub kept: [usize; 4],
    /// What a fifth argument would be.
    last: usize,
    unused: usize,
}

impl Around {
    /// The fifth argument, of functions that have one.
    pub fn fifth(&self) -> usize {
        self.last
    }
}

/// How assembly begins that unwinders can walk through. Tests have none.
#[cfg(not(test))]
macro_rules! opens_frame {
    () => {
        ".cfi_startproc
        push rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov rbp, rsp
        .cfi_def_cfa_register rbp"
    };
}
#[cfg(not(test))]
pub(crate) use opens_frame;

macro_rules! around {
    ($($name:ident: $before:path, $after:path;)*) => {
        $(
            #[cfg(not(test))]
            core::arch::global_asm!(
                concat!(".weak ", stringify!($name)),
                concat!(".globl __leakscope_model_", stringify!($name)),
                concat!(".type __leakscope_model_", stringify!($name), ",@function"),
                concat!("__leakscope_model_", stringify!($name), ":"),
                $crate::models::around::opens_frame!(),
                "sub rsp, 96",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 80], r8",
                concat!("lea rax, [rip + __leakscope_model_", stringify!($name), "]"),
                "mov [rsp + 32], rax",
                "mov rdi, rsp",
                "call {before}",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "mov r8, [rsp + 80]",
                concat!("call ", stringify!($name), "@PLT"),
                "mov [rsp + 40], rax",
                "mov rdi, rsp",
                "call {after}",
                "mov rax, [rsp + 40]",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                before = sym $before,
                after = sym $after,
            );
        )*
    };
}
pub(crate) use around;
