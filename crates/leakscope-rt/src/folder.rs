//! The folder for records. It is made where it is missing; where no record can
//! be written, the user is told once, or nobody would know.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sink;
use crate::text::Text;

/// Set once; what follows the path is zero.
static FOLDER: Folder = Folder { path: core::cell::UnsafeCell::new([0; MOST]), bytes: AtomicUsize::new(0) };

const MOST: usize = 4096;

/// What names of records need behind the path.
const NAME: usize = 64;

struct Folder {
    path: core::cell::UnsafeCell<[u8; MOST]>,
    bytes: AtomicUsize,
}

// SAFETY: written once, before the program has a second thread.
unsafe impl Sync for Folder {}

static TOLD: AtomicBool = AtomicBool::new(false);

/// Says where records go. A daemon changes its folder, so the path is kept from
/// the root on.
pub fn set(path: &[u8]) {
    // SAFETY: at the start, with one thread.
    let kept = unsafe { &mut *FOLDER.path.get() };
    let mut bytes = 0;
    if !path.is_empty() && !path.starts_with(b"/") {
        // SAFETY: room for the answer, which ends with a zero byte that counts.
        let count = unsafe { libc::syscall(libc::SYS_getcwd, kept.as_mut_ptr(), kept.len()) };
        // An answer that is no path is of a folder that cannot be reached.
        if count > 0 && kept[0] == b'/' {
            bytes = count as usize;
            kept[bytes - 1] = b'/';
        }
    }
    if bytes + path.len() + NAME < MOST {
        kept[bytes..].fill(0);
        kept[bytes..bytes + path.len()].copy_from_slice(path);
        FOLDER.bytes.store(if path.is_empty() { 0 } else { bytes + path.len() }, Ordering::Release);
    }
}

/// Whether anybody wants records.
pub fn is_wanted() -> bool {
    FOLDER.bytes.load(Ordering::Acquire) != 0
}

pub fn path() -> &'static [u8] {
    // SAFETY: not changed after its length was set.
    unsafe { &(&*FOLDER.path.get())[..FOLDER.bytes.load(Ordering::Acquire)] }
}

/// Makes the folder where it is missing, at the start of the program.
pub fn prepare() {
    sink::note_error_output();
    let path = FOLDER.path.get().cast::<c_char>();
    // SAFETY: not changed any more, and zero behind the path.
    let is_ready = || unsafe { libc::access(path, libc::W_OK | libc::X_OK) } == 0;
    if !(is_ready() || make_all() && is_ready()) {
        tell(errno());
    }
}

#[cold]
fn make_all() -> bool {
    let mut part = Text::<MOST>::new();
    let mut made = 0;
    for name in path().split(|&byte| byte == b'/') {
        part.push(name);
        if !name.is_empty() {
            // SAFETY: a C string. What is there already is no harm.
            made = unsafe { libc::mkdir(part.as_c_str().as_ptr(), 0o777) };
        }
        part.push(b"/");
    }
    made == 0 || errno() == libc::EEXIST
}

/// Tells the user once that no record can be written, and why.
#[cold]
pub fn tell(error: c_int) {
    unsafe extern "C" {
        safe fn strerrordesc_np(error: c_int) -> *const c_char;
    }
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    let reason = strerrordesc_np(error);
    // SAFETY: null, or a text that stays.
    let reason = if reason.is_null() { c"unknown error" } else { unsafe { CStr::from_ptr(reason) } };
    let mut line = Text::<{ MOST + 256 }>::new();
    line.push(b"cannot write to LEAKSCOPE_DIR, ").push(path()).push(b": ").push(reason.to_bytes());
    sink::mention(line.as_bytes());
}

pub fn errno() -> c_int {
    // SAFETY: errno is a thread's own variable.
    unsafe { *libc::__errno_location() }
}
