//! The live table of `leakscope watch`: one line for each finding.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use leakscope_core::{Finding, Kind, Report};

use crate::wording;

/// What the table shows besides the findings.
#[derive(Clone, Debug)]
pub struct TableOptions {
    pub color: bool,
    pub width: usize,
    pub height: usize,
    /// The line that is chosen.
    pub selected: usize,
    /// A line above, as in "server, 12 snapshots".
    pub title: String,
    /// A line below.
    pub keys: String,
    /// Files in this folder are shown relative to it.
    pub base_dir: Option<PathBuf>,
}

/// The table, cut to the size of the terminal.
pub fn table(report: &Report, options: &TableOptions) -> String {
    let mut lines = vec![options.title.clone(), totals(report)];
    lines.push(format!(
        "{:10} {:>11} {:>14} {:>8} {:8} {}",
        "", "blocks", "bytes", "drag", "trend", "allocated in"
    ));
    let head = lines.len();
    let room = options.height.saturating_sub(head + 1).max(1);
    let selected = options.selected.min(report.findings.len().saturating_sub(1));
    let first = selected.saturating_sub(room - 1);
    for (index, finding) in report.findings.iter().enumerate().skip(first).take(room) {
        let mark = if index == selected { '>' } else { ' ' };
        lines.push(format!("{mark}{}", row(finding, options.base_dir.as_deref())));
    }
    if report.findings.is_empty() {
        lines.push(" nothing is stale or lost".to_owned());
    }
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line: String = line.chars().take(options.width).collect();
        let chosen = options.color && index == head + selected - first && !report.findings.is_empty();
        let _ = if chosen { writeln!(out, "\x1b[7m{line}\x1b[0m") } else { writeln!(out, "{line}") };
    }
    out + &options.keys.chars().take(options.width).collect::<String>()
}

fn totals(report: &Report) -> String {
    let summary = &report.summary;
    let part = |name: &str, totals: &leakscope_core::Totals| {
        format!("{name} {}", wording::size(totals.blocks, totals.bytes))
    };
    format!("{}; {}", part("lost", &summary.lost), part("stale", &summary.stale))
}

fn row(finding: &Finding, base: Option<&Path>) -> String {
    let kind = match finding.kind {
        Kind::Lost => "lost",
        Kind::Stale => "stale",
        Kind::Forgotten => "forgotten",
        Kind::Warning => "warning",
    };
    let trend = finding.evidence.get("trend").and_then(serde_json::Value::as_str).unwrap_or_default();
    let at =
        finding.allocated.headline().map_or_else(|| "unknown code".to_owned(), |at| wording::frame(at, base));
    let drag = if finding.drag() == 0 { String::new() } else { short(finding.drag()) };
    format!(
        "{kind:9} {:>11} {:>14} {drag:>8} {:8} {at}",
        wording::number(finding.blocks.unwrap_or(0)),
        wording::number(finding.bytes.unwrap_or(0)),
        if trend == "unknown" { "" } else { trend },
    )
}

/// A large number in a few characters, as in `3.2T`.
fn short(number: u64) -> String {
    let units = ["", "K", "M", "G", "T", "P", "E"];
    let order = (number.max(1).ilog10() / 3) as usize;
    if order == 0 {
        return number.to_string();
    }
    format!("{:.1}{}", number as f64 / 1000_f64.powi(order as i32), units[order])
}

#[cfg(test)]
mod tests {
    use super::*;
    use leakscope_core::{Command, Engine, Frame, Place, Target};

    #[test]
    fn lines_are_cut_and_the_chosen_one_stays_in_sight() {
        let finding = |line: u32| {
            let frame = Frame {
                function: Some("make".to_owned()),
                file: Some("/src/a.c".to_owned()),
                line: Some(line),
                ..Frame::default()
            };
            let mut finding = Finding::new(Kind::Stale, Place::new(vec![frame]));
            (finding.blocks, finding.bytes) = (Some(u64::from(line)), Some(9));
            finding.evidence.insert("drag".to_owned(), 3_200_000.into());
            finding.evidence.insert("trend".to_owned(), "growing".into());
            finding
        };
        let target = Target { program: "a.out".to_owned(), args: Vec::new(), exit: None };
        let mut report = Report::new(Command::Watch, Engine::Sample, target, (1..=9).map(finding).collect());
        report.sort_stale(leakscope_core::StaleOrder::Blocks);
        let options = |selected, height| TableOptions {
            color: false,
            width: 70,
            height,
            selected,
            title: "a.out".to_owned(),
            keys: "q quits".to_owned(),
            base_dir: Some(PathBuf::from("/src")),
        };
        let shown = table(&report, &options(0, 6));
        assert_eq!(
            shown,
            "a.out
lost 0 blocks, 0 bytes; stale 45 blocks, 81 bytes
                blocks          bytes     drag trend    allocated in
>stale               9              9     3.2M growing  make (a.c:9)
 stale               8              9     3.2M growing  make (a.c:8)
q quits"
        );
        let last = table(&report, &options(8, 6));
        assert!(last.contains(">stale               1 ") && !last.contains("(a.c:9)"), "{last}");
        assert!(table(&report, &options(99, 1)).contains(">stale               1 "));
    }
}
