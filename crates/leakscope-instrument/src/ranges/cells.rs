//! Variables of the program whose numbers can be followed: only code that reads and
//! writes them, each number as a whole, has their addresses.

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMOffsetOfElement, LLVMStoreSizeOfType};
use rustc_hash::FxHashMap;

use super::range::Range;
use super::{bits_of, number};
use crate::ir::{Opcode, Value};
use crate::llvm::{Layout, Module};

/// A number in a variable, by its place in the list.
pub type CellId = usize;

pub struct Cell {
    pub bits: u32,
    /// What the program begins with.
    pub initial: Range,
}

#[derive(Default)]
pub struct Cells {
    pub all: Vec<Cell>,
    /// By loads and stores.
    of: FxHashMap<LLVMValueRef, CellId>,
}

/// A load or store of a part of a variable.
struct Access<'m> {
    at: Value<'m>,
    offset: u64,
    bytes: u64,
    /// If it is an integer.
    bits: Option<u32>,
}

impl Cells {
    pub fn of(module: &Module<'_>) -> Cells {
        let mut cells = Cells::default();
        for variable in module.variables() {
            cells.add(variable, module.layout());
        }
        cells
    }

    /// The number that a load or store is about.
    pub fn at(&self, access: Value<'_>) -> Option<CellId> {
        self.of.get(&access.raw).copied()
    }

    fn add(&mut self, variable: Value<'_>, layout: Layout<'_>) {
        // SAFETY: a live variable; one that is defined has an initial value.
        let initial = unsafe {
            let is_own = LLVMGetLinkage(variable.raw) == LLVMLinkage::LLVMInternalLinkage;
            if !is_own || LLVMIsThreadLocal(variable.raw) != 0 || LLVMIsDeclaration(variable.raw) != 0 {
                return;
            }
            Value::new(LLVMGetInitializer(variable.raw))
        };
        let mut accesses = Vec::new();
        if !collect(variable, 0, layout, &mut accesses) {
            return;
        }
        accesses.sort_by_key(|access| (access.offset, access.bytes));
        let same = |a: &Access<'_>, b: &Access<'_>| (a.offset, a.bytes) == (b.offset, b.bytes);
        let apart = |a: &Access<'_>, b: &Access<'_>| same(a, b) || a.offset + a.bytes <= b.offset;
        if !accesses.windows(2).all(|pair| apart(&pair[0], &pair[1])) {
            return;
        }
        for group in accesses.chunk_by(same) {
            let Some(bits) =
                group[0].bits.filter(|_| group.iter().all(|access| access.bits == group[0].bits))
            else {
                continue;
            };
            let initial = part(initial, group[0].offset, bits, layout).unwrap_or(Range::all(bits));
            self.of.extend(group.iter().map(|access| (access.at.raw, self.all.len())));
            self.all.push(Cell { bits, initial });
        }
    }
}

/// Takes in all loads and stores through an address; false if it is used otherwise.
fn collect<'m>(address: Value<'m>, offset: u64, layout: Layout<'m>, found: &mut Vec<Access<'m>>) -> bool {
    address.users().all(|user| {
        let moved = match user.opcode() {
            Some(Opcode::LLVMLoad) => user,
            Some(Opcode::LLVMStore) if user.operand(0) != address => user.operand(0),
            _ => {
                let step = constant_step(user, address, layout);
                return step.is_some_and(|step| collect(user, offset + step, layout, found));
            }
        };
        // SAFETY: a load or store, of something that has a size.
        let (is_plain, bytes) = unsafe {
            let is_plain = LLVMGetVolatile(user.raw) == 0
                && LLVMGetOrdering(user.raw) == llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
            (is_plain, LLVMStoreSizeOfType(layout.raw(), moved.ty().raw))
        };
        found.push(Access { at: user, offset, bytes, bits: bits_of(moved) });
        is_plain
    })
}

/// By how many bytes an address, or a constant that is one, goes on from another.
fn constant_step<'m>(step: Value<'m>, base: Value<'m>, layout: Layout<'m>) -> Option<u64> {
    // SAFETY: asked of steps only, whose indices are those of their type.
    unsafe {
        let is_step = step.is(Opcode::LLVMGetElementPtr)
            || !LLVMIsAConstantExpr(step.raw).is_null()
                && LLVMGetConstOpcode(step.raw) == Opcode::LLVMGetElementPtr;
        if !is_step || step.operand(0) != base {
            return None;
        }
        let mut ty = LLVMGetGEPSourceElementType(step.raw);
        let mut indices = step.operands().skip(1);
        let first = u64::try_from(number(indices.next()?)?).ok()?;
        let mut offset = first * llvm_sys::target::LLVMABISizeOfType(layout.raw(), ty);
        for index in indices {
            let index = u64::try_from(number(index)?).ok()?;
            match LLVMGetTypeKind(ty) {
                llvm_sys::LLVMTypeKind::LLVMStructTypeKind => {
                    offset += LLVMOffsetOfElement(layout.raw(), ty, index as u32);
                    ty = LLVMStructGetTypeAtIndex(ty, index as u32);
                }
                llvm_sys::LLVMTypeKind::LLVMArrayTypeKind => {
                    ty = LLVMGetElementType(ty);
                    offset += index * llvm_sys::target::LLVMABISizeOfType(layout.raw(), ty);
                }
                _ => return None,
            }
        }
        Some(offset)
    }
}

/// The number of so many bits at an offset of a constant.
fn part(constant: Value<'_>, offset: u64, bits: u32, layout: Layout<'_>) -> Option<Range> {
    // SAFETY: a live constant; members are asked of structures and arrays, as many as there are.
    unsafe {
        if LLVMIsNull(constant.raw) != 0 {
            return Some(Range::one(0));
        }
        if let Some(value) = number(constant) {
            return (offset == 0 && bits_of(constant) == Some(bits)).then_some(Range::one(value));
        }
        let ty = constant.ty().raw;
        let count = match LLVMGetTypeKind(ty) {
            llvm_sys::LLVMTypeKind::LLVMStructTypeKind => u64::from(LLVMCountStructElementTypes(ty)),
            llvm_sys::LLVMTypeKind::LLVMArrayTypeKind => LLVMGetArrayLength2(ty),
            _ => return None,
        };
        let begins = |index: u64| match LLVMGetTypeKind(ty) {
            llvm_sys::LLVMTypeKind::LLVMStructTypeKind => LLVMOffsetOfElement(layout.raw(), ty, index as u32),
            _ => index * llvm_sys::target::LLVMABISizeOfType(layout.raw(), LLVMGetElementType(ty)),
        };
        let index = (0..count).rev().find(|&index| begins(index) <= offset)?;
        let member = LLVMGetAggregateElement(constant.raw, index as u32);
        (!member.is_null()).then(|| part(Value::new(member), offset - begins(index), bits, layout)).flatten()
    }
}
