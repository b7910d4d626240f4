//! The life of the process: threads, signals, system calls, fork, end, and the
//! records written on the way.

use core::ffi::c_char;

use leakscope_wire::{self as wire, Cause, FaultKind, Reason};

use crate::events::{RED_ZONE, aligned_words};
use crate::heap::{NOWHERE, Point};
use crate::ir::REGISTERS;
use crate::list::List;
use crate::memory::Single;
use crate::record::{self, Occasion};
use crate::tool::{self, OPTIONS};
use crate::{heap, modules, pools, stamps, vg};

struct Life {
    /// Raised by each fork: a child does not count what it inherited.
    epoch: u16,
    /// Records written by this process.
    sequence: u32,
    /// When the last snapshot was taken, in milliseconds.
    snapshot: u32,
    /// Where the program's data segment ends.
    data_end: usize,
    ended: bool,
    /// A thread that ends by itself, not with the process.
    leaving: u32,
}

static LIFE: Single<Life> =
    Single::new(Life { epoch: 1, sequence: 0, snapshot: 0, data_end: 0, ended: false, leaving: 0 });

/// Threads that the end of the process stopped.
pub static STOPPED: Single<List<AtWork>> = Single::new(List::new());

/// A thread that has not ended.
#[derive(Clone, Copy)]
pub struct AtWork {
    pub number: vg::ThreadId,
    pub registers: [usize; 16],
    /// Where its stack ends.
    pub stack_end: usize,
    /// Where its control block is.
    pub pointer: usize,
    /// Just behind the instruction that it is at.
    pub instruction: u64,
}

impl AtWork {
    pub fn new(number: vg::ThreadId) -> AtWork {
        let word = |offset| guest_word(number, offset);
        AtWork {
            number,
            registers: registers_of(number),
            // SAFETY: a plain query about a thread that is there still.
            stack_end: unsafe { vg::vgPlain_thread_get_stack_max(number) } as usize,
            pointer: thread_pointer(number),
            instruction: word(core::mem::offset_of!(vg::VexGuestAMD64State, guest_RIP)) as u64 + 1,
        }
    }
}

pub fn epoch() -> u16 {
    LIFE.get().epoch
}

/// The last that Valgrind says.
pub unsafe extern "C" fn end(status: i32) {
    let life = LIFE.get();
    if !life.ended {
        write(Reason::Exit, status, None);
    }
}

fn write(reason: Reason, status: i32, fault: Option<wire::Fault>) {
    let life = LIFE.get();
    let Some(folder) = OPTIONS.get().folder else { return };
    let occasion = Occasion { reason, status, sequence: life.sequence, fault };
    life.sequence += 1;
    record::write(folder, &occasion);
}

/// Takes a snapshot if the time has come.
pub fn snapshot_if_due() {
    let every = OPTIONS.get().snapshot_every;
    if every == 0 {
        return;
    }
    // SAFETY: a plain query.
    let now = unsafe { vg::vgPlain_read_millisecond_timer() };
    let life = LIFE.get();
    if now.wrapping_sub(life.snapshot) >= every {
        life.snapshot = now;
        write(Reason::Snapshot, 0, None);
    }
}

/// A free of what is no live block: a record, then the end, as the program's
/// own allocator would.
pub fn fault(thread: vg::ThreadId, address: usize, kind: FaultKind) {
    let block = heap::at(address).filter(|block| block.is_live() || block.start == address);
    let context = tool::thread(thread as usize).calls.context();
    write(
        Reason::Fault,
        0,
        Some(wire::Fault {
            address: address as u64,
            block: block.as_ref().map_or(0, |block| block.start as u64),
            bytes: block.as_ref().filter(|block| block.is_live()).map_or(0, |block| block.bytes as u64),
            kind: kind as u32,
            stack: record::stack_of(context),
            allocated: block.as_ref().map_or(0, |block| record::stack_of(block.allocated)),
            freed: block.filter(|block| !block.is_live()).map_or(0, |block| record::stack_of(block.link)),
        }),
    );
    LIFE.get().ended = true;
    abort();
}

/// Ends the process as `abort` does.
fn abort() -> ! {
    const ABORT: i32 = 6;
    // SAFETY: sends the signal to ourselves with its default action, past
    // Valgrind's own handling.
    unsafe {
        let (pid, thread) = (vg::vgPlain_getpid(), vg::vgPlain_gettid());
        let default = [0_usize; 4];
        system_call(13, [ABORT as usize, &raw const default as usize, 0, 8]);
        let unblocked = 0_u64;
        system_call(14, [2, &raw const unblocked as usize, 0, 8]);
        // To this thread: another would get it while this one goes on.
        system_call(234, [pid as usize, thread as usize, ABORT as usize, 0]);
        vg::vgPlain_exit(128 + ABORT)
    }
}

/// A system call past Valgrind. Arguments that are not given are 0.
///
/// # Safety
/// As the system call's.
pub unsafe fn system_call<const N: usize>(number: usize, arguments: [usize; N]) -> isize {
    let result;
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: the caller's.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") number as isize => result, in("rdi") all[0],
            in("rsi") all[1], in("rdx") all[2], in("r10") all[3], in("r8") all[4], in("r9") all[5],
            lateout("rcx") _, lateout("r11") _);
    }
    result
}

/// The program is forked; this is the child.
pub unsafe extern "C" fn child_begins(_: vg::ThreadId) {
    let life = LIFE.get();
    life.epoch = life.epoch.wrapping_add(1);
    life.sequence = 0;
}

pub unsafe extern "C" fn thread_begins(_: vg::ThreadId, child: vg::ThreadId) {
    let thread = tool::thread(child as usize);
    thread.calls.clear();
    thread.dead = [0; 16];
}

/// A thread's control block is at most this far from its stack pointer, if it
/// is on its stack.
const STACK_MAX: usize = 256 << 20;

/// A thread has run its last instruction. If it left by itself, its stack and
/// its thread-local variables die; what libc keeps for the next thread behind
/// them does not. If the process ends, the thread was still at work.
pub unsafe extern "C" fn thread_ends(number: vg::ThreadId) {
    let thread = tool::thread(number as usize);
    let registers = registers_of(number);
    if LIFE.get().leaving != number {
        STOPPED.get().push(AtWork::new(number));
        return;
    }
    LIFE.get().leaving = 0;
    // SAFETY: plain queries about a thread that is there still.
    let (stack, highest) =
        unsafe { (vg::vgPlain_get_SP(number) as usize, vg::vgPlain_thread_get_stack_max(number) as usize) };
    let local = thread_pointer(number);
    let end = if (stack..stack + STACK_MAX).contains(&local) { local } else { highest };
    let here = || stamps::here(stamps::site_of_cause(Cause::ThreadEnd));
    let point = thread.end().unwrap_or_else(here);
    if stack < end && is_readable(stack, end) {
        stamps::stamp_and_clear(aligned_words(stack, end), point, |_| NOWHERE);
    }
    stamps::stamp_words(&registers, point);
    forget_control_block(local, point);
    thread.left = Point::default();
    thread.calls.clear();
}

/// What the function of a thread was called with stays in the control block,
/// which libc keeps for the next thread, and would hold whatever lies there by
/// then. So does its result, which the argument follows, but this may still be asked for.
fn forget_control_block(control_block: usize, point: Point) {
    /// Less than any control block of glibc's has.
    const BYTES: usize = 2048;
    let end = control_block.saturating_add(BYTES);
    if !is_readable(control_block, end) {
        return;
    }
    let words = aligned_words(control_block, end);
    let is_code = |word| modules::segment(word).is_some_and(|segment| segment.hasX != 0);
    let is_heap = crate::arena::is_within;
    if let Some(function) = words.windows(2).position(|pair| is_heap(pair[1]) && is_code(pair[0])) {
        words[function + 1] = 0;
    }
    // Between result and function there is a word about scheduling.
    let Some(result) = words.windows(3).position(|it| is_heap(it[0]) && !is_heap(it[1]) && is_code(it[2]))
    else {
        return;
    };
    // SAFETY: a plain query.
    let number = unsafe { vg::vgPlain_gettid() } as usize;
    if let Some(at) = words.iter().position(|word| word & 0xffff_ffff == number) {
        let value = words[result];
        let thread = (&raw const words[at]).cast();
        RESULTS.get().push(Result { at: &raw mut words[result], value, thread, point });
    }
}

/// What a thread that has ended returned.
#[derive(Clone, Copy)]
struct Result {
    at: *mut usize,
    value: usize,
    /// Where libc keeps the thread's number.
    thread: *const i32,
    /// Where the thread ended.
    point: Point,
}

static RESULTS: Single<List<Result>> = Single::new(List::new());

/// Results of threads that were joined: nobody can ask for them again.
pub fn forget_results() {
    /// In place of the number of a thread that was joined (glibc).
    const JOINED: i32 = -1;
    for result in RESULTS.get().iter() {
        let is_there = |address: usize| is_readable(address, address + 8);
        // SAFETY: the words are readable, if perhaps no longer a control block's.
        unsafe {
            if is_there(result.thread as usize)
                && is_there(result.at as usize)
                && *result.thread == JOINED
                && *result.at == result.value
            {
                *result.at = 0;
                stamps::stamp_words(&[result.value], result.point);
            }
        }
    }
}

fn registers_of(thread: vg::ThreadId) -> [usize; 16] {
    let mut registers = [0; 16];
    // SAFETY: sixteen general registers lie in a row; the buffer holds them.
    unsafe {
        vg::vgPlain_get_shadow_regs_area(
            thread,
            registers.as_mut_ptr().cast(),
            0,
            REGISTERS as i64,
            size_of_val(&registers) as u64,
        );
    }
    registers
}

/// Where the thread's control block is.
fn thread_pointer(thread: vg::ThreadId) -> usize {
    guest_word(thread, core::mem::offset_of!(vg::VexGuestAMD64State, guest_FS_CONST))
}

fn guest_word(thread: vg::ThreadId, offset: usize) -> usize {
    let mut pointer = 0_usize;
    // SAFETY: one word of the guest state.
    unsafe {
        vg::vgPlain_get_shadow_regs_area(thread, (&raw mut pointer).cast(), 0, offset as i64, 8);
    }
    pointer
}

/// A handler runs next, which nobody called.
pub unsafe extern "C" fn signal_begins(thread: vg::ThreadId, _: i32, _: vg::Bool) {
    tool::thread(thread as usize).calls.set_adrift();
}

pub unsafe extern "C" fn signal_ends(thread: vg::ThreadId, _: i32) {
    tool::thread(thread as usize).calls.set_adrift();
}

/// What the kernel put on the stack for a handler is of no use any more. The
/// registers that it kept are back.
pub unsafe extern "C" fn signal_frame_dies(start: vg::Addr, bytes: vg::SizeT) {
    let (start, end) = (start as usize, (start + bytes) as usize);
    if is_readable(start, end) {
        for word in aligned_words(start, end).iter_mut().filter(|word| crate::arena::is_within(**word)) {
            *word = 0;
        }
    }
}

mod calls {
    pub const MMAP: u32 = 9;
    pub const MPROTECT: u32 = 10;
    pub const MUNMAP: u32 = 11;
    pub const BRK: u32 = 12;
    pub const MREMAP: u32 = 25;
    pub const MADVISE: u32 = 28;
    pub const EXIT: u32 = 60;
}

/// Memory that a system call takes away dies; a module may go with it.
pub unsafe extern "C" fn before_system_call(
    thread: vg::ThreadId,
    number: vg::UInt,
    arguments: *mut vg::UWord,
    _: vg::UInt,
) {
    const FIXED: usize = 0x10;
    const DONTNEED: usize = 4;
    // SAFETY: Valgrind gives at least six arguments.
    let argument = |index: usize| unsafe { *arguments.add(index) as usize };
    let life = LIFE.get();
    let (start, bytes) = (argument(0), argument(1));
    if matches!(number, calls::MMAP | calls::MUNMAP | calls::MREMAP | calls::MPROTECT) {
        tool::for_each_thread(|thread| thread.mapped = (usize::MAX, 0));
    }
    match number {
        calls::MUNMAP => {
            dies(start, start.saturating_add(bytes));
            modules::before_unmapping(start, start.saturating_add(bytes));
        }
        calls::MMAP if argument(3) & FIXED != 0 => dies(start, start.saturating_add(bytes)),
        calls::MREMAP if argument(2) < bytes => {
            dies(start.saturating_add(argument(2)), start.saturating_add(bytes));
        }
        calls::MADVISE if argument(2) == DONTNEED => dies(start, start.saturating_add(bytes)),
        calls::BRK if start != 0 && start < life.data_end => dies(start, life.data_end),
        calls::EXIT => life.leaving = thread,
        _ => {}
    }
}

pub unsafe extern "C" fn after_system_call(
    _: vg::ThreadId,
    number: vg::UInt,
    _: *mut vg::UWord,
    _: vg::UInt,
    result: vg::SysRes,
) {
    if number == calls::BRK && result._isError == 0 {
        LIFE.get().data_end = result._val as usize;
    }
}

/// A system call is going to write to memory.
pub unsafe extern "C" fn system_writes(
    part: vg::CorePart,
    _: vg::ThreadId,
    _: *const c_char,
    start: vg::Addr,
    bytes: vg::SizeT,
) {
    if part == vg::Vg_CoreSysCall && bytes >= 8 {
        dies(start as usize, (start as usize).saturating_add(bytes as usize));
    }
}

/// Memory that is about to lose its content.
fn dies(start: usize, end: usize) {
    let point = stamps::here(stamps::site_of_cause(Cause::Overwritten));
    let mut at = start.next_multiple_of(8);
    while at < end {
        let Some(segment) = modules::segment(at) else { return };
        let until = end.min(segment.end as usize + 1);
        let program = segment.kind & (vg::SkAnonC | vg::SkShmC) != 0 && segment.hasW != 0;
        if program && segment.hasR != 0 && until > at {
            crate::scan::for_each_present(at, until, |words| stamps::stamp_written(words, point));
        }
        at = until.max(at + 8);
    }
}

fn is_readable(start: usize, end: usize) -> bool {
    const READ: u32 = 1;
    // SAFETY: a plain query.
    start < end
        && unsafe { vg::vgPlain_am_is_valid_for_client(start as u64, (end - start) as u64, READ) } != 0
}

/// Requests of `leakscope.h`, and of what is preloaded: `LS` and a number.
pub unsafe extern "C" fn request(
    _: vg::ThreadId,
    arguments: *mut vg::UWord,
    result: *mut vg::UWord,
) -> vg::Bool {
    const BASE: u64 = (b'L' as u64) << 24 | (b'S' as u64) << 16;
    const SNAPSHOT: u64 = BASE;
    const SNAPSHOT_SIGNAL: u64 = BASE + 1;
    const POOL_FIRST: u64 = BASE + 2;
    const POOL_LAST: u64 = BASE + 6;
    // SAFETY: Valgrind gives the request's number and arguments, and a place
    // for the answer.
    unsafe {
        match *arguments {
            SNAPSHOT => {
                write(Reason::Snapshot, 0, None);
                *result = if OPTIONS.get().folder.is_some() { 0 } else { u64::MAX };
            }
            SNAPSHOT_SIGNAL => *result = u64::from(OPTIONS.get().snapshot_signal),
            POOL_FIRST..=POOL_LAST => {
                pools::request(*arguments - POOL_FIRST, |index| *arguments.add(index) as usize)
            }
            _ => return 0,
        }
    }
    1
}

/// So much below the stack pointer is still in use.
pub const LIVE_BELOW: usize = RED_ZONE;
