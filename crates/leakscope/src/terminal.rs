//! The terminal for a live view: its size, single keys, and its state put back
//! at the end.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Keys that a view may want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Letter(char),
    Enter,
    Up,
    Down,
}

/// A terminal that shows a view instead of lines, until it is dropped.
pub struct Terminal {
    before: libc::termios,
}

impl Terminal {
    /// `None` where standard input and output are not both a terminal.
    pub fn open() -> Option<Terminal> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return None;
        }
        // SAFETY: asks for and sets the state of our own terminal.
        let before = unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(0, &mut before) != 0 {
                return None;
            }
            let mut raw = before;
            raw.c_lflag &= !(libc::ICANON | libc::ECHO);
            libc::tcsetattr(0, libc::TCSANOW, &raw);
            before
        };
        print!("\x1b[?1049h\x1b[?25l");
        Some(Terminal { before })
    }

    /// Columns and lines.
    pub fn size(&self) -> (usize, usize) {
        // SAFETY: room for the answer.
        let size = unsafe {
            let mut size: libc::winsize = std::mem::zeroed();
            libc::ioctl(1, libc::TIOCGWINSZ, &mut size);
            size
        };
        if size.ws_col == 0 { (100, 24) } else { (size.ws_col.into(), size.ws_row.into()) }
    }

    pub fn show(&self, text: &str) {
        let lines = text.replace('\n', "\x1b[K\r\n");
        print!("\x1b[H{lines}\x1b[K\x1b[J");
        let _ = io::stdout().flush();
    }

    /// The next key, if one comes in time.
    pub fn key(&self, patience: Duration) -> Option<Key> {
        let mut wanted = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        let mut bytes = [0; 8];
        // SAFETY: one descriptor, and a buffer of that length.
        let count = unsafe {
            if libc::poll(&mut wanted, 1, patience.as_millis() as i32) <= 0 {
                return None;
            }
            libc::read(0, bytes.as_mut_ptr().cast(), bytes.len())
        };
        match &bytes[..count.max(0) as usize] {
            b"\x1b[A" | b"\x1bOA" | b"k" => Some(Key::Up),
            b"\x1b[B" | b"\x1bOB" | b"j" => Some(Key::Down),
            [b'\n' | b'\r', ..] => Some(Key::Enter),
            [letter, ..] => Some(Key::Letter((*letter).into())),
            [] => Some(Key::Letter('q')),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        print!("\x1b[?25h\x1b[?1049l");
        let _ = io::stdout().flush();
        // SAFETY: puts back what `open` found.
        unsafe { libc::tcsetattr(0, libc::TCSANOW, &self.before) };
    }
}
