//! Functions whose results are counts: no way through them returns a negative
//! number, as far as a body shows it. Many of them have nothing to do with
//! memory and get no summary of their own.

use leakscope_ir::{Binary, Body, Call, Callee, FuncId, Op, Operand, Program, Terminator, ValueId, Width};
use rustc_hash::FxHashSet;

/// The instructions of a body, by their values.
type Made<'a> = Vec<Option<&'a Op>>;

fn made(body: &Body) -> Made<'_> {
    let mut made = vec![None; body.values as usize];
    for instruction in body.blocks.iter().flat_map(|block| &block.instructions) {
        made[instruction.result.0 as usize] = Some(&instruction.op);
    }
    made
}

/// By function, whether it returns a count. Sums do not overflow.
pub fn counting(program: &Program) -> Vec<bool> {
    let may_count = |body: &Body| {
        let results = returned(body);
        results.clone().next().is_some() && results.clone().all(|result| !matches!(result, Operand::Int(..0)))
    };
    let bodies: Vec<Option<(&Body, Made)>> = program
        .functions
        .iter()
        .map(|function| {
            let body = function.body.as_deref().filter(|body| may_count(body))?;
            let is_number = !function.signature.0.starts_with('p');
            is_number.then(|| (body, made(body)))
        })
        .collect();
    let mut counting: Vec<bool> = bodies.iter().map(Option::is_some).collect();
    loop {
        let is_count = |(body, made): &(&Body, Made)| {
            returned(body).all(|result| is_count(made, result, &counting, &mut FxHashSet::default()))
        };
        let next: Vec<bool> = bodies
            .iter()
            .zip(&counting)
            .map(|(body, known)| *known && body.as_ref().is_some_and(is_count))
            .collect();
        if next == counting {
            return counting;
        }
        counting = next;
    }
}

fn returned(body: &Body) -> impl Iterator<Item = &Operand> + Clone {
    body.blocks.iter().filter_map(|block| match &block.end {
        Terminator::Return(result) => result.as_ref(),
        _ => None,
    })
}

/// What is looked at already is one, if the rest is: a variable of a loop.
fn is_count(made: &Made, operand: &Operand, known: &[bool], seen: &mut FxHashSet<ValueId>) -> bool {
    let value = match operand {
        Operand::Int(number) => return *number >= 0,
        Operand::Value(value) => *value,
        _ => return false,
    };
    if !seen.insert(value) {
        return true;
    }
    let mut all = |operands: &[&Operand]| operands.iter().all(|each| is_count(made, each, known, seen));
    match made[value.0 as usize] {
        Some(Op::Compare { .. } | Op::Binary { op: Binary::Distance, .. }) => true,
        Some(Op::Cast { width: Width::ZeroExtended(_), .. }) => true,
        Some(Op::Cast { value, .. }) => all(&[value]),
        Some(Op::Phi { incoming }) => incoming.iter().all(|(_, value)| all(&[value])),
        Some(Op::Select { yes, no, .. }) => all(&[yes, no]),
        Some(Op::Binary { op: Binary::Add | Binary::Mul | Binary::Div, left, right }) => all(&[left, right]),
        Some(Op::Binary { op: Binary::Rem | Binary::Shr, left, .. }) => all(&[left]),
        Some(Op::Binary { op: Binary::And, right: right @ Operand::Int(_), .. }) => all(&[right]),
        Some(Op::Call(Call { callee: Callee::Function(FuncId(callee)), .. })) => known[*callee as usize],
        _ => false,
    }
}
