//! What was accessed before a last access, in the same burst (SWAT, section
//! 3.7), for users who ask for it. It is kept by the place of the last access,
//! each time anew: all blocks that were accessed there last have one history.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leakscope_wire as wire;

use crate::sys;

const LENGTH: usize = wire::BURST_PLACES;

/// Places that have a history; of more, some have none.
const PLACES: usize = 1 << 13;
const PROBES: usize = 4;

/// Places of accesses of the burst under way, the last of them last.
#[repr(C)]
pub struct Recent {
    places: [u32; LENGTH],
    count: u32,
}

#[repr(C)]
struct Kept {
    place: AtomicU32,
    count: AtomicU32,
    places: [AtomicU32; LENGTH],
}

/// Of all places; 0 unless wanted.
static KEPT: AtomicUsize = AtomicUsize::new(0);

pub fn choose() {
    KEPT.store(sys::reserve_sparse(PLACES * size_of::<Kept>()), Ordering::Relaxed);
}

fn kept(place: u32) -> Option<impl Iterator<Item = &'static Kept>> {
    let base = KEPT.load(Ordering::Relaxed);
    // SAFETY: within the reservation; zero bytes are valid.
    let entry = move |index: usize| unsafe { &*((base + index % PLACES * size_of::<Kept>()) as *const Kept) };
    let first = (place.wrapping_mul(0x9e37_79b9) >> 16) as usize;
    (base != 0).then(|| (first..first + PROBES).map(entry))
}

/// A burst begins.
#[inline(always)]
pub fn begin(recent: &mut Recent) {
    recent.count = 0;
}

/// An access at a place, whose history is what came before it.
#[cfg(feature = "executable")]
#[inline(always)]
pub fn note(recent: &mut Recent, place: u32) {
    if KEPT.load(Ordering::Relaxed) != 0 {
        keep(recent, place);
    }
}

#[cfg(feature = "executable")]
#[cold]
fn keep(recent: &mut Recent, place: u32) {
    let count = recent.count as usize;
    let before = &recent.places[..count.min(LENGTH)];
    if before.last() == Some(&place) {
        return;
    }
    let entries = || kept(place).into_iter().flatten();
    let own = |entry: &&Kept| [0, place].contains(&entry.place.load(Ordering::Relaxed));
    if let Some(entry) = entries().find(own).or_else(|| entries().next()) {
        // Relaxed: where two threads write at once, each number is one of a place.
        entry.place.store(place, Ordering::Relaxed);
        entry.count.store(before.len() as u32, Ordering::Relaxed);
        for (slot, &other) in entry.places.iter().zip(before) {
            slot.store(other, Ordering::Relaxed);
        }
    }
    if count == LENGTH {
        recent.places.copy_within(1.., 0);
        recent.places[LENGTH - 1] = place;
    } else {
        recent.places[count] = place;
        recent.count += 1;
    }
}

/// What is known of the accesses before one at a place.
pub fn read(place: u32) -> Option<wire::Burst> {
    let entry = kept(place)?.find(|entry| entry.place.load(Ordering::Relaxed) == place)?;
    let mut burst =
        wire::Burst { place, count: entry.count.load(Ordering::Relaxed), ..wire::Burst::default() };
    for (to, from) in burst.places.iter_mut().zip(&entry.places).take(burst.count as usize) {
        *to = from.load(Ordering::Relaxed);
    }
    Some(burst)
}
