//! From a report to what the user sees, and to whether the command failed.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use leakscope_core::{Exit, Finding, Kind, Report, baseline, suppress};
use leakscope_report::{Sources, TextOptions};

use crate::cli::{Color, Format, ReportOptions};

/// Read where it is there, without being asked.
const SUPPRESSIONS: &str = "leakscope.supp";

/// What is taken out of a report, read before the program runs: a mistake in
/// a file must not cost a run.
pub struct Filters {
    suppressions: Vec<suppress::Suppressions>,
    baseline: Option<baseline::Baseline>,
}

impl Filters {
    pub fn read(options: &ReportOptions) -> Result<Filters> {
        let mut files = options.suppressions.clone();
        if Path::new(SUPPRESSIONS).exists() {
            files.push(PathBuf::from(SUPPRESSIONS));
        }
        let mut suppressions = Vec::new();
        for path in &files {
            let parsed = suppress::parse(&read(path)?).with_context(|| path.display().to_string())?;
            for ignored in &parsed.ignored {
                note(options, &format!("{}:{}: passed over: {}", path.display(), ignored.line, ignored.text));
            }
            suppressions.push(parsed);
        }
        let baseline = match &options.baseline {
            Some(path) => Some(baseline::parse(&read(path)?).with_context(|| path.display().to_string())?),
            None => None,
        };
        Ok(Filters { suppressions, baseline })
    }

    pub fn apply(&self, report: &mut Report) {
        for suppressions in &self.suppressions {
            report.suppress(suppressions);
        }
        if let Some(baseline) = &self.baseline {
            report.subtract(baseline);
        }
    }
}

/// Where a report goes; opened before the program runs, for the same reason.
/// What is in the file stays there until there is a report to take its place.
pub enum Output {
    /// Of commands that run no program: it can be piped.
    Stdout,
    /// Of those that do: standard output is the program's.
    Stderr,
    File(PathBuf, fs::File),
}

impl Output {
    pub fn open(options: &ReportOptions, unless_asked: Output) -> Result<Output> {
        match &options.output {
            None => Ok(unless_asked),
            Some(path) if path == Path::new("-") => Ok(Output::Stdout),
            Some(path) => {
                let file = fs::File::options().write(true).create(true).truncate(false).open(path);
                let file = file.with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Output::File(path.clone(), file))
            }
        }
    }

    pub fn write(self, report: &Report, sources: &dyn Sources, options: &ReportOptions) -> Result<()> {
        let is_file = matches!(self, Output::File(..));
        if !is_file && options.format == Format::Text && options.quiet && is_clean(report, options) {
            return Ok(());
        }
        let base_dir = env::current_dir().ok();
        let text = match options.format {
            Format::Json => leakscope_report::json(report),
            Format::Sarif => leakscope_report::sarif(report, base_dir.as_deref()),
            Format::Gcc => leakscope_report::gcc(report, base_dir.as_deref()),
            Format::Text => {
                let color = match options.color {
                    Color::Always => true,
                    Color::Auto => self.is_terminal() && env::var_os("NO_COLOR").is_none(),
                    Color::Never => false,
                };
                let width = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100);
                let options = TextOptions {
                    color,
                    width,
                    max: (options.max > 0).then_some(options.max),
                    show_forgotten: options.show_forgotten,
                    base_dir,
                };
                leakscope_report::text(report, sources, &options)
            }
        };
        match self {
            Output::Stdout => match io::stdout().write_all(text.as_bytes()) {
                // Who reads it has seen enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                written => written.context("cannot write the report"),
            },
            Output::Stderr => io::stderr().write_all(text.as_bytes()).context("cannot write the report"),
            Output::File(path, file) => replace(&file, &text).or_else(|error| {
                // The run must not be for nothing.
                let _ = io::stderr().write_all(text.as_bytes());
                Err(error).with_context(|| format!("cannot write {}: the report is above", path.display()))
            }),
        }
    }

    fn is_terminal(&self) -> bool {
        match self {
            Output::Stdout => io::stdout().is_terminal(),
            Output::Stderr => io::stderr().is_terminal(),
            Output::File(..) => false,
        }
    }
}

/// Whether there is nothing to show but the totals.
fn is_clean(report: &Report, options: &ReportOptions) -> bool {
    let shown = |finding: &Finding| finding.kind != Kind::Forgotten || options.show_forgotten;
    let killed = matches!(report.target.exit, Some(Exit::Signal(_)));
    !killed && report.fault.is_none() && !report.findings.iter().any(shown)
}

fn replace(mut file: &fs::File, text: &str) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(text.as_bytes())
}

/// A line beside the report.
pub fn note(options: &ReportOptions, text: &str) {
    if !options.quiet {
        eprintln!("leakscope: {text}");
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
