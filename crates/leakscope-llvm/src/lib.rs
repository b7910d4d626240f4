//! LLVM's C interface as `llvm-sys` declares it, from a library that is loaded
//! when a function of it is first called. Most runs of a program call none:
//! what they would pay for LLVM and the libraries that it needs is 45 MB of
//! memory and two thirds of the time to start.

use std::arch::global_asm;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::process;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

mod context;

pub use context::{Context, run_passes, take_message};
pub use llvm_sys::*;

/// Where it was when leakscope was built.
const LIBRARY: &str = env!("LLVM_LIBRARY");

// A stand-in jumps to where its word says: at first behind itself, from where
// the function is looked up, then to the function.
global_asm!(
    ".macro leakscope_llvm_stand_in name",
    ".section .text.\\name, \"ax\", @progbits",
    ".globl \\name",
    ".hidden \\name",
    ".type \\name, @function",
    "\\name: jmp *.Lword.\\name(%rip)",
    ".Lfirst.\\name: leaq .Lname.\\name(%rip), %r11",
    "leaq .Lword.\\name(%rip), %r10",
    "jmp leakscope_llvm_first_call",
    ".section .rodata.\\name, \"a\", @progbits",
    ".Lname.\\name: .asciz \"\\name\"",
    ".section .data.\\name, \"aw\", @progbits",
    ".balign 8",
    ".Lword.\\name: .quad .Lfirst.\\name",
    ".endm",
    include_str!(concat!(env!("OUT_DIR"), "/stand_ins.s")),
    // All registers that arguments are in; the stack is aligned after an even
    // number of words and the caller's return address.
    ".text",
    "leakscope_llvm_first_call:",
    "pushq %rbp",
    "movq %rsp, %rbp",
    "pushq %rdi",
    "pushq %rsi",
    "pushq %rdx",
    "pushq %rcx",
    "pushq %r8",
    "pushq %r9",
    "pushq %rax",
    "pushq %r10",
    "subq $128, %rsp",
    "movups %xmm0, (%rsp)",
    "movups %xmm1, 16(%rsp)",
    "movups %xmm2, 32(%rsp)",
    "movups %xmm3, 48(%rsp)",
    "movups %xmm4, 64(%rsp)",
    "movups %xmm5, 80(%rsp)",
    "movups %xmm6, 96(%rsp)",
    "movups %xmm7, 112(%rsp)",
    "movq %r11, %rdi",
    "call {function}",
    "movq %rax, %r11",
    "movups (%rsp), %xmm0",
    "movups 16(%rsp), %xmm1",
    "movups 32(%rsp), %xmm2",
    "movups 48(%rsp), %xmm3",
    "movups 64(%rsp), %xmm4",
    "movups 80(%rsp), %xmm5",
    "movups 96(%rsp), %xmm6",
    "movups 112(%rsp), %xmm7",
    "addq $128, %rsp",
    "popq %r10",
    "popq %rax",
    "popq %r9",
    "popq %r8",
    "popq %rcx",
    "popq %rdx",
    "popq %rsi",
    "popq %rdi",
    "popq %rbp",
    "movq %r11, (%r10)",
    "jmp *%r11",
    function = sym function,
    options(att_syntax)
);

/// The function of that name. Without it nothing that was asked for can be done.
extern "C" fn function(name: *const c_char) -> NonNull<c_void> {
    static LOADED: OnceLock<usize> = OnceLock::new();
    let library = *LOADED.get_or_init(|| load().as_ptr() as usize) as *mut c_void;
    // SAFETY: a library that stays loaded, and the name of a stand-in.
    let found = unsafe { libc::dlsym(library, name) };
    NonNull::new(found).unwrap_or_else(|| fail())
}

/// By its name, as the loader would, then where it was.
fn load() -> NonNull<c_void> {
    let name = Path::new(LIBRARY).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let open = |path: &str| {
        let path = CString::new(path).ok()?;
        // SAFETY: a string; LLVM's own constructors are what is run.
        NonNull::new(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) })
    };
    open(name).or_else(|| open(LIBRARY)).unwrap_or_else(|| fail())
}

fn fail() -> ! {
    // SAFETY: the reason of the failure just seen, which is copied at once.
    let reason = unsafe {
        let reason = libc::dlerror();
        if ptr::eq(reason, ptr::null()) { c"unknown" } else { CStr::from_ptr(reason) }
            .to_string_lossy()
            .into_owned()
    };
    eprintln!("leakscope: cannot load LLVM 19: {reason}; install it (Debian: llvm-19)");
    process::exit(2)
}
