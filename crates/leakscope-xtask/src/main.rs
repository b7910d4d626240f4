//! `cargo xtask`: tasks for developers.

mod inject;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Put leaks, true and false ones, into a C source
    ///
    /// Example: cargo xtask inject src/wc.c --count 10 --seed 1 -o injected
    Inject(Inject),
}

#[derive(Args)]
struct Inject {
    /// A C source in which functions begin and end in the first column
    source: PathBuf,
    /// How many blocks are put in, each with a warning about it
    #[arg(long, default_value_t = 10)]
    count: usize,
    /// How many of the program's own frees are taken out, each with a warning about it
    #[arg(long, default_value_t = 0)]
    frees: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Gets the source, `warnings` (for `leakscope validate --warnings`) and `truth`
    #[arg(long, short)]
    output: PathBuf,
}

fn main() -> Result<()> {
    match Cli::parse().task {
        Task::Inject(options) => inject(&options),
    }
}

fn inject(options: &Inject) -> Result<()> {
    let cannot_read = || format!("cannot read {}", options.source.display());
    let text = fs::read_to_string(&options.source).with_context(cannot_read)?;
    let name = options.source.file_name().with_context(cannot_read)?.to_string_lossy().into_owned();
    let counts = inject::Counts { blocks: options.count, frees: options.frees };
    let injected = inject::inject(&text, &name, counts, options.seed);
    let cannot_write = || format!("cannot write {}", options.output.display());
    fs::create_dir_all(&options.output).with_context(cannot_write)?;
    for (file, content) in
        [(name.as_str(), injected.source), ("warnings", injected.warnings), ("truth", injected.truth)]
    {
        fs::write(options.output.join(file), content).with_context(cannot_write)?;
    }
    Ok(())
}
