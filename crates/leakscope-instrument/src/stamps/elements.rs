//! Containers of the C++ library that end what they hold without touching it:
//! vectors and deques move the bounds of their elements, optionals and variants
//! change a flag, `std::function` and `std::any` call what knows their content. What lies outside is nobody's: its pointers die there, and are
//! cleared, else they would hold blocks and die once more when the memory is used.

use leakscope_wire::Cause;

use super::{Body, INLINE_WORDS};
use crate::ir::{Opcode, Type, Value};

/// Words of a deque's iterator.
const FIRST: u64 = 8;
const LAST: u64 = 16;

impl<'m> Body<'_, 'm> {
    /// A store that moves a bound or changes such a flag. False if it is none.
    pub(super) fn ends_elements(&mut self, at: Value<'m>) -> bool {
        let slot = at.operand(1);
        if !self.names.is_in_library() || !slot.is(Opcode::LLVMGetElementPtr) {
            return false;
        }
        match bound(slot) {
            Some(bound) => {
                let builder = &self.shared.builder;
                builder.before(at);
                let old = builder.load(builder.pointer_type(), slot);
                match bound {
                    Bound::EndOfObjects => self.ends_later(at, old),
                    Bound::End => self.ends(at, old, at.operand(0)),
                    Bound::Start => self.ends(at, at.operand(0), old),
                }
                true
            }
            None => {
                self.empties(at, slot);
                false
            }
        }
    }

    /// A copy of an iterator that moves a bound of a deque.
    pub(super) fn ends_copied(&mut self, at: Value<'m>) {
        let (to, from) = (at.operand(0), at.operand(1));
        let is_copy = at.called_name().is_some_and(|name| name.starts_with("llvm.memcpy."));
        let Some(bound) =
            is_copy.then(|| bound_of_deque(to)).flatten().filter(|_| self.names.is_in_library())
        else {
            return;
        };
        let builder = &self.shared.builder;
        builder.before(at);
        let word = |offset| builder.load(builder.pointer_type(), builder.offset(from, offset));
        match bound {
            Bound::End | Bound::EndOfObjects => self.ends(at, word(LAST), word(0)),
            Bound::Start => self.ends(at, word(0), word(FIRST)),
        }
    }

    /// What lies from `from` to `to` is no element any more, where the builder is.
    fn ends(&mut self, at: Value<'m>, to: Value<'m>, from: Value<'m>) {
        let builder = &self.shared.builder;
        let site = self.sites.of(builder, Cause::HolderFreed, at.location(), None);
        builder.call(self.shared.shrinks, &[to, from, site]);
        self.epochs.refresh(builder);
    }

    /// Of elements with destructors, those at the end may be ended after the bound has
    /// moved: what is left in them dies when the function returns. The builder is before the store that
    /// moves it.
    fn ends_later(&mut self, at: Value<'m>, old: Value<'m>) {
        let new = at.operand(0);
        let has_pointers =
            |ty: Type<'m>| ty.words(self.shared.layout, INLINE_WORDS).is_none_or(|words| !words.is_empty());
        let element = Some(new).filter(|new| new.is(Opcode::LLVMGetElementPtr)).map(Value::stepped_over);
        if element.is_some_and(|element| !has_pointers(element)) {
            return;
        }
        let builder = &self.shared.builder;
        let bounds = [old, new].map(|value| {
            let local = builder.local(self.function, builder.null());
            builder.before(at).store(value, local);
            local
        });
        let returns: Vec<Value<'m>> =
            self.function.instructions().filter(|at| at.is(Opcode::LLVMRet)).collect();
        for end in returns {
            builder.before(self.exits.last_moment(end));
            let [old, new] = bounds.map(|local| builder.load(builder.pointer_type(), local));
            self.ends(at, old, new);
        }
    }

    /// The end of a `std::function`, where it returns: what is small enough lies in
    /// the object itself.
    pub(super) fn ends_callable(&mut self, returns: &[Value<'m>]) {
        const DESTRUCTOR: &str = "_ZNSt14_Function_baseD2Ev";
        const FUNCTOR_BYTES: u64 = 16;
        let Some(object) = self.function.parameters().next() else { return };
        for &end in returns.iter().filter(|_| self.function.value().name() == DESTRUCTOR) {
            let builder = &self.shared.builder;
            let site = self.sites.of(builder, Cause::HolderFreed, end.location(), None);
            builder.before(end);
            builder.call(self.shared.cleared, &[object, builder.offset(object, FUNCTOR_BYTES), site]);
            self.epochs.refresh(builder);
        }
    }

    /// What an optional or a variant held ended before this store to its flag, or
    /// will have ended when the function returns; so for what `std::any` holds behind
    /// its flag, and `std::function` before it.
    fn empties(&mut self, at: Value<'m>, flag: Value<'m>) {
        let symbol = self.function.value().name();
        let is_optional = symbol.contains("_Optional_payload_base") && symbol.ends_with("10_M_destroyEv");
        let is_variant = symbol.contains("16_Variant_storageI") && symbol.ends_with("8_M_resetEv");
        let is_any = symbol == "_ZNSt3any5resetEv";
        let is_callable = symbol.starts_with("_ZNSt8functionI") && symbol.ends_with("EaSEDn");
        let is_behind = is_any && flag.name().starts_with("_M_manager");
        let ends = match flag.name() {
            name if (is_any || is_callable) && name.starts_with("_M_manager") => vec![at],
            name if is_optional && name.starts_with("_M_engaged") => {
                self.function.instructions().filter(|at| at.is(Opcode::LLVMRet)).collect()
            }
            name if is_variant && name.starts_with("_M_index") => vec![at],
            _ => return,
        };
        let builder = &self.shared.builder;
        for end in ends {
            let site = self.sites.of(builder, Cause::HolderFreed, at.location(), None);
            builder.before(end);
            let (from, to) = match is_behind {
                true => (builder.offset(flag, 8), builder.offset(flag, 16)),
                false => (flag.operand(0), flag),
            };
            let ended = if is_any || is_callable { self.shared.cleared } else { self.shared.emptied };
            builder.call(ended, &[from, to, site]);
            self.epochs.refresh(builder);
        }
    }
}

#[derive(Clone, Copy)]
enum Bound {
    Start,
    End,
    /// Of elements that may have destructors.
    EndOfObjects,
}

/// The bound that lies at an address.
fn bound(address: Value<'_>) -> Option<Bound> {
    let end = |container| match element(container)? {
        element if element.ends_with('*') => Some(Bound::End),
        element => (!is_number(element)).then_some(Bound::EndOfObjects),
    };
    let is_vectors = address.record().is_some_and(|record| record.contains("_Vector_base<"));
    if is_vectors && address.name().starts_with("_M_finish") {
        return end(address);
    }
    let iterator = address.operand(0);
    match bound_of_deque(iterator).filter(|_| address.name().starts_with("_M_cur"))? {
        Bound::Start => Some(Bound::Start),
        _ => end(iterator),
    }
}

/// The bound of which a deque has an iterator at an address.
fn bound_of_deque(address: Value<'_>) -> Option<Bound> {
    let is_deques = address.is(Opcode::LLVMGetElementPtr)
        && address.record().is_some_and(|record| record.contains("_Deque_base<"));
    match address.name() {
        name if is_deques && name.starts_with("_M_start") => Some(Bound::Start),
        name if is_deques && name.starts_with("_M_finish") => Some(Bound::End),
        _ => None,
    }
}

/// What a vector or deque holds, of which the word at an address is.
fn element(address: Value<'_>) -> Option<&str> {
    let record = address.record()?;
    let containers = ["_Vector_base<", "_Deque_base<"];
    let (_, arguments) = containers.iter().find_map(|container| record.split_once(container))?;
    arguments.split_once(", std::allocator<").map(|(element, _)| element)
}

fn is_number(element: &str) -> bool {
    let words = ["bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned"];
    element.split(' ').all(|word| words.contains(&word))
}
