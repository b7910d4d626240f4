//! The linker's own options, as they stand in `-Wl,…`, after `-Xlinker`, or on
//! the command line of an `ld` that a build calls itself.

use crate::command::{Command, Stage, Word};

/// A part of a linker's command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// An option, with its value where that is an argument of its own.
    Option(Vec<String>),
    /// An input by its path.
    File(String),
    /// An input by `-l`, without these letters.
    Library(String),
    /// A folder for `-l`.
    SearchPath(String),
    /// An option that names a file which the linker reads.
    Reads {
        option: String,
        path: String,
    },
    Output(String),
    /// An option that only writes a further file or a message.
    Writes,
}

const READS: &[&str] = &[
    "version-script",
    "dynamic-list",
    "retain-symbols-file",
    "script",
    "default-script",
    "export-dynamic-symbol-list",
    "section-ordering-file",
    "symbol-ordering-file",
];

const WRITES_WITH_VALUE: &[&str] = &["Map", "dependency-file", "out-implib"];

const WRITES: &[&str] = &["-M", "--print-map", "--cref", "-t", "--trace", "--print-gc-sections", "--stats"];

/// Long options whose value may be the next argument.
#[rustfmt::skip]
const WITH_VALUE: &[&str] = &[
    // Names and paths.
    "audit", "auxiliary", "depaudit", "dynamic-linker", "filter", "just-symbols", "plugin",
    "plugin-opt", "rpath", "rpath-link", "soname", "sysroot",
    // Symbols.
    "defsym", "entry", "exclude-libs", "export-dynamic-symbol", "fini", "init", "require-defined",
    "trace-symbol", "undefined", "wrap",
    // Layout.
    "Tbss", "Tdata", "Ttext", "Ttext-segment", "format", "hash-size", "oformat", "section-start",
];

/// Options of one letter whose value may be the next argument.
const LETTERS_WITH_VALUE: &[&str] =
    &["A", "F", "G", "I", "R", "Y", "a", "b", "c", "e", "f", "h", "m", "u", "y", "z"];

pub fn tokens(arguments: &[String]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(name) = argument.strip_prefix('-').filter(|name| !name.is_empty()) else {
            tokens.push(Token::File(argument.clone()));
            continue;
        };
        let long = name.strip_prefix('-').unwrap_or(name);
        let (long, joined) = match long.split_once('=') {
            Some((long, value)) => (long, Some(value.to_owned())),
            None => (long, None),
        };
        let mut value = || joined.clone().or_else(|| rest.next().cloned()).unwrap_or_default();
        tokens.push(if READS.contains(&long) {
            Token::Reads { option: format!("--{long}="), path: value() }
        } else if WRITES_WITH_VALUE.contains(&long) {
            value();
            Token::Writes
        } else if WRITES.contains(&argument.as_str()) {
            Token::Writes
        } else if long == "library" {
            Token::Library(value())
        } else if long == "library-path" {
            Token::SearchPath(value())
        } else if long == "output" {
            Token::Output(value())
        } else if WITH_VALUE.contains(&long) && joined.is_none() || LETTERS_WITH_VALUE.contains(&name) {
            Token::Option(vec![argument.clone(), value()])
        } else {
            match name.split_at(1) {
                ("l", library) => Token::Library(or_next(library, &mut rest)),
                ("L", folder) => Token::SearchPath(or_next(folder, &mut rest)),
                ("o", file) if name != "omagic" => Token::Output(or_next(file, &mut rest)),
                ("T", file) if !WITH_VALUE.contains(&long) => {
                    Token::Reads { option: "-T".to_owned(), path: or_next(file, &mut rest) }
                }
                _ => Token::Option(vec![argument.clone()]),
            }
        });
    }
    tokens
}

fn or_next<'a>(joined: &str, rest: &mut impl Iterator<Item = &'a String>) -> String {
    match joined {
        "" => rest.next().cloned().unwrap_or_default(),
        _ => joined.to_owned(),
    }
}

/// A linker that was called without a compiler.
pub struct Name(pub String);

impl Name {
    /// The same link by a compiler. `None` for what links nothing.
    pub fn as_driver(&self, arguments: &[String]) -> Option<Command> {
        let mut words = vec![Word::Option("-nostdlib".to_owned())];
        if let Some(linker) = self.0.strip_prefix("ld.") {
            words.push(Word::Option(format!("-fuse-ld={linker}")));
        }
        let mut output = None;
        let mut kind = "-no-pie";
        let mut has_input = false;
        for token in tokens(arguments) {
            match token {
                Token::Output(path) => output = Some(path),
                Token::File(path) => {
                    has_input = true;
                    words.push(Word::File(path));
                }
                Token::Library(name) => words.push(Word::Option(format!("-l{name}"))),
                Token::SearchPath(folder) => words.push(Word::Option(format!("-L{folder}"))),
                Token::Reads { option, path } => linker_words(&mut words, &[format!("{option}{path}")]),
                Token::Writes => {}
                Token::Option(option) => match option[0].as_str() {
                    "-v" | "-V" | "--version" | "--help" => return None,
                    "-r" | "-i" | "--relocatable" | "-Ur" => kind = "-r",
                    "-shared" | "-Bshareable" | "--shared" => kind = "-shared",
                    "-pie" | "--pic-executable" => kind = "-pie",
                    "-static" => words.push(Word::Option("-static".to_owned())),
                    _ => linker_words(&mut words, &option),
                },
            }
        }
        words.insert(0, Word::Option(kind.to_owned()));
        has_input.then_some(Command { stage: Stage::Link, output, words })
    }
}

fn linker_words(words: &mut Vec<Word>, tokens: &[String]) {
    words.extend(tokens.iter().map(|token| Word::Pair("-Xlinker".to_owned(), token.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[Token]) {
        assert_eq!(tokens(&shlex::split(line).unwrap()), expected, "{line}");
    }

    fn option(words: &[&str]) -> Token {
        Token::Option(words.iter().map(|word| word.to_string()).collect())
    }

    #[test]
    fn values_are_not_inputs() {
        check("-soname libx.so.1 a.o", &[option(&["-soname", "libx.so.1"]), Token::File("a.o".into())]);
        check(
            "--build-id=sha1 -z now -rpath=/x",
            &[option(&["--build-id=sha1"]), option(&["-z", "now"]), option(&["-rpath=/x"])],
        );
        check("-Map x.map -Map=y --cref", &[Token::Writes, Token::Writes, Token::Writes]);
        check(
            "-lfoo -l bar -L. -L x",
            &[
                Token::Library("foo".into()),
                Token::Library("bar".into()),
                Token::SearchPath(".".into()),
                Token::SearchPath("x".into()),
            ],
        );
        let reads = |option: &str, path: &str| Token::Reads { option: option.into(), path: path.into() };
        check(
            "--version-script=v -version-script w -Tx -T y",
            &[
                reads("--version-script=", "v"),
                reads("--version-script=", "w"),
                reads("-T", "x"),
                reads("-T", "y"),
            ],
        );
        check(
            "-Ttext 0x1000 -Bstatic --whole-archive",
            &[option(&["-Ttext", "0x1000"]), option(&["-Bstatic"]), option(&["--whole-archive"])],
        );
    }

    #[test]
    fn direct_links_become_links_by_a_compiler() {
        let driver = |line: &str| Name("ld.gold".to_owned()).as_driver(&shlex::split(line).unwrap());
        let command = driver("-shared -o x.so a.o -soname x -lfoo").unwrap();
        assert_eq!(command.output.as_deref(), Some("x.so"));
        let word = |word: &str| Word::Option(word.to_owned());
        let linker = |word: &str| Word::Pair("-Xlinker".to_owned(), word.to_owned());
        assert_eq!(
            command.words,
            [
                word("-shared"),
                word("-nostdlib"),
                word("-fuse-ld=gold"),
                Word::File("a.o".to_owned()),
                linker("-soname"),
                linker("x"),
                word("-lfoo"),
            ]
        );
        assert_eq!(driver("-r a.o -o c.o").unwrap().words[0], word("-r"));
        assert_eq!(driver("--version"), None);
    }
}
