//! Which findings make a command fail (`--fail-on`).

use std::str::FromStr;

use crate::{Report, Totals, Verdict};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOn {
    /// Blocks that were lost.
    #[default]
    Lost,
    /// Blocks that were never freed, lost or not.
    Forgotten,
    /// Warnings that a run has shown to be leaks.
    MustLeak,
    /// Any finding at all, warnings too.
    Any,
    /// Nothing: the command only reports.
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected lost, forgotten, must-leak, any or none, found {0:?}")]
pub struct FailOnError(String);

impl FailOn {
    /// Whether what is left in `report`, after suppressions and baseline,
    /// makes the command fail. A misuse of the heap that stopped the program
    /// is worse than any leak.
    pub fn fails(self, report: &Report) -> bool {
        let summary = &report.summary;
        let found = |totals: Totals| totals.findings > 0;
        match self {
            FailOn::None => false,
            _ if report.fault.is_some() => true,
            FailOn::Lost => found(summary.lost),
            FailOn::Forgotten => found(summary.lost) || found(summary.forgotten),
            FailOn::MustLeak => {
                report.findings.iter().any(|finding| finding.verdict == Some(Verdict::MustLeak))
            }
            FailOn::Any => !report.findings.is_empty(),
        }
    }
}

impl FromStr for FailOn {
    type Err = FailOnError;

    fn from_str(text: &str) -> Result<FailOn, FailOnError> {
        match text {
            "lost" => Ok(FailOn::Lost),
            "forgotten" => Ok(FailOn::Forgotten),
            "must-leak" => Ok(FailOn::MustLeak),
            "any" => Ok(FailOn::Any),
            "none" => Ok(FailOn::None),
            _ => Err(FailOnError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Engine, Fault, FaultKind, Finding, Kind, Place, Target};

    #[test]
    fn fails_on_what_was_asked() {
        let report = |kind: Option<Kind>| {
            let findings = kind.map(|kind| Finding::new(kind, Place::default())).into_iter().collect();
            let target = Target { program: "a.out".to_owned(), args: Vec::new(), exit: None };
            Report::new(Command::Run, Engine::Track, target, findings)
        };
        let check = |report: Report, failing: &[&str]| {
            for option in ["lost", "forgotten", "must-leak", "any", "none"] {
                let fails = option.parse::<FailOn>().unwrap().fails(&report);
                assert_eq!(fails, failing.contains(&option), "--fail-on {option} with {report:?}");
            }
        };
        check(report(None), &[]);
        check(report(Some(Kind::Lost)), &["lost", "forgotten", "any"]);
        check(report(Some(Kind::Forgotten)), &["forgotten", "any"]);
        check(report(Some(Kind::Stale)), &["any"]);
        check(report(Some(Kind::Warning)), &["any"]);
        let judged = |verdict| {
            let mut judged = report(Some(Kind::Warning));
            judged.findings[0].verdict = Some(verdict);
            judged
        };
        check(judged(Verdict::MustLeak), &["must-leak", "any"]);
        check(judged(Verdict::MayLeak), &["any"]);
        let fault = Fault {
            kind: FaultKind::DoubleFree,
            address: 16,
            place: Place::default(),
            allocated: None,
            freed: None,
        };
        check(Report { fault: Some(fault), ..report(None) }, &["lost", "forgotten", "must-leak", "any"]);
    }

    #[test]
    fn other_words_are_refused() {
        let error = "leaks".parse::<FailOn>().unwrap_err();
        assert_eq!(error.to_string(), "expected lost, forgotten, must-leak, any or none, found \"leaks\"");
    }
}
