//! Library functions for which the runtime has models: calls of them, and
//! pointers to them, become the models'.
//!
//! A program may have a function of its own by such a name. Whoever defines it
//! gives it the model's name too, which then goes before the runtime's.

use std::ffi::CString;

use leakscope_wire::symbolic::{MODEL_PREFIX, MODELS};
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;

use crate::llvm::Module;

pub fn redirect(module: &Module<'_>) {
    let functions: Vec<_> = module.functions().collect();
    for function in functions {
        let (raw, name) = (function.raw(), function.name().to_owned());
        let is_model = MODELS.contains(&name.as_str());
        let model = CString::new(format!("{MODEL_PREFIX}{name}")).expect("no null byte");
        // SAFETY: a live function, which is not used after it is deleted.
        unsafe {
            let linkage = LLVMGetLinkage(raw);
            let is_elsewhere =
                function.is_declaration() || linkage == LLVMLinkage::LLVMAvailableExternallyLinkage;
            match linkage {
                LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage => {}
                _ if is_model && is_elsewhere => {
                    let ty = LLVMGlobalGetValueType(raw);
                    let to = LLVMAddFunction(module.raw(), model.as_ptr(), ty);
                    LLVMReplaceAllUsesWith(raw, to);
                    LLVMDeleteFunction(raw);
                }
                _ if is_model => {
                    let ty = LLVMGlobalGetValueType(raw);
                    LLVMAddAlias2(module.raw(), ty, 0, raw, model.as_ptr());
                }
                // Its own code is elsewhere and may not be derived.
                LLVMLinkage::LLVMAvailableExternallyLinkage => {
                    LLVMSetLinkage(raw, LLVMLinkage::LLVMInternalLinkage);
                }
                _ => {}
            }
        }
    }
}
