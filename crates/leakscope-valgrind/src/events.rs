//! What instrumented code calls when something happens to a pointer.

use leakscope_wire::Cause;

use crate::arena;
use crate::calls;
use crate::heap::{self, Point};
use crate::ir::{RAX, REGISTERS, RSP};
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
    // Going on inside the same block destroys nothing.
    if let Some(block) = heap::pointed_to(old).filter(|block| !block.contains(new)) {
        stamps::stamp_register(block, Point { context: thread.calls.context(), site });
    }
}

/// The same for the register of results. `unread_since` is the start of a block
/// of code that did not look at it, or 0: if that is where the last return led
/// to, nobody wanted the result.
pub unsafe extern "C" fn on_result(old: usize, new: usize, site: u32, unread_since: usize) {
    let thread = tool::current();
    let known = core::mem::replace(&mut thread.dead_result, old) == old;
    let Some(block) = heap::pointed_to(old).filter(|block| !known && !block.contains(new)) else { return };
    let is_result = thread.dead[RAX] == old && thread.returned_to == unread_since;
    if !is_result {
        return stamps::stamp_register(block, Point { context: thread.calls.context(), site });
    }
    // If a variable of the function's died with the same value, this is only
    // what was left in the register.
    if block.stamped() <= thread.returned_at {
        let context = calls::child(thread.calls.context(), thread.returned_to);
        let site = stamps::site_of_cause(Cause::Discarded);
        stamps::stamp_block(block, Point { context, site });
    }
}

/// A call wrote where it returns to.
pub unsafe extern "C" fn on_call(slot: usize, address: usize) {
    let thread = tool::current();
    thread.has_red_zone = true;
    thread.calls.call(slot, address);
}

/// A return: the frame from `low` on is gone, and so is what registers hold
/// that the caller cannot expect to be there.
pub unsafe extern "C" fn on_return(guest: *const u8, low: usize, now: usize, site: u32) {
    // SAFETY: VEX gives the thread's registers, sixteen in a row.
    leave(unsafe { &*guest.add(REGISTERS).cast() }, 0, low, now, site);
}

/// A return right after the result was set: what it points to goes on.
pub unsafe extern "C" fn on_return_result(guest: *const u8, low: usize, now: usize, site: u32) {
    // SAFETY: VEX gives the thread's registers, sixteen in a row.
    let registers: &[usize; 16] = unsafe { &*guest.add(REGISTERS).cast() };
    leave(registers, registers[RAX], low, now, site);
}

#[inline(always)]
fn leave(registers: &[usize; 16], result: usize, low: usize, now: usize, site: u32) {
    let thread = tool::current();
    let time = stamps::time();
    if now.wrapping_sub(low) < FRAME_MAX {
        let low = if thread.has_red_zone { low - RED_ZONE } else { low };
        die(thread, registers, result, low, now, site);
    }
    thread.has_red_zone = false;
    if site != LINKER {
        if site != PRELOADED && any_within(registers) {
            for (register, &word) in registers.iter().enumerate() {
                if DEAD >> register & 1 == 1
                    && arena::is_within(word)
                    && thread.dead[register] != word
                    && word != result
                    && !is_kept(registers, word)
                    && let Some(block) = heap::pointed_to(word)
                {
                    stamps::stamp_register(block, Point { context: thread.calls.context(), site });
                }
            }
        }
        thread.returned_at = time;
        thread.dead = *registers;
        thread.dead_result = 0;
        // SAFETY: the return address was read from there just now.
        thread.returned_to = unsafe { *((now - 8) as *const usize) };
    }
    if thread.calls.depth() == OUTERMOST && stamps::site(site).is_some_and(|it| modules::is_users(it.address))
    {
        thread.left = Point { context: thread.calls.context(), site };
    }
    thread.calls.leave(now);
}

/// The stack pointer rose otherwise than by a return. What lies just below may
/// still be read: compilers give a frame back before they have done with it.
pub unsafe extern "C" fn on_raise(guest: *const u8, low: usize, now: usize, site: u32) {
    let thread = tool::current();
    thread.has_red_zone = true;
    let high = now - RED_ZONE;
    if high.wrapping_sub(low) < FRAME_MAX {
        // SAFETY: VEX gives the thread's registers, sixteen in a row.
        let registers = unsafe { &*guest.add(REGISTERS).cast::<[usize; 16]>() };
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
        die(thread, registers, 0, low - RED_ZONE, now, site);
        thread.calls.leave(now);
    }
}

/// The program uses the block at `address`.
pub unsafe extern "C" fn on_use(address: usize, site: u32) {
    if let Some(block) = heap::at(address) {
        block.used = Point { context: tool::current().calls.context(), site };
    }
}

/// The words from `low` to `high` are no longer of any use; but pointers that
/// are the result go on.
#[inline]
fn die(thread: &mut Thread, registers: &[usize; 16], result: usize, low: usize, high: usize, site: u32) {
    let words = aligned_words(thread.mapped_from(low, high), high);
    if any_within(words) {
        die_slowly(thread, registers, result, words, site);
    }
}

#[cold]
fn die_slowly(thread: &mut Thread, registers: &[usize; 16], result: usize, words: &mut [usize], site: u32) {
    for word in words.iter_mut().filter(|word| arena::is_within(**word)) {
        // What a function put aside for its caller is back in its register.
        if *word != result
            && !is_kept(registers, *word)
            && site != PRELOADED
            && site != LINKER
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
