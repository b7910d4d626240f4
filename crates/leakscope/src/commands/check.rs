//! `leakscope check`: what the source can leak, without running it.

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use leakscope_analyze::{Analysis, Config, analyze, describe};
use leakscope_capture::{Input, Link, LinkId, Store, Unit, UnitId, capture_files, program};
use leakscope_core::{self as core, Engine, Finding, Report, Target};
use leakscope_ir::{FuncId, Function, Module, Presence, Program};
use leakscope_report::Sources;
use rayon::prelude::*;

use crate::cli::{Check, CheckFormat, ReportOptions};
use crate::files::{bare_store, is_source};
use crate::models::models;
use crate::output::{Filters, Output, note};
use crate::sources::Captured;

/// The comment that takes a warning out of the report.
const IGNORE: &str = "leakscope: ignore";

pub fn run(options: &Check) -> Result<ExitCode> {
    let report_options = options.report_options();
    let filters = Filters::read(&report_options)?;
    let models = models()?;
    let (store, link) = target(options)?;
    let units = units(&store, &link)?;
    let sources = Captured::of(&store, units.iter().map(|part| &part.unit));
    let output = Output::open(&report_options)?;

    let program = read(&store, &units, &report_options)?;
    let analysis =
        analyze(&program, &models, &Config { at_exit: options.at_exit, pedantic: options.pedantic });
    if let Some(function) = &options.summary {
        return summary(&program, &analysis, function, options.format);
    }
    let target = Target { program: options.targets[0].display().to_string(), args: Vec::new(), exit: None };
    note_cut(&analysis, &report_options);
    let mut report = Report::new(core::Command::Check, Engine::Static, target, analysis.findings);
    filters.apply(&mut report);
    report.retain(|finding| !is_ignored(finding, &sources));
    output.write(&report, &sources, &report_options)?;
    Ok(ExitCode::from(u8::from(report_options.fail_on.fails(&report))))
}

/// What the function of this name does to memory, on standard output.
fn summary(program: &Program, analysis: &Analysis, name: &str, format: CheckFormat) -> Result<ExitCode> {
    let is_meant = |function: &Function| function.name == name || function.display == name;
    let mut found = false;
    for (index, function) in program.functions.iter().enumerate() {
        let summary = analysis.summaries[index].as_ref().filter(|_| is_meant(function));
        if let Some(summary) = summary {
            found = true;
            let description = describe(program, FuncId(index as u32), summary);
            match format {
                CheckFormat::Dot => print!("{}", description.dot()),
                _ => print!("{description}"),
            }
        }
    }
    if !found {
        bail!("no function {name} with a body in the program: give its name as the source has it");
    }
    Ok(ExitCode::SUCCESS)
}

fn target(options: &Check) -> Result<(Store, LinkId)> {
    if options.targets.iter().all(|target| is_source(target)) {
        let store = Store::create(&bare_store(&options.targets)?)?;
        let link = capture_files(&store, &options.targets, &options.cflag)?;
        return Ok((store, link));
    }
    match &options.targets[..] {
        [target] => Ok(program(target)?),
        _ => bail!("expected one program, or only source files"),
    }
}

/// A captured unit of a program.
struct Part {
    id: UnitId,
    unit: Unit,
    when: Presence,
}

/// The captured units of a link and of the shared libraries that it uses, each
/// once, in the order of the link.
fn units(store: &Store, link: &LinkId) -> Result<Vec<Part>> {
    let mut seen = BTreeSet::new();
    let mut links = vec![link.clone()];
    let mut units = Vec::new();
    while let Some(id) = links.pop() {
        let link = store.link(&id)?;
        for (unit, when) in units_of(&link) {
            if seen.insert(unit.clone()) {
                units.push(Part { id: unit.clone(), unit: store.unit(unit)?, when });
            }
        }
        for input in &link.arguments {
            if let Input::Captured { link, .. } = input
                && seen.insert(UnitId(link.0.clone()))
            {
                links.push(link.clone());
            }
        }
    }
    Ok(units)
}

/// Of a static library the linker takes what is needed, unless it is told
/// otherwise, or code that was not captured may need more.
fn units_of(link: &Link) -> Vec<(&UnitId, Presence)> {
    let is_foreign = |input: &Input| matches!(input, Input::Object { .. });
    let usual = if link.arguments.iter().any(is_foreign) { Presence::Always } else { Presence::WhereNeeded };
    let mut of_archives = usual;
    let mut units = Vec::new();
    for input in &link.arguments {
        match input {
            Input::Flag(flag) if flag.ends_with("--no-whole-archive") => of_archives = usual,
            Input::Flag(flag) if flag.ends_with("--whole-archive") => of_archives = Presence::Always,
            Input::Units { units: own, .. } => {
                units.extend(own.iter().map(|unit| (unit, Presence::Always)));
            }
            Input::Archive { members, .. } => {
                let members = members.iter().flat_map(|member| &member.units);
                units.extend(members.map(|unit| (unit, of_archives)));
            }
            _ => {}
        }
    }
    units
}

/// The program that the units make; those that cannot be read are named.
fn read(store: &Store, units: &[Part], options: &ReportOptions) -> Result<Program> {
    let read_unit = |Part { id, unit, .. }: &Part| -> Result<Module> {
        let path = store.bitcode(id);
        let bitcode = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        leakscope_ir::read(&bitcode).with_context(|| unit.source.display().to_string())
    };
    let modules: Vec<Result<Module>> = units.par_iter().map(read_unit).collect();
    let mut readable = Vec::new();
    for (module, part) in modules.into_iter().zip(units) {
        match module {
            Ok(module) => readable.push((module, part.when)),
            Err(error) => note(options, &format!("not checked: {error:#}")),
        }
    }
    if readable.is_empty() {
        bail!(
            "nothing to check: {}",
            if units.is_empty() { "the program has no captured source" } else { "no unit can be read" }
        );
    }
    Ok(leakscope_ir::link(leakscope_ir::needed(readable)))
}

/// Whether the line of the allocation or of the leak, or the one before it,
/// says so.
fn is_ignored(finding: &Finding, sources: &Captured) -> bool {
    let places = [Some(&finding.allocated), finding.leaked.as_ref()];
    let frames = places.into_iter().flatten().filter_map(|place| place.stack.first());
    frames.into_iter().any(|frame| {
        let (Some(file), Some(line)) = (&frame.file, frame.line) else { return false };
        let Some(text) = sources.text(file) else { return false };
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines().skip((line as usize).saturating_sub(2)).take(2);
        lines.any(|line| line.contains(IGNORE))
    })
}

fn note_cut(analysis: &Analysis, options: &ReportOptions) {
    if !analysis.cut.is_empty() {
        let text = format!(
            "{} functions took too long and were passed over: {}",
            analysis.cut.len(),
            analysis.cut.join(", ")
        );
        note(options, &text);
    }
}
