//! What the text of one statement says about a variable. The text is looked
//! at, not parsed: where it is not clear, the answer is the cautious one.

use leakscope_core::Cause;

/// Whether `statement`, where the pointer in `variable` dies, does not need it
/// any more.
pub(crate) fn is_free_to_go(cause: Cause, variable: &str, statement: &str) -> bool {
    match cause {
        Cause::Overwritten => match assigned(statement) {
            // What lies behind the end of a list that grows was handed out, or never there.
            Some(value) => {
                let target = &statement[..statement.len() - value.len()];
                !mentions(value, variable) && !target.contains("++") && !target.contains("--")
            }
            None => {
                ["memset(", "bzero(", "memcpy(", "memmove("].iter().any(|call| statement.starts_with(call))
            }
        },
        Cause::ScopeEnd => {
            let jump = |word| split_at_word(statement, word).filter(|(before, _)| is_condition(before));
            match jump("return") {
                Some((_, value)) => !mentions(value, variable),
                None => {
                    statement.starts_with('}')
                        || ["break", "continue", "goto"].into_iter().any(|word| jump(word).is_some())
                }
            }
        }
        Cause::HolderFreed => {
            let holder = &variable[..variable.rfind(['>', '.', '[']).unwrap_or(0)];
            let holder = holder.trim_end_matches(['-', '>']);
            holder.contains(is_word)
                && split_at_word(statement, "realloc").is_none()
                && mentions(statement, holder)
        }
        _ => false,
    }
}

/// Whether the statement has its line for itself, so that another may be put
/// before it.
pub(crate) fn stands_alone(statement: &str) -> bool {
    let conditions = ["if", "else", "for", "while", "do", "switch", "case", "default"];
    let first = statement.split(|c| !is_word(c)).next().unwrap_or_default();
    !conditions.contains(&first) && statement.matches(';').count() <= 1
}

/// Whether `text` may read `variable`: names it, or the whole of what it is a
/// part of. Another member of the same structure does not count.
fn mentions(text: &str, variable: &str) -> bool {
    let without_spaces = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let (text, variable) = (without_spaces(text), without_spaces(variable));
    let start = variable.find(is_word).unwrap_or(0);
    let end = start + variable[start..].find(|c| !is_word(c)).unwrap_or(variable.len() - start);
    let (base, member) = (&variable[start..end], &variable[end..]);
    if base.is_empty() {
        return true;
    }
    let mut rest = text.as_str();
    while let Some((_, after)) = split_at_word(rest, base) {
        let other_member = (after.starts_with("->") || after.starts_with('.')) && !after.starts_with(member);
        if member.is_empty() || !other_member {
            return true;
        }
        rest = after;
    }
    false
}

/// An expression that may be evaluated once more.
pub(crate) fn is_plain(variable: &str) -> bool {
    !variable.contains("--")
        && !variable.contains("...")
        && variable.starts_with(|c: char| is_word(c) || c == '*' || c == '(')
        && variable.chars().all(|c| is_word(c) || "->.[]*()".contains(c))
}

/// Words that stand before a name that they do not declare.
const NOT_TYPES: [&str; 8] = ["return", "delete", "else", "case", "throw", "sizeof", "new", "goto"];

/// Words behind which a name is that of a type: `struct entry *entry`.
const TAGS: [&str; 4] = ["struct", "union", "enum", "class"];

/// If `line` declares `name`: whether as a pointer.
pub(crate) fn declares_pointer(line: &str, name: &str) -> Option<bool> {
    let mut from = 0;
    let (before, word) = loop {
        let (_, after) = split_at_word(&line[from..], name)?;
        from = line.len() - after.len();
        let before = line[..from - name.len()].trim_end();
        let word = before.rsplit(|c| !is_word(c)).next().unwrap_or_default();
        if !TAGS.contains(&word) {
            break (before, word);
        }
    };
    match word {
        // `std::optional<Cursor> cursor_;`
        "" if before.ends_with('>') && before.contains('<') && !before.ends_with("->") => Some(false),
        "" => before.ends_with('*').then_some(true),
        "const" => Some(before.trim_end_matches("const").trim_end().ends_with('*')),
        word if NOT_TYPES.contains(&word) => None,
        word => Some(word == "auto"),
    }
}

/// What stands before a jump: nothing, or what decides whether it is taken.
fn is_condition(before: &str) -> bool {
    before.is_empty()
        || ["if", "else", "}"].iter().any(|word| before.starts_with(word)) && !before.contains(';')
}

/// The right side of an assignment.
pub(crate) fn assigned(statement: &str) -> Option<&str> {
    let bytes = statement.as_bytes();
    let at = (1..bytes.len()).find(|&at| {
        bytes[at] == b'=' && bytes.get(at + 1) != Some(&b'=') && !b"=!<>+-*/%&|^".contains(&bytes[at - 1])
    })?;
    Some(&statement[at + 1..])
}

/// `text` before and after the first `word` that is not part of a longer one.
pub(crate) fn split_at_word<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let found = text
        .match_indices(word)
        .find(|&(at, _)| !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word))?;
    Some((&text[..found.0], &text[found.0 + word.len()..]))
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
