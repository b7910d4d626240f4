//! Which findings make a command fail (`--fail-on`).

use std::str::FromStr;

use crate::{Report, Totals};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOn {
    /// Blocks that were lost.
    #[default]
    Lost,
    /// Blocks that were never freed, lost or not.
    Forgotten,
    /// Any finding at all, warnings too.
    Any,
    /// Nothing: the command only reports.
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected lost, forgotten, any or none, found {0:?}")]
pub struct FailOnError(String);

impl FailOn {
    /// Whether what is left in `report`, after suppressions and baseline,
    /// makes the command fail.
    pub fn fails(self, report: &Report) -> bool {
        let summary = &report.summary;
        let found = |totals: Totals| totals.findings > 0;
        match self {
            FailOn::Lost => found(summary.lost),
            FailOn::Forgotten => found(summary.lost) || found(summary.forgotten),
            FailOn::Any => !report.findings.is_empty(),
            FailOn::None => false,
        }
    }
}

impl FromStr for FailOn {
    type Err = FailOnError;

    fn from_str(text: &str) -> Result<FailOn, FailOnError> {
        match text {
            "lost" => Ok(FailOn::Lost),
            "forgotten" => Ok(FailOn::Forgotten),
            "any" => Ok(FailOn::Any),
            "none" => Ok(FailOn::None),
            _ => Err(FailOnError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Engine, Finding, Kind, Place, Target};

    #[test]
    fn fails_on_what_was_asked() {
        let check = |kind: Option<Kind>, failing: &[&str]| {
            let findings = kind.map(|kind| Finding::new(kind, Place::default())).into_iter().collect();
            let target = Target { program: "a.out".to_owned(), args: Vec::new(), exit: None };
            let report = Report::new(Command::Run, Engine::Track, target, findings);
            for option in ["lost", "forgotten", "any", "none"] {
                let fails = option.parse::<FailOn>().unwrap().fails(&report);
                assert_eq!(fails, failing.contains(&option), "--fail-on {option} with {kind:?}");
            }
        };
        check(None, &[]);
        check(Some(Kind::Lost), &["lost", "forgotten", "any"]);
        check(Some(Kind::Forgotten), &["forgotten", "any"]);
        check(Some(Kind::Stale), &["any"]);
        check(Some(Kind::Warning), &["any"]);
    }

    #[test]
    fn other_words_are_refused() {
        let error = "leaks".parse::<FailOn>().unwrap_err();
        assert_eq!(error.to_string(), "expected lost, forgotten, any or none, found \"leaks\"");
    }
}
