//! Functions on memory of known length.

use core::ffi::c_int;

use leakscope_wire::symbolic::Op;

use super::{call_site, found, models, pointer, size, touch};
use crate::terms::{self, Known};
use crate::{flow, shadow};

models! {
    fn [memcpy memmove](to: usize, from: usize, bytes: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { copy(to, from, bytes, terms) }, terms[0])
    };
    fn [mempcpy](to: usize, from: usize, bytes: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { copy(to, from, bytes, terms) } + bytes, 0)
    };
    fn [__memcpy_chk __memmove_chk](to: usize, from: usize, bytes: usize, _room: usize) -> usize = |[a, b, c]| {
        // SAFETY: the caller's arguments.
        (unsafe { copy(to, from, bytes, [a, b, c]) }, a)
    };
    fn [__mempcpy_chk](to: usize, from: usize, bytes: usize, _room: usize) -> usize = |[a, b, c]| {
        // SAFETY: the caller's arguments.
        (unsafe { copy(to, from, bytes, [a, b, c]) } + bytes, 0)
    };
    fn [memset](to: usize, byte: c_int, bytes: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { fill(to, byte, bytes, terms) }, terms[0])
    };
    fn [__memset_chk](to: usize, byte: c_int, bytes: usize, _room: usize) -> usize = |[a, b, c]| {
        // SAFETY: the caller's arguments.
        (unsafe { fill(to, byte, bytes, [a, b, c]) }, a)
    };
    fn [bzero](to: usize, bytes: usize) -> () = |[a, b]| {
        // SAFETY: the caller's arguments.
        unsafe { fill(to, 0, bytes, [a, 0, b]) };
        ((), 0)
    };
    fn [memcmp bcmp](a: usize, b: usize, bytes: usize) -> c_int = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { compare(a, b, bytes, terms) }
    };
    fn [memchr](text: usize, byte: c_int, bytes: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { find(text, byte, bytes, terms) }, 0)
    };
    fn [rawmemchr](text: usize, byte: c_int) -> usize = |[a, b]| {
        // SAFETY: the caller's arguments; the byte is there.
        (unsafe { find(text, byte, usize::MAX, [a, b, 0]) }, 0)
    };
    fn [memrchr](text: usize, byte: c_int, bytes: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { find_last(text, byte, bytes, terms) }, 0)
    };
}

unsafe fn copy(to: usize, from: usize, bytes: usize, [a, b, c]: [u32; 3]) -> usize {
    // SAFETY: as the caller says.
    unsafe {
        let both = u64::from(a) | u64::from(b) << 32;
        flow::__leakscope_sym_copy(to, from, bytes, both, c, call_site());
        core::ptr::copy(from as *const u8, to as *mut u8, bytes);
    }
    to
}

unsafe fn fill(to: usize, byte: c_int, bytes: usize, [a, b, c]: [u32; 3]) -> usize {
    let both = u64::from(a) | u64::from(b) << 32;
    flow::__leakscope_sym_fill(to, byte as u32, bytes, both, c, call_site());
    // SAFETY: as the caller says.
    unsafe { core::ptr::write_bytes(to as *mut u8, byte as u8, bytes) };
    to
}

unsafe fn compare(a: usize, b: usize, bytes: usize, [a_term, b_term, c_term]: [u32; 3]) -> (c_int, u32) {
    pointer(a, a_term);
    pointer(b, b_term);
    size(bytes, c_term);
    touch(a, bytes);
    touch(b, bytes);
    // SAFETY: as the caller says.
    unsafe {
        if !shadow::any(a, bytes) && !shadow::any(b, bytes) {
            return (libc::memcmp(a as *const _, b as *const _, bytes), 0);
        }
        let pair = |index: usize| (shadow::byte(a + index), shadow::byte(b + index));
        let mut all = Known::default();
        for (x, y) in (0..bytes).rev().map(pair) {
            all = first_difference(x, y, all);
        }
        (all.value as u32 as c_int, all.term)
    }
}

/// The difference of two bytes, or where they are equal what comes after.
pub fn first_difference(x: Known, y: Known, after: Known) -> Known {
    let value = if x.value == y.value { after.value } else { x.value.wrapping_sub(y.value) as u32 as u64 };
    if x.term == 0 && y.term == 0 {
        return if x.value == y.value { after } else { Known { value, term: 0 } };
    }
    let wide = |byte: Known| Known { value: byte.value, term: terms::cast(Op::ZExt, 32, byte.term) };
    let difference = Known {
        value: x.value.wrapping_sub(y.value) as u32 as u64,
        term: terms::binary(Op::Sub, 32, wide(x), wide(y)),
    };
    let equal = terms::binary(Op::Eq, 8, x, y);
    Known { value, term: terms::choose(equal, 32, after, difference) }
}

/// Whether two bytes are equal, as a value and a term.
pub fn same(x: Known, y: Known) -> Known {
    let term = if x.term == 0 && y.term == 0 { 0 } else { terms::binary(Op::Eq, 8, x, y) };
    Known { value: u64::from(x.value == y.value), term }
}

unsafe fn find(text: usize, byte: c_int, bytes: usize, [a, b, c]: [u32; 3]) -> usize {
    pointer(text, a);
    size(bytes, c);
    let wanted = Known { value: u64::from(byte as u8), term: terms::extract(b, 0, 8) };
    let mut before = 0;
    for index in 0..bytes {
        // SAFETY: as the caller says.
        let is = same(unsafe { shadow::byte(text + index) }, wanted);
        if is.value != 0 {
            touch(text, index + 1);
            found(before);
            found(is.term);
            return text + index;
        }
        before = terms::and(before, terms::not(is.term));
    }
    touch(text, bytes);
    found(before);
    0
}

unsafe fn find_last(text: usize, byte: c_int, bytes: usize, [a, b, c]: [u32; 3]) -> usize {
    pointer(text, a);
    size(bytes, c);
    touch(text, bytes);
    let wanted = Known { value: u64::from(byte as u8), term: terms::extract(b, 0, 8) };
    let mut after = 0;
    for index in (0..bytes).rev() {
        // SAFETY: as the caller says.
        let is = same(unsafe { shadow::byte(text + index) }, wanted);
        if is.value != 0 {
            found(after);
            found(is.term);
            return text + index;
        }
        after = terms::and(after, terms::not(is.term));
    }
    found(after);
    0
}
