//! Inputs with a word that the program knows at the beginning of a line, and so many words behind it:
//! `move 1 1 1` where a line has two words. How many a command takes, a program says by what it does
//! with too few, and a solver adds none. Where the program looks at the beginning of a line only (`total `,
//! `To:`), the words come behind that.

use crate::input::{Bounds, Input};
use crate::parts::Text;
use crate::texts::Compared;

/// So many words come behind the first at most.
const MOST_OPERANDS: usize = 4;

/// Stands for any name and any number.
const OPERAND: &[u8] = b" 1";

/// The input with the wanted text in place of the first line that begins with what was seen, alone and
/// with words behind it. It is the last line: others may be what the program refuses.
pub fn with_operands(text: &Compared, base: &Input, bounds: &Bounds) -> Vec<Input> {
    let word = text.wanted.trim_ascii_end();
    let is_begun = word.len() < text.wanted.len() || word.ends_with(b":") || word.ends_with(b"=");
    let is_word = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_graphic);
    if text.seen.is_empty() || !is_begun && !is_word(&text.seen) || !is_begun && !is_word(word) {
        return Vec::new();
    }
    let mut inputs = Vec::new();
    for which in [Text::Stdin].into_iter().chain(base.files.keys().cloned().map(Text::File)) {
        let before = which.of(base).and_then(|found| first_line(found, &text.seen, is_begun));
        let Some(before) = before else { continue };
        let from = usize::from(is_begun);
        for count in from..=MOST_OPERANDS {
            // Behind `To:` the first one comes at once.
            let gap = usize::from(count > 0 && word.len() == text.wanted.len() && is_begun);
            let operands = &OPERAND.repeat(count)[gap..];
            let made = [before, word, operands, b"\n"].concat();
            if made.len() <= which.most(bounds) {
                inputs.push(which.with(base, made));
            }
        }
    }
    inputs
}

/// What stands before the first line that begins with a word, or only so, if there is such a line.
fn first_line<'t>(text: &'t [u8], word: &[u8], is_begun: bool) -> Option<&'t [u8]> {
    let mut at = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let end = line.strip_prefix(word).map(|rest| rest.first());
        if end.is_some_and(|next| is_begun || next.is_none_or(u8::is_ascii_whitespace)) {
            return Some(&text[..at]);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_operands() {
        let made = |stdin: &str, seen: &str, wanted: &str, expected: &[&str]| {
            let base = Input { stdin: stdin.into(), ..Input::default() };
            let text = Compared { seen: seen.into(), wanted: wanted.into() };
            let made = with_operands(&text, &base, &Bounds::default());
            let made: Vec<String> =
                made.iter().map(|input| String::from_utf8_lossy(&input.stdin).into_owned()).collect();
            assert_eq!(made, expected);
        };
        let check = |stdin: &str, seen: &str, expected: &[&str]| made(stdin, seen, "move", expected);
        made("aaaa 1\n", "aaa", "go ", &["go 1\n", "go 1 1\n", "go 1 1 1\n", "go 1 1 1 1\n"]);
        made("aaaa 1\n", "aaa", "To:", &["To:1\n", "To:1 1\n", "To:1 1 1\n", "To:1 1 1 1\n"]);
        check("aa 1\naa 1\n", "aa", &["move\n", "move 1\n", "move 1 1\n", "move 1 1 1\n", "move 1 1 1 1\n"]);
        check(
            "b\naa",
            "aa",
            &["b\nmove\n", "b\nmove 1\n", "b\nmove 1 1\n", "b\nmove 1 1 1\n", "b\nmove 1 1 1 1\n"],
        );
        check("b=aa\n", "aa", &[]);
        check("aab\n", "aa", &[]);
        check("", "", &[]);
    }
}
