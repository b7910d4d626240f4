//! How terms are made. Each constructor gives the simplest equal term that a
//! look at its arguments shows: programs compare bytes that they widened,
//! joined, masked and shifted, and most of that says nothing about the bytes.

use crate::fold;
use crate::term::{Binary, Compare, InputId, Node, Pool, Term, mask, signed};

/// Parts are taken of the arguments of an operation instead of its result up to
/// this height: each step of a checksum has two uses of the one before, and
/// without a bound the work doubled with each.
const HIGHEST: u8 = 12;

impl Pool {
    pub fn constant(&mut self, value: u64, bits: u32) -> Term {
        self.intern(Node::Const(value & mask(bits)), bits)
    }

    pub fn input(&mut self, input: InputId, bits: u32) -> Term {
        self.intern(Node::Input(input), bits)
    }

    pub fn not(&mut self, a: Term) -> Term {
        let bits = self.bits(a);
        match self.node(a) {
            Node::Const(value) => self.constant(!value, bits),
            Node::Not(inner) => inner,
            Node::Compare(Compare::Ult, x, y) => self.compare(Compare::Ule, y, x),
            Node::Compare(Compare::Ule, x, y) => self.compare(Compare::Ult, y, x),
            Node::Compare(Compare::Slt, x, y) => self.compare(Compare::Sle, y, x),
            Node::Compare(Compare::Sle, x, y) => self.compare(Compare::Slt, y, x),
            _ => self.intern(Node::Not(a), bits),
        }
    }

    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        self.compare(Compare::Eq, a, b)
    }

    pub fn ult(&mut self, a: Term, b: Term) -> Term {
        self.compare(Compare::Ult, a, b)
    }

    pub fn ule(&mut self, a: Term, b: Term) -> Term {
        self.compare(Compare::Ule, a, b)
    }

    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::And, a, b)
    }

    pub fn binary(&mut self, op: Binary, a: Term, b: Term) -> Term {
        use Binary::*;
        let bits = self.bits(a);
        debug_assert_eq!(bits, self.bits(b), "{op:?} of unequal widths");
        let (va, vb) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (va, vb) {
            return self.constant(fold::binary(op, x, y, bits), bits);
        }
        let commutes = matches!(op, Add | Mul | And | Or | Xor);
        if commutes && (va.is_some() || vb.is_none() && b < a) {
            return self.binary_of(op, b, a, bits);
        }
        self.binary_of(op, a, b, bits)
    }

    /// Arguments of what commutes are in order, a constant second; not both
    /// are constants.
    fn binary_of(&mut self, op: Binary, a: Term, b: Term, bits: u32) -> Term {
        use Binary::*;
        if a == b {
            match op {
                Sub | Xor => return self.constant(0, bits),
                And | Or => return a,
                _ => {}
            }
        }
        let Some(value) = self.value(b) else {
            let zero_stays = matches!(op, Shl | LShr | AShr) && self.value(a) == Some(0);
            return if zero_stays { a } else { self.intern(Node::Binary(op, a, b), bits) };
        };
        match (op, value) {
            (Add | Sub | Or | Xor | Shl | LShr | AShr, 0) => return a,
            (Mul | And, 0) => return b,
            (Mul | UDiv | SDiv, 1) if bits > 1 => return a,
            (URem, 1) => return self.constant(0, bits),
            (And, all) if all == mask(bits) => return a,
            (Or, all) if all == mask(bits) => return b,
            (Xor, all) if all == mask(bits) => return self.not(a),
            (Shl | LShr, by) if by >= bits.into() => return self.constant(0, bits),
            (Sub, by) => {
                let negated = self.constant(by.wrapping_neg(), bits);
                return self.binary(Add, a, negated);
            }
            _ => {}
        }
        let divided = self.divided(op, a, value, bits);
        if let Some(simpler) = divided.or_else(|| self.of_parts(op, a, value, bits)) {
            return simpler;
        }
        self.intern(Node::Binary(op, a, b), bits)
    }

    /// Looks into `a`: what a constant does to a widened or joined value.
    fn of_parts(&mut self, op: Binary, a: Term, value: u64, bits: u32) -> Option<Term> {
        use Binary::*;
        match (op, self.node(a)) {
            // (x + 1) + 2, (x & 7) & 3 and the like.
            (Add | Mul | And | Or | Xor, Node::Binary(inner, x, y)) if inner == op => {
                let before = self.value(y)?;
                let joined = self.constant(fold::binary(op, before, value, bits), bits);
                Some(self.binary(op, x, joined))
            }
            // A mask that keeps all bits of a value that was widened.
            (And, Node::ZeroExtend(x)) => {
                let narrow = self.bits(x);
                let kept = self.constant(value, narrow);
                let masked = self.binary(And, x, kept);
                Some(self.zero_extend(masked, bits))
            }
            (And, _) if value & value.wrapping_add(1) == 0 => {
                let low = self.extract(a, 0, value.count_ones());
                Some(self.zero_extend(low, bits))
            }
            (Shl, _) => {
                let high = self.extract(a, 0, bits - value as u32);
                let zeros = self.constant(0, value as u32);
                Some(self.concat(high, zeros))
            }
            (LShr, _) => {
                let high = self.extract(a, value as u32, bits - value as u32);
                Some(self.zero_extend(high, bits))
            }
            _ => None,
        }
    }

    pub fn compare(&mut self, op: Compare, a: Term, b: Term) -> Term {
        use Compare::*;
        let bits = self.bits(a);
        debug_assert_eq!(bits, self.bits(b), "{op:?} of unequal widths");
        let (va, vb) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (va, vb) {
            return self.bit(fold::compare(op, x, y, bits));
        }
        if a == b {
            return self.bit(matches!(op, Eq | Ule | Sle));
        }
        if op == Eq && (va.is_some() || vb.is_none() && b < a) {
            return self.compare(Eq, b, a);
        }
        if let Some(simpler) = self.compare_widened(op, a, b).or_else(|| self.compared(op, a, b)) {
            return simpler;
        }
        match (op, va, vb) {
            (Eq, _, Some(value)) => return self.equals(a, value, bits),
            (Ult, _, Some(0)) => return self.bit(false),
            (Ult, _, Some(1)) | (Ule, _, Some(0)) => return self.is_zero(a),
            (Ule, _, Some(all)) | (Ult, Some(all), _) if all == mask(bits) => return self.bit(op == Ule),
            (Ule, Some(0), _) => return self.bit(true),
            (Ult, Some(0), _) => {
                let zero = self.is_zero(b);
                return self.not(zero);
            }
            _ => {}
        }
        self.intern(Node::Compare(op, a, b), 1)
    }

    fn is_zero(&mut self, a: Term) -> Term {
        let zero = self.constant(0, self.bits(a));
        self.eq(a, zero)
    }

    /// Values that were widened alike, or one of them and a constant, compare
    /// as they were before.
    fn compare_widened(&mut self, op: Compare, a: Term, b: Term) -> Option<Term> {
        use Compare::*;
        let bits = self.bits(a);
        let narrow = |pool: &Pool, term| match pool.node(term) {
            Node::ZeroExtend(x) | Node::SignExtend(x) => {
                Some((x, matches!(pool.node(term), Node::ZeroExtend(_))))
            }
            _ => None,
        };
        let unsigned = |op| match op {
            Slt => Ult,
            Sle => Ule,
            op => op,
        };
        match (narrow(self, a), narrow(self, b)) {
            (Some((x, true)), Some((y, true))) if self.bits(x) == self.bits(y) => {
                Some(self.compare(unsigned(op), x, y))
            }
            (Some((x, false)), Some((y, false))) if self.bits(x) == self.bits(y) => {
                Some(self.compare(op, x, y))
            }
            (Some((x, zero)), None) => {
                let fitted = self.fitted(b, self.bits(x), zero, bits)?;
                Some(self.compare(if zero { unsigned(op) } else { op }, x, fitted))
            }
            (None, Some((y, zero))) => {
                let fitted = self.fitted(a, self.bits(y), zero, bits)?;
                Some(self.compare(if zero { unsigned(op) } else { op }, fitted, y))
            }
            _ => None,
        }
    }

    /// A constant in fewer bits, if widening gives it back.
    fn fitted(&mut self, constant: Term, narrow: u32, by_zeros: bool, bits: u32) -> Option<Term> {
        let value = self.value(constant)?;
        let short = value & mask(narrow);
        let back = if by_zeros { short } else { signed(short, narrow) as u64 & mask(bits) };
        (back == value).then(|| self.constant(value, narrow))
    }

    /// `a == value`.
    fn equals(&mut self, a: Term, value: u64, bits: u32) -> Term {
        match self.node(a) {
            _ if bits == 1 => {
                if value == 1 {
                    a
                } else {
                    self.not(a)
                }
            }
            // What does not fit (`compare_widened` has taken what does).
            Node::ZeroExtend(_) | Node::SignExtend(_) => self.bit(false),
            Node::Not(x) => self.equals(x, !value & mask(bits), bits),
            Node::Binary(op @ (Binary::Add | Binary::Xor), x, y) if self.value(y).is_some() => {
                let known = self.value(y).unwrap_or_default();
                let rest = if op == Binary::Add { value.wrapping_sub(known) } else { value ^ known };
                let rest = self.constant(rest, bits);
                self.compare(Compare::Eq, x, rest)
            }
            Node::Concat(high, low) => {
                let (high_bits, low_bits) = (self.bits(high), self.bits(low));
                let (upper, lower) =
                    (self.constant(value >> low_bits, high_bits), self.constant(value, low_bits));
                let (upper, lower) = (self.eq(high, upper), self.eq(low, lower));
                self.and(upper, lower)
            }
            Node::Ite(condition, yes, no) if self.value(yes).is_some() && self.value(no).is_some() => {
                match (self.value(yes) == Some(value), self.value(no) == Some(value)) {
                    (true, true) => self.bit(true),
                    (true, false) => condition,
                    (false, true) => self.not(condition),
                    (false, false) => self.bit(false),
                }
            }
            _ => {
                let constant = self.constant(value, bits);
                self.intern(Node::Compare(Compare::Eq, a, constant), 1)
            }
        }
    }

    pub fn zero_extend(&mut self, a: Term, bits: u32) -> Term {
        match self.node(a) {
            _ if self.bits(a) == bits => a,
            Node::Const(value) => self.constant(value, bits),
            Node::ZeroExtend(inner) => self.zero_extend(inner, bits),
            _ => self.intern(Node::ZeroExtend(a), bits),
        }
    }

    pub fn sign_extend(&mut self, a: Term, bits: u32) -> Term {
        let narrow = self.bits(a);
        match self.node(a) {
            _ if narrow == bits => a,
            Node::Const(value) => self.constant(signed(value, narrow) as u64, bits),
            // The highest bit is 0.
            _ if self.is_never_negative(a) => self.zero_extend(a, bits),
            Node::SignExtend(inner) => self.sign_extend(inner, bits),
            _ => self.intern(Node::SignExtend(a), bits),
        }
    }

    /// `bits` bits of `a` from bit `low` on.
    pub fn extract(&mut self, a: Term, low: u32, bits: u32) -> Term {
        let wide = self.bits(a);
        debug_assert!(low + bits <= wide, "bits {low}+{bits} of {wide}");
        if bits == wide {
            return a;
        }
        match self.node(a) {
            Node::Const(value) => self.constant(value >> low, bits),
            Node::Extract(inner, before) => self.extract(inner, low + u32::from(before), bits),
            Node::Concat(_, lower) if low + bits <= self.bits(lower) => self.extract(lower, low, bits),
            Node::Concat(upper, lower) if low >= self.bits(lower) => {
                self.extract(upper, low - self.bits(lower), bits)
            }
            Node::ZeroExtend(inner) if low >= self.bits(inner) => self.constant(0, bits),
            Node::ZeroExtend(inner) | Node::SignExtend(inner) if low + bits <= self.bits(inner) => {
                self.extract(inner, low, bits)
            }
            Node::ZeroExtend(inner) if low == 0 => self.zero_extend(inner, bits),
            Node::SignExtend(inner) if low == 0 => self.sign_extend(inner, bits),
            _ if self.height(a) > HIGHEST => self.intern(Node::Extract(a, low as u8), bits),
            Node::Not(inner) => {
                let part = self.extract(inner, low, bits);
                self.not(part)
            }
            Node::Binary(op @ (Binary::And | Binary::Or | Binary::Xor), x, y) => {
                let (x, y) = (self.extract(x, low, bits), self.extract(y, low, bits));
                self.binary(op, x, y)
            }
            // Low bits depend on low bits only.
            Node::Binary(op @ (Binary::Add | Binary::Sub | Binary::Mul), x, y) if low == 0 => {
                let (x, y) = (self.extract(x, 0, bits), self.extract(y, 0, bits));
                self.binary(op, x, y)
            }
            Node::Ite(condition, yes, no) => {
                let (yes, no) = (self.extract(yes, low, bits), self.extract(no, low, bits));
                self.ite(condition, yes, no)
            }
            _ => self.intern(Node::Extract(a, low as u8), bits),
        }
    }

    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        let bits = self.bits(high) + self.bits(low);
        match (self.node(high), self.node(low)) {
            (Node::Const(upper), Node::Const(lower)) => self.constant(upper << self.bits(low) | lower, bits),
            (Node::Const(0), _) => self.zero_extend(low, bits),
            (Node::ZeroExtend(inner), _) => {
                let joined = self.concat(inner, low);
                self.zero_extend(joined, bits)
            }
            // Neighbours that were taken apart.
            (Node::Extract(x, upper), Node::Extract(y, lower))
                if x == y && u32::from(upper) == u32::from(lower) + self.bits(low) =>
            {
                self.extract(x, lower.into(), bits)
            }
            _ => self.intern(Node::Concat(high, low), bits),
        }
    }

    pub fn ite(&mut self, condition: Term, yes: Term, no: Term) -> Term {
        let bits = self.bits(yes);
        match (self.value(condition), self.value(yes), self.value(no)) {
            (Some(1), ..) => return yes,
            (Some(_), ..) => return no,
            _ if yes == no => return yes,
            (_, Some(1), Some(0)) if bits == 1 => return condition,
            (_, Some(0), Some(1)) if bits == 1 => return self.not(condition),
            (_, Some(1), Some(0)) => return self.zero_extend(condition, bits),
            _ => {}
        }
        match self.node(condition) {
            Node::Not(inner) => self.ite(inner, no, yes),
            _ => self.intern(Node::Ite(condition, yes, no), bits),
        }
    }

    pub fn bit(&mut self, value: bool) -> Term {
        self.constant(value.into(), 1)
    }
}
