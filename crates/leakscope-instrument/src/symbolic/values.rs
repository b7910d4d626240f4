//! Which values can have terms: integers of at most 64 bits and pointers, and
//! members of small structures that are values.

use std::collections::HashSet;

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};

use crate::ir::{Opcode, Type, Value};
use crate::llvm::{Function, Layout};

/// A scalar in a value: where it lies, its size, and its width if it can have
/// a term.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    pub offset: u64,
    pub bytes: u64,
    pub bits: Option<u8>,
}

/// Members that are looked at of a structure.
const MOST: usize = 4;

/// The scalars of a type; none of larger structures.
pub fn leaves(layout: Layout<'_>, ty: Type<'_>) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    if add_leaves(layout, ty, 0, &mut leaves) { leaves } else { Vec::new() }
}

fn add_leaves(layout: Layout<'_>, ty: Type<'_>, offset: u64, leaves: &mut Vec<Leaf>) -> bool {
    // SAFETY: each question is asked of the kind of type that has it.
    unsafe {
        let bits = match LLVMGetTypeKind(ty.raw) {
            LLVMTypeKind::LLVMIntegerTypeKind => {
                Some(LLVMGetIntTypeWidth(ty.raw)).filter(|&bits| bits <= 64).map(|bits| bits as u8)
            }
            LLVMTypeKind::LLVMPointerTypeKind => Some(64),
            LLVMTypeKind::LLVMStructTypeKind => {
                return (0..LLVMCountStructElementTypes(ty.raw)).all(|index| {
                    let member = Type::new(LLVMStructGetTypeAtIndex(ty.raw, index));
                    let at = LLVMOffsetOfElement(layout.raw(), ty.raw, index);
                    add_leaves(layout, member, offset + at, leaves)
                });
            }
            LLVMTypeKind::LLVMArrayTypeKind => {
                let element = Type::new(LLVMGetElementType(ty.raw));
                let step = LLVMABISizeOfType(layout.raw(), element.raw);
                let count = LLVMGetArrayLength2(ty.raw);
                return count <= MOST as u64
                    && (0..count).all(|index| add_leaves(layout, element, offset + index * step, leaves));
            }
            LLVMTypeKind::LLVMVoidTypeKind
            | LLVMTypeKind::LLVMLabelTypeKind
            | LLVMTypeKind::LLVMMetadataTypeKind
            | LLVMTypeKind::LLVMTokenTypeKind
            | LLVMTypeKind::LLVMFunctionTypeKind => return false,
            _ => None,
        };
        leaves.push(Leaf { offset, bytes: LLVMABISizeOfType(layout.raw(), ty.raw), bits });
        leaves.len() <= MOST
    }
}

/// The width of a scalar that can have a term.
pub fn bits(layout: Layout<'_>, ty: Type<'_>) -> Option<u8> {
    match leaves(layout, ty)[..] {
        [Leaf { offset: 0, bits, .. }] if !is_aggregate(ty) => bits,
        _ => None,
    }
}

fn is_aggregate(ty: Type<'_>) -> bool {
    // SAFETY: a live type.
    let kind = unsafe { LLVMGetTypeKind(ty.raw) };
    matches!(kind, LLVMTypeKind::LLVMStructTypeKind | LLVMTypeKind::LLVMArrayTypeKind)
}

/// The leaves that indices choose of a structure.
pub fn chosen(layout: Layout<'_>, ty: Type<'_>, indices: &[u32]) -> std::ops::Range<usize> {
    let (mut ty, mut start) = (ty, 0);
    for &index in indices {
        // SAFETY: each question is asked of the kind of type that has it.
        unsafe {
            if LLVMGetTypeKind(ty.raw) == LLVMTypeKind::LLVMStructTypeKind {
                let member = |index| Type::new(LLVMStructGetTypeAtIndex(ty.raw, index));
                start += (0..index).map(|before| leaves(layout, member(before)).len()).sum::<usize>();
                ty = member(index);
            } else {
                ty = Type::new(LLVMGetElementType(ty.raw));
                start += index as usize * leaves(layout, ty).len();
            }
        }
    }
    start..start + leaves(layout, ty).len()
}

/// Values that may depend on the input: parameters, what is loaded or
/// returned, and what is computed from those.
pub fn open_values<'m>(layout: Layout<'m>, function: Function<'m>) -> HashSet<Value<'m>> {
    use Opcode::*;
    let has_term = |value: Value<'m>| leaves(layout, value.ty()).iter().any(|leaf| leaf.bits.is_some());
    let begins = |at: &Value<'m>| {
        matches!(at.opcode(), Some(LLVMLoad | LLVMCall | LLVMInvoke)) && !at.calls_assembler()
    };
    let mut open: HashSet<Value<'m>> = HashSet::new();
    let mut pending: Vec<Value<'m>> =
        function.parameters().chain(function.instructions().filter(begins)).collect();
    while let Some(value) = pending.pop() {
        if !has_term(value) || !open.insert(value) {
            continue;
        }
        pending.extend(value.users().filter(|user| passes_on(*user)));
    }
    open
}

/// Whether the result of an instruction has a term if an operand has.
fn passes_on(at: Value<'_>) -> bool {
    use Opcode::*;
    matches!(
        at.opcode(),
        Some(
            LLVMAdd
                | LLVMSub
                | LLVMMul
                | LLVMUDiv
                | LLVMSDiv
                | LLVMURem
                | LLVMSRem
                | LLVMAnd
                | LLVMOr
                | LLVMXor
                | LLVMShl
                | LLVMLShr
                | LLVMAShr
                | LLVMICmp
                | LLVMTrunc
                | LLVMZExt
                | LLVMSExt
                | LLVMPtrToInt
                | LLVMIntToPtr
                | LLVMBitCast
                | LLVMAddrSpaceCast
                | LLVMFreeze
                | LLVMSelect
                | LLVMPHI
                | LLVMGetElementPtr
                | LLVMExtractValue
                | LLVMInsertValue
        )
    )
}
