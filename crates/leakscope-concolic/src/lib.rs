//! Which warnings of leaks are real, by running the program on inputs that
//! are made to follow them.
//!
//! The method is that of Li, Chen, Wang and Xu ("Dynamically Validating Static
//! Memory Leak Warnings", ISSTA 2013): path-guided concolic testing and object
//! states, four verdicts. A [`Target`] runs the program on an [`Input`] and
//! tells what happened ([`Record`]); [`validate`] chooses the inputs.
//!
//! Nothing here renders, and the solver never runs in the target.

mod automaton;
mod beside;
mod composed;
mod crossing;
mod encore;
mod evidence;
mod influence;
mod input;
mod joining;
mod journal;
mod knowledge;
mod launch;
mod lengths;
mod local;
mod numbers;
mod objects;
mod one_byte;
mod operands;
mod parts;
mod places;
mod process;
mod pursuit;
mod reach;
mod runs_folder;
mod sandbox;
mod schedule;
mod search;
mod solve;
mod succession;
mod target;
mod texts;
mod trace;
mod trial;
mod verdict;
mod warning;
pub mod warnings;
mod wider;
mod wording;

use std::io;
use std::path::PathBuf;

pub use automaton::Automaton;
pub use evidence::{Obstacles, Outcome, Stop};
pub use input::{Bounds, Input, Names};
pub use journal::Journal;
pub use objects::{Object, State, unfreed};
pub use places::{Located, PlaceId, Places, read as read_places};
pub use process::{Bounded, Program as DerivedProgram, Settings, bounded};
pub use reach::Reach;
pub use search::{News, Options, Subject, Teller, validate};
pub use solve::SolverChoice;
pub use target::{Ended, ProgramOption, Record, Target};
pub use trace::{Trace, Way};
pub use verdict::{Coverage, End, Fate, Freed, Leak, LeakWay, Leaks, Tally};
pub use warning::{MarkKind, PathMark, Spot, Warning};

#[derive(Debug, thiserror::Error)]
pub enum ConcolicError {
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, io::Error),
    #[error("{0} describes its places in a way that is not known: derive it again")]
    Places(PathBuf),
    #[error("cannot run {0}: {1}")]
    Start(PathBuf, io::Error),
    #[error("cannot prepare a run in {0}: {1}")]
    Scratch(PathBuf, io::Error),
    #[error("{0} did not begin to tell: it was not derived with the symbolic engine")]
    Silent(PathBuf),
    #[error("cannot start threads: {0}")]
    Threads(String),
    #[error(transparent)]
    Solve(#[from] leakscope_solve::SolveError),
}
