//! Members that elements own and that somebody forgets who releases an element:
//! of a list, a table, or anything else that was reached through memory, so
//! that no simulation of one procedure knows the member's block.
//!
//! That a member is owned is known of the whole program: all that is ever
//! stored in it are new blocks that nothing else keeps, and it is always
//! released where some other procedure releases such an element; or nobody in
//! the program ever hands it on or releases it, but to put a new one in its place (deviant behaviour: Engler and
//! others, SOSP 2001). One who has anything to do with the member, its callees
//! and callers are not blamed; nor is one who has asked for the kind of the
//! element, for those of one kind may have no such member.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use leakscope_core::{Cause, Confidence};
use leakscope_ir::{Callee, FuncId, Linkage, Op, Program, Signature, Spot, TypeId};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyze::Found;
use crate::callgraph::{callers, taken};
use crate::effects::Effects;
use crate::leaks::Leak;
use crate::members::{End, Facts, Filled, Finder, Outgrown, Replaced, Source};
use crate::records::{Member, Records};
use crate::scope::Origin;
use crate::world::World;

/// Functions that are looked through for what they do with a member.
const MAX_CALLEES: usize = 300;
/// Functions, one in another, that pass an element on to be released.
const MAX_PASSED_ON: usize = 3;

pub fn forgotten(world: &World) -> Vec<Found> {
    let program = world.program;
    let (effects, records) = (Effects::new(world), Records::new(program));
    let ids: Vec<FuncId> = (0..program.functions.len() as u32).map(FuncId).collect();
    let facts: Vec<Facts> = ids
        .par_iter()
        .map(|&id| Finder::new(&effects, &records, id).map(Finder::facts).unwrap_or_default())
        .collect();
    let owned = owned(&facts);
    let is_whole =
        program.functions.iter().any(|function| function.name == "main" && function.body.is_some());
    let (callers, taken) = (callers(program), taken(program));
    let rewritten = facts.iter().flat_map(|facts| &facts.rewritten).copied().collect();
    let judge = Judge { program, records: &records, is_whole, callers, taken, rewritten, facts: &facts };
    let mut found = Vec::new();
    for &id in &ids {
        let mut note = |member: Member, place: Lost| {
            let Some(name) = records.owned(member) else { return };
            let Evidence { filled: Filled { by, at, .. }, filled_by, freed_by, .. } = &owned[&member];
            let (stack, allocator) = effects.origin(*filled_by, *at, *by);
            let of_member = |by: &FuncId| {
                let calls = facts[by.0 as usize].freed_at.iter().filter(|(freed, _)| *freed == member);
                calls.map(|(_, at)| (*by, *at)).collect::<Vec<_>>()
            };
            let leak = Leak { freed: freed_by.iter().flat_map(of_member).collect(), ..leak(place, &name) };
            found.push((id, leak, Arc::new(origin(world, stack, allocator))));
        };
        let own = &facts[id.0 as usize];
        for end in &own.ends {
            for (&member, evidence) in owned.range(all_of(end.record)) {
                if judge.forgets(id, end, member, evidence) {
                    note(member, (end.at, Cause::HolderFreed, end.variable.as_deref()));
                }
            }
        }
        for store @ Replaced { member, at, variable, .. } in &own.replaced {
            if owned.get(member).is_some_and(|evidence| judge.replaces(id, store, evidence)) {
                note(*member, (*at, Cause::Overwritten, variable.as_deref()));
            }
        }
        for store @ Outgrown { member, at, variable, .. } in &own.outgrown {
            if owned.get(member).is_some_and(|evidence| judge.outgrows(id, store, evidence)) {
                note(*member, (*at, Cause::Overwritten, variable.as_deref()));
            }
        }
    }
    found
}

/// A place, what happens there, and the element's name.
type Lost<'e> = (Spot, Cause, Option<&'e str>);

fn leak((at, cause, element): Lost, name: &str) -> Leak {
    let variable = element.map(|element| format!("{element}->{name}"));
    Leak::new(Confidence::Likely, at, cause, variable.into(), Vec::new())
}

fn origin(world: &World, stack: Vec<(FuncId, Spot)>, allocator: FuncId) -> Origin {
    let known = world.model(allocator).and_then(|model| model.origins.first());
    let kind = known.map_or_else(|| "memory".to_owned(), |origin| origin.kind.clone());
    Origin { stack, allocator: world.program.function(allocator).display.clone(), kind }
}

/// What speaks for it that a member is owned.
struct Evidence {
    /// A procedure that stores a new block, in a new element if there is one.
    filled_by: FuncId,
    filled: Filled,
    /// Those that always release the member with its element.
    released_by: Vec<FuncId>,
    /// Those that release it at all.
    freed_by: Vec<FuncId>,
    /// All of them put a new one in its place.
    is_only_replaced: bool,
    /// Somebody hands it on.
    is_kept: bool,
    /// Some who make an element fill the member, and some do not.
    is_set_up: bool,
    is_left_out: bool,
}

impl Evidence {
    fn new(filled_by: FuncId, filled: Filled) -> Evidence {
        Evidence {
            filled_by,
            filled,
            released_by: Vec::new(),
            freed_by: Vec::new(),
            is_only_replaced: true,
            is_kept: false,
            is_set_up: false,
            is_left_out: false,
        }
    }
}

/// Members that hold new blocks only.
fn owned(facts: &[Facts]) -> BTreeMap<Member, Evidence> {
    let mut owned = BTreeMap::new();
    let each = || (0..).map(FuncId).zip(facts);
    for (id, facts) in each() {
        for &filled in &facts.made {
            let known = owned.entry(filled.member).or_insert_with(|| Evidence::new(id, filled));
            if filled.is_first && !known.filled.is_first {
                (known.filled_by, known.filled) = (id, filled);
            }
        }
    }
    for facts in facts {
        for member in facts.foreign.iter().chain(&facts.at_times) {
            owned.remove(member);
        }
        for &record in &facts.foreign_records {
            let members: Vec<Member> = owned.range(all_of(record)).map(|(member, _)| *member).collect();
            members.iter().for_each(|member| drop(owned.remove(member)));
        }
    }
    for (id, own) in each() {
        own.note(id, facts, &mut owned);
    }
    owned
}

/// Where the members of a record are.
fn all_of(record: TypeId) -> RangeInclusive<Member> {
    (record, i64::MIN)..=(record, i64::MAX)
}

impl Facts {
    /// What they say of members that are owned. `all` are those of each function.
    fn note(&self, id: FuncId, all: &[Facts], owned: &mut BTreeMap<Member, Evidence>) {
        for &(record, by) in &self.makes {
            // A function that makes such records itself has said what it leaves out.
            if all[by.0 as usize].makes.iter().any(|(made, _)| *made == record) {
                continue;
            }
            for (member, evidence) in owned.range_mut(all_of(record)) {
                evidence.is_left_out |= !self.set_up.contains(member);
            }
        }
        let parts = self.kept_parts.iter().map(|&(record, from, to)| (record, from)..=(record, to - 1));
        for range in parts.chain(self.seen_to.iter().map(|&record| all_of(record))) {
            owned.range_mut(range).for_each(|(_, evidence)| evidence.is_kept = true);
        }
        let mut each = |members: &mut dyn Iterator<Item = &Member>, note: fn(&mut Evidence, FuncId)| {
            members.for_each(|member| owned.get_mut(member).into_iter().for_each(|known| note(known, id)));
        };
        each(&mut self.kept.iter(), |known, _| known.is_kept = true);
        each(&mut self.set_up.iter(), |known, _| known.is_set_up = true);
        each(&mut self.always.iter(), |known, id| known.released_by.push(id));
        let freed = || self.freed.iter().map(|(member, _)| member);
        each(&mut freed(), |known, id| known.freed_by.push(id));
        each(&mut freed().filter(|member| !self.refills(**member)), |known, _| {
            known.is_only_replaced = false
        });
    }
}

struct Judge<'a> {
    program: &'a Program,
    records: &'a Records<'a>,
    is_whole: bool,
    callers: Vec<Vec<usize>>,
    /// Functions whose addresses are used, by what they take.
    taken: FxHashMap<&'a Signature, Vec<FuncId>>,
    /// Members that change after the element was made.
    rewritten: FxHashSet<Member>,
    facts: &'a [Facts],
}

impl Judge<'_> {
    fn forgets(&self, id: FuncId, end: &End, member: Member, evidence: &Evidence) -> bool {
        let is_released = evidence.released_by.iter().any(|other| *other != id)
            || evidence.freed_by.iter().any(|other| *other != id && self.share_another(id, *other, member));
        let own = &self.facts[id.0 as usize];
        // What users of a library do with its records is not known; but they
        // leave a member to who releases others of its element, not the next one.
        let is_another = |freed: Member| freed.0 == member.0 && self.records.owned(freed).is_some();
        let releases_others = || own.freed.iter().any(|(freed, _)| is_another(*freed));
        let is_nobodys = !evidence.is_kept
            && match &evidence.freed_by[..] {
                [] => self.is_whole || releases_others(),
                // The last one is left to who releases the element.
                _ => evidence.is_only_replaced && releases_others(),
            };
        if !is_released && !is_nobodys || end.from == Source::New {
            return false;
        }
        if own.touched.contains(&member) || own.filled.contains(&member.0) {
            return false;
        }
        // A number that stays as the element was made with it says of what kind it is.
        if end.tags.iter().any(|tag| !self.rewritten.contains(tag)) {
            return false;
        }
        let handles = |caller: &usize| self.facts[*caller].handles(member);
        if self.callers[id.0 as usize].iter().any(handles) {
            return false;
        }
        // Where nobody who calls what releases the element sees to the member,
        // that is to blame, once.
        let is_of_callee = self.program.function(end.callee).body.is_some()
            && !self.callers[end.callee.0 as usize].iter().any(handles);
        let is_of_users =
            || !self.is_whole && self.program.function(id).linkage == Linkage::External && releases_others();
        let is_of_callers = end.from == Source::Parameter && !self.is_given_found(id, 0) && !is_of_users();
        !is_of_callee && !is_of_callers && !self.is_seen_to(id, member)
    }

    /// Whether two functions release another member of the same record.
    fn share_another(&self, one: FuncId, other: FuncId, member: Member) -> bool {
        let freed = |id: FuncId| self.facts[id.0 as usize].freed.iter().map(|(freed, _)| *freed);
        freed(one).any(|own| own.0 == member.0 && freed(other).any(|freed| freed == own))
    }

    /// Whether a function writes over a member of an element that it found, and
    /// has nothing else to do with it.
    fn replaces(&self, id: FuncId, store: &Replaced, evidence: &Evidence) -> bool {
        let member = store.member;
        let is_there = match store.in_turn {
            // Unless somebody empties places in their turns.
            true => {
                let empties = |by: &FuncId| self.facts[by.0 as usize].empties(member);
                self.is_mere_holder(id, evidence) && !evidence.freed_by.iter().any(empties)
            }
            false => {
                evidence.is_set_up
                    && !evidence.is_left_out
                    && evidence.released_by.iter().any(|other| *other != id)
            }
        };
        is_there && !self.is_handled_around(id, member)
    }

    /// Whether a function that writes over a member whose block it used has
    /// nothing else to do with it, though others release it.
    fn outgrows(&self, id: FuncId, store: &Outgrown, evidence: &Evidence) -> bool {
        let is_there = match store.is_cleared {
            true => self.is_mere_holder(id, evidence),
            false => evidence.freed_by.iter().any(|other| *other != id),
        };
        is_there && !self.is_handled_around(id, store.member)
    }

    /// Whether nobody hands a member on, and others release it, or nobody does.
    fn is_mere_holder(&self, id: FuncId, evidence: &Evidence) -> bool {
        let is_released = || match &evidence.freed_by[..] {
            [] => self.is_whole,
            by => by.iter().any(|other| *other != id),
        };
        !evidence.is_kept && is_released()
    }

    /// Whether a function, its callers, or what it calls have to do with a member.
    fn is_handled_around(&self, id: FuncId, member: Member) -> bool {
        let handles = |caller: &usize| self.facts[*caller].handles(member);
        self.callers[id.0 as usize].iter().any(handles) || self.is_seen_to(id, member)
    }

    /// Whether a function that releases what it is given gets elements that were
    /// found: what its callers make is followed from there.
    fn is_given_found(&self, id: FuncId, depth: usize) -> bool {
        let signature = &self.program.function(id).signature;
        let is_found = |&caller: &usize| {
            let ends = self.facts[caller].ends.iter().filter(|end| end.callee == id);
            ends.into_iter().any(|end| match end.from {
                Source::Memory => true,
                Source::Parameter => {
                    depth < MAX_PASSED_ON && self.is_given_found(FuncId(caller as u32), depth + 1)
                }
                Source::New => false,
            })
        };
        self.taken.get(signature).is_some_and(|taken| taken.contains(&id))
            || self.callers[id.0 as usize].iter().any(is_found)
    }

    /// Whether a function, or what it calls, has to do with a member.
    fn is_seen_to(&self, id: FuncId, member: Member) -> bool {
        let (mut open, mut seen) = (vec![id], FxHashSet::default());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if self.facts[id.0 as usize].handles(member) || seen.len() > MAX_CALLEES {
                return true;
            }
            let blocks = self.program.function(id).body.iter().flat_map(|body| &body.blocks);
            for instruction in blocks.flat_map(|block| &block.instructions) {
                let Op::Call(call) = &instruction.op else { continue };
                match &call.callee {
                    Callee::Function(callee) => open.push(*callee),
                    _ => open.extend(self.taken.get(&call.signature).into_iter().flatten()),
                }
            }
        }
        false
    }
}
