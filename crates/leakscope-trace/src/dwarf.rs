//! The debug information of a module, as a whole: for questions that do not
//! start at an address of code, which `symbols` answers.

use std::fs;
use std::path::Path;

use addr2line::gimli::{
    self, AttributeValue, DwTag, DwarfSections, EndianSlice, LineProgramHeader, LittleEndian, SectionId,
    UnitOffset,
};
use leakscope_core::tidy;
use object::{Object, ObjectSection};

use crate::symbols;

type Reader<'a> = EndianSlice<'a, LittleEndian>;
pub type Entry<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;
pub type Value<'a> = AttributeValue<Reader<'a>>;

/// What the file of a module, or the one that keeps its debug information
/// apart, holds of it.
pub struct Sections(DwarfSections<Vec<u8>>);

/// Debug information with all its units.
pub struct Debug<'a> {
    dwarf: gimli::Dwarf<Reader<'a>>,
    units: Vec<gimli::Unit<Reader<'a>>>,
}

/// An entry by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Die {
    unit: usize,
    offset: UnitOffset,
}

impl Sections {
    pub fn read(module: &Path) -> Option<Sections> {
        if !module.is_file() {
            return None;
        }
        let apart = symbols::debug_file(module);
        apart.as_deref().into_iter().chain([module]).find_map(|path| {
            let content = fs::read(path).ok()?;
            let file = object::File::parse(&*content).ok()?;
            let section = |id: SectionId| -> Option<Vec<u8>> {
                Some(file.section_by_name(id.name())?.uncompressed_data().ok()?.into_owned())
            };
            section(SectionId::DebugInfo).filter(|info| !info.is_empty())?;
            let load = |id| Ok::<_, gimli::Error>(section(id).unwrap_or_default());
            Some(Sections(DwarfSections::load(load).ok()?))
        })
    }

    pub fn debug(&self) -> Debug<'_> {
        let dwarf = self.0.borrow(|section| EndianSlice::new(section, LittleEndian));
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        Debug { dwarf, units }
    }
}

impl<'a> Debug<'a> {
    /// Calls `f` for every entry, outer ones before those inside them, with its
    /// depth in its unit.
    pub fn for_each(&self, mut f: impl FnMut(Die, &Entry<'a>, isize)) {
        for (index, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                f(Die { unit: index, offset: entry.offset() }, entry, entry.depth());
            }
        }
    }

    pub fn entry(&self, die: Die) -> Option<Entry<'a>> {
        self.units[die.unit].entry(die.offset).ok()
    }

    /// The entries directly inside one.
    pub fn children(&self, die: Die) -> Vec<(Die, Entry<'a>)> {
        let mut children = Vec::new();
        let Ok(mut entries) = self.units[die.unit].entries_at_offset(die.offset) else { return children };
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
    pub fn referred(&self, from: Die, value: Value<'a>) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit: from.unit, offset }),
            AttributeValue::DebugInfoRef(target) => {
                let within = |(unit, known): (usize, &gimli::Unit<Reader<'a>>)| {
                    Some(Die { unit, offset: target.to_unit_offset(&known.header)? })
                };
                self.units.iter().enumerate().find_map(within)
            }
            _ => None,
        }
    }

    /// Where the entry's attribute leads.
    pub fn follow(&self, from: Die, entry: &Entry<'a>, attribute: gimli::DwAt) -> Option<Die> {
        self.referred(from, entry.attr_value(attribute)?)
    }

    /// An attribute of the entry, or of what it was declared or inlined from.
    pub fn inherited<T>(
        &self,
        die: Die,
        entry: &Entry<'a>,
        read: &dyn Fn(Die, &Entry<'a>) -> Option<T>,
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
    pub fn name(&self, die: Die, entry: &Entry<'a>) -> Option<String> {
        self.inherited(die, entry, &|die, entry| self.text(die, entry.attr_value(gimli::DW_AT_name)?))
    }

    /// The name with its scopes and parameters, where there is one.
    pub fn full_name(&self, die: Die, entry: &Entry<'a>) -> Option<String> {
        let linked = self.inherited(die, entry, &|die, entry| {
            self.text(die, entry.attr_value(gimli::DW_AT_linkage_name)?)
        });
        match linked {
            Some(linked) => Some(addr2line::demangle_auto(linked.into(), None).into_owned()),
            None => self.name(die, entry),
        }
    }

    pub fn text(&self, die: Die, value: Value<'a>) -> Option<String> {
        let text = self.dwarf.attr_string(&self.units[die.unit], value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    /// Address ranges of the entry's code.
    pub fn ranges(&self, die: Die, entry: &Entry<'a>) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        if let Ok(mut ranges) = self.dwarf.die_ranges(&self.units[die.unit], entry) {
            while let Ok(Some(range)) = ranges.next() {
                found.push((range.begin, range.end));
            }
        }
        found
    }

    /// Calls `f` with the addresses, file and line of each row of the line
    /// tables.
    pub fn for_each_line(&self, mut f: impl FnMut((u64, u64), &str, u32)) {
        for unit in &self.units {
            let Some(program) = unit.line_program.clone() else { continue };
            let mut rows = program.rows();
            let mut before: Option<(u64, u64, u32)> = None;
            let mut file: (u64, String) = (u64::MAX, String::new());
            while let Ok(Some((header, row))) = rows.next_row() {
                if let Some((start, index, line)) = before.take() {
                    if file.0 != index {
                        file = (index, self.path(unit, header, index).unwrap_or_default());
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

    /// The file and line of a declaration.
    pub fn declared(&self, die: Die, entry: &Entry<'a>) -> Option<(String, u32)> {
        self.inherited(die, entry, &|die, entry| {
            let line = entry.attr_value(gimli::DW_AT_decl_line)?.udata_value()? as u32;
            let AttributeValue::FileIndex(file) = entry.attr_value(gimli::DW_AT_decl_file)? else {
                return None;
            };
            let unit = &self.units[die.unit];
            Some((self.path(unit, unit.line_program.as_ref()?.header(), file)?, line))
        })
    }

    fn path(
        &self,
        unit: &gimli::Unit<Reader<'a>>,
        header: &LineProgramHeader<Reader<'a>>,
        index: u64,
    ) -> Option<String> {
        let file = header.file(index)?;
        let text = |value| Some(self.dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned());
        let mut path = text(file.path_name())?;
        let folder = file.directory(header).and_then(text);
        let built_in = unit.comp_dir.map(|folder| folder.to_string_lossy().into_owned());
        for folder in [folder, built_in].into_iter().flatten() {
            if !path.starts_with('/') {
                path = format!("{folder}/{path}");
            }
        }
        Some(tidy(&path))
    }

    /// How values of an entry's unit are encoded.
    pub fn encoding(&self, die: Die) -> gimli::Encoding {
        self.units[die.unit].encoding()
    }

    /// An address by its index in the unit's table.
    pub fn address(&self, die: Die, index: gimli::DebugAddrIndex<usize>) -> Option<u64> {
        self.dwarf.address(&self.units[die.unit], index).ok()
    }
}

/// The tag of functions, and of those inlined into others.
pub fn is_function(tag: DwTag) -> bool {
    matches!(tag, gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine)
}
