//! How pointers to a block come and go, kept for a run that explains: each slot
//! that held one, from when it was set to when it was read last, and integers in
//! the block that go up and down by one. Of blocks that are freed nothing stays
//! but whether such an integer was zero.
//!
//! Only derived code tells, and only what is followed is kept: under one lock,
//! which is slow, but not for long where a program loses few blocks.

use core::sync::atomic::{AtomicUsize, Ordering};

use leakscope_wire::{Count, Life, Zeroed};

use crate::events::{self, What};
use crate::heap::{self, Block};
use crate::lock::Lock;
use crate::walk::Caller;
use crate::{api, caller, stamps, sys};

/// Kept of one block; of more, the oldest go.
const MOST: u32 = 1024;

/// The largest first value of a count.
const FIRST_MOST: u64 = 16;

/// Address space for lists by slot, and for nodes.
const SLOTS: usize = 1 << 38;
const NODES: usize = 1 << 26;

/// Nodes by number, 0 for none; the list of a block has the latest first.
#[derive(Clone, Copy)]
#[repr(C)]
struct Node {
    /// Of a life: the slot. Of a count: the value.
    value: u64,
    set: u64,
    read: u64,
    set_stack: u32,
    read_stack: u32,
    from: u32,
    kind: u32,
    next: u32,
    /// Of a count.
    offset: u32,
}

const LIFE: u32 = 0;
const GIVEN: u32 = 1;
const COUNT: u32 = 2;

#[derive(Clone, Copy)]
#[repr(C)]
struct List {
    first: u32,
    count: u32,
    cut: u32,
    /// The life that was read last.
    last: u32,
}

/// Where lists begin; 0 if nothing is kept.
static LISTS: AtomicUsize = AtomicUsize::new(0);
static LOG: Lock<Log> = Lock::new(Log {
    nodes: 0,
    used: 1,
    free: 0,
    time: 0,
    zeroed: [Zeroed { stack: 0, offset: 0, blocks: 0 }; 64],
});

struct Log {
    /// Address of all nodes.
    nodes: usize,
    used: u32,
    free: u32,
    time: u64,
    zeroed: [Zeroed; 64],
}

/// Keeps them from now on.
pub fn choose() {
    let [lists, nodes] = [SLOTS * size_of::<List>(), NODES * size_of::<Node>()].map(sys::reserve_sparse);
    if lists != 0 && nodes != 0 {
        LOG.lock().nodes = nodes;
        LISTS.store(lists, Ordering::Relaxed);
    }
}

#[inline(always)]
pub fn are_kept() -> bool {
    LISTS.load(Ordering::Relaxed) != 0
}

pub fn before_fork() {
    LOG.acquire();
}

pub fn after_fork() {
    LOG.release();
}

/// A pointer was read from a slot.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_reads(pointer: usize, slot: usize, site: usize) {
    let caller = caller!();
    if let Some(block) = followed(pointer) {
        let stack = place(caller, site);
        LOG.lock().reads(block.slot, slot as u64, stack);
    }
}

/// A pointer was stored in a slot, or given as a parameter.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sets(pointer: usize, slot: usize, site: usize, is_given: usize) {
    let caller = caller!();
    if let Some(block) = followed(pointer) {
        let stack = place(caller, site);
        LOG.lock().sets(block.slot, slot as u64, stack, if is_given != 0 { GIVEN } else { LIFE });
    }
}

/// An integer changes.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_counts(word: usize, old: u64, new: u64, site: usize) {
    let caller = caller!();
    let Some(block) = followed(word) else { return };
    let offset = (word - block.start) as u32;
    let by_one = matches!(new.wrapping_sub(old) as i32, 1 | -1);
    let mut log = LOG.lock();
    if by_one || new <= FIRST_MOST && !log.has_count(block.slot, offset) {
        let stack = place(caller, site);
        log.counts(block.slot, offset, u64::from(new as u32), stack);
    }
}

/// A block is freed.
#[cold]
pub fn end(block: Block) {
    LOG.lock().end(block.slot, block.stack());
}

/// What is kept of a block, piece by piece.
pub enum Told {
    /// First: how many there are, and whether older ones are gone.
    Numbers {
        lives: u32,
        counts: u32,
        is_cut: bool,
    },
    Life(Life),
    Count(Count),
}

/// Calls `f` with what is kept of a block, the oldest first, if there is a count
/// among it. For a scan: if a thread was stopped in the middle of it, nothing.
pub fn read(block: Block, mut f: impl FnMut(Told)) {
    let Some(log) = LOG.lock_soon() else { return };
    let list = log.list(block.slot);
    let is_count = |node: &Node| node.kind == COUNT;
    let counts = log.nodes_of(block.slot).filter(|(_, node)| is_count(node)).count() as u32;
    if list.count == 0 || counts == 0 {
        return;
    }
    let lives = log.nodes_of(block.slot).count() as u32 - counts;
    f(Told::Numbers { lives, counts, is_cut: list.cut != 0 });
    // The latest is first in the list: numbers count from the other end.
    let number_of = |wanted: u32| {
        let all = log.nodes_of(block.slot).filter(|(_, node)| !is_count(node));
        all.enumerate().find(|(_, (id, _))| *id == wanted).map_or(0, |(index, _)| lives - index as u32)
    };
    for index in (0..lives as usize).rev() {
        let mut all = log.nodes_of(block.slot).filter(|(_, node)| !is_count(node));
        let Some((_, node)) = all.nth(index) else { continue };
        f(Told::Life(Life {
            slot: node.value,
            set: node.set,
            read: node.read,
            set_stack: node.set_stack,
            read_stack: node.read_stack,
            from: if node.from == 0 { 0 } else { number_of(node.from) },
            is_given: u32::from(node.kind == GIVEN),
        }));
    }
    for index in (0..counts as usize).rev() {
        let mut all = log.nodes_of(block.slot).filter(|(_, node)| is_count(node));
        if let Some((_, node)) = all.nth(index) {
            let Node { value, set: time, set_stack: stack, offset, .. } = node;
            f(Told::Count(Count { time, value, stack, offset }));
        }
    }
}

pub fn for_each_zeroed(mut f: impl FnMut(Zeroed)) {
    if let Some(log) = LOG.lock_soon() {
        log.zeroed.iter().filter(|zeroed| zeroed.blocks > 0).for_each(|&zeroed| f(zeroed));
    }
}

fn followed(pointer: usize) -> Option<Block> {
    if !are_kept() {
        return None;
    }
    heap::innermost(pointer).filter(|block| block.is_live() && stamps::are_kept(*block))
}

fn place(caller: Caller, site: usize) -> u32 {
    events::number(api::this_thread(), caller, What { site, place: 0 })
}

impl Log {
    fn list(&self, slot: u64) -> &'static mut List {
        // SAFETY: within the reservation, and under the lock; zero is an empty list.
        unsafe { &mut *(LISTS.load(Ordering::Relaxed) as *mut List).add(slot as usize) }
    }

    fn node(&self, id: u32) -> &'static mut Node {
        // SAFETY: within the reservation, and under the lock.
        unsafe { &mut *(self.nodes as *mut Node).add(id as usize) }
    }

    fn nodes_of(&self, slot: u64) -> impl Iterator<Item = (u32, Node)> {
        let mut at = self.list(slot).first;
        core::iter::from_fn(move || {
            let id = at;
            (id != 0).then(|| {
                at = self.node(id).next;
                (id, *self.node(id))
            })
        })
    }

    fn now(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    fn add(&mut self, slot: u64, node: Node) -> u32 {
        let id = match self.free {
            0 if (self.used as usize) < NODES => {
                self.used += 1;
                self.used - 1
            }
            0 => return 0,
            free => {
                self.free = self.node(free).next;
                free
            }
        };
        let list = self.list(slot);
        *self.node(id) = Node { next: list.first, ..node };
        list.first = id;
        list.count += 1;
        if list.count > MOST {
            self.cut(slot);
        }
        id
    }

    /// Drops the older half of the lives; counts stay.
    #[cold]
    fn cut(&mut self, slot: u64) {
        let list = self.list(slot);
        let (mut before, mut kept) = (0, 0);
        let mut at = list.first;
        while at != 0 {
            let next = self.node(at).next;
            if kept < MOST / 2 || self.node(at).kind == COUNT {
                (before, kept) = (at, kept + 1);
            } else {
                self.node(before).next = next;
                self.node(at).next = self.free;
                self.free = at;
                list.count -= 1;
            }
            at = next;
        }
        list.cut = 1;
    }

    fn reads(&mut self, block: u64, slot: u64, stack: u32) {
        let time = self.now();
        let known = self.nodes_of(block).find(|(_, node)| node.kind != COUNT && node.value == slot);
        let id = match known {
            Some((id, _)) => id,
            // It came there unseen.
            None => self.add(block, life(slot, time, stack, LIFE, 0)),
        };
        if id != 0 {
            let node = self.node(id);
            (node.read, node.read_stack) = (time, stack);
            self.list(block).last = id;
        }
    }

    fn sets(&mut self, block: u64, slot: u64, stack: u32, kind: u32) {
        let time = self.now();
        let from = self.list(block).last;
        self.add(block, life(slot, time, stack, kind, from));
    }

    fn has_count(&self, block: u64, offset: u32) -> bool {
        self.nodes_of(block).any(|(_, node)| node.kind == COUNT && node.offset == offset)
    }

    fn counts(&mut self, block: u64, offset: u32, value: u64, stack: u32) {
        let time = self.now();
        let node = Node { value, set: time, offset, ..life(0, time, stack, COUNT, 0) };
        self.add(block, node);
    }

    fn end(&mut self, slot: u64, stack: u32) {
        let last = self.nodes_of(slot).find(|(_, node)| node.kind == COUNT);
        if let Some((_, Node { value: 0, offset, .. })) = last {
            let known =
                |zeroed: &&mut Zeroed| zeroed.blocks == 0 || (zeroed.stack, zeroed.offset) == (stack, offset);
            if let Some(zeroed) = self.zeroed.iter_mut().find(known) {
                *zeroed = Zeroed { stack, offset, blocks: zeroed.blocks + 1 };
            }
        }
        let list = self.list(slot);
        let mut at = list.first;
        while at != 0 {
            let next = self.node(at).next;
            self.node(at).next = self.free;
            self.free = at;
            at = next;
        }
        *list = List { first: 0, count: 0, cut: 0, last: 0 };
    }
}

fn life(slot: u64, set: u64, stack: u32, kind: u32, from: u32) -> Node {
    Node { value: slot, set, read: set, set_stack: stack, read_stack: stack, from, kind, next: 0, offset: 0 }
}
