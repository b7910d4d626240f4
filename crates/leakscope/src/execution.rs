//! One execution of the program, from its start to its records.

use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use leakscope_capture::outlive;
use leakscope_trace::{Process, read_records};
use leakscope_wire::env as wire_env;

use crate::cli::Run;
use crate::inbox::Inbox;
use crate::plan::Plan;
use crate::records::Records;

pub struct Execution {
    pub status: ExitStatus,
    pub processes: Vec<Process>,
}

/// Runs the program as planned; `prepare` changes the command at last.
pub fn execute(
    plan: &Plan,
    options: &Run,
    records: &Records,
    prepare: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<Execution> {
    let inbox = Inbox::open(records.path(), None).context("cannot open a socket for records")?;
    let mut command = plan.command(records, &inbox, options);
    command.args(&options.arguments).env(wire_env::SOCKET, inbox.name());
    prepare(&mut command)?;
    // A signal ends the program; we report after it.
    let status = outlive(&mut command).with_context(|| match &options.under {
        Some(under) => format!("cannot run {} under `{under}`", plan.shown.display()),
        None => format!("cannot run {}", plan.shown.display()),
    })?;
    let processes = read_records(records.path(), &inbox.close())?;
    Ok(Execution { status, processes })
}
