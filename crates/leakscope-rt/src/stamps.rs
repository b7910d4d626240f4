//! Deaths of pointers, kept with the block that they pointed to.
//!
//! Instrumented code reports each pointer into the heap that is overwritten,
//! goes out of scope or is dropped; freed blocks are searched here for the
//! pointers that die with them. A block keeps the latest few. Which of all
//! stamps is the leak point is decided elsewhere, from the record.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use leakscope_wire::{self as wire, followed};

use crate::arena::CHUNK;
use crate::events::{self, What};
use crate::heap::{self, Block};
#[cfg(feature = "executable")]
use crate::left;
use crate::pointers::pointers;
use crate::size_class::SMALL_MAX;
#[cfg(feature = "executable")]
use crate::thread;
use crate::thread::Thread;
use crate::walk::Caller;
use crate::{activations, arena, caller, details, mode, moments, pools, uses};

/// What is kept for each block; instrumented code writes it too. Zero bytes
/// are where no live block is.
#[repr(C)]
pub struct Stamps {
    /// Time and event of the latest.
    latest: AtomicU64,
    /// Events of those before it, the latest in the lowest bits.
    earlier: AtomicU64,
}

const EVENT_BITS: u32 = followed::EVENT_BITS;
const EVENT: u64 = (1 << EVENT_BITS) - 1;
const _: () = assert!(size_of::<Stamps>() == 16);

/// How far any thread's clock has come, now and then.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// The stamps of the block that `pointer` points into, if it is live: they
/// have a time from its birth on.
#[inline(always)]
fn of_pointer(pointer: usize) -> Option<&'static Stamps> {
    at(pointer).filter(|stamps| stamps.time() != 0)
}

#[inline(always)]
fn at(pointer: usize) -> Option<&'static Stamps> {
    let stamps = place_of(pointer)?;
    if stamps.latest.load(Ordering::Relaxed) == ELSEWHERE { of_part(pointer) } else { Some(stamps) }
}

/// In place of the latest: blocks of pools lie there, which have their stamps
/// with their entries. The time is such that instrumented code asks us.
const ELSEWHERE: u64 = ((1 << 38) - 1) << EVENT_BITS;
const _: () = assert!(((ELSEWHERE >> EVENT_BITS) + 1).is_multiple_of(followed::TICKS));

#[cold]
fn of_part(pointer: usize) -> Option<&'static Stamps> {
    place_of(heap::entry_of(pools::find(pointer)?))
}

/// Blocks of pools lie in this memory from now on, or no more.
pub fn cover(start: usize, bytes: usize) {
    for granule in (start & !15..start + bytes).step_by(16) {
        if let Some(stamps) = place_of(granule) {
            let is_covered = [granule, granule + 8].iter().any(|&half| pools::find(half).is_some());
            stamps.latest.store(if is_covered { ELSEWHERE } else { 0 }, Ordering::Relaxed);
        }
    }
}

#[inline(always)]
fn place_of(pointer: usize) -> Option<&'static Stamps> {
    // SAFETY: committed with the chunk, and readable before; atomics, for
    // which zero is valid.
    arena::stamps_at(pointer).map(|address| unsafe { &*(address as *const Stamps) })
}

/// All stamps of a block: one, or one for each chunk of a large one.
/// Where pools have blocks, one for each 16 bytes.
fn of_block(block: Block) -> impl Iterator<Item = &'static Stamps> {
    let (first, step) = match block.room {
        _ if heap::is_part(block) => (block.start, block.room.max(1)),
        _ if heap::has_parts(block) => (block.start & !15, 16),
        room if room > SMALL_MAX => (block.start, CHUNK),
        room => (block.start, room.max(1)),
    };
    (first..block.start + block.room).step_by(step).filter_map(at)
}

impl Stamps {
    /// Of the latest; 0 if the block is not live.
    #[inline(always)]
    fn time(&self) -> u64 {
        self.latest.load(Ordering::Relaxed) >> EVENT_BITS
    }

    #[inline(always)]
    fn begin(&self, time: u64) {
        self.latest.store(time << EVENT_BITS, Ordering::Relaxed);
        self.earlier.store(0, Ordering::Relaxed);
    }
}

/// Times are comparable between threads where one has seen the other's work:
/// a stamp is later than those before it on the same block, and than what the
/// thread did before. What most stamps need of this is in instrumented code.
#[inline(always)]
fn put(thread: &mut Thread, pointer: usize, stamps: &Stamps, event: u32, caller: Caller) {
    if mode::is_selective() {
        watch(thread, pointer, event, caller);
    }
    // Relaxed: what two threads stamp at the same time has no order.
    let latest = stamps.latest.load(Ordering::Relaxed);
    let time = thread.clock.max(latest >> EVENT_BITS) + 1;
    thread.clock = time;
    if time.is_multiple_of(followed::TICKS) {
        thread.clock = CLOCK.fetch_max(time, Ordering::Relaxed).max(time);
        uses::earn();
    }
    let (before, event) = (latest & EVENT, if event >> EVENT_BITS == 0 { u64::from(event) } else { 0 });
    if before != event {
        let earlier = stamps.earlier.load(Ordering::Relaxed);
        stamps.earlier.store(earlier << EVENT_BITS | before, Ordering::Relaxed);
    }
    stamps.latest.store(time << EVENT_BITS | event, Ordering::Relaxed);
}

/// For a run that looks at more than the latest deaths.
#[cold]
fn watch(thread: &mut Thread, pointer: usize, event: u32, caller: Caller) {
    let at = core::mem::take(&mut thread.dying);
    let Some(slot) = heap::slot_at(pointer) else { return };
    if moments::are_counted() {
        moments::stamped(slot, caller.returns_to());
    }
    if details::are_kept() {
        details::died(slot, at, event);
    }
}

/// A pointer to a live block dies.
#[inline(always)]
pub fn stamp(thread: &mut Thread, pointer: usize, caller: Caller, what: What) {
    if let Some(stamps) = of_pointer(pointer) {
        let event = events::number(thread, caller, what);
        put(thread, pointer, stamps, event, caller);
    }
}

/// The same, unless it was stamped since a moment.
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
pub fn stamp_since(thread: &mut Thread, pointer: usize, since: u64, caller: Caller, what: What) {
    if let Some(stamps) = of_pointer(pointer)
        && stamps.time() <= since
    {
        let event = events::number(thread, caller, what);
        put(thread, pointer, stamps, event, caller);
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
        put(thread, pointer, stamps, event(), caller!());
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
pub fn begin(thread: &mut Thread, start: usize) {
    let Some(stamps) = at(start) else { return };
    thread.clock += 1;
    stamps.begin(thread.clock);
    if start.is_multiple_of(CHUNK) {
        begin_large(start, thread.clock);
    }
    if pools::are_used() {
        begin_among_parts(start, thread.clock);
    }
    if uses::are_wanted()
        && let Some(used) = used(start)
    {
        used.store(0, Ordering::Relaxed);
    }
}

/// The rest of a block where pools have blocks, or of one of these.
#[cold]
fn begin_among_parts(start: usize, time: u64) {
    if let Some(block) = heap::innermost(start).filter(|block| heap::has_parts(*block)) {
        of_block(block).for_each(|stamps| stamps.begin(time));
    }
}

/// The rest of a block, if it is a large one.
#[cold]
fn begin_large(start: usize, time: u64) {
    if let Some(block) = heap::find(start) {
        of_block(block).filter(|stamps| stamps.time() == 0).for_each(|stamps| stamps.begin(time));
    }
}

/// A block was made larger or smaller at its place, where it had `before`
/// bytes of room.
pub fn resized(start: usize, before: usize) {
    let (Some(stamps), Some(block)) = (at(start), heap::find(start)) else { return };
    let gone = Block { start: start + block.room, room: before.saturating_sub(block.room), ..block };
    if gone.room > 0 {
        end(gone);
    }
    begin_large(start, stamps.time());
}

/// A chunk gets blocks of pools: from now on it has stamps by 16 bytes, each with
/// what was known of the block around it.
pub fn split(chunk: usize) {
    if !arena::is_followed() {
        return;
    }
    let first = arena::address_of(chunk);
    let known = |address: usize| {
        place_of(address).map(|stamps| [&stamps.latest, &stamps.earlier].map(|it| it.load(Ordering::Relaxed)))
    };
    // From the last on: stamps move to where there are more of them.
    let granule = followed::SPLIT;
    let mut address = first + CHUNK;
    while address > first {
        address -= 16;
        let Some(words) = known(address) else { continue };
        let place = arena::stamps_by(address, granule);
        // SAFETY: a stamp of the chunk's.
        let stamps = unsafe { &*(place as *const Stamps) };
        stamps.latest.store(words[0], Ordering::Relaxed);
        stamps.earlier.store(words[1], Ordering::Relaxed);
    }
    arena::set_step(chunk, granule, None);
}

/// Whether the block is followed.
pub fn are_kept(block: Block) -> bool {
    of_pointer(block.start).is_some()
}

/// A block is freed.
#[inline(always)]
pub fn end(block: Block) {
    if block.room <= SMALL_MAX && !pools::are_used() {
        if let Some(stamps) = at(block.start) {
            stamps.latest.store(0, Ordering::Relaxed);
        }
    } else {
        of_block(block).for_each(|stamps| stamps.latest.store(0, Ordering::Relaxed));
    }
}

/// The event of the last use of the block around an address.
fn used(pointer: usize) -> Option<&'static AtomicU32> {
    // SAFETY: committed with the block.
    heap::slot_at(pointer).filter(|_| arena::is_followed()).map(|slot| unsafe { &*arena::use_of(slot) })
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
    if !arena::is_followed() || size > mode::searched_max() {
        return;
    }
    let site = if site == 0 { (&raw const HOLDER_FREED) as usize } else { site };
    // Of several pointers to one block the first is meant: `start`, not `end`.
    // SAFETY: a block that the caller gives up.
    for (address, word) in unsafe { pointers(block.start + offset, block.start + size) }.rev() {
        thread.dying = address;
        holder_dies(thread, word, caller, What::freed(site, (address - block.start) as u64));
        thread.dying = 0;
        // SAFETY: as above.
        unsafe { *(address as *mut usize) = 0 };
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

/// What a record says of a block: of a large one, the stamps of the chunk that
/// was pointed to last.
pub fn read(block: Block) -> wire::Stamps {
    let latest = |stamps: &Stamps| stamps.latest.load(Ordering::Relaxed);
    let Some(stamps) = of_block(block).max_by_key(|&stamps| latest(stamps)) else {
        return wire::Stamps::default();
    };
    if !are_kept(block) {
        return wire::Stamps { last_used: wire::NOT_FOLLOWED, ..wire::Stamps::default() };
    }
    let (latest, earlier) = (latest(stamps), stamps.earlier.load(Ordering::Relaxed));
    wire::Stamps {
        time: latest >> EVENT_BITS,
        stacks: [latest, earlier, earlier >> EVENT_BITS].map(|event| (event & EVENT) as u32),
        last_used: used(block.start).map(|used| used.load(Ordering::Relaxed)).filter(is_known).unwrap_or(0),
    }
}

fn is_known(event: &u32) -> bool {
    *event < followed::IS_PLACE || activations::numbers().contains(event)
}

/// The site of a free that instrumented code did not announce.
pub static HOLDER_FREED: wire::Descriptor = {
    let site = wire::Site { frame: wire::BEHIND_ARGUMENT, ..wire::Site::of(wire::Cause::HolderFreed) };
    wire::Descriptor { site, bytes: 0, fields: 0 }
};

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
    keeping_registers!("__leakscope_returns", "leakscope_returns", "r8", "push rax", "pop rax");
    keeping_registers!("__leakscope_unwound", "leakscope_unwound", "rdx", "push rax", "pop rax");
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
                    what: What::at(&raw const THREAD_END as usize, 0),
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
    unsafe extern "C" fn __leakscope_emptied(start: usize, end: usize, site: usize) {
        let caller = caller!();
        if !arena::is_followed() {
            return;
        }
        // SAFETY: as the caller says.
        for (address, word) in unsafe { pointers(start, end) } {
            stamp(this_thread(), word, caller, What::at(site, 0));
            // SAFETY: as above.
            unsafe { *(address as *mut usize) = 0 };
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
    extern "C" fn leakscope_ends(
        old: usize,
        site: usize,
        _: usize,
        _: usize,
        frame: usize,
        since: u64,
    ) -> u64 {
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
    unsafe extern "C" fn leakscope_range_dies(
        start: usize,
        bytes: usize,
        site: usize,
        place: u64,
        frame: usize,
    ) {
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
        unsafe { range_dies(start, bytes, caller, What::at(site, place)) };
        0
    }

    fn this_thread() -> &'static mut Thread {
        // SAFETY: the thread's own state; nothing of the program's runs while
        // it is used.
        unsafe { &mut *thread::current() }
    }
}
