//! What instrumented code calls when something happens to a pointer.

use leakscope_wire::Cause;

use crate::arena;
use crate::calls::{self, Carries};
use crate::heap::{self, Block, Point};
use crate::ir::{RAX, REGISTERS, RESTORED, RSP};
use crate::memory::Single;
use crate::modules;
use crate::stamps::{self, stamp};
use crate::tool::{self, Thread};

/// Below the stack pointer, a function that calls no other may keep data here.
pub const RED_ZONE: usize = 128;
/// Registers that a function must leave as they were: rbx, rbp, r12 to r15.
const KEPT: u16 = 1 << 3 | 1 << 5 | 0xf000;
/// Registers that are dead after a return: not the result, not the stack
/// pointer. (The second half of a result in two registers is taken for dead.)
pub const DEAD: u16 = !(KEPT | 1 << RAX | 1 << RSP);
const DEAD_REGISTERS: [usize; 8] = [1, 2, 6, 7, 8, 9, 10, 11];
/// Whether a register's content is dead, or the result, after a return.
pub fn dies_by_return(register: usize) -> bool {
    (DEAD | 1 << RAX) >> register & 1 == 1
}

/// Instead of a site: code whose own pointers are not the program's.
pub const PRELOADED: u32 = 0;
pub const LINKER: u32 = u32::MAX;

/// So deep are the calls in the function that a thread was started with:
/// libc's own function has called it.
const OUTERMOST: usize = 2;

/// A frame larger than this is none: the stack pointer went elsewhere.
const FRAME_MAX: usize = 16 << 20;

/// A store covers a word that pointed into the heap.
pub unsafe extern "C" fn on_store(old: usize, site: u32) {
    stamp(old, site);
}

/// Memory at `address` is about to be written.
pub unsafe extern "C" fn on_write(address: usize, bytes: usize, site: u32) {
    stamps::stamp_words(aligned_words(address, address + bytes), stamps::here(site));
}

/// A compare-and-swap found `old`.
pub unsafe extern "C" fn on_exchange(old: usize, expected: usize, site: u32) {
    if old == expected {
        stamp(old, site);
    }
}

/// A register that functions keep, and that pointed into the heap, gets another
/// value.
pub unsafe extern "C" fn on_register(old: usize, new: usize, site: u32) {
    let thread = tool::current();
    if old != new && thread.calls.may_hold_last() {
        // Going on inside the same block destroys nothing.
        register_dies(thread, old, site, |block| !block.contains(new));
    }
}

/// The register of results gets another value in a block of code that starts at
/// `start` and did not look at it: if that is where the last return led to,
/// nobody wanted the result.
pub unsafe extern "C" fn on_result(old: usize, new: usize, start: usize) {
    let thread = tool::current();
    let known = core::mem::replace(&mut thread.dead_result, old) == old;
    if !known
        && thread.is_result(old, start)
        && let Some(block) = heap::pointed_to(old).filter(|block| !block.contains(new))
    {
        discard(thread, block);
    }
}

/// A call wrote where it returns to. The register of results loses what it
/// holds; `unread_since` is as `start` above, or 0.
pub unsafe extern "C" fn on_call(slot: usize, address: usize, result: usize, site: u32, unread_since: usize) {
    let thread = tool::current();
    let last_result = thread.dead[RAX];
    if result == last_result
        && arena::is_within(result)
        && core::mem::replace(&mut thread.dead_result, result) != result
    {
        if thread.returned_to == unread_since {
            if let Some(block) = heap::pointed_to(result) {
                discard(thread, block);
            }
        } else if thread.calls.may_hold_last() {
            register_dies(thread, result, site, |_| true);
        }
    }
    *HAS_RED_ZONE.get() = 0;
    thread.calls.call(slot, address, if arena::is_within(last_result) { last_result } else { 0 });
}

#[inline]
fn register_dies(thread: &mut Thread, word: usize, site: u32, dies: impl Fn(&Block) -> bool) {
    if let Some(block) = heap::pointed_to(word).filter(|block| dies(block)) {
        stamps::stamp_register(block, Point { context: thread.calls.context(), site });
    }
}

/// A result that nobody wanted. If a variable of the function's died with the
/// same value, this is only what was left in the register.
fn discard(thread: &mut Thread, block: &mut Block) {
    if block.stamped() <= thread.returned_at {
        let context = calls::child(thread.calls.context(), thread.returned_to);
        let site = stamps::site_of_cause(Cause::Discarded);
        stamps::stamp_block(block, Point { context, site });
    }
}

/// Beside the registers that were restored: the result was set right before.
pub const SETS_RESULT: u32 = 1 << 16;

/// A return: the frame from `low` on is gone, and so is what registers hold
/// that the caller cannot expect to be there. `what` says which registers were
/// restored from the frame, and whether the result goes on.
pub unsafe extern "C" fn on_return(guest: *const u8, low: usize, now: usize, site: u32, what: u32) {
    // SAFETY: VEX gives the thread's registers, sixteen in a row, and has room
    // behind them.
    let (registers, restored) = unsafe {
        (&*guest.add(REGISTERS).cast::<[usize; 16]>(), &*guest.add(RESTORED).cast::<[usize; 16]>())
    };
    let result = if what & SETS_RESULT != 0 { registers[RAX] } else { 0 };
    let thread = tool::current();
    let time = stamps::time();
    let stamping = stamping(thread, site);
    if now.wrapping_sub(low) < FRAME_MAX {
        let red_zone = if *HAS_RED_ZONE.get() != 0 { RED_ZONE } else { 0 };
        die(thread, registers, result, low - red_zone, now, stamping);
    }
    *HAS_RED_ZONE.get() = 0;
    if let Some(site) = stamping {
        registers_die(thread, registers, restored, result, what & (SETS_RESULT - 1), site);
    }
    if site != LINKER {
        thread.returned_at = time;
        thread.dead[..4].copy_from_slice(&registers[..4]);
        thread.dead[6..12].copy_from_slice(&registers[6..12]);
        thread.dead_result = 0;
        // SAFETY: the return address was read from there just now.
        thread.returned_to = unsafe { *((now - 8) as *const usize) };
    }
    if thread.calls.depth() == OUTERMOST && stamps::site(site).is_some_and(|it| modules::is_users(it.address))
    {
        thread.left = Point { context: thread.calls.context(), site };
    }
    let carries = match site {
        LINKER => Carries::Unknown,
        _ if arena::is_within(registers[RAX]) => Carries::Pointer,
        _ => Carries::Nothing,
    };
    thread.calls.leave(now, carries);
}

/// At a return: what was in the registers that were restored, and a result that
/// the function was given and did not keep.
#[inline]
fn registers_die(
    thread: &mut Thread,
    registers: &[usize; 16],
    restored: &[usize; 16],
    result: usize,
    was_restored: u32,
    site: u32,
) {
    let given = thread.calls.given();
    let is_left = given != 0 && DEAD_REGISTERS.iter().any(|&register| registers[register] == given);
    let mut last = result;
    let mut dying = |word: usize| {
        if arena::is_within(word) && word != last && !is_kept(registers, word) {
            register_dies(thread, word, site, |_| true);
            last = word;
        }
    };
    let mut left = was_restored;
    while left != 0 {
        dying(restored[left.trailing_zeros() as usize % 16]);
        left &= left - 1;
    }
    if is_left && given != result {
        dying(given);
    }
}

/// Whether there may be data below the stack pointer: the running function
/// wrote there, or has given back its frame. Instrumented code sets it.
static HAS_RED_ZONE: Single<u64> = Single::new(0);

pub fn has_red_zone() -> *mut u64 {
    HAS_RED_ZONE.get()
}

/// The stack pointer rose otherwise than by a return. What lies just below may
/// still be read: compilers give a frame back before they have done with it.
pub unsafe extern "C" fn on_raise(guest: *const u8, low: usize, now: usize, site: u32) {
    let thread = tool::current();
    *HAS_RED_ZONE.get() = 1;
    let high = now - RED_ZONE;
    if high.wrapping_sub(low) < FRAME_MAX {
        // SAFETY: VEX gives the thread's registers, sixteen in a row.
        let registers = unsafe { &*guest.add(REGISTERS).cast::<[usize; 16]>() };
        let site = stamping(thread, site);
        die(thread, registers, 0, low, high, site);
    }
}

/// The stack pointer got a value from elsewhere: frames are jumped over, or it
/// is another stack.
pub unsafe extern "C" fn on_switch(guest: *const u8, low: usize, now: usize, site: u32) {
    let thread = tool::current();
    let stack = thread.stack.0..=thread.stack.1;
    if !stack.contains(&low) || !stack.contains(&now) {
        return thread.calls.switch(low, now);
    }
    if now > low {
        // SAFETY: VEX gives the thread's registers, sixteen in a row.
        let registers = unsafe { &*guest.add(REGISTERS).cast::<[usize; 16]>() };
        let site = Some(site).filter(|&site| is_followed(site));
        die(thread, registers, 0, low - RED_ZONE, now, site);
        stamps::tick();
        thread.calls.leave(now, Carries::Nothing);
    }
}

/// The site, if pointers that die there may be the last.
#[inline]
fn stamping(thread: &Thread, site: u32) -> Option<u32> {
    (is_followed(site) && thread.calls.may_hold_last()).then_some(site)
}

/// Whether the code is the program's.
#[inline]
fn is_followed(site: u32) -> bool {
    site != PRELOADED && site != LINKER
}

/// The program uses the block at `address`.
pub unsafe extern "C" fn on_use(address: usize, site: u32) {
    if let Some(block) = heap::at(address) {
        block.used = Point { context: tool::current().calls.context(), site };
    }
}

/// The words from `low` to `high` are no longer of any use; but pointers that
/// are the result go on. Without a site they are only forgotten.
#[inline]
fn die(
    thread: &mut Thread,
    registers: &[usize; 16],
    result: usize,
    low: usize,
    high: usize,
    site: Option<u32>,
) {
    /// Up to here one look at each word is faster than two.
    const FEW: usize = 24;
    let words = aligned_words(thread.mapped_from(low, high), high);
    if words.len() <= FEW || any_within(words) {
        die_slowly(thread, registers, result, words, site);
    }
}

fn die_slowly(
    thread: &mut Thread,
    registers: &[usize; 16],
    result: usize,
    words: &mut [usize],
    site: Option<u32>,
) {
    for word in words.iter_mut().filter(|word| arena::is_within(**word)) {
        // What a function put aside for its caller is back in its register.
        if let Some(site) = site
            && *word != result
            && !is_kept(registers, *word)
            && let Some(block) = heap::pointed_to(*word)
        {
            stamps::stamp_block(block, Point { context: thread.calls.context(), site });
        }
        *word = 0;
    }
}

/// Whether the caller has the word in a register of its own.
#[inline]
fn is_kept(registers: &[usize; 16], word: usize) -> bool {
    (0..16).any(|register| KEPT >> register & 1 == 1 && registers[register] == word)
}

/// Whether any word may point into the heap; written so that it becomes
/// vector code.
#[inline]
fn any_within(words: &[usize]) -> bool {
    words.iter().fold(false, |any, &word| any | arena::is_within(word))
}

/// The words of the program's memory that lie in `low..high` or reach into it.
pub fn aligned_words(low: usize, high: usize) -> &'static mut [usize] {
    let start = low & !7;
    // SAFETY: the caller knows that the program has this memory.
    unsafe { core::slice::from_raw_parts_mut(start as *mut usize, high.saturating_sub(start).div_ceil(8)) }
}
