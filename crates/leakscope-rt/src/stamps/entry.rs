//! What instrumented code calls where pointers die, blocks are used, and
//! functions that report it begin.

use super::*;
use crate::assembly::{keeps_registers, opens_frame};
use crate::ends::Exit;
use crate::entry::keeping_registers;
use crate::{park, sys, walk};

/// `pthread_exit` was called; the line is the frame's.
static THREAD_END: wire::Descriptor =
    wire::Descriptor { site: wire::Site::of(wire::Cause::ThreadEnd), bytes: 0, fields: 0 };

keeping_registers!("__leakscope_overwritten", "leakscope_overwritten", "r8", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_ends", "leakscope_ends", "r8", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_dies", "leakscope_dies", "r8", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_use", "leakscope_use", "r8", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_arrives", "leakscope_arrives", "r8", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_stays", "leakscope_stays", "rdi", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_used_at", "leakscope_used_at", "rsi", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_range_dies", "leakscope_range_dies", "r8", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_restored", "leakscope_restored", "r9", "sub rsp, 8", "add rsp, 8");
keeping_registers!("__leakscope_drop", "leakscope_drop", "r8", "push rax", "pop rax");
keeping_registers!("__leakscope_shrinks", "leakscope_shrinks", "rcx", "push rax", "pop rax");
keeping_registers!("__leakscope_emptied", "leakscope_emptied", "rcx", "push rax", "pop rax");
keeping_registers!("__leakscope_cleared", "leakscope_cleared", "rcx", "push rax", "pop rax");
keeping_registers!("__leakscope_returns", "leakscope_returns", "r8", "push rax", "pop rax");
keeping_registers!("__leakscope_unwound", "leakscope_unwound", "rdx", "push rax", "pop rax");
keeping_registers!("__leakscope_check", "leakscope_check", "rdx", "sub rsp, 8", "add rsp, 8");

// Keeps what only registers hold where it can be searched.
core::arch::global_asm!(
    ".globl __leakscope_leaves",
    ".type __leakscope_leaves,@function",
    "__leakscope_leaves:",
    opens_frame!(),
    keeps_registers!(),
    "mov rdx, rsp",
    "sub rsp, 8",
    "mov rcx, rbp",
    "call leakscope_leaves",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
);

/// Control is about to leave the frames up to where `target`, a `jmp_buf`,
/// leads, or all of the stack without one.
///
/// # Safety
/// A buffer that `setjmp` filled, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn leakscope_leaves(target: usize, site: usize, stack: usize, frame: usize) {
    let thread = this_thread();
    if !thread.known {
        thread::learn(thread);
    }
    if !(thread.stack_low..thread.stack_high).contains(&stack) {
        return;
    }
    let caller = Caller { frame };
    let end = match target {
        0 => {
            thread.exit = Exit {
                stack: walk::stack(thread, caller),
                what: What::at(&raw const THREAD_END as usize, 0),
                value: 0,
            };
            // Behind the frames libc has the thread's control block, which is not cleared
            // between two threads.
            let block = park::thread_pointer();
            if (stack..thread.stack_high).contains(&block) { block } else { thread.stack_high }
        }
        // SAFETY: as the caller says.
        buffer => unsafe { saved_stack(buffer) },
    };
    if (stack..=thread.stack_high).contains(&end) {
        // SAFETY: between the live end of the stack and its start.
        unsafe { left::frames_end(thread, caller, stack, end, site) };
    }
}

/// A container is about to be destroyed on the way of an exception, or was.
#[unsafe(no_mangle)]
extern "C" fn __leakscope_cleans(site: usize) {
    this_thread().cleaning = site;
}

/// What lies between the new and the old end of a vector's elements is no
/// element any more. It is cleared: else it would hold blocks, and stamp
/// them when it is used again.
#[unsafe(no_mangle)]
extern "C" fn leakscope_shrinks(old: usize, new: usize, site: usize, frame: usize) {
    let thread = this_thread();
    let Some(block) = heap::find(new).filter(|block| old <= block.start + block.room) else { return };
    if !arena::is_followed() || block.size() > mode::searched_max() {
        return;
    }
    // SAFETY: within a live block, and nobody's.
    for (address, word) in unsafe { pointers(new, old) } {
        stamp(thread, word, Caller { frame }, What::at(site, 0));
        // SAFETY: as above.
        unsafe { *(address as *mut usize) = 0 };
    }
}

/// What lies from `start` to `end` was ended, as `leakscope_shrinks` says.
///
/// # Safety
/// The bytes are the object's that calls.
#[unsafe(no_mangle)]
unsafe extern "C" fn leakscope_emptied(start: usize, end: usize, site: usize, frame: usize) {
    if !arena::is_followed() {
        return;
    }
    // SAFETY: as the caller says.
    for (address, word) in unsafe { pointers(start, end) } {
        stamp(this_thread(), word, Caller { frame }, What::at(site, 0));
        // SAFETY: as above.
        unsafe { *(address as *mut usize) = 0 };
    }
}

/// The same of an object whose destructor clears it too. Those of static objects run
/// while the program ends: what they hold is forgotten, not lost.
///
/// # Safety
/// The bytes are the object's that calls.
#[unsafe(no_mangle)]
unsafe extern "C" fn leakscope_cleared(start: usize, end: usize, site: usize, frame: usize) {
    let thread = this_thread();
    if !thread.known {
        thread::learn(thread);
    }
    if (thread.stack_low..thread.stack_high).contains(&start) || arena::range().contains(&start) {
        // SAFETY: as the caller says.
        unsafe { leakscope_emptied(start, end, site, frame) };
    }
}

/// A function returns `value` from further out than any before.
#[unsafe(no_mangle)]
extern "C" fn leakscope_returns(outer: usize, site: usize, place: u64, value: usize, frame: usize) {
    let thread = this_thread();
    thread.outer = outer;
    if arena::is_followed() {
        let stack = walk::stack(thread, Caller { frame });
        thread.exit = Exit { stack, what: What::at(site, place), value };
    }
}

/// A pointer dies in a frame that an exception leaves: where it was thrown.
#[unsafe(no_mangle)]
extern "C" fn leakscope_unwound(pointer: usize, site: usize, frame: usize) {
    let (thread, what) = (this_thread(), What::at(site, 0));
    match left::thrown(thread) {
        Some(stack) => stamp_if(thread, pointer, |_| true, || events::of_stack(stack, what)),
        None => stamp(thread, pointer, Caller { frame }, what),
    }
}

/// The stack pointer in a `jmp_buf` of glibc: the seventh word, mixed with
/// a secret of the process.
///
/// # Safety
/// A buffer that `setjmp` filled.
unsafe fn saved_stack(buffer: usize) -> usize {
    let secret: usize;
    // SAFETY: reads the secret from where glibc has it on x86-64.
    unsafe { core::arch::asm!("mov {}, fs:[0x30]", out(reg) secret, options(nostack, readonly)) };
    // SAFETY: as the caller says.
    let mixed = unsafe { *(buffer as *const usize).add(6) };
    mixed.rotate_right(17) ^ secret
}

/// The pointer is used.
#[unsafe(no_mangle)]
extern "C" fn leakscope_use(pointer: usize, _: usize, _: usize, _: usize, frame: usize) {
    let thread = this_thread();
    uses::spend(thread);
    if let Some(used) = used(pointer) {
        let event = events::number(thread, Caller { frame }, What::CALL);
        used.store(event, Ordering::Relaxed);
    }
}

/// Code that reports uses begins. Returns the first number of the function's
/// row.
#[unsafe(no_mangle)]
extern "C" fn leakscope_arrives(_: usize, _: usize, _: usize, _: usize, frame: usize) -> u64 {
    let thread = this_thread();
    uses::spend(thread);
    events::row(thread, Caller { frame }).into()
}

/// It goes round a loop. Returns whether uses are still wanted.
#[unsafe(no_mangle)]
extern "C" fn leakscope_stays() -> u64 {
    uses::spend(this_thread()).into()
}

/// Where the event of the last use of the block around an address is; null
/// for none.
#[unsafe(no_mangle)]
extern "C" fn leakscope_used_at(pointer: usize) -> *const AtomicU32 {
    used(pointer).map_or(core::ptr::null(), core::ptr::from_ref)
}

/// A pointer in memory is replaced by `new`; what instrumented code did
/// not do itself. Returns the clock, here and below.
#[unsafe(no_mangle)]
extern "C" fn leakscope_overwritten(
    old: usize,
    site: usize,
    _: usize,
    _: usize,
    frame: usize,
    new: usize,
) -> u64 {
    leakscope_dies(old, site, new, 0, frame, 0)
}

/// A local dies that got its value at `since`.
#[unsafe(no_mangle)]
extern "C" fn leakscope_ends(old: usize, site: usize, _: usize, _: usize, frame: usize, since: u64) -> u64 {
    leakscope_dies(old, site, 0, 0, frame, since)
}

/// The same, where `kept` takes its place or stays behind. If no pointer to
/// the block died since it got its value, what it was got from still holds
/// the block.
#[unsafe(no_mangle)]
extern "C" fn leakscope_dies(
    old: usize,
    site: usize,
    kept: usize,
    place: u64,
    frame: usize,
    since: u64,
) -> u64 {
    let (thread, caller) = (this_thread(), Caller { frame });
    let stamps = at(old).filter(|stamps| stamps.time() > since);
    if let Some(stamps) = stamps.filter(|_| !is_one_block(old, kept)) {
        let event = events::number(thread, caller, What::at(site, place));
        put(thread, old, stamps, event, caller);
    }
    thread.clock
}

/// Whether two addresses lead to one block; of a large one, to one chunk:
/// a stamp of a pointer that goes on is one too many, but never the last.
fn is_one_block(old: usize, new: usize) -> bool {
    at(old).zip(at(new)).is_some_and(|(old, new)| core::ptr::eq(old, new))
}

/// Memory dies, or is about to be overwritten, as a whole. With a place,
/// all of it dies there; else each pointer's place is its offset.
///
/// # Safety
/// The bytes are readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn leakscope_range_dies(start: usize, bytes: usize, site: usize, place: u64, frame: usize) {
    let caller = Caller { frame };
    // SAFETY: as the caller says.
    unsafe { range_dies(start, bytes, caller, What::at(site, place)) };
}

/// # Safety
/// The bytes are readable.
unsafe fn range_dies(start: usize, bytes: usize, caller: Caller, what: What) {
    // SAFETY: as the caller says.
    let mut pointers = unsafe { pointers(start, start.saturating_add(bytes)) }.peekable();
    if pointers.peek().is_none() {
        return;
    }
    let thread = this_thread();
    // SAFETY: a site of the module that called.
    let has_fields = unsafe { (*(what.site as *const wire::Descriptor)).fields } != 0;
    let leads_inside = |word: usize| heap::innermost(word).is_some_and(|block| block.start != word);
    // Of several pointers to one block, one to its start is meant: the last.
    let inner = pointers.clone().filter(|&(_, word)| leads_inside(word));
    for (at, word) in inner.chain(pointers.filter(|&(_, word)| !leads_inside(word))) {
        let offset = (at - start) as u64;
        let place = match what.place {
            0 if has_fields => offset,
            line if has_fields && line & wire::PLACE_IS_LINE != 0 => line | wire::place_of_field(offset),
            place => place,
        };
        thread.dying = at;
        stamp(thread, word, caller, What::at(what.site, place));
        thread.dying = 0;
    }
}

/// A result that nothing keeps: a block that was born, or of which a
/// pointer died, since it was asked for, and of which none died after
/// `until`: that was the better place.
#[unsafe(no_mangle)]
extern "C" fn leakscope_drop(pointer: usize, site: usize, since: u64, until: u64, frame: usize) {
    let caller = Caller { frame };
    if of_pointer(pointer).is_some_and(|stamps| stamps.time() > since) {
        stamp_since(this_thread(), pointer, until, caller, What::at(site, 0));
    }
}

/// Before a call that may overwrite so many bytes.
#[unsafe(no_mangle)]
extern "C" fn __leakscope_watch(start: usize, bytes: usize) -> usize {
    let thread = this_thread();
    let clock = thread.clock;
    let stack = thread.stack_low..thread.stack_high;
    events::own_tables(thread).map_or(0, |tables| tables.watches.watch(clock, start, bytes, stack))
}

/// The same for memory of which so many `iovec` tell.
///
/// # Safety
/// So many are readable, or there is no memory at the address.
#[unsafe(no_mangle)]
unsafe extern "C" fn __leakscope_watch_parts(parts: usize, count: usize) -> usize {
    let thread = this_thread();
    let clock = thread.clock;
    let stack = thread.stack_low..thread.stack_high;
    let parts = match parts.is_multiple_of(align_of::<libc::iovec>()) && count <= libc::UIO_MAXIOV as usize {
        // SAFETY: as the caller says.
        true if parts >= sys::PAGE => unsafe {
            core::slice::from_raw_parts(parts as *const libc::iovec, count)
        },
        _ => &[],
    };
    events::own_tables(thread).map_or(0, |tables| tables.watches.watch_parts(clock, parts, stack))
}

/// After it.
#[unsafe(no_mangle)]
extern "C" fn leakscope_check(token: usize, site: usize, frame: usize) {
    let caller = Caller { frame };
    let thread = this_thread();
    if let Some(tables) = events::own_tables(thread) {
        tables.watches.check(thread, token, site, caller);
    }
}

/// Memory on the stack ends if it lies below `limit`, or always without
/// one. Returns what is left of it.
///
/// # Safety
/// The bytes are readable, or there are none.
#[unsafe(no_mangle)]
unsafe extern "C" fn leakscope_restored(
    start: usize,
    bytes: usize,
    site: usize,
    place: u64,
    limit: usize,
    frame: usize,
) -> usize {
    let caller = Caller { frame };
    if start == 0 || limit != 0 && start >= limit {
        return start;
    }
    // SAFETY: as the caller says.
    unsafe { range_dies(start, bytes, caller, What::at(site, place)) };
    0
}

fn this_thread() -> &'static mut Thread {
    // SAFETY: the thread's own state; nothing of the program's runs while
    // it is used.
    unsafe { &mut *thread::current() }
}
