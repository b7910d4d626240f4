//! Takes out the deaths of pointers that cannot be a block's last.
//!
//! Of the locals that hold a pointer, and pointers made from it by steps, only
//! the last to die can be the block's last. So a death goes if on every way on
//! another local dies whose pointer has the same root: the same value in
//! registers, before steps. A place that gets a pointer with the root of the
//! one that it had is walked along a block, which it goes on holding. (What two
//! values have in common only when the program runs is the runtime's business.)
//!
//! Works when locals have become registers and the guards are not yet inlined.

use std::collections::{HashMap, HashSet};

use crate::builder::Builder;
use crate::ir::{Opcode, Value};
use crate::later::{Later, Ways};
use crate::llvm::{Function, Module};
use crate::roots::Roots;

/// A pointer that dies: its root, and since when it was held.
type Held<'m> = (Value<'m>, Value<'m>);

pub fn remove(module: &Module<'_>) {
    let builder = Builder::new(module);
    for function in module.bodies() {
        let guards: Vec<Value<'_>> = function.instructions().filter(|at| death(*at).is_some()).collect();
        if guards.is_empty() {
            continue;
        }
        let roots = Roots::of(function);
        let mut gone = HashSet::new();
        let mut deaths = HashMap::new();
        for &at in &guards {
            let Some(Death { kept, since }) = death(at) else { continue };
            let root = |argument: u32| roots.root(at.operand(argument));
            let old = root(0);
            let since = since.map(root);
            // Nothing dies where a local gets its first value, and what a function
            // was given is the caller's, unless it may have it since ever.
            let is_given = old.is_parameter() && since.is_some_and(|since| !may_be_zero(since));
            if old == builder.null() || is_given || kept.is_some_and(|kept| root(kept) == old) {
                gone.insert(at);
            } else if let Some(since) = since {
                deaths.insert(at, (old, since));
            }
        }
        gone.extend(superseded(function, &deaths));
        for at in guards.into_iter().filter(|at| gone.contains(at)) {
            let now = at.arguments().last().expect("a guard is given the clock");
            builder.replace_instruction(at, now);
        }
    }
}

fn may_be_zero(moment: Value<'_>) -> bool {
    let is_zero = |value: Value<'_>| value.integer() == Some(0);
    is_zero(moment) || moment.is(Opcode::LLVMSelect) && moment.operands().any(is_zero)
}

/// Which arguments of a guard, whose first is the pointer that dies, say what
/// takes its place and since when it was held.
struct Death {
    kept: Option<u32>,
    since: Option<u32>,
}

fn death(guard: Value<'_>) -> Option<Death> {
    match guard.called_name()? {
        "leakscope.overwritten" => Some(Death { kept: Some(2), since: None }),
        "leakscope.ends" => Some(Death { kept: None, since: Some(2) }),
        "leakscope.dies" => Some(Death { kept: Some(3), since: Some(4) }),
        _ => None,
    }
}

/// The deaths after which, on every way, another of the same follows.
fn superseded<'m>(function: Function<'m>, deaths: &HashMap<Value<'m>, Held<'m>>) -> HashSet<Value<'m>> {
    let mut gone = HashSet::new();
    if deaths.len() < 2 {
        return gone;
    }
    let mut step = |at: Value<'m>, later: &mut HashSet<Held<'m>>| {
        if deaths.get(&at).is_some_and(|&held| !later.insert(held)) {
            gone.insert(at);
        } else {
            gone.remove(&at);
        }
        later.retain(|&(root, since)| root != at && since != at);
    };
    Later::find(function, Ways::Returning, &mut step);
    gone
}
