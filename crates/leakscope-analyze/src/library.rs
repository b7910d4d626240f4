//! Calls that do what the libraries say: containers and shared pointers of the
//! C++ library, and functions that run in a thread of their own, which happens
//! at once as far as this is concerned.

use leakscope_core::Cause;
use leakscope_ir::{Call, Callee, FuncId, Function, Instruction, Op, Operand};

use crate::calls::{clobber_numbers, functions, returned};
use crate::case::Case;
use crate::containers::{self, Dropped, Role};
use crate::instantiate::Outcome;
use crate::owners::{self, Counted, Disowned};
use crate::simulate::Simulation;
use crate::summary::{Exit, Summary};
use crate::value::{Base, Offset, Value};

/// Places in the table of what a thread of the C++ library runs: what ends it,
/// and what runs it.
const ENDS: i64 = 8;
const RUNS: i64 = 16;

impl Simulation<'_, '_> {
    /// A function of the C++ library.
    pub fn call_library(
        &mut self,
        instruction: &Instruction,
        callee: FuncId,
        role: Role,
        arguments: &[Value],
        case: Case,
    ) -> Vec<Outcome> {
        match role {
            Role::Disown(at) => self.disown(instruction, at, arguments, case),
            Role::Assign => self.assign(instruction, arguments, case),
            Role::Reset => self.reset(instruction, arguments, case),
            Role::Start => self.start(instruction, arguments, case),
            role => self.call_container(instruction, callee, role, arguments, case),
        }
    }

    fn call_container(
        &mut self,
        instruction: &Instruction,
        callee: FuncId,
        role: Role,
        arguments: &[Value],
        mut case: Case,
    ) -> Vec<Outcome> {
        let function = self.result.scope.world.program.function(callee);
        let pair = function.signature.0.starts_with('s');
        let before = case.clone();
        if role == Role::DropOwners {
            return self.end_owners(instruction, function, arguments, case);
        }
        let dropped = containers::call(&mut case, self.scope(), role, instruction, pair, arguments);
        if dropped == Dropped::Elements {
            let at = case.left_at.or(self.returns_at).unwrap_or(instruction.at);
            self.look_for_leaks_after(&before, &mut case, at, Cause::ScopeEnd);
        }
        if !matches!(role, Role::Insert(_))
            || !containers::may_refuse(function)
            || !self.asks_for_second(instruction)
        {
            return vec![returned(case)];
        }
        // What came in and is kept by the container tells both ways apart.
        for argument in &arguments[1..] {
            let given = case.peek(self.scope(), argument);
            if !given.has_heap() {
                case.escape(self.scope(), &given);
            }
        }
        let outcome = |(mut case, is_new): (Case, bool)| {
            let result = containers::inserted(self.scope(), &arguments[0], is_new);
            case.set(instruction.result, result);
            returned(case)
        };
        [(case, true), (before, false)].map(outcome).into()
    }

    /// Elements that own something go, and end what they own.
    fn end_owners(
        &mut self,
        instruction: &Instruction,
        function: &Function,
        arguments: &[Value],
        mut case: Case,
    ) -> Vec<Outcome> {
        let world = self.result.scope.world;
        let (held, class) = containers::held(&mut case, self.scope(), function, &arguments[0]);
        let deleter = world.deleter_of(&class);
        let mut outcomes = vec![returned(case)];
        for part in held {
            let mut after = Vec::new();
            for Outcome { mut case, freed_holders, .. } in outcomes {
                let ended = match deleter {
                    Some(deleter) => {
                        self.call_function(instruction, deleter, &[Value::Top, part.clone()], case)
                    }
                    None if owners::is_counted(&case, &self.result.scope, &part) => {
                        self.disown(instruction, Counted::This, std::slice::from_ref(&part), case)
                    }
                    None => {
                        case.escape(self.scope(), &part);
                        vec![returned(case)]
                    }
                };
                after.extend(ended.into_iter().map(|outcome| Outcome {
                    freed_holders: freed_holders || outcome.freed_holders,
                    ..outcome
                }));
            }
            outcomes = after;
        }
        outcomes
    }

    /// Whether somebody looks at the second member of a pair that a call
    /// returns.
    fn asks_for_second(&self, call: &Instruction) -> bool {
        let instructions = || self.body.blocks.iter().flat_map(|block| &block.instructions);
        let mut places: Vec<&Operand> = Vec::new();
        for instruction in instructions() {
            match &instruction.op {
                Op::Store { to, value, .. } if *value == Operand::Value(call.result) => places.push(to),
                Op::Copy { to, from, .. } if places.contains(&from) => places.push(to),
                _ => {}
            }
        }
        let is_second = |address: &Operand| match self.made_by(address) {
            Some(Op::Step { base, offset: 8, .. }) => places.contains(&base),
            _ => false,
        };
        let program = self.result.scope.world.program;
        instructions().any(|instruction| match &instruction.op {
            Op::Load { from, .. } => is_second(from),
            Op::Call(Call { callee: Callee::Function(callee), arguments, .. }) => {
                let is_getter = program.function(*callee).display.starts_with("std::get<1");
                is_getter && arguments.iter().any(|argument| places.contains(&argument))
            }
            _ => false,
        })
    }

    /// A shared object has one owner less; with the last, it goes, and what
    /// counted its owners.
    fn disown(
        &mut self,
        instruction: &Instruction,
        at: Counted,
        arguments: &[Value],
        mut case: Case,
    ) -> Vec<Outcome> {
        match owners::disown(&mut case, self.scope(), at, &arguments[0]) {
            Disowned::Nothing => vec![returned(case)],
            Disowned::Last { dispose, counted } => {
                let mut outcomes =
                    self.call_function(instruction, dispose, std::slice::from_ref(&counted), case);
                for outcome in &mut outcomes {
                    outcome.freed_holders |= outcome.case.free(self.scope(), &counted);
                }
                outcomes
            }
        }
    }

    /// A shared pointer becomes a copy of another.
    fn assign(&mut self, instruction: &Instruction, arguments: &[Value], mut case: Case) -> Vec<Outcome> {
        let [this, other, ..] = arguments else { return vec![returned(case)] };
        let held = owners::shared(&mut case, self.scope(), other);
        let mut outcomes = self.disown(instruction, Counted::At(8), arguments, case);
        for Outcome { case, .. } in &mut outcomes {
            owners::copy(case, self.scope(), this, &held);
            case.set(instruction.result, this.clone());
        }
        outcomes
    }

    /// A shared pointer leads to nothing.
    fn reset(&mut self, instruction: &Instruction, arguments: &[Value], case: Case) -> Vec<Outcome> {
        let mut outcomes = self.disown(instruction, Counted::At(8), arguments, case);
        for Outcome { case, .. } in &mut outcomes {
            owners::copy(case, self.scope(), &arguments[0], &[Value::NULL, Value::NULL]);
        }
        outcomes
    }

    /// A thread of the C++ library that begins with a known function.
    pub fn start_with(
        &mut self,
        instruction: &Instruction,
        function: &Function,
        arguments: &[Value],
        case: &Case,
    ) -> Option<Vec<Outcome>> {
        let routine = arguments.get(1).filter(|_| function.display.starts_with("std::thread::thread<"))?;
        let routine = functions(routine)?.first().copied()?;
        let world = self.result.scope.world;
        if world.program.function(routine).body.is_none() || !world.returns(routine) {
            return None;
        }
        let mut case = case.clone();
        let given: Vec<Value> = arguments[2..].iter().map(|place| case.load(self.scope(), place)).collect();
        let mut outcomes = self.call_function(instruction, routine, &given, case);
        outcomes.retain(|outcome| outcome.exit == Exit::Return);
        Some(outcomes)
    }

    /// What a thread of the C++ library runs, which is its own from then on.
    fn start(&mut self, instruction: &Instruction, arguments: &[Value], mut case: Case) -> Vec<Outcome> {
        let held = arguments.get(1).map_or(Value::Top, |owner| case.load(self.scope(), owner));
        let table = case.peek(self.scope(), &held);
        let entry = |place: i64| match &table {
            Value::Sum(Base::Global(table), Offset::At(start)) => {
                let world = self.result.scope.world;
                functions(&world.initial(*table, Offset::At(start + place))?)?.first().copied()
            }
            _ => None,
        };
        let (Some(runs), Some(ends)) = (entry(RUNS), entry(ENDS)) else {
            arguments.iter().for_each(|argument| case.escape(self.scope(), argument));
            return vec![returned(case)];
        };
        case.store(self.scope(), &arguments[1], &Value::NULL, 8);
        let held = std::slice::from_ref(&held);
        let mut outcomes = Vec::new();
        for outcome in self.call_function(instruction, runs, held, case) {
            if outcome.exit == Exit::Return {
                outcomes.extend(self.call_function(instruction, ends, held, outcome.case));
            }
        }
        outcomes
    }

    /// What a function does that another, as one that makes a thread, is given
    /// to run: at once, as far as this is concerned.
    pub fn run_given(
        &mut self,
        instruction: &Instruction,
        summary: &Summary,
        arguments: &[Value],
        case: &Case,
    ) -> Option<Vec<Outcome>> {
        let [function, argument] = summary.runs?;
        let routine = match functions(arguments.get(function as usize)?)?[..] {
            [routine] => routine,
            _ => return None,
        };
        let world = self.result.scope.world;
        if world.program.function(routine).body.is_none() || !world.returns(routine) {
            return None;
        }
        let given = arguments.get(argument as usize)?;
        let mut outcomes =
            self.call_function(instruction, routine, std::slice::from_ref(given), case.clone());
        outcomes.retain(|outcome| outcome.exit == Exit::Return);
        for Outcome { case, .. } in &mut outcomes {
            let result = case.get(instruction.result);
            case.set(instruction.result, Value::Int(0));
            let others = arguments.iter().filter(|&other| other != given);
            others.for_each(|other| clobber_numbers(case, other));
            // Who waits for the thread gets what it returned.
            match arguments.first().filter(|_| result.has_heap()) {
                Some(thread) => drop(case.store(self.scope(), thread, &result, 8)),
                None => case.escape(self.scope(), &result),
            }
        }
        (!outcomes.is_empty()).then_some(outcomes)
    }
}
