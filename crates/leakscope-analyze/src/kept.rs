//! What was found of procedures, kept from one run to the next.
//!
//! The key of a procedure is a hash of all that its outcome depends on: its
//! body, what the rest of the program says of the functions and globals in it,
//! and what callees do. Of a callee that is its summary, so that a change that
//! leaves the summary as it was goes no further. Those that were simulated again,
//! for functions that they were given, count with all that they are made of: which
//! ones these are is only known afterwards, and stands in the entry. In a cycle it
//! is what is known of the others when the procedure's turn comes, and each turn
//! has a key.

use std::sync::{Arc, OnceLock};

use leakscope_ir::{FileId, Fingerprint, FuncId, GlobalId, Label, Program, Spot};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

use crate::analyze::{Found, GivenUp, Outcome};
use crate::callgraph::{CallGraph, closure};
use crate::rename::{self, Rename};
use crate::summary::Summary;
use crate::world::World;

/// Outcomes of an earlier run.
#[derive(Default)]
pub struct Procedures<'b>(FxHashMap<Fingerprint, Entry<'b>>);

/// Of one procedure.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Entry<'b> {
    pub key: Fingerprint,
    /// All that its callers see of it.
    pub told: Fingerprint,
    pub given_up: Option<GivenUp>,
    /// What was simulated again for it: see [`Followed`].
    #[serde(borrow, serialize_with = "at_once")]
    followed: &'b [u8],
    #[serde(borrow, serialize_with = "at_once")]
    leaks: &'b [u8],
    #[serde(borrow, serialize_with = "at_once")]
    summary: &'b [u8],
}

/// As a slice, they would be written one by one.
fn at_once<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

/// The same, just made.
pub struct Made {
    key: Fingerprint,
    told: Fingerprint,
    given_up: Option<GivenUp>,
    followed: Vec<u8>,
    leaks: Vec<u8>,
    summary: Vec<u8>,
}

impl<'b> Procedures<'b> {
    /// What [`write`] made; nothing where it cannot be read.
    pub fn read(bytes: &'b [u8]) -> Procedures<'b> {
        let entries: Vec<Entry> = postcard::from_bytes(bytes).unwrap_or_default();
        Procedures(entries.into_iter().map(|entry| (entry.key, entry)).collect())
    }
}

impl Made {
    pub fn entry(&self) -> Entry<'_> {
        let Made { key, told, given_up, followed, leaks, summary } = self;
        Entry { key: *key, told: *told, given_up: *given_up, followed, leaks, summary }
    }
}

pub fn write<'e>(entries: impl Iterator<Item = Entry<'e>>) -> Vec<u8> {
    postcard::to_stdvec(&entries.collect::<Vec<_>>()).expect("plain data has bytes")
}

/// Procedures by name and number, with their keys.
type Followed<'n> = Vec<(&'n str, u32, Option<Fingerprint>)>;

/// Content with ids that count into the lists beside it.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    functions: Vec<(String, u32)>,
    globals: Vec<(Label, u32)>,
    files: Vec<String>,
    content: T,
}

/// Keys of all procedures of a program, as they become known.
pub struct Keys<'a> {
    pub world: &'a World<'a>,
    graph: &'a CallGraph,
    /// Names are told apart by how many of the same come before.
    functions: Vec<u32>,
    globals: Vec<(Label, u32)>,
    /// What others ask of them.
    function_facts: Vec<Fingerprint>,
    global_facts: Vec<Fingerprint>,
    done: Vec<OnceLock<Done>>,
    ids: OnceLock<Ids<'a>>,
}

/// A procedure whose callers' keys can be made.
struct Done {
    /// All that it depends on, but for what was simulated again.
    key: Fingerprint,
    told: Fingerprint,
}

/// What the procedures of a cycle depend on, but for what the others in it do.
pub struct Parts(Vec<Fingerprint>);

/// From names to ids.
struct Ids<'a> {
    functions: FxHashMap<(&'a str, u32), FuncId>,
    globals: FxHashMap<(Label, u32), GlobalId>,
    files: FxHashMap<&'a str, FileId>,
}

impl<'a> Keys<'a> {
    pub fn new(world: &'a World<'a>, graph: &'a CallGraph) -> Keys<'a> {
        let program = world.program;
        let functions = numbered(program.functions.iter().map(|function| function.name.as_str()));
        let labels: Vec<Label> = program.globals.iter().map(|global| global.label()).collect();
        let globals: Vec<u32> = numbered(labels.iter());
        let globals: Vec<(Label, u32)> = labels.into_iter().zip(globals).collect();
        let function_facts = functions
            .iter()
            .enumerate()
            .map(|(index, number)| Fingerprint::of(&(number, world.told_of_function(FuncId(index as u32)))))
            .collect();
        let global_facts = globals
            .iter()
            .enumerate()
            .map(|(index, label)| Fingerprint::of(&(label, world.told_of_global(GlobalId(index as u32)))))
            .collect();
        let done = program.functions.iter().map(|_| OnceLock::new()).collect();
        Keys { world, graph, functions, globals, function_facts, global_facts, done, ids: OnceLock::new() }
    }

    /// Of a cycle whose callees are done.
    pub fn parts(&self, component: usize, is_relevant: bool) -> Parts {
        let of_function = |&id: &FuncId| {
            let function = self.world.program.function(id);
            let own = (
                self.functions[id.0 as usize],
                &self.world.program.files[function.at.file.0 as usize],
                self.world.never_null.parameters(id),
                self.world.virtuals.of(id),
            );
            let mut parts = vec![function.fingerprint, Fingerprint::of(&own)];
            let mentioned = &self.graph.mentioned[id.0 as usize];
            self.add(component, &mentioned.functions, &mentioned.globals, &mut parts);
            Fingerprint::of(&(is_relevant, parts))
        };
        Parts(self.graph.components[component].functions.iter().map(of_function).collect())
    }

    /// The key of a procedure while `told` is what callers see of those in its
    /// cycle.
    pub fn key(
        &self,
        component: usize,
        index: usize,
        parts: &Parts,
        told: &[Option<Fingerprint>],
    ) -> Fingerprint {
        let cycle = &self.graph.components[component].functions;
        let is_inside = |id: &&FuncId| self.graph.component_of[id.0 as usize] == Some(component);
        let position = |id: &FuncId| cycle.iter().position(|other| other == id);
        let mentioned = |index: usize| {
            let functions = &self.graph.mentioned[cycle[index].0 as usize].functions;
            functions.iter().filter(is_inside).filter_map(position)
        };
        let mut does = FxHashMap::default();
        let mut open: Vec<usize> = mentioned(index).collect();
        while let Some(other) = open.pop() {
            if does.contains_key(&other) {
                continue;
            }
            let is_simulated = self.world.depends_on_caller(cycle[other]);
            if is_simulated {
                open.extend(mentioned(other));
            }
            let made_of = is_simulated.then_some(parts.0[other]);
            let fact = self.function_facts[cycle[other].0 as usize];
            does.insert(other, Fingerprint::of(&(fact, told[other], made_of)));
        }
        let mut does: Vec<Fingerprint> = does.into_values().collect();
        does.sort();
        Fingerprint::of(&(parts.0[index], does))
    }

    /// What is known of functions and globals that a cycle mentions.
    fn add(
        &self,
        component: usize,
        functions: &[FuncId],
        globals: &[GlobalId],
        parts: &mut Vec<Fingerprint>,
    ) {
        let function = |id: &FuncId| {
            let fact = self.function_facts[id.0 as usize];
            let is_outside = self.graph.component_of[id.0 as usize] != Some(component);
            let done = self.done[id.0 as usize].get().filter(|_| is_outside);
            Fingerprint::of(&(fact, done.map(|done| done.told)))
        };
        let start = parts.len();
        parts.extend(functions.iter().map(function));
        parts.extend(globals.iter().map(|id| self.global_facts[id.0 as usize]));
        // Ids may come in another order the next time.
        parts[start..].sort();
    }

    /// Keeps what was found of a procedure.
    pub fn make(&self, component: usize, key: Fingerprint, outcome: &Outcome) -> Made {
        let mut recorder = Recorder::new(self);
        let summary = rename::summary(&mut recorder, &outcome.summary);
        let (functions, globals) = (recorder.values.clone(), recorder.globals.clone());
        let summary = recorder.stored(summary);
        let (functions, globals) = closure(self.world, functions, globals);
        let mut parts = vec![Fingerprint::of(&summary)];
        self.add(component, &functions, &globals, &mut parts);

        let mut recorder = Recorder::new(self);
        let leaks: Vec<Found> =
            outcome.leaks.iter().map(|found| renamed_leak(&mut recorder, found)).collect();
        let leaks = if leaks.is_empty() { Vec::new() } else { recorder.stored(leaks) };
        let followed = self.followed(component, outcome);
        Made { key, told: Fingerprint::of(&parts), given_up: outcome.given_up, followed, leaks, summary }
    }

    /// What was simulated again outside of the cycle: in it, keys tell.
    fn followed(&self, component: usize, outcome: &Outcome) -> Vec<u8> {
        let is_outside = |id: &&FuncId| self.graph.component_of[id.0 as usize] != Some(component);
        let with_key = |id: &FuncId| {
            let index = id.0 as usize;
            (self.world.program.functions[index].name.as_str(), self.functions[index], self.key_of(*id))
        };
        let followed: Followed = outcome.followed.iter().filter(is_outside).map(with_key).collect();
        postcard::to_stdvec(&followed).expect("plain data has bytes")
    }

    fn key_of(&self, id: FuncId) -> Option<Fingerprint> {
        Some(self.done[id.0 as usize].get()?.key)
    }

    /// The outcome of an earlier run, if nothing that it depends on has changed.
    pub fn known<'b>(&self, kept: &Procedures<'b>, key: Fingerprint) -> Option<Entry<'b>> {
        let entry = *kept.0.get(&key)?;
        let followed: Followed = postcard::from_bytes(entry.followed).ok()?;
        let is_same = |(name, number, key): (&str, u32, Option<Fingerprint>)| {
            self.ids().functions.get(&(name, number)).is_some_and(|id| self.key_of(*id) == key)
        };
        followed.into_iter().all(is_same).then_some(entry)
    }

    fn ids(&self) -> &Ids<'a> {
        self.ids.get_or_init(|| Ids::new(self.world.program, &self.functions, &self.globals))
    }

    /// The procedures of a cycle are done, and `told` is what callers see of
    /// them.
    pub fn note(&self, component: usize, parts: &Parts, told: &[Option<Fingerprint>]) {
        let functions = &self.graph.components[component].functions;
        for (index, (id, own)) in functions.iter().zip(told).enumerate() {
            let key = self.key(component, index, parts, told);
            if let &Some(told) = own {
                let _ = self.done[id.0 as usize].set(Done { key, told });
            }
        }
    }

    /// `None` where names are not those of this program.
    pub fn summary(&self, entry: Entry) -> Option<Summary> {
        let (summary, mut reader): (Summary, _) = self.read(entry.summary)?;
        Some(rename::summary(&mut reader, &summary))
    }

    pub fn leaks(&self, entry: Entry) -> Vec<Found> {
        let read = Some(entry.leaks).filter(|bytes| !bytes.is_empty()).and_then(|bytes| self.read(bytes));
        let Some((leaks, mut reader)): Option<(Vec<Found>, _)> = read else { return Vec::new() };
        leaks.iter().map(|found| renamed_leak(&mut reader, found)).collect()
    }

    fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Option<(T, Reader<'a>)> {
        let stored: Stored<T> = postcard::from_bytes(bytes).ok()?;
        let program = self.world.program;
        let ids = self.ids();
        let functions = stored.functions.iter().map(|(name, number)| ids.functions.get(&(name, *number)));
        let globals = stored.globals.into_iter().map(|label| ids.globals.get(&label));
        let files = stored.files.iter().map(|path| ids.files.get(path.as_str()));
        let reader = Reader {
            program,
            functions: functions.map(Option::<&FuncId>::copied).collect::<Option<_>>()?,
            globals: globals.map(Option::<&GlobalId>::copied).collect::<Option<_>>()?,
            files: files.map(Option::<&FileId>::copied).collect::<Option<_>>()?,
        };
        Some((stored.content, reader))
    }
}

fn renamed_leak(with: &mut dyn Rename, (id, leak, origin): &Found) -> Found {
    // A reader knows the function's place only by its own id.
    let (function, _) = with.place(*id, leak.at);
    let leak = rename::leak(with, *id, leak);
    (function, leak, Arc::new(rename::origin(with, origin)))
}

/// How many of the same come before each.
fn numbered<T: std::hash::Hash + Eq>(names: impl Iterator<Item = T>) -> Vec<u32> {
    let mut seen: FxHashMap<T, u32> = FxHashMap::default();
    let number = |name| {
        let next = seen.entry(name).or_default();
        *next += 1;
        *next - 1
    };
    names.map(number).collect()
}

impl<'a> Ids<'a> {
    fn new(program: &'a Program, functions: &[u32], globals: &[(Label, u32)]) -> Ids<'a> {
        let function = |(index, (known, number)): (usize, (&'a leakscope_ir::Function, &u32))| {
            ((known.name.as_str(), *number), FuncId(index as u32))
        };
        let file = |(index, path): (usize, &'a String)| (path.as_str(), FileId(index as u32));
        let global = |(index, label): (usize, &(Label, u32))| (label.clone(), GlobalId(index as u32));
        Ids {
            functions: program.functions.iter().zip(functions).enumerate().map(function).collect(),
            globals: globals.iter().enumerate().map(global).collect(),
            files: program.files.iter().enumerate().map(file).collect(),
        }
    }
}

/// Gives ids in the order in which they come up.
struct Recorder<'k, 'a> {
    keys: &'k Keys<'a>,
    functions: Vec<FuncId>,
    /// Those that stand there as values, and not only as places.
    values: Vec<FuncId>,
    globals: Vec<GlobalId>,
    files: Vec<FileId>,
}

impl<'k, 'a> Recorder<'k, 'a> {
    fn new(keys: &'k Keys<'a>) -> Recorder<'k, 'a> {
        let (functions, values, globals, files) = Default::default();
        Recorder { keys, functions, values, globals, files }
    }

    fn stored<T: Serialize>(self, content: T) -> Vec<u8> {
        let Keys { world, functions, globals, .. } = self.keys;
        let program = world.program;
        let function = |id: FuncId| (program.function(id).name.clone(), functions[id.0 as usize]);
        let stored = Stored {
            functions: self.functions.into_iter().map(function).collect(),
            globals: self.globals.into_iter().map(|id| globals[id.0 as usize].clone()).collect(),
            files: self.files.into_iter().map(|id| program.files[id.0 as usize].clone()).collect(),
            content,
        };
        postcard::to_stdvec(&stored).expect("plain data has bytes")
    }
}

fn position<T: Copy + PartialEq>(known: &mut Vec<T>, id: T) -> u32 {
    let index = known.iter().position(|other| *other == id).unwrap_or_else(|| {
        known.push(id);
        known.len() - 1
    });
    index as u32
}

impl Rename for Recorder<'_, '_> {
    fn function(&mut self, id: FuncId) -> FuncId {
        position(&mut self.values, id);
        FuncId(position(&mut self.functions, id))
    }

    fn global(&mut self, id: GlobalId) -> GlobalId {
        GlobalId(position(&mut self.globals, id))
    }

    fn place(&mut self, function: FuncId, at: Spot) -> (FuncId, Spot) {
        let relative = at.relative_to(self.keys.world.program.function(function).at);
        let file = FileId(position(&mut self.files, at.file));
        (FuncId(position(&mut self.functions, function)), Spot { file, ..relative })
    }
}

/// Takes ids back to those of the program.
struct Reader<'a> {
    program: &'a Program,
    functions: Vec<FuncId>,
    globals: Vec<GlobalId>,
    files: Vec<FileId>,
}

impl Rename for Reader<'_> {
    fn function(&mut self, id: FuncId) -> FuncId {
        self.functions[id.0 as usize]
    }

    fn global(&mut self, id: GlobalId) -> GlobalId {
        self.globals[id.0 as usize]
    }

    fn place(&mut self, function: FuncId, at: Spot) -> (FuncId, Spot) {
        let function = self.function(function);
        let at = Spot { file: self.files[at.file.0 as usize], ..at };
        (function, at.absolute_from(self.program.function(function).at))
    }
}
