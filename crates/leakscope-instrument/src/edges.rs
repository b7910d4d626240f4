//! Blocks and the ways between them, to change.

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;

use crate::builder::Builder;
use crate::ir::{Block, Opcode, Value};
use crate::llvm::Function;

impl<'m> Builder<'m> {
    /// A new block at the end of a function.
    pub fn block(&self, function: Function<'m>, name: &std::ffi::CStr) -> Block<'m> {
        // SAFETY: a live function of this context.
        Block::new(unsafe { LLVMAppendBasicBlockInContext(self.context(), function.raw(), name.as_ptr()) })
    }

    /// Puts what comes at the end of a block, at no place in the source.
    pub fn end(&self, block: Block<'m>) -> &Self {
        // SAFETY: a live block.
        unsafe { LLVMPositionBuilderAtEnd(self.raw(), block.raw) };
        self.nowhere()
    }

    pub fn jump(&self, to: Block<'m>) -> Value<'m> {
        // SAFETY: a block of the function in which the builder stands.
        Value::new(unsafe { LLVMBuildBr(self.raw(), to.raw) })
    }

    pub fn branch(&self, condition: Value<'m>, then: Block<'m>, otherwise: Block<'m>) -> Value<'m> {
        // SAFETY: blocks of the function in which the builder stands.
        Value::new(unsafe { LLVMBuildCondBr(self.raw(), condition.raw, then.raw, otherwise.raw) })
    }

    /// Goes to one of several blocks by a word, else to another.
    pub fn switch(&self, word: Value<'m>, ways: &[(u64, Block<'m>)], otherwise: Block<'m>) {
        // SAFETY: a word, and blocks of the function in which the builder stands.
        unsafe {
            let switch = LLVMBuildSwitch(self.raw(), word.raw, otherwise.raw, ways.len() as u32);
            for &(number, block) in ways {
                LLVMAddCase(switch, self.word(number).raw, block.raw);
            }
        }
    }

    /// Takes an instruction from where it is to where the builder stands.
    pub fn take_over(&self, instruction: Value<'m>) {
        // SAFETY: an instruction, which keeps its users.
        unsafe {
            LLVMInstructionRemoveFromParent(instruction.raw);
            LLVMInsertIntoBuilder(self.raw(), instruction.raw);
        }
    }

    /// A copy of an instruction with the operands of the original, and with
    /// its place in the source.
    pub fn copy(&self, instruction: Value<'m>) -> Value<'m> {
        // SAFETY: a live instruction; its copy belongs to no block yet. The
        // builder would give it its own location.
        unsafe {
            let location = LLVMInstructionGetDebugLoc(instruction.raw);
            LLVMSetCurrentDebugLocation2(self.raw(), location);
            let copy = LLVMInstructionClone(instruction.raw);
            LLVMInsertIntoBuilder(self.raw(), copy);
            Value::new(copy)
        }
    }

    /// A phi of the type that another one has, without ways.
    pub fn phi_like(&self, phi: Value<'m>) -> Value<'m> {
        // SAFETY: a type of this context.
        Value::new(unsafe { LLVMBuildPhi(self.raw(), phi.ty().raw, c"".as_ptr()) })
    }

    /// Gives a phi a value for one more block.
    pub fn add_way(&self, phi: Value<'m>, mut from: Block<'m>, mut value: Value<'m>) {
        // SAFETY: a phi, and a value of its type.
        unsafe { LLVMAddIncoming(phi.raw, &mut value.raw, &mut from.raw, 1) }
    }

    /// The address of a block as a constant.
    pub fn address_of(&self, function: Function<'m>, block: Block<'m>) -> Value<'m> {
        // SAFETY: a block of the function.
        Value::new(unsafe { LLVMBlockAddress(function.raw(), block.raw) })
    }
}

impl<'m> Block<'m> {
    pub fn move_before(self, other: Block<'m>) {
        // SAFETY: blocks of one function.
        unsafe { LLVMMoveBasicBlockBefore(self.raw, other.raw) }
    }

    pub fn successors(self) -> impl Iterator<Item = Block<'m>> {
        self.terminator().into_iter().flat_map(Value::successors)
    }

    /// Whether control comes here by an exception.
    pub fn is_landing_pad(self) -> bool {
        self.instructions().any(|at| at.is(Opcode::LLVMLandingPad))
    }
}

impl<'m> Value<'m> {
    pub fn set_operand(self, index: u32, value: Value<'m>) {
        // SAFETY: an operand that the instruction has, of the same type.
        unsafe { LLVMSetOperand(self.raw, index, value.raw) }
    }

    /// Sends a terminator to another block. Callers see to phis.
    pub fn set_successor(self, index: u32, block: Block<'m>) {
        // SAFETY: a successor that the terminator has.
        unsafe { LLVMSetSuccessor(self.raw, index, block.raw) }
    }

    /// The text of inline assembler that a call runs.
    pub fn assembler(self) -> Option<String> {
        let called = self.called()?;
        // SAFETY: asked of inline assembler only; the text is copied.
        unsafe {
            if LLVMIsAInlineAsm(called.raw).is_null() {
                return None;
            }
            let mut length = 0;
            let text = LLVMGetInlineAsmAsmString(called.raw, &mut length);
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length);
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }

    /// Whether a call says that of itself or of what it calls.
    pub fn call_is(self, kind: crate::llvm::Kind) -> bool {
        if !self.is_call() {
            return false;
        }
        // SAFETY: asked of calls only; null is no attribute.
        unsafe {
            let index = llvm_sys::LLVMAttributeFunctionIndex;
            if !LLVMGetCallSiteEnumAttribute(self.raw, index, kind.number()).is_null() {
                return true;
            }
            let called = LLVMGetCalledValue(self.raw);
            !LLVMIsAFunction(called).is_null()
                && !LLVMGetEnumAttributeAtIndex(called, index, kind.number()).is_null()
        }
    }
}
