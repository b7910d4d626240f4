//! Which procedures can matter to the ownership of blocks at all. The others
//! are not simulated, unless they are so small that their results are worth
//! knowing.

use leakscope_ir::{Body, Call, Callee, FuncId, Op, Operand, Shape, Terminator};

use crate::flow::has_loop;
use crate::world::World;

/// Procedures of so many blocks without loops are simulated in any case.
const SMALL: usize = 12;

/// Whether a procedure is worth simulating, if `is_relevant` is so for those
/// that it calls.
pub fn is_relevant(world: &World, id: FuncId, is_relevant: &dyn Fn(FuncId) -> bool) -> bool {
    let function = world.program.function(id);
    let Some(body) = &function.body else { return false };
    if body.blocks.len() <= SMALL && !has_loop(body) {
        return true;
    }
    // It hands something out, or never comes back.
    if function.signature.0.starts_with(['p', 's']) || !returns(body) {
        return true;
    }
    let instructions = body.blocks.iter().flat_map(|block| &block.instructions);
    instructions.into_iter().any(|instruction| match &instruction.op {
        Op::Store { value, shape, .. } => moves_pointer(value, shape),
        Op::Exchange { .. } => true,
        Op::Call(call) => call_matters(world, call, is_relevant),
        _ => false,
    })
}

fn returns(body: &Body) -> bool {
    body.blocks.iter().any(|block| matches!(block.end, Terminator::Return(_)))
}

fn moves_pointer(value: &Operand, shape: &Shape) -> bool {
    let is_variable = matches!(value, Operand::Value(_));
    is_variable && matches!(shape, Shape::Record(_) | Shape::Scalar { is_pointer: true, .. })
}

fn call_matters(world: &World, call: &Call, is_relevant: &dyn Fn(FuncId) -> bool) -> bool {
    let Callee::Function(callee) = call.callee else { return true };
    if world.role(callee).is_some() {
        return true;
    }
    if let Some(model) = world.model(callee) {
        return model.cases.iter().any(|case| {
            !case.blocks.is_empty()
                || !case.freed.is_empty()
                || !case.escaped.is_empty()
                || !case.writes.is_empty()
        });
    }
    let function = world.program.function(callee);
    match function.body {
        Some(_) => is_relevant(callee),
        // Unknown code keeps the pointers that it is given.
        None => {
            let takes_pointers = function.signature.0[1..].contains(['p', '.']);
            takes_pointers && call.arguments.iter().any(|argument| matches!(argument, Operand::Value(_)))
        }
    }
}
