//! Calls: of known functions by their summaries, of functions that get
//! functions by simulating them again, of the C++ library by its containers, and
//! of what nobody knows.

use std::sync::Arc;

use leakscope_core::Cause;
use leakscope_ir::{Binary, Call, Callee, Compare, FuncId, Instruction};

use crate::case::{Case, Flight};
use crate::confirm::confirm_leaks;
use crate::containers::{self, Dropped};
use crate::exits::summarise;
use crate::instantiate::{Outcome, ResultKind, Site, instantiate};
use crate::refine::assume_compare;
use crate::simulate::{Bounds, Simulation, simulate_with};
use crate::summary::{Exit, Summary};
use crate::value::{Base, Offset, SymbolKey, Value};

/// Effects of a callee that cost as much as one part of a case.
const EFFECTS_PER_WORK: usize = 2;
/// Functions that get functions, one in another, that are followed.
const MAX_CALLBACKS: usize = 2;

impl Simulation<'_, '_> {
    /// What a call makes of a case.
    pub fn call(&mut self, instruction: &Instruction, call: &Call, mut case: Case) -> Vec<Outcome> {
        let arguments: Vec<Value> =
            call.arguments.iter().map(|argument| self.operand(&case, argument)).collect();
        if self.result.scope.is_in_loop() {
            let results = self.scope().symbols.results_of(instruction.result);
            let results: Vec<Base> = results.into_iter().map(Base::Symbol).collect();
            case.forget_all(&self.result.scope, &results);
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
                    let comes_back = world.returns(callee);
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
        }
        for outcome in &mut outcomes {
            self.work = self.work.saturating_sub(1 + outcome.case.size());
            if outcome.freed_holders {
                self.look_for_leaks_after(&case, &mut outcome.case, instruction.at, Cause::HolderFreed);
            } else if outcome.overwrote {
                self.look_for_leaks_after(&case, &mut outcome.case, instruction.at, Cause::Overwritten);
            }
        }
        outcomes
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

    fn call_function(
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
        if let Some(role) = world.role(callee) {
            let pair = function.signature.0.starts_with('s');
            let before = case.clone();
            let dropped = containers::call(&mut case, self.scope(), role, instruction, pair, arguments);
            if dropped == Dropped::Elements {
                let at = case.left_at.or(self.returns_at).unwrap_or(instruction.at);
                self.look_for_leaks_after(&before, &mut case, at, Cause::ScopeEnd);
            }
            return vec![returned(case)];
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
            return self.call_summary(&site, summary, case);
        }
        if function.is_noreturn {
            return Vec::new();
        }
        // What a body gets beyond its parameters cannot be followed.
        for argument in arguments.iter().skip(function.parameters as usize) {
            case.escape(self.scope(), argument);
        }
        let summary = match self.with_callbacks(callee, arguments) {
            Some(summary) => Some(summary),
            None => self.summaries.summary(callee).filter(|_| function.body.is_some()),
        };
        match summary {
            Some(summary) => {
                let mut outcomes = self.call_summary(&site, &summary, case);
                if world.never_null.is_result(callee) && function.signature.0.starts_with('p') {
                    let is_possible = |Outcome { case, .. }: &mut Outcome| {
                        let result = case.get(site.result);
                        assume_compare(case, self.scope(), Compare::Ne, &result, &Value::NULL)
                    };
                    outcomes.retain_mut(is_possible);
                }
                outcomes
            }
            None if function.body.is_some() => Vec::new(),
            None => self.call_unknown(instruction, arguments, case),
        }
    }

    /// The summary of a function that calls what it gets as an argument, with
    /// the functions that it gets here.
    fn with_callbacks(&mut self, callee: FuncId, arguments: &[Value]) -> Option<Arc<Summary>> {
        let world = self.result.scope.world;
        let given = |&index: &u32| match arguments.get(index as usize)? {
            value @ Value::Sum(Base::Function(_), _) => Some((index, value.clone())),
            value @ Value::Sum(Base::Global(table), _) if !world.is_written(*table) => {
                Some((index, value.clone()))
            }
            _ => None,
        };
        let callbacks: Vec<(u32, Value)> = world.called_parameters(callee).iter().filter_map(given).collect();
        if callbacks.is_empty() || self.depth >= MAX_CALLBACKS {
            return None;
        }
        let key = (callee, callbacks);
        if let Some(known) = self.with_functions.get(&key) {
            return known.clone();
        }
        let bounds = Bounds { callbacks: &key.1, depth: self.depth + 1, target: None };
        let mut simulated = simulate_with(world, self.summaries, callee, self.options, &bounds);
        let summary = (!simulated.is_cut).then(|| {
            if self.search.is_none() {
                confirm_leaks(world, self.summaries, callee, self.options, &bounds, &mut simulated);
                self.result.inner.append(&mut simulated.inner);
                let origins = &simulated.scope.sites.origins;
                let leaks = std::mem::take(&mut simulated.leaks).into_iter();
                self.result.inner.extend(leaks.map(|(site, leak)| (callee, leak, origins[site].clone())));
            }
            Arc::new(summarise(callee, simulated))
        });
        self.with_functions.insert(key, summary.clone());
        summary
    }

    fn call_summary(&mut self, site: &Site, summary: &Summary, mut case: Case) -> Vec<Outcome> {
        if summary.writes_numbers {
            site.arguments.iter().for_each(|argument| clobber_numbers(&mut case, argument));
        }
        self.work = self.work.saturating_sub(summary.size() / EFFECTS_PER_WORK);
        let mut outcomes = instantiate(&case, self.scope(), site, summary);
        if let (true, false, [left, right, ..]) =
            (summary.compares, self.result.scope.is_in_loop(), site.arguments)
        {
            let key = SymbolKey::Binary(Binary::Other, left.clone(), right.clone());
            let value = self.scope().symbols.value(key);
            if value != Value::Top {
                outcomes.iter_mut().for_each(|outcome| outcome.case.set(site.result, value.clone()));
            }
        }
        outcomes
    }

    /// Code that nobody knows keeps what it is given.
    fn call_unknown(
        &mut self,
        instruction: &Instruction,
        arguments: &[Value],
        mut case: Case,
    ) -> Vec<Outcome> {
        for argument in arguments {
            if !self.options.pedantic {
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

fn returned(case: Case) -> Outcome {
    Outcome { case, exit: Exit::Return, freed_holders: false, overwrote: false }
}

/// The functions that a pointer leads to, if all are known.
fn functions(pointer: &Value) -> Option<Vec<FuncId>> {
    let function = |part: &Value| match part {
        Value::Sum(Base::Function(function), _) => Some(*function),
        _ => None,
    };
    pointer.parts().iter().map(function).collect()
}

fn clobber_numbers(case: &mut Case, argument: &Value) {
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
