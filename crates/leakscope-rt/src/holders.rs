//! What holds a block that the scan reached: the way back from the block to a
//! word outside the heap, and what that word is.

use core::cell::Cell;

use leakscope_wire::{Holder, Link, Root};

use crate::scan::{self, Reached, Scan};
use crate::unwind::Registers;
use crate::{maps, modules, park};

/// Blocks on the way that are told; those next to the root.
const LINKS_MAX: usize = 12;

/// How far above thread-local storage its thread's control block may be.
const TLS_MAX: usize = 1 << 18;

/// Blocks on the way from the root to a block.
pub struct Chain<'a> {
    scan: &'a Scan,
    block: &'static Reached,
    length: usize,
}

impl Chain<'_> {
    /// The way to `block`.
    pub fn to<'a>(scan: &'a Scan, block: &'static Reached) -> Chain<'a> {
        let (mut length, mut last) = (0, block);
        while let Some((holding, _)) = scan.around(last.from) {
            (length, last) = (length + 1, holding);
        }
        Chain { scan, block, length }
    }

    /// So many blocks back towards the root.
    fn back(&self, steps: usize) -> Option<&'static Reached> {
        (0..steps).try_fold(self.block, |reached, _| Some(self.scan.around(reached.from)?.0))
    }

    /// The root and what else is known, but for the block itself.
    pub fn holder(&self) -> Holder {
        let from = self.back(self.length).map_or(0, |first| first.from);
        let links = self.length.min(LINKS_MAX);
        Holder { links: links as u32, omitted: (self.length - links) as u32, ..root(from) }
    }

    /// The blocks from the root on.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        (0..self.length.min(LINKS_MAX)).filter_map(|index| {
            let held = self.back(self.length - 1 - index)?;
            let (holding, block) = self.scan.around(held.from)?;
            Some(Link {
                bytes: block.size() as u64,
                entered: u64::from(holding.entered),
                offset: (held.from - block.start) as u64,
            })
        })
    }
}

fn root(from: usize) -> Holder {
    let holder = |root: Root| Holder { root: root as u32, ..Holder::default() };
    if let Some(thread) = scan::register(from) {
        return Holder { thread: park::rank(thread), ..holder(Root::Register) };
    }
    if let Some((index, module)) = modules::around(from) {
        let address = (from - module.bias) as u64;
        return Holder { module: index as u32, address, ..holder(Root::Global) };
    }
    let Some((start, end)) = maps::around(from) else { return holder(Root::Mapping) };
    thread_variable(from, start, end)
        .or_else(|| stack_word(from, start, end))
        .unwrap_or_else(|| holder(Root::Mapping))
}

/// A word of what a thread has for itself, in a mapping with these bounds. The
/// thread's control block begins above its variables, and holds the rest.
fn thread_variable(address: usize, start: usize, end: usize) -> Option<Holder> {
    let first = address.saturating_sub(park::CONTROL_BLOCK - 1).max(start).next_multiple_of(64);
    let last = end.min(address.saturating_add(TLS_MAX)).checked_sub(park::CONTROL_BLOCK)?;
    let mut candidates = (first..=last).step_by(64);
    let (pointer, number) = candidates.find_map(|pointer| Some((pointer, park::control_block(pointer)?)))?;
    let thread = park::thread(number).map_or(0, park::rank);
    if address >= pointer {
        return Some(Holder { root: Root::ThreadData as u32, thread, ..Holder::default() });
    }
    let offset = |module: &modules::Module| address.wrapping_sub(pointer).wrapping_sub(module.tls);
    let (index, module) = modules::all().iter().enumerate().find(|(_, module)| {
        module.last_generation == u32::MAX && module.tls != 0 && offset(module) < module.tls_bytes
    })?;
    Some(Holder {
        root: Root::ThreadLocal as u32,
        thread,
        module: index as u32,
        address: offset(module) as u64,
        ..Holder::default()
    })
}

/// A word of a thread's stack, which has these bounds.
fn stack_word(address: usize, start: usize, end: usize) -> Option<Holder> {
    let holds = |thread: &&park::Parked| (start..end).contains(&thread.stack) && thread.stack <= address;
    let thread = park::threads().iter().filter(holds).max_by_key(|thread| thread.stack)?;
    let holder = Holder { root: Root::Stack as u32, thread: park::rank(thread), ..Holder::default() };
    // The frame that has the word is the last one that begins below it; it
    // ends where its caller's begins.
    let own = Cell::new(Registers::default());
    let caller = thread.frame.leave(|frame| {
        let below = frame.rip != 0 && frame.rsp as usize <= address;
        if below {
            own.set(*frame);
        }
        below
    });
    if caller.rip == 0 || caller.rsp as usize <= address || own.get().rip == 0 {
        return Some(holder);
    }
    Some(Holder { address: (address as u64).wrapping_sub(caller.rsp), code: own.get().rip, ..holder })
}
