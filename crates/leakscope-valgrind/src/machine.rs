//! What the program's instructions are, by their bytes, and what its calls are
//! given and return to.

use crate::calls::ARGUMENTS;
use crate::instrument::steps::Way;
use crate::list::{List, Numbers};
use crate::memory::Single;

/// Whether an instruction is `rep movsb` or `rep stosb`, by which libc copies
/// and clears large blocks.
pub fn is_repeated(address: usize) -> bool {
    // SAFETY: Valgrind has just translated the instruction, which has two bytes
    // if it is one of these, and else one more at least.
    let code = unsafe { core::slice::from_raw_parts(address as *const u8, 2) };
    matches!(code, [0xf3, 0xa4 | 0xaa])
}

/// Whether an instruction only takes down a frame, or leads there: pop, leave,
/// ret, a jump, the stack pointer raised, or a kept register restored.
pub fn is_epilogue(address: usize, bytes: usize) -> bool {
    // SAFETY: Valgrind has just translated the instruction.
    let code = unsafe { core::slice::from_raw_parts(address as *const u8, bytes) };
    matches!(
        code,
        [0x58..=0x5f, ..]
            | [0x41, 0x58..=0x5f, ..]
            | [0xc2 | 0xc3 | 0xc9 | 0xeb | 0xe9, ..]
            | [0xf2 | 0xf3, 0xc3, ..]
            | [0x48, 0x81 | 0x83, 0xc4, ..]
            | [0x48, 0x89, 0xdc | 0xec]
            | [0x48, 0x8d, 0x65, ..]
            | [0x48, 0x8b, 0x5d, ..]
            | [0x4c, 0x8b, 0x65 | 0x6d | 0x75 | 0x7d, ..]
    )
}

/// Whether the instruction at an address is a jump that is always taken.
pub fn is_jump(address: usize) -> bool {
    // SAFETY: Valgrind has just translated the instruction, and no jump is shorter.
    let code = unsafe { core::slice::from_raw_parts(address as *const u8, 2) };
    matches!(code, [0xe9 | 0xeb, _] | [0xff, 0xe0..=0xe7] | [0x3e, 0xff] | [0x41, 0xff])
}

/// Registers that a call leaves as they are, but for those that frames are
/// found by.
pub const KEPT: [usize; 5] = [3, 12, 13, 14, 15];

/// The ways to what is in registers at a call.
#[derive(Clone, Copy, Default)]
pub struct Ways {
    /// What the function is given first.
    pub arguments: [Way; ARGUMENTS],
    /// What is in [`KEPT`] before and after the call.
    pub kept: [Way; KEPT.len()],
}

/// Where calls return to, as far as they were seen.
struct ReturnPoints {
    addresses: Numbers<u64>,
    ways: List<Ways>,
}

static RETURN_POINTS: Single<ReturnPoints> =
    Single::new(ReturnPoints { addresses: Numbers::new(), ways: List::new() });

pub fn note_return_point(address: usize, ways: Ways) {
    let points = RETURN_POINTS.get();
    let number = points.addresses.number(address as u64) as usize;
    if number > points.ways.len() {
        return points.ways.push(ways);
    }
    let known = &mut points.ways[number - 1];
    for (known, new) in known.arguments.iter_mut().zip(ways.arguments) {
        if known.is_empty() {
            *known = new;
        }
    }
    // Code that comes from elsewhere may have something else in the register.
    for (known, new) in known.kept.iter_mut().zip(ways.kept) {
        if known.steps() != new.steps() {
            *known = Way::default();
        }
    }
}

pub fn is_return_point(address: usize) -> bool {
    RETURN_POINTS.get().addresses.find(address as u64).is_some()
}

/// The ways at the call that returns to `address`.
pub fn ways_at_call(address: u64) -> Ways {
    let points = RETURN_POINTS.get();
    points.addresses.find(address).map_or_else(Ways::default, |number| points.ways[number as usize - 1])
}
