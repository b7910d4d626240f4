//! The report as SARIF 2.1.0, for code scanning and editors.
//!
//! A result stands at the leak point, or where that is not known at the user's
//! frame of the allocation; the other places are related locations. Columns
//! are given as debug information has them, in bytes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use leakscope_core::{Exit, Fault, FaultKind, Finding, Frame, Kind, PathStep, Place, Report, Verdict};
use serde_json::{Map, Value, json};

use crate::{fault, paths, verdicts, wording};

/// The report as a SARIF log. Paths inside `base_dir` become relative to
/// `%SRCROOT%`, which is what code scanning needs to show them.
pub fn sarif(report: &Report, base_dir: Option<&Path>) -> String {
    let mut log = Log { base_dir, artifacts: BTreeMap::new() };
    let fault_files = report.fault.iter().flat_map(fault::parts).flat_map(|part| place_files(part.place));
    report.findings.iter().flat_map(files).chain(fault_files).for_each(|file| {
        log.artifacts.insert(log.uri(file), 0);
    });
    for (index, slot) in log.artifacts.values_mut().enumerate() {
        *slot = index;
    }
    let fault = report.fault.iter().map(|fault| log.fault(fault));
    let results: Vec<Value> =
        fault.chain(report.findings.iter().map(|finding| log.result(finding))).collect();
    let artifacts: Vec<Value> =
        log.artifacts.keys().map(|uri| json!({"location": log.artifact(uri)})).collect();
    let mut run = json!({
        "tool": {"driver": {
            "name": report.tool.name,
            "version": report.tool.version,
            "semanticVersion": report.tool.version,
            "rules": RULES.map(|rule| rule.json()),
        }},
        "invocations": [invocation(report)],
        "artifacts": artifacts,
        "results": results,
        "properties": {
            "command": report.command,
            "engine": report.engine,
            "program": report.target.program,
            "summary": report.summary,
        },
    });
    if let Some(base) = base_dir {
        let folder = format!("{}/", base.to_string_lossy().trim_end_matches('/'));
        run["originalUriBaseIds"] = json!({SRCROOT: {"uri": file_uri(&folder)}});
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    format!("{document:#}\n")
}

const SRCROOT: &str = "%SRCROOT%";

struct Rule {
    id: &'static str,
    name: &'static str,
    level: &'static str,
    short: &'static str,
    full: &'static str,
    help: &'static str,
    tags: [&'static str; 2],
}

const LEAK: [&str; 2] = ["memory-leak", "external/cwe/cwe-401"];

/// In the order of [`Kind`], then of [`FaultKind`].
const RULES: [Rule; 6] = [
    Rule {
        id: "lost",
        name: "LostBlock",
        level: "error",
        short: "Memory was lost",
        full: "No pointer to the block was left when the program ended, so nothing could have freed it.",
        help: "Free the block before its last pointer goes, or keep a pointer to it. If a leak point is given, \
               that is where the last pointer went.",
        tags: LEAK,
    },
    Rule {
        id: "forgotten",
        name: "ForgottenBlock",
        level: "note",
        short: "Memory was never freed",
        full: "The block was still reachable when the program ended, but was never freed.",
        help: "Free the block when it is no longer needed. A block that is in use to the end is harmless.",
        tags: LEAK,
    },
    Rule {
        id: "stale",
        name: "StaleBlock",
        level: "warning",
        short: "Memory is no longer used",
        full: "The block has not been accessed for long, though it is still allocated.",
        help: "Free the block after its last use.",
        tags: LEAK,
    },
    Rule {
        id: "possible-leak",
        name: "PossibleLeak",
        level: "warning",
        short: "Memory may leak",
        full: "On some path through the source the last pointer to the block goes before the block is freed.",
        help: "Free the block on the path shown, or keep a pointer to it.",
        tags: LEAK,
    },
    Rule {
        id: "double-free",
        name: "DoubleFree",
        level: "error",
        short: "Memory was freed twice",
        full: "The block had been freed before. Going on would corrupt the heap, so the program was stopped.",
        help: "Decide which of the two places owns the block and frees it; the other must not.",
        tags: ["memory-corruption", "external/cwe/cwe-415"],
    },
    Rule {
        id: "invalid-free",
        name: "InvalidFree",
        level: "error",
        short: "What was freed is no block",
        full: "The pointer is not one that an allocation returned. Going on would corrupt the heap, so the program was \
               stopped.",
        help: "Free only what malloc, new and the like returned, by the pointer that they returned.",
        tags: ["memory-corruption", "external/cwe/cwe-763"],
    },
];

impl Rule {
    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "shortDescription": {"text": self.short},
            "fullDescription": {"text": self.full},
            "help": {"text": self.help, "markdown": format!("**{}.** {}\n\n{}", self.short, self.full, self.help)},
            "defaultConfiguration": {"level": self.level},
            "properties": {"tags": ["correctness", self.tags[0], self.tags[1]], "precision": "high"},
        })
    }
}

fn rule_index(kind: Kind) -> usize {
    match kind {
        Kind::Lost => 0,
        Kind::Forgotten => 1,
        Kind::Stale => 2,
        Kind::Warning => 3,
    }
}

fn fault_rule_index(kind: FaultKind) -> usize {
    match kind {
        FaultKind::DoubleFree => 4,
        FaultKind::InvalidFree => 5,
    }
}

fn level(finding: &Finding) -> &'static str {
    match finding.verdict {
        Some(Verdict::MustLeak) => "error",
        Some(Verdict::Bloat | Verdict::LikelyNotLeak) => "note",
        _ => RULES[rule_index(finding.kind)].level,
    }
}

fn invocation(report: &Report) -> Value {
    let mut invocation = json!({"executionSuccessful": true, "arguments": report.target.args});
    match report.target.exit {
        Some(Exit::Code(code)) => invocation["exitCode"] = code.into(),
        Some(Exit::Signal(signal)) => {
            invocation["executionSuccessful"] = false.into();
            invocation["exitSignalNumber"] = signal.into();
            if let Some(name) = wording::signal(signal) {
                invocation["exitSignalName"] = name.into();
            }
        }
        None => {}
    }
    invocation
}

fn place_files(place: &Place) -> impl Iterator<Item = &str> {
    place.stack.iter().filter_map(|frame| frame.file.as_deref())
}

/// The files that `finding` names, in any of its places.
fn files(finding: &Finding) -> impl Iterator<Item = &str> {
    let places = [Some(&finding.allocated), finding.leaked.as_ref(), finding.last_used.as_ref()];
    let freed = finding.freed_elsewhere.iter().map(|sibling| &sibling.place);
    let candidates = finding.candidates.iter().map(|candidate| &candidate.place);
    let steps = finding.path.iter().map(|step| step.file.as_str());
    places.into_iter().flatten().chain(freed).chain(candidates).flat_map(place_files).chain(steps)
}

struct Log<'a> {
    base_dir: Option<&'a Path>,
    /// Index of each file, by URI.
    artifacts: BTreeMap<String, usize>,
}

impl Log<'_> {
    fn result(&self, finding: &Finding) -> Value {
        let rule = rule_index(finding.kind);
        let related = self.related(finding);
        let mut result = json!({
            "ruleId": RULES[rule].id,
            "ruleIndex": rule,
            "level": level(finding),
            "message": {"text": message(finding, &related)},
            "locations": [],
            "partialFingerprints": {"leakscopeId/v1": finding.id},
        });
        let headline = finding.leaked.as_ref().unwrap_or(&finding.allocated).headline();
        if let Some(location) = headline.and_then(|frame| self.location(frame)) {
            result["locations"] = json!([location]);
        }
        if !related.is_empty() {
            result["relatedLocations"] = related.into_iter().map(|related| related.location).collect();
        }
        let stacks: Vec<Value> = self
            .places(finding)
            .into_iter()
            .filter(|(_, place)| !place.stack.is_empty())
            .map(|(says, place)| self.stack(&says, place))
            .collect();
        if !stacks.is_empty() {
            result["stacks"] = stacks.into();
        }
        let flow = self.flow(finding);
        if flow.len() > 1 {
            result["codeFlows"] = json!([{"threadFlows": [{"locations": flow}]}]);
        }
        let mut properties = Map::new();
        properties.insert("exact".to_owned(), finding.exact.into());
        properties.insert("cause".to_owned(), json!(finding.cause));
        for (name, value) in [("blocks", finding.blocks), ("bytes", finding.bytes)] {
            properties.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        properties.extend(finding.variable.clone().map(|name| ("variable".to_owned(), name.into())));
        properties.extend(finding.counted.as_ref().map(|counted| ("counted".to_owned(), json!(counted))));
        let inexact = finding.evidence.get_key_value("inexact");
        properties.extend(inexact.map(|(name, reason)| (name.clone(), reason.clone())));
        if !finding.via.is_empty() {
            properties.insert("via".to_owned(), json!(finding.via));
        }
        result["properties"] = properties.into();
        result
    }

    fn fault(&self, fault: &Fault) -> Value {
        let rule = fault_rule_index(fault.kind);
        let parts = fault::parts(fault);
        let others = parts[1..].iter().map(|part| (part.label.to_owned(), part.place));
        let related = self.linked(others.collect());
        let message = format!("{}: {}{}", fault::name(fault.kind), fault::reason(fault), links(&related));
        let headline = fault.place.headline().and_then(|frame| self.location(frame));
        let stacks: Vec<Value> = parts
            .iter()
            .filter(|part| !part.place.stack.is_empty())
            .map(|part| self.stack(part.label, part.place))
            .collect();
        let mut result = json!({
            "ruleId": RULES[rule].id,
            "ruleIndex": rule,
            "level": RULES[rule].level,
            "message": {"text": message},
            "locations": headline.into_iter().collect::<Vec<Value>>(),
            "partialFingerprints": {"leakscopeId/v1": fault.id()},
            "relatedLocations": related.into_iter().map(|related| related.location).collect::<Vec<Value>>(),
        });
        if !stacks.is_empty() {
            result["stacks"] = stacks.into();
        }
        result["properties"] = json!({"address": format!("{:#x}", fault.address)});
        result
    }

    /// The places of `finding` in the order of time, the leak last.
    fn places<'f>(&self, finding: &'f Finding) -> Vec<(String, &'f Place)> {
        let lost = || wording::lost_here(finding);
        let mut places = vec![("allocated here".to_owned(), &finding.allocated)];
        places.extend(finding.last_used.as_ref().map(|place| ("last used here".to_owned(), place)));
        places.extend(finding.leaked.as_ref().map(|place| (lost(), place)));
        places
    }

    /// Where to look besides the headline.
    fn related(&self, finding: &Finding) -> Vec<Related> {
        let headline = finding.leaked.as_ref().unwrap_or(&finding.allocated);
        let mut places = self.places(finding);
        places.retain(|(_, place)| !std::ptr::eq(*place, headline));
        for sibling in &finding.freed_elsewhere {
            places.push((wording::freed_here(finding, sibling.blocks), &sibling.place));
        }
        for candidate in &finding.candidates {
            let (also, which) = wording::also(finding);
            let how = wording::died(candidate.cause, candidate.variable.as_deref(), which);
            places.push((format!("{also}: {how}"), &candidate.place));
        }
        self.linked(places)
    }

    /// Places that have a location, with the numbers by which a message links
    /// them.
    fn linked(&self, places: Vec<(String, &Place)>) -> Vec<Related> {
        let located = places.into_iter().filter_map(|(says, place)| {
            let location = self.location(place.headline()?)?;
            Some((says, location))
        });
        located
            .enumerate()
            .map(|(index, (says, mut location))| {
                let id = index + 1;
                location["id"] = id.into();
                location["message"] = json!({"text": says});
                Related { id, says, location }
            })
            .collect()
    }

    fn stack(&self, says: &str, place: &Place) -> Value {
        let frames: Vec<Value> = place
            .stack
            .iter()
            .map(|frame| {
                let mut entry = Map::new();
                entry.extend(self.location(frame).map(|location| ("location".to_owned(), location)));
                entry.extend(frame.module.clone().map(|module| ("module".to_owned(), module.into())));
                entry.into()
            })
            .collect();
        json!({"message": {"text": says}, "frames": frames})
    }

    /// The way to the leak: the branches that an analysis followed, between the
    /// allocation and the leak; else the places in the order of time.
    fn flow(&self, finding: &Finding) -> Vec<Value> {
        let step = |step: &PathStep| {
            let frame = Frame {
                function: Some(step.function.clone()),
                file: Some(step.file.clone()),
                line: Some(step.line),
                column: Some(step.column),
                ..Frame::default()
            };
            let says = if step.taken { "branch taken" } else { "branch not taken" };
            (says.to_owned(), self.location(&frame))
        };
        let place =
            |(says, place): (String, &Place)| (says, place.headline().and_then(|frame| self.location(frame)));
        let mut steps: Vec<(String, Option<Value>)> = self.places(finding).into_iter().map(place).collect();
        steps.splice(1..1, finding.path.iter().map(step));
        if finding.path.is_empty() && finding.leaked.is_none() {
            steps.clear();
        }
        steps
            .into_iter()
            .filter_map(|(says, location)| {
                let mut location = location?;
                location["message"] = json!({"text": says});
                Some(json!({"location": location}))
            })
            .collect()
    }

    /// A frame as a location; `None` if not even its module is known.
    fn location(&self, frame: &Frame) -> Option<Value> {
        let mut physical = Map::new();
        if let Some(file) = &frame.file {
            physical.insert("artifactLocation".to_owned(), self.artifact(&self.uri(file)));
            if let Some(line) = frame.line.filter(|&line| line > 0) {
                let mut region = json!({"startLine": line});
                if let Some(column) = frame.column.filter(|&column| column > 0) {
                    region["startColumn"] = column.into();
                }
                physical.insert("region".to_owned(), region);
            }
        } else {
            let module = frame.module.as_deref()?;
            physical.insert("artifactLocation".to_owned(), json!({"uri": encoded(module)}));
            if let Some(offset) = frame.offset {
                physical
                    .insert("address".to_owned(), json!({"relativeAddress": offset, "kind": "instruction"}));
            }
        }
        let mut location = json!({"physicalLocation": physical});
        if let Some(function) = &frame.function {
            location["logicalLocations"] = json!([{"fullyQualifiedName": function, "kind": "function"}]);
        }
        Some(location)
    }

    fn artifact(&self, uri: &str) -> Value {
        let mut artifact = json!({"uri": uri});
        if !uri.starts_with("file:") && self.base_dir.is_some() {
            artifact["uriBaseId"] = SRCROOT.into();
        }
        if let Some(&index) = self.artifacts.get(uri) {
            artifact["index"] = index.into();
        }
        artifact
    }

    fn uri(&self, file: &str) -> String {
        file_uri(&paths::relative(file, self.base_dir))
    }
}

struct Related {
    id: usize,
    says: String,
    location: Value,
}

/// What a reader sees in a list of results; each related location is linked.
fn message(finding: &Finding, related: &[Related]) -> String {
    let size = wording::size(finding.blocks.unwrap_or(0), finding.bytes.unwrap_or(0));
    let mut text = match finding.kind {
        Kind::Lost => format!("{size} lost"),
        Kind::Forgotten => format!("{size} never freed"),
        Kind::Stale => format!("{size} not used for long"),
        Kind::Warning => match finding.verdict {
            Some(Verdict::MustLeak) => "block leaks for certain".to_owned(),
            Some(Verdict::LikelyNotLeak) => "block likely does not leak".to_owned(),
            Some(Verdict::Bloat) => "block is freed late".to_owned(),
            _ => "block may leak".to_owned(),
        },
    };
    if finding.leaked.is_some() {
        let how = wording::last_pointer(finding);
        let _ = write!(text, ": {how} here");
    } else {
        text += ": allocated here";
    }
    if !finding.via.is_empty() {
        text += "; reachable only from other lost blocks";
    }
    if let Some(reason) = verdicts::reason(finding) {
        let _ = write!(text, " ({}: {reason})", verdicts::name(finding.verdict));
    }
    text + &links(related)
}

/// The end of a message, with a link to each of `related`.
fn links(related: &[Related]) -> String {
    let mut text = String::new();
    for Related { id, says, .. } in related {
        let _ = write!(text, "; [{}]({id})", says.replace(['[', ']', '\\'], "_"));
    }
    text + "."
}

/// A path as a URI: absolute paths with their scheme, others relative.
fn file_uri(path: &str) -> String {
    if path.starts_with('/') { format!("file://{}", encoded(path)) } else { encoded(path) }
}

fn encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~+".contains(&byte) {
            uri.push(byte.into());
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
