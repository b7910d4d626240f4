//! Where optimised code has its variables: which are in registers, and in which
//! pieces of the code. A variable ends where control leaves
//! such a piece and it is nowhere else. The registers themselves are overwritten
//! much later, often where a loop gets to its next round.

use addr2line::gimli::{self, Operation, Register, X86_64};
use leakscope_wire::Kept;

use crate::dwarf::{Debug, Die, Entry, Expression};
use crate::types::Types;
use crate::variables::{At, parts};

/// A function with variables that may be in registers.
pub struct Function {
    /// Addresses of the file.
    pub start: u64,
    pub end: u64,
    pub pieces: Vec<Kept>,
}

/// The functions of units with a compiler that `is_wanted`, by address.
pub fn in_registers(types: &Types, is_wanted: fn(&str) -> bool) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    let mut open: Option<Open> = None;
    types.debug.for_each_in(is_wanted, |die, entry, depth| {
        if let Some(inside) = &mut open
            && depth > inside.depth
        {
            return inside.add(types, die, entry, depth);
        }
        found.extend(open.take().map(|open| open.function));
        if entry.tag() == gimli::DW_TAG_subprogram {
            open = Open::of(types, die, entry, depth);
        }
    });
    found.extend(open.take().map(|open| open.function));
    found.retain(|function| function.pieces.iter().any(|piece| piece.register != Kept::ELSEWHERE));
    found.sort_by_key(|function| function.start);
    found
}

/// A function while its entries are read.
struct Open {
    function: Function,
    depth: isize,
    variables: u32,
    /// The scopes around the entry that is read.
    around: Vec<Around>,
}

struct Around {
    depth: isize,
    ranges: Vec<(u64, u64)>,
}

impl Open {
    fn of(types: &Types, die: Die, entry: &Entry, depth: isize) -> Option<Open> {
        let (start, end) = *types.debug.ranges(die, entry).first()?;
        let function = Function { start, end, pieces: Vec::new() };
        Some(Open { function, depth, variables: 0, around: Vec::new() })
    }

    fn add(&mut self, types: &Types, die: Die, entry: &Entry, depth: isize) {
        self.around.retain(|around| around.depth < depth);
        match entry.tag() {
            gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                self.around.push(Around { depth, ranges: types.debug.ranges(die, entry) });
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => self.variable(types, die, entry),
            _ => {}
        }
    }

    fn variable(&mut self, types: &Types, die: Die, entry: &Entry) {
        if !types.type_of(die, entry).is_some_and(|kind| types.may_point(kind)) {
            return;
        }
        let function = (self.function.start, self.function.end);
        let scopes = self.around.last().map_or_else(|| vec![function], |around| around.ranges.clone());
        self.variables += 1;
        for ((start, end), at) in types.debug.locations(die, entry) {
            let Some(register) = place(&types.debug, die, &at) else { continue };
            for &(from, to) in &scopes {
                let start = start.max(from).max(function.0);
                let end = end.min(to).min(function.1);
                if start < end {
                    let [start, end] = [start, end].map(|address| (address - function.0) as u32);
                    self.function.pieces.push(Kept { start, end, register, variable: self.variables });
                }
            }
        }
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
