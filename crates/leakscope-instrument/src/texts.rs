//! The texts that a module has as constants.

use llvm_sys::core::*;

use crate::InstrumentError;
use crate::llvm::{Context, Module};

/// Constant texts of a unit, each up to its end, in the order in which they stand there.
pub fn texts(unit: &[u8]) -> Result<Vec<String>, InstrumentError> {
    let context = Context::new();
    let module = Module::read(&context, unit).map_err(InstrumentError::Read)?;
    let text = |variable: crate::ir::Value<'_>| {
        let mut length = 0;
        // SAFETY: a live variable; its text has that length and belongs to the module.
        let bytes = unsafe {
            let initial = LLVMGetInitializer(variable.raw);
            // What is no sequence of data must not be asked whether it is a text.
            if initial.is_null()
                || LLVMIsGlobalConstant(variable.raw) == 0
                || LLVMIsAConstantDataSequential(initial).is_null()
                || LLVMIsConstantString(initial) == 0
            {
                return None;
            }
            let start = LLVMGetAsString(initial, &mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        let text = bytes.split(|&byte| byte == 0).next()?;
        String::from_utf8(text.to_vec()).ok()
    };
    Ok(module.variables().filter_map(text).collect())
}
