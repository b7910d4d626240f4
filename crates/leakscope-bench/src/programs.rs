//! The list of programs, `bench/programs.toml`, and the workload that each
//! one gets.

use std::iter;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::data;

/// How much work a program gets: a share of what it gets in full, or just
/// enough to try the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    Full,
    Half,
    Quarter,
    Eighth,
    Quick,
}

impl Size {
    /// Half as much work, where there is a name for it.
    pub fn halved(self) -> Option<Size> {
        match self {
            Size::Full => Some(Size::Half),
            Size::Half => Some(Size::Quarter),
            Size::Quarter => Some(Size::Eighth),
            Size::Eighth | Size::Quick => None,
        }
    }
}

/// What a workload is made for.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub size: Size,
    /// For programs that take a number of threads.
    pub threads: u32,
}

impl From<Size> for Load {
    fn from(size: Size) -> Load {
        Load { size, threads: 2 }
    }
}

/// One program. `{bench}`, `{scale}` and `{threads}` in its arguments stand for
/// the data folder, the workload's size and the number of threads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub name: String,
    /// The Debian source package; without one, the sources are in
    /// `bench/NAME`, and the program is not counted as a real one.
    pub package: Option<String>,
    /// Where the build leaves the executable.
    pub program: PathBuf,
    /// The executable as Debian ships it, where it does.
    pub installed: Option<PathBuf>,
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
            Size::Half => self.scale.full / 2,
            Size::Quarter => self.scale.full / 4,
            Size::Eighth => self.scale.full / 8,
            Size::Quick => self.scale.quick,
        }
    }

    pub fn about(&self, load: Load) -> String {
        self.sized(&self.about, load)
    }

    pub fn workload(&self, load: Load, data: &Path, stdin: Option<PathBuf>) -> Workload {
        let times = self.scale(load.size) as usize;
        let repeated = self.repeated.iter().flat_map(|argument| iter::repeat_n(argument.clone(), times));
        Workload {
            arguments: self.filled(&self.arguments, load, data).into_iter().chain(repeated).collect(),
            stdin,
            writes: self.writes.clone(),
        }
    }

    /// Arguments, its own or others in their place; names in braces are filled in.
    pub fn filled(&self, arguments: &[String], load: Load, data: &Path) -> Vec<String> {
        let filled =
            |argument: &String| self.sized(argument, load).replace("{bench}", &data.to_string_lossy());
        arguments.iter().map(filled).collect()
    }

    fn sized(&self, text: &str, load: Load) -> String {
        text.replace("{scale}", &self.scale(load.size).to_string())
            .replace("{threads}", &load.threads.to_string())
    }
}

/// The programs of `bench/programs.toml` with these names, or all of them.
pub fn chosen(data: &Path, names: &[String]) -> Result<Vec<Program>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct List {
        program: Vec<Program>,
    }
    let programs = data::read::<List>(&data.join("programs.toml"))?.program;
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

    #[test]
    fn the_list_is_complete() {
        let programs = chosen(data::folder(), &[]).unwrap();
        assert!(programs.iter().filter(|program| program.package.is_some()).count() >= 5);
        for program in programs {
            assert!(
                data::folder().join(&program.name).join("build.sh").is_file(),
                "{} has no build.sh",
                program.name
            );
        }
    }

    fn check(fields: &str, arguments: &[&str]) {
        let text =
            format!("name = 'p'\nprogram = 'p'\nabout = ''\nscale = {{ full = 3, quick = 1 }}\n{fields}");
        let program: Program = toml::from_str(&text).unwrap();
        let load = Load { size: Size::Full, threads: 4 };
        assert_eq!(program.workload(load, Path::new("/b"), None).arguments, arguments);
    }

    #[test]
    fn arguments_are_filled_in() {
        check("arguments = ['{bench}/x', '-n{scale}', '{threads}']", &["/b/x", "-n3", "4"]);
        check("arguments = ['-c']\nrepeated = 'a.c'", &["-c", "a.c", "a.c", "a.c"]);
    }

    #[test]
    fn an_unknown_program_is_named_with_those_known() {
        let error = chosen(data::folder(), &["nothing".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("no program `nothing`; there are lua, "), "{error}");
    }
}
