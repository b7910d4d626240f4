//! Inputs in which a part comes twice: what an object is lost to is often
//! another of its kind, by a key that is given again or a command that is
//! repeated. They are tried for the runs that came furthest, before chance
//! finds them by crossing.

use crate::input::{Bounds, Input};
use crate::parts::Parts;

/// So many times what is made up otherwise may come of it.
const LONGER: usize = 2;

/// Parts of one text that are repeated, the last ones first: what is behind
/// them in the text was read when the marks were passed already.
const MOST_PARTS: usize = 6;

/// The input with one part twice, in every way: one that shows in the text, or one
/// that its run read as such.
pub fn encores(input: &Input, parts: &Parts, bounds: &Bounds) -> Vec<Input> {
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
            (again.args.len() <= LONGER * bounds.args as usize).then_some(again)
        })
    });
    stdin.chain(files).chain(arguments).chain(read_again(input, parts, bounds)).collect()
}

/// The input with a part twice that its run read as one.
fn read_again(input: &Input, parts: &Parts, bounds: &Bounds) -> impl Iterator<Item = Input> {
    parts.texts().flat_map(move |which| {
        let (head, rest) = which.of(input).and_then(|text| parts.split(which, text)).unwrap_or_default();
        let most = LONGER * which.most(bounds);
        (0..rest.len()).rev().take(MOST_PARTS).filter_map(move |at| {
            let mut made = head.to_vec();
            made.extend(rest[..=at].concat());
            made.extend_from_slice(rest[at]);
            let fits = made.len() <= most;
            made.extend(rest[at + 1..].concat());
            made.truncate(most);
            fits.then(|| which.with(input, made))
        })
    })
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
    use crate::parts::Text;

    #[test]
    fn a_part_comes_twice() {
        let bounds = Bounds { stdin_bytes: 4, args: 4, ..Bounds::default() };
        let check = |stdin: &str, expected: &[&str]| {
            let input = Input { stdin: stdin.into(), ..Input::default() };
            let found: Vec<Vec<u8>> =
                encores(&input, &Parts::default(), &bounds).into_iter().map(|input| input.stdin).collect();
            assert_eq!(found, expected.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
        };
        check("", &[]);
        check("a\nb\n", &["a\nb\nb\n", "a\na\nb\n"]);
        check("a b", &["a b b ", "a a b "]);
        check("aaa\nb\nc\n", &["aaa\nb\nb\n", "aaa\naaa\n"]);
        check("aaaa\n", &[]);
    }

    #[test]
    fn a_message_comes_twice() {
        let bounds = Bounds { stdin_bytes: 4, ..Bounds::default() };
        let input = Input { stdin: b"habc".to_vec(), ..Input::default() };
        let found = encores(&input, &Parts::at(Text::Stdin, &[1, 3]), &bounds);
        let found: Vec<Vec<u8>> = found.into_iter().map(|input| input.stdin).collect();
        assert_eq!(found, [&b"habcc"[..], b"hababc"]);
    }

    #[test]
    fn options_come_twice_with_their_values() {
        let bounds = Bounds { args: 4, ..Bounds::default() };
        let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let input = Input { args: words(&["-k", "v"]), ..Input::default() };
        let found: Vec<Vec<Vec<u8>>> =
            encores(&input, &Parts::default(), &bounds).into_iter().map(|input| input.args).collect();
        let expected = [&["-k", "v", "v"] as &[&str], &["-k", "-k", "v"], &["-k", "v", "-k", "v"]];
        assert_eq!(found, expected.map(words));
    }
}
