//! Property simulation of one procedure: cases go through the flow graph, and
//! meet by property (Das, Lerner, Seigle, PLDI 2002).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leakscope_core::Cause;
use leakscope_ir::{BlockId, Body, Compare, FuncId, Function, Op, Operand, Spot, Terminator, ValueId, VariableId};

use crate::case::{Case, Feasibility, Mark};
use crate::flow::Flow;
use crate::join::{Growth, Property, join};
use crate::refine::{assume, assume_compare};
use crate::scope::Scope;
use crate::summary::{Exit, Step, Summary};
use crate::value::{Base, HeapId, Point, SymbolKey, Value};
use crate::world::{World, constant};

/// Cases of one block; above, the nearest are joined.
const MAX_CASES: usize = 16;
/// Runs of blocks in one procedure, for each block and at least.
const STEPS_PER_BLOCK: usize = 60;
const MIN_STEPS: usize = 2_000;
/// Joins of a case before growing values are widened.
const JOINS: u32 = 3;
/// Branches kept on the way to a leak.
const MAX_PATH: u32 = 64;

/// Summaries that are ready.
pub trait Summaries {
    fn summary(&self, function: FuncId) -> Option<Arc<Summary>>;
}

/// What came out of one procedure.
pub struct Simulated<'a> {
    pub scope: Scope<'a>,
    pub exits: Vec<(Exit, Case, Value)>,
    pub leaks: BTreeMap<usize, Leak>,
    /// It was given up, for it took too long.
    pub is_cut: bool,
}

/// Blocks of one site are lost here.
#[derive(Clone, Debug)]
pub struct Leak {
    pub at: Spot,
    pub cause: Cause,
    pub variable: Option<String>,
    pub path: Vec<Step>,
    /// Further places where they are lost.
    pub others: Vec<(Spot, Cause, Option<String>)>,
}

pub struct Options {
    /// Blocks that `main` still holds at its end are leaks too.
    pub at_exit: bool,
}

pub fn simulate<'a>(
    world: &'a World<'a>,
    summaries: &dyn Summaries,
    id: FuncId,
    options: &Options,
) -> Simulated<'a> {
    let function = world.program.function(id);
    let body = function.body.as_ref().expect("a function with a body");
    let mut scope = Scope::new(world);
    let Some(flow) = Flow::of(body) else {
        return Simulated { scope, exits: Vec::new(), leaks: BTreeMap::new(), is_cut: true };
    };
    let mut first = Case::default();
    for index in 0..function.parameters {
        first.set(ValueId(index), scope.symbols.value(SymbolKey::Parameter(index)));
    }
    let mut simulation = Simulation {
        function,
        id,
        body,
        flow,
        summaries,
        options,
        entries: (0..body.blocks.len()).map(|_| Vec::new()).collect(),
        queue: BTreeSet::new(),
        result: Simulated { scope, exits: Vec::new(), leaks: BTreeMap::new(), is_cut: false },
    };
    simulation.arrive(BlockId(0), first);
    simulation.run();
    let mut result = simulation.result;
    let in_loops = std::mem::take(&mut result.scope.freed_in_loops);
    // A loop that frees is taken to run at least once (SPARROW, section 3).
    result.leaks.retain(|site, _| !in_loops.contains(site));
    result
}

pub struct Simulation<'a, 'b> {
    pub function: &'a Function,
    pub id: FuncId,
    body: &'a Body,
    flow: Flow,
    pub summaries: &'b dyn Summaries,
    options: &'b Options,
    entries: Vec<Vec<Entry>>,
    /// Blocks in their order, with the entry to run.
    queue: BTreeSet<(u32, u32, usize)>,
    pub result: Simulated<'a>,
}

struct Entry {
    property: Property,
    case: Case,
    joins: u32,
}

impl<'a> Simulation<'a, '_> {
    pub fn scope(&mut self) -> &mut Scope<'a> {
        &mut self.result.scope
    }

    fn run(&mut self) {
        let mut steps = MIN_STEPS + STEPS_PER_BLOCK * self.body.blocks.len();
        while let Some((_, block, entry)) = self.queue.pop_first() {
            let case = self.entries[block as usize][entry].case.clone();
            self.block(BlockId(block), case);
            steps -= 1;
            if steps == 0 {
                self.result.is_cut = true;
                return;
            }
        }
    }

    /// A case comes to the start of a block.
    fn arrive(&mut self, block: BlockId, case: Case) {
        let Some(order) = self.flow.order[block.0 as usize] else { return };
        let property = Property::of(&case);
        let entries = &mut self.entries[block.0 as usize];
        let same = entries.iter().position(|entry| entry.property == property);
        let nearest = || {
            (entries.len() >= MAX_CASES)
                .then(|| (0..entries.len()).min_by_key(|&index| entries[index].property.distance(&property)))
                .flatten()
        };
        let index = match same.or_else(nearest) {
            Some(index) => {
                let entry = &mut entries[index];
                entry.joins += 1;
                let limit = if self.flow.is_loop_head[block.0 as usize] { JOINS } else { 8 * JOINS };
                let growth = if entry.joins > limit { Growth::Widened } else { Growth::Free };
                let point = Point::Block(block);
                if !join(&mut entry.case, case, &mut self.result.scope, point, growth) {
                    return;
                }
                entry.property = Property::of(&entry.case);
                index
            }
            None => {
                entries.push(Entry { property, case, joins: 0 });
                entries.len() - 1
            }
        };
        self.queue.insert((order, block.0, index));
    }

    fn block(&mut self, id: BlockId, case: Case) {
        let body = self.body;
        let block = body.block(id);
        self.result.scope.is_in_loop = self.flow.is_in_loop[id.0 as usize];
        let mut cases = vec![case];
        let last = block.instructions.len().saturating_sub(1);
        for (index, instruction) in block.instructions.iter().enumerate() {
            let mut thrown = Vec::new();
            cases = self.instruction(instruction, cases, &mut thrown);
            for case in &mut cases {
                self.drop_values(case, id, index, instruction.at);
            }
            for case in thrown {
                match &block.end {
                    Terminator::Invoke { unwind, .. } if index == last => self.go(id, *unwind, case),
                    _ => self.exit(Exit::Throw, case, Value::Top, instruction.at),
                }
            }
            if cases.is_empty() {
                return;
            }
        }
        for case in cases {
            self.end(id, case);
        }
    }

    /// Values that nothing reads any more are gone, and with them the last
    /// pointers that only they were.
    fn drop_values(&mut self, case: &mut Case, block: BlockId, index: usize, at: Spot) {
        let mut held = false;
        for &value in &self.flow.dying[block.0 as usize][index] {
            held |= case.remove(value).is_some_and(|value| value.has_heap());
        }
        if held {
            self.look_for_leaks(case, at, Cause::Discarded, None);
        }
    }

    fn end(&mut self, id: BlockId, mut case: Case) {
        let body = self.body;
        let block = body.block(id);
        match &block.end {
            Terminator::Jump(to) => self.go(id, *to, case),
            Terminator::Branch { condition, yes, no } => {
                let condition = self.operand(&case, condition);
                for (to, truth) in [(*yes, true), (*no, false)] {
                    let mut taken = case.clone();
                    if assume(&mut taken, self.scope(), &condition, truth) {
                        self.mark(&mut taken, block.end_at, truth);
                        self.go(id, to, taken);
                    }
                }
            }
            Terminator::Switch { value, cases, default } => {
                let value = self.operand(&case, value);
                for (number, to) in cases {
                    let mut taken = case.clone();
                    let right = Value::Int(*number);
                    if assume_compare(&mut taken, self.scope(), Compare::Eq, &value, &right) {
                        self.mark(&mut taken, block.end_at, true);
                        self.go(id, *to, taken);
                    }
                    if !assume_compare(&mut case, self.scope(), Compare::Ne, &value, &right) {
                        return;
                    }
                }
                self.mark(&mut case, block.end_at, false);
                self.go(id, *default, case);
            }
            Terminator::Anywhere(blocks) => {
                for &to in blocks {
                    self.go(id, to, case.clone());
                }
            }
            Terminator::Invoke { normal, .. } => self.go(id, *normal, case),
            Terminator::Return(value) => {
                let value = value.as_ref().map_or(Value::Top, |value| self.operand(&case, value));
                self.exit(Exit::Return, case, value, block.end_at);
            }
            Terminator::Resume => self.exit(Exit::Throw, case, Value::Top, block.end_at),
            Terminator::Unreachable => {}
        }
    }

    fn mark(&self, case: &mut Case, at: Spot, is_taken: bool) {
        let length = case.path.as_ref().map_or(0, |mark| mark.length) + 1;
        if length <= MAX_PATH && at.line > 0 {
            let before = case.path.take();
            case.path = Some(Arc::new(Mark { at, is_taken, length, before, inner: None }));
        }
    }

    /// Along an edge: PHIs get their values, at once, and what is not needed
    /// any more is dropped.
    fn go(&mut self, from: BlockId, to: BlockId, mut case: Case) {
        let body = self.body;
        let target = body.block(to);
        let mut values: Vec<(ValueId, Value)> = Vec::new();
        for instruction in &target.instructions {
            let Op::Phi { incoming } = &instruction.op else { break };
            if let Some((_, value)) = incoming.iter().find(|(block, _)| *block == from) {
                values.push((instruction.result, self.operand(&case, value)));
            }
        }
        let live = &self.flow.live_in[to.0 as usize];
        let mut held = false;
        case.env.retain(|(id, value)| {
            let is_live = live.binary_search(id).is_ok();
            held |= !is_live && value.has_heap();
            is_live
        });
        for (id, value) in values {
            case.set(id, value);
        }
        let end_at = body.block(from).end_at;
        if held {
            self.look_for_leaks(&mut case, end_at, Cause::Discarded, None);
        }
        case.left_at = match (&body.block(from).end, case.left_at) {
            (Terminator::Jump(_), None) if end_at.line > 0 && is_quiet(target) => Some(end_at),
            (Terminator::Jump(_), Some(left)) if is_quiet(target) => Some(left),
            _ => None,
        };
        self.arrive(to, case);
    }

    pub fn operand(&self, case: &Case, operand: &Operand) -> Value {
        match operand {
            Operand::Value(id) => case.get(*id),
            other => constant(other),
        }
    }

    /// A case leaves the procedure.
    fn exit(&mut self, exit: Exit, mut case: Case, value: Value, at: Spot) {
        if case.feasibility == Feasibility::Dead {
            return;
        }
        let at = case.left_at.unwrap_or(at);
        let holders = self.holders(&case);
        case.env.clear();
        case.variables.clear();
        let symbols = &self.result.scope.symbols;
        Arc::make_mut(&mut case.memory).retain(|(base, _), _| !matches!(symbols.owner(*base), Base::Local(_)));
        let cause = if exit == Exit::Throw { Cause::Unwound } else { Cause::ScopeEnd };
        let lost = self.unreachable(&case, &value);
        for block in lost {
            case.blocks.remove(&block);
            let is_end = self.function.name == "main" && holders.contains_key(&block);
            if !is_end || self.options.at_exit {
                self.leak(block, at, cause, holders.get(&block).cloned(), &case);
            }
        }
        self.result.exits.push((exit, case, value));
    }

    /// Names of what holds each block.
    fn holders(&self, case: &Case) -> BTreeMap<HeapId, String> {
        let mut holders = BTreeMap::new();
        if case.blocks.is_empty() {
            return holders;
        }
        for (variable, value) in &case.variables {
            for block in value.heap_blocks() {
                holders.entry(block).or_insert_with(|| self.variable(*variable).to_owned());
            }
        }
        for ((base, _), cell) in case.memory.iter() {
            let Base::Local(local) = self.result.scope.symbols.owner(*base) else { continue };
            for block in cell.value.heap_blocks() {
                if let Some(name) = self.local_name(local) {
                    holders.entry(block).or_insert(name);
                }
            }
        }
        holders
    }

    pub fn variable(&self, id: VariableId) -> &'a str {
        &self.body.variables[id.0 as usize].name
    }

    pub fn local_name(&self, local: ValueId) -> Option<String> {
        let mut instructions = self.body.blocks.iter().flat_map(|block| &block.instructions);
        let found = instructions.find(|instruction| instruction.result == local)?;
        match &found.op {
            Op::Local { variable: Some(variable), .. } => Some(self.variable(*variable).to_owned()),
            _ => None,
        }
    }

    fn unreachable(&self, case: &Case, value: &Value) -> Vec<HeapId> {
        if case.blocks.is_empty() {
            return Vec::new();
        }
        let reachable = case.reachable(&self.result.scope, Some(value));
        case.blocks.keys().copied().filter(|block| !reachable.contains(block)).collect()
    }

    /// Blocks that no pointer leads to any more are leaks from here on.
    pub fn look_for_leaks(&mut self, case: &mut Case, at: Spot, cause: Cause, variable: Option<&str>) {
        if case.feasibility == Feasibility::Dead {
            return;
        }
        for block in self.unreachable(case, &Value::Top) {
            case.blocks.remove(&block);
            self.leak(block, at, cause, variable.map(str::to_owned), case);
        }
    }

    fn leak(&mut self, block: HeapId, at: Spot, cause: Cause, variable: Option<String>, case: &Case) {
        let place = (at, cause, variable.clone());
        match self.result.leaks.get_mut(&block.site()) {
            Some(known) => {
                let is_known = known.at == at || known.others.iter().any(|(other, ..)| *other == at);
                if !is_known {
                    known.others.push(place);
                }
            }
            None => {
                let path = steps(self.id, case.path.as_ref());
                let leak = Leak { at, cause, variable, path, others: Vec::new() };
                self.result.leaks.insert(block.site(), leak);
            }
        }
    }
}

/// A path from its newest mark back, oldest first.
pub fn steps(function: FuncId, newest: Option<&Arc<Mark>>) -> Vec<Step> {
    let mut path = Vec::new();
    let mut next = newest;
    while let Some(mark) = next {
        match &mark.inner {
            Some(inner) => path.extend(inner.iter().rev()),
            None => path.push(Step { function, at: mark.at, is_taken: mark.is_taken }),
        }
        next = mark.before.as_ref();
    }
    path.reverse();
    path.truncate(MAX_PATH as usize);
    path
}

/// A block that only ends lives on the way out.
fn is_quiet(block: &leakscope_ir::Block) -> bool {
    block.instructions.iter().all(|instruction| matches!(instruction.op, Op::Phi { .. } | Op::LifeEnd { .. } | Op::Name { .. }))
}
