//! Programs with injected leaks, captured, and what is true of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::Bench;
use crate::sources;
use crate::variants::{AUTOTOOLS, copy_tree, run_logged, without_our_environment};

/// Sources that several programs are built from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    pub name: String,
    /// The Debian source package; without one, the sources are in `bench/NAME`.
    package: Option<String>,
    /// What is done once, before any program is built.
    prepare: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub name: String,
    pub project: String,
    /// The file that gets the leaks.
    source: PathBuf,
    make: String,
    program: PathBuf,
    /// How many blocks are put in, for leaks, true and false ones.
    blocks: usize,
    /// How many of the program's own frees are taken out.
    #[serde(default)]
    frees: usize,
    /// Whether the cost of following objects is measured with it.
    #[serde(default)]
    pub tracking: bool,
}

/// A captured program with leaks in it.
pub struct Injected {
    pub tree: PathBuf,
    pub program: PathBuf,
    pub warnings: PathBuf,
    /// The name of the file with the leaks.
    pub source: String,
    /// The line of each allocation, and the verdict that it should get.
    pub truth: Vec<(u64, String)>,
    /// Of the source as it was.
    pub lines: usize,
}

impl Project {
    pub fn injected(&self, bench: &Bench, program: &Program, seed: u64) -> Result<Injected> {
        let tree = self.prepared(bench)?;
        let source = tree.join(&program.source);
        let plain = tree.with_extension(format!("{}.plain", program.name));
        if !plain.is_file() {
            fs::copy(&source, &plain).with_context(|| format!("no {}", source.display()))?;
        }
        let folder = tree.with_extension(format!("{}.injected", program.name));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let name = source.file_name().context("a source without a name")?;
        fs::copy(&plain, folder.join(name))?;
        let mut inject = Command::new("cargo");
        inject.args(["xtask", "inject"]).arg(folder.join(name)).arg("-o").arg(&folder);
        inject.args(["--count", &program.blocks.to_string(), "--frees", &program.frees.to_string()]);
        inject.args(["--seed", &seed.to_string()]);
        run_logged(inject.current_dir(&bench.data), &folder.with_extension("log"))
            .context("cargo xtask inject")?;
        fs::copy(folder.join(name), &source)?;
        let built = self.run(bench, &tree, &program.make);
        // The next program of the project has its own leaks only.
        fs::copy(&plain, &source)?;
        built.with_context(|| format!("build of {} failed", program.name))?;
        Ok(Injected {
            program: tree.join(&program.program),
            warnings: folder.join("warnings"),
            source: name.to_string_lossy().into_owned(),
            truth: truth(&fs::read_to_string(folder.join("truth"))?)?,
            lines: fs::read_to_string(&plain)?.lines().count(),
            tree,
        })
    }

    /// The project's tree, prepared once for this leakscope.
    fn prepared(&self, bench: &Bench) -> Result<PathBuf> {
        let tree = bench.cache.join("build/validate").join(&self.name);
        let stamp = tree.with_extension("stamp");
        let made_of = format!("{self:?} {:016x}", bench.leakscope_digest);
        if fs::read_to_string(&stamp).is_ok_and(|kept| kept == made_of) {
            return Ok(tree);
        }
        eprintln!("{}: preparing", self.name);
        let source = match &self.package {
            Some(package) => sources::fetch(&[package], &bench.cache)?.remove(package),
            None => Some(bench.data.join(&self.name)),
        };
        copy_tree(&source.with_context(|| format!("no sources of {}", self.name))?, &tree)?;
        self.run(bench, &tree, &self.prepare).with_context(|| format!("{} cannot be prepared", self.name))?;
        fs::write(&stamp, made_of)?;
        Ok(tree)
    }

    /// A part of the build, captured.
    fn run(&self, bench: &Bench, tree: &Path, script: &str) -> Result<()> {
        let mut command = Command::new(&bench.leakscope);
        without_our_environment(command.args(["build", "--", "sh", "-c", script]))
            .current_dir(tree)
            .envs([("CC", "gcc"), ("CFLAGS", "-O2 -g")])
            .envs(AUTOTOOLS.map(|tool| (tool, "true")));
        run_logged(&mut command, &tree.with_extension("log"))
    }
}

fn truth(text: &str) -> Result<Vec<(u64, String)>> {
    let entry = |line: &str| -> Result<(u64, String)> {
        let (line, verdict) = line.split_once('\t').context("a truth without a verdict")?;
        Ok((line.parse()?, verdict.to_owned()))
    };
    let truth = text.lines().map(entry).collect::<Result<Vec<_>>>()?;
    ensure!(!truth.is_empty(), "nothing was injected");
    Ok(truth)
}
