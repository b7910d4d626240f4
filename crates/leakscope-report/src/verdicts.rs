//! What validation says: the groups in the order in which to fix them, the
//! reason of each verdict with the input that shows it, and the closing table
//! (table 1 of the paper, for one program).

use std::fmt::Write;

use leakscope_core::{Finding, Report, Validation, Verdict};

use crate::text::{BOLD, DIM, Page};
use crate::wording;

/// In the order in which to fix.
const ORDER: [Verdict; 4] = [Verdict::MustLeak, Verdict::MayLeak, Verdict::Bloat, Verdict::LikelyNotLeak];

pub(crate) fn name(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::MustLeak) => "MUST-LEAK",
        Some(Verdict::MayLeak) => "MAY-LEAK",
        Some(Verdict::Bloat) => "BLOAT",
        Some(Verdict::LikelyNotLeak) => "LIKELY-NOT-LEAK",
        None => "not validated",
    }
}

/// Of a group of findings.
pub(crate) fn heading(report: &Report, verdict: Option<Verdict>) -> String {
    let advice = match verdict {
        Some(Verdict::MustLeak) => "an input shows the leak: fix these first",
        Some(Verdict::MayLeak) => "no run followed the path: read these yourself",
        Some(Verdict::Bloat) => "freed, but not used after the leak point: could be freed earlier",
        Some(Verdict::LikelyNotLeak) => "freed and used, or no input follows the path",
        None => "",
    };
    format!("{} ({}): {advice}", name(verdict), count(report, verdict))
}

/// Why a finding has its verdict.
pub(crate) fn reason(finding: &Finding) -> Option<String> {
    Some(wording::printable(finding.evidence.get("reason")?.as_str()?))
}

fn count(report: &Report, verdict: Option<Verdict>) -> usize {
    report.findings.iter().filter(|finding| finding.verdict == verdict).count()
}

impl Page<'_> {
    /// The reason of a verdict, and how to see it.
    pub(crate) fn verdict(&self, finding: &Finding) -> String {
        let mut out = String::new();
        let Some(reason) = reason(finding) else { return out };
        let mut line = |title: &str, text: &str| {
            let _ = writeln!(out, "  {}  {text}", self.paint(DIM, &format!("{title:12}")));
        };
        line("because", &reason);
        let texts =
            |key: &str| finding.evidence.get(key).and_then(|notes| notes.as_array()).into_iter().flatten();
        for note in texts("notes").filter_map(|note| note.as_str()) {
            line("note", &wording::printable(note));
        }
        if let Some(shell) = finding.evidence.get("input").and_then(|input| input.get("shell")?.as_str()) {
            line("input", &wording::printable(shell));
        }
        out
    }

    /// Warnings, runs, verdicts, and the share that nobody has to read.
    pub(crate) fn verdicts(&self, validation: &Validation) -> String {
        let all = self.report.findings.len();
        let open = count(self.report, Some(Verdict::MayLeak));
        // Of nothing there is no share.
        let saved = match all {
            0 => "-".to_owned(),
            _ => format!("{:.1}%", 100.0 * (all - open) as f64 / all as f64),
        };
        let columns: Vec<(String, String)> =
            [("warnings", all.to_string()), ("runs", wording::number(validation.runs))]
                .map(|(title, value)| (title.to_owned(), value))
                .into_iter()
                .chain(ORDER.map(|verdict| {
                    let count = count(self.report, Some(verdict)).to_string();
                    (name(Some(verdict)).to_ascii_lowercase(), count)
                }))
                .chain([("effort saved".to_owned(), saved)])
                .chain([("time".to_owned(), format!("{:.1} s", validation.seconds))])
                .collect();
        let row = |part: fn(&(String, String)) -> &String| {
            let cells = columns.iter().map(|column| {
                let width = column.0.len().max(column.1.len());
                format!("{:>width$}", part(column))
            });
            cells.collect::<Vec<_>>().join("  ")
        };
        let (titles, values) = (row(|column| &column.0), row(|column| &column.1));
        format!("{}\n{}\n", self.paint(DIM, &titles), self.paint(BOLD, &values))
    }
}
