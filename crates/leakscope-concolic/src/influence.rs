//! Which functions' decisions matter elsewhere: of each function, how often a
//! decision in it was turned, and how often the run then went other ways
//! outside of it.
//!
//! Code that quotes, formats or prints decides much that changes nothing but
//! what is put out; that code is not told apart by its look, only by this.

use leakscope_ir::FuncId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::places::{PlaceId, Places, WayId};
use crate::reach::Reach;
use crate::target::TIMES_BITS;

#[derive(Debug, Default)]
pub struct Influence {
    /// The function of each way.
    functions: FxHashMap<WayId, FuncId>,
    /// Each function with all that it calls.
    below: FxHashMap<FuncId, FxHashSet<FuncId>>,
    turns: FxHashMap<FuncId, Turns>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    all: u32,
    /// Those that changed something outside.
    effective: u32,
}

/// A turn that changed something makes up for so many that did not: a function that
/// looks for two characters changes nothing while it has one.
const WORTH: u32 = 12;

/// More doublings say no more.
const MOST_IDLE: u64 = 5;

impl Influence {
    pub fn new(reach: &Reach<'_>, places: &Places) -> Influence {
        let ways = places.ways().filter_map(|(place, ways)| Some((reach.function_of(place)?, ways)));
        let functions = ways.flat_map(|(function, ways)| ways.map(move |way| (way, function))).collect();
        Influence { functions, ..Influence::default() }
    }

    /// A decision at a place was turned: what runs covered before and after.
    pub fn note(&mut self, reach: &Reach<'_>, place: PlaceId, before: &[u32], after: &[u32]) {
        let Some(function) = reach.function_of(place) else { return };
        let below = self.below.entry(function).or_insert_with(|| reach.below(function));
        let functions = &self.functions;
        let outside = |coverage: &[u32]| -> FxHashSet<WayId> {
            let ways = coverage.iter().map(|gone| gone >> TIMES_BITS);
            ways.filter(|way| functions.get(way).is_some_and(|of| !below.contains(of))).collect()
        };
        let turns = self.turns.entry(function).or_default();
        turns.all += 1;
        turns.effective += u32::from(outside(before) != outside(after));
    }

    /// How little the decisions of a function matter: the doublings of turns
    /// that changed nothing.
    pub fn idleness(&self, function: FuncId) -> u64 {
        let turns = self.turns.get(&function).copied().unwrap_or_default();
        let idle = turns.all.saturating_sub(WORTH * turns.effective);
        u64::from((idle + 1).ilog2()).min(MOST_IDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::tests::program;

    const SOURCE: &str = "\
extern int in(void);
static int quote(int a) {
    if (a == 1)
        return in();
    return 0;
}
static int parse(int a) {
    return a == 2 ? in() : quote(a);
}
int main(void) {
    if (parse(in()))
        return 1;
    return 0;
}
";

    /// How idle the function of the branch on a line is after turns of it that
    /// changed ways on these lines.
    #[track_caller]
    fn check(line: u32, changed: &[u32], expected: u64) {
        let (program, places) = program(SOURCE);
        let reach = Reach::new(&program, &places);
        let mut influence = Influence::new(&reach, &places);
        let at = |line: u32| {
            let way = |(id, ways): (PlaceId, std::ops::Range<WayId>)| Some((id, ways.last()?));
            let found = places.ways().filter_map(way).find(|(id, _)| places.get(*id).unwrap().line == line);
            found.expect("a branch")
        };
        let (place, _) = at(line);
        for &line in changed {
            influence.note(&reach, place, &[], &[at(line).1 << TIMES_BITS]);
        }
        assert_eq!(influence.idleness(reach.function_of(place).unwrap()), expected);
    }

    #[test]
    fn what_changes_nothing_outside_is_idle() {
        check(3, &[], 0);
        check(3, &[3], 1);
        check(3, &[3; 7], 3);
        check(3, &[3; 200], MOST_IDLE);
        // What it calls is no outside.
        check(8, &[3; 7], 3);
        // A few turns that matter make up for many.
        check(3, &[3, 3, 3, 11], 0);
        check(3, &[3, 3, 3, 8], 0);
    }
}
