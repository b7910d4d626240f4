//! Which statement left a scope, where optimised code has nothing of it but the
//! jump of the condition before it. Compilers make one end of a function's returns, and
//! keep no line of theirs: what follows the condition is looked up in the source. So is what
//! stands before a closing brace which control cannot come to.
//!
//! Only a condition with such a statement right behind it is read; where anything else
//! stands there, or the source is not at hand, nothing is said.

use std::collections::HashMap;
use std::fs;

/// Lines of sources, as far as they were asked for.
#[derive(Default)]
pub struct Sources {
    files: HashMap<String, Vec<String>>,
}

impl Sources {
    /// The line and column of the statement that leaves a scope if the condition on
    /// `line` holds.
    pub fn left_by(&mut self, file: &str, line: u32) -> Option<(u32, u32)> {
        behind_condition(self.lines(file), line as usize)
    }

    /// The line and column of the statement that leaves a block right before the closing brace on
    /// `line`: nobody comes as far as the brace.
    pub fn before_brace(&mut self, file: &str, line: u32) -> Option<(u32, u32)> {
        last_statement(self.lines(file), line as usize)
    }

    /// Whether a statement that goes elsewhere begins `line`.
    pub fn jumps_at(&mut self, file: &str, line: u32) -> bool {
        let at = (line as usize).wrapping_sub(1);
        self.lines(file).get(at).is_some_and(|text| jumps(text.trim_start()))
    }

    /// Whether a statement on `line` leaves frames behind.
    pub fn leaves_frames_at(&mut self, file: &str, line: u32) -> bool {
        let at = (line as usize).wrapping_sub(1);
        self.lines(file).get(at).is_some_and(|text| leaves_frames(text))
    }

    fn lines(&mut self, file: &str) -> &[String] {
        self.files.entry(file.to_owned()).or_insert_with(|| {
            // A path may lead to something that would be waited for.
            let is_file = fs::metadata(file).is_ok_and(|found| found.is_file());
            let text = if is_file { fs::read(file).unwrap_or_default() } else { Vec::new() };
            String::from_utf8_lossy(&text).lines().map(code_of).collect()
        })
    }
}

/// A condition may have so many lines.
const LINES_MAX: usize = 8;

/// The statement behind the condition that the `line`th line is part of, counted from 1.
fn behind_condition(lines: &[String], line: usize) -> Option<(u32, u32)> {
    let at = line.checked_sub(1).filter(|&at| at < lines.len())?;
    let first =
        (at.saturating_sub(LINES_MAX)..=at).rev().find_map(|at| Some((at, condition(&lines[at])?)))?;
    let (mut at_line, mut rest) = first;
    let mut depth = 0_usize;
    loop {
        for (index, letter) in rest.char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => continue,
            }
            if depth == 0 {
                rest = &rest[index + 1..];
                // The condition was over before the line.
                return if at_line < at { None } else { leaving(lines, at_line, rest) };
            }
        }
        at_line += 1;
        rest = lines.get(at_line).filter(|_| at_line <= first.0 + LINES_MAX)?;
    }
}

/// A line from the parenthesis of its `if` on.
fn condition(line: &str) -> Option<&str> {
    let text = line.trim_start().trim_start_matches('}').trim_start();
    let text = text.strip_prefix("else").map_or(text, str::trim_start);
    text.strip_prefix("if").map(str::trim_start).filter(|text| text.starts_with('('))
}

/// The statement that begins with `rest` of a line, or on the next with any code.
fn leaving(lines: &[String], line: usize, rest: &str) -> Option<(u32, u32)> {
    let behind = rest.trim_start().trim_start_matches('{');
    let column = lines[line].len() - behind.len();
    let first = [(line, column, behind)].into_iter();
    let mut next = first.chain(lines.iter().enumerate().skip(line + 1).map(|(at, text)| (at, 0, &text[..])));
    let (at, column, text) = next.find(|(_, _, text)| !text.trim().is_empty())?;
    let statement = text.trim_start();
    let column = column + text.len() - statement.len();
    jumps(statement).then_some((at as u32 + 1, column as u32 + 1))
}

/// The statement on the last line with code before that of a closing brace, if it jumps, whatever
/// comes before it: that is another statement, or begins the block.
fn last_statement(lines: &[String], brace: usize) -> Option<(u32, u32)> {
    let brace = brace.checked_sub(1).filter(|&at| at < lines.len())?;
    let mut before = (0..brace).rev().filter(|&at| !lines[at].trim().is_empty());
    let (at, outer) = (before.next()?, before.next()?);
    let (text, outer) = (lines[at].trim_start(), lines[outer].trim_end());
    let is_meant = lines[brace].trim_start().starts_with('}')
        && jumps(text)
        && text.trim_end().ends_with(';')
        && outer.ends_with([';', '{', '}']);
    is_meant.then_some((at as u32 + 1, (lines[at].len() - text.len()) as u32 + 1))
}

/// Whether a statement goes elsewhere, whatever holds.
fn jumps(statement: &str) -> bool {
    let is_it = |word: &str| {
        let behind = statement.strip_prefix(word).and_then(|rest| rest.chars().next());
        behind.is_some_and(|letter| !letter.is_alphanumeric() && letter != '_')
    };
    ["return", "goto", "break", "continue"].into_iter().any(is_it)
}

/// Whether a line throws, or calls what never comes back to it.
fn leaves_frames(line: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let has = |word: &str, is_behind: fn(&str) -> bool| {
        line.match_indices(word).any(|(at, _)| {
            let behind = &line[at + word.len()..];
            !line[..at].ends_with(is_word) && !behind.starts_with(is_word) && is_behind(behind)
        })
    };
    let calls = |name| has(name, |behind| behind.trim_start().starts_with('('));
    // What stands behind a function's parameters promises.
    has("throw", |behind| !behind.trim_start().starts_with("()"))
        || ["longjmp", "siglongjmp", "pthread_exit"].into_iter().any(calls)
}

/// A line with blanks in the place of comments and of what is in quotes, as long as it was.
fn code_of(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let mut quote = None;
    let mut letters = line.char_indices();
    while let Some((at, letter)) = letters.next() {
        match quote {
            None if line[at..].starts_with("//") => break,
            None if line[at..].starts_with("/*") => {
                let end = line[at + 2..].find("*/").map_or(line.len(), |end| at + 2 + end + 2);
                code.extend(std::iter::repeat_n(' ', end - at));
                while letters.clone().next().is_some_and(|(next, _)| next < end) {
                    letters.next();
                }
                continue;
            }
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            Some(_) if letter == '\\' => {
                let skipped = letters.next().map_or(0, |(_, next)| next.len_utf8());
                code.extend(std::iter::repeat_n(' ', skipped));
            }
            Some(open) if letter == open => quote = None,
            _ => {}
        }
        let shown = if quote.is_some() || matches!(letter, '"' | '\'') { ' ' } else { letter };
        code.push(shown);
        code.extend(std::iter::repeat_n(' ', letter.len_utf8() - shown.len_utf8()));
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, line: usize, expected: Option<(u32, u32)>) {
        let lines: Vec<String> = source.lines().map(code_of).collect();
        assert_eq!(behind_condition(&lines, line), expected, "line {line} of {source:?}");
    }

    #[test]
    fn statements_behind_conditions_are_found() {
        check("if (x)\n    return -1;\n", 1, Some((2, 5)));
        check("    if (!f(\")\", ')')) {   // why\n\n        /* so */ goto out;\n", 1, Some((3, 18)));
        check("} else if (a ||\n           b(c))\n    continue;\n", 2, Some((3, 5)));
        check("if (x) break;\n", 1, Some((1, 8)));
    }

    #[test]
    fn statements_before_braces_are_found() {
        let check = |source: &str, line: usize, expected: Option<(u32, u32)>| {
            let lines: Vec<String> = source.lines().map(code_of).collect();
            assert_eq!(last_statement(&lines, line), expected, "line {line} of {source:?}");
        };
        check("if (x) {\n    y = f();   // so\n\n    return y;\n}\n", 5, Some((4, 5)));
        check("{\n  break;\n} else {\n", 3, Some((2, 3)));
        check("{\n    if (x)\n        return 1;\n}\n", 4, None);
        check("{\n    f();\n    g();\n}\n", 4, None);
        check("{\n    f();\n    return;\n    g();\n", 4, None);
        check("}", 1, None);
    }

    #[test]
    fn lines_that_leave_frames_are_known() {
        let check = |line: &str, expected| assert_eq!(leaves_frames(&code_of(line)), expected, "{line}");
        check("        throw std::range_error(\"negative\");", true);
        check("    if (x) throw;", true);
        check("    longjmp (*trap, 1);", true);
        check("    if (!s) { pthread_exit(NULL); }", true);
        check("    rethrow(e);   // throw", false);
        check("void f() throw() {", false);
        check("    jump = longjmp;", false);
        check("    puts(\"throw\");", false);
    }

    #[test]
    fn other_statements_are_not() {
        check("if (x)\n    f();\n", 1, None);
        check("if (x)\n    returned();\n", 1, None);
        check("while (x)\n    return 1;\n", 1, None);
        check("if (x)\n    f();\ng();\nreturn;\n", 3, None);
        check("if (x)", 1, None);
        check("if (x", 1, None);
        check("", 1, None);
        check("x)))\n", 1, None);
    }
}
