//! A context of LLVM: what owns modules, and collects the errors that LLVM would
//! print before it ends the process.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::target_machine::LLVMTargetMachineRef;
use llvm_sys::transforms::pass_builder::{LLVMPassBuilderOptionsRef, LLVMRunPasses};

/// Stays on the thread that made it; several threads work at once with one each.
pub struct Context {
    raw: LLVMContextRef,
    errors: Box<RefCell<Vec<String>>>,
}

impl Context {
    #[expect(clippy::new_without_default, reason = "a context is a resource, not a value")]
    pub fn new() -> Context {
        let errors = Box::new(RefCell::new(Vec::new()));
        // SAFETY: a new context; the box keeps its address, and `drop` ends
        // the context before the box.
        let raw = unsafe {
            let raw = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(raw, Some(keep_error), (&raw const *errors).cast_mut().cast());
            raw
        };
        Context { raw, errors }
    }

    pub fn raw(&self) -> LLVMContextRef {
        self.raw
    }

    /// The module in `bitcode`, which the caller owns.
    pub fn parse_bitcode(&self, bitcode: &[u8]) -> Result<LLVMModuleRef, String> {
        let mut module = null_mut();
        // SAFETY: the buffer is a copy that lives through the call, which
        // reads it whole; `module` is set when the result is zero.
        let failed = unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                bitcode.as_ptr().cast(),
                bitcode.len(),
                c"module".as_ptr(),
            );
            let failed = LLVMParseBitcodeInContext2(self.raw, buffer, &mut module) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            failed
        };
        if failed { Err(self.take_errors()) } else { Ok(module) }
    }

    /// What went wrong since this was last asked, empty if nothing did.
    pub fn take_errors(&self) -> String {
        self.errors.borrow_mut().drain(..).collect::<Vec<_>>().join("; ")
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: whoever keeps modules borrows the context, so none is left.
        unsafe { LLVMContextDispose(self.raw) }
    }
}

extern "C" fn keep_error(info: LLVMDiagnosticInfoRef, errors: *mut c_void) {
    // SAFETY: LLVM passes a valid diagnostic, and the pointer that `new` gave.
    unsafe {
        if matches!(LLVMGetDiagInfoSeverity(info), LLVMDiagnosticSeverity::LLVMDSError) {
            let errors = &*errors.cast::<RefCell<Vec<String>>>();
            errors.borrow_mut().push(take_message(LLVMGetDiagInfoDescription(info)));
        }
    }
}

/// Runs passes, without a machine to make code for if that is null.
///
/// # Safety
///
/// All are live, and nobody has a handle into the module, which passes may delete.
pub unsafe fn run_passes(
    module: LLVMModuleRef,
    pipeline: &CStr,
    machine: LLVMTargetMachineRef,
    options: LLVMPassBuilderOptionsRef,
) -> Result<(), String> {
    // SAFETY: by the contract of this function; the error is taken, and its
    // message copied before it is released.
    unsafe {
        let error = LLVMRunPasses(module, pipeline.as_ptr(), machine, options);
        if error.is_null() {
            return Ok(());
        }
        let message = LLVMGetErrorMessage(error);
        let copy = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(copy)
    }
}

/// The text of a message of LLVM's, which is released.
///
/// # Safety
///
/// The message is null, or LLVM's and the caller's to release.
pub unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: a string of LLVM's, copied before it is released.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}
