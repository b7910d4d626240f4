//! The marks of a warning as an ordered automaton over the events of a run:
//! its state is how many marks were passed (the paper's count).

use leakscope_core::Frame;
use leakscope_wire::symbolic::{Event, EventKind, PlaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::places::{Located, PlaceId, Places, WayId};
use crate::trace::Way;
use crate::warning::{MarkKind, PathMark, Spot, Warning};

/// A warning in the numbers of a derived program.
#[derive(Clone, Debug, Default)]
pub struct Automaton {
    pub marks: Vec<Mark>,
    /// Which of the marks is the leak point: the last, if the warning names
    /// none.
    leak: Option<usize>,
    /// The ways of branches on the line of the leak point: what is on one line
    /// with a condition may be meant by it.
    leak_ways: FxHashMap<(PlaceId, Way), WayId>,
    /// The calls that allocate: for each frame that the warning knows, from
    /// the inside out.
    allocation: Vec<FxHashSet<PlaceId>>,
    /// The first mark that no input can pass, as is known without a run.
    closed: Option<usize>,
    /// What of the warning matches no code.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Mark {
    places: FxHashSet<PlaceId>,
    /// Which way a branch is to go.
    way: Option<bool>,
    pub text: String,
    pub spot: Spot,
}

impl Automaton {
    pub fn new(warning: &Warning, places: &Places) -> Automaton {
        let mut automaton = Automaton { notes: warning.notes.clone(), ..Automaton::default() };
        let mut before = None;
        for mark in &warning.marks {
            if before == Some(mark) {
                continue;
            }
            before = Some(mark);
            let mut numbers = numbers(mark, places);
            let mut spot = mark.spot.clone();
            if numbers.is_empty()
                && let Some(before) = end_before(mark, places)
            {
                automaton
                    .notes
                    .push(format!("{mark} is the end of a block: its last line {} is taken", before.line));
                numbers = self::numbers(&PathMark { spot: before.clone(), ..mark.clone() }, places);
                spot = before;
            }
            if numbers.is_empty() {
                automaton.notes.push(format!("{mark} matches no code: tried without it"));
                continue;
            }
            if mark.kind == MarkKind::Leak {
                automaton.leak = Some(automaton.marks.len());
            }
            let way = match mark.kind {
                MarkKind::BranchTaken => Some(true),
                MarkKind::BranchNotTaken => Some(false),
                _ => None,
            };
            let text = mark.to_string();
            automaton.marks.push(Mark { places: numbers, way, text, spot });
        }
        automaton.leak = automaton.leak.or(automaton.marks.len().checked_sub(1));
        automaton.find_leak_ways(places);
        automaton.find_allocation(warning, places);
        automaton
    }

    fn find_leak_ways(&mut self, places: &Places) {
        let Some(leak) = self.leak else { return };
        let spot = &self.marks[leak].spot;
        for (place, ways) in places.ways() {
            let is_there = |located: &Located| {
                located.kind == PlaceKind::Branch && located.line == spot.line && spot.is_in(&located.file)
            };
            if places.get(place).is_some_and(is_there) {
                self.leak_ways.extend(
                    [false, true].map(|taken| ((place, Way::Branch(taken)), ways.start + WayId::from(taken))),
                );
            }
        }
    }

    /// The ways of conditions on the line of the leak point.
    pub fn leak_ways(&self) -> impl Iterator<Item = (PlaceId, Way, WayId)> + '_ {
        self.leak_ways.iter().map(|(&(place, way), &id)| (place, way, id))
    }

    fn find_allocation(&mut self, warning: &Warning, places: &Places) {
        let own = |frame: &&Frame| !frame.system && frame.line.is_some();
        let frames = warning.finding.allocated.stack.iter().filter(own);
        let spot = |frame: &Frame| Some(Spot { file: frame.file.clone()?, line: frame.line?, column: None });
        for spot in frames.filter_map(spot) {
            let calls: FxHashSet<PlaceId> = places
                .on_line(&spot)
                .filter(|(_, place)| place.kind == PlaceKind::Call)
                .map(|(number, _)| number)
                .collect();
            if calls.is_empty() {
                self.notes.push(format!("nothing is called at {spot}, where the warning sees an allocation"));
            } else {
                self.allocation.push(calls);
            }
        }
    }

    /// How many marks were passed after `event`, if `count` were before.
    pub fn next(&self, count: usize, event: &Event) -> usize {
        let mut count = count;
        while let Some(mark) = self.marks.get(count).filter(|mark| mark.is_passed(event)) {
            count += 1;
            // One branch is one mark; on one line there may be several others.
            if mark.way.is_some() {
                break;
            }
        }
        count
    }

    /// Which of the marks is the reported leak point.
    pub fn leak(&self) -> Option<usize> {
        self.leak
    }

    /// The lines of the first mark and of the leak point, as the program's
    /// places have them: without these there is no leak, whichever way is taken.
    pub fn needed<'a>(&'a self, places: &'a Places) -> impl Iterator<Item = (usize, &'a Located)> + 'a {
        let needed = [(!self.marks.is_empty()).then_some(0), self.leak];
        let points = needed.into_iter().flatten().filter(|&mark| self.marks[mark].way.is_none());
        points.flat_map(move |mark| {
            let located = self.marks[mark].places.iter().filter_map(|&place| places.get(place));
            located.map(move |located| (mark, located))
        })
    }

    /// Takes in which lines no input leads to, and on which nothing behind a condition is
    /// reached.
    pub fn rule_out(
        &mut self,
        places: &Places,
        is_closed: impl Fn(&Located) -> bool,
        is_guarded_closed: impl Fn(&Located) -> bool,
    ) {
        let leaks: Vec<_> = self.needed(places).filter(|&(mark, _)| Some(mark) == self.leak).collect();
        if !leaks.is_empty() && leaks.iter().all(|(_, located)| is_guarded_closed(located)) {
            self.leak_ways.clear();
        }
        let (open, closed): (Vec<_>, Vec<_>) =
            self.needed(places).partition(|(_, located)| !is_closed(located));
        let is_open = |mark: usize| open.iter().any(|&(other, _)| other == mark);
        self.closed = closed.iter().map(|&(mark, _)| mark).filter(|&mark| !is_open(mark)).min();
    }

    /// The first mark that no input can pass.
    pub fn closed(&self) -> Option<usize> {
        self.closed
    }

    /// Whether an event is the reported leak point.
    pub fn is_leak_point(&self, event: &Event) -> bool {
        self.leak.is_some_and(|leak| self.marks[leak].is_passed(event))
    }

    /// Whether the leak point is on one line with what comes before it, so that it is passed before the
    /// object is there.
    pub fn leaks_on_one_line(&self) -> bool {
        let is_same = |leak: usize| {
            let mut others = self.marks[..leak].iter().filter(|mark| mark.way.is_none());
            others.next_back().is_some_and(|mark| mark.places == self.marks[leak].places)
        };
        self.leak.is_some_and(is_same)
    }

    /// Whether a block that these calls allocated, from the inside out, is one
    /// of the warned objects.
    pub fn allocates(&self, calls: &[PlaceId]) -> bool {
        let mut calls = calls.iter();
        !self.allocation.is_empty()
            && self.allocation.iter().all(|wanted| calls.any(|call| wanted.contains(call)))
    }

    /// Whether there is anything to follow.
    pub fn is_in_code(&self) -> bool {
        self.has_allocation() || !self.marks.is_empty()
    }

    pub fn has_allocation(&self) -> bool {
        !self.allocation.is_empty()
    }

    /// The places that must be told whenever they are passed.
    pub fn marked(&self) -> impl Iterator<Item = PlaceId> + '_ {
        self.marks.iter().flat_map(|mark| &mark.places).copied()
    }

    /// The calls whose objects must be followed.
    pub fn allocating(&self) -> impl Iterator<Item = PlaceId> + '_ {
        self.allocation.iter().flatten().copied()
    }
}

impl Mark {
    fn is_passed(&self, event: &Event) -> bool {
        let kind = EventKind::from_u8(event.kind);
        let passes = matches!(
            kind,
            Some(EventKind::Branch | EventKind::Switch | EventKind::Point | EventKind::Failable)
        );
        let goes = self.way.is_none_or(|way| kind == Some(EventKind::Branch) && way == (event.taken == 1));
        passes && goes && self.places.contains(&event.place)
    }

    /// Whether this place, if it is a branch that goes this way, is the mark.
    pub fn is_branch(&self, place: PlaceId, taken: bool) -> bool {
        self.way == Some(taken) && self.places.contains(&place)
    }
}

/// The nearest line with code before a mark on a line without: most are braces
/// that close a block, where tools see variables die.
fn end_before(mark: &PathMark, places: &Places) -> Option<Spot> {
    let is_before = |line: u32| line < mark.spot.line && mark.spot.line - line <= MOST_EMPTY;
    let lines = places.iter().filter(|(_, place)| {
        place.kind == PlaceKind::Line && is_before(place.line) && mark.spot.is_in(&place.file)
    });
    let line = lines.map(|(_, place)| place.line).max()?;
    matches!(mark.kind, MarkKind::Point | MarkKind::Leak).then(|| Spot::new(mark.spot.file.clone(), line))
}

/// Lines without code, braces and comments, before one that closes a block.
const MOST_EMPTY: u32 = 5;

/// The places that a mark stands for. A tool that names no column, or the
/// column of the whole statement, means any branch of the line.
fn numbers(mark: &PathMark, places: &Places) -> FxHashSet<PlaceId> {
    let is_branch = matches!(mark.kind, MarkKind::BranchTaken | MarkKind::BranchNotTaken);
    let wanted = if is_branch { PlaceKind::Branch } else { PlaceKind::Line };
    let on_line = || places.on_line(&mark.spot).filter(|(_, place)| place.kind == wanted);
    let exact: FxHashSet<PlaceId> = on_line()
        .filter(|(_, place)| is_branch && Some(place.column) == mark.spot.column)
        .map(|(number, _)| number)
        .collect();
    if exact.is_empty() { on_line().map(|(number, _)| number).collect() } else { exact }
}
