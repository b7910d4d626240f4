//! Which functions ever return, for the whole program: a function that ends
//! the program may be in a cycle with those that call it, and then its summary
//! would come too late.

use leakscope_ir::{BlockId, Body, Callee, Op, Program, Terminator};

/// By function, whether it may return. Least fixpoint: what only calls itself
/// does not.
pub fn returning(program: &Program, is_noreturn: impl Fn(usize) -> bool) -> Vec<bool> {
    let functions = &program.functions;
    let mut returns: Vec<bool> = functions
        .iter()
        .enumerate()
        .map(|(index, function)| function.body.is_none() && !is_noreturn(index))
        .collect();
    loop {
        let mut is_changed = false;
        for (index, function) in functions.iter().enumerate() {
            let Some(body) = function.body.as_ref().filter(|_| !returns[index] && !is_noreturn(index)) else {
                continue;
            };
            if reaches_return(body, &returns) {
                returns[index] = true;
                is_changed = true;
            }
        }
        if !is_changed {
            return returns;
        }
    }
}

fn reaches_return(body: &Body, returns: &[bool]) -> bool {
    let mut seen = vec![false; body.blocks.len()];
    let mut open = vec![BlockId(0)];
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut seen[id.0 as usize], true) {
            continue;
        }
        let block = body.block(id);
        let comes_back = block.instructions.iter().all(|instruction| match &instruction.op {
            Op::Call(call) if call.is_noreturn => false,
            Op::Call(call) => match call.callee {
                Callee::Function(callee) => returns[callee.0 as usize],
                _ => true,
            },
            _ => true,
        });
        match (&block.end, comes_back) {
            (Terminator::Return(_), true) => return true,
            (Terminator::Invoke { unwind, .. }, false) => open.push(*unwind),
            (_, false) => {}
            (end, true) => open.extend(end.successors()),
        }
    }
    false
}
