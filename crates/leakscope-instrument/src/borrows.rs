//! Locals that got their value from another variable, which still has it.
//!
//! `T *end = start + n;`: while `start` is what it was, the death of `end` is
//! not that of the last pointer. That is one comparison, and where nothing
//! is assigned to `start` in between it is known when the code is compiled.
//!
//! Only for locals with one assignment, whose lender is a variable that lives
//! longer.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::ir::{Opcode, Value};
use crate::llvm::Function;

#[derive(Default)]
pub struct Borrows<'m> {
    loans: HashMap<Value<'m>, Loan<'m>>,
}

struct Loan<'m> {
    lender: Value<'m>,
    /// What the lender had when it lent; null before.
    lent: Value<'m>,
}

impl<'m> Borrows<'m> {
    /// Looks for the lender of `local`; before anything is added to the
    /// function, whose instructions these are.
    pub fn find(
        &mut self,
        builder: &Builder<'m>,
        function: Function<'m>,
        instructions: &[Value<'m>],
        local: Value<'m>,
    ) {
        let mut stores = local.users().filter(|user| user.is(Opcode::LLVMStore));
        let (Some(store), None) = (stores.next(), stores.next()) else { return };
        let origin = store.operand(0).without_steps();
        if store.operand(1) != local || !origin.is(Opcode::LLVMLoad) || !origin.ty().is_pointer() {
            return;
        }
        let lender = origin.operand(0);
        let begins = |local: Value<'m>| {
            let is_start = |at: &&Value<'m>| {
                at.called_name().is_some_and(|name| name.starts_with("llvm.lifetime.start"))
                    && at.operand(1) == local
            };
            // Without a mark it lives as long as the function.
            instructions.iter().position(|at| is_start(&at)).unwrap_or(0)
        };
        let outlives = lender.is(Opcode::LLVMAlloca) && begins(lender) <= begins(local);
        if lender != local && (outlives || lender.is_global()) {
            self.loans.insert(local, Loan { lender, lent: builder.local(function, builder.null()) });
        }
    }

    /// The local begins to live, where the builder is.
    pub fn begin(&self, builder: &Builder<'m>, local: Value<'m>) {
        if let Some(loan) = self.loans.get(&local) {
            builder.store(builder.null(), loan.lent);
        }
    }

    /// The local gets its value by `store`, before which the builder is.
    pub fn assign(&self, builder: &Builder<'m>, local: Value<'m>, store: Value<'m>) {
        if let Some(loan) = self.loans.get(&local) {
            builder.store(store.operand(0).without_steps(), loan.lent);
        }
    }

    /// `old`, the value of the local, or null if the lender has it still.
    pub fn owned(&self, builder: &Builder<'m>, local: Value<'m>, old: Value<'m>) -> Value<'m> {
        let Some(loan) = self.loans.get(&local) else { return old };
        let has = builder.load(builder.pointer_type(), loan.lender);
        let lent = builder.load(builder.pointer_type(), loan.lent);
        builder.select(builder.equal(has, lent), builder.null(), old)
    }
}
