//! What holds a block that the scan reached: the way back from the block to a
//! word outside the heap, and what that word is.

use leakscope_wire::{Holder, Link, Root};

use crate::heap::{self, Block, State};
use crate::ir::RSP;
use crate::life::{self, AtWork};
use crate::list::List;
use crate::memory::Single;
use crate::{modules, scan, tool};

/// How the scan came to a block.
#[derive(Clone, Copy)]
pub struct Reached {
    /// Where the word is that points to it; for a register the number of its
    /// thread.
    pub from: usize,
    /// Where in the block it points to.
    pub entered: usize,
}

/// By the blocks' `link`.
static REACHED: Single<List<Reached>> = Single::new(List::new());

/// Blocks on the way that are told; those next to the root.
const LINKS_MAX: usize = 12;

/// Threads have smaller numbers, memory has larger addresses.
const THREADS_MAX: usize = 4096;

/// What libc keeps of a thread, from its pointer on.
const CONTROL_BLOCK: usize = 0x900;

pub fn forget() {
    REACHED.get().free();
}

pub fn note(block: &mut Block, reached: Reached) {
    let list = REACHED.get();
    block.link = list.len() as u32;
    list.push(reached);
}

fn reached(block: &Block) -> Reached {
    REACHED.get()[block.link as usize]
}

/// The block that has the word by which another was reached.
fn holding(reached: Reached) -> Option<&'static mut Block> {
    heap::pointed_to(reached.from).filter(|block| block.state == State::Reached)
}

/// Blocks on the way from the root to a block.
pub struct Chain {
    /// How the last of them were reached, those next to the root, by number
    /// from the block on.
    latest: [Reached; LINKS_MAX + 1],
    length: usize,
}

impl Chain {
    pub fn to(block: &Block) -> Chain {
        let mut chain = Chain { latest: [reached(block); LINKS_MAX + 1], length: 0 };
        while let Some(holder) = holding(chain.at(chain.length)) {
            chain.length += 1;
            chain.latest[chain.length % (LINKS_MAX + 1)] = reached(holder);
        }
        chain
    }

    fn at(&self, number: usize) -> Reached {
        self.latest[number % (LINKS_MAX + 1)]
    }

    /// The root and what else is known, but for the block itself.
    pub fn holder(&self) -> Holder {
        let links = self.length.min(LINKS_MAX);
        let omitted = (self.length - links) as u32;
        Holder { links: links as u32, omitted, ..root(self.at(self.length).from) }
    }

    /// The blocks from the root on.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        let told = self.length.saturating_sub(LINKS_MAX)..self.length;
        told.rev().filter_map(|number| {
            let next = self.at(number);
            let holder = holding(next)?;
            Some(Link {
                bytes: holder.bytes as u64,
                entered: reached(holder).entered as u64,
                offset: (next.from - holder.start) as u64,
            })
        })
    }
}

fn root(from: usize) -> Holder {
    let holder = |root: Root| Holder { root: root as u32, ..Holder::default() };
    if from < THREADS_MAX {
        return Holder { thread: from as u32, ..holder(Root::Register) };
    }
    let around = |module: &modules::Module| module.is_present() && (module.start..module.end).contains(&from);
    if let Some(index) = modules::all().iter().position(around) {
        let address = from.wrapping_sub(modules::all()[index].bias) as u64;
        return Holder { module: index as u32, address, ..holder(Root::Global) };
    }
    let mut found = None;
    scan::for_each_thread(|thread, _| found = found.or_else(|| of_thread(from, thread)));
    found.unwrap_or_else(|| holder(Root::Mapping))
}

/// A word of a thread's stack, or of what it has for itself.
fn of_thread(from: usize, thread: &AtWork) -> Option<Holder> {
    let &AtWork { number, pointer, stack_end, .. } = thread;
    let holder = |root: Root| Holder { root: root as u32, thread: number, ..Holder::default() };
    let own = modules::all().first().map_or(0, |executable| executable.thread_local_bytes);
    if (pointer..pointer + CONTROL_BLOCK).contains(&from) {
        return Some(holder(Root::ThreadData));
    }
    if (pointer - own..pointer).contains(&from) {
        return Some(Holder { address: (from + own - pointer) as u64, ..holder(Root::ThreadLocal) });
    }
    if !(thread.registers[RSP].saturating_sub(life::LIVE_BELOW)..=stack_end).contains(&from) {
        return None;
    }
    let Some((end, code)) = tool::thread(number as usize).calls.frame_around(from) else {
        return Some(holder(Root::Stack));
    };
    let code = if code == 0 { thread.instruction } else { code };
    Some(Holder { address: (from as u64).wrapping_sub(end as u64), code, ..holder(Root::Stack) })
}
