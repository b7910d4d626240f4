//! What the program's instructions are, by their bytes, and where its calls
//! return to.

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

/// Where calls return to, as far as they were seen, and the ways to what they
/// are given first.
struct ReturnPoints {
    addresses: Numbers<u64>,
    arguments: List<[Way; ARGUMENTS]>,
}

static RETURN_POINTS: Single<ReturnPoints> =
    Single::new(ReturnPoints { addresses: Numbers::new(), arguments: List::new() });

pub fn note_return_point(address: usize, arguments: [Way; ARGUMENTS]) {
    let points = RETURN_POINTS.get();
    let number = points.addresses.number(address as u64) as usize;
    if number > points.arguments.len() {
        points.arguments.push(arguments);
    }
    for (known, new) in points.arguments[number - 1].iter_mut().zip(arguments) {
        if known.is_empty() {
            *known = new;
        }
    }
}

pub fn is_return_point(address: usize) -> bool {
    RETURN_POINTS.get().addresses.find(address as u64).is_some()
}

/// The ways to the first arguments of the call that returns to `address`.
pub fn arguments_of_call(address: u64) -> [Way; ARGUMENTS] {
    let points = RETURN_POINTS.get();
    points
        .addresses
        .find(address)
        .map_or_else(Default::default, |number| points.arguments[number as usize - 1])
}
