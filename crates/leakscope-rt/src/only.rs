//! Which allocations are followed, where the user chose some: blocks of the
//! others have no stamps.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::{CodeRange, MAGIC, Only, name_hash};
use zerocopy::FromBytes;

use crate::sys::File;
use crate::{depot, identity, walk};

/// The file in memory; 0 where all allocations are followed.
static FILE: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Answers by stack: twice its number, and 1 more for yes. Behind the file.
const ANSWERS: usize = 1 << 14;

/// Reads the file before the first block.
pub fn open(path: &[u8]) {
    let Some((place, bytes)) = File::keep(path, ANSWERS * 8) else { return };
    if Only::read_from_prefix(content(place, bytes)).is_ok_and(|(header, _)| header.magic == MAGIC) {
        BYTES.store(bytes, Ordering::Relaxed);
        FILE.store(place, Ordering::Relaxed);
    }
}

/// Whether blocks of this stack are followed.
pub fn follows(stack: u32) -> bool {
    let (file, bytes) = (FILE.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    if file == 0 {
        return true;
    }
    // SAFETY: behind the file, where `open` left room; stays mapped.
    let answer = unsafe { &*((file + bytes) as *const AtomicU64).add(stack as usize % ANSWERS) };
    let known = answer.load(Ordering::Relaxed);
    if known >> 1 == u64::from(stack) && stack != 0 {
        return known & 1 != 0;
    }
    let chosen = is_chosen(content(file, bytes), stack);
    answer.store(u64::from(stack) << 1 | u64::from(chosen), Ordering::Relaxed);
    chosen
}

fn is_chosen(file: &[u8], stack: u32) -> bool {
    let Ok((header, rest)) = Only::read_from_prefix(file) else { return false };
    let Ok((stacks, rest)) = <[u64]>::ref_from_prefix_with_elems(rest, header.stacks as usize) else {
        return false;
    };
    let Ok((ranges, _)) = <[CodeRange]>::ref_from_prefix_with_elems(rest, header.ranges as usize) else {
        return false;
    };
    if stacks.binary_search(&identity::of_stack(stack)).is_ok() {
        return true;
    }
    let mut frames = [0; walk::DEPTH_MAX];
    let (_, count) = depot::read(stack, &mut frames);
    frames[..count].iter().any(|&address| {
        let Some(module) = identity::module_of(address) else { return false };
        let (name, call) = (name_hash(&module.path[..module.path_bytes]), address - module.bias as u64 - 1);
        ranges.iter().any(|range| range.module == name && (range.start..range.end).contains(&call))
    })
}

fn content(place: usize, bytes: usize) -> &'static [u8] {
    // SAFETY: so many bytes were allocated, and are not written any more.
    unsafe { core::slice::from_raw_parts(place as *const u8, bytes) }
}
