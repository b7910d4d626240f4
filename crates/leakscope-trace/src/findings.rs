//! Blocks, grouped into findings.
//!
//! Blocks of one allocation place are one finding. A lost block that another
//! lost block reaches is indirect: its finding names the finding at the root
//! (`via`). In a cycle that nothing else reaches, one block stands for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use leakscope_core::{Fault, FaultKind, Finding, Kind};
use leakscope_wire as wire;

use crate::places::{PlaceId, Places, RecordPlaces};
use crate::record::{Process, Record};
use crate::roots::Roots;

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
    let mut places = Places::new(program);
    let mut groups = Groups::default();
    let mut notes = BTreeSet::new();
    let mut fault = None;
    for process in processes {
        let Some((last, earlier)) = process.records.split_last() else { continue };
        let named = places.of_record(last);
        groups.add_lost(&named, last);
        groups.add_reachable(&places, &named, last);
        if let Some(found) = &last.fault {
            fault = fault.or_else(|| fault_of(&places, &named, found));
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
        for snapshot in earlier {
            groups.add_history(&places.of_record(snapshot), snapshot);
        }
    }
    Outcome { findings: groups.into_findings(&places), fault, notes: notes.into_iter().collect() }
}

/// Findings to be, in the order in which their first block came.
#[derive(Default)]
struct Groups {
    index: HashMap<(Kind, PlaceId), usize>,
    list: Vec<Group>,
}

struct Group {
    kind: Kind,
    place: PlaceId,
    size: Size,
    /// Blocks that no other lost block reaches.
    direct: u64,
    /// Groups at the roots from which indirect blocks are reached.
    roots: BTreeSet<usize>,
    /// What was lost at earlier snapshots, by process and sequence.
    history: BTreeMap<(u32, u32), Size>,
}

#[derive(Clone, Copy, Default)]
struct Size {
    blocks: u64,
    bytes: u64,
}

impl Size {
    fn add(&mut self, blocks: u64, bytes: u64) {
        self.blocks = self.blocks.saturating_add(blocks);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Groups {
    fn at(&mut self, kind: Kind, place: PlaceId) -> usize {
        *self.index.entry((kind, place)).or_insert_with(|| {
            self.list.push(Group {
                kind,
                place,
                size: Size::default(),
                direct: 0,
                roots: BTreeSet::new(),
                history: BTreeMap::new(),
            });
            self.list.len() - 1
        })
    }

    fn add_lost(&mut self, named: &RecordPlaces, record: &Record) {
        let roots = Roots::new(record.lost.len(), &record.edges);
        let groups: Vec<usize> =
            record.lost.iter().map(|block| self.at(Kind::Lost, named.of(block.stack))).collect();
        for (index, block) in record.lost.iter().enumerate() {
            let group = &mut self.list[groups[index]];
            let above = roots.above(index);
            group.size.add(1, block.bytes);
            group.direct += u64::from(above.is_empty());
            group.roots.extend(above.iter().map(|&root| groups[root]));
        }
    }

    fn add_reachable(&mut self, places: &Places, named: &RecordPlaces, record: &Record) {
        for reachable in &record.reachable {
            let place = named.of(reachable.stack);
            if !is_runtimes_own(places, place) {
                let group = self.at(Kind::Forgotten, place);
                self.list[group].size.add(reachable.blocks, reachable.bytes);
            }
        }
    }

    fn add_history(&mut self, named: &RecordPlaces, record: &Record) {
        let moment = (record.header.pid, record.header.sequence);
        for block in &record.lost {
            if let Some(&group) = self.index.get(&(Kind::Lost, named.of(block.stack))) {
                self.list[group].history.entry(moment).or_default().add(1, block.bytes);
            }
        }
    }

    fn into_findings(self, places: &Places) -> Vec<Finding> {
        let finding = |(index, group): (usize, Group)| {
            let mut finding = Finding::new(group.kind, places.place(group.place));
            finding.blocks = Some(group.size.blocks);
            finding.bytes = Some(group.size.bytes);
            if group.kind == Kind::Lost && group.direct == 0 {
                finding.via =
                    group.roots.iter().filter(|&&root| root != index).map(usize::to_string).collect();
            }
            if !group.history.is_empty() {
                let snapshots = group.history.iter().map(|(&(pid, sequence), size)| {
                    serde_json::json!({
                        "pid": pid, "snapshot": sequence, "blocks": size.blocks, "bytes": size.bytes
                    })
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
fn is_runtimes_own(places: &Places, place: PlaceId) -> bool {
    let innermost = places.innermost(place).and_then(|frame| frame.function.as_deref());
    !places.is_users(place) || innermost == Some("_IO_file_doallocate")
}

fn fault_of(places: &Places, named: &RecordPlaces, fault: &wire::Fault) -> Option<Fault> {
    let place = |stack: u32| {
        Some(places.place(named.of(stack))).filter(|place| stack != 0 && !place.stack.is_empty())
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
