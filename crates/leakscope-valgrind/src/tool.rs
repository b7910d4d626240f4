//! What Valgrind asks a tool for: names, options, and functions for events.

use core::ffi::{CStr, c_char, c_int};

use leakscope_wire::Cause;

use crate::calls::Calls;
use crate::details::Activation;
use crate::heap::Point;
use crate::list::List;
use crate::memory::Single;
use crate::{
    calls, details, events, frames, heap, inside, instrument, life, modules, pools, replace, stamps, vg,
};

/// A thread of the program.
pub struct Thread {
    pub calls: Calls,
    /// What the general registers held at the last return: those that a
    /// function need not keep are dead from then on.
    pub dead: [usize; 16],
    /// What the register of results held when it lost its meaning; 0 after the
    /// next return.
    pub dead_result: usize,
    /// What the last return left there, if only a part of it was the result.
    pub flag: usize,
    /// Where the last return led to, and the time before it.
    pub returned_to: usize,
    pub returned_at: u64,
    /// Its stack, lowest and highest address; empty if unknown.
    pub stack: (usize, usize),
    /// The last return from the function that the thread was started with.
    pub left: Point,
    /// Where the last exception was thrown, or a jump over frames was made.
    pub thrown: Thrown,
    /// Memory around the stack pointer that is mapped.
    pub mapped: (usize, usize),
    /// The registers in which the last call had arguments, in a run that explains.
    pub passed: u16,
    pub activations: List<Activation>,
}

#[derive(Clone, Copy)]
pub struct Thrown {
    pub context: u32,
    /// How many calls had not returned.
    pub depth: usize,
    /// The clock when frames had been left behind.
    pub landed: u32,
}

impl Thrown {
    /// The throw, if memory that is freed in `context` may go because of it: first
    /// of all that happens in a function which called the one that threw.
    pub fn takes_back(&self, context: u32) -> Option<u32> {
        let is_first = self.context != 0 && self.landed == stamps::clock();
        let function = calls::node(context).filter(|_| is_first)?.parent;
        let mut caller = self.context;
        while caller != function {
            caller = calls::node(caller)?.parent;
        }
        Some(self.context)
    }
}

impl Thread {
    /// What left the function that the thread was started with, as the end of
    /// the thread.
    pub fn end(&self) -> Option<Point> {
        let left = stamps::site(self.left.site)?;
        let site = stamps::new_site(left.address, Cause::ThreadEnd as u32, left.way);
        Some(Point { site, ..self.left })
    }

    /// Notes what a return leaves in the registers of the result and of those
    /// that functions need not keep.
    #[inline]
    pub fn note_dead(&mut self, registers: &[usize; 16]) {
        self.dead[..4].copy_from_slice(&registers[..4]);
        self.dead[6..12].copy_from_slice(&registers[6..12]);
    }

    /// `low`, or as far down from `high` as there is memory: a large frame may
    /// never have been touched.
    #[inline]
    pub fn mapped_from(&mut self, low: usize, high: usize) -> usize {
        if low < self.mapped.0 || high > self.mapped.1 {
            self.mapped = modules::segment(high - 8)
                .filter(|segment| segment.hasR != 0 && segment.hasW != 0)
                .map_or((usize::MAX, 0), |segment| (segment.start as usize, segment.end as usize + 1));
        }
        low.max(self.mapped.0).min(high)
    }
}

/// Valgrind's own limit unless it is raised by an option.
const THREADS: usize = 500;
static THREADS_KNOWN: Single<[Thread; THREADS]> = Single::new([const { new_thread(0) }; THREADS]);
static CURRENT: Single<*mut Thread> = Single::new(core::ptr::null_mut());

const fn new_thread(number: u32) -> Thread {
    Thread {
        calls: Calls::new(number),
        dead: [0; 16],
        dead_result: 0,
        flag: 0,
        returned_to: 0,
        returned_at: 0,
        stack: (1, 0),
        left: Point { context: 0, site: 0 },
        thrown: Thrown { context: 0, depth: 0, landed: 0 },
        mapped: (usize::MAX, 0),
        passed: 0,
        activations: List::new(),
    }
}

/// The thread that runs.
#[inline(always)]
pub fn current() -> &'static mut Thread {
    // SAFETY: set before any thread runs, to one of those above.
    unsafe { &mut **CURRENT.get() }
}

#[inline(always)]
pub fn thread(number: usize) -> &'static mut Thread {
    &mut THREADS_KNOWN.get()[if number < THREADS { number } else { 0 }]
}

pub fn for_each_thread(mut f: impl FnMut(&mut Thread)) {
    THREADS_KNOWN.get().iter_mut().for_each(&mut f);
}

/// What `leakscope run` says.
pub struct Options {
    /// Folder for records.
    pub folder: Option<&'static CStr>,
    /// Name of the socket for records that no file can hold; empty for none.
    pub socket: &'static [u8],
    pub depth: usize,
    pub last_use: bool,
    /// Milliseconds between snapshots, 0 for none.
    pub snapshot_every: u32,
    /// The signal that asks for a snapshot, 0 for none.
    pub snapshot_signal: u32,
}

pub static OPTIONS: Single<Options> = Single::new(Options {
    folder: None,
    socket: b"",
    depth: 32,
    last_use: false,
    snapshot_every: 0,
    snapshot_signal: 0,
});

/// Where Valgrind's core starts a tool.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Valgrind's name for it")]
pub static vgPlain_tl_pre_clo_init: unsafe extern "C" fn() = start;

unsafe extern "C" fn start() {
    // SAFETY: Valgrind's functions, called where its documentation says, with
    // functions and strings that live as long as the tool.
    unsafe {
        vg::vgPlain_details_name(c"leakscope".as_ptr());
        vg::vgPlain_details_version(core::ptr::null());
        vg::vgPlain_details_description(c"leak points in unmodified programs".as_ptr());
        vg::vgPlain_details_copyright_author(c"GPL-2.0-or-later, the leakscope authors".as_ptr());
        vg::vgPlain_details_bug_reports_to(c"the leakscope authors".as_ptr());
        vg::vgPlain_details_avg_translation_sizeB(400);
        vg::vgPlain_basic_tool_funcs(Some(after_options), Some(instrument::block), Some(life::end));
        vg::vgPlain_needs_command_line_options(Some(option), Some(usage), Some(usage));
        vg::vgPlain_needs_malloc_replacement(
            Some(replace::malloc),
            Some(replace::malloc),
            Some(replace::new_aligned),
            Some(replace::malloc),
            Some(replace::new_aligned),
            Some(replace::memalign),
            Some(replace::calloc),
            Some(replace::free),
            Some(replace::free),
            Some(replace::delete_aligned),
            Some(replace::free),
            Some(replace::delete_aligned),
            Some(replace::realloc),
            Some(replace::usable_size),
            0,
        );
        vg::vgPlain_needs_libc_freeres();
        vg::vgPlain_needs_cxx_freeres();
        vg::vgPlain_needs_syscall_wrapper(Some(life::before_system_call), Some(life::after_system_call));
        vg::vgPlain_needs_client_requests(Some(life::request));
        vg::vgPlain_track_start_client_code(Some(run_thread));
        vg::vgPlain_track_pre_thread_ll_create(Some(life::thread_begins));
        vg::vgPlain_track_pre_thread_ll_exit(Some(life::thread_ends));
        vg::vgPlain_track_pre_deliver_signal(Some(life::signal_begins));
        vg::vgPlain_track_post_deliver_signal(Some(life::signal_ends));
        vg::vgPlain_track_die_mem_stack_signal(Some(life::signal_frame_dies));
        vg::vgPlain_track_new_mem_startup(Some(modules::mapped));
        vg::vgPlain_track_new_mem_mmap(Some(modules::mapped));
        vg::vgPlain_track_change_mem_mprotect(Some(modules::protected));
        vg::vgPlain_track_pre_mem_write(Some(life::system_writes));
        vg::vgPlain_atfork(None, None, Some(life::child_begins));
    }
    for number in 0..THREADS {
        *thread(number) = new_thread(number as u32);
    }
    *CURRENT.get() = thread(1);
    heap::start();
}

/// The program is mapped, and its loader.
unsafe extern "C" fn after_options() {
    inside::choose_if_alone();
}

/// A thread gets its turn.
unsafe extern "C" fn run_thread(number: vg::ThreadId, _: vg::ULong) {
    let thread = thread(number as usize);
    *CURRENT.get() = thread;
    calls::forget_thread();
    // SAFETY: it is there; a thread that had its turn may have data there.
    unsafe { *events::has_red_zone() = 1 };
    // SAFETY: the thread runs.
    let (highest, size) =
        unsafe { (vg::vgPlain_thread_get_stack_max(number), vg::vgPlain_thread_get_stack_size(number)) };
    thread.stack = ((highest as usize).wrapping_sub(size as usize), highest as usize);
    life::snapshot_if_due();
}

unsafe extern "C" fn option(text: *const c_char) -> vg::Bool {
    // SAFETY: Valgrind gives a C string that stays.
    let text: &'static CStr = unsafe { CStr::from_ptr(text) };
    let options = OPTIONS.get();
    let bytes = text.to_bytes();
    let value = |name: &[u8]| bytes.strip_prefix(name);
    let path = |name: &[u8]| {
        let start = bytes.len() - value(name)?.len();
        CStr::from_bytes_with_nul(text.to_bytes_with_nul().get(start..)?).ok()
    };
    if let Some(folder) = path(b"--records=") {
        options.folder = Some(folder);
    } else if let Some(name) = value(b"--socket=") {
        options.socket = name;
    } else if let Some(depth) = value(b"--depth=") {
        options.depth = number(depth).clamp(1, 64);
    } else if let Some(choice) = value(b"--last-use=") {
        options.last_use = choice == b"yes";
    } else if let Some(millis) = value(b"--snapshot-every=") {
        options.snapshot_every = number(millis) as u32;
    } else if let Some(signal) = value(b"--snapshot-signal=") {
        options.snapshot_signal = number(signal) as u32;
    } else if let Some(table) = path(b"--frames=") {
        frames::load(table);
    } else if let Some(chosen) = path(b"--explain=") {
        details::choose(chosen);
    } else if let Some(function) = value(b"--pool=") {
        return pools::add_function(function).into();
    } else {
        return 0;
    }
    1
}

pub fn number(text: &[u8]) -> usize {
    text.iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |value: usize, byte| value.saturating_mul(10).saturating_add(usize::from(byte & 15)))
}

unsafe extern "C" fn usage() {
    let text = c"    --records=DIR           folder for records\n    --socket=NAME           abstract socket for records that no file can hold\n    --depth=N               frames kept of a call stack [32]\n    --last-use=no|yes       note where blocks are used [no]\n    --snapshot-every=MS     milliseconds between snapshots, 0 for none [0]\n    --snapshot-signal=N     signal that asks for a snapshot, 0 for none [0]\n    --frames=FILE           where the program's locals end\n    --explain=FILE          which blocks' pointers are noted as they come and go\n    --pool=ROLE,...,NAME    a function of the program's own allocator\n";
    // SAFETY: a C string without directives.
    unsafe { vg::vgPlain_printf(text.as_ptr()) };
}

/// What compiled Rust code calls.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    // SAFETY: as the caller's.
    unsafe { vg::vgPlain_strlen(text) as usize }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> c_int {
    // SAFETY: as the caller's.
    unsafe { vg::vgPlain_memcmp(a.cast(), b.cast(), count as u64) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> c_int {
    // SAFETY: as the caller's.
    unsafe { vg::vgPlain_memcmp(a.cast(), b.cast(), count as u64) }
}

/// A bug of ours: Valgrind says so, and ends.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: does not return.
    unsafe { vg::vgPlain_tool_panic(c"leakscope: internal error".as_ptr()) }
}

/// Valgrind's own reading of line tables and inlined functions, led here when
/// the tool is linked: names and lines are made outside the program, and
/// Valgrind gives up on debug information that it does not know (split units of
/// DWARF 5).
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_vgModuleLocal_read_debuginfo_dwarf3() {}
