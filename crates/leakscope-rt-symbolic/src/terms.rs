//! Building terms. A term is the number of a node; 0 is a value that does not
//! depend on the input, and its value is always at hand where it is needed.
//!
//! Equal nodes are mostly made once: a table remembers the latest of each
//! hash. A few rules keep terms small where programs store and load bytes.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use leakscope_wire::symbolic::{EventKind, Node, Op, Why, signed, source, truncated};

use crate::shared;

/// A byte, or a wider value, with its term.
#[derive(Clone, Copy, Default)]
pub struct Known {
    pub value: u64,
    pub term: u32,
}

/// In [`SUPPORT`]: depends on more than one byte of the input.
const MANY: u32 = u32::MAX;

/// Latest nodes by their hash.
static KNOWN: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
const KNOWN_ENTRIES: usize = 1 << 18;

/// For each node the one input that it depends on, sizes not counted; 0 for
/// none.
static SUPPORT: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// For each node whether it was said to be true.
static TOLD: AtomicPtr<AtomicBool> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the tables; false if there is no memory for them.
pub fn start() -> bool {
    let known = shared::memory(KNOWN_ENTRIES * 4);
    let support = shared::memory(shared::node_capacity() as usize * 4);
    let told = shared::memory(shared::node_capacity() as usize);
    KNOWN.store(known.cast(), Ordering::Relaxed);
    SUPPORT.store(support.cast(), Ordering::Relaxed);
    TOLD.store(told.cast(), Ordering::Relaxed);
    !known.is_null() && !support.is_null() && !told.is_null()
}

/// The node's number, new or known; 0 if there is no room.
pub fn make(node: Node) -> u32 {
    let known = KNOWN.load(Ordering::Relaxed);
    if known.is_null() {
        return 0;
    }
    let word = u64::from(node.op) | u64::from(node.bits) << 8 | u64::from(node.imm) << 16;
    let mut hash = word ^ u64::from(node.a) << 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ u64::from(node.b);
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ u64::from(node.c);
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // SAFETY: the hash has as many bits as the table has entries.
    let entry = unsafe { &*known.add((hash >> 46) as usize) };
    let before = entry.load(Ordering::Relaxed);
    if before != 0 && shared::node(before) == node {
        return before;
    }
    let number = shared::push(node);
    if number != 0 {
        support_entry(number).store(support_of(number, &node), Ordering::Relaxed);
        entry.store(number, Ordering::Relaxed);
    }
    number
}

fn support_entry(number: u32) -> &'static AtomicU32 {
    // SAFETY: as many entries as there can be nodes.
    unsafe { &*SUPPORT.load(Ordering::Relaxed).add(number as usize) }
}

fn told_entry(number: u32) -> &'static AtomicBool {
    // SAFETY: as many entries as there can be nodes.
    unsafe { &*TOLD.load(Ordering::Relaxed).add(number as usize) }
}

fn support_of(number: u32, node: &Node) -> u32 {
    let Some(op) = Op::from_u8(node.op) else { return 0 };
    match op {
        Op::Const => 0,
        Op::Input if is_size(node.imm) => 0,
        Op::Input if node.bits == 8 => number,
        Op::Input => MANY,
        _ => [node.a, node.b, node.c][..op.operands()].iter().fold(0, |all, &operand| {
            let one = support_entry(operand).load(Ordering::Relaxed);
            match (all, one) {
                (0, one) => one,
                (all, 0) => all,
                (MANY, _) | (_, MANY) => MANY,
                (all, one) if all == one || shared::node(all) == shared::node(one) => all,
                _ => MANY,
            }
        }),
    }
}

fn is_size(input: u16) -> bool {
    input == source::STDIN_SIZE || (source::FILE_SIZE..source::FILE_SIZE + source::MOST).contains(&input)
}

/// The one input byte that a term depends on, apart from sizes.
pub fn only_input(term: u32) -> Option<u32> {
    let input = support_entry(term).load(Ordering::Relaxed);
    (input != 0 && input != MANY).then_some(input)
}

pub fn bits(term: u32) -> u8 {
    shared::node(term).bits
}

pub fn constant(bits: u8, value: u64) -> u32 {
    make(Node::constant(bits, truncated(value, bits)))
}

pub fn input(from: u16, at: u32, bits: u8) -> u32 {
    make(Node { op: Op::Input as u8, bits, imm: from, a: at, b: 0, c: 0 })
}

/// The term of a value, a constant where it has none.
pub fn of(known: Known, bits: u8) -> u32 {
    if known.term != 0 { known.term } else { constant(bits, known.value) }
}

fn is_constant(term: u32) -> Option<u64> {
    let node = shared::node(term);
    (node.op == Op::Const as u8).then(|| node.value())
}

/// An operation on values of `bits` bits of which at least one has a term.
pub fn binary(op: Op, bits: u8, a: Known, b: Known) -> u32 {
    let compares = matches!(op, Op::Eq | Op::Ult | Op::Ule | Op::Slt | Op::Sle);
    if op == Op::Eq {
        if b.term == 0 && a.term != 0 {
            return equals(a.term, b.value);
        }
        if a.term == 0 && b.term != 0 {
            return equals(b.term, a.value);
        }
    }
    if op == Op::And {
        for (value, other) in [(a, b), (b, a)] {
            if value.term == 0 && value.value == 0 {
                return 0;
            }
            if value.term == 0 && covers(value.value, other.term, bits) {
                return other.term;
            }
        }
    }
    if matches!(op, Op::Mul) && [a, b].iter().any(|value| value.term == 0 && value.value == 0) {
        return 0;
    }
    if b.term == 0
        && b.value == 0
        && matches!(op, Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::LShr | Op::AShr)
    {
        return a.term;
    }
    let (a, b) = (of(a, bits), of(b, bits));
    if a == 0 || b == 0 {
        return 0;
    }
    make(Node { op: op as u8, bits: if compares { 1 } else { bits }, imm: 0, a, b, c: 0 })
}

/// The same on values that may both have no term.
pub fn any_binary(op: Op, bits: u8, a: Known, b: Known) -> u32 {
    if a.term == 0 && b.term == 0 { 0 } else { binary(op, bits, a, b) }
}

/// Whether a mask leaves a term as it is.
fn covers(mask: u64, term: u32, bits: u8) -> bool {
    let node = shared::node(term);
    let used = if node.op == Op::ZExt as u8 { shared::node(node.a).bits } else { bits };
    truncated(u64::MAX, used) & !mask == 0
}

/// Whether a term has this value, as a term of one bit.
pub fn equals(term: u32, value: u64) -> u32 {
    if term == 0 {
        return 0;
    }
    let node = shared::node(term);
    if node.op == Op::ZExt as u8 || node.op == Op::SExt as u8 {
        // What the extension cannot give, the value never is.
        let inner = shared::node(node.a).bits;
        let lower = truncated(value, inner);
        let again =
            if node.op == Op::ZExt as u8 { lower } else { truncated(signed(lower, inner) as u64, node.bits) };
        return if again == truncated(value, node.bits) { equals(node.a, lower) } else { 0 };
    }
    if node.bits == 1 {
        return if value & 1 == 1 { term } else { not(term) };
    }
    let value = constant(node.bits, value);
    if value == 0 { 0 } else { make(Node { op: Op::Eq as u8, bits: 1, imm: 0, a: term, b: value, c: 0 }) }
}

/// A comparison of a term with a number.
pub fn compare(op: Op, term: u32, value: u64) -> u32 {
    if term == 0 { 0 } else { binary(op, bits(term), Known { value: 0, term }, Known { value, term: 0 }) }
}

/// Whether a term lies between two numbers, unsigned.
pub fn within(term: u32, low: u64, high: u64) -> u32 {
    if term == 0 {
        return 0;
    }
    let below = compare(Op::Ult, term, low);
    and(if low == 0 { 0 } else { not(below) }, compare(Op::Ule, term, high))
}

pub fn not(term: u32) -> u32 {
    if term == 0 {
        return 0;
    }
    let node = shared::node(term);
    if node.op == Op::Not as u8 {
        return node.a;
    }
    make(Node { op: Op::Not as u8, bits: node.bits, imm: 0, a: term, b: 0, c: 0 })
}

/// Both, where 0 is true.
pub fn and(a: u32, b: u32) -> u32 {
    join(Op::And, a, b)
}

/// Either, where 0 is false.
pub fn or(a: u32, b: u32) -> u32 {
    join(Op::Or, a, b)
}

fn join(op: Op, a: u32, b: u32) -> u32 {
    match (a, b) {
        (0, other) | (other, 0) => other,
        _ if a == b => a,
        _ => make(Node { op: op as u8, bits: 1, imm: 0, a, b, c: 0 }),
    }
}

/// To so many bits: by zeros, by the sign, or by leaving some out.
pub fn cast(op: Op, bits: u8, term: u32) -> u32 {
    if term == 0 {
        return 0;
    }
    let node = shared::node(term);
    if node.bits == bits {
        return term;
    }
    if op == Op::Trunc {
        return extract(term, 0, bits);
    }
    // What was extended by zeros has no sign.
    if node.op == Op::ZExt as u8 {
        return cast(Op::ZExt, bits, node.a);
    }
    make(Node { op: op as u8, bits, imm: 0, a: term, b: 0, c: 0 })
}

/// Some bits of a term; 0 if they do not depend on the input.
pub fn extract(term: u32, low: u16, bits: u8) -> u32 {
    if term == 0 {
        return 0;
    }
    let node = shared::node(term);
    if low == 0 && node.bits == bits {
        return term;
    }
    let high = low + u16::from(bits);
    match Op::from_u8(node.op) {
        Some(Op::Const) => return 0,
        Some(Op::ZExt | Op::SExt) => {
            let inner = u16::from(shared::node(node.a).bits);
            if high <= inner {
                return extract(node.a, low, bits);
            }
            if low >= inner && node.op == Op::ZExt as u8 {
                return 0;
            }
            if low == 0 {
                let op = if node.op == Op::ZExt as u8 { Op::ZExt } else { Op::SExt };
                return cast(op, bits, node.a);
            }
        }
        Some(Op::Extract) => return extract(node.a, low + node.imm, bits),
        Some(Op::Concat) => {
            let lower = u16::from(shared::node(node.b).bits);
            if high <= lower {
                return extract(node.b, low, bits);
            }
            if low >= lower {
                return extract(node.a, low - lower, bits);
            }
        }
        _ => {}
    }
    make(Node { op: Op::Extract as u8, bits, imm: low, a: term, b: 0, c: 0 })
}

/// `high` above `low`.
pub fn concat(high: u32, low: u32) -> u32 {
    if high == 0 || low == 0 {
        return 0;
    }
    let (above, below) = (shared::node(high), shared::node(low));
    let bits = above.bits + below.bits;
    let is_extract = |node: &Node| node.op == Op::Extract as u8;
    // Bits of one term that meet again.
    let meets = above.a == below.a && above.imm == below.imm + u16::from(below.bits);
    if is_extract(&above) && is_extract(&below) && meets {
        return extract(above.a, below.imm, bits);
    }
    // The lowest bits of a term are it itself, where it has no more.
    if is_constant(high) == Some(0) {
        return make(Node { op: Op::ZExt as u8, bits, imm: 0, a: low, b: 0, c: 0 });
    }
    make(Node { op: Op::Concat as u8, bits, imm: 0, a: high, b: low, c: 0 })
}

/// One value or another, of `bits` bits, by a term of one bit.
pub fn choose(condition: u32, bits: u8, then: Known, otherwise: Known) -> u32 {
    if condition == 0 {
        return 0;
    }
    if bits == 1 && then.term == 0 && otherwise.term == 0 {
        return match (then.value & 1, otherwise.value & 1) {
            (1, 0) => condition,
            (0, 1) => not(condition),
            _ => 0,
        };
    }
    if then.term == 0 && otherwise.term == 0 && then.value == otherwise.value {
        return 0;
    }
    let (b, c) = (of(then, bits), of(otherwise, bits));
    if b == 0 || c == 0 {
        return 0;
    }
    make(Node { op: Op::Ite as u8, bits, imm: 0, a: condition, b, c })
}

/// Says that a term of one bit is true on this path, once.
pub fn hold(term: u32, why: Why, place: u32) {
    if term != 0 && !told_entry(term).swap(true, Ordering::Relaxed) {
        let event = shared::event(EventKind::Constraint, place);
        shared::tell(leakscope_wire::symbolic::Event {
            taken: 1,
            detail: why as u16,
            term,
            value: 1,
            ..event
        });
    }
}

/// Takes a value as it is, and says so.
pub fn pin(known: Known, why: Why, place: u32) {
    hold(equals(known.term, known.value), why, place);
}
