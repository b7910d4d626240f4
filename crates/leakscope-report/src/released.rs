//! What the places where siblings are released say against one more release
//! here. As everywhere, the text is looked at, not parsed.

use leakscope_core::{Finding, Frame, Place};

use crate::scope::{self, Meaning};
use crate::snippet::Files;
use crate::statement::{is_word, split_at_word};

/// Control has passed a release of siblings when it comes to `leak`, or that
/// line is one: optimised code joins statements that are alike, a label is
/// come to from above too, and what a recursive structure frees is the holder.
pub(crate) fn is_behind_one(finding: &Finding, leak: &Frame, above: &[String]) -> bool {
    let is_passed = |line: u32| match leak.line {
        Some(at) if line < at => above.get(line as usize - 1..).is_some_and(is_scope_open),
        at => Some(line) == at,
    };
    let is_here = |frame: &Frame| (&frame.function, &frame.file) == (&leak.function, &leak.file);
    let places = finding.freed_elsewhere.iter().filter_map(|sibling| sibling.place.headline());
    places.filter(|frame| is_here(frame)).filter_map(|frame| frame.line).any(is_passed)
}

/// Who releases siblings goes on to call a function that leads to the leak: what is
/// released there comes by this line, and would be released twice.
pub(crate) fn goes_on_there(finding: &Finding, leaked: &Place, files: &mut Files) -> bool {
    finding.freed_elsewhere.iter().any(|sibling| {
        let is_common = |frame: &&Frame| {
            let function = |frame: &Frame| (frame.function.clone(), frame.file.clone());
            sibling.place.stack.iter().any(|other| function(other) == function(frame))
        };
        let own = leaked.stack.iter().take_while(|frame| !is_common(frame));
        let names: Vec<&str> = own.filter_map(called_by).collect();
        let calls = |line: &String| names.iter().any(|name| split_at_word(line, name).is_some());
        sibling.place.stack.iter().enumerate().any(|(depth, frame)| {
            let above = if depth == 0 { files.lines_above(frame) } else { Vec::new() };
            let start = above.iter().rposition(|line| line.starts_with('}')).map_or(0, |end| end + 1);
            // What stands above is come to again in a loop.
            let round = above[start..].iter().skip_while(|line| !begins_loop(line));
            files.lines_below(frame).iter().chain(round).any(calls)
        })
    })
}

fn begins_loop(line: &str) -> bool {
    let is_first = |word| split_at_word(line, word).is_some_and(|(before, _)| before.trim().is_empty());
    ["for", "while", "do"].into_iter().any(is_first)
}

/// The word by which the source calls the function of a frame.
fn called_by(frame: &Frame) -> Option<&str> {
    let name = frame.function.as_deref()?.split(['(', '<']).next()?;
    let name = name.rsplit(':').next()?;
    Some(if name.starts_with('~') { "delete" } else { name })
}

/// The scope of the first of these lines has not ended after the last, and no
/// jump has left it for certain.
fn is_scope_open(lines: &[String]) -> bool {
    let mut depth = 0_i32;
    for (number, line) in lines.iter().enumerate() {
        let jumps = ["return", "goto", "break", "continue"].iter().any(|word| line.trim().starts_with(word));
        if depth == 0 && jumps && !(number > 0 && decides(&lines[number - 1])) {
            return false;
        }
        for character in line.chars() {
            depth += i32::from(character == '{') - i32::from(character == '}');
            if depth < 0 {
                return false;
            }
        }
    }
    true
}

/// Whether this line says if the next one is come to.
fn decides(line: &str) -> bool {
    let line = line.trim();
    ["if", "else", "for", "while", "switch"].iter().any(|word| split_at_word(line, word).is_some())
        && !line.ends_with([';', '{'])
}

/// The function has given `variable` to another that is found when the program runs, as
/// `t->run(t->arg)`: some of these may take it over.
pub(crate) fn may_be_taken(variable: &str, above: &[String]) -> bool {
    let function = above.iter().rev().take_while(|line| !line.starts_with('}'));
    let gives = |line: &String| {
        line.match_indices('(').any(|(at, _)| {
            let called = line[..at].trim_end_matches(is_word);
            let is_member = called.len() < at && (called.ends_with("->") || called.ends_with('.'));
            is_member && arguments(&line[at + 1..]).any(|argument| argument == variable)
        })
    };
    function.into_iter().any(gives)
}

/// The arguments of a call, from behind its parenthesis on.
fn arguments(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let end = text.find(|character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        depth < 0
    });
    text[..end.unwrap_or(text.len())].split(',').map(str::trim)
}

/// The statement at `frame` frees a parameter of its function, as `free(c)` in
/// `void card_free(struct card *c)`.
pub(crate) fn frees_a_parameter(frame: &Frame, files: &mut Files) -> bool {
    let Some(statement) = files.statement(frame) else { return false };
    let freed = statement.trim_end_matches(';').trim_end_matches(')');
    let Some((_, name)) = freed.rsplit_once(['(', ' ']) else { return false };
    let name = name.trim();
    if name.is_empty() || !name.chars().all(is_word) {
        return false;
    }
    let above = files.lines_above(frame);
    let function = frame.function.as_deref().unwrap_or_default();
    let function =
        function.split(['(', '<']).next().unwrap_or_default().rsplit(':').next().unwrap_or_default();
    match scope::meaning(above.iter().map(String::as_str), name) {
        Meaning::Visible { declaration, .. } => split_at_word(&declaration, function)
            .is_some_and(|(_, parameters)| parameters.trim_start().starts_with('(')),
        _ => false,
    }
}

/// What follows the name of a function in a call of it is one argument: of
/// several, which one is the block is not told.
pub(crate) fn is_given_one(arguments: &str) -> bool {
    let Some(arguments) = arguments.trim_start().strip_prefix('(') else { return false };
    let mut depth = 0_i32;
    for character in arguments.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ')' => break,
            ',' if depth == 0 => return false,
            _ => {}
        }
    }
    !arguments.trim_start().starts_with(')')
}

/// The function that releases such blocks was called with `variable` on one of
/// the lines above, in this function: it counts, and found that others hold it.
pub(crate) fn was_called(function: &str, variable: &str, above: &[String]) -> bool {
    let call: String = format!("{function}({variable})").split_whitespace().collect();
    let lines = above.iter().rev().take_while(|line| !line.starts_with('}'));
    lines.into_iter().any(|line| line.split_whitespace().collect::<String>().contains(&call))
}
