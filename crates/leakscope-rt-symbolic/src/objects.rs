//! Heap objects that the driver follows: born, used, freed.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use leakscope_wire::symbolic::{Event, EventKind, wants};

use crate::shared::Counted;
use crate::thread::{self, CALLS};
use crate::{places, shadow, shared};

#[derive(Clone, Copy)]
#[repr(C)]
struct Object {
    bytes: usize,
    /// In which it was last used.
    epoch: u32,
}

static OBJECTS: AtomicPtr<Object> = AtomicPtr::new(core::ptr::null_mut());
const MOST: u32 = 1 << 22;

/// Begins anew whenever a place is passed that the driver wants.
static EPOCH: AtomicU32 = AtomicU32::new(1);

/// Calls around an allocation that are told.
const FRAMES: usize = 8;

pub fn start() -> bool {
    let objects = shared::memory(MOST as usize * size_of::<Object>());
    OBJECTS.store(objects.cast(), Ordering::Relaxed);
    !objects.is_null()
}

fn object(number: u32) -> &'static mut Object {
    // SAFETY: numbers are below the table's size; one thread at a time tells.
    unsafe { &mut *OBJECTS.load(Ordering::Relaxed).add(number as usize) }
}

/// A wanted place was passed: what is used after it is told again.
pub fn new_epoch() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// The innermost call allocated a block. Nothing that lay there before is
/// left in the shadow.
pub fn allocated(address: usize, bytes: usize) {
    if address == 0 || shared::header().is_none() {
        return;
    }
    shadow::clear(address, bytes);
    let thread = thread::current();
    let calls = (1..=thread.depth.min(FRAMES)).map(|back| thread.calls[(thread.depth - back) % CALLS]);
    let is_wanted = shared::wants(wants::ALL_OBJECTS) || calls.clone().any(places::is_wanted);
    if !is_wanted {
        return;
    }
    let number = shared::count(Counted::Object) + 1;
    if number >= MOST || OBJECTS.load(Ordering::Relaxed).is_null() {
        return;
    }
    *object(number) = Object { bytes, epoch: EPOCH.load(Ordering::Relaxed) };
    shadow::set_object(address, bytes, number);
    let frames = thread.depth.min(FRAMES).saturating_sub(1);
    shared::tell(Event {
        detail: frames as u16,
        term: bytes.min(u32::MAX as usize) as u32,
        value: number,
        ..shared::event(EventKind::Allocated, places::here())
    });
    for place in calls.skip(1) {
        shared::tell(shared::event(EventKind::Frame, places::number(place)));
    }
}

/// A block goes; 0 is none.
pub fn freed(address: usize) {
    let number = shadow::object(address);
    if address == 0 || number == 0 {
        return;
    }
    shadow::set_object(address, object(number).bytes, 0);
    shared::tell(Event { value: number, ..shared::event(EventKind::Freed, places::here()) });
}

/// Memory is read or written, which may be an object's.
#[inline]
pub fn used(address: usize, place: usize) {
    let number = shadow::object(address);
    if number != 0 {
        used_object(number, place);
    }
}

#[cold]
fn used_object(number: u32, place: usize) {
    let (object, epoch) = (object(number), EPOCH.load(Ordering::Relaxed));
    if object.epoch != epoch {
        object.epoch = epoch;
        shared::tell(Event { value: number, ..shared::event(EventKind::Used, places::number(place)) });
    }
}

/// A library function reads or writes these bytes.
pub fn used_range(address: usize, bytes: usize) {
    if bytes > 0 {
        let place = thread::call_site();
        used(address, place);
        // A range lies in one object, but for a library's own buffers.
        used(address + bytes - 1, place);
    }
}
