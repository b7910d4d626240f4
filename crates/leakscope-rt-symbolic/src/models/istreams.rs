//! Reading from C++ streams: files, standard input, strings.
//!
//! The real function reads. What it took is found by where the stream was
//! before and after, and read once more; what that looked like becomes
//! constraints, as with `scanf`. Offsets are those of libstdc++'s classes.

use core::ffi::c_int;

use leakscope_wire::symbolic::Op;

use super::around::{Around, around};
use super::files::position;
use super::numbers::{digit, is_space, push, space_term};
use super::{Steps, found, touch};
use crate::inputs::{self, Stream};
use crate::terms::{self, Known};
use crate::{shadow, thread};

around! {
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_:
        before, after_line;
    _ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE:
        before, after_word;
    _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_: before, after_character;
    _ZNSi3getERc: before, after_character;
    _ZNSi3getEv: before, after_get;
    _ZNSi4peekEv: before, after_peek;
    _ZNSi4readEPcl: before, after_read;
    _ZNSi7getlineEPcl: before, after_read;
    _ZNSi7getlineEPclc: before, after_read;
    _ZNSirsERi: before, after_int;
    _ZNSirsERs: before, after_short;
    _ZNSi10_M_extractIiEERSiRT_: before, after_int;
    _ZNSi10_M_extractIjEERSiRT_: before, after_int;
    _ZNSi10_M_extractItEERSiRT_: before, after_short;
    _ZNSi10_M_extractIlEERSiRT_: before, after_long;
    _ZNSi10_M_extractImEERSiRT_: before, after_long;
    _ZNSi10_M_extractIxEERSiRT_: before, after_long;
    _ZNSi10_M_extractIyEERSiRT_: before, after_long;
    _ZNSt15basic_streambufIcSt11char_traitsIcEE5sgetcEv: before_buffer, after_buffer_get;
    _ZNSt15basic_streambufIcSt11char_traitsIcEE6sbumpcEv: before_buffer, after_buffer_get;
    _ZNSt15basic_streambufIcSt11char_traitsIcEE6snextcEv: before_buffer, after_buffer_next;
    _ZNSolsEPSt15basic_streambufIcSt11char_traitsIcEE: before_copy, after_copy;
    _ZNKSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv: before_none, after_str;
    _ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv: before_none, after_str;
}

/// Where a stream is.
#[derive(Clone, Copy)]
enum Cursor {
    File { file: c_int, stream: Stream, at: u64 },
    Memory { address: usize },
}

/// The start of a `streambuf`: where it is read, and where it is written.
#[repr(C)]
struct Buffer {
    class: usize,
    start: usize,
    next: usize,
    end: usize,
    put_start: usize,
    put_next: usize,
}

/// Where `basic_ios` has its buffer, and `basic_filebuf` its `FILE`.
const BUFFER_AT: usize = 232;
const FILE_AT: usize = 104;

mod classes {
    #[cfg(not(test))]
    core::arch::global_asm!(
        ".weak _ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE",
        ".weak _ZTVN9__gnu_cxx13stdio_filebufIcSt11char_traitsIcEEE",
        ".weak _ZTVSt13basic_filebufIcSt11char_traitsIcEE",
        ".weak _ZTVNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEE",
    );

    unsafe extern "C" {
        #[link_name = "_ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE"]
        pub static SYNCED: u8;
        #[link_name = "_ZTVN9__gnu_cxx13stdio_filebufIcSt11char_traitsIcEEE"]
        pub static STANDARD: u8;
        #[link_name = "_ZTVSt13basic_filebufIcSt11char_traitsIcEE"]
        pub static FILE: u8;
        #[link_name = "_ZTVNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEE"]
        pub static STRING: u8;
    }
}

impl Buffer {
    fn is(&self, class: *const u8) -> bool {
        !class.is_null() && self.class == class as usize + 16
    }
}

/// Where the buffer of a stream is.
unsafe fn buffer_of(stream: usize) -> usize {
    // SAFETY: a stream, whose class says where its virtual base is.
    unsafe {
        let class = *(stream as *const usize);
        let base = stream.wrapping_add_signed(*((class - 24) as *const isize));
        *((base + BUFFER_AT) as *const usize)
    }
}

impl Cursor {
    /// None for streams that do not read input.
    unsafe fn of(stream: usize) -> Option<Cursor> {
        // SAFETY: as the caller says.
        unsafe { Cursor::of_buffer(buffer_of(stream)) }
    }

    unsafe fn of_buffer(address: usize) -> Option<Cursor> {
        // SAFETY: a buffer, or none.
        unsafe {
            let buffer = (address as *const Buffer).as_ref()?;
            let is = |class| buffer.is(class);
            if is(&raw const classes::STRING) {
                return Some(Cursor::Memory { address: buffer.next });
            }
            let (file, ahead) = if is(&raw const classes::SYNCED) {
                (0, super::streams::ahead(super::streams::standard_input()))
            } else if is(&raw const classes::FILE) || is(&raw const classes::STANDARD) {
                let file = *((address + FILE_AT) as *const *mut libc::FILE);
                if file.is_null() {
                    return None;
                }
                (libc::fileno(file), buffer.end - buffer.next)
            } else {
                return None;
            };
            inputs::discovered(file);
            let at = position(file).checked_sub(ahead as u64)?;
            Some(Cursor::File { file, stream: inputs::stream(file)?, at })
        }
    }

    fn encoded(this: Option<Cursor>) -> [usize; 4] {
        match this {
            None => [0; 4],
            Some(Cursor::File { file, at, .. }) => [1, file as usize, at as usize, 0],
            Some(Cursor::Memory { address }) => [2, address, 0, 0],
        }
    }

    fn decoded(kept: [usize; 4]) -> Option<Cursor> {
        match kept {
            [1, file, at, _] => {
                let file = file as c_int;
                Some(Cursor::File { file, stream: inputs::stream(file)?, at: at as u64 })
            }
            [2, address, ..] => Some(Cursor::Memory { address }),
            _ => None,
        }
    }

    /// So much further on.
    fn ahead(self, bytes: usize) -> Cursor {
        match self {
            Cursor::File { file, stream, at } => Cursor::File { file, stream, at: at + bytes as u64 },
            Cursor::Memory { address } => Cursor::Memory { address: address + bytes },
        }
    }

    fn distance(self, before: Cursor) -> usize {
        match (self, before) {
            (Cursor::File { at: now, .. }, Cursor::File { at: then, .. }) => {
                now.saturating_sub(then) as usize
            }
            (Cursor::Memory { address: now }, Cursor::Memory { address: then }) => now.saturating_sub(then),
            _ => 0,
        }
    }

    /// The byte so far on; behind the end of a file one that could be there.
    unsafe fn byte(self, ahead: usize) -> Known {
        match self {
            // SAFETY: what was read from lies there still.
            Cursor::Memory { address } => unsafe { shadow::byte(address + ahead) },
            Cursor::File { file, stream, at } => {
                let at = at + ahead as u64;
                let mut byte = 0u8;
                // SAFETY: room for one byte.
                unsafe { libc::pread(file, (&raw mut byte).cast(), 1, at as i64) };
                stream.byte(at, byte)
            }
        }
    }

    /// Whether there is a byte so far on, and the term of that.
    fn exists(self, ahead: usize) -> Known {
        match self {
            Cursor::Memory { .. } => Known { value: 1, term: 0 },
            Cursor::File { stream, at, .. } => {
                let (at, size) = (Known { value: at + ahead as u64, term: 0 }, stream.size());
                Known { value: u64::from(at.value < size.value), term: terms::binary(Op::Ult, 64, at, size) }
            }
        }
    }
}

/// Says that a condition is as it is.
fn decided(is: Known) {
    found(if is.value != 0 { is.term } else { terms::not(is.term) });
}

extern "C" fn before(call: &mut Around) {
    let [_] = thread::arguments(call.own);
    // SAFETY: the first argument is the stream.
    call.kept = Cursor::encoded(unsafe { Cursor::of(call.arguments[0]) });
}

/// Where the stream was, and how many bytes the call took.
unsafe fn taken(call: &Around) -> Option<(Cursor, usize)> {
    thread::returns(call.own, 0);
    let before = Cursor::decoded(call.kept)?;
    // SAFETY: the first argument is the stream.
    let bytes = unsafe { Cursor::of(call.arguments[0]) }?.distance(before);
    Some((before, bytes))
}

/// Gives text that the program got its terms.
unsafe fn give(to: usize, from: Cursor, start: usize, bytes: usize) {
    touch(to, bytes);
    for index in 0..bytes {
        // SAFETY: as the caller says.
        shadow::set(to + index, unsafe { from.byte(start + index) });
    }
}

/// The text of a `std::string`.
unsafe fn string(address: usize) -> (usize, usize) {
    // SAFETY: as the caller says.
    unsafe { (*(address as *const usize), *((address + 8) as *const usize)) }
}

extern "C" fn after_line(call: &Around) {
    let end = u64::from(call.arguments[2] as u8);
    // SAFETY: a stream and a string.
    unsafe {
        let Some((from, bytes)) = taken(call) else { return };
        let (text, length) = string(call.arguments[1]);
        if bytes < length {
            return;
        }
        let mut steps = Steps::default();
        for index in 0..length {
            steps.add(terms::not(terms::equals(from.byte(index).term, end)));
        }
        steps.finish();
        decided(from.exists(length));
        if bytes > length {
            found(terms::equals(from.byte(length).term, end));
        }
        give(text, from, 0, length);
    }
}

/// Skips space: how much there was.
unsafe fn skipped(from: Cursor, bytes: usize) -> usize {
    for index in 0..bytes {
        // SAFETY: as the caller says.
        let byte = unsafe { from.byte(index) };
        let is = Known { value: is_space(byte.value).into(), term: space_term(byte.term) };
        decided(is);
        if is.value == 0 {
            return index;
        }
    }
    decided(from.exists(bytes));
    bytes
}

extern "C" fn after_word(call: &Around) {
    // SAFETY: a stream and a string.
    unsafe {
        let Some((from, bytes)) = taken(call) else { return };
        let start = skipped(from, bytes);
        let (text, length) = string(call.arguments[1]);
        if bytes < start + length || bytes == start {
            return;
        }
        for index in start + 1..start + length {
            found(terms::not(space_term(from.byte(index).term)));
        }
        decided(from.exists(start + length));
        if from.exists(start + length).value != 0 {
            found(space_term(from.byte(start + length).term));
        }
        give(text, from, start, length);
    }
}

/// One byte, after space or not: the last that was taken.
extern "C" fn after_character(call: &Around) {
    // SAFETY: a stream and a character.
    unsafe {
        let Some((from, bytes)) = taken(call) else { return };
        let Some(last) = bytes.checked_sub(1) else { return decided(from.exists(0)) };
        for index in 0..last {
            found(space_term(from.byte(index).term));
        }
        decided(from.exists(last));
        give(call.arguments[1], from, last, 1);
    }
}

unsafe fn returns_character(call: &Around, from: Cursor) {
    // SAFETY: as the caller says.
    unsafe {
        let (byte, exists) = (from.byte(0), from.exists(0));
        let wide = Known { value: byte.value, term: terms::cast(Op::ZExt, 32, byte.term) };
        let end = Known { value: u64::from(u32::MAX), term: 0 };
        let term = if exists.term == 0 { wide.term } else { terms::choose(exists.term, 32, wide, end) };
        thread::returns(call.own, term);
    }
}

extern "C" fn after_get(call: &Around) {
    // SAFETY: a stream.
    unsafe {
        if let Some((from, _)) = taken(call) {
            let is_end = call.result as u32 == u32::MAX;
            if !(is_end && matches!(from, Cursor::Memory { .. })) {
                returns_character(call, from);
            }
        }
    }
}

extern "C" fn after_peek(call: &Around) {
    after_get(call);
}

extern "C" fn before_buffer(call: &mut Around) {
    let [_] = thread::arguments(call.own);
    // SAFETY: the first argument is the buffer.
    call.kept = Cursor::encoded(unsafe { Cursor::of_buffer(call.arguments[0]) });
}

/// The byte that was so far on when the call began is returned.
unsafe fn returns_from_buffer(call: &Around, ahead: usize) {
    thread::returns(call.own, 0);
    let is_end = call.result as u32 == u32::MAX;
    if let Some(before) = Cursor::decoded(call.kept)
        && !(is_end && matches!(before, Cursor::Memory { .. }))
    {
        // SAFETY: as the caller says.
        unsafe { returns_character(call, before.ahead(ahead)) };
    }
}

extern "C" fn after_buffer_get(call: &Around) {
    // SAFETY: a buffer.
    unsafe { returns_from_buffer(call, 0) };
}

extern "C" fn after_buffer_next(call: &Around) {
    // SAFETY: a buffer.
    unsafe { returns_from_buffer(call, 1) };
}

/// All that a buffer has goes into a stream: where that keeps it in memory, with its terms.
extern "C" fn before_copy(call: &mut Around) {
    let [_, _] = thread::arguments(call.own);
    // SAFETY: the second argument is the buffer.
    call.kept = Cursor::encoded(unsafe { Cursor::of_buffer(call.arguments[1]) });
}

extern "C" fn after_copy(call: &Around) {
    thread::returns(call.own, 0);
    let Some(before) = Cursor::decoded(call.kept) else { return };
    // SAFETY: a stream and a buffer.
    unsafe {
        let Some(now) = Cursor::of_buffer(call.arguments[1]) else { return };
        let bytes = now.distance(before);
        decided(before.exists(bytes));
        if let Some(to) = (buffer_of(call.arguments[0]) as *const Buffer).as_ref()
            && to.is(&raw const classes::STRING)
            && bytes <= to.put_next - to.put_start
        {
            give(to.put_next - bytes, before, 0, bytes);
        }
    }
}

extern "C" fn before_none(call: &mut Around) {
    let [_, _] = thread::arguments(call.own);
}

/// The text of a stream in memory, as a string.
extern "C" fn after_str(call: &Around) {
    thread::returns(call.own, 0);
    // SAFETY: a string that was just made, and a stream.
    unsafe {
        let (text, length) = string(call.arguments[0]);
        if let Some(from) = (buffer_of(call.arguments[1]) as *const Buffer).as_ref()
            && from.put_start != 0
            && length <= from.put_next.saturating_sub(from.put_start)
        {
            shadow::copy(text, from.put_start, length);
        }
    }
}

/// Bytes into memory of the program's; for a line, its end is taken too.
extern "C" fn after_read(call: &Around) {
    // SAFETY: a stream, and room for what was taken.
    unsafe {
        let Some((from, bytes)) = taken(call) else { return };
        let bytes = bytes.min(call.arguments[2]);
        let to = call.arguments[1];
        let same = (0..bytes).take_while(|&index| {
            let byte = from.byte(index);
            ((to + index) as *const u8).read() == byte.value as u8
        });
        let length = same.count();
        decided(from.exists(length));
        if length < bytes {
            found(terms::equals(from.byte(length).term, from.byte(length).value));
        }
        give(to, from, 0, length);
    }
}

extern "C" fn after_int(call: &Around) {
    // SAFETY: a stream and a number.
    unsafe { number(call, 4) }
}

extern "C" fn after_short(call: &Around) {
    // SAFETY: a stream and a number.
    unsafe { number(call, 2) }
}

extern "C" fn after_long(call: &Around) {
    // SAFETY: a stream and a number.
    unsafe { number(call, 8) }
}

/// A decimal number: the term of what was stored, where that is what the text
/// says.
unsafe fn number(call: &Around, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe {
        let Some((from, length)) = taken(call) else { return };
        let mut at = skipped(from, length);
        let first = from.byte(at);
        let is_negative = first.value == u64::from(b'-');
        if is_negative || first.value == u64::from(b'+') {
            found(terms::equals(first.term, first.value));
            at += 1;
        }
        let digits = at;
        let mut all = Known::default();
        while at < length {
            let (is_digit, worth) = digit(from.byte(at), 10);
            found(is_digit);
            all = push(all, worth, 10);
            at += 1;
        }
        let exists = from.exists(at);
        decided(exists);
        if exists.value != 0 {
            let byte = from.byte(at);
            let decimal = terms::within(byte.term, u64::from(b'0'), u64::from(b'9'));
            found(if is_digit(byte) { decimal } else { terms::not(decimal) });
        }
        if is_negative {
            let term = if all.term == 0 { 0 } else { terms::binary(Op::Sub, 64, Known::default(), all) };
            all = Known { value: all.value.wrapping_neg(), term };
        }
        let mut stored = [0; 8];
        let target = call.arguments[1];
        core::ptr::copy_nonoverlapping(target as *const u8, stored.as_mut_ptr(), bytes);
        let width = 8 * bytes as u8;
        let is_same = u64::from_le_bytes(stored) == leakscope_wire::symbolic::truncated(all.value, width);
        touch(target, bytes);
        if at > digits && is_same {
            shadow::store(
                target,
                bytes,
                Known { value: all.value, term: terms::extract(all.term, 0, width) },
            );
        } else {
            shadow::clear(target, bytes);
        }
    }
}

fn is_digit(byte: Known) -> bool {
    (byte.value as u8).is_ascii_digit()
}
