//! Calls through variables that stand for the allocator, as libraries have them
//! for programs with one of their own: `void (*xmlFree)(void *) = free;`. Who
//! sets another one promises that it does the same.

use std::sync::Arc;

use leakscope_ir::{Callee, Cell, FuncId, GlobalId, Op, Operand, Program, ValueId};
use rustc_hash::FxHashMap;

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
    let is_allocator: Vec<bool> = program
        .functions
        .iter()
        .map(|function| {
            models.of(function).is_some_and(|model| function.body.is_none() && model.is_allocator())
        })
        .collect();
    let globals = (0..).map(GlobalId).zip(&program.globals);
    let cells = globals.flat_map(|(id, global)| global.initial.iter().flatten().map(move |cell| (id, cell)));
    let hook = |(id, cell): (GlobalId, &Cell)| match cell.value {
        Operand::Function(function) if is_allocator[function.0 as usize] => {
            Some(((id, cell.offset), function))
        }
        _ => None,
    };
    cells.filter_map(hook).collect()
}
