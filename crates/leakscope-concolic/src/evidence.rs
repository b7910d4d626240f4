//! What a verdict rests on, and why there is none.

use std::collections::BTreeMap;

use leakscope_core::Verdict;
use leakscope_wire::symbolic::{What, limits};

use crate::input::Input;
use crate::places::{PlaceId, Places};
use crate::verdict::{Leak, Tally};

/// The answer about one warning.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    /// One sentence.
    pub reason: String,
    /// What of the warning matched no code, and the like.
    pub notes: Vec<String>,
    /// The input that shows it, where there is one.
    pub input: Option<Input>,
    pub leak: Option<Leak>,
    pub tally: Tally,
    /// Marks passed by the run that came furthest, and how many there are.
    pub passed: usize,
    pub marks: usize,
    /// Runs that were made for this warning.
    pub runs: u32,
}

/// What stood in the way of a full exploration, each by where it was.
#[derive(Clone, Debug, Default)]
pub struct Obstacles {
    /// Questions that the solver did not answer.
    pub unsolved: BTreeMap<PlaceId, u32>,
    /// Values that were taken as they were, and things that library functions
    /// can find, of which not all were tried.
    pub pinned: BTreeMap<PlaceId, u32>,
    /// Paths that a run was made for and that none followed, by their hashes.
    pub promised: Vec<(PlaceId, u64)>,
    /// Values that terms do not know.
    pub noted: BTreeMap<PlaceId, (What, u32)>,
    /// A branch that depends on what a library function returned of which
    /// there is no model.
    pub foreign: Option<(PlaceId, String)>,
    /// Ways that need a larger input.
    pub bounded: BTreeMap<PlaceId, u32>,
    pub limits: u32,
    /// Runs that crashed or hung.
    pub cut: u32,
    pub solver_failed: Option<String>,
}

/// Why the search for a warning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every way that can lead to the next mark was tried.
    Explored,
    /// A leak was found, or many runs followed the path and the last ones showed nothing new.
    Enough,
    /// The marks were passed, and there is no object to follow.
    NoObject,
    OutOfRuns,
    OutOfTime,
    Interrupted,
}

impl Obstacles {
    /// Whether all that was not reached cannot be reached.
    pub fn is_empty(&self) -> bool {
        self.unsolved.is_empty()
            && self.pinned.is_empty()
            && self.promised.is_empty()
            && self.noted.is_empty()
            && self.foreign.is_none()
            && self.bounded.is_empty()
            && self.limits == 0
            && self.cut == 0
            && self.solver_failed.is_none()
    }

    /// The obstacles as parts of a sentence, the most telling first.
    pub fn texts(&self, places: &Places) -> Vec<String> {
        let at = |place: &PlaceId| match places.get(*place) {
            Some(place) => place.spot().to_string(),
            None => "an unknown place".to_owned(),
        };
        let most = |counts: &BTreeMap<PlaceId, u32>| {
            counts
                .iter()
                .max_by_key(|&(place, count)| (*count, std::cmp::Reverse(*place)))
                .map(|(place, _)| at(place))
        };
        let mut texts = Vec::new();
        texts.extend(self.solver_failed.clone());
        texts.extend(most(&self.unsolved).map(|at| format!("the constraint at {at} was not solved in time")));
        texts.extend(most(&self.pinned).map(|at| format!("too many values to try them all at {at}")));
        texts.extend(
            self.promised.first().map(|(place, _)| format!("runs did not go as solved at {}", at(place))),
        );
        let noted = self.noted.iter().max_by_key(|&(place, (_, count))| (*count, std::cmp::Reverse(*place)));
        texts.extend(noted.map(|(place, (what, _))| format!("{} at {}", what_text(*what), at(place))));
        texts.extend(self.foreign.as_ref().map(|(place, name)| {
            format!("what {name} returns, the input does not decide, at {}", at(place))
        }));
        texts.extend(most(&self.bounded).map(|at| format!("a larger input than allowed is needed at {at}")));
        if self.limits & limits::NODES != 0 {
            texts.push("the run has more terms than there is room for".to_owned());
        }
        if self.limits & limits::EVENTS != 0 {
            texts.push("the run has more events than there is room for".to_owned());
        }
        if self.limits & limits::MEMORY != 0 {
            texts.push("the program needs more memory than there is".to_owned());
        }
        if self.cut > 0 {
            texts.push(format!("{} runs crashed or hung", self.cut));
        }
        texts
    }
}

fn what_text(what: What) -> &'static str {
    match what {
        What::Matched => "a library function looked for something",
        What::Float => "a floating-point value was taken as it was",
        What::Assembler => "assembler took a value as it was",
        What::Foreign => "a function that was not captured got a value as it was",
        What::Wide => "a value of more than 64 bits was taken as it was",
        What::Operation => "an instruction took a value as it was",
        What::Unseen => "a library function of which there is no model read the input",
        What::Missing => "a file that is not there was to be read (--sym-file makes it up)",
    }
}

impl Stop {
    pub fn text(self) -> &'static str {
        match self {
            Stop::Explored => "every way that could lead there was tried",
            Stop::Enough => "many runs followed the path, the last ones showed nothing new",
            Stop::NoObject => "nothing can be followed",
            Stop::OutOfRuns => "out of runs (--runs)",
            Stop::OutOfTime => "out of time (--time)",
            Stop::Interrupted => "interrupted",
        }
    }
}
