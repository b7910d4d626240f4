//! Where a program that follows pointers keeps what its own code looks at:
//! places that instrumented code has built in.

/// The blocks, and the end of the addresses that they may have.
pub const BLOCKS: u64 = 4 << 42;
pub const END: u64 = 5 << 42;
/// A stamp of 16 bytes for each 16 bytes of blocks, in chunks as theirs:
/// time and event of the latest death, and the events before it.
pub const STAMPS: u64 = 6 << 42;
pub const EVENT_BITS: u32 = 26;
/// An event of four bytes for each stamp: the last use of the block.
pub const USES: u64 = 15 << 41;
/// For each chunk, four bytes by which the offset of an address in it is
/// multiplied, and divided by 2^32, to get the number of its block; 0 if
/// it is part of a large block.
pub const STEPS: u64 = 8 << 42;
/// That of a chunk in which pools have blocks: it is divided by 16 bytes, but
/// uses are elsewhere.
pub const SPLIT: u32 = 1 << 28 | 1;
/// Every so many uses the runtime wants to know.
pub const USES_SHARE: u64 = 64;
pub const CHUNK_BITS: u32 = 16;
/// Each thread has a table from keys to events, of this many entries of 16
/// bytes. The key of what happens in a context is their product.
pub const NUMBERS_BITS: u32 = 15;
pub const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
/// Every so many ticks of a thread's clock the runtime wants to know.
pub const TICKS: u64 = 1024;
