//! Ends of variables in frames that are known.

use leakscope_wire::{Brace, Cause, Slot};

use super::{FRAME_MAX, aligned_words, stamping};
use crate::arena;
use crate::frames;
use crate::heap::{self, Held, NOWHERE, Point};
use crate::memory;
use crate::stamps;
use crate::tool::{self, Thread};

/// Where the frame pointer points to lie the caller's one and the return address,
/// then the frame ends.
const BELOW_BASE: usize = 16;

/// A variable ends while its function goes on. Its frame is that of `base`; `slot`
/// says how far below its end the variable begins, and above that its size.
pub unsafe extern "C" fn on_scope_end(base: usize, slot: u64, site: u32) {
    let thread = tool::current();
    if thread.calls.frame_end() == base.wrapping_add(BELOW_BASE) {
        variable_ends(thread, slot, site, Before::Final);
    }
}

/// The same in optimised code, with the stack pointer at `stack`: the variable is of a function that
/// was inlined, or of a block.
pub unsafe extern "C" fn on_inlined_end(stack: usize, slot: u64, site: u32, returned: usize) {
    let thread = tool::current();
    let (end, below) = (thread.calls.frame_end(), slot as u32 as usize);
    if is_from(thread, returned) && below <= end.wrapping_sub(stack).min(FRAME_MAX) {
        variable_ends(thread, slot, site, Before::Perhaps);
    }
}

/// Whether control came from the call that returns to `returned`, if it is not 0: jumps may
/// lead to the same place.
fn is_from(thread: &Thread, returned: usize) -> bool {
    returned == 0 || thread.returned_to == returned
}

/// What it means that a variable has ended before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It does not end again.
    Final,
    /// Its code and that around it are mixed, and control came back.
    Perhaps,
}

fn variable_ends(thread: &mut Thread, slot: u64, site: u32, before: Before) {
    let (below, bytes) = (slot as u32 as usize, (slot >> 32) as usize);
    let end = thread.calls.frame_end();
    let death = stamping(thread, site);
    for place in aligned_words(end - below, end - below + bytes).iter() {
        let (address, word) = (core::ptr::from_ref(place) as usize, *place);
        if arena::is_within(word)
            && (frames::end(address, word) || before == Before::Perhaps)
            && death.is_some()
            && !thread.calls.is_stale(word)
            && let Some(block) = heap::pointed_to(word)
        {
            let point = Point { context: thread.calls.context(), site };
            // Of several variables that end together one that points to its start is meant.
            if word != block.start && stamps::are_one_place(block.stamps[0].point, point) {
                continue;
            }
            stamps::stamp_block(block, point, Held::at_word((end - address) / 8));
        }
    }
}

/// A throw led from the call that returns to `left` to a handler of the same function,
/// whose address the unwinder put where the stack pointer is: variables that the
/// handler cannot see end.
pub fn end_by_throw(thread: &mut Thread, left: usize, stack: usize) {
    let call = left as u64 - 1;
    let (function, stretch) = (frames::function_at(call), frames::stretch_at(call));
    let is_known = function.is_some() || stretch.is_some();
    if !is_known || !memory::is_readable(stack - 8, 16) {
        return;
    }
    let is_handler = |word: &usize| {
        let address = *word as u64;
        *word != left
            && (function.is_some_and(|function| function.contains(address))
                || stretch.is_some_and(|stretch| stretch.is_of_function(address)))
    };
    let Some(handler) = aligned_words(stack - 8, stack + 8).iter().copied().find(is_handler) else { return };
    let end = thread.calls.frame_end();
    let point = Point { context: thread.thrown.context, site: stamps::site_of_cause(Cause::Unwound) };
    // What is the whole function's goes with its frame.
    let is_inner = |slot: &Slot| slot.brace != Brace::Function as u32;
    let ends = function.into_iter().flat_map(|function| function.ends(call, handler as u64));
    let inlined = stretch.into_iter().flat_map(|stretch| stretch.ends_in_frame(call, handler as u64));
    for slot in ends.chain(inlined).filter(is_inner) {
        let start = end - slot.below as usize;
        for place in aligned_words(start, start + slot.bytes as usize).iter() {
            let (address, word) = (core::ptr::from_ref(place) as usize, *place);
            if arena::is_within(word)
                && let Some(block) = heap::pointed_to(word)
                && frames::end(address, word)
            {
                stamps::stamp_block(block, point, thread.calls.in_frame(address, thread.thrown.depth));
            }
        }
    }
}

/// As `on_scope_end` with a call, if that has returned: exceptions may lead to the same place.
pub unsafe extern "C" fn on_scope_end_behind_call(base: usize, slot: u64, site: u32, returned: usize) {
    if tool::current().returned_to == returned {
        // SAFETY: as the caller's.
        unsafe { on_scope_end(base, slot, site) };
    }
}

/// A variable that is in a register of optimised code, and points into the heap,
/// ends while its function goes on.
pub unsafe extern "C" fn on_variable_end(word: usize, site: u32, returned: usize) {
    let thread = tool::current();
    if is_from(thread, returned)
        && thread.calls.may_hold_last()
        && !thread.calls.is_stale(word)
        && let Some(block) = heap::pointed_to(word)
    {
        let point = Point { context: thread.calls.context(), site };
        stamps::stamp_variable(block, point, NOWHERE);
    }
}

/// The elements of a container from `first` up to `last` end, without being touched;
/// their memory stays the container's.
pub unsafe extern "C" fn on_elements_end(first: usize, last: usize) {
    if first >= last || !memory::is_readable(first, last - first) {
        return;
    }
    let point = stamps::here(stamps::site_of_cause(Cause::HolderFreed));
    elements_end(first, last, point, tool::current().calls.behind_argument(first));
}

/// The same for memory that is known to be there.
pub fn elements_end(first: usize, last: usize, point: Point, held: Held) {
    for place in aligned_words(first, last).iter() {
        let (address, word) = (core::ptr::from_ref(place) as usize, *place);
        if arena::is_within(word)
            && let Some(block) = heap::pointed_to(word)
            && frames::end(address, word)
        {
            stamps::tick();
            stamps::stamp_block(block, point, held);
        }
    }
}
