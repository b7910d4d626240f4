//! A call stack made short: recursion counted, the system's frames folded, the
//! middle of a deep stack left out.

use leakscope_core::{Frame, Place};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// A frame, and how often it follows itself.
    Frame(&'a Frame, usize),
    /// So many frames of the system between the user's.
    System(usize),
    /// So many frames left out.
    Omitted(usize),
}

/// The outermost lines that stay when the middle is left out: `main` and what
/// it called.
const TAIL: usize = 2;

/// The stack of `place` in about `limit` lines. What lies below `main` is left
/// out silently.
pub(crate) fn folded(place: &Place, limit: usize) -> Vec<Line<'_>> {
    let own = place.stack.iter().rposition(|frame| !frame.system);
    let stack = match own {
        Some(last) => &place.stack[..=last],
        None => &place.stack[..],
    };
    let mut lines: Vec<Line> = Vec::new();
    for frame in stack {
        match lines.last_mut() {
            Some(Line::System(count)) if frame.system => *count += 1,
            _ if own.is_some() && frame.system => lines.push(Line::System(1)),
            Some(Line::Frame(last, times)) if *last == frame => *times += 1,
            _ => lines.push(Line::Frame(frame, 1)),
        }
    }
    if lines.len() > limit {
        let middle = limit - TAIL - 1..lines.len() - TAIL;
        let omitted = lines[middle.clone()].iter().map(Line::frames).sum();
        lines.splice(middle, [Line::Omitted(omitted)]);
    }
    lines
}

impl Line<'_> {
    fn frames(&self) -> usize {
        match *self {
            Line::Frame(_, count) | Line::System(count) | Line::Omitted(count) => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `stack` and `expected` are words, innermost first; a name that starts
    /// with `_` is the system's.
    fn check(stack: &str, expected: &str) {
        let frame = |name: &str| Frame {
            function: Some(name.to_owned()),
            system: name.starts_with('_'),
            ..Frame::default()
        };
        let place = Place::new(stack.split_whitespace().map(frame).collect());
        let found: Vec<String> = folded(&place, 6)
            .into_iter()
            .map(|line| match line {
                Line::Frame(frame, 1) => frame.function.clone().unwrap(),
                Line::Frame(frame, times) => format!("{}*{times}", frame.function.as_deref().unwrap()),
                Line::System(count) => format!("system*{count}"),
                Line::Omitted(count) => format!("omitted*{count}"),
            })
            .collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn stacks_fold() {
        check("", "");
        check("make main _start", "make main");
        check("compare _qsort_r _qsort sort main _start", "compare system*2 sort main");
        check("walk walk walk main", "walk*3 main");
        check("_getdelim _getline main", "system*2 main");
        check("_thread _clone", "_thread _clone");
        check("a b c d e f", "a b c d e f");
        check("a b c c d _e f g h", "a b c*2 omitted*3 g h");
    }
}
