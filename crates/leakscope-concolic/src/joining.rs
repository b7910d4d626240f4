//! Inputs that do what one run did and then what another did: a run came to a
//! branch that reads a flag, and another one set it. In one word without spaces, each byte
//! may be a command, and the beginning of what the second did too much.

use crate::input::{Bounds, Input};
use crate::parts::{Parts, Text};

/// So many times what is made up otherwise may come of it.
const LONGER: usize = 2;

/// So many bytes of the second text are left out at most.
const MOST_LEFT_OUT: usize = 3;

/// The first input, then the second, within the bounds: whole lines, and the
/// arguments of both; the arguments alone, for files that are read twice;
/// standard input before a file, as `-`; and the parts that both were read in.
pub fn joined(
    (first, first_parts): &(&Input, Parts),
    (second, second_parts): &(&Input, Parts),
    bounds: &Bounds,
) -> Vec<Input> {
    let in_parts = parts_of_both((first, first_parts), (second, second_parts), bounds);
    let in_bytes = bytes_of_both(first, second, bounds);
    of_lines(first, second, bounds).into_iter().chain(in_parts).chain(in_bytes).collect()
}

/// The first text, and the second without its first bytes.
fn bytes_of_both(first: &Input, second: &Input, bounds: &Bounds) -> Vec<Input> {
    let mut made = Vec::new();
    for which in [Text::Stdin].into_iter().chain(first.files.keys().cloned().map(Text::File)) {
        let (Some(text), Some(other)) = (which.of(first), which.of(second)) else { continue };
        let is_plain = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_graphic);
        if !is_plain(text) || !is_plain(other) || which.most(bounds) == 0 {
            continue;
        }
        for start in (1..other.len()).take(MOST_LEFT_OUT) {
            let both = [text, &other[start..]].concat();
            if both.len() <= LONGER * which.most(bounds) {
                made.push(which.with(first, both));
            }
        }
    }
    made
}

/// The parts of the first input, then those of the second; and without the last part of the
/// first, which most often is what the program refused.
fn parts_of_both(
    (first, first_parts): (&Input, &Parts),
    (second, second_parts): (&Input, &Parts),
    bounds: &Bounds,
) -> Vec<Input> {
    let mut made = Vec::new();
    for which in first_parts.texts() {
        let (Some(text), Some(other)) = (which.of(first), which.of(second)) else { continue };
        let Some((head, parts)) = first_parts.split(which, text) else { continue };
        let behind = match second_parts.split(which, other) {
            Some((_, behind)) => behind.concat(),
            None => other.clone(),
        };
        let last = parts.last().map_or(0, |last| last.len());
        for kept in [&text[..text.len() - last], text] {
            let both = [kept, &behind].concat();
            if kept.len() > head.len() && both.len() <= LONGER * which.most(bounds) {
                made.push(which.with(first, both));
            }
        }
    }
    made
}

fn of_lines(first: &Input, second: &Input, bounds: &Bounds) -> Vec<Input> {
    let Some(both) = both(first, second, bounds) else { return Vec::new() };
    let has_arguments = bounds.args > 0 && !first.args.is_empty() && !second.args.is_empty();
    let of_first = has_arguments.then(|| Input { args: both.args.clone(), ..first.clone() });
    let reads_file = bounds.args > 0
        && second.args.iter().any(|arg| second.files.keys().any(|name| name.as_bytes() == arg));
    let before_file = (reads_file && !first.stdin.is_empty()).then(|| {
        let mut args = both.args.clone();
        args.insert(first.args.len(), b"-".to_vec());
        Input { args, stdin: first.stdin.clone(), files: second.files.clone(), ..both.clone() }
    });
    let before_file = before_file.filter(|input| input.args.len() <= bounds.args as usize);
    [both].into_iter().chain(of_first).chain(before_file).collect()
}

fn both(first: &Input, second: &Input, bounds: &Bounds) -> Option<Input> {
    let mut input = second.clone();
    if bounds.args > 0 {
        input.args.splice(0..0, first.args.iter().cloned());
    }
    if input.args.len() > (bounds.args as usize).max(second.args.len()) {
        return None;
    }
    input.stdin = texts(&first.stdin, &second.stdin, bounds.stdin_bytes as usize);
    for (name, text) in &first.files {
        let other = second.files.get(name).map(Vec::as_slice).unwrap_or_default();
        input.files.insert(name.clone(), texts(text, other, bounds.file_bytes as usize));
    }
    for (name, value) in &first.env {
        input.env.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Some(input)
}

/// The lines of both, as far as there is room.
fn texts(first: &[u8], second: &[u8], most: usize) -> Vec<u8> {
    if first.is_empty() || second.is_empty() {
        return [first, second].concat();
    }
    let most = most.max(first.len()).max(second.len());
    let mut text = Vec::new();
    for line in [first, second].into_iter().flat_map(|text| text.split_inclusive(|&byte| byte == b'\n')) {
        if text.last().is_some_and(|&byte| byte != b'\n') {
            text.push(b'\n');
        }
        if text.len() + line.len() <= most {
            text.extend_from_slice(line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_arguments_of_both() {
        let words = |text: &str| text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
        let input =
            |args: &str, stdin: &str| Input { args: words(args), stdin: stdin.into(), ..Input::default() };
        let check = |first: Input, second: Input, expected: Vec<Input>| {
            let bounds = Bounds { args: 3, stdin_bytes: 6, ..Bounds::default() };
            let none = Parts::default;
            assert_eq!(joined(&(&first, none()), &(&second, none()), &bounds), expected);
        };
        check(input("-a", ""), input("-b 1", "x"), vec![input("-a -b 1", "x"), input("-a -b 1", "")]);
        check(input("-a 1", ""), input("-b 1", ""), Vec::new());
        let files: std::collections::BTreeMap<_, _> = [("A".to_owned(), b"y".to_vec())].into();
        let with_file = |args: &str, stdin: &str| Input { files: files.clone(), ..input(args, stdin) };
        let expected = [with_file("-a A", "x"), input("-a A", "x"), with_file("-a - A", "x")];
        check(input("-a", "x"), with_file("A", ""), expected.to_vec());
        check(input("", "a\n"), input("", "b\n"), vec![input("", "a\nb\n")]);
        check(input("", "a"), input("", "b\nccc\nd"), vec![input("", "a\nb\nd")]);
    }

    #[test]
    fn messages_of_both() {
        let input = |stdin: &str| Input { stdin: stdin.into(), ..Input::default() };
        let (first, second) = (input("hab!!"), input("hcd?"));
        let parts = |begins: &[usize]| Parts::at(Text::Stdin, begins);
        let bounds = Bounds { stdin_bytes: 5, ..Bounds::default() };
        let found = joined(&(&first, parts(&[1, 3])), &(&second, parts(&[1, 3])), &bounds);
        assert!([input("habcd?"), input("hab!!cd?")].iter().all(|both| found.contains(both)));
        let found = joined(&(&first, parts(&[0])), &(&second, Parts::default()), &bounds);
        assert!(found.contains(&input("hab!!hcd?")));
    }

    #[test]
    fn bytes_of_both() {
        let input = |stdin: &str| Input { stdin: stdin.into(), ..Input::default() };
        let none = Parts::default;
        let found = joined(&(&input("b.!"), none()), &(&input("!!@"), none()), &Bounds::default());
        assert!(found.contains(&input("b.!!@")));
    }
}
