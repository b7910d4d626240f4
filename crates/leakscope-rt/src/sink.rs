//! Where the bytes of a record go: a file in the folder for records or, where
//! none can be written, a socket on which `leakscope run` listens.
//!
//! A file may be impossible for many reasons: the program limited the size of
//! its files, gave up its user, changed its root, or the disk is full. The
//! socket has a name in no file system, so none of these matter to it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use leakscope_wire as wire;
use zerocopy::IntoBytes;

use crate::sys::File;
use crate::text::Text;

/// Name of the socket, without the zero byte that makes it one of no file
/// system. Set once; of length 0 if nobody listens.
static NAME: Name = Name { bytes: core::cell::UnsafeCell::new([0; NAME_MAX]), length: AtomicUsize::new(0) };

const NAME_MAX: usize = 107;

struct Name {
    bytes: core::cell::UnsafeCell<[u8; NAME_MAX]>,
    length: AtomicUsize,
}

// SAFETY: written once, before the program has a second thread.
unsafe impl Sync for Name {}

/// Says on which socket somebody listens.
pub fn set_socket(name: &[u8]) {
    if name.len() <= NAME_MAX {
        // SAFETY: at the start, with one thread.
        unsafe { (&mut *NAME.bytes.get())[..name.len()].copy_from_slice(name) };
        NAME.length.store(name.len(), Ordering::Release);
    }
}

pub enum Sink {
    File(File),
    Socket(File),
}

impl Sink {
    /// A new file at `path`, or else the socket.
    pub fn open(path: &CStr) -> Option<Sink> {
        File::create(path).map(Sink::File).or_else(|| connect().map(Sink::Socket))
    }

    /// Writes so far from the start. What a file cannot take goes to the
    /// socket, and what the file has already goes first.
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> bool {
        match *self {
            Sink::File(file) => file.write_all_at(bytes, offset) || self.leave_file(file, bytes, offset),
            Sink::Socket(socket) => send_piece(socket, bytes, offset),
        }
    }

    #[cold]
    fn leave_file(&mut self, file: File, bytes: &[u8], offset: u64) -> bool {
        let Some(socket) = connect() else { return false };
        let (mut part, mut moved) = ([0; 4096], 0);
        loop {
            match file.read_at(&mut part, moved) {
                0 => break,
                count if !send_piece(socket, &part[..count], moved as u64) => return false,
                count => moved += count,
            }
        }
        file.close();
        *self = Sink::Socket(socket);
        send_piece(socket, bytes, offset)
    }

    /// Ends a record that is whole, of which the socket must be told. False
    /// if it could not be.
    pub fn finish(&self) -> bool {
        match *self {
            Sink::File(_) => true,
            Sink::Socket(socket) => send_piece(socket, &[], 0),
        }
    }

    pub fn close(self) {
        let (Sink::File(file) | Sink::Socket(file)) = self;
        file.close();
    }
}

/// A line for the user: through the socket, or where nobody listens, to the
/// program's standard error.
pub fn tell(line: &[u8]) {
    let told = connect().is_some_and(|socket| {
        let sent = send_piece(socket, line, wire::NOTICE);
        socket.close();
        sent
    });
    if !told {
        File(2).write_all(b"leakscope: ");
        File(2).write_all(line);
        File(2).write_all(b"\n");
    }
}

/// Where the program's standard error led when it began: device and number.
static ERROR_OUTPUT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

pub fn note_error_output() {
    for (kept, now) in ERROR_OUTPUT.iter().zip(error_output()) {
        kept.store(now, Ordering::Relaxed);
    }
}

fn error_output() -> [u64; 2] {
    // SAFETY: a query into a local structure.
    unsafe {
        let mut state: libc::stat = core::mem::zeroed();
        libc::fstat(2, &mut state);
        [state.st_dev, state.st_ino]
    }
}

/// A line for the user of a program that must go on as if nothing was said. It
/// may have closed its standard error, and the descriptor may be that of a
/// connection by now: then nothing is said. Nor where somebody listens, who can
/// take what no file takes.
pub fn mention(line: &[u8]) {
    let known = ERROR_OUTPUT.each_ref().map(|kept| kept.load(Ordering::Relaxed));
    let is_the_same = known != [0; 2] && known == error_output();
    if NAME.length.load(Ordering::Acquire) == 0 && is_the_same && takes_more() {
        let mut whole = Text::<5120>::new();
        // In one piece, as other threads write there too.
        File(2).write_all(whole.push(b"leakscope: ").push(line).push(b"\n").as_bytes());
    }
}

/// Whether standard error takes a line at once. Where nobody reads it any more, a
/// signal would end the program.
fn takes_more() -> bool {
    let mut asked = libc::pollfd { fd: 2, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one descriptor, and no time.
    unsafe { libc::poll(&mut asked, 1, 0) == 1 && asked.revents == libc::POLLOUT }
}

fn send_piece(socket: File, bytes: &[u8], offset: u64) -> bool {
    let piece = wire::Piece { offset, bytes: bytes.len() as u64 };
    socket.send_all(piece.as_bytes()) && socket.send_all(bytes)
}

fn connect() -> Option<File> {
    let length = NAME.length.load(Ordering::Acquire);
    if length == 0 {
        return None;
    }
    // SAFETY: not changed after its length was set.
    let name = unsafe { &(&*NAME.bytes.get())[..length] };
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as u16, sun_path: [0; 108] };
    for (place, &byte) in address.sun_path[1..].iter_mut().zip(name) {
        *place = byte as core::ffi::c_char;
    }
    let bytes = size_of::<libc::sa_family_t>() + 1 + length;
    // SAFETY: the address is valid for the length given.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return None;
        }
        if libc::connect(socket, (&raw const address).cast(), bytes as u32) != 0 {
            libc::close(socket);
            return None;
        }
        Some(File(socket))
    }
}
