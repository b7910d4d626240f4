//! Which statement left a scope: the place of each `return`, `break`,
//! `continue` and `goto`, kept with the branch that it became.
//!
//! Clang notes in a slot where control goes on, ends what lives in the scope,
//! and then branches, often without a line. SSA form has no such slot any more,
//! so this comes before it.

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;

use crate::llvm::{Module, Value};

/// Clang's name for the slot that says where control goes on.
const DESTINATION: &str = "cleanup.dest.slot";
/// Under which name a branch has its statement's place.
const PLACE: &str = "leakscope.jump";

impl Module<'_> {
    /// Gives branches that leave a scope the place of their statement.
    pub fn mark_jumps(&mut self) {
        let context = self.context();
        for function in self.functions() {
            let mut first = function.blocks().take(1).flat_map(|block| block.instructions());
            let Some(slot) = first.find(|at| at.name() == DESTINATION) else { continue };
            for block in function.blocks() {
                let is_note =
                    |at: &Value| at.opcode() == Some(LLVMOpcode::LLVMStore) && at.operand(1) == slot;
                let Some(note) = block.instructions().filter(is_note).last() else { continue };
                // SAFETY: live instructions of a live module, which keeps what it is given; the
                // store is not the last instruction, for a block ends with a terminator.
                unsafe {
                    let end = LLVMGetBasicBlockTerminator(LLVMGetInstructionParent(note.raw));
                    if LLVMIsABranchInst(end).is_null() {
                        continue;
                    }
                    let before = LLVMGetPreviousInstruction(note.raw);
                    // Directly behind the note the branch is the statement's.
                    let branches = LLVMGetNextInstruction(note.raw) == end;
                    let stated = [if branches { end } else { note.raw }, before];
                    let place = stated.into_iter().filter(|at| !at.is_null()).map(|at| location(at));
                    if let Some(place) = place.clone().find(|place| !place.is_null()) {
                        LLVMSetMetadata(end, kind(context), LLVMMetadataAsValue(context, place));
                    }
                }
            }
        }
    }
}

/// The place of the statement that a branch leaves a scope by.
pub fn place(context: LLVMContextRef, branch: Value<'_>) -> Option<LLVMMetadataRef> {
    if branch.opcode() != Some(LLVMOpcode::LLVMBr) {
        return None;
    }
    // SAFETY: an instruction of this context; null if it has none.
    unsafe {
        let place = LLVMGetMetadata(branch.raw, kind(context));
        (!place.is_null()).then(|| LLVMValueAsMetadata(place))
    }
}

/// # Safety
/// A live instruction.
unsafe fn location(at: LLVMValueRef) -> LLVMMetadataRef {
    // SAFETY: as the caller says; null if it has none.
    unsafe { LLVMInstructionGetDebugLoc(at) }
}

fn kind(context: LLVMContextRef) -> u32 {
    // SAFETY: a live context and a live name.
    unsafe { LLVMGetMDKindIDInContext(context, PLACE.as_ptr().cast(), PLACE.len() as u32) }
}
