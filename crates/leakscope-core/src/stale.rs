//! The order of stale findings (SWAT, section 3.6).

use std::cmp::Reverse;
use std::str::FromStr;

use crate::{Finding, Kind, Report};

/// What puts a place at the top of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StaleOrder {
    /// Blocks, then drag.
    #[default]
    Blocks,
    Bytes,
    /// Bytes times idle time.
    Drag,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected blocks, bytes or drag, found {0:?}")]
pub struct StaleOrderError(String);

impl FromStr for StaleOrder {
    type Err = StaleOrderError;

    fn from_str(text: &str) -> Result<StaleOrder, StaleOrderError> {
        match text {
            "blocks" => Ok(StaleOrder::Blocks),
            "bytes" => Ok(StaleOrder::Bytes),
            "drag" => Ok(StaleOrder::Drag),
            _ => Err(StaleOrderError(text.to_owned())),
        }
    }
}

impl Finding {
    /// Bytes times idle time, of a stale finding.
    pub fn drag(&self) -> u64 {
        self.evidence.get("drag").and_then(serde_json::Value::as_u64).unwrap_or(0)
    }

    /// Whether blocks of the same allocation became more from snapshot to
    /// snapshot.
    pub fn is_growing(&self) -> bool {
        self.evidence.get("trend").is_some_and(|trend| trend == "growing")
    }
}

impl Report {
    /// Puts stale findings in order: growing ones first. Others stay above
    /// them, as they are.
    pub fn sort_stale(&mut self, order: StaleOrder) {
        let start = self.findings.partition_point(|finding| finding.kind < Kind::Stale);
        let end = self.findings.partition_point(|finding| finding.kind <= Kind::Stale);
        self.findings[start..end].sort_by_cached_key(|finding| {
            let (blocks, bytes) = (finding.blocks.unwrap_or(0), finding.bytes.unwrap_or(0));
            let by = match order {
                StaleOrder::Blocks => (blocks, finding.drag()),
                StaleOrder::Bytes => (bytes, finding.drag()),
                StaleOrder::Drag => (finding.drag(), blocks),
            };
            (!finding.is_growing(), Reverse(by), finding.id.clone())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Engine, Frame, Place, Target};

    #[test]
    fn growing_first_then_what_was_asked() {
        let finding = |kind, name: &str, blocks, bytes, drag: u64, trend: &str| {
            let frame = Frame { function: Some(name.to_owned()), ..Frame::default() };
            let mut finding = Finding::new(kind, Place::new(vec![frame]));
            (finding.blocks, finding.bytes) = (Some(blocks), Some(bytes));
            finding.evidence.insert("drag".to_owned(), drag.into());
            finding.evidence.insert("trend".to_owned(), trend.into());
            finding
        };
        let findings = vec![
            finding(Kind::Stale, "many", 9, 10, 5, "flat"),
            finding(Kind::Stale, "large", 2, 900, 70, "flat"),
            finding(Kind::Stale, "long", 2, 20, 80, "flat"),
            finding(Kind::Stale, "grows", 1, 1, 1, "growing"),
            finding(Kind::Lost, "lost", 1, 1, 0, "unknown"),
        ];
        let target = Target { program: "a.out".to_owned(), args: Vec::new(), exit: None };
        let mut report = Report::new(Command::Watch, Engine::Sample, target, findings);
        let mut check = |order: &str, expected: &str| {
            report.sort_stale(order.parse().unwrap());
            let names: Vec<_> = report
                .findings
                .iter()
                .filter_map(|finding| finding.allocated.stack[0].function.as_deref())
                .collect();
            assert_eq!(names.join(" "), expected);
        };
        check("blocks", "lost grows many long large");
        check("bytes", "lost grows large long many");
        check("drag", "lost grows long large many");
        assert!("size".parse::<StaleOrder>().is_err());
    }
}
