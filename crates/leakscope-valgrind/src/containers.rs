//! The functions by which libstdc++'s containers end elements that have no
//! destructor: `pop_back`, `clear` and their kin call them in code that was not
//! optimised, with nothing in them that could be seen. Optimised code has none of them.

use crate::inside;

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

fn ends(name: &[u8]) -> Option<Ends> {
    if name.starts_with(b"void std::_Destroy_aux<true>::__destroy<") {
        return Some(Ends::Range);
    }
    let is_destroy = name.starts_with(b"void std::allocator_traits<std::allocator<")
        && name.windows(12).any(|part| part == b" >::destroy<");
    (is_destroy && name.ends_with(b"**)")).then_some(Ends::Pointer)
}
