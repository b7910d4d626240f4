//! SWAT's experiment on false positives (4.1.3): frees are left out at random,
//! and what sampling calls stale is compared with what full tracing does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::Bench;
use crate::data;
use crate::document::{Document, Judged, Table, at_most};
use crate::measure;
use crate::programs::Size;
use crate::rounds::Programs;
use crate::variants::Variant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    inject: u32,
    programs: Vec<String>,
    rates: Vec<u32>,
    predicates: Vec<String>,
}

/// The rate and the predicate that the target is about: the defaults.
const DEFAULT_RATE: u32 = 1000;
const FULL: u32 = 1;

/// What a snapshot reports by one predicate.
#[derive(Default)]
struct Reported {
    /// Stale blocks that were not injected, by where they were allocated.
    places: BTreeMap<String, u64>,
    /// Stale and lost blocks that were injected.
    injected: u64,
    /// Lost blocks that were not injected.
    lost: u64,
}

pub struct Stale {
    data: Data,
    /// By program and rate, in the order of the predicates.
    reported: BTreeMap<(String, u32), Vec<Reported>>,
}

pub fn measured(bench: &Bench, programs: &Programs) -> Result<Stale> {
    let data: Data = data::read(&bench.data.join("stale.toml"))?;
    let mut reported = BTreeMap::new();
    for name in &data.programs {
        for rate in [FULL].iter().chain(&data.rates) {
            if let Some(run) = Run::new(bench, programs, name, *rate, data.inject)? {
                eprintln!("{name}: one access in {rate}, one free in {} left out", data.inject);
                let records = run.late_snapshot()?;
                let of = |predicate: &String| report(bench, &records, predicate);
                reported
                    .insert((name.clone(), *rate), data.predicates.iter().map(of).collect::<Result<_>>()?);
            }
        }
    }
    Ok(Stale { data, reported })
}

/// A watched program with injected leaks.
struct Run {
    binary: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    stdin: Option<PathBuf>,
    scratch: PathBuf,
    environment: [(&'static str, String); 4],
}

impl Run {
    /// None if the program is not among those that are measured.
    fn new(bench: &Bench, programs: &Programs, name: &str, rate: u32, inject: u32) -> Result<Option<Run>> {
        let Some(program) = programs.named(name) else { return Ok(None) };
        let ready = programs.ready(bench, program, bench.load(Size::Quarter))?;
        let binary = ready.builder.build(program, Variant::Sample)?;
        let scratch = bench.cache.join("run").join(name).join("stale");
        Ok(Some(Run {
            binary,
            arguments: ready.workload.arguments,
            stdin: ready.workload.stdin,
            folder: ready.folder,
            environment: [
                ("LEAKSCOPE_DIR", scratch.to_string_lossy().into_owned()),
                ("LEAKSCOPE_ALWAYS", "1".to_owned()),
                ("LEAKSCOPE_MIN", rate.to_string()),
                ("LEAKSCOPE_INJECT", inject.to_string()),
            ],
            scratch,
        }))
    }

    /// A folder with the snapshot of a moment at three quarters of the run.
    fn late_snapshot(&self) -> Result<PathBuf> {
        let whole = self.run(None)?;
        self.run(Some(whole * 3 / 4))?;
        let mut records: Vec<PathBuf> =
            fs::read_dir(&self.scratch)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        records.sort();
        ensure!(!records.is_empty(), "{} wrote no snapshot", self.binary.display());
        for record in &records[1..] {
            fs::remove_file(record)?;
        }
        Ok(self.scratch.clone())
    }

    /// Runs it, with snapshots at this distance, and returns how long it took.
    fn run(&self, snapshot_every: Option<Duration>) -> Result<Duration> {
        let _ = fs::remove_dir_all(&self.scratch);
        fs::create_dir_all(&self.scratch)?;
        let mut command = Command::new(&self.binary);
        command.args(&self.arguments).current_dir(&self.folder).envs(self.environment.clone());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        match &self.stdin {
            Some(file) => command.stdin(File::open(file)?),
            None => command.stdin(Stdio::null()),
        };
        if let Some(distance) = snapshot_every {
            command.env("LEAKSCOPE_SNAPSHOT_EVERY", distance.as_millis().to_string());
        }
        let (status, usage) = measure::run(&mut command)?;
        ensure!(status.success(), "{} ended with {status}", self.binary.display());
        Ok(usage.elapsed)
    }
}

fn report(bench: &Bench, records: &Path, predicate: &str) -> Result<Reported> {
    let file = records.with_extension("json");
    let output = Command::new(&bench.leakscope)
        .args(["watch", "--once", "--quiet", "--fail-on", "none", "--format", "json", "--stale", predicate])
        .arg("-o")
        .arg(&file)
        .arg(records)
        .output()?;
    ensure!(output.status.success(), "leakscope watch: {}", String::from_utf8_lossy(&output.stderr).trim());
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&file)?)?;
    let findings = report["findings"].as_array().context("a report without findings")?;
    let mut reported = Reported::default();
    for finding in findings {
        let blocks = finding["blocks"].as_u64().unwrap_or(0);
        let injected = finding["evidence"]["injected"].as_u64().unwrap_or(0);
        reported.injected += injected;
        match finding["kind"].as_str() {
            Some("lost") => reported.lost += blocks - injected,
            Some("stale") if blocks > injected => {
                *reported.places.entry(place(&finding["allocated"])).or_default() += blocks - injected;
            }
            _ => {}
        }
    }
    Ok(reported)
}

/// The stack of an allocation as one line.
fn place(allocated: &serde_json::Value) -> String {
    let frames = allocated["stack"].as_array().into_iter().flatten();
    let frame = |frame: &serde_json::Value| format!("{}:{}", frame["function"], frame["line"]);
    frames.map(frame).collect::<Vec<_>>().join(" ")
}

impl Reported {
    fn stale(&self) -> u64 {
        self.places.values().sum()
    }

    /// Blocks at places that full tracing does not report, of all reported.
    fn false_share(&self, full: &Reported) -> f64 {
        let known: BTreeSet<&String> = full.places.keys().collect();
        let wrong: u64 = self.places.iter().filter(|(place, _)| !known.contains(place)).map(|(_, n)| n).sum();
        let all = self.stale() + self.lost + self.injected;
        if all == 0 { 0.0 } else { 100.0 * wrong as f64 / all as f64 }
    }
}

impl Stale {
    /// The share of false positives by the default predicate, the last one.
    fn worst(&self) -> Option<(f64, String)> {
        let shares = self.data.programs.iter().filter_map(|name| {
            let full = self.reported.get(&(name.clone(), FULL))?.last()?;
            let sampled = self.reported.get(&(name.clone(), DEFAULT_RATE))?.last()?;
            Some((sampled.false_share(full), name))
        });
        let (share, name) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((share, format!("{share:.1}% ({name})")))
    }

    pub fn judged(&self) -> Judged {
        at_most("false positives at 0.1% by the default predicate, worst program", 10.0, "%", self.worst())
    }

    pub fn describe(&self, document: &mut Document) {
        document.heading("False positives");
        document.paragraph(&format!(
            "As in section 4.1.3 of SWAT: one free in {} is left out, and a snapshot at three quarters of the run is judged. \
             Each cell has the blocks reported that were not injected + those that were (stale or lost), and the share of \
             blocks at places of allocation that full tracing (100%) does not report.",
            self.data.inject
        ));
        let headings = self.data.predicates.iter().map(|predicate| format!("`{predicate}`"));
        let mut table = Table::new(["program, rate".to_owned()].into_iter().chain(headings));
        for ((name, rate), row) in &self.reported {
            let full = &self.reported[&(name.clone(), FULL)];
            let cells = row.iter().zip(full).map(|(reported, full)| {
                let own = reported.stale() + reported.lost;
                format!("{own} + {}, {:.1}%", reported.injected, reported.false_share(full))
            });
            let percent = 100.0 / f64::from(*rate);
            table.row([format!("{name}, {percent}%")].into_iter().chain(cells));
        }
        document.table(&table);
    }
}
