//! How reports are made and judged, for every command that has one.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use leakscope_core::FailOn;

/// How a report is made and judged; the same for every command that has one.
#[derive(Clone, Debug, Args)]
pub struct ReportOptions {
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the report to a file; `-` is standard output
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Sarif,
    /// One line for each finding, as compilers write them
    Gcc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}
