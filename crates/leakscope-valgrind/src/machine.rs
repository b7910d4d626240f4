//! What the program's instructions are, by their bytes, and where its calls
//! return to.

use crate::list::Numbers;
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

/// Where calls return to, as far as they were seen.
static RETURN_POINTS: Single<Numbers<u64>> = Single::new(Numbers::new());

pub fn note_return_point(address: usize) {
    RETURN_POINTS.get().number(address as u64);
}

pub fn is_return_point(address: usize) -> bool {
    RETURN_POINTS.get().find(address as u64).is_some()
}
