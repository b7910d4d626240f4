//! Takes records of programs that can write no file: their runtime connects to
//! a socket and sends the record in pieces (`leakscope_wire::Piece`). Lines for
//! the user come the same way, and are shown at once.
//!
//! The socket is an abstract one: a program that changed its root or its user,
//! or runs on a full disk, still finds it. Anybody on the machine can connect,
//! so a sender must be of our own user; root takes records of all users, since
//! a program that gave up its rights is one of them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use leakscope_wire::{NOTICE, Piece};
use zerocopy::{FromZeros, IntoBytes};

/// How long a sender may be silent: it may be looking through a large heap.
const PATIENCE: Duration = Duration::from_secs(60);

/// No line for the user is longer.
const LINE_MAX: u64 = 1024;

pub struct Inbox {
    name: OsString,
    listener: Arc<UnixListener>,
    receiver: JoinHandle<Vec<Vec<u8>>>,
}

/// What came and was put beside the records that the program wrote itself.
#[derive(Default)]
struct Received {
    number: u64,
    /// The oldest first, with their sizes.
    files: VecDeque<(PathBuf, u64)>,
    /// Records for which there was no room.
    homeless: Vec<Vec<u8>>,
}

impl Inbox {
    /// Listens under a name that no other run has: that of its folder, where what
    /// comes is put at once. Of more bytes than `most` the oldest records go.
    pub fn open(folder: &Path, most: Option<u64>) -> io::Result<Inbox> {
        // One of the last two names of a temporary folder is its own.
        let names = folder
            .iter()
            .rev()
            .take(2)
            .map(|name| name.to_string_lossy().replace(|at: char| !at.is_ascii(), ""));
        let mut name = format!("leakscope-{}-{}", std::process::id(), names.collect::<Vec<_>>().join("-"));
        name.truncate(96);
        let listener = Arc::new(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?);
        let (ours, folder) = (Arc::clone(&listener), folder.to_owned());
        let receiver = thread::spawn(move || receive_all(&ours, &folder, most.unwrap_or(u64::MAX)));
        Ok(Inbox { name: name.into(), listener, receiver })
    }

    /// What the runtime is told.
    pub fn name(&self) -> &OsString {
        &self.name
    }

    /// Waits for all that connected until now. Returns the records for which the
    /// folder had no room.
    pub fn close(self) -> Vec<Vec<u8>> {
        // SAFETY: our own socket. Those who wait are accepted, then it ends.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RD) };
        self.receiver.join().unwrap_or_default()
    }
}

fn receive_all(listener: &UnixListener, folder: &Path, most: u64) -> Vec<Vec<u8>> {
    let received = Mutex::new(Received::default());
    thread::scope(|scope| {
        while let Ok((sender, _)) = listener.accept() {
            let received = &received;
            scope.spawn(move || {
                if is_trusted(&sender)
                    && let Ok(Some(record)) = receive(sender)
                    && let Ok(mut received) = received.lock()
                {
                    received.keep(record, folder, most);
                }
            });
        }
    });
    received.into_inner().unwrap_or_default().homeless
}

impl Received {
    /// A file gets its name when it is complete, as those of the program do.
    fn keep(&mut self, record: Vec<u8>, folder: &Path, most: u64) {
        let path = folder.join(format!("received-{}.record", self.number));
        let partial = path.with_extension("partial");
        self.number += 1;
        if fs::write(&partial, &record).and_then(|()| fs::rename(&partial, &path)).is_err() {
            let _ = fs::remove_file(partial);
            return self.homeless.push(record);
        }
        self.files.push_back((path, record.len() as u64));
        while self.files.len() > 1 && self.files.iter().map(|(_, bytes)| bytes).sum::<u64>() > most {
            let _ = self.files.pop_front().map(|(oldest, _)| fs::remove_file(oldest));
        }
    }
}

/// A whole record; none if it was a line for the user.
fn receive(mut sender: UnixStream) -> io::Result<Option<Vec<u8>>> {
    sender.set_read_timeout(Some(PATIENCE))?;
    let mut record = Vec::new();
    loop {
        let mut piece = Piece::new_zeroed();
        sender.read_exact(piece.as_mut_bytes())?;
        if piece.bytes == 0 {
            return Ok(Some(record));
        }
        if piece.offset == NOTICE {
            let mut line = String::new();
            (&mut sender).take(LINE_MAX.min(piece.bytes)).read_to_string(&mut line)?;
            eprintln!("leakscope: {}", line.replace(char::is_control, "?"));
            return Ok(None);
        }
        let (start, length) = (piece.offset as usize, piece.bytes as usize);
        // Pieces have no gaps between them, so a larger place is not ours.
        if start > record.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::new();
        if (&mut sender).take(length as u64).read_to_end(&mut bytes)? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = start + length;
        record.resize(record.len().max(end), 0);
        record[start..end].copy_from_slice(&bytes);
    }
}

fn is_trusted(sender: &UnixStream) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let mut bytes = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: a plain query into a structure of the size given.
    let user = unsafe {
        let place = (&raw mut peer).cast();
        libc::getsockopt(sender.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut bytes);
        libc::geteuid()
    };
    user == 0 || peer.uid == user
}
