//! The executables and shared objects of the process, also those that are
//! gone.
//!
//! An address means something only together with the modules that were there
//! when it was recorded. Modules that come are found when the list is read;
//! when one goes, the list gets a new generation.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::lock::Lock;
use crate::sys::File;
use crate::text::Text;
use crate::{events, mode, park, sys};

const RESERVED: usize = 1 << 22;
const PATH_MAX: usize = 512;

/// Bytes kept of a build id; linkers make 20.
const ID_MAX: usize = 32;

/// A module as the loader says it. Zero bytes are an empty one.
#[repr(C)]
pub struct Module {
    pub bias: usize,
    pub start: usize,
    pub end: usize,
    pub first_generation: u32,
    /// `u32::MAX` while it is there.
    pub last_generation: u32,
    pub path: [u8; PATH_MAX],
    pub path_bytes: usize,
    /// By which the file is known wherever it lies; of length 0 without.
    pub id: [u8; ID_MAX],
    pub id_bytes: usize,
    /// Where its thread-local storage lies from a thread's pointer on, as a
    /// signed number, and how long it is; 0 if it has none from the start.
    pub tls: usize,
    pub tls_bytes: usize,
    seen: bool,
}

static GENERATION: AtomicU32 = AtomicU32::new(0);
static BASE: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static UPDATE: Lock<()> = Lock::new(());

/// Code of this range was compiled by us as a whole. Where it is not sampled,
/// every function in it keeps a frame pointer.
static DERIVED_START: AtomicUsize = AtomicUsize::new(0);
static DERIVED_SIZE: AtomicUsize = AtomicUsize::new(0);
static VARIABLES_START: AtomicUsize = AtomicUsize::new(0);
static VARIABLES_END: AtomicUsize = AtomicUsize::new(0);
static FRAMED_SIZE: AtomicUsize = AtomicUsize::new(0);

#[inline(always)]
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// True for addresses in code that was derived as a whole.
#[inline(always)]
pub fn is_derived(address: u64) -> bool {
    is_within(address, &DERIVED_SIZE)
}

/// True for return addresses in code that keeps frame pointers throughout.
#[inline(always)]
pub fn is_framed(address: u64) -> bool {
    is_within(address, &FRAMED_SIZE)
}

#[inline(always)]
fn is_within(address: u64, size: &AtomicUsize) -> bool {
    let start = DERIVED_START.load(Ordering::Relaxed) as u64;
    address.wrapping_sub(start) < size.load(Ordering::Relaxed) as u64
}

/// Says that the module around `address` was derived as a whole.
pub fn set_derived(address: usize) {
    let mut wanted = Around { address, start: 0, end: 0, variables: 0..0 };
    // SAFETY: the callback gets our own structure back.
    unsafe { libc::dl_iterate_phdr(Some(find_code), (&raw mut wanted).cast()) };
    let size = wanted.end - wanted.start;
    VARIABLES_START.store(wanted.variables.start, Ordering::Relaxed);
    VARIABLES_END.store(wanted.variables.end, Ordering::Relaxed);
    DERIVED_START.store(wanted.start, Ordering::Relaxed);
    DERIVED_SIZE.store(size, Ordering::Relaxed);
    FRAMED_SIZE.store(if mode::samples() { 0 } else { size }, Ordering::Relaxed);
}

/// Where a derived program has its variables.
pub fn variables() -> Range<usize> {
    VARIABLES_START.load(Ordering::Relaxed)..VARIABLES_END.load(Ordering::Relaxed)
}

struct Around {
    address: usize,
    start: usize,
    end: usize,
    variables: Range<usize>,
}

unsafe extern "C" fn find_code(info: *mut libc::dl_phdr_info, _: usize, data: *mut libc::c_void) -> i32 {
    // SAFETY: both come from `set_derived` through the loader.
    let (info, wanted) = unsafe { (&*info, &mut *data.cast::<Around>()) };
    let loaded = |flag: u32| {
        let loads = headers(info).iter().filter(|header| header.p_type == libc::PT_LOAD);
        loads.filter(move |header| header.p_flags & flag != 0).map(|header| {
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        })
    };
    let Some(code) = loaded(libc::PF_X).find(|range| range.contains(&wanted.address)) else { return 0 };
    (wanted.start, wanted.end) = (code.start, code.end);
    wanted.variables = loaded(libc::PF_W).next_back().unwrap_or(0..0);
    1
}

fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    // SAFETY: the loader says so many headers are there.
    unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) }
}

/// Reads the loader's list. Call it without holding any other lock, since the
/// loader holds its own meanwhile and may be waiting for ours.
pub fn update() {
    let now = loaded();
    let Some(_update) = UPDATE.lock_soon() else { return now.release() };
    let known = all_mut();
    known.iter_mut().for_each(|module| module.seen = false);
    let generation = generation();
    for index in 0..now.count {
        let module = now.get(index);
        let same = |other: &&mut Module| {
            other.last_generation == u32::MAX
                && other.bias == module.bias
                && other.start == module.start
                && other.path[..other.path_bytes] == module.path[..module.path_bytes]
        };
        match all_mut().iter_mut().find(same) {
            Some(found) => found.seen = true,
            None => add(module, generation),
        }
    }
    let mut gone = false;
    for module in all_mut() {
        if !module.seen && module.last_generation == u32::MAX {
            module.last_generation = generation;
            gone = true;
        }
    }
    if gone {
        GENERATION.store(generation + 1, Ordering::Relaxed);
        events::forget();
    }
    now.release();
}

fn add(module: &Module, generation: u32) {
    if BASE.load(Ordering::Relaxed) == 0 {
        BASE.store(sys::reserve(RESERVED), Ordering::Relaxed);
    }
    let (base, count) = (BASE.load(Ordering::Relaxed), COUNT.load(Ordering::Relaxed));
    let end = ((count + 1) * size_of::<Module>()).next_multiple_of(sys::PAGE);
    // SAFETY: the whole is our reservation; committing again changes nothing.
    if base == 0 || end > RESERVED || !unsafe { sys::commit(base, end) } {
        return;
    }
    let place = (base + count * size_of::<Module>()) as *mut Module;
    // SAFETY: committed just now, and not in the list yet.
    unsafe {
        core::ptr::copy_nonoverlapping(module, place, 1);
        (*place).first_generation = generation;
        (*place).last_generation = u32::MAX;
        (*place).seen = true;
    }
    COUNT.store(count + 1, Ordering::Relaxed);
}

/// The number and description of the module that was around `address` in a
/// generation.
pub fn in_generation(address: usize, generation: u32) -> Option<(usize, &'static Module)> {
    let held = |module: &Module| {
        (module.first_generation..=module.last_generation).contains(&generation)
            && (module.start..module.end).contains(&address)
    };
    all().iter().enumerate().find(|(_, module)| held(module))
}

impl Module {
    /// So many bytes of the module's constants, as its file has them.
    pub fn constants(&self, address: usize, bytes: usize) -> Option<&'static [u8]> {
        let file = File::open(Text::<PATH_MAX>::new().push(&self.path[..self.path_bytes]).as_c_str())?;
        let place = file_offset(file, address - self.bias).map(|offset| (offset, sys::allocate(bytes)));
        let content = place.filter(|(_, place)| *place != 0).and_then(|(offset, place)| {
            // SAFETY: allocated just now, and nobody else's.
            let content = unsafe { core::slice::from_raw_parts_mut(place as *mut u8, bytes) };
            (file.read_at(content, offset) == bytes).then_some(&*content)
        });
        file.close();
        content
    }
}

/// Where an executable file has what is loaded to an address.
fn file_offset(file: File, address: usize) -> Option<usize> {
    let mut header = [0; size_of::<libc::Elf64_Ehdr>()];
    file.read_at(&mut header, 0);
    // SAFETY: so many bytes, of which every value is valid.
    let header = unsafe { header.as_ptr().cast::<libc::Elf64_Ehdr>().read_unaligned() };
    for index in 0..usize::from(header.e_phnum) {
        let mut segment = [0; size_of::<libc::Elf64_Phdr>()];
        file.read_at(&mut segment, header.e_phoff as usize + index * size_of::<libc::Elf64_Phdr>());
        // SAFETY: as above.
        let segment = unsafe { segment.as_ptr().cast::<libc::Elf64_Phdr>().read_unaligned() };
        let at = address.wrapping_sub(segment.p_vaddr as usize);
        if segment.p_type == libc::PT_LOAD && at < segment.p_filesz as usize {
            return Some(segment.p_offset as usize + at);
        }
    }
    None
}

/// The number and description of the module that is mapped around `address`.
pub fn around(address: usize) -> Option<(usize, &'static Module)> {
    let holds =
        |module: &Module| module.last_generation == u32::MAX && (module.start..module.end).contains(&address);
    all().iter().enumerate().find(|(_, module)| holds(module))
}

/// All modules of all generations.
pub fn all() -> &'static [Module] {
    all_mut()
}

fn all_mut() -> &'static mut [Module] {
    let (base, count) = (BASE.load(Ordering::Relaxed), COUNT.load(Ordering::Relaxed));
    if base == 0 {
        return &mut [];
    }
    // SAFETY: so many were written; changed only under the update lock, or by
    // the only thread of a scanning child.
    unsafe { core::slice::from_raw_parts_mut(base as *mut Module, count) }
}

/// The loader's list, copied.
struct Loaded {
    base: usize,
    bytes: usize,
    count: usize,
}

impl Loaded {
    fn get(&self, index: usize) -> &Module {
        // SAFETY: so many were written by `collect`.
        unsafe { &*((self.base + index * size_of::<Module>()) as *const Module) }
    }

    fn release(self) {
        if self.base != 0 {
            // SAFETY: mapped by `loaded`, not used any more.
            unsafe { sys::release(self.base, self.bytes) };
        }
    }
}

fn loaded() -> Loaded {
    let mut bytes = 1 << 18;
    loop {
        let mut list = Loaded { base: sys::allocate(bytes), bytes, count: 0 };
        if list.base == 0 {
            return list;
        }
        // SAFETY: the callback gets our own structure back.
        if unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut list).cast()) } == 0 {
            return list;
        }
        list.release();
        bytes *= 2;
    }
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, data: *mut libc::c_void) -> i32 {
    // SAFETY: both come from `loaded` through the loader.
    let (info, list) = unsafe { (&*info, &mut *data.cast::<Loaded>()) };
    if (list.count + 1) * size_of::<Module>() > list.bytes {
        return 1;
    }
    let bias = info.dlpi_addr as usize;
    let loads = || headers(info).iter().filter(|header| header.p_type == libc::PT_LOAD);
    let start = loads().map(|header| bias + header.p_vaddr as usize).min();
    let end = loads().map(|header| bias + (header.p_vaddr + header.p_memsz) as usize).max();
    let (Some(start), Some(end)) = (start, end) else { return 0 };
    // SAFETY: room was checked above; the memory is zero, a valid module.
    let module = unsafe { &mut *((list.base + list.count * size_of::<Module>()) as *mut Module) };
    (module.bias, module.start, module.end) = (bias, start, end);
    if let Some(header) = headers(info).iter().find(|header| header.p_type == libc::PT_TLS)
        && !info.dlpi_tls_data.is_null()
    {
        module.tls = (info.dlpi_tls_data as usize).wrapping_sub(park::thread_pointer());
        module.tls_bytes = header.p_memsz as usize;
    }
    // SAFETY: the loader's names are C strings.
    let name = unsafe { core::ffi::CStr::from_ptr(info.dlpi_name) }.to_bytes();
    module.path_bytes = if name.is_empty() && list.count == 0 {
        executable_path(&mut module.path)
    } else {
        let bytes = name.len().min(PATH_MAX);
        module.path[..bytes].copy_from_slice(&name[..bytes]);
        bytes
    };
    module.id_bytes = build_id(info, &mut module.id);
    list.count += 1;
    0
}

/// The build id in a module's notes, as far as there is room.
fn build_id(info: &libc::dl_phdr_info, id: &mut [u8; ID_MAX]) -> usize {
    const NT_GNU_BUILD_ID: u32 = 3;
    for header in headers(info).iter().filter(|header| header.p_type == libc::PT_NOTE) {
        let start = (info.dlpi_addr + header.p_vaddr) as *const u8;
        // SAFETY: the loader has mapped the notes where their header says.
        let mut notes = unsafe { core::slice::from_raw_parts(start, header.p_memsz as usize) };
        while notes.len() >= 12 {
            let [name_bytes, bytes, kind] = words(notes);
            let name_end = 12 + name_bytes.next_multiple_of(4) as usize;
            let Some(content) = notes.get(name_end..name_end + bytes as usize) else { break };
            if kind == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
                let bytes = content.len().min(ID_MAX);
                id[..bytes].copy_from_slice(&content[..bytes]);
                return bytes;
            }
            notes = notes.get(name_end + bytes.next_multiple_of(4) as usize..).unwrap_or_default();
        }
    }
    0
}

/// The first three words; zeros where there are not so many.
fn words(bytes: &[u8]) -> [u32; 3] {
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    };
    [word(0), word(4), word(8)]
}

fn executable_path(path: &mut [u8; PATH_MAX]) -> usize {
    let (folder, link) = sys::below_proc(c"/proc/thread-self/exe");
    // SAFETY: the buffer is as large as said.
    let count = unsafe { libc::readlinkat(folder, link.as_ptr(), path.as_mut_ptr().cast(), PATH_MAX) };
    count.max(0) as usize
}

pub fn before_fork() {
    UPDATE.acquire();
}

pub fn after_fork() {
    UPDATE.release();
}
