//! Every procedure once, bottom-up over the call graph, cycles by fixpoint.

use std::sync::{Arc, OnceLock};

use leakscope_core::{Confidence, Finding};
use leakscope_ir::{Callee, FuncId, GlobalId, Op, Operand, Program};
use petgraph::graph::{DiGraph, NodeIndex};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::exits::summarise;
use crate::findings;
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
    /// By function; `None` for those without a body.
    pub summaries: Vec<Option<Arc<Summary>>>,
    /// Functions that were given up, for they took too long.
    pub cut: Vec<String>,
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
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Analysis {
    let world = World::new(program, models);
    let options = simulate::Options { at_exit: config.at_exit, pedantic: config.pedantic };
    let ready = Ready((0..program.functions.len()).map(|_| OnceLock::new()).collect());
    let mut relevant = vec![false; program.functions.len()];
    let (mut leaks, mut cut) = (Vec::new(), Vec::new());
    // Cycles of one level do not need each other.
    let (mut done_functions, all) = (0, program.functions.iter().filter(|f| f.body.is_some()).count());
    for level in levels(&world) {
        for component in &level {
            let is_cycle = component.len() > 1;
            for &id in component {
                relevant[id.0 as usize] =
                    is_cycle || is_relevant(&world, id, &|callee| relevant[callee.0 as usize]);
            }
        }
        let done: Vec<Vec<Outcome>> = level
            .par_iter()
            .map(|component| {
                if relevant[component[0].0 as usize] {
                    component_summaries(&world, &ready, component, &options)
                } else {
                    vec![Outcome { summary: Arc::new(without_effect()), leaks: Vec::new(), is_cut: false }]
                }
            })
            .collect();
        for (id, outcome) in level.iter().flatten().zip(done.into_iter().flatten()) {
            let _ = ready.0[id.0 as usize].set(outcome.summary);
            leaks.extend(outcome.leaks);
            if outcome.is_cut {
                cut.push(program.function(*id).display.clone());
            }
        }
        done_functions += level.iter().map(Vec::len).sum::<usize>();
        progress(done_functions, all);
    }
    // What a procedure loses, whoever calls it.
    let mut seen = FxHashSet::default();
    leaks.retain(|(id, leak, origin): &(FuncId, Leak, Arc<Origin>)| {
        seen.insert((*id, leak.at, leak.variable.clone(), origin.stack.clone()))
    });
    let findings = findings::findings(program, leaks);
    let summaries = ready.0.into_iter().map(OnceLock::into_inner).collect();
    cut.sort();
    Analysis { findings, summaries, cut }
}

struct Ready(Vec<OnceLock<Arc<Summary>>>);

impl Summaries for Ready {
    fn summary(&self, function: FuncId) -> Option<Arc<Summary>> {
        self.0[function.0 as usize].get().cloned()
    }
}

/// Summaries of a cycle so far, and of all that is below it.
struct InCycle<'a> {
    ready: &'a Ready,
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

struct Outcome {
    summary: Arc<Summary>,
    leaks: Vec<(FuncId, Leak, Arc<Origin>)>,
    is_cut: bool,
}

fn component_summaries(
    world: &World,
    ready: &Ready,
    component: &[FuncId],
    options: &simulate::Options,
) -> Vec<Outcome> {
    let is_cycle = component.len() > 1 || calls_itself(world, component[0]);
    if !is_cycle {
        return vec![outcome(world, component[0], simulate(world, ready, component[0], options), options)];
    }
    let mut cycle = InCycle { ready, cycle: component, current: vec![None; component.len()] };
    let mut outcomes = Vec::new();
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
        outcomes.clear();
        for (index, &id) in component.iter().enumerate() {
            let mut done = outcome(world, id, simulate(world, &cycle, id, options), options);
            let summary = Arc::make_mut(&mut done.summary);
            summary.is_recursive = true;
            if round == rounds {
                summary.widen_guards();
            }
            cycle.current[index] = Some(done.summary.clone());
            outcomes.push(done);
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
    let parameters = 0..world.program.function(id).parameters;
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

fn calls_itself(world: &World, id: FuncId) -> bool {
    callees(world, id).contains(&id)
}

/// Cycles of the call graph, by level: those of a level call only into levels
/// before, and into themselves.
fn levels(world: &World) -> Vec<Vec<Vec<FuncId>>> {
    let program = world.program;
    let mut graph = DiGraph::<FuncId, ()>::new();
    let nodes: Vec<NodeIndex> =
        (0..program.functions.len()).map(|index| graph.add_node(FuncId(index as u32))).collect();
    for index in 0..program.functions.len() {
        for callee in callees(world, FuncId(index as u32)) {
            graph.add_edge(nodes[index], nodes[callee.0 as usize], ());
        }
    }
    let mut levels: Vec<Vec<Vec<FuncId>>> = Vec::new();
    let mut level_of = vec![0; program.functions.len()];
    for mut component in petgraph::algo::kosaraju_scc(&graph) {
        component.sort();
        let below =
            component.iter().flat_map(|&node| graph.neighbors(node)).filter(|to| !component.contains(to));
        let level = below.map(|node| level_of[node.index()] + 1).max().unwrap_or(0);
        component.iter().for_each(|node| level_of[node.index()] = level);
        let with_body = |id: &FuncId| program.function(*id).body.is_some();
        let ids: Vec<FuncId> = component.into_iter().map(|node| graph[node]).filter(with_body).collect();
        if !ids.is_empty() {
            levels.resize(levels.len().max(level + 1), Vec::new());
            levels[level].push(ids);
        }
    }
    levels
}

/// Functions that a body calls or whose address it uses, also through tables
/// that nobody changes, as those of virtual functions.
fn callees(world: &World, id: FuncId) -> Vec<FuncId> {
    let program = world.program;
    let Some(body) = &program.function(id).body else { return Vec::new() };
    let (mut found, mut tables) = (Vec::new(), FxHashSet::default());
    let mut note = |operand: &Operand| match operand {
        Operand::Function(function) => found.push(*function),
        Operand::Global(global, _) => drop(tables.insert(*global)),
        _ => {}
    };
    let mut direct = Vec::new();
    for instruction in body.blocks.iter().flat_map(|block| &block.instructions) {
        instruction.op.for_each_operand(&mut note);
        if let Op::Call(call) = &instruction.op
            && let Callee::Function(function) = call.callee
        {
            direct.push(function);
        }
    }
    for block in &body.blocks {
        block.end.operand().into_iter().for_each(&mut note);
    }
    let mut tables: Vec<GlobalId> = tables.into_iter().collect();
    tables.sort();
    for table in tables.into_iter().filter(|table| !world.is_written(*table)) {
        for cell in program.global(table).initial.iter().flatten() {
            if let Operand::Function(function) = cell.value {
                found.push(function);
            }
        }
    }
    found.extend(direct);
    found.sort();
    found.dedup();
    found
}
