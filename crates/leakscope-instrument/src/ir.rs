//! Values, blocks and instructions of a module, to read and to add to.
//!
//! Handles are plain copies that borrow the module, as in [`crate::llvm`].
//! Methods that make sense for one kind of instruction only say so, and
//! return `None` or an empty list for others.

use std::iter::successors;
use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};
use llvm_sys::{LLVMAtomicRMWBinOp, LLVMLinkage, LLVMTailCallKind, LLVMThreadLocalMode, LLVMTypeKind};

pub use llvm_sys::LLVMOpcode as Opcode;

use crate::llvm::{Function, Layout, Module};

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
    raw: LLVMBasicBlockRef,
    module: PhantomData<&'m ()>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type<'m> {
    raw: LLVMTypeRef,
    module: PhantomData<&'m ()>,
}

/// Where an instruction stands in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location<'m> {
    raw: LLVMMetadataRef,
    module: PhantomData<&'m ()>,
}

/// A function or method to be called, with its type.
#[derive(Clone, Copy)]
pub struct Callee<'m> {
    function: LLVMValueRef,
    ty: LLVMTypeRef,
    module: PhantomData<&'m ()>,
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

    /// Whether the function is used other than by calling it.
    pub fn is_address_taken(self) -> bool {
        let function = self.value();
        function
            .users()
            .any(|user| user.called() != Some(function) || user.arguments().any(|value| value == function))
    }
}

impl<'m> Block<'m> {
    fn new(raw: LLVMBasicBlockRef) -> Block<'m> {
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

    /// An atomic operation that only exchanges.
    pub fn is_exchange(self) -> bool {
        // SAFETY: asked of atomic operations only.
        self.is(Opcode::LLVMAtomicRMW)
            && unsafe { LLVMGetAtomicRMWBinOp(self.raw) } == LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpXchg
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

    pub fn is_conditional(self) -> bool {
        // SAFETY: asked of a branch only.
        self.is(Opcode::LLVMBr) && unsafe { LLVMIsConditional(self.raw) != 0 }
    }
}

impl<'m> Type<'m> {
    fn new(raw: LLVMTypeRef) -> Type<'m> {
        Type { raw, module: PhantomData }
    }

    fn kind(self) -> LLVMTypeKind {
        // SAFETY: a live type.
        unsafe { LLVMGetTypeKind(self.raw) }
    }

    pub fn is_pointer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }

    pub fn is_integer(self, bits: u32) -> bool {
        // SAFETY: the width is asked of integers only.
        self.kind() == LLVMTypeKind::LLVMIntegerTypeKind && unsafe { LLVMGetIntTypeWidth(self.raw) } == bits
    }

    /// Which members of a structure are pointers.
    pub fn pointer_members(self) -> Vec<u32> {
        if self.kind() != LLVMTypeKind::LLVMStructTypeKind {
            return Vec::new();
        }
        // SAFETY: a structure, with so many members.
        unsafe {
            (0..LLVMCountStructElementTypes(self.raw))
                .filter(|&index| Type::new(LLVMStructGetTypeAtIndex(self.raw, index)).is_pointer())
                .collect()
        }
    }

    pub fn bytes(self, layout: Layout<'m>) -> u64 {
        // SAFETY: types of values have a size.
        unsafe { LLVMABISizeOfType(layout.raw(), self.raw) }
    }

    /// Offsets of the words in a value of this type that may hold pointers:
    /// pointers and integers as large as one. At most `limit`, then `None`.
    pub fn words(self, layout: Layout<'m>, limit: usize) -> Option<Vec<u64>> {
        let mut words = Vec::new();
        self.add_words(layout, 0, limit, &mut words).then_some(words)
    }

    fn add_words(self, layout: Layout<'m>, at: u64, limit: usize, words: &mut Vec<u64>) -> bool {
        // SAFETY: each question is asked of the kind of type that has it.
        unsafe {
            match self.kind() {
                LLVMTypeKind::LLVMStructTypeKind => (0..LLVMCountStructElementTypes(self.raw)).all(|index| {
                    let element = Type::new(LLVMStructGetTypeAtIndex(self.raw, index));
                    element.add_words(
                        layout,
                        at + LLVMOffsetOfElement(layout.raw(), self.raw, index),
                        limit,
                        words,
                    )
                }),
                LLVMTypeKind::LLVMArrayTypeKind => {
                    let element = Type::new(LLVMGetElementType(self.raw));
                    let step = element.bytes(layout);
                    (0..LLVMGetArrayLength2(self.raw))
                        .all(|index| element.add_words(layout, at + index * step, limit, words))
                }
                _ => {
                    if (self.is_pointer() || self.is_integer(64)) && at.is_multiple_of(8) {
                        words.push(at);
                    }
                    words.len() <= limit
                }
            }
        }
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

/// Adds instructions. Types are those of the module that it was made for.
pub struct Builder<'m> {
    raw: LLVMBuilderRef,
    context: LLVMContextRef,
    module: LLVMModuleRef,
    borrowed: PhantomData<&'m ()>,
}

impl<'m> Builder<'m> {
    pub fn new(module: &'m Module<'_>) -> Builder<'m> {
        let context = module.context();
        // SAFETY: a live context, which outlives the module.
        let raw = unsafe { LLVMCreateBuilderInContext(context) };
        Builder { raw, context, module: module.raw(), borrowed: PhantomData }
    }

    /// Puts what comes before `at`, with its place in the source.
    pub fn before(&self, at: Value<'m>) -> &Self {
        // SAFETY: a live instruction.
        unsafe {
            LLVMPositionBuilderBefore(self.raw, at.raw);
            LLVMSetCurrentDebugLocation2(self.raw, LLVMInstructionGetDebugLoc(at.raw));
        }
        self
    }

    /// Puts what comes after `at`, which does not end its block. A result of
    /// an invoke comes at the start of its normal block.
    pub fn after(&self, at: Value<'m>) -> &Self {
        let next = match at.normal_block() {
            Some(block) => block.start(),
            None => at.next(),
        };
        if let Some(mut next) = next {
            while next.is(Opcode::LLVMPHI) || next.is(Opcode::LLVMAlloca) {
                next = next.next().expect("a terminator follows");
            }
            self.before(next);
        }
        if let Some(location) = at.location() {
            self.at(location);
        }
        self
    }

    /// What comes stands nowhere in the source.
    pub fn nowhere(&self) -> &Self {
        // SAFETY: null is no location.
        unsafe { LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut()) };
        self
    }

    /// What comes stands there in the source.
    pub fn at(&self, location: Location<'m>) -> &Self {
        // SAFETY: a live location.
        unsafe { LLVMSetCurrentDebugLocation2(self.raw, location.raw) };
        self
    }

    pub fn pointer_type(&self) -> Type<'m> {
        // SAFETY: a live context.
        Type::new(unsafe { LLVMPointerTypeInContext(self.context, 0) })
    }

    pub fn word_type(&self) -> Type<'m> {
        // SAFETY: a live context.
        Type::new(unsafe { LLVMInt64TypeInContext(self.context) })
    }

    pub fn byte_type(&self) -> Type<'m> {
        // SAFETY: a live context.
        Type::new(unsafe { LLVMInt8TypeInContext(self.context) })
    }

    pub fn void_type(&self) -> Type<'m> {
        // SAFETY: a live context.
        Type::new(unsafe { LLVMVoidTypeInContext(self.context) })
    }

    pub fn word(&self, value: u64) -> Value<'m> {
        // SAFETY: a type of this context.
        Value::new(unsafe { LLVMConstInt(self.word_type().raw, value, 0) })
    }

    pub fn null(&self) -> Value<'m> {
        // SAFETY: a type of this context.
        Value::new(unsafe { LLVMConstNull(self.pointer_type().raw) })
    }

    pub fn load(&self, ty: Type<'m>, address: Value<'m>) -> Value<'m> {
        // SAFETY: values and types of one module.
        unsafe {
            let load = LLVMBuildLoad2(self.raw, ty.raw, address.raw, c"".as_ptr());
            Value::new(load)
        }
    }

    pub fn store(&self, value: Value<'m>, address: Value<'m>) -> Value<'m> {
        // SAFETY: values of one module.
        Value::new(unsafe { LLVMBuildStore(self.raw, value.raw, address.raw) })
    }

    /// `address` and so many bytes more.
    pub fn offset(&self, address: Value<'m>, bytes: u64) -> Value<'m> {
        if bytes == 0 {
            return address;
        }
        let mut index = self.word(bytes).raw;
        // SAFETY: a pointer and an integer of one module.
        Value::new(unsafe {
            LLVMBuildGEP2(self.raw, self.byte_type().raw, address.raw, &mut index, 1, c"".as_ptr())
        })
    }

    pub fn add(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: integers of one type.
        Value::new(unsafe { LLVMBuildAdd(self.raw, a.raw, b.raw, c"".as_ptr()) })
    }

    pub fn multiply(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: integers of one type.
        Value::new(unsafe { LLVMBuildMul(self.raw, a.raw, b.raw, c"".as_ptr()) })
    }

    /// A pointer as an integer or the other way round, or the value itself.
    pub fn as_pointer(&self, value: Value<'m>) -> Value<'m> {
        if value.ty().is_pointer() {
            return value;
        }
        // SAFETY: an integer.
        Value::new(unsafe { LLVMBuildIntToPtr(self.raw, value.raw, self.pointer_type().raw, c"".as_ptr()) })
    }

    pub fn as_word(&self, value: Value<'m>) -> Value<'m> {
        if value.ty().is_pointer() {
            // SAFETY: a pointer.
            return Value::new(unsafe {
                LLVMBuildPtrToInt(self.raw, value.raw, self.word_type().raw, c"".as_ptr())
            });
        }
        // SAFETY: an integer.
        Value::new(unsafe { LLVMBuildIntCast2(self.raw, value.raw, self.word_type().raw, 0, c"".as_ptr()) })
    }

    /// A new local at the start of a function, which holds `initial`.
    pub fn local(&self, function: Function<'m>, initial: Value<'m>) -> Value<'m> {
        let first = function.entry().instructions().next().expect("a body");
        // SAFETY: before the first instruction of the entry block.
        let local = unsafe {
            LLVMPositionBuilderBefore(self.raw, first.raw);
            LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut());
            Value::new(LLVMBuildAlloca(self.raw, initial.ty().raw, c"".as_ptr()))
        };
        let mut next = first;
        while next.is(Opcode::LLVMAlloca) {
            next = next.next().expect("a terminator follows");
        }
        // SAFETY: a live instruction.
        unsafe { LLVMPositionBuilderBefore(self.raw, next.raw) };
        self.store(initial, local);
        local
    }

    /// A member of a structure that is a value.
    pub fn extract(&self, value: Value<'m>, index: u32) -> Value<'m> {
        // SAFETY: a structure that has the member.
        Value::new(unsafe { LLVMBuildExtractValue(self.raw, value.raw, index, c"".as_ptr()) })
    }

    pub fn equal(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: two values of one type.
        Value::new(unsafe {
            LLVMBuildICmp(self.raw, llvm_sys::LLVMIntPredicate::LLVMIntEQ, a.raw, b.raw, c"".as_ptr())
        })
    }

    pub fn select(&self, condition: Value<'m>, then: Value<'m>, otherwise: Value<'m>) -> Value<'m> {
        // SAFETY: a condition and two values of one type.
        Value::new(unsafe { LLVMBuildSelect(self.raw, condition.raw, then.raw, otherwise.raw, c"".as_ptr()) })
    }

    /// Zeroes memory whose size is a value.
    pub fn clear_as_many(&self, address: Value<'m>, bytes: Value<'m>) {
        // SAFETY: a pointer and a number of the module.
        unsafe {
            let zero = LLVMConstInt(self.byte_type().raw, 0, 0);
            LLVMBuildMemSet(self.raw, address.raw, zero, bytes.raw, 1);
        }
    }

    /// Zeroes memory.
    pub fn clear(&self, address: Value<'m>, bytes: u64) {
        // SAFETY: a pointer of the module.
        unsafe {
            let zero = LLVMConstInt(self.byte_type().raw, 0, 0);
            LLVMBuildMemSet(self.raw, address.raw, zero, self.word(bytes).raw, 1);
        }
    }

    pub fn call(&self, callee: Callee<'m>, arguments: &[Value<'m>]) -> Value<'m> {
        let mut arguments: Vec<LLVMValueRef> = arguments.iter().map(|value| value.raw).collect();
        // SAFETY: a function and arguments of the types that it has.
        unsafe {
            let (count, list) = (arguments.len() as u32, arguments.as_mut_ptr());
            Value::new(LLVMBuildCall2(self.raw, callee.ty, callee.function, list, count, c"".as_ptr()))
        }
    }

    /// A function of the module, by its name.
    pub fn function(&self, name: &'static std::ffi::CStr) -> Callee<'m> {
        // SAFETY: a live module, which has the function.
        unsafe {
            let function = LLVMGetNamedFunction(self.module, name.as_ptr());
            assert!(!function.is_null(), "the module has no {name:?}");
            Callee { function, ty: LLVMGlobalGetValueType(function), module: PhantomData }
        }
    }

    /// A function of the runtime's. Weak, because a shared object is linked
    /// before the program that brings the runtime.
    pub fn runtime(&self, name: &str, result: Type<'m>, parameters: &[Type<'m>]) -> Callee<'m> {
        let mut parameters: Vec<LLVMTypeRef> = parameters.iter().map(|ty| ty.raw).collect();
        let name = std::ffi::CString::new(name).expect("no null byte");
        // SAFETY: a live module and types of its context.
        unsafe {
            let ty = LLVMFunctionType(result.raw, parameters.as_mut_ptr(), parameters.len() as u32, 0);
            let mut function = LLVMGetNamedFunction(self.module, name.as_ptr());
            if function.is_null() {
                function = LLVMAddFunction(self.module, name.as_ptr(), ty);
                LLVMSetLinkage(function, LLVMLinkage::LLVMExternalWeakLinkage);
            }
            Callee { function, ty, module: PhantomData }
        }
    }

    /// A word of the runtime's that each thread has for itself.
    pub fn thread_word(&self, name: &str) -> Value<'m> {
        let name = std::ffi::CString::new(name).expect("no null byte");
        // SAFETY: a live module and a type of its context.
        unsafe {
            let mut global = LLVMGetNamedGlobal(self.module, name.as_ptr());
            if global.is_null() {
                global = LLVMAddGlobal(self.module, self.word_type().raw, name.as_ptr());
                LLVMSetThreadLocalMode(global, LLVMThreadLocalMode::LLVMInitialExecTLSModel);
                LLVMSetLinkage(global, LLVMLinkage::LLVMExternalWeakLinkage);
            }
            Value::new(global)
        }
    }

    /// Takes a word of the threads out again that nothing uses, and tells the
    /// assembler what the others are: it would not know by itself if the code
    /// generator drops all uses.
    pub fn settle_thread_word(&self, name: &str) {
        let word = self.thread_word(name);
        if word.users().next().is_none() {
            // SAFETY: a global without users.
            unsafe { LLVMDeleteGlobal(word.raw) }
            return;
        }
        let text = format!(".weak {name}\n.type {name}, @tls_object\n");
        // SAFETY: a live module, and a text of that length.
        unsafe { LLVMAppendModuleInlineAsm(self.module, text.as_ptr().cast(), text.len()) }
    }

    /// Constant bytes that only this module has.
    pub fn bytes(&self, bytes: &[u8], align: u32) -> Value<'m> {
        // SAFETY: a live module; the bytes are copied.
        unsafe {
            let (start, length) = (bytes.as_ptr().cast(), bytes.len());
            let data = LLVMConstStringInContext2(self.context, start, length, 1);
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(data), c"leakscope.site".as_ptr());
            LLVMSetInitializer(global, data);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetAlignment(global, align);
            Value::new(global)
        }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, released once.
        unsafe { LLVMDisposeBuilder(self.raw) }
    }
}
