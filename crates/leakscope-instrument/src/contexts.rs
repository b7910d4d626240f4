//! Keeps a value for the calling context in a variable of the thread: each
//! call sets it to a mix of the caller's own value and a constant of the call,
//! so that the runtime knows a stack without walking it (Bond and McKinley,
//! "Probabilistic Calling Context", OOPSLA 2007). A function reads its own
//! value once, at its start; nothing has to be put back after a call, so
//! exceptions and long jumps do no harm.
//!
//! Works on optimised code: a call that was inlined is no call.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::builder::Builder;
use crate::ir::Value;
use crate::llvm::{Function, Module};

/// Functions that neither allocate nor call back: they need no context.
#[rustfmt::skip]
pub const LEAVES: [&str; 46] = [
    "strlen", "strnlen", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "strchr", "strrchr", "strstr",
    "strspn", "strcspn", "strpbrk", "strcpy", "strncpy", "strcat", "strncat", "stpcpy", "strtol", "strtoul",
    "strtod", "atoi", "atol", "memcmp", "memchr", "memcpy", "memmove", "memset", "bcmp", "abs", "labs",
    "tolower", "toupper", "isalpha", "isdigit", "isspace", "__ctype_b_loc", "__errno_location",
    "floor", "ceil", "pow", "fmod", "sqrt", "exp", "log", "sin", "cos",
];

pub fn insert(module: &Module<'_>) {
    let builder = Builder::new(module);
    let variable = builder.thread_word("leakscope_context");
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let calls: Vec<Value<'_>> = function.instructions().filter(|&at| needs_context(at)).collect();
        if !calls.is_empty() {
            keep(&builder, variable, module.name(), function, &calls);
        }
    }
}

fn keep<'m>(
    builder: &Builder<'m>,
    variable: Value<'m>,
    module: &str,
    function: Function<'m>,
    calls: &[Value<'m>],
) {
    builder.before(function.entry().after_locals()).nowhere();
    let own = builder.load(builder.word_type(), variable);
    let mixed = builder.multiply(own, builder.word(3));
    for (index, &call) in calls.iter().enumerate() {
        let mut hasher = DefaultHasher::new();
        (module, function.name(), index).hash(&mut hasher);
        // What fits into an instruction.
        let constant = hasher.finish() >> 33;
        builder.before(call);
        builder.store(builder.add(mixed, builder.word(constant)), variable);
    }
}

pub fn needs_context(at: Value<'_>) -> bool {
    at.is_call()
        && !at.is_intrinsic()
        && !at.calls_assembler()
        && at.called_name().is_none_or(|name| !LEAVES.contains(&name))
}
