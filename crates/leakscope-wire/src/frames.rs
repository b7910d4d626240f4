//! What `leakscope run` tells the Valgrind tool of code that was not optimised,
//! from debug information: where the locals of an inner scope end. The machine
//! code has no instruction for it.
//!
//! A file: [`FramesHeader`], all [`Frame`]s by address, all [`Slot`]s, all
//! [`Scope`]s, the path of the program.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FramesHeader {
    pub frames: u32,
    pub slots: u32,
    pub scopes: u32,
    pub path_bytes: u32,
}

/// A function that has all its variables in its frame, which `rbp` points into.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Frame {
    /// Addresses of the file.
    pub start: u64,
    pub end: u64,
    /// So far below its end the frame reaches, without what is taken later.
    pub bytes: u32,
    /// How many registers have the result; 0 also if it is none of the source's.
    pub results: u32,
    /// Its variables among the slots.
    pub first_slot: u32,
    pub slots: u32,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Slot {
    /// So far below the frame's end it begins.
    pub below: u32,
    pub bytes: u32,
    /// Where it lives, among the scopes; none if up to the end of the frame,
    /// or if it can hold no pointer.
    pub first_scope: u32,
    pub scopes: u32,
    /// [`Brace`].
    pub brace: u32,
}

/// Whose closing brace comes right after what a variable lives in, if there is code
/// at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Brace {
    #[default]
    None,
    /// The function's: who falls off its end comes there, and without a result
    /// nobody else does without a jump.
    Function,
    Block,
}

/// A piece of code, counted from its function's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Scope {
    pub start: u32,
    pub end: u32,
}
