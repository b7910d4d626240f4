//! The words of some memory that may point into the heap. Most memory has none,
//! and that is what is found out quickly.

use core::ops::Range;

use crate::arena;

/// The address and value of each, in order.
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

impl Pointers {
    /// How far from the start of the heap the word leads that is `number` words
    /// on, and the word.
    #[inline(always)]
    fn peek(&self, number: usize) -> (usize, usize) {
        // SAFETY: within what whoever made this says is readable.
        let word = unsafe { core::ptr::read_volatile((self.at as *const usize).add(number)) };
        (word.wrapping_sub(self.range.start), word)
    }
}

impl Iterator for Pointers {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        const STEP: usize = 4;
        let size = self.range.end - self.range.start;
        while self.at + STEP * 8 <= self.end && (0..STEP).all(|number| self.peek(number).0 >= size) {
            self.at += STEP * 8;
        }
        while self.at < self.end {
            let (distance, word) = self.peek(0);
            self.at += 8;
            if distance < size {
                return Some((self.at - 8, word));
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
