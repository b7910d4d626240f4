//! What is added for a run that explains: reads and stores of pointers, changes
//! of integers, and what optimised functions are given (`crate::details`).

use leakscope_wire::Cause;

use super::steps::{TRAIL, Way};
use super::stores::Step;
use super::{
    Block, Known, ON_COUNT, ON_COUNT_EXCHANGE, ON_END, ON_ENDS, ON_ENTER, ON_READ, ON_READS, ON_SET, ON_SETS,
};
use crate::details::{IN_FRAME, IS_GIVEN, OPTIMISED};
use crate::events::{self, ARGUMENTS};
use crate::ir::{self, RSP, constant};
use crate::modules::Owner;
use crate::vg::{self, IRExpr, IRStmt, IRType};
use crate::{details, inside, stamps};

impl Block<'_> {
    fn explains(&self) -> bool {
        details::are_kept() && self.owner == Owner::Program
    }

    /// Where a piece of the block's code begins: perhaps a function.
    pub(super) fn explain_entry(&mut self) {
        self.piece = self.instruction;
        if self.explains()
            && self.is_users
            && self.function.is_none()
            && inside::entry_name(self.instruction as usize).is_some()
        {
            let site = stamps::new_site(self.instruction + 1, Cause::Overwritten as u32, Way::default());
            let stack = self.code.register(RSP);
            self.code.call(None, &ON_ENTER, &[ir::guest_state(), constant(u64::from(site)), stack]);
        }
    }

    /// Before a statement: what it overwrites; an integer comes back.
    pub(super) fn explain_before(&mut self, statement: *const IRStmt) -> Option<*mut IRExpr> {
        let (address, data) = self.explained_store(statement)?;
        let kind = self.code.type_of(data);
        let site = self.site_at(address);
        match ir::bytes_of(kind) {
            4 | 8 if self.is_integer(kind) => {
                let old = self.code.load(kind, address);
                if kind == vg::Ity_I64 {
                    let guard = self.code.is_heap(old);
                    self.code.call(Some(guard), &ON_END, &[old, data, address, site]);
                }
                return Some(old);
            }
            bytes @ 16.. => self.code.call(None, &ON_ENDS, &[address, constant(bytes as u64), site]),
            _ => {}
        }
        None
    }

    /// After it: what was read or stored. `old` is the integer that was overwritten.
    pub(super) fn explain_after(&mut self, statement: *const IRStmt, old: Option<*mut IRExpr>) {
        if !self.explains() {
            return;
        }
        if let Some((address, data)) = self.explained_store(statement) {
            let site = self.site_at(address);
            if let Some(old) = old.filter(|_| !self.known(address).is_stack()) {
                let [old, new] = [old, data].map(|value| self.widened(value));
                let guard = self.code.is_heap(address);
                let is_step = constant(self.step_of(data).map_or(0, |_| 1));
                self.code.call(Some(guard), &ON_COUNT, &[address, old, new, site, is_step]);
            }
            match (ir::bytes_of(self.code.type_of(data)), self.code.type_of(data)) {
                (8, vg::Ity_I64) => {
                    let what = self.what_at(address) | self.given(address, data);
                    let guard = self.code.is_heap(data);
                    self.code.call(Some(guard), &ON_SET, &[data, address, site, constant(what)]);
                }
                (bytes @ 16.., _) => {
                    self.code.call(None, &ON_SETS, &[address, constant(bytes as u64), site]);
                }
                _ => {}
            }
            return;
        }
        // SAFETY: VEX's statement and expression; their tags say which arms are there.
        unsafe {
            let arm = &(*statement).Ist;
            if (*statement).tag == vg::Ist_CAS {
                return self.explain_exchange(&*arm.CAS.details);
            }
            if (*statement).tag != vg::Ist_WrTmp || (*arm.WrTmp.data).tag != vg::Iex_Load {
                return;
            }
            let load = (*arm.WrTmp.data).Iex.Load;
            let site = self.site_at(load.addr);
            match (ir::bytes_of(load.ty), load.ty) {
                // What was just counted down is compared with zero.
                (8, vg::Ity_I64) if self.counted != Some(Step::Down) || !self.known(load.addr).is_stack() => {
                    let word = vg::IRExpr_RdTmp(arm.WrTmp.tmp);
                    let guard = self.code.is_heap(word);
                    let what = constant(self.what_at(load.addr));
                    self.code.call(Some(guard), &ON_READ, &[word, load.addr, site, what]);
                }
                (bytes @ 16.., _) => {
                    self.code.call(None, &ON_READS, &[load.addr, constant(bytes as u64), site]);
                }
                _ => {}
            }
        }
    }

    fn explain_exchange(&mut self, exchange: &vg::IRCAS) {
        if !self.is_integer(self.code.type_of(exchange.dataLo)) || !exchange.dataHi.is_null() {
            return;
        }
        let site = self.site_at(exchange.addr);
        // SAFETY: VEX's own construction function; the statement has assigned it.
        let old = unsafe { vg::IRExpr_RdTmp(exchange.oldLo) };
        let [old, expected, new] = [old, exchange.expdLo, exchange.dataLo].map(|value| self.widened(value));
        let guard = self.code.is_heap(exchange.addr);
        let arguments = [exchange.addr, old, expected, new, site];
        self.code.call(Some(guard), &ON_COUNT_EXCHANGE, &arguments);
    }

    /// Where a store of the program's goes, and what it stores, unless a call
    /// stores where it returns to.
    fn explained_store(&self, statement: *const IRStmt) -> Option<(*mut IRExpr, *mut IRExpr)> {
        // SAFETY: VEX's statement; its tag says which arm is there.
        let (address, data) = unsafe {
            match (*statement).tag {
                vg::Ist_Store => ((*statement).Ist.Store.addr, (*statement).Ist.Store.data),
                _ => return None,
            }
        };
        let is_call = ir::constant_value(data) == Some(self.next);
        // What a function puts aside for its caller.
        let is_kept = matches!(self.known(data), Known::Register(it) if !events::dies_by_return(it.into()))
            || self.known(data) == Known::Frame;
        let puts_aside = is_kept && self.known(address).is_stack();
        (self.explains() && !is_call && !puts_aside).then_some((address, data))
    }

    fn is_integer(&self, kind: IRType) -> bool {
        matches!(kind, vg::Ity_I32 | vg::Ity_I64)
    }

    /// As a word.
    fn widened(&mut self, value: *mut IRExpr) -> *mut IRExpr {
        if self.code.type_of(value) == vg::Ity_I64 {
            return value;
        }
        // SAFETY: VEX's own construction function.
        let wide = unsafe { vg::IRExpr_Unop(vg::Iop_32Uto64, value) };
        self.code.value(vg::Ity_I64, wide)
    }

    fn site_at(&mut self, address: *mut IRExpr) -> *mut IRExpr {
        if self.is_users {
            self.site_of_place(0, |block| block.way_to(address, 0))
        } else {
            self.site(Cause::Overwritten as u32)
        }
    }

    fn what_at(&self, address: *const IRExpr) -> u64 {
        let optimised = if self.function.is_none() && self.is_users { OPTIMISED } else { 0 };
        let in_frame = if self.function.is_none() && self.known(address).is_stack() { IN_FRAME } else { 0 };
        optimised | in_frame
    }

    /// Code that was not optimised stores what a function was given first of all.
    fn given(&self, address: *const IRExpr, data: *const IRExpr) -> u64 {
        let is_argument = matches!(self.known(data), Known::Register(it) if ARGUMENTS.contains(&it.into()))
            || ARGUMENTS.iter().any(|&register| TRAIL.get().is_in(register, data));
        let begins = self.function.is_some_and(|function| function.begins_at(self.piece));
        if is_argument && begins && self.known(address).is_stack() { IS_GIVEN } else { 0 }
    }
}
