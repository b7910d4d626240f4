//! Texts that the program put together from several of its input, and compared as one: `a.b` of a
//! section `[a]` and a key `b`, which is to be `net.port`. They stand nowhere in the input as a whole,
//! but their pieces do.

use crate::input::{Bounds, Input};
use crate::parts::Text;
use crate::texts::{Compared, Place, places};

/// More pieces are not looked at.
const MOST_PIECES: usize = 4;

/// So many times what is made up otherwise may come of it.
const LONGER: usize = 2;

/// The pieces of both texts in order, by a sign that stands in both equally often.
fn pieces(text: &Compared) -> Option<Vec<Compared>> {
    let signs = text.wanted.iter().copied().filter(u8::is_ascii_punctuation);
    let split = |of: &[u8], sign: u8| -> Vec<Vec<u8>> {
        of.split(|&byte| byte == sign).map(<[u8]>::to_vec).collect()
    };
    let mut ways = signs.map(|sign| (split(&text.seen, sign), split(&text.wanted, sign)));
    let fits = |(seen, wanted): &(Vec<Vec<u8>>, Vec<Vec<u8>>)| {
        seen.len() == wanted.len() && seen.len() <= MOST_PIECES && seen.iter().all(|seen| !seen.is_empty())
    };
    let (seen, wanted) = ways.find(fits)?;
    Some(seen.into_iter().zip(wanted).map(|(seen, wanted)| Compared { seen, wanted }).collect())
}

/// The pieces with where they stand in a text, one behind the other; some may stand elsewhere, or be
/// the program's own.
fn found(text: &[u8], pieces: &[Compared]) -> Vec<(Place, Vec<u8>)> {
    let mut from = 0;
    let mut found = Vec::new();
    for piece in pieces {
        let all = places(text, &piece.seen);
        if let Some(&place) = all.iter().find(|place| place.0 >= from) {
            from = place.1;
            found.push((place, piece.wanted.clone()));
        }
    }
    found
}

/// The input with the wanted pieces in place of those that were seen.
pub fn with_pieces(text: &Compared, base: &Input, bounds: &Bounds) -> Vec<Input> {
    made(text, base, bounds, |text, found| {
        let all = (0, text.len());
        replaced(text, all, found)
    })
}

/// The input with the lines of the seen pieces again behind themselves, with the wanted ones in them.
pub fn with_pieces_beside(text: &Compared, base: &Input, bounds: &Bounds) -> Vec<Input> {
    made(text, base, bounds, |text, found| {
        let is_new = |(place, wanted): &&(Place, Vec<u8>)| text[place.0..place.1] != **wanted;
        // What is the same in both need not come again.
        let new: Vec<(Place, Vec<u8>)> = found.iter().filter(is_new).cloned().collect();
        let (first, last) = (new.first()?.0.0, new.last()?.0.1);
        let is_end = |byte: &u8| *byte == b'\n';
        let start = text[..first].iter().rposition(is_end).map_or(0, |end| end + 1);
        let end = last + text[last..].iter().position(is_end)?;
        let again = replaced(text, (start, end), &new)?;
        Some([&text[..end], b"\n", &again, &text[end..]].concat())
    })
}

/// A part of a text with other pieces in it, if that changes anything.
fn replaced(text: &[u8], (mut at, end): Place, found: &[(Place, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut made = Vec::new();
    let start = at;
    for ((from, to), wanted) in found {
        made.extend_from_slice(&text[at..*from]);
        made.extend_from_slice(wanted);
        at = *to;
    }
    made.extend_from_slice(&text[at..end]);
    (made != text[start..end]).then_some(made)
}

/// What `change` makes of each text of the input in which pieces stand.
fn made(
    text: &Compared,
    base: &Input,
    bounds: &Bounds,
    change: impl Fn(&[u8], &[(Place, Vec<u8>)]) -> Option<Vec<u8>>,
) -> Vec<Input> {
    let Some(pieces) = pieces(text) else { return Vec::new() };
    let texts = [Text::Stdin].into_iter().chain(base.files.keys().cloned().map(Text::File));
    let with = |which: Text| {
        let old = which.of(base)?;
        let new = change(old, &found(old, &pieces))?;
        (new.len() <= LONGER * which.most(bounds)).then(|| which.with(base, new))
    };
    let mut inputs: Vec<Input> = texts.filter_map(with).collect();
    // Of arguments, each piece may be another one.
    let mut args = base.args.clone();
    let mut from = 0;
    for piece in &pieces {
        let stands = |argument: &Vec<u8>| !places(argument, &piece.seen).is_empty();
        let Some(at) = (from..args.len()).find(|&at| stands(&args[at])) else { continue };
        let (start, end) = places(&args[at], &piece.seen)[0];
        args[at].splice(start..end, piece.wanted.iter().copied());
        from = at;
    }
    if args != base.args {
        inputs.push(Input { args, ..base.clone() });
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seen: &str, wanted: &str) -> Compared {
        Compared { seen: seen.into(), wanted: wanted.into() }
    }

    fn texts(inputs: Vec<Input>) -> Vec<String> {
        inputs.iter().map(|input| String::from_utf8_lossy(&input.stdin).into_owned()).collect()
    }

    #[test]
    fn pieces_take_the_places_of_others() {
        let check = |stdin: &str, seen: &str, wanted: &str, expected: &[&str]| {
            let base = Input { stdin: stdin.into(), ..Input::default() };
            let made = with_pieces(&text(seen, wanted), &base, &Bounds::default());
            assert_eq!(texts(made), expected);
        };
        check("[a]\nb=1\n", "a.b", "net.port", &["[net]\nport=1\n"]);
        check("[a]\na=1\n", "a.a", "net.port", &["[net]\nport=1\n"]);
        check("b=1\n", "main.b", "net.port", &["port=1\n"]);
        check("[net]\nb=1\n", "net.b", "net.port", &["[net]\nport=1\n"]);
        check("[a]\nb=1\n", "ab", "net.port", &[]);
        check("[a]\nb=1\n", ".b", "net.port", &[]);
        check("x", "a.b", "net.port", &[]);
    }

    #[test]
    fn pieces_come_beside_others() {
        let check = |seen: &str, wanted: &str, expected: &str| {
            let base = Input { stdin: b"[net]\nport=1\n".to_vec(), ..Input::default() };
            let made = with_pieces_beside(&text(seen, wanted), &base, &Bounds::default());
            assert_eq!(texts(made), [expected]);
        };
        check("net.port", "net.host", "[net]\nport=1\nhost=1\n");
        check("net.port", "log.file", "[net]\nport=1\n[log]\nfile=1\n");
    }

    #[test]
    fn pieces_are_arguments() {
        let input = |args: &str| Input {
            args: args.split(' ').map(|word| word.as_bytes().to_vec()).collect(),
            ..Input::default()
        };
        let made = with_pieces(&text("a:1", "root:22"), &input("-u a 1"), &Bounds::default());
        assert_eq!(made, [input("-u root 22")]);
    }
}
