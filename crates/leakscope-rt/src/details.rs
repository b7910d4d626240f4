//! How pointers to a block come and go, kept for a run that explains: each slot
//! that held one, from when it was set to when it was read last, and integers in
//! the block that go up and down by one. Of blocks that are freed nothing stays
//! but whether such an integer was zero, and where slots were read for the
//! pointer by which they were freed.
//!
//! Only derived code tells, and only what is followed is kept: under one lock,
//! which is slow, but not for long where a program loses few blocks.

use core::sync::atomic::{AtomicUsize, Ordering};

use leakscope_wire::{Count, Death, HandedOver, Life, Zeroed};

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
    /// When something else was stored in the slot, and where; 0 if not.
    ended: u64,
    ended_stack: u32,
}

const LIFE: u32 = 0;
const GIVEN: u32 = 1;
const COUNT: u32 = 2;
/// A pointer died: `from` is its life, if that is known.
const DEATH: u32 = 3;

#[derive(Clone, Copy)]
#[repr(C)]
struct List {
    first: u32,
    count: u32,
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
    handed_over: [HandedOver { stack: 0, read_stack: 0, blocks: 0 }; 128],
});

struct Log {
    /// Address of all nodes.
    nodes: usize,
    used: u32,
    free: u32,
    time: u64,
    zeroed: [Zeroed; 64],
    handed_over: [HandedOver; 128],
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

/// Memory is about to be copied over what is there.
///
/// # Safety
/// Both places are readable.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_copies(to: usize, from: usize, bytes: usize) {
    let caller = caller!();
    if !are_kept() {
        return;
    }
    for slot in (to.next_multiple_of(8)..(to + bytes) & !7).step_by(8) {
        // SAFETY: the program is about to copy one over the other.
        let [old, new] =
            [slot, from + (slot - to)].map(|at| unsafe { core::ptr::read_unaligned(at as *const usize) });
        if let Some(block) = followed(old).filter(|_| old != new) {
            let stack = place(caller, 0);
            LOG.lock().ends(block.slot, slot as u64, stack);
        }
    }
}

/// Memory was copied: what it holds was read there, and set here.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_copied(to: usize, from: usize, bytes: usize) {
    let caller = caller!();
    copied(to, from, bytes, caller);
}

/// The same for the code at `caller`.
pub fn copied(to: usize, from: usize, bytes: usize, caller: Caller) {
    if !are_kept() {
        return;
    }
    for slot in (to.next_multiple_of(8)..(to + bytes) & !7).step_by(8) {
        // SAFETY: the program wrote there just now.
        let word = unsafe { core::ptr::read_volatile(slot as *const usize) };
        if let Some(block) = followed(word) {
            let stack = place(caller, 0);
            let mut log = LOG.lock();
            log.reads(block.slot, (from + (slot - to)) as u64, stack);
            log.sets(block.slot, slot as u64, stack, LIFE);
        }
    }
}

/// Something else is about to be stored where this pointer is.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_slot_ends(pointer: usize, slot: usize, site: usize) {
    let caller = caller!();
    if let Some(block) = followed(pointer) {
        let stack = place(caller, site);
        LOG.lock().ends(block.slot, slot as u64, stack);
    }
}

/// A pointer to the block of a slot died, at an address if that is known.
pub fn died(slot: u64, at: usize, event: u32) {
    let mut log = LOG.lock();
    let time = log.now();
    let ended = if at == 0 { None } else { log.life_at(slot, at as u64) };
    log.add(slot, life(0, time, event, DEATH, ended.unwrap_or(0)));
}

/// An integer changes.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_counts(word: usize, old: u64, new: u64, site: usize) {
    let caller = caller!();
    let Some(block) = followed(word) else { return };
    let offset = (word - block.start) as u32;
    let by_one = matches!(new.wrapping_sub(old) as i32, 1 | -1);
    let mut log = LOG.lock();
    let is_first = !log.has_count(block.slot, offset);
    if by_one || is_first && new <= FIRST_MOST {
        let stack = place(caller, site);
        if by_one && is_first {
            // It came there unseen.
            log.counts(block.slot, offset, u64::from(old as u32), stack);
        }
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
    /// First: how many there are.
    Numbers {
        lives: u32,
        counts: u32,
        deaths: u32,
    },
    Life(Life),
    Count(Count),
    Death(Death),
}

/// Calls `f` with what is kept of a block, the oldest first. For a scan: if a thread was stopped in the middle of it, nothing.
pub fn read(block: Block, mut f: impl FnMut(Told)) {
    let Some(log) = LOG.lock_soon() else { return };
    let all =
        |is_wanted: fn(u32) -> bool| log.nodes_of(block.slot).filter(move |(_, node)| is_wanted(node.kind));
    let [is_life, is_count, is_death]: [fn(u32) -> bool; 3] =
        [|kind| kind <= GIVEN, |kind| kind == COUNT, |kind| kind == DEATH];
    let [lives, counts, deaths] = [is_life, is_count, is_death].map(|kind| all(kind).count());
    if lives == 0 {
        return;
    }
    f(Told::Numbers { lives: lives as u32, counts: counts as u32, deaths: deaths as u32 });
    // The latest is first in the list: numbers count from the other end.
    let number_of = |wanted: u32| {
        let place = all(is_life).position(|(id, _)| id == wanted);
        place.map_or(0, |index| (lives - index) as u32)
    };
    for (_, node) in (0..lives).rev().filter_map(|index| all(is_life).nth(index)) {
        f(Told::Life(Life {
            slot: node.value,
            set: node.set,
            read: node.read,
            ended: node.ended,
            set_stack: node.set_stack,
            read_stack: node.read_stack,
            ended_stack: node.ended_stack,
            from: if node.from == 0 { 0 } else { number_of(node.from) },
            is_given: u32::from(node.kind == GIVEN),
            reserved: 0,
        }));
    }
    for (_, node) in (0..counts).rev().filter_map(|index| all(is_count).nth(index)) {
        let Node { value, set: time, set_stack: stack, offset, .. } = node;
        f(Told::Count(Count { time, value, stack, offset }));
    }
    for (_, node) in (0..deaths).rev().filter_map(|index| all(is_death).nth(index)) {
        let life = if node.from == 0 { 0 } else { number_of(node.from) };
        f(Told::Death(Death { time: node.set, stack: node.set_stack, life }));
    }
}

pub fn for_each_zeroed(mut f: impl FnMut(Zeroed)) {
    if let Some(log) = LOG.lock_soon() {
        log.zeroed.iter().filter(|zeroed| zeroed.blocks > 0).for_each(|&zeroed| f(zeroed));
    }
}

pub fn for_each_handed_over(mut f: impl FnMut(HandedOver)) {
    if let Some(log) = LOG.lock_soon() {
        log.handed_over.iter().filter(|handed| handed.blocks > 0).for_each(|&handed| f(handed));
    }
}

fn followed(pointer: usize) -> Option<Block> {
    if !are_kept() {
        return None;
    }
    heap::innermost(pointer).filter(|block| block.is_live() && stamps::are_kept(*block))
}

fn place(caller: Caller, site: usize) -> u32 {
    events::number(api::this_thread(), caller, What::at(site, 0))
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

    fn node_of(&self, slot: u64, wanted: u32) -> Option<Node> {
        self.nodes_of(slot).find(|&(id, _)| id == wanted).map(|(_, node)| node)
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
    }

    fn reads(&mut self, block: u64, slot: u64, stack: u32) {
        let time = self.now();
        let id = match self.life_at(block, slot) {
            Some(id) => id,
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

    fn life_at(&self, block: u64, slot: u64) -> Option<u32> {
        let is_it = |node: &Node| node.kind <= GIVEN && node.value == slot && node.ended == 0;
        self.nodes_of(block).find(|(_, node)| is_it(node)).map(|(id, _)| id)
    }

    fn ends(&mut self, block: u64, slot: u64, stack: u32) {
        let time = self.now();
        if let Some(id) = self.life_at(block, slot) {
            let node = self.node(id);
            (node.ended, node.ended_stack) = (time, stack);
        }
    }

    fn has_count(&self, block: u64, offset: u32) -> bool {
        self.nodes_of(block).any(|(_, node)| node.kind == COUNT && node.offset == offset)
    }

    fn counts(&mut self, block: u64, offset: u32, value: u64, stack: u32) {
        let time = self.now();
        let node = Node { value, set: time, offset, ..life(0, time, stack, COUNT, 0) };
        self.add(block, node);
    }

    /// The slots through which the pointer went that frees a block.
    fn hands_over(&mut self, slot: u64, stack: u32) {
        let Some(mut later) = self.node_of(slot, self.list(slot).last) else { return };
        // A number may be another life's by now.
        while let Some(node) =
            self.node_of(slot, later.from).filter(|node| node.kind <= GIVEN && node.set < later.set)
        {
            if node.kind == LIFE && node.read > node.set {
                let read_stack = node.read_stack;
                let known = |handed: &&mut HandedOver| {
                    handed.blocks == 0 || (handed.stack, handed.read_stack) == (stack, read_stack)
                };
                if let Some(handed) = self.handed_over.iter_mut().find(known) {
                    *handed = HandedOver { stack, read_stack, blocks: handed.blocks + 1 };
                }
            }
            later = node;
        }
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
        self.hands_over(slot, stack);
        let list = self.list(slot);
        let mut at = list.first;
        while at != 0 {
            let next = self.node(at).next;
            self.node(at).next = self.free;
            self.free = at;
            at = next;
        }
        *list = List { first: 0, count: 0, last: 0 };
    }
}

fn life(slot: u64, set: u64, stack: u32, kind: u32, from: u32) -> Node {
    Node {
        value: slot,
        set,
        read: set,
        set_stack: stack,
        read_stack: stack,
        from,
        kind,
        next: 0,
        offset: 0,
        ended: 0,
        ended_stack: 0,
    }
}
