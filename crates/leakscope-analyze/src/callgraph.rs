//! Who calls whom, for the order in which procedures are analysed.

use leakscope_ir::{Callee, FuncId, GlobalId, Op, Operand, Program, Signature};
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{DfsPostOrder, NodeFiltered};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::world::World;

/// How names of the tables of virtual functions start.
const CLASS_TABLE: &str = "_ZTV";

/// A cycle of the call graph, or a function in none.
pub struct Component {
    pub functions: Vec<FuncId>,
    /// Those that call themselves, as far as their bodies tell. A destructor
    /// that refers to the table of its class does not.
    pub recursive: Vec<FuncId>,
    /// Those that call into it.
    pub callers: Vec<usize>,
    /// How many others it calls into.
    pub callees: usize,
}

pub struct CallGraph {
    /// All cycles, callees first.
    pub components: Vec<Component>,
    /// By function with a body, its cycle.
    pub component_of: Vec<Option<usize>>,
    /// By function, what its body leads to.
    pub mentioned: Vec<Mentioned>,
}

/// Functions that a body calls or whose address it uses, and globals, also those
/// in tables that nobody changes.
pub struct Mentioned {
    pub functions: Vec<FuncId>,
    pub globals: Vec<GlobalId>,
}

pub fn call_graph(world: &World) -> CallGraph {
    let program = world.program;
    let edges: Vec<Callees> =
        (0..program.functions.len()).map(|index| Callees::of(world, FuncId(index as u32))).collect();
    let plain = graph(edges.iter().map(|callees| &callees.plain));
    let mut is_recursive = vec![false; program.functions.len()];
    for cycle in petgraph::algo::kosaraju_scc(&plain) {
        let calls_itself = cycle.len() > 1 || plain.contains_edge(cycle[0], cycle[0]);
        cycle.iter().for_each(|node| is_recursive[node.index()] = calls_itself);
    }
    let graph = graph(edges.iter().map(|callees| &callees.all));
    let mut components: Vec<Component> = Vec::new();
    let mut component_of = vec![None; program.functions.len()];
    for mut cycle in petgraph::algo::kosaraju_scc(&graph) {
        cycle.sort();
        let cycle = callees_first(&graph, cycle);
        let with_body = |id: &FuncId| program.function(*id).body.is_some();
        let functions: Vec<FuncId> = cycle.iter().map(|&node| graph[node]).filter(with_body).collect();
        if functions.is_empty() {
            continue;
        }
        let called = cycle.iter().flat_map(|&node| graph.neighbors(node));
        let mut called: Vec<usize> = called.filter_map(|node| component_of[node.index()]).collect();
        called.sort_unstable();
        called.dedup();
        let own = components.len();
        called.iter().for_each(|&callee| components[callee].callers.push(own));
        cycle.iter().for_each(|node| component_of[node.index()] = Some(own));
        let recursive = functions.iter().copied().filter(|id| is_recursive[id.0 as usize]).collect();
        components.push(Component { functions, recursive, callers: Vec::new(), callees: called.len() });
    }
    let mentioned =
        edges.into_iter().map(|Callees { all, globals, .. }| Mentioned { functions: all, globals }).collect();
    CallGraph { components, component_of, mentioned }
}

/// The functions of a cycle as they are called from outside of it, each behind
/// those that it calls: so a round tells callers most.
fn callees_first(graph: &DiGraph<FuncId, ()>, cycle: Vec<NodeIndex>) -> Vec<NodeIndex> {
    if cycle.len() == 1 {
        return cycle;
    }
    let own: FxHashSet<NodeIndex> = cycle.iter().copied().collect();
    let is_entered = |node: &NodeIndex| {
        graph.neighbors_directed(*node, Direction::Incoming).any(|caller| !own.contains(&caller))
    };
    let inside = NodeFiltered::from_fn(graph, |node| own.contains(&node));
    let mut walk = DfsPostOrder::empty(&inside);
    let mut order = Vec::with_capacity(cycle.len());
    for &start in cycle.iter().filter(|node| is_entered(node)).chain(&cycle) {
        walk.move_to(start);
        while let Some(node) = walk.next(&inside) {
            order.push(node);
        }
    }
    order
}

/// By function, those that call it.
pub fn callers(program: &Program) -> Vec<Vec<usize>> {
    let mut callers = vec![Vec::new(); program.functions.len()];
    for (index, function) in program.functions.iter().enumerate() {
        let instructions = function.body.iter().flat_map(|body| &body.blocks).flat_map(|b| &b.instructions);
        for instruction in instructions {
            if let Op::Call(call) = &instruction.op
                && let Callee::Function(callee) = call.callee
            {
                callers[callee.0 as usize].push(index);
            }
        }
    }
    callers.iter_mut().for_each(Vec::dedup);
    callers
}

/// Functions whose addresses are used, by what they take.
pub fn taken(program: &Program) -> FxHashMap<&Signature, Vec<FuncId>> {
    let mut all = FxHashSet::default();
    let mut take = |operand: &Operand| {
        if let Operand::Function(function) = operand {
            all.insert(*function);
        }
    };
    for cell in program.globals.iter().flat_map(|global| global.initial.iter().flatten()) {
        take(&cell.value);
    }
    for block in program.functions.iter().filter_map(|f| f.body.as_ref()).flat_map(|body| &body.blocks) {
        block.instructions.iter().for_each(|instruction| instruction.op.for_each_operand(&mut take));
        block.end.operand().into_iter().for_each(&mut take);
    }
    let mut all: Vec<FuncId> = all.into_iter().collect();
    all.sort();
    let mut taken: FxHashMap<&Signature, Vec<FuncId>> = FxHashMap::default();
    for id in all {
        taken.entry(&program.function(id).signature).or_default().push(id);
    }
    taken
}

/// Functions and globals with all that tables which nobody changes lead to.
pub fn closure(
    world: &World,
    functions: Vec<FuncId>,
    globals: Vec<GlobalId>,
) -> (Vec<FuncId>, Vec<GlobalId>) {
    let Callees { all, globals, .. } = Callees::reached(world, functions, globals.into_iter().collect());
    (all, globals)
}

fn graph<'a>(edges: impl Iterator<Item = &'a Vec<FuncId>> + Clone) -> DiGraph<FuncId, ()> {
    let mut graph = DiGraph::new();
    let nodes: Vec<NodeIndex> =
        edges.clone().enumerate().map(|(index, _)| graph.add_node(FuncId(index as u32))).collect();
    for (from, callees) in nodes.iter().zip(edges) {
        for callee in callees {
            graph.add_edge(*from, nodes[callee.0 as usize], ());
        }
    }
    graph
}

struct Callees {
    /// Functions that a body calls or whose address it uses, also in tables that
    /// nobody changes.
    plain: Vec<FuncId>,
    /// Also those in the tables of classes.
    all: Vec<FuncId>,
    /// Globals on the way.
    globals: Vec<GlobalId>,
}

impl Callees {
    fn of(world: &World, id: FuncId) -> Callees {
        let program = world.program;
        let (mut found, mut tables) = (Vec::new(), FxHashSet::default());
        let mut note = |operand: &Operand| match operand {
            Operand::Function(function) => found.push(*function),
            Operand::Global(global, _) => drop(tables.insert(*global)),
            _ => {}
        };
        let mut direct = Vec::new();
        for block in program.function(id).body.iter().flat_map(|body| &body.blocks) {
            for instruction in &block.instructions {
                instruction.op.for_each_operand(&mut note);
                if let Op::Call(call) = &instruction.op
                    && let Callee::Function(function) = call.callee
                {
                    direct.push(function);
                }
            }
            block.end.operand().into_iter().for_each(&mut note);
        }
        found.extend(direct);
        Callees::reached(world, found, tables)
    }

    /// From functions and globals that a body mentions on.
    fn reached(world: &World, mut found: Vec<FuncId>, mut tables: FxHashSet<GlobalId>) -> Callees {
        let program = world.program;
        let mut all = Vec::new();
        // Whether it is reached through the table of a class.
        let mut open: Vec<(GlobalId, bool)> = tables.iter().map(|&table| (table, false)).collect();
        open.sort();
        while let Some((table, is_of_class)) = open.pop() {
            if world.is_written(table) {
                all.extend(world.handler(table));
                continue;
            }
            let global = program.global(table);
            let is_of_class = is_of_class || global.name.starts_with(CLASS_TABLE);
            for cell in global.initial.iter().flatten() {
                match cell.value {
                    Operand::Function(function) if is_of_class => all.push(function),
                    Operand::Function(function) => found.push(function),
                    Operand::Global(inner, _) if tables.insert(inner) => open.push((inner, is_of_class)),
                    _ => {}
                }
            }
        }
        all.extend(&found);
        for functions in [&mut found, &mut all] {
            functions.sort();
            functions.dedup();
        }
        let mut globals: Vec<GlobalId> = tables.into_iter().collect();
        globals.sort();
        Callees { plain: found, all, globals }
    }
}
