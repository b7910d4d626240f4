//! Who called whom: for each thread the return addresses on its stack, kept by
//! what calls and returns do, and numbers for the stacks that were asked for.
//!
//! A context is a stack by its number. Contexts form a tree: each has a parent
//! and one more return address. They are made when somebody asks, so a call
//! costs a few stores. Jumps out of many frames are noticed at the next call
//! or return, by the stack pointer. The calls on other stacks (coroutines) are
//! put aside while the thread is elsewhere; in a signal handler, Valgrind
//! unwinds anew when somebody asks.

use crate::heap::{Held, NOWHERE};
use crate::list::{Key, List, Numbers, mix};
use crate::memory::Single;
use crate::modules;
use crate::stamps;
use crate::vg;

/// No calls are known.
pub const ROOT: u32 = 0;

/// One step of the tree: returns to `address` in its caller, `parent`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node {
    pub address: u64,
    pub parent: u32,
    /// Of the module list in which the address is to be read.
    pub generation: u32,
}

impl Key for Node {
    fn hash(&self) -> u64 {
        mix(self.address ^ u64::from(self.parent).rotate_left(40) ^ u64::from(self.generation) << 20)
    }
}

static NODES: Single<Numbers<Node>> = Single::new(Numbers::new());

/// Contexts that were asked for, by hash of parent and address: most functions
/// are called again from where they were called before.
static KNOWN: Single<[Child; KNOWN_MAX]> =
    Single::new([Child { address: 0, parent: 0, context: 0 }; KNOWN_MAX]);
const KNOWN_MAX: usize = 1 << 12;

#[derive(Clone, Copy)]
struct Child {
    address: u64,
    parent: u32,
    context: u32,
}

/// A call that has not returned.
#[derive(Clone, Copy)]
struct Call {
    /// Where the return address lies.
    slot: usize,
    address: usize,
    /// [`UNKNOWN`] until somebody asks.
    context: u32,
    /// The clock when what the function was given was in memory still, or was
    /// not born; see [`Calls::may_hold_last`].
    floor: u32,
    /// The clock at the call.
    entry: u32,
    /// Whose code made the call, once somebody has asked.
    by: Caller,
    /// Of [`Given`], which has no room for it.
    elsewhere: u16,
    given: usize,
    /// What it was given first.
    arguments: [usize; ARGUMENTS],
    /// Where the function has jumped to another, which returns for it; 0 if it has
    /// not. Of several the latest: functions may go on like this for ever.
    jumped: usize,
}

/// The last result before a call, if it is a pointer: the function may have been
/// given it. Else 0.
#[derive(Clone, Copy)]
pub struct Given {
    pub word: usize,
    /// Registers that have it, but not for the call.
    pub elsewhere: u16,
}

/// Who made a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Unknown,
    User,
    Library,
}

impl Call {
    /// Whether the user's code made it.
    #[inline]
    fn is_users(&mut self) -> bool {
        if self.by == Caller::Unknown {
            let is_users = modules::is_users(self.address as u64);
            self.by = if is_users { Caller::User } else { Caller::Library };
        }
        self.by == Caller::User
    }

    /// The context inside of `parent` that it leads to.
    fn context_in(&self, parent: u32) -> u32 {
        let called = child(parent, self.address);
        if self.jumped == 0 { called } else { child(called, self.jumped) }
    }
}

/// So many arguments of each call are kept: most functions that write to memory
/// are given its address first or second.
pub const ARGUMENTS: usize = 2;

const UNKNOWN: u32 = u32::MAX;

/// The context of the function that runs, if it is known.
static NOW: Single<u32> = Single::new(UNKNOWN);

#[inline(always)]
pub fn known_context() -> Option<u32> {
    Some(*NOW.get()).filter(|&context| context != UNKNOWN)
}

/// Another thread runs.
pub fn forget_thread() {
    forget_now();
    *IS_INSIDE.get() = 0;
}

fn forget_now() {
    *NOW.get() = UNKNOWN;
}

/// [`INSIDE`] while it is known that a call of the user's code has not returned
/// in the thread that runs, else 0: instrumented code reads it, and asks for
/// less in the frames of libraries.
static IS_INSIDE: Single<u64> = Single::new(0);
/// No bit of it is the one that a heap address has above [`crate::arena::SHIFT`].
pub const INSIDE: u64 = 2;

pub fn is_inside() -> *const u64 {
    IS_INSIDE.get()
}

/// The calls on a stack that was left.
struct Other {
    calls: List<Call>,
    /// Where the stack pointer was.
    stack: usize,
}

/// The latest such stacks, of all threads.
struct Others {
    list: [Other; 64],
    next: usize,
}

static OTHERS: Single<Others> =
    Single::new(Others { list: [const { Other { calls: List::new(), stack: 0 } }; 64], next: 0 });

/// A context reaches at least this far out, and at most twice: deep recursion
/// has few contexts.
const REACH: usize = 64;

/// What the result of a call may be, for the next call that is given it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    Nothing,
    Pointer,
    /// There is no result: what was given before the call is given after it.
    Unknown,
}

/// The calls of one thread.
pub struct Calls {
    list: List<Call>,
    /// The stack pointer went where calls do not lead.
    adrift: bool,
    thread: u32,
    /// Of the next call.
    floor: u32,
    /// What calls that have not returned found in registers by chance, with
    /// the place of their return address.
    stale: List<(usize, usize)>,
    /// The number of a call of the user's code, while [`IS_INSIDE`].
    users: usize,
}

impl Calls {
    pub const fn new(thread: u32) -> Calls {
        Calls { list: List::new(), adrift: false, thread, floor: 0, stale: List::new(), users: 0 }
    }

    pub fn clear(&mut self) {
        forget_thread();
        self.list.clear();
        self.stale.clear();
        self.adrift = false;
    }

    /// A call wrote its return address to `slot`. `given` is the last result,
    /// if it is a pointer.
    #[inline]
    pub fn call(&mut self, slot: usize, address: usize, given: Given, arguments: [usize; ARGUMENTS]) {
        while self.list.last().is_some_and(|top| top.slot <= slot) {
            self.list.pop();
        }
        forget_now();
        self.leave_library();
        let entry = stamps::clock();
        self.list.push(Call {
            slot,
            address,
            context: UNKNOWN,
            floor: self.floor,
            entry,
            by: Caller::Unknown,
            elsewhere: given.elsewhere,
            given: given.word,
            arguments,
            jumped: 0,
        });
    }

    /// The user's function that runs has jumped to another, which takes its place, with
    /// the stack pointer at `stack`; `address` is as if the jump were a call.
    pub fn jump(&mut self, stack: usize, address: usize, arguments: [usize; ARGUMENTS]) {
        let Some(top) = self.list.last_mut().filter(|top| top.slot == stack) else { return };
        (top.jumped, top.arguments) = (address, arguments);
        (top.context, top.by) = (UNKNOWN, Caller::User);
        forget_now();
    }

    /// The stack pointer is at `stack` after a return.
    #[inline]
    pub fn leave(&mut self, stack: usize, result: Carries) {
        while let Some(top) = self.list.last().filter(|top| top.slot < stack) {
            match result {
                Carries::Nothing => self.floor = top.entry,
                Carries::Pointer => self.floor = top.floor,
                Carries::Unknown => {}
            }
            self.list.pop();
        }
        while self.stale.last().is_some_and(|&(slot, _)| slot < stack) {
            self.stale.pop();
        }
        self.leave_library();
        *NOW.get() = self.list.last().filter(|_| !self.adrift).map_or(UNKNOWN, |top| top.context);
    }

    /// Where the function whose frame the stack pointer is in, at `stack`, has made
    /// the call that it leaves.
    pub fn left_call(&self, stack: usize) -> Option<usize> {
        self.list.iter().rev().take_while(|call| call.slot < stack).last().map(|call| call.address)
    }

    /// Whether the stack pointer, at `stack`, has left the function that runs.
    #[inline]
    pub fn is_left(&self, stack: usize) -> bool {
        self.list.last().is_some_and(|top| top.slot < stack)
    }

    /// The call with its return address at `slot` found the word in a register
    /// of arguments, but was not given it.
    pub fn note_stale(&mut self, slot: usize, word: usize) {
        self.stale.push((slot, word));
    }

    /// Whether a function that runs has a copy of the word that nobody meant.
    #[inline]
    pub fn is_stale(&self, word: usize) -> bool {
        self.is_stale_at(word, 0)
    }

    /// The same of the word at `place`: frames above that call have it of their own.
    #[inline]
    pub fn is_stale_at(&self, word: usize, place: usize) -> bool {
        self.stale.iter().any(|&(slot, stale)| stale == word && place < slot)
    }

    /// Whether a register or the frame of the function that runs may hold the
    /// last pointer to a block. What is there came from memory, which has it
    /// still if no pointer in memory died since; from the caller; or from a
    /// result, which the caller may have handed on: then it was in memory, or
    /// not born, when that call began, or was given to that function.
    #[inline]
    pub fn may_hold_last(&self) -> bool {
        self.list.last().is_none_or(|top| top.floor != stamps::clock())
    }

    /// Where the stack pointer will be when the function that runs has
    /// returned; 0 if that is not known.
    #[inline]
    pub fn frame_end(&self) -> usize {
        self.list.last().map_or(0, |top| top.slot + 8)
    }

    /// Whether a function of the user's has not returned.
    pub fn has_users(&mut self) -> bool {
        self.list.iter_mut().any(Call::is_users)
    }

    /// Whether a word of the stack is in a frame of the libraries that the user's
    /// code has called.
    pub fn is_inside_library(&mut self, word: usize) -> bool {
        self.of_users().is_some_and(|call| word < call.slot)
    }

    /// The innermost call of the user's code.
    #[inline]
    fn of_users(&mut self) -> Option<&Call> {
        let index = (0..self.list.len()).rev().find(|&index| self.list[index].is_users())?;
        (self.users, *IS_INSIDE.get()) = (index, INSIDE);
        self.list.get(index)
    }

    /// Calls have returned: perhaps that of the user's code.
    #[inline]
    fn leave_library(&mut self) {
        if self.list.len() <= self.users {
            *IS_INSIDE.get() = 0;
        }
    }

    /// A word of memory, seen from what the innermost call of the user's code
    /// was given.
    pub fn behind_argument(&mut self, word: usize) -> Held {
        /// Nobody gives a function more than this to write to.
        const FAR: usize = 1 << 20;
        let Some(call) = self.of_users() else { return NOWHERE };
        let distances = call.arguments.iter().map(|&start| word.wrapping_sub(start)).enumerate();
        let near = distances.filter(|&(_, distance)| distance < FAR).min_by_key(|&(_, distance)| distance);
        near.map_or(NOWHERE, |(number, distance)| Held::behind_argument(number, distance / 8))
    }

    /// A word of the stack, seen from the frame of the function that has it;
    /// frames are counted from where `depth` calls had not returned.
    pub fn in_frame(&self, word: usize, depth: usize) -> Held {
        let Some(index) = self.list.iter().rposition(|call| call.slot > word) else { return NOWHERE };
        match depth.checked_sub(index + 1) {
            None | Some(0) => NOWHERE,
            Some(frame) => Held::in_frame(frame, (self.list[index].slot + 8 - word) / 8),
        }
    }

    /// The frame that has a word of the stack: its end, and a return address in
    /// its function, 0 for the one that runs.
    pub fn frame_around(&self, word: usize) -> Option<(usize, u64)> {
        let index = self.list.iter().rposition(|call| call.slot > word)?;
        let code = self.list.get(index + 1).map_or(0, |inner| inner.address as u64);
        Some((self.list[index].slot + 8, code))
    }

    /// Where the function that runs returns to.
    pub fn caller(&self) -> Option<u64> {
        self.list.last().map(|top| top.address as u64)
    }

    /// The result that the function that runs may have been given.
    #[inline]
    pub fn given(&self) -> Given {
        let top = self.list.last();
        top.map_or(Given { word: 0, elsewhere: 0 }, |top| Given { word: top.given, elsewhere: top.elsewhere })
    }

    /// How many calls have not returned.
    #[inline]
    pub fn depth(&self) -> usize {
        self.list.len()
    }

    /// A signal handler begins or ends: nobody called it.
    pub fn set_adrift(&mut self) {
        self.adrift = true;
        forget_thread();
    }

    /// The stack pointer goes from `low` to `now` on another stack.
    pub fn switch(&mut self, low: usize, now: usize) {
        /// So far from where the stack was left it is entered again.
        const NEAR: usize = 1024;
        self.adrift = false;
        let others = &mut OTHERS.get();
        let found = others.list.iter().position(|other| other.stack.abs_diff(now) <= NEAR);
        let place = found.unwrap_or_else(|| {
            others.next = (others.next + 1) % others.list.len();
            others.list[others.next].calls.clear();
            others.next
        });
        let other = &mut others.list[place];
        core::mem::swap(&mut self.list, &mut other.calls);
        other.stack = low;
        forget_thread();
        self.leave(now, Carries::Unknown);
    }

    /// What was known of contexts is out of date.
    pub fn forget_contexts(&mut self) {
        forget_now();
        for call in self.list.iter_mut() {
            call.context = UNKNOWN;
        }
    }

    /// The context of the function that runs: the addresses to which it and
    /// its callers return. The thread must be the one that runs.
    #[inline]
    pub fn context(&mut self) -> u32 {
        known_context().unwrap_or_else(|| self.find_context())
    }

    #[cold]
    fn find_context(&mut self) -> u32 {
        if self.adrift {
            self.unwind();
        }
        let known = self.list.iter().rposition(|call| call.context != UNKNOWN);
        let first = known.map_or(0, |index| index + 1);
        for index in first..self.list.len() {
            let parent = match index {
                0 => ROOT,
                _ if index % REACH == 0 && index >= 2 * REACH => {
                    let inner = &self.list[index - REACH..index];
                    inner.iter().fold(ROOT, |parent, call| call.context_in(parent))
                }
                _ => self.list[index - 1].context,
            };
            self.list[index].context = self.list[index].context_in(parent);
        }
        let found = self.list.last().map_or(ROOT, |top| top.context);
        *NOW.get() = if self.adrift { UNKNOWN } else { found };
        found
    }

    /// Takes the calls from Valgrind's own unwinding.
    fn unwind(&mut self) {
        const FRAMES: usize = 256;
        let (mut addresses, mut stacks) = ([0_u64; FRAMES], [0_u64; FRAMES]);
        // SAFETY: the arrays are as long as said; the thread is there, for it
        // runs or has just stopped.
        let count = unsafe {
            vg::vgPlain_get_StackTrace(
                self.thread,
                addresses.as_mut_ptr(),
                FRAMES as u32,
                stacks.as_mut_ptr(),
                core::ptr::null_mut(),
                0,
            )
        };
        // Where the linker looks for a function, the frame that called it may be missed.
        self.adrift = count > 0 && modules::owner(addresses[0] as usize) == modules::Owner::Linker;
        if count < 2 || self.adrift {
            return;
        }
        self.list.clear();
        forget_thread();
        // The first is where the thread is; the others are in calls, one byte
        // before the return address.
        for index in (1..count as usize).rev() {
            let slot = (stacks[index] as usize).wrapping_sub(8);
            let address = addresses[index] as usize + 1;
            let never = stamps::clock().wrapping_sub(1);
            let arguments = [0; ARGUMENTS];
            self.list.push(Call {
                slot,
                address,
                context: UNKNOWN,
                floor: never,
                entry: never,
                by: Caller::Unknown,
                elsewhere: 0,
                given: 0,
                arguments,
                jumped: 0,
            });
        }
    }
}

/// The context inside `parent` that returns to `address`.
pub fn child(parent: u32, address: usize) -> u32 {
    let address = address as u64;
    let hash = address ^ u64::from(parent).wrapping_mul(0x9e37_79b1);
    let known = &mut KNOWN.get()[(hash ^ hash >> 12) as usize % KNOWN_MAX];
    if (known.address, known.parent) != (address, parent) {
        *known = Child { address, parent, context: child_in(parent, address, modules::generation()) };
    }
    known.context
}

/// Addresses mean something else from now on.
pub fn forget_children() {
    KNOWN.get().fill(Child { address: 0, parent: 0, context: 0 });
}

/// The same, for an address as it is to be read in `generation`.
pub fn child_in(parent: u32, address: u64, generation: u32) -> u32 {
    NODES.get().number(Node { address, parent, generation })
}

/// The step that a context adds to its parent.
pub fn node(context: u32) -> Option<Node> {
    NODES.get().keys().get((context as usize).checked_sub(1)?).copied()
}
