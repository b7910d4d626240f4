//! Inputs that go on: behind what a run did comes each line that began with a word of the program's. A
//! program with states takes a command only behind those that lead there, and from where one run came
//! to, the next goes on.

use crate::input::{Bounds, Input};
use crate::parts::Text;

/// Lines and runs that are put together.
const MOST_LINES: usize = 16;
const MOST_RUNS: usize = 32;

/// So many times what is made up otherwise may come of it.
const LONGER: usize = 2;

/// A line behind a text of an input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Next {
    text: Text,
    line: Vec<u8>,
}

/// What runs that went new ways gave to go on from, and with.
#[derive(Debug, Default)]
pub struct Succession {
    lines: Vec<Vec<u8>>,
    runs: Vec<(Text, Input)>,
}

impl Succession {
    /// Takes in a run that went a new way: what is worth a try behind it, or behind those before. Texts count
    /// of which every line begins with a word that the program knows, or has one behind its first: a tag.
    pub fn add(&mut self, input: &Input, is_known: impl Fn(&[u8]) -> bool) -> Vec<(Next, Input)> {
        let mut found = Vec::new();
        for which in [Text::Stdin].into_iter().chain(input.files.keys().cloned().map(Text::File)) {
            let text = which.of(input).map(Vec::as_slice).unwrap_or_default();
            let lines = || text.split_inclusive(|&byte| byte == b'\n');
            let is_command = |line: &[u8]| command(line, &is_known).is_some();
            if text.is_empty() || self.runs.len() == MOST_RUNS || !lines().all(is_command) {
                continue;
            }
            for line in lines() {
                let shape = |line| (command(line, &is_known), words(line).count());
                if self.lines.len() < MOST_LINES && self.lines.iter().all(|known| shape(known) != shape(line))
                {
                    self.lines.push(line.to_vec());
                    let behind = |(text, run): &(Text, Input)| {
                        (Next { text: text.clone(), line: line.to_vec() }, run.clone())
                    };
                    found.extend(self.runs.iter().map(behind));
                }
            }
            let next = |line: &Vec<u8>| (Next { text: which.clone(), line: line.clone() }, input.clone());
            found.extend(self.lines.iter().map(next));
            self.runs.push((which, input.clone()));
        }
        found
    }
}

impl Next {
    /// The input with the line behind its text.
    pub fn behind(&self, input: &Input, bounds: &Bounds) -> Option<Input> {
        let mut made = self.text.of(input)?.clone();
        if made.last().is_some_and(|&byte| byte != b'\n') {
            made.push(b'\n');
        }
        made.extend_from_slice(&self.line);
        (made.len() <= LONGER * self.text.most(bounds)).then(|| self.text.with(input, made))
    }
}

/// The word of the program's that a line begins with, or has behind its first.
fn command(line: &[u8], is_known: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
    words(line).take(2).find(|word| is_known(word))
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_comes_behind_each_run() {
        let mut succession = Succession::default();
        let mut check = |stdin: &str, expected: &[&str]| {
            let input = Input { stdin: stdin.into(), ..Input::default() };
            let found = succession.add(&input, |word| [&b"open"[..], b"close"].contains(&word));
            let made = found.iter().filter_map(|(next, from)| next.behind(from, &Bounds::default()));
            let made: Vec<String> =
                made.map(|input| String::from_utf8_lossy(&input.stdin).into_owned()).collect();
            assert_eq!(made, expected, "{stdin:?}");
        };
        check("", &[]);
        check("open\naaa\n", &[]);
        check("open 1", &["open 1\nopen 1"]);
        check("close\n", &["open 1\nclose\n", "close\nopen 1", "close\nclose\n"]);
        check("open 2\nclose\n", &["open 2\nclose\nopen 1", "open 2\nclose\nclose\n"]);
        check("a aa open\n", &[]);
    }

    #[test]
    fn a_tag_may_stand_before_the_command() {
        let mut succession = Succession::default();
        let mut found = |stdin: &str| {
            let input = Input { stdin: stdin.into(), ..Input::default() };
            let found = succession.add(&input, |word| [&b"open"[..], b"close"].contains(&word));
            let made = found.iter().filter_map(|(next, from)| next.behind(from, &Bounds::default()));
            made.map(|input| String::from_utf8_lossy(&input.stdin).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("a open 1\n"), ["a open 1\na open 1\n"]);
        assert_eq!(found("b open 2\n"), ["b open 2\na open 1\n"]);
        assert_eq!(found("b close\n")[0], "a open 1\nb close\n");
    }
}
