//! How code computes an address: from where, by which steps.

use std::ffi::CStr;

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};

use crate::ir::{Opcode, Type, Value};
use crate::llvm::Layout;

/// A way from one address to another. `bytes` is the size of the object that
/// is reached, as far as the code knows it.
pub enum Step<'m> {
    /// To a part of a record or array.
    Into { record: Option<RecordType<'m>>, offset: i64, bytes: u64 },
    /// To an element of an array, or of what a pointer points to.
    Index { index: Value<'m>, stride: u64, of: Indexed },
}

/// A record as the module has it, where anonymous ones have made-up names.
#[derive(Clone, Copy)]
pub struct RecordType<'m> {
    pub name: &'m str,
    pub bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Indexed {
    Array,
    Pointer,
}

/// Intrinsics that return the address that they are given.
const SAME_ADDRESS: [&str; 3] =
    ["llvm.threadlocal.address", "llvm.launder.invariant.group", "llvm.strip.invariant.group"];

/// No source has a longer expression, but phis may make endless ones.
const LONGEST: usize = 32;

impl<'m> Value<'m> {
    /// The operation of an instruction or of a constant expression.
    pub fn operation(self) -> Option<Opcode> {
        // SAFETY: a live value, asked for its code only if it has one.
        self.opcode().or_else(|| unsafe {
            (!LLVMIsAConstantExpr(self.raw).is_null()).then(|| LLVMGetConstOpcode(self.raw))
        })
    }

    /// The value before casts.
    pub fn without_casts(self) -> Value<'m> {
        let mut value = self;
        for _ in 0..LONGEST {
            use Opcode::*;
            value = match value.operation() {
                Some(
                    LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast | LLVMAddrSpaceCast | LLVMFreeze | LLVMSExt
                    | LLVMZExt | LLVMTrunc,
                ) => value.operand(0),
                Some(LLVMCall) if value.called_name().is_some_and(is_same_address) => value.operand(0),
                Some(LLVMPHI) => value.only_incoming().unwrap_or(value),
                _ => break,
            };
        }
        value
    }

    /// The value that a phi has unless it is null: C++ converts null pointers
    /// to null and others to another address.
    fn only_incoming(self) -> Option<Value<'m>> {
        // SAFETY: a live value.
        let mut others = self.operands().filter(|value| unsafe { LLVMIsNull(value.raw) == 0 });
        others.next().filter(|&value| value != self && others.next().is_none())
    }

    /// Where the computation of an address begins, and its steps in order.
    pub fn steps(self, layout: Layout<'m>) -> (Value<'m>, Vec<Step<'m>>) {
        let mut computed = Vec::new();
        let mut start = self.without_casts();
        while start.operation() == Some(Opcode::LLVMGetElementPtr) && computed.len() < LONGEST {
            computed.push(start);
            start = start.operand(0).without_casts();
        }
        let mut steps = Vec::new();
        for gep in computed.into_iter().rev() {
            gep.add_steps(layout, &mut steps);
        }
        (start, steps)
    }

    /// The type that a GEP goes over or into.
    pub fn stepped_over(self) -> Type<'m> {
        // SAFETY: asked of a GEP, which has such a type.
        unsafe { Type::new(LLVMGetGEPSourceElementType(self.raw)) }
    }

    /// The record that a GEP goes into.
    pub fn record(self) -> Option<&'m str> {
        // SAFETY: asked of a GEP, which has such a type.
        unsafe {
            let ty = LLVMGetGEPSourceElementType(self.raw);
            let is_record = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMStructTypeKind;
            if is_record { struct_name(ty) } else { None }
        }
    }

    fn add_steps(self, layout: Layout<'m>, steps: &mut Vec<Step<'m>>) {
        // SAFETY: a GEP; each question is asked of the kind of type that has
        // it, and the index of a field is a constant.
        unsafe {
            let size = |ty| LLVMABISizeOfType(layout.raw(), ty);
            let mut ty = LLVMGetGEPSourceElementType(self.raw);
            for (position, index) in self.operands().skip(1).enumerate() {
                let constant = index.signed();
                if position > 0 && LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMStructTypeKind {
                    let record = struct_name(ty).map(|name| RecordType { name, bytes: size(ty) });
                    let field = constant.unwrap_or(0) as u32;
                    let offset = LLVMOffsetOfElement(layout.raw(), ty, field) as i64;
                    ty = LLVMStructGetTypeAtIndex(ty, field);
                    steps.push(Step::Into { record, offset, bytes: size(ty) });
                    continue;
                }
                let (of, whole) = if position > 0 {
                    let whole = size(ty);
                    ty = LLVMGetElementType(ty);
                    (Indexed::Array, whole)
                } else {
                    (Indexed::Pointer, size(ty))
                };
                let stride = size(ty);
                let is_whole = LLVMGetNumOperands(self.raw) > 2;
                match (constant, of) {
                    // The way into an object, or an array, of which the first
                    // element is meant as often as all. `p[0]` stays an index.
                    (Some(0), _) if is_whole => {
                        steps.push(Step::Into { record: None, offset: 0, bytes: whole })
                    }
                    (Some(count), Indexed::Array) => {
                        let offset = count * stride as i64;
                        steps.push(Step::Into { record: None, offset, bytes: stride });
                    }
                    _ => steps.push(Step::Index { index, stride, of }),
                }
            }
        }
    }

    /// The value of a constant integer with a sign.
    pub fn signed(self) -> Option<i64> {
        // SAFETY: a constant integer of at most 64 bits.
        self.integer().map(|_| unsafe { LLVMConstIntGetSExtValue(self.raw) })
    }
}

fn is_same_address(intrinsic: &str) -> bool {
    SAME_ADDRESS.iter().any(|name| intrinsic.starts_with(name))
}

/// # Safety
/// A struct type, whose name outlives `'m`.
unsafe fn struct_name<'m>(ty: LLVMTypeRef) -> Option<&'m str> {
    // SAFETY: null for a type without name.
    unsafe {
        let name = LLVMGetStructName(ty);
        if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok() }
    }
}
