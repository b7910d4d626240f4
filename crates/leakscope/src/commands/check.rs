//! `leakscope check`: what the source can leak, without running it.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use leakscope_analyze::{Analysis, Config, Models, Procedures, analyze, describe};
use leakscope_core::{self as core, Engine, Finding, Report, Target};
use leakscope_ir::{FuncId, Function, Program};
use leakscope_report::Sources;

use super::derive::progress_bar;
use crate::analysed::{Parts, Piece};
use crate::changed::keep_changed;
use crate::cli::{Check, CheckFormat, ReportOptions};
use crate::commands::validate;
use crate::kept_check::{self, Kept};
use crate::models::{models, own_text};
use crate::output::{Filters, Output, note};
use crate::sources::Captured;

/// The comment that takes a warning out of the report.
const IGNORE: &str = "leakscope: ignore";

pub fn run(options: &Check) -> Result<ExitCode> {
    let report_options = options.report_options();
    let filters = Filters::read(&report_options)?;
    let models = models()?;
    if options.validate {
        return validate::run(&validate::of_check(options)?);
    }
    let output = Output::open(&report_options, Output::Stdout)?;
    let parts = Parts::of(&options.targets, &options.common.cflag)?;
    let mut all = Kept::default();
    for piece in &parts.pieces {
        match checked(options, &parts, piece, &models)? {
            Checked::Summary => return Ok(ExitCode::SUCCESS),
            Checked::Findings(kept) => all.add(kept),
        }
    }
    if let Some(name) = &options.summary {
        bail!("no function {name} with a body in the program: give its name as the source has it");
    }
    let kept = all;
    let target = Target { program: options.targets[0].display().to_string(), args: Vec::new(), exit: None };
    note_given_up(&kept.cut, &kept.failed, &report_options);
    let mut report = Report::new(core::Command::Check, Engine::Static, target, kept.findings);
    filters.apply(&mut report);
    report.retain(|finding| !is_ignored(finding, &parts.sources));
    output.write(&report, &parts.sources, &report_options)?;
    Ok(ExitCode::from(u8::from(report_options.fail_on.fails(&report))))
}

enum Checked {
    Findings(Kept),
    /// Was asked for, and is written.
    Summary,
}

fn checked(options: &Check, parts: &Parts, piece: &Piece, models: &Models) -> Result<Checked> {
    let report_options = options.report_options();
    let config = Config { at_exit: options.at_exit, pedantic: options.pedantic };
    let place = kept_check::place(&parts.store, piece.units(), &own_text()?, &format!("{config:?}"));
    let kept = kept_check::load(&place).filter(|_| options.summary.is_none() && options.diff.is_none());
    if let Some(kept) = kept {
        return Ok(Checked::Findings(kept));
    }
    let program = parts.program(piece, &report_options)?;
    let procedures =
        kept_check::Procedures::of(&parts.store, &options.targets[0], &own_text()?, &format!("{config:?}"));
    // A summary that is asked for is made anew.
    let before = if options.summary.is_some() { Vec::new() } else { procedures.load() };
    let before = Procedures::read(&before);
    let analysis = analyze(&program, models, &config, &before, &progress(options.common.quiet));
    if let Some(function) = &options.summary {
        let is_written = summary(&program, &analysis, function, options.format);
        return Ok(if is_written { Checked::Summary } else { Checked::Findings(Kept::default()) });
    }
    let mut kept = Kept { findings: analysis.findings, cut: analysis.cut, failed: analysis.failed };
    parts.store.write(&place, &serde_json::to_vec(&kept)?)?;
    if let Some(now) = &analysis.kept {
        procedures.keep(now)?;
    }
    if let Some(revision) = &options.diff {
        keep_changed(&program, revision, &mut kept.findings)?;
    }
    Ok(Checked::Findings(kept))
}

/// Writes what the function of this name does to memory to standard output;
/// false if there is none.
fn summary(program: &Program, analysis: &Analysis, name: &str, format: CheckFormat) -> bool {
    let is_meant = |function: &Function| function.name == name || function.display == name;
    let mut found = false;
    for (index, function) in program.functions.iter().enumerate() {
        let summary = analysis.summaries[index].as_ref().filter(|_| is_meant(function));
        if let Some(summary) = summary {
            found = true;
            let description = describe(program, FuncId(index as u32), summary);
            // Who reads it may have seen enough.
            let _ = match format {
                CheckFormat::Dot => write!(io::stdout(), "{}", description.dot()),
                _ => write!(io::stdout(), "{description}"),
            };
        }
    }
    found
}

/// Whether the line of the allocation or of the leak, or the one before it,
/// says so; of a leak inside of calls, those of the calls too.
pub fn is_ignored(finding: &Finding, sources: &Captured) -> bool {
    let leaked = finding.leaked.iter().flat_map(|place| &place.stack);
    let frames = finding.allocated.stack.first().into_iter().chain(leaked);
    frames.into_iter().any(|frame| {
        let (Some(file), Some(line)) = (&frame.file, frame.line) else { return false };
        let Some(text) = sources.text(file) else { return false };
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines().skip((line as usize).saturating_sub(2)).take(2);
        lines.any(|line| line.contains(IGNORE))
    })
}

/// Shows how far the analysis is, once it takes longer than a second.
pub fn progress(quiet: bool) -> impl Fn(usize, usize) + Sync {
    let start = Instant::now();
    let bar = OnceLock::new();
    move |done, all| {
        if start.elapsed() > Duration::from_secs(1) {
            let bar = bar.get_or_init(|| progress_bar("checking", quiet));
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            if done == all {
                bar.finish_and_clear();
            }
        }
    }
}

/// Says of which functions nothing is known.
pub fn note_given_up(cut: &[String], failed: &[String], options: &ReportOptions) {
    let reasons = [(cut, "that took too long"), (failed, "for an error in leakscope, please report it")];
    for (names, why) in reasons.into_iter().filter(|(names, _)| !names.is_empty()) {
        let functions = if names.len() == 1 { "function" } else { "functions" };
        note(options, &format!("gave up on {} {functions} {why}: {}", names.len(), names.join(", ")));
    }
}
