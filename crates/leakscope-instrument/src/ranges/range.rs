//! Sets of integers from a lowest to a highest one, as signed numbers of some
//! bits; a number of one bit is 0 or 1.

use llvm_sys::LLVMIntPredicate::{self, *};

use crate::ir::Opcode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub low: i128,
    pub high: i128,
}

impl Range {
    pub fn one(value: i128) -> Range {
        Range { low: value, high: value }
    }

    /// All numbers of so many bits.
    pub fn all(bits: u32) -> Range {
        match bits {
            1 => Range { low: 0, high: 1 },
            bits => Range { low: -(1 << (bits - 1)), high: (1 << (bits - 1)) - 1 },
        }
    }

    /// Itself, if all of it has room in so many bits; else anything: it may wrap around.
    fn within(self, bits: u32) -> Range {
        let all = Range::all(bits);
        if all.low <= self.low && self.high <= all.high { self } else { all }
    }

    pub fn only(self) -> Option<i128> {
        (self.low == self.high).then_some(self.low)
    }

    pub fn join(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// What is in both; `None` if nothing is.
    pub fn meet(self, other: Range) -> Option<Range> {
        let both = Range { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }

    /// At least `new`, which is larger than this: ends that moved go to the next step, so that
    /// none moves for ever.
    pub fn widened(self, new: Range, steps: &[i128], bits: u32) -> Range {
        let all = Range::all(bits);
        let new = self.join(new);
        let low = match new.low < self.low {
            true => steps.iter().rev().copied().find(|&step| step <= new.low).unwrap_or(all.low).max(all.low),
            false => new.low,
        };
        let high = match new.high > self.high {
            true => steps.iter().copied().find(|&step| step >= new.high).unwrap_or(all.high).min(all.high),
            false => new.high,
        };
        Range { low, high }
    }

    fn is_natural(self) -> bool {
        self.low >= 0
    }

    /// What an operation on two numbers of so many bits can give.
    pub fn computed(op: Opcode, a: Range, b: Range, bits: u32) -> Range {
        let all = Range::all(bits);
        if bits == 1 {
            return match (op, a.only(), b.only()) {
                (Opcode::LLVMAnd, Some(0), _) | (Opcode::LLVMAnd, _, Some(0)) => Range::one(0),
                (Opcode::LLVMAnd, Some(1), Some(1)) => Range::one(1),
                (Opcode::LLVMOr, Some(1), _) | (Opcode::LLVMOr, _, Some(1)) => Range::one(1),
                (Opcode::LLVMOr, Some(0), Some(0)) => Range::one(0),
                (Opcode::LLVMXor, Some(a), Some(b)) => Range::one(a ^ b),
                _ => all,
            };
        }
        let shift = b.only().filter(|by| (0..i128::from(bits)).contains(by));
        match op {
            Opcode::LLVMAdd => Range { low: a.low + b.low, high: a.high + b.high }.within(bits),
            Opcode::LLVMSub => Range { low: a.low - b.high, high: a.high - b.low }.within(bits),
            Opcode::LLVMMul => {
                let [w, x, y, z] = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
                Range { low: w.min(x).min(y).min(z), high: w.max(x).max(y).max(z) }.within(bits)
            }
            Opcode::LLVMUDiv | Opcode::LLVMSDiv if a.is_natural() && b.low > 0 => {
                Range { low: a.low / b.high, high: a.high / b.low }
            }
            Opcode::LLVMURem if b.low > 0 => {
                let high = if a.is_natural() { a.high.min(b.high - 1) } else { b.high - 1 };
                Range { low: 0, high }
            }
            Opcode::LLVMSRem if b.low > 0 => {
                let high = a.high.min(b.high - 1).max(0);
                Range { low: if a.is_natural() { 0 } else { 1 - b.high }, high }
            }
            Opcode::LLVMAnd => match (a.is_natural(), b.is_natural()) {
                (true, true) => Range { low: 0, high: a.high.min(b.high) },
                (true, false) => Range { low: 0, high: a.high },
                (false, true) => Range { low: 0, high: b.high },
                (false, false) => all,
            },
            Opcode::LLVMOr | Opcode::LLVMXor if a.is_natural() && b.is_natural() => {
                let low = if op == Opcode::LLVMOr { a.low.max(b.low) } else { 0 };
                Range { low, high: (a.high.max(b.high) as u128 + 1).next_power_of_two() as i128 - 1 }
            }
            Opcode::LLVMShl => match shift {
                Some(by) => Range { low: a.low << by, high: a.high << by }.within(bits),
                None => all,
            },
            Opcode::LLVMLShr => match shift {
                Some(by) if a.is_natural() => Range { low: a.low >> by, high: a.high >> by },
                Some(by) if by > 0 => Range { low: 0, high: ((1i128 << bits) - 1) >> by },
                _ if a.is_natural() => Range { low: 0, high: a.high },
                _ => all,
            },
            Opcode::LLVMAShr => match shift {
                Some(by) => Range { low: a.low >> by, high: a.high >> by },
                None => Range { low: a.low.min(0), high: a.high.max(-1) },
            },
            _ => all,
        }
    }

    /// What a conversion from numbers of so many bits to others gives.
    pub fn converted(self, op: Opcode, from: u32, to: u32) -> Range {
        match op {
            Opcode::LLVMZExt if !self.is_natural() => Range { low: 0, high: (1 << from) - 1 },
            Opcode::LLVMSExt if from == 1 => Range { low: -self.high, high: -self.low },
            Opcode::LLVMZExt | Opcode::LLVMSExt => self,
            _ => self.within(to),
        }
    }

    /// Whether a comparison of two numbers is known.
    pub fn compared(predicate: LLVMIntPredicate, a: Range, b: Range) -> Option<bool> {
        if a.meet(allowed(predicate, b, a)).is_none() {
            return Some(false);
        }
        a.meet(allowed(opposite(predicate), b, a)).is_none().then_some(true)
    }
}

pub fn opposite(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    match predicate {
        LLVMIntEQ => LLVMIntNE,
        LLVMIntNE => LLVMIntEQ,
        LLVMIntUGT => LLVMIntULE,
        LLVMIntUGE => LLVMIntULT,
        LLVMIntULT => LLVMIntUGE,
        LLVMIntULE => LLVMIntUGT,
        LLVMIntSGT => LLVMIntSLE,
        LLVMIntSGE => LLVMIntSLT,
        LLVMIntSLT => LLVMIntSGE,
        LLVMIntSLE => LLVMIntSGT,
    }
}

pub fn mirrored(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    match predicate {
        LLVMIntUGT => LLVMIntULT,
        LLVMIntUGE => LLVMIntULE,
        LLVMIntULT => LLVMIntUGT,
        LLVMIntULE => LLVMIntUGE,
        LLVMIntSGT => LLVMIntSLT,
        LLVMIntSGE => LLVMIntSLE,
        LLVMIntSLT => LLVMIntSGT,
        LLVMIntSLE => LLVMIntSGE,
        same => same,
    }
}

/// Where a number is for which the comparison with one of `other` holds, as far as ends
/// can say; it is known to be in `own`.
pub fn allowed(predicate: LLVMIntPredicate, other: Range, own: Range) -> Range {
    const FAR: i128 = 1 << 100;
    let (from, to) = (|low: i128| Range { low, high: FAR }, |low: i128, high: i128| Range { low, high });
    let naturals = own.is_natural() && other.is_natural();
    let all = to(-FAR, FAR);
    match predicate {
        LLVMIntEQ => other,
        LLVMIntNE => match other.only() {
            Some(only) if own.only() == Some(only) => to(FAR, FAR),
            Some(only) if own.low == only => from(only + 1),
            Some(only) if own.high == only => to(-FAR, only - 1),
            _ => all,
        },
        LLVMIntSLT => to(-FAR, other.high - 1),
        LLVMIntSLE => to(-FAR, other.high),
        LLVMIntSGT => from(other.low + 1),
        LLVMIntSGE => from(other.low),
        // As unsigned numbers, negative ones are larger than all others.
        LLVMIntULT if other.is_natural() => to(0, other.high - 1),
        LLVMIntULE if other.is_natural() => to(0, other.high),
        LLVMIntUGT if naturals => from(other.low + 1),
        LLVMIntUGE if naturals => from(other.low),
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BITS: u32 = 5;

    fn some() -> impl Strategy<Value = (Range, i128)> {
        (-16i128..16, -16i128..16, 0i128..1000).prop_map(|(a, b, at)| {
            let range = Range { low: a.min(b), high: a.max(b) };
            (range, range.low + at % (range.high - range.low + 1))
        })
    }

    fn wrapped(value: i128) -> i128 {
        (value + 16).rem_euclid(32) - 16
    }

    fn unsigned(value: i128) -> i128 {
        value.rem_euclid(32)
    }

    fn holds(predicate: LLVMIntPredicate, a: i128, b: i128) -> bool {
        let (ua, ub) = (unsigned(a), unsigned(b));
        match predicate {
            LLVMIntEQ => a == b,
            LLVMIntNE => a != b,
            LLVMIntUGT => ua > ub,
            LLVMIntUGE => ua >= ub,
            LLVMIntULT => ua < ub,
            LLVMIntULE => ua <= ub,
            LLVMIntSGT => a > b,
            LLVMIntSGE => a >= b,
            LLVMIntSLT => a < b,
            LLVMIntSLE => a <= b,
        }
    }

    fn has(range: Range, value: i128) -> bool {
        range.meet(Range::one(value)).is_some()
    }

    proptest! {
        #[test]
        fn results_are_in_what_is_computed((a, x) in some(), (b, y) in some()) {
            use Opcode::*;
            let shift = (0..5).contains(&y).then_some(y);
            let results = [
                (LLVMAdd, Some(x + y)),
                (LLVMSub, Some(x - y)),
                (LLVMMul, Some(x * y)),
                (LLVMUDiv, (y != 0).then(|| unsigned(x) / unsigned(y))),
                (LLVMSDiv, (y != 0).then(|| x / y)),
                (LLVMURem, (y != 0).then(|| unsigned(x) % unsigned(y))),
                (LLVMSRem, (y != 0).then(|| x % y)),
                (LLVMAnd, Some(x & y)),
                (LLVMOr, Some(x | y)),
                (LLVMXor, Some(x ^ y)),
                (LLVMShl, shift.map(|by| x << by)),
                (LLVMLShr, shift.map(|by| unsigned(x) >> by)),
                (LLVMAShr, shift.map(|by| x >> by)),
            ];
            for (op, result) in results {
                if let Some(result) = result {
                    let range = Range::computed(op, a, b, BITS);
                    prop_assert!(has(range, wrapped(result)), "{op:?} of {x} and {y}: {range:?}");
                }
            }
        }

        #[test]
        fn conversions_keep_numbers((a, x) in some()) {
            prop_assert!(has(a.converted(Opcode::LLVMZExt, BITS, 9), unsigned(x)));
            prop_assert!(has(a.converted(Opcode::LLVMSExt, BITS, 9), x));
            let short = (x + 4).rem_euclid(8) - 4;
            prop_assert!(has(a.converted(Opcode::LLVMTrunc, BITS, 3), short));
        }

        #[test]
        fn comparisons_are_right((a, x) in some(), (b, y) in some()) {
            let all = [
                LLVMIntEQ, LLVMIntNE, LLVMIntUGT, LLVMIntUGE, LLVMIntULT, LLVMIntULE, LLVMIntSGT, LLVMIntSGE,
                LLVMIntSLT, LLVMIntSLE,
            ];
            for predicate in all {
                let is = holds(predicate, x, y);
                prop_assert_eq!(holds(opposite(predicate), x, y), !is);
                prop_assert_eq!(holds(mirrored(predicate), y, x), is);
                prop_assert!(Range::compared(predicate, a, b).is_none_or(|known| known == is));
                if is {
                    prop_assert!(has(allowed(predicate, b, a), x), "{predicate:?} {x} {y}");
                }
            }
        }

        #[test]
        fn what_is_widened_holds_both((a, x) in some(), (b, y) in some()) {
            let wide = a.widened(b, &[-3, 0, 7], BITS);
            prop_assert!(has(wide, x) && has(wide, y));
            prop_assert!(has(a.join(b), x) && has(a.join(b), y));
        }
    }
}
