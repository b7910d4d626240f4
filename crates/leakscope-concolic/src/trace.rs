//! A run as the search reads it: the decisions that depended on the input,
//! with what must hold to decide otherwise, and all else in order.

use std::time::Duration;

use leakscope_solve::{Binary, Compare, Pool, Slices, Term};
use leakscope_wire::symbolic::{Event, EventKind, Node, Op, What, Why, limits, source};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::input::{self, Names};
use crate::places::{PlaceId, Places};
use crate::schedule::Edge;
use crate::target::{Ended, ProgramOption, Record, TIMES_BITS};
use crate::texts::Compared;

#[derive(Debug, Default)]
pub struct Trace {
    pub pool: Pool,
    /// What held on this path, in order.
    pub path: Slices,
    pub decisions: Vec<Decision>,
    /// Values that were taken as they were: the positions of their constraints
    /// in `path`, with where that was.
    pub pinned: Vec<(usize, PlaceId)>,
    /// All that happened, until the search has read it.
    pub events: Vec<Event>,
    /// Frames around a decision, from the inside out by `parent`.
    pub stacks: Vec<Frame>,
    /// Where values that depend on the input were taken as they were, without
    /// a constraint.
    pub notes: Vec<(PlaceId, What)>,
    pub names: Names,
    pub reads_arguments: bool,
    pub reads_stdin: bool,
    pub ended: Ended,
    /// Whether `main` had returned when the program ended by itself.
    pub has_returned: bool,
    pub limits: u32,
    pub spent: Duration,
    pub coverage: Vec<u32>,
    pub options: Vec<ProgramOption>,
    pub compared: Vec<Compared>,
    /// Hashes of the path behind each decision.
    pub paths: Vec<u64>,
}

/// A branch, switch, call that can fail or library function, where the input
/// decided; or a value that was taken as it was.
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
    /// How often the function is on the stack, up to a few times.
    pub recursion: u8,
    /// Where the function was called.
    pub call: PlaceId,
    /// Which of the things that one call of `getopt` found.
    pub step: u8,
    /// How often the run has come here before by the same call.
    pub lap: u8,
    /// Of the path up to here.
    pub hash: u64,
    /// How many ways are tried where there are many.
    pub most: u16,
    /// Whether what was decided before decided here, too.
    pub is_again: bool,
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
    /// One of many, after so many others: something that a library function
    /// found, or a value that was taken as it was.
    Other(u16),
}

/// So many things that one library call can find are tried, and so many values
/// of one address or size.
const MOST_FOUND: u16 = 64;
const MOST_VALUES: u16 = 24;

/// Set in the coverage for what a library function found: higher than any way.
const MATCHED: u32 = 1 << 31;

/// Frames that are looked at for recursion, and its depths that are told apart.
const DEEPEST: usize = 64;
const MOST_RECURSION: usize = 6;

/// Things that one call of `getopt` finds are told apart up to so many.
const MOST_STEPS: u8 = 32;

/// A run that hangs may decide millions of times: what comes after so many is not
/// turned, and its terms are not held.
const MOST_TOLD: usize = 1 << 17;

/// Times that a place is come to that are told apart.
const MOST_LAPS: u8 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackId(pub u32);

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub function: PlaceId,
    /// Where it was called, if that is known.
    pub call: PlaceId,
    pub parent: Option<StackId>,
}

impl Trace {
    pub fn new(record: Record, places: &Places) -> Trace {
        let is_input = |node: &Node| Op::from_u8(node.op) == Some(Op::Input);
        let is_stdin =
            |node: &Node| is_input(node) && [source::STDIN, source::STDIN_SIZE].contains(&node.imm);
        let is_argument = |node: &Node| {
            let whole = node.imm - node.imm % source::MOST;
            is_input(node) && (node.imm == source::ARGUMENT_COUNT || whole == source::ARGUMENT)
        };
        let mut trace = Trace {
            reads_stdin: record.nodes.iter().any(is_stdin),
            names: record.names,
            ended: record.ended,
            spent: record.spent,
            limits: record.limits,
            coverage: record.coverage,
            options: record.options,
            compared: record.compared,
            ..Trace::default()
        };
        let told = told(&record.events);
        if told < record.events.len() {
            trace.limits |= limits::EVENTS;
        }
        let terms = terms(&mut trace.pool, &record.nodes, &record.events[..told]);
        // All arguments have terms; those count that something was decided by.
        let mut decided = record.nodes.iter().zip(&terms).filter(|(_, term)| term.is_some());
        trace.reads_arguments = !trace.options.is_empty() || decided.any(|(node, _)| is_argument(node));
        let term = |number: u32| terms.get(number as usize).copied().flatten();
        let (mut known, mut again) = (FxHashSet::default(), FxHashSet::default());
        let (mut stack, mut hash) = (None, 0);
        let mut steps = Steps::default();
        let mut laps: FxHashMap<(PlaceId, PlaceId), u8> = FxHashMap::default();
        for (at, event) in record.events.iter().enumerate() {
            let decided = match EventKind::from_u8(event.kind) {
                Some(EventKind::Call) => {
                    trace.stacks.push(Frame { function: event.place, call: event.value, parent: stack });
                    stack = Some(StackId(trace.stacks.len() as u32 - 1));
                    None
                }
                Some(EventKind::Return) => {
                    stack = trace.left(stack, event.place);
                    None
                }
                Some(EventKind::Exit) => {
                    trace.has_returned = stack.is_none();
                    None
                }
                Some(EventKind::Note) => {
                    match What::from_u16(event.detail) {
                        Some(What::Matched) => {
                            trace.coverage.push(MATCHED | event.place << TIMES_BITS | event.value.min(15));
                        }
                        what => trace.notes.extend(what.map(|what| (event.place, what))),
                    }
                    None
                }
                Some(EventKind::Option) => {
                    steps.are_options = true;
                    None
                }
                _ if at >= told => None,
                Some(EventKind::Constraint) => term(event.term).map(|held| trace.one_of_many(event, held)),
                _ => term(event.term).and_then(|term| trace.decided(event, term, places)),
            };
            let Some(Decided { way, held, others, most }) = decided else { continue };
            let step = steps.next(event);
            let call = trace.frames(stack).next().map_or(0, |frame| frame.call);
            let next = laps.entry((call, event.place)).or_default();
            let lap = *next;
            *next = MOST_LAPS.min(lap + 1);
            let is_open = trace.pool.value(held).is_none();
            let is_new = is_open && known.insert(held);
            // What was decided before decides here again. No input turns this alone, but one may
            // be guessed: for each place once.
            let is_other = !matches!(way, Way::Other(_) | Way::Fails(_));
            if is_new || is_open && is_other && again.insert(event.place) {
                let before = trace.path.len();
                let place = event.place;
                if most == MOST_VALUES {
                    trace.pinned.push((before, place));
                }
                let recursion = trace.recursion(stack);
                trace.decisions.push(Decision {
                    place,
                    way,
                    at,
                    before,
                    others,
                    stack,
                    recursion,
                    call,
                    step,
                    lap,
                    hash,
                    most,
                    is_again: !is_new,
                });
                if is_new {
                    trace.path.push(&trace.pool, held);
                }
            }
            if let Way::Other(_) = way {
                // What held tells ways apart, not their number.
                hash = mixed(hash ^ trace.pool.digest(held), event.place, Way::Other(0));
            } else {
                hash = mixed(hash, event.place, way);
            }
            trace.paths.push(hash);
        }
        trace.events = record.events;
        trace
    }

    /// One of many ways: which others there are, only the runs can show.
    fn one_of_many(&mut self, event: &Event, held: Term) -> Decided {
        let most = if Why::from_u16(event.detail) == Some(Why::Model) { MOST_FOUND } else { MOST_VALUES };
        let other = self.pool.not(held);
        Decided { way: Way::Other(0), held, others: vec![(Way::Other(1), other)], most }
    }

    fn recursion(&self, stack: Option<StackId>) -> u8 {
        let mut frames = self.frames(stack).take(DEEPEST);
        let Some(own) = frames.next() else { return 0 };
        frames.filter(|frame| frame.function == own.function).take(MOST_RECURSION).count() as u8
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
    fn decided(&mut self, event: &Event, term: Term, places: &Places) -> Option<Decided> {
        let pool = &mut self.pool;
        let mut either = |is_true: bool, way: fn(bool) -> Way, taken: bool| {
            let negated = pool.not(term);
            let (held, other) = if is_true { (term, negated) } else { (negated, term) };
            Some(Decided { way: way(taken), held, others: vec![(way(!taken), other)], most: 1 })
        };
        let taken = event.taken == 1;
        match EventKind::from_u8(event.kind)? {
            EventKind::Branch => either(event.value & 1 == 1, Way::Branch, taken),
            EventKind::Failable => {
                let mut decided = either(taken, Way::Fails, taken);
                if let Some(decided) = decided.as_mut().filter(|_| taken) {
                    // The run that it was made from did not fail here.
                    decided.others.clear();
                }
                decided
            }
            EventKind::Switch => {
                let cases = &places.get(event.place)?.cases;
                let bits = pool.bits(term);
                let mut ways = Vec::new();
                let mut none = pool.bit(true);
                for (index, &value) in cases.iter().enumerate() {
                    let constant = pool.constant(value, bits);
                    let equal = pool.eq(term, constant);
                    ways.push((Way::Case(index as u16 + 1), equal));
                    let unequal = pool.not(equal);
                    none = pool.and(none, unequal);
                }
                ways.push((Way::Case(0), none));
                let chosen = ways.iter().position(|&(way, _)| way == Way::Case(event.detail))?;
                let (way, held) = ways.remove(chosen);
                Some(Decided { way, held, others: ways, most: 1 })
            }
            _ => None,
        }
    }

    /// The functions around a decision, from the inside out.
    pub fn frames(&self, stack: Option<StackId>) -> impl Iterator<Item = Frame> + '_ {
        let frame = |id: Option<StackId>| id.map(|StackId(id)| self.stacks[id as usize]);
        std::iter::successors(frame(stack), move |at| frame(at.parent))
    }
}

impl Decision {
    /// About how often the run has come here before: the first times one by one, then by
    /// doublings.
    pub fn round(&self) -> u8 {
        match self.lap {
            lap @ 0..=3 => lap,
            lap => 2 + lap.ilog2() as u8,
        }
    }

    /// The edge of one of its ways. Which of many ways it is, only the path
    /// says.
    pub fn edge(&self, way: Way) -> Edge {
        let way = if let Way::Other(_) = way { Way::Other(0) } else { way };
        Edge { place: self.place, way, recursion: self.recursion, call: self.call, step: self.step }
    }
}

/// Counts what one call of `getopt` finds: several options. (What a search in a
/// text finds is the same thing at each of its bytes.)
#[derive(Default)]
struct Steps {
    /// Whether what comes next is found by the call that was told its options.
    are_options: bool,
    calls: FxHashSet<PlaceId>,
    place: PlaceId,
    count: u8,
}

impl Steps {
    fn next(&mut self, event: &Event) -> u8 {
        if std::mem::take(&mut self.are_options) {
            self.calls.insert(event.place);
        }
        let goes_on = event.place == self.place && self.calls.contains(&event.place);
        self.count = if goes_on { (self.count + 1).min(MOST_STEPS) } else { 0 };
        self.place = event.place;
        self.count
    }
}

/// What an event says of the input.
struct Decided {
    way: Way,
    held: Term,
    others: Vec<OtherWay>,
    most: u16,
}

/// The hash of a path that goes on this way.
pub fn mixed(hash: u64, place: PlaceId, way: Way) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    (hash, place, way).hash(&mut hasher);
    hasher.finish()
}

/// How many of the events are looked at for what the input decided.
fn told(events: &[Event]) -> usize {
    let decided = events.iter().enumerate().filter(|(_, event)| has_term(event));
    decided.map(|(at, _)| at).nth(MOST_TOLD).unwrap_or(events.len())
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
