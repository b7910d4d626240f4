//! The program's own allocators: told by requests (`leakscope.h`), or by the
//! names of their functions, whose entries are noted when code is translated,
//! and what they return when they return.

use leakscope_wire::Cause;

use crate::heap::{self, Block, Point};
use crate::list::List;
use crate::memory::{self, Single};
use crate::parts::{self, New};
use crate::replace;
use crate::{calls, inside, life, stamps, tool, vg};

/// A size that is that of a string, with its end.
const STRING: usize = usize::MAX;

/// A request of `leakscope.h`, by the order of its functions.
pub fn request(number: u64, argument: impl Fn(usize) -> usize) {
    // Past the function that asks: its caller is the place.
    let own = tool::current().calls.context();
    let context = calls::node(own).map_or(calls::ROOT, |node| node.parent);
    let new = |from: usize| New {
        start: argument(from),
        bytes: argument(from + 1),
        pool: argument(from + 2),
        is_kept: argument(from + 3) != 0,
    };
    match number {
        0 => allocated(new(1), context),
        1 => resized(argument(1), new(2), context),
        2 => freed(argument(1), context),
        3 => cleared(argument(1), context),
        _ => moved(argument(1), argument(2)),
    }
}

/// A pool hands out a block in this context. What does not lie in the program's
/// memory is none: `leakscope.toml` may name another argument than the size.
pub fn allocated(new: New, context: u32) {
    if new.start == 0 || !memory::is_readable(new.start, 1) {
        return;
    }
    let bytes = match new.bytes {
        // SAFETY: the program says that a string is there.
        STRING => unsafe { vg::vgPlain_strlen(new.start as *const _) as usize + 1 },
        bytes => bytes.max(1),
    };
    if !memory::is_readable(new.start, bytes) {
        return;
    }
    let block = parts::begin(New { bytes, ..new });
    block.allocated = context;
    block.epoch = life::epoch();
    for &mut word in block.words() {
        if let Some(held) = heap::pointed_to(word) {
            held.stale = held.stale.saturating_add(1);
        }
    }
    stamps::tick();
}

/// A block has another size, and perhaps another place.
pub fn resized(old: usize, new: New, context: u32) {
    if new.start == 0 && new.bytes != 0 {
        return;
    }
    let pool = if new.pool == 0 { parts::pool_at(old) } else { new.pool };
    if let Some(block) = parts::starting_at(old).filter(|_| old != new.start) {
        parts::end(block);
    }
    allocated(New { pool, ..new }, context);
}

/// A block goes back, with all that hang on it; or a pool ends.
pub fn freed(pointer: usize, context: u32) {
    cleared(pointer, context);
    if let Some(block) = parts::starting_at(pointer) {
        end(block, context);
    }
}

/// All blocks of a pool go back to it, innermost first.
pub fn cleared(pool: usize, context: u32) {
    let mut at = pool;
    loop {
        match parts::any_of(at) {
            Some(block) if ![at, pool].contains(&block.start) && parts::any_of(block.start).is_some() => {
                at = block.start;
            }
            Some(block) => end(block, context),
            None if at == pool => return,
            None => at = parts::pool_at(at),
        }
    }
}

/// A block is another pool's from now on.
pub fn moved(pointer: usize, pool: usize) {
    if let Some(block) = parts::starting_at(pointer) {
        parts::give(block, pool);
    }
}

fn end(block: &mut Block, context: u32) {
    let site = stamps::site_of_cause(Cause::HolderFreed);
    stamps::stamp_written(block.words(), Point { context, site });
    replace::count_free(block.allocated, context);
    parts::end(block);
}

/// A function that `leakscope.toml` names, as `leakscope run` tells it: numbers
/// with commas between them, and last the name.
#[derive(Clone, Copy)]
struct Function {
    name: &'static [u8],
    role: u8,
    size: [u64; 3],
    pointer: usize,
    pool: usize,
    result: usize,
    is_kept: bool,
}

const ALLOCATES: u8 = 0;
const RESIZES: u8 = 1;
const FREES: u8 = 2;
const CLEARS: u8 = 3;

static FUNCTIONS: Single<List<Function>> = Single::new(List::new());

/// Reads the option. False if it is not as it should be.
pub fn add_function(text: &'static [u8]) -> bool {
    let mut parts = text.splitn(9, |&byte| byte == b',');
    let mut number = || parts.next().map_or(u64::MAX, |part| tool::number(part) as u64);
    let (role, size) = (number() as u8, [number(), number(), number()]);
    let (pointer, pool, result, is_kept) =
        (number() as usize, number() as usize, number() as usize, number());
    let Some(name) = parts.next() else { return false };
    FUNCTIONS.get().push(Function { name, role, size, pointer, pool, result, is_kept: is_kept == 1 });
    true
}

/// The number of the function that begins at an address, if it is one of a
/// pool's.
pub fn function_at(address: usize) -> Option<usize> {
    if FUNCTIONS.get().is_empty() {
        return None;
    }
    let name = inside::entry_name(address)?;
    let name = name.split(|&byte| byte == b'(').next().unwrap_or(name);
    FUNCTIONS.get().iter().position(|function| function.name == name)
}

/// A call of such a function that has not returned.
#[derive(Clone, Copy)]
pub struct Pending {
    /// Where its return address lies.
    slot: usize,
    function: usize,
    arguments: [usize; 6],
    context: u32,
    thread: usize,
}

static PENDING: Single<List<Pending>> = Single::new(List::new());

/// A function of a pool begins. `arguments` are those that come in registers.
pub fn enters(number: usize, slot: usize, arguments: [usize; 6]) {
    let function = FUNCTIONS.get()[number];
    let thread: *mut tool::Thread = tool::current();
    let context = tool::current().calls.context();
    let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
    match function.role {
        ALLOCATES | RESIZES => PENDING.get().push(Pending {
            slot,
            function: number,
            arguments,
            context,
            thread: thread as usize,
        }),
        FREES => freed(argument(function.pointer), context),
        CLEARS => cleared(argument(function.pool), context),
        _ => moved(argument(function.pointer), argument(function.pool)),
    }
}

/// A function of the running thread returned: the stack pointer is at `now`.
#[inline]
pub fn returns(now: usize, result: usize) {
    if !PENDING.get().is_empty() {
        returned(now, result);
    }
}

#[cold]
fn returned(now: usize, result: usize) {
    let thread: *const tool::Thread = tool::current();
    let own = |pending: &Pending| pending.thread == thread as usize && pending.slot < now;
    while let Some(place) = PENDING.get().iter().rposition(own) {
        let pending = PENDING.get()[place];
        PENDING.get()[place..].rotate_left(1);
        PENDING.get().pop();
        if pending.slot + 8 == now {
            finish(&pending, result);
        }
    }
}

fn finish(pending: &Pending, result: usize) {
    let function = FUNCTIONS.get()[pending.function];
    let argument = |index: usize| pending.arguments.get(index).copied().unwrap_or(0);
    let bytes = match function.size {
        [0, size, _] => argument(size as usize),
        [1, count, size] => argument(count as usize).saturating_mul(argument(size as usize)),
        [2, bytes, _] => bytes as usize,
        _ => STRING,
    };
    let start = match argument(function.result) {
        0 => result,
        place if !memory::is_readable(place, 8) => return,
        // SAFETY: readable; the function stored its result there.
        place => unsafe { *(place as *const usize) },
    };
    let new = New { start, bytes, pool: argument(function.pool), is_kept: function.is_kept };
    match function.role {
        RESIZES => resized(argument(function.pointer), new, pending.context),
        _ => allocated(new, pending.context),
    }
}
