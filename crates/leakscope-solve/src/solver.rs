//! What a solver is asked, and what it can answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::evaluate::Model;
use crate::term::{Pool, Term};

/// Finds inputs for which all constraints hold.
///
/// A solver keeps what it was asked last: constraints that the next question
/// begins with too are not handed over again. So questions about one path
/// should come in the order of its branches. All questions to one solver are
/// about one pool.
pub trait Solver {
    fn check(&mut self, pool: &Pool, constraints: &[Term]) -> Result<Answer, SolveError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Values of all inputs that the constraints depend on.
    Sat(Model),
    Unsat,
    Unknown(WhyUnknown),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyUnknown {
    /// The limit on time or work was reached.
    Limit,
    /// The solver gave up.
    GaveUp,
}

/// For each question.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of Z3 in this process, what its thread works: it says nothing else on a busy machine.
    pub time: Duration,
    /// Steps as the solver counts them, the same on every machine; 0 is no
    /// limit. Not every solver counts.
    pub work: u32,
    /// MiB that all solvers in this process may hold together.
    pub memory: u32,
    /// Once it is set, no answer is waited for.
    pub stop: Option<&'static AtomicBool>,
}

impl Limits {
    /// How long a wait may be, so that a stop is seen at once.
    pub(crate) fn patience(&self, left: Duration) -> Duration {
        if self.stop.is_some() { left.min(STOP_EVERY) } else { left }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// How often it is looked whether to stop.
const STOP_EVERY: Duration = Duration::from_millis(50);

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::from_secs(10), work: 40_000_000, memory: 512, stop: None }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    #[error("no Z3: {0}; install libz3-4, or name a solver with --solver")]
    NoLibrary(String),
    #[error("cannot start the solver {command}: {reason}")]
    Start { command: String, reason: std::io::Error },
    #[error("the solver ended before it answered")]
    Died,
    #[error("expected {expected} from the solver, found {found:?}")]
    Answer { expected: &'static str, found: String },
    #[error("Z3 refused a term: {0}")]
    Refused(String),
}
