//! Where the bytes of a record go: a file or, where none can be written, the
//! socket on which `leakscope run` listens. The socket has a name in no file
//! system: a program that gave up its user or changed its root finds it still.

use core::ffi::c_char;

use leakscope_wire as wire;
use zerocopy::IntoBytes;

use crate::life::system_call;
use crate::tool::OPTIONS;
use crate::vg;

pub enum Sink {
    File(i32),
    Socket(i32),
}

impl Sink {
    /// A new file.
    pub fn create(path: *const c_char) -> Option<Sink> {
        const CREATE: i32 = 0o1 | 0o100 | 0o1000;
        // SAFETY: a C string.
        let file = unsafe { vg::vgPlain_fd_open(path, CREATE, 0o600) };
        (file >= 0).then_some(Sink::File(file))
    }

    /// The socket, if somebody listens.
    pub fn connect() -> Option<Sink> {
        const SOCKET: usize = 41;
        const CONNECT: usize = 42;
        const UNIX: usize = 1;
        const STREAM_CLOSED_ON_EXEC: usize = 0o2_000_001;
        let name = OPTIONS.get().socket;
        // The family, a zero byte for a name in no file system, the name.
        let mut address = [0; 110];
        let bytes = 3 + name.len();
        if name.is_empty() || bytes > address.len() {
            return None;
        }
        address[0] = UNIX as u8;
        address[3..bytes].copy_from_slice(name);
        // SAFETY: the address is valid for the length given.
        unsafe {
            let socket = system_call(SOCKET, [UNIX, STREAM_CLOSED_ON_EXEC, 0]);
            if socket < 0 {
                return None;
            }
            if system_call(CONNECT, [socket as usize, address.as_ptr() as usize, bytes]) < 0 {
                vg::vgPlain_close(socket as i32);
                return None;
            }
            Some(Sink::Socket(socket as i32))
        }
    }

    /// Writes so far from the start. False if it cannot.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> bool {
        const FROM_START: i32 = 0;
        match *self {
            // SAFETY: our own descriptor, and the buffer's length.
            Sink::File(file) => unsafe {
                vg::vgPlain_lseek(file, offset as i64, FROM_START) >= 0
                    && all(bytes, |rest| {
                        vg::vgPlain_write(file, rest.as_ptr().cast(), rest.len() as i32) as isize
                    })
            },
            Sink::Socket(socket) => {
                let piece = wire::Piece { offset, bytes: bytes.len() as u64 };
                send(socket, piece.as_bytes()) && send(socket, bytes)
            }
        }
    }

    /// Ends a record that is whole. False if its reader could not be told.
    pub fn finish(self) -> bool {
        let told = match self {
            Sink::File(_) => true,
            Sink::Socket(_) => self.write_at(&[], 0),
        };
        self.close();
        told
    }

    pub fn close(self) {
        let (Sink::File(descriptor) | Sink::Socket(descriptor)) = self;
        // SAFETY: our own descriptor.
        unsafe { vg::vgPlain_close(descriptor) };
    }
}

/// Without a signal if nobody listens any more.
fn send(socket: i32, bytes: &[u8]) -> bool {
    const SEND_MESSAGE: usize = 46;
    const NO_SIGNAL: usize = 0x4000;
    all(bytes, |rest| {
        let part = [rest.as_ptr() as usize, rest.len()];
        let message = [0, 0, &raw const part as usize, 1, 0, 0, 0];
        // SAFETY: a message of one part, which is the buffer.
        unsafe { system_call(SEND_MESSAGE, [socket as usize, &raw const message as usize, NO_SIGNAL]) }
    })
}

/// Calls `write`, which says how many bytes it took, until all are gone.
fn all(mut rest: &[u8], write: impl Fn(&[u8]) -> isize) -> bool {
    const INTERRUPTED: isize = -4;
    while !rest.is_empty() {
        match write(rest) {
            INTERRUPTED => {}
            count if count <= 0 => return false,
            count => rest = &rest[count as usize..],
        }
    }
    true
}
