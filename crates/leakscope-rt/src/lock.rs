//! A mutual exclusion lock for code that may run before libc is ready, in
//! forked children and while other threads are stopped. Not fair, never
//! allocates.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

pub struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached through a guard, one at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    pub const fn new(value: T) -> Lock<T> {
        Lock { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        self.acquire();
        Guard { lock: self }
    }

    /// Takes the lock without a guard; for locks that are held across `fork`.
    #[inline]
    pub fn acquire(&self) {
        // Acquire: what the former holder wrote is seen after this.
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.acquire_contended();
        }
    }

    #[cold]
    fn acquire_contended(&self) {
        for _ in 0..100 {
            core::hint::spin_loop();
            if self.state.compare_exchange_weak(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
        }
        while self.state.swap(CONTENDED, Ordering::Acquire) != FREE {
            sys::futex_wait(&self.state, CONTENDED);
        }
    }

    /// Takes the lock unless it stays held for long: in a signal handler, the
    /// holder may be the very code that was interrupted.
    pub fn lock_soon(&self) -> Option<Guard<'_, T>> {
        for _ in 0..100 {
            if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Some(Guard { lock: self });
            }
            sys::futex_wait_millis(&AtomicU32::new(0), 0, 1);
        }
        None
    }

    /// Gives the lock back after [`Lock::acquire`].
    #[inline]
    pub fn release(&self) {
        // Release: what was written under the lock is seen by the next holder.
        if self.state.swap(FREE, Ordering::Release) == CONTENDED {
            sys::futex_wake(&self.state, 1);
        }
    }
}

impl<T> core::ops::Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> core::ops::DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.release();
    }
}
