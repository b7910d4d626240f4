//! Calls of the C library that copy or fill memory, as the intrinsics that the
//! compiler makes of them: with `_FORTIFY_SOURCE`, or where built-in functions
//! are off, they are still calls.

use std::iter::successors;

use llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::llvm::{Module, Value};

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Copies,
    /// And returns the end of the copy.
    CopiesToEnd,
    Moves,
    Fills,
}

/// What a function does by its name. glibc's checks are a function and, in the
/// header, one that clang gives a suffix.
fn does(function: Value<'_>) -> Option<Does> {
    let name = function.name();
    let own = name.strip_suffix(".inline");
    if own.is_none() && !function.is_declaration() {
        return None;
    }
    let name = own.unwrap_or(name);
    match name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk")).unwrap_or(name) {
        "memcpy" => Some(Does::Copies),
        "mempcpy" | "__mempcpy" => Some(Does::CopiesToEnd),
        "memmove" => Some(Does::Moves),
        "memset" => Some(Does::Fills),
        _ => None,
    }
}

impl Module<'_> {
    /// Puts intrinsics in place of such calls. Taken exclusively, so that no
    /// handle survives what it deletes.
    pub fn lower_memory_calls(&mut self) {
        let found: Vec<(LLVMValueRef, Does)> = self
            .functions()
            .filter_map(|function| Some((function, does(function)?)))
            .flat_map(|(function, does)| calls(function).into_iter().map(move |call| (call, does)))
            .collect();
        // SAFETY: live calls of a live module, each replaced once by what has
        // its type; the builder is ours to release.
        unsafe {
            let builder = LLVMCreateBuilderInContext(self.context());
            for (call, does) in found {
                replace(builder, call, does);
            }
            LLVMDisposeBuilder(builder);
        }
    }
}

/// The calls of a function that go on behind them.
fn calls(function: Value<'_>) -> Vec<LLVMValueRef> {
    // SAFETY: a live function; null ends its uses, whose users are live.
    unsafe {
        let use_of = |at: LLVMUseRef| (!at.is_null()).then_some(at);
        successors(use_of(LLVMGetFirstUse(function.raw)), |&at| use_of(LLVMGetNextUse(at)))
            .map(|at| LLVMGetUser(at))
            .filter(|&user| !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == function.raw)
            .collect()
    }
}

/// # Safety
/// A call of a function that does so, and has no other handle.
unsafe fn replace(builder: LLVMBuilderRef, call: LLVMValueRef, does: Does) {
    // SAFETY: as the caller says; three arguments are there by the function's
    // type, which is looked at first.
    unsafe {
        if LLVMGetNumArgOperands(call) < 3 {
            return;
        }
        let [to, from, bytes] = [0, 1, 2].map(|index| LLVMGetOperand(call, index));
        let is_number = |value| LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind;
        let wanted = [false, does == Does::Fills, true];
        if [to, from, bytes].map(is_number) != wanted || LLVMTypeOf(call) != LLVMTypeOf(to) {
            return;
        }
        let byte = LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(bytes)));
        LLVMPositionBuilderBefore(builder, call);
        match does {
            Does::Copies | Does::CopiesToEnd => LLVMBuildMemCpy(builder, to, 1, from, 1, bytes),
            Does::Moves => LLVMBuildMemMove(builder, to, 1, from, 1, bytes),
            Does::Fills => {
                let value = LLVMBuildTrunc(builder, from, byte, c"".as_ptr());
                LLVMBuildMemSet(builder, to, value, bytes, 1)
            }
        };
        let mut steps = [bytes];
        let result = match does {
            Does::CopiesToEnd => LLVMBuildGEP2(builder, byte, to, steps.as_mut_ptr(), 1, c"".as_ptr()),
            _ => to,
        };
        LLVMReplaceAllUsesWith(call, result);
        LLVMInstructionEraseFromParent(call);
    }
}
