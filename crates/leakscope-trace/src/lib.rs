//! From the records of a target process to findings: reads them, names the
//! places, tells direct leaks from indirect ones, groups blocks.
//!
//! How the records were made is not known here: every engine that writes
//! `leakscope-wire` is read alike.

mod address_space;
mod code;
mod counted;
mod dwarf;
mod events;
mod findings;
mod frames;
mod frees;
mod handed;
mod holders;
mod kept;
mod leaving;
mod module_file;
mod moments;
mod objects;
mod places;
mod profile;
mod record;
mod roots;
mod slots;
mod stale;
mod steps;
mod symbols;
mod types;
mod untyped;
mod variables;
mod wrappers;

pub use code::code_ranges;
pub use findings::{Note, Outcome, analyse, analyse_stale};
pub use frames::frames;
pub use moments::Moment;
pub use profile::profile;
pub use record::{Process, Record, TraceError, read_folder, read_records, read_sound};
pub use stale::{Predicate, PredicateError};
pub use symbols::has_names;
