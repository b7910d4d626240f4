//! The folder for records stays below a size: the oldest records go first,
//! those of this process before those of others. This process's are told by
//! their numbers, so that a clock which jumps does not matter.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::record::Occasion;
use crate::text::Text;

/// Bytes that all records may take; 0 for no limit.
static MOST: AtomicU64 = AtomicU64::new(0);
static ALWAYS: AtomicBool = AtomicBool::new(false);

pub fn set_most(bytes: u64) {
    MOST.store(bytes, Ordering::Relaxed);
}

/// Says that records are wanted which say that nothing is wrong.
pub fn write_always() {
    ALWAYS.store(true, Ordering::Relaxed);
}

pub fn writes_always() -> bool {
    ALWAYS.load(Ordering::Relaxed)
}

/// Removes what is too much, but never the record that was just written.
pub fn make_room(folder: &[u8], written: &Occasion) {
    let most = MOST.load(Ordering::Relaxed);
    let own = written.process();
    if most == 0 {
        return;
    }
    loop {
        let mut oldest = Oldest { total: 0, own: false, time: i64::MAX, name: Text::new() };
        if !for_each(folder, |name, bytes, time| {
            oldest.total += bytes;
            match name.to_bytes().strip_prefix(own.as_bytes()).map(number) {
                Some(number) if number == i64::from(written.sequence) => {}
                Some(number) => oldest.consider(name, true, number),
                None => oldest.consider(name, false, time),
            }
        }) || oldest.total <= most
            || oldest.name.as_bytes().is_empty()
        {
            return;
        }
        let mut path = Text::<4096>::new();
        path.push(folder).push(b"/").push(oldest.name.as_bytes());
        // SAFETY: a C string.
        if unsafe { libc::unlink(path.as_c_str().as_ptr()) } != 0 {
            return;
        }
    }
}

/// The number that a name begins with.
fn number(name: &[u8]) -> i64 {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: i64, byte| number.wrapping_mul(10) + i64::from(byte - b'0'))
}

/// What goes next, and the size of all. Its time is the number of a record of
/// this process.
struct Oldest {
    total: u64,
    own: bool,
    time: i64,
    name: Text<256>,
}

impl Oldest {
    fn consider(&mut self, name: &CStr, own: bool, time: i64) {
        if (own, -time) > (self.own, -self.time) || self.name.as_bytes().is_empty() {
            (self.own, self.time) = (own, time);
            self.name = Text::new();
            self.name.push(name.to_bytes());
        }
    }
}

/// Calls `f` with name, size and time of each record in a folder.
fn for_each(folder: &[u8], mut f: impl FnMut(&CStr, u64, i64)) -> bool {
    let mut path = Text::<4096>::new();
    path.push(folder);
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a C string.
    let descriptor = unsafe { libc::open(path.as_c_str().as_ptr(), flags) };
    if descriptor < 0 {
        return false;
    }
    let mut buffer = [0_u64; 512];
    loop {
        // SAFETY: the buffer is as large as said.
        let count = unsafe {
            libc::syscall(libc::SYS_getdents64, descriptor, buffer.as_mut_ptr(), size_of_val(&buffer))
        };
        let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0) else { break };
        let mut at = 0;
        while at < count {
            // SAFETY: the kernel wrote entries up to `count`, each with its
            // length and a name that ends with zero.
            let (length, name) = unsafe {
                let entry = buffer.as_ptr().cast::<u8>().add(at);
                let length = entry.add(16).cast::<u16>().read_unaligned() as usize;
                (length, CStr::from_ptr(entry.add(19).cast()))
            };
            at += length.max(1);
            if name.to_bytes().ends_with(b".record") {
                // SAFETY: a C string, and room for the answer.
                unsafe {
                    let mut state: libc::stat = core::mem::zeroed();
                    if libc::fstatat(descriptor, name.as_ptr(), &mut state, 0) == 0 {
                        f(
                            name,
                            state.st_size as u64,
                            state.st_mtime * 1000 + state.st_mtime_nsec / 1_000_000,
                        );
                    }
                }
            }
        }
    }
    // SAFETY: opened above.
    unsafe { libc::close(descriptor) };
    true
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::*;
    use leakscope_wire::Reason;

    #[test]
    fn own_records_go_by_number_and_those_of_others_by_time() {
        let folder = std::env::temp_dir().join(format!("leakscope-rotation-{}", std::process::id()));
        let check = |records: &[(&str, u64)], most: u64, expected: &[&str]| {
            fs::create_dir(&folder).unwrap();
            for &(name, second) in records {
                let path = folder.join(name);
                fs::write(&path, [0; 100]).unwrap();
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
                File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
            }
            set_most(most);
            let written = Occasion {
                reason: Reason::Snapshot,
                status: 0,
                pid: 5,
                started: 77,
                sequence: 10,
                limits: 0,
                fault: None,
            };
            make_room(folder.to_str().unwrap().as_bytes(), &written);
            let mut left: Vec<String> = fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            left.sort();
            fs::remove_dir_all(&folder).unwrap();
            set_most(0);
            assert_eq!(left, expected);
        };
        // The clock was set back after the ninth.
        check(
            &[("5-77-8.record", 900), ("5-77-9.record", 901), ("5-77-10.record", 10)],
            200,
            &["5-77-10.record", "5-77-9.record"],
        );
        // A process that had the same number is another one.
        check(
            &[("5-33-2.record", 1), ("5-77-9.record", 901), ("5-77-10.record", 902)],
            200,
            &["5-33-2.record", "5-77-10.record"],
        );
        check(
            &[("5-33-2.record", 7), ("6-9-0.record", 6), ("5-77-10.record", 902)],
            200,
            &["5-33-2.record", "5-77-10.record"],
        );
        check(&[("5-77-10.record", 1)], 50, &["5-77-10.record"]);
    }
}
