//! Bit-vector terms over the bytes of a test input, and the solvers that find
//! an input for which they hold.
//!
//! A [`Pool`] holds terms once each and simplifies them as they are made.
//! [`Slices`] leaves out the constraints that have nothing to do with a
//! question, [`holds`] tries a known [`Model`] before anybody is asked, and a
//! [`Solver`] is asked for the rest: Z3 in this process, or any program that
//! reads SMT-LIB.
//!
//! Nothing is known here of programs, nor of what an input is: it has a number
//! and a width.

mod evaluate;
mod fold;
mod process;
mod ranges;
mod simplify;
mod slice;
mod smtlib;
mod solver;
mod term;
mod z3;
mod z3_alarm;
mod z3_library;

pub use evaluate::{Evaluator, Model, Tries, evaluate, holds};
pub use process::Process;
pub use slice::Slices;
pub use solver::{Answer, Limits, SolveError, Solver, WhyUnknown};
pub use term::{Binary, Compare, InputId, Node, Pool, Term};
pub use z3::Z3;
