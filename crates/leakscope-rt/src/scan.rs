//! Which live blocks can still be reached.
//!
//! Conservative, as in LeakSanitizer: a word that points into a block, at any
//! offset, reaches it. Roots are all writable memory of the process that is
//! not the heap itself: data and bss of every module, thread-local storage,
//! what libc keeps, mappings of the program's own. Of stacks only the live
//! part counts, and a stack whose thread is gone not at all: words left there
//! would hide leaks.
//!
//! Runs in a forked copy of the process (or in the process itself, at its
//! end), so nothing moves meanwhile.

use crate::heap::{self, Block, State};
use crate::maps::{self, Mapping};
use crate::sys::{self, File};
use crate::{park, signals};

/// A scan that found what is reachable.
pub struct Scan {
    pub live_blocks: u64,
    pub live_bytes: u64,
}

/// Marks what is reachable from memory and from the threads' registers.
/// Returns `None` if there is no memory for the work, or no telling where the
/// program has memory.
pub fn run() -> Option<Scan> {
    let mut scan = Scan { live_blocks: 0, live_bytes: 0 };
    let mut blocks = 0;
    heap::for_each_live(|block| {
        blocks += 1;
        if block.is_own() {
            scan.live_blocks += 1;
            scan.live_bytes += block.size() as u64;
        }
    });
    let mut marker = Marker {
        before: Mapping::default(),
        pages: File::open(c"/proc/thread-self/pagemap"),
        work: sys::allocate((blocks + 1) * 8) as *mut usize,
        count: 0,
    };
    if marker.work.is_null() {
        return None;
    }
    for thread in park::threads() {
        for &word in &thread.registers {
            marker.word(word as usize);
        }
    }
    let mut buffer = File::open(c"/proc/thread-self/mem");
    let all = maps::for_each(|mapping| marker.mapping(mapping, &mut buffer));
    marker.drain();
    all.then_some(scan)
}

struct Marker {
    /// Addresses of blocks that are reached and not looked into yet.
    work: *mut usize,
    count: usize,
    /// The mapping before the one that is looked at.
    before: Mapping,
    /// Which pages of the process have memory behind them.
    pages: Option<File>,
}

impl Marker {
    #[inline]
    fn word(&mut self, word: usize) {
        let Some(block) = pointed_to(word) else { return };
        if block.state() != State::Reached {
            block.mark(State::Reached, block.stack());
            // SAFETY: there is room for every live block, and each comes once.
            unsafe { *self.work.add(self.count) = block.start };
            self.count += 1;
        }
    }

    fn drain(&mut self) {
        while self.count > 0 {
            self.count -= 1;
            // SAFETY: pushed before.
            let start = unsafe { *self.work.add(self.count) };
            if let Some(block) = heap::find(start) {
                self.range(start, start + block.size());
            }
        }
    }

    /// Readable memory, word by word.
    fn range(&mut self, start: usize, end: usize) {
        let mut address = start.next_multiple_of(8);
        while address + 8 <= end {
            // SAFETY: callers give readable memory; any word is a valid integer.
            self.word(unsafe { core::ptr::read_volatile(address as *const usize) });
            address += 8;
        }
    }

    fn mapping(&mut self, mapping: &Mapping, memory: &mut Option<File>) {
        let before = core::mem::replace(&mut self.before, *mapping);
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
        if !mapping.readable || !mapping.writable || ours || device || mapping.start == self.work as usize {
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
        self.drain();
    }

    /// A mapping with a guard below it may be a thread's stack, which ends
    /// with the thread's control block; what follows is something else that
    /// the kernel shows as one with it.
    fn stacks(&mut self, mapping: &Mapping) {
        let last = mapping.end.saturating_sub(park::CONTROL_BLOCK);
        let mut addresses = (mapping.start.next_multiple_of(64)..=last).step_by(64);
        let found = addresses.find_map(|address| Some((address, park::control_block(address)?)));
        let Some((address, thread)) = found else {
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

    /// Memory that is scanned from the stack pointer on if it is a stack in
    /// use, and else as a whole.
    fn live_stack(&mut self, start: usize, end: usize) {
        let within = |thread: &&park::Parked| (start..end).contains(&thread.stack);
        let low = park::threads().iter().filter(within).map(|thread| thread.stack).min();
        self.present(low.unwrap_or(start), end);
    }

    /// Only pages with memory behind them: a program may reserve far more than
    /// it uses.
    fn present(&mut self, start: usize, end: usize) {
        const BATCH: usize = 512;
        let Some(pages) = self.pages else { return self.range(start, end) };
        let mut entries = [0; BATCH * 8];
        let mut page = start / sys::PAGE;
        while page * sys::PAGE < end {
            let count = pages.read_at(&mut entries, page * 8) / 8;
            if count == 0 {
                return self.range(start.max(page * sys::PAGE), end);
            }
            for entry in entries[..count * 8].chunks_exact(8) {
                // Bit 63: in memory. Bit 62: swapped out.
                if entry[7] & 0xc0 != 0 {
                    let at = page * sys::PAGE;
                    self.range(start.max(at), end.min(at + sys::PAGE));
                }
                page += 1;
                if page * sys::PAGE >= end {
                    break;
                }
            }
        }
    }

    /// Files may be shorter than their mapping: read through the kernel,
    /// which says so instead of killing us.
    fn shared(&mut self, mapping: &Mapping, memory: &mut Option<File>) {
        let Some(memory) = memory else { return };
        let mut buffer = [0; 4096];
        for page in (mapping.start..mapping.end).step_by(buffer.len()) {
            let count = memory.read_at(&mut buffer, page);
            for word in buffer[..count].chunks_exact(8) {
                self.word(usize::from_le_bytes(word.try_into().unwrap_or_default()));
            }
        }
    }
}

/// Calls `f` for each block of this process that was not reached, in the
/// order of addresses, and then numbers it for [`for_each_edge`].
pub fn for_each_lost(mut f: impl FnMut(Block)) {
    let mut count = 0;
    heap::for_each_live(|block| {
        if block.is_own() && block.state() != State::Reached {
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

pub fn for_each_reached(mut f: impl FnMut(Block)) {
    heap::for_each_live(|block| {
        if block.is_own() && block.state() == State::Reached {
            f(block);
        }
    });
}

/// Calls `f` for each pointer from one lost block to another, by the numbers
/// that [`for_each_lost`] gave.
pub fn for_each_edge(mut f: impl FnMut(u32, u32)) {
    heap::for_each_live(|block| {
        let Some(from) = lost_number(&block) else { return };
        for address in (block.start..block.start + block.size() / 8 * 8).step_by(8) {
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
    heap::find(word).filter(|block| block.is_live() && word - block.start < block.size().max(1))
}

fn lost_number(block: &Block) -> Option<u32> {
    (block.state() == State::Lost).then(|| block.stack())
}
