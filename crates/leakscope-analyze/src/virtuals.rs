//! Calls of functions that are found in the tables of classes, or in members of
//! records (`slots`): arguments that none of those that the program puts there
//! keeps, releases or changes pointers of are only looked at. Decided for the
//! whole program, by bodies alone; where one candidate cannot be seen, nothing
//! is told.

use leakscope_ir::{
    Body, Call, Callee, Cell, FuncId, Function, Global, Instruction, Op, Operand, Program, Shape, Signature,
    Terminator, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::containers::Role;
use crate::slots;
use crate::summary::Summary;
use crate::value::{Base, SymbolKey};

/// How names of the tables of classes start, and of what says what a class is.
const TABLE: &str = "_ZTV";
const TYPE: &str = "_ZTI";
/// What stands for a function that a class leaves to others.
const PURE: &str = "__cxa_pure_virtual";

/// What is known of functions besides their bodies.
pub struct Known<'k> {
    pub roles: &'k [Option<Role>],
    pub models: &'k [Option<std::sync::Arc<Summary>>],
}

/// What is known of calls of which the callee is not: by their results.
#[derive(Default)]
pub struct Virtuals {
    /// Of arguments, whether they are only looked at.
    looked_at: FxHashMap<FuncId, Vec<(ValueId, Vec<bool>)>>,
    candidates: Candidates,
}

/// By function, the functions that its calls may be of.
pub type Candidates = FxHashMap<FuncId, Vec<(ValueId, Vec<FuncId>)>>;

impl Virtuals {
    pub fn new(program: &Program, known: &Known, is_whole: bool) -> Virtuals {
        let candidates = candidates(program, is_whole);
        if candidates.is_empty() {
            return Virtuals::default();
        }
        let mut kept = Kept {
            program,
            known,
            candidates: &candidates,
            by: FxHashMap::default(),
            askers: FxHashMap::default(),
        };
        let calls = || candidates.iter().flat_map(|(id, calls)| calls.iter().map(move |call| (*id, call)));
        let asked = calls().flat_map(|(id, (result, functions))| {
            let Some(call) = call_of(program, id, *result) else { return Vec::new() };
            pointers(call).flat_map(|at| functions.iter().map(move |function| (*function, at))).collect()
        });
        kept.settle(asked.collect());
        let mut looked_at: FxHashMap<FuncId, Vec<(ValueId, Vec<bool>)>> = FxHashMap::default();
        for (id, (result, functions)) in calls() {
            let Some(call) = call_of(program, id, *result) else { continue };
            let mut arguments = vec![false; call.arguments.len()];
            for at in pointers(call) {
                arguments[at as usize] = functions.iter().all(|function| !kept.by[&(*function, at)]);
            }
            looked_at.entry(id).or_default().push((*result, arguments));
        }
        Virtuals { looked_at, candidates }
    }

    /// The arguments of a call, by whether they are only looked at.
    pub fn looked_at(&self, function: FuncId, call: ValueId) -> &[bool] {
        let calls = self.of(function);
        calls.iter().find(|(result, _)| *result == call).map_or(&[], |(_, arguments)| arguments)
    }

    /// All that is told of calls in a function.
    pub fn of(&self, function: FuncId) -> &[(ValueId, Vec<bool>)] {
        self.looked_at.get(&function).map_or(&[], Vec::as_slice)
    }

    /// The functions that a call may be of, if they are known.
    pub fn candidates(&self, function: FuncId, call: ValueId) -> &[FuncId] {
        of_call(&self.candidates, function, call)
    }
}

fn of_call(candidates: &Candidates, function: FuncId, call: ValueId) -> &[FuncId] {
    let calls = candidates.get(&function).map_or(&[][..], Vec::as_slice);
    calls.iter().find(|(result, _)| *result == call).map_or(&[], |(_, functions)| functions)
}

fn call_of(program: &Program, function: FuncId, result: ValueId) -> Option<&Call> {
    let body = program.function(function).body.as_ref()?;
    instructions(body).find_map(|made| match &made.op {
        Op::Call(call) if made.result == result => Some(call),
        _ => None,
    })
}

/// Arguments that are pointers: of numbers, nobody knows what they stand for.
fn pointers(call: &Call) -> impl Iterator<Item = u32> {
    let kinds = call.signature.0.bytes().skip(1);
    (0..call.arguments.len() as u32).zip(kinds).filter(|(_, kind)| *kind == b'p').map(|(at, _)| at)
}

fn candidates(program: &Program, is_whole: bool) -> Candidates {
    let mut candidates = slots::called_members(program, is_whole);
    let places = places(program);
    if places.is_empty() {
        return candidates;
    }
    for (id, function) in (0..).map(FuncId).zip(&program.functions) {
        let Some(body) = &function.body else { continue };
        let found = virtual_calls(body).filter_map(|(result, call, place)| {
            Some((result, places.get(&(place, &call.signature))?.clone()))
        });
        let found: Vec<(ValueId, Vec<FuncId>)> = found.collect();
        if !found.is_empty() {
            let known = candidates.entry(id).or_default();
            known.retain(|(result, _)| found.iter().all(|(other, _)| other != result));
            known.extend(found);
        }
    }
    candidates
}

/// Functions of classes, by their place in the table and their kind.
type Places<'p> = FxHashMap<(i64, &'p Signature), Vec<FuncId>>;

fn places(program: &Program) -> Places<'_> {
    let mut places = Places::default();
    let tables = program.globals.iter().filter(|global| global.name.starts_with(TABLE));
    for cells in tables.filter_map(|table: &Global| table.initial.as_ref()) {
        let is_type = |cell: &&Cell| matches!(cell.value, Operand::Global(id, _) if program.global(id).name.starts_with(TYPE));
        // What objects point to is behind what says their type.
        for start in cells.iter().filter(is_type).map(|cell| cell.offset + 8) {
            for cell in cells.iter().filter(|cell| cell.offset >= start) {
                if let Operand::Function(id) = cell.value
                    && program.function(id).name != PURE
                {
                    let signature = &program.function(id).signature;
                    places.entry((cell.offset - start, signature)).or_default().push(id);
                }
            }
        }
    }
    places
}

/// Calls of a function that was loaded from a table that the first argument
/// points to, with their results and the place in the table.
fn virtual_calls(body: &Body) -> impl Iterator<Item = (ValueId, &Call, i64)> {
    let of: FxHashMap<ValueId, &Op> = instructions(body).map(|made| (made.result, &made.op)).collect();
    instructions(body).filter_map(move |instruction| {
        let Op::Call(call) = &instruction.op else { return None };
        let Callee::Pointer(Operand::Value(pointer)) = &call.callee else { return None };
        let Some(Op::Load { from: Operand::Value(entry), .. }) = of.get(pointer) else { return None };
        let (table, place) = match of.get(entry)? {
            Op::Step { base: Operand::Value(table), offset, terms } if terms.is_empty() => (table, *offset),
            _ => (entry, 0),
        };
        let Some(Op::Load { from, .. }) = of.get(table) else { return None };
        let is_object = call.arguments.first() == Some(from);
        is_object.then_some((instruction.result, call, place))
    })
}

fn instructions(body: &Body) -> impl Iterator<Item = &Instruction> {
    body.blocks.iter().flat_map(|block| &block.instructions)
}

/// A parameter.
type Part = (FuncId, u32);

/// By function and parameter, whether it may be kept, released or changed, or
/// something that it leads to. Least fixpoint: nothing is, until shown. Only
/// what somebody asks for is looked at.
struct Kept<'k> {
    program: &'k Program,
    known: &'k Known<'k>,
    candidates: &'k Candidates,
    by: FxHashMap<Part, bool>,
    /// What has to be looked at again when one is kept after all.
    askers: FxHashMap<Part, Vec<Part>>,
}

impl Kept<'_> {
    fn settle(&mut self, mut open: Vec<Part>) {
        while let Some(part) = open.pop() {
            if self.by.get(&part) == Some(&true) {
                continue;
            }
            let mut asked = Vec::new();
            let is_kept = self.is_kept(part, &mut asked);
            self.by.insert(part, is_kept);
            open.extend(self.askers.get(&part).filter(|_| is_kept).into_iter().flatten());
            for other in asked.into_iter().filter(|_| !is_kept) {
                let askers = self.askers.entry(other).or_default();
                if !askers.contains(&part) {
                    askers.push(part);
                }
                if !self.by.contains_key(&other) {
                    self.by.insert(other, false);
                    open.push(other);
                }
            }
        }
    }

    fn is_kept(&self, (id, at): Part, asked: &mut Vec<Part>) -> bool {
        let function = self.program.function(id);
        let index = id.0 as usize;
        if self.known.roles[index].is_some()
            || self.known.models[index].is_some()
            || at >= function.parameters
        {
            return of_library(function, index, at, self.known);
        }
        match &function.body {
            Some(body) => self.is_kept_by(id, body, ValueId(at), asked),
            None => true,
        }
    }

    /// Whether a body keeps, releases or changes what a parameter is, or leads to.
    fn is_kept_by(&self, id: FuncId, body: &Body, parameter: ValueId, asked: &mut Vec<Part>) -> bool {
        let locals: FxHashSet<ValueId> = instructions(body)
            .filter(|instruction| matches!(instruction.op, Op::Local { .. }))
            .map(|instruction| instruction.result)
            .collect();
        let local_of = |operand: &Operand| match operand {
            Operand::Value(value) if locals.contains(value) => Some(*value),
            _ => None,
        };
        // What is, or holds, the parameter or something that was loaded from it.
        let mut derived: FxHashSet<ValueId> = [parameter].into_iter().collect();
        loop {
            let before = derived.len();
            for instruction in instructions(body) {
                let is_derived =
                    |operand: &Operand| matches!(operand, Operand::Value(value) if derived.contains(value));
                let mut found = None;
                match &instruction.op {
                    Op::Step { base: from, .. }
                    | Op::Cast { value: from, .. }
                    | Op::Extract { record: from, .. }
                        if is_derived(from) =>
                    {
                        found = Some(instruction.result);
                    }
                    Op::Load { from, shape } if is_derived(from) && has_pointers(shape) => {
                        found = Some(instruction.result);
                    }
                    Op::Select { yes, no, .. } if is_derived(yes) || is_derived(no) => {
                        found = Some(instruction.result);
                    }
                    Op::Insert { record, value, .. } if is_derived(record) || is_derived(value) => {
                        found = Some(instruction.result);
                    }
                    Op::Phi { incoming } if incoming.iter().any(|(_, value)| is_derived(value)) => {
                        found = Some(instruction.result);
                    }
                    Op::Store { to, value, shape } if has_pointers(shape) => match local_of(to) {
                        Some(local) if is_derived(value) => found = Some(local),
                        None if is_derived(value) || is_derived(to) => return true,
                        _ => {}
                    },
                    Op::Copy { to, from, .. } => match local_of(to) {
                        Some(local) if is_derived(from) => found = Some(local),
                        None if is_derived(from) || is_derived(to) => return true,
                        _ => {}
                    },
                    Op::Exchange { at, value, .. } if is_derived(at) || is_derived(value) => return true,
                    Op::Variadic { .. } => return true,
                    Op::Call(call) => {
                        for (at, _) in
                            call.arguments.iter().enumerate().filter(|(_, value)| is_derived(value))
                        {
                            let callees = match &call.callee {
                                Callee::Function(callee) => std::slice::from_ref(callee),
                                _ => of_call(self.candidates, id, instruction.result),
                            };
                            if callees.is_empty() {
                                return true;
                            }
                            for part in callees.iter().map(|callee| (*callee, at as u32)) {
                                if self.by.get(&part) == Some(&true) {
                                    return true;
                                }
                                asked.push(part);
                            }
                            let leads_on = matches!(&call.callee, Callee::Function(callee) if self.known.roles[callee.0 as usize].is_some_and(leads_to_elements));
                            if leads_on {
                                found = Some(instruction.result);
                            }
                        }
                    }
                    _ => {}
                }
                derived.extend(found);
            }
            let is_derived =
                |operand: &Operand| matches!(operand, Operand::Value(value) if derived.contains(value));
            let returns = body.blocks.iter().any(|block| match &block.end {
                Terminator::Return(Some(value)) => is_derived(value),
                _ => false,
            });
            if returns {
                return true;
            }
            if derived.len() == before {
                return false;
            }
        }
    }
}

/// What is told of a function without looking at its body.
fn of_library(function: &Function, index: usize, at: u32, known: &Known) -> bool {
    if let Some(role) = known.roles[index] {
        return !(role == Role::Query || leads_to_elements(role));
    }
    let Some(model) = &known.models[index] else { return function.body.is_none() };
    let Some(own) = model.symbols.find(&SymbolKey::Parameter(at)) else { return false };
    model.cases.iter().any(|case| {
        let seen_to = case.freed.iter().chain(&case.escaped).map(|id| Base::Symbol(*id));
        let written =
            case.writes.iter().flat_map(|write| write.value.bases().chain([(write.base, write.offset)]));
        let told = written.chain(case.result.bases()).map(|(base, _)| base);
        seen_to.chain(told).any(|base| model.symbols.base_mentions(base, Base::Symbol(own)))
    })
}

fn leads_to_elements(role: Role) -> bool {
    matches!(role, Role::Access | Role::Find | Role::End)
}

fn has_pointers(shape: &Shape) -> bool {
    !matches!(shape, Shape::Scalar { is_pointer: false, .. })
}
