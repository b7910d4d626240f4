//! Which options a program understands, for the driver to try.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

use leakscope_wire::symbolic::{Event, EventKind};

use super::{Call, LongOption, letters, long_options};
use crate::shared;

/// The lists of letters and of long options that were told last.
static TOLD: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Longer names are not told.
const MOST_NAME: usize = 64;

/// Tells which options there are, once for each list of them.
pub unsafe fn tell(call: &Call) {
    let is_told = |told: &AtomicUsize, list: usize| told.swap(list, Ordering::Relaxed) == list;
    let (letters_told, options_told) =
        (is_told(&TOLD[0], call.letters), is_told(&TOLD[1], call.options as usize));
    if letters_told && options_told {
        return;
    }
    let tell = |name: &[u8], takes: u16| {
        let event = shared::event(EventKind::Option, 0);
        shared::tell(Event { detail: takes, value: shared::keep_name(name), ..event });
    };
    // SAFETY: as the caller says.
    unsafe {
        for (letter, takes) in letters(call) {
            tell(&[b'-', letter], takes as u16);
        }
        // A long name for a letter is no other option.
        let is_letter = |option: &LongOption| {
            option.flag.is_null() && letters(call).any(|(letter, _)| option.value == c_int::from(letter))
        };
        for (_, option) in long_options(call).filter(|(_, option)| !is_letter(option)) {
            let own = CStr::from_ptr(option.name).to_bytes();
            let mut name = [b'-'; MOST_NAME];
            if let Some(room) = name.get_mut(2..2 + own.len()) {
                room.copy_from_slice(own);
                tell(&name[..2 + own.len()], option.takes as u16);
            }
        }
    }
}
