//! What the callee's symbols, values and blocks are in the caller's case, and
//! what is known of them.

use std::sync::Arc;

use super::Instance;
use crate::arithmetic;
use crate::case::Case;
use crate::fact::Fact;
use crate::models::DESCRIPTOR;
use crate::refine::{compare, note_not_null};
use crate::scope::{Origin, Scope};
use crate::value::{Base, HeapId, SymbolId, SymbolKey, Value};

/// Stack frames kept of an allocation.
const MAX_STACK: usize = 8;

impl Instance<'_> {
    /// The name of something that this case of the callee brings: the numbers of
    /// two cases differ.
    fn own(&self, number: u32) -> SymbolKey {
        SymbolKey::Result(self.site.result, self.number * 4096 + number)
    }

    /// What is returned has no name here, but the callee may know something
    /// of it.
    pub(super) fn unnamed_result(&self, scope: &mut Scope, after: &mut Case, id: SymbolId) -> Value {
        let known = self.exit.facts.iter().find(|(known, _)| *known == id);
        let key = self.own(id.0 + 1);
        let (Some((_, fact)), Some(own)) = (known, scope.symbols.get(key)) else { return Value::Top };
        after.facts.insert(own, *fact);
        Value::symbol(own)
    }

    /// The same of a number that it computed.
    fn unnamed_number(&mut self, scope: &mut Scope, id: SymbolId, range: Fact) -> Value {
        let key = self.own(id.0 + 1);
        if range == Fact::ANY {
            return Value::Top;
        }
        let Some(own) = scope.symbols.get(key) else { return Value::Top };
        self.before.facts.insert(own, range);
        self.ranges.push((own, range));
        Value::symbol(own)
    }

    /// The callee has tested its result, of which it is not known what it is.
    pub(super) fn note_result(&self, scope: &mut Scope, after: &mut Case, result: &mut Value) -> bool {
        if *result == Value::Top {
            *result = scope.symbols.value(self.own(0));
        }
        note_not_null(after, scope, result)
    }

    pub(super) fn values(&mut self, scope: &mut Scope, ids: &[SymbolId]) -> Vec<Value> {
        let mut values = Vec::with_capacity(ids.len());
        for &id in ids {
            let value = self.symbol(scope, id);
            values.push(self.carry(value));
        }
        values
    }

    /// What the callee knows of values that it made.
    pub(super) fn note_facts(&mut self, scope: &mut Scope, after: &mut Case) {
        for &(id, fact) in &self.exit.facts {
            if !self.summary.symbols.is_input(id)
                && let Value::Sum(Base::Symbol(id), _) = self.symbol(scope, id)
            {
                after.facts.insert(id, fact);
            }
        }
        let addresses = self.addresses.iter().map(|&id| (id, Fact::ADDRESS));
        if addresses.len() > 0 {
            after.facts.extend(addresses);
        }
        for (id, range) in self.ranges.drain(..) {
            if !after.facts.contains_key(&id) {
                after.facts.insert(id, range);
            }
        }
    }

    /// A symbol of the callee in the caller's state before the call.
    pub(super) fn symbol(&mut self, scope: &mut Scope, id: SymbolId) -> Value {
        if let Some(Some(known)) = self.symbols.get(id.0 as usize) {
            return known.clone();
        }
        let value = match self.summary.symbols.key(id).clone() {
            SymbolKey::Parameter(index) => self.arguments.get(index as usize).cloned().unwrap_or(Value::Top),
            SymbolKey::Content(base, offset) => {
                let address = self.base_before(scope, base).plus(offset);
                self.before.peek(scope, &address)
            }
            SymbolKey::Elements(base, offset) => {
                let address = self.base_before(scope, base).plus(offset);
                address.map(|part| match part {
                    Value::Sum(base, offset) => scope.symbols.value(SymbolKey::Elements(*base, *offset)),
                    _ => Value::Top,
                })
            }
            SymbolKey::Binary(op, left, right) => {
                let (left, right) = (self.value_before(scope, &left), self.value_before(scope, &right));
                match arithmetic::binary(scope, op, &left, &right) {
                    Value::Top => {
                        let sides = [&left, &right].map(|side| self.before.fact_of(scope, side));
                        self.unnamed_number(scope, id, arithmetic::range(op, sides))
                    }
                    value => value,
                }
            }
            SymbolKey::Compare(op, left, right) => {
                let (left, right) = (self.value_before(scope, &left), self.value_before(scope, &right));
                compare(&self.before, scope, op, &left, &right)
            }
            SymbolKey::Result(..) | SymbolKey::Joined(..) => {
                let key = self.own(id.0 + 1);
                scope.symbols.value(key)
            }
        };
        if let Some(known) = self.symbols.get_mut(id.0 as usize) {
            *known = Some(value.clone());
        }
        value
    }

    pub(super) fn base_before(&mut self, scope: &mut Scope, base: Base) -> Value {
        match base {
            Base::Symbol(id) => self.symbol(scope, id),
            Base::Global(_) | Base::Function(_) => Value::address(base),
            Base::Local(_) | Base::Heap(_) => Value::Top,
        }
    }

    pub(super) fn value_before(&mut self, scope: &mut Scope, value: &Value) -> Value {
        match value {
            Value::Sum(base, offset) => self.base_before(scope, *base).plus(*offset),
            Value::OneOf(_) | Value::Record(_) => value.map(|part| self.value_before(scope, part)),
            other => other.clone(),
        }
    }

    pub(super) fn base(&mut self, scope: &mut Scope, base: Base) -> Value {
        match base {
            Base::Heap(block) => self.block(scope, block),
            other => {
                let value = self.base_before(scope, other);
                self.carry(value)
            }
        }
    }

    /// A value from before the call, after its new blocks came to be.
    pub(super) fn carry(&self, value: Value) -> Value {
        if self.renamed.is_empty() {
            return value;
        }
        value.map(|part| match part {
            Value::Sum(Base::Heap(block), offset) if self.renamed.contains(block) => {
                Value::Sum(Base::Heap(block.older()), *offset)
            }
            other => other.clone(),
        })
    }

    pub(super) fn value(&mut self, scope: &mut Scope, after: &mut Case, value: &Value) -> Value {
        match value {
            Value::Sum(base, offset) => self.base(scope, *base).plus(*offset),
            Value::OneOf(parts) => {
                let parts = parts.iter().map(|part| self.value(scope, after, part)).collect();
                after.any_of(scope, parts)
            }
            Value::Record(parts) => {
                Value::Record(parts.iter().map(|part| self.value(scope, after, part)).collect())
            }
            other => other.clone(),
        }
    }

    /// A new block of the callee is one of the call.
    pub(super) fn block(&mut self, scope: &mut Scope, block: HeapId) -> Value {
        match self.blocks.get(&block) {
            Some(known) => Value::address(Base::Heap(*known)),
            // It has escaped, so that only its address is of interest.
            None => {
                let key = self.own(2048 + block.site() as u32);
                let Some(id) = scope.symbols.get(key) else { return Value::Top };
                self.addresses.push(id);
                Value::symbol(id)
            }
        }
    }

    pub(super) fn allocate(&mut self, scope: &mut Scope, after: &mut Case, block: HeapId) {
        let state = self.exit.blocks.iter().find(|(known, _)| *known == block).map(|(_, state)| *state);
        let Some(state) = state else { return };
        let number = block.site() as u32 * 2 + u32::from(block.is_older());
        let (inner, caller, at) = (&self.summary.origins[block.site()], self.site.caller, self.site.at);
        let site = scope.sites.get(self.site.result, number, &scope.loops, || {
            let mut stack = inner.stack.clone();
            stack.push((caller, at));
            stack.truncate(MAX_STACK);
            Arc::new(Origin { stack, allocator: inner.allocator.clone(), kind: inner.kind.clone() })
        });
        let known = after.allocate(scope, site, state);
        if inner.kind == DESCRIPTOR && std::mem::take(&mut after.lacks_standard) {
            after.blocks.remove(&known);
        }
        self.renamed.push(known);
        self.blocks.insert(block, known);
    }
}
