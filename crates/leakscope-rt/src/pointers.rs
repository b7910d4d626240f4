//! The words of some memory that may point into the heap. Most memory has none,
//! and that is what is found out quickly.

use core::ops::Range;

use crate::arena;

/// The address and value of each, in order or from the last on.
#[derive(Clone)]
pub struct Pointers {
    at: usize,
    end: usize,
    range: Range<usize>,
}

/// Those at aligned addresses from `start` to `end`.
///
/// # Safety
/// The bytes are readable for as long as the iterator is used.
#[inline]
pub unsafe fn pointers(start: usize, end: usize) -> Pointers {
    Pointers { at: start.next_multiple_of(8), end: end & !7, range: arena::range() }
}

/// So many words are looked at together.
const STEP: usize = 4;

impl Pointers {
    /// How far from the start of the heap the word at an address leads, and the
    /// word.
    #[inline(always)]
    fn peek(&self, address: usize) -> (usize, usize) {
        // SAFETY: within what whoever made this says is readable.
        let word = unsafe { core::ptr::read_volatile(address as *const usize) };
        (word.wrapping_sub(self.range.start), word)
    }

    /// Whether none of the words from an address on is a pointer.
    #[inline(always)]
    fn is_empty(&self, address: usize) -> bool {
        let size = self.range.end - self.range.start;
        (0..STEP).all(|number| self.peek(address + number * 8).0 >= size)
    }
}

impl Iterator for Pointers {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        let size = self.range.end - self.range.start;
        while self.at + STEP * 8 <= self.end && self.is_empty(self.at) {
            self.at += STEP * 8;
        }
        while self.at < self.end {
            let (distance, word) = self.peek(self.at);
            self.at += 8;
            if distance < size {
                return Some((self.at - 8, word));
            }
        }
        None
    }
}

impl DoubleEndedIterator for Pointers {
    #[inline]
    fn next_back(&mut self) -> Option<(usize, usize)> {
        let size = self.range.end - self.range.start;
        while self.at + STEP * 8 <= self.end && self.is_empty(self.end - STEP * 8) {
            self.end -= STEP * 8;
        }
        while self.at < self.end {
            self.end -= 8;
            let (distance, word) = self.peek(self.end);
            if distance < size {
                return Some((self.end, word));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_found_wherever_they_are() {
        let check = |words: &[usize], skipped: usize, expected: &[usize]| {
            let start = words.as_ptr() as usize;
            // SAFETY: within the words.
            let found = unsafe { pointers(start + skipped, start + size_of_val(words)) };
            let found = Pointers { range: 100..200, ..found };
            assert!(found.clone().rev().eq(found.clone().collect::<Vec<_>>().into_iter().rev()));
            let (places, values): (Vec<usize>, Vec<usize>) = found.unzip();
            assert_eq!(values, expected);
            assert!(places.iter().zip(expected).all(|(at, word)| words[(at - start) / 8] == *word));
        };
        check(&[], 0, &[]);
        check(&[100], 0, &[100]);
        check(&[99, 200, 0, usize::MAX], 0, &[]);
        check(&[1, 2, 3, 4, 5, 6, 7, 199, 8], 0, &[199]);
        check(&[101, 102, 103, 104, 105, 1, 106], 0, &[101, 102, 103, 104, 105, 106]);
        check(&[101, 102, 103], 1, &[102, 103]);
        check(&[101, 102, 103], 8, &[102, 103]);
    }
}
