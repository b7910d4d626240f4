//! gcc's own JSON (`-fdiagnostics-format=json`), which versions before 13
//! write instead of SARIF.

use serde_json::Value;

use super::Warnings;
use super::steps::{is_leak, marks};
use crate::warning::{MarkKind, PathMark, Spot, Warning};

pub fn parse(diagnostics: &Value) -> Warnings {
    let mut read = Warnings::default();
    for diagnostic in diagnostics.as_array().map(Vec::as_slice).unwrap_or_default() {
        let option = diagnostic["option"].as_str().unwrap_or_default();
        let message = diagnostic["message"].as_str().unwrap_or_default();
        if is_leak(option, message) {
            read.warnings.extend(warning(diagnostic));
        }
    }
    read
}

fn warning(diagnostic: &Value) -> Option<Warning> {
    let leak = diagnostic["locations"].get(0).and_then(|location| spot(&location["caret"]));
    let path = diagnostic["path"].as_array().map(Vec::as_slice).unwrap_or_default();
    let step = |step: &Value| Some((spot(&step["location"])?, step["description"].as_str()?.to_owned()));
    let steps: Vec<(Spot, String)> = path.iter().filter_map(step).collect();
    // The last step says where it leaks, and so does the diagnostic.
    let mut marks = marks(&steps, leak.clone());
    if !marks.iter().any(|mark| mark.kind == MarkKind::Allocation) {
        marks.insert(0, PathMark { kind: MarkKind::Allocation, spot: leak? });
    }
    Some(Warning::of_marks(marks))
}

fn spot(location: &Value) -> Option<Spot> {
    Some(Spot::new(location["file"].as_str()?, location["line"].as_u64()?.try_into().ok()?))
}
