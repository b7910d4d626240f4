//! The whole answer of one command: findings in order, with totals.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Fault, Finding, Kind, Place, SuppressionUse};

pub const SCHEMA: &str = "leakscope-findings/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    pub tool: Tool,
    pub command: Command,
    pub engine: Engine,
    pub target: Target,
    /// A misuse of the heap that stopped the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    pub findings: Vec<Finding>,
    pub summary: Summary,
    /// What [`Report::suppress`] took out, by rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressions: Vec<SuppressionUse>,
    /// Of warnings that were validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
}

/// What validating took; the verdicts are with the findings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    pub runs: u64,
    /// Processor time of all runs.
    #[serde(default)]
    pub run_seconds: f64,
    pub seconds: f64,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    Run,
    Check,
    Watch,
    Validate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    Track,
    Preload,
    Valgrind,
    Static,
    Sample,
    Concolic,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub program: String,
    pub args: Vec<String>,
    pub exit: Option<Exit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub lost: Totals,
    pub forgotten: Totals,
    pub stale: Totals,
    pub warning: Totals,
    /// Findings of any kind that suppressions took out of the report.
    #[serde(default, skip_serializing_if = "Totals::is_zero")]
    pub suppressed: Totals,
    /// Findings of any kind that the baseline knows.
    #[serde(default, skip_serializing_if = "Totals::is_zero")]
    pub baseline: Totals,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub findings: u64,
    pub blocks: u64,
    pub bytes: u64,
}

impl Report {
    /// A report over `findings`, with ids given, ordered (lost before
    /// forgotten, larger first) and summed. Until here, `via` holds indices
    /// into `findings`, written as decimal numbers; here they become ids.
    pub fn new(command: Command, engine: Engine, target: Target, mut findings: Vec<Finding>) -> Report {
        let ids = stable_ids(&findings);
        for (finding, id) in findings.iter_mut().zip(&ids) {
            finding.id.clone_from(id);
            for via in &mut finding.via {
                if let Some(target) = via.parse::<usize>().ok().and_then(|index| ids.get(index)) {
                    via.clone_from(target);
                }
            }
            finding.via.sort();
            finding.via.dedup();
        }
        let mut report = Report {
            schema: SCHEMA.to_owned(),
            tool: Tool { name: "leakscope".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
            command,
            engine,
            target,
            fault: None,
            findings,
            summary: Summary::default(),
            suppressions: Vec::new(),
            validation: None,
        };
        report.arrange();
        report
    }

    /// Adds findings of another report about the same program.
    pub fn include(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.arrange();
    }

    fn arrange(&mut self) {
        self.findings.sort_by(|a, b| {
            let key = |finding: &Finding| {
                (finding.kind, finding.verdict, !finding.via.is_empty(), finding.confidence)
            };
            let size = std::cmp::Reverse::<Option<u64>>;
            (key(a), size(a.bytes), &a.id).cmp(&(key(b), size(b.bytes), &b.id))
        });
        self.sum();
    }

    /// Keeps the findings that `keep` accepts, and sums again.
    pub fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.findings.retain(keep);
        self.sum();
    }

    fn sum(&mut self) {
        let mut summary = Summary {
            suppressed: self.summary.suppressed,
            baseline: self.summary.baseline,
            ..Summary::default()
        };
        for finding in &self.findings {
            let totals = match finding.kind {
                Kind::Lost => &mut summary.lost,
                Kind::Forgotten => &mut summary.forgotten,
                Kind::Stale => &mut summary.stale,
                Kind::Warning => &mut summary.warning,
            };
            totals.add(finding);
        }
        self.summary = summary;
    }
}

impl Totals {
    /// Counts `finding` in.
    pub fn add(&mut self, finding: &Finding) {
        self.findings += 1;
        self.blocks = self.blocks.saturating_add(finding.blocks.unwrap_or(0));
        self.bytes = self.bytes.saturating_add(finding.bytes.unwrap_or(0));
    }

    fn is_zero(&self) -> bool {
        *self == Totals::default()
    }
}

/// Ids made of names only, so that they survive edits that move lines; direct
/// recursion counts once, so that they survive a deeper input. Two findings
/// with the same names are told apart by their order in the source, then by
/// the library functions that allocated: by these only then, since their names
/// change with the library and with whether its symbols are installed.
fn stable_ids(findings: &[Finding]) -> Vec<String> {
    let mut same: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, finding) in findings.iter().enumerate() {
        same.entry(names(finding)).or_default().push(index);
    }
    let mut ids = vec![String::new(); findings.len()];
    for (names, mut indices) in same {
        indices.sort_by_cached_key(|&index| {
            let Finding { allocated, .. } = &findings[index];
            let inner: Vec<_> =
                allocated.inner.iter().map(|frame| (&frame.function, &frame.module, &frame.file)).collect();
            (lines(allocated), end(&findings[index]).map(lines), inner)
        });
        for (ordinal, index) in indices.into_iter().enumerate() {
            ids[index] = digest(&format!("{names}#{ordinal}"));
        }
    }
    ids
}

fn names(finding: &Finding) -> String {
    format!(
        "{:?}|{}|{}|{}",
        finding.kind,
        functions(&finding.allocated),
        end(finding).map(functions).unwrap_or_default(),
        finding.variable.as_deref().unwrap_or_default(),
    )
}

/// Where the block's story ends: where it was lost or, if it was forgotten,
/// last used (LEAKPOINT 3.4).
fn end(finding: &Finding) -> Option<&Place> {
    match finding.kind {
        Kind::Forgotten => finding.last_used.as_ref(),
        _ => finding.leaked.as_ref(),
    }
}

fn functions(place: &Place) -> String {
    let mut names: Vec<String> = place
        .stack
        .iter()
        .map(|frame| {
            let file = frame.file.as_deref().and_then(|file| file.rsplit('/').next());
            let module = if file.is_none() { frame.module.as_deref() } else { None };
            format!("{}@{}", frame.function.as_deref().unwrap_or("?"), file.or(module).unwrap_or("?"))
        })
        .collect();
    names.dedup();
    names.join(" ")
}

fn digest(names: &str) -> String {
    blake3::hash(names.as_bytes()).to_hex()[..16].to_owned()
}

impl Fault {
    /// Stable over runs and over edits elsewhere, as a finding's id is.
    pub fn id(&self) -> String {
        let place = |place: &Option<Place>| place.as_ref().map(functions).unwrap_or_default();
        let (freed, allocated) = (place(&self.freed), place(&self.allocated));
        digest(&format!("{:?}|{}|{freed}|{allocated}", self.kind, functions(&self.place)))
    }
}

type Position = (Option<u32>, Option<u32>, Option<u64>);

fn lines(place: &Place) -> Vec<Position> {
    place.stack.iter().map(|frame| (frame.line, frame.column, frame.offset)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;

    /// A place from `function:line` words, innermost first.
    fn place(stack: &str) -> Place {
        let frame = |word: &str| {
            let (function, line) = word.split_once(':').unwrap();
            Frame {
                function: Some(function.to_owned()),
                file: Some("/src/a.c".to_owned()),
                line: line.parse().ok(),
                ..Frame::default()
            }
        };
        Place::new(stack.split(' ').map(frame).collect())
    }

    fn lost(allocated: &str, bytes: u64) -> Finding {
        Finding { blocks: Some(1), bytes: Some(bytes), ..Finding::new(Kind::Lost, place(allocated)) }
    }

    fn report(findings: Vec<Finding>) -> Report {
        let target = Target { program: "a.out".to_owned(), args: Vec::new(), exit: Some(Exit::Code(0)) };
        Report::new(Command::Run, Engine::Track, target, findings)
    }

    fn id(finding: Finding) -> String {
        report(vec![finding]).findings.remove(0).id
    }

    #[test]
    fn ids_survive_unrelated_edits_and_tell_leaks_apart() {
        let before = id(lost("make:3 main:9", 8));
        let same = |finding: Finding| assert_eq!(id(finding), before);
        let other = |finding: Finding| assert_ne!(id(finding), before);
        same(lost("make:30 main:90", 8));
        same(lost("make:3 main:9", 8000));
        same(lost("make:3 make:4 make:4 main:9", 8));
        other(lost("make:3 run:5 main:9", 8));
        other(Finding { leaked: Some(place("main:9")), ..lost("make:3 main:9", 8) });
        other(Finding { variable: Some("head".to_owned()), ..lost("make:3 main:9", 8) });
        same(Finding { last_used: Some(place("main:9")), ..lost("make:3 main:9", 8) });
        let forgotten = Finding { kind: Kind::Forgotten, ..lost("make:3 main:9", 8) };
        other(forgotten.clone());
        let used = |at| id(Finding { last_used: Some(place(at)), ..forgotten.clone() });
        assert_eq!(used("find:7 main:9"), used("find:8 main:9"));
        assert_ne!(used("find:7 main:9"), used("show:7 main:9"));
    }

    #[test]
    fn same_names_are_told_apart_by_their_order_in_the_source() {
        let ids = |first: Finding, second: Finding| {
            let mut findings = report(vec![first, second]).findings;
            findings.sort_by_key(|finding| finding.allocated.stack[0].line);
            findings.into_iter().map(|finding| finding.id).collect::<Vec<_>>()
        };
        let found = ids(lost("main:3", 8), lost("main:5", 8));
        assert_ne!(found[0], found[1]);
        assert_eq!(found, ids(lost("main:15", 8), lost("main:13", 8)), "neither found order nor lines count");
    }

    #[test]
    fn library_functions_tell_apart_only_what_else_is_the_same() {
        let through = |function: &str| {
            let mut finding = lost("main:3", 8);
            finding.allocated.inner = vec![Frame { function: Some(function.to_owned()), ..Frame::default() }];
            finding
        };
        assert_eq!(id(through("strdup")), id(through("__GI___strdup")));
        let ids = |functions: [&str; 2]| {
            let mut findings = report(functions.map(through).into()).findings;
            findings.sort_by(|a, b| a.allocated.inner[0].function.cmp(&b.allocated.inner[0].function));
            findings.into_iter().map(|finding| finding.id).collect::<Vec<_>>()
        };
        let found = ids(["getline", "strdup"]);
        assert_ne!(found[0], found[1]);
        assert_eq!(found, ids(["strdup", "getline"]));
    }

    #[test]
    fn lost_comes_first_then_direct_then_larger() {
        let report = report(vec![
            Finding { kind: Kind::Forgotten, ..lost("cache:1", 4096) },
            Finding { via: vec!["3".to_owned(), "3".to_owned()], ..lost("name:1", 900) },
            lost("small:1", 8),
            lost("node:1", 48),
        ]);
        let order: Vec<_> = report
            .findings
            .iter()
            .filter_map(|finding| finding.allocated.stack[0].function.as_deref())
            .collect();
        assert_eq!(order, ["node", "small", "name", "cache"]);
        assert_eq!(report.findings[2].via, [report.findings[0].id.as_str()]);
    }

    #[test]
    fn totals_follow_what_is_kept() {
        let mut report = report(vec![
            lost("node:1", 48),
            lost("name:1", 8),
            Finding { kind: Kind::Forgotten, ..lost("cache:1", 4096) },
            Finding::new(Kind::Warning, place("f:1")),
        ]);
        assert_eq!(report.summary.lost, Totals { findings: 2, blocks: 2, bytes: 56 });
        assert_eq!(report.summary.forgotten, Totals { findings: 1, blocks: 1, bytes: 4096 });
        assert_eq!(report.summary.warning, Totals { findings: 1, blocks: 0, bytes: 0 });
        report.retain(|finding| finding.bytes != Some(48));
        assert_eq!(report.summary.lost, Totals { findings: 1, blocks: 1, bytes: 8 });
    }

    #[test]
    fn json_has_the_shape_of_the_schema_and_comes_back() {
        let report = report(vec![lost("node:1", 48)]);
        let json = serde_json::to_value(&report).unwrap();
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys(&json), "schema tool command engine target findings summary");
        assert_eq!(
            keys(&json["findings"][0]),
            "id kind verdict blocks bytes allocated leaked last_used exact cause variable candidates counted via \
             freed_elsewhere path evidence"
        );
        assert_eq!(keys(&json["findings"][0]["allocated"]["stack"][0]), "function file line column module");
        assert_eq!(json["target"]["exit"], serde_json::json!({"code": 0}));
        assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
    }
}
