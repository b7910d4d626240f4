//! Blocks that have a run of chunks to themselves.

use core::ops::Range;
use core::sync::atomic::Ordering;

use super::{Block, Request, SLOT_SHIFT, SPARE, State, seat_of, slot_of};
use crate::arena::seats::{self, Kind};
use crate::arena::{self, CHUNK, CHUNK_SHIFT, Found, Use};
use crate::size_class::SMALL_MAX;
use crate::sys;

/// Larger requests fail at once.
const SIZE_MAX: usize = (1 << 40) - 1;

/// From so many bytes on, and only for large blocks, to move pages costs less
/// than to copy: each such move may leave the system one more mapping to keep.
pub const MOVED_MIN: usize = 4 * CHUNK;
const _: () = assert!(MOVED_MIN > SMALL_MAX);

pub fn allocate_large(request: Request) -> Option<Block> {
    if request.size > SIZE_MAX || request.align > SIZE_MAX || !arena::ready() {
        return None;
    }
    let count = (request.size + SPARE).div_ceil(CHUNK);
    let index = arena::take(count, request.align.div_ceil(CHUNK))?;
    let Some(row) = seats::take(Kind::LARGE) else {
        arena::give(index, count);
        return None;
    };
    // SAFETY: the run is ours.
    let chunk = unsafe { &mut *arena::chunk(index) };
    let dirty = chunk.dirty;
    chunk.seat_all(row);
    chunk.start = arena::address_of(index);
    chunk.set_usage(Use::Large);
    arena::set_step(index, Found::Whole, row.first as usize);
    set_tails(index, 1..count);
    let start = arena::address_of(index);
    if dirty && request.zeroed {
        // SAFETY: the run is ours and large enough.
        unsafe { core::ptr::write_bytes(start as *mut u8, 0, request.size) };
    }
    // SAFETY: the run is ours.
    unsafe { (*arena::chunk(index)).size = request.size };
    let block = Block { start, slot: slot_of(index, 0), seat: row.first as usize, room: count * CHUNK };
    block.set_live(request.size, request.stack);
    Some(block)
}

/// Makes chunks behind the first part of a large block, which ends with them.
fn set_tails(index: usize, tails: Range<usize>) {
    let seat = seat_of(slot_of(index, 0));
    // SAFETY: the run is the caller's.
    unsafe { (*arena::chunk(index)).run = tails.end as u32 };
    for tail in index + tails.start..index + tails.end {
        arena::set_step(tail, Found::Whole, seat);
        // SAFETY: as above.
        let chunk = unsafe { &mut *arena::chunk(tail) };
        chunk.head = index as u32;
        chunk.set_usage(Use::Tail);
    }
}

/// The block around an address in a run that may be a block's.
pub fn large_block(index: usize, address: usize) -> Option<Block> {
    // SAFETY: below the top, so its descriptor is committed.
    let chunk = unsafe { &*arena::chunk(index) };
    let end = arena::address_of(index) + chunk.run as usize * CHUNK;
    let (slot, seat) = (slot_of(index, 0), chunk.seat(0));
    let block = Block { start: chunk.start, slot, seat, room: end.wrapping_sub(chunk.start) };
    // In a free run, descriptors of what was there before may remain.
    let valid = chunk.usage() == Use::Large && address >= chunk.start && address < end;
    valid.then_some(block)
}

#[cold]
pub fn free_large(block: Block, stack: u32) {
    let index = (block.slot >> SLOT_SHIFT) as usize;
    // SAFETY: the first chunk of a large run that is the caller's to free.
    let chunk = unsafe { &mut *arena::chunk(index) };
    let count = chunk.run as usize;
    // Its memory goes back to the system, so the stacks are kept here.
    chunk.size = block.stack() as usize | (stack as usize) << 32;
    block.meta().set_free(0, State::Free);
    arena::give(index, count);
}

/// The large block that started at `address` and was freed, if its place was
/// not used again.
#[cold]
pub fn freed_large(address: usize) -> Option<Block> {
    let offset = address.wrapping_sub(arena::BASE.load(Ordering::Relaxed));
    let index = offset >> CHUNK_SHIFT;
    if index >= arena::top() || !offset.is_multiple_of(CHUNK) {
        return None;
    }
    // SAFETY: below the top, so its descriptor is committed.
    let chunk = unsafe { &*arena::chunk(index) };
    let freed = chunk.start == address && matches!(chunk.usage(), Use::None | Use::Free);
    freed.then_some(Block { start: address, slot: slot_of(index, 0), seat: 0, room: CHUNK })
}

pub fn resize_large(block: Block, size: usize) -> bool {
    if size > SIZE_MAX {
        return false;
    }
    let index = (block.slot >> SLOT_SHIFT) as usize;
    // SAFETY: the first chunk of a large run that is the caller's.
    let count = unsafe { (*arena::chunk(index)).run as usize };
    let wanted = (block.start - arena::address_of(index) + size + SPARE).div_ceil(CHUNK);
    if wanted > count {
        if !arena::extend(index, count, wanted) {
            return false;
        }
        set_tails(index, count..wanted);
    } else if wanted < count {
        // SAFETY: the run's first chunk; its tail is given up.
        unsafe { (*arena::chunk(index)).run = wanted as u32 };
        arena::give(index + wanted, count - wanted);
    }
    // SAFETY: the run's first chunk.
    unsafe { (*arena::chunk(index)).size = size };
    true
}

/// Moves what a block holds to a new one, of which so much fits. The pages of
/// large ones go as they are: they are not there twice, and not copied.
pub fn move_content(from: Block, to: usize, bytes: usize) {
    let pages = bytes.next_multiple_of(sys::PAGE);
    let are_whole = [from.start, to].iter().all(|start| start.is_multiple_of(CHUNK)) && from.room >= pages;
    // SAFETY: two blocks of the caller's, both at least so long; if large, both
    // have the rest of their last pages to themselves.
    unsafe {
        if bytes < MOVED_MIN || !are_whole || !sys::move_pages(from.start, to, pages) {
            core::ptr::copy_nonoverlapping(from.start as *const u8, to as *mut u8, bytes);
        }
    }
}
