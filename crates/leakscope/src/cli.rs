//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use leakscope_core::{FailOn, StaleOrder};
use leakscope_trace::Predicate;

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
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<Run>),
    /// Watch a program for blocks that go stale, at little cost
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(Box<Watch>),
    /// Write the live blocks of snapshots for pprof or as folded stacks
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(Export),
    /// Show what changed between two snapshots
    #[command(after_help = "Example:\n  leakscope diff records/812-0.record records/812-9.record")]
    Diff(Diff),
    /// Run the program of the last run under gdb, and stop where a block is lost
    #[command(after_help = DEBUG_EXAMPLES)]
    Debug(Debug),
    /// Start a program as it was started before; for gdb
    #[command(hide = true)]
    Start(StartAgain),
    /// Say which leaks the source can have
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<Check>),
    /// Say which warnings of leaks are real, and show an input that leaks
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(Box<Validate>),
    /// Run the input of a validated warning again, and show the leak
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(Box<Replay>),
    /// Make an instrumented variant of a captured program
    #[command(after_help = DERIVE_EXAMPLES)]
    Derive(Derive),
    /// Report from records that a derived program wrote
    #[command(after_help = REPORT_EXAMPLES)]
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

const RUN_EXAMPLES: &str = "\
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
the README tells the keys.";

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
    /// Run the program twice: find what is lost, then follow only that
    #[arg(long, conflicts_with = "only")]
    pub two_pass: bool,
    /// Run a captured program once more, to see how references to lost blocks came and went;
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

/// How a report is made and judged; the same for every command that has one.
#[derive(Clone, Debug, Args)]
pub struct ReportOptions {
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the report to a file instead of standard error
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show also blocks that were reachable to the end and never freed
    #[arg(long)]
    pub show_forgotten: bool,
    /// Show at most so many findings as text, 0 for all; json and sarif have all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub max: usize,
    /// Suppressions; leakscope.supp is read by itself where it is there
    #[arg(long, value_name = "FILE")]
    pub suppressions: Vec<PathBuf>,
    /// Findings of an earlier --format json report do not count
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// What makes the run fail: lost, forgotten, must-leak, any or none
    #[arg(long, value_name = "WHAT", default_value = "lost")]
    pub fail_on: FailOn,
    /// Say nothing but errors and findings
    #[arg(long, short)]
    pub quiet: bool,
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

const DEBUG_EXAMPLES: &str = "\
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

const CHECK_EXAMPLES: &str = "\
Examples:
  leakscope check a.c b.c
  leakscope build -- make && leakscope check ./prog
  leakscope check --format sarif -o leaks.sarif ./prog
  leakscope check --summary make_node list.c
  leakscope check --summary make_node --format dot list.c | dot -Tsvg > make_node.svg

Nothing is run. The exit code is 0 when there is no warning, 1 when there are some, 2 after
an error. What libraries do is known from models; leakscope.toml in the current folder
adds to them, in the format of models/README.md.";

#[derive(Debug, Args)]
pub struct Check {
    /// A captured program, or source files
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Report also what `main` still holds at its end
    #[arg(long)]
    pub at_exit: bool,
    /// Only about functions that changed since a revision of git, and their callers
    #[arg(long, value_name = "REV")]
    pub diff: Option<String>,
    /// Report also what is a leak only if a function that nothing is known of keeps nothing
    #[arg(long)]
    pub pedantic: bool,
    /// Validate the warnings too, as `leakscope validate` does by default
    #[arg(long, conflicts_with_all = ["summary", "diff"])]
    pub validate: bool,
    /// Print what a function does to memory, instead of a report; as text, or with --format dot
    #[arg(long, value_name = "FUNCTION")]
    pub summary: Option<String>,
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub format: CheckFormat,
    /// Write the report to a file instead of standard error
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show at most so many warnings as text, 0 for all; json and sarif have all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub max: usize,
    /// Suppressions; leakscope.supp is read by itself where it is there
    #[arg(long, value_name = "FILE")]
    pub suppressions: Vec<PathBuf>,
    /// Warnings of an earlier --format json report do not count
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Say nothing but errors and warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// A flag for compiling bare source files, as in --cflag=-DX=1
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub cflag: Vec<String>,
}

impl Check {
    /// What this command and those that run programs have in common.
    pub fn report_options(&self) -> ReportOptions {
        ReportOptions {
            format: match self.format {
                CheckFormat::Text | CheckFormat::Dot => Format::Text,
                CheckFormat::Json => Format::Json,
                CheckFormat::Sarif => Format::Sarif,
                CheckFormat::Gcc => Format::Gcc,
            },
            output: self.output.clone(),
            show_forgotten: false,
            max: self.max,
            suppressions: self.suppressions.clone(),
            baseline: self.baseline.clone(),
            fail_on: FailOn::Any,
            quiet: self.quiet,
            color: self.color,
        }
    }
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  leakscope validate a.c                              check the source, then try each warning
  leakscope build -- make && leakscope validate ./prog
  leakscope validate --warnings clang.sarif ./prog    warnings of another tool
  leakscope validate --sym-args 2 8 --sym-stdin 32 --runs 300 ./prog
  leakscope validate --sym-file config.ini --seeds tests/inputs ./prog -- -c config.ini
  leakscope validate --fail-on must-leak --format sarif -o leaks.sarif ./prog

The program is run many times, on inputs that are made to follow each warning: arguments,
standard input and files in its folder are made up, allocations and reads are made to fail.
Each run has a folder of its own and cannot write elsewhere. MUST-LEAK means that an input
leaks; `leakscope replay ID` shows it again. The exit code is 1 when --fail-on is met, 2 after
an error. After an interruption, the same command goes on where it was.
Warnings are read from SARIF, findings of leakscope, gcc's JSON, or lines of
FILE TAB LINE TAB KIND with kinds MA (allocation), BT and BF (branch taken or not), PP (point
on the path), LK (leak point), and END_PATH between warnings.";

#[derive(Debug, Args)]
pub struct Validate {
    /// A captured program, or source files
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Warnings of a file, instead of those of `leakscope check`
    #[arg(long, value_name = "FILE")]
    pub warnings: Option<PathBuf>,
    /// Try also what `main` still holds at its end
    #[arg(long, conflicts_with = "warnings")]
    pub at_exit: bool,
    /// Try also what is a leak only if a function that nothing is known of keeps nothing
    #[arg(long, conflicts_with = "warnings")]
    pub pedantic: bool,
    /// Up to N arguments of up to LEN bytes are made up
    #[arg(long, num_args = 2, value_names = ["N", "LEN"], default_values_t = [3, 16])]
    pub sym_args: Vec<u32>,
    /// Up to so many bytes of standard input are made up
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub sym_stdin: u32,
    /// A file whose content is made up, up to --sym-file-size bytes; may be repeated, `*` stands for
    /// anything
    #[arg(long, value_name = "PATTERN")]
    pub sym_file: Vec<String>,
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub sym_file_size: u32,
    /// Do not make up the environment variables that the program asks for
    #[arg(long)]
    pub no_env: bool,
    /// Do not make allocations, opens and reads fail
    #[arg(long)]
    pub no_failures: bool,
    /// Inputs to begin with: folders with `args`, `stdin`, `files/`, `env`, or plain files for
    /// standard input
    #[arg(long, value_name = "DIR")]
    pub seeds: Option<PathBuf>,
    /// Seconds to spend on each warning
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub time: Duration,
    /// Runs to make for each warning
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub runs: u32,
    /// Threads; all cores without
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,
    /// Which of equally good ways comes first; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// A program that reads SMT-LIB, instead of Z3's library: --solver 'cvc5 --incremental'
    #[arg(long, value_name = "COMMAND")]
    pub solver: Option<String>,
    /// Seconds for each question to the solver
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub solver_time: Duration,
    /// Seconds for each run of the program
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub run_time: Duration,
    /// Memory for each run of the program, as in 512M
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = leak_limit)]
    pub run_memory: u64,
    /// Follow no objects, to measure what that costs; no verdict comes of it
    #[arg(long, hide = true)]
    pub no_objects: bool,
    /// Keep the inputs that show verdicts in this folder
    #[arg(long, value_name = "DIR")]
    pub keep_inputs: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the report to a file instead of standard error
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show at most so many warnings as text, 0 for all; json and sarif have all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub max: usize,
    /// Suppressions; leakscope.supp is read by itself where it is there
    #[arg(long, value_name = "FILE")]
    pub suppressions: Vec<PathBuf>,
    /// Warnings of an earlier --format json report do not count
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// What makes the command fail: must-leak, any or none
    #[arg(long, value_name = "WHAT", default_value = "must-leak")]
    pub fail_on: FailOn,
    /// Say nothing but errors and warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// A flag for compiling bare source files, as in --cflag=-DX=1
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub cflag: Vec<String>,
    /// Arguments that the first run has
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

impl Validate {
    /// What this command and those that run programs have in common.
    pub fn report_options(&self) -> ReportOptions {
        ReportOptions {
            format: self.format,
            output: self.output.clone(),
            show_forgotten: false,
            max: self.max,
            suppressions: self.suppressions.clone(),
            baseline: self.baseline.clone(),
            fail_on: self.fail_on,
            quiet: self.quiet,
            color: self.color,
        }
    }
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  leakscope validate ./prog               says [9f2c4e01] behind a warning
  leakscope replay 9f2c4e01               runs its input, and reports what it leaks
  leakscope replay 9f2c4e01 --from DIR    from a folder of --keep-inputs";

#[derive(Debug, Args)]
pub struct Replay {
    /// Id of a warning, or how it begins
    #[arg(value_name = "ID")]
    pub warning: String,
    /// The folder of --keep-inputs; without, the last validation in the current folder
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOptions,
    /// Exit code when the report fails
    #[arg(long, value_name = "N", default_value_t = 23)]
    pub exit_code: u8,
}

const WATCH_EXAMPLES: &str = "\
Examples:
  leakscope watch ./server -- -p 8080           a live table, while it runs
  leakscope watch --once ./prog -- in.txt       run it to the end, then report
  leakscope watch --once --format json -o stale.json prog.c
  leakscope watch /var/lib/prog/leakscope       what a deployed program wrote
  leakscope watch --stale 'never or idle>100M and idle>10*active' ./server

To deploy: leakscope derive ./server --engine sample -o server.watched, and there
  LEAKSCOPE_DIR=/var/lib/prog/leakscope LEAKSCOPE_SNAPSHOT_EVERY=60000 ./server.watched
LEAKSCOPE_BURST, LEAKSCOPE_DECR and LEAKSCOPE_MIN (one in how many) set what is
sampled, LEAKSCOPE_DIR_MAX the bytes that the folder may take; LEAKSCOPE_ALWAYS=1
writes snapshots also while nothing is wrong.";

#[derive(Debug, Args)]
pub struct Watch {
    /// A captured program, source files, or the folder that a derived program writes to
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Run the program to its end, or read the folder once, and write one report
    #[arg(long)]
    pub once: bool,
    /// What counts as stale: never, idle>N, idle>N% or idle>N*active, joined by `and` and `or`
    #[arg(long, value_name = "WHEN", default_value_t)]
    pub stale: Predicate,
    /// What puts stale places at the top: blocks (then drag), bytes or drag (bytes x idle time)
    #[arg(long, value_name = "ORDER", default_value = "blocks")]
    pub sort: StaleOrder,
    /// Executions of a code segment that are reported in a row
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub burst: u32,
    /// What a segment's sampling rate is divided by after each burst
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub decr: u32,
    /// The least sampling rate, as in 0.1%
    #[arg(long, value_name = "RATE", default_value = "0.1%", value_parser = one_in)]
    pub min: u32,
    /// Take a snapshot every so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub snapshot_every: Duration,
    /// Serve metrics for Prometheus at this address, as in 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
    /// Let other machines read the metrics
    #[arg(long, requires = "metrics")]
    pub metrics_anybody: bool,
    /// Show what was accessed before the last access to stale blocks, in the same burst
    #[arg(long)]
    pub burst_history: bool,
    /// Leave out this share of the frees, as in 10%, to see whether they are found
    #[arg(long, value_name = "SHARE", value_parser = one_in)]
    pub inject_leaks: Option<u32>,
    /// What the choice of frees begins with
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u32,
    #[command(flatten)]
    pub report: ReportOptions,
    /// Exit code when the report fails the run
    #[arg(long, value_name = "N", default_value_t = 23)]
    pub exit_code: u8,
    /// Keep the target's records in this folder
    #[arg(long, value_name = "DIR")]
    pub keep_records: Option<PathBuf>,
    /// A flag for compiling bare source files, as in --cflag=-DX=1 or --cflag=-lz
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub cflag: Vec<String>,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  leakscope export --pprof -o heap.pb records && go tool pprof -top -sample_index=stale_space heap.pb
  leakscope export --folded --measure drag records | flamegraph.pl > drag.svg";

#[derive(Debug, Args)]
pub struct Export {
    /// Folder with snapshots, of which the last counts, or one record
    pub records: PathBuf,
    /// A profile for pprof: in use, lost, stale and drag
    #[arg(long, required_unless_present = "folded")]
    pub pprof: bool,
    /// Folded stacks for flame graphs
    #[arg(long, conflicts_with = "pprof")]
    pub folded: bool,
    /// What folded stacks count; pprof has all of them
    #[arg(long, value_enum, default_value_t = Measure::Inuse)]
    pub measure: Measure,
    /// What counts as stale, as for `watch`
    #[arg(long, value_name = "WHEN", default_value_t)]
    pub stale: Predicate,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    Inuse,
    Lost,
    Stale,
    Drag,
}

impl From<Measure> for leakscope_report::Measure {
    fn from(measure: Measure) -> leakscope_report::Measure {
        match measure {
            Measure::Inuse => leakscope_report::Measure::InUse,
            Measure::Lost => leakscope_report::Measure::Lost,
            Measure::Stale => leakscope_report::Measure::Stale,
            Measure::Drag => leakscope_report::Measure::Drag,
        }
    }
}

#[derive(Debug, Args)]
pub struct Diff {
    /// A record, or a folder with snapshots, of which the last counts
    pub before: PathBuf,
    pub after: PathBuf,
    /// What counts as stale, as for `watch`
    #[arg(long, value_name = "WHEN", default_value_t)]
    pub stale: Predicate,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
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

const REPORT_EXAMPLES: &str = "\
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

#[derive(Debug, Args)]
pub struct Inspect {
    /// Executable, shared object, archive or object
    pub file: PathBuf,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Sarif,
    /// One line for each finding, as compilers write them
    Gcc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    Text,
    Json,
    Sarif,
    /// One line for each warning, as compilers write them
    Gcc,
    /// A graph, for --summary
    Dot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a number of seconds above 0, found {text:?}");
    let seconds: f64 = text.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| time.as_millis() > 0).ok_or_else(expected)
}

/// A share, as in 0.1% or 0.001, as one in so many.
fn one_in(text: &str) -> Result<u32, String> {
    let expected = || format!("expected a share above 0 and up to 100%, as in 0.1%, found {text:?}");
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share: f64 = number.trim().parse().map_err(|_| expected())?;
    let one_in = (whole / share).round();
    let is_share = share > 0.0 && share <= whole && one_in <= 1_000_000.0;
    if is_share { Ok(one_in as u32) } else { Err(expected()) }
}

fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "minimal" => Ok(Mode::Minimal),
        "full" => Ok(Mode::Full),
        _ => text.strip_prefix("partial=").and_then(size).map(Mode::Partial).ok_or_else(|| {
            format!(
                "expected minimal, full or partial=SIZE with a SIZE as in 4096, 64K or 1M, found {text:?}"
            )
        }),
    }
}

/// A number of bytes, with a unit or without.
fn size(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = match text[number.len()..].to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    Some(u64::from(number.parse::<u32>().ok()?) * unit)
}

fn only(text: &str) -> Result<String, String> {
    match text.strip_prefix("alloc=") {
        Some(pattern) if !pattern.is_empty() => Ok(pattern.to_owned()),
        _ => Err(format!("expected alloc=FUNCTION or alloc=FILE:LINE, found {text:?}")),
    }
}

fn leak_limit(text: &str) -> Result<u64, String> {
    size(text)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| format!("expected a size above 0 as in 4096, 64K or 1M, found {text:?}"))
}

fn signal(text: &str) -> Result<i32, String> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let known = [
        ("HUP", libc::SIGHUP),
        ("INT", libc::SIGINT),
        ("QUIT", libc::SIGQUIT),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
        ("ALRM", libc::SIGALRM),
        ("TERM", libc::SIGTERM),
        ("WINCH", libc::SIGWINCH),
        ("IO", libc::SIGIO),
        ("PWR", libc::SIGPWR),
    ];
    let named = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, number)| number);
    let usable = |number: &i32| (1..=64).contains(number) && ![libc::SIGKILL, libc::SIGSTOP].contains(number);
    named
        .or_else(|| text.parse().ok().filter(usable))
        .ok_or_else(|| format!("expected a signal as in USR2 or 12, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn modes() {
        for (text, expected) in [
            ("minimal", Mode::Minimal),
            ("full", Mode::Full),
            ("partial=0", Mode::Partial(0)),
            ("partial=4096", Mode::Partial(4096)),
            ("partial=64K", Mode::Partial(64 << 10)),
            ("partial=2m", Mode::Partial(2 << 20)),
            ("partial=4294967295G", Mode::Partial(4_294_967_295 << 30)),
        ] {
            assert_eq!(mode(text), Ok(expected));
        }
        for text in
            ["", "most", "partial", "partial=", "partial=K", "partial=-1", "partial=1KB", "partial=1.5M"]
        {
            assert!(mode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares() {
        for (text, expected) in
            [("0.1%", 1000), ("100%", 1), ("10%", 10), ("0.01", 100), ("0.0001%", 1_000_000)]
        {
            assert_eq!(one_in(text), Ok(expected), "{text}");
        }
        for text in ["", "%", "0", "0%", "-1%", "101%", "2", "0.00001%", "x%", "nan"] {
            assert!(one_in(text).is_err(), "{text}");
        }
    }

    #[test]
    fn signals_by_name_and_number() {
        for (text, expected) in
            [("USR2", Some(12)), ("SIGUSR2", Some(12)), ("usr2", Some(12)), ("12", Some(12))]
        {
            assert_eq!(signal(text).ok(), expected);
        }
        for text in ["KILL", "9", "0", "65", "USR3", ""] {
            assert!(signal(text).is_err(), "{text}");
        }
    }
}
