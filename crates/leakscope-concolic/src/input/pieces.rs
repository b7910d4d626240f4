//! Words and numbers of an input that are too long or too short: a solver
//! changes bytes, and never how many there are before what follows.

use std::ops::Range;

use leakscope_solve::{InputId, Model};
use leakscope_wire::symbolic::source;

use super::{Input, Names, Part, part};

/// Numbers are made so long: four digits and some, then as long as numbers get.
const LENGTHS: [usize; 2] = [5, 10];

impl Input {
    /// The same, where a word that the model ends with a zero is cut there:
    /// what follows the word stays.
    pub fn with_words(&self, model: &Model, names: &Names) -> Option<Input> {
        let ended = |(&id, &value): (&InputId, &u64)| match part(id)? {
            found @ (Part::Stdin(_) | Part::File(..) | Part::Argument(..) | Part::Variable(..)) => {
                let before = self.value(id, names) as u8;
                (value == 0 && before != 0).then_some((found, before))
            }
            _ => None,
        };
        let ends: Vec<(Part, u8)> = model.iter().filter_map(ended).collect();
        let mut input = (!ends.is_empty()).then(|| self.filled(model, names))?;
        // From the last one on, so that places stay what they are.
        for (end, before) in ends.into_iter().rev() {
            let has_lines = matches!(end, Part::Stdin(_) | Part::File(..));
            let Some((text, at)) = input.text(end, names).filter(|(text, at)| *at < text.len()) else {
                continue;
            };
            text[at] = before;
            let rest = text[at..].iter().position(|byte| !byte.is_ascii_alphanumeric());
            let gone = rest.unwrap_or(text.len() - at);
            text.splice(at..at + gone, (has_lines && rest.is_none()).then_some(b'\n'));
        }
        input.end_at_zeros();
        Some(input)
    }

    /// The text that a byte is of, and its place there.
    fn text(&mut self, part: Part, names: &Names) -> Option<(&mut Vec<u8>, usize)> {
        match part {
            Part::Stdin(at) => Some((&mut self.stdin, at)),
            Part::File(number, at) => Some((self.files.get_mut(names.get(&(source::FILE + number))?)?, at)),
            Part::Argument(number, at) => Some((self.args.get_mut(number)?, at)),
            Part::Variable(number, at) => {
                Some((self.env.get_mut(names.get(&(source::VARIABLE + number))?)?, at))
            }
            _ => None,
        }
    }

    /// The same with more digits before a byte that is one.
    pub fn with_longer_number(&self, id: InputId, names: &Names) -> Option<Input> {
        self.with_more_digits(id, names, u8::is_ascii_digit)
    }

    /// The same where the number may have letters.
    pub fn with_longer_hex_number(&self, id: InputId, names: &Names) -> Option<Input> {
        self.with_more_digits(id, names, u8::is_ascii_hexdigit)
    }

    /// The same with zeros before a number that has fewer digits.
    pub fn with_wider_number(&self, id: InputId, digits: usize, names: &Names) -> Option<Input> {
        let mut input = self.clone();
        let (text, number) = input.number(id, names, u8::is_ascii_digit)?;
        let is_fraction = number.start.checked_sub(1).is_some_and(|before| text[before] == b'.');
        let more = digits.checked_sub(number.len()).filter(|_| !is_fraction)?;
        text.splice(number.start..number.start, std::iter::repeat_n(b'0', more));
        Some(input)
    }

    fn with_more_digits(&self, id: InputId, names: &Names, is_digit: fn(&u8) -> bool) -> Option<Input> {
        let mut input = self.clone();
        let (text, number) = input.number(id, names, is_digit)?;
        let length = LENGTHS.into_iter().find(|&length| length > number.len())?;
        let more = length - number.len();
        text.splice(number.start..number.start, std::iter::repeat_n(b'1', more));
        Some(input)
    }

    /// The same with another value of a number, in place of all its digits.
    pub fn with_number(&self, id: InputId, value: i64, names: &Names) -> Option<Input> {
        let mut input = self.clone();
        let (text, number) = input.number(id, names, u8::is_ascii_digit)?;
        text.splice(number, value.to_string().into_bytes());
        Some(input)
    }

    /// The same with a sign instead of the first digit of a number that has none.
    pub fn with_negative_number(&self, id: InputId, names: &Names) -> Option<Input> {
        let mut input = self.clone();
        let (text, number) = input.number(id, names, u8::is_ascii_digit)?;
        let before = number.start.checked_sub(1).map(|before| text[before]);
        let has_sign = before.is_some_and(|before| b"-+.".contains(&before));
        if has_sign {
            return None;
        }
        let replaced = if number.len() > 1 { number.start + 1 } else { number.start };
        text.splice(number.start..replaced, [b'-']);
        Some(input)
    }

    /// The digits around a byte that is one, and the text that they are in.
    fn number(
        &mut self,
        id: InputId,
        names: &Names,
        is_digit: fn(&u8) -> bool,
    ) -> Option<(&mut Vec<u8>, Range<usize>)> {
        let (text, at) = self.text(part(id)?, names)?;
        text.get(at).filter(|byte| is_digit(byte))?;
        let is_other = |byte: &u8| !is_digit(byte);
        let start = text[..at].iter().rposition(is_other).map_or(0, |before| before + 1);
        let end = text[at..].iter().position(is_other).map_or(text.len(), |behind| at + behind);
        Some((text, start..end))
    }
}

#[cfg(test)]
mod tests {
    use super::super::id;
    use super::*;

    #[test]
    fn words_are_cut_and_what_follows_stays() {
        let names: Names = [(source::VARIABLE, "LIST".to_owned())].into();
        let base = Input {
            args: vec![b"aaaa=1".to_vec()],
            stdin: b"aaaa 1".to_vec(),
            env: [("LIST".to_owned(), b"aaaa,b".to_vec())].into(),
            ..Input::default()
        };
        let check = |source: u16, expected: Input| {
            let model: Model = [(id(source, 0), b'x'.into()), (id(source, 2), 0)].into_iter().collect();
            assert_eq!(base.with_words(&model, &names), Some(expected));
        };
        check(source::STDIN, Input { stdin: b"xa 1".to_vec(), ..base.clone() });
        check(source::ARGUMENT + 1, Input { args: vec![b"xa=1".to_vec()], ..base.clone() });
        let env = [("LIST".to_owned(), b"xa,b".to_vec())].into();
        check(source::VARIABLE, Input { env, ..base.clone() });
    }

    #[test]
    fn a_word_may_end_behind_the_new_end() {
        let base = Input { stdin: b"aaaa 1".to_vec(), ..Input::default() };
        let model: Model = [(id(source::STDIN_SIZE, 0), 2), (id(source::STDIN, 3), 0)].into_iter().collect();
        let found = base.with_words(&model, &Names::new()).expect("an input");
        assert_eq!(found.stdin, b"aa");
    }

    #[test]
    fn numbers_get_signs() {
        let check = |stdin: &str, at: u32, expected: Option<&str>| {
            let input = Input { stdin: stdin.into(), ..Input::default() };
            let found = input.with_negative_number(id(source::STDIN, at), &Names::new());
            assert_eq!(found.map(|input| input.stdin), expected.map(|text| text.as_bytes().to_vec()));
        };
        check("a 117", 3, Some("a -17"));
        check("7", 0, Some("-7"));
        check("-7", 1, None);
        check("a", 0, None);
    }

    #[test]
    fn numbers_get_wider() {
        let check = |stdin: &str, at: u32, expected: Option<&str>| {
            let input = Input { stdin: stdin.into(), ..Input::default() };
            let found = input.with_wider_number(id(source::STDIN, at), 4, &Names::new());
            assert_eq!(found.map(|input| input.stdin), expected.map(|text| text.as_bytes().to_vec()));
        };
        check("a 17;", 3, Some("a 0017;"));
        check("-n3", 2, Some("-n0003"));
        check("12345", 0, None);
        check("1.5", 2, None);
        check("a", 0, None);
    }

    #[test]
    fn numbers_get_longer() {
        let check = |stdin: &str, at: u32, expected: Option<&str>| {
            let input = Input { stdin: stdin.into(), ..Input::default() };
            let found = input.with_longer_number(id(source::STDIN, at), &Names::new());
            assert_eq!(found.map(|input| input.stdin), expected.map(|text| text.as_bytes().to_vec()));
        };
        check("a 07-8", 3, Some("a 11107-8"));
        check("12345", 0, Some("1111112345"));
        check("a 0", 0, None);
        check("1234567890", 0, None);
    }
}
