//! What functions do with their arguments, and which return new blocks: by the
//! flow of values in bodies and by models, for the whole program. Who may release
//! counts as one who does.

use leakscope_ir::{
    BlockId, Body, Call, Callee, FuncId, Function, Instruction, Op, Operand, Spot, Terminator, ValueId, Width,
};
use rustc_hash::FxHashSet;

use crate::summary::ExitCase;
use crate::value::{Base, SymbolKey};
use crate::world::World;

/// What becomes of an argument.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Effect {
    pub frees: bool,
    pub keeps: bool,
}

/// Where a value goes that is not only looked at.
pub enum Use<'a> {
    /// The same value, or one inside of what it points to.
    Flows(ValueId),
    Stored,
    Argument(&'a Instruction, &'a Call, u32),
    /// Compared with null, with this result.
    Tested(ValueId),
    Returned,
    Kept,
}

/// Where values of a body come from and go to.
pub struct Values<'a> {
    of: Vec<Option<&'a Instruction>>,
    pub block_of: Vec<BlockId>,
    uses: Vec<Vec<Use<'a>>>,
}

impl<'a> Values<'a> {
    pub fn new(body: &'a Body) -> Values<'a> {
        let count = body.values as usize;
        let (mut of, mut block_of) = (vec![None; count], vec![BlockId(0); count]);
        let mut uses: Vec<Vec<Use>> = Vec::new();
        uses.resize_with(count, Vec::new);
        for (index, block) in body.blocks.iter().enumerate() {
            for instruction in &block.instructions {
                let result = instruction.result;
                of[result.0 as usize] = Some(instruction);
                block_of[result.0 as usize] = BlockId(index as u32);
                let mut note = |operand: &Operand, how: Use<'a>| {
                    if let Operand::Value(value) = operand {
                        uses[value.0 as usize].push(how);
                    }
                };
                match &instruction.op {
                    Op::Step { base: from, .. } | Op::Cast { value: from, width: Width::Kept } => {
                        note(from, Use::Flows(result));
                    }
                    Op::Select { yes, no, .. } => {
                        note(yes, Use::Flows(result));
                        note(no, Use::Flows(result));
                    }
                    Op::Phi { incoming } => {
                        incoming.iter().for_each(|(_, value)| note(value, Use::Flows(result)));
                    }
                    Op::Store { value, .. } => note(value, Use::Stored),
                    Op::Compare { left, right: Operand::Int(0), .. } => note(left, Use::Tested(result)),
                    Op::Call(call) => {
                        for (at, argument) in (0..).zip(&call.arguments) {
                            note(argument, Use::Argument(instruction, call, at));
                        }
                    }
                    Op::Insert { value, .. } | Op::Exchange { value, .. } => note(value, Use::Kept),
                    Op::Cast { value, .. } => note(value, Use::Kept),
                    Op::Binary { left, right, .. } => {
                        note(left, Use::Kept);
                        note(right, Use::Kept);
                    }
                    _ => {}
                }
            }
            if let Terminator::Return(Some(Operand::Value(value))) = &block.end {
                uses[value.0 as usize].push(Use::Returned);
            }
        }
        Values { of, block_of, uses }
    }

    /// All uses of a value, also by other names.
    pub fn each_use(&self, value: ValueId, each: &mut dyn FnMut(&Use<'a>)) {
        let (mut open, mut seen) = (vec![value], FxHashSet::default());
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            for how in &self.uses[value.0 as usize] {
                match how {
                    Use::Flows(to) => open.push(*to),
                    other => each(other),
                }
            }
        }
    }

    pub fn op(&self, value: ValueId) -> Option<&'a Op> {
        self.of[value.0 as usize].map(|instruction| &instruction.op)
    }

    /// What a value may be, behind casts and where ways meet.
    pub fn sources<'o>(&self, operand: &'o Operand) -> Vec<&'o Operand>
    where
        'a: 'o,
    {
        let (mut open, mut seen, mut found) = (vec![operand], FxHashSet::default(), Vec::new());
        while let Some(operand) = open.pop() {
            let Operand::Value(value) = operand else {
                found.push(operand);
                continue;
            };
            if !seen.insert(*value) {
                continue;
            }
            match self.op(*value) {
                Some(Op::Cast { value, width: Width::Kept }) => open.push(value),
                Some(Op::Select { yes, no, .. }) => open.extend([yes, no]),
                Some(Op::Phi { incoming }) => open.extend(incoming.iter().map(|(_, value)| value)),
                _ => found.push(operand),
            }
        }
        found
    }
}

/// What callers need to know of a body before others are.
struct Outline {
    /// Of parameters, by what the body itself does.
    own: Vec<Effect>,
    /// A parameter is handed on as an argument of another.
    passed: Vec<(u32, FuncId, u32)>,
    /// What it returns, if that is new blocks of these functions and nothing
    /// else; and to whom it shows them.
    returned: Option<Made>,
    /// What calls of these functions return is stored where these parameters
    /// point.
    stored: Vec<(u32, FuncId)>,
}

#[derive(Default)]
pub struct Made {
    pub by: Vec<(FuncId, Spot)>,
    shown: Vec<(FuncId, u32)>,
}

impl Outline {
    fn new(world: &World, id: FuncId, body: &Body) -> Outline {
        let function = world.program.function(id);
        let values = Values::new(body);
        let mut own = vec![Effect::default(); function.parameters as usize];
        let mut passed = Vec::new();
        for (index, effect) in (0..).zip(&mut own) {
            values.each_use(ValueId(index), &mut |how| match how {
                Use::Argument(call, Call { callee, .. }, at) => {
                    let callees = world.callees(id, call.result, callee);
                    passed.extend(callees.iter().map(|callee| (index, *callee, *at)));
                    effect.keeps |= callees.is_empty();
                }
                Use::Stored | Use::Returned | Use::Kept => effect.keeps = true,
                Use::Tested(_) | Use::Flows(_) => {}
            });
        }
        Outline {
            own,
            passed,
            returned: returned(world, id, body, &values),
            stored: stored(function, body, &values),
        }
    }
}

fn stored(function: &Function, body: &Body, values: &Values) -> Vec<(u32, FuncId)> {
    let mut stored = Vec::new();
    for instruction in body.blocks.iter().flat_map(|block| &block.instructions) {
        let Op::Store { to: Operand::Value(to), value: Operand::Value(value), .. } = &instruction.op else {
            continue;
        };
        if to.0 < function.parameters
            && let Some(Op::Call(Call { callee: Callee::Function(maker), .. })) = values.op(*value)
        {
            stored.push((to.0, *maker));
        }
    }
    stored
}

fn returned(world: &World, id: FuncId, body: &Body, values: &Values) -> Option<Made> {
    let mut made = Made::default();
    for block in &body.blocks {
        let Terminator::Return(value) = &block.end else { continue };
        for source in values.sources(value.as_ref()?) {
            match source {
                Operand::Int(0) => {}
                Operand::Value(value) => made.add(world, id, values, *value, 0)?,
                _ => return None,
            }
        }
    }
    (!made.by.is_empty()).then_some(made)
}

impl Made {
    /// A block that a call made, and that nothing but so many stores keep.
    pub fn add(
        &mut self,
        world: &World,
        id: FuncId,
        values: &Values,
        value: ValueId,
        stores: usize,
    ) -> Option<()> {
        let instruction = values.of[value.0 as usize]?;
        let Op::Call(Call { callee: Callee::Function(callee), .. }) = &instruction.op else { return None };
        let (mut count, mut is_kept) = (0, false);
        values.each_use(value, &mut |how| match how {
            Use::Stored => count += 1,
            Use::Argument(call, Call { callee, .. }, at) => {
                let callees = world.callees(id, call.result, callee);
                self.shown.extend(callees.iter().map(|callee| (*callee, *at)));
                is_kept |= callees.is_empty();
            }
            Use::Returned if stores == 0 => {}
            Use::Kept | Use::Returned => is_kept = true,
            Use::Tested(_) | Use::Flows(_) => {}
        });
        self.by.push((*callee, instruction.at));
        (count <= stores && !is_kept).then_some(())
    }
}

/// What functions do with their arguments, and whether they return new blocks.
pub struct Effects<'a> {
    pub world: &'a World<'a>,
    parameters: Vec<Vec<Effect>>,
    /// By function that returns new blocks, a call in it that makes one.
    makers: Vec<Option<(FuncId, Spot)>>,
    pub is_maker: Vec<bool>,
    /// By function, the parameters that lead to where it puts new blocks.
    fills: Vec<FxHashSet<u32>>,
}

impl<'a> Effects<'a> {
    pub fn new(world: &'a World<'a>) -> Effects<'a> {
        let program = world.program;
        let outline = |(index, function): (usize, &Function)| {
            let (id, body) = (FuncId(index as u32), function.body.as_ref()?);
            world.model(id).is_none().then(|| Outline::new(world, id, body))
        };
        let outlines: Vec<Option<Outline>> = program.functions.iter().enumerate().map(outline).collect();
        let parameters =
            outlines.iter().map(|outline| outline.as_ref().map_or(Vec::new(), |o| o.own.clone()));
        let mut effects = Effects {
            world,
            parameters: parameters.collect(),
            makers: vec![None; program.functions.len()],
            fills: vec![FxHashSet::default(); program.functions.len()],
            is_maker: (0..program.functions.len() as u32).map(|id| makes(world, FuncId(id))).collect(),
        };
        let own = |at: usize| outlines[at].as_ref().map(|outline| (at, outline));
        let all: Vec<(usize, &Outline)> = (0..outlines.len()).filter_map(own).collect();
        while all.iter().fold(false, |is_changed, (at, outline)| effects.pass(*at, outline) || is_changed) {}
        while all.iter().fold(false, |is_changed, (at, outline)| effects.make(*at, outline) || is_changed) {}
        while all.iter().fold(false, |is_changed, (at, outline)| effects.fill(*at, outline) || is_changed) {}
        effects
    }

    fn fill(&mut self, at: usize, outline: &Outline) -> bool {
        let stored = outline.stored.iter().filter(|(_, maker)| self.is_maker[maker.0 as usize]);
        let passed = outline.passed.iter().filter(|(_, callee, argument)| self.fills(*callee, *argument));
        let filled: FxHashSet<u32> =
            stored.map(|(index, _)| *index).chain(passed.map(|(index, ..)| *index)).collect();
        let is_changed = filled.len() != self.fills[at].len();
        self.fills[at] = filled;
        is_changed
    }

    /// Whether a function puts a new block where an argument points.
    pub fn fills(&self, callee: FuncId, argument: u32) -> bool {
        self.fills[callee.0 as usize].contains(&argument)
    }

    fn pass(&mut self, at: usize, outline: &Outline) -> bool {
        let mut is_changed = false;
        for &(index, callee, argument) in &outline.passed {
            let Effect { frees, keeps } = self.of(callee, argument);
            let known = &mut self.parameters[at][index as usize];
            let both = Effect { frees: known.frees || frees, keeps: known.keeps || keeps };
            is_changed |= std::mem::replace(known, both) != both;
        }
        is_changed
    }

    fn make(&mut self, at: usize, outline: &Outline) -> bool {
        if self.is_maker[at] || !outline.returned.as_ref().is_some_and(|made| self.is_new(made)) {
            return false;
        }
        self.is_maker[at] = true;
        self.makers[at] = outline.returned.as_ref().and_then(|made| made.by.first().copied());
        true
    }

    pub fn is_new(&self, made: &Made) -> bool {
        made.by.iter().all(|(maker, _)| self.is_maker[maker.0 as usize])
            && made.shown.iter().all(|&(callee, at)| !self.of(callee, at).keeps)
    }

    pub fn of(&self, callee: FuncId, argument: u32) -> Effect {
        let keeps = Effect { keeps: true, ..Effect::default() };
        if let Some(model) = self.world.model(callee).filter(|_| self.world.role(callee).is_none()) {
            let is_it = |base: Base| matches!(base, Base::Symbol(id) if *model.symbols.key(id) == SymbolKey::Parameter(argument));
            let is_remade = model.cases.iter().any(|case| !case.refused.is_empty());
            let any = |found: &dyn Fn(&ExitCase) -> bool| model.cases.iter().any(found);
            return Effect {
                frees: !is_remade && any(&|case| case.freed.iter().any(|&id| is_it(Base::Symbol(id)))),
                keeps: any(&|case| {
                    let written = case.writes.iter().flat_map(|write| write.value.bases());
                    let escaped = case.escaped.iter().map(|&id| Base::Symbol(id));
                    escaped.chain(written.map(|(base, _)| base)).any(is_it)
                }),
            };
        }
        let known = self.parameters[callee.0 as usize].get(argument as usize);
        known.copied().filter(|_| self.world.role(callee).is_none()).unwrap_or(keeps)
    }

    /// The calls that made a block, innermost first, and its allocator.
    pub fn origin(&self, function: FuncId, at: Spot, by: FuncId) -> (Vec<(FuncId, Spot)>, FuncId) {
        let (mut stack, mut by) = (vec![(function, at)], by);
        while let Some((next, at)) = self.makers[by.0 as usize]
            && stack.len() < 8
        {
            stack.insert(0, (by, at));
            by = next;
        }
        (stack, by)
    }
}

/// Whether a model says that a function returns new blocks, or null.
fn makes(world: &World, id: FuncId) -> bool {
    let Some(model) = world.model(id).filter(|_| world.role(id).is_none()) else { return false };
    model.cases.iter().any(|case| case.result.has_heap())
}
