//! Abstract memory: loads, stores and copies in a case (SPARROW, table 4).
//!
//! A cell is a base and an offset. What nothing was stored to holds what it
//! held at the start, which has a name if the memory is the caller's.

use leakscope_ir::Binary;

use crate::arithmetic;
use crate::case::{Block, Case, Cell, Feasibility};
use crate::fact::Fact;
use crate::scope::Scope;
use crate::value::{Base, Offset, SymbolId, SymbolKey, Value};

/// Memory regions of this many bytes are copied word by word.
const MAX_COPIED: i64 = 256;
/// Bytes of each of two numbers in one word.
pub const HALF: i64 = 4;
/// The bits of the first.
pub const LOW_HALF: i64 = 0xffff_ffff;

impl Case {
    pub fn load(&mut self, scope: &mut Scope, from: &Value) -> Value {
        self.load_wide(scope, from, 0)
    }

    /// The same of so many bytes: what has fewer is none of the elements that an
    /// index may mean.
    pub fn load_wide(&mut self, scope: &mut Scope, from: &Value, bytes: u32) -> Value {
        self.dereference(scope, from);
        if let Some((base, offset)) = single(from) {
            return self.content(scope, base, offset, bytes);
        }
        let mut found = Vec::new();
        for (base, offset) in from.bases() {
            found.push(self.content(scope, base, offset, bytes));
        }
        if found.is_empty() { Value::Top } else { self.any_of(scope, found) }
    }

    /// What was loaded is known by another name from now on, also where it was.
    pub fn note_loaded(&mut self, from: &Value, loaded: &Value, known: &Value) {
        if loaded != known
            && let Some((base, offset @ Offset::At(_))) = single(from)
            && !matches!(base, Base::Heap(block) if block.is_older())
            && let Some(cell) = self.memory.get_mut(&(base, offset))
            && cell.value == *loaded
        {
            cell.value.clone_from(known);
        }
    }

    /// Two numbers in one word, as small structures are handed on; or one of the
    /// two that came so as an argument.
    pub fn load_packed(&mut self, scope: &mut Scope, from: &Value, bytes: u32) -> Option<Value> {
        let (base, offset @ Offset::At(start)) = single(from)? else { return None };
        let cell = |at: i64| self.memory.get(&(base, Offset::At(at)));
        if bytes == 8 {
            let half = |cell: Option<&Cell>| match cell {
                Some(cell) if i64::from(cell.bytes) <= HALF => Some(cell.value.clone()),
                Some(_) => None,
                None => Some(Value::Top),
            };
            cell(start + HALF)?;
            return Some(Value::Record([half(cell(start))?, half(cell(start + HALF))?].into()));
        }
        let is_word = |cell: &&Cell| cell.bytes == 8 && i64::from(bytes) <= HALF;
        let (op, number, word) = match cell(start).filter(is_word) {
            Some(word) => (Binary::And, LOW_HALF, word),
            None if self.memory.contains_key(&(base, offset)) => return None,
            None => (Binary::Shr, 8 * HALF, cell(start - HALF).filter(is_word)?),
        };
        let Value::Sum(Base::Symbol(id), Offset::At(0)) = word.value else { return None };
        let is_argument = matches!(scope.symbols.key(id), SymbolKey::Parameter(_));
        is_argument.then(|| arithmetic::binary(scope, op, &Value::symbol(id), &Value::Int(number)))
    }

    /// What lies behind the first of several numbers that are loaded as one
    /// cannot be followed.
    pub fn lose_inside(&mut self, scope: &Scope, from: &Value, bytes: u32) {
        for (base, offset) in from.bases() {
            let Offset::At(start) = offset else { continue };
            let end = start.saturating_add(bytes.into());
            let is_inside = |at: Offset| matches!(at, Offset::At(at) if at > start && at < end);
            let inside = self.cells(base).filter(|(at, _)| is_inside(*at));
            let inside: Vec<Value> = inside.map(|(_, cell)| cell.value.clone()).collect();
            inside.iter().for_each(|value| self.escape(scope, value));
        }
    }

    /// What is at an address, without the effects of looking; unknown where
    /// that is too many things.
    pub fn peek(&self, scope: &mut Scope, from: &Value) -> Value {
        if let Some((base, _)) = single(from)
            && let Some(element) = self.element(scope, base)
        {
            return element.clone();
        }
        if let Value::Sum(base, offset @ Offset::At(_)) = from
            && !self.memory.contains_key(&(*base, Offset::Any))
        {
            match self.memory.get(&(*base, *offset)) {
                None => return self.first_content(scope, *base, *offset),
                Some(Cell { value: value @ (Value::Int(_) | Value::Sum(..) | Value::OneOf(_)), .. }) => {
                    return value.clone();
                }
                Some(_) => {}
            }
        }
        let mut found = Vec::new();
        for (base, offset) in from.bases() {
            let before = found.len();
            match offset {
                Offset::At(_) => {
                    found.extend(self.memory.get(&(base, offset)).map(|cell| cell.value.clone()))
                }
                Offset::Any => found.extend(self.elements(base, 0).map(|cell| cell.value.clone())),
            }
            let is_exact = found.len() > before;
            if offset != Offset::Any && !self.is_apart(base, offset) {
                found.extend(self.memory.get(&(base, Offset::Any)).map(|cell| cell.value.clone()));
            }
            if !is_exact || offset == Offset::Any {
                match self.first_content(scope, base, offset) {
                    Value::Top if found.len() > before => {}
                    first => found.push(first),
                }
            }
        }
        if found.is_empty() { Value::Top } else { Value::one_of(found).unwrap_or(Value::Top) }
    }

    /// What was put into a container: it is found there.
    fn element(&self, scope: &Scope, base: Base) -> Option<&Value> {
        let Base::Symbol(id) = base else { return None };
        if scope.is_in_loop() || !matches!(scope.symbols.key(id), SymbolKey::Elements(..)) {
            return None;
        }
        self.memory.get(&(base, Offset::Any)).map(|cell| &cell.value).filter(|value| value.has_heap())
    }

    fn content(&mut self, scope: &mut Scope, base: Base, offset: Offset, bytes: u32) -> Value {
        if let Some(element) = self.element(scope, base) {
            return element.clone();
        }
        match offset {
            Offset::At(_) => {
                let exact = self.memory.get(&(base, offset)).map(|cell| cell.value.clone());
                let any = self.memory.get(&(base, Offset::Any)).map(|cell| cell.value.clone());
                let any = any.filter(|_| !self.is_apart(base, offset));
                match (exact, any) {
                    // What was stored there for certain goes before what may
                    // have been stored anywhere.
                    (Some(exact), Some(any)) if is_own(&exact) && !any.has_heap() => exact,
                    (Some(exact), Some(any)) => self.any_of(scope, vec![exact, any]),
                    (Some(one), None) => one,
                    (None, Some(any)) => match self.first_content(scope, base, offset) {
                        Value::Top => any,
                        first => self.any_of(scope, vec![any, first]),
                    },
                    (None, None) => self.first_content(scope, base, offset),
                }
            }
            Offset::Any => {
                let mut found: Vec<Value> =
                    self.elements(base, bytes).map(|cell| cell.value.clone()).collect();
                match self.first_content(scope, base, offset) {
                    Value::Top => {}
                    first => found.push(first),
                }
                if found.is_empty() { Value::Top } else { self.any_of(scope, found) }
            }
        }
    }

    /// Whether a cell is a number beside an array of pointers, and none of its
    /// elements.
    fn is_apart(&self, base: Base, offset: Offset) -> bool {
        let of_array = self.memory.get(&(base, Offset::Any)).filter(|cell| cell.value.has_heap());
        let own = self.memory.get(&(base, offset));
        of_array.zip(own).is_some_and(|(any, own)| own.bytes < any.bytes && !own.value.has_heap())
    }

    /// Cells of so many bytes that an index which is not known may mean.
    fn elements(&self, base: Base, bytes: u32) -> impl Iterator<Item = &Cell> {
        let is_meant = move |at: Offset, cell: &Cell| {
            (cell.bytes >= bytes || cell.value.has_heap()) && !self.is_apart(base, at)
        };
        self.cells(base).filter(move |(at, cell)| is_meant(*at, cell)).map(|(_, cell)| cell)
    }

    /// What memory holds that nothing was stored to.
    pub fn first_content(&self, scope: &mut Scope, base: Base, offset: Offset) -> Value {
        match base {
            _ if self.zeroed.contains(&base) => Value::NULL,
            Base::Symbol(id) if !self.is_known_from_start(scope, id) => {
                scope.symbols.value(SymbolKey::Content(base, offset))
            }
            Base::Global(global) => match scope.world.initial(global, offset) {
                Some(value) => value,
                None => scope.symbols.value(SymbolKey::Content(base, offset)),
            },
            _ => Value::Top,
        }
    }

    /// Elements of a container that was made here.
    fn is_known_from_start(&self, scope: &Scope, id: SymbolId) -> bool {
        matches!(scope.symbols.key(id), SymbolKey::Elements(..)) && !scope.symbols.is_input(id)
    }

    pub fn cells(&self, base: Base) -> impl Iterator<Item = (Offset, &Cell)> {
        self.memory
            .starting_at((base, Offset::At(i64::MIN)))
            .take_while(move |((other, _), _)| *other == base)
            .map(|((_, offset), cell)| (*offset, cell))
    }

    /// Stores, and returns what was there if that had pointers to blocks.
    pub fn store(&mut self, scope: &mut Scope, to: &Value, value: &Value, bytes: u32) -> Option<Value> {
        self.dereference(scope, to);
        self.put(scope, to, value, bytes)
    }

    /// The same where it is not certain that the address was used.
    pub fn put(&mut self, scope: &mut Scope, to: &Value, value: &Value, bytes: u32) -> Option<Value> {
        let targets: Vec<(Base, Offset)> = to.bases().collect();
        if targets.is_empty() {
            self.escape(scope, value);
            return None;
        }
        let is_certain = targets.len() == 1 && to.parts().len() == 1;
        let mut before = None;
        for (base, offset) in targets {
            self.note_store(scope, base, value, bytes);
            let is_one =
                matches!(offset, Offset::At(_)) && !matches!(base, Base::Heap(block) if block.is_older());
            if is_certain && is_one {
                before = self.overwrite(base, offset, bytes);
                if *value == Value::Top {
                    // It may be what was there: too deep to have a name.
                    before.take().iter().for_each(|value| self.escape(scope, value));
                }
                self.memory.insert((base, offset), Cell { value: value.clone(), bytes });
            } else {
                let old = match self.memory.get(&(base, offset)) {
                    Some(cell) => cell.value.clone(),
                    None if offset == Offset::Any => value.clone(),
                    None => self.first_content(scope, base, offset),
                };
                let either = self.either(scope, (base, offset), vec![old, value.clone()]);
                self.memory.insert((base, offset), Cell { value: either, bytes });
            }
        }
        before
    }

    /// One of `values` in a cell. In memory that was there before, what is not
    /// known for certain counts only if it can be a block of this procedure,
    /// an argument, or what the cell held at first.
    pub fn either(&mut self, scope: &mut Scope, cell: (Base, Offset), values: Vec<Value>) -> Value {
        let mut parts: Vec<Value> = values.iter().flat_map(|value| value.parts()).cloned().collect();
        let is_old = matches!(cell.0, Base::Symbol(_) | Base::Global(_));
        if is_old && (parts.len() > 3 || parts.contains(&Value::Top)) {
            let first = scope.symbols.find(&SymbolKey::Content(cell.0, cell.1));
            let counts = |part: &Value| match part {
                Value::Sum(Base::Symbol(id), _) => {
                    Some(*id) == first || matches!(scope.symbols.key(*id), SymbolKey::Parameter(_))
                }
                Value::Int(_) => false,
                _ => true,
            };
            let (mut told, others): (Vec<Value>, Vec<Value>) = parts.into_iter().partition(counts);
            // What an argument leads to is there all the same.
            let is_given = |part: &&Value| match part {
                Value::Sum(Base::Symbol(id), _) => match scope.symbols.key(*id) {
                    SymbolKey::Content(Base::Symbol(outer), _) => {
                        matches!(scope.symbols.key(*outer), SymbolKey::Parameter(_))
                    }
                    _ => false,
                },
                _ => false,
            };
            let given: Vec<Value> = others.iter().filter(is_given).cloned().collect();
            given.iter().for_each(|part| self.escape(scope, part));
            if !others.is_empty() {
                told.push(Value::Top);
            }
            parts = told;
        }
        self.any_of(scope, parts)
    }

    /// What a pointer in memory that others see means for its block.
    fn note_store(&mut self, scope: &mut Scope, base: Base, value: &Value, bytes: u32) {
        let escapes = match base {
            Base::Heap(block) => !self.blocks.contains_key(&block),
            Base::Symbol(id) => {
                let owner = scope.symbols.owner(base);
                match owner {
                    Base::Heap(block) => !self.blocks.contains_key(&block),
                    Base::Local(_) | Base::Global(_) => false,
                    _ => !scope.symbols.is_input(id) || self.escaped.contains(&id),
                }
            }
            Base::Function(_) => true,
            Base::Global(_) | Base::Local(_) => false,
        };
        if escapes {
            self.escape(scope, value);
        }
        if matches!(base, Base::Global(_)) {
            scope.pools.extend(value.bases().filter_map(|part| match part {
                (Base::Heap(block), Offset::Any) => Some(block.site()),
                _ => None,
            }));
        }
        if bytes == 8 && matches!(base, Base::Symbol(_) | Base::Global(_)) {
            for (base, _) in value.bases() {
                if let Base::Symbol(id) = base
                    && matches!(scope.symbols.key(id), SymbolKey::Parameter(_))
                {
                    self.stored.insert(id);
                }
            }
        }
    }

    /// Removes the cells that a store covers; the one that it replaces may stay.
    fn overwrite(&mut self, base: Base, offset: Offset, bytes: u32) -> Option<Value> {
        let Offset::At(start) = offset else { return None };
        let end = start.saturating_add(i64::from(bytes));
        let covered: Vec<Offset> = self
            .cells(base)
            .filter(|(at, cell)| match at {
                Offset::At(at) => *at < end && at.saturating_add(i64::from(cell.bytes)) > start,
                Offset::Any => false,
            })
            .map(|(at, _)| at)
            .collect();
        if let [at] = covered[..]
            && at == offset
        {
            return self
                .memory
                .get(&(base, at))
                .map(|cell| &cell.value)
                .filter(|value| value.has_heap())
                .cloned();
        }
        let mut before = None;
        for at in covered {
            let cell = self.memory.remove(&(base, at));
            before = before.or(cell.map(|cell| cell.value).filter(Value::has_heap));
        }
        before
    }

    /// Copies `bytes` bytes, all that is known where they are not.
    pub fn copy(&mut self, scope: &mut Scope, to: &Value, from: &Value, bytes: Option<i64>) {
        let (Some((target, Offset::At(start))), Some((source, Offset::At(first)))) =
            (single(to), single(from))
        else {
            let moved = self.load(scope, &from.plus(Offset::Any));
            if moved.has_heap() {
                // Numbers beside the pointers are of other members.
                let pointers = moved.parts().iter().filter(|part| matches!(part, Value::Sum(..)));
                let moved = Value::one_of(pointers.cloned()).unwrap_or(Value::Top);
                self.store(scope, &to.plus(Offset::Any), &moved, 8);
            } else {
                self.keep_copied(scope, to, &moved);
            }
            return;
        };
        if bytes.is_none() && matches!(source, Base::Symbol(_)) {
            let moved = self.first_content(scope, source, Offset::Any);
            self.escape(scope, &moved);
        }
        let bytes = bytes.unwrap_or(i64::MAX);
        let mut moved: Vec<(Offset, Cell)> = Vec::new();
        for (at, cell) in self.cells(source) {
            match at {
                Offset::At(at) if at >= first && at - first < bytes => {
                    moved.push((Offset::At(start + at - first), cell.clone()));
                }
                Offset::Any => moved.push((Offset::Any, cell.clone())),
                Offset::At(_) => {}
            }
        }
        if matches!(source, Base::Symbol(_) | Base::Global(_)) && bytes <= MAX_COPIED {
            for at in (0..bytes).step_by(8).filter(|at| at + 4 <= bytes) {
                let key = Offset::At(start + at);
                if !moved.iter().any(|(known, _)| *known == key) {
                    let value = self.first_content(scope, source, Offset::At(first + at));
                    moved.push((key, Cell { value, bytes: if at + 8 <= bytes { 8 } else { 4 } }));
                }
            }
        }
        if self.zeroed.contains(&source) && bytes > 8 && start == 0 {
            self.zeroed.insert(target);
        }
        for (at, cell) in moved {
            self.store(scope, &Value::Sum(target, at), &cell.value, cell.bytes);
        }
    }

    /// Pointers among what was copied to a place, or in a number, that is not
    /// known have another holder from then on.
    fn keep_copied(&mut self, scope: &mut Scope, to: &Value, moved: &Value) {
        let is_local = |base: Base| matches!(scope.symbols.owner(base), Base::Local(_));
        if !to.bases().all(|(base, _)| is_local(base)) {
            self.escape(scope, moved);
        }
    }

    /// Fills memory with one byte.
    pub fn fill(&mut self, to: &Value, byte: &Value, bytes: Option<i64>) {
        let Some((base, Offset::At(start))) = single(to) else { return };
        let end = start.saturating_add(bytes.unwrap_or(i64::MAX));
        // A member of unknown length may end before the pointers behind it.
        let is_covered = |at: i64, cell: &Cell| {
            at >= start
                && at < end
                && (start == 0 || bytes.is_some() || at == start || !cell.value.has_heap())
        };
        let covered: Vec<Offset> = self
            .cells(base)
            .filter(|(at, cell)| matches!(at, Offset::At(at) if is_covered(*at, cell)))
            .map(|(at, _)| at)
            .collect();
        for at in covered {
            self.memory.remove(&(base, at));
        }
        if *byte == Value::NULL && start == 0 {
            self.zeroed.insert(base);
        } else if *byte != Value::NULL {
            self.zeroed.remove(&base);
        }
    }

    /// What is used as an address is not null from then on.
    fn dereference(&mut self, scope: &mut Scope, address: &Value) {
        match address {
            // Null, or a member of it.
            Value::Int(0..4096) => self.feasibility = Feasibility::Dead,
            Value::Sum(Base::Heap(block), _) if self.is_nullable(*block) => {
                self.blocks.insert(*block, Block { is_nullable: false });
            }
            Value::Sum(Base::Symbol(id), offset)
                if *offset == Offset::At(0) || scope.pointers.contains(id) =>
            {
                let known = self.fact(scope, *id);
                match known.and(Fact::NONZERO) {
                    Some(fact) if fact == known => {}
                    Some(fact) => drop(self.facts.insert(*id, fact)),
                    None => self.feasibility = Feasibility::Dead,
                }
            }
            _ => {}
        }
    }
}

/// The address of a block or variable of this procedure.
fn is_own(value: &Value) -> bool {
    value.bases().any(|(base, _)| matches!(base, Base::Heap(_) | Base::Local(_)))
}

/// The one address that a value is.
fn single(value: &Value) -> Option<(Base, Offset)> {
    match value {
        Value::Sum(base, offset) => Some((*base, *offset)),
        _ => None,
    }
}
