//! Descriptors: which of them read input, and what is read.

use core::ffi::{CStr, c_char, c_int, c_void};

use leakscope_wire::symbolic::{Op, What};

use super::{call_site, fails, found, models, options, set_errno, size, touch};
use crate::inputs::{self, Stream};
use crate::terms::{self, Known};
use crate::{flow, shadow};

models! {
    fn [open open64](path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { opened(path, flags, || libc::open(path, flags, mode)) }, 0)
    };
    fn [__open_2](path: *const c_char, flags: c_int) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { opened(path, flags, || libc::open(path, flags)) }, 0)
    };
    fn [openat openat64](folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { opened(path, flags, || libc::openat(folder, path, flags, mode)) }, 0)
    };
    fn [close](file: c_int) -> c_int = |[_]| {
        inputs::closed(file);
        // SAFETY: the caller's argument.
        (unsafe { libc::close(file) }, 0)
    };
    fn [dup](file: c_int) -> c_int = |[_]| {
        // SAFETY: the caller's argument.
        let copy = unsafe { libc::dup(file) };
        inputs::copied(file, copy);
        (copy, 0)
    };
    fn [dup2](file: c_int, to: c_int) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        let copy = unsafe { libc::dup2(file, to) };
        inputs::copied(file, copy);
        (copy, 0)
    };
    fn [read](file: c_int, to: usize, bytes: usize) -> isize = |[_, _, term]| {
        // SAFETY: the caller's arguments.
        unsafe { received(file, to, Known { value: bytes as u64, term }, position(file), || libc::read(file, to as *mut c_void, bytes)) }
    };
    fn [__read_chk](file: c_int, to: usize, bytes: usize, _room: usize) -> isize = |[_, _, term]| {
        // SAFETY: the caller's arguments.
        unsafe { received(file, to, Known { value: bytes as u64, term }, position(file), || libc::read(file, to as *mut c_void, bytes)) }
    };
    fn [pread pread64](file: c_int, to: usize, bytes: usize, at: i64) -> isize = |[_, _, term, _]| {
        // SAFETY: the caller's arguments.
        unsafe { received(file, to, Known { value: bytes as u64, term }, at as u64, || libc::pread(file, to as *mut c_void, bytes, at)) }
    };
    fn [lseek lseek64](file: c_int, by: i64, from: c_int) -> i64 = |[_]| {
        // SAFETY: the caller's arguments.
        seek(file, from, unsafe { libc::lseek(file, by, from) })
    };
    fn [fstat fstat64](file: c_int, to: *mut libc::stat) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { state(to, || libc::fstat(file, to), |_| inputs::stream(file)) }, 0)
    };
    fn [stat stat64](path: *const c_char, to: *mut libc::stat) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { state_of(path, to, || libc::stat(path, to)) }, 0)
    };
    fn [lstat lstat64](path: *const c_char, to: *mut libc::stat) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { state_of(path, to, || libc::lstat(path, to)) }, 0)
    };
    fn [mmap mmap64](at: usize, bytes: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> usize =
        |[_, term]| {
            size(bytes, term);
            // SAFETY: the caller's arguments.
            (unsafe { map(at, bytes, protection, flags, file, offset) }, 0)
        };
    fn [getenv](name: *const c_char) -> *mut c_char = |[_]| {
        // SAFETY: the caller's argument.
        unsafe {
            let value = libc::getenv(name);
            let is_set = inputs::variable(CStr::from_ptr(name), value);
            found(if value.is_null() { terms::not(is_set) } else { is_set });
            (value, 0)
        }
    };
    fn [secure_getenv](name: *const c_char) -> *mut c_char = |[_]| {
        // SAFETY: the caller's argument.
        unsafe {
            let value = secure::secure_getenv(name);
            let is_set = inputs::variable(CStr::from_ptr(name), value);
            found(if value.is_null() { terms::not(is_set) } else { is_set });
            (value, 0)
        }
    };
}

/// A file was to be opened for reading. A name that depends on the input could
/// have been that of one that is there, or another one.
///
/// # Safety
/// A C string.
pub unsafe fn named(path: *const c_char, is_there: bool) {
    let mut depends = false;
    for name in inputs::patterns() {
        let (mut is_so, mut term) = (true, 0);
        for (index, &wanted) in name.to_bytes_with_nul().iter().enumerate() {
            // SAFETY: as the caller says.
            let byte = unsafe { options::at(path as usize, index) };
            is_so &= byte.value == u64::from(wanted);
            if byte.term != 0 {
                term = terms::and(term, terms::equals(byte.term, wanted.into()));
            } else if byte.value != u64::from(wanted) {
                term = 0;
                break;
            }
        }
        depends |= term != 0;
        found(if is_so { term } else { terms::not(term) });
    }
    if !is_there && !depends {
        flow::note(call_site(), What::Missing);
    }
}

/// Opens a file, unless the driver lets that fail.
unsafe fn opened(path: *const c_char, flags: c_int, open: impl FnOnce() -> c_int) -> c_int {
    if fails() {
        set_errno(libc::EACCES);
        return -1;
    }
    let file = open();
    if flags & libc::O_ACCMODE != libc::O_WRONLY && flags & libc::O_CREAT == 0 {
        // SAFETY: as the caller says.
        unsafe { named(path, file >= 0) };
    }
    if file >= 0 && flags & libc::O_ACCMODE != libc::O_WRONLY {
        // SAFETY: as the caller says.
        inputs::opened(file, unsafe { CStr::from_ptr(path) });
    }
    file
}

/// Where the next byte of a file comes from.
pub fn position(file: c_int) -> u64 {
    // SAFETY: asks for a number.
    unsafe { libc::lseek(file, 0, libc::SEEK_CUR) }.max(0) as u64
}

/// Reads bytes, unless the driver lets that fail: how many, and the term of
/// that. How many were wanted is taken as it is only if so many came.
unsafe fn received(
    file: c_int,
    to: usize,
    bytes: Known,
    at: u64,
    read: impl FnOnce() -> isize,
) -> (isize, u32) {
    if fails() {
        set_errno(libc::EIO);
        return (-1, 0);
    }
    let count = read();
    if count < 0 {
        return (count, 0);
    }
    touch(to, count as usize);
    let is_all = count as u64 == bytes.value;
    if is_all {
        size(count as usize, bytes.term);
    }
    let Some(stream) = inputs::stream(file) else {
        shadow::clear(to, count as usize);
        return (count, 0);
    };
    stream.fill(at, to, count as usize);
    let end = at + count as u64;
    // Of a larger file, all that was read to its end was more: it ends here, too.
    if count == 0 && inputs::has_ended(file, end) {
        return (0, 0);
    }
    if !is_all {
        inputs::ended(file, end);
    }
    let most = Known { term: if is_all { 0 } else { bytes.term }, ..bytes };
    (count, left(stream, at, most))
}

/// The term of how many bytes can be read from a place on, at most so many.
pub fn left(stream: Stream, at: u64, most: Known) -> u32 {
    let at = Known { value: at, term: 0 };
    let left = Known { value: 0, term: terms::binary(Op::Sub, 64, stream.size(), at) };
    let enough = terms::binary(Op::Ule, 64, most, left);
    let some = terms::choose(enough, 64, most, left);
    let beyond = terms::binary(Op::Ult, 64, stream.size(), at);
    terms::choose(beyond, 64, Known::default(), Known { value: 0, term: some })
}

/// The end of a file that is input is a term.
fn seek(file: c_int, from: c_int, result: i64) -> (i64, u32) {
    let term = match inputs::stream(file) {
        Some(stream) if from == libc::SEEK_END && result as u64 == stream.size().value => stream.size().term,
        _ => 0,
    };
    (result, term)
}

/// The state of a file, unless the driver lets that fail; the size of one that
/// is input is a term.
unsafe fn state(
    to: *mut libc::stat,
    ask: impl FnOnce() -> c_int,
    stream: impl FnOnce(&libc::stat) -> Option<Stream>,
) -> c_int {
    if fails() {
        set_errno(libc::EIO);
        return -1;
    }
    shadow::clear(to as usize, size_of::<libc::stat>());
    let result = ask();
    if result == 0 {
        // SAFETY: filled just now.
        let state = unsafe { &*to };
        if let Some(stream) = stream(state) {
            shadow::store(&raw const state.st_size as usize, 8, stream.size());
        }
    }
    result
}

/// The same for a file by its name.
unsafe fn state_of(path: *const c_char, to: *mut libc::stat, ask: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let stream = |state: &libc::stat| {
            let is_file = state.st_mode & libc::S_IFMT == libc::S_IFREG;
            is_file.then(|| inputs::of_file(CStr::from_ptr(path), state.st_size as u64)).flatten()
        };
        let result = state(to, ask, stream);
        named(path, result == 0);
        result
    }
}

unsafe fn map(at: usize, bytes: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> usize {
    // SAFETY: as the caller says.
    let memory = unsafe { libc::mmap(at as *mut c_void, bytes, protection, flags, file, offset) };
    if memory != libc::MAP_FAILED {
        shadow::clear(memory as usize, bytes);
        if let Some(stream) = inputs::stream(file).filter(|_| flags & libc::MAP_ANONYMOUS == 0) {
            let there = (stream.size().value as usize).saturating_sub(offset as usize).min(bytes);
            stream.fill(offset as u64, memory as usize, there);
        }
    }
    memory as usize
}

mod secure {
    unsafe extern "C" {
        pub fn secure_getenv(name: *const core::ffi::c_char) -> *mut core::ffi::c_char;
    }
}
