//! What instrumented code calls when something happens to a pointer.

mod scopes;

use leakscope_wire::Cause;

pub use scopes::{on_elements_end, on_inlined_end, on_scope_end, on_scope_end_behind_call, on_variable_end};

use crate::arena;
use crate::calls::{self, Carries, Given};
use crate::containers;
use crate::details;
use crate::frames::{self, Function};
use crate::heap::{self, Block, Held, NOWHERE, Point, TEMPORARY, USED_SINCE_MEMORY, USED_SINCE_REGISTER};
use crate::inside;
use crate::ir::{RAX, RDX, REGISTERS, RESTORED, RSP};
use crate::memory::Single;
use crate::modules;
use crate::parts;
use crate::pools;
use crate::stamps::{self, stamp};
use crate::tool::{self, Thread, Thrown};

/// Below the stack pointer, a function that calls no other may keep data here.
pub const RED_ZONE: usize = 128;
/// Registers that a function must leave as they were: rbx, rbp, r12 to r15.
pub const KEPT: u16 = 1 << 3 | 1 << 5 | 0xf000;
/// Registers that are dead after a return: not the result, not the stack
/// pointer. (The second half of a result in two registers is taken for dead.)
pub const DEAD: u16 = !(KEPT | 1 << RAX | 1 << RSP);
/// In the argument of a call: from this bit on, registers that were set.
pub const REGISTERS_SET: u32 = 32;
/// Arguments are put into their registers right before the call: the code was not
/// optimised.
pub const IN_ORDER: u64 = 1 << 48;
const DEAD_REGISTERS: [usize; 8] = [1, 2, 6, 7, 8, 9, 10, 11];
const KEPT_REGISTERS: [usize; 6] = [3, 5, 12, 13, 14, 15];
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

/// A store overwrites a word that pointed into the heap.
pub unsafe extern "C" fn on_store(old: usize, site: u32) {
    stamp(old, site);
}

/// The same where variables are known: `new` comes in the place of it, at `address`; 0 if it is not one
/// word.
pub unsafe extern "C" fn on_known_store(old: usize, new: usize, site: u32, address: usize) {
    if frames::has_ended(address, old) {
        return;
    }
    if new < old && containers::is_end(address, new, old) {
        scopes::elements_end(new, old, stamps::here(stamps::site_of_elements(site)), NOWHERE);
    }
    stamp(old, site);
}

/// The same in the code of a library, at `address`.
pub unsafe extern "C" fn on_librarys_store(old: usize, site: u32, address: usize) {
    stamps::stamp_by_library(old, site, address);
}

/// Memory at `address` is about to be written.
pub unsafe extern "C" fn on_write(address: usize, bytes: usize, site: u32) {
    stamps::stamp_written(aligned_words(address, address + bytes), stamps::here(site));
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
        register_dies(thread, old, site, NOWHERE, |block| !block.contains(new));
    }
}

/// The register of results gets another value in a block of code that starts at
/// `start` and did not look at it: if that is where the last return led to,
/// nobody wanted the result.
pub unsafe extern "C" fn on_result(old: usize, new: usize, start: usize) {
    let thread = tool::current();
    if let Some(block) = unkept(thread, old, start).filter(|block| !block.contains(new)) {
        stamps::stamp_result(block, call_of_result(thread));
    }
}

/// The same for a result that the block of code looked at and did not keep. It
/// may still be in its register, and be kept later.
pub unsafe extern "C" fn on_tested(old: usize, start: usize) {
    let thread = tool::current();
    if let Some(block) = unkept(thread, old, start) {
        stamps::stamp_register(block, call_of_result(thread), NOWHERE);
    }
}

/// The block that the last result points to, if the result led to `start` and
/// was not looked at here before.
#[inline]
fn unkept(thread: &mut Thread, result: usize, start: usize) -> Option<&'static mut Block> {
    let known = core::mem::replace(&mut thread.dead_result, result) == result;
    let is_last = !known && thread.dead[RAX] == result && thread.returned_to == start;
    heap::pointed_to(result).filter(|block| is_last && is_first(thread, block))
}

/// A call wrote to `slot` where it returns to. The last result goes, if it was
/// only in registers: one that is in its register no longer must point to a
/// start, as what is left of a flag in a pointer's register does not.
/// `unkept_since` is as `start` above, or 0. Above the site in `what` are the
/// registers that were set shortly before.
pub unsafe extern "C" fn on_call(
    guest: *const u8,
    address: usize,
    slot: usize,
    what: u64,
    unkept_since: usize,
) {
    let (site, set, in_order) = (what as u32, (what >> REGISTERS_SET) as u16, what & IN_ORDER != 0);
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    let thread = tool::current();
    *LEFT_BY.get() = [0; 2];
    thread.flag = 0;
    let (result, last_result) = (registers[RAX], thread.dead[RAX]);
    if arena::is_within(last_result)
        && is_followed(site)
        && core::mem::replace(&mut thread.dead_result, last_result) != last_result
        && let Some(block) = heap::pointed_to(last_result).filter(|block| is_first(thread, block))
    {
        if result == last_result && thread.returned_to == unkept_since {
            stamps::stamp_result(block, call_of_result(thread));
        } else if (result == last_result || block.start == last_result) && thread.calls.may_hold_last() {
            // In optimised code it may have a name there, or is the compiler's copy.
            let held = if in_order { NOWHERE } else { Held::in_register(RAX) };
            stamps::stamp_register(block, Point { context: thread.calls.context(), site }, held);
        }
    }
    if core::mem::replace(HAS_RED_ZONE.get(), 0) == RAISED {
        let death = stamping(thread, *RAISED_AT.get());
        die(thread, registers, [0; 2], slot - RED_ZONE, slot, death);
    }
    let mut given = Given { word: 0, elsewhere: 0 };
    if arena::is_within(last_result) {
        let is_old = |register: &usize| {
            let word = registers[*register];
            let is_left = in_order || word == thread.dead[*register];
            word == last_result && is_left && set >> register & 1 == 0
        };
        let elsewhere = DEAD_REGISTERS.into_iter().filter(is_old).fold(0, |mask, it| mask | 1 << it);
        given = Given { word: last_result, elsewhere };
    }
    if details::are_kept() {
        details::passes(registers, set, slot, site);
    }
    thread.calls.call(slot, address, given, FIRST_ARGUMENTS.map(|register| registers[register]));
}

/// General registers, sixteen in a row.
///
/// # Safety
/// `guest` is a thread's guest state, and they lie at `offset` there.
#[inline(always)]
pub unsafe fn registers_at<'a>(guest: *const u8, offset: usize) -> &'a [usize; 16] {
    // SAFETY: the caller's.
    unsafe { &*guest.add(offset).cast() }
}

#[inline]
fn register_dies(thread: &mut Thread, word: usize, site: u32, held: Held, dies: impl Fn(&Block) -> bool) {
    if let Some(block) = heap::pointed_to(word).filter(|block| dies(block)) {
        stamps::stamp_register(block, Point { context: thread.calls.context(), site }, held);
    }
}

/// The call that gave the last result, which nobody kept.
fn call_of_result(thread: &mut Thread) -> Point {
    let context = calls::child(thread.calls.context(), thread.returned_to);
    Point { context, site: stamps::site_of_cause(Cause::Discarded) }
}

/// Whether no variable of the function that gave the last result died with the
/// same value: else the result is only what was left in its register.
fn is_first(thread: &Thread, block: &Block) -> bool {
    block.stamped() <= thread.returned_at
}

/// Arguments of a call, as registers.
pub const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
pub const FIRST_ARGUMENTS: [usize; calls::ARGUMENTS] = [7, 6];

/// The call with its return address at `slot` may lead to a function that saves
/// all arguments there can be: those that the last return left are none.
pub unsafe extern "C" fn on_variadic(guest: *const u8, _: usize, slot: usize) {
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    let thread = tool::current();
    for register in ARGUMENTS {
        let word = registers[register];
        if arena::is_within(word) && word == thread.dead[register] {
            thread.calls.note_stale(slot, word);
        }
    }
}

/// Beside the registers that were restored: the result was set right before.
pub const SETS_RESULT: u32 = 1 << 16;
/// In the places of registers that are not restored: the result is a flag, and the
/// rest of it what the register had before; or the register is as it was.
pub const IS_FLAG: u32 = 1 << 0;
pub const IS_LEFT: u32 = 1 << 1;
/// The second register of results has a part of it, too.
pub const TWO_RESULTS: u64 = 1 << 32;
/// The function has no result: what is in the register was left there.
pub const NO_RESULT: u64 = 1 << 33;
/// The function has a result, as debug information says.
pub const ONE_RESULT: u64 = 1 << 35;
/// Nothing but the end of the function is there: what led to it may be known.
pub const SHARED_END: u64 = 1 << 34;
/// From this bit on, without the first: the registers that have what the caller
/// had in them.
pub const GIVEN_BACK: u32 = 17;

/// A return: the frame from `low` on is gone, and so is what registers hold
/// that the caller cannot expect to be there. `what` says which registers were
/// restored from the frame, and whether the result goes on.
pub unsafe extern "C" fn on_return(guest: *const u8, low: usize, now: usize, site: u32, what: u64) {
    let site = if what & SHARED_END != 0 { way_out(low).unwrap_or(site) } else { site };
    let (has_one, has_two, has_none) =
        (what & ONE_RESULT != 0, what & TWO_RESULTS != 0, what & NO_RESULT != 0);
    let what = what as u32;
    // SAFETY: VEX gives the guest state.
    let (registers, restored) = unsafe { (registers_at(guest, REGISTERS), registers_at(guest, RESTORED)) };
    let thread = tool::current();
    let is_flag = has_none || what & IS_FLAG != 0 || what & IS_LEFT != 0 && registers[RAX] == thread.flag;
    thread.flag = if is_flag { registers[RAX] } else { 0 };
    let sets_result = what & SETS_RESULT != 0 || has_two;
    let result = if sets_result && !is_flag { registers[RAX] } else { 0 };
    let second = if has_two { registers[RDX] } else { 0 };
    let time = stamps::time();
    let death = stamping(thread, site);
    if now.wrapping_sub(low) < FRAME_MAX {
        let red_zone = if *HAS_RED_ZONE.get() != 0 { RED_ZONE } else { 0 };
        let death = death.map(|death| Death { put_aside: (what >> GIVEN_BACK << 1) as u16, ..death });
        die(thread, registers, [result, second], low - red_zone, now, death);
    }
    *HAS_RED_ZONE.get() = 0;
    if death.is_some() {
        registers_die(thread, registers, restored, result, what & (SETS_RESULT - 1), site, time);
    }
    if site != LINKER {
        thread.returned_at = time;
        thread.note_dead(registers);
        if is_flag {
            thread.dead[RAX] = 0;
        }
        // What the function neither was given nor wrote is not its result, unless it must have one.
        let given = thread.calls.given();
        let is_result = has_one && sets_result || given.word != registers[RAX] || is_left(registers, given);
        thread.dead_result = if is_result { 0 } else { given.word };
        // SAFETY: the return address was read from there just now.
        thread.returned_to = unsafe { *((now - 8) as *const usize) };
    }
    if thread.calls.depth() == OUTERMOST && stamps::site(site).is_some_and(|it| modules::is_users(it.address))
    {
        thread.left = Point { context: thread.calls.context(), site };
    }
    let carries = match site {
        LINKER => Carries::Unknown,
        _ if arena::is_within(registers[RAX]) && !is_flag => Carries::Pointer,
        _ => Carries::Nothing,
    };
    if details::are_kept() {
        details::returns(registers, site, carries);
    }
    thread.calls.leave(now, carries);
    if details::are_kept() {
        details::returned(registers, thread.returned_to, carries);
    }
    // Not followed any further: if nobody keeps it, this was the last of it.
    if let Some(block) = heap::pointed_to(second).filter(|_| death.is_some()) {
        stamps::stamp_register(block, call_of_result(thread), NOWHERE);
    }
    pools::returns(now, registers[RAX]);
}

/// What last led to the end of a function that several returns share, as a site, and
/// where the stack pointer was. Instrumented code sets it.
static LEFT_BY: Single<[usize; 2]> = Single::new([0; 2]);

pub fn left_by() -> *mut [usize; 2] {
    LEFT_BY.get()
}

/// The site of what led to a return that begins with the stack pointer at `stack`.
fn way_out(stack: usize) -> Option<u32> {
    let [site, left] = core::mem::take(LEFT_BY.get());
    (site != 0 && left == stack).then_some(site as u32)
}

/// An allocation function of the program's begins: its result is ours.
pub unsafe extern "C" fn stand_in(guest: *const u8, number: usize) -> usize {
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    inside::stand_in(number, [7, 6, 2].map(|register: usize| registers[register]))
}

/// A function of a pool begins, with its return address at `slot`.
pub unsafe extern "C" fn on_pool(guest: *const u8, number: usize, slot: usize) {
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    pools::enters(number, slot, ARGUMENTS.map(|register| registers[register]));
}

/// At a return: what was in the registers that were restored, a result that the
/// function was given and did not keep, and one that it got and did not keep.
/// `before` is the time before its frame died.
#[inline]
fn registers_die(
    thread: &mut Thread,
    registers: &[usize; 16],
    restored: &[usize; 16],
    result: usize,
    was_restored: u32,
    site: u32,
    before: u64,
) {
    let given = thread.calls.given();
    let is_given = given.word != 0 && given.word != registers[RAX] && is_left(registers, given);
    let given = given.word;
    let mut last = result;
    for register in KEPT_REGISTERS.into_iter().filter(|register| was_restored >> register & 1 == 1) {
        let word = restored[register];
        if arena::is_within(word) && word != last && !is_kept(registers, word) {
            // A variable in the frame has a name more often.
            register_dies(thread, word, site, Held::in_register(register), |block| block.stamped() <= before);
            last = word;
        }
    }
    // If the function put it nowhere, it was a temporary of the call's.
    if is_given && given != last && !is_kept(registers, given) {
        let site = stamps::site_of_cause(Cause::Discarded);
        register_dies(thread, given, site, NOWHERE, |block| block.stamped() <= before);
    }
    // The last result of a function that this one has called.
    let (called, returned_at) = (thread.dead[RAX], thread.returned_at);
    if arena::is_within(called)
        && called != given
        && called != thread.dead_result
        && called != registers[RAX]
        && !is_kept(registers, called)
    {
        let dies = |block: &Block| block.start == called && block.stamped() <= returned_at;
        register_dies(thread, called, site, Held::in_register(RAX), dies);
    }
}

/// Whether a function leaves the word in a register in which it may have been
/// given it.
#[inline]
fn is_left(registers: &[usize; 16], given: Given) -> bool {
    let is_there = |&&register: &&usize| registers[register] == given.word;
    DEAD_REGISTERS.iter().filter(is_there).any(|&register| given.elsewhere >> register & 1 == 0)
}

/// Whether there may be data below the stack pointer: the running function
/// wrote there, or has given back its frame. Instrumented code sets it.
static HAS_RED_ZONE: Single<u64> = Single::new(0);
/// Instead of 1: the frame was given back, at this site.
const RAISED: u64 = 2;
static RAISED_AT: Single<u32> = Single::new(0);

pub fn has_red_zone() -> *mut u64 {
    HAS_RED_ZONE.get()
}

/// The stack pointer rose otherwise than by a return. What lies just below may
/// still be read: compilers give a frame back before they have done with it.
pub unsafe extern "C" fn on_raise(guest: *const u8, low: usize, now: usize, site: u32) {
    let thread = tool::current();
    *HAS_RED_ZONE.get() = RAISED;
    *RAISED_AT.get() = site;
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    if thread.calls.is_left(now) && now.wrapping_sub(low) < FRAME_MAX {
        return unwind(thread, registers, low, now, site);
    }
    let high = now - RED_ZONE;
    if high.wrapping_sub(low) < FRAME_MAX {
        let death = stamping(thread, site);
        die(thread, registers, [0; 2], low, high, death);
    }
}

/// A jump after the stack pointer rose from `low` to `now`: if only the return
/// address is left, another function takes the place of the one that ran, and its
/// frame is gone.
pub unsafe extern "C" fn on_jump(guest: *const u8, low: usize, now: usize, site: u32) {
    let thread = tool::current();
    let end = thread.calls.frame_end().wrapping_sub(8);
    if now != end || end.wrapping_sub(low) >= FRAME_MAX {
        return;
    }
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    let red_zone = if core::mem::replace(HAS_RED_ZONE.get(), 0) != 0 { RED_ZONE } else { 0 };
    // What the last return left in a register is not given.
    let is_set = |register: &&usize| registers[**register] != thread.dead[**register];
    let given = ARGUMENTS.iter().filter(is_set).fold(KEPT, |given, register| given | 1 << register);
    let death = stamping(thread, site).map(|death| Death { put_aside: given, ..death });
    die(thread, registers, [0; 2], low - red_zone, end, death);
}

/// The function that runs jumps to another, which returns for it, if only the return address is
/// left at `stack`; the jump is as a call that returns to `address`.
pub unsafe extern "C" fn on_tail_call(guest: *const u8, stack: usize, address: usize) {
    // SAFETY: VEX gives the guest state.
    let registers = unsafe { registers_at(guest, REGISTERS) };
    tool::current().calls.jump(stack, address, FIRST_ARGUMENTS.map(|register| registers[register]));
}

/// Frames are jumped over, up to `now`: those of an exception up to its
/// handler's. The function that does it knows none of what they hold.
fn unwind(thread: &mut Thread, registers: &[usize; 16], low: usize, now: usize, site: u32) {
    // A function that cleaned up on the way goes on with the same exception.
    if !thread.calls.caller().is_some_and(modules::is_users) || thread.thrown.context == 0 {
        thread.thrown = Thrown { context: thread.calls.context(), depth: thread.calls.depth(), landed: 0 };
    }
    let site_of_throw = stamps::site_of_cause(Cause::Unwound);
    let unwound = Death { site: site_of_throw, context: Some(thread.thrown.context), put_aside: KEPT };
    die(thread, registers, [0; 2], low - RED_ZONE, now, is_followed(site).then_some(unwound));
    stamps::tick();
    thread.thrown.landed = stamps::clock();
    thread.note_dead(registers);
    thread.dead[RAX] = 0;
    let left = thread.calls.left_call(now);
    thread.calls.leave(now, Carries::Nothing);
    if let Some(left) = left.filter(|_| is_followed(site)) {
        scopes::end_by_throw(thread, left, now);
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
    // What a function took from the stack for itself, it gives back so, too.
    if now > low && is_followed(site) && !thread.calls.is_left(now) {
        if function_of(site).is_none() {
            // SAFETY: as the caller's.
            return unsafe { on_raise(guest, low, now, site) };
        }
        // SAFETY: VEX gives the guest state.
        let registers = unsafe { registers_at(guest, REGISTERS) };
        let death = stamping(thread, site);
        return die(thread, registers, [0; 2], low, now, death);
    }
    if now > low {
        // SAFETY: VEX gives the guest state.
        let registers = unsafe { registers_at(guest, REGISTERS) };
        unwind(thread, registers, low, now, site);
    }
}

/// Where pointers die.
#[derive(Clone, Copy)]
struct Death {
    site: u32,
    /// That of the function that runs, if there is no other.
    context: Option<u32>,
    /// Registers that the function may have put aside in its frame.
    put_aside: u16,
}

/// The site, if pointers that die there may be the last.
#[inline]
fn stamping(thread: &Thread, site: u32) -> Option<Death> {
    (is_followed(site) && thread.calls.may_hold_last()).then_some(Death {
        site,
        context: None,
        put_aside: KEPT,
    })
}

/// Whether no variable of the function with a site is so far below its frame's end.
fn is_temporary(site: u32, below: usize) -> bool {
    let Some(address) = stamps::site(site).and_then(|site| site.address.checked_sub(1)) else { return false };
    frames::function_at(address).is_some_and(|function| function.is_temporary(below))
        || frames::stretch_at(address).is_some_and(|stretch| stretch.is_temporary(below))
}

/// The function with a site, if its frame is known.
fn function_of(site: u32) -> Option<Function> {
    frames::function_at(stamps::site(site)?.address.checked_sub(1)?)
}

/// Whether the code is the program's.
#[inline]
fn is_followed(site: u32) -> bool {
    site != PRELOADED && site != LINKER
}

/// The program uses the block at `address`. This is called more often than all
/// else: what may need another call is elsewhere.
pub unsafe extern "C" fn on_use(address: usize, site: u32) {
    match calls::known_context() {
        Some(context) if !parts::are_used() => note_use(heap::at(address), Point { context, site }),
        _ => use_slowly(address, site),
    }
}

#[cold]
fn use_slowly(address: usize, site: u32) {
    note_use(parts::find(address).or_else(|| heap::at(address)), stamps::here(site));
}

#[inline(always)]
fn note_use(block: Option<&mut Block>, point: Point) {
    if let Some(block) = block {
        block.used = point;
        block.used_since = USED_SINCE_MEMORY | USED_SINCE_REGISTER;
    }
}

/// The words from `low` to `high` are no longer of any use; but pointers that
/// are the result go on. Without a death they are only forgotten.
#[inline]
fn die(
    thread: &mut Thread,
    registers: &[usize; 16],
    results: [usize; 2],
    low: usize,
    high: usize,
    death: Option<Death>,
) {
    /// Up to here one look at each word is faster than two.
    const FEW: usize = 24;
    let words = aligned_words(thread.mapped_from(low, high), high);
    if words.len() <= FEW || any_within(words) {
        die_slowly(thread, registers, results, words, death);
    }
}

fn die_slowly(
    thread: &mut Thread,
    registers: &[usize; 16],
    results: [usize; 2],
    words: &mut [usize],
    death: Option<Death>,
) {
    let (end, before) = (thread.calls.frame_end(), stamps::time());
    for place in words.iter_mut().filter(|word| arena::is_within(**word)) {
        let address = place as *const usize as usize;
        let below = end.wrapping_sub(address);
        let word = core::mem::replace(place, 0);
        if frames::has_ended(address, word) {
            continue;
        }
        // What a function put aside for its caller is back in its register.
        if let Some(Death { site, context, put_aside }) = death
            && !results.contains(&word)
            && !is_in(put_aside, registers, word)
            && !thread.calls.is_stale_at(word, address)
            && let Some(block) = heap::pointed_to(word)
            // Of several pointers in the frame one to its start is meant.
            && (word == block.start || block.stamps[0].time() <= before)
        {
            let held = match context {
                None => Held::at_word(below / 8),
                Some(_) => thread.calls.in_frame(address, thread.thrown.depth),
            };
            let is_temporary = context.is_none() && is_temporary(site, below);
            let point = Point { context: context.unwrap_or_else(|| thread.calls.context()), site };
            if is_temporary {
                if block.stamped() <= before {
                    stamps::stamp_register(block, point, TEMPORARY);
                }
            } else {
                stamps::stamp_block(block, point, held);
            }
        }
    }
}

/// Whether the caller has the word in a register of its own.
#[inline]
fn is_kept(registers: &[usize; 16], word: usize) -> bool {
    is_in(KEPT, registers, word)
}

/// Whether one of some registers has the word.
#[inline]
fn is_in(some: u16, registers: &[usize; 16], word: usize) -> bool {
    (0..16).any(|register| some >> register & 1 == 1 && registers[register] == word)
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
