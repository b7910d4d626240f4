//! Lines, as the program passes them.

use super::Tools;
use crate::ir::{Opcode, Value};
use crate::llvm::Function;

/// Tells of each line where its first instruction in a block of code is.
pub fn tell<'m>(tools: &mut Tools<'_, 'm>, function: Function<'m>) {
    let bodies: Vec<Vec<Value<'m>>> = function.blocks().map(|block| block.instructions().collect()).collect();
    for body in bodies {
        let mut line = 0;
        for at in body.into_iter().filter(|&at| begins_line(at)) {
            let here = at.location().map_or(0, |location| location.line());
            if here != line {
                line = here;
                let place = tools.places.of_line(at);
                tools.builder.before(at);
                tools.builder.call(tools.helpers.point, &[place]);
            }
        }
    }
}

/// Whether an instruction may be the first of a line.
pub fn begins_line(at: Value<'_>) -> bool {
    at.location().is_some_and(|location| location.line() != 0)
        && !matches!(at.opcode(), Some(Opcode::LLVMPHI | Opcode::LLVMAlloca | Opcode::LLVMLandingPad))
        && !at.is_intrinsic()
}
