//! Where scopes of variables end, while a procedure is simulated.

use leakscope_core::Cause;
use leakscope_ir::{Block, BlockId, Op, Spot, Terminator, Variable, VariableId};

use crate::case::Case;
use crate::simulate::Simulation;
use crate::value::Value;

/// Scopes, one in another, that are left at once.
const MAX_SCOPES: usize = 16;

impl Simulation<'_, '_> {
    /// The scope of a variable ends.
    pub fn end_variable(&mut self, case: &mut Case, id: VariableId, at: Spot) {
        if case.variables.remove(&id).is_some_and(|value| value.has_heap()) {
            let at = case.left_at.unwrap_or(at);
            self.look_for_leaks(case, at, Cause::ScopeEnd, Some(self.variable(id).to_owned()));
        }
    }

    /// Whether control goes from a block to the end of the procedure, through
    /// nothing but ends of scopes.
    pub fn returns_from(&self, case: &Case, mut id: BlockId) -> bool {
        let mut number = None;
        for _ in 0..MAX_SCOPES {
            let next = match &self.body.block(id).end {
                Terminator::Return(_) => return true,
                Terminator::Jump(to) => *to,
                Terminator::Switch { value, cases, default } => {
                    let Value::Int(known) = number.take().unwrap_or_else(|| self.operand(case, value)) else {
                        return false;
                    };
                    cases.iter().find(|(case, _)| *case == known).map_or(*default, |(_, to)| *to)
                }
                _ => return false,
            };
            let target = self.body.block(next);
            for instruction in &target.instructions {
                match &instruction.op {
                    Op::Phi { incoming } => {
                        let value = incoming.iter().find(|(from, _)| *from == id);
                        number = value.map(|(_, value)| self.operand(case, value));
                    }
                    Op::End { .. } | Op::LifeEnd { .. } => {}
                    _ => return false,
                }
            }
            id = next;
        }
        false
    }

    /// Variables of scopes that a block is outside of are gone, but for those of
    /// which it is said where they end.
    pub fn end_scopes(&mut self, case: &mut Case, target: &Block, at: Spot) {
        let Some(scope) = target.scope else { return };
        let body = self.body;
        let ends = |id: &VariableId| {
            let Variable { scope: own, is_ended, .. } = &body.variables[id.0 as usize];
            !is_ended && own.is_some_and(|own| !body.is_within(scope, own))
        };
        let gone: Vec<VariableId> = case.variables.keys().copied().filter(ends).collect();
        gone.into_iter().for_each(|id| self.end_variable(case, id, at));
    }
}
