//! How instrumented code enters the runtime.

// All registers but `r11` and the result's are kept, so that the code around
// the call loses nothing by it. The frame goes in the register after the
// arguments; a function of Rust's could not tell its own, since its frame
// may be made later than at its start.
macro_rules! keeping_registers {
    ($name:literal, $target:literal, $frame:literal, $keep:literal, $restore:literal) => {
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            $crate::assembly::opens_frame!(),
            $keep,
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "push r10",
            concat!("mov ", $frame, ", rbp"),
            concat!("call ", $target),
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            $restore,
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
        );
    };
}

// The same for code that calls from anywhere, with a stack that is not
// aligned: all registers are kept but `r11` and those of vectors, and the zero
// flag says whether the result is 0. Arguments are in `r11` and above the
// return address, from where they are taken at the end: that is code which
// the program need not have at each call.
macro_rules! keeping_all_registers {
    ($name:literal, $target:literal, $arguments:literal, $leave:literal) => {
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            $crate::assembly::opens_frame!(),
            "push rax",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "push r10",
            "and rsp, -16",
            $arguments,
            concat!("call ", $target),
            "test rax, rax",
            "lea rsp, [rbp - 64]",
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            $leave,
            ".cfi_endproc",
        );
    };
}

pub(crate) use {keeping_all_registers, keeping_registers};
