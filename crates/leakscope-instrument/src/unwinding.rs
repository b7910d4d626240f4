//! Ways out of frames other than a return: exceptions, and functions that do
//! not come back.
//!
//! Blocks that only an exception enters, up to where it is caught, end lives
//! because of it: what dies there dies where it was thrown.
//!
//! A frame that is left behind must still hold what it held. The optimiser
//! knows that some functions never return, and keeps nothing for later where
//! one is called, here or in what it inlined. So before it looks, such calls
//! become ordinary ones, and what follows them a return. Those by which the
//! whole program ends stay.

use std::collections::HashSet;

use crate::builder::Builder;
use crate::ir::{Block, Opcode, Value};
use crate::llvm::{Function, Kind, Module};

/// Functions that end the program, or that nothing is expected of.
#[rustfmt::skip]
const ENDS: [&str; 12] = [
    "exit", "_exit", "_Exit", "quick_exit", "abort", "__assert_fail", "__assert_perror_fail", "__stack_chk_fail",
    "_ZSt9terminatev", "__clang_call_terminate", "__cxa_pure_virtual", "__cxa_call_unexpected",
];

/// Where an exception begins its way.
const THROWS: [&str; 2] = ["__cxa_throw", "__cxa_rethrow"];

/// Whether a call throws for certain.
pub fn is_throw(at: Value<'_>) -> bool {
    at.called_name().is_some_and(|name| THROWS.contains(&name))
}

/// The blocks of a function that only an exception enters.
pub fn blocks<'m>(function: Function<'m>) -> HashSet<Block<'m>> {
    let is_landing = |block: &Block<'m>| block.instructions().any(|at| at.is(Opcode::LLVMLandingPad));
    let catches = |at: Value<'m>| at.called_name() == Some("__cxa_begin_catch");
    let mut open: Vec<Block<'m>> = function.blocks().filter(is_landing).collect();
    let mut found = HashSet::new();
    while let Some(block) = open.pop() {
        if !block.instructions().any(catches) && found.insert(block) {
            open.extend(block.terminator().into_iter().flat_map(Value::successors));
        }
    }
    found
}

/// Lets what is called where an exception may be caught keep its own frame:
/// what its locals held is looked for in the frames that are left behind, and
/// the one that catches stays.
pub fn keep_frames(module: &Module<'_>) {
    let never_inline = Kind::named("noinline");
    // Its clauses are what it catches.
    let catches = |at: Value<'_>| at.is(Opcode::LLVMLandingPad) && at.operands().next().is_some();
    for call in module.bodies().flat_map(Function::calls) {
        let at = call.value();
        if at.is(Opcode::LLVMInvoke) && at.successors().any(|block| block.instructions().any(catches)) {
            call.set(never_inline);
        }
    }
}

/// Makes functions that leave frames behind look as if they returned.
pub fn let_return(module: &Module<'_>) {
    let never_returns = Kind::named("noreturn");
    let builder = Builder::new(module);
    let leaves = |at: Value<'_>| {
        at.is_call() && !at.is_intrinsic() && at.called_name().is_none_or(|name| !ENDS.contains(&name))
    };
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let ends: Vec<Value<'_>> = function
            .blocks()
            .filter(|block| {
                let mut before = block.terminator().into_iter().filter_map(Value::previous).peekable();
                match before.peek() {
                    Some(&before) => leaves(before) && before.never_returns(),
                    None => block.ways_in().all(|at| leaves(at) && at.never_returns()),
                }
            })
            .filter_map(Block::terminator)
            .filter(|at| at.is(Opcode::LLVMUnreachable))
            .collect();
        for end in ends {
            builder.before(end).return_nothing(function);
            end.erase();
        }
    }
    for function in module.functions() {
        if !ENDS.contains(&function.name()) {
            function.unset(never_returns);
        }
        for call in function.calls() {
            call.unset_unless_called(never_returns, &ENDS);
        }
    }
}
