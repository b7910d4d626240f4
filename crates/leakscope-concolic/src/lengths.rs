//! Inputs in which a counted text is longer or shorter: a byte, or a number before a colon, that may
//! say how many bytes follow it, and more or less of these. A solver that turns `i < length` leaves all
//! that follows where it was, and so no longer what it was.

use leakscope_solve::InputId;

use crate::input::{Bounds, Input, Names, part};
use crate::parts::text_of;

/// Longer ones are taken for something else.
const MOST_COUNTED: usize = 64;

/// So many bytes are added at most.
pub const MOST_ADDED: usize = 3;

/// A count that is to be another one is tried so much more and less.
const MOST_CHANGED: u64 = 8;

/// Where a count is not right before what it counts: the bytes of a name between.
const NAME: usize = 4;

/// Stands in what is added.
const PLAIN: u8 = b'a';

/// A count, and the text behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Where the count stands, in one byte or in digits.
    from: usize,
    to: usize,
    count: usize,
    is_text: bool,
    /// Where what it counts ends.
    end: usize,
}

/// All that may be counts in a text. In one of letters, only those in digits are.
pub fn counted(text: &[u8]) -> Vec<Counted> {
    if is_binary(text) { bytes(text) } else { digits(text) }
}

/// Counts in a byte, which may have zeros behind it that belong to it.
fn bytes(text: &[u8]) -> Vec<Counted> {
    let mut found = Vec::new();
    for (at, &byte) in text.iter().enumerate() {
        for width in [1, 2, 4] {
            let count = usize::from(byte);
            let has_room = at + width + count <= text.len();
            if count <= MOST_COUNTED && has_room && text[at + 1..at + width].iter().all(|&byte| byte == 0) {
                found.push(Counted { from: at, to: at + 1, count, is_text: false, end: at + width + count });
            }
        }
    }
    found
}

fn digits(text: &[u8]) -> Vec<Counted> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, byte) in text.iter().enumerate() {
        if byte.is_ascii_digit() {
            continue;
        }
        let number = std::str::from_utf8(&text[from..at]).ok().and_then(|number| number.parse().ok());
        if let Some(count) = number.filter(|&count: &usize| *byte == b':' && count <= MOST_COUNTED)
            && at + 1 + count <= text.len()
        {
            found.push(Counted { from, to: at, count, is_text: true, end: at + 1 + count });
        }
        from = at + 1;
    }
    found
}

/// The input with another number in a byte that may be a count, the nearest that is right, and as much
/// more or less of what it counts, for each end that this may have.
pub fn with_count(
    input: &Input,
    id: InputId,
    (names, bounds): (&Names, &Bounds),
    is_right: impl Fn(u64) -> bool,
) -> Vec<Input> {
    let Some((which, at)) = part(id).and_then(|part| text_of(part, names)) else { return Vec::new() };
    let Some(text) = which.of(input).filter(|text| is_binary(text) && at < text.len()) else {
        return Vec::new();
    };
    let now = u64::from(text[at]);
    let near = (1..=MOST_CHANGED).flat_map(|by| [now.checked_add(by), now.checked_sub(by)]);
    let Some(new) = near.flatten().find(|&new| new <= MOST_COUNTED as u64 && is_right(new)) else {
        return Vec::new();
    };
    let mut ends = bytes(text);
    ends.retain(|counted| counted.from == at);
    if let Some(first) = ends.first().cloned().filter(|first| first.end + NAME <= text.len()) {
        ends.push(Counted { end: first.end + NAME, ..first });
    }
    let made = ends.iter().map(|counted| resized(text, counted, new as usize));
    made.filter(|made| made.len() <= which.most(bounds)).map(|made| which.with(input, made)).collect()
}

/// The text with so much of what is counted.
fn resized(text: &[u8], counted: &Counted, count: usize) -> Vec<u8> {
    match count.checked_sub(counted.count) {
        Some(more) => lengthened(text, counted, more),
        None => {
            let kept = counted.end - (counted.count - count);
            [&text[..counted.from], &[count as u8], &text[counted.to..kept], &text[counted.end..]].concat()
        }
    }
}

fn is_binary(text: &[u8]) -> bool {
    text.iter().any(|byte| !(byte.is_ascii_graphic() || byte.is_ascii_whitespace()))
}

/// The text with so many bytes more behind what is counted.
pub fn lengthened(text: &[u8], counted: &Counted, more: usize) -> Vec<u8> {
    let count = counted.count + more;
    let new = if counted.is_text { count.to_string().into_bytes() } else { vec![count as u8] };
    let (before, behind) = (&text[counted.to..counted.end], &text[counted.end..]);
    [&text[..counted.from], &new, before, &vec![PLAIN; more], behind].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &[u8]) -> Vec<Vec<u8>> {
        counted(text).iter().map(|counted| lengthened(text, counted, 2)).collect()
    }

    #[test]
    fn a_counted_text_gets_longer_and_what_follows_moves() {
        assert!(made(b"\x02xy\x01z\xff").contains(&b"\x04xyaa\x01z\xff".to_vec()));
        assert!(made(b"\x02xy\x01z\xff").contains(&b"\x02xy\x03zaa\xff".to_vec()));
        assert!(made(b"\x01\0\0\0z!").contains(&b"\x03\0\0\0zaa!".to_vec()));
        assert!(made(b"\0!").contains(&b"\x02aa!".to_vec()));
    }

    #[test]
    fn a_count_becomes_the_nearest_that_is_right() {
        let check = |stdin: &[u8], at: u32, is_right: fn(u64) -> bool, expected: &[&[u8]]| {
            let input = Input { stdin: stdin.to_vec(), ..Input::default() };
            let id = crate::input::id(leakscope_wire::symbolic::source::STDIN, at);
            let made = with_count(&input, id, (&Names::new(), &Bounds::default()), is_right);
            let made: Vec<Vec<u8>> = made.into_iter().map(|input| input.stdin).collect();
            assert_eq!(made, expected);
        };
        check(b"C\x01x\x80\x81", 1, |count| count >= 3, &[b"C\x03xaa\x80\x81"]);
        check(b"C\x02xy\x80", 1, |count| count == 1, &[b"C\x01x\x80"]);
        check(b"\0\0\0\0NAME!", 3, |count| count == 1, &[b"\0\0\0\x01aNAME!", b"\0\0\0\x01NAMEa!"]);
        check(b"C1x", 1, |count| count == 2, &[]);
    }

    #[test]
    fn so_does_one_that_is_counted_in_digits() {
        assert_eq!(made(b"d3:abc1:xe"), [b"d5:abcaa1:xe".to_vec(), b"d3:abc3:xaae".to_vec()]);
        assert_eq!(made(b"9:abc"), Vec::<Vec<u8>>::new());
        assert_eq!(made(b"a 1 b"), Vec::<Vec<u8>>::new());
    }
}
