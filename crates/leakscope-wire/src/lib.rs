//! Records that cross the boundary of the target process.
//!
//! A record file is a [`Header`], then sections: a [`Section`] header each,
//! followed by `bytes` bytes of payload, ending with a section of kind
//! [`SectionKind::END`]. A file without its end was cut off. Readers skip
//! kinds that they do not know, so that engines can add to the format.
//! All integers are little-endian, all layouts fixed; nothing here allocates.

#![no_std]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub const MAGIC: [u8; 8] = *b"LEAKSCOP";

/// Raised when a layout below changes its meaning.
pub const VERSION: u32 = 1;

/// Environment variables by which the target's runtime is told what to do.
pub mod env {
    /// Folder for record files; without it nothing is written.
    pub const DIR: &str = "LEAKSCOPE_DIR";
    /// Frames kept of an allocation's stack.
    pub const DEPTH: &str = "LEAKSCOPE_DEPTH";
    /// Number of the signal that asks for a snapshot.
    pub const SNAPSHOT_SIGNAL: &str = "LEAKSCOPE_SNAPSHOT_SIGNAL";
    /// Milliseconds between snapshots.
    pub const SNAPSHOT_EVERY: &str = "LEAKSCOPE_SNAPSHOT_EVERY";
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Header {
    pub magic: [u8; 8],
    pub version: u32,
    /// What made the process write: [`Reason`].
    pub reason: u32,
    /// Exit code or signal number, where `reason` has one.
    pub status: i32,
    pub pid: u32,
    pub parent: u32,
    /// Counts the records of one process.
    pub sequence: u32,
    /// Seconds since 1970.
    pub time: u64,
}

/// Why a record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    Exit = 1,
    Signal = 2,
    Snapshot = 3,
    /// A double or invalid free; the [`Fault`] section says which.
    Fault = 4,
}

impl Reason {
    pub fn from_u32(value: u32) -> Option<Reason> {
        [Reason::Exit, Reason::Signal, Reason::Snapshot, Reason::Fault]
            .into_iter()
            .find(|&reason| reason as u32 == value)
    }
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Section {
    pub kind: SectionKind,
    pub reserved: u32,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct SectionKind(pub u32);

impl SectionKind {
    pub const END: SectionKind = SectionKind(0);
    /// [`Module`]s, each followed by its path, padded to eight bytes.
    pub const MODULES: SectionKind = SectionKind(1);
    /// [`Stack`]s, each followed by its addresses, innermost first.
    pub const STACKS: SectionKind = SectionKind(2);
    /// [`LostBlock`]s.
    pub const LOST: SectionKind = SectionKind(3);
    /// [`Edge`]s between lost blocks.
    pub const EDGES: SectionKind = SectionKind(4);
    /// [`Reachable`] totals, one for each allocation stack.
    pub const REACHABLE: SectionKind = SectionKind(5);
    /// One [`Fault`].
    pub const FAULT: SectionKind = SectionKind(6);
    /// One [`Totals`].
    pub const TOTALS: SectionKind = SectionKind(7);
}

/// An executable or shared object, and when it was mapped.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Module {
    /// What the addresses in the file are shifted by.
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    /// Generations of the module list in which it was there; the list gets a
    /// new generation whenever a module is unmapped.
    pub first_generation: u32,
    pub last_generation: u32,
    pub path_bytes: u32,
    pub reserved: u32,
}

/// A call stack. Addresses are return addresses, valid in `generation`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Stack {
    pub id: u32,
    pub generation: u32,
    pub frames: u32,
    pub reserved: u32,
}

/// A block that nothing reaches.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct LostBlock {
    pub address: u64,
    pub bytes: u64,
    /// Stack of the allocation.
    pub stack: u32,
    pub reserved: u32,
}

/// Lost block `from` holds a pointer to lost block `to`; both are indices
/// into the [`SectionKind::LOST`] section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
}

/// Blocks of one allocation stack that are reachable and not freed.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Reachable {
    pub blocks: u64,
    pub bytes: u64,
    pub stack: u32,
    pub reserved: u32,
}

/// A misuse of the heap that stopped the program. Stacks are 0 where unknown.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Fault {
    pub address: u64,
    /// Size and start of the block concerned, 0 if there is none.
    pub block: u64,
    pub bytes: u64,
    /// [`FaultKind`].
    pub kind: u32,
    /// Where the wrong call was made.
    pub stack: u32,
    pub allocated: u32,
    pub freed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FaultKind {
    DoubleFree = 1,
    /// Not the start of any block.
    InvalidFree = 2,
}

impl FaultKind {
    pub fn from_u32(value: u32) -> Option<FaultKind> {
        [FaultKind::DoubleFree, FaultKind::InvalidFree].into_iter().find(|&kind| kind as u32 == value)
    }
}

/// What the process did with its heap until the record was written.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Totals {
    pub live_blocks: u64,
    pub live_bytes: u64,
    /// Bit flags of [`limits`]: what could not be looked at fully.
    pub limits: u64,
    /// Bytes of heap that the address space limit left, if `limits` says so.
    pub heap_limit: u64,
}

/// Why a record may be less exact than usual.
pub mod limits {
    /// The address space was limited, and the heap with it.
    pub const ADDRESS_SPACE: u64 = 1;
    /// A thread did not stop for the scan; all of its stack was scanned.
    pub const THREAD_RUNNING: u64 = 2;
}
