//! Where blocks of an allocation place were freed (SWAT 3.5): the places to
//! copy a fix from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use leakscope_core::{Frame, Place, SiblingFree};

use crate::places::{PlaceId, Places, RecordPlaces};
use crate::record::Record;

/// More places say no more.
const PLACES_MAX: usize = 5;

/// Blocks by allocation place and place of the free.
#[derive(Default)]
pub struct Frees {
    by_allocation: HashMap<PlaceId, BTreeMap<PlaceId, u64>>,
}

impl Frees {
    pub fn add(&mut self, named: &RecordPlaces, record: &Record) {
        for free in &record.frees {
            if let (Some(allocated), Some(freed)) = (named.known(free.allocated), named.known(free.freed)) {
                let blocks = self.by_allocation.entry(allocated).or_default().entry(freed).or_default();
                *blocks = blocks.saturating_add(free.blocks);
            }
        }
    }

    /// Where the siblings of blocks allocated at `place`, which is `allocated`,
    /// were freed, most blocks first. Where none was freed, those count that were
    /// allocated on the same line for others: of all such, the ones whose callers
    /// agree the furthest.
    pub fn of(&self, place: PlaceId, allocated: &Place, places: &Places) -> Vec<SiblingFree> {
        let freed = match self.by_allocation.get(&place) {
            Some(freed) => freed.clone(),
            None => self.of_line(allocated, places),
        };
        let mut siblings: Vec<SiblingFree> =
            freed.into_iter().map(|(id, blocks)| SiblingFree { place: places.place(id), blocks }).collect();
        // Numbers of places differ from run to run.
        siblings.sort_by_cached_key(|sibling| (Reverse(sibling.blocks), lines(&sibling.place)));
        siblings.truncate(PLACES_MAX);
        siblings
    }

    fn of_line(&self, allocated: &Place, places: &Places) -> BTreeMap<PlaceId, u64> {
        let own = lines(allocated);
        let headline = allocated.headline();
        let inside = allocated.stack.iter().position(|frame| Some(frame) == headline).unwrap_or(0);
        let mut furthest = allocated.inner.len() + inside + 1;
        let mut sums = BTreeMap::new();
        for (&id, freed) in &self.by_allocation {
            let others = lines(&places.place(id));
            let common = own.iter().zip(&others).take_while(|(own, other)| own == other).count();
            if common > furthest {
                sums.clear();
                furthest = common;
            }
            if common == furthest {
                for (&id, &blocks) in freed {
                    let sum: &mut u64 = sums.entry(id).or_default();
                    *sum = sum.saturating_add(blocks);
                }
            }
        }
        sums
    }
}

/// The frames of a place from the innermost on, without columns.
fn lines(place: &Place) -> Vec<Line> {
    let line = |frame: &Frame| (frame.file.clone(), frame.line, frame.offset, frame.function.clone());
    place.inner.iter().chain(&place.stack).map(line).collect()
}

type Line = (Option<String>, Option<u32>, Option<u64>, Option<String>);
