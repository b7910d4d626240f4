//! Where the lives of locals end that the compiler does not mark: in a function
//! with computed gotos, as an interpreter that goes from one instruction to the
//! next by them, a jump may go round any declaration. Scopes are known from
//! debug information, and instructions stand in the order of the source.

use std::collections::{HashMap, HashSet};

use crate::debug_info::{Scope, Types};
use crate::ir::{Block, Opcode, Value};
use crate::llvm::Function;

/// Where the life of a local begins, and before what it ends.
#[derive(Clone)]
pub struct Life<'m> {
    pub start: Value<'m>,
    pub ends: Vec<Value<'m>>,
}

/// What a block has for instructions that have a place, with their scopes.
struct Code<'m> {
    block: Block<'m>,
    instructions: Vec<(Value<'m>, Scope<'m>)>,
}

/// The lives of the locals of inner scopes, where they are known and not
/// marked.
pub fn lives<'m>(types: &Types<'m>, function: Function<'m>) -> HashMap<Value<'m>, Life<'m>> {
    if !function.instructions().any(|at| at.is(Opcode::LLVMIndirectBr)) {
        return HashMap::new();
    }
    let placed = |at: Value<'m>| Some((at, types.scope(at.location()?)?));
    let is_code = |at: &Value<'m>| !at.is_intrinsic() && !at.is(Opcode::LLVMAlloca);
    let code: Vec<Code<'m>> = function
        .blocks()
        .map(|block| {
            let instructions = block.instructions().filter(is_code).filter_map(placed).collect();
            Code { block, instructions }
        })
        .collect();
    let scopes: HashSet<Scope<'m>> =
        code.iter().flat_map(|code| &code.instructions).map(|&(_, scope)| scope).collect();
    let around: HashMap<Scope<'m>, HashSet<Scope<'m>>> =
        scopes.into_iter().map(|scope| (scope, types.scopes_around(scope))).collect();
    let life = |at: Value<'m>| {
        let local = types.declaration(at)?.address;
        let scope = types.scope(at.location()?).filter(|&scope| types.is_inner(scope))?;
        let ends = ends(&code, |other| around[&other].contains(&scope));
        (!ends.is_empty()).then_some((local, Life { start: at, ends }))
    };
    function.instructions().filter_map(life).collect()
}

/// Before which instructions control leaves a scope.
fn ends<'m>(code: &[Code<'m>], is_inside: impl Fn(Scope<'m>) -> bool) -> Vec<Value<'m>> {
    let begins_inside: HashMap<Block<'m>, bool> =
        code.iter().filter_map(|code| Some((code.block, is_inside(code.instructions.first()?.1)))).collect();
    let goes_on = |next: Block<'m>| begins_inside.get(&next).copied().unwrap_or(true);
    let mut ends = Vec::new();
    for Code { block, instructions } in code {
        let leaves = |pair: &&[(Value<'m>, Scope<'m>)]| is_inside(pair[0].1) && !is_inside(pair[1].1);
        ends.extend(instructions.windows(2).filter(leaves).map(|pair| pair[1].0));
        if let Some(terminator) = block.terminator()
            && instructions.last().is_some_and(|&(_, scope)| is_inside(scope))
            && !terminator.successors().any(goes_on)
        {
            ends.push(terminator);
        }
    }
    ends
}
