//! Frames that begin empty.
//!
//! A frame has words that its function does not write, or not yet: padding,
//! slots for registers, locals of later scopes. They show what frames before
//! it left there, and the scan would take that for pointers. LLVM calls a
//! function of one's choice from the prologue, meant for touching the pages of
//! large frames (`probe-stack`); here it clears the frame. What `alloca` and
//! arrays of variable length get is cleared by the same call.
//!
//! For every frame that costs too much in optimised code (a fifth of jsoncpp's
//! time). There it is done for those that are entered once and stay: of
//! `main`, and of functions that never return, by which programs end. Functions that call nothing are passed over everywhere: nobody scans
//! while they run but for a signal, and they would lose their red zone.

use crate::llvm::{Function, Kind, Layout, Module};

/// Which frames are cleared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    All,
    /// Those that are entered once.
    Lasting,
}

pub fn clear(module: &Module<'_>, which: Frames) {
    let never_returns = Kind::named("noreturn");
    let mut any = false;
    for function in module.bodies() {
        let lasts = function.name() == "main" || function.is(never_returns);
        if which == Frames::All {
            // Registers too hold what is dead, until something else is put there.
            function.set_string("zero-call-used-regs", "used-gpr");
        }
        // Bytes from which on a frame is cleared; the smallest has eight.
        let least = match which {
            _ if function.calls().next().is_none() => continue,
            Frames::All => 8,
            Frames::Lasting if lasts => 8,
            Frames::Lasting if has_arrays_of_unknown_length(function, module.layout()) => i32::MAX,
            Frames::Lasting => continue,
        };
        function.set_string("probe-stack", CLEAR);
        function.set_string("stack-probe-size", &least.to_string());
        any = true;
    }
    if any {
        module.add_assembler(&clearing_code());
    }
}

fn has_arrays_of_unknown_length(function: Function<'_>, layout: Layout<'_>) -> bool {
    let unknown = |(_, bytes): (_, Option<u64>)| bytes.is_none();
    function.instructions().any(|at| at.local(layout).is_some_and(unknown))
}

const CLEAR: &str = "__leakscope_clear_frame";

/// Called with the size of the frame in rax, before the stack pointer moves;
/// all registers but r11 and the flags are the caller's. The frame's first
/// word is our return address, which is no pointer to a block. The linker
/// keeps one copy for each program or library.
fn clearing_code() -> String {
    format!(
        r#"
        .section .text.{CLEAR},"axG",@progbits,{CLEAR},comdat
        .weak {CLEAR}
        .hidden {CLEAR}
        .type {CLEAR},@function
        .p2align 4
{CLEAR}:
        .cfi_startproc
        movq %rsp, %r11
        subq %rax, %r11
0:      addq $8, %r11
        cmpq %rsp, %r11
        jae 1f
        movq $0, (%r11)
        jmp 0b
1:      retq
        .cfi_endproc
        .size {CLEAR}, .-{CLEAR}
        .text
"#
    )
}
