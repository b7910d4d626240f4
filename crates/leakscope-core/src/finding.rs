//! One leak, or one warning of a leak, with its places.

use serde::{Deserialize, Serialize};

/// What is known about the leaked blocks of one allocation place and one leak
/// place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable over runs and over edits elsewhere; set by [`crate::Report::new`].
    pub id: String,
    pub kind: Kind,
    pub verdict: Option<Verdict>,
    /// How much a warning is to be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// `None` for static warnings, as is `bytes`.
    pub blocks: Option<u64>,
    pub bytes: Option<u64>,
    pub allocated: Place,
    pub leaked: Option<Place>,
    pub last_used: Option<Place>,
    /// The leak point is exact, not only a bound.
    pub exact: bool,
    pub cause: Cause,
    /// What held the last pointer, as the source writes it.
    pub variable: Option<String>,
    /// The next latest places where a pointer to the block died.
    #[serde(default)]
    pub candidates: Vec<Candidate>,
    pub counted: Option<Counted>,
    /// Ids of the lost findings that reach this one.
    #[serde(default)]
    pub via: Vec<String>,
    /// Where blocks of the same allocation place are freed.
    #[serde(default)]
    pub freed_elsewhere: Vec<SiblingFree>,
    #[serde(default)]
    pub path: Vec<PathStep>,
    /// What else an engine knows, by kind: test input, staleness, drag.
    #[serde(default)]
    pub evidence: serde_json::Map<String, serde_json::Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No pointer to the block is left.
    Lost,
    /// Reachable to the end, never freed.
    Forgotten,
    /// Not accessed for long.
    Stale,
    /// Said by an analysis of the source.
    Warning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Allocated and lost in one function, on a short way.
    Sure,
    Likely,
    /// Ways were joined, or nothing is known of a function that got the block.
    Possible,
}

/// What validation says of a warning, in the order in which to fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    MustLeak,
    MayLeak,
    Bloat,
    LikelyNotLeak,
}

/// How the last pointer went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    Overwritten,
    ScopeEnd,
    HolderFreed,
    Discarded,
    Returned,
    /// A jump or an exception left the frame that held it.
    Unwound,
    ThreadEnd,
    /// Of a reference-counted block: a holder gave up without counting down.
    NotReleased,
    Unknown,
}

/// A place in the program: a call stack, innermost frame first. The first
/// frame belongs to the user's program where any does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    pub stack: Vec<Frame>,
    /// What the system called between the first frame of `stack` and the
    /// allocator, innermost first, as `getdelim` and `getline`: for
    /// suppressions, which name such functions too. Lines are not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<Frame>,
}

/// One frame. Without debug information only `module` and `offset` are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// File name of the executable or shared object.
    pub module: Option<String>,
    /// Address relative to the module; only where the line is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Part of the system rather than of the user's program; set by
    /// [`Frame::of_module`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub system: bool,
    /// Seen to hand out or take back blocks for many callers, as `xmalloc`
    /// does: it says nothing of why it was called. Set by the engine that sees
    /// all stacks; see [`Frame::is_wrapper`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrapper: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub place: Place,
    pub cause: Cause,
    pub variable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    pub references: u64,
    pub holders: u64,
    pub field: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiblingFree {
    pub place: Place,
    pub blocks: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Which of the function's branches at this place, in the order of its
    /// blocks.
    #[serde(default)]
    pub ordinal: u32,
    /// Whether the source's condition held; of a `switch`, whether it went to
    /// a `case`.
    pub taken: bool,
    pub function: String,
}

/// A misuse of the heap that stopped the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    /// The pointer that was freed.
    pub address: u64,
    /// Where it was freed wrongly.
    pub place: Place,
    /// Where the block was allocated and, if so, freed before.
    pub allocated: Option<Place>,
    pub freed: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    DoubleFree,
    InvalidFree,
}

impl Place {
    pub fn new(stack: Vec<Frame>) -> Place {
        Place { stack, inner: Vec::new() }
    }
}

impl Finding {
    /// A finding of which only the allocation is known.
    pub fn new(kind: Kind, allocated: Place) -> Finding {
        Finding {
            id: String::new(),
            kind,
            verdict: None,
            confidence: None,
            blocks: None,
            bytes: None,
            allocated,
            leaked: None,
            last_used: None,
            exact: false,
            cause: Cause::Unknown,
            variable: None,
            candidates: Vec::new(),
            counted: None,
            via: Vec::new(),
            freed_elsewhere: Vec::new(),
            path: Vec::new(),
            evidence: serde_json::Map::new(),
        }
    }
}
