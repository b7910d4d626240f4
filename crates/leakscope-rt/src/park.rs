//! Stopping the other threads, so that their stacks and registers can be
//! read.
//!
//! No ptrace: each thread gets a signal, whose handler notes the registers
//! and waits. A thread that sits in a system call which a signal would cut
//! short visibly (`poll`, `nanosleep`, …) is left alone while the program
//! goes on: the kernel tells where its stack is, and our stand-ins for those
//! functions (`waits`) have put its registers there. A thread that cannot be
//! stopped has all of its stack scanned.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::modules;
use crate::sys::{self, File};
use crate::unwind::Registers;

/// The signal by which threads are stopped.
pub const SIGNAL: i32 = 62;

/// How long a thread may take to stop.
const PATIENCE_MILLIS: u64 = 300;

/// Bytes of glibc's control block for a thread that we look at.
pub const CONTROL_BLOCK: usize = 0x900;

/// A thread at the moment of the scan.
#[repr(C)]
pub struct Parked {
    thread: AtomicU32,
    state: AtomicU32,
    /// Stack pointer; 0 if it is not known.
    pub stack: usize,
    pub registers: [u64; 16],
    /// The stack that the kernel has for its signal handlers, or 0.
    pub handlers: usize,
    /// For unwinding; all 0 if not known.
    pub frame: Registers,
}

const ASKED: u32 = 0;
const STOPPED: u32 = 1;
const GONE: u32 = 2;

static LIST: AtomicUsize = AtomicUsize::new(0);
static LIST_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The process whose threads these are; the scan runs in another one.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// 1 while threads are to stand still.
static HOLD: AtomicU32 = AtomicU32::new(0);
/// Changes whenever a thread has stopped.
static STOPS: AtomicU32 = AtomicU32::new(0);

/// Where glibc's control block has the thread's number; 0 before it is found.
static NUMBER_OFFSET: AtomicUsize = AtomicUsize::new(0);

/// What happens to the program after the scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It goes on, so no thread may notice.
    GoesOn,
    Ends,
}

/// Prepares the handler, and learns the layout of control blocks.
pub fn start() {
    // SAFETY: a handler that only touches this module's memory.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        crate::signals::set(SIGNAL, &action);
    }
    let (own, number) = (thread_pointer(), sys::thread_id());
    // SAFETY: our own control block is larger than this.
    let found = (0x200..0x400).step_by(4).find(|offset| unsafe { *((own + offset) as *const u32) } == number);
    NUMBER_OFFSET.store(found.unwrap_or(0), Ordering::Relaxed);
}

/// Stops all other threads. `current` is what counts of this one. Returns
/// whether all were stopped.
pub fn begin(current: &Parked, then: Then) -> bool {
    let own = sys::thread_id();
    PROCESS.store(sys::pid(), Ordering::Relaxed);
    let mut threads = 0;
    for_each_thread(|_| threads += 1);
    let capacity = threads + 64;
    let bytes = (capacity * size_of::<Parked>()).next_multiple_of(sys::PAGE);
    LIST.store(sys::allocate(bytes), Ordering::Relaxed);
    LIST_BYTES.store(bytes, Ordering::Relaxed);
    COUNT.store(0, Ordering::Relaxed);
    if LIST.load(Ordering::Relaxed) == 0 {
        return false;
    }
    add(own, STOPPED, current);
    // Release: who sees the hold sees the list.
    HOLD.store(1, Ordering::Release);
    // A thread may have started another one before it stopped.
    while ask_new_threads(capacity, own, then) {
        wait_for_stops();
    }
    threads_mut().iter().all(|thread| thread.state.load(Ordering::Acquire) != ASKED)
}

/// Lets the others go on.
pub fn end() {
    HOLD.store(0, Ordering::Release);
    sys::futex_wake(&HOLD, i32::MAX);
    let (list, bytes) = (LIST.load(Ordering::Relaxed), LIST_BYTES.load(Ordering::Relaxed));
    // A thread that comes late looks for itself in an empty list.
    COUNT.store(0, Ordering::Relaxed);
    if list != 0 && threads_mut().is_empty() {
        LIST.store(0, Ordering::Release);
        // SAFETY: ours, and nobody waits on memory inside it.
        unsafe { sys::release(list, bytes) };
    }
}

/// The threads of the scan; those that could not be stopped have no stack
/// pointer.
pub fn threads() -> &'static [Parked] {
    threads_mut()
}

fn threads_mut() -> &'static mut [Parked] {
    let list = LIST.load(Ordering::Acquire);
    if list == 0 {
        return &mut [];
    }
    // SAFETY: so many entries were written; each is changed by one thread.
    unsafe { core::slice::from_raw_parts_mut(list as *mut Parked, COUNT.load(Ordering::Acquire)) }
}

pub fn owns(address: usize) -> bool {
    address.wrapping_sub(LIST.load(Ordering::Relaxed)) < LIST_BYTES.load(Ordering::Relaxed)
}

/// The number of the thread whose control block lies at `address`, if one
/// does. The address must be readable for [`CONTROL_BLOCK`] bytes.
pub fn control_block(address: usize) -> Option<u32> {
    let offset = NUMBER_OFFSET.load(Ordering::Relaxed);
    // SAFETY: readable, as the caller says.
    let word = |at: usize| unsafe { *((address + at) as *const usize) };
    // Two pointers to itself, and the stack guard, which all threads share.
    let found = offset != 0 && word(0) == address && word(0x10) == address && word(0x28) == stack_guard();
    found.then(|| word(offset & !7) as u64 >> (offset % 8 * 8)).map(|number| number as u32)
}

/// The main thread has the number of the process.
pub fn main_thread() -> u32 {
    PROCESS.load(Ordering::Relaxed)
}

/// Which thread it is among all of the scan, by their numbers, from 1 on.
pub fn rank(thread: &Parked) -> u32 {
    let number = |thread: &Parked| thread.thread.load(Ordering::Relaxed);
    1 + threads().iter().filter(|other| number(other) < number(thread)).count() as u32
}

/// The thread with this number.
pub fn thread(number: u32) -> Option<&'static Parked> {
    threads().iter().find(|thread| thread.thread.load(Ordering::Relaxed) == number)
}

/// Whether a thread was there when the scan began.
pub fn is_alive(number: u32) -> bool {
    let same = |thread: &Parked| thread.thread.load(Ordering::Relaxed) == number;
    number != 0 && threads().iter().any(|thread| same(thread) && thread.state.load(Ordering::Relaxed) != GONE)
}

impl Parked {
    /// The calling thread, of which these registers count.
    pub fn of(registers: &Registers) -> Parked {
        let r = registers;
        let mut all = [0; 16];
        all[..6].copy_from_slice(&[r.rbx, r.rbp, r.r12, r.r13, r.r14, r.r15]);
        // SAFETY: a query into a local structure.
        let handlers = unsafe {
            let mut known: libc::stack_t = core::mem::zeroed();
            libc::sigaltstack(core::ptr::null(), &mut known);
            known.ss_sp as usize
        };
        Parked { registers: all, frame: *r, handlers, ..Parked::at(r.rsp as usize) }
    }

    /// A thread of which no more is known than its stack pointer, or 0.
    fn at(stack: usize) -> Parked {
        Parked {
            thread: AtomicU32::new(0),
            state: AtomicU32::new(0),
            stack,
            registers: [0; 16],
            handlers: 0,
            frame: Registers::default(),
        }
    }

    /// A thread that a signal interrupted.
    pub fn interrupted(context: &libc::ucontext_t) -> Parked {
        let general = &context.uc_mcontext.gregs;
        let mut registers = [0; 16];
        // R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP.
        for (register, value) in registers.iter_mut().zip(general) {
            *register = *value as u64;
        }
        // Below the stack pointer a function may keep 128 bytes; derived ones
        // do not.
        let is_derived = modules::is_derived(general[libc::REG_RIP as usize] as u64);
        let below = if is_derived { 0 } else { 128 };
        let stack = general[libc::REG_RSP as usize] as usize - below;
        let register = |number: i32| general[number as usize] as u64;
        let frame = Registers {
            rbx: register(libc::REG_RBX),
            rbp: register(libc::REG_RBP),
            r12: register(libc::REG_R12),
            r13: register(libc::REG_R13),
            r14: register(libc::REG_R14),
            r15: register(libc::REG_R15),
            rsp: register(libc::REG_RSP),
            rip: register(libc::REG_RIP),
        };
        let handlers = context.uc_stack.ss_sp as usize;
        Parked { registers, frame, handlers, ..Parked::at(stack & !7) }
    }
}

fn add(number: u32, state: u32, parked: &Parked) {
    let count = COUNT.load(Ordering::Relaxed);
    let place = (LIST.load(Ordering::Relaxed) + count * size_of::<Parked>()) as *mut Parked;
    // SAFETY: callers keep to the list's capacity.
    unsafe {
        place.write(Parked {
            thread: AtomicU32::new(number),
            state: AtomicU32::new(state),
            stack: parked.stack,
            registers: parked.registers,
            handlers: parked.handlers,
            frame: parked.frame,
        });
    }
    // Release: who counts the entry sees it.
    COUNT.store(count + 1, Ordering::Release);
}

/// Asks threads that are not in the list yet. False if there was none.
fn ask_new_threads(capacity: usize, own: u32, then: Then) -> bool {
    let mut asked = false;
    for_each_thread(|number| {
        let known = threads().iter().any(|thread| thread.thread.load(Ordering::Relaxed) == number);
        if known || number == own || COUNT.load(Ordering::Relaxed) == capacity {
            return;
        }
        asked = true;
        match whereabouts(number) {
            Whereabouts::Gone => add(number, GONE, &Parked::at(0)),
            Whereabouts::Waiting { stack } if then == Then::GoesOn => {
                add(number, STOPPED, &Parked::at(stack))
            }
            _ => {
                add(number, ASKED, &Parked::at(0));
                // SAFETY: a signal to a thread of this process, whose handler is ours.
                unsafe { libc::syscall(libc::SYS_tgkill, sys::pid(), number, SIGNAL) };
            }
        }
    });
    asked
}

fn wait_for_stops() {
    let waiting = || threads().iter().filter(|thread| thread.state.load(Ordering::Acquire) == ASKED);
    for _ in 0..PATIENCE_MILLIS {
        let stops = STOPS.load(Ordering::Acquire);
        if waiting().next().is_none() {
            return;
        }
        sys::futex_wait_millis(&STOPS, stops, 1);
        for thread in waiting() {
            if let Whereabouts::Gone = whereabouts(thread.thread.load(Ordering::Relaxed)) {
                thread.state.store(GONE, Ordering::Relaxed);
            }
        }
    }
}

extern "C" fn on_signal(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    sys::keeping_errno(|| {
        if HOLD.load(Ordering::Acquire) == 0 {
            return;
        }
        let own = sys::thread_id();
        let asked = |thread: &&mut Parked| {
            thread.thread.load(Ordering::Relaxed) == own && thread.state.load(Ordering::Relaxed) == ASKED
        };
        let Some(entry) = threads_mut().iter_mut().find(asked) else { return };
        // SAFETY: the kernel gives handlers with SA_SIGINFO the context.
        let now = Parked::interrupted(unsafe { &*context.cast::<libc::ucontext_t>() });
        entry.stack = now.stack;
        (entry.registers, entry.frame, entry.handlers) = (now.registers, now.frame, now.handlers);
        // Release: the asker sees the registers.
        entry.state.store(STOPPED, Ordering::Release);
        STOPS.fetch_add(1, Ordering::Release);
        sys::futex_wake(&STOPS, 1);
        while HOLD.load(Ordering::Acquire) == 1 {
            sys::futex_wait(&HOLD, 1);
        }
    });
}

enum Whereabouts {
    /// Ended, or on its way.
    Gone,
    /// In a system call that a signal would end early.
    Waiting {
        stack: usize,
    },
    Elsewhere,
}

fn whereabouts(number: u32) -> Whereabouts {
    let mut text = [0; 256];
    let Some(status) = read_of_thread(number, b"stat", &mut text) else { return Whereabouts::Gone };
    // The name before the state is in parentheses, and may hold any character.
    let after_name = status.iter().rposition(|&byte| byte == b')').map_or(0, |end| end + 2);
    if matches!(status.get(after_name), None | Some(b'Z' | b'X')) {
        return Whereabouts::Gone;
    }
    let Some(call) = read_of_thread(number, b"syscall", &mut text) else { return Whereabouts::Elsewhere };
    let mut fields = call.split(|&byte| byte == b' ');
    let number = fields.next().filter(|field| field.first().is_some_and(u8::is_ascii_digit));
    let number = number.map(|field| field.iter().fold(0, |value, byte| value * 10 + i64::from(byte & 15)));
    // Six arguments come before the stack pointer.
    match (number, fields.next().map(word), fields.nth(5).map(word)) {
        (Some(number), Some(first), Some(stack)) if is_cut_short(number, first) => {
            Whereabouts::Waiting { stack: stack & !7 }
        }
        _ => Whereabouts::Elsewhere,
    }
}

/// A number as the kernel writes them.
fn word(text: &[u8]) -> usize {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    let digits = digits.iter().filter_map(|&byte| (byte as char).to_digit(16));
    digits.fold(0, |value, digit| value * 16 + digit as usize)
}

/// Whether a system call with this first argument ends with EINTR although
/// the handler asks to restart.
fn is_cut_short(number: i64, first: usize) -> bool {
    CUT_SHORT.contains(&number) || CUT_SHORT_ON_SOCKETS.contains(&number) && has_time_limit(first as i32)
}

/// Whether a descriptor is a socket on which waiting has an end.
fn has_time_limit(descriptor: i32) -> bool {
    [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO].into_iter().any(|option| {
        let (mut limit, mut length) = ([0_i64; 2], size_of::<[i64; 2]>() as libc::socklen_t);
        let (place, length) = ((&raw mut limit).cast(), &raw mut length);
        // SAFETY: room for the seconds and microseconds of the limit.
        let got = unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, option, place, length) };
        got == 0 && limit != [0, 0]
    })
}

const CUT_SHORT: [i64; 18] = [
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_getevents,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_io_uring_enter,
];

/// The same where a time limit is set.
const CUT_SHORT_ON_SOCKETS: [i64; 13] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
];

fn read_of_thread<'a>(number: u32, name: &[u8], text: &'a mut [u8; 256]) -> Option<&'a [u8]> {
    let mut path = crate::text::Text::<64>::new();
    path.push(b"/proc/self/task/").push_number(u64::from(number)).push(b"/").push(name);
    let file = File::open(path.as_c_str())?;
    let count = file.read(text);
    file.close();
    (count > 0).then_some(&text[..count])
}

fn for_each_thread(mut f: impl FnMut(u32)) {
    let Some(folder) = File::open_folder(c"/proc/self/task") else { return };
    let mut entries = [0u8; 1024];
    loop {
        // SAFETY: the buffer is valid for its length.
        let count =
            unsafe { libc::syscall(libc::SYS_getdents64, folder.0, entries.as_mut_ptr(), entries.len()) };
        if count <= 0 {
            break;
        }
        let mut at = 0;
        while at < count as usize {
            // Inode (8 bytes), offset (8), length (2), type (1), then the name.
            let length = usize::from(u16::from_le_bytes([entries[at + 16], entries[at + 17]]));
            let name = &entries[at + 19..at + length];
            if name[0].is_ascii_digit() {
                let digits = name.iter().take_while(|byte| byte.is_ascii_digit());
                f(digits.fold(0, |number, byte| number * 10 + u32::from(byte - b'0')));
            }
            at += length;
        }
    }
    folder.close();
}

/// Address of the calling thread's control block.
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: reads a word of the control block.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags))
    };
    pointer
}

fn stack_guard() -> usize {
    let guard;
    // SAFETY: reads a word of the control block.
    unsafe {
        asm!("mov {}, qword ptr fs:[0x28]", out(reg) guard, options(nostack, readonly, preserves_flags))
    };
    guard
}
