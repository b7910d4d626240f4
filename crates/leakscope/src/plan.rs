//! What to run, and how: a program that was captured, bare sources, or any
//! program as it is; and the command line and environment that follow.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use leakscope_capture::{CaptureError, LinkId, Store, capture_files, program};
use leakscope_core::{self as core, PoolFunction};
use leakscope_wire::env as wire_env;
use object::elf::PT_INTERP;
use object::read::elf::ProgramHeader;
use object::{Object, ObjectSymbol};

use crate::cli::{DeriveEngine, Engine, LastUse, Mode, OnLeak, Run};
use crate::commands::derive;
use crate::files::{bare_store, is_source};
use crate::inbox::Inbox;
use crate::interpose;
use crate::models;
use crate::output::note;
use crate::records::Records;
use crate::runtime::Runtime;
use crate::sources::Captured;
use crate::valgrind::{ToolOptions, Valgrind};

/// What to run, and how.
pub struct Plan {
    pub executable: PathBuf,
    /// The derived shared libraries that it loads, and that it may load while it runs.
    pub libraries: Vec<PathBuf>,
    /// Which the latter are, for the runtime.
    pub modules: Option<PathBuf>,
    /// As the user named it; the program sees this as its own name.
    pub shown: PathBuf,
    pub how: How,
    pub sources: Captured,
}

/// How records come out of it.
pub enum How {
    /// The runtime is inside.
    Track,
    /// These libraries come in beside it.
    Preload(Vec<PathBuf>),
    Valgrind {
        valgrind: Valgrind,
        /// The program has operators of its own around libc's `malloc`.
        has_operators: bool,
        /// The program's own allocators.
        pools: Vec<PoolFunction>,
        /// As in [`ToolOptions`].
        explained: Option<PathBuf>,
    },
}

impl How {
    pub fn engine(&self) -> core::Engine {
        match self {
            How::Track => core::Engine::Track,
            How::Preload(_) => core::Engine::Preload,
            How::Valgrind { .. } => core::Engine::Valgrind,
        }
    }
}

impl Plan {
    /// A program without a capture.
    fn as_it_is(executable: PathBuf, shown: PathBuf, how: How) -> Plan {
        Plan { executable, libraries: Vec::new(), modules: None, shown, how, sources: Captured::default() }
    }

    /// The command without the program's own arguments, started by another
    /// command if one is given.
    pub fn command(&self, records: &Records, inbox: &Inbox, options: &Run) -> Command {
        let inner = self.inner_command(records, inbox, options);
        let mut words = options.under.as_deref().unwrap_or_default().split_whitespace();
        let Some(outer) = words.next() else { return inner };
        let mut command = Command::new(outer);
        command.args(words).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn inner_command(&self, records: &Records, inbox: &Inbox, options: &Run) -> Command {
        if let How::Valgrind { valgrind, has_operators, pools, explained } = &self.how {
            let options = ToolOptions {
                socket: inbox.name().clone(),
                depth: options.depth,
                last_use: options.last_use != LastUse::Off,
                snapshot_every: options.snapshot_every,
                snapshot_signal: options.snapshot_signal,
                has_operators: *has_operators,
                pools: pools.clone(),
                frames: frames_of(&self.shown, records.path()),
                explained: explained.clone(),
            };
            return valgrind.command(&self.shown, records.path(), &options);
        }
        let mut command = Command::new(&self.executable);
        command.arg0(&self.shown);
        command.env(wire_env::DIR, records.path()).envs(runtime_variables(options));
        command.envs(self.modules.as_ref().map(|list| (wire_env::MODULES, list)));
        if let Some(signal) = options.snapshot_signal {
            command.env(wire_env::SNAPSHOT_SIGNAL, signal.to_string());
        }
        if let Some(every) = options.snapshot_every {
            command.env(wire_env::SNAPSHOT_EVERY, every.as_millis().to_string());
        }
        if let Some(action) = on_leak_text(options.on_leak) {
            command.env(wire_env::ON_LEAK, action);
        }
        if let Some(limit) = options.leak_limit {
            command.env(wire_env::LEAK_LIMIT, limit.to_string());
        }
        if let How::Preload(preload) = &self.how {
            let before = env::var_os("LD_PRELOAD").unwrap_or_default();
            let before = (!before.is_empty()).then_some(before);
            let all = preload.iter().map(|path| path.clone().into_os_string()).chain(before);
            command.env("LD_PRELOAD", all.collect::<Vec<_>>().join(OsStr::new(":")));
        }
        command
    }
}

pub fn plan(options: &Run) -> Result<Plan> {
    let is_minimal = options.mode == Mode::Minimal && !options.two_pass;
    plan_as(options, if is_minimal { DeriveEngine::Minimal } else { DeriveEngine::Track })
}

/// The same for a captured program that tells how pointers come and go.
pub fn explaining(options: &Run) -> Result<Plan> {
    plan_as(options, DeriveEngine::Explain)
}

fn plan_as(options: &Run, variant: DeriveEngine) -> Result<Plan> {
    if options.targets.iter().all(|target| is_source(target)) {
        if let Some(engine @ (Engine::Preload | Engine::Valgrind)) = options.engine {
            let name = if engine == Engine::Preload { "preload" } else { "valgrind" };
            bail!("--engine {name} takes a program, not source files");
        }
        let store = Store::create(&bare_store(&options.targets)?)?;
        let link = capture_files(&store, &options.targets, &options.cflag)?;
        let name = options.targets[0].file_stem().unwrap_or_default();
        return track_plan(&store, &link, Path::new(name), options, variant);
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
        Ok((store, link)) => track_plan(&store, &link, target, options, variant),
        Err(error) if options.engine.is_none() => {
            let reason = match error {
                CaptureError::NotCaptured(_)
                | CaptureError::NoSuchFile(_)
                | CaptureError::Folder(_)
                | CaptureError::NotAProgram(_) => {
                    format!("{} was not built by `leakscope build -- <your build command>`", target.display())
                }
                CaptureError::ForeignProgram { .. } => error.to_string(),
                _ => return Err(error.into()),
            };
            as_it_is(target, &reason, options)
        }
        Err(error) => Err(error.into()),
    }
}

fn track_plan(
    store: &Store,
    link: &LinkId,
    shown: &Path,
    options: &Run,
    variant: DeriveEngine,
) -> Result<Plan> {
    let derived = derive::variant(store, link, variant, options.report.quiet)?;
    for kept in derived.kept.iter().filter(|_| variant != DeriveEngine::Explain) {
        note(&options.report, &format!("not instrumented: {}: {}", kept.input.display(), kept.reason));
    }
    let mut units = Vec::new();
    for id in &derived.units {
        units.push(store.unit(id)?);
    }
    let sources = Captured::of(store, &units);
    Ok(Plan {
        executable: derived.program,
        libraries: derived.libraries,
        modules: derived.modules,
        shown: shown.to_owned(),
        how: How::Track,
        sources,
    })
}

/// A program that was not captured: under Valgrind, or where that cannot be,
/// with the heap preloaded.
fn as_it_is(target: &Path, reason: &str, options: &Run) -> Result<Plan> {
    let (plan, how) = match (not_under_valgrind(options), Valgrind::find()) {
        (Some(option), _) => (
            preload_plan(target)?,
            format!("with the heap preloaded, for {option}; leak points are not found"),
        ),
        (None, Ok(valgrind)) => (valgrind_plan(target, valgrind, options)?, "under Valgrind".to_owned()),
        (None, Err(missing)) => (
            preload_plan(target)?,
            format!("with the heap preloaded; leak points are not found, for {missing}"),
        ),
    };
    note(&options.report, &format!("{reason}; it runs as it is, {how}"));
    Ok(plan)
}

fn valgrind_plan(target: &Path, valgrind: Valgrind, options: &Run) -> Result<Plan> {
    if let Some(option) = not_under_valgrind(options) {
        bail!("{option} needs another engine than valgrind: leave it out, or use --engine preload");
    }
    let path = existing(target)?;
    let kind = kind_of(&path)?;
    if kind == Kind::Static && !defines(&path, "malloc") {
        let shown = path.display();
        if has_section(&path, ".note.go.buildid") {
            bail!("{shown} is written in Go, whose memory is collected: there is no heap of C's to look at");
        }
        bail!("{shown} is statically linked and has no symbol malloc: run it as it was before `strip`");
    }
    let has_operators = kind == Kind::Dynamic && defines(&path, "_Znwm");
    // Valgrind refuses these even where the user stays the same.
    if fs::metadata(&path)?.mode() & (libc::S_ISUID | libc::S_ISGID) != 0 {
        bail!("{}", changes_user(&path));
    }
    // Valgrind gives the program the name that it is told.
    let shown =
        if target.components().count() > 1 || !target.is_file() { target.to_owned() } else { path.clone() };
    let how = How::Valgrind { valgrind, has_operators, pools: models::pools()?, explained: None };
    Ok(Plan::as_it_is(path, shown, how))
}

/// The option that our Valgrind tool does not know, if one is asked for.
fn not_under_valgrind(options: &Run) -> Option<&'static str> {
    match options.on_leak {
        OnLeak::Abort => Some("--on-leak abort"),
        OnLeak::Stop => Some("--on-leak stop"),
        OnLeak::Report => None,
    }
}

/// The program that is meant, which is there and can be run.
pub fn existing(target: &Path) -> Result<PathBuf> {
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
    let reason = match kind_of(&path)? {
        Kind::Static => "is statically linked, so nothing can be preloaded",
        Kind::Musl => "is linked with musl, for which there is no heap to preload",
        Kind::Script | Kind::Dynamic => "",
    };
    if !reason.is_empty() {
        let shown = path.display();
        bail!("{shown} {reason}: use --engine valgrind, or capture it with `leakscope build`");
    }
    let stand_ins = interpose::library(&models::pools()?)?;
    let how = How::Preload([Runtime::unpack()?.preload].into_iter().chain(stand_ins).collect());
    Ok(Plan::as_it_is(path, target.to_owned(), how))
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
    /// Another loader than glibc's.
    Musl,
    /// Nothing can be preloaded into it.
    Static,
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
    let found = fs::metadata(path)?;
    // SAFETY: no arguments, cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let is_others = found.mode() & libc::S_ISUID != 0 && found.uid() != user;
    if is_others || found.mode() & libc::S_ISGID != 0 && found.gid() != group {
        bail!("{}", changes_user(path));
    }
    let mut headers = file.elf_program_headers().iter();
    let Some(header) = headers.find(|header| header.p_type(file.endian()) == PT_INTERP) else {
        return Ok(Kind::Static);
    };
    let loader = header.data(file.endian(), &*content).unwrap_or_default();
    let is_musls = loader.windows(7).any(|part| part == b"ld-musl");
    Ok(if is_musls { Kind::Musl } else { Kind::Dynamic })
}

fn changes_user(path: &Path) -> String {
    let shown = path.display();
    format!("{shown} is setuid or setgid, so the system lets nothing into it: copy it and run the copy")
}

/// Whether a program has a function of this name inside.
fn defines(path: &Path, function: &str) -> bool {
    let Ok(content) = fs::read(path) else { return false };
    let Ok(file) = object::File::parse(&*content) else { return false };
    file.symbols()
        .chain(file.dynamic_symbols())
        .any(|symbol| symbol.is_definition() && symbol.name() == Ok(function))
}

fn has_section(path: &Path, name: &str) -> bool {
    let Ok(content) = fs::read(path) else { return false };
    object::File::parse(&*content).is_ok_and(|file| file.section_by_name(name).is_some())
}

/// How much the runtime looks at.
pub fn runtime_variables(options: &Run) -> [(&'static str, String); 3] {
    [
        (wire_env::DEPTH, options.depth.to_string()),
        (wire_env::MODE, mode_text(options.mode)),
        (wire_env::LAST_USE, last_use_text(options.last_use).to_owned()),
    ]
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

fn on_leak_text(action: OnLeak) -> Option<&'static str> {
    match action {
        OnLeak::Report => None,
        OnLeak::Abort => Some(wire_env::ON_LEAK_ABORT),
        OnLeak::Stop => Some(wire_env::ON_LEAK_STOP),
    }
}

/// A file in `folder` that says where the program's locals end. Without it the
/// run is as good as on optimised code.
fn frames_of(program: &Path, folder: &Path) -> Option<PathBuf> {
    let path = folder.join("frames");
    fs::write(&path, leakscope_trace::frames(program)?).ok()?;
    Some(path)
}
