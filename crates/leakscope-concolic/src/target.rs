//! The program under test, as the search sees it: an input goes in, what
//! happened comes out.

use std::time::Duration;

use leakscope_wire::symbolic::{Event, Node, TakesArgument};
use rustc_hash::FxHashSet;

use crate::ConcolicError;
use crate::input::{Input, Names};
use crate::places::PlaceId;
use crate::texts::Compared;

pub trait Target: Sync {
    /// Runs the program once. A crash or a hang is no error: the record says
    /// so. Whatever the program does, this ends.
    fn run(&self, input: &Input) -> Result<Record, ConcolicError>;

    /// The same, and tells of these places whenever they are passed. `None` if the target cannot.
    fn run_past(&self, _: &Input, _: &FxHashSet<PlaceId>) -> Result<Option<Record>, ConcolicError> {
        Ok(None)
    }
}

/// What a run told.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// By number; number 0 is no term.
    pub nodes: Vec<Node>,
    pub events: Vec<Event>,
    pub names: Names,
    /// The ways that branches went, rising, each with about how often in its
    /// lowest [`TIMES_BITS`] bits.
    pub coverage: Vec<u32>,
    /// Options that the program understands, as far as `getopt` was told.
    pub options: Vec<ProgramOption>,
    /// Texts that its own were compared with.
    pub compared: Vec<Compared>,
    pub ended: Ended,
    /// Bits of [`leakscope_wire::symbolic::limits`].
    pub limits: u32,
    /// Processor time; of a run that was killed at the limit, all its time.
    pub spent: Duration,
}

/// An option of the program's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramOption {
    /// With its dashes.
    pub name: Vec<u8>,
    pub takes: TakesArgument,
}

pub const TIMES_BITS: u32 = 4;

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    #[default]
    Unknown,
    Exit(i32),
    Signal(i32),
    /// Killed at the limit.
    OutOfTime,
}
