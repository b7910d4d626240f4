//! What a test input really leaks: the program under the `track` engine.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::Parser;
use leakscope_concolic::{Input, Settings, bounded};
use leakscope_core::{Finding, Kind};
use leakscope_trace::{analyse, read_records};
use leakscope_wire::env as wire_env;

use crate::cli::{Cli, Command, Run};
use crate::inbox::Inbox;
use crate::plan::{How, Plan, plan};
use crate::records::Records;

/// A program that can be run on inputs, and be asked what it leaked.
pub struct Tracked {
    plan: Plan,
    options: Run,
    settings: Settings,
}

impl Tracked {
    pub fn new(targets: &[PathBuf], flags: &[String], settings: Settings) -> Result<Tracked> {
        let mut options = run_options(targets, flags)?;
        options.report.quiet = true;
        let plan = plan(&options)?;
        if !matches!(plan.how, How::Track) {
            bail!("expected a captured program, found one that runs as it is");
        }
        Ok(Tracked { plan, options, settings })
    }

    /// What is lost and forgotten at the end of a run on the input.
    pub fn findings(&self, input: &Input) -> Result<Vec<Finding>> {
        let folder =
            tempfile::Builder::new().prefix("leakscope-").tempdir().context("cannot make a folder")?;
        let work = folder.path().join("work");
        let stdin = folder.path().join("stdin");
        let cannot = || format!("cannot write to {}", folder.path().display());
        input.write_files(&work).with_context(cannot)?;
        fs::write(&stdin, &input.stdin).with_context(cannot)?;
        let kept = folder.path().join("records");
        fs::create_dir(&kept).with_context(cannot)?;
        let records = Records::new(Some(&kept))?;
        let inbox = Inbox::open(records.path(), None).context("cannot open a socket for records")?;
        let mut command = self.plan.command(&records, &inbox, &self.options);
        command.args(input.args.iter().cloned().map(OsString::from_vec)).current_dir(&work);
        command.env(wire_env::SOCKET, inbox.name()).env(wire_env::SCRATCH, "memory");
        command.env("LC_ALL", "C").env("HOME", &work);
        for (name, value) in &input.env {
            command.env(name, OsString::from_vec(value.clone()));
        }
        command.stdin(fs::File::open(&stdin)?).stdout(Stdio::null()).stderr(Stdio::null());
        bounded(&mut command, folder.path(), &self.settings)
            .with_context(|| format!("cannot run {}", self.plan.executable.display()))?;
        let processes = read_records(records.path(), &inbox.close())?;
        Ok(analyse(&processes, &self.plan.executable).findings)
    }
}

/// Options of `leakscope run` for these targets.
pub fn run_options(targets: &[PathBuf], flags: &[String]) -> Result<Run> {
    let mut words: Vec<OsString> = vec!["leakscope".into(), "run".into()];
    words.extend(flags.iter().map(|flag| format!("--cflag={flag}").into()));
    words.extend(targets.iter().map(|target| target.clone().into_os_string()));
    match Cli::try_parse_from(words)?.command {
        Command::Run(run) => Ok(*run),
        _ => unreachable!("the command line is one of `run`"),
    }
}

/// The finding about blocks that were allocated at one of these lines, lost
/// ones first.
pub fn about<'f>(findings: &'f [Finding], allocated: &leakscope_core::Place) -> Option<&'f Finding> {
    let of = |kind| all_about(findings, allocated).find(|finding| finding.kind == kind);
    of(Kind::Lost).or_else(|| of(Kind::Forgotten))
}

/// All findings about what is left of objects that were allocated there.
pub fn all_about<'f>(
    findings: &'f [Finding],
    allocated: &leakscope_core::Place,
) -> impl Iterator<Item = &'f Finding> {
    let own = |frame: &&leakscope_core::Frame| !frame.system && frame.line.is_some();
    let wanted: Vec<leakscope_core::Frame> = allocated.stack.iter().filter(own).cloned().collect();
    let is_same = |a: &leakscope_core::Frame, b: &leakscope_core::Frame| {
        let (Some(x), Some(y)) = (&a.file, &b.file) else { return false };
        a.line == b.line && Path::new(x).file_name() == Path::new(y).file_name()
    };
    let fits = move |finding: &&Finding| {
        let mut frames = finding.allocated.stack.iter();
        !wanted.is_empty() && wanted.iter().all(|wanted| frames.any(|frame| is_same(wanted, frame)))
    };
    let is_left = |finding: &&Finding| matches!(finding.kind, Kind::Lost | Kind::Forgotten);
    findings.iter().filter(is_left).filter(fits)
}
