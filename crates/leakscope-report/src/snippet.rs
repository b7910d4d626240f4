//! Source lines with what happened there written beside them.
//!
//! Rendering is `annotate-snippets`'; this module finds the lines, and from
//! the one column that debug information gives, the piece of code meant.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Renderer, Snippet};
use leakscope_core::{Frame, PathStep};

use crate::paths;
use crate::text::TextOptions;

/// The text of source files, by their path as a frame names it.
pub trait Sources {
    /// The bytes of `file`, which need not be UTF-8; `None` if there is no
    /// such file.
    fn text(&self, file: &str) -> Option<Cow<'_, [u8]>>;
}

impl Sources for BTreeMap<String, Vec<u8>> {
    fn text(&self, file: &str) -> Option<Cow<'_, [u8]>> {
        self.get(file).map(|text| Cow::Borrowed(text.as_slice()))
    }
}

/// The files read so far, each with where its lines start.
pub(crate) struct Files<'a> {
    sources: &'a dyn Sources,
    read: BTreeMap<String, Option<File<'a>>>,
}

struct File<'a> {
    text: Cow<'a, [u8]>,
    starts: Vec<usize>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(sources: &'a dyn Sources) -> Files<'a> {
        Files { sources, read: BTreeMap::new() }
    }

    fn file(&mut self, name: &str) -> Option<&File<'a>> {
        if !self.read.contains_key(name) {
            let file = self.sources.text(name).map(|text| {
                let ends = text.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at + 1);
                File { starts: [0].into_iter().chain(ends).collect(), text }
            });
            self.read.insert(name.to_owned(), file);
        }
        self.read[name].as_ref()
    }
}

/// Lines of a statement that are looked at.
const STATEMENT_LINES: usize = 8;

impl Files<'_> {
    /// The statement that begins in the line of `frame`, without comments: up
    /// to a semicolon or a brace that ends a line.
    pub(crate) fn statement(&mut self, frame: &Frame) -> Option<String> {
        let number = frame.line? as usize;
        let file = self.file(frame.file.as_deref()?)?;
        let mut statement = String::new();
        for line in (number..number + STATEMENT_LINES).map_while(|number| file.line(number)) {
            let line = String::from_utf8_lossy(line);
            let code = line.split("//").next().unwrap_or_default().split("/*").next().unwrap_or_default();
            statement += code.trim();
            if statement.ends_with([';', '{', '}']) {
                return Some(statement);
            }
            statement.push(' ');
        }
        None
    }

    /// The code before a branch in its line, and from its column on, to the end of
    /// what it may ask.
    pub(crate) fn around(&mut self, step: &PathStep) -> Option<(String, String)> {
        let number = step.line as usize;
        let file = self.file(&step.file)?;
        let (before, code) = file.line(number)?.split_at_checked(step.column.checked_sub(1)? as usize)?;
        let mut code = code.to_vec();
        for line in (number + 1..number + STATEMENT_LINES).map_while(|number| file.line(number)) {
            code.push(b' ');
            code.extend(line);
        }
        Some((String::from_utf8_lossy(before).into_owned(), String::from_utf8_lossy(&code).into_owned()))
    }

    /// The lines of the file above that of `frame`.
    pub(crate) fn lines_above(&mut self, frame: &Frame) -> Vec<String> {
        frame.line.map_or(Vec::new(), |line| self.lines(frame, 1..line as usize))
    }

    /// Those below it, to the end of the function.
    pub(crate) fn lines_below(&mut self, frame: &Frame) -> Vec<String> {
        let mut below =
            frame.line.map_or(Vec::new(), |line| self.lines(frame, line as usize + 1..usize::MAX));
        let end = below.iter().position(|line| line.starts_with('}'));
        below.truncate(end.unwrap_or(below.len()));
        below
    }

    fn lines(&mut self, frame: &Frame, numbers: Range<usize>) -> Vec<String> {
        let Some(file) = frame.file.as_deref().and_then(|file| self.file(file)) else { return Vec::new() };
        let lines = numbers.map_while(|number| file.line(number));
        lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }
}

impl File<'_> {
    /// The line of that number, from 1, without its end.
    fn line(&self, number: usize) -> Option<&[u8]> {
        let start = *self.starts.get(number.checked_sub(1)?)?;
        let end = self.starts.get(number).map_or(self.text.len(), |&next| next - 1);
        self.text.get(start..end)
    }
}

/// A place to show.
pub(crate) struct Spot<'a> {
    pub frame: &'a Frame,
    pub label: String,
    /// What to do there.
    pub help: Option<String>,
    pub weight: AnnotationKind,
}

/// Places of one file that are at most so many lines apart share a snippet.
const NEAR: usize = 30;
/// The same for the place to look at first, which should stand first.
const BESIDE: usize = 6;

/// The snippets of `spots`, in their order, and the spots whose source is not
/// to be had.
pub(crate) fn render<'a>(
    level: Level<'_>,
    spots: Vec<Spot<'a>>,
    files: &mut Files,
    options: &TextOptions,
) -> (String, Vec<Spot<'a>>) {
    let mut windows: Vec<Window> = Vec::new();
    let mut missing = Vec::new();
    for spot in spots {
        let Some((file, line, span)) = marked(spot.frame, files) else {
            missing.push(spot);
            continue;
        };
        let mark = Mark { line, span, label: spot.label, weight: spot.weight };
        let help = spot.help;
        match windows.iter_mut().find(|window| window.file == file && window.is_near(line)) {
            Some(window) => {
                window.marks.push(mark);
                window.help.extend(help);
            }
            None => windows.push(Window { file, marks: vec![mark], help: help.into_iter().collect() }),
        }
    }
    if windows.is_empty() {
        return (String::new(), missing);
    }
    let elements = windows.into_iter().flat_map(|mut window| {
        let help = std::mem::take(&mut window.help);
        let snippet = window.snippet(files, options).map(Element::from);
        snippet.into_iter().chain(help.into_iter().map(|help| Level::HELP.message(help).into()))
    });
    let group = Group::with_level(level).elements(elements);
    let renderer = if options.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Unicode).term_width(options.width);
    (with_common_signs(&renderer.render(&[group])), missing)
}

/// The sign that `annotate-snippets` sets before a second path is missing in
/// common terminal fonts. Source lines have a bar before their text.
fn with_common_signs(rendered: &str) -> String {
    let lines: Vec<Cow<str>> = rendered
        .lines()
        .map(|line| match line.split_once("⸬ ") {
            Some((before, after)) if !before.contains('│') => Cow::Owned(format!("{before}├▸{after}")),
            _ => Cow::Borrowed(line),
        })
        .collect();
    lines.join("\n")
}

/// A stretch of one file.
struct Window<'a> {
    file: &'a str,
    marks: Vec<Mark>,
    help: Vec<String>,
}

struct Mark {
    line: usize,
    span: Range<usize>,
    label: String,
    weight: AnnotationKind,
}

impl Window<'_> {
    fn is_near(&self, line: usize) -> bool {
        let first = self.marks.iter().any(|mark| mark.weight == AnnotationKind::Primary);
        let near = if first { BESIDE } else { NEAR };
        self.marks.iter().any(|mark| mark.line.abs_diff(line) <= near)
    }

    fn snippet<'s>(self, files: &mut Files, options: &TextOptions) -> Option<Snippet<'s, Annotation<'s>>> {
        let first = self.marks.iter().map(|mark| mark.line).min()?;
        let last = self.marks.iter().map(|mark| mark.line).max()?;
        let file = files.file(self.file)?;
        let mut text = String::new();
        let mut starts = Vec::new();
        for line in (first..=last).map_while(|number| file.line(number)) {
            starts.push(text.len());
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        let annotations = self.marks.into_iter().map(|mark| {
            let start = starts[mark.line - first];
            mark.weight.span(start + mark.span.start..start + mark.span.end).label(mark.label)
        });
        let path = paths::near(self.file, options.base_dir.as_deref());
        Some(Snippet::source(text).line_start(first).path(path).annotations(annotations))
    }
}

/// The file, line number and marked piece of `frame`, where its source is
/// there and has text in that line.
fn marked<'a>(frame: &'a Frame, files: &mut Files) -> Option<(&'a str, usize, Range<usize>)> {
    let name = frame.file.as_deref()?;
    let number = frame.line? as usize;
    let line = files.file(name)?.line(number)?;
    if line.trim_ascii().is_empty() {
        return None;
    }
    let column = frame.column.filter(|&column| column > 0).map(|column| column as usize - 1);
    let before = column.and_then(|column| line.get(..column));
    let start = before.map(|before| String::from_utf8_lossy(before).len());
    Some((name, number, piece(&String::from_utf8_lossy(line), start)))
}

/// The code that a column stands for: a call with its arguments, an
/// assignment's whole statement, a token, or without a column the line.
fn piece(line: &str, start: Option<usize>) -> Range<usize> {
    let whole = line.len() - line.trim_start().len()..line.trim_end().len();
    let Some((start, rest)) = start.and_then(|start| Some((start, line.get(start..)?))) else {
        return whole;
    };
    let statement_end = start + rest.find(';').unwrap_or(rest.trim_end().len());
    let Some(first) = rest.chars().next().filter(|c| !c.is_whitespace()) else {
        return whole;
    };
    if first == '=' {
        let before = line[..start].rfind([';', '{', '}']).map_or(0, |at| at + 1);
        let indent = line[before..].len() - line[before..].trim_start().len();
        return before + indent..statement_end;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if !is_word(first) {
        return start..start + first.len_utf8();
    }
    let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
    if ["return", "new", "delete", "throw"].contains(&word) {
        return start..statement_end;
    }
    start..start + word.len() + call_length(&rest[word.len()..])
}

/// The length of the parenthesised arguments at the start of `text`, 0 if
/// there are none or they go on in the next line.
fn call_length(text: &str) -> usize {
    if !text.starts_with('(') {
        return 0;
    }
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return at + 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let sources = BTreeMap::from([("a.c".to_owned(), b"one\r\n\nthree".to_vec())]);
        let mut files = Files::new(&sources);
        let mut check = |file, number, expected: Option<&str>| {
            let line = files.file(file).and_then(|file| file.line(number));
            assert_eq!(line, expected.map(str::as_bytes), "line {number} of {file}");
        };
        check("a.c", 0, None);
        check("a.c", 1, Some("one\r"));
        check("a.c", 2, Some(""));
        check("a.c", 3, Some("three"));
        check("a.c", 4, None);
        check("b.c", 1, None);
    }

    #[test]
    fn a_column_stands_for_a_piece_of_code() {
        // The column is that of the first character of `at`.
        let check = |line: &str, at: &str, expected: &str| {
            let start = (!at.is_empty()).then(|| line.find(at).unwrap());
            assert_eq!(&line[piece(line, start)], expected, "{at:?} in {line:?}");
        };
        check("    n = malloc(sizeof(*n));", "malloc", "malloc(sizeof(*n))");
        check("    n = malloc(sizeof(*n));", "=", "n = malloc(sizeof(*n))");
        check("  if (x) { head = NULL; return; }", "= N", "head = NULL");
        check("  if (x) { head = NULL; return 1; }", "return", "return 1");
        check("    auto *p = new Widget(1, 2);", "new", "new Widget(1, 2)");
        check("}", "}", "}");
        check("  call(a,", "call", "call");
        check("  größe(ä) + 1", "größe", "größe(ä)");
        check("\tfree(p);  ", "", "free(p);");
        assert_eq!(piece("  x;", Some(99)), 2..4, "a column beyond the line stands for the line");
    }
}
