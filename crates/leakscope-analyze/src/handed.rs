//! Functions that are handed to others, by arguments or in variables that hold
//! no other: decided for the whole program.

use std::sync::Arc;

use leakscope_ir::{Body, Call, Callee, FuncId, Function, GlobalId, Linkage, Op, Operand, Program, ValueId};
use rustc_hash::FxHashMap;

/// Calls through so many functions that pass on what they are given.
const MAX_PASSED_ON: usize = 5;
/// Larger functions are not looked at again for what they are given.
const SMALL: usize = 60;
/// The same for numbers.
const TINY: usize = 12;

/// By value, the parameters that it is, was loaded from or leads to.
type Sources = FxHashMap<ValueId, Vec<u32>>;

/// Of each value, also by way of locals.
fn sources(function: &Function, body: &Body) -> Sources {
    let mut from: Sources = (0..function.parameters).map(|index| (ValueId(index), vec![index])).collect();
    let mut locals: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for instruction in body.blocks.iter().flat_map(|block| &block.instructions) {
        let (to, source) = match &instruction.op {
            Op::Local { .. } => {
                locals.insert(instruction.result, instruction.result);
                continue;
            }
            Op::Step { base: operand, .. }
            | Op::Load { from: operand, .. }
            | Op::Cast { value: operand, .. }
            | Op::Extract { record: operand, .. } => (instruction.result, operand),
            Op::Store { to: Operand::Value(to), value: operand, .. }
            | Op::Copy { to: Operand::Value(to), from: operand, .. } => match locals.get(to) {
                Some(local) => (*local, operand),
                None => continue,
            },
            _ => continue,
        };
        let Operand::Value(source) = source else { continue };
        if let (Op::Step { .. }, Some(&local)) = (&instruction.op, locals.get(source)) {
            locals.insert(to, local);
        }
        if let Some(parameters) = from.get(locals.get(source).unwrap_or(source)).cloned() {
            let known = from.entry(to).or_default();
            known.extend(parameters);
            known.sort_unstable();
            known.dedup();
        }
    }
    from
}

/// By function, the parameters that it calls, or that lead to functions which
/// it calls, itself or in those that it passes them to.
pub fn called_parameters(program: &Program) -> Vec<Vec<u32>> {
    let is_small = |body: &&Arc<Body>| body.blocks.len() <= SMALL;
    let small = program.functions.iter().enumerate();
    let small: Vec<(usize, &Body, Sources)> = small
        .filter_map(|(index, function)| {
            let body = function.body.as_ref().filter(is_small)?;
            Some((index, &**body, sources(function, body)))
        })
        .collect();
    let mut called: Vec<Vec<u32>> = vec![Vec::new(); program.functions.len()];
    for _ in 0..=MAX_PASSED_ON {
        let mut is_changed = false;
        for (index, body, sources) in &small {
            let found = calls(body).flat_map(|call| called_by(call, sources, &called));
            let new: Vec<u32> = found.filter(|at| !called[*index].contains(at)).collect();
            is_changed |= !new.is_empty();
            called[*index].extend(new);
            called[*index].sort_unstable();
            called[*index].dedup();
        }
        if !is_changed {
            break;
        }
    }
    called
}

/// By function that calls none, the parameters that say how many bytes it
/// copies, or how far in an object the pointer is that it reads.
pub fn measured_parameters(program: &Program) -> Vec<Vec<u32>> {
    let measured = |function: &Function| {
        let is_tiny = |body: &&Arc<Body>| body.blocks.len() <= TINY && calls(body).next().is_none();
        let Some(body) = function.body.as_ref().filter(is_tiny) else {
            return Vec::new();
        };
        let instructions = || body.blocks.iter().flat_map(|block| &block.instructions);
        let is_read = |address: ValueId| {
            let is_it = |op: &Op| matches!(op, Op::Load { from, .. } if *from == Operand::Value(address));
            instructions().any(|instruction| is_it(&instruction.op))
        };
        let sources = sources(function, body);
        let mut found: Vec<u32> = Vec::new();
        for instruction in instructions() {
            let measure = match &instruction.op {
                Op::Copy { bytes, .. } => Some(bytes),
                Op::Step { terms, .. } if is_read(instruction.result) => {
                    terms.iter().find(|(_, stride)| *stride == 1).map(|(by, _)| by)
                }
                _ => None,
            };
            if let Some(Operand::Value(value)) = measure {
                found.extend(sources.get(value).into_iter().flatten());
            }
        }
        found
    };
    program.functions.iter().map(measured).collect()
}

fn calls(body: &Body) -> impl Iterator<Item = &Call> {
    body.blocks.iter().flat_map(|block| &block.instructions).filter_map(|instruction| match &instruction.op {
        Op::Call(call) => Some(call),
        _ => None,
    })
}

/// Parameters that a call is of, or passes to a function that calls them.
fn called_by(call: &Call, sources: &Sources, called: &[Vec<u32>]) -> Vec<u32> {
    let operands: Vec<&Operand> = match &call.callee {
        Callee::Pointer(pointer) => vec![pointer],
        Callee::Function(callee) => {
            called[callee.0 as usize].iter().filter_map(|&at| call.arguments.get(at as usize)).collect()
        }
        Callee::Assembler => Vec::new(),
    };
    let parameters = operands.into_iter().filter_map(|operand| match operand {
        Operand::Value(value) => sources.get(value),
        _ => None,
    });
    parameters.flatten().copied().collect()
}

/// By function, whether it is called, and nowhere but where the program shows.
pub fn calls_are_seen(program: &Program, is_whole: bool) -> impl Iterator<Item = bool> {
    let mut is_called = vec![false; program.functions.len()];
    let mut is_taken = vec![false; program.functions.len()];
    let mut take = |operand: &Operand| {
        if let Operand::Function(function) = operand {
            is_taken[function.0 as usize] = true;
        }
    };
    for cell in program.globals.iter().flat_map(|global| global.initial.iter().flatten()) {
        take(&cell.value);
    }
    for block in program.functions.iter().filter_map(|f| f.body.as_ref()).flat_map(|body| &body.blocks) {
        for instruction in &block.instructions {
            instruction.op.for_each_operand(&mut take);
            if let Op::Call(Call { callee: Callee::Function(callee), .. }) = &instruction.op {
                is_called[callee.0 as usize] = true;
            }
        }
        block.end.operand().into_iter().for_each(&mut take);
    }
    program.functions.iter().zip(is_called).zip(is_taken).map(move |((function, is_called), is_taken)| {
        let is_seen = is_whole || function.linkage == Linkage::Internal;
        is_seen && is_called && !is_taken && function.name != "main"
    })
}

/// What is known of a variable, or an argument, that may hold a function.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    /// Null at most.
    Nothing,
    One(FuncId),
    Unknown,
}

impl Held {
    fn and(self, other: Held) -> Held {
        match (self, other) {
            (Held::Nothing, other) | (other, Held::Nothing) => other,
            (one, other) if one == other => one,
            _ => Held::Unknown,
        }
    }
}

/// Variables that hold one function whenever they hold any, as those do where
/// a handler is registered.
pub fn handlers(program: &Program, is_whole: bool) -> FxHashMap<GlobalId, FuncId> {
    let is_seen: Vec<bool> = calls_are_seen(program, is_whole).collect();
    let ops = || {
        program.functions.iter().enumerate().flat_map(|(index, function)| {
            let blocks = function.body.iter().flat_map(|body| &body.blocks);
            blocks.flat_map(|block| &block.instructions).map(move |instruction| (index, &instruction.op))
        })
    };
    let constant = |operand: &Operand| match operand {
        Operand::Function(function) => Held::One(*function),
        Operand::Int(0) => Held::Nothing,
        _ => Held::Unknown,
    };
    let mut parameters: FxHashMap<(usize, usize), Held> = FxHashMap::default();
    for (_, op) in ops() {
        if let Op::Call(Call { callee: Callee::Function(callee), arguments, .. }) = op {
            for (at, argument) in arguments.iter().enumerate() {
                let held = parameters.entry((callee.0 as usize, at)).or_insert(Held::Nothing);
                *held = held.and(constant(argument));
            }
        }
    }
    let mut globals: Vec<Held> = program
        .globals
        .iter()
        .map(|global| match &global.initial {
            Some(cells) if is_whole || global.linkage == Linkage::Internal => {
                cells.iter().fold(Held::Nothing, |held, cell| held.and(constant(&cell.value)))
            }
            _ => Held::Unknown,
        })
        .collect();
    for (index, op) in ops() {
        match op {
            Op::Load { from: Operand::Global(_, 0), .. } => {}
            Op::Store { to: Operand::Global(global, 0), value, .. } => {
                let value = match value {
                    Operand::Value(ValueId(at)) if *at < program.functions[index].parameters => {
                        let held = parameters.get(&(index, *at as usize)).filter(|_| is_seen[index]);
                        held.copied().unwrap_or(Held::Unknown)
                    }
                    other => constant(other),
                };
                let held = &mut globals[global.0 as usize];
                *held = held.and(value);
            }
            other => other.for_each_operand(&mut |operand| {
                if let Operand::Global(global, _) = operand {
                    globals[global.0 as usize] = Held::Unknown;
                }
            }),
        }
    }
    let cells = program.globals.iter().flat_map(|global| global.initial.iter().flatten());
    let ends = program.functions.iter().filter_map(|function| function.body.as_ref());
    let ends = ends.flat_map(|body| &body.blocks).filter_map(|block| block.end.operand());
    for operand in cells.map(|cell| &cell.value).chain(ends) {
        if let Operand::Global(global, _) = operand {
            globals[global.0 as usize] = Held::Unknown;
        }
    }
    let handler = |(index, held): (usize, Held)| match held {
        // One that gets nothing takes nothing.
        Held::One(function) if program.function(function).parameters > 0 => {
            Some((GlobalId(index as u32), function))
        }
        _ => None,
    };
    globals.into_iter().enumerate().filter_map(handler).collect()
}
