//! The commands that warn of leaks in source, and try the warnings.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use leakscope_core::FailOn;

use super::report::{Color, Format, ReportOptions};
use super::values::{leak_limit, seconds};

/// What the commands that warn have in common.
#[derive(Clone, Debug, Args)]
pub struct WarningOptions {
    /// Write the report to a file instead of standard output
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

impl WarningOptions {
    /// The same as the commands have it that run programs.
    fn report_options(&self, format: Format, fail_on: FailOn) -> ReportOptions {
        ReportOptions {
            format,
            output: self.output.clone(),
            show_forgotten: false,
            max: self.max,
            suppressions: self.suppressions.clone(),
            baseline: self.baseline.clone(),
            fail_on,
            quiet: self.quiet,
            color: self.color,
        }
    }
}

pub const CHECK_EXAMPLES: &str = "\
Examples:
  leakscope check a.c b.c
  leakscope build -- make && leakscope check ./prog
  leakscope check .                                   all that was built in this folder
  leakscope check libfoo.a
  leakscope check --format sarif -o leaks.sarif ./prog
  leakscope check --summary make_node list.c
  leakscope check --summary make_node --format dot list.c | dot -Tsvg > make_node.svg

Nothing is run. The exit code is 0 when there is no warning, 1 when there are some, 2 after
an error. What libraries do is known from models; leakscope.toml in the current folder
adds to them, in the format of models/README.md.";

#[derive(Debug, Args)]
pub struct Check {
    /// Captured programs, libraries, objects or folders of them; or source files
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
    #[command(flatten)]
    pub common: WarningOptions,
}

impl Check {
    /// How the report is made and judged.
    pub fn report_options(&self) -> ReportOptions {
        let format = match self.format {
            CheckFormat::Text | CheckFormat::Dot => Format::Text,
            CheckFormat::Json => Format::Json,
            CheckFormat::Sarif => Format::Sarif,
            CheckFormat::Gcc => Format::Gcc,
        };
        self.common.report_options(format, FailOn::Any)
    }
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

pub const VALIDATE_EXAMPLES: &str = "\
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
    #[arg(long, num_args = 2, value_names = ["N", "LEN"], default_values_t = [8, 16])]
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
    #[arg(long, value_name = "N", default_value_t = 10_000)]
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
    /// Memory for leakscope itself, as in 512M: beyond it, runs that promise least are forgotten
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = leak_limit)]
    pub memory: u64,
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
    #[command(flatten)]
    pub common: WarningOptions,
    /// What makes the command fail: must-leak, any or none
    #[arg(long, value_name = "WHAT", default_value = "must-leak")]
    pub fail_on: FailOn,
    /// Arguments that the first run has
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

impl Validate {
    /// How the report is made and judged.
    pub fn report_options(&self) -> ReportOptions {
        self.common.report_options(self.format, self.fail_on)
    }
}

pub const REPLAY_EXAMPLES: &str = "\
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
