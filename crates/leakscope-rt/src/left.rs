//! Frames that are left behind: by a long jump, by the end of a thread, or by
//! an exception.
//!
//! What such frames hold dies where control left. A jump says how far it goes.
//! Of an exception that is known only when it is caught, and then cleanups
//! have run on the same stack; so the pointers in all frames are noted when it
//! is thrown, and those in frames that are gone are stamped when it is caught,
//! unless code on the way has done so by name. Exceptions may be thrown while
//! others are on their way.
//!
//! Which variable a word of a frame was is found by the reader.

use core::sync::atomic::AtomicUsize;

use leakscope_wire as wire;

use crate::events::{self, What};
use crate::thread::{self, Thread};
use crate::walk::{self, Caller};
use crate::{arena, heap, stamps, waits};

/// Exceptions that are on their way at a time, and pointers noted of each.
const THROWS: usize = 4;
const WORDS: usize = 256;

/// Exceptions on their way, the latest last. Zero bytes are none.
#[repr(C)]
pub struct Throws {
    throws: [Throw; THROWS],
    /// Of all that were thrown and not caught; the oldest are forgotten.
    count: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Throw {
    /// Where it was thrown, and when.
    stack: u32,
    clock: u64,
    count: usize,
    words: [Word; WORDS],
}

/// A pointer in a frame.
#[derive(Clone, Copy)]
#[repr(C)]
struct Word {
    address: usize,
    value: usize,
    place: u64,
}

static UNWOUND: wire::Descriptor =
    wire::Descriptor { site: wire::Site::of(wire::Cause::Unwound), bytes: 0, fields: 0 };

/// Where the latest exception was thrown, if it is on its way.
pub fn thrown(thread: &mut Thread) -> Option<u32> {
    let throws = &events::own_tables(thread)?.throws;
    let latest = throws.count.checked_sub(1)?;
    Some(throws.throws[latest % THROWS].stack).filter(|&stack| stack != 0)
}

/// Calls `f` with the pointers between `low` and `end`, innermost first. From
/// `low` on the registers lie that a call keeps, then the frames begin.
///
/// # Safety
/// The live part of the thread's stack.
unsafe fn for_each_word(
    thread: &mut Thread,
    caller: Caller,
    low: usize,
    end: usize,
    mut f: impl FnMut(&mut Thread, Word),
) {
    let Some((mut frame, high)) = walk::first_frame(thread, caller) else { return };
    let range = arena::range();
    let (mut at, mut index, mut top) = (low.next_multiple_of(8), 0, caller.frame + 16);
    while at < end {
        while at < top.min(end) {
            // SAFETY: as the caller says.
            let value = unsafe { core::ptr::read_volatile(at as *const usize) };
            if range.contains(&value) {
                let place = wire::PLACE_IS_FRAME | held(caller, index, at, top);
                f(thread, Word { address: at, value, place });
            }
            at += 8;
        }
        let next = frame.caller(high);
        (top, index) = (next.map_or(end, |next| next.stack), index + 1);
        match next {
            Some(next) if next.address != 0 => frame = next,
            // The outermost frame has no name.
            _ => (top, index) = (end.max(at), 0),
        }
    }
}

/// A place in the frame of that number, as a record has it. The entries of the
/// runtime keep registers just below their own frame pointer.
fn held(caller: Caller, index: u64, at: usize, top: usize) -> u64 {
    const KEPT: [u32; 5] = [3, 12, 13, 14, 15];
    match (caller.frame.wrapping_sub(at) / 8).checked_sub(1).and_then(|kept| KEPT.get(kept)) {
        Some(&register) => 1 << 32 | u64::from(wire::IN_REGISTER | register),
        None => index << 32 | (top - at) as u32 as u64,
    }
}

/// Control leaves the frames up to `end` by what `site` says.
///
/// # Safety
/// The live part of the thread's stack.
pub unsafe fn frames_end(thread: &mut Thread, caller: Caller, low: usize, end: usize, site: usize) {
    for part in PARTS {
        // SAFETY: as the caller says.
        unsafe {
            for_each_word(thread, caller, low, end, |thread, word| {
                if part.has(word) {
                    stamps::stamp(thread, word.value, caller, What::at(site, word.place));
                }
            });
        }
    }
}

/// Of the pointers that a frame has into a block, the one to its start is the
/// variable that a reader looks for: it dies last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Inside,
    Start,
}

const PARTS: [Part; 2] = [Part::Inside, Part::Start];

impl Part {
    fn has(self, word: Word) -> bool {
        let is_start = heap::find(word.value).is_some_and(|block| block.start == word.value);
        is_start == (self == Part::Start)
    }
}

/// An exception is thrown.
fn throw(low: usize, caller: Caller) {
    // SAFETY: the thread's own state; nothing of the program's runs meanwhile.
    let thread = unsafe { &mut *thread::current() };
    if !arena::is_followed() || thread.busy > 0 {
        return;
    }
    let stack = walk::stack(thread, caller);
    let (clock, end) = (thread.clock, thread.stack_high);
    let is_own = (thread.stack_low..end).contains(&low);
    let Some(tables) = events::own_tables(thread) else { return };
    let throw = &mut tables.throws.throws[tables.throws.count % THROWS];
    tables.throws.count += 1;
    (throw.stack, throw.clock, throw.count) = (stack, clock, 0);
    if is_own {
        // SAFETY: from the frame that throws to the end of its stack.
        unsafe {
            for_each_word(thread, caller, low, end, |_, word| {
                if let Some(free) = throw.words.get_mut(throw.count) {
                    *free = word;
                    throw.count += 1;
                }
            });
        }
    }
}

/// The latest exception is caught by the frame whose stack pointer is given.
fn caught(stack: usize) {
    // SAFETY: as above.
    let thread = unsafe { &mut *thread::current() };
    let Some(throws) = events::own_tables(thread).map(|tables| &mut tables.throws) else { return };
    let Some(latest) = throws.count.checked_sub(1) else { return };
    throws.count = latest;
    let throw = &mut throws.throws[latest % THROWS];
    let now = thread.clock;
    let left = || throw.words[..throw.count].iter().copied().filter(|word| word.address < stack);
    for word in PARTS.into_iter().flat_map(|part| left().filter(move |&word| part.has(word))) {
        let what = What::at(&raw const UNWOUND as usize, word.place);
        stamps::stamp_if(
            thread,
            word.value,
            |time| time <= throw.clock || time > now,
            || events::of_stack(throw.stack, what),
        );
    }
    throw.stack = 0;
}

/// The C++ library's ways to throw, and to catch.
#[cfg(not(test))]
mod stand_ins {
    use super::*;
    use crate::assembly::{keeps_registers, opens_frame};

    macro_rules! stands_in {
        ($name:ident, $text:literal, $first:ident) => {
            /// # Safety
            /// As for the C function.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                extern "C" fn first(low: usize, frame: usize) -> usize {
                    static REAL: AtomicUsize = AtomicUsize::new(0);
                    $first(low, frame);
                    waits::real(&REAL, $text)
                }
                core::arch::naked_asm!(
                    opens_frame!(),
                    keeps_registers!(),
                    "push rdi",
                    "lea rdi, [rsp + 8]",
                    "mov rsi, rbp",
                    "call {first}",
                    "pop rdi",
                    "pop r15",
                    "pop r14",
                    "pop r13",
                    "pop r12",
                    "pop rbx",
                    "pop rbp",
                    ".cfi_def_cfa rsp, 8",
                    "jmp rax",
                    ".cfi_endproc",
                    first = sym first,
                );
            }
        };
    }

    stands_in!(_Unwind_RaiseException, c"_Unwind_RaiseException", throws);
    stands_in!(_Unwind_Resume_or_Rethrow, c"_Unwind_Resume_or_Rethrow", throws);
    stands_in!(__cxa_begin_catch, c"__cxa_begin_catch", catches);

    fn throws(low: usize, frame: usize) {
        throw(low, Caller { frame });
    }

    fn catches(_: usize, frame: usize) {
        caught(frame + 16);
    }
}
