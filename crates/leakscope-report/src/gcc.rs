//! Findings as compilers write them, one on a line, for editors.

use std::fmt::Write;
use std::path::Path;

use leakscope_core::{Finding, Frame, Kind, Report};

use crate::{paths, wording};

/// `file:line:column: warning: text [leakscope]`, where it was lost; then notes on
/// the way there and the allocation. What is reachable to the end is no warning.
pub fn gcc(report: &Report, base_dir: Option<&Path>) -> String {
    let mut out = String::new();
    for finding in report.findings.iter().filter(|finding| finding.kind != Kind::Forgotten) {
        let Some(frame) = headline(finding) else { continue };
        let allocated = finding.allocated.headline();
        let from =
            allocated.map_or_else(|| "unknown code".to_owned(), |frame| wording::frame(frame, base_dir));
        let how = wording::last_pointer(finding);
        let _ = writeln!(out, "{}: warning: block from {from} leaks: {how} [leakscope]", at(frame, base_dir));
        for step in &finding.path {
            let taken = if step.taken { "taken" } else { "not taken" };
            let frame = Frame {
                file: Some(step.file.clone()),
                line: Some(step.line),
                column: Some(step.column),
                ..Frame::default()
            };
            let _ = writeln!(out, "{}: note: branch {taken}", at(&frame, base_dir));
        }
        if let Some(frame) = allocated {
            let _ = writeln!(out, "{}: note: allocated here", at(frame, base_dir));
        }
    }
    out
}

fn headline(finding: &Finding) -> Option<&Frame> {
    finding.leaked.as_ref().unwrap_or(&finding.allocated).headline()
}

fn at(frame: &Frame, base_dir: Option<&Path>) -> String {
    let file =
        frame.file.as_deref().map_or_else(|| "unknown".to_owned(), |file| paths::relative(file, base_dir));
    let mut text = file;
    if let Some(line) = frame.line {
        let _ = write!(text, ":{line}");
        if let Some(column) = frame.column {
            let _ = write!(text, ":{column}");
        }
    }
    text
}
