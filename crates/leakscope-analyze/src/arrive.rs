//! Where cases come to a block: they meet by property, and stay apart where a
//! caller could tell them apart, within bounds.

use leakscope_ir::{Block, BlockId, BlockRole, Instruction, Op, ValueId};

use crate::case::Case;
use crate::join::{Growth, Property, join};
use crate::simulate::{Memory, Simulation};
use crate::value::{Point, Value};

/// Procedures of so many blocks keep ways with different guards apart outside of
/// loops, up to so many of them.
const SMALL: usize = 40;
const WAYS: usize = 6;
/// Cases of one block that have no heap block to see to: only callers care for
/// them.
const FREE: usize = 6;
/// How much a status that only one of two cases has keeps them apart, where
/// there are too many.
const STATUS: usize = 6;
/// Joins of a case before growing values are widened.
const JOINS: u32 = 3;

/// What came to a block, as one case for each property.
pub struct Entry {
    property: Property,
    pub case: Case,
    joins: u32,
}

impl Simulation<'_, '_> {
    /// A case comes to the start of a block.
    pub fn arrive(&mut self, block: BlockId, mut case: Case) {
        let Some(order) = self.flow.order[block.0 as usize] else { return };
        if let Some(search) = &self.search
            && !search.is_ahead(block, &case, self.is_under_way(&case))
        {
            return;
        }
        case.release_nulls(&self.result.scope);
        if self.with.memory == Memory::LeftToOthers {
            case.leave_to_others(&self.result.scope);
        }
        if self.search.is_some() {
            self.settle_ended(&mut case, self.flow.is_loop_head[block.0 as usize]);
        }
        case.prune_memory();
        case.prune_facts(&self.result.scope);
        if let Some(search) = &mut self.search {
            let loops = &self.flow.loops[block.0 as usize];
            return search.arrive(block, loops, case, &mut self.result.scope);
        }
        let property = self.property(block, &case);
        let phis = phis(self.body.block(block));
        let is_in_loop = !self.flow.loops[block.0 as usize].is_empty();
        let keeps_ways = self.keeps_ways(self.entries[block.0 as usize].len(), is_in_loop);
        let max_cases = self.with.cases;
        let entries = &mut self.entries[block.0 as usize];
        let scope = &self.result.scope;
        let same = entries.iter().position(|entry| {
            entry.property == property && !(keeps_ways && entry.case.excludes(&case, scope))
        });
        // Ways that go on to different places stay apart in any case.
        let nearest = || {
            let is_free = property.blocks.is_empty();
            let alike = (0..entries.len()).filter(|&index| {
                let other = &entries[index].property;
                other.selectors == property.selectors && other.blocks.is_empty() == is_free
            });
            let few = alike.clone().count() < if is_free { FREE.min(max_cases) } else { max_cases };
            let distance = |index: &usize| {
                let entry = &entries[*index];
                entry.property.distance(&property) + STATUS * zeros_apart(&phis, &entry.case, &case)
            };
            alike.min_by_key(distance).filter(|_| !few)
        };
        let index = match same.or_else(nearest) {
            Some(index) => {
                let entry = &mut entries[index];
                entry.joins += 1;
                let limit = if self.flow.is_loop_head[block.0 as usize] { JOINS } else { 8 * JOINS };
                let growth = if entry.joins > limit { Growth::Widened } else { Growth::Free };
                let point = Point::Block(block);
                if !join(&mut entry.case, case, &mut self.result.scope, point, growth) {
                    return;
                }
                let selectors = std::mem::take(&mut entry.property.selectors);
                entry.property = Property { selectors, ..Property::of(&entry.case, &self.result.scope) };
                index
            }
            None => {
                entries.push(Entry { property, case, joins: 0 });
                entries.len() - 1
            }
        };
        self.queue.insert((order, block.0, index));
    }

    /// Whether ways that a caller can tell apart stay apart where so many are.
    pub fn keeps_ways(&self, count: usize, is_in_loop: bool) -> bool {
        self.body.blocks.len() <= SMALL && !is_in_loop && count < WAYS.min(self.with.cases)
    }

    fn property(&self, id: BlockId, case: &Case) -> Property {
        let block = self.body.block(id);
        let mut property = Property::of(case, &self.result.scope);
        if block.role == BlockRole::Exit {
            let number = |phi: ValueId| match case.get(phi) {
                Value::Int(number) => Some((phi, number)),
                _ => None,
            };
            property.selectors = phis(block).into_iter().filter_map(number).collect();
        }
        property
    }
}

fn phis(block: &Block) -> Vec<ValueId> {
    let is_phi = |instruction: &&Instruction| matches!(instruction.op, Op::Phi { .. });
    block.instructions.iter().take_while(is_phi).map(|phi| phi.result).collect()
}

/// How many of the values that meet at a block are 0 in only one of two cases:
/// a status, or a pointer to nothing.
fn zeros_apart(phis: &[ValueId], one: &Case, other: &Case) -> usize {
    let is_zero = |case: &Case, phi| case.get(phi) == Value::NULL;
    phis.iter().filter(|phi| is_zero(one, **phi) != is_zero(other, **phi)).count()
}
