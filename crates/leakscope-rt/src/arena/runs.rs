//! Free runs of chunks, and those that were never handed out.

use core::sync::atomic::Ordering;

use super::{
    BASE, CHUNK, CHUNK_SHIFT, Chunk, GROWTH, LastUse, NONE, SIZE, Step, TOP, Use, address_of, chunk,
    is_followed, last_use, step, top,
};
use crate::lock::{Guard, Lock};
use crate::sys;

/// Freed runs from this length on are given back to the system at once.
const DISCARD_RUN: usize = (16 << 20) / CHUNK;

/// Freed chunks that may wait for their next use with memory behind them: as
/// much as glibc keeps at most of what it mapped once.
const DIRTY_MAX: usize = (32 << 20) / CHUNK;

static RUNS: Lock<Runs> = Lock::new(Runs { bins: [NONE; BINS], committed: 0, dirty: 0 });

const BINS: usize = 32;

/// Runs that are compared when one is wanted.
const LOOKED_AT: usize = 64;

/// Free runs by the binary logarithm of their length.
pub struct Runs {
    bins: [u32; BINS],
    committed: usize,
    dirty: usize,
}

/// `count` chunks in a row, the first at a multiple of `align` chunks; the
/// first one's `dirty` holds for all. The caller sets their use.
pub fn take(count: usize, align: usize) -> Option<usize> {
    RUNS.lock().take(count, align)
}

/// Gives back a run.
pub fn give(index: usize, count: usize) {
    RUNS.lock().give(index, count);
}

/// Lengthens a large run in place, if what follows is free.
pub fn extend(index: usize, count: usize, wanted: usize) -> bool {
    RUNS.lock().extend(index, count, wanted)
}

/// Keeps the heap as it is.
pub fn lock() -> Guard<'static, Runs> {
    RUNS.lock()
}

pub fn before_fork() {
    RUNS.acquire();
}

pub fn after_fork() {
    RUNS.release();
}

impl Runs {
    /// Chunks with memory behind them.
    pub fn committed(&self) -> usize {
        self.committed
    }

    fn take(&mut self, count: usize, align: usize) -> Option<usize> {
        let total = count + align - 1;
        let found = match self.find(total) {
            Some(found) => found,
            None => self.grow(total)?,
        };
        // Aligned as an address, not as a number of chunks.
        let origin = BASE.load(Ordering::Relaxed) >> CHUNK_SHIFT;
        let start = (origin + found).next_multiple_of(align) - origin;
        // SAFETY: a free run's descriptors are under our lock.
        let (run, dirty) = unsafe { ((*chunk(found)).run as usize, (*chunk(found)).dirty) };
        self.unlink(found);
        if start > found {
            self.link(found, start - found, dirty);
        }
        if found + run > start + count {
            self.link(start + count, found + run - start - count, dirty);
        }
        // SAFETY: as above; the run is now the caller's.
        unsafe { (*chunk(start)).dirty = dirty };
        Some(start)
    }

    /// The first run that is long enough, of a few of each bin.
    fn find(&mut self, count: usize) -> Option<usize> {
        let some = (bin_of(count)..BINS).flat_map(|bin| self.listed(bin).take(LOOKED_AT));
        some.filter(|&(_, run)| run >= count).map(|(index, _)| index).min()
    }

    /// The free runs of a bin, and their lengths.
    fn listed(&self, bin: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut index = self.bins[bin];
        core::iter::from_fn(move || {
            // SAFETY: a listed chunk heads a free run, under our lock.
            let free = (index != NONE).then(|| unsafe { &*chunk(index as usize) })?;
            Some((core::mem::replace(&mut index, free.next) as usize, free.run as usize))
        })
    }

    /// A free run of at least `count` chunks at the top of the heap.
    fn grow(&mut self, count: usize) -> Option<usize> {
        let top = TOP.load(Ordering::Relaxed);
        // A free run at the very end is part of the new one.
        let start = match top.checked_sub(1) {
            // SAFETY: the last chunk below the top is committed.
            Some(last) if unsafe { (*chunk(last)).usage() } == Use::Free => {
                // SAFETY: as above; the last chunk of a free run knows its length.
                top - unsafe { (*chunk(last)).run as usize }
            }
            _ => top,
        };
        let end = start + count;
        if end > SIZE.load(Ordering::Relaxed) / CHUNK {
            return None;
        }
        if end > self.committed {
            let wanted = end.next_multiple_of(GROWTH);
            let (from, more) = (self.committed, wanted - self.committed);
            // SAFETY: the ranges lie in our reservations, since `end` does and
            // their sizes are multiples of the growth.
            let done = unsafe {
                sys::commit(chunk(from) as usize, more * size_of::<Chunk>())
                    && (!is_followed() || commit_followed(from, more))
                    && sys::commit(address_of(from), more * CHUNK)
            };
            if !done {
                return None;
            }
            self.committed = wanted;
        }
        TOP.store(end, Ordering::Relaxed);
        // SAFETY: committed above, and nobody else's yet.
        unsafe { (*chunk(top)).dirty = false };
        self.give_clean(top, end - top);
        Some(start)
    }

    fn give_clean(&mut self, index: usize, count: usize) {
        let (mut start, mut end, mut dirty) = (index, index + count, false);
        if let Some(before) = index.checked_sub(1) {
            // SAFETY: the descriptor below a handed-out one is committed.
            let last = unsafe { &*chunk(before) };
            if last.usage() == Use::Free {
                start = index - last.run as usize;
                // SAFETY: the first chunk of that free run.
                dirty |= unsafe { (*chunk(start)).dirty };
                self.unlink(start);
            }
        }
        if end < top() {
            // SAFETY: below the top, so committed.
            let next = unsafe { &*chunk(end) };
            if next.usage() == Use::Free {
                let run = next.run as usize;
                dirty |= next.dirty;
                self.unlink(end);
                end += run;
            }
        }
        // SAFETY: the run given back is nobody's.
        dirty |= unsafe { (*chunk(index)).dirty };
        self.link(start, end - start, dirty);
        if self.dirty > DIRTY_MAX {
            self.discard_all();
        }
    }

    fn give(&mut self, index: usize, count: usize) {
        // SAFETY: the caller gives up a committed run; its memory is not needed.
        unsafe {
            (*chunk(index)).dirty = count < DISCARD_RUN || !sys::discard(address_of(index), count * CHUNK)
        };
        self.give_clean(index, count);
    }

    fn extend(&mut self, index: usize, count: usize, wanted: usize) -> bool {
        let (end, more) = (index + count, wanted - count);
        if end == top() && self.grow(more).is_none() {
            return false;
        }
        // SAFETY: below the top, so committed.
        let next = unsafe { &*chunk(end) };
        if next.usage() != Use::Free || (next.run as usize) < more {
            return false;
        }
        let (run, dirty) = (next.run as usize, next.dirty);
        self.unlink(end);
        if run > more {
            self.link(end + more, run - more, dirty);
        }
        // SAFETY: the chunks are the caller's now.
        unsafe { (*chunk(end)).dirty = dirty };
        true
    }

    fn discard_all(&mut self) {
        for bin in 0..BINS {
            let mut index = self.bins[bin];
            while index != NONE {
                // SAFETY: a listed chunk heads a free run, under our lock.
                let free = unsafe { &mut *chunk(index as usize) };
                if free.dirty {
                    // SAFETY: nobody uses a free run's memory.
                    free.dirty =
                        !unsafe { sys::discard(address_of(index as usize), free.run as usize * CHUNK) };
                    self.dirty -= if free.dirty { 0 } else { free.run as usize };
                }
                index = free.next;
            }
        }
    }

    fn link(&mut self, index: usize, count: usize, dirty: bool) {
        let bin = &mut self.bins[bin_of(count)];
        if *bin != NONE {
            // SAFETY: a listed chunk, under our lock.
            unsafe { (*chunk(*bin as usize)).previous = index as u32 };
        }
        // SAFETY: both ends of a run that is free now, under our lock.
        let (first, last) = unsafe { (&mut *chunk(index), chunk(index + count - 1)) };
        first.run = count as u32;
        first.dirty = dirty;
        first.next = *bin;
        first.previous = NONE;
        first.set_usage(Use::Free);
        // SAFETY: may be the same chunk as the first, so through its pointer.
        unsafe {
            (*last).run = count as u32;
            (*last).set_usage(Use::Free);
        }
        *bin = index as u32;
        self.dirty += if dirty { count } else { 0 };
    }

    fn unlink(&mut self, index: usize) {
        // SAFETY: heads a free run, under our lock.
        let first = unsafe { &mut *chunk(index) };
        let count = first.run as usize;
        match first.previous {
            NONE => self.bins[bin_of(count)] = first.next,
            // SAFETY: a listed chunk.
            previous => unsafe { (*chunk(previous as usize)).next = first.next },
        }
        if first.next != NONE {
            // SAFETY: a listed chunk.
            unsafe { (*chunk(first.next as usize)).previous = first.previous };
        }
        first.set_usage(Use::None);
        // SAFETY: the other end of the same run.
        unsafe { (*chunk(index + count - 1)).set_usage(Use::None) };
        self.dirty -= if first.dirty { count } else { 0 };
    }
}

/// # Safety
/// The chunks lie in our reservations.
unsafe fn commit_followed(from: usize, more: usize) -> bool {
    // Whole pages: what lies before was committed before.
    let commit = |start: usize, bytes: usize| {
        let first = start & !(sys::PAGE - 1);
        // SAFETY: as the caller says.
        unsafe { sys::commit(first, (start + bytes - first).next_multiple_of(sys::PAGE)) }
    };
    commit(step(from) as usize, more * size_of::<Step>())
        && commit(last_use(from) as usize, more * size_of::<LastUse>())
}

fn bin_of(count: usize) -> usize {
    (count.ilog2() as usize).min(BINS - 1)
}
