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

/// Whether an instruction puts into the register of results what another has, as
/// optimised code does where several statements that return have come together.
pub fn moves_result(address: usize, bytes: usize) -> bool {
    // SAFETY: the caller knows that code is there.
    let code = unsafe { core::slice::from_raw_parts(address as *const u8, bytes) };
    matches!(*code, [0x89, registers] | [0x44 | 0x48 | 0x4c, 0x89, registers] if registers & 0xc7 == 0xc0)
}

/// What a function does for its result where it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Result {
    /// It is there, perhaps in another register.
    Ready,
    /// It may be a constant.
    Constant,
}

/// Where the code at an address returns, if it does nothing before but get the result ready and take
/// down a frame.
pub fn way_out(mut address: usize, result: Result) -> Option<usize> {
    /// Six registers that functions keep, the frame, the result, a jump or two, and the return.
    const MOST: usize = 12;
    for _ in 0..MOST {
        // SAFETY: the caller knows that code is there; no function ends before it returns.
        let code = |bytes| unsafe { core::slice::from_raw_parts(address as *const u8, bytes) };
        let more = match *code(1) {
            [0xc3] => return Some(address),
            [0xeb] => 2_usize.wrapping_add_signed(isize::from(code(2)[1] as i8)),
            [0xe9] => {
                let distance = i32::from_le_bytes([code(5)[1], code(5)[2], code(5)[3], code(5)[4]]);
                5_usize.wrapping_add_signed(distance as isize)
            }
            [0x58..=0x5f | 0xc9] => 1,
            [0x41] if matches!(*code(2), [_, 0x58..=0x5f]) => 2,
            [0xf2 | 0xf3] => return matches!(*code(2), [_, 0xc3]).then_some(address),
            [0x48] if matches!(*code(3), [_, 0x83, 0xc4]) => 4,
            [0x48] if matches!(*code(3), [_, 0x81, 0xc4]) => 7,
            [0x89] if moves_result(address, 2) => 2,
            [0x44 | 0x48 | 0x4c] if moves_result(address, 3) => 3,
            _ if result == Result::Ready => return None,
            // A register is cleared, or gets a number.
            [0x31] => 2,
            [0x45] if matches!(*code(2), [_, 0x31]) => 3,
            [0xb8..=0xbf] => 5,
            [0x41] if matches!(*code(2), [_, 0xb8..=0xbf]) => 6,
            [0x83] if matches!(*code(3), [_, 0xc8..=0xcf, 0xff]) => 3,
            [0x48] if matches!(*code(3), [_, 0xc7, 0xc0..=0xc7]) => 7,
            [0x48] if matches!(*code(4), [_, 0x83, 0xc8..=0xcf, 0xff]) => 4,
            _ => return None,
        };
        address = address.wrapping_add(more);
    }
    None
}

/// How far the instruction at an address raises the stack pointer, if it is a pop or an addition.
pub fn raises_by(address: usize) -> u64 {
    // SAFETY: Valgrind has just translated the instruction and the jump behind it: three bytes
    // at least, and the addition has a fourth.
    let code = |bytes| unsafe { core::slice::from_raw_parts(address as *const u8, bytes) };
    match *code(3) {
        [0x58..=0x5f, ..] | [0x41, 0x58..=0x5f, _] => 8,
        [0x48, 0x83, 0xc4] => code(4)[3].cast_signed().try_into().unwrap_or(0),
        _ => 0,
    }
}

/// Whether the instruction at an address is a jump that is always taken.
pub fn is_jump(address: usize) -> bool {
    // SAFETY: Valgrind has just translated the instruction, and no jump is shorter.
    let code = unsafe { core::slice::from_raw_parts(address as *const u8, 2) };
    matches!(code, [0xe9 | 0xeb, _] | [0xff, 0xe0..=0xe7] | [0x3e, 0xff] | [0x41, 0xff])
}

/// Whether the instruction at an address is a jump, perhaps with a condition.
pub fn branches(address: usize) -> bool {
    // SAFETY: as above.
    let code = unsafe { core::slice::from_raw_parts(address as *const u8, 2) };
    matches!(code, [0x70..=0x7f, _] | [0x0f, 0x80..=0x8f]) || is_jump(address)
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
