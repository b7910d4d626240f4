//! Inputs with texts that the program compared theirs with: `key` where it
//! found `k`, or nothing between two brackets. A solver changes bytes, and no
//! longer word fits where a shorter one ends.

use crate::input::{Bounds, Input};

/// What a comparison of strings saw, and what it would have taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Compared {
    pub seen: Vec<u8>,
    pub wanted: Vec<u8>,
}

/// So many times what is made up otherwise may come of it.
const LONGER: usize = 2;

impl Compared {
    /// Whether the wanted text may have to take the place of the other as a whole: a solver finds
    /// bytes, but no more of them.
    pub fn differs_in_length(&self) -> bool {
        self.seen.len() != self.wanted.len()
    }
}

/// The input with the wanted text at each place where what was seen stands, the
/// likeliest first; nothing stands between any two marks.
pub fn with_text(text: &Compared, base: &Input, bounds: &Bounds) -> Vec<Input> {
    made(base, bounds, |found| places(found, &text.seen), &text.wanted)
}

/// The input with the text in place of any word, or between any two marks.
pub fn with_text_anywhere(wanted: &[u8], base: &Input, bounds: &Bounds) -> Vec<Input> {
    let anywhere = |text: &[u8]| {
        let mut places = words(text);
        places.extend(places_of_nothing(text));
        places
    };
    made(base, bounds, anywhere, wanted)
}

/// Bytes of a text that are one stage.
const STAGE: usize = 8;

/// About how far into the input what was seen stands: what a program compares its first word with, it may
/// compare the next with again.
pub fn stage(text: &Compared, input: &Input) -> usize {
    let first = |found: &[u8]| match text.seen.is_empty() {
        true => Some(found.len()),
        false => places(found, &text.seen).first().map(|&(from, _)| from),
    };
    let texts = [&input.stdin].into_iter().chain(input.files.values());
    let in_text = texts.filter(|text| !text.is_empty()).find_map(|text| Some(first(text)? / STAGE));
    in_text.or_else(|| input.args.iter().position(|argument| first(argument).is_some())).unwrap_or(0)
}

/// From where to where something stands.
pub type Place = (usize, usize);

fn made(base: &Input, bounds: &Bounds, places: impl Fn(&[u8]) -> Vec<Place>, wanted: &[u8]) -> Vec<Input> {
    let changed = |text: &[u8], most: usize| -> Vec<Vec<u8>> {
        let put = |(from, to): Place| [&text[..from], wanted, &text[to..]].concat();
        places(text).into_iter().map(put).filter(|made| made.len() <= LONGER * most).collect()
    };
    let mut inputs = Vec::new();
    for stdin in changed(&base.stdin, bounds.stdin_bytes as usize) {
        inputs.push(Input { stdin, ..base.clone() });
    }
    for (name, text) in &base.files {
        for text in changed(text, bounds.file_bytes as usize) {
            let mut input = base.clone();
            input.files.insert(name.clone(), text);
            inputs.push(input);
        }
    }
    for (index, argument) in base.args.iter().enumerate() {
        for argument in changed(argument, bounds.arg_bytes as usize) {
            let mut input = base.clone();
            input.args[index] = argument;
            inputs.push(input);
        }
    }
    for (name, value) in &base.env {
        for value in changed(value, bounds.arg_bytes as usize) {
            let mut input = base.clone();
            input.env.insert(name.clone(), value);
            inputs.push(input);
        }
    }
    inputs
}

pub fn places(text: &[u8], seen: &[u8]) -> Vec<Place> {
    if seen.is_empty() {
        return places_of_nothing(text);
    }
    let is_whole = |&(from, to): &Place| {
        let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        !is_word(from.checked_sub(1).and_then(|before| text.get(before))) && !is_word(text.get(to))
    };
    let alike = |is_alike: fn(&[u8], &[u8]) -> bool| -> Vec<usize> {
        let windows = text.windows(seen.len()).enumerate();
        windows.filter(|(_, window)| is_alike(window, seen)).map(|(from, _)| from).collect()
    };
    let mut all = alike(|a, b| a == b);
    if all.is_empty() {
        // The program may have made it of capitals or small letters.
        all = alike(<[u8]>::eq_ignore_ascii_case);
    }
    let (mut whole, parts): (Vec<Place>, Vec<Place>) =
        all.into_iter().map(|from| (from, from + seen.len())).partition(is_whole);
    whole.extend(parts);
    whole
}

/// Where a word could stand and none does: between marks, then behind a mark,
/// then where a line begins.
fn places_of_nothing(text: &[u8]) -> Vec<Place> {
    let rank = |at: usize| {
        let (before, behind) = (at.checked_sub(1).map(|before| text[before]), text.get(at).copied());
        match (before, behind) {
            (Some(before), _) if before.is_ascii_alphanumeric() => None,
            (_, Some(behind)) if behind.is_ascii_alphanumeric() => None,
            (Some(before), Some(behind)) if before.is_ascii_graphic() && behind.is_ascii_graphic() => Some(0),
            (Some(before), _) if before.is_ascii_graphic() => Some(1),
            _ => Some(2),
        }
    };
    let mut ranked: Vec<(u32, usize)> =
        (0..=text.len()).filter_map(|at| rank(at).map(|rank| (rank, at))).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, at)| (at, at)).collect()
}

fn words(text: &[u8]) -> Vec<Place> {
    let mut words = Vec::new();
    let mut from = None;
    for (at, byte) in text.iter().chain([&b' ']).enumerate() {
        match (byte.is_ascii_alphanumeric(), from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                words.push((start, at));
                from = None;
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(stdin: &str, seen: &str, wanted: &str) -> Vec<String> {
        let base = Input { stdin: stdin.into(), ..Input::default() };
        let text = Compared { seen: seen.into(), wanted: wanted.into() };
        let inputs = with_text(&text, &base, &Bounds::default());
        inputs.iter().map(|input| String::from_utf8_lossy(&input.stdin).into_owned()).collect()
    }

    #[test]
    fn a_longer_word_takes_the_place_of_a_shorter_one() {
        assert_eq!(made("ab=1\nb=2", "b", "port"), ["ab=1\nport=2", "aport=1\nb=2"]);
        assert_eq!(made("x", "y", "port"), Vec::<String>::new());
        assert_eq!(made("ab=1", "AB", "PORT"), ["PORT=1"]);
    }

    #[test]
    fn what_stands_behind_other_words_is_a_later_stage() {
        let check = |stdin: &str, args: &[&str], expected: usize| {
            let args = args.iter().map(|word| word.as_bytes().to_vec()).collect();
            let input = Input { stdin: stdin.into(), args, ..Input::default() };
            let text = Compared { seen: b"x".to_vec(), wanted: b"insert".to_vec() };
            assert_eq!(stage(&text, &input), expected);
        };
        check("x 1;", &[], 0);
        check("create table a(x);x 1;", &[], 1);
        check("create table a(b);x 1;", &[], 2);
        check("", &["a", "x"], 1);
        check("", &[], 0);
    }

    #[test]
    fn a_word_goes_where_none_is() {
        assert_eq!(made("[]", "", "server")[0], "[server]");
        assert_eq!(made("a=", "", "on"), ["a=on"]);
    }

    #[test]
    fn a_word_goes_anywhere() {
        let base = Input { args: vec![b"a b".to_vec()], ..Input::default() };
        let inputs = with_text_anywhere(b"xy", &base, &Bounds::default());
        let texts: Vec<_> = inputs.into_iter().map(|input| [input.stdin, input.args[0].clone()]).collect();
        let expected = [["xy", "a b"], ["", "xy b"], ["", "a xy"]];
        assert_eq!(texts, expected.map(|texts| texts.map(|text| text.as_bytes().to_vec())));
    }
}
