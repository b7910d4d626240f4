//! What is never null, for the whole program: results of functions, and
//! arguments at all calls of a function. A function may be in a cycle that is
//! too large to be followed, and an argument be tested that every caller has;
//! summaries, which go from callees to callers, tell neither.
//!
//! Greatest fixpoint: all is taken to be so until a return or a call is found
//! that may bring null. Only what the flow of one body shows counts: addresses,
//! what was compared with null, and what was used as an address.

use std::collections::BTreeSet;

use leakscope_ir::{
    BlockId, Body, Callee, Compare, FuncId, Instruction, Op, Operand, Program, Terminator, ValueId, Width,
};

use crate::callgraph::callers;
use crate::flow::Values;
use crate::handed::calls_are_seen;

pub struct NeverNull {
    results: Vec<bool>,
    parameters: Vec<Vec<bool>>,
}

impl NeverNull {
    /// `returns` says of each function whether it ever returns.
    pub fn new(program: &Program, returns: &[bool], is_whole: bool) -> NeverNull {
        let mut known = NeverNull {
            results: program.functions.iter().map(|function| function.body.is_some()).collect(),
            parameters: calls_are_seen(program, is_whole)
                .zip(&program.functions)
                .map(|(is_seen, function)| vec![is_seen; function.parameters as usize])
                .collect(),
        };
        let callers = callers(program);
        let mut open: Vec<usize> = (0..program.functions.len()).rev().collect();
        let mut is_open = vec![true; program.functions.len()];
        while let Some(index) = open.pop() {
            is_open[index] = false;
            let Some(body) = &program.functions[index].body else { continue };
            let found = Finder { known: &known, returns, body, of: definitions(body) }.find(index);
            let mut changed = Vec::new();
            if known.results[index] && found.returns_null {
                known.results[index] = false;
                changed.extend(&callers[index]);
            }
            for (callee, parameter) in found.nullable {
                if std::mem::replace(&mut known.parameters[callee][parameter], false) {
                    changed.push(callee);
                }
            }
            for again in changed {
                if !std::mem::replace(&mut is_open[again], true) {
                    open.push(again);
                }
            }
        }
        known
    }

    pub fn is_result(&self, function: FuncId) -> bool {
        self.results[function.0 as usize]
    }

    /// By parameter of a function.
    pub fn parameters(&self, function: FuncId) -> &[bool] {
        &self.parameters[function.0 as usize]
    }

    pub fn is_parameter(&self, function: FuncId, index: u32) -> bool {
        self.parameters[function.0 as usize].get(index as usize).copied().unwrap_or(false)
    }
}

/// By value, the instruction that it is the result of.
fn definitions(body: &Body) -> Vec<Option<&Instruction>> {
    let mut of = vec![None; body.values as usize];
    for instruction in body.blocks.iter().flat_map(|block| &block.instructions) {
        of[instruction.result.0 as usize] = Some(instruction);
    }
    of
}

/// Blocks times words of a set of values.
const MAX_WORDS: usize = 1 << 23;

struct Finder<'a> {
    known: &'a NeverNull,
    returns: &'a [bool],
    body: &'a Body,
    of: Vec<Option<&'a Instruction>>,
}

#[derive(Default)]
struct Found {
    returns_null: bool,
    /// Callees with arguments that may be null here.
    nullable: Vec<(usize, usize)>,
}

impl Finder<'_> {
    fn find(&self, function: usize) -> Found {
        let body = self.body;
        let mut found = Found::default();
        let mut entries = self.entries(function).map(Vec::into_iter);
        for (index, block) in body.blocks.iter().enumerate() {
            let entry = match &mut entries {
                Some(entries) => entries.next().flatten(),
                None => Some(Values::none(body.values)),
            };
            let (id, Some(entry)) = (BlockId(index as u32), entry) else { continue };
            let end = self.run(id, entry, &mut |callee, parameter, is_nonnull| {
                if !is_nonnull {
                    found.nullable.push((callee, parameter));
                }
            });
            if let (Some(state), Terminator::Return(Some(value))) = (end, &block.end) {
                found.returns_null |= !self.is_nonnull(&state, value);
            }
        }
        found
    }

    /// By block, what is not null where it starts; nothing where it is not
    /// reached. `None` for a body that is too large: there, nothing is known.
    fn entries(&self, function: usize) -> Option<Vec<Option<Values>>> {
        let body = self.body;
        let words = (body.values as usize).div_ceil(64);
        if body.blocks.len().saturating_mul(words) > MAX_WORDS {
            return None;
        }
        let mut first = Values::none(body.values);
        for (index, _) in self.known.parameters[function].iter().enumerate().filter(|(_, is)| **is) {
            first.insert(ValueId(index as u32));
        }
        let mut entries: Vec<Option<Values>> = vec![None; body.blocks.len()];
        entries[0] = Some(first);
        // Blocks come roughly in the order in which they run.
        let mut open = BTreeSet::from([BlockId(0)]);
        while let Some(id) = open.pop_first() {
            let entry = entries[id.0 as usize].clone().expect("a block that was reached");
            let Some(state) = self.run(id, entry, &mut |_, _, _| {}) else { continue };
            for to in body.block(id).end.successors() {
                let next = self.along(id, to, state.clone());
                let known = &mut entries[to.0 as usize];
                let is_changed = match known {
                    Some(known) => known.keep(&next),
                    None => {
                        *known = Some(next);
                        true
                    }
                };
                if is_changed {
                    open.insert(to);
                }
            }
        }
        Some(entries)
    }

    /// What is not null after a block; `None` where it is not left. `argument`
    /// hears of all that functions with bodies get.
    fn run(
        &self,
        id: BlockId,
        mut state: Values,
        argument: &mut dyn FnMut(usize, usize, bool),
    ) -> Option<Values> {
        for instruction in &self.body.block(id).instructions {
            let is_nonnull = match &instruction.op {
                Op::Phi { .. } => continue,
                Op::Local { .. } => true,
                Op::Step { base: from, .. } | Op::Cast { value: from, width: Width::Kept } => {
                    self.is_nonnull(&state, from)
                }
                Op::Select { yes, no, .. } => self.is_nonnull(&state, yes) && self.is_nonnull(&state, no),
                Op::Load { from: used, .. } | Op::Store { to: used, .. } => {
                    self.note_used(&mut state, used);
                    false
                }
                Op::Call(call) => {
                    let Callee::Function(callee) = call.callee else { continue };
                    let callee = callee.0 as usize;
                    for parameter in 0..self.known.parameters[callee].len() {
                        let given = call.arguments.get(parameter);
                        let is_nonnull = given.is_some_and(|given| self.is_nonnull(&state, given));
                        argument(callee, parameter, is_nonnull);
                    }
                    if call.is_noreturn || !self.returns[callee] {
                        return None;
                    }
                    self.known.results[callee]
                }
                _ => false,
            };
            if is_nonnull {
                state.insert(instruction.result);
            } else {
                state.remove(instruction.result);
            }
        }
        Some(state)
    }

    /// The same after an edge, with what its condition says.
    fn along(&self, from: BlockId, to: BlockId, mut state: Values) -> Values {
        if let Terminator::Branch { condition: Operand::Value(condition), yes, no } =
            &self.body.block(from).end
            && yes != no
            && let Some(Instruction { op: Op::Compare { op, left, right: Operand::Int(0) }, .. }) =
                self.of[condition.0 as usize]
            && let (Compare::Ne, true) | (Compare::Eq, false) = (op, to == *yes)
        {
            self.note_used(&mut state, left);
        }
        let phis = self.body.block(to).instructions.iter();
        let mut values = Vec::new();
        for instruction in phis {
            let Op::Phi { incoming } = &instruction.op else { break };
            let value = incoming.iter().find(|(block, _)| *block == from);
            let is_nonnull = value.is_some_and(|(_, value)| self.is_nonnull(&state, value));
            values.push((instruction.result, is_nonnull));
        }
        for (value, is_nonnull) in values {
            if is_nonnull {
                state.insert(value);
            } else {
                state.remove(value);
            }
        }
        state
    }

    fn is_nonnull(&self, state: &Values, operand: &Operand) -> bool {
        match operand {
            Operand::Value(value) => state.contains(*value),
            Operand::Int(number) => *number != 0,
            Operand::Global(..) | Operand::Function(_) => true,
            Operand::Members(_) | Operand::Unknown => false,
        }
    }

    /// What an address was computed from is not null either.
    fn note_used(&self, state: &mut Values, operand: &Operand) {
        let mut next = operand;
        while let Operand::Value(value) = next
            && state.insert(*value)
        {
            match self.of[value.0 as usize].map(|instruction| &instruction.op) {
                Some(Op::Step { base: from, .. } | Op::Cast { value: from, width: Width::Kept }) => {
                    next = from
                }
                _ => break,
            }
        }
    }
}
