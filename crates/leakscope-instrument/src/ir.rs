//! Values, blocks and instructions of a module, to read.
//!
//! Handles are plain copies that borrow the module, as in [`crate::llvm`].
//! Methods that make sense for one kind of instruction only say so, and
//! return `None` or an empty list for others.

use std::iter::successors;
use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use llvm_sys::target::LLVMABISizeOfType;
use llvm_sys::{LLVMAtomicRMWBinOp, LLVMTailCallKind};

pub use llvm_sys::LLVMOpcode as Opcode;

pub use self::types::Type;

use crate::llvm::{Function, Layout};

mod types;

/// # Safety
/// A live context.
unsafe fn note_kind(context: LLVMContextRef, name: &str) -> u32 {
    // SAFETY: as the caller says, and a text of that length.
    unsafe { LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32) }
}

fn non_null<T>(pointer: *mut T) -> Option<*mut T> {
    (!pointer.is_null()).then_some(pointer)
}

/// Any value: an instruction, argument, global or constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value<'m> {
    pub raw: LLVMValueRef,
    module: PhantomData<&'m ()>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block<'m> {
    pub raw: LLVMBasicBlockRef,
    module: PhantomData<&'m ()>,
}

/// Where an instruction stands in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location<'m> {
    pub raw: LLVMMetadataRef,
    module: PhantomData<&'m ()>,
}

/// A function or method to be called, with its type.
#[derive(Clone, Copy)]
pub struct Callee<'m> {
    pub function: Value<'m>,
    pub ty: Type<'m>,
}

impl<'m> Function<'m> {
    pub fn value(self) -> Value<'m> {
        Value::new(self.raw())
    }

    pub fn blocks(self) -> impl Iterator<Item = Block<'m>> {
        // SAFETY: a live function; null ends the list.
        let first = unsafe { LLVMGetFirstBasicBlock(self.raw()) };
        // SAFETY: as above.
        successors(non_null(first), |&block| non_null(unsafe { LLVMGetNextBasicBlock(block) }))
            .map(Block::new)
    }

    pub fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        self.blocks().flat_map(Block::instructions)
    }

    pub fn parameters(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live function, with so many parameters.
        (0..unsafe { LLVMCountParams(self.raw()) }).map(move |index| {
            // SAFETY: as above.
            Value::new(unsafe { LLVMGetParam(self.raw(), index) })
        })
    }

    pub fn entry(self) -> Block<'m> {
        // SAFETY: a function with a body.
        Block::new(unsafe { LLVMGetEntryBasicBlock(self.raw()) })
    }

    pub fn returned(self) -> Type<'m> {
        // SAFETY: the type of a live function.
        Type::new(unsafe { LLVMGetReturnType(LLVMGlobalGetValueType(self.raw())) })
    }

    /// The function, to be called.
    pub fn callee(self) -> Callee<'m> {
        // SAFETY: the type of a live function.
        Callee { function: self.value(), ty: Type::new(unsafe { LLVMGlobalGetValueType(self.raw()) }) }
    }

    /// Whether the function is used other than by calling it.
    pub fn is_address_taken(self) -> bool {
        let function = self.value();
        function
            .users()
            .any(|user| user.called() != Some(function) || user.arguments().any(|value| value == function))
    }
}

impl<'m> Block<'m> {
    pub fn new(raw: LLVMBasicBlockRef) -> Block<'m> {
        Block { raw, module: PhantomData }
    }

    pub fn name(self) -> &'m str {
        // SAFETY: a live block, whose name is a C string that the module keeps.
        let name = unsafe { std::ffi::CStr::from_ptr(LLVMGetBasicBlockName(self.raw)) };
        name.to_str().unwrap_or_default()
    }

    pub fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live block; null ends the list.
        let first = unsafe { LLVMGetFirstInstruction(self.raw) };
        successors(non_null(first).map(Value::new), |value| value.next())
    }

    pub fn terminator(self) -> Option<Value<'m>> {
        // SAFETY: a live block.
        non_null(unsafe { LLVMGetBasicBlockTerminator(self.raw) }).map(Value::new)
    }

    /// The first instruction after the locals at the start of a function.
    pub fn after_locals(self) -> Value<'m> {
        self.instructions().find(|at| !at.is(Opcode::LLVMAlloca)).expect("a terminator")
    }

    /// Whether control comes here from one instruction only.
    pub fn has_one_way_in(self) -> bool {
        // SAFETY: a live block, used by the terminators that lead to it.
        Value::new(unsafe { LLVMBasicBlockAsValue(self.raw) }).users().count() == 1
    }

    /// The instructions from which control comes here.
    pub fn ways_in(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live block.
        Value::new(unsafe { LLVMBasicBlockAsValue(self.raw) }).users().filter(|at| at.is_terminator())
    }

    /// Takes a block out to which no way leads.
    pub fn delete(self) {
        // SAFETY: a live block without users.
        unsafe { LLVMDeleteBasicBlock(self.raw) }
    }

    /// The first place at which ordinary instructions may stand.
    pub fn start(self) -> Option<Value<'m>> {
        self.instructions().find(|at| !matches!(at.opcode(), Some(Opcode::LLVMPHI | Opcode::LLVMLandingPad)))
    }
}

impl<'m> Value<'m> {
    pub fn new(raw: LLVMValueRef) -> Value<'m> {
        Value { raw, module: PhantomData }
    }

    /// `None` for what is not an instruction.
    pub fn opcode(self) -> Option<Opcode> {
        // SAFETY: a live value, asked for its code only if it has one.
        unsafe { (!LLVMIsAInstruction(self.raw).is_null()).then(|| LLVMGetInstructionOpcode(self.raw)) }
    }

    pub fn is(self, opcode: Opcode) -> bool {
        self.opcode() == Some(opcode)
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

    /// Operands of an instruction or constant expression.
    pub fn operand(self, index: u32) -> Value<'m> {
        // SAFETY: callers ask for operands that the instruction has.
        Value::new(unsafe { LLVMGetOperand(self.raw, index) })
    }

    pub fn operands(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: so many operands are there.
        (0..unsafe { LLVMGetNumOperands(self.raw) }.max(0) as u32).map(move |index| self.operand(index))
    }

    pub fn users(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live value; null ends the list.
        let first = unsafe { LLVMGetFirstUse(self.raw) };
        // SAFETY: as above.
        successors(non_null(first), |&at| non_null(unsafe { LLVMGetNextUse(at) }))
            // SAFETY: as above.
            .map(|at| Value::new(unsafe { LLVMGetUser(at) }))
    }

    pub fn next(self) -> Option<Value<'m>> {
        // SAFETY: an instruction.
        non_null(unsafe { LLVMGetNextInstruction(self.raw) }).map(Value::new)
    }

    pub fn previous(self) -> Option<Value<'m>> {
        // SAFETY: an instruction.
        non_null(unsafe { LLVMGetPreviousInstruction(self.raw) }).map(Value::new)
    }

    pub fn block(self) -> Block<'m> {
        // SAFETY: an instruction.
        Block::new(unsafe { LLVMGetInstructionParent(self.raw) })
    }

    /// The function that an instruction stands in.
    pub fn function(self) -> Value<'m> {
        // SAFETY: an instruction in a block of a function.
        Value::new(unsafe { LLVMGetBasicBlockParent(LLVMGetInstructionParent(self.raw)) })
    }

    pub fn ty(self) -> Type<'m> {
        // SAFETY: a live value.
        Type::new(unsafe { LLVMTypeOf(self.raw) })
    }

    pub fn location(self) -> Option<Location<'m>> {
        // SAFETY: an instruction.
        non_null(unsafe { LLVMInstructionGetDebugLoc(self.raw) })
            .map(|raw| Location { raw, module: PhantomData })
    }

    pub fn is_constant(self) -> bool {
        // SAFETY: a live value.
        unsafe { LLVMIsConstant(self.raw) != 0 }
    }

    pub fn is_global(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsAGlobalVariable(self.raw).is_null() }
    }

    /// A function whose code is elsewhere.
    pub fn is_declaration(self) -> bool {
        // SAFETY: asked of functions only.
        unsafe { !LLVMIsAFunction(self.raw).is_null() && LLVMIsDeclaration(self.raw) != 0 }
    }

    /// The type of a parameter that is a copy in the caller's memory.
    pub fn passed_by_value(self, function: Function<'m>) -> Option<Type<'m>> {
        let index = function.parameters().position(|parameter| parameter == self)? as u32 + 1;
        let kind = crate::llvm::Kind::named("byval").number();
        // SAFETY: a parameter of the function; its type is asked if it is there.
        unsafe {
            let attribute = LLVMGetEnumAttributeAtIndex(function.raw(), index, kind);
            (!attribute.is_null()).then(|| Type::new(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// The address from which another is computed.
    pub fn without_steps(self) -> Value<'m> {
        let mut address = self;
        while address.is(Opcode::LLVMGetElementPtr) {
            address = address.operand(0);
        }
        address
    }

    /// The blocks of a function whose addresses a constant array has.
    pub fn table_of_blocks(self, function: Function<'m>) -> Option<Vec<Block<'m>>> {
        // SAFETY: a live value; what a constant array has are its operands, and
        // those of a block's address are function and block.
        unsafe {
            if LLVMIsAGlobalVariable(self.raw).is_null() || LLVMIsGlobalConstant(self.raw) == 0 {
                return None;
            }
            let array =
                non_null(LLVMIsAConstantArray(non_null(LLVMGetInitializer(self.raw))?)).map(Value::new)?;
            let block = |address: Value<'m>| {
                let is_one = !LLVMIsABlockAddress(address.raw).is_null();
                let is_own = is_one && LLVMGetOperand(address.raw, 0) == function.raw();
                is_own.then(|| Block::new(LLVMValueAsBasicBlock(LLVMGetOperand(address.raw, 1))))
            };
            array.operands().map(block).collect()
        }
    }

    /// The same, but for steps back: the end of a block is not in it.
    pub fn origin(self) -> Value<'m> {
        let mut address = self;
        while address.is(Opcode::LLVMGetElementPtr) && !address.operands().skip(1).any(Value::is_negative) {
            address = address.operand(0);
        }
        address
    }

    fn is_negative(self) -> bool {
        // SAFETY: asked only of constant integers.
        unsafe { !LLVMIsAConstantInt(self.raw).is_null() && LLVMConstIntGetSExtValue(self.raw) < 0 }
    }

    pub fn is_parameter(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsAArgument(self.raw).is_null() }
    }

    /// The value of a constant integer.
    pub fn integer(self) -> Option<u64> {
        // SAFETY: asked only of constant integers, of at most 64 bits.
        unsafe {
            (!LLVMIsAConstantInt(self.raw).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(self.raw)) <= 64)
                .then(|| LLVMConstIntGetZExtValue(self.raw))
        }
    }

    /// An alloca's element type and number of bytes; no bytes where that is
    /// known only when the program runs.
    pub fn local(self, layout: Layout<'m>) -> Option<(Type<'m>, Option<u64>)> {
        // SAFETY: asked of an alloca only.
        self.is(Opcode::LLVMAlloca).then(|| unsafe {
            let ty = LLVMGetAllocatedType(self.raw);
            let bytes = LLVMABISizeOfType(layout.raw(), ty);
            (Type::new(ty), self.operand(0).integer().map(|count| bytes * count))
        })
    }

    pub fn is_call(self) -> bool {
        matches!(self.opcode(), Some(Opcode::LLVMCall | Opcode::LLVMInvoke))
    }

    /// What a call calls.
    pub fn called(self) -> Option<Value<'m>> {
        // SAFETY: asked of calls only.
        self.is_call().then(|| Value::new(unsafe { LLVMGetCalledValue(self.raw) }))
    }

    /// The name of the function that a direct call calls, intrinsics included.
    pub fn called_name(self) -> Option<&'m str> {
        let called = self.called()?;
        // SAFETY: a live value.
        unsafe { (!LLVMIsAFunction(called.raw).is_null()).then(|| called.name()) }
    }

    /// The `ret`s of a function that has a body here.
    pub fn returns(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: blocks are asked of functions only; null ends the list.
        let first = unsafe {
            if LLVMIsAFunction(self.raw).is_null() {
                None
            } else {
                non_null(LLVMGetFirstBasicBlock(self.raw))
            }
        };
        // SAFETY: as above.
        successors(first, |&block| non_null(unsafe { LLVMGetNextBasicBlock(block) }))
            .filter_map(|block| Block::new(block).terminator())
            .filter(|at| at.is(Opcode::LLVMRet))
    }

    pub fn is_intrinsic(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsAIntrinsicInst(self.raw).is_null() }
    }

    pub fn calls_assembler(self) -> bool {
        // SAFETY: a live value.
        self.called().is_some_and(|called| unsafe { !LLVMIsAInlineAsm(called.raw).is_null() })
    }

    pub fn arguments(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: asked of calls only; so many are there.
        let count = if self.is_call() { unsafe { LLVMGetNumArgOperands(self.raw) } } else { 0 };
        (0..count).map(move |index| self.operand(index))
    }

    /// The block that control goes to after an invoke without exception.
    pub fn normal_block(self) -> Option<Block<'m>> {
        // SAFETY: asked of an invoke.
        self.is(Opcode::LLVMInvoke).then(|| Block::new(unsafe { LLVMGetNormalDest(self.raw) }))
    }

    pub fn successors(self) -> impl Iterator<Item = Block<'m>> {
        // SAFETY: a terminator, or any instruction, which then has none.
        let count = unsafe {
            if LLVMIsATerminatorInst(self.raw).is_null() { 0 } else { LLVMGetNumSuccessors(self.raw) }
        };
        // SAFETY: so many are there.
        (0..count).map(move |index| Block::new(unsafe { LLVMGetSuccessor(self.raw, index) }))
    }

    pub fn is_terminator(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsATerminatorInst(self.raw).is_null() }
    }

    pub fn must_be_tail_call(self) -> bool {
        // SAFETY: asked of calls only.
        self.is(Opcode::LLVMCall)
            && unsafe { LLVMGetTailCallKind(self.raw) } == LLVMTailCallKind::LLVMTailCallKindMustTail
    }

    /// A call that never returns, as it or its function says.
    pub fn never_returns(self) -> bool {
        let kind = crate::llvm::Kind::named("noreturn").number();
        let index = llvm_sys::LLVMAttributeFunctionIndex;
        // SAFETY: asked of calls, and of functions that are called.
        self.called().is_some_and(|called| unsafe {
            !LLVMGetCallSiteEnumAttribute(self.raw, index, kind).is_null()
                || !LLVMIsAFunction(called.raw).is_null()
                    && !LLVMGetEnumAttributeAtIndex(called.raw, index, kind).is_null()
        })
    }

    /// Whether the first argument of a call is where its result goes.
    pub fn returns_in_memory(self) -> bool {
        let kind = crate::llvm::Kind::named("sret").number();
        // SAFETY: a call that has a first argument.
        self.arguments().next().is_some()
            && unsafe { !LLVMGetCallSiteEnumAttribute(self.raw, 1, kind).is_null() }
    }

    /// The blocks that a phi's values come from, with the values.
    pub fn incoming(self) -> impl Iterator<Item = (Block<'m>, Value<'m>)> {
        // SAFETY: asked only of phis; so many values are there.
        (0..unsafe { LLVMCountIncoming(self.raw) }).map(move |index| unsafe {
            (
                Block::new(LLVMGetIncomingBlock(self.raw, index)),
                Value::new(LLVMGetIncomingValue(self.raw, index)),
            )
        })
    }

    /// Whether an argument of a call is a copy in memory of what it points to.
    pub fn passes_copy(self, argument: u32) -> bool {
        let kind = crate::llvm::Kind::named("byval").number();
        // SAFETY: asked of calls, for arguments that they have.
        unsafe { !LLVMGetCallSiteEnumAttribute(self.raw, argument + 1, kind).is_null() }
    }

    /// Takes an instruction out that has no users.
    pub fn erase(self) {
        // SAFETY: a live instruction, which nobody has a handle of any more.
        unsafe { LLVMInstructionEraseFromParent(self.raw) }
    }

    /// Whether an atomic operation adds to an integer.
    pub fn is_addition(self) -> bool {
        self.atomic_operation() == Some(LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpAdd)
    }

    /// Whether it subtracts.
    pub fn is_subtraction(self) -> bool {
        self.atomic_operation() == Some(LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpSub)
    }

    fn atomic_operation(self) -> Option<LLVMAtomicRMWBinOp> {
        // SAFETY: asked of such an instruction only.
        self.is(Opcode::LLVMAtomicRMW).then(|| unsafe { LLVMGetAtomicRMWBinOp(self.raw) })
    }

    /// An atomic operation that only exchanges.
    pub fn is_exchange(self) -> bool {
        self.atomic_operation() == Some(LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpXchg)
    }

    /// An alloca of one pointer.
    pub fn allocates_pointer(self) -> bool {
        // SAFETY: asked of an alloca only.
        self.is(Opcode::LLVMAlloca) && Type::new(unsafe { LLVMGetAllocatedType(self.raw) }).is_pointer()
    }

    /// A load that is not aligned, as far as is known.
    pub fn set_unaligned(self) {
        // SAFETY: a load.
        unsafe { LLVMSetAlignment(self.raw, 1) }
    }

    /// Gives a load what is known of the type in memory from a store to the
    /// same place.
    pub fn copy_aliasing(self, store: Value<'m>) {
        // SAFETY: two instructions of one module; null is no metadata.
        unsafe {
            let kind = LLVMGetMDKindID(c"tbaa".as_ptr(), 4);
            let tag = LLVMGetMetadata(store.raw, kind);
            if !tag.is_null() {
                LLVMSetMetadata(self.raw, kind, tag);
            }
            LLVMSetAlignment(self.raw, LLVMGetAlignment(store.raw));
        }
    }

    /// Puts a constant beside an instruction, under a name; copies have it too.
    pub fn note(self, name: &str, constant: Value<'m>) {
        // SAFETY: an instruction and a constant of one module.
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(self.raw));
            let mut constant = LLVMValueAsMetadata(constant.raw);
            let node = LLVMMDNodeInContext2(context, &mut constant, 1);
            LLVMSetMetadata(self.raw, note_kind(context, name), LLVMMetadataAsValue(context, node));
        }
    }

    /// What was put there.
    pub fn noted(self, name: &str) -> Option<Value<'m>> {
        // SAFETY: an instruction; a note of ours has one operand.
        unsafe {
            let kind = note_kind(LLVMGetTypeContext(LLVMTypeOf(self.raw)), name);
            let node = non_null(LLVMGetMetadata(self.raw, kind))?;
            let mut constant = std::ptr::null_mut();
            LLVMGetMDNodeOperands(node, &mut constant);
            non_null(constant).map(Value::new)
        }
    }

    /// Takes away what is said beside an instruction.
    pub fn forget_notes(self) {
        let mut count = 0;
        // SAFETY: a live instruction; the list is ours to release.
        unsafe {
            let notes = LLVMInstructionGetAllMetadataOtherThanDebugLoc(self.raw, &mut count);
            for index in 0..count as u32 {
                let kind = LLVMValueMetadataEntriesGetKind(notes, index);
                LLVMSetMetadata(self.raw, kind, std::ptr::null_mut());
            }
            LLVMDisposeValueMetadataEntries(notes);
        }
    }

    pub fn is_volatile(self) -> bool {
        // SAFETY: asked of loads and stores only.
        (self.is(Opcode::LLVMLoad) || self.is(Opcode::LLVMStore)) && unsafe { LLVMGetVolatile(self.raw) } != 0
    }

    pub fn set_volatile(self) {
        // SAFETY: done to loads and stores only.
        unsafe { LLVMSetVolatile(self.raw, 1) };
    }

    pub fn is_conditional(self) -> bool {
        // SAFETY: asked of a branch only.
        self.is(Opcode::LLVMBr) && unsafe { LLVMIsConditional(self.raw) != 0 }
    }
}

impl Location<'_> {
    pub fn line(self) -> u32 {
        // SAFETY: a live location.
        unsafe { LLVMDILocationGetLine(self.raw) }
    }

    pub fn column(self) -> u32 {
        // SAFETY: a live location.
        unsafe { LLVMDILocationGetColumn(self.raw) }
    }
}
