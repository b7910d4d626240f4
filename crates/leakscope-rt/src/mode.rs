//! How much is followed, as the user chose: it must be known before the first
//! block, which may be asked for before the environment can be.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use leakscope_wire::env;

use crate::sys::File;
use crate::{details, moments, only};

/// What was chosen: 0 before it was looked up, else one more than the number
/// of bytes up to which blocks are searched for pointers; [`MINIMAL`] if
/// pointers are not followed at all.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);
const MINIMAL: usize = usize::MAX;
const FULL: usize = usize::MAX - 1;

/// Whether deaths of pointers are kept. Only derived code reports them.
pub fn follows_pointers() -> bool {
    cfg!(feature = "executable") && !samples() && chosen() != MINIMAL
}

core::arch::global_asm!(
    ".weak leakscope_sampled",
    ".section .data.rel.ro.leakscope,\"aw\",@progbits",
    ".balign 8",
    ".globl leakscope_sampled_address",
    ".hidden leakscope_sampled_address",
    "leakscope_sampled_address: .quad leakscope_sampled",
    ".text",
);

/// Whether the program was derived to report some of its accesses: its link
/// defines `leakscope_sampled`.
#[inline(always)]
pub fn samples() -> bool {
    unsafe extern "C" {
        static leakscope_sampled_address: usize;
    }
    // SAFETY: defined above, never written.
    cfg!(feature = "executable") && unsafe { leakscope_sampled_address } != 0
}

/// Set if not all blocks are followed, or their deaths are counted.
static SELECTIVE: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub fn is_selective() -> bool {
    SELECTIVE.load(Ordering::Relaxed)
}

/// Blocks of more bytes are not searched for pointers when they are freed.
#[inline(always)]
pub fn searched_max() -> usize {
    CHOSEN.load(Ordering::Relaxed) - 1
}

fn chosen() -> usize {
    if CHOSEN.load(Ordering::Relaxed) == 0 {
        CHOSEN.store(look_up(), Ordering::Relaxed);
    }
    CHOSEN.load(Ordering::Relaxed)
}

#[cold]
fn look_up() -> usize {
    let Some(file) = File::open(c"/proc/self/environ") else { return FULL };
    let (mut text, mut used, mut at, mut found) = ([0; 4096], 0, 0, FULL);
    loop {
        let count = file.read_at(&mut text[used..], at);
        (used, at) = (used + count, at + count);
        let end = match text[..used].iter().rposition(|&byte| byte == 0) {
            Some(end) => end + 1,
            // Too long to be ours: its rest is read as another variable.
            None => used,
        };
        for entry in text[..end].split(|&byte| byte == 0) {
            let value =
                |name: &str| entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            found = value(env::MODE).map_or(found, parse);
            if let Some(path) = value(env::ONLY) {
                only::open(path);
                SELECTIVE.store(true, Ordering::Relaxed);
            }
            if value(env::EXPLAIN).is_some() {
                details::choose();
                SELECTIVE.store(true, Ordering::Relaxed);
            }
            if let Some(wanted) = value(env::MOMENTS) {
                moments::choose(wanted);
                SELECTIVE.store(true, Ordering::Relaxed);
            }
        }
        text.copy_within(end..used, 0);
        used -= end;
        if count == 0 {
            file.close();
            return found;
        }
    }
}

fn parse(value: &[u8]) -> usize {
    match value.strip_prefix(env::MODE_PARTIAL.as_bytes()) {
        _ if value == env::MODE_MINIMAL.as_bytes() => MINIMAL,
        Some(digits) => digits.iter().fold(0, |size, byte| size * 10 + usize::from(byte & 15)) + 1,
        None => FULL,
    }
}
