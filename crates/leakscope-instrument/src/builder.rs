//! Adds instructions to a module.

use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMLinkage, LLVMThreadLocalMode};

use crate::ir::{Callee, Location, Opcode, Type, Value};
use crate::llvm::{Function, Kind, Module};

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

    pub fn raw(&self) -> LLVMBuilderRef {
        self.raw
    }

    pub fn context(&self) -> LLVMContextRef {
        self.context
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

    /// Gives an instruction another place in the source.
    pub fn relocate(&self, at: Value<'m>, location: Location<'m>) {
        // SAFETY: a live instruction and a location of its function.
        unsafe { LLVMInstructionSetDebugLoc(at.raw, location.raw) }
    }

    /// Gives an instruction that has a place line 0 of its function.
    pub fn relocate_nowhere(&self, at: Value<'m>, function: Function<'m>) {
        // SAFETY: a live instruction, and a function that has a description.
        unsafe {
            let scope = LLVMGetSubprogram(function.raw());
            if !scope.is_null() && at.location().is_some() {
                let nowhere =
                    LLVMDIBuilderCreateDebugLocation(self.context, 0, 0, scope, std::ptr::null_mut());
                LLVMInstructionSetDebugLoc(at.raw, nowhere);
            }
        }
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

    /// The value, or an arbitrary one, but always the same, if it is undefined.
    pub fn freeze(&self, value: Value<'m>) -> Value<'m> {
        // SAFETY: a live value.
        Value::new(unsafe { LLVMBuildFreeze(self.raw, value.raw, c"".as_ptr()) })
    }

    pub fn add(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: integers of one type.
        Value::new(unsafe { LLVMBuildAdd(self.raw, a.raw, b.raw, c"".as_ptr()) })
    }

    pub fn and(&self, a: Value<'m>, mask: u64) -> Value<'m> {
        // SAFETY: a live builder and a word.
        Value::new(unsafe { LLVMBuildAnd(self.raw, a.raw, self.word(mask).raw, c"".as_ptr()) })
    }

    pub fn multiply(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: integers of one type.
        Value::new(unsafe { LLVMBuildMul(self.raw, a.raw, b.raw, c"".as_ptr()) })
    }

    pub fn subtract(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: integers of one type.
        Value::new(unsafe { LLVMBuildSub(self.raw, a.raw, b.raw, c"".as_ptr()) })
    }

    /// What is left of a word by a power of two.
    pub fn remainder(&self, word: Value<'m>, divisor: u64) -> Value<'m> {
        // SAFETY: two words.
        Value::new(unsafe { LLVMBuildAnd(self.raw, word.raw, self.word(divisor - 1).raw, c"".as_ptr()) })
    }

    /// A word of an array of them.
    pub fn element(&self, array: Value<'m>, index: Value<'m>) -> Value<'m> {
        let mut index = index.raw;
        // SAFETY: a pointer and a word.
        Value::new(unsafe {
            LLVMBuildGEP2(self.raw, self.word_type().raw, array.raw, &mut index, 1, c"".as_ptr())
        })
    }

    /// The lower 32 bits of a word.
    pub fn lower_half(&self, word: Value<'m>) -> Value<'m> {
        // SAFETY: a word, and a type of this context.
        Value::new(unsafe {
            LLVMBuildTrunc(self.raw, word.raw, LLVMInt32TypeInContext(self.context), c"".as_ptr())
        })
    }

    /// Zero of the type of a value.
    pub fn zero_of(&self, value: Value<'m>) -> Value<'m> {
        // SAFETY: the type of a live value.
        Value::new(unsafe { LLVMConstNull(value.ty().raw) })
    }

    pub fn is_negative(&self, value: Value<'m>) -> Value<'m> {
        let (less, zero) = (LLVMIntPredicate::LLVMIntSLT, self.zero_of(value));
        // SAFETY: an integer and zero of its type.
        Value::new(unsafe { LLVMBuildICmp(self.raw, less, value.raw, zero.raw, c"".as_ptr()) })
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
        let local = self.room(function, initial.ty());
        let mut next = first;
        while next.is(Opcode::LLVMAlloca) {
            next = next.next().expect("a terminator follows");
        }
        // SAFETY: a live instruction.
        unsafe { LLVMPositionBuilderBefore(self.raw, next.raw) };
        self.store(initial, local);
        local
    }

    pub fn divide(&self, word: Value<'m>, divisor: u64) -> Value<'m> {
        // SAFETY: words.
        Value::new(unsafe { LLVMBuildUDiv(self.raw, word.raw, self.word(divisor).raw, c"".as_ptr()) })
    }

    /// A new local at the start of a function.
    pub fn room(&self, function: Function<'m>, ty: Type<'m>) -> Value<'m> {
        let first = function.entry().instructions().next().expect("a body");
        // SAFETY: before the first instruction of the entry block.
        unsafe {
            LLVMPositionBuilderBefore(self.raw, first.raw);
            LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut());
            Value::new(LLVMBuildAlloca(self.raw, ty.raw, c"".as_ptr()))
        }
    }

    /// Ends a block by a return of zero.
    pub fn return_nothing(&self, function: Function<'m>) {
        // SAFETY: the type of a function, and a block of it without an end.
        unsafe {
            let ty = LLVMGetReturnType(LLVMGlobalGetValueType(function.raw()));
            if LLVMGetTypeKind(ty) == llvm_sys::LLVMTypeKind::LLVMVoidTypeKind {
                LLVMBuildRetVoid(self.raw);
            } else {
                LLVMBuildRet(self.raw, LLVMConstNull(ty));
            }
        }
    }

    /// Puts what comes into the empty body of a function.
    pub fn begin(&self, function: Function<'m>) -> &Self {
        // SAFETY: a block of the function.
        unsafe { LLVMPositionBuilderAtEnd(self.raw, function.entry().raw) };
        self.nowhere()
    }

    /// Ends a block by a return of what a call returned.
    pub fn return_result(&self, call: Value<'m>) {
        // SAFETY: a call of a function of the same type.
        unsafe {
            if call.ty().is_void() {
                LLVMBuildRetVoid(self.raw);
            } else {
                LLVMBuildRet(self.raw, call.raw);
            }
        }
    }

    /// A member of a structure that is a value.
    pub fn extract(&self, value: Value<'m>, index: u32) -> Value<'m> {
        // SAFETY: a structure that has the member.
        Value::new(unsafe { LLVMBuildExtractValue(self.raw, value.raw, index, c"".as_ptr()) })
    }

    pub fn equal(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: two values of one type.
        Value::new(unsafe {
            LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntEQ, a.raw, b.raw, c"".as_ptr())
        })
    }

    /// The lesser of two numbers.
    pub fn least(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        // SAFETY: two integers of one type.
        let is_less = Value::new(unsafe {
            LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntULT, a.raw, b.raw, c"".as_ptr())
        });
        self.select(is_less, a, b)
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
            Value::new(LLVMBuildCall2(
                self.raw,
                callee.ty.raw,
                callee.function.raw,
                list,
                count,
                c"".as_ptr(),
            ))
        }
    }

    /// A call that writes only what the program cannot see.
    pub fn call_aside(&self, callee: Callee<'m>, arguments: &[Value<'m>]) {
        // The bits for writes to such memory.
        const INACCESSIBLE: u64 = 2 << 2;
        let call = self.call(callee, arguments);
        for (kind, value) in [("memory", INACCESSIBLE), ("nounwind", 0)] {
            // SAFETY: a call, and an attribute of its context.
            unsafe {
                let attribute = LLVMCreateEnumAttribute(self.context(), Kind::named(kind).number(), value);
                LLVMAddCallSiteAttribute(call.raw, llvm_sys::LLVMAttributeFunctionIndex, attribute);
            }
        }
    }

    /// Assembler that takes two words and returns one, in registers.
    pub fn assembler(&self, text: &str) -> Callee<'m> {
        const CONSTRAINTS: &str = "=&r,r,r,~{dirflag},~{fpsr},~{flags}";
        let word = self.word_type().raw;
        // SAFETY: types of this context, and texts of these lengths.
        unsafe {
            let ty = LLVMFunctionType(word, [word, self.pointer_type().raw].as_mut_ptr(), 2, 0);
            let function = LLVMGetInlineAsm(
                ty,
                text.as_ptr().cast(),
                text.len(),
                CONSTRAINTS.as_ptr().cast(),
                CONSTRAINTS.len(),
                1,
                0,
                llvm_sys::LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            );
            Callee { function: Value::new(function), ty: Type::new(ty) }
        }
    }

    /// A function of the module, by its name.
    pub fn function(&self, name: &'static std::ffi::CStr) -> Callee<'m> {
        // SAFETY: a live module, which has the function.
        unsafe {
            let function = LLVMGetNamedFunction(self.module, name.as_ptr());
            assert!(!function.is_null(), "the module has no {name:?}");
            Callee { function: Value::new(function), ty: Type::new(LLVMGlobalGetValueType(function)) }
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
            Callee { function: Value::new(function), ty: Type::new(ty) }
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

    /// Has the words of the threads addressed as what the executable itself has.
    pub fn thread_words_are_near(&self) {
        // SAFETY: a live module, and globals of it.
        unsafe {
            let mut global = LLVMGetFirstGlobal(self.module);
            while !global.is_null() {
                let mode = LLVMGetThreadLocalMode(global);
                if LLVMIsDeclaration(global) != 0
                    && mode != LLVMThreadLocalMode::LLVMNotThreadLocal
                    && Value::new(global).name().starts_with("leakscope_")
                {
                    LLVMSetThreadLocalMode(global, LLVMThreadLocalMode::LLVMLocalExecTLSModel);
                }
                global = LLVMGetNextGlobal(global);
            }
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

    /// Zeroed memory that only this module has, where the runtime finds all
    /// counters of a program.
    pub fn zeroed(&self, bytes: u64) -> Value<'m> {
        // SAFETY: a live module and types of its context.
        unsafe {
            let ty = LLVMArrayType2(self.byte_type().raw, bytes);
            let global = LLVMAddGlobal(self.module, ty, c"leakscope.counters".as_ptr());
            LLVMSetInitializer(global, LLVMConstNull(ty));
            LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetSection(global, c"leakscope_counters".as_ptr());
            LLVMSetAlignment(global, 8);
            Value::new(global)
        }
    }

    /// The address of a global and so many bytes more.
    pub fn constant_offset(&self, global: Value<'m>, bytes: u64) -> Value<'m> {
        let mut index = self.word(bytes).raw;
        // SAFETY: a constant pointer and a constant.
        Value::new(unsafe { LLVMConstGEP2(self.byte_type().raw, global.raw, &mut index, 1) })
    }

    /// Puts a value in the place of what an instruction gives, which goes.
    pub fn replace_instruction(&self, at: Value<'m>, by: Value<'m>) {
        // SAFETY: two values of one type; the first is an instruction.
        unsafe { LLVMReplaceAllUsesWith(at.raw, by.raw) };
        at.erase();
    }

    /// Puts a global in the place of another, which goes.
    pub fn replace(&self, global: Value<'m>, by: Value<'m>) {
        // SAFETY: two pointers of the module.
        unsafe { LLVMReplaceAllUsesWith(global.raw, by.raw) };
        self.discard(global);
    }

    /// Puts a function in the place of another of the same type.
    pub fn replace_uses(&self, function: Function<'m>, by: Function<'m>) {
        // SAFETY: two pointers of the module.
        unsafe { LLVMReplaceAllUsesWith(function.raw(), by.raw()) }
    }

    /// Takes a global out that nothing uses.
    pub fn discard(&self, global: Value<'m>) {
        // SAFETY: a global without users.
        unsafe { LLVMDeleteGlobal(global.raw) }
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
