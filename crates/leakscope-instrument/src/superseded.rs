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
use crate::ir::{Block, Opcode, Value};
use crate::llvm::{Function, Module};

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
    let blocks: Vec<Block<'m>> = function.blocks().collect();
    // What dies on every way from the start of a block on; nothing is known
    // of a block that was not looked at.
    let mut starts: HashMap<Block<'m>, HashSet<Held<'m>>> = HashMap::new();
    let mut gone = HashSet::new();
    let mut is_settled = deaths.len() < 2;
    while !is_settled {
        is_settled = true;
        gone.clear();
        for &block in blocks.iter().rev() {
            let Some(mut later) = at_end(block, &starts) else { continue };
            let instructions: Vec<Value<'m>> = block.instructions().collect();
            for at in instructions.into_iter().rev() {
                if deaths.get(&at).is_some_and(|&held| !later.insert(held)) {
                    gone.insert(at);
                }
                later.retain(|&(root, since)| root != at && since != at);
            }
            if starts.get(&block) != Some(&later) {
                starts.insert(block, later);
                is_settled = false;
            }
        }
    }
    gone
}

/// What dies on every way from the end of a block on; `None` if no way is
/// known.
fn at_end<'m>(block: Block<'m>, starts: &HashMap<Block<'m>, HashSet<Held<'m>>>) -> Option<HashSet<Held<'m>>> {
    let terminator = block.terminator()?;
    if terminator.is(Opcode::LLVMRet) {
        return Some(HashSet::new());
    }
    let mut ways = terminator.successors().filter_map(|next| starts.get(&next));
    let first = ways.next()?.clone();
    Some(ways.fold(first, |all, next| all.intersection(next).copied().collect()))
}

/// What values were made from: pointers by steps, and values that come from
/// several blocks. Of those that come to a block from the same roots by the
/// same ways, the first stands for all.
struct Roots<'m> {
    phis: HashMap<Value<'m>, Value<'m>>,
}

impl<'m> Roots<'m> {
    fn of(function: Function<'m>) -> Roots<'m> {
        // One that is made from another's root may need that one's first.
        const ROUNDS: u32 = 3;
        let mut roots = Roots { phis: HashMap::new() };
        for _ in 0..ROUNDS {
            for block in function.blocks() {
                let mut first: HashMap<Vec<(Block<'m>, Value<'m>)>, Value<'m>> = HashMap::new();
                for phi in block.instructions().take_while(|at| at.is(Opcode::LLVMPHI)) {
                    let mut ways: Vec<(Block<'m>, Value<'m>)> =
                        phi.incoming().map(|(block, value)| (block, roots.root(value))).collect();
                    ways.sort_by_key(|(block, _)| block.raw as usize);
                    let first = first.entry(ways).or_insert(phi);
                    roots.phis.insert(phi, only_root(phi).unwrap_or(*first));
                }
            }
        }
        roots
    }

    fn root(&self, value: Value<'m>) -> Value<'m> {
        let mut at = value;
        loop {
            at = match at.opcode() {
                Some(Opcode::LLVMGetElementPtr | Opcode::LLVMFreeze) => at.operand(0),
                _ => match self.phis.get(&at) {
                    Some(&root) if root != at => root,
                    _ => return at,
                },
            };
        }
    }
}

/// The one root of all that a phi may be, as far as phis lead.
fn only_root(phi: Value<'_>) -> Option<Value<'_>> {
    let (mut seen, mut open, mut only) = (HashSet::new(), vec![phi], None);
    while let Some(at) = open.pop() {
        match at.opcode() {
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMFreeze) => open.push(at.operand(0)),
            Some(Opcode::LLVMPHI) if seen.insert(at) => open.extend(at.operands()),
            Some(Opcode::LLVMPHI) => {}
            _ if only.is_none_or(|root| root == at) => only = Some(at),
            _ => return None,
        }
    }
    only
}
