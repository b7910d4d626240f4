//! Which executables and shared objects are mapped where, and when that was:
//! the list gets a new generation whenever one goes.

use core::ffi::CStr;

use crate::list::List;
use crate::memory::{PAGE, Single};
use crate::{calls, tool, vg};

const PATH_MAX: usize = 1024;

#[derive(Clone, Copy)]
pub struct Module {
    pub bias: usize,
    pub start: usize,
    pub end: usize,
    pub first_generation: u32,
    pub last_generation: u32,
    pub path: [u8; PATH_MAX],
    pub path_bytes: usize,
    is_users: bool,
    /// Below a thread's pointer, if this is the executable.
    pub thread_local_bytes: usize,
}

impl Module {
    pub fn is_present(&self) -> bool {
        self.last_generation == PRESENT
    }
}

struct Modules {
    list: List<Module>,
    generation: u32,
    /// Where preloaded code was seen, lowest and highest address.
    preloaded: (usize, usize),
    /// Code was mapped since the list was made.
    stale: bool,
}

static MODULES: Single<Modules> =
    Single::new(Modules { list: List::new(), generation: 0, preloaded: (usize::MAX, 0), stale: true });

/// As the last generation: the module is there still.
const PRESENT: u32 = u32::MAX;

pub fn generation() -> u32 {
    MODULES.get().generation
}

/// All modules that there are or were.
pub fn all() -> &'static [Module] {
    update();
    &MODULES.get().list
}

/// Valgrind says that memory was mapped.
pub unsafe extern "C" fn mapped(
    _: vg::Addr,
    _: vg::SizeT,
    _: vg::Bool,
    _: vg::Bool,
    executable: vg::Bool,
    _: vg::ULong,
) {
    MODULES.get().stale |= executable != 0;
}

pub unsafe extern "C" fn protected(
    _: vg::Addr,
    _: vg::SizeT,
    _: vg::Bool,
    _: vg::Bool,
    executable: vg::Bool,
) {
    MODULES.get().stale |= executable != 0;
}

/// Memory is about to be unmapped. If there was a module, addresses mean
/// something else from now on.
pub fn before_unmapping(start: usize, end: usize) {
    update();
    let modules = MODULES.get();
    let gone = |module: &&mut Module| {
        module.last_generation >= modules.generation && module.start < end && start < module.end
    };
    let mut any = false;
    for module in modules.list.iter_mut().filter(gone) {
        module.last_generation = modules.generation;
        any = true;
    }
    if any {
        modules.generation += 1;
        calls::forget_children();
        tool::for_each_thread(|thread| thread.calls.forget_contexts());
    }
}

/// Whose code it is, where that matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Reports name it.
    Program,
    /// What Valgrind and we preload: `malloc` and its kin.
    Preloaded,
    /// The dynamic linker goes between a call and its function, and saves and
    /// restores what the registers hold.
    Linker,
}

pub fn owner(address: usize) -> Owner {
    let path = segment(address).and_then(path_of).unwrap_or_default();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    if name.starts_with(b"vgpreload_") {
        let modules = MODULES.get();
        modules.preloaded = (modules.preloaded.0.min(address), modules.preloaded.1.max(address + PAGE));
        Owner::Preloaded
    } else if name.starts_with(b"ld-linux-") {
        Owner::Linker
    } else {
        Owner::Program
    }
}

/// Whether an address is in the program, or in a library of its own.
pub fn is_users(address: u64) -> bool {
    update();
    let module = MODULES.get().list.iter().rfind(|it| (it.start..it.end).contains(&(address as usize)));
    module.is_some_and(|module| module.is_users)
}

/// A return address in its module; 0 if there is none.
pub fn relative(address: u64) -> u64 {
    update();
    let call = (address as usize).wrapping_sub(1);
    let module = MODULES.get().list.iter().rfind(|it| (it.start..it.end).contains(&call));
    module.map_or(0, |module| address.wrapping_sub(module.bias as u64))
}

/// How far the module at an address was shifted, if it is the one at `path`.
pub fn bias_of(address: usize, path: &[u8]) -> Option<usize> {
    update();
    let module = MODULES.get().list.iter().rfind(|it| (it.start..it.end).contains(&address))?;
    (&module.path[..module.path_bytes] == path).then_some(module.bias)
}

fn is_users_path(path: &[u8]) -> bool {
    let is_library = path.windows(3).any(|part| part == b".so");
    !is_library || !path.starts_with(b"/usr/") && !path.starts_with(b"/lib")
}

/// Whether an address is in preloaded code that has run.
#[inline]
pub fn is_preloaded(address: u64) -> bool {
    let (low, high) = MODULES.get().preloaded;
    (low..high).contains(&(address as usize))
}

fn update() {
    let modules = MODULES.get();
    if !modules.stale {
        return;
    }
    modules.stale = false;
    for_each_segment(vg::SkFileC, |segment| {
        let code = segment.start as usize;
        let known = |module: &Module| {
            module.last_generation >= modules.generation && (module.start..module.end).contains(&code)
        };
        if segment.hasX != 0 && !modules.list.iter().any(known) {
            modules.list.push(module_of(segment, modules.generation));
        }
    });
}

/// Calls `f` for each segment of the program's of these kinds.
pub fn for_each_segment(kinds: vg::SegKind, mut f: impl FnMut(&vg::NSegment)) {
    let mut starts = List::<vg::Addr>::new();
    starts.resize(256, 0);
    loop {
        // SAFETY: the buffer is as long as said.
        let count =
            unsafe { vg::vgPlain_am_get_segment_starts(kinds, starts.as_mut_ptr(), starts.len() as i32) };
        if count >= 0 {
            starts.truncate(count as usize);
            break;
        }
        // It would need so many; growing the list may add segments.
        starts.resize(count.unsigned_abs() as usize + 64, 0);
    }
    for &start in starts.iter() {
        if let Some(segment) = segment(start as usize) {
            f(segment);
        }
    }
    starts.free();
}

pub fn segment(address: usize) -> Option<&'static vg::NSegment> {
    // SAFETY: null or a segment, which stays until something is mapped.
    unsafe { vg::vgPlain_am_find_nsegment(address as u64).as_ref() }
}

pub fn path_of(segment: &vg::NSegment) -> Option<&'static [u8]> {
    // SAFETY: null or a C string of Valgrind's, which stays.
    unsafe {
        let path = vg::vgPlain_am_get_filename(segment);
        (!path.is_null()).then(|| CStr::from_ptr(path).to_bytes())
    }
}

/// The module whose code `segment` is. Its first page, where it is mapped,
/// says how far it reaches and how it was shifted.
fn module_of(code: &vg::NSegment, generation: u32) -> Module {
    let mut module = Module {
        bias: (code.start as usize).wrapping_sub(code.offset as usize),
        start: code.start as usize,
        end: code.end as usize + 1,
        first_generation: generation,
        last_generation: PRESENT,
        path: [0; PATH_MAX],
        path_bytes: 0,
        is_users: true,
        thread_local_bytes: 0,
    };
    if let Some(path) = path_of(code) {
        module.is_users = is_users_path(path);
        module.path_bytes = path.len().min(PATH_MAX);
        module.path[..module.path_bytes].copy_from_slice(&path[..module.path_bytes]);
    }
    let mut head = None;
    for_each_own(code, |segment| {
        if segment.offset == 0 && segment.start <= code.start {
            head = Some(segment.start as usize);
        }
    });
    if let Some((low, high, thread_local_bytes)) = head.and_then(extent) {
        module.start = head.unwrap_or_default();
        module.bias = module.start.wrapping_sub(low);
        module.end = module.bias.wrapping_add(high);
        module.thread_local_bytes = thread_local_bytes;
    }
    module
}

/// Calls `f` for the segments of the same file.
fn for_each_own(code: &vg::NSegment, mut f: impl FnMut(&vg::NSegment)) {
    for_each_segment(vg::SkFileC, |segment| {
        if (segment.dev, segment.ino) == (code.dev, code.ino) && segment.hasR != 0 {
            f(segment);
        }
    });
}

/// From the ELF header at `head`: the lowest page and the end, as linked, and
/// how much each thread has for itself.
fn extent(head: usize) -> Option<(usize, usize, usize)> {
    const LOAD: u32 = 1;
    const THREAD_LOCAL: u32 = 7;
    // SAFETY: the first page of a file is mapped there, readable; the checks
    // below keep to it.
    let page = unsafe { core::slice::from_raw_parts(head as *const u8, PAGE) };
    let word = |offset: usize| Some(usize::from_le_bytes(page.get(offset..offset + 8)?.try_into().ok()?));
    let half = |offset: usize| Some(u16::from_le_bytes(page.get(offset..offset + 2)?.try_into().ok()?));
    if !page.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let (table, size, count) = (word(32)?, usize::from(half(54)?), usize::from(half(56)?));
    let (mut low, mut high, mut thread_local_bytes) = (usize::MAX, 0, 0);
    for number in 0..count {
        let entry = table.checked_add(number * size)?;
        let kind = u32::from_le_bytes(page.get(entry..entry + 4)?.try_into().ok()?);
        if kind == LOAD {
            let (address, bytes) = (word(entry + 16)?, word(entry + 40)?);
            low = low.min(address & !(PAGE - 1));
            high = high.max(address.checked_add(bytes)?);
        } else if kind == THREAD_LOCAL {
            thread_local_bytes = word(entry + 40)?.checked_next_multiple_of(word(entry + 48)?.max(1))?;
        }
    }
    (low < high).then_some((low, high, thread_local_bytes))
}
