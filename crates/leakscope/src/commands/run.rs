//! `leakscope run`: runs a program under the runtime, and reports what it
//! leaked.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus, Stdio};

use anyhow::{Result, bail};
use leakscope_core::{self as core, Exit, Report, Target};
use leakscope_trace::Process;
use leakscope_wire::env as wire_env;

use crate::cli::{Mode, ReportOptions, Run};
use crate::commands::report;
use crate::execution::{Execution, execute};
use crate::input::Input;
use crate::last_run::{self, LastRun};
use crate::only::{self, Chosen};
use crate::output::{Filters, Output, note};
use crate::plan::{How, Plan, plan};
use crate::records::Records;
use crate::start::Start;
use crate::{explain, second_pass, valgrind};

pub fn run(options: &Run) -> Result<ExitCode> {
    let filters = Filters::read(&options.report)?;
    let plan = plan(options)?;
    say_what_changes_nothing(options, &plan);
    let output = Output::open(&options.report, Output::Stderr)?;
    let records = Records::new(options.keep_records.as_deref())?;
    let start = Start::now(&plan.shown, &options.arguments, input(options)?)?;

    let copy = start.input.copy();

    let in_two_passes = options.two_pass && matches!(plan.how, How::Track);
    let Execution { status, processes } = execute(&plan, options, &records, |command| {
        if options.keep_input || options.two_pass || options.explain {
            command.stdin(start.input.again()?);
        }
        if in_two_passes {
            command.env(wire_env::MODE, wire_env::MODE_MINIMAL);
        }
        only::apply(command, options, &plan, &records)
    })?;
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
    let judge = |processes: &[Process]| {
        report::of_records(processes, &plan.executable, target.clone(), engine, &filters, &options.report)
    };
    let mut report = judge(&processes);
    if options.mode == Mode::Minimal && engine == core::Engine::Track {
        say_why_no_leak_points(&mut report);
    } else if in_two_passes && let Some(chosen) = Chosen::by_loss(&processes) {
        match second_pass::run(&plan, options, &start, &chosen, &processes) {
            Ok(Some(second)) => report = second_pass::joined(report, judge(&second)),
            Ok(None) => {}
            Err(error) => say_why_once(options, &error),
        }
    }
    if explain::is_wanted(options, &plan, copy.is_some() || start.input.repeats(), &report) {
        let input = || copy.map_or_else(|| start.input.again().map(Stdio::from), |copy| Ok(copy.into()));
        let explained = explain::run(options, &processes, input, &mut report, |processes, plan| {
            let quiet = ReportOptions { quiet: true, ..options.report.clone() };
            report::of_records(processes, &plan.executable, target.clone(), engine, &filters, &quiet)
        });
        if let Err(error) = explained {
            say_why_once(options, &error);
        }
    }
    output.write(&report, &plan.sources, &options.report)?;
    let kept = LastRun::new(start, &report).keep(options.keep_records.as_deref());
    if let Err(error) = kept {
        note(&options.report, &format!("`leakscope debug` will not know this run: {error:#}"));
    }
    Ok(exit_code(status, fails(&report, options).then_some(options.exit_code)))
}

/// Options that are for other engines than the one that was chosen.
fn say_what_changes_nothing(options: &Run, plan: &Plan) {
    let is_valgrind = matches!(plan.how, How::Valgrind { .. });
    let asked = [
        ("--mode", options.mode != Mode::Full),
        ("--only", !options.only.is_empty()),
        ("--two-pass", options.two_pass && !is_valgrind),
        ("--explain", options.explain && !is_valgrind),
    ];
    for (option, _) in asked.iter().filter(|(_, asked)| *asked && !matches!(plan.how, How::Track)) {
        note(&options.report, &format!("{option} is for captured programs; it changes nothing here"));
    }
}

/// What the first run found is told, whatever becomes of a second.
fn say_why_once(options: &Run, error: &anyhow::Error) {
    note(&options.report, &format!("no second run, these are the findings of the first: {error:#}"));
}

/// What the program will read; from a pipe it is read now, if it must be kept.
fn input(options: &Run) -> Result<Input> {
    let input = Input::of_stdin();
    if input == Input::Terminal && (options.two_pass || options.explain) {
        let option = if options.two_pass { "--two-pass" } else { "--explain" };
        bail!("{option} cannot give a terminal's input twice: give the input by `<`");
    }
    if !options.keep_input && !options.two_pass && !options.explain {
        return Ok(input);
    }
    input.kept_at(&last_run::place(&env::current_dir()?, "input")?)
}

/// The user's choice, and not the program's code.
fn say_why_no_leak_points(report: &mut Report) {
    for finding in report.findings.iter_mut().filter(|finding| finding.kind == core::Kind::Lost) {
        finding.evidence.insert("inexact".to_owned(), "no leak point: --mode minimal".into());
    }
}

/// Whether the report fails the run. Less than the limit is no loss.
fn fails(report: &Report, options: &Run) -> bool {
    let mut judged = report.clone();
    if judged.summary.lost.bytes < options.leak_limit.unwrap_or(0) {
        judged.retain(|finding| finding.kind != core::Kind::Lost);
    }
    options.report.fail_on.fails(&judged)
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
