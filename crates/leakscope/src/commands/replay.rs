//! `leakscope replay`: runs the input of a validated warning again, and shows
//! what it leaks.

use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use leakscope_concolic::{DerivedProgram, Input, PlaceId, Settings, Target as _};
use leakscope_core::{Command, Engine, FailOn, Finding, Frame, Kind, Place, Report, Target};
use leakscope_wire::symbolic::wants;

use crate::analysed::Analysed;
use crate::cli::{DeriveEngine, Replay};
use crate::commands::derive::variant;
use crate::kept_inputs::{self, Kept};
use crate::output::{Filters, Output, note};
use crate::tracked::Tracked;

pub fn run(options: &Replay) -> Result<ExitCode> {
    let from = options.from.as_deref().map(std::path::absolute).transpose()?;
    let (kept, folder) = Kept::read(from.as_deref())?;
    let warning = kept.warning(&options.warning)?;
    if !warning.has_input {
        bail!("no input is kept for {}: {}", warning.id, warning.reason);
    }
    let mut as_asked = options.report.clone();
    let filters = Filters::read(&as_asked)?;
    let output = Output::open(&as_asked, Output::Stderr)?;
    let input = Input::read(&folder.join(&warning.id[..8.min(warning.id.len())]))
        .with_context(|| format!("cannot read the input in {}", folder.display()))?;
    env::set_current_dir(&kept.folder).context("cannot go to the folder of the validation")?;
    let analysed = Analysed::read(&kept.targets, &kept.flags, &as_asked)?;
    let is_whole = input.fails.is_empty();
    // What is not lost is what was asked for.
    if warning.is_reachable || !is_whole {
        as_asked.show_forgotten = true;
        if as_asked.fail_on == FailOn::Lost {
            as_asked.fail_on = FailOn::Forgotten;
        }
    }
    let (engine, findings) = if is_whole {
        let tracked = Tracked::new(&kept.targets, &kept.flags, Settings::default())?;
        (Engine::Track, tracked.findings(&input)?)
    } else {
        note(&as_asked, "calls are made to fail: what is not freed is shown, lost or not");
        (Engine::Concolic, unfreed(&analysed, &kept, &input, as_asked.quiet)?)
    };
    let target = Target {
        program: kept.targets[0].display().to_string(),
        args: input.args.iter().map(|argument| String::from_utf8_lossy(argument).into_owned()).collect(),
        exit: None,
    };
    note(&as_asked, &format!("{}: {}", warning.id, warning.reason));
    let mut report = Report::new(Command::Run, engine, target, findings);
    filters.apply(&mut report);
    output.write(&report, &analysed.sources, &as_asked)?;
    let failed = as_asked.fail_on.fails(&report);
    Ok(ExitCode::from(if failed { options.exit_code } else { 0 }))
}

/// What a run leaves unfreed whose calls fail as the input says: only the
/// symbolic program can be made to fail so, and it does not know what is still
/// reachable.
fn unfreed(analysed: &Analysed, kept: &Kept, input: &Input, is_quiet: bool) -> Result<Vec<Finding>> {
    let derived = variant(&analysed.store, &analysed.link, DeriveEngine::Symbolic, is_quiet)?;
    let name = kept_inputs::program(&kept.targets);
    let settings = Settings { wants: wants::FAILURES | wants::ALL_OBJECTS, ..Settings::default() };
    let mut program = DerivedProgram::new(&derived.program, name.as_os_str(), settings)?;
    let places = program.places()?;
    let frame = |&call: &PlaceId| {
        let place = places.get(call)?;
        Some(Frame {
            function: Some(place.function.clone()),
            file: Some(place.file.clone()),
            line: Some(place.line),
            column: Some(place.column),
            ..Frame::default()
        })
    };
    let left = leakscope_concolic::unfreed(&program.run(input)?.events);
    let findings = left.into_iter().map(|(calls, (blocks, bytes))| {
        let allocated = Place { stack: calls.iter().filter_map(frame).collect(), ..Place::default() };
        Finding { blocks: Some(blocks), bytes: Some(bytes), ..Finding::new(Kind::Forgotten, allocated) }
    });
    Ok(findings.collect())
}
