//! How pointers to a block come and go, kept for a run that explains: each slot
//! that held one, from when it was set to when it was read last, and integers in
//! the block that go up and down by one. Of blocks that are freed nothing stays
//! but whether such an integer was zero, and where slots were read for the
//! pointer by which they were freed.
//!
//! Only derived code tells, and only what is followed is kept: under one lock,
//! which is slow, but not for long where a program loses few blocks.

use core::sync::atomic::{AtomicBool, Ordering};

pub use leakscope_wire::lives::Told;
use leakscope_wire::lives::{Change, GIVEN, LIFE, List, Log, Memory, Node};
use leakscope_wire::{HandedOver, Zeroed};

use crate::events::{self, What};
use crate::heap::{self, Block};
use crate::lock::Lock;
use crate::walk::Caller;
use crate::{api, caller, stamps, sys};

/// Address space for lists by slot, and for nodes.
const SLOTS: usize = 1 << 38;
const NODES: usize = 1 << 26;

static ARE_KEPT: AtomicBool = AtomicBool::new(false);
static LOG: Lock<Log<Reserved>> = Lock::new(Log::new(Reserved { lists: 0, nodes: 0 }));

/// Where lists and nodes begin, in memory that is there when it is touched.
struct Reserved {
    lists: usize,
    nodes: usize,
}

impl Memory for Reserved {
    fn list(&self, slot: u64) -> &List {
        // SAFETY: within the reservation, and under the lock; zero is an empty list.
        unsafe { &*(self.lists as *const List).add(slot as usize) }
    }

    fn list_mut(&mut self, slot: u64) -> &mut List {
        // SAFETY: as above.
        unsafe { &mut *(self.lists as *mut List).add(slot as usize) }
    }

    fn node(&self, id: u32) -> &Node {
        // SAFETY: within the reservation, and under the lock.
        unsafe { &*(self.nodes as *const Node).add(id as usize) }
    }

    fn node_mut(&mut self, id: u32) -> &mut Node {
        // SAFETY: as above.
        unsafe { &mut *(self.nodes as *mut Node).add(id as usize) }
    }

    fn has_room(&mut self, id: u32) -> bool {
        (id as usize) < NODES
    }
}

/// Keeps them from now on.
pub fn choose() {
    let [lists, nodes] = [SLOTS * size_of::<List>(), NODES * size_of::<Node>()].map(sys::reserve_sparse);
    if lists != 0 && nodes != 0 {
        *LOG.lock().memory_mut() = Reserved { lists, nodes };
        ARE_KEPT.store(true, Ordering::Relaxed);
    }
}

#[inline(always)]
pub fn are_kept() -> bool {
    // Set before the program has threads.
    ARE_KEPT.load(Ordering::Relaxed)
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
pub extern "C" fn __leakscope_sets(pointer: usize, slot: usize, site: usize, kind: usize) {
    let caller = caller!();
    if let Some(block) = followed(pointer) {
        let stack = place(caller, site);
        LOG.lock().sets(block.slot, slot as u64, stack, (kind as u32).min(GIVEN));
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
    LOG.lock().dies(slot, at as u64, event);
}

/// An integer changes.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_counts(word: usize, old: u64, new: u64, site: usize) {
    let caller = caller!();
    let Some(block) = followed(word) else { return };
    let offset = (word - block.start) as u32;
    let change = Change { old, new, is_step: true };
    LOG.lock().changes(block.slot, offset, change, || place(caller, site));
}

/// A block is freed.
#[cold]
pub fn end(block: Block) {
    LOG.lock().end(block.slot, block.stack());
}

/// Calls `f` with what is kept of a block, the oldest first. For a scan: if a thread was stopped in the middle of it, nothing.
pub fn read(block: Block, f: impl FnMut(Told)) {
    if let Some(log) = LOG.lock_soon() {
        log.read(block.slot, f);
    }
}

pub fn for_each_zeroed(f: impl FnMut(Zeroed)) {
    if let Some(log) = LOG.lock_soon() {
        log.zeroed().for_each(f);
    }
}

pub fn for_each_handed_over(f: impl FnMut(HandedOver)) {
    if let Some(log) = LOG.lock_soon() {
        log.handed_over().for_each(f);
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
