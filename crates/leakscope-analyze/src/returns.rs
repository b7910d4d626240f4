//! Which functions ever return, for the whole program: a function that ends
//! the program may be in a cycle with those that call it, and then its summary
//! would come too late.

use std::collections::BTreeSet;

use leakscope_ir::{BlockId, Body, Callee, Compare, FuncId, Op, Operand, Program, Terminator, ValueId};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::callgraph::callers;

/// When a function returns. More with each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Returns {
    Never,
    /// Only if an argument is zero, or is not.
    If(Given),
    Maybe,
}

/// What is known of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Given {
    parameter: u32,
    is_zero: bool,
}

impl Returns {
    /// Whether a call comes back, by whether an argument is zero, as far as
    /// that is known.
    pub fn comes_back(self, is_zero: impl Fn(u32) -> Option<bool>) -> bool {
        match self {
            Returns::Never => false,
            Returns::If(given) => is_zero(given.parameter).is_none_or(|is_zero| is_zero == given.is_zero),
            Returns::Maybe => true,
        }
    }
}

/// By function, when it returns. Least fixpoint: what only calls itself does
/// not.
pub fn returning(program: &Program, is_noreturn: impl Fn(usize) -> bool) -> Vec<Returns> {
    let functions = &program.functions;
    let is_library = |index: usize| functions[index].body.is_none() && !is_noreturn(index);
    let mut returns: Vec<Returns> = (0..functions.len())
        .map(|index| if is_library(index) { Returns::Maybe } else { Returns::Never })
        .collect();
    let tests: Vec<FxHashMap<ValueId, Given>> = functions
        .iter()
        .map(|function| {
            function.body.as_ref().map(|body| tests(body, function.parameters)).unwrap_or_default()
        })
        .collect();
    let callers = callers(program);
    // Round by round, but only those that call what has changed.
    let (mut open, mut next): (BTreeSet<usize>, BTreeSet<usize>) =
        ((0..functions.len()).collect(), BTreeSet::new());
    while let Some(index) = open.pop_first() {
        let is_open = returns[index] != Returns::Maybe && !is_noreturn(index);
        if let Some(body) = functions[index].body.as_ref().filter(|_| is_open) {
            let now = when(body, &tests[index], &returns);
            // What is known may only become less.
            let now =
                if returns[index] == Returns::Never || now == returns[index] { now } else { Returns::Maybe };
            if std::mem::replace(&mut returns[index], now) != now {
                for &caller in &callers[index] {
                    if caller > index {
                        open.insert(caller)
                    } else {
                        next.insert(caller)
                    };
                }
            }
        }
        if open.is_empty() {
            open = std::mem::take(&mut next);
        }
    }
    returns
}

fn when(body: &Body, tests: &FxHashMap<ValueId, Given>, returns: &[Returns]) -> Returns {
    if !reaches_return(body, tests, returns, None) {
        return Returns::Never;
    }
    let mut tested: Vec<u32> = tests.values().map(|given| given.parameter).collect();
    tested.sort_unstable();
    tested.dedup();
    let both =
        tested.into_iter().flat_map(|parameter| [true, false].map(|is_zero| Given { parameter, is_zero }));
    let is_needed = |given: &Given| {
        let other = Given { is_zero: !given.is_zero, ..*given };
        !reaches_return(body, tests, returns, Some(other))
    };
    both.into_iter().find(is_needed).map_or(Returns::Maybe, Returns::If)
}

/// Values that are true where a parameter is as given: the parameter itself,
/// and comparisons with zero.
fn tests(body: &Body, parameters: u32) -> FxHashMap<ValueId, Given> {
    let mut known: FxHashMap<ValueId, Given> =
        (0..parameters).map(|parameter| (ValueId(parameter), Given { parameter, is_zero: false })).collect();
    for instruction in body.blocks.iter().flat_map(|block| &block.instructions) {
        let given = |operand: &Operand| match operand {
            Operand::Value(value) => known.get(value).copied(),
            _ => None,
        };
        let test = match &instruction.op {
            Op::Cast { value, .. } => given(value),
            Op::Compare { op: Compare::Ne, left, right: Operand::Int(0) } => given(left),
            Op::Compare { op: Compare::Eq, left, right: Operand::Int(0) } => {
                given(left).map(|given| Given { is_zero: !given.is_zero, ..given })
            }
            _ => None,
        };
        if let Some(test) = test {
            known.insert(instruction.result, test);
        }
    }
    let is_asked = |value: &ValueId| {
        let asks = |end: &Terminator| matches!(end, Terminator::Branch { condition: Operand::Value(asked), .. } if asked == value);
        body.blocks.iter().any(|block| asks(&block.end))
    };
    known.retain(|value, _| is_asked(value));
    known
}

/// Whether a body comes to its end, where `given` is known of an argument.
fn reaches_return(
    body: &Body,
    tests: &FxHashMap<ValueId, Given>,
    returns: &[Returns],
    given: Option<Given>,
) -> bool {
    let mut seen = vec![false; body.blocks.len()];
    let mut open = vec![BlockId(0)];
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut seen[id.0 as usize], true) {
            continue;
        }
        let block = body.block(id);
        let comes_back =
            block.instructions.iter().all(|instruction| match &instruction.op {
                Op::Call(call) if call.is_noreturn => false,
                Op::Call(call) => match call.callee {
                    Callee::Function(FuncId(callee)) => returns[callee as usize].comes_back(|parameter| {
                        match call.arguments.get(parameter as usize) {
                            Some(Operand::Int(number)) => Some(*number == 0),
                            _ => None,
                        }
                    }),
                    _ => true,
                },
                _ => true,
            });
        match (&block.end, comes_back) {
            (Terminator::Return(_), true) => return true,
            (Terminator::Invoke { unwind, .. }, false) => open.push(*unwind),
            (_, false) => {}
            (Terminator::Branch { condition: Operand::Value(condition), yes, no }, true) => {
                let test = tests.get(condition);
                match given.zip(test).filter(|(given, test)| given.parameter == test.parameter) {
                    Some((given, test)) => open.push(if given.is_zero == test.is_zero { *yes } else { *no }),
                    None => open.extend([*yes, *no]),
                }
            }
            (end, true) => open.extend(end.successors()),
        }
    }
    false
}
