//! Safe wrappers around the part of LLVM's C interface that this crate needs.
//!
//! Handles borrow from what owns them, so nothing outlives its module or
//! context, and running passes takes the module exclusively, so that no handle
//! survives what the passes delete. All types stay on the thread that made
//! them; several threads work at once with a [`Context`] each.

use std::ffi::{CStr, CString};
use std::iter::successors;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::Once;

use crate::Part;
use crate::guards;
use crate::ir::Value;

pub use llvm_sys::Context;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::target::{
    LLVMGetModuleDataLayout, LLVMInitializeX86Target, LLVMInitializeX86TargetInfo, LLVMInitializeX86TargetMC,
    LLVMTargetDataRef,
};
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeIndex, LLVMAttributeReturnIndex, LLVMLinkage};
use llvm_sys::{run_passes, take_message};

pub struct Module<'c> {
    raw: LLVMModuleRef,
    context: &'c Context,
}

impl<'c> Module<'c> {
    /// The module in `bitcode`.
    pub fn read(context: &'c Context, bitcode: &[u8]) -> Result<Module<'c>, String> {
        let raw = context.parse_bitcode(bitcode)?;
        // SAFETY: a module that was just read. Its variables become calls of
        // intrinsics, since the C interface cannot list debug records.
        unsafe { LLVMSetIsNewDbgInfoFormat(raw, 0) };
        Ok(Module { raw, context })
    }

    pub fn raw(&self) -> LLVMModuleRef {
        self.raw
    }

    pub fn context(&self) -> LLVMContextRef {
        self.context.raw()
    }

    /// The name of the source file.
    pub fn name(&self) -> &str {
        let mut length = 0;
        // SAFETY: the name belongs to the module.
        let name = unsafe {
            let start = LLVMGetSourceFileName(self.raw, &mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        std::str::from_utf8(name).unwrap_or_default()
    }

    /// Adds functions given as text. Those with a body become the module's own.
    pub fn add(&self, text: &str) -> Result<(), String> {
        let (mut parsed, mut message) = (null_mut(), null_mut());
        // SAFETY: the buffer is taken by the parser, the parsed module by the
        // linker; both modules are of one context, and get one layout.
        unsafe {
            let (start, length) = (text.as_ptr().cast(), text.len());
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(start, length, c"added".as_ptr());
            if LLVMParseIRInContext(self.context.raw(), buffer, &mut parsed, &mut message) != 0 {
                return Err(take_message(message));
            }
            LLVMSetIsNewDbgInfoFormat(parsed, 0);
            LLVMSetTarget(parsed, LLVMGetTarget(self.raw));
            LLVMSetDataLayout(parsed, LLVMGetDataLayoutStr(self.raw));
            let names: Vec<CString> = successors(non_null(LLVMGetFirstFunction(parsed)), |&function| {
                non_null(LLVMGetNextFunction(function))
            })
            .filter(|&function| LLVMGetLinkage(function) == LLVMLinkage::LLVMExternalLinkage)
            .filter(|&function| LLVMIsDeclaration(function) == 0)
            .map(|function| CStr::from_ptr(LLVMGetValueName2(function, &mut 0)).to_owned())
            .collect();
            if LLVMLinkModules2(self.raw, parsed) != 0 {
                return Err(self.context.take_errors());
            }
            for name in names {
                LLVMSetLinkage(
                    LLVMGetNamedFunction(self.raw, name.as_ptr()),
                    LLVMLinkage::LLVMInternalLinkage,
                );
            }
        }
        Ok(())
    }

    /// Takes in the code of another module of the context.
    pub fn link(&self, other: Module<'_>) -> Result<(), String> {
        // SAFETY: the linker takes the other module, which is not used again.
        let failed = unsafe { LLVMLinkModules2(self.raw, ManuallyDrop::new(other).raw) != 0 };
        if failed { Err(self.context.take_errors()) } else { Ok(()) }
    }

    /// Every global variable, defined or declared.
    pub fn variables(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: a live module; null ends the list.
        let first = unsafe { LLVMGetFirstGlobal(self.raw) };
        // SAFETY: as above.
        successors(non_null(first), |&variable| non_null(unsafe { LLVMGetNextGlobal(variable) }))
            .map(Value::new)
    }

    /// The program's functions that have a body: not the guards.
    pub fn bodies(&self) -> impl Iterator<Item = Function<'_>> {
        self.functions()
            .filter(|function| !function.is_declaration() && !function.name().starts_with(guards::PREFIX))
    }

    /// Every function, defined or declared, without LLVM's intrinsics.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        // SAFETY: a live module; null ends the list.
        let first = unsafe { LLVMGetFirstFunction(self.raw) };
        // SAFETY: as above.
        successors(non_null(first), |&function| non_null(unsafe { LLVMGetNextFunction(function) }))
            // SAFETY: as above.
            .filter(|&function| unsafe { LLVMGetIntrinsicID(function) } == 0)
            .map(|raw| Function { raw, context: self.context.raw(), module: PhantomData })
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: a live module; null is no function.
        let raw = non_null(unsafe { LLVMGetNamedFunction(self.raw, name.as_ptr()) })?;
        Some(Function { raw, context: self.context.raw(), module: PhantomData })
    }

    /// A new function of the type that another one has, without a body.
    pub fn declare_like(&self, name: &str, other: Function<'_>) -> Function<'_> {
        let name = CString::new(name).expect("no null byte");
        // SAFETY: a live module, and a type of its context.
        let raw = unsafe {
            let raw = LLVMAddFunction(self.raw, name.as_ptr(), LLVMGlobalGetValueType(other.raw));
            LLVMSetLinkage(raw, LLVMLinkage::LLVMInternalLinkage);
            raw
        };
        Function { raw, context: self.context.raw(), module: PhantomData }
    }

    /// The same with an empty block.
    pub fn define_like(&self, name: &str, other: Function<'_>) -> Function<'_> {
        let function = self.declare_like(name, other);
        // SAFETY: a live function of this context.
        unsafe { LLVMAppendBasicBlockInContext(self.context.raw(), function.raw, c"entry".as_ptr()) };
        function
    }

    /// Runs a pass pipeline, written as for `opt -passes=`, with the costs of
    /// the module's own target.
    pub fn layout(&self) -> Layout<'_> {
        // SAFETY: a live module, which keeps its layout.
        Layout { raw: unsafe { LLVMGetModuleDataLayout(self.raw) }, module: PhantomData }
    }

    pub fn run_passes(&mut self, pipeline: &str, options: &PassOptions) -> Result<(), String> {
        let machine = TargetMachine::of(self)?;
        let pipeline = CString::new(pipeline).map_err(|error| error.to_string())?;
        // SAFETY: all four are live; no handle into the module is, because
        // the module is borrowed exclusively.
        unsafe { run_passes(self.raw, &pipeline, machine.0, options.0)? };
        match self.context.take_errors() {
            none if none.is_empty() => Ok(()),
            errors => Err(errors),
        }
    }

    /// Adds to the assembler that becomes part of the module's object.
    pub fn add_assembler(&self, text: &str) {
        // SAFETY: a live module; the text is copied.
        unsafe { LLVMAppendModuleInlineAsm(self.raw, text.as_ptr().cast(), text.len()) }
    }

    /// Checks every rule of the intermediate language.
    pub fn verify(&self) -> Result<(), String> {
        let mut message = null_mut();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        // SAFETY: a live module; the message is ours to release in any case.
        let (broken, message) =
            unsafe { (LLVMVerifyModule(self.raw, action, &mut message) != 0, take_message(message)) };
        if broken { Err(message.trim_end().to_owned()) } else { Ok(()) }
    }

    pub fn bitcode(&self) -> Vec<u8> {
        // SAFETY: the buffer is live, and of the size it says, while copied.
        unsafe {
            let buffer = Buffer(LLVMWriteBitcodeToMemoryBuffer(self.raw));
            let start = LLVMGetBufferStart(buffer.0).cast::<u8>();
            std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer.0)).to_vec()
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: handles borrow the module, so none is left.
        unsafe { LLVMDisposeModule(self.raw) }
    }
}

/// An attribute that is present or absent, by its name in textual form.
#[derive(Clone, Copy)]
pub struct Kind(u32);

impl Kind {
    pub fn named(name: &'static str) -> Kind {
        // SAFETY: pointer and length are of one live string.
        let kind = unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
        assert_ne!(kind, 0, "LLVM has no attribute {name:?}");
        Kind(kind)
    }
}

impl Kind {
    pub fn number(self) -> u32 {
        self.0
    }
}

#[derive(Clone, Copy)]
pub struct Function<'m> {
    raw: LLVMValueRef,
    context: LLVMContextRef,
    module: PhantomData<&'m ()>,
}

impl<'m> Function<'m> {
    pub fn raw(self) -> LLVMValueRef {
        self.raw
    }

    /// Whether this body is the one that calls lead to.
    pub fn is_here(self, part: Part) -> bool {
        // SAFETY: a live function.
        match unsafe { LLVMGetLinkage(self.raw) } {
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage => true,
            LLVMLinkage::LLVMExternalLinkage => part == Part::Program,
            _ => false,
        }
    }

    /// What the assembler calls it.
    pub fn symbol(self) -> String {
        // SAFETY: a live function.
        let is_private = unsafe { LLVMGetLinkage(self.raw) } == LLVMLinkage::LLVMPrivateLinkage;
        let name = self.name();
        match name.strip_prefix('\u{1}') {
            Some(name) => name.to_owned(),
            None if is_private => format!(".L{name}"),
            None => name.to_owned(),
        }
    }

    pub fn name(self) -> &'m str {
        let mut length = 0;
        // SAFETY: the name belongs to the function, which the module keeps.
        let name = unsafe {
            let start = LLVMGetValueName2(self.raw, &mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        std::str::from_utf8(name).unwrap_or_default()
    }

    pub fn is_declaration(self) -> bool {
        // SAFETY: a live function.
        unsafe { LLVMIsDeclaration(self.raw) != 0 }
    }

    /// Whether the function is here to be inlined, and made elsewhere.
    pub fn is_for_inlining_only(self) -> bool {
        // SAFETY: a live function.
        unsafe { LLVMGetLinkage(self.raw) == LLVMLinkage::LLVMAvailableExternallyLinkage }
    }

    pub fn set(self, kind: Kind) {
        self.set_value(kind, 0);
    }

    /// Sets an attribute that has a number.
    pub fn set_value(self, kind: Kind, value: u64) {
        // SAFETY: a live function and an attribute of its context.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(self.context, kind.0, value);
            LLVMAddAttributeAtIndex(self.raw, LLVMAttributeFunctionIndex, attribute);
        }
    }

    /// Says that a profile counted so many calls of the function.
    pub fn set_entry_count(self, count: u64) {
        // SAFETY: a live function; names and nodes are of its context.
        unsafe {
            let name = c"function_entry_count".to_bytes();
            let name = LLVMMDStringInContext2(self.context, name.as_ptr().cast(), name.len());
            let count = LLVMConstInt(LLVMInt64TypeInContext(self.context), count, 0);
            let mut parts = [name, LLVMValueAsMetadata(count)];
            let node = LLVMMDNodeInContext2(self.context, parts.as_mut_ptr(), parts.len());
            let kind = LLVMGetMDKindIDInContext(self.context, c"prof".as_ptr(), 4);
            LLVMGlobalSetMetadata(self.raw, kind, node);
        }
    }

    pub fn set_string(self, name: &str, value: &str) {
        // SAFETY: pointers and lengths are of live strings, and are copied.
        unsafe {
            let (name, name_length) = (name.as_ptr().cast(), name.len() as u32);
            let (value, value_length) = (value.as_ptr().cast(), value.len() as u32);
            let attribute = LLVMCreateStringAttribute(self.context, name, name_length, value, value_length);
            LLVMAddAttributeAtIndex(self.raw, LLVMAttributeFunctionIndex, attribute);
        }
    }

    /// The value of a string attribute.
    pub fn string(self, name: &str) -> Option<&'m str> {
        // SAFETY: a live function; the value lives as long as its context.
        unsafe {
            let found = LLVMGetStringAttributeAtIndex(
                self.raw,
                LLVMAttributeFunctionIndex,
                name.as_ptr().cast(),
                name.len() as u32,
            );
            if found.is_null() {
                return None;
            }
            let mut length = 0;
            let start = LLVMGetStringAttributeValue(found, &mut length);
            std::str::from_utf8(std::slice::from_raw_parts(start.cast(), length as usize)).ok()
        }
    }

    pub fn is(self, kind: Kind) -> bool {
        // SAFETY: a live function; null is no attribute.
        unsafe { !LLVMGetEnumAttributeAtIndex(self.raw, LLVMAttributeFunctionIndex, kind.0).is_null() }
    }

    pub fn unset(self, kind: Kind) {
        self.unset_at(LLVMAttributeFunctionIndex, kind);
    }

    /// Takes an attribute from the returned value.
    pub fn unset_return(self, kind: Kind) {
        self.unset_at(LLVMAttributeReturnIndex, kind);
    }

    fn unset_at(self, index: LLVMAttributeIndex, kind: Kind) {
        // SAFETY: a live function; an absent attribute is left absent.
        unsafe { LLVMRemoveEnumAttributeAtIndex(self.raw, index, kind.0) }
    }

    /// The calls and invokes in the body, except of intrinsics and assembler.
    pub fn calls(self) -> impl Iterator<Item = Call<'m>> {
        // SAFETY: a live function, its blocks and their instructions; null
        // ends each list.
        let first = unsafe { LLVMGetFirstBasicBlock(self.raw) };
        // SAFETY: as above.
        successors(non_null(first), |&block| non_null(unsafe { LLVMGetNextBasicBlock(block) }))
            .flat_map(|block| {
                // SAFETY: as above.
                let first = unsafe { LLVMGetFirstInstruction(block) };
                // SAFETY: as above.
                successors(non_null(first), |&at| non_null(unsafe { LLVMGetNextInstruction(at) }))
            })
            // SAFETY: live instructions; the called value is asked of calls only.
            .filter(|&at| unsafe {
                (!LLVMIsACallInst(at).is_null() || !LLVMIsAInvokeInst(at).is_null())
                    && LLVMIsAIntrinsicInst(at).is_null()
                    && LLVMIsAInlineAsm(LLVMGetCalledValue(at)).is_null()
            })
            .map(move |raw| Call { raw, context: self.context, module: PhantomData })
    }
}

/// Sizes of types in a module.
#[derive(Clone, Copy)]
pub struct Layout<'m> {
    raw: LLVMTargetDataRef,
    module: PhantomData<&'m ()>,
}

impl Layout<'_> {
    pub fn raw(self) -> LLVMTargetDataRef {
        self.raw
    }
}

#[derive(Clone, Copy)]
pub struct Call<'m> {
    raw: LLVMValueRef,
    context: LLVMContextRef,
    module: PhantomData<&'m ()>,
}

impl<'m> Call<'m> {
    pub fn value(self) -> Value<'m> {
        Value::new(self.raw)
    }

    pub fn set(self, kind: Kind) {
        // SAFETY: a live call and an attribute of its context.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(self.context, kind.0, 0);
            LLVMAddCallSiteAttribute(self.raw, LLVMAttributeFunctionIndex, attribute);
        }
    }

    /// Takes an attribute from a call of any but these functions.
    pub fn unset_unless_called(self, kind: Kind, names: &[&str]) {
        if !self.value().called_name().is_some_and(|name| names.contains(&name)) {
            // SAFETY: a live call; an absent attribute is left absent.
            unsafe { LLVMRemoveCallSiteEnumAttribute(self.raw, LLVMAttributeFunctionIndex, kind.0) }
        }
    }

    /// Takes an attribute from the returned value.
    pub fn unset_return(self, kind: Kind) {
        // SAFETY: a live call; an absent attribute is left absent.
        unsafe { LLVMRemoveCallSiteEnumAttribute(self.raw, LLVMAttributeReturnIndex, kind.0) }
    }
}

/// What a pipeline may do beyond what its text says.
pub struct PassOptions(LLVMPassBuilderOptionsRef);

/// What becomes vector code; loops are unrolled where anything does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Vectors {
    None,
    StraightLine,
    All,
}

impl PassOptions {
    pub fn new(vectors: Vectors) -> PassOptions {
        let any = (vectors != Vectors::None).into();
        // SAFETY: setters on options that were just made.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            LLVMPassBuilderOptionsSetLoopUnrolling(options, any);
            LLVMPassBuilderOptionsSetLoopInterleaving(options, any);
            LLVMPassBuilderOptionsSetSLPVectorization(options, any);
            LLVMPassBuilderOptionsSetLoopVectorization(options, (vectors == Vectors::All).into());
            PassOptions(options)
        }
    }
}

impl Drop for PassOptions {
    fn drop(&mut self) {
        // SAFETY: made by `new`, released once.
        unsafe { LLVMDisposePassBuilderOptions(self.0) }
    }
}

/// What the passes ask for costs. Processor and features are empty here,
/// because each function carries its own as attributes.
struct TargetMachine(LLVMTargetMachineRef);

impl TargetMachine {
    fn of(module: &Module<'_>) -> Result<TargetMachine, String> {
        static TARGETS: Once = Once::new();
        // SAFETY: registers the one target that this tool knows; `Once` keeps
        // other threads waiting meanwhile.
        TARGETS.call_once(|| unsafe {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
        });
        let (mut target, mut message) = (null_mut(), null_mut());
        // SAFETY: the triple belongs to the module; `target` is set where the
        // result is zero, `message` where it is not.
        unsafe {
            let triple = LLVMGetTarget(module.raw);
            if LLVMGetTargetFromTriple(triple, &mut target, &mut message) != 0 {
                return Err(take_message(message));
            }
            let machine = LLVMCreateTargetMachine(
                target,
                triple,
                c"".as_ptr(),
                c"".as_ptr(),
                LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            );
            Ok(TargetMachine(machine))
        }
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: made by `of`, released once.
        unsafe { LLVMDisposeTargetMachine(self.0) }
    }
}

struct Buffer(LLVMMemoryBufferRef);

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: owned, released once.
        unsafe { LLVMDisposeMemoryBuffer(self.0) }
    }
}

fn non_null<T>(pointer: *mut T) -> Option<*mut T> {
    (!pointer.is_null()).then_some(pointer)
}
