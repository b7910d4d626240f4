//! Where the input comes from: arguments, standard input, files, environment.
//!
//! A descriptor of an input file has a source. Bytes are numbered by their
//! place in the file, which libc's and the kernel's position tells; so only
//! what can be sought in is input, and the driver gives standard input as a
//! file.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU16, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::symbolic::{self as wire, Event, EventKind, source, wants};

use crate::shadow;
use crate::shared;
use crate::terms::{self, Known};

/// Sources of descriptors; 0 is none.
static DESCRIPTORS: [AtomicU16; 1024] = [const { AtomicU16::new(0) }; 1024];

/// Where a read of each came to the end, plus 1; 0 if none has.
static ENDS: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

const MOST_FILES: usize = 64;
/// Sizes of standard input and of files, in the order of their sources.
static SIZES: [AtomicU64; MOST_FILES + 1] = [const { AtomicU64::new(0) }; MOST_FILES + 1];
/// Hashes of the names of files and variables that are known.
static FILES: [AtomicU64; MOST_FILES] = [const { AtomicU64::new(0) }; MOST_FILES];
static VARIABLES: [AtomicU64; MOST_FILES] = [const { AtomicU64::new(0) }; MOST_FILES];

const MOST_ARGUMENTS: usize = 64;
static ARGUMENTS: [AtomicUsize; MOST_ARGUMENTS + 1] = [const { AtomicUsize::new(0) }; MOST_ARGUMENTS + 1];
static ARGUMENT_COUNT: AtomicI32 = AtomicI32::new(0);

pub fn start() {
    if let Some(size) = regular_size(0).filter(|_| shared::wants(wants::STDIN)) {
        SIZES[0].store(size, Ordering::Relaxed);
        DESCRIPTORS[0].store(source::STDIN, Ordering::Relaxed);
    }
}

fn regular_size(file: c_int) -> Option<u64> {
    // SAFETY: a structure of numbers, filled if the call succeeds.
    unsafe {
        let mut state: libc::stat = core::mem::zeroed();
        let is_regular = libc::fstat(file, &mut state) == 0 && state.st_mode & libc::S_IFMT == libc::S_IFREG;
        is_regular.then_some(state.st_size as u64)
    }
}

/// Gives the bytes of all arguments their terms: the term of their number.
///
/// # Safety
/// The arguments of `main`.
pub unsafe fn arguments(count: c_int, arguments: *mut *mut u8) -> u32 {
    if !shared::wants(wants::ARGUMENTS) {
        return 0;
    }
    if let Some(header) = shared::header() {
        // SAFETY: the header is mapped.
        unsafe { (*header).argument_count = count as u32 };
    }
    ARGUMENT_COUNT.store(count.min(MOST_ARGUMENTS as c_int), Ordering::Relaxed);
    for index in 1..(count as usize).min(MOST_ARGUMENTS) {
        // SAFETY: so many C strings are there.
        let text = unsafe { CStr::from_ptr((*arguments.add(index)).cast::<c_char>()) };
        ARGUMENTS[index].store(text.as_ptr() as usize, Ordering::Relaxed);
        ARGUMENTS[index + 1].store(text.as_ptr() as usize + text.count_bytes() + 1, Ordering::Relaxed);
        for (at, &value) in text.to_bytes_with_nul().iter().enumerate() {
            let term = terms::input(source::ARGUMENT + index as u16, at as u32, 8);
            shadow::set(text.as_ptr() as usize + at, Known { value: value.into(), term });
        }
    }
    terms::input(source::ARGUMENT_COUNT, 0, 32)
}

/// How far strings may be thought to go on behind their end.
const IMAGINED: usize = 24;

/// The byte of a string at `address + ahead`, where the string ends before:
/// arguments could be longer than they are. None behind other strings.
pub fn imagined(address: usize, end: usize, ahead: usize) -> Option<Known> {
    if ahead == 0 || ahead > IMAGINED {
        return None;
    }
    let count = ARGUMENT_COUNT.load(Ordering::Relaxed) as usize;
    let index = (1..count).find(|&index| {
        let start = ARGUMENTS[index].load(Ordering::Relaxed);
        (start..ARGUMENTS[index + 1].load(Ordering::Relaxed)).contains(&address)
    })?;
    let offset = end + ahead - ARGUMENTS[index].load(Ordering::Relaxed);
    Some(Known { value: 0, term: terms::input(source::ARGUMENT + index as u16, offset as u32, 8) })
}

/// A file was opened for reading: makes it input if the driver wants that.
pub fn opened(file: c_int, path: &CStr) {
    let Some(descriptor) = DESCRIPTORS.get(file as usize).filter(|_| file >= 0) else { return };
    descriptor.store(0, Ordering::Relaxed);
    ENDS[file as usize].store(0, Ordering::Relaxed);
    let Some(size) = regular_size(file) else { return };
    if let Some(stream) = of_file(path, size) {
        descriptor.store(stream.source, Ordering::Relaxed);
    }
}

/// The input that a regular file of this name and size is, if the driver wants
/// that.
pub fn of_file(path: &CStr, size: u64) -> Option<Stream> {
    if !shared::wants(wants::FILES) || !is_wanted(path) {
        return None;
    }
    let index = number_of(&FILES, path.to_bytes(), source::FILE)?;
    SIZES[index + 1].store(size, Ordering::Relaxed);
    Some(Stream { source: source::FILE + index as u16 })
}

/// A descriptor that a library opened by itself: what it is, the kernel says.
pub fn discovered(file: c_int) {
    let is_known = DESCRIPTORS.get(file as usize).is_none_or(|known| known.load(Ordering::Relaxed) != 0);
    if is_known || !shared::wants(wants::FILES) {
        return;
    }
    let (mut link, mut path, mut folder) = ([0u8; 32], [0u8; 4096], [0u8; 4096]);
    // SAFETY: rooms of the sizes given; each text is ended.
    unsafe {
        libc::snprintf(link.as_mut_ptr().cast(), link.len(), c"/proc/self/fd/%d".as_ptr(), file);
        let length = libc::readlink(link.as_ptr().cast(), path.as_mut_ptr().cast(), path.len() - 1);
        if length <= 0 || libc::getcwd(folder.as_mut_ptr().cast(), folder.len()).is_null() {
            return;
        }
        // As the program would name it in its own folder.
        let own = CStr::from_ptr(folder.as_ptr().cast()).to_bytes();
        let inside = path.starts_with(own) && path[own.len()] == b'/';
        let start = if inside { own.len() + 1 } else { 0 };
        opened(file, CStr::from_ptr(path[start..].as_ptr().cast()));
    }
}

/// Names of files that are input, or patterns for them.
pub fn patterns() -> impl Iterator<Item = &'static CStr> {
    // SAFETY: so many bytes are there, written before the program began.
    let patterns = shared::header().map_or(&[][..], |header| unsafe {
        let bytes = (*header).pattern_bytes as usize;
        core::slice::from_raw_parts(shared::region(wire::PATTERNS), bytes.min(wire::MAX_PATTERN_BYTES))
    });
    patterns.split_inclusive(|&byte| byte == 0).filter_map(|pattern| CStr::from_bytes_with_nul(pattern).ok())
}

fn is_wanted(path: &CStr) -> bool {
    // SAFETY: two C strings.
    patterns().any(|pattern| unsafe { fnmatch(pattern.as_ptr(), path.as_ptr(), 0) == 0 })
}

/// The number of a name, which is told when it is new.
fn number_of(known: &[AtomicU64], name: &[u8], first: u16) -> Option<usize> {
    let hash = leakscope_wire::name_hash(name) ^ name.len() as u64 | 1;
    for (index, entry) in known.iter().enumerate() {
        match entry.load(Ordering::Relaxed) {
            0 => {
                entry.store(hash, Ordering::Relaxed);
                let value = shared::keep_name(name);
                let event = shared::event(EventKind::Source, 0);
                shared::tell(Event { detail: first + index as u16, value, ..event });
                return Some(index);
            }
            before if before == hash => return Some(index),
            _ => {}
        }
    }
    None
}

pub fn closed(file: c_int) {
    if let Some(descriptor) = DESCRIPTORS.get(file as usize) {
        descriptor.store(0, Ordering::Relaxed);
    }
}

/// One descriptor became a copy of another.
pub fn copied(from: c_int, to: c_int) {
    if let (Some(from), Some(to)) = (DESCRIPTORS.get(from as usize), DESCRIPTORS.get(to as usize)) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A read came to the end of a file, which is here.
pub fn ended(file: c_int, at: u64) {
    if let Some(end) = ENDS.get(file as usize) {
        end.store(at + 1, Ordering::Relaxed);
    }
}

/// Whether a read came to the end here.
pub fn has_ended(file: c_int, at: u64) -> bool {
    ENDS.get(file as usize).is_some_and(|end| end.load(Ordering::Relaxed) == at + 1)
}

/// A descriptor that reads input.
#[derive(Clone, Copy)]
pub struct Stream {
    source: u16,
}

/// What a descriptor reads, if that is input.
pub fn stream(file: c_int) -> Option<Stream> {
    let source = DESCRIPTORS.get(file as usize)?.load(Ordering::Relaxed);
    (source != 0 && shared::header().is_some()).then_some(Stream { source })
}

/// Whether a function of which there is a model read standard input.
static READS_STDIN: AtomicBool = AtomicBool::new(false);

/// Whether all that was read of standard input was read by functions that there is no model of.
pub fn was_read_unseen() -> bool {
    // SAFETY: asks where the file is.
    let is_read = || unsafe { libc::lseek(0, 0, libc::SEEK_CUR) } > 0;
    shared::wants(wants::STDIN) && !READS_STDIN.load(Ordering::Relaxed) && is_read()
}

impl Stream {
    /// A byte of the file, which may lie behind its end.
    pub fn byte(self, at: u64, value: u8) -> Known {
        if self.source == source::STDIN {
            READS_STDIN.store(true, Ordering::Relaxed);
        }
        Known { value: value.into(), term: terms::input(self.source, at as u32, 8) }
    }

    /// How many bytes there are, of 64 bits.
    pub fn size(self) -> Known {
        let from = if self.source == source::STDIN { source::STDIN_SIZE } else { self.source + 0x1000 };
        Known { value: size_of_source(from).unwrap_or(0), term: terms::input(from, 0, 64) }
    }

    /// Gives memory that was read from here its terms.
    pub fn fill(self, at: u64, address: usize, bytes: usize) {
        for index in 0..bytes {
            // SAFETY: just read into.
            let value = unsafe { ((address + index) as *const u8).read() };
            shadow::set(address + index, self.byte(at + index as u64, value));
        }
    }
}

/// The size that an input for a size has; none for other inputs.
pub fn size_of_source(size: u16) -> Option<u64> {
    let index = match size & 0xf000 {
        source::FILE_SIZE => usize::from(size & 0xfff) + 1,
        _ if size == source::STDIN_SIZE => 0,
        _ => return None,
    };
    Some(SIZES.get(index)?.load(Ordering::Relaxed))
}

/// An environment variable that the program asked for: its bytes become
/// input. The term says whether it is set.
///
/// # Safety
/// `value` is null or a C string.
pub unsafe fn variable(name: &CStr, value: *const c_char) -> u32 {
    if !shared::wants(wants::ENVIRONMENT) {
        return 0;
    }
    let Some(index) = number_of(&VARIABLES, name.to_bytes(), source::VARIABLE) else { return 0 };
    if !value.is_null() {
        // SAFETY: as the caller says.
        let text = unsafe { CStr::from_ptr(value) };
        for (at, &value) in text.to_bytes_with_nul().iter().enumerate() {
            let term = terms::input(source::VARIABLE + index as u16, at as u32, 8);
            shadow::set(text.as_ptr() as usize + at, Known { value: value.into(), term });
        }
    }
    terms::input(source::VARIABLE_SET + index as u16, 0, 1)
}

unsafe extern "C" {
    fn fnmatch(pattern: *const c_char, text: *const c_char, flags: c_int) -> c_int;
}
