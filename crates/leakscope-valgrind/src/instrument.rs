//! What is added to the program's code, one superblock at a time.
//!
//! - A store of four bytes or more (of bytes only those in a row), and a write to a general register that
//!   functions keep: if the old value may point into the heap, a helper stamps
//!   the block. The test is inline, one shift and one comparison. Registers
//!   that are restored before a return are put aside for its helper.
//! - A call notes its return address; a return, or whatever else raises the
//!   stack pointer, lets the frame die: its words are stamped and cleared, so
//!   that nothing stale is left on the stack.
//! - If last uses are wanted, loads and stores through heap addresses.
//!
//! VEX has optimised the block before: of several writes to one register in a
//! block only the last is there.

mod entries;
mod explained;
mod scopes;
pub mod steps;
mod stores;

use core::ffi::c_void;

use leakscope_wire::Cause;

use crate::events::RED_ZONE;
use crate::frames::{Function, Stretch};
use crate::ir::{self, Code, Helper, RAX, RBP, RSP, constant};
use crate::list::List;
use crate::machine::{self, KEPT, is_epilogue, is_jump, moves_result};
use crate::memory::Single;
use crate::modules::{self, Owner};
use crate::uses::Uses;
use crate::vg::{self, IRExpr, IRSB, IRStmt};
use crate::{details, events, stamps, tool};
use steps::{TRAIL, Way};
use stores::Step;

/// What a temporary is known to hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    /// The stack pointer at the block's start, and so much.
    Stack(i64),
    /// Something relative to the frame pointer.
    Frame,
    /// What a general register held at the block's start, and a distance from
    /// there.
    Register(u8),
}

impl Known {
    /// Whether it leads to the stack.
    fn is_stack(self) -> bool {
        matches!(self, Known::Stack(_) | Known::Frame)
    }
}

static KNOWN: Single<List<Known>> = Single::new(List::new());

/// Valgrind calls this for each block of code that it translates.
pub unsafe extern "C" fn block(
    _: *mut vg::VgCallbackClosure,
    input: *mut IRSB,
    _: *const vg::VexGuestLayout,
    extents: *const vg::VexGuestExtents,
    _: *const vg::VexArchInfo,
    _: vg::IRType,
    _: vg::IRType,
) -> *mut IRSB {
    // SAFETY: the block and its extents are Valgrind's, for us to read; the
    // copy is ours.
    unsafe {
        let input = &*input;
        let statements = core::slice::from_raw_parts(input.stmts, input.stmts_used as usize);
        let start = (&(*extents).base)[0] as usize;
        let known = KNOWN.get();
        known.clear();
        known.resize((*input.tyenv).types_used as usize, Known::Nothing);
        TRAIL.get().start((*input.tyenv).types_used as usize);
        let returns = input.jumpkind == vg::Ijk_Ret;
        let last_exit = statements.iter().rposition(|&it| (*it).tag == vg::Ist_Exit);
        let mut block = Block {
            code: Code(vg::deepCopyIRSBExceptStmts(input)),
            known,
            entry: core::ptr::null_mut(),
            stack: Known::Stack(0),
            stack_noted: 0,
            lowest: 0,
            instruction: 0,
            next: start as u64,
            before: 0,
            owner: modules::owner(start),
            is_users: modules::is_users(start as u64),
            sites: [(0, 0); 2],
            function: None,
            stretch: None,
            changed: 0,
            uses: tool::OPTIONS.get().last_use.then(|| Uses::of(input, statements)),
            index: 0,
            start,
            kept: machine::ways_at_call(start as u64).kept,
            result: if machine::is_return_point(start) { Returned::Unread } else { Returned::Kept },
            passes_count: false,
            ends: false,
            set: 0,
            saved: 0,
            restored: 0,
            given_back: 0,
            written: events::IS_LEFT,
            marks_red_zone: true,
            statement: 0,
            moved: 0,
            jumped: 0,
            sets_result: false,
            piece: start as u64,
            counted: None,
        };
        let body = statements.iter().position(|&it| (*it).tag == vg::Ist_IMark).unwrap_or(statements.len());
        for &statement in &statements[..body] {
            block.code.add(statement);
        }
        block.entry = block.code.register(RSP);
        for (index, &statement) in statements.iter().enumerate().skip(body) {
            block.index = index;
            if block.stands_in(statement) {
                return block.code.0;
            }
            block.ends = returns && last_exit.is_none_or(|exit| exit < index);
            let old = block.explain_before(statement);
            block.statement(statement);
            block.explain_after(statement, old);
            // Valgrind may follow a call, so that a function begins here too.
            if (*statement).tag == vg::Ist_IMark {
                let parts = &(&(*extents).base)[..(*extents).n_used as usize];
                if parts.contains(&block.instruction) {
                    block.begin_if_pools();
                    block.begin_if_containers();
                    block.explain_entry();
                }
            }
        }
        if input.jumpkind == vg::Ijk_Boring
            && let Some(to) = ir::constant_value(input.next)
        {
            block.note_way_out(to);
            block.end_scopes(to, None);
        }
        block.end(input.jumpkind, ir::constant_value(input.next));
        block.code.0
    }
}

/// What happened to a result, in a block of code to which calls return.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Unread,
    /// Looked at, or through, but not copied.
    Read,
    /// Copied or overwritten; or there is none, or it is no pointer: only a part
    /// of the register is read.
    Kept,
}

struct Block<'a> {
    code: Code,
    known: &'a mut List<Known>,
    /// The stack pointer at the start.
    entry: *mut IRExpr,
    /// The stack pointer now, in which instruction that was noted, and how low it was.
    stack: Known,
    stack_noted: u64,
    lowest: i64,
    /// Address of the instruction that we are in, and of the next.
    instruction: u64,
    next: u64,
    /// Of the instruction that was executed before; 0 if it is not known.
    before: u64,
    owner: Owner,
    is_users: bool,
    /// The latest site numbers, by instruction and cause.
    sites: [(u64, u32); 2],
    /// The function that the instruction is in, if its frame is known.
    function: Option<Function>,
    /// The code of it that the instruction is in, if it is optimised, and it is known
    /// where its variables are.
    stretch: Option<Stretch>,
    /// The registers that the instruction wrote to.
    changed: u16,
    /// The uses to note, if any are wanted.
    uses: Option<Uses>,
    /// Of the statement that we are in.
    index: usize,
    start: usize,
    /// The ways to what is in registers at the start, if calls return there.
    kept: [Way; KEPT.len()],
    result: Returned,
    /// The register of results was set to a small number: a call would be told
    /// how many vector registers its arguments take.
    passes_count: bool,
    /// Nothing but a return leaves the block from here on.
    ends: bool,
    /// Registers that were written to since the last call.
    set: u16,
    /// Registers whose value from the block's start is in memory, or in another
    /// one that is followed.
    saved: u16,
    /// Registers whose old value was put aside for the return.
    restored: u16,
    /// Registers that got what the caller had in them, put aside or not.
    given_back: u16,
    /// What was last written to the register of results, for the return.
    written: u32,
    /// The next use of memory below the stack pointer has to be noted.
    marks_red_zone: bool,
    /// The last instruction that does more than take down a frame; 0 if there
    /// is none.
    statement: u64,
    /// The last that optimised code gets its result ready with, which several statements may share.
    moved: u64,
    /// The last jump that Valgrind followed; 0 if there is none.
    jumped: u64,
    /// The register of results was written there or later.
    sets_result: bool,
    /// Where the piece of code begins that the instruction is in.
    piece: u64,
    /// An integer in memory was changed by one: uses that follow are part of it.
    counted: Option<Step>,
}

impl Block<'_> {
    fn statement(&mut self, statement: *mut IRStmt) {
        // SAFETY: VEX's statement; its tag says which arm is there.
        unsafe {
            let arm = &(*statement).Ist;
            match (*statement).tag {
                vg::Ist_IMark => {
                    // Valgrind may follow a jump.
                    if arm.IMark.addr != self.next {
                        self.leave_by_jump(Some(arm.IMark.addr));
                        self.jumped = self.instruction;
                    }
                    self.enter(arm.IMark.addr);
                    (self.before, self.instruction) = (self.instruction, arm.IMark.addr);
                    self.changed = 0;
                    self.next = arm.IMark.addr + u64::from(arm.IMark.len);
                    let (address, bytes) = (arm.IMark.addr as usize, arm.IMark.len as usize);
                    if self.stretch.is_some() && moves_result(address, bytes) {
                        self.moved = arm.IMark.addr;
                    } else if !is_epilogue(address, bytes) {
                        self.statement = arm.IMark.addr;
                        self.sets_result = false;
                    }
                }
                vg::Ist_WrTmp => self.assign(arm.WrTmp.tmp, arm.WrTmp.data),
                vg::Ist_Put => self.put(arm.Put.offset, arm.Put.data),
                vg::Ist_Store => self.store(arm.Store.addr, arm.Store.data),
                vg::Ist_StoreG => {
                    let store = &*arm.StoreG.details;
                    self.guarded_store(store.addr, store.data, store.guard);
                }
                vg::Ist_CAS => {
                    self.code.add(statement);
                    return self.exchange(&*arm.CAS.details);
                }
                vg::Ist_LLSC if !arm.LLSC.storedata.is_null() => {
                    self.store(arm.LLSC.addr, arm.LLSC.storedata)
                }
                vg::Ist_LoadG => {
                    let load = &*arm.LoadG.details;
                    self.use_of(load.addr);
                }
                vg::Ist_Dirty => {
                    let call = &*arm.Dirty.details;
                    if matches!(call.mFx, vg::Ifx_Write | vg::Ifx_Modify) {
                        let site = self.site(Cause::Overwritten as u32);
                        let size = constant(call.mSize as u64);
                        self.code.call(Some(call.guard), &ON_WRITE, &[call.mAddr, size, site]);
                    }
                }
                vg::Ist_Exit => {
                    self.raise_before_exit();
                    let to = &*arm.Exit.dst;
                    if to.tag == vg::Ico_U64 {
                        self.note_way_out(to.Ico.U64);
                        self.end_scopes(to.Ico.U64, Some(arm.Exit.guard));
                    }
                }
                _ => {}
            }
        }
        self.code.add(statement);
    }

    fn assign(&mut self, temporary: vg::IRTemp, data: *mut IRExpr) {
        TRAIL.get().assign(temporary, data, self.index);
        // SAFETY: VEX's expression; its tag says which arm is there.
        let known = unsafe {
            let arm = &(*data).Iex;
            match (*data).tag {
                vg::Iex_Get => match ir::register_at(arm.Get.offset) {
                    Some(RAX) => {
                        if arm.Get.ty != vg::Ity_I64 {
                            self.result = Returned::Kept;
                        } else if self.result == Returned::Unread {
                            self.result = Returned::Read;
                        }
                        Known::Register(RAX as u8)
                    }
                    Some(RSP) => self.stack,
                    Some(RBP) => Known::Frame,
                    Some(register) => Known::Register(register as u8),
                    None => Known::Nothing,
                },
                vg::Iex_RdTmp => self.known(data),
                vg::Iex_Binop => {
                    let operation = arm.Binop;
                    let distance = ir::constant_value(operation.arg2).map(|it| it as i64);
                    match (operation.op, self.known(operation.arg1), distance) {
                        (_, Known::Nothing, _) => Known::Nothing,
                        (vg::Iop_Add64 | vg::Iop_Sub64, known @ Known::Register(_), _) => known,
                        (_, Known::Register(_), _) => Known::Nothing,
                        (vg::Iop_Add64, Known::Stack(offset), Some(more)) => {
                            Known::Stack(offset.wrapping_add(more))
                        }
                        (vg::Iop_Sub64, Known::Stack(offset), Some(less)) => {
                            Known::Stack(offset.wrapping_sub(less))
                        }
                        // Frames of variable size, or aligned.
                        (vg::Iop_Add64 | vg::Iop_Sub64 | vg::Iop_And64, ..) => Known::Frame,
                        _ => Known::Nothing,
                    }
                }
                vg::Iex_Unop => {
                    let narrows = matches!(arm.Unop.op, vg::Iop_64to32 | vg::Iop_64to16 | vg::Iop_64to8);
                    if narrows && self.known(arm.Unop.arg) == Known::Register(RAX as u8) {
                        self.result = Returned::Kept;
                    }
                    Known::Nothing
                }
                vg::Iex_Load => {
                    self.use_of(arm.Load.addr);
                    Known::Nothing
                }
                _ => Known::Nothing,
            }
        };
        if let Some(place) = self.known.get_mut(temporary as usize) {
            *place = known;
        }
    }

    fn known(&self, expression: *const IRExpr) -> Known {
        let temporary = ir::temporary(expression);
        temporary.and_then(|it| self.known.get(it as usize)).copied().unwrap_or(Known::Nothing)
    }

    fn put(&mut self, offset: i32, data: *mut IRExpr) {
        let Some(register) = ir::register_at(offset) else { return };
        TRAIL.get().put(register, data, self.index);
        self.changed |= 1 << register;
        let is_whole = self.code.type_of(data) == vg::Ity_I64;
        if register == RAX {
            self.sets_result = true;
            self.written = if is_whole { 0 } else { events::IS_FLAG };
        }
        if !is_whole {
            return;
        }
        if register == RSP {
            self.stack = self.known(data);
            self.stack_noted = self.instruction;
            if let Known::Stack(offset) = self.stack {
                self.lowest = self.lowest.min(offset);
            }
            return;
        }
        self.set |= 1 << register;
        self.mark_red_zone(data);
        self.save(data, register);
        // A register that a call need not keep got its value since the last
        // one: from the result, or from memory. What happens there is seen, and
        // at the return what is left in the register.
        if events::DEAD >> register & 1 == 1 {
            return;
        }
        // Most often an array or a string is walked through: same block.
        if self.owner != Owner::Program || self.known(data) == Known::Register(register as u8) {
            return;
        }
        if self.ends {
            self.given_back |= 1 << register;
        }
        if register == RAX {
            // Like those above, unless it is a result that nobody kept.
            self.passes_count = ir::constant_value(data).is_some_and(|count| count <= 8);
            if core::mem::replace(&mut self.result, Returned::Kept) != Returned::Kept {
                let old = self.code.register(RAX);
                let guard = self.code.is_heap(old);
                let start = constant(self.start as u64);
                self.code.call(Some(guard), &ON_RESULT, &[old, data, start]);
            }
        } else if self.saved >> register & 1 == 1 {
            // A copy goes on.
        } else if self.ends {
            self.code.set_aside(register);
            self.restored |= 1 << register;
        } else {
            let old = self.code.register(register);
            let guard = self.code.is_heap(old);
            let site = self.site_of_place(0, |_| Way::to_register(register));
            self.code.call(Some(guard), &ON_REGISTER, &[old, data, site]);
        }
    }

    /// Notes that what `data` has from a register goes on, unless it only goes
    /// to `register`, which is not followed, or is the same.
    fn save(&mut self, data: *const IRExpr, register: usize) {
        let Known::Register(from) = self.known(data) else { return };
        if usize::from(from) == register {
            return;
        }
        if usize::from(from) == RAX {
            self.result = Returned::Kept;
        }
        if events::DEAD >> register & 1 == 0 {
            self.saved |= 1 << from;
        }
    }

    /// An address below the stack pointer is written to or kept: the function
    /// has data there.
    fn mark_red_zone(&mut self, address: *const IRExpr) {
        let is_below = match (self.known(address), self.stack) {
            (Known::Stack(offset), Known::Stack(stack)) => offset < stack,
            (known, _) => known.is_stack(),
        };
        if is_below && core::mem::replace(&mut self.marks_red_zone, false) {
            self.code.store(constant(events::has_red_zone() as u64), constant(1));
        }
    }

    fn use_of(&mut self, address: *mut IRExpr) {
        if !self.uses.as_ref().is_some_and(|uses| uses.is_last(self.index))
            || self.owner != Owner::Program
            || self.known(address).is_stack()
            || ir::constant_value(address).is_some()
        {
            return;
        }
        let guard = self.code.is_heap(address);
        let site = self.site(stamps::USE);
        self.code.call(Some(guard), &ON_USE, &[address, site]);
        if self.counted.is_some() {
            stamps::note_count(self.sites[1].1);
        }
        if details::are_kept() && self.is_users && self.function.is_none() {
            self.code.call(Some(guard), &ON_TOUCH, &[address, site]);
        }
    }

    /// Before the program may leave the block: frames that died in it.
    fn raise_before_exit(&mut self) {
        if !matches!(self.stack, Known::Stack(offset) if offset <= self.lowest + RED_ZONE as i64) {
            self.raise(&ON_RAISE, Cause::ScopeEnd, None);
            if let Known::Stack(offset) = self.stack {
                self.lowest = offset;
            }
        }
    }

    fn end(&mut self, kind: vg::IRJumpKind, to: Option<u64>) {
        if kind == vg::Ijk_Ret {
            // The statement that ran, not the brace behind it. Of one that returns what a
            // call did, only the jump may be left.
            let jumped = if self.stretch.is_none() { self.jumped } else { 0 };
            if let Some(statement) = [self.statement, self.moved, jumped].into_iter().find(|&it| it != 0) {
                self.instruction = statement;
            }
            let is_shared = self.statement == 0 && self.stretch.is_some();
            let shared = if is_shared { events::SHARED_END } else { 0 };
            let sets_result = if self.sets_result { events::SETS_RESULT } else { 0 };
            let given_back = u32::from(self.given_back) >> 1 << events::GIVEN_BACK;
            let results = match self.function.map(|function| function.results()) {
                Some(0) => events::NO_RESULT,
                Some(1) => events::ONE_RESULT,
                Some(2) => events::TWO_RESULTS,
                _ => 0,
            };
            let what = u32::from(self.restored) | sets_result | self.written | given_back;
            self.raise(&ON_RETURN, Cause::ScopeEnd, Some(u64::from(what) | results | shared));
        } else {
            if self.result == Returned::Read && self.owner == Owner::Program {
                let old = self.code.register(RAX);
                let guard = self.code.is_heap(old);
                self.code.call(Some(guard), &ON_TESTED, &[old, constant(self.start as u64)]);
            }
            if kind == vg::Ijk_Boring {
                self.leave_by_jump(to);
            }
            self.raise_before_exit();
        }
    }

    /// A jump after the frame was given back may lead to another function, which
    /// takes this one's place.
    fn leave_by_jump(&mut self, to: Option<u64>) {
        if self.instruction == 0 || !is_jump(self.instruction as usize) {
            return;
        }
        // Valgrind leaves out what is written to the stack pointer right before the jump, if it
        // is written to again before memory is needed.
        let is_noted = self.before == 0 || self.stack_noted == self.before;
        let more = if is_noted { 0 } else { machine::raises_by(self.before as usize) };
        let raised = |offset: i64| offset + more.cast_signed();
        let is_raised =
            matches!(self.stack, Known::Stack(offset) if raised(offset) > self.lowest && raised(offset) > 0);
        let stack = self.code.register(RSP);
        let stack = self.code.binary(vg::Iop_Add64, stack, constant(more), vg::Ity_I64);
        if is_raised {
            self.raise_to(stack, &ON_JUMP, Cause::ScopeEnd, None);
        }
        // Without a frame to give back, a jump to nobody knows where may be a `switch`.
        let leads_away = |stretch: &Stretch| to.map_or(is_raised, |to| !stretch.is_of_function(to));
        if self.stretch.as_ref().is_some_and(leads_away) {
            let at = self.note_jump();
            self.code.call(None, &ON_TAIL_CALL, &[ir::guest_state(), stack, constant(at)]);
        }
    }

    /// Calls a helper for what dies below the stack pointer; `more` is its last
    /// argument.
    fn raise(&mut self, helper: &Helper, cause: Cause, more: Option<u64>) {
        let now = self.code.register(RSP);
        self.raise_to(now, helper, cause, more);
    }

    /// The same with the stack pointer at `now`.
    fn raise_to(&mut self, now: *mut IRExpr, helper: &Helper, cause: Cause, more: Option<u64>) {
        let (helper, more) = if self.stack.is_stack() { (helper, more) } else { (&ON_SWITCH, None) };
        let low = self.code.binary(vg::Iop_Add64, self.entry, constant(self.lowest as u64), vg::Ity_I64);
        let site = self.site(cause as u32);
        match more {
            Some(more) => self.code.call(None, helper, &[ir::guest_state(), low, now, site, constant(more)]),
            None => self.code.call(None, helper, &[ir::guest_state(), low, now, site]),
        }
    }

    /// A number for the instruction and what happens there.
    fn site(&mut self, cause: u32) -> *mut IRExpr {
        self.site_with(cause, 0, |_| Way::default())
    }

    /// The same where a word of what a place held is overwritten; `way` leads
    /// there.
    fn site_of_place(&mut self, word: usize, way: impl FnOnce(&Self) -> Way) -> *mut IRExpr {
        self.site_with(Cause::Overwritten as u32, word, way)
    }

    fn site_with(&mut self, cause: u32, word: usize, way: impl FnOnce(&Self) -> Way) -> *mut IRExpr {
        match self.owner {
            Owner::Program => {}
            Owner::Preloaded => return constant(u64::from(events::PRELOADED)),
            Owner::Linker => return constant(u64::from(events::LINKER)),
        }
        let kind = usize::from(cause == stamps::USE);
        let (instruction, number) = self.sites[kind];
        let key = self.instruction << 8 | (word as u64) << 4 | u64::from(cause);
        if instruction == key && number != 0 {
            return constant(u64::from(number));
        }
        let way = way(self);
        let number = stamps::new_site(self.instruction + 1, cause, way);
        self.sites[kind] = (key, number);
        constant(u64::from(number))
    }
}

macro_rules! helper {
    ($name:ident, $text:literal, $function:path, $clears:literal) => {
        static $name: Helper =
            Helper { name: $text, function: $function as *const c_void, clears_stack: $clears };
    };
}

helper!(ON_STORE, c"leakscope_store", events::on_store, false);
helper!(ON_KNOWN_STORE, c"leakscope_known_store", events::on_known_store, false);
helper!(ON_LIBRARYS_STORE, c"leakscope_librarys_store", events::on_librarys_store, false);
helper!(ON_WRITE, c"leakscope_write", events::on_write, false);
helper!(ON_EXCHANGE, c"leakscope_exchange", events::on_exchange, false);
helper!(ON_REGISTER, c"leakscope_register", events::on_register, false);
helper!(ON_RESULT, c"leakscope_result", events::on_result, false);
helper!(ON_TESTED, c"leakscope_tested", events::on_tested, false);
helper!(ON_CALL, c"leakscope_call", events::on_call, true);
helper!(ON_VARIADIC, c"leakscope_variadic", events::on_variadic, true);
helper!(ON_RETURN, c"leakscope_return", events::on_return, true);
helper!(ON_POOL, c"leakscope_pool", events::on_pool, true);
helper!(STAND_IN, c"leakscope_stand_in", events::stand_in, false);
helper!(ON_JUMP, c"leakscope_jump", events::on_jump, true);
helper!(ON_TAIL_CALL, c"leakscope_tail_call", events::on_tail_call, true);
helper!(ON_RAISE, c"leakscope_raise", events::on_raise, true);
helper!(ON_SWITCH, c"leakscope_switch", events::on_switch, true);
helper!(ON_SCOPE_END, c"leakscope_scope_end", events::on_scope_end, false);
helper!(ON_INLINED_END, c"leakscope_inlined_end", events::on_inlined_end, false);
helper!(ON_ELEMENTS_END, c"leakscope_elements_end", events::on_elements_end, false);
helper!(ON_VARIABLE_END, c"leakscope_variable_end", events::on_variable_end, false);
helper!(
    ON_SCOPE_END_BEHIND_CALL,
    c"leakscope_scope_end_behind_call",
    events::on_scope_end_behind_call,
    false
);
helper!(ON_USE, c"leakscope_use", events::on_use, false);
helper!(ON_READ, c"leakscope_read", details::on_read, false);
helper!(ON_READS, c"leakscope_reads", details::on_reads, false);
helper!(ON_SET, c"leakscope_set", details::on_set, false);
helper!(ON_SETS, c"leakscope_sets", details::on_sets, false);
helper!(ON_END, c"leakscope_end", details::on_end, false);
helper!(ON_ENDS, c"leakscope_ends", details::on_ends, false);
helper!(ON_COUNT, c"leakscope_count", details::on_count, false);
helper!(ON_COUNT_EXCHANGE, c"leakscope_count_exchange", details::on_count_exchange, false);
helper!(ON_TOUCH, c"leakscope_touch", details::on_touch, false);
helper!(ON_ENTER, c"leakscope_enter", details::on_enter, true);
