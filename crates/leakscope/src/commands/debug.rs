//! `leakscope debug`: runs the program of a former run again under gdb, and
//! stops where a finding's first block is lost.
//!
//! The moment must be known before: a run without gdb counts blocks by
//! allocation stack and the deaths of their pointers, and gives it as ordinals
//! (`leakscope_trace::Moment`). The program must repeat itself; if it does not,
//! the finding or the moment does not come again, and that is said.

use std::env;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use leakscope_capture::outlive;
use leakscope_core::{Command as What, Engine, Kind, Report, Target};
use leakscope_trace::{Moment, Process, analyse};
use leakscope_wire::env as wire_env;

use crate::cli::{Debug, LastUse, OnLeak, Run, StartAgain};
use crate::execution::execute;
use crate::last_run::{Known, LastRun};
use crate::only;
use crate::plan::{Plan, plan, runtime_variables};
use crate::records::Records;
use crate::start::Start;

/// Exit code if the program did not repeat itself.
const NOT_REPEATED: u8 = 1;

pub fn run(options: &Debug) -> Result<ExitCode> {
    let last = LastRun::load(options.from.as_deref())?;
    let finding = last.finding(&options.finding)?;
    if last.engine != Engine::Track {
        bail!("leakscope debug needs a captured program: see `leakscope build`; the last run was of another");
    }
    if finding.kind != Kind::Lost {
        bail!("{} was not lost but forgotten: there is no moment to stop at", finding.short_id());
    }
    env::set_current_dir(last.start.folder()).context("cannot go to the folder of the run")?;
    let run = counting(last.options()?, options.quiet);
    let plan = plan(&run)?;
    let say = |text: &str| {
        if !options.quiet {
            eprintln!("leakscope: {text}");
        }
    };
    say("looking for the moment: the program runs once without its output, then under gdb");
    let records = Records::new(run.keep_records.as_deref())?;
    let processes = execute(&plan, &run, &records, |command| {
        // As it was started, with what is set for this run.
        let mut again = last.start.command(&plan.executable)?;
        again.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        again.env(wire_env::MOMENTS, wire_env::MOMENTS_COUNT);
        only::apply(&mut again, &run, &plan, &records)?;
        again.stdout(Stdio::null()).stderr(Stdio::null());
        *command = again;
        Ok(())
    })?
    .processes;
    let stop = match stop(&processes, &plan, finding) {
        Ok(stop) => stop,
        Err(reason) => {
            eprintln!("leakscope: {reason}");
            return Ok(ExitCode::from(NOT_REPEATED));
        }
    };
    let variables = runtime_variables(&run).into_iter().chain([stop.variable()]);
    let start = last.start.with(variables);
    gdb(options, &plan.executable, &start, &stop, records.path())
}

/// What gdb runs in place of the program: the same process becomes it.
pub fn start(options: &StartAgain) -> Result<ExitCode> {
    let json = fs::read(&options.start).context("cannot read how the program was started")?;
    let start: Start = serde_json::from_slice(&json).context("cannot read how the program was started")?;
    Err(start.command(&options.program)?.exec()).context("cannot start the program")
}

/// The options of the run, without what would end it early or keep something.
fn counting(run: Run, quiet: bool) -> Run {
    let mut run = Run {
        on_leak: OnLeak::Report,
        last_use: LastUse::Off,
        snapshot_every: None,
        snapshot_signal: None,
        keep_records: None,
        under: None,
        ..run
    };
    run.report.quiet |= quiet;
    run
}

/// Where to stop.
struct Stop<'a> {
    finding: &'a Known,
    moment: Moment,
    /// Not in the process that is started, but in one that it forks.
    in_child: bool,
}

/// When the finding's first block is lost, or why that is not known.
fn stop<'a>(processes: &[Process], plan: &Plan, finding: &'a Known) -> Result<Stop<'a>, String> {
    let target = Target { program: String::new(), args: Vec::new(), exit: None };
    let found = analyse(processes, &plan.executable).findings;
    let report = Report::new(What::Run, Engine::Track, target, found);
    let (id, shown) = (finding.short_id(), plan.shown.display());
    let Some(same) = report.findings.iter().find(|same| same.id == finding.id) else {
        return Err(format!(
            "the program does not repeat: {id} did not come again when {shown} ran once more"
        ));
    };
    let moment = same.evidence.get("moment").and_then(Moment::from_json).ok_or_else(|| {
        format!("no pointer to the block of {id} was seen to die: there is no moment to stop at")
    })?;
    let parent = processes.iter().find(|process| process.pid == moment.pid).map(|process| process.parent);
    let in_child = processes.iter().any(|process| Some(process.pid) == parent);
    Ok(Stop { finding, moment, in_child })
}

impl Stop<'_> {
    /// What the runtime is told.
    fn variable(&self) -> (&'static str, String) {
        let Moment { identity, ordinal, stamp, .. } = self.moment;
        (wire_env::MOMENTS, format!("{}{identity},{ordinal},{stamp}", wire_env::MOMENTS_STOP))
    }
}

/// Runs gdb, with files in `folder`.
fn gdb(options: &Debug, program: &Path, start: &Start, stop: &Stop, folder: &Path) -> Result<ExitCode> {
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok::<_, anyhow::Error>(path)
    };
    let start = write("start.json", &serde_json::to_vec(start).context("cannot write the start down")?)?;
    let script = write("script.gdb", script(stop, &start, options)?.as_bytes())?;
    let mut command = Command::new("gdb");
    command.arg("-q").arg("-x").arg(script);
    if options.batch {
        command.arg("-batch");
    }
    command.args(&options.gdb).arg(program);
    let status = outlive(&mut command).context("cannot run gdb: install it (Debian: apt install gdb)")?;
    Ok(ExitCode::from(status.code().unwrap_or(128 + status.signal().unwrap_or(0)) as u8))
}

/// What gdb is told. The argument of the runtime's function says where the
/// program goes on: the frame with that address is the program's.
fn script(stop: &Stop, start: &Path, options: &Debug) -> Result<String> {
    let own = env::current_exe().context("cannot find this program's own path")?;
    let wrapper = format!("{} start {}", quoted(&own), quoted(start));
    let follow = if stop.in_child { "child" } else { "parent" };
    let (at_the_end, otherwise) = match options.batch {
        true => ("bt\ninfo locals\nkill\nquit 0\n".to_owned(), format!("quit {NOT_REPEATED}\n")),
        false => (String::new(), String::new()),
    };
    let Known { allocated, leaked, .. } = stop.finding;
    let leaked = leaked.as_deref().unwrap_or("unknown code");
    Ok(format!(
        "set pagination off
set confirm off
set follow-fork-mode {follow}
set exec-wrapper {wrapper}
set $leakscope_next = 0
tbreak *{here}
commands
silent
set $leakscope_next = $rdi
end
run
if $leakscope_next == 0
echo leakscope: the program does not repeat: it did not come to this moment again\\n
{otherwise}else
while $pc != $leakscope_next
up-silently
end
tbreak *$leakscope_next
echo leakscope: {id}: the last pointer goes here, in {leaked}\\n
echo leakscope: the block was allocated in {allocated}; `continue` goes on to just after the loss\\n
frame
{at_the_end}end
",
        here = wire_env::LEAK_HERE,
        id = stop.finding.short_id(),
        leaked = escaped(leaked),
        allocated = escaped(allocated),
    ))
}

/// For gdb's `echo`.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
}

/// For the shell that gdb uses.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}
