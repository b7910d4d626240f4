//! Blocks of the program's own allocators: parts of memory that a pool got as
//! a whole, from this heap or from elsewhere.
//!
//! Each has an [`Entry`], which lies in a chunk of its own kind in the arena.
//! So it has a slot, and with it metadata, stamps and whatever else is kept by
//! slot, as a block of the heap has. From an address to its entry leads an
//! index of 64-byte lines. When a pool takes a block back, its entry stays as
//! a free one until the memory is used again: what is left there is nobody's,
//! and the scan passes over it.
//!
//! Who calls is `client`'s business; nothing here is stamped or counted.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::arena::{self, CHUNK, CHUNK_SHIFT};
use crate::heap::{self, Block};
use crate::lock::Lock;
use crate::{depot, stamps, sys};

/// What the index knows of a block.
#[repr(C, align(64))]
pub struct Entry {
    pub start: AtomicUsize,
    pub size: AtomicUsize,
    /// Whose it is: the address of a pool, or of a block that others hang on.
    pub pool: usize,
    /// The pool keeps it: it is reachable as long as the pool is.
    pub is_kept: bool,
    /// Next entry that begins in the same line, next free one otherwise.
    next: AtomicUsize,
    /// Neighbours in the list of entries whose pools are alike.
    after: usize,
    before: usize,
}

/// Bytes of an entry.
pub const ENTRY: usize = size_of::<Entry>();

const LINE: usize = 64;
const PAGE_LINES: usize = CHUNK / LINE;
const POOLS: usize = 4096;

/// The index is a tree of three levels over 47 bits: down to what a table of
/// the middle covers, down to chunks, down to lines.
const TOP: usize = 1 << (47 - MIDDLE_SHIFT);
const MIDDLE: usize = 1 << 15;
const MIDDLE_SHIFT: usize = CHUNK_SHIFT + MIDDLE.ilog2() as usize;

/// Address space for the index; little of it is used.
const INDEX: usize = 1 << 36;

/// Entries that begin in a line, and the one that reaches into it.
#[repr(C)]
struct Line {
    first: AtomicUsize,
    covering: AtomicUsize,
}

/// The top level; 0 while there are no pools.
static INDEX_BASE: AtomicUsize = AtomicUsize::new(0);

/// Zero bytes, so that a program without pools has no memory for it.
static STATE: Lock<State> = Lock::new(State { used: 0, chunk: 0, free: 0, alike: [0; POOLS] });

struct State {
    /// Bytes of the index that are in use.
    used: usize,
    /// The chunk that entries are carved from; 0 if there is none, which is no
    /// chunk that anyone gets.
    chunk: u32,
    /// Entries that can be used again.
    free: usize,
    /// Entries by a hash of their pool.
    alike: [usize; POOLS],
}

/// A block as a pool hands it out.
#[derive(Clone, Copy)]
pub struct Part {
    pub start: usize,
    pub size: usize,
    pub pool: usize,
    pub is_kept: bool,
    /// Stack of the allocation.
    pub stack: u32,
}

/// Whether there are any.
#[inline(always)]
pub fn are_used() -> bool {
    INDEX_BASE.load(Ordering::Relaxed) != 0
}

/// The live block that `address` points into.
#[inline]
pub fn find(address: usize) -> Option<Block> {
    entry_at(address).map(Entry::block).filter(Block::is_live)
}

/// The same for an address that is looked up for what lies around it: the end
/// of the block there, live or given back.
#[inline]
pub fn end_of(address: usize) -> Option<usize> {
    entry_at(address).map(Entry::end)
}

/// The pool of a block, if the block is reachable as long as that is.
pub fn keeper(block: Block) -> Option<usize> {
    let entry = entry_at(block.start).filter(|entry| entry.slot() == block.slot)?;
    (entry.is_kept && entry.pool != 0).then_some(entry.pool)
}

/// Whether live blocks of pools lie in a block of the heap: it is told by
/// them.
pub fn are_within(block: Block) -> bool {
    first_where(block, |part| part.is_live()).is_some()
}

/// The first block of a pool in a block of the heap, live or given back.
pub fn first_in(block: Block) -> Option<Block> {
    first_where(block, |_| true)
}

fn first_where(block: Block, is_wanted: impl Fn(&Block) -> bool) -> Option<Block> {
    let (mut at, end) = (block.start, block.start + block.size());
    while at < end {
        let Some(line) = line_of(at) else {
            at = (at / CHUNK + 1) * CHUNK;
            continue;
        };
        // SAFETY: lines stay mapped.
        let begun = unsafe { &*line }.entries().map(Entry::block);
        let wanted = begun.filter(|part| (at..end).contains(&part.start) && is_wanted(part));
        if let Some(first) = wanted.min_by_key(|part| part.start) {
            return Some(first);
        }
        at = (at / LINE + 1) * LINE;
    }
    None
}

/// Whether a part lies in memory that the program has: what we are told is its
/// size may be something else.
fn is_possible(part: &Part) -> bool {
    let Some(end) = part.start.checked_add(part.size) else { return false };
    match heap::find(part.start) {
        Some(holder) => end <= holder.start + holder.room,
        None => part.size <= CHUNK || sys::is_mapped(end - 1),
    }
}

/// Makes a part of some memory a block. What lay there ends; `None` if there is
/// no memory for it.
pub fn begin(part: Part) -> Option<Block> {
    if !is_possible(&part) {
        return None;
    }
    let mut state = STATE.lock();
    state.forget(part.start, part.start + part.size);
    let entry = state.take()?;
    // SAFETY: an entry that nobody else has.
    unsafe {
        (*entry).start.store(part.start, Ordering::Relaxed);
        (*entry).size.store(part.size, Ordering::Relaxed);
        (*entry).pool = part.pool;
        (*entry).is_kept = part.is_kept;
        let block = (*entry).block();
        heap::begin_part(block, part.stack);
        state.join_alike(entry);
        state.link(entry)?;
        heap::hold_parts(part.start, part.size);
        stamps::cover(part.start, part.size);
        Some(block)
    }
}

/// The block goes back to its pool. Its memory is nobody's from now on.
pub fn end(block: Block) {
    let mut state = STATE.lock();
    if let Some(entry) = entry_at(block.start).filter(|entry| entry.slot() == block.slot) {
        state.leave_alike((&raw const *entry).cast_mut());
        heap::end_part(block);
        stamps::cover(block.start, block.room);
    }
}

/// The block has another pool.
pub fn give(block: Block, pool: usize) {
    let mut state = STATE.lock();
    if let Some(entry) = entry_at(block.start).filter(|entry| entry.slot() == block.slot) {
        let entry = (&raw const *entry).cast_mut();
        state.leave_alike(entry);
        // SAFETY: a live entry, under the lock.
        unsafe { (*entry).pool = pool };
        state.join_alike(entry);
    }
}

/// A live block of this pool.
pub fn any_of(pool: usize) -> Option<Block> {
    let state = STATE.lock();
    let mut at = state.alike[bucket(pool)];
    // SAFETY: entries in the list, under the lock.
    while let Some(entry) = unsafe { (at as *const Entry).as_ref() } {
        if entry.pool == pool {
            return Some(entry.block());
        }
        at = entry.after;
    }
    None
}

/// The pool that a live block is of; 0 if none.
pub fn pool_of(block: Block) -> usize {
    entry_at(block.start).map_or(0, |entry| entry.pool)
}

/// Memory is about to be another's: no block lies there any more.
#[cold]
pub fn forget(start: usize, end: usize) {
    STATE.lock().forget(start, end);
}

pub fn before_fork() {
    STATE.acquire();
}

pub fn after_fork() {
    STATE.release();
}

impl Entry {
    fn end(&self) -> usize {
        self.start.load(Ordering::Relaxed) + self.size.load(Ordering::Relaxed)
    }

    fn slot(&self) -> u64 {
        heap::slot_of_entry((&raw const *self) as usize)
    }

    pub fn block(&self) -> Block {
        let (start, size) = (self.start.load(Ordering::Relaxed), self.size.load(Ordering::Relaxed));
        Block { start, slot: self.slot(), seat: heap::seat_of(self.slot()), room: size }
    }
}

impl Line {
    /// Entries that begin here. Bounded, as others may change the list.
    fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        let mut at = self.first.load(Ordering::Acquire);
        let next = core::iter::from_fn(move || {
            // SAFETY: entries stay mapped, used or not.
            let entry = unsafe { (at as *const Entry).as_ref() }?;
            at = entry.next.load(Ordering::Acquire);
            Some(entry)
        });
        next.take(LINE)
    }
}

fn entry_at(address: usize) -> Option<&'static Entry> {
    // SAFETY: the line stays mapped once it is there.
    let line = unsafe { &*line_of(address)? };
    let holds = |entry: &Entry| (entry.start.load(Ordering::Relaxed)..entry.end()).contains(&address);
    line.entries().find(|entry| holds(entry)).or_else(|| {
        // SAFETY: entries stay mapped, used or not.
        let covering = unsafe { (line.covering.load(Ordering::Acquire) as *const Entry).as_ref() };
        covering.filter(|entry| holds(entry))
    })
}

/// The line of an address, if its part of the index was made.
#[inline(always)]
fn line_of(address: usize) -> Option<*const Line> {
    let base = INDEX_BASE.load(Ordering::Acquire);
    if base == 0 || address >> 47 != 0 {
        return None;
    }
    // SAFETY: within the levels of the index, which stay mapped.
    unsafe {
        let middle = *(base as *const usize).add(address >> MIDDLE_SHIFT);
        if middle == 0 {
            return None;
        }
        let lines = *(middle as *const usize).add((address >> CHUNK_SHIFT) % MIDDLE);
        (lines != 0).then(|| (lines as *const Line).add(address / LINE % PAGE_LINES))
    }
}

fn bucket(pool: usize) -> usize {
    depot::mix(0, pool as u64) as usize % POOLS
}

impl State {
    /// An entry for a new block.
    fn take(&mut self) -> Option<*mut Entry> {
        if let Some(entry) = core::ptr::NonNull::new(self.free as *mut Entry) {
            // SAFETY: a free entry, under the lock.
            self.free = unsafe { entry.as_ref() }.next.load(Ordering::Relaxed);
            return Some(entry.as_ptr());
        }
        if self.chunk == 0 {
            self.chunk = heap::new_entries()? as u32;
        }
        // SAFETY: the chunk is ours.
        let chunk = unsafe { &mut *arena::chunk(self.chunk as usize) };
        let entry = arena::address_of(self.chunk as usize) + chunk.carved as usize * ENTRY;
        chunk.carved += 1;
        if chunk.carved == chunk.capacity {
            self.chunk = 0;
        }
        Some(entry as *mut Entry)
    }

    /// Puts an entry into the index.
    ///
    /// # Safety
    /// An entry that is in no line.
    unsafe fn link(&mut self, entry: *mut Entry) -> Option<()> {
        // SAFETY: as the caller says.
        let (start, end) = unsafe { ((*entry).start.load(Ordering::Relaxed), (*entry).end()) };
        let first = self.make_line(start)?;
        // SAFETY: lines stay mapped. Release: whoever sees the entry sees what it holds.
        unsafe {
            (*entry).next.store((*first).first.load(Ordering::Relaxed), Ordering::Relaxed);
            (*first).first.store(entry as usize, Ordering::Release);
        }
        let mut at = (start / LINE + 1) * LINE;
        while at < end {
            // SAFETY: lines stay mapped.
            unsafe { (*self.make_line(at)?).covering.store(entry as usize, Ordering::Release) };
            at += LINE;
        }
        Some(())
    }

    /// Takes the entries out that overlap with this memory.
    fn forget(&mut self, start: usize, end: usize) {
        let mut at = start;
        while at < end.max(start + 1) {
            while let Some(entry) = entry_at(at) {
                self.unlink((&raw const *entry).cast_mut());
            }
            // SAFETY: lines stay mapped.
            let line = line_of(at).map(|line| unsafe { &*line });
            let Some(line) = line else {
                at = (at / CHUNK + 1) * CHUNK;
                continue;
            };
            let begun =
                { line.entries().find(|entry| (at..end).contains(&entry.start.load(Ordering::Relaxed))) };
            match begun {
                Some(entry) => self.unlink((&raw const *entry).cast_mut()),
                None => at = (at / LINE + 1) * LINE,
            }
        }
    }

    fn unlink(&mut self, entry: *mut Entry) {
        // SAFETY: an entry of the index, under the lock; lines stay mapped.
        unsafe {
            let (block, end) = ((*entry).block(), (*entry).end());
            let next = (*entry).next.load(Ordering::Relaxed);
            if let Some(line) = line_of(block.start) {
                let mut link = &(*line).first;
                while let Some(before) = (link.load(Ordering::Relaxed) as *const Entry).as_ref() {
                    if core::ptr::eq(before, entry) {
                        link.store(next, Ordering::Release);
                        break;
                    }
                    link = &before.next;
                }
            }
            let mut at = (block.start / LINE + 1) * LINE;
            while at < end {
                if let Some(line) = line_of(at) {
                    let _ = (*line).covering.compare_exchange(
                        entry as usize,
                        0,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                }
                at += LINE;
            }
            if block.is_live() {
                self.leave_alike(entry);
                heap::end_part(block);
                stamps::cover(block.start, block.room);
            }
            (*entry).size.store(0, Ordering::Relaxed);
            (*entry).next.store(self.free, Ordering::Relaxed);
            self.free = entry as usize;
        }
    }

    fn join_alike(&mut self, entry: *mut Entry) {
        // SAFETY: entries, under the lock.
        unsafe {
            let first = &mut self.alike[bucket((*entry).pool)];
            (*entry).before = 0;
            (*entry).after = *first;
            if let Some(after) = (*first as *mut Entry).as_mut() {
                after.before = entry as usize;
            }
            *first = entry as usize;
        }
    }

    fn leave_alike(&mut self, entry: *mut Entry) {
        // SAFETY: entries, under the lock.
        unsafe {
            let (before, after) = ((*entry).before, (*entry).after);
            match (before as *mut Entry).as_mut() {
                Some(before) => before.after = after,
                None => self.alike[bucket((*entry).pool)] = after,
            }
            if let Some(after) = (after as *mut Entry).as_mut() {
                after.before = before;
            }
        }
    }

    /// The line of an address, made if it is not there; `None` if there is no
    /// memory, or no such address.
    fn make_line(&mut self, address: usize) -> Option<*const Line> {
        if address >> 47 != 0 {
            return None;
        }
        if !are_used() {
            let base = sys::reserve_sparse(INDEX);
            if base == 0 {
                return None;
            }
            self.used = TOP * size_of::<usize>();
            // Release: whoever sees it sees zeros.
            INDEX_BASE.store(base, Ordering::Release);
        }
        let base = INDEX_BASE.load(Ordering::Relaxed);
        let mut level = |table: usize, index: usize, bytes: usize| {
            // SAFETY: within a level of the index, which stays mapped.
            let place = unsafe { &*(table as *const AtomicUsize).add(index) };
            if place.load(Ordering::Relaxed) == 0 {
                if self.used + bytes > INDEX {
                    return None;
                }
                place.store(base + self.used, Ordering::Release);
                self.used += bytes;
            }
            Some(place.load(Ordering::Relaxed))
        };
        let middle = level(base, address >> MIDDLE_SHIFT, MIDDLE * size_of::<usize>())?;
        level(middle, (address >> CHUNK_SHIFT) % MIDDLE, PAGE_LINES * size_of::<Line>())?;
        line_of(address)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Begin(usize, usize, usize),
        End(usize),
        Forget(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let place = 0..1_usize << 18;
        prop_oneof![
            3 => (place.clone(), 1..3000_usize, 1..5_usize).prop_map(|(at, size, pool)| Step::Begin(at, size, pool)),
            2 => place.clone().prop_map(Step::End),
            1 => (place, 0..5000_usize).prop_map(|(at, size)| Step::Forget(at, size)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each case has addresses of its own: there is one index.
        #[test]
        fn parts_agree_with_a_map(case in 0..1_usize << 12, steps in prop::collection::vec(step(), 1..400)) {
            let base = 1 << 45 | case << 20;
            let mut model = BTreeMap::<usize, (usize, usize)>::new();
            forget(base, base + (1 << 20));
            for step in steps {
                let (Step::Begin(at, ..) | Step::End(at) | Step::Forget(at, _), size) = (&step, match step {
                    Step::Begin(_, size, _) | Step::Forget(_, size) => size,
                    Step::End(_) => 0,
                });
                let start = base + at;
                if size > 0 {
                    model.retain(|&at, &mut (size_at, _)| at + size_at <= start || at >= start + size);
                }
                match step {
                    Step::Begin(_, size, pool) => {
                        let part = Part { start, size, pool: base + pool, is_kept: true, stack: 7 };
                        prop_assert!(begin(part).is_some());
                        model.insert(start, (size, base + pool));
                    }
                    Step::Forget(_, size) if size > 0 => forget(start, start + size),
                    Step::Forget(..) => {}
                    Step::End(_) => {
                        if let Some((&start, _)) = model.range(start..).next() {
                            model.remove(&start);
                            end(find(start).expect("it is live"));
                            prop_assert!(find(start).is_none() && end_of(start).is_some());
                        }
                    }
                }
                let at = model.range(start..).next().map_or(start, |(&next, &(size, _))| next + size / 2);
                let expected = model.range(..=at).next_back().filter(|&(&start, &(size, _))| at < start + size);
                let found = find(at).map(|block| (block.start, (block.size(), pool_of(block))));
                prop_assert_eq!(found, expected.map(|(&start, &what)| (start, what)));
            }
            for (start, (_, pool)) in model {
                let block = find(start).expect("it is live");
                prop_assert_eq!((keeper(block), block.stack()), (Some(pool), 7));
            }
            for pool in 1..5 {
                while let Some(block) = any_of(base + pool) {
                    end(block);
                }
            }
        }
    }
}
