//! Models of library functions: what they do, done here, with terms for what
//! they return and write.
//!
//! What a function decides by looking at bytes becomes a constraint, which the
//! driver may turn like a branch; what it computes becomes a term. Names are
//! in `leakscope_wire::symbolic::MODELS`.

mod around;
mod cxx_strings;
mod files;
mod heap;
mod istreams;
mod memory;
mod numbers;
mod operators;
mod options;
mod others;
mod prints;
mod scans;
mod streams;
mod strings;
mod wanted;

use core::ffi::c_int;

use leakscope_wire::symbolic::{self as wire, Event, EventKind, Why, source, wants};

use crate::shared::Counted;
use crate::terms::{self, Known};
use crate::{objects, places, shadow, shared, thread};

/// Defines models, each for one function or for several that do the same. Each
/// gets the terms of its arguments and gives its result with a term.
macro_rules! models {
    ($(fn [$($name:ident)+] $arguments:tt -> $result:ty = |$terms:pat_param| $body:expr;)*) => {
        $($(crate::models::model! { $name $arguments $result, $terms, $body })+)*
    };
}

macro_rules! model {
    ($name:ident ($($argument:ident: $ty:ty),*) $result:ty, $terms:pat_param, $body:expr) => {
        /// # Safety
        /// As for the library's function.
        #[allow(non_snake_case)]
        #[cfg_attr(not(test), unsafe(export_name = concat!("__leakscope_model_", stringify!($name))))]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> $result {
            let own = $name as *const () as usize;
            let $terms = crate::thread::arguments(own);
            let (value, term): ($result, u32) = $body;
            crate::thread::returns(own, term);
            value
        }
    };
}
pub(crate) use {model, models};

/// Whether the driver wants this call to fail. Calls are counted.
fn fails() -> bool {
    let Some(header) = shared::header() else { return false };
    if !shared::wants(wants::FAILURES) {
        return false;
    }
    let number = shared::count(Counted::Failable);
    // SAFETY: so many numbers are there, written before the program began.
    let listed = unsafe {
        let count = ((*header).fails as usize).min(wire::MAX_FAILS);
        core::slice::from_raw_parts(shared::region(wire::FAILS).cast::<u32>(), count)
    };
    let fails = listed.contains(&number);
    shared::tell(Event {
        taken: fails.into(),
        term: terms::input(source::FAILS, number, 1),
        value: number,
        ..shared::event(EventKind::Failable, places::here())
    });
    fails
}

fn set_errno(error: c_int) {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = error };
}

/// Says what a model found.
fn found(term: u32) {
    if term != 0 {
        terms::hold(term, Why::Model, places::here());
    }
}

/// What a model found byte by byte. The first ones are told one by one, so that
/// the driver can turn each and leave the other bytes as they are.
#[derive(Default)]
struct Steps {
    count: usize,
    rest: u32,
}

impl Steps {
    const TOLD: usize = 96;

    fn add(&mut self, term: u32) {
        self.count += 1;
        if self.count <= Steps::TOLD {
            found(term);
        } else {
            self.rest = terms::and(self.rest, term);
        }
    }

    /// Tells what is left.
    fn finish(&self) {
        found(self.rest);
    }
}

/// A pointer that a model uses; one that depends on the input is taken as it
/// is.
fn pointer(address: usize, term: u32) {
    terms::pin(Known { value: address as u64, term }, Why::Address, places::here());
}

/// A size or count that a model uses.
fn size(bytes: usize, term: u32) {
    terms::pin(Known { value: bytes as u64, term }, Why::Size, places::here());
}

/// The program's memory is read or written by a model.
fn touch(address: usize, bytes: usize) {
    objects::used_range(address, bytes);
}

/// Writes a number into the program's memory, with its term.
///
/// # Safety
/// The memory can be written.
unsafe fn write(address: usize, bytes: usize, known: Known) {
    shadow::store(address, bytes, known);
    touch(address, bytes);
    let number = known.value.to_le_bytes();
    // SAFETY: as the caller says.
    unsafe { core::ptr::copy_nonoverlapping(number.as_ptr(), address as *mut u8, bytes.min(8)) };
}

/// Writes bytes into the program's memory, with their terms.
///
/// # Safety
/// The memory can be written.
unsafe fn write_byte(address: usize, byte: Known) {
    shadow::set(address, byte);
    // SAFETY: as the caller says.
    unsafe { (address as *mut u8).write(byte.value as u8) };
}

/// The place of the model's call, as data.
fn call_site() -> usize {
    thread::call_site()
}
