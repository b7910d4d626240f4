//! Summaries at their call sites (SPARROW, section 4.3): which of the callee's
//! cases can be, and what they do.

mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use leakscope_ir::{FuncId, Spot, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::case::{Case, Feasibility, Mark};
use crate::deeds::{Deed, What};
use crate::fact::Fact;
use crate::refine::{alternatives_in, assume_in};
use crate::scope::Scope;
use crate::summary::{Exit, ExitCase, Summary, Write};
use crate::value::{Base, HeapId, Offset, SymbolId, SymbolKey, Value};

/// A call, with its arguments in the case at hand.
pub struct Site<'a> {
    pub result: ValueId,
    pub caller: FuncId,
    pub at: Spot,
    pub arguments: &'a [Value],
    pub result_kind: ResultKind,
}

/// What a caller can learn from a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// A number is a status, which a caller should look at.
    Status,
    /// Of a container it may be the element that was there before.
    Pointer,
    UnusedPointer,
}

/// What one case of the callee makes of a case of the caller.
pub struct Outcome {
    pub case: Case,
    pub exit: Exit,
    /// Blocks were held only by what was freed.
    pub freed_holders: bool,
    /// A cell of memory that held blocks was written over.
    pub overwrote: bool,
    pub done: Vec<Done>,
}

/// Memory of the caller that the callee changed or released.
pub struct Done {
    pub base: Base,
    /// Where it was written to.
    pub written: Option<Offset>,
    /// Where the callee does it, if that is one place.
    pub deed: Option<Arc<Deed>>,
}

/// Whether a pointer is another place in the block that one led to.
fn is_moved(from: &Value, to: &Value) -> bool {
    match (from, to) {
        (Value::Sum(from @ Base::Heap(_), _), Value::Sum(to, _)) => from == to,
        _ => false,
    }
}

/// `case` after the call, for each case of the callee that can be.
pub fn instantiate(case: &Case, scope: &mut Scope, site: &Site, summary: &Summary) -> Vec<Outcome> {
    let mut possible = Vec::new();
    let nothing = || vec![None; summary.symbols.len()];
    let mut found = nothing();
    for number in 0..summary.cases.len() {
        let mut call = Instance::new(case, site, summary, number, found);
        let outcome = call.outcome(scope);
        // What memory holds is the same for the next one, if it was not narrowed.
        found = match call.before.memory.is_same(&case.memory) && call.arguments == site.arguments {
            true => std::mem::take(&mut call.symbols),
            false => nothing(),
        };
        for (id, known) in summary.symbols.all().zip(&mut found) {
            known.take_if(|_| !summary.symbols.is_of_memory(id));
        }
        if let Some(outcome) = outcome {
            possible.push((call, outcome));
        }
    }
    // What is in the middle of a block is not released, where that is a choice.
    if possible.iter().any(|(call, _)| !call.frees_member) {
        possible.retain(|(call, _)| !call.frees_member);
    }
    let exits: Vec<&ExitCase> = possible.iter().map(|(call, _)| call.exit).collect();
    for (call, outcome) in &mut possible {
        call.excuse_arguments(scope, &mut outcome.case, &exits);
    }
    possible.into_iter().map(|(_, outcome)| outcome).collect()
}

struct Instance<'a> {
    site: &'a Site<'a>,
    summary: &'a Summary,
    exit: &'a ExitCase,
    number: u32,
    /// The caller's case.
    start: &'a Case,
    /// The same, narrowed to what the guard allows.
    before: Case,
    /// Those of the site, narrowed too.
    arguments: Vec<Value>,
    /// What the callee's symbols are here, as far as somebody asked; empty once
    /// the next case has it.
    symbols: Vec<Option<Value>>,
    blocks: FxHashMap<HeapId, HeapId>,
    /// Symbols of the caller that stand for blocks.
    addresses: Vec<SymbolId>,
    /// Those that stand for numbers that are computed of too much, and what is
    /// known of them.
    ranges: Vec<(SymbolId, Fact)>,
    /// What was the most recent block of a site before is an older one.
    renamed: Vec<HeapId>,
    /// It would release what is in the middle of a block.
    frees_member: bool,
}

impl<'a> Instance<'a> {
    fn new(
        case: &'a Case,
        site: &'a Site<'a>,
        summary: &'a Summary,
        number: usize,
        symbols: Vec<Option<Value>>,
    ) -> Instance<'a> {
        Instance {
            site,
            summary,
            exit: &summary.cases[number],
            number: number as u32,
            start: case,
            before: case.clone(),
            arguments: site.arguments.to_vec(),
            symbols,
            blocks: FxHashMap::default(),
            addresses: Vec::new(),
            ranges: Vec::new(),
            renamed: Vec::new(),
            frees_member: false,
        }
    }

    /// Whether the guard can hold; what is known then.
    fn is_possible(&mut self, scope: &mut Scope) -> bool {
        for &(id, fact) in &self.exit.facts {
            if self.summary.symbols.is_input(id) {
                let value = self.symbol(scope, id);
                if !assume_in(&mut self.before, scope, &value, fact) {
                    return false;
                }
                // Alternatives that the guard excludes are gone everywhere.
                if matches!(value, Value::OneOf(_)) {
                    self.symbols.fill(None);
                    let narrowed = alternatives_in(&self.before, scope, &value, fact);
                    let same = self.arguments.iter_mut().filter(|argument| **argument == value);
                    same.for_each(|argument| argument.clone_from(&narrowed));
                }
            }
        }
        true
    }

    fn outcome(&mut self, scope: &mut Scope) -> Option<Outcome> {
        if !self.is_possible(scope) {
            return None;
        }
        let mut after = self.before.clone();
        for &(block, _) in &self.exit.blocks {
            self.allocate(scope, &mut after, block);
        }
        if self.summary.closes && matches!(self.arguments.first(), Some(Value::Int(0..=2))) {
            after.lacks_standard = true;
        }
        // Everything is looked up in the state before the call.
        let mut result = self.value(scope, &mut after, &self.exit.result);
        if let (Value::Top, Value::Sum(Base::Symbol(id), Offset::At(0))) = (&result, &self.exit.result) {
            result = self.unnamed_result(scope, &mut after, *id);
        }
        // A member of what came in, or a place in a text, is not null.
        let is_place = |(base, at)| matches!((base, at), (Base::Symbol(_), Offset::At(1..)));
        if self.site.result_kind != ResultKind::Status && result.bases().any(is_place) {
            scope.note_pointers(&result);
        }
        let mut writes = Vec::new();
        for write in &self.exit.writes {
            let base = self.base(scope, write.base).plus(write.offset);
            let value = self.value(scope, &mut after, &write.value);
            // Where there is nothing to write to, the callee did not, or did
            // not come back: what it would have stored is not lost.
            if self.before.fact_of(scope, &base).is_zero() || matches!(base, Value::Int(_)) {
                after.escape(scope, &value);
                continue;
            }
            writes.push((base, value, write));
        }
        let exit = self.exit;
        let freed = self.values(scope, &exit.freed);
        let mut escaped = self.values(scope, &exit.escaped);
        escaped.extend(self.too_many_to_tell(scope, &exit.escaped));
        for value in self.values(scope, &exit.refused) {
            after.refused.extend(inputs(scope, &value));
        }

        let mut done = Vec::new();
        let mut freed_holders = false;
        for (value, &id) in freed.iter().zip(&exit.freed) {
            let is_deep = !self.summary.symbols.has_near_members(id);
            if exit.escaped.contains(&id) {
                after.escape(scope, value);
            } else if self.summary.is_recursive || is_deep || self.is_replaced(id) {
                let held: Vec<Value> =
                    value.bases().flat_map(|place| self.dealt_with(&after, id, place)).collect();
                held.iter().for_each(|value| after.escape(scope, value));
            }
            let is_member =
                matches!(value, Value::Sum(Base::Heap(_) | Base::Symbol(_), Offset::At(at)) if *at != 0);
            self.frees_member |= is_member && !self.summary.freed_around.contains(&id);
            done.extend(value.bases().map(|(base, _)| Done {
                base,
                written: None,
                deed: self.summary.deed(What::Freed(id)).cloned(),
            }));
            scope.freed_at.extend(value.heap_blocks().map(|block| (block.site(), self.site.at)));
            freed_holders |= after.free(scope, value);
            if self.summary.freed_in_loops.contains(&id) {
                let ids = inputs(scope, value);
                scope.inputs_freed_in_loops.extend(ids);
                // Which of many is the last of a list is not known: the loop
                // goes on to all that they lead to.
                for many in value.heap_blocks().filter(|block| block.is_older()) {
                    let held =
                        self.start.cells(Base::Heap(many)).flat_map(|(_, cell)| cell.value.heap_blocks());
                    let next: Vec<HeapId> = held.filter(|held| held.site() == many.site()).collect();
                    after.blocks.retain(|block, _| !next.contains(block));
                }
            }
        }
        for base in &self.exit.zeroed {
            if let Value::Sum(base, _) = self.base(scope, *base) {
                after.zeroed.insert(base);
            }
        }
        let mut overwrote = false;
        for (to, value, write) in &writes {
            done.extend(to.bases().map(|(base, offset)| Done {
                base,
                written: Some(offset),
                deed: self.summary.deed(What::Written(write.base, write.offset)).cloned(),
            }));
            let before = match self.may_be_kept(write) {
                true => after.put(scope, to, value, write.bytes),
                false => after.store(scope, to, value, write.bytes),
            };
            match before {
                // It is what the call returns.
                Some(before)
                    if before.heap_blocks().all(|held| result.heap_blocks().any(|got| got == held)) => {}
                // A pointer went along its block.
                Some(before) if is_moved(&before, value) => {}
                // Too deep to be told from what is stored, or in memory of
                // others, whose state between calls is theirs to know.
                Some(before)
                    if self.summary.is_recursive
                        || is_of_others(scope, to) && !self.is_blind(scope, to, write)
                        || self.may_stay(scope, write) && !self.is_refused(write) =>
                {
                    after.escape(scope, &before);
                }
                before => overwrote |= before.is_some(),
            }
        }
        for (elements, &id) in self.values(scope, &exit.removed).iter().zip(&exit.removed) {
            for (base, _) in elements.bases().filter(|(base, _)| self.may_hold(scope, *base, id)) {
                overwrote |= after.remove_element(scope, base);
            }
        }
        escaped.iter().for_each(|value| scope.note_taken(value));
        after.escape_all(scope, &escaped);
        self.excuse(scope, &mut after);
        self.note_facts(scope, &mut after);
        if self.exit.has_result && !self.note_result(scope, &mut after, &mut result) {
            return None;
        }
        if result != Value::Top {
            after.set(self.site.result, result);
        }
        if !self.exit.path.is_empty() {
            let before = after.path.take();
            after.path = Some(Arc::new(Mark {
                at: self.site.at,
                ordinal: 0,
                is_taken: true,
                length: before.as_ref().map_or(0, |mark| mark.length) + self.exit.path.len() as u32,
                before,
                inner: Some(self.exit.path.clone()),
            }));
        }
        (after.feasibility == Feasibility::Possible).then_some(Outcome {
            case: after,
            exit: self.exit.exit,
            freed_holders,
            overwrote,
            done,
        })
    }

    /// What the callee may have seen to of what is in memory that it releases. A
    /// recursion does with members what it does with those of what it is given.
    fn dealt_with(&self, after: &Case, id: SymbolId, (base, start): (Base, Offset)) -> Vec<Value> {
        let symbols = &self.summary.symbols;
        // Of what is deeper, not all that was done is told.
        let is_told = matches!(symbols.key(id), SymbolKey::Parameter(_)) && !self.is_replaced(id);
        let is_dealt_with = |at: Offset| {
            let (Offset::At(at), Offset::At(start)) = (at, start) else { return true };
            let member = |offset| symbols.find(&SymbolKey::Content(Base::Symbol(id), offset));
            member(Offset::Any).is_some()
                || member(Offset::At(at - start)).is_some_and(|member| self.has_effect_on(member))
        };
        let cells = after.cells(base).filter(|(at, _)| !is_told || is_dealt_with(*at));
        cells.map(|(_, cell)| cell.value.clone()).collect()
    }

    /// Whether the callee releases, hands on or changes something, or what it
    /// leads to, in any of its cases.
    fn has_effect_on(&self, id: SymbolId) -> bool {
        let (symbols, own) = (&self.summary.symbols, Base::Symbol(id));
        self.summary.cases.iter().any(|case| {
            let written = case
                .writes
                .iter()
                .flat_map(|write| write.value.bases().map(|(base, _)| base).chain([write.base]));
            let seen_to = case.freed.iter().chain(&case.escaped).map(|&id| Base::Symbol(id));
            seen_to.chain(written).any(|base| symbols.base_mentions(base, own))
        })
    }

    /// Whether the callee puts something else where it found what it releases:
    /// a table that grew has the elements of the old one. What the old one led
    /// to, as the next in a list, is no such thing.
    fn is_replaced(&self, id: SymbolId) -> bool {
        let symbols = &self.summary.symbols;
        let SymbolKey::Content(base, offset) = symbols.key(id) else { return false };
        let is_same = |write: &&Write| (write.base, write.offset) == (*base, *offset);
        let is_part = |part: &Value| match part {
            Value::Sum(Base::Symbol(part), _) => {
                matches!(symbols.key(*part), SymbolKey::Content(Base::Symbol(old), _) if *old == id)
            }
            part => *part == Value::NULL,
        };
        self.exit.writes.iter().find(is_same).is_some_and(|write| !write.value.parts().iter().all(is_part))
    }

    /// Whether what the callee knows of an element of a container can be true of
    /// what the caller has in it.
    fn may_hold(&self, scope: &Scope, elements: Base, id: SymbolId) -> bool {
        let is_element = |known: SymbolId| matches!(self.summary.symbols.key(known), SymbolKey::Content(Base::Symbol(of), _) if *of == id);
        let facts = self.exit.facts.iter().filter(|(known, _)| is_element(*known));
        facts.into_iter().all(|(_, fact)| {
            let mut cells = self.before.cells(elements);
            cells.all(|(_, cell)| self.before.fact_of(scope, &cell.value).and(*fact).is_some())
        })
    }

    /// Whether a cell may hold after the write what it held before.
    fn may_be_kept(&self, write: &Write) -> bool {
        let old = self.summary.symbols.find(&SymbolKey::Content(write.base, write.offset));
        old.is_some_and(|old| write.value.bases().any(|(base, _)| base == Base::Symbol(old)))
    }

    /// Whether the callee never looks at what it writes over in what the caller
    /// itself was given.
    fn is_blind(&self, scope: &Scope, to: &Value, write: &Write) -> bool {
        let Value::Sum(Base::Symbol(given), Offset::At(_)) = to else { return false };
        matches!(scope.symbols.key(*given), SymbolKey::Parameter(_))
            && self.summary.symbols.find(&SymbolKey::Content(write.base, write.offset)).is_none()
    }

    /// Whether a cell held what could not be made larger, and holds it no more.
    fn is_refused(&self, write: &Write) -> bool {
        let old = self.summary.symbols.find(&SymbolKey::Content(write.base, write.offset));
        old.is_some_and(|old| self.exit.refused.contains(&old))
    }

    /// Whether what a cell held stays there in another case that the caller
    /// cannot tell from this one.
    fn may_stay(&mut self, scope: &mut Scope, write: &Write) -> bool {
        let (summary, exit) = (self.summary, self.exit);
        let old = summary.symbols.find(&SymbolKey::Content(write.base, write.offset));
        // It may have been nothing there, which the caller may know better.
        let known = old.map_or(Fact::ANY, |old| {
            let value = self.symbol(scope, old);
            self.before.fact_of(scope, &value)
        });
        let held_other = |case: &ExitCase| {
            old.is_some_and(|old| {
                [exit.fact(old), known].iter().any(|fact| case.fact(old).and(*fact).is_none())
            })
        };
        let stays = |case: &ExitCase| {
            if held_other(case) {
                return false;
            }
            let same =
                case.writes.iter().find(|other| (other.base, other.offset) == (write.base, write.offset));
            same.is_none_or(|other| self.may_be_kept(other))
        };
        let siblings = summary.cases.iter().enumerate().filter(|(_, case)| case.exit == exit.exit);
        siblings.into_iter().any(|(number, case)| {
            let is_alike = stays(case) && !is_told_apart(summary, case, exit, self.site);
            is_alike && Instance::new(self.start, self.site, summary, number, Vec::new()).is_possible(scope)
        })
    }

    /// Blocks among what is somewhere in memory, where that is too many things
    /// to be one value.
    fn too_many_to_tell(&mut self, scope: &mut Scope, ids: &[SymbolId]) -> Vec<Value> {
        let mut found = Vec::new();
        for &id in ids {
            if let SymbolKey::Content(base, Offset::Any) = *self.summary.symbols.key(id)
                && self.symbol(scope, id) == Value::Top
            {
                let bases: Vec<Base> = self.base_before(scope, base).bases().map(|(base, _)| base).collect();
                let cells = bases.into_iter().flat_map(|base| self.before.cells(base));
                let held = cells.map(|(_, cell)| &cell.value).filter(|value| value.has_heap());
                found.extend(held.map(|value| self.carry(value.clone())));
            }
        }
        found
    }

    /// A part that the callee releases in other cases is not blamed on this
    /// one: what tells the cases apart may be too deep to be known.
    fn excuse(&mut self, scope: &mut Scope, after: &mut Case) {
        let (summary, exit) = (self.summary, self.exit);
        let in_other_cases = summary.cases.iter().flat_map(|case| &case.freed);
        let in_other_cases = in_other_cases.filter(|_| !exit.freed.is_empty());
        // What becomes of elements may be for their class to say.
        let is_element = |id: &&SymbolId| match summary.symbols.key(**id) {
            SymbolKey::Content(Base::Symbol(outer), _) => {
                matches!(summary.symbols.key(*outer), SymbolKey::Elements(..))
            }
            _ => false,
        };
        let elements = summary.cases.iter().flat_map(|case| &case.escaped).filter(is_element);
        let mut seen_to: FxHashSet<SymbolId> = exit.freed.iter().chain(&exit.refused).copied().collect();
        for &id in in_other_cases.chain(&summary.freed_in_loops).chain(elements) {
            let is_part = matches!(summary.symbols.key(id), SymbolKey::Content(Base::Symbol(_), _));
            if is_part && seen_to.insert(id) {
                let value = self.symbol(scope, id);
                let value = self.carry(value);
                after.escape(scope, &value);
            }
        }
    }

    /// An argument that the callee takes in another case, which the caller
    /// cannot tell from this one, is taken.
    fn excuse_arguments(&mut self, scope: &mut Scope, after: &mut Case, possible: &[&ExitCase]) {
        if possible.len() < 2 || after.blocks.is_empty() {
            return;
        }
        let (summary, exit) = (self.summary, self.exit);
        let own = [false, true].map(|says_so| self.taken_parameters(exit, says_so));
        let mut taken = BTreeSet::new();
        for case in possible.iter().filter(|case| case.exit == exit.exit) {
            if !is_told_apart(summary, case, exit, self.site) {
                let kinds = [false, true].into_iter().take(1 + usize::from(self.says_it_did(case)));
                for (says_so, own) in kinds.zip(&own) {
                    taken.extend(self.taken_parameters(case, says_so).difference(own));
                }
            }
        }
        let is_excused = |id: &SymbolId| !exit.refused.contains(id);
        for id in taken.into_iter().filter(is_excused) {
            let value = self.symbol(scope, id);
            let value = self.carry(value);
            after.escape(scope, &value);
        }
    }

    /// Whether the callee returns the status of another case, though it has more
    /// than one: what keeps it from doing the same is not expected to happen.
    fn says_it_did(&self, case: &ExitCase) -> bool {
        let is_other =
            |other: &ExitCase| matches!(other.result, Value::Int(_)) && other.result != case.result;
        matches!(case.result, Value::Int(_))
            && case.result == self.exit.result
            && self.summary.cases.iter().any(is_other)
    }

    /// Arguments that a case releases or gives away; and those that it stores,
    /// where the callee looks like one that inserts into a container, or says
    /// that it has stored them.
    fn taken_parameters(&self, case: &ExitCase, says_so: bool) -> BTreeSet<SymbolId> {
        let inserts = self.site.result_kind != ResultKind::Status;
        let writes = case.writes.iter().filter(|_| inserts || says_so);
        let written = writes.flat_map(|write| write.value.bases()).filter_map(|(base, _)| match base {
            Base::Symbol(id) => Some(id),
            _ => None,
        });
        let all = case.freed.iter().chain(&case.escaped).copied().chain(written);
        all.filter(|id| matches!(self.summary.symbols.key(*id), SymbolKey::Parameter(_))).collect()
    }
}

/// Whether a caller knows which of two cases it is: by what it passes, or by
/// what it gets back and looks at. What is inside of an argument is the
/// callee's to know.
fn is_told_apart(summary: &Summary, one: &ExitCase, other: &ExitCase, site: &Site) -> bool {
    let by_argument = one
        .facts
        .iter()
        .any(|&(id, own)| summary.symbols.is_of_parameters(id) && own.and(other.fact(id)).is_none());
    let result = |case: &ExitCase| match &case.result {
        Value::Int(number) => Fact::exactly(*number),
        Value::Sum(Base::Symbol(id), Offset::At(bytes)) => case.fact(*id).plus(*bytes),
        Value::Sum(Base::Heap(_), _) => Fact::ADDRESS,
        _ => Fact::ANY,
    };
    by_argument || site.result_kind != ResultKind::UnusedPointer && result(one).and(result(other)).is_none()
}

/// Whether an address leads to memory that was there before the caller, and is
/// no variable of the program's.
fn is_of_others(scope: &Scope, address: &Value) -> bool {
    address.bases().any(|(base, _)| matches!(scope.symbols.owner(base), Base::Symbol(_)))
}

/// What came in, of the bases of a value.
fn inputs(scope: &Scope, value: &Value) -> Vec<SymbolId> {
    let input = |(base, _)| match base {
        Base::Symbol(id) if scope.symbols.is_input(id) => Some(id),
        _ => None,
    };
    value.bases().filter_map(input).collect()
}
