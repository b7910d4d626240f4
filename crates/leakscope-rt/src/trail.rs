//! What a thread remembers of its last walk up the stack.
//!
//! From one allocation to the next a stack mostly changes at its inner end. A
//! new walk goes outwards only until it meets a frame of the trail, and then
//! checks that the words which led further out still say what they said: those
//! loads do not depend on each other, unlike the steps of a walk.
//!
//! Code without frame pointers uses rbp for anything, so its value counts only
//! where a frame further out is found by it. Stacks that are too deep for a
//! trail, or with a frame that takes more than two words to leave, are walked
//! from end to end.

use core::mem::MaybeUninit;

use crate::unwind::{Frame, Step};
use crate::{depot, modules};

/// Frames of a trail.
const LENGTH: usize = crate::walk::DEPTH_MAX - 8;

/// Walks without a trail after one that could not be kept.
const PAUSE: u32 = 64;

/// The frames of the last walk, outermost first. Zero bytes are an empty one.
#[repr(C)]
pub struct Trail {
    frames: [Frame; LENGTH],
    /// Whether a frame further out is found by this one's frame pointer.
    by_pointer: [bool; LENGTH],
    /// The words by which the frame is left, and what they said: the return
    /// address, and the frame pointer if it counts (else the former again).
    places: [[usize; 2]; LENGTH],
    words: [[u64; 2]; LENGTH],
    /// Of the return addresses from the outermost to this one.
    hashes: [u64; LENGTH],
    count: usize,
    /// End of the stack on which it lies, and the modules that it was for.
    high: usize,
    generation: u32,
    /// Walks to come that do not try to keep a trail.
    pause: u32,
}

impl Trail {
    /// Makes this the trail of the stack whose innermost frame is given, and
    /// returns the hash of its addresses. `None` if it cannot be kept.
    #[inline]
    pub fn follow(&mut self, first: Frame, high: usize) -> Option<u64> {
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        if self.high != high || self.generation != modules::generation() {
            (self.high, self.generation, self.count) = (high, modules::generation(), 0);
        }
        let mut new = [const { MaybeUninit::<(Frame, Step)>::uninit() }; LENGTH];
        let (mut kept, mut count, mut checked) = (self.count, 0, false);
        let mut frame = first;
        loop {
            while kept > 0 && self.frames[kept - 1].stack < frame.stack {
                kept -= 1;
            }
            if kept > 0 && self.is_met(kept - 1, frame) {
                let valid = if checked { kept } else { self.valid(kept) };
                if valid == kept {
                    break;
                }
                // Further out is a frame that was made anew; the walk goes on
                // until it is past that one.
                (kept, checked) = (valid, true);
            }
            let step = frame.step(high);
            if kept + count >= LENGTH || step == Step::Long {
                return self.give_up();
            }
            new[count].write((frame, step));
            count += 1;
            match step {
                Step::To { caller, .. } if caller.address != 0 => frame = caller,
                _ => {
                    kept = 0;
                    break;
                }
            }
        }
        for entry in new[..count].iter().rev() {
            // SAFETY: written above.
            let (frame, step) = unsafe { entry.assume_init() };
            self.keep(kept, frame, step);
            kept += 1;
        }
        self.count = kept;
        Some(self.hashes[kept - 1])
    }

    /// Whether the walk has come to a frame of the trail.
    #[inline(always)]
    fn is_met(&self, index: usize, frame: Frame) -> bool {
        let known = &self.frames[index];
        known.stack == frame.stack
            && known.address == frame.address
            && (known.pointer == frame.pointer || !self.by_pointer[index])
    }

    /// How many of the outer `count` frames are left by the same words as
    /// before, up to the first that is not.
    #[inline(always)]
    fn valid(&self, count: usize) -> usize {
        // SAFETY: the places lie on this stack, above a frame that was just
        // met, and below the end that the stack has now. Each word by itself:
        // they were written by two instructions, perhaps just now, and one
        // load of both would have to wait for these to reach the cache.
        let now = |place: usize| unsafe { core::ptr::read_volatile(place as *const u64) };
        // The outermost frame is not left.
        let mut outer = 1;
        while outer < count {
            let ([a, b], [x, y]) = (self.places[outer], self.words[outer]);
            if (now(a) ^ x) | (now(b) ^ y) != 0 {
                break;
            }
            outer += 1;
        }
        outer.min(count)
    }

    /// Puts a frame at `index`, inside those before it.
    #[inline(always)]
    fn keep(&mut self, index: usize, frame: Frame, step: Step) {
        let (outer_hash, outer_counts) = match index {
            0 => (0, false),
            _ => (self.hashes[index - 1], self.by_pointer[index - 1]),
        };
        self.frames[index] = Frame { pointer: 0, ..frame };
        self.hashes[index] = depot::mix(outer_hash, frame.address);
        self.by_pointer[index] = false;
        if let Step::To { caller, saved, by_pointer } = step {
            let (place, word) = (caller.stack - 8, caller.address);
            let second = outer_counts && saved != 0;
            self.places[index] = [place, if second { saved } else { place }];
            self.words[index] = [word, if second { caller.pointer as u64 } else { word }];
            self.by_pointer[index] = by_pointer || outer_counts && saved == 0;
        }
        // What is not a frame pointer may point to a block, which a copy of it
        // would hold.
        if self.by_pointer[index] {
            self.frames[index].pointer = frame.pointer;
        }
    }

    #[cold]
    fn give_up(&mut self) -> Option<u64> {
        self.count = 0;
        self.pause = PAUSE;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::unwind::Registers;

    /// Walks at random through functions with frames of different sizes, and
    /// compares what the trail says with a walk from end to end.
    struct Walk {
        trail: Box<Trail>,
        high: usize,
        seed: u64,
        followed: u32,
    }

    impl Walk {
        fn choose(&mut self, ways: u64) -> u64 {
            self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.seed >> 33) % ways
        }

        #[inline(never)]
        fn check(&mut self) {
            let now = Registers::here();
            let frame = Frame { address: now.rip, stack: now.rsp as usize, pointer: now.rbp as usize };
            let (mut addresses, mut next) = (Vec::new(), Some(frame));
            while let Some(frame) = next.filter(|frame| frame.address != 0) {
                addresses.push(frame.address);
                next = frame.caller(self.high);
            }
            let expected = addresses.iter().rev().fold(0, |hash, &address| depot::mix(hash, address));
            if let Some(hash) = self.trail.follow(frame, self.high) {
                self.followed += 1;
                assert_eq!(hash, expected, "seed {}, {} frames", self.seed, addresses.len());
            }
        }

        #[inline(never)]
        fn plain(&mut self, depth: u32) {
            self.wander(depth);
            black_box(self.seed);
        }

        #[inline(never)]
        fn with_buffer(&mut self, depth: u32) {
            let mut buffer = [depth as u8; 100];
            black_box(&mut buffer);
            self.wander(depth);
            black_box(&mut buffer);
        }

        fn wander(&mut self, depth: u32) {
            for _ in 0..self.choose(4) {
                match self.choose(3) {
                    0 if depth > 0 => self.plain(depth - 1),
                    1 if depth > 0 => self.with_buffer(depth - 1),
                    _ => self.check(),
                }
            }
        }
    }

    #[test]
    fn a_trail_says_what_a_walk_says() {
        let end = 0u64;
        // SAFETY: zero bytes are an empty trail.
        let trail = unsafe { Box::new_zeroed().assume_init() };
        let mut walk = Walk { trail, high: &raw const end as usize & !7, seed: 1, followed: 0 };
        for _ in 0..2000 {
            walk.plain(20);
            walk.with_buffer(20);
        }
        assert!(walk.followed > 10_000, "{} walks followed the trail", walk.followed);
    }
}
