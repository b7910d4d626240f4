//! What can go wrong before, after or instead of a capture. What goes wrong
//! inside a build is a [`crate::Failure`] in the store.

use std::io;
use std::path::PathBuf;

use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("no build command: give it after `--`, as in `leakscope build -- make`")]
    NoCommand,
    #[error("cannot run {program}: {source}")]
    Run { program: String, source: io::Error },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("no such file: {}", .0.display())]
    NoSuchFile(PathBuf),
    #[error("{} is neither an ELF program nor a shared library", .0.display())]
    NotAProgram(PathBuf),
    #[error(
        "{} is a folder: build what is in it with `leakscope build -- make`, or whatever builds it, then give the program",
        .0.display()
    )]
    Folder(PathBuf),
    #[error(
        "{} was not captured: build it with `leakscope build -- <your build command>`, from clean if it is up to date",
        .0.display()
    )]
    NotCaptured(PathBuf),
    #[error("{} is no compile_commands.json: {reason}", path.display())]
    NotACompilationDatabase { path: PathBuf, reason: String },
    #[error("{} is no C or C++ source: expected a name like a.c or a.cc", .0.display())]
    NotASource(PathBuf),
    #[error("{} does not compile:\n{messages}", path.display())]
    Source { path: PathBuf, messages: String },
    #[error("{} has no debug info to tell its sources by: compile it with -g", .0.display())]
    NoDebugInfo(PathBuf),
    #[error(
        "{missing} of the {sources} sources of {} are not in the capture, or not as they are now, {} for one: \
         capture the compile_commands.json of this program again",
        path.display(), first.display()
    )]
    ForeignProgram { path: PathBuf, missing: usize, sources: usize, first: PathBuf },
}
