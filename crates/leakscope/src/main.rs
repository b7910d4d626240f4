//! The `leakscope` command: options, progress, and the glue between the
//! crates that do the work.

mod cli;
mod commands;
mod output;
mod runtime;
mod sources;

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let invoked_as = arguments.next().unwrap_or_default();
    // A shim is a link to this program under a compiler's name.
    if Path::new(&invoked_as).file_name() != Some(OsStr::new("leakscope")) {
        return leakscope_capture::shim(&invoked_as, arguments.collect());
    }
    match commands::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("leakscope: {error:#}");
            ExitCode::from(2)
        }
    }
}
