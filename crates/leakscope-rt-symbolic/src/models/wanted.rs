//! What texts of the input would have to be for the program to take them, told
//! where a solver hardly finds it: it changes bytes, and no longer word fits
//! where a shorter one ends.

use core::sync::atomic::{AtomicU64, Ordering};

use leakscope_wire::symbolic::{Event, EventKind};

use crate::{places, shared};

/// Texts that are told of are not longer, and not more.
pub const LONGEST: usize = 24;
const MOST: usize = 64;

/// Tells, once, that `wanted` was looked for and `seen` was there, if these are
/// texts of ordinary characters.
pub fn tell(seen: &[u8], wanted: &[u8]) {
    static TOLD: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
    let can_be_told = (2..=LONGEST).contains(&wanted.len())
        && seen.len() <= LONGEST
        && wanted.iter().all(|byte| (b' '..=b'~').contains(byte));
    if !can_be_told {
        return;
    }
    let name_hash = leakscope_wire::name_hash;
    let hash = name_hash(wanted).rotate_left(17) ^ name_hash(seen) | 1;
    for told in &TOLD {
        // Another thread may tell the same once more; the hash is no more than that.
        match told.load(Ordering::Relaxed) {
            0 => {
                told.store(hash, Ordering::Relaxed);
                let value = shared::keep_name(wanted);
                shared::keep_name(seen);
                let event = shared::event(EventKind::Compared, places::here());
                shared::tell(Event { value, ..event });
                break;
            }
            before if before == hash => break,
            _ => {}
        }
    }
}

/// A text that is put together, as far as there is room.
#[derive(Default)]
pub struct Sample {
    bytes: [u8; LONGEST],
    size: usize,
    /// Whether there was more.
    pub is_cut: bool,
}

impl Sample {
    pub fn push(&mut self, byte: u8) {
        match self.bytes.get_mut(self.size) {
            Some(room) => {
                *room = byte;
                self.size += 1;
            }
            None => self.is_cut = true,
        }
    }

    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.size]
    }
}
