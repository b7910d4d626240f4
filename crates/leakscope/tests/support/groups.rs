//! The labelled groups of a test program (`lost @a`, `leaks @a`, `last used
//! @a`, `frees @a`), compared with the findings of a report. Totals by line
//! are the matter of [`super::Lines`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Tally, first_frame};

/// What a program says about its groups, by label.
#[derive(Debug, Default)]
pub struct Groups {
    labels: BTreeMap<String, Group>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// By allocation line: a label may stand on several.
    blocks: BTreeMap<String, Blocks>,
    leak: Option<Leak>,
    last_used: Option<String>,
    /// References and holders.
    counted: Option<(u64, u64)>,
    frees: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default)]
struct Blocks {
    kinds: BTreeSet<String>,
    sum: Tally,
}

#[derive(Clone, Debug)]
struct Leak {
    place: String,
    cause: String,
    variable: String,
}

/// The variable of a leak that is not compared.
const ANY: &str = "?";

impl Groups {
    pub fn add_blocks(&mut self, label: &str, kind: &str, place: &str, tally: Tally) {
        let blocks = self.label(label).blocks.entry(place.to_owned()).or_default();
        blocks.kinds.insert(kind.to_owned());
        blocks.sum.add(tally);
    }

    /// `what` is a cause and a variable: `overwritten c->addr`.
    pub fn add_leak(&mut self, label: &str, place: &str, what: &str) {
        let (cause, variable) = what.split_once(' ').unwrap_or((what, ""));
        let leak =
            Leak { place: place.to_owned(), cause: cause.to_owned(), variable: variable.trim().to_owned() };
        assert!(self.label(label).leak.replace(leak).is_none(), "{place}: a second leak of @{label}");
    }

    pub fn add_last_use(&mut self, label: &str, place: &str) {
        let earlier = self.label(label).last_used.replace(place.to_owned());
        assert!(earlier.is_none(), "{place}: a second last use of @{label}");
    }

    pub fn add_count(&mut self, label: &str, references: u64, holders: u64) {
        self.label(label).counted = Some((references, holders));
    }

    pub fn add_free(&mut self, label: &str, place: &str, blocks: u64) {
        *self.label(label).frees.entry(place.to_owned()).or_default() += blocks;
    }

    /// What an engine can say that sees no source: of uses only loads and
    /// stores.
    pub fn only_leaks(&self) -> Groups {
        let only = |group: &Group| Group { last_used: None, ..group.clone() };
        Groups { labels: self.labels.iter().map(|(label, group)| (label.clone(), only(group))).collect() }
    }

    pub fn say_where_leaked(&self) -> bool {
        self.labels.values().any(|group| group.leak.is_some())
    }

    /// How the findings of a report in JSON differ from these groups.
    pub fn differences(&self, report: &Value) -> Vec<String> {
        let findings = report["findings"].as_array().expect("findings");
        let mut differences = Vec::new();
        for (label, group) in self.labels.iter().filter(|(_, group)| group.says_more_than_blocks()) {
            assert!(!group.blocks.is_empty(), "@{label} has no blocks");
            for (place, blocks) in &group.blocks {
                let mixed = blocks.kinds.contains("forgotten") && blocks.kinds.len() > 1;
                assert!(!mixed, "@{label}: lost and forgotten blocks need labels of their own");
                let name = if label.is_empty() { String::new() } else { format!("@{label}, ") };
                for difference in group.differences(place, blocks, findings) {
                    differences.push(format!("{name}allocated at {place}: {difference}"));
                }
            }
        }
        differences
    }

    fn label(&mut self, label: &str) -> &mut Group {
        self.labels.entry(label.to_owned()).or_default()
    }
}

impl Group {
    fn says_more_than_blocks(&self) -> bool {
        self.leak.is_some() || self.last_used.is_some() || self.counted.is_some() || !self.frees.is_empty()
    }

    fn differences(&self, place: &str, blocks: &Blocks, findings: &[Value]) -> Vec<String> {
        let kind = if blocks.kinds.contains("forgotten") { "forgotten" } else { "lost" };
        let of_line: Vec<&Value> = findings
            .iter()
            .filter(|finding| finding["kind"] == kind && first_frame(&finding["allocated"]) == place)
            .collect();
        let mut found = of_line.clone();
        if let Some(leak) = &self.leak {
            found.retain(|finding| first_frame(&finding["leaked"]) == leak.place);
            if found.is_empty() {
                let others: Vec<String> = of_line.into_iter().map(told).collect();
                let Leak { place, cause, variable } = leak;
                return vec![format!(
                    "none leaks at {place} ({cause} {variable}), but {}",
                    others.join("; ")
                )];
            }
        }

        let mut differences = Vec::new();
        let mut compare = |what: &str, found: String, expected: String| {
            if found != expected {
                differences.push(format!("{what}: {found}, expected {expected}"));
            }
        };
        if let Some(leak) = &self.leak {
            let sum = found.iter().fold(Tally::default(), |mut sum, finding| {
                sum.add(Tally::of(finding));
                sum
            });
            compare("blocks", format!("{sum:?}"), format!("{:?}", blocks.sum));
            let indirect = |finding: &&Value| finding["via"].as_array().is_some_and(|via| !via.is_empty());
            compare(
                "only indirect",
                found.iter().all(indirect).to_string(),
                (!blocks.kinds.contains("lost")).to_string(),
            );
            compare("cause", each(&found, |finding| text(&finding["cause"])), leak.cause.clone());
            if leak.variable != ANY {
                compare(
                    "variable",
                    each(&found, |finding| text(&finding["variable"])),
                    leak.variable.clone(),
                );
            }
        }
        if let Some(place) = &self.last_used {
            compare("last used", each(&found, |finding| first_frame(&finding["last_used"])), place.clone());
        }
        if let Some((references, holders)) = self.counted {
            let told = |finding: &Value| {
                let counted = &finding["counted"];
                format!("{} references, {} holders", counted["references"], counted["holders"])
            };
            let expected = format!("{references} references, {holders} holders");
            compare("counted", each(&found, told), expected);
        }
        if !self.frees.is_empty() {
            let mut frees = BTreeMap::<String, u64>::new();
            for sibling in found.iter().flat_map(|finding| finding["freed_elsewhere"].as_array()).flatten() {
                *frees.entry(first_frame(&sibling["place"])).or_default() +=
                    sibling["blocks"].as_u64().unwrap_or_default();
            }
            compare("freed elsewhere", format!("{frees:?}"), format!("{:?}", self.frees));
        }
        differences
    }
}

/// The different values that findings have, joined.
fn each(findings: &[&Value], value: impl Fn(&Value) -> String) -> String {
    let values: BTreeSet<String> = findings.iter().map(|finding| value(finding)).collect();
    values.into_iter().collect::<Vec<_>>().join(", ")
}

fn told(finding: &Value) -> String {
    let Tally { blocks, bytes } = Tally::of(finding);
    let (place, cause) = (first_frame(&finding["leaked"]), text(&finding["cause"]));
    format!("{blocks} blocks, {bytes} bytes at {place} ({cause} {})", text(&finding["variable"]))
}

/// A string, empty for `null`.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
