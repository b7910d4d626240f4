//! Findings: the plain data that every engine produces and every report
//! reads, and its JSON schema (`leakscope-findings/1`).
//!
//! This crate knows neither files nor terminals. What it adds to the data is
//! what must be the same for all engines: stable ids, order, totals,
//! suppressions and baselines; and how a program's own allocators are told.

mod allocator;
pub mod baseline;
mod branch;
mod fail_on;
mod finding;
mod frame;
mod live;
mod path;
mod report;
mod stale;
pub mod suppress;

pub use allocator::{Allocator, PoolFunction, PoolRole, PoolSize};
pub use baseline::{Baseline, BaselineError};
pub use branch::taken_destination;
pub use fail_on::{FailOn, FailOnError};
pub use finding::{
    Candidate, Cause, Confidence, Counted, Fault, FaultKind, Finding, Frame, Kind, PathStep, Place,
    SiblingFree, Verdict,
};
pub use frame::Module;
pub use live::{Amount, Live};
pub use path::tidy;
pub use report::{Command, Engine, Exit, Report, SCHEMA, Summary, Target, Tool, Totals, Validation};
pub use stale::{StaleOrder, StaleOrderError};
pub use suppress::{SuppressError, SuppressionUse, Suppressions};
