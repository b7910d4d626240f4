//! How to step from a frame to its caller.
//!
//! Code that we derived to follow pointers keeps frame pointers: there a step
//! is two loads. Everything else (sampled programs, libc, libraries, preloaded
//! programs) is stepped by its own unwind tables, boiled down to a [`Rule`] for each return address and
//! cached. Every read is checked against the bounds of the stack, so that
//! damaged frames end the walk instead of the program.

use core::sync::atomic::{AtomicU64, Ordering};

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, NativeEndian, Register,
    RegisterRule, UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow, X86_64,
};

use crate::lock::Lock;
use crate::modules;

/// A frame of the stack: the return address into its function, and the stack
/// and frame pointer as they are there.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Frame {
    pub address: u64,
    pub stack: usize,
    pub pointer: usize,
}

impl Frame {
    /// The caller's frame, on a stack that ends at `high`.
    #[inline(always)]
    pub fn caller(self, high: usize) -> Option<Frame> {
        if modules::is_framed(self.address) {
            let top = self.pointer.wrapping_add(16);
            self.caller_at(top, 16, high)
        } else {
            rule_for(self.address).caller(self, high)
        }
    }

    /// The same in code without frame pointers, whose frames are asked for
    /// again and again. The caller's frame pointer is left open.
    #[inline(always)]
    pub fn caller_again(self, high: usize) -> Option<Frame> {
        match self.known_size() {
            Some(OUTERMOST) => None,
            Some(size) => self.caller_above(size, high),
            None => self.note_caller(high),
        }
    }

    #[cold]
    fn note_caller(self, high: usize) -> Option<Frame> {
        self.note_size();
        rule_for(self.address).caller(self, high)
    }

    /// How large this frame is; `None` if that is not the same each time.
    pub fn size(self) -> Option<u32> {
        self.known_size().or_else(|| self.note_size())
    }

    #[cold]
    fn note_size(self) -> Option<u32> {
        let size = match rule_for(self.address) {
            Rule::Stack { up, .. } => Some(up),
            Rule::Stop => Some(OUTERMOST),
            Rule::Frame { .. } | Rule::Stored { .. } => None,
        };
        if let Some(size) = size {
            let noted = u64::from(self.address as u32) << 32 | u64::from(size);
            SIZES[self.address as usize % ENTRIES].store(noted, Ordering::Relaxed);
        }
        size
    }

    /// How large this frame is, if that was noted.
    #[inline(always)]
    pub fn known_size(self) -> Option<u32> {
        let noted = SIZES[self.address as usize % ENTRIES].load(Ordering::Relaxed);
        ((noted >> 32) as u32 == self.address as u32).then_some(noted as u32)
    }

    /// The caller's frame above one of this size.
    #[inline(always)]
    pub fn caller_above(self, size: u32, high: usize) -> Option<Frame> {
        let stack = self.stack + size as usize;
        if stack >= high {
            return None;
        }
        // SAFETY: between a live frame and the end of the same stack.
        Some(Frame { address: unsafe { *((stack - 8) as *const u64) }, stack, pointer: 0 })
    }

    /// The same, with what it was found by.
    #[inline(always)]
    pub fn step(self, high: usize) -> Step {
        let rule = match modules::is_framed(self.address) {
            true => Rule::Frame { up: 16, saved: 16 },
            false => rule_for(self.address),
        };
        let (base, up, saved) = match rule {
            Rule::Stop => return Step::End,
            Rule::Stored { .. } => return Step::Long,
            Rule::Stack { up, saved } => (self.stack, up, saved),
            Rule::Frame { up, saved } => (self.pointer, up, saved),
        };
        let top = base.wrapping_add(up as usize);
        match self.caller_at(top, saved.into(), high) {
            Some(caller) => Step::To {
                caller,
                saved: if saved == 0 { 0 } else { top - usize::from(saved) },
                by_pointer: matches!(rule, Rule::Frame { .. }),
            },
            None => Step::End,
        }
    }

    /// The caller's frame if its stack pointer is `top` and its frame pointer
    /// is saved so far below that, or unchanged (0).
    #[inline(always)]
    fn caller_at(self, top: usize, saved: usize, high: usize) -> Option<Frame> {
        let address = load(top.wrapping_sub(8), self.stack, high)?;
        let pointer = match saved {
            0 => self.pointer,
            saved => load(top.wrapping_sub(saved), self.stack, high)? as usize,
        };
        Some(Frame { address, stack: top, pointer })
    }
}

/// The way out of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is the outermost.
    End,
    /// Its caller is found by the word above it and, if its frame pointer was
    /// saved, the word at that place (0 if not). `by_pointer` if its own frame
    /// pointer is needed.
    To { caller: Frame, saved: usize, by_pointer: bool },
    /// More words are needed.
    Long,
}

/// A word of the stack, between a frame that is live and the stack's end.
#[inline(always)]
fn load(address: usize, low: usize, high: usize) -> Option<u64> {
    if !address.is_multiple_of(8) || address < low || address >= high.wrapping_sub(8) {
        return None;
    }
    // SAFETY: between a live frame and the end of the same stack.
    Some(unsafe { *(address as *const u64) })
}

/// How to step out of a frame, for one return address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The outermost frame, or code without unwind tables.
    Stop,
    /// The caller's stack pointer is the stack pointer plus so many bytes;
    /// its frame pointer lies so far below that, or is unchanged (0).
    Stack { up: u32, saved: u16 },
    /// The same from the frame pointer.
    Frame { up: u32, saved: u16 },
    /// The caller's stack pointer stands in the frame, so far below the frame
    /// pointer: functions that align their stack.
    Stored { below: u32, saved_at_frame: bool },
}

impl Rule {
    #[inline]
    fn caller(self, from: Frame, high: usize) -> Option<Frame> {
        match self {
            Rule::Stop => None,
            Rule::Stack { up, saved } => {
                from.caller_at(from.stack.wrapping_add(up as usize), saved.into(), high)
            }
            Rule::Frame { up, saved } => {
                from.caller_at(from.pointer.wrapping_add(up as usize), saved.into(), high)
            }
            Rule::Stored { below, saved_at_frame } => {
                let top = load(from.pointer.wrapping_sub(below as usize), from.stack, high)? as usize;
                let saved = if saved_at_frame { top.wrapping_sub(from.pointer) } else { 0 };
                from.caller_at(top, saved, high)
            }
        }
    }

    fn pack(self) -> u64 {
        match self {
            Rule::Stop => 1 << 48,
            Rule::Stack { up, saved } => 2 << 48 | u64::from(saved) << 32 | u64::from(up),
            Rule::Frame { up, saved } => 3 << 48 | u64::from(saved) << 32 | u64::from(up),
            Rule::Stored { below, saved_at_frame } => {
                4 << 48 | u64::from(saved_at_frame) << 32 | u64::from(below)
            }
        }
    }

    fn unpack(packed: u64) -> Rule {
        let (low, middle) = (packed as u32, (packed >> 32) as u16);
        match packed >> 48 {
            2 => Rule::Stack { up: low, saved: middle },
            3 => Rule::Frame { up: low, saved: middle },
            4 => Rule::Stored { below: low, saved_at_frame: middle != 0 },
            _ => Rule::Stop,
        }
    }
}

/// Rules by return address. An entry is two words, the first of which is the
/// address combined with the second: so a reader that sees half of a
/// concurrent change finds that it does not fit, without a lock.
struct Entry {
    check: AtomicU64,
    rule: AtomicU64,
}

const ENTRIES: usize = 1 << 13;
static RULES: [Entry; ENTRIES] =
    [const { Entry { check: AtomicU64::new(0), rule: AtomicU64::new(0) } }; ENTRIES];

/// Sizes of frames, under the lower half of the return address. That two
/// modules have frames of one such address is not ruled out: a context may
/// then be that of other calls.
static SIZES: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];

/// Stands for the size of a frame without a caller.
pub const OUTERMOST: u32 = 0;

/// Forgets all rules: the code that they are for may be gone.
pub fn forget_rules() {
    SIZES.iter().for_each(|size| size.store(0, Ordering::Relaxed));
    for entry in &RULES {
        entry.check.store(0, Ordering::Relaxed);
        entry.rule.store(0, Ordering::Relaxed);
    }
}

/// The places where an address's rule may be. They are more than two: calls
/// that take each other's place would be looked up again and again.
fn entries_for(address: u64) -> impl Iterator<Item = &'static Entry> {
    (0..4).map(move |way| &RULES[(address as usize ^ way) % ENTRIES])
}

#[inline]
fn rule_for(address: u64) -> Rule {
    for entry in entries_for(address) {
        let rule = entry.rule.load(Ordering::Relaxed);
        if rule != 0 && entry.check.load(Ordering::Relaxed) ^ rule == address {
            return Rule::unpack(rule);
        }
    }
    find_rule(address)
}

#[cold]
fn find_rule(address: u64) -> Rule {
    // The return address may be just after the end of a function that never
    // returns, so the call itself is looked up.
    let rule = TABLES.lock().rule(address - 1).unwrap_or(Rule::Stop);
    let free = entries_for(address).find(|entry| entry.rule.load(Ordering::Relaxed) == 0);
    // Addresses that share their places differ in the bits above.
    if let Some(entry) = free.or_else(|| entries_for(address).nth(address as usize / ENTRIES % 4)) {
        entry.rule.store(rule.pack(), Ordering::Relaxed);
        entry.check.store(address ^ rule.pack(), Ordering::Relaxed);
    }
    rule
}

/// Room for reading unwind tables; shared, since it is too large for a small
/// stack.
static TABLES: Lock<Tables> = Lock::new(Tables { context: None });

struct Tables {
    context: Option<UnwindContext<usize, Room>>,
}

/// gimli's storage without allocation.
struct Room;

impl UnwindContextStorage<usize> for Room {
    type Rules = [(Register, RegisterRule<usize>); 32];
    type Stack = [UnwindTableRow<usize, Room>; 4];
}

type Bytes = EndianSlice<'static, NativeEndian>;

impl Tables {
    fn rule(&mut self, address: u64) -> Option<Rule> {
        self.with_row(address, rule_of)
    }

    /// Calls `f` with the row of the unwind tables for the code at `address`.
    fn with_row<T>(
        &mut self,
        address: u64,
        f: impl FnOnce(&UnwindTableRow<usize, Room>, &EhFrame<Bytes>) -> Option<T>,
    ) -> Option<T> {
        let (entry, frames, bases) = entry_around(address)?;
        let context = self.context.get_or_insert_with(UnwindContext::new_in);
        let row = entry.unwind_info_for_address(&frames, &bases, context, address).ok()?;
        f(row, &frames)
    }
}

/// The entry of the unwind tables for the function around an address.
fn entry_around(address: u64) -> Option<(FrameDescriptionEntry<Bytes>, EhFrame<Bytes>, BaseAddresses)> {
    let (found, bases) = table_around(address)?;
    let header = EhFrameHdr::from(found.header).parse(&bases, 8).ok()?;
    let table = header.table()?;
    let pointer = table.lookup(address, &bases).ok()?;
    let frames = EhFrame::from(found.frames);
    let offset = table.pointer_to_offset(pointer).ok()?;
    let entry = frames.fde_from_offset(&bases, offset, EhFrame::cie_from_offset).ok()?;
    Some((entry, frames, bases))
}

/// The registers that a call leaves as they were, with which a frame and
/// everything above it can be scanned.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Registers {
    pub rbx: u64,
    pub rbp: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    pub rsp: u64,
    pub rip: u64,
}

impl Registers {
    /// Those of the code in which it stands.
    #[inline(always)]
    pub fn here() -> Registers {
        let mut now = Registers::default();
        // SAFETY: only stores registers into the structure.
        unsafe {
            core::arch::asm!(
                "mov [{0}], rbx", "mov [{0} + 8], rbp", "mov [{0} + 16], r12", "mov [{0} + 24], r13",
                "mov [{0} + 32], r14", "mov [{0} + 40], r15", "mov [{0} + 48], rsp",
                "lea {1}, [rip]", "mov [{0} + 56], {1}",
                in(reg) &raw mut now, out(reg) _, options(nostack, preserves_flags)
            );
        }
        now
    }

    /// Steps out of frames as long as `inside` holds for their code, and
    /// returns the registers as they are in the first one for which it does
    /// not. Without tables, what was reached so far.
    pub fn leave(mut self, inside: impl Fn(&Registers) -> bool) -> Registers {
        let Some(mut tables) = TABLES.lock_soon() else { return self };
        while inside(&self) {
            match tables.with_row(self.rip - 1, |row, _| self.caller(row)) {
                Some(caller) => self = caller,
                None => break,
            }
        }
        self
    }

    fn caller(&self, row: &UnwindTableRow<usize, Room>) -> Option<Registers> {
        let top = match row.cfa() {
            CfaRule::RegisterAndOffset { register: X86_64::RSP, offset } => {
                self.rsp.wrapping_add_signed(*offset)
            }
            CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => {
                self.rbp.wrapping_add_signed(*offset)
            }
            _ => return None,
        };
        if row.register(X86_64::RA) == Some(RegisterRule::Undefined) || top < self.rsp || top % 8 != 0 {
            return None;
        }
        let word = |offset: i64| {
            // SAFETY: the tables of code that is running say that it saved a
            // register there.
            unsafe { *(top.wrapping_add_signed(offset) as *const u64) }
        };
        let saved = |register, now| match row.register(register) {
            Some(RegisterRule::Offset(offset)) => word(offset),
            _ => now,
        };
        Some(Registers {
            rbx: saved(X86_64::RBX, self.rbx),
            rbp: saved(X86_64::RBP, self.rbp),
            r12: saved(X86_64::R12, self.r12),
            r13: saved(X86_64::R13, self.r13),
            r14: saved(X86_64::R14, self.r14),
            r15: saved(X86_64::R15, self.r15),
            rsp: top,
            rip: word(-8),
        })
    }
}

fn rule_of(row: &UnwindTableRow<usize, Room>, frames: &EhFrame<Bytes>) -> Option<Rule> {
    if row.register(X86_64::RA) == Some(RegisterRule::Undefined) {
        return Some(Rule::Stop);
    }
    let saved = match row.register(X86_64::RBP) {
        Some(RegisterRule::Offset(offset)) => Some(u16::try_from(-offset).ok()?),
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => Some(0),
        _ => None,
    };
    match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            let (up, saved) = (u32::try_from(*offset).ok()?, saved?);
            match *register {
                X86_64::RSP => Some(Rule::Stack { up, saved }),
                X86_64::RBP => Some(Rule::Frame { up, saved }),
                _ => None,
            }
        }
        CfaRule::Expression(expression) => stored_rule(expression.get(frames).ok()?, row, frames),
    }
}

/// `DW_OP_breg6 -n; DW_OP_deref`: what GCC says of functions that align their
/// stack.
fn stored_rule(
    expression: gimli::Expression<Bytes>,
    row: &UnwindTableRow<usize, Room>,
    frames: &EhFrame<Bytes>,
) -> Option<Rule> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let mut operations = expression.operations(encoding);
    let below = match operations.next().ok()?? {
        gimli::Operation::RegisterOffset { register: X86_64::RBP, offset, .. } => {
            u32::try_from(-offset).ok()?
        }
        _ => return None,
    };
    if !matches!(operations.next().ok()??, gimli::Operation::Deref { .. }) {
        return None;
    }
    let saved_at_frame = match row.register(X86_64::RBP) {
        Some(RegisterRule::Expression(place)) => {
            let mut place = place.get(frames).ok()?.operations(encoding);
            matches!(
                place.next().ok()??,
                gimli::Operation::RegisterOffset { register: X86_64::RBP, offset: 0, .. }
            )
        }
        _ => false,
    };
    Some(Rule::Stored { below, saved_at_frame })
}

/// The code of the function that a return address leads into.
#[cfg(feature = "executable")]
pub fn function_of(address: u64) -> Option<core::ops::Range<u64>> {
    let (entry, ..) = entry_around(address - 1)?;
    Some(entry.initial_address()..entry.end_address())
}

/// Bounds of the module around an address.
pub fn module_of(address: usize) -> core::ops::Range<usize> {
    find_object(address as u64).map_or(0..0, |object| object.map_start as usize..object.map_end as usize)
}

/// Asks the loader without taking any lock of its.
fn find_object(address: u64) -> Option<DlFindObject> {
    let mut object = core::mem::MaybeUninit::<DlFindObject>::zeroed();
    // SAFETY: the structure is as large as glibc's; zero bytes are valid.
    unsafe { (_dl_find_object(address as *mut _, object.as_mut_ptr()) == 0).then(|| object.assume_init()) }
}

/// The unwind tables for an address.
fn table_around(address: u64) -> Option<(Found, BaseAddresses)> {
    let object = find_object(address)?;
    let (header, end) = (object.eh_frame as usize, object.map_end as usize);
    if header == 0 || header >= end {
        return None;
    }
    // SAFETY: the loader maps a module up to its end; the tables lie in it.
    let header_bytes: &'static [u8] =
        unsafe { core::slice::from_raw_parts(header as *const u8, end - header) };
    let bases = BaseAddresses::default().set_eh_frame_hdr(header as u64);
    let parsed = EhFrameHdr::new(header_bytes, NativeEndian).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(start) = parsed.eh_frame_ptr() else { return None };
    let start = start as usize;
    if start >= end {
        return None;
    }
    // SAFETY: as above.
    let frame_bytes: &'static [u8] = unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
    let bases = bases.set_eh_frame(start as u64);
    Some((
        Found {
            header: EndianSlice::new(header_bytes, NativeEndian),
            frames: EndianSlice::new(frame_bytes, NativeEndian),
        },
        bases,
    ))
}

struct Found {
    header: Bytes,
    frames: Bytes,
}

/// glibc's `struct dl_find_object`.
#[repr(C)]
struct DlFindObject {
    flags: u64,
    map_start: *mut libc::c_void,
    map_end: *mut libc::c_void,
    link_map: *mut libc::c_void,
    eh_frame: *mut libc::c_void,
    reserved: [u64; 7],
}

unsafe extern "C" {
    fn _dl_find_object(address: *mut libc::c_void, result: *mut DlFindObject) -> i32;
}

pub fn before_fork() {
    TABLES.acquire();
}

pub fn after_fork() {
    TABLES.release();
}
