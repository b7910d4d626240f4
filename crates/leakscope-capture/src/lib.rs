//! Captures a program while its own build runs, and derives variants of it.
//!
//! The shims stand in for the compilers of a build ([`shim`]), and put what
//! they see into a [`Store`]: bitcode and flags of each compile, inputs and
//! flags of each link. [`derive`] makes a variant of a linked program from
//! the store, without the build. This crate does not know what a variant is
//! for: it is given a transformation of modules.

mod build;
mod clang;
mod command;
mod compile;
mod content;
mod debug_link;
pub mod derive;
mod error;
mod files;
mod inputs;
mod interrupt;
mod link;
mod linker;
mod marker;
mod program;
mod real;
mod response;
mod session;
mod shim;
pub mod store;

pub use build::{BuildSummary, build, is_shimmed};
pub use content::{Content, content};
pub use debug_link::link_from_debug_info;
pub use error::CaptureError;
pub use files::{build_compdb, capture_files};
pub use interrupt::outlive;
pub use program::{Composition, Made, inspect, program};
pub use shim::shim;
pub use store::{Blob, Failure, Input, Link, LinkId, LinkKind, Member, Store, StoreError, Unit, UnitId};
