//! Where a program that follows pointers keeps what its own code looks at:
//! places that instrumented code has built in.

/// The blocks, and the end of the addresses that they may have.
pub const BLOCKS: u64 = 4 << 42;
pub const END: u64 = 5 << 42;
/// A stamp of 16 bytes for each seat of a block: time and event of the latest
/// death, and the events before it.
pub const STAMPS: u64 = 6 << 42;
pub const EVENT_BITS: u32 = 26;
/// An event of four bytes for each seat: the last use of the block.
pub const USES: u64 = 15 << 41;
/// For each chunk, four bytes by which the offset of an address in it is
/// multiplied, and divided by 2^32, to get the number of its block, 0 if it is
/// part of a large block; and four with the seat of its first block, or 0 if it
/// has none. Seat 0 is nobody's, and has no stamp.
pub const STEPS: u64 = 8 << 42;
/// That of a chunk in which pools have blocks: it is divided by 16 bytes, but
/// uses are elsewhere.
pub const SPLIT: u32 = 1 << 28 | 1;
/// For each chunk, 16 bytes: where the event of its first block's last use is,
/// of a large block that of the whole, and by what the offset of an address is
/// multiplied, and divided by 2^32, to get the number of its block. 0 where the
/// runtime must be asked.
pub const LAST_USES: u64 = STEPS + (1 << 32);
/// Marks an event that stands for a place in a function which was called from
/// somewhere: a call has one for each byte of its function's code, in a row,
/// and knows the first.
pub const IS_PLACE: u32 = 1 << 31;
pub const CHUNK_BITS: u32 = 16;
/// Each thread has a table from keys to events. The key of what happens in a
/// context is their product: its first so many bits say where in the table its
/// entry is, which has the next 32 above the event.
pub const NUMBERS_BITS: u32 = 15;
pub const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
/// Every so many ticks of a thread's clock the runtime wants to know.
pub const TICKS: u64 = 1024;
