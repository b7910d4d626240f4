//! Inputs from parts of inputs that went new ways: lines and words repeated,
//! swapped, left out, taken from one another, and counted texts made longer.
//!
//! A solver turns one decision at a time. What programs do after several
//! commands in a row, with options that were found apart, or with one key
//! given twice is many decisions away from any run, but only one step of this
//! kind. Nothing here knows what the parts mean.

use crate::beside::with_text_beside;
use crate::input::{Bounds, Input};
use crate::knowledge::Knowledge;
use crate::lengths::{MOST_ADDED, counted, lengthened};
use crate::parts::{Parts, Text};
use crate::target::ProgramOption;
use crate::texts::{Compared, with_text_anywhere};
use crate::wording::with_option;

/// Steps from one input to another.
const MOST_STEPS: usize = 3;

/// One choice in so many is for a child, and fewer while children go no new
/// ways: after so many, half as many.
const EVERY: u32 = 4;
const BARREN: u32 = 48;
const MOST_HALVINGS: u32 = 3;

/// Of programs with options, one child in so many has one more of them.
const OPTION_EVERY: usize = 2;

/// And one of so many others has a text that the program compared its own with.
const TEXT_EVERY: usize = 4;

/// And one of so many others has parts that its parents were read in, where there are such.
const PARTS_EVERY: usize = 2;

/// And one of so many others has a counted text that is longer, where there are such.
const LENGTHS_EVERY: usize = 8;

/// Texts may get so many times as long as others: a session is many lines.
const LONGER: usize = 2;

/// Texts with brackets are stepped by these one time in so many.
const NESTS_EVERY: usize = 2;

/// Texts of letters and signs without spaces are stepped by bytes one time in so many.
const BYTES_EVERY: usize = 2;

/// Makes children of runs.
#[derive(Debug)]
pub struct Crossing {
    choices: Choices,
    /// Numbers of the runs that went new ways.
    parents: Vec<usize>,
    /// Children since one went a new way.
    barren: u32,
}

impl Crossing {
    pub fn new(seed: u64) -> Crossing {
        Crossing { choices: Choices::new(seed), parents: Vec::new(), barren: 0 }
    }

    /// A run that went a new way.
    pub fn add(&mut self, run: usize) {
        self.parents.push(run);
        self.barren = 0;
    }

    /// Whether a child is due at this choice of a warning's.
    pub fn is_due(&self, choice: u32) -> bool {
        let every = EVERY << (self.barren / BARREN).min(MOST_HALVINGS);
        !self.parents.is_empty() && choice % every == EVERY / 2
    }

    /// Children of `runs`; half of them of those that came nearest to a
    /// warning.
    pub fn children(
        &mut self,
        count: usize,
        nearest: &[usize],
        known: &Knowledge,
        bounds: &Bounds,
    ) -> Vec<Input> {
        let options: Vec<&ProgramOption> = known.options().collect();
        let mut child = |number: usize| {
            let near = number.is_multiple_of(2) && !nearest.is_empty();
            let from = if near { nearest } else { &self.parents };
            let base_run = from[self.choices.below(from.len())];
            let other_run = self.parents[self.choices.below(self.parents.len())];
            let (base, other) = (&known.runs[base_run], &known.runs[other_run]);
            if !options.is_empty() && self.choices.below(OPTION_EVERY) == 0 {
                let option = options[self.choices.below(options.len())];
                return with_one_more(base, option, bounds, &mut self.choices);
            }
            if !known.texts.is_empty() && self.choices.below(TEXT_EVERY) == 0 {
                let mut text = || known.texts.keys().nth(self.choices.below(known.texts.len()));
                let (wanted, seen) =
                    (text().cloned().unwrap_or_default(), text().cloned().unwrap_or_default());
                let mut children = with_text_beside(&Compared { seen, wanted: wanted.clone() }, base, bounds);
                if children.is_empty() {
                    children = with_text_anywhere(&wanted, base, bounds);
                }
                if !children.is_empty() {
                    return children.swap_remove(self.choices.below(children.len()));
                }
            }
            let parts = [base_run, other_run].map(|run| known.parts(run));
            let has_parts = parts[0].texts().next().is_some();
            if has_parts && self.choices.below(PARTS_EVERY) == 0 {
                return crossed_parts([base, other], &parts, bounds, &mut self.choices);
            }
            crossed(base, other, bounds, &mut self.choices)
        };
        let children = (0..count).map(&mut child).collect();
        self.barren += count as u32;
        children
    }
}

/// A source of choices: the same seed gives the same ones.
#[derive(Debug)]
struct Choices(u64);

impl Choices {
    fn new(seed: u64) -> Choices {
        Choices(seed)
    }

    /// A number below `count`, which is not 0.
    fn below(&mut self, count: usize) -> usize {
        // The steps of splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % count as u64) as usize
    }
}

/// The input with an option before its arguments.
fn with_one_more(base: &Input, option: &ProgramOption, bounds: &Bounds, choices: &mut Choices) -> Input {
    let mut children: Vec<Input> = with_option(option, std::slice::from_ref(base), bounds).collect();
    match children.len() {
        0 => base.clone(),
        count => children.swap_remove(choices.below(count)),
    }
}

/// What of an input is changed.
enum Part {
    Arguments,
    Stdin,
    File(String),
}

/// A child of `base`, with parts of `other` in it.
fn crossed(base: &Input, other: &Input, bounds: &Bounds, choices: &mut Choices) -> Input {
    let mut child = base.clone();
    let mut parts: Vec<Part> = Vec::new();
    if bounds.file_bytes > 0 {
        parts.extend(base.files.keys().cloned().map(Part::File));
    }
    if bounds.stdin_bytes > 0 && !(base.stdin.is_empty() && other.stdin.is_empty()) {
        parts.push(Part::Stdin);
    }
    if bounds.args > 0 && !(base.args.is_empty() && other.args.is_empty()) {
        parts.push(Part::Arguments);
    }
    if parts.is_empty() {
        return child;
    }
    let part = &parts[choices.below(parts.len())];
    if choices.below(LENGTHS_EVERY) == 0 {
        match part {
            Part::Arguments => {}
            Part::Stdin => child.stdin = longer(&base.stdin, bounds.stdin_bytes, choices),
            Part::File(name) => {
                let text = longer(&base.files[name], bounds.file_bytes, choices);
                child.files.insert(name.clone(), text);
            }
        }
        if child != *base {
            return child;
        }
    }
    for _ in 0..=choices.below(MOST_STEPS) {
        match part {
            Part::Arguments => {
                step(&mut child.args, &other.args, choices);
                child.args.truncate((bounds.args as usize).max(base.args.len()));
            }
            Part::Stdin => {
                let most = (LONGER * bounds.stdin_bytes as usize).max(base.stdin.len());
                child.stdin = text_step(&child.stdin, &other.stdin, most, choices);
            }
            Part::File(name) => {
                let most = (LONGER * bounds.file_bytes as usize).max(base.files[name].len());
                let from = other.files.get(name).unwrap_or(&other.stdin);
                let text = text_step(&child.files[name], from, most, choices);
                child.files.insert(name.clone(), text);
            }
        }
    }
    child
}

/// A child of `base` in one of its texts, by the parts that the program read.
fn crossed_parts(
    [base, other]: [&Input; 2],
    [parts, others]: &[Parts; 2],
    bounds: &Bounds,
    choices: &mut Choices,
) -> Input {
    let texts: Vec<&Text> = parts.texts().collect();
    let which = texts[choices.below(texts.len())];
    let own = which.of(base).and_then(|text| parts.split(which, text));
    let Some((head, own)) = own else { return base.clone() };
    let foreign = which.of(other).map(|text| match others.split(which, text) {
        Some((_, parts)) => parts,
        None => vec![text.as_slice()],
    });
    let owned = |parts: Vec<&[u8]>| parts.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (mut mine, foreign) = (owned(own), owned(foreign.unwrap_or_default()));
    for _ in 0..=choices.below(MOST_STEPS) {
        step(&mut mine, &foreign, choices);
    }
    let mut made = head.to_vec();
    let most = (LONGER * which.most(bounds)).max(which.of(base).map_or(0, Vec::len));
    for part in mine.into_iter().filter(|part| !part.is_empty()) {
        if made.len() + part.len() <= most {
            made.extend(part);
        }
    }
    which.with(base, made)
}

/// A text in which something that is counted is longer, where there is such and room.
fn longer(text: &[u8], most: u32, choices: &mut Choices) -> Vec<u8> {
    let counts = counted(text);
    if counts.is_empty() {
        return text.to_vec();
    }
    let made = lengthened(text, &counts[choices.below(counts.len())], 1 + choices.below(MOST_ADDED));
    if made.len() <= most as usize { made } else { text.to_vec() }
}

/// A step between texts: of lines, or of words where that is tossed or there
/// are no lines.
fn text_step(text: &[u8], other: &[u8], most: usize, choices: &mut Choices) -> Vec<u8> {
    let has_brackets = |text: &[u8]| text.iter().any(|byte| b"{[(".contains(byte));
    if (has_brackets(text) || has_brackets(other)) && choices.below(NESTS_EVERY) == 0 {
        let made = nest_step(text, other, choices);
        if made != text && made.len() <= most {
            return made;
        }
    }
    let is_one_word = text.iter().chain(other).all(u8::is_ascii_graphic);
    if is_one_word && choices.below(BYTES_EVERY) == 0 {
        return byte_step(text, other, most, choices);
    }
    let has_lines = text.contains(&b'\n') || other.contains(&b'\n');
    let ends: fn(&u8) -> bool =
        if has_lines && choices.below(2) == 0 { |&byte| byte == b'\n' } else { u8::is_ascii_whitespace };
    let pieces = |text: &[u8]| text.split_inclusive(ends).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut mine = pieces(text);
    step(&mut mine, &pieces(other), choices);
    let last = mine.len().saturating_sub(1);
    for piece in mine.iter_mut().take(last).filter(|piece| !piece.last().is_some_and(ends)) {
        piece.push(if has_lines { b'\n' } else { b' ' });
    }
    let mut made = Vec::new();
    for piece in mine {
        if made.len() + piece.len() <= most {
            made.extend(piece);
        }
    }
    made
}

/// A step between texts with brackets: a word or a pair of brackets with what is in it, of either text,
/// in place of another one of the first.
fn nest_step(text: &[u8], other: &[u8], choices: &mut Choices) -> Vec<u8> {
    let mine = nested(text);
    let from = if choices.below(2) == 0 { text } else { other };
    let groups = nested(from);
    if mine.is_empty() || groups.is_empty() {
        return text.to_vec();
    }
    let (start, end) = mine[choices.below(mine.len())];
    let (first, last) = groups[choices.below(groups.len())];
    [&text[..start], &from[first..last], &text[end..]].concat()
}

/// Pairs of brackets or quotes with what is in them, and words.
fn nested(text: &[u8]) -> Vec<(usize, usize)> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        let is_word = |byte: &&u8| byte.is_ascii_alphanumeric();
        let word = text[at..].iter().take_while(is_word).count();
        match text[at] {
            _ if word > 0 => {
                found.push((at, at + word));
                at += word - 1;
            }
            b'"' => {
                if let Some(length) = text[at + 1..].iter().position(|&byte| byte == b'"') {
                    found.push((at, at + length + 2));
                    at += length + 1;
                }
            }
            b'{' | b'[' | b'(' => open.push(at),
            b'}' | b']' | b')' => found.extend(open.pop().map(|start| (start, at + 1))),
            _ => {}
        }
        at += 1;
    }
    found
}

/// A step between texts in which each byte may be a command: the beginning of one and the end of the
/// other, a piece more, twice or less.
fn byte_step(text: &[u8], other: &[u8], most: usize, choices: &mut Choices) -> Vec<u8> {
    let mut cut = |text: &[u8]| {
        let (a, b) = (choices.below(text.len() + 1), choices.below(text.len() + 1));
        (a.min(b), a.max(b))
    };
    let ((from, to), (start, end)) = (cut(text), cut(other));
    let mut made = match choices.below(5) {
        0 => [&text[..from], &other[start..]].concat(),
        1 => [&text[..from], &other[start..end], &text[from..]].concat(),
        2 => [&text[..to], &text[from..]].concat(),
        3 => [&text[..from], text.get(from + 1..).unwrap_or_default()].concat(),
        _ => {
            let mut made = text.to_vec();
            if !made.is_empty() {
                made.swap(from.min(text.len() - 1), to.min(text.len() - 1));
            }
            made
        }
    };
    made.truncate(most);
    made
}

/// One step between two lists of pieces.
fn step(mine: &mut Vec<Vec<u8>>, other: &[Vec<u8>], choices: &mut Choices) {
    let (a, b) = (choices.below(mine.len().max(1)), choices.below(mine.len().max(1)));
    let foreign = (!other.is_empty()).then(|| other[choices.below(other.len())].clone());
    match (choices.below(7), foreign) {
        (0, _) if !mine.is_empty() => mine.insert(b, mine[a].clone()),
        (1, _) if mine.len() > 1 => drop(mine.remove(a)),
        (2, _) if mine.len() > 1 => mine.swap(a, b),
        (3, _) if mine.len() > 1 => mine[b] = mine[a].clone(),
        (4, Some(foreign)) if !mine.is_empty() => mine[b] = foreign,
        (5, Some(foreign)) => mine.insert(b, foreign),
        (_, Some(_)) => mine.extend_from_slice(other),
        (_, None) => mine.extend_from_within(..),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(stdin: &str) -> Input {
        Input { stdin: stdin.into(), ..Input::default() }
    }

    /// Whether some child of two inputs is the expected one.
    fn check(base: &Input, other: &Input, expected: &Input) {
        let mut choices = Choices::new(7);
        let bounds = Bounds::default();
        let found = (0..5000).any(|_| crossed(base, other, &bounds, &mut choices) == *expected);
        assert!(found, "{expected:?} is no child of {base:?} and {other:?}");
    }

    #[test]
    fn children_have_parts_of_both() {
        check(&text("add 1\n"), &text("del 1\n"), &text("add 1\ndel 1\n"));
        check(&text("a b\n"), &text(""), &text("a b\na b\n"));
        check(&text("a b\na b\n"), &text(""), &text("a b\nb\na "));
        check(&text("k=1\nl=2\n"), &text(""), &text("k=1\nk=1\n"));
        check(&text("!!@"), &text("b.!"), &text("b.!!@"));
        check(&text("ab"), &text(""), &text("abab"));
        check(&text("{\"user\":1}"), &text("{\"b\":2}"), &text("{\"user\":{\"b\":2}}"));
        check(&text("(1+2)*3"), &text(""), &text("(1+2)*(1+2)"));
        check(&text("\x01x\x02yz"), &text(""), &text("\x03xaa\x02yz"));
        let options = |words: &[&str]| Input {
            args: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
            ..Input::default()
        };
        check(&options(&["-a"]), &options(&["-b", "x"]), &options(&["-a", "-b", "x"]));
    }

    #[test]
    fn children_have_parts_that_were_read() {
        let (base, other) = (text("hab!"), text("hcd?"));
        let parts = [3, 3].map(|second| Parts::at(Text::Stdin, &[1, second]));
        let mut choices = Choices::new(7);
        let mut child = || crossed_parts([&base, &other], &parts, &Bounds::default(), &mut choices);
        let made: Vec<Input> = (0..500).map(|_| child()).collect();
        for expected in ["habab!", "habcd!", "hcdab!"] {
            assert!(made.contains(&text(expected)), "{expected} is no child");
        }
        assert!(made.iter().all(|input| input.stdin.starts_with(b"h")));
    }

    #[test]
    fn children_keep_to_the_bounds() {
        let mut choices = Choices::new(1);
        let bounds = Bounds { stdin_bytes: 8, args: 2, ..Bounds::default() };
        let base = Input { args: vec![b"x".to_vec(); 2], stdin: b"abc\nabc\n".to_vec(), ..Input::default() };
        for _ in 0..1000 {
            let child = crossed(&base, &base, &bounds, &mut choices);
            assert!(child.stdin.len() <= 16 && child.args.len() <= 2, "{child:?}");
        }
    }
}
