//! What is held of the runs: their terms are large, and a search has thousands
//! of them. Those that promise least are forgotten, with what could have been
//! turned in them.

use std::cmp::Reverse;
use std::sync::{Arc, Weak};

use rustc_hash::{FxHashMap, FxHashSet};

use super::Search;
use crate::solve::Run;

/// About so many bytes of runs are held, and so many after some were forgotten.
const MOST: usize = 384 << 20;
const FEWER: usize = MOST / 4 * 3;

/// Runs that something may still refer to, with their sizes.
#[derive(Default)]
pub struct Held {
    runs: Vec<(Weak<Run>, usize)>,
}

impl Held {
    pub fn add(&mut self, run: &Arc<Run>) {
        self.runs.push((Arc::downgrade(run), run.bytes()));
    }

    /// The runs that are still held, by number, with their sizes.
    fn sizes(&mut self) -> Vec<(usize, usize)> {
        self.runs.retain(|(run, _)| run.strong_count() > 0);
        self.runs.iter().filter_map(|(run, size)| Some((run.upgrade()?.number, *size))).collect()
    }
}

impl Search<'_> {
    /// Forgets runs, the worst for all open warnings first, if they are too much.
    pub fn forget(&mut self) {
        let sizes = self.held.sizes();
        let all: usize = sizes.iter().map(|(_, size)| size).sum();
        if all <= MOST {
            return;
        }
        let mut scores: FxHashMap<usize, u64> = FxHashMap::default();
        for pursuit in &self.pursuits {
            pursuit.schedule.best_of_runs(&self.known, &mut scores);
        }
        let worst = worst(sizes, all, |run| scores.get(&run).copied().unwrap_or(u64::MAX));
        for pursuit in &mut self.pursuits {
            pursuit.schedule.forget(&worst);
        }
    }
}

/// The runs to forget so that what is left is little enough.
fn worst(mut sizes: Vec<(usize, usize)>, mut all: usize, score: impl Fn(usize) -> u64) -> FxHashSet<usize> {
    // Of equally good ones the later are forgotten: what they know is known.
    sizes.sort_by_key(|&(run, _)| Reverse((score(run), run)));
    let mut forgotten = FxHashSet::default();
    for (run, size) in sizes {
        if all <= FEWER {
            break;
        }
        all -= size;
        forgotten.insert(run);
    }
    forgotten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_forgotten_until_it_is_little() {
        let check = |sizes: &[usize], scores: &[u64], expected: &[usize]| {
            let numbered = sizes.iter().copied().enumerate().collect();
            let found = worst(numbered, sizes.iter().sum(), |run| scores[run]);
            assert_eq!(found, expected.iter().copied().collect());
        };
        check(&[FEWER], &[1], &[]);
        check(&[FEWER / 2, FEWER / 2, FEWER / 2], &[1, 9, 2], &[1]);
        check(&[FEWER / 2, FEWER, FEWER / 2], &[1, 1, 9], &[2, 1]);
    }
}
