//! The `leakscope` command: options, progress, and the glue between the
//! crates that do the work.

mod analysed;
mod changed;
mod cli;
mod commands;
mod execution;
mod explain;
mod files;
mod inbox;
mod input;
mod interpose;
mod kept_check;
mod kept_inputs;
mod last_run;
mod metrics;
mod models;
mod named_files;
mod only;
mod output;
mod plan;
mod records;
mod ruled_out;
mod runtime;
mod second_pass;
mod seeds;
mod sources;
mod start;
mod terminal;
mod tracked;
mod valgrind;

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// Analyses are made of small blocks: libc's allocator takes a fifth of their
/// time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let invoked_as = arguments.next().unwrap_or_default();
    // A shim is a link to this program under a compiler's name.
    let name = Path::new(&invoked_as).file_name().and_then(OsStr::to_str);
    if name.is_some_and(leakscope_capture::is_shimmed) {
        return leakscope_capture::shim(&invoked_as, arguments.collect());
    }
    match commands::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("leakscope: {}", said_once(&error));
            ExitCode::from(2)
        }
    }
}

/// An error and its causes, without those that an error above them names
/// already.
fn said_once(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        _ if line.contains(&cause) => line,
        _ => format!("{line}: {cause}"),
    })
}
