//! The inputs that a validation begins with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use leakscope_concolic::Input;
use leakscope_ir::{Operand, Program, Terminator};

use crate::cli::Validate;

/// A file that programs with a file argument find in their folder.
const FILE: &str = "A";

/// The inputs to begin with: the user's own, then small ones, then texts that
/// have room for what a program may look for. What a long word or number can be
/// shortened to is easily found; a short one grows only byte by byte.
pub fn seeds(options: &Validate, program: &Program, named: Vec<String>) -> Result<Vec<Input>> {
    let mut seeds = Vec::new();
    let arguments: Vec<Vec<u8>> =
        options.arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    let by_user = options.sym_file.iter().filter(|pattern| !pattern.contains('*'));
    let makes_arguments = options.sym_args[0] > 0 && arguments.is_empty();
    let names = by_user.cloned().chain(makes_arguments.then(|| FILE.to_owned())).chain(named);
    let files: Vec<(String, Vec<u8>)> = names.map(|name| (name, Vec::new())).collect();
    let first = Input { args: arguments.clone(), files: files.iter().cloned().collect(), ..Input::default() };
    seeds.push(first.clone());
    if let Some(folder) = &options.seeds {
        for mut seed in user_seeds(folder)? {
            if seed.args.is_empty() {
                seed.args.clone_from(&arguments);
            }
            seeds.push(seed);
        }
    }
    let with_file = |content: &[u8]| {
        let files = first.files.keys().map(|name| (name.clone(), content.to_vec())).collect();
        let args = if makes_arguments { vec![FILE.into()] } else { arguments.clone() };
        Input { args, files, ..first.clone() }
    };
    let reads_files = !first.files.is_empty();
    if reads_files {
        seeds.push(with_file(b""));
    }
    if options.sym_stdin > 0 {
        seeds.push(Input { stdin: b"a\n".to_vec(), ..first.clone() });
    }
    let signs = signs(program);
    let formats = |formats: &[(&str, &'static str)]| -> Vec<&'static str> {
        let has_signs = |wanted: &str| wanted.bytes().all(|sign| signs.contains(&sign.into()));
        formats.iter().filter(|(wanted, _)| has_signs(wanted)).map(|(_, text)| *text).collect()
    };
    for text in TEXTS.into_iter().chain(formats(&FORMATS)) {
        let cut = |most: u32| text.as_bytes()[..text.len().min(most as usize)].to_vec();
        if options.sym_stdin > 0 {
            seeds.push(Input { stdin: cut(options.sym_stdin), ..first.clone() });
        }
        if reads_files {
            seeds.push(with_file(&cut(options.sym_file_size)));
        }
    }
    if makes_arguments {
        let (count, bytes) = (options.sym_args[0].min(MOST_WORDS), options.sym_args[1]);
        let stdin = TEXTS[0].as_bytes()[..TEXTS[0].len().min(options.sym_stdin as usize)].to_vec();
        let of_words = |word: &str, count: u32| {
            let word = word.as_bytes()[..word.len().min(bytes as usize)].to_vec();
            Input { args: vec![word; count as usize], stdin: stdin.clone(), ..with_file(b"") }
        };
        seeds.extend(WORDS.map(|word| of_words(word, count)));
        seeds.extend(formats(&FORMAT_WORDS).into_iter().map(|word| of_words(word, 1)));
        seeds.extend((1..count).flat_map(|fewer| [of_words(WORDS[0], fewer), of_words(WORDS[1], fewer)]));
    }
    if !options.no_env && program.functions.iter().any(|function| function.name == "setlocale") {
        let env: BTreeMap<String, Vec<u8>> = [(LOCALE.0.to_owned(), LOCALE.1.into())].into();
        let most = |most: u32| WIDE[..WIDE.len().min(most as usize)].to_vec();
        seeds.push(Input { stdin: most(options.sym_stdin), env: env.clone(), ..first.clone() });
        if reads_files {
            seeds.push(Input { env, ..with_file(&most(options.sym_file_size)) });
        }
    }
    Ok(seeds)
}

/// Lines of words and numbers, of words, and no lines.
const TEXTS: [&str; 3] = [
    "aaaaaaaa 11111111\naaaaaaaa 11111111\naaaaaaaa 11111111\n",
    "aaaaaaaaaaaaaa\naaaaaaaaaaaaaa\naaaaaaaaaaaaaa\naaaaaaaaaaaaaa\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Texts as many programs read them, each with the signs that such a program looks for: members in
/// brackets, sections with keys, rows with fields, a date, an expression, marks around a text. What is
/// found in them is put in place; as a whole, a form is many bytes away from any line of words.
const FORMATS: [(&str, &str); 6] = [
    ("{\"", "{\"a\":{\"b\":1,\"c\":2},\"d\":[\"e\",\"f\"],\"g\":\"h\"}\n"),
    ("[=", "[a]\nb=1\nc = d\n"),
    (",", "a,b,1\nc,d,2\n"),
    ("-:", "2001-02-03 04:05:06 a\n"),
    ("+*", "1+2*(3-4)\n"),
    ("<>", "<a b=\"c\">d</a>\n"),
];

/// For programs that ask for the user's locale: one with characters of several
/// bytes, and a text that has some.
const LOCALE: (&str, &str) = ("LC_ALL", "C.UTF-8");
const WIDE: &[u8] = "a\u{e4} \u{20ac}\ta\u{4e00}\n\u{301}a\n".as_bytes();

/// Arguments to begin with; more are found.
const MOST_WORDS: u32 = 3;

/// A key with a value, a date, an expression, a list.
const FORMAT_WORDS: [(&str, &str); 4] =
    [("=", "a=1"), ("-", "2001-02-03"), ("+*", "1+2*(3-4)"), (",", "a:1,2,3")];

const WORDS: [&str; 3] = ["aaaaaaaa", "11111", "-aaaaaaa"];

/// Numbers that the program compares with, or gives to others: signs that it looks for are among them.
fn signs(program: &Program) -> BTreeSet<i64> {
    let mut signs = BTreeSet::new();
    for block in
        program.functions.iter().filter_map(|function| function.body.as_ref()).flat_map(|body| &body.blocks)
    {
        for instruction in &block.instructions {
            instruction.op.for_each_operand(&mut |operand| {
                if let Operand::Int(number) = operand {
                    signs.insert(*number);
                }
            });
        }
        if let Terminator::Switch { cases, .. } = &block.end {
            signs.extend(cases.iter().map(|(value, _)| *value));
        }
    }
    signs
}

/// Folders are inputs, files are standard input.
fn user_seeds(folder: &Path) -> Result<Vec<Input>> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        paths.push(entry.with_context(cannot)?.path());
    }
    paths.sort();
    let is_input = |path: &PathBuf| path.file_name().is_some_and(|name| name == "args" || name == "stdin");
    if paths.iter().any(is_input) {
        return Ok(vec![Input::read(folder).with_context(cannot)?]);
    }
    let read = |path: &PathBuf| match path.is_dir() {
        true => Input::read(path),
        false => Ok(Input { stdin: fs::read(path)?, ..Input::default() }),
    };
    paths.iter().map(|path| read(path).with_context(|| format!("cannot read {}", path.display()))).collect()
}
