//! What a program says of its own allocators: by `leakscope.h`, or by the calls
//! that derived code makes for the functions that `leakscope.toml` names.
//!
//! Each call names a frame, that of the function which hands the block out or
//! takes it: its caller is the place. A frame of 0 is the calling function's.

use core::ffi::c_char;

use crate::events::{self, What};
use crate::heap::Block;
use crate::pointers::pointers;
use crate::pools::{self, Part};
use crate::thread::Thread;
use crate::walk::Caller;
use crate::{api, arena, caller, mode, stamps};

/// A size that is that of a string, with its end.
const STRING: usize = usize::MAX;

/// `pool` handed out a block.
///
/// # Safety
/// A string must be one; a frame must be live.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_pool_allocated(
    pointer: usize,
    size: usize,
    pool: usize,
    is_kept: usize,
    frame: usize,
) {
    let caller = or(frame, caller!());
    // SAFETY: as the caller says.
    allocated(unsafe { part(pointer, size, pool, is_kept != 0) }, caller);
}

/// A block has another size, and perhaps another place.
///
/// # Safety
/// A frame must be live.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_pool_resized(
    old: usize,
    pointer: usize,
    size: usize,
    pool: usize,
    is_kept: usize,
    frame: usize,
) {
    let caller = or(frame, caller!());
    if pointer == 0 && size != 0 {
        // There was no memory, and the old block stays.
        return;
    }
    let thread = api::this_thread();
    let pool = match pools::find(old) {
        Some(block) if pool == 0 => pools::pool_of(block),
        _ => pool,
    };
    if let Some(block) = starting_at(old).filter(|_| old != pointer) {
        // What it held moved on with its content, unless there is none.
        if pointer == 0 {
            content_dies(thread, block, caller);
        }
        stamps::end(block);
        pools::end(block);
    }
    if pointer != 0 {
        // SAFETY: not a string.
        allocated(unsafe { part(pointer, size.min(STRING - 1), pool, is_kept != 0) }, caller);
    }
}

/// A block goes back to its pool, and with it all that hang on it; or a pool
/// ends, and with it its blocks.
///
/// # Safety
/// A frame must be live.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_pool_freed(pointer: usize, frame: usize) {
    let caller = or(frame, caller!());
    let thread = api::this_thread();
    clear(thread, pointer, caller);
    if let Some(block) = starting_at(pointer) {
        end(thread, block, caller);
    }
}

/// All blocks of a pool go back to it.
///
/// # Safety
/// A frame must be live.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_pool_cleared(pool: usize, frame: usize) {
    let caller = or(frame, caller!());
    clear(api::this_thread(), pool, caller);
}

/// A block is another pool's from now on.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_pool_moved(pointer: usize, pool: usize) {
    if let Some(block) = starting_at(pointer) {
        pools::give(block, pool);
    }
}

fn or(frame: usize, own: Caller) -> Caller {
    if frame == 0 { own } else { Caller { frame } }
}

/// # Safety
/// A string must be one.
unsafe fn part(start: usize, size: usize, pool: usize, is_kept: bool) -> Part {
    let size = match size {
        // SAFETY: as the caller says.
        STRING if start != 0 => unsafe { libc::strlen(start as *const c_char) + 1 },
        _ => size.max(1),
    };
    Part { start, size, pool, is_kept, stack: 0 }
}

fn allocated(part: Part, caller: Caller) {
    if part.start == 0 || !arena::ready() {
        return;
    }
    let thread = api::this_thread();
    let stack = api::stack(thread, caller);
    if let Some(block) = pools::begin(Part { stack, ..part }) {
        api::begin_stamps(thread, block, stack);
    }
}

fn starting_at(pointer: usize) -> Option<Block> {
    pools::find(pointer).filter(|block| block.start == pointer)
}

/// Ends all blocks of a pool, and theirs, innermost first.
fn clear(thread: &mut Thread, pool: usize, caller: Caller) {
    let mut at = pool;
    loop {
        match pools::any_of(at) {
            // One that is its own pool would never end.
            Some(block) if ![at, pool].contains(&block.start) && pools::any_of(block.start).is_some() => {
                at = block.start
            }
            Some(block) => end(thread, block, caller),
            None if at == pool => return,
            None => at = pools::find(at).map_or(pool, pools::pool_of),
        }
    }
}

fn end(thread: &mut Thread, block: Block, caller: Caller) {
    let freed = api::stack(thread, caller);
    events::count_free(thread, block.stack(), freed, 1);
    content_dies(thread, block, caller);
    stamps::end(block);
    pools::end(block);
}

/// What the pointers in a block point to loses them. They stay as they are: the
/// pool may still read them.
fn content_dies(thread: &mut Thread, block: Block, caller: Caller) {
    let site = match core::mem::take(&mut thread.site) {
        0 => (&raw const stamps::HOLDER_FREED) as usize,
        site => site,
    };
    for_each_pointer(block, |place, word| {
        stamps::stamp(thread, word, caller, What::freed(site, place as u64));
    });
}

/// Calls `f` with the place and value of each word that may point to a block.
fn for_each_pointer(block: Block, mut f: impl FnMut(usize, usize)) {
    if !arena::is_followed() || block.size() > mode::searched_max() {
        return;
    }
    // SAFETY: a block that the program has.
    for (address, word) in unsafe { pointers(block.start, block.start + block.size()) } {
        f(address - block.start, word);
    }
}
