//! A run as the search reads it: the decisions that depended on the input,
//! with what must hold to decide otherwise, and all else in order.

use leakscope_solve::{Binary, Compare, Pool, Slices, Term};
use leakscope_wire::symbolic::{Event, EventKind, Node, Op, What, Why};
use rustc_hash::FxHashSet;

use crate::input::{self, Names};
use crate::places::{PlaceId, Places};
use crate::target::{Ended, Record};

#[derive(Debug, Default)]
pub struct Trace {
    pub pool: Pool,
    /// What held on this path, in order.
    pub path: Slices,
    pub decisions: Vec<Decision>,
    /// Constraints of the path that say only what the run did, not what the
    /// program asked: by their position in `path`, with where that was.
    pub pinned: Vec<(usize, PlaceId)>,
    pub events: Vec<Event>,
    /// Frames around a decision, from the inside out by `parent`.
    pub stacks: Vec<Frame>,
    /// Where values that depend on the input were taken as they were, without
    /// a constraint.
    pub notes: Vec<(PlaceId, What)>,
    pub names: Names,
    pub ended: Ended,
    /// Whether `main` had returned when the program ended by itself.
    pub has_returned: bool,
    pub limits: u32,
}

/// A branch, switch or call that can fail, where the input decided.
#[derive(Clone, Debug)]
pub struct Decision {
    pub place: PlaceId,
    pub way: Way,
    /// Its position in `events`.
    pub at: usize,
    /// How many constraints of the path come before it.
    pub before: usize,
    /// The other ways, each with what must hold besides the path before it.
    pub others: Vec<OtherWay>,
    pub stack: Option<StackId>,
    /// Of the path up to here.
    pub hash: u64,
}

/// A way, and what holds for it.
pub type OtherWay = (Way, Term);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Whether the source's condition holds.
    Branch(bool),
    /// From 1 on; 0 is the default.
    Case(u16),
    Fails(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackId(pub u32);

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub function: PlaceId,
    pub parent: Option<StackId>,
}

impl Trace {
    pub fn new(record: Record, places: &Places) -> Trace {
        let mut trace =
            Trace { names: record.names, ended: record.ended, limits: record.limits, ..Trace::default() };
        let terms = terms(&mut trace.pool, &record.nodes, &record.events);
        let term = |number: u32| terms.get(number as usize).copied().flatten();
        let mut known = FxHashSet::default();
        let (mut stack, mut hash) = (None, 0);
        for (at, event) in record.events.iter().enumerate() {
            match EventKind::from_u8(event.kind) {
                Some(EventKind::Call) => {
                    trace.stacks.push(Frame { function: event.place, parent: stack });
                    stack = Some(StackId(trace.stacks.len() as u32 - 1));
                }
                Some(EventKind::Return) => stack = trace.left(stack, event.place),
                Some(EventKind::Exit) => trace.has_returned = stack.is_none(),
                Some(EventKind::Note) => {
                    trace.notes.extend(What::from_u16(event.detail).map(|what| (event.place, what)));
                }
                Some(EventKind::Constraint) => {
                    if let Some(held) = term(event.term).filter(|&held| trace.says(held, &mut known)) {
                        if Why::from_u16(event.detail) != Some(Why::Model) {
                            trace.pinned.push((trace.path.len(), event.place));
                        }
                        trace.path.push(&trace.pool, held);
                    }
                }
                Some(EventKind::Branch | EventKind::Switch | EventKind::Failable) => {
                    let Some(term) = term(event.term) else { continue };
                    let Some((way, held, others)) = trace.decided(event, term, places) else { continue };
                    if trace.says(held, &mut known) {
                        let before = trace.path.len();
                        let place = event.place;
                        trace.decisions.push(Decision { place, way, at, before, others, stack, hash });
                        trace.path.push(&trace.pool, held);
                    }
                    hash = mixed(hash, event.place, way);
                }
                _ => {}
            }
        }
        trace.events = record.events;
        trace
    }

    /// Whether a constraint says something that the path before it did not.
    fn says(&self, held: Term, known: &mut FxHashSet<Term>) -> bool {
        self.pool.value(held).is_none() && known.insert(held)
    }

    /// Out of a function: what a jump left behind is left too.
    fn left(&self, from: Option<StackId>, function: PlaceId) -> Option<StackId> {
        let mut stack = from;
        while let Some(StackId(id)) = stack {
            let frame = self.stacks[id as usize];
            stack = frame.parent;
            if frame.function == function {
                return stack;
            }
        }
        from
    }

    /// The way that was taken, what held for it, and the other ways.
    fn decided(&mut self, event: &Event, term: Term, places: &Places) -> Option<(Way, Term, Vec<OtherWay>)> {
        let pool = &mut self.pool;
        let bit = |pool: &mut Pool, held: bool| if held { term } else { pool.not(term) };
        match EventKind::from_u8(event.kind)? {
            EventKind::Branch => {
                let (held, other) = (bit(pool, event.value & 1 == 1), bit(pool, event.value & 1 == 0));
                let taken = event.taken == 1;
                Some((Way::Branch(taken), held, vec![(Way::Branch(!taken), other)]))
            }
            EventKind::Failable => {
                let failed = event.taken == 1;
                let (held, other) = (bit(pool, failed), bit(pool, !failed));
                Some((Way::Fails(failed), held, vec![(Way::Fails(!failed), other)]))
            }
            EventKind::Switch => {
                let cases = &places.get(event.place)?.cases;
                let bits = pool.bits(term);
                let is = |pool: &mut Pool, value: u64| {
                    let constant = pool.constant(value, bits);
                    pool.eq(term, constant)
                };
                let mut ways = Vec::new();
                let mut none = pool.bit(true);
                for (index, &value) in cases.iter().enumerate() {
                    let equal = is(pool, value);
                    ways.push((Way::Case(index as u16 + 1), equal));
                    let unequal = pool.not(equal);
                    none = pool.and(none, unequal);
                }
                ways.push((Way::Case(0), none));
                let chosen = ways.iter().position(|&(way, _)| way == Way::Case(event.detail))?;
                let (way, held) = ways.remove(chosen);
                Some((way, held, ways))
            }
            _ => None,
        }
    }

    /// The functions around a decision, from the inside out.
    pub fn frames(&self, stack: Option<StackId>) -> impl Iterator<Item = PlaceId> + '_ {
        let frame = |id: Option<StackId>| id.map(|StackId(id)| self.stacks[id as usize]);
        std::iter::successors(frame(stack), move |at| frame(at.parent)).map(|frame| frame.function)
    }
}

/// The hash of a path that goes on this way.
pub fn mixed(hash: u64, place: PlaceId, way: Way) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    (hash, place, way).hash(&mut hasher);
    hasher.finish()
}

/// The terms that events name, with all they are made of, by number.
fn terms(pool: &mut Pool, nodes: &[Node], events: &[Event]) -> Vec<Option<Term>> {
    let mut wanted = vec![false; nodes.len()];
    for event in events.iter().filter(|event| has_term(event)) {
        if let Some(wanted) = wanted.get_mut(event.term as usize) {
            *wanted = true;
        }
    }
    for number in (1..nodes.len()).rev().filter(|_| !nodes.is_empty()) {
        if wanted[number] {
            for operand in operands(&nodes[number]) {
                // Operands come before what is made of them.
                if (operand as usize) < number {
                    wanted[operand as usize] = true;
                }
            }
        }
    }
    let mut terms = vec![None; nodes.len()];
    for number in 1..nodes.len() {
        if wanted[number] {
            terms[number] = term(pool, &nodes[number], &terms);
        }
    }
    terms
}

fn has_term(event: &Event) -> bool {
    use EventKind::*;
    matches!(EventKind::from_u8(event.kind), Some(Branch | Switch | Constraint | Failable)) && event.term != 0
}

fn operands(node: &Node) -> impl Iterator<Item = u32> {
    let count = Op::from_u8(node.op).map_or(0, Op::operands);
    [node.a, node.b, node.c].into_iter().take(count)
}

fn term(pool: &mut Pool, node: &Node, terms: &[Option<Term>]) -> Option<Term> {
    let bits = u32::from(node.bits);
    let known = |number: u32| terms.get(number as usize).copied().flatten();
    let (a, b) = (known(node.a), known(node.b));
    let binary = |pool: &mut Pool, op| Some(pool.binary(op, a?, b?));
    let compare = |pool: &mut Pool, op| Some(pool.compare(op, a?, b?));
    match Op::from_u8(node.op)? {
        Op::Const => Some(pool.constant(node.value(), bits)),
        Op::Input => Some(pool.input(input::id(node.imm, node.a), bits)),
        Op::Add => binary(pool, Binary::Add),
        Op::Sub => binary(pool, Binary::Sub),
        Op::Mul => binary(pool, Binary::Mul),
        Op::UDiv => binary(pool, Binary::UDiv),
        Op::SDiv => binary(pool, Binary::SDiv),
        Op::URem => binary(pool, Binary::URem),
        Op::SRem => binary(pool, Binary::SRem),
        Op::And => binary(pool, Binary::And),
        Op::Or => binary(pool, Binary::Or),
        Op::Xor => binary(pool, Binary::Xor),
        Op::Shl => binary(pool, Binary::Shl),
        Op::LShr => binary(pool, Binary::LShr),
        Op::AShr => binary(pool, Binary::AShr),
        Op::Eq => compare(pool, Compare::Eq),
        Op::Ult => compare(pool, Compare::Ult),
        Op::Ule => compare(pool, Compare::Ule),
        Op::Slt => compare(pool, Compare::Slt),
        Op::Sle => compare(pool, Compare::Sle),
        Op::Not => Some(pool.not(a?)),
        Op::ZExt => Some(pool.zero_extend(a?, bits)),
        Op::SExt => Some(pool.sign_extend(a?, bits)),
        Op::Trunc => Some(pool.extract(a?, 0, bits)),
        Op::Concat => Some(pool.concat(a?, b?)),
        Op::Extract => Some(pool.extract(a?, node.imm.into(), bits)),
        Op::Ite => Some(pool.ite(a?, b?, known(node.c)?)),
    }
}
