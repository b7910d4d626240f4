//! The commands that watch a program, and read its snapshots.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use leakscope_core::StaleOrder;
use leakscope_trace::Predicate;

use super::report::{Format, ReportOptions};
use super::values::{one_in, seconds};

pub const WATCH_EXAMPLES: &str = "\
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

pub const EXPORT_EXAMPLES: &str = "\
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
    /// The same of a later moment
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
