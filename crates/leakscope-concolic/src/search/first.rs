//! The first runs: the inputs that the search begins with, and the words that
//! the program asks for, each tried before anything is solved.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::{Search, Teller};
use crate::ConcolicError;
use crate::input::Input;
use crate::solve::Run;
use crate::target::Ended;
use crate::wording::with_word;

/// Words are tried with so many inputs.
const MOST_BASES: usize = 2;

impl Search<'_> {
    /// The first runs.
    pub fn seed(&mut self, seeds: &[Input], news: Teller<'_>) -> Result<(), ConcolicError> {
        let mut new: Vec<Input> = seeds.to_vec();
        // The seed of the search decides which comes first.
        let count = new.len().max(1);
        new.rotate_left(self.options.seed as usize % count);
        let mut ended: Vec<(usize, Input)> = Vec::new();
        for run in self.run_first(new) {
            if self.is_stopped() {
                break;
            }
            let run = self.take_in(run?, None, news);
            if run.trace.ended == Ended::Exit(0) {
                ended.push((run.trace.coverage.len(), run.input.clone()));
            }
        }
        // Those that did most, each with another number of arguments.
        ended.sort_by_key(|(covered, _)| Reverse(*covered));
        for (_, input) in ended {
            if self.bases.len() < MOST_BASES
                && self.bases.iter().all(|base| base.args.len() != input.args.len())
            {
                self.bases.push(input);
            }
        }
        if self.bases.is_empty() {
            self.bases.extend(seeds.first().cloned());
        }
        self.try_words(news)
    }

    /// Runs the program with words that it asked for and that nobody has tried.
    pub fn try_words(&mut self, news: Teller<'_>) -> Result<(), ConcolicError> {
        while !self.known.untried.is_empty() && !self.is_stopped() {
            let untried = std::mem::take(&mut self.known.untried);
            let inputs = untried
                .iter()
                .flat_map(|(word, from)| with_word(word, from, &self.bases, &self.options.bounds))
                .collect();
            for run in self.run_first(inputs) {
                if self.is_stopped() {
                    break;
                }
                self.take_in(run?, None, news);
            }
        }
        Ok(())
    }

    /// Runs of inputs that no warning asked for.
    fn run_first(&mut self, mut inputs: Vec<Input>) -> Vec<Result<Run, ConcolicError>> {
        inputs.retain(|input| self.known.inputs.insert(input.clone()));
        inputs.par_iter().filter_map(|input| self.run(input)).collect()
    }
}
