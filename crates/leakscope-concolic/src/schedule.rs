//! Which decision to turn next: the nearest to the next mark, unless it was
//! turned often, and now and then one that leads to code nobody has seen.

use std::ops::Range;
use std::sync::Arc;

use leakscope_ir::FuncId;
use leakscope_solve::Term;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::knowledge::Knowledge;
use crate::places::{PlaceId, WayId};
use crate::reach::{Cost, Distances, NEVER, Reach};
use crate::solve::Run;
use crate::target::{Ended, TIMES_BITS};
use crate::trace::{Decision, Way};

/// An edge of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    pub place: PlaceId,
    pub way: Way,
    /// How deep the function calls itself.
    pub recursion: u8,
    /// Where the function was called: what a small one compares, its callers say.
    pub call: PlaceId,
    /// Which of the things that one call of `getopt` found.
    pub step: u8,
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub run: Arc<Run>,
    /// Which decision of the run, and which of its other ways.
    pub decision: usize,
    pub other: usize,
    pub edge: Edge,
    /// Of the path with the decision turned.
    pub path: u64,
    /// Of a path that a run for it must follow.
    pub expected: u64,
    /// Marks that are still to be passed behind it.
    pub missing: usize,
    /// And in its run as a whole: what the run passed later, one that differs
    /// here may pass too.
    pub missing_in_run: usize,
    /// Warned objects that its run had.
    pub objects_in_run: usize,
    /// To the next mark.
    pub distance: Cost,
    /// To a branch before the leak point of which one way was never gone, by what it reads.
    pub to_open: Cost,
    /// The function of the decision, if the next mark is outside of it: it
    /// matters only by what it leaves behind.
    pub leaves: Option<FuncId>,
}

impl Candidate {
    pub fn decision(&self) -> &Decision {
        &self.run.trace.decisions[self.decision]
    }

    /// What is to hold for it to go its other way.
    pub fn question(&self) -> Term {
        self.decision().others[self.other].1
    }

    /// Which decision to turn, and to which of its other ways.
    pub fn turn(&self) -> (usize, usize) {
        (self.decision, self.other)
    }
}

/// What a candidate is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    Nearest,
    /// The same, where each time that a run comes to a place counts for itself: what is new
    /// in the first message may be new again in the second.
    NearestInRound,
    /// To a branch before the leak point of which one way was never gone, whatever marks its run passed.
    NearestToOpen,
    Newest,
}

/// Candidates of one warning.
#[derive(Default)]
pub struct Schedule {
    candidates: Vec<Candidate>,
    /// How often edges were turned to.
    turned: FxHashMap<Edge, u32>,
    /// The same in each round of coming to their place.
    turned_in_round: FxHashMap<(Edge, u8), u32>,
    /// The same for each run.
    turned_in: FxHashMap<(usize, Edge), u32>,
    /// And for each lap of a loop.
    turned_at: FxHashMap<(Edge, u8), u32>,
    detour: Detour,
    /// Whether candidates were left out: what was not reached may be behind them.
    pub has_forgotten: bool,
}

/// Where what a branch reads is written that no run got past.
#[derive(Default)]
pub struct Detour {
    /// Of the branch.
    pub ways: Range<WayId>,
    pub writes: Vec<Arc<Distances>>,
    /// The branch itself, if it is one before the leak point of which runs went the other way.
    open: Option<Arc<Distances>>,
    /// How far it is to the nearest write behind an edge.
    near: FxHashMap<(PlaceId, Way), Cost>,
    /// Decisions of each run right behind which something was written.
    written: FxHashMap<usize, Vec<usize>>,
}

impl Detour {
    pub fn new(ways: Range<WayId>, writes: Vec<Arc<Distances>>, open: Option<Arc<Distances>>) -> Detour {
        Detour { ways, writes, open, ..Detour::default() }
    }

    /// Takes in a candidate: its edge, and its run.
    fn see(&mut self, reach: &Reach<'_>, candidate: &mut Candidate) {
        self.see_writes(reach, candidate);
        if let Some(branch) = &self.open {
            let Edge { place, way, .. } = candidate.edge;
            let (trace, stack) = (&candidate.run.trace, candidate.decision().stack);
            let after = |to: &Arc<Distances>| reach.after(to, place, way, trace.frames(stack));
            candidate.to_open = match self.writes.iter().map(after).min() {
                Some(write) if self.progress(candidate) == 0 => write.saturating_add(UNWRITTEN),
                _ => after(branch),
            };
        }
    }

    fn see_writes(&mut self, reach: &Reach<'_>, candidate: &Candidate) {
        if self.writes.is_empty() {
            return;
        }
        self.near(reach, candidate.edge.place, candidate.edge.way);
        if !self.written.contains_key(&candidate.run.number) {
            let decisions = candidate.run.trace.decisions.iter().enumerate();
            let writes =
                decisions.filter(|(_, decision)| self.near(reach, decision.place, decision.way) <= AT_WRITE);
            let written = writes.map(|(index, _)| index).take(MOST_WRITTEN).collect();
            self.written.insert(candidate.run.number, written);
        }
    }

    fn near(&mut self, reach: &Reach<'_>, place: PlaceId, way: Way) -> Cost {
        let writes = &self.writes;
        *self.near.entry((place, way)).or_insert_with(|| {
            writes.iter().map(|write| reach.down(write, place, way)).min().unwrap_or(NEVER)
        })
    }

    /// What it is worth that what the branch reads was written before a decision: a
    /// counter counts, and one write may need another.
    fn progress(&self, candidate: &Candidate) -> u64 {
        let written = self.written.get(&candidate.run.number);
        let before = written.map_or(0, |written| written.partition_point(|&at| at < candidate.decision));
        WRITTEN * before as u64
    }

    /// What it is worth to turn to an edge: more in a run that came to the
    /// branch.
    fn worth(&self, Edge { place, way, .. }: Edge, run: &Run) -> u64 {
        let Some(&near) = self.near.get(&(place, way)).filter(|&&near| near < DETOUR) else { return 0 };
        let from = run.trace.coverage.partition_point(|gone| gone >> TIMES_BITS < self.ways.start);
        let came = run.trace.coverage.get(from).is_some_and(|gone| gone >> TIMES_BITS < self.ways.end);
        u64::from(DETOUR - near) * if came { DETOUR_STEP } else { DETOUR_STEP / 2 }
    }
}

/// More are dropped, the worst first.
const MOST: usize = 40_000;

/// More than all that can speak for a candidate.
const BASE: u64 = 256;

/// Counts as so many branches: a mark that is missing, an edge that is known,
/// each doubling of the times it was turned.
const MARK: u64 = 64;
const KNOWN: u64 = 6;
const AGAIN: u64 = 8;

/// And each time it was turned in the same run: where a long word ends is one
/// question, whichever of its bytes is asked.
const CROWD: u64 = 2;

/// Writes of what a branch reads count from so many branches away, each so much.
const DETOUR: Cost = 5;
const DETOUR_STEP: u64 = 6;

/// A write at most so far behind a decision came of it.
const AT_WRITE: Cost = 1;

/// Each write that came before, up to a few.
const WRITTEN: u64 = 8;
const MOST_WRITTEN: usize = 4;

/// Where none came yet, so much further is it to a branch of which one way is open.
const UNWRITTEN: Cost = 16;

/// Each doubling of the turns in a function that changed nothing outside of it.
const IDLE: u64 = 8;

/// A run that took no way that was new.
const STALE: u64 = 10;

/// Each object less than a few: many are lost to another of their kind.
const OBJECT: u64 = 6;
const FEW_OBJECTS: usize = 3;

/// Back to what a run lost when it was guessed from another: a checksum that was
/// right before a byte behind it was changed.
const LOST: u64 = 48;

/// A call that is made to fail, for each that fails already.
const FAILS: u64 = 16;

/// A run in which calls fail, for each of them, and one that crashed then: it was not ready for that.
const FAILED: u64 = 8;
const CRASHED: u64 = 48;

impl Schedule {
    pub fn push(&mut self, mut candidate: Candidate, reach: &Reach<'_>) {
        self.detour.see(reach, &mut candidate);
        self.candidates.push(candidate);
    }

    /// Goes by other writes from now on.
    pub fn go_by(&mut self, detour: Detour, reach: &Reach<'_>) {
        self.detour = detour;
        for candidate in &mut self.candidates {
            self.detour.see(reach, candidate);
        }
    }

    /// Whether some branch before the leak point went one way only.
    pub fn has_open_way(&self) -> bool {
        self.detour.open.is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// The best candidate, and others of the same run that are nearly as good,
    /// in the order of the path.
    pub fn take(&mut self, rank: Rank, known: &Knowledge, most: usize) -> Vec<Candidate> {
        if self.candidates.len() > MOST {
            self.shrink(known);
        }
        let all = self.candidates.iter().enumerate();
        let scored = all.map(|(index, candidate)| (index, self.score(candidate, rank, known)));
        let Some((first, best)) = scored.min_by_key(|&(_, score)| score) else { return Vec::new() };
        let run = self.candidates[first].run.clone();
        let is_of_run = |index: &usize| Arc::ptr_eq(&self.candidates[*index].run, &run);
        let mut same: Vec<usize> = (0..self.candidates.len()).filter(is_of_run).collect();
        let mut taken = vec![first];
        self.note_turn(first);
        while taken.len() < most {
            same.retain(|index| !taken.contains(index));
            let scored = same.iter().map(|&index| (index, self.score(&self.candidates[index], rank, known)));
            match scored.min_by_key(|&(_, score)| score) {
                Some((next, score)) if score <= best + AGAIN => {
                    taken.push(next);
                    self.note_turn(next);
                }
                _ => break,
            }
        }
        // The order of the rest is that of their making: it breaks ties.
        taken.sort_unstable_by_key(|&index| std::cmp::Reverse(index));
        let mut taken: Vec<Candidate> =
            taken.into_iter().map(|index| self.candidates.remove(index)).collect();
        taken.sort_by_key(|candidate| (candidate.decision, candidate.other));
        taken
    }

    fn note_turn(&mut self, index: usize) {
        let candidate = &self.candidates[index];
        *self.turned.entry(candidate.edge).or_default() += 1;
        *self.turned_in_round.entry((candidate.edge, candidate.decision().round())).or_default() += 1;
        *self.turned_in.entry((candidate.run.number, candidate.edge)).or_default() += 1;
        *self.turned_at.entry((candidate.edge, candidate.decision().lap)).or_default() += 1;
    }

    fn score(&self, candidate: &Candidate, rank: Rank, known: &Knowledge) -> u64 {
        let worth = self.detour.worth(candidate.edge, &candidate.run);
        let in_round = (candidate.edge, candidate.decision().round());
        // What is written may depend on when.
        let turned = if worth > 0 {
            self.turned_at.get(&(candidate.edge, candidate.decision().lap))
        } else if rank == Rank::NearestInRound {
            self.turned_in_round.get(&in_round)
        } else {
            self.turned.get(&candidate.edge)
        };
        let turned = turned.copied().unwrap_or(0);
        // In a run that went new ways every decision is worth a turn.
        let again = if candidate.run.is_new { AGAIN / 2 } else { AGAIN } * u64::from((turned + 1).ilog2());
        let in_run = self.turned_in.get(&(candidate.run.number, candidate.edge)).copied().unwrap_or(0);
        let again = again + CROWD * u64::from(in_run);
        let depth = u64::from((candidate.decision as u32 + 1).ilog2());
        let is_known = match rank {
            Rank::NearestInRound => known.edges_in_rounds.contains(&in_round),
            Rank::Nearest | Rank::NearestToOpen | Rank::Newest => known.edges.contains(&candidate.edge),
        };
        // A function that writes what the next branch reads is not idle, and what none has tried there
        // may be the one way that matters: a checksum that is right.
        let was_tried = known.edges.contains(&candidate.edge) || self.turned.contains_key(&candidate.edge);
        let idle = candidate.leaves.filter(|_| worth == 0 && was_tried);
        let idle = idle.map_or(0, |function| IDLE * known.influence.idleness(function));
        match rank {
            Rank::Nearest | Rank::NearestInRound | Rank::NearestToOpen => {
                let missing = MARK / 2 * (candidate.missing + candidate.missing_in_run) as u64;
                let known = if is_known { KNOWN } else { 0 };
                // What a failure leads to is for the candidates behind it; all others are in the run
                // that had none.
                let failed = FAILED * candidate.run.input.fails.len() as u64;
                let crashed = match candidate.run.trace.ended {
                    Ended::Signal(_) if !candidate.run.input.fails.is_empty() => CRASHED,
                    _ => 0,
                };
                let fails = match candidate.edge.way {
                    Way::Fails(_) => FAILS * (1 + candidate.run.input.fails.len() as u64),
                    _ => 0,
                } + failed
                    + crashed;
                let stale = if candidate.run.is_new { 0 } else { STALE };
                let lonely = OBJECT * FEW_OBJECTS.saturating_sub(candidate.objects_in_run) as u64;
                let far = match rank {
                    Rank::NearestToOpen => u64::from(candidate.to_open),
                    _ => missing + u64::from(candidate.distance),
                };
                let score = far + known + again + idle + fails + stale + lonely + depth / 2;
                let lost = if candidate.run.lost.contains(&candidate.edge) { LOST } else { 0 };
                (BASE + score).saturating_sub(worth + lost + self.detour.progress(candidate))
            }
            Rank::Newest => (if is_known { 1_000_000 } else { 0 }) + 100 * (again + idle) + depth,
        }
    }

    /// Takes the best score of each run's candidates into `scores`.
    pub fn best_of_runs(&self, known: &Knowledge, scores: &mut FxHashMap<usize, u64>) {
        for candidate in &self.candidates {
            let score = self.score(candidate, Rank::Nearest, known);
            let best = scores.entry(candidate.run.number).or_insert(score);
            *best = score.min(*best);
        }
    }

    /// Drops all candidates of these runs.
    pub fn forget(&mut self, runs: &FxHashSet<usize>) {
        let before = self.candidates.len();
        self.candidates.retain(|candidate| !runs.contains(&candidate.run.number));
        self.has_forgotten |= self.candidates.len() < before;
    }

    fn shrink(&mut self, known: &Knowledge) {
        let mut scored: Vec<(u64, usize)> = self
            .candidates
            .iter()
            .enumerate()
            .map(|(index, candidate)| (self.score(candidate, Rank::Nearest, known), index))
            .collect();
        scored.sort_unstable();
        let kept: FxHashSet<usize> = scored.into_iter().take(MOST / 2).map(|(_, index)| index).collect();
        self.has_forgotten = true;
        let mut index = 0;
        self.candidates.retain(|_| {
            index += 1;
            kept.contains(&(index - 1))
        });
    }
}
