//! `leakscope inspect`: what a file was made of.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;

use crate::cli::Inspect;

pub fn run(options: &Inspect) -> Result<ExitCode> {
    let composition = leakscope_capture::inspect(&options.file)?;
    // A closed pipe, as of `| head`, is no error.
    let _ = writeln!(io::stdout(), "{}", composition.to_string().trim_end());
    Ok(ExitCode::SUCCESS)
}
