//! Contexts of code that keeps none: sampled programs do not set a value at
//! each call, as others do, so it is made of the innermost frames here.

use crate::thread::Thread;
use crate::unwind::Frame;
use crate::walk::{Caller, first_frame, is_frame, words_at};

/// A value for the calls that led here, by the innermost frames alone: for
/// code that keeps no context of its own. With the place of the frame, two
/// stacks that differ further out have the same value only if all that lies
/// between has the same size.
#[inline(always)]
pub fn outline(thread: &mut Thread, caller: Caller) -> u64 {
    // SAFETY: the frame of our own function, which has a frame pointer.
    let [_, address] = unsafe { words_at(caller.frame) };
    outer_outline(thread, caller).wrapping_mul(3).wrapping_add(address)
}

/// The same without the innermost frame.
#[inline(always)]
fn outer_outline(thread: &mut Thread, caller: Caller) -> u64 {
    const FRAMES: usize = 3;
    let Some((Frame { mut stack, mut pointer, .. }, high)) = first_frame(thread, caller) else {
        return 0;
    };
    let mut hash = 0_u64;
    for _ in 0..FRAMES {
        // Code that keeps no frame pointers has anything there.
        if !is_frame(pointer, stack, high) {
            break;
        }
        // SAFETY: between a live frame and the end of the same stack.
        let [next, outer] = unsafe { words_at(pointer) };
        (stack, pointer) = (pointer + 16, next as usize);
        hash = hash.wrapping_mul(3).wrapping_add(outer);
    }
    hash
}

/// An outline whose outer part is known while the same frame asks again.
#[derive(Default)]
#[repr(C)]
pub struct Outlined {
    frame: u64,
    outer: u64,
}

impl Outlined {
    /// Other calls may have led here.
    pub fn forget(&mut self) {
        self.frame = 0;
    }
}

/// The outline for code that asks several times from one frame.
#[inline(always)]
pub fn outline_again(thread: &mut Thread, caller: Caller) -> u64 {
    // SAFETY: the frame of our own function, which has a frame pointer.
    let [frame, address] = unsafe { words_at(caller.frame) };
    if thread.sampling.outlined.frame != frame {
        let outer = outer_outline(thread, caller);
        thread.sampling.outlined = Outlined { frame, outer };
    }
    thread.sampling.outlined.outer.wrapping_mul(3).wrapping_add(address)
}
