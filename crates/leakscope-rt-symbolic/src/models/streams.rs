//! Reading from streams.
//!
//! Positions are libc's: what lies in a stream's buffer comes from the file
//! right before the descriptor's position. Whenever a buffer was filled, its
//! bytes get their terms, so that code that reads it by itself (`getc_unlocked`
//! is a macro) finds them.

use core::ffi::{CStr, c_char, c_int};

use leakscope_wire::symbolic::Op;

use super::files::{self, left, position};
use super::memory::same;
use super::{Steps, fails, found, heap, models, set_errno, size, touch, write, write_byte};
use crate::inputs::{self, Stream};
use crate::objects;
use crate::shadow;
use crate::terms::{self, Known};

/// The start of libc's `FILE`, as `getc_unlocked` knows it.
#[repr(C)]
pub struct File {
    flags: c_int,
    read_next: usize,
    read_end: usize,
    read_start: usize,
}

const EOF: c_int = -1;

/// Bytes of a `FILE`.
const FILE_BYTES: usize = 216;

/// Flags of a `FILE`.
const AT_END: c_int = 0x10;
const FAILED: c_int = 0x20;

models! {
    fn [fgetc getc _IO_getc getc_unlocked fgetc_unlocked __uflow](file: *mut File) -> c_int = |[_]| {
        // SAFETY: the caller's argument.
        unsafe { character(file) }
    };
    fn [getchar getchar_unlocked]() -> c_int = |[_]| {
        // SAFETY: libc's stream.
        unsafe { character(stdin) }
    };
    fn [__underflow](file: *mut File) -> c_int = |[_]| {
        // SAFETY: the caller's argument.
        unsafe {
            let result = real::__underflow(file);
            refresh(file);
            let term = if result == EOF { 0 } else { shadow::byte((*file).read_next).term };
            (result, terms::cast(Op::ZExt, 32, term))
        }
    };
    fn [ungetc](character: c_int, file: *mut File) -> c_int = |[term, _]| {
        // SAFETY: the caller's arguments.
        unsafe {
            let result = libc::ungetc(character, file.cast());
            if result != EOF {
                let term = terms::extract(term, 0, 8);
                shadow::set((*file).read_next, Known { value: u64::from(character as u8), term });
            }
            (result, if result == EOF { 0 } else { term })
        }
    };
    fn [fgets fgets_unlocked](to: usize, room: c_int, file: *mut File) -> usize = |[_, term, _]| {
        size(room as usize, term);
        // SAFETY: the caller's arguments.
        (unsafe { line(to, room, file) }, 0)
    };
    fn [__fgets_chk](to: usize, _size: usize, room: c_int, file: *mut File) -> usize = |[_, _, term, _]| {
        size(room as usize, term);
        // SAFETY: the caller's arguments.
        (unsafe { line(to, room, file) }, 0)
    };
    fn [fread fread_unlocked](to: usize, each: usize, count: usize, file: *mut File) -> usize = |[_, x, y, _]| {
        size(each, x);
        // SAFETY: the caller's arguments.
        unsafe { items(to, each, Known { value: count as u64, term: y }, file) }
    };
    fn [__fread_chk](to: usize, _room: usize, each: usize, count: usize, file: *mut File) -> usize =
        |[_, _, x, y, _]| {
            size(each, x);
            // SAFETY: the caller's arguments.
            unsafe { items(to, each, Known { value: count as u64, term: y }, file) }
        };
    fn [getline](line: *mut usize, room: *mut usize, file: *mut File) -> isize = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { delimited(line, room, Known { value: 10, term: 0 }, file) }, 0)
    };
    fn [getdelim __getdelim](line: *mut usize, room: *mut usize, end: c_int, file: *mut File) -> isize = |[_, _, term, _]| {
        let end = Known { value: u64::from(end as u8), term: terms::extract(term, 0, 8) };
        // SAFETY: the caller's arguments.
        (unsafe { delimited(line, room, end, file) }, 0)
    };
    fn [fopen fopen64](path: *const c_char, mode: *const c_char) -> *mut libc::FILE = |[_]| {
        // SAFETY: the caller's arguments.
        (followed(unsafe { opened(path, mode) }), 0)
    };
    fn [fdopen](file: c_int, mode: *const c_char) -> *mut libc::FILE = |[_]| {
        // SAFETY: the caller's arguments.
        (followed(unless_failing(libc::ENOMEM, || unsafe { libc::fdopen(file, mode) })), 0)
    };
    fn [tmpfile tmpfile64]() -> *mut libc::FILE = |[_]| {
        (followed(unless_failing(libc::EMFILE, scratch)), 0)
    };
    fn [freopen](path: *const c_char, mode: *const c_char, file: *mut libc::FILE) -> *mut libc::FILE = |[_]| {
        // SAFETY: the caller's arguments.
        unsafe {
            inputs::closed(libc::fileno(file));
            let file = libc::freopen(path, mode, file);
            if !file.is_null() && !path.is_null() && reads(mode) {
                inputs::opened(libc::fileno(file), CStr::from_ptr(path));
            }
            (file, 0)
        }
    };
    fn [fclose](file: *mut libc::FILE) -> c_int = |[_]| {
        // SAFETY: the caller's argument.
        unsafe {
            inputs::closed(libc::fileno(file));
            objects::freed(file as usize);
            (libc::fclose(file), 0)
        }
    };
    fn [fseek fseeko](file: *mut File, by: i64, from: c_int) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        unsafe {
            let result = libc::fseek(file.cast(), by, from);
            refresh(file);
            (result, 0)
        }
    };
    fn [rewind](file: *mut File) -> () = |[_]| {
        // SAFETY: the caller's argument.
        unsafe {
            libc::rewind(file.cast());
            refresh(file);
        }
        ((), 0)
    };
    fn [ftell ftello](file: *mut libc::FILE) -> i64 = |[_]| {
        // SAFETY: the caller's argument.
        unsafe { told(file) }
    };
    fn [ferror ferror_unlocked](file: *mut File) -> c_int = |[_]| {
        // SAFETY: the caller's argument.
        (unsafe { failed(file) }, 0)
    };
}

/// Whether reading failed: what found the end of an input may have.
unsafe fn failed(file: *mut File) -> c_int {
    // SAFETY: as the caller says; the flags are where `getc_unlocked` expects them.
    unsafe {
        let is_at_end = (*file).flags & AT_END != 0 && stream_of(file).is_some();
        if is_at_end && (*file).flags & FAILED == 0 && fails() {
            (*file).flags = (*file).flags & !AT_END | FAILED;
            set_errno(libc::EIO);
        }
        libc::ferror(file.cast())
    }
}

/// What a stream reads, if that is input.
unsafe fn stream_of(file: *mut File) -> Option<Stream> {
    // SAFETY: as the caller says.
    inputs::stream(unsafe { libc::fileno(file.cast()) })
}

/// Gives what is in a stream's buffer its terms.
unsafe fn refresh(file: *mut File) {
    // SAFETY: as the caller says.
    unsafe {
        let Some(stream) = stream_of(file) else { return };
        let File { read_start, read_end, .. } = *file;
        let end = position(libc::fileno(file.cast()));
        let bytes = read_end.saturating_sub(read_start);
        if let Some(start) = end.checked_sub(bytes as u64) {
            stream.fill(start, read_start, bytes);
        }
    }
}

/// A byte of a stream. At the end, what would be there.
pub struct Taken {
    pub byte: Known,
    pub is_end: bool,
    /// Where it is in an input file.
    pub at: Option<(Stream, u64)>,
}

/// Takes the next byte of a stream.
///
/// # Safety
/// `file` is a stream.
pub unsafe fn take(file: *mut File) -> Taken {
    // SAFETY: as the caller says.
    unsafe {
        let stream = stream_of(file);
        let is_buffered = (*file).read_next < (*file).read_end;
        if !is_buffered {
            let was_at_end = (*file).flags & AT_END != 0;
            let at = position(libc::fileno(file.cast()));
            if real::__uflow(file) == EOF {
                // Of a larger file, all that was read to its end was more: it ends here, too.
                let stream = stream.filter(|_| !was_at_end);
                let byte = stream.map_or(Known::default(), |stream| stream.byte(at, 0));
                return Taken { byte, is_end: true, at: stream.map(|stream| (stream, at)) };
            }
            refresh(file);
            (*file).read_next -= 1;
        }
        let byte = shadow::byte((*file).read_next);
        let at = stream.filter(|_| byte.term != 0).map(|stream| {
            let end = position(libc::fileno(file.cast()));
            (stream, end - ((*file).read_end - (*file).read_next) as u64)
        });
        (*file).read_next += 1;
        Taken { byte, is_end: false, at }
    }
}

/// Puts the byte back that was taken last.
///
/// # Safety
/// `file` is a stream.
pub unsafe fn give_back(file: *mut File, byte: Known) {
    // SAFETY: as the caller says.
    unsafe {
        libc::ungetc(byte.value as c_int, file.cast());
        shadow::set((*file).read_next, byte);
    }
}

/// Bytes that a stream has read and the program has not.
///
/// # Safety
/// `file` is a stream.
pub unsafe fn ahead(file: *mut File) -> usize {
    // SAFETY: as the caller says.
    unsafe { (*file).read_end.saturating_sub((*file).read_next) }
}

pub fn standard_input() -> *mut File {
    // SAFETY: libc's stream.
    unsafe { stdin }
}

impl Taken {
    /// That there is a byte, or is none, as a term.
    pub fn existence(&self) -> u32 {
        let Some((stream, at)) = self.at else { return 0 };
        let exists = terms::binary(Op::Ult, 64, Known { value: at, term: 0 }, stream.size());
        if self.is_end { terms::not(exists) } else { exists }
    }
}

unsafe fn character(file: *mut File) -> (c_int, u32) {
    touch(file as usize, 1);
    // SAFETY: as the caller says.
    let taken = unsafe { take(file) };
    let value = if taken.is_end { EOF } else { taken.byte.value as c_int };
    let wide = Known { value: taken.byte.value, term: terms::cast(Op::ZExt, 32, taken.byte.term) };
    let exists = if taken.is_end { terms::not(taken.existence()) } else { taken.existence() };
    let end = Known { value: u64::from(u32::MAX), term: 0 };
    (value, if exists == 0 { wide.term } else { terms::choose(exists, 32, wide, end) })
}

/// Takes bytes up to one that ends them, at most so many, and gives each to
/// `keep`; false if the file ended before the first.
unsafe fn take_until(
    file: *mut File,
    end: Known,
    most: usize,
    mut keep: impl FnMut(usize, Known),
) -> Option<usize> {
    let mut steps = Steps::default();
    // That the last byte is there says the same of all before it.
    let mut exists = 0;
    for index in 0..most {
        // SAFETY: as the caller says.
        let taken = unsafe { take(file) };
        if taken.is_end {
            steps.finish();
            found(exists);
            found(taken.existence());
            return (index > 0).then_some(index);
        }
        let is = same(taken.byte, end);
        keep(index, taken.byte);
        exists = taken.existence();
        if is.value != 0 {
            steps.finish();
            found(exists);
            found(is.term);
            return Some(index + 1);
        }
        steps.add(terms::not(is.term));
    }
    steps.finish();
    found(exists);
    Some(most)
}

unsafe fn line(to: usize, room: c_int, file: *mut File) -> usize {
    touch(file as usize, 1);
    if room <= 0 {
        return 0;
    }
    let end = Known { value: 10, term: 0 };
    // SAFETY: as the caller says.
    unsafe {
        let keep = |index, byte| write_byte(to + index, byte);
        match take_until(file, end, room as usize - 1, keep) {
            Some(count) => {
                write_byte(to + count, Known::default());
                touch(to, count + 1);
                to
            }
            None => 0,
        }
    }
}

/// How many were wanted is taken as it is only if so many came.
unsafe fn items(to: usize, each: usize, count: Known, file: *mut File) -> (usize, u32) {
    touch(file as usize, 1);
    let bytes = each.saturating_mul(count.value as usize);
    if bytes == 0 {
        size(count.value as usize, count.term);
        return (0, 0);
    }
    // SAFETY: as the caller says.
    unsafe {
        let mut taken = 0;
        let mut first = None;
        while taken < bytes {
            let next = take(file);
            if taken == 0 {
                first = next.at;
            }
            if next.is_end {
                break;
            }
            write_byte(to + taken, next.byte);
            taken += 1;
        }
        touch(to, taken);
        let each = Known { value: each as u64, term: 0 };
        let mut most = Known { value: bytes as u64, term: 0 };
        if taken == bytes {
            size(count.value as usize, count.term);
        } else if count.term != 0 {
            most.term = terms::binary(Op::Mul, 64, count, each);
        }
        let term = first.map_or(0, |(stream, at)| left(stream, at, most));
        let term = if term == 0 || each.value == 1 {
            term
        } else {
            terms::binary(Op::UDiv, 64, Known { value: 0, term }, each)
        };
        (taken / each.value as usize, term)
    }
}

unsafe fn delimited(line: *mut usize, room: *mut usize, end: Known, file: *mut File) -> isize {
    touch(file as usize, 1);
    // SAFETY: as the caller says.
    unsafe {
        let mut no_memory = false;
        let mut text = *line;
        let mut size = if text == 0 { 0 } else { *room };
        let grow = |text: &mut usize, size: &mut usize, needed: usize| {
            if needed <= *size {
                return true;
            }
            let bytes = needed.max(120).max(2 * *size);
            let new = heap::resize(*text as *mut _, bytes) as usize;
            if new != 0 {
                (*text, *size) = (new, bytes);
            }
            new != 0
        };
        if !grow(&mut text, &mut size, 1) {
            return -1;
        }
        let taken = take_until(file, end, isize::MAX as usize, |index, byte| {
            if grow(&mut text, &mut size, index + 2) {
                write_byte(text + index, byte);
            } else {
                no_memory = true;
            }
        });
        write(line as usize, 8, Known { value: text as u64, term: 0 });
        write(room as usize, 8, Known { value: size as u64, term: 0 });
        match taken {
            Some(count) if !no_memory => {
                write_byte(text + count, Known::default());
                touch(text, count + 1);
                count as isize
            }
            _ => -1,
        }
    }
}

/// A stream is an object that `fclose` frees.
fn followed(file: *mut libc::FILE) -> *mut libc::FILE {
    objects::allocated(file as usize, FILE_BYTES);
    file
}

/// A stream, unless the driver lets that fail.
fn unless_failing(error: c_int, open: impl FnOnce() -> *mut libc::FILE) -> *mut libc::FILE {
    if fails() {
        set_errno(error);
        return core::ptr::null_mut();
    }
    open()
}

/// A file without a name, in memory: a run writes in its own folder only.
fn scratch() -> *mut libc::FILE {
    // SAFETY: strings that end, and a descriptor that is closed where no stream has it.
    unsafe {
        let file = libc::memfd_create(c"tmpfile".as_ptr(), libc::MFD_CLOEXEC);
        let stream = if file < 0 { core::ptr::null_mut() } else { libc::fdopen(file, c"w+".as_ptr()) };
        if stream.is_null() && file >= 0 {
            libc::close(file);
        }
        stream
    }
}

unsafe fn opened(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    if fails() {
        set_errno(libc::EACCES);
        return core::ptr::null_mut();
    }
    // SAFETY: as the caller says.
    unsafe {
        let file = libc::fopen(path, mode);
        if CStr::from_ptr(mode).to_bytes().contains(&b'r') {
            files::named(path, !file.is_null());
        }
        if !file.is_null() && reads(mode) {
            inputs::opened(libc::fileno(file), CStr::from_ptr(path));
        }
        file
    }
}

unsafe fn reads(mode: *const c_char) -> bool {
    // SAFETY: as the caller says.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    mode.contains(&b'r') || mode.contains(&b'+')
}

/// Where a stream is. The end of an input file is a term.
unsafe fn told(file: *mut libc::FILE) -> (i64, u32) {
    // SAFETY: as the caller says.
    unsafe {
        let at = libc::ftell(file);
        let size = stream_of(file.cast()).map(Stream::size);
        (at, size.filter(|size| size.value == at as u64).map_or(0, |size| size.term))
    }
}

unsafe extern "C" {
    static stdin: *mut File;
}

/// What libc's own code fills buffers with.
mod real {
    unsafe extern "C" {
        pub fn __uflow(file: *mut super::File) -> core::ffi::c_int;
        pub fn __underflow(file: *mut super::File) -> core::ffi::c_int;
    }
}
