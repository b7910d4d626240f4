//! Where optimised code has its variables: which are in registers, and in which
//! pieces of the code. A variable ends where control leaves
//! such a piece and it is nowhere else. The registers themselves are overwritten
//! much later, often where a loop gets to its next round. What functions that were
//! inlined have in the frame ends where control leaves their code; the frame stays
//! until the function around them returns.

use std::collections::BTreeSet;

use addr2line::gimli::{self, AttributeValue, Operation, Register, X86_64};
use leakscope_wire::{Kept, Scope};

use crate::dwarf::{Debug, Die, Entry, Expression};
use crate::types::Types;
use crate::variables::{At, parts};

/// A stretch of a function's code, with what is known of its variables there.
pub struct Stretch {
    /// Addresses of the file.
    pub start: u64,
    pub end: u64,
    /// By number.
    pub function: u32,
    pub has_result: bool,
    pub pieces: Vec<Kept>,
    pub places: Vec<Place>,
    /// The code of each block of the source, and of each function that was inlined.
    pub blocks: Vec<Vec<Scope>>,
}

/// A variable that is in the frame.
pub struct Place {
    /// So far below the frame's end it begins.
    pub below: u32,
    pub bytes: u32,
    /// Where it lives, if it has that place for as long as it does, in an inner scope:
    /// often in a function that was inlined.
    pub scopes: Vec<Scope>,
}

/// The code of units with a compiler that `is_wanted`, by address.
pub fn of_optimised(types: &Types, is_wanted: fn(&str) -> bool) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut open: Option<Open> = None;
    let mut functions = 0;
    types.debug.for_each_in(is_wanted, |die, entry, depth| {
        if let Some(inside) = &mut open
            && depth > inside.depth
        {
            return inside.add(types, die, entry, depth);
        }
        found.extend(open.take().into_iter().flat_map(|open| open.stretches));
        if entry.tag() == gimli::DW_TAG_subprogram {
            functions += 1;
            open = Some(Open::of(types, die, entry, depth, functions));
        }
    });
    found.extend(open.take().into_iter().flat_map(|open| open.stretches));
    found.sort_by_key(|stretch| stretch.start);
    found
}

/// A function while its entries are read.
struct Open {
    stretches: Vec<Stretch>,
    depth: isize,
    variables: u32,
    blocks: u32,
    /// Places of variables are counted from the frame's end.
    counts_from_end: bool,
    /// The scopes around the entry that is read.
    around: Vec<Around>,
}

struct Around {
    depth: isize,
    ranges: Vec<(u64, u64)>,
    /// By number, from 1 on.
    block: u32,
}

impl Stretch {
    /// What of a range is in it.
    fn scope(&self, range: (u64, u64)) -> Option<Scope> {
        let (start, end) = common(range, (self.start, self.end))?;
        Some(Scope { start: (start - self.start) as u32, end: (end - self.start) as u32 })
    }
}

impl Open {
    fn of(types: &Types, die: Die, entry: &Entry, depth: isize, function: u32) -> Open {
        let debug = &types.debug;
        let has_result = types.type_of(die, entry).is_some();
        let stretch = |(start, end)| Stretch {
            start,
            end,
            function,
            has_result,
            pieces: Vec::new(),
            places: Vec::new(),
            blocks: Vec::new(),
        };
        let base = match entry.attr_value(gimli::DW_AT_frame_base) {
            Some(AttributeValue::Exprloc(base)) => base.operations(debug.encoding(die)).next().ok().flatten(),
            _ => None,
        };
        Open {
            stretches: debug.ranges(die, entry).into_iter().map(stretch).collect(),
            depth,
            variables: 0,
            blocks: 0,
            counts_from_end: matches!(base, Some(Operation::CallFrameCFA)),
            around: Vec::new(),
        }
    }

    fn add(&mut self, types: &Types, die: Die, entry: &Entry, depth: isize) {
        self.around.retain(|around| around.depth < depth);
        match entry.tag() {
            gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                let ranges = types.debug.ranges(die, entry);
                for stretch in &mut self.stretches {
                    let scopes = ranges.iter().filter_map(|&range| stretch.scope(range)).collect();
                    stretch.blocks.push(scopes);
                }
                self.blocks += 1;
                self.around.push(Around { depth, ranges, block: self.blocks });
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => self.variable(types, die, entry),
            _ => {}
        }
    }

    fn variable(&mut self, types: &Types, die: Die, entry: &Entry) {
        let kind = types.type_of(die, entry).filter(|&kind| types.may_point(kind));
        let Some(kind) = kind else { return };
        self.variables += 1;
        let debug = &types.debug;
        let locations = debug.locations(die, entry);
        let is_always_there = matches!(locations[..], [((0, u64::MAX), _)]);
        let in_frame = locations.iter().filter_map(|(_, at)| in_frame(debug, die, at));
        let in_frame: BTreeSet<u32> = in_frame.filter(|_| self.counts_from_end).collect();
        let bytes = types.size(kind).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(8);
        let (variable, block) = (self.variables, self.around.last().map_or(0, |around| around.block));
        for stretch in &mut self.stretches {
            let whole = [(stretch.start, stretch.end)];
            let ranges = self.around.last().map_or(&whole[..], |around| &around.ranges);
            for (range, at) in &locations {
                let Some(register) = place(debug, die, at) else { continue };
                for scope in
                    ranges.iter().filter_map(|&own| stretch.scope(common(*range, own)?)).collect::<Vec<_>>()
                {
                    let Scope { start, end } = scope;
                    stretch.pieces.push(Kept { start, end, register, variable, block });
                }
            }
            for &below in &in_frame {
                let is_inner = is_always_there && block != 0;
                let scopes =
                    ranges.iter().filter_map(|&range| stretch.scope(range)).filter(|_| is_inner).collect();
                stretch.places.push(Place { below, bytes, scopes });
            }
        }
    }
}

/// What two ranges share.
fn common(one: (u64, u64), other: (u64, u64)) -> Option<(u64, u64)> {
    let both = (one.0.max(other.0), one.1.min(other.1));
    (both.0 < both.1).then_some(both)
}

/// How far below the frame's end a variable begins that is in the frame.
fn in_frame(debug: &Debug, die: Die, at: &Expression) -> Option<u32> {
    match parts(debug, die, at)[..] {
        [(At::Frame(offset), _)] => u32::try_from(-offset).ok(),
        _ => None,
    }
}

/// The register that a variable is in, or that it is elsewhere; none if it is nowhere.
fn place(debug: &Debug, die: Die, at: &Expression) -> Option<u32> {
    if let [(At::Register(register), _)] = parts(debug, die, at)[..]
        && let Some(number) = number(register)
    {
        return Some(number);
    }
    let mut operations = at.clone().operations(debug.encoding(die));
    let mut is_somewhere = false;
    while let Ok(Some(operation)) = operations.next() {
        is_somewhere |= matches!(
            operation,
            Operation::Register { .. } | Operation::RegisterOffset { .. } | Operation::FrameOffset { .. }
        );
    }
    is_somewhere.then_some(Kept::ELSEWHERE)
}

/// The number of a general register, as the processor has it.
fn number(register: Register) -> Option<u32> {
    const NUMBERS: [(Register, u32); 7] = [
        (X86_64::RAX, 0),
        (X86_64::RCX, 1),
        (X86_64::RDX, 2),
        (X86_64::RBX, 3),
        (X86_64::RBP, 5),
        (X86_64::RSI, 6),
        (X86_64::RDI, 7),
    ];
    let named = NUMBERS.iter().find(|(known, _)| *known == register);
    named.map(|&(_, number)| number).or_else(|| Some(u32::from(register.0)).filter(|it| (8..16).contains(it)))
}
