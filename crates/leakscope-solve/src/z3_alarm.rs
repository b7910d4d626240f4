//! A limit of time for Z3, by a thread that interrupts it.
//!
//! Z3 has a `timeout` of its own, but its timers block `fork` in every other
//! thread for as long as a question is open (4.8.12), and whoever solves here
//! runs programs in other threads.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::solver::Limits;
use crate::z3_library::{Context, Library};

pub struct Alarm {
    limits: Limits,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Idle,
    /// When the thread that asked has worked so long.
    Asked(Worked, Duration),
    Ended,
}

/// The clock of a thread's work, which others may read while it lives.
#[derive(Clone, Copy)]
pub struct Worked(libc::clockid_t);

impl Worked {
    pub fn here() -> Worked {
        let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: this thread lives, and there is room for its clock.
        unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        Worked(clock)
    }

    pub fn now(self) -> Duration {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a clock that there is, and room for its time.
        unsafe { libc::clock_gettime(self.0, &mut now) };
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

/// A context that another thread may interrupt.
struct Interruptible(&'static Library, Context);

// SAFETY: `Z3_interrupt` is made to be called from other threads, and nothing
// else is.
unsafe impl Send for Interruptible {}

impl Interruptible {
    fn interrupt(&self) {
        // SAFETY: the thread ends before the context does.
        unsafe { (self.0.interrupt)(self.1) };
    }
}

impl Alarm {
    pub fn new(library: &'static Library, context: Context, limits: Limits) -> Alarm {
        let shared = Arc::new(Shared::default());
        let (context, seen) = (Interruptible(library, context), Arc::clone(&shared));
        let thread = thread::spawn(move || seen.watch(&context, limits));
        Alarm { limits, shared, thread: Some(thread) }
    }

    /// Runs a question, which is interrupted at the limit, or when all is to stop.
    pub fn during<T>(&self, question: impl FnOnce() -> T) -> T {
        let worked = Worked::here();
        self.shared.set(State::Asked(worked, worked.now() + self.limits.time));
        let answer = question();
        self.shared.set(State::Idle);
        answer
    }

    /// Nothing is interrupted any more.
    pub fn end(&mut self) {
        self.shared.set(State::Ended);
        if let Some(thread) = self.thread.take() {
            // It cannot have failed: it only waits.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_one();
    }

    fn watch(&self, context: &Interruptible, limits: Limits) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            state = match *state {
                State::Ended => return,
                State::Idle => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                State::Asked(worked, deadline) => {
                    let left = deadline.saturating_sub(worked.now());
                    if left.is_zero() || limits.is_stopped() {
                        // Again until it is heard: the question may just begin.
                        context.interrupt();
                    }
                    let wait = limits.patience(left).max(Duration::from_millis(10));
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
            }
        }
    }
}
