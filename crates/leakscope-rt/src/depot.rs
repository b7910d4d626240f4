//! Call stacks, each kept once and named by a number.
//!
//! Stacks form a tree by their outer frames: a node is a return address and
//! the node of its caller, so that a program with many stacks pays for each
//! only what is new in it. A table by hash leads from a whole stack to its
//! innermost node. Both only grow, and are read without a lock.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::lock::Lock;
use crate::{arena, mode, modules, sys, walk};

/// Address space for nodes and for known stacks.
const RESERVED: usize = 1 << 32;
const COMMIT: usize = 1 << 16;
const BUCKETS: usize = 1 << 17;

/// Buckets that are used in programs that are watched: these keep few stacks,
/// and each bucket may be the only one of its page.
const SAMPLED_BUCKETS: usize = 1 << 14;

/// A return address and, by number, the node of the caller. The outermost
/// node has parent 0 and the generation of the module list as its address.
#[repr(C)]
struct Node {
    address: AtomicU64,
    parent: AtomicU32,
    /// Next node of the same bucket.
    next: AtomicU32,
}

/// A whole stack that was seen: its hash, innermost node, next in bucket.
#[repr(C)]
struct Known {
    hash: AtomicU64,
    node: AtomicU32,
    next: AtomicU32,
}

struct Table {
    base: AtomicUsize,
    reserved: AtomicUsize,
    buckets: [AtomicU32; BUCKETS],
}

static NODES: Table = Table {
    base: AtomicUsize::new(0),
    reserved: AtomicUsize::new(0),
    buckets: [const { AtomicU32::new(0) }; BUCKETS],
};
static STACKS: Table = Table {
    base: AtomicUsize::new(0),
    reserved: AtomicUsize::new(0),
    buckets: [const { AtomicU32::new(0) }; BUCKETS],
};

static NODE_COUNT: AtomicUsize = AtomicUsize::new(0);

struct Growth {
    nodes: usize,
    nodes_committed: usize,
    stacks: usize,
    stacks_committed: usize,
}

static GROWTH: Lock<Growth> =
    Lock::new(Growth { nodes: 0, nodes_committed: 0, stacks: 0, stacks_committed: 0 });

/// Number of the stack with this hash; `frames` is asked for its return
/// addresses, innermost first, if it is new. 0 if there is no memory for it.
#[inline]
pub fn number_of(hash: u64, frames: impl FnOnce(&mut [u64]) -> usize) -> u32 {
    let hash = in_generation(hash);
    match lookup(hash) {
        0 => insert_walked(hash, frames),
        found => found,
    }
}

/// The same where the return addresses are known.
#[inline]
pub fn number_of_frames(hash: u64, frames: &[u64]) -> u32 {
    let hash = in_generation(hash);
    match lookup(hash) {
        0 => insert(hash, frames),
        found => found,
    }
}

/// The same addresses in another generation are another stack.
#[inline(always)]
fn in_generation(hash: u64) -> u64 {
    mix(hash, u64::from(modules::generation()))
}

/// A running hash over return addresses.
#[inline(always)]
pub fn mix(hash: u64, frame: u64) -> u64 {
    (hash ^ frame).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[inline]
fn lookup(hash: u64) -> u32 {
    // Acquire: an entry's fields were written before its number was.
    let mut index = STACKS.buckets[bucket(hash)].load(Ordering::Acquire);
    while index != 0 {
        let known = STACKS.get::<Known>(index);
        if known.hash.load(Ordering::Relaxed) == hash {
            return known.node.load(Ordering::Relaxed);
        }
        index = known.next.load(Ordering::Relaxed);
    }
    0
}

#[cold]
fn insert_walked(hash: u64, frames: impl FnOnce(&mut [u64]) -> usize) -> u32 {
    let mut addresses = [0; walk::DEPTH_MAX];
    let count = frames(&mut addresses);
    insert(hash, &addresses[..count])
}

#[cold]
fn insert(hash: u64, frames: &[u64]) -> u32 {
    let mut growth = GROWTH.lock();
    let found = lookup(hash);
    if found != 0 {
        return found;
    }
    let mut node = child(&mut growth, 0, u64::from(modules::generation()));
    for &address in frames.iter().rev() {
        if node == 0 {
            return 0;
        }
        node = child(&mut growth, node, address);
    }
    let Growth { stacks, stacks_committed, .. } = &mut *growth;
    let index = STACKS.grow::<Known>(stacks, stacks_committed);
    if index == 0 {
        return node;
    }
    let bucket = &STACKS.buckets[bucket(hash)];
    let known = STACKS.get::<Known>(index);
    known.hash.store(hash, Ordering::Relaxed);
    known.node.store(node, Ordering::Relaxed);
    known.next.store(bucket.load(Ordering::Relaxed), Ordering::Relaxed);
    // Release: readers that see the number see the fields.
    bucket.store(index, Ordering::Release);
    node
}

/// Number of `address` below a stack; 0 if there is no memory for it.
pub fn under(stack: u32, address: u64) -> u32 {
    child(&mut GROWTH.lock(), stack, address)
}

/// The node for `address` called from `parent`, made if there is none.
fn child(growth: &mut Growth, parent: u32, address: u64) -> u32 {
    let bucket = &NODES.buckets[bucket(mix(u64::from(parent), address))];
    let mut index = bucket.load(Ordering::Relaxed);
    while index != 0 {
        let node = NODES.get::<Node>(index);
        if node.address.load(Ordering::Relaxed) == address && node.parent.load(Ordering::Relaxed) == parent {
            return index;
        }
        index = node.next.load(Ordering::Relaxed);
    }
    index = NODES.grow::<Node>(&mut growth.nodes, &mut growth.nodes_committed);
    if index != 0 {
        NODE_COUNT.store(index as usize, Ordering::Relaxed);
        let node = NODES.get::<Node>(index);
        node.address.store(address, Ordering::Relaxed);
        node.parent.store(parent, Ordering::Relaxed);
        node.next.store(bucket.load(Ordering::Relaxed), Ordering::Relaxed);
        bucket.store(index, Ordering::Relaxed);
    }
    index
}

fn bucket(hash: u64) -> usize {
    (hash >> 20) as usize % if mode::samples() { SAMPLED_BUCKETS } else { BUCKETS }
}

impl Table {
    #[inline(always)]
    fn get<T>(&self, index: u32) -> &'static T {
        let address = self.base.load(Ordering::Relaxed) + index as usize * size_of::<T>();
        // SAFETY: numbers are given out by `grow`, after committing their
        // memory; entries are made of atomics, for which zero is valid.
        unsafe { &*(address as *const T) }
    }

    /// Number of a new entry; 0 if there is no memory for it.
    fn grow<T>(&self, used: &mut usize, committed: &mut usize) -> u32 {
        if self.base.load(Ordering::Relaxed) == 0 {
            // The heap takes its share of the address space first.
            arena::ready();
            let mut bytes = match arena::limited_to() {
                0 => RESERVED,
                limit => (limit / 64).next_multiple_of(COMMIT),
            };
            let mut base = sys::reserve(bytes);
            while base == 0 && bytes > COMMIT {
                bytes /= 2;
                base = sys::reserve(bytes);
            }
            self.reserved.store(bytes, Ordering::Relaxed);
            self.base.store(base, Ordering::Relaxed);
        }
        let base = self.base.load(Ordering::Relaxed);
        let index = *used + 1;
        let end = (index + 1) * size_of::<T>();
        let room = *committed + COMMIT <= self.reserved.load(Ordering::Relaxed);
        // SAFETY: within the reservation.
        if *committed < end && base != 0 && room && unsafe { sys::commit(base + *committed, COMMIT) } {
            *committed += COMMIT;
        }
        if *committed < end {
            return 0;
        }
        *used = index;
        index as u32
    }
}

/// Generation and return addresses of a stack, innermost first; returns how
/// many there are.
pub fn read(number: u32, frames: &mut [u64]) -> (u32, usize) {
    let (mut count, mut number) = (0, number);
    while number != 0 {
        let node = NODES.get::<Node>(number);
        let address = node.address.load(Ordering::Relaxed);
        number = node.parent.load(Ordering::Relaxed);
        if number == 0 {
            return (address as u32, count);
        }
        if count < frames.len() {
            frames[count] = address;
            count += 1;
        }
    }
    (0, count)
}

/// One more than the largest number in use; without the lock, which a stopped
/// thread may hold.
pub fn end() -> u32 {
    NODE_COUNT.load(Ordering::Relaxed) as u32 + 1
}

/// Gives back what is reserved beyond `bytes` and beyond what is in use.
pub fn shrink(bytes: usize) {
    let growth = GROWTH.lock();
    for (table, committed) in [(&NODES, growth.nodes_committed), (&STACKS, growth.stacks_committed)] {
        let (base, reserved) = (table.base.load(Ordering::Relaxed), table.reserved.load(Ordering::Relaxed));
        let kept = bytes.next_multiple_of(COMMIT).max(committed);
        if base != 0 && kept < reserved {
            // SAFETY: the end of our reservation, not committed yet.
            unsafe { sys::unmap(base + kept, reserved - kept) };
            table.reserved.store(kept, Ordering::Relaxed);
        }
    }
}

pub fn before_fork() {
    GROWTH.acquire();
}

pub fn after_fork() {
    GROWTH.release();
}
