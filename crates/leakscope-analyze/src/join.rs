//! Where cases meet: those that agree on the property become one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use leakscope_ir::ValueId;

use crate::case::{Block, Case, Cell};
use crate::fact::Fact;
use crate::scope::Scope;
use crate::shared::{Map, Set};
use crate::value::{Base, HeapId, Holder, Offset, Point, SymbolId, SymbolKey, Value, mark};

/// What cases must agree on to be joined: the outcomes of ownership.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Property {
    pub blocks: Vec<HeapId>,
    /// Those that memory of others points to.
    pub kept: Set<HeapId>,
    /// Those that instructions to come can get at.
    pub usable: Set<HeapId>,
    pub freed: Set<SymbolId>,
    pub escaped: Set<SymbolId>,
    pub stored: Set<SymbolId>,
    pub refused: Set<SymbolId>,
    pub removed: Set<SymbolId>,
    /// Where ways out of a scope meet, where each goes on.
    pub selectors: Vec<(ValueId, i64)>,
}

impl Property {
    pub fn of(case: &Case, scope: &Scope) -> Property {
        let (kept, published) = kept_blocks(case, scope);
        let usable = if case.blocks.is_empty() { BTreeSet::new() } else { case.usable(scope) };
        let is_own = |block: &HeapId| !published.contains(block);
        Property {
            blocks: case.blocks.keys().copied().filter(is_own).collect(),
            kept: kept.into_iter().filter(is_own).collect(),
            usable: usable.into_iter().filter(is_own).collect(),
            freed: case.freed.iter().copied().filter(|id| is_near(scope, *id)).collect(),
            escaped: parameters(&case.escaped, scope),
            stored: parameters(&case.stored, scope),
            refused: case.refused.clone(),
            removed: case.removed.clone(),
            selectors: Vec::new(),
        }
    }

    /// How far two cases are from each other, to join the nearest where there
    /// are too many.
    pub fn distance(&self, other: &Property) -> usize {
        let blocks = self.blocks.iter().filter(|block| !other.blocks.contains(block)).count()
            + other.blocks.iter().filter(|block| !self.blocks.contains(block)).count();
        4 * blocks
            + self.kept.difference(&other.kept)
            + self.usable.difference(&other.usable)
            + self.freed.difference(&other.freed)
            + self.escaped.difference(&other.escaped)
            + self.stored.difference(&other.stored)
            + self.refused.difference(&other.refused)
            + self.removed.difference(&other.removed)
    }
}

/// An argument, or what it points to.
fn is_near(scope: &Scope, id: SymbolId) -> bool {
    match scope.symbols.key(id) {
        SymbolKey::Parameter(_) => true,
        SymbolKey::Content(Base::Symbol(outer), Offset::At(_)) => {
            matches!(scope.symbols.key(*outer), SymbolKey::Parameter(_))
        }
        // One of two numbers in a word.
        SymbolKey::Binary(..) => scope.symbols.is_of_parameters(id),
        _ => false,
    }
}

/// What came in as an argument itself: deeper parts would tell too many cases
/// apart.
fn parameters(ids: &Set<SymbolId>, scope: &Scope) -> Set<SymbolId> {
    ids.iter().copied().filter(|id| matches!(scope.symbols.key(*id), SymbolKey::Parameter(_))).collect()
}

/// Blocks that memory of others points to, and of these the ones in globals
/// that somebody reads: their loss is not what cases are told apart for.
fn kept_blocks(case: &Case, scope: &Scope) -> (BTreeSet<HeapId>, BTreeSet<HeapId>) {
    let (mut kept, mut published) = (BTreeSet::new(), BTreeSet::new());
    if case.blocks.is_empty() {
        return (kept, published);
    }
    for ((base, _), cell) in case.memory.iter() {
        let held = cell.value.heap_blocks().filter(|block| case.blocks.contains_key(block));
        match base {
            Base::Symbol(_) => kept.extend(held),
            Base::Global(global)
                if scope.world.is_never_read(*global) || scope.rewritten.contains(global) =>
            {
                kept.extend(held);
            }
            Base::Global(_) => {
                let held: Vec<HeapId> = held.collect();
                kept.extend(&held);
                published.extend(held);
            }
            _ => {}
        }
    }
    (kept, published)
}

/// Whether growing values are to stop growing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    Free,
    Widened,
}

/// Joins `other` into `case`; whether `case` changed.
pub fn join(case: &mut Case, as_it_came: Case, scope: &mut Scope, point: Point, growth: Growth) -> bool {
    let mut joiner = Joiner { point, growth, other: &as_it_came, bound: BTreeMap::new(), is_changed: false };
    let own_only = facts_apart(case, &as_it_came, scope);
    let [own_failing, others_failing] = [null_in_other(case, &as_it_came), null_in_other(&as_it_came, case)];
    let others_only = facts_apart(&as_it_came, case, scope);
    // Symbols of this point that the other mentions are those of an earlier pass.
    let current = joiner.bound_symbols(case, scope);
    let mut other = Cow::Borrowed(&as_it_came);
    if !current.is_empty() {
        let current: Vec<Base> = current.into_iter().map(Base::Symbol).collect();
        other.to_mut().forget_all(scope, &current);
    }
    let other = &*other;
    joiner.env(case, other, scope);
    joiner.memory(case, other, scope);
    joiner.variables(case, other, scope);
    joiner.tested(case, other);
    joiner.facts(case, other, &own_only);
    if !others_only.is_empty() {
        case.facts.extend(others_only);
    }
    let fails = |(id, block): &(&HeapId, &Block)| !block.is_nullable && other.is_nullable(**id);
    let failing: Vec<HeapId> = case.blocks.iter().filter(fails).map(|(id, _)| *id).collect();
    joiner.is_changed |= !failing.is_empty();
    case.blocks.extend(failing.into_iter().map(|id| (id, Block { is_nullable: true })));
    // Where the property differs, in favour of silence.
    case.blocks.retain(|block, _| other.blocks.contains_key(block) || own_failing.contains(block));
    joiner.is_changed |= !others_failing.is_empty();
    let failing = own_failing.into_iter().chain(others_failing);
    case.blocks.extend(failing.map(|id| (id, Block { is_nullable: true })));
    case.refused.intersect(&other.refused);
    case.removed.intersect(&other.removed);
    case.refused_by.retain(|refused| other.refused_by.contains(refused));
    case.zeroed.intersect(&other.zeroed);
    joiner.is_changed |= other.lacks_standard && !case.lacks_standard;
    case.lacks_standard |= other.lacks_standard;
    joiner.is_changed |= case.freed.unite(&other.freed);
    joiner.is_changed |= case.escaped.unite(&other.escaped);
    joiner.is_changed |= case.stored.unite(&other.stored);
    for pending in &other.pending {
        if !case.pending.iter().any(|known| (known.block, known.at) == (pending.block, pending.at)) {
            case.pending.push(pending.clone());
            joiner.is_changed = true;
        }
    }
    joiner.is_changed
}

/// Blocks of one case in globals that are null in the other: there could be none.
fn null_in_other(case: &Case, other: &Case) -> Vec<HeapId> {
    let is_null = |held: &Case, (base, offset): &(Base, Offset)| {
        matches!(base, Base::Global(_))
            && held.memory.get(&(*base, *offset)).is_some_and(|cell| cell.value == Value::NULL)
    };
    let holds = |value: &Value, block: HeapId| value.heap_blocks().any(|held| held == block);
    let only_there = |block: &HeapId| {
        let mut cells = case.memory.iter().filter(|(_, cell)| holds(&cell.value, *block)).peekable();
        cells.peek().is_some()
            && cells.all(|(place, _)| is_null(other, place))
            && case.env.iter().all(|(id, value)| !holds(value, *block) || other.get(*id) == Value::NULL)
    };
    let missing = case.blocks.keys().copied().filter(|block| !other.blocks.contains_key(block));
    missing.filter(only_there).collect()
}

/// Facts of one case about what the other has never seen: they stay true.
fn facts_apart(case: &Case, other: &Case, scope: &Scope) -> Vec<(SymbolId, Fact)> {
    let symbols = &scope.symbols;
    let is_result = |id: SymbolId| matches!(symbols.key(id), SymbolKey::Result(..));
    let alone = || case.facts.iter().filter(|(id, _)| is_result(**id) && !other.facts.contains_key(id));
    if alone().next().is_none() {
        return Vec::new();
    }
    let marks = other.marks(symbols);
    let values =
        || other.env.iter().map(|(_, value)| value).chain(other.memory.values().map(|cell| &cell.value));
    let is_seen = |id: SymbolId| {
        let symbol = Base::Symbol(id);
        marks & mark(symbol) != 0
            && values().flat_map(Value::bases).any(|(base, _)| symbols.base_mentions(base, symbol))
    };
    alone().filter(|(id, _)| !is_seen(**id)).map(|(id, fact)| (*id, *fact)).collect()
}

struct Joiner<'o> {
    point: Point,
    growth: Growth,
    /// The other case as it came.
    other: &'o Case,
    /// Symbols that stand for what differed here, with what is known of them.
    bound: BTreeMap<SymbolId, Fact>,
    is_changed: bool,
}

impl Joiner<'_> {
    /// What is known of the number in a holder of the other case, which is
    /// `value` by now.
    fn fact_in_other(&self, holder: Holder, value: &Value, scope: &Scope) -> Fact {
        let as_it_came = match holder {
            Holder::Value(id) => Some(self.other.get(id)),
            Holder::Cell(base, offset) => {
                self.other.memory.get(&(base, offset)).map(|cell| cell.value.clone())
            }
            Holder::Member(_) | Holder::Result => None,
        };
        match (as_it_came, value) {
            (Some(symbol @ Value::Sum(Base::Symbol(_), _)), _) => self.other.fact_of(scope, &symbol),
            (_, Value::Int(number)) => Fact::exactly(*number),
            _ => Fact::ANY,
        }
    }

    fn bound_symbols(&self, case: &Case, scope: &Scope) -> BTreeSet<SymbolId> {
        if !scope.symbols.has_joined_at(self.point) {
            return BTreeSet::new();
        }
        let values =
            case.env.iter().map(|(_, value)| value).chain(case.memory.values().map(|cell| &cell.value));
        let is_here = |id: &SymbolId| matches!(scope.symbols.key(*id), SymbolKey::Joined(point, _) if *point == self.point);
        values
            .flat_map(Value::bases)
            .filter_map(|(base, _)| match base {
                Base::Symbol(id) => Some(id),
                _ => None,
            })
            .filter(is_here)
            .collect()
    }

    fn env(&mut self, case: &mut Case, other: &Case, scope: &mut Scope) {
        let mut others = other.env.iter().peekable();
        let differs = |(id, value): &&(ValueId, Value)| {
            while others.next_if(|(earlier, _)| earlier < id).is_some() {}
            others.peek().is_none_or(|(other, others)| other != id || others != value)
        };
        let apart: Vec<ValueId> = case.env.iter().filter(differs).map(|(id, _)| *id).collect();
        for id in apart {
            let (own, others) = (case.get(id), other.get(id));
            let value = self.value(case, own, others, Holder::Value(id), scope);
            case.set(id, value);
        }
        // A value that only the other case knows may point to a block.
        for (id, value) in other.env.iter().filter(|(_, value)| value.has_heap()) {
            if case.env.binary_search_by_key(id, |(id, _)| *id).is_err() {
                case.set(*id, Value::one_of([Value::Top, value.clone()]).unwrap_or(Value::Top));
                self.is_changed = true;
            }
        }
        case.env.retain(|(_, value)| *value != Value::Top);
    }

    fn memory(&mut self, case: &mut Case, other: &Case, scope: &mut Scope) {
        if case.memory.is_same(&other.memory) {
            return;
        }
        for key in case.memory.apart(&other.memory, |own, others| own.value == others.value) {
            let (own, others) = (case.memory.get(&key).cloned(), other.memory.get(&key).cloned());
            let bytes = own.as_ref().or(others.as_ref()).map_or(8, |cell| cell.bytes);
            let absent = |case: &Case, present: &Option<Cell>, scope: &mut Scope| match key.0 {
                _ if case.zeroed.contains(&key.0) => Value::NULL,
                Base::Symbol(_) | Base::Global(_) if key.1 != Offset::Any => {
                    case.first_content(scope, key.0, key.1)
                }
                // What was not initialised is not read either.
                _ => present.as_ref().map_or(Value::Top, |cell| cell.value.clone()),
            };
            let was_absent = own.is_none();
            let first =
                own.as_ref().map(|cell| cell.value.clone()).unwrap_or_else(|| absent(case, &others, scope));
            let second =
                others.as_ref().map(|cell| cell.value.clone()).unwrap_or_else(|| absent(other, &own, scope));
            let before = first.clone();
            let changed_before = self.is_changed;
            let value = self.value(case, first, second, Holder::Cell(key.0, key.1), scope);
            if was_absent {
                self.is_changed =
                    changed_before || value != before || !matches!(key.0, Base::Symbol(_) | Base::Global(_));
            }
            let same = case.memory.get(&key).is_some_and(|cell| cell.value == value);
            if !same {
                case.memory.insert(key, Cell { value, bytes });
            }
        }
    }

    fn variables(&mut self, case: &mut Case, other: &Case, scope: &mut Scope) {
        if case.variables.is_same(&other.variables) {
            return;
        }
        for key in case.variables.apart(&other.variables, |own, others| own == others) {
            let own = case.variables.get(&key).cloned();
            let others = other.variables.get(&key).cloned();
            let both = [own.clone().unwrap_or(Value::Top), others.unwrap_or(Value::Top)];
            let value = match Value::one_of(both.clone()) {
                Some(value) => value,
                // Only blocks matter, once there are many.
                None => {
                    let blocks = both.iter().flat_map(Value::heap_blocks);
                    let blocks = blocks.map(|block| Value::address(Base::Heap(block))).collect();
                    case.any_of(scope, blocks)
                }
            };
            if own.as_ref() != Some(&value) {
                self.is_changed = true;
                case.variables.insert(key, value);
            }
        }
    }

    fn tested(&mut self, case: &mut Case, other: &Case) {
        let known = case.tested.len();
        case.tested.retain(|test| other.tested.contains(test));
        self.is_changed |= case.tested.len() != known;
    }

    /// What only `case` has seen, `apart`, it goes on to know.
    fn facts(&mut self, case: &mut Case, other: &Case, apart: &[(SymbolId, Fact)]) {
        let (growth, bound) = (self.growth, &self.bound);
        if bound.is_empty() && case.facts.is_same(&other.facts) {
            return;
        }
        let mut is_changed = self.is_changed;
        let mut joined = Vec::with_capacity(case.facts.len());
        let mut others = other.facts.iter().peekable();
        for (&id, &own) in case.facts.iter() {
            while others.next_if(|(earlier, _)| **earlier < id).is_some() {}
            if bound.contains_key(&id) {
                continue;
            }
            let fact = match others.next_if(|(other, _)| **other == id).map(|(_, fact)| fact) {
                Some(&others) if growth == Growth::Widened => own.widen(own.or(others)),
                Some(&others) => own.or(others),
                None if apart.binary_search_by_key(&id, |(id, _)| *id).is_ok() => own,
                None => Fact::ANY,
            };
            is_changed |= fact != own;
            if fact != Fact::ANY {
                joined.push((id, fact));
            }
        }
        joined.extend(bound.iter().filter(|(_, fact)| **fact != Fact::ANY).map(|(id, fact)| (*id, *fact)));
        joined.sort_by_key(|(id, _)| *id);
        case.facts = Map::of_sorted(joined);
        self.is_changed = is_changed;
    }

    fn value(
        &mut self,
        case: &mut Case,
        own: Value,
        others: Value,
        holder: Holder,
        scope: &mut Scope,
    ) -> Value {
        if own == others {
            return own;
        }
        // Two names of one number.
        if let Some(number) = case.fact_of(scope, &own).number()
            && self.other.fact_of(scope, &others).number() == Some(number)
        {
            self.is_changed |= own != Value::Int(number);
            return Value::Int(number);
        }
        if let (Value::Record(a), Value::Record(b)) = (&own, &others)
            && a.len() == b.len()
        {
            let members = a.iter().zip(b.iter()).map(|(a, b)| {
                if a == b { a.clone() } else { case.any_of(scope, vec![a.clone(), b.clone()]) }
            });
            let value = Value::Record(members.collect());
            self.is_changed |= value != own;
            return value;
        }
        let is_plain = |value: &Value| match value {
            Value::Int(_) | Value::Top => true,
            Value::Sum(Base::Symbol(id), _) => {
                self.growth == Growth::Widened
                    || !matches!(
                        scope.symbols.key(*id),
                        SymbolKey::Parameter(_) | SymbolKey::Content(..) | SymbolKey::Result(..)
                    )
            }
            _ => false,
        };
        let all_plain = own.parts().iter().chain(others.parts()).all(is_plain);
        if !all_plain {
            let is_known = |part: &Value| own.parts().contains(part);
            if self.growth == Growth::Free && others.parts().iter().all(is_known) {
                return own;
            }
            let mut parts: Vec<Value> = own.parts().iter().chain(others.parts()).cloned().collect();
            if self.growth == Growth::Widened {
                forget_steps(&mut parts);
            }
            // Beside what may be anything, only what leads to memory counts.
            if parts.contains(&Value::Top) {
                parts.retain(|part| *part == Value::Top || !is_plain(part));
            }
            let value = match holder {
                Holder::Cell(base, offset) => case.either(scope, (base, offset), parts),
                _ => case.any_of(scope, parts),
            };
            self.is_changed |= value != own;
            return value;
        }
        if own == Value::Top || others == Value::Top {
            self.is_changed |= own != Value::Top;
            return Value::Top;
        }
        let Some(id) = scope.symbols.get(SymbolKey::Joined(self.point, holder)) else { return Value::Top };
        let symbol = Value::symbol(id);
        let known = case.fact_of(scope, &own);
        let second = self.fact_in_other(holder, &others, scope);
        let fact = match self.growth {
            Growth::Widened => known.widen(known.or(second)),
            Growth::Free => known.or(second),
        };
        if own != symbol {
            case.forget(scope, Base::Symbol(id));
            self.is_changed = true;
        } else {
            self.is_changed |= fact != known;
        }
        self.bound.insert(id, fact);
        symbol
    }
}

/// A pointer that goes on through a block with each turn is somewhere in it.
fn forget_steps(parts: &mut [Value]) {
    let bases: Vec<Base> = parts.iter().flat_map(Value::bases).map(|(base, _)| base).collect();
    for part in parts {
        if let Value::Sum(base @ Base::Heap(_), offset) = part
            && bases.iter().filter(|other| **other == *base).count() > 1
        {
            *offset = Offset::Any;
        }
    }
}
