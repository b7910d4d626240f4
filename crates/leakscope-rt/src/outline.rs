//! Contexts of code that keeps none: sampled programs do not set a value at
//! each call, as others do, so it is made of the innermost frames here.

use crate::thread::Thread;
use crate::unwind::{Frame, OUTERMOST};
use crate::walk::{self, Caller, Near};
use crate::{depot, modules};

/// Frames that tell one access or free from another. With more of them, code
/// that calls itself makes a new place of almost each access, and each has to
/// be learned.
pub const NEAR: usize = 4;

/// A value for the calls that led here, by the four innermost frames and their
/// place: for code that keeps no context of its own. Two stacks that differ
/// further out have the same value only if all that lies between has the same
/// size.
#[inline(always)]
pub fn outline(thread: &mut Thread, caller: Caller) -> u64 {
    of_call(thread, caller, caller.frame as u64)
}

/// A value for the innermost frames alone.
#[inline(always)]
pub fn near_outline(thread: &mut Thread, caller: Caller) -> u64 {
    of_call(thread, caller, NEAR as u64)
}

#[inline(always)]
fn of_call(thread: &mut Thread, caller: Caller, kind: u64) -> u64 {
    let outer = if thread.busy == 0 { known_outer(thread, caller) } else { None };
    let outer = outer.unwrap_or_else(|| outer_outline(Near::call(thread, caller)));
    with_call(kind, outer, caller.returns_to() as u64)
}

/// The outline where the stack is the thread's own, and how to leave the frames
/// is known.
#[inline(always)]
pub fn quick_outline(thread: &Thread, caller: Caller) -> Option<u64> {
    let outer = known_outer(thread, caller)?;
    Some(with_call(caller.frame as u64, outer, caller.returns_to() as u64))
}

#[inline(always)]
fn known_outer(thread: &Thread, caller: Caller) -> Option<u64> {
    let end = thread.stack_high;
    if !(thread.stack_low..end).contains(&caller.frame) {
        return None;
    }
    let first = Frame { address: caller.returns_to() as u64, stack: caller.frame + 16, pointer: 0 };
    with_known(0, first, end, NEAR - 1)
}

/// A value with so many frames outside of one. It stays in registers: frames
/// that are found by rules are handed over in memory, which costs more than the
/// rest of this.
#[inline(always)]
fn with_known(mut hash: u64, mut frame: Frame, end: usize, frames: usize) -> Option<u64> {
    for _ in 0..frames {
        match frame.known_size()? {
            OUTERMOST => break,
            size => frame = frame.caller_above(size, end)?,
        }
        hash = with_frame(hash, frame);
    }
    Some(hash)
}

/// Frames from the runtime to the program's own code at most, and of that.
const FRAMES: usize = 16;
const OWN: usize = NEAR - 1;

/// A value for the calls that led here through a library: by its frames, and as
/// many of the program's outside of them as tell its own calls apart. None where a
/// frame cannot be left by its size alone.
#[inline(always)]
fn through_library(caller: Caller, end: usize, size: impl Fn(Frame) -> Option<u32>) -> Option<u64> {
    let address = caller.returns_to() as u64;
    let mut frame = Frame { address, stack: caller.frame + 16, pointer: 0 };
    let (mut hash, mut own) = (caller.frame as u64, 0);
    for _ in 0..FRAMES {
        hash = depot::mix(hash, frame.address);
        own += usize::from(modules::is_derived(frame.address));
        if own == OWN {
            return Some(hash);
        }
        match size(frame)? {
            OUTERMOST => return Some(hash),
            size => frame = frame.caller_above(size, end)?,
        }
    }
    None
}

pub fn library_outline(thread: &mut Thread, caller: Caller) -> Option<u64> {
    let (_, end) = walk::first_frame(thread, caller)?;
    through_library(caller, end, Frame::size)
}

/// The same where the stack is the thread's own, and how to leave the frames
/// is known.
#[inline(always)]
pub fn quick_library_outline(thread: &Thread, caller: Caller) -> Option<u64> {
    let end = thread.stack_high;
    let is_own = thread.busy == 0 && (thread.stack_low..end).contains(&caller.frame);
    if is_own { through_library(caller, end, Frame::known_size) } else { None }
}

#[inline(always)]
fn with_call(kind: u64, outer: u64, address: u64) -> u64 {
    outer.wrapping_mul(3).wrapping_add(address).wrapping_mul(3).wrapping_add(kind)
}

#[inline(always)]
fn with_frame(outer: u64, frame: Frame) -> u64 {
    outer.wrapping_mul(3).wrapping_add(frame.address)
}

/// Of the frames outside of the innermost one.
#[cold]
#[inline(never)]
fn outer_outline(near: Near) -> u64 {
    let Some(mut frame) = near.outer else { return 0 };
    let mut hash = with_frame(0, frame);
    for _ in 2..NEAR {
        let Some(next) = frame.caller_again(near.end) else { break };
        (frame, hash) = (next, with_frame(hash, next));
    }
    hash
}

/// An outline whose outer part is known while the same frame asks again.
#[derive(Default)]
#[repr(C)]
pub struct Outlined {
    stack: usize,
    outer: u64,
}

impl Outlined {
    /// Other calls may have led here.
    pub fn forget(&mut self) {
        self.stack = 0;
    }
}

/// The near outline for code that asks several times from one frame.
#[inline(always)]
pub fn outline_again(thread: &mut Thread, near: Near) -> u64 {
    let stack = near.outer.map_or(0, |outer| outer.stack);
    if stack == 0 || thread.sampling.outlined.stack != stack {
        let known = near.outer.and_then(|outer| with_known(with_frame(0, outer), outer, near.end, NEAR - 2));
        let outer = known.unwrap_or_else(|| outer_outline(near));
        thread.sampling.outlined = Outlined { stack, outer };
    }
    with_call(NEAR as u64, thread.sampling.outlined.outer, near.address)
}
