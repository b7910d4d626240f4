//! Which declaration a name means at a place of the source. The text is looked
//! at, not parsed: braces say which scopes have ended.

use crate::statement::{declares_pointer, split_at_word};

/// What a name is at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Declared by this text; whether as a pointer.
    Visible { declaration: String, pointer: bool },
    /// Declared in a scope that has ended.
    Ended,
    /// Not declared above the place: it may be anything.
    Unknown,
}

/// Words that begin a statement with a scope of its own.
const HEADERS: [&str; 4] = ["for", "while", "if", "switch"];

/// What `name` means behind `lines`, which begin with the file.
pub(crate) fn meaning<'l>(lines: impl Iterator<Item = &'l str>, name: &str) -> Meaning {
    // For each scope around, what declares the name there.
    let mut scopes: Vec<Option<Meaning>> = vec![None];
    let (mut piece, mut parentheses, mut ended) = (String::new(), 0_usize, false);
    let declared = |piece: &str| {
        let pointer = declares_pointer(piece, name)?;
        Some(Meaning::Visible { declaration: piece.trim().to_owned(), pointer })
    };
    for character in code(lines) {
        match character {
            '{' if parentheses == 0 && !piece.trim_end().ends_with('=') => {
                scopes.push(declared(&std::mem::take(&mut piece)))
            }
            '}' if parentheses == 0 => {
                piece.clear();
                ended |= scopes.pop().flatten().is_some();
                if scopes.len() <= 1 {
                    ended = false;
                    scopes.resize(1, None);
                }
            }
            ';' if parentheses == 0 => {
                let piece = std::mem::take(&mut piece);
                let is_prototype = scopes.len() == 1 && piece.contains('(');
                match declared(&piece).filter(|_| !is_prototype) {
                    Some(_) if has_header(&piece) => ended = true,
                    Some(found) => *scopes.last_mut().expect("the file's") = Some(found),
                    None => {}
                }
            }
            _ => {
                match character {
                    '(' | '{' => parentheses += 1,
                    ')' | '}' => parentheses = parentheses.saturating_sub(1),
                    _ => {}
                }
                piece.push(character);
            }
        }
    }
    let in_header = declared(&piece).filter(|_| has_header(&piece));
    let found = in_header.or_else(|| scopes.into_iter().rev().flatten().next());
    found.unwrap_or(if ended { Meaning::Ended } else { Meaning::Unknown })
}

fn has_header(piece: &str) -> bool {
    let first = piece.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    HEADERS.contains(&first)
}

/// The characters of lines without comments, texts and preprocessor's lines.
fn code<'l>(lines: impl Iterator<Item = &'l str>) -> impl Iterator<Item = char> {
    let mut in_comment = false;
    lines.flat_map(move |line| {
        let mut code = String::new();
        let mut rest = if line.trim_start().starts_with('#') && !in_comment { "" } else { line };
        while let Some(character) = rest.chars().next() {
            let length = if in_comment {
                rest.find("*/").map_or(rest.len(), |at| {
                    in_comment = false;
                    at + 2
                })
            } else if rest.starts_with("//") {
                rest.len()
            } else if rest.starts_with("/*") {
                in_comment = true;
                2
            } else if character == '"' || character == '\'' {
                1 + end_of_text(&rest[1..], character)
            } else {
                code.push(character);
                character.len_utf8()
            };
            rest = &rest[length..];
        }
        code.push(' ');
        code.into_bytes().into_iter().map(char::from)
    })
}

/// Bytes up to the quote that ends a text, with it.
fn end_of_text(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let ends = |&(_, character): &(usize, char)| {
        let ends = character == quote && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends
    };
    text.char_indices().find(ends).map_or(text.len(), |(at, quote)| at + quote.len_utf8())
}

/// Whether control can come to the line below these: the last statement is no
/// jump, or one that a condition decides.
pub(crate) fn is_reached(above: &[String]) -> bool {
    let code = |line: &String| line.split("//").next().unwrap_or_default().trim().to_owned();
    let mut lines = above.iter().rev().map(code).filter(|line| !line.is_empty());
    let Some(last) = lines.next() else { return true };
    let jumps = ["return", "goto", "break", "continue", "throw"]
        .iter()
        .any(|word| split_at_word(&last, word).is_some_and(|(before, _)| before.is_empty()));
    let decides = |line: String| !line.ends_with([';', '{', '}', ':']);
    !jumps || lines.next().is_some_and(decides)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match meaning(text.lines(), "p") {
            Meaning::Visible { declaration, .. } => declaration,
            Meaning::Ended => "ended".to_owned(),
            Meaning::Unknown => "unknown".to_owned(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_nearest_scope_counts() {
        check("void f(char *p) {\n", "void f(char *p)");
        check("void f(char *p) {\n {\n  int *p = g();\n", "int *p = g()");
        check("char *p;\nvoid f() {\n", "char *p");
        check("void f() {\n char *a, *p;\n if (a) {\n", "char *a, *p");
        check("void f() {\n struct s p = { 1, \"}\" }; // }\n", "struct s p = { 1,  }");
    }

    #[test]
    fn scopes_end() {
        check("void f() {\n {\n  int *p = g();\n }\n", "ended");
        check(
            "void f() {\n for (t *p = g(); p; p = p->next) {\n  h(p);\n",
            "for (t *p = g(); p; p = p->next)",
        );
        check("void f() {\n for (t *p = g(); p; p = p->next)\n", "for (t *p = g(); p; p = p->next)");
        check("void f() {\n for (t *p = g(); p; p = p->next) {\n  h(p);\n }\n", "ended");
        check("void f() {\n for (t *p = g(); p; p = p->next)\n  h(p);\n", "ended");
        check("void g(char *p) {\n}\nvoid h(char *p);\nvoid f() {\n", "unknown");
    }
}
