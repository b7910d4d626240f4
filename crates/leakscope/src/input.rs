//! Where a program's standard input comes from, and how to give it the same
//! once more.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// More than this is not kept.
const KEPT_MAX: u64 = 1 << 30;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// A file or device, from a place on. `changed` is when its content was.
    File {
        path: PathBuf,
        offset: u64,
        bytes: u64,
        changed: (i64, i64),
    },
    Terminal,
    /// A pipe or socket: gone once it is read.
    Pipe,
    Closed,
}

impl Input {
    /// Of this process, before anybody reads from it.
    pub fn of_stdin() -> Input {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Input::Terminal;
        }
        let link = Path::new("/proc/self/fd").join(stdin.as_raw_fd().to_string());
        let Ok(path) = fs::read_link(&link) else { return Input::Closed };
        let (Ok(own), Ok(named)) = (fs::metadata(&link), fs::metadata(&path)) else { return Input::Pipe };
        let is_same = (own.dev(), own.ino()) == (named.dev(), named.ino());
        if !is_same || own.file_type().is_fifo() || own.file_type().is_socket() {
            return Input::Pipe;
        }
        // SAFETY: a query about a descriptor.
        let offset = unsafe { libc::lseek(stdin.as_raw_fd(), 0, libc::SEEK_CUR) };
        Input::File {
            path,
            offset: u64::try_from(offset).unwrap_or(0),
            bytes: own.len(),
            changed: (own.mtime(), own.mtime_nsec()),
        }
    }

    /// Whether it can be read again though nobody kept it.
    pub fn repeats(&self) -> bool {
        matches!(self, Input::File { .. } | Input::Closed)
    }

    /// Reads a pipe to its end into a file, which can be read more than once.
    pub fn kept_at(self, place: &Path) -> Result<Input> {
        if self != Input::Pipe {
            return Ok(self);
        }
        let cannot = || format!("cannot keep the program's input at {}", place.display());
        let mut file = File::create(place).with_context(cannot)?;
        let bytes = io::copy(&mut io::stdin().lock().take(KEPT_MAX + 1), &mut file).with_context(cannot)?;
        if bytes > KEPT_MAX {
            let _ = fs::remove_file(place);
            bail!("the program's input is longer than 1 GiB: put it into a file, and give it by `<`");
        }
        let found = file.metadata().with_context(cannot)?;
        let changed = (found.mtime(), found.mtime_nsec());
        Ok(Input::File { path: place.to_owned(), offset: 0, bytes, changed })
    }

    /// What is in a pipe that nobody writes to any more: as a pipe, and left in it.
    pub fn copy(&self) -> Option<OwnedFd> {
        let pipe = io::stdin().as_raw_fd();
        let (mut ready, mut bytes) = (libc::pollfd { fd: pipe, events: libc::POLLIN, revents: 0 }, 0);
        // SAFETY: one entry, and one integer.
        let is_closed = unsafe {
            libc::poll(&raw mut ready, 1, 0) > 0
                && ready.revents & libc::POLLHUP != 0
                && libc::ioctl(pipe, libc::FIONREAD, &raw mut bytes) == 0
        };
        if *self != Input::Pipe || !is_closed {
            return None;
        }
        let (reader, writer) = io::pipe().ok()?;
        // SAFETY: calls about pipes; the new one is made as large as the old one.
        let copied = unsafe {
            libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, libc::fcntl(pipe, libc::F_GETPIPE_SZ));
            libc::tee(pipe, writer.as_raw_fd(), bytes as usize, libc::SPLICE_F_NONBLOCK)
        };
        (copied == bytes as isize || bytes == 0).then(|| reader.into())
    }

    /// The same input once more.
    pub fn again(&self) -> Result<File> {
        match self {
            Input::File { path, offset, bytes, changed } => {
                let cannot = || format!("cannot read the program's input, {}", path.display());
                let mut file = File::open(path).with_context(cannot)?;
                let found = file.metadata().with_context(cannot)?;
                if found.is_file() {
                    if (found.len(), (found.mtime(), found.mtime_nsec())) != (*bytes, *changed) {
                        bail!("the program's input, {}, has changed since: run it again", path.display());
                    }
                    file.seek(SeekFrom::Start(*offset)).with_context(cannot)?;
                }
                Ok(file)
            }
            Input::Terminal => Ok(File::open("/dev/tty").context("there is no terminal to read from")?),
            Input::Pipe => bail!(
                "the program's input came through a pipe and was not kept: run it with --keep-input, or give the \
                 input by `<`"
            ),
            Input::Closed => Ok(File::open("/dev/null")?),
        }
    }
}
