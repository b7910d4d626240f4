//! Members of records that hold functions, as tables of operations do: which
//! functions the program puts there, so that calls of what is found there are
//! of these.
//!
//! A library's users may have such records of their own. Their functions are
//! taken to do with their arguments what the library's own do, unless something
//! that the library does not know is stored there.

use leakscope_ir::{Body, Call, Callee, FuncId, Function, Op, Operand, Program, Shape, Signature, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::taken;
use crate::effects::Values;
use crate::records::{Member, Records};
use crate::types::Types;
use crate::virtuals::Candidates;

/// A call of more functions is of anything.
const MAX_FUNCTIONS: usize = 64;

#[derive(Default)]
struct Held {
    functions: Vec<FuncId>,
    /// Also something that is not known.
    is_open: bool,
}

pub fn called_members(program: &Program, is_whole: bool) -> Candidates {
    let records = Records::new(program);
    let mut called: FxHashMap<Member, Vec<(FuncId, ValueId, &Signature)>> = FxHashMap::default();
    // How far from a pointer such members are, and those in records around them.
    let mut offsets = FxHashSet::default();
    for (id, function) in (0..).map(FuncId).zip(&program.functions) {
        let Some(body) = function.body.as_ref().filter(|body| calls_pointers(body)) else { continue };
        let values = Values::new(body);
        let types = Types::new(&records, function, body, &values);
        for (result, signature, from) in loaded_calls(body, &values) {
            if let Some(member) = member(&records, &types, &values, from) {
                called.entry(member).or_default().push((id, result, signature));
                offsets.extend([member.1, offset(&values, from)]);
            }
        }
    }
    if called.is_empty() {
        return Candidates::default();
    }
    let mut held: FxHashMap<Member, Held> = FxHashMap::default();
    let mut note = |member: Member, function: Option<FuncId>| {
        if called.contains_key(&member) {
            let held = held.entry(member).or_default();
            held.is_open |= function.is_none();
            held.functions.extend(function.filter(|function| !held.functions.contains(function)));
        }
    };
    for global in &program.globals {
        let Some(ty) = global.ty.map(|ty| records.same(ty)) else { continue };
        for cell in global.initial.iter().flatten() {
            if let Operand::Function(function) = cell.value
                && let Some(member) = records.innermost((ty, cell.offset))
            {
                note(member, Some(function));
            }
        }
    }
    for function in &program.functions {
        stores(&records, function, &offsets, &mut note);
    }
    let taken = taken(program);
    let mut candidates = Candidates::default();
    for (member, calls) in called {
        let Some(Held { functions, is_open }) = held.remove(&member) else { continue };
        for (id, result, signature) in calls {
            let mut functions = functions.clone();
            if is_open && is_whole {
                functions.extend(taken.get(signature).into_iter().flatten());
            }
            functions.sort();
            functions.dedup();
            if (!is_open || is_whole) && (1..=MAX_FUNCTIONS).contains(&functions.len()) {
                candidates.entry(id).or_default().push((result, functions));
            }
        }
    }
    candidates.values_mut().for_each(|calls| calls.sort());
    candidates
}

/// Calls of what was loaded just before, with their results and where from.
fn loaded_calls<'a>(
    body: &'a Body,
    values: &Values<'a>,
) -> impl Iterator<Item = (ValueId, &'a Signature, &'a Operand)> {
    let calls = body.blocks.iter().flat_map(|block| &block.instructions);
    calls.filter_map(|instruction| match &instruction.op {
        Op::Call(Call { callee: Callee::Pointer(Operand::Value(pointer)), signature, .. }) => {
            match values.op(*pointer)? {
                Op::Load { from, .. } => Some((instruction.result, signature, from)),
                _ => None,
            }
        }
        _ => None,
    })
}

fn calls_pointers(body: &Body) -> bool {
    body.blocks.iter().flat_map(|block| &block.instructions).any(|instruction| {
        matches!(&instruction.op, Op::Call(Call { callee: Callee::Pointer(Operand::Value(_)), .. }))
    })
}

fn member(records: &Records, types: &Types, values: &Values, address: &Operand) -> Option<Member> {
    records.innermost(*types.members(values, address).first()?)
}

fn offset(values: &Values, address: &Operand) -> i64 {
    match address {
        Operand::Value(value) => match values.op(*value) {
            Some(Op::Step { offset, .. }) => *offset,
            _ => 0,
        },
        Operand::Global(_, offset) => *offset,
        _ => 0,
    }
}

/// What a body stores in members that are called.
fn stores<'a>(
    records: &Records<'a>,
    function: &'a Function,
    offsets: &FxHashSet<i64>,
    note: &mut impl FnMut(Member, Option<FuncId>),
) {
    let Some(body) = &function.body else { return };
    let all = || body.blocks.iter().flat_map(|block| &block.instructions);
    let is_pointer = |op: &Op| match op {
        Op::Store { shape: Shape::Scalar { is_pointer: true, .. }, value, .. } => {
            !matches!(value, Operand::Int(_) | Operand::Global(..))
        }
        _ => false,
    };
    // Most bodies store nothing at such a distance.
    let steps: FxHashMap<ValueId, i64> = all()
        .filter_map(|instruction| match &instruction.op {
            Op::Step { offset, .. } => Some((instruction.result, *offset)),
            _ => None,
        })
        .collect();
    let is_at = |op: &Op| match op {
        Op::Store { to: Operand::Value(to), .. } => offsets.contains(steps.get(to).unwrap_or(&0)),
        Op::Store { to: Operand::Global(_, offset), .. } => offsets.contains(offset),
        _ => false,
    };
    if !all().any(|instruction| is_pointer(&instruction.op) && is_at(&instruction.op)) {
        return;
    }
    let values = Values::new(body);
    let types = Types::new(records, function, body, &values);
    for instruction in all().filter(|instruction| is_pointer(&instruction.op) && is_at(&instruction.op)) {
        let Op::Store { to, value, .. } = &instruction.op else { continue };
        let Some(at) = member(records, &types, &values, to) else { continue };
        for source in values.sources(value) {
            match source {
                Operand::Function(function) => note(at, Some(*function)),
                Operand::Int(0) => {}
                // From one such record to another.
                Operand::Value(loaded)
                    if matches!(values.op(*loaded), Some(Op::Load { from, .. })
                        if member(records, &types, &values, from) == Some(at)) => {}
                _ => note(at, None),
            }
        }
    }
}
