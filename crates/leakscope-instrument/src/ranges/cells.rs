//! Variables whose numbers can be followed: only code that reads and writes them, each
//! number as a whole, has their addresses. Of variables of a function, the library may get
//! them for the time of a call.

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMOffsetOfElement, LLVMStoreSizeOfType};
use rustc_hash::FxHashMap;

use super::range::Range;
use super::{bits_of, library, number};
use crate::ir::{Opcode, Value};
use crate::llvm::{Function, Layout, Module};

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
    /// Those that a call may write.
    given: FxHashMap<LLVMValueRef, Vec<CellId>>,
}

/// Everything that is done with a variable.
#[derive(Default)]
struct Uses<'m> {
    accesses: Vec<Access<'m>>,
    calls: Vec<Value<'m>>,
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
        let (layout, mut cells) = (module.layout(), Cells::default());
        for variable in module.variables() {
            cells.add_global(variable, layout);
        }
        let locals = module.bodies().flat_map(Function::instructions).filter(|at| at.is(Opcode::LLVMAlloca));
        for local in locals {
            let mut uses = Uses::default();
            if collect(local, 0, layout, &mut uses) {
                cells.add(uses, |_, bits| Range::all(bits));
            }
        }
        cells
    }

    /// The number that a load or store is about.
    pub fn at(&self, access: Value<'_>) -> Option<CellId> {
        self.of.get(&access.raw).copied()
    }

    /// What a call may write of them.
    pub fn given(&self, call: Value<'_>) -> &[CellId] {
        self.given.get(&call.raw).map(Vec::as_slice).unwrap_or_default()
    }

    fn add_global(&mut self, variable: Value<'_>, layout: Layout<'_>) {
        // SAFETY: a live variable; one that is defined has an initial value.
        let initial = unsafe {
            let is_own = LLVMGetLinkage(variable.raw) == LLVMLinkage::LLVMInternalLinkage;
            if !is_own || LLVMIsThreadLocal(variable.raw) != 0 || LLVMIsDeclaration(variable.raw) != 0 {
                return;
            }
            Value::new(LLVMGetInitializer(variable.raw))
        };
        let mut uses = Uses::default();
        if collect(variable, 0, layout, &mut uses) {
            // What a call writes may be anything.
            let constant = uses.calls.is_empty().then_some(initial);
            let initial = |offset, bits| part(constant?, offset, bits, layout);
            self.add(uses, |offset, bits| initial(offset, bits).unwrap_or(Range::all(bits)));
        }
    }

    fn add(&mut self, Uses { mut accesses, calls }: Uses<'_>, initial: impl Fn(u64, u32) -> Range) {
        accesses.sort_by_key(|access| (access.offset, access.bytes));
        let same = |a: &Access<'_>, b: &Access<'_>| (a.offset, a.bytes) == (b.offset, b.bytes);
        let apart = |a: &Access<'_>, b: &Access<'_>| same(a, b) || a.offset + a.bytes <= b.offset;
        if !accesses.windows(2).all(|pair| apart(&pair[0], &pair[1])) {
            return;
        }
        let before = self.all.len();
        for group in accesses.chunk_by(same) {
            let Some(bits) =
                group[0].bits.filter(|_| group.iter().all(|access| access.bits == group[0].bits))
            else {
                continue;
            };
            self.of.extend(group.iter().map(|access| (access.at.raw, self.all.len())));
            self.all.push(Cell { bits, initial: initial(group[0].offset, bits) });
        }
        for call in calls {
            self.given.entry(call.raw).or_default().extend(before..self.all.len());
        }
    }
}

/// Takes in all that is done with an address; false if something is not understood.
fn collect<'m>(address: Value<'m>, offset: u64, layout: Layout<'m>, found: &mut Uses<'m>) -> bool {
    address.users().all(|user| {
        let moved = match user.opcode() {
            Some(Opcode::LLVMLoad) => user,
            Some(Opcode::LLVMStore) if user.operand(0) != address => user.operand(0),
            Some(Opcode::LLVMCall) if library::lets_go(user) => {
                found.calls.push(user);
                return true;
            }
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
        found.accesses.push(Access { at: user, offset, bytes, bits: bits_of(moved) });
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
