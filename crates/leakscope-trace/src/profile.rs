//! All live blocks of a moment by where they were allocated: what profilers
//! show, with what was lost and what went stale beside it.

use std::path::Path;

use indexmap::IndexMap;
use leakscope_core::Live;

use crate::places::{PlaceId, Places};
use crate::record::Process;
use crate::stale::{Judgement, Predicate};

/// The last record of each process, summed; most bytes first.
pub fn profile(processes: &[Process], program: &Path, predicate: &Predicate) -> Vec<Live> {
    let mut places = Places::new(program);
    let mut live: IndexMap<PlaceId, Live> = IndexMap::new();
    for record in processes.iter().filter_map(|process| process.records.last()) {
        let named = places.of_record(record);
        let accesses = record.accesses.iter().map(|&blocks| (named.of(blocks.stack), blocks));
        let returned = record.returned.iter().map(|&blocks| (named.of(blocks.stack), blocks));
        let sampling = record.sampling.unwrap_or_default();
        let judgement = Judgement::new(predicate, sampling, accesses.clone(), returned);
        for block in &record.lost {
            let at = live.entry(named.of(block.stack)).or_default();
            at.in_use.add(1, block.bytes);
            at.lost.add(1, block.bytes);
        }
        for blocks in &record.reachable {
            live.entry(named.of(blocks.stack)).or_default().in_use.add(blocks.blocks, blocks.bytes);
        }
        for (place, blocks) in accesses.filter(|(place, blocks)| judgement.is_stale(*place, blocks)) {
            let at = live.entry(place).or_default();
            at.stale.add(blocks.blocks, blocks.bytes);
            at.drag = at.drag.saturating_add(blocks.drag);
        }
    }
    let mut all: Vec<Live> =
        live.into_iter().map(|(id, live)| Live { place: places.place(id), ..live }).collect();
    // What libc allocated for the runtime's own thread is nobody's.
    all.retain(|live| !live.place.stack.is_empty());
    all.sort_by_cached_key(|live| (std::cmp::Reverse(live.in_use.bytes), format!("{:?}", live.place.stack)));
    all
}
