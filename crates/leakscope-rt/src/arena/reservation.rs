//! The address space that the heap takes: all that it may ever need where that
//! is not limited, else a share of what is left.

use core::sync::atomic::{AtomicUsize, Ordering};

use leakscope_wire::followed;

use super::{
    ACCESSES, ACCESSES_BASE, BASE, BLOCKS, CHUNK, CHUNKS, Chunk, GROWTH, LAST_USES, LastUse, META, METAS,
    OWN_REACH, REACH, SIZE, STAMP, STAMPS, STEPS, Step, TABLES, USE, USE_CHUNKS, USES, address_of, chunk,
    is_followed, last_use, runs, seats, step,
};
use crate::sys::Untouched;
use crate::{details, mode, moments, sys};

/// Reserved where the address space is not limited.
const FULL_SIZE: usize = 1 << 42;
const LEAST_SIZE: usize = 1 << 24;

const _: () = assert!(FULL_SIZE == (followed::END - followed::BLOCKS) as usize);

/// Address space limit that was found at the start, if it left less than
/// [`FULL_SIZE`].
static LIMITED: AtomicUsize = AtomicUsize::new(0);

/// Reserves the heap at the first call. False if there is no address space.
pub fn ready() -> bool {
    BASE.load(Ordering::Acquire) != 0 || reserve()
}

#[cold]
fn reserve() -> bool {
    let _runs = runs::lock();
    if BASE.load(Ordering::Relaxed) != 0 {
        return true;
    }
    let left = address_space_left();
    let mut size = FULL_SIZE.min(share_of(left));
    if size < FULL_SIZE {
        LIMITED.store(size, Ordering::Relaxed);
    }
    let follows = mode::follows_pointers();
    while size >= LEAST_SIZE.min(FULL_SIZE) {
        if follows && reserve_followed(size) || reserve_plain(size) {
            return true;
        }
        size = (size / 2) & !(CHUNK * GROWTH - 1);
        LIMITED.store(size, Ordering::Relaxed);
    }
    false
}

fn reserve_plain(size: usize) -> bool {
    let most = seats_of(size);
    // One more chunk, so that the start can be aligned.
    let sizes = [size + CHUNK, most * META, size / CHUNK * size_of::<Chunk>()];
    let [blocks, metas, chunks] = sizes.map(sys::reserve);
    let accesses = if mode::samples() { sys::reserve(most * ACCESSES) } else { 0 };
    let is_whole = blocks != 0 && metas != 0 && chunks != 0 && (accesses != 0) == mode::samples();
    if is_whole {
        ACCESSES_BASE.store(accesses, Ordering::Relaxed);
        use_reservation((blocks + CHUNK - 1) & !(CHUNK - 1), metas, chunks, size);
    } else {
        let all = [blocks, metas, chunks].into_iter().zip(sizes);
        release_all(all.chain([(accesses, most * ACCESSES)]));
    }
    is_whole
}

/// The same where pointers are followed, with what that needs.
fn reserve_followed(size: usize) -> bool {
    let (most, count) = (seats_of(size), size / CHUNK);
    let fixed = [
        (BLOCKS, size, Untouched::Faults),
        (STAMPS, most * STAMP, Untouched::IsRead),
        (USES, most * USE, Untouched::Faults),
        (STEPS, count * size_of::<Step>(), Untouched::IsRead),
        (LAST_USES, count * size_of::<LastUse>(), Untouched::IsRead),
    ]
    .map(|(address, bytes, untouched)| (sys::reserve_at(address, bytes, untouched), bytes));
    let sizes = [most * META, count * size_of::<Chunk>()];
    let [metas, chunks] = sizes.map(sys::reserve);
    let all = fixed.into_iter().chain([metas, chunks].into_iter().zip(sizes));
    let is_whole = all.clone().all(|(address, _)| address != 0);
    if is_whole {
        set_reach(size);
        use_reservation(BLOCKS, metas, chunks, size);
    } else {
        release_all(all);
    }
    is_whole
}

/// How many seats a heap of this size gets: as many as the smallest blocks that
/// fit.
fn seats_of(size: usize) -> usize {
    (size / 16).min(seats::MOST)
}

fn set_reach(size: usize) {
    REACH.store(size, Ordering::Relaxed);
    USE_CHUNKS.store(size / CHUNK, Ordering::Relaxed);
    OWN_REACH.store(if moments::are_counted() || details::are_kept() { 0 } else { size }, Ordering::Relaxed);
}

fn use_reservation(blocks: usize, metas: usize, chunks: usize, size: usize) {
    METAS.store(metas, Ordering::Relaxed);
    CHUNKS.store(chunks, Ordering::Relaxed);
    SIZE.store(size, Ordering::Relaxed);
    seats::set_most(seats_of(size));
    // Release: whoever sees the base sees the rest.
    BASE.store(blocks, Ordering::Release);
}

fn release_all(reservations: impl Iterator<Item = (usize, usize)>) {
    for (address, bytes) in reservations.filter(|&(address, _)| address != 0) {
        // SAFETY: reserved just now, and used by nobody.
        unsafe { sys::release(address, bytes) };
    }
}

/// Bytes that the blocks may take if the address space is limited, else 0.
pub fn limited_to() -> usize {
    LIMITED.load(Ordering::Relaxed)
}

/// Gives back what is reserved beyond a share of `limit`, which the address
/// space of the process is about to have.
pub fn shrink(limit: usize) {
    let runs = runs::lock();
    let size = SIZE.load(Ordering::Relaxed);
    let tables = if is_followed() { TABLES } else { 0 };
    let own = size + seats::reserved() + size / CHUNK * (size_of::<Chunk>() + tables);
    let others = address_space_used().saturating_sub(own);
    let wanted = share_of(limit.saturating_sub(others)).max(runs.committed() * CHUNK);
    if wanted >= size {
        return;
    }
    SIZE.store(wanted, Ordering::Relaxed);
    LIMITED.store(wanted, Ordering::Relaxed);
    let (kept, count) = (wanted / CHUNK, size / CHUNK);
    if is_followed() {
        set_reach(wanted);
    }
    seats::shrink(seats_of(wanted));
    // SAFETY: the ends of our reservations, beyond what was ever committed.
    unsafe {
        sys::unmap(address_of(kept), size - wanted);
        if is_followed() {
            for table in [|at| step(at) as usize, |at| last_use(at) as usize] {
                let [from, end] = [kept, count].map(|chunk| table(chunk).next_multiple_of(sys::PAGE));
                sys::unmap(from, end - from);
            }
        }
        sys::unmap(chunk(kept) as usize, (count - kept) * size_of::<Chunk>());
    }
}

/// What blocks get of the address space. Their metadata gets half as much,
/// their stamps as much and their uses a quarter, or their accesses three
/// quarters, and a part is left for everything else.
fn share_of(left: usize) -> usize {
    let parts = match () {
        _ if mode::follows_pointers() => 4,
        _ if mode::samples() => 3,
        _ => 2,
    };
    (left / parts) & !(CHUNK * GROWTH - 1)
}

fn address_space_left() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a plain query; the system call itself, since `getrlimit` may be ours.
    unsafe { libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_AS, 0usize, &mut limit) };
    if limit.rlim_cur == libc::RLIM_INFINITY {
        return usize::MAX;
    }
    (limit.rlim_cur as usize).saturating_sub(address_space_used())
}

fn address_space_used() -> usize {
    let mut text = [0; 64];
    sys::File::open(c"/proc/thread-self/statm").map_or(0, |file| {
        let count = file.read(&mut text);
        file.close();
        let digits = text[..count].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |pages, byte| pages * 10 + usize::from(byte - b'0')) * sys::PAGE
    })
}
