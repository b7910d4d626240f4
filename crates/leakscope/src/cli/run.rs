//! The commands that run a program and say what it leaked.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::report::ReportOptions;
use super::values::{leak_limit, mode, only, seconds, signal};

pub const RUN_EXAMPLES: &str = "\
Examples:
  leakscope run ./prog -- --config x.conf < input
  leakscope run prog.c -- x y
  leakscope run --format sarif -o leaks.sarif ./prog
  leakscope run --baseline known.json --fail-on lost ./tests
  leakscope run --snapshot-every 60 ./server
  leakscope run --snapshot-every 60 --on-leak stop --leak-limit 1M ./server
                                                   then: gdb -p PID, kill -CONT PID
  leakscope run /usr/bin/xmllint -- --noout a.xml
  leakscope run --engine preload /usr/bin/prog
  leakscope run --mode minimal ./prog              fastest: allocations only
  leakscope run --mode partial=64K ./prog          no search of larger freed blocks
  leakscope run --last-use exact ./prog
  leakscope run --only alloc=make_node ./prog      no other blocks are followed
  leakscope run --two-pass ./prog                  follows only what a first run loses
  leakscope run --explain ./prog                   a second run: who did not drop a reference

The program's exit code is passed on; it is 23 when something was lost (--exit-code).
Suppressions are read from leakscope.supp in the current folder, lines as
LeakSanitizer takes them: leak:function, leak:file.c, leak:libfoo.so.

Pools and arenas: [[allocator]] in leakscope.toml of the current folder names their functions;
docs/GUIDE.md has the keys.";

#[derive(Clone, Debug, Args)]
pub struct Run {
    /// A captured program, any executable, or source files
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// How to run it: `track` needs a captured program; `valgrind` (leak points, slower)
    /// and `preload` (no leak points, faster) take any
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<Engine>,
    /// How far pointers are followed: minimal (only where blocks are allocated), partial=SIZE
    /// (freed blocks above SIZE, as in 4096, 64K or 1M, are not searched) or full
    #[arg(long, value_name = "MODE", default_value = "full", value_parser = mode)]
    pub mode: Mode,
    /// Last uses: none, those of some moments in a long run, or all
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = LastUse::Sampled)]
    pub last_use: LastUse,
    #[command(flatten)]
    pub report: ReportOptions,
    /// Exit code when the report fails the run
    #[arg(long, value_name = "N", default_value_t = 23)]
    pub exit_code: u8,
    /// Frames shown of each call stack, at most 64
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub depth: u32,
    /// Take a snapshot when the program gets this signal, as in USR2
    #[arg(long, value_name = "SIGNAL", value_parser = signal)]
    pub snapshot_signal: Option<i32>,
    /// Take a snapshot every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub snapshot_every: Option<Duration>,
    /// What to do when something is lost, at a snapshot or at the end: report it, or also
    /// abort the program, or stop it until it gets SIGCONT
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnLeak::Report)]
    pub on_leak: OnLeak,
    /// Act, or fail, only when at least so many bytes are lost, as in 4096, 64K or 1M
    #[arg(long, value_name = "SIZE", value_parser = leak_limit)]
    pub leak_limit: Option<u64>,
    /// Run the program under another command, as in --under 'prlimit --nofile=64'
    #[arg(long, value_name = "COMMAND")]
    pub under: Option<String>,
    /// Keep the target's records in this folder
    #[arg(long, value_name = "DIR")]
    pub keep_records: Option<PathBuf>,
    /// A flag for compiling bare source files, as in --cflag=-DX=1 or --cflag=-lz
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub cflag: Vec<String>,
    /// Follow only blocks that a function, or a line as in list.c:12, allocates, directly or in
    /// what it calls; may be repeated
    #[arg(long, value_name = "alloc=PATTERN", value_parser = only)]
    pub only: Vec<String>,
    /// Run the program twice: find what is lost, then follow only that; under Valgrind as --explain
    #[arg(long, conflicts_with = "only")]
    pub two_pass: bool,
    /// Run the program once more, to see how references to lost blocks came and went;
    /// without, that is done where the report looks like it
    #[arg(long, conflicts_with = "no_explain")]
    pub explain: bool,
    /// Never run it once more for that
    #[arg(long)]
    pub no_explain: bool,
    /// Show also what the program prints in its second run
    #[arg(long, requires = "two_pass")]
    pub show_second: bool,
    /// Read piped input to its end first, and keep it for `leakscope debug`
    #[arg(long)]
    pub keep_input: bool,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

pub const DEBUG_EXAMPLES: &str = "\
Examples:
  leakscope run ./prog -- in.txt          says [9f2c4e01] behind a finding
  leakscope debug 9f2c4e01                stops where its first block is lost
  leakscope debug 9f2c4e01 --batch        prints the stack and the variables there
  leakscope debug 9f2c4e01 -- -batch -ex 'print *node'

The program is run as before: arguments, environment, input. It must do the same
each time: one that does not is told so. Its first run here is without its output.";

#[derive(Debug, Args)]
pub struct Debug {
    /// Id of a finding, or how it begins
    #[arg(value_name = "FINDING-ID")]
    pub finding: String,
    /// The run that found it: run.json of --keep-records, or that folder; without, the last one in
    /// the current folder
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Print the stack and the variables, and end
    #[arg(long)]
    pub batch: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Arguments of gdb
    #[arg(last = true, value_name = "GDB-ARGS")]
    pub gdb: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct StartAgain {
    /// How it was started
    pub start: PathBuf,
    pub program: PathBuf,
}

pub const REPORT_EXAMPLES: &str = "\
Examples:
  leakscope derive ./prog -o prog.track
  LEAKSCOPE_DIR=records ./prog.track
  leakscope report records";

#[derive(Debug, Args)]
pub struct ReportFolder {
    /// Folder with records: LEAKSCOPE_DIR of a derived program, or --keep-records
    pub folder: PathBuf,
    #[command(flatten)]
    pub report: ReportOptions,
    /// Exit code when the report fails
    #[arg(long, value_name = "N", default_value_t = 23)]
    pub exit_code: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    Track,
    Valgrind,
    Preload,
}

/// How far the program's pointers are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Minimal,
    /// Freed blocks of up to so many bytes are searched for pointers.
    Partial(u64),
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LastUse {
    Off,
    Sampled,
    Exact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnLeak {
    Report,
    Abort,
    Stop,
}
