//! The variants of a program: by gcc, by clang, with LeakSanitizer, derived by
//! leakscope, and as Debian ships it. Each build has its own copy of the
//! sources.
//!
//! `bench/NAME/build.sh` runs in that copy and takes the compiler and flags
//! from CC, CXX, CFLAGS, CXXFLAGS and LDFLAGS.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::Bench;
use crate::programs::Program;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    Clang,
    Gcc,
    Lsan,
    /// Derived by leakscope for `run`.
    Track,
    /// The same for its mode `minimal`.
    Minimal,
    /// Derived by leakscope for `watch`.
    Sample,
    /// The same without debug information.
    BareSample,
    /// The installed one, or where there is none, the one by gcc.
    Debian,
}

/// How a copy of the sources is built.
#[derive(Clone, Copy, Debug)]
enum Build {
    Clang,
    Gcc,
    Lsan,
    /// By gcc, captured by leakscope.
    Captured,
}

impl Build {
    fn name(self) -> &'static str {
        match self {
            Build::Clang => "clang",
            Build::Gcc => "gcc",
            Build::Lsan => "lsan",
            Build::Captured => "leakscope",
        }
    }

    /// C compiler, C++ compiler, compile flags, link flags.
    fn compiler(self) -> [(&'static str, &'static str); 5] {
        let (cc, cxx, compile, link) = match self {
            // Memcheck reads this program too, and not all of clang's DWARF 5.
            Build::Clang => ("clang-19", "clang++-19", "-O2 -g -gdwarf-4", ""),
            Build::Gcc | Build::Captured => ("gcc", "g++", "-O2 -g", ""),
            Build::Lsan => (
                "clang-19",
                "clang++-19",
                // Frame pointers, as its unwinder walks them.
                "-O2 -g -fno-omit-frame-pointer -fsanitize=leak",
                "-fsanitize=leak",
            ),
        };
        [("CC", cc), ("CXX", cxx), ("CFLAGS", compile), ("CXXFLAGS", compile), ("LDFLAGS", link)]
    }
}

pub struct Builder<'a> {
    bench: &'a Bench,
    /// The source tree of each package.
    fetched: &'a BTreeMap<String, PathBuf>,
}

impl Builder<'_> {
    pub fn new<'a>(bench: &'a Bench, fetched: &'a BTreeMap<String, PathBuf>) -> Builder<'a> {
        Builder { bench, fetched }
    }

    /// Where the program runs, whichever variant it is: some read their own sources.
    pub fn working_folder(&self, program: &Program) -> PathBuf {
        self.tree(program, Build::Clang)
    }

    fn tree(&self, program: &Program, build: Build) -> PathBuf {
        self.bench.cache.join("build").join(build.name()).join(&program.name)
    }

    /// The executable of this variant.
    pub fn build(&self, program: &Program, variant: Variant) -> Result<PathBuf> {
        match variant {
            Variant::Clang => self.built(program, Build::Clang),
            Variant::Gcc => self.built(program, Build::Gcc),
            Variant::Lsan => self.built(program, Build::Lsan),
            Variant::Track => self.derived(program, "track"),
            Variant::Minimal => self.derived(program, "minimal"),
            Variant::Sample => self.derived(program, "sample"),
            Variant::BareSample => {
                let derived = self.derived(program, "sample")?;
                let bare = derived.with_extension("bare");
                let stripped =
                    Command::new("strip").arg("--strip-debug").arg(&derived).arg("-o").arg(&bare).status()?;
                ensure!(stripped.success(), "cannot strip {}", derived.display());
                Ok(bare)
            }
            Variant::Debian => match program.installed.as_ref().filter(|file| file.is_file()) {
                Some(installed) => Ok(installed.clone()),
                None => self.built(program, Build::Gcc),
            },
        }
    }

    /// Derived each time: leakscope knows by itself what is current.
    fn derived(&self, program: &Program, engine: &str) -> Result<PathBuf> {
        let captured = self.built(program, Build::Captured)?;
        let tree = self.tree(program, Build::Captured);
        let derived = tree.with_extension(engine);
        let mut derive = Command::new(&self.bench.leakscope);
        derive.args(["derive", "--quiet", "--engine", engine]).arg(&captured).arg("-o").arg(&derived);
        let log = tree.with_extension(format!("{engine}.log"));
        run_logged(derive.current_dir(&tree), &log)
            .with_context(|| format!("leakscope cannot derive {} for {engine}", program.name))?;
        Ok(derived)
    }

    /// A build is kept for as long as its sources, script and flags stay the
    /// same, and leakscope's while leakscope does.
    fn built(&self, program: &Program, build: Build) -> Result<PathBuf> {
        let tree = self.tree(program, build);
        let binary = tree.join(&program.program);
        let stamp = tree.with_extension("stamp");
        let script = self.bench.data.join(&program.name).join("build.sh");
        let (source, made_of) = self.source(program, build, &script)?;
        if fs::read_to_string(&stamp).is_ok_and(|kept| kept == made_of) && binary.is_file() {
            return Ok(binary);
        }

        eprintln!("{}: building by {}", program.name, build.name());
        let _ = fs::remove_file(&stamp);
        copy_tree(&source, &tree)?;
        let mut command = match build {
            Build::Captured => Command::new(&self.bench.leakscope),
            _ => Command::new("sh"),
        };
        if let Build::Captured = build {
            command.args(["build", "--", "sh"]);
        }
        without_our_environment(command.arg(&script)).envs(build.compiler()).current_dir(&tree);
        run_logged(&mut command, &tree.with_extension("log"))
            .with_context(|| format!("{} build of {} failed", build.name(), program.name))?;
        ensure!(
            binary.is_file(),
            "{} build of {} made no {}",
            build.name(),
            program.name,
            program.program.display()
        );
        fs::write(&stamp, made_of)?;
        Ok(binary)
    }

    /// The program's source folder, and all that a change of which means a new
    /// build: the package's version, or our own source, the build script, the
    /// flags, and leakscope for what it captured.
    fn source(&self, program: &Program, build: Build, script: &Path) -> Result<(PathBuf, String)> {
        let (source, text) = match &program.package {
            Some(package) => {
                let source = self.fetched[package].clone();
                let changelog = source.join("debian/changelog");
                (source, changelog)
            }
            None => {
                let source = self.bench.data.join(&program.name);
                let text = source.join(&program.program).with_extension("c");
                (source, text)
            }
        };
        let mut made_of = format!("{:?}\n", build.compiler());
        if let Build::Captured = build {
            made_of += &format!("leakscope {:016x}\n", self.bench.leakscope_digest);
        }
        for file in [script, &text] {
            made_of +=
                &fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        }
        Ok((source, made_of))
    }
}

/// What would renew an automake package's generated files, which Debian's
/// patches make look old.
pub const AUTOTOOLS: [&str; 5] = ["ACLOCAL", "AUTOCONF", "AUTOMAKE", "AUTOHEADER", "MAKEINFO"];

/// A fresh copy of a folder.
pub fn copy_tree(source: &Path, tree: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(tree);
    fs::create_dir_all(tree.parent().unwrap_or(tree))?;
    let copied = Command::new("cp").arg("-a").arg(source).arg(tree).status()?;
    ensure!(copied.success(), "cannot copy {} to {}", source.display(), tree.display());
    Ok(())
}

/// The command with nothing of our own environment that a build could stumble
/// over, as a surrounding make's flags.
pub fn without_our_environment(command: &mut Command) -> &mut Command {
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    for name in ["MAKELEVEL", "LD_LIBRARY_PATH", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
        .env("MAKEFLAGS", format!("-j{jobs}"))
        // A program that a build runs on the way may leak.
        .env("LSAN_OPTIONS", "detect_leaks=0")
}

/// Runs a command whose words go to a log. The error has the last of them.
pub fn run_logged(command: &mut Command, log: &Path) -> Result<()> {
    let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let status = command.stdout(output.try_clone()?).stderr(output).status()?;
    ensure!(status.success(), "{}", last_line(log));
    Ok(())
}

fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    format!("{} (see {})", line.trim(), log.display())
}
