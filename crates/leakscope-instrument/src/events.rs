//! How the body of a function that reports uses does so: by a few instructions
//! for each, without a call.
//!
//! Where it begins to run it gets the event of a use at the function's start. A
//! use has that, plus how far from there its code is, and writes it to where
//! the last use of the block is kept. Where that is need not be found for each
//! use: a pointer that was made from another by steps is in its block, and what
//! is a pointer or another, by the way that was taken, has the place of that one
//! ([`Events::place_of`]).

use crate::builder::Builder;
use crate::ir::{Callee, Opcode, Value};
use crate::twins::Twins;

pub struct Events<'a, 'm> {
    builder: &'a Builder<'m>,
    twins: &'a Twins<'m>,
    /// Where the event of a use at the start is kept.
    start: Value<'m>,
    /// What stands for the uses of other memory than the heap's.
    other: Value<'m>,
    /// Slots of pointers, with those for the places of their blocks.
    places: Vec<(Value<'m>, Value<'m>)>,
    used_at: Callee<'m>,
    write: Callee<'m>,
}

impl<'a, 'm> Events<'a, 'm> {
    pub fn of(builder: &'a Builder<'m>, twins: &'a Twins<'m>) -> Events<'a, 'm> {
        let [start, other] =
            [builder.word_type(), builder.word_type()].map(|ty| builder.room(twins.function, ty));
        let used_at = builder.function(c"leakscope.used.at");
        let name = twins.function.symbol().replace('$', "$$");
        let here = ".Lleakscope_use${:uid}";
        let text = format!("{here}: leal ({here}-\"{name}\")(${{1:q}}), ${{0:k}}\n\tmovl ${{0:k}}, ($2)");
        let write = builder.assembler(&text);
        Events { builder, twins, start, other, places: Vec::new(), used_at, write }
    }

    /// A pointer is used where the builder stands.
    pub fn report(&mut self, pointer: Value<'m>, at: Value<'m>) {
        let place = self.place_of(pointer, at);
        self.builder.before(at);
        let start = self.builder.load(self.builder.word_type(), self.start);
        self.builder.call_aside(self.write, &[start, place]);
    }

    /// The body begins to run where the builder stands, and not from its start.
    pub fn arrive(&self) {
        let builder = self.builder;
        let start = builder.call(builder.function(c"leakscope.arrives"), &[]);
        builder.store(start, self.start);
        for &(slot, place) in &self.places {
            let pointer = builder.load(builder.pointer_type(), slot);
            builder.store(builder.call(self.used_at, &[pointer, self.other]), place);
        }
    }

    /// Where the last use of a pointer's block is kept, found before `at`.
    fn place_of(&mut self, pointer: Value<'m>, at: Value<'m>) -> Value<'m> {
        let origin = pointer.origin();
        if origin.is_constant() || origin.is(Opcode::LLVMAlloca) {
            return self.other;
        }
        match slot_of_several(origin, self.twins) {
            Some(slot) => {
                let place = self.place_beside(slot);
                let next = origin.next().expect("a terminator follows");
                self.builder.before(next).nowhere();
                self.builder.load(self.builder.pointer_type(), place)
            }
            None => {
                self.builder.before(at);
                self.builder.call(self.used_at, &[origin, self.other])
            }
        }
    }

    /// The slot for the places of the blocks that a slot's pointers lead to:
    /// set wherever that is.
    fn place_beside(&mut self, slot: Value<'m>) -> Value<'m> {
        if let Some(&(_, place)) = self.places.iter().find(|(known, _)| *known == slot) {
            return place;
        }
        let place = self.builder.room(self.twins.function, self.builder.pointer_type());
        self.places.push((slot, place));
        let stores = slot.users().filter(|user| user.is(Opcode::LLVMStore) && self.twins.has(user.block()));
        for store in stores.collect::<Vec<_>>() {
            let found = self.place_of(store.operand(0), store);
            self.builder.before(store).nowhere();
            self.builder.store(found, place);
        }
        place
    }
}

/// The slot that a pointer comes from, if it is one that the optimiser takes
/// out again, and that is set in several places, or from one that is.
fn slot_of_several<'m>(pointer: Value<'m>, twins: &Twins<'m>) -> Option<Value<'m>> {
    let slot = slot_of(pointer)?;
    let mut at = slot;
    loop {
        let mut stores = at.users().filter(|user| user.is(Opcode::LLVMStore) && twins.has(user.block()));
        let (first, second) = (stores.next()?, stores.next());
        if second.is_some() {
            return Some(slot);
        }
        at = slot_of(first.operand(0).origin())?;
    }
}

fn slot_of(pointer: Value<'_>) -> Option<Value<'_>> {
    let slot = Some(pointer).filter(|it| it.is(Opcode::LLVMLoad))?.operand(0);
    let is_plain = |user: Value<'_>| match user.opcode() {
        Some(Opcode::LLVMLoad) => user.ty().is_pointer(),
        Some(Opcode::LLVMStore) => user.operand(0) != slot && user.operand(0).ty().is_pointer(),
        _ => false,
    };
    (slot.is(Opcode::LLVMAlloca) && slot.users().all(is_plain)).then_some(slot)
}
