//! The deaths of each block's pointers, counted: so that a later run of the same
//! program can stop, under a debugger, at the one by which the block was lost.
//!
//! A block is known by the identity of its allocation stack and its ordinal
//! among the blocks of that stack, a death by its ordinal among those of the
//! block. Costs a search for each birth; only where it is asked for.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use leakscope_wire::{Moment, env};

use crate::lock::Lock;
use crate::{depot, identity, sys};

const OFF: u8 = 0;
const COUNT: u8 = 1;
const STOP: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(OFF);

/// The moment to stop at.
static WANTED_IDENTITY: AtomicU64 = AtomicU64::new(0);
static WANTED_ORDINAL: AtomicU32 = AtomicU32::new(0);
static WANTED_STAMP: AtomicU32 = AtomicU32::new(0);

/// Moments of live blocks by slot; address space of which little is used.
static MOMENTS: AtomicUsize = AtomicUsize::new(0);
const SLOTS: usize = 1 << 38;

/// Births by allocation stack.
static BIRTHS: Lock<Births> = Lock::new(Births { table: 0, used: 0 });
const STACKS: usize = 1 << 18;

struct Births {
    /// Address of [`Birth`]s, [`STACKS`] of them.
    table: usize,
    used: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Birth {
    stack: u32,
    count: u32,
    identity: u64,
}

/// As the environment says, before the first block.
pub fn choose(value: &[u8]) {
    let mode = if value == env::MOMENTS_COUNT.as_bytes() {
        COUNT
    } else if let Some(moment) = value.strip_prefix(env::MOMENTS_STOP.as_bytes()) {
        let number = |text: &[u8]| {
            text.iter().fold(0u64, |sum, byte| sum.wrapping_mul(10).wrapping_add(u64::from(byte & 15)))
        };
        let mut parts = moment.split(|&byte| byte == b',').map(number);
        let mut next = || parts.next().unwrap_or(0);
        WANTED_IDENTITY.store(next(), Ordering::Relaxed);
        WANTED_ORDINAL.store(next() as u32, Ordering::Relaxed);
        WANTED_STAMP.store(next() as u32, Ordering::Relaxed);
        STOP
    } else {
        OFF
    };
    if mode == OFF {
        return;
    }
    let [moments, table] =
        [SLOTS * size_of::<Moment>(), STACKS * size_of::<Birth>()].map(sys::reserve_sparse);
    if moments != 0 && table != 0 {
        BIRTHS.lock().table = table;
        MOMENTS.store(moments, Ordering::Relaxed);
        MODE.store(mode, Ordering::Relaxed);
    }
}

pub fn before_fork() {
    BIRTHS.acquire();
}

pub fn after_fork() {
    BIRTHS.release();
}

/// Whether anybody wants to know.
#[inline(always)]
pub fn are_counted() -> bool {
    MODE.load(Ordering::Relaxed) != OFF
}

/// A block of this stack is born.
pub fn born(slot: u64, stack: u32) {
    if let Some(place) = place(slot) {
        // Not under the lock: the loader may be asked, which has its own.
        let known = BIRTHS.lock().next(stack, None);
        let (identity, ordinal) =
            known.or_else(|| BIRTHS.lock().next(stack, Some(identity::of_stack(stack)))).unwrap_or_default();
        // SAFETY: the place is the block's, which is its owner's.
        unsafe { place.write(Moment { identity, ordinal, stamp: 0 }) };
    }
}

/// A pointer to the block dies; the program goes on at `next`.
pub fn stamped(slot: u64, next: usize) {
    let Some(place) = place(slot) else { return };
    // SAFETY: as above; two threads at once have no order, and only one counts.
    let moment = unsafe {
        (*place).stamp += 1;
        *place
    };
    let wanted = Moment {
        identity: WANTED_IDENTITY.load(Ordering::Relaxed),
        ordinal: WANTED_ORDINAL.load(Ordering::Relaxed),
        stamp: WANTED_STAMP.load(Ordering::Relaxed),
    };
    if MODE.load(Ordering::Relaxed) == STOP && moment == wanted {
        leakscope_leak_here(next);
    }
}

/// What a record says of a block.
pub fn read(slot: u64) -> Moment {
    // SAFETY: the place of a block that stands still.
    place(slot).map_or(Moment::default(), |place| unsafe { *place })
}

/// A breakpoint of the debugger's stands here.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[inline(never)]
extern "C" fn leakscope_leak_here(next: usize) {
    // SAFETY: nothing; keeps the call and its argument.
    unsafe { core::arch::asm!("/* {} */", in(reg) next, options(nostack, preserves_flags)) };
}

fn place(slot: u64) -> Option<*mut Moment> {
    let base = MOMENTS.load(Ordering::Relaxed);
    (base != 0 && (slot as usize) < SLOTS).then(|| (base as *mut Moment).wrapping_add(slot as usize))
}

impl Births {
    /// Identity of the stack, and the ordinal of its next block. A stack that is
    /// new needs its identity; none if that is not given, or if there are too
    /// many.
    fn next(&mut self, stack: u32, identity: Option<u64>) -> Option<(u64, u32)> {
        if stack == 0 {
            return Some((0, 0));
        }
        let mut index = depot::mix(0, u64::from(stack)) as usize;
        loop {
            // SAFETY: within the table, in which there is always room.
            let birth = unsafe { &mut *(self.table as *mut Birth).add(index % STACKS) };
            if birth.stack == 0 {
                let identity = identity.filter(|_| self.used < STACKS / 4 * 3)?;
                self.used += 1;
                *birth = Birth { stack, count: 0, identity };
            }
            if birth.stack == stack {
                birth.count += 1;
                return Some((birth.identity, birth.count));
            }
            index += 1;
        }
    }
}
