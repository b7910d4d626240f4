//! For a run that explains how blocks were lost: every set and every read of a
//! pointer is told, with its slot, and every change of an integer by which a
//! block may count its holders.
//!
//! What is to be told is noted before stamps are added, and added after them:
//! they look at who uses a slot. This is much slower than stamps alone, and
//! the runtime keeps little of it.

use leakscope_wire::Cause;

use crate::builder::Builder;
use crate::guards;
use crate::ir::{Opcode, Value};
use crate::llvm::Module;
use crate::names::Names;
use crate::sites::Sites;

/// Something to be told.
pub struct Detail<'m> {
    at: Value<'m>,
    what: What,
    /// What the source calls the slot.
    name: Option<String>,
}

#[derive(Clone, Copy)]
enum What {
    Reads,
    Sets,
    /// An integer is stored, or changed by an atomic operation.
    Stores,
    Adds,
    Subtracts,
    /// Memory is copied.
    Copies,
}

/// What there is to be told in a module.
pub fn note<'m>(module: &'m Module<'_>) -> Vec<Detail<'m>> {
    let mut details = Vec::new();
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let names = Names::new(module, function);
        for at in function.instructions() {
            let (what, slot) = match at.opcode() {
                Some(Opcode::LLVMLoad) if at.ty().is_pointer() => (What::Reads, at.operand(0)),
                Some(Opcode::LLVMStore) if at.operand(0).ty().is_pointer() => (What::Sets, at.operand(1)),
                Some(Opcode::LLVMStore) if is_counter(at.operand(0)) => (What::Stores, at.operand(1)),
                Some(Opcode::LLVMAtomicRMW) if is_counter(at) && at.is_addition() => {
                    (What::Adds, at.operand(0))
                }
                Some(Opcode::LLVMAtomicRMW) if is_counter(at) && at.is_subtraction() => {
                    (What::Subtracts, at.operand(0))
                }
                Some(Opcode::LLVMCall) if is_copy(at) => (What::Copies, at.operand(0)),
                _ => continue,
            };
            let is_local = slot.without_steps().is(Opcode::LLVMAlloca);
            if !(is_local && matches!(what, What::Stores)) {
                details.push(Detail { at, what, name: names.slot(slot) });
            }
        }
    }
    details
}

/// Whether a call copies as many bytes as its third argument says.
fn is_copy(at: Value<'_>) -> bool {
    let names = ["llvm.memcpy.", "llvm.memmove.", "memcpy", "memmove"];
    at.called_name().is_some_and(|called| names.iter().any(|name| called.starts_with(name)))
}

fn is_counter(value: Value<'_>) -> bool {
    [16, 32, 64].iter().any(|&bits| value.ty().is_integer(bits))
}

pub fn insert(module: &Module<'_>, details: &[Detail<'_>]) -> Result<(), String> {
    module.add(guards::DETAILS)?;
    let builder = Builder::new(module);
    let [reads, sets, ends, counts] =
        [c"leakscope.reads", c"leakscope.sets", c"leakscope.slot.ends", c"leakscope.counts"]
            .map(|name| builder.function(name));
    let three = [builder.pointer_type(), builder.pointer_type(), builder.word_type()];
    let [copies, copied] = ["__leakscope_copies", "__leakscope_copied"]
        .map(|name| builder.runtime(name, builder.void_type(), &three));
    let mut sites = Sites::default();
    for Detail { at, what, name } in details {
        // SAFETY of the borrow: what was noted is of this module.
        let at = Value::new(at.raw);
        let site = sites.of(&builder, Cause::Overwritten, at.location(), name.clone());
        match what {
            What::Reads => {
                builder.after(at);
                builder.call(reads, &[at, at.operand(0), site]);
            }
            What::Sets => {
                builder.before(at);
                // The first value of a parameter replaces none.
                if !at.operand(0).is_parameter() {
                    let old = builder.load(builder.pointer_type(), at.operand(1));
                    builder.call(ends, &[old, at.operand(1), site, at.operand(0)]);
                }
                builder.after(at);
                let is_local = at.operand(1).without_steps().is(Opcode::LLVMAlloca);
                let kind = match at.operand(0).is_parameter() {
                    true => 2,
                    false => is_local.into(),
                };
                builder.call(sets, &[at.operand(0), at.operand(1), site, builder.word(kind)]);
            }
            What::Stores => {
                builder.before(at);
                let new = builder.as_word(at.operand(0));
                // What is assigned has nothing to do with what was there.
                let changes = matches!(at.operand(0).opcode(), Some(Opcode::LLVMAdd | Opcode::LLVMSub));
                let old = match changes {
                    true => builder.as_word(builder.load(at.operand(0).ty(), at.operand(1))),
                    false => new,
                };
                builder.call(counts, &[at.operand(1), old, new, site]);
            }
            What::Copies => {
                builder.before(at);
                let arguments = [at.operand(0), at.operand(1), builder.as_word(at.operand(2))];
                builder.call(copies, &arguments);
                builder.after(at);
                builder.call(copied, &arguments);
            }
            What::Adds | What::Subtracts => {
                builder.after(at);
                let old = builder.as_word(at);
                let by = builder.as_word(at.operand(1));
                let new = match what {
                    What::Adds => builder.add(old, by),
                    _ => builder.subtract(old, by),
                };
                builder.call(counts, &[at.operand(0), old, new, site]);
            }
        }
    }
    Ok(())
}
