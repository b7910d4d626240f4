//! Stands in for a compiler of the user's build: runs the real one with the
//! user's arguments, and captures what it did if it succeeded. Nothing that
//! goes wrong here reaches the build.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};

use crate::command::{Command, Driver, Stage};
use crate::compile::Compilation;
use crate::link;
use crate::linker;
use crate::real::{Real, is_linker_name};
use crate::response;
use crate::session::Session;

/// Runs as the compiler `invoked_as` (`argv[0]`). Outside a capture, and for
/// what is not worth capturing, it becomes the real compiler.
pub fn shim(invoked_as: &OsStr, arguments: Vec<OsString>) -> ExitCode {
    let Some(real) = Real::find(invoked_as, arguments) else {
        let name = Path::new(invoked_as).file_name().unwrap_or(invoked_as).to_string_lossy();
        eprintln!("leakscope: {name} is not in PATH besides leakscope's stand-in for it");
        return ExitCode::from(127);
    };
    match Task::of(&real) {
        Some(task) => task.run(&real),
        None => {
            let error = real.command().exec();
            eprintln!("leakscope: cannot run {}: {error}", real.program.display());
            ExitCode::from(126)
        }
    }
}

/// A call of a compiler that is to be captured.
struct Task {
    session: Session,
    compilation: Compilation,
    /// For a linker that is called directly.
    linker: Option<linker::Name>,
}

impl Task {
    fn of(real: &Real) -> Option<Task> {
        let session = Session::from_environment()?;
        let directory = env::current_dir().ok()?;
        let (compiler, arguments) = real.compiler()?;
        let arguments = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let arguments = response::expand(arguments, &directory);
        let linker = compiler.file_name().and_then(OsStr::to_str).filter(|name| is_linker_name(name));
        let linker = linker.map(|name| linker::Name(name.to_owned()));
        let command = match &linker {
            Some(name) => name.as_driver(&arguments)?,
            None => Command::parse(Driver::of(&compiler), &arguments),
        };
        let compilation = Compilation {
            compiler,
            arguments,
            command,
            directory,
            stdin: None,
            search_path: real.search_path.clone(),
        };
        let worth = compilation.command.stage != Stage::Probe && !compilation.is_probe_of_configure();
        if !worth {
            session.probe();
            return None;
        }
        Some(Task { session, compilation, linker })
    }

    fn run(mut self, real: &Real) -> ExitCode {
        let status = if self.compilation.command.reads_stdin() {
            let mut text = Vec::new();
            let status = io::stdin().read_to_end(&mut text).and_then(|_| run_with_stdin(real, &text));
            self.compilation.stdin = Some(text);
            status
        } else {
            real.command().status()
        };
        match status {
            Ok(status) if status.success() => {
                self.capture();
                ExitCode::SUCCESS
            }
            Ok(status) => end_like(status),
            Err(error) => {
                eprintln!("leakscope: cannot run {}: {error}", real.program.display());
                ExitCode::from(126)
            }
        }
    }

    fn capture(self) {
        match self.compilation.command.stage {
            Stage::Compile => self.compilation.capture_objects(&self.session),
            Stage::Link => link::capture(&self.session, &self.compilation, self.linker.as_ref()),
            Stage::Probe => {}
        }
    }
}

fn run_with_stdin(real: &Real, text: &[u8]) -> io::Result<ExitStatus> {
    let mut child = real.command().stdin(Stdio::piped()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // A compiler that stops reading says why by itself.
        let _ = pipe.write_all(text);
    }
    child.wait()
}

/// Ends this process the way the compiler ended: by the same signal, or with
/// the same code.
fn end_like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
        }
        return ExitCode::from(128u8.saturating_add(signal as u8));
    }
    ExitCode::from(status.code().unwrap_or(1) as u8)
}
