//! The whole answer of one command: findings in order, with totals.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Finding, Kind, Place};

pub const SCHEMA: &str = "leakscope-findings/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    pub tool: Tool,
    pub command: Command,
    pub engine: Engine,
    pub target: Target,
    pub findings: Vec<Finding>,
    pub summary: Summary,
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
        findings.sort_by(|a, b| {
            (a.kind, !a.via.is_empty(), std::cmp::Reverse(a.bytes), &a.id).cmp(&(
                b.kind,
                !b.via.is_empty(),
                std::cmp::Reverse(b.bytes),
                &b.id,
            ))
        });
        let mut report = Report {
            schema: SCHEMA.to_owned(),
            tool: Tool { name: "leakscope".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
            command,
            engine,
            target,
            findings,
            summary: Summary::default(),
        };
        report.sum();
        report
    }

    /// Keeps the findings that `keep` accepts, and sums again.
    pub fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.findings.retain(keep);
        self.sum();
    }

    fn sum(&mut self) {
        let mut summary = Summary::default();
        for finding in &self.findings {
            let totals = match finding.kind {
                Kind::Lost => &mut summary.lost,
                Kind::Forgotten => &mut summary.forgotten,
                Kind::Stale => &mut summary.stale,
                Kind::Warning => &mut summary.warning,
            };
            totals.findings += 1;
            totals.blocks += finding.blocks.unwrap_or(0);
            totals.bytes += finding.bytes.unwrap_or(0);
        }
        self.summary = summary;
    }
}

/// Ids made of names only, so that they survive edits that move lines. Two
/// findings with the same names are told apart by their order in the source.
fn stable_ids(findings: &[Finding]) -> Vec<String> {
    let mut same: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, finding) in findings.iter().enumerate() {
        same.entry(names(finding)).or_default().push(index);
    }
    let mut ids = vec![String::new(); findings.len()];
    for (names, mut indices) in same {
        indices.sort_by_key(|&index| {
            (lines(&findings[index].allocated), findings[index].leaked.as_ref().map(lines))
        });
        for (ordinal, index) in indices.into_iter().enumerate() {
            let hash = blake3::hash(format!("{names}#{ordinal}").as_bytes());
            ids[index] = hash.to_hex()[..16].to_owned();
        }
    }
    ids
}

fn names(finding: &Finding) -> String {
    let place = |place: &Place| {
        place
            .stack
            .iter()
            .map(|frame| {
                let file = frame.file.as_deref().and_then(|file| file.rsplit('/').next());
                let module = if file.is_none() { frame.module.as_deref() } else { None };
                format!("{}@{}", frame.function.as_deref().unwrap_or("?"), file.or(module).unwrap_or("?"))
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    format!(
        "{:?}|{}|{}|{}",
        finding.kind,
        place(&finding.allocated),
        finding.leaked.as_ref().map(place).unwrap_or_default(),
        finding.variable.as_deref().unwrap_or_default(),
    )
}

type Position = (Option<u32>, Option<u32>, Option<u64>);

fn lines(place: &Place) -> Vec<Position> {
    place.stack.iter().map(|frame| (frame.line, frame.column, frame.offset)).collect()
}
