//! Every procedure once, bottom-up over the call graph, cycles by fixpoint.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use leakscope_core::{Confidence, Finding};
use leakscope_ir::{FuncId, Program};
use rustc_hash::FxHashSet;

use crate::callgraph::{CallGraph, Component, call_graph};
use crate::calls::followed_arguments;
use crate::exits::summarise;
use crate::findings;
use crate::kept::{self, Entry, Keys, Made, Procedures};
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
    /// For [`Procedures`] in the next run, if it is something else than in this one.
    pub kept: Option<Vec<u8>>,
}

/// Rounds over the procedures of a cycle until their summaries are taken as
/// they are.
const ROUNDS: usize = 3;
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
    let world = World::new(program, models);
    let options = simulate::Options { at_exit: config.at_exit, pedantic: config.pedantic };
    let graph = call_graph(&world);
    let keys = Keys::new(&world, &graph);
    let ready = Ready {
        keys: &keys,
        graph: &graph,
        known: (0..program.functions.len()).map(|_| OnceLock::new()).collect(),
        kept: graph.components.iter().map(|_| OnceLock::new()).collect(),
    };
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
        let key = keys.key(index, is_relevant);
        if let Some(entry) = kept.get(key) {
            keys.note(index, entry);
            let _ = ready.kept[index].set(entry);
            is_done();
            return Done::Before(entry);
        }
        let outcomes = if is_relevant {
            component_summaries(&world, &ready, component, &options)
        } else {
            vec![Outcome { summary: Arc::new(without_effect()), leaks: Vec::new(), is_cut: false }]
        };
        for (id, outcome) in component.functions.iter().zip(&outcomes) {
            let _ = ready.known[id.0 as usize].set(outcome.summary.clone());
        }
        let made = keys.make(index, key, &outcomes);
        keys.note(index, made.entry());
        is_done();
        Done::Now(made, outcomes)
    });
    let (mut leaks, mut cut) = (Vec::new(), Vec::new());
    let is_new = outcomes.iter().any(|done| matches!(done, Done::Now(..)));
    let kept = is_new.then(|| kept::write(outcomes.iter().map(Done::entry)));
    for (component, done) in components.iter().zip(outcomes) {
        let is_cut = |(_, is_cut): &(&FuncId, &u8)| **is_cut != 0;
        let given_up = component.functions.iter().zip(done.entry().cut).filter(is_cut);
        cut.extend(given_up.map(|(id, _)| program.function(*id).display.clone()));
        match done {
            Done::Before(entry) => leaks.extend(keys.leaks(entry)),
            Done::Now(_, outcomes) => leaks.extend(outcomes.into_iter().flat_map(|outcome| outcome.leaks)),
        }
    }
    // What a procedure loses, whoever calls it.
    let mut seen = FxHashSet::default();
    leaks.retain(|(id, leak, origin): &Found| {
        seen.insert((*id, leak.at, leak.variable.clone(), origin.stack.clone()))
    });
    let findings = findings::findings(program, leaks);
    let summaries = ready.known.into_iter().map(OnceLock::into_inner).collect();
    cut.sort();
    Analysis { findings, summaries, cut, kept }
}

/// A cycle that is done: in an earlier run, or just now.
enum Done<'b> {
    Before(Entry<'b>),
    Now(Made, Vec<Outcome>),
}

impl Done<'_> {
    fn entry(&self) -> Entry<'_> {
        match self {
            Done::Before(entry) => *entry,
            Done::Now(made, _) => made.entry(),
        }
    }
}

struct Ready<'a, 'b> {
    keys: &'a Keys<'a>,
    graph: &'a CallGraph,
    /// By function.
    known: Vec<OnceLock<Arc<Summary>>>,
    /// By cycle, what was kept of it: it is read once somebody asks.
    kept: Vec<OnceLock<Entry<'b>>>,
}

impl Summaries for Ready<'_, '_> {
    fn summary(&self, function: FuncId) -> Option<Arc<Summary>> {
        let known = &self.known[function.0 as usize];
        if known.get().is_none()
            && let Some(component) = self.graph.component_of[function.0 as usize]
            && let Some(&entry) = self.kept[component].get()
        {
            let functions = &self.graph.components[component].functions;
            let summaries = self.keys.summaries(entry).unwrap_or_else(|| {
                functions.iter().map(|&id| Arc::new(silent(self.keys.world, id))).collect()
            });
            for (id, summary) in functions.iter().zip(summaries) {
                let _ = self.known[id.0 as usize].set(summary);
            }
        }
        known.get().cloned()
    }
}

/// Summaries of a cycle so far, and of all that is below it.
struct InCycle<'a> {
    ready: &'a dyn Summaries,
    cycle: &'a [FuncId],
    current: Vec<Option<Arc<Summary>>>,
}

impl Summaries for InCycle<'_> {
    fn summary(&self, function: FuncId) -> Option<Arc<Summary>> {
        match self.cycle.iter().position(|&id| id == function) {
            Some(index) => self.current[index].clone(),
            None => self.ready.summary(function),
        }
    }
}

/// What is lost, and in which procedure.
pub type Found = (FuncId, Leak, Arc<Origin>);

pub struct Outcome {
    pub summary: Arc<Summary>,
    pub leaks: Vec<Found>,
    pub is_cut: bool,
}

fn component_summaries(
    world: &World,
    ready: &dyn Summaries,
    component: &Component,
    options: &simulate::Options,
) -> Vec<Outcome> {
    let recursive = &component.recursive;
    let component = component.functions.as_slice();
    let is_cycle = component.len() > 1 || !recursive.is_empty();
    if !is_cycle {
        return vec![outcome(world, component[0], simulate(world, ready, component[0], options), options)];
    }
    let mut cycle = InCycle { ready, cycle: component, current: vec![None; component.len()] };
    let mut outcomes: Vec<Outcome> = Vec::new();
    let rounds = match component.len() {
        0..=4 => ROUNDS,
        5..=FEW => ROUNDS - 1,
        // Not worth it: what is not known yet keeps what it is given.
        _ => {
            let silent = component.iter().map(|&id| Some(Arc::new(silent(world, id))));
            cycle.current = silent.collect();
            1
        }
    };
    for round in 1..=rounds {
        for (index, &id) in component.iter().enumerate() {
            // What was too much without the others' effects is so with them.
            if outcomes.get(index).is_some_and(|before| before.is_cut) {
                continue;
            }
            let mut done = outcome(world, id, simulate(world, &cycle, id, options), options);
            if recursive.contains(&id) {
                let summary = Arc::make_mut(&mut done.summary);
                summary.is_recursive = true;
                if round == rounds {
                    summary.widen_guards();
                }
            }
            cycle.current[index] = Some(done.summary.clone());
            match outcomes.get_mut(index) {
                Some(before) => *before = done,
                None => outcomes.push(done),
            }
        }
    }
    outcomes
}

fn outcome(world: &World, id: FuncId, mut simulated: Simulated, options: &simulate::Options) -> Outcome {
    let is_cut = simulated.is_cut;
    let leaks = std::mem::take(&mut simulated.leaks);
    let origins = &simulated.scope.sites.origins;
    let leaks = if is_cut {
        Vec::new()
    } else {
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
        let own = leaks.map(|(site, leak)| (id, leak, origins[site].clone()));
        own.chain(std::mem::take(&mut simulated.inner).into_iter().filter(|(_, leak, _)| is_told(leak)))
            .collect()
    };
    let summary = if is_cut { silent(world, id) } else { summarise(id, simulated) };
    Outcome { summary: Arc::new(summary), leaks, is_cut }
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
