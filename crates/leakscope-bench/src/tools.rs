//! The tools that are compared, and how each one runs a program.
//!
//! Only the program under the tool is measured: no symbolising afterwards, no
//! rendering, no compression of what was recorded.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::measure::{self, Outcome};
use crate::programs::Workload;
use crate::variants::Variant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Tool {
    /// The program as clang builds it: what all others are compared with.
    Native,
    /// The program as gcc builds it.
    Gcc,
    /// The program that leakscope derives.
    Leakscope,
    /// LeakSanitizer, compiled in.
    Lsan,
    /// leakscope's engine for programs as they are: leak points.
    Valgrind,
    /// The same with last uses.
    ValgrindUses,
    /// Valgrind without any tool's work.
    ValgrindNone,
    /// Valgrind's memcheck.
    Memcheck,
    /// Heaptrack, recording only.
    Heaptrack,
}

impl Tool {
    pub const ALL: [Tool; 9] = [
        Tool::Native,
        Tool::Gcc,
        Tool::Leakscope,
        Tool::Lsan,
        Tool::Valgrind,
        Tool::ValgrindUses,
        Tool::ValgrindNone,
        Tool::Memcheck,
        Tool::Heaptrack,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Tool::Native => "native",
            Tool::Gcc => "gcc",
            Tool::Leakscope => "leakscope",
            Tool::Lsan => "LeakSanitizer",
            Tool::Valgrind => "leakscope valgrind",
            Tool::ValgrindUses => "with last uses",
            Tool::ValgrindNone => "valgrind none",
            Tool::Memcheck => "memcheck",
            Tool::Heaptrack => "heaptrack",
        }
    }

    /// It takes minutes, and the noise is small beside that.
    pub fn is_emulated(self) -> bool {
        matches!(self, Tool::Valgrind | Tool::ValgrindUses | Tool::ValgrindNone | Tool::Memcheck)
    }

    pub fn variant(self) -> Variant {
        match self {
            Tool::Native | Tool::Valgrind | Tool::ValgrindUses | Tool::ValgrindNone => Variant::Clang,
            Tool::Memcheck | Tool::Heaptrack => Variant::Clang,
            Tool::Gcc => Variant::Gcc,
            Tool::Leakscope => Variant::Leakscope,
            Tool::Lsan => Variant::Lsan,
        }
    }
}

/// Fails with what to install, before minutes have gone into building.
pub fn require(tools: &[Tool], leakscope: &Path) -> Result<()> {
    let needed = |tool: &Tool| match tool {
        Tool::Native | Tool::Lsan => Some(("clang-19", "clang-19")),
        Tool::Gcc => Some(("gcc", "gcc")),
        Tool::Memcheck | Tool::Valgrind | Tool::ValgrindUses | Tool::ValgrindNone => {
            Some(("valgrind", "valgrind"))
        }
        Tool::Heaptrack => Some(("heaptrack", "heaptrack")),
        Tool::Leakscope => None,
    };
    // The builds themselves: sqlite3 generates its sources by Tcl.
    let builds = [("make", "make"), ("g++", "g++"), ("dpkg-source", "dpkg-dev"), ("tclsh", "tcl")];
    let missing: Vec<&str> = tools
        .iter()
        .filter_map(needed)
        .chain(builds)
        .filter(|(program, _)| found(program).is_none())
        .map(|(_, package)| package)
        .collect();
    if !missing.is_empty() {
        bail!("missing: apt-get install {}, or leave tools out with --tools", missing.join(" "));
    }
    let needs_us =
        [Tool::Leakscope, Tool::Valgrind, Tool::ValgrindUses].iter().any(|tool| tools.contains(tool));
    if needs_us && !leakscope.is_file() {
        bail!("no leakscope at {}: build it (make build) or pass --leakscope", leakscope.display());
    }
    Ok(())
}

/// One run of the workload under the tool, in the given working folder. All
/// that the tool writes goes to the scratch folder.
pub fn run(
    tool: Tool,
    leakscope: &Path,
    binary: &Path,
    workload: &Workload,
    folder: &Path,
    scratch: &Path,
) -> Result<Outcome> {
    fs::create_dir_all(scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let stdout = scratch.join("stdout");
    let stdin = match &workload.stdin {
        Some(file) => File::open(file).with_context(|| format!("cannot read {}", file.display()))?.into(),
        None => Stdio::null(),
    };
    for file in &workload.writes {
        let _ = fs::remove_file(folder.join(file));
    }
    let mut command = under(tool, leakscope, binary, scratch)?;
    command
        .args(&workload.arguments)
        .current_dir(folder)
        .stdin(stdin)
        .stdout(File::create(&stdout)?)
        .stderr(File::create(scratch.join("stderr"))?);
    let (status, usage) =
        measure::run(&mut command).with_context(|| format!("cannot run {}", binary.display()))?;
    if let Some(record) = record(tool)
        && status.success()
        && !is_written(&scratch.join(record))
    {
        bail!("the program ran, but {} recorded nothing", tool.name());
    }
    let written: Vec<PathBuf> = workload.writes.iter().map(|file| folder.join(file)).collect();
    let digest = if status.success() {
        measure::digest(written.iter().map(PathBuf::as_path).chain([stdout.as_path()]))
            .context("the program did not write what it should")?
    } else {
        0
    };
    Ok(Outcome { usage, status, digest })
}

/// The command up to the program's own arguments, in a small environment that
/// is the same for all.
fn under(tool: Tool, leakscope: &Path, binary: &Path, scratch: &Path) -> Result<Command> {
    let mut command = Command::new(match tool {
        Tool::Memcheck | Tool::ValgrindNone => Path::new("valgrind"),
        Tool::Valgrind | Tool::ValgrindUses => leakscope,
        _ => binary,
    });
    command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default()).env("LC_ALL", "C");
    match tool {
        Tool::Native | Tool::Gcc => {}
        Tool::Leakscope => {
            let records = scratch.join("records");
            fs::create_dir_all(&records)?;
            command.env("LEAKSCOPE_DIR", records);
        }
        Tool::Lsan => {
            command.env("LSAN_OPTIONS", "exitcode=0:symbolize=0");
        }
        Tool::Valgrind | Tool::ValgrindUses => {
            // With the report: `leakscope run` is what people run.
            let uses = if tool == Tool::ValgrindUses { "exact" } else { "off" };
            command.env("XDG_CACHE_HOME", scratch.join("cache"));
            command.args(["run", "--quiet", "--engine", "valgrind", "--fail-on", "none", "--format", "json"]);
            command.args(["--last-use", uses]);
            command.arg("-o").arg(scratch.join("report")).arg(binary).arg("--");
        }
        Tool::ValgrindNone => {
            command.args(["--tool=none", "-q"]).arg(binary);
        }
        Tool::Memcheck => {
            let log = scratch.join("memcheck").to_string_lossy().into_owned();
            command.args(["--leak-check=full", &format!("--log-file={log}")]).arg(binary);
        }
        Tool::Heaptrack => {
            // Its shell wrapper does this, and adds a compressor's time and
            // its own words on standard output.
            command
                .env("LD_PRELOAD", heaptrack_library()?)
                .env("DUMP_HEAPTRACK_OUTPUT", scratch.join("heaptrack"));
        }
    }
    Ok(command)
}

/// What the tool leaves in the scratch folder, leaks or not. Without it the
/// program ran natively, and its time says nothing about the tool.
fn record(tool: Tool) -> Option<&'static str> {
    match tool {
        Tool::Native | Tool::Gcc | Tool::Lsan | Tool::ValgrindNone => None,
        Tool::Leakscope => Some("records"),
        Tool::Valgrind | Tool::ValgrindUses => Some("report"),
        Tool::Memcheck => Some("memcheck"),
        Tool::Heaptrack => Some("heaptrack"),
    }
}

/// A file with contents, or a folder with entries.
fn is_written(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.metadata().is_ok_and(|metadata| metadata.len() > 0),
    }
}

fn heaptrack_library() -> Result<PathBuf> {
    let wrapper = found("heaptrack").context("heaptrack is not installed")?.canonicalize()?;
    let library = wrapper.with_file_name("../lib/heaptrack/libheaptrack_preload.so");
    library.canonicalize().with_context(|| format!("heaptrack has no {}", library.display()))
}

fn found(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell script in the place of a program under the tool.
    fn check(tool: Tool, script: &str, expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-c", script].map(str::to_owned).to_vec();
        let workload = Workload { arguments, stdin: None, writes: vec!["out".into()] };
        let shell = Path::new("/bin/sh");
        let outcome = run(
            tool,
            Path::new("leakscope"),
            shell,
            &workload,
            folder.path(),
            &folder.path().join("scratch"),
        );
        let native = folder.path().join("native");
        fs::write(&native, expected.unwrap_or_default()).unwrap();
        let digest = measure::digest([native.as_path(), Path::new("/dev/null")]).unwrap();
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        let result = outcome.and_then(|outcome| outcome.agreeing_with(digest));
        assert_eq!(result.map(|_| ()), expected.map(|_| ()).map_err(str::to_owned), "{script}");
    }

    #[test]
    fn a_run_counts_only_if_it_did_its_work() {
        check(Tool::Native, "printf done > out", Ok("done"));
        check(Tool::Native, "printf more > out", Err("its output differs from the native program's"));
        check(Tool::Native, "exit 3", Err("failed: exit status: 3"));
        check(Tool::Leakscope, "echo > $LEAKSCOPE_DIR/records; printf done > out", Ok("done"));
        check(Tool::Leakscope, "printf done > out", Err("the program ran, but leakscope recorded nothing"));
    }
}
