//! Reports uses of blocks: what a pointer is read or written through, copied,
//! passed or returned. A comparison is not a use.
//!
//! Of the uses of one pointer in a row, with no call between them, only the
//! last is reported: the others could not be the last of a block's life.
//!
//! Works on optimised code: what is asked before each use would keep loops
//! from becoming what the optimiser makes of them.

use std::collections::HashSet;

use crate::builder::Builder;
use crate::guards;
use crate::ir::{Block, Opcode, Value};
use crate::llvm::{Function, Module, PassOptions, Vectors};

/// A use to be reported: before which instruction, of which pointer.
struct Use<'m> {
    at: Value<'m>,
    pointer: Value<'m>,
}

/// Reports the uses in all functions of a module.
pub fn insert(module: &mut Module<'_>) -> Result<(), String> {
    module.add(&guards::after_optimisation())?;
    report(module);
    module.run_passes("always-inline", &PassOptions::new(Vectors::None))
}

fn report(module: &Module<'_>) {
    let builder = Builder::new(module);
    let used = builder.function(c"leakscope.used");
    for function in module.bodies() {
        for Use { at, pointer } in find(function) {
            builder.before(at);
            // A `ret` has the line of the closing brace; what it returns may
            // have that of the statement.
            if at.is(Opcode::LLVMRet)
                && let Some(location) = pointer.opcode().and_then(|_| pointer.location())
            {
                builder.at(location);
            }
            builder.call(used, &[pointer]);
        }
    }
}

fn find<'m>(function: Function<'m>) -> Vec<Use<'m>> {
    function.blocks().flat_map(in_block).collect()
}

fn in_block(block: Block<'_>) -> Vec<Use<'_>> {
    let instructions: Vec<Value<'_>> = block.instructions().collect();
    let (mut uses, mut later) = (Vec::new(), HashSet::new());
    for &at in instructions.iter().rev() {
        if at.is_call() && !at.is_intrinsic() && !is_ours(at) {
            later.clear();
        }
        for pointer in used_by(at) {
            let pointer = pointer.without_steps();
            if is_variable(pointer) && later.insert(slot_of(pointer)) {
                uses.push(Use { at, pointer });
            }
        }
        // Before a store to it, a slot holds another pointer.
        if at.is(Opcode::LLVMStore) {
            later.remove(&at.operand(1));
        }
    }
    uses
}

/// The pointers that an instruction uses.
fn used_by<'m>(at: Value<'m>) -> Vec<Value<'m>> {
    let pointers =
        |values: Vec<Value<'m>>| values.into_iter().filter(|value| value.ty().is_pointer()).collect();
    match at.opcode() {
        Some(Opcode::LLVMLoad) => vec![at.operand(0)],
        // To be passed was a use of the caller's.
        Some(Opcode::LLVMStore) if at.operand(0).is_parameter() && at.operand(1).is(Opcode::LLVMAlloca) => {
            Vec::new()
        }
        Some(Opcode::LLVMStore) => pointers(vec![at.operand(0), at.operand(1)]),
        // The optimiser exchanges numbers.
        Some(Opcode::LLVMAtomicRMW) => pointers(at.operands().map(Value::without_casts).collect()),
        // What is expected is only compared.
        Some(Opcode::LLVMAtomicCmpXchg) => {
            pointers([0, 2].map(|index| at.operand(index).without_casts()).to_vec())
        }
        // Where the result has a slot, the store to it has the line.
        Some(Opcode::LLVMRet) => pointers(at.operands().filter(|value| !is_result(*value)).collect()),
        Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
            let moves = |name: &str| {
                ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."].iter().any(|start| name.starts_with(start))
            };
            if at.is_intrinsic() && !at.called_name().is_some_and(moves) || is_ours(at) {
                return Vec::new();
            }
            pointers(at.arguments().collect())
        }
        _ => Vec::new(),
    }
}

/// A call of the runtime.
fn is_ours(call: Value<'_>) -> bool {
    let is_ours = |name: &str| name.starts_with("__leakscope_") || name.starts_with(guards::PREFIX);
    call.called_name().is_some_and(is_ours)
}

fn is_result(value: Value<'_>) -> bool {
    value.is(Opcode::LLVMLoad) && value.operand(0).name() == crate::exits::RESULT
}

/// Whether a pointer may be one into the heap: not the address of a local or
/// global, and not a constant.
fn is_variable(pointer: Value<'_>) -> bool {
    !pointer.is_constant() && !pointer.is(Opcode::LLVMAlloca)
}

/// What stands for a pointer: the local that it was read from, or itself.
pub fn slot_of(pointer: Value<'_>) -> Value<'_> {
    if pointer.is(Opcode::LLVMLoad) && pointer.operand(0).is(Opcode::LLVMAlloca) {
        pointer.operand(0)
    } else {
        pointer
    }
}
