//! Lines that SSA form leaves nothing of: `p = NULL;` only gives a local another
//! value. Who asks how far it is to such a line must find it all the same, so
//! it is kept with the next call, or the block's end.

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;

use crate::llvm::{Module, Value};
use crate::program::{Instruction, Spot, Vanished};

/// Under which name a call or terminator has the places of stores before it.
const STORES: &str = "leakscope.stores";

impl Module<'_> {
    /// Gives calls and terminators the places of what was stored in locals before them.
    pub fn mark_stores(&mut self) {
        let context = self.context();
        for block in self.functions().flat_map(|function| function.blocks().collect::<Vec<_>>()) {
            let mut stored: Vec<LLVMMetadataRef> = Vec::new();
            for at in block.instructions() {
                if is_store(at) {
                    // SAFETY: a live instruction; null if it has no place.
                    let place = unsafe { LLVMInstructionGetDebugLoc(at.raw) };
                    if !place.is_null() {
                        stored.push(place);
                    }
                } else if stays(at) && !stored.is_empty() {
                    // SAFETY: a live instruction of a live module, which keeps what it is given.
                    unsafe {
                        let node = LLVMMDNodeInContext2(context, stored.as_mut_ptr(), stored.len());
                        LLVMSetMetadata(at.raw, kind(context), LLVMMetadataAsValue(context, node));
                    }
                    stored.clear();
                }
            }
        }
    }
}

/// The places of what was stored in locals right before an instruction.
pub fn stored_before(context: LLVMContextRef, at: Value<'_>) -> Vec<LLVMMetadataRef> {
    if !stays(at) {
        return Vec::new();
    }
    // SAFETY: an instruction of this context; null if it has none, else a node whose operands are places.
    unsafe {
        let node = LLVMGetMetadata(at.raw, kind(context));
        if node.is_null() {
            return Vec::new();
        }
        let mut places: Vec<LLVMValueRef> =
            vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
        LLVMGetMDNodeOperands(node, places.as_mut_ptr());
        places.into_iter().map(|place| LLVMValueAsMetadata(place)).collect()
    }
}

/// Leaves those statements of which a block has nothing else.
pub fn retain_vanished(stored: &mut Vec<Vanished>, instructions: &[Instruction], end_at: Spot) {
    let left = |line: u32| instructions.iter().map(|left| left.at).chain([end_at]).any(|at| at.line == line);
    stored.retain(|stored| !left(stored.at.line));
    stored.dedup_by_key(|stored| stored.at.line);
}

fn is_store(at: Value<'_>) -> bool {
    at.opcode() == Some(LLVMOpcode::LLVMStore) && at.operand(1).opcode() == Some(LLVMOpcode::LLVMAlloca)
}

/// Whether an instruction is still there in SSA form.
fn stays(at: Value<'_>) -> bool {
    match at.opcode() {
        Some(LLVMOpcode::LLVMCall) => !at.called().name().starts_with("llvm."),
        Some(
            LLVMOpcode::LLVMBr
            | LLVMOpcode::LLVMSwitch
            | LLVMOpcode::LLVMRet
            | LLVMOpcode::LLVMInvoke
            | LLVMOpcode::LLVMUnreachable,
        ) => true,
        _ => false,
    }
}

fn kind(context: LLVMContextRef) -> u32 {
    // SAFETY: a live context and a live name.
    unsafe { LLVMGetMDKindIDInContext(context, STORES.as_ptr().cast(), STORES.len() as u32) }
}
