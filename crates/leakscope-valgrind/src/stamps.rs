//! Deaths of pointers: which block, when, where.

use leakscope_wire::Cause;

use crate::arena;
use crate::calls;
use crate::details;
use crate::frames;
use crate::heap::{self, Block, Held, NOWHERE, Point, Stamp, USED_SINCE_REGISTER};
use crate::instrument::steps::Way;
use crate::list::{List, Numbers};
use crate::memory::Single;
use crate::modules;
use crate::tool;

/// An instruction that destroys or uses a pointer.
#[derive(Clone, Copy)]
pub struct Site {
    /// Just behind the first byte of the instruction, as a return address is;
    /// 0 if the place is the one to which the function returns.
    pub address: u64,
    pub generation: u32,
    pub cause: u32,
    /// Leads to the place of the pointer, if the instruction says which.
    pub way: Way,
    /// An integer changes by one there.
    pub counts: bool,
    /// How a jump there leaves a scope.
    pub leaves: Leaves,
    /// The site of what a container drops by the same store; 0 until somebody asks.
    elements: u32,
}

static SITES: Single<List<Site>> = Single::new(List::new());

/// Not the death of a pointer but the use of a block.
pub const USE: u32 = 0;

/// A number for an instruction and what happens there, from 1 on.
pub fn new_site(address: u64, cause: u32, way: Way) -> u32 {
    let sites = SITES.get();
    sites.push(Site {
        address,
        generation: modules::generation(),
        cause,
        way,
        counts: false,
        leaves: Leaves::Itself,
        elements: 0,
    });
    sites.len() as u32
}

/// Which statement leaves a scope at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The one that is there.
    Itself,
    /// As [`leakscope_wire::LEAVES`].
    Jump,
    /// The same of a jump to the end of a function without a result, so far from there: falling off
    /// that end needs no statement.
    ToEnd(i32),
}

/// The same where a scope ends, by a jump that leaves it or as control goes on.
pub fn new_end(address: u64, way: Way, leaves: Leaves) -> u32 {
    let number = new_site(address, Cause::ScopeEnd as u32, way);
    SITES.get()[number as usize - 1].leaves = leaves;
    number
}

/// An integer changes by one at a site.
pub fn note_count(number: u32) {
    if let Some(site) = (number as usize).checked_sub(1).and_then(|index| SITES.get().get_mut(index)) {
        site.counts = true;
    }
}

/// The calls, by their return address, that allocated blocks which were used last where an
/// integer changes by one, and then freed.
static COUNTED: Single<Numbers<u64>> = Single::new(Numbers::new());

/// A block is freed.
pub fn note_if_counted(block: &Block) {
    if site(block.used.site).is_some_and(|site| site.counts)
        && let Some(call) = calls::node(block.allocated)
    {
        COUNTED.get().number(call.address);
    }
}

/// Whether a block may count its references.
pub fn may_be_counted(block: &Block) -> bool {
    let call = || calls::node(block.allocated);
    site(block.used.site).is_some_and(|site| site.counts)
        || call().is_some_and(|call| COUNTED.get().find(call.address).is_some())
}

pub fn site(number: u32) -> Option<Site> {
    SITES.get().get((number as usize).checked_sub(1)?).copied()
}

/// Whether two points are the same instruction, reached by the same calls.
pub fn are_one_place(a: Point, b: Point) -> bool {
    let address = |point: Point| site(point.site).map(|site| site.address);
    a.context == b.context && address(a) == address(b)
}

static TIME: Single<u64> = Single::new(0);

/// How many stamps there were.
pub fn time() -> u64 {
    *TIME.get()
}

static CLOCK: Single<u32> = Single::new(0);

/// Goes on when a block is born or a pointer in memory dies; but not with a
/// frame, whose memory nobody but its function and the functions that it calls
/// can have read. Only equality means something.
#[inline(always)]
pub fn clock() -> u32 {
    *CLOCK.get()
}

#[inline(always)]
pub fn tick() {
    let clock = CLOCK.get();
    *clock = clock.wrapping_add(1);
}

/// A pointer with this value died.
#[inline]
pub fn stamp(word: usize, site: u32) {
    let calls = &mut tool::current().calls;
    if let Some(block) = heap::pointed_to(word).filter(|_| !calls.is_stale(word)) {
        if block.stale > 0 {
            block.stale -= 1;
            return;
        }
        tick();
        stamp_block(block, Point { context: calls.context(), site }, NOWHERE);
    }
}

/// The same where a library wrote over it, at `address`. In a frame of its own it
/// may be what is left of a pointer to another block, of which a byte was reused.
pub fn stamp_by_library(word: usize, site: u32, address: usize) {
    let thread = tool::current();
    if frames::has_ended(address, word) {
        return;
    }
    if address >= thread.stack.0 && thread.calls.is_inside_library(address) {
        return;
    }
    let is_pointer = |block: &&mut Block| block.stale == 0 && !thread.calls.is_stale(word);
    if let Some(block) = heap::pointed_to(word).filter(is_pointer) {
        tick();
        // What libc lets go of after the thread's function ends with the thread.
        let is_over = thread.left.site != 0 && !thread.calls.has_users();
        let ended = is_over.then(|| thread.end()).flatten();
        let calls = &mut thread.calls;
        let point = ended.unwrap_or_else(|| Point { context: calls.context(), site });
        stamp_block(block, point, calls.behind_argument(address));
    } else {
        stamp(word, site);
    }
}

/// A pointer in a register died.
#[inline]
pub fn stamp_register(block: &mut Block, point: Point, held: Held) {
    let time = TIME.get();
    *time += 1;
    block.register = Stamp::new(*time, held, point);
    block.used_since &= !USED_SINCE_REGISTER;
}

#[inline]
pub fn stamp_block(block: &mut Block, point: Point, held: Held) {
    if details::are_kept() {
        details::died(block, point, held);
    }
    stamp_variable(block, point, held);
}

/// The same for a variable that ends, whose register may keep the pointer.
#[inline]
pub fn stamp_variable(block: &mut Block, point: Point, held: Held) {
    let time = TIME.get();
    *time += 1;
    let new = Stamp::new(*time, held, point);
    block.used_since = 0;
    // Of the deaths in one call of a function the last is enough.
    let [first, second, third] = block.stamps;
    block.stamps = if first.point.context == point.context {
        block.stamps[0] = new;
        return;
    } else if second.point.context == point.context {
        [new, first, third]
    } else {
        [new, first, second]
    };
}

/// Nobody kept a result. `point` is the call of the function that gave it, as it
/// is for what died inside of the function, which must not be forgotten for it.
pub fn stamp_result(block: &mut Block, point: Point) {
    let [first, second, _] = block.stamps;
    stamp_block(block, point, NOWHERE);
    if first.point.context == point.context && first.point.site != point.site {
        block.stamps = [block.stamps[0], first, second];
    }
}

/// Memory that a function writes to or frees, by an argument: stamps what it
/// pointed to.
pub fn stamp_written(words: &[usize], point: Point) {
    for word in words {
        let address = core::ptr::from_ref(word) as usize;
        if arena::is_within(*word) && !frames::has_ended(address, *word) {
            stamp_word(*word, point, tool::current().calls.behind_argument(address));
        }
    }
}

/// The words of memory that goes: stamps what they point to.
pub fn stamp_words(words: &[usize], point: Point) {
    words.iter().for_each(|&word| stamp_word(word, point, NOWHERE));
}

/// The same, and forgets the pointers: nobody may take what is left there for
/// one later. `held` says where a word was, by number.
pub fn stamp_and_clear(words: &mut [usize], point: Point, held: impl Fn(usize) -> Held) {
    let before = time();
    for (index, word) in words.iter_mut().enumerate().rev().filter(|(_, word)| arena::is_within(**word)) {
        let address = core::ptr::from_ref(word) as usize;
        if let Some(block) = heap::pointed_to(*word).filter(|_| !frames::has_ended(address, *word))
            // Of several pointers to one block one to its start is meant, and the first.
            && (*word == block.start || block.stamps[0].time() <= before)
        {
            tick();
            stamp_block(block, point, held(index));
        }
        *word = 0;
    }
}

fn stamp_word(word: usize, point: Point, held: Held) {
    if let Some(block) = heap::pointed_to(word) {
        tick();
        stamp_block(block, point, held);
    }
}

/// The site of elements that a container ends by a store which has a site.
pub fn site_of_elements(store: u32) -> u32 {
    let Some(Site { address, way, elements, .. }) = site(store) else { return store };
    if elements != 0 {
        return elements;
    }
    let elements = new_site(address, Cause::HolderFreed as u32, way);
    SITES.get()[store as usize - 1].elements = elements;
    elements
}

/// The place that the thread which runs is at, and what happens there.
pub fn here(site: u32) -> Point {
    Point { context: tool::current().calls.context(), site }
}

/// For deaths that no single instruction causes: `address` 0, by cause.
pub fn site_of_cause(cause: Cause) -> u32 {
    static KNOWN: Single<[u32; 8]> = Single::new([0; 8]);
    let known = &mut KNOWN.get()[cause as usize];
    if *known == 0 {
        *known = new_site(0, cause as u32, Way::default());
    }
    *known
}
