//! One case of a procedure's state: abstract memory, the blocks that it must
//! see to, and what is known of values on the way here.
//!
//! A block that is not in [`Case::blocks`] was freed or has escaped: nobody
//! will be blamed for it. Losing sight of a pointer therefore always means to
//! let its block escape.

use std::collections::BTreeSet;
use std::sync::Arc;

use leakscope_core::Cause;
use leakscope_ir::{BlockId, FuncId, Spot, ValueId, VariableId};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::arithmetic;
use crate::fact::Fact;
use crate::leaks::LastPointer;
use crate::scope::Scope;
use crate::shared::{Map, Set};
use crate::value::{Base, HeapId, Offset, SymbolId, SymbolKey, Symbols, Value, mark};

#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Values that instructions to come will read, by id.
    pub env: Vec<(ValueId, Value)>,
    /// Of these, what was found to be null, or not, and no fact tells of: one of
    /// several things.
    pub tested: Vec<(ValueId, bool)>,
    /// Variables of the source that are pointers or hold heap blocks.
    pub variables: Map<VariableId, Value>,
    pub memory: Map<(Base, Offset), Cell>,
    /// Memory that is zero where no cell says otherwise.
    pub zeroed: Set<Base>,
    pub facts: Map<SymbolId, Fact>,
    pub blocks: Map<HeapId, Block>,
    /// What came in and was released, kept by somebody, or stored in memory
    /// that outlives the call.
    pub freed: Set<SymbolId>,
    pub escaped: Set<SymbolId>,
    pub stored: Set<SymbolId>,
    /// What came in and could not be made larger.
    pub refused: Set<SymbolId>,
    /// Elements of containers that came in, of which one went.
    pub removed: Set<SymbolId>,
    /// New blocks that a callee would have kept, and returned without.
    pub refused_by: Vec<(HeapId, FuncId)>,
    /// A standard descriptor was closed: the next that is opened takes its
    /// place, and stays.
    pub lacks_standard: bool,
    pub path: Option<Arc<Mark>>,
    /// The jump that led into blocks which only leave.
    pub left_at: Option<Spot>,
    pub feasibility: Feasibility,
    pub flight: Flight,
    /// Leaks that count only if the procedure is left in another way than by
    /// the end of the program.
    pub pending: Vec<Arc<Pending>>,
    /// Blocks on the way, where a case is followed alone, and what it was at
    /// the heads of loops.
    pub visited: Vec<BlockId>,
    pub heads: Vec<(BlockId, Arc<Case>)>,
    /// Heads of loops at which it was made to stand for all further turns.
    pub widened: Vec<BlockId>,
}

/// A block that was written over with the null pointer of a failed call, or lost
/// to an exception for which there may be a handler, or at the end of a scope
/// with which the program may end.
#[derive(Debug)]
pub struct Pending {
    pub block: HeapId,
    pub at: Spot,
    pub cause: Cause,
    pub last: LastPointer,
    pub path: Option<Arc<Mark>>,
    /// How many blocks were on the way until then, where a case is followed alone.
    pub visited: usize,
}

/// What an exception that left a call is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flight {
    /// There is none, or cleanups let it pass.
    #[default]
    None,
    /// A handler for it is looked for, where the author expects one.
    Sought,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feasibility {
    #[default]
    Possible,
    /// The program would have crashed before.
    Dead,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub value: Value,
    pub bytes: u32,
}

/// An allocated block that this procedure still has to see to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The allocation may have failed: then pointers to it are null.
    pub is_nullable: bool,
}

/// A branch that was taken on the way, newest first.
#[derive(Debug)]
pub struct Mark {
    pub at: Spot,
    pub ordinal: u32,
    pub is_taken: bool,
    pub length: u32,
    pub before: Option<Arc<Mark>>,
    /// The path inside of a callee that ended here.
    pub inner: Option<Arc<[crate::summary::Step]>>,
}

impl Case {
    pub fn get(&self, id: ValueId) -> Value {
        match self.env.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(index) => self.env[index].1.clone(),
            Err(_) => Value::Top,
        }
    }

    pub fn set(&mut self, id: ValueId, value: Value) {
        match self.env.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(index) => self.env[index].1 = value,
            Err(_) if value == Value::Top => {}
            Err(index) => self.env.insert(index, (id, value)),
        }
    }

    pub fn remove(&mut self, id: ValueId) -> Option<Value> {
        let index = self.env.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.env.remove(index).1)
    }

    /// One of `values`; where that cannot be kept apart, their blocks escape.
    pub fn any_of(&mut self, scope: &mut Scope, values: Vec<Value>) -> Value {
        match Value::one_of(values.iter().cloned()) {
            Some(value) => value,
            None => {
                values.iter().for_each(|value| self.escape(scope, value));
                Value::Top
            }
        }
    }

    pub fn fact(&self, scope: &Scope, id: SymbolId) -> Fact {
        match self.facts.get(&id) {
            Some(fact) => *fact,
            None => match scope.symbols.key(id) {
                SymbolKey::Compare(..) => Fact::TRUTH,
                SymbolKey::Binary(op, left, right) => {
                    arithmetic::range(*op, [left, right].map(|side| self.fact_of(scope, side)))
                }
                _ => Fact::ANY,
            },
        }
    }

    pub fn fact_of(&self, scope: &Scope, value: &Value) -> Fact {
        match value {
            Value::Int(number) => Fact::exactly(*number),
            // The address of a member is not null.
            Value::Sum(Base::Symbol(id), Offset::At(bytes)) if *bytes != 0 && scope.pointers.contains(id) => {
                Fact::ADDRESS
            }
            Value::Sum(Base::Symbol(id), Offset::At(bytes)) => self.fact(scope, *id).plus(*bytes),
            Value::Sum(Base::Heap(block), Offset::At(0)) if self.is_nullable(*block) => Fact::NOT_NEGATIVE,
            // Somewhere in what a pointer leads to.
            Value::Sum(Base::Symbol(id), Offset::Any) if self.fact(scope, *id).is_nonzero => Fact::NONZERO,
            Value::Sum(Base::Symbol(_), Offset::Any) | Value::Top | Value::Record(_) => Fact::ANY,
            Value::Sum(..) => Fact::ADDRESS,
            Value::OneOf(parts) => {
                let facts = parts.iter().map(|part| self.fact_of(scope, part));
                facts.reduce(Fact::or).unwrap_or(Fact::ANY)
            }
        }
    }

    /// Whether a caller can tell this case from another: by what came in.
    pub fn excludes(&self, other: &Case, scope: &Scope) -> bool {
        self.differs(other, |id| scope.symbols.is_input(id))
    }

    /// The same by the arguments themselves.
    pub fn excludes_by_arguments(&self, other: &Case, scope: &Scope) -> bool {
        self.differs(other, |id| scope.symbols.is_of_parameters(id))
    }

    /// The same by what variables of the program held.
    pub fn excludes_by_variables(&self, other: &Case, scope: &Scope) -> bool {
        let key = |id| scope.symbols.key(id);
        self.differs(other, |id| matches!(key(id), SymbolKey::Content(Base::Global(_), Offset::At(_))))
    }

    fn differs(&self, other: &Case, counts: impl Fn(SymbolId) -> bool) -> bool {
        !self.facts.is_same(&other.facts)
            && self.facts.iter().any(|(id, fact)| {
                counts(*id) && other.facts.get(id).is_some_and(|others| fact.and(*others).is_none())
            })
    }

    pub fn is_nullable(&self, block: HeapId) -> bool {
        self.blocks.get(&block).is_some_and(|block| block.is_nullable)
    }

    /// Drops what nobody can look at again: the content of blocks that are not
    /// followed any more and that nothing points to.
    pub fn prune_memory(&mut self) {
        let first = (Base::Heap(HeapId::recent(0)), Offset::At(i64::MIN));
        let is_followed = |base: &Base| matches!(base, Base::Heap(block) if self.blocks.contains_key(block));
        let old = |(base, _): &(Base, Offset)| matches!(base, Base::Heap(_)) && !is_followed(base);
        if !self.memory.starting_at(first).any(|(key, _)| old(key)) {
            return;
        }
        let cells = self.memory.iter().filter(|(key, _)| !old(key)).map(|(_, cell)| &cell.value);
        let held = self.env.iter().map(|(_, value)| value).chain(self.variables.values()).chain(cells);
        let mut open: Vec<HeapId> = held.flat_map(Value::heap_blocks).collect();
        let mut pointed_to = FxHashSet::default();
        while let Some(block) = open.pop() {
            if pointed_to.insert(block) {
                open.extend(self.cells(Base::Heap(block)).flat_map(|(_, cell)| cell.value.heap_blocks()));
            }
        }
        let is_kept = |base: &Base| match base {
            Base::Heap(block) => self.blocks.contains_key(block) || pointed_to.contains(block),
            _ => true,
        };
        let mut memory = std::mem::take(&mut self.memory);
        memory.retain(|(base, _), _| is_kept(base));
        self.memory = memory;
    }

    /// Leaves to others what is in their memory: blocks there are not followed
    /// any more, and of several values none is known.
    pub fn leave_to_others(&mut self, scope: &Scope) {
        let is_theirs = |base: Base| matches!(scope.symbols.owner(base), Base::Symbol(_) | Base::Global(_));
        let is_plain = |value: &Value| match value {
            Value::Top | Value::Int(_) => true,
            Value::Sum(base, _) => !matches!(base, Base::Heap(_)),
            Value::OneOf(_) | Value::Record(_) => false,
        };
        let is_meant = |(base, _): &(Base, Offset), cell: &Cell| !is_plain(&cell.value) && is_theirs(*base);
        let meant = self.memory.iter().filter(|(key, cell)| is_meant(key, cell));
        let values: Vec<Value> = meant.map(|(_, cell)| cell.value.clone()).collect();
        if !values.is_empty() {
            self.escape_all(scope, &values);
            self.memory.update(is_meant, |cell| cell.value = Value::Top);
        }
    }

    /// Drops facts about what nothing can ask for again.
    pub fn prune_facts(&mut self, scope: &Scope) {
        let symbols = &scope.symbols;
        if self.facts.keys().all(|id| symbols.is_input(*id)) {
            return;
        }
        let marks = self.marks(symbols);
        let is_kept = |id: SymbolId| symbols.is_input(id) || symbols.is_marked(marks, id);
        self.facts.retain(|&id, _| is_kept(id));
    }

    /// Marks of all that values and memory are made of.
    pub fn marks(&self, symbols: &Symbols) -> u64 {
        let values =
            self.env.iter().map(|(_, value)| value).chain(self.memory.values().map(|cell| &cell.value));
        values.flat_map(Value::bases).fold(0, |marks, (base, _)| marks | symbols.marks(base))
    }

    /// How large the case is, as a measure of the work with it.
    pub fn size(&self) -> usize {
        let sets = self.freed.len() + self.escaped.len() + self.stored.len() + self.blocks.len();
        self.env.len() + self.memory.len() + self.facts.len() + self.variables.len() + sets
    }

    /// Forgets what was known of a symbol, or a local, that becomes another.
    pub fn forget(&mut self, scope: &Scope, base: Base) {
        self.forget_all(scope, &[base]);
    }

    /// The same for several at once.
    pub fn forget_all(&mut self, scope: &Scope, gone: &[Base]) {
        let symbols = &scope.symbols;
        let marks = gone.iter().fold(0, |marks, &base| marks | mark(base));
        if marks == 0 {
            return;
        }
        let is_gone = |base: Base| {
            symbols.marks(base) & marks != 0 && gone.iter().any(|&other| symbols.base_mentions(base, other))
        };
        self.facts.retain(|&id, _| !is_gone(Base::Symbol(id)));
        let is_stale = |value: &Value| value.bases().any(|(base, _)| is_gone(base));
        let renew = |value: &mut Value| {
            if is_stale(value) {
                *value = value.map(|part| if is_stale(part) { Value::Top } else { part.clone() });
            }
        };
        self.env.iter_mut().for_each(|(_, value)| renew(value));
        self.memory.update(|_, cell| is_stale(&cell.value), |cell| renew(&mut cell.value));
        self.memory.retain(|key, cell| !is_gone(key.0) || cell.value.has_heap());
    }

    /// The same of what the call `result` brought when it ran before. Of numbers
    /// that were computed of it, what is known of them stays, also of its arguments.
    pub fn forget_results(&mut self, scope: &mut Scope, result: ValueId, arguments: &mut [Value]) {
        let gone: Vec<Base> = scope.symbols.results_of(result).into_iter().map(Base::Symbol).collect();
        let marks = gone.iter().fold(0, |marks, &base| marks | mark(base));
        let known = |value: &Value| match value {
            Value::Sum(base @ Base::Symbol(_), Offset::At(_))
                if scope.symbols.marks(*base) & marks != 0
                    && gone.iter().any(|&other| scope.symbols.base_mentions(*base, other)) =>
            {
                let fact = self.fact_of(scope, value);
                (![Fact::ANY, Fact::NONZERO, Fact::ADDRESS].contains(&fact)).then_some(fact)
            }
            _ => None,
        };
        let held = self.env.iter().filter_map(|(id, value)| Some((*id, known(value)?)));
        let held: Vec<(ValueId, Fact)> = held.collect();
        let given: Vec<Option<Fact>> = arguments.iter().map(known).collect();
        self.forget_all(scope, &gone);
        for (id, fact) in held {
            if let Some(value) = self.renamed(scope, SymbolKey::Result(id, u32::MAX), fact) {
                self.set(id, value);
            }
        }
        for ((number, argument), fact) in (1..).zip(arguments).zip(given) {
            if let Some(fact) = fact
                && let Some(value) = self.renamed(scope, SymbolKey::Result(result, u32::MAX - number), fact)
            {
                *argument = value;
            }
        }
    }

    /// A symbol of which only this is known.
    fn renamed(&mut self, scope: &mut Scope, key: SymbolKey, fact: Fact) -> Option<Value> {
        let own = scope.symbols.get(key)?;
        self.forget(scope, Base::Symbol(own));
        self.facts.insert(own, fact);
        Some(Value::symbol(own))
    }

    /// The block of a site from now on; what was its most recent one before
    /// is an older one.
    pub fn allocate(&mut self, scope: &mut Scope, site: usize, block: Block) -> HeapId {
        let recent = HeapId::recent(site);
        if self.mentions_block(recent) {
            self.rename_block(scope, recent);
        }
        self.zeroed.remove(&Base::Heap(recent));
        self.blocks.insert(recent, block);
        recent
    }

    /// What a block was here that is an older one of its site by now, for another
    /// was made since.
    pub fn called(&self, block: HeapId) -> HeapId {
        if self.blocks.contains_key(&block) { block } else { HeapId::recent(block.site()) }
    }

    fn mentions_block(&self, block: HeapId) -> bool {
        let base = Base::Heap(block);
        self.blocks.contains_key(&block)
            || self.cells(base).next().is_some()
            || self.values().any(|value| value.heap_blocks().any(|held| held == block))
    }

    fn rename_block(&mut self, scope: &mut Scope, recent: HeapId) {
        let (from, to) = (Base::Heap(recent), Base::Heap(recent.older()));
        let stale = &scope.symbols;
        self.facts.retain(|&id, _| !stale.mentions(id, from));
        self.rewrite(
            |value| value.bases().any(|(base, _)| stale.base_mentions(base, from)),
            |part| match part {
                Value::Sum(base, offset) if *base == from => Value::Sum(to, *offset),
                Value::Sum(base, _) if stale.base_mentions(*base, from) => Value::Top,
                other => other.clone(),
            },
        );
        let moved: Vec<(Offset, Cell)> = self.cells(from).map(|(at, cell)| (at, cell.clone())).collect();
        for (at, cell) in moved {
            self.memory.remove(&(from, at));
            let value = match self.memory.get(&(to, at)) {
                Some(old) => {
                    let old = old.value.clone();
                    self.any_of(scope, vec![old, cell.value])
                }
                None => cell.value,
            };
            self.memory.insert((to, at), Cell { value, bytes: cell.bytes });
        }
        if self.blocks.remove(&recent).is_some() {
            self.blocks.insert(recent.older(), Block { is_nullable: false });
        }
    }

    /// What comes next decides whether this is a leak.
    pub fn put_off(&mut self, block: HeapId, at: Spot, cause: Cause, last: LastPointer) {
        let (path, visited) = (self.path.clone(), self.visited.len());
        self.pending.push(Arc::new(Pending { block, at, cause, last, path, visited }));
    }

    /// Changes every part of the values that are to be changed.
    pub fn rewrite(&mut self, is_meant: impl Fn(&Value) -> bool, change: impl Fn(&Value) -> Value) {
        let renew = |value: &mut Value| *value = value.map(&change);
        let in_env = self.env.iter_mut().map(|(_, value)| value);
        in_env.filter(|value| is_meant(value)).for_each(renew);
        self.variables.update(|_, value| is_meant(value), renew);
        self.memory.update(|_, cell| is_meant(&cell.value), |cell| renew(&mut cell.value));
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let in_env = self.env.iter().map(|(_, value)| value);
        in_env.chain(self.variables.values()).chain(self.memory.values().map(|cell| &cell.value))
    }

    /// Releases what `value` points to; all of it where that may be several
    /// things. Returns whether blocks may have been reachable only from there.
    pub fn free(&mut self, scope: &mut Scope, value: &Value) -> bool {
        let mut held_blocks = false;
        let is_one_of_many = value.parts().iter().filter(|part| **part != Value::NULL).count() > 1;
        if is_one_of_many {
            // Which of them it is is not known, nor is whose content goes.
            let inside = |base: Base| self.cells(base).map(|(_, cell)| cell.value.clone());
            let held: Vec<Value> = value.bases().flat_map(|(base, _)| inside(base)).collect();
            held.iter().for_each(|value| self.escape(scope, value));
        }
        for (base, offset) in value.bases() {
            match base {
                Base::Heap(block) => {
                    if self.blocks.remove(&block).is_some() {
                        scope.note_free(block);
                    }
                }
                Base::Symbol(id) if scope.symbols.is_input(id) => {
                    self.freed.insert(id);
                    if offset != Offset::At(0) {
                        scope.freed_around.insert(id);
                    }
                    // It may be another: what it holds stays where it is.
                    if is_one_of_many && matches!(scope.symbols.key(id), SymbolKey::Parameter(_)) {
                        self.escaped.insert(id);
                    }
                    scope.ever_freed.insert(id);
                    if scope.is_in_loop() {
                        scope.inputs_freed_in_loops.insert(id);
                    }
                }
                Base::Symbol(_) => {}
                _ => continue,
            }
            held_blocks |= match base {
                Base::Symbol(id) if matches!(scope.symbols.key(id), SymbolKey::Elements(..)) => {
                    self.drop_elements(scope, base)
                }
                _ => self.drop_memory(scope, base),
            };
        }
        held_blocks
    }

    /// Forgets the elements of a container, and those of containers among them;
    /// whether they were pointers to blocks.
    pub fn drop_elements(&mut self, scope: &Scope, elements: Base) -> bool {
        let goes = |base: Base| scope.symbols.base_mentions(base, elements);
        let held = self.memory.iter().any(|((base, _), cell)| cell.value.has_heap() && goes(*base));
        self.memory.retain(|(base, _), _| !goes(*base));
        held
    }

    /// The one element that a container is known to hold goes; whether it was a
    /// pointer to a block. Which of several goes is not known, and one of a
    /// loop's own may be one of many.
    pub fn remove_element(&mut self, scope: &Scope, elements: Base) -> bool {
        let mut cells = self.cells(elements);
        match (cells.next(), cells.next(), elements) {
            (Some((at, cell)), None, _) => {
                let Value::Sum(Base::Heap(block), _) = cell.value else { return false };
                if block.is_older() || scope.is_made_in_loop(block) {
                    return false;
                }
                drop(cells);
                self.memory.remove(&(elements, at));
                true
            }
            (None, _, Base::Symbol(id)) if scope.symbols.is_input(id) && !scope.is_in_loop() => {
                drop(cells);
                self.removed.insert(id);
                false
            }
            _ => false,
        }
    }

    /// Forgets all memory of an object; whether it held pointers to blocks.
    pub fn drop_memory(&mut self, scope: &Scope, owner: Base) -> bool {
        let is_part = |base: Base| scope.symbols.owner(base) == owner;
        if !scope.symbols.has_elements() && self.cells(owner).next().is_none() {
            self.zeroed.remove(&owner);
            return false;
        }
        let held = self.memory.iter().any(|((base, _), cell)| cell.value.has_heap() && is_part(*base));
        self.memory.retain(|(base, _), _| !is_part(*base));
        self.zeroed.remove(&owner);
        held
    }

    /// Nobody here is responsible any more for what `value` leads to.
    pub fn escape(&mut self, scope: &Scope, value: &Value) {
        self.escape_all(scope, std::slice::from_ref(value));
    }

    /// The same of several values.
    pub fn escape_all(&mut self, scope: &Scope, values: &[Value]) {
        fn bases_of(value: &Value) -> impl Iterator<Item = Base> {
            let leads_on = |base: &Base| !matches!(base, Base::Global(_) | Base::Function(_));
            value.bases().map(|(base, _)| base).filter(leads_on)
        }
        let mut bases: Vec<Base> = values.iter().flat_map(bases_of).collect();
        if bases.is_empty() {
            return;
        }
        let (mut seen, mut escaped) = (FxHashSet::default(), Vec::new());
        while let Some(base) = bases.pop() {
            if !seen.insert(base) {
                continue;
            }
            match base {
                Base::Heap(block) => drop(self.blocks.remove(&block)),
                Base::Symbol(id) if scope.symbols.is_near_input(id) && !scope.is_constant(base) => {
                    escaped.push(id);
                }
                _ => {}
            }
            bases.extend(self.cells(base).flat_map(|(_, cell)| bases_of(&cell.value)));
            if scope.symbols.has_elements() {
                let parts = self.memory.iter().filter(|((part, _), _)| scope.symbols.owner(*part) == base);
                bases.extend(parts.flat_map(|(_, cell)| bases_of(&cell.value)));
            }
        }
        if !escaped.is_empty() {
            self.escaped.unite(&escaped.into_iter().collect());
        }
    }

    /// Unknown code may have written to the memory that `value` points to.
    pub fn clobber(&mut self, value: &Value) {
        for (base, _) in value.bases() {
            self.zeroed.remove(&base);
            let cells: Vec<Offset> = self.cells(base).map(|(at, _)| at).collect();
            for at in cells {
                if let Some(cell) = self.memory.get_mut(&(base, at)) {
                    cell.value = Value::Top;
                }
            }
        }
    }

    /// Forgets numbers in what a value points to.
    pub fn clobber_numbers(&mut self, value: &Value) {
        for (base, _) in value.bases() {
            self.zeroed.remove(&base);
            let is_number = |held: &Value| matches!(held, Value::Int(_));
            let cells = self.cells(base).filter(|(_, cell)| is_number(&cell.value));
            for at in cells.map(|(at, _)| at).collect::<Vec<Offset>>() {
                if let Some(cell) = self.memory.get_mut(&(base, at)) {
                    cell.value = Value::Top;
                }
            }
        }
    }

    /// Blocks that the procedure or its callers can still get at.
    pub fn reachable(&self, scope: &Scope, extra: Option<&Value>) -> BTreeSet<HeapId> {
        self.closure(scope, self.variables.values().chain(extra))
    }

    /// Followed blocks that instructions to come, or callers, can get at:
    /// variables that nothing reads again are no way to them.
    pub fn usable(&self, scope: &Scope) -> BTreeSet<HeapId> {
        let mut found = self.closure(scope, std::iter::empty());
        found.retain(|block| self.blocks.contains_key(block));
        found
    }

    /// Blocks that memory leads to which was there before, or is in globals.
    pub fn held_by_others(&self, scope: &Scope) -> BTreeSet<HeapId> {
        let mut others = Case { memory: self.memory.clone(), blocks: self.blocks.clone(), ..Case::default() };
        others.memory.retain(|(base, _), _| !matches!(scope.symbols.owner(*base), Base::Local(_)));
        others.closure(scope, std::iter::empty())
    }

    /// All blocks that values, memory and `more` lead to.
    fn closure<'v>(&self, scope: &Scope, more: impl Iterator<Item = &'v Value>) -> BTreeSet<HeapId> {
        let mut found: BTreeSet<HeapId> = BTreeSet::new();
        let mut open: Vec<HeapId> = Vec::new();
        let mut inside: Vec<(HeapId, &Value)> = Vec::new();
        let mut add = |value: &Value, open: &mut Vec<HeapId>| {
            for block in value.heap_blocks() {
                if found.insert(block) {
                    open.push(block);
                }
            }
        };
        self.env.iter().for_each(|(_, value)| add(value, &mut open));
        more.for_each(|value| add(value, &mut open));
        for ((base, _), cell) in self.memory.iter().filter(|(_, cell)| cell.value.has_heap()) {
            match scope.symbols.owner(*base) {
                Base::Heap(block) if self.blocks.contains_key(&block) => inside.push((block, &cell.value)),
                Base::Global(global) if scope.world.is_never_read(global) => {}
                _ => add(&cell.value, &mut open),
            }
        }
        while let Some(block) = open.pop() {
            for (_, value) in inside.iter().filter(|(holder, _)| *holder == block) {
                add(value, &mut open);
            }
        }
        found
    }

    /// To release null is to release nothing: what is known to be null counts
    /// as released where it is in another case.
    pub fn release_nulls(&mut self, scope: &Scope) {
        let is_released = |(id, fact): &(&SymbolId, &Fact)| fact.is_zero() && scope.ever_freed.contains(id);
        self.freed.extend(self.facts.iter().filter(is_released).map(|(id, _)| *id));
    }

    /// Drops what no pointer leads to any more, for a reason that is no leak.
    pub fn drop_unreachable(&mut self, scope: &Scope) {
        if !self.blocks.is_empty() {
            let reachable = self.reachable(scope, None);
            self.blocks.retain(|block, _| reachable.contains(block));
        }
    }
}
