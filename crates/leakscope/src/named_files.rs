//! Files of its folder that a program names itself: they are made up, too.

use std::fs;

use anyhow::Result;
use leakscope_capture::Input;
use leakscope_instrument::texts;

use crate::analysed::Analysed;

/// Functions that open files; the last two are of streams in C++.
const OPENERS: [&str; 7] = [
    "fopen",
    "fopen64",
    "open",
    "open64",
    "openat",
    "_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode",
    "_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode",
];

/// More may be named with `--sym-file`.
const MOST: usize = 2;

/// Names of files among the texts of a program that opens some.
pub fn named_files(analysed: &Analysed) -> Result<Vec<String>> {
    let mut functions = analysed.program.functions.iter();
    if !functions.any(|function| OPENERS.contains(&function.name.as_str())) {
        return Ok(Vec::new());
    }
    let link = analysed.store.link(&analysed.link)?;
    let mut names: Vec<String> = Vec::new();
    for input in &link.arguments {
        let Input::Units { units, .. } = input else { continue };
        for id in units {
            names.extend(
                texts(&fs::read(analysed.store.bitcode(id))?)?.into_iter().filter(|text| is_name(text)),
            );
        }
    }
    names.sort();
    names.dedup();
    names.truncate(MOST);
    Ok(names)
}

/// Whether a text is the name of a file with an ending, and nothing else.
fn is_name(text: &str) -> bool {
    let is_plain = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let is_ending = |end: &str| end.len() <= 5 && end.bytes().any(|byte| byte.is_ascii_alphabetic());
    text.rsplit_once('.').is_some_and(|(stem, end)| is_plain(stem) && is_plain(end) && is_ending(end))
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_of_files_have_an_ending() {
        assert!(["app.conf", "table.bin", "my-data_1.db"].into_iter().all(is_name));
        let others = ["", "a", "1.5", "%s.txt", "/etc/x.conf", "a b.c", "No file.", ".x"];
        assert!(!others.into_iter().any(is_name));
    }
}
