//! What blocks of pools have in common with those of the heap: a slot, and a
//! state. Where they lie is known to `pools`.

use core::sync::atomic::Ordering;

use super::{Block, State, slot_of};
use crate::arena::seats::Kind;
use crate::arena::{self, CHUNK, CHUNK_SHIFT, Found, Use};
use crate::{pools, stamps};

/// A chunk for entries of pools.
pub fn new_entries() -> Option<usize> {
    if !arena::ready() {
        return None;
    }
    let index = super::take_chunk(Kind::ENTRIES)?;
    // SAFETY: the chunk is ours; entries begin as zeros.
    let chunk = unsafe {
        core::ptr::write_bytes(arena::address_of(index) as *mut u8, 0, CHUNK);
        &mut *arena::chunk(index)
    };
    chunk.capacity = (CHUNK / pools::ENTRY) as u32;
    chunk.carved = 0;
    arena::set_step(index, Found::By(((1_u64 << 32) / pools::ENTRY as u64) as u32), chunk.seat(0));
    chunk.set_usage(Use::Entries);
    Some(index)
}

/// The slot of the entry at this address.
pub fn slot_of_entry(address: usize) -> u64 {
    let offset = address.wrapping_sub(arena::BASE.load(Ordering::Relaxed));
    slot_of(offset >> CHUNK_SHIFT, (offset % CHUNK / pools::ENTRY) as u64)
}

/// The entry of a block of a pool.
pub fn entry_of(block: Block) -> usize {
    let (index, number) = (block.slot >> super::SLOT_SHIFT, block.slot % (1 << super::SLOT_SHIFT));
    arena::address_of(index as usize) + number as usize * pools::ENTRY
}

/// A block of a pool is live from now on.
pub fn begin_part(block: Block, stack: u32) {
    block.set_live(block.room, stack);
}

/// It is not any more.
pub fn end_part(block: Block) {
    block.meta().set_free(0, State::Free);
}

/// Blocks of pools lie in this memory, if it is the heap's.
pub fn hold_parts(start: usize, size: usize) {
    let range = arena::range();
    if !range.contains(&start) || start + size > range.end {
        return;
    }
    let first = (start - range.start) >> CHUNK_SHIFT;
    for index in first..=(start + size.max(1) - 1 - range.start) >> CHUNK_SHIFT {
        // SAFETY: below the top.
        let chunk = unsafe { &*arena::chunk(index) };
        if !chunk.pooled.swap(true, Ordering::Relaxed) {
            stamps::split(index);
        }
        if chunk.usage() == Use::Tail {
            // What is freed is known by its first chunk.
            // SAFETY: as above.
            let head = unsafe { &*arena::chunk(chunk.head as usize) };
            if !head.pooled.swap(true, Ordering::Relaxed) {
                stamps::split(chunk.head as usize);
            }
        }
    }
}

/// Whether blocks of pools may lie in a block.
#[inline(always)]
pub fn may_hold_parts(block: Block) -> bool {
    // SAFETY: the chunk of a block.
    unsafe { (*arena::chunk((block.slot >> super::SLOT_SHIFT) as usize)).pooled.load(Ordering::Relaxed) }
}

/// Whether stamps of a block are by 16 bytes, for pools have blocks around it.
pub fn has_parts(block: Block) -> bool {
    let range = arena::range();
    range.contains(&block.start)
        // SAFETY: below the top.
        && unsafe {
            (*arena::chunk((block.start - range.start) >> CHUNK_SHIFT)).pooled.load(Ordering::Relaxed)
        }
}

/// Whether a block is one of a pool.
pub fn is_part(block: Block) -> bool {
    // SAFETY: the chunk of a block.
    unsafe { (*arena::chunk((block.slot >> super::SLOT_SHIFT) as usize)).usage() == Use::Entries }
}
