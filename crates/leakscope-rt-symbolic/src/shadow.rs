//! The program's memory in terms: a term for each byte that has one, and the
//! heap object that each 16 bytes belong to, where objects are followed.
//!
//! A byte's term is kept with the value that the byte had then. Code that
//! knows nothing of terms writes over memory, and what is not that value any
//! more has no term; only where it writes the same value again, a term stays
//! that should have gone.

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

use leakscope_wire::symbolic::limits;

use crate::shared;
use crate::terms::{self, Known};

const PAGE: usize = 4096;
pub const GRANULE: usize = 16;

#[repr(C)]
pub struct Page {
    number: usize,
    terms: [u32; PAGE],
    values: [u8; PAGE],
    objects: [u32; PAGE / GRANULE],
}

/// What is in a page: bits of [`leakscope_pages`].
pub const TERMS: u8 = 1;
pub const OBJECTS: u8 = 2;

/// For each page, by the lower bits of its number, whether there is anything
/// to look for. Instrumented code asks here first. An access looks at the page
/// of its first byte only, so what begins a page is said of the one before
/// too.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_upper_case_globals)]
pub static leakscope_pages: [AtomicU8; 1 << 20] = [const { AtomicU8::new(0) }; 1 << 20];

/// The longest access that looks at one page only.
const REACH: usize = 64;

const ENTRIES: usize = 1 << 15;
static TABLE: AtomicPtr<AtomicPtr<Page>> = AtomicPtr::new(core::ptr::null_mut());
static POOL: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);
/// Beyond so many the table would become slow.
const MOST: usize = ENTRIES / 2;

pub fn start() -> bool {
    let table = shared::memory(ENTRIES * size_of::<AtomicPtr<Page>>());
    let pool = shared::memory(MOST * size_of::<Page>());
    TABLE.store(table.cast(), Ordering::Relaxed);
    POOL.store(pool.cast(), Ordering::Relaxed);
    !table.is_null() && !pool.is_null()
}

fn filter(page: usize) -> &'static AtomicU8 {
    &leakscope_pages[page % leakscope_pages.len()]
}

fn mark(address: usize, what: u8) {
    filter(address / PAGE).fetch_or(what, Ordering::Relaxed);
    if address % PAGE < REACH {
        filter((address / PAGE).wrapping_sub(1)).fetch_or(what, Ordering::Relaxed);
    }
}

/// Where the page is in the table, or would be.
fn entry(number: usize) -> Option<&'static AtomicPtr<Page>> {
    let table = TABLE.load(Ordering::Relaxed);
    if table.is_null() {
        return None;
    }
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    // SAFETY: so many entries are there; half of them are free, and pages stay.
    (hash..).map(|index| unsafe { &*table.add(index % ENTRIES) }).find(|entry| unsafe {
        entry.load(Ordering::Acquire).as_ref().is_none_or(|page| page.number == number)
    })
}

/// The shadow of a page, if it has one.
fn page(number: usize) -> Option<&'static mut Page> {
    // SAFETY: pages stay where they are; one thread at a time builds terms.
    unsafe { entry(number)?.load(Ordering::Acquire).as_mut() }
}

fn page_or_new(number: usize) -> Option<&'static mut Page> {
    let entry = entry(number)?;
    // SAFETY: as above; a new page is zeroed memory.
    unsafe {
        if let Some(page) = entry.load(Ordering::Acquire).as_mut() {
            return Some(page);
        }
        let index = USED.fetch_add(1, Ordering::Relaxed);
        if index >= MOST {
            USED.store(MOST, Ordering::Relaxed);
            shared::limit(limits::MEMORY);
            return None;
        }
        let page = POOL.load(Ordering::Relaxed).add(index);
        (*page).number = number;
        entry.store(page, Ordering::Release);
        Some(&mut *page)
    }
}

/// A byte of the program's memory.
///
/// # Safety
/// It can be read.
pub unsafe fn byte(address: usize) -> Known {
    // SAFETY: as the caller says.
    let value = unsafe { (address as *const u8).read() };
    let term =
        if filter(address / PAGE).load(Ordering::Relaxed) & TERMS == 0 { 0 } else { term_at(address, value) };
    Known { value: value.into(), term }
}

fn term_at(address: usize, value: u8) -> u32 {
    let Some(page) = page(address / PAGE) else { return 0 };
    let at = address % PAGE;
    if page.terms[at] == 0 || page.values[at] == value { page.terms[at] } else { 0 }
}

/// The term of so many bytes as a number, at most 8.
///
/// # Safety
/// They can be read.
pub unsafe fn load(address: usize, bytes: usize) -> u32 {
    let mut parts = [Known::default(); 8];
    for (index, part) in parts[..bytes].iter_mut().enumerate() {
        // SAFETY: as the caller says.
        *part = unsafe { byte(address + index) };
    }
    number(&parts[..bytes])
}

/// Bytes as one number, the lowest first.
pub fn number(bytes: &[Known]) -> u32 {
    let Some(last) = bytes.iter().rposition(|byte| byte.term != 0) else { return 0 };
    let mut all = 0;
    for (index, &byte) in bytes[..=last].iter().enumerate() {
        let part = terms::of(byte, 8);
        all = if index == 0 { part } else { terms::concat(part, all) };
    }
    let above = &bytes[last + 1..];
    if above.is_empty() {
        return all;
    }
    if above.iter().all(|byte| byte.value == 0) {
        return terms::cast(leakscope_wire::symbolic::Op::ZExt, 8 * bytes.len() as u8, all);
    }
    above.iter().fold(all, |all, &byte| terms::concat(terms::of(byte, 8), all))
}

/// The program is about to write a number there.
pub fn store(address: usize, bytes: usize, known: Known) {
    for index in 0..bytes.min(8) {
        let term = terms::extract(known.term, 8 * index as u16, 8);
        set(address + index, Known { value: known.value >> (8 * index) & 0xff, term });
    }
}

/// The byte has this value, or is about to have it.
pub fn set(address: usize, byte: Known) {
    if byte.term == 0 {
        return clear(address, 1);
    }
    mark(address, TERMS);
    if let Some(page) = page_or_new(address / PAGE) {
        page.terms[address % PAGE] = byte.term;
        page.values[address % PAGE] = byte.value as u8;
    }
}

/// What is there has no terms any more.
pub fn clear(address: usize, bytes: usize) {
    parts(address, bytes).for_each(|terms| terms.fill(0));
}

/// Whether any of these bytes may have a term.
pub fn any(address: usize, bytes: usize) -> bool {
    parts(address, bytes).any(|terms| terms.iter().any(|&term| term != 0))
}

/// The terms of a range, page by page, where there are some.
fn parts(address: usize, bytes: usize) -> impl Iterator<Item = &'static mut [u32]> {
    let end = address.saturating_add(bytes);
    (address / PAGE..end.div_ceil(PAGE)).filter_map(move |number| {
        if filter(number).load(Ordering::Relaxed) & TERMS == 0 {
            return None;
        }
        let start = number * PAGE;
        let (first, last) = (address.max(start) - start, end.min(start + PAGE) - start);
        Some(&mut page(number)?.terms[first..last])
    })
}

/// The program is about to copy memory, which may overlap.
///
/// # Safety
/// What is copied can be read.
pub unsafe fn copy(to: usize, from: usize, bytes: usize) {
    if !any(from, bytes) {
        return clear(to, bytes);
    }
    // SAFETY: as the caller says.
    let one = |index: usize| set(to + index, unsafe { byte(from + index) });
    if to <= from { (0..bytes).for_each(one) } else { (0..bytes).rev().for_each(one) }
}

/// The followed object that an address is in; 0 for none.
pub fn object(address: usize) -> u32 {
    if filter(address / PAGE).load(Ordering::Relaxed) & OBJECTS == 0 {
        return 0;
    }
    page(address / PAGE).map_or(0, |page| page.objects[address % PAGE / GRANULE])
}

/// Says which object memory belongs to.
pub fn set_object(address: usize, bytes: usize, object: u32) {
    for at in (address..address + bytes.max(1)).step_by(GRANULE) {
        mark(at, OBJECTS);
        if let Some(page) = page_or_new(at / PAGE) {
            page.objects[at % PAGE / GRANULE] = object;
        }
    }
}
