//! One warning while it is tried: what runs have said about it, which of their
//! decisions may lead on, and in the end its outcome.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use leakscope_core::Verdict;
use leakscope_ir::FuncId;
use leakscope_wire::symbolic::{Event, PlaceKind};
use rustc_hash::FxHashSet;

use crate::automaton::Automaton;
use crate::evidence::{Obstacles, Outcome, Stop};
use crate::knowledge::Knowledge;
use crate::objects::{Object, State, objects};
use crate::places::{PlaceId, Places, WayId};
use crate::reach::frontier::Frontier;
use crate::reach::{Cost, Distances, NEVER, Reach, UNKNOWN};
use crate::schedule::{Candidate, Schedule};
use crate::solve::{Run, Turned};
use crate::target::TIMES_BITS;
use crate::trace::{Trace, Way, mixed};
use crate::verdict::{Coverage, End, Freed, Leak, LeakWay, Tally};

/// One warning and how far it is.
pub struct Pursuit {
    pub number: usize,
    pub distances: Vec<Arc<Distances>>,
    /// Ways into the leak point: conditions on its line, and branches from which one comes
    /// there without another. What is freed on one of them may not be on the others.
    leak_ways: BTreeMap<WayId, (PlaceId, bool)>,
    /// Calls that freed the path's object right before the leak point.
    frees: FxHashSet<PlaceId>,
    pub schedule: Schedule,
    pub tally: Tally,
    pub obstacles: Obstacles,
    /// Most marks that a run has passed.
    pub passed: usize,
    /// Runs that passed so many: the first, and those that went new ways.
    pub nearest: Vec<usize>,
    /// Those of them whose parts are to be repeated, and how many were.
    pub encores: Vec<usize>,
    pub repeated: usize,
    /// And those that wrote what the frontier reads more often than any before. These may be without end.
    pub further: Vec<usize>,
    pub runs: u32,
    pub spent: Duration,
    pub chosen: u32,
    pub runs_after_other_way: u32,
    /// Runs that were made before the path was followed.
    pub runs_before_path: Option<u32>,
    /// And the time that they took.
    pub spent_before_path: Duration,
    pub fates: u32,
    /// Leaks whose place was looked for, and whether the first one by another way is this warning's.
    pub located: u32,
    pub has_sure_other_way: bool,
    /// Leaks that may be those of other warnings, with these; and whether one of them gave the verdict.
    pub aside: Vec<(Leak, Vec<usize>)>,
    pub has_taken_back: bool,
    /// Why nothing more is tried for it by itself: what is tried for others may still come to its path.
    pub rests: Option<Stop>,
    pub frontier: Frontier,
    /// Ways to the lines that write what the frontier reads.
    pub writing: Vec<WayId>,
    /// About how often a run went one of them at most.
    pub written: u32,
    /// Runs that were made before the frontier was this one, and pairs of runs
    /// that were joined since.
    pub runs_before_frontier: u32,
    pub joined: FxHashSet<(usize, usize)>,
    /// Runs of the suite when one of them last went a way that was new.
    pub suite_when_new: u32,
    pub outcome: Option<Outcome>,
}

/// Of the runs that passed equally many marks, the parts of so many are repeated.
const MOST_REPEATED: usize = 6;

/// One choice in so many is for a counter that may come further.
const FURTHER_EVERY: u32 = 4;

/// Runs that must follow the path before an object is called clean, unless there are no more.
const FEWEST: u32 = 10;

/// As far as this, or never: behind the path, the way to the first mark again.
const AWAY: Cost = 8;

/// A frontier is stuck after so many runs; then so many pairs of runs are joined.
const STUCK: u32 = 12;
const MOST_JOINED: usize = 12;

/// What there is to expect of a decision that goes another way.
#[derive(Default)]
struct Promise {
    /// Marks that are missing then.
    missing: usize,
    /// To the next one.
    distance: Cost,
    /// The decision's function, if the next mark is outside of it.
    leaves: Option<FuncId>,
}

impl Pursuit {
    pub fn new(
        number: usize,
        automaton: &Automaton,
        distances: Vec<Arc<Distances>>,
        reach: &Reach<'_>,
        places: &Places,
    ) -> Pursuit {
        Pursuit {
            number,
            leak_ways: leak_ways(automaton, &distances, reach, places),
            distances,
            frees: FxHashSet::default(),
            schedule: Schedule::default(),
            tally: Tally::default(),
            obstacles: Obstacles::default(),
            passed: 0,
            nearest: Vec::new(),
            encores: Vec::new(),
            repeated: 0,
            further: Vec::new(),
            runs: 0,
            spent: Duration::ZERO,
            chosen: 0,
            runs_after_other_way: 0,
            runs_before_path: None,
            spent_before_path: Duration::ZERO,
            fates: 0,
            located: 0,
            has_sure_other_way: false,
            aside: Vec::new(),
            has_taken_back: false,
            rests: None,
            frontier: Frontier::default(),
            writing: Vec::new(),
            written: 0,
            runs_before_frontier: 0,
            joined: FxHashSet::default(),
            suite_when_new: 0,
            outcome: None,
        }
    }

    /// What a run says about the warning, and where it could have gone
    /// otherwise: algorithm 1.
    pub fn read(
        &mut self,
        run: &Arc<Run>,
        events: &[Event],
        automaton: &Automaton,
        reach: &Reach<'_>,
        knowledge: &Knowledge,
    ) {
        let trace = &run.trace;
        let all = automaton.marks.len();
        let (mut count, mut at) = (0, 0);
        let mut candidates = Vec::new();
        for (index, decision) in trace.decisions.iter().enumerate() {
            for event in &events[at..decision.at] {
                count = automaton.next(count, event);
            }
            at = decision.at;
            for (other, &(way, term)) in decision.others.iter().enumerate() {
                // A way that can only be guessed, and that others went.
                if decision.is_again && knowledge.edges.contains(&decision.edge(way)) {
                    continue;
                }
                let Some(promise) = self.promise(count, automaton, reach, knowledge, trace, (index, way))
                else {
                    continue;
                };
                let Promise { missing, distance, leaves } = promise;
                let (way, question) = match way {
                    Way::Other(_) => {
                        let seen = knowledge.seen(decision).len() as u16;
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
                let edge = decision.edge(way);
                candidates.push(Candidate {
                    run: run.clone(),
                    decision: index,
                    other,
                    edge,
                    path,
                    expected,
                    missing,
                    missing_in_run: 0,
                    objects_in_run: 0,
                    distance,
                    to_open: UNKNOWN,
                    leaves,
                });
            }
        }
        for event in &events[at..] {
            count = automaton.next(count, event);
        }
        if count == all {
            self.rests = None;
        }
        let objects = objects(events, automaton);
        for mut candidate in candidates.into_iter().filter(|_| self.rests.is_none()) {
            candidate.missing_in_run = all - count;
            candidate.objects_in_run = objects.len();
            self.schedule.push(candidate, reach);
        }
        self.note_frees(&objects, reach);
        let end = End::of(trace).after_failure(trace.ended, events, automaton);
        self.obstacles.note_run(trace, end);
        if count > self.passed {
            self.nearest.clear();
            self.encores.clear();
            self.further.clear();
            self.repeated = 0;
        }
        self.passed = self.passed.max(count);
        if count == self.passed && count > 0 && (run.is_new || self.nearest.is_empty()) {
            self.nearest.push(run.number);
            // A counter that came further than ever may come further yet.
            if self.counts_further(trace) {
                self.further.push(run.number);
            } else if self.repeated < MOST_REPEATED {
                self.encores.push(run.number);
                self.repeated += 1;
            }
        }
        if count == all && self.runs_before_path.is_none() {
            self.runs_before_path = Some(self.runs);
            self.spent_before_path = self.spent;
        }
        let (is_whole, is_new) = (count == all, run.is_new);
        self.tally.add(run.number, &Coverage { passed: count, is_whole, is_new, objects, end });
        if run.is_new && count == all {
            self.suite_when_new = self.tally.suite;
        }
    }

    /// A way into the leak point on which the path's object is freed anyway need not be gone.
    fn note_frees(&mut self, objects: &[Object], reach: &Reach<'_>) {
        let freed_before = |object: &&Object| object.was_newest && object.state == State::Freed1;
        let known = self.frees.len();
        self.frees.extend(objects.iter().filter(freed_before).filter_map(|object| object.freed_at));
        if self.frees.len() > known {
            let frees = &self.frees;
            self.leak_ways
                .retain(|_, &mut (place, taken)| !reach.leads_straight(place, Way::Branch(taken), frees));
        }
    }

    /// Whether a run wrote more often than any before what the frontier reads, and notes that.
    fn counts_further(&mut self, trace: &Trace) -> bool {
        let times = |&way: &WayId| {
            let from = trace.coverage.partition_point(|gone| gone >> TIMES_BITS < way);
            let gone = trace.coverage.get(from).filter(|&gone| gone >> TIMES_BITS == way);
            gone.map_or(0, |gone| 1 + (gone & ((1 << TIMES_BITS) - 1)))
        };
        let most = self.writing.iter().map(times).max().unwrap_or(0);
        let is_further = most > self.written && self.written > 0;
        self.written = self.written.max(most);
        is_further
    }

    /// A run whose parts are to be repeated now.
    pub fn encore(&mut self) -> Option<usize> {
        let has_turn = self.chosen.is_multiple_of(FURTHER_EVERY) || self.schedule.is_empty();
        self.encores.pop().or_else(|| has_turn.then(|| self.further.pop()).flatten())
    }

    /// Whether some are left.
    pub fn has_encores(&self) -> bool {
        !self.encores.is_empty() || !self.further.is_empty()
    }

    /// A run that came to the frontier, and one that writes what it reads, if
    /// no run gets past it: two that were not joined yet.
    pub fn pair(&mut self, known: &Knowledge) -> Option<(usize, usize)> {
        if self.runs < self.runs_before_frontier + STUCK || self.joined.len() >= MOST_JOINED {
            return None;
        }
        let mut writers = self.writing.iter().flat_map(|&way| known.runs_of(way));
        let came = || self.frontier.ways.clone().flat_map(|way| known.runs_of(way));
        let pair = writers.find_map(|writer| {
            let is_new = |&came: &usize| came != writer && !self.joined.contains(&(writer, came));
            came().find(is_new).map(|came| (writer, came))
        })?;
        self.joined.insert(pair);
        Some(pair)
    }

    /// What there is to expect if a decision goes this way after `count` marks;
    /// `None` if the next one cannot be reached.
    fn promise(
        &self,
        count: usize,
        automaton: &Automaton,
        reach: &Reach<'_>,
        known: &Knowledge,
        trace: &Trace,
        (decision, way): (usize, Way),
    ) -> Option<Promise> {
        let decision = &trace.decisions[decision];
        let Some(mark) = automaton.marks.get(count) else {
            let leads_in = |(id, &(place, taken)): (&WayId, &(PlaceId, bool))| {
                (place, Way::Branch(taken)) == (decision.place, way) && !known.gone.contains(id)
            };
            if self.leak_ways.iter().any(leads_in) {
                return Some(Promise::default());
            }
            // Another object may be the one that is lost.
            let again = self
                .distances
                .first()
                .map_or(AWAY, |first| reach.after(first, decision.place, way, trace.frames(decision.stack)));
            return Some(Promise { distance: again.min(AWAY), ..Promise::default() });
        };
        let missing = automaton.marks.len() - count;
        if let Way::Branch(taken) = way
            && mark.is_branch(decision.place, taken)
        {
            return Some(Promise { missing: missing - 1, ..Promise::default() });
        }
        let to = |mark: usize, missing: usize| {
            let distances = &self.distances[mark];
            let distance = match reach.after(distances, decision.place, way, trace.frames(decision.stack)) {
                NEVER if distances.is_reachable => return None,
                NEVER => UNKNOWN,
                near => near,
            };
            let is_outside = reach.down(distances, decision.place, way) == NEVER;
            let leaves = reach.function_of(decision.place).filter(|_| is_outside);
            Some(Promise { missing, distance, leaves })
        };
        // A way past the next mark may still leak: what a tool tells of the path
        // may be one of several that it has joined. It is tried last.
        to(count, missing).or_else(|| {
            let leak = automaton.leak().filter(|&leak| leak > count)?;
            to(leak, automaton.marks.len() + 1)
        })
    }

    /// Whether its turn comes again.
    pub fn is_active(&self) -> bool {
        self.outcome.is_none() && self.rests.is_none()
    }

    /// Tries nothing more by itself.
    pub fn rest(&mut self, why: Stop) {
        self.rests = Some(why);
        self.schedule = Schedule::default();
        self.schedule.has_forgotten = true;
        self.encores.clear();
        self.further.clear();
    }

    /// The first leak may be that of one of these others.
    pub fn put_aside(&mut self, others: Vec<usize>) {
        self.aside.extend(self.tally.leaks.pop().map(|leak| (leak, others)));
    }

    /// Whether one of the leaks that were put aside is no other warning's.
    pub fn is_aside_for_certain(&self) -> bool {
        self.aside.iter().any(|(_, others)| others.is_empty())
    }

    /// Whether it leaks by a run that says nothing else.
    pub fn leaks_for_certain(&self) -> bool {
        let is_leak = |outcome: &Outcome| outcome.verdict == Verdict::MustLeak;
        self.outcome.as_ref().is_some_and(is_leak) && !self.has_taken_back
    }

    /// A way into the leak point that no run went, of a branch that was come to.
    pub fn open_leak_way(&self, gone: &FxHashSet<WayId>) -> Option<(PlaceId, Way)> {
        let is_open = |(id, (_, taken)): &(&WayId, &(PlaceId, bool))| {
            let other = if *taken { *id - 1 } else { *id + 1 };
            !gone.contains(id) && gone.contains(&other)
        };
        let open = self.leak_ways.iter().find(is_open);
        open.map(|(_, &(place, taken))| (place, Way::Branch(taken)))
    }

    /// Whether all objects were freed before the leak point, and there is a branch right before it that no
    /// run came to, or it is not known which branches lead there: what comes by that may not be freed.
    pub fn has_hidden_leak_way(&self, automaton: &Automaton, gone: &FxHashSet<WayId>) -> bool {
        let is_hidden = |(id, (_, taken)): (&WayId, &(PlaceId, bool))| {
            let other = if *taken { *id - 1 } else { *id + 1 };
            !gone.contains(id) && !gone.contains(&other)
        };
        let Freed { used, unused, .. } = self.tally.freed;
        let is_known = automaton.leak().is_none_or(|leak| self.distances[leak].is_reachable);
        used + unused == 0 && (!is_known || self.leak_ways.iter().any(is_hidden))
    }

    pub fn judged(&self, automaton: &Automaton, stop: Stop, places: &Places, known: &Knowledge) -> Outcome {
        let all = automaton.marks.len();
        let obstacles = self.obstacles.texts(places);
        let (verdict, reason) = match self.tally.verdict() {
            Some(Verdict::MustLeak) => (Verdict::MustLeak, self.leak_text()),
            Some(verdict) if self.tally.leaks.has_unseen => {
                let freed = self.freed_text(verdict);
                (Verdict::MayLeak, format!("{freed}, but more runs left objects than were looked at"))
            }
            Some(verdict) if self.tally.suite < FEWEST && !self.is_explored(stop, known) => {
                let what = format!("{}, which are few", self.freed_text(verdict));
                (Verdict::MayLeak, format!("{what}: {}", self.why_open(stop, known, &obstacles)))
            }
            Some(verdict) if self.open_leak_way(&known.gone).is_some() && !self.is_explored(stop, known) => {
                let freed = self.freed_text(verdict);
                let what = "but a condition at the leak point was always the same";
                (Verdict::MayLeak, format!("{freed}, {what}: {}", self.why_open(stop, known, &obstacles)))
            }
            Some(verdict)
                if self.has_hidden_leak_way(automaton, &known.gone) && !self.is_explored(stop, known) =>
            {
                let freed = self.freed_text(verdict);
                let what = "but no run came to a condition before the leak point";
                (Verdict::MayLeak, format!("{freed}, {what}: {}", self.why_open(stop, known, &obstacles)))
            }
            Some(verdict) => (verdict, self.freed_text(verdict)),
            None if self.is_infeasible(automaton, stop, known) => {
                let reason = match automaton.closed() {
                    Some(closed) => format!("no way leads to {}", automaton.marks[closed].text),
                    None => {
                        let text = &automaton.marks[self.passed].text;
                        format!("no input passes {text} after the marks before it")
                    }
                };
                (Verdict::LikelyNotLeak, format!("the path is infeasible: {reason}"))
            }
            None => (Verdict::MayLeak, self.why_unknown(automaton, stop, known, &obstacles)),
        };
        let leak = self.tally.leak();
        let shown = leak.map(|leak| leak.run).or(self.tally.shown);
        let elsewhere = self.tally.elsewhere.filter(|_| leak.is_none());
        let elsewhere = elsewhere.map(|_| "other objects of the allocation leak elsewhere".to_owned());
        Outcome {
            verdict,
            reason,
            notes: automaton.notes.iter().cloned().chain(elsewhere).collect(),
            input: shown.map(|run| known.runs[run].clone()),
            leak,
            tally: self.tally.clone(),
            passed: self.passed,
            marks: all,
            runs: self.runs,
        }
    }

    /// Whether no input can follow the path, as is known without trying. A run
    /// that does so all the same knows better.
    pub fn is_ruled_out(&self, automaton: &Automaton) -> bool {
        automaton.closed().is_some_and(|closed| self.passed <= closed) && self.tally.leak().is_none()
    }

    /// Definition 4, part 1: a mark that no input reaches, shown by trying
    /// every way to it.
    fn is_infeasible(&self, automaton: &Automaton, stop: Stop, known: &Knowledge) -> bool {
        if self.is_ruled_out(automaton) {
            return true;
        }
        self.passed < automaton.marks.len() && self.is_explored(stop, known)
    }

    /// Whether every way was tried, and nothing stood in the way.
    fn is_explored(&self, stop: Stop, known: &Knowledge) -> bool {
        stop == Stop::Explored
            && self.schedule.is_empty()
            && !self.schedule.has_forgotten
            && !known.has_left_out
            && self.obstacles.is_empty()
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
        let Tally { suite, freed: Freed { used, unused, before }, .. } = &self.tally;
        let all = used + unused + before;
        let runs = if *suite == 1 { "1 run".to_owned() } else { format!("{suite} runs") };
        match verdict {
            Verdict::Bloat if *unused == 0 => {
                format!("all {all} objects were freed before the leak point ({runs})")
            }
            Verdict::Bloat => {
                format!(
                    "all were freed, but {unused} of {all} objects not used after the leak point ({runs})"
                )
            }
            _ if *before > 0 => {
                format!(
                    "{used} objects were used after the leak point, {before} freed before; all were freed ({runs})"
                )
            }
            _ => format!("all {all} objects were used after the leak point and freed ({runs})"),
        }
    }

    fn why_unknown(
        &self,
        automaton: &Automaton,
        stop: Stop,
        known: &Knowledge,
        obstacles: &[String],
    ) -> String {
        let what = match automaton.marks.get(self.passed) {
            Some(mark) => format!("{} was never reached", mark.text),
            None if !automaton.has_allocation() => "the warning names no allocation in the code".to_owned(),
            None if self.tally.elsewhere.is_some() => {
                "every run that followed the path left objects that were lost elsewhere".to_owned()
            }
            None if self.tally.has_lost_before => {
                "every run that followed the path left objects that were lost before the leak point"
                    .to_owned()
            }
            None if self.tally.cut > 0 => "every run that followed the path crashed or hung".to_owned(),
            None => "no object was allocated on the path".to_owned(),
        };
        format!("{what}: {}", self.why_open(stop, known, obstacles))
    }

    /// What kept the search from going on.
    fn why_open(&self, stop: Stop, known: &Knowledge, obstacles: &[String]) -> String {
        let mut why = if obstacles.is_empty() { vec![stop.text().to_owned()] } else { obstacles.to_vec() };
        if (self.schedule.has_forgotten || known.has_left_out) && stop == Stop::Explored {
            why.push("more ways than there is room for".to_owned());
        }
        let limit = (stop != Stop::Explored && !obstacles.is_empty()).then(|| stop.text().to_owned());
        why.extend(limit);
        why.join("; ")
    }
}

fn leak_ways(
    automaton: &Automaton,
    distances: &[Arc<Distances>],
    reach: &Reach<'_>,
    places: &Places,
) -> BTreeMap<WayId, (PlaceId, bool)> {
    let (Some(first), Some(leak)) = (distances.first(), automaton.leak()) else { return BTreeMap::new() };
    let branches = places
        .ways()
        .filter(|(place, _)| places.get(*place).is_some_and(|located| located.kind == PlaceKind::Branch));
    let ways = branches.flat_map(|(place, ways)| {
        [false, true].map(|taken| (place, Way::Branch(taken), ways.start + WayId::from(taken)))
    });
    // What comes by the allocation is before it.
    let leads_in = |&(place, way, _): &(PlaceId, Way, WayId)| {
        reach.down(&distances[leak], place, way) == 0 && reach.down(first, place, way) != 0
    };
    let ways = ways.filter(leads_in).chain(automaton.leak_ways());
    let ways = ways.filter(|&(place, ..)| !reach.is_delete(place));
    ways.map(|(place, way, id)| (id, (place, way == Way::Branch(true)))).collect()
}

impl Obstacles {
    pub fn note(&mut self, candidate: &Candidate, turned: &Turned) {
        let place = candidate.edge.place;
        match turned {
            // Other values than the one in the way are tried by themselves.
            Turned::To(_) | Turned::Closed | Turned::Guessed(_) | Turned::Pinned(..) | Turned::Postponed => {}
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
