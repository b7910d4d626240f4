//! How large a term can get, and what that makes simpler: a remainder of a sum
//! that is less than twice the divisor is one subtraction, and numbers that are
//! never negative divide without a sign. Checksums by remainder are chains of
//! such steps, and a circuit that divides 32 bits is thousands of gates.

use crate::term::{Binary, Compare, Node, Pool, Term, mask};

impl Pool {
    /// No value of the term is larger.
    pub(crate) fn most(&self, term: Term) -> u64 {
        self.mosts[term.0 as usize]
    }

    pub(crate) fn most_of(&self, node: Node, bits: u32) -> u64 {
        let all = mask(bits);
        let most = |term: Term| self.most(term);
        let fits = |value: Option<u64>| value.filter(|&value| value <= all).unwrap_or(all);
        match node {
            Node::Const(value) => value,
            Node::Input(_) | Node::Not(_) => all,
            Node::Compare(..) => 1,
            Node::ZeroExtend(a) => most(a),
            Node::SignExtend(a) if self.is_never_negative(a) => most(a),
            Node::SignExtend(_) => all,
            Node::Extract(a, low) => (most(a) >> low).min(all),
            Node::Concat(high, low) => most(high) << self.bits(low) | ones(most(low)),
            Node::Ite(_, yes, no) => most(yes).max(most(no)),
            Node::Binary(op, a, b) => match (op, self.value(b)) {
                (Binary::Add, _) => fits(most(a).checked_add(most(b))),
                (Binary::Mul, _) => fits(most(a).checked_mul(most(b))),
                (Binary::And, _) => most(a).min(most(b)),
                (Binary::Or | Binary::Xor, _) => ones(most(a) | most(b)),
                (Binary::UDiv, Some(by)) if by > 0 => most(a) / by,
                (Binary::URem, Some(by)) if by > 0 => most(a).min(by - 1),
                (Binary::LShr, Some(by)) if by < 64 => most(a) >> by,
                (Binary::LShr, _) => most(a),
                _ => all,
            },
        }
    }

    pub(crate) fn is_never_negative(&self, term: Term) -> bool {
        self.most(term) <= mask(self.bits(term)) >> 1
    }

    /// A division by a constant, or what is left by it, as less than that.
    pub(crate) fn divided(&mut self, op: Binary, a: Term, by: u64, bits: u32) -> Option<Term> {
        use Binary::*;
        let is_plain = self.is_never_negative(a) && by <= mask(bits) >> 1;
        let op = match op {
            SDiv if is_plain => UDiv,
            SRem if is_plain => URem,
            op => op,
        };
        let most = self.most(a);
        match op {
            _ if by == 0 => return None,
            UDiv if most < by => return Some(self.constant(0, bits)),
            URem if most < by => return Some(a),
            URem if by.checked_mul(2).is_some_and(|twice| most < twice) => {
                let divisor = self.constant(by, bits);
                let (is_less, rest) = (self.ult(a, divisor), self.binary(Sub, a, divisor));
                let left = self.ite(is_less, a, rest);
                // The parts do not show it.
                let known = &mut self.mosts[left.0 as usize];
                *known = (by - 1).min(*known);
                return Some(left);
            }
            UDiv | URem => {}
            _ => return None,
        }
        // As few bits as it takes.
        let narrow = u64::BITS - most.leading_zeros();
        if narrow < bits {
            let (low, divisor) = (self.extract(a, 0, narrow), self.constant(by, narrow));
            let result = self.binary(op, low, divisor);
            return Some(self.zero_extend(result, bits));
        }
        is_plain.then(|| {
            let divisor = self.constant(by, bits);
            self.intern(Node::Binary(op, a, divisor), bits)
        })
    }

    /// A comparison that the ranges decide, or that needs no sign.
    pub(crate) fn compared(&mut self, op: Compare, a: Term, b: Term) -> Option<Term> {
        let (most, least) = (self.most(a), self.value(b)?);
        match op {
            Compare::Eq if most < least => Some(self.bit(false)),
            Compare::Ult if most < least => Some(self.bit(true)),
            Compare::Ule if most <= least => Some(self.bit(true)),
            Compare::Slt if self.is_never_negative(a) && self.is_never_negative(b) => Some(self.ult(a, b)),
            Compare::Sle if self.is_never_negative(a) && self.is_never_negative(b) => Some(self.ule(a, b)),
            _ => None,
        }
    }
}

/// All bits set up to the highest of `value`.
fn ones(value: u64) -> u64 {
    if value == 0 { 0 } else { u64::MAX >> value.leading_zeros() }
}
