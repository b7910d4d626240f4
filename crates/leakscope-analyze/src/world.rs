//! What holds for the whole program, decided before any procedure is
//! analysed: globals that nobody writes or reads, and what is known of
//! functions without a body.

use std::sync::Arc;

use leakscope_ir::{
    Body, Call, Callee, Cell, FuncId, Function, GlobalId, Linkage, Op, Operand, Program, Terminator, ValueId,
};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::containers::{self, Role};
use crate::counts;
use crate::flow::{Results, used_values};
use crate::handed;
use crate::hooks;
use crate::models::{Model, Models};
use crate::nonnull::NeverNull;
use crate::owners;
use crate::returns::{Returns, returning};
use crate::summary::Summary;
use crate::value::{Base, Offset, Value};
use crate::virtuals::{Known, Virtuals};

/// Functions of so many blocks are followed for what is in memory that they get:
/// in larger ones, other ways are of more interest.
const SMALL: usize = 12;

pub struct World<'a> {
    pub program: &'a Program,
    globals: Vec<GlobalUse>,
    /// Of functions that models describe, by function.
    models: Vec<Option<Arc<Summary>>>,
    roles: Vec<Option<Role>>,
    deleters: FxHashMap<FuncId, FuncId>,
    deleters_by_class: FxHashMap<&'a str, FuncId>,
    first: FxHashMap<(GlobalId, i64), Value>,
    returns: Vec<Returns>,
    /// Parameters that a function calls.
    called: Vec<Vec<u32>>,
    measured: Vec<Vec<u32>>,
    /// The one function that a variable holds, if any.
    handlers: FxHashMap<GlobalId, FuncId>,
    pub never_null: NeverNull,
    counting: Vec<bool>,
    hooks: FxHashMap<(GlobalId, i64), FuncId>,
    pub virtuals: Virtuals,
}

#[derive(Clone, Copy, Default, Serialize)]
struct GlobalUse {
    is_written: bool,
    is_read: bool,
    /// Loaded, whatever is done with it then.
    is_loaded: bool,
}

impl<'a> World<'a> {
    pub fn new(program: &'a Program, models: &Models) -> World<'a> {
        let mut globals = vec![GlobalUse::default(); program.globals.len()];
        for global in &program.globals {
            for cell in global.initial.iter().flatten() {
                if let Operand::Global(id, _) = cell.value {
                    globals[id.0 as usize] = GlobalUse { is_written: true, is_read: true, is_loaded: true };
                }
            }
        }
        let is_whole =
            program.functions.iter().any(|function| function.name == "main" && function.body.is_some());
        let returned = returned_globals(program, is_whole);
        let used = used_by_function(program, is_whole);
        for ((function, own), used) in program.functions.iter().zip(&returned).zip(&used) {
            if let Some(body) = &function.body {
                note_uses(body, used, &returned, *own, &mut globals);
            }
        }
        for (global, uses) in program.globals.iter().zip(&mut globals) {
            let is_seen = is_whole || global.linkage == Linkage::Internal;
            uses.is_read |= !is_seen || global.initial.is_none();
            uses.is_written |= !is_seen && !global.is_constant || global.initial.is_none();
            uses.is_written &= !global.is_constant;
        }
        let hooks = hooks::hooks(program, models);
        let modelled = |function: &Function| {
            let known = models.of(function).filter(|_| function.body.is_none() || is_library(function));
            let model = known.cloned().or_else(|| Model::of_attributes(function))?;
            Some(Arc::new(model.summary(function)))
        };
        let first = program.globals.iter().enumerate().filter(|(index, _)| !globals[*index].is_written);
        let first = first.flat_map(|(index, global)| {
            global
                .initial
                .iter()
                .flatten()
                .map(move |cell| ((GlobalId(index as u32), cell.offset), constant(&cell.value)))
        });
        let destroyed = containers::destroyed_classes(&program.functions);
        let roles: Vec<Option<Role>> =
            program.functions.iter().map(|function| containers::role(function, &destroyed)).collect();
        let models: Vec<Option<Arc<Summary>>> = program.functions.iter().map(modelled).collect();
        let is_noreturn = |index: usize| match &models[index] {
            Some(model) => model.cases.is_empty(),
            None => program.functions[index].is_noreturn,
        };
        let returns = returning(program, is_noreturn);
        let called = handed::called_parameters(program);
        let measured = handed::measured_parameters(program);
        let come_back: Vec<bool> = returns.iter().map(|returns| *returns != Returns::Never).collect();
        let never_null = NeverNull::new(program, &come_back, is_whole);
        let handlers = handed::handlers(program, is_whole);
        let counting = counts::counting(program);
        let virtuals = Virtuals::new(program, &Known { roles: &roles, models: &models }, is_whole);
        let deleters = owners::deleters(program);
        let class = |id: FuncId| Some(program.function(id).display.split_once("::~unique_ptr")?.0);
        let deleters_by_class = deleters.iter().filter_map(|(&ends, &deleter)| Some((class(ends)?, deleter)));
        World {
            program,
            handlers,
            roles,
            deleters_by_class: deleters_by_class.collect(),
            deleters,
            first: first.collect(),
            models,
            globals,
            returns,
            called,
            measured,
            never_null,
            counting,
            hooks,
            virtuals,
        }
    }

    /// What is at `offset` of a global that nobody writes, or that stands for the
    /// allocator.
    pub fn initial(&self, global: GlobalId, offset: Offset) -> Option<Value> {
        let Offset::At(at) = offset else { return None };
        if let Some(hook) = self.hooks.get(&(global, at)) {
            return Some(Value::address(Base::Function(*hook)));
        }
        let cells = self.program.global(global).initial.as_ref()?;
        let is_unknown = |cell: &Cell| cell.value == Operand::Unknown && cell.covers(at);
        if self.globals[global.0 as usize].is_written || cells.last().is_some_and(is_unknown) {
            return None;
        }
        Some(self.first.get(&(global, at)).cloned().unwrap_or(Value::NULL))
    }

    /// The functions that a call may be of, if they are known.
    pub fn callees<'c>(&'c self, caller: FuncId, call: ValueId, callee: &'c Callee) -> &'c [FuncId] {
        match callee {
            Callee::Function(callee) => std::slice::from_ref(callee),
            _ => self.virtuals.candidates(caller, call),
        }
    }

    pub fn is_written(&self, global: GlobalId) -> bool {
        self.globals[global.0 as usize].is_written
    }

    /// Whether functions in a global are known, whoever else sets it.
    pub fn has_known_functions(&self, global: GlobalId) -> bool {
        !self.is_written(global) || self.hooks.keys().any(|(hooked, _)| *hooked == global)
    }

    /// Functions that nobody changes, as those of a class.
    pub fn is_table(&self, global: GlobalId) -> bool {
        let is_function = |cell: &Cell| matches!(cell.value, Operand::Function(_));
        !self.is_written(global) && self.program.global(global).initial.iter().flatten().any(is_function)
    }

    /// A global whose value nobody does anything with, though somebody looks
    /// at it: what it holds is lost.
    pub fn is_never_read(&self, global: GlobalId) -> bool {
        let uses = self.globals[global.0 as usize];
        uses.is_loaded && !uses.is_read
    }

    /// Whether calls of a function come back, other than by an exception.
    pub fn returns(&self, function: FuncId) -> bool {
        self.returns[function.0 as usize] != Returns::Never
    }

    /// The same of a call with these arguments.
    pub fn comes_back(&self, function: FuncId, arguments: &[Value]) -> bool {
        self.returns[function.0 as usize].comes_back(|parameter| match arguments.get(parameter as usize) {
            Some(Value::Int(number)) => Some(*number == 0),
            _ => None,
        })
    }

    /// Whether a function with a body returns no negative number.
    pub fn counts(&self, function: FuncId) -> bool {
        self.counting[function.0 as usize]
    }

    /// Parameters that a small function calls, or functions of tables in which
    /// it calls.
    pub fn called_parameters(&self, function: FuncId) -> &[u32] {
        &self.called[function.0 as usize]
    }

    /// Parameters that tell a small function how far it goes in memory.
    pub fn measured_parameters(&self, function: FuncId) -> &[u32] {
        &self.measured[function.0 as usize]
    }

    /// Whether callers may simulate a function again, for what they give it.
    pub fn depends_on_caller(&self, function: FuncId) -> bool {
        !self.called_parameters(function).is_empty() || !self.measured_parameters(function).is_empty()
    }

    /// Whether they do so for what is in memory that they give it.
    pub fn is_small(&self, function: FuncId) -> bool {
        let body = self.program.function(function).body.as_ref();
        body.is_some_and(|body| body.blocks.len() <= SMALL)
    }

    /// The function that a variable holds whenever it holds any.
    pub fn handler(&self, global: GlobalId) -> Option<FuncId> {
        self.handlers.get(&global).copied()
    }

    /// Of a function of the C++ standard library.
    pub fn role(&self, function: FuncId) -> Option<Role> {
        self.roles[function.0 as usize]
    }

    /// What ends the object of a unique pointer that a function ends.
    pub fn deleter(&self, function: FuncId) -> Option<FuncId> {
        self.deleters.get(&function).copied()
    }

    /// The same by the pointer's class.
    pub fn deleter_of(&self, class: &str) -> Option<FuncId> {
        self.deleters_by_class.get(class).copied()
    }

    /// All that is asked of a function by others, apart from what it does.
    pub fn told_of_function(&self, id: FuncId) -> impl Serialize {
        let function = self.program.function(id);
        let Function {
            name, parameters, is_variadic, is_noreturn, returns_new, ownership, signature, ..
        } = function;
        let own = (name, parameters, is_variadic, is_noreturn, returns_new, ownership, signature);
        let body = (
            function.body.is_some(),
            self.returns[id.0 as usize],
            self.called_parameters(id),
            self.measured_parameters(id),
            self.is_small(id) && self.depends_on_caller(id),
        );
        (own, body, self.role(id), self.never_null.is_result(id), self.counts(id))
    }

    /// The same of a global.
    pub fn told_of_global(&self, id: GlobalId) -> impl Serialize {
        let handler = self.handler(id).map(|function| &self.program.function(function).name);
        (self.globals[id.0 as usize], self.program.global(id).fingerprint, handler)
    }

    pub fn model(&self, function: FuncId) -> Option<&Arc<Summary>> {
        self.models[function.0 as usize].as_ref()
    }
}

/// Code of the C++ standard library that came with a header: models know it
/// better than its body.
pub fn is_library(function: &Function) -> bool {
    let name = &function.display;
    ["std::", "__gnu_cxx::"].iter().any(|prefix| name.starts_with(prefix))
}

pub fn constant(operand: &Operand) -> Value {
    match operand {
        Operand::Int(number) => Value::Int(*number),
        Operand::Global(global, offset) => Value::Sum(Base::Global(*global), Offset::At(*offset)),
        Operand::Function(function) => Value::address(Base::Function(*function)),
        Operand::Members(members) => Value::Record(members.iter().map(constant).collect()),
        Operand::Value(_) | Operand::Unknown => Value::Top,
    }
}

/// How a body uses the addresses of globals.
fn note_uses(
    body: &Body,
    used: &[bool],
    returned: &[Option<GlobalId>],
    own_result: Option<GlobalId>,
    globals: &mut [GlobalUse],
) {
    let mut derived: FxHashMap<ValueId, GlobalId> = FxHashMap::default();
    let instructions = || body.blocks.iter().flat_map(|block| &block.instructions);
    for instruction in instructions() {
        let global = match &instruction.op {
            Op::Step { base: from, .. } | Op::Cast { value: from, .. } => global_of(from, &derived),
            Op::Call(Call { callee: Callee::Function(callee), .. }) => returned[callee.0 as usize],
            _ => None,
        };
        if let Some(global) = global {
            derived.insert(instruction.result, global);
        }
    }
    let mut note = |operand: &Operand, uses: GlobalUse| {
        if let Some(global) = global_of(operand, &derived) {
            let known = &mut globals[global.0 as usize];
            known.is_written |= uses.is_written;
            known.is_read |= uses.is_read;
            known.is_loaded |= uses.is_loaded;
        }
    };
    let loaded = GlobalUse { is_loaded: true, ..GlobalUse::default() };
    let read = GlobalUse { is_read: true, ..GlobalUse::default() };
    let written = GlobalUse { is_written: true, ..GlobalUse::default() };
    let both = GlobalUse { is_read: true, ..written };
    for instruction in instructions() {
        match &instruction.op {
            Op::Load { from, .. } if !used[instruction.result.0 as usize] => note(from, loaded),
            Op::Load { from, .. } => note(from, read),
            Op::Store { to, value, .. } => {
                note(to, written);
                note(value, both);
            }
            Op::Step { base, terms, .. } => {
                let _ = base;
                terms.iter().for_each(|(index, _)| note(index, both));
            }
            Op::Cast { .. } | Op::Name { .. } => {}
            Op::Compare { left, right, .. } => {
                note(left, read);
                note(right, read);
            }
            Op::Copy { to, from, .. } => {
                note(to, written);
                note(from, read);
            }
            Op::Fill { to, .. } => note(to, written),
            Op::Call(call) => {
                if let Callee::Pointer(pointer) = &call.callee {
                    note(pointer, read);
                }
                call.arguments.iter().for_each(|argument| note(argument, both));
            }
            other => other.for_each_operand(&mut |operand| note(operand, both)),
        }
    }
    for block in &body.blocks {
        let is_own = matches!(block.end, Terminator::Return(_)) && own_result.is_some();
        if let Some(operand) = block.end.operand().filter(|_| !is_own) {
            note(operand, both);
        }
    }
}

/// By function, the values that are used for something; what is returned only
/// if a caller does something with it.
fn used_by_function(program: &Program, is_whole: bool) -> Vec<Vec<bool>> {
    let used = |function: &Function, results: Results| {
        function.body.as_ref().map_or_else(Vec::new, |body| used_values(body, results))
    };
    let mut all: Vec<Vec<bool>> =
        program.functions.iter().map(|function| used(function, Results::Used)).collect();
    let mut is_idle: Vec<bool> = handed::calls_are_seen(program, is_whole).collect();
    for (function, used) in program.functions.iter().zip(&all) {
        let blocks = function.body.iter().flat_map(|body| &body.blocks);
        for instruction in blocks.flat_map(|block| &block.instructions) {
            if let Op::Call(Call { callee: Callee::Function(callee), .. }) = &instruction.op {
                is_idle[callee.0 as usize] &= !used[instruction.result.0 as usize];
            }
        }
    }
    for ((function, known), _) in
        program.functions.iter().zip(&mut all).zip(is_idle).filter(|(_, idle)| *idle)
    {
        *known = used(function, Results::Unused);
    }
    all
}

/// By function, the global whose address it returns, as one for a static
/// variable does; only where all its callers are seen.
fn returned_globals(program: &Program, is_whole: bool) -> Vec<Option<GlobalId>> {
    let mut returned: Vec<Option<GlobalId>> = program
        .functions
        .iter()
        .map(|function| {
            let is_seen = is_whole || function.linkage == Linkage::Internal;
            let body = function.body.as_ref().filter(|_| is_seen)?;
            let results = body.blocks.iter().filter_map(|block| match &block.end {
                Terminator::Return(value) => Some(value.as_ref()),
                _ => None,
            });
            let global = |result: Option<&Operand>| match result {
                Some(Operand::Global(global, 0)) => Some(*global),
                _ => None,
            };
            let all: Vec<Option<GlobalId>> = results.map(global).collect();
            all.first().copied().flatten().filter(|first| all.iter().all(|other| *other == Some(*first)))
        })
        .collect();
    let mut unseen = |operand: &Operand| {
        if let Operand::Function(function) = operand {
            returned[function.0 as usize] = None;
        }
    };
    program
        .globals
        .iter()
        .flat_map(|global| global.initial.iter().flatten())
        .for_each(|cell| unseen(&cell.value));
    for body in program.functions.iter().filter_map(|function| function.body.as_ref()) {
        for block in &body.blocks {
            block.instructions.iter().for_each(|instruction| instruction.op.for_each_operand(&mut unseen));
            block.end.operand().into_iter().for_each(&mut unseen);
        }
    }
    returned
}

fn global_of(operand: &Operand, derived: &FxHashMap<ValueId, GlobalId>) -> Option<GlobalId> {
    match operand {
        Operand::Global(global, _) => Some(*global),
        Operand::Value(value) => derived.get(value).copied(),
        _ => None,
    }
}
