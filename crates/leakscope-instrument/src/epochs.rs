//! When a local got its value, in terms of the runtime's clock: it goes on
//! whenever a pointer in memory dies, or a block is born.
//!
//! Most locals borrow: what they point to is held in memory as well, and goes
//! on being held. Such a local cannot be the last pointer unless some pointer
//! died, or the block was born, since it got its value. (A pointer to another
//! block will do: that one may have held this one.) So each local remembers
//! the clock of that moment, and while the clock stands still its death is
//! none. In code without calls and stores of pointers all this is known when
//! the code is compiled, and nothing is left of it.
//!
//! Derived code holds what it gives to a function it calls. Other code, a
//! library that calls back, may give the last pointer there is.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::contexts::needs_context;
use crate::ir::{Callee, Opcode, Value};
use crate::llvm::Function;

/// What a local has when its life begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Nothing,
    /// It is a parameter's.
    Given,
    /// It is that of a parameter that is never assigned.
    Lent,
}

pub struct Epochs<'m> {
    /// The runtime's clock of the thread, and the function's copy of it.
    clock: Value<'m>,
    now: Value<'m>,
    /// When the function began: what it has, it has got since.
    start: Value<'m>,
    /// What keeps that as the copy's first value.
    began: Value<'m>,
    /// Whether the caller holds what it gives, where not every caller does.
    is_held: Option<Value<'m>>,
    since: HashMap<Value<'m>, (Value<'m>, Start)>,
}

impl<'m> Epochs<'m> {
    /// Keeps the function's copy up to date: what it calls may change it.
    /// `is_held` is asked where it may be given what nobody else has.
    pub fn mark(
        builder: &Builder<'m>,
        clock: Value<'m>,
        function: Function<'m>,
        is_held: Option<Callee<'m>>,
    ) -> Epochs<'m> {
        let calls: Vec<Value<'m>> = function.instructions().filter(|&at| needs_context(at)).collect();
        let now = builder.local(function, builder.word(0));
        // After the first value of the copy.
        let start = builder.load(builder.word_type(), clock);
        let began = builder.store(start, now);
        let is_held = is_held.map(|is_held| builder.call(is_held, &[]));
        let epochs = Epochs { clock, now, start, began, is_held, since: HashMap::new() };
        for call in calls {
            if call.must_be_tail_call() {
                continue;
            }
            if call.is(Opcode::LLVMInvoke) {
                for block in call.successors() {
                    if let Some(start) = block.start() {
                        builder.before(start);
                        epochs.refresh(builder);
                    }
                }
            } else {
                builder.after(call);
                epochs.refresh(builder);
            }
        }
        epochs
    }

    /// Reads the clock, after something that may have changed it.
    pub fn refresh(&self, builder: &Builder<'m>) {
        let clock = builder.load(builder.word_type(), self.clock);
        builder.store(clock, self.now);
    }

    pub fn now(&self, builder: &Builder<'m>) -> Value<'m> {
        builder.load(builder.word_type(), self.now)
    }

    pub fn set(&self, builder: &Builder<'m>, now: Value<'m>) {
        builder.store(now, self.now);
    }

    pub fn owns(&self, slot: Value<'m>) -> bool {
        slot == self.now || self.since.values().any(|&(since, _)| since == slot)
    }

    /// Remembers from now on when `local` got its value.
    pub fn follow(&mut self, builder: &Builder<'m>, function: Function<'m>, local: Value<'m>, start: Start) {
        let since = builder.local(function, builder.word(0));
        self.since.insert(local, (since, start));
    }

    pub fn follows(&self, local: Value<'m>) -> bool {
        self.since.contains_key(&local)
    }

    /// The local begins to live at `place`. What is lent does not die here.
    pub fn begin(&self, builder: &Builder<'m>, local: Value<'m>, place: Value<'m>) {
        let Some(&(since, start)) = self.since.get(&local) else { return };
        if place != local {
            builder.store(self.now(builder.after(place)), since);
            return;
        }
        builder.after(self.is_held.unwrap_or(self.began));
        let moment = match self.is_held {
            Some(is_held) if start != Start::Nothing => {
                let held = if start == Start::Lent { builder.word(u64::MAX) } else { self.start };
                builder.select(is_held, held, builder.word(0))
            }
            _ => self.start,
        };
        builder.store(moment, since);
    }

    /// The moment that counts for what `store` assigns: before what made the
    /// value.
    pub fn moment(&self, builder: &Builder<'m>, store: Value<'m>) -> Value<'m> {
        let origin = store.operand(0).without_steps();
        match origin.opcode() {
            // What is got through another local may be had by it alone.
            Some(Opcode::LLVMLoad) => {
                builder.before(origin);
                self.had_since(builder, holder(origin)).unwrap_or_else(|| self.now(builder))
            }
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                builder.before(origin);
                let through =
                    origin.arguments().filter_map(|argument| self.had_since(builder, holder(argument)));
                through.fold(self.now(builder), |moment, since| builder.least(moment, since))
            }
            // A parameter, a constant, the address of something.
            None | Some(Opcode::LLVMAlloca) => self.now(builder.before(store)),
            // One of several, some of which may be older.
            Some(_) => self.earliest(builder),
        }
    }

    /// Since when a local that is followed has what it has.
    fn had_since(&self, builder: &Builder<'m>, local: Value<'m>) -> Option<Value<'m>> {
        let &(since, start) = self.since.get(&local)?;
        let since = builder.load(builder.word_type(), since);
        Some(if start == Start::Lent { builder.least(since, self.start) } else { since })
    }

    /// Since when anything may be had that the function has: from its start
    /// on, unless it was given something that nobody else may have.
    fn earliest(&self, builder: &Builder<'m>) -> Value<'m> {
        self.is_held.map_or(self.start, |is_held| builder.select(is_held, self.start, builder.word(0)))
    }

    /// The local has had its value since `moment`.
    pub fn assign(&self, builder: &Builder<'m>, local: Value<'m>, moment: Value<'m>) {
        if let Some(&(since, _)) = self.since.get(&local) {
            builder.store(moment, since);
        }
    }

    /// When the local got its value; the beginning of time if that is not
    /// followed.
    pub fn since(&self, builder: &Builder<'m>, local: Value<'m>) -> Value<'m> {
        match self.since.get(&local) {
            Some(&(since, _)) => builder.load(builder.word_type(), since),
            None => builder.word(0),
        }
    }
}

/// The variable through which a pointer is read, over as many others as lie
/// between.
fn holder(pointer: Value<'_>) -> Value<'_> {
    let mut at = pointer.without_steps();
    while at.is(Opcode::LLVMLoad) {
        at = at.operand(0).without_steps();
    }
    at
}
