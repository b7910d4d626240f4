//! Blocks, grouped into findings.
//!
//! Blocks of one allocation place are one finding. A lost block that another
//! lost block reaches is indirect: its finding names the finding at the root
//! (`via`). In a cycle that nothing else reaches, one block stands for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use leakscope_core::{Fault, FaultKind, Finding, Kind, Place};
use leakscope_wire as wire;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::record::{Process, Record};
use crate::symbols::{Named, Symboliser};

/// What the records of a run say.
#[derive(Debug)]
pub struct Outcome {
    /// `via` holds indices into this list, as `Report::new` takes them.
    pub findings: Vec<Finding>,
    /// A misuse of the heap that stopped the program.
    pub fault: Option<Fault>,
    pub notes: Vec<Note>,
}

/// What limits the answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// The address space limit left the heap so many bytes.
    AddressSpace { heap_limit: u64 },
    /// A thread could not be stopped; its whole stack was scanned.
    ThreadRunning,
    /// Only a snapshot is there: the process ended without a last word.
    OnlySnapshot { pid: u32 },
}

/// Makes findings of the last record of each process.
pub fn analyse(processes: &[Process], program: &Path) -> Outcome {
    let mut names = Names { symboliser: Symboliser::new(program), known: HashMap::new() };
    let mut groups = Groups::default();
    let mut notes = BTreeSet::new();
    let mut fault = None;
    for (index, process) in processes.iter().enumerate() {
        let Some(last) = process.records.last() else { continue };
        groups.add_lost(&mut names, index, last);
        groups.add_reachable(&mut names, index, last);
        if let Some(found) = &last.fault {
            fault = fault.or_else(|| fault_of(&mut names, index, last, found));
        }
        if last.totals.limits & wire::limits::ADDRESS_SPACE != 0 {
            notes.insert(Note::AddressSpace { heap_limit: last.totals.heap_limit });
        }
        if last.totals.limits & wire::limits::THREAD_RUNNING != 0 {
            notes.insert(Note::ThreadRunning);
        }
        if wire::Reason::from_u32(last.header.reason) == Some(wire::Reason::Snapshot) {
            notes.insert(Note::OnlySnapshot { pid: process.pid });
        }
        for earlier in &process.records[..process.records.len() - 1] {
            groups.add_history(&mut names, index, earlier);
        }
    }
    Outcome { findings: groups.into_findings(), fault, notes: notes.into_iter().collect() }
}

/// Names of stacks, each worked out once.
struct Names {
    symboliser: Symboliser,
    known: HashMap<(usize, u32, u32), Named>,
}

impl Names {
    fn get(&mut self, process: usize, record: &Record, stack: u32) -> &Named {
        let key = (process, record.header.sequence, stack);
        self.known.entry(key).or_insert_with(|| self.symboliser.stack(record, stack))
    }
}

/// Findings to be, in the order in which their first block came.
#[derive(Default)]
struct Groups {
    index: HashMap<(Kind, Place), usize>,
    list: Vec<Group>,
}

struct Group {
    kind: Kind,
    place: Place,
    blocks: u64,
    bytes: u64,
    /// Blocks that no other lost block reaches.
    direct: u64,
    /// Groups at the roots from which indirect blocks are reached.
    roots: BTreeSet<usize>,
    /// Lost blocks and bytes at earlier snapshots.
    history: BTreeMap<(u32, u32), (u64, u64)>,
}

impl Groups {
    fn at(&mut self, kind: Kind, place: &Place) -> usize {
        *self.index.entry((kind, place.clone())).or_insert_with(|| {
            self.list.push(Group {
                kind,
                place: place.clone(),
                blocks: 0,
                bytes: 0,
                direct: 0,
                roots: BTreeSet::new(),
                history: BTreeMap::new(),
            });
            self.list.len() - 1
        })
    }

    fn add_lost(&mut self, names: &mut Names, process: usize, record: &Record) {
        let roots = roots_of(record);
        let groups: Vec<usize> = record
            .lost
            .iter()
            .map(|block| self.at(Kind::Lost, &names.get(process, record, block.stack).place))
            .collect();
        for (block, (&group, roots)) in record.lost.iter().zip(groups.iter().zip(&roots)) {
            self.list[group].blocks += 1;
            self.list[group].bytes += block.bytes;
            self.list[group].direct += u64::from(roots.is_empty());
            let roots = roots.iter().map(|&root| groups[root]);
            self.list[group].roots.extend(roots);
        }
    }

    fn add_reachable(&mut self, names: &mut Names, process: usize, record: &Record) {
        for reachable in &record.reachable {
            let named = names.get(process, record, reachable.stack);
            if is_runtimes_own(named) {
                continue;
            }
            let place = named.place.clone();
            let group = self.at(Kind::Forgotten, &place);
            self.list[group].blocks += reachable.blocks;
            self.list[group].bytes += reachable.bytes;
        }
    }

    fn add_history(&mut self, names: &mut Names, process: usize, record: &Record) {
        for block in &record.lost {
            let place = &names.get(process, record, block.stack).place;
            if let Some(&group) = self.index.get(&(Kind::Lost, place.clone())) {
                let key = (record.header.pid, record.header.sequence);
                let (blocks, bytes) = self.list[group].history.entry(key).or_default();
                *blocks += 1;
                *bytes += block.bytes;
            }
        }
    }

    fn into_findings(self) -> Vec<Finding> {
        let finding = |(index, group): (usize, Group)| {
            let mut finding = Finding::new(group.kind, group.place);
            finding.blocks = Some(group.blocks);
            finding.bytes = Some(group.bytes);
            if group.kind == Kind::Lost && group.direct == 0 {
                finding.via =
                    group.roots.iter().filter(|&&root| root != index).map(usize::to_string).collect();
            }
            if !group.history.is_empty() {
                let snapshots = group.history.iter().map(|(&(pid, sequence), &(blocks, bytes))| {
                    serde_json::json!({ "pid": pid, "snapshot": sequence, "blocks": blocks, "bytes": bytes })
                });
                finding.evidence.insert("snapshots".to_owned(), snapshots.collect());
            }
            finding
        };
        self.list.into_iter().enumerate().map(finding).collect()
    }
}

/// What libc and the C++ library keep for themselves until the end, which
/// nobody can or should free: buffers of standard streams, and blocks that no
/// code of the program's asked for.
fn is_runtimes_own(named: &Named) -> bool {
    let innermost = named.innermost.as_deref().map(|name| name.trim_start_matches("__GI_"));
    !named.is_users || innermost == Some("_IO_file_doallocate")
}

/// For each lost block, the blocks at the roots that reach it; none for a
/// block that is itself a root.
fn roots_of(record: &Record) -> Vec<Vec<usize>> {
    let count = record.lost.len();
    let mut graph = DiGraph::<(), (), u32>::with_capacity(count, record.edges.len());
    for _ in 0..count {
        graph.add_node(());
    }
    for edge in &record.edges {
        let valid = (edge.from as usize) < count && (edge.to as usize) < count;
        if valid && edge.from != edge.to {
            graph.add_edge(NodeIndex::new(edge.from as usize), NodeIndex::new(edge.to as usize), ());
        }
    }
    let components = petgraph::algo::kosaraju_scc(&graph);
    let mut component_of = vec![0; count];
    for (number, component) in components.iter().enumerate() {
        component.iter().for_each(|node| component_of[node.index()] = number);
    }
    let mut roots: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut reached = vec![false; components.len()];
    // Callers before callees: the components come in the opposite order.
    for (number, component) in components.iter().enumerate().rev() {
        let first = component.iter().map(|node| node.index()).min().unwrap_or(0);
        let above = if reached[number] { roots[first].clone() } else { vec![first] };
        for node in component {
            let is_root = !reached[number] && node.index() == first;
            roots[node.index()] = if is_root { Vec::new() } else { above.clone() };
            for next in graph.neighbors(*node) {
                let target = component_of[next.index()];
                if target != number {
                    reached[target] = true;
                    let lowest = components[target].iter().map(|node| node.index()).min().unwrap_or(0);
                    merge(&mut roots[lowest], &above);
                }
            }
        }
    }
    roots
}

/// Roots beyond these say nothing more to a reader.
const ROOTS_MAX: usize = 8;

fn merge(roots: &mut Vec<usize>, more: &[usize]) {
    for &root in more {
        if roots.len() < ROOTS_MAX && !roots.contains(&root) {
            roots.push(root);
        }
    }
}

fn fault_of(names: &mut Names, process: usize, record: &Record, fault: &wire::Fault) -> Option<Fault> {
    let mut place = |stack: u32| {
        let named = names.get(process, record, stack);
        (stack != 0 && !named.place.stack.is_empty()).then(|| named.place.clone())
    };
    Some(Fault {
        kind: match wire::FaultKind::from_u32(fault.kind)? {
            wire::FaultKind::DoubleFree => FaultKind::DoubleFree,
            wire::FaultKind::InvalidFree => FaultKind::InvalidFree,
        },
        address: fault.address,
        place: place(fault.stack).unwrap_or_default(),
        allocated: place(fault.allocated),
        freed: place(fault.freed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roots of each of `count` blocks with the given pointers between them.
    fn check(count: u32, edges: &[(u32, u32)], expected: &[&[usize]]) {
        let block = |stack| wire::LostBlock { address: 0, bytes: 8, stack, reserved: 0 };
        let header = wire::Header {
            magic: wire::MAGIC,
            version: wire::VERSION,
            reason: 1,
            status: 0,
            pid: 1,
            parent: 0,
            sequence: 0,
            time: 0,
        };
        let record = Record {
            header,
            modules: Vec::new(),
            stacks: BTreeMap::new(),
            lost: (0..count).map(block).collect(),
            edges: edges.iter().map(|&(from, to)| wire::Edge { from, to }).collect(),
            reachable: Vec::new(),
            fault: None,
            totals: wire::Totals::default(),
        };
        assert_eq!(roots_of(&record), expected, "{edges:?}");
    }

    #[test]
    fn roots_of_lost_blocks() {
        check(2, &[], &[&[], &[]]);
        check(3, &[(0, 1), (1, 2)], &[&[], &[0], &[0]]);
        check(3, &[(2, 1), (1, 0)], &[&[2], &[2], &[]]);
        // A block that points to itself is still a root.
        check(1, &[(0, 0)], &[&[]]);
        // A cycle has one root; what hangs from it is reached from there.
        check(3, &[(0, 1), (1, 0), (1, 2)], &[&[], &[0], &[0]]);
        // Two roots share a child.
        check(3, &[(0, 2), (1, 2)], &[&[], &[], &[0, 1]]);
        // A cycle below a root.
        check(3, &[(2, 0), (0, 1), (1, 0)], &[&[2], &[2], &[]]);
    }

    #[test]
    fn a_long_list_needs_no_deep_recursion() {
        let edges: Vec<(u32, u32)> = (0..200_000).map(|node| (node, node + 1)).collect();
        let expected: Vec<&[usize]> =
            std::iter::once(&[][..]).chain((0..200_000).map(|_| &[0][..])).collect();
        check(200_001, &edges, &expected);
    }
}
