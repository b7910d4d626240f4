//! Terms that have few values, as tables: whatever a program computes from
//! one byte, there are only 256 results. So a look-up in a table at such an
//! index is a term too, and so is what a function of the C library says of a
//! character.
//!
//! What the table is over, its pivot, is the one input byte that a term
//! depends on, or else a part of the term that has few bits, as the index of
//! a table of checksums has.

use leakscope_wire::symbolic::{Op, apply, truncated};

use crate::terms::{self, Known};
use crate::{inputs, shadow, shared};

/// Steps of one evaluation; terms may share parts, which are evaluated as
/// often as they are met.
const STEPS: u32 = 400;

/// Bytes between the lowest and the highest address of a table.
const SPREAD: usize = 1 << 16;

/// Bits of a pivot.
const MOST_BITS: u8 = 10;
const MOST: usize = 1 << MOST_BITS;

/// With fewer runs of equal results, comparisons with their ends are simpler
/// than decisions by bits.
const FEW_RUNS: usize = 48;

#[derive(Clone, Copy)]
struct Pivot {
    term: u32,
    bits: u8,
}

impl Pivot {
    fn of(term: u32) -> Option<Pivot> {
        if term == 0 {
            return None;
        }
        match terms::only_input(term) {
            Some(input) => Some(Pivot { term: input, bits: 8 }),
            None => narrow(term),
        }
    }

    fn values(self) -> usize {
        1 << self.bits
    }
}

/// The part of a term that all of it depends on and that has few bits.
fn narrow(term: u32) -> Option<Pivot> {
    narrow_within(term, DEEPEST)
}

const DEEPEST: u32 = 40;

fn narrow_within(term: u32, depth: u32) -> Option<Pivot> {
    let depth = depth.checked_sub(1)?;
    let node = shared::node(term);
    let constant = |operand: u32| {
        let node = shared::node(operand);
        (node.op == Op::Const as u8).then(|| node.value())
    };
    let few = |most: u64| {
        let bits = 64 - most.leading_zeros() as u8;
        (1..=MOST_BITS).contains(&bits).then_some(Pivot { term, bits })
    };
    let op = Op::from_u8(node.op)?;
    let own = match op {
        Op::And => constant(node.b).or(constant(node.a)).and_then(few),
        Op::URem => constant(node.b).and_then(|most| few(most.wrapping_sub(1))),
        Op::LShr => {
            constant(node.b).filter(|&by| by < 64).and_then(|by| few(truncated(u64::MAX, node.bits) >> by))
        }
        _ => None,
    };
    // What decides about something that has few values.
    let inner = match op {
        Op::ZExt | Op::SExt | Op::Not | Op::Extract | Op::Ite => Some(node.a),
        _ if op.operands() == 2 => match (constant(node.a), constant(node.b)) {
            (None, Some(_)) => Some(node.a),
            (Some(_), None) => Some(node.b),
            _ => None,
        },
        _ => None,
    };
    own.or_else(|| narrow_within(inner?, depth))
        .or((op != Op::Const && node.bits <= MOST_BITS).then_some(Pivot { term, bits: node.bits }))
}

/// The value of a term if its pivot has this value.
fn value(term: u32, pivot: Pivot, given: u64, steps: &mut u32) -> Option<u64> {
    *steps = steps.checked_sub(1)?;
    let node = shared::node(term);
    if term == pivot.term {
        return Some(given);
    }
    let op = Op::from_u8(node.op)?;
    match op {
        Op::Const => return Some(node.value()),
        // Equal inputs may have several nodes.
        Op::Input if node.bits == 8 => return (node == shared::node(pivot.term)).then_some(given),
        Op::Input => return inputs::size_of_source(node.imm),
        Op::Ite => {
            let chosen = if value(node.a, pivot, given, steps)? != 0 { node.b } else { node.c };
            return value(chosen, pivot, given, steps);
        }
        _ => {}
    }
    let a = value(node.a, pivot, given, steps)?;
    let b = if op.operands() > 1 { value(node.b, pivot, given, steps)? } else { 0 };
    Some(apply(&node, shared::node(node.a).bits, a, b, 0))
}

/// The term of a function of a term's value; 0 if the term has too many
/// values, or the function gives nothing for some value.
pub fn function(term: u32, bits: u8, mut result: impl FnMut(u64) -> Option<u64>) -> u32 {
    let Some(pivot) = Pivot::of(term) else { return 0 };
    let mut results = [0; MOST];
    let results = &mut results[..pivot.values()];
    for (given, slot) in results.iter_mut().enumerate() {
        let found = value(term, pivot, given as u64, &mut { STEPS }).and_then(&mut result);
        let Some(found) = found else { return 0 };
        *slot = found;
    }
    let runs = results.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if runs <= FEW_RUNS { chain(pivot, bits, results) } else { tree(pivot, pivot.bits, bits, results).term }
}

/// The table's entry, as comparisons with the ends of its runs.
fn chain(pivot: Pivot, bits: u8, results: &[u64]) -> u32 {
    let last = results.len() - 1;
    let mut all = Known { value: results[last], term: 0 };
    for end in (0..last).rev().filter(|&end| results[end] != results[end + 1]) {
        let below = terms::compare(Op::Ule, pivot.term, end as u64);
        all.term = terms::choose(below, bits, Known { value: results[end], term: 0 }, all);
    }
    all.term
}

/// The table's entry, as a decision for each bit from the highest on.
fn tree(pivot: Pivot, level: u8, bits: u8, results: &[u64]) -> Known {
    if results.iter().all(|&result| result == results[0]) {
        return Known { value: results[0], term: 0 };
    }
    let (low, high) = results.split_at(results.len() / 2);
    let bit = terms::extract(pivot.term, u16::from(level) - 1, 1);
    let (low, high) = (tree(pivot, level - 1, bits, low), tree(pivot, level - 1, bits, high));
    if bit == 0 {
        return low;
    }
    Known { value: 0, term: terms::choose(bit, bits, high, low) }
}

/// The term of a load at an address that depends on the input; none if the
/// address is to be taken as it is.
pub fn load(address: u32, bytes: usize) -> Option<u32> {
    let pivot = Pivot::of(address)?;
    let (mut low, mut high) = (usize::MAX, 0);
    for given in 0..pivot.values() {
        let at = value(address, pivot, given as u64, &mut { STEPS })? as usize;
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
