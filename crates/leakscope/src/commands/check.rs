//! `leakscope check`: what the source can leak, without running it.

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use leakscope_analyze::{Analysis, Config, analyze};
use leakscope_capture::{Input, Link, LinkId, Store, Unit, UnitId, capture_files, program};
use leakscope_core::{self as core, Engine, Report, Target};
use leakscope_ir::{Module, Program};
use rayon::prelude::*;

use crate::cli::{Check, ReportOptions};
use crate::files::{bare_store, is_source};
use crate::models::models;
use crate::output::{Filters, Output, note};
use crate::sources::Captured;

pub fn run(options: &Check) -> Result<ExitCode> {
    let report_options = options.report_options();
    let filters = Filters::read(&report_options)?;
    let models = models()?;
    let (store, link) = target(options)?;
    let units = units(&store, &link)?;
    let sources = Captured::of(&store, units.iter().map(|(_, unit)| unit));
    let output = Output::open(&report_options)?;

    let program = read(&store, &units, &report_options)?;
    let analysis = analyze(&program, &models, &Config { at_exit: options.at_exit });
    let target = Target {
        program: options.targets[0].display().to_string(),
        args: Vec::new(),
        exit: None,
    };
    note_cut(&analysis, &report_options);
    let mut report = Report::new(core::Command::Check, Engine::Static, target, analysis.findings);
    filters.apply(&mut report);
    output.write(&report, &sources, &report_options)?;
    Ok(ExitCode::from(u8::from(report_options.fail_on.fails(&report))))
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

/// The captured units of a link and of the shared libraries that it uses, each
/// once, in the order of the link.
fn units(store: &Store, link: &LinkId) -> Result<Vec<(UnitId, Unit)>> {
    let mut seen = BTreeSet::new();
    let mut links = vec![link.clone()];
    let mut units = Vec::new();
    while let Some(id) = links.pop() {
        let link = store.link(&id)?;
        for unit in units_of(&link) {
            if seen.insert(unit.clone()) {
                units.push((unit.clone(), store.unit(unit)?));
            }
        }
        for input in &link.arguments {
            if let Input::Captured { link, .. } = input {
                if seen.insert(UnitId(link.0.clone())) {
                    links.push(link.clone());
                }
            }
        }
    }
    Ok(units)
}

fn units_of(link: &Link) -> Vec<&UnitId> {
    let of_input = |input| match input {
        &Input::Units { ref units, .. } => units.iter().collect(),
        Input::Archive { members, .. } => members.iter().flat_map(|member| &member.units).collect(),
        _ => Vec::new(),
    };
    link.arguments.iter().flat_map(of_input).collect()
}

/// The program that the units make; those that cannot be read are named.
fn read(store: &Store, units: &[(UnitId, Unit)], options: &ReportOptions) -> Result<Program> {
    let read_unit = |(id, unit): &(UnitId, Unit)| -> Result<Module> {
        let path = store.bitcode(id);
        let bitcode = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        leakscope_ir::read(&bitcode).with_context(|| unit.source.display().to_string())
    };
    let modules: Vec<Result<Module>> = units.par_iter().map(read_unit).collect();
    let mut readable = Vec::new();
    for module in modules {
        match module {
            Ok(module) => readable.push(module),
            Err(error) => note(options, &format!("not checked: {error:#}")),
        }
    }
    if readable.is_empty() {
        bail!("nothing to check: {}", if units.is_empty() { "the program has no captured source" } else { "no unit can be read" });
    }
    Ok(leakscope_ir::link(readable))
}

fn note_cut(analysis: &Analysis, options: &ReportOptions) {
    if !analysis.cut.is_empty() {
        let text = format!("{} functions took too long and were passed over: {}", analysis.cut.len(), analysis.cut.join(", "));
        note(options, &text);
    }
}
