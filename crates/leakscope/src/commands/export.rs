//! `leakscope export`: live blocks for other tools; and `leakscope diff`, what
//! changed between two moments.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use leakscope_core::Live;
use leakscope_report::{changes, changes_text, folded, pprof};
use leakscope_trace::{Predicate, profile, read_sound};

use crate::cli::{Diff, Export, Format};

pub fn run(options: &Export) -> Result<ExitCode> {
    let live = live_blocks(&options.records, &options.stale)?;
    let content =
        if options.folded { folded(&live, options.measure.into()).into_bytes() } else { pprof::pprof(&live) };
    write(options.output.as_deref(), &content)?;
    Ok(ExitCode::SUCCESS)
}

pub fn diff(options: &Diff) -> Result<ExitCode> {
    let before = live_blocks(&options.before, &options.stale)?;
    let after = live_blocks(&options.after, &options.stale)?;
    let changes = changes(&before, &after);
    let text = match options.format {
        Format::Text => changes_text(&changes, env::current_dir().ok().as_deref()),
        Format::Json => serde_json::to_string_pretty(&changes)? + "\n",
        Format::Sarif | Format::Gcc => {
            bail!("a difference has no findings for that format: use text or json")
        }
    };
    write(options.output.as_deref(), text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The live blocks of a folder's last snapshots, or of one record.
fn live_blocks(records: &Path, stale: &Predicate) -> Result<Vec<Live>> {
    let (processes, problems) = read_sound(records)?;
    for problem in &problems {
        eprintln!("leakscope: passed over: {problem}");
    }
    let Some(record) = processes.first().and_then(|process| process.records.last()) else {
        bail!("no snapshots in {}: was LEAKSCOPE_DIR set to it?", records.display());
    };
    let program = record.modules.first().map_or_else(PathBuf::new, |module| module.path.clone());
    Ok(profile(&processes, &program, stale))
}

fn write(output: Option<&Path>, content: &[u8]) -> Result<()> {
    match output {
        Some(path) => fs::write(path, content).with_context(|| format!("cannot write {}", path.display())),
        None => io::stdout().write_all(content).context("cannot write to standard output"),
    }
}
