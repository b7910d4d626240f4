//! Contexts of code that keeps none: sampled programs do not set a value at
//! each call, as others do, so it is made of the innermost frames here.

use crate::thread::Thread;
use crate::walk::{Caller, first_frame, words_at};

/// A value for the calls that led here, by the four innermost frames and their
/// place: for code that keeps no context of its own. Two stacks that differ
/// further out have the same value only if all that lies between has the same
/// size.
#[inline(always)]
pub fn outline(thread: &mut Thread, caller: Caller) -> u64 {
    let end = first_frame(thread, caller).map_or(caller.frame, |(_, end)| end);
    with_call(caller.frame as u64, frames_outline::<3>(caller, end), caller)
}

/// The same where the stack is the thread's own, and known.
#[inline(always)]
pub fn quick_outline(thread: &Thread, caller: Caller) -> Option<u64> {
    let is_own = (thread.stack_low..thread.stack_high).contains(&caller.frame);
    is_own.then(|| with_call(caller.frame as u64, frames_outline::<3>(caller, thread.stack_high), caller))
}

/// Frames that tell one access or free from another. With more of them, code
/// that calls itself makes a new place of almost each access, and each has to
/// be learned.
pub const NEAR: usize = 4;

/// A value for so many innermost frames alone.
#[inline(always)]
pub fn near_outline(thread: &mut Thread, caller: Caller) -> u64 {
    with_call(NEAR as u64, near_outer(thread, caller), caller)
}

#[inline(always)]
fn near_outer(thread: &mut Thread, caller: Caller) -> u64 {
    first_frame(thread, caller).map_or(0, |(_, end)| frames_outline::<{ NEAR - 1 }>(caller, end))
}

#[inline(always)]
fn with_call(kind: u64, outer: u64, caller: Caller) -> u64 {
    outer.wrapping_mul(3).wrapping_add(caller.returns_to() as u64).wrapping_mul(3).wrapping_add(kind)
}

/// Of the frames outside of the innermost one.
#[inline(always)]
fn frames_outline<const FRAMES: usize>(caller: Caller, end: usize) -> u64 {
    // Up to the last place that has two words.
    let reach = end.saturating_sub(caller.frame + 16) / 8;
    // SAFETY: the frame of our own function, which has a frame pointer.
    let [mut pointer, _] = unsafe { words_at(caller.frame) };
    let mut hash = 0_u64;
    for _ in 0..FRAMES {
        // Code that keeps no frame pointers has anything there. What is no
        // multiple of 8 becomes a very large number.
        let distance = (pointer as usize).wrapping_sub(caller.frame).rotate_right(3);
        if distance > reach {
            break;
        }
        // SAFETY: between a live frame and the end of the same stack.
        let [next, outer] = unsafe { words_at(pointer as usize) };
        pointer = next;
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

/// The near outline for code that asks several times from one frame.
#[inline(always)]
pub fn outline_again(thread: &mut Thread, caller: Caller) -> u64 {
    // SAFETY: the frame of our own function, which has a frame pointer.
    let [frame, _] = unsafe { words_at(caller.frame) };
    if thread.sampling.outlined.frame != frame {
        let outer = near_outer(thread, caller);
        thread.sampling.outlined = Outlined { frame, outer };
    }
    with_call(NEAR as u64, thread.sampling.outlined.outer, caller)
}
