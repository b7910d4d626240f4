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
    /// Name of an abstract Unix socket for records that no file can hold.
    pub const SOCKET: &str = "LEAKSCOPE_SOCKET";
    /// Frames kept of an allocation's stack.
    pub const DEPTH: &str = "LEAKSCOPE_DEPTH";
    /// Number of the signal that asks for a snapshot.
    pub const SNAPSHOT_SIGNAL: &str = "LEAKSCOPE_SNAPSHOT_SIGNAL";
    /// How much is followed: [`MODE_MINIMAL`], [`MODE_PARTIAL`] and a number
    /// of bytes, or anything else for all.
    pub const MODE: &str = "LEAKSCOPE_MODE";
    pub const MODE_MINIMAL: &str = "minimal";
    pub const MODE_PARTIAL: &str = "partial=";
    /// Whether last uses are kept: [`LAST_USE_OFF`], [`LAST_USE_EXACT`], or
    /// anything else for some of them.
    pub const LAST_USE: &str = "LEAKSCOPE_LAST_USE";
    pub const LAST_USE_OFF: &str = "off";
    pub const LAST_USE_EXACT: &str = "exact";
    /// Milliseconds between snapshots.
    pub const SNAPSHOT_EVERY: &str = "LEAKSCOPE_SNAPSHOT_EVERY";
}

/// Where a program that follows pointers keeps what its own code looks at:
/// places that instrumented code has built in.
pub mod followed {
    /// The blocks, and the end of the addresses that they may have.
    pub const BLOCKS: u64 = 4 << 42;
    pub const END: u64 = 5 << 42;
    /// A stamp of 16 bytes for each 16 bytes of blocks, in chunks as theirs:
    /// time and event of the latest death, and the events before it.
    pub const STAMPS: u64 = 6 << 42;
    pub const EVENT_BITS: u32 = 26;
    /// For each chunk, four bytes by which the offset of an address in it is
    /// multiplied, and divided by 2^32, to get the number of its block.
    pub const STEPS: u64 = 8 << 42;
    pub const CHUNK_BITS: u32 = 16;
    /// Each thread has a table from keys to events, of this many entries of 16
    /// bytes. The key of what happens in a context is their product.
    pub const NUMBERS_BITS: u32 = 12;
    pub const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    /// Every so many ticks of a thread's clock the runtime wants to know.
    pub const TICKS: u64 = 1024;
}

/// Through a socket a record comes in pieces, each followed by its bytes; the
/// last one, which has none, says that the record is whole.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Piece {
    /// Place in the record; what came before for the same place is void.
    pub offset: u64,
    pub bytes: u64,
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
    /// [`Site`]s, each followed by its variable, padded to eight bytes.
    pub const SITES: SectionKind = SectionKind(8);
    /// [`Stamps`], one for each block of [`SectionKind::LOST`], in its order.
    pub const STAMPS: SectionKind = SectionKind(9);
    /// [`Freed`] totals.
    pub const FREES: SectionKind = SectionKind(10);
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
    /// What happened there, by number in [`SectionKind::SITES`] from 1 on;
    /// 0 for the stack of an allocation or a free.
    pub site: u32,
}

/// A place in the source where a pointer dies.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Site {
    /// [`Cause`].
    pub cause: u32,
    /// In the file of the innermost frame; 0 if the frame's own line is right.
    pub line: u32,
    pub column: u32,
    /// Length of what held the pointer, as the source writes it; 0 if unknown.
    pub variable_bytes: u32,
}

/// A site as it stands in instrumented code, followed by the variable and the
/// fields, without padding.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Descriptor {
    pub site: Site,
    /// Of all that follows.
    pub bytes: u32,
    /// Number of [`Field`]s, for memory that dies as a whole.
    pub fields: u32,
}

/// Set in what instrumented code passes with a [`Descriptor`] if that is the
/// line and column of the statement that ran; else it is an offset.
pub const PLACE_IS_LINE: u64 = 1 << 61;

/// A pointer in memory that dies as a whole, followed by how the source would
/// write it. For an array it stands for all elements, and has `[]` where the
/// index goes.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Field {
    pub offset: u32,
    pub count: u32,
    pub stride: u32,
    pub bytes: u32,
}

/// How a pointer died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Cause {
    Overwritten = 1,
    ScopeEnd = 2,
    HolderFreed = 3,
    Discarded = 4,
    Returned = 5,
    /// A jump or an exception left the frame that held it.
    Unwound = 6,
    ThreadEnd = 7,
}

impl Cause {
    pub fn from_u32(value: u32) -> Option<Cause> {
        use Cause::*;
        [Overwritten, ScopeEnd, HolderFreed, Discarded, Returned, Unwound, ThreadEnd]
            .into_iter()
            .find(|&cause| cause as u32 == value)
    }
}

/// The latest deaths of pointers to a lost block. Stacks are 0 where there is
/// none.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Stamps {
    /// When the latest was, in the order of all stamps of the process.
    pub time: u64,
    /// Stacks with a site, latest first.
    pub stacks: [u32; 3],
    /// Stack of the last use.
    pub last_used: u32,
}

/// Blocks of one allocation stack that were freed by one stack.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Freed {
    pub blocks: u64,
    pub allocated: u32,
    pub freed: u32,
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
    /// Stack of the last use, the same for all; 0 where unknown.
    pub last_used: u32,
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
    /// Uses of blocks were not looked at.
    pub const NO_USES: u64 = 4;
}
