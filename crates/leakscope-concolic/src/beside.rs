//! Inputs in which a word that the program knows stands beside another one, not in its place: the
//! line, member or argument that one is in comes again behind itself with the other in it.
//! `host=a` becomes `host=a` and `port=a`, `"role":1` becomes `"role":1,"level":1`, and `open x`
//! is followed by `close x`. What was reached by the first is kept, and what stands with it is
//! the same in both.

use crate::input::{Bounds, Input};
use crate::parts::Text;
use crate::texts::{Compared, Place, places};

/// So many times what is made up otherwise may come of it.
const LONGER: usize = 2;

/// Stand between members of a list.
const BETWEEN: &[u8] = b",;&| \t\n";

/// The input with the wanted text beside each place where what was seen stands, lines before
/// members of lists before arguments.
pub fn with_text_beside(text: &Compared, base: &Input, bounds: &Bounds) -> Vec<Input> {
    if text.seen.is_empty() {
        return Vec::new();
    }
    let mut inputs = Vec::new();
    for which in [Text::Stdin].into_iter().chain(base.files.keys().cloned().map(Text::File)) {
        let Some(found) = which.of(base) else { continue };
        let all = places(found, &text.seen);
        let lines = all.iter().filter(|_| found.contains(&b'\n')).map(|&place| line(found, place));
        let members = all.iter().map(|&place| member(found, place));
        for (place, piece) in all.iter().zip(lines).chain(all.iter().zip(members)) {
            let made = beside(found, *place, piece, &text.wanted);
            if made.len() <= LONGER * which.most(bounds) {
                inputs.push(which.with(base, made));
            }
        }
    }
    inputs.extend(arguments_beside(text, base, bounds));
    inputs.dedup();
    inputs
}

/// An argument again, alone and with the one behind it.
fn arguments_beside(text: &Compared, base: &Input, bounds: &Bounds) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (at, argument) in base.args.iter().enumerate() {
        let Some(&(from, to)) = places(argument, &text.seen).first() else { continue };
        let changed = [&argument[..from], &text.wanted, &argument[to..]].concat();
        for behind in [2, 1] {
            let Some(piece) = base.args.get(at..at + behind) else { continue };
            let again = [changed.clone()].into_iter().chain(piece[1..].iter().cloned());
            let mut input = base.clone();
            input.args.splice(at + behind..at + behind, again);
            if input.args.len() <= bounds.args as usize {
                inputs.push(input);
            }
        }
    }
    inputs
}

/// The piece again behind itself, with the wanted text at the place.
fn beside(text: &[u8], (from, to): Place, (start, end): Place, wanted: &[u8]) -> Vec<u8> {
    let between = |at: Option<&u8>| at.copied().filter(|byte| BETWEEN.contains(byte));
    let before = start.checked_sub(1).and_then(|before| text.get(before));
    let between = between(text.get(end)).or(between(before)).unwrap_or(b',');
    [&text[..end], &[between], &text[start..from], wanted, &text[to..end], &text[end..]].concat()
}

/// The line around a place, without its end.
fn line(text: &[u8], (from, to): Place) -> Place {
    let is_end = |byte: &u8| *byte == b'\n';
    let start = text[..from].iter().rposition(is_end).map_or(0, |end| end + 1);
    (start, text[to..].iter().position(is_end).map_or(text.len(), |length| to + length))
}

/// What is between separators or brackets around a place; brackets behind it are part of it as
/// a whole.
fn member(text: &[u8], (from, to): Place) -> Place {
    let opens = |byte: &u8| b"{[(".contains(byte);
    let is_edge = |byte: &u8| BETWEEN.contains(byte) || opens(byte) || b"}])".contains(byte);
    let start = text[..from].iter().rposition(is_edge).map_or(0, |edge| edge + 1);
    let mut depth = 0;
    let ends = text[to..].iter().position(|byte| {
        if depth == 0 && is_edge(byte) && !opens(byte) {
            return true;
        }
        depth += i32::from(opens(byte)) - i32::from(b"}])".contains(byte));
        false
    });
    (start, ends.map_or(text.len(), |length| to + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stdin: &str, seen: &str, wanted: &str, expected: &[&str]) {
        let base = Input { stdin: stdin.into(), ..Input::default() };
        let text = Compared { seen: seen.into(), wanted: wanted.into() };
        let made = with_text_beside(&text, &base, &Bounds::default());
        let made: Vec<String> =
            made.iter().map(|input| String::from_utf8_lossy(&input.stdin).into_owned()).collect();
        assert_eq!(made, expected);
    }

    #[test]
    fn a_word_comes_beside_another() {
        check("[s]\nhost=a\n", "host", "port", &["[s]\nhost=a\nport=a\n"]);
        check("{\"role\":1}", "role", "level", &["{\"role\":1,\"level\":1}"]);
        check("{\"a\":{\"b\":1}}", "a", "cd", &["{\"a\":{\"b\":1},\"cd\":{\"b\":1}}"]);
        check("open x", "open", "close", &["open close x"]);
        check("open x\n", "open", "close", &["open x\nclose x\n", "open close x\n"]);
        check("x", "y", "zz", &[]);
        check("x", "", "zz", &[]);
    }

    #[test]
    fn arguments_come_beside_others() {
        let words = |text: &str| text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
        let input = |args: &str| Input { args: words(args), ..Input::default() };
        let text = Compared { seen: b"--from".to_vec(), wanted: b"--to".to_vec() };
        let made = with_text_beside(&text, &input("--from 1"), &Bounds::default());
        assert_eq!(made, [input("--from 1 --to 1"), input("--from --to 1")]);
    }
}
