//! The places of a derived program, as its sections describe them.

use std::ops::Range;
use std::path::Path;

use leakscope_wire::symbolic::{PLACES_SECTION, Place, PlaceKind};
use object::{Object, ObjectSection};
use rustc_hash::FxHashMap;
use zerocopy::FromBytes;

use crate::ConcolicError;
use crate::warning::Spot;

/// A number that events name a place by.
pub type PlaceId = u32;

/// One place of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    pub kind: PlaceKind,
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Which of those of this kind, line and column in the function.
    pub ordinal: u16,
    pub function: String,
    /// Of a switch, in order.
    pub cases: Vec<u64>,
    /// The code branches on the opposite of what the source says.
    pub is_reversed: bool,
}

impl Located {
    pub fn spot(&self) -> Spot {
        Spot::new(self.file.clone(), self.line)
    }
}

/// All places by number. Number 0 is none.
#[derive(Clone, Debug, Default)]
pub struct Places {
    list: Vec<Option<Located>>,
}

/// A way of a branch or switch, among all of the program.
pub type WayId = u32;

impl Places {
    /// Adds the places of a module, whose numbers begin at `base`.
    pub fn add(&mut self, base: PlaceId, places: Vec<Located>) {
        let end = base as usize + places.len();
        if self.list.len() < end {
            self.list.resize(end, None);
        }
        for (index, place) in places.into_iter().enumerate() {
            self.list[base as usize + index] = Some(place);
        }
    }

    pub fn get(&self, id: PlaceId) -> Option<&Located> {
        self.list.get(id as usize)?.as_ref()
    }

    pub fn iter(&self) -> impl Iterator<Item = (PlaceId, &Located)> {
        self.list.iter().enumerate().filter_map(|(id, place)| Some((id as PlaceId, place.as_ref()?)))
    }

    /// How many numbers there are, 0 included.
    pub fn capacity(&self) -> u32 {
        self.list.len() as u32
    }

    /// The ways of each branch and switch, as a run counts them: of a branch,
    /// that its condition does not hold, and that it does; of a switch, the
    /// default and the cases.
    pub fn ways(&self) -> impl Iterator<Item = (PlaceId, Range<WayId>)> {
        let mut next = 0;
        self.iter().map(move |(id, place)| {
            let first = next;
            next += Place::ways(place.kind, place.cases.len() as u32);
            (id, first..next)
        })
    }

    /// The numbers of all places on a line.
    pub fn on_line<'a>(&'a self, spot: &'a Spot) -> impl Iterator<Item = (PlaceId, &'a Located)> + 'a {
        self.iter().filter(|(_, place)| place.line == spot.line && spot.is_in(&place.file))
    }
}

/// The places that the sections of a derived program or library describe.
pub fn read(path: &Path) -> Result<Vec<Located>, ConcolicError> {
    let data = std::fs::read(path).map_err(|error| ConcolicError::Read(path.to_owned(), error))?;
    let broken = || ConcolicError::Places(path.to_owned());
    let file = object::File::parse(&*data).map_err(|_| broken())?;
    let Some(section) = file.section_by_name(PLACES_SECTION) else { return Ok(Vec::new()) };
    let bytes = section.data().map_err(|_| broken())?;
    let mut texts = Texts { file: &file, known: FxHashMap::default() };
    let mut places = Vec::new();
    let size = size_of::<Place>();
    for (index, bytes) in bytes.chunks_exact(size).enumerate() {
        let place = Place::read_from_bytes(bytes).map_err(|_| broken())?;
        let at = section.address() + (index * size) as u64;
        let kind = PlaceKind::from_u16(place.kind).ok_or_else(broken)?;
        let text = |texts: &mut Texts, field, distance| texts.at(Place::target(at, field, distance));
        let cases = match kind {
            PlaceKind::Switch => {
                let start = Place::target(at, Place::DETAIL_AT, place.detail);
                numbers(&file, start, place.cases as usize).ok_or_else(broken)?
            }
            _ => Vec::new(),
        };
        places.push(Located {
            kind,
            file: text(&mut texts, Place::FILE_AT, place.file).ok_or_else(broken)?,
            line: place.line,
            column: place.column,
            ordinal: place.ordinal,
            function: text(&mut texts, Place::FUNCTION_AT, place.function).ok_or_else(broken)?,
            cases,
            is_reversed: place.traits & Place::REVERSED != 0,
        });
    }
    Ok(places)
}

struct Texts<'a, 'd> {
    file: &'a object::File<'d>,
    known: FxHashMap<u64, String>,
}

impl Texts<'_, '_> {
    /// The text at an address; files and functions come again and again.
    fn at(&mut self, address: u64) -> Option<String> {
        if let Some(text) = self.known.get(&address) {
            return Some(text.clone());
        }
        let bytes = bytes_from(self.file, address)?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        self.known.insert(address, text.clone());
        Some(text)
    }
}

fn numbers(file: &object::File<'_>, address: u64, count: usize) -> Option<Vec<u64>> {
    let bytes = bytes_from(file, address)?.get(..count * 8)?;
    Some(bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight"))).collect())
}

/// What a section holds from an address on.
fn bytes_from<'d>(file: &object::File<'d>, address: u64) -> Option<&'d [u8]> {
    let section = file.sections().find(|section| {
        section.address() > 0 && (section.address()..section.address() + section.size()).contains(&address)
    })?;
    section.data().ok()?.get((address - section.address()) as usize..)
}
