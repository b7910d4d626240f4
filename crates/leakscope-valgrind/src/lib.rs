//! A Valgrind tool that finds leaks in programs as they are: it owns the heap,
//! stamps a block whenever a pointer to it is destroyed, and writes the
//! records of `leakscope-wire` at the end.
//!
//! Linked with Valgrind's core into a program of its own (`leakscope`'s
//! `build.rs` does that), which `leakscope run` starts. It knows nothing of
//! symbols or reports. Valgrind runs one thread of the program at a time, and
//! so does this code: there are no locks here.
//!
//! The instrumentation follows LEAKPOINT (ICSE 2010), section 4.1, in that it
//! sees every instruction of every library; what it keeps is not taint but
//! stamps: for each block the time and place at which pointers to it died.

#![no_std]
// What Valgrind calls is not called by tests.
#![cfg_attr(any(test, not(valgrind)), allow(dead_code))]

#[cfg(test)]
extern crate std;

mod arena;
mod heap;
mod list;
mod memory;
mod parts;
mod size_class;

#[cfg(all(valgrind, not(test)))]
mod calls;
#[cfg(all(valgrind, not(test)))]
mod containers;
#[cfg(all(valgrind, not(test)))]
mod details;
#[cfg(all(valgrind, not(test)))]
mod events;
#[cfg(all(valgrind, not(test)))]
mod frames;
#[cfg(all(valgrind, not(test)))]
mod holders;
#[cfg(all(valgrind, not(test)))]
mod inside;
#[cfg(all(valgrind, not(test)))]
mod instrument;
#[cfg(all(valgrind, not(test)))]
mod ir;
#[cfg(all(valgrind, not(test)))]
mod life;
#[cfg(all(valgrind, not(test)))]
mod machine;
#[cfg(all(valgrind, not(test)))]
mod modules;
#[cfg(all(valgrind, not(test)))]
mod pools;
#[cfg(all(valgrind, not(test)))]
mod record;
#[cfg(all(valgrind, not(test)))]
mod replace;
#[cfg(all(valgrind, not(test)))]
mod scan;
#[cfg(all(valgrind, not(test)))]
mod sink;
#[cfg(all(valgrind, not(test)))]
mod stamps;
#[cfg(all(valgrind, not(test)))]
mod tool;
#[cfg(all(valgrind, not(test)))]
mod uses;

/// What Valgrind's headers declare.
#[cfg(all(valgrind, not(test)))]
#[allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unused_imports,
    improper_ctypes,
    unsafe_op_in_unsafe_fn,
    unused_qualifications,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "made by bindgen"
)]
mod vg {
    include!(concat!(env!("OUT_DIR"), "/valgrind.rs"));
}
