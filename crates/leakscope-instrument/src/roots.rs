//! What pointers were made from.

use std::collections::{HashMap, HashSet};

use crate::ir::{Block, Opcode, Value};
use crate::llvm::Function;

/// What values were made from: pointers by steps, and values that come from
/// several blocks. Of those that come to a block from the same roots by the
/// same ways, the first stands for all.
pub struct Roots<'m> {
    phis: HashMap<Value<'m>, Value<'m>>,
}

impl<'m> Roots<'m> {
    pub fn of(function: Function<'m>) -> Roots<'m> {
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
                    let root = only_root(phi).or_else(|| roots.walked_from(phi)).unwrap_or(*first);
                    // No two are made from each other.
                    let is_round = roots.root(root) == phi;
                    roots.phis.insert(phi, if is_round { phi } else { root });
                }
            }
        }
        roots
    }

    /// What a phi goes on from, if it is that or itself, some steps further.
    fn walked_from(&self, phi: Value<'m>) -> Option<Value<'m>> {
        let mut others = phi.operands().map(|value| self.root(value)).filter(|&root| root != phi);
        let first = others.next()?;
        others.all(|other| other == first).then_some(first)
    }

    pub fn root(&self, value: Value<'m>) -> Value<'m> {
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
