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
        let Some(name) = call.called_name().filter(|_| names.is_librarys_callee(call)) else { return };
        let Some(object) = names.object_of(call) else { return };
        let kind = if is_destructor(name) {
            let (place, slot) = exits.of(call);
            if let (true, None, Some(place)) = (call.operand(0).is(Opcode::LLVMAlloca), slot, place) {
                builder.relocate(call, place);
            }
            'd'
        } else if name.contains("aSE") {
            'a'
        } else {
            'm'
        };
        let Some((line, column)) = call.location().map(|at| (Location::line(at), Location::column(at)))
        else {
            return;
        };
        self.lines.push(format!("{file}\t{line}\t{column}\t{kind}\t{object}"));
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

/// Whether a symbol of C++ is that of a destructor.
pub fn is_destructor(symbol: &str) -> bool {
    ["D0Ev", "D1Ev", "D2Ev"].iter().any(|end| symbol.ends_with(end))
}

/// Gives what the compiler made no line: it is nowhere in the source, and whoever
/// called it is meant.
pub fn without_lines<'m>(builder: &Builder<'m>, names: &Names<'m>, function: Function<'m>) {
    if names.is_made_by_compiler() {
        function.instructions().for_each(|at| builder.relocate_nowhere(at, function));
    }
}
