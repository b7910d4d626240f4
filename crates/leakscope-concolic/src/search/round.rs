//! A round: which decisions are turned, which inputs come of that, and their
//! runs. What a round does is settled before it begins.

use std::sync::Arc;
use std::time::Duration;

use leakscope_solve::{Model, Pool};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::{Search, Teller};
use crate::ConcolicError;
use crate::encore::encores;
use crate::input::Input;
use crate::joining::joined;
use crate::schedule::{Candidate, Edge, Rank};
use crate::solve::{Effort, Run, SolverChoice, Turned};

/// Decisions turned in a round, and in one go with one solver.
const UNITS: usize = 8;
const IN_ONE_GO: usize = 4;

/// Models that are tried before the solver is asked.
const RECENT: usize = 16;

/// What choices are for comes again after so many of them.
const RANKS_EVERY: u32 = 8;

/// A task of a round: decisions to turn, or inputs to try.
struct Unit {
    pursuit: usize,
    candidates: Vec<Candidate>,
    children: Vec<Input>,
}

/// What came of a unit.
struct Done {
    answers: Vec<Answered>,
    children: Vec<Ran>,
    spent: Duration,
}

/// An input that is new, and its run.
type Ran = (Input, Result<Run, ConcolicError>);

struct Answered {
    candidate: Candidate,
    turned: Turned,
    model: Option<Model>,
    runs: Vec<Ran>,
}

impl Search<'_> {
    /// Turns a few decisions; false when nothing is left to do.
    pub fn round(&mut self, news: Teller<'_>) -> Result<bool, ConcolicError> {
        if self.is_stopped() {
            return Ok(false);
        }
        let units = self.choose();
        if units.is_empty() {
            return Ok(false);
        }
        let done: Vec<Done> = units.par_iter().map(|unit| self.work(unit)).collect();
        if self.is_stopped() {
            // The next search makes these runs again; what was solved is kept for it.
            let whole = units.iter().zip(&done);
            let whole = whole.filter(|(unit, done)| unit.candidates.len() == done.answers.len());
            for answer in whole.flat_map(|(_, done)| &done.answers) {
                self.note(answer);
            }
            return Ok(false);
        }
        for (unit, done) in units.iter().zip(done) {
            self.pursuits[unit.pursuit].spent += done.spent;
            for answer in done.answers {
                self.note(&answer);
                let Answered { candidate, turned, model, runs } = answer;
                if turned == Turned::Postponed {
                    *self.put_off.entry(candidate.path).or_default() += 1;
                    self.known.note_guess(candidate.edge);
                    self.take_all_in(runs, unit.pursuit, news)?;
                    self.pursuits[unit.pursuit].schedule.push(candidate, self.reach);
                    continue;
                }
                self.pursuits[unit.pursuit].obstacles.note(&candidate, &turned);
                self.asked.insert(candidate.path, turned);
                self.recent.extend(model);
                match &self.asked[&candidate.path] {
                    Turned::To(_) => {
                        let place = candidate.edge.place;
                        self.pursuits[unit.pursuit].obstacles.promised.push((place, candidate.expected));
                    }
                    Turned::Closed => drop(self.known.paths.insert(candidate.expected)),
                    Turned::Guessed(_) => {
                        self.known.paths.insert(candidate.expected);
                        self.known.note_guess(candidate.edge);
                    }
                    Turned::Unsolved => self.known.note_guess(candidate.edge),
                    _ => {}
                }
                for run in self.take_all_in(runs, unit.pursuit, news)? {
                    let (before, after) = (&candidate.run.trace.coverage, &run.trace.coverage);
                    self.known.influence.note(self.reach, candidate.edge.place, before, after);
                }
            }
            self.take_all_in(done.children, unit.pursuit, news)?;
        }
        self.try_words(news)?;
        let old = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..old);
        self.close(news);
        self.forget();
        Ok(true)
    }

    fn note(&mut self, Answered { candidate, turned, model, .. }: &Answered) {
        self.journal.add(candidate.path, self.times_put_off(candidate), turned, model.as_ref());
    }

    fn times_put_off(&self, candidate: &Candidate) -> usize {
        self.put_off.get(&candidate.path).copied().unwrap_or_default()
    }

    fn take_all_in(
        &mut self,
        runs: Vec<Ran>,
        by: usize,
        news: Teller<'_>,
    ) -> Result<Vec<Arc<Run>>, ConcolicError> {
        let mut taken = Vec::new();
        for (input, run) in runs {
            if self.known.inputs.insert(input) {
                self.pursuits[by].runs += 1;
                taken.push(self.take_in(run?, Some(by), news));
            }
        }
        Ok(taken)
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
                if !self.pursuits[index].is_active() {
                    continue;
                }
                if let Some(children) = self.due(index) {
                    self.pursuits[index].chosen += 1;
                    units.push(Unit { pursuit: index, candidates: Vec::new(), children });
                    found = true;
                    continue;
                }
                let pursuit = &mut self.pursuits[index];
                loop {
                    pursuit.chosen += 1;
                    if self.crossing.is_due(pursuit.chosen) && !pursuit.schedule.is_empty() {
                        let bounds = self.known.bounds(&self.options.bounds);
                        let nearest = &pursuit.nearest;
                        let children = self.crossing.children(IN_ONE_GO, nearest, &self.known, &bounds);
                        units.push(Unit { pursuit: index, candidates: Vec::new(), children });
                        found = true;
                        break;
                    }
                    let rank = match pursuit.chosen % RANKS_EVERY {
                        0 | 4 => Rank::Newest,
                        1 | 7 => Rank::NearestInRound,
                        3 | 5 if pursuit.schedule.has_open_way() => Rank::NearestToOpen,
                        _ => Rank::Nearest,
                    };
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
                        units.push(Unit { pursuit: index, candidates, children: Vec::new() });
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

    /// Inputs that a warning's runs gave rise to, before anything is turned: a
    /// part twice, or two runs in a row.
    fn due(&mut self, index: usize) -> Option<Vec<Input>> {
        let known = &self.known;
        let bounds = &known.bounds(&self.options.bounds);
        let pursuit = &mut self.pursuits[index];
        if let Some(run) = pursuit.encore() {
            return Some(encores(&known.runs[run], &known.parts(run), bounds));
        }
        let (writer, came) = pursuit.pair(known)?;
        let input = |run: usize| (&known.runs[run], known.parts(run));
        let (writer, came) = (input(writer), input(came));
        let orders = [(&writer, &came), (&came, &writer)];
        Some(orders.into_iter().flat_map(|(first, second)| joined(first, second, bounds)).collect())
    }

    /// Solves and runs; changes nothing that others see.
    fn work(&self, unit: &Unit) -> Done {
        let start = self.time();
        let mut solvers = None;
        let mut pool = unit.candidates.first().map(|first| first.run.trace.pool.clone()).unwrap_or_default();
        let mut answers = Vec::new();
        // What a solver says depends on what it was asked before: all of a unit is known, or it is asked again.
        let candidates = unit.candidates.iter();
        let known =
            candidates.map(|candidate| self.journal.get(candidate.path, self.times_put_off(candidate)));
        let mut known = known.collect::<Option<Vec<_>>>().into_iter().flatten();
        for candidate in &unit.candidates {
            let (turned, model) = match known.next() {
                Some(known) => known,
                None => {
                    let started = match &mut solvers {
                        Some(solvers) => Ok(solvers),
                        none => self.options.solver.start(self.options.limits).map(|new| none.insert(new)),
                    };
                    match started {
                        Err(error) => (Turned::Failed(error.to_string()), None),
                        Ok(solvers) => {
                            let seen = self.known.seen(candidate.decision());
                            let effort = |pool: &Pool| {
                                let is_new = |input: &Input| !self.known.inputs.contains(input);
                                let has_values = self.values(candidate, pool).iter().any(is_new);
                                if has_values { Effort::Little } else { Effort::All }
                            };
                            candidate.run.turn(
                                &mut pool,
                                candidate.turn(),
                                (&self.known.held, seen),
                                solvers,
                                &self.recent,
                                effort,
                            )
                        }
                    }
                }
            };
            if let Turned::Failed(_) = turned {
                solvers = None;
            }
            let turned = match (turned, &mut solvers) {
                (Turned::Closed, Some(solvers)) if self.known.may_guess(candidate) => {
                    let mut guessed: Vec<Input> = self.widened(candidate).into_iter().collect();
                    guessed.extend(self.values(candidate, &pool));
                    guessed.extend(candidate.run.guess(&mut pool, candidate.turn(), solvers));
                    if candidate.decision().is_again {
                        let values = |byte| self.known.asked_of(byte).collect();
                        let (run, turn) = (&candidate.run, candidate.turn());
                        guessed.extend(run.guess_byte(&mut pool, turn, values, solvers.quick.as_mut()));
                    }
                    guessed.extend(self.counts(candidate, &pool));
                    if guessed.is_empty() { Turned::Closed } else { Turned::Guessed(guessed) }
                }
                (Turned::Closed, _) => {
                    let guessed = self.values(candidate, &pool);
                    if guessed.is_empty() { Turned::Closed } else { Turned::Guessed(guessed) }
                }
                (Turned::Pinned(place, mut inputs), _) => {
                    inputs.extend(self.counts(candidate, &pool));
                    Turned::Pinned(place, inputs)
                }
                (turned, _) => turned,
            };
            // What is too hard may be easy with more digits.
            let longer = match turned {
                Turned::Unsolved | Turned::Postponed => {
                    let mut inputs = self.values(candidate, &pool);
                    if self.known.may_guess(candidate) {
                        inputs.extend(candidate.run.guess_numbers(&pool, candidate.question()));
                    }
                    inputs
                }
                _ => Vec::new(),
            };
            let inputs = match &turned {
                Turned::Unsolved | Turned::Postponed => &longer,
                Turned::To(input) => std::slice::from_ref(input),
                Turned::Guessed(inputs) | Turned::Pinned(_, inputs) => inputs,
                _ => &[],
            };
            let mut runs = self.run_new(inputs);
            if let Turned::Guessed(_) | Turned::Pinned(..) = turned {
                for run in runs.iter_mut().filter_map(|(_, run)| run.as_mut().ok()) {
                    let took: FxHashSet<Edge> = run.edges_before(run.trace.decisions.len()).collect();
                    let wanted = candidate.run.edges_before(candidate.decision);
                    run.lost = wanted.filter(|edge| !took.contains(edge)).collect();
                }
            }
            // What was cut short shows nothing, and is asked again another time.
            if self.is_stopped() {
                break;
            }
            answers.push(Answered { candidate: candidate.clone(), turned, model, runs });
        }
        let children = self.run_new(&unit.children);
        let runs = answers.iter().flat_map(|answer| &answer.runs).chain(&children);
        let in_runs: Duration = runs.filter_map(|(_, run)| Some(run.as_ref().ok()?.trace.spent)).sum();
        Done { spent: self.time().saturating_sub(start) + in_runs, answers, children }
    }

    /// Inputs in which a number is what a candidate asks for.
    fn values(&self, candidate: &Candidate, pool: &Pool) -> Vec<Input> {
        if !self.known.may_guess_values(candidate) {
            return Vec::new();
        }
        candidate.run.guess_values(pool, candidate.question())
    }

    /// An input for which a decision goes its other way if numbers have more digits.
    fn widened(&self, candidate: &Candidate) -> Option<Input> {
        let input = candidate.run.with_wider_numbers(candidate.turn())?;
        let run = self.run(&input)?.ok()?;
        let turn = run.twin(&candidate.run, candidate.turn())?;
        let mut pool = run.trace.pool.clone();
        let mut solvers = self.options.solver.start(self.options.limits).ok()?;
        let effort = |_: &Pool| Effort::Little;
        match run.turn(&mut pool, turn, (&self.known.held, &[]), &mut solvers, &[], effort) {
            (Turned::To(input), _) => Some(input),
            _ => None,
        }
    }

    /// Inputs with other counts for a candidate, while its edge may be guessed.
    fn counts(&self, candidate: &Candidate, pool: &Pool) -> Vec<Input> {
        if !self.known.may_guess(candidate) {
            return Vec::new();
        }
        candidate.run.guess_count(pool, candidate.turn(), &self.options.bounds)
    }

    /// Time that this thread has worked: on a machine that is busy with other
    /// things, a search does not end earlier. Of a solver that is a program of
    /// its own, nothing is known but when it answers.
    fn time(&self) -> Duration {
        let clock = match self.options.solver {
            SolverChoice::Z3 => libc::CLOCK_THREAD_CPUTIME_ID,
            SolverChoice::Command(_) => libc::CLOCK_MONOTONIC,
        };
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a clock that there is, and room for its time.
        unsafe { libc::clock_gettime(clock, &mut now) };
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }

    fn run_new(&self, inputs: &[Input]) -> Vec<Ran> {
        let new = inputs.iter().filter(|&input| !self.known.inputs.contains(input));
        new.map_while(|input| Some((input.clone(), self.run(input)?))).collect()
    }
}
