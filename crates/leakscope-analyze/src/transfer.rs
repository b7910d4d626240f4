//! What each instruction does to a case.

use std::collections::BTreeMap;

use leakscope_core::Cause;
use leakscope_ir::{Binary, Call, Callee, Instruction, Op, Operand, Shape, Spot, ValueId, Width};

use crate::arithmetic;
use crate::case::{Case, Cell, Feasibility};
use crate::deeds::What;
use crate::fact::Fact;
use crate::join::{Growth, Property, join};
use crate::leaks::Overwriter;
use crate::memory::HALF;
use crate::models::DESCRIPTOR;
use crate::refine::{assume, compare};
use crate::scope::Scope;
use crate::simulate::{MAX_VARIADIC, Simulation};
use crate::summary::Exit;
use crate::value::{Base, HeapId, Offset, Point, SymbolKey, Value};

/// Blocks of functions in which ways stay apart by what variables of the program
/// held before: who uses one that is made at its first use is small.
const TINY: usize = 12;

impl Simulation<'_, '_> {
    /// The cases after an instruction; those that an exception leaves go to
    /// `thrown`.
    pub fn instruction(
        &mut self,
        instruction: &Instruction,
        cases: Vec<Case>,
        thrown: &mut Vec<Case>,
    ) -> Vec<Case> {
        if let Op::Call(call) = &instruction.op {
            let mut outcomes = Vec::new();
            for case in cases {
                if self.work == 0 {
                    return Vec::new();
                }
                outcomes.extend(self.call(instruction, call, case));
            }
            // Of a leak that is looked for, what was before its block is of no
            // interest.
            if self.search.is_some() && outcomes.iter().any(|outcome| self.is_under_way(&outcome.case)) {
                let (normal, unwound): (Vec<_>, Vec<_>) =
                    outcomes.into_iter().partition(|outcome| outcome.exit == Exit::Return);
                thrown.extend(unwound.into_iter().map(|outcome| outcome.case));
                return normal.into_iter().map(|outcome| outcome.case).collect();
            }
            let mut after: BTreeMap<(Property, Class), Vec<Case>> = BTreeMap::new();
            let is_recursion = self.is_recursion(call);
            for outcome in outcomes {
                if outcome.exit == Exit::Throw {
                    thrown.push(outcome.case);
                } else {
                    self.merge(&mut after, outcome.case, instruction.result, is_recursion);
                }
            }
            return self.few(after, instruction.result);
        }
        let mut after = Vec::with_capacity(cases.len());
        let mut room = self.with.cases.saturating_sub(cases.len());
        for mut case in cases {
            if let Op::Select { yes, no, .. } = &instruction.op
                && room == 0
            {
                let either = vec![self.operand(&case, yes), self.operand(&case, no)];
                let value = case.any_of(self.scope(), either);
                case.set(instruction.result, value);
            } else if let Some(split) = self.simple(instruction, &mut case) {
                room = room.saturating_sub(1);
                after.push(split);
            }
            if case.feasibility == Feasibility::Possible {
                after.push(case);
            }
        }
        after
    }

    /// Whether a call may come back to this procedure, whose cases are then those
    /// of one turn more than before.
    fn is_recursion(&self, call: &Call) -> bool {
        match call.callee {
            Callee::Function(callee) => {
                self.summaries.summary(callee).is_some_and(|summary| summary.is_recursive)
            }
            Callee::Pointer(_) | Callee::Assembler => false,
        }
    }

    /// The cases after a call, the nearest of too many joined.
    fn few(&mut self, after: BTreeMap<(Property, Class), Vec<Case>>, at: ValueId) -> Vec<Case> {
        let each = |(key, cases): ((Property, Class), Vec<Case>)| {
            cases.into_iter().map(move |case| (key.clone(), case))
        };
        let mut after: Vec<((Property, Class), Case)> = after.into_iter().flat_map(each).collect();
        while after.len() > self.with.cases {
            let ((property, class), case) = after.pop().expect("more than the bound");
            let nearest = after
                .iter_mut()
                .min_by_key(|((other, other_class), _)| (*other_class != class, other.distance(&property)));
            if let Some((_, nearest)) = nearest {
                join(nearest, case, self.scope(), Point::Call(at), Growth::Free);
            }
        }
        after.into_iter().map(|(_, case)| case).collect()
    }

    /// Cases after a call that agree on the property become one at once, unless
    /// it is worth keeping those apart that the caller tells from each other by
    /// what it passes.
    fn merge(
        &mut self,
        after: &mut BTreeMap<(Property, Class), Vec<Case>>,
        case: Case,
        at: ValueId,
        is_recursion: bool,
    ) {
        let count: usize = after.values().map(Vec::len).sum();
        let keeps_ways = !is_recursion && self.keeps_ways(count, self.result.scope.is_in_loop());
        let key = (Property::of(&case, &self.result.scope), Class::of(&case.get(at)));
        let alike = after.entry(key).or_default();
        let (scope, is_tiny) = (&mut self.result.scope, self.body.blocks.len() <= TINY);
        let is_other = |known: &Case| {
            known.excludes_by_arguments(&case, scope) || is_tiny && known.excludes_by_variables(&case, scope)
        };
        match alike.iter_mut().find(|known| !(keeps_ways && is_other(known))) {
            Some(known) => drop(join(known, case, scope, Point::Call(at), Growth::Free)),
            None => alike.push(case),
        }
    }

    /// What is no call; a second case where the instruction chooses.
    fn simple(&mut self, instruction: &Instruction, case: &mut Case) -> Option<Case> {
        let result = instruction.result;
        match &instruction.op {
            Op::Local { .. } => {
                if self.result.scope.is_in_loop() {
                    case.forget(&self.result.scope, Base::Local(result));
                }
                case.set(result, Value::address(Base::Local(result)));
            }
            Op::Load { from: address, shape } => {
                let from = self.operand(case, address);
                let value = match shape {
                    Shape::Scalar { bytes, is_pointer: true } => case.load_wide(self.scope(), &from, *bytes),
                    Shape::Scalar { bytes, is_pointer: false } => {
                        match case.load_packed(self.scope(), &from, *bytes) {
                            Some(value) => value,
                            None => {
                                if *bytes > 4 {
                                    case.lose_inside(self.scope(), &from, *bytes);
                                }
                                case.load(self.scope(), &from)
                            }
                        }
                    }
                    Shape::Record(members) => {
                        let load = |member: &leakscope_ir::Member| {
                            case.load(self.scope(), &from.plus(Offset::At(member.offset)))
                        };
                        Value::Record(members.iter().map(load).collect())
                    }
                };
                let is_pointer = matches!(shape, Shape::Scalar { is_pointer: true, .. });
                if is_pointer && from.bases().any(|(_, at)| at == Offset::Any) && self.is_any_byte(address) {
                    case.escape(self.scope(), &value);
                }
                let known = self.named(case, result, value.clone());
                case.note_loaded(&from, &value, &known);
                case.set(result, known);
            }
            Op::Store { to, value, shape } => {
                let failed = self.failed_call(case, value);
                let to = self.operand(case, to);
                for (base, offset) in to.bases() {
                    let name = |own: &Self| own.place(case, &to);
                    self.note_deed(What::Written(base, offset), instruction.at, None, name);
                }
                self.store(case, &to, &self.operand(case, value), shape, instruction.at, failed);
                if let (Overwriter::Failure, Operand::Value(call)) = (failed, value) {
                    self.lose_refused(case, *call, &to, instruction.at);
                }
            }
            Op::Step { base, offset, terms } => {
                let is_number = matches!(base, Operand::Int(0));
                let base = self.operand(case, base);
                self.scope().note_pointers(&base);
                let mut address = base.plus(Offset::At(*offset));
                for (index, stride) in terms {
                    address = match self.operand(case, index) {
                        Value::Int(index) => address.plus(Offset::At(index.wrapping_mul(*stride))),
                        // `(char *) 0 + number` is the address that a number is.
                        number if is_number && *stride == 1 && address == Value::NULL => number,
                        // An element of no array.
                        _ if address == Value::NULL => Value::NULL,
                        _ => address.plus(Offset::Any),
                    };
                }
                case.set(result, address);
            }
            Op::Binary { op, left, right } => {
                let (left, right) = (self.operand(case, left), self.operand(case, right));
                let value = match arithmetic::binary(self.scope(), *op, &left, &right) {
                    Value::OneOf(_) if *op == Binary::Distance => Value::Top,
                    value => value,
                };
                let has_name = value != Value::Top;
                let value = self.named(case, result, value);
                if !has_name {
                    let sides = [&left, &right].map(|side| case.fact_of(&self.result.scope, side));
                    note(case, &self.result.scope, &value, arithmetic::range(*op, sides));
                }
                case.set(result, value);
            }
            Op::Compare { op, left, right } => {
                let (left, right) = (self.operand(case, left), self.operand(case, right));
                let value = compare(case, self.scope(), *op, &left, &right);
                let value = self.named(case, result, value);
                case.set(result, value);
            }
            // What is not constant would make cases that nobody asks for.
            Op::CompareReal { op, left, right } => {
                let value = match (self.operand(case, left), self.operand(case, right)) {
                    (left @ Value::Int(_), right @ Value::Int(_)) => {
                        compare(case, self.scope(), *op, &left, &right)
                    }
                    _ => Value::Top,
                };
                let value = self.named(case, result, value);
                case.set(result, value);
            }
            Op::Cast { value, width } => {
                let value = match (self.operand(case, value), *width) {
                    (Value::Int(number), Width::Truncated(1)) => Value::Int(number & 1),
                    (Value::Int(number), Width::Truncated(bits @ 2..64)) => {
                        Value::Int(number << (64 - bits) >> (64 - bits))
                    }
                    (value, Width::ZeroExtended(bits @ 2..=16)) => {
                        note(
                            case,
                            &self.result.scope,
                            &value,
                            Fact { high: (1 << bits) - 1, ..Fact::NOT_NEGATIVE },
                        );
                        value
                    }
                    (other, _) => other,
                };
                case.set(result, value);
            }
            Op::Select { condition, yes, no } => {
                let condition = self.operand(case, condition);
                let (yes, no) = (self.operand(case, yes), self.operand(case, no));
                let mut other = case.clone();
                let has_other = assume(&mut other, self.scope(), &condition, false);
                if assume(case, self.scope(), &condition, true) {
                    case.set(result, yes);
                } else {
                    case.feasibility = Feasibility::Dead;
                }
                other.set(result, no);
                return has_other.then_some(other);
            }
            Op::Extract { record, members, of } => {
                let record = self.operand(case, record);
                let value = if members.len() == 1 {
                    if *of == 1 { record.member(0) } else { record.member(members.start as usize) }
                } else {
                    Value::Record(members.clone().map(|index| record.member(index as usize)).collect())
                };
                case.set(result, value);
            }
            Op::Insert { record, value, members, of } => {
                let (record, value) = (self.operand(case, record), self.operand(case, value));
                let part = |index: u32| match &value {
                    Value::Record(parts) if members.len() > 1 => {
                        parts.get((index - members.start) as usize).cloned().unwrap_or(Value::Top)
                    }
                    one => one.clone(),
                };
                let whole = (0..*of).map(|index| {
                    if members.contains(&index) { part(index) } else { record.member(index as usize) }
                });
                case.set(result, Value::Record(whole.collect()));
            }
            Op::Copy { to, from, bytes } => {
                let (to, from) = (self.operand(case, to), self.operand(case, from));
                let bytes = number(&self.operand(case, bytes));
                if to == Value::NULL && bytes != Some(0) {
                    case.feasibility = Feasibility::Dead;
                }
                let before = case.clone();
                case.copy(self.scope(), &to, &from, bytes);
                self.look_for_leaks_after(&before, case, instruction.at, Cause::Overwritten);
            }
            Op::Fill { to, byte, bytes } => {
                let (to, byte) = (self.operand(case, to), self.operand(case, byte));
                let bytes = number(&self.operand(case, bytes));
                if to == Value::NULL && bytes != Some(0) {
                    case.feasibility = Feasibility::Dead;
                }
                let before = case.clone();
                case.fill(&to, &byte, bytes);
                self.look_for_leaks_after(&before, case, instruction.at, Cause::Overwritten);
            }
            Op::Exchange { at, value, op } => {
                let (at, value) = (self.operand(case, at), self.operand(case, value));
                let old = case.load(self.scope(), &at);
                match op {
                    None => drop(case.store(self.scope(), &at, &value, 8)),
                    Some(op) => {
                        // Counting that needs atomic operations is of
                        // references: others own the object too.
                        if matches!(op, Binary::Add | Binary::Sub) {
                            case.escape(self.scope(), &at);
                        }
                        case.escape(self.scope(), &value);
                        case.clobber(&at);
                    }
                }
                case.set(result, old);
            }
            Op::Name { variable, value } => {
                let failed = self.failed_call(case, value);
                let value = self.operand(case, value);
                let before = if value != Value::Top && (value.has_heap() || self.is_pointer(*variable)) {
                    case.variables.insert(*variable, value)
                } else {
                    case.variables.remove(variable)
                };
                if before.is_some_and(|value| value.has_heap()) {
                    let name = Some(self.variable(*variable).to_owned());
                    self.overwritten(case, instruction.at, name, failed);
                }
            }
            Op::End { variable } => {
                // What `main` leaves behind when it returns is not lost before its end.
                let block = self.flow.block_of[instruction.result.0 as usize];
                if self.function.name != "main" || !self.returns_from(case, block) {
                    self.end_variable(case, *variable, instruction.at);
                }
            }
            Op::Variadic { list } => {
                let list = self.operand(case, list);
                self.begin_list(case, &list, Base::Local(result));
            }
            Op::LifeEnd { local } => {
                if let Value::Sum(base @ Base::Local(_), _) = self.operand(case, local) {
                    let before = case.clone();
                    let is_end = self.function.name == "main" && !self.result.scope.is_in_loop();
                    if case.drop_memory(&self.result.scope, base) && !is_end {
                        let at = case.left_at.or(self.returns_at).unwrap_or(instruction.at);
                        self.look_for_leaks_after(&before, case, at, Cause::ScopeEnd);
                    }
                }
            }
            Op::Phi { .. } | Op::Call(_) | Op::Opaque => {}
        }
        None
    }

    /// A `va_list` as the ABI has it when all that comes in registers is used up:
    /// the arguments lie one behind the other in `area`.
    fn begin_list(&mut self, case: &mut Case, list: &Value, area: Base) {
        for index in 0..MAX_VARIADIC {
            let key = SymbolKey::Parameter(self.function.parameters + index);
            let value = self.scope().symbols.value(key);
            case.memory.insert((area, Offset::At(8 * i64::from(index))), Cell { value, bytes: 8 });
        }
        let members = [
            (0, Value::Int(48), 4),
            (4, Value::Int(176), 4),
            (8, Value::address(area), 8),
            (16, Value::address(area), 8),
        ];
        for (at, value, bytes) in members {
            case.store(self.scope(), &list.plus(Offset::At(at)), &value, bytes);
        }
    }

    /// A value that has no name yet gets that of its instruction, so that the
    /// same one is known again.
    fn named(&mut self, case: &mut Case, result: ValueId, value: Value) -> Value {
        let is_record = matches!(value, Value::Record(_));
        if is_record || value.has_heap() || !value.parts().contains(&Value::Top) {
            return value;
        }
        let known = self.scope().symbols.len();
        let Some(id) = self.scope().symbols.get(SymbolKey::Result(result, 0)) else { return value };
        // One that was just made is nowhere yet.
        if self.result.scope.is_in_loop() && self.scope().symbols.len() == known {
            case.forget(&self.result.scope, Base::Symbol(id));
        }
        value.map(|part| if *part == Value::Top { Value::symbol(id) } else { part.clone() })
    }

    /// Whether an operand is what a call that failed returned, or stands for that.
    fn failed_call(&self, case: &Case, operand: &Operand) -> Overwriter {
        match operand {
            Operand::Value(value) if case.get(*value) == Value::NULL => Overwriter::Failure,
            Operand::Int(-1) => Overwriter::Failure,
            _ => Overwriter::Other,
        }
    }

    fn store(
        &mut self,
        case: &mut Case,
        to: &Value,
        value: &Value,
        shape: &Shape,
        at: Spot,
        overwriter: Overwriter,
    ) {
        let before = match shape {
            Shape::Scalar { bytes: 8, .. } if matches!(value, Value::Record(_)) => {
                let halves = [(0, value.member(0)), (HALF, value.member(1))];
                let stored = halves
                    .map(|(at, half)| case.store(self.scope(), &to.plus(Offset::At(at)), &half, HALF as u32));
                stored.into_iter().flatten().next()
            }
            // A number where a pointer was is another member of a union, and
            // whether the pointer was one is for others to know.
            Shape::Scalar { bytes, is_pointer: false } if !matches!(to, Value::Sum(Base::Local(_), _)) => {
                let before = case.store(self.scope(), to, value, *bytes);
                let is_number =
                    |block: HeapId| self.result.scope.sites.origins[block.site()].kind == DESCRIPTOR;
                match before {
                    Some(before) if !before.heap_blocks().all(is_number) => {
                        return case.escape(self.scope(), &before);
                    }
                    before => before,
                }
            }
            Shape::Scalar { bytes, .. } => case.store(self.scope(), to, value, *bytes),
            Shape::Record(members) => {
                let mut before = None;
                for (index, member) in members.iter().enumerate() {
                    let to = to.plus(Offset::At(member.offset));
                    let old = case.store(self.scope(), &to, &value.member(index), member.bytes);
                    before = before.or(old);
                }
                before
            }
        };
        if before.is_some() {
            let name = self.place(case, to);
            self.overwritten(case, at, name, overwriter);
        }
    }
}

/// What a call returned: cases are kept apart by whether it is a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Block,
    Null,
    Other,
}

impl Class {
    fn of(result: &Value) -> Class {
        match result {
            Value::Int(0) => Class::Null,
            value if value.has_heap() => Class::Block,
            _ => Class::Other,
        }
    }
}

/// What is known of a symbol from now on, unless something else is.
fn note(case: &mut Case, scope: &Scope, value: &Value, fact: Fact) {
    if let Value::Sum(Base::Symbol(id), Offset::At(0)) = value
        && let Some(both) = case.fact(scope, *id).and(fact)
        && case.fact(scope, *id) != both
    {
        case.facts.insert(*id, both);
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}
