//! What the user calls the objects on which functions of libraries are called,
//! and the fields of what functions are given that take any pointer, as derived
//! programs say (`leakscope_wire::OBJECTS`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use leakscope_core::tidy;
use leakscope_wire as wire;
use object::{Object, ObjectSection};

use crate::module_file;

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Destructor,
    Assignment,
    Other,
}

/// File, line and column of a call.
type CallPlace = (String, u32, u32);

/// What a function was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A block in which the source calls a pointer so.
    With(String),
    /// What the calling function got as this parameter.
    On(u32),
}

/// A pointer in a block, or one in each element of an array in it.
struct Field {
    offset: u64,
    count: u64,
    stride: u64,
    /// With `[]` where the index goes.
    text: String,
}

/// An object on which a function is called.
struct On {
    called: Called,
    /// The function's symbol.
    symbol: String,
    /// What the source calls the object.
    object: String,
}

/// Objects by the place of the call.
#[derive(Default)]
pub struct Objects {
    read: BTreeSet<PathBuf>,
    /// At the end of a scope several destructors are called in one place.
    by_place: BTreeMap<CallPlace, Vec<On>>,
    /// By place and number of the argument.
    fields: BTreeMap<(CallPlace, u32), Vec<Field>>,
    passed_on: BTreeMap<(CallPlace, u32), u32>,
    /// Lines at which an integer changes by one.
    counting: BTreeSet<(String, u32)>,
}

impl Objects {
    /// Adds what a module says, once.
    pub fn read(&mut self, path: &Path) {
        if self.read.insert(path.to_owned())
            && let Some(text) = section(path)
        {
            for (place, on) in text.lines().filter_map(parse) {
                self.by_place.entry(place).or_default().push(on);
            }
            self.counting.extend(text.lines().filter_map(parse_count));
            for (argument, field) in text.lines().filter_map(parse_field) {
                self.fields.entry(argument).or_default().push(field);
            }
            self.passed_on.extend(text.lines().filter_map(parse_passed_on));
        }
    }

    /// Whether an integer in memory changes by one at this line, or up to so
    /// many lines before.
    pub fn counts(&self, file: &str, line: u32, before: u32) -> bool {
        let place = |line| (file.to_owned(), line);
        self.counting.range(place(line.saturating_sub(before))..=place(line)).next().is_some()
    }

    /// Whether the program says what its functions are given.
    pub fn has_passed(&self) -> bool {
        !self.fields.is_empty()
    }

    /// What is so many bytes behind an argument of a call.
    pub fn passed(&self, (file, line, column): (&str, u32, u32), number: u32, offset: u64) -> Option<Passed> {
        let argument = ((file.to_owned(), line, column), number);
        let fields = self.fields.get(&argument).map(Vec::as_slice).unwrap_or_default();
        let named = fields.iter().find_map(|field| field.at(offset)).map(Passed::With);
        named.or_else(|| self.passed_on.get(&argument).copied().map(Passed::On))
    }

    /// The object on which `function` was called in a place; without its name if it
    /// may be one of several.
    pub fn find(
        &self,
        (file, line, column): (&str, u32, u32),
        function: &str,
    ) -> Option<(Called, Option<&str>)> {
        let here = self.by_place.get(&(file.to_owned(), line, column))?;
        let is_meant = |on: &&On| addr2line::demangle_auto(on.symbol.as_str().into(), None) == function;
        let meant: Vec<&On> = here.iter().filter(is_meant).collect();
        let found = if meant.is_empty() { here.iter().collect() } else { meant };
        let first = found.first()?;
        let is_one = found.iter().all(|on| on.object == first.object);
        Some((first.called, is_one.then_some(first.object.as_str())))
    }
}

impl Field {
    fn at(&self, offset: u64) -> Option<String> {
        let (distance, stride) = (offset.checked_sub(self.offset)?, self.stride.max(1));
        let index = distance / stride;
        let is_here = distance.is_multiple_of(stride) && index < self.count;
        is_here.then(|| match self.count {
            1 => self.text.clone(),
            _ => self.text.replacen("[]", &format!("[{index}]"), 1),
        })
    }
}

fn section(path: &Path) -> Option<String> {
    let cache = module_file::open(path)?;
    let object = object::File::parse(&cache).ok()?;
    let data = object.section_by_name(wire::OBJECTS)?.uncompressed_data().ok()?;
    Some(String::from_utf8_lossy(&data).into_owned())
}

fn parse(line: &str) -> Option<(CallPlace, On)> {
    let (place, kind, rest) = split(line)?;
    let called = match kind {
        "d" => Called::Destructor,
        "a" => Called::Assignment,
        "m" => Called::Other,
        _ => return None,
    };
    let (symbol, object) = rest.split_once('\t')?;
    Some((place, On { called, symbol: symbol.to_owned(), object: object.to_owned() }))
}

fn parse_field(line: &str) -> Option<((CallPlace, u32), Field)> {
    let (place, _, rest) = split(line).filter(|&(_, kind, _)| kind == "f")?;
    let mut parts = rest.splitn(5, '\t');
    let mut number = || parts.next()?.parse::<u32>().ok();
    let (argument, [offset, count, stride]) = (number()?, [number()?, number()?, number()?].map(u64::from));
    Some(((place, argument), Field { offset, count, stride, text: parts.next()?.to_owned() }))
}

fn parse_passed_on(line: &str) -> Option<((CallPlace, u32), u32)> {
    let (place, _, rest) = split(line).filter(|&(_, kind, _)| kind == "p")?;
    let (argument, parameter) = rest.split_once('\t')?;
    Some(((place, argument.parse().ok()?), parameter.parse().ok()?))
}

/// The place of a line, its kind and what is behind that.
fn split(line: &str) -> Option<(CallPlace, &str, &str)> {
    let mut parts = line.splitn(5, '\t');
    let place = (tidy(parts.next()?), parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((place, parts.next()?, parts.next()?))
}

fn parse_count(line: &str) -> Option<(String, u32)> {
    let ((file, line, _), kind, _) = split(line)?;
    (kind == "c").then_some((file, line))
}
