//! How far values of a function are apart: `a - b` is at most so much (Miné, "A New Numerical
//! Abstract Domain Based on Difference-Bound Matrices", 2001, where only some pairs have an
//! entry and paths of two steps are looked at). Numbers are taken as signed ones, and sums
//! only where they do not wrap around.
//!
//! A gap is about the numbers that two values have now. In the next lap of a loop, a value has its
//! old number until it is computed again; so what it is computed from is looked at only where
//! code uses it, which is always behind that.

use llvm_sys::LLVMIntPredicate::{self, *};
use rustc_hash::{FxHashMap, FxHashSet};

use super::flow::{Flow, Known};
use super::range::Range;
use super::{bits_of, number};
use crate::ir::{Block, Opcode, Value};

/// Blocks to go through again when what was known of a value is not true any more.
pub type Watched<'m> = FxHashMap<Value<'m>, FxHashSet<usize>>;

/// More than all numbers.
const FAR: i128 = 1 << 100;

/// How far sums and choices are followed.
const MOST_DEEP: u32 = 4;

/// Of a block with more phis only the first ones, and of a place with more gaps none, are followed.
const MOST_PHIS: usize = 12;
const MOST_GAPS: usize = 256;

/// For pairs of values, what their difference is at most. None is a constant, a sum with one,
/// or an extension.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaps<'m>(FxHashMap<(Value<'m>, Value<'m>), i128>);

impl<'m> Gaps<'m> {
    pub fn forget(&mut self, value: Value<'m>) {
        self.0.retain(|&(a, b), _| a != value && b != value);
    }

    pub fn extend(&mut self, more: Gaps<'m>) {
        for ((a, b), most) in more.0 {
            self.add(a, b, most);
        }
        self.bound();
    }

    fn add(&mut self, a: Value<'m>, b: Value<'m>, most: i128) {
        if most < FAR / 2 && a != b {
            let known = self.0.entry((a, b)).or_insert(most);
            *known = most.min(*known);
        }
    }

    fn bound(&mut self) {
        if self.0.len() > MOST_GAPS {
            self.0.clear();
        }
    }

    /// Leaves those that are as they were.
    pub fn keep_settled(&mut self, before: &Gaps<'m>) {
        self.0.retain(|pair, most| before.0.get(pair) == Some(most));
    }

    fn get(&self, a: Value<'m>, b: Value<'m>) -> i128 {
        let direct = self.0.get(&(a, b)).copied().unwrap_or(FAR);
        let over = |(&(from, by), &first): (&(Value<'m>, Value<'m>), &i128)| {
            (from == a).then(|| self.0.get(&(by, b)).map(|second| first + second)).flatten()
        };
        self.0.iter().filter_map(over).fold(direct, i128::min)
    }
}

impl<'m> Flow<'_, 'm> {
    /// What a value is; these blocks are gone through again when it grows.
    fn relied_on(&self, known: &Known<'m>, value: Value<'m>, by: &[usize]) -> Option<Range> {
        if value.opcode().is_some() {
            self.watched.borrow_mut().entry(value).or_default().extend(by);
        }
        self.range(known, value)
    }

    /// What a value is, by what it is compared with too.
    pub fn tight(&self, known: &Known<'m>, value: Value<'m>) -> Option<Range> {
        self.tight_for(known, value, &[self.here])
    }

    fn tight_for(&self, known: &Known<'m>, value: Value<'m>, by: &[usize]) -> Option<Range> {
        let anyhow = self.relied_on(known, value, by)?;
        let mut range = anyhow;
        for (&(a, b), &most) in &known.gaps.0 {
            if a == value
                && let Some(other) = self.relied_on(known, b, by)
            {
                range.high = range.high.min(other.high + most);
            } else if b == value
                && let Some(other) = self.relied_on(known, a, by)
            {
                range.low = range.low.max(other.low - most);
            }
        }
        Some(if range.low <= range.high { range } else { anyhow })
    }

    /// A value as another one and what is added to that.
    fn base(&self, known: &Known<'m>, value: Value<'m>, by: &[usize]) -> (Value<'m>, i128) {
        let (mut base, mut added) = (value, 0);
        loop {
            let inner = match base.opcode() {
                Some(Opcode::LLVMZExt | Opcode::LLVMSExt | Opcode::LLVMAdd) => base.operand(0),
                _ => return (base, added),
            };
            let (Some(from), Some(range)) = (bits_of(inner), self.tight_for(known, inner, by)) else {
                return (base, added);
            };
            let more = match base.opcode() {
                Some(Opcode::LLVMZExt) if range.low >= 0 => Some(0),
                Some(Opcode::LLVMSExt) if from > 1 => Some(0),
                Some(Opcode::LLVMAdd) => number(base.operand(1)).filter(|more| {
                    let all = Range::all(from);
                    range.low + more >= all.low && range.high + more <= all.high
                }),
                _ => None,
            };
            let Some(more) = more else { return (base, added) };
            (base, added) = (inner, added + more);
        }
    }

    /// What the difference of two values that are used here is at most.
    fn gap(&self, known: &Known<'m>, a: Value<'m>, b: Value<'m>, depth: u32) -> i128 {
        let by = [self.here];
        let plain = self.plain_gap(known, a, b, &by);
        let ((a, more), (b, less)) = (self.base(known, a, &by), self.base(known, b, &by));
        let most = plain.min(self.plain_gap(known, a, b, &by) + more - less);
        if depth == MOST_DEEP {
            return most;
        }
        let either = |[yes, no]: [i128; 2]| most.min(yes.max(no) + more - less);
        if a.is(Opcode::LLVMSelect) {
            return either([1, 2].map(|index| self.gap(known, a.operand(index), b, depth + 1)));
        }
        if b.is(Opcode::LLVMSelect) {
            return either([1, 2].map(|index| self.gap(known, a, b.operand(index), depth + 1)));
        }
        most
    }

    /// The same of values that may be old: what is known of their numbers.
    fn plain_gap(&self, known: &Known<'m>, a: Value<'m>, b: Value<'m>, by: &[usize]) -> i128 {
        if a == b && is_one_number(a) {
            return 0;
        }
        let [high, low] = [a, b].map(|value| self.tight_for(known, value, by));
        let (Some(high), Some(low)) = (high, low) else { return FAR };
        (high.high - low.low).min(known.gaps.get(a, b))
    }

    /// What a difference is, if it does not wrap around.
    pub fn difference(&self, known: &Known<'m>, a: Value<'m>, b: Value<'m>, bits: u32) -> Option<Range> {
        let range = Range { low: -self.gap(known, b, a, 0), high: self.gap(known, a, b, 0) };
        let all = Range::all(bits);
        (all.low <= range.low && range.low <= range.high && range.high <= all.high).then_some(range)
    }

    /// A comparison holds; false if it never does. Where it is one of unsigned numbers, ranges
    /// have been narrowed by it.
    pub fn note_compared(
        &self,
        known: &mut Known<'m>,
        holds: LLVMIntPredicate,
        a: Value<'m>,
        b: Value<'m>,
    ) -> bool {
        // A truth has no sign.
        if bits_of(a) == Some(1) {
            return true;
        }
        let by = [self.here];
        let ranges = [a, b].map(|value| self.relied_on(known, value, &by));
        let [Some(of_a), Some(of_b)] = ranges else { return false };
        let are_natural = of_a.low >= 0 && of_b.low >= 0;
        match holds {
            LLVMIntEQ => self.note_gap(known, a, b, 0) && self.note_gap(known, b, a, 0),
            LLVMIntNE => {
                let [up, down] = [(a, b), (b, a)].map(|(a, b)| self.gap(known, a, b, 0));
                (up != 0 || self.note_gap(known, a, b, -1)) && (down != 0 || self.note_gap(known, b, a, -1))
            }
            LLVMIntSLT => self.note_gap(known, a, b, -1),
            LLVMIntSLE => self.note_gap(known, a, b, 0),
            LLVMIntSGT => self.note_gap(known, b, a, -1),
            LLVMIntSGE => self.note_gap(known, b, a, 0),
            LLVMIntULT if are_natural => self.note_gap(known, a, b, -1),
            LLVMIntULE if are_natural => self.note_gap(known, a, b, 0),
            LLVMIntUGT if are_natural => self.note_gap(known, b, a, -1),
            LLVMIntUGE if are_natural => self.note_gap(known, b, a, 0),
            _ => true,
        }
    }

    /// A difference is at most this; false if that is never so.
    fn note_gap(&self, known: &mut Known<'m>, a: Value<'m>, b: Value<'m>, most: i128) -> bool {
        if self.gap(known, b, a, 0) + most < 0 {
            return false;
        }
        let by = [self.here];
        let ((a, more), (b, less)) = (self.base(known, a, &by), self.base(known, b, &by));
        if is_one_number(a) && is_one_number(b) {
            known.gaps.add(a, b, most - more + less);
            known.gaps.bound();
        }
        true
    }

    /// Gaps of the phis of a block that is come to from another.
    pub fn gaps_of_phis(&self, known: &Known<'m>, from: Block<'m>, phis: &[Value<'m>]) -> Gaps<'m> {
        let by = [self.here];
        let incoming = |phi: Value<'m>| {
            let mut ways = phi.incoming().filter(|(block, _)| block.raw == from.raw);
            ways.next().map(|(_, value)| (phi, value))
        };
        let numbers = phis.iter().filter(|&&phi| bits_of(phi).is_some_and(|bits| bits > 1));
        let new: Vec<(Value<'m>, Value<'m>)> =
            numbers.take(MOST_PHIS).filter_map(|&phi| incoming(phi)).collect();
        let mut gaps = Gaps::default();
        for &(phi, value) in &new {
            for &(other, beside) in new.iter().filter(|(other, _)| *other != phi) {
                gaps.add(phi, other, self.gap(known, value, beside, 0));
            }
            let (base, added) = self.base(known, value, &by);
            if !is_one_number(base) {
                continue;
            }
            let stays = |value: Value<'m>| !phis.contains(&value);
            if stays(base) {
                gaps.add(phi, base, added);
                gaps.add(base, phi, -added);
            }
            for (&(a, b), &most) in &known.gaps.0 {
                if a == base && stays(b) {
                    gaps.add(phi, b, most + added);
                } else if b == base && stays(a) {
                    gaps.add(a, phi, most - added);
                }
            }
        }
        gaps
    }

    /// Gaps that hold whichever of two states there is where a block begins.
    pub fn joined_gaps(&self, block: Block<'m>, before: &Known<'m>, new: &Known<'m>) -> Gaps<'m> {
        let mut joined = self.kept_gaps(before, new);
        let ways_in: Vec<usize> =
            block.ways_in().filter_map(|end| self.numbers.get(&end.block().raw).copied()).collect();
        for (&(a, b), &most) in new.gaps.0.iter().filter(|(pair, _)| !before.gaps.0.contains_key(pair)) {
            joined.add(a, b, most.max(self.plain_gap(before, a, b, &ways_in)));
        }
        joined
    }

    /// The same for those that are known already.
    pub fn kept_gaps(&self, before: &Known<'m>, new: &Known<'m>) -> Gaps<'m> {
        let mut kept = Gaps::default();
        for (&(a, b), &most) in &before.gaps.0 {
            kept.add(a, b, most.max(self.plain_gap(new, a, b, &[self.here])));
        }
        kept
    }
}

/// Whether a value is the same number wherever it is used; what is not defined is not.
fn is_one_number(value: Value<'_>) -> bool {
    value.opcode().is_some() || value.is_parameter()
}
