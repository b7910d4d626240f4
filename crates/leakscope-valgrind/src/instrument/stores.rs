//! What the program's code writes over: the old value of a store, if it may
//! point into the heap, stamps its block.

use leakscope_wire::Cause;

use super::steps::TRAIL;
use super::{
    Block, Known, ON_CALL, ON_EXCHANGE, ON_KNOWN_STORE, ON_LIBRARYS_STORE, ON_STORE, ON_VARIADIC, ON_WRITE,
    Returned,
};
use crate::arena;
use crate::events;
use crate::frames;
use crate::ir::{self, RAX, RBP, constant};
use crate::machine::is_repeated;
use crate::modules::Owner;
use crate::stamps;
use crate::vg::{self, IRExpr};

/// How an integer changes by one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Up,
    Down,
}

impl Block<'_> {
    pub(super) fn store(&mut self, address: *mut IRExpr, data: *mut IRExpr) {
        if ir::constant_value(data) == Some(self.next) {
            // Only a call stores the address of the next instruction.
            self.note_return_point();
            let is_kept = core::mem::replace(&mut self.result, Returned::Kept) == Returned::Kept;
            let unkept_since = if is_kept { 0 } else { self.start as u64 };
            self.marks_red_zone = true;
            let site = self.site(Cause::Overwritten as u32);
            let set = u64::from(core::mem::take(&mut self.set)) << events::REGISTERS_SET;
            let in_order = if self.function.is_some() { events::IN_ORDER } else { 0 };
            let what = constant(ir::constant_value(site).unwrap_or(0) | set | in_order);
            self.code.call(None, &ON_CALL, &[ir::guest_state(), data, address, what, constant(unkept_since)]);
            if core::mem::replace(&mut self.passes_count, false) && self.owner == Owner::Program {
                self.code.call(None, &ON_VARIADIC, &[ir::guest_state(), constant(0), address]);
            }
            return;
        }
        self.mark_red_zone(address);
        if self.owner != Owner::Program {
            return;
        }
        self.use_of(address);
        self.note_count(data);
        let bytes = ir::bytes_of(self.code.type_of(data));
        if bytes == 8 {
            match self.known(data) {
                Known::Register(register) => {
                    self.saved |= 1 << register;
                    if usize::from(register) == RAX {
                        self.result = Returned::Kept;
                    }
                }
                Known::Frame => self.saved |= 1 << RBP,
                _ => {}
            }
        }
        if bytes == 1 && is_repeated(self.instruction as usize) {
            return self.store_in_row(address);
        }
        if bytes < 4 || self.is_pushed(address) {
            return;
        }
        for word in 0..bytes.div_ceil(8) {
            let place = self.word_at(address, bytes, word);
            let old = self.code.load(vg::Ity_I64, place);
            let guard = match self.known(address) {
                // Nothing is noted there, unless no user's code is on the stack.
                Known::Stack(_) if !self.is_users => self.code.is_heap_outside(old),
                _ => self.code.is_heap(old),
            };
            let site = match bytes {
                8.. if self.is_users => self.site_of_place(word, |block| block.way_to(address, word)),
                _ => self.site(Cause::Overwritten as u32),
            };
            if self.is_users && frames::is_there() {
                let is_word = self.code.type_of(data) == vg::Ity_I64;
                let new = if is_word { data } else { constant(0) };
                self.code.call(Some(guard), &ON_KNOWN_STORE, &[old, new, site, place]);
            } else if self.is_users {
                self.code.call(Some(guard), &ON_STORE, &[old, site]);
            } else {
                self.code.call(Some(guard), &ON_LIBRARYS_STORE, &[old, site, place]);
            }
        }
    }

    /// If `data`, which is stored, is an integer from memory and one more or less, the
    /// use of the place is a count.
    fn note_count(&mut self, data: *const IRExpr) {
        let Some(step) = self.step_of(data).filter(|_| self.uses.is_some()) else { return };
        self.counted = Some(step);
        let (used, number) = self.sites[1];
        if used >> 8 == self.instruction {
            stamps::note_count(number);
        }
    }

    /// How a value differs from one from memory that is not in a frame, if by one.
    pub(super) fn step_of(&self, value: *const IRExpr) -> Option<Step> {
        self.step_beyond(value, None)
    }

    /// The same; `step` once it was seen.
    fn step_beyond(&self, value: *const IRExpr, step: Option<Step>) -> Option<Step> {
        let definition = TRAIL.get().definition(value)?;
        // SAFETY: VEX's expression; its tag says which arm is there.
        unsafe {
            let arm = &(*definition).Iex;
            match (*definition).tag {
                vg::Iex_Unop => self.step_beyond(arm.Unop.arg, step),
                vg::Iex_RdTmp => self.step_beyond(definition, step),
                vg::Iex_Binop if step.is_none() => {
                    let by = ir::integer_value(arm.Binop.arg2)? as i32;
                    let step = match (arm.Binop.op, by) {
                        (vg::Iop_Add64 | vg::Iop_Add32, 1) | (vg::Iop_Sub64 | vg::Iop_Sub32, -1) => Step::Up,
                        (vg::Iop_Add64 | vg::Iop_Add32, -1) | (vg::Iop_Sub64 | vg::Iop_Sub32, 1) => {
                            Step::Down
                        }
                        _ => return None,
                    };
                    self.step_beyond(arm.Binop.arg1, Some(step))
                }
                vg::Iex_Load => step.filter(|_| !self.known(arm.Load.addr).is_stack()),
                _ => None,
            }
        }
    }

    /// One byte of many: with the first of a word the word dies.
    fn store_in_row(&mut self, address: *mut IRExpr) {
        let place = self.code.binary(vg::Iop_And64, address, constant(!7), vg::Ity_I64);
        let old = self.code.load(vg::Ity_I64, place);
        let upper = self.code.binary(vg::Iop_Shr64, old, ir::byte(arena::SHIFT as u8), vg::Ity_I64);
        let within = self.code.binary(vg::Iop_And64, address, constant(7), vg::Ity_I64);
        let first = self.code.binary(vg::Iop_Shl64, within, ir::byte(32), vg::Ity_I64);
        let both = self.code.binary(vg::Iop_Or64, upper, first, vg::Ity_I64);
        let guard = self.code.binary(vg::Iop_CmpEQ64, both, constant(1), vg::Ity_I1);
        let site = self.site(Cause::Overwritten as u32);
        self.code.call(Some(guard), &ON_LIBRARYS_STORE, &[old, site, place]);
    }

    /// The address of the `number`th word that a store of `bytes` covers.
    fn word_at(&mut self, address: *mut IRExpr, bytes: usize, number: usize) -> *mut IRExpr {
        match (bytes, number) {
            (4, _) => self.code.binary(vg::Iop_And64, address, constant(!7), vg::Ity_I64),
            (_, 0) => address,
            _ => self.code.binary(vg::Iop_Add64, address, constant(8 * number as u64), vg::Ity_I64),
        }
    }

    /// Whether the place was given to the stack in this block: nothing is
    /// there that could die.
    fn is_pushed(&self, address: *const IRExpr) -> bool {
        match (self.known(address), self.stack) {
            (Known::Stack(offset), Known::Stack(stack)) => offset >= stack && offset < 0,
            _ => false,
        }
    }

    pub(super) fn guarded_store(&mut self, address: *mut IRExpr, data: *mut IRExpr, guard: *mut IRExpr) {
        if ir::bytes_of(self.code.type_of(data)) < 4 {
            return;
        }
        let site = self.site(Cause::Overwritten as u32);
        let size = constant(ir::bytes_of(self.code.type_of(data)) as u64);
        self.code.call(Some(guard), &ON_WRITE, &[address, size, site]);
    }

    /// After a compare-and-swap: the old value died if it was the expected.
    pub(super) fn exchange(&mut self, exchange: &vg::IRCAS) {
        self.use_of(exchange.addr);
        self.note_count(exchange.dataLo);
        if self.known(exchange.dataLo) == Known::Register(RAX as u8) {
            self.result = Returned::Kept;
        }
        for (old, expected) in [(exchange.oldLo, exchange.expdLo), (exchange.oldHi, exchange.expdHi)] {
            if expected.is_null() || self.code.type_of(expected) != vg::Ity_I64 {
                continue;
            }
            // SAFETY: VEX's own construction function; the temporary was
            // assigned by the statement before.
            let old = unsafe { vg::IRExpr_RdTmp(old) };
            let guard = self.code.is_heap(old);
            let site = self.site(Cause::Overwritten as u32);
            self.code.call(Some(guard), &ON_EXCHANGE, &[old, expected, site]);
        }
    }
}
