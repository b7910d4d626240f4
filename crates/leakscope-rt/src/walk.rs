//! Call stacks of the running thread, as numbers.
//!
//! From one allocation to the next a stack mostly changes at its inner end. So
//! each thread keeps a [`Trail`] of the frames of its last walk through code
//! that keeps frame pointers. A new walk goes outwards only until it meets a
//! frame of the trail, and then checks that the frames further out still say
//! what they said: those loads do not depend on each other, unlike the steps
//! of a walk. Stacks that are too deep for a trail, or in which foreign code
//! calls back into the program, are walked from end to end.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::thread::{self, Thread};
use crate::unwind::Frame;
use crate::{depot, heap, modules};

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

/// The frames of the last walk, outermost first. Zero bytes are an empty one.
#[repr(C)]
pub struct Trail {
    /// Frame pointers, and the two words at each: the caller's frame pointer
    /// and the return address.
    pointers: [usize; DEPTH_MAX],
    words: [[u64; 2]; DEPTH_MAX],
    /// Of the return addresses from the outermost to this one.
    hashes: [u64; DEPTH_MAX],
    count: usize,
    /// End of the stack on which it lies.
    high: usize,
    /// Walks to come that do not try to keep a trail.
    pause: u32,
}

/// Number of the stack that ends in the code which called us.
#[inline]
pub fn stack(thread: &mut Thread, caller: Caller) -> u32 {
    if thread.busy > 0 {
        return 0;
    }
    if !thread.known {
        thread::learn(thread);
    }
    let high = bounds(thread, caller.frame);
    // SAFETY: the frame of our own function, which has a frame pointer.
    let [pointer, address] = unsafe { *(caller.frame as *const [u64; 2]) };
    let first = Frame { address, stack: caller.frame + 16, pointer: pointer as usize };
    let trail = &mut thread.trail;
    if modules::is_framed(address)
        && trail.pause == 0
        && let Some(outer) = trail.follow(first.pointer, first.stack, high)
    {
        return depot::number_of(depot::mix(outer, address), |frames| collect(first, high, frames));
    }
    without_trail(trail, first, high)
}

#[cold]
fn without_trail(trail: &mut Trail, first: Frame, high: usize) -> u32 {
    trail.pause = trail.pause.saturating_sub(1);
    let mut frames = [0; DEPTH_MAX];
    let count = collect(first, high, &mut frames[..DEPTH.load(Ordering::Relaxed)]);
    let hash = frames[..count].iter().fold(0, |hash, &address| depot::mix(hash, address));
    depot::number_of(hash, |all| {
        all[..count].copy_from_slice(&frames[..count]);
        count
    })
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

impl Trail {
    /// Makes this the trail of the stack whose innermost frame pointer is
    /// given, and returns the hash of its addresses. `None` if it cannot be
    /// kept; the trail is empty then.
    #[inline]
    fn follow(&mut self, mut pointer: usize, mut low: usize, high: usize) -> Option<u64> {
        if self.high != high {
            self.high = high;
            self.count = 0;
        }
        let mut new = [const { MaybeUninit::<usize>::uninit() }; DEPTH_MAX];
        let (mut kept, mut count, mut checked) = (self.count, 0, false);
        let mut hash = loop {
            while kept > 0 && self.pointers[kept - 1] < pointer {
                kept -= 1;
            }
            if kept > 0 && self.pointers[kept - 1] == pointer {
                let valid = if checked { kept } else { self.valid(kept) };
                if valid == kept {
                    break self.hashes[kept - 1];
                }
                // Further out is a frame that was made anew; the walk goes on
                // until it is past that one.
                (kept, checked) = (valid, true);
            }
            if kept + count >= DEPTH_MAX - 8
                || !pointer.is_multiple_of(8)
                || pointer < low
                || pointer > high.wrapping_sub(16)
            {
                return self.give_up();
            }
            new[count].write(pointer);
            count += 1;
            // SAFETY: between a live frame and the end of the same stack.
            let [next, address] = unsafe { *(pointer as *const [u64; 2]) };
            low = pointer + 16;
            if !modules::is_framed(address) {
                let outside = Frame { address, stack: low, pointer: next as usize };
                match hash_outside(outside, high) {
                    Some(hash) => break hash,
                    None => return self.give_up(),
                }
            }
            pointer = next as usize;
        };
        for pointer in new[..count].iter().rev() {
            // SAFETY: written above.
            let pointer = unsafe { pointer.assume_init() };
            // SAFETY: checked and read above.
            let words = unsafe { *(pointer as *const [u64; 2]) };
            hash = depot::mix(hash, words[1]);
            (self.pointers[kept], self.words[kept], self.hashes[kept]) = (pointer, words, hash);
            kept += 1;
        }
        self.count = kept;
        Some(hash)
    }

    /// How many of the outer `count` frames still say the same, up to the
    /// first that does not.
    #[inline(always)]
    fn valid(&self, count: usize) -> usize {
        // SAFETY: the pointers lie on this stack, above a frame that was just
        // met, and below the end that the stack has now.
        let now = |pointer: usize| unsafe { *(pointer as *const [u64; 2]) };
        let mut frames = self.pointers[..count].iter().zip(&self.words[..count]);
        frames.position(|(&pointer, words)| now(pointer) != *words).unwrap_or(count)
    }

    #[cold]
    fn give_up(&mut self) -> Option<u64> {
        self.count = 0;
        self.pause = 64;
        None
    }
}

/// Hash of the frames of foreign code at the outer end of a stack, as libc's
/// below `main`; they stay as they are while the program runs inside them.
/// `None` if the program is further out again, as it is around `qsort`.
#[cold]
fn hash_outside(outside: Frame, high: usize) -> Option<u64> {
    let (mut hash, mut next) = (0, Some(outside));
    while let Some(frame) = next.filter(|frame| frame.address != 0) {
        // The program's entry point is outermost, and has no frame.
        if modules::is_framed(frame.address) && frame.pointer != 0 {
            return None;
        }
        hash = depot::mix(hash, frame.address);
        next = frame.caller(high);
    }
    Some(hash)
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
