//! The frames of code that was not optimised, for the engine that runs a
//! program as it is ([`leakscope_wire::Frame`]). Of optimised code, whose variables
//! leave their places, `kept` tells.

use std::cmp::Reverse;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use addr2line::gimli::{self, AttributeValue, Operation};
use leakscope_wire::{Brace, Frame, FramesHeader, Optimised, Scope, Slot};
use object::{Object, ObjectSection, SectionKind};
use zerocopy::IntoBytes;

use crate::dwarf::{Debug, Die, Entry, Expression};
use crate::kept;
use crate::module_file;
use crate::slots::Rules;
use crate::types::{Types, Wanted};
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
    types
        .debug
        .for_each_line_in(is_unoptimised, |(start, end), _, line| lines.push(Line { start, end, line }));
    lines.sort_unstable();
    for function in &mut table.functions {
        function.end_before_cleanup(&lines, &code);
    }
    let slots = |function: &Function| function.variables.iter().any(|variable| !variable.scopes.is_empty());
    table.functions.sort_by_key(|function| function.frame.start);
    if !table.functions.iter().any(|it| slots(it) || it.has_temporaries()) {
        table.functions.clear();
    }
    table.optimised = kept::of_optimised(&types, |producer| !is_unoptimised(producer));
    (!table.functions.is_empty() || !table.optimised.is_empty()).then(|| table.bytes(&path))
}

/// gcc names its options; clang does not, and is known by its functions.
fn is_unoptimised(producer: &str) -> bool {
    !producer.split(' ').any(|word| word.starts_with("-O") && word != "-O0")
}

/// A piece of the program's code, and its address.
type Code = Vec<(u64, Vec<u8>)>;

fn code_of(path: &Path) -> Option<Code> {
    let cache = module_file::open(path)?;
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

/// Whether it begins with a load of the result from the frame, as clang makes it.
fn loads_result(code: &[u8]) -> bool {
    matches!(code, [0x8a | 0x8b, 0x45 | 0x85, ..] | [0x48, 0x8b, 0x45 | 0x85, ..])
}

#[derive(Default)]
struct Table {
    functions: Vec<Function>,
    optimised: Vec<kept::Stretch>,
}

/// A function while its entries are read.
struct Function {
    frame: Frame,
    depth: isize,
    /// What is added to offsets of variables, to count from the frame's end.
    base: i64,
    variables: Vec<Variable>,
    /// The code of each block of the source.
    blocks: Vec<Vec<Scope>>,
    /// The blocks around the entry that is read, with their depth.
    around: Vec<(isize, usize)>,
    /// We are in another function, which is declared or lies in this one.
    others: Option<isize>,
    /// The optimiser was at it.
    is_optimised: bool,
}

#[derive(Default)]
struct Variable {
    below: u32,
    bytes: u32,
    scopes: Vec<Scope>,
    /// The block of the source that it is in, by number; none for the function's own.
    block: Option<usize>,
    may_point: bool,
    has_destructor: bool,
    brace: Brace,
}

/// The line of a piece of code.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    start: u64,
    end: u64,
    line: u32,
}

/// The last line of some code, which is the closing brace of its scope, and what is
/// before it; none if `is_code` of nothing that the brace has.
fn before_brace<'a>(
    lines: &[&'a Line],
    start: u64,
    is_code: impl Fn(&Line) -> bool,
) -> Option<(&'a Line, Vec<Scope>)> {
    let last = lines.iter().map(|line| line.line).max()?;
    let (brace, body): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| line.line == last);
    if !brace.iter().any(|line| is_code(line)) {
        return None;
    }
    let from_start = |address: u64| address.saturating_sub(start) as u32;
    let scope = |line: &&Line| Scope { start: from_start(line.start), end: from_start(line.end) };
    Some((brace[0], body.iter().map(scope).collect()))
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
        Some(Function {
            frame,
            depth,
            base,
            variables: Vec::new(),
            blocks: Vec::new(),
            around: Vec::new(),
            others: None,
            is_optimised: false,
        })
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
                let scopes =
                    ranges.map(|(start, end)| Scope { start: from_start(start), end: from_start(end) });
                self.around.push((depth, self.blocks.len()));
                self.blocks.push(scopes.collect());
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
                    // An array of variable length is nowhere at first, with clang.
                    Some(_) => {
                        let bytes = types.type_of(die, entry).and_then(|kind| types.size(kind));
                        self.is_optimised |= bytes.is_some_and(|bytes| bytes > 0);
                    }
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
            _ => return Some(Variable::default()),
        };
        let below = u32::try_from(-offset.wrapping_add(self.base)).ok()?;
        let kind = types.type_of(die, entry)?;
        let bytes = u32::try_from(types.size(kind)?).ok()?;
        let (block, may_point) = (self.around.last().map(|&(_, block)| block), types.may_point(kind));
        let scopes = block.map(|block| self.blocks[block].clone()).filter(|_| may_point).unwrap_or_default();
        let has_destructor = types.has_destructor(kind);
        Some(Variable { below, bytes, scopes, block, may_point, has_destructor, brace: Brace::None })
    }

    /// Where a closing brace has code of its own, as destructors, a check of the stack or
    /// the result of several returns, locals without destructors end before it.
    fn end_before_cleanup(&mut self, lines: &[Line], code: &Code) {
        let Frame { start, end, .. } = self.frame;
        let first = lines.partition_point(|line| line.end <= start);
        let own: Vec<&Line> = lines[first..].iter().take_while(|line| line.start < end).collect();
        let bytes = |line: &Line| bytes_at(code, line.start, line.end);
        let is_code = |line: &Line| calls(bytes(line)) || loads_result(bytes(line));
        if let Some((brace, body)) = before_brace(&own, start, is_code)
            && own.last().is_some_and(|last| last.line == brace.line)
        {
            self.end_in(None, &body, Brace::Function);
            // As `main` does where the source says nothing.
            if bytes(brace).starts_with(&[0xb8, 0, 0, 0, 0]) {
                self.frame.results = 0;
            }
        }
        for (number, scopes) in self.blocks.clone().iter().enumerate() {
            let is_inside = |line: &&&Line| {
                let at = (line.start.saturating_sub(start)) as u32;
                scopes.iter().any(|scope| (scope.start..scope.end).contains(&at))
            };
            let has_destructor = |it: &Variable| it.block == Some(number) && it.has_destructor;
            let inside: Vec<&Line> = own.iter().filter(is_inside).copied().collect();
            if self.variables.iter().any(has_destructor)
                && let Some((_, body)) = before_brace(&inside, start, |line| calls(bytes(line)))
            {
                self.end_in(Some(number), &body, Brace::Block);
            }
        }
    }

    /// The variables of a block, or of the function, end with `body`.
    fn end_in(&mut self, block: Option<usize>, body: &[Scope], brace: Brace) {
        let is_meant = |it: &&mut Variable| it.block == block && it.may_point && !it.has_destructor;
        for variable in self.variables.iter_mut().filter(is_meant) {
            variable.scopes = body.to_vec();
            variable.brace = brace;
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
                    brace: variable.brace as u32,
                });
                scopes.extend(variable.scopes);
            }
        }
        let rules = Rules::read(path).filter(|_| !self.optimised.is_empty());
        let (mut optimised, mut kept) = (Vec::new(), Vec::new());
        for stretch in self.optimised {
            let (first, first_slot) = (kept.len() as u32, slots.len() as u32);
            let (count, places) = (stretch.pieces.len() as u32, stretch.places.len() as u32);
            let bytes = rules.as_ref().and_then(|rules| rules.frame_bytes(stretch.start)).unwrap_or(0);
            optimised.push(Optimised {
                bytes,
                reserved: 0,
                start: stretch.start,
                end: stretch.end,
                first,
                count,
                first_slot,
                slots: places,
                first_block: first_slot + places,
                blocks: stretch.blocks.len() as u32,
                function: stretch.function,
                results: stretch.has_result.into(),
            });
            kept.extend(stretch.pieces);
            let blocks = stretch.blocks.into_iter().map(|scopes| kept::Place { below: 0, bytes: 0, scopes });
            for kept::Place { below, bytes, scopes: own } in stretch.places.into_iter().chain(blocks) {
                let (first_scope, count) = (scopes.len() as u32, own.len() as u32);
                slots.push(Slot { below, bytes, first_scope, scopes: count, brace: Brace::None as u32 });
                scopes.extend(own);
            }
        }
        let path = path.as_os_str().as_bytes();
        let count = |count: usize| count as u32;
        let header = FramesHeader {
            frames: count(frames.len()),
            slots: count(slots.len()),
            scopes: count(scopes.len()),
            path_bytes: count(path.len()),
            optimised: count(optimised.len()),
            kept: count(kept.len()),
        };
        let (optimised, kept) = (optimised.as_bytes(), kept.as_bytes());
        [header.as_bytes(), optimised, frames.as_bytes(), slots.as_bytes(), scopes.as_bytes(), kept, path]
            .concat()
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

/// Whether a structure with pointers is returned in two general registers. Large
/// numbers as the second word may have a point, and another register.
fn has_two_words(types: &Types, kind: Die) -> bool {
    let is_pointer = |offset| types.descend(kind, offset, Wanted::Word).map(|word| word.is_pointer);
    let has_pointer = is_pointer(0) == Some(true) || is_pointer(8) == Some(true);
    types.size(kind) == Some(16) && has_pointer && is_pointer(8) != Some(false) && !types.has_destructor(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_off_the_first_instructions() {
        assert_eq!(frame_bytes(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x89]), Some(16 + 0x20));
        let pushed =
            [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x54, 0x53, 0x48, 0x81, 0xec, 0, 1, 0, 0];
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
