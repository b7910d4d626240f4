//! The debug information of a module, as a whole: for questions that do not
//! start at an address of code, which `symbols` answers.

use std::cell::OnceCell;
use std::path::Path;
use std::rc::Rc;

use addr2line::gimli::{
    self, AttributeValue, ColumnType, DwTag, EndianRcSlice, LineProgramHeader, LineRow, LittleEndian,
    Reader as _, SectionId, UnitOffset,
};
use leakscope_core::tidy;
use object::{Object, ObjectSection};

use crate::module_file;
use crate::symbols;

type Reader = EndianRcSlice<LittleEndian>;
pub type Entry = gimli::DebuggingInformationEntry<Reader>;
pub type Value = AttributeValue<Reader>;
pub type Expression = gimli::Expression<Reader>;

/// Debug information with all its units.
pub struct Debug {
    dwarf: gimli::Dwarf<Reader>,
    units: Vec<Unit>,
}

/// A unit, of which questions after single entries keep what they need to read
/// them: a library has thousands, and few are asked for.
struct Unit {
    header: gimli::UnitHeader<Reader>,
    /// None if it is damaged.
    read: OnceCell<Option<gimli::Unit<Reader>>>,
    /// Where its code is.
    ranges: OnceCell<Vec<(u64, u64)>>,
}

/// An entry by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Die {
    unit: usize,
    offset: UnitOffset,
}

/// A variable or parameter that is in scope somewhere.
pub struct Visible {
    pub die: Die,
    pub entry: Entry,
    /// The function whose frame it is in.
    pub function: Die,
    /// In so many functions that were inlined into that one, each into the one before.
    pub inlined: usize,
}

impl Debug {
    /// What the file of a module, or the one that keeps its debug information
    /// apart, has of it.
    pub fn read(module: &Path) -> Option<Debug> {
        if !module.is_file() {
            return None;
        }
        let apart = symbols::debug_file(module);
        apart.as_deref().into_iter().chain([module]).find_map(|path| {
            let cache = module_file::open(path)?;
            let file = object::File::parse(&cache).ok()?;
            let section = |id: SectionId| -> Option<Rc<[u8]>> {
                Some(Rc::from(&*file.section_by_name(id.name())?.uncompressed_data().ok()?))
            };
            section(SectionId::DebugInfo).filter(|info| !info.is_empty())?;
            let load = |id| Ok::<_, gimli::Error>(Reader::new(section(id).unwrap_or_default(), LittleEndian));
            let dwarf = gimli::Dwarf::load(load).ok()?;
            let mut units = Vec::new();
            let mut headers = dwarf.units();
            while let Ok(Some(header)) = headers.next() {
                units.push(Unit { header, read: OnceCell::new(), ranges: OnceCell::new() });
            }
            Some(Debug { dwarf, units })
        })
    }
}

impl Debug {
    fn unit(&self, index: usize) -> Option<&gimli::Unit<Reader>> {
        let unit = self.units.get(index)?;
        unit.read.get_or_init(|| self.dwarf.unit(unit.header.clone()).ok()).as_ref()
    }

    /// Calls `f` for every entry, outer ones before those inside them, with its
    /// depth in its unit.
    pub fn for_each(&self, f: impl FnMut(Die, &Entry, isize)) {
        self.for_each_in(|_| true, f);
    }

    /// The same in units with a compiler, as it names itself, that `is_wanted`.
    pub fn for_each_in(&self, is_wanted: fn(&str) -> bool, mut f: impl FnMut(Die, &Entry, isize)) {
        for (index, unit) in self.units.iter().enumerate() {
            let Ok(unit) = self.dwarf.unit(unit.header.clone()) else { continue };
            if !is_wanted(&self.producer(&unit)) {
                continue;
            }
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                f(Die { unit: index, offset: entry.offset() }, entry, entry.depth());
            }
        }
    }

    /// What a unit was compiled by.
    fn producer(&self, unit: &gimli::Unit<Reader>) -> String {
        let text = || {
            let root = unit.entry(UnitOffset(unit.header.size_of_header())).ok()?;
            let name = root.attr_value(gimli::DW_AT_producer)?;
            Some(self.dwarf.attr_string(unit, name).ok()?.to_string_lossy().ok()?.into_owned())
        };
        text().unwrap_or_default()
    }

    pub fn entry(&self, die: Die) -> Option<Entry> {
        self.unit(die.unit)?.entry(die.offset).ok()
    }

    /// The entries directly inside one.
    pub fn children(&self, die: Die) -> Vec<(Die, Entry)> {
        let mut children = Vec::new();
        let entries = self.unit(die.unit).and_then(|unit| unit.entries_at_offset(die.offset).ok());
        let Some(mut entries) = entries else { return children };
        let Ok(Some(parent)) = entries.next_dfs() else { return children };
        let depth = parent.depth();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.depth() <= depth {
                break;
            }
            if entry.depth() == depth + 1 {
                children.push((Die { unit: die.unit, offset: entry.offset() }, entry.clone()));
            }
        }
        children
    }

    /// What an attribute of an entry of the same unit as `from` refers to.
    pub fn referred(&self, from: Die, value: Value) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit: from.unit, offset }),
            AttributeValue::DebugInfoRef(target) => {
                let within = |(unit, known): (usize, &Unit)| {
                    Some(Die { unit, offset: target.to_unit_offset(&known.header)? })
                };
                self.units.iter().enumerate().find_map(within)
            }
            _ => None,
        }
    }

    /// Where the entry's attribute leads.
    pub fn follow(&self, from: Die, entry: &Entry, attribute: gimli::DwAt) -> Option<Die> {
        self.referred(from, entry.attr_value(attribute)?)
    }

    /// An attribute of the entry, or of what it was declared or inlined from.
    pub fn inherited<T>(
        &self,
        die: Die,
        entry: &Entry,
        read: &dyn Fn(Die, &Entry) -> Option<T>,
    ) -> Option<T> {
        // A chain is short; a damaged one may be a ring.
        let (mut die, mut entry) = (die, entry.clone());
        for _ in 0..4 {
            if let Some(found) = read(die, &entry) {
                return Some(found);
            }
            let origin = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
            die = origin.iter().find_map(|&attribute| self.follow(die, &entry, attribute))?;
            entry = self.entry(die)?;
        }
        None
    }

    /// The name as the source writes it.
    pub fn name(&self, die: Die, entry: &Entry) -> Option<String> {
        self.inherited(die, entry, &|die, entry| self.text(die, entry.attr_value(gimli::DW_AT_name)?))
    }

    /// The name with its scopes and parameters, where there is one.
    pub fn full_name(&self, die: Die, entry: &Entry) -> Option<String> {
        let linked = self.inherited(die, entry, &|die, entry| {
            self.text(die, entry.attr_value(gimli::DW_AT_linkage_name)?)
        });
        match linked {
            Some(linked) => Some(addr2line::demangle_auto(linked.into(), None).into_owned()),
            None => self.name(die, entry),
        }
    }

    pub fn text(&self, die: Die, value: Value) -> Option<String> {
        let text = self.dwarf.attr_string(self.unit(die.unit)?, value).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// Address ranges of the entry's code.
    pub fn ranges(&self, die: Die, entry: &Entry) -> Vec<(u64, u64)> {
        if let Some(Ok(ranges)) = self.unit(die.unit).map(|unit| self.dwarf.die_ranges(unit, entry)) {
            all(ranges)
        } else {
            Vec::new()
        }
    }

    /// The variables and parameters in scope at an address of code, those of
    /// outer scopes first.
    pub fn visible(&self, address: u64) -> Vec<Visible> {
        let (mut found, mut function) = (Vec::new(), None);
        // By their depth.
        let mut inlined: Vec<isize> = Vec::new();
        self.for_each_around(address, |die, entry| {
            inlined.retain(|&outer| outer < entry.depth());
            match entry.tag() {
                gimli::DW_TAG_subprogram => function = Some(die),
                gimli::DW_TAG_inlined_subroutine => inlined.push(entry.depth()),
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let visible =
                        |function| Visible { die, entry: entry.clone(), function, inlined: inlined.len() };
                    found.extend(function.map(visible));
                }
                _ => {}
            }
        });
        found
    }

    /// All variables of the function with code at an address that have one place
    /// for as long as they live, in whatever scope.
    pub fn fixed(&self, address: u64) -> Vec<(Visible, Expression)> {
        let (mut found, mut depth) = (Vec::new(), None);
        for (index, unit) in self.units_at(address) {
            let mut function = None;
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                let die = Die { unit: index, offset: entry.offset() };
                if entry.tag() == gimli::DW_TAG_subprogram {
                    let is_it = has(self.dwarf.die_ranges(unit, entry), address) == Some(true);
                    (function, depth) = if is_it { (Some(die), Some(entry.depth())) } else { (None, None) };
                } else if depth.is_some_and(|depth| entry.depth() <= depth) {
                    function = None;
                } else if let Some(function) = function
                    && entry.tag() == gimli::DW_TAG_variable
                    && let Some(AttributeValue::Exprloc(at)) = entry.attr_value(gimli::DW_AT_location)
                {
                    found.push((Visible { die, entry: entry.clone(), function, inlined: 0 }, at));
                }
            }
        }
        found
    }

    /// Where the innermost function at an address of code begins in its file.
    fn first_line(&self, address: u64) -> Option<u32> {
        let mut line = None;
        self.for_each_around(address, |die, entry| {
            if is_function(entry.tag()) && !self.ranges(die, entry).is_empty() {
                line = self.declared(die, entry).map(|(_, line)| line);
            }
        });
        line
    }

    /// What `ask` says of each function at an address of code, the innermost
    /// first.
    pub fn functions(&self, address: u64, ask: fn(&Debug, Die, &Entry) -> bool) -> Vec<bool> {
        let mut found = Vec::new();
        self.for_each_around(address, |die, entry| {
            if is_function(entry.tag()) && !self.ranges(die, entry).is_empty() {
                found.insert(0, ask(self, die, entry));
            }
        });
        found
    }

    /// Whether the compiler made a function, as it makes destructors that nobody
    /// wrote, and those that delete.
    pub fn is_implicit(&self, die: Die, entry: &Entry) -> bool {
        let flag = |_: Die, entry: &Entry| entry.attr_value(gimli::DW_AT_artificial);
        let linked = entry.attr_value(gimli::DW_AT_linkage_name);
        let linked = linked.and_then(|name| self.text(die, name)).unwrap_or_default();
        self.inherited(die, entry, &flag).is_some() || linked.ends_with("D0Ev")
    }

    /// Calls `f` for each entry of a unit with code at an address, but for
    /// scopes that are elsewhere and what is in them.
    fn for_each_around(&self, address: u64, mut f: impl FnMut(Die, &Entry)) {
        let has = |ranges| has(ranges, address);
        for (index, unit) in self.units_at(address) {
            let mut outside = isize::MAX;
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if entry.depth() > outside {
                    continue;
                }
                outside = isize::MAX;
                let is_inside = match entry.tag() {
                    gimli::DW_TAG_subprogram => has(self.dwarf.die_ranges(unit, entry)) == Some(true),
                    gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                        has(self.dwarf.die_ranges(unit, entry)) != Some(false)
                    }
                    _ => true,
                };
                if is_inside {
                    f(Die { unit: index, offset: entry.offset() }, entry);
                } else {
                    outside = entry.depth();
                }
            }
        }
    }

    /// The units with code at an address, and their numbers.
    fn units_at(&self, address: u64) -> impl Iterator<Item = (usize, &gimli::Unit<Reader>)> {
        let has_it = move |unit: &Unit| {
            let ranges = unit.ranges.get_or_init(|| {
                let read = self.dwarf.unit(unit.header.clone());
                read.and_then(|read| self.dwarf.unit_ranges(&read)).map(all).unwrap_or_default()
            });
            ranges.iter().any(|&(start, end)| (start..end).contains(&address))
        };
        let units = self.units.iter().enumerate().filter(move |(_, unit)| has_it(unit));
        units.filter_map(|(index, _)| Some((index, self.unit(index)?)))
    }

    /// Where a variable is while the code at an address runs.
    pub fn location(&self, variable: &Visible, address: u64) -> Option<Expression> {
        let all = self.locations(variable.die, &variable.entry);
        all.into_iter().find(|((start, end), _)| (*start..*end).contains(&address)).map(|(_, at)| at)
    }

    /// Everywhere that a variable is, and the code for which that holds.
    pub fn locations(&self, die: Die, entry: &Entry) -> Vec<((u64, u64), Expression)> {
        let list = match entry.attr_value(gimli::DW_AT_location) {
            Some(AttributeValue::Exprloc(always)) => return vec![((0, u64::MAX), always)],
            Some(list) => list,
            None => return Vec::new(),
        };
        let unit = self.unit(die.unit);
        let locations = unit.and_then(|unit| self.dwarf.attr_locations(unit, list).ok()?);
        let mut found = Vec::new();
        if let Some(mut locations) = locations {
            while let Ok(Some(location)) = locations.next() {
                found.push(((location.range.begin, location.range.end), location.data));
            }
        }
        found
    }

    /// Calls `f` with the addresses, file and line of each row of the line
    /// tables.
    pub fn for_each_line(&self, f: impl FnMut((u64, u64), &str, u32)) {
        self.for_each_line_in(|_| true, f);
    }

    /// The same in units with a compiler that `is_wanted`.
    pub fn for_each_line_in(&self, is_wanted: fn(&str) -> bool, mut f: impl FnMut((u64, u64), &str, u32)) {
        for unit in &self.units {
            let Ok(unit) = self.dwarf.unit(unit.header.clone()) else { continue };
            if !is_wanted(&self.producer(&unit)) {
                continue;
            }
            let Some(program) = unit.line_program.clone() else { continue };
            let mut rows = program.rows();
            let mut before: Option<(u64, u64, u32)> = None;
            let mut file: (u64, String) = (u64::MAX, String::new());
            while let Ok(Some((header, row))) = rows.next_row() {
                if let Some((start, index, line)) = before.take() {
                    if file.0 != index {
                        file = (index, self.path(&unit, header, index).unwrap_or_default());
                    }
                    f((start, row.address()), &file.1, line);
                }
                if !row.end_sequence() {
                    let line = row.line().map_or(0, |line| line.get() as u32);
                    before = Some((row.address(), row.file_index(), line));
                }
            }
        }
    }

    /// The line and column of the last statement that begins at an instruction
    /// which is said to belong to another line of its function: to the end of
    /// it, behind the statement that returns, or to another `return` of the same value.
    pub fn statement(&self, address: u64) -> Option<(u32, Option<u32>)> {
        let first = self.first_line(address)?;
        self.units_at(address).find_map(|(_, unit)| {
            let mut rows = unit.line_program.clone()?.rows();
            // The rows at the address of the latest, without it.
            let mut before: Vec<LineRow> = Vec::new();
            let mut latest: Option<LineRow> = None;
            while let Ok(Some((_, row))) = rows.next_row() {
                if let Some(latest) = latest.filter(|it| it.address() <= address && address < row.address()) {
                    let is_meant = |row: &&LineRow| {
                        let line = row.line().map_or(0, |line| line.get() as u32);
                        row.is_stmt()
                            && row.file_index() == latest.file_index()
                            && (line >= first && row.line() != latest.line())
                    };
                    let meant = before.iter().rfind(is_meant).filter(|_| !latest.is_stmt())?;
                    return Some((meant.line()?.get() as u32, column(meant)));
                }
                if latest.is_none_or(|latest| latest.address() != row.address()) {
                    before.clear();
                }
                before.extend(latest.filter(|latest| latest.address() == row.address()));
                latest = (!row.end_sequence()).then_some(*row);
            }
            None
        })
    }

    /// The file and line of a declaration.
    pub fn declared(&self, die: Die, entry: &Entry) -> Option<(String, u32)> {
        self.inherited(die, entry, &|die, entry| {
            let line = entry.attr_value(gimli::DW_AT_decl_line)?.udata_value()? as u32;
            let AttributeValue::FileIndex(file) = entry.attr_value(gimli::DW_AT_decl_file)? else {
                return None;
            };
            let unit = self.unit(die.unit)?;
            Some((self.path(unit, unit.line_program.as_ref()?.header(), file)?, line))
        })
    }

    fn path(
        &self,
        unit: &gimli::Unit<Reader>,
        header: &LineProgramHeader<Reader>,
        index: u64,
    ) -> Option<String> {
        let file = header.file(index)?;
        let text =
            |value| Some(self.dwarf.attr_string(unit, value).ok()?.to_string_lossy().ok()?.into_owned());
        let mut path = text(file.path_name())?;
        let folder = file.directory(header).and_then(text);
        let built_in =
            unit.comp_dir.as_ref().and_then(|folder| Some(folder.to_string_lossy().ok()?.into_owned()));
        for folder in [folder, built_in].into_iter().flatten() {
            if !path.starts_with('/') {
                path = format!("{folder}/{path}");
            }
        }
        Some(tidy(&path))
    }

    /// How values of an entry's unit are encoded.
    pub fn encoding(&self, die: Die) -> gimli::Encoding {
        self.units[die.unit].header.encoding()
    }

    /// An address by its index in the unit's table.
    pub fn address(&self, die: Die, index: gimli::DebugAddrIndex<usize>) -> Option<u64> {
        self.dwarf.address(self.unit(die.unit)?, index).ok()
    }
}

fn all(mut ranges: gimli::RangeIter<Reader>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    while let Ok(Some(range)) = ranges.next() {
        found.push((range.begin, range.end));
    }
    found
}

/// Whether an address is in one of some ranges; none if there are none.
fn has(ranges: gimli::Result<gimli::RangeIter<Reader>>, address: u64) -> Option<bool> {
    let (mut ranges, mut any) = (ranges.ok()?, false);
    while let Ok(Some(range)) = ranges.next() {
        any = true;
        if (range.begin..range.end).contains(&address) {
            return Some(true);
        }
    }
    any.then_some(false)
}

fn column(row: &LineRow) -> Option<u32> {
    match row.column() {
        ColumnType::Column(column) => Some(column.get() as u32),
        ColumnType::LeftEdge => None,
    }
}

/// The tag of functions, and of those inlined into others.
pub fn is_function(tag: DwTag) -> bool {
    matches!(tag, gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine)
}
