//! Sorting and searching, orders of bytes, and characters of several bytes.

use core::ffi::{c_int, c_void};

use leakscope_wire::symbolic::Op;

use super::{found, models, pointer, size, touch, write};
use crate::flow::__leakscope_sym_swap;
use crate::terms::{self, Known};
use crate::{shadow, thread};

type Compare = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

models! {
    fn [qsort](items: usize, count: usize, each: usize, compare: Compare) -> () = |[term, count_term, each_term]| {
        pointer(items, term);
        size(count, count_term);
        size(each, each_term);
        // SAFETY: the caller's arguments.
        unsafe { sort(items, count, each, compare) };
        ((), 0)
    };
    fn [bsearch](key: usize, items: usize, count: usize, each: usize, compare: Compare) -> usize =
        |[_, term, count_term, each_term]| {
            pointer(items, term);
            size(count, count_term);
            size(each, each_term);
            // SAFETY: the caller's arguments.
            (unsafe { search(key, items, count, each, compare) }, 0)
        };
    fn [htonl ntohl](number: u32) -> u32 = |[term]| {
        (number.swap_bytes(), if term == 0 { 0 } else { __leakscope_sym_swap(term, number.into()) })
    };
    fn [htons ntohs](number: u16) -> u16 = |[term]| {
        (number.swap_bytes(), if term == 0 { 0 } else { __leakscope_sym_swap(term, number.into()) })
    };
    fn [mbrtowc](to: usize, text: usize, bytes: usize, state: *mut c_void) -> usize = |[_]| {
        // SAFETY: the caller's arguments.
        unsafe { wide(to, text, bytes, state) }
    };
}

/// A stable sort that moves terms along, and compares as few items as libc's:
/// small arrays by insertion, halves of others by merging from a copy.
unsafe fn sort(items: usize, count: usize, each: usize, compare: Compare) {
    if count < 2 || each == 0 {
        return;
    }
    let bytes = count * each;
    // SAFETY: as the caller says; the copy is as large as the items.
    unsafe {
        let copy = libc::malloc(bytes) as usize;
        if copy == 0 {
            return libc::qsort(items as *mut c_void, count, each, Some(compare));
        }
        touch(items, bytes);
        merge_sort(items, copy, count, each, compare);
        shadow::clear(copy, bytes);
        libc::free(copy as *mut c_void);
    }
}

/// What the program's own function says of two items, and the term of that: it
/// may have decided nothing by itself.
unsafe fn compared(compare: Compare, a: usize, b: usize) -> (c_int, u32) {
    thread::current().results[0] = 0;
    // SAFETY: as the caller says.
    let order = unsafe { compare(a as *const c_void, b as *const c_void) };
    (order, thread::result(compare as *const () as usize))
}

/// Halves, as libc does it.
unsafe fn search(key: usize, items: usize, count: usize, each: usize, compare: Compare) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        let item = items + middle * each;
        // SAFETY: as the caller says.
        let (order, term) = unsafe { compared(compare, key, item) };
        let is_less = terms::compare(Op::Slt, term, 0);
        let is_same = terms::equals(term, 0);
        if order == 0 {
            found(is_same);
            return item;
        }
        found(terms::not(is_same));
        if order < 0 {
            found(is_less);
            high = middle;
        } else {
            found(terms::not(is_less));
            low = middle + 1;
        }
    }
    0
}

unsafe fn merge_sort(items: usize, copy: usize, count: usize, each: usize, compare: Compare) {
    if count < 2 {
        return;
    }
    let half = count / 2;
    let middle = items + half * each;
    // SAFETY: as the caller says.
    unsafe {
        merge_sort(items, copy, half, each, compare);
        merge_sort(middle, copy, count - half, each, compare);
        let (mut left, mut right, end) = (items, middle, items + count * each);
        let mut to = copy;
        while left < middle && right < end {
            let (order, term) = compared(compare, left, right);
            let is_in_order = terms::compare(Op::Sle, term, 0);
            found(if order <= 0 { is_in_order } else { terms::not(is_in_order) });
            let from = if order <= 0 { &mut left } else { &mut right };
            move_bytes(to, *from, each);
            *from += each;
            to += each;
        }
        move_bytes(to, left, middle - left);
        move_bytes(to + (middle - left), right, end - right);
        move_bytes(items, copy, count * each);
    }
}

unsafe fn move_bytes(to: usize, from: usize, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe {
        shadow::copy(to, from, bytes);
        core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
    }
}

/// One byte that is a character keeps its term; longer ones are taken as they
/// are.
unsafe fn wide(to: usize, text: usize, bytes: usize, state: *mut c_void) -> (usize, u32) {
    // SAFETY: as the caller says.
    unsafe {
        let first = if text == 0 || bytes == 0 { Known::default() } else { shadow::byte(text) };
        let mut character = 0;
        let result = real::mbrtowc(&mut character, text as *const c_void, bytes, state);
        let is_plain = result <= 1 && first.value < 0x80 && character as u64 == first.value;
        if first.term != 0 {
            let plain = terms::compare(Op::Ult, first.term, 0x80);
            let ends = terms::equals(first.term, 0);
            if is_plain {
                found(plain);
                found(if result == 0 { ends } else { terms::not(ends) });
            } else {
                for index in 0..bytes.min(result.min(1 << 8)).max(1) {
                    let byte = shadow::byte(text + index);
                    found(terms::equals(byte.term, byte.value));
                }
            }
        }
        if to != 0 && result < usize::MAX - 2 && text != 0 {
            let term = if is_plain { terms::cast(Op::ZExt, 32, first.term) } else { 0 };
            write(to, 4, Known { value: u64::from(character as u32), term });
        }
        (result, 0)
    }
}

mod real {
    use core::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub fn mbrtowc(to: *mut c_int, text: *const c_void, bytes: usize, state: *mut c_void) -> usize;
    }
}
