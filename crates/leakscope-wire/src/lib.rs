//! Records that cross the boundary of the target process.
//!
//! A record file is a [`Header`], then sections: a [`Section`] header each,
//! followed by `bytes` bytes of payload, ending with a section of kind
//! [`SectionKind::END`]. A file without its end was cut off. Readers skip
//! kinds that they do not know, so that engines can add to the format.
//! All integers are little-endian, all layouts fixed; nothing here allocates.

#![no_std]

pub mod env;
pub mod followed;
mod frames;
pub mod lives;
mod sampled;
mod steps;
pub mod symbolic;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use frames::{Brace, Frame, FramesHeader, Kept, Optimised, Scope, Slot};
pub use sampled::{Accessed, BURST_PLACES, Burst, Returned, Sampling};
pub use steps::{Argument, BEHIND_ARGUMENT, BY_STEPS, Step, StepKind};

pub const MAGIC: [u8; 8] = *b"LEAKSCOP";

/// Raised when a layout below changes its meaning.
pub const VERSION: u32 = 3;

/// Section of a derived program that says what the source calls the objects on
/// which functions of libraries are called. Lines of text: file, line, column,
/// what is called (`d` a destructor, `a` an assignment, `m` another function),
/// its symbol and the object, with tabs between them. With `c` and no more: there an
/// integer in memory changes by one. With `f` a line of [`Field`]'s numbers and
/// text, each behind a tab, after the number of an argument: what a function that
/// takes any pointer is given there has a pointer in that field; with `p` the
/// argument's number and that of the parameter which is passed on.
pub const OBJECTS: &str = ".leakscope.objects";

/// What the symbol of a sampled function's second body has after the
/// function's own, where it stands in a function of its own.
pub const REPORTING: &str = ".reports";

/// Through a socket a record comes in pieces, each followed by its bytes; the
/// last one, which has none, says that the record is whole.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Piece {
    /// Place in the record; what came before for the same place is void.
    pub offset: u64,
    pub bytes: u64,
}

/// In place of the offset: what follows is no record but a line for the user.
pub const NOTICE: u64 = u64::MAX;

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
    /// When the process began, in nanoseconds since 1970: another process may
    /// have had the same number. 0 where a folder has records of one run alone.
    pub started: u64,
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
    /// [`Module`]s, each followed by its path and its build id, both padded to
    /// eight bytes.
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
    /// [`Moment`]s, one for each block of [`SectionKind::LOST`], in its order.
    pub const MOMENTS: SectionKind = SectionKind(11);
    /// [`Holder`]s, each followed by its [`Link`]s: a few for each entry of
    /// [`SectionKind::REACHABLE`].
    pub const HOLDERS: SectionKind = SectionKind(12);
    /// [`Accessed`] totals of reachable blocks.
    pub const ACCESSES: SectionKind = SectionKind(13);
    /// One [`Sampling`].
    pub const SAMPLING: SectionKind = SectionKind(14);
    /// [`Details`] of lost blocks, each followed by its [`Life`]s, its
    /// [`Count`]s and its [`Death`]s.
    pub const DETAILS: SectionKind = SectionKind(15);
    /// [`Zeroed`] counts.
    pub const ZEROED: SectionKind = SectionKind(16);
    /// [`HandedOver`] totals.
    pub const HANDED_OVER: SectionKind = SectionKind(21);
    /// [`Argument`]s, each followed by its [`Step`]s.
    pub const ARGUMENTS: SectionKind = SectionKind(17);
    /// [`Burst`]s that led to last accesses.
    pub const BURSTS: SectionKind = SectionKind(18);
    /// Numbers of lost blocks, as `u64`, of which a register lost the last
    /// pointer, and which nobody used after the death before.
    pub const UNUSED: SectionKind = SectionKind(19);
    /// [`Returned`] totals.
    pub const RETURNED: SectionKind = SectionKind(20);
    /// Numbers of lost blocks, as `u64`, which somebody used after the latest of
    /// their stamps.
    pub const USED_AFTER: SectionKind = SectionKind(22);
    /// Numbers of lost blocks, as `u64`, that may count their references: they were last
    /// used where an integer changes by one, or others of the same call were before
    /// they were freed.
    pub const MAY_BE_COUNTED: SectionKind = SectionKind(23);
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
    /// Length of the build id that follows the path, padded too; 0 if it has
    /// none.
    pub id_bytes: u32,
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
    /// [`Cause`]; and [`LEAVES`].
    pub cause: u32,
    /// In the file of the innermost frame; 0 if the frame's own line is right.
    pub line: u32,
    pub column: u32,
    /// Length of what held the pointer, as the source writes it or, if `frame`
    /// is [`BY_STEPS`], as [`Step`]s; 0 if unknown.
    pub variable_bytes: u32,
    /// Which frame of the stack held it, from 1 on, where the frame was left
    /// behind and the variable is to be found by its place there; else 0.
    pub frame: u32,
    /// That place: how far below the caller's stack pointer, or a register as
    /// DWARF counts them with [`IN_REGISTER`].
    pub held: u32,
}

impl Site {
    /// A site of which only the cause is known.
    pub const fn of(cause: Cause) -> Site {
        Site { cause: cause as u32, line: 0, column: 0, variable_bytes: 0, frame: 0, held: 0 }
    }
}

/// Beside the cause: a jump from there leaves the scope, and the statement of the source
/// that does it has no code of its own. The line is then, if it is not 0, how far on the end of a function
/// without a result is: falling off that needs no statement.
pub const LEAVES: u32 = 1 << 31;

pub const IN_REGISTER: u32 = 1 << 31;

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

/// Set together with that if a variable of the thread held the pointer, with
/// its offset in words from bit 40 on; the line has 24 bits.
pub const PLACE_IS_VARIABLE: u64 = 1 << 60;

/// What is added to the line of a statement to say which variable.
pub const fn place_of_variable(offset: usize) -> u64 {
    let word = offset as u64 / 8;
    if word < 1 << 20 { PLACE_IS_LINE | PLACE_IS_VARIABLE | word << 40 } else { 0 }
}

/// What is added to the line of a statement to say which [`Field`] of memory that
/// died as a whole; without it, what is there is zero.
pub const fn place_of_field(offset: u64) -> u64 {
    let word = offset / 8 + 1;
    if word < 1 << 20 { word << 40 } else { 0 }
}

/// The offset of the field in such a place, if it has one.
pub const fn field_of_place(place: u64) -> Option<u64> {
    match place >> 40 & 0xf_ffff {
        0 => None,
        word => Some((word - 1) * 8),
    }
}

/// [`Site::frame`] of a variable of the thread: the place is its offset in the
/// executable's.
pub const OF_THREAD: u32 = u32::MAX;

/// Set by the runtime if it is a place in a frame: `frame` of a [`Site`] above
/// bit 32, and `held`.
pub const PLACE_IS_FRAME: u64 = 1 << 60;

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
    /// Stack of the last use; [`NOT_FOLLOWED`] if nobody looked.
    pub last_used: u32,
}

/// In place of a block's last use: its pointers and uses were not followed.
pub const NOT_FOLLOWED: u32 = u32::MAX;

/// How pointers to a lost block came and went. Times are those of a clock that
/// goes on with each of them.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Details {
    /// Its number in [`SectionKind::LOST`].
    pub block: u32,
    pub lives: u32,
    pub counts: u32,
    pub deaths: u32,
}

/// A slot that held a pointer to the block, from when it was set to when it was
/// read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Life {
    pub slot: u64,
    pub set: u64,
    pub read: u64,
    /// When something else was stored there; 0 if nothing was.
    pub ended: u64,
    pub set_stack: u32,
    pub read_stack: u32,
    pub ended_stack: u32,
    /// Number of the life, from 1 on, from which the pointer came; 0 if unknown.
    pub from: u32,
    /// Whether it is the parameter of a function.
    pub is_given: u32,
    /// Whether it is another local variable.
    pub is_local: u32,
}

/// A pointer to the block died, as a stamp says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Death {
    pub time: u64,
    pub stack: u32,
    /// Number of the life, from 1 on, that it was the end of; 0 if unknown.
    pub life: u32,
}

/// An integer in the block changed by one, or got its first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Count {
    pub time: u64,
    pub value: u64,
    pub stack: u32,
    pub offset: u32,
}

/// So many blocks of an allocation stack were freed right after the integer at
/// an offset had become zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Zeroed {
    pub stack: u32,
    pub offset: u32,
    /// Where one of them was counted down to zero.
    pub counted: u32,
    pub blocks: u32,
}

/// So many blocks of an allocation stack were freed by way of a pointer that was
/// read from a slot for the last time in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct HandedOver {
    pub stack: u32,
    pub read_stack: u32,
    pub blocks: u64,
}

/// The death of a pointer, told so that another run of the same program can
/// stop at it. Ordinals count from 1; 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Moment {
    /// Of the block's allocation stack: see [`identity`].
    pub identity: u64,
    /// Which of the blocks of that stack it is.
    pub ordinal: u32,
    /// Which of the deaths of its pointers it is; in a record, the latest.
    pub stamp: u32,
}

/// A number for a call stack that is the same wherever modules are loaded:
/// made of its return addresses, innermost first, each relative to its module,
/// or 0 where that is not known.
pub fn identity(addresses: impl Iterator<Item = u64>) -> u64 {
    addresses.fold(1, |hash, address| (hash ^ address).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

/// Up to so many of the innermost calls of an allocation's stack make the identity by
/// which a run under Valgrind that explains knows its blocks again: one, or more where
/// many functions get their blocks through the same call.
pub const CALLS_OF_ALLOCATION: usize = 2;

/// Which allocations are followed, as a file: this header, then so many
/// identities of allocation stacks in rising order, then so many
/// [`CodeRange`]s. An allocation is followed if its stack is one of these, or
/// has a call in one of the ranges.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Only {
    pub magic: [u8; 8],
    pub stacks: u64,
    pub ranges: u64,
}

/// Code of a module, by addresses in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CodeRange {
    /// [`name_hash`] of the module's path.
    pub module: u64,
    pub start: u64,
    pub end: u64,
}

/// A number for the file that a path names, in whichever folder.
pub fn name_hash(path: &[u8]) -> u64 {
    let start = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    // FNV-1a.
    path[start..]
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
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
    /// 1 if its free was left out ([`env::INJECT`]).
    pub injected: u32,
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
    /// Stack of the last use, the same for all; 0 where unknown,
    /// [`NOT_FOLLOWED`] where nobody looked.
    pub last_used: u32,
}

/// What holds a reachable block: a word outside the heap, which is the root,
/// and the blocks from there on.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Holder {
    /// Of the block: the same as in its [`Reachable`].
    pub stack: u32,
    pub last_used: u32,
    /// [`Root`].
    pub root: u32,
    /// Whose register, stack or variable it is: 1 is the main thread, others
    /// follow in the order of their numbers; 0 if it is nobody's.
    pub thread: u32,
    /// Index in [`SectionKind::MODULES`], for variables.
    pub module: u32,
    /// Blocks between the root and the block, as many as follow and as many
    /// as do not.
    pub links: u32,
    pub omitted: u32,
    pub reserved: u32,
    /// Where the word is: in the module's file, in its thread-local storage,
    /// or, as a signed number, from the end of its frame.
    pub address: u64,
    /// Return address into the function whose frame it is in; 0 if unknown.
    pub code: u64,
}

/// A block that holds the next one.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Link {
    pub bytes: u64,
    /// Where in the block the pointer to it leads.
    pub entered: u64,
    /// Where in the block the word is that holds the next one.
    pub offset: u64,
}

/// What kind of memory holds a block in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Root {
    /// A variable of a module.
    Global = 1,
    ThreadLocal = 2,
    /// What `pthread_setspecific` and libc itself keep of a thread.
    ThreadData = 3,
    Stack = 4,
    Register = 5,
    /// Memory that the program mapped.
    Mapping = 6,
}

impl Root {
    pub fn from_u32(value: u32) -> Option<Root> {
        use Root::*;
        [Global, ThreadLocal, ThreadData, Stack, Register, Mapping]
            .into_iter()
            .find(|&root| root as u32 == value)
    }
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
    /// Deaths of pointers were not looked at.
    pub const NO_DEATHS: u64 = 8;
}
