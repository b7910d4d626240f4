//! Where blocks of an allocation place were freed (SWAT 3.5): the places to
//! copy a fix from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use leakscope_core::{Place, SiblingFree};

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

    /// Where the siblings of blocks allocated at `place` were freed, most
    /// blocks first. Where none was freed, those of places count that differ
    /// from it in columns alone: several calls on one line.
    pub fn of(&self, place: PlaceId, places: &Places) -> Vec<SiblingFree> {
        let freed: BTreeMap<PlaceId, u64> = match self.by_allocation.get(&place) {
            Some(freed) => freed.clone(),
            None => {
                let own = lines(&places.place(place));
                let on_lines = |(id, _): &(&PlaceId, _)| lines(&places.place(**id)) == own;
                let others = self.by_allocation.iter().filter(on_lines).flat_map(|(_, freed)| freed);
                others.fold(BTreeMap::new(), |mut sums, (&id, &blocks)| {
                    *sums.entry(id).or_default() += blocks;
                    sums
                })
            }
        };
        let mut siblings: Vec<SiblingFree> =
            freed.into_iter().map(|(id, blocks)| SiblingFree { place: places.place(id), blocks }).collect();
        // Numbers of places differ from run to run.
        siblings.sort_by_cached_key(|sibling| (Reverse(sibling.blocks), lines(&sibling.place)));
        siblings.truncate(PLACES_MAX);
        siblings
    }
}

fn lines(place: &Place) -> Vec<(Option<String>, Option<u32>, Option<u64>)> {
    place.stack.iter().map(|frame| (frame.file.clone(), frame.line, frame.offset)).collect()
}
