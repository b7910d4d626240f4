//! `leakscope build`: capture.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

use anyhow::{Context, Result};
use leakscope_capture::{Store, build, build_compdb};

use crate::cli::Build;
use crate::commands::derive::progress_bar;

pub fn run(options: &Build) -> Result<ExitCode> {
    let store = Store::create(&options.store)?;
    let summary = match &options.compdb {
        Some(path) => {
            let bar = progress_bar("capturing", options.quiet);
            let summary = build_compdb(&store, path, &|done, all| {
                bar.set_length(all as u64);
                bar.set_position(done as u64);
            })?;
            bar.finish_and_clear();
            summary
        }
        None => {
            let exe = env::current_exe().context("cannot find this program's own path")?;
            build(&store, &exe, &options.build)?
        }
    };
    if !options.quiet {
        eprintln!("leakscope: {}", summary.to_string().trim_end());
    }
    let code = match summary.status {
        None => 0,
        Some(status) => status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
    };
    Ok(ExitCode::from(code as u8))
}
