//! What happens to members on the ways through a body: before a store, and up to
//! where their elements are released.

use leakscope_ir::{BlockId, Call, Callee, Compare, Op, Operand, Shape, Terminator, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{End, Finder, Outgrown, Replaced};
use crate::effects::Effect;
use crate::records::Member;

impl Finder<'_, '_> {
    /// Whether a member is written to only where a comparison found that it is
    /// null: what was used before is that of another turn, or element.
    pub(super) fn is_where_null(&self, store: &Outgrown) -> bool {
        let to = self.values.block_of[store.by.0 as usize];
        (0..).map(BlockId).zip(&self.body.blocks).any(|(id, block)| match &block.end {
            Terminator::Branch { condition: Operand::Value(condition), yes, no } => {
                self.tests.get(condition).is_some_and(|tested| tested.contains(&store.member))
                    && yes != no
                    && !self.is_reached_without((id, self.null_side(*condition, *yes, *no)), to)
            }
            _ => false,
        })
    }

    /// Where a branch goes that compares something with null, and it is that.
    fn null_side(&self, condition: ValueId, yes: BlockId, no: BlockId) -> BlockId {
        match self.values.op(condition) {
            Some(Op::Compare { op: Compare::Eq, .. }) => yes,
            _ => no,
        }
    }

    /// Whether a member is compared with null on a way to where it is written to.
    pub(super) fn is_tested_before(&self, store: &Replaced) -> bool {
        let mut looks = self.looks.iter().filter(|(member, _)| *member == store.member);
        looks.any(|(_, from)| self.reaches(*from, store.by))
    }

    /// Whether a way leads from one instruction to another.
    fn reaches(&self, from: ValueId, to: ValueId) -> bool {
        let block = |value: ValueId| self.values.block_of[value.0 as usize];
        block(from) == block(to) && from < to || self.blocks_before(block(to), None).contains(&block(from))
    }

    /// Blocks from which a way leads to one that does not go through `around`.
    fn blocks_before(&self, to: BlockId, around: Option<BlockId>) -> FxHashSet<BlockId> {
        let mut leading: FxHashMap<BlockId, Vec<BlockId>> = FxHashMap::default();
        for (id, block) in (0..).map(BlockId).zip(&self.body.blocks) {
            block.end.successors().into_iter().for_each(|next| leading.entry(next).or_default().push(id));
        }
        let (mut open, mut seen) = (vec![to], FxHashSet::default());
        while let Some(id) = open.pop() {
            if Some(id) != around {
                let before = leading.get(&id).into_iter().flatten().copied();
                open.extend(before.filter(|id| seen.insert(*id)));
            }
        }
        seen
    }

    /// Whether what one of `members` of what `base` points to led to was used
    /// before an instruction. Not if it may have become `stored`, as by `realloc`,
    /// or been released.
    pub(super) fn is_used_before(
        &self,
        base: &Operand,
        by: ValueId,
        members: &[Member],
        stored: &Operand,
    ) -> bool {
        let around = match base {
            Operand::Value(value) if self.values.op(*value).is_some() => {
                Some(self.values.block_of[value.0 as usize])
            }
            _ => None,
        };
        let is_it = |pointer: &Operand| match self.base(pointer) {
            Operand::Value(loaded) => match self.values.op(*loaded) {
                Some(Op::Load { from, .. }) if self.base(from) == base => {
                    self.members(from).iter().any(|member| members.contains(member))
                }
                _ => false,
            },
            _ => false,
        };
        let block = |value: ValueId| self.values.block_of[value.0 as usize];
        let before = self.blocks_before(block(by), around);
        let is_before =
            |value: ValueId| block(value) == block(by) && value < by || before.contains(&block(value));
        let mut is_used = false;
        for instruction in self.instructions().filter(|made| is_before(made.result)) {
            is_used |= match &instruction.op {
                Op::Load { from, .. } => is_it(from),
                Op::Copy { to, from, .. } => is_it(to) || is_it(from),
                Op::Store { to, .. } => is_it(to),
                Op::Call(Call { callee, arguments, .. }) => {
                    let given = || (0..).zip(arguments).filter(|(_, argument)| is_it(argument));
                    if given().any(|(at, _)| !self.only_looks(callee, at, stored)) {
                        return false;
                    }
                    given().next().is_some()
                }
                _ => false,
            };
        }
        is_used
    }

    fn only_looks(&self, callee: &Callee, at: u32, stored: &Operand) -> bool {
        let Callee::Function(callee) = callee else { return false };
        match self.effects.world.model(*callee) {
            Some(model) => model.cases.iter().all(|case| case.refused.is_empty() && case.blocks.is_empty()),
            None => {
                let signature = &self.records.program.function(*callee).signature;
                // What is returned may be the same block, made larger.
                let returns_pointer = signature.0.starts_with('p');
                *stored == Operand::Int(0)
                    && !returns_pointer
                    && self.effects.of(*callee, at) == Effect::default()
            }
        }
    }

    /// Members of an element that were equal to a constant on every way to where
    /// it is released.
    pub(super) fn tags(&self, end: &End) -> Vec<Member> {
        let mut tags = Vec::new();
        for (id, block) in (0..).map(BlockId).zip(&self.body.blocks) {
            let Terminator::Branch { condition: Operand::Value(condition), yes, no } = &block.end else {
                continue;
            };
            let Some(Op::Compare { op, left: Operand::Value(left), right: Operand::Int(_) }) =
                self.values.op(*condition)
            else {
                continue;
            };
            let equal = match op {
                Compare::Eq => *yes,
                Compare::Ne => *no,
                _ => continue,
            };
            let Some(Op::Load { from, shape: Shape::Scalar { is_pointer: false, .. } }) =
                self.values.op(*left)
            else {
                continue;
            };
            let members = self.members(from).into_iter().filter(|member| member.0 == end.record);
            if yes != no && !self.is_reached_without((id, equal), end.block) {
                tags.extend(members);
            }
        }
        tags
    }

    /// Whether a way leads to a block that does not take an edge.
    fn is_reached_without(&self, edge: (BlockId, BlockId), to: BlockId) -> bool {
        let (mut open, mut seen) = (vec![BlockId(0)], FxHashSet::default());
        while let Some(id) = open.pop() {
            if id == to {
                return true;
            }
            if seen.insert(id) {
                let next = self.body.block(id).end.successors();
                open.extend(next.into_iter().filter(|next| (id, *next) != edge));
            }
        }
        false
    }

    /// Whether a way leads to a block on which a member was neither released nor
    /// found to be null.
    pub(super) fn is_skipped(&self, member: Member, to: BlockId) -> bool {
        let (mut open, mut seen) = (vec![BlockId(0)], FxHashSet::default());
        while let Some(id) = open.pop() {
            if self.facts.freed.contains(&(member, id)) || !seen.insert(id) {
                continue;
            }
            if id == to {
                return true;
            }
            match &self.body.block(id).end {
                Terminator::Branch { condition: Operand::Value(condition), yes, no } => {
                    let is_tested = self.tests.get(condition).is_some_and(|tested| tested.contains(&member));
                    let null = self.null_side(*condition, *yes, *no);
                    let other = if null == *yes { *no } else { *yes };
                    open.push(other);
                    open.extend((!is_tested).then_some(null));
                }
                end => open.extend(end.successors()),
            }
        }
        false
    }
}
