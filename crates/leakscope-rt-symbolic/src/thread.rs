//! What instrumented functions pass to each other beside arguments and
//! results: terms, and the calls that are under way. Each thread has its own.
//!
//! A caller names the function that it calls; a function that finds another
//! name there was called by code that knows nothing of terms. The other way
//! round, results are marked with the function that they come from.

/// As `leakscope-instrument` has it (`symbolic/helpers.rs`).
#[repr(C)]
pub struct Thread {
    /// The function for which `arguments` are, or 0.
    pub callee: usize,
    /// Terms of arguments; for what is passed as a copy in memory, where the
    /// caller has it.
    pub arguments: [u64; ARGUMENTS],
    /// Terms of results, with lower half of the function's address above.
    pub results: [u64; RESULTS],
    /// Calls under way.
    pub depth: usize,
    /// Their places, the last ones.
    pub calls: [usize; CALLS],
}

pub const ARGUMENTS: usize = 32;
pub const RESULTS: usize = 4;
pub const CALLS: usize = 256;

const BYTES: usize = size_of::<Thread>();

core::arch::global_asm!(
    ".section .tbss.leakscope_symbolic,\"awT\",@nobits",
    ".balign 8",
    ".globl leakscope_symbolic",
    ".type leakscope_symbolic,@object",
    ".size leakscope_symbolic,{bytes}",
    "leakscope_symbolic: .zero {bytes}",
    ".text",
    bytes = const BYTES,
);

/// The thread's own.
pub fn current() -> &'static mut Thread {
    let thread: *mut Thread;
    // SAFETY: reads the address of a variable of the thread, which no other
    // thread uses; nothing keeps a reference over a call.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + leakscope_symbolic@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) thread,
            options(pure, readonly, nostack),
        );
        &mut *thread
    }
}

/// Terms of the arguments that a function of ours was called with.
pub fn arguments<const N: usize>(function: usize) -> [u32; N] {
    let thread = current();
    let mut terms = [0; N];
    if thread.callee == function {
        thread.callee = 0;
        for (term, passed) in terms.iter_mut().zip(&thread.arguments) {
            *term = *passed as u32;
        }
    }
    terms
}

/// Gives the caller the term of the result.
pub fn returns(function: usize, term: u32) {
    current().results[0] = if term == 0 { 0 } else { (function as u64) << 32 | u64::from(term) };
}

/// The term of what a function gave that was just called.
pub fn result(function: usize) -> u32 {
    let passed = current().results[0];
    if passed >> 32 == function as u64 & 0xffff_ffff { passed as u32 } else { 0 }
}

/// The place of the innermost call: that of a model, in a model.
pub fn call_site() -> usize {
    let thread = current();
    thread.calls[thread.depth.wrapping_sub(1) % CALLS]
}
