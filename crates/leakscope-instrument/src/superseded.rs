//! Takes out the deaths of locals that a later one makes needless.
//!
//! Of the locals that hold a pointer, and pointers made from it by steps, only
//! the last to die can be the block's last. So a death goes if on every way on
//! another local dies whose pointer has the same root: the same value in
//! registers, before steps. (What two values have in common only when the
//! program runs is the runtime's business.)
//!
//! Works when locals have become registers and the guards are not yet inlined.

use std::collections::{HashMap, HashSet};

use crate::builder::Builder;
use crate::ir::Value;
use crate::later::{Later, Ways};
use crate::llvm::{Function, Module};
use crate::roots::Roots;

/// A pointer that dies: its root, and since when it was held.
type Held<'m> = (Value<'m>, Value<'m>);

const GUARDS: [&str; 2] = ["leakscope.ends", "leakscope.dies"];

pub fn remove(module: &Module<'_>) {
    let builder = Builder::new(module);
    for function in module.bodies() {
        let is_guard = |at: &Value<'_>| at.called_name().is_some_and(|name| GUARDS.contains(&name));
        let guards: Vec<Value<'_>> = function.instructions().filter(is_guard).collect();
        if guards.is_empty() {
            continue;
        }
        let roots = Roots::of(function);
        let deaths: HashMap<Value<'_>, Held<'_>> = guards.iter().map(|&at| (at, held(&roots, at))).collect();
        let superseded = superseded(function, &deaths);
        for at in guards {
            // Nothing dies where a local gets its first value, and what a function
            // was given is the caller's, unless it has it since ever.
            let (root, since) = deaths[&at];
            let is_none = root == builder.null() || root.is_parameter() && since.integer() != Some(0);
            if is_none || superseded.contains(&at) {
                let now = at.arguments().last().expect("a guard is given the clock");
                builder.replace_instruction(at, now);
            }
        }
    }
}

/// What dies at a guard.
fn held<'m>(roots: &Roots<'m>, guard: Value<'m>) -> Held<'m> {
    let since = if guard.called_name() == Some("leakscope.ends") { 2 } else { 4 };
    (roots.root(guard.operand(0)), roots.root(guard.operand(since)))
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
