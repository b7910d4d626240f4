//! The shape of a body: order of blocks, loops, and where values are last
//! read.

use leakscope_ir::{Block, BlockId, Body, Call, Callee, GlobalId, Op, Operand, Shape, Terminator, ValueId};
use rustc_hash::FxHashSet;

use crate::simulate::Summaries;

pub struct Flow {
    /// Position of each block in reverse postorder; unreachable ones have none.
    pub order: Vec<Option<u32>>,
    pub is_loop_head: Vec<bool>,
    /// For each block, the heads of the loops that it is in, innermost first.
    pub loops: Vec<Vec<BlockId>>,
    /// The block that each value is computed in.
    pub block_of: Vec<BlockId>,
    /// For each block, what it needs from before.
    pub live_in: Vec<Vec<ValueId>>,
    /// Values that some instruction reads.
    pub is_used: Vec<bool>,
    /// For each block and instruction, the values that nothing reads after it.
    pub dying: Vec<Vec<Vec<ValueId>>>,
}

/// Blocks that values are live in, all values together.
const MAX_LIVE: usize = 1 << 24;
/// Loops of one procedure that are told apart.
const MAX_LOOPS: usize = 256;

impl Flow {
    /// `None` for a body that is too large.
    pub fn of(body: &Body) -> Option<Flow> {
        let order = reverse_postorder(body);
        let position = |block: BlockId| order[block.0 as usize];
        let count = body.blocks.len();
        let mut is_loop_head = vec![false; count];
        for (index, block) in body.blocks.iter().enumerate() {
            for to in block.end.successors() {
                if position(to) <= order[index] && order[index].is_some() {
                    is_loop_head[to.0 as usize] = true;
                }
            }
        }
        let loops = loops(body, &order, &is_loop_head);
        let mut block_of = vec![BlockId(0); body.values as usize];
        for (index, block) in body.blocks.iter().enumerate() {
            for instruction in &block.instructions {
                block_of[instruction.result.0 as usize] = BlockId(index as u32);
            }
        }
        let live_out = liveness(body, &block_of)?;
        let reads = body.blocks.iter().zip(&live_out).map(|(block, live_out)| last_reads(block, live_out));
        let (live_in, dying) = reads.unzip();
        let is_used = used_values(body, Results::Used);
        Some(Flow { order, is_loop_head, loops, block_of, live_in, is_used, dying })
    }

    /// Globals that a turn of a loop writes over before it looks at what they
    /// hold.
    pub fn rewritten_globals(&self, body: &Body, summaries: &dyn Summaries) -> FxHashSet<GlobalId> {
        let mut blocks: Vec<usize> = (0..body.blocks.len())
            .filter(|&index| self.order[index].is_some() && !self.loops[index].is_empty())
            .collect();
        blocks.sort_by_key(|&index| self.order[index]);
        let (mut looked_at, mut rewritten) = (FxHashSet::default(), FxHashSet::default());
        for instruction in blocks.into_iter().flat_map(|index| &body.blocks[index].instructions) {
            match &instruction.op {
                Op::Load { from: Operand::Global(global, _), .. } if !rewritten.contains(global) => {
                    looked_at.insert(*global);
                }
                Op::Store {
                    to: Operand::Global(global, 0),
                    shape: Shape::Scalar { is_pointer: true, .. },
                    ..
                } if !looked_at.contains(global) => {
                    rewritten.insert(*global);
                }
                Op::Call(Call { callee: Callee::Function(callee), .. }) => {
                    let Some(summary) = summaries.summary(*callee) else { continue };
                    let looks = summary.globals_read().filter(|global| !rewritten.contains(global));
                    looked_at.extend(looks);
                    rewritten.extend(summary.globals_written().filter(|global| !looked_at.contains(global)));
                }
                _ => {}
            }
        }
        rewritten
    }
}

/// Whether somebody does something with what a function returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Results {
    Used,
    Unused,
}

/// Values that are used for more than to name a variable.
pub fn used_values(body: &Body, results: Results) -> Vec<bool> {
    let mut used = vec![false; body.values as usize];
    let mut note = |operand: &Operand| {
        if let Operand::Value(value) = operand {
            used[value.0 as usize] = true;
        }
    };
    for block in &body.blocks {
        for instruction in &block.instructions {
            if !matches!(instruction.op, Op::Name { .. }) {
                instruction.op.for_each_operand(&mut note);
            }
        }
        let is_result = matches!(block.end, Terminator::Return(_));
        if !is_result || results == Results::Used {
            block.end.operand().into_iter().for_each(&mut note);
        }
    }
    used
}

/// Whether any block of a body can run again.
pub fn has_loop(body: &Body) -> bool {
    let order = reverse_postorder(body);
    body.blocks.iter().enumerate().any(|(index, block)| {
        order[index].is_some() && block.end.successors().iter().any(|to| order[to.0 as usize] <= order[index])
    })
}

/// A set of values.
#[derive(Clone, PartialEq)]
pub struct Values(Vec<u64>);

impl Values {
    /// The empty set, for `values` values.
    pub fn none(values: u32) -> Values {
        Values(vec![0; (values as usize).div_ceil(64)])
    }

    pub fn contains(&self, value: ValueId) -> bool {
        self.0[value.0 as usize / 64] >> (value.0 % 64) & 1 == 1
    }

    /// Keeps what is in `other` too; whether that changed anything.
    pub fn keep(&mut self, other: &Values) -> bool {
        let mut is_changed = false;
        for (own, others) in self.0.iter_mut().zip(&other.0) {
            is_changed |= *own & !others != 0;
            *own &= others;
        }
        is_changed
    }

    /// Whether it was not in before.
    pub fn insert(&mut self, value: ValueId) -> bool {
        let (word, bit) = (value.0 as usize / 64, 1 << (value.0 % 64));
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// Whether it was in.
    pub fn remove(&mut self, value: ValueId) -> bool {
        let (word, bit) = (value.0 as usize / 64, 1 << (value.0 % 64));
        let was_in = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        was_in
    }
}

/// By block, whether a way leads from it to one that is meant.
pub fn leading_to(body: &Body, is_meant: impl Fn(BlockId, &Block) -> bool) -> Vec<bool> {
    let predecessors = predecessors(body);
    let is_meant = |&index: &usize| is_meant(BlockId(index as u32), &body.blocks[index]);
    let mut open: Vec<usize> = (0..body.blocks.len()).filter(is_meant).collect();
    let mut leads = vec![false; body.blocks.len()];
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut leads[block], true) {
            open.extend(&predecessors[block]);
        }
    }
    leads
}

fn reverse_postorder(body: &Body) -> Vec<Option<u32>> {
    let mut postorder = Vec::new();
    let mut seen = vec![false; body.blocks.len()];
    let mut open: Vec<(BlockId, Vec<BlockId>)> = Vec::new();
    if !body.blocks.is_empty() {
        seen[0] = true;
        open.push((BlockId(0), body.blocks[0].end.successors()));
    }
    while let Some((block, successors)) = open.last_mut() {
        match successors.pop() {
            Some(to) if !seen[to.0 as usize] => {
                seen[to.0 as usize] = true;
                open.push((to, body.block(to).end.successors()));
            }
            Some(_) => {}
            None => {
                postorder.push(*block);
                open.pop();
            }
        }
    }
    let mut order = vec![None; body.blocks.len()];
    for (index, block) in postorder.iter().rev().enumerate() {
        order[block.0 as usize] = Some(index as u32);
    }
    order
}

/// The natural loops that each block is in: of a head, all blocks from which
/// an edge back to it can be reached without passing it. Where scopes end, clang
/// sends those that go round and those that leave through the same blocks, and
/// tells them apart by a number: who comes with the number of another way is not
/// on this one.
fn loops(body: &Body, order: &[Option<u32>], is_head: &[bool]) -> Vec<Vec<BlockId>> {
    let predecessors = predecessors(body);
    let mut loops: Vec<Vec<BlockId>> = vec![Vec::new(); body.blocks.len()];
    let mut heads: Vec<usize> = (0..body.blocks.len()).filter(|&index| is_head[index]).collect();
    // Inner heads come later in the order.
    heads.sort_by_key(|&index| std::cmp::Reverse(order[index]));
    for head in heads.into_iter().take(MAX_LOOPS) {
        let (mut is_in, mut seen_all) = (vec![false; body.blocks.len()], vec![false; body.blocks.len()]);
        let mut seen = FxHashSet::default();
        (is_in[head], seen_all[head]) = (true, true);
        loops[head].push(BlockId(head as u32));
        let back = predecessors[head].iter().copied().filter(|&from| order[from] >= order[head]);
        let mut open: Vec<(usize, Option<Number>)> =
            back.map(|from| (from, Number::of(body, from, head))).collect();
        while let Some((block, number)) = open.pop() {
            let is_new = match number {
                Some(_) => seen.insert((block, number)),
                None => !std::mem::replace(&mut seen_all[block], true),
            };
            if !is_new || seen_all[block] && number.is_some() || order[block].is_none() {
                continue;
            }
            if !std::mem::replace(&mut is_in[block], true) {
                loops[block].push(BlockId(head as u32));
            }
            for &from in &predecessors[block] {
                match number.map(|number| number.before(body, block, from)) {
                    Some(Before::Other) => {}
                    Some(Before::Same(number)) => open.push((from, Some(number))),
                    Some(Before::Unknown) | None => open.push((from, Number::of(body, from, block))),
                }
            }
        }
    }
    loops
}

/// A value that must be one of those with which a switch goes to a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Number {
    value: ValueId,
    switch: usize,
    to: usize,
}

/// What must hold at the end of a block for a [`Number`] to be right in the next.
enum Before {
    Same(Number),
    Other,
    Unknown,
}

impl Number {
    /// By which `from` goes to `to`.
    fn of(body: &Body, from: usize, to: usize) -> Option<Number> {
        match &body.blocks[from].end {
            Terminator::Switch { value: Operand::Value(value), .. } => {
                Some(Number { value: *value, switch: from, to })
            }
            _ => None,
        }
    }

    fn before(self, body: &Body, block: usize, from: usize) -> Before {
        let defined = body.blocks[block].instructions.iter().find(|it| it.result == self.value);
        let incoming = match defined.map(|instruction| &instruction.op) {
            None => return Before::Same(self),
            Some(Op::Phi { incoming }) => incoming.iter().find(|(block, _)| block.0 as usize == from),
            Some(_) => None,
        };
        match incoming {
            Some((_, Operand::Value(value))) => Before::Same(Number { value: *value, ..self }),
            Some((_, Operand::Int(number))) if !self.is_right(body, *number) => Before::Other,
            _ => Before::Unknown,
        }
    }

    fn is_right(self, body: &Body, number: i64) -> bool {
        let Terminator::Switch { cases, default, .. } = &body.blocks[self.switch].end else { return true };
        let to = cases.iter().find(|(case, _)| *case == number).map_or(default, |(_, to)| to);
        to.0 as usize == self.to
    }
}

fn predecessors(body: &Body) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); body.blocks.len()];
    for (index, block) in body.blocks.iter().enumerate() {
        for to in block.end.successors() {
            predecessors[to.0 as usize].push(index);
        }
    }
    predecessors
}

/// For each block, what is read after it; `None` where that is too much. A value
/// is live on the ways from where it is read back to where it is computed.
fn liveness(body: &Body, block_of: &[BlockId]) -> Option<Vec<Vec<ValueId>>> {
    let mut readers: Vec<Vec<BlockId>> = vec![Vec::new(); body.values as usize];
    // At the end of these blocks, since PHIs read there.
    let mut read_after = readers.clone();
    for (index, block) in body.blocks.iter().enumerate() {
        let id = BlockId(index as u32);
        let mut read = |operand: &Operand| {
            if let Operand::Value(value) = operand
                && block_of[value.0 as usize] != id
            {
                readers[value.0 as usize].push(id);
            }
        };
        block.end.operand().into_iter().for_each(&mut read);
        for instruction in &block.instructions {
            let Op::Phi { incoming } = &instruction.op else {
                instruction.op.for_each_operand(&mut read);
                continue;
            };
            for (from, value) in incoming {
                if let Operand::Value(value) = value {
                    read_after[value.0 as usize].push(*from);
                }
            }
        }
    }
    let predecessors = predecessors(body);
    let mut live_out = vec![Vec::new(); body.blocks.len()];
    let mut count = 0;
    for (index, (readers, mut open)) in readers.into_iter().zip(read_after).enumerate() {
        let value = ValueId(index as u32);
        let before = |block: BlockId| predecessors[block.0 as usize].iter().map(|&from| BlockId(from as u32));
        open.extend(readers.into_iter().flat_map(before));
        while let Some(block) = open.pop() {
            let live: &mut Vec<ValueId> = &mut live_out[block.0 as usize];
            if live.last() == Some(&value) {
                continue;
            }
            live.push(value);
            count += 1;
            if count > MAX_LIVE {
                return None;
            }
            if block_of[index] != block {
                open.extend(before(block));
            }
        }
    }
    Some(live_out)
}

/// What is live before a block, and what dies at each of its instructions. A
/// PHI reads at the end of the blocks before.
fn last_reads(block: &Block, live_out: &[ValueId]) -> (Vec<ValueId>, Vec<Vec<ValueId>>) {
    let mut live: FxHashSet<ValueId> = live_out.iter().copied().collect();
    let mut last = vec![Vec::new(); block.instructions.len()];
    if let Some(Operand::Value(value)) = block.end.operand() {
        live.insert(*value);
    }
    for (index, instruction) in block.instructions.iter().enumerate().rev() {
        if !live.remove(&instruction.result) {
            last[index].push(instruction.result);
        }
        if matches!(instruction.op, Op::Phi { .. }) {
            continue;
        }
        instruction.op.for_each_operand(&mut |operand| {
            if let Operand::Value(value) = operand
                && live.insert(*value)
            {
                last[index].push(*value);
            }
        });
    }
    let mut before: Vec<ValueId> = live.into_iter().collect();
    before.sort_unstable();
    (before, last)
}
