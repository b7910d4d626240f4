//! Keeps a value for the calling context in a variable of the thread: each
//! call sets it to a mix of the caller's own value and a constant of the call,
//! so that the runtime knows a stack without walking it (Bond and McKinley,
//! "Probabilistic Calling Context", OOPSLA 2007). A function reads its own
//! value once, at its start; nothing has to be put back after a call, so
//! exceptions and long jumps do no harm. Only a function that others call by
//! its address leaves the value as it was: its caller may be code that was not
//! derived, and calls again.
//!
//! Functions that call themselves, also by way of others, would have a context
//! for every way through them. Of calls within such a cycle the last two count,
//! and the context in which it was entered.
//!
//! Works on optimised code: a call that was inlined is no call.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::builder::Builder;
use crate::guards;
use crate::ir::{Opcode, Value};
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

/// Numbers the calls: a copy that is made later is the same call.
pub fn number_calls(module: &Module<'_>) {
    let builder = Builder::new(module);
    for function in module.bodies() {
        for (number, call) in (0..).zip(function.instructions().filter(|&at| needs_context(at))) {
            call.note(NUMBER, builder.word(number));
        }
    }
}

/// The note of a call's number.
pub const NUMBER: &str = "leakscope.call";

pub fn insert(module: &Module<'_>) {
    let builder = Builder::new(module);
    let variable = builder.thread_word("leakscope_context");
    let cycles = cycles(module);
    for function in module.bodies() {
        let calls: Vec<Value<'_>> = function.instructions().filter(|&at| needs_context(at)).collect();
        if !calls.is_empty() {
            Contexts { builder: &builder, variable, cycles: &cycles, function }.keep(module.name(), &calls);
        }
    }
}

struct Contexts<'a, 'm> {
    builder: &'a Builder<'m>,
    variable: Value<'m>,
    cycles: &'a HashMap<Value<'m>, usize>,
    function: Function<'m>,
}

impl<'m> Contexts<'_, 'm> {
    fn keep(&self, module: &str, calls: &[Value<'m>]) {
        let builder = self.builder;
        builder.before(self.function.entry().after_locals()).nowhere();
        let own = builder.load(builder.word_type(), self.variable);
        // Odd, and as large as fits into an instruction.
        let mixed = builder.multiply(own, builder.word(0x5851_f42d));
        for (index, &call) in (0..).zip(calls) {
            let number = call.noted(NUMBER).and_then(Value::integer).unwrap_or(calls.len() as u64 + index);
            let mut hasher = DefaultHasher::new();
            (module, self.function.name(), number).hash(&mut hasher);
            let hash = hasher.finish();
            builder.before(call);
            let context = if self.is_in_cycle(call) {
                let base = builder.and(own, !0xffff_ffff);
                let last = builder.and(builder.multiply(own, builder.word(1 << 16)), 0xffff_0000);
                builder.add(builder.add(base, last), builder.word(hash >> 48))
            } else {
                builder.add(mixed, builder.word(hash >> 33))
            };
            if call.called_name().is_some_and(guards::takes_context) {
                call.set_operand(guards::CONTEXT, context);
            } else {
                builder.store(context, self.variable);
            }
        }
        if self.function.is_address_taken() {
            let is_end = |at: &Value<'m>| {
                at.is(Opcode::LLVMRet) && !at.previous().is_some_and(Value::must_be_tail_call)
            };
            for ret in self.function.instructions().filter(is_end) {
                builder.before(ret);
                builder.store(own, self.variable);
            }
        }
    }

    /// Whether a call may lead back to its function.
    fn is_in_cycle(&self, call: Value<'m>) -> bool {
        let callee = call.called().and_then(|called| self.cycles.get(&called));
        callee.is_some() && callee == self.cycles.get(&self.function.value())
    }
}

/// The functions that call themselves by way of each other, as far as this
/// module shows; all of one cycle have the same number.
fn cycles<'m>(module: &'m Module<'_>) -> HashMap<Value<'m>, usize> {
    let functions: Vec<Function<'m>> = module.bodies().collect();
    let index: HashMap<Value<'m>, usize> =
        functions.iter().enumerate().map(|(index, function)| (function.value(), index)).collect();
    let callees: Vec<Vec<usize>> = functions
        .iter()
        .map(|function| {
            let called = function.instructions().filter(|at| at.is_call()).filter_map(Value::called);
            called.filter_map(|called| index.get(&called).copied()).collect()
        })
        .collect();
    let component = components(&callees);
    let mut sizes = vec![0; functions.len()];
    component.iter().for_each(|&component| sizes[component] += 1);
    (0..functions.len())
        .filter(|&at| sizes[component[at]] > 1 || callees[at].contains(&at))
        .map(|at| (functions[at].value(), component[at]))
        .collect()
}

/// Strongly connected components of a graph, by Tarjan's algorithm with a
/// stack of its own.
fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let (mut order, mut low, mut component) =
        (vec![NONE; edges.len()], vec![0; edges.len()], vec![NONE; edges.len()]);
    let (mut open, mut count, mut found) = (Vec::new(), 0, 0);
    for root in 0..edges.len() {
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.pop() {
            if next == 0 {
                if order[node] != NONE {
                    continue;
                }
                (order[node], low[node]) = (count, count);
                count += 1;
                open.push(node);
            } else {
                let before: usize = edges[node][next - 1];
                if component[before] == NONE {
                    low[node] = low[node].min(low[before]);
                }
            }
            if let Some(&callee) = edges[node].get(next) {
                path.push((node, next + 1));
                if order[callee] == NONE {
                    path.push((callee, 0));
                }
            } else if low[node] == order[node] {
                while let Some(member) = open.pop() {
                    component[member] = found;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

/// Whether a library's function is called that neither allocates nor calls back.
pub fn is_leaf(call: Value<'_>) -> bool {
    call.called().is_some_and(Value::is_declaration)
        && call.called_name().is_some_and(|name| LEAVES.contains(&name))
}

pub fn needs_context(at: Value<'_>) -> bool {
    at.is_call()
        && !at.is_intrinsic()
        && !at.calls_assembler()
        && at.called_name().is_none_or(|name| !LEAVES.contains(&name) && !guards::needs_no_context(name))
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn cycles_are_components() {
        #[track_caller]
        fn check(edges: &[&[usize]], together: &[&[usize]]) {
            let edges: Vec<Vec<usize>> = edges.iter().map(|callees| callees.to_vec()).collect();
            let component = components(&edges);
            for group in together {
                assert!(group.iter().all(|&at| component[at] == component[group[0]]), "{component:?}");
            }
            let mut firsts: Vec<usize> = together.iter().map(|group| component[group[0]]).collect();
            firsts.sort_unstable();
            firsts.dedup();
            assert_eq!(firsts.len(), together.len(), "{component:?}");
        }
        check(&[&[1], &[2], &[]], &[&[0], &[1], &[2]]);
        check(&[&[1], &[2], &[0]], &[&[0, 1, 2]]);
        check(&[&[1, 3], &[2], &[1], &[0, 4], &[]], &[&[0, 3], &[1, 2], &[4]]);
        check(&[&[0, 1], &[1]], &[&[0], &[1]]);
        check(&[&[1], &[2, 4], &[3], &[1], &[5], &[4, 2]], &[&[0], &[1, 2, 3, 4, 5]]);
    }
}
