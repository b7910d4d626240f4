//! Which accesses the second body of a sampled function reports.
//!
//! Of accesses through one pointer without a call between them, only the last
//! on each way is reported, and stands for all of them. It is no other way
//! where control may leave the body in between, which is where loops go round.

use std::collections::{HashMap, HashSet};

use crate::builder::Builder;
use crate::contexts::LEAVES;
use crate::ir::{Block, Opcode, Value};
use crate::later::{Later, Ways, backwards};
use crate::llvm::Function;
use crate::uses::{is_variable, slot_of};

/// Reports the accesses of `blocks` by `tell`, which is given a pointer and how
/// many there are through it. Control may leave the blocks before each of
/// `headers`.
pub fn report<'m>(
    builder: &Builder<'m>,
    function: Function<'m>,
    blocks: &[Block<'m>],
    headers: &[Block<'m>],
    tell: impl Fn(Value<'m>, u64) -> Value<'m>,
) {
    let ends: HashSet<Value<'m>> = headers.iter().filter_map(|header| header.instructions().next()).collect();
    let later = Later::find(function, Ways::All, |at, later: &mut HashSet<Value<'m>>| {
        if is_opaque(at) {
            later.clear();
        }
        later.extend(accessed_by(at).into_iter().map(|pointer| slot_of(pointer.without_steps())));
        if at.is(Opcode::LLVMStore) {
            later.remove(&at.operand(1));
        }
        if ends.contains(&at) {
            later.clear();
        }
    });
    let found: HashMap<Block<'m>, Found<'m>> = blocks
        .iter()
        .map(|&block| (block, Found::new(block, later.at_end(block).unwrap_or_default())))
        .collect();
    let passed = passed(blocks, &found);
    for (block, found) in blocks.iter().map(|block| (block, &found[block])) {
        for report in &found.reports {
            let before = if report.is_first { passed[block].get(&report.slot) } else { None };
            let count = report.count + before.copied().unwrap_or_default();
            builder.before(report.at);
            tell(report.pointer, count);
        }
    }
}

/// The accesses of a block.
struct Found<'m> {
    reports: Vec<Report<'m>>,
    /// By pointer, how many a later block reports.
    left: HashMap<Value<'m>, u64>,
    /// Pointers for which a later block reports what earlier ones left, too.
    through: HashSet<Value<'m>>,
}

struct Report<'m> {
    at: Value<'m>,
    pointer: Value<'m>,
    slot: Value<'m>,
    count: u64,
    /// Whether it stands for what earlier blocks left, too.
    is_first: bool,
}

impl<'m> Found<'m> {
    /// Of a block after which the accesses `later` are reported.
    fn new(block: Block<'m>, later: HashSet<Value<'m>>) -> Found<'m> {
        let mut found = Found { reports: Vec::new(), left: HashMap::new(), through: HashSet::new() };
        // By pointer, the report that comes next; none where a later block has it.
        let mut next: HashMap<Value<'m>, Option<usize>> =
            later.into_iter().map(|slot| (slot, None)).collect();
        for at in backwards(block) {
            if is_opaque(at) {
                next.clear();
            }
            for pointer in accessed_by(at) {
                let pointer = pointer.without_steps();
                let slot = slot_of(pointer);
                match next.get(&slot) {
                    Some(&Some(index)) => found.reports[index].count += 1,
                    Some(None) => *found.left.entry(slot).or_default() += 1,
                    None => {
                        next.insert(slot, Some(found.reports.len()));
                        found.reports.push(Report { at, pointer, slot, count: 1, is_first: false });
                    }
                }
            }
            if at.is(Opcode::LLVMStore) {
                next.remove(&at.operand(1));
            }
        }
        for (slot, index) in next {
            match index {
                Some(index) => found.reports[index].is_first = true,
                None => {
                    found.through.insert(slot);
                }
            }
        }
        found
    }
}

/// By block and pointer, how many accesses the blocks before it leave to it or
/// to later ones; where ways meet, the most.
fn passed<'m>(
    blocks: &[Block<'m>],
    found: &HashMap<Block<'m>, Found<'m>>,
) -> HashMap<Block<'m>, HashMap<Value<'m>, u64>> {
    let mut passed: HashMap<Block<'m>, HashMap<Value<'m>, u64>> =
        blocks.iter().map(|&block| (block, HashMap::new())).collect();
    let mut work: Vec<Block<'m>> = blocks.to_vec();
    // No way goes round: nothing passes over the header of a loop.
    while let Some(block) = work.pop() {
        let Found { left, through, .. } = &found[&block];
        let mut leaves = left.clone();
        for (slot, count) in passed[&block].iter().filter(|(slot, _)| through.contains(slot)) {
            *leaves.entry(*slot).or_default() += count;
        }
        for next in block.successors().filter(|next| found.contains_key(next)) {
            for (&slot, &count) in &leaves {
                let known = passed.get_mut(&next).expect("one of the blocks").entry(slot).or_default();
                if *known < count {
                    *known = count;
                    work.push(next);
                }
            }
        }
    }
    passed
}

/// Whether nothing is known of what happens meanwhile.
fn is_opaque(at: Value<'_>) -> bool {
    at.is_call() && !at.is_intrinsic()
}

/// The pointers through which an instruction accesses memory that may be the
/// heap's. What a library function is given, it accesses.
pub fn accessed_by<'m>(at: Value<'m>) -> Vec<Value<'m>> {
    let pointers = match at.opcode() {
        Some(Opcode::LLVMLoad | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => vec![at.operand(0)],
        Some(Opcode::LLVMStore) => vec![at.operand(1)],
        Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
            let name = at.called_name().unwrap_or_default();
            let moves = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
            if moves.iter().any(|start| name.starts_with(start)) || LEAVES.contains(&name) {
                at.arguments().filter(|value| value.ty().is_pointer()).collect()
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    };
    pointers.into_iter().filter(|pointer| is_variable(pointer.without_steps())).collect()
}
