//! Which statement left a scope: the `return`, `break`, `continue` or `goto`
//! that ran, or the closing brace.
//!
//! Clang sends all ways out of a scope through one block that ends the lives
//! of its locals; a jump statement first notes in a slot of its own where
//! control goes on, and then branches there with its own line. So in front of
//! each such branch its place is put into a local of the function, and deaths
//! in the block that is reached take their place from there.

use std::collections::HashSet;

use crate::builder::Builder;
use crate::ir::{Block, Location, Opcode, Value};
use crate::llvm::Function;
use crate::objects::is_destructor;
use crate::sites::place_of;

/// Clang's name for the slot that says where control goes on.
const DESTINATION: &str = "cleanup.dest.slot";
/// Clang's names for the block of the one `ret`, and for the result's slot.
const RETURN: &str = "return";
pub const RESULT: &str = "retval";
/// How clang's names for the blocks begin that end the lives of a scope; a
/// number may follow.
const ENDS: &str = "cleanup";
/// How clang's names for the blocks begin that destroy the returned variable if
/// it is another one.
const RESULT_KEPT: &str = "nrvo.";

pub struct Exits<'m> {
    /// Slot of the place of the latest jump; `None` if the function has none.
    slot: Option<Value<'m>>,
    destination: Option<Value<'m>>,
    result: Option<Value<'m>>,
    /// Blocks in which that place counts.
    shared: HashSet<Block<'m>>,
    /// Ends of lives that come with a `ret`, and not before other code.
    returning: HashSet<Value<'m>>,
}

impl<'m> Exits<'m> {
    /// Finds the jumps of a function and notes their places.
    pub fn mark(builder: &Builder<'m>, function: Function<'m>) -> Exits<'m> {
        let named = |name: &str| {
            function.entry().instructions().find(|at| at.is(Opcode::LLVMAlloca) && at.name() == name)
        };
        let (destination, result) = (named(DESTINATION), named(RESULT));
        // The last note in a block of where control goes on. The end of a
        // handler may come between it and the branch; then only the statement
        // before it has a line, which may be a call that ends the block before.
        let before = |note: Value<'m>| {
            let mut ways_in = note.block().ways_in();
            let way_in = ways_in.next().filter(|at| at.is(Opcode::LLVMInvoke) && ways_in.next().is_none());
            note.previous().or(way_in)?.location()
        };
        let note = |block: Block<'m>| {
            let is_note = |at: &Value<'m>| at.is(Opcode::LLVMStore) && Some(at.operand(1)) == destination;
            block.instructions().filter(is_note).last()
        };
        let jumps: Vec<(Value<'m>, Location<'m>)> = function
            .blocks()
            .filter_map(|block| {
                let end = block.terminator().filter(|at| at.is(Opcode::LLVMBr))?;
                let to_return = || !end.is_conditional() && end.successors().any(|to| to.name() == RETURN);
                let location = match note(block) {
                    Some(note) if end.previous() == Some(note) => end.location(),
                    Some(note) => note.location().or_else(|| before(note)),
                    None => end.location().filter(|_| to_return()),
                };
                Some((end, location?))
            })
            .collect();
        let comes_with_return = |at: &Value<'m>| {
            at.is(Opcode::LLVMRet)
                || at.is_intrinsic()
                || at.called_name().is_some_and(is_destructor)
                || at.is(Opcode::LLVMLoad) && Some(at.operand(0)) == result
        };
        let returning = function
            .value()
            .returns()
            .flat_map(|ret| {
                std::iter::successors(Some(ret), |at| at.previous()).take_while(comes_with_return)
            })
            .collect();
        let mut exits = Exits { slot: None, destination, result, shared: HashSet::new(), returning };
        if !jumps.is_empty() {
            let slot = builder.local(function, builder.word(0));
            for (jump, location) in jumps {
                builder.before(jump).store(builder.word(place_of(location)), slot);
                for to in jump.successors() {
                    let kept = to.terminator().filter(|_| to.name().starts_with(RESULT_KEPT));
                    exits.shared.extend(kept.into_iter().flat_map(|end| end.successors()).chain([to]));
                }
            }
            exits.share_outwards();
            exits.slot = Some(slot);
        }
        exits
    }

    /// A jump out of several scopes goes from the end of each to that of the
    /// next one, and the place is still its own.
    fn share_outwards(&mut self) {
        let ends_scope = |block: &Block<'m>| {
            let name = block.name();
            name.strip_prefix(ENDS).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut open: Vec<Block<'m>> = self.shared.iter().copied().collect();
        while let Some(block) = open.pop() {
            let outer = block.terminator().into_iter().flat_map(|end| end.successors()).filter(ends_scope);
            open.extend(outer.filter(|outer| self.shared.insert(*outer)));
        }
    }

    /// Whether a slot is the compiler's or our own, and holds no pointer of
    /// the program's.
    pub fn owns(&self, slot: Value<'m>) -> bool {
        [self.slot, self.destination].contains(&Some(slot))
    }

    /// Where a death before `end` stands in the source: a place that is known
    /// now, and the slot of one that is known when the program runs.
    pub fn of(&self, end: Value<'m>) -> (Option<Location<'m>>, Option<Value<'m>>) {
        let block = end.block();
        if self.shared.contains(&block) {
            return (end.location(), self.slot);
        }
        // The only `return` of a function has its line on what it returns, or
        // on the `ret`.
        let ret = block.terminator().filter(|at| at.is(Opcode::LLVMRet) && self.returning.contains(&end));
        let value = ret.and_then(|ret| ret.operands().next()).filter(|value| value.opcode().is_some());
        let stated = value.and_then(|value| match self.result {
            Some(slot) if value.is(Opcode::LLVMLoad) && value.operand(0) == slot => {
                // What `main` returns without a statement is stored without a place.
                let store = |user: Value<'m>| user.location().filter(|_| user.is(Opcode::LLVMStore));
                let mut stores = slot.users().filter_map(store);
                stores.next().filter(|_| stores.next().is_none())
            }
            _ => value.location(),
        });
        (stated.or_else(|| ret?.location()).or(end.location()), None)
    }

    /// What the function returns, if it is a pointer and known at `end`.
    pub fn returned(&self, builder: &Builder<'m>, end: Value<'m>) -> Option<Value<'m>> {
        if let Some(slot) = self.result
            && slot.allocates_pointer()
        {
            builder.before(self.last_moment(end));
            // Before anything is returned the slot holds nothing: the optimiser may
            // take that for whatever dies.
            return Some(builder.freeze(builder.load(builder.pointer_type(), slot)));
        }
        let ret = end.block().terminator().filter(|at| at.is(Opcode::LLVMRet))?;
        let value = ret.operands().next().filter(|value| value.ty().is_pointer())?;
        // It must be there before the death.
        let before = end.block().instructions().take_while(|&at| at != end).any(|at| at == value);
        let elsewhere = value.opcode().is_none() || value.block() != end.block();
        (before || elsewhere && value.is_constant() || value.is_parameter()).then_some(value)
    }

    /// The last instruction before which something can be done about `end`:
    /// nothing may come between a tail call that must be one and its `ret`.
    pub fn last_moment(&self, end: Value<'m>) -> Value<'m> {
        match end.previous() {
            Some(before) if end.is(Opcode::LLVMRet) && before.must_be_tail_call() => before,
            _ => end,
        }
    }
}
