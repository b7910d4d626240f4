//! What numbers can be, in all of a program: which code is never come to because a counter
//! does not get so far, or what was checked once is not changed any more.
//!
//! An interpretation over intervals (Cousot and Cousot, POPL 1977) of the values of each
//! function and of the program's variables, where conditions narrow both. It is run upwards
//! from nothing until nothing is added, so what it calls closed is closed, however the loops and
//! calls go; ends that move are widened to what the program compares with. How far two values
//! of a function are apart is followed, too (`gaps`). It knows nothing of
//! memory but variables that nobody has the address of, and takes each function for all its calls
//! together. Numbers wrap around.

mod cells;
mod flow;
mod gaps;
pub(crate) mod library;
mod range;

use llvm_sys::core::*;
use rustc_hash::{FxHashMap, FxHashSet};

use self::cells::{CellId, Cells};
use self::flow::Flow;
use self::range::Range;
use crate::ir::{Opcode, Value};
use crate::llvm::{Function, Kind, Module};

/// So often something may grow before it is widened, and before it may be anything.
const PATIENCE: u32 = 3;
const MOST_STEPS: u32 = 40;

/// Visits of blocks until the program is too much.
const MOST_VISITS: u32 = 200_000;

/// Names of functions that begin with `prefix` of which some call is come to; `None` if
/// nothing can be said.
pub fn reached<'m>(module: &'m Module<'_>, prefix: &str) -> Option<FxHashSet<&'m str>> {
    let returns_twice = Kind::named("returns_twice");
    let mut instructions = module.bodies().flat_map(Function::instructions);
    if module.functions().any(|function| function.is(returns_twice))
        || instructions.any(|at| at.is(Opcode::LLVMCallBr))
    {
        return None;
    }
    let mut world = World::new(module, prefix);
    loop {
        world.has_changed = false;
        world.come_to.clear();
        let mut at = 0;
        while let Some(&function) = world.called.get(at) {
            Flow::new(&mut world, function).run()?;
            at += 1;
        }
        if !world.has_changed {
            return Some(world.come_to);
        }
    }
}

/// What holds of the whole program, so far.
struct World<'m> {
    prefix: String,
    cells: Cells,
    contents: Vec<Grown>,
    /// Of parameters, and of functions what they return.
    values: FxHashMap<Value<'m>, Grown>,
    /// Functions that are called, and the same to ask for.
    called: Vec<Function<'m>>,
    is_called: FxHashSet<Value<'m>>,
    /// Functions that code outside, or through pointers, may call.
    open: FxHashSet<Value<'m>>,
    /// What each function writes, with all that it calls, and what unknown code does.
    writes: FxHashMap<Value<'m>, FxHashSet<CellId>>,
    open_writes: FxHashSet<CellId>,
    /// Functions with bodies, and those of them that only calls by their names lead to.
    bodies: FxHashMap<Value<'m>, Function<'m>>,
    own: FxHashMap<Value<'m>, Function<'m>>,
    /// What the program compares with, in order, and its neighbours.
    steps: Vec<i128>,
    /// Whether functions of the library that call nobody are so in this program.
    is_undisturbed: bool,
    visits: u32,
    has_changed: bool,
    come_to: FxHashSet<&'m str>,
}

/// What something can be, and how often that grew; nothing at first.
#[derive(Clone, Copy, Debug, Default)]
struct Grown {
    range: Option<Range>,
    times: u32,
}

impl Grown {
    /// Takes in more; says whether it was new.
    fn take(&mut self, more: Range, steps: &[i128], bits: u32) -> bool {
        let Some(old) = self.range else {
            self.range = Some(more);
            return true;
        };
        if old.join(more) == old {
            return false;
        }
        self.times += 1;
        self.range = Some(match self.times {
            0..=PATIENCE => old.join(more),
            times if times < MOST_STEPS => old.widened(more, steps, bits),
            _ => Range::all(bits),
        });
        true
    }
}

impl<'m> World<'m> {
    fn new(module: &'m Module<'_>, prefix: &str) -> World<'m> {
        let cells = Cells::of(module);
        let bodies: FxHashMap<Value<'_>, Function<'_>> =
            module.bodies().map(|function| (function.value(), function)).collect();
        let own: FxHashMap<Value<'_>, Function<'_>> = module
            .bodies()
            .filter(|function| is_own(*function))
            .map(|function| (function.value(), function))
            .collect();
        // From outside, `main` is only called once.
        let is_main =
            |function: &Function<'_>| function.name() == "main" && function.value().users().next().is_none();
        let is_open = |function: &Function<'_>| !own.contains_key(&function.value()) && !is_main(function);
        let open: FxHashSet<Value<'_>> = module.bodies().filter(is_open).map(Function::value).collect();
        let is_undisturbed = library::is_undisturbed(module);
        let mut world = World {
            prefix: prefix.to_owned(),
            contents: cells.all.iter().map(|cell| Grown { range: Some(cell.initial), times: 0 }).collect(),
            values: FxHashMap::default(),
            called: Vec::new(),
            is_called: FxHashSet::default(),
            writes: writes(&bodies, &cells, &open, is_undisturbed),
            open_writes: FxHashSet::default(),
            bodies,
            own,
            steps: steps(module),
            open,
            cells,
            is_undisturbed,
            visits: 0,
            has_changed: false,
            come_to: FxHashSet::default(),
        };
        world.open_writes =
            world.open.iter().flat_map(|function| world.writes[function].iter().copied()).collect();
        let main = module.function("main").filter(|main| !main.is_declaration());
        for root in main.map(Function::value).into_iter().chain(world.open.clone()) {
            world.call_openly(root);
        }
        // The order of a hash map is not that of the next run.
        let order: FxHashMap<Value<'_>, usize> =
            module.functions().enumerate().map(|(number, function)| (function.value(), number)).collect();
        world.called.sort_by_key(|function| order[&function.value()]);
        world
    }

    /// A function is called with anything.
    fn call_openly(&mut self, function: Value<'m>) {
        for parameter in self.bodies[&function].parameters() {
            if let Some(bits) = bits_of(parameter) {
                self.values.insert(parameter, Grown { range: Some(Range::all(bits)), times: 0 });
            }
        }
        self.note_called(function);
    }

    fn note_called(&mut self, function: Value<'m>) {
        if self.is_called.insert(function) {
            self.called.push(self.bodies[&function]);
            self.has_changed = true;
        }
    }

    /// Whether a call of what has no body leaves the program's variables alone.
    fn is_quiet(&self, call: Value<'m>) -> bool {
        self.is_undisturbed && library::is_quiet(call)
    }

    /// Whether a function returns, as far as is known.
    fn returns(&self, function: Value<'m>) -> bool {
        !self.own.contains_key(&function)
            || self.values.get(&function).is_some_and(|grown| grown.range.is_some())
    }

    /// A parameter or result may be this too.
    fn add(&mut self, of: Value<'m>, range: Range, bits: u32) {
        let grown = self.values.entry(of).or_default();
        self.has_changed |= grown.take(range, &self.steps, bits);
    }

    fn write(&mut self, cell: CellId, range: Range) {
        let bits = self.cells.all[cell].bits;
        self.has_changed |= self.contents[cell].take(range, &self.steps, bits);
    }
}

/// Whether a function is only called by its name, as what it is.
fn is_own(function: Function<'_>) -> bool {
    // SAFETY: a live function, and calls of it.
    unsafe {
        let ty = LLVMGlobalGetValueType(function.raw());
        let is_alike = |call: Value<'_>| LLVMGetCalledFunctionType(call.raw) == ty;
        LLVMGetLinkage(function.raw()) == llvm_sys::LLVMLinkage::LLVMInternalLinkage
            && !function.is_address_taken()
            && function.value().users().all(is_alike)
    }
}

/// How many bits an integer has, up to 64.
fn bits_of(value: Value<'_>) -> Option<u32> {
    // SAFETY: the width is asked of integers only.
    let bits = value.ty().is_any_integer().then(|| unsafe { LLVMGetIntTypeWidth(value.ty().raw) })?;
    (bits <= 64).then_some(bits)
}

/// A constant integer, signed unless it is a truth.
fn number(value: Value<'_>) -> Option<i128> {
    let bits = bits_of(value)?;
    let unsigned = value.integer()?;
    // SAFETY: a constant integer of at most 64 bits.
    Some(if bits == 1 { unsigned.into() } else { unsafe { LLVMConstIntGetSExtValue(value.raw) }.into() })
}

/// All numbers that code compares with, and what is beside them.
fn steps(module: &Module<'_>) -> Vec<i128> {
    let mut steps = vec![-1, 0, 1];
    let instructions = module.bodies().flat_map(|function| function.instructions().collect::<Vec<_>>());
    for at in instructions.filter(|at| at.is(Opcode::LLVMICmp) || at.is(Opcode::LLVMSwitch)) {
        let numbers = at.operands().filter_map(number);
        steps.extend(numbers.flat_map(|number| [number - 1, number, number + 1]));
    }
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// What each function writes, with all that it calls.
fn writes<'m>(
    bodies: &FxHashMap<Value<'m>, Function<'m>>,
    cells: &Cells,
    open: &FxHashSet<Value<'m>>,
    is_undisturbed: bool,
) -> FxHashMap<Value<'m>, FxHashSet<CellId>> {
    let mut writes: FxHashMap<Value<'m>, FxHashSet<CellId>> = FxHashMap::default();
    let mut calls: FxHashMap<Value<'m>, FxHashSet<Value<'m>>> = FxHashMap::default();
    for (&function, body) in bodies {
        let (own, callees) = (writes.entry(function).or_default(), calls.entry(function).or_default());
        for at in body.instructions() {
            if at.is(Opcode::LLVMStore) {
                own.extend(cells.at(at));
            }
            own.extend(cells.given(at));
            if let Some(called) = at.called().filter(|_| !at.is_intrinsic()) {
                if bodies.contains_key(&called) {
                    callees.insert(called);
                } else if !(is_undisturbed && library::is_quiet(at)) {
                    callees.extend(open);
                }
            }
        }
    }
    loop {
        let mut has_changed = false;
        for (function, callees) in &calls {
            let more: FxHashSet<CellId> = callees.iter().flat_map(|callee| writes[callee].clone()).collect();
            let own = writes.get_mut(function).expect("every body has its own");
            let before = own.len();
            own.extend(more);
            has_changed |= own.len() > before;
        }
        if !has_changed {
            return writes;
        }
    }
}
