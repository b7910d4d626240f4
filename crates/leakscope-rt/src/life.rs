//! The life of the process: start, fork, end, and the records written on the
//! way.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::{self as wire, Reason};

use crate::lock::Lock;
use crate::park::{self, Parked, Then};
use crate::record::{self, Occasion};
use crate::unwind::{self, Registers};
use crate::walk::{self, Caller};
use crate::{
    actions, activations, caller, depot, details, folder, heap, history, inject, loads, mode, modules,
    moments, pools, rotation, sampling, scratch, signals, sink, sys, thread, uses, waits,
};

/// The process that this runtime belongs to: another one after `fork`, and
/// not that of a `vfork` child, which runs in its parent's memory.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// When it began; 0 where that is not told.
static STARTED: AtomicU64 = AtomicU64::new(0);
static SEQUENCE: AtomicU32 = AtomicU32::new(0);
/// The last record of this process is written.
static ENDED: AtomicBool = AtomicBool::new(false);
static SNAPSHOT: Lock<()> = Lock::new(());
/// When this process was forked, by a clock that does not jump; 0 if it was not.
static FORKED_AT: AtomicU64 = AtomicU64::new(0);
/// Child that writes a snapshot while the program goes on.
static SCRIBE: AtomicU32 = AtomicU32::new(0);

/// What asks for snapshots from outside: a thread waits on this.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
static EVERY_MILLIS: AtomicUsize = AtomicUsize::new(0);
static SNAPSHOT_SIGNAL: AtomicU32 = AtomicU32::new(0);

/// Runs before any constructor in an executable, and among the first in a
/// preloaded library. In both cases before libc registers the loader's own
/// work for the end, so that ours comes last.
#[cfg(not(test))]
#[used]
#[cfg_attr(feature = "executable", unsafe(link_section = ".preinit_array"))]
#[cfg_attr(not(feature = "executable"), unsafe(link_section = ".init_array"))]
static START: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;

#[cfg_attr(test, allow(dead_code))]
unsafe extern "C" fn start(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    PROCESS.store(sys::pid(), Ordering::Relaxed);
    note_start();
    thread::start();
    // SAFETY: the loader gives the environment.
    unsafe { read_settings(environment) };
    // SAFETY: handlers without arguments that live as long as the process.
    unsafe {
        __register_atfork(
            Some(before_fork),
            Some(after_fork_in_parent),
            Some(after_fork_in_child),
            core::ptr::null_mut(),
        );
        if folder::is_wanted() {
            __cxa_atexit(at_exit, core::ptr::null_mut(), core::ptr::null_mut());
            __cxa_at_quick_exit(at_exit, core::ptr::null_mut());
        }
    }
    if is_whole() {
        // The executable that this runtime was linked into.
        modules::set_derived(start as *const () as usize);
    }
    if mode::samples() {
        let [start, end] = seldom();
        sys::set_apart(start, end);
    }
    if folder::is_wanted() {
        sys::keeping_errno(folder::prepare);
        park::start();
        signals::start();
        start_snapshots();
    }
}

core::arch::global_asm!(
    ".weak leakscope_whole",
    ".section .data.rel.ro.leakscope,\"aw\",@progbits",
    ".balign 8",
    ".globl leakscope_whole_address",
    ".hidden leakscope_whole_address",
    "leakscope_whole_address: .quad leakscope_whole",
    ".text",
);

/// The link of a program all of whose code was derived defines
/// `leakscope_whole`.
#[cfg_attr(test, allow(dead_code))]
fn is_whole() -> bool {
    unsafe extern "C" {
        static leakscope_whole_address: usize;
    }
    // SAFETY: defined above, never written.
    cfg!(feature = "executable") && unsafe { leakscope_whole_address } != 0
}

core::arch::global_asm!(
    ".weak __start_leakscope_seldom",
    ".weak __stop_leakscope_seldom",
    ".section .data.rel.ro.leakscope,\"aw\",@progbits",
    ".balign 8",
    ".globl leakscope_seldom_range",
    ".hidden leakscope_seldom_range",
    "leakscope_seldom_range: .quad __start_leakscope_seldom, __stop_leakscope_seldom",
    ".text",
);

/// Where the build put code of this runtime that a watched program seldom needs.
fn seldom() -> [usize; 2] {
    unsafe extern "C" {
        static leakscope_seldom_range: [usize; 2];
    }
    // SAFETY: defined above, never written.
    unsafe { leakscope_seldom_range }
}

/// # Safety
/// `environment` is an array of C strings that ends with null.
#[cfg_attr(test, allow(dead_code))]
unsafe fn read_settings(mut environment: *const *const c_char) {
    let mut rates = sampling::Choice::DEFAULT;
    let (mut one_in_frees, mut seed) = (0, 1);
    // SAFETY: as the caller says.
    while let Some(entry) = unsafe { (*environment).as_ref() } {
        // SAFETY: as the caller says.
        let entry = unsafe { core::ffi::CStr::from_ptr(entry) }.to_bytes();
        // SAFETY: the array goes on until null.
        environment = unsafe { environment.add(1) };
        let value = |name: &str| entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        if let Some(path) = value(wire::env::DIR) {
            folder::set(path);
        } else if let Some(name) = value(wire::env::SOCKET) {
            sink::set_socket(name);
        } else if let Some(path) = value(wire::env::MODULES) {
            loads::open(path);
        } else if let Some(depth) = value(wire::env::DEPTH) {
            walk::set_depth(number(depth));
        } else if let Some(signal) = value(wire::env::SNAPSHOT_SIGNAL) {
            SNAPSHOT_SIGNAL.store(number(signal) as u32, Ordering::Relaxed);
        } else if let Some(wanted) = value(wire::env::LAST_USE) {
            uses::choose(wanted);
        } else if let Some(action) = value(wire::env::ON_LEAK) {
            actions::choose(action);
        } else if let Some(bytes) = value(wire::env::LEAK_LIMIT) {
            actions::set_limit(number(bytes) as u64);
        } else if let Some(millis) = value(wire::env::SNAPSHOT_EVERY) {
            EVERY_MILLIS.store(number(millis), Ordering::Relaxed);
        } else if let Some(burst) = value(wire::env::BURST) {
            rates.burst = number(burst) as u64;
        } else if let Some(divisor) = value(wire::env::DECR) {
            rates.divisor = number(divisor) as u64;
        } else if let Some(least) = value(wire::env::MIN) {
            rates.least = number(least) as u64;
        } else if let Some(one_in) = value(wire::env::INJECT) {
            one_in_frees = number(one_in) as u32;
        } else if let Some(given) = value(wire::env::SEED) {
            seed = number(given) as u64;
        } else if value(wire::env::BURST_HISTORY).is_some() {
            history::choose();
        } else if let Some(most) = value(wire::env::DIR_MAX) {
            rotation::set_most(number(most) as u64);
        } else if value(wire::env::ALWAYS).is_some() {
            rotation::write_always();
        } else if value(wire::env::SCRATCH).is_some() {
            scratch::keep_in_memory();
        }
    }
    inject::choose(one_in_frees, seed);
    sampling::choose(rates);
}

fn number(text: &[u8]) -> usize {
    text.iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |value, byte| value * 10 + usize::from(byte & 15))
}

/// After everything else that runs at the end of the program.
extern "C" fn at_exit(_: *mut c_void) {
    let caller = caller!();
    actions::before_end();
    end(caller, 0);
}

/// The last record, made from the end of the program's own frames.
fn end(caller: Caller, status: i32) {
    sys::keeping_errno(|| {
        let frames = program_frames(caller);
        report(Reason::Exit, status, &Parked::of(&frames), Then::Ends);
    });
}

/// The registers as they are in the program, outside this runtime and outside
/// libc's own code for the end. What lies below on the stack is not the
/// program's, and words that dead frames left there would hide leaks.
fn program_frames(caller: Caller) -> Registers {
    let libc_code = unwind::module_of(libc::exit as *const () as usize);
    let own_code = unwind::module_of(at_exit as *const () as usize);
    Registers::here().leave(|registers| {
        registers.rsp as usize <= caller.frame
            || (libc_code != own_code && libc_code.contains(&(registers.rip as usize)))
    })
}

/// Writes a record, in a copy of the process where that is possible: the
/// program stops only while it is copied.
pub fn report(reason: Reason, status: i32, current: &Parked, then: Then) {
    let process = PROCESS.load(Ordering::Relaxed);
    if !folder::is_wanted() || sys::pid() != process {
        return;
    }
    if then == Then::Ends && (ENDED.swap(true, Ordering::Relaxed) || is_short_child()) {
        return;
    }
    let guard = if then == Then::Ends { SNAPSHOT.lock_soon() } else { Some(SNAPSHOT.lock()) };
    if then == Then::GoesOn && ENDED.load(Ordering::Relaxed) {
        return;
    }
    modules::update();
    let all_stopped = park::begin(current, then);
    let occasion = Occasion {
        reason,
        status,
        pid: process,
        started: STARTED.load(Ordering::Relaxed),
        sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
        limits: if all_stopped { 0 } else { wire::limits::THREAD_RUNNING },
        fault: None,
    };
    write_in_copy(&occasion, then);
    park::end();
    if then == Then::Ends || actions::are_wanted() {
        wait_for_scribe();
    }
    drop(guard);
    if reason != Reason::Signal {
        actions::act(current);
    }
}

/// Notes when the process began, where records of others may be beside its own.
fn note_start() {
    if mode::samples() {
        STARTED.store(sys::nanoseconds(), Ordering::Relaxed);
    }
}

/// Whether this process was forked just now, in a program that is watched: it
/// has no time of its own to make anything stale, and there may be very many.
fn is_short_child() -> bool {
    const SHORT_MILLIS: u64 = 1000;
    let forked = FORKED_AT.load(Ordering::Relaxed);
    mode::samples()
        && !rotation::writes_always()
        && forked != 0
        && sys::monotonic_millis().saturating_sub(forked) < SHORT_MILLIS
}

/// A record of a misuse of the heap, which is about to end the program.
pub fn report_fault(fault: wire::Fault) {
    let process = PROCESS.load(Ordering::Relaxed);
    if !folder::is_wanted() || sys::pid() != process || ENDED.swap(true, Ordering::Relaxed) {
        return;
    }
    modules::update();
    let occasion = Occasion {
        reason: Reason::Fault,
        status: 0,
        pid: process,
        started: STARTED.load(Ordering::Relaxed),
        sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
        limits: 0,
        fault: Some(fault),
    };
    write_in_copy(&occasion, Then::Ends);
    wait_for_scribe();
}

fn write_in_copy(occasion: &Occasion, then: Then) {
    wait_for_scribe();
    // SAFETY: a copy of the process that shares nothing, sends no signal when
    // it ends, and in which only this code runs.
    let child = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if child == 0 {
        let all = u64::MAX;
        // SAFETY: blocks all signals; the copy has nothing to do but this.
        unsafe {
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &all, 0usize, 8usize);
            make_room_for_files();
            let error = record::write(occasion).err().unwrap_or(0);
            libc::syscall(libc::SYS_exit_group, error);
        }
    }
    if child < 0
        && then == Then::Ends
        && let Err(error) = record::write(occasion)
    {
        folder::tell(error);
    }
    if child > 0 {
        SCRIBE.store(child as u32, Ordering::Relaxed);
    }
}

/// In the copy: the program may have used up its descriptors, or may not be
/// allowed to write files.
fn make_room_for_files() {
    // SAFETY: the copy has its own table of descriptors and its own limits.
    unsafe {
        sys::close_all();
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        let none = core::ptr::null_mut::<libc::rlimit>();
        if libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_FSIZE, &limit, none) != 0 {
            libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_FSIZE, none, &mut limit);
            limit.rlim_cur = limit.rlim_max;
            libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_FSIZE, &limit, none);
        }
    }
}

fn wait_for_scribe() {
    let child = SCRIBE.swap(0, Ordering::Relaxed);
    if child != 0 {
        let mut status = 0;
        // SAFETY: waits for our own child, whose status nobody else wants.
        unsafe {
            while libc::waitpid(child as i32, &mut status, libc::__WALL) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
        }
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) != 0 {
            folder::tell(libc::WEXITSTATUS(status));
        }
    }
}

/// A snapshot of the heap, for `leakscope.h`. 0 if one was written or begun.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_snapshot() -> c_int {
    let caller = caller!();
    if !folder::is_wanted() {
        return -1;
    }
    sys::keeping_errno(|| {
        let frames = Registers::here().leave(|registers| registers.rsp as usize <= caller.frame);
        report(Reason::Snapshot, 0, &Parked::of(&frames), Then::GoesOn);
    });
    0
}

/// A thread that takes snapshots when asked, or from time to time.
fn start_snapshots() {
    let signal = SNAPSHOT_SIGNAL.load(Ordering::Relaxed) as c_int;
    if signal == 0 && EVERY_MILLIS.load(Ordering::Relaxed) == 0 {
        return;
    }
    if signal != 0 {
        // SAFETY: a handler that only counts and wakes.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_request as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            // The thread that is woken stops this one, which must be back on
            // its own stack by then.
            libc::sigaddset(&mut action.sa_mask, park::SIGNAL);
            signals::set(signal, &action);
        }
    }
    // SAFETY: a detached thread with all signals blocked but that which stops
    // threads, that uses only this runtime.
    unsafe {
        let (mut all, mut before) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::sigdelset(&mut all, park::SIGNAL);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
        let mut thread = core::mem::zeroed();
        // What libc allocates for our thread is nobody's.
        (*thread::current()).busy += 1;
        if libc::pthread_create(&mut thread, core::ptr::null(), take_snapshots, core::ptr::null_mut()) == 0 {
            libc::pthread_detach(thread);
        }
        (*thread::current()).busy -= 1;
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
    }
}

extern "C" fn on_request(_: c_int) {
    sys::keeping_errno(|| {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        sys::futex_wake(&REQUESTS, 1);
    });
}

extern "C" fn take_snapshots(_: *mut c_void) -> *mut c_void {
    let mut served = 0;
    loop {
        wait_for_request(served);
        served = REQUESTS.load(Ordering::Relaxed);
        report(Reason::Snapshot, 0, &Parked::of(&Registers::here()), Then::GoesOn);
    }
}

/// Until another snapshot is asked for, or it is time for one. A thread that is
/// stopped for another's record wakes for nothing.
fn wait_for_request(served: u32) {
    let (every, start) = (EVERY_MILLIS.load(Ordering::Relaxed) as u64, sys::monotonic_millis());
    while REQUESTS.load(Ordering::Relaxed) == served {
        let waited = sys::monotonic_millis().saturating_sub(start);
        match every {
            0 => sys::futex_wait(&REQUESTS, served),
            _ if waited < every => sys::futex_wait_millis(&REQUESTS, served, every - waited),
            _ => break,
        }
    }
}

/// Stands in for `_exit`, which runs no handlers.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn _exit(status: c_int) -> ! {
    end(caller!(), status);
    loop {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_snake_case)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    end(caller!(), status);
    loop {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// Stands in for `dlclose`: what it unmaps is noted first.
///
/// # Safety
/// As for `dlclose`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    let real = waits::real(&REAL, c"dlclose");
    if real == 0 {
        return -1;
    }
    modules::update();
    let before = modules::generation();
    // SAFETY: libc's function, with the caller's argument.
    let result =
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void) -> c_int>(real)(handle) };
    modules::update();
    if modules::generation() != before {
        unwind::forget_rules();
    }
    result
}

extern "C" fn before_fork() {
    SNAPSHOT.acquire();
    moments::before_fork();
    pools::before_fork();
    details::before_fork();
    heap::before_fork();
    activations::before_fork();
    depot::before_fork();
    modules::before_fork();
    unwind::before_fork();
    sampling::before_fork();
}

extern "C" fn after_fork_in_parent() {
    sampling::after_fork();
    unwind::after_fork();
    modules::after_fork();
    depot::after_fork();
    activations::after_fork();
    heap::after_fork();
    details::after_fork();
    pools::after_fork();
    moments::after_fork();
    SNAPSHOT.release();
}

extern "C" fn after_fork_in_child() {
    after_fork_in_parent();
    heap::new_epoch();
    PROCESS.store(sys::pid(), Ordering::Relaxed);
    note_start();
    SEQUENCE.store(0, Ordering::Relaxed);
    ENDED.store(false, Ordering::Relaxed);
    SCRIBE.store(0, Ordering::Relaxed);
    FORKED_AT.store(sys::monotonic_millis().max(1), Ordering::Relaxed);
    if folder::is_wanted() {
        start_snapshots();
    }
}

type Handler = Option<extern "C" fn()>;

unsafe extern "C" {
    fn __register_atfork(prepare: Handler, parent: Handler, child: Handler, module: *mut c_void) -> c_int;
    fn __cxa_atexit(f: extern "C" fn(*mut c_void), argument: *mut c_void, module: *mut c_void) -> c_int;
    fn __cxa_at_quick_exit(f: extern "C" fn(*mut c_void), argument: *mut c_void) -> c_int;
}
