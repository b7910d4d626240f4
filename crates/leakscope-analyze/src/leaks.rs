//! Blocks that no pointer leads to any more, while a procedure is simulated.

use std::collections::BTreeSet;
use std::sync::Arc;

use leakscope_core::{Cause, Confidence};
use leakscope_ir::{BlockId, FuncId, Spot, ValueId};
use serde::{Deserialize, Serialize};

use crate::case::{Case, Feasibility, Flight, Mark, Pending};
use crate::confirm::Search;
use crate::findings::frame;
use crate::instantiate::Done;
use crate::scope::Scope;
use crate::simulate::{Simulation, steps};
use crate::summary::Step;
use crate::value::{Base, HeapId, SymbolKey, Value};

/// Ways to one place that are looked at.
const MAX_WAYS: usize = 4;
/// Branches of a way that is easily followed.
const SHORT: usize = 6;
/// Blocks in which a program ends that says why.
const SOON: usize = 8;

/// Blocks of one site are lost here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Leak {
    pub confidence: Confidence,
    pub at: Spot,
    /// Where inside of the call at that place, innermost first.
    pub inner: Vec<(FuncId, Spot)>,
    pub cause: Cause,
    pub variable: Option<String>,
    pub path: Vec<Step>,
    /// Further places where they are lost.
    pub others: Vec<(Spot, Cause, Option<String>)>,
    /// Calls that release such blocks on other ways.
    pub freed: Vec<(FuncId, Spot)>,
    /// Others are lost with them, which they hold.
    pub holds: bool,
    /// Who keeps such blocks on other ways, and returned without.
    pub refused_by: Option<FuncId>,
    /// How many more are lost for that in other places.
    pub alike: usize,
}

impl Leak {
    pub fn new(confidence: Confidence, at: Spot, cause: Cause, last: LastPointer, path: Vec<Step>) -> Leak {
        let LastPointer { name: variable, inner, refused_by } = last;
        let (others, freed) = (Vec::new(), Vec::new());
        let (holds, alike) = (false, 0);
        Leak { confidence, at, inner, cause, variable, path, others, freed, holds, refused_by, alike }
    }
}

/// What the last pointer to a block is called, and where it goes inside of the
/// call that loses it, innermost first.
#[derive(Clone, Debug, Default)]
pub struct LastPointer {
    pub name: Option<String>,
    pub inner: Vec<(FuncId, Spot)>,
    /// Who was given the block last, and did not keep it as on other ways.
    pub refused_by: Option<FuncId>,
}

impl From<Option<String>> for LastPointer {
    fn from(name: Option<String>) -> LastPointer {
        LastPointer { name, ..LastPointer::default() }
    }
}

/// What a last pointer is written over with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Overwriter {
    /// A null pointer that was computed, as by a failed `realloc`, or what a
    /// descriptor is that is none: often the program is ended then.
    Failure,
    Other,
}

impl Simulation<'_, '_> {
    /// A loop that frees blocks from before it, or cuts them into pieces, is
    /// taken to run at least once (SPARROW, section 3): none is lost behind it,
    /// and callers get none from there.
    pub fn leave_out_skipped_loops(&mut self) {
        let (body, flow, scope, ways) = (self.body, &self.flow, &self.result.scope, &self.ways);
        let branches = |head: BlockId| {
            let blocks = body.blocks.iter().zip(&flow.loops).filter(move |(_, loops)| loops.contains(&head));
            blocks.map(|(block, _)| block.end_at)
        };
        // Of the loops that free blocks of a site.
        let branches_of = |site: usize| -> BTreeSet<Spot> {
            let made_in = &flow.loops[flow.block_of[scope.sites.at[site].0 as usize].0 as usize];
            let freed_in = scope.freed_in_loops.range((site, BlockId(0))..=(site, BlockId(u32::MAX)));
            let heads = freed_in.map(|(_, head)| *head).filter(|head| !made_in.contains(head));
            heads.flat_map(branches).collect()
        };
        let passes = |way: &Option<Arc<Mark>>, loops: &BTreeSet<Spot>| {
            let mut marks = std::iter::successors(way.as_deref(), |mark| mark.before.as_deref());
            marks.any(|mark| mark.inner.is_none() && loops.contains(&mark.at))
        };
        self.result.leaks.retain(|&site, leak| {
            let loops = branches_of(site);
            let is_behind =
                |at: Spot| !loops.is_empty() && ways[&(site, at)].iter().all(|way| passes(way, &loops));
            leak.others.retain(|(at, ..)| !is_behind(*at));
            if is_behind(leak.at) {
                if leak.others.is_empty() {
                    return false;
                }
                (leak.at, leak.cause, leak.variable) = leak.others.remove(0);
                leak.inner.clear();
            }
            !scope.pools.contains(&site)
        });
        if scope.freed_in_loops.is_empty() {
            return;
        }
        for (_, case, _) in &mut self.result.exits {
            let is_freed = |block: &HeapId| passes(&case.path, &branches_of(block.site()));
            let freed: Vec<HeapId> = case.blocks.keys().copied().filter(is_freed).collect();
            freed.iter().for_each(|block| {
                case.blocks.remove(block);
            });
        }
    }

    /// Something was written over that led to blocks.
    pub fn overwritten(&mut self, case: &mut Case, at: Spot, variable: Option<String>, with: Overwriter) {
        if with == Overwriter::Other {
            return self.look_for_leaks(case, at, Cause::Overwritten, variable);
        }
        let lost = self.unreachable(case, &Value::Top);
        let roots = self.roots(case, &lost);
        for block in lost {
            case.blocks.remove(&block);
            if roots.contains(&block) {
                case.put_off(block, at, Cause::Overwritten, variable.clone().into());
            }
        }
    }

    /// A global that held what `call` could not make larger holds nothing now.
    pub fn lose_refused(&mut self, case: &mut Case, call: ValueId, global: &Value, at: Spot) {
        let Value::Sum(base @ Base::Global(_), offset) = global else { return };
        let Scope { symbols, sites, .. } = &self.result.scope;
        let old = symbols.find(&SymbolKey::Content(*base, *offset)).filter(|old| case.refused.contains(old));
        let (Some(old), Some(site)) = (old, sites.at.iter().position(|at| *at == call)) else { return };
        let is_held = case.values().flat_map(Value::bases).any(|(base, _)| base == Base::Symbol(old));
        if is_held || self.function.name == "main" {
            return;
        }
        case.put_off(HeapId::recent(site), at, Cause::Overwritten, self.place(case, global).into());
    }

    /// A case goes on for long after scopes ended, or begins another turn of a
    /// loop: the program did not end with them.
    pub fn settle_ended(&mut self, case: &mut Case, begins_turn: bool) {
        if case.flight == Flight::Sought || case.pending.is_empty() {
            return;
        }
        let is_late = |pending: &Pending| begins_turn || case.visited.len() > pending.visited + SOON;
        let is_end = |pending: &Pending| matches!(pending.cause, Cause::ScopeEnd | Cause::Discarded);
        let (ended, left) =
            case.pending.iter().cloned().partition(|pending| is_end(pending) && is_late(pending));
        case.pending = ended;
        self.settle(case);
        case.pending = left;
    }

    /// A case goes on to the procedure's callers: what waited for it is lost.
    pub fn settle(&mut self, case: &mut Case) {
        for pending in std::mem::take(&mut case.pending) {
            let Pending { block, at, cause, last, path, .. } = &*pending;
            self.leak_on(*block, *at, *cause, last.clone(), path.as_ref());
        }
    }

    /// Of lost blocks, those that no other one leads to.
    pub fn roots(&mut self, case: &Case, lost: &[HeapId]) -> Vec<HeapId> {
        let Scope { symbols, holding, .. } = &mut self.result.scope;
        let mut inner = BTreeSet::new();
        for ((base, _), cell) in case.memory.iter() {
            if let Base::Heap(holder) = symbols.owner(*base)
                && lost.contains(&holder)
            {
                let held = cell.value.heap_blocks().filter(|block| block.site() != holder.site());
                let known = inner.len();
                inner.extend(held);
                if inner.len() > known {
                    holding.insert(holder.site());
                }
            }
        }
        let roots: Vec<HeapId> = lost.iter().copied().filter(|block| !inner.contains(block)).collect();
        if roots.is_empty() { lost.to_vec() } else { roots }
    }

    /// Of lost blocks, those that something led to before: others were lost
    /// sight of, which is nobody's fault.
    pub fn in_sight(&self, before: &Case, lost: &[HeapId]) -> Vec<HeapId> {
        if lost.is_empty() {
            return Vec::new();
        }
        let reachable = before.reachable(&self.result.scope, None);
        lost.iter().copied().filter(|block| reachable.contains(&before.called(*block))).collect()
    }

    pub fn unreachable(&self, case: &Case, value: &Value) -> Vec<HeapId> {
        if case.blocks.is_empty() {
            return Vec::new();
        }
        let reachable = case.reachable(&self.result.scope, Some(value));
        case.blocks.keys().copied().filter(|block| !reachable.contains(block)).collect()
    }

    /// Blocks that no pointer leads to any more are leaks from here on.
    pub fn look_for_leaks(&mut self, case: &mut Case, at: Spot, cause: Cause, variable: Option<String>) {
        if case.feasibility == Feasibility::Dead {
            return;
        }
        let lost = self.unreachable(case, &Value::Top);
        let roots = self.roots(case, &lost);
        for block in lost {
            case.blocks.remove(&block);
            if roots.contains(&block) {
                self.leak(block, at, cause, variable.clone().into(), case);
            }
        }
    }

    /// The same after a change of memory, with the names that places had before it.
    pub fn look_for_leaks_after(&mut self, before: &Case, case: &mut Case, at: Spot, cause: Cause) {
        self.look_for_leaks_of(before, case, at, cause, &[]);
    }

    /// The same after a call that did something to memory.
    pub fn look_for_leaks_of(
        &mut self,
        before: &Case,
        case: &mut Case,
        at: Spot,
        cause: Cause,
        done: &[Done],
    ) {
        if case.feasibility == Feasibility::Dead {
            return;
        }
        let lost = self.unreachable(case, &Value::Top);
        let roots = self.roots(case, &self.in_sight(before, &lost));
        for block in lost {
            case.blocks.remove(&block);
            if roots.contains(&block) {
                let last = self.last_pointer(before, block, done);
                self.leak(block, at, cause, last, case);
            }
        }
    }

    /// What held a block last, in words of the code inside of a call that lost it.
    fn last_pointer(&self, before: &Case, block: HeapId, done: &[Done]) -> LastPointer {
        let block = before.called(block);
        let name = self.holder(before, block);
        let cells =
            before.memory.iter().filter(|(_, cell)| cell.value.heap_blocks().any(|held| held == block));
        let mut places = cells.map(|(place, _)| *place);
        let lost = places.find_map(|(base, offset)| {
            let is_it = |done: &&Done| done.base == base && done.written.is_none_or(|at| at == offset);
            done.iter().find(is_it)
        });
        let Some(Done { deed: Some(deed), written, base }) = lost else { return name.into() };
        // What the library does is the call's doing.
        let program = self.result.scope.world.program;
        let is_library = |&&(function, at): &&(FuncId, Spot)| frame(program, function, at).system;
        let inner: Vec<(FuncId, Spot)> = deed.stack.iter().skip_while(is_library).copied().collect();
        let inside = deed.name.as_ref();
        let name = match (written, base) {
            _ if inner.is_empty() => name,
            _ if inner.len() < deed.stack.len() => None,
            (Some(_), Base::Global(_)) if inside.is_none() => name,
            (Some(_), _) => inside.map(|place| place.to_string()),
            // The member has the same name there.
            (None, _) => name.as_deref().and_then(|name| {
                let (_, member) = name.rsplit_once("->")?;
                Some(format!("{}->{member}", inside?))
            }),
        };
        LastPointer { name, inner, refused_by: None }
    }

    fn confidence(&self, block: HeapId, path: &[Step]) -> Confidence {
        let is_own = self.result.scope.sites.origins[block.site()].stack.len() <= 1;
        if self.options.pedantic {
            Confidence::Possible
        } else if is_own && path.len() <= SHORT && !self.result.scope.is_in_loop() {
            Confidence::Sure
        } else {
            Confidence::Likely
        }
    }

    /// Whether a block is one of those whose leak is looked for.
    fn is_wanted(&self, block: HeapId) -> bool {
        let sites = &self.result.scope.sites;
        self.search.as_ref().is_some_and(|Search { target, .. }| {
            sites.at[block.site()] == target.value && sites.origins[block.site()] == *target.origin
        })
    }

    /// Whether a case has the block whose leak is looked for.
    pub fn is_under_way(&self, case: &Case) -> bool {
        case.blocks.keys().any(|block| self.is_wanted(*block))
            || case.pending.iter().any(|pending| self.is_wanted(pending.block))
    }

    pub fn leak(&mut self, block: HeapId, at: Spot, cause: Cause, last: LastPointer, case: &mut Case) {
        let refused = case.refused_by.iter().find(|(refused, _)| *refused == block);
        let last = LastPointer { refused_by: refused.map(|(_, by)| *by), ..last };
        // Whether the exception goes on is not known before a handler is found, nor
        // whether the program ends where a scope does.
        let is_looked_for = self.is_wanted(block) && matches!(cause, Cause::ScopeEnd | Cause::Discarded);
        if case.flight == Flight::Sought || is_looked_for {
            case.put_off(block, at, cause, last);
        } else {
            self.leak_on(block, at, cause, last, case.path.as_ref());
        }
    }

    fn leak_on(&mut self, block: HeapId, at: Spot, cause: Cause, last: LastPointer, way: Option<&Arc<Mark>>) {
        let is_wanted = self.is_wanted(block);
        if let Some(search) = &mut self.search {
            if is_wanted && at == search.target.at {
                let path = steps(self.id, way);
                search.found = Some(Leak::new(Confidence::Likely, at, cause, last, path));
            }
            return;
        }
        let ways = self.ways.entry((block.site(), at)).or_default();
        if ways.len() < MAX_WAYS {
            ways.push(way.cloned());
        }
        match self.result.leaks.get_mut(&block.site()) {
            Some(known) => {
                let is_known = known.at == at || known.others.iter().any(|(other, ..)| *other == at);
                if !is_known {
                    known.others.push((at, cause, last.name));
                }
            }
            None => {
                let path = steps(self.id, way);
                let confidence = self.confidence(block, &path);
                self.result.leaks.insert(block.site(), Leak::new(confidence, at, cause, last, path));
            }
        }
    }
}
