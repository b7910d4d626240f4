//! Signals that end the program: a record is written first.
//!
//! Only where the program leaves the default action. The program does not
//! see our handlers: `sigaction` and `signal` are ours too, and say
//! `SIG_DFL` where the program would have found it.

use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::Reason;

use crate::park::{self, Parked};
use crate::{folder, life, sys};

/// Signals whose default action ends the program.
const FATAL: [c_int; 18] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGVTALRM,
    libc::SIGSYS,
];

/// Bit N: signal N has our handler, in place of the default action.
static OURS: AtomicU64 = AtomicU64::new(0);

/// Stacks for handlers, so that an overflow of the program's stack can be
/// reported: one slot for each thread that wants one.
const SLOT: usize = 1 << 16;
const SLOTS: usize = 256;
static STACKS: AtomicUsize = AtomicUsize::new(0);
static TAKEN: [AtomicU64; SLOTS / 64] = [const { AtomicU64::new(0) }; SLOTS / 64];

/// Installs our handlers where the default action is set.
pub fn start() {
    STACKS.store(sys::reserve(SLOT * SLOTS), Ordering::Relaxed);
    for signal in FATAL {
        // SAFETY: a query into a local structure.
        let default = unsafe {
            let mut old: libc::sigaction = core::mem::zeroed();
            __sigaction(signal, core::ptr::null(), &mut old) == 0 && old.sa_sigaction == libc::SIG_DFL
        };
        if default {
            install(signal);
        }
    }
}

fn install(signal: c_int) {
    // SAFETY: a handler that ends the process.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = on_fatal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        if __sigaction(signal, &action, core::ptr::null_mut()) == 0 {
            OURS.fetch_or(1 << signal, Ordering::Relaxed);
        }
    }
}

/// Sets an action without telling the program.
///
/// # Safety
/// The action's handler is sound for the signal.
pub unsafe fn set(signal: c_int, action: &libc::sigaction) {
    // SAFETY: as the caller says.
    unsafe { __sigaction(signal, action, core::ptr::null_mut()) };
}

fn set_default(signal: c_int) {
    // SAFETY: zero is the default action.
    unsafe { set(signal, &core::mem::zeroed()) };
}

/// The thread that [`abort`] ends the program on, and where the program is.
static ABORTING: AtomicU32 = AtomicU32::new(0);
static ABORTED_AT: AtomicPtr<Parked> = AtomicPtr::new(core::ptr::null_mut());

/// Ends the program as `abort` does, with a record, whatever it does about the
/// signal itself. What is on the stack below `now` is the runtime's own: there
/// pointers may be left that the program has not.
pub fn abort(now: &Parked) -> ! {
    ABORTED_AT.store(core::ptr::from_ref(now).cast_mut(), Ordering::Relaxed);
    ABORTING.store(sys::thread_id(), Ordering::Release);
    install(libc::SIGABRT);
    // SAFETY: ends the program.
    unsafe { libc::abort() }
}

extern "C" fn on_fatal(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    sys::keeping_errno(|| {
        // SAFETY: the kernel gives handlers with SA_SIGINFO the context.
        let interrupted = Parked::interrupted(unsafe { &*context.cast::<libc::ucontext_t>() });
        let is_ours = ABORTING.load(Ordering::Acquire) == sys::thread_id();
        // SAFETY: on the stack of a function of this thread that does not return.
        let now = if is_ours { unsafe { &*ABORTED_AT.load(Ordering::Relaxed) } } else { &interrupted };
        life::report(Reason::Signal, signal, now, park::Then::Ends);
        set_default(signal);
        // A fault happens again when we return; anything else is sent again.
        // SAFETY: the kernel gives the information; the signal is blocked
        // until we return.
        unsafe {
            if (*info).si_code <= 0 || signal == libc::SIGABRT {
                libc::syscall(libc::SYS_tgkill, sys::pid(), sys::thread_id(), signal);
            }
        }
    });
}

/// Gives the calling thread a stack for handlers, unless it has one. Returns
/// the slot's number plus one, or 0.
pub fn give_stack() -> u32 {
    let base = STACKS.load(Ordering::Relaxed);
    // SAFETY: a query into a local structure.
    let has_one = unsafe {
        let mut old: libc::stack_t = core::mem::zeroed();
        libc::sigaltstack(core::ptr::null(), &mut old) != 0 || old.ss_flags & libc::SS_DISABLE == 0
    };
    if base == 0 || has_one {
        return 0;
    }
    let Some(slot) = take_slot() else { return 0 };
    let start = base + slot * SLOT;
    let stack = libc::stack_t { ss_sp: start as *mut _, ss_flags: 0, ss_size: SLOT };
    // SAFETY: the slot is ours and stays so until it is taken back.
    unsafe {
        if sys::commit(start, SLOT) {
            libc::sigaltstack(&stack, core::ptr::null_mut());
        }
    }
    slot as u32 + 1
}

/// Takes the stack back when its thread ends.
pub fn take_stack_back(number: u32) {
    let Some(slot) = (number as usize).checked_sub(1) else { return };
    let start = STACKS.load(Ordering::Relaxed) + slot * SLOT;
    // SAFETY: disabled only if it is still the thread's, and then unused.
    unsafe {
        let mut old: libc::stack_t = core::mem::zeroed();
        libc::sigaltstack(core::ptr::null(), &mut old);
        if old.ss_sp as usize == start {
            let none =
                libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SLOT };
            libc::sigaltstack(&none, core::ptr::null_mut());
        }
        sys::discard(start, SLOT);
    }
    TAKEN[slot / 64].fetch_and(!(1 << (slot % 64)), Ordering::Release);
}

fn take_slot() -> Option<usize> {
    for (index, word) in TAKEN.iter().enumerate() {
        let mut taken = word.load(Ordering::Relaxed);
        while taken != u64::MAX {
            let bit = taken.trailing_ones() as usize;
            // Acquire: what the slot's last thread did is over.
            match word.compare_exchange(taken, taken | 1 << bit, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(index * 64 + bit),
                Err(now) => taken = now,
            }
        }
    }
    None
}

/// True for the stacks of handlers, which hold nothing of the program's.
pub fn owns(address: usize) -> bool {
    let base = STACKS.load(Ordering::Relaxed);
    base != 0 && address.wrapping_sub(base) < SLOT * SLOTS
}

/// Stands in for `sigaction`.
///
/// # Safety
/// As for `sigaction`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let bit = if (1..64).contains(&signal) { 1 << signal } else { 0 };
    let ours = OURS.load(Ordering::Relaxed) & bit != 0;
    // SAFETY: the caller's arguments, passed on.
    unsafe {
        let to_default = !new.is_null() && (*new).sa_sigaction == libc::SIG_DFL;
        let passed = if ours && to_default { core::ptr::null() } else { new };
        let result = __sigaction(signal, passed, old);
        if result != 0 {
            return result;
        }
        if ours && !old.is_null() {
            *old = core::mem::zeroed();
        }
        if !new.is_null() && !to_default {
            OURS.fetch_and(!bit, Ordering::Relaxed);
        } else if to_default && !ours && folder::is_wanted() && FATAL.contains(&signal) {
            install(signal);
        }
        result
    }
}

/// Stands in for `signal`, with its BSD meaning, as in glibc.
///
/// # Safety
/// As for `signal`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    // SAFETY: plain structures; the handler is the caller's.
    unsafe {
        let mut new: libc::sigaction = core::mem::zeroed();
        let mut old: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        libc::sigaddset(&mut new.sa_mask, number);
        if sigaction(number, &new, &mut old) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
    }
}

unsafe extern "C" {
    /// glibc's own `sigaction`, by the name that is not ours.
    fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
}
