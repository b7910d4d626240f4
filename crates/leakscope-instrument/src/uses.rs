//! Reports uses of blocks: what a pointer is read or written through, copied,
//! passed or returned. A comparison is not a use.
//!
//! Of the uses of one pointer in a row, with no call between them, only the
//! last is reported: the others could not be the last of a block's life. Where
//! the next use comes on some ways only, the report goes to the others: out of a
//! loop, for one.
//!
//! Works on optimised code: what is asked before each use would keep loops
//! from becoming what the optimiser makes of them.
//!
//! Uses are wanted now and then. So a function has two bodies ([`twins`]), one
//! of which reports, and asks which one is to run where it begins and where its
//! loops go round. In code that is not to be optimised, and where there can be
//! one body only, each use asks.

use std::collections::HashSet;

use crate::builder::Builder;
use crate::contexts;
use crate::guards;
use crate::ir::{Block, Callee, Opcode, Value};
use crate::later::{Later, Ways, backwards};
use crate::llvm::{Function, Module, PassOptions, Vectors};
use crate::loops;
use crate::nearby;
use crate::roots::Roots;
use crate::twins::{self, Twins};

/// A use to be reported.
struct Use<'m> {
    /// The instruction that uses the pointer.
    by: Value<'m>,
    pointer: Value<'m>,
    /// Before which instruction it is reported.
    at: Value<'m>,
}

/// How many bodies a function has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    One,
    Two,
}

/// Reports the uses in all functions of a module.
pub fn insert(module: &mut Module<'_>, bodies: Bodies) -> Result<(), String> {
    // A way of several from a block to one that has several gets a block for itself.
    module.run_passes("function(break-crit-edges)", &PassOptions::new(Vectors::None))?;
    module.add(&guards::after_optimisation())?;
    report(module);
    let mut tidy = "always-inline,function(lower-expect)".to_owned();
    if bodies == Bodies::Two {
        contexts::number_calls(module);
        part(module)?;
        // Where the last use of a block is need not be found twice, as long as
        // that is one call.
        tidy = format!("function({}),always-inline,function(lower-expect,simplifycfg)", twins::TIDY);
    }
    module.run_passes(&tidy, &PassOptions::new(Vectors::None))
}

/// Marks the uses, all of which ask whether they are wanted.
fn report(module: &Module<'_>) {
    let builder = Builder::new(module);
    let used = builder.function(ASKING);
    for function in module.bodies() {
        for Use { by, pointer, at } in find(function) {
            builder.before(at);
            // A `ret` has the line of the closing brace; what it returns may
            // have that of the statement.
            let place = match pointer.opcode().filter(|_| by.is(Opcode::LLVMRet)) {
                Some(_) => pointer.location().or(by.location()),
                None => nearby::location(by),
            };
            if let Some(place) = place {
                builder.at(place);
            }
            builder.call(used, &[pointer]);
        }
    }
}

/// Gives functions a second body, which alone reports.
fn part(module: &mut Module<'_>) -> Result<(), String> {
    let uses = |function: &Function<'_>| function.instructions().any(is_report);
    let wanted: HashSet<String> = module
        .bodies()
        .filter(|&function| twins::is_possible(function))
        .filter(uses)
        .map(|function| function.name().to_owned())
        .collect();
    twins::demote(module, &wanted)?;
    let builder = Builder::new(module);
    for function in module.bodies().filter(|function| wanted.contains(function.name())) {
        if let Some(twins) = Twins::make(&builder, function) {
            split(&builder, &twins);
        }
    }
    Ok(())
}

fn split<'m>(builder: &Builder<'m>, twins: &Twins<'m>) {
    let [wanted, stays] = [c"leakscope.wanted", c"leakscope.stays"].map(|name| builder.function(name));
    let [asks, stays] = [wanted, stays].map(|asked| move |builder: &Builder<'m>| builder.call(asked, &[]));
    let uses = InTwin::of(builder, twins.function);
    let mut using: HashSet<Block<'m>> = HashSet::new();
    for block in twins.blocks() {
        for report in block.instructions().filter(|&at| is_report(at)).collect::<Vec<_>>() {
            report.erase();
            using.insert(block);
        }
        for report in twins.of(block).instructions().filter(|&at| is_report(at)).collect::<Vec<_>>() {
            builder.before(report);
            uses.report(report.operand(0));
            report.erase();
        }
    }
    let loops = loops::find(twins.start);
    let mut asked: HashSet<Block<'m>> = HashSet::new();
    for at in &loops {
        // What lies in a loop inside is that one's.
        if at.own(&loops).any(|block| using.contains(block)) && !at.header.is_landing_pad() {
            twins.cross_over(builder, at.header, asks, |_| uses.arrive());
            twins.leave(builder, at.header, &at.latches, stays);
            asked.extend(&at.body);
        }
    }
    // Where all uses are in loops that ask, nothing else needs to.
    if !using.is_subset(&asked) {
        twins.enter(builder, asks, |_| uses.arrive());
    }
}

/// How the body of a function reports its uses that does nothing else: it gets
/// the event of a use at the function's start where it begins to run, and adds
/// how far from there a use is.
struct InTwin<'a, 'm> {
    builder: &'a Builder<'m>,
    /// Where the event is kept.
    start: Value<'m>,
    /// What stands for the uses of other memory than the heap's.
    other: Value<'m>,
    used_at: Callee<'m>,
    write: Callee<'m>,
}

impl<'a, 'm> InTwin<'a, 'm> {
    fn of(builder: &'a Builder<'m>, function: Function<'m>) -> InTwin<'a, 'm> {
        let [start, other] = [(), ()].map(|()| builder.room(function));
        let used_at = builder.function(c"leakscope.used.at");
        let name = function.symbol().replace('$', "$$");
        let here = ".Lleakscope_use${:uid}";
        let write = builder.assembler(&format!(
            "{here}: leal ({here}-\"{name}\")(${{1:q}}), ${{0:k}}\n\tmovl ${{0:k}}, ($2)"
        ));
        InTwin { builder, start, other, used_at, write }
    }

    fn arrive(&self) {
        let start = self.builder.call(self.builder.function(c"leakscope.arrives"), &[]);
        self.builder.store(start, self.start);
    }

    fn report(&self, pointer: Value<'m>) {
        let builder = self.builder;
        let at = builder.call(self.used_at, &[pointer, self.other]);
        builder.call(self.write, &[builder.load(builder.word_type(), self.start), at]);
    }
}

/// A use, before it is known where the question stands.
const ASKING: &std::ffi::CStr = c"leakscope.used.if.wanted";

fn is_report(at: Value<'_>) -> bool {
    at.called_name().is_some_and(|name| name.as_bytes() == ASKING.to_bytes())
}

fn find<'m>(function: Function<'m>) -> Vec<Use<'m>> {
    let roots = Roots::of(function);
    let later = Later::find(function, Ways::All, |at, later| step(&roots, at, later, |_| {}));
    function.blocks().flat_map(|block| in_block(&roots, block, &later)).collect()
}

/// Makes of the pointers that are used after an instruction those that are
/// used from it on, and tells which are new.
fn step<'m>(
    roots: &Roots<'m>,
    at: Value<'m>,
    later: &mut HashSet<Value<'m>>,
    mut is_new: impl FnMut(Value<'m>),
) {
    if is_others(at) {
        later.clear();
    }
    for pointer in used_by(at) {
        let pointer = pointer.without_steps();
        if is_variable(pointer) && later.insert(slot_of(roots.root(pointer))) {
            is_new(pointer);
        }
    }
    // Before a store to it, a slot holds another pointer; a value that comes
    // anew is another as well.
    if at.is(Opcode::LLVMStore) {
        later.remove(&at.operand(1));
    }
    later.remove(&at);
}

fn in_block<'m>(roots: &Roots<'m>, block: Block<'m>, later: &Later<'m, Value<'m>>) -> Vec<Use<'m>> {
    let (mut uses, mut open) = (Vec::new(), later.at_end(block).unwrap_or_default());
    // Whether nothing stands between an instruction and the end, and what is
    // stored to there.
    let (mut is_last, mut stored) = (true, HashSet::new());
    for by in backwards(block) {
        is_last &= !is_others(by);
        step(roots, by, &mut open, |pointer| {
            let slot = slot_of(roots.root(pointer));
            let is_last = is_last && !stored.contains(&slot);
            let ways = block.successors().filter(|_| is_last);
            let (again, not): (Vec<Block<'m>>, Vec<Block<'m>>) =
                ways.partition(|&next| later.is_at_start(next, slot));
            if again.is_empty() || !not.iter().all(|next| next.has_one_way_in()) {
                uses.push(Use { by, pointer, at: by });
            } else {
                let starts = not.into_iter().filter_map(Block::start);
                uses.extend(starts.map(|at| Use { by, pointer, at }));
            }
        });
        if by.is(Opcode::LLVMStore) {
            stored.insert(by.operand(1));
        }
    }
    uses
}

/// Whether an instruction calls what may use or free anything.
fn is_others(at: Value<'_>) -> bool {
    at.is_call() && !at.is_intrinsic() && !is_ours(at)
}

/// The pointers that an instruction uses.
fn used_by<'m>(at: Value<'m>) -> Vec<Value<'m>> {
    let pointers =
        |values: Vec<Value<'m>>| values.into_iter().filter(|value| value.ty().is_pointer()).collect();
    match at.opcode() {
        Some(Opcode::LLVMLoad) => vec![at.operand(0)],
        // To be passed was a use of the caller's.
        Some(Opcode::LLVMStore) if at.operand(0).is_parameter() && at.operand(1).is(Opcode::LLVMAlloca) => {
            Vec::new()
        }
        Some(Opcode::LLVMStore) => pointers(vec![at.operand(0), at.operand(1)]),
        // The optimiser exchanges numbers.
        Some(Opcode::LLVMAtomicRMW) => pointers(at.operands().map(Value::without_casts).collect()),
        // What is expected is only compared.
        Some(Opcode::LLVMAtomicCmpXchg) => {
            pointers([0, 2].map(|index| at.operand(index).without_casts()).to_vec())
        }
        // Where the result has a slot, the store to it has the line.
        Some(Opcode::LLVMRet) => pointers(at.operands().filter(|value| !is_result(*value)).collect()),
        Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
            let moves = |name: &str| {
                ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."].iter().any(|start| name.starts_with(start))
            };
            if at.is_intrinsic() && !at.called_name().is_some_and(moves) || is_ours(at) {
                return Vec::new();
            }
            pointers(at.arguments().collect())
        }
        _ => Vec::new(),
    }
}

/// A call of the runtime.
fn is_ours(call: Value<'_>) -> bool {
    let is_ours = |name: &str| name.starts_with("__leakscope_") || name.starts_with(guards::PREFIX);
    call.called_name().is_some_and(is_ours)
}

fn is_result(value: Value<'_>) -> bool {
    value.is(Opcode::LLVMLoad) && value.operand(0).name() == crate::exits::RESULT
}

/// Whether a pointer may be one into the heap: not the address of a local or
/// global, and not a constant.
pub fn is_variable(pointer: Value<'_>) -> bool {
    !pointer.is_constant() && !pointer.is(Opcode::LLVMAlloca)
}

/// What stands for a pointer: the local that it was read from, if that is
/// stored to by its name only; else itself.
pub fn slot_of(pointer: Value<'_>) -> Value<'_> {
    if !pointer.is(Opcode::LLVMLoad) || !pointer.operand(0).is(Opcode::LLVMAlloca) {
        return pointer;
    }
    let slot = pointer.operand(0);
    let is_plain = |user: Value<'_>| match user.opcode() {
        Some(Opcode::LLVMLoad) => true,
        Some(Opcode::LLVMStore) => user.operand(0) != slot,
        _ => user.is_intrinsic(),
    };
    if slot.users().all(is_plain) { slot } else { pointer }
}
