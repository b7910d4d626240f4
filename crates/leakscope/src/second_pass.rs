//! `leakscope run --two-pass`: the program runs a second time, and only what it
//! lost the first time is followed (LEAKPOINT 4.5). That costs little where a
//! program allocates much and loses little. It needs a program that does the
//! same again; of one that does not, the report says what it can.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::Result;
use leakscope_core::{Finding, Kind, Report};
use leakscope_trace::Process;
use leakscope_wire::env as wire_env;

use crate::cli::{OnLeak, Run};
use crate::execution::execute;
use crate::only::Chosen;
use crate::output::note;
use crate::plan::Plan;
use crate::records::Records;
use crate::start::Start;

/// Runs the program as it was started before, without what it prints. None if
/// no record came of it.
pub fn run(
    plan: &Plan,
    options: &Run,
    start: &Start,
    chosen: &Chosen,
    first: &[Process],
) -> Result<Option<Vec<Process>>> {
    let options = Run {
        on_leak: OnLeak::Report,
        snapshot_every: None,
        snapshot_signal: None,
        keep_records: None,
        ..options.clone()
    };
    let records = Records::new(options.keep_records.as_deref())?;
    let second = execute(plan, &options, &records, |command| {
        command.stdin(start.input.again()?);
        if !options.show_second {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        command.env(wire_env::ONLY, chosen.write(&records)?);
        Ok(())
    })?
    .processes;
    let (before, now) = (lost(first), lost(&second));
    if second.is_empty() {
        note(&options.report, "the second run left no record: these are the findings of the first");
        return Ok(None);
    }
    if before != now {
        note(
            &options.report,
            &format!(
                "the program does not repeat: it lost {} blocks first, then {} of these and others; leak points are \
                 those of the second run",
                before.values().sum::<u64>(),
                now.iter().map(|(stack, blocks)| blocks.min(before.get(stack).unwrap_or(&0))).sum::<u64>(),
            ),
        );
    }
    Ok(Some(second))
}

fn lost(processes: &[Process]) -> BTreeMap<u64, u64> {
    let mut lost = BTreeMap::new();
    for record in processes.iter().filter_map(|process| process.records.last()) {
        for (stack, blocks) in record.leaking_stacks() {
            *lost.entry(stack).or_default() += blocks;
        }
    }
    lost
}

/// The second report, with what only the first run lost.
pub fn joined(first: Report, mut second: Report) -> Report {
    let again = |finding: &Finding| {
        let same = |other: &Finding| other.kind == Kind::Lost && other.allocated == finding.allocated;
        second.findings.iter().any(same)
    };
    let only_first: Vec<Finding> = first
        .findings
        .into_iter()
        .filter(|finding| finding.kind == Kind::Lost && !again(finding))
        .map(|mut finding| {
            finding.evidence.insert("inexact".to_owned(), "the second run did not lose it".into());
            finding
        })
        .collect();
    second.include(only_first);
    second
}
