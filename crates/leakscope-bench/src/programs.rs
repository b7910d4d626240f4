//! The list of programs, `bench/programs.json`, and the workload that each
//! one gets.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Full,
    Quick,
}

/// One program. `{bench}` and `{scale}` in its arguments stand for the data
/// folder and for the workload's size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub name: String,
    /// The Debian source package; without one, the sources are in
    /// `bench/NAME`, and the program is not counted as a real one.
    pub package: Option<String>,
    /// Where the build leaves the executable.
    pub program: PathBuf,
    about: String,
    arguments: Vec<String>,
    /// An argument that is given as often as the scale says.
    repeated: Option<String>,
    pub input: Option<Input>,
    /// The name that the input gets in the working folder; standard input
    /// without one.
    pub input_as: Option<PathBuf>,
    /// Files in the working folder that must be as the native program's.
    #[serde(default)]
    writes: Vec<PathBuf>,
    scale: Scale,
}

/// What an input is generated as; the scale is its size in megabytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    full: u64,
    quick: u64,
}

/// A program's arguments, standard input and further outputs.
#[derive(Debug)]
pub struct Workload {
    pub arguments: Vec<String>,
    pub stdin: Option<PathBuf>,
    pub writes: Vec<PathBuf>,
}

impl Program {
    pub fn scale(&self, size: Size) -> u64 {
        match size {
            Size::Full => self.scale.full,
            Size::Quick => self.scale.quick,
        }
    }

    pub fn about(&self, size: Size) -> String {
        self.about.replace("{scale}", &self.scale(size).to_string())
    }

    pub fn workload(&self, size: Size, data: &Path, stdin: &Option<PathBuf>) -> Workload {
        let scale = self.scale(size);
        let filled = |argument: &String| {
            argument.replace("{bench}", &data.to_string_lossy()).replace("{scale}", &scale.to_string())
        };
        let repeated = self.repeated.iter().flat_map(|argument| (0..scale).map(move |_| argument.clone()));
        Workload {
            arguments: self.arguments.iter().map(filled).chain(repeated).collect(),
            stdin: stdin.clone(),
            writes: self.writes.clone(),
        }
    }
}

/// The programs of the list with these names, or all of them.
pub fn chosen(list: &Path, names: &[String]) -> Result<Vec<Program>> {
    let text = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let programs: Vec<Program> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a list of programs", list.display()))?;
    for name in names {
        if !programs.iter().any(|program| program.name == *name) {
            let known: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
            bail!("no program `{name}`; there are {}", known.join(", "));
        }
    }
    Ok(programs.into_iter().filter(|program| names.is_empty() || names.contains(&program.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench")
    }

    #[test]
    fn the_list_is_complete() {
        let programs = chosen(&data().join("programs.json"), &[]).unwrap();
        assert!(programs.iter().filter(|program| program.package.is_some()).count() >= 5);
        for program in programs {
            assert!(
                data().join(&program.name).join("build.sh").is_file(),
                "{} has no build.sh",
                program.name
            );
        }
    }

    fn check(fields: &str, arguments: &[&str]) {
        let json = format!(
            r#"{{"name": "p", "program": "p", "about": "", "scale": {{"full": 3, "quick": 1}}, {fields}}}"#
        );
        let program: Program = serde_json::from_str(&json).unwrap();
        assert_eq!(program.workload(Size::Full, Path::new("/b"), &None).arguments, arguments);
    }

    #[test]
    fn arguments_are_filled_in() {
        check(r#""arguments": ["{bench}/x", "-n{scale}"]"#, &["/b/x", "-n3"]);
        check(r#""arguments": ["-c"], "repeated": "a.c""#, &["-c", "a.c", "a.c", "a.c"]);
    }

    #[test]
    fn an_unknown_program_is_named_with_those_known() {
        let error = chosen(&data().join("programs.json"), &["nothing".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("no program `nothing`; there are lua, "), "{error}");
    }
}
