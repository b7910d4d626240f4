//! The branches on the way to a leak as a reader follows them: each by what the
//! source asks there, and a loop's rounds once. As everywhere, the source is
//! looked at, not parsed; where it is not clear, nothing of it is told.

use std::fmt::Write;

use leakscope_core::{Finding, Frame, PathStep};

use crate::snippet::Files;
use crate::text::{DIM, Page};
use crate::wording;

/// Lines of a way: the last ones, which lead to the leak.
const LINES: usize = 12;
/// Branches of one round of a loop that is told once.
const LONGEST_ROUND: usize = 24;
/// Characters of a condition.
const WIDTH: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Line<'a> {
    Branch(&'a PathStep),
    /// The branches before it, so many, come so many more times.
    Again(usize, usize),
    /// So many branches before those shown.
    Omitted(usize),
}

impl Page<'_> {
    /// The branches that lead to the leak.
    pub(crate) fn way(&self, finding: &Finding, files: &mut Files) -> String {
        let mut out = String::new();
        for (index, line) in folded(&finding.path).into_iter().enumerate() {
            let says = match line {
                Line::Branch(step) => self.branch(step, files),
                Line::Again(1, times) => format!("… {} more", wording::count(times as u64, "time")),
                Line::Again(round, times) => {
                    format!("… these {round}, {} more", wording::count(times as u64, "time"))
                }
                Line::Omitted(count) => {
                    format!("… {} before (--format json has all)", wording::count(count as u64, "step"))
                }
            };
            let title = self.paint(DIM, &format!("{:12}", if index == 0 { "on this way" } else { "" }));
            let _ = writeln!(out, "  {title}  {says}");
        }
        out
    }

    /// What a branch decides by, where the source is there.
    fn branch(&self, step: &PathStep, files: &mut Files) -> String {
        let frame = Frame {
            function: Some(step.function.clone()),
            file: Some(step.file.clone()),
            line: Some(step.line),
            ..Frame::default()
        };
        let asked = files.around(step).and_then(|(before, code)| asked(&before, &code));
        let says = match asked {
            Some((text, says)) => {
                format!("`{}` {}", wording::printable(&text), says[usize::from(!step.taken)])
            }
            None => format!("branch {}", if step.taken { "taken" } else { "not taken" }),
        };
        format!("{}: {says}", self.frame(&frame))
    }
}

/// The way in few lines.
fn folded(path: &[PathStep]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let round = (1..=LONGEST_ROUND.min(rest.len() / 2)).find(|&round| rounds(rest, round) > 1);
        let (round, times) = round.map_or((1, 1), |round| (round, rounds(rest, round)));
        lines.extend(rest[..round].iter().map(Line::Branch));
        lines.extend((times > 1).then_some(Line::Again(round, times - 1)));
        rest = &rest[round * times..];
    }
    if lines.len() > LINES {
        let cut = lines.len() - LINES;
        let omitted = lines.drain(..cut).map(|line| line.branches()).sum();
        lines.insert(0, Line::Omitted(omitted));
    }
    lines
}

/// How often `path` begins with its first `round` steps.
fn rounds(path: &[PathStep], round: usize) -> usize {
    path.chunks_exact(round).take_while(|steps| *steps == &path[..round]).count()
}

impl Line<'_> {
    fn branches(&self) -> usize {
        match *self {
            Line::Branch(_) => 1,
            Line::Again(round, times) => round * times,
            Line::Omitted(count) => count,
        }
    }
}

/// What a branch decides by, from the code `before` it in its line and that
/// from its column on, and what it says if the branch is taken, and if not.
fn asked(before: &str, code: &str) -> Option<(String, [&'static str; 2])> {
    const TRUTH: [&str; 2] = ["is true", "is false"];
    let word = &code[..code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len())];
    let in_parentheses = || {
        let inside = code[word.len()..].trim_start().strip_prefix('(')?;
        Some(&inside[..end(inside, &[])?])
    };
    let (text, says) = match word {
        "for" => {
            let inside = in_parentheses()?;
            let mut parts = inside.split(';');
            (parts.nth(1).unwrap_or(inside), TRUTH)
        }
        "while" | "if" => (in_parentheses()?, TRUTH),
        "switch" => (in_parentheses()?, ["goes to a case", "goes to the default"]),
        // The condition of a `do` stands further down.
        "do" => return None,
        _ if code.starts_with("&&") || code.starts_with("||") => (left_side(before), TRUTH),
        _ => (&code[..end(code, &['?', ';', '{'])?], TRUTH),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    };
    (!text.is_empty()).then_some((text, says))
}

/// Where a piece of code ends: at a closing parenthesis that it did not open, or
/// at one of `signs` outside of all that it did.
fn end(code: &str, signs: &[char]) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, sign) in code.char_indices() {
        match sign {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            sign if depth == 0 && signs.contains(&sign) => return Some(at),
            _ => {}
        }
        if depth < 0 {
            return Some(at);
        }
    }
    None
}

/// The operand that ends at the end of `code`.
fn left_side(code: &str) -> &str {
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, sign) in code.char_indices().rev() {
        match sign {
            ')' | ']' => depth += 1,
            '(' | '[' => depth -= 1,
            _ => {}
        }
        let is_operator = code[..=at].ends_with("&&") || code[..=at].ends_with("||");
        if depth < 0 || depth == 0 && (is_operator || ";{?".contains(sign)) {
            start = at + sign.len_utf8();
            break;
        }
    }
    code[start..].trim().trim_start_matches("return ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(line: u32) -> PathStep {
        let (file, function) = ("a.c".to_owned(), "f".to_owned());
        PathStep { file, line, column: 1, ordinal: 0, taken: true, function }
    }

    #[test]
    fn rounds_of_a_loop_are_told_once() {
        // Lines of branches; `x2*1` are two of them once more, `-3` are three left out.
        let check = |path: &[u32], expected: &str| {
            let path: Vec<PathStep> = path.iter().map(|&line| step(line)).collect();
            let text = |line: &Line| match line {
                Line::Branch(step) => step.line.to_string(),
                Line::Again(round, times) => format!("x{round}*{times}"),
                Line::Omitted(count) => format!("-{count}"),
            };
            let lines: Vec<String> = folded(&path).iter().map(text).collect();
            assert_eq!(lines.join(" "), expected);
        };
        check(&[], "");
        check(&[1, 2, 3], "1 2 3");
        check(&[1, 1, 1, 2], "1 x1*2 2");
        check(&[9, 1, 2, 1, 2, 1, 3], "9 1 2 x2*1 1 3");
        check(&(1..=15).collect::<Vec<_>>(), "-3 4 5 6 7 8 9 10 11 12 13 14 15");
        let looped: Vec<u32> = [1, 1, 1, 1].into_iter().chain(10..22).collect();
        check(&looped, "-4 10 11 12 13 14 15 16 17 18 19 20 21");
    }

    #[test]
    fn a_branch_is_told_by_what_it_asks() {
        // The column is that of the first character of `at`.
        let check = |line: &str, at: &str, expected: &str| {
            let start = line.find(at).expect("it is in the line");
            let found = asked(&line[..start], &line[start..]);
            let found = found.map(|(text, [taken, _])| format!("{text} {taken}"));
            assert_eq!(found.unwrap_or_default(), expected, "{line}");
        };
        check("    if (p == NULL)", "p ==", "p == NULL is true");
        check("    if (p == NULL || n < 0)", "||", "p == NULL is true");
        check("    if (p == NULL || n < 0)", "p ==", "p == NULL || n < 0 is true");
        check("    if (a && (b || f(c, d)) && e)", "&& e", "(b || f(c, d)) is true");
        check("    if (a && (b || f(c, d)) && e)", "|| f", "b is true");
        check("    return a && b;", "&& b", "a is true");
        check("    for (int i = 0; i < n; i++)", "for", "i < n is true");
        check("    for (auto &x : list) {", "for", "auto &x : list is true");
        check("    while (*p != '\\0') {", "while", "*p != '\\0' is true");
        check("    switch (kind & 3) {", "switch", "kind & 3 goes to a case");
        check("    x = f(a, b ? c : d);", "b ?", "b is true");
        check("    do", "do", "");
        check("    if (very(long,", "very", "");
        check("    }", "}", "");
    }
}
