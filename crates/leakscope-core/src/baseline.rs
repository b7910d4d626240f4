//! Baselines: an earlier report, whose findings are known and do not count
//! again. A known finding stays known when it has more blocks than before.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::{Finding, Report, SCHEMA};

/// The findings of an earlier report, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    ids: BTreeSet<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    #[error("the baseline is not a leakscope report: {0}; write one with `--format json -o FILE`")]
    NotAReport(#[from] serde_json::Error),
    #[error("the baseline has schema {found:?}, expected {SCHEMA:?}; write it anew with this leakscope")]
    Schema { found: String },
}

/// Only what is needed is read, so that a report of a later version with more
/// in it is still a baseline.
#[derive(Deserialize)]
struct Known {
    schema: String,
    findings: Vec<KnownFinding>,
}

#[derive(Deserialize)]
struct KnownFinding {
    id: String,
}

/// Reads the JSON of an earlier report.
pub fn parse(json: &str) -> Result<Baseline, BaselineError> {
    let known: Known = serde_json::from_str(json)?;
    if known.schema != SCHEMA {
        return Err(BaselineError::Schema { found: known.schema });
    }
    Ok(Baseline { ids: known.findings.into_iter().map(|finding| finding.id).collect() })
}

impl Baseline {
    pub fn is_new(&self, finding: &Finding) -> bool {
        !self.ids.contains(&finding.id)
    }
}

impl Report {
    /// Keeps only the findings that are new since `baseline`, and counts the
    /// known ones in `summary.baseline`.
    pub fn subtract(&mut self, baseline: &Baseline) {
        for finding in self.findings.iter().filter(|finding| !baseline.is_new(finding)) {
            self.summary.baseline.add(finding);
        }
        self.retain(|finding| baseline.is_new(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Engine, Frame, Kind, Place, Target, Totals};

    fn report(allocations: &[(&str, u64)]) -> Report {
        let findings = allocations
            .iter()
            .map(|&(function, blocks)| {
                let frame = Frame { function: Some(function.to_owned()), ..Frame::default() };
                let mut finding = Finding::new(Kind::Lost, Place::new(vec![frame]));
                (finding.blocks, finding.bytes) = (Some(blocks), Some(blocks * 8));
                finding
            })
            .collect();
        let target = Target { program: "a.out".to_owned(), args: Vec::new(), exit: None };
        Report::new(Command::Run, Engine::Track, target, findings)
    }

    #[test]
    fn only_new_findings_stay() {
        let before = serde_json::to_string(&report(&[("make_node", 1), ("fixed", 1)])).unwrap();
        let mut now = report(&[("make_node", 5), ("make_name", 2)]);
        now.subtract(&parse(&before).unwrap());
        assert_eq!(now.findings.len(), 1);
        assert_eq!(now.findings[0].allocated.stack[0].function.as_deref(), Some("make_name"));
        assert_eq!(now.summary.lost, Totals { findings: 1, blocks: 2, bytes: 16 });
        assert_eq!(now.summary.baseline, Totals { findings: 1, blocks: 5, bytes: 40 });
    }

    #[test]
    fn what_is_not_a_baseline_is_refused() {
        let check = |json, expected: &str| assert_eq!(parse(json).unwrap_err().to_string(), expected);
        check(
            "{}",
            "the baseline is not a leakscope report: missing field `schema` at line 1 column 2; \
             write one with `--format json -o FILE`",
        );
        check(
            r#"{"schema": "leakscope-findings/9", "findings": []}"#,
            "the baseline has schema \"leakscope-findings/9\", expected \"leakscope-findings/1\"; \
             write it anew with this leakscope",
        );
    }

    #[test]
    fn a_later_report_with_more_in_it_is_a_baseline() {
        let json =
            r#"{"schema": "leakscope-findings/1", "news": 1, "findings": [{"id": "ab", "cause": "new"}]}"#;
        assert_eq!(parse(json).unwrap().ids.into_iter().collect::<Vec<_>>(), ["ab"]);
    }
}
