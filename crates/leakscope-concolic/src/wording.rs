//! Inputs with the words that a program asks for: options that it understands,
//! each alone before the arguments of runs that ended well, and environment
//! variables, texts that it compares with. What must come together is found by crossing.

use leakscope_wire::symbolic::{TakesArgument, source};

use crate::beside::with_text_beside;
use crate::composed::{with_pieces, with_pieces_beside};
use crate::input::{Bounds, Input};
use crate::operands::with_operands;
use crate::succession::Next;
use crate::target::ProgramOption;
use crate::texts::{Compared, with_text};
use crate::trace::Trace;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    Option(ProgramOption),
    Variable(String),
    Text(Compared),
    /// One beside another that the program knows.
    Beside(Compared),
    /// One at the beginning of a line, with words behind it.
    Command(Compared),
    /// A line behind what a run did.
    Next(Next),
    /// Several at once: names that a program asks for one after the other, and
    /// goes on only if it found them all.
    Texts(Vec<Compared>),
}

/// Texts are put in place of others in so many orders, so many at once.
const MOST_ORDERS: usize = 3;
const MOST_AT_ONCE: usize = 6;

/// The words that a run came to.
pub fn words(trace: &Trace) -> impl Iterator<Item = Word> + '_ {
    let is_variable = |number: u16| number - number % source::MOST == source::VARIABLE;
    let variables = trace.names.iter().filter(move |(number, _)| is_variable(**number));
    let variables = variables.map(|(_, name)| Word::Variable(name.clone()));
    let longer = trace.compared.iter().filter(|text| text.differs_in_length());
    let texts = longer.cloned().map(Word::Text);
    let beside = trace.compared.iter().filter(|text| !text.seen.is_empty()).cloned().map(Word::Beside);
    trace
        .options
        .iter()
        .cloned()
        .map(Word::Option)
        .chain(variables)
        .chain(texts)
        .chain(beside)
        .chain(trace.compared.iter().cloned().map(Word::Command))
        .chain(several(&trace.compared))
}

/// All texts that a run compared with others, in place of as many that it saw.
fn several(compared: &[Compared]) -> impl Iterator<Item = Word> {
    let distinct = |text: fn(&Compared) -> &Vec<u8>| {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let compared = compared.iter().filter(|text| text.differs_in_length());
        for text in compared.map(text).filter(|text| !text.is_empty()) {
            if texts.len() < MOST_AT_ONCE && !texts.contains(text) {
                texts.push(text.clone());
            }
        }
        texts
    };
    let (seen, wanted) = (distinct(|text| &text.seen), distinct(|text| &text.wanted));
    let orders = if seen.len() > 1 && wanted.len() > 1 { wanted.len().min(MOST_ORDERS) } else { 0 };
    (0..orders).map(move |order| {
        let pair = |(index, seen): (usize, &Vec<u8>)| Compared {
            seen: seen.clone(),
            wanted: wanted[(index + order) % wanted.len()].clone(),
        };
        Word::Texts(seen.iter().take(wanted.len()).enumerate().map(pair).collect())
    })
}

/// A text is tried at so many places.
const MOST_PLACES: usize = 4;

/// Inputs that have the word: made of `bases`, and for a variable or a text of
/// the input `from` whose run asked for it.
pub fn with_word(word: &Word, from: &Input, bases: &[Input], bounds: &Bounds) -> Vec<Input> {
    match word {
        Word::Option(option) => with_option(option, bases, bounds).collect(),
        Word::Text(text) => {
            let whole: Vec<Input> = with_text(text, from, bounds).into_iter().take(MOST_PLACES).collect();
            if whole.is_empty() { with_pieces(text, from, bounds) } else { whole }
        }
        Word::Beside(text) => {
            let beside = with_text_beside(text, from, bounds).into_iter().take(MOST_PLACES);
            let beside: Vec<Input> = beside.collect();
            if beside.is_empty() { with_pieces_beside(text, from, bounds) } else { beside }
        }
        Word::Command(text) => with_operands(text, from, bounds),
        Word::Next(next) => next.behind(from, bounds).into_iter().collect(),
        Word::Texts(texts) => {
            let put = |input: Option<Input>, text| with_text(text, &input?, bounds).into_iter().next();
            texts.iter().fold(Some(from.clone()), put).into_iter().collect()
        }
        Word::Variable(name) => {
            with_variable(name, from).chain(bases.iter().flat_map(|base| with_variable(name, base))).collect()
        }
    }
}

/// Arguments that options are tried with; the solver finds better ones.
const VALUES: [&[u8]; 2] = [b"1", b"aaaaaaaa"];

/// Inputs that have the option, made of `bases`.
pub fn with_option<'a>(
    option: &'a ProgramOption,
    bases: &'a [Input],
    bounds: &'a Bounds,
) -> impl Iterator<Item = Input> + 'a {
    let fits = |input: &Input| input.args.len() <= bounds.args as usize;
    let given = |base: &Input, words: Vec<Vec<u8>>| {
        let args = words.into_iter().chain(base.args.iter().cloned()).collect();
        Input { args, ..base.clone() }
    };
    let inputs = bases.iter().flat_map(move |base| ways(option).map(move |words| given(base, words)));
    inputs.filter(fits)
}

/// The option before the arguments of an input, as one argument: with its value, if it can have one.
pub fn with_value(option: &ProgramOption, value: &[u8], base: &Input) -> Input {
    let between: &[u8] = if option.name.starts_with(b"--") { b"=" } else { b"" };
    let word = match option.takes {
        TakesArgument::No => option.name.clone(),
        TakesArgument::Always | TakesArgument::Optionally => [&option.name, between, value].concat(),
    };
    Input { args: std::iter::once(word).chain(base.args.iter().cloned()).collect(), ..base.clone() }
}

/// How the option can be given.
fn ways(option: &ProgramOption) -> impl Iterator<Item = Vec<Vec<u8>>> + '_ {
    let alone = (option.takes != TakesArgument::Always).then(|| vec![option.name.clone()]);
    let with = |value: &[u8]| match option.takes {
        TakesArgument::No => None,
        TakesArgument::Always => Some(vec![option.name.clone(), value.to_vec()]),
        TakesArgument::Optionally => {
            let between: &[u8] = if option.name.starts_with(b"--") { b"=" } else { b"" };
            Some(vec![[&option.name, between, value].concat()])
        }
    };
    alone.into_iter().chain(VALUES.into_iter().filter_map(with))
}

/// Inputs in which an environment variable has a value.
fn with_variable<'a>(name: &'a str, base: &'a Input) -> impl Iterator<Item = Input> + 'a {
    VARIABLE_VALUES.into_iter().map(|value| {
        let mut input = base.clone();
        input.env.insert(name.to_owned(), value.to_vec());
        input
    })
}

/// A number, and a text that has room for several words.
const VARIABLE_VALUES: [&[u8]; 2] = [b"1", b"aaaaaaaaaaaaaaaa"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_texts_take_the_place_of_as_many() {
        let text = |seen: &str, wanted: &str| Compared { seen: seen.into(), wanted: wanted.into() };
        let trace = Trace {
            compared: vec![
                text("d", "debit"),
                text("d", "credit"),
                text("bit", "debit"),
                text("bit", "credit"),
            ],
            ..Trace::default()
        };
        let base = Input { stdin: b"d,bit\n".to_vec(), ..Input::default() };
        let several = words(&trace).filter(|word| matches!(word, Word::Texts(_)));
        let inputs = several.flat_map(|word| with_word(&word, &base, &[], &Bounds::default()));
        let texts: Vec<String> =
            inputs.map(|input| String::from_utf8_lossy(&input.stdin).into_owned()).collect();
        assert_eq!(texts, ["debit,credit\n", "credit,debit\n"]);
    }

    #[test]
    fn options_come_before_the_arguments() {
        let base = Input { args: vec![b"A".to_vec()], ..Input::default() };
        let check = |name: &str, takes, expected: &[&[&str]]| {
            let option = ProgramOption { name: name.into(), takes };
            let bounds = Bounds { args: 3, ..Bounds::default() };
            let found: Vec<Vec<Vec<u8>>> =
                with_option(&option, std::slice::from_ref(&base), &bounds).map(|input| input.args).collect();
            let words = |words: &&[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
            assert_eq!(found, expected.iter().map(words).collect::<Vec<Vec<Vec<u8>>>>());
        };
        let together = |name: &str, takes| {
            with_value(&ProgramOption { name: name.into(), takes }, b"1", &base).args.remove(0)
        };
        assert_eq!(together("-n", TakesArgument::Always), b"-n1");
        assert_eq!(together("--to", TakesArgument::Optionally), b"--to=1");
        assert_eq!(together("--all", TakesArgument::No), b"--all");
        check("-n", TakesArgument::No, &[&["-n", "A"]]);
        check("-n", TakesArgument::Always, &[&["-n", "1", "A"], &["-n", "aaaaaaaa", "A"]]);
        check("-n", TakesArgument::Optionally, &[&["-n", "A"], &["-n1", "A"], &["-naaaaaaaa", "A"]]);
        check(
            "--to",
            TakesArgument::Optionally,
            &[&["--to", "A"], &["--to=1", "A"], &["--to=aaaaaaaa", "A"]],
        );
    }
}
