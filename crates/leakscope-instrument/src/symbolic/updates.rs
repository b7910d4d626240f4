//! `if (crc & 1) crc = crc >> 1 ^ POLYNOMIAL; else crc >>= 1;` without branches,
//! on however many lines: a checksum that is written so has as many paths as
//! there are inputs, and each of them has to be right bit by bit.
//!
//! Only where locals are made of what they were, by shifts and exclusive or, or
//! after a look at themselves (`if (a >= 65521) a -= 65521;`). What counts, or
//! notes that something was seen, is a branch that others want to know of.

use super::Tools;
use super::choices::only_computes;
use crate::ir::{Block, Opcode, Value};
use crate::llvm::Function;

/// More instructions on one side are not worth it.
const MOST: usize = 24;

/// As far as this it is looked what a value is made of.
const DEEPEST: u32 = 10;

pub fn flatten<'m>(tools: &mut Tools<'_, 'm>, function: Function<'m>) {
    while let Some(update) = function.blocks().find_map(Update::of) {
        update.flatten(tools);
    }
}

/// A branch around updates of locals.
struct Update<'m> {
    branch: Value<'m>,
    yes: Option<Block<'m>>,
    no: Option<Block<'m>>,
    meet: Block<'m>,
}

impl<'m> Update<'m> {
    fn of(block: Block<'m>) -> Option<Update<'m>> {
        let branch = block.terminator().filter(|at| at.is_conditional())?;
        let mut ways = branch.successors();
        let (yes, no) = (ways.next()?, ways.next()?);
        let (yes, no, meet) = match (goes_on(yes), goes_on(no)) {
            (Some(meet), Some(other)) if meet == other => (Some(yes), Some(no), meet),
            (Some(meet), _) if meet == no => (Some(yes), None, no),
            (_, Some(meet)) if meet == yes => (None, Some(no), yes),
            _ => return None,
        };
        let sides = || yes.into_iter().chain(no);
        let has_phi = meet.instructions().next().is_some_and(|at| at.is(Opcode::LLVMPHI));
        let is_update = !has_phi
            && meet != block
            && sides().all(|side| only_updates(side, branch.operand(0)))
            && sides().any(|side| side.instructions().any(|at| at.is(Opcode::LLVMStore)));
        is_update.then_some(Update { branch, yes, no, meet })
    }

    /// Both sides one after the other: what the condition forbids stores what is
    /// there.
    fn flatten(self, tools: &Tools<'_, 'm>) {
        let builder = tools.builder;
        let condition = self.branch.operand(0);
        // All of it stands where the branch does: neither line is passed for certain.
        builder.before(self.branch);
        for (side, is_yes) in
            self.yes.map(|side| (side, true)).into_iter().chain(self.no.map(|side| (side, false)))
        {
            for at in body(side) {
                if !at.is(Opcode::LLVMStore) {
                    builder.take_over(at);
                    continue;
                }
                let (value, local) = (at.operand(0), at.operand(1));
                let old = builder.load(value.ty(), local);
                let (then, otherwise) = if is_yes { (value, old) } else { (old, value) };
                builder.store(builder.select(condition, then, otherwise), local);
                at.erase();
            }
        }
        builder.jump(self.meet);
        self.branch.erase();
        self.yes.into_iter().chain(self.no).for_each(Block::delete);
    }
}

/// Where a block goes on that only one way leads to, and from.
fn goes_on(block: Block<'_>) -> Option<Block<'_>> {
    let end = block.terminator().filter(|end| block.has_one_way_in() && end.is(Opcode::LLVMBr))?;
    let mut ways = end.successors();
    let next = ways.next()?;
    ways.next().is_none().then_some(next)
}

fn body(block: Block<'_>) -> Vec<Value<'_>> {
    block.instructions().filter(|at| !at.is_terminator()).collect()
}

/// Whether a side changes nothing but locals, each made of itself.
fn only_updates<'m>(side: Block<'m>, condition: Value<'m>) -> bool {
    let body = body(side);
    let is_update = |at: &Value<'m>| {
        let (value, local) = (at.operand(0), at.operand(1));
        let is_local = local.is(Opcode::LLVMAlloca) && value.ty().is_any_integer() && !at.is_volatile();
        let mixes = |at: Value<'m>| {
            use Opcode::*;
            matches!(at.opcode(), Some(LLVMXor | LLVMShl | LLVMLShr | LLVMAShr))
        };
        let reads = |at: Value<'m>| at.is(Opcode::LLVMLoad) && at.operand(0) == local;
        is_local
            && !value.is(Opcode::LLVMLoad)
            && is_made_of(value, DEEPEST, &reads)
            && (is_made_of(value, DEEPEST, &mixes) || is_made_of(condition, DEEPEST, &reads))
    };
    body.len() <= MOST
        && body.iter().all(|at| if at.is(Opcode::LLVMStore) { is_update(at) } else { only_computes(*at) })
}

fn is_made_of<'m>(value: Value<'m>, depth: u32, is: &dyn Fn(Value<'m>) -> bool) -> bool {
    is(value)
        || depth > 0
            && only_computes(value)
            && !value.is(Opcode::LLVMLoad)
            && value.operands().any(|operand| is_made_of(operand, depth - 1, is))
}
