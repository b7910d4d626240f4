//! Every procedure once, bottom-up over the call graph, cycles by fixpoint.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use leakscope_core::{Confidence, Finding};
use leakscope_ir::{Fingerprint, FuncId, Program};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::callgraph::{Component, call_graph};
use crate::calls::followed_arguments;
use crate::exits::summarise;
use crate::findings;
use crate::forgotten::forgotten;
use crate::hooks;
use crate::kept::{self, Entry, Keys, Made, Parts, Procedures};
use crate::leaks::Leak;
use crate::models::Models;
use crate::relevance::is_relevant;
use crate::scope::Origin;
use crate::simulate::{self, Simulated, Summaries, simulate};
use crate::summary::{ExitCase, Summary};
use crate::value::{SymbolKey, Symbols};
use crate::world::World;

#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Blocks that are still held at the end of `main` are leaks too.
    pub at_exit: bool,
    /// Report also what can only be a leak if a function that nothing is known
    /// of keeps nothing, and what was found with ways joined.
    pub pedantic: bool,
}

/// What is known of a whole program.
pub struct Analysis {
    pub findings: Vec<Finding>,
    /// By function; `None` for those without a body, and for those that were
    /// kept and that nobody asked for.
    pub summaries: Vec<Option<Arc<Summary>>>,
    /// Functions that were given up, for they took too long.
    pub cut: Vec<String>,
    /// Functions that the analysis broke down on: errors of its own.
    pub failed: Vec<String>,
    /// For [`Procedures`] in the next run, if it is something else than in this one.
    pub kept: Option<Vec<u8>>,
}

/// Rounds over the procedures of a cycle until their summaries are taken as
/// they are.
const ROUNDS: usize = 3;
/// Callers that lose what one callee refuses, until it is to blame.
const MANY: usize = 5;
/// Larger cycles get one round.
const FEW: usize = 30;

/// `progress` hears how many functions are done, and of how many.
pub fn analyze(
    program: &Program,
    models: &Models,
    config: &Config,
    kept: &Procedures,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Analysis {
    let resolved = hooks::resolved(program, models);
    let program = resolved.as_ref().unwrap_or(program);
    let world = World::new(program, models);
    let options = simulate::Options { at_exit: config.at_exit, pedantic: config.pedantic };
    let graph = call_graph(&world);
    let keys = Keys::new(&world, &graph);
    let ready = Ready { keys: &keys, told: program.functions.iter().map(|_| OnceLock::new()).collect() };
    let components = &graph.components;
    let mut relevant = vec![false; program.functions.len()];
    for component in components {
        let is_cycle = component.functions.len() > 1;
        for &id in &component.functions {
            relevant[id.0 as usize] =
                is_cycle || is_relevant(&world, id, &|callee| relevant[callee.0 as usize]);
        }
    }
    let all = program.functions.iter().filter(|function| function.body.is_some()).count();
    let done_functions = AtomicUsize::new(0);
    let outcomes = in_order(components, &|index, component| {
        let count = component.functions.len();
        // Nothing but the number itself depends on the order.
        let is_done = || progress(done_functions.fetch_add(count, Ordering::Relaxed) + count, all);
        let is_relevant = relevant[component.functions[0].0 as usize];
        let turns = Cycle::new(&ready, index, component, is_relevant).run(kept, &|cycle, id| {
            if is_relevant {
                let simulated = || outcome(&world, id, simulate(&world, cycle, id, &options), &options);
                // The others are not to suffer for one. Nothing that they see is left half done.
                catch_unwind(AssertUnwindSafe(simulated))
                    .unwrap_or_else(|_| Outcome::given_up(&world, id, GivenUp::Failed))
            } else {
                Outcome::of(without_effect())
            }
        });
        is_done();
        turns
    });
    let (mut leaks, mut cut, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let all = || outcomes.iter().flat_map(|turns| &turns.all);
    let is_new = all().any(|done| matches!(done, Done::Now(..)));
    let kept = is_new.then(|| kept::write(all().map(Done::entry)));
    for (component, turns) in components.iter().zip(&outcomes) {
        for (id, &last) in component.functions.iter().zip(&turns.last) {
            let done = &turns.all[last];
            let given_up = match done.entry().given_up {
                Some(GivenUp::TookTooLong) => Some(&mut cut),
                Some(GivenUp::Failed) => Some(&mut failed),
                None => None,
            };
            given_up.into_iter().for_each(|list| list.push(program.function(*id).display.clone()));
            match done {
                Done::Before(entry) => leaks.extend(keys.leaks(*entry)),
                Done::Now(_, outcome) => leaks.extend(outcome.leaks.iter().cloned()),
            }
        }
    }
    let mut more = forgotten(&world);
    // Those that a simulation followed are known better from there.
    more.retain(|(_, _, new)| !leaks.iter().any(|(_, _, known)| known.stack.starts_with(&new.stack)));
    leaks.append(&mut more);
    // What a procedure loses, whoever calls it.
    let mut seen = FxHashSet::default();
    leaks.retain(|(id, leak, origin): &Found| match leak.inner.first() {
        Some(&(id, at)) => seen.insert((id, at, None, origin.stack.iter().take(1).copied().collect())),
        None => seen.insert((*id, leak.at, leak.variable.clone(), origin.stack.clone())),
    });
    fold_refused(&mut leaks);
    let findings = findings::findings(program, leaks);
    let summaries = ready.told.into_iter().map(|told| told.into_inner()?.summary.into_inner()).collect();
    cut.sort();
    failed.sort();
    Analysis { findings, summaries, cut, failed, kept }
}

/// A procedure that is done: in an earlier run, or just now.
enum Done<'b> {
    Before(Entry<'b>),
    Now(Made, Outcome),
}

impl Done<'_> {
    fn entry(&self) -> Entry<'_> {
        match self {
            Done::Before(entry) => *entry,
            Done::Now(made, _) => made.entry(),
        }
    }
}

/// What callers see of a procedure. If it was kept, it is read once somebody
/// asks.
struct Told<'b> {
    print: Fingerprint,
    entry: Option<Entry<'b>>,
    summary: OnceLock<Arc<Summary>>,
    form: Form,
}

/// What becomes of a summary in its cycle.
#[derive(Clone, Copy, Serialize)]
struct Form {
    is_recursive: bool,
    is_widened: bool,
}

impl Form {
    fn of(self, mut summary: Arc<Summary>) -> Arc<Summary> {
        if self.is_recursive {
            Arc::make_mut(&mut summary).is_recursive = true;
        }
        if self.is_widened {
            Arc::make_mut(&mut summary).widen_guards();
        }
        summary
    }
}

impl<'b> Told<'b> {
    fn of(done: &Done<'b>, form: Form) -> Told<'b> {
        let print = Fingerprint::of(&(done.entry().told, form));
        let (entry, summary) = match done {
            Done::Before(entry) => (Some(*entry), OnceLock::new()),
            Done::Now(_, outcome) => (None, form.of(outcome.summary.clone()).into()),
        };
        Told { print, entry, summary, form }
    }

    /// It keeps what it is given.
    fn silent(world: &World, id: FuncId) -> Told<'b> {
        let summary = silent(world, id);
        let form = Form { is_recursive: false, is_widened: false };
        Told { print: Fingerprint::of(&summary), entry: None, summary: Arc::new(summary).into(), form }
    }

    fn summary(&self, keys: &Keys, id: FuncId) -> Arc<Summary> {
        let read = || {
            let known = self.entry.and_then(|entry| keys.summary(entry));
            self.form.of(Arc::new(known.unwrap_or_else(|| silent(keys.world, id))))
        };
        self.summary.get_or_init(read).clone()
    }
}

struct Ready<'a, 'b> {
    keys: &'a Keys<'a>,
    /// By function.
    told: Vec<OnceLock<Told<'b>>>,
}

impl Summaries for Ready<'_, '_> {
    fn summary(&self, function: FuncId) -> Option<Arc<Summary>> {
        Some(self.told[function.0 as usize].get()?.summary(self.keys, function))
    }
}

/// A cycle of procedures, of which what is known so far counts.
struct Cycle<'c, 'a, 'b> {
    ready: &'c Ready<'a, 'b>,
    component: usize,
    functions: &'c [FuncId],
    recursive: &'c [FuncId],
    parts: Parts,
    told: Vec<Option<Told<'b>>>,
}

/// What became of the procedures of a cycle.
struct Turns<'b> {
    all: Vec<Done<'b>>,
    /// By procedure, the one that counts.
    last: Vec<usize>,
}

impl Summaries for Cycle<'_, '_, '_> {
    fn summary(&self, function: FuncId) -> Option<Arc<Summary>> {
        match self.functions.iter().position(|&id| id == function) {
            Some(index) => Some(self.told[index].as_ref()?.summary(self.ready.keys, function)),
            None => self.ready.summary(function),
        }
    }
}

impl<'c, 'a, 'b> Cycle<'c, 'a, 'b> {
    fn new(
        ready: &'c Ready<'a, 'b>,
        index: usize,
        component: &'c Component,
        is_relevant: bool,
    ) -> Cycle<'c, 'a, 'b> {
        let Component { functions, recursive, .. } = component;
        // Not worth several rounds: what is not known yet keeps what it is given.
        let is_large = functions.len() > FEW;
        let first = |&id| is_large.then(|| Told::silent(ready.keys.world, id));
        let told = functions.iter().map(first).collect();
        let parts = ready.keys.parts(index, is_relevant);
        Cycle { ready, component: index, functions, recursive, parts, told }
    }

    /// Each procedure has its turn in each round: it is found among what was
    /// `kept`, or by `make`.
    fn run(mut self, kept: &Procedures<'b>, make: &dyn Fn(&dyn Summaries, FuncId) -> Outcome) -> Turns<'b> {
        let keys = self.ready.keys;
        let rounds = match self.functions.len() {
            1 if self.recursive.is_empty() => 1,
            0..=4 => ROUNDS,
            5..=FEW => ROUNDS - 1,
            _ => 1,
        };
        let mut all: Vec<Done> = Vec::new();
        let mut last: Vec<Option<usize>> = vec![None; self.functions.len()];
        for round in 1..=rounds {
            for (index, &id) in self.functions.iter().enumerate() {
                let key = keys.key(self.component, index, &self.parts, &self.prints());
                // What was too much without the others' effects is so with them.
                let is_same = |&before: &usize| {
                    all[before].entry().given_up.is_some() || all[before].entry().key == key
                };
                let turn = last[index].filter(is_same).unwrap_or_else(|| {
                    let known = keys.known(kept, key);
                    all.push(known.map_or_else(|| self.done(key, make(&self, id)), Done::Before));
                    all.len() - 1
                });
                last[index] = Some(turn);
                let is_recursive = self.recursive.contains(&id);
                let form = Form { is_recursive, is_widened: is_recursive && round == rounds };
                self.told[index] = Some(Told::of(&all[turn], form));
            }
        }
        keys.note(self.component, &self.parts, &self.prints());
        for (&id, told) in self.functions.iter().zip(self.told.into_iter().flatten()) {
            let _ = self.ready.told[id.0 as usize].set(told);
        }
        Turns { all, last: last.into_iter().flatten().collect() }
    }

    fn prints(&self) -> Vec<Option<Fingerprint>> {
        self.told.iter().map(|told| Some(told.as_ref()?.print)).collect()
    }

    fn done(&self, key: Fingerprint, outcome: Outcome) -> Done<'b> {
        Done::Now(self.ready.keys.make(self.component, key, &outcome), outcome)
    }
}

/// What is lost, and in which procedure.
pub type Found = (FuncId, Leak, Arc<Origin>);

pub struct Outcome {
    pub summary: Arc<Summary>,
    pub leaks: Vec<Found>,
    /// Procedures that were simulated again for it.
    pub followed: BTreeSet<FuncId>,
    pub given_up: Option<GivenUp>,
}

/// Why nothing is known of a procedure.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum GivenUp {
    TookTooLong,
    /// By an error of the analysis.
    Failed,
}

impl Outcome {
    fn of(summary: Summary) -> Outcome {
        let summary = Arc::new(summary);
        Outcome { summary, leaks: Vec::new(), followed: BTreeSet::new(), given_up: None }
    }

    fn given_up(world: &World, id: FuncId, why: GivenUp) -> Outcome {
        Outcome { given_up: Some(why), ..Outcome::of(silent(world, id)) }
    }
}

fn outcome(world: &World, id: FuncId, mut simulated: Simulated, options: &simulate::Options) -> Outcome {
    let given_up = simulated.is_cut.then_some(GivenUp::TookTooLong);
    let leaks = std::mem::take(&mut simulated.leaks);
    let origins = &simulated.scope.sites.origins;
    let is_told = |leak: &Leak| options.pedantic || leak.confidence != Confidence::Possible;
    let leaks = leaks.into_iter().filter(|(_, leak)| is_told(leak));
    // Blocks that one call brings, or one allocation by several calls, and
    // that are lost together have one cause.
    let sites_at = &simulated.scope.sites.at;
    let (mut calls, mut places) = (FxHashSet::default(), FxHashSet::default());
    let leaks = leaks.filter(|(site, leak)| {
        let lost = (leak.at, leak.variable.clone());
        let is_new_call = calls.insert((sites_at[*site], lost.clone()));
        let is_named = lost.1.is_some();
        let is_new_place = places.insert((origins[*site].stack.first().copied(), lost));
        is_new_call && (is_new_place || !is_named)
    });
    let (freed_at, holding) = (&simulated.scope.freed_at, &simulated.scope.holding);
    let own = leaks.map(|(site, mut leak)| {
        leak.freed = freed_at.iter().filter(|(of, _)| *of == site).map(|(_, at)| (id, *at)).collect();
        leak.holds = holding.contains(&site);
        (id, leak, origins[site].clone())
    });
    let inner = std::mem::take(&mut simulated.inner).into_iter().filter(|(_, leak, _)| is_told(leak));
    let leaks = own.chain(inner).collect();
    let followed = std::mem::take(&mut simulated.followed);
    let summary = if given_up.is_some() { silent(world, id) } else { summarise(id, simulated) };
    Outcome { leaks, followed, given_up, ..Outcome::of(summary) }
}

/// Where many do not look whether a callee took what they gave it, that callee is
/// the cause, once.
fn fold_refused(leaks: &mut Vec<Found>) {
    let mut counts: FxHashMap<FuncId, usize> = FxHashMap::default();
    leaks
        .iter()
        .filter_map(|(_, leak, _)| leak.refused_by)
        .for_each(|by| *counts.entry(by).or_default() += 1);
    let mut seen = FxHashSet::default();
    leaks.retain_mut(|(_, leak, _)| match leak.refused_by {
        Some(by) if counts[&by] >= MANY => {
            leak.alike = counts[&by] - 1;
            seen.insert(by)
        }
        _ => true,
    });
}

/// The summary of a procedure that was given up: it keeps what it is given.
fn silent(world: &World, id: FuncId) -> Summary {
    let mut symbols = Symbols::default();
    let parameters = 0..followed_arguments(world.program.function(id));
    let escaped = parameters.filter_map(|index| symbols.get(SymbolKey::Parameter(index))).collect();
    let result = symbols.value(SymbolKey::Result(leakscope_ir::ValueId(0), 0));
    let case = ExitCase { escaped, ..ExitCase::returning(result) };
    Summary { cases: vec![case], symbols: Arc::new(symbols), writes_numbers: true, ..Summary::default() }
}

/// The summary of a procedure that moves no pointers.
fn without_effect() -> Summary {
    let mut symbols = Symbols::default();
    let result = symbols.value(SymbolKey::Result(leakscope_ir::ValueId(0), 0));
    Summary {
        cases: vec![ExitCase::returning(result)],
        symbols: Arc::new(symbols),
        writes_numbers: true,
        ..Summary::default()
    }
}

/// What `work` makes of each component, on all cores: as soon as what it calls
/// is done.
fn in_order<T: Send + Sync>(
    components: &[Component],
    work: &(dyn Fn(usize, &Component) -> T + Sync),
) -> Vec<T> {
    let waiting = components.iter().map(|component| AtomicUsize::new(component.callees)).collect();
    let schedule =
        Schedule { components, work, waiting, done: components.iter().map(|_| OnceLock::new()).collect() };
    rayon::scope(|scope| {
        for (index, _) in components.iter().enumerate().filter(|(_, component)| component.callees == 0) {
            scope.spawn({
                let schedule = &schedule;
                move |scope| schedule.run(index, scope)
            });
        }
    });
    schedule.done.into_iter().map(|done| done.into_inner().expect("all callees were done")).collect()
}

struct Schedule<'a, T> {
    components: &'a [Component],
    work: &'a (dyn Fn(usize, &Component) -> T + Sync),
    /// By component, callees that are not done yet.
    waiting: Vec<AtomicUsize>,
    done: Vec<OnceLock<T>>,
}

impl<T: Send + Sync> Schedule<'_, T> {
    fn run<'s>(&'s self, index: usize, scope: &rayon::Scope<'s>) {
        let component = &self.components[index];
        let _ = self.done[index].set((self.work)(index, component));
        for &caller in &component.callers {
            // The last of them to be done has seen all the others' results.
            if self.waiting[caller].fetch_sub(1, Ordering::AcqRel) == 1 {
                scope.spawn(move |scope| self.run(caller, scope));
            }
        }
    }
}
