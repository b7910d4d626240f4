//! Record files, checked and taken apart.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use leakscope_wire as wire;
use zerocopy::{FromBytes, Immutable, KnownLayout};

use crate::counted::{self, Counted, Details};
use crate::handed;

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a record of leakscope's: take it out of the folder", .0.display())]
    Foreign(PathBuf),
    #[error(
        "{} has record version {found}, this leakscope reads {expected}: use the leakscope that ran the program",
        path.display()
    )]
    Version { path: PathBuf, found: u32, expected: u32 },
    #[error("{} is cut off or damaged: take it out of the folder, or run the program again", .0.display())]
    Damaged(PathBuf),
    #[error(
        "{} is empty: a snapshot could not be written, since the disk is full or the size of files limited",
        .0.display()
    )]
    Unwritten(PathBuf),
}

/// What one process wrote at one moment.
#[derive(Debug)]
pub struct Record {
    pub header: wire::Header,
    pub modules: Vec<Module>,
    /// By id.
    pub stacks: BTreeMap<u32, Stack>,
    /// What happened at stacks that have a site, by number less 1.
    pub sites: Vec<Site>,
    pub lost: Vec<wire::LostBlock>,
    /// Of the lost blocks, in their order; empty if the engine has no stamps.
    pub stamps: Vec<wire::Stamps>,
    /// Lost blocks of which a register lost the last pointer, and which nobody
    /// used after the death before.
    pub unused: HashSet<u64>,
    /// Lost blocks that were used after the latest of their stamps.
    pub used_after: HashSet<u64>,
    /// Lost blocks that may count their references, as far as the engine saw.
    pub may_be_counted: HashSet<u64>,
    /// The latest death of a pointer to each lost block; empty unless counted.
    pub moments: Vec<wire::Moment>,
    pub edges: Vec<wire::Edge>,
    pub reachable: Vec<wire::Reachable>,
    /// What holds some of the reachable blocks.
    pub holders: Vec<(wire::Holder, Vec<wire::Link>)>,
    pub frees: Vec<wire::Freed>,
    /// Blocks that had looked stale, and were accessed.
    pub returned: Vec<wire::Returned>,
    pub fault: Option<wire::Fault>,
    pub totals: wire::Totals,
    /// How long reachable blocks lay idle, where accesses were sampled.
    pub accesses: Vec<wire::Accessed>,
    pub sampling: Option<wire::Sampling>,
    pub bursts: Vec<wire::Burst>,
    /// How pointers to lost blocks came and went, until that is judged.
    pub details: Vec<Details>,
    pub zeroed: Vec<wire::Zeroed>,
    pub handed_over: Vec<wire::HandedOver>,
    /// Lost blocks whose latest deaths were of slots that had handed them over,
    /// by number.
    pub moved_on: BTreeSet<u32>,
    /// Lost blocks that are reference-counted, by number.
    pub counted: BTreeMap<u32, Counted>,
    /// How code gets arguments, by where the call returns to and by number.
    pub arguments: BTreeMap<(u64, u32), Vec<wire::Step>>,
}

/// A module with its names.
#[derive(Debug)]
pub struct Module {
    pub at: wire::Module,
    pub path: PathBuf,
    /// Empty if it has none.
    pub build_id: Vec<u8>,
}

/// A call stack.
#[derive(Debug)]
pub struct Stack {
    /// Of the module list, in which the addresses are valid.
    pub generation: u32,
    /// Number of the site at its innermost frame, 0 if there is none.
    pub site: u32,
    /// Return addresses, innermost first.
    pub addresses: Vec<u64>,
}

/// How a pointer died at a place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Unknown causes are those of a later version.
    pub cause: Option<wire::Cause>,
    /// As [`wire::LEAVES`], and how far on the function's end is which is meant where the source
    /// has no such statement.
    pub leaves: bool,
    pub end: Option<i32>,
    /// Where the debug information of the frame is not right.
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// What held the pointer.
    pub variable: Option<String>,
    /// Or in which frame it was, from 1 on, and where in it.
    pub held: Option<(usize, u32)>,
    /// Or how the code at the innermost frame gets there.
    pub steps: Vec<wire::Step>,
}

impl Site {
    /// The register that the pointer was in, as debug information counts them;
    /// none if it was not in one.
    pub fn register(&self) -> Option<u16> {
        let by_place = self.held.filter(|(_, place)| place & wire::IN_REGISTER != 0);
        match (by_place, &self.steps[..]) {
            (Some((_, place)), _) => Some((place & !wire::IN_REGISTER) as u16),
            (None, [step]) if step.kind == wire::StepKind::Held as u32 => Some(step.value as u16),
            _ => None,
        }
    }

    /// Whether it was in memory that a function was given.
    pub fn is_behind_argument(&self) -> bool {
        self.held.is_some_and(|(frame, _)| frame == wire::BEHIND_ARGUMENT as usize)
    }
}

impl Record {
    /// How many blocks of each allocation stack were lost, by its identity.
    pub fn leaking_stacks(&self) -> BTreeMap<u64, u64> {
        let mut by_number: BTreeMap<u32, u64> = BTreeMap::new();
        for block in &self.lost {
            *by_number.entry(block.stack).or_default() += 1;
        }
        let mut stacks = BTreeMap::new();
        for (number, blocks) in by_number {
            if let Some(stack) = self.stacks.get(&number) {
                *stacks.entry(self.identity(stack)).or_default() += blocks;
            }
        }
        stacks
    }

    /// The innermost calls that allocated what was lost, by their identities: one, or
    /// more where many functions get their blocks through it.
    pub fn leaking_calls(&self) -> BTreeSet<u64> {
        const MANY: usize = 8;
        let mut through: HashMap<u64, BTreeSet<u64>> = HashMap::new();
        for free in &self.frees {
            if let Some([inner, outer, ..]) = self.stacks.get(&free.allocated).map(|it| &it.addresses[..]) {
                through.entry(*inner).or_default().insert(*outer);
            }
        }
        let is_shared = |stack: &Stack| {
            let callers = stack.addresses.first().and_then(|inner| through.get(inner));
            callers.is_some_and(|callers| callers.len() > MANY)
        };
        let calls = |stack| if is_shared(stack) { wire::CALLS_OF_ALLOCATION } else { 1 };
        let stacks = self.lost.iter().filter_map(|block| self.stacks.get(&block.stack));
        stacks.map(|stack| self.identity_of_calls(stack, calls(stack))).collect()
    }

    /// Whether somebody still had a pointer to a lost block after the latest of its
    /// stamps: it was used then; or what nobody kept is the result of the call
    /// that made the block, and its caller used it.
    pub fn is_used_after(&self, block: usize) -> bool {
        self.used_after.contains(&(block as u64)) || self.is_result_used(block).unwrap_or(false)
    }

    fn is_result_used(&self, block: usize) -> Option<bool> {
        let stamps = self.stamps.get(block)?;
        let stack = |id| self.stacks.get(&id);
        let (dropped, used) = (stack(stamps.stacks[0])?, stack(stamps.last_used)?);
        let made = stack(self.lost.get(block)?.stack)?;
        let is_dropped = self.site(dropped)?.cause == Some(wire::Cause::Discarded);
        let (_, callers) = dropped.addresses.split_first()?;
        let (_, user) = used.addresses.split_first()?;
        Some(is_dropped && made.addresses.ends_with(&dropped.addresses) && user == callers)
    }

    /// As the runtime makes it of the same stack.
    fn identity(&self, stack: &Stack) -> u64 {
        self.identity_of_calls(stack, usize::MAX)
    }

    /// The same of the innermost calls alone.
    fn identity_of_calls(&self, stack: &Stack, calls: usize) -> u64 {
        wire::identity(stack.addresses.iter().take(calls).map(|&address| {
            let holds = |module: &wire::Module| {
                (module.start..module.end).contains(&address.wrapping_sub(1))
                    && (module.first_generation..=module.last_generation).contains(&stack.generation)
            };
            let module = self.modules.iter().map(|module| &module.at).find(|module| holds(module));
            module.map_or(0, |module| address.wrapping_sub(module.bias))
        }))
    }

    /// The site of a stack, if it has one.
    pub fn site(&self, stack: &Stack) -> Option<&Site> {
        self.sites.get(stack.site.checked_sub(1)? as usize)
    }
}

/// The records of one process in the order in which it wrote them.
#[derive(Debug)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub records: Vec<Record>,
}

/// All complete records in a folder, by process; the first process to write
/// comes first.
pub fn read_folder(folder: &Path) -> Result<Vec<Process>, TraceError> {
    read_records(folder, &[])
}

/// The same, together with records that came in another way than by a file.
pub fn read_records(folder: &Path, received: &[Vec<u8>]) -> Result<Vec<Process>, TraceError> {
    let mut records = files(folder)?.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    for bytes in received {
        records.push(parse(bytes, Path::new("a record that was received"))?);
    }
    Ok(by_process(records))
}

/// What can be read of a folder, and what is wrong with the rest; or one
/// record alone.
pub fn read_sound(path: &Path) -> Result<(Vec<Process>, Vec<TraceError>), TraceError> {
    if path.is_file() {
        return Ok((by_process(vec![read(path)?]), Vec::new()));
    }
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    for file in files(path)? {
        match read(&file) {
            Ok(record) => records.push(record),
            // A rotation takes files away while we look.
            Err(TraceError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(problem) => problems.push(problem),
        }
    }
    Ok((by_process(records), problems))
}

/// The record files in a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let error = |source| TraceError::Read { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|extension| extension == "record") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<Record, TraceError> {
    let bytes = fs::read(path).map_err(|source| TraceError::Read { path: path.to_owned(), source })?;
    parse(&bytes, path)
}

fn by_process(records: Vec<Record>) -> Vec<Process> {
    let mut processes = BTreeMap::new();
    for record in records {
        let new = || Process { pid: record.header.pid, parent: record.header.parent, records: Vec::new() };
        let process = (record.header.pid, record.header.started);
        processes.entry(process).or_insert_with(new).records.push(record);
    }
    let mut processes: Vec<Process> = processes.into_values().collect();
    for process in &mut processes {
        process.records.sort_by_key(|record| record.header.sequence);
    }
    processes
}

fn parse(bytes: &[u8], path: &Path) -> Result<Record, TraceError> {
    if bytes.is_empty() {
        return Err(TraceError::Unwritten(path.to_owned()));
    }
    let damaged = || TraceError::Damaged(path.to_owned());
    let (header, mut rest) = take::<wire::Header>(bytes).ok_or_else(damaged)?;
    if header.magic != wire::MAGIC {
        return Err(TraceError::Foreign(path.to_owned()));
    }
    if header.version != wire::VERSION {
        let (found, expected) = (header.version, wire::VERSION);
        return Err(TraceError::Version { path: path.to_owned(), found, expected });
    }
    let mut record = Record {
        header,
        modules: Vec::new(),
        stacks: BTreeMap::new(),
        sites: Vec::new(),
        lost: Vec::new(),
        stamps: Vec::new(),
        unused: HashSet::new(),
        used_after: HashSet::new(),
        may_be_counted: HashSet::new(),
        moments: Vec::new(),
        edges: Vec::new(),
        reachable: Vec::new(),
        holders: Vec::new(),
        frees: Vec::new(),
        returned: Vec::new(),
        fault: None,
        totals: wire::Totals::default(),
        accesses: Vec::new(),
        sampling: None,
        bursts: Vec::new(),
        details: Vec::new(),
        zeroed: Vec::new(),
        handed_over: Vec::new(),
        moved_on: BTreeSet::new(),
        counted: BTreeMap::new(),
        arguments: BTreeMap::new(),
    };
    loop {
        let (section, after) = take::<wire::Section>(rest).ok_or_else(damaged)?;
        if section.kind == wire::SectionKind::END {
            let details = std::mem::take(&mut record.details);
            counted::judge(&mut record, &details);
            handed::judge(&mut record, &details);
            return Ok(record);
        }
        let length = usize::try_from(section.bytes).map_err(|_| damaged())?;
        let (payload, after) = after.split_at_checked(length).ok_or_else(damaged)?;
        fill(&mut record, section.kind, payload).ok_or_else(damaged)?;
        rest = after;
    }
}

fn fill(record: &mut Record, kind: wire::SectionKind, payload: &[u8]) -> Option<()> {
    match kind {
        wire::SectionKind::MODULES => record.modules = modules(payload)?,
        wire::SectionKind::STACKS => record.stacks = stacks(payload)?,
        wire::SectionKind::LOST => record.lost = all(payload)?,
        wire::SectionKind::EDGES => record.edges = all(payload)?,
        wire::SectionKind::REACHABLE => record.reachable = all(payload)?,
        wire::SectionKind::FAULT => record.fault = Some(take(payload)?.0),
        wire::SectionKind::SITES => record.sites = sites(payload)?,
        wire::SectionKind::STAMPS => record.stamps = all(payload)?,
        wire::SectionKind::MOMENTS => record.moments = all(payload)?,
        wire::SectionKind::HOLDERS => record.holders = holders(payload)?,
        wire::SectionKind::FREES => record.frees = all(payload)?,
        wire::SectionKind::RETURNED => record.returned = all(payload)?,
        wire::SectionKind::ACCESSES => record.accesses = all(payload)?,
        wire::SectionKind::BURSTS => record.bursts = all(payload)?,
        wire::SectionKind::SAMPLING => record.sampling = Some(take(payload)?.0),
        wire::SectionKind::DETAILS => record.details = details(payload)?,
        wire::SectionKind::ZEROED => record.zeroed = all(payload)?,
        wire::SectionKind::HANDED_OVER => record.handed_over = all(payload)?,
        wire::SectionKind::UNUSED => record.unused = all::<u64>(payload)?.into_iter().collect(),
        wire::SectionKind::USED_AFTER => record.used_after = all::<u64>(payload)?.into_iter().collect(),
        wire::SectionKind::MAY_BE_COUNTED => {
            record.may_be_counted = all::<u64>(payload)?.into_iter().collect();
        }
        wire::SectionKind::ARGUMENTS => record.arguments = arguments(payload)?,
        wire::SectionKind::TOTALS => record.totals = take(payload)?.0,
        _ => {}
    }
    Some(())
}

fn modules(mut payload: &[u8]) -> Option<Vec<Module>> {
    use std::os::unix::ffi::OsStrExt;
    let mut modules = Vec::new();
    while !payload.is_empty() {
        let (module, rest) = take::<wire::Module>(payload)?;
        let (path, rest) = padded(rest, module.path_bytes)?;
        let (id, rest) = padded(rest, module.id_bytes)?;
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
        modules.push(Module { at: module, path, build_id: id.to_vec() });
        payload = rest;
    }
    Some(modules)
}

fn sites(mut payload: &[u8]) -> Option<Vec<Site>> {
    let mut sites = Vec::new();
    while !payload.is_empty() {
        let (site, rest) = take::<wire::Site>(payload)?;
        let (variable, rest) = padded(rest, site.variable_bytes)?;
        let (variable, steps) =
            if site.frame == wire::BY_STEPS { (&[][..], all(variable)?) } else { (variable, Vec::new()) };
        let known = |position: u32| (position != 0).then_some(position);
        let leaves = site.cause & wire::LEAVES != 0;
        sites.push(Site {
            cause: wire::Cause::from_u32(site.cause & !wire::LEAVES),
            leaves,
            end: known(site.line).filter(|_| leaves).map(u32::cast_signed),
            line: known(site.line).filter(|_| !leaves),
            column: known(site.column),
            variable: (!variable.is_empty()).then(|| String::from_utf8_lossy(variable).into_owned()),
            held: known(site.frame).map(|frame| (frame as usize, site.held)),
            steps,
        });
        payload = rest;
    }
    Some(sites)
}

fn arguments(mut payload: &[u8]) -> Option<BTreeMap<(u64, u32), Vec<wire::Step>>> {
    let mut arguments = BTreeMap::new();
    while !payload.is_empty() {
        let (argument, rest) = take::<wire::Argument>(payload)?;
        let bytes = (argument.steps as usize).checked_mul(size_of::<wire::Step>())?;
        let (steps, rest) = rest.split_at_checked(bytes)?;
        arguments.insert((argument.call, argument.number), all(steps)?);
        payload = rest;
    }
    Some(arguments)
}

fn holders(mut payload: &[u8]) -> Option<Vec<(wire::Holder, Vec<wire::Link>)>> {
    let mut holders = Vec::new();
    while !payload.is_empty() {
        let (holder, rest) = take::<wire::Holder>(payload)?;
        let bytes = (holder.links as usize).checked_mul(size_of::<wire::Link>())?;
        let (links, rest) = rest.split_at_checked(bytes)?;
        holders.push((holder, all(links)?));
        payload = rest;
    }
    Some(holders)
}

fn details(mut payload: &[u8]) -> Option<Vec<Details>> {
    let mut details = Vec::new();
    while !payload.is_empty() {
        let (header, rest) = take::<wire::Details>(payload)?;
        let (lives, rest) = rest.split_at_checked(header.lives as usize * size_of::<wire::Life>())?;
        let (counts, rest) = rest.split_at_checked(header.counts as usize * size_of::<wire::Count>())?;
        let (deaths, rest) = rest.split_at_checked(header.deaths as usize * size_of::<wire::Death>())?;
        let (lives, counts, deaths) = (all(lives)?, all(counts)?, all(deaths)?);
        details.push(Details { block: header.block, lives, counts, deaths });
        payload = rest;
    }
    Some(details)
}

/// Text of `length` bytes, and what follows its padding to eight.
fn padded(payload: &[u8], length: u32) -> Option<(&[u8], &[u8])> {
    let length = length as usize;
    let (text, rest) = payload.split_at_checked(length.next_multiple_of(8))?;
    Some((&text[..length], rest))
}

fn stacks(mut payload: &[u8]) -> Option<BTreeMap<u32, Stack>> {
    let mut stacks = BTreeMap::new();
    while !payload.is_empty() {
        let (stack, rest) = take::<wire::Stack>(payload)?;
        let (frames, rest) = rest.split_at_checked(stack.frames as usize * 8)?;
        let wire::Stack { id, generation, site, .. } = stack;
        stacks.insert(id, Stack { generation, site, addresses: all(frames)? });
        payload = rest;
    }
    Some(stacks)
}

fn all<T: FromBytes + Immutable + KnownLayout>(mut payload: &[u8]) -> Option<Vec<T>> {
    let mut values = Vec::with_capacity(payload.len() / size_of::<T>());
    while !payload.is_empty() {
        let (value, rest) = take(payload)?;
        values.push(value);
        payload = rest;
    }
    Some(values)
}

fn take<T: FromBytes + Immutable + KnownLayout>(bytes: &[u8]) -> Option<(T, &[u8])> {
    T::read_from_prefix(bytes).ok()
}
