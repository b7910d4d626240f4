//! Where the scopes of variables end in code that was not optimised, where
//! variables in registers and those of functions that were inlined end in other code, and
//! where a function gives back what it took from the stack for itself.

use leakscope_wire::{Brace, Cause};

use super::steps::Way;
use super::{
    Block, Known, ON_INLINED_END, ON_SCOPE_END, ON_SCOPE_END_BEHIND_CALL, ON_SWITCH, ON_VARIABLE_END,
};
use crate::ir::{Code, RBP, RSP, constant};
use crate::machine::{self, is_jump};
use crate::stamps::Leaves;
use crate::vg::IRExpr;
use crate::{events, frames, stamps};

impl Block<'_> {
    /// Control comes to an instruction from the one before it, or as the block
    /// begins.
    pub(super) fn enter(&mut self, address: u64) {
        if self.instruction != 0 {
            self.end_scopes(address, None);
            self.give_back();
        }
        if self.function.is_none_or(|function| !function.contains(address)) {
            self.function = frames::function_at(address).filter(|_| self.is_users);
        }
        if self.stretch.is_none_or(|stretch| !stretch.contains(address)) {
            self.stretch = frames::stretch_at(address).filter(|_| self.is_users);
        }
        // A call may be the last of a scope.
        if self.instruction == 0 && machine::is_return_point(address as usize) {
            let returned = constant(address);
            self.end_scopes_between(address - 1, address, |code, [base, what, site]| {
                code.call(None, &ON_SCOPE_END_BEHIND_CALL, &[base, what, site, returned]);
            });
            // Other registers may have anything now.
            self.changed = !events::KEPT;
            self.end_registers(address - 1, address, None, returned);
            self.end_inlined(address - 1, address, None, returned);
        }
    }

    /// What the user's function took from the stack for itself, it may give back
    /// by a register: before anything is called.
    fn give_back(&mut self) {
        if !self.is_users || self.stack.is_stack() {
            return;
        }
        // By several ways that were made one the last jump says which it was.
        let own = self.instruction;
        if self.before != 0 && is_jump(self.before as usize) {
            self.instruction = self.before;
        }
        self.raise(&ON_SWITCH, Cause::ScopeEnd, None);
        self.instruction = own;
        for known in self.known.iter_mut().filter(|known| matches!(known, Known::Stack(_))) {
            *known = Known::Frame;
        }
        (self.entry, self.stack, self.lowest) = (self.code.register(RSP), Known::Stack(0), 0);
    }

    /// The variables that end where control goes on with `to`.
    pub(super) fn end_scopes(&mut self, to: u64, guard: Option<*mut IRExpr>) {
        self.end_registers(self.instruction, to, guard, constant(0));
        self.end_inlined(self.instruction, to, guard, constant(0));
        self.end_scopes_between(self.instruction, to, |code, arguments| {
            code.call(guard, &ON_SCOPE_END, &arguments);
        });
    }

    fn end_scopes_between(&mut self, from: u64, to: u64, tell: impl Fn(&mut Code, [*mut IRExpr; 3])) {
        let Some(function) = self.function.filter(|function| function.contains(to)) else { return };
        let falls = to == self.next;
        for slot in function.ends(from, to) {
            // Without a statement that leaves it, the closing brace is the place.
            let falls_off = falls
                && (slot.brace == Brace::Block as u32
                    || slot.brace == Brace::Function as u32 && function.results() == 0);
            let site = if falls_off { to } else { from } + 1;
            let number = stamps::new_site(site, Cause::ScopeEnd as u32, Way::default());
            let base = self.code.register(RBP);
            let what = constant(u64::from(slot.bytes) << 32 | u64::from(slot.below));
            tell(&mut self.code, [base, what, constant(u64::from(number))]);
        }
    }

    /// The same for variables in registers, but for those that the instruction itself
    /// wrote to; `returned` is where a call has to have returned to, if it is one.
    fn end_registers(&mut self, from: u64, to: u64, guard: Option<*mut IRExpr>, returned: *mut IRExpr) {
        let Some(stretch) = self.stretch.filter(|stretch| stretch.contains(to)) else { return };
        let branches = self.leaves(from);
        let out = branches.then(|| self.way_out(to, machine::Result::Constant)).flatten();
        for (register, is_left) in stretch.ends(from, to) {
            if self.changed >> register & 1 == 1 {
                continue;
            }
            let leaves = if branches && is_left { Leaves::Jump } else { out.unwrap_or(Leaves::Itself) };
            let word = self.code.register(register);
            let is_heap = self.code.is_heap(word);
            let guard = match guard {
                Some(guard) => self.code.both(is_heap, guard),
                None => is_heap,
            };
            let site = stamps::new_end(from + 1, Way::to_register(register), leaves);
            self.code.call(Some(guard), &ON_VARIABLE_END, &[word, constant(u64::from(site)), returned]);
        }
    }
    /// The same for variables of inner scopes that are in the frame of optimised code.
    fn end_inlined(&mut self, from: u64, to: u64, guard: Option<*mut IRExpr>, returned: *mut IRExpr) {
        let Some(stretch) = self.stretch.filter(|stretch| stretch.contains(to)) else { return };
        for slot in stretch.ends_in_frame(from, to) {
            let leaves = if self.leaves(from) { Leaves::Jump } else { Leaves::Itself };
            let site = stamps::new_end(from + 1, Way::default(), leaves);
            let stack = self.code.register(RSP);
            let what = constant(u64::from(slot.bytes) << 32 | u64::from(slot.below));
            self.code.call(guard, &ON_INLINED_END, &[stack, what, constant(u64::from(site)), returned]);
        }
    }
    /// The statements of the source that return share one end of their function: what
    /// leads there is noted for the return. If it is a condition that does not hold, whatever leads there
    /// instead is noted after it.
    pub(super) fn note_way_out(&mut self, to: u64) {
        if let Some(out) = self.way_out(to, machine::Result::Ready) {
            let left = events::left_by() as u64;
            let site = match (self.leaves(self.instruction), out) {
                (true, _) => stamps::new_end(self.instruction + 1, Way::default(), out),
                (false, Leaves::ToEnd(_)) => 0,
                (false, _) => stamps::new_end(self.instruction + 1, Way::default(), Leaves::Itself),
            };
            let stack = self.code.register(RSP);
            self.code.store(constant(left), constant(u64::from(site)));
            self.code.store(constant(left + 8), stack);
        }
    }

    /// How a jump leaves the function for `to`, if there is nothing but its end.
    fn way_out(&self, to: u64, result: machine::Result) -> Option<Leaves> {
        let stretch = self.stretch.filter(|stretch| stretch.contains(to))?;
        let end = machine::way_out(to as usize, result)? as u64;
        if stretch.has_result() {
            return Some(Leaves::Jump);
        }
        i32::try_from(end.wrapping_sub(self.instruction).cast_signed()).ok().map(Leaves::ToEnd)
    }

    /// Whether a jump decides there what comes next; not so behind a call.
    fn leaves(&self, from: u64) -> bool {
        from == self.instruction && machine::branches(from as usize)
    }
}
