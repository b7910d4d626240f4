//! What is held of the runs: their terms are large, and a search has thousands
//! of them. Those that promise least are forgotten, with what could have been
//! turned in them.

use std::cmp::Reverse;
use std::sync::{Arc, Weak};

use rustc_hash::{FxHashMap, FxHashSet};

use super::Search;
use crate::solve::Run;

/// Of the memory, so many eighths are for runs. What solvers have is as much again,
/// and the rest is for runs that are being read.
const EIGHTHS: usize = 3;

/// Of what may be held, so many quarters are left after runs were forgotten.
const QUARTERS: usize = 3;

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
        let mut most = self.options.memory / 8 * EIGHTHS;
        if resident() > self.options.memory {
            // What libraries freed, Z3 before all, goes back to the system; our own
            // goes by itself, within about a second. If that is not enough, what is held
            // is more than it says.
            // SAFETY: it may be called at any time.
            unsafe { libc::malloc_trim(0) };
            if resident() > self.options.memory {
                most = most.min(all / 2);
            }
        }
        if all <= most {
            return;
        }
        let mut scores: FxHashMap<usize, u64> = FxHashMap::default();
        for pursuit in &self.pursuits {
            pursuit.schedule.best_of_runs(&self.known, &mut scores);
        }
        let worst =
            worst(sizes, all, most / 4 * QUARTERS, |run| scores.get(&run).copied().unwrap_or(u64::MAX));
        for pursuit in &mut self.pursuits {
            pursuit.schedule.forget(&worst);
        }
    }
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

/// The runs to forget so that no more than `few` bytes are left.
fn worst(
    mut sizes: Vec<(usize, usize)>,
    mut all: usize,
    few: usize,
    score: impl Fn(usize) -> u64,
) -> FxHashSet<usize> {
    // Of equally good ones the later are forgotten: what they know is known.
    sizes.sort_by_key(|&(run, _)| Reverse((score(run), run)));
    let mut forgotten = FxHashSet::default();
    for (run, size) in sizes {
        if all <= few {
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
            let found = worst(numbered, sizes.iter().sum(), 100, |run| scores[run]);
            assert_eq!(found, expected.iter().copied().collect());
        };
        check(&[100], &[1], &[]);
        check(&[50, 50, 50], &[1, 9, 2], &[1]);
        check(&[50, 100, 50], &[1, 1, 9], &[2, 1]);
    }
}
