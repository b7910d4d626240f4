//! What functions in assembly begin with.

/// A frame that unwinders can walk through.
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

/// Puts what the caller's callers may have in registers where it can be searched.
macro_rules! keeps_registers {
    () => {
        "push rbx
        push r12
        push r13
        push r14
        push r15"
    };
}

pub(crate) use {keeps_registers, opens_frame};
