//! `leakscope report`: from records to a report, for programs that were run
//! without leakscope beside them. `leakscope run` ends the same way.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use leakscope_core::{self as core, Engine, Exit, Report, Target};
use leakscope_trace::{Note, Process, analyse, read_folder};
use leakscope_wire::Reason;

use crate::cli::{ReportFolder, ReportOptions};
use crate::output::{Filters, Output, note};
use crate::sources::Captured;

pub fn run(options: &ReportFolder) -> Result<ExitCode> {
    let filters = Filters::read(&options.report)?;
    let processes = read_folder(&options.folder)?;
    let Some(record) = processes.first().and_then(|process| process.records.last()) else {
        bail!("no records in {}: was LEAKSCOPE_DIR set to it?", options.folder.display());
    };
    let program = record.modules.first().map_or_else(PathBuf::new, |module| module.path.clone());
    let signal = Reason::from_u32(record.header.reason) == Some(Reason::Signal);
    let target = Target {
        program: program.display().to_string(),
        args: Vec::new(),
        exit: signal.then_some(Exit::Signal(record.header.status)),
    };
    let report = of_records(&processes, &program, target, Engine::Track, &filters, &options.report);
    Output::open(&options.report, Output::Stdout)?.write(&report, &Captured::default(), &options.report)?;
    let failed = options.report.fail_on.fails(&report);
    Ok(ExitCode::from(if failed { options.exit_code } else { 0 }))
}

/// What the records say, with suppressions and baseline applied.
pub fn of_records(
    processes: &[Process],
    program: &Path,
    target: Target,
    engine: Engine,
    filters: &Filters,
    options: &ReportOptions,
) -> Report {
    let outcome = analyse(processes, program);
    let mut report = Report::new(core::Command::Run, engine, target, outcome.findings);
    report.fault = outcome.fault;
    filters.apply(&mut report);
    for limit in &outcome.notes {
        note(options, &limit_text(limit));
    }
    report
}

pub fn limit_text(note: &Note) -> String {
    match note {
        Note::AddressSpace { heap_limit } => format!(
            "the address space is limited (ulimit -v): the heap had at most {} MiB; raise the limit if the program ran out",
            heap_limit >> 20
        ),
        Note::ThreadRunning => {
            "a thread did not stop for the scan: all of its stack was searched, which may hide a leak"
                .to_owned()
        }
        Note::Sampled { time, least, stale, processes } => {
            let others = match processes {
                1 => String::new(),
                _ => format!(
                    "; of {processes} processes, this is the one with most, and each has its own measure"
                ),
            };
            format!(
                "stale means {stale} (--stale), counted in heap accesses: {time} so far, of which at least one in {least} was seen{others}"
            )
        }
        Note::OnlySnapshot { pid } => {
            format!(
                "process {pid} wrote nothing at its end, or runs still: this is what its last snapshot shows"
            )
        }
    }
}
