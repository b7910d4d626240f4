//! The commands, one file each.

mod build;
mod check;
mod debug;
pub mod derive;
mod export;
mod inspect;
mod replay;
mod report;
mod run;
mod validate;
mod watch;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Cli, Command};

pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Build(options) => build::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Debug(options) => debug::run(&options),
        Command::Start(options) => debug::start(&options),
        Command::Check(options) => check::run(&options),
        Command::Validate(options) => validate::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::Derive(options) => derive::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Watch(options) => watch::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Diff(options) => export::diff(&options),
        Command::Inspect(options) => inspect::run(&options),
    }
}
