//! Section `check`: how fast `leakscope check` is on Debian packages, beside a
//! plain compile and the analysers that people use.
//!
//! How right its warnings are is not measured here: docs/CHECK.md tells.

mod package;
mod peers;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::Bench;
use crate::data;
use crate::document::{Document, Judged, Table, at_least, at_most};
use crate::grid::geometric_mean;
use crate::measure::{self, Usage};
use crate::sources;
use crate::tools;
use crate::variants::copy_tree;
use package::{Captured, Edit, Package};
use peers::{Covered, Limits, Peer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    peer_seconds: u64,
    unit_seconds: u64,
    #[serde(rename = "package")]
    packages: Vec<Package>,
    #[serde(rename = "peer")]
    peers: Vec<Peer>,
}

/// One package's figures.
struct Measured<'a> {
    name: &'a str,
    lines: usize,
    capture: Usage,
    first: Usage,
    two_cores: Usage,
    again: Usage,
    changed: Usage,
    /// In the order of the peers; the first is the plain compile.
    peers: Vec<Covered>,
}

pub fn measured(bench: &Bench) -> Result<String> {
    let mut data: Data = data::read(&bench.data.join("check.toml"))?;
    data.packages.retain(|package| bench.programs.is_empty() || bench.programs.contains(&package.name));
    ensure!(!data.packages.is_empty(), "none of these packages is in bench/check.toml");
    if bench.quick {
        data.packages.truncate(1);
        data.peer_seconds = 1;
    }
    let commands = data.peers.iter().map(|peer| peer.command[0].as_str());
    tools::require(commands.chain(["gcc", "make", "dpkg-source", "taskset", "tclsh"]))?;
    let names: Vec<&str> = data.packages.iter().map(|package| package.package.as_str()).collect();
    let fetched = sources::fetch(&names, &bench.cache)?;
    // All of them first: what cannot be built is said before anything is measured.
    let captured: Vec<Captured> = data
        .packages
        .iter()
        .map(|package| package.captured(bench, &fetched[&package.package]))
        .collect::<Result<_>>()?;
    let rows: Vec<Measured> =
        captured.iter().map(|captured| Measured::of(bench, &data, captured)).collect::<Result<_>>()?;
    document(bench, &data, &rows, &fetched)
}

impl<'a> Measured<'a> {
    fn of(bench: &Bench, data: &Data, captured: &Captured<'a>) -> Result<Measured<'a>> {
        let name = captured.package.name.as_str();
        eprintln!("{name}: {} lines in {} units", captured.lines(), captured.units.len());
        let capture = capture(bench, captured, &data.peers[0])?;
        let fresh = captured.tree.with_extension("fresh");
        copy_tree(&captured.store(), &fresh)?;
        let (mut first, mut two_cores, mut again, mut changed) = (None, None, None, None);
        for round in 1..=bench.rounds {
            eprint!("{name}: round {round} of {}:", bench.rounds);
            let measure = |best: &mut Option<Usage>, what, cores| -> Result<()> {
                let usage = checked(bench, captured, cores)?;
                eprint!(" {what} {:.2}s", usage.cpu.as_secs_f64());
                *best = Some(best.map_or(usage, |best| best.better_of(usage)));
                Ok(())
            };
            copy_tree(&fresh, &captured.store())?;
            measure(&mut two_cores, "two cores", "0,1")?;
            copy_tree(&fresh, &captured.store())?;
            measure(&mut first, "one core", "0")?;
            measure(&mut again, "again", "0")?;
            captured.rebuild(Edit::Made)?;
            let outcome = measure(&mut changed, "changed", "0");
            captured.rebuild(Edit::TakenBack)?;
            outcome?;
            eprintln!();
        }
        fs::remove_dir_all(fresh)?;
        let limits = Limits {
            package: Duration::from_secs(data.peer_seconds),
            unit: Duration::from_secs(data.unit_seconds),
        };
        let mut peers = Vec::new();
        for peer in &data.peers {
            let covered = peer.covered(&captured.units, limits)?;
            eprintln!("{name}: {}: {covered:?}", peer.name);
            peers.push(covered);
        }
        let measured = |usage: Option<Usage>| usage.context("no round was run");
        Ok(Measured {
            name,
            lines: captured.lines(),
            capture,
            first: measured(first)?,
            two_cores: measured(two_cores)?,
            again: measured(again)?,
            changed: measured(changed)?,
            peers,
        })
    }

    fn speed(&self) -> f64 {
        self.lines as f64 / self.first.cpu.as_secs_f64()
    }

    /// Processor time over that of the first run.
    fn share(&self, usage: &Usage) -> f64 {
        100.0 * usage.cpu.as_secs_f64() / self.first.cpu.as_secs_f64()
    }
}

/// Captures the units anew, into a store of its own and without the build.
fn capture(bench: &Bench, captured: &Captured, compiler: &Peer) -> Result<Usage> {
    let list = captured.tree.with_extension("json");
    let entries: Vec<serde_json::Value> = captured
        .units
        .iter()
        .map(|unit| {
            let mut command = vec!["gcc", "-O2", "-g", "-c"];
            command.extend(compiler.flags_of(&unit.arguments));
            let source = unit.source.to_string_lossy();
            command.push(&source);
            serde_json::json!({"directory": unit.folder, "file": unit.source, "arguments": command})
        })
        .collect();
    fs::write(&list, serde_json::to_string(&entries)?)?;
    let store = captured.tree.with_extension("capture");
    let mut command = Command::new(&bench.leakscope);
    command.args(["build", "--quiet", "--compdb"]).arg(&list).arg("--store").arg(&store);
    let usage = quiet(command.current_dir(&captured.tree), &[0])?;
    fs::remove_dir_all(store)?;
    Ok(usage)
}

fn checked(bench: &Bench, captured: &Captured, cores: &str) -> Result<Usage> {
    let mut command = Command::new("taskset");
    command.args(["-c", cores]).arg(&bench.leakscope).args(["check", "--quiet", "--format", "json"]);
    command.arg("-o").arg(captured.tree.with_extension("report")).arg(captured.program());
    // 1: there are warnings.
    quiet(command.current_dir(&captured.tree), &[0, 1])
}

/// Runs a command that must end with one of these exit codes.
fn quiet(command: &mut Command, codes: &[i32]) -> Result<Usage> {
    let shown = format!("{command:?}");
    let (status, usage) =
        measure::run(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
    ensure!(status.code().is_some_and(|code| codes.contains(&code)), "{status} of {shown}");
    Ok(usage)
}

fn document(
    bench: &Bench,
    data: &Data,
    rows: &[Measured],
    fetched: &BTreeMap<String, PathBuf>,
) -> Result<String> {
    let mut document = Document::new(
        "leakscope check",
        "How fast the source is checked, on whole programs. Times are processor time. How right the warnings are stands in \
         [CHECK.md](../CHECK.md).",
        &bench.caveats(),
    );
    document.targets(&judged(rows));
    document.heading("leakscope");
    document.table(&ours(rows, &data.peers[0].name));
    document.heading("Lines per second of processor time");
    document.table(&beside(rows, &data.peers));
    document.heading("How it was measured");
    document.list(&[
        format!(
            "Programs are built by gcc from Debian's source packages ({}). Lines are those of the source files in the \
             program, without headers.",
            sources::versions(fetched)?.join(", ")
        ),
        format!(
            "leakscope's figures are the lowest of {} rounds, on one core (`taskset`) where nothing else is said; the \
             other tools ran once, one unit after the other. What a second core gains is elapsed time: other work on the machine \
             counts against it.",
            bench.rounds
        ),
        "*Capture* is `leakscope build --compdb` of the same units. *Again* is a second run without a change, *changed* \
         one after an edit of one function, captured by `leakscope build -- make`; both as shares of the first run."
            .to_owned(),
        format!(
            "gcc -fanalyzer (at -O0), clang's analyzer (unix.Malloc and cplusplus.NewDeleteLeaks alone) and cppcheck take \
             units from all over the program until {} s are spent, and at most {} s for one, which then counts with \
             all its lines. The share of lines that they got to stands beside their speed.",
            data.peer_seconds, data.unit_seconds
        ),
    ]);
    document.finished()
}

fn judged(rows: &[Measured]) -> Vec<Judged> {
    type Figure = fn(&Measured) -> f64;
    let worst = |figure: Figure, unit: &str, order: f64| {
        let of = |row: &Measured| order * figure(row);
        let row = rows.iter().max_by(|a, b| of(a).total_cmp(&of(b)))?;
        let value = figure(row);
        let shown = if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") };
        Some((value, format!("{shown}{unit} ({})", row.name)))
    };
    let highest = |figure, unit| worst(figure, unit, 1.0);
    let lowest = |figure, unit| worst(figure, unit, -1.0);
    vec![
        at_most(
            "processor time over clang -O0 -g -c, worst package",
            1.0,
            "x",
            highest(|row| row.first.cpu.as_secs_f64() / row.peers[0].cpu.as_secs_f64(), "x"),
        ),
        at_least("lines per second, slowest package", 20_000.0, "", lowest(|row| row.speed(), "")),
        at_most("peak memory, worst package", 2048.0, " MiB", highest(|row| mebibytes(&row.first), " MiB")),
        at_least(
            "elapsed time on one core over two, geometric mean",
            1.8,
            "x",
            geometric_mean(rows.iter().map(|row| Some(gain(row)))).map(|mean| (mean, format!("{mean:.2}x"))),
        ),
        at_most("second run without a change, worst", 2.0, "%", highest(|row| row.share(&row.again), "%")),
        at_most(
            "run after a change in one function, worst",
            5.0,
            "%",
            highest(|row| row.share(&row.changed), "%"),
        ),
    ]
}

fn gain(row: &Measured) -> f64 {
    row.first.elapsed.as_secs_f64() / row.two_cores.elapsed.as_secs_f64()
}

fn mebibytes(usage: &Usage) -> f64 {
    usage.peak_kib as f64 / 1024.0
}

fn ours(rows: &[Measured], compile: &str) -> Table {
    let mut table = Table::new([
        "package",
        "lines",
        compile,
        "check",
        "capture",
        "check over compile",
        "with capture",
        "lines/s",
        "peak memory",
        "two cores gain",
        "again",
        "changed",
    ]);
    for row in rows {
        let compile = row.peers[0].cpu.as_secs_f64();
        let (check, capture) = (row.first.cpu.as_secs_f64(), row.capture.cpu.as_secs_f64());
        table.row([
            row.name.to_owned(),
            row.lines.to_string(),
            format!("{compile:.2} s"),
            format!("{check:.2} s"),
            format!("{capture:.2} s"),
            format!("{:.2}x", check / compile),
            format!("{:.2}x", (check + capture) / compile),
            format!("{:.0}", row.speed()),
            format!("{:.0} MiB", mebibytes(&row.first)),
            format!("{:.2}x", gain(row)),
            format!("{:.1}%", row.share(&row.again)),
            format!("{:.1}%", row.share(&row.changed)),
        ]);
    }
    table
}

fn beside(rows: &[Measured], peers: &[Peer]) -> Table {
    let names = peers.iter().map(|peer| peer.name.as_str());
    let mut table = Table::new(["package", "leakscope check"].into_iter().chain(names));
    for row in rows {
        let cells = row.peers.iter().map(|covered| {
            let speed = covered.lines as f64 / covered.cpu.as_secs_f64();
            let share = 100 * covered.lines / row.lines.max(1);
            let stopped = match covered.stopped {
                0 => String::new(),
                stopped => format!(", {stopped} stopped"),
            };
            let failed = match covered.failed {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            format!("{speed:.0} ({share}%{stopped}{failed})")
        });
        table.row([row.name.to_owned(), format!("{:.0}", row.speed())].into_iter().chain(cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_compile_comes_first() {
        let data: Data = data::read(&data::folder().join("check.toml")).unwrap();
        let whole: Vec<&str> =
            data.peers.iter().filter(|peer| peer.whole).map(|peer| peer.name.as_str()).collect();
        assert_eq!(whole, [&data.peers[0].name]);
        assert!(data.packages.len() >= 6);
    }
}
