//! Calls through variables that stand for the allocator, as libraries have them
//! for programs with one of their own: `void (*xmlFree)(void *) = free;`. Who
//! sets another one promises that it does the same.

use std::sync::Arc;

use leakscope_ir::{Body, Call, Callee, FuncId, GlobalId, Op, Operand, Program, Terminator, ValueId};
use rustc_hash::FxHashMap;

use crate::effects::Values;
use crate::models::Models;

/// The program with calls of what such variables hold from the start, if it
/// has any.
pub fn resolved(program: &Program, models: &Models) -> Option<Program> {
    let hooks = hooks(program, models);
    if hooks.is_empty() {
        return None;
    }
    let mut functions = program.functions.clone();
    let mut is_changed = false;
    for body in functions.iter_mut().filter_map(|function| function.body.as_mut()) {
        let loaded: FxHashMap<ValueId, FuncId> = body
            .blocks
            .iter()
            .flat_map(|block| &block.instructions)
            .filter_map(|instruction| match instruction.op {
                Op::Load { from: Operand::Global(global, at), .. } => {
                    Some((instruction.result, *hooks.get(&(global, at))?))
                }
                _ => None,
            })
            .collect();
        if loaded.is_empty() {
            continue;
        }
        is_changed = true;
        for instruction in Arc::make_mut(body).blocks.iter_mut().flat_map(|block| &mut block.instructions) {
            if let Op::Call(call) = &mut instruction.op
                && let Callee::Pointer(Operand::Value(pointer)) = &call.callee
                && let Some(&function) = loaded.get(pointer)
            {
                call.callee = Callee::Function(function);
            }
        }
    }
    is_changed.then(|| Program {
        functions,
        globals: program.globals.clone(),
        files: program.files.clone(),
        types: program.types.clone(),
    })
}

/// What allocates or releases, by the variable that holds it from the start.
pub fn hooks(program: &Program, models: &Models) -> FxHashMap<(GlobalId, i64), FuncId> {
    let globals = (0..).map(GlobalId).zip(&program.globals);
    let cells = globals.flat_map(|(id, global)| global.initial.iter().flatten().map(move |cell| (id, cell)));
    let held = cells.filter_map(|(id, cell)| match cell.value {
        Operand::Function(function) => Some(((id, cell.offset), function)),
        _ => None,
    });
    let (mut hooks, others): (FxHashMap<_, _>, FxHashMap<_, _>) = held.partition(|&(_, id)| {
        let function = program.function(id);
        function.body.is_none() && models.of(function).is_some_and(|model| model.is_allocator())
    });
    if !hooks.is_empty() {
        let own: Vec<_> = others
            .into_iter()
            .filter(|(_, id)| program.function(*id).body.as_ref().is_some_and(|body| makes(body, &hooks)))
            .collect();
        hooks.extend(own);
    }
    hooks
}

/// Whether a body returns what such a variable's function returns, and nothing
/// else.
fn makes(body: &Body, hooks: &FxHashMap<(GlobalId, i64), FuncId>) -> bool {
    let values = Values::new(body);
    let is_hook = |pointer: &Operand| match pointer {
        Operand::Value(value) => matches!(
            values.op(*value),
            Some(Op::Load { from: Operand::Global(global, at), .. }) if hooks.contains_key(&(*global, *at))
        ),
        _ => false,
    };
    let is_made = |source: &&Operand| match source {
        Operand::Value(value) => matches!(
            values.op(*value),
            Some(Op::Call(Call { callee: Callee::Pointer(pointer), .. })) if is_hook(pointer)
        ),
        _ => false,
    };
    let results = body.blocks.iter().filter_map(|block| match &block.end {
        Terminator::Return(Some(result)) => Some(values.sources(result)),
        _ => None,
    });
    let results: Vec<&Operand> = results.flatten().filter(|source| **source != Operand::Int(0)).collect();
    !results.is_empty() && results.iter().all(is_made)
}
