//! Slots that keep a pointer which is no longer theirs: a queue below its head,
//! the dead capacity of a buffer, a parser's stack. When such a slot is
//! overwritten or freed, the block was lost long before.
//!
//! Which slots these are follows from siblings that were freed: the pointer by
//! which they were freed was read from a slot in one place, for the last time.
//! Whoever reads such a pointer in that place for the last time takes the
//! block over. So of a lost block, deaths of slots that were read there last do
//! not count, and the latest of the others does.

use leakscope_wire::{Death, Life};

use crate::counted::{Details, is_same_call};
use crate::record::Record;

/// Between the death of a pointer and the end of its slot, other pointers that
/// the same copy overwrites are told.
const NEAR: u64 = 64;

/// Puts the stamps of lost blocks in another order where slots had handed them
/// over; needs details, and leaves blocks that are counted as they are.
pub fn judge(record: &mut Record, details: &[Details]) {
    for block in details {
        let number = block.block;
        if record.counted.contains_key(&number) {
            continue;
        }
        let Some(meant) = meant(record, block) else { continue };
        let Some(stamps) = record.stamps.get_mut(number as usize) else { continue };
        let latest = stamps.stacks[0];
        stamps.stacks = [meant, latest, stamps.stacks[1]];
        record.moved_on.insert(number);
    }
}

/// The stack of the latest death that counts, if it is not the latest of all.
fn meant(record: &Record, details: &Details) -> Option<u32> {
    let is_handed_over = |life: &Life| is_handed_over(record, details, life);
    // What is overwritten is told right after the death of the pointer.
    let outside = |stack: u32| record.stacks.get(&stack).and_then(|stack| stack.addresses.get(1..));
    let is_overwritten = |life: &&Life, death: &Death| {
        (1..=NEAR).contains(&life.ended.saturating_sub(death.time))
            && outside(life.ended_stack) == outside(death.stack)
    };
    let ended = |death: &Death| {
        let overwritten = || details.lives.iter().find(|life| is_overwritten(life, death));
        let number = (death.life as usize).checked_sub(1);
        number.and_then(|number| details.lives.get(number)).or_else(overwritten)
    };
    let latest = details.deaths.last()?;
    let since = ended(latest).filter(|life| is_handed_over(life))?.read;
    let mut earlier = details.deaths.iter().rev().filter(|death| death.time >= since);
    let counts = |death: &&Death| !ended(death).is_some_and(is_handed_over);
    earlier.find(counts).map(|death| death.stack)
}

/// Whether a slot of a lost block was read last where siblings were read on the way
/// to their free.
pub fn is_handed_over(record: &Record, details: &Details, life: &Life) -> bool {
    let Some(lost) = record.lost.get(details.block as usize) else { return false };
    let place = |stack: u32| record.stacks.get(&stack).map(|stack| (stack.site, stack.addresses.first()));
    let is_there = |read_stack: u32| place(read_stack) == place(life.read_stack);
    let mut handed = record.handed_over.iter().filter(|handed| is_there(handed.read_stack));
    life.read > life.set && handed.any(|handed| is_same_call(record, handed.stack, lost.stack))
}
