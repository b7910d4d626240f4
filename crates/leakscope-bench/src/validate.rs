//! Section `validate`: which verdicts warnings get whose truth is known.
//!
//! As the paper's experiment 1: leaks, true and false ones, are put into small
//! programs by `cargo xtask inject`; and as its experiment 2, into a large one.

mod injected;

use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, iter};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::Bench;
use crate::data;
use crate::document::{Document, Judged, Table, at_least, at_most};
use crate::grid::geometric_mean;
use crate::measure::{self, Usage};
use crate::tools;
use injected::{Injected, Program, Project};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    seconds: u64,
    runs: u64,
    seed: u64,
    #[serde(rename = "project")]
    projects: Vec<Project>,
    #[serde(rename = "program")]
    programs: Vec<Program>,
}

/// In the paper's order: leaks first, then what is no leak.
const VERDICTS: [&str; 4] = ["must-leak", "likely-not-leak", "bloat", "may-leak"];

/// One program's verdicts beside the truth.
#[derive(Default)]
struct Judgement {
    name: String,
    lines: usize,
    warnings: usize,
    /// In the order of `VERDICTS`.
    counts: [usize; 4],
    /// True leaks that were called something else, may-leak excepted.
    missed: usize,
    /// Others that were called leaks.
    false_leaks: usize,
    /// Wrong between no leak and bloat.
    confused: usize,
    runs: u64,
    usage: Option<Usage>,
    /// Processor time of a run with objects followed, over one without.
    tracking: Option<f64>,
}

/// The effort for each warning.
#[derive(Clone, Copy)]
struct Effort {
    seconds: u64,
    runs: u64,
}

/// What the cost of following objects is measured with: hardly more than the
/// first inputs, which are the same with and without, and so often.
const TRACKED: Effort = Effort { seconds: 60, runs: 1 };
const TRACKED_ROUNDS: u32 = 10;

pub fn measured(bench: &Bench) -> Result<String> {
    let mut data: Data = data::read(&bench.data.join("validate.toml"))?;
    data.programs.retain(|program| bench.programs.is_empty() || bench.programs.contains(&program.name));
    ensure!(!data.programs.is_empty(), "none of these programs is in bench/validate.toml");
    if bench.quick {
        data.programs.retain(|program| program.project == "validate");
        (data.seconds, data.runs) = (5, 20);
    }
    tools::require(["cargo", "gcc", "make", "dpkg-source"])?;
    let effort = Effort { seconds: data.seconds, runs: data.runs };
    let mut judgements = Vec::new();
    for program in &data.programs {
        let project = data.projects.iter().find(|project| project.name == program.project);
        let project = project.with_context(|| format!("no project `{}`", program.project))?;
        let injected = project.injected(bench, program, data.seed)?;
        let judgement = Judgement::of(bench, program, &injected, effort)?;
        eprintln!(
            "{}: {:?} of {} in {} runs",
            program.name, judgement.counts, judgement.warnings, judgement.runs
        );
        judgements.push(judgement);
    }
    document(bench, &data, &judgements)
}

impl Judgement {
    fn of(bench: &Bench, program: &Program, injected: &Injected, effort: Effort) -> Result<Judgement> {
        let Validated { findings, usage, runs, .. } = validated(bench, injected, effort, &[])?;
        let mut judgement = Judgement {
            name: program.name.clone(),
            lines: injected.lines,
            warnings: injected.truth.len(),
            usage: Some(usage),
            runs: runs as u64,
            ..Judgement::default()
        };
        for (line, truth) in &injected.truth {
            let of_line = |finding: &&serde_json::Value| {
                let is_there = |frame: &serde_json::Value| {
                    let file = frame["file"].as_str().unwrap_or_default();
                    frame["line"] == *line && file.ends_with(&injected.source)
                };
                finding["allocated"]["stack"].as_array().is_some_and(|frames| frames.iter().any(is_there))
            };
            let verdict = findings.iter().find(of_line).and_then(|finding| finding["verdict"].as_str());
            let verdict = verdict.unwrap_or("may-leak");
            let index = VERDICTS.iter().position(|known| *known == verdict);
            judgement.counts[index.with_context(|| format!("unknown verdict {verdict}"))?] += 1;
            match (truth.as_str(), verdict) {
                (_, "may-leak") => {}
                (truth, verdict) if truth == verdict => {}
                ("must-leak", _) => judgement.missed += 1,
                (_, "must-leak") => judgement.false_leaks += 1,
                _ => judgement.confused += 1,
            }
        }
        if program.tracking {
            judgement.tracking = Some(tracking(bench, injected)?);
        }
        Ok(judgement)
    }

    fn classified(&self) -> usize {
        self.warnings - self.counts[3]
    }
}

/// What `leakscope validate` said, and what it took.
struct Validated {
    findings: Vec<serde_json::Value>,
    /// Processor time of the program's runs, and how many there were.
    run_seconds: f64,
    runs: f64,
    usage: Usage,
}

fn validated(bench: &Bench, injected: &Injected, effort: Effort, further: &[&str]) -> Result<Validated> {
    let report = injected.tree.with_extension("report");
    let inputs = injected.tree.with_extension("inputs");
    // What an interrupted search left is no part of this one.
    let _ = fs::remove_dir_all(&inputs);
    let mut command = Command::new(&bench.leakscope);
    command.args(["validate", "--quiet", "--fail-on", "none", "--format", "json", "-o"]).arg(&report);
    command.arg("--warnings").arg(&injected.warnings).arg("--keep-inputs").arg(&inputs);
    command.args(["--time", &effort.seconds.to_string(), "--runs", &effort.runs.to_string()]);
    command.args(further).arg(&injected.program).current_dir(&injected.tree);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (status, usage) = measure::run_within(Duration::from_secs(3600), &mut command)?;
    ensure!(status.success(), "leakscope validate of {} ended with {status}", injected.program.display());
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&report)?)?;
    let findings = report["findings"].as_array().context("a report without findings")?.clone();
    let number = |key: &str| report["validation"][key].as_f64().context("a report without its cost");
    Ok(Validated { findings, run_seconds: number("run_seconds")?, runs: number("runs")?, usage })
}

/// Processor time of a run with objects followed, over one without.
fn tracking(bench: &Bench, injected: &Injected) -> Result<f64> {
    let mut of_a_run = [0.0, 0.0];
    for _ in 0..TRACKED_ROUNDS {
        for (sum, further) in of_a_run.iter_mut().zip([&[] as &[&str], &["--no-objects"]]) {
            let validated = validated(bench, injected, TRACKED, further)?;
            *sum += validated.run_seconds / validated.runs;
        }
    }
    Ok(of_a_run[0] / of_a_run[1])
}

fn document(bench: &Bench, data: &Data, judgements: &[Judgement]) -> Result<String> {
    let mut document = Document::new(
        "leakscope validate",
        "The verdicts that warnings get, beside what is true. [VALIDATE.md](../VALIDATE.md) tells what a verdict means.",
        &bench.caveats(),
    );
    document.targets(&judged(judgements));
    document.heading("Verdicts");
    document.table(&verdicts(judgements));
    document.heading("How it was measured");
    document.list(&[
        format!(
            "`cargo xtask inject --seed {}` puts blocks at places of a program's source: each is allocated and used, then \
             dropped (a true leak), or kept by a global map that is freed at the end and is read before (no leak) or not \
             (bloat). Of some programs, frees of their own are taken out too. A warning names the allocation and the leak \
             point, no branches.",
            data.seed
        ),
        format!(
            "{} s and {} runs for each warning, on all cores. Lines are those of the source that the leaks are in; the \
             program has more. Memory is that of the largest process.",
            data.seconds, data.runs
        ),
        "Wrong verdicts: true leaks called something else than MAY-LEAK, others called MUST-LEAK, and no leak and bloat \
         mixed up."
            .to_owned(),
        format!(
            "*Tracking*: processor time of a run of the symbolic program on the first inputs, over that with `--no-objects`, \
             {TRACKED_ROUNDS} times in turn."
        ),
    ]);
    document.finished()
}

fn judged(judgements: &[Judgement]) -> Vec<Judged> {
    let sum = |count: fn(&Judgement) -> usize| judgements.iter().map(count).sum::<usize>();
    let warnings = sum(|judgement| judgement.warnings);
    let classified = sum(Judgement::classified);
    let share = 100.0 * classified as f64 / warnings.max(1) as f64;
    let none = |what: &str, count: usize| at_most(what, 0.0, "", Some((count as f64, count.to_string())));
    let tracking = judgements.iter().filter_map(|judgement| judgement.tracking);
    let tracking = geometric_mean(tracking.map(Some));
    vec![
        at_least(
            "warnings classified",
            90.0,
            "%",
            Some((share, format!("{share:.0}% ({classified} of {warnings})"))),
        ),
        none("true leaks called likely-not-leak or bloat", sum(|judgement| judgement.missed)),
        none("others called must-leak", sum(|judgement| judgement.false_leaks)),
        at_most(
            "processor time of a run with objects followed, geometric mean",
            1.25,
            "x",
            tracking.map(|mean| (mean, format!("{mean:.2}x"))),
        ),
    ]
}

fn verdicts(judgements: &[Judgement]) -> Table {
    let headings = ["program", "lines", "warnings", "runs"].into_iter().chain(VERDICTS);
    let further = ["classified", "wrong", "elapsed", "processor time", "memory", "tracking"];
    let mut table = Table::new(headings.chain(further));
    for judgement in judgements {
        let wrong = judgement.missed + judgement.false_leaks + judgement.confused;
        let classified = 100 * judgement.classified() / judgement.warnings.max(1);
        let usage = |shown: fn(&Usage) -> String| judgement.usage.as_ref().map_or("-".to_owned(), shown);
        let numbers = [judgement.lines, judgement.warnings, judgement.runs as usize];
        table.row(
            iter::once(judgement.name.clone())
                .chain(numbers.iter().chain(&judgement.counts).map(usize::to_string))
                .chain([
                    format!("{classified}%"),
                    wrong.to_string(),
                    usage(|usage| format!("{:.0} s", usage.elapsed.as_secs_f64())),
                    usage(|usage| format!("{:.0} s", usage.cpu.as_secs_f64())),
                    usage(|usage| format!("{:.0} MiB", usage.peak_kib as f64 / 1024.0)),
                    judgement.tracking.map_or("-".to_owned(), |ratio| format!("{ratio:.2}x")),
                ]),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_its_project() {
        let data: Data = data::read(&data::folder().join("validate.toml")).unwrap();
        for program in &data.programs {
            assert!(data.projects.iter().any(|project| project.name == program.project), "{}", program.name);
        }
        assert!(data.programs.iter().any(|program| program.tracking));
    }
}
