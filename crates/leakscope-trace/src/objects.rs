//! What the user calls the objects on which functions of libraries are called,
//! as derived programs say (`leakscope_wire::OBJECTS`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use leakscope_core::tidy;
use leakscope_wire as wire;
use object::{Object, ObjectSection, ReadCache};

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Destructor,
    Assignment,
    Other,
}

/// File, line and column of a call.
type CallPlace = (String, u32, u32);

/// Objects by the place of the call.
#[derive(Default)]
pub struct Objects {
    read: BTreeSet<PathBuf>,
    by_place: BTreeMap<CallPlace, (Called, String)>,
    /// Lines at which an integer changes by one.
    counting: BTreeSet<(String, u32)>,
}

impl Objects {
    /// Adds what a module says, once.
    pub fn read(&mut self, path: &Path) {
        if self.read.insert(path.to_owned())
            && let Some(text) = section(path)
        {
            self.by_place.extend(text.lines().filter_map(parse));
            self.counting.extend(text.lines().filter_map(parse_count));
        }
    }

    /// Whether an integer in memory changes by one at this line, or up to so
    /// many lines before.
    pub fn counts(&self, file: &str, line: u32, before: u32) -> bool {
        let place = |line| (file.to_owned(), line);
        self.counting.range(place(line.saturating_sub(before))..=place(line)).next().is_some()
    }

    pub fn find(&self, file: &str, line: u32, column: u32) -> Option<(Called, &str)> {
        let (called, object) = self.by_place.get(&(file.to_owned(), line, column))?;
        Some((*called, object))
    }
}

fn section(path: &Path) -> Option<String> {
    // A path that a damaged record names may be no file at all.
    let file = Some(path).filter(|path| path.is_file()).and_then(|path| File::open(path).ok())?;
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let data = object.section_by_name(wire::OBJECTS)?.uncompressed_data().ok()?;
    Some(String::from_utf8_lossy(&data).into_owned())
}

fn parse(line: &str) -> Option<(CallPlace, (Called, String))> {
    let mut parts = line.splitn(5, '\t');
    let place = (tidy(parts.next()?), parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let called = match parts.next()? {
        "d" => Called::Destructor,
        "a" => Called::Assignment,
        "c" => return None,
        _ => Called::Other,
    };
    Some((place, (called, parts.next()?.to_owned())))
}

fn parse_count(line: &str) -> Option<(String, u32)> {
    let mut parts = line.splitn(5, '\t');
    let place = (tidy(parts.next()?), parts.next()?.parse().ok()?);
    (parts.nth(1)? == "c").then_some(place)
}
