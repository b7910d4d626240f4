//! Stands in for `malloc` and its kin. Valgrind's preloaded object leads the
//! program's calls here.

use core::ffi::c_void;

use leakscope_wire::{Cause, FaultKind};

use crate::heap::{self, Block, Held, Point, State};
use crate::list::{List, Numbers};
use crate::memory::Single;
use crate::vg::{SizeT, ThreadId};
use crate::{calls, details, life, modules, parts, stamps, tool};

/// How many blocks of one allocation context were freed in one context.
pub struct Frees {
    pub pairs: Numbers<(u32, u32)>,
    pub blocks: List<u64>,
}

pub static FREES: Single<Frees> = Single::new(Frees { pairs: Numbers::new(), blocks: List::new() });

pub unsafe extern "C" fn malloc(thread: ThreadId, bytes: SizeT) -> *mut c_void {
    address_of(allocate(thread, bytes as usize, 16))
}

pub unsafe extern "C" fn memalign(thread: ThreadId, align: SizeT, bytes: SizeT) -> *mut c_void {
    address_of(allocate(thread, bytes as usize, align as usize))
}

pub unsafe extern "C" fn new_aligned(thread: ThreadId, bytes: SizeT, align: SizeT) -> *mut c_void {
    address_of(allocate(thread, bytes as usize, align as usize))
}

pub unsafe extern "C" fn calloc(thread: ThreadId, count: SizeT, each: SizeT) -> *mut c_void {
    let Some(bytes) = (count as usize).checked_mul(each as usize) else { return core::ptr::null_mut() };
    let block = allocate(thread, bytes, 16);
    if let Some(block) = &block {
        // SAFETY: the block is the program's, and as large as asked for.
        unsafe { core::ptr::write_bytes(block.start as *mut u8, 0, bytes) };
    }
    address_of(block)
}

pub unsafe extern "C" fn free(thread: ThreadId, place: *mut c_void) {
    if place.is_null() {
        return;
    }
    match block_at(place) {
        Ok(block) => release(caller(thread), block, Freed::ByProgram),
        Err(kind) => life::fault(thread, place as usize, kind),
    }
}

pub unsafe extern "C" fn delete_aligned(thread: ThreadId, place: *mut c_void, _: SizeT) {
    // SAFETY: the caller's.
    unsafe { free(thread, place) };
}

pub unsafe extern "C" fn realloc(thread: ThreadId, place: *mut c_void, bytes: SizeT) -> *mut c_void {
    if place.is_null() {
        return address_of(allocate(thread, bytes as usize, 16));
    }
    let old = match block_at(place) {
        Ok(block) => block,
        Err(kind) => {
            life::fault(thread, place as usize, kind);
            return core::ptr::null_mut();
        }
    };
    if bytes == 0 {
        release(caller(thread), old, Freed::ByProgram);
        return core::ptr::null_mut();
    }
    let Some(new) = allocate(thread, bytes as usize, 16) else { return core::ptr::null_mut() };
    let kept = old.bytes.min(new.bytes);
    // SAFETY: two blocks of the program's, each at least so large.
    unsafe { core::ptr::copy_nonoverlapping(old.start as *const u8, new.start as *mut u8, kept) };
    if details::are_kept() {
        details::moved(old.start, new.start, kept, new.allocated);
    }
    // What was copied did not die; the rest does with the old block.
    old.words()[..kept / 8].fill(0);
    release(new.allocated, old, Freed::Moved);
    address_of(Some(new))
}

pub unsafe extern "C" fn usable_size(_: ThreadId, place: *mut c_void) -> SizeT {
    block_at(place).map_or(0, |block| block.bytes as SizeT)
}

fn allocate(thread: ThreadId, bytes: usize, align: usize) -> Option<&'static mut Block> {
    let block = heap::allocate(bytes, align)?;
    stamps::tick();
    block.allocated = caller(thread);
    block.epoch = life::epoch();
    Some(block)
}

/// Why a block is freed.
#[derive(PartialEq, Eq)]
enum Freed {
    ByProgram,
    /// It goes on elsewhere.
    Moved,
}

/// Frees a block, and with it the pointers that it holds.
fn release(context: u32, block: &'static mut Block, freed: Freed) {
    if let Some(context) = tool::current().thrown.takes_back(context) {
        let point = Point { context, site: stamps::site_of_cause(Cause::Unwound) };
        stamps::stamp_words(block.words(), point);
    }
    stamps::stamp_and_clear(
        block.words(),
        Point { context, site: stamps::site_of_cause(Cause::HolderFreed) },
        |word| Held::behind_argument(0, word),
    );
    if freed == Freed::ByProgram {
        count_free(block.allocated, context);
    }
    stamps::note_if_counted(block);
    if details::are_kept() {
        details::end(block);
    }
    parts::forget(block.start, block.start + block.bytes);
    block.link = context;
    heap::free(block);
}

pub fn count_free(allocated: u32, context: u32) {
    let frees = FREES.get();
    let pair = frees.pairs.number((allocated, context)) as usize;
    if pair > frees.blocks.len() {
        frees.blocks.push(0);
    }
    frees.blocks[pair - 1] += 1;
}

/// Who called `malloc` or its kin: not another of them.
fn caller(thread: ThreadId) -> u32 {
    let mut context = tool::thread(thread as usize).calls.context();
    while let Some(node) = calls::node(context).filter(|node| modules::is_preloaded(node.address)) {
        context = node.parent;
    }
    context
}

fn block_at(place: *mut c_void) -> Result<&'static mut Block, FaultKind> {
    match heap::at(place as usize).filter(|block| block.start == place as usize) {
        Some(block) if block.state != State::Free => Ok(block),
        Some(block) if block.allocated != 0 || block.link != 0 => Err(FaultKind::DoubleFree),
        _ => Err(FaultKind::InvalidFree),
    }
}

fn address_of(block: Option<&'static mut Block>) -> *mut c_void {
    block.map_or(core::ptr::null_mut(), |block| block.start as *mut c_void)
}
