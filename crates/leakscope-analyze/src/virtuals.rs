//! Virtual calls on objects of which the class is not known: arguments that no
//! class's function at that place of its table keeps, releases or changes
//! pointers of are only looked at. Decided for the whole program, by bodies
//! alone; where one candidate cannot be seen, nothing is told.

use leakscope_ir::{
    Body, Call, Callee, Cell, FuncId, Function, Global, Instruction, Op, Operand, Program, Shape, Signature,
    Terminator, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::containers::Role;
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

/// By call, its arguments: whether one is only looked at.
#[derive(Default)]
pub struct Virtuals(FxHashMap<FuncId, Vec<(ValueId, Vec<bool>)>>);

impl Virtuals {
    pub fn new(program: &Program, known: &Known) -> Virtuals {
        let places = places(program);
        if places.is_empty() {
            return Virtuals::default();
        }
        let kept = Kept::new(program, known, &places);
        let of_function = |(id, function): (u32, &Function)| {
            let body = function.body.as_ref()?;
            let calls: Vec<(ValueId, Vec<bool>)> = virtual_calls(body)
                .filter_map(|(result, call, place)| {
                    let candidates = places.get(&(place, &call.signature))?;
                    let is_looked_at = |at| !kept.by_any(candidates, at);
                    Some((result, (0..call.arguments.len()).map(is_looked_at).collect()))
                })
                .collect();
            (!calls.is_empty()).then_some((FuncId(id), calls))
        };
        Virtuals((0..).zip(&program.functions).filter_map(of_function).collect())
    }

    /// The arguments of a call, by whether they are only looked at.
    pub fn looked_at(&self, function: FuncId, call: ValueId) -> &[bool] {
        let calls = self.of(function);
        calls.iter().find(|(result, _)| *result == call).map_or(&[], |(_, arguments)| arguments)
    }

    /// All that is told of calls in a function.
    pub fn of(&self, function: FuncId) -> &[(ValueId, Vec<bool>)] {
        self.0.get(&function).map_or(&[], Vec::as_slice)
    }
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

/// By function and parameter, whether it may be kept, released or changed, or
/// something that it leads to. Least fixpoint: nothing is, until shown.
struct Kept {
    parameters: Vec<Vec<bool>>,
    /// The same of arguments beyond the parameters.
    variadic: Vec<bool>,
}

impl Kept {
    fn new(program: &Program, known: &Known, places: &Places) -> Kept {
        let of_function = |(index, function): (usize, &Function)| {
            (0..function.parameters).map(|at| of_library(function, index, at, known)).collect()
        };
        let mut kept = Kept {
            parameters: program.functions.iter().enumerate().map(of_function).collect(),
            variadic: known.models.iter().map(Option::is_none).collect(),
        };
        let wanted = reached(program, known, places);
        loop {
            let mut is_changed = false;
            for &id in &wanted {
                let function = program.function(id);
                let Some(body) = &function.body else { continue };
                for at in 0..function.parameters {
                    let is_new =
                        !kept.by(id, at as usize) && is_kept(body, ValueId(at), known, &kept, places);
                    kept.parameters[id.0 as usize][at as usize] |= is_new;
                    is_changed |= is_new;
                }
            }
            if !is_changed {
                return kept;
            }
        }
    }

    fn by(&self, function: FuncId, at: usize) -> bool {
        let index = function.0 as usize;
        self.parameters[index].get(at).copied().unwrap_or(self.variadic[index])
    }

    fn by_any(&self, functions: &[FuncId], at: usize) -> bool {
        functions.iter().any(|function| self.by(*function, at))
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

/// Functions of classes, and those that they call.
fn reached(program: &Program, known: &Known, places: &Places) -> Vec<FuncId> {
    let mut seen: FxHashSet<FuncId> = FxHashSet::default();
    let mut open: Vec<FuncId> = places.values().flatten().copied().collect();
    while let Some(id) = open.pop() {
        let index = id.0 as usize;
        let is_told = known.roles[index].is_some() || known.models[index].is_some();
        if !is_told && seen.insert(id) {
            let body = program.function(id).body.iter();
            let calls = body.flat_map(|body| instructions(body)).filter_map(|made| match &made.op {
                Op::Call(Call { callee: Callee::Function(callee), .. }) => Some(*callee),
                _ => None,
            });
            open.extend(calls);
        }
    }
    let mut all: Vec<FuncId> = seen.into_iter().collect();
    all.sort();
    all
}

/// Whether a body keeps, releases or changes what a parameter is, or leads to.
fn is_kept(body: &Body, parameter: ValueId, known: &Known, kept: &Kept, places: &Places) -> bool {
    let virtual_calls: FxHashMap<ValueId, i64> =
        virtual_calls(body).map(|(result, _, place)| (result, place)).collect();
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
                    for (at, _) in call.arguments.iter().enumerate().filter(|(_, value)| is_derived(value)) {
                        let is_kept = match &call.callee {
                            Callee::Function(callee) => kept.by(*callee, at),
                            _ => {
                                let place = virtual_calls.get(&instruction.result);
                                let candidates =
                                    place.and_then(|place| places.get(&(*place, &call.signature)));
                                candidates.is_none_or(|candidates| kept.by_any(candidates, at))
                            }
                        };
                        if is_kept {
                            return true;
                        }
                        let leads_on = matches!(&call.callee, Callee::Function(callee) if known.roles[callee.0 as usize].is_some_and(leads_to_elements));
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

fn has_pointers(shape: &Shape) -> bool {
    !matches!(shape, Shape::Scalar { is_pointer: false, .. })
}
