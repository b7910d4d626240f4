//! Blocks, grouped into findings.
//!
//! Blocks of one allocation place and one leak place are one finding; of
//! forgotten blocks, the place of the last use takes that of the leak
//! (LEAKPOINT 3.4). A lost block that another lost block reaches is indirect:
//! its finding names the finding at the root (`via`). In a cycle that nothing
//! else reaches, one block stands for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::path::Path;

use indexmap::IndexMap;
use leakscope_core::{self as core, Candidate, Cause, Fault, FaultKind, Finding, Frame, Kind, Place};
use leakscope_wire as wire;

use crate::counted::Counted;
use crate::events::{self, Event, EventId, Events, RecordEvents};
use crate::frees::Frees;
use crate::holders::{self, HeldBy};
use crate::moments::Moment;
use crate::places::{Call, PlaceId, Places, RecordPlaces};
use crate::record::{Process, Record};
use crate::stale::{Judgement, Predicate};
use crate::wrappers::{Allocations, Wrappers};

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
    /// Accesses were sampled: of so many, one in `least` at least; and what
    /// was called stale. That is of the one of so many processes that had most.
    Sampled { time: u64, least: u32, stale: String, processes: usize },
}

/// Makes findings of the last record of each process.
pub fn analyse(processes: &[Process], program: &Path) -> Outcome {
    analyse_as(processes, program, None)
}

/// The same where accesses were sampled: of what is reachable, blocks that
/// `predicate` calls stale are findings, and no others.
pub fn analyse_stale(processes: &[Process], program: &Path, predicate: &Predicate) -> Outcome {
    analyse_as(processes, program, Some(predicate))
}

fn analyse_as(processes: &[Process], program: &Path, predicate: Option<&Predicate>) -> Outcome {
    let mut run = Run::new(program);
    let mut notes = BTreeSet::new();
    let (mut fault, mut sampled) = (None, Vec::new());
    for process in processes {
        let Some((last, earlier)) = process.records.split_last() else { continue };
        let named = run.places.of_record(last);
        run.add_lost(&named, last);
        match (predicate, last.sampling) {
            (Some(predicate), Some(sampling)) => {
                run.add_stale(&named, last, predicate, sampling);
                sampled.push(sampling);
            }
            (Some(_), None) => {}
            (None, _) => run.add_reachable(&named, last),
        }
        run.add_frees(&named, last);
        if let Some(found) = &last.fault {
            fault = fault.or_else(|| fault_of(&run.places, &named, found));
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
            let named = run.places.of_record(snapshot);
            run.add_history(&named, snapshot);
        }
    }
    if let (Some(predicate), Some(most)) = (predicate, sampled.iter().max_by_key(|sampling| sampling.time)) {
        let wire::Sampling { time, least, .. } = *most;
        let stale = predicate.at(time).to_string();
        notes.insert(Note::Sampled { time, least, stale, processes: sampled.len() });
    }
    Outcome { findings: run.findings(), fault, notes: notes.into_iter().collect() }
}

/// What is known of a run so far.
struct Run {
    places: Places,
    events: Events,
    frees: Frees,
    allocations: Allocations,
    index: HashMap<Key, usize>,
    /// Findings to be, in the order in which their first block came.
    groups: Vec<Group>,
}

/// What the blocks of one finding have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    allocated: PlaceId,
    /// Where the block's story ends, if that is known.
    end: Option<PlaceId>,
}

struct Group {
    key: Key,
    size: Size,
    /// The calls by which libraries asked for the blocks.
    calls: BTreeSet<Option<Call>>,
    /// Blocks that no other lost block reaches.
    direct: u64,
    /// Groups at the roots from which indirect blocks are reached.
    roots: BTreeSet<usize>,
    /// The engine stamps, so that its silence says something.
    stamped: bool,
    /// The user chose others to be followed.
    not_followed: bool,
    /// What is known of the first block that is reference-counted: where its
    /// reference lost its holder, and the rest.
    counted: Option<(Option<PlaceId>, Counted)>,
    /// The engine saw that a block may count its references.
    may_be_counted: bool,
    /// The slot whose pointer died last had handed a block over.
    moved_on: bool,
    /// The first death by which a block was lost, if they were counted.
    moment: Option<Moment>,
    /// The events by which the blocks were lost, and what may be meant
    /// instead, each with its blocks.
    leaks: IndexMap<EventId, u64>,
    earlier: IndexMap<EventId, u64>,
    /// Places of the last use, each with its bytes.
    last_used: IndexMap<PlaceId, u64>,
    /// What was accessed before each, in one burst.
    bursts: HashMap<PlaceId, Vec<PlaceId>>,
    /// What holds the first few, where they are forgotten.
    held_by: BTreeSet<HeldBy>,
    /// What was lost at earlier snapshots, or live of a stale group, by process
    /// and sequence.
    history: BTreeMap<(u32, u32), Size>,
    staleness: Staleness,
}

/// How blocks of a group lay idle.
#[derive(Clone, Copy, Default)]
struct Staleness {
    /// Bytes times idle time.
    drag: u64,
    /// The least and the most.
    idle: (u64, u64),
    /// The most.
    active: u64,
    /// For how long they had to lie idle, where that is more than the user said.
    least: u64,
    /// Blocks of which no access was seen, and those whose frees were left
    /// out.
    never: u64,
    injected: u64,
    /// All of the same allocation, stale or not.
    live: Size,
    /// The user did not say what is stale.
    by_default: bool,
}

#[derive(Clone, Copy, Default)]
struct Size {
    blocks: u64,
    bytes: u64,
}

impl Group {
    /// Whether a library of the system's asked for the blocks, nobody else was
    /// seen to use them, and they do not get more: what it keeps for itself. Its
    /// own accesses are not seen, so nothing is known of how long they lay idle.
    fn is_librarys_own(&self) -> bool {
        self.key.kind == Kind::Stale
            && self.staleness.by_default
            && self.staleness.never == self.size.blocks
            && self.calls.iter().all(Option::is_some)
            && self.trend() == "flat"
    }

    fn trend(&self) -> &'static str {
        trend(self.history.values().map(|size| size.blocks), self.staleness.live.blocks)
    }
}

impl Size {
    fn add(&mut self, blocks: u64, bytes: u64) {
        self.blocks = self.blocks.saturating_add(blocks);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// More candidates say no more.
const CANDIDATES_MAX: usize = 4;

/// More holders say no more.
const HOLDERS_MAX: usize = 3;

impl Run {
    fn new(program: &Path) -> Run {
        Run {
            places: Places::new(program),
            events: Events::default(),
            frees: Frees::default(),
            allocations: Allocations::default(),
            index: HashMap::new(),
            groups: Vec::new(),
        }
    }

    fn group(&mut self, key: Key) -> usize {
        *self.index.entry(key).or_insert_with(|| {
            self.groups.push(Group {
                key,
                size: Size::default(),
                calls: BTreeSet::new(),
                direct: 0,
                roots: BTreeSet::new(),
                stamped: false,
                not_followed: false,
                counted: None,
                may_be_counted: false,
                moved_on: false,
                moment: None,
                leaks: IndexMap::new(),
                earlier: IndexMap::new(),
                last_used: IndexMap::new(),
                bursts: HashMap::new(),
                held_by: BTreeSet::new(),
                history: BTreeMap::new(),
                staleness: Staleness::default(),
            });
            self.groups.len() - 1
        })
    }

    fn add_lost(&mut self, named: &RecordPlaces, record: &Record) {
        let events = self.events.of_record(&self.places, named, record);
        let groups: Vec<usize> = (0..record.lost.len())
            .map(|block| self.group(self.lost_key(named, record, &events, block)))
            .collect();
        for (index, block) in record.lost.iter().enumerate() {
            self.allocations.add(named.of(block.stack), Some(block.bytes));
            let group = &mut self.groups[groups[index]];
            let above = events.roots.above(index);
            group.size.add(1, block.bytes);
            group.calls.insert(named.call(block.stack));
            group.staleness.injected += u64::from(block.injected);
            group.direct += u64::from(above.is_empty());
            group.roots.extend(above.iter().map(|&root| groups[root]));
            if let Some(counted) = record.counted.get(&(index as u32)).filter(|_| group.counted.is_none()) {
                let moment = counted.moment.map(|stack| named.of(stack));
                let held = || counted.moment.and_then(|stack| named.held(stack));
                let variable = counted.variable.clone().or_else(held);
                group.counted = Some((moment, Counted { variable, ..counted.clone() }));
            }
            group.may_be_counted |= record.may_be_counted.contains(&(index as u64));
            group.moved_on |= record.moved_on.contains(&(index as u32));
            let Some(stamps) = record.stamps.get(index) else { continue };
            if stamps.last_used == wire::NOT_FOLLOWED {
                group.not_followed = true;
                continue;
            }
            group.stamped = record.totals.limits & wire::limits::NO_DEATHS == 0;
            let moment = events.roots.latest(index).and_then(|block| Moment::of(record, block));
            group.moment = group.moment.into_iter().chain(moment).min();
            weigh(&mut group.leaks, events.leak(index), 1);
            weigh(&mut group.earlier, events.earlier(index), 1);
            weigh(&mut group.last_used, last_use(named, record, stamps.last_used, block.stack), block.bytes);
        }
    }

    fn lost_key(&self, named: &RecordPlaces, record: &Record, events: &RecordEvents, block: usize) -> Key {
        let end = events.leak(block).map(|event| self.events.event(event).place);
        Key { kind: Kind::Lost, allocated: named.of(record.lost[block].stack), end }
    }

    fn add_reachable(&mut self, named: &RecordPlaces, record: &Record) {
        for reachable in &record.reachable {
            let place = named.of(reachable.stack);
            self.allocations.add(place, reachable.bytes.checked_div(reachable.blocks));
            if !is_runtimes_own(&self.places, place) {
                let end = last_use(named, record, reachable.last_used, reachable.stack);
                let group = self.group(Key { kind: Kind::Forgotten, allocated: place, end });
                self.groups[group].size.add(reachable.blocks, reachable.bytes);
                self.groups[group].calls.insert(named.call(reachable.stack));
                weigh(&mut self.groups[group].last_used, end, reachable.bytes);
            }
        }
        let group = |holder: &wire::Holder| {
            let end = last_use(named, record, holder.last_used, holder.stack);
            let key = Key { kind: Kind::Forgotten, allocated: named.of(holder.stack), end };
            self.index.get(&key).copied()
        };
        let function = &mut |code| self.places.function(record, code);
        for (holder, held_by) in holders::of_record(record, |holder| group(holder).is_some(), function) {
            if let Some(group) = group(holder) {
                self.groups[group].held_by.insert(held_by);
            }
        }
    }

    fn add_stale(
        &mut self,
        named: &RecordPlaces,
        record: &Record,
        predicate: &Predicate,
        sampling: wire::Sampling,
    ) {
        let accesses = record.accesses.iter().map(|&blocks| (named.of(blocks.stack), blocks));
        let returned = record.returned.iter().map(|&blocks| (named.of(blocks.stack), blocks));
        let judgement = Judgement::new(predicate, sampling, accesses, returned);
        let key = |place| Key { kind: Kind::Stale, allocated: place, end: None };
        let bursts: HashMap<u32, Vec<PlaceId>> =
            record.bursts.iter().map(|at| (at.place, named.burst(at))).collect();
        for blocks in &record.accesses {
            let place = named.of(blocks.stack);
            self.allocations.add(place, blocks.bytes.checked_div(blocks.blocks));
            if !judgement.is_stale(place, blocks) || is_runtimes_own(&self.places, place) {
                continue;
            }
            let index = self.group(key(place));
            let group = &mut self.groups[index];
            group.staleness.by_default = *predicate == Predicate::default();
            let Staleness { drag, idle, active, never, injected, least, .. } = &mut group.staleness;
            *least = (*least).max(judgement.least(place));
            let most = blocks.drag.checked_div(blocks.bytes).unwrap_or(blocks.idle).max(blocks.idle);
            let shortest = if group.size.blocks == 0 { blocks.idle } else { idle.0.min(blocks.idle) };
            *idle = (shortest, idle.1.max(most));
            *drag = drag.saturating_add(blocks.drag);
            *active = (*active).max(blocks.active);
            *never += if blocks.never != 0 { blocks.blocks } else { 0 };
            *injected += if blocks.injected != 0 { blocks.blocks } else { 0 };
            group.size.add(blocks.blocks, blocks.bytes);
            group.calls.insert(named.call(blocks.stack));
            // Not all accesses are seen; those to other blocks of the group
            // say where they were.
            let last_used = named.known(blocks.last_used);
            weigh(&mut group.last_used, last_used, blocks.blocks);
            if let Some((place, burst)) = last_used.zip(bursts.get(&blocks.last_used)) {
                group.bursts.entry(place).or_insert_with(|| burst.clone());
            }
        }
        for blocks in &record.accesses {
            if let Some(&group) = self.index.get(&key(named.of(blocks.stack))) {
                self.groups[group].staleness.live.add(blocks.blocks, blocks.bytes);
            }
        }
    }

    fn add_frees(&mut self, named: &RecordPlaces, record: &Record) {
        self.frees.add(named, record);
        for free in &record.frees {
            self.allocations.add(named.of(free.allocated), None);
        }
    }

    fn add_history(&mut self, named: &RecordPlaces, record: &Record) {
        let events = self.events.of_record(&self.places, named, record);
        let moment = (record.header.pid, record.header.sequence);
        for (index, block) in record.lost.iter().enumerate() {
            if let Some(&group) = self.index.get(&self.lost_key(named, record, &events, index)) {
                self.groups[group].history.entry(moment).or_default().add(1, block.bytes);
            }
        }
        for blocks in &record.accesses {
            let key = Key { kind: Kind::Stale, allocated: named.of(blocks.stack), end: None };
            if let Some(&group) = self.index.get(&key) {
                self.groups[group].history.entry(moment).or_default().add(blocks.blocks, blocks.bytes);
            }
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let wrappers = self.allocations.wrappers(&self.places);
        let kept = self.groups.iter().enumerate().filter(|(_, group)| !group.is_librarys_own());
        let kept: IndexMap<usize, &Group> = kept.collect();
        kept.iter().map(|(&index, group)| self.finding(index, group, &wrappers, &kept)).collect()
    }

    fn finding(
        &self,
        index: usize,
        group: &Group,
        wrappers: &Wrappers,
        kept: &IndexMap<usize, &Group>,
    ) -> Finding {
        let allocated = wrappers.mark(self.places.place(group.key.allocated));
        let mut finding = Finding::new(group.key.kind, allocated);
        finding.blocks = Some(group.size.blocks);
        finding.bytes = Some(group.size.bytes);
        if group.key.kind == Kind::Lost && group.direct == 0 {
            let roots = group.roots.iter().filter(|&&root| root != index);
            let position = |root| kept.get_index_of(root).map(|at| at.to_string());
            finding.via = roots.filter_map(position).collect();
        }
        finding.last_used = by_weight(&group.last_used).next().map(|id| self.places.place(id));
        finding.freed_elsewhere =
            self.frees.of(group.key.allocated, &group.calls, &finding.allocated, &self.places);
        if group.key.kind == Kind::Lost && self.may_be_counted(group, &finding) {
            finding.evidence.insert("may_be_counted".to_owned(), true.into());
        }
        if group.stamped {
            self.set_leak(&mut finding, group);
        } else if group.not_followed {
            finding.evidence.insert("inexact".to_owned(), "its pointers were not followed".into());
        }
        if let Some((moment, counted)) = &group.counted {
            self.set_counted(&mut finding, *moment, counted);
        }
        if group.moved_on {
            finding.evidence.insert("handed_over".to_owned(), true.into());
        }
        if let Some(moment) = group.moment {
            finding.evidence.insert("moment".to_owned(), moment.to_json());
        }
        if !group.held_by.is_empty() {
            let held_by = group.held_by.iter().take(HOLDERS_MAX).map(HeldBy::to_json);
            finding.evidence.insert("held_by".to_owned(), held_by.collect());
        }
        if !group.history.is_empty() {
            let snapshots = group.history.iter().map(|(&(pid, sequence), size)| {
                serde_json::json!({
                    "pid": pid, "snapshot": sequence, "blocks": size.blocks, "bytes": size.bytes
                })
            });
            finding.evidence.insert("snapshots".to_owned(), snapshots.collect());
        }
        if group.key.kind == Kind::Stale {
            finding.evidence.extend(staleness(group));
            let burst = by_weight(&group.last_used).next().and_then(|place| group.bursts.get(&place));
            finding.evidence.extend(burst.map(|burst| ("burst_history".to_owned(), self.burst(burst))));
        }
        if group.staleness.injected > 0 {
            finding.evidence.insert("injected".to_owned(), group.staleness.injected.into());
        }
        finding
    }

    /// Whether blocks may count their references: they were last used where an
    /// integer changes by one, or used or their siblings freed right after that.
    fn may_be_counted(&self, group: &Group, finding: &Finding) -> bool {
        /// From `if (--p->count == 0)` to the call that frees, and to that of a
        /// function which frees.
        const NEAR: u32 = 4;
        const BEFORE: u32 = 16;
        let counts = |frame: &Frame, before: u32| self.places.counts(frame, before);
        let calls = |place: &Place| place.stack.iter().skip(1).take(2).any(|frame| counts(frame, BEFORE));
        let frees = || finding.freed_elsewhere.iter().map(|free| &free.place);
        let mut used = group.last_used.keys().filter_map(|&id| self.places.innermost(id));
        let mut freed = frees().filter_map(|free| free.stack.first());
        group.may_be_counted
            || used.any(|frame| counts(frame, 0))
            || freed.any(|frame| counts(frame, NEAR))
            || finding.last_used.as_ref().is_some_and(calls)
            || frees().any(calls)
    }

    /// Of a reference-counted block the place is where its reference lost its
    /// holder; where the last pointer went stands beside it.
    fn set_counted(&self, finding: &mut Finding, moment: Option<PlaceId>, counted: &Counted) {
        let Counted { references, holders, field, variable, cause, is_exact, .. } = counted.clone();
        finding.counted = Some(core::Counted { references, holders, field });
        let Some(moment) = moment else { return };
        let place = self.places.place(moment);
        if let Some(leaked) = finding.leaked.replace(place) {
            let (cause, variable) = (finding.cause, finding.variable.take());
            finding.candidates.insert(0, Candidate { place: leaked, cause, variable });
            finding.candidates.truncate(CANDIDATES_MAX);
        }
        let cause = cause.map_or(Cause::NotReleased, events::cause);
        (finding.cause, finding.variable, finding.exact) = (cause, variable, is_exact);
        finding.evidence.insert("not_released".to_owned(), true.into());
        finding.evidence.remove("inexact");
        if !is_exact {
            let reason = "the code was optimised, and its variables are in registers";
            finding.evidence.insert("inexact".to_owned(), reason.into());
        }
    }

    /// The lines of a burst, the earliest first.
    fn burst(&self, burst: &[PlaceId]) -> serde_json::Value {
        let lines = burst.iter().filter_map(|&place| {
            let place = self.places.place(place);
            let frame = place.headline()?;
            Some(serde_json::json!({"function": frame.function, "file": frame.file, "line": frame.line}))
        });
        lines.collect()
    }

    fn set_leak(&self, finding: &mut Finding, group: &Group) {
        let leak = by_weight(&group.leaks).next().map(|id| self.events.event(id));
        let reason = events::inexact(leak, &self.places);
        finding.exact = reason.is_none();
        finding.evidence.extend(reason.map(|reason| ("inexact".to_owned(), reason.into())));
        let mut candidates = by_weight(&group.leaks).chain(by_weight(&group.earlier)).map(|id| {
            let Event { place, cause, variable, .. } = self.events.event(id).clone();
            Candidate { place: self.places.place(place), cause, variable }
        });
        if leak.is_some()
            && let Some(Candidate { place, cause, variable }) = candidates.next()
        {
            let variables = group.leaks.keys().map(|&id| self.events.event(id).variable.as_deref());
            let variable = each_element(variables).or(variable);
            (finding.leaked, finding.cause, finding.variable) = (Some(place), cause, variable);
        }
        let mut told = vec![(finding.leaked.as_ref().and_then(function), finding.variable.clone())];
        for candidate in candidates {
            let tells = (function(&candidate.place), candidate.variable.clone());
            if finding.candidates.len() < CANDIDATES_MAX && !told.contains(&tells) {
                told.push(tells);
                finding.candidates.push(candidate);
            }
        }
    }
}

/// What SWAT's reports say of stale blocks. Times are numbers of heap accesses.
fn staleness(group: &Group) -> serde_json::Map<String, serde_json::Value> {
    let Staleness { drag, idle, active, never, live, least, .. } = group.staleness;
    let mut evidence = serde_json::Map::new();
    let mut add = |name: &str, value: serde_json::Value| _ = evidence.insert(name.to_owned(), value);
    add("count", group.size.blocks.into());
    add("bytes", group.size.bytes.into());
    add("drag", drag.into());
    add("idle", serde_json::json!({"least": idle.0, "most": idle.1}));
    add("active", active.into());
    add("threshold", least.into());
    add("never_accessed", never.into());
    add("live", serde_json::json!({"blocks": live.blocks, "bytes": live.bytes}));
    add("trend", group.trend().into());
    evidence
}

/// Whether blocks of one allocation get more: at no snapshot were there more
/// than at the end, and at first there were fewer.
fn trend(earlier: impl Iterator<Item = u64> + Clone, now: u64) -> &'static str {
    match (earlier.clone().next(), earlier.max()) {
        (Some(first), Some(most)) if first < now && most <= now => "growing",
        (Some(_), _) => "flat",
        (None, _) => "unknown",
    }
}

/// What all variables are called that differ in one index: `rows[i].cells`.
fn each_element<'a>(variables: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let mut together: Option<String> = None;
    let mut count = 0;
    for variable in variables {
        let each = match variable?.split_once('[') {
            Some((array, rest)) => {
                let (index, rest) = rest.split_once(']')?;
                index.parse::<u64>().ok()?;
                format!("{array}[i]{rest}")
            }
            // The first of several.
            None => match variable?.strip_prefix('*') {
                Some(array) => format!("{array}[i]"),
                None => variable?.replacen("->", "[i].", 1),
            },
        };
        if *together.get_or_insert_with(|| each.clone()) != each {
            return None;
        }
        count += 1;
    }
    together.filter(|_| count > 1)
}

/// The function to point at, by its address where it has no name.
fn function(place: &Place) -> Option<(Option<String>, Option<u64>)> {
    let frame = place.headline()?;
    Some((frame.function.clone(), frame.offset.filter(|_| frame.function.is_none())))
}

fn weigh<K: Hash + Eq>(weights: &mut IndexMap<K, u64>, keys: impl IntoIterator<Item = K>, by: u64) {
    for key in keys {
        let weight = weights.entry(key).or_default();
        *weight = weight.saturating_add(by);
    }
}

/// The heaviest first; of the same weight the one that came first.
fn by_weight<K: Copy>(weights: &IndexMap<K, u64>) -> impl Iterator<Item = K> + use<K> {
    let mut sorted: Vec<(K, u64)> = weights.iter().map(|(&key, &weight)| (key, weight)).collect();
    sorted.sort_by_key(|&(_, weight)| Reverse(weight));
    sorted.into_iter().map(|(key, _)| key)
}

/// A block of which no use was seen was last used by its allocation, if uses
/// were looked at.
fn last_use(named: &RecordPlaces, record: &Record, last_used: u32, allocated: u32) -> Option<PlaceId> {
    let looked_at = last_used != wire::NOT_FOLLOWED
        && record.totals.live_blocks > 0
        && record.totals.limits & wire::limits::NO_USES == 0;
    named.known(last_used).or_else(|| looked_at.then(|| named.of(allocated)))
}

/// What libc and the C++ library keep for themselves until the end, which
/// nobody can or should free: buffers of standard streams, tables of threads'
/// variables (those of ended threads wait for the next one), libraries that it
/// loads for itself, and blocks that no code of the program's asked for.
fn is_runtimes_own(places: &Places, place: PlaceId) -> bool {
    let is_own =
        |frame: &Frame| matches!(frame.function.as_deref(), Some("_IO_file_doallocate" | "_dl_allocate_tls"));
    !places.is_users(place) || places.inner(place).any(is_own)
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
