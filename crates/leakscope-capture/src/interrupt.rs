//! Waiting for a child that signals are meant for.
//!
//! An interrupt from the keyboard goes to the whole process group: the child
//! ends by it, and this process must outlive the child to leave things tidy.
//! A request to end that only this process gets is passed on to the child.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// The child that waits for signals, or 0.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before the child was there, or 0.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Runs `command` to its end, whatever signals come. They are caught, not
/// ignored: a child starts with the default action again. A signal that is
/// ignored, as under `nohup`, stays so.
pub fn outlive(command: &mut Command) -> io::Result<ExitStatus> {
    let actions = [
        (libc::SIGINT, pass_over as extern "C" fn(libc::c_int)),
        (libc::SIGQUIT, pass_over),
        (libc::SIGTERM, pass_on),
        (libc::SIGHUP, pass_on),
    ];
    let before = actions.map(|(signal, handler)| {
        // SAFETY: the handlers call only what is safe at any moment.
        unsafe {
            let before = libc::signal(signal, handler as libc::sighandler_t);
            if before == libc::SIG_IGN {
                libc::signal(signal, before);
            }
            before
        }
    });
    let status = command.spawn().and_then(|mut child| {
        // Both are read and written in one order that all threads see: the
        // signal finds the child, or the child finds the signal.
        CHILD.store(child.id() as i32, Ordering::SeqCst);
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            pass_on(early);
        }
        let status = child.wait();
        CHILD.store(0, Ordering::SeqCst);
        status
    });
    for ((signal, _), before) in actions.into_iter().zip(before) {
        // SAFETY: gives back the action that was there.
        unsafe { libc::signal(signal, before) };
    }
    status
}

extern "C" fn pass_over(_: libc::c_int) {}

extern "C" fn pass_on(signal: libc::c_int) {
    EARLY.store(signal, Ordering::SeqCst);
    let child = CHILD.load(Ordering::SeqCst);
    if child != 0 {
        EARLY.store(0, Ordering::SeqCst);
        // SAFETY: sends a signal to a child that was not waited for yet.
        unsafe { libc::kill(child, signal) };
    }
}
