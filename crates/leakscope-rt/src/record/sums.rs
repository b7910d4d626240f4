//! What a record sums up before it is written: live blocks that are alike, and
//! the stacks that are mentioned.

use core::ops::Range;

use leakscope_wire as wire;

use crate::{accesses, activations, depot, heap, inject, sys};

/// Live blocks that are alike, summed up in an entry of the record.
pub struct Alike<Entry> {
    table: *mut Entry,
    capacity: usize,
}

/// An entry of a record that stands for a number of blocks.
pub trait Counted {
    /// 0 in a free entry.
    fn blocks(&self) -> u64;
}

impl Counted for wire::Accessed {
    fn blocks(&self) -> u64 {
        self.blocks
    }
}

impl Counted for wire::Reachable {
    fn blocks(&self) -> u64 {
        self.blocks
    }
}

impl<Entry: Counted> Alike<Entry> {
    /// Room for as many entries as there may be blocks.
    pub fn new(blocks: u64) -> Option<Self> {
        let capacity = (2 * blocks as usize + 1).next_power_of_two();
        let table = sys::allocate(capacity * size_of::<Entry>()) as *mut Entry;
        (!table.is_null()).then_some(Alike { table, capacity })
    }

    /// The entry that `is_alike`, or a free one.
    fn entry(&mut self, hash: u64, is_alike: impl Fn(&Entry) -> bool) -> &mut Entry {
        let mut index = hash as usize;
        loop {
            // SAFETY: within the table, zeroed, in which there is always room.
            let entry = unsafe { &mut *self.table.add(index % self.capacity) };
            if entry.blocks() == 0 || is_alike(entry) {
                return entry;
            }
            index = index.wrapping_add(1);
        }
    }

    pub fn for_each(&self, mut f: impl FnMut(&Entry)) {
        for index in 0..self.capacity {
            // SAFETY: within the table.
            let entry = unsafe { &*self.table.add(index) };
            if entry.blocks() > 0 {
                f(entry);
            }
        }
    }
}

/// How long blocks lay idle, by allocation and last access.
pub type Idle = Alike<wire::Accessed>;

impl Idle {
    pub fn add(&mut self, stack: u32, block: heap::Block, seen: accesses::Seen) {
        let (last_used, never) = (seen.place.unwrap_or(0), seen.place.is_none().into());
        let injected = u32::from(inject::is_injected(block.seat));
        let times = |idle, active| [accesses::about(idle), accesses::about(active)];
        let like = times(seen.idle, seen.active);
        let hash = depot::mix(u64::from(stack), u64::from(last_used));
        let hash = depot::mix(hash, u64::from(like[0]) << 9 | u64::from(like[1]) << 1 | u64::from(injected));
        let entry = self.entry(hash, |entry| {
            (entry.stack, entry.last_used, entry.never, entry.injected) == (stack, last_used, never, injected)
                && times(entry.idle, entry.active) == like
        });
        if entry.blocks == 0 {
            (entry.stack, entry.last_used, entry.never, entry.injected) = (stack, last_used, never, injected);
            (entry.idle, entry.active) = (seen.idle, seen.active);
        }
        let bytes = block.size() as u64;
        entry.blocks += 1;
        entry.bytes += bytes;
        entry.drag = entry.drag.saturating_add(bytes.saturating_mul(seen.idle));
        entry.idle = entry.idle.min(seen.idle);
        entry.active = entry.active.max(seen.active);
    }
}

/// What is reachable, by allocation and last use.
pub type Reached = Alike<wire::Reachable>;

impl Reached {
    /// Counts a block in. Returns how many of its kind there are by now.
    pub fn add(&mut self, stack: u32, last_used: u32, bytes: u64) -> u64 {
        let hash = depot::mix(u64::from(stack), u64::from(last_used));
        let entry = self.entry(hash, |entry| (entry.stack, entry.last_used) == (stack, last_used));
        (entry.stack, entry.last_used) = (stack, last_used);
        entry.blocks += 1;
        entry.bytes += bytes;
        entry.blocks
    }
}

/// The stacks that a record mentions.
pub struct Mentioned {
    base: *mut bool,
    end: u32,
    /// A bit for each number of [`activations`].
    places: *mut u64,
    numbers: Range<u32>,
}

impl Mentioned {
    pub fn new() -> Option<Mentioned> {
        let end = depot::end();
        let base = sys::allocate(end as usize);
        let numbers = activations::numbers();
        let places = sys::allocate(numbers.len() / 8 + size_of::<u64>());
        let (base, places) = (base as *mut bool, places as *mut u64);
        let is_whole = !base.is_null() && !places.is_null();
        is_whole.then_some(Mentioned { base, end, places, numbers })
    }

    pub fn use_stack(&mut self, stack: u32) {
        if self.numbers.contains(&stack) {
            let bit = stack - self.numbers.start;
            // SAFETY: within the allocation.
            unsafe { *self.places.add(bit as usize / 64) |= 1 << (bit % 64) };
        } else if stack < self.end {
            // SAFETY: within the allocation.
            unsafe { *self.base.add(stack as usize) = true };
        }
    }

    pub fn used(&self) -> usize {
        let mut count = 0;
        self.for_each_used(|_| count += 1);
        count
    }

    pub fn for_each_used(&self, mut f: impl FnMut(u32)) {
        for stack in 0..self.end {
            // SAFETY: within the allocation.
            if unsafe { *self.base.add(stack as usize) } {
                f(stack);
            }
        }
        for word in 0..=self.numbers.len() as u32 / 64 {
            // SAFETY: within the allocation.
            let mut bits = unsafe { *self.places.add(word as usize) };
            while bits != 0 {
                f(self.numbers.start + word * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}
