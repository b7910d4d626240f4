//! `a ? b : c` without branches, where both sides only compute: one term says
//! what comes of it, where each way would be a path of its own. A checksum with
//! a choice for each bit has as many paths as there are inputs.
//!
//! Only choices between integers that stand on one line of the source: other
//! branches are lines and marks that a warning may name.

use super::Tools;
use crate::ir::{Block, Opcode, Value};
use crate::llvm::Function;

/// More instructions on one side are not worth it.
const MOST: usize = 12;

pub fn flatten<'m>(tools: &mut Tools<'_, 'm>, function: Function<'m>) {
    // A choice in a choice is flattened first.
    while let Some(choice) = function.blocks().find_map(Choice::of) {
        choice.flatten(tools);
    }
}

/// A branch whose ways meet again after computing something.
struct Choice<'m> {
    branch: Value<'m>,
    yes: Side<'m>,
    no: Side<'m>,
    meet: Block<'m>,
}

/// Blocks in a row, up to where the ways meet.
struct Side<'m> {
    blocks: Vec<Block<'m>>,
    body: Vec<Value<'m>>,
}

impl<'m> Choice<'m> {
    fn of(block: Block<'m>) -> Option<Choice<'m>> {
        let branch = block.terminator().filter(|at| at.is_conditional())?;
        let line = branch.location()?.line();
        let mut ways = branch.successors();
        let (yes, no) = (ways.next()?, ways.next()?);
        let (yes, meet) = Side::of(yes, line)?;
        let (no, other) = Side::of(no, line)?;
        let phis = || meet.instructions().take_while(|at| at.is(Opcode::LLVMPHI));
        let is_choice = meet == other
            && meet.ways_in().count() == 2
            && phis().next().is_some()
            && phis().all(|phi| phi.ty().is_any_integer());
        is_choice.then_some(Choice { branch, yes, no, meet })
    }

    fn flatten(self, tools: &Tools<'_, 'm>) {
        let builder = tools.builder;
        builder.before(self.branch).nowhere();
        for &at in self.yes.body.iter().chain(&self.no.body) {
            builder.take_over(at);
        }
        builder.before(self.branch);
        let phis: Vec<Value<'m>> = self.meet.instructions().take_while(|at| at.is(Opcode::LLVMPHI)).collect();
        for phi in phis {
            let from = |side: &Side<'m>| phi.incoming().find(|(block, _)| side.blocks.last() == Some(block));
            let (Some((_, yes)), Some((_, no))) = (from(&self.yes), from(&self.no)) else { continue };
            let chosen = builder.select(self.branch.operand(0), yes, no);
            builder.replace_instruction(phi, chosen);
        }
        builder.jump(self.meet);
        self.branch.erase();
        for block in self.yes.blocks.into_iter().chain(self.no.blocks) {
            block.delete();
        }
    }
}

impl<'m> Side<'m> {
    /// What is computed from a block on, and the block that does not belong to
    /// this side alone.
    fn of(first: Block<'m>, line: u32) -> Option<(Side<'m>, Block<'m>)> {
        let mut side = Side { blocks: Vec::new(), body: Vec::new() };
        let mut at = first;
        while at.has_one_way_in() {
            let end = at.terminator()?;
            let mut ways = end.successors();
            let (Some(next), None) = (ways.next(), ways.next()) else { return None };
            let body: Vec<Value<'m>> = at.instructions().filter(|&at| at != end).collect();
            let is_here = |at: &Value<'m>| at.location().is_none_or(|location| location.line() == line);
            if !body.iter().all(|at| only_computes(*at) && is_here(at)) || !end.is(Opcode::LLVMBr) {
                return None;
            }
            side.body.extend(body);
            side.blocks.push(at);
            at = next;
        }
        (!side.blocks.is_empty() && side.body.len() <= MOST).then_some((side, at))
    }
}

/// Whether an instruction can be carried out though nobody wants its result.
pub fn only_computes(at: Value<'_>) -> bool {
    use Opcode::*;
    match at.opcode() {
        Some(LLVMLoad) => at.operand(0).is(LLVMAlloca) && !at.is_volatile(),
        Some(
            LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor | LLVMShl | LLVMLShr | LLVMAShr
            | LLVMICmp | LLVMSelect | LLVMZExt | LLVMSExt | LLVMTrunc,
        ) => true,
        _ => false,
    }
}
