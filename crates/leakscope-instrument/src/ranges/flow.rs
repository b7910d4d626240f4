//! One function: what its values can be in each of its blocks.

use std::cell::RefCell;
use std::collections::BTreeSet;

use llvm_sys::LLVMIntPredicate;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;

use super::cells::CellId;
use super::gaps::{Gaps, Watched};
use super::range::{Range, allowed, mirrored, opposite};
use super::{Grown, MOST_VISITS, PATIENCE, World, bits_of, library, number};
use crate::ir::{Block, Opcode, Value};
use crate::llvm::Function;

/// How far a condition is followed to what it is made of.
const MOST_DEEP: u32 = 8;

pub struct Flow<'w, 'm> {
    world: &'w mut World<'m>,
    function: Function<'m>,
    blocks: Vec<Block<'m>>,
    pub(super) numbers: FxHashMap<LLVMBasicBlockRef, usize>,
    /// What values are where they come to be.
    values: FxHashMap<Value<'m>, Grown>,
    /// What is known where blocks begin, of those that are come to, and how often that changed.
    entries: Vec<Option<Entry<'m>>>,
    waiting: BTreeSet<usize>,
    /// The block that is gone through.
    pub(super) here: usize,
    /// Blocks to go through again when a value grows, beside those that use it: its range was
    /// asked for there, by a condition that is computed elsewhere, or by gaps.
    pub(super) watched: RefCell<Watched<'m>>,
}

/// What is known where a block begins, and how often that changed, and only gaps did.
#[derive(Clone)]
struct Entry<'m> {
    known: Known<'m>,
    times: u32,
    gap_times: u32,
}

/// What is known at a place beyond what values are anyway.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known<'m> {
    pub(super) values: FxHashMap<Value<'m>, Range>,
    cells: FxHashMap<CellId, Range>,
    /// The value that a variable has.
    same: FxHashMap<CellId, Value<'m>>,
    pub(super) gaps: Gaps<'m>,
}

impl<'m> Known<'m> {
    /// A value is computed anew.
    fn forget(&mut self, value: Value<'m>) {
        self.values.remove(&value);
        self.gaps.forget(value);
        self.same.retain(|_, same| *same != value);
    }

    fn forget_cells<'c>(&mut self, cells: impl IntoIterator<Item = &'c CellId>) {
        for cell in cells {
            self.cells.remove(cell);
            self.same.remove(cell);
        }
    }

    /// What holds if either does.
    fn or(&self, other: &Known<'m>) -> Known<'m> {
        let joined = |a: Range, b: Option<&Range>| b.map(|&b| a.join(b));
        let values = self.values.iter();
        let cells = self.cells.iter();
        Known {
            values: values.filter_map(|(&of, &a)| Some((of, joined(a, other.values.get(&of))?))).collect(),
            cells: cells.filter_map(|(&of, &a)| Some((of, joined(a, other.cells.get(&of))?))).collect(),
            same: self
                .same
                .iter()
                .filter(|(cell, value)| other.same.get(cell) == Some(value))
                .map(|(&cell, &value)| (cell, value))
                .collect(),
            // The flow knows more of them.
            gaps: Gaps::default(),
        }
    }
}

impl<'w, 'm> Flow<'w, 'm> {
    pub fn new(world: &'w mut World<'m>, function: Function<'m>) -> Flow<'w, 'm> {
        let blocks: Vec<Block<'m>> = function.blocks().collect();
        let numbers = blocks.iter().enumerate().map(|(number, block)| (block.raw, number)).collect();
        let entries = vec![None; blocks.len()];
        let values = FxHashMap::default();
        let (waiting, watched) = (BTreeSet::new(), RefCell::default());
        Flow { world, function, blocks, numbers, values, entries, waiting, here: 0, watched }
    }

    /// Goes on until nothing is new; `None` if that takes too long.
    pub fn run(mut self) -> Option<()> {
        self.enter(self.function.entry(), Known::default());
        while let Some(block) = self.waiting.pop_first() {
            self.world.visits += 1;
            if self.world.visits > MOST_VISITS {
                return None;
            }
            let known = self.entries[block].as_ref()?.known.clone();
            self.here = block;
            self.pass(self.blocks[block], known);
        }
        Some(())
    }

    /// A block is come to, with this known.
    fn enter(&mut self, block: Block<'m>, known: Known<'m>) {
        let number = self.numbers[&block.raw];
        let Some(Entry { known: before, times, gap_times }) = &self.entries[number] else {
            self.entries[number] = Some(Entry { known, times: 0, gap_times: 0 });
            self.waiting.insert(number);
            return;
        };
        let mut both = before.or(&known);
        both.gaps = match *gap_times < PATIENCE {
            true => self.joined_gaps(block, before, &known),
            false => self.kept_gaps(before, &known),
        };
        if *gap_times > PATIENCE {
            both.gaps.keep_settled(&before.gaps);
        }
        if both == *before {
            return;
        }
        let gap_times = gap_times + u32::from(both.gaps != before.gaps);
        let has_moved =
            (&both.values, &both.cells, &both.same) != (&before.values, &before.cells, &before.same);
        let times = times + u32::from(has_moved);
        if times > PATIENCE {
            // What still moves goes on in steps, and then is not followed here.
            let steps = &self.world.steps;
            let widen = |range: &mut Range, old: Option<&Range>, bits: u32| {
                if let Some(old) = old.filter(|old| *old != range) {
                    *range = old.widened(*range, steps, bits);
                }
            };
            for (of, range) in &mut both.values {
                widen(range, before.values.get(of), bits_of(*of).unwrap_or(64));
            }
            for (cell, range) in &mut both.cells {
                widen(range, before.cells.get(cell), self.world.cells.all[*cell].bits);
            }
            if times > super::MOST_STEPS {
                both.values.retain(|of, range| before.values.get(of) == Some(range));
                both.cells.retain(|of, range| before.cells.get(of) == Some(range));
            }
        }
        self.entries[number] = Some(Entry { known: both, times, gap_times });
        self.waiting.insert(number);
    }

    /// What a value is where this is known; `None` if it never comes to be.
    pub(super) fn range(&self, known: &Known<'m>, value: Value<'m>) -> Option<Range> {
        let bits = bits_of(value)?;
        if let Some(number) = number(value) {
            return Some(Range::one(number));
        }
        if let Some(&range) = known.values.get(&value) {
            return Some(range);
        }
        let grown = match value.opcode() {
            Some(_) => {
                self.watched.borrow_mut().entry(value).or_default().insert(self.here);
                self.values.get(&value)
            }
            None if value.is_parameter() => self.world.values.get(&value),
            None => return Some(Range::all(bits)),
        };
        grown.and_then(|grown| grown.range)
    }

    fn cell(&self, known: &Known<'m>, cell: CellId) -> Option<Range> {
        known.cells.get(&cell).copied().or(self.world.contents[cell].range)
    }

    /// A value comes to be this, too; who uses it is looked at again.
    fn set(&mut self, value: Value<'m>, range: Range, bits: u32) {
        if !self.values.entry(value).or_default().take(range, &self.world.steps, bits) {
            return;
        }
        let again = self.watched.borrow_mut().remove(&value).unwrap_or_default();
        self.waiting.extend(again.into_iter().filter(|&block| self.entries[block].is_some()));
        for user in value.users() {
            let blocks: Vec<Block<'m>> = match user.opcode() {
                Some(Opcode::LLVMPHI) => {
                    user.incoming().filter(|(_, from)| *from == value).map(|(block, _)| block).collect()
                }
                Some(_) => vec![user.block()],
                None => Vec::new(),
            };
            for block in blocks {
                let number = self.numbers[&block.raw];
                if self.entries[number].is_some() {
                    self.waiting.insert(number);
                }
            }
        }
    }

    /// Goes through a block and to what follows it.
    fn pass(&mut self, block: Block<'m>, mut known: Known<'m>) {
        for at in block.instructions() {
            if at.is(Opcode::LLVMPHI) {
                continue;
            }
            if at.is(Opcode::LLVMStore) {
                self.store(&mut known, at);
                continue;
            }
            if at.is_call() && !self.call(&mut known, at) && !at.is(Opcode::LLVMInvoke) {
                return;
            }
            if !at.is_terminator() {
                self.compute(&mut known, at);
            }
        }
        if let Some(end) = block.terminator() {
            self.leave(block, end, known);
        }
    }

    fn compute(&mut self, known: &mut Known<'m>, at: Value<'m>) {
        let Some(bits) = bits_of(at) else { return };
        let range = self.computed(known, at, bits);
        known.forget(at);
        if let Some(range) = range {
            self.set(at, range, bits);
            // Here it is no more than this; what it was another time counts elsewhere.
            if self.values[&at].range != Some(range) {
                known.values.insert(at, range);
            }
        }
        if at.is(Opcode::LLVMLoad)
            && let Some(cell) = self.world.cells.at(at)
        {
            known.same.insert(cell, at);
        }
    }

    fn computed(&self, known: &Known<'m>, at: Value<'m>, bits: u32) -> Option<Range> {
        let range = |index: u32| self.tight(known, at.operand(index));
        let opcode = at.opcode()?;
        match opcode {
            Opcode::LLVMICmp => {
                let Some(_) = bits_of(at.operand(0)) else { return Some(Range::all(1)) };
                let (a, b) = (range(0)?, range(1)?);
                let truth = Range::compared(predicate(at), a, b);
                Some(truth.map_or(Range::all(1), |truth| Range::one(truth.into())))
            }
            Opcode::LLVMZExt | Opcode::LLVMSExt | Opcode::LLVMTrunc => match bits_of(at.operand(0)) {
                Some(from) => Some(range(0)?.converted(opcode, from, bits)),
                None => Some(Range::all(bits)),
            },
            Opcode::LLVMFreeze => range(0),
            Opcode::LLVMSelect => match self.range(known, at.operand(0)).and_then(Range::only) {
                Some(0) => range(2),
                Some(_) => range(1),
                None => Some(range(1)?.join(range(2)?)),
            },
            Opcode::LLVMLoad => match self.world.cells.at(at) {
                Some(cell) => self.cell(known, cell),
                None => Some(Range::all(bits)),
            },
            Opcode::LLVMCall | Opcode::LLVMInvoke => match at.called() {
                Some(called) if self.world.own.contains_key(&called) => {
                    self.world.values.get(&called).and_then(|grown| grown.range)
                }
                _ => Some(library::result(at, range).unwrap_or(Range::all(bits))),
            },
            Opcode::LLVMSub => {
                let anyhow = Range::computed(opcode, range(0)?, range(1)?, bits);
                Some(self.difference(known, at.operand(0), at.operand(1), bits).unwrap_or(anyhow))
            }
            Opcode::LLVMAdd
            | Opcode::LLVMMul
            | Opcode::LLVMUDiv
            | Opcode::LLVMSDiv
            | Opcode::LLVMURem
            | Opcode::LLVMSRem
            | Opcode::LLVMAnd
            | Opcode::LLVMOr
            | Opcode::LLVMXor
            | Opcode::LLVMShl
            | Opcode::LLVMLShr
            | Opcode::LLVMAShr => Some(Range::computed(opcode, range(0)?, range(1)?, bits)),
            _ => Some(Range::all(bits)),
        }
    }

    fn store(&mut self, known: &mut Known<'m>, at: Value<'m>) {
        let Some(cell) = self.world.cells.at(at) else { return };
        let value = at.operand(0);
        known.forget_cells([&cell]);
        if let Some(range) = self.range(known, value) {
            self.world.write(cell, range);
            known.cells.insert(cell, range);
            known.same.insert(cell, value);
        }
    }

    /// Whether a call comes back, as far as is known.
    fn call(&mut self, known: &mut Known<'m>, at: Value<'m>) -> bool {
        let Some(called) = at.called() else { return true };
        known.forget_cells(self.world.cells.given(at));
        if let Some(name) = at.called_name().filter(|name| name.starts_with(&self.world.prefix)) {
            self.world.come_to.insert(name);
            return true;
        }
        if at.is_intrinsic() {
            return true;
        }
        let Some(&body) = self.world.own.get(&called) else {
            if !self.world.is_quiet(at) {
                known.forget_cells(&self.world.open_writes);
            }
            return true;
        };
        self.world.note_called(called);
        for (parameter, argument) in body.parameters().zip(at.arguments()) {
            if let (Some(bits), Some(range)) = (bits_of(parameter), self.range(known, argument)) {
                self.world.add(parameter, range, bits);
            }
        }
        known.forget_cells(&self.world.writes[&called]);
        self.world.returns(called)
    }

    /// Goes to the blocks behind a block.
    fn leave(&mut self, from: Block<'m>, end: Value<'m>, mut known: Known<'m>) {
        match end.opcode() {
            Some(Opcode::LLVMRet) => {
                // A function of no number returns, all the same.
                let result = end.operands().next();
                let range = match result.and_then(|result| bits_of(result).map(|_| result)) {
                    Some(result) => self.range(&known, result),
                    None => Some(Range::one(0)),
                };
                let bits = result.and_then(bits_of).unwrap_or(1);
                if let Some(range) = range {
                    self.world.add(self.function.value(), range, bits);
                }
            }
            Some(Opcode::LLVMBr) if end.is_conditional() => {
                let condition = end.operand(0);
                for (to, truth) in end.successors().zip([true, false]) {
                    let mut there = known.clone();
                    if self.suppose(&mut there, condition, truth, 0) {
                        self.go(from, to, there);
                    }
                }
            }
            Some(Opcode::LLVMSwitch) => self.switch(from, end, known),
            Some(Opcode::LLVMInvoke) => {
                let normal = end.normal_block();
                let comes_back = end.called().is_none_or(|called| self.world.returns(called));
                for to in end.successors() {
                    let mut there = known.clone();
                    there.forget(end);
                    if Some(to) != normal {
                        self.go(from, to, there);
                    } else if comes_back {
                        self.compute(&mut there, end);
                        self.go(from, to, there);
                    }
                }
            }
            _ => {
                for to in end.successors() {
                    known.forget(end);
                    self.go(from, to, known.clone());
                }
            }
        }
    }

    fn switch(&mut self, from: Block<'m>, end: Value<'m>, known: Known<'m>) {
        let value = end.operand(0);
        if bits_of(value).is_none() {
            end.successors().for_each(|to| self.go(from, to, known.clone()));
            return;
        }
        let mut rest = known.clone();
        let mut has_rest = true;
        let targets: Vec<Block<'m>> = end.successors().collect();
        for (index, &to) in targets.iter().enumerate().skip(1) {
            let Some(case) = number(end.operand(2 * index as u32)) else {
                self.go(from, to, known.clone());
                continue;
            };
            let mut there = known.clone();
            if self.narrow(&mut there, value, Range::one(case), 0) {
                self.go(from, to, there);
            }
            let now = self.range(&rest, value);
            let left = now.map(|now| allowed(LLVMIntPredicate::LLVMIntNE, Range::one(case), now));
            has_rest = has_rest && left.is_none_or(|left| self.narrow(&mut rest, value, left, 0));
        }
        if has_rest && let Some(&to) = targets.first() {
            self.go(from, to, rest);
        }
    }

    /// Goes from a block to another, whose phis get their values.
    fn go(&mut self, from: Block<'m>, to: Block<'m>, mut known: Known<'m>) {
        let phis: Vec<Value<'m>> = to.instructions().take_while(|at| at.is(Opcode::LLVMPHI)).collect();
        let mut new = Vec::new();
        for &phi in &phis {
            let Some(bits) = bits_of(phi) else { continue };
            let value = phi.incoming().find(|(block, _)| block.raw == from.raw).map(|(_, value)| value);
            new.push((phi, value.and_then(|value| self.range(&known, value)), bits));
        }
        let gaps = self.gaps_of_phis(&known, from, &phis);
        for &phi in &phis {
            known.forget(phi);
        }
        known.gaps.extend(gaps);
        for (phi, range, bits) in new {
            let Some(range) = range else { continue };
            self.set(phi, range, bits);
            known.values.insert(phi, range);
        }
        let number = self.numbers[&to.raw];
        let is_first = self.entries[number].is_none();
        self.enter(to, known);
        if is_first {
            self.waiting.insert(number);
        }
    }

    /// Takes a condition to be true or false; false if it never is.
    fn suppose(&self, known: &mut Known<'m>, condition: Value<'m>, truth: bool, depth: u32) -> bool {
        let is = Range::one(truth.into());
        if !self.meet(known, condition, is) {
            return false;
        }
        if depth > MOST_DEEP {
            return true;
        }
        let constant = |index: u32| number(condition.operand(index));
        let both = |flow: &Self, known: &mut Known<'m>, a: u32, b: u32| {
            flow.suppose(known, condition.operand(a), truth, depth + 1)
                && flow.suppose(known, condition.operand(b), truth, depth + 1)
        };
        match condition.opcode() {
            Some(Opcode::LLVMAnd) if truth => both(self, known, 0, 1),
            Some(Opcode::LLVMOr) if !truth => both(self, known, 0, 1),
            Some(Opcode::LLVMXor) if constant(1) == Some(1) => {
                self.suppose(known, condition.operand(0), !truth, depth + 1)
            }
            // `a && b` and `a || b`.
            Some(Opcode::LLVMSelect) if truth && constant(2) == Some(0) => both(self, known, 0, 1),
            Some(Opcode::LLVMSelect) if !truth && constant(1) == Some(1) => both(self, known, 0, 2),
            Some(Opcode::LLVMFreeze) => self.suppose(known, condition.operand(0), truth, depth + 1),
            Some(Opcode::LLVMICmp) => self.compare(known, condition, truth, depth),
            _ => true,
        }
    }

    fn compare(&self, known: &mut Known<'m>, at: Value<'m>, truth: bool, depth: u32) -> bool {
        let (left, right) = (at.operand(0), at.operand(1));
        if bits_of(left).is_none() {
            return true;
        }
        let holds = if truth { predicate(at) } else { opposite(predicate(at)) };
        let (Some(a), Some(b)) = (self.range(known, left), self.range(known, right)) else { return false };
        self.narrow(known, left, allowed(holds, b, a), depth + 1)
            && self.narrow(known, right, allowed(mirrored(holds), a, b), depth + 1)
            && self.note_compared(known, holds, left, right)
    }

    /// A value is in a range, and so is what it is made of; false if it never is.
    fn narrow(&self, known: &mut Known<'m>, value: Value<'m>, range: Range, depth: u32) -> bool {
        if !self.meet(known, value, range) {
            return false;
        }
        let Some(bits) = bits_of(value).filter(|_| depth <= MOST_DEEP) else { return true };
        let Some(now) = self.range(known, value) else { return false };
        match value.opcode() {
            Some(Opcode::LLVMZExt | Opcode::LLVMSExt) => {
                let inner = value.operand(0);
                match bits_of(inner) {
                    Some(1) => match now.meet(Range::one(0)) {
                        None => self.suppose(known, inner, true, depth + 1),
                        Some(zero) if zero == now => self.suppose(known, inner, false, depth + 1),
                        Some(_) => true,
                    },
                    // Larger ones are negative before they are extended.
                    Some(from) if now.low >= 0 && now.high > Range::all(from).high => true,
                    Some(_) => self.narrow(known, inner, now, depth + 1),
                    None => true,
                }
            }
            Some(Opcode::LLVMAdd) => {
                let Some(more) = number(value.operand(1)) else { return true };
                let before = Range { low: now.low - more, high: now.high - more };
                let all = Range::all(bits);
                let wraps = before.low < all.low || before.high > all.high;
                wraps || self.narrow(known, value.operand(0), before, depth + 1)
            }
            Some(Opcode::LLVMSelect) => {
                let [yes, no] = [1, 2].map(|index| self.range(known, value.operand(index)));
                let is_out = |range: Option<Range>| range.is_none_or(|range| range.meet(now).is_none());
                match (is_out(yes), is_out(no)) {
                    (true, true) => false,
                    (true, false) => self.suppose(known, value.operand(0), false, depth + 1),
                    (false, true) => self.suppose(known, value.operand(0), true, depth + 1),
                    (false, false) => true,
                }
            }
            Some(Opcode::LLVMFreeze) => self.narrow(known, value.operand(0), now, depth + 1),
            _ => true,
        }
    }

    /// A value, and variables that have it, are in a range; false if that is never so.
    fn meet(&self, known: &mut Known<'m>, value: Value<'m>, range: Range) -> bool {
        let Some(now) = self.range(known, value) else { return false };
        let Some(both) = now.meet(range) else { return false };
        if number(value).is_none() {
            known.values.insert(value, both);
        }
        let cells: Vec<CellId> =
            known.same.iter().filter(|(_, same)| **same == value).map(|(&cell, _)| cell).collect();
        for cell in cells {
            let Some(narrow) = self.cell(known, cell).and_then(|now| now.meet(both)) else { return false };
            known.cells.insert(cell, narrow);
        }
        true
    }
}

fn predicate(comparison: Value<'_>) -> LLVMIntPredicate {
    // SAFETY: asked of comparisons of integers only.
    unsafe { LLVMGetICmpPredicate(comparison.raw) }
}
