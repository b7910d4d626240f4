//! `leakscope watch`: what goes stale in a program, from samples of its
//! accesses; and what it lost.

mod live;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use leakscope_capture::{LinkId, Store, capture_files, outlive, program};
use leakscope_core::{self as core, Exit, Report, Target};
use leakscope_report::{Progress, metrics};
use leakscope_trace::{Process, analyse_stale, has_names, profile, read_sound};
use leakscope_wire::env as wire_env;

use crate::cli::{DeriveEngine, Watch};
use crate::commands::run::exit_code;
use crate::commands::{derive, report};
use crate::files::{bare_store, is_source};
use crate::inbox::Inbox;
use crate::metrics::{self, Audience};
use crate::output::{Filters, Output, note};
use crate::plan::existing;
use crate::records::Records;
use crate::sources::Captured;

pub fn run(options: &Watch) -> Result<ExitCode> {
    let filters = Filters::read(&options.report)?;
    let watched = match &options.targets[..] {
        [records] if records.is_dir() || records.extension().is_some_and(|end| end == "record") => {
            Watched { folder: records.clone(), ..Watched::default() }
        }
        _ => return watch_program(options, &filters),
    };
    serve(&watched, options)?;
    let output = Output::open(&options.report, Output::Stdout)?;
    if !options.once {
        live::follow(&watched, None, options, &filters)?;
    }
    let Some(report) = watched.report(options, &filters, Say::Everything)? else {
        bail!(
            "no snapshots in {}: a watched program writes them when something is stale or lost, and LEAKSCOPE_DIR must name the folder",
            watched.folder.display()
        );
    };
    output.write(&report, &watched.sources, &options.report)?;
    let failed = options.report.fail_on.fails(&report);
    Ok(ExitCode::from(if failed { options.exit_code } else { 0 }))
}

fn watch_program(options: &Watch, filters: &Filters) -> Result<ExitCode> {
    let (store, link, shown) = captured(options)?;
    let derived = derive::variant(&store, &link, DeriveEngine::Sample, options.report.quiet)?;
    for kept in &derived.kept {
        note(&options.report, &format!("not watched: {}: {}", kept.input.display(), kept.reason));
    }
    let mut units = Vec::new();
    for id in store.units()? {
        units.push(store.unit(&id)?);
    }
    let output = Output::open(&options.report, Output::Stderr)?;
    let records = Records::new(options.keep_records.as_deref())?;
    let inbox = Inbox::open(records.path(), most(options)).context("cannot open a socket for records")?;
    let mut watched = Watched {
        folder: records.path().to_owned(),
        program: derived.program.clone(),
        shown: shown.clone(),
        arguments: options.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        exit: None,
        sources: Captured::of(&store, &units),
    };
    serve(&watched, options)?;
    let mut command = command(&watched, options);
    command.env(wire_env::SOCKET, inbox.name());
    command.envs(derived.modules.as_ref().map(|list| (wire_env::MODULES, list)));
    let cannot_run = || format!("cannot run {}", shown.display());
    let status = if options.once {
        outlive(&mut command).with_context(cannot_run)?
    } else {
        match live::run(&watched, &mut command, options, filters).with_context(cannot_run)? {
            Some(status) => status,
            None => {
                // It goes on writing there.
                let folder = records.leave();
                eprintln!(
                    "leakscope: {} goes on; `leakscope watch {}` shows it",
                    shown.display(),
                    folder.display()
                );
                return Ok(ExitCode::SUCCESS);
            }
        }
    };
    inbox.close();
    watched.exit = Some(match status.signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.code().unwrap_or(0)),
    });
    let Some(report) = watched.report(options, filters, Say::Everything)? else {
        records.check_room()?;
        eprintln!(
            "leakscope: no snapshot of {}: it ended before the first one (--snapshot-every)",
            shown.display()
        );
        return Ok(exit_code(status, status.success().then_some(2)));
    };
    output.write(&report, &watched.sources, &options.report)?;
    let failed = options.report.fail_on.fails(&report);
    Ok(exit_code(status, failed.then_some(options.exit_code)))
}

/// What is watched: a folder, and the program that writes there, if we started
/// it.
#[derive(Default)]
pub struct Watched {
    pub folder: PathBuf,
    program: PathBuf,
    shown: PathBuf,
    arguments: Vec<String>,
    exit: Option<Exit>,
    pub sources: Captured,
}

/// What is said beside a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say {
    Everything,
    Nothing,
}

impl Watched {
    /// Whether we started the program; else it is one that writes to a folder.
    pub fn is_ours(&self) -> bool {
        !self.program.as_os_str().is_empty()
    }

    /// What the snapshots say so far, lost above stale; `None` if there are
    /// none.
    pub fn report(&self, options: &Watch, filters: &Filters, say: Say) -> Result<Option<Report>> {
        let (processes, problems) = read_sound(&self.folder)?;
        let say = |text: &str| {
            if say == Say::Everything {
                note(&options.report, text);
            }
        };
        for problem in &problems {
            say(&format!("passed over: {problem}"));
        }
        let programs = programs(&processes);
        for path in unnamed(&processes) {
            say(&format!(
                "no names for {}: what ran is not the file that is there now; put that file into a folder and name the folder in LEAKSCOPE_DEBUG_DIR",
                path.display()
            ));
        }
        let Some(first) = programs.first() else { return Ok(None) };
        if let [first, others @ ..] = &programs[..]
            && !self.is_ours()
            && !others.is_empty()
        {
            let others: Vec<_> = others.iter().map(|program| program.display().to_string()).collect();
            say(&format!(
                "{} and {} write to this folder: all of them are in this report",
                first.display(),
                others.join(", ")
            ));
        }
        let (program, shown) = if self.is_ours() { (&self.program, &self.shown) } else { (first, first) };
        let outcome = analyse_stale(&processes, program, &options.stale);
        let target =
            Target { program: shown.display().to_string(), args: self.arguments.clone(), exit: self.exit };
        let mut report = Report::new(core::Command::Watch, core::Engine::Sample, target, outcome.findings);
        report.fault = outcome.fault;
        filters.apply(&mut report);
        report.sort_stale(options.sort);
        for limit in &outcome.notes {
            say(&report::limit_text(limit));
        }
        Ok(Some(report))
    }
}

/// The programs that wrote records, in the order of their processes.
fn programs(processes: &[Process]) -> Vec<PathBuf> {
    let mut programs: Vec<PathBuf> = Vec::new();
    for record in processes.iter().filter_map(|process| process.records.last()) {
        let program = record.modules.first().map_or_else(PathBuf::new, |module| module.path.clone());
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs
}

/// Programs whose files are gone, or have become others.
fn unnamed(processes: &[Process]) -> BTreeSet<&Path> {
    let records = processes.iter().filter_map(|process| process.records.last());
    let programs = records.filter_map(|record| record.modules.first());
    programs.filter(|module| !has_names(&module.path, &module.build_id)).map(|module| &*module.path).collect()
}

/// Serves metrics, if they are wanted, for as long as this process lives.
fn serve(watched: &Watched, options: &Watch) -> Result<()> {
    let Some(address) = options.metrics else { return Ok(()) };
    let audience = if options.metrics_anybody { Audience::Anybody } else { Audience::ThisMachine };
    let (folder, program, stale) = (watched.folder.clone(), watched.program.clone(), options.stale.clone());
    let (mut before, mut text) = (None, metrics(&[], Progress::default()));
    let page = move || {
        let now = state_of(&folder);
        if before != now
            && let Ok((processes, _)) = read_sound(&folder)
        {
            let accesses = processes.iter().filter_map(|process| process.records.last()?.sampling);
            let progress = Progress {
                snapshots: processes.iter().map(|process| process.records.len() as u64).sum(),
                accesses: accesses.map(|sampling| sampling.time).sum(),
            };
            text = metrics(&profile(&processes, &program, &stale), progress);
            before = now;
        }
        text.clone()
    };
    let found = metrics::serve(address, audience, page)?;
    note(&options.report, &format!("metrics at http://{found}/metrics"));
    Ok(())
}

/// Changes when a snapshot comes or goes, whatever the clock does meanwhile.
pub fn state_of(folder: &Path) -> Option<BTreeMap<OsString, SystemTime>> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let records = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "record"));
    let state: BTreeMap<_, _> = records
        .filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.modified().ok()?)))
        .collect();
    (!state.is_empty()).then_some(state)
}

/// The captured program, or the capture of bare source files.
fn captured(options: &Watch) -> Result<(Store, LinkId, PathBuf)> {
    if options.targets.iter().all(|target| is_source(target)) {
        let store = Store::create(&bare_store(&options.targets)?)?;
        let link = capture_files(&store, &options.targets, &options.cflag)?;
        let name = PathBuf::from(options.targets[0].file_stem().unwrap_or_default());
        return Ok((store, link, name));
    }
    let [target] = &options.targets[..] else {
        bail!(
            "expected one program, one folder, or only source files; the program's own arguments come after `--`"
        );
    };
    existing(target)?;
    let (store, link) = program(target).with_context(|| {
        format!("{} cannot be watched; for what it loses, `leakscope run --engine preload --snapshot-every 60` takes any program", target.display())
    })?;
    Ok((store, link, target.clone()))
}

/// Bytes of snapshots that a table keeps, which may be shown for days: all of
/// them are read again whenever one comes.
const TABLE_MAX: u64 = 8 << 20;

/// How many bytes of snapshots are kept, where not all are.
fn most(options: &Watch) -> Option<u64> {
    let is_table = !options.once && options.keep_records.is_none();
    match env::var(wire_env::DIR_MAX) {
        Ok(given) => given.parse().ok().filter(|&most| most != 0),
        Err(_) => is_table.then_some(TABLE_MAX),
    }
}

fn command(watched: &Watched, options: &Watch) -> Command {
    let mut command = Command::new(&watched.program);
    command.arg0(&watched.shown).args(&options.arguments);
    command.env(wire_env::DIR, &watched.folder).env(wire_env::ALWAYS, "1");
    command.env(wire_env::SNAPSHOT_EVERY, options.snapshot_every.as_millis().to_string());
    command.envs(most(options).map(|most| (wire_env::DIR_MAX, most.to_string())));
    command.env(wire_env::BURST, options.burst.to_string());
    command.env(wire_env::DECR, options.decr.to_string());
    command.env(wire_env::MIN, options.min.to_string());
    if options.burst_history {
        command.env(wire_env::BURST_HISTORY, "1");
    }
    if let Some(one_in) = options.inject_leaks {
        command.env(wire_env::INJECT, one_in.to_string()).env(wire_env::SEED, options.seed.to_string());
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_table_forgets_snapshots() {
        use clap::Parser;

        #[derive(Parser)]
        struct Asked {
            #[command(flatten)]
            watch: Watch,
        }
        let is_limited = |words: &[&str]| {
            let options = Asked::parse_from([&["watch"], words].concat()).watch;
            let command = command(&Watched::default(), &options);
            command.get_envs().any(|(name, _)| name == wire_env::DIR_MAX)
        };
        assert!(is_limited(&["./server"]));
        assert!(!is_limited(&["--once", "./server"]));
        assert!(!is_limited(&["--keep-records", "all", "./server"]));
    }

    #[test]
    fn a_clock_that_was_set_back_hides_no_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, second: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second)).unwrap();
        };
        assert_eq!(state_of(folder.path()), None);
        write("5-77-0.record", 900);
        write("5-77-1.record", 901);
        let before = state_of(folder.path());
        assert_eq!(state_of(folder.path()), before);
        fs::remove_file(folder.path().join("5-77-0.record")).unwrap();
        write("5-77-2.record", 3);
        assert_ne!(state_of(folder.path()), before);
    }
}
