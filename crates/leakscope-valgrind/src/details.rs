//! How pointers to chosen blocks come and go, for a run that explains
//! (`leakscope-wire`'s `lives`): the second run of a program that lost blocks
//! which may be reference-counted. Everything here is slow, but only where a
//! pointer to one of these blocks is read, stored or used.
//!
//! In code that was not optimised each variable has its place in memory. In other
//! code of the user's a call of a function stands for the variables that it has in
//! registers: its slot is the number of the call. In libraries only copies from
//! memory to memory count.

use core::ffi::CStr;

use leakscope_wire::lives::{self, Change, EMPTY, GIVEN, IS_CALL, LIFE, Log, Memory, Node, Told, UNUSED};
use leakscope_wire::{CALLS_OF_ALLOCATION, HandedOver, MAGIC, Only, Zeroed, identity};
use zerocopy::FromBytes;

use crate::calls::{self, Carries};
use crate::events::{ARGUMENTS, aligned_words, registers_at};
use crate::heap::{self, Block, Held, NOWHERE, Point, Stamp};
use crate::ir::{RAX, REGISTERS};
use crate::list::{List, Numbers};
use crate::memory::{self, Single};
use crate::{arena, frames, modules, tool};

struct Details {
    log: Log<Growing>,
    /// Identities of the innermost calls of allocations, in rising order.
    chosen: &'static [u64],
    /// Whether blocks of a context are followed, by its number.
    answers: List<Answer>,
    /// Blocks by their start.
    blocks: Numbers<u64>,
    places: Numbers<Stamp>,
    /// How many calls there were.
    calls: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Unknown,
    Yes,
    No,
}

static ARE_KEPT: Single<bool> = Single::new(false);
static DETAILS: Single<Details> = Single::new(Details {
    log: Log::new(Growing { lists: List::new(), nodes: List::new() }),
    chosen: &[],
    answers: List::new(),
    blocks: Numbers::new(),
    places: Numbers::new(),
    calls: 0,
});

/// Lists by the number of a block, and nodes.
struct Growing {
    lists: List<lives::List>,
    nodes: List<Node>,
}

impl Memory for Growing {
    fn list(&self, block: u64) -> &lives::List {
        &self.lists[block as usize]
    }

    fn list_mut(&mut self, block: u64) -> &mut lives::List {
        &mut self.lists[block as usize]
    }

    fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    fn node_mut(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    fn has_room(&mut self, id: u32) -> bool {
        const MOST: usize = 1 << 24;
        if self.nodes.len() <= id as usize {
            self.nodes.resize(id as usize + 1, UNUSED);
        }
        self.nodes.len() < MOST
    }
}

/// Follows the blocks that a file names ([`Only`]), from now on.
pub fn choose(path: &CStr) {
    let Some(file) = memory::read_file(path) else { return };
    let Ok((header, rest)) = Only::read_from_prefix(file) else { return };
    if header.magic == MAGIC
        && let Ok((chosen, _)) = <[u64]>::ref_from_prefix_with_elems(rest, header.stacks as usize)
    {
        DETAILS.get().chosen = chosen;
        *ARE_KEPT.get() = true;
    }
}

#[inline(always)]
pub fn are_kept() -> bool {
    *ARE_KEPT.get()
}

/// The number of the followed block that a word points to.
fn followed(word: usize) -> Option<u64> {
    let block = heap::pointed_to(word).filter(|_| arena::is_within(word))?;
    number_of(block)
}

fn number_of(block: &Block) -> Option<u64> {
    let details = DETAILS.get();
    let context = block.allocated as usize;
    if details.answers.len() <= context {
        details.answers.resize(context + 1, Answer::Unknown);
    }
    if details.answers[context] == Answer::Unknown {
        let chosen = (1..=CALLS_OF_ALLOCATION)
            .any(|calls| details.chosen.binary_search(&identity_of(block.allocated, calls)).is_ok());
        details.answers[context] = if chosen { Answer::Yes } else { Answer::No };
    }
    if details.answers[context] == Answer::No {
        return None;
    }
    let number = details.blocks.number(block.start as u64) as usize;
    let lists = &mut details.log.memory_mut().lists;
    if lists.len() <= number {
        lists.resize(number + 1, EMPTY);
    }
    Some(number as u64)
}

/// That of the innermost calls of a context.
fn identity_of(context: u32, calls: usize) -> u64 {
    let nodes = core::iter::successors(calls::node(context), |node| calls::node(node.parent));
    identity(nodes.take(calls).map(|node| modules::relative(node.address)))
}

/// A number for where something happened.
fn place(point: Point, held: Held) -> u32 {
    DETAILS.get().places.number(Stamp::new(0, held, point))
}

fn here(site: u32) -> u32 {
    place(Point { context: tool::current().calls.context(), site }, NOWHERE)
}

/// Calls that may not have returned, with where their return address lies.
#[derive(Clone, Copy)]
pub struct Activation {
    slot: usize,
    number: u64,
}

/// The slot of the call that runs: no address.
fn activation() -> u64 {
    let thread = tool::current();
    let slot = thread.calls.frame_end().wrapping_sub(8);
    while thread.activations.last().is_some_and(|it| it.slot < slot) {
        thread.activations.pop();
    }
    let number = thread.activations.last().filter(|it| it.slot == slot).map_or(0, |it| it.number);
    IS_CALL | number
}

/// The code that runs was optimised: the same as a variable of its own has the
/// pointer.
fn hold(block: u64, stack: u32) {
    let (log, slot) = (&mut DETAILS.get().log, activation());
    if !log.has(block, slot) {
        log.sets(block, slot, stack, LIFE);
    }
}

/// What is in a register of such code is read.
fn touch(block: u64, stack: u32) {
    let (log, slot) = (&mut DETAILS.get().log, activation());
    if log.has(block, slot) {
        log.reads(block, slot, stack);
    }
}

/// In the helpers' arguments: code of the user's that was optimised; a place in a
/// frame of such code or of a library's; what a function was given.
pub const OPTIMISED: u64 = 1;
pub const IN_FRAME: u64 = 2;
pub const IS_GIVEN: u64 = 4;

/// A word was read from an address.
pub unsafe extern "C" fn on_read(word: usize, address: usize, site: u32, what: u64) {
    let Some(block) = followed(word) else { return };
    let stack = here(site);
    let log = &mut DETAILS.get().log;
    // What such code puts aside in its frame is a register's, wherever it is read.
    let (low, high) = tool::current().stack;
    if !(low..high).contains(&address) || log.has(block, address as u64) {
        log.reads(block, address as u64, stack);
    }
    if what & OPTIMISED != 0 {
        hold(block, stack);
    }
}

/// A word was stored at an address.
pub unsafe extern "C" fn on_set(word: usize, address: usize, site: u32, what: u64) {
    let Some(block) = followed(word) else { return };
    let stack = here(site);
    if what & OPTIMISED != 0 {
        touch(block, stack);
    }
    if what & IN_FRAME != 0 {
        return;
    }
    let kind = if what & IS_GIVEN != 0 { GIVEN } else { LIFE };
    DETAILS.get().log.sets(block, address as u64, stack, kind);
}

/// A word is about to be overwritten.
pub unsafe extern "C" fn on_end(old: usize, new: usize, address: usize, site: u32) {
    if old != new
        && let Some(block) = followed(old)
    {
        DETAILS.get().log.ends(block, address as u64, here(site));
    }
}

/// Several words were read, by a copy.
pub unsafe extern "C" fn on_reads(address: usize, bytes: usize, site: u32) {
    for_each_word(address, bytes, |block, slot| DETAILS.get().log.reads(block, slot, here(site)));
}

/// Several words were stored.
pub unsafe extern "C" fn on_sets(address: usize, bytes: usize, site: u32) {
    for_each_word(address, bytes, |block, slot| DETAILS.get().log.sets(block, slot, here(site), LIFE));
}

/// Several words are about to be overwritten.
pub unsafe extern "C" fn on_ends(address: usize, bytes: usize, site: u32) {
    for_each_word(address, bytes, |block, slot| DETAILS.get().log.ends(block, slot, here(site)));
}

fn for_each_word(address: usize, bytes: usize, mut f: impl FnMut(u64, u64)) {
    if !memory::is_readable(address, bytes) {
        return;
    }
    for word in aligned_words(address, address + bytes) {
        if let Some(block) = followed(*word) {
            f(block, core::ptr::from_mut(word) as u64);
        }
    }
}

/// Memory was copied where a block got another size.
pub fn moved(from: usize, to: usize, bytes: usize, context: u32) {
    let stack = place(Point { context, site: 0 }, NOWHERE);
    for_each_word(to, bytes, |block, slot| {
        let log = &mut DETAILS.get().log;
        log.reads(block, slot - to as u64 + from as u64, stack);
        log.sets(block, slot, stack, LIFE);
    });
}

/// An integer in a block has changed; `is_step` is 0 if the new value was not made of
/// the old one.
pub unsafe extern "C" fn on_count(address: usize, old: u64, new: u64, site: u32, is_step: u64) {
    let Some(block) = heap::pointed_to(address) else { return };
    let Some(number) = number_of(block) else { return };
    let offset = (address - block.start) as u32;
    let change = Change { old, new, is_step: is_step != 0 };
    DETAILS.get().log.changes(number, offset, change, || here(site));
}

/// The same, if an exchange found what it expected.
pub unsafe extern "C" fn on_count_exchange(address: usize, old: u64, expected: u64, new: u64, site: u32) {
    if old == expected {
        // SAFETY: as the caller's.
        unsafe { on_count(address, old, new, site, 1) };
    }
}

/// Optimised code uses the block at an address.
pub unsafe extern "C" fn on_touch(address: usize, site: u32) {
    if let Some(block) = followed(address) {
        touch(block, here(site));
    }
}

/// A function begins that was optimised: what it was given in registers is in
/// variables of its own.
pub unsafe extern "C" fn on_enter(guest: *const u8, site: u32, _: usize) {
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    let thread = tool::current();
    for register in ARGUMENTS.into_iter().filter(|&it| thread.passed >> it & 1 == 1) {
        if let Some(block) = followed(registers[register]) {
            DETAILS.get().log.sets(block, activation(), here(site), GIVEN);
        }
    }
}

/// A call wrote to `slot` where it returns to, with arguments in registers: those that
/// were set, and what the function that calls was given itself, if this is its first call.
pub fn passes(registers: &[usize; 16], set: u16, slot: usize, site: u32) {
    let passed = set | tool::current().passed;
    for register in ARGUMENTS.into_iter().filter(|&it| passed >> it & 1 == 1) {
        if let Some(block) = followed(registers[register]) {
            touch(block, here(site));
        }
    }
    let (thread, details) = (tool::current(), DETAILS.get());
    thread.passed = passed;
    details.calls += 1;
    while thread.activations.last().is_some_and(|it| it.slot <= slot) {
        thread.activations.pop();
    }
    thread.activations.push(Activation { slot, number: details.calls });
}

/// A function is about to return; `carries` says whether a pointer is the result.
pub fn returns(registers: &[usize; 16], site: u32, carries: Carries) {
    if carries == Carries::Pointer
        && let Some(block) = followed(registers[RAX])
    {
        touch(block, here(site));
    }
}

/// A function has returned to `address`, with a result.
pub fn returned(registers: &[usize; 16], address: usize, carries: Carries) {
    tool::current().passed = 0;
    if carries == Carries::Pointer
        && let Some(block) = followed(registers[RAX])
        && frames::function_at(address as u64).is_none()
        && modules::is_users(address as u64)
    {
        let point = Point { context: calls::child(tool::current().calls.context(), address), site: 0 };
        hold(block, place(point, NOWHERE));
    }
}

/// A pointer to a block died.
#[cold]
pub fn died(block: &Block, point: Point, held: Held) {
    if let Some(number) = number_of(block) {
        DETAILS.get().log.dies(number, 0, place(point, held));
    }
}

/// A block is freed.
pub fn end(block: &Block) {
    if let Some(number) = number_of(block) {
        let allocated = place(Point { context: block.allocated, site: 0 }, NOWHERE);
        DETAILS.get().log.end(number, allocated);
    }
}

/// Calls `f` with what is kept of a block. Stacks are numbers of
/// [`stamp_of`].
pub fn read(block: &Block, f: impl FnMut(Told)) {
    if let Some(number) = number_of(block) {
        DETAILS.get().log.read(number, f);
    }
}

/// Where something happened, by its number.
pub fn stamp_of(number: u32) -> Option<Stamp> {
    DETAILS.get().places.keys().get((number as usize).checked_sub(1)?).copied()
}

pub fn for_each_zeroed(f: impl FnMut(Zeroed)) {
    DETAILS.get().log.zeroed().for_each(f);
}

pub fn for_each_handed_over(f: impl FnMut(HandedOver)) {
    DETAILS.get().log.handed_over().for_each(f);
}
