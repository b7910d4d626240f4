//! Call stacks, each kept once and named by a number.
//!
//! Stacks form a tree by their outer frames: a node is a return address and
//! the node of its caller, so that a program with many stacks pays for each
//! only what is new in it. A table by hash leads from a whole stack to its
//! innermost node; one of few frames may be found by its nodes. Both only grow, and
//! are read without a lock.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::lock::Lock;
use crate::{arena, modules, sys, walk};

/// Address space for nodes and for known stacks.
const RESERVED: usize = 1 << 32;
const COMMIT: usize = 1 << 16;
/// Buckets at most, and at first, as binary logarithms: each may be the only
/// one of its page, so there are no more than there are entries.
const MOST_BITS: u32 = 16;
const FIRST_BITS: u32 = 8;

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

trait Entry {
    /// How many share a bucket, as a binary logarithm: fewer where they are
    /// looked for more often.
    const SHARE: u32;

    /// By which it is found.
    fn hash(&self) -> u64;

    /// Number of the next entry of its bucket.
    fn next(&self) -> &AtomicU32;
}

impl Entry for Node {
    const SHARE: u32 = 2;

    fn hash(&self) -> u64 {
        mix(u64::from(self.parent.load(Ordering::Relaxed)), self.address.load(Ordering::Relaxed))
    }

    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

impl Entry for Known {
    const SHARE: u32 = 0;

    fn hash(&self) -> u64 {
        self.hash.load(Ordering::Relaxed)
    }

    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

struct Table<T> {
    base: AtomicUsize,
    reserved: AtomicUsize,
    /// How often the buckets in use became twice as many.
    splits: AtomicU32,
    buckets: [AtomicU32; 1 << MOST_BITS],
    entries: PhantomData<T>,
}

static NODES: Table<Node> = Table::new();
static STACKS: Table<Known> = Table::new();

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

/// The same of few frames for which it is not often asked: they need no entry
/// beside their nodes.
pub fn number_of_few(frames: &[u64]) -> u32 {
    let mut addresses = path(frames);
    let mut node = 0;
    while let Some(address) = addresses.next() {
        match known_child(node, address) {
            Some(known) => node = known,
            None => return add_below(&mut GROWTH.lock(), node, core::iter::once(address).chain(addresses)),
        }
    }
    node
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
    let mut index = STACKS.bucket(hash).load(Ordering::Acquire);
    while index != 0 {
        let known = STACKS.get(index);
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
    let node = add_nodes(&mut growth, frames);
    if node == 0 {
        return 0;
    }
    let Growth { stacks, stacks_committed, .. } = &mut *growth;
    let index = STACKS.grow(stacks, stacks_committed);
    if index != 0 {
        let known = STACKS.get(index);
        known.hash.store(hash, Ordering::Relaxed);
        known.node.store(node, Ordering::Relaxed);
        STACKS.list(index, known);
    }
    node
}

/// The node of a stack, with all that lead to it; 0 if there is no memory.
fn add_nodes(growth: &mut Growth, frames: &[u64]) -> u32 {
    add_below(growth, 0, path(frames))
}

/// The same of what comes below a node.
fn add_below(growth: &mut Growth, node: u32, mut addresses: impl Iterator<Item = u64>) -> u32 {
    addresses
        .try_fold(node, |node, address| match child(growth, node, address) {
            0 => None,
            child => Some(child),
        })
        .unwrap_or(0)
}

/// What the nodes of a stack have, from the root on.
fn path(frames: &[u64]) -> impl Iterator<Item = u64> + '_ {
    core::iter::once(u64::from(modules::generation())).chain(frames.iter().rev().copied())
}

/// Number of the stack without frames; 0 if there is no memory for it.
pub fn root() -> u32 {
    number_of_few(&[])
}

/// Number of the stack without its innermost frame.
#[cfg(feature = "executable")]
pub fn outer(stack: u32) -> u32 {
    NODES.get(stack).parent.load(Ordering::Relaxed)
}

/// Number of `address` below a stack; 0 if there is no memory for it.
pub fn under(stack: u32, address: u64) -> u32 {
    child(&mut GROWTH.lock(), stack, address)
}

/// The node for `address` called from `parent`, made if there is none.
fn child(growth: &mut Growth, parent: u32, address: u64) -> u32 {
    if let Some(index) = known_child(parent, address) {
        return index;
    }
    let index = NODES.grow(&mut growth.nodes, &mut growth.nodes_committed);
    if index != 0 {
        NODE_COUNT.store(index as usize, Ordering::Relaxed);
        let node = NODES.get(index);
        node.address.store(address, Ordering::Relaxed);
        node.parent.store(parent, Ordering::Relaxed);
        NODES.list(index, node);
    }
    index
}

fn known_child(parent: u32, address: u64) -> Option<u32> {
    // Acquire: as in `lookup`.
    let mut index = NODES.bucket(mix(u64::from(parent), address)).load(Ordering::Acquire);
    while index != 0 {
        let node = NODES.get(index);
        if node.address.load(Ordering::Relaxed) == address && node.parent.load(Ordering::Relaxed) == parent {
            return Some(index);
        }
        index = node.next.load(Ordering::Relaxed);
    }
    None
}

impl<T: Entry + 'static> Table<T> {
    const fn new() -> Self {
        Table {
            base: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            splits: AtomicU32::new(0),
            buckets: [const { AtomicU32::new(0) }; 1 << MOST_BITS],
            entries: PhantomData,
        }
    }

    /// Binary logarithm of the buckets in use.
    #[inline(always)]
    fn bits(&self) -> u32 {
        FIRST_BITS + self.splits.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn bucket(&self, hash: u64) -> &AtomicU32 {
        &self.buckets[(hash >> 20) as usize & ((1 << self.bits()) - 1)]
    }

    /// Puts a new entry into its bucket.
    fn list(&self, index: u32, entry: &T) {
        let bits = self.bits();
        if index >> (bits + T::SHARE) != 0 && bits < MOST_BITS {
            self.split(bits);
        }
        let bucket = self.bucket(entry.hash());
        entry.next().store(bucket.load(Ordering::Relaxed), Ordering::Relaxed);
        // Release: readers that see the number see the fields.
        bucket.store(index, Ordering::Release);
    }

    /// Makes two buckets of each. Who reads without the lock meanwhile may miss
    /// an entry, and then asks again with it.
    fn split(&self, bits: u32) {
        for place in 0..1 << bits {
            let mut firsts = [0; 2];
            let mut index = self.buckets[place].load(Ordering::Relaxed);
            while index != 0 {
                let entry = self.get(index);
                let first = &mut firsts[(entry.hash() >> (20 + bits)) as usize & 1];
                let next = entry.next().swap(*first, Ordering::Relaxed);
                *first = core::mem::replace(&mut index, next);
            }
            for (half, first) in firsts.into_iter().enumerate() {
                self.buckets[place | half << bits].store(first, Ordering::Release);
            }
        }
        self.splits.store(bits + 1 - FIRST_BITS, Ordering::Relaxed);
    }

    #[inline(always)]
    fn get(&self, index: u32) -> &'static T {
        let address = self.base.load(Ordering::Relaxed) + index as usize * size_of::<T>();
        // SAFETY: numbers are given out by `grow`, after committing their
        // memory; entries are made of atomics, for which zero is valid.
        unsafe { &*(address as *const T) }
    }

    /// Number of a new entry; 0 if there is no memory for it.
    fn grow(&self, used: &mut usize, committed: &mut usize) -> u32 {
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

    fn shrink(&self, bytes: usize, committed: usize) {
        let (base, reserved) = (self.base.load(Ordering::Relaxed), self.reserved.load(Ordering::Relaxed));
        let kept = bytes.next_multiple_of(COMMIT).max(committed);
        if base != 0 && kept < reserved {
            // SAFETY: the end of our reservation, not committed yet.
            unsafe { sys::unmap(base + kept, reserved - kept) };
            self.reserved.store(kept, Ordering::Relaxed);
        }
    }
}

/// Generation and return addresses of a stack, innermost first; returns how
/// many there are.
pub fn read(number: u32, frames: &mut [u64]) -> (u32, usize) {
    let (mut count, mut number) = (0, number);
    while number != 0 {
        let node = NODES.get(number);
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
    NODES.shrink(bytes, growth.nodes_committed);
    STACKS.shrink(bytes, growth.stacks_committed);
}

pub fn before_fork() {
    GROWTH.acquire();
}

pub fn after_fork() {
    GROWTH.release();
}
