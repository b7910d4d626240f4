//! The frames of code that was not optimised, for the engine that runs a
//! program as it is ([`leakscope_wire::Frame`]). Of optimised code nothing is
//! told: its variables leave their places, and its scopes are mixed.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use addr2line::gimli::{self, AttributeValue, Operation};
use leakscope_wire::{Frame, FramesHeader, Scope, Slot};
use object::{Object, ObjectSection, ReadCache, SectionKind};
use zerocopy::IntoBytes;

use crate::dwarf::{Debug, Die, Entry, Expression};
use crate::types::Types;
use crate::variables::{At, parts};

/// The table of a program; none if nothing of it is to be told.
pub fn frames(program: &Path) -> Option<Vec<u8>> {
    let path = fs::canonicalize(program).ok()?;
    let types = Types::of_units(Debug::read(&path)?);
    let code = code_of(&path)?;
    let mut table = Table::default();
    let mut function: Option<Function> = None;
    types.debug.for_each_in(is_unoptimised, |die, entry, depth| {
        if let Some(inside) = &mut function
            && depth > inside.depth
        {
            return inside.add(&types, die, entry, depth);
        }
        if let Some(done) = function.take() {
            table.add(done);
        }
        if entry.tag() == gimli::DW_TAG_subprogram {
            function = Function::of(&types, die, entry, depth, &code);
        }
    });
    if let Some(done) = function.take() {
        table.add(done);
    }
    let mut lines = Vec::new();
    types.debug.for_each_line_in(is_unoptimised, |(start, end), _, line| lines.push((start, end, line)));
    lines.sort_unstable();
    for function in &mut table.functions {
        function.end_before_cleanup(&lines, &code);
    }
    let slots = |function: &Function| function.variables.iter().any(|variable| !variable.scopes.is_empty());
    table.functions.sort_by_key(|function| function.frame.start);
    (!table.functions.is_empty() && table.functions.iter().any(|it| slots(it) || it.has_temporaries()))
        .then(|| table.bytes(&path))
}

/// gcc names its options; clang does not, and is known by its functions.
fn is_unoptimised(producer: &str) -> bool {
    !producer.split(' ').any(|word| word.starts_with("-O") && word != "-O0")
}

/// A piece of the program's code, and its address.
type Code = Vec<(u64, Vec<u8>)>;

fn code_of(path: &Path) -> Option<Code> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
    Some(sections.filter_map(|it| Some((it.address(), it.data().ok()?.to_vec()))).collect())
}

/// The code at some addresses; empty if it is not there.
fn bytes_at(code: &Code, start: u64, end: u64) -> &[u8] {
    let within = |(at, bytes): &(u64, Vec<u8>)| (*at..at + bytes.len() as u64).contains(&start);
    let found = code.iter().find(|piece| within(piece));
    found.and_then(|(at, bytes)| bytes.get((start - at) as usize..(end - at) as usize)).unwrap_or_default()
}

/// Whether there may be a call of a function that is not far.
fn calls(code: &[u8]) -> bool {
    code.windows(5).any(|bytes| matches!(bytes, [0xe8, _, _, _, 0 | 0xff]))
}

#[derive(Default)]
struct Table {
    functions: Vec<Function>,
}

/// A function while its entries are read.
struct Function {
    frame: Frame,
    depth: isize,
    /// What is added to offsets of variables, to count from the frame's end.
    base: i64,
    variables: Vec<Variable>,
    /// Scopes around the entry that is read, with their depth.
    around: Vec<(isize, Vec<Scope>)>,
    /// We are in another function, which is declared or lies in this one.
    others: Option<isize>,
    /// The optimiser was at it.
    is_optimised: bool,
}

struct Variable {
    below: u32,
    bytes: u32,
    scopes: Vec<Scope>,
    /// It lives as long as the function, and may be the last pointer to a block.
    is_outermost: bool,
}

impl Function {
    fn of(types: &Types, die: Die, entry: &Entry, depth: isize, code: &Code) -> Option<Function> {
        let debug = &types.debug;
        let [(start, end)] = debug.ranges(die, entry)[..] else { return None };
        let is_optimised = [gimli::DW_AT_call_all_calls, gimli::DW_AT_GNU_all_call_sites];
        if is_optimised.iter().any(|&flag| entry.attr_value(flag).is_some()) {
            return None;
        }
        let AttributeValue::Exprloc(base) = entry.attr_value(gimli::DW_AT_frame_base)? else { return None };
        let base = match base.operations(debug.encoding(die)).next().ok()?? {
            Operation::CallFrameCFA => 0,
            Operation::Register { register: gimli::X86_64::RBP } => -16,
            _ => return None,
        };
        let bytes = frame_bytes(bytes_at(code, start, end))?;
        let results = match types.type_of(die, entry) {
            Some(kind) => 1 + u32::from(has_two_words(types, kind)),
            None => 0,
        };
        let frame = Frame { start, end, bytes, results, first_slot: 0, slots: 0 };
        let (variables, around) = (Vec::new(), Vec::new());
        Some(Function { frame, depth, base, variables, around, others: None, is_optimised: false })
    }

    /// An entry inside of the function.
    fn add(&mut self, types: &Types, die: Die, entry: &Entry, depth: isize) {
        self.around.retain(|&(outer, _)| outer < depth);
        self.others = self.others.filter(|&outer| outer < depth);
        if self.others.is_some() {
            return;
        }
        match entry.tag() {
            gimli::DW_TAG_subprogram => self.others = Some(depth),
            gimli::DW_TAG_lexical_block => {
                let from_start = |address: u64| (address.wrapping_sub(self.frame.start)) as u32;
                let ranges = types.debug.ranges(die, entry).into_iter();
                let scopes = ranges.map(|(start, end)| Scope { start: from_start(start), end: from_start(end) });
                self.around.push((depth, scopes.collect()));
            }
            gimli::DW_TAG_inlined_subroutine => self.is_optimised = true,
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                match entry.attr_value(gimli::DW_AT_location) {
                    Some(AttributeValue::Exprloc(at)) => {
                        match self.variable(types, die, entry, &at) {
                            Some(variable) => self.variables.push(variable),
                            // It may be anywhere.
                            None => self.frame.bytes = 0,
                        }
                    }
                    Some(_) => self.is_optimised = true,
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn variable(&self, types: &Types, die: Die, entry: &Entry, at: &Expression) -> Option<Variable> {
        let offset = match parts(&types.debug, die, at)[..] {
            [(At::Frame(offset), _)] => offset,
            // Not in the frame, or behind a pointer there, which the compiler made.
            _ => return Some(Variable { below: 0, bytes: 0, scopes: Vec::new(), is_outermost: false }),
        };
        let below = u32::try_from(-offset.wrapping_add(self.base)).ok()?;
        let kind = types.type_of(die, entry)?;
        let bytes = u32::try_from(types.size(kind)?).ok()?;
        let (around, may_point) = (self.around.last(), types.may_point(kind));
        let scopes = around.map(|(_, scopes)| scopes.clone()).filter(|_| may_point);
        // What has a destructor ends there.
        let is_outermost = around.is_none() && may_point && !types.has_destructor(kind);
        Some(Variable { below, bytes, scopes: scopes.unwrap_or_default(), is_outermost })
    }

    /// Where the closing brace has calls of its own, of destructors or a check of
    /// the stack, the function's locals end before it.
    fn end_before_cleanup(&mut self, lines: &[(u64, u64, u32)], code: &Code) {
        let Frame { start, end, .. } = self.frame;
        let first = lines.partition_point(|line| line.1 <= start);
        let own: Vec<_> = lines[first..].iter().take_while(|line| line.0 < end).collect();
        let Some(brace) = own.last().map(|line| line.2) else { return };
        let is_brace = |line: &&&(u64, u64, u32)| line.2 == brace;
        let bytes = |&&(start, end, _): &&(u64, u64, u32)| bytes_at(code, start, end);
        if own.iter().any(|line| line.2 > brace) || !own.iter().filter(is_brace).any(|line| calls(bytes(line))) {
            return;
        }
        let from_start = |address: u64| address.saturating_sub(start) as u32;
        let body: Vec<Scope> = own
            .iter()
            .filter(|line| !is_brace(line))
            .map(|line| Scope { start: from_start(line.0), end: from_start(line.1.min(end)) })
            .collect();
        for variable in self.variables.iter_mut().filter(|it| it.is_outermost) {
            variable.scopes.clone_from(&body);
        }
        // As `main` does where the source says nothing.
        const RETURN_ZERO: &[u8] = &[0xb8, 0, 0, 0, 0];
        if own.iter().find(|line| is_brace(line)).is_some_and(|line| bytes(line).starts_with(RETURN_ZERO)) {
            self.frame.results = 0;
        }
    }

    /// Whether more is in the frame than its variables.
    fn has_temporaries(&self) -> bool {
        self.frame.bytes > 16
    }
}

impl Table {
    fn add(&mut self, function: Function) {
        if !function.is_optimised {
            self.functions.push(function);
        }
    }

    fn bytes(self, path: &Path) -> Vec<u8> {
        let (mut frames, mut slots, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
        for Function { frame, mut variables, .. } in self.functions {
            // Of several that end together the last one is told: the first of the source.
            variables.sort_by_key(|variable| Reverse(variable.below));
            let first_slot = slots.len() as u32;
            frames.push(Frame { first_slot, slots: variables.len() as u32, ..frame });
            for variable in variables {
                slots.push(Slot {
                    below: variable.below,
                    bytes: variable.bytes,
                    first_scope: scopes.len() as u32,
                    scopes: variable.scopes.len() as u32,
                    is_outermost: variable.is_outermost.into(),
                });
                scopes.extend(variable.scopes);
            }
        }
        let path = path.as_os_str().as_bytes();
        let count = |count: usize| count as u32;
        let header = FramesHeader {
            frames: count(frames.len()),
            slots: count(slots.len()),
            scopes: count(scopes.len()),
            path_bytes: count(path.len()),
        };
        [header.as_bytes(), frames.as_bytes(), slots.as_bytes(), scopes.as_bytes(), path].concat()
    }
}

/// How far below its end a function's frame reaches, by its first instructions:
/// the frame pointer is set up, registers are pushed, and the rest is taken.
fn frame_bytes(code: &[u8]) -> Option<u32> {
    /// What a function that calls no other may use below the stack pointer.
    const RED_ZONE: u32 = 128;
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    let mut code = code.strip_prefix(&[0x55, 0x48, 0x89, 0xe5])?;
    let mut bytes = 16;
    while let [0x53, rest @ ..] | [0x41, 0x54..=0x57, rest @ ..] = code {
        (code, bytes) = (rest, bytes + 8);
    }
    Some(match *code {
        [0x48, 0x83, 0xec, few, ..] => bytes + u32::from(few),
        [0x48, 0x81, 0xec, a, b, c, d, ..] => bytes.checked_add(u32::from_le_bytes([a, b, c, d]))?,
        _ => bytes + RED_ZONE,
    })
}

/// Whether a structure is returned in two registers, with a pointer in the second.
fn has_two_words(types: &Types, kind: Die) -> bool {
    types.size(kind) == Some(16)
        && types.descend(kind, 8).is_some_and(|second| second.is_pointer)
        && !types.has_destructor(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_off_the_first_instructions() {
        assert_eq!(frame_bytes(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x89]), Some(16 + 0x20));
        let pushed = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x54, 0x53, 0x48, 0x81, 0xec, 0, 1, 0, 0];
        assert_eq!(frame_bytes(&pushed), Some(16 + 16 + 256));
        assert_eq!(frame_bytes(&[0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d]), Some(16 + 128));
        assert_eq!(frame_bytes(&[0x48, 0x83, 0xec, 0x20]), None);
    }

    #[test]
    fn gcc_says_what_it_optimised() {
        assert!(is_unoptimised("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O0"));
        assert!(is_unoptimised("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g"));
        assert!(!is_unoptimised("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2"));
        assert!(!is_unoptimised("GNU C17 12.2.0 -g -Og"));
        assert!(is_unoptimised("Debian clang version 19.1.7"));
    }
}
