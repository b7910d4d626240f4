//! The runtime inside programs that are derived with the `symbolic` engine:
//! while the program runs as it always does, terms over its input and events
//! go to a file that the driver has mapped too (`leakscope_wire::symbolic`).
//!
//! Without that file the program runs plainly. The heap stays libc's; no
//! solver is here. Nothing allocates on the program's heap, and nothing
//! panics. One thread at a time is meant to build terms; others may, but
//! events then come in the order in which they were written.

#![cfg_attr(not(test), no_std)]
// What the program calls is not called by tests.
#![cfg_attr(test, allow(dead_code))]

mod enumerate;
mod flow;
mod inputs;
mod models;
mod objects;
mod places;
mod shadow;
mod shared;
mod start;
mod terms;
mod thread;

/// There is no panic to handle: the release build has none left, and a debug
/// build stops. Only in the profile `runtime`: among the other crates of the
/// workspace, dependencies bring `std` and its handler.
#[cfg(all(not(test), panic = "abort"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
