//! The short way of a small block through a sampled program, which allocates
//! and frees all the time: nothing here calls anything. What is not common
//! goes the long way (`api`), and ends up the same.

use crate::heap;
use crate::outline::{quick_library_outline, quick_outline};
use crate::thread::Thread;
use crate::walk::{self, Caller};
use crate::{accesses, events};

/// A new block; `None` if the long way must be gone.
#[inline(always)]
pub fn allocate(thread: &mut Thread, size: usize, caller: Caller) -> Option<usize> {
    let context = match walk::is_derived(caller) {
        true => quick_outline(thread, caller)?,
        false => quick_library_outline(thread, caller)?,
    };
    let stack = events::known_number(thread, context)?;
    let block = heap::allocate_quickly(thread, size, stack)?;
    accesses::begin(thread, block.seat);
    Some(block.start)
}

/// Frees a block. False if the long way must be gone.
#[inline(always)]
pub fn release(thread: &mut Thread, address: usize) -> bool {
    let Some(left) = thread.sampling.uncounted_frees.checked_sub(1) else { return false };
    let done = heap::free_quickly(thread, address);
    if done {
        thread.sampling.uncounted_frees = left;
    }
    done
}
