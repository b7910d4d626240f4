//! How the lives of locals begin and end: null where they begin, a death for
//! each pointer that they hold where they end.

use std::collections::{HashMap, HashSet};

use leakscope_wire::Cause;

use super::{Body, INLINE_WORDS, LEAVES_FRAMES, Locals, is_first, is_pointer};
use crate::epochs::Start;
use crate::ir::{Opcode, Value};
use crate::scopes::Life;
use crate::unwinding;

/// Locals of this size and more are cleared where their life begins even if
/// they hold no pointers: a buffer that is not filled shows the words of the
/// frames before it, and the scan would take them for pointers.
const BUFFER: u64 = 64;

/// A local that holds pointers, or that is a large buffer.
pub(super) struct Local<'m> {
    pub(super) alloca: Value<'m>,
    /// Offsets of the words that may hold one; `None` if there are too many.
    pub(super) words: Option<Vec<u64>>,
    /// The words that are null where its life begins.
    pub(super) empty: Option<Vec<u64>>,
    pub(super) bytes: u64,
    /// Where its life begins and ends; without, it is the whole function.
    pub(super) starts: Vec<Value<'m>>,
    pub(super) ends: Vec<Value<'m>>,
    /// Whether they are the compiler's marks.
    pub(super) is_marked: bool,
    /// The call that fills it, if it is for a result that has no name.
    pub(super) filled_by: Option<Value<'m>>,
    pub(super) start: Start,
}

/// How the value of a local dies: where, and what takes its place.
struct Death<'m> {
    old: Value<'m>,
    site: Value<'m>,
    place: Value<'m>,
    kept: Value<'m>,
}

impl<'m> Body<'_, 'm> {
    /// Locals whose size is known only when the program runs: variable-length
    /// arrays, which end when the stack is put back, and `alloca`.
    pub(super) fn variable_locals(&mut self, instructions: &[Value<'m>], returns: &[Value<'m>]) {
        let builder = &self.shared.builder;
        let is_variable = |at: &&Value<'m>| at.is(Opcode::LLVMAlloca) && at.operand(0).integer().is_none();
        let restores: Vec<Value<'m>> = instructions
            .iter()
            .copied()
            .filter(|at| at.called_name().is_some_and(|name| name.starts_with("llvm.stackrestore")))
            .collect();
        for &at in instructions.iter().filter(is_variable) {
            let Some((ty, _)) = at.local(self.shared.layout) else { continue };
            let start = builder.local(self.function, builder.null());
            let length = builder.local(self.function, builder.word(0));
            builder.after(at);
            let count = builder.as_word(at.operand(0));
            let bytes = builder.multiply(count, builder.word(ty.bytes(self.shared.layout)));
            builder.clear_as_many(at, bytes);
            builder.store(at, start);
            builder.store(bytes, length);
            for &end in restores.iter().chain(returns) {
                let (location, place) = self.exits.of(end);
                let site = self.sites.with_fields(
                    builder,
                    Cause::ScopeEnd,
                    location,
                    self.names.slot(at),
                    &self.names.fields(at),
                );
                builder.before(self.exits.last_moment(end));
                if let Some(location) = location {
                    builder.at(location);
                }
                let place = place.map_or(builder.word(0), |exit| builder.load(builder.word_type(), exit));
                let address = builder.load(builder.pointer_type(), start);
                let limit = if end.is(Opcode::LLVMRet) { builder.null() } else { end.operand(0) };
                let bytes = builder.load(builder.word_type(), length);
                let kept = builder.call(self.shared.restored, &[address, bytes, site, place, limit]);
                self.epochs.refresh(builder);
                builder.store(kept, start);
            }
        }
    }

    pub(super) fn local(&self, at: Value<'m>, lives: &HashMap<Value<'m>, Life<'m>>) -> Option<Local<'m>> {
        let (ty, bytes) = at.local(self.shared.layout)?;
        let bytes = bytes.filter(|&bytes| bytes == ty.bytes(self.shared.layout))?;
        let words = ty.words(self.shared.layout, INLINE_WORDS);
        let is_number = ty.is_integer(64)
            && !self.names.is_address(at)
            && !at.users().any(|user| holds_pointer(user, at));
        let is_plain = words.as_ref().is_some_and(Vec::is_empty) && bytes < BUFFER;
        if is_plain || is_number || self.exits.owns(at) || self.epochs.owns(at) {
            return None;
        }
        let marks = |name: &str| -> Vec<Value<'m>> {
            at.users()
                .filter(|user| user.called_name().is_some_and(|called| called.starts_with(name)))
                .collect()
        };
        // What the compiler keeps for itself dies where it is used.
        let (mut starts, mut ends) = (marks("llvm.lifetime.start"), marks("llvm.lifetime.end"));
        let life = lives.get(&at).filter(|_| starts.is_empty());
        if let Some(Life { start, ends: unmarked }) = life {
            (starts, ends) = (vec![*start], unmarked.clone());
        }
        let is_own = starts.is_empty() && !self.names.is_named(at);
        let start = start(at);
        // What is lent the caller has too, unless it is nobody's after the
        // call, which is seen there. Of a function whose address is taken the
        // caller may be code that was not derived.
        let is_callers =
            start == Start::Lent && !self.is_called_by_others && self.shared.locals == Locals::Apart;
        // A constructor writes to what it was given by address as if something
        // were there: temporaries of arguments begin as empty as variables.
        let empty = if is_callers { Some(Vec::new()) } else { words.clone() };
        let words = if is_own || is_callers { Some(Vec::new()) } else { words };
        // What a structured binding takes apart has no name, unlike temporaries.
        let is_variable = self.names.is_named(at) || at.name().is_empty();
        let filled_by = if is_variable { None } else { at.users().find_map(filled_by) };
        let is_marked = life.is_none();
        Some(Local { filled_by, alloca: at, words, empty, bytes, starts, ends, is_marked, start })
    }

    /// A local is null where its life begins.
    pub(super) fn begin(&self, local: &Local<'m>) {
        let builder = &self.shared.builder;
        let places =
            if local.starts.is_empty() { std::slice::from_ref(&local.alloca) } else { &local.starts[..] };
        for &place in places {
            self.epochs.begin(builder, local.alloca, place);
            builder.after(place);
            match &local.empty {
                Some(words) if local.bytes < BUFFER => {
                    for &word in words {
                        builder.store(builder.null(), builder.offset(local.alloca, word));
                    }
                }
                _ => builder.clear(local.alloca, local.bytes),
            }
        }
    }

    /// The pointers in a local die before `end`.
    pub(super) fn end(&mut self, local: &Local<'m>, end: Value<'m>) {
        if self.unwinding.contains(&end.block()) {
            return self.end_by_exception(local, end);
        }
        let builder = &self.shared.builder;
        let ((location, place), cause) = match local.filled_by {
            Some(call) => ((call.location(), None), Cause::Discarded),
            None if local.is_marked => (self.exits.of(end), Cause::ScopeEnd),
            // The last that stands in the scope.
            None => ((end.previous().and_then(Value::location).or(end.location()), None), Cause::ScopeEnd),
        };
        // What is returned lives on.
        let kept = self.exits.returned(builder, end).unwrap_or(builder.null());
        builder.before(self.exits.last_moment(end));
        let place = place.map_or(builder.word(0), |exit| builder.load(builder.word_type(), exit));
        if let Some(location) = location {
            builder.at(location);
        }
        let is_apart = |words: &&Vec<u64>| self.shared.locals == Locals::Apart || words.len() < 2;
        let Some(words) = local.words.as_ref().filter(is_apart) else {
            let fields = self.names.fields(local.alloca);
            let name = self.names.slot(local.alloca);
            let site = self.sites.with_fields(builder, cause, location, name, &fields);
            builder.call(self.shared.range_dies, &[local.alloca, builder.word(local.bytes), site, place]);
            self.epochs.refresh(builder);
            return;
        };
        let fields = self.names.fields(local.alloca);
        for &word in words {
            let name = fields.iter().find_map(|field| field.at(word));
            let name = name.or_else(|| self.names.slot(local.alloca));
            let site = self.sites.of(builder, cause, location, name);
            let old = builder.load(builder.pointer_type(), builder.offset(local.alloca, word));
            self.local_dies(local.alloca, Death { old, site, place, kept });
        }
    }

    /// The pointers in a local die before `end`, where an exception leaves it.
    fn end_by_exception(&mut self, local: &Local<'m>, end: Value<'m>) {
        let builder = &self.shared.builder;
        let fields = self.names.fields(local.alloca);
        builder.before(end);
        for &word in local.words.iter().flatten() {
            let name = fields.iter().find_map(|field| field.at(word));
            let name = name.or_else(|| self.names.slot(local.alloca));
            let site = self.sites.of(builder, Cause::Unwound, None, name);
            let old = builder.load(builder.pointer_type(), builder.offset(local.alloca, word));
            builder.call(self.shared.unwound, &[old, site]);
        }
        self.epochs.refresh(builder);
    }

    /// The pointers in the locals that are alive at a call by which control
    /// leaves the frame die before it.
    pub(super) fn leave(&mut self, locals: &[Local<'m>], at: Value<'m>) {
        let jumps = |other: Value<'m>| other.called_name().is_some_and(|name| name.contains("setjmp"));
        let is_left = at.is(Opcode::LLVMCall)
            && (unwinding::is_throw(at)
                || at.called_name().is_some_and(|name| LEAVES_FRAMES.contains(&name)))
            && !self.function.instructions().any(jumps);
        if !is_left {
            return;
        }
        let builder = &self.shared.builder;
        for local in locals.iter().filter(|local| is_alive(local, at)) {
            let fields = self.names.fields(local.alloca);
            for &word in local.words.iter().flatten() {
                let name = fields.iter().find_map(|field| field.at(word));
                let name = name.or_else(|| self.names.slot(local.alloca));
                let site = self.sites.of(builder, Cause::Unwound, at.location(), name);
                builder.before(at);
                let old = builder.load(builder.pointer_type(), builder.offset(local.alloca, word));
                let death = Death { old, site, place: builder.word(0), kept: builder.null() };
                self.local_dies(local.alloca, death);
            }
        }
    }

    /// The value of a local dies with it, where the builder is.
    fn local_dies(&self, local: Value<'m>, death: Death<'m>) {
        let builder = &self.shared.builder;
        let Death { old, site, place, kept } = death;
        let (since, now) = (self.epochs.since(builder, local), self.epochs.now(builder));
        let is_plain = kept == builder.null() && place == builder.word(0);
        let now = if is_plain {
            builder.call(self.shared.ends, &[old, site, since, now])
        } else {
            builder.call(self.shared.dies, &[old, site, place, kept, since, now])
        };
        self.epochs.set(builder, now);
    }

    /// A local gets another value, `new`, by `store`, before which the builder
    /// is.
    pub(super) fn replaced(
        &self,
        local: Value<'m>,
        old: Value<'m>,
        site: Value<'m>,
        new: Value<'m>,
        store: Value<'m>,
    ) {
        let builder = &self.shared.builder;
        let moment = self.epochs.moment(builder, store);
        builder.before(store);
        self.local_dies(local, Death { old, site, place: builder.word(0), kept: new });
        // A part of a local says nothing of the others.
        if store.operand(1) == local {
            self.epochs.assign(builder, local, moment);
        }
    }
}

/// The call that fills a temporary, by its address or by a result that is
/// stored there.
fn filled_by(user: Value<'_>) -> Option<Value<'_>> {
    match user.opcode()? {
        Opcode::LLVMCall | Opcode::LLVMInvoke => Some(user).filter(|call| !call.is_intrinsic()),
        Opcode::LLVMStore => {
            let value = user.operand(0);
            let from = if value.is(Opcode::LLVMExtractValue) { value.operand(0) } else { value };
            Some(from).filter(|from| from.is_call() && !from.is_intrinsic())
        }
        Opcode::LLVMGetElementPtr => user.users().find_map(filled_by),
        _ => None,
    }
}

/// Whether a local is in its life at an instruction: on the way back from
/// there its life's beginning comes before an end.
fn is_alive<'m>(local: &Local<'m>, at: Value<'m>) -> bool {
    if local.starts.is_empty() {
        return true;
    }
    let (mut seen, mut open) = (HashSet::new(), vec![at]);
    while let Some(mut here) = open.pop() {
        loop {
            if local.starts.contains(&here) {
                return true;
            }
            if local.ends.contains(&here) {
                return false;
            }
            match here.previous() {
                Some(before) => here = before,
                None => break,
            }
        }
        if seen.insert(here.block()) {
            open.extend(here.block().ways_in());
        }
    }
    false
}

/// Whether a user of an integer's slot puts a pointer there.
fn holds_pointer(user: Value<'_>, slot: Value<'_>) -> bool {
    user.is(Opcode::LLVMStore) && user.operand(1) == slot && is_pointer(user.operand(0), 4)
}

/// What a local has when its life begins.
fn start(local: Value<'_>) -> Start {
    let is_given = |user: Value<'_>| user.is(Opcode::LLVMStore) && is_first(user.operand(0), local);
    let is_read = |user: Value<'_>| user.is(Opcode::LLVMLoad) || user.is_call() && user.is_intrinsic();
    if !local.users().any(is_given) {
        Start::Nothing
    } else if local.users().all(|user| is_given(user) || is_read(user)) {
        Start::Lent
    } else {
        Start::Given
    }
}
