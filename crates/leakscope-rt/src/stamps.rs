//! Deaths of pointers, kept with the block that they pointed to.
//!
//! Instrumented code reports each pointer into the heap that is overwritten,
//! goes out of scope or is dropped; freed blocks are searched here for the
//! pointers that die with them. A block keeps the latest few. Which of all
//! stamps is the leak point is decided elsewhere, from the record.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use leakscope_wire as wire;

use crate::events::{self, What};
use crate::heap::{self, Block};
#[cfg(feature = "executable")]
use crate::left;
#[cfg(feature = "executable")]
use crate::thread;
use crate::thread::Thread;
use crate::walk::Caller;
use crate::{arena, caller, details, mode, moments, uses};

/// What is kept for each block. Zero bytes are an untouched one.
#[repr(C)]
pub struct Stamps {
    /// Time (38 bits) and event (26) of the latest.
    latest: AtomicU64,
    /// Events of those before it, latest first.
    earlier: [AtomicU32; 2],
    used: AtomicU32,
    /// Pointers to it that died before and are still there to be overwritten.
    stale: AtomicU32,
}

const EVENT_BITS: u32 = 26;
const _: () = assert!(size_of::<Stamps>() == arena::STAMPS);

/// How far any thread's clock has come, now and then.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// A block's stamps, if it can have any.
#[inline(always)]
fn of(slot: u64) -> Option<&'static Stamps> {
    let base = arena::stamps();
    // SAFETY: committed together with the block's chunk; atomics, for which
    // zero is valid.
    (base != 0).then(|| unsafe { &*((base + slot as usize * arena::STAMPS) as *const Stamps) })
}

/// The stamps of the live block that `pointer` points into: they have a time
/// from its birth on.
#[inline(always)]
fn of_pointer(pointer: usize) -> Option<&'static Stamps> {
    of(heap::slot_at(pointer)?).filter(|stamps| stamps.time() != 0)
}

impl Stamps {
    /// Of the latest; 0 if the block is not live.
    #[inline(always)]
    fn time(&self) -> u64 {
        self.latest.load(Ordering::Relaxed) >> EVENT_BITS
    }

    /// Whether a pointer in memory that is overwritten may be one that died
    /// before: it is none any more.
    #[cfg_attr(not(feature = "executable"), allow(dead_code))]
    #[inline(always)]
    fn takes_stale(&self) -> bool {
        let stale = self.stale.load(Ordering::Relaxed);
        self.stale.store(stale.saturating_sub(1), Ordering::Relaxed);
        stale != 0
    }
}

/// Memory that holds the pointer is used again, and nobody cleared it: when it
/// is overwritten, that is no death.
pub fn leave_stale(pointer: usize) {
    if let Some(stamps) = of_pointer(pointer) {
        stamps.stale.fetch_add(1, Ordering::Relaxed);
    }
}

/// Times are comparable between threads where one has seen the other's work:
/// a stamp is later than those before it on the same block, and than what the
/// thread did before.
#[inline(always)]
fn put(thread: &mut Thread, stamps: &Stamps, event: u32, caller: Caller) {
    if mode::is_selective() {
        watch(stamps, event, caller);
    }
    // Relaxed: what two threads stamp at the same time has no order.
    let latest = stamps.latest.load(Ordering::Relaxed);
    let time = thread.clock.max(latest >> EVENT_BITS) + 1;
    thread.clock = time;
    if time.is_multiple_of(1024) {
        thread.clock = CLOCK.fetch_max(time, Ordering::Relaxed).max(time);
        uses::earn();
    }
    let before = (latest & ((1 << EVENT_BITS) - 1)) as u32;
    if before != event && before != 0 {
        let [first, second] = &stamps.earlier;
        second.store(first.load(Ordering::Relaxed), Ordering::Relaxed);
        first.store(before, Ordering::Relaxed);
    }
    let event = if event >> EVENT_BITS == 0 { u64::from(event) } else { 0 };
    stamps.latest.store(time << EVENT_BITS | event, Ordering::Relaxed);
}

/// For a run that looks at more than the latest deaths.
#[cold]
fn watch(stamps: &Stamps, event: u32, caller: Caller) {
    let slot = ((&raw const *stamps) as usize - arena::stamps()) / arena::STAMPS;
    if moments::are_counted() {
        moments::stamped(slot as u64, caller.returns_to());
    }
    if details::are_kept() {
        details::died(slot as u64, event);
    }
}

/// A pointer to a live block dies.
#[inline(always)]
pub fn stamp(thread: &mut Thread, pointer: usize, caller: Caller, what: What) {
    if let Some(stamps) = of_pointer(pointer) {
        let event = events::number(thread, caller, what);
        put(thread, stamps, event, caller);
    }
}

/// The same, unless it was stamped since a moment.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
pub fn stamp_since(thread: &mut Thread, pointer: usize, since: u64, caller: Caller, what: What) {
    if let Some(stamps) = of_pointer(pointer)
        && stamps.time() <= since
    {
        let event = events::number(thread, caller, what);
        put(thread, stamps, event, caller);
    }
}

/// A pointer died in an event of before, if the time of the block's latest
/// stamp is as wanted.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
pub fn stamp_if(
    thread: &mut Thread,
    pointer: usize,
    is_wanted: impl FnOnce(u64) -> bool,
    event: impl FnOnce() -> u32,
) {
    if let Some(stamps) = of_pointer(pointer).filter(|stamps| is_wanted(stamps.time())) {
        put(thread, stamps, event(), caller!());
    }
}

/// For a thread that starts: it comes after what was done so far.
pub fn start_clock(thread: &mut Thread) {
    thread.clock = CLOCK.load(Ordering::Relaxed).max(thread.clock);
}

/// Brings the clock forward before others may depend on what this thread did.
pub fn publish_clock(thread: &mut Thread) {
    thread.clock = CLOCK.fetch_max(thread.clock, Ordering::Relaxed).max(thread.clock);
}

/// A block begins its life. Its birth counts as a stamp, of no event: what got
/// its value after it, and sees no other stamp, borrows.
#[inline(always)]
pub fn begin(thread: &mut Thread, slot: u64) {
    if let Some(stamps) = of(slot) {
        thread.clock += 1;
        stamps.latest.store(thread.clock << EVENT_BITS, Ordering::Relaxed);
        stamps.earlier.iter().for_each(|event| event.store(0, Ordering::Relaxed));
        stamps.used.store(0, Ordering::Relaxed);
        stamps.stale.store(0, Ordering::Relaxed);
    }
}

/// Whether the block is followed.
pub fn are_kept(block: Block) -> bool {
    of(block.slot).is_some_and(|stamps| stamps.time() != 0)
}

/// A block is freed.
#[inline(always)]
pub fn end(block: Block) {
    if let Some(stamps) = of(block.slot) {
        stamps.latest.store(0, Ordering::Relaxed);
    }
}

/// Stamps what the pointers in `block` from `offset` on point to, because
/// that part of it is freed, and clears them: else they would stamp again
/// when the memory is used for something else.
#[inline]
pub fn holder_freed(thread: &mut Thread, block: Block, offset: usize, caller: Caller) {
    let mut site = core::mem::take(&mut thread.site);
    if thread.cleaning != 0 {
        site = thread.cleaning;
    }
    let size = block.size();
    if arena::stamps() == 0 || size > mode::searched_max() {
        return;
    }
    let range = arena::range();
    for at in (offset.next_multiple_of(8)..size & !7).step_by(8) {
        let slot = (block.start + at) as *mut usize;
        // SAFETY: inside a block that the caller gives up.
        let word = unsafe { *slot };
        if range.contains(&word) {
            let site = if site == 0 { (&raw const HOLDER_FREED) as usize } else { site };
            holder_dies(thread, word, caller, What { site, place: at as u64 });
            // SAFETY: as above.
            unsafe { *slot = 0 };
        }
    }
}

/// What a freed block held dies with it, or where an exception was thrown on
/// whose way it is freed.
#[inline(always)]
fn holder_dies(thread: &mut Thread, word: usize, caller: Caller, what: What) {
    #[cfg(feature = "executable")]
    // SAFETY: a site of the module that freed it, or of ours.
    if unsafe { (*(what.site as *const wire::Descriptor)).site.cause } == wire::Cause::Unwound as u32
        && let Some(stack) = left::thrown(thread)
    {
        return stamp_if(thread, word, |_| true, || events::of_stack(stack, what));
    }
    stamp(thread, word, caller, what);
}

/// What a record says of a block.
pub fn read(block: Block) -> wire::Stamps {
    let Some(stamps) = of(block.slot) else { return wire::Stamps::default() };
    let latest = stamps.latest.load(Ordering::Relaxed);
    if !are_kept(block) {
        return wire::Stamps { last_used: wire::NOT_FOLLOWED, ..wire::Stamps::default() };
    }
    let [first, second] = &stamps.earlier;
    wire::Stamps {
        time: latest >> EVENT_BITS,
        stacks: [
            (latest & ((1 << EVENT_BITS) - 1)) as u32,
            first.load(Ordering::Relaxed),
            second.load(Ordering::Relaxed),
        ],
        last_used: stamps.used.load(Ordering::Relaxed),
    }
}

/// The site of a free that instrumented code did not announce.
pub static HOLDER_FREED: wire::Descriptor =
    wire::Descriptor { site: wire::Site::of(wire::Cause::HolderFreed), bytes: 0, fields: 0 };

/// What instrumented code calls.
#[cfg(feature = "executable")]
mod entry {
    use super::*;
    use crate::ends::Exit;
    use crate::entry::keeping_registers;
    use crate::walk;

    /// `pthread_exit` was called; the line is the frame's.
    static THREAD_END: wire::Descriptor =
        wire::Descriptor { site: wire::Site::of(wire::Cause::ThreadEnd), bytes: 0, fields: 0 };

    keeping_registers!("__leakscope_stamp", "leakscope_stamp", "r9", "sub rsp, 8", "add rsp, 8");
    keeping_registers!("__leakscope_use", "leakscope_use", "rsi", "push rax", "pop rax");
    keeping_registers!("__leakscope_range_dies", "leakscope_range_dies", "r8", "sub rsp, 8", "add rsp, 8");
    keeping_registers!("__leakscope_restored", "leakscope_restored", "r9", "sub rsp, 8", "add rsp, 8");
    keeping_registers!("__leakscope_drop", "leakscope_drop", "r8", "sub rsp, 8", "add rsp, 8");
    keeping_registers!("__leakscope_shrinks", "leakscope_shrinks", "rcx", "sub rsp, 8", "add rsp, 8");
    keeping_registers!("__leakscope_returns", "leakscope_returns", "r8", "sub rsp, 8", "add rsp, 8");
    keeping_registers!("__leakscope_unwound", "leakscope_unwound", "rdx", "sub rsp, 8", "add rsp, 8");
    keeping_registers!("__leakscope_check", "leakscope_check", "rdx", "sub rsp, 8", "add rsp, 8");

    // Keeps what only registers hold where it can be searched.
    core::arch::global_asm!(
        ".globl __leakscope_leaves",
        ".type __leakscope_leaves,@function",
        "__leakscope_leaves:",
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
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
                    what: What { site: &raw const THREAD_END as usize, place: 0 },
                    value: 0,
                };
                thread.stack_high
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
        let (thread, range) = (this_thread(), arena::range());
        let Some(block) = heap::find(new).filter(|block| old <= block.start + block.room) else { return };
        if arena::stamps() == 0 || block.size() > mode::searched_max() {
            return;
        }
        for at in (new.next_multiple_of(8)..old & !7).step_by(8) {
            let slot = at as *mut usize;
            // SAFETY: within a live block, and nobody's.
            let word = unsafe { *slot };
            if range.contains(&word) {
                stamp(thread, word, Caller { frame }, What { site, place: 0 });
                // SAFETY: as above.
                unsafe { *slot = 0 };
            }
        }
    }

    /// A function returns `value` from further out than any before.
    #[unsafe(no_mangle)]
    extern "C" fn leakscope_returns(outer: usize, site: usize, place: u64, value: usize, frame: usize) {
        let thread = this_thread();
        thread.outer = outer;
        if arena::stamps() != 0 {
            let stack = walk::stack(thread, Caller { frame });
            thread.exit = Exit { stack, what: What { site, place }, value };
        }
    }

    /// A pointer dies in a frame that an exception leaves: where it was thrown.
    #[unsafe(no_mangle)]
    extern "C" fn leakscope_unwound(pointer: usize, site: usize, frame: usize) {
        let (thread, what) = (this_thread(), What { site, place: 0 });
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
    extern "C" fn leakscope_use(pointer: usize, frame: usize) {
        let thread = this_thread();
        uses::spend(thread);
        if let Some(stamps) = of_pointer(pointer) {
            let event = events::number(thread, Caller { frame }, What::CALL);
            stamps.used.store(event, Ordering::Relaxed);
        }
    }

    /// The pointer `old` dies, and `kept` takes its place or stays behind: one
    /// into the same block, as in `p++`, makes it no death. Returns the clock.
    /// Where a local goes on in its block, the clock does too: the value that
    /// took its place was got before, and may be the only one.
    #[unsafe(no_mangle)]
    extern "C" fn leakscope_stamp(
        old: usize,
        site: usize,
        place: u64,
        kept: usize,
        is_local: u64,
        frame: usize,
    ) -> u64 {
        let thread = this_thread();
        let Some(slot) = heap::slot_at(old) else { return thread.clock };
        if kept != 0 && heap::slot_at(kept) == Some(slot) {
            thread.clock += is_local;
        } else if let Some(stamps) = of(slot)
            && stamps.time() != 0
            && !(is_local == 0 && stamps.takes_stale())
        {
            let caller = Caller { frame };
            let event = events::number(thread, caller, What { site, place });
            put(thread, stamps, event, caller);
        }
        thread.clock
    }

    /// Memory dies, or is about to be overwritten, as a whole. With a place,
    /// all of it dies there; else each pointer's place is its offset.
    ///
    /// # Safety
    /// The bytes are readable.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn leakscope_range_dies(
        start: usize,
        bytes: usize,
        site: usize,
        place: u64,
        frame: usize,
    ) {
        let caller = Caller { frame };
        // SAFETY: as the caller says.
        unsafe { range_dies(start, bytes, caller, What { site, place }) };
    }

    /// # Safety
    /// The bytes are readable.
    unsafe fn range_dies(start: usize, bytes: usize, caller: Caller, what: What) {
        let (thread, range) = (this_thread(), arena::range());
        // SAFETY: a site of the module that called.
        let has_fields = unsafe { (*(what.site as *const wire::Descriptor)).fields } != 0;
        let (mut at, end) = (start.next_multiple_of(8), start.wrapping_add(bytes));
        while at.wrapping_add(8) <= end {
            // SAFETY: within the memory that the caller says.
            let word = unsafe { core::ptr::read_volatile(at as *const usize) };
            if range.contains(&word) && of_pointer(word).is_some_and(|stamps| !stamps.takes_stale()) {
                let place = if what.place == 0 && has_fields { (at - start) as u64 } else { what.place };
                stamp(thread, word, caller, What { place, ..what });
            }
            at += 8;
        }
    }

    /// A result that nothing keeps: a block that was born, or of which a
    /// pointer died, since it was asked for, and of which none died after
    /// `until`: that was the better place.
    #[unsafe(no_mangle)]
    extern "C" fn leakscope_drop(pointer: usize, site: usize, since: u64, until: u64, frame: usize) {
        let caller = Caller { frame };
        if of_pointer(pointer).is_some_and(|stamps| stamps.time() > since) {
            stamp_since(this_thread(), pointer, until, caller, What { site, place: 0 });
        }
    }

    /// Before a call that may overwrite so many bytes.
    #[unsafe(no_mangle)]
    extern "C" fn __leakscope_watch(start: usize, bytes: usize) -> usize {
        let thread = this_thread();
        let clock = thread.clock;
        events::own_tables(thread).map_or(0, |tables| tables.watches.watch(clock, start, bytes))
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
        unsafe { range_dies(start, bytes, caller, What { site, place }) };
        0
    }

    fn this_thread() -> &'static mut Thread {
        // SAFETY: the thread's own state; nothing of the program's runs while
        // it is used.
        unsafe { &mut *thread::current() }
    }
}
