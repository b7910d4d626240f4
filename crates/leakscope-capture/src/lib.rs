//! Captures a program while its own build runs, and derives variants of it.
//!
//! The shims stand in for the compilers of a build ([`shim`]), and put what
//! they see into a [`Store`]: bitcode and flags of each compile, inputs and
//! flags of each link. [`derive`] makes a variant of a linked program from
//! the store, without the build. This crate does not know what a variant is
//! for: it is given a transformation of modules.

pub mod store;

pub use store::{Blob, Failure, Input, Link, LinkId, LinkKind, Member, Store, StoreError, Unit, UnitId};
