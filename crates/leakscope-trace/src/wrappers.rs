//! Functions that hand out blocks on behalf of others, as `xmalloc` does.
//!
//! A name such as `xmalloc` is enough (`Frame::is_wrapper`). Other functions
//! are told by how they are used: one line of theirs allocates, in different
//! sizes, for different functions. A constructor asks for one size. What a
//! function does with the block cannot be seen here, so a function whose name
//! gives no hint needs many callers, and must call the allocator itself.

use std::collections::{BTreeMap, BTreeSet};

use leakscope_core::{Frame, Place};

use crate::places::{PlaceId, Places};

/// Where blocks were allocated, and some of their sizes.
#[derive(Default)]
pub struct Allocations {
    sizes: BTreeMap<PlaceId, BTreeSet<u64>>,
}

/// The functions that were found to be wrappers, with their files.
#[derive(Debug, Default)]
pub struct Wrappers {
    functions: BTreeSet<(String, String)>,
}

/// A function by its name and its file.
type Function<'a> = (&'a str, &'a str);

/// So many callers and sizes make a wrapper of a function with a telling name.
const SOME: usize = 2;
/// The same for any function.
const MANY: usize = 4;
const TELLING: [&str; 2] = ["alloc", "dup"];

/// How a function is used.
#[derive(Default)]
struct Use<'a> {
    lines: BTreeSet<Option<u32>>,
    callers: BTreeSet<Function<'a>>,
    sizes: BTreeSet<u64>,
}

impl Allocations {
    pub fn add(&mut self, place: PlaceId, size: Option<u64>) {
        let sizes = self.sizes.entry(place).or_default();
        if sizes.len() < MANY {
            sizes.extend(size);
        }
    }

    /// Wrappers of wrappers are found in rounds, from the innermost outwards.
    pub fn wrappers(&self, places: &Places) -> Wrappers {
        let mut found: BTreeSet<Function> = BTreeSet::new();
        let mut enough = MANY;
        loop {
            let mut uses: BTreeMap<Function, Use> = BTreeMap::new();
            for (&place, sizes) in &self.sizes {
                let mut own = places.stack(place).filter(|frame| !frame.system).skip_while(|frame| {
                    frame.is_wrapper() || function(frame).is_some_and(|f| found.contains(&f))
                });
                let Some((line, asking)) = own.next().and_then(|frame| Some((frame.line, function(frame)?)))
                else {
                    continue;
                };
                let used = uses.entry(asking).or_default();
                used.lines.insert(line);
                used.callers.extend(own.find_map(|frame| function(frame).filter(|&caller| caller != asking)));
                used.sizes.extend(sizes);
            }
            let before = found.len();
            found.extend(uses.iter().filter(|(f, used)| used.is_wrappers(f.0, enough)).map(|(&f, _)| f));
            if found.len() == before {
                let owned = |&(name, file): &Function| (name.to_owned(), file.to_owned());
                return Wrappers { functions: found.iter().map(owned).collect() };
            }
            enough = usize::MAX;
        }
    }
}

impl Use<'_> {
    fn is_wrappers(&self, name: &str, enough: usize) -> bool {
        let telling = TELLING.iter().any(|part| name.to_ascii_lowercase().contains(part));
        let enough = if telling { SOME } else { enough };
        self.lines.len() == 1 && self.callers.len() >= enough && self.sizes.len() >= enough
    }
}

impl Wrappers {
    /// `place` with its wrappers marked: those between the allocator and the
    /// function that asked.
    pub fn mark(&self, mut place: Place) -> Place {
        let is_wrapper = |frame: &Frame| {
            frame.is_wrapper()
                || function(frame)
                    .is_some_and(|(name, file)| self.functions.contains(&(name.to_owned(), file.to_owned())))
        };
        let own = place.stack.iter_mut().filter(|frame| !frame.system);
        for frame in own.take_while(|frame| is_wrapper(frame)) {
            frame.wrapper = true;
        }
        place
    }
}

fn function(frame: &Frame) -> Option<Function<'_>> {
    Some((frame.function.as_deref()?, frame.file.as_deref().unwrap_or_default()))
}
