//! Frames of code that was not optimised, as debug information has them: where
//! the locals of inner scopes end, and what is no variable; and where variables of
//! optimised code are in registers, or end in its frames. `leakscope run` gives a table for the program
//! ([`leakscope_wire::Frame`], [`leakscope_wire::Optimised`]); without one, and
//! for libraries, a local ends with its function.
//!
//! A local that has ended stays as it is in memory, since nothing says for
//! certain that the program does not read it again; it is noted here, so that it
//! does not die a second time.

use core::ffi::CStr;

use leakscope_wire::{Brace, Frame, FramesHeader, Kept, Optimised, Scope, Slot};
use zerocopy::FromBytes;

use crate::memory::{self, Single};
use crate::modules;

struct Table {
    frames: &'static [Frame],
    slots: &'static [Slot],
    scopes: &'static [Scope],
    optimised: &'static [Optimised],
    kept: &'static [Kept],
    path: &'static [u8],
}

static TABLE: Single<Table> =
    Single::new(Table { frames: &[], slots: &[], scopes: &[], optimised: &[], kept: &[], path: &[] });

/// Reads the table. Of one that cannot be read, nothing is known.
pub fn load(path: &CStr) {
    if let Some(table) = memory::read_file(path).and_then(table_of) {
        *TABLE.get() = table;
    }
}

fn table_of(bytes: &'static [u8]) -> Option<Table> {
    let (header, bytes) = FramesHeader::read_from_prefix(bytes).ok()?;
    let (optimised, bytes) =
        <[Optimised]>::ref_from_prefix_with_elems(bytes, header.optimised as usize).ok()?;
    let (frames, bytes) = <[Frame]>::ref_from_prefix_with_elems(bytes, header.frames as usize).ok()?;
    let (slots, bytes) = <[Slot]>::ref_from_prefix_with_elems(bytes, header.slots as usize).ok()?;
    let (scopes, bytes) = <[Scope]>::ref_from_prefix_with_elems(bytes, header.scopes as usize).ok()?;
    let (kept, bytes) = <[Kept]>::ref_from_prefix_with_elems(bytes, header.kept as usize).ok()?;
    let path = bytes.get(..header.path_bytes as usize)?;
    Some(Table { frames, slots, scopes, optimised, kept, path })
}

/// Whether there is a table.
pub fn is_there() -> bool {
    are_known() || !TABLE.get().optimised.is_empty()
}

/// Whether there is code that was not optimised.
pub fn are_known() -> bool {
    !TABLE.get().frames.is_empty()
}

/// A function with a known frame.
#[derive(Clone, Copy)]
pub struct Function {
    frame: &'static Frame,
    /// Where it begins in memory.
    start: u64,
}

/// The function at an address, if its frame is known.
pub fn function_at(address: u64) -> Option<Function> {
    if !are_known() {
        return None;
    }
    let table = TABLE.get();
    let bias = modules::bias_of(address as usize, table.path)? as u64;
    let at = address.wrapping_sub(bias);
    let next = table.frames.partition_point(|frame| frame.start <= at);
    let frame = table.frames[..next].last().filter(|frame| at < frame.end)?;
    Some(Function { frame, start: frame.start.wrapping_add(bias) })
}

impl Function {
    pub fn contains(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.frame.end - self.frame.start
    }

    pub fn begins_at(self, address: u64) -> bool {
        address == self.start
    }

    /// How many registers have its result; 0 if it has none.
    pub fn results(self) -> u32 {
        self.frame.results
    }

    fn slots(self) -> &'static [Slot] {
        let first = self.frame.first_slot as usize;
        TABLE.get().slots.get(first..first + self.frame.slots as usize).unwrap_or_default()
    }

    /// The variables that end where control goes from one instruction of the
    /// function to another: out of their scope, or back to its beginning, as a loop
    /// without a condition does.
    pub fn ends(self, from: u64, to: u64) -> impl Iterator<Item = Slot> {
        let [from, to] = [from, to].map(|address| address.wrapping_sub(self.start));
        let leaves = move |slot: &Slot| !is_in(slot, to) || to <= from && begins(slot, to);
        self.slots().iter().copied().filter(move |slot| is_in(slot, from) && leaves(slot))
    }

    /// Whether the frame has no variable so far below its end, in no scope: the
    /// compiler keeps something of its own there.
    pub fn is_temporary(self, below: usize) -> bool {
        below <= self.frame.bytes as usize && !self.slots().iter().any(|slot| covers(slot, below))
    }
}

/// Whether a variable has the byte so far below its frame's end.
fn covers(slot: &Slot, below: usize) -> bool {
    (slot.below as usize).wrapping_sub(below) < slot.bytes as usize
}

fn scopes(slot: &Slot) -> &'static [Scope] {
    let first = slot.first_scope as usize;
    TABLE.get().scopes.get(first..first + slot.scopes as usize).unwrap_or_default()
}

fn is_in(slot: &Slot, at: u64) -> bool {
    scopes(slot).iter().any(|scope| (u64::from(scope.start)..u64::from(scope.end)).contains(&at))
}

/// Whether the variable's scope begins there, as the compiler has it: of one that ends
/// before its closing brace the pieces say nothing of that.
fn begins(slot: &Slot, at: u64) -> bool {
    slot.brace == Brace::None as u32 && scopes(slot).first().is_some_and(|scope| u64::from(scope.start) == at)
}

/// A stretch of an optimised function's code, for which it is known where variables
/// are.
#[derive(Clone, Copy)]
pub struct Stretch {
    code: &'static Optimised,
    /// Where it begins in memory.
    start: u64,
}

/// The optimised code at an address, if it is known.
pub fn stretch_at(address: u64) -> Option<Stretch> {
    let table = TABLE.get();
    if table.optimised.is_empty() {
        return None;
    }
    let bias = modules::bias_of(address as usize, table.path)? as u64;
    let at = address.wrapping_sub(bias);
    let next = table.optimised.partition_point(|code| code.start <= at);
    let code = table.optimised[..next].last().filter(|code| at < code.end)?;
    Some(Stretch { code, start: code.start.wrapping_add(bias) })
}

impl Stretch {
    pub fn contains(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.code.end - self.code.start
    }

    /// Whether an address is in the code of the same function, perhaps elsewhere.
    pub fn is_of_function(self, address: u64) -> bool {
        self.contains(address)
            || stretch_at(address).is_some_and(|other| other.code.function == self.code.function)
    }

    /// Whether the function returns something: then a statement of the source leads to
    /// each of its returns.
    pub fn has_result(self) -> bool {
        self.code.results != 0
    }

    /// The registers in which a variable ends where control goes from one instruction
    /// of the function to another: it is nowhere then, and nothing else is there; and whether its
    /// block is left, too.
    pub fn ends(self, from: u64, to: u64) -> impl Iterator<Item = (usize, bool)> {
        let [from, to] = [from, to].map(|address| address.wrapping_sub(self.start));
        let first = self.code.first as usize;
        let all = TABLE.get().kept.get(first..first + self.code.count as usize).unwrap_or_default();
        let has = |piece: &Kept, at: u64| (u64::from(piece.start)..u64::from(piece.end)).contains(&at);
        let ends = move |piece: &&Kept| {
            let goes_on = |it: &Kept| it.variable == piece.variable || it.register == piece.register;
            piece.register != Kept::ELSEWHERE
                && has(piece, from)
                && !has(piece, to)
                && !all.iter().any(|it| goes_on(it) && has(it, to))
        };
        let blocks = self.slots_from(self.code.first_block, self.code.blocks);
        let is_left = move |piece: &Kept| {
            let block = (piece.block as usize).checked_sub(1).and_then(|block| blocks.get(block));
            block.is_some_and(|block| is_in(block, from) && !is_in(block, to))
        };
        (0..16).filter_map(move |register| {
            let mut ended = all.iter().filter(ends).filter(|piece| piece.register as usize == register);
            ended.next().map(|piece| (register, is_left(piece)))
        })
    }

    fn slots(self) -> &'static [Slot] {
        self.slots_from(self.code.first_slot, self.code.slots)
    }

    fn slots_from(self, first: u32, count: u32) -> &'static [Slot] {
        TABLE.get().slots.get(first as usize..(first + count) as usize).unwrap_or_default()
    }

    /// The variables in the frame that end there.
    pub fn ends_in_frame(self, from: u64, to: u64) -> impl Iterator<Item = Slot> {
        let [from, to] = [from, to].map(|address| address.wrapping_sub(self.start));
        self.slots().iter().copied().filter(move |slot| is_in(slot, from) && !is_in(slot, to))
    }

    /// Whether no variable is ever so far below the frame's end.
    pub fn is_temporary(self, below: usize) -> bool {
        below <= self.code.bytes as usize && !self.slots().iter().any(|slot| covers(slot, below))
    }
}

/// Words of variables that have ended, by address; of two with one place here
/// the later one.
static ENDED: Single<[(usize, usize); ENDED_MAX]> = Single::new([(0, 0); ENDED_MAX]);
/// Frames and the heap must seldom meet here; pages that nobody comes to take no memory.
const ENDED_MAX: usize = 1 << 16;

/// Whether there ever was one.
static HAS_ENDED: Single<bool> = Single::new(false);

/// A word at an address ends. False if it has ended before.
pub fn end(address: usize, word: usize) -> bool {
    *HAS_ENDED.get() = true;
    core::mem::replace(&mut ENDED.get()[address / 8 % ENDED_MAX], (address, word)) != (address, word)
}

/// Whether a word that goes from its place has ended before.
#[inline]
pub fn has_ended(address: usize, word: usize) -> bool {
    if !*HAS_ENDED.get() {
        return false;
    }
    let known = &mut ENDED.get()[address / 8 % ENDED_MAX];
    let is_it = *known == (address, word);
    if is_it {
        *known = (0, 0);
    }
    is_it
}
