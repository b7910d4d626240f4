//! Where scopes are left: the place of each `return`, `break`, `continue` and
//! `goto`, kept with the branch that it became, and where variables end.
//!
//! Clang notes in a slot where control goes on, ends what lives in the scope,
//! and then branches, often without a line. SSA form has no such slot any more,
//! and no ends of lives, so this comes before it.

use std::ptr::null_mut;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMGetMetadataKind, LLVMInstructionGetDebugLoc, LLVMMetadataKind};
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;

use crate::llvm::{Block, Module, Value};

/// Clang's name for the slot that says where control goes on.
const DESTINATION: &str = "cleanup.dest.slot";
/// Clang's name for the slot of a function's result.
const RESULT: &str = "retval";
/// Clang's name for blocks that end lives; a label of the source may have it too.
const CLEANUP: &str = "cleanup";
/// How calls are named that end a life, that give a variable its home, and that
/// give it a value.
const END: &str = "llvm.lifetime.end";
pub const DECLARE: &str = "llvm.dbg.declare";
pub const VALUE: &str = "llvm.dbg.value";
/// Under which name a branch or `ret` has its statement's place.
const PLACE: &str = "leakscope.jump";

impl Module<'_> {
    /// Gives branches that leave a scope, and what returns, the place of their
    /// statement.
    pub fn mark_jumps(&mut self) {
        let context = self.context();
        for function in self.functions() {
            let named = |name: &str| {
                let mut first = function.blocks().take(1).flat_map(|block| block.instructions());
                first.find(|at| at.opcode() == Some(LLVMOpcode::LLVMAlloca) && at.name() == name)
            };
            let (slot, result) = (named(DESTINATION), named(RESULT));
            labels(function, slot).into_iter().for_each(|block| block.rename("label"));
            for block in function.blocks() {
                let end = block.instructions().last().expect("a terminator");
                let place = match end.opcode() {
                    Some(LLVMOpcode::LLVMBr) => slot.and_then(|slot| left_at(block, slot, end)),
                    Some(LLVMOpcode::LLVMRet) => returned_at(end, result),
                    _ => None,
                };
                if let Some(place) = place {
                    // SAFETY: a live instruction of a live module, which keeps what it is given.
                    unsafe { LLVMSetMetadata(end.raw, kind(context), LLVMMetadataAsValue(context, place)) };
                }
            }
        }
    }

    /// Says of variables where they end, by debug information that gives them no
    /// value any more.
    pub fn mark_ends(&mut self) {
        // SAFETY: a live module, taken exclusively; intrinsics have the arguments that are
        // given here. The C interface cannot list debug records; as calls it can.
        unsafe {
            LLVMSetIsNewDbgInfoFormat(self.raw(), 0);
            let context = self.context();
            let id = LLVMLookupIntrinsicID(VALUE.as_ptr().cast(), VALUE.len());
            let callee = LLVMGetIntrinsicDeclaration(self.raw(), id, null_mut(), 0);
            let ty = LLVMIntrinsicGetType(context, id, null_mut(), 0);
            let nothing = LLVMMetadataAsValue(
                context,
                LLVMValueAsMetadata(LLVMGetPoison(LLVMPointerTypeInContext(context, 0))),
            );
            let builder = LLVMCreateBuilderInContext(context);
            for function in self.functions() {
                let calls: Vec<Value> = function
                    .blocks()
                    .flat_map(Block::instructions)
                    .filter(|at| at.opcode() == Some(LLVMOpcode::LLVMCall))
                    .collect();
                let homes: FxHashMap<Value, Value> = calls
                    .iter()
                    .filter(|call| call.called().name() == DECLARE)
                    .filter_map(|call| Some((home(context, *call)?, *call)))
                    .collect();
                for end in calls.iter().filter(|call| call.called().name().starts_with(END)) {
                    let Some(variable) = homes.get(&end.operand(1)) else { continue };
                    let place = location(end.raw);
                    if place.is_null() {
                        continue;
                    }
                    LLVMPositionBuilderBefore(builder, end.raw);
                    LLVMSetCurrentDebugLocation2(builder, place);
                    let mut arguments = [nothing, variable.operand(1).raw, variable.operand(2).raw];
                    LLVMBuildCall2(builder, ty, callee, arguments.as_mut_ptr(), 3, c"".as_ptr());
                }
            }
            LLVMDisposeBuilder(builder);
        }
    }
}

/// Where the statement stands by which a block leaves a scope, if it does.
fn left_at(block: Block<'_>, slot: Value<'_>, end: Value<'_>) -> Option<LLVMMetadataRef> {
    let note = noted(block, slot)?;
    // SAFETY: live instructions.
    let (before, behind) =
        unsafe { (LLVMGetPreviousInstruction(note.raw), LLVMGetNextInstruction(note.raw)) };
    // Directly behind the note the branch is the statement's.
    let stated = [if behind == end.raw { end.raw } else { note.raw }, before];
    // SAFETY: live instructions.
    let mut places = stated.into_iter().filter(|at| !at.is_null()).map(|at| unsafe { location(at) });
    places.find(|place| !place.is_null())
}

/// Where the only `return` of a function stands: its line is that of what is
/// returned, where objects are destroyed before it is the brace's on the `ret`.
fn returned_at(end: Value<'_>, result: Option<Value<'_>>) -> Option<LLVMMetadataRef> {
    let value = (end.operand_count() > 0).then(|| end.operand(0)).filter(|value| value.opcode().is_some())?;
    let is_load = value.opcode() == Some(LLVMOpcode::LLVMLoad);
    let stated = match result.filter(|slot| is_load && value.operand(0) == *slot) {
        Some(slot) => {
            let is_store =
                |user: &Value| user.opcode() == Some(LLVMOpcode::LLVMStore) && user.operand(1) == slot;
            let mut stores = slot.users().filter(is_store);
            stores.next().filter(|_| stores.next().is_none())?
        }
        None => value,
    };
    // SAFETY: a live instruction.
    let place = unsafe { location(stated.raw) };
    (!place.is_null()).then_some(place)
}

/// Labels of the source that have clang's name for blocks that end lives: a
/// branch leads to them that notes nothing.
fn labels<'m>(function: Value<'m>, slot: Option<Value<'m>>) -> Vec<Block<'m>> {
    let is_named = |block: &Block| {
        let rest = block.name().strip_prefix(CLEANUP);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let named: Vec<Block> = function.blocks().filter(is_named).collect();
    if named.is_empty() {
        return named;
    }
    let notes = |block: &Block| slot.is_some_and(|slot| noted(*block, slot).is_some());
    // One cleanup leads to the next.
    let is_plain = |block: &Block| !notes(block) && !block.name().starts_with(CLEANUP);
    let plain = function.blocks().filter(is_plain).filter_map(|block| block.instructions().last());
    let reached: Vec<Block> = plain.flat_map(|end| end.successors()).collect();
    named.into_iter().filter(|block| reached.contains(block)).collect()
}

/// The last note in a block of where control goes on.
fn noted<'m>(block: Block<'m>, slot: Value<'m>) -> Option<Value<'m>> {
    let is_note = |at: &Value| at.opcode() == Some(LLVMOpcode::LLVMStore) && at.operand(1) == slot;
    block.instructions().filter(is_note).last()
}

/// The place of the statement that a branch leaves a scope by, or a `ret` the
/// function.
pub fn place(context: LLVMContextRef, end: Value<'_>) -> Option<LLVMMetadataRef> {
    if !matches!(end.opcode(), Some(LLVMOpcode::LLVMBr | LLVMOpcode::LLVMRet)) {
        return None;
    }
    // SAFETY: an instruction of this context; null if it has none.
    unsafe {
        let place = LLVMGetMetadata(end.raw, kind(context));
        (!place.is_null()).then(|| LLVMValueAsMetadata(place))
    }
}

/// The local that is the home of a variable by a call of [`DECLARE`].
pub fn home<'m>(context: LLVMContextRef, call: Value<'m>) -> Option<Value<'m>> {
    // SAFETY: such a call has this operand, as metadata; a value as metadata has itself as its
    // one operand.
    unsafe {
        let value = LLVMValueAsMetadata(call.operand(0).raw);
        if !matches!(LLVMGetMetadataKind(value), LLVMMetadataKind::LLVMLocalAsMetadataMetadataKind) {
            return None;
        }
        let mut raw = null_mut();
        LLVMGetMDNodeOperands(LLVMMetadataAsValue(context, value), &mut raw);
        Value::new(raw)
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
