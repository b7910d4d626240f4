//! Constants: as operands, and as the first content of globals.

use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::llvm::{Layout, Type, Value};
use crate::program::{Cell, Operand, Shape};
use crate::read::Names;

/// Cells of a global beyond these are not read: large tables hold no secrets.
const MAX_CELLS: usize = 4096;
/// Letters of a text that are known.
const MAX_TEXT: u64 = 8;

/// A number that compares with others of its kind as this one does: of numbers
/// with a point, that is all that is followed.
fn in_order(number: f64) -> i64 {
    match number.to_bits() as i64 {
        bits @ 0.. => bits,
        bits => -(bits & i64::MAX),
    }
}

/// A constant as an operand; what is not an address or a number is unknown.
pub fn operand<'m>(names: &Names<'m>, layout: Layout<'m>, value: Value<'m>) -> Operand {
    let value = value.without_aliases();
    if let Some(number) = value.integer() {
        return Operand::Int(number);
    }
    if let Some(number) = value.real() {
        return Operand::Int(in_order(number));
    }
    if let Some(&global) = names.globals.get(&value) {
        return Operand::Global(global, 0);
    }
    if let Some(&function) = names.functions.get(&value) {
        return Operand::Function(function);
    }
    match value.constant_opcode() {
        Some(LLVMOpcode::LLVMGetElementPtr) => {
            let (offset, terms) = steps(layout, value);
            match operand(names, layout, value.operand(0)) {
                Operand::Global(global, start) if terms.is_empty() => Operand::Global(global, start + offset),
                _ => Operand::Unknown,
            }
        }
        Some(LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMPtrToInt | LLVMOpcode::LLVMIntToPtr) => {
            operand(names, layout, value.operand(0))
        }
        _ => Operand::Unknown,
    }
}

/// The constant part of an address computation in bytes, and each index that is
/// no constant with the size of what it counts.
pub fn steps<'m>(layout: Layout<'m>, address: Value<'m>) -> (i64, Vec<(Value<'m>, i64)>) {
    let (mut offset, mut terms) = (0i64, Vec::new());
    let mut ty = address.source_element_type();
    for (position, index) in address.operands().skip(1).enumerate() {
        if position > 0 {
            if let Some(members) = ty.members(layout) {
                let (start, member) = members[index.integer().unwrap_or(0) as usize];
                offset += start as i64;
                ty = member;
                continue;
            }
            let Some((element, _)) = ty.elements() else { break };
            ty = element;
        }
        let stride = ty.bytes(layout) as i64;
        match index.integer() {
            Some(index) => offset = offset.wrapping_add(index.wrapping_mul(stride)),
            None => terms.push((index, stride)),
        }
    }
    (offset, terms)
}

/// What a global holds at first, without what is zero.
pub fn cells<'m>(names: &Names<'m>, layout: Layout<'m>, value: Value<'m>) -> Vec<Cell> {
    let mut cells = Vec::new();
    add_cells(names, layout, value, 0, &mut cells);
    cells
}

fn add_cells<'m>(
    names: &Names<'m>,
    layout: Layout<'m>,
    value: Value<'m>,
    offset: i64,
    cells: &mut Vec<Cell>,
) {
    if value.is_zero() || cells.len() >= MAX_CELLS {
        return;
    }
    let ty = value.ty();
    if let Some(members) = ty.members(layout) {
        for (index, (start, _)) in members.into_iter().enumerate() {
            if let Some(member) = value.element(index as u32) {
                add_cells(names, layout, member, offset + start as i64, cells);
            }
        }
    } else if let Some((element, length)) = ty.elements() {
        let stride = element.bytes(layout) as i64;
        if stride == 1 {
            add_text(names, layout, value, offset, length, cells);
            return;
        }
        for index in 0..length.min(MAX_CELLS as u64) {
            if let Some(member) = value.element(index as u32) {
                add_cells(names, layout, member, offset + index as i64 * stride, cells);
            }
        }
    } else {
        let value = operand(names, layout, value);
        cells.push(Cell { offset, bytes: ty.bytes(layout) as u32, value });
    }
}

/// Of a text only the beginning is of interest; the rest is one cell.
fn add_text<'m>(
    names: &Names<'m>,
    layout: Layout<'m>,
    value: Value<'m>,
    offset: i64,
    length: u64,
    cells: &mut Vec<Cell>,
) {
    let known = length.min(MAX_TEXT);
    for index in 0..known {
        if let Some(letter) = value.element(index as u32) {
            let value = operand(names, layout, letter);
            cells.push(Cell { offset: offset + index as i64, bytes: 1, value });
        }
    }
    if length > known {
        let bytes = u32::try_from(length - known).unwrap_or(u32::MAX);
        cells.push(Cell { offset: offset + known as i64, bytes, value: Operand::Unknown });
    }
}

/// How a value of this type lies in memory.
pub fn shape<'m>(layout: Layout<'m>, ty: Type<'m>) -> Shape {
    let mut members = Vec::new();
    match flatten(layout, ty, 0, &mut members) {
        Flat::Scalar => {
            let is_pointer = ty.kind() == LLVMTypeKind::LLVMPointerTypeKind;
            Shape::Scalar { bytes: ty.bytes(layout) as u32, is_pointer }
        }
        Flat::Record => Shape::Record(members.into()),
    }
}

/// How many scalars a value of this type has.
pub fn scalars<'m>(layout: Layout<'m>, ty: Type<'m>) -> u32 {
    match shape(layout, ty) {
        Shape::Scalar { .. } => 1,
        Shape::Record(members) => members.len() as u32,
    }
}

enum Flat {
    Scalar,
    Record,
}

fn flatten<'m>(layout: Layout<'m>, ty: Type<'m>, at: i64, members: &mut Vec<crate::Member>) -> Flat {
    if let Some(parts) = ty.members(layout) {
        for (offset, part) in parts {
            flatten(layout, part, at + offset as i64, members);
        }
        return Flat::Record;
    }
    if let Some((element, length)) = ty.elements().filter(|_| ty.kind() == LLVMTypeKind::LLVMArrayTypeKind) {
        let stride = element.bytes(layout) as i64;
        for index in 0..length.min(64) as i64 {
            flatten(layout, element, at + index * stride, members);
        }
        return Flat::Record;
    }
    members.push(crate::Member { offset: at, bytes: ty.bytes(layout) as u32 });
    Flat::Scalar
}
