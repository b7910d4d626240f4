//! Each leak once more, by one case alone: depth first, without joins, along
//! the branches that were noted. The path of a warning is then the way of one
//! case, which does not contradict itself; a leak that came only from joined
//! cases has none, and is dropped. A loop is gone round twice; what comes to its
//! head then is widened, and stands for all further turns.

use std::collections::VecDeque;
use std::sync::Arc;

use leakscope_core::Cause;
use leakscope_ir::{Block, BlockId, Body, FuncId, Spot, ValueId};
use rustc_hash::FxHashMap;

use crate::case::{Case, Mark};
use crate::flow::{Flow, leading_to};
use crate::join::{Growth, Property, join};
use crate::leaks::Leak;
use crate::scope::{Origin, Scope};
use crate::simulate::{Bounds, Memory, Options, Simulated, Summaries, simulate_with};
use crate::summary::Step;
use crate::value::{Base, Point, Value};
use crate::world::World;

/// Times that one way comes to the same block in one turn of the loops around
/// it.
const TURNS: usize = 2;
/// The same where what comes to the head of the loop is another thing each
/// time.
const MAX_TURNS: usize = 4;
/// Work for one leak, and more for each block.
const WORK: usize = 100_000;
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
    /// As it was simulated.
    pub memory: Memory,
}

/// Places of one leak that are tried.
const MAX_PLACES: usize = 4;
/// Cases of one block that others are compared with.
const MAX_SEEN: usize = 8;

/// A search under way.
pub struct Search<'t> {
    pub target: Target<'t>,
    /// By block, whether it leads to where the block comes to be, and to where
    /// it is lost.
    to_birth: Vec<bool>,
    to_loss: Vec<bool>,
    open: Vec<(BlockId, Case)>,
    /// By block, cases that were followed from there.
    seen: FxHashMap<BlockId, VecDeque<(Property, Case)>>,
    /// Work for comparisons with these.
    pub compared: usize,
    pub found: Option<Leak>,
    /// Some ways were not followed to their end.
    pub is_bounded: bool,
}

impl<'t> Search<'t> {
    pub fn new(target: Target<'t>, body: &Body, flow: &Flow) -> Search<'t> {
        let birth = flow.block_of[target.value.0 as usize];
        let is_loss = |block: &Block| {
            block.end_at == target.at || block.instructions.iter().any(|made| made.at == target.at)
        };
        Search {
            target,
            to_birth: leading_to(body, |id, _| id == birth),
            to_loss: leading_to(body, |_, block| is_loss(block)),
            open: Vec::new(),
            seen: FxHashMap::default(),
            compared: 0,
            found: None,
            is_bounded: false,
        }
    }

    pub fn work(blocks: usize) -> usize {
        WORK + WORK_PER_BLOCK * blocks
    }

    /// Whether what is looked for can still happen from a block on, to a case
    /// that has a block to lose or, as `is_under_way` says, none.
    pub fn is_ahead(&self, block: BlockId, case: &Case, is_under_way: bool) -> bool {
        let at = self.target.at;
        let is_noted = || case.left_at == Some(at) || case.pending.iter().any(|pending| pending.at == at);
        let block = block.0 as usize;
        // What could not be made larger may be lost without having come to be.
        self.to_birth[block] || case.refused.len() > 0 || is_under_way && (self.to_loss[block] || is_noted())
    }

    /// A case comes to the start of a block, with the heads of the loops around
    /// it.
    pub fn arrive(&mut self, block: BlockId, loops: &[BlockId], mut case: Case, scope: &mut Scope) {
        let is_outer = |visited: &&BlockId| **visited != block && loops.contains(visited);
        let turn = case.visited.iter().rev().take_while(|visited| !is_outer(visited));
        let turns = turn.filter(|visited| **visited == block).count();
        if loops.first() == Some(&block) {
            if turns == 0 {
                case.heads.retain(|(head, _)| *head != block);
                case.widened.retain(|head| *head != block);
            } else if case.widened.contains(&block) {
                return;
            } else if turns >= TURNS && widen(block, &mut case, scope) {
                case.widened.push(block);
            }
            let known = Arc::new(Case { heads: Vec::new(), visited: Vec::new(), ..case.clone() });
            case.heads.retain(|(head, _)| *head != block);
            case.heads.push((block, known));
        }
        if turns > MAX_TURNS {
            self.is_bounded = true;
            return;
        }
        if self.is_covered(block, &case, scope) {
            return;
        }
        case.visited.push(block);
        self.open.push((block, case));
    }

    /// Whether a case that was followed from this block stands for the one at
    /// hand too.
    fn is_covered(&mut self, block: BlockId, case: &Case, scope: &mut Scope) -> bool {
        let seen = self.seen.entry(block).or_default();
        let property = Property::of(case, scope);
        let point = Point::Block(block);
        let is_covered = seen.iter().any(|(known_property, known)| {
            *known_property == property && !are_apart(known, case) && {
                self.compared += case.size();
                !join(&mut known.clone(), case.clone(), scope, point, Growth::Free)
            }
        });
        if !is_covered {
            seen.push_back((property, Case { visited: Vec::new(), heads: Vec::new(), ..case.clone() }));
            if seen.len() > MAX_SEEN {
                seen.pop_front();
            }
        }
        is_covered
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

/// Whether one case cannot stand for another, for what it knows for certain is
/// something else there.
fn are_apart(known: &Case, case: &Case) -> bool {
    let is_certain = |value: &Value| match value {
        Value::Int(_) => true,
        Value::Sum(base, _) => !matches!(base, Base::Symbol(_)),
        _ => false,
    };
    known.env.len() != case.env.len()
        || known
            .env
            .iter()
            .zip(&case.env)
            .any(|(own, other)| own.0 != other.0 || is_certain(&own.1) && own.1 != other.1)
}

/// Makes of a case at the head of a loop one that stands for all turns to come;
/// whether that is possible, for the turn before must agree on the property.
fn widen(head: BlockId, case: &mut Case, scope: &mut Scope) -> bool {
    let Some((_, before)) = case.heads.iter().find(|(known, _)| *known == head) else { return false };
    let mut all = Case::clone(before);
    if Property::of(&all, scope) != Property::of(case, scope) {
        return false;
    }
    let latest = case.clone();
    join(&mut all, std::mem::take(case), scope, Point::Block(head), Growth::Widened);
    let Case { path, visited, heads, widened, left_at, flight, .. } = latest;
    *case = Case { path, visited, heads, widened, left_at, flight, ..all };
    true
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

/// Gives every leak of a procedure, simulated as `with` says, the path of one
/// case.
pub fn confirm_leaks(
    world: &World,
    summaries: &dyn Summaries,
    id: FuncId,
    options: &Options,
    with: &Bounds,
    simulated: &mut Simulated,
) {
    let (sites, memory, flow) = (&simulated.scope.sites, simulated.memory, simulated.flow.as_ref());
    let followed = &mut simulated.followed;
    simulated.leaks.retain(|&site, leak| {
        let mut is_cut = false;
        let places = [(leak.at, leak.cause, leak.variable.clone())].into_iter().chain(leak.others.clone());
        for (number, (at, cause, variable)) in places.take(MAX_PLACES).enumerate() {
            let (value, origin) = (sites.at[site], &sites.origins[site]);
            // What was in memory may have been others' to see to.
            let memory = match cause {
                Cause::Overwritten | Cause::HolderFreed => memory,
                _ => Memory::Followed,
            };
            let target = Target { value, origin, at, path: &leak.path, memory };
            let bounds = Bounds { target: Some(target), flow, ..*with };
            let search = simulate_with(world, summaries, id, options, &bounds);
            is_cut |= search.is_cut;
            followed.extend(search.followed);
            if let Some(found) = search.confirmed {
                let others = leak.others.split_off(number.min(leak.others.len()));
                // Where ways meet there is no line; the way came from a branch.
                let branch = found.path.iter().rev().find(|step| step.function == id);
                let at = branch.filter(|_| at.line == 0).map_or(at, |step| step.at);
                // The call is the same, however its block was held.
                let (inner, variable) = match (found.inner.is_empty(), number) {
                    (false, _) => (found.inner, found.variable),
                    (true, 0) => (std::mem::take(&mut leak.inner), variable),
                    (true, _) => (Vec::new(), variable),
                };
                let path = found.path;
                let refused_by = found.refused_by;
                *leak = Leak { at, inner, cause, variable, path, others, refused_by, ..leak.clone() };
                return true;
            }
        }
        options.pedantic && is_cut
    });
}
