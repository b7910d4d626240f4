//! What `leakscope run` tells the Valgrind tool of the program's code, from debug
//! information: where locals end. The machine code has no instruction for it. Of code
//! that was not optimised it tells the scopes of what is in frames, of other code in
//! which pieces of it a variable is in a register, the scopes of what functions that
//! were inlined have in the frame, and which code is one function's.
//!
//! A file: [`FramesHeader`], all [`Optimised`] and all [`Frame`]s by address, all
//! [`Slot`]s, all [`Scope`]s, all [`Kept`], the path of the program.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FramesHeader {
    pub frames: u32,
    pub slots: u32,
    pub scopes: u32,
    pub path_bytes: u32,
    pub optimised: u32,
    pub kept: u32,
}

/// A stretch of an optimised function's code; most functions have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Optimised {
    /// Addresses of the file.
    pub start: u64,
    pub end: u64,
    /// Its variables' pieces.
    pub first: u32,
    pub count: u32,
    /// Its variables with a place in the frame, among the slots; scopes are those
    /// inside of the function.
    pub first_slot: u32,
    pub slots: u32,
    /// The blocks of the source in it, and functions that were inlined, among the slots: of these
    /// only their code is told.
    pub first_block: u32,
    pub blocks: u32,
    /// The function, by number.
    pub function: u32,
    /// 0 if it has no result.
    pub results: u32,
    /// So far below its end the function's frame reaches; 0 if that depends on the run.
    pub bytes: u32,
    pub reserved: u32,
}

/// A piece of code, counted from its function's start, in which a variable has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Kept {
    pub start: u32,
    pub end: u32,
    /// As the processor counts them; [`Kept::ELSEWHERE`] if it is in none.
    pub register: u32,
    /// By number.
    pub variable: u32,
    /// The block that the variable is in, from 1 on; 0 if it is the whole function's.
    pub block: u32,
}

impl Kept {
    pub const ELSEWHERE: u32 = 16;
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
