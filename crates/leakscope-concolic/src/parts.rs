//! The parts of a text as the program read them: messages of a protocol,
//! records of a file, steps of a machine. Lines and words show in the text
//! itself, these only in what was decided: where the program comes again to a
//! place that looks at the first byte nobody has looked at, a part begins.

use std::collections::{BTreeMap, BTreeSet};

use leakscope_wire::symbolic::source;

use crate::input::{Bounds, Input, Names, Part, part};
use crate::places::PlaceId;
use crate::trace::Trace;

/// A text of the input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Text {
    Stdin,
    File(String),
    Argument(usize),
}

impl Text {
    pub fn of<'i>(&self, input: &'i Input) -> Option<&'i Vec<u8>> {
        match self {
            Text::Stdin => Some(&input.stdin),
            Text::File(name) => input.files.get(name),
            Text::Argument(number) => input.args.get(*number),
        }
    }

    /// The input with another text in its place; arguments end at a zero.
    pub fn with(&self, input: &Input, text: Vec<u8>) -> Input {
        let mut input = input.clone();
        match self {
            Text::Stdin => input.stdin = text,
            Text::File(name) => drop(input.files.insert(name.clone(), text)),
            Text::Argument(number) => {
                if let Some(argument) = input.args.get_mut(*number) {
                    *argument = text.into_iter().take_while(|&byte| byte != 0).collect();
                }
            }
        }
        input
    }

    /// How long it may get.
    pub fn most(&self, bounds: &Bounds) -> usize {
        let most = match self {
            Text::Stdin => bounds.stdin_bytes,
            Text::File(_) => bounds.file_bytes,
            Text::Argument(_) => bounds.arg_bytes,
        };
        most as usize
    }
}

/// Where parts begin in each text that was looked at, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts(BTreeMap<Text, Vec<usize>>);

/// Shorter ones are characters, which loops look at one by one.
const SHORTEST: usize = 2;

/// What one text has shown so far.
#[derive(Default)]
struct Seen {
    /// Bytes that were looked at, and where they end.
    bytes: BTreeSet<usize>,
    end: usize,
    /// The first new byte at each place that came to one, as often as it did, with where the bytes ended then.
    begins: BTreeMap<(PlaceId, PlaceId), Vec<(usize, usize)>>,
}

impl Parts {
    #[cfg(test)]
    pub fn at(text: Text, begins: &[usize]) -> Parts {
        Parts([(text, begins.to_vec())].into())
    }

    pub fn of(trace: &Trace) -> Parts {
        let mut seen: BTreeMap<Text, Seen> = BTreeMap::new();
        for decision in &trace.decisions {
            let Some(&(_, term)) = decision.others.first() else { continue };
            let mut bytes: BTreeMap<Text, (usize, usize)> = BTreeMap::new();
            for (id, _) in trace.pool.inputs(term) {
                let Some((text, at)) = part(id).and_then(|part| text_of(part, &trace.names)) else {
                    continue;
                };
                let seen = seen.entry(text.clone()).or_default();
                seen.bytes.insert(at);
                if at >= seen.end {
                    let (first, last) = bytes.entry(text).or_insert((at, at));
                    (*first, *last) = ((*first).min(at), (*last).max(at));
                }
            }
            for (text, (first, last)) in bytes {
                let seen = seen.entry(text).or_default();
                seen.begins.entry((decision.place, decision.call)).or_default().push((first, seen.end));
                seen.end = last + 1;
            }
        }
        // What was read in one go may come again as a whole.
        let begins = |(text, Seen { bytes, begins, .. }): (Text, Seen)| {
            // What is before the first byte of a part and is looked at later belongs to it: a kind after its length.
            let begin =
                |(first, end): (usize, usize)| bytes.range(end..first).next().copied().unwrap_or(first);
            let lists = begins.into_values().map(|list| list.into_iter().map(begin).collect());
            (text, outermost(lists).unwrap_or_else(|| vec![0]))
        };
        Parts(seen.into_iter().map(begins).collect())
    }

    /// A text in its parts, with what is before the first in front; `None` if it was not looked at.
    pub fn split<'t>(&self, which: &Text, text: &'t [u8]) -> Option<(&'t [u8], Vec<&'t [u8]>)> {
        let begins =
            self.0.get(which).filter(|begins| begins.last().is_some_and(|&last| last < text.len()))?;
        let ends = begins[1..].iter().copied().chain([text.len()]);
        let parts = begins.iter().zip(ends).map(|(&begin, end)| &text[begin..end]).collect();
        Some((&text[..begins[0]], parts))
    }

    /// The texts that were looked at.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.0.keys()
    }
}

/// Of all places that parts may begin at, that which comes first.
fn outermost(lists: impl Iterator<Item = Vec<usize>>) -> Option<Vec<usize>> {
    let is_of_parts =
        |begins: &Vec<usize>| begins.len() > 1 && begins.windows(2).all(|pair| pair[1] - pair[0] >= SHORTEST);
    lists.filter(is_of_parts).min_by_key(|begins| (begins[0], std::cmp::Reverse(begins.len())))
}

/// The text that a byte of the input is in, and where.
pub fn text_of(part: Part, names: &Names) -> Option<(Text, usize)> {
    match part {
        Part::Stdin(at) => Some((Text::Stdin, at)),
        Part::File(number, at) => Some((Text::File(names.get(&(source::FILE + number))?.clone()), at)),
        Part::Argument(number, at) => Some((Text::Argument(number), at)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_where_the_first_of_them_does() {
        let check = |lists: &[&[usize]], expected: Option<&[usize]>| {
            let lists = lists.iter().map(|list| list.to_vec());
            assert_eq!(outermost(lists), expected.map(<[usize]>::to_vec));
        };
        check(&[], None);
        check(&[&[0], &[1, 2, 3]], None);
        check(&[&[0], &[4, 13], &[4, 13, 22], &[8, 17], &[5, 6, 7]], Some(&[4, 13, 22]));
    }

    #[test]
    fn a_text_is_split_where_they_begin() {
        let parts = Parts::at(Text::Stdin, &[1, 3]);
        let (head, rest) = parts.split(&Text::Stdin, b"habcd").expect("parts");
        assert_eq!((head, &rest[..]), (&b"h"[..], &[&b"ab"[..], b"cd"][..]));
        assert_eq!(parts.split(&Text::Stdin, b"hab"), None);
        assert_eq!(parts.split(&Text::Argument(0), b"habcd"), None);
    }
}
