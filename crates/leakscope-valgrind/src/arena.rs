//! Chunks of the program's heap, in a place of the address space that nothing
//! else has: one shift tells a heap address from any other word.

use crate::list::List;
use crate::memory::{self, Single};

/// Words that are 1 above this bit point into the heap's place: the second 32
/// GiB. Valgrind gives the program addresses from below, and keeps its own
/// memory above.
pub const SHIFT: u32 = 35;
pub const BASE: usize = 1 << SHIFT;
pub const CHUNK: usize = 1 << 16;
pub const CHUNKS: usize = (1 << SHIFT) / CHUNK;
/// Memory is asked for in this measure.
const STEP: usize = 1 << 20;
/// The first chunk: two small numbers side by side must not look like the
/// address of a block.
const FIRST: usize = 0x3570;

/// Whether a word may point into the heap.
#[inline(always)]
pub fn is_within(word: usize) -> bool {
    word >> SHIFT == 1
}

/// Chunks in a row that are free, by number of the first.
#[derive(Clone, Copy)]
struct Run {
    first: usize,
    count: usize,
}

struct Arena {
    /// Chunks up to here were handed out once.
    used: usize,
    /// Bytes from [`BASE`] on that are mapped.
    mapped: usize,
    free: List<Run>,
}

static ARENA: Single<Arena> = Single::new(Arena { used: FIRST, mapped: FIRST * CHUNK, free: List::new() });

/// Address of `count` chunks in a row, aligned to `align` if that is more
/// than a chunk. They read as zero. `None` if there is no memory.
pub fn take(count: usize, align: usize) -> Option<usize> {
    let arena = ARENA.get();
    let step = align / CHUNK;
    let fits = |run: &Run| {
        let first = if step > 1 { run.first.next_multiple_of(step) } else { run.first };
        (first + count <= run.first + run.count).then_some(first)
    };
    let found = arena.free.iter().enumerate().find_map(|(index, run)| Some((index, *run, fits(run)?)));
    if let Some((index, run, first)) = found {
        let last = arena.free.len() - 1;
        arena.free.swap(index, last);
        arena.free.truncate(last);
        put(run.first, first - run.first);
        put(first + count, run.first + run.count - first - count);
        return Some(BASE + first * CHUNK);
    }
    let first = if step > 1 { arena.used.next_multiple_of(step) } else { arena.used };
    let end = first.checked_add(count).filter(|&end| end <= CHUNKS)?;
    if end * CHUNK > arena.mapped {
        let more = (end * CHUNK - arena.mapped).next_multiple_of(STEP);
        if !memory::map_for_program(BASE + arena.mapped, more) {
            return None;
        }
        arena.mapped += more;
    }
    let skipped = first - arena.used;
    let before = arena.used;
    arena.used = end;
    put(before, skipped);
    Some(BASE + first * CHUNK)
}

/// Gives chunks back.
pub fn give(start: usize, count: usize) {
    memory::release(start, count * CHUNK);
    put((start - BASE) / CHUNK, count);
}

/// Notes free chunks, joined with their neighbours.
fn put(mut first: usize, mut count: usize) {
    if count == 0 {
        return;
    }
    let free = &mut ARENA.get().free;
    while let Some(index) =
        free.iter().position(|run| run.first + run.count == first || first + count == run.first)
    {
        let run = free[index];
        first = first.min(run.first);
        count += run.count;
        let last = free.len() - 1;
        free.swap(index, last);
        free.truncate(last);
    }
    free.push(Run { first, count });
}

/// The numbers of chunks that may be in use.
pub fn chunks() -> core::ops::Range<usize> {
    FIRST..ARENA.get().used
}
