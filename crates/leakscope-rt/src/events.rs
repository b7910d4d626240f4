//! Places where something happens to a block, as numbers: a call stack and,
//! for what instrumented code reports, the site in the source.
//!
//! Derived code keeps a value for its calling context in a thread-local
//! variable: each call replaces it by a mix of the caller's value and a
//! constant of the call. So the context is known without a walk. A table of
//! the thread leads from context, frame and site to the number; what is not
//! in it is walked once. The frame is part of the key because code that was
//! not derived leaves the context as it is.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::followed;

use crate::lock::Lock;
use crate::thread::Thread;
use crate::trail::Trail;
use crate::walk::{self, Caller, Near};
use crate::watches::Watches;
#[cfg(feature = "executable")]
use crate::{activations, unwind};
use crate::{arena, depot, mode, outline, sys};

/// Entries of a thread's table of numbers, and of its table of frees.
const NUMBERS: usize = 1 << followed::NUMBERS_BITS;
const FREES: usize = 1024;

/// Tables for numbers that had to make room for others; a later one is used
/// where the earlier ones are full.
const SPARE: usize = 4;

/// Entries of a thread's table of blocks that came back.
const RETURNS: usize = 512;

/// Marks a site among the return addresses of the depot, and a place that
/// goes with it: what only the running program knew.
const SITE: u64 = 1 << 63;
const PLACE: u64 = 1 << 62;

/// What a thread keeps that is too large for thread-local storage, which lies
/// on its stack. Tables outlive their thread, and serve a later one.
#[repr(C)]
pub struct Tables {
    numbers: [Number; NUMBERS],
    frees: [Freed; FREES],
    returns: [Freed; RETURNS],
    pub watches: Watches,
    #[cfg(feature = "executable")]
    pub throws: crate::left::Throws,
    pub trail: Trail,
    /// Next in the list of all tables.
    next: usize,
    owned: AtomicUsize,
    spare: [[Number; NUMBERS]; SPARE],
}

/// Above, the part of a key that does not say where in the table it is; below,
/// its number. 0 for nothing. Only the thread itself sets these; others may void
/// them. Instrumented code reads them.
#[repr(transparent)]
struct Number(AtomicU64);

impl Number {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, known: u64) {
        self.0.store(known, Ordering::Relaxed);
    }

    /// The number, if it is that of `key`.
    #[inline(always)]
    fn of(&self, key: u64) -> Option<u32> {
        let known = self.get();
        let number = known as u32;
        (number != 0 && (known ^ tag(key)) >> 32 == 0).then_some(number)
    }
}

/// What of a key its entry has above the number.
#[inline(always)]
fn tag(key: u64) -> u64 {
    key << followed::NUMBERS_BITS
}

const _: () = assert!(core::mem::offset_of!(Tables, numbers) == 0);

/// How many blocks of one allocation stack were freed at one place, or came
/// back in one way.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Freed {
    pub allocated: u32,
    pub freed: u32,
    pub blocks: u64,
}

static TABLES: AtomicUsize = AtomicUsize::new(0);

/// What happens, beside the call stack: a site that the instrumenter made (0
/// for none), and a number that belongs to it.
#[derive(Clone, Copy)]
pub struct What {
    pub site: usize,
    pub place: u64,
    /// Tells what happens in one context apart.
    salt: u64,
}

impl What {
    pub const CALL: What = What { site: 0, place: 0, salt: 0 };

    /// At a site whose call has a context for itself.
    pub fn at(site: usize, place: u64) -> What {
        What { site, place, salt: place }
    }

    /// In a call that frees; that the call frees is something else.
    pub fn freed(site: usize, place: u64) -> What {
        What { site, place, salt: (place | 1 << 63) ^ (site as u64) << 16 }
    }
}

/// Number of what happens in the code that called us.
#[inline(always)]
pub fn number(thread: &mut Thread, caller: Caller, what: What) -> u32 {
    let key = (thread.context ^ what.salt.rotate_left(32)).wrapping_mul(followed::KEY);
    match known(thread, key) {
        Some(number) => number,
        None => learn(thread, caller, what, key),
    }
}

/// Number of the innermost frames, for which `context` stands.
#[inline(always)]
pub fn near_number(thread: &mut Thread, context: u64, near: impl FnOnce(&mut Thread) -> Near) -> u32 {
    known_number(thread, context).unwrap_or_else(|| {
        let near = near(thread);
        learn_near(thread, near, context)
    })
}

#[cold]
fn learn_near(thread: &mut Thread, near: Near, context: u64) -> u32 {
    let key = context.wrapping_mul(followed::KEY);
    recall(thread, key).unwrap_or_else(|| {
        let number = near.stack::<{ outline::NEAR }>();
        remember(thread, key, number);
        number
    })
}

/// The first number of the row that the code which called us has in its
/// context.
#[cfg(feature = "executable")]
pub fn row(thread: &mut Thread, caller: Caller) -> u32 {
    let key = thread.context.wrapping_mul(followed::KEY);
    if let Some(row) = known(thread, key).or_else(|| recall(thread, key)) {
        return row;
    }
    let code = unwind::function_of(caller.returns_to() as u64);
    match (stack_now(thread, caller), code) {
        (0, _) | (_, None) => followed::IS_PLACE,
        (stack, Some(code)) => {
            let row = activations::row(depot::outer(stack), &code);
            remember(thread, key, row);
            row
        }
    }
}

/// The number of a call in a context, if the thread knows it.
#[inline(always)]
pub fn known_number(thread: &mut Thread, context: u64) -> Option<u32> {
    known(thread, context.wrapping_mul(followed::KEY))
}

#[inline(always)]
fn known(thread: &mut Thread, key: u64) -> Option<u32> {
    tables(thread)?.numbers[index(key)].of(key)
}

#[inline(always)]
fn index(key: u64) -> usize {
    // What is watched has few places, and a page for each would be too much.
    let bits = if mode::samples() { followed::NUMBERS_BITS - 2 } else { followed::NUMBERS_BITS };
    (key >> (64 - bits)) as usize
}

/// Voids all numbers, when a library is gone and another may come to its
/// place.
pub fn forget() {
    for_each_tables(|tables| {
        let all = tables.numbers.iter().chain(tables.spare.as_flattened());
        all.filter(|known| known.get() != 0).for_each(|known| known.set(0));
    });
}

#[cold]
fn learn(thread: &mut Thread, caller: Caller, what: What, key: u64) -> u32 {
    if let Some(number) = recall(thread, key) {
        return number;
    }
    let number = of_stack(stack_now(thread, caller), what);
    remember(thread, key, number);
    number
}

/// A program that calls itself in very many ways would fill the memory with
/// stacks; beyond a number of frames only the innermost are kept. What is
/// watched must stay small for days.
fn stack_now(thread: &mut Thread, caller: Caller) -> u32 {
    let most = if mode::samples() { 1 << 15 } else { 1 << 18 };
    match depot::end() > most {
        true => walk::short_stack::<8>(thread, caller),
        false => walk::stack(thread, caller),
    }
}

/// The number of a key whose place another has taken: they change places.
fn recall(thread: &mut Thread, key: u64) -> Option<u32> {
    let tables = tables(thread)?;
    let (place, number) = spare(tables, index(key)).find_map(|place| Some((place, place.of(key)?)))?;
    let entry = &tables.numbers[index(key)];
    let known = place.get();
    place.set(entry.get());
    entry.set(known);
    Some(number)
}

fn remember(thread: &mut Thread, key: u64, number: u32) {
    if number == 0 {
        return;
    }
    let Some(tables) = own_tables(thread) else { return };
    let entry = &tables.numbers[index(key)];
    if entry.get() != 0 {
        // Where all are taken, one is as good as another.
        let mut places = spare(tables, index(key));
        let free = spare(tables, index(key)).find(|place| place.get() == 0);
        if let Some(place) = free.or_else(|| places.nth(number as usize % places.len())) {
            place.set(entry.get());
        }
    }
    entry.set(tag(key) >> 32 << 32 | u64::from(number));
}

/// Where what was at this place of the table may be.
fn spare(tables: &Tables, index: usize) -> impl ExactSizeIterator<Item = &Number> {
    // What is watched must stay small.
    let count = if mode::samples() { 1 } else { SPARE };
    tables.spare[..count].iter().map(move |table| &table[index])
}

/// Number of what happened at a stack.
pub fn of_stack(stack: u32, what: What) -> u32 {
    let mut number = stack;
    if what.site != 0 && number != 0 {
        number = depot::under(number, SITE | what.site as u64);
        if what.place != 0 && number != 0 {
            number = depot::under(number, PLACE | what.place);
        }
    }
    number
}

/// Counts frees of blocks of `allocated`.
#[inline(always)]
pub fn count_free(thread: &mut Thread, allocated: u32, freed: u32, blocks: u64) {
    if let Some(tables) = tables(thread) {
        count(&mut tables.frees, allocated, freed, blocks);
    }
}

/// Counts a block of `allocated` that was accessed after it had looked stale:
/// when by order, and after how many shares of the run.
#[cfg(feature = "executable")]
#[cold]
pub fn count_return(thread: &mut Thread, allocated: u32, order: u16, shares: u16) {
    if let Some(tables) = own_tables(thread) {
        count(&mut tables.returns, allocated, u32::from(order) << 16 | u32::from(shares), 1);
    }
}

#[inline(always)]
fn count(entries: &mut [Freed], allocated: u32, freed: u32, blocks: u64) {
    let first = depot::mix(u64::from(allocated), u64::from(freed)) as usize >> 8;
    for index in first..first + 8 {
        let at = index % entries.len();
        let entry = &mut entries[at];
        if entry.blocks == 0 {
            (entry.allocated, entry.freed) = (allocated, freed);
        }
        if entry.allocated == allocated && entry.freed == freed {
            entry.blocks += blocks;
            return;
        }
    }
}

/// The thread's tables, made if there are none yet.
pub fn own_tables(thread: &mut Thread) -> Option<&'static mut Tables> {
    if thread.tables == 0 && thread.known {
        thread.tables = take_tables();
    }
    tables(thread)
}

#[inline(always)]
fn tables(thread: &mut Thread) -> Option<&'static mut Tables> {
    // SAFETY: null, or tables that this thread alone uses.
    unsafe { (thread.tables as *mut Tables).as_mut() }
}

/// Tables that no thread has, or new ones; 0 if there is no memory.
fn take_tables() -> usize {
    let mut at = TABLES.load(Ordering::Acquire);
    // SAFETY: listed tables stay.
    while let Some(tables) = unsafe { (at as *mut Tables).as_ref() } {
        if tables.owned.swap(1, Ordering::Acquire) == 0 {
            return at;
        }
        at = tables.next;
    }
    let new = new_tables();
    // SAFETY: zeroed memory is valid tables, and nobody else knows of it.
    let Some(tables) = (unsafe { (new as *mut Tables).as_mut() }) else { return 0 };
    tables.owned.store(1, Ordering::Relaxed);
    let mut first = TABLES.load(Ordering::Relaxed);
    loop {
        tables.next = first;
        // Release: whoever sees the tables sees their link.
        match TABLES.compare_exchange_weak(first, new, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return new,
            Err(now) => first = now,
        }
    }
}

/// Zeroed memory for tables, from one reservation, so that the scan knows it
/// as ours however many threads there are; 0 if there is none left.
fn new_tables() -> usize {
    const MOST: usize = 4096;
    const BYTES: usize = size_of::<Tables>().next_multiple_of(sys::PAGE);
    static BASE: Lock<(usize, usize)> = Lock::new((0, 0));
    let mut pool = BASE.lock();
    if pool.0 == 0 {
        arena::ready();
        pool.1 = if arena::limited_to() == 0 { MOST } else { 16 };
        pool.0 = sys::reserve(pool.1 * BYTES);
    }
    if pool.0 == 0 || pool.1 == 0 {
        return 0;
    }
    pool.1 -= 1;
    let new = pool.0 + pool.1 * BYTES;
    // SAFETY: within the reservation.
    if unsafe { sys::commit(new, BYTES) } { new } else { 0 }
}

/// For a thread that ends.
pub fn give_tables(thread: &mut Thread) {
    if let Some(tables) = tables(thread) {
        // Release: the next owner sees what was written.
        tables.owned.store(0, Ordering::Release);
        thread.tables = 0;
    }
}

/// Calls `f` with every thread's counts. For a scan, during which nothing
/// moves; the same pair may come from several threads.
pub fn for_each_freed(mut f: impl FnMut(Freed)) {
    for_each_tables(|tables| {
        tables.frees.iter().filter(|entry| entry.blocks > 0).for_each(|&entry| f(entry));
    });
}

/// The same for blocks that came back: allocation stack, order and shares, and
/// how many.
pub fn for_each_returned(mut f: impl FnMut(u32, (u16, u16), u64)) {
    for_each_tables(|tables| {
        for entry in tables.returns.iter().filter(|entry| entry.blocks > 0) {
            f(entry.allocated, ((entry.freed >> 16) as u16, entry.freed as u16), entry.blocks);
        }
    });
}

fn for_each_tables(mut f: impl FnMut(&Tables)) {
    let mut at = TABLES.load(Ordering::Acquire);
    // SAFETY: listed tables stay.
    while let Some(tables) = unsafe { (at as *const Tables).as_ref() } {
        f(tables);
        at = tables.next;
    }
}

/// Takes site and place from the inner end of a stack as the depot has it.
/// Returns what happened, and how many entries that took.
pub fn split(frames: &[u64]) -> (What, usize) {
    match *frames {
        [place, site, ..] if place >> 62 == PLACE >> 62 && site & SITE != 0 => {
            (What::at((site & !SITE) as usize, place & !PLACE), 2)
        }
        [site, ..] if site & SITE != 0 => (What::at((site & !SITE) as usize, 0), 1),
        _ => (What::CALL, 0),
    }
}
