//! Call stacks of the running thread, as numbers.
//!
//! A walk starts at the code that called the runtime and steps outwards
//! (`unwind`), mostly along what is known of the last one (`trail`).

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::thread::{self, Thread};
use crate::unwind::Frame;
use crate::{depot, events, heap, modules};

/// Frames of a trail; no stack is kept longer.
pub const DEPTH_MAX: usize = 64;

/// Frames that are written down, and kept of stacks that have no trail.
static DEPTH: AtomicUsize = AtomicUsize::new(32);

pub fn set_depth(depth: usize) {
    DEPTH.store(depth.clamp(1, DEPTH_MAX), Ordering::Relaxed);
}

pub fn depth() -> usize {
    DEPTH.load(Ordering::Relaxed)
}

/// Frame of the function that the program called, from which walks start.
#[derive(Clone, Copy)]
pub struct Caller {
    pub frame: usize,
}

impl Caller {
    /// Where the program goes on.
    pub fn returns_to(self) -> usize {
        // SAFETY: the frame of our own function, which has a frame pointer.
        let [_, address] = unsafe { words_at(self.frame) };
        address as usize
    }
}

/// The frame of the function in which it stands.
#[macro_export]
macro_rules! caller {
    () => {{
        let frame: usize;
        // SAFETY: reads the frame pointer, which this crate is built with.
        unsafe { core::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
        $crate::walk::Caller { frame }
    }};
}

/// Whether the code that called us was derived, in a program that was derived
/// as a whole: then the thread's context is that of the call.
#[inline(always)]
pub fn is_derived(caller: Caller) -> bool {
    // SAFETY: the frame of our own function, which has a frame pointer.
    modules::is_derived(unsafe { words_at(caller.frame) }[1])
}

/// Number of the stack that ends in the code which called us to allocate.
#[inline]
pub fn stack(thread: &mut Thread, caller: Caller) -> u32 {
    let Some((first, high)) = first_frame(thread, caller) else { return 0 };
    match events::own_tables(thread).and_then(|tables| tables.trail.follow(first, high)) {
        Some(hash) => depot::number_of(hash, |frames| collect(first, high, frames)),
        None => without_trail(first, high),
    }
}

/// Number of the innermost frames alone.
#[inline]
pub fn short_stack<const FRAMES: usize>(thread: &mut Thread, caller: Caller) -> u32 {
    let Some((first, high)) = first_frame(thread, caller) else { return 0 };
    let Frame { mut address, mut stack, mut pointer } = first;
    let (mut frames, mut count) = ([address; FRAMES], 1);
    while count < FRAMES && modules::is_framed(address) && is_frame(pointer, stack, high) {
        // SAFETY: between a live frame and the end of the same stack.
        let [next, outer] = unsafe { words_at(pointer) };
        (address, stack, pointer) = (outer, pointer + 16, next as usize);
        frames[count] = address;
        count += 1;
    }
    if count == 1 {
        return short_foreign_stack(first, high, FRAMES);
    }
    number_of(&frames[..count])
}

/// The same where the innermost code keeps no frame pointers.
#[cold]
fn short_foreign_stack(first: Frame, high: usize, count: usize) -> u32 {
    let mut frames = [0; DEPTH_MAX];
    let count = collect(first, high, &mut frames[..count]);
    number_of(&frames[..count])
}

/// What called the runtime, and the frames around it, without the thread's
/// whole stack.
#[derive(Clone, Copy)]
pub struct Near {
    pub address: u64,
    pub outer: Option<Frame>,
    pub end: usize,
}

impl Near {
    /// A call.
    #[inline(always)]
    pub fn call(thread: &mut Thread, caller: Caller) -> Near {
        let address = caller.returns_to() as u64;
        match first_frame(thread, caller) {
            Some((first, end)) => Near { address, outer: first.caller_again(end), end },
            None => Near { address, outer: None, end: 0 },
        }
    }

    /// Code at `address`, in a function whose own return address lies at
    /// `place`. Its caller's frame pointer is not known.
    #[cfg(feature = "executable")]
    #[inline(always)]
    pub fn inside(thread: &mut Thread, address: u64, place: usize) -> Near {
        if thread.busy > 0 || !thread.known {
            return Near { address, outer: None, end: 0 };
        }
        // SAFETY: a return address of the program's on the running stack.
        let outer = unsafe { *(place as *const u64) };
        let end = bounds(thread, place);
        Near { address, outer: Some(Frame { address: outer, stack: place + 8, pointer: 0 }), end }
    }

    /// Number of so many innermost frames.
    pub fn stack<const FRAMES: usize>(self) -> u32 {
        let (mut frames, mut count) = ([self.address; FRAMES], 1);
        if let Some(outer) = self.outer {
            count += collect(outer, self.end, &mut frames[1..]);
        }
        depot::number_of_few(&frames[..count])
    }
}

/// Whether a frame pointer can be one, in a frame that begins at `low`.
#[inline(always)]
pub fn is_frame(pointer: usize, low: usize, high: usize) -> bool {
    pointer.is_multiple_of(8) && pointer >= low && pointer <= high.wrapping_sub(16)
}

/// The innermost frame of the program, and the end of its stack.
#[inline(always)]
pub fn first_frame(thread: &mut Thread, caller: Caller) -> Option<(Frame, usize)> {
    if thread.busy > 0 {
        return None;
    }
    if !thread.known {
        thread::learn(thread);
    }
    // SAFETY: the frame of our own function, which has a frame pointer.
    let [pointer, address] = unsafe { words_at(caller.frame) };
    let frame = Frame { address, stack: caller.frame + 16, pointer: pointer as usize };
    Some((frame, bounds(thread, caller.frame)))
}

#[cold]
fn without_trail(first: Frame, high: usize) -> u32 {
    let mut frames = [0; DEPTH_MAX];
    let count = collect(first, high, &mut frames[..DEPTH.load(Ordering::Relaxed)]);
    number_of(&frames[..count])
}

fn number_of(frames: &[u64]) -> u32 {
    let hash = frames.iter().fold(0, |hash, &address| depot::mix(hash, address));
    depot::number_of_frames(hash, frames)
}

/// Walks as far as there is room. Returns how many frames there are.
fn collect(first: Frame, high: usize, frames: &mut [u64]) -> usize {
    let (mut count, mut next) = (0, Some(first));
    while let Some(frame) = next.filter(|frame| frame.address != 0 && count < frames.len()) {
        frames[count] = frame.address;
        count += 1;
        next = frame.caller(high);
    }
    count
}

/// The two words at a frame pointer. Each by itself: they were written by two
/// instructions, perhaps just now, and one load of both would have to wait
/// for these to reach the cache.
///
/// # Safety
/// Readable memory of the stack.
#[inline(always)]
pub unsafe fn words_at(pointer: usize) -> [u64; 2] {
    let words = pointer as *const u64;
    // SAFETY: as the caller says.
    unsafe { [core::ptr::read_volatile(words), core::ptr::read_volatile(words.add(1))] }
}

/// The end of the stack that `address` lies on.
#[inline(always)]
fn bounds(thread: &mut Thread, address: usize) -> usize {
    if (thread.stack_low..thread.stack_high).contains(&address) {
        thread.stack_high
    } else if (thread.other_low..thread.other_high).contains(&address) {
        thread.other_high
    } else {
        other_bounds(thread, address)
    }
}

/// A signal stack or a coroutine's: a block of ours, or some mapping.
#[cold]
fn other_bounds(thread: &mut Thread, address: usize) -> usize {
    let (low, high) = match heap::find(address) {
        Some(block) => (block.start, block.start + block.room),
        None => crate::maps::around(address).unwrap_or((address, address)),
    };
    (thread.other_low, thread.other_high) = (low, high);
    high
}
