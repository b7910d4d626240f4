//! From the runs of a warning to its verdict: conditions C_w, C_s and C_b,
//! definitions 3 to 6, a leak over bloat over likely no leak.

use std::collections::VecDeque;

use leakscope_core::Verdict;
use leakscope_wire::symbolic::{Event, EventKind};

use crate::automaton::Automaton;
use crate::objects::{Object, State};
use crate::target::Ended;
use crate::trace::Trace;
use crate::warning::Spot;

/// What one run says about one warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// How many marks were passed, in order.
    pub passed: usize,
    /// Whether those were all: the run is one of the suite S_w (definition 2).
    pub is_whole: bool,
    /// Whether the run went a new way.
    pub is_new: bool,
    pub objects: Vec<Object>,
    pub end: End,
}

/// How a run ended, for the question whether something was left unfreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `main` returned, or the program exited with success.
    Regular,
    /// It gave up with `exit` and a status: programs do not tidy up then, so
    /// what can still be reached says nothing.
    GaveUp,
    /// It was cut off: it crashed, hung, or told more than fits.
    Cut,
}

impl End {
    pub fn of(trace: &Trace) -> End {
        match trace.ended {
            _ if trace.limits & leakscope_wire::symbolic::limits::EVENTS != 0 => End::Cut,
            Ended::Exit(0) => End::Regular,
            Ended::Exit(_) if trace.has_returned => End::Regular,
            Ended::Exit(_) => End::GaveUp,
            Ended::Unknown | Ended::Signal(_) | Ended::OutOfTime => End::Cut,
        }
    }

    /// The same for a warning: where a call was made to fail behind the last leak
    /// point, and `main` then returned a status, the program gave up, too. What it
    /// did not free is not what the warning is about.
    pub fn after_failure(self, ended: Ended, events: &[Event], automaton: &Automaton) -> End {
        let failed = |event: &Event| event.kind == EventKind::Failable as u8 && event.taken == 1;
        let last = |is: &dyn Fn(&Event) -> bool| events.iter().rposition(is);
        let has_status = matches!(ended, Ended::Exit(status) if status != 0);
        match self {
            End::Regular if has_status && last(&failed) > last(&|event| automaton.is_leak_point(event)) => {
                End::GaveUp
            }
            end => end,
        }
    }
}

/// What became of an object that a run did not free.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// With where, of all objects of the allocation that are left; nowhere if that is not known of
    /// each.
    Lost(Vec<Spot>),
    Reachable,
    Unknown,
}

/// A run that left a warned object unfreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Number of the run.
    pub run: usize,
    pub blocks: u64,
    pub bytes: u64,
    /// Whether one of them was the last that was made when the leak point was passed.
    pub has_newest: bool,
    /// Whether the last one that was made was freed before, each time that the leak point was passed.
    pub newest_was_freed: bool,
    /// Whether the run went a new way.
    pub is_new: bool,
    pub way: LeakWay,
    pub end: End,
    /// What became of the run's other objects.
    pub freed: Freed,
}

/// Objects that were freed: used after the leak point, not used, and before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    pub used: u64,
    pub unused: u64,
    pub before: u64,
}

impl Freed {
    fn of(objects: &[Object]) -> Freed {
        let count = |state| objects.iter().filter(|object| object.state == state).count() as u64;
        Freed { used: count(State::Freed3), unused: count(State::Freed2), before: count(State::Freed1) }
    }

    fn add(&mut self, other: Freed) {
        self.used += other.used;
        self.unused += other.unused;
        self.before += other.before;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeakWay {
    /// All marks were passed in order.
    Marked,
    /// The leak point was passed, but by another way than the warning's.
    Other,
}

/// Leaks of one kind in the order in which they were found, held until it is looked where they are.
#[derive(Clone, Debug, Default)]
pub struct Leaks {
    found: VecDeque<Leak>,
    /// Whether some are of runs that nobody looked at.
    pub has_unseen: bool,
}

const MOST_LEAKS: usize = 4000;

impl Leaks {
    pub fn add(&mut self, leak: Leak) {
        let is_full = self.found.len() == MOST_LEAKS;
        self.has_unseen |= is_full;
        self.found.extend((!is_full).then_some(leak));
    }

    pub fn first(&self) -> Option<Leak> {
        self.found.front().copied()
    }

    pub fn pop(&mut self) -> Option<Leak> {
        self.found.pop_front()
    }
}

/// What all runs together say about one warning.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Runs of S_w that came to their end and had warned objects.
    pub suite: u32,
    /// Runs of S_w that were cut off.
    pub cut: u32,
    pub freed: Freed,
    /// The run that shows best whether the object is freed: unused before
    /// used.
    pub shown: Option<usize>,
    pub leaks: Leaks,
    /// Whether runs left what was lost before it came to the leak point.
    pub has_lost_before: bool,
    /// Leaks at the place of another warning about the same allocation, or in another function.
    pub elsewhere: Option<Leak>,
    /// Leaks where the program gave up; they count if no run frees.
    pub given_up: Option<Leak>,
    pub other_ways: Leaks,
}

impl Tally {
    /// Takes a run in; says whether it decides.
    pub fn add(&mut self, run: usize, coverage: &Coverage) {
        // An object that was made after the leak point was passed for the last time, or on a way
        // past it, is not the warning's, where others went its way.
        let went = |object: &Object| object.state.has_passed() || object.was_newest;
        let has_gone = coverage.objects.iter().any(went);
        let is_left = |object: &&Object| !object.state.is_freed() && (object.state.has_passed() || !has_gone);
        let left: Vec<&Object> = coverage.objects.iter().filter(is_left).collect();
        let newest = || coverage.objects.iter().filter(|object| object.was_newest);
        let leak = |way| Leak {
            run,
            blocks: left.len() as u64,
            bytes: left.iter().map(|object| u64::from(object.bytes)).sum(),
            has_newest: left.iter().any(|object| object.was_newest),
            newest_was_freed: newest().next().is_some()
                && newest().all(|object| object.state == State::Freed1),
            is_new: coverage.is_new,
            way,
            end: coverage.end,
            freed: Freed::of(&coverage.objects),
        };
        if coverage.end == End::Cut {
            self.cut += u32::from(coverage.is_whole);
            return;
        }
        if !coverage.is_whole {
            let passed_by = |object: &&Object| object.state.has_passed();
            if coverage.end == End::Regular && left.iter().any(passed_by) {
                self.other_ways.add(leak(LeakWay::Other));
            }
            return;
        }
        if coverage.objects.is_empty() {
            return;
        }
        if !left.is_empty() {
            let leak = leak(LeakWay::Marked);
            if coverage.end == End::Regular {
                self.leaks.add(leak);
            } else {
                self.given_up.get_or_insert(leak);
            }
            return;
        }
        self.add_freed(run, Freed::of(&coverage.objects));
    }

    /// All objects of a run that the warning is about were freed.
    fn add_freed(&mut self, run: usize, freed: Freed) {
        self.suite += 1;
        if self.shown.is_none() || freed.unused > 0 && self.freed.unused == 0 {
            self.shown = Some(run);
        }
        self.freed.add(freed);
    }

    /// The leak that was found first is another one; the next one takes its place.
    pub fn leave(&mut self) {
        self.elsewhere = self.elsewhere.or(self.leaks.pop());
    }

    /// What the first such run left was lost before it came to the leak point; its other objects count.
    pub fn leave_lost_before(&mut self) {
        self.has_lost_before = true;
        let leak = self.leaks.pop().filter(|leak| leak.freed.used + leak.freed.unused > 0);
        if let Some(leak) = leak {
            self.add_freed(leak.run, leak.freed);
        }
    }

    /// The verdict that the runs alone give; `None` if none followed the path.
    ///
    /// By the letter of C_s and C_b, an object that was freed before the leak
    /// point is one that was not used after it. So it is where there are no
    /// others; beside objects that passed the leak point it says nothing of
    /// them: they came another way.
    pub fn verdict(&self) -> Option<Verdict> {
        if self.leak().is_some() {
            Some(Verdict::MustLeak)
        } else if self.suite == 0 {
            None
        } else if self.freed.unused > 0 || self.freed.used == 0 {
            Some(Verdict::Bloat)
        } else {
            Some(Verdict::LikelyNotLeak)
        }
    }

    /// The run that shows the leak, the warning's own way before others.
    pub fn leak(&self) -> Option<Leak> {
        // What was made before the path's own object, and lost elsewhere, says nothing of that.
        let elsewhere = self.elsewhere.filter(|leak| leak.has_newest);
        let alone = self.given_up.or(elsewhere).filter(|_| self.suite == 0);
        self.leaks.first().or(self.other_ways.first()).or(alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: bool = true;
    const SOME: bool = false;

    /// Runs as (all marks passed, states of the objects, end).
    fn check(runs: &[(bool, &[State], End)], expected: Option<Verdict>) {
        let mut tally = Tally::default();
        for (number, &(is_whole, states, end)) in runs.iter().enumerate() {
            let object = |&state: &State| Object { state, bytes: 8, was_newest: false, freed_at: None };
            let objects = states.iter().map(object).collect();
            tally.add(number, &Coverage { passed: 0, is_whole, is_new: false, objects, end });
        }
        assert_eq!(tally.verdict(), expected, "{runs:?}");
    }

    #[test]
    fn definitions_3_to_6() {
        use End::*;
        use State::*;
        use Verdict::*;
        check(&[], None);
        check(&[(ALL, &[], Regular)], None);
        check(&[(SOME, &[Freed3], Regular)], None);
        check(&[(ALL, &[Lp], Regular)], Some(MustLeak));
        check(&[(ALL, &[UseAfterLp], Regular)], Some(MustLeak));
        check(&[(ALL, &[Freed3], Regular), (ALL, &[Freed3, Lp], Regular)], Some(MustLeak));
        check(&[(ALL, &[Freed3], Regular)], Some(LikelyNotLeak));
        check(&[(ALL, &[Freed3, Freed2], Regular)], Some(Bloat));
        check(&[(ALL, &[Freed2], Regular), (ALL, &[Freed3], Regular)], Some(Bloat));
        check(&[(ALL, &[Freed1], Regular)], Some(Bloat));
        check(&[(ALL, &[Freed1, Freed3], Regular)], Some(LikelyNotLeak));
        check(&[(ALL, &[Freed1, Freed2], Regular)], Some(Bloat));
        check(&[(ALL, &[Created], Regular)], Some(MustLeak));
        check(&[(ALL, &[Freed3, Created], Regular)], Some(LikelyNotLeak));
        check(&[(ALL, &[Freed3, Created], Regular), (ALL, &[Lp, Created], Regular)], Some(MustLeak));
        check(&[(SOME, &[Lp], Regular)], Some(MustLeak));
        check(&[(SOME, &[Created], Regular)], None);
    }

    #[test]
    fn runs_that_were_cut_off_or_gave_up() {
        use End::*;
        use State::*;
        use Verdict::*;
        check(&[(ALL, &[Lp], Cut)], None);
        check(&[(ALL, &[Freed3], Cut)], None);
        check(&[(ALL, &[Lp], GaveUp)], Some(MustLeak));
        check(&[(ALL, &[Lp], GaveUp), (ALL, &[Freed3], Regular)], Some(LikelyNotLeak));
        check(&[(ALL, &[Lp], GaveUp), (ALL, &[Freed2], Regular), (ALL, &[Lp], Regular)], Some(MustLeak));
        check(&[(SOME, &[Lp], GaveUp)], None);
    }
}
