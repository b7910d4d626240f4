//! Places of the program: numbers for the driver, and what it wants of them.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leakscope_wire::symbolic::{self as wire, Module, Place, PlaceKind, limits, wants};

use crate::{shared, start, thread};

/// Set where everything of its kind is wanted, and not this place.
const ALL: u32 = 2;

/// Set where only the number of times is wanted.
const COUNTED: u32 = 4;

/// A derived executable or library: its places, and the first one's number.
struct Known {
    start: AtomicUsize,
    end: AtomicUsize,
    base: AtomicU32,
}

static MODULES: [Known; wire::MAX_MODULES] =
    [const { Known { start: AtomicUsize::new(0), end: AtomicUsize::new(0), base: AtomicU32::new(0) } };
        wire::MAX_MODULES];

/// The first number that no place has yet, and the first count that is no
/// way's.
static NEXT: AtomicU32 = AtomicU32::new(1);
static NEXT_WAY: AtomicU32 = AtomicU32::new(0);

/// What each module calls when it is loaded, before any of its own code.
///
/// # Safety
/// The places of the module lie between the two.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_sym_register(first: *mut Place, end: *mut Place) {
    start::start();
    let Some(header) = shared::header() else { return };
    for (index, known) in MODULES.iter().enumerate() {
        let before = known.start.load(Ordering::Relaxed);
        if before == first as usize {
            return;
        }
        if before != 0 {
            continue;
        }
        let count = ((end as usize - first as usize) / size_of::<Place>()) as u32;
        let base = NEXT.fetch_add(count, Ordering::Relaxed);
        known.end.store(end as usize, Ordering::Relaxed);
        known.base.store(base, Ordering::Relaxed);
        known.start.store(first as usize, Ordering::Relaxed);
        let mut module = Module { base, count, path: [0; 248] };
        // SAFETY: addresses in loaded modules; names live as long as they do.
        unsafe {
            let info = module_of(first.cast());
            let is_executable = info.dli_fbase == module_of(number as *const _).dli_fbase;
            if !is_executable && !info.dli_fname.is_null() {
                let name = core::ffi::CStr::from_ptr(info.dli_fname).to_bytes();
                let length = name.len().min(module.path.len() - 1);
                module.path[..length].copy_from_slice(&name[..length]);
            }
            shared::region(wire::MODULES).cast::<Module>().add(index).write(module);
            (*header).modules = index as u32 + 1;
            for number in 0..count {
                let place = &mut *first.add(number as usize);
                place.flags = flags(place, base + number, (*header).place_capacity);
                let ways = PlaceKind::from_u16(place.kind).map_or(0, |kind| Place::ways(kind, place.cases));
                place.first_way = NEXT_WAY.fetch_add(ways, Ordering::Relaxed);
            }
        }
        return;
    }
    shared::limit(limits::MODULES);
}

/// # Safety
/// An address in a loaded module.
unsafe fn module_of(address: *const core::ffi::c_void) -> libc::Dl_info {
    // SAFETY: numbers and pointers, which may be zero; filled if it is known.
    unsafe {
        let mut info = core::mem::zeroed();
        libc::dladdr(address, &mut info);
        info
    }
}

fn flags(place: &Place, number: u32, capacity: u32) -> u32 {
    if number >= capacity {
        shared::limit(limits::PLACES);
        return 0;
    }
    // SAFETY: one byte for each place below the capacity.
    let own = unsafe { shared::region(wire::PLACES + number as usize).read() };
    let of_all = match PlaceKind::from_u16(place.kind) {
        Some(PlaceKind::Branch | PlaceKind::Switch) => wants::ALL_BRANCHES,
        Some(PlaceKind::Function) => wants::ALL_CALLS,
        Some(PlaceKind::Line) => wants::ALL_POINTS,
        Some(PlaceKind::Call) | None => 0,
    };
    let counts = of_all == wants::ALL_BRANCHES && shared::wants(wants::COUNTS);
    u32::from(own) | if shared::wants(of_all) { ALL } else { 0 } | if counts { COUNTED } else { 0 }
}

/// The number of a place.
pub fn number(place: usize) -> u32 {
    for known in &MODULES {
        let start = known.start.load(Ordering::Relaxed);
        if start == 0 {
            break;
        }
        if (start..known.end.load(Ordering::Relaxed)).contains(&place) {
            return known.base.load(Ordering::Relaxed) + ((place - start) / size_of::<Place>()) as u32;
        }
    }
    0
}

/// Counts a branch that goes one of its ways; whether it is to be told too.
pub fn count(place: &Place, way: usize) -> bool {
    if place.flags & COUNTED != 0 {
        shared::count_way(place.first_way as usize + way);
    }
    place.flags & !COUNTED != 0
}

/// Whether the driver wants this very place.
pub fn is_wanted(place: usize) -> bool {
    // SAFETY: places are data of the program.
    place != 0 && unsafe { (*(place as *const Place)).flags } & u32::from(Place::WANTED) != 0
}

/// The number of the place that a model was called from.
pub fn here() -> u32 {
    number(thread::call_site())
}
