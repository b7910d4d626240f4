//! SARIF of any tool: clang's analyzer, gcc from version 13 on, Infer,
//! Fortify's export, and leakscope's own.

use serde_json::Value;

use super::Warnings;
use super::steps::{is_allocation, is_leak, marks};
use crate::warning::{Spot, Warning};

pub fn parse(sarif: &Value) -> Warnings {
    let mut read = Warnings::default();
    let mut others = 0;
    for run in list(sarif, "runs") {
        for result in list(run, "results") {
            match warning(run, result) {
                Some(warning) => read.warnings.push(warning),
                None => others += 1,
            }
        }
    }
    if others > 0 {
        read.notes.push(format!("{others} results passed over: they are not about leaks, or have no place"));
    }
    read
}

fn warning(run: &Value, result: &Value) -> Option<Warning> {
    let message = text(&result["message"]);
    if !is_leak(&rule(run, result), &message) {
        return None;
    }
    let leak = list(result, "locations").iter().find_map(|location| spot(run, location));
    let mut steps = Vec::new();
    for flow in list(result, "codeFlows").iter().take(1) {
        for thread in list(flow, "threadFlows") {
            for step in list(thread, "locations") {
                let location = &step["location"];
                let text = text(&location["message"]);
                steps.extend(spot(run, location).map(|spot| (spot, text)));
            }
        }
    }
    let mut marks = marks(&steps, leak.clone());
    let related = list(result, "relatedLocations").iter();
    let related = related.filter_map(|location| Some((spot(run, location)?, text(&location["message"]))));
    let mut warning = Warning::of_marks(Vec::new());
    if !marks.iter().any(|mark| mark.kind == crate::warning::MarkKind::Allocation) {
        let told = related.into_iter().find(|(_, text)| is_allocation(text)).map(|(spot, _)| spot);
        // Tools that tell no allocation begin their path there, or point there.
        let allocation = told.or_else(|| steps.first().map(|(spot, _)| spot.clone())).or(leak)?;
        let kind = crate::warning::MarkKind::Allocation;
        marks.insert(0, crate::warning::PathMark { kind, spot: allocation });
        warning.notes.push("the allocation is not named: taken from the first place that is".to_owned());
    }
    let notes = std::mem::take(&mut warning.notes);
    Some(Warning { notes, ..Warning::of_marks(marks) })
}

fn rule(run: &Value, result: &Value) -> String {
    let id = result["ruleId"].as_str().or_else(|| result["rule"]["id"].as_str()).unwrap_or_default();
    let rules = &run["tool"]["driver"]["rules"];
    let found = result["ruleIndex"].as_u64().and_then(|index| rules.get(index as usize));
    let name = found.and_then(|rule| rule["name"].as_str()).unwrap_or_default();
    format!("{id} {name}")
}

fn spot(run: &Value, location: &Value) -> Option<Spot> {
    let physical = &location["physicalLocation"];
    let artifact = &physical["artifactLocation"];
    let by_index = || {
        let index = artifact["index"].as_u64()?;
        run["artifacts"].get(index as usize)?["location"]["uri"].as_str()
    };
    let uri = artifact["uri"].as_str().or_else(by_index)?;
    let line = physical["region"]["startLine"].as_u64()?;
    Some(Spot::new(path(uri), line.try_into().ok()?))
}

/// A path from a URI: `file://` and `%20` are gone.
fn path(uri: &str) -> String {
    let uri =
        ["file://", "file:"].iter().find_map(|scheme| uri.strip_prefix(scheme)).unwrap_or(uri).as_bytes();
    let mut bytes = Vec::new();
    let mut rest = uri;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text(message: &Value) -> String {
    let text = message["text"].as_str().or_else(|| message["markdown"].as_str());
    text.unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}
