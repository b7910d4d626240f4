//! Which variable a place in a frame was, from debug information.
//!
//! A place is a word of the frame or a register. A word in which a function
//! keeps a register for its caller is that register there; so the question
//! goes outwards, by the rules of `.eh_frame`, until a function has a variable
//! in the place, or uses it for something else. Variables that debug
//! information has at computed addresses are not looked for.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{
    AttributeValue, BaseAddresses, CfaRule, DebuggingInformationEntry, Dwarf, EhFrame, EndianRcSlice,
    Expression, LittleEndian, Operation, Register, RegisterRule, Unit, UnitOffset, UnwindContext,
    UnwindSection, X86_64,
};
use leakscope_wire as wire;
use object::{Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};

type Bytes = EndianRcSlice<LittleEndian>;
type Entry = DebuggingInformationEntry<Bytes>;

/// Where a frame has a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// So many bytes below the stack pointer of the caller.
    Below(i64),
    Register(Register),
}

impl Held {
    /// As a record has it.
    pub fn new(held: u32) -> Held {
        if held & wire::IN_REGISTER != 0 {
            Held::Register(Register((held & !wire::IN_REGISTER) as u16))
        } else {
            Held::Below(held.into())
        }
    }
}

/// Finds variables; keeps what it has read of each module.
#[derive(Default)]
pub struct FrameSlots {
    modules: HashMap<PathBuf, Option<Code>>,
}

struct Code {
    /// Of thread-local variables: offset, size, name.
    of_thread: Vec<(u64, u64, String)>,
    dwarf: Dwarf<Bytes>,
    units: Vec<Unit<Bytes>>,
    frames: EhFrame<Bytes>,
    bases: BaseAddresses,
}

/// Members and types through which a variable is followed.
const DEEPEST: u32 = 16;

impl FrameSlots {
    /// What was `held` in the first of some frames: each a file, and the
    /// address in it of the call that leads to the frame inside.
    pub fn name(&mut self, frames: &[(&Path, u64)], mut held: Held) -> Option<String> {
        for &(path, probe) in frames {
            let code = self.code(path)?;
            let found = code.variable(probe, held);
            if found.is_some() {
                return found;
            }
            held = code.passed_on(probe, held)?;
        }
        None
    }
}

impl FrameSlots {
    /// The thread-local variable at an offset of an executable's.
    pub fn of_thread(&mut self, path: &Path, offset: u32) -> Option<String> {
        let offset = u64::from(offset);
        let is_there = |&&(start, bytes, _): &&(u64, u64, String)| (start..start + bytes).contains(&offset);
        Some(self.code(path)?.of_thread.iter().find(is_there)?.2.clone())
    }

    fn code(&mut self, path: &Path) -> Option<&Code> {
        self.modules.entry(path.to_owned()).or_insert_with(|| Code::read(path)).as_ref()
    }
}

impl Code {
    fn read(path: &Path) -> Option<Code> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let section = |name: &str| -> Option<Bytes> {
            let data = file.section_by_name(name).and_then(|section| section.uncompressed_data().ok());
            Some(EndianRcSlice::new(Rc::from(&*data.unwrap_or_default()), LittleEndian))
        };
        let dwarf = Dwarf::load(|id| section(id.name()).ok_or(())).ok()?;
        let mut headers = dwarf.units();
        let mut units = Vec::new();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let address = |name: &str| file.section_by_name(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")).set_text(address(".text"));
        let mut frames = EhFrame::from(section(".eh_frame")?);
        frames.set_address_size(8);
        let of_thread = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Tls);
        let named = |symbol: object::Symbol<'_, '_, _>| {
            let name = addr2line::demangle_auto(symbol.name().ok()?.into(), None).into_owned();
            Some((symbol.address(), symbol.size(), name))
        };
        let of_thread = of_thread.filter_map(named).collect();
        Some(Code { of_thread, dwarf, units, frames, bases })
    }

    /// Where the caller has what is `held`, if this function did not use the
    /// place for itself.
    fn passed_on(&self, probe: u64, held: Held) -> Option<Held> {
        let entry = self.frames.fde_for_address(&self.bases, probe, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&self.frames, &self.bases, &mut context, probe).ok()?;
        let place = |rule: &RegisterRule<usize>| match rule {
            RegisterRule::Offset(offset) => Some(-offset),
            _ => None,
        };
        match held {
            Held::Below(distance) => row
                .registers()
                .find(|(_, rule)| place(rule) == Some(distance))
                .map(|(register, _)| Held::Register(*register)),
            Held::Register(register) => match row.register(register) {
                Some(rule) if place(&rule).is_some() => None,
                _ => Some(held),
            },
        }
    }

    /// Whether the function at `probe` finds its frame by rbp, as derived code
    /// does.
    fn has_frame_pointer(&self, probe: u64) -> bool {
        let entry = self.frames.fde_for_address(&self.bases, probe, EhFrame::cie_from_offset);
        let mut context = UnwindContext::new();
        entry.is_ok_and(|entry| {
            let row = entry.unwind_info_for_address(&self.frames, &self.bases, &mut context, probe);
            row.is_ok_and(|row| {
                matches!(row.cfa(), &CfaRule::RegisterAndOffset { register: X86_64::RBP, offset: 16 })
            })
        })
    }

    fn variable(&self, probe: u64, held: Held) -> Option<String> {
        if !self.has_frame_pointer(probe) {
            return None;
        }
        let unit = self.units.iter().find(|unit| {
            self.dwarf.unit_ranges(unit).is_ok_and(|ranges| self.contains(Ok(ranges), probe) == Some(true))
        })?;
        let mut tree = unit.entries_tree(None).ok()?;
        let mut found = None;
        self.search(unit, tree.root().ok()?, probe, held, 0, &mut found);
        found
    }

    /// Looks through the scopes around `probe`; the outermost variable counts:
    /// those of functions that were inlined are copies.
    fn search(
        &self,
        unit: &Unit<Bytes>,
        node: gimli::EntriesTreeNode<'_, '_, Bytes>,
        probe: u64,
        held: Held,
        frame_base: i64,
        found: &mut Option<String>,
    ) -> Option<()> {
        let mut children = node.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            let mut base = frame_base;
            match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    if self.contains(self.dwarf.die_ranges(unit, entry), probe) != Some(true) {
                        continue;
                    }
                    base = self.frame_base(unit, entry).unwrap_or(0);
                }
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                    if self.contains(self.dwarf.die_ranges(unit, entry), probe) == Some(false) {
                        continue;
                    }
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    if found.is_none() {
                        *found = self.name_if_held(unit, entry, probe, held, base);
                    }
                    continue;
                }
                gimli::DW_TAG_namespace | gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {}
                _ => continue,
            }
            self.search(unit, child, probe, held, base, found);
        }
        Some(())
    }

    /// Whether ranges have the address; `None` if there are none.
    fn contains(&self, ranges: gimli::Result<gimli::RangeIter<Bytes>>, probe: u64) -> Option<bool> {
        let (mut ranges, mut any) = (ranges.ok()?, false);
        while let Ok(Some(range)) = ranges.next() {
            any = true;
            if (range.begin..range.end).contains(&probe) {
                return Some(true);
            }
        }
        any.then_some(false)
    }

    /// What offsets from the frame base are to be counted from, below the
    /// stack pointer of the caller.
    fn frame_base(&self, unit: &Unit<Bytes>, function: &Entry) -> Option<i64> {
        let AttributeValue::Exprloc(expression) = function.attr_value(gimli::DW_AT_frame_base)? else {
            return None;
        };
        match expression.operations(unit.encoding()).next().ok()?? {
            Operation::Register { register: X86_64::RBP } => Some(16),
            _ => Some(0),
        }
    }

    fn name_if_held(
        &self,
        unit: &Unit<Bytes>,
        entry: &Entry,
        probe: u64,
        held: Held,
        frame_base: i64,
    ) -> Option<String> {
        let offset = match entry.attr_value(gimli::DW_AT_location)? {
            AttributeValue::Exprloc(expression) => self.offset_of(unit, expression, held, frame_base),
            list => {
                let mut locations = self.dwarf.attr_locations(unit, list).ok()??;
                let mut offset = None;
                while let Ok(Some(location)) = locations.next() {
                    if (location.range.begin..location.range.end).contains(&probe) {
                        offset = self.offset_of(unit, location.data, held, frame_base);
                    }
                }
                offset
            }
        }?;
        let origin = match entry.attr_value(gimli::DW_AT_abstract_origin) {
            Some(AttributeValue::UnitRef(origin)) => Some(unit.entry(origin).ok()?),
            _ => None,
        };
        let declared = origin.as_ref().unwrap_or(entry);
        let name = self.text(unit, declared)?;
        Some(name + &self.field(unit, type_of(declared)?, offset, DEEPEST)?)
    }

    /// Where in the variable that an expression describes the place lies.
    fn offset_of(
        &self,
        unit: &Unit<Bytes>,
        expression: Expression<Bytes>,
        held: Held,
        frame_base: i64,
    ) -> Option<u64> {
        let mut operations = expression.operations(unit.encoding());
        let (mut at, mut start) = (None, 0);
        let within = |at: Option<Held>| match (at?, held) {
            (Held::Below(from), Held::Below(distance)) => u64::try_from(from - distance).ok(),
            (at, held) => (at == held).then_some(0),
        };
        while let Ok(Some(operation)) = operations.next() {
            at = match operation {
                Operation::Register { register } => Some(Held::Register(register)),
                Operation::RegisterOffset { register: X86_64::RBP, offset, .. } => {
                    Some(Held::Below(16 - offset))
                }
                Operation::FrameOffset { offset } => Some(Held::Below(frame_base - offset)),
                Operation::Piece { size_in_bits, .. } => {
                    let bytes = size_in_bits / 8;
                    if let Some(offset) = within(at).filter(|&offset| offset < bytes) {
                        return Some(start + offset);
                    }
                    start += bytes;
                    None
                }
                _ => return None,
            };
        }
        within(at)
    }

    /// How the source writes the pointer at an offset of an object, after the
    /// object's name; `None` if it lies outside. Members whose names are
    /// reserved for the implementation are the library's: the object is meant.
    fn field(&self, unit: &Unit<Bytes>, ty: UnitOffset, offset: u64, depth: u32) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let entry = unit.entry(ty).ok()?;
        let bytes = entry.attr_value(gimli::DW_AT_byte_size).and_then(|bytes| bytes.udata_value());
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => self.field(unit, type_of(&entry)?, offset, depth),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                if bytes.is_none_or(|bytes| offset >= bytes) {
                    return None;
                }
                let mut tree = unit.entries_tree(Some(ty)).ok()?;
                let mut children = tree.root().ok()?.children();
                let mut covering: Option<(u64, Option<String>, UnitOffset)> = None;
                while let Ok(Some(child)) = children.next() {
                    let child = child.entry();
                    let is_member = matches!(child.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
                    let start = child.attr_value(gimli::DW_AT_data_member_location);
                    let start = start.map_or(Some(0), |start| start.udata_value());
                    let is_static = child.attr_value(gimli::DW_AT_external).is_some();
                    if let Some(start) = start.filter(|&start| is_member && !is_static && start <= offset)
                        && covering.as_ref().is_none_or(|&(known, ..)| start > known)
                    {
                        covering = Some((start, self.text(unit, child), type_of(child)?));
                    }
                }
                let (start, name, member) = covering?;
                let is_reserved = |name: &String| name.starts_with("__") || name.starts_with("_M");
                if name.as_ref().is_some_and(is_reserved) {
                    return Some(String::new());
                }
                let rest = self.field(unit, member, offset - start, depth)?;
                Some(name.map_or(String::new(), |name| format!(".{name}")) + &rest)
            }
            gimli::DW_TAG_array_type => {
                let element = type_of(&entry)?;
                let bytes = self.bytes(unit, element, depth)?;
                let index = Some(offset / bytes).filter(|&index| Some(index) < self.count(unit, ty))?;
                Some(format!("[{index}]{}", self.field(unit, element, offset % bytes, depth)?))
            }
            // Scalars, pointers and references have one word.
            _ => (offset == 0).then(String::new),
        }
    }

    /// Elements of an array that has one dimension.
    fn count(&self, unit: &Unit<Bytes>, array: UnitOffset) -> Option<u64> {
        let mut tree = unit.entries_tree(Some(array)).ok()?;
        let mut ranges = tree.root().ok()?.children();
        let range = ranges.next().ok()??.entry().clone();
        let is_only = matches!(ranges.next(), Ok(None));
        let value = |name| range.attr_value(name).and_then(|value| value.udata_value());
        let count = value(gimli::DW_AT_count).or_else(|| Some(value(gimli::DW_AT_upper_bound)? + 1));
        count.filter(|_| is_only)
    }

    fn bytes(&self, unit: &Unit<Bytes>, ty: UnitOffset, depth: u32) -> Option<u64> {
        let entry = unit.entry(ty).ok()?;
        match entry.attr_value(gimli::DW_AT_byte_size) {
            Some(bytes) => bytes.udata_value(),
            None if entry.tag() == gimli::DW_TAG_pointer_type => Some(8),
            None => self.bytes(unit, type_of(&entry)?, depth.checked_sub(1)?),
        }
        .filter(|&bytes| bytes > 0)
    }

    fn text(&self, unit: &Unit<Bytes>, entry: &Entry) -> Option<String> {
        let name = self.dwarf.attr_string(unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
        Some(String::from_utf8_lossy(&name).into_owned())
    }
}

fn type_of(entry: &Entry) -> Option<UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}
