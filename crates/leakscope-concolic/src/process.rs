//! A derived program as the target: each run in a folder of its own, with
//! bounds on time, memory and processes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leakscope_wire::env as wire_env;
use leakscope_wire::symbolic::{Event, EventKind, Header, Place, TakesArgument, View, wants};
use memmap2::MmapMut;
use rustc_hash::FxHashSet;
use zerocopy::IntoBytes;

use crate::ConcolicError;
use crate::input::{Input, Names};
use crate::launch::Launch;
use crate::places::{self, PlaceId, Places};
use crate::runs_folder::RunsFolder;
use crate::sandbox::Sandbox;
use crate::target::{Ended, ProgramOption, Record, TIMES_BITS, Target};
use crate::texts::Compared;

/// What of a program is input, and how much a run may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bits of [`wants`].
    pub wants: u32,
    /// Names of files that are input; `*` stands for anything.
    pub patterns: Vec<String>,
    pub time: Duration,
    /// Bytes in use by all processes of a run.
    pub memory: u64,
    pub processes: usize,
    /// Room for terms and events.
    pub nodes: u32,
    pub events: u32,
    /// Once it is set, runs are ended.
    pub stop: Option<&'static AtomicBool>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            wants: wants::ARGUMENTS
                | wants::STDIN
                | wants::FILES
                | wants::FAILURES
                | wants::ALL_CALLS
                | wants::COUNTS,
            patterns: vec!["*".to_owned()],
            time: Duration::from_secs(5),
            memory: 2 << 30,
            processes: 32,
            nodes: 4 << 20,
            events: 4 << 20,
            stop: None,
        }
    }
}

/// A derived program.
pub struct Program {
    executable: PathBuf,
    /// Its own name, as its first argument.
    name: OsString,
    settings: Settings,
    /// Flags for each place.
    wanted: Vec<u8>,
    /// Where runs have their folders.
    root: RunsFolder,
    runs: AtomicU64,
    /// Processor time of all runs, in microseconds.
    spent: AtomicU64,
}

impl Program {
    pub fn new(executable: &Path, name: &OsStr, settings: Settings) -> Result<Program, ConcolicError> {
        let (folder, root) = RunsFolder::new();
        let root = root.map_err(|error| ConcolicError::Scratch(folder, error))?;
        Ok(Program {
            executable: executable.to_owned(),
            name: name.to_owned(),
            settings,
            wanted: vec![0; 1 << 20],
            root,
            runs: AtomicU64::new(0),
            spent: AtomicU64::new(0),
        })
    }

    /// The places of the program and its libraries, which a first run tells
    /// the numbers of.
    pub fn places(&mut self) -> Result<Places, ConcolicError> {
        let run = self.start(&Input::default(), &FxHashSet::default())?;
        let view = run.view().ok_or_else(|| ConcolicError::Silent(self.executable.clone()))?;
        if view.modules().is_empty() {
            return Err(ConcolicError::Silent(self.executable.clone()));
        }
        let mut places = Places::default();
        for module in view.modules() {
            let end = module.path.iter().position(|&byte| byte == 0).unwrap_or(module.path.len());
            let library = Path::new(OsStr::from_bytes(&module.path[..end]));
            // The executable, under whatever name it was started, says none;
            // libraries are loaded before it.
            let path = if end == 0 { &self.executable } else { library };
            places.add(module.base, places::read(path)?);
        }
        self.wanted = vec![0; places.capacity() as usize];
        Ok(places)
    }

    /// Has these places told whenever they are passed.
    pub fn want(&mut self, places: impl IntoIterator<Item = PlaceId>) {
        for place in places {
            if let Some(flags) = self.wanted.get_mut(place as usize) {
                *flags |= Place::WANTED;
            }
        }
    }

    /// Where the runs have their folders.
    pub fn scratch(&self) -> &Path {
        self.root.path()
    }

    /// Whether the system keeps runs from writing outside their folders.
    pub fn holds_back_writes(&self) -> bool {
        Sandbox::new(&[self.root.path()], 0).holds_back_writes()
    }

    /// Processor time that all runs took.
    pub fn spent(&self) -> Duration {
        Duration::from_micros(self.spent.load(Ordering::Relaxed))
    }

    /// Runs the program, which also tells when it passes one of these places.
    fn start(&self, input: &Input, told: &FxHashSet<PlaceId>) -> Result<Finished, ConcolicError> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let folder = Scratch(self.root.path().join(number.to_string()));
        let cannot = |error| ConcolicError::Scratch(folder.0.clone(), error);
        let work = folder.0.join("work");
        input.write_files(&work).map_err(cannot)?;
        let stdin = folder.0.join("stdin");
        fs::write(&stdin, &input.stdin).map_err(cannot)?;
        let shared = folder.0.join("symbolic");
        let map = self.shared(&shared, input, told).map_err(cannot)?;

        let launch = || -> io::Result<Launch> {
            let mut launch = Launch::new(&self.executable, &work, File::open(&stdin)?)?;
            launch.argument(&self.name)?;
            for argument in &input.args {
                launch.argument(OsStr::from_bytes(argument))?;
            }
            launch.variable("PATH", "/usr/local/bin:/usr/bin:/bin")?;
            launch.variable("HOME", &work)?;
            launch.variable(wire_env::SYMBOLIC, &shared)?;
            if !input.env.contains_key("LC_ALL") {
                launch.variable("LC_ALL", "C")?;
            }
            for (name, value) in &input.env {
                launch.variable(name, OsStr::from_bytes(value))?;
            }
            Ok(launch)
        };
        let sandbox = Sandbox::new(&[&folder.0], self.settings.time.as_secs());
        let process = launch().and_then(|launch| launch.start(&sandbox));
        let Bounded { ended, spent } = process
            .and_then(|process| supervised(process, &self.settings))
            .map_err(|error| ConcolicError::Start(self.executable.clone(), error))?;
        self.spent.fetch_add(spent.as_micros() as u64, Ordering::Relaxed);
        Ok(Finished { map, ended, spent, _folder: folder })
    }

    /// The file that the run tells into.
    fn shared(&self, path: &Path, input: &Input, told: &FxHashSet<PlaceId>) -> io::Result<MmapMut> {
        let Settings { wants, nodes, events, .. } = self.settings;
        let mut header = Header::new(wants, self.wanted.len() as u32, nodes, events);
        let patterns: Vec<u8> =
            self.settings.patterns.iter().flat_map(|pattern| pattern.bytes().chain([0])).collect();
        let fails: Vec<u8> = input.fails.iter().flat_map(|call| call.to_le_bytes()).collect();
        header.fails = input.fails.len().min(leakscope_wire::symbolic::MAX_FAILS) as u32;
        header.pattern_bytes = patterns.len().min(leakscope_wire::symbolic::MAX_PATTERN_BYTES) as u32;
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        file.set_len(header.file_bytes() as u64)?;
        // SAFETY: the file is ours; the target, which maps it too, only
        // appends, and is gone when it is read.
        let mut map = unsafe { MmapMut::map_mut(&file)? };
        let mut put = |at: usize, bytes: &[u8]| map[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, header.as_bytes());
        put(leakscope_wire::symbolic::FAILS, &fails[..header.fails as usize * 4]);
        put(leakscope_wire::symbolic::PATTERNS, &patterns[..header.pattern_bytes as usize]);
        // Most flags are 0, and a sparse file has them already.
        for (page, flags) in self.wanted.chunks(4096).enumerate() {
            if flags.iter().any(|&flag| flag != 0) {
                put(leakscope_wire::symbolic::PLACES + page * 4096, flags);
            }
        }
        for &place in told.iter().filter(|&&place| (place as usize) < self.wanted.len()) {
            map[leakscope_wire::symbolic::PLACES + place as usize] |= Place::WANTED;
        }
        Ok(map)
    }
}

impl Target for Program {
    fn run(&self, input: &Input) -> Result<Record, ConcolicError> {
        self.record(input, &FxHashSet::default())
    }

    fn run_past(&self, input: &Input, told: &FxHashSet<PlaceId>) -> Result<Option<Record>, ConcolicError> {
        self.record(input, told).map(Some)
    }
}

impl Program {
    fn record(&self, input: &Input, told: &FxHashSet<PlaceId>) -> Result<Record, ConcolicError> {
        let run = self.start(input, told)?;
        let silent = || ConcolicError::Silent(self.executable.clone());
        let view = run.view().ok_or_else(silent)?;
        let mut names = Names::new();
        for event in view.events().iter().filter(|event| event.kind == EventKind::Source as u8) {
            let name = String::from_utf8_lossy(view.name(event.value)).into_owned();
            names.insert(event.detail, name);
        }
        Ok(Record {
            nodes: view.nodes().to_vec(),
            events: view.events().to_vec(),
            names,
            coverage: coverage(view.counts()),
            options: view.events().iter().filter_map(|event| option(&view, event)).collect(),
            compared: view.events().iter().filter_map(|event| compared(&view, event)).collect(),
            ended: run.ended,
            limits: view.header.limits,
            spent: if run.ended == Ended::OutOfTime { self.settings.time } else { run.spent },
        })
    }
}

fn option(view: &View<'_>, event: &Event) -> Option<ProgramOption> {
    let takes = TakesArgument::from_u16(event.detail)?;
    let is_option = event.kind == EventKind::Option as u8;
    is_option.then(|| ProgramOption { name: view.name(event.value).to_vec(), takes })
}

fn compared(view: &View<'_>, event: &Event) -> Option<Compared> {
    if event.kind != EventKind::Compared as u8 {
        return None;
    }
    let wanted = view.name(event.value).to_vec();
    let seen = view.name(event.value + wanted.len() as u32 + 1).to_vec();
    Some(Compared { seen, wanted })
}

/// The ways that were gone, each with about how often in the lowest bits: once,
/// twice, three times, then by doublings.
fn coverage(counts: &[u8]) -> Vec<u32> {
    let gone = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
    let about = |count: u8| if count < 4 { u32::from(count) - 1 } else { count.ilog2() + 1 };
    gone.map(|(index, &count)| (index as u32) << TIMES_BITS | about(count)).collect()
}

/// Runs a command within bounds on time, memory and processes. It may write
/// below `folder` only; whatever it started ends with it.
pub fn bounded(command: &mut Command, folder: &Path, settings: &Settings) -> io::Result<Bounded> {
    let sandbox = Sandbox::new(&[folder], settings.time.as_secs());
    // SAFETY: `enter` only makes system calls.
    unsafe { command.pre_exec(move || sandbox.enter()) };
    supervised(command.spawn()?.id() as i32, settings)
}

/// Waits for the end of a process, which leads a session, within bounds.
fn supervised(process: i32, settings: &Settings) -> io::Result<Bounded> {
    let is_stopped = || settings.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let broken = || is_stopped() || !is_within(process, settings);
    let exited = watched(process, Instant::now() + settings.time, broken);
    if !exited {
        end_session(process);
        // SAFETY: a child that nobody has waited for.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
    let (status, spent) = reaped(process)?;
    end_session(process);
    let ended = match (status.code(), status.signal()) {
        _ if !exited => Ended::OutOfTime,
        (Some(code), _) => Ended::Exit(code),
        (_, Some(signal)) => Ended::Signal(signal),
        _ => Ended::Unknown,
    };
    Ok(Bounded { ended, spent })
}

/// What came of a bounded run.
pub struct Bounded {
    pub ended: Ended,
    /// Processor time, of what it waited for too.
    pub spent: Duration,
}

/// Waits for the end of a process: how it ended, and what it took.
fn reaped(process: i32) -> io::Result<(ExitStatus, Duration)> {
    let mut status = 0;
    // SAFETY: a child that nobody has waited for; numbers that the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        while libc::wait4(process, &mut status, 0, &mut usage) < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        usage
    };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    Ok((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime)))
}

/// Whether the processes of a session keep to the bounds.
fn is_within(session: i32, settings: &Settings) -> bool {
    let processes = session_of(session);
    let pages: u64 = processes.iter().map(|process| process.pages).sum();
    processes.len() <= settings.processes && pages * 4096 <= settings.memory
}

/// A run that is over.
struct Finished {
    map: MmapMut,
    ended: Ended,
    spent: Duration,
    _folder: Scratch,
}

impl Finished {
    fn view(&self) -> Option<View<'_>> {
        View::new(&self.map)
    }
}

/// A folder that goes when the run was read.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits for the end of a process; false if it came neither before the
/// deadline nor before `broken` said that a bound is broken.
fn watched(process: i32, deadline: Instant, broken: impl Fn() -> bool) -> bool {
    // SAFETY: a child that nobody has waited for.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    if descriptor < 0 {
        return false;
    }
    // SAFETY: just opened, and ours.
    let process = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
    // Short runs are not looked at, long ones now and then.
    let mut patience = Duration::from_millis(50);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut wanted = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        let ready = unsafe { libc::poll(&mut wanted, 1, left.min(patience).as_millis() as i32) };
        if ready > 0 {
            return true;
        }
        if left.is_zero() || broken() {
            return false;
        }
        patience = Duration::from_millis(100);
    }
}

struct InSession {
    id: i32,
    pages: u64,
}

/// The processes of a session.
fn session_of(session: i32) -> Vec<InSession> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let process = |entry: io::Result<fs::DirEntry>| {
        let id: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // What follows the name, which may hold anything.
        let fields: Vec<&str> = stat[stat.rfind(')')? + 2..].split(' ').collect();
        let is_of = fields.get(3)?.parse() == Ok(session);
        is_of.then_some(InSession { id, pages: fields.get(21)?.parse().unwrap_or(0) })
    };
    entries.filter_map(process).collect()
}

/// Kills what is left of a session. A program that forks while it is killed is
/// killed again, until it is out of breath.
fn end_session(session: i32) {
    // SAFETY: asks whether a group has members.
    let is_alone = unsafe { libc::kill(-session, 0) } != 0;
    if is_alone {
        return;
    }
    for _ in 0..100 {
        let processes: BTreeSet<i32> = session_of(session).into_iter().map(|process| process.id).collect();
        // SAFETY: kills processes of the run's own session.
        unsafe {
            libc::kill(-session, libc::SIGKILL);
            for process in &processes {
                libc::kill(*process, libc::SIGKILL);
            }
        }
        if processes.iter().all(|&process| process == session) {
            return;
        }
    }
}
