//! Environment variables by which the target's runtime is told what to do.

/// File that a program derived with the `symbolic` engine tells its terms
/// and events in ([`crate::symbolic`]); without it, it runs plainly.
pub const SYMBOLIC: &str = "LEAKSCOPE_SYMBOLIC";
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
/// How accesses are sampled: executions in a burst (`nInstr0`), what the
/// rate is divided by after each (`Decr`), and one in how many are seen at
/// least (the reciprocal of `Min`).
pub const BURST: &str = "LEAKSCOPE_BURST";
pub const DECR: &str = "LEAKSCOPE_DECR";
pub const MIN: &str = "LEAKSCOPE_MIN";
/// One in how many frees is left out, to see whether it is found; and
/// what the choice begins with.
pub const INJECT: &str = "LEAKSCOPE_INJECT";
pub const SEED: &str = "LEAKSCOPE_SEED";
/// Set if what was accessed before each last access is wanted.
pub const BURST_HISTORY: &str = "LEAKSCOPE_BURST_HISTORY";
/// Bytes that the records in the folder may take; the oldest go first.
pub const DIR_MAX: &str = "LEAKSCOPE_DIR_MAX";
/// Whether a sampled program writes records that say nothing is wrong:
/// set to anything for yes.
pub const ALWAYS: &str = "LEAKSCOPE_ALWAYS";
/// Milliseconds between snapshots.
pub const SNAPSHOT_EVERY: &str = "LEAKSCOPE_SNAPSHOT_EVERY";
/// A file ([`crate::Only`]) that says which allocations are followed;
/// without it all are.
pub const ONLY: &str = "LEAKSCOPE_ONLY";
/// A file that says which derived shared objects stand for those that the program
/// loads while it runs: pairs of paths, the user's own first, all ended by zero bytes.
pub const MODULES: &str = "LEAKSCOPE_MODULES";
/// Whether deaths of pointers are counted for each block:
/// [`MOMENTS_COUNT`] writes the counts into the record, and
/// [`MOMENTS_STOP`], followed by identity, ordinal and stamp of a
/// [`crate::Moment`] in decimal with commas between them, calls
/// [`LEAK_HERE`] when that one comes.
pub const MOMENTS: &str = "LEAKSCOPE_MOMENTS";
pub const MOMENTS_COUNT: &str = "count";
pub const MOMENTS_STOP: &str = "stop=";
/// A function of the runtime for a debugger's breakpoint. Its first
/// argument is the address at which the program goes on.
pub const LEAK_HERE: &str = "leakscope_leak_here";
/// Set to anything: how pointers to the followed blocks come and go is kept,
/// if the program was derived to tell it.
pub const EXPLAIN: &str = "LEAKSCOPE_EXPLAIN";
/// What happens to the program when something is lost: [`ON_LEAK_ABORT`],
/// [`ON_LEAK_STOP`], or anything else for nothing.
pub const ON_LEAK: &str = "LEAKSCOPE_ON_LEAK";
pub const ON_LEAK_ABORT: &str = "abort";
pub const ON_LEAK_STOP: &str = "stop";
/// Bytes that must be lost for that.
pub const LEAK_LIMIT: &str = "LEAKSCOPE_LEAK_LIMIT";
/// Set to anything: what `tmpfile` opens is in memory, for a program that may write in its own
/// folder only.
pub const SCRATCH: &str = "LEAKSCOPE_SCRATCH";
