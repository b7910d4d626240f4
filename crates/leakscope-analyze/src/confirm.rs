//! Each leak once more, by one case alone: depth first, without joins, along
//! the branches that were noted. The path of a warning is then the way of one
//! case, which does not contradict itself; a leak that came only from joined
//! cases has none, and is dropped if all ways were tried.

use std::sync::Arc;

use leakscope_ir::{BlockId, FuncId, Spot, ValueId};

use crate::case::{Case, Mark};
use crate::leaks::Leak;
use crate::scope::Origin;
use crate::simulate::{Bounds, MAX_CASES, Options, Simulated, Summaries, simulate_with};
use crate::summary::Step;
use crate::world::World;

/// Times that one way comes to the same block.
const TURNS: usize = 2;
/// Work for one leak, and more for each block.
const WORK: usize = 20_000;
const WORK_PER_BLOCK: usize = 100;

/// The leak that is looked for.
#[derive(Clone, Copy)]
pub struct Target<'t> {
    /// The instruction that brings the block, and where it comes from.
    pub value: ValueId,
    pub origin: &'t Arc<Origin>,
    pub at: Spot,
    /// Branches that were noted.
    pub path: &'t [Step],
}

/// A search under way.
pub struct Search<'t> {
    pub target: Target<'t>,
    open: Vec<(BlockId, Case)>,
    pub found: Option<Leak>,
    /// Some ways were not followed to their end.
    pub is_bounded: bool,
}

impl<'t> Search<'t> {
    pub fn new(target: Target<'t>) -> Search<'t> {
        Search { target, open: Vec::new(), found: None, is_bounded: false }
    }

    pub fn work(blocks: usize) -> usize {
        WORK + WORK_PER_BLOCK * blocks
    }

    /// A case comes to the start of a block.
    pub fn arrive(&mut self, block: BlockId, mut case: Case) {
        if case.visited.iter().filter(|visited| **visited == block).count() >= TURNS {
            self.is_bounded = true;
            return;
        }
        case.visited.push(block);
        self.open.push((block, case));
    }

    /// The next case to follow. Of those that came since there were `before`,
    /// the one that keeps most to the path goes first.
    pub fn next(&mut self, before: usize) -> Option<(BlockId, Case)> {
        let path = self.target.path;
        let before = before.min(self.open.len());
        self.open[before..].sort_by_key(|(_, case)| agreement(path, case.path.as_deref()));
        self.open.pop()
    }

    pub fn open(&self) -> usize {
        self.open.len()
    }
}

/// How much the newest mark of a way is as the path has it.
fn agreement(path: &[Step], newest: Option<&Mark>) -> isize {
    let has = |at: Spot, ordinal: u32, is_taken: bool| {
        let is_there = |step: &Step| (step.at, step.ordinal, step.is_taken) == (at, ordinal, is_taken);
        if path.iter().any(is_there) { 1 } else { -1 }
    };
    match newest {
        None => 0,
        Some(Mark { inner: Some(inner), .. }) => {
            inner.iter().map(|step| has(step.at, step.ordinal, step.is_taken)).sum()
        }
        Some(mark) => has(mark.at, mark.ordinal, mark.is_taken),
    }
}

/// Gives every leak of a procedure the path of one case.
pub fn confirm_leaks(
    world: &World,
    summaries: &dyn Summaries,
    id: FuncId,
    options: &Options,
    simulated: &mut Simulated,
) {
    let sites = &simulated.scope.sites;
    simulated.leaks.retain(|&site, leak| {
        let target =
            Target { value: sites.at[site], origin: &sites.origins[site], at: leak.at, path: &leak.path };
        let bounds = Bounds { max_cases: MAX_CASES[0], target: Some(target), ..Bounds::default() };
        let search = simulate_with(world, summaries, id, options, &bounds);
        match search.confirmed {
            Some(found) => {
                leak.path = found.path;
                true
            }
            None => search.is_cut,
        }
    });
}
