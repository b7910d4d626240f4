//! Functions on strings.
//!
//! Comparisons and `strlen` give terms over all bytes, so that the driver can
//! ask for another result at once. Searches give constraints: nothing before,
//! and something here. Arguments may be thought longer than they are
//! ([`inputs::imagined`]).

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use leakscope_wire::symbolic::Op;

use super::memory::{first_difference, same};
use super::{Steps, found, heap, models, pointer, size, touch, wanted, write_byte};
use crate::terms::{self, Known};
use crate::{inputs, shadow};

models! {
    fn [strlen](text: usize) -> usize = |[term]| {
        pointer(text, term);
        // SAFETY: the caller's argument.
        let all = unsafe { length_term(text, usize::MAX) };
        (all.value as usize, all.term)
    };
    fn [strnlen](text: usize, most: usize) -> usize = |[term, most_term]| {
        pointer(text, term);
        size(most, most_term);
        // SAFETY: the caller's arguments.
        let all = unsafe { length_term(text, most) };
        (all.value as usize, all.term)
    };
    fn [strcmp strcoll](a: usize, b: usize) -> c_int = |[x, y]| {
        // SAFETY: the caller's arguments.
        unsafe { compare(a, b, usize::MAX, [x, y, 0], same_case) }
    };
    fn [strncmp](a: usize, b: usize, most: usize) -> c_int = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { compare(a, b, most, terms, same_case) }
    };
    fn [strcasecmp](a: usize, b: usize) -> c_int = |[x, y]| {
        // SAFETY: the caller's arguments.
        unsafe { compare(a, b, usize::MAX, [x, y, 0], lower) }
    };
    fn [strncasecmp](a: usize, b: usize, most: usize) -> c_int = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { compare(a, b, most, terms, lower) }
    };
    fn [strchr index](text: usize, byte: c_int) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { find(text, byte, terms) }.unwrap_or(0), 0)
    };
    fn [strchrnul](text: usize, byte: c_int) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { find(text, byte, terms).unwrap_or_else(|| text + length(text)) }, 0)
    };
    fn [strrchr rindex](text: usize, byte: c_int) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (unsafe { find_last(text, byte, terms) }, 0)
    };
    fn [strstr](text: usize, part: usize) -> usize = |[x, y]| {
        pointer(text, x);
        pointer(part, y);
        // SAFETY: the caller's arguments.
        (unsafe { find_text(text, part) }, 0)
    };
    fn [strspn](text: usize, set: usize) -> usize = |[x, y]| {
        pointer(text, x);
        pointer(set, y);
        // SAFETY: the caller's arguments.
        (unsafe { span(text, set, Members::Pass) }, 0)
    };
    fn [strcspn](text: usize, set: usize) -> usize = |[x, y]| {
        pointer(text, x);
        pointer(set, y);
        // SAFETY: the caller's arguments.
        (unsafe { span(text, set, Members::Stop) }, 0)
    };
    fn [strpbrk](text: usize, set: usize) -> usize = |[x, y]| {
        pointer(text, x);
        pointer(set, y);
        // SAFETY: the caller's arguments.
        unsafe {
            let at = text + span(text, set, Members::Stop);
            (if shadow::byte(at).value == 0 { 0 } else { at }, 0)
        }
    };
    fn [strcpy](to: usize, from: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { append(to, from, terms) };
        (to, 0)
    };
    fn [__strcpy_chk](to: usize, from: usize, _room: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { append(to, from, terms) };
        (to, 0)
    };
    fn [stpcpy](to: usize, from: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (to + unsafe { append(to, from, terms) }, 0)
    };
    fn [__stpcpy_chk](to: usize, from: usize, _room: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        (to + unsafe { append(to, from, terms) }, 0)
    };
    fn [strcat](to: usize, from: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { append(to + length(to), from, terms) };
        (to, 0)
    };
    fn [__strcat_chk](to: usize, from: usize, _room: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { append(to + length(to), from, terms) };
        (to, 0)
    };
    fn [strncpy](to: usize, from: usize, most: usize) -> usize = |terms| {
        // SAFETY: the caller's arguments.
        unsafe { copy_padded(to, from, most, terms) };
        (to, 0)
    };
    fn [__strncpy_chk](to: usize, from: usize, most: usize, _room: usize) -> usize = |[x, y, z]| {
        // SAFETY: the caller's arguments.
        unsafe { copy_padded(to, from, most, [x, y, z]) };
        (to, 0)
    };
    fn [strncat](to: usize, from: usize, most: usize) -> usize = |[x, y, z]| {
        pointer(to, x);
        pointer(from, y);
        size(most, z);
        // SAFETY: the caller's arguments.
        unsafe { copy_ended(to + length(to), from, limited_length(from, most)) };
        (to, 0)
    };
    fn [strdup __strdup](text: usize) -> usize = |[term]| {
        pointer(text, term);
        // SAFETY: the caller's argument.
        (unsafe { duplicate(text, length(text)) }, 0)
    };
    fn [strndup](text: usize, most: usize) -> usize = |[term, most_term]| {
        pointer(text, term);
        size(most, most_term);
        // SAFETY: the caller's arguments.
        (unsafe { duplicate(text, limited_length(text, most)) }, 0)
    };
    fn [strtok](text: usize, set: usize) -> usize = |[_]| {
        // SAFETY: the caller's arguments, and the rest of an earlier text.
        unsafe {
            let start = if text == 0 { REST.load(Ordering::Relaxed) } else { text };
            let (word, rest) = next_word(start, set);
            REST.store(rest, Ordering::Relaxed);
            (word, 0)
        }
    };
    fn [strtok_r __strtok_r](text: usize, set: usize, state: *mut usize) -> usize = |[_]| {
        // SAFETY: the caller's arguments.
        unsafe {
            let (word, rest) = next_word(if text == 0 { *state } else { text }, set);
            shadow::clear(state as usize, 8);
            *state = rest;
            (word, 0)
        }
    };
    fn [strsep](text: *mut usize, set: usize) -> usize = |[_]| {
        // SAFETY: the caller's arguments.
        unsafe {
            let start = *text;
            if start != 0 {
                let end = start + span(start, set, Members::Stop);
                let is_last = shadow::byte(end).value == 0;
                if !is_last {
                    write_byte(end, Known::default());
                }
                shadow::clear(text as usize, 8);
                *text = if is_last { 0 } else { end + 1 };
            }
            (start, 0)
        }
    };
}

/// What is left for the next call of `strtok`.
static REST: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a string that are looked at for terms.
const LONGEST: usize = 1 << 16;

unsafe fn plain_length(text: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe { libc::strlen(text as *const _) }
}

/// The byte at a place of a string of known length, which may be thought to
/// go on behind its end.
unsafe fn at(text: usize, length: usize, index: usize) -> Option<Known> {
    if index <= length {
        // SAFETY: as the caller says.
        return Some(unsafe { shadow::byte(text + index) });
    }
    inputs::imagined(text, text + length, index - length)
}

/// The length of a string and its term.
unsafe fn length_term(text: usize, most: usize) -> Known {
    // SAFETY: as the caller says.
    unsafe {
        let length = libc::strnlen(text as *const _, most);
        touch(text, (length + 1).min(most));
        let value = length as u64;
        if length > LONGEST || !shadow::any(text, (length + 1).min(most)) {
            return Known { value, term: 0 };
        }
        let mut last = length;
        while last + 1 < most && at(text, length, last + 1).is_some() {
            last += 1;
        }
        let ends = last >= most;
        let mut all = Known { value: if ends { most } else { last + 1 } as u64, term: 0 };
        for index in (0..=last).rev().filter(|&index| index < most) {
            let byte = at(text, length, index).unwrap_or_default();
            let here = Known { value: index as u64, term: 0 };
            if byte.term == 0 {
                all = if byte.value == 0 { here } else { all };
                continue;
            }
            all.term = terms::choose(terms::equals(byte.term, 0), 64, here, all);
        }
        Known { value, term: all.term }
    }
}

/// The length of a string, which is then known on this path.
pub unsafe fn length(text: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe { limited_length(text, usize::MAX) }
}

pub unsafe fn limited_length(text: usize, most: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe {
        let length = libc::strnlen(text as *const _, most);
        touch(text, (length + 1).min(most));
        if length > LONGEST || !shadow::any(text, (length + 1).min(most)) {
            return length;
        }
        let mut before = 0;
        for index in 0..length {
            before = terms::and(before, terms::not(terms::equals(shadow::byte(text + index).term, 0)));
        }
        found(before);
        if length < most {
            found(terms::equals(shadow::byte(text + length).term, 0));
        }
        length
    }
}

fn same_case(byte: Known) -> Known {
    byte
}

/// A letter as a small one.
fn lower(byte: Known) -> Known {
    let value = u64::from((byte.value as u8).to_ascii_lowercase());
    if byte.term == 0 {
        return Known { value, term: 0 };
    }
    let capital = terms::within(byte.term, u64::from(b'A'), u64::from(b'Z'));
    let small = terms::binary(Op::Add, 8, byte, Known { value: 32, term: 0 });
    Known { value, term: terms::choose(capital, 8, Known { value: 0, term: small }, byte) }
}

unsafe fn compare(
    a: usize,
    b: usize,
    most: usize,
    [a_term, b_term, most_term]: [u32; 3],
    fold: fn(Known) -> Known,
) -> (c_int, u32) {
    pointer(a, a_term);
    pointer(b, b_term);
    size(most, most_term);
    // SAFETY: as the caller says.
    unsafe {
        let lengths = [libc::strnlen(a as *const _, most), libc::strnlen(b as *const _, most)];
        let pair = |index| Some((fold(at(a, lengths[0], index)?), fold(at(b, lengths[1], index)?)));
        // How far either side is known, and can matter.
        let mut end = 0;
        while end < most.min(LONGEST) {
            let Some((x, y)) = pair(end) else { break };
            end += 1;
            let is_end = |byte: Known| byte.term == 0 && byte.value == 0;
            if is_end(x) || is_end(y) || (x.term == 0 && y.term == 0 && x.value != y.value) {
                break;
            }
        }
        let compared =
            (0..end).find(|&index| pair(index).is_none_or(|(x, y)| x.value != y.value || x.value == 0));
        let compared = compared.map_or(end, |index| index + 1);
        touch(a, compared.min(lengths[0] + 1));
        touch(b, compared.min(lengths[1] + 1));
        let mut all = Known::default();
        for (x, y) in (0..end).rev().filter_map(pair) {
            // Equal bytes are the end of both if they are 0.
            let ends = Known { value: u64::from(x.value == 0), term: terms::equals(x.term, 0) };
            let after = match (ends.term, ends.value) {
                (0, 1) => Known::default(),
                (0, _) => all,
                (term, value) => Known {
                    value: if value == 1 { 0 } else { all.value },
                    term: terms::choose(term, 32, Known::default(), all),
                },
            };
            all = first_difference(x, y, after);
        }
        if all.value != 0 {
            tell_wanted([a, b], lengths);
        }
        (all.value as u32 as c_int, all.term)
    }
}

/// Tells what a text of the input, or none, would have to be: where lengths
/// differ, no other bytes make it so, and where they do not, the other word may be wanted beside it.
///
/// # Safety
/// Texts of these lengths.
pub unsafe fn tell_wanted(texts: [usize; 2], lengths: [usize; 2]) {
    for (seen, wanted) in [(0, 1), (1, 0)] {
        // SAFETY: two strings of these lengths at least, as the caller says.
        let [seen_text, wanted_text] = [seen, wanted]
            .map(|side| unsafe { core::slice::from_raw_parts(texts[side] as *const u8, lengths[side]) });
        // SAFETY: as above.
        let is_open = |at: usize| unsafe { shadow::byte(at).term != 0 };
        let depends = |side: usize| (0..lengths[side]).any(|index| is_open(texts[side] + index));
        if !depends(wanted) && (seen_text.is_empty() || depends(seen)) {
            wanted::tell(seen_text, wanted_text);
        }
    }
}

fn byte_wanted(byte: c_int, term: u32) -> Known {
    Known { value: u64::from(byte as u8), term: terms::extract(term, 0, 8) }
}

unsafe fn find(text: usize, byte: c_int, [text_term, byte_term]: [u32; 2]) -> Option<usize> {
    pointer(text, text_term);
    let wanted = byte_wanted(byte, byte_term);
    let mut steps = Steps::default();
    for index in 0.. {
        // SAFETY: as the caller says; the end is met.
        let here = unsafe { shadow::byte(text + index) };
        let is = same(here, wanted);
        let ends = terms::equals(here.term, 0);
        if is.value != 0 {
            touch(text, index + 1);
            steps.finish();
            found(is.term);
            return Some(text + index);
        }
        if here.value == 0 {
            touch(text, index + 1);
            steps.finish();
            found(ends);
            break;
        }
        steps.add(terms::and(terms::not(is.term), terms::not(ends)));
    }
    None
}

unsafe fn find_last(text: usize, byte: c_int, [text_term, byte_term]: [u32; 2]) -> usize {
    pointer(text, text_term);
    let wanted = byte_wanted(byte, byte_term);
    // SAFETY: as the caller says.
    let length = unsafe { length(text) };
    let mut after = 0;
    for index in (0..=length).rev() {
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

unsafe fn find_text(text: usize, part: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe {
        let result = libc::strstr(text as *const _, part as *const _) as usize;
        let (text_length, part_length) = (plain_length(text), plain_length(part));
        touch(text, text_length + 1);
        touch(part, part_length + 1);
        if !shadow::any(text, text_length + 1) && !shadow::any(part, part_length + 1) {
            return result;
        }
        let (text_length, part_length) = (length(text), length(part));
        let mut before = 0;
        for start in 0..=text_length.saturating_sub(part_length) {
            let mut is_here = Known { value: 1, term: 0 };
            for index in 0..part_length {
                let is = same(shadow::byte(text + start + index), shadow::byte(part + index));
                if is.value == 0 && is.term == 0 {
                    is_here = Known::default();
                    break;
                }
                is_here.value &= is.value;
                is_here.term = terms::and(is_here.term, is.term);
            }
            if is_here.value != 0 {
                found(before);
                found(is_here.term);
                break;
            }
            before = terms::and(before, terms::not(is_here.term));
            if text + start + 1 > text + text_length.saturating_sub(part_length) {
                found(before);
            }
        }
        result
    }
}

/// What the members of a set do to a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Members {
    Pass,
    Stop,
}

/// Whether a byte is in a set, as a value and a term.
unsafe fn is_in(byte: Known, set: usize) -> Known {
    let mut is = Known::default();
    // SAFETY: as the caller says.
    unsafe {
        for index in 0..plain_length(set) {
            let one = same(byte, shadow::byte(set + index));
            is.value |= one.value;
            is.term = terms::or(is.term, one.term);
        }
    }
    is
}

/// How far a string goes on with members of a set, or with others.
unsafe fn span(text: usize, set: usize, members: Members) -> usize {
    let mut steps = Steps::default();
    for index in 0.. {
        // SAFETY: as the caller says; the end is met.
        let (here, is) = unsafe {
            let here = shadow::byte(text + index);
            (here, is_in(here, set))
        };
        let ends = terms::equals(here.term, 0);
        let is_over = here.value == 0 || (is.value != 0) == (members == Members::Stop);
        let over = match members {
            Members::Pass => terms::not(is.term),
            Members::Stop => terms::or(is.term, ends),
        };
        if is_over {
            touch(text, index + 1);
            steps.finish();
            found(if members == Members::Stop && here.value == 0 { ends } else { over });
            return index;
        }
        steps.add(terms::not(over));
    }
    0
}

/// Copies bytes with their terms, and ends them.
unsafe fn copy_ended(to: usize, from: usize, length: usize) {
    // SAFETY: as the caller says.
    unsafe {
        shadow::copy(to, from, length);
        core::ptr::copy(from as *const u8, to as *mut u8, length);
        touch(to, length + 1);
        let ends = shadow::byte(from + length);
        let end = if ends.value == 0 { ends } else { Known::default() };
        write_byte(to + length, end);
    }
}

/// Copies a string: its length.
unsafe fn append(to: usize, from: usize, terms: [u32; 2]) -> usize {
    pointer(to, terms[0]);
    pointer(from, terms[1]);
    // SAFETY: as the caller says.
    unsafe {
        let length = length(from);
        copy_ended(to, from, length);
        length
    }
}

unsafe fn copy_padded(to: usize, from: usize, most: usize, [x, y, z]: [u32; 3]) {
    pointer(to, x);
    pointer(from, y);
    size(most, z);
    // SAFETY: as the caller says.
    unsafe {
        let length = limited_length(from, most);
        touch(to, most);
        shadow::copy(to, from, length);
        shadow::clear(to + length, most - length);
        core::ptr::copy(from as *const u8, to as *mut u8, length);
        core::ptr::write_bytes((to + length) as *mut u8, 0, most - length);
    }
}

unsafe fn duplicate(text: usize, length: usize) -> usize {
    let copy = heap::new_in_library(length + 1) as usize;
    if copy != 0 {
        // SAFETY: a block of that size.
        unsafe { copy_ended(copy, text, length) };
    }
    copy
}

/// The next word of a text and what comes after it.
unsafe fn next_word(text: usize, set: usize) -> (usize, usize) {
    if text == 0 {
        return (0, 0);
    }
    // SAFETY: as the caller says.
    unsafe {
        let start = text + span(text, set, Members::Pass);
        if shadow::byte(start).value == 0 {
            return (0, 0);
        }
        let end = start + span(start, set, Members::Stop);
        if shadow::byte(end).value == 0 {
            return (start, 0);
        }
        write_byte(end, Known::default());
        (start, end + 1)
    }
}
