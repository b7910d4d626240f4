//! How far it is from a branch of the program to a line, in branches on the
//! shortest way: over the whole program, into calls, and back to the callers
//! that are on the stack.
//!
//! What cannot be known counts as possible: calls through pointers go to any
//! function of that shape whose address is taken, and a library function may
//! call what it is given.

pub mod frontier;

use std::collections::VecDeque;

use leakscope_ir::{
    Block, BlockId, Body, Call, Callee, FuncId, Instruction, Op, Operand, Program, Terminator,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::places::{Located, PlaceId, Places};
use crate::trace::{Frame, Way};
use crate::warning::Spot;
use leakscope_wire::symbolic::PlaceKind;

/// In branches; [`NEVER`] where there is no way.
pub type Cost = u32;
pub const NEVER: Cost = u32::MAX;

/// Where it is not known how far.
pub const UNKNOWN: Cost = 10_000;

/// Come back otherwise than by a return.
const JUMPS: [&str; 7] =
    ["longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "__cxa_throw", "__cxa_rethrow", "_Unwind_Resume"];

/// The program as a graph, and where the places of its derived form are in it.
pub struct Reach<'p> {
    program: &'p Program,
    /// For each call: the functions that it may lead to.
    callees: FxHashMap<(FuncId, BlockId, usize), Vec<FuncId>>,
    callers: Vec<Vec<FuncId>>,
    /// Whether control comes back from it.
    returns: Vec<bool>,
    /// From the start of each block to the function's end.
    exits: Vec<Vec<Cost>>,
    /// Of a branch or switch: the block that it ends, and whether the code
    /// branches on the opposite of what the source says.
    blocks: FxHashMap<PlaceId, (FuncId, BlockId, bool)>,
    /// Of a call or a line: its instruction.
    instructions: FxHashMap<PlaceId, (FuncId, BlockId, usize)>,
    functions: FxHashMap<PlaceId, FuncId>,
}

/// Ways to one line.
pub struct Distances {
    file: Vec<bool>,
    line: u32,
    /// From the start of each block, without leaving the function.
    down: Vec<Option<Vec<Cost>>>,
    /// There is a way from the start of `main`: else the graph lacks a call,
    /// and nothing can be ruled out.
    pub is_reachable: bool,
}

impl<'p> Reach<'p> {
    pub fn new(program: &'p Program, places: &Places) -> Reach<'p> {
        let count = program.functions.len();
        let mut reach = Reach {
            program,
            callees: FxHashMap::default(),
            callers: vec![Vec::new(); count],
            returns: vec![true; count],
            exits: vec![Vec::new(); count],
            blocks: FxHashMap::default(),
            instructions: FxHashMap::default(),
            functions: FxHashMap::default(),
        };
        reach.find_calls();
        reach.find_returns();
        reach.find_places(places);
        reach
    }

    fn bodies(&self) -> impl Iterator<Item = (FuncId, &'p Body)> + use<'p> {
        let bodies = self.program.functions.iter().enumerate();
        bodies.filter_map(|(id, function)| Some((FuncId(id as u32), function.body.as_deref()?)))
    }

    fn find_calls(&mut self) {
        let taken = address_taken(self.program);
        let mut by_shape: FxHashMap<&str, Vec<FuncId>> = FxHashMap::default();
        for &id in &taken {
            by_shape.entry(self.program.function(id).signature.0.as_str()).or_default().push(id);
        }
        for (caller, body) in self.bodies() {
            for (block, index, call) in calls(body) {
                let mut callees = match &call.callee {
                    Callee::Function(id) => vec![*id],
                    Callee::Pointer(_) => {
                        by_shape.get(call.signature.0.as_str()).cloned().unwrap_or_default()
                    }
                    Callee::Assembler => Vec::new(),
                };
                if let Callee::Function(id) = call.callee
                    && self.program.function(id).body.is_none()
                {
                    let given = call.arguments.iter().filter_map(|argument| match argument {
                        Operand::Function(id) => Some(*id),
                        _ => None,
                    });
                    callees.extend(given);
                }
                for callee in &callees {
                    self.callers[callee.0 as usize].push(caller);
                }
                self.callees.insert((caller, block, index), callees);
            }
        }
        for callers in &mut self.callers {
            callers.sort_unstable();
            callers.dedup();
        }
    }

    /// Which functions come back, and how far it is to their ends.
    fn find_returns(&mut self) {
        for (id, function) in self.program.functions.iter().enumerate() {
            let jumps = JUMPS.contains(&function.name.as_str());
            // Bodies are taken not to return until a way is found.
            self.returns[id] = function.body.is_none() && (!function.is_noreturn || jumps);
        }
        let mut open: VecDeque<FuncId> = self.bodies().map(|(id, _)| id).collect();
        while let Some(id) = open.pop_front() {
            let Some(body) = self.program.function(id).body.as_deref() else { continue };
            let ends = |block| is_end(body, block) && self.passes(id, body, block);
            self.exits[id.0 as usize] = self.flood(id, body, &|block| ends(block).then_some(0));
            let returns = self.exits[id.0 as usize].first().is_some_and(|&cost| cost != NEVER);
            if returns && !self.returns[id.0 as usize] {
                self.returns[id.0 as usize] = true;
                open.extend(&self.callers[id.0 as usize]);
            }
        }
    }

    /// From the start of each block to the nearest goal; `goal` is the cost to
    /// one that the block itself has.
    fn flood(&self, id: FuncId, body: &Body, goal: &dyn Fn(BlockId) -> Option<Cost>) -> Vec<Cost> {
        let blocks = || (0..body.blocks.len()).rev().map(|index| BlockId(index as u32));
        let mut costs = vec![NEVER; body.blocks.len()];
        for block in blocks() {
            costs[block.0 as usize] = goal(block).unwrap_or(NEVER);
        }
        let passed: Vec<BlockId> = blocks().filter(|&block| self.passes(id, body, block)).collect();
        loop {
            let mut changed = false;
            for &block in &passed {
                let cost = self.onward(body, block, &costs);
                if cost < costs[block.0 as usize] {
                    costs[block.0 as usize] = cost;
                    changed = true;
                }
            }
            if !changed {
                return costs;
            }
        }
    }

    fn onward(&self, body: &Body, block: BlockId, costs: &[Cost]) -> Cost {
        let next = body.block(block).end.successors();
        let step = u32::from(next.len() > 1);
        next.iter().map(|to| costs[to.0 as usize].saturating_add(step)).min().unwrap_or(NEVER)
    }

    /// Whether control can go through the block to its end.
    fn passes(&self, id: FuncId, body: &Body, block: BlockId) -> bool {
        let instructions = &body.block(block).instructions;
        let unwinds = matches!(body.block(block).end, Terminator::Invoke { .. });
        let blocked = (0..instructions.len()).any(|index| self.stops(id, body, block, index));
        unwinds || !blocked
    }

    /// Whether an instruction is a call that never comes back.
    fn stops(&self, id: FuncId, body: &Body, block: BlockId, index: usize) -> bool {
        let Op::Call(call) = &body.block(block).instructions[index].op else { return false };
        let callees = &self.callees[&(id, block, index)];
        let comes_back = |callee: &FuncId| self.returns[callee.0 as usize];
        match call.callee {
            Callee::Function(_) => !callees.iter().any(comes_back),
            _ => call.is_noreturn,
        }
    }

    fn find_places(&mut self, places: &Places) {
        let mut by_name: FxHashMap<&str, Vec<FuncId>> = FxHashMap::default();
        for (id, _) in self.bodies() {
            by_name.entry(self.program.function(id).name.as_str()).or_default().push(id);
        }
        let mut ends: FxHashMap<(FuncId, bool, u32, u32, u16), BlockId> = FxHashMap::default();
        for (id, body) in self.bodies() {
            let mut seen: FxHashMap<(bool, u32, u32), u16> = FxHashMap::default();
            for (index, block) in body.blocks.iter().enumerate() {
                let is_switch = match block.end {
                    Terminator::Branch { .. } => false,
                    Terminator::Switch { .. } => true,
                    _ => continue,
                };
                let ordinal = seen.entry((is_switch, block.end_at.line, block.end_at.column)).or_default();
                let key = (id, is_switch, block.end_at.line, block.end_at.column, *ordinal);
                ends.insert(key, BlockId(index as u32));
                *ordinal += 1;
            }
        }
        for (number, place) in places.iter() {
            let Some(candidates) = by_name.get(place.function.as_str()) else { continue };
            let Some(&id) = candidates.iter().find(|&&id| candidates.len() == 1 || self.is_of(id, place))
            else {
                continue;
            };
            match place.kind {
                PlaceKind::Function => drop(self.functions.insert(number, id)),
                PlaceKind::Branch | PlaceKind::Switch => {
                    let is_switch = place.kind == PlaceKind::Switch;
                    let key = (id, is_switch, place.line, place.column, place.ordinal);
                    if let Some(&block) = ends.get(&key) {
                        self.blocks.insert(number, (id, block, place.is_reversed));
                    }
                }
                PlaceKind::Call | PlaceKind::Line => {
                    self.instructions.extend(self.instruction(id, place).map(|at| (number, at)));
                }
            }
        }
    }

    /// The instruction at a place. What is decided in a call may be which
    /// function is called, so the call itself lies ahead.
    fn instruction(&self, id: FuncId, place: &Located) -> Option<(FuncId, BlockId, usize)> {
        let body = self.program.function(id).body.as_deref()?;
        let wanted = |at: leakscope_ir::Spot| (at.line, at.column) == (place.line, place.column);
        let mut found = body.blocks.iter().enumerate().flat_map(|(block, content)| {
            let fits = |op: &Op| place.kind == PlaceKind::Line || matches!(op, Op::Call(_));
            let instructions = content.instructions.iter().enumerate();
            let fitting = instructions.filter(move |(_, found)| wanted(found.at) && fits(&found.op));
            fitting.map(move |(index, _)| (id, BlockId(block as u32), index))
        });
        let first = found.next()?;
        Some(found.nth(usize::from(place.ordinal).wrapping_sub(1)).unwrap_or(first))
    }

    fn is_of(&self, id: FuncId, place: &Located) -> bool {
        let file = self.program.function(id).at.file;
        self.program.files.get(file.0 as usize).is_some_and(|file| place.spot().is_in(file))
    }

    /// No way to a line is known yet.
    fn no_way(&self, spot: &Spot) -> Distances {
        Distances {
            file: self.program.files.iter().map(|file| spot.is_in(file)).collect(),
            line: spot.line,
            down: vec![None; self.program.functions.len()],
            is_reachable: false,
        }
    }

    /// Functions that have code of a line.
    fn holding(&self, line: &Distances) -> impl Iterator<Item = FuncId> {
        let holds = |(id, body): (FuncId, &'p Body)| {
            let has =
                |block: &Block| (0..=block.instructions.len()).any(|index| line.is_on_line(block, index));
            body.blocks.iter().any(has).then_some(id)
        };
        self.bodies().filter_map(holds)
    }

    /// The functions of a line.
    pub fn functions_on(&self, spot: &Spot) -> FxHashSet<FuncId> {
        self.holding(&self.no_way(spot)).collect()
    }

    /// Ways to a line.
    pub fn distances(&self, spot: &Spot) -> Distances {
        let mut distances = self.no_way(spot);
        let mut open: VecDeque<FuncId> = self.holding(&distances).collect();
        while let Some(id) = open.pop_front() {
            let Some(body) = self.program.function(id).body.as_deref() else { continue };
            let before = distances.entry(id);
            let costs = self.flood(id, body, &|block| distances.in_block(self, id, body, block, 0));
            let after = costs.first().copied().unwrap_or(NEVER);
            distances.down[id.0 as usize] = Some(costs);
            if after < before {
                open.extend(&self.callers[id.0 as usize]);
            }
        }
        let main = self.program.functions.iter().position(|function| function.name == "main");
        distances.is_reachable = main.is_some_and(|main| distances.entry(FuncId(main as u32)) != NEVER);
        distances
    }

    /// How far it is to the line if a decision goes this way, with these
    /// functions around it, from the inside out.
    pub fn after(
        &self,
        to: &Distances,
        place: PlaceId,
        way: Way,
        mut stack: impl Iterator<Item = Frame>,
    ) -> Cost {
        let Some((id, here, out)) = self.onto(to, place, way) else { return UNKNOWN };
        // The frame of the decision itself comes first.
        let Some(frame) = stack.find(|frame| self.functions.get(&frame.function) == Some(&id)) else {
            return here.min(UNKNOWN);
        };
        let (mut inner, mut call) = (id, frame.call);
        let (mut best, mut out) = (here, out);
        for frame in stack {
            if out >= best {
                break;
            }
            let Some(&outer) = self.functions.get(&frame.function) else { return best.min(UNKNOWN) };
            let (down, exit) = self.behind_calls(to, outer, inner, call);
            best = best.min(out.saturating_add(down));
            out = out.saturating_add(exit);
            (inner, call) = (outer, frame.call);
        }
        best
    }

    /// The function that a place is in.
    pub fn function_of(&self, place: PlaceId) -> Option<FuncId> {
        let of_block = self.blocks.get(&place).map(|&(id, ..)| id);
        of_block.or_else(|| self.instructions.get(&place).map(|&(id, ..)| id))
    }

    /// Whether a branch is the one in `delete`, which has nothing to do if there is no object.
    pub fn is_delete(&self, place: PlaceId) -> bool {
        let Some(&(id, block, _)) = self.blocks.get(&place) else { return false };
        let Some(body) = self.program.function(id).body.as_deref() else { return false };
        let Terminator::Branch { condition: Operand::Value(condition), yes, no } = &body.block(block).end
        else {
            return false;
        };
        let is_null = |instruction: &Instruction| {
            instruction.result == *condition
                && matches!(instruction.op, Op::Compare { right: Operand::Int(0), .. })
        };
        let deletes = |instruction: &Instruction| match &instruction.op {
            Op::Call(Call { callee: Callee::Function(callee), .. }) => {
                let name = &self.program.function(*callee).name;
                name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv")
            }
            _ => false,
        };
        body.block(block).instructions.iter().any(is_null)
            && [yes, no].into_iter().any(|&to| body.block(to).instructions.iter().any(deletes))
    }

    /// A function and all that it may lead to.
    pub fn below(&self, id: FuncId) -> FxHashSet<FuncId> {
        let mut found = FxHashSet::from_iter([id]);
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let body = self.program.function(id).body.as_deref();
            for (block, index, _) in body.into_iter().flat_map(calls) {
                let callees = &self.callees[&(id, block, index)];
                open.extend(callees.iter().filter(|&&callee| found.insert(callee)));
            }
        }
        found
    }

    /// How far it is to the line without leaving the function.
    pub fn down(&self, to: &Distances, place: PlaceId, way: Way) -> Cost {
        self.onto(to, place, way).map_or(NEVER, |(_, here, _)| here)
    }

    /// Whether a way leads to one of these calls without another branch, and what is computed there
    /// does not depend on the way.
    pub fn leads_straight(&self, place: PlaceId, way: Way, calls: &FxHashSet<PlaceId>) -> bool {
        let Some((id, body, mut block)) = self.behind(place, way) else { return false };
        let calls: Vec<BlockId> = calls
            .iter()
            .filter_map(|call| self.instructions.get(call))
            .filter(|&&(function, ..)| function == id)
            .map(|&(_, block, _)| block)
            .collect();
        let is_phi = |instruction: &Instruction| matches!(instruction.op, Op::Phi { .. });
        for _ in 0..body.blocks.len() {
            if body.block(block).instructions.iter().any(is_phi) {
                return false;
            }
            if calls.contains(&block) {
                return true;
            }
            match body.block(block).end.successors()[..] {
                [next] => block = next,
                _ => return false,
            }
        }
        false
    }

    /// The block that a way of a branch or switch leads to.
    fn behind(&self, place: PlaceId, way: Way) -> Option<(FuncId, &'p Body, BlockId)> {
        let &(id, block, is_reversed) = self.blocks.get(&place)?;
        let body = self.program.function(id).body.as_deref()?;
        let next = match (&body.block(block).end, way) {
            (Terminator::Branch { yes, .. }, Way::Branch(holds)) if holds != is_reversed => *yes,
            (Terminator::Branch { no, .. }, Way::Branch(_)) => *no,
            (Terminator::Switch { default, .. }, Way::Case(0)) => *default,
            (Terminator::Switch { cases, default, .. }, Way::Case(number)) => {
                cases.get(usize::from(number) - 1).map_or(*default, |&(_, to)| to)
            }
            _ => return None,
        };
        Some((id, body, next))
    }

    /// The function of a decision that goes this way; from there to the line
    /// without leaving the function, and to the function's end.
    fn onto(&self, to: &Distances, place: PlaceId, way: Way) -> Option<(FuncId, Cost, Cost)> {
        if let Some(&(id, block, index)) = self.instructions.get(&place) {
            let body = self.program.function(id).body.as_deref()?;
            let (here, out) = self.within(to, id, body, block, index);
            return Some((id, here, out));
        }
        let (id, _, next) = self.behind(place, way)?;
        Some((id, to.from(id, next), self.exits[id.0 as usize][next.0 as usize]))
    }

    /// From an instruction of a block to the line without leaving the function,
    /// and to the function's end.
    fn within(&self, to: &Distances, id: FuncId, body: &Body, block: BlockId, index: usize) -> (Cost, Cost) {
        let own = to.in_block(self, id, body, block, index).unwrap_or(NEVER);
        let rest = index..body.block(block).instructions.len();
        if rest.into_iter().any(|index| self.stops(id, body, block, index)) {
            return (own, NEVER);
        }
        let costs = to.down[id.0 as usize].as_deref();
        let on = costs.map_or(NEVER, |costs| self.onward(body, block, costs));
        let out = if is_end(body, block) { 0 } else { self.onward(body, block, &self.exits[id.0 as usize]) };
        (own.min(on), out)
    }

    /// In `outer` behind its calls of `inner`, or behind this one if it is known:
    /// how far to the line, and to the end of the function.
    fn behind_calls(&self, to: &Distances, outer: FuncId, inner: FuncId, call: PlaceId) -> (Cost, Cost) {
        let Some(body) = self.program.function(outer).body.as_deref() else { return (NEVER, NEVER) };
        let is_of_inner = |at: &&(FuncId, BlockId, usize)| {
            at.0 == outer && self.callees.get(at).is_some_and(|callees| callees.contains(&inner))
        };
        if let Some(&(_, block, index)) = self.instructions.get(&call).filter(is_of_inner) {
            return self.within(to, outer, body, block, index + 1);
        }
        let (mut down, mut exit, mut found) = (NEVER, NEVER, false);
        for (block, index, _) in calls(body) {
            if !self.callees[&(outer, block, index)].contains(&inner) {
                continue;
            }
            found = true;
            let (near, out) = self.within(to, outer, body, block, index + 1);
            (down, exit) = (down.min(near), exit.min(out));
        }
        if found {
            return (down, exit);
        }
        // Called by something between them that is not in the program.
        let least =
            |costs: Option<&[Cost]>| costs.and_then(|costs| costs.iter().min().copied()).unwrap_or(NEVER);
        (least(to.down[outer.0 as usize].as_deref()), least(Some(&self.exits[outer.0 as usize])))
    }
}

impl Distances {
    fn entry(&self, id: FuncId) -> Cost {
        self.from(id, BlockId(0))
    }

    fn from(&self, id: FuncId, block: BlockId) -> Cost {
        let costs = self.down[id.0 as usize].as_deref();
        costs.and_then(|costs| costs.get(block.0 as usize)).copied().unwrap_or(NEVER)
    }

    /// Whether an instruction is on the line; the one behind the last is the
    /// block's end.
    fn is_on_line(&self, block: &Block, index: usize) -> bool {
        let at = block.instructions.get(index).map_or(block.end_at, |instruction| instruction.at);
        let vanished = block.vanished.iter().filter(|gone| gone.before as usize == index);
        let mut places = vanished.map(|gone| gone.at).chain([at]);
        places.any(|at| at.line == self.line && self.file.get(at.file.0 as usize).copied().unwrap_or(false))
    }

    /// From instruction `start` of a block to the line without leaving the
    /// block, or into one of its calls.
    fn in_block(&self, reach: &Reach, id: FuncId, body: &Body, block: BlockId, start: usize) -> Option<Cost> {
        let count = body.block(block).instructions.len();
        let mut best = None::<Cost>;
        for index in start..=count {
            if self.is_on_line(body.block(block), index) {
                return Some(0);
            }
            if index < count && matches!(body.block(block).instructions[index].op, Op::Call(_)) {
                let into = reach.callees[&(id, block, index)].iter().map(|&callee| self.entry(callee)).min();
                if let Some(into) = into.filter(|&into| into != NEVER) {
                    best = Some(best.unwrap_or(NEVER).min(into + 1));
                }
                if reach.stops(id, body, block, index) {
                    return best;
                }
            }
        }
        best
    }
}

fn is_end(body: &Body, block: BlockId) -> bool {
    matches!(body.block(block).end, Terminator::Return(_) | Terminator::Resume)
}

fn calls(body: &Body) -> impl Iterator<Item = (BlockId, usize, &Call)> {
    body.blocks.iter().enumerate().flat_map(|(block, content)| {
        content.instructions.iter().enumerate().filter_map(move |(index, instruction)| {
            match &instruction.op {
                Op::Call(call) => Some((BlockId(block as u32), index, call)),
                _ => None,
            }
        })
    })
}

/// Functions whose address is somewhere else than in a call of them, in order.
fn address_taken(program: &Program) -> Vec<FuncId> {
    let mut taken = FxHashSet::default();
    let mut note = |operand: &Operand| {
        if let Operand::Function(id) = operand {
            taken.insert(*id);
        }
    };
    for cell in program.globals.iter().filter_map(|global| global.initial.as_ref()).flatten() {
        note(&cell.value);
    }
    for body in program.functions.iter().filter_map(|function| function.body.as_deref()) {
        for block in &body.blocks {
            for instruction in &block.instructions {
                instruction.op.for_each_operand(&mut note);
            }
            block.end.operand().into_iter().for_each(&mut note);
        }
    }
    let mut taken: Vec<FuncId> = taken.into_iter().collect();
    taken.sort_unstable();
    taken
}

#[cfg(test)]
pub mod tests;
