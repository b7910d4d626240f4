//! What each thread keeps for itself: free blocks, the bounds of its stack.
//!
//! Stable Rust has no thread-local variables without `std`, so the variable
//! is made in assembly, in the initial-exec model: two instructions, and
//! right both in an executable and in a preloaded library.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::heap::{self, Cache};
use crate::sampling::{self, Sampling};
use crate::size_class::CLASSES;
use crate::{events, folder, signals, stamps, sys};

/// Zero bytes are a valid new thread.
#[repr(C, align(16))]
pub struct Thread {
    /// Of the calls that led here, kept by instrumented code.
    pub context: u64,
    /// What instrumented code says about the free that it calls next.
    pub site: usize,
    /// Of the stamps that this thread made.
    pub clock: u64,
    /// Of `events`; 0 until they are needed. Instrumented code looks there.
    pub tables: usize,
    /// The furthest that a function has returned from that may be the
    /// thread's; the end of memory in the main thread.
    pub outer: usize,
    /// Steps of instrumented code that reports uses, until the runtime wants
    /// to know.
    pub uses_left: i64,
    /// Set by instrumented code around a call that is given what nobody may
    /// hold; it alone asks.
    given: u64,
    /// What the thread knows of sampled accesses.
    pub sampling: Sampling,
    pub caches: [Cache; CLASSES],
    /// Where this thread's stack lies; both 0 until it is known.
    pub stack_low: usize,
    pub stack_high: usize,
    /// Another stack on which the thread ran last (signal stack, coroutine).
    pub other_low: usize,
    pub other_high: usize,
    /// Above 0 while the runtime itself may allocate: nothing is unwound.
    pub busy: u32,
    pub known: bool,
    /// Stack for signal handlers that we gave it.
    handler_stack: u32,
    /// Where the pointer was that dies now, if a run that explains is to know.
    pub dying: usize,
    /// The site of a container that is destroyed on the way of an exception;
    /// 0 for none.
    pub cleaning: usize,
    #[cfg(feature = "executable")]
    pub exit: crate::ends::Exit,
}

global_asm!(
    ".section .tbss.leakscope_thread,\"awT\",@nobits",
    ".balign 64",
    ".globl leakscope_thread",
    ".hidden leakscope_thread",
    ".globl leakscope_context",
    ".type leakscope_context,@object",
    ".size leakscope_context,8",
    ".globl leakscope_site",
    ".type leakscope_site,@object",
    ".size leakscope_site,8",
    ".globl leakscope_clock",
    ".type leakscope_clock,@object",
    ".size leakscope_clock,8",
    ".globl leakscope_tables",
    ".type leakscope_tables,@object",
    ".size leakscope_tables,8",
    ".globl leakscope_outer",
    ".type leakscope_outer,@object",
    ".size leakscope_outer,8",
    ".globl leakscope_uses_left",
    ".type leakscope_uses_left,@object",
    ".size leakscope_uses_left,8",
    ".globl leakscope_given",
    ".type leakscope_given,@object",
    ".size leakscope_given,8",
    ".type leakscope_thread,@object",
    ".size leakscope_thread,{size}",
    "leakscope_thread:",
    "leakscope_context = leakscope_thread",
    "leakscope_site = leakscope_thread + 8",
    "leakscope_clock = leakscope_thread + 16",
    "leakscope_tables = leakscope_thread + 24",
    "leakscope_outer = leakscope_thread + 32",
    "leakscope_uses_left = leakscope_thread + 40",
    "leakscope_given = leakscope_thread + 48",
    ".zero {size}",
    ".text",
    size = const size_of::<Thread>(),
);

/// The calling thread's own state.
#[inline(always)]
pub fn current() -> *mut Thread {
    let address: *mut Thread;
    // SAFETY: computes the address of the thread's variable; no side effects.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + leakscope_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) address,
            options(pure, nomem, nostack)
        );
    }
    address
}

/// Key whose destructor runs when a thread ends; plus one, 0 before it is made.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key early, so that it is one of the first 32: setting those does
/// not allocate.
pub fn start() {
    let mut key = 0;
    // SAFETY: plain libc calls with valid arguments.
    if KEY.load(Ordering::Relaxed) == 0 && unsafe { libc::pthread_key_create(&mut key, Some(at_end)) } == 0 {
        KEY.store(key + 1, Ordering::Relaxed);
    }
    // SAFETY: the thread's own state.
    let thread = unsafe { &mut *current() };
    thread.outer = usize::MAX;
    thread.busy += 1;
    sys::keeping_errno(bind_own_stack);
    thread.busy -= 1;
}

/// The loader binds what [`own_stack`] calls, and what that calls in libc, now:
/// not on the small stack of a thread that has no room for it. It is not called
/// itself: in the main thread it reads `/proc/self/maps` line by line, by a
/// quarter of a megabyte of code that most programs have no other use for.
fn bind_own_stack() {
    find_getattr();
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut size) = (core::ptr::null_mut(), 0);
    let processors = 0_u64;
    // SAFETY: initialised by the first call, used by the others only then.
    unsafe {
        if libc::pthread_attr_init(attributes.as_mut_ptr()) == 0 {
            let attributes = attributes.as_mut_ptr();
            libc::pthread_attr_setaffinity_np(
                attributes,
                size_of_val(&processors),
                (&raw const processors).cast(),
            );
            libc::pthread_attr_getstack(attributes, &mut low, &mut size);
            libc::pthread_attr_destroy(attributes);
        }
    }
}

/// Learns about the calling thread; once, before its first unwinding.
#[cold]
pub fn learn(thread: &mut Thread) {
    thread.known = true;
    thread.busy += 1;
    sys::keeping_errno(|| {
        if sys::thread_id() == sys::pid() {
            // SAFETY: a variable of the dynamic loader, set before any code runs.
            thread.stack_high = unsafe { __libc_stack_end } as usize;
            thread.stack_low = thread.stack_high.saturating_sub(main_stack_limit());
        } else {
            (thread.stack_low, thread.stack_high) = own_stack();
            sampling::give_counters(thread);
        }
        if folder::is_wanted() && thread.handler_stack == 0 {
            thread.handler_stack = signals::give_stack();
        }
        arm();
    });
    stamps::start_clock(thread);
    thread.busy -= 1;
}

fn arm() {
    let key = KEY.load(Ordering::Relaxed);
    if key != 0 {
        // SAFETY: the key exists; any other value than null makes the destructor run.
        unsafe { libc::pthread_setspecific(key - 1, core::ptr::dangling()) };
    }
}

/// Runs among the thread's other destructors, which may allocate after it:
/// then the thread is learned of again, and this runs once more.
extern "C" fn at_end(_: *mut libc::c_void) {
    // SAFETY: the thread's own state, and this is the only code that uses it now.
    let thread = unsafe { &mut *current() };
    #[cfg(feature = "executable")]
    sys::keeping_errno(|| crate::ends::thread_ends(thread));
    heap::flush(thread);
    events::give_tables(thread);
    sampling::take_counters_back(thread);
    stamps::publish_clock(thread);
    signals::take_stack_back(core::mem::take(&mut thread.handler_stack));
    thread.known = false;
}

fn main_stack_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain query.
    unsafe { libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, 0usize, &mut limit) };
    (limit.rlim_cur as usize).clamp(1 << 16, 1 << 30)
}

fn own_stack() -> (usize, usize) {
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut size) = (core::ptr::null_mut(), 0);
    // SAFETY: initialised by the first call, used by the others only then.
    unsafe {
        if real_getattr(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return (0, 0);
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    (low as usize, low as usize + size)
}

/// Stands in for `pthread_getattr_np`, which allocates while it holds the
/// thread's lock: a thread whose first allocation that is must be learned of
/// before.
///
/// # Safety
/// As for the C function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_getattr_np(
    thread: libc::pthread_t,
    attributes: *mut libc::pthread_attr_t,
) -> core::ffi::c_int {
    // SAFETY: the thread's own state.
    let own = unsafe { &mut *current() };
    if !own.known {
        learn(own);
    }
    // SAFETY: the caller's arguments.
    unsafe { real_getattr(thread, attributes) }
}

/// # Safety
/// As for `pthread_getattr_np`.
unsafe fn real_getattr(thread: libc::pthread_t, attributes: *mut libc::pthread_attr_t) -> core::ffi::c_int {
    type Getattr = unsafe extern "C" fn(libc::pthread_t, *mut libc::pthread_attr_t) -> core::ffi::c_int;
    match find_getattr() {
        0 => libc::ENOSYS,
        // SAFETY: libc's function of this name has this type.
        real => unsafe { core::mem::transmute::<usize, Getattr>(real)(thread, attributes) },
    }
}

fn find_getattr() -> usize {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    crate::waits::real(&REAL, c"pthread_getattr_np")
}

unsafe extern "C" {
    static __libc_stack_end: *const u8;
}
