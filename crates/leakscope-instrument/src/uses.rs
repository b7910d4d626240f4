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

use std::collections::{HashMap, HashSet};

use crate::Part;
use crate::builder::Builder;
use crate::contexts;
use crate::events::Events;
use crate::guards;
use crate::ir::{Block, Opcode, Value};
use crate::later::{Later, Ways, backwards};
use crate::llvm::{Function, Kind, Module, PassOptions, Vectors};
use crate::loops;
use crate::nearby;
use crate::roots::Roots;
use crate::twins::{self, Twins};
use crate::variables::Variables;

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
pub fn insert(module: &mut Module<'_>, bodies: Bodies, part: Part) -> Result<(), String> {
    // A way of several from a block to one that has several gets a block for itself.
    module.run_passes("function(break-crit-edges)", &PassOptions::new(Vectors::None))?;
    module.add(&guards::after_optimisation(part))?;
    report(module, part);
    let options = PassOptions::new(Vectors::None);
    if bodies == Bodies::One {
        return module.run_passes("always-inline,function(lower-expect)", &options);
    }
    contexts::number_calls(module);
    double(module)?;
    module.run_passes(&format!("always-inline,function(lower-expect,{})", twins::TIDY), &options)?;
    // Until here it was one call, of which no two in a row were left.
    if let Some(used_at) = module.function("leakscope.used.at") {
        used_at.unset(Kind::named("noinline"));
        used_at.set(Kind::named("alwaysinline"));
    }
    module.run_passes("always-inline,function(simplifycfg)", &options)
}

/// Marks the uses, all of which ask whether they are wanted.
fn report(module: &Module<'_>, part: Part) {
    let builder = Builder::new(module);
    let used = builder.function(ASKING);
    let flows: Vec<Flow<'_>> = module.bodies().map(Flow::of).collect();
    let takers: HashMap<Value<'_>, &Flow<'_>> = flows
        .iter()
        .filter(|flow| flow.function.is_here(part))
        .map(|flow| (flow.function.value(), flow))
        .collect();
    for flow in &flows {
        for Use { by, pointer, at } in flow.uses(&takers) {
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
fn double(module: &mut Module<'_>) -> Result<(), String> {
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
    let [wanted, stays, goes_round] =
        [c"leakscope.wanted", c"leakscope.stays", c"leakscope.goes.round"].map(|name| builder.function(name));
    let [asks, stays] = [wanted, stays].map(|asked| move |builder: &Builder<'m>| builder.call(asked, &[]));
    let mut events = Events::of(builder, twins);
    let mut using: HashSet<Block<'m>> = HashSet::new();
    for block in twins.blocks() {
        for report in block.instructions().filter(|&at| is_report(at)).collect::<Vec<_>>() {
            report.erase();
            using.insert(block);
        }
        for report in twins.of(block).instructions().filter(|&at| is_report(at)).collect::<Vec<_>>() {
            events.report(report.operand(0), report);
            report.erase();
        }
    }
    let loops = loops::find(twins.start);
    let variables = Variables::of(twins);
    let mut asked: HashSet<Block<'m>> = HashSet::new();
    for at in &loops {
        // Loops inside only count: to ask would cost more than it brings, and
        // code that is entered in the middle of its loops is compiled badly.
        let is_outer = !loops.iter().any(|other| at.is_inside(other));
        if is_outer && at.body.iter().any(|block| using.contains(block)) && !at.header.is_landing_pad() {
            let check = twins.cross_over(builder, at, [asks, stays], |_| events.arrive());
            for place in [check, twins.of(at.header)] {
                variables.tell(builder, at.header, place);
            }
            asked.extend(&at.body);
        } else if at.own(&loops).any(|block| using.contains(block)) {
            for end in at.latches.iter().filter_map(|&latch| twins.of(latch).terminator()) {
                builder.before(end);
                builder.call(goes_round, &[]);
            }
        }
    }
    // Where all uses are in loops that ask, nothing else needs to.
    if !using.is_subset(&asked) {
        twins.enter(builder, asks, |_| events.arrive());
    }
}

/// A use, before it is known where the question stands.
const ASKING: &std::ffi::CStr = c"leakscope.used.if.wanted";

fn is_report(at: Value<'_>) -> bool {
    at.called_name().is_some_and(|name| name.as_bytes() == ASKING.to_bytes())
}

/// A function, and which pointers it uses later.
struct Flow<'m> {
    function: Function<'m>,
    roots: Roots<'m>,
    later: Later<'m, Value<'m>>,
}

impl<'m> Flow<'m> {
    fn of(function: Function<'m>) -> Flow<'m> {
        let roots = Roots::of(function);
        let later = Later::find(function, Ways::All, |at, later| step(&roots, at, later, |_| {}));
        Flow { function, roots, later }
    }

    /// Whether it uses a parameter whatever happens, before it calls anything.
    fn uses_parameter(&self, index: usize) -> bool {
        let parameter = self.function.parameters().nth(index);
        parameter.is_some_and(|parameter| self.later.is_at_start(self.function.entry(), parameter))
    }

    /// The uses to be reported. What is passed to one of `takers` that uses it
    /// at once is not.
    fn uses(&self, takers: &HashMap<Value<'m>, &Flow<'m>>) -> Vec<Use<'m>> {
        let is_told = |by: Value<'m>, pointer: Value<'m>| {
            let callee = Some(by).filter(|by| by.is_call()).and_then(Value::called);
            callee.and_then(|callee| takers.get(&callee)).is_some_and(|flow| {
                by.arguments()
                    .enumerate()
                    .any(|(index, it)| it.origin() == pointer && flow.uses_parameter(index))
            })
        };
        let mut uses: Vec<Use<'m>> =
            self.function.blocks().flat_map(|block| in_block(&self.roots, block, &self.later)).collect();
        uses.retain(|it| !is_told(it.by, it.pointer));
        uses
    }
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
        let (pointer, root) = (pointer.origin(), roots.root(pointer));
        if is_variable(pointer) && is_variable(root) && later.insert(slot_of(root)) {
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

/// Whether an instruction calls what may use or free anything, or not return.
fn is_others(at: Value<'_>) -> bool {
    at.is_call() && !at.is_intrinsic() && !is_ours(at) && !contexts::is_leaf(at)
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
