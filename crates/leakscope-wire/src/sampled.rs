//! What a program tells whose heap accesses are sampled.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Reachable blocks of one allocation stack that were last accessed by one
/// stack, at about the same time and after about the same active time. Times
/// are numbers of heap accesses.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Accessed {
    pub blocks: u64,
    pub bytes: u64,
    /// Sum of bytes times idle time.
    pub drag: u64,
    /// Since the last access, or since the allocation of blocks that were
    /// never accessed: the least of them.
    pub idle: u64,
    /// From the first access to the last: the most of them.
    pub active: u64,
    pub stack: u32,
    /// Stack of the last access, 0 where unknown.
    pub last_used: u32,
    /// 1 if no access was seen.
    pub never: u32,
    /// 1 if their frees were left out ([`crate::env::INJECT`]).
    pub injected: u32,
}

/// Blocks of one allocation stack that were seen to be accessed after they had
/// lain idle for a tenth of the run or more, and for longer than they were
/// active: they had looked stale.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Returned {
    pub blocks: u64,
    pub stack: u32,
    /// Bits of the time at which they were accessed.
    pub order: u16,
    /// For how many tenths of the run until then they lay idle, rounded down.
    pub shares: u16,
}

/// Places that a [`Burst`] has at most.
pub const BURST_PLACES: usize = 14;

/// What was accessed before a last access, in the same burst.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Burst {
    /// Stack of the last access.
    pub place: u32,
    pub count: u32,
    /// Stacks of those before it, the earliest first.
    pub places: [u32; BURST_PLACES],
}

/// How accesses were sampled.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Sampling {
    /// Heap accesses so far, seen or not.
    pub time: u64,
    /// Executions in a burst.
    pub burst: u32,
    /// What the rate is divided by after each.
    pub divisor: u32,
    /// One in so many is seen at least.
    pub least: u32,
    pub reserved: u32,
}
