//! Leaks in a program model, found by procedural summaries.
//!
//! The method is SPARROW's (Jung and Yi, "Practical Memory Leak Detector Based
//! on Parameterized Procedural Summaries", ISMM 2008), with the exits of a
//! procedure kept apart by property simulation instead of joined. This crate
//! knows neither LLVM nor files: a program goes in, findings come out, and
//! what could not be looked at is named, never an error.

mod analyze;
mod arithmetic;
mod arrive;
mod callgraph;
mod calls;
mod case;
mod compact;
mod confirm;
mod containers;
mod counts;
mod deeds;
mod describe;
mod effects;
mod ends;
mod exits;
mod fact;
mod findings;
mod flow;
mod forgotten;
mod handed;
mod hooks;
mod instantiate;
mod join;
mod kept;
mod leaks;
mod library;
mod members;
mod memory;
mod models;
mod names;
mod nonnull;
mod owners;
mod records;
mod refine;
mod relevance;
mod rename;
mod returns;
mod scope;
mod shared;
mod simulate;
mod slots;
mod summary;
mod transfer;
mod types;
mod value;
mod virtuals;
mod world;

pub use analyze::{Analysis, Config, analyze};
pub use describe::{Category, Description, describe};
pub use kept::Procedures;
pub use models::{ModelError, Models};
