//! Which loads and stores of a superblock are worth noting as uses: of those
//! through one base, and with no way out of the superblock between them, the
//! last. A base is what an address was computed from; one base leads to one
//! block.

use crate::ir;
use crate::list::List;
use crate::memory::Single;
use crate::vg::{self, IRExpr, IRSB, IRStmt};

/// For each temporary what it was computed from, a temporary too.
static BASES: Single<List<u32>> = Single::new(List::new());
/// For each temporary that is a base the position from which on it was seen, as
/// the statements are gone through backwards.
static SEEN: Single<List<u32>> = Single::new(List::new());
static LAST: Single<List<bool>> = Single::new(List::new());

/// The uses of the superblock that is instrumented.
pub struct Uses(());

impl Uses {
    pub fn of(block: &IRSB, statements: &[*mut IRStmt]) -> Uses {
        let (bases, seen, last) = (BASES.get(), SEEN.get(), LAST.get());
        // SAFETY: VEX's block.
        let temporaries = unsafe { (*block.tyenv).types_used } as usize;
        bases.clear();
        bases.resize(temporaries, 0);
        seen.clear();
        seen.resize(temporaries, u32::MAX);
        last.clear();
        last.resize(statements.len(), false);
        for &statement in statements {
            // SAFETY: VEX's statement; its tag says which arm is there.
            unsafe {
                if (*statement).tag == vg::Ist_WrTmp {
                    let (temporary, data) = ((*statement).Ist.WrTmp.tmp, (*statement).Ist.WrTmp.data);
                    bases[temporary as usize] = base_of(bases, data).unwrap_or(temporary);
                }
            }
        }
        // Since which way out, counted from the end.
        let mut way_out = 0;
        for (index, &statement) in statements.iter().enumerate().rev() {
            // SAFETY: VEX's statement.
            if unsafe { (*statement).tag } == vg::Ist_Exit {
                way_out += 1;
            }
            let Some(address) = address_of(statement) else { continue };
            let Some(temporary) = ir::temporary(address) else { continue };
            let base = bases[temporary as usize] as usize;
            last[index] = seen[base] != way_out;
            seen[base] = way_out;
        }
        Uses(())
    }

    /// Whether the statement is the last use in a row.
    pub fn is_last(&self, index: usize) -> bool {
        LAST.get().get(index).copied().unwrap_or(false)
    }
}

/// What an address is computed from, if that is a temporary.
fn base_of(bases: &[u32], data: *const IRExpr) -> Option<u32> {
    // SAFETY: VEX's expression; its tag says which arm is there.
    let source = unsafe {
        match (*data).tag {
            vg::Iex_RdTmp => data,
            vg::Iex_Binop if matches!((*data).Iex.Binop.op, vg::Iop_Add64 | vg::Iop_Sub64) => {
                (*data).Iex.Binop.arg1
            }
            _ => return None,
        }
    };
    ir::temporary(source).map(|it| bases[it as usize])
}

/// Where a statement loads from or stores to.
fn address_of(statement: *const IRStmt) -> Option<*const IRExpr> {
    // SAFETY: VEX's statement; its tag says which arm is there.
    unsafe {
        let arm = &(*statement).Ist;
        let address = match (*statement).tag {
            vg::Ist_WrTmp if (*arm.WrTmp.data).tag == vg::Iex_Load => (*arm.WrTmp.data).Iex.Load.addr,
            vg::Ist_Store => arm.Store.addr,
            vg::Ist_LoadG => (*arm.LoadG.details).addr,
            vg::Ist_StoreG => (*arm.StoreG.details).addr,
            vg::Ist_CAS => (*arm.CAS.details).addr,
            vg::Ist_LLSC => arm.LLSC.addr,
            _ => return None,
        };
        Some(address)
    }
}
