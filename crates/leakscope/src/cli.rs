//! The command line.

mod report;
mod run;
mod values;
mod warnings;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use report::{Color, Format, ReportOptions};
pub use run::{Debug, Engine, LastUse, Mode, OnLeak, ReportFolder, Run, StartAgain};
pub use warnings::{Check, CheckFormat, Replay, Validate};
pub use watch::{Diff, Export, Watch};

/// Finds memory leaks in C and C++ programs, and says where to fix them.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  leakscope build -- make -j8         capture a program while its own build runs
  leakscope run ./prog -- in.txt      run it, and report what it leaked
  leakscope run a.c b.c -- x y        the same for bare source files
  leakscope debug 9f2c4e01            run it under gdb, to where a block was lost
  leakscope run /usr/bin/xmllint -- --noout a.xml
                                      any program, as it is
  leakscope check a.c b.c             what the source can leak, without running it
  leakscope validate ./prog           which of these warnings are real, shown with an input
  leakscope watch ./server            what goes stale while it runs";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Capture a program while its own build runs
    #[command(after_help = BUILD_EXAMPLES)]
    Build(Build),
    /// Run a program and report what it leaked
    #[command(after_help = run::RUN_EXAMPLES)]
    Run(Box<Run>),
    /// Watch a program for blocks that go stale, at little cost
    #[command(after_help = watch::WATCH_EXAMPLES)]
    Watch(Box<Watch>),
    /// Write the live blocks of snapshots for pprof or as folded stacks
    #[command(after_help = watch::EXPORT_EXAMPLES)]
    Export(Export),
    /// Show what changed between two snapshots
    #[command(after_help = "Example:\n  leakscope diff records/812-0.record records/812-9.record")]
    Diff(Diff),
    /// Run the program of the last run under gdb, and stop where a block is lost
    #[command(after_help = run::DEBUG_EXAMPLES)]
    Debug(Debug),
    /// Start a program as it was started before; for gdb
    #[command(hide = true)]
    Start(StartAgain),
    /// Say which leaks the source can have
    #[command(after_help = warnings::CHECK_EXAMPLES)]
    Check(Box<Check>),
    /// Say which warnings of leaks are real, and show an input that leaks
    #[command(after_help = warnings::VALIDATE_EXAMPLES)]
    Validate(Box<Validate>),
    /// Run the input of a validated warning again, and show the leak
    #[command(after_help = warnings::REPLAY_EXAMPLES)]
    Replay(Box<Replay>),
    /// Make an instrumented variant of a captured program
    #[command(after_help = DERIVE_EXAMPLES)]
    Derive(Derive),
    /// Report from records that a derived program wrote
    #[command(after_help = run::REPORT_EXAMPLES)]
    Report(Box<ReportFolder>),
    /// Show what a program, library or object was made of
    #[command(after_help = "Example:\n  leakscope inspect ./prog")]
    Inspect(Inspect),
}

const BUILD_EXAMPLES: &str = "\
Examples:
  leakscope build -- make -j8
  leakscope build -- sh -c './configure && make'
  leakscope build -- sh -c 'cmake -B build && cmake --build build'
  leakscope build -- sh -c 'meson setup build && ninja -C build'
  leakscope build --compdb build/compile_commands.json

Configure under leakscope too: cmake and meson remember the compiler they found.
What the build makes is the same as without leakscope; the capture is in .leakscope/.";

#[derive(Debug, Args)]
pub struct Build {
    /// Capture what a compile_commands.json lists, instead of running a build
    #[arg(long, value_name = "FILE", conflicts_with = "build")]
    pub compdb: Option<PathBuf>,
    /// Folder for the capture
    #[arg(long, value_name = "DIR", default_value = ".leakscope")]
    pub store: PathBuf,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// The build command
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "compdb")]
    pub build: Vec<OsString>,
}

const DERIVE_EXAMPLES: &str = "\
Examples:
  leakscope derive ./prog --engine track -o prog.track
  leakscope derive ./prog --engine sample -o prog.watched      for `leakscope watch`
  LEAKSCOPE_DIR=records ./prog.track        writes its records there at the end";

#[derive(Debug, Args)]
pub struct Derive {
    /// A captured program
    pub program: PathBuf,
    #[arg(long, value_enum, default_value_t = DeriveEngine::Track)]
    pub engine: DeriveEngine,
    /// Where to put it; without, only its path is printed
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct Inspect {
    /// Executable, shared object, archive or object
    pub file: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeriveEngine {
    /// Leak points, for `leakscope run`
    Track,
    /// Allocation stacks alone, for `leakscope run --mode minimal`
    Minimal,
    /// Stale blocks at little cost, for `leakscope watch`
    Sample,
    /// How pointers come and go, for `leakscope run --explain`
    #[value(skip)]
    Explain,
    /// What depends on the input, for `leakscope validate`
    Symbolic,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_is_consistent() {
        Cli::command().debug_assert();
    }
}
