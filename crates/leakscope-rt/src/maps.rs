//! The process's memory as the kernel lists it in `/proc/thread-self/maps`
//! (`self` is empty when the main thread has ended before the others).

use crate::sys::File;

#[derive(Clone, Copy, Default)]
pub struct Mapping {
    pub start: usize,
    pub end: usize,
    pub readable: bool,
    pub writable: bool,
    pub shared: bool,
    name: [u8; 16],
}

impl Mapping {
    /// Whether the file's path, or the kernel's name for it, begins so.
    pub fn is_named(&self, prefix: &[u8]) -> bool {
        self.name.starts_with(prefix)
    }
}

/// Bounds of the mapping around `address`.
pub fn around(address: usize) -> Option<(usize, usize)> {
    let mut found = None;
    for_each(|mapping| {
        if (mapping.start..mapping.end).contains(&address) {
            found = Some((mapping.start, mapping.end));
        }
    });
    found
}

/// Calls `f` for each mapping, by address. Returns whether there was any.
pub fn for_each(mut f: impl FnMut(&Mapping)) -> bool {
    let Some(file) = File::open(c"/proc/thread-self/maps") else { return false };
    let mut any = false;
    let mut buffer = [0; 512];
    let mut line = Line::default();
    loop {
        let count = file.read(&mut buffer);
        if count == 0 {
            break;
        }
        for &byte in &buffer[..count] {
            if byte == b'\n' {
                f(&line.mapping);
                any = true;
                line = Line::default();
            } else {
                line.push(byte);
            }
        }
    }
    file.close();
    any
}

/// A line that is being read: `start-end rwxp offset device inode  name`.
#[derive(Default)]
struct Line {
    field: usize,
    in_gap: bool,
    column: usize,
    mapping: Mapping,
}

impl Line {
    fn push(&mut self, byte: u8) {
        if self.field < 6 && matches!(byte, b' ' | b'-') && !(self.field == 2 && byte == b'-') {
            self.in_gap = true;
            return;
        }
        if self.in_gap {
            self.in_gap = false;
            self.field += 1;
            self.column = 0;
        }
        let mapping = &mut self.mapping;
        match (self.field, self.column) {
            (0, _) => mapping.start = mapping.start * 16 + digit(byte),
            (1, _) => mapping.end = mapping.end * 16 + digit(byte),
            (2, 0) => mapping.readable = byte == b'r',
            (2, 1) => mapping.writable = byte == b'w',
            (2, 3) => mapping.shared = byte == b's',
            (6, column) if column < mapping.name.len() => mapping.name[column] = byte,
            _ => {}
        }
        self.column += 1;
    }
}

fn digit(byte: u8) -> usize {
    usize::from(match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20).wrapping_sub(b'a') + 10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, range: (usize, usize), flags: &str, name: &str) {
        let mut line = Line::default();
        text.bytes().for_each(|byte| line.push(byte));
        let mapping = line.mapping;
        assert_eq!((mapping.start, mapping.end), range);
        assert_eq!(mapping.readable, flags.contains('r'));
        assert_eq!(mapping.writable, flags.contains('w'));
        assert_eq!(mapping.shared, flags.contains('s'));
        assert!(mapping.is_named(name.as_bytes()));
        assert_eq!(name.is_empty(), mapping.name[0] == 0);
    }

    #[test]
    fn lines_of_the_kernel() {
        check(
            "55d0-55d1 r--p 00000000 fe:00 393308                     /usr/bin/cat",
            (0x55d0, 0x55d1),
            "r",
            "/usr/bin/cat",
        );
        check(
            "7ffc0a000000-7ffc0a021000 rw-p 00000000 00:00 0          [stack]",
            (0x7ffc0a000000, 0x7ffc0a021000),
            "rw",
            "[stack]",
        );
        check(
            "7f00-7f10 rw-s 00000000 00:01 12   /dev/zero (deleted)",
            (0x7f00, 0x7f10),
            "rws",
            "/dev/zero (delet",
        );
        check("7f00-7f10 ---p 00000000 00:00 0 ", (0x7f00, 0x7f10), "", "");
    }
}
