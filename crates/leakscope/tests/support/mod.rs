//! What the integration tests share.

#![allow(dead_code, reason = "each test uses a part")]

pub mod groups;

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

impl Tally {
    /// Blocks and bytes of a finding in JSON.
    pub fn of(finding: &Value) -> Tally {
        let number = |name: &str| finding[name].as_u64().expect("a number");
        Tally { blocks: number("blocks"), bytes: number("bytes") }
    }

    pub fn add(&mut self, more: Tally) {
        self.blocks += more.blocks;
        self.bytes += more.bytes;
    }
}

/// Blocks and bytes by kind (`lost`, `indirect`, `forgotten`) and place
/// (`file.c:12`).
#[derive(Debug, Default)]
pub struct Lines {
    found: BTreeMap<(String, String), Tally>,
}

impl Lines {
    pub fn add(&mut self, kind: &str, place: &str, tally: Tally) {
        self.found.entry((place.to_owned(), kind.to_owned())).or_default().add(tally);
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
            lines.add(kind, &place, Tally::of(finding));
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
    frame_place(&place["stack"][0])
}

/// `file.c:12` of a frame.
pub fn frame_place(frame: &Value) -> String {
    let file = frame["file"].as_str().unwrap_or("?").rsplit('/').next().unwrap_or("?").to_owned();
    format!("{file}:{}", frame["line"])
}

/// A folder of a test's own, gone with it.
pub struct Folder {
    path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Folder {
    /// With these files, each a name and a text.
    pub fn with(files: &[(&str, &str)]) -> Folder {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        Folder { path: temporary.path().into(), _temporary: Some(temporary) }.filled(files)
    }

    /// The same for all tests of one program: in the build's folder, where it
    /// stays until the next time.
    pub fn shared(name: &str, files: &[(&str, &str)]) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the build's folder is writable");
        Folder { path, _temporary: None }.filled(files)
    }

    /// A folder that stays.
    pub fn at(path: &Path) -> Folder {
        std::fs::create_dir_all(path).expect("writable");
        Folder { path: path.to_owned(), _temporary: None }
    }

    fn filled(self, files: &[(&str, &str)]) -> Folder {
        for (name, text) in files {
            self.write(name, text);
        }
        self
    }

    /// A file of the folder; `.` is the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        let folder = self.path.canonicalize().expect("the folder is there");
        if name == "." { folder } else { folder.join(name) }
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("writable");
        std::fs::write(path, text).expect("writable");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// `leakscope` in this folder.
    pub fn leakscope<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = leakscope();
        command.current_dir(self.path(".")).args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs `leakscope` in this folder, its arguments split at spaces.
    pub fn run(&self, arguments: &str) -> Ran {
        ran(&mut self.leakscope(arguments.split_whitespace()))
    }

    /// Runs a shell script that must succeed.
    pub fn shell(&self, script: &str) {
        let mut command = Command::new("sh");
        command.current_dir(self.path(".")).args(["-ec", script]).stdin(Stdio::null());
        let ran = ran(&mut command);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
    }

    /// Captures a program of one source, `NAME.c`, compiled with `-g`.
    pub fn capture(&self, name: &str) {
        let ran = self.run(&format!("build --quiet -- cc -g {name}.c -o {name}"));
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Ran {
    /// As a shell shows it: 128 more than the signal that ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The report in JSON: on standard error if a program ran, which has
    /// standard output for itself.
    pub fn json(&self) -> Value {
        let from = |text: &'_ str| text.find("{\n").map(|start| text[start..].to_owned());
        let report = from(&self.stderr).or_else(|| from(&self.stdout)).unwrap_or_default();
        serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What leakscope says beside a report, and nothing else may be there.
    pub fn only_line(&self) -> &str {
        let line = self.stderr.strip_prefix("leakscope: ").and_then(|rest| rest.strip_suffix('\n'));
        line.filter(|line| !line.contains('\n')).unwrap_or_else(|| panic!("more than one line: {self:?}"))
    }
}

pub fn ran(command: &mut Command) -> Ran {
    command.output().map_or_else(|error| panic!("{command:?}: {error}"), |output| Ran::from(&output))
}

impl From<&Output> for Ran {
    fn from(output: &Output) -> Ran {
        use std::os::unix::process::ExitStatusExt;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().or(output.status.signal().map(|signal| 128 + signal));
        Ran { code: code.expect("it ended"), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}
