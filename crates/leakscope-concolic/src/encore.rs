//! Inputs in which a part comes twice: what an object is lost to is often
//! another of its kind, by a key that is given again or a command that is
//! repeated. They are tried for the runs that came furthest, before chance
//! finds them by crossing.

use crate::input::{Bounds, Input};

/// So many times what is made up otherwise may come of it.
const LONGER: usize = 2;

/// Parts of one text that are repeated, the last ones first: what is behind
/// them in the text was read when the marks were passed already.
const MOST_PARTS: usize = 6;

/// The input with one part twice, in every way.
pub fn encores(input: &Input, bounds: &Bounds) -> Vec<Input> {
    let stdin = repeated(&input.stdin, LONGER * bounds.stdin_bytes as usize)
        .map(|stdin| Input { stdin, ..input.clone() });
    let files = input.files.iter().flat_map(|(name, text)| {
        repeated(text, LONGER * bounds.file_bytes as usize).map(move |text| {
            let mut again = input.clone();
            again.files.insert(name.clone(), text);
            again
        })
    });
    let arguments = [1, 2].into_iter().flat_map(|length| {
        (0..input.args.len()).rev().filter_map(move |at| {
            let words = input.args.get(at..at + length)?.to_vec();
            let mut again = input.clone();
            again.args.splice(at..at, words);
            (again.args.len() <= bounds.args as usize).then_some(again)
        })
    });
    stdin.chain(files).chain(arguments).collect()
}

/// The text with one of its lines twice, or one of its words if it has no
/// lines. What is too much is left out at the end.
fn repeated(text: &[u8], most: usize) -> impl Iterator<Item = Vec<u8>> + use<> {
    let has_lines = text.contains(&b'\n');
    let ends = |byte: &u8| if has_lines { *byte == b'\n' } else { byte.is_ascii_whitespace() };
    let mut pieces: Vec<Vec<u8>> = text.split_inclusive(ends).map(<[u8]>::to_vec).collect();
    let between = if has_lines { b'\n' } else { b' ' };
    if let Some(last) = pieces.last_mut().filter(|last| !last.last().is_some_and(ends)) {
        last.push(between);
    }
    let most = most.max(text.len());
    (0..pieces.len()).rev().take(MOST_PARTS).filter_map(move |at| {
        let mut made = pieces[..=at].concat();
        made.extend_from_slice(&pieces[at]);
        for piece in &pieces[at + 1..] {
            if made.len() + piece.len() <= most {
                made.extend_from_slice(piece);
            }
        }
        (made.len() <= most).then_some(made)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_comes_twice() {
        let bounds = Bounds { stdin_bytes: 4, args: 4, ..Bounds::default() };
        let check = |stdin: &str, expected: &[&str]| {
            let input = Input { stdin: stdin.into(), ..Input::default() };
            let found: Vec<Vec<u8>> = encores(&input, &bounds).into_iter().map(|input| input.stdin).collect();
            assert_eq!(found, expected.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
        };
        check("", &[]);
        check("a\nb\n", &["a\nb\nb\n", "a\na\nb\n"]);
        check("a b", &["a b b ", "a a b "]);
        check("aaa\nb\nc\n", &["aaa\nb\nb\n", "aaa\naaa\n"]);
        check("aaaa\n", &[]);
    }

    #[test]
    fn options_come_twice_with_their_values() {
        let bounds = Bounds { args: 4, ..Bounds::default() };
        let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let input = Input { args: words(&["-k", "v"]), ..Input::default() };
        let found: Vec<Vec<Vec<u8>>> = encores(&input, &bounds).into_iter().map(|input| input.args).collect();
        let expected = [&["-k", "v", "v"] as &[&str], &["-k", "-k", "v"], &["-k", "v", "-k", "v"]];
        assert_eq!(found, expected.map(words));
    }
}
