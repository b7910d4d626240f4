//! What the program's own code calls the objects on which it calls functions
//! of libraries' headers.
//!
//! Where a container drops a pointer, the code that does so is the library's,
//! and its variables say nothing to the user; the user's name for the
//! container does. It is known where the call is made, and found by its place
//! in the source: each call adds a line to a section of the object file, which
//! is no part of the program's memory.

use leakscope_wire::OBJECTS;

use crate::builder::Builder;
use crate::exits::Exits;
use crate::ir::{Location, Opcode, Value};
use crate::llvm::{Function, Module};
use crate::names::Names;

/// The lines of a module.
#[derive(Default)]
pub struct Objects {
    lines: Vec<String>,
}

impl Objects {
    /// Notes a call in `function`, which stands in `file`. The destructor of a
    /// local that is called where its scope ends gets the place that left it.
    pub fn add<'m>(
        &mut self,
        builder: &Builder<'m>,
        names: &Names<'m>,
        exits: &Exits<'m>,
        file: &str,
        call: Value<'m>,
    ) {
        // Nobody wrote the destructor that the compiler makes of those of the members.
        let is_implicit = |name: &str| is_destructor(name) && names.is_made_callee(call);
        let is_meant = |name: &&str| names.is_librarys_callee(call) || is_implicit(name);
        let Some(name) = call.called_name().filter(is_meant) else { return };
        let Some(object) = names.object_of(call) else { return };
        let kind = if is_destructor(name) {
            let (place, slot) = exits.of(call);
            if let (true, None, Some(place)) = (call.operand(0).is(Opcode::LLVMAlloca), slot, place) {
                builder.relocate(call, place);
            }
            'd'
        } else if is_assignment(name) {
            'a'
        } else {
            'm'
        };
        let Some((line, column)) = call.location().map(|at| (Location::line(at), Location::column(at)))
        else {
            return;
        };
        self.lines.push(format!("{file}\t{line}\t{column}\t{kind}\t{name}\t{object}"));
    }

    /// Notes where an integer in a block changes by one: blocks that count their
    /// holders are used there last.
    pub fn add_count(&mut self, file: &str, at: Value<'_>) {
        if let Some(place) = at.location().filter(|_| changes_by_one(at)) {
            self.lines.push(format!("{file}\t{}\t{}\tc\t", place.line(), place.column()));
        }
    }

    pub fn add_line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Puts the lines into the module.
    pub fn write(mut self, module: &Module<'_>) {
        self.lines.sort();
        self.lines.dedup();
        if self.lines.is_empty() {
            return;
        }
        let mut text = format!(".section {OBJECTS},\"\",@progbits\n");
        for line in self.lines {
            let escaped = line.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t");
            text += &format!(".ascii \"{escaped}\\n\"\n");
        }
        module.add_assembler(&(text + ".text\n"));
    }
}

/// Whether an instruction adds one to an integer somewhere in memory, or takes
/// one away.
fn changes_by_one(at: Value<'_>) -> bool {
    let is_one = |value: Value<'_>| value.signed().is_some_and(|value| value.abs() == 1);
    match at.opcode() {
        Some(Opcode::LLVMAtomicRMW) => {
            // Clang keeps the operand of some in a local; most add one.
            (at.is_addition() || at.is_subtraction())
                && (is_one(at.operand(1)) || !at.operand(1).is_constant())
        }
        Some(Opcode::LLVMStore) => {
            let (new, place) = (at.operand(0), at.operand(1));
            let is_local = place.without_steps().is(Opcode::LLVMAlloca) || place.without_steps().is_global();
            let old = if new.is(Opcode::LLVMAdd) { new.operand(0) } else { return false };
            !is_local && is_one(new.operand(1)) && old.is(Opcode::LLVMLoad) && is_same(old.operand(0), place)
        }
        _ => false,
    }
}

/// Whether two addresses are the same for certain: steps from what one variable
/// holds.
fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    one == other
        || one.opcode() == other.opcode()
            && one.operands().count() == other.operands().count()
            && match one.opcode() {
                Some(Opcode::LLVMGetElementPtr) => {
                    one.operands().zip(other.operands()).all(|(one, other)| is_same(one, other))
                }
                Some(Opcode::LLVMLoad) => one.operand(0) == other.operand(0),
                _ => false,
            }
}

/// Whether a symbol of C++ is that of a destructor.
pub fn is_destructor(symbol: &str) -> bool {
    ["D0Ev", "D1Ev", "D2Ev"].iter().any(|end| symbol.ends_with(end))
}

/// Whether a symbol of C++ is that of `operator=`, which may be a template.
fn is_assignment(symbol: &str) -> bool {
    symbol.contains("aSE") || symbol.contains("EaSI") || symbol.starts_with("_ZNSt3anyaSI")
}

/// Gives what the compiler made no line: it is nowhere in the source, and whoever
/// called it is meant.
pub fn without_lines<'m>(builder: &Builder<'m>, names: &Names<'m>, function: Function<'m>) {
    if names.is_made_by_compiler() {
        function.instructions().for_each(|at| builder.relocate_nowhere(at, function));
    }
}
