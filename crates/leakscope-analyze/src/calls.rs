//! Calls: of known functions by their summaries, of functions that get
//! functions by simulating them again, of the C++ library by its containers, and
//! of what nobody knows.

use std::sync::Arc;

use leakscope_core::Cause;
use leakscope_ir::{
    Binary, Call, Callee, Compare, FuncId, Function, Instruction, Op, Operand, Spot, ValueId, Width,
};

use crate::case::{Case, Flight};
use crate::confirm::confirm_leaks;
use crate::deeds::{Deed, What};
use crate::exits::summarise;
use crate::instantiate::{Done, Outcome, ResultKind, Site, instantiate};
use crate::refine::assume_compare;
use crate::scope::Scope;
use crate::simulate::{Bounds, Given, MAX_VARIADIC, Simulation, simulate_with};
use crate::summary::{Exit, Summary};

use crate::value::{Base, HeapId, Offset, SymbolKey, Value};
use crate::world::World;

/// Effects of a callee that cost as much as one part of a case.
const EFFECTS_PER_WORK: usize = 2;
/// Functions that get functions, one in another, that are followed.
const MAX_CALLBACKS: usize = 4;
/// Bytes up to which a function is followed for how far it goes.
const MAX_MEASURE: i64 = 64;
/// Functions in the memory that one argument leads to.
const MAX_GIVEN: usize = 16;

impl Simulation<'_, '_> {
    /// What a call makes of a case.
    pub fn call(&mut self, instruction: &Instruction, call: &Call, mut case: Case) -> Vec<Outcome> {
        let mut arguments: Vec<Value> =
            call.arguments.iter().map(|argument| self.operand(&case, argument)).collect();
        self.unmake_pointers(call, &mut arguments);
        if self.result.scope.is_in_loop() {
            let results = self.scope().symbols.results_of(instruction.result);
            let results: Vec<Base> = results.into_iter().map(Base::Symbol).collect();
            case.forget_results(self.scope(), &results);
        }
        let callees = match &call.callee {
            Callee::Function(function) => Some(vec![*function]),
            Callee::Pointer(pointer) => {
                let pointer = self.operand(&case, pointer);
                functions(&pointer).or_else(|| Some(vec![self.handler(&pointer)?]))
            }
            Callee::Assembler => None,
        };
        let mut outcomes = match callees {
            Some(callees) => {
                let mut outcomes = Vec::new();
                let world = self.result.scope.world;
                for callee in callees {
                    let of_callee = self.call_function(instruction, callee, &arguments, case.clone());
                    let comes_back = world.comes_back(callee, &arguments);
                    outcomes.extend(
                        of_callee.into_iter().filter(|outcome| comes_back || outcome.exit == Exit::Throw),
                    );
                }
                outcomes
            }
            None => self.call_unknown(instruction, &arguments, case.clone()),
        };
        if call.is_noreturn {
            outcomes.retain(|outcome| outcome.exit == Exit::Throw);
            if self.is_success(call, &arguments) {
                self.settle_ended(&mut case, true);
            }
        }
        for outcome in &mut outcomes {
            self.work = self.work.saturating_sub(1 + outcome.case.size());
            if outcome.freed_holders {
                let (at, cause) = (instruction.at, Cause::HolderFreed);
                self.look_for_leaks_of(&case, &mut outcome.case, at, cause, &outcome.done);
            } else if outcome.overwrote {
                let (at, cause) = (instruction.at, Cause::Overwritten);
                self.look_for_leaks_of(&case, &mut outcome.case, at, cause, &outcome.done);
            }
        }
        outcomes
    }

    /// Whether a call ends the program as one that has done its work.
    fn is_success(&self, call: &Call, arguments: &[Value]) -> bool {
        let Callee::Function(callee) = &call.callee else { return false };
        let name = &self.result.scope.world.program.function(*callee).name;
        matches!(name.as_str(), "exit" | "_exit" | "_Exit") && arguments == [Value::NULL]
    }

    /// A number of 32 bits is no pointer: what it stands for, as a descriptor, is
    /// not released by who gets it as one.
    fn unmake_pointers(&self, call: &Call, arguments: &mut [Value]) {
        let Callee::Function(callee) = &call.callee else { return };
        let Some(summary) = self.result.scope.world.model(*callee).filter(|summary| !summary.closes) else {
            return;
        };
        let freed = summary.cases.first().into_iter().flat_map(|case| &case.freed);
        for &id in freed {
            if let SymbolKey::Parameter(index) = summary.symbols.key(id)
                && let (Some(operand), Some(value)) =
                    (call.arguments.get(*index as usize), arguments.get_mut(*index as usize))
                && self.is_small_number(operand)
            {
                *value = Value::Top;
            }
        }
    }

    fn is_small_number(&self, operand: &Operand) -> bool {
        match self.made_by(operand) {
            Some(Op::Cast { width: Width::SignExtended(32) | Width::ZeroExtended(32), .. }) => true,
            Some(Op::Cast { value, width: Width::Kept }) => self.is_small_number(value),
            _ => false,
        }
    }

    /// The function that a variable of the program holds, where `pointer` is
    /// what it held from the start.
    fn handler(&self, pointer: &Value) -> Option<FuncId> {
        let scope = &self.result.scope;
        let Value::Sum(Base::Symbol(id), Offset::At(0)) = pointer else { return None };
        let SymbolKey::Content(Base::Global(global), Offset::At(0)) = scope.symbols.key(*id) else {
            return None;
        };
        scope.world.handler(*global)
    }

    pub fn call_function(
        &mut self,
        instruction: &Instruction,
        callee: FuncId,
        arguments: &[Value],
        mut case: Case,
    ) -> Vec<Outcome> {
        let world = self.result.scope.world;
        let function = world.program.function(callee);
        if function.name == "__cxa_throw" || function.name == "__cxa_rethrow" {
            arguments.iter().for_each(|argument| case.escape(self.scope(), argument));
            return vec![Outcome { exit: Exit::Throw, ..returned(case) }];
        }
        if function.name == "__cxa_begin_catch" {
            case.flight = Flight::None;
        }
        if let (Some(deleter), Some(this)) = (world.deleter(callee), arguments.first()) {
            let held = case.load(self.scope(), this);
            if let Value::Sum(Base::Heap(_), _) = held {
                return self.call_function(instruction, deleter, &[this.clone(), held], case);
            }
        }
        if let Some(outcomes) = self.start_with(instruction, function, arguments, &case) {
            return outcomes;
        }
        if let Some(role) = world.role(callee) {
            return self.call_library(instruction, callee, role, arguments, case);
        }
        let site = Site {
            result: instruction.result,
            caller: self.id,
            at: instruction.at,
            arguments,
            result_kind: match function.signature.0.starts_with('p') {
                true if self.is_used(instruction.result) => ResultKind::Pointer,
                true => ResultKind::UnusedPointer,
                false => ResultKind::Status,
            },
        };
        if let Some(summary) = world.model(callee) {
            let is_asked = summary.takes_if.is_none() || self.is_asked(instruction.result);
            let ran = self.run_given(instruction, summary, arguments, &case);
            self.take_as_given(summary, arguments, site.result, &mut case);
            let mut outcomes = self.call_summary(&site, summary, case);
            let mut narrow = |outcomes: &mut Vec<Outcome>, op| {
                outcomes.retain_mut(|Outcome { case, .. }| {
                    let result = case.get(site.result);
                    assume_compare(case, self.scope(), op, &result, &Value::NULL)
                });
            };
            // Who does not look whether it failed takes it for done.
            if let Some(done) = summary.takes_if.filter(|_| !is_asked) {
                narrow(&mut outcomes, done);
            }
            if let Some(ran) = ran {
                narrow(&mut outcomes, Compare::Ne);
                outcomes.extend(ran);
            }
            // The null device that nobody uses takes the place of a standard descriptor.
            if !self.is_used(site.result) && arguments.first().is_some_and(|path| is_null_device(world, path))
            {
                for Outcome { case, .. } in &mut outcomes {
                    case.escape(self.scope(), &case.get(site.result));
                }
            }
            return outcomes;
        }
        if function.is_noreturn {
            return Vec::new();
        }
        // What a body gets beyond its parameters, and a list of some others,
        // cannot be followed.
        for argument in arguments.iter().skip(followed_arguments(function) as usize) {
            case.escape(self.scope(), argument);
        }
        let summary = match self.with_callbacks(callee, arguments, &case) {
            Some(summary) => Some(summary),
            None => self.summaries.summary(callee).filter(|_| function.body.is_some()),
        };
        match summary {
            Some(summary) => {
                let given: Vec<HeapId> =
                    arguments.iter().filter_map(|value| given_block(&case, value)).collect();
                let mut outcomes = self.call_summary(&site, &summary, case);
                given.into_iter().for_each(|block| note_refused(self.scope(), &mut outcomes, block, callee));
                if world.never_null.is_result(callee) && function.signature.0.starts_with('p') {
                    let is_possible = |Outcome { case, .. }: &mut Outcome| {
                        let result = case.get(site.result);
                        assume_compare(case, self.scope(), Compare::Ne, &result, &Value::NULL)
                    };
                    outcomes.retain_mut(is_possible);
                }
                if world.counts(callee) {
                    outcomes.retain_mut(|Outcome { case, .. }| {
                        let result = case.get(site.result);
                        assume_compare(case, self.scope(), Compare::Ge, &result, &Value::NULL)
                    });
                }
                outcomes
            }
            None if function.body.is_some() => Vec::new(),
            None => self.call_unknown(instruction, arguments, case),
        }
    }

    /// Who gives a new block to what would make one itself, or does not look at
    /// the result, means what is given: that it is null is not what a program is
    /// blamed for.
    fn take_as_given(&mut self, summary: &Summary, arguments: &[Value], result: ValueId, case: &mut Case) {
        let is_used = self.is_used(result);
        let makes = summary.cases.iter().filter(|made| !made.blocks.is_empty());
        for (id, _) in makes.flat_map(|made| &made.facts).filter(|(_, fact)| fact.is_zero()) {
            let SymbolKey::Parameter(index) = summary.symbols.key(*id) else { continue };
            let Some(value) = arguments.get(*index as usize) else { continue };
            let mut given = case.clone();
            if (value.has_heap() || !is_used)
                && assume_compare(&mut given, self.scope(), Compare::Ne, value, &Value::NULL)
            {
                *case = given;
            }
        }
    }

    /// Whether somebody looks at a result, or hands it on as its own.
    fn is_asked(&self, result: ValueId) -> bool {
        let is_it = |operand: &Operand| *operand == Operand::Value(result);
        self.body.blocks.iter().any(|block| {
            let asks = |instruction: &Instruction| match &instruction.op {
                Op::Compare { left, right, .. } => is_it(left) || is_it(right),
                Op::Phi { incoming } => incoming.iter().any(|(_, value)| is_it(value)),
                Op::Select { condition, .. } => is_it(condition),
                _ => false,
            };
            block.end.operand().is_some_and(is_it) || block.instructions.iter().any(asks)
        })
    }

    /// The summary of a function that calls what it gets as an argument, with
    /// the functions that it gets here.
    fn with_callbacks(&mut self, callee: FuncId, arguments: &[Value], case: &Case) -> Option<Arc<Summary>> {
        let world = self.result.scope.world;
        let is_small = world.is_small(callee);
        let given = |&index: &u32| match arguments.get(index as usize)? {
            value @ Value::Sum(Base::Function(_), _) => Some((index, Given::Value(value.clone()))),
            value @ Value::Sum(Base::Global(table), _) if world.has_known_functions(*table) => {
                Some((index, Given::Value(value.clone())))
            }
            Value::Sum(base, Offset::At(start)) if is_small => {
                Some((index, Given::Memory(functions_in(case, world, *base, *start)?)))
            }
            _ => None,
        };
        let called = world.called_parameters(callee);
        let mut callbacks: Vec<(u32, Given)> = called.iter().filter_map(given).collect();
        let is_word = |index: &u32| match arguments.get(*index as usize) {
            Some(Value::Int(number @ 0..=MAX_MEASURE)) => number % 4 == 0,
            _ => false,
        };
        let is_measured = || world.measured_parameters(callee).iter().any(is_word);
        if callbacks.is_empty() && !is_measured() || self.depth >= MAX_CALLBACKS {
            return None;
        }
        // Numbers may choose among them.
        let number = |(index, value): (u32, &Value)| match value {
            Value::Int(_) if !called.contains(&index) => Some((index, Given::Value(value.clone()))),
            _ => None,
        };
        callbacks.extend((0..).zip(arguments).filter_map(number));
        let key = (callee, callbacks);
        if let Some(known) = self.with_functions.get(&key) {
            return known.clone();
        }
        let bounds = Bounds { callbacks: &key.1, depth: self.depth + 1, ..Bounds::default() };
        let mut simulated = simulate_with(world, self.summaries, callee, self.options, &bounds);
        if !simulated.is_cut && self.search.is_none() {
            confirm_leaks(world, self.summaries, callee, self.options, &bounds, &mut simulated);
            self.result.inner.append(&mut simulated.inner);
            let origins = &simulated.scope.sites.origins;
            let leaks = std::mem::take(&mut simulated.leaks).into_iter();
            self.result.inner.extend(leaks.map(|(site, leak)| (callee, leak, origins[site].clone())));
        }
        self.result.followed.insert(callee);
        self.result.followed.append(&mut simulated.followed);
        let summary = (!simulated.is_cut).then(|| Arc::new(summarise(callee, simulated)));
        self.with_functions.insert(key, summary.clone());
        summary
    }

    fn call_summary(&mut self, site: &Site, summary: &Summary, mut case: Case) -> Vec<Outcome> {
        if summary.writes_numbers {
            site.arguments.iter().for_each(|argument| clobber_numbers(&mut case, argument));
        }
        self.work = self.work.saturating_sub(summary.size() / EFFECTS_PER_WORK);
        let mut outcomes = instantiate(&case, self.scope(), site, summary);
        outcomes.iter().for_each(|outcome| self.note_deeds(&case, site, &outcome.done));
        if let (true, false, [left, right, ..]) =
            (summary.compares, self.result.scope.is_in_loop(), site.arguments)
        {
            let key = SymbolKey::Binary(Binary::Other, left.clone(), right.clone());
            let value = match compare_texts(self.result.scope.world, left, right) {
                Some(number) => Value::Int(number),
                None => self.scope().symbols.value(key),
            };
            if value != Value::Top {
                outcomes.iter_mut().for_each(|outcome| outcome.case.set(site.result, value.clone()));
            }
        }
        outcomes
    }

    /// What a call does to memory of others is done here.
    fn note_deeds(&mut self, case: &Case, site: &Site, done: &[Done]) {
        for Done { base, written, deed } in done {
            let (base, deed) = (*base, deed.as_deref());
            match (written, base) {
                (Some(offset), _) => {
                    let place = Value::Sum(base, *offset);
                    let name = |own: &Self| own.place(case, &place);
                    self.note_deed(What::Written(base, *offset), site.at, deed, name);
                }
                (None, Base::Symbol(id)) => {
                    let what = What::Freed(id);
                    // Who frees anything knows of no members: that is its caller's doing.
                    let is_first = deed.is_none() && !self.result.scope.deeds.knows(what);
                    if is_first && self.pointers_in(case, base).is_empty() {
                        self.result.scope.deeds.leave_out(what);
                    }
                    self.note_deed(what, site.at, deed, |own| own.pointer(case, base));
                }
                _ => {}
            }
        }
    }

    /// Notes what is done to memory of others, here or `inner` of a call.
    pub fn note_deed(
        &mut self,
        what: What,
        at: Spot,
        inner: Option<&Deed>,
        name: impl FnOnce(&Self) -> Option<String>,
    ) {
        let symbols = &self.result.scope.symbols;
        let is_of_others = match what {
            What::Written(Base::Symbol(id), _) | What::Freed(id) => symbols.is_input(id),
            What::Written(base, _) => matches!(base, Base::Global(_)),
        };
        let at = (self.id, at);
        if is_of_others && self.result.scope.deeds.is_new(what, at) {
            // Variables of the program have one name.
            let is_global = matches!(what, What::Written(Base::Global(_), _));
            let deed = match inner {
                Some(inner) => inner.called_at(at),
                None => {
                    Deed { stack: vec![at], name: if is_global { None } else { name(self).map(Into::into) } }
                }
            };
            self.result.scope.deeds.note(what, deed);
        }
    }

    /// Code that nobody knows keeps what it is given.
    fn call_unknown(
        &mut self,
        instruction: &Instruction,
        arguments: &[Value],
        mut case: Case,
    ) -> Vec<Outcome> {
        let world = self.result.scope.world;
        let looked_at = world.virtuals.looked_at(self.id, instruction.result);
        for (index, argument) in arguments.iter().enumerate() {
            if looked_at.get(index) == Some(&true) {
                case.clobber_numbers(argument);
                continue;
            }
            if !self.options.pedantic {
                self.scope().note_taken(argument);
                case.escape(self.scope(), argument);
            }
            case.clobber(argument);
        }
        let thrown = self.is_caught.then(|| Outcome { exit: Exit::Throw, ..returned(case.clone()) });
        let value = self.scope().symbols.value(SymbolKey::Result(instruction.result, 0));
        case.set(instruction.result, value);
        [returned(case)].into_iter().chain(thrown).collect()
    }
}

/// Arguments of which a body can get hold.
pub fn followed_arguments(function: &Function) -> u32 {
    function.parameters + if function.is_variadic { MAX_VARIADIC } else { 0 }
}

pub fn returned(case: Case) -> Outcome {
    Outcome { case, exit: Exit::Return, freed_holders: false, overwrote: false, done: Vec::new() }
}

fn is_null_device(world: &World, path: &Value) -> bool {
    // So many letters of a text are known.
    let letters = (0..).zip(b"/dev/nul");
    letters.into_iter().all(|(index, letter)| letter_of(world, path, index) == Some(*letter))
}

/// A letter of a constant text.
fn letter_of(world: &World, text: &Value, index: i64) -> Option<u8> {
    let Value::Sum(Base::Global(global), Offset::At(at)) = text else { return None };
    match world.initial(*global, Offset::At(at + index))? {
        Value::Int(letter) => u8::try_from(letter).ok(),
        _ => None,
    }
}

/// How two constant texts compare, where all that compare texts agree: they are
/// the same, or differ in their first letter, however that is written.
fn compare_texts(world: &World, left: &Value, right: &Value) -> Option<i64> {
    for index in 0.. {
        let (a, b) = (letter_of(world, left, index)?, letter_of(world, right, index)?);
        if !a.eq_ignore_ascii_case(&b) && index == 0 {
            return Some(i64::from(a) - i64::from(b));
        }
        if a != b {
            return None;
        }
        if a == 0 {
            break;
        }
    }
    Some(0)
}

/// The functions that a pointer leads to, if all are known.
pub fn functions(pointer: &Value) -> Option<Vec<FuncId>> {
    let function = |part: &Value| match part {
        Value::Sum(Base::Function(function), _) => Some(*function),
        _ => None,
    };
    pointer.parts().iter().map(function).collect()
}

/// Functions, and tables of them, in memory from `start` on, by their distance
/// from there; `None` where there are none.
fn functions_in(case: &Case, world: &World, base: Base, start: i64) -> Option<Vec<(i64, Value)>> {
    let is_function = |value: &Value| match value {
        Value::Sum(Base::Function(_), _) => true,
        Value::Sum(Base::Global(table), Offset::At(_)) => world.is_table(*table),
        _ => false,
    };
    let cells = case.cells(base).filter_map(|(at, cell)| match at {
        Offset::At(at) if at >= start && is_function(&cell.value) => Some((at - start, cell.value.clone())),
        _ => None,
    });
    let found: Vec<(i64, Value)> = cells.take(MAX_GIVEN).collect();
    (!found.is_empty()).then_some(found)
}

pub fn clobber_numbers(case: &mut Case, argument: &Value) {
    for (base, _) in argument.bases() {
        if !matches!(base, Base::Local(_)) {
            continue;
        }
        let cells: Vec<Offset> =
            case.cells(base).filter(|(_, cell)| !cell.value.has_heap()).map(|(at, _)| at).collect();
        for at in cells {
            if let Some(cell) = case.memory.get_mut(&(base, at)) {
                cell.value = Value::Top;
            }
        }
    }
}

/// The new block that an argument is.
fn given_block(case: &Case, value: &Value) -> Option<HeapId> {
    match value {
        Value::Sum(Base::Heap(block), Offset::At(0)) if case.blocks.contains_key(block) => Some(*block),
        _ => None,
    }
}

/// Notes where a callee returned without a block that it keeps on other ways.
fn note_refused(scope: &Scope, outcomes: &mut [Outcome], block: HeapId, callee: FuncId) {
    if outcomes.len() < 2 {
        return;
    }
    let is_kept = |Outcome { case, .. }: &Outcome| {
        !case.blocks.contains_key(&block) || case.held_by_others(scope).contains(&block)
    };
    let kept: Vec<bool> = outcomes.iter().map(is_kept).collect();
    for (outcome, is_kept) in outcomes.iter_mut().zip(&kept) {
        outcome.case.refused_by.retain(|(refused, _)| *refused != block);
        if !is_kept && kept.contains(&true) {
            outcome.case.refused_by.push((block, callee));
        }
    }
}
