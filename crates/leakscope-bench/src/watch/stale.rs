//! SWAT's experiment on false positives (4.1.3): frees are left out at random,
//! and what sampling calls stale is compared with what full tracing does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    #[serde(rename = "program")]
    programs: Vec<Snapped>,
    rates: Vec<u32>,
    predicates: Vec<String>,
}

/// A program that asks for a snapshot.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapped {
    name: String,
    /// In the place of those in `programs.toml`.
    arguments: Vec<String>,
}

/// What a program's shell runs: the snapshot is taken meanwhile.
const SIGNAL: &str = "kill -s USR2 $PPID; sleep 1";

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
    for snapped in &data.programs {
        let name = &snapped.name;
        for rate in [FULL].iter().chain(&data.rates) {
            let Some(program) = programs.named(name) else { continue };
            eprintln!("{name}: one access in {rate}, one free in {} left out", data.inject);
            let ready = programs.ready(bench, program, bench.load(Size::Quarter))?;
            let binary = ready.builder.build(program, Variant::Sample)?;
            let records = bench.scratch(name, "stale");
            let arguments = snapped.arguments.iter().map(|argument| argument.replace("{signal}", SIGNAL));
            let arguments: Vec<String> = arguments.collect();
            let mut command = Command::new(binary);
            command
                .args(program.filled(&arguments, bench.load(Size::Quarter), &bench.data))
                .current_dir(ready.folder)
                .env("LEAKSCOPE_DIR", &records)
                .env("LEAKSCOPE_MIN", rate.to_string())
                .env("LEAKSCOPE_INJECT", data.inject.to_string());
            snapshot(&mut command, &records)?;
            let of = |predicate: &String| report(bench, &records, predicate);
            reported.insert((name.clone(), *rate), data.predicates.iter().map(of).collect::<Result<_>>()?);
        }
    }
    Ok(Stale { data, reported })
}

/// Runs the program, and leaves the snapshot that it asked for in the folder.
fn snapshot(command: &mut Command, records: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(records);
    fs::create_dir_all(records)?;
    command
        .env("LEAKSCOPE_ALWAYS", "1")
        .env("LEAKSCOPE_SNAPSHOT_SIGNAL", libc::SIGUSR2.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (status, _) = measure::run(command)?;
    ensure!(status.success(), "{command:?} ended with {status}");
    let mut found: Vec<PathBuf> =
        fs::read_dir(records)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.sort();
    ensure!(found.len() == 2, "expected one snapshot and one last record, found {}", found.len());
    Ok(fs::remove_file(&found[1])?)
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
        let shares = self.data.programs.iter().filter_map(|Snapped { name, .. }| {
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
            "As in section 4.1.3 of SWAT: one free in {} is left out, and a snapshot at a fixed place of the run is judged. \
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_asks_for_a_snapshot() {
        let data: Data = data::read(&data::folder().join("stale.toml")).unwrap();
        assert!(data.rates.contains(&DEFAULT_RATE));
        for Snapped { name, arguments } in &data.programs {
            assert!(arguments.iter().any(|argument| argument.contains("{signal}")), "{name}");
        }
    }

    fn check(places: &[(&str, u64)], full: &[&str], expected: f64) {
        let reported = |places: &[(&str, u64)]| Reported {
            places: places.iter().map(|(place, blocks)| ((*place).to_owned(), *blocks)).collect(),
            ..Reported::default()
        };
        let full: Vec<(&str, u64)> = full.iter().map(|place| (*place, 1)).collect();
        assert_eq!(reported(places).false_share(&reported(&full)), expected);
    }

    #[test]
    fn what_full_tracing_does_not_report_is_false() {
        check(&[], &["a"], 0.0);
        check(&[("a", 3), ("b", 1)], &["a"], 25.0);
        check(&[("a", 3), ("b", 1)], &[], 100.0);
    }
}
