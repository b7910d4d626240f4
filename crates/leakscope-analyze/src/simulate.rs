//! Property simulation of one procedure: cases go through the flow graph, and
//! meet by property (Das, Lerner, Seigle, PLDI 2002).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leakscope_core::Cause;
use leakscope_ir::{
    Block, BlockId, BlockRole, Body, Call, Callee, Compare, FuncId, Function, Instruction, Op, Operand, Spot,
    Terminator, ValueId,
};
use rustc_hash::FxHashMap;

use crate::arrive::Entry;
use crate::case::{Case, Cell, Feasibility, Flight, Mark};
use crate::confirm::{Search, Target, confirm_leaks};
use crate::flow::Flow;
use crate::leaks::Leak;
use crate::refine::{assume, assume_compare, compare, is_overflow};
use crate::scope::{Origin, Scope};
use crate::summary::{Exit, Step, Summary};
use crate::value::{Base, MAX_DEPTH, Offset, SymbolKey, Value};
use crate::world::{World, constant};

/// Where a procedure is too much, it goes on with less told apart; one that is
/// too much even so is given up.
const STAGES: [Stage; 4] = [
    Stage { cases: 16, depth: MAX_DEPTH, memory: Memory::Followed, eighths: 2 },
    Stage { cases: 6, depth: 4, memory: Memory::LeftToOthers, eighths: 2 },
    Stage { cases: 3, depth: 3, memory: Memory::LeftToOthers, eighths: 4 },
    Stage { cases: 2, depth: 2, memory: Memory::LeftToOthers, eighths: 64 },
];
/// Work in one procedure: at least, for each block, and at most. A run of a block
/// costs as much as its case is large.
const MIN_WORK: usize = 40_000;
const WORK_PER_BLOCK: usize = 600;
const MAX_WORK: usize = 2_000_000;
/// What the last stage may take beyond that, in smaller ones.
const MAX_LAST: usize = 800_000;
/// Arguments beyond the parameters that are followed.
pub const MAX_VARIADIC: u32 = 6;
/// Branches kept on the way to a leak.
const MAX_PATH: u32 = 64;
/// Cases of a `switch` that are told apart from its default by comparisons.
const FEW_CASES: usize = 6;
/// The same where a leak is looked for.
const MANY_CASES: usize = 24;

/// How much of a procedure is told apart.
#[derive(Clone, Copy)]
pub struct Stage {
    /// Cases of one block; above, the nearest are joined.
    pub cases: usize,
    /// Dereferences in an access path.
    depth: u8,
    /// What was there before the procedure, or is in globals.
    pub memory: Memory,
    /// How much of the usual work; the last is about to come to an end.
    eighths: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Followed,
    /// New blocks in it are its owners' to see to.
    LeftToOthers,
}

/// Summaries that are ready.
pub trait Summaries {
    fn summary(&self, function: FuncId) -> Option<Arc<Summary>>;
}

/// What came out of one procedure.
pub struct Simulated<'a> {
    pub scope: Scope<'a>,
    pub exits: Vec<(Exit, Case, Value)>,
    pub leaks: BTreeMap<usize, Leak>,
    /// As it was in the end, when leaks are confirmed.
    pub memory: Memory,
    /// Those of procedures that it gives functions to.
    pub inner: Vec<(FuncId, Leak, Arc<Origin>)>,
    /// These procedures, and those that they give functions to.
    pub followed: BTreeSet<FuncId>,
    /// It was given up, for it took too long.
    pub is_cut: bool,
    /// The leak that was looked for.
    pub confirmed: Option<Leak>,
    /// The shape of its body, if it is not too large.
    pub flow: Option<Arc<Flow>>,
}

pub struct Options {
    /// Blocks that `main` still holds at its end are leaks too.
    pub at_exit: bool,
    /// Functions of which nothing is known do not keep what they get, and
    /// warnings count though ways were joined.
    pub pedantic: bool,
}

pub fn simulate<'a>(
    world: &'a World<'a>,
    summaries: &dyn Summaries,
    id: FuncId,
    options: &Options,
) -> Simulated<'a> {
    let mut simulated = simulate_with(world, summaries, id, options, &Bounds::default());
    confirm_leaks(world, summaries, id, options, &Bounds::default(), &mut simulated);
    simulated
}

/// What an argument is known to be, or to hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Given {
    /// A function, a table of functions, or a number that may choose among some.
    Value(Value),
    /// Functions or tables, by their distance from where it points.
    Memory(Vec<(i64, Value)>),
}

/// How a procedure is simulated.
#[derive(Default)]
pub struct Bounds<'c> {
    /// Arguments that are known functions, or lead to them.
    pub callbacks: &'c [(u32, Given)],
    /// Calls with such arguments, one in another.
    pub depth: usize,
    /// Only whether this leak is there is of interest.
    pub target: Option<Target<'c>>,
    /// The shape of its body, where it is known already.
    pub flow: Option<&'c Arc<Flow>>,
}

/// Keeps as many cases apart as the work allows.
pub fn simulate_with<'a>(
    world: &'a World<'a>,
    summaries: &dyn Summaries,
    id: FuncId,
    options: &Options,
    bounds: &Bounds,
) -> Simulated<'a> {
    let function = world.program.function(id);
    let body = function.body.as_ref().expect("a function with a body");
    let mut scope = Scope::new(world);
    let Some(flow) = bounds.flow.cloned().or_else(|| Flow::of(body).map(Arc::new)) else {
        return Simulated { is_cut: true, ..Simulated::of(scope) };
    };
    scope.rewritten = flow.rewritten_globals(body, summaries);
    let mut first = Case::default();
    for index in 0..function.parameters {
        let given = bounds.callbacks.iter().find(|(at, _)| *at == index);
        let value = match given {
            Some((_, Given::Value(value))) => value.clone(),
            _ => scope.symbols.value(SymbolKey::Parameter(index)),
        };
        if let (Some((_, Given::Memory(cells))), Value::Sum(base, _)) = (given, &value) {
            for (at, function) in cells {
                first.memory.insert((*base, Offset::At(*at)), Cell { value: function.clone(), bytes: 8 });
            }
        }
        if world.never_null.is_parameter(id, index) {
            assume_compare(&mut first, &mut scope, Compare::Ne, &value, &Value::NULL);
        }
        first.set(ValueId(index), value);
    }
    let mut simulation = Simulation {
        function,
        id,
        body,
        summaries,
        options,
        entries: (0..body.blocks.len()).map(|_| Vec::new()).collect(),
        queue: BTreeSet::new(),
        depth: bounds.depth,
        with: Stage { memory: bounds.target.map_or(Memory::Followed, |target| target.memory), ..STAGES[0] },
        is_caught: false,
        work: 0,
        returns_at: None,
        ways: BTreeMap::new(),
        with_functions: FxHashMap::default(),
        search: bounds.target.map(|target| Search::new(target, body, &flow)),
        result: Simulated { flow: Some(flow.clone()), ..Simulated::of(scope) },
        flow,
    };
    simulation.arrive(BlockId(0), first);
    if simulation.search.is_some() {
        simulation.search();
    } else {
        simulation.run();
        simulation.leave_out_skipped_loops();
    }
    simulation.result
}

impl<'a> Simulated<'a> {
    fn of(scope: Scope<'a>) -> Simulated<'a> {
        let (exits, leaks, inner, followed) = (Vec::new(), BTreeMap::new(), Vec::new(), BTreeSet::new());
        let memory = Memory::Followed;
        Simulated { scope, exits, leaks, memory, inner, followed, is_cut: false, confirmed: None, flow: None }
    }
}

pub struct Simulation<'a, 'b> {
    pub function: &'a Function,
    pub id: FuncId,
    pub body: &'a Body,
    pub flow: Arc<Flow>,
    pub summaries: &'b dyn Summaries,
    pub options: &'b Options,
    pub entries: Vec<Vec<Entry>>,
    /// Of calls with functions as arguments, one in another.
    pub depth: usize,
    pub with: Stage,
    /// Blocks in their order, with the entry to run.
    pub queue: BTreeSet<(u32, u32, usize)>,
    /// An exception of the call at hand would be caught here, so the author
    /// expects one.
    pub is_caught: bool,
    /// What may still be done before the procedure is given up.
    pub work: usize,
    /// The line of the `return` at the end of the block that runs now.
    pub returns_at: Option<Spot>,
    /// On which ways blocks of a site were lost, by place.
    pub ways: BTreeMap<(usize, Spot), Vec<Option<Arc<Mark>>>>,
    /// Summaries of procedures that get functions, by these.
    pub with_functions: FxHashMap<Specialised, Option<Arc<Summary>>>,
    /// Set where one leak is looked for by single cases.
    pub search: Option<Search<'b>>,
    pub result: Simulated<'a>,
}

/// A procedure, and the functions or tables that some of its arguments are.
pub type Specialised = (FuncId, Vec<(u32, Given)>);

impl<'a> Simulation<'a, '_> {
    pub fn scope(&mut self) -> &mut Scope<'a> {
        &mut self.result.scope
    }

    fn run(&mut self) {
        let work = MAX_WORK.min(MIN_WORK + WORK_PER_BLOCK * self.body.blocks.len());
        for with in STAGES {
            self.narrow(with);
            self.work = (work * with.eighths / 8).min(work.max(MAX_LAST));
            while self.work > 0
                && let Some((_, block, entry)) = self.queue.pop_first()
            {
                let case = self.entries[block as usize][entry].case.clone();
                self.work = self.work.saturating_sub(4 + case.size());
                self.block(BlockId(block), case);
            }
            if self.queue.is_empty() {
                return;
            }
        }
        self.result.is_cut = true;
    }

    /// From now on less is told apart, also of what waits.
    fn narrow(&mut self, with: Stage) {
        self.with = with;
        self.result.memory = with.memory;
        self.scope().symbols.max_depth = with.depth;
        let waiting = std::mem::take(&mut self.queue);
        let taken: Vec<(BlockId, Case)> = waiting
            .iter()
            .rev()
            .map(|&(_, block, entry)| (BlockId(block), self.entries[block as usize].remove(entry).case))
            .collect();
        for (block, case) in taken.into_iter().rev() {
            self.arrive(block, case);
        }
    }

    /// Single cases, until one shows the leak that is looked for.
    fn search(&mut self) {
        self.work = Search::work(self.body.blocks.len());
        let mut before = 0;
        while let Some(search) = &mut self.search
            && search.found.is_none()
            && let Some((block, case)) = search.next(before)
        {
            before = search.open();
            let compared = std::mem::take(&mut search.compared);
            self.work = self.work.saturating_sub(4 + case.size() + compared);
            self.block(block, case);
            if self.work == 0 {
                self.result.is_cut = true;
                break;
            }
        }
        if let Some(search) = self.search.take() {
            self.result.is_cut |= search.is_bounded;
            self.result.confirmed = search.found;
        }
    }

    fn block(&mut self, id: BlockId, mut case: Case) {
        let body = self.body;
        let block = body.block(id);
        self.result.scope.loops.clone_from(&self.flow.loops[id.0 as usize]);
        if block.role == BlockRole::Catches {
            case.flight = Flight::Sought;
        }
        self.returns_at = matches!(block.end, Terminator::Return(_)).then_some(block.end_at);
        let mut cases = vec![case];
        let last = block.instructions.len().saturating_sub(1);
        for (index, instruction) in block.instructions.iter().enumerate() {
            let mut thrown = Vec::new();
            self.is_caught = index == last
                && matches!(block.end, Terminator::Invoke { unwind, .. } if body.block(unwind).role == BlockRole::Catches);
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

    /// The instruction that computes a value.
    pub fn made_by(&self, operand: &Operand) -> Option<&'a Op> {
        let Operand::Value(value) = operand else { return None };
        let block = self.body.block(self.flow.block_of[value.0 as usize]);
        block.instructions.iter().find(|made| made.result == *value).map(|made| &made.op)
    }

    /// Whether an address is so many bytes from another as a variable says: a
    /// member that somebody chose, and not one element of many.
    pub fn is_any_byte(&self, address: &Operand) -> bool {
        let is_chosen = |(by, stride): &(Operand, i64)| *stride == 1 && matches!(by, Operand::Value(_));
        matches!(self.made_by(address), Some(Op::Step { terms, .. }) if terms.iter().any(is_chosen))
    }

    /// Whether an instruction reads a value.
    pub fn is_used(&self, value: ValueId) -> bool {
        self.flow.is_used[value.0 as usize]
    }

    /// Values that nothing reads any more are gone, and with them the last
    /// pointers that only they were.
    fn drop_values(&mut self, case: &mut Case, block: BlockId, index: usize, at: Spot) {
        let mut gone = Vec::new();
        for &id in &self.flow.dying[block.0 as usize][index] {
            gone.extend(case.remove(id).filter(Value::has_heap).map(|value| (id, value)));
        }
        if !gone.is_empty() && self.ends_program(self.body.block(block)) {
            case.drop_unreachable(&self.result.scope);
        } else {
            self.discarded(case, gone, at);
        }
    }

    /// Values are gone that led to blocks.
    fn discarded(&mut self, case: &mut Case, gone: Vec<(ValueId, Value)>, at: Spot) {
        if gone.is_empty() {
            return;
        }
        let mut before = case.clone();
        gone.into_iter().for_each(|(id, value)| before.set(id, value));
        self.look_for_leaks_after(&before, case, at, Cause::Discarded);
    }

    fn end(&mut self, id: BlockId, mut case: Case) {
        let body = self.body;
        let block = body.block(id);
        match &block.end {
            Terminator::Jump(to) => self.go(id, *to, case),
            Terminator::Branch { condition, yes, no } => {
                let tested = self.null_test(condition);
                let condition = self.operand(&case, condition);
                for (to, truth) in [(*yes, true), (*no, false)] {
                    let mut taken = case.clone();
                    if !is_overflow(&self.result.scope, &condition, truth)
                        && tested.is_none_or(|(value, op)| {
                            note_test(&mut taken, value, (op == Compare::Eq) == truth)
                        })
                        && assume(&mut taken, self.scope(), &condition, truth)
                        && !(self.flow.is_loop_head[id.0 as usize]
                            && self.has_negative_count(id, &case, &taken, &condition))
                    {
                        self.mark(&mut taken, block, truth != block.branch.is_negated);
                        self.go(id, to, taken);
                    }
                }
            }
            Terminator::Switch { value, cases, default } => {
                let value = self.operand(&case, value);
                let few = if self.search.is_some() { MANY_CASES } else { FEW_CASES };
                for (number, to) in cases {
                    let mut taken = case.clone();
                    let right = Value::Int(*number);
                    let scope = &mut self.result.scope;
                    let mut is_taken = assume_compare(&mut taken, scope, Compare::Eq, &value, &right);
                    let mut is_left = assume_compare(&mut case, scope, Compare::Ne, &value, &right);
                    // Where no range tells a case from the default, the
                    // comparison does.
                    if is_taken && is_left && cases.len() <= few {
                        let equals = compare(&case, scope, Compare::Eq, &value, &right);
                        if equals != Value::NULL {
                            is_taken = assume(&mut taken, scope, &equals, true);
                            is_left = assume(&mut case, scope, &equals, false);
                        }
                    }
                    if is_taken {
                        self.mark(&mut taken, block, true);
                        self.go(id, *to, taken);
                    }
                    if !is_left {
                        return;
                    }
                }
                self.mark(&mut case, block, false);
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
            Terminator::Resume if case.flight == Flight::Sought => {}
            Terminator::Resume => self.exit(Exit::Throw, case, Value::Top, block.end_at),
            Terminator::Unreachable => {}
        }
    }

    /// The value that a condition compares with null.
    fn null_test(&self, condition: &Operand) -> Option<(ValueId, Compare)> {
        match self.made_by(condition)? {
            Op::Compare {
                op: op @ (Compare::Eq | Compare::Ne),
                left: Operand::Value(value),
                right: Operand::Int(0),
            } => Some((*value, *op)),
            _ => None,
        }
    }

    /// Whether the loop of a head is left at once only because what it counts up
    /// to would be negative: counts are not, but what a round gets may be.
    fn has_negative_count(&self, head: BlockId, before: &Case, left: &Case, condition: &Value) -> bool {
        let Scope { symbols, .. } = &self.result.scope;
        let Value::Sum(Base::Symbol(id), Offset::At(0)) = condition else { return false };
        let SymbolKey::Compare(_, count, Value::Int(0)) = symbols.key(*id) else { return false };
        let Value::Sum(Base::Symbol(id), Offset::At(0)) = count else { return false };
        let is_from_before = match symbols.key(*id) {
            SymbolKey::Result(made, _) => {
                let block = self.flow.block_of[made.0 as usize];
                !self.flow.loops[block.0 as usize].contains(&head)
            }
            _ => symbols.is_input(*id),
        };
        let fact = |case: &Case| case.fact(&self.result.scope, *id);
        is_from_before && fact(before).high > 0 && fact(left).high < 0
    }

    fn mark(&self, case: &mut Case, block: &Block, is_taken: bool) {
        let (at, ordinal) = (block.end_at, block.branch.ordinal);
        let length = case.path.as_ref().map_or(0, |mark| mark.length) + 1;
        if length <= MAX_PATH && at.line > 0 {
            let before = case.path.take();
            case.path = Some(Arc::new(Mark { at, ordinal, is_taken, length, before, inner: None }));
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
        // What is not needed further on is another thing when it is needed again.
        case.tested
            .retain(|(id, _)| live.binary_search(id).is_ok() && !values.iter().any(|(phi, _)| phi == id));
        let mut gone = Vec::new();
        case.env.retain(|(id, value)| {
            let is_live = live.binary_search(id).is_ok();
            if !is_live && value.has_heap() {
                gone.push((*id, value.clone()));
            }
            is_live
        });
        for (id, value) in values {
            case.set(id, value);
        }
        let end_at = body.block(from).end_at;
        let goes_on = !self.ends_program(target);
        if goes_on {
            self.discarded(&mut case, gone, end_at);
        }
        let (left, reached) = (body.block(from).role, target.role);
        case.left_at = match (left, reached) {
            (BlockRole::Leaves, _) if end_at.line > 0 => case.left_at.or(Some(end_at)),
            (BlockRole::Exit, _) | (_, BlockRole::Exit) => case.left_at,
            _ => None,
        };
        if !case.variables.is_empty() && goes_on {
            self.end_scopes(&mut case, target, end_at);
        }
        self.arrive(to, case);
    }

    /// Whether the program ends in a block, and not by an exception: nothing is
    /// lost there.
    fn ends_program(&self, block: &Block) -> bool {
        let world = self.result.scope.world;
        let ends = |instruction: &Instruction| match &instruction.op {
            Op::Call(Call { callee: Callee::Function(callee), is_noreturn, .. }) => {
                let throws = world.program.function(*callee).name.starts_with("__cxa_");
                !throws && (*is_noreturn || !world.returns(*callee))
            }
            Op::Call(call) => call.is_noreturn,
            _ => false,
        };
        block.end == Terminator::Unreachable && block.instructions.iter().any(ends)
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
        if let Some(outcomes) = self.outcomes(&case, &value) {
            for (case, value) in outcomes {
                self.exit(exit, case, value, at);
            }
            return;
        }
        case.release_nulls(&self.result.scope);
        let at = case.left_at.unwrap_or(at);
        let before = case.clone();
        case.env.clear();
        case.variables.clear();
        let symbols = &self.result.scope.symbols;
        case.memory.retain(|(base, _), _| !matches!(symbols.owner(*base), Base::Local(_)));
        let cause = if exit == Exit::Throw { Cause::Unwound } else { Cause::ScopeEnd };
        let lost = self.unreachable(&case, &value);
        let roots = self.roots(&before, &self.in_sight(&before, &lost));
        for block in lost {
            case.blocks.remove(&block);
            let is_end = self.function.name == "main" && exit == Exit::Return;
            if roots.contains(&block) && (!is_end || self.options.at_exit) {
                let holder = self.holder(&before, block);
                self.leak(block, at, cause, holder.into(), &mut case);
            }
        }
        self.settle(&mut case);
        self.result.exits.push((exit, case, value));
    }

    /// A comparison that the caller cannot name is one result or the other.
    fn outcomes(&mut self, case: &Case, value: &Value) -> Option<Vec<(Case, Value)>> {
        let Value::Sum(Base::Symbol(id), Offset::At(0)) = value else { return None };
        let symbols = &self.result.scope.symbols;
        if symbols.is_input(*id) || !matches!(symbols.key(*id), SymbolKey::Compare(..)) {
            return None;
        }
        let mut outcomes = Vec::new();
        for truth in [true, false] {
            let mut case = case.clone();
            if assume(&mut case, self.scope(), value, truth) {
                outcomes.push((case, Value::Int(truth.into())));
            }
        }
        Some(outcomes)
    }
}

/// Notes how a comparison of one of several things with null went; whether that
/// can be, after an earlier one.
fn note_test(case: &mut Case, value: ValueId, is_null: bool) -> bool {
    if let Some((_, known)) = case.tested.iter().find(|(tested, _)| *tested == value) {
        return *known == is_null;
    }
    if matches!(case.get(value), Value::OneOf(_) | Value::Sum(Base::Symbol(_), Offset::Any)) {
        case.tested.push((value, is_null));
    }
    true
}

/// A path from its newest mark back, oldest first.
pub fn steps(function: FuncId, newest: Option<&Arc<Mark>>) -> Vec<Step> {
    let mut path = Vec::new();
    let mut next = newest;
    while let Some(mark) = next {
        match &mark.inner {
            Some(inner) => path.extend(inner.iter().rev()),
            None => path.push(Step { function, at: mark.at, ordinal: mark.ordinal, is_taken: mark.is_taken }),
        }
        next = mark.before.as_ref();
    }
    path.reverse();
    path.truncate(MAX_PATH as usize);
    path
}
