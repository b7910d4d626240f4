//! Places in arrays that have their turn again and again.

use leakscope_ir::{Binary, Call, Callee, Op, Operand, Terminator};

use super::Finder;
use crate::effects::Values;

impl Finder<'_, '_> {
    /// Whether an address is of an element of an array whose index wraps: it is
    /// what is left of a division, or of a mask, or a function says so.
    pub(super) fn has_turns(&self, address: &Operand) -> bool {
        let mut next = address;
        while let Operand::Value(value) = next {
            next = match self.values.op(*value) {
                Some(Op::Step { base, terms, .. }) => {
                    if terms.iter().any(|(index, _)| self.wraps(index)) {
                        return true;
                    }
                    base
                }
                Some(Op::Cast { value: from, .. }) => from,
                _ => return false,
            };
        }
        false
    }

    fn wraps(&self, index: &Operand) -> bool {
        let is_call = |op: &&Op| matches!(op, Op::Call(_));
        match unextended(&self.values, index).filter(is_call) {
            Some(Op::Call(Call { callee: Callee::Function(callee), .. })) => {
                let Some(body) = &self.records.program.function(*callee).body else { return false };
                let values = Values::new(body);
                let mut returned = body.blocks.iter().filter_map(|block| match &block.end {
                    Terminator::Return(value) => value.as_ref(),
                    _ => None,
                });
                returned.all(|value| is_remainder(&values, value))
            }
            _ => is_remainder(&self.values, index),
        }
    }
}

/// What computes a number, behind casts that keep or extend it.
fn unextended<'a>(values: &Values<'a>, number: &Operand) -> Option<&'a Op> {
    let &Operand::Value(mut value) = number else { return None };
    loop {
        match values.op(value)? {
            Op::Cast { value: Operand::Value(from), .. } => value = *from,
            op => return Some(op),
        }
    }
}

/// What is left of a division by a constant, or of a mask.
fn is_remainder(values: &Values, number: &Operand) -> bool {
    matches!(
        unextended(values, number),
        Some(Op::Binary { op: Binary::Rem | Binary::And, right: Operand::Int(_), .. })
    )
}
