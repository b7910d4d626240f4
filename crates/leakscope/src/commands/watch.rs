//! `leakscope watch`: what goes stale in a program, from samples of its
//! accesses; and what it lost.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use leakscope_capture::{LinkId, Store, capture_files, outlive, program};
use leakscope_core::{self as core, Exit, Report, Target};
use leakscope_trace::{Process, analyse_stale, read_records};
use leakscope_wire::env as wire_env;

use crate::cli::{DeriveEngine, Watch};
use crate::commands::run::{Records, bare_store, exit_code, is_source};
use crate::commands::{derive, report};
use crate::inbox::Inbox;
use crate::output::{Filters, Output, note};
use crate::sources::Captured;

pub fn run(options: &Watch) -> Result<ExitCode> {
    let filters = Filters::read(&options.report)?;
    match &options.targets[..] {
        [folder] if folder.is_dir() => watch_folder(folder, options, &filters),
        _ => watch_program(options, &filters),
    }
}

/// What a deployed program wrote.
fn watch_folder(folder: &Path, options: &Watch, filters: &Filters) -> Result<ExitCode> {
    let output = Output::open(&options.report)?;
    let processes = read_records(folder, &[])?;
    let Some(first) = processes.first().and_then(|process| process.records.last()) else {
        bail!(
            "no snapshots in {}: a watched program writes them when something is stale or lost, and LEAKSCOPE_DIR must name the folder",
            folder.display()
        );
    };
    let program = first.modules.first().map_or_else(PathBuf::new, |module| module.path.clone());
    let target = Target { program: program.display().to_string(), args: Vec::new(), exit: None };
    let report = report_of(&processes, &program, target, options, filters)?;
    output.write(&report, &Captured::default(), &options.report)?;
    let failed = options.report.fail_on.fails(&report);
    Ok(ExitCode::from(if failed { options.exit_code } else { 0 }))
}

fn watch_program(options: &Watch, filters: &Filters) -> Result<ExitCode> {
    let (store, link, shown) = captured(options)?;
    let derived = derive::variant(&store, &link, DeriveEngine::Sample, options.report.quiet)?;
    for kept in &derived.kept {
        note(&options.report, &format!("not watched: {}: {}", kept.input.display(), kept.reason));
    }
    let output = Output::open(&options.report)?;
    let records = Records::new(options.keep_records.as_deref())?;
    let inbox = Inbox::open(records.path()).context("cannot open a socket for records")?;
    let mut command = command(&derived.program, &shown, records.path(), options);
    command.env(wire_env::SOCKET, inbox.name());
    let status = outlive(&mut command).with_context(|| format!("cannot run {}", shown.display()))?;

    let processes = read_records(records.path(), &records.keep(inbox.close()))?;
    if processes.is_empty() {
        records.check_room()?;
        eprintln!(
            "leakscope: no snapshot of {}: it ended before the first one (--snapshot-every)",
            shown.display()
        );
        return Ok(exit_code(status, status.success().then_some(2)));
    }
    let target = Target {
        program: shown.display().to_string(),
        args: options.arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        exit: Some(match status.signal() {
            Some(signal) => Exit::Signal(signal),
            None => Exit::Code(status.code().unwrap_or(0)),
        }),
    };
    let report = report_of(&processes, &derived.program, target, options, filters)?;
    let mut units = Vec::new();
    for id in store.units()? {
        units.push(store.unit(&id)?);
    }
    output.write(&report, &Captured::of(&store, &units), &options.report)?;
    let failed = options.report.fail_on.fails(&report);
    Ok(exit_code(status, failed.then_some(options.exit_code)))
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
    let (store, link) = program(target).with_context(|| {
        format!("{} cannot be watched; for what it loses, `leakscope run --engine preload --snapshot-every 60` takes any program", target.display())
    })?;
    Ok((store, link, target.clone()))
}

fn command(executable: &Path, shown: &Path, folder: &Path, options: &Watch) -> Command {
    let mut command = Command::new(executable);
    command.arg0(shown).args(&options.arguments);
    command.env(wire_env::DIR, folder).env(wire_env::ALWAYS, "1");
    command.env(wire_env::SNAPSHOT_EVERY, options.snapshot_every.as_millis().to_string());
    command.env(wire_env::BURST, options.burst.to_string());
    command.env(wire_env::DECR, options.decr.to_string());
    command.env(wire_env::MIN, options.min.to_string());
    if let Some(one_in) = options.inject_leaks {
        command.env(wire_env::INJECT, one_in.to_string()).env(wire_env::SEED, options.seed.to_string());
    }
    command
}

/// What the records say, lost above stale.
fn report_of(
    processes: &[Process],
    program: &Path,
    target: Target,
    options: &Watch,
    filters: &Filters,
) -> Result<Report> {
    let outcome = analyse_stale(processes, program, &options.stale);
    let mut report = Report::new(core::Command::Watch, core::Engine::Sample, target, outcome.findings);
    report.fault = outcome.fault;
    filters.apply(&mut report);
    report.sort_stale(options.sort);
    for limit in &outcome.notes {
        note(&options.report, &report::limit_text(limit));
    }
    Ok(report)
}
