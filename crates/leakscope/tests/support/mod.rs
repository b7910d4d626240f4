//! What the integration tests share.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The command under test, with a cache of the tests' own.
pub fn leakscope() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leakscope"));
    command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}

/// A file of the project.
pub fn project_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the project's folder")
        .join(path)
}

pub fn wait_with_input(command: &mut Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    // A program need not read its input.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub blocks: u64,
    pub bytes: u64,
}

/// Blocks and bytes by kind (`lost`, `indirect`, `forgotten`) and place
/// (`file.c:12`).
#[derive(Debug, Default)]
pub struct Lines {
    found: BTreeMap<(String, String), Tally>,
}

impl Lines {
    pub fn add(&mut self, kind: &str, place: &str, tally: Tally) {
        let sum = self.found.entry((place.to_owned(), kind.to_owned())).or_default();
        sum.blocks += tally.blocks;
        sum.bytes += tally.bytes;
    }

    /// The findings of a report in JSON.
    pub fn of_report(json: &Value, with_places: bool) -> Lines {
        let mut lines = Lines::default();
        for finding in json["findings"].as_array().expect("findings") {
            let kind = match finding["kind"].as_str().expect("a kind") {
                "lost" if !finding["via"].as_array().expect("via").is_empty() => "indirect",
                kind => kind,
            };
            let place = if with_places { first_frame(&finding["allocated"]) } else { String::new() };
            let number = |name: &str| finding[name].as_u64().expect("a number");
            lines.add(kind, &place, Tally { blocks: number("blocks"), bytes: number("bytes") });
        }
        lines
    }

    pub fn lost_anything(&self) -> bool {
        self.found.keys().any(|(_, kind)| kind != "forgotten")
    }

    /// How these findings differ from the expected ones. `may_forget` says of
    /// which lines forgotten blocks are of no interest.
    pub fn differences(&self, expected: &Lines, may_forget: impl Fn(&str) -> bool) -> Vec<String> {
        let mut differences = Vec::new();
        let places = self.found.keys().chain(expected.found.keys()).map(|(place, _)| place.clone());
        for place in places.collect::<std::collections::BTreeSet<_>>() {
            let get = |lines: &Lines, kind: &str| {
                lines.found.get(&(place.clone(), kind.to_owned())).copied().unwrap_or_default()
            };
            let lost = |lines: &Lines| {
                let (direct, indirect) = (get(lines, "lost"), get(lines, "indirect"));
                (direct.blocks + indirect.blocks, direct.bytes + indirect.bytes)
            };
            if lost(self) != lost(expected) {
                differences.push(format!("{place}: lost {:?}, expected {:?}", lost(self), lost(expected)));
            } else if lost(self).0 > 0 {
                // Blocks of one place are one finding, which is indirect only
                // if all of them are.
                let indirect = |lines: &Lines| get(lines, "lost").blocks == 0;
                if indirect(self) != indirect(expected) {
                    differences.push(format!("{place}: only indirect: {}", indirect(self)));
                }
            }
            let (found, wanted) = (get(self, "forgotten"), get(expected, "forgotten"));
            if found != wanted && !(wanted.blocks == 0 && may_forget(&place)) {
                differences.push(format!("{place}: forgotten {found:?}, expected {wanted:?}"));
            }
        }
        differences
    }
}

/// `file.c:12` of a place's first frame.
pub fn first_frame(place: &Value) -> String {
    let frame = &place["stack"][0];
    let file = frame["file"].as_str().unwrap_or("?").rsplit('/').next().unwrap_or("?").to_owned();
    format!("{file}:{}", frame["line"])
}
