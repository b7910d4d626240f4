//! Findings of leakscope (`leakscope-findings/1`).

use leakscope_core::{Kind, Report};
use serde::Deserialize;
use serde_json::Value;

use super::{Warnings, WarningsError};
use crate::warning::Warning;

pub fn parse(value: &Value) -> Result<Warnings, WarningsError> {
    let report = Report::deserialize(value)?;
    let (warnings, others): (Vec<_>, Vec<_>) =
        report.findings.into_iter().partition(|finding| finding.kind == Kind::Warning);
    let mut read = Warnings::default();
    if !others.is_empty() {
        read.notes
            .push(format!("{} findings of runs passed over: only warnings are validated", others.len()));
    }
    read.warnings = warnings.into_iter().map(Warning::of_finding).collect();
    Ok(read)
}
