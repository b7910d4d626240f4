//! The few things asked of the kernel. All are async-signal-safe, none
//! allocates, and failure is a value.

use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use crate::text::Text;

pub const PAGE: usize = 4096;

/// Address space without memory behind it; 0 if there is none. A page is left
/// free on both sides, so that the kernel never shows it as one mapping with
/// memory of the program's.
pub fn reserve(bytes: usize) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping disturbs nothing that exists.
    let address =
        unsafe { libc::mmap(core::ptr::null_mut(), bytes + 2 * PAGE, libc::PROT_NONE, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return 0;
    }
    note_own(address as usize, address as usize + bytes + 2 * PAGE);
    address as usize + PAGE
}

/// What can be done with reserved memory before it is committed.
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Untouched {
    Faults = libc::PROT_NONE,
    /// As zeroes.
    IsRead = libc::PROT_READ,
}

/// The same at a given address; 0 if that is not free.
pub fn reserve_at(address: usize, bytes: usize, untouched: Untouched) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let (start, bytes) = (address - PAGE, bytes + 2 * PAGE);
    // SAFETY: fails where anything exists.
    let found = unsafe { libc::mmap(start as *mut _, bytes, untouched as i32, flags, -1, 0) };
    if found as usize != start {
        if found != libc::MAP_FAILED {
            // SAFETY: mapped just now, by a kernel that does not know the flag.
            unsafe { libc::munmap(found, bytes) };
        }
        return 0;
    }
    note_own(start, start + bytes);
    address
}

/// Start and end of what was reserved; a start of 0 is a free entry.
static OWN: [(AtomicUsize, AtomicUsize); 32] = [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 32];

fn note_own(start: usize, end: usize) {
    for (entry, entry_end) in &OWN {
        // Relaxed: readers are the scan, which comes after.
        if entry.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return entry_end.store(end, Ordering::Relaxed);
        }
    }
}

/// Whether an address lies in a reservation of ours, the free pages around it
/// included.
pub fn is_own(address: usize) -> bool {
    OWN.iter().any(|(start, end)| {
        let start = start.load(Ordering::Relaxed);
        start != 0 && (start..end.load(Ordering::Relaxed)).contains(&address)
    })
}

/// Zeroed memory; 0 if there is none.
pub fn allocate(bytes: usize) -> usize {
    let address = reserve(bytes);
    // SAFETY: reserved just now.
    if address != 0 && !unsafe { commit(address, bytes) } {
        // SAFETY: nobody knows of it yet.
        unsafe { release(address, bytes) };
        return 0;
    }
    address
}

/// Zeroed memory that stays one with that of copies of the process; 0 if there
/// is none.
pub fn share(bytes: usize) -> usize {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    map(bytes, access, flags)
}

/// Zeroed memory of which most will not be touched, and which nothing is kept
/// back for; 0 if there is none.
pub fn reserve_sparse(bytes: usize) -> usize {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    map(bytes, access, flags)
}

fn map(bytes: usize, access: i32, flags: i32) -> usize {
    // SAFETY: a new anonymous mapping disturbs nothing that exists.
    let address = unsafe { libc::mmap(core::ptr::null_mut(), bytes, access, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return 0;
    }
    note_own(address as usize, address as usize + bytes);
    address as usize
}

/// Gives back what [`reserve`] or [`allocate`] gave.
///
/// # Safety
/// Nothing refers to it any more.
pub unsafe fn release(address: usize, bytes: usize) {
    for (start, _) in &OWN {
        let _ = start.compare_exchange(address - PAGE, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    // SAFETY: as the caller says.
    unsafe { unmap(address - PAGE, bytes + 2 * PAGE) };
}

/// Gives back the end of a reservation.
///
/// # Safety
/// The range is a mapping of the caller's that nothing refers to any more.
pub unsafe fn unmap(address: usize, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { libc::munmap(address as *mut _, bytes) };
}

/// Makes reserved address space usable; counted by the kernel as any private
/// mapping is, so an overcommitting request fails as it would elsewhere.
///
/// # Safety
/// The range was reserved by [`reserve`].
pub unsafe fn commit(address: usize, bytes: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe { libc::mprotect(address as *mut _, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Gets memory for a range at once, instead of a page at a time when it is
/// first written to. Systems that cannot do so leave it as it was.
///
/// # Safety
/// The range is committed.
pub unsafe fn populate(address: usize, bytes: usize) {
    let end = (address + bytes).next_multiple_of(PAGE);
    let start = address & !(PAGE - 1);
    // SAFETY: as the caller says; what is in memory already stays as it is.
    unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_POPULATE_WRITE) };
}

/// Makes whole pages of a file's mapping a mapping of their own, so that the
/// system does not bring them into memory together with their neighbours.
pub fn set_apart(start: usize, end: usize) {
    let (start, end) = (start.next_multiple_of(PAGE), end & !(PAGE - 1));
    if start < end {
        // SAFETY: advice on how pages are read changes nothing of what they hold.
        unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_RANDOM) };
    }
}

/// Gives the memory behind a range back; it reads as zeros afterwards.
///
/// # Safety
/// The range is committed, and its content is not needed any more.
pub unsafe fn discard(address: usize, bytes: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe { libc::madvise(address as *mut _, bytes, libc::MADV_DONTNEED) == 0 }
}

/// Moves the memory behind a range to another, which has none afterwards but is
/// as usable as before. False where the system cannot do so.
///
/// # Safety
/// Both ranges are whole pages of committed memory; the content of the second is
/// not needed.
pub unsafe fn move_pages(from: usize, to: usize, bytes: usize) -> bool {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
    // SAFETY: as the caller says.
    unsafe { libc::mremap(from as *mut _, bytes, bytes, flags, to as *mut libc::c_void) as usize == to }
}

/// Nanoseconds since 1970.
pub fn nanoseconds() -> u64 {
    let time = clock(libc::CLOCK_REALTIME);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// By a system call: it is asked for rarely, and libc's function would bring
/// pages of code into memory that many programs do not need.
fn clock(which: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::syscall(libc::SYS_clock_gettime, which, &mut time) };
    time
}

/// Milliseconds since the system started.
pub fn monotonic_millis() -> u64 {
    let time = clock(libc::CLOCK_MONOTONIC);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// Sets the base of the segment register that nothing else on Linux uses.
pub fn set_gs(base: usize) -> bool {
    const ARCH_SET_GS: usize = 0x1001;
    // SAFETY: changes what code of ours addresses by `gs`.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_GS, base) == 0 }
}

pub fn futex_wait(word: &AtomicU32, expected: u32) {
    let null = core::ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            null,
        )
    };
}

pub fn futex_wait_millis(word: &AtomicU32, expected: u32, millis: u64) {
    let time = libc::timespec { tv_sec: (millis / 1000) as i64, tv_nsec: (millis % 1000 * 1_000_000) as i64 };
    // SAFETY: the word and the time outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            &time,
        )
    };
}

pub fn futex_wake(word: &AtomicU32, threads: i32) {
    // SAFETY: the word outlives the call.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, threads)
    };
}

/// Whether anything is mapped at an address.
pub fn is_mapped(address: usize) -> bool {
    let mut resident = 0_u8;
    // SAFETY: asks about one page, with room for the answer.
    keeping_errno(|| unsafe {
        libc::syscall(libc::SYS_mincore, address & !(PAGE - 1), PAGE, &raw mut resident) == 0
    })
}

/// Process id as the kernel says it now, also in a child of `vfork`.
pub fn pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Runs `f` and leaves `errno` as it was.
pub fn keeping_errno<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: errno is a thread's own variable.
    let before = unsafe { *libc::__errno_location() };
    let value = f();
    set_errno(before);
    value
}

pub fn set_errno(value: i32) {
    // SAFETY: errno is a thread's own variable.
    unsafe { *libc::__errno_location() = value };
}

/// The folder `/proc` of a program that changed its root; -1 in all others.
static PROC: AtomicI32 = AtomicI32::new(-1);

/// Opens `/proc` while it can be seen. The descriptor is large, where the
/// limit allows, so that the program's own get the numbers that they would.
pub fn keep_proc() {
    if PROC.load(Ordering::Relaxed) >= 0 {
        return;
    }
    // SAFETY: a C string, and descriptors that are ours.
    unsafe {
        let small = libc::open(c"/proc".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
        let large = libc::fcntl(small, libc::F_DUPFD_CLOEXEC, 900);
        if large >= 0 {
            libc::close(small);
        }
        PROC.store(if large >= 0 { large } else { small }, Ordering::Relaxed);
    }
}

/// Closes all descriptors of the process but the one for `/proc`.
///
/// # Safety
/// Nobody uses them any more.
pub unsafe fn close_all() {
    let proc = PROC.load(Ordering::Relaxed);
    // SAFETY: as the caller says.
    unsafe {
        if proc > 0 {
            libc::syscall(libc::SYS_close_range, 0u32, proc as u32 - 1, 0u32);
        }
        libc::syscall(libc::SYS_close_range, (proc + 1) as u32, u32::MAX, 0u32);
    }
}

/// Where a path in `/proc` leads from the folder that was kept. The program
/// may have closed it, and opened something else by its number; then nothing
/// of these names is there.
pub fn below_proc(path: &CStr) -> (i32, &CStr) {
    let proc = PROC.load(Ordering::Relaxed);
    match path.to_bytes_with_nul().strip_prefix(b"/proc/") {
        Some(rest) if proc >= 0 => (proc, CStr::from_bytes_with_nul(rest).unwrap_or(path)),
        _ => (libc::AT_FDCWD, path),
    }
}

/// An open file; not closed by itself.
#[derive(Clone, Copy)]
pub struct File(pub i32);

impl File {
    pub fn open(path: &CStr) -> Option<File> {
        File::new(path, libc::O_RDONLY | libc::O_CLOEXEC, 0)
    }

    pub fn create(path: &CStr) -> Option<File> {
        File::new(path, libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC, 0o600)
    }

    pub fn open_folder(path: &CStr) -> Option<File> {
        File::new(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)
    }

    fn new(path: &CStr, flags: i32, mode: u32) -> Option<File> {
        let (folder, path) = below_proc(path);
        // SAFETY: the path is a C string.
        let fd = unsafe { libc::openat(folder, path.as_ptr(), flags, mode) };
        (fd >= 0).then_some(File(fd))
    }

    /// Reads what fits; 0 at the end or on an error.
    pub fn read(self, buffer: &mut [u8]) -> usize {
        loop {
            // SAFETY: the buffer is valid for its length.
            let count = unsafe { libc::syscall(libc::SYS_read, self.0, buffer.as_mut_ptr(), buffer.len()) };
            if count >= 0 {
                return count as usize;
            }
            // SAFETY: errno is a thread's own variable.
            if unsafe { *libc::__errno_location() } != libc::EINTR {
                return 0;
            }
        }
    }

    /// Its length in bytes; 0 if that cannot be told.
    pub fn size(self) -> usize {
        // SAFETY: a query into a local structure.
        unsafe {
            let mut status: libc::stat = core::mem::zeroed();
            if libc::fstat(self.0, &mut status) == 0 { status.st_size as usize } else { 0 }
        }
    }

    /// Reads at an offset; 0 where nothing can be read.
    pub fn read_at(self, buffer: &mut [u8], offset: usize) -> usize {
        // SAFETY: the buffer is valid for its length.
        let count = unsafe { libc::pread(self.0, buffer.as_mut_ptr().cast(), buffer.len(), offset as i64) };
        count.max(0) as usize
    }

    pub fn write_all(self, bytes: &[u8]) -> bool {
        // SAFETY: the bytes are valid for their length.
        all_of(bytes, |rest, _| unsafe { libc::write(self.0, rest.as_ptr().cast(), rest.len()) })
    }

    pub fn write_all_at(self, bytes: &[u8], offset: u64) -> bool {
        // SAFETY: the bytes are valid for their length.
        all_of(bytes, |rest, done| unsafe {
            libc::pwrite(self.0, rest.as_ptr().cast(), rest.len(), (offset + done) as i64)
        })
    }

    /// What a file holds, in memory that stays, with room for `more` bytes behind it; and
    /// how many bytes that is, up to the room.
    pub fn keep(path: &[u8], more: usize) -> Option<(usize, usize)> {
        let file = File::open(Text::<4096>::new().push(path).as_c_str())?;
        let bytes = file.size().next_multiple_of(8);
        let place = allocate(bytes + more);
        if place != 0 {
            // SAFETY: allocated just now, with room for the file.
            file.read_at(unsafe { core::slice::from_raw_parts_mut(place as *mut u8, bytes) }, 0);
        }
        file.close();
        (place != 0).then_some((place, bytes))
    }

    /// To a socket, without a signal if nobody listens any more.
    pub fn send_all(self, bytes: &[u8]) -> bool {
        // SAFETY: the bytes are valid for their length.
        all_of(bytes, |rest, _| unsafe {
            libc::send(self.0, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL)
        })
    }

    pub fn close(self) {
        // SAFETY: the descriptor is ours.
        unsafe { libc::close(self.0) };
    }
}

/// Calls `write` with what is left, and how much is done, until all is.
fn all_of(bytes: &[u8], write: impl Fn(&[u8], u64) -> isize) -> bool {
    let mut done = 0;
    while done < bytes.len() {
        let count = write(&bytes[done..], done as u64);
        if count > 0 {
            done += count as usize;
        // SAFETY: errno is a thread's own variable.
        } else if count == 0 || unsafe { *libc::__errno_location() } != libc::EINTR {
            return false;
        }
    }
    true
}
