//! What decides a branch that no input turns directly: the variables that it
//! reads, and where they are written.
//!
//! A flag that an option sets, a counter, the state of a protocol: their values
//! are computed by which code ran, so no term says how to change them. The way
//! to such a branch leads over the lines that write what it reads.
//!
//! Memory behind pointers is told apart by offset alone; a wrong guess costs a
//! few runs.

use leakscope_ir::{
    BlockId, Body, Call, Callee, FuncId, GlobalId, Op, Operand, Program, Terminator, ValueId,
};
use leakscope_wire::symbolic::MODELS;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{NEVER, Reach};
use crate::places::{PlaceId, Places, WayId};
use crate::reach::Distances;
use crate::trace::Way;
use crate::warning::Spot;

/// Something that is written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Variable {
    /// A local variable, or what a parameter points to.
    Local(FuncId, ValueId),
    Global(GlobalId, i64),
    /// So many bytes behind a pointer.
    Field(i64),
}

/// Steps back from a condition to what it reads, and into calls.
const DEEPEST: u32 = 12;
const CALLS: u32 = 2;

/// A function with more callers says nothing of what it gets.
const MOST_CALLERS: usize = 4;

/// A variable that is written in more places says nothing.
const MOST_WRITES: usize = 16;

/// Branches and switches with their ways, and where variables are written.
#[derive(Debug)]
pub struct Frontiers {
    ways: Vec<(PlaceId, std::ops::Range<WayId>)>,
    writes: FxHashMap<Variable, Vec<Spot>>,
    /// Variables that hold what library functions returned of which there is
    /// no model.
    foreign: FxHashMap<Variable, FuncId>,
    /// Calls of each function.
    callers: FxHashMap<FuncId, Vec<(FuncId, Vec<Operand>)>>,
}

/// What a value is computed from.
#[derive(Default)]
struct Reads {
    variables: Vec<Variable>,
    /// Where locals that are in no memory get a constant.
    spots: Vec<Spot>,
    /// And where they are counted: of use if nothing else is known, since what is
    /// found at a place depends on how the place was come to.
    counted: Vec<Spot>,
    /// A library function of which there is no model.
    foreign: Option<FuncId>,
    /// Parameters of the function itself.
    parameters: Vec<ValueId>,
}

/// The branch next to a mark that runs came to without going on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Its ways.
    pub ways: std::ops::Range<WayId>,
    /// Where what it reads is written.
    pub writes: Vec<Spot>,
}

impl Frontiers {
    pub fn new(program: &Program, places: &Places) -> Frontiers {
        let ways = places.ways().filter(|(_, ways)| !ways.is_empty()).collect();
        let mut writes: FxHashMap<Variable, Vec<Spot>> = FxHashMap::default();
        let mut first: FxHashMap<Variable, Vec<Spot>> = FxHashMap::default();
        let mut foreign: FxHashMap<Variable, FuncId> = FxHashMap::default();
        let mut callers: FxHashMap<FuncId, Vec<(FuncId, Vec<Operand>)>> = FxHashMap::default();
        // What is passed, and the parameters that then point to it.
        let mut passed: Vec<(Variable, Variable)> = Vec::new();
        for (id, function) in program.functions.iter().enumerate() {
            let Some(body) = function.body.as_deref() else { continue };
            let values = values(body);
            let id = FuncId(id as u32);
            let blocks = body.blocks.iter().enumerate();
            let instructions = blocks.flat_map(|(number, block)| {
                block.instructions.iter().map(move |instruction| (number, instruction))
            });
            let variable = |address: &Operand| match address {
                Operand::Value(value) if value.0 < function.parameters => Some(Variable::Local(id, *value)),
                _ => variable(id, &values, address),
            };
            for (block, instruction) in instructions {
                if let Op::Call(Call { callee: Callee::Function(callee), arguments, .. }) = &instruction.op {
                    callers.entry(*callee).or_default().push((id, arguments.clone()));
                    let locals = arguments.iter().map(&variable).zip(0..);
                    passed.extend(locals.filter_map(|(argument, index)| {
                        let local = argument.filter(|argument| matches!(argument, Variable::Local(..)))?;
                        Some((local, Variable::Local(*callee, ValueId(index))))
                    }));
                }
                let Some(to) = written(program, &instruction.op) else { continue };
                let file = program.files.get(instruction.at.file.0 as usize);
                let (Some(variable), Some(file)) = (variable(to), file) else { continue };
                if let Op::Store { value, .. } = &instruction.op {
                    let mut from = Reads::default();
                    reads(program, id, &values, value, 0, &mut from);
                    if let Some(from) = from.foreign {
                        foreign.insert(variable, from);
                    }
                }
                let spot = Spot::new(file.clone(), instruction.at.line);
                // What the first block writes is written anyway, if the function is called.
                let is_first = block == 0;
                if is_first && (matches!(variable, Variable::Local(..)) || function.name == "main") {
                    continue;
                }
                let known = if is_first { &mut first } else { &mut writes }.entry(variable).or_default();
                if spot.line != 0 && !known.contains(&spot) {
                    known.push(spot);
                }
            }
        }
        // A callee's callee writes, too.
        for (local, parameter) in (0..CALLS).flat_map(|_| &passed) {
            let spots = writes.get(parameter).cloned().unwrap_or_default();
            let known = writes.entry(*local).or_default();
            known.extend(spots.into_iter().filter(|spot| !known.contains(spot)).collect::<Vec<_>>());
        }
        for (variable, spots) in first {
            let known = writes.entry(variable).or_default();
            if known.len() + spots.len() <= MOST_WRITES {
                known.extend(spots);
            }
        }
        Frontiers { ways, writes, foreign, callers }
    }

    /// A library function that a branch on the way to the goal depends on, and
    /// that branch: it was reached, and never went there. What such a function
    /// returns, the input does not decide.
    pub fn foreign(
        &self,
        reach: &Reach<'_>,
        to: &Distances,
        gone: &FxHashSet<WayId>,
    ) -> Option<(PlaceId, FuncId)> {
        self.edges(reach, gone).find_map(|edge| {
            reach.onto(to, edge.place, edge.way).filter(|&(_, cost, _)| cost != NEVER)?;
            let reads = self.read_at(reach, &edge)?;
            let of_variable =
                || reads.variables.iter().find_map(|variable| self.foreign.get(variable).copied());
            Some((edge.place, reads.foreign.or_else(of_variable)?))
        })
    }

    /// The branch nearest to the goal of `to` that was reached, and whose way
    /// there was never gone.
    pub fn nearest(&self, reach: &Reach<'_>, to: &Distances, gone: &FxHashSet<WayId>) -> Frontier {
        let edges = self.edges(reach, gone).filter_map(|edge| {
            let (_, cost, _) = reach.onto(to, edge.place, edge.way)?;
            (cost != NEVER).then_some((cost, edge))
        });
        let nearest = edges.min_by_key(|&(cost, _)| cost);
        nearest.map_or_else(Frontier::default, |(_, edge)| self.of(reach, edge))
    }

    /// The branch at a place, which is to go a way that was never gone.
    pub fn at(&self, reach: &Reach<'_>, place: PlaceId, way: Way) -> Frontier {
        let ways = self.ways.iter().find(|(other, _)| *other == place).map(|(_, ways)| ways.clone());
        ways.map_or_else(Frontier::default, |ways| self.of(reach, Edge { place, way, ways }))
    }

    fn of(&self, reach: &Reach<'_>, edge: Edge) -> Frontier {
        let read = self.read_at(reach, &edge).unwrap_or_default();
        let written = read.variables.iter().filter_map(|variable| self.writes.get(variable));
        let written = written.chain([&read.spots]).filter(|spots| spots.len() <= MOST_WRITES);
        let mut writes: Vec<Spot> = written.flatten().cloned().collect();
        if writes.is_empty() && read.counted.len() <= MOST_WRITES {
            writes = read.counted;
        }
        writes.sort_unstable();
        writes.dedup();
        Frontier { ways: edge.ways, writes }
    }

    /// Ways behind which a goal comes without another branch.
    pub fn leading(&self, reach: &Reach<'_>, to: &Distances) -> Vec<WayId> {
        let edges = self.ways.iter().flat_map(|(place, ways)| Edge::all(reach, *place, ways.clone()));
        let leads = edges.filter(|(_, edge)| reach.down(to, edge.place, edge.way) == 0);
        leads.map(|(way, _)| way).collect()
    }

    /// Ways that were never gone of branches that were reached.
    fn edges(&self, reach: &Reach<'_>, gone: &FxHashSet<WayId>) -> impl Iterator<Item = Edge> {
        let is_gone = |way: &WayId| gone.contains(way);
        let reached = self.ways.iter().filter(move |(_, ways)| ways.clone().any(|way| is_gone(&way)));
        let edges = reached.flat_map(move |(place, ways)| Edge::all(reach, *place, ways.clone()));
        edges.filter(move |(way, _)| !is_gone(way)).map(|(_, edge)| edge)
    }

    /// What the branch of an edge reads.
    fn read_at(&self, reach: &Reach<'_>, edge: &Edge) -> Option<Reads> {
        let &(id, block, _) = reach.blocks.get(&edge.place)?;
        let body = reach.program.function(id).body.as_deref()?;
        let mut found = Reads::default();
        if let Terminator::Branch { condition: value, .. } | Terminator::Switch { value, .. } =
            &body.block(block).end
        {
            reads(reach.program, id, &values(body), value, CALLS, &mut found);
        }
        self.read_by_callers(reach.program, id, CALLS, &mut found);
        found.variables.sort_unstable();
        found.variables.dedup();
        Some(found)
    }

    /// What parameters come from, so many calls up.
    fn read_by_callers(&self, program: &Program, id: FuncId, calls: u32, found: &mut Reads) {
        let parameters = std::mem::take(&mut found.parameters);
        let callers = self.callers.get(&id).filter(|callers| callers.len() <= MOST_CALLERS);
        for (caller, arguments) in
            callers.into_iter().flatten().filter(|_| calls > 0 && !parameters.is_empty())
        {
            let Some(body) = program.function(*caller).body.as_deref() else { continue };
            let values = values(body);
            for argument in parameters.iter().filter_map(|parameter| arguments.get(parameter.0 as usize)) {
                reads(program, *caller, &values, argument, 0, found);
            }
            self.read_by_callers(program, *caller, calls - 1, found);
        }
    }
}

/// A way of a branch or switch, and all of its ways.
struct Edge {
    place: PlaceId,
    way: Way,
    ways: std::ops::Range<WayId>,
}

impl Edge {
    /// The ways of a branch or switch, with their numbers.
    fn all(
        reach: &Reach<'_>,
        place: PlaceId,
        ways: std::ops::Range<WayId>,
    ) -> impl Iterator<Item = (WayId, Edge)> + use<> {
        let is_switch = reach.blocks.get(&place).is_some_and(|&(id, block, _)| {
            let body = reach.program.function(id).body.as_deref();
            body.is_some_and(|body| matches!(body.block(block).end, Terminator::Switch { .. }))
        });
        ways.clone().map(move |id| {
            let number = id - ways.start;
            let way = if is_switch { Way::Case(number as u16) } else { Way::Branch(number == 1) };
            (id, Edge { place, way, ways: ways.clone() })
        })
    }
}

/// What a value is computed from, into so many calls.
fn reads(program: &Program, id: FuncId, values: &Values<'_>, value: &Operand, calls: u32, found: &mut Reads) {
    let mut open = vec![(value.clone(), DEEPEST)];
    let mut seen: FxHashSet<ValueId> = FxHashSet::default();
    while let Some((value, depth)) = open.pop() {
        let Operand::Value(value) = value else { continue };
        if value.0 < program.function(id).parameters && !found.parameters.contains(&value) {
            found.parameters.push(value);
        }
        let Some(op) = values.get(&value).filter(|_| depth > 0 && seen.insert(value)) else { continue };
        if let Op::Phi { incoming } = op {
            let written: Vec<Option<Written>> =
                incoming.iter().map(|way| written_on(program, id, values, way)).collect();
            let is_computed = written.contains(&Some(Written::Computed));
            for ((from, _), written) in incoming.iter().zip(written) {
                let found = match written {
                    Some(Written::Counted) => &mut found.counted,
                    // Where it is computed elsewhere, what it was before is no write.
                    Some(Written::Kept) if is_computed => continue,
                    Some(_) => &mut found.spots,
                    None => continue,
                };
                found.extend(left_at(program, id, *from));
            }
        }
        match op {
            Op::Load { from, .. } => {
                found.variables.extend(variable(id, values, from));
                found.variables.extend(field_of_local(id, values, from));
            }
            Op::Call(Call { callee: Callee::Function(callee), arguments, .. }) => {
                let function = program.function(*callee);
                match function.body.as_deref() {
                    // What a function returns depends on what it reads and gets.
                    Some(body) if calls > 0 => {
                        let own = std::mem::take(&mut found.parameters);
                        let inner = self::values(body);
                        for block in &body.blocks {
                            if let Terminator::Branch { condition: value, .. }
                            | Terminator::Return(Some(value)) = &block.end
                            {
                                reads(program, *callee, &inner, value, calls - 1, found);
                            }
                        }
                        let got = std::mem::replace(&mut found.parameters, own);
                        let got = got.iter().filter_map(|parameter| arguments.get(parameter.0 as usize));
                        open.extend(got.map(|argument| (argument.clone(), depth - 1)));
                    }
                    None if !MODELS.contains(&function.name.as_str())
                        && !function.name.starts_with("llvm.") =>
                    {
                        found.foreign = Some(*callee);
                    }
                    _ => {}
                }
            }
            op => op.for_each_operand(&mut |operand| open.push((operand.clone(), depth - 1))),
        }
    }
}

/// What comes of a local on a way to where it is read.
#[derive(PartialEq)]
enum Written {
    Constant,
    /// The same where a condition did not hold: what it was before.
    Kept,
    Computed,
    /// From what it was.
    Counted,
}

fn written_on(
    program: &Program,
    id: FuncId,
    values: &Values<'_>,
    (from, value): &(BlockId, Operand),
) -> Option<Written> {
    let goes_on = || {
        let body = program.function(id).body.as_deref();
        body.is_some_and(|body| matches!(body.block(*from).end, Terminator::Jump(_)))
    };
    let Operand::Value(result) = value else {
        return Some(if goes_on() { Written::Constant } else { Written::Kept });
    };
    let Some(op @ Op::Binary { .. }) = values.get(result) else { return None };
    let mut counts = false;
    op.for_each_operand(&mut |operand| {
        counts |=
            matches!(operand, Operand::Value(value) if matches!(values.get(value), Some(Op::Phi { .. })));
    });
    if counts || !goes_on() { Some(Written::Counted) } else { Some(Written::Computed) }
}

type Values<'p> = FxHashMap<ValueId, &'p Op>;

fn values(body: &Body) -> Values<'_> {
    let instructions = body.blocks.iter().flat_map(|block| &block.instructions);
    instructions.map(|instruction| (instruction.result, &instruction.op)).collect()
}

/// The line on which a block is left: where a local got another value, on one way
/// to where that is read.
fn left_at(program: &Program, id: FuncId, from: BlockId) -> Option<Spot> {
    if from.0 == 0 {
        return None;
    }
    let at = program.function(id).body.as_deref()?.block(from).end_at;
    let file = program.files.get(at.file.0 as usize)?;
    (at.line != 0).then(|| Spot::new(file.clone(), at.line))
}

/// The address that is written to. Most library functions that write take it
/// first.
fn written<'p>(program: &Program, op: &'p Op) -> Option<&'p Operand> {
    match op {
        Op::Store { to, .. } | Op::Copy { to, .. } | Op::Fill { to, .. } => Some(to),
        Op::Call(Call { callee: Callee::Function(callee), arguments, .. }) => {
            arguments.first().filter(|_| program.function(*callee).body.is_none())
        }
        _ => None,
    }
}

/// A member of a local variable as functions see it that get its address.
fn field_of_local(id: FuncId, values: &Values<'_>, address: &Operand) -> Option<Variable> {
    let Operand::Value(value) = address else { return None };
    let Op::Step { base, offset, .. } = values.get(value)? else { return None };
    let is_local = matches!(variable(id, values, base), Some(Variable::Local(..)));
    is_local.then_some(Variable::Field(*offset))
}

/// The variable at an address.
fn variable(id: FuncId, values: &Values<'_>, address: &Operand) -> Option<Variable> {
    match address {
        Operand::Global(global, offset) => Some(Variable::Global(*global, *offset)),
        Operand::Value(value) => match values.get(value)? {
            Op::Local { .. } => Some(Variable::Local(id, *value)),
            Op::Step { base, offset, .. } => match variable(id, values, base) {
                Some(Variable::Global(global, start)) => Some(Variable::Global(global, start + offset)),
                Some(Variable::Field(start)) => Some(Variable::Field(start + offset)),
                Some(local) => Some(local),
                None => Some(Variable::Field(*offset)),
            },
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::tests::program;

    /// The lines that write what the branch on line `from` reads, if runs came
    /// to it and never took it to line `to`.
    #[track_caller]
    fn check(source: &str, from: u32, to: u32, expected: &[u32]) {
        let (program, places) = program(source);
        let reach = Reach::new(&program, &places);
        let is_there = |(id, _): &(PlaceId, std::ops::Range<WayId>)| places.get(*id).unwrap().line == from;
        let (_, ways) = places.ways().find(is_there).expect("a branch");
        let gone = FxHashSet::from_iter([ways.start]);
        let to = reach.distances(&Spot::new("a.c", to));
        let found = Frontiers::new(&program, &places).nearest(&reach, &to, &gone);
        assert_eq!(found.writes.iter().map(|spot| spot.line).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_a_branch_reads_is_written_by_stores_calls_and_through_pointers() {
        let source = "\
extern int in(void);
extern char *strcpy(char *, const char *);
struct state { int a, b; };
static void set(struct state *s) {
    if (in())
        s->b = in();
}
int main(void) {
    struct state s = { 0, 0 };
    char name[8] = \"\";
    int flag = 0;
    while (in()) {
        set(&s);
        if (in())
            strcpy(name, \"a\");
        if (in())
            flag = 1;
    }
    if (flag)
        return 1;
    if (*name)
        return 2;
    if (s.b == 3)
        return 3;
    return 0;
}
";
        check(source, 21, 22, &[15]);
        check(source, 19, 20, &[17]);
        check(source, 23, 24, &[6]);
    }

    #[test]
    fn what_a_branch_reads_is_given_by_callers() {
        let source = "\
extern int in(void);
static int find(unsigned long *at) {
    for (unsigned long i = 0; i < 9; i++)
        if (in()) {
            *at = i;
            return 1;
        }
    return 0;
}
static int take(unsigned long length) {
    if (length == 1)
        return in();
    return 0;
}
int main(void) {
    unsigned long end;
    if (find(&end))
        return take(end - 2);
    return 0;
}
";
        check(source, 11, 12, &[5]);
    }

    #[test]
    fn what_a_branch_reads_is_counted() {
        let source = "\
extern int in(void);
int main(void) {
    int count = 0;
    while (in()) {
        switch (in()) {
        case 1:
            count++;
            break;
        case 2:
            in();
            break;
        }
    }
    if (count == 2)
        return 1;
    return 0;
}
";
        check(source, 14, 15, &[8]);
    }

    #[test]
    fn what_a_branch_reads_is_written_by_callees() {
        let source = "\
extern int in(void);
static int find(int *at) {
    for (int i = 0; i < 9; i++)
        if (in() == i) {
            *at = i;
            return 1;
        }
    return 0;
}
static int look(int a, int *at) {
    return a && find(at);
}
int main(void) {
    int at;
    if (look(in(), &at))
        if (at != 0)
            return 1;
    return 0;
}
";
        check(source, 16, 17, &[5]);
    }

    #[test]
    fn what_a_local_was_before_is_no_write_where_it_is_computed() {
        let source = "\
extern int in(void);
int main(void) {
    int mode = -1;
    if (in())
        if (in())
            mode = in() - 97;
    if (mode >= 0)
        return 1;
    return 0;
}
";
        check(source, 7, 8, &[6]);
    }
}
