//! Ends of variables in frames that are known.

use super::{aligned_words, stamping};
use crate::arena;
use crate::frames;
use crate::heap::{self, Held, Point};
use crate::stamps::{self, stamp};
use crate::tool;

/// Where the frame pointer points to lie the caller's one and the return address,
/// then the frame ends.
const BELOW_BASE: usize = 16;

/// A store covers a word that pointed into the heap, in a frame that is known, at
/// `address`.
pub unsafe extern "C" fn on_frame_store(old: usize, site: u32, address: usize) {
    if !frames::has_ended(address, old) {
        stamp(old, site);
    }
}

/// A variable ends while its function goes on. Its frame is that of `base`; `slot`
/// says how far below its end the variable begins, and above that its size.
pub unsafe extern "C" fn on_scope_end(base: usize, slot: u64, site: u32) {
    let (below, bytes) = (slot as u32 as usize, (slot >> 32) as usize);
    let thread = tool::current();
    let end = base.wrapping_add(BELOW_BASE);
    if thread.calls.frame_end() != end {
        return;
    }
    let death = stamping(thread, site);
    for place in aligned_words(end - below, end - below + bytes).iter() {
        let (address, word) = (core::ptr::from_ref(place) as usize, *place);
        if arena::is_within(word)
            && frames::end(address, word)
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

/// The same with a call, if that has returned: exceptions may lead to the same place.
pub unsafe extern "C" fn on_scope_end_behind_call(base: usize, slot: u64, site: u32, returned: usize) {
    if tool::current().returned_to == returned {
        // SAFETY: as the caller's.
        unsafe { on_scope_end(base, slot, site) };
    }
}
