//! The file that both sides have mapped: appending nodes and events.

use core::mem::size_of;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use leakscope_wire::symbolic::{self as wire, Event, EventKind, Header, Node, limits};

static MAPPING: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static HEADER: AtomicPtr<Header> = AtomicPtr::new(core::ptr::null_mut());
static NODES: AtomicPtr<Node> = AtomicPtr::new(core::ptr::null_mut());
static EVENTS: AtomicPtr<Event> = AtomicPtr::new(core::ptr::null_mut());
static NODE_CAPACITY: AtomicU32 = AtomicU32::new(0);
static NODE_COUNT: AtomicU32 = AtomicU32::new(1);
static EVENT_COUNT: AtomicU32 = AtomicU32::new(0);
static WANTS: AtomicU32 = AtomicU32::new(0);

/// Maps the file. False if it is not one of ours.
pub fn open(path: &core::ffi::CStr) -> bool {
    // SAFETY: a C string; the mapping is new, and checked before it is used.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let bytes = libc::lseek(file, 0, libc::SEEK_END).max(0) as usize;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let mapping = libc::mmap(core::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file, 0);
        libc::close(file);
        if mapping == libc::MAP_FAILED || bytes < size_of::<Header>() {
            return false;
        }
        let mapping = mapping.cast::<u8>();
        let header = &mut *mapping.cast::<Header>();
        if header.magic != wire::MAGIC || header.version != wire::VERSION || header.file_bytes() > bytes {
            return false;
        }
        NODE_CAPACITY.store(header.node_capacity, Ordering::Relaxed);
        WANTS.store(header.wants, Ordering::Relaxed);
        NODES.store(mapping.add(header.nodes_at()).cast(), Ordering::Relaxed);
        EVENTS.store(mapping.add(header.events_at()).cast(), Ordering::Relaxed);
        MAPPING.store(mapping, Ordering::Relaxed);
        header.nodes = 1;
        HEADER.store(header, Ordering::Relaxed);
    }
    true
}

/// From now on nothing is told: in a child of the program.
pub fn close() {
    HEADER.store(core::ptr::null_mut(), Ordering::Relaxed);
    WANTS.store(0, Ordering::Relaxed);
}

/// The header, while there is somebody to tell. Its words are the target's.
pub fn header() -> Option<*mut Header> {
    let header = HEADER.load(Ordering::Relaxed);
    (!header.is_null()).then_some(header)
}

/// Where a region of the file begins.
pub fn region(at: usize) -> *mut u8 {
    // SAFETY: asked only while the file is mapped, for places in it.
    unsafe { MAPPING.load(Ordering::Relaxed).add(at) }
}

pub fn wants(what: u32) -> bool {
    WANTS.load(Ordering::Relaxed) & what != 0
}

pub fn node_capacity() -> u32 {
    NODE_CAPACITY.load(Ordering::Relaxed)
}

/// A node that was made.
pub fn node(number: u32) -> Node {
    // SAFETY: numbers come from `push`, which stayed below the capacity.
    unsafe { *NODES.load(Ordering::Relaxed).add(number as usize) }
}

/// Adds a node; 0 if there is no room.
pub fn push(node: Node) -> u32 {
    let Some(header) = header() else { return 0 };
    let number = NODE_COUNT.fetch_add(1, Ordering::Relaxed);
    if number >= NODE_CAPACITY.load(Ordering::Relaxed) {
        NODE_COUNT.store(NODE_CAPACITY.load(Ordering::Relaxed), Ordering::Relaxed);
        limit(limits::NODES);
        return 0;
    }
    // SAFETY: below the capacity; the count follows what it counts.
    unsafe {
        NODES.load(Ordering::Relaxed).add(number as usize).write(node);
        let count = AtomicU32::from_ptr(&raw mut (*header).nodes);
        count.fetch_max(number + 1, Ordering::Release);
    }
    number
}

pub fn tell(event: Event) {
    let Some(header) = header() else { return };
    let number = EVENT_COUNT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the header is mapped; below the capacity; the count follows what
    // it counts.
    unsafe {
        if number >= (*header).event_capacity {
            EVENT_COUNT.store((*header).event_capacity, Ordering::Relaxed);
            return limit(limits::EVENTS);
        }
        EVENTS.load(Ordering::Relaxed).add(number as usize).write(event);
        let count = AtomicU32::from_ptr(&raw mut (*header).events);
        count.fetch_max(number + 1, Ordering::Release);
    }
}

/// Counts one of the ways of branches once more, as far as a byte goes.
pub fn count_way(index: usize) {
    let Some(header) = header() else { return };
    // SAFETY: the header and the counts are mapped, as many as it says.
    unsafe {
        let (at, bytes) = ((*header).counts_at(), (*header).count_bytes());
        if index < bytes {
            let count = region(at + index);
            count.write(count.read().saturating_add(1));
        }
    }
}

/// An event of this kind at a place, for more to be filled in.
pub fn event(kind: EventKind, place: u32) -> Event {
    Event { kind: kind as u8, place, ..Event::default() }
}

/// Says that something did not fit.
pub fn limit(what: u32) {
    if let Some(header) = header() {
        // SAFETY: the header is mapped.
        unsafe { AtomicU32::from_ptr(&raw mut (*header).limits) }.fetch_or(what, Ordering::Relaxed);
    }
}

/// What the header counts.
#[derive(Clone, Copy)]
pub enum Counted {
    Failable,
    Object,
}

/// Counts one more: how many there were before.
pub fn count(what: Counted) -> u32 {
    let Some(header) = header() else { return 0 };
    // SAFETY: words of the header, which is mapped.
    let counter = unsafe {
        AtomicU32::from_ptr(match what {
            Counted::Failable => &raw mut (*header).failable,
            Counted::Object => &raw mut (*header).objects,
        })
    };
    counter.fetch_add(1, Ordering::Relaxed)
}

/// Keeps a name for the driver: where it is.
pub fn keep_name(name: &[u8]) -> u32 {
    let Some(header) = header() else { return 0 };
    // SAFETY: the header is mapped, and room for the name was looked for.
    unsafe {
        let at = (*header).name_bytes;
        if at as usize + name.len() + 1 > (*header).name_capacity as usize {
            limit(limits::NAMES);
            return 0;
        }
        let to = region((*header).names_at() + at as usize);
        core::ptr::copy_nonoverlapping(name.as_ptr(), to, name.len());
        to.add(name.len()).write(0);
        (*header).name_bytes = at + name.len() as u32 + 1;
        at
    }
}

/// Memory of our own, not the program's heap; null if there is none.
pub fn memory(bytes: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping disturbs nothing.
    let memory = unsafe { libc::mmap(core::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        limit(limits::MEMORY);
        return core::ptr::null_mut();
    }
    memory.cast()
}
