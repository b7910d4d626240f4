//! Terms over the input, and what they come to.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A term. Operands are numbers of earlier nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Node {
    /// [`Op`].
    pub op: u8,
    /// Width of the value, 1 to 64.
    pub bits: u8,
    /// [`Op::Input`]: the source. [`Op::Extract`]: the lowest bit.
    pub imm: u16,
    pub a: u32,
    pub b: u32,
    pub c: u32,
}

impl Node {
    pub const fn constant(bits: u8, value: u64) -> Node {
        Node { op: Op::Const as u8, bits, imm: 0, a: value as u32, b: (value >> 32) as u32, c: 0 }
    }

    /// The value of an [`Op::Const`].
    pub const fn value(&self) -> u64 {
        self.a as u64 | (self.b as u64) << 32
    }
}

/// What a node is. Shifts by the width or more are 0, or all signs; division
/// by zero is all ones, its remainder the dividend (as in SMT-LIB); signed
/// division rounds towards zero. Comparisons have one bit, their operands any
/// width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    Const = 1,
    /// A value of the input: `imm` is the source, `a` the place there.
    Input,
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
    /// Each bit turned.
    Not,
    ZExt,
    SExt,
    Trunc,
    /// `a` above `b`.
    Concat,
    /// `bits` bits of `a` from bit `imm` on.
    Extract,
    /// `b` if `a`, which has one bit, else `c`.
    Ite,
}

impl Op {
    pub fn from_u8(value: u8) -> Option<Op> {
        use Op::*;
        const ALL: [Op; 27] = [
            Const, Input, Add, Sub, Mul, UDiv, SDiv, URem, SRem, And, Or, Xor, Shl, LShr, AShr, Eq, Ult, Ule,
            Slt, Sle, Not, ZExt, SExt, Trunc, Concat, Extract, Ite,
        ];
        ALL.get(usize::from(value).wrapping_sub(1)).copied()
    }

    /// Which of `a`, `b`, `c` are nodes.
    pub fn operands(self) -> usize {
        use Op::*;
        match self {
            Const | Input => 0,
            Not | ZExt | SExt | Trunc | Extract => 1,
            Ite => 3,
            _ => 2,
        }
    }
}

/// The value of a node that is neither constant nor input, given those of its
/// operands and the width of the first.
pub fn apply(node: &Node, a_bits: u8, a: u64, b: u64, c: u64) -> u64 {
    let width = u32::from(a_bits);
    let (signed_a, signed_b) = (signed(a, a_bits), signed(b, a_bits));
    let value = match Op::from_u8(node.op) {
        None | Some(Op::Const | Op::Input) => 0,
        Some(Op::Add) => a.wrapping_add(b),
        Some(Op::Sub) => a.wrapping_sub(b),
        Some(Op::Mul) => a.wrapping_mul(b),
        Some(Op::UDiv) => a.checked_div(b).unwrap_or(u64::MAX),
        Some(Op::SDiv) if b == 0 => {
            if signed_a < 0 {
                1
            } else {
                u64::MAX
            }
        }
        Some(Op::SDiv) => signed_a.wrapping_div(signed_b) as u64,
        Some(Op::URem) => a.checked_rem(b).unwrap_or(a),
        Some(Op::SRem) if b == 0 => a,
        Some(Op::SRem) => signed_a.wrapping_rem(signed_b) as u64,
        Some(Op::And) => a & b,
        Some(Op::Or) => a | b,
        Some(Op::Xor) => a ^ b,
        Some(Op::Shl) => {
            if b < u64::from(width) {
                a << b
            } else {
                0
            }
        }
        Some(Op::LShr) => {
            if b < u64::from(width) {
                a >> b
            } else {
                0
            }
        }
        Some(Op::AShr) => (signed_a >> b.min(63)) as u64,
        Some(Op::Eq) => u64::from(a == b),
        Some(Op::Ult) => u64::from(a < b),
        Some(Op::Ule) => u64::from(a <= b),
        Some(Op::Slt) => u64::from(signed_a < signed_b),
        Some(Op::Sle) => u64::from(signed_a <= signed_b),
        Some(Op::Not) => !a,
        Some(Op::ZExt | Op::Trunc) => a,
        Some(Op::SExt) => signed_a as u64,
        Some(Op::Concat) => a << (u32::from(node.bits) - width) | b,
        Some(Op::Extract) => a >> node.imm,
        Some(Op::Ite) => {
            if a != 0 {
                b
            } else {
                c
            }
        }
    };
    truncated(value, node.bits)
}

/// The lowest bits of a value.
pub fn truncated(value: u64, bits: u8) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The value of so many bits as a signed number.
pub fn signed(value: u64, bits: u8) -> i64 {
    let unused = 64 - u32::from(bits.clamp(1, 64));
    (value << unused) as i64 >> unused
}
