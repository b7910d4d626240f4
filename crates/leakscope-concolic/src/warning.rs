//! A static leak warning (definition 1): an allocation, marks on the way, and
//! the point where the last reference is said to go.

use leakscope_core::{Finding, Frame, Kind, PathStep, Place};

/// What a warning says, in the words of its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The same as a finding, for reports; its id is its own.
    pub finding: Finding,
    /// In the order in which they are to be passed.
    pub marks: Vec<PathMark>,
    /// What was left out of the warning, and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMark {
    pub kind: MarkKind,
    pub spot: Spot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Allocation,
    BranchTaken,
    BranchNotTaken,
    Point,
    Leak,
}

/// A place as a tool names it: the file may lack its folders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    pub file: String,
    pub line: u32,
    pub column: Option<u32>,
}

impl Spot {
    pub fn new(file: impl Into<String>, line: u32) -> Spot {
        Spot { file: file.into(), line, column: None }
    }

    /// Whether `path` is this file: the shorter of the two names ends the
    /// longer one.
    pub fn is_in(&self, path: &str) -> bool {
        let (own, path) = (self.file.trim_start_matches("./"), path.trim_start_matches("./"));
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        ends(path, own) || ends(own, path)
    }
}

impl std::fmt::Display for Spot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl std::fmt::Display for PathMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spot = &self.spot;
        match self.kind {
            MarkKind::Allocation => write!(f, "the allocation at {spot}"),
            MarkKind::BranchTaken => write!(f, "the branch at {spot}, taken"),
            MarkKind::BranchNotTaken => write!(f, "the branch at {spot}, not taken"),
            MarkKind::Point => write!(f, "{spot}"),
            MarkKind::Leak => write!(f, "the leak point {spot}"),
        }
    }
}

impl Warning {
    /// A warning of marks alone.
    pub fn of_marks(marks: Vec<PathMark>) -> Warning {
        let of = |kind| marks.iter().rev().find(|mark| mark.kind == kind).map(|mark| place(&mark.spot));
        let mut finding = Finding::new(Kind::Warning, of(MarkKind::Allocation).unwrap_or_default());
        finding.leaked = of(MarkKind::Leak);
        let step = |mark: &PathMark| {
            let taken = match mark.kind {
                MarkKind::BranchTaken => true,
                MarkKind::BranchNotTaken => false,
                _ => return None,
            };
            let Spot { file, line, column } = mark.spot.clone();
            Some(PathStep {
                file,
                line,
                column: column.unwrap_or(0),
                ordinal: 0,
                taken,
                function: String::new(),
            })
        };
        finding.path = marks.iter().filter_map(step).collect();
        Warning { finding, marks, notes: Vec::new() }
    }

    /// A warning from a finding: its branches, then where it leaks.
    pub fn of_finding(finding: Finding) -> Warning {
        let mark = |kind, spot| PathMark { kind, spot };
        let mut marks = Vec::new();
        let leak = leak_of(&finding);
        if finding.path.is_empty() {
            marks.extend(spot(&finding.allocated).map(|spot| mark(MarkKind::Allocation, spot)));
        }
        for step in &finding.path {
            let kind = if step.taken { MarkKind::BranchTaken } else { MarkKind::BranchNotTaken };
            let column = (step.column > 0).then_some(step.column);
            marks.push(mark(kind, Spot { file: step.file.clone(), line: step.line, column }));
        }
        marks.extend(leak.map(|spot| mark(MarkKind::Leak, spot)));
        Warning { finding, marks, notes: Vec::new() }
    }

    /// Where the warned objects are said to leak.
    pub fn leak(&self) -> Option<Spot> {
        let marked = self.marks.iter().rev().find(|mark| mark.kind == MarkKind::Leak);
        marked.map(|mark| mark.spot.clone()).or_else(|| leak_of(&self.finding))
    }

    /// Where the warned objects are allocated: any call of the stack that the
    /// warning knows, the most telling first.
    pub fn allocation(&self) -> Option<Spot> {
        let marked = self.marks.iter().find(|mark| mark.kind == MarkKind::Allocation);
        marked.map(|mark| mark.spot.clone()).or_else(|| spot(&self.finding.allocated))
    }
}

fn place(spot: &Spot) -> Place {
    Place::new(vec![Frame {
        file: Some(spot.file.clone()),
        line: Some(spot.line),
        column: spot.column,
        ..Frame::default()
    }])
}

/// The innermost frame of the user's with a line.
/// Where a finding says that objects leak. Of a warning, in the function that
/// knows of the object: further in, others may come by too.
fn leak_of(finding: &Finding) -> Option<Spot> {
    let leaked = finding.leaked.as_ref()?;
    let outermost = leaked.stack.last().filter(|_| finding.kind == Kind::Warning);
    outermost.and_then(spot_of).or_else(|| spot(leaked))
}

fn spot(place: &Place) -> Option<Spot> {
    place.stack.iter().filter(|frame| !frame.system).find_map(spot_of)
}

fn spot_of(frame: &Frame) -> Option<Spot> {
    Some(Spot { file: frame.file.clone()?, line: frame.line?, column: frame.column })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_named_without_its_folders() {
        let check = |named: &str, path: &str, expected| assert_eq!(Spot::new(named, 1).is_in(path), expected);
        check("a.c", "/src/a.c", true);
        check("./a.c", "/src/a.c", true);
        check("src/a.c", "/home/src/a.c", true);
        check("/home/src/a.c", "src/a.c", true);
        check("a.c", "/src/ba.c", false);
        check("lib/a.c", "/src/a.c", false);
    }
}
