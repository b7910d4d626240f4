//! The functions by which libstdc++'s containers end elements that have no
//! destructor: `pop_back`, `clear` and their kin call them in code that was not
//! optimised, with nothing in them that could be seen. Optimised code has none of them: there a
//! vector is known by its three pointers, of which the second goes back.

use crate::heap;
use crate::inside;
use crate::memory;

/// What such a function is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Where the elements begin and end.
    Range,
    /// Secondly, where an element is that is a pointer.
    Pointer,
}

/// Which of these functions begins at an address.
pub fn function_at(address: usize) -> Option<Ends> {
    ends(inside::entry_name(address)?)
}

/// Whether the word at `address`, which is `old` and is to be `new`, is the end of a vector's
/// elements: before it lies where they begin, at the start of a block, and behind it where
/// their room ends, in the same block.
pub fn is_end(address: usize, new: usize, old: usize) -> bool {
    const WORD: usize = size_of::<usize>();
    let Some(block) = heap::whole(new) else { return false };
    let is_aligned = address.is_multiple_of(WORD) && (old - new).is_multiple_of(WORD);
    if !is_aligned || !block.contains(old - 1) || !memory::is_readable(address - WORD, 3 * WORD) {
        return false;
    }
    // SAFETY: it is readable, and aligned.
    let [first, _, room] = unsafe { *((address - WORD) as *const [usize; 3]) };
    first == block.start && old <= room && block.contains(room - 1)
}

fn ends(name: &[u8]) -> Option<Ends> {
    if name.starts_with(b"void std::_Destroy_aux<true>::__destroy<") {
        return Some(Ends::Range);
    }
    let is_destroy = name.starts_with(b"void std::allocator_traits<std::allocator<")
        && name.windows(12).any(|part| part == b" >::destroy<");
    (is_destroy && name.ends_with(b"**)")).then_some(Ends::Pointer)
}
