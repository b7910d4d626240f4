//! `leakscope run`: runs a program under the runtime, and reports what it
//! leaked.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result, bail};
use leakscope_capture::{CaptureError, LinkId, Store, capture_files, outlive, program};
use leakscope_core::{self as core, Exit, Report, Target};
use leakscope_trace::read_records;
use leakscope_wire::env as wire_env;
use object::elf::{PT_INTERP, ProgramHeader64};
use object::{Object, ObjectSymbol};

use crate::cli::{DeriveEngine, Engine, LastUse, Mode, Run};
use crate::commands::{derive, report};
use crate::inbox::Inbox;
use crate::output::{Filters, Output, note};
use crate::runtime::{self, Runtime};
use crate::sources::Captured;
use crate::valgrind::{self, Allocator, ToolOptions, Valgrind};

pub fn run(options: &Run) -> Result<ExitCode> {
    let filters = Filters::read(&options.report)?;
    let plan = plan(options)?;
    if options.mode != Mode::Full && !matches!(plan.how, How::Track) {
        note(&options.report, "--mode is for captured programs; it changes nothing here");
    }
    let output = Output::open(&options.report)?;
    let records = Records::new(options.keep_records.as_deref())?;

    let inbox = Inbox::open(records.path()).context("cannot open a socket for records")?;

    let mut command = plan.command(&records, &inbox, options);
    command.args(&options.arguments).env(wire_env::SOCKET, inbox.name());
    // A signal ends the program; we report after it.
    let status = outlive(&mut command).with_context(|| match &options.under {
        Some(under) => format!("cannot run {} under `{under}`", plan.shown.display()),
        None => format!("cannot run {}", plan.shown.display()),
    })?;

    let processes = read_records(records.path(), &records.keep(inbox.close()))?;
    if processes.is_empty() {
        // Nobody looked, so neither a report nor success may be claimed.
        records.check_room()?;
        eprintln!("leakscope: {}", no_record_text(status, &plan, &records));
        return Ok(exit_code(status, status.success().then_some(2)));
    }
    let target = Target {
        program: plan.shown.display().to_string(),
        args: options.arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        exit: Some(match status.signal() {
            Some(signal) => Exit::Signal(signal),
            None => Exit::Code(status.code().unwrap_or(0)),
        }),
    };
    if let (How::Valgrind { .. }, Some(complaint)) = (&plan.how, valgrind::complaint(records.path())) {
        note(&options.report, &format!("Valgrind could not run all of it: {complaint}"));
    }
    let engine = plan.how.engine();
    let mut report =
        report::of_records(&processes, &plan.executable, target, engine, &filters, &options.report);
    if options.mode == Mode::Minimal && engine == core::Engine::Track {
        say_why_no_leak_points(&mut report);
    }
    output.write(&report, &plan.sources, &options.report)?;
    let failed = options.report.fail_on.fails(&report);
    Ok(exit_code(status, failed.then_some(options.exit_code)))
}

/// The user's choice, and not the program's code.
fn say_why_no_leak_points(report: &mut Report) {
    for finding in report.findings.iter_mut().filter(|finding| finding.kind == core::Kind::Lost) {
        finding.evidence.insert("inexact".to_owned(), "no leak point: --mode minimal".into());
    }
}

/// What to run, and how.
struct Plan {
    executable: PathBuf,
    /// As the user named it; the program sees this as its own name.
    shown: PathBuf,
    how: How,
    sources: Captured,
}

/// How records come out of it.
enum How {
    /// The runtime is inside.
    Track,
    Preload(PathBuf),
    Valgrind {
        valgrind: Valgrind,
        allocator: Allocator,
    },
}

impl How {
    fn engine(&self) -> core::Engine {
        match self {
            How::Track => core::Engine::Track,
            How::Preload(_) => core::Engine::Preload,
            How::Valgrind { .. } => core::Engine::Valgrind,
        }
    }
}

impl Plan {
    /// The command without the program's own arguments, started by another
    /// command if one is given.
    fn command(&self, records: &Records, inbox: &Inbox, options: &Run) -> Command {
        let inner = self.inner_command(records, inbox, options);
        let mut words = options.under.as_deref().unwrap_or_default().split_whitespace();
        let Some(outer) = words.next() else { return inner };
        let mut command = Command::new(outer);
        command.args(words).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn inner_command(&self, records: &Records, inbox: &Inbox, options: &Run) -> Command {
        if let How::Valgrind { valgrind, allocator } = &self.how {
            let options = ToolOptions {
                socket: inbox.name().clone(),
                depth: options.depth,
                last_use: options.last_use != LastUse::Off,
                snapshot_every: options.snapshot_every,
                allocator: *allocator,
            };
            return valgrind.command(&self.shown, records.path(), &options);
        }
        let mut command = Command::new(&self.executable);
        command.arg0(&self.shown);
        command.env(wire_env::DIR, records.path()).env(wire_env::DEPTH, options.depth.to_string());
        command.env(wire_env::MODE, mode_text(options.mode));
        command.env(wire_env::LAST_USE, last_use_text(options.last_use));
        if let Some(signal) = options.snapshot_signal {
            command.env(wire_env::SNAPSHOT_SIGNAL, signal.to_string());
        }
        if let Some(every) = options.snapshot_every {
            command.env(wire_env::SNAPSHOT_EVERY, every.as_millis().to_string());
        }
        if let How::Preload(preload) = &self.how {
            let before = env::var_os("LD_PRELOAD").unwrap_or_default();
            let mut list = preload.clone().into_os_string();
            if !before.is_empty() {
                list.push(":");
                list.push(before);
            }
            command.env("LD_PRELOAD", list);
        }
        command
    }
}

fn plan(options: &Run) -> Result<Plan> {
    if options.targets.iter().all(|target| is_source(target)) {
        if let Some(engine @ (Engine::Preload | Engine::Valgrind)) = options.engine {
            let name = if engine == Engine::Preload { "preload" } else { "valgrind" };
            bail!("--engine {name} takes a program, not source files");
        }
        let store = Store::create(&bare_store(&options.targets)?)?;
        let link = capture_files(&store, &options.targets, &options.cflag)?;
        let name = options.targets[0].file_stem().unwrap_or_default();
        return track_plan(&store, &link, Path::new(name), options);
    }
    let [target] = &options.targets[..] else {
        bail!("expected one program, or only source files; the program's own arguments come after `--`");
    };
    match options.engine {
        Some(Engine::Preload) => return preload_plan(target),
        Some(Engine::Valgrind) => return valgrind_plan(target, Valgrind::find()?, options),
        _ => {}
    }
    match program(target) {
        Ok((store, link)) => track_plan(&store, &link, target, options),
        Err(error) if options.engine.is_none() => {
            let reason = match error {
                CaptureError::NotCaptured(_) | CaptureError::NoSuchFile(_) | CaptureError::NotAProgram(_) => {
                    format!(
                        "{} was not captured, which `leakscope build -- <your build command>` does",
                        target.display()
                    )
                }
                CaptureError::ForeignProgram { .. } => error.to_string(),
                _ => return Err(error.into()),
            };
            as_it_is(target, &reason, options)
        }
        Err(error) => Err(error.into()),
    }
}

fn track_plan(store: &Store, link: &LinkId, shown: &Path, options: &Run) -> Result<Plan> {
    let derived = derive::variant(store, link, DeriveEngine::Track, options.report.quiet)?;
    for kept in &derived.kept {
        note(&options.report, &format!("not instrumented: {}: {}", kept.input.display(), kept.reason));
    }
    let mut units = Vec::new();
    for id in store.units()? {
        units.push(store.unit(&id)?);
    }
    let sources = Captured::of(store, &units);
    Ok(Plan { executable: derived.program, shown: shown.to_owned(), how: How::Track, sources })
}

/// A program that was not captured: under Valgrind, or where that cannot be,
/// with the heap preloaded.
fn as_it_is(target: &Path, reason: &str, options: &Run) -> Result<Plan> {
    let (plan, how) = match Valgrind::find() {
        _ if options.snapshot_signal.is_some() => (
            preload_plan(target)?,
            "with the heap preloaded, for --snapshot-signal; leak points are not found".into(),
        ),
        Ok(valgrind) => (valgrind_plan(target, valgrind, options)?, "under Valgrind".to_owned()),
        Err(missing) => (
            preload_plan(target)?,
            format!("with the heap preloaded; leak points are not found, for {missing}"),
        ),
    };
    note(&options.report, &format!("{reason}; it runs as it is, {how}"));
    Ok(plan)
}

fn valgrind_plan(target: &Path, valgrind: Valgrind, options: &Run) -> Result<Plan> {
    if options.snapshot_signal.is_some() {
        bail!(
            "--snapshot-signal needs another engine than valgrind: use --snapshot-every, or --engine preload"
        );
    }
    let path = existing(target)?;
    let allocator = match kind_of(&path)? {
        Kind::Dynamic if has_own_operators(&path) => Allocator::Wrapped,
        _ => Allocator::Library,
    };
    // Valgrind gives the program the name that it is told.
    let shown =
        if target.components().count() > 1 || !target.is_file() { target.to_owned() } else { path.clone() };
    let how = How::Valgrind { valgrind, allocator };
    Ok(Plan { executable: path, shown, how, sources: Captured::default() })
}

fn existing(target: &Path) -> Result<PathBuf> {
    let Some(path) = executable(target) else {
        let shown = target.display();
        match fs::metadata(target) {
            Err(_) => bail!("no such program: {shown}; build it first, or check the name"),
            Ok(found) if found.is_dir() => bail!("{shown} is a folder: give the program in it"),
            Ok(_) => bail!("{shown} is not executable: give a program, or `chmod +x` it"),
        }
    };
    Ok(path)
}

fn preload_plan(target: &Path) -> Result<Plan> {
    let path = existing(target)?;
    kind_of(&path)?;
    let how = How::Preload(Runtime::unpack()?.preload);
    Ok(Plan { executable: path, shown: target.to_owned(), how, sources: Captured::default() })
}

/// The program at `target`, or of that name in `PATH`.
fn executable(target: &Path) -> Option<PathBuf> {
    let runs =
        |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0);
    if target.components().count() > 1 || runs(target) {
        return runs(target).then(|| fs::canonicalize(target).unwrap_or_else(|_| target.to_owned()));
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(target)).find(|path| runs(path))
}

/// What a program is to the loader.
#[derive(PartialEq, Eq)]
enum Kind {
    Script,
    Dynamic,
}

/// Says why a program cannot be run as it is.
fn kind_of(path: &Path) -> Result<Kind> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if content.starts_with(b"#!") {
        return Ok(Kind::Script);
    }
    let shown = path.display();
    let file = match object::File::parse(&*content) {
        Ok(object::File::Elf64(file)) if file.architecture() == object::Architecture::X86_64 => file,
        Ok(_) => bail!("{shown} is not an x86-64 program; leakscope runs no others"),
        Err(_) => bail!("{shown} is neither an ELF program nor a script"),
    };
    let interpreter = |header: &ProgramHeader64<_>| header.p_type.get(file.endian()) == PT_INTERP;
    let found = fs::metadata(path)?;
    // SAFETY: no arguments, cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let changes_user = found.mode() & libc::S_ISUID != 0 && found.uid() != user;
    if changes_user || found.mode() & libc::S_ISGID != 0 && found.gid() != group {
        bail!("{shown} is setuid or setgid, so the system lets nothing into it: copy it and run the copy");
    }
    if !file.elf_program_headers().iter().any(interpreter) {
        bail!("{shown} is statically linked, so nothing can be preloaded: capture it with `leakscope build`");
    }
    Ok(Kind::Dynamic)
}

/// Whether a program has its own `operator new`.
fn has_own_operators(path: &Path) -> bool {
    let Ok(content) = fs::read(path) else { return false };
    let Ok(file) = object::File::parse(&*content) else { return false };
    file.symbols()
        .chain(file.dynamic_symbols())
        .any(|symbol| symbol.is_definition() && symbol.name() == Ok("_Znwm"))
}

pub fn is_source(path: &Path) -> bool {
    let known = ["c", "C", "cc", "cp", "cpp", "CPP", "cxx", "c++", "i", "ii"];
    path.extension().and_then(OsStr::to_str).is_some_and(|extension| known.contains(&extension))
}

/// The capture of bare source files, apart from the user's folders.
pub fn bare_store(files: &[PathBuf]) -> Result<PathBuf> {
    let mut names = Vec::new();
    for file in files {
        let path = fs::canonicalize(file).with_context(|| format!("cannot read {}", file.display()))?;
        names.extend_from_slice(path.as_os_str().as_encoded_bytes());
        names.push(0);
    }
    Ok(runtime::cache_folder()?.join("files").join(leakscope_capture::store::hash(&[&names])))
}

/// The folder that the target writes its records to.
pub enum Records {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Records {
    pub fn new(kept: Option<&Path>) -> Result<Records> {
        match kept {
            Some(folder) => {
                fs::create_dir_all(folder).with_context(|| format!("cannot write {}", folder.display()))?;
                let path = fs::canonicalize(folder)?;
                if fs::read_dir(&path)?.next().is_some() {
                    bail!("{} is not empty: give --keep-records a new folder", folder.display());
                }
                Ok(Records::Kept(path))
            }
            None => {
                let folder = tempfile::Builder::new().prefix("leakscope-").tempdir().with_context(|| {
                    format!("cannot write to {}: set TMPDIR to a folder with room", env::temp_dir().display())
                })?;
                Ok(Records::Temporary(folder))
            }
        }
    }

    /// Puts records that came by socket beside the others, and returns those
    /// for which there is no room.
    pub fn keep(&self, received: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut homeless = Vec::new();
        for (number, record) in received.into_iter().enumerate() {
            let path = self.path().join(format!("received-{number}.record"));
            if fs::write(&path, &record).is_err() {
                let _ = fs::remove_file(path);
                homeless.push(record);
            }
        }
        homeless
    }

    /// The folder, which stays.
    pub fn leave(self) -> PathBuf {
        match self {
            Records::Kept(path) => path,
            Records::Temporary(folder) => folder.keep(),
        }
    }

    /// Says where there is no room for what the program should have written.
    pub fn check_room(&self) -> Result<()> {
        let probe = self.path().join("room");
        fs::write(&probe, [0; 1 << 16]).with_context(|| {
            format!("no record, for {} is full: set TMPDIR to a folder with room", self.path().display())
        })?;
        Ok(fs::remove_file(probe)?)
    }

    pub fn path(&self) -> &Path {
        match self {
            Records::Kept(path) => path,
            Records::Temporary(folder) => folder.path(),
        }
    }
}

/// The mode as the runtime reads it.
fn mode_text(mode: Mode) -> String {
    match mode {
        Mode::Minimal => wire_env::MODE_MINIMAL.to_owned(),
        Mode::Partial(bytes) => format!("{}{bytes}", wire_env::MODE_PARTIAL),
        Mode::Full => "full".to_owned(),
    }
}

fn last_use_text(last_use: LastUse) -> &'static str {
    match last_use {
        LastUse::Off => wire_env::LAST_USE_OFF,
        LastUse::Sampled => "sampled",
        LastUse::Exact => wire_env::LAST_USE_EXACT,
    }
}

fn no_record_text(status: ExitStatus, plan: &Plan, records: &Records) -> String {
    if let (How::Valgrind { .. }, Some(complaint)) = (&plan.how, valgrind::complaint(records.path())) {
        let shown = plan.shown.display();
        return format!("no record of {shown}: Valgrind cannot run it ({complaint}); --engine preload may");
    }
    let ended = match status.signal() {
        Some(libc::SIGKILL) => "it was killed by SIGKILL".to_owned(),
        Some(signal) => format!("it was killed by signal {signal}"),
        None => "it ended without passing through exit, or could not read /proc".to_owned(),
    };
    format!("no record of {}: {ended}; --snapshot-every keeps what is known on the way", plan.shown.display())
}

pub fn exit_code(status: ExitStatus, failure: Option<u8>) -> ExitCode {
    let own = status.code().unwrap_or(0) as u8;
    ExitCode::from(match (status.signal(), failure) {
        (Some(signal), _) => (128 + signal) as u8,
        (None, Some(failure)) => failure,
        (None, None) => own,
    })
}
