//! The states of warned objects through a run (figure 6).

use std::collections::BTreeMap;

use leakscope_wire::symbolic::{Event, EventKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::automaton::Automaton;
use crate::places::PlaceId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Created,
    /// The leak point was passed.
    Lp,
    UseAfterLp,
    /// Freed before the leak point.
    Freed1,
    /// Freed after it, without a use between.
    Freed2,
    /// Used after it, then freed.
    Freed3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    pub state: State,
    pub bytes: u32,
    /// Whether the leak point was passed while it was the last one that was made.
    pub was_newest: bool,
    /// The call that freed it.
    pub freed_at: Option<PlaceId>,
}

impl State {
    pub fn is_freed(self) -> bool {
        matches!(self, State::Freed1 | State::Freed2 | State::Freed3)
    }

    /// Whether it was there when the leak point was passed.
    pub fn has_passed(self) -> bool {
        !matches!(self, State::Created | State::Freed1)
    }

    /// After the leak point.
    pub fn is_used(self) -> bool {
        matches!(self, State::UseAfterLp | State::Freed3)
    }

    fn at_leak_point(self) -> State {
        if self == State::Created { State::Lp } else { self }
    }

    fn on_use(self) -> State {
        if self == State::Lp { State::UseAfterLp } else { self }
    }

    fn on_free(self) -> State {
        match self {
            State::Created => State::Freed1,
            State::Lp => State::Freed2,
            State::UseAfterLp => State::Freed3,
            freed => freed,
        }
    }
}

/// The objects of the warned allocation at the end of a run, in the order in
/// which they were allocated.
pub fn objects(events: &[Event], automaton: &Automaton) -> Vec<Object> {
    let mut objects: Vec<Object> = Vec::new();
    // By the run's number for an object, its place in the list.
    let mut known: FxHashMap<u32, usize> = FxHashMap::default();
    let first = if automaton.leaks_on_one_line() { State::Lp } else { State::Created };
    // The object that was made last, and the calls that make them: where one fails, the last is none.
    let mut newest: Option<usize> = None;
    let mut makers: FxHashSet<PlaceId> = automaton.allocating().collect();
    for (at, event) in events.iter().enumerate() {
        if automaton.is_leak_point(event) {
            for object in &mut objects {
                object.state = object.state.at_leak_point();
            }
            if let Some(newest) = newest {
                objects[newest].was_newest = true;
            }
        }
        match EventKind::from_u8(event.kind) {
            Some(EventKind::Allocated) if automaton.allocates(&calls(events, at)) => {
                known.insert(event.value, objects.len());
                newest = Some(objects.len());
                makers.insert(event.place);
                let was_newest = first == State::Lp;
                objects.push(Object { state: first, bytes: event.term, was_newest, freed_at: None });
            }
            Some(EventKind::Failable) if event.taken == 1 && makers.contains(&event.place) => newest = None,
            Some(EventKind::Used) => {
                if let Some(&object) = known.get(&event.value) {
                    objects[object].state = objects[object].state.on_use();
                }
            }
            Some(EventKind::Freed) => {
                if let Some(&object) = known.get(&event.value) {
                    objects[object].state = objects[object].state.on_free();
                    objects[object].freed_at = Some(event.place);
                }
            }
            _ => {}
        }
    }
    objects
}

/// Whether all that a run left was lost before it came to the leak point, where `ends` are the places at
/// which objects of the allocation were lost: each came to one of them first, and then to none, or was the
/// last one that was made then.
pub fn were_lost_before(events: &[Event], automaton: &Automaton, ends: &FxHashSet<PlaceId>) -> bool {
    #[derive(Default)]
    struct Course {
        has_passed: bool,
        ended_before: bool,
        ended_as_newest: bool,
        ended_after: bool,
    }
    let mut live: BTreeMap<u32, Course> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        if automaton.is_leak_point(event) {
            live.values_mut().for_each(|course| course.has_passed = true);
        }
        match EventKind::from_u8(event.kind) {
            Some(EventKind::Allocated) if automaton.allocates(&calls(events, at)) => {
                live.insert(event.value, Course::default());
            }
            Some(EventKind::Freed) => drop(live.remove(&event.value)),
            Some(EventKind::Point) if ends.contains(&event.place) => {
                let newest = live.keys().next_back().copied();
                for (&number, course) in &mut live {
                    course.ended_after |= course.has_passed;
                    course.ended_before |= !course.has_passed;
                    course.ended_as_newest |= !course.has_passed && Some(number) == newest;
                }
            }
            _ => {}
        }
    }
    let was_before = |course: &Course| course.ended_before && (course.ended_as_newest || !course.ended_after);
    let mut passed = live.values().filter(|course| course.has_passed).peekable();
    !automaton.leaks_on_one_line() && passed.peek().is_some() && passed.all(was_before)
}

/// Blocks that a run left unfreed, by the calls that allocated them, from the
/// inside out: how many, and their bytes.
pub fn unfreed(events: &[Event]) -> BTreeMap<Vec<PlaceId>, (u64, u64)> {
    let mut live: BTreeMap<u32, (Vec<PlaceId>, u64)> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        match EventKind::from_u8(event.kind) {
            Some(EventKind::Allocated) => {
                live.insert(event.value, (calls(events, at), event.term.into()));
            }
            Some(EventKind::Freed) => drop(live.remove(&event.value)),
            _ => {}
        }
    }
    let mut left: BTreeMap<Vec<PlaceId>, (u64, u64)> = BTreeMap::new();
    for (calls, bytes) in live.into_values() {
        let (blocks, all) = left.entry(calls).or_default();
        *blocks += 1;
        *all += bytes;
    }
    left
}

/// The calls that led to an allocation, from the inside out.
fn calls(events: &[Event], at: usize) -> Vec<PlaceId> {
    let frames = &events[at + 1..];
    let frames = &frames[..usize::from(events[at].detail).min(frames.len())];
    std::iter::once(events[at].place).chain(frames.iter().map(|frame| frame.place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 6: letters are leak point, use, free.
    #[test]
    fn the_state_machine_of_figure_6() {
        let check = |letters: &str, expected: State| {
            let state = letters.chars().fold(State::Created, |state, letter| match letter {
                'e' => state.at_leak_point(),
                'u' => state.on_use(),
                _ => state.on_free(),
            });
            assert_eq!(state, expected, "{letters}");
        };
        check("", State::Created);
        check("u", State::Created);
        check("ue", State::Lp);
        check("eu", State::UseAfterLp);
        check("euu", State::UseAfterLp);
        check("eue", State::UseAfterLp);
        check("f", State::Freed1);
        check("uf", State::Freed1);
        check("fe", State::Freed1);
        check("ef", State::Freed2);
        check("uef", State::Freed2);
        check("euf", State::Freed3);
        check("eufe", State::Freed3);
    }
}
