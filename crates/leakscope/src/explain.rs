//! The run that explains how blocks were lost that are reference-counted, or
//! that slots kept which were done with them: the program
//! runs once more, in a variant that tells how pointers to what was lost come and
//! go (`leakscope-instrument`'s `details`, `leakscope-trace`'s `counted` and `handed`), or under
//! Valgrind with the same told.
//!
//! It happens by itself only where the report of the first run looks like it is
//! needed, and the program can be given the same input again.

use std::process::Stdio;

use anyhow::Result;
use leakscope_core::{Candidate, Cause, Finding, Frame, Kind, Place, Report};
use leakscope_trace::Process;
use leakscope_wire::env as wire_env;

use crate::cli::{OnLeak, Run};
use crate::execution::execute;
use crate::only::Chosen;
use crate::output::note;
use crate::plan::{How, Plan, explaining};
use crate::records::Records;

/// Of a finding's evidence: what the first run can tell of counts.
const MAY_BE_COUNTED: &str = "may_be_counted";

/// Whether the program is to be run once more; `repeats` if it can be given the same
/// input again without being asked to keep it.
pub fn is_wanted(options: &Run, plan: &Plan, repeats: bool, report: &Report) -> bool {
    let lost = || report.findings.iter().filter(|finding| finding.kind == Kind::Lost);
    let can_tell = matches!(plan.how, How::Track | How::Valgrind { .. });
    if !can_tell || lost().next().is_none() || report.fault.is_some() {
        return false;
    }
    // Under Valgrind leak points are there at once: a second run is for this.
    let is_asked_twice = options.two_pass && !matches!(plan.how, How::Track);
    options.explain
        || is_asked_twice
        || !options.no_explain
            && repeats
            && lost().any(|finding| looks_counted(finding) || looks_handed_over(finding))
}

/// Runs the program as it was started before, without what it prints. `judge`
/// makes a report of its records. What is known then comes into the report of the
/// first run, which stays as it is if the second cannot be made.
pub fn run(
    options: &Run,
    first: &[Process],
    input: impl FnOnce() -> Result<Stdio>,
    report: &mut Report,
    judge: impl FnOnce(&[Process], &Plan) -> Report,
) -> Result<()> {
    note(
        &options.report,
        "running the program again, to see how pointers to what was lost came and went (--no-explain)",
    );
    let options = Run {
        on_leak: OnLeak::Report,
        snapshot_every: None,
        snapshot_signal: None,
        keep_records: None,
        ..options.clone()
    };
    let mut plan = explaining(&options)?;
    let mut lines: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.kind == Kind::Lost)
        .filter_map(|finding| line_of(finding.allocated.headline()?))
        .collect();
    lines.sort();
    lines.dedup();
    let chosen = match &plan.how {
        How::Valgrind { .. } => Chosen::by_calls(first),
        _ => Chosen::by_lines(&lines, &plan),
    };
    let Some(chosen) = chosen else { return Ok(()) };
    let records = Records::new(None)?;
    let file = chosen.write(&records)?;
    if let How::Valgrind { explained, .. } = &mut plan.how {
        *explained = Some(file.clone());
    }
    let processes = execute(&plan, &options, &records, |command| {
        command.stdin(input()?).stdout(Stdio::null()).stderr(Stdio::null());
        if matches!(plan.how, How::Track) {
            command.env(wire_env::ONLY, file).env(wire_env::EXPLAIN, "1");
        }
        Ok(())
    })?
    .processes;
    if processes.is_empty() {
        note(&options.report, "the second run left no record: these are the findings of the first");
        return Ok(());
    }
    let second = judge(&processes, &plan);
    for finding in report.findings.iter_mut().filter(|finding| finding.kind == Kind::Lost) {
        let is_seen = || second.findings.iter().any(|other| is_same(&other.allocated, &finding.allocated));
        match explanation(finding, &second) {
            Some(told) => explain(finding, told),
            // All of it was looked at, and nothing in it counts.
            None if is_seen() && matches!(plan.how, How::Track) => {
                finding.evidence.remove(MAY_BE_COUNTED);
            }
            None if is_seen() => {}
            None => {
                finding.evidence.insert("unexplained".to_owned(), "the second run did not lose it".into());
            }
        }
    }
    share(report);
    Ok(())
}

/// What was lost with a block that is explained now, in the same place, has its place:
/// what it reaches, and what reaches it in a cycle.
fn share(report: &mut Report) {
    let is_explained = |it: &&Finding| told_by(it).is_some();
    let explained: Vec<Finding> = report.findings.iter().filter(is_explained).cloned().collect();
    for finding in report.findings.iter_mut().filter(|finding| finding.kind == Kind::Lost) {
        let lost_with = |other: &&Finding| {
            let plain = other.candidates.first().map(|candidate| &candidate.place);
            (finding.via.contains(&other.id) || other.via.contains(&finding.id))
                && plain.zip(finding.leaked.as_ref()).is_some_and(|(plain, leaked)| is_same(plain, leaked))
        };
        if finding.counted.is_none()
            && let Some(other) = explained.iter().find(lost_with)
        {
            explain(finding, &Finding { counted: None, ..other.clone() });
        }
    }
}

/// What the second run says of a finding: that of the same leak place, if there
/// is one; or all that it says of this allocation, if that is one place.
fn explanation<'a>(finding: &Finding, second: &'a Report) -> Option<&'a Finding> {
    let told = || {
        let is_told =
            |other: &&Finding| other.counted.is_some() || other.evidence.contains_key("handed_over");
        let told = second.findings.iter().filter(|other| other.kind == Kind::Lost);
        told.filter(is_told).filter(|other| is_same(&other.allocated, &finding.allocated))
    };
    let same_leak = |other: &&Finding| {
        let plain = other.candidates.first().map(|candidate| &candidate.place);
        plain.zip(finding.leaked.as_ref()).is_some_and(|(plain, leaked)| is_same(plain, leaked))
    };
    let mut alike = second.findings.iter().filter(|other| is_same(&other.allocated, &finding.allocated));
    let is_one = alike.next().is_some() && alike.next().is_none();
    told().find(same_leak).or_else(|| told().find(|other| other.counted.is_some() || is_one))
}

/// Of a cycle only the count is told: where its last pointer went is the answer.
fn explain(finding: &mut Finding, told: &Finding) {
    finding.counted = told.counted.clone();
    let Some(why) = told_by(told) else { return };
    // The second run may tell blocks together that were lost there in other variables.
    let is_known =
        told.leaked.as_ref().zip(finding.leaked.as_ref()).is_some_and(|(one, other)| is_same(one, other));
    if is_known && told.counted.is_none() {
        return;
    }
    if let Some(place) = finding.leaked.take() {
        let (cause, variable) = (finding.cause, finding.variable.take());
        finding.candidates.insert(0, Candidate { place, cause, variable });
    }
    finding.leaked = told.leaked.clone();
    finding
        .candidates
        .retain(|other| !told.leaked.as_ref().is_some_and(|leaked| is_same(&other.place, leaked)));
    finding.variable = told.variable.clone();
    (finding.cause, finding.exact) = (told.cause, told.exact);
    finding.evidence.insert(why.to_owned(), true.into());
    finding.evidence.remove("inexact");
    let inexact = told.evidence.get_key_value("inexact");
    finding.evidence.extend(inexact.map(|(name, reason)| (name.clone(), reason.clone())));
}

/// What of the second run says where a block was lost.
fn told_by(finding: &Finding) -> Option<&'static str> {
    ["not_released", "handed_over"].into_iter().find(|&it| finding.evidence.contains_key(it))
}

/// Whether what held the last pointer may have been done with it before: siblings
/// are freed in a function in which another pointer died, and the one that died
/// last was in memory. Only whether to look is decided so.
fn looks_handed_over(finding: &Finding) -> bool {
    let function = |place: &Place| Some((place.headline()?.file.clone(), place.headline()?.function.clone()));
    let is_member = || finding.variable.as_deref().is_some_and(|name| name.contains(['.', '>', '[']));
    let in_memory = match finding.cause {
        Cause::Overwritten | Cause::HolderFreed => true,
        Cause::ScopeEnd => is_member(),
        _ => false,
    };
    let calls = |place: &Place, of: &Frame| {
        place.stack.iter().any(|frame| (&frame.file, &frame.function) == (&of.file, &of.function))
    };
    let frees = || finding.freed_elsewhere.iter().flat_map(|freed| freed.place.stack.iter().take(3));
    let dies_there = |candidate: &Candidate| frees().any(|frame| calls(&candidate.place, frame));
    let leak = finding.leaked.as_ref().and_then(function);
    let is_freed_there = frees().any(|frame| Some((frame.file.clone(), frame.function.clone())) == leak);
    in_memory && !is_freed_there && finding.candidates.iter().any(dies_there)
}

/// The same calls, wherever they are in columns and modules.
fn is_same(one: &Place, other: &Place) -> bool {
    let calls = |place: &Place| -> Vec<(Option<String>, Option<u32>)> {
        place.stack.iter().map(|frame| (frame.function.clone(), frame.line)).collect()
    };
    calls(one) == calls(other)
}

fn line_of(frame: &Frame) -> Option<String> {
    let file = frame.file.as_deref()?.rsplit('/').next()?;
    Some(format!("{file}:{}", frame.line?))
}

/// Whether the block may be reference-counted: so it seems from where it was last
/// used and its siblings freed, or the C++ library's shared pointers had it. Only
/// whether to look is decided so.
fn looks_counted(finding: &Finding) -> bool {
    let places = finding.last_used.iter().chain(&finding.leaked);
    let mut functions = places
        .flat_map(|place| place.inner.iter().chain(place.stack.iter().take(1)))
        .filter_map(|frame| frame.function.as_deref());
    finding.evidence.contains_key(MAY_BE_COUNTED)
        || functions.any(|name| name.contains("shared_ptr") || name.contains("_Sp_counted"))
}
