//! `@file` arguments, as gcc and GNU ld read them: words parted by white
//! space, quotes of both kinds, a backslash before any character, and files
//! that name further files.

use std::fs;
use std::path::Path;

/// A file that names itself ends here, as it does in gcc.
const DEEPEST: usize = 64;

/// `arguments` with each `@file` replaced by the words of the file, read
/// relative to `directory`. An `@word` that names no readable file is kept.
pub fn expand(arguments: Vec<String>, directory: &Path) -> Vec<String> {
    let mut expanded = Vec::with_capacity(arguments.len());
    expand_into(&mut expanded, arguments, directory, 0);
    expanded
}

fn expand_into(expanded: &mut Vec<String>, arguments: Vec<String>, directory: &Path, depth: usize) {
    for argument in arguments {
        let file = argument.strip_prefix('@').filter(|_| depth < DEEPEST);
        match file.and_then(|file| read(&directory.join(file))) {
            Some(text) => {
                let words = words(&String::from_utf8_lossy(&text));
                expand_into(expanded, words, directory, depth + 1);
            }
            None => expanded.push(argument),
        }
    }
}

/// Only what can be read twice: the real compiler reads it too.
fn read(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    fs::read(path).ok()
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, None) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "{text:?}");
    }

    #[test]
    fn words_are_split_as_gcc_splits_them() {
        check(" -O2\n\t-c  a.c\n", &["-O2", "-c", "a.c"]);
        check(r#"-DS=\"a\ b\" '-I x' "y 'z'""#, &["-DS=\"a b\"", "-I x", "y 'z'"]);
        check(r#"-D"A B"=1 "" ''"#, &["-DA B=1", "", ""]);
        check(r#""a\"b" 'c\'d'"#, &["a\"b", "c'd"]);
    }

    #[test]
    fn files_name_further_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("outer"), "-c @inner @missing b.c").unwrap();
        fs::write(folder.path().join("inner"), "'a b.c'").unwrap();
        fs::write(folder.path().join("self"), "x @self").unwrap();
        let expand = |word: &str| expand(vec![word.to_owned()], folder.path());
        assert_eq!(expand("@outer"), ["-c", "a b.c", "@missing", "b.c"]);
        assert_eq!(expand("@self").len(), DEEPEST + 1);
    }
}
