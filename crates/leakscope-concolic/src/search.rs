//! The search for inputs that follow warnings: algorithm 1, with the branches
//! ranked by distance, and every run read for every warning.
//!
//! Work goes in rounds. Which decisions a round turns is settled before it
//! begins and does not depend on how many threads there are, so the same seed
//! gives the same runs; only limits of time can make a difference.

mod first;
mod forget;
mod round;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leakscope_ir::Program;
use leakscope_solve::{Limits, Model};
use leakscope_wire::symbolic::PlaceKind;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use self::forget::Held;
use crate::ConcolicError;
use crate::automaton::Automaton;
use crate::crossing::Crossing;
use crate::evidence::{Outcome, Stop};
use crate::influence::Influence;
use crate::input::{Bounds, Input};
use crate::journal::Journal;
use crate::knowledge::Knowledge;
use crate::objects::{objects, were_lost_before};
use crate::places::{PlaceId, Places};
use crate::pursuit::Pursuit;
use crate::reach::frontier::Frontiers;
use crate::reach::{Distances, Reach};
use crate::schedule::{Detour, Schedule};
use crate::solve::{Run, SolverChoice, Turned};
use crate::target::{Ended, Record, Target};
use crate::trace::Trace;
use crate::verdict::{Fate, Leak, Leaks, Tally};
use crate::warning::{Spot, Warning};

/// What bounds a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// For each warning.
    pub runs: u32,
    pub time: Duration,
    /// Runs that end without a leak after the path was followed, before the
    /// verdict is given; the last half of them without anything new.
    pub enough: u32,
    pub jobs: usize,
    /// Bytes that this process may take, about: runs that are held, solvers and
    /// all else.
    pub memory: usize,
    /// Orders inputs that are equally good.
    pub seed: u64,
    pub bounds: Bounds,
    pub limits: Limits,
    pub solver: SolverChoice,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            runs: 1000,
            time: Duration::from_secs(60),
            enough: 500,
            jobs: std::thread::available_parallelism().map_or(1, Into::into),
            memory: 1 << 30,
            seed: 0,
            bounds: Bounds::default(),
            limits: Limits::default(),
            solver: SolverChoice::default(),
        }
    }
}

/// What a search is about.
pub struct Subject<'a> {
    pub program: &'a Program,
    pub places: &'a Places,
    pub warnings: &'a [Warning],
    /// The same warnings in the numbers of the places.
    pub automata: &'a [Automaton],
    pub target: &'a dyn Target,
    /// What becomes of the warned object for an input that does not free it.
    pub fate: &'a (dyn Fn(&Warning, &Input) -> Fate + Sync),
}

/// Where the objects that a run left were lost, as a warning sees it.
#[derive(PartialEq, Eq)]
enum Belongs {
    Here,
    /// Before they came to the leak point.
    Before,
    Elsewhere,
    /// Here, or where the run came to the leak points of these warnings about the same allocation. With none
    /// of them it is here, but how it was lost is not known: a run that may be theirs shows more.
    HereOrAt(Vec<usize>),
}

/// What is told while the search goes on.
#[derive(Clone, Debug)]
pub enum News<'a> {
    Runs(u32),
    Verdict(usize, &'a Outcome),
}

/// Who is told.
pub type Teller<'t> = &'t mut (dyn FnMut(News<'_>) + Send);

/// A search goes on for so many runs when only another way than the warning's
/// is known to leak.
const AFTER_OTHER_WAY: u32 = 100;

/// A search goes on for so many runs after the path was first followed, however
/// late that was: what frees an object once may not free a second one.
const AFTER_PATH: u32 = 100;

/// Leaks of one warning whose places are looked for, the last ones only of runs that went a new way; lines
/// between such a place and the leak point that a tool names for it; and where the path's own object is not
/// among those left.
const MOST_LOCATED: u32 = 400;
const MOST_ALIKE: u32 = 200;
const NEAR: u32 = 1;
const NEAR_OF_OLDER: u32 = 8;

/// Asked for a warning whose object is left where the program gave up.
const MOST_FATES: u32 = 3;

/// Verdicts for all warnings, in their order.
pub fn validate(
    subject: &Subject<'_>,
    seeds: &[Input],
    options: &Options,
    journal: &mut Journal,
    stop: &AtomicBool,
    news: Teller<'_>,
) -> Result<Vec<Outcome>, ConcolicError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.jobs.max(1)).build();
    let pool = pool.map_err(|error| ConcolicError::Threads(error.to_string()))?;
    pool.install(|| {
        let reach = Reach::new(subject.program, subject.places);
        let mut search = Search::new(subject, &reach, options, journal, stop);
        if subject.automata.iter().any(Automaton::is_in_code) {
            search.seed(seeds, news)?;
        }
        search.close(news);
        while search.round(news)? {}
        Ok(search.finish(news))
    })
}

struct Search<'a> {
    subject: &'a Subject<'a>,
    reach: &'a Reach<'a>,
    options: &'a Options,
    journal: &'a mut Journal,
    stop: &'a AtomicBool,
    pursuits: Vec<Pursuit>,
    /// What came of each path that was asked for.
    asked: FxHashMap<u64, Turned>,
    /// How often others came before one that is still to be asked.
    put_off: FxHashMap<u64, usize>,
    known: Knowledge,
    held: Held,
    frontiers: Frontiers,
    distances: FxHashMap<Spot, Arc<Distances>>,
    recent: Vec<Model>,
    crossing: Crossing,
    /// Inputs that words are tried with.
    bases: Vec<Input>,
}

impl<'a> Search<'a> {
    fn new(
        subject: &'a Subject<'a>,
        reach: &'a Reach<'a>,
        options: &'a Options,
        journal: &'a mut Journal,
        stop: &'a AtomicBool,
    ) -> Search<'a> {
        let mut spots: Vec<&Spot> =
            subject.automata.iter().flat_map(|automaton| &automaton.marks).map(|mark| &mark.spot).collect();
        spots.sort_unstable();
        spots.dedup_by_key(|spot| (&spot.file, spot.line));
        let distances: FxHashMap<(&str, u32), Arc<Distances>> = spots
            .par_iter()
            .map(|spot| ((spot.file.as_str(), spot.line), Arc::new(reach.distances(spot))))
            .collect();
        let pursuit = |(number, automaton): (usize, &Automaton)| {
            let to = |spot: &Spot| distances[&(spot.file.as_str(), spot.line)].clone();
            let distances = automaton.marks.iter().map(|mark| to(&mark.spot)).collect();
            Pursuit::new(number, automaton, distances, reach, subject.places)
        };
        Search {
            subject,
            reach,
            options,
            journal,
            stop,
            pursuits: subject.automata.iter().enumerate().map(pursuit).collect(),
            asked: FxHashMap::default(),
            put_off: FxHashMap::default(),
            known: Knowledge::new(Influence::new(reach, subject.places)),
            held: Held::default(),
            frontiers: Frontiers::new(subject.program, subject.places),
            distances: FxHashMap::default(),
            recent: Vec::new(),
            crossing: Crossing::new(options.seed),
            bases: Vec::new(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// `None` if the search was stopped before the run ended: it shows nothing.
    fn run(&self, input: &Input) -> Option<Result<Run, ConcolicError>> {
        let record = (!self.is_stopped()).then(|| self.subject.target.run(input))?;
        let run = (!self.is_stopped()).then(|| {
            let trace = Trace::new(record?, self.subject.places);
            Ok(Run::new(input.clone(), trace, &self.options.bounds))
        })?;
        (!self.is_stopped()).then_some(run)
    }

    /// Reads a run for every warning that is still open.
    fn take_in(&mut self, mut run: Run, by: Option<usize>, news: Teller<'_>) -> Arc<Run> {
        // Nobody asks for them again, and they are a good part of a run.
        let events = std::mem::take(&mut run.trace.events);
        let run = self.known.add(run);
        self.held.add(&run);
        if run.is_new && run.trace.ended != Ended::OutOfTime {
            self.crossing.add(run.number);
        }
        let (subject, reach, known) = (self.subject, self.reach, &self.known);
        self.pursuits.par_iter_mut().filter(|pursuit| pursuit.outcome.is_none()).for_each(|pursuit| {
            let automaton = &subject.automata[pursuit.number];
            pursuit.read(&run, &events, automaton, reach, known);
        });
        if run.is_new {
            self.find_detours();
        }
        if let Some(pursuit) = by.map(|by| &mut self.pursuits[by])
            && pursuit.tally.other_ways.first().is_some()
        {
            pursuit.runs_after_other_way += 1;
        }
        news(News::Runs(self.known.runs.len() as u32));
        run
    }

    /// Where warnings are stuck at a branch, what it reads is to be written.
    fn find_detours(&mut self) {
        for pursuit in self.pursuits.iter_mut().filter(|pursuit| pursuit.is_active()) {
            let gone = &self.known.gone;
            let (frontier, open) = match pursuit.distances.get(pursuit.passed) {
                Some(to) => (self.frontiers.nearest(self.reach, to, gone), None),
                // All ways into the leak point are to be gone.
                None => match pursuit.open_leak_way(gone) {
                    Some((place, way)) => (self.frontiers.at(self.reach, place, way), Some(place)),
                    None => continue,
                },
            };
            if frontier == pursuit.frontier && pursuit.schedule.has_open_way() == open.is_some() {
                continue;
            }
            let mut distances = |spot: &Spot| {
                let known = self.distances.entry(spot.clone());
                known.or_insert_with(|| Arc::new(self.reach.distances(spot))).clone()
            };
            let writes: Vec<Arc<Distances>> = frontier.writes.iter().map(&mut distances).collect();
            let open = open.and_then(|place| self.subject.places.get(place));
            let open = open.map(|branch| distances(&branch.spot()));
            let leading = |write: &Arc<Distances>| self.frontiers.leading(self.reach, write);
            pursuit.writing = writes.iter().flat_map(leading).collect();
            pursuit.written = 0;
            pursuit.runs_before_frontier = pursuit.runs;
            pursuit.joined.clear();
            pursuit.schedule.go_by(Detour::new(frontier.ways.clone(), writes, open), self.reach);
            pursuit.frontier = frontier;
        }
    }

    /// Gives verdicts where they are due. What a stop cut short is not explored.
    fn close(&mut self, news: Teller<'_>) {
        if self.is_stopped() {
            return;
        }
        for index in 0..self.pursuits.len() {
            if !self.pursuits[index].is_active() {
                continue;
            }
            self.ask_fate(index);
            self.leave_leaks(index);
            let pursuit = &self.pursuits[index];
            let has_leak = pursuit.tally.leaks.first().is_some() || pursuit.is_aside_for_certain();
            let since_new = pursuit.tally.suite - pursuit.suite_when_new;
            let automaton = &self.subject.automata[pursuit.number];
            let is_enough = pursuit.tally.suite >= self.options.enough
                && since_new >= self.options.enough / 2
                && pursuit.open_leak_way(&self.known.gone).is_none()
                && !pursuit.has_hidden_leak_way(automaton, &self.known.gone);
            let after_path = AFTER_PATH.min(self.options.runs);
            let most = pursuit.runs_before_path.map_or(0, |before| before + after_path);
            let most = most.max(self.options.runs);
            let is_explored =
                pursuit.schedule.is_empty() && !pursuit.has_encores() || pursuit.is_ruled_out(automaton);
            let has_no_object = !automaton.has_allocation() && pursuit.passed == automaton.marks.len();
            let stop = if has_leak || is_enough {
                Some(Stop::Enough)
            } else if has_no_object {
                Some(Stop::NoObject)
            } else if is_explored {
                Some(Stop::Explored)
            } else if pursuit.runs >= most || pursuit.runs_after_other_way > AFTER_OTHER_WAY {
                Some(Stop::OutOfRuns)
            } else if pursuit.spent
                >= self.options.time.max(pursuit.spent_before_path + self.options.time / 2)
            {
                Some(Stop::OutOfTime)
            } else {
                None
            };
            match stop {
                // What is tried for others may come further.
                Some(why @ (Stop::OutOfTime | Stop::OutOfRuns))
                    if pursuit.runs_before_path.is_none() && pursuit.tally.leak().is_none() =>
                {
                    self.pursuits[index].rest(why);
                }
                Some(stop) => self.settle(index, stop, news),
                None => {}
            }
        }
    }

    /// Where the program gave up with the object unfreed: lost is a leak.
    fn ask_fate(&mut self, index: usize) {
        let pursuit = &mut self.pursuits[index];
        let Some(leak) = pursuit.tally.given_up.filter(|_| pursuit.fates < MOST_FATES) else { return };
        pursuit.fates += 1;
        let warning = &self.subject.warnings[pursuit.number];
        match (self.subject.fate)(warning, &self.known.runs[leak.run]) {
            Fate::Lost(_) => pursuit.tally.leaks.add(leak),
            // The next run of this kind is asked about anew.
            Fate::Reachable | Fate::Unknown if pursuit.fates < MOST_FATES && pursuit.tally.suite > 0 => {
                pursuit.tally.given_up = None;
            }
            _ => pursuit.fates = MOST_FATES,
        }
    }

    /// Leaks that say nothing of this warning are left: what was lost before it came to the leak point, and
    /// what others are about.
    fn leave_leaks(&mut self, index: usize) {
        while let Some(leak) = self.next_leak(index, |tally| &mut tally.leaks) {
            match self.belongs(index, leak) {
                Belongs::Here => break,
                Belongs::Before => self.pursuits[index].tally.leave_lost_before(),
                Belongs::Elsewhere => self.pursuits[index].tally.leave(),
                Belongs::HereOrAt(others) => self.pursuits[index].put_aside(others),
            }
        }
        while !self.pursuits[index].has_sure_other_way
            && let Some(leak) = self.next_leak(index, |tally| &mut tally.other_ways)
        {
            match self.belongs(index, leak) {
                Belongs::Here => self.pursuits[index].has_sure_other_way = true,
                Belongs::HereOrAt(others) if others.is_empty() => {
                    self.pursuits[index].has_sure_other_way = true;
                }
                _ => drop(self.pursuits[index].tally.other_ways.pop()),
            }
        }
    }

    /// The next one that is to be looked at. What is left again and again by runs that go no new way is as it
    /// was; of what there is no time for, nobody knows.
    fn next_leak(&mut self, index: usize, kind: fn(&mut Tally) -> &mut Leaks) -> Option<Leak> {
        let pursuit = &mut self.pursuits[index];
        loop {
            let leaks = kind(&mut pursuit.tally);
            let leak = leaks.first()?;
            if pursuit.located < MOST_ALIKE || pursuit.located < MOST_LOCATED && leak.is_new {
                pursuit.located += 1;
                return Some(leak);
            }
            leaks.has_unseen |= leak.is_new;
            leaks.pop();
        }
    }

    /// Whether what a run left was lost at the leak point or behind it, before, or elsewhere: at the leak point
    /// of another warning about the same allocation, or in another function.
    fn belongs(&self, index: usize, leak: Leak) -> Belongs {
        let (warnings, number) = (self.subject.warnings, self.pursuits[index].number);
        let own = &warnings[number];
        let Some(own_leak) = own.leak() else { return Belongs::Here };
        let is_other = |other: &&Spot| (&other.file, other.line) != (&own_leak.file, own_leak.line);
        let others = warnings.iter().filter(|other| other.allocation() == own.allocation());
        let others: Vec<Spot> = others.filter_map(Warning::leak).filter(|leak| is_other(&leak)).collect();
        let near = |to: &Spot, from: &Spot| to.is_in(&from.file).then(|| to.line.abs_diff(from.line));
        // What was made before the object that the path is about may have been lost before, too.
        let most = if leak.has_newest { NEAR } else { NEAR_OF_OLDER };
        let is_others = |lost: &Spot| {
            let other = others.iter().filter_map(|other| near(other, lost)).min();
            let is_nearer = |other: u32| near(&own_leak, lost).is_none_or(|own| other < own);
            other.is_some_and(|other| other <= most && is_nearer(other))
        };
        let is_own = |lost: &Spot| near(&own_leak, lost).is_some_and(|own| own <= NEAR);
        match self.fate_of(index, leak) {
            Fate::Lost(at) if at.is_empty() => Belongs::Here,
            Fate::Lost(at) if at.iter().all(is_others) => Belongs::Elsewhere,
            // The path's own object was freed, and what the run left was lost where the leak point is not near.
            Fate::Lost(at)
                if leak.newest_was_freed && at.iter().all(|lost| self.is_apart(&own_leak, lost)) =>
            {
                Belongs::Elsewhere
            }
            Fate::Lost(at) if !at.iter().any(is_own) && self.were_lost_before(index, leak, &at) => {
                Belongs::Before
            }
            Fate::Lost(at)
                if at.iter().all(|lost| near(&own_leak, lost) == Some(0))
                    || leak.has_newest && at.iter().any(is_own) =>
            {
                Belongs::Here
            }
            // What was lost later, or was not the path's own object, another one may be about.
            Fate::Lost(_) => self.here_or_at(index, leak),
            // Nor is it its own where calls failed and only what was made before is left.
            Fate::Unknown
                if !others.is_empty() && !leak.has_newest && !self.known.runs[leak.run].fails.is_empty() =>
            {
                Belongs::Elsewhere
            }
            // Nobody sees how it is lost where calls fail, and some runs without that have left objects.
            Fate::Unknown
                if !self.pursuits[index].aside.is_empty() && !self.known.runs[leak.run].fails.is_empty() =>
            {
                Belongs::HereOrAt(Vec::new())
            }
            _ => Belongs::Here,
        }
    }

    /// A run that came to the leak points of other warnings about the allocation as often as it left objects
    /// does not say which of them is right.
    fn here_or_at(&self, index: usize, leak: Leak) -> Belongs {
        let Some(Ok(run)) = self.run(&self.known.runs[leak.run]) else { return Belongs::Here };
        let number = |index: usize| self.pursuits[index].number;
        let own = &self.subject.warnings[number(index)];
        let passed = |index: usize| {
            let automaton = &self.subject.automata[number(index)];
            run.trace.events.iter().filter(|event| automaton.is_leak_point(event)).count() as u64
        };
        let is_other = |&other: &usize| {
            let other = &self.subject.warnings[number(other)];
            other.allocation() == own.allocation() && other.leak() != own.leak()
        };
        let others = (0..self.pursuits.len()).filter(is_other);
        let others: Vec<(usize, u64)> =
            others.map(|other| (other, passed(other))).filter(|&(_, times)| times > 0).collect();
        if others.iter().map(|(_, times)| times).sum::<u64>() < leak.blocks.max(1) {
            return Belongs::Here;
        }
        Belongs::HereOrAt(others.into_iter().map(|(other, _)| other).collect())
    }

    /// What was put aside is another warning's where that leaks for certain; else it is this one's.
    fn take_back(&mut self, index: usize) {
        let is_certain = self.pursuits[index].is_aside_for_certain();
        let aside = std::mem::take(&mut self.pursuits[index].aside);
        let leaks = |&other: &usize| self.pursuits[other].leaks_for_certain();
        let own = aside.iter().find(|(_, others)| !others.iter().any(leaks)).map(|&(leak, _)| leak);
        let pursuit = &mut self.pursuits[index];
        let Tally { leaks, elsewhere, .. } = &mut pursuit.tally;
        match own {
            Some(leak) if leaks.first().is_none() => {
                leaks.add(leak);
                pursuit.has_taken_back = !is_certain;
            }
            _ => *elsewhere = elsewhere.or(aside.first().map(|&(leak, _)| leak)),
        }
    }

    /// Whether the functions of two lines are others, and none of the first leads to one of the second: what is
    /// lost there is not lost by a call on the first line.
    fn is_apart(&self, from: &Spot, lost: &Spot) -> bool {
        let (from, lost) = (self.reach.functions_on(from), self.reach.functions_on(lost));
        !from.is_empty() && !lost.is_empty() && from.iter().all(|&id| self.reach.below(id).is_disjoint(&lost))
    }

    /// Whether a run came to the places where its objects were lost before it came to the leak point.
    fn were_lost_before(&self, index: usize, leak: Leak, at: &[Spot]) -> bool {
        let lines = |spot| {
            let lines = self.subject.places.on_line(spot);
            lines.filter(|(_, place)| place.kind == PlaceKind::Line).map(|(number, _)| number)
        };
        let ends: FxHashSet<PlaceId> = at.iter().flat_map(lines).collect();
        let record = self.subject.target.run_past(&self.known.runs[leak.run], &ends);
        let is_whole = |record: &Record| record.limits == 0 && matches!(record.ended, Ended::Exit(_));
        let automaton = &self.subject.automata[self.pursuits[index].number];
        let record = record.ok().flatten().filter(is_whole);
        record.is_some_and(|record| were_lost_before(&record.events, automaton, &ends))
    }

    /// What became of the objects that a run left. Calls cannot be made to fail where that is shown; but
    /// where a run without that leaves the same objects, it shows what became of them.
    fn fate_of(&self, index: usize, leak: Leak) -> Fate {
        let (subject, number) = (self.subject, self.pursuits[index].number);
        let input = &self.known.runs[leak.run];
        let fate = |input: &Input| (subject.fate)(&subject.warnings[number], input);
        if input.fails.is_empty() {
            return fate(input);
        }
        let left = |input: &Input| -> Option<Vec<bool>> {
            let run = self.run(input)?.ok()?;
            let objects = objects(&run.trace.events, &subject.automata[number]);
            Some(objects.iter().map(|object| object.state.is_freed()).collect())
        };
        let plain = Input { fails: BTreeSet::new(), ..input.clone() };
        match (left(input), left(&plain)) {
            (Some(left), Some(plainly)) if left == plainly => fate(&plain),
            _ => fate(input),
        }
    }

    fn settle(&mut self, index: usize, stop: Stop, news: Teller<'_>) {
        self.take_back(index);
        let pursuit = &mut self.pursuits[index];
        pursuit.obstacles.promised.retain(|(_, path)| !self.known.paths.contains(path));
        if let Some(to) = pursuit.distances.get(pursuit.passed) {
            let name = |id| self.subject.program.function(id).name.clone();
            let foreign = self.frontiers.foreign(self.reach, to, &self.known.gone);
            pursuit.obstacles.foreign = foreign.map(|(place, id)| (place, name(id)));
        }
        let automaton = &self.subject.automata[pursuit.number];
        let outcome = pursuit.judged(automaton, stop, self.subject.places, &self.known);
        news(News::Verdict(pursuit.number, &outcome));
        pursuit.outcome = Some(outcome);
        pursuit.schedule = Schedule::default();
    }

    fn finish(mut self, news: Teller<'_>) -> Vec<Outcome> {
        let interrupted = self.is_stopped();
        for index in 0..self.pursuits.len() {
            if self.pursuits[index].outcome.is_none() {
                if !interrupted {
                    self.ask_fate(index);
                    self.leave_leaks(index);
                }
                let stop = self.pursuits[index].rests.unwrap_or(Stop::Explored);
                self.settle(index, if interrupted { Stop::Interrupted } else { stop }, news);
            }
        }
        self.pursuits.into_iter().filter_map(|pursuit| pursuit.outcome).collect()
    }
}
