//! Parts of memory that a pool got as a whole, as blocks of their own: found by
//! address, and by pool.
//!
//! A part that went back to its pool stays known until its memory is used
//! again: what is left there is nobody's, and the scan passes over it. Who says
//! what a part is, and what happens to it, is in `pools`.

use crate::heap::{self, Block, State};
use crate::list::{List, Numbers};
use crate::memory::{self, Single};

/// A block of a pool. The block comes first: a pointer to it is one to all.
#[repr(C)]
struct Part {
    block: Block,
    pool: usize,
    is_kept: bool,
    /// Neighbours among those of the same pool.
    after: *mut Part,
    before: *mut Part,
}

/// Parts by 64 KiB of addresses, each list in their order.
struct Index {
    pages: Numbers<u64>,
    lists: List<*mut List<*mut Part>>,
    pools: Numbers<u64>,
    /// By number of the pool.
    first: List<*mut Part>,
    spare: List<*mut Part>,
    are_used: bool,
}

const PAGE_SHIFT: u32 = 16;

static INDEX: Single<Index> = Single::new(Index {
    pages: Numbers::new(),
    lists: List::new(),
    pools: Numbers::new(),
    first: List::new(),
    spare: List::new(),
    are_used: false,
});

/// A block as a pool hands it out.
#[derive(Clone, Copy)]
pub struct New {
    pub start: usize,
    /// At least one.
    pub bytes: usize,
    pub pool: usize,
    pub is_kept: bool,
}

#[inline(always)]
pub fn are_used() -> bool {
    INDEX.get().are_used
}

/// The live part that `word` points into.
pub fn find(word: usize) -> Option<&'static mut Block> {
    part_at(word).map(|part| &mut part.block).filter(|block| block.is_live())
}

/// The end of the part at an address, live or given back.
pub fn end_of(address: usize) -> Option<usize> {
    part_at(address).map(|part| part.block.start + part.block.bytes)
}

/// The pool that keeps a block.
pub fn keeper(block: &Block) -> Option<usize> {
    let part = part_of(block)?;
    (part.is_kept && part.pool != 0).then_some(part.pool)
}

/// Whether live parts lie in a block of the heap: it is told by them.
pub fn are_within(block: &Block) -> bool {
    first_where(block, Block::is_live).is_some()
}

/// The first part in a block of the heap, live or given back.
pub fn first_in(block: &Block) -> Option<&'static mut Block> {
    first_where(block, |_| true)
}

fn first_where(block: &Block, is_wanted: impl Fn(&Block) -> bool) -> Option<&'static mut Block> {
    let (start, end) = (block.start, block.start + block.bytes);
    let mut found = None;
    for_each_list(start, end, |list| {
        let mut parts = list.iter().map(|&part| {
            // SAFETY: parts stay.
            unsafe { &mut (*part).block }
        });
        found =
            found.take().or_else(|| parts.find(|part| (start..end).contains(&part.start) && is_wanted(part)));
    });
    found
}

pub fn for_each_live(mut f: impl FnMut(&'static mut Block)) {
    let index = INDEX.get();
    for (&page, &list) in index.pages.keys().iter().zip(index.lists.iter()) {
        // SAFETY: lists and parts stay.
        for &part in unsafe { (*list).iter() } {
            // SAFETY: as above.
            let block = unsafe { &mut (*part).block };
            if block.is_live() && (block.start >> PAGE_SHIFT) as u64 == page {
                f(block);
            }
        }
    }
}

/// Makes a part a live block. What lay there ends.
pub fn begin(new: New) -> &'static mut Block {
    forget(new.start, new.start + new.bytes);
    let index = INDEX.get();
    index.are_used = true;
    let part = index.spare.pop().unwrap_or_else(|| memory::own(size_of::<Part>()).cast());
    // SAFETY: memory for one, that nobody uses; zero is a valid block.
    let part = unsafe { &mut *part };
    part.block = heap::new_part(new.start, new.bytes);
    (part.pool, part.is_kept) = (new.pool, new.is_kept);
    join(part);
    for page in pages(new.start, new.start + new.bytes) {
        let list = list_of(page);
        let place = list.partition_point(|&other| {
            // SAFETY: parts stay.
            unsafe { (*other).block.start < new.start }
        });
        list.push(part);
        list[place..].rotate_right(1);
    }
    &mut part.block
}

/// The live part that starts at an address.
pub fn starting_at(address: usize) -> Option<&'static mut Block> {
    find(address).filter(|block| block.start == address)
}

/// The part goes back to its pool. Its memory is nobody's from now on.
pub fn end(block: &Block) {
    if let Some(part) = part_of(block) {
        leave(part);
        part.block.state = State::Free;
    }
}

/// The part is another pool's.
pub fn give(block: &Block, pool: usize) {
    if let Some(part) = part_of(block) {
        leave(part);
        part.pool = pool;
        join(part);
    }
}

/// The pool of the part at an address; 0 if there is none.
pub fn pool_at(address: usize) -> usize {
    part_at(address).map_or(0, |part| part.pool)
}

/// A live part of a pool.
pub fn any_of(pool: usize) -> Option<&'static mut Block> {
    let index = INDEX.get();
    let number = index.pools.find(pool as u64)? as usize;
    // SAFETY: null, or a part, which stays.
    unsafe { index.first[number - 1].as_mut() }.map(|part| &mut part.block)
}

/// Memory is another's from now on: no part lies there.
pub fn forget(start: usize, end: usize) {
    if !are_used() {
        return;
    }
    let mut overlapping = List::<*mut Part>::new();
    for_each_list(start, end, |list| {
        for &part in list.iter() {
            // SAFETY: parts stay.
            let block = unsafe { &(*part).block };
            if block.start < end && block.start + block.bytes > start && !overlapping.contains(&part) {
                overlapping.push(part);
            }
        }
    });
    for &part in overlapping.iter() {
        // SAFETY: as above.
        let part = unsafe { &mut *part };
        if part.block.is_live() {
            leave(part);
            part.block.state = State::Free;
        }
        let this: *mut Part = part;
        for_each_list(part.block.start, part.block.start + part.block.bytes, |list| {
            if let Some(place) = list.iter().position(|&other| core::ptr::eq(other, this)) {
                list[place..].rotate_left(1);
                list.pop();
            }
        });
        INDEX.get().spare.push(this);
    }
    overlapping.free();
}

fn part_of(block: &Block) -> Option<&'static mut Part> {
    part_at(block.start).filter(|part| core::ptr::eq(&part.block, block))
}

fn part_at(address: usize) -> Option<&'static mut Part> {
    let index = INDEX.get();
    let number =
        if index.are_used { index.pages.find((address >> PAGE_SHIFT) as u64)? } else { return None };
    // SAFETY: lists and parts stay.
    unsafe {
        let list = &*index.lists[number as usize - 1];
        let after = list.partition_point(|&part| (*part).block.start <= address);
        let part = &mut **list.get(after.checked_sub(1)?)?;
        part.block.contains(address).then_some(part)
    }
}

fn pages(start: usize, end: usize) -> core::ops::RangeInclusive<u64> {
    (start >> PAGE_SHIFT) as u64..=((end.max(start + 1) - 1) >> PAGE_SHIFT) as u64
}

/// Calls `f` for the lists of memory that has any.
fn for_each_list(start: usize, end: usize, mut f: impl FnMut(&mut List<*mut Part>)) {
    let index = INDEX.get();
    for page in pages(start, end) {
        if let Some(number) = index.pages.find(page) {
            // SAFETY: lists stay.
            f(unsafe { &mut *index.lists[number as usize - 1] });
        }
    }
}

fn list_of(page: u64) -> &'static mut List<*mut Part> {
    let index = INDEX.get();
    let number = index.pages.number(page) as usize;
    if number > index.lists.len() {
        let list: *mut List<*mut Part> = memory::own(size_of::<List<*mut Part>>()).cast();
        // SAFETY: memory for one, that nobody uses.
        unsafe { list.write(List::new()) };
        index.lists.push(list);
    }
    // SAFETY: lists stay.
    unsafe { &mut *index.lists[number - 1] }
}

fn join(part: &mut Part) {
    let index = INDEX.get();
    let number = index.pools.number(part.pool as u64) as usize;
    if number > index.first.len() {
        index.first.push(core::ptr::null_mut());
    }
    let first = &mut index.first[number - 1];
    (part.before, part.after) = (core::ptr::null_mut(), *first);
    // SAFETY: null, or a part.
    if let Some(after) = unsafe { part.after.as_mut() } {
        after.before = part;
    }
    *first = part;
}

fn leave(part: &mut Part) {
    let index = INDEX.get();
    // SAFETY: null, or parts.
    unsafe {
        match part.before.as_mut() {
            Some(before) => before.after = part.after,
            None => {
                let number = index.pools.number(part.pool as u64) as usize;
                index.first[number - 1] = part.after;
            }
        }
        if let Some(after) = part.after.as_mut() {
            after.before = part.before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    /// All in one test: there is one index.
    #[test]
    fn parts_agree_with_a_map() {
        const BASE: usize = 0x5000_0000;
        let mut model = BTreeMap::<usize, (usize, usize)>::new();
        let mut dice = 1_u64;
        let mut throw = |sides: usize| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) as usize % sides
        };
        for _ in 0..20_000 {
            let start = BASE + throw(1 << 19);
            match throw(4) {
                0 => {
                    if let Some((&start, _)) = model.range(start..).next() {
                        model.remove(&start);
                        end(starting_at(start).expect("it is live"));
                        assert!(find(start).is_none());
                    }
                }
                1 => {
                    let bytes = throw(3000);
                    model.retain(|&at, &mut (size, _)| at + size <= start || at >= start + bytes.max(1));
                    forget(start, start + bytes);
                }
                _ => {
                    let (bytes, pool) = (1 + throw(200) * throw(20), throw(5));
                    model.retain(|&at, &mut (size, _)| at + size <= start || at >= start + bytes);
                    begin(New { start, bytes, pool, is_kept: false });
                    model.insert(start, (bytes, pool));
                }
            }
            let at = BASE + throw(1 << 19);
            let expected = model.range(..=at).next_back().filter(|&(&start, &(bytes, _))| at < start + bytes);
            assert_eq!(find(at).map(|block| block.start), expected.map(|(&start, _)| start));
        }
        let mut live = Vec::new();
        for_each_live(|block| live.push((block.start, (block.bytes, pool_at(block.start)))));
        live.sort_unstable();
        assert_eq!(live, model.into_iter().collect::<Vec<_>>());
        for pool in 0..5 {
            while let Some(block) = any_of(pool) {
                assert_eq!(pool_at(block.start), pool);
                end(block);
            }
        }
        for_each_live(|_| panic!("none is left"));
    }
}
