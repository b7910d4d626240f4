//! What the types of C and C++ call the memory of variables and blocks.

use std::collections::HashMap;

use addr2line::gimli;

use crate::dwarf::{Debug, Die, Entry};

/// The types of a module.
pub struct Types {
    pub debug: Debug,
    /// Types that are declared in one unit and complete in another.
    complete: HashMap<String, Die>,
}

/// A word in memory of some type.
#[derive(Clone)]
pub struct Found {
    /// How the source writes it, after the name of the whole: `.head[3]`.
    pub path: String,
    pub is_pointer: bool,
    /// What it points to, if that is known.
    pub target: Option<Die>,
}

/// What is looked for in memory of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A word that can hold a pointer.
    Word,
    /// A number of any size, as indexes are.
    Number,
}

/// Types do not nest deeper; damaged ones may be a ring.
const DEPTH_MAX: usize = 16;

impl Types {
    /// `each` is called with every entry and its depth: reading them takes long.
    pub fn new(debug: Debug, mut each: impl FnMut(&Debug, Die, &Entry, isize)) -> Types {
        let mut complete = HashMap::new();
        debug.for_each(|die, entry, depth| {
            if is_record(entry.tag())
                && entry.attr_value(gimli::DW_AT_declaration).is_none()
                && let Some(name) = debug.name(die, entry)
            {
                complete.entry(name).or_insert(die);
            }
            each(&debug, die, entry, depth);
        });
        Types { debug, complete }
    }

    /// The same without types that are complete in another unit alone.
    pub fn of_units(debug: Debug) -> Types {
        Types { debug, complete: HashMap::new() }
    }

    /// A word of a block of so many bytes, to whose start a pointer to `target`
    /// leads: `[3].next`, and what it points to.
    pub fn in_block(&self, target: Option<Die>, bytes: u64, offset: u64) -> (String, Option<Die>) {
        let size = target.and_then(|target| self.size(target)).filter(|&size| size >= 8);
        let found = target.zip(size).and_then(|(target, size)| {
            let is_array =
                bytes >= size.saturating_mul(2) && bytes.is_multiple_of(size) && !self.is_open(target);
            let found = self.descend(target, if is_array { offset % size } else { offset }, Wanted::Word)?;
            let index = if is_array { format!("[{}]", offset / size) } else { String::new() };
            Some((index + &found.path, found.target))
        });
        // Of memory without a type the words are counted.
        found.unwrap_or_else(|| (format!("[{}]", offset / 8), None))
    }

    /// Whether a type ends with an array of unknown length.
    fn is_open(&self, kind: Die) -> bool {
        let members = self.plain(kind).map(|(kind, _)| self.debug.children(kind)).unwrap_or_default();
        let last = members.iter().rfind(|(_, member)| member.tag() == gimli::DW_TAG_member);
        let kind = last.and_then(|(die, member)| self.plain(self.type_of(*die, member)?));
        kind.is_some_and(|(kind, entry)| {
            entry.tag() == gimli::DW_TAG_array_type && self.size(kind) == Some(0)
        })
    }

    /// The word or number at an offset of a type.
    pub fn descend(&self, kind: Die, offset: u64, wanted: Wanted) -> Option<Found> {
        self.arms(kind, offset, wanted).into_iter().next()
    }

    /// The same in each arm of the unions there, those that are pointers first.
    pub fn arms(&self, kind: Die, offset: u64, wanted: Wanted) -> Vec<Found> {
        self.arms_from(kind, offset, wanted, 0).unwrap_or_default()
    }

    fn arms_from(&self, kind: Die, offset: u64, wanted: Wanted, depth: usize) -> Option<Vec<Found>> {
        let (kind, entry) = self.plain(kind)?;
        if depth > DEPTH_MAX {
            return None;
        }
        let found = match entry.tag() {
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                let found =
                    || Found { path: String::new(), is_pointer: true, target: self.type_of(kind, &entry) };
                Vec::from_iter((offset == 0).then(found))
            }
            gimli::DW_TAG_base_type => {
                let fits = offset == 0 && (wanted == Wanted::Number || self.size(kind) == Some(8));
                Vec::from_iter(fits.then(|| Found { path: String::new(), is_pointer: false, target: None }))
            }
            gimli::DW_TAG_array_type => {
                let element = self.type_of(kind, &entry)?;
                let size = self.size(element).filter(|&size| size > 0)?;
                let mut index = offset / size;
                // The last dimension varies fastest.
                let mut path = String::new();
                let counts = self.counts(kind);
                for count in counts.iter().skip(1).rev().map(|count| count.unwrap_or(1).max(1)) {
                    path = format!("[{}]{path}", index % count);
                    index /= count;
                }
                let found = self.arms_from(element, offset % size, wanted, depth + 1)?;
                let inside = |found: Found| Found { path: format!("[{index}]{path}{}", found.path), ..found };
                found.into_iter().map(inside).collect()
            }
            tag if is_record(tag) => {
                let members = self.debug.children(kind);
                let at = |(die, member): &(Die, Entry)| self.member(*die, member, offset, wanted, depth);
                let mut found: Vec<Found> = members.iter().filter_map(at).flatten().collect();
                found.sort_by_key(|found| !found.is_pointer);
                found
            }
            _ => Vec::new(),
        };
        Some(found)
    }

    /// The same in a member of a record, if that is where it is.
    fn member(
        &self,
        die: Die,
        member: &Entry,
        offset: u64,
        wanted: Wanted,
        depth: usize,
    ) -> Option<Vec<Found>> {
        if !matches!(member.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
            return None;
        }
        let inside = offset.checked_sub(member_place(member)?)?;
        let kind = self.type_of(die, member)?;
        // An array without a length goes on to the end of the block.
        let is_within = self.size(kind).is_none_or(|size| size == 0 || inside < size);
        let found = is_within.then(|| self.arms_from(kind, inside, wanted, depth + 1)).flatten()?;
        let name = member.attr_value(gimli::DW_AT_name).and_then(|name| self.debug.text(die, name));
        let named = |found: Found| match &name {
            Some(name) => Found { path: format!(".{name}{}", found.path), ..found },
            None => found,
        };
        Some(found.into_iter().map(named).collect())
    }

    /// The object of a library's type around an offset of a type, as the source
    /// writes it after the name of the whole.
    pub fn object(&self, kind: Die, offset: u64) -> Option<String> {
        self.object_in(kind, offset, 0)
    }

    fn object_in(&self, kind: Die, offset: u64, depth: usize) -> Option<String> {
        let (kind, entry) = self.plain(kind)?;
        if depth > DEPTH_MAX || !is_record(entry.tag()) {
            return None;
        }
        if self.is_librarys(kind, 0) {
            return Some(String::new());
        }
        self.debug.children(kind).iter().find_map(|(die, member)| {
            let inside = offset.checked_sub(member_place(member)?)?;
            let kind = self.type_of(*die, member)?;
            let path = (inside < self.size(kind)?).then(|| self.object_in(kind, inside, depth + 1))??;
            let name = member.attr_value(gimli::DW_AT_name).and_then(|name| self.debug.text(*die, name));
            Some(name.map_or(String::new(), |name| format!(".{name}")) + &path)
        })
    }

    /// Whether the members of a record are the implementation's.
    fn is_librarys(&self, kind: Die, depth: usize) -> bool {
        depth < DEPTH_MAX
            && self.debug.children(kind).iter().any(|(die, member)| match member.tag() {
                gimli::DW_TAG_member => self.debug.name(*die, member).is_some_and(|name| is_reserved(&name)),
                gimli::DW_TAG_inheritance => {
                    let base = self.type_of(*die, member).and_then(|kind| self.plain(kind));
                    base.is_some_and(|(base, _)| self.is_librarys(base, depth + 1))
                }
                _ => false,
            })
    }

    pub fn type_of(&self, die: Die, entry: &Entry) -> Option<Die> {
        self.debug.inherited(die, entry, &|die, entry| self.debug.follow(die, entry, gimli::DW_AT_type))
    }

    /// A type without its names and qualifiers, and complete where possible.
    fn plain(&self, kind: Die) -> Option<(Die, Entry)> {
        let mut kind = kind;
        for _ in 0..DEPTH_MAX {
            let entry = self.debug.entry(kind)?;
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => kind = self.type_of(kind, &entry)?,
                tag if is_record(tag) && entry.attr_value(gimli::DW_AT_declaration).is_some() => {
                    kind = *self.complete.get(&self.debug.name(kind, &entry)?)?;
                }
                _ => return Some((kind, entry)),
            }
        }
        None
    }

    /// Bytes of a type; 0 for an array of unknown length.
    pub fn size(&self, kind: Die) -> Option<u64> {
        let (kind, entry) = self.plain(kind)?;
        if let Some(bytes) = entry.attr_value(gimli::DW_AT_byte_size).and_then(|bytes| bytes.udata_value()) {
            return Some(bytes);
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => Some(8),
            gimli::DW_TAG_array_type => {
                let element = self.size(self.type_of(kind, &entry)?)?;
                self.counts(kind)
                    .into_iter()
                    .try_fold(element, |bytes, count| bytes.checked_mul(count.unwrap_or(0)))
            }
            _ => None,
        }
    }

    /// Whether memory of a type has room for a pointer.
    pub fn may_point(&self, kind: Die) -> bool {
        self.may_point_from(kind, 0)
    }

    fn may_point_from(&self, kind: Die, depth: usize) -> bool {
        let Some((kind, entry)) = self.plain(kind).filter(|_| depth <= DEPTH_MAX) else { return false };
        let inside = |die, entry: &Entry| {
            self.type_of(die, entry).is_some_and(|kind| self.may_point_from(kind, depth + 1))
        };
        match entry.tag() {
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => true,
            gimli::DW_TAG_base_type => self.size(kind) == Some(8),
            gimli::DW_TAG_array_type => inside(kind, &entry),
            tag if is_record(tag) => self.debug.children(kind).iter().any(|(die, member)| {
                matches!(member.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance)
                    && inside(*die, member)
            }),
            _ => false,
        }
    }

    /// Whether the end of an object of a type runs code: a destructor of its own,
    /// or of a part.
    pub fn has_destructor(&self, kind: Die) -> bool {
        self.has_destructor_from(kind, 0)
    }

    fn has_destructor_from(&self, kind: Die, depth: usize) -> bool {
        let Some((kind, entry)) = self.plain(kind).filter(|_| depth <= DEPTH_MAX) else { return false };
        let inside = |die, entry: &Entry| {
            self.type_of(die, entry).is_some_and(|kind| self.has_destructor_from(kind, depth + 1))
        };
        match entry.tag() {
            gimli::DW_TAG_array_type => inside(kind, &entry),
            tag if is_record(tag) => self.debug.children(kind).iter().any(|(die, part)| match part.tag() {
                gimli::DW_TAG_subprogram => {
                    self.debug.name(*die, part).is_some_and(|name| name.starts_with('~'))
                }
                gimli::DW_TAG_member | gimli::DW_TAG_inheritance => inside(*die, part),
                _ => false,
            }),
            _ => false,
        }
    }

    /// Lengths of an array's dimensions.
    fn counts(&self, array: Die) -> Vec<Option<u64>> {
        let ranges = self.debug.children(array);
        let ranges = ranges.iter().filter(|(_, entry)| entry.tag() == gimli::DW_TAG_subrange_type);
        let number = |entry: &Entry, name| entry.attr_value(name).and_then(|value| value.udata_value());
        ranges
            .map(|(_, entry)| {
                let last = number(entry, gimli::DW_AT_upper_bound);
                number(entry, gimli::DW_AT_count).or(last.and_then(|last| last.checked_add(1)))
            })
            .collect()
    }
}

/// A name without members of a library's object: the object is meant.
pub fn as_written(name: &str) -> &str {
    let members = ["._M", ".__", "->_M", "->__"];
    let end = members.iter().filter_map(|member| name.find(member)).min();
    &name[..end.unwrap_or(name.len())]
}

/// Whether a name is the implementation's.
fn is_reserved(name: &str) -> bool {
    name.starts_with("__") || name.starts_with("_M")
}

fn member_place(member: &Entry) -> Option<u64> {
    match member.attr_value(gimli::DW_AT_data_member_location) {
        Some(place) => place.udata_value(),
        // In a union all members begin at its start; bit fields hold nothing.
        None if member.attr_value(gimli::DW_AT_data_bit_offset).is_none()
            && member.attr_value(gimli::DW_AT_external).is_none() =>
        {
            Some(0)
        }
        None => None,
    }
}

fn is_record(tag: gimli::DwTag) -> bool {
    matches!(tag, gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type)
}
