//! The variables of a module, where they are, and what the types of C and C++
//! call the memory in them and behind their pointers.

use std::collections::HashMap;

use addr2line::gimli::{self, AttributeValue, Operation};

use crate::dwarf::{Debug, Die, Entry};

/// Variables by where they are.
pub struct Variables<'a> {
    debug: &'a Debug<'a>,
    statics: Vec<Placed>,
    thread_locals: Vec<Placed>,
    locals: Vec<Local>,
    /// Types that are declared in one unit and complete in another.
    complete: HashMap<String, Die>,
}

/// A variable at an address of the file, or of thread-local storage, or in a
/// frame.
#[derive(Clone, Copy)]
struct Placed {
    start: i64,
    bytes: u64,
    die: Die,
    /// Where in the variable it begins: the optimiser may take it apart.
    within: u64,
    /// The function that it stands in.
    function: Option<Die>,
}

/// A variable of the function in which a return address lies.
struct Local {
    code: u64,
    placed: Placed,
}

/// A function whose entries are being read.
struct Function {
    die: Die,
    depth: isize,
    /// Of those asked for, the return addresses in it.
    codes: Vec<u64>,
    /// Where its frame has its base, from the frame's end.
    base: Option<i64>,
}

/// A word of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As the source writes it: `table[3].head`.
    pub name: String,
    pub is_external: bool,
    pub declared: Option<(String, u32)>,
    /// The function that the variable stands in.
    pub function: Option<String>,
    /// What it points to, if that is known.
    pub target: Option<Die>,
}

/// A word in memory of some type.
struct Found {
    path: String,
    is_pointer: bool,
    target: Option<Die>,
}

/// Types do not nest deeper; damaged ones may be a ring.
const DEPTH_MAX: usize = 16;

impl<'a> Variables<'a> {
    /// `codes` are the return addresses whose functions' locals are asked for.
    pub fn new(debug: &'a Debug<'a>, codes: &[u64]) -> Variables<'a> {
        let mut variables = Variables {
            debug,
            statics: Vec::new(),
            thread_locals: Vec::new(),
            locals: Vec::new(),
            complete: HashMap::new(),
        };
        let mut function: Option<Function> = None;
        debug.for_each(|die, entry, depth| {
            if function.as_ref().is_some_and(|function| depth <= function.depth) {
                function = None;
            }
            match entry.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    variables.add(die, entry, function.as_ref());
                }
                gimli::DW_TAG_subprogram => {
                    let mut codes = codes.to_vec();
                    if !codes.is_empty() {
                        let ranges = debug.ranges(die, entry);
                        codes.retain(|code| {
                            ranges.iter().any(|range| (range.0..range.1).contains(&code.wrapping_sub(1)))
                        });
                    }
                    let base = frame_base(debug, die, entry);
                    function = Some(Function { die, depth, codes, base });
                }
                tag if is_record(tag) && entry.attr_value(gimli::DW_AT_declaration).is_none() => {
                    if let Some(name) = debug.name(die, entry) {
                        variables.complete.entry(name).or_insert(die);
                    }
                }
                _ => {}
            }
        });
        variables
    }

    fn add(&mut self, die: Die, entry: &Entry<'a>, function: Option<&Function>) {
        let Some(AttributeValue::Exprloc(location)) = entry.attr_value(gimli::DW_AT_location) else { return };
        let mut operations = location.operations(self.debug.encoding(die));
        let (mut place, mut within) = (None, 0);
        let (mut is_thread_local, mut in_frame) = (false, false);
        let mut pieces = Vec::new();
        let placed = |start, bytes, within| {
            let function = function.map(|function| function.die);
            Placed { start, bytes, die, within, function }
        };
        while let Ok(Some(operation)) = operations.next() {
            place = match operation {
                Operation::Address { address } => Some(address as i64),
                Operation::AddressIndex { index } | Operation::ConstantIndex { index } => {
                    self.debug.address(die, index).map(|address| address as i64)
                }
                Operation::UnsignedConstant { value } => Some(value as i64),
                Operation::PlusConstant { value } => place.map(|place: i64| place.wrapping_add(value as i64)),
                Operation::FrameOffset { offset } => {
                    in_frame = true;
                    Some(offset)
                }
                Operation::TLS => {
                    is_thread_local = true;
                    place
                }
                Operation::Piece { size_in_bits, .. } => {
                    let bytes = size_in_bits / 8;
                    pieces.extend(place.map(|start| placed(start, bytes, within)));
                    within = u64::saturating_add(within, bytes);
                    None
                }
                _ => return,
            };
        }
        let bytes = self.type_of(die, entry).and_then(|kind| self.size(kind)).unwrap_or(8);
        pieces.extend(place.map(|start| placed(start, bytes, within)));
        for placed in pieces {
            if is_thread_local {
                self.thread_locals.push(placed);
            } else if !in_frame {
                self.statics.push(placed);
            } else if let Some(Function { codes, base: Some(base), .. }) = function {
                let placed = Placed { start: placed.start.wrapping_add(*base), ..placed };
                self.locals.extend(codes.iter().map(|&code| Local { code, placed }));
            }
        }
    }

    /// The word of a variable at an address of the file.
    pub fn global(&self, address: u64) -> Option<Word> {
        self.word(&self.statics, address as i64)
    }

    pub fn thread_local(&self, offset: u64) -> Option<Word> {
        self.word(&self.thread_locals, offset as i64)
    }

    /// The word so far from the end of the frame of the function at `code`.
    pub fn local(&self, code: u64, offset: i64) -> Option<Word> {
        let own: Vec<Placed> =
            self.locals.iter().filter(|local| local.code == code).map(|local| local.placed).collect();
        self.word(&own, offset)
    }

    fn word(&self, all: &[Placed], address: i64) -> Option<Word> {
        let holds = |placed: &&Placed| (address.wrapping_sub(placed.start) as u64) < placed.bytes;
        let Placed { start, die, within, function, .. } = *all.iter().find(holds)?;
        let entry = self.debug.entry(die)?;
        let offset = (address.wrapping_sub(start) as u64).saturating_add(within);
        let found = self.type_of(die, &entry).and_then(|kind| self.descend(kind, offset, 0));
        let name = self.debug.full_name(die, &entry)?;
        let is_external = self.debug.inherited(die, &entry, &|_, entry| {
            entry.attr_value(gimli::DW_AT_external).filter(|value| *value == AttributeValue::Flag(true))
        });
        let path = match &found {
            Some(found) => found.path.clone(),
            None if offset == 0 => String::new(),
            None => format!("+{offset}"),
        };
        Some(Word {
            name: name + &path,
            is_external: is_external.is_some(),
            declared: self.debug.declared(die, &entry),
            function: function.and_then(|die| self.debug.full_name(die, &self.debug.entry(die)?)),
            target: found.and_then(|found| found.target),
        })
    }

    /// A word of a block of so many bytes, to whose start a pointer to `target`
    /// leads: `[3].next`, and what it points to.
    pub fn in_block(&self, target: Option<Die>, bytes: u64, offset: u64) -> (String, Option<Die>) {
        let size = target.and_then(|target| self.size(target)).filter(|&size| size >= 8);
        let found = target.zip(size).and_then(|(target, size)| {
            let is_array =
                bytes >= size.saturating_mul(2) && bytes.is_multiple_of(size) && !self.is_open(target);
            let found = self.descend(target, if is_array { offset % size } else { offset }, 0)?;
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

    /// The word at an offset of a type, which must be able to hold a pointer.
    fn descend(&self, kind: Die, offset: u64, depth: usize) -> Option<Found> {
        let (kind, entry) = self.plain(kind)?;
        if depth > DEPTH_MAX {
            return None;
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => (offset == 0).then(|| Found {
                path: String::new(),
                is_pointer: true,
                target: self.type_of(kind, &entry),
            }),
            gimli::DW_TAG_base_type => {
                let fits = offset == 0 && self.size(kind) == Some(8);
                fits.then(|| Found { path: String::new(), is_pointer: false, target: None })
            }
            gimli::DW_TAG_array_type => {
                let element = self.type_of(kind, &entry)?;
                let size = self.size(element).filter(|&size| size > 0)?;
                let found = self.descend(element, offset % size, depth + 1)?;
                let mut index = offset / size;
                // The last dimension varies fastest.
                let mut path = String::new();
                let counts = self.counts(kind);
                for count in counts.iter().skip(1).rev().map(|count| count.unwrap_or(1).max(1)) {
                    path = format!("[{}]{path}", index % count);
                    index /= count;
                }
                Some(Found { path: format!("[{index}]{path}{}", found.path), ..found })
            }
            tag if is_record(tag) => {
                let members = self.debug.children(kind);
                let found =
                    || members.iter().filter_map(|(die, member)| self.member(*die, member, offset, depth));
                // Of the arms of a union, one that is a pointer is meant.
                found().find(|found| found.is_pointer).or_else(|| found().next())
            }
            _ => None,
        }
    }

    /// The same in a member of a record, if that is where it is.
    fn member(&self, die: Die, member: &Entry<'a>, offset: u64, depth: usize) -> Option<Found> {
        if !matches!(member.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
            return None;
        }
        let inside = offset.checked_sub(member_place(member)?)?;
        let kind = self.type_of(die, member)?;
        // An array without a length goes on to the end of the block.
        let is_within = self.size(kind).is_none_or(|size| size == 0 || inside < size);
        let found = is_within.then(|| self.descend(kind, inside, depth + 1)).flatten()?;
        let name = member.attr_value(gimli::DW_AT_name).and_then(|name| self.debug.text(die, name));
        Some(match name {
            Some(name) => Found { path: format!(".{name}{}", found.path), ..found },
            None => found,
        })
    }

    fn type_of(&self, die: Die, entry: &Entry<'a>) -> Option<Die> {
        self.debug.inherited(die, entry, &|die, entry| self.debug.follow(die, entry, gimli::DW_AT_type))
    }

    /// A type without its names and qualifiers, and complete where possible.
    fn plain(&self, kind: Die) -> Option<(Die, Entry<'a>)> {
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
    fn size(&self, kind: Die) -> Option<u64> {
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

    /// Lengths of an array's dimensions.
    fn counts(&self, array: Die) -> Vec<Option<u64>> {
        let ranges = self.debug.children(array);
        let ranges = ranges.iter().filter(|(_, entry)| entry.tag() == gimli::DW_TAG_subrange_type);
        let number = |entry: &Entry<'a>, name| entry.attr_value(name).and_then(|value| value.udata_value());
        ranges
            .map(|(_, entry)| {
                let last = number(entry, gimli::DW_AT_upper_bound);
                number(entry, gimli::DW_AT_count).or(last.and_then(|last| last.checked_add(1)))
            })
            .collect()
    }
}

/// Where the frame of a function has its base, counted from its end: there the
/// caller's begins.
fn frame_base<'a>(debug: &Debug<'a>, die: Die, entry: &Entry<'a>) -> Option<i64> {
    let AttributeValue::Exprloc(base) = entry.attr_value(gimli::DW_AT_frame_base)? else { return None };
    match base.operations(debug.encoding(die)).next().ok()?? {
        Operation::CallFrameCFA => Some(0),
        // The frame pointer, below which lies what it points to: the caller's
        // one, and the return address.
        Operation::Register { register: gimli::X86_64::RBP } => Some(-16),
        _ => None,
    }
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
