//! Where variables are when control crosses from one body of a function to the
//! other.
//!
//! Notes of debug information (`llvm.dbg.value`) say which value a variable has
//! from there on. Where two bodies meet, each has its own value for it, and
//! without a note of the one that they become there the variable is nowhere
//! until it is set again: frames that are left behind would hold pointers
//! without names.
//!
//! Works on functions whose values pass from block to block through slots: a
//! note can be told again wherever the slot is that of its value.

use std::collections::HashMap;

use llvm_sys::debuginfo::LLVMDILocationGetInlinedAt;
use llvm_sys::prelude::LLVMMetadataRef;

use crate::builder::Builder;
use crate::debug_info;
use crate::ir::{Block, Opcode, Value};
use crate::twins::Twins;

/// A variable, and the inlined call that it belongs to.
type Variable<'m> = (Value<'m>, LLVMMetadataRef);

type Known<'m> = HashMap<Variable<'m>, Told<'m>>;

/// A note, and the slot that has its value.
#[derive(Clone, Copy)]
struct Told<'m> {
    note: Value<'m>,
    slot: Value<'m>,
    /// Notes are told again in the order in which they stand.
    order: usize,
}

impl<'m> Told<'m> {
    fn says_as(&self, other: &Told<'m>) -> bool {
        self.slot == other.slot && self.note.operand(2) == other.note.operand(2)
    }
}

/// What is known of variables where blocks of the first body begin.
pub struct Variables<'m>(HashMap<Block<'m>, Known<'m>>);

impl<'m> Variables<'m> {
    pub fn of(twins: &Twins<'m>) -> Variables<'m> {
        let mut order = 0..;
        let steps: Vec<(Block<'m>, Vec<Step<'m>>)> =
            twins.blocks().map(|block| (block, steps(block, twins, &mut order))).collect();
        let mut variables = Variables(HashMap::from([(twins.start, HashMap::new())]));
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for (block, steps) in &steps {
                let Some(mut known) = variables.0.get(block).cloned() else { continue };
                steps.iter().for_each(|step| step.apply(&mut known));
                for next in block.successors() {
                    is_settled &= !variables.meet(next, &known);
                }
            }
        }
        variables
    }

    /// Keeps of what is known at a block what is known on a further way there.
    /// Returns whether that is less.
    fn meet(&mut self, block: Block<'m>, known: &Known<'m>) -> bool {
        let Some(at_start) = self.0.get_mut(&block) else {
            self.0.insert(block, known.clone());
            return true;
        };
        let before = at_start.len();
        at_start.retain(|variable, it| known.get(variable).is_some_and(|other| it.says_as(other)));
        at_start.len() < before
    }

    /// Tells at the start of `place` what is known where `block` begins.
    pub fn tell(&self, builder: &Builder<'m>, block: Block<'m>, place: Block<'m>) {
        let first = place.instructions().next().expect("a terminator");
        let mut known: Vec<&Told<'m>> = self.0.get(&block).into_iter().flat_map(HashMap::values).collect();
        known.sort_by_key(|it| it.order);
        for it in known {
            builder.before(first).nowhere();
            let value = builder.load(builder.pointer_type(), it.slot);
            debug_info::tell_of(builder.copy(it.note), value);
        }
    }
}

/// What an instruction does to what is known.
enum Step<'m> {
    Tells(Variable<'m>, Option<Told<'m>>),
    Sets(Value<'m>),
}

impl<'m> Step<'m> {
    fn apply(&self, known: &mut Known<'m>) {
        match *self {
            Step::Tells(variable, Some(it)) => {
                known.insert(variable, it);
            }
            Step::Tells(variable, None) => {
                known.remove(&variable);
            }
            // What the variable had may be in another place, but not there.
            Step::Sets(slot) => known.retain(|_, it| it.slot != slot),
        }
    }
}

fn steps<'m>(block: Block<'m>, twins: &Twins<'m>, order: &mut impl Iterator<Item = usize>) -> Vec<Step<'m>> {
    let step = |at: Value<'m>| {
        if at.is(Opcode::LLVMStore) {
            return Some(Step::Sets(at.operand(1))).filter(|_| at.operand(1).is(Opcode::LLVMAlloca));
        }
        let value = debug_info::told(at)?;
        // SAFETY: a live location; null for none.
        let call =
            at.location().map_or(std::ptr::null_mut(), |it| unsafe { LLVMDILocationGetInlinedAt(it.raw) });
        let slot = value.filter(|value| value.opcode().is_some() && value.ty().is_pointer());
        let slot = slot.and_then(|value| slot_of(value, twins));
        let told = slot.zip(order.next()).map(|(slot, order)| Told { note: at, slot, order });
        Some(Step::Tells((at.operand(1), call), told))
    };
    block.instructions().filter_map(step).collect()
}

/// The slot that has a value in other blocks than its own.
fn slot_of<'m>(value: Value<'m>, twins: &Twins<'m>) -> Option<Value<'m>> {
    let is_its = |slot: &Value<'m>| {
        let is_plain = |user: Value<'m>| match user.opcode() {
            Some(Opcode::LLVMLoad) => user.ty().is_pointer(),
            Some(Opcode::LLVMStore) => user.operand(1) == *slot && user.operand(0).ty().is_pointer(),
            _ => false,
        };
        let sets = |user: &Value<'m>| user.is(Opcode::LLVMStore) && !twins.has(user.block());
        slot.is(Opcode::LLVMAlloca)
            && slot.users().all(is_plain)
            && slot.users().filter(sets).all(|store| store.operand(0) == value)
    };
    value.users().filter(|user| user.is(Opcode::LLVMStore)).map(|store| store.operand(1)).find(is_its)
}
