//! What comes on every way from a place in a function on.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::ir::{Block, Opcode, Value};
use crate::llvm::Function;

/// By block, what comes on every way from its start on.
pub struct Later<'m, T>(HashMap<Block<'m>, HashSet<T>>);

/// The ways that count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// Those that return.
    Returning,
    /// Those that end by a call that does not return, or never, as well.
    All,
}

impl<'m, T: Copy + Eq + Hash> Later<'m, T> {
    /// `step` makes of what comes after an instruction what comes from it on.
    pub fn find(
        function: Function<'m>,
        ways: Ways,
        mut step: impl FnMut(Value<'m>, &mut HashSet<T>),
    ) -> Later<'m, T> {
        let blocks: Vec<Block<'m>> = function.blocks().collect();
        let mut found = Later(HashMap::new());
        found.settle(&blocks, &mut step);
        let others: Vec<Block<'m>> =
            blocks.iter().copied().filter(|block| !found.0.contains_key(block)).collect();
        if ways == Ways::All && !others.is_empty() {
            found.0.extend(others.into_iter().map(|block| (block, HashSet::new())));
            found.settle(&blocks, &mut step);
        }
        found
    }

    fn settle(&mut self, blocks: &[Block<'m>], mut step: impl FnMut(Value<'m>, &mut HashSet<T>)) {
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for &block in blocks.iter().rev() {
                let Some(mut later) = self.at_end(block) else { continue };
                backwards(block).for_each(|at| step(at, &mut later));
                if self.0.get(&block) != Some(&later) {
                    self.0.insert(block, later);
                    is_settled = false;
                }
            }
        }
    }

    pub fn is_at_start(&self, block: Block<'m>, what: T) -> bool {
        self.0.get(&block).is_some_and(|later| later.contains(&what))
    }

    /// What comes on every way from the end of a block on; `None` if no way is
    /// known.
    pub fn at_end(&self, block: Block<'m>) -> Option<HashSet<T>> {
        let terminator = block.terminator()?;
        if terminator.is(Opcode::LLVMRet) {
            return Some(HashSet::new());
        }
        let mut ways = terminator.successors().filter_map(|next| self.0.get(&next));
        let first = ways.next()?.clone();
        Some(ways.fold(first, |all, next| all.intersection(next).copied().collect()))
    }
}

/// The instructions of a block, the last first.
pub fn backwards<'m>(block: Block<'m>) -> impl Iterator<Item = Value<'m>> {
    block.instructions().collect::<Vec<_>>().into_iter().rev()
}
