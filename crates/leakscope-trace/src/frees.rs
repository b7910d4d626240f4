//! Where blocks of an allocation place were freed (SWAT 3.5): the places to
//! copy a fix from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use leakscope_core::{Frame, Place, SiblingFree};

use crate::places::{Call, PlaceId, Places, RecordPlaces};
use crate::record::Record;

/// More places say no more.
const PLACES_MAX: usize = 5;

/// Blocks by allocation and place of the free.
#[derive(Default)]
pub struct Frees {
    by_allocation: HashMap<(PlaceId, Option<Call>), BTreeMap<PlaceId, u64>>,
}

impl Frees {
    pub fn add(&mut self, named: &RecordPlaces, record: &Record) {
        for free in &record.frees {
            if let (Some(allocated), Some(freed)) = (named.known(free.allocated), named.known(free.freed)) {
                let key = (allocated, named.call(free.allocated));
                add(self.by_allocation.entry(key).or_default(), freed, free.blocks);
            }
        }
    }

    /// Where the siblings of blocks allocated at `place`, which is `allocated`, by
    /// one of `calls` were freed, most blocks first. Where none was freed, those count that were
    /// allocated by the same call for others: of all such, the ones whose callers
    /// agree the furthest.
    pub fn of(
        &self,
        place: PlaceId,
        calls: &BTreeSet<Option<Call>>,
        allocated: &Place,
        places: &Places,
    ) -> Vec<SiblingFree> {
        let mut freed = BTreeMap::new();
        for own in calls.iter().filter_map(|&call| self.by_allocation.get(&(place, call))) {
            own.iter().for_each(|(&id, &blocks)| add(&mut freed, id, blocks));
        }
        if freed.is_empty() {
            freed = self.of_call(calls, allocated, places);
        }
        let mut siblings: Vec<(PlaceId, u64)> = freed.into_iter().collect();
        // Numbers of places differ from run to run.
        siblings
            .sort_by_cached_key(|&(id, blocks)| (Reverse(blocks), lines(places, id).collect::<Vec<Line>>()));
        siblings.truncate(PLACES_MAX);
        siblings.into_iter().map(|(id, blocks)| SiblingFree { place: places.place(id), blocks }).collect()
    }

    fn of_call(
        &self,
        calls: &BTreeSet<Option<Call>>,
        allocated: &Place,
        places: &Places,
    ) -> BTreeMap<PlaceId, u64> {
        let own: Vec<Line> = allocated.inner.iter().chain(&allocated.stack).map(line).collect();
        let headline = allocated.headline();
        let inside = allocated.stack.iter().position(|frame| Some(frame) == headline).unwrap_or(0);
        let mut furthest = allocated.inner.len() + inside + 1;
        let mut sums = BTreeMap::new();
        for (&(id, _), freed) in self.by_allocation.iter().filter(|((_, call), _)| calls.contains(call)) {
            let common = own.iter().zip(lines(places, id)).take_while(|(own, other)| *own == other).count();
            // A line may ask for blocks of several kinds.
            let is_other = || column(allocated).zip(column(&places.place(id))).is_some_and(|(a, b)| a != b);
            if common < furthest || is_other() {
                continue;
            }
            if common > furthest {
                sums.clear();
                furthest = common;
            }
            freed.iter().for_each(|(&id, &blocks)| add(&mut sums, id, blocks));
        }
        sums
    }
}

fn add(sums: &mut BTreeMap<PlaceId, u64>, id: PlaceId, blocks: u64) {
    let sum = sums.entry(id).or_default();
    *sum = sum.saturating_add(blocks);
}

fn column(place: &Place) -> Option<u32> {
    place.headline()?.column
}

/// The frames of a place from the innermost on, without columns.
fn lines(places: &Places, id: PlaceId) -> impl Iterator<Item = Line<'_>> {
    places.inner(id).chain(places.stack(id)).map(line)
}

fn line(frame: &Frame) -> Line<'_> {
    (frame.file.as_deref(), frame.line, frame.offset, frame.function.as_deref())
}

type Line<'a> = (Option<&'a str>, Option<u32>, Option<u64>, Option<&'a str>);
