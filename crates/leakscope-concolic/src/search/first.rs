//! The first runs: the inputs that the search begins with, and the words that
//! the program asks for, each tried before anything is solved.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::{Search, Teller};
use crate::ConcolicError;
use crate::input::Input;
use crate::solve::Run;
use crate::target::{Ended, ProgramOption};
use crate::wording::{Word, with_value, with_word};

/// Values of options that are tried all at once: with more digits, one may be a multiple of another.
const TOGETHER: [&[u8]; 3] = [b"1", b"11111", b"aaaaaaaa"];

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
        let option = |(word, _): &(Word, Input)| match word {
            Word::Option(option) => Some(option.clone()),
            _ => None,
        };
        let mut options: Vec<ProgramOption> = Vec::new();
        while !self.known.untried.is_empty() && !self.is_stopped() {
            let untried = std::mem::take(&mut self.known.untried);
            options.extend(untried.iter().filter_map(option));
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
        if options.len() > 1 {
            for value in TOGETHER {
                self.try_together(&options, value, news)?;
            }
        }
        Ok(())
    }

    /// All options at once, as what relates several of them needs. Those that lead far alone come first, and
    /// each is kept if the program does no less with it: one that asks for help ends it.
    fn try_together(
        &mut self,
        options: &[ProgramOption],
        value: &[u8],
        news: Teller<'_>,
    ) -> Result<(), ConcolicError> {
        let Some(base) = self.bases.first().cloned() else { return Ok(()) };
        let mut ranked = Vec::new();
        for option in options {
            ranked.push((self.covered(with_value(option, value, &base), news)?, option));
        }
        ranked.sort_by_key(|(covered, _)| Reverse(*covered));
        let (mut together, mut most) = (base, 0);
        for (_, option) in ranked {
            let input = with_value(option, value, &together);
            let fits = input.args.len() <= self.options.bounds.args as usize;
            let covered = if fits { self.covered(input.clone(), news)? } else { 0 };
            if covered >= most && fits {
                (together, most) = (input, covered);
            }
        }
        Ok(())
    }

    /// How many ways of branches an input goes.
    fn covered(&mut self, input: Input, news: Teller<'_>) -> Result<usize, ConcolicError> {
        let Some(run) = self.run(&input) else { return Ok(0) };
        let run = run?;
        let covered = run.trace.coverage.len();
        if self.known.inputs.insert(input) {
            self.take_in(run, None, news);
        }
        Ok(covered)
    }

    /// Runs of inputs that no warning asked for.
    fn run_first(&mut self, mut inputs: Vec<Input>) -> Vec<Result<Run, ConcolicError>> {
        inputs.retain(|input| self.known.inputs.insert(input.clone()));
        inputs.par_iter().filter_map(|input| self.run(input)).collect()
    }
}
