//! Reports: one set of findings as terminal text, JSON or SARIF; live blocks as
//! pprof profiles, folded stacks, metrics and differences.
//!
//! Every function here is pure: it gets a [`Report`] and returns text. Which
//! engine found what is not known here, and no file is read; the text of
//! source files comes through [`Sources`].

mod fault;
mod gcc;
mod hint;
mod live;
mod paths;
pub mod pprof;
mod released;
mod sarif;
mod scope;
mod snippet;
mod stack;
mod statement;
mod suggest;
mod table;
mod text;
mod tree;
mod verdicts;
mod way;
mod wording;

use leakscope_core::{Place, Report};

pub use gcc::gcc;
pub use live::{Change, Measure, Progress, changes, changes_text, folded, metrics};
pub use sarif::sarif;
pub use snippet::Sources;
pub use table::{TableOptions, table};
pub use text::{TextOptions, text};

/// A place in one line: `make_node (/src/list.c:12)`.
pub fn place(place: &Place) -> String {
    place.headline().map_or_else(|| "unknown code".to_owned(), |frame| wording::frame(frame, None))
}

/// The report in its own schema, `leakscope-findings/1`.
pub fn json(report: &Report) -> String {
    let mut json = serde_json::to_string_pretty(report).expect("a report has only string keys");
    json.push('\n');
    json
}
