//! Functions that are known by name where they begin: the program's own `malloc`
//! and its kin, those of pools, and those by which containers end elements.

use super::{Block, Known, ON_ELEMENTS_END, ON_POOL, STAND_IN};
use crate::containers::{self, Ends};
use crate::ir::{self, RAX, RSP, constant};
use crate::vg::{self, IRStmt};
use crate::{events, frames, inside, pools};

impl Block<'_> {
    /// If an allocation function of the program's begins here: a call of our own
    /// in its place, and a return. Nothing else is left of the block then.
    pub(super) fn stands_in(&mut self, statement: *mut IRStmt) -> bool {
        // SAFETY: VEX's statement; its tag says which arm is there.
        let address = unsafe {
            match (*statement).tag {
                vg::Ist_IMark => (*statement).Ist.IMark.addr,
                _ => return false,
            }
        };
        let Some(function) = inside::function_at(address as usize) else { return false };
        (self.instruction, self.statement) = (address, address);
        self.code.add(statement);
        let result = self.code.call_for_result(&STAND_IN, [ir::guest_state(), constant(function as u64)]);
        self.code.set_register(RAX, result);
        self.sets_result = true;
        let stack = self.code.register(RSP);
        let back = self.code.load(vg::Ity_I64, stack);
        let above = self.code.binary(vg::Iop_Add64, stack, constant(8), vg::Ity_I64);
        self.code.set_register(RSP, above);
        if let Known::Stack(offset) = &mut self.stack {
            *offset += 8;
        }
        self.code.return_to(back);
        self.end(vg::Ijk_Ret, None);
        true
    }

    /// If a function of a pool begins here, that is told.
    pub(super) fn begin_if_pools(&mut self) {
        if let Some(function) = pools::function_at(self.instruction as usize) {
            let stack = self.code.register(RSP);
            self.code.call(None, &ON_POOL, &[ir::guest_state(), constant(function as u64), stack]);
        }
    }

    /// If a function begins here by which a container ends its elements, that is told.
    pub(super) fn begin_if_containers(&mut self) {
        if !self.is_users || !frames::are_known() {
            return;
        }
        let [first, second] = events::FIRST_ARGUMENTS;
        match containers::function_at(self.instruction as usize) {
            Some(Ends::Range) => {
                let (first, last) = (self.code.register(first), self.code.register(second));
                self.code.call(None, &ON_ELEMENTS_END, &[first, last]);
            }
            Some(Ends::Pointer) => {
                let element = self.code.register(second);
                let behind = self.code.binary(vg::Iop_Add64, element, constant(8), vg::Ity_I64);
                self.code.call(None, &ON_ELEMENTS_END, &[element, behind]);
            }
            None => {}
        }
    }
}
