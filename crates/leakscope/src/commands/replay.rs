//! `leakscope replay`: runs the input of a validated warning again, and shows
//! what it leaks.

use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use leakscope_concolic::{Input, Settings};
use leakscope_core::{Command, Engine, Report, Target};

use crate::analysed::Analysed;
use crate::cli::Replay;
use crate::kept_inputs::Kept;
use crate::output::{Filters, Output, note};
use crate::tracked::Tracked;

pub fn run(options: &Replay) -> Result<ExitCode> {
    let from = options.from.as_deref().map(std::path::absolute).transpose()?;
    let (kept, folder) = Kept::read(from.as_deref())?;
    let warning = kept.warning(&options.warning)?;
    if !warning.has_input {
        bail!("no input is kept for {}: {}", warning.id, warning.reason);
    }
    let filters = Filters::read(&options.report)?;
    let output = Output::open(&options.report)?;
    let input = Input::read(&folder.join(&warning.id[..8.min(warning.id.len())]))
        .with_context(|| format!("cannot read the input in {}", folder.display()))?;
    if !input.fails.is_empty() {
        note(&options.report, "calls that the input makes to fail do not fail here");
    }
    env::set_current_dir(&kept.folder).context("cannot go to the folder of the validation")?;
    let tracked = Tracked::new(&kept.targets, &kept.flags, Settings::default())?;
    let sources = Analysed::read(&kept.targets, &kept.flags, &options.report)?.sources;
    let findings = tracked.findings(&input)?;
    let target = Target {
        program: kept.targets[0].display().to_string(),
        args: input.args.iter().map(|argument| String::from_utf8_lossy(argument).into_owned()).collect(),
        exit: None,
    };
    note(&options.report, &format!("{}: {}", warning.id, warning.reason));
    let mut report = Report::new(Command::Run, Engine::Track, target, findings);
    filters.apply(&mut report);
    output.write(&report, &sources, &options.report)?;
    let failed = options.report.fail_on.fails(&report);
    Ok(ExitCode::from(if failed { options.exit_code } else { 0 }))
}
