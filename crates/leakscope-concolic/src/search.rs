//! The search for inputs that follow warnings: algorithm 1, with the branches
//! ranked by distance, and every run read for every warning.
//!
//! Work goes in rounds. Which decisions a round turns is settled before it
//! begins and does not depend on how many threads there are, so the same seed
//! gives the same runs; only limits of time can make a difference.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leakscope_core::Verdict;
use leakscope_ir::Program;
use leakscope_solve::{Limits, Model};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ConcolicError;
use crate::automaton::Automaton;
use crate::evidence::{Obstacles, Outcome, Stop};
use crate::input::{Bounds, Input};
use crate::journal::Journal;
use crate::objects::objects;
use crate::places::{PlaceId, Places};
use crate::reach::{Distances, NEVER, Reach};
use crate::schedule::{Candidate, Edge, Rank, Schedule};
use crate::solve::{Run, Seen, SolverChoice, Turned};
use crate::target::Target;
use crate::trace::{Trace, Way, mixed};
use crate::verdict::{Coverage, End, Fate, LeakWay, Tally};
use crate::warning::{Spot, Warning};

/// What bounds a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// For each warning.
    pub runs: u32,
    pub time: Duration,
    /// Runs that end without a leak after the path was followed, before the
    /// verdict is given.
    pub enough: u32,
    pub jobs: usize,
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
            enough: 200,
            jobs: std::thread::available_parallelism().map_or(1, Into::into),
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

/// What is told while the search goes on.
#[derive(Clone, Debug)]
pub enum News<'a> {
    Runs(u32),
    Verdict(usize, &'a Outcome),
}

/// Who is told.
pub type Teller<'t> = &'t mut (dyn FnMut(News<'_>) + Send);

/// Decisions turned in a round, and in one go with one solver.
const UNITS: usize = 8;
const IN_ONE_GO: usize = 4;

/// Models that are tried before the solver is asked.
const RECENT: usize = 16;

/// Every so many choices one is for new code.
const NEWEST_EVERY: u32 = 4;

/// A search goes on for so many runs when only another way than the warning's
/// is known to leak.
const AFTER_OTHER_WAY: u32 = 100;

/// Asked for a warning whose object is left where the program gave up.
const MOST_FATES: u32 = 3;

/// One warning and how far it is.
struct Pursuit {
    number: usize,
    distances: Vec<Arc<Distances>>,
    schedule: Schedule,
    tally: Tally,
    obstacles: Obstacles,
    /// Most marks that a run has passed.
    passed: usize,
    runs: u32,
    spent: Duration,
    chosen: u32,
    runs_after_other_way: u32,
    fates: u32,
    outcome: Option<Outcome>,
}

/// By the hash of the path before a place, and the place.
type Ways = FxHashMap<(u64, PlaceId), Vec<Seen>>;

/// A task of a round.
struct Unit {
    pursuit: usize,
    candidates: Vec<Candidate>,
}

/// What came of a unit.
struct Done {
    answers: Vec<Answered>,
    spent: Duration,
}

struct Answered {
    candidate: Candidate,
    turned: Turned,
    model: Option<Model>,
    /// The input, if it is new, and its run.
    run: Option<(Input, Result<Run, ConcolicError>)>,
}

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
        search.seed(seeds, news)?;
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
    inputs: FxHashSet<Input>,
    /// Inputs by number of their run.
    runs: Vec<Input>,
    known: FxHashSet<Edge>,
    /// Hashes of all paths that runs followed, or that are closed.
    paths: FxHashSet<u64>,
    /// The ways that runs took where there are many.
    ways: Ways,
    recent: Vec<Model>,
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
            Pursuit::new(number, automaton.marks.iter().map(|mark| to(&mark.spot)).collect())
        };
        Search {
            subject,
            reach,
            options,
            journal,
            stop,
            pursuits: subject.automata.iter().enumerate().map(pursuit).collect(),
            asked: FxHashMap::default(),
            inputs: FxHashSet::default(),
            runs: Vec::new(),
            known: FxHashSet::default(),
            paths: FxHashSet::from_iter([0]),
            ways: Ways::default(),
            recent: Vec::new(),
        }
    }

    /// The first runs.
    fn seed(&mut self, seeds: &[Input], news: Teller<'_>) -> Result<(), ConcolicError> {
        let mut new: Vec<&Input> =
            seeds.iter().filter(|input| self.inputs.insert((*input).clone())).collect();
        // The seed of the search decides which comes first.
        let count = new.len().max(1);
        new.rotate_left(self.options.seed as usize % count);
        let runs: Vec<Result<Run, ConcolicError>> = new.par_iter().map(|input| self.run(input)).collect();
        for run in runs {
            self.take_in(run?, None, news);
        }
        Ok(())
    }

    fn run(&self, input: &Input) -> Result<Run, ConcolicError> {
        let record = self.subject.target.run(input)?;
        let trace = Trace::new(record, self.subject.places);
        Ok(Run::new(input.clone(), trace, &self.options.bounds))
    }

    /// Turns a few decisions; false when nothing is left to do.
    fn round(&mut self, news: Teller<'_>) -> Result<bool, ConcolicError> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let units = self.choose();
        if units.is_empty() {
            return Ok(false);
        }
        let done: Vec<Done> = units.par_iter().map(|unit| self.work(unit)).collect();
        for (unit, done) in units.iter().zip(done) {
            self.pursuits[unit.pursuit].spent += done.spent;
            for Answered { candidate, turned, model, run } in done.answers {
                self.pursuits[unit.pursuit].obstacles.note(&candidate, &turned);
                self.journal.add(candidate.path, &turned);
                self.asked.insert(candidate.path, turned);
                self.recent.extend(model);
                match &self.asked[&candidate.path] {
                    Turned::To(_) => {
                        let place = candidate.edge.0;
                        self.pursuits[unit.pursuit].obstacles.promised.push((place, candidate.expected));
                    }
                    Turned::Closed => drop(self.paths.insert(candidate.expected)),
                    _ => {}
                }
                if let Some((input, run)) = run
                    && self.inputs.insert(input)
                {
                    self.pursuits[unit.pursuit].runs += 1;
                    self.take_in(run?, Some(unit.pursuit), news);
                }
            }
        }
        let old = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..old);
        self.close(news);
        Ok(true)
    }

    /// The units of a round: the warnings take turns.
    fn choose(&mut self) -> Vec<Unit> {
        let mut units: Vec<Unit> = Vec::new();
        let mut chosen: FxHashSet<u64> = FxHashSet::default();
        loop {
            let mut found = false;
            for index in 0..self.pursuits.len() {
                if units.len() == UNITS {
                    return units;
                }
                let pursuit = &mut self.pursuits[index];
                if pursuit.outcome.is_some() {
                    continue;
                }
                loop {
                    pursuit.chosen += 1;
                    let newest = pursuit.chosen.is_multiple_of(NEWEST_EVERY);
                    let rank = if newest { Rank::Newest } else { Rank::Nearest };
                    let mut candidates = pursuit.schedule.take(rank, &self.known, IN_ONE_GO);
                    if candidates.is_empty() {
                        break;
                    }
                    // What another warning asked is known.
                    candidates.retain(|candidate| {
                        if let Some(turned) = self.asked.get(&candidate.path) {
                            pursuit.obstacles.note(candidate, turned);
                        }
                        !self.asked.contains_key(&candidate.path) && chosen.insert(candidate.path)
                    });
                    if !candidates.is_empty() {
                        units.push(Unit { pursuit: index, candidates });
                        found = true;
                        break;
                    }
                }
            }
            if !found {
                return units;
            }
        }
    }

    /// Solves and runs; changes nothing that others see.
    fn work(&self, unit: &Unit) -> Done {
        let start = Instant::now();
        let mut solver = None;
        let mut pool = unit.candidates[0].run.trace.pool.clone();
        let mut answers = Vec::new();
        for candidate in &unit.candidates {
            let (turned, model) = match self.journal.get(candidate.path) {
                Some(turned) => (turned.clone(), None),
                None => {
                    let started = match &mut solver {
                        Some(solver) => Ok(solver),
                        none => self.options.solver.start(self.options.limits).map(|new| none.insert(new)),
                    };
                    match started {
                        Err(error) => (Turned::Failed(error.to_string()), None),
                        Ok(solver) => {
                            let turned = (candidate.decision, candidate.other);
                            candidate.run.turn(
                                &mut pool,
                                turned,
                                self.seen(candidate),
                                solver.as_mut(),
                                &self.recent,
                            )
                        }
                    }
                }
            };
            if let Turned::Failed(_) = turned {
                solver = None;
            }
            let run = match &turned {
                Turned::To(input) | Turned::Pinned(_, input) if !self.inputs.contains(input) => {
                    Some((input.clone(), self.run(input)))
                }
                _ => None,
            };
            answers.push(Answered { candidate: candidate.clone(), turned, model, run });
        }
        Done { answers, spent: start.elapsed() }
    }

    /// The ways that a candidate is not to take again.
    fn seen(&self, candidate: &Candidate) -> &[Seen] {
        let decision = &candidate.run.trace.decisions[candidate.decision];
        let is_one_of_many = matches!(decision.way, Way::Other(_));
        let seen = self.ways.get(&(decision.hash, decision.place)).filter(|_| is_one_of_many);
        seen.map(Vec::as_slice).unwrap_or_default()
    }

    /// Reads a run for every warning that is still open.
    fn take_in(&mut self, run: Run, by: Option<usize>, news: Teller<'_>) {
        let number = self.runs.len();
        self.runs.push(run.input.clone());
        self.paths.extend(&run.trace.paths);
        for decision in &run.trace.decisions {
            self.known.insert((decision.place, decision.way));
        }
        let run = Arc::new(run);
        self.note_ways(&run);
        let (subject, reach, ways) = (self.subject, self.reach, &self.ways);
        self.pursuits.par_iter_mut().filter(|pursuit| pursuit.outcome.is_none()).for_each(|pursuit| {
            let automaton = &subject.automata[pursuit.number];
            pursuit.read(number, &run, automaton, reach, ways);
        });
        if let Some(pursuit) = by.map(|by| &mut self.pursuits[by])
            && pursuit.tally.other_way.is_some()
        {
            pursuit.runs_after_other_way += 1;
        }
        news(News::Runs(self.runs.len() as u32));
    }

    fn note_ways(&mut self, run: &Arc<Run>) {
        let trace = &run.trace;
        for decision in trace.decisions.iter().filter(|decision| matches!(decision.way, Way::Other(_))) {
            let held = trace.path.constraint(decision.before);
            let known = self.ways.entry((decision.hash, decision.place)).or_default();
            let digest = |seen: &Seen| seen.run.trace.pool.digest(seen.held);
            if !known.iter().any(|seen| digest(seen) == trace.pool.digest(held)) {
                // The way after the last known one was asked for, and is here.
                let way = Way::Other(known.len() as u16);
                self.paths.insert(mixed(decision.hash, decision.place, way));
                known.push(Seen { run: run.clone(), held });
            }
        }
    }

    /// Gives verdicts where they are due.
    fn close(&mut self, news: Teller<'_>) {
        for index in 0..self.pursuits.len() {
            if self.pursuits[index].outcome.is_some() {
                continue;
            }
            self.ask_fate(index);
            let pursuit = &self.pursuits[index];
            let has_leak = pursuit.tally.leak.is_some();
            let is_enough = pursuit.tally.suite >= self.options.enough;
            let stop = if has_leak || is_enough || pursuit.schedule.is_empty() {
                Some(Stop::Explored)
            } else if pursuit.runs >= self.options.runs || pursuit.runs_after_other_way > AFTER_OTHER_WAY {
                Some(Stop::OutOfRuns)
            } else if pursuit.spent >= self.options.time {
                Some(Stop::OutOfTime)
            } else {
                None
            };
            if let Some(stop) = stop {
                self.settle(index, stop, news);
            }
        }
    }

    /// Where the program gave up with the object unfreed: lost is a leak.
    fn ask_fate(&mut self, index: usize) {
        let pursuit = &mut self.pursuits[index];
        let Some(leak) = pursuit.tally.given_up.filter(|_| pursuit.fates < MOST_FATES) else { return };
        pursuit.fates += 1;
        let warning = &self.subject.warnings[pursuit.number];
        match (self.subject.fate)(warning, &self.runs[leak.run]) {
            Fate::Lost => pursuit.tally.leak = Some(leak),
            // The next run of this kind is asked about anew.
            Fate::Reachable | Fate::Unknown if pursuit.fates < MOST_FATES && pursuit.tally.suite > 0 => {
                pursuit.tally.given_up = None;
            }
            _ => pursuit.fates = MOST_FATES,
        }
    }

    fn settle(&mut self, index: usize, stop: Stop, news: Teller<'_>) {
        let pursuit = &mut self.pursuits[index];
        pursuit.obstacles.promised.retain(|(_, path)| !self.paths.contains(path));
        let automaton = &self.subject.automata[pursuit.number];
        let outcome = pursuit.judged(automaton, stop, self.subject.places, &self.runs);
        news(News::Verdict(pursuit.number, &outcome));
        pursuit.outcome = Some(outcome);
        pursuit.schedule = Schedule::default();
    }

    fn finish(mut self, news: Teller<'_>) -> Vec<Outcome> {
        let interrupted = self.stop.load(Ordering::Relaxed);
        for index in 0..self.pursuits.len() {
            if self.pursuits[index].outcome.is_none() {
                self.ask_fate(index);
                self.settle(index, if interrupted { Stop::Interrupted } else { Stop::Explored }, news);
            }
        }
        self.pursuits.into_iter().filter_map(|pursuit| pursuit.outcome).collect()
    }
}

impl Pursuit {
    fn new(number: usize, distances: Vec<Arc<Distances>>) -> Pursuit {
        Pursuit {
            number,
            distances,
            schedule: Schedule::default(),
            tally: Tally::default(),
            obstacles: Obstacles::default(),
            passed: 0,
            runs: 0,
            spent: Duration::ZERO,
            chosen: 0,
            runs_after_other_way: 0,
            fates: 0,
            outcome: None,
        }
    }

    /// What a run says about the warning, and where it could have gone
    /// otherwise: algorithm 1.
    fn read(&mut self, number: usize, run: &Arc<Run>, automaton: &Automaton, reach: &Reach<'_>, ways: &Ways) {
        let trace = &run.trace;
        let all = automaton.marks.len();
        let (mut count, mut at) = (0, 0);
        for (index, decision) in trace.decisions.iter().enumerate() {
            for event in &trace.events[at..decision.at] {
                count = automaton.next(count, event);
            }
            at = decision.at;
            for (other, &(way, term)) in decision.others.iter().enumerate() {
                let Some((missing, distance)) = self.promise(count, automaton, reach, trace, index, way)
                else {
                    continue;
                };
                let (way, question) = match way {
                    Way::Other(_) => {
                        let seen = ways.get(&(decision.hash, decision.place)).map_or(0, Vec::len) as u16;
                        if seen >= decision.most {
                            *self.obstacles.pinned.entry(decision.place).or_default() += 1;
                            continue;
                        }
                        (Way::Other(seen), 0)
                    }
                    // Runs of one path may know different things of the input.
                    way => (way, trace.pool.digest(term)),
                };
                let expected = mixed(decision.hash, decision.place, way);
                let path = mixed(expected ^ question, decision.place, way);
                let edge = (decision.place, if let Way::Other(_) = way { Way::Other(0) } else { way });
                self.schedule.push(Candidate {
                    run: run.clone(),
                    decision: index,
                    other,
                    edge,
                    path,
                    expected,
                    missing,
                    distance,
                });
            }
        }
        for event in &trace.events[at..] {
            count = automaton.next(count, event);
        }
        let end = End::of(trace);
        if count < all {
            self.obstacles.note_run(trace, end);
        }
        self.passed = self.passed.max(count);
        let objects = objects(&trace.events, automaton);
        self.tally.add(number, &Coverage { passed: count, is_whole: count == all, objects, end });
    }

    /// Marks that are missing if a decision goes this way after `count` marks,
    /// and how far it is to the next one; `None` if that cannot be reached.
    fn promise(
        &self,
        count: usize,
        automaton: &Automaton,
        reach: &Reach<'_>,
        trace: &Trace,
        decision: usize,
        way: Way,
    ) -> Option<(usize, u32)> {
        let Some(mark) = automaton.marks.get(count) else { return Some((0, 0)) };
        let missing = automaton.marks.len() - count;
        let decision = &trace.decisions[decision];
        if let Way::Branch(taken) = way
            && mark.is_branch(decision.place, taken)
        {
            return Some((missing - 1, 0));
        }
        let distances = &self.distances[count];
        let distance = reach.after(distances, decision.place, way, trace.frames(decision.stack));
        match distance {
            NEVER if distances.is_reachable => None,
            NEVER => Some((missing, crate::reach::UNKNOWN)),
            near => Some((missing, near)),
        }
    }

    fn judged(&self, automaton: &Automaton, stop: Stop, places: &Places, runs: &[Input]) -> Outcome {
        let all = automaton.marks.len();
        let obstacles = self.obstacles.texts(places);
        let (verdict, reason) = match self.tally.verdict() {
            Some(Verdict::MustLeak) => (Verdict::MustLeak, self.leak_text()),
            Some(verdict) => (verdict, self.freed_text(verdict)),
            None if self.is_infeasible(automaton, stop) => {
                let text = &automaton.marks[self.passed].text;
                let reason =
                    format!("the path is infeasible: no input passes {text} after the marks before it");
                (Verdict::LikelyNotLeak, reason)
            }
            None => (Verdict::MayLeak, self.why_unknown(automaton, stop, &obstacles)),
        };
        let leak = self.tally.leak();
        let shown = leak.map(|leak| leak.run).or(self.tally.shown);
        Outcome {
            verdict,
            reason,
            notes: automaton.notes.clone(),
            input: shown.map(|run| runs[run].clone()),
            leak,
            tally: self.tally.clone(),
            passed: self.passed,
            marks: all,
            runs: self.runs,
        }
    }

    /// Definition 4, part 1: a mark that no input reaches, shown by trying
    /// every way to it.
    fn is_infeasible(&self, automaton: &Automaton, stop: Stop) -> bool {
        let is_missing = self.passed < automaton.marks.len();
        is_missing && stop == Stop::Explored && self.schedule.is_empty() && self.obstacles.is_empty()
    }

    fn leak_text(&self) -> String {
        match self.tally.leak() {
            Some(leak) if leak.way == LeakWay::Other => {
                "the object is not freed, though by another way than the warning's".to_owned()
            }
            Some(leak) if leak.end == End::GaveUp => {
                "the object is not freed where the program gives up, nor in any other run".to_owned()
            }
            _ => "the object is not freed at the end".to_owned(),
        }
    }

    fn freed_text(&self, verdict: Verdict) -> String {
        let Tally { suite, freed_used, freed_unused, freed_before, .. } = &self.tally;
        let all = freed_used + freed_unused + freed_before;
        let runs = if *suite == 1 { "1 run".to_owned() } else { format!("{suite} runs") };
        match verdict {
            Verdict::Bloat if *freed_unused == 0 => {
                format!("all {all} objects were freed before the leak point ({runs})")
            }
            Verdict::Bloat => {
                format!(
                    "all were freed, but {freed_unused} of {all} objects not used after the leak point ({runs})"
                )
            }
            _ if *freed_before > 0 => {
                format!(
                    "{freed_used} objects were used after the leak point, {freed_before} freed before; all were freed ({runs})"
                )
            }
            _ => format!("all {all} objects were used after the leak point and freed ({runs})"),
        }
    }

    fn why_unknown(&self, automaton: &Automaton, stop: Stop, obstacles: &[String]) -> String {
        let what = match automaton.marks.get(self.passed) {
            Some(mark) => format!("{} was never reached", mark.text),
            None if !automaton.has_allocation() => "the warning names no allocation in the code".to_owned(),
            None if self.tally.cut > 0 => "every run that followed the path crashed or hung".to_owned(),
            None => "no object was allocated on the path".to_owned(),
        };
        let why = if obstacles.is_empty() { vec![stop.text().to_owned()] } else { obstacles.to_vec() };
        let limit = (stop != Stop::Explored && !obstacles.is_empty()).then(|| stop.text().to_owned());
        let reasons: Vec<String> = why.into_iter().chain(limit).collect();
        format!("{what}: {}", reasons.join("; "))
    }
}

impl Obstacles {
    fn note(&mut self, candidate: &Candidate, turned: &Turned) {
        let (place, _) = candidate.edge;
        match turned {
            // Other values than the one in the way are tried by themselves.
            Turned::To(_) | Turned::Closed | Turned::Pinned(..) => {}
            Turned::Bounded => *self.bounded.entry(place).or_default() += 1,
            Turned::Unsolved => *self.unsolved.entry(place).or_default() += 1,
            Turned::Failed(reason) => self.solver_failed = Some(reason.clone()),
        }
    }

    fn note_run(&mut self, trace: &Trace, end: End) {
        for &(place, what) in &trace.notes {
            self.noted.entry(place).or_insert((what, 0)).1 += 1;
        }
        self.limits |= trace.limits;
        self.cut += u32::from(end == End::Cut);
    }
}
