//! The runtime inside the target process: it owns the heap, knows where every
//! block was allocated, finds at the end which ones are lost, and writes that
//! down.
//!
//! It is linked into derived programs and preloaded into others. It does not
//! allocate, does not panic, and knows nothing of symbols or reports: the
//! record it writes (`leakscope-wire`) is read elsewhere. Built for x86-64
//! Linux with glibc 2.35 or later.

#![cfg_attr(not(test), no_std)]
// What the program calls is not called by tests.
#![cfg_attr(test, allow(dead_code))]

#[cfg_attr(not(feature = "executable"), allow(dead_code))]
mod accesses;
mod actions;
mod activations;
mod api;
mod arena;
#[cfg_attr(test, allow(unused_imports, unused_macros))]
mod assembly;
mod client;
mod cxx;
mod depot;
mod details;
#[cfg(feature = "executable")]
mod ends;
#[cfg(feature = "executable")]
mod entry;
mod events;
mod fault;
mod folder;
mod foreign;
mod heap;
mod history;
mod holders;
mod identity;
mod inject;
mod jail;
#[cfg(feature = "executable")]
mod left;
mod life;
mod limits;
mod loads;
mod lock;
mod maps;
mod mode;
mod modules;
mod moments;
mod only;
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
mod outline;
mod park;
mod pointers;
mod pools;
mod quick;
mod record;
mod rotation;
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
mod sampling;
mod scan;
mod scratch;
mod signals;
mod sink;
mod sites;
mod size_class;
mod stamps;
mod sys;
mod text;
mod thread;
mod trail;
mod unwind;
mod uses;
mod waits;
mod walk;
#[cfg_attr(not(feature = "executable"), allow(dead_code))]
mod watches;

/// There is no panic to handle: the release build has none left, and a debug
/// build stops. Only in the profile `runtime`: among the other crates of the
/// workspace, dependencies bring `std` and its handler.
#[cfg(all(not(test), panic = "abort"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
