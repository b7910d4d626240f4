//! Seats of blocks: what is kept of a block lies in several tables, and its
//! seat says where in each. The blocks of a chunk have seats in a row, as many
//! as they are: so what is kept of a few large ones takes no page of its own.
//!
//! Rows are of few lengths, and one that was given back serves a chunk of the
//! same kind again.

use core::sync::atomic::{AtomicU64, Ordering};

use super::{ACCESSES, CHUNK, META, STAMP, STAMPS, USE, USES, accesses, is_followed, metas, stamps_of};
use crate::lock::Lock;
use crate::pools;
use crate::size_class::{CLASSES, SIZES};
use crate::sys;

/// Seats at most: a chunk's first is kept in so many bits.
pub const MOST: usize = 1 << 32;

/// Seats committed at a time: whole pages of each table.
const GROWTH: usize = 1 << 14;

/// How many seats a row has: as blocks of a class fit into a chunk, or this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(u8);

impl Kind {
    /// One, of a block that has chunks to itself.
    pub const LARGE: Kind = Kind(CLASSES as u8);
    /// Of what is known of blocks of pools.
    pub const ENTRIES: Kind = Kind(CLASSES as u8 + 1);
    /// One for each 16 bytes.
    pub const GRANULES: Kind = Kind(0);
    const COUNT: usize = CLASSES + 2;

    pub fn of_class(class: usize) -> Kind {
        Kind(class as u8)
    }

    fn seats(self) -> usize {
        match self {
            Kind::LARGE => 1,
            Kind::ENTRIES => CHUNK / pools::ENTRY,
            Kind(class) => CHUNK / SIZES[usize::from(class)] as usize,
        }
    }
}

/// Seat 0 is nobody's: stamps that are looked for where no block is find none.
static SEATS: Lock<Seats> = Lock::new(Seats { end: 1, committed: 0, most: 0, free: [0; Kind::COUNT] });

struct Seats {
    /// All from here on were never given.
    end: usize,
    committed: usize,
    most: usize,
    /// By kind, the first of a row that was given back, or 0; its metadata says
    /// the next.
    free: [u32; Kind::COUNT],
}

/// A row of seats.
#[derive(Clone, Copy)]
pub struct Row {
    pub first: u32,
    pub kind: Kind,
}

/// A row of this kind, or where there are no more one that is longer.
pub fn take(kind: Kind) -> Option<Row> {
    let mut seats = SEATS.lock();
    let row = |seats: &mut Seats, kind| seats.take_back(kind).map(|first| Row { first, kind });
    row(&mut seats, kind).or_else(|| Some(Row { first: seats.grow(kind.seats())?, kind })).or_else(|| {
        let longer = (0..Kind::COUNT as u8).map(Kind).filter(|it| it.seats() > kind.seats());
        longer.rev().find_map(|kind| row(&mut seats, kind))
    })
}

/// Gives back a row none of whose seats is in use.
pub fn give(row: Row) {
    let mut seats = SEATS.lock();
    let next = core::mem::replace(&mut seats.free[usize::from(row.kind.0)], row.first);
    link(row.first).store(u64::from(next), Ordering::Relaxed);
}

impl Seats {
    fn take_back(&mut self, kind: Kind) -> Option<u32> {
        let first = self.free[usize::from(kind.0)];
        if first == 0 {
            return None;
        }
        // What the seat held was a free block's; it is none's.
        self.free[usize::from(kind.0)] = link(first).swap(0, Ordering::Relaxed) as u32;
        Some(first)
    }

    fn grow(&mut self, count: usize) -> Option<u32> {
        let end = self.end + count;
        if end > self.most {
            return None;
        }
        if end > self.committed {
            let wanted = end.next_multiple_of(GROWTH).min(self.most);
            let (from, more) = (self.committed, wanted - self.committed);
            // SAFETY: in our reservations; both ends are those of pages.
            let done = tables().all(|(base, each)| unsafe { sys::commit(base + from * each, more * each) });
            if !done {
                return None;
            }
            self.committed = wanted;
        }
        Some(core::mem::replace(&mut self.end, end) as u32)
    }
}

/// Clears the stamps of a row, where pointers are followed.
pub fn forget(row: Row) {
    // SAFETY: committed when the row was given out; no block has these seats any more.
    unsafe { core::ptr::write_bytes(stamps_of(row.first as usize) as *mut u8, 0, row.kind.seats() * STAMP) };
}

/// Where the link of a row that was given back is.
fn link(first: u32) -> &'static AtomicU64 {
    // SAFETY: the seat of a row, so committed.
    unsafe { &*((metas() + first as usize * META) as *const AtomicU64) }
}

/// The tables by seat: where each begins, and its bytes for each.
fn tables() -> impl Iterator<Item = (usize, usize)> {
    let followed = [(STAMPS, STAMP), (USES, USE)].into_iter().filter(|_| is_followed());
    let sampled = [(accesses(), ACCESSES)].into_iter().filter(|&(base, _)| base != 0);
    [(metas(), META)].into_iter().chain(followed).chain(sampled)
}

/// Address space that the tables have.
pub fn reserved() -> usize {
    let most = SEATS.lock().most;
    tables().map(|(_, each)| most * each).sum()
}

/// How many seats there may be: for which address space was reserved.
pub fn set_most(most: usize) {
    SEATS.lock().most = most;
}

/// Gives back the address space of all but `most`, and of those in use.
pub fn shrink(most: usize) {
    let mut seats = SEATS.lock();
    let kept = most.next_multiple_of(GROWTH).max(seats.committed);
    if kept < seats.most {
        // SAFETY: the ends of our reservations, beyond what was ever committed.
        tables()
            .for_each(|(base, each)| unsafe { sys::unmap(base + kept * each, (seats.most - kept) * each) });
        seats.most = kept;
    }
}

/// Gets the memory of what is kept by a row from the system.
pub fn populate(row: Row) {
    for (base, each) in tables() {
        // SAFETY: committed when the row was given out.
        unsafe { sys::populate(base + row.first as usize * each, row.kind.seats() * each) };
    }
}

pub fn before_fork() {
    SEATS.acquire();
}

pub fn after_fork() {
    SEATS.release();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_apart_and_are_given_again() {
        assert!(crate::arena::ready());
        let kinds = [Kind::of_class(3), Kind::LARGE, Kind::GRANULES, Kind::LARGE, Kind::of_class(3)];
        let mut rows: Vec<Row> = kinds.into_iter().map(|kind| take(kind).expect("there are seats")).collect();
        let back = rows[0];
        rows.sort_by_key(|row| row.first);
        assert!(rows[0].first > 0);
        for two in rows.windows(2) {
            assert!(two[0].first as usize + two[0].kind.seats() <= two[1].first as usize);
        }
        give(back);
        // Another test may be faster.
        let again = take(back.kind).expect("there are seats");
        assert!(again.first == back.first || rows.iter().all(|row| row.first != again.first));
        rows.iter().filter(|row| row.first != back.first).for_each(|&row| give(row));
        give(again);
    }
}
