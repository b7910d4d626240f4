//! `std::string`, as far as its functions are libstdc++'s own code and not
//! the program's.
//!
//! What changes a string puts one text in the place of another: terms of both
//! are kept aside before, because the string may move, and put where the bytes
//! are after. Searches give constraints, comparisons terms.

use core::ffi::c_int;

use super::around::{Around, around};
use super::memory::{first_difference, same};
use super::strings::tell_wanted;
use super::{found, touch};
use crate::terms::{self, Known};
use crate::{shadow, thread};

around! {
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm: before_append, after_change;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_assignERKS4_: before_assign, after_change;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm: before_replace, after_change;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE14_M_replace_auxEmmmc: before_fill, after_change;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_mutateEmmPKcm: before_replace, after_mutate;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8_M_eraseEmm: before_erase, after_change;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6resizeEmc: before_keep, after_change;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEm: before_keep, after_change;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4swapERS4_: before_swap, after_swap;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEPKc: nothing, after_compare;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEmmPKc: nothing, after_compare_part;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findEcm: nothing, after_find;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5rfindEcm: nothing, after_find_last;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findEPKcmm: nothing, after_find_text;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13find_first_ofEPKcmm: nothing, after_find_any;
}

/// Text and length of a string.
unsafe fn text(string: usize) -> (usize, usize) {
    // SAFETY: as the caller says.
    unsafe { (*(string as *const usize), *((string + 8) as *const usize)) }
}

/// Bytes whose terms can be kept aside; longer texts lose theirs.
const MOST: usize = 1 << 14;

/// Terms of two texts, while a function of the library changes a string.
struct Aside {
    terms: [[u32; MOST]; 2],
    lengths: [usize; 2],
}

static mut ASIDE: Aside = Aside { terms: [[0; MOST]; 2], lengths: [0; 2] };

fn aside() -> &'static mut Aside {
    // SAFETY: one thread at a time builds terms.
    unsafe { &mut *core::ptr::addr_of_mut!(ASIDE) }
}

/// Keeps the terms of a text aside.
unsafe fn keep(index: usize, address: usize, length: usize) {
    let aside = aside();
    aside.lengths[index] = 0;
    if length > MOST || !shadow::any(address, length) {
        return;
    }
    aside.lengths[index] = length;
    for (at, term) in aside.terms[index][..length].iter_mut().enumerate() {
        // SAFETY: as the caller says.
        *term = unsafe { shadow::byte(address + at) }.term;
    }
}

/// The term of a byte of a text that was kept.
fn kept(index: usize, at: usize) -> u32 {
    let aside = aside();
    if at < aside.lengths[index] { aside.terms[index][at] } else { 0 }
}

/// Of the string: from `start` on, `gone` bytes go and `come` come. Kept as
/// `[start, gone, come, length before]`.
unsafe fn before(call: &mut Around, start: usize, gone: usize, from: usize, come: usize) {
    let [_] = thread::arguments(call.own);
    // SAFETY: a string, and a text of that length or none.
    unsafe {
        let (address, length) = text(call.arguments[0]);
        keep(0, address, length);
        keep(1, from, if from == 0 { 0 } else { come });
        touch(address, length);
        call.kept = [start, gone.min(length.saturating_sub(start)), come, length];
    }
}

extern "C" fn before_append(call: &mut Around) {
    // SAFETY: a string and a text.
    unsafe {
        let [string, from, come, _] = call.arguments;
        before(call, text(string).1, 0, from, come);
    }
}

extern "C" fn before_assign(call: &mut Around) {
    // SAFETY: two strings.
    unsafe {
        let (from, come) = text(call.arguments[1]);
        before(call, 0, usize::MAX, from, come);
    }
}

extern "C" fn before_replace(call: &mut Around) {
    let ([_, start, gone, from], come) = (call.arguments, call.fifth());
    // SAFETY: a string and a text.
    unsafe { before(call, start, gone, from, come) };
}

extern "C" fn before_fill(call: &mut Around) {
    let [_, start, gone, come] = call.arguments;
    // SAFETY: a string.
    unsafe { before(call, start, gone, 0, come) };
}

extern "C" fn before_erase(call: &mut Around) {
    let [_, start, gone, _] = call.arguments;
    // SAFETY: a string.
    unsafe { before(call, start, gone, 0, 0) };
}

extern "C" fn before_keep(call: &mut Around) {
    // SAFETY: a string.
    unsafe { before(call, usize::MAX, 0, 0, 0) };
}

extern "C" fn after_change(call: &Around) {
    // SAFETY: a string.
    unsafe {
        let (address, length) = text(call.arguments[0]);
        restore(call, address, length);
    }
}

/// The string has moved but does not know its new length yet.
extern "C" fn after_mutate(call: &Around) {
    // SAFETY: a string.
    unsafe {
        let [_, gone, come, length] = call.kept;
        restore(call, text(call.arguments[0]).0, length + come - gone);
    }
}

unsafe fn restore(call: &Around, address: usize, length: usize) {
    let [start, gone, come, before] = call.kept;
    thread::returns(call.own, 0);
    touch(address, length);
    shadow::clear(address, length + 1);
    for at in 0..length {
        let term = match at {
            _ if at < start && at < before => kept(0, at),
            _ if at < start => 0,
            _ if at < start.saturating_add(come) => kept(1, at - start),
            _ => kept(0, at - come + gone),
        };
        if term != 0 {
            // SAFETY: as the caller says.
            let value = unsafe { ((address + at) as *const u8).read() };
            shadow::set(address + at, Known { value: value.into(), term });
        }
    }
}

extern "C" fn before_swap(call: &mut Around) {
    let [_] = thread::arguments(call.own);
    // SAFETY: two strings.
    unsafe {
        for index in 0..2 {
            let (address, length) = text(call.arguments[index]);
            keep(index, address, length);
        }
    }
}

extern "C" fn after_swap(call: &Around) {
    // SAFETY: two strings.
    unsafe {
        for index in 0..2 {
            let (address, length) = text(call.arguments[index]);
            shadow::clear(address, length + 1);
            for at in 0..length {
                let value = u64::from(((address + at) as *const u8).read());
                shadow::set(address + at, Known { value, term: kept(1 - index, at) });
            }
        }
    }
}

extern "C" fn nothing(call: &mut Around) {
    let [_] = thread::arguments(call.own);
}

/// Gives the caller the term of how two texts compare.
unsafe fn compare(call: &Around, a: (usize, usize), b: (usize, usize)) {
    // SAFETY: as the caller says.
    unsafe {
        touch(a.0, a.1);
        touch(b.0, b.1);
        let common = a.1.min(b.1);
        let mut all = Known { value: (a.1.wrapping_sub(b.1) as u32).into(), term: 0 };
        if shadow::any(a.0, common) || shadow::any(b.0, common) {
            for at in (0..common).rev() {
                all = first_difference(shadow::byte(a.0 + at), shadow::byte(b.0 + at), all);
            }
        }
        // Only signs are the same as the library's.
        let agrees = (all.value as u32 as c_int).signum() == (call.result as c_int).signum();
        if call.result as c_int != 0 {
            tell_wanted([a.0, b.0], [a.1, b.1]);
        }
        thread::returns(call.own, if agrees { all.term } else { 0 });
    }
}

extern "C" fn after_compare(call: &Around) {
    // SAFETY: a string and a C string.
    unsafe {
        let other = call.arguments[1];
        compare(call, text(call.arguments[0]), (other, libc::strlen(other as *const _)));
    }
}

extern "C" fn after_compare_part(call: &Around) {
    let [string, start, count, other] = call.arguments;
    // SAFETY: a string and a C string.
    unsafe {
        let (address, length) = text(string);
        let part = (address + start, count.min(length.saturating_sub(start)));
        compare(call, part, (other, libc::strlen(other as *const _)));
    }
}

/// What a search found, among the places in their order: nothing before, and
/// something there. `is` tells of a place.
unsafe fn searched(call: &Around, places: impl Iterator<Item = usize>, is: impl Fn(usize) -> Known) {
    thread::returns(call.own, 0);
    let mut before = 0;
    for place in places {
        let here = is(place);
        if place == call.result {
            found(before);
            return found(here.term);
        }
        before = terms::and(before, terms::not(here.term));
    }
    found(before);
}

extern "C" fn after_find(call: &Around) {
    let [string, byte, start, _] = call.arguments;
    let wanted = Known { value: u64::from(byte as u8), term: 0 };
    // SAFETY: a string.
    unsafe {
        let (address, length) = text(string);
        touch(address, length);
        searched(call, start..length, |at| same(shadow::byte(address + at), wanted));
    }
}

extern "C" fn after_find_last(call: &Around) {
    let [string, byte, start, _] = call.arguments;
    let wanted = Known { value: u64::from(byte as u8), term: 0 };
    // SAFETY: a string.
    unsafe {
        let (address, length) = text(string);
        touch(address, length);
        let end = length.min(start.saturating_add(1));
        searched(call, (0..end).rev(), |at| same(shadow::byte(address + at), wanted));
    }
}

extern "C" fn after_find_text(call: &Around) {
    let [string, part, start, count] = call.arguments;
    // SAFETY: a string and a text.
    unsafe {
        let (address, length) = text(string);
        touch(address, length);
        let places = start..(length + 1).saturating_sub(count);
        searched(call, places, |place| {
            let mut is = Known { value: 1, term: 0 };
            for at in 0..count {
                let one = same(shadow::byte(address + place + at), shadow::byte(part + at));
                if one.value == 0 && one.term == 0 {
                    return Known::default();
                }
                is = Known { value: is.value & one.value, term: terms::and(is.term, one.term) };
            }
            is
        });
    }
}

extern "C" fn after_find_any(call: &Around) {
    let [string, set, start, count] = call.arguments;
    // SAFETY: a string and a text.
    unsafe {
        let (address, length) = text(string);
        touch(address, length);
        searched(call, start..length, |place| {
            let byte = shadow::byte(address + place);
            (0..count).fold(Known::default(), |any, at| {
                let one = same(byte, shadow::byte(set + at));
                Known { value: any.value | one.value, term: terms::or(any.term, one.term) }
            })
        });
    }
}
