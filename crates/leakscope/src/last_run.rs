//! What `leakscope run` keeps of a run, for commands that come back to it: how
//! the program was started, and what was found.
//!
//! It lies in the user's cache, one for each folder in which programs are run,
//! readable by the user alone since it holds the environment; and beside
//! records that are kept.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use leakscope_core::{Engine, Finding, Kind, Report};
use serde::{Deserialize, Serialize};

use crate::cli::{Cli, Command, Run};
use crate::runtime;
use crate::start::{Start, Text};

const SCHEMA: &str = "leakscope-run/1";

/// Its name beside records that are kept.
const NAME: &str = "run.json";

#[derive(Debug, Serialize, Deserialize)]
pub struct LastRun {
    schema: String,
    /// The command line of `leakscope run`.
    command: Vec<Text>,
    pub start: Start,
    pub engine: Engine,
    pub findings: Vec<Known>,
}

/// A finding of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Known {
    pub id: String,
    pub kind: Kind,
    pub bytes: u64,
    /// `make_node (list.c:12)`.
    pub allocated: String,
    pub leaked: Option<String>,
}

impl LastRun {
    pub fn new(start: Start, report: &Report) -> LastRun {
        LastRun {
            schema: SCHEMA.to_owned(),
            command: env::args_os().map(|argument| Text::from(&*argument)).collect(),
            start,
            engine: report.engine,
            findings: report.findings.iter().map(Known::of).collect(),
        }
    }

    /// Keeps it as the last run in its folder, and in `beside` if that is given.
    pub fn keep(&self, beside: Option<&Path>) -> Result<()> {
        let json = serde_json::to_vec_pretty(self).context("cannot write the run down")?;
        let place = place(&self.start.folder(), "json")?;
        let folders = beside.map(|folder| folder.join(NAME));
        for path in folders.into_iter().chain([place]) {
            let cannot = || format!("cannot write {}", path.display());
            let folder = path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
            file.write_all(&json).with_context(cannot)?;
            file.persist(&path).with_context(cannot)?;
        }
        Ok(())
    }

    /// The last run in the current folder, or the one that a file holds.
    pub fn load(from: Option<&Path>) -> Result<LastRun> {
        let path = match from {
            Some(path) if path.is_dir() => path.join(NAME),
            Some(path) => path.to_owned(),
            None => place(&env::current_dir().context("cannot find the current folder")?, "json")?,
        };
        if from.is_none() && !path.exists() {
            bail!("no run was kept in this folder: use `leakscope run` first, or name one by --from");
        }
        let json = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let run: LastRun = serde_json::from_slice(&json)
            .ok()
            .filter(|run: &LastRun| run.schema == SCHEMA)
            .with_context(|| {
                format!(
                    "{} is no run of this leakscope's: expected the {NAME} of --keep-records",
                    path.display()
                )
            })?;
        Ok(run)
    }

    /// The finding whose id begins so.
    pub fn finding(&self, id: &str) -> Result<&Known> {
        let found: Vec<&Known> = self.findings.iter().filter(|known| known.id.starts_with(id)).collect();
        match found[..] {
            [one] => Ok(one),
            [] => {
                let ids: Vec<&str> = self.findings.iter().map(Known::short_id).take(8).collect();
                let had = if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") };
                bail!("the run found no {id}, but {had}")
            }
            _ => bail!("{} findings begin with {id}: give more of the id", found.len()),
        }
    }

    /// The options that the run had.
    pub fn options(&self) -> Result<Run> {
        let cli = Cli::try_parse_from(self.command.iter().map(OsString::from));
        match cli.map(|cli| cli.command) {
            Ok(Command::Run(run)) => Ok(*run),
            _ => bail!("the run was made by another leakscope: use `leakscope run` again"),
        }
    }
}

impl Known {
    /// As much of the id as reports show.
    pub fn short_id(&self) -> &str {
        self.id.get(..8).unwrap_or(&self.id)
    }

    fn of(finding: &Finding) -> Known {
        let place = leakscope_report::place;
        Known {
            id: finding.id.clone(),
            kind: finding.kind,
            bytes: finding.bytes.unwrap_or(0),
            allocated: place(&finding.allocated),
            leaked: finding.leaked.as_ref().map(place),
        }
    }
}

/// Where the last run in `folder` is kept, or what goes with it.
pub fn place(folder: &Path, extension: &str) -> Result<PathBuf> {
    let runs = runtime::cache_folder()?.join("runs");
    fs::create_dir_all(&runs).with_context(|| runtime::cannot_write(&runs))?;
    let key = leakscope_capture::store::hash(&[OsStr::as_encoded_bytes(folder.as_os_str())]);
    Ok(runs.join(key).with_extension(extension))
}
