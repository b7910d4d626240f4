//! How machine code gets to a place: what an engine says that sees no source,
//! and from which debug information makes a name.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// [`crate::Site::frame`] of a place that the code at the innermost frame says: steps
/// lead to its address.
pub const BY_STEPS: u32 = u32::MAX - 1;

/// [`crate::Site::frame`] of a place so far behind what a function was given, by the
/// innermost call of the user's: the argument's number is below bit 4 of
/// `held`, the distance in bytes above. In derived code the function is the one
/// with the site.
pub const BEHIND_ARGUMENT: u32 = u32::MAX - 2;

/// How code gets an argument of a call.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Argument {
    /// Where the call returns to.
    pub call: u64,
    /// From 0 on.
    pub number: u32,
    pub steps: u32,
}

/// A step to the address of a place, or to a value, as the code takes it.
/// Each does something to a stack of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Step {
    /// [`StepKind`].
    pub kind: u32,
    pub value: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StepKind {
    /// Puts there what a register holds, as DWARF counts them.
    Register = 1,
    Constant = 2,
    /// Instead of an address what is there, so many bytes.
    Load = 3,
    /// Instead of two values their sum.
    Add = 4,
    /// So many times the value.
    Times = 5,
    /// The value is in this register too.
    Also = 6,
    /// Puts a value there of which nothing is known.
    Unknown = 7,
    /// The place is this register itself.
    Held = 8,
}

impl StepKind {
    pub fn from_u32(kind: u32) -> Option<StepKind> {
        use StepKind::*;
        [Register, Constant, Load, Add, Times, Also, Unknown, Held]
            .into_iter()
            .find(|known| *known as u32 == kind)
    }
}
