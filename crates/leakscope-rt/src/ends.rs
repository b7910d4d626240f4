//! Threads that end: what only their own storage holds dies with them.
//!
//! That is thread-local variables, values under keys, and what the thread's
//! function returned. The place is where that function was left: functions
//! that code of others may call tell when they return from further out than
//! any before, and `pthread_exit` tells itself. What is freed by a destructor
//! that runs later was not lost, and is not live when anybody asks.

use leakscope_wire as wire;

use crate::events::{self, What};
use crate::stamps;
use crate::thread::Thread;

/// How many keys glibc has.
const KEYS: u32 = 1024;

/// Where the thread's function was left, as far as is known. Zero bytes are
/// an unknown place.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Exit {
    pub stack: u32,
    pub what: What,
    /// What was returned.
    pub value: usize,
}

/// The thread is about to end.
pub fn thread_ends(thread: &mut Thread) {
    let exit = core::mem::replace(&mut thread.exit, Exit { stack: 0, what: What::CALL, value: 0 });
    if exit.stack == 0 {
        return;
    }
    let mut die = |word: usize, place: u64| {
        let what = What::at(exit.what.site, exit.what.place | place);
        stamps::stamp_if(thread, word, |_| true, || events::of_stack(exit.stack, what));
    };
    die(exit.value, 0);
    for key in 0..KEYS {
        // SAFETY: for a key that nobody made the answer is null.
        die(unsafe { libc::pthread_getspecific(key) } as usize, 0);
    }
    let mut search = Search { die: &mut die, modules: 0 };
    // SAFETY: the callback gets our own structure back.
    unsafe { libc::dl_iterate_phdr(Some(search_module), (&raw mut search).cast()) };
}

struct Search<'a> {
    die: &'a mut dyn FnMut(usize, u64),
    modules: usize,
}

/// Searches the calling thread's variables of one module. Those of the
/// executable, which comes first, can be named by their offset.
unsafe extern "C" fn search_module(info: *mut libc::dl_phdr_info, _: usize, data: *mut libc::c_void) -> i32 {
    // SAFETY: both come from `thread_ends` through the loader.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search<'_>>()) };
    // SAFETY: the loader says so many headers are there.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let bytes = headers.iter().find(|header| header.p_type == libc::PT_TLS);
    let bytes = bytes.map_or(0, |header| header.p_memsz as usize);
    let start = info.dlpi_tls_data as usize;
    for offset in (0..bytes & !7).step_by(8).filter(|_| start != 0) {
        // SAFETY: the thread's own copy of the module's variables.
        let word = unsafe { core::ptr::read_volatile((start + offset) as *const usize) };
        (search.die)(word, if search.modules == 0 { wire::place_of_variable(offset) } else { 0 });
    }
    search.modules += 1;
    0
}
