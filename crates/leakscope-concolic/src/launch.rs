//! Starts a program without a copy of this process: the memory of a search is
//! large, and a fork for each run copies its tables of pages, and then the
//! pages that the search writes to.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

use crate::sandbox::Sandbox;

/// A program, its arguments with its own name first, its variables as
/// `NAME=value`, its folder and standard input. What it puts out is dropped.
pub struct Launch {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    folder: CString,
    stdin: File,
    nowhere: File,
}

impl Launch {
    pub fn new(program: &Path, folder: &Path, stdin: File) -> io::Result<Launch> {
        Ok(Launch {
            program: text(program)?,
            arguments: Vec::new(),
            environment: Vec::new(),
            folder: text(folder)?,
            stdin,
            nowhere: File::options().write(true).open("/dev/null")?,
        })
    }

    pub fn argument(&mut self, argument: impl AsRef<OsStr>) -> io::Result<()> {
        self.arguments.push(text(argument)?);
        Ok(())
    }

    pub fn variable(&mut self, name: &str, value: impl AsRef<OsStr>) -> io::Result<()> {
        let both = [name.as_bytes(), b"=", value.as_ref().as_bytes()].concat();
        self.environment.push(text(OsStr::from_bytes(&both))?);
        Ok(())
    }

    /// Starts it in the sandbox; the number of the process.
    pub fn start(&self, sandbox: &Sandbox) -> io::Result<i32> {
        let list = |texts: &[CString]| -> Vec<*const c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([null()]).collect()
        };
        let (arguments, environment) = (list(&self.arguments), list(&self.environment));
        let mut child =
            Child { launch: self, sandbox, arguments: &arguments, environment: &environment, error: 0 };
        let mut stack = vec![0u128; STACK / 16];
        // SAFETY: the child has a stack of its own and shares all else, while
        // this thread waits until it has become the program or is gone. It
        // only makes system calls, and no handler of ours runs meanwhile.
        let process = unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let top = stack.as_mut_ptr().add(stack.len()).cast();
            let how = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let process = libc::clone(become_program, top, how, (&raw mut child).cast());
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            if process < 0 {
                return Err(error);
            }
            process
        };
        if child.error == 0 {
            return Ok(process);
        }
        // SAFETY: a child that is gone, and that nobody has waited for.
        unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) };
        Err(io::Error::from_raw_os_error(child.error))
    }
}

/// What the child needs before it becomes the program.
struct Child<'a> {
    launch: &'a Launch,
    sandbox: &'a Sandbox,
    arguments: &'a [*const c_char],
    environment: &'a [*const c_char],
    /// Why it did not.
    error: c_int,
}

const STACK: usize = 64 << 10;

extern "C" fn become_program(child: *mut c_void) -> c_int {
    // SAFETY: what `start` passed, which waits.
    let child = unsafe { &mut *child.cast::<Child<'_>>() };
    let Launch { program, folder, stdin, nowhere, .. } = child.launch;
    let done = |result: c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    let become_it = || -> io::Result<()> {
        // SAFETY: system calls with descriptors and texts that live through them;
        // dispositions of signals are the child's own.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            for (from, to) in [(stdin.as_raw_fd(), 0), (nowhere.as_raw_fd(), 1), (nowhere.as_raw_fd(), 2)] {
                done(libc::dup2(from, to))?;
            }
            done(libc::chdir(folder.as_ptr()))?;
            child.sandbox.enter()?;
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            let (arguments, environment) = (child.arguments.as_ptr(), child.environment.as_ptr());
            done(libc::execve(program.as_ptr(), arguments, environment))
        }
    };
    if let Err(error) = become_it() {
        child.error = error.raw_os_error().unwrap_or(libc::EINVAL);
    }
    // SAFETY: ends the child and nothing else.
    unsafe { libc::_exit(127) }
}

fn text(text: impl AsRef<OsStr>) -> io::Result<CString> {
    CString::new(text.as_ref().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
