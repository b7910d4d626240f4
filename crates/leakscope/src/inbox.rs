//! Takes records of programs that can write no file: their runtime connects to
//! a socket and sends the record in pieces (`leakscope_wire::Piece`). Lines for
//! the user come the same way, and are shown at once.
//!
//! The socket is an abstract one: a program that changed its root or its user,
//! or runs on a full disk, still finds it. Anybody on the machine can connect,
//! so a sender must be of our own user; root takes records of all users, since
//! a program that gave up its rights is one of them.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
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

impl Inbox {
    /// Listens under a name that no other run has: that of its folder.
    pub fn open(folder: &std::path::Path) -> io::Result<Inbox> {
        let unique = folder.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("leakscope-{}-{}", std::process::id(), &unique[..unique.len().min(64)]);
        let listener = Arc::new(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?);
        let ours = Arc::clone(&listener);
        Ok(Inbox { name: name.into(), listener, receiver: thread::spawn(move || receive_all(&ours)) })
    }

    /// What the runtime is told.
    pub fn name(&self) -> &OsString {
        &self.name
    }

    /// Whole records of all that connected until now.
    pub fn close(self) -> Vec<Vec<u8>> {
        // SAFETY: our own socket. Those who wait are accepted, then it ends.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RD) };
        self.receiver.join().unwrap_or_default()
    }
}

fn receive_all(listener: &UnixListener) -> Vec<Vec<u8>> {
    let records = Mutex::new(Vec::new());
    thread::scope(|scope| {
        while let Ok((sender, _)) = listener.accept() {
            let records = &records;
            scope.spawn(move || {
                if is_trusted(&sender)
                    && let Ok(Some(record)) = receive(sender)
                    && let Ok(mut records) = records.lock()
                {
                    records.push(record);
                }
            });
        }
    });
    records.into_inner().unwrap_or_default()
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
