//! Functions that were called from somewhere, each with a row of numbers: one
//! for each byte of its code. So derived code has the event of a use, place and
//! whole stack, by adding a constant to the first number of its row, for which
//! it asks once in a call.
//!
//! A number becomes a stack again when a record is written, by when most of them
//! are forgotten. That must do without a lock, which a stopped thread may hold.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::followed::IS_PLACE;

use crate::lock::Lock;
use crate::{depot, sys};

/// Rows and numbers after which all new calls of a function have one row, for
/// which the rest is kept back.
const ROWS: usize = 1 << 18;
const NUMBERS: u32 = 7 << 28;
const MOST_ROWS: usize = ROWS + (1 << 16);

/// So many numbers from [`IS_PLACE`] on stand for places that nobody knows.
const UNKNOWN: u32 = 1 << 26;

/// A function, and the stack that called it.
#[repr(C)]
struct Row {
    start: AtomicU64,
    first: AtomicU32,
    caller: AtomicU32,
}

/// Where rows are, in the order of their numbers; 0 before the first.
static BASE: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static END: AtomicU32 = AtomicU32::new(IS_PLACE + UNKNOWN);

/// Numbers of rows, counted from 1, by hash.
static TABLE: Lock<Table> = Lock::new(Table { address: 0, places: 1 << 10 });
const MOST_PLACES: usize = 4 * ROWS;

struct Table {
    /// Of room for [`MOST_PLACES`]; 0 before the first.
    address: usize,
    /// Those in use, a power of two: few pages are touched where rows are few.
    places: usize,
}

/// The first number of the function with this code, called from `caller`.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
pub fn row(caller: u32, code: &Range<u64>) -> u32 {
    let mut table = TABLE.lock();
    if table.address == 0 && BASE.load(Ordering::Relaxed) == 0 {
        BASE.store(sys::reserve_sparse(MOST_ROWS * size_of::<Row>()), Ordering::Relaxed);
        table.address = sys::reserve_sparse(MOST_PLACES * size_of::<u32>());
    }
    if table.address == 0 || BASE.load(Ordering::Relaxed) == 0 {
        return IS_PLACE;
    }
    let count = COUNT.load(Ordering::Relaxed);
    if 2 * count >= table.places && table.places < MOST_PLACES {
        table.grow(count);
    }
    let is_full = count >= ROWS || END.load(Ordering::Relaxed) - IS_PLACE >= NUMBERS;
    let caller = if is_full && table.find(caller, code.start).is_err() { depot::root() } else { caller };
    table.find(caller, code.start).unwrap_or_else(|entry| add(entry, caller, code))
}

impl Table {
    /// The first number of a row, or the entry for a new one.
    fn find(&self, caller: u32, start: u64) -> Result<u32, *mut u32> {
        let mut index = depot::mix(u64::from(caller), start) as usize >> 20;
        loop {
            let entry = (self.address as *mut u32).wrapping_add(index % self.places);
            // SAFETY: within the table, in which there is always room; we have its lock.
            let Some(number) = unsafe { *entry }.checked_sub(1) else { return Err(entry) };
            let row = at(number as usize);
            if row.start.load(Ordering::Relaxed) == start && row.caller.load(Ordering::Relaxed) == caller {
                return Ok(row.first.load(Ordering::Relaxed));
            }
            index += 1;
        }
    }

    /// Room for more rows than the `count` there are.
    fn grow(&mut self, count: usize) {
        // SAFETY: so much is in use, and more is there.
        unsafe { (self.address as *mut u32).write_bytes(0, self.places) };
        self.places *= 4;
        for number in 0..count {
            let row = at(number);
            let place = self.find(row.caller.load(Ordering::Relaxed), row.start.load(Ordering::Relaxed));
            if let Err(entry) = place {
                // SAFETY: as in `find`.
                unsafe { *entry = number as u32 + 1 };
            }
        }
    }
}

fn add(entry: *mut u32, caller: u32, code: &Range<u64>) -> u32 {
    let (count, first) = (COUNT.load(Ordering::Relaxed), END.load(Ordering::Relaxed));
    let end = u32::try_from(code.end - code.start).ok().and_then(|bytes| first.checked_add(bytes));
    let Some(end) = end.filter(|&end| count < MOST_ROWS && end < u32::MAX - UNKNOWN) else { return IS_PLACE };
    let row = at(count);
    row.start.store(code.start, Ordering::Relaxed);
    row.first.store(first, Ordering::Relaxed);
    row.caller.store(caller, Ordering::Relaxed);
    END.store(end, Ordering::Relaxed);
    // Release: who counts the row sees it.
    COUNT.store(count + 1, Ordering::Release);
    // SAFETY: as in `find`.
    unsafe { *entry = count as u32 + 1 };
    first
}

/// What a number stands for: a stack, and where the function that it called
/// was.
pub fn place(number: u32) -> Option<(u32, u64)> {
    let (mut low, mut high) = (0, COUNT.load(Ordering::Acquire));
    while low < high {
        let middle = low.midpoint(high);
        if at(middle).first.load(Ordering::Relaxed) <= number {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let row = at(low.checked_sub(1)?);
    let offset = number - row.first.load(Ordering::Relaxed);
    Some((row.caller.load(Ordering::Relaxed), row.start.load(Ordering::Relaxed) + u64::from(offset)))
}

/// The numbers of known places.
pub fn numbers() -> Range<u32> {
    IS_PLACE + UNKNOWN..END.load(Ordering::Relaxed)
}

fn at(index: usize) -> &'static Row {
    // SAFETY: reserved with all others; made of atomics, for which zero is valid.
    unsafe { &*(BASE.load(Ordering::Relaxed) as *const Row).add(index) }
}

pub fn before_fork() {
    TABLE.acquire();
}

pub fn after_fork() {
    TABLE.release();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_places() {
        let (f, g) = (0x1000..0x1080, 0x2000..0x2010);
        let rows = [row(7, &f), row(8, &f), row(7, &g)];
        assert_eq!([row(7, &f), row(8, &f), row(7, &g)], rows);
        assert_eq!(
            rows.map(|first| place(first + 15)),
            [Some((7, 0x100f)), Some((8, 0x100f)), Some((7, 0x200f))]
        );
        assert_eq!(place(IS_PLACE + 5), None);
        assert!(rows.iter().all(|first| numbers().contains(&(first + 15))));
        assert!(!numbers().contains(&(IS_PLACE + 5)));
        // More than the table has room for at first.
        let others = (0..3000).map(|caller| (caller + 100, row(caller + 100, &g)));
        let others: Vec<_> = others.collect();
        assert!(others.iter().all(|&(caller, first)| place(first) == Some((caller, 0x2000))));
        assert!(others.iter().all(|&(caller, first)| row(caller, &g) == first));
        assert_eq!(row(8, &f), rows[1]);
    }
}
