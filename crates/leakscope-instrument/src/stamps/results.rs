//! Results of calls that nothing keeps.

use leakscope_wire::Cause;

use super::Body;
use crate::contexts::needs_context;
use crate::ir::{Block, Opcode, Value};

impl<'m> Body<'_, 'm> {
    /// A structure that a call returns in registers, and that nobody keeps.
    pub(super) fn structure_result(&mut self, at: Value<'m>) {
        let builder = &self.shared.builder;
        let pointers: Vec<u32> = at.ty().pointer_members();
        let leads_on = |at: Value<'m>| {
            !at.is(Opcode::LLVMInvoke) || at.normal_block().is_some_and(Block::has_one_way_in)
        };
        if pointers.is_empty() || !leads_on(at) || at.must_be_tail_call() {
            return;
        }
        let Some(uses) = self.uses_of_structure(at) else { return };
        let passed = uses.iter().any(|user| user.is_call());
        let last = uses.into_iter().max_by_key(|&user| self.order(user));
        let follows = |user: Value<'m>| user.block() == at.normal_block().unwrap_or_else(|| at.block());
        let is_tail_call = |user: Value<'m>| user.is_call() && user.must_be_tail_call();
        if last.is_some_and(|last| !leads_on(last) || !follows(last) || is_tail_call(last)) {
            return;
        }
        let site = self.sites.of(builder, Cause::Discarded, at.location(), None);
        for member in pointers {
            builder.before(at);
            let since = self.epochs.now(builder);
            builder.after(at);
            let pointer = builder.extract(at, member);
            // A callee that takes it over may let it die at a better place.
            let until = match passed {
                true => builder.load(builder.word_type(), self.shared.clock),
                false => builder.word(u64::MAX),
            };
            if let Some(last) = last {
                builder.after(last);
            }
            builder.call(self.shared.dropped, &[pointer, site, since, until]);
        }
    }

    /// All uses of a structure and of the pointers in it, if none keeps them.
    fn uses_of_structure(&self, at: Value<'m>) -> Option<Vec<Value<'m>>> {
        let mut slots = Vec::new();
        for user in at.users() {
            match user.opcode()? {
                Opcode::LLVMStore => slots.push(user.operand(1)),
                Opcode::LLVMExtractValue => {
                    for user in user.users() {
                        slots.push(user.is(Opcode::LLVMStore).then(|| user.operand(1).without_steps())?);
                    }
                }
                _ => return None,
            }
        }
        let mut uses = Vec::new();
        for slot in slots {
            if !slot.is(Opcode::LLVMAlloca) || self.names.is_named(slot) {
                return None;
            }
            let steps = slot.users().filter(|user| user.is(Opcode::LLVMGetElementPtr));
            for user in slot.users().chain(steps.flat_map(Value::users)) {
                match user.opcode()? {
                    Opcode::LLVMStore | Opcode::LLVMGetElementPtr => {}
                    Opcode::LLVMLoad if user.ty().is_pointer() => uses.extend(uses_of(user)),
                    Opcode::LLVMLoad => uses.push(user),
                    _ if user.is_intrinsic() => {}
                    _ => return None,
                }
            }
        }
        (!uses.iter().any(|&user| keeps(user))).then_some(uses)
    }

    /// A result that nothing keeps dies after its last use.
    pub(super) fn result(&mut self, at: Value<'m>) {
        let builder = &self.shared.builder;
        let mut users: Vec<Value<'m>> = uses_of(at);
        // A constructor that throws has its object freed.
        users.retain(|user| !self.unwinding.contains(&user.block()));
        if users.iter().any(|&user| keeps(user)) {
            return;
        }
        let last = match users.iter().copied().max_by_key(|&user| self.order(user)) {
            None => at,
            Some(last)
                if !last.is(Opcode::LLVMInvoke) || last.normal_block().is_some_and(Block::has_one_way_in) =>
            {
                last
            }
            Some(_) => return,
        };
        if at.is(Opcode::LLVMInvoke) && !at.normal_block().is_some_and(Block::has_one_way_in) {
            return;
        }
        if last.is_terminator() && !last.is(Opcode::LLVMInvoke) {
            return;
        }
        let site = if at.called().is_some_and(|called| gives_exchanged(called, 4)) {
            // What was exchanged and is not wanted was overwritten.
            self.sites.of(builder, Cause::Overwritten, at.location(), self.names.object_of(at))
        } else {
            self.sites.of(builder, Cause::Discarded, at.location(), None)
        };
        builder.before(at);
        let since = self.epochs.now(builder);
        // A callee that takes it over may let it die at a better place.
        let passed = users.iter().any(|user| user.is_call() && !user.is_intrinsic());
        let until = if passed {
            builder.after(at);
            builder.load(builder.word_type(), self.shared.clock)
        } else {
            builder.word(u64::MAX)
        };
        builder.after(last);
        builder.call(self.shared.dropped, &[at, site, since, until]);
    }

    /// Says around a call that it gives what nobody may hold: neither a
    /// variable's value nor an address that is known. Only functions ask whose
    /// address is taken.
    pub(super) fn gives(&self, at: Value<'m>) {
        let builder = &self.shared.builder;
        let may_be_alone = |argument: Value<'m>| {
            let origin = argument.without_steps().opcode();
            argument.ty().is_pointer()
                && origin.is_some_and(|origin| !matches!(origin, Opcode::LLVMLoad | Opcode::LLVMAlloca))
        };
        if needs_context(at) && !at.must_be_tail_call() && at.arguments().any(may_be_alone) {
            builder.before(at).store(builder.word(1), self.shared.given);
            builder.after(at).store(builder.word(0), self.shared.given);
        }
    }

    /// Where an instruction stands in the function, in the order of the text.
    fn order(&self, at: Value<'m>) -> usize {
        self.function.instructions().position(|other| other == at).unwrap_or(0)
    }
}

/// Whether a function returns what an atomic exchange gave it.
fn gives_exchanged(function: Value<'_>, depth: u32) -> bool {
    let is_exchanged = |value: Value<'_>| {
        let of_slot = |user: Value<'_>| user.is(Opcode::LLVMStore) && user.operand(0).is_exchange();
        match value.opcode() {
            Some(Opcode::LLVMLoad) => value.operand(0).users().any(of_slot),
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) if depth > 0 => {
                value.called().is_some_and(|called| gives_exchanged(called, depth - 1))
            }
            _ => value.is_exchange(),
        }
    };
    function.returns().any(|ret| ret.operands().next().is_some_and(is_exchanged))
}

/// All uses of a pointer, those of addresses computed from it included.
fn uses_of<'m>(pointer: Value<'m>) -> Vec<Value<'m>> {
    let mut uses = Vec::new();
    for user in pointer.users() {
        uses.push(user);
        if user.is(Opcode::LLVMGetElementPtr) {
            uses.extend(uses_of(user));
        }
    }
    uses
}

/// Whether a use of a pointer puts it somewhere.
fn keeps(user: Value<'_>) -> bool {
    !matches!(
        user.opcode(),
        Some(
            Opcode::LLVMCall
                | Opcode::LLVMInvoke
                | Opcode::LLVMICmp
                | Opcode::LLVMLoad
                | Opcode::LLVMGetElementPtr
        )
    )
}
