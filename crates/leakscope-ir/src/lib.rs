//! Captured bitcode as a [`Program`]: functions with their flow graphs in SSA
//! form, globals with their first values, names and lines from debug
//! information.
//!
//! LLVM stays in here: what comes out is plain data. Nothing is known of
//! leaks, nor of where bitcode comes from.

mod annotations;
mod constants;
mod debug_info;
mod fingerprint;
mod jumps;
mod link;
mod llvm;
mod memory_calls;
mod program;
mod read;
mod vanished;

pub use fingerprint::{Fingerprint, Label};
pub use link::{Presence, link, needed};
pub use program::*;
pub use read::{Module, read};

#[derive(Debug, thiserror::Error)]
pub enum IrError {
    #[error("cannot read the module: {0}; capture it again with clang-19")]
    Read(String),
    #[error("cannot bring the module into SSA form: {0}")]
    Promote(String),
}
