//! Blocks that are given to functions which free them on behalf of others, as
//! `xfree` does, or through a pointer to `free`.
//!
//! Such a function takes any pointer and knows no fields. Its callers do, so each
//! call says what the source calls them there, in the section that [`Objects`]
//! writes; which call frees what is known only when the program runs.

use crate::ir::{Opcode, Value};
use crate::llvm::Function;
use crate::names::{FieldName, Names};
use crate::objects::Objects;

/// More arguments of a call are not looked at.
const MOST: u32 = 16;

impl Objects {
    /// Notes what a call in `function`, which stands in `file`, passes to
    /// parameters of no type.
    pub fn add_passed<'m>(&mut self, names: &Names<'m>, function: Function<'m>, file: &str, call: Value<'m>) {
        let Some(place) = call.location() else { return };
        // What is freed by a function that gives memory too is for nobody to keep.
        let keeps_nothing = call.ty().is_void() || call.users().next().is_none();
        for (number, argument) in (0..MOST).zip(call.arguments()) {
            if !argument.ty().is_pointer() || !names.takes_any_pointer(call, number as usize) {
                continue;
            }
            let mut add = |what: String| {
                self.add_line(format!("{file}\t{}\t{}\t{what}", place.line(), place.column()));
            };
            let fields = names.pointee_fields(argument);
            if let Some(parameter) = parameter(function, argument).filter(|_| fields.is_empty()) {
                add(format!("p\t{number}\t{parameter}"));
            }
            for FieldName { offset, count, stride, text } in fields.into_iter().filter(|_| keeps_nothing) {
                add(format!("f\t{number}\t{offset}\t{count}\t{stride}\t{text}"));
            }
        }
    }
}

/// The number of the parameter that a value is, if it is one that is never
/// assigned.
pub fn parameter<'m>(function: Function<'m>, value: Value<'m>) -> Option<u32> {
    let slot = Some(value).filter(|value| value.is(Opcode::LLVMLoad))?.operand(0);
    let mut stored = slot.users().filter(|user| user.is(Opcode::LLVMStore) && user.operand(1) == slot);
    let first = stored.next().filter(|_| slot.is(Opcode::LLVMAlloca))?.operand(0);
    let number = (0..MOST).zip(function.parameters()).find(|&(_, parameter)| parameter == first)?.0;
    stored.next().is_none().then_some(number)
}
