//! Which live blocks can still be reached.
//!
//! Conservative, as in LeakSanitizer: a word that points into a block, at any
//! offset, reaches it. Roots are all writable memory of the process that is
//! not the heap itself: data and bss of every module, thread-local storage,
//! what libc keeps, mappings of the program's own. Of stacks only the live
//! part counts, and a stack whose thread is gone not at all: words left there
//! would hide leaks.
//!
//! Of each block is kept by which word it was reached first (`holders` reads
//! that): variables come before other memory, and that before stacks and
//! registers; within each of these, nearer blocks come before further ones.
//!
//! Runs in a forked copy of the process (or in the process itself, at its
//! end), so nothing moves meanwhile.

use crate::heap::{self, Block, State};
use crate::maps::{self, Mapping};
use crate::sys::{self, File};
use crate::{modules, park, pools, signals};

/// A scan that found what is reachable.
pub struct Scan {
    pub live_blocks: u64,
    pub live_bytes: u64,
    /// In the order in which they were reached.
    pub reached: &'static [Reached],
}

/// A block that was reached. Its number in [`Scan::reached`] stands in place of
/// its stack.
#[repr(C)]
pub struct Reached {
    slot: u64,
    /// Address of the word that leads to it; see [`register`].
    pub from: usize,
    /// Stack of the allocation.
    pub stack: u32,
    /// Where in the block it leads, if that is not too far.
    pub entered: u32,
    /// It was reached once, where the first block of a pool in it starts.
    is_shared: bool,
}

/// Of which thread of `park` a register leads to a block, if one does.
pub fn register(from: usize) -> Option<&'static park::Parked> {
    (from & REGISTER != 0).then(|| park::threads().get(from & !REGISTER)).flatten()
}

const REGISTER: usize = 1 << 63;

/// Pages whose presence is asked for at a time.
const BATCH: usize = 512;

/// Kinds of memory in the order in which they are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Variables,
    Other,
    Stacks,
}

/// Marks what is reachable from memory and from the threads' registers.
/// Returns `None` if there is no memory for the work, or no telling where the
/// program has memory.
pub fn run() -> Option<Scan> {
    let mut scan = Scan { live_blocks: 0, live_bytes: 0, reached: &[] };
    let mut blocks = 0;
    heap::for_each_live(|block| {
        blocks += 1;
        if is_told(block) {
            scan.live_blocks += 1;
            scan.live_bytes += block.size() as u64;
        }
    });
    let mut marker = Marker {
        before: Mapping::default(),
        pages: File::open(c"/proc/thread-self/pagemap"),
        reached: sys::allocate((blocks + 1) * size_of::<Reached>()) as *mut Reached,
        count: 0,
        searched: 0,
    };
    if marker.reached.is_null() {
        return None;
    }
    let mut buffer = File::open(c"/proc/thread-self/mem");
    for memory in [Memory::Variables, Memory::Other, Memory::Stacks] {
        if !maps::for_each(|mapping| marker.mapping(mapping, memory, &mut buffer)) {
            return None;
        }
        marker.drain();
    }
    for (index, thread) in park::threads().iter().enumerate() {
        for word in thread.registers.map(|word| word as usize).into_iter().chain([thread.handlers]) {
            marker.word(word, REGISTER | index);
        }
    }
    marker.drain();
    while marker.kept() {
        marker.drain();
    }
    // SAFETY: so many were written, and are not changed any more.
    scan.reached = unsafe { core::slice::from_raw_parts(marker.reached, marker.count) };
    Some(scan)
}

fn memory_of(mapping: &Mapping) -> Memory {
    let within = |address: usize| (mapping.start..mapping.end).contains(&address);
    if mapping.is_named(b"[stack]") || park::threads().iter().any(|thread| within(thread.stack)) {
        Memory::Stacks
    } else if modules::around(mapping.start).is_some() {
        Memory::Variables
    } else {
        Memory::Other
    }
}

struct Marker {
    /// Blocks that are reached, and how many of them are looked into.
    reached: *mut Reached,
    count: usize,
    searched: usize,
    /// The mapping before the one that is looked at.
    before: Mapping,
    /// Which pages of the process have memory behind them.
    pages: Option<File>,
}

impl Marker {
    #[inline]
    fn word(&mut self, word: usize, from: usize) {
        let Some(block) = pointed_to(word) else { return };
        if heap::may_hold_parts(block) && block.state() == State::Reached {
            self.again(block);
        }
        match whole_of(block, word) {
            Some(whole) if whole.state() != State::Reached => {
                let index = self.reach(whole, from, 0);
                // SAFETY: written just now.
                unsafe { (*self.reached.add(index)).is_shared = true };
            }
            _ => drop(self.reach(block, from, u32::try_from(word - block.start).unwrap_or(0))),
        }
    }

    /// A block that a pool has as a whole is reached by one more word. If the
    /// first one led to where the pool's first block starts, that one was to
    /// this block.
    #[cold]
    fn again(&mut self, whole: Block) {
        // SAFETY: the number of a block that was reached.
        let reached = unsafe { &mut *self.reached.add(whole.stack() as usize) };
        if core::mem::take(&mut reached.is_shared)
            && let (from, Some(block)) = (reached.from, pools::first_in(whole).filter(Block::is_live))
        {
            self.reach(block, from, 0);
        }
    }

    /// Returns its number.
    fn reach(&mut self, block: Block, from: usize, entered: u32) -> usize {
        if block.state() != State::Reached {
            let stack = block.stack();
            let reached = Reached { slot: block.slot, from, stack, entered, is_shared: false };
            block.mark(State::Reached, self.count as u32);
            // SAFETY: there is room for every live block, and each comes once.
            unsafe { self.reached.add(self.count).write(reached) };
            self.count += 1;
        }
        block.stack() as usize
    }

    fn drain(&mut self) {
        while self.searched < self.count {
            // SAFETY: written before.
            let block = heap::at(unsafe { (*self.reached.add(self.searched)).slot });
            self.searched += 1;
            if heap::is_part(block) {
                self.words(block.start, block.start + block.size());
            } else {
                self.range(block.start, block.start + block.size());
            }
        }
    }

    /// Blocks that are reachable because their pool is. False if there are no
    /// more.
    fn kept(&mut self) -> bool {
        let before = self.count;
        heap::for_each_live(|block| {
            if let Some(pool) = kept_by(block)
                && block.state() != State::Reached
                && heap::innermost(pool).is_none_or(|holder| holder.state() == State::Reached)
            {
                self.reach(block, pool, 0);
            }
        });
        self.count > before
    }

    /// Readable memory, but for blocks of pools in it: these are reached by
    /// themselves, or given back.
    fn range(&mut self, start: usize, end: usize) {
        if !pools::are_used() {
            return self.words(start, end);
        }
        let mut address = start;
        while address < end {
            match pools::end_of(address) {
                Some(after) => address = after.next_multiple_of(8),
                None => {
                    self.words(address, end.min(address + 8));
                    address += 8;
                }
            }
        }
    }

    /// Readable memory, word by word.
    fn words(&mut self, start: usize, end: usize) {
        let mut address = start.next_multiple_of(8);
        while address + 8 <= end {
            // SAFETY: callers give readable memory; any word is a valid integer.
            self.word(unsafe { core::ptr::read_volatile(address as *const usize) }, address);
            address += 8;
        }
    }

    fn mapping(&mut self, mapping: &Mapping, wanted: Memory, memory: &mut Option<File>) {
        let before = core::mem::replace(&mut self.before, *mapping);
        if memory_of(mapping) != wanted {
            return;
        }
        let guarded = before.end == mapping.start
            && !before.readable
            && !before.writable
            && !sys::is_own(before.end - 1);
        if mapping.is_named(b"[stack]") && !park::is_alive(park::main_thread()) {
            return;
        }
        let ours = sys::is_own(mapping.start) || signals::owns(mapping.start) || park::owns(mapping.start);
        let device =
            mapping.is_named(b"/dev/") && !mapping.is_named(b"/dev/shm/") && !mapping.is_named(b"/dev/zero");
        if !mapping.readable || !mapping.writable || ours || device {
            return;
        }
        if mapping.shared {
            return self.shared(mapping, memory);
        }
        if mapping.is_named(b"/") || mapping.is_named(b"[") || !guarded {
            self.live_stack(mapping.start, mapping.end);
        } else {
            self.stacks(mapping);
        }
    }

    /// A mapping with a guard below it may be a thread's stack, which ends
    /// with the thread's control block; what follows is something else that
    /// the kernel shows as one with it.
    fn stacks(&mut self, mapping: &Mapping) {
        let Some((address, thread)) = self.control_block(mapping) else {
            return self.live_stack(mapping.start, mapping.end);
        };
        let end = (address + park::CONTROL_BLOCK).next_multiple_of(sys::PAGE).min(mapping.end);
        if park::is_alive(thread) {
            self.live_stack(mapping.start, end);
        } else {
            // libc keeps the stack and the table of thread-local storage for
            // the next thread; nothing else there counts.
            self.range(address + 8, address + 16);
        }
        self.live_stack(end, mapping.end);
    }

    /// The first control block of a thread in a mapping, and the thread. Pages
    /// that are not there are not asked for: most of a stack is never used.
    fn control_block(&mut self, mapping: &Mapping) -> Option<(usize, u32)> {
        let last = mapping.end.checked_sub(park::CONTROL_BLOCK)?;
        for first in (mapping.start / sys::PAGE..=last / sys::PAGE).step_by(BATCH) {
            let there = self.are_present(first);
            for (page, _) in (first..).zip(there).filter(|(_, there)| *there) {
                let addresses = (page * sys::PAGE..(page + 1) * sys::PAGE).step_by(64);
                let mut inside = addresses.filter(|address| (mapping.start..=last).contains(address));
                let found = inside.find_map(|address| Some((address, park::control_block(address)?)));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Memory that is scanned from the stack pointer on if it is a stack in
    /// use, and else as a whole.
    fn live_stack(&mut self, start: usize, end: usize) {
        let within = |thread: &&park::Parked| (start..end).contains(&thread.stack);
        match park::threads().iter().filter(within).map(|thread| thread.stack).min() {
            Some(low) => self.stack(low, end),
            None => self.present(start, end),
        }
    }

    /// Memory of which only some pages may be there.
    fn present(&mut self, start: usize, end: usize) {
        for first in (start / sys::PAGE..end.div_ceil(sys::PAGE)).step_by(BATCH) {
            let there = self.are_present(first);
            for (page, _) in (first..).zip(there).filter(|(_, there)| *there) {
                self.range(start.max(page * sys::PAGE), end.min((page + 1) * sys::PAGE));
            }
        }
    }

    /// The same from its end on: a thread's variables and its outer frames hold
    /// what inner ones may only use.
    fn stack(&mut self, start: usize, end: usize) {
        let mut last = end.div_ceil(sys::PAGE);
        while last * sys::PAGE > start {
            let first = last.saturating_sub(BATCH);
            let there = self.are_present(first);
            for page in (first..last).rev().filter(|page| there[page - first]) {
                let (low, mut address) = (start.max(page * sys::PAGE), end.min((page + 1) * sys::PAGE) & !7);
                while address >= low + 8 {
                    address -= 8;
                    // SAFETY: readable memory; any word is a valid integer.
                    self.word(unsafe { core::ptr::read_volatile(address as *const usize) }, address);
                }
            }
            last = first;
        }
    }

    /// Which pages from the first on have memory behind them: a program may
    /// reserve far more than it uses. All, if that cannot be told.
    fn are_present(&self, first: usize) -> [bool; BATCH] {
        let mut entries = [0; BATCH * 8];
        let count = self.pages.map_or(0, |pages| pages.read_at(&mut entries, first * 8)) / 8;
        let mut there = [count == 0; BATCH];
        for (there, entry) in there.iter_mut().zip(entries[..count * 8].chunks_exact(8)) {
            // Bit 63: in memory. Bit 62: swapped out.
            *there = entry[7] & 0xc0 != 0;
        }
        there
    }

    /// Files may be shorter than their mapping: read through the kernel,
    /// which says so instead of killing us.
    fn shared(&mut self, mapping: &Mapping, memory: &mut Option<File>) {
        let Some(memory) = memory else { return };
        let mut buffer = [0; 4096];
        for page in (mapping.start..mapping.end).step_by(buffer.len()) {
            let count = memory.read_at(&mut buffer, page);
            for (index, word) in buffer[..count].chunks_exact(8).enumerate() {
                self.word(usize::from_le_bytes(word.try_into().unwrap_or_default()), page + index * 8);
            }
        }
    }
}

/// Calls `f` for each block of this process that was not reached, in the
/// order of addresses, and then numbers it for [`for_each_edge`].
pub fn for_each_lost(mut f: impl FnMut(Block)) {
    let mut count = 0;
    heap::for_each_live(|block| {
        if is_told(block) && block.state() != State::Reached {
            f(block);
            block.mark(State::Lost, count);
            count += 1;
        }
    });
}

/// Calls `f` for each of the same blocks again, in the same order.
pub fn for_each_numbered(mut f: impl FnMut(Block)) {
    heap::for_each_live(|block| {
        if lost_number(&block).is_some() {
            f(block);
        }
    });
}

impl Scan {
    /// Calls `f` for each block of this process that was reached.
    pub fn for_each_reached(&self, mut f: impl FnMut(&'static Reached, Block)) {
        for reached in self.reached {
            let block = heap::at(reached.slot);
            if is_told(block) {
                f(reached, block);
            }
        }
    }

    /// The block that the word at `address` lies in, if that was reached.
    pub fn around(&self, address: usize) -> Option<(&'static Reached, Block)> {
        let block = heap::innermost(address).filter(|block| block.state() == State::Reached)?;
        Some((self.reached.get(block.stack() as usize)?, block))
    }
}

/// Calls `f` for each pointer from one lost block to another, by the numbers
/// that [`for_each_lost`] gave.
pub fn for_each_edge(mut f: impl FnMut(u32, u32)) {
    heap::for_each_live(|block| {
        let Some(from) = lost_number(&block) else { return };
        let keeper = kept_by(block).and_then(heap::innermost);
        if let Some(keeper) = keeper.and_then(|keeper| lost_number(&keeper)) {
            f(keeper, from);
        }
        for address in (block.start.next_multiple_of(8)..(block.start + block.size()) & !7).step_by(8) {
            // SAFETY: inside a live block.
            let word = unsafe { *(address as *const usize) };
            if let Some(to) = pointed_to(word).and_then(|to| lost_number(&to)) {
                f(from, to);
            }
        }
    });
}

/// The live block that a word points into. A pointer just past its end does
/// not hold a block: it may as well be the start of the next one.
#[inline]
fn pointed_to(word: usize) -> Option<Block> {
    heap::innermost(word).filter(|block| block.is_live() && word - block.start < block.size().max(1))
}

/// The block of the heap whose first part of a pool a word leads to: the word may
/// be the pool's pointer to its memory. Not if there is no room for a second
/// part: then each part has a block to itself.
fn whole_of(block: Block, word: usize) -> Option<Block> {
    if word != block.start || !heap::is_part(block) {
        return None;
    }
    let whole = heap::find(word).filter(Block::is_live)?;
    let has_room = block.start + 2 * block.size() <= whole.start + whole.size();
    (has_room && pools::first_in(whole).is_some_and(|first| first.slot == block.slot)).then_some(whole)
}

/// Made by this process, and not told by the blocks of pools that lie in it.
fn is_told(block: Block) -> bool {
    block.is_own() && !(heap::may_hold_parts(block) && pools::are_within(block))
}

/// The pool that keeps a block.
pub fn kept_by(block: Block) -> Option<usize> {
    heap::is_part(block).then(|| pools::keeper(block))?
}

fn lost_number(block: &Block) -> Option<u32> {
    (block.state() == State::Lost).then(|| block.stack())
}
