//! Terms that depend on one byte of the input, as tables: whatever a program
//! computes from one byte, there are only 256 results. So a look-up in a table
//! at such an index is a term too, and so is what a function of the C library
//! says of a character.

use leakscope_wire::symbolic::{Op, apply};

use crate::terms::{self, Known};
use crate::{inputs, shadow, shared};

/// Steps of one evaluation; terms may share parts, which are evaluated as
/// often as they are met.
const STEPS: u32 = 400;

/// Bytes between the lowest and the highest address of a table.
const SPREAD: usize = 1 << 16;

/// The value of a term if its one input byte has this value.
fn value(term: u32, byte: u64, steps: &mut u32) -> Option<u64> {
    *steps = steps.checked_sub(1)?;
    let node = shared::node(term);
    let op = Op::from_u8(node.op)?;
    match op {
        Op::Const => return Some(node.value()),
        Op::Input if node.bits == 8 => return Some(byte),
        Op::Input => return Some(inputs::size_of_source(node.imm)),
        Op::Ite => {
            let chosen = if value(node.a, byte, steps)? != 0 { node.b } else { node.c };
            return value(chosen, byte, steps);
        }
        _ => {}
    }
    let a = value(node.a, byte, steps)?;
    let b = if op.operands() > 1 { value(node.b, byte, steps)? } else { 0 };
    Some(apply(&node, shared::node(node.a).bits, a, b, 0))
}

/// The term of a function of a term's value; 0 if the term depends on more
/// than a byte, or the function gives nothing for some value.
pub fn function(term: u32, bits: u8, mut result: impl FnMut(u64) -> Option<u64>) -> u32 {
    let Some(input) = (term != 0).then(|| terms::only_input(term)).flatten() else { return 0 };
    let mut results = [0; 256];
    for (byte, slot) in results.iter_mut().enumerate() {
        let found = value(term, byte as u64, &mut { STEPS }).and_then(&mut result);
        let Some(found) = found else { return 0 };
        *slot = found;
    }
    chain(input, bits, &results)
}

/// The table's entry for a byte, as comparisons with the ends of its runs.
fn chain(input: u32, bits: u8, results: &[u64; 256]) -> u32 {
    let mut all = Known { value: results[255], term: 0 };
    for end in (0..255).rev().filter(|&end| results[end] != results[end + 1]) {
        let below = terms::compare(Op::Ule, input, end as u64);
        all.term = terms::choose(below, bits, Known { value: results[end], term: 0 }, all);
    }
    all.term
}

/// The term of a load at an address that depends on the input; none if the
/// address is to be taken as it is.
pub fn load(address: u32, bytes: usize) -> Option<u32> {
    terms::only_input(address)?;
    let (mut low, mut high) = (usize::MAX, 0);
    for byte in 0..256 {
        let at = value(address, byte, &mut { STEPS })? as usize;
        (low, high) = (low.min(at), high.max(at));
    }
    if high - low > SPREAD || shadow::any(low, high - low + bytes) || !is_mapped(low, high + bytes) {
        return None;
    }
    Some(function(address, 8 * bytes as u8, |at| {
        let mut number = [0; 8];
        // SAFETY: the range is mapped, and was written by the program.
        unsafe { core::ptr::copy_nonoverlapping(at as *const u8, number.as_mut_ptr(), bytes) };
        Some(u64::from_le_bytes(number))
    }))
}

/// Whether there is memory in all of a range.
fn is_mapped(start: usize, end: usize) -> bool {
    const PAGE: usize = 4096;
    let start = start & !(PAGE - 1);
    let mut pages = [0; SPREAD / PAGE + 2];
    // SAFETY: asks about memory; the list has room for all pages of a range.
    unsafe { libc::mincore(start as *mut _, end - start, pages.as_mut_ptr()) == 0 }
}
