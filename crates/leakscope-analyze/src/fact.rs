//! What is known of a number or pointer: an interval, and whether it is zero.

use leakscope_ir::Compare;
use serde::{Deserialize, Serialize};

/// Where numbers of errors begin that stand in the place of pointers.
const LAST_PAGE: i64 = -4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fact {
    pub low: i64,
    pub high: i64,
    pub is_nonzero: bool,
}

impl Fact {
    pub const ANY: Fact = Fact { low: i64::MIN, high: i64::MAX, is_nonzero: false };
    pub const NONZERO: Fact = Fact { is_nonzero: true, ..Fact::ANY };
    /// Addresses of objects: not small numbers that stand for something else.
    pub const ADDRESS: Fact = Fact { low: 4096, high: i64::MAX, is_nonzero: true };
    pub const TRUTH: Fact = Fact { low: 0, high: 1, is_nonzero: false };
    pub const POSITIVE: Fact = Fact { low: 1, high: i64::MAX, is_nonzero: true };
    pub const NOT_NEGATIVE: Fact = Fact { low: 0, high: i64::MAX, is_nonzero: false };

    pub fn exactly(number: i64) -> Fact {
        Fact { low: number, high: number, is_nonzero: number != 0 }
    }

    pub fn at_least(low: i64) -> Fact {
        Fact { low, ..Fact::ANY }.and(Fact::ANY).unwrap_or(Fact::ANY)
    }

    pub fn number(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    pub fn is_zero(self) -> bool {
        self.number() == Some(0)
    }

    fn is_empty(self) -> bool {
        self.low > self.high || self.is_nonzero && self.low == 0 && self.high == 0
    }

    pub fn contains(self, number: i64) -> bool {
        self.low <= number && number <= self.high && !(number == 0 && self.is_nonzero)
    }

    /// Both at once; `None` where they exclude each other.
    pub fn and(self, other: Fact) -> Option<Fact> {
        let mut fact = Fact {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
            is_nonzero: self.is_nonzero || other.is_nonzero,
        };
        if fact.is_nonzero && fact.low == 0 {
            fact.low = 1;
        }
        if fact.is_nonzero && fact.high == 0 {
            fact.high = -1;
        }
        fact.is_nonzero |= fact.low > 0 || fact.high < 0;
        (!fact.is_empty()).then_some(fact)
    }

    /// One of both.
    pub fn or(self, other: Fact) -> Fact {
        Fact {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            is_nonzero: self.is_nonzero && other.is_nonzero,
        }
    }

    /// What is left of `self` when it goes on growing towards `next`. What is
    /// counted down often ends at 0, or one further.
    pub fn widen(self, next: Fact) -> Fact {
        let low = match next.low {
            low if low >= self.low => self.low,
            0.. => 0,
            -1 => -1,
            _ => i64::MIN,
        };
        let high = if next.high > self.high { i64::MAX } else { self.high };
        let reaches_zero = low < self.low && self.low > 0 || high > self.high && self.high < 0;
        Fact { low, high, is_nonzero: self.is_nonzero && next.is_nonzero && !reaches_zero }
    }

    /// Of the number that is `bytes` more.
    pub fn plus(self, bytes: i64) -> Fact {
        if bytes == 0 {
            return self;
        }
        let shift = |bound: i64| match bound {
            i64::MIN | i64::MAX => bound,
            bound => bound.saturating_add(bytes),
        };
        let (low, high) = (shift(self.low), shift(self.high));
        Fact { low, high, is_nonzero: low > 0 || high < 0 }
    }

    /// Of a number that compares so with `other`.
    pub fn compared(op: Compare, other: i64) -> Fact {
        let bounds = |low, high| Fact { low, high, is_nonzero: low > 0 || high < 0 };
        match op {
            Compare::Eq => Fact::exactly(other),
            Compare::Ne if other == 0 => Fact::NONZERO,
            Compare::Lt => bounds(i64::MIN, other.saturating_sub(1)),
            Compare::Le => bounds(i64::MIN, other),
            Compare::Gt => bounds(other.saturating_add(1), i64::MAX),
            Compare::Ge => bounds(other, i64::MAX),
            Compare::Below if other > 0 => bounds(0, other - 1),
            Compare::NotAbove if other >= 0 => bounds(0, other),
            Compare::Above if other == 0 => Fact::NONZERO,
            // Numbers of errors in the place of a pointer: the last page of all addresses.
            Compare::NotBelow if other < 0 => bounds(other, -1),
            Compare::Above if (i64::MIN..-1).contains(&other) => bounds(other + 1, -1),
            Compare::Below if (LAST_PAGE..0).contains(&other) => Fact::NOT_NEGATIVE,
            Compare::NotAbove if (LAST_PAGE - 1..-1).contains(&other) => Fact::NOT_NEGATIVE,
            _ => Fact::ANY,
        }
    }

    /// The answer of a comparison, if all numbers give the same.
    pub fn compare(self, op: Compare, other: Fact) -> Option<bool> {
        if let (Some(left), Some(right)) = (self.number(), other.number()) {
            return Some(match op {
                Compare::Eq => left == right,
                Compare::Ne => left != right,
                Compare::Lt => left < right,
                Compare::Le => left <= right,
                Compare::Gt => left > right,
                Compare::Ge => left >= right,
                Compare::Below => (left as u64) < right as u64,
                Compare::NotAbove => left as u64 <= right as u64,
                Compare::Above => left as u64 > right as u64,
                Compare::NotBelow => left as u64 >= right as u64,
                Compare::Other => return None,
            });
        }
        match op {
            Compare::Eq => self.and(other).is_none().then_some(false),
            Compare::Ne => self.and(other).is_none().then_some(true),
            Compare::Lt => ordered(self.high < other.low, self.low >= other.high),
            Compare::Le => ordered(self.high <= other.low, self.low > other.high),
            Compare::Gt => ordered(self.low > other.high, self.high <= other.low),
            Compare::Ge => ordered(self.low >= other.high, self.high < other.low),
            // Of one sign, numbers compare in one way only; else the negative one is above.
            Compare::Below => self.compare_unsigned(Compare::Lt, other),
            Compare::NotAbove => self.compare_unsigned(Compare::Le, other),
            Compare::Above if other.is_zero() && self.is_nonzero => Some(true),
            Compare::Above => self.compare_unsigned(Compare::Gt, other),
            Compare::NotBelow => self.compare_unsigned(Compare::Ge, other),
            Compare::Other => None,
        }
    }

    fn compare_unsigned(self, op: Compare, other: Fact) -> Option<bool> {
        match (self.is_negative()?, other.is_negative()?) {
            (left, right) if left == right => self.compare(op, other),
            (is_above, _) => Some(is_above == matches!(op, Compare::Gt | Compare::Ge)),
        }
    }

    /// Whether all of these numbers are negative, or none.
    fn is_negative(self) -> Option<bool> {
        ordered(self.high < 0, self.low >= 0)
    }
}

fn ordered(yes: bool, no: bool) -> Option<bool> {
    if yes {
        Some(true)
    } else if no {
        Some(false)
    } else {
        None
    }
}

/// The comparison that holds where `op` does not.
pub fn negated(op: Compare) -> Compare {
    match op {
        Compare::Eq => Compare::Ne,
        Compare::Ne => Compare::Eq,
        Compare::Lt => Compare::Ge,
        Compare::Le => Compare::Gt,
        Compare::Gt => Compare::Le,
        Compare::Ge => Compare::Lt,
        Compare::Below => Compare::NotBelow,
        Compare::NotAbove => Compare::Above,
        Compare::Above => Compare::NotAbove,
        Compare::NotBelow => Compare::Below,
        Compare::Other => Compare::Other,
    }
}

/// The comparison of numbers with a sign that is the same where nothing overflows.
pub fn of_signed(op: Compare) -> Compare {
    match op {
        Compare::Below => Compare::Lt,
        Compare::NotAbove => Compare::Le,
        Compare::Above => Compare::Gt,
        Compare::NotBelow => Compare::Ge,
        same => same,
    }
}

/// The comparison with its sides exchanged.
pub fn swapped(op: Compare) -> Compare {
    match op {
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
        Compare::Below => Compare::Above,
        Compare::NotAbove => Compare::NotBelow,
        Compare::Above => Compare::Below,
        Compare::NotBelow => Compare::NotAbove,
        same => same,
    }
}
