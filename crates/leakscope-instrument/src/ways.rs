//! Whether a way of a function leads to a call, asked of a solver: what was compared before, of
//! numbers and of what memory holds, may leave none.
//!
//! Each block has a condition for coming there, over unknowns: parameters, what is in memory at
//! first, what calls return. Where a loop comes back to, values may be anything, and so may all memory
//! that its code may write; hence more ways are open here than there are, and what is
//! closed is closed. Of functions that are called nothing is known but whether they write. Numbers
//! wrap around; what undefined arithmetic gives is an unknown. Two numbers of the same width in memory
//! are the same one or apart, and a new block is none that somebody had before.

mod memory;
mod terms;

use llvm_sys::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use leakscope_solve::{Answer, InputId, Pool, Solver, Term};

use self::memory::{Effects, Memory};
use crate::ir::{Block, Opcode, Value};
use crate::llvm::{Function, Kind, Layout, Module};

/// Larger functions are not looked at, nor are ways of so many terms.
const MOST_INSTRUCTIONS: usize = 20_000;
const MOST_TERMS: usize = 300_000;

/// With threads, memory changes at any time.
const DISTURBS: [&str; 3] = [
    "pthread_create",
    "thrd_create",
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
];

/// Makes a solver for a new pool of terms; none if there is none.
pub type NewSolver<'s> = &'s dyn Fn() -> Option<Box<dyn Solver>>;

/// Which of these functions no call is come to of, in the functions that call them.
pub fn closed<'m>(module: &'m Module<'_>, names: &[String], new_solver: NewSolver<'_>) -> Vec<bool> {
    let is_there = |name: &&str| module.function(name).is_some();
    let returns_twice = Kind::named("returns_twice");
    if DISTURBS.iter().any(is_there) || module.functions().any(|function| function.is(returns_twice)) {
        return vec![false; names.len()];
    }
    let effects = Effects::of(module);
    let calls = |name: &String| -> Vec<Value<'m>> {
        module.function(name).map(|point| point.value().users().collect()).unwrap_or_default()
    };
    let mut ways: FxHashMap<Value<'m>, Option<Ways<'m>>> = FxHashMap::default();
    let mut is_closed = |call: Value<'m>| {
        let of = call.function();
        let known = ways.entry(of).or_insert_with(|| {
            let function = module.bodies().find(|function| function.value() == of)?;
            Ways::of(function, module.layout(), &effects)
        });
        known.as_ref().is_some_and(|ways| ways.is_closed(call.block(), new_solver))
    };
    let none_is_come_to = |name| {
        let calls = calls(name);
        !calls.is_empty() && calls.into_iter().all(&mut is_closed)
    };
    names.iter().map(none_is_come_to).collect()
}

/// The conditions of a function's blocks.
struct Ways<'m> {
    layout: Layout<'m>,
    pool: Pool,
    unknowns: u64,
    values: FxHashMap<Value<'m>, Term>,
    /// In which order values came to be.
    order: FxHashMap<Value<'m>, usize>,
    /// What is known of unknowns, whichever way is gone.
    facts: Vec<Term>,
    conditions: FxHashMap<LLVMBasicBlockRef, Term>,
    /// Of edges that do not go back.
    edges: FxHashMap<(LLVMBasicBlockRef, LLVMBasicBlockRef), Term>,
    memories: FxHashMap<LLVMBasicBlockRef, Memory<'m>>,
}

impl<'m> Ways<'m> {
    /// `None` if there is too much.
    fn of(function: Function<'m>, layout: Layout<'m>, effects: &Effects<'m>) -> Option<Ways<'m>> {
        if function.instructions().count() > MOST_INSTRUCTIONS {
            return None;
        }
        let order = Order::of(function)?;
        let mut ways = Ways {
            layout,
            pool: Pool::default(),
            unknowns: 0,
            values: FxHashMap::default(),
            order: FxHashMap::default(),
            facts: Vec::new(),
            conditions: FxHashMap::default(),
            edges: FxHashMap::default(),
            memories: FxHashMap::default(),
        };
        for &block in &order.blocks {
            ways.pass(block, &order, effects);
            if ways.pool.len() > MOST_TERMS {
                return None;
            }
        }
        Some(ways)
    }

    /// Whether no way leads to a block.
    fn is_closed(&self, block: Block<'m>, new_solver: NewSolver<'_>) -> bool {
        // What nothing leads to from the function's start has no condition.
        let Some(&condition) = self.conditions.get(&block.raw) else { return true };
        match self.pool.value(condition) {
            Some(value) => value == 0,
            None => {
                let spoken_of: FxHashSet<InputId> =
                    self.pool.inputs(condition).into_iter().map(|(id, _)| id).collect();
                let is_about =
                    |fact: &&Term| self.pool.inputs(**fact).iter().any(|(id, _)| spoken_of.contains(id));
                let mut terms: Vec<Term> = self.facts.iter().filter(is_about).copied().collect();
                terms.push(condition);
                let Some(mut solver) = new_solver() else { return false };
                matches!(solver.check(&self.pool, &terms), Ok(Answer::Unsat))
            }
        }
    }

    fn unknown(&mut self, bits: u32) -> Term {
        self.unknowns += 1;
        self.pool.input(InputId(self.unknowns), bits)
    }

    /// Goes through a block: its condition, values, memory and the edges behind it.
    fn pass(&mut self, block: Block<'m>, order: &Order<'m>, effects: &Effects<'m>) {
        let from: Vec<Block<'m>> = order.before(block);
        let is_entry = order.blocks[0].raw == block.raw;
        let mut condition = self.pool.bit(is_entry);
        for edge in &from {
            condition = self.or(condition, self.edges[&(edge.raw, block.raw)]);
        }
        self.conditions.insert(block.raw, condition);
        let ways_in: Vec<(Term, &Memory<'m>)> =
            from.iter().map(|from| (self.edges[&(from.raw, block.raw)], &self.memories[&from.raw])).collect();
        let mut memory = Memory::joined(&mut self.pool, &ways_in);
        let is_again = order.loops.contains_key(&block.raw);
        for &again in order.loops.get(&block.raw).into_iter().flatten() {
            for at in again.instructions() {
                memory.forget(self, at, effects);
            }
        }
        for at in block.instructions() {
            self.order.insert(at, self.order.len());
            if at.is(Opcode::LLVMPHI) {
                let joined = if is_again { None } else { self.joined(at, block, &from) };
                self.define(at, joined);
            } else if at.is(Opcode::LLVMStore) {
                memory.store(self, at, effects);
            } else if at.is(Opcode::LLVMLoad) {
                let loaded = memory.load(self, at);
                self.define(at, loaded);
            } else if !at.is_terminator() || at.is(Opcode::LLVMInvoke) {
                memory.forget(self, at, effects);
                let computed = self.computed(at);
                self.define(at, computed);
            }
        }
        if let Some(end) = block.terminator() {
            self.leave(block, end, condition, order);
        }
        self.memories.insert(block.raw, memory);
    }

    /// A value has this term, or is unknown.
    fn define(&mut self, at: Value<'m>, term: Option<Term>) {
        if let Some(bits) = terms::bits_of(at) {
            let term = term.filter(|&term| self.pool.bits(term) == bits);
            let term = term.unwrap_or_else(|| self.unknown(bits));
            self.values.insert(at, term);
        }
    }

    fn joined(&mut self, phi: Value<'m>, block: Block<'m>, from: &[Block<'m>]) -> Option<Term> {
        let mut joined = None;
        for (before, value) in phi.incoming() {
            if !from.iter().any(|from| from.raw == before.raw) {
                continue;
            }
            let value = self.term(value)?;
            let edge = self.edges[&(before.raw, block.raw)];
            joined = Some(match joined {
                None => value,
                Some(others) => self.pool.ite(edge, value, others),
            });
        }
        joined
    }

    fn or(&mut self, a: Term, b: Term) -> Term {
        self.pool.binary(leakscope_solve::Binary::Or, a, b)
    }

    fn leave(&mut self, block: Block<'m>, end: Value<'m>, condition: Term, order: &Order<'m>) {
        let targets: Vec<Block<'m>> = end.successors().collect();
        let truths: Vec<Term> = match end.opcode() {
            Some(Opcode::LLVMBr) if end.is_conditional() => match self.term(end.operand(0)) {
                Some(truth) => vec![truth, self.pool.not(truth)],
                None => Vec::new(),
            },
            Some(Opcode::LLVMSwitch) => self.cases(end, targets.len()),
            _ => Vec::new(),
        };
        for (index, to) in targets.iter().enumerate() {
            if order.goes_back.contains(&(block.raw, to.raw)) {
                continue;
            }
            let truth = match truths.get(index) {
                Some(&truth) => truth,
                None if targets.len() == 1 => self.pool.bit(true),
                None => self.unknown(1),
            };
            let edge = self.pool.and(condition, truth);
            let known = self.edges.get(&(block.raw, to.raw)).copied();
            let edge = known.map_or(edge, |known| self.or(known, edge));
            self.edges.insert((block.raw, to.raw), edge);
        }
    }

    /// What holds on the ways of a switch: first the default.
    fn cases(&mut self, end: Value<'m>, count: usize) -> Vec<Term> {
        let Some(value) = self.term(end.operand(0)) else { return Vec::new() };
        let mut truths = vec![self.pool.bit(true)];
        for index in 1..count {
            let Some(case) = self.term(end.operand(2 * index as u32)) else { return Vec::new() };
            let is_case = self.pool.eq(value, case);
            let is_other = self.pool.not(is_case);
            truths[0] = self.pool.and(truths[0], is_other);
            truths.push(is_case);
        }
        truths
    }
}

/// The blocks of a function that its start leads to, each behind those that lead to it but for
/// edges that go back.
struct Order<'m> {
    blocks: Vec<Block<'m>>,
    goes_back: FxHashSet<(LLVMBasicBlockRef, LLVMBasicBlockRef)>,
    /// Of blocks that edges go back to, all that lies on a way from them to them without leaving the
    /// loop.
    loops: FxHashMap<LLVMBasicBlockRef, Vec<Block<'m>>>,
    ways_in: FxHashMap<LLVMBasicBlockRef, Vec<Block<'m>>>,
}

impl<'m> Order<'m> {
    /// `None` where a loop is come into at several places.
    fn of(function: Function<'m>) -> Option<Order<'m>> {
        let next = |block: Block<'m>| -> Vec<Block<'m>> {
            block.terminator().map(|end| end.successors().collect()).unwrap_or_default()
        };
        let mut order = Order {
            blocks: Vec::new(),
            goes_back: FxHashSet::default(),
            loops: FxHashMap::default(),
            ways_in: FxHashMap::default(),
        };
        let entry = function.entry();
        let mut seen = FxHashSet::from_iter([entry.raw]);
        let mut open = FxHashSet::from_iter([entry.raw]);
        let mut stack = vec![(entry, next(entry))];
        while let Some((block, rest)) = stack.last_mut() {
            let block = *block;
            match rest.pop() {
                Some(to) => {
                    let ways_in = order.ways_in.entry(to.raw).or_default();
                    if !ways_in.contains(&block) {
                        ways_in.push(block);
                    }
                    if open.contains(&to.raw) {
                        order.goes_back.insert((block.raw, to.raw));
                    } else if seen.insert(to.raw) {
                        open.insert(to.raw);
                        stack.push((to, next(to)));
                    }
                }
                None => {
                    open.remove(&block.raw);
                    order.blocks.push(block);
                    stack.pop();
                }
            }
        }
        order.blocks.reverse();
        let headers: FxHashSet<LLVMBasicBlockRef> = order.goes_back.iter().map(|&(_, to)| to).collect();
        for &header in order.blocks.iter().filter(|block| headers.contains(&block.raw)) {
            // Backwards from where the edges come that go back, up to it.
            let back = |block: Block<'m>| match block == header {
                true => Vec::new(),
                false => order.ways_in.get(&block.raw).cloned().unwrap_or_default(),
            };
            let latches = order.ways_in[&header.raw].iter().copied();
            let latches = latches.filter(|from| order.goes_back.contains(&(from.raw, header.raw)));
            let inside = closure([header].into_iter().chain(latches), back);
            let is_inside =
                |block: &Block<'m>| order.ways_in[&block.raw].iter().all(|from| inside.contains(from));
            if !inside.iter().all(|block| *block == header || is_inside(block)) {
                return None;
            }
            order.loops.insert(header.raw, inside);
        }
        Some(order)
    }

    /// The blocks that lead to one, but for edges that go back.
    fn before(&self, block: Block<'m>) -> Vec<Block<'m>> {
        let ways_in = self.ways_in.get(&block.raw).into_iter().flatten().copied();
        ways_in.filter(|from| !self.goes_back.contains(&(from.raw, block.raw))).collect()
    }
}

/// All that is come to from blocks, by steps.
fn closure<'m>(
    from: impl Iterator<Item = Block<'m>>,
    step: impl Fn(Block<'m>) -> Vec<Block<'m>>,
) -> Vec<Block<'m>> {
    let mut seen = FxHashSet::default();
    let mut found: Vec<Block<'m>> = from.filter(|block| seen.insert(block.raw)).collect();
    let mut at = 0;
    while let Some(&block) = found.get(at) {
        found.extend(step(block).into_iter().filter(|to| seen.insert(to.raw)));
        at += 1;
    }
    found
}
