//! A Debian package that is built and captured once, and the compile commands
//! of the units in its program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::Bench;
use crate::variants::{AUTOTOOLS, copy_tree, run_logged, without_our_environment};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    pub name: String,
    pub package: String,
    pub program: PathBuf,
    configure: String,
    make: String,
    pub change: Change,
}

/// An edit of one function.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    file: PathBuf,
    find: String,
    put: String,
}

/// A source file of the program and how the build compiled it.
pub struct Unit {
    pub source: PathBuf,
    pub folder: PathBuf,
    pub arguments: Vec<String>,
    pub lines: usize,
}

/// A package's captured build.
pub struct Captured<'a> {
    bench: &'a Bench,
    pub package: &'a Package,
    pub tree: PathBuf,
    pub units: Vec<Unit>,
}

/// Notes the folder and arguments of each compile, then compiles.
const NOTING_COMPILER: &str = "#!/bin/sh\n\
    { pwd; printf '%s\\n' \"$@\"; } > \"$BENCH_COMMANDS/$$\"\n\
    exec gcc \"$@\"\n";

impl Package {
    /// Builds the package under `leakscope build`, unless that was done with
    /// this leakscope.
    pub fn captured<'a>(&'a self, bench: &'a Bench, source: &Path) -> Result<Captured<'a>> {
        let tree = bench.cache.join("build/check").join(&self.name);
        let stamp = tree.with_extension("stamp");
        let made_of = format!("{self:?} {:016x}", bench.leakscope_digest);
        let mut captured = Captured { bench, package: self, tree, units: Vec::new() };
        if !fs::read_to_string(&stamp).is_ok_and(|kept| kept == made_of) {
            eprintln!("{}: building", self.name);
            let _ = fs::remove_file(&stamp);
            copy_tree(source, &captured.tree)?;
            let commands = captured.commands();
            let _ = fs::remove_dir_all(&commands);
            fs::create_dir_all(&commands)?;
            captured.build(&format!("{} && {}", self.configure, self.make))?;
            fs::write(&stamp, made_of)?;
        }
        captured.units = captured.units()?;
        Ok(captured)
    }
}

impl Captured<'_> {
    pub fn program(&self) -> PathBuf {
        self.tree.join(&self.package.program)
    }

    pub fn lines(&self) -> usize {
        self.units.iter().map(|unit| unit.lines).sum()
    }

    /// Where a capture lies; `leakscope build` puts it beside the program.
    pub fn store(&self) -> PathBuf {
        self.tree.join(".leakscope")
    }

    fn commands(&self) -> PathBuf {
        self.tree.with_extension("commands")
    }

    /// Edits one function, or takes that back, and captures again.
    pub fn rebuild(&self, edit: Edit) -> Result<()> {
        let Change { file, find, put } = &self.package.change;
        let file = self.tree.join(file);
        let (from, to) = match edit {
            Edit::Made => (find, put),
            Edit::TakenBack => (put, find),
        };
        let text = fs::read_to_string(&file).with_context(|| format!("no {} to change", file.display()))?;
        ensure!(text.matches(from.as_str()).count() == 1, "{}: not once there: {from:?}", file.display());
        fs::write(&file, text.replace(from, to))?;
        self.build(&self.package.make)
    }

    fn build(&self, script: &str) -> Result<()> {
        let compiler = self.bench.cache.join("noting-cc");
        fs::write(&compiler, NOTING_COMPILER)?;
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755))?;
        let mut command = Command::new(&self.bench.leakscope);
        without_our_environment(command.args(["build", "--", "sh", "-c", script]))
            .current_dir(&self.tree)
            .env("CC", compiler)
            .env("CFLAGS", "-O2 -g")
            .env("BENCH_COMMANDS", self.commands())
            .envs(AUTOTOOLS.map(|tool| (tool, "true")));
        run_logged(&mut command, &self.tree.with_extension("log"))
            .with_context(|| format!("build of {} failed", self.package.name))
    }

    /// The units that `leakscope inspect` names, in archives too, with their commands.
    fn units(&self) -> Result<Vec<Unit>> {
        let mut commands: BTreeMap<PathBuf, (PathBuf, Vec<String>)> = BTreeMap::new();
        for entry in fs::read_dir(self.commands())? {
            let Some((sources, folder, arguments)) = compiled(&fs::read_to_string(entry?.path())?) else {
                continue;
            };
            for source in sources {
                commands.insert(source, (folder.clone(), arguments.clone()));
            }
        }
        let output = Command::new(&self.bench.leakscope)
            .arg("inspect")
            .arg(self.program())
            .current_dir(&self.tree)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let sources =
            text.lines().filter_map(|line| line.strip_prefix("  ")?.trim_start().split(" (").next());
        let mut units = Vec::new();
        for source in sources.map(PathBuf::from) {
            let Some((folder, arguments)) = commands.get(&source).cloned() else { continue };
            let lines = fs::read(&source)?.split(|byte| *byte == b'\n').count() - 1;
            units.push(Unit { source, folder, arguments, lines });
        }
        ensure!(!units.is_empty(), "{} has no units of known commands", self.program().display());
        Ok(units)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Edit {
    Made,
    TakenBack,
}

/// The sources that a noted command compiles, its folder and its arguments.
fn compiled(noted: &str) -> Option<(Vec<PathBuf>, PathBuf, Vec<String>)> {
    let mut lines = noted.lines().map(str::to_owned);
    let folder = PathBuf::from(lines.next()?);
    let arguments: Vec<String> = lines.collect();
    let is_source = |argument: &&String| [".c", ".cc", ".cpp"].iter().any(|end| argument.ends_with(end));
    let sources = arguments.iter().filter(is_source);
    // What configure tried is gone.
    let sources = sources.filter_map(|source| folder.join(source).canonicalize().ok()).collect();
    Some((sources, folder, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        fs::write(folder.join("a.c"), "").unwrap();
        fs::write(folder.join("b.c"), "").unwrap();
        let (sources, ..) = compiled(&format!("{}\n{arguments}\n", folder.display())).unwrap();
        let expected: Vec<PathBuf> = expected.iter().map(|name| folder.join(name)).collect();
        assert_eq!(sources, expected, "{arguments}");
    }

    #[test]
    fn compiles_are_told_from_links_and_probes() {
        check("-c\n-o\na.o\na.c", &["a.c"]);
        check("-o\na\na.c\nb.c", &["a.c", "b.c"]);
        check("-c\nconftest.c", &[]);
        check("-o\na\na.o", &[]);
    }
}
