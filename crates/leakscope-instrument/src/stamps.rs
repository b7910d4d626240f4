//! Reports every death of a pointer that the source causes: a slot that is
//! overwritten, a local whose life ends, a result that nobody keeps, and what
//! is said before a block that holds pointers is freed.
//!
//! Works on unoptimised code, in which each local is an alloca. The old value
//! goes to the guard, never the slot's address, so that locals still become
//! registers. Slots are null before their first store, so that an old value
//! is always one that the program stored.

mod elements;
mod locals;
mod results;

use std::collections::HashSet;

use leakscope_core::PoolFunction;
use leakscope_wire::Cause;

use crate::builder::Builder;
use crate::epochs::{Epochs, Start};
use crate::exits::Exits;
use crate::ir::{Block, Callee, Opcode, Value};
use crate::llvm::{Function, Layout, Module};
use crate::names::Names;
use crate::objects::{self, Objects};
use crate::passed;
use crate::pools;
use crate::sites::Sites;
use crate::unwinding;
use crate::writes::{self, Length};
use locals::Local;

/// Locals with more words than this are searched by the runtime.
const INLINE_WORDS: usize = 16;

/// Copies over more bytes than this are searched by the runtime.
const INLINE_BYTES: u64 = 64;

/// Functions that free their first argument.
const RELEASES: [&str; 17] = [
    "free",
    "cfree",
    "realloc",
    "reallocarray",
    "_ZdlPv",
    "_ZdlPvm",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPv",
    "_ZdaPvm",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdaPvSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
    "fclose",
];

/// Functions that leave frames behind: by a jump, or all of the thread's.
const LEAVES_FRAMES: [&str; 5] = ["longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "pthread_exit"];

/// Functions that replace what a thread keeps under a key.
const SETS_KEY: [&str; 2] = ["pthread_setspecific", "tss_set"];

/// Where a `msghdr` has its `iovec`s, and behind that their number.
const MESSAGE_PARTS: u64 = 16;

/// How the words of a local die.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Locals {
    /// Each by its value.
    Apart,
    /// Several of them together, by their address: for a run that explains.
    Together,
}

/// Instruments a module.
pub fn insert(
    module: &Module<'_>,
    pools: &[PoolFunction],
    guards: &str,
    locals: Locals,
) -> Result<(), String> {
    module.add(guards)?;
    let builder = Builder::new(module);
    let (pointer, word) = (builder.pointer_type(), builder.word_type());
    let shared = Shared {
        ends: builder.function(c"leakscope.ends"),
        dies: builder.function(c"leakscope.dies"),
        overwritten: builder.function(c"leakscope.overwritten"),
        dropped: builder.function(c"leakscope.dropped"),
        unwound: builder.function(c"leakscope.unwound"),
        shrinks: builder.function(c"leakscope.shrinks"),
        returns: builder.function(c"leakscope.returns"),
        is_held: builder.function(c"leakscope.is.held"),
        range_dies: builder.runtime(
            "__leakscope_range_dies",
            builder.void_type(),
            &[pointer, word, pointer, word],
        ),
        emptied: builder.runtime("__leakscope_emptied", builder.void_type(), &[pointer, pointer, pointer]),
        cleared: builder.runtime("__leakscope_cleared", builder.void_type(), &[pointer, pointer, pointer]),
        cleans: builder.runtime("__leakscope_cleans", builder.void_type(), &[pointer]),
        leaves: builder.runtime("__leakscope_leaves", builder.void_type(), &[pointer, pointer]),
        restored: builder.runtime("__leakscope_restored", pointer, &[pointer, word, pointer, word, pointer]),
        watch: builder.runtime("__leakscope_watch", word, &[pointer, word]),
        watch_parts: builder.runtime("__leakscope_watch_parts", word, &[pointer, word]),
        check: builder.runtime("__leakscope_check", builder.void_type(), &[word, pointer]),
        site: builder.thread_word("leakscope_site"),
        clock: builder.thread_word("leakscope_clock"),
        outer: builder.thread_word("leakscope_outer"),
        given: builder.thread_word("leakscope_given"),
        pools,
        locals,
        layout: module.layout(),
        builder,
    };
    let (mut sites, mut objects) = (Sites::default(), Objects::default());
    let functions: Vec<Function<'_>> = module.bodies().collect();
    for function in functions {
        let names = Names::new(module, function);
        let exits = Exits::mark(&shared.builder, function);
        objects::without_lines(&shared.builder, &names, function);
        if let Some(file) = names.file() {
            function.instructions().for_each(|at| objects.add_count(&file, at));
        }
        if let Some(file) = names.file().filter(|_| !names.is_librarys(function.value())) {
            for call in function.instructions().filter(|at| at.is_call() && !at.is_intrinsic()) {
                objects.add(&shared.builder, &names, &exits, &file, call);
                objects.add_passed(&names, function, &file, call);
            }
        }
        let is_called_by_others = function.is_address_taken();
        let is_held = is_called_by_others.then_some(shared.is_held);
        let epochs = Epochs::mark(&shared.builder, shared.clock, function, is_held);
        let mut body = Body {
            shared: &shared,
            sites: &mut sites,
            names,
            exits,
            epochs,
            unwinding: unwinding::blocks(function),
            function,
            is_called_by_others,
        };
        body.instrument();
    }
    objects.write(module);
    Ok(())
}

/// What the functions of a module have in common.
struct Shared<'m> {
    ends: Callee<'m>,
    dies: Callee<'m>,
    overwritten: Callee<'m>,
    dropped: Callee<'m>,
    unwound: Callee<'m>,
    shrinks: Callee<'m>,
    emptied: Callee<'m>,
    cleared: Callee<'m>,
    returns: Callee<'m>,
    is_held: Callee<'m>,
    range_dies: Callee<'m>,
    restored: Callee<'m>,
    leaves: Callee<'m>,
    cleans: Callee<'m>,
    watch: Callee<'m>,
    watch_parts: Callee<'m>,
    check: Callee<'m>,
    site: Value<'m>,
    clock: Value<'m>,
    outer: Value<'m>,
    given: Value<'m>,
    pools: &'m [PoolFunction],
    locals: Locals,
    layout: Layout<'m>,
    builder: Builder<'m>,
}

/// A function that is being instrumented.
struct Body<'a, 'm> {
    shared: &'a Shared<'m>,
    sites: &'a mut Sites<'m>,
    names: Names<'m>,
    exits: Exits<'m>,
    epochs: Epochs<'m>,
    /// Blocks that only an exception enters.
    unwinding: HashSet<Block<'m>>,
    function: Function<'m>,
    is_called_by_others: bool,
}

impl<'m> Body<'_, 'm> {
    fn instrument(&mut self) {
        let instructions: Vec<Value<'m>> = self.function.instructions().collect();
        let returns: Vec<Value<'m>> =
            instructions.iter().copied().filter(|at| at.is(Opcode::LLVMRet)).collect();
        // What is asked about the users of a value is asked before any is added.
        for &at in &instructions {
            if at.is_call() && !at.is_intrinsic() && at.ty().is_pointer() {
                self.result(at);
            } else if at.is_call() && !at.calls_assembler() {
                self.structure_result(at);
            }
        }
        let lives = self.names.lives();
        let locals: Vec<Local<'m>> = instructions.iter().filter_map(|&at| self.local(at, &lives)).collect();
        for local in &locals {
            if local.words.as_ref().is_none_or(|words| !words.is_empty()) {
                self.epochs.follow(&self.shared.builder, self.function, local.alloca, local.start);
            }
        }
        for &at in &instructions {
            self.leave(&locals, at);
        }
        for &at in &instructions {
            match at.opcode() {
                Some(Opcode::LLVMStore) => self.store(at),
                Some(Opcode::LLVMAtomicCmpXchg) => self.exchange_if(at),
                Some(Opcode::LLVMAtomicRMW) => self.exchange(at),
                Some(Opcode::LLVMCall) if at.calls_assembler() => self.assembler(at),
                Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                    self.call(at);
                    self.ends_copied(at);
                    self.writes(at);
                    self.gives(at);
                }
                _ => {}
            }
        }
        // Of several that end together the last one is told: the first of the source.
        for local in locals.iter().rev() {
            self.begin(local);
            let ends = if local.starts.is_empty() { &returns } else { &local.ends };
            for &end in ends {
                self.end(local, end);
            }
        }
        for parameter in self.function.parameters() {
            if let Some(ty) = parameter.passed_by_value(self.function) {
                let words = ty.words(self.shared.layout, INLINE_WORDS);
                let bytes = ty.bytes(self.shared.layout);
                let local = Local {
                    alloca: parameter,
                    words,
                    empty: None,
                    bytes,
                    starts: vec![],
                    ends: vec![],
                    is_marked: true,
                    filled_by: None,
                    start: Start::Given,
                };
                returns.iter().for_each(|&end| self.end(&local, end));
            }
        }
        self.variable_locals(&instructions, &returns);
        self.ends_callable(&returns);
        if self.may_be_threads() {
            returns.iter().for_each(|&end| self.return_from(end));
        }
    }

    /// Whether a thread may begin in the function: code that is not the
    /// program's own calls it, and it returns nothing or a pointer.
    fn may_be_threads(&self) -> bool {
        let function = self.function.value();
        let is_passed = |user: Value<'m>| user.arguments().any(|argument| argument == function);
        let is_callback =
            |user: Value<'m>| is_passed(user) || user.is_call() && self.names.is_librarys(user.function());
        let returns = self.function.returned();
        (returns.is_void() || returns.is_pointer())
            && !self.names.is_librarys(self.function.value())
            && function.users().any(is_callback)
    }

    fn return_from(&mut self, end: Value<'m>) {
        let builder = &self.shared.builder;
        let (location, place) = self.exits.of(end);
        let site = self.sites.of(builder, Cause::ThreadEnd, location, None);
        let value = end.operands().next().filter(|value| value.ty().is_pointer()).unwrap_or(builder.null());
        builder.before(self.exits.last_moment(end));
        let place = place.map_or(builder.word(0), |exit| builder.load(builder.word_type(), exit));
        let outer = builder.load(builder.word_type(), self.shared.outer);
        if !value.is(Opcode::LLVMCall) || !value.must_be_tail_call() {
            builder.call(self.shared.returns, &[outer, site, place, value]);
        }
    }

    /// A pointer in memory is replaced, where the builder is.
    fn overwritten(&self, old: Value<'m>, site: Value<'m>, new: Value<'m>) {
        let builder = &self.shared.builder;
        let now = builder.call(self.shared.overwritten, &[old, site, new, self.epochs.now(builder)]);
        self.epochs.set(builder, now);
    }

    /// A store over a pointer.
    fn store(&mut self, at: Value<'m>) {
        if self.ends_elements(at) {
            return;
        }
        let (new, slot) = (at.operand(0), at.operand(1));
        // A number may be as large as the arm of a union that it replaces, or smaller.
        let is_word = new.ty().is_pointer()
            || match new.ty().bytes(self.shared.layout) {
                8 => is_pointer(new, 4) || self.names.is_address(slot),
                bytes => bytes < 8 && self.names.is_address(slot),
            };
        let holder = slot.without_steps();
        let is_local = holder.is(Opcode::LLVMAlloca);
        if !is_word || is_first(new, slot) || steps(new, slot) || is_local && !self.epochs.follows(holder) {
            return;
        }
        let builder = &self.shared.builder;
        let site = self.sites.of(builder, Cause::Overwritten, at.location(), self.names.slot(slot));
        builder.before(at);
        let old = builder.load(builder.pointer_type(), slot);
        old.copy_aliasing(at);
        let new = if new.ty().is_integer(64) || new.ty().is_pointer() {
            builder.as_pointer(new)
        } else {
            builder.null()
        };
        if is_local {
            self.replaced(holder, old, site, new, at);
        } else {
            self.overwritten(old, site, new);
        }
    }

    /// An atomic exchange gives what it replaced.
    fn exchange(&mut self, at: Value<'m>) {
        let builder = &self.shared.builder;
        let is_word = at.ty().is_pointer() || at.ty().is_integer(64);
        // A result that is used dies elsewhere, and later.
        if is_word && at.is_exchange() {
            let site =
                self.sites.of(builder, Cause::Overwritten, at.location(), self.names.slot(at.operand(0)));
            builder.after(at);
            let (old, new) = (builder.as_pointer(at), builder.as_pointer(at.operand(1)));
            self.overwritten(old, site, new);
        }
    }

    fn exchange_if(&mut self, at: Value<'m>) {
        let builder = &self.shared.builder;
        let new = at.operand(2);
        if new.ty().is_pointer() || new.ty().is_integer(64) {
            let site =
                self.sites.of(builder, Cause::Overwritten, at.location(), self.names.slot(at.operand(0)));
            builder.after(at);
            let (old, done) = (builder.extract(at, 0), builder.extract(at, 1));
            let old = builder.select(done, builder.as_pointer(old), builder.null());
            let new = builder.as_pointer(new);
            self.overwritten(old, site, new);
        }
    }

    fn call(&mut self, at: Value<'m>) {
        let Some(name) = at.called_name() else { return };
        let builder = &self.shared.builder;
        let released = if RELEASES.contains(&name) { Some(0) } else { pools::freed(self.shared.pools, name) };
        if let Some(held) = released.and_then(|index| at.arguments().nth(index as usize)) {
            // Where an exception is on its way, this is what was allocated for
            // an object whose constructor threw.
            let site = if self.unwinding.contains(&at.block()) {
                let fields = self.names.constructed_fields(held);
                self.sites.with_fields(builder, Cause::Unwound, None, None, &fields)
            } else {
                let fields = self.names.pointee_fields(held);
                let given = passed::parameter(self.function, held).filter(|_| fields.is_empty());
                self.sites.of_free(builder, at.location(), &fields, given)
            };
            builder.before(at);
            builder.store(builder.as_word(site), self.shared.site);
        } else if self.unwinding.contains(&at.block())
            && objects::is_destructor(name)
            && self.names.is_librarys_callee(at)
            && at.normal_block().is_none_or(Block::has_one_way_in)
        {
            // What a container holds dies where the exception was thrown.
            let site = self.sites.of(builder, Cause::Unwound, None, self.names.object_of(at));
            builder.before(at).call(self.shared.cleans, &[site]);
            builder.after(at).call(self.shared.cleans, &[builder.null()]);
        } else if LEAVES_FRAMES.contains(&name) {
            let site = self.sites.of(builder, Cause::Unwound, at.location(), None);
            let target = if name == "pthread_exit" { builder.null() } else { at.operand(0) };
            builder.before(at);
            builder.call(self.shared.leaves, &[target, site]);
        } else if SETS_KEY.contains(&name) {
            let get = builder.runtime("pthread_getspecific", builder.pointer_type(), &[at.operand(0).ty()]);
            let site = self.sites.of(builder, Cause::Overwritten, at.location(), None);
            builder.before(at);
            let old = builder.call(get, &[at.operand(0)]);
            self.overwritten(old, site, at.operand(1));
        }
    }

    /// What a call writes over dies before it or, if it may not be written,
    /// after it if it was.
    fn writes(&mut self, at: Value<'m>) {
        for write in writes::of_call(at) {
            match write.length {
                Length::Value(bytes) if write.is_certain => self.overwrite(at, write.address, bytes),
                Length::Pointer if write.is_certain => {
                    self.overwrite(at, write.address, self.shared.builder.word(8));
                }
                length => self.watch(at, write.address, length),
            }
        }
    }

    fn watch(&mut self, at: Value<'m>, slot: Value<'m>, length: Length<'m>) {
        let builder = &self.shared.builder;
        let is_plain = slot.local(self.shared.layout).is_some_and(|(ty, _)| {
            ty.words(self.shared.layout, INLINE_WORDS).is_some_and(|words| words.is_empty())
        });
        let leads_on = !at.is(Opcode::LLVMInvoke) || at.normal_block().is_some_and(Block::has_one_way_in);
        let is_elsewhere = matches!(length, Length::Parts(_) | Length::Message);
        if is_plain && !is_elsewhere || !leads_on || at.must_be_tail_call() {
            return;
        }
        // What the parts are called is not known.
        let (fields, name) = match is_elsewhere {
            true => (Vec::new(), None),
            false => (self.names.fields(slot), self.names.slot(slot)),
        };
        let site = self.sites.with_fields(builder, Cause::Overwritten, at.location(), name, &fields);
        builder.before(at);
        let token = match length {
            Length::Value(bytes) => builder.call(self.shared.watch, &[slot, builder.as_word(bytes)]),
            Length::Product(count, size) => {
                let bytes = builder.multiply(builder.as_word(count), builder.as_word(size));
                builder.call(self.shared.watch, &[slot, bytes])
            }
            Length::Pointer => builder.call(self.shared.watch, &[slot, builder.word(8)]),
            Length::Parts(count) => builder.call(self.shared.watch_parts, &[slot, builder.as_word(count)]),
            Length::Message => {
                let parts = builder.load(builder.pointer_type(), builder.offset(slot, MESSAGE_PARTS));
                let count = builder.load(builder.word_type(), builder.offset(slot, MESSAGE_PARTS + 8));
                builder.call(self.shared.watch_parts, &[parts, count])
            }
        };
        builder.after(at);
        builder.call(self.shared.check, &[token, site]);
        self.epochs.refresh(builder);
    }

    /// Assembler that writes to memory.
    fn assembler(&mut self, at: Value<'m>) {
        let builder = &self.shared.builder;
        let slots: Vec<Value<'m>> = at.arguments().filter(|argument| argument.ty().is_pointer()).collect();
        for slot in slots {
            if !self.names.is_address(slot) {
                continue;
            }
            let site = self.sites.of(builder, Cause::Overwritten, at.location(), self.names.slot(slot));
            builder.before(at);
            let old = builder.load(builder.pointer_type(), slot);
            builder.after(at);
            let new = builder.load(builder.pointer_type(), slot);
            self.overwritten(old, site, new);
        }
    }

    /// Memory is overwritten as a whole.
    fn overwrite(&mut self, at: Value<'m>, slot: Value<'m>, bytes: Value<'m>) {
        let builder = &self.shared.builder;
        let local = slot.local(self.shared.layout).map(|(ty, _)| ty.words(self.shared.layout, INLINE_WORDS));
        let length = bytes.integer().unwrap_or(u64::MAX);
        let words: Option<Vec<u64>> = match local {
            Some(Some(words)) => Some(words.into_iter().filter(|word| word + 8 <= length).collect()),
            None if length <= INLINE_BYTES => Some((0..length / 8).map(|word| word * 8).collect()),
            _ => None,
        };
        let (fields, name) = (self.names.fields(slot), self.names.slot(slot));
        if let Some(words) = words {
            for word in words {
                let name = fields.iter().find_map(|field| field.at(word)).or(name.clone());
                let site = self.sites.of(builder, Cause::Overwritten, at.location(), name);
                builder.before(at);
                let old = builder.load(builder.pointer_type(), builder.offset(slot, word));
                old.set_unaligned();
                self.overwritten(old, site, builder.null());
            }
        } else {
            let site = self.sites.with_fields(builder, Cause::Overwritten, at.location(), name, &fields);
            builder.before(at);
            let bytes = builder.as_word(bytes);
            builder.call(self.shared.range_dies, &[slot, bytes, site, builder.word(0)]);
            self.epochs.refresh(builder);
        }
    }
}

/// Whether an integer was a pointer.
fn is_pointer(value: Value<'_>, depth: u32) -> bool {
    match value.opcode() {
        Some(Opcode::LLVMPtrToInt) => true,
        Some(Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMOr | Opcode::LLVMAnd | Opcode::LLVMXor)
            if depth > 0 =>
        {
            is_pointer(value.operand(0), depth - 1) || is_pointer(value.operand(1), depth - 1)
        }
        _ => false,
    }
}

/// The store that puts a parameter into its slot.
fn is_first(new: Value<'_>, slot: Value<'_>) -> bool {
    new.is_parameter() && slot.is(Opcode::LLVMAlloca)
}

/// `p++` and `p += n`: the pointer goes on in its block.
fn steps(new: Value<'_>, slot: Value<'_>) -> bool {
    new.is(Opcode::LLVMGetElementPtr)
        && new.operand(0).is(Opcode::LLVMLoad)
        && new.operand(0).operand(0) == slot
}
