//! The variants of a program: by gcc, by clang, with LeakSanitizer, and
//! captured and derived by leakscope. Each has its own copy of the sources.
//!
//! `bench/NAME/build.sh` runs in that copy and takes the compiler and flags
//! from CC, CXX, CFLAGS, CXXFLAGS and LDFLAGS.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};

use crate::programs::Program;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    Clang,
    Gcc,
    Leakscope,
    Lsan,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Variant::Clang => "clang",
            Variant::Gcc => "gcc",
            Variant::Leakscope => "leakscope",
            Variant::Lsan => "lsan",
        }
    }

    /// C compiler, C++ compiler, compile flags, link flags. What leakscope
    /// captures is the build by gcc.
    fn compiler(self) -> [(&'static str, &'static str); 5] {
        let (cc, cxx, compile, link) = match self {
            // Memcheck reads this program too, and not all of clang's DWARF 5.
            Variant::Clang => ("clang-19", "clang++-19", "-O2 -g -gdwarf-4", ""),
            Variant::Gcc | Variant::Leakscope => ("gcc", "g++", "-O2 -g", ""),
            Variant::Lsan => (
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
    pub data: &'a Path,
    pub cache: &'a Path,
    /// The source tree of each package.
    pub fetched: &'a BTreeMap<String, PathBuf>,
    pub leakscope: PathBuf,
}

/// The folder in which a variant is built.
pub fn tree(cache: &Path, variant: Variant, program: &Program) -> PathBuf {
    cache.join("build").join(variant.name()).join(&program.name)
}

impl Builder<'_> {
    /// The executable of this variant. A build is kept for as long as its
    /// sources, script and flags stay the same; leakscope's own is made anew each
    /// time, as leakscope changes.
    pub fn build(&self, program: &Program, variant: Variant) -> Result<PathBuf> {
        let tree = tree(self.cache, variant, program);
        let binary = tree.join(&program.program);
        let stamp = tree.with_extension("stamp");
        let log = tree.with_extension("log");
        let script = self.data.join(&program.name).join("build.sh");
        let (source, made_of) = self.source(program, variant, &script)?;
        let is_current = fs::read_to_string(&stamp).is_ok_and(|kept| kept == made_of) && binary.is_file();
        if variant != Variant::Leakscope && is_current {
            return Ok(binary);
        }

        let _ = fs::remove_file(&stamp);
        let _ = fs::remove_dir_all(&tree);
        fs::create_dir_all(tree.parent().unwrap_or(&tree))?;
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let in_tree = |command: &mut Command| -> Result<()> {
            let status = prepared(command, variant)
                .current_dir(&tree)
                .stdout(output.try_clone()?)
                .stderr(output.try_clone()?)
                .status()?;
            ensure!(
                status.success(),
                "{} build of {} failed: {}",
                variant.name(),
                program.name,
                last_line(&log)
            );
            Ok(())
        };
        let copied = Command::new("cp").arg("-a").arg(&source).arg(&tree).status()?;
        ensure!(copied.success(), "cannot copy {} to {}", source.display(), tree.display());

        if variant == Variant::Leakscope {
            let derived = tree.with_extension("derived");
            let _ = fs::remove_file(&derived);
            in_tree(Command::new(&self.leakscope).args(["build", "--", "sh"]).arg(&script))?;
            let mut derive = Command::new(&self.leakscope);
            in_tree(derive.arg("derive").arg(&binary).args(["--engine", "track", "-o"]).arg(&derived))?;
            ensure!(derived.is_file(), "leakscope derive of {} made no program", program.name);
            return Ok(derived);
        }
        in_tree(Command::new("sh").arg(&script))?;
        ensure!(
            binary.is_file(),
            "{} build of {} made no {}",
            variant.name(),
            program.name,
            program.program.display()
        );
        fs::write(&stamp, made_of)?;
        Ok(binary)
    }

    /// The program's source folder, and all that a change of which means a new
    /// build: the package's version, or our own source, the build script and
    /// the flags.
    fn source(&self, program: &Program, variant: Variant, script: &Path) -> Result<(PathBuf, String)> {
        let (source, text) = match &program.package {
            Some(package) => {
                let source = self.fetched[package].clone();
                let changelog = source.join("debian/changelog");
                (source, changelog)
            }
            None => {
                let source = self.data.join(&program.name);
                let text = source.join(&program.program).with_extension("c");
                (source, text)
            }
        };
        let mut made_of = format!("{:?}\n", variant.compiler());
        made_of +=
            &fs::read_to_string(script).with_context(|| format!("cannot read {}", script.display()))?;
        made_of += &fs::read_to_string(&text).with_context(|| format!("cannot read {}", text.display()))?;
        Ok((source, made_of))
    }
}

/// The command with the variant's compiler and nothing of our own
/// environment that a build could stumble over, as a surrounding make's flags.
fn prepared(command: &mut Command, variant: Variant) -> &mut Command {
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    for name in ["MAKELEVEL", "LD_LIBRARY_PATH", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
        .envs(variant.compiler())
        .env("MAKEFLAGS", format!("-j{jobs}"))
        // A program that a build runs on the way may leak.
        .env("LSAN_OPTIONS", "detect_leaks=0")
}

/// The last words of a failed build, and where the rest is.
fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    format!("{} (see {})", line.trim(), log.display())
}
