//! Second bodies that stand in a function of their own, to which the first goes
//! over by a tail call: it then has its registers and its frame for itself, and
//! is as it was. That is possible where control crosses only where a function
//! begins, and all that it was given is in registers.
//!
//! What the second body does is not known here: the copy is a function as any
//! other, with the same name in debug information and the same lines.

use std::collections::HashMap;
use std::fmt::Write;

use leakscope_wire::REPORTING;
use llvm_sys::comdat::{LLVMGetComdat, LLVMSetComdat};
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex, LLVMTailCallKind, LLVMTypeKind};

use crate::builder::Builder;
use crate::ir::{Block, Opcode, Value};
use crate::llvm::{Function, Kind, Module};
use crate::twins;

/// Registers for parameters that are whole numbers or pointers, and for others.
const WORDS: usize = 6;
const FLOATS: usize = 8;

/// Whether a function's second body may stand elsewhere.
pub fn is_possible(function: Function<'_>) -> bool {
    const IN_MEMORY: [&str; 8] =
        ["byval", "sret", "inreg", "nest", "inalloca", "preallocated", "byref", "swifterror"];
    let is_passed = |at: u32| IN_MEMORY.iter().any(|name| has(function, at, name));
    let kinds: Vec<Kept> = function.parameters().map(|at| Kept::of(at.ty().raw)).collect();
    let count = |wanted: Kept| kinds.iter().filter(|&&kind| kind == wanted).count();
    // SAFETY: the type and the convention of a live function.
    let (takes_more, convention, returned) = unsafe {
        let ty = LLVMGlobalGetValueType(function.raw());
        (LLVMIsFunctionVarArg(ty) != 0, LLVMGetFunctionCallConv(function.raw()), LLVMGetReturnType(ty))
    };
    !takes_more
        && [C, FAST].contains(&convention)
        && Kept::of(returned) != Kept::Elsewhere
        && count(Kept::Elsewhere) == 0
        && count(Kept::Word) <= WORDS
        && count(Kept::Float) <= FLOATS
        && !(1..=kinds.len() as u32).any(is_passed)
        && !function.instructions().any(|at| at.is(Opcode::LLVMIndirectBr) || at.must_be_tail_call())
}

/// Calling conventions that pass parameters in those registers.
const C: u32 = 0;
const FAST: u32 = 8;

/// Where a value is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nowhere,
    Word,
    Float,
    Elsewhere,
}

impl Kept {
    fn of(ty: LLVMTypeRef) -> Kept {
        // SAFETY: a live type.
        unsafe {
            match LLVMGetTypeKind(ty) {
                LLVMTypeKind::LLVMVoidTypeKind => Kept::Nowhere,
                LLVMTypeKind::LLVMPointerTypeKind => Kept::Word,
                LLVMTypeKind::LLVMIntegerTypeKind if LLVMGetIntTypeWidth(ty) <= 64 => Kept::Word,
                LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind => Kept::Float,
                _ => Kept::Elsewhere,
            }
        }
    }
}

fn has(function: Function<'_>, index: u32, name: &'static str) -> bool {
    // SAFETY: a live function; null is no attribute.
    unsafe { !LLVMGetEnumAttributeAtIndex(function.raw(), index, Kind::named(name).number()).is_null() }
}

/// Copies functions, by name. Returns the names of the copies.
pub fn copy(module: &Module<'_>, names: &[String]) -> Result<Vec<String>, String> {
    let functions: Vec<Function<'_>> = names.iter().filter_map(|name| module.function(name)).collect();
    let descriptions = descriptions(module, &functions)?;
    let builder = Builder::new(module);
    let copies = functions.iter().zip(descriptions).map(|(&function, description)| {
        let copy = module.declare_like(&format!("{}{REPORTING}", function.name()), function);
        take_attributes(copy, function);
        copy_body(&builder, copy, function, description);
        copy.name().to_owned()
    });
    Ok(copies.collect())
}

/// All that is said of a function and does not matter to who calls it.
fn take_attributes(copy: Function<'_>, function: Function<'_>) {
    // The copy is called with what the original was given, as it is.
    let left = ["zeroext", "signext", "alwaysinline", "memory"].map(|name| Kind::named(name).number());
    let parameters = 1..=function.parameters().count() as u32;
    // SAFETY: live functions of one type.
    unsafe {
        for index in parameters.chain([LLVMAttributeReturnIndex, LLVMAttributeFunctionIndex]) {
            let is_left = |&at: &LLVMAttributeRef| {
                LLVMIsEnumAttribute(at) != 0 && left.contains(&LLVMGetEnumAttributeKind(at))
            };
            let is_kept = |at: &LLVMAttributeRef| index == LLVMAttributeReturnIndex || !is_left(at);
            for attribute in attributes(function, index).into_iter().filter(is_kept) {
                LLVMAddAttributeAtIndex(copy.raw(), index, attribute);
            }
        }
        LLVMSetFunctionCallConv(copy.raw(), LLVMGetFunctionCallConv(function.raw()));
        if LLVMHasPersonalityFn(function.raw()) != 0 {
            LLVMSetPersonalityFn(copy.raw(), LLVMGetPersonalityFn(function.raw()));
        }
        LLVMSetSection(copy.raw(), LLVMGetSection(function.raw()));
        let group = LLVMGetComdat(function.raw());
        if !group.is_null() {
            LLVMSetComdat(copy.raw(), group);
        }
    }
    // It seldom runs, and takes memory as soon as it did once.
    for name in ["cold", "optsize", "minsize"] {
        copy.set(Kind::named(name));
    }
}

fn attributes(function: Function<'_>, index: u32) -> Vec<LLVMAttributeRef> {
    // SAFETY: a live function, with so many of them.
    unsafe {
        let count = LLVMGetAttributeCountAtIndex(function.raw(), index);
        let mut all = vec![std::ptr::null_mut(); count as usize];
        LLVMGetAttributesAtIndex(function.raw(), index, all.as_mut_ptr());
        all
    }
}

fn copy_body<'m>(
    builder: &Builder<'m>,
    copy: Function<'m>,
    function: Function<'m>,
    description: Option<LLVMMetadataRef>,
) {
    let mut copies: HashMap<Value<'m>, Value<'m>> = function.parameters().zip(copy.parameters()).collect();
    let blocks: HashMap<Block<'m>, Block<'m>> =
        function.blocks().map(|block| (block, builder.block(copy, c"copy"))).collect();
    for block in function.blocks() {
        builder.end(blocks[&block]);
        for at in block.instructions().filter(|at| !tells_of_variable(*at)) {
            let own = if at.is(Opcode::LLVMPHI) { builder.phi_like(at) } else { builder.copy(at) };
            copies.insert(at, own);
        }
    }
    let own_of = |value: Value<'m>| copies.get(&value).copied().unwrap_or(value);
    let mut places = Places { context: builder.context(), description, known: HashMap::new() };
    for at in function.instructions() {
        let Some(&own) = copies.get(&at) else { continue };
        places.take(own);
        if at.is(Opcode::LLVMPHI) {
            for (block, value) in at.incoming() {
                builder.add_way(own, blocks[&block], own_of(value));
            }
            continue;
        }
        for (index, operand) in (0..).zip(own.operands()) {
            if let Some(&value) = copies.get(&operand) {
                own.set_operand(index, value);
            }
        }
        for (index, successor) in (0..).zip(own.successors().collect::<Vec<_>>()) {
            own.set_successor(index, blocks[&successor]);
        }
    }
    if let Some(description) = description {
        // SAFETY: a description that no other function has.
        unsafe { LLVMSetSubprogram(copy.raw(), description) }
    }
}

/// Where `function` begins, `decide` says by a bit whether its copy runs in
/// its place.
pub fn enter<'m>(
    builder: &Builder<'m>,
    function: Function<'m>,
    copy: Function<'m>,
    decide: impl FnOnce() -> Value<'m>,
) {
    let body = function.entry();
    twins::part_locals(builder, function);
    let first = function.entry();
    first.terminator().expect("it goes on to the body").erase();
    let over = builder.block(function, c"elsewhere");
    builder.end(over);
    let call = builder.call(copy.callee(), &function.parameters().collect::<Vec<_>>());
    // SAFETY: a call, right before the return, of a function with the same type.
    unsafe {
        LLVMSetTailCallKind(call.raw, LLVMTailCallKind::LLVMTailCallKindMustTail);
        LLVMSetInstructionCallConv(call.raw, LLVMGetFunctionCallConv(function.raw()));
        // How a result is extended must be the same, else it is no tail call.
        for attribute in attributes(function, LLVMAttributeReturnIndex) {
            LLVMAddCallSiteAttribute(call.raw, LLVMAttributeReturnIndex, attribute);
        }
        let scope = LLVMGetSubprogram(function.raw());
        if !scope.is_null() {
            // A call that may be inlined has a place, and be it line 0.
            let place =
                LLVMDIBuilderCreateDebugLocation(builder.context(), 0, 0, scope, std::ptr::null_mut());
            LLVMInstructionSetDebugLoc(call.raw, place);
        }
    }
    builder.return_result(call);
    builder.end(first);
    let is_over = decide();
    builder.branch(is_over, over, body);
}

fn tells_of_variable(at: Value<'_>) -> bool {
    at.is_intrinsic() && at.called_name().is_some_and(|name| name.starts_with("llvm.dbg."))
}

/// Places in the source of a copy's instructions.
struct Places {
    context: LLVMContextRef,
    description: Option<LLVMMetadataRef>,
    known: HashMap<LLVMMetadataRef, LLVMMetadataRef>,
}

impl Places {
    /// Puts an instruction that has the original's place at the copy's.
    fn take(&mut self, at: Value<'_>) {
        // SAFETY: a live instruction.
        unsafe {
            // Places of a loop are the original's, too.
            let looping = LLVMGetMDKindIDInContext(self.context, c"llvm.loop".as_ptr(), 9);
            if at.is_terminator() {
                LLVMSetMetadata(at.raw, looping, std::ptr::null_mut());
            }
            let place = LLVMInstructionGetDebugLoc(at.raw);
            let own = if place.is_null() { place } else { self.own(place) };
            LLVMInstructionSetDebugLoc(at.raw, own);
        }
    }

    fn own(&mut self, place: LLVMMetadataRef) -> LLVMMetadataRef {
        let Some(description) = self.description else { return std::ptr::null_mut() };
        if let Some(&own) = self.known.get(&place) {
            return own;
        }
        // SAFETY: a live location, and those that it was inlined at.
        let own = unsafe {
            let (line, column) = (LLVMDILocationGetLine(place), LLVMDILocationGetColumn(place));
            let inlined_at = LLVMDILocationGetInlinedAt(place);
            let (scope, inlined_at) = match inlined_at.is_null() {
                true => (description, inlined_at),
                false => (LLVMDILocationGetScope(place), self.own(inlined_at)),
            };
            LLVMDIBuilderCreateDebugLocation(self.context, line, column, scope, inlined_at)
        };
        self.known.insert(place, own);
        own
    }
}

/// For each function a description as its own is, of which there may be one for
/// each; `None` where there is none. LLVM's C interface makes none in a unit
/// that is there, so they are read from text, and then told what they describe.
fn descriptions(
    module: &Module<'_>,
    functions: &[Function<'_>],
) -> Result<Vec<Option<LLVMMetadataRef>>, String> {
    const OPERANDS: usize = 7;
    let mut text = String::from(
        "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!3}\n\
         !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: NoDebug)\n\
         !1 = !DIFile(filename: \"leakscope\", directory: \"\")\n!2 = !DISubroutineType(types: !{null})\n\
         !3 = !{i32 2, !\"Debug Info Version\", i32 3}\n",
    );
    // SAFETY: live functions; null is no description.
    let described: Vec<(usize, LLVMMetadataRef)> = functions
        .iter()
        .map(|function| unsafe { LLVMGetSubprogram(function.raw()) })
        .enumerate()
        .filter(|(_, description)| !description.is_null())
        .collect();
    let mut found = vec![None; functions.len()];
    if described.is_empty() {
        return Ok(found);
    }
    for &(index, description) in &described {
        // SAFETY: a description of a function.
        let line = unsafe { LLVMDISubprogramGetLine(description) };
        let number = index + 4;
        writeln!(
            text,
            "define void @leakscope.described.{index}() !dbg !{number} {{ ret void }}\n\
             !{number} = distinct !DISubprogram(name: \"\", scope: !1, file: !1, line: {line}, type: !2, \
             scopeLine: {line}, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)"
        )
        .expect("text takes all");
    }
    module.add(&text)?;
    for (index, description) in described {
        let name = format!("leakscope.described.{index}");
        let function = module.function(&name).ok_or("what describes a function is gone")?;
        // SAFETY: two descriptions of functions, the first nobody else's.
        unsafe {
            let new = LLVMGetSubprogram(function.raw());
            let [new_value, old_value] =
                [new, description].map(|node| LLVMMetadataAsValue(module.context(), node));
            let mut operands = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(old_value) as usize];
            LLVMGetMDNodeOperands(old_value, operands.as_mut_ptr());
            for (at, &operand) in (0..).zip(operands.iter().take(OPERANDS)) {
                let operand =
                    if operand.is_null() { std::ptr::null_mut() } else { LLVMValueAsMetadata(operand) };
                LLVMReplaceMDNodeOperandWith(new_value, at, operand);
            }
            LLVMSetSubprogram(function.raw(), std::ptr::null_mut());
            LLVMDeleteFunction(function.raw());
            found[index] = Some(new);
        }
    }
    Ok(found)
}
