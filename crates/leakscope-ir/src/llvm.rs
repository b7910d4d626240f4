//! A reading layer over LLVM's C interface: what [`crate::read`] asks of a
//! module, and nothing that changes one but [`Module::promote`]; so does
//! [`crate::memory_calls`].
//!
//! Handles borrow from the module, so none outlives it. Everything stays on
//! the thread that made it; several threads read at once with a [`Context`]
//! each.

use std::ffi::CStr;
use std::iter::successors;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};

pub use llvm_sys::Context;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::run_passes;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement, LLVMTargetDataRef};
use llvm_sys::transforms::pass_builder::*;
use llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex, LLVMIntPredicate, LLVMLinkage, LLVMOpcode,
    LLVMRealPredicate, LLVMTypeKind,
};

pub struct Module<'c> {
    raw: LLVMModuleRef,
    context: &'c Context,
}

impl<'c> Module<'c> {
    pub fn read(context: &'c Context, bitcode: &[u8]) -> Result<Module<'c>, String> {
        Ok(Module { raw: context.parse_bitcode(bitcode)?, context })
    }

    /// Brings locals whose address is not taken into SSA form. Taken
    /// exclusively, so that no handle survives what the pass deletes.
    pub fn promote(&mut self) -> Result<(), String> {
        // SAFETY: a live module, taken exclusively, and options that live
        // through the call.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let done = run_passes(self.raw, c"function(mem2reg)", null_mut(), options);
            LLVMDisposePassBuilderOptions(options);
            done?;
            // The C interface cannot list debug records; as calls it can.
            LLVMSetIsNewDbgInfoFormat(self.raw, 0);
        }
        Ok(())
    }

    pub fn raw(&self) -> LLVMModuleRef {
        self.raw
    }

    pub fn context(&self) -> LLVMContextRef {
        self.context.raw()
    }

    pub fn layout(&self) -> Layout<'_> {
        // SAFETY: a live module, which keeps its layout.
        Layout { raw: unsafe { LLVMGetModuleDataLayout(self.raw) }, module: PhantomData }
    }

    pub fn functions(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: a live module; null ends the list.
        values(unsafe { LLVMGetFirstFunction(self.raw) }, |raw| unsafe { LLVMGetNextFunction(raw) })
    }

    pub fn globals(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: a live module; null ends the list.
        values(unsafe { LLVMGetFirstGlobal(self.raw) }, |raw| unsafe { LLVMGetNextGlobal(raw) })
    }

    pub fn aliases(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: a live module; null ends the list.
        values(unsafe { LLVMGetFirstGlobalAlias(self.raw) }, |raw| unsafe { LLVMGetNextGlobalAlias(raw) })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: handles borrow the module, so none is left.
        unsafe { LLVMDisposeModule(self.raw) }
    }
}

fn values<'m>(
    first: LLVMValueRef,
    next: impl Fn(LLVMValueRef) -> LLVMValueRef,
) -> impl Iterator<Item = Value<'m>> {
    successors(Value::new(first), move |value| Value::new(next(value.raw)))
}

#[derive(Clone, Copy)]
pub struct Layout<'m> {
    raw: LLVMTargetDataRef,
    module: PhantomData<&'m ()>,
}

/// A value, function, global or instruction; which of them, callers know by
/// the questions below.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value<'m> {
    pub raw: LLVMValueRef,
    module: PhantomData<&'m ()>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block<'m> {
    raw: LLVMBasicBlockRef,
    module: PhantomData<&'m ()>,
}

#[derive(Clone, Copy)]
pub struct Type<'m> {
    raw: LLVMTypeRef,
    module: PhantomData<&'m ()>,
}

impl<'m> Value<'m> {
    pub fn new(raw: LLVMValueRef) -> Option<Value<'m>> {
        (!raw.is_null()).then_some(Value { raw, module: PhantomData })
    }

    pub fn name(self) -> &'m str {
        let mut length = 0;
        // SAFETY: the name belongs to the value, which the module keeps.
        let name = unsafe {
            let start = LLVMGetValueName2(self.raw, &mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        std::str::from_utf8(name).unwrap_or_default()
    }

    pub fn ty(self) -> Type<'m> {
        // SAFETY: a live value.
        Type::new(unsafe { LLVMTypeOf(self.raw) })
    }

    pub fn is_function(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsAFunction(self.raw).is_null() }
    }

    pub fn is_declaration(self) -> bool {
        // SAFETY: asked of functions and globals.
        unsafe { LLVMIsDeclaration(self.raw) != 0 }
    }

    pub fn linkage(self) -> LLVMLinkage {
        // SAFETY: asked of functions and globals.
        unsafe { LLVMGetLinkage(self.raw) }
    }

    /// The function or global that an alias stands for.
    pub fn without_aliases(self) -> Value<'m> {
        let mut value = self;
        // SAFETY: the aliased value is asked of aliases only.
        while let Some(aliased) = unsafe {
            let is_alias = !LLVMIsAGlobalAlias(value.raw).is_null();
            if is_alias { Value::new(LLVMAliasGetAliasee(value.raw)) } else { None }
        } {
            value = aliased;
        }
        value
    }

    pub fn is_intrinsic(self) -> bool {
        // SAFETY: asked of functions.
        unsafe { LLVMGetIntrinsicID(self.raw) != 0 }
    }

    /// A function's own type.
    pub fn function_type(self) -> Type<'m> {
        // SAFETY: asked of functions.
        Type::new(unsafe { LLVMGlobalGetValueType(self.raw) })
    }

    pub fn is_constant_global(self) -> bool {
        // SAFETY: asked of globals.
        unsafe { LLVMIsGlobalConstant(self.raw) != 0 }
    }

    pub fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: asked of globals.
        Value::new(unsafe { LLVMGetInitializer(self.raw) })
    }

    pub fn parameters(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: asked of functions; so many are there.
        (0..unsafe { LLVMCountParams(self.raw) })
            // SAFETY: as above.
            .filter_map(move |index| Value::new(unsafe { LLVMGetParam(self.raw, index) }))
    }

    pub fn returns_noalias(self) -> bool {
        let name = "noalias";
        // SAFETY: asked of functions; the name is a live string.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            !LLVMGetEnumAttributeAtIndex(self.raw, LLVMAttributeReturnIndex, kind).is_null()
        }
    }

    /// Whether a landing pad catches anything.
    pub fn catches(self) -> bool {
        // SAFETY: asked of landing pads only.
        unsafe { LLVMGetNumClauses(self.raw) > 0 }
    }

    /// The block that an unconditional branch leads to.
    pub fn leads_to(self) -> Option<Block<'m>> {
        let is_jump = self.opcode() == Some(LLVMOpcode::LLVMBr) && !self.is_conditional();
        is_jump.then(|| self.successors().first().copied()).flatten()
    }

    /// Whether a function, or the call at hand, has an attribute.
    pub fn has_attribute(self, name: &str) -> bool {
        // SAFETY: asked of functions and calls; the name is a live string.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let found = if self.is_function() {
                LLVMGetEnumAttributeAtIndex(self.raw, LLVMAttributeFunctionIndex, kind)
            } else {
                LLVMGetCallSiteEnumAttribute(self.raw, LLVMAttributeFunctionIndex, kind)
            };
            !found.is_null()
        }
    }

    pub fn blocks(self) -> impl Iterator<Item = Block<'m>> {
        // SAFETY: asked of functions; null ends the list.
        let first = unsafe { LLVMGetFirstBasicBlock(self.raw) };
        // SAFETY: as above.
        successors(Block::new(first), |block| Block::new(unsafe { LLVMGetNextBasicBlock(block.raw) }))
    }

    /// `None` for what is not an instruction.
    pub fn opcode(self) -> Option<LLVMOpcode> {
        // SAFETY: a live value, asked for its code only if it has one.
        unsafe { (!LLVMIsAInstruction(self.raw).is_null()).then(|| LLVMGetInstructionOpcode(self.raw)) }
    }

    /// The operation of a constant expression.
    pub fn constant_opcode(self) -> Option<LLVMOpcode> {
        // SAFETY: a live value, asked for its code only if it has one.
        unsafe { (!LLVMIsAConstantExpr(self.raw).is_null()).then(|| LLVMGetConstOpcode(self.raw)) }
    }

    pub fn operand_count(self) -> u32 {
        // SAFETY: a live value.
        unsafe { LLVMGetNumOperands(self.raw) }.max(0) as u32
    }

    pub fn operand(self, index: u32) -> Value<'m> {
        // SAFETY: callers ask for operands that are there.
        Value::new(unsafe { LLVMGetOperand(self.raw, index) }).expect("an operand")
    }

    pub fn operands(self) -> impl Iterator<Item = Value<'m>> {
        (0..self.operand_count()).map(move |index| self.operand(index))
    }

    /// A constant integer of up to 64 bits, sign extended; null is 0.
    pub fn integer(self) -> Option<i64> {
        // SAFETY: each question is asked of the kind of value that has it.
        unsafe {
            if !LLVMIsAConstantInt(self.raw).is_null() {
                return (LLVMGetIntTypeWidth(LLVMTypeOf(self.raw)) <= 64).then(|| match LLVMGetIntTypeWidth(
                    LLVMTypeOf(self.raw),
                ) {
                    1 => LLVMConstIntGetZExtValue(self.raw) as i64,
                    _ => LLVMConstIntGetSExtValue(self.raw),
                });
            }
            (!LLVMIsAConstantPointerNull(self.raw).is_null()).then_some(0)
        }
    }

    pub fn is_zero(self) -> bool {
        // SAFETY: a live value, asked only if it is a constant.
        unsafe { LLVMIsConstant(self.raw) != 0 && LLVMIsNull(self.raw) != 0 }
    }

    /// A constant structure or array of constants.
    pub fn is_aggregate(self) -> bool {
        // SAFETY: asks what kind of value this is.
        unsafe {
            !LLVMIsAConstantStruct(self.raw).is_null()
                || !LLVMIsAConstantArray(self.raw).is_null()
                || !LLVMIsAConstantVector(self.raw).is_null()
        }
    }

    /// The elements of an array of integers or of other constants.
    pub fn element(self, index: u32) -> Option<Value<'m>> {
        // SAFETY: asked of constant aggregates.
        unsafe {
            if !LLVMIsAConstantDataSequential(self.raw).is_null() {
                return Value::new(LLVMGetAggregateElement(self.raw, index));
            }
        }
        (self.is_aggregate() && index < self.operand_count()).then(|| self.operand(index))
    }

    pub fn is_poison(self) -> bool {
        // SAFETY: a live value.
        unsafe { LLVMIsPoison(self.raw) != 0 }
    }

    pub fn users(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live value; null ends the list.
        let first = NonNull::new(unsafe { LLVMGetFirstUse(self.raw) });
        // SAFETY: a use of the list.
        let uses = successors(first, |at| NonNull::new(unsafe { LLVMGetNextUse(at.as_ptr()) }));
        // SAFETY: a use has a user.
        uses.filter_map(|at| Value::new(unsafe { LLVMGetUser(at.as_ptr()) }))
    }

    /// What a call calls.
    pub fn called(self) -> Value<'m> {
        // SAFETY: asked of calls only.
        Value::new(unsafe { LLVMGetCalledValue(self.raw) }).expect("a callee")
    }

    pub fn called_type(self) -> Type<'m> {
        // SAFETY: asked of calls only.
        Type::new(unsafe { LLVMGetCalledFunctionType(self.raw) })
    }

    pub fn is_assembler(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsAInlineAsm(self.raw).is_null() }
    }

    pub fn arguments(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: asked of calls only; so many are there.
        (0..unsafe { LLVMGetNumArgOperands(self.raw) }).map(move |index| self.operand(index))
    }

    pub fn allocated_type(self) -> Type<'m> {
        // SAFETY: asked of allocas only.
        Type::new(unsafe { LLVMGetAllocatedType(self.raw) })
    }

    pub fn source_element_type(self) -> Type<'m> {
        // SAFETY: asked of address computations only.
        Type::new(unsafe { LLVMGetGEPSourceElementType(self.raw) })
    }

    /// A constant number with a point.
    pub fn real(self) -> Option<f64> {
        // SAFETY: the value is asked of such constants only, and the place for
        // what is lost is there.
        unsafe {
            let mut is_rounded = 0;
            (!LLVMIsAConstantFP(self.raw).is_null())
                .then(|| LLVMConstRealGetDouble(self.raw, &mut is_rounded))
                .filter(|number| is_rounded == 0 && !number.is_nan())
        }
    }

    pub fn real_predicate(self) -> LLVMRealPredicate {
        // SAFETY: asked of comparisons of numbers with a point only.
        unsafe { LLVMGetFCmpPredicate(self.raw) }
    }

    pub fn predicate(self) -> LLVMIntPredicate {
        // SAFETY: asked of integer comparisons only.
        unsafe { LLVMGetICmpPredicate(self.raw) }
    }

    pub fn exchange_operation(self) -> llvm_sys::LLVMAtomicRMWBinOp {
        // SAFETY: asked of atomic operations only.
        unsafe { LLVMGetAtomicRMWBinOp(self.raw) }
    }

    pub fn indices(self) -> Vec<u32> {
        // SAFETY: asked of extractvalue and insertvalue; so many are there.
        unsafe {
            let count = LLVMGetNumIndices(self.raw);
            std::slice::from_raw_parts(LLVMGetIndices(self.raw), count as usize).to_vec()
        }
    }

    pub fn incoming(self) -> impl Iterator<Item = (Block<'m>, Value<'m>)> {
        // SAFETY: asked of a PHI; so many are there.
        (0..unsafe { LLVMCountIncoming(self.raw) }).filter_map(move |index| {
            // SAFETY: as above.
            unsafe {
                let block = Block::new(LLVMGetIncomingBlock(self.raw, index))?;
                Some((block, Value::new(LLVMGetIncomingValue(self.raw, index))?))
            }
        })
    }

    pub fn successors(self) -> Vec<Block<'m>> {
        // SAFETY: asked of terminators; so many are there.
        unsafe {
            (0..LLVMGetNumSuccessors(self.raw))
                .filter_map(|index| Block::new(LLVMGetSuccessor(self.raw, index)))
                .collect()
        }
    }

    pub fn is_conditional(self) -> bool {
        // SAFETY: asked of a branch.
        unsafe { LLVMIsConditional(self.raw) != 0 }
    }
}

impl<'m> Block<'m> {
    fn new(raw: LLVMBasicBlockRef) -> Option<Block<'m>> {
        (!raw.is_null()).then_some(Block { raw, module: PhantomData })
    }

    pub fn name(self) -> &'m str {
        // SAFETY: a live block, whose name is a C string that the module keeps.
        let name = unsafe { CStr::from_ptr(LLVMGetBasicBlockName(self.raw)) };
        name.to_str().unwrap_or_default()
    }

    pub fn rename(self, name: &str) {
        // SAFETY: a live block, and a name with its length.
        unsafe { LLVMSetValueName2(LLVMBasicBlockAsValue(self.raw), name.as_ptr().cast(), name.len()) };
    }

    pub fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live block; null ends the list.
        values(unsafe { LLVMGetFirstInstruction(self.raw) }, |raw| unsafe { LLVMGetNextInstruction(raw) })
    }
}

impl<'m> Type<'m> {
    fn new(raw: LLVMTypeRef) -> Type<'m> {
        Type { raw, module: PhantomData }
    }

    pub fn kind(self) -> LLVMTypeKind {
        // SAFETY: a live type.
        unsafe { LLVMGetTypeKind(self.raw) }
    }

    /// Of an integer; 64 for all else.
    pub fn bits(self) -> u32 {
        if self.kind() == LLVMTypeKind::LLVMIntegerTypeKind {
            // SAFETY: the width is asked of integers only.
            unsafe { LLVMGetIntTypeWidth(self.raw) }
        } else {
            64
        }
    }

    /// 0 where a type has no size.
    pub fn bytes(self, layout: Layout<'m>) -> u64 {
        // SAFETY: only types with a size are asked for it.
        unsafe { if LLVMTypeIsSized(self.raw) != 0 { LLVMABISizeOfType(layout.raw, self.raw) } else { 0 } }
    }

    /// Members of a structure with their offsets.
    pub fn members(self, layout: Layout<'m>) -> Option<Vec<(u64, Type<'m>)>> {
        if self.kind() != LLVMTypeKind::LLVMStructTypeKind {
            return None;
        }
        // SAFETY: a structure, with so many members.
        Some(unsafe {
            (0..LLVMCountStructElementTypes(self.raw))
                .map(|index| {
                    let offset = LLVMOffsetOfElement(layout.raw, self.raw, index);
                    (offset, Type::new(LLVMStructGetTypeAtIndex(self.raw, index)))
                })
                .collect()
        })
    }

    /// Element type and length of an array or vector.
    pub fn elements(self) -> Option<(Type<'m>, u64)> {
        // SAFETY: each question is asked of the kind of type that has it.
        unsafe {
            match self.kind() {
                LLVMTypeKind::LLVMArrayTypeKind => {
                    Some((Type::new(LLVMGetElementType(self.raw)), LLVMGetArrayLength2(self.raw)))
                }
                LLVMTypeKind::LLVMVectorTypeKind => {
                    Some((Type::new(LLVMGetElementType(self.raw)), u64::from(LLVMGetVectorSize(self.raw))))
                }
                _ => None,
            }
        }
    }

    pub fn result(self) -> Type<'m> {
        // SAFETY: asked of function types.
        Type::new(unsafe { LLVMGetReturnType(self.raw) })
    }

    pub fn parameter_types(self) -> Vec<Type<'m>> {
        // SAFETY: asked of function types; so many are there.
        unsafe {
            let mut types = vec![null_mut(); LLVMCountParamTypes(self.raw) as usize];
            LLVMGetParamTypes(self.raw, types.as_mut_ptr());
            types.into_iter().map(Type::new).collect()
        }
    }

    pub fn is_variadic(self) -> bool {
        // SAFETY: asked of function types.
        unsafe { LLVMIsFunctionVarArg(self.raw) != 0 }
    }
}
