//! From a decision of a run to an input for which it goes another way.

use std::time::Duration;

use leakscope_solve::{
    Answer, Evaluator, InputId, Limits, Model, Pool, Process, SolveError, Solver, Term, Z3,
};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::input::{Bounds, Input, Names, Part, part};
use crate::lengths::with_count;
use crate::local::{Locally, by_numbers, locally};
use crate::numbers::{Wanted, is_beyond_bytes, wanted};
use crate::one_byte::{OneByte, one_byte, plainest};
use crate::places::PlaceId;
use crate::schedule::Edge;
use crate::trace::{Trace, Way};
use crate::trial::Trial;

/// Who solves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SolverChoice {
    #[default]
    Z3,
    /// A program that reads SMT-LIB.
    Command(Vec<String>),
}

/// Two solvers: one has all the time that a question may take, the other is for what
/// is only worth a try.
pub struct Solvers {
    pub patient: Box<dyn Solver>,
    pub quick: Box<dyn Solver>,
}

/// What a try may take, some tenths of a second, counted so that it is the same on every machine.
const QUICK_WORK: u32 = 3_000_000;

/// A solver that does not count has this time for a try.
const QUICK: Duration = Duration::from_millis(700);

impl SolverChoice {
    pub fn start(&self, limits: Limits) -> Result<Solvers, SolveError> {
        let quick = Limits {
            time: match self {
                SolverChoice::Z3 => limits.time,
                SolverChoice::Command(_) => limits.time.min(QUICK),
            },
            work: if limits.work == 0 { QUICK_WORK } else { limits.work.min(QUICK_WORK) },
            ..limits
        };
        Ok(Solvers { patient: self.start_one(limits)?, quick: self.start_one(quick)? })
    }

    fn start_one(&self, limits: Limits) -> Result<Box<dyn Solver>, SolveError> {
        Ok(match self {
            SolverChoice::Z3 => Box::new(Z3::new(limits)?),
            SolverChoice::Command(command) => Box::new(Process::new(command.clone(), limits)),
        })
    }
}

/// A run that decisions can be turned in.
#[derive(Debug)]
pub struct Run {
    pub input: Input,
    pub trace: Trace,
    pub sizes: Sizes,
    /// Which of all runs it is.
    pub number: usize,
    /// Whether it went a way that no run before it went.
    pub is_new: bool,
    /// Edges that the run took which this one was guessed from, and this one
    /// did not: what else it must do as that one did.
    pub lost: FxHashSet<Edge>,
}

/// What may be said of counts and sizes, as terms of the run's pool.
#[derive(Debug, Default)]
pub struct Sizes {
    /// For each input that is one: not more than allowed, not much more than
    /// it is, hardly more than it is.
    limits: Vec<(InputId, [Term; 3])>,
}

/// What came of asking for another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Turned {
    To(Input),
    /// No input goes that way.
    Closed,
    /// No input goes that way after the decisions before it; these would if it
    /// came first.
    Guessed(Vec<Input>),
    /// Only a value that the run took as it was is in the way, and where that
    /// was; inputs that may go there all the same.
    Pinned(PlaceId, Vec<Input>),
    /// Only a larger input goes that way.
    Bounded,
    Unsolved,
    /// Not solved in a short time; something else is tried before it gets more.
    Postponed,
    Failed(String),
}

/// What a question is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// There is something else to try for it.
    Little,
    All,
}

/// So many bytes of a model are looked at, each with so many values, in so many steps.
const MOST_PLAIN: usize = 128;
const PLAIN_VALUES: usize = 6;
const MOST_PLAIN_STEPS: usize = 1 << 25;

/// So many values of one byte are guessed.
const MOST_VALUES: usize = 24;

/// Of a question with more bytes, none is taken for a count.
const MOST_COUNTS: usize = 4;

/// So many numbers of one question are made longer or negative, each alone.
const MOST_NUMBERS: usize = 2;

/// So many inputs are guessed in which one number has another value.
const MOST_GUESSED_VALUES: usize = 4;

fn is_byte(id: InputId) -> bool {
    matches!(part(id), Some(Part::Stdin(_) | Part::Argument(..) | Part::File(..) | Part::Variable(..)))
}

/// How long environment variables may get.
const VARIABLE_BYTES: usize = 32;

impl Run {
    pub fn new(input: Input, mut trace: Trace, bounds: &Bounds) -> Run {
        let sizes = Sizes::new(&mut trace, &input, bounds);
        Run { input, trace, sizes, number: 0, is_new: false, lost: FxHashSet::default() }
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let Trace { pool, path, decisions, stacks, coverage, paths, .. } = &self.trace;
        let others: usize = decisions.iter().map(|decision| size_of_val(decision.others.as_slice())).sum();
        let lists = size_of_val(decisions.as_slice())
            + size_of_val(stacks.as_slice())
            + size_of_val(coverage.as_slice())
            + size_of_val(paths.as_slice());
        pool.bytes() + path.bytes() + others + lists
    }

    /// Edges of the decisions before one of them.
    pub fn edges_before(&self, decision: usize) -> impl Iterator<Item = Edge> + '_ {
        self.trace.decisions[..decision].iter().map(|decision| decision.edge(decision.way))
    }

    /// An input for which decision `number` goes its `other`-th other way, and
    /// none of those in `seen`, terms of a pool. `pool` is the run's, or one that began as it;
    /// `recent` are models of other questions, which are tried first; `effort` is asked for what is hard.
    pub fn turn(
        &self,
        pool: &mut Pool,
        (number, other): (usize, usize),
        (held, seen): (&Pool, &[Term]),
        solvers: &mut Solvers,
        recent: &[Model],
        effort: impl FnOnce(&Pool) -> Effort,
    ) -> (Turned, Option<Model>) {
        let trace = &self.trace;
        let decision = &trace.decisions[number];
        let mut question = decision.others[other].1;
        for &seen in seen {
            let held = pool.import(held, seen);
            let not_held = pool.not(held);
            question = pool.and(question, not_held);
        }
        if pool.value(question) == Some(0) {
            return (Turned::Closed, None);
        }
        let slice = trace.path.of(pool, decision.before, question);
        let value = |id| self.input.value(id, &trace.names);
        let bounded = self.sizes.with(pool, &slice, 0);
        match one_byte(pool, &bounded[..bounded.len() - 1], question, value, is_byte) {
            OneByte::Enough(model) => {
                return (Turned::To(self.input.with(&model, &trace.names)), Some(model));
            }
            OneByte::Never if bounded.len() == slice.len() && !self.is_pinned(&slice) => {
                return (Turned::Closed, None);
            }
            _ => {}
        }
        let trial = |pool: &Pool, tries: fn(&Trial<'_>) -> Option<Model>| {
            let trial = Trial::new(pool, &bounded[..bounded.len() - 1], question, value, is_byte)?;
            let model = tries(&trial)?;
            Some((Turned::To(self.input.with(&model, &trace.names)), Some(model)))
        };
        if let Some(found) = trial(pool, |trial| trial.pairs()) {
            return found;
        }
        if let Some(model) = self.by_value(pool, &bounded, question) {
            return (Turned::To(self.input.with(&model, &trace.names)), Some(model));
        }
        match locally(pool, &bounded, value, solvers.quick.as_mut()) {
            Locally::Found(model) => {
                let model = self.plainer(pool, &slice, model);
                return (Turned::To(self.input.with(&model, &trace.names)), Some(model));
            }
            Locally::Never(light) => {
                let light: Vec<Term> = light.into_iter().filter(|term| slice.contains(term)).collect();
                return (self.why_closed(pool, &light, solvers.quick.as_mut()), None);
            }
            Locally::Open => {}
        }
        let mut answer = self.solve(pool, &slice, solvers.quick.as_mut(), recent);
        if let Ok(Answer::Unknown(_)) = answer {
            if effort(pool) == Effort::Little {
                return (Turned::Postponed, None);
            }
            if let Some(model) = by_numbers(pool, &bounded, value, solvers.quick.as_mut()) {
                return (Turned::To(self.input.with(&model, &trace.names)), Some(model));
            }
            if let Some(found) = trial(pool, |trial| trial.chance()) {
                return found;
            }
            answer = self.solve(pool, &slice, solvers.patient.as_mut(), recent);
        }
        let solver = solvers.patient.as_mut();
        match answer {
            Ok(Answer::Sat(model)) => {
                let model = self.plainer(pool, &slice, model);
                (Turned::To(self.input.with(&model, &trace.names)), Some(model))
            }
            Ok(Answer::Unsat) => (self.why_closed(pool, &slice, solver), None),
            Ok(Answer::Unknown(_)) => (Turned::Unsolved, None),
            Err(error) => (Turned::Failed(error.to_string()), None),
        }
    }

    /// Inputs for which the decision would go its other way if nothing before
    /// it stood in the way: a word that is to be another one may only have the
    /// wrong length, and a number too few digits.
    pub fn guess(
        &self,
        pool: &mut Pool,
        (number, other): (usize, usize),
        solvers: &mut Solvers,
    ) -> Vec<Input> {
        let (way, question) = self.trace.decisions[number].others[other];
        if !matches!(way, Way::Branch(_) | Way::Case(_)) || pool.value(question).is_some() {
            return Vec::new();
        }
        let names = &self.trace.names;
        let mut numbers = self.guess_digits(pool, question, solvers.quick.as_mut());
        if !numbers.is_empty() {
            return numbers;
        }
        numbers.extend(self.guess_numbers(pool, question));
        let alone = self.sizes.with(pool, &[question], 0);
        let Ok(Answer::Sat(model)) = solvers.patient.check(pool, &alone) else {
            return numbers;
        };
        let model = self.plainer(pool, &[question], model);
        let shorter = self.input.with_words(&model, names);
        shorter.into_iter().chain([self.input.with(&model, names)]).chain(numbers).collect()
    }

    /// Values with which all constraints hold, the question among them, where one number has another
    /// value.
    fn by_value(&self, pool: &Pool, constraints: &[Term], question: Term) -> Option<Model> {
        let value = |id| self.input.value(id, &self.trace.names);
        let found = wanted(pool, question, value);
        let all = (!found.is_empty()).then(|| Evaluator::new(pool, constraints))?;
        found
            .iter()
            .filter_map(Wanted::padded)
            .find(|model| all.holds(|id| model.get(&id).copied().unwrap_or_else(|| value(id))))
    }

    /// Inputs in which one number is what the question asks for, however many digits that has.
    pub fn guess_values(&self, pool: &Pool, question: Term) -> Vec<Input> {
        let names = &self.trace.names;
        let found = wanted(pool, question, |id| self.input.value(id, names));
        let with = |wanted: &Wanted| {
            let padded = wanted.padded().map(|model| self.input.with(&model, names));
            let replaced = self.input.with_number(*wanted.digits.first()?, wanted.value, names);
            Some(replaced.into_iter().chain(padded))
        };
        let mut inputs: Vec<Input> = found.iter().filter_map(with).flatten().collect();
        inputs.dedup();
        inputs.truncate(MOST_GUESSED_VALUES);
        inputs
    }

    /// An input for which a question about digits holds, with digits in their places.
    fn guess_digits(&self, pool: &mut Pool, question: Term, solver: &mut dyn Solver) -> Vec<Input> {
        let value = |id: InputId| self.input.value(id, &self.trace.names);
        let asked = pool.inputs(question);
        let is_digit = |&(id, bits): &(InputId, u32)| bits == 8 && (value(id) as u8).is_ascii_digit();
        if asked.len() < 2 || !asked.iter().all(is_digit) {
            return Vec::new();
        }
        let (zero, nine) = (pool.constant(b'0'.into(), 8), pool.constant(b'9'.into(), 8));
        let mut terms: Vec<Term> = Vec::new();
        for (id, _) in asked {
            let byte = pool.input(id, 8);
            terms.extend([pool.ule(zero, byte), pool.ule(byte, nine)]);
        }
        terms.push(question);
        let model = match solver.check(pool, &terms) {
            Ok(Answer::Sat(model)) => Some(model),
            Ok(Answer::Unknown(_)) => by_numbers(pool, &terms, value, solver),
            _ => None,
        };
        model.into_iter().map(|model| self.input.with(&model, &self.trace.names)).collect()
    }

    /// Inputs in which numbers that a question is about are longer, or negative.
    pub fn guess_numbers(&self, pool: &Pool, question: Term) -> Vec<Input> {
        let inputs = pool.inputs(question);
        let changed = |change: fn(&Input, InputId, &Names) -> Option<Input>| {
            let mut numbers: Vec<Input> =
                inputs.iter().filter_map(|&(id, _)| change(&self.input, id, &self.trace.names)).collect();
            numbers.dedup();
            numbers.truncate(MOST_NUMBERS);
            numbers
        };
        let mut numbers = changed(Input::with_longer_number);
        if numbers.is_empty() && is_beyond_bytes(pool, question) {
            numbers = changed(Input::with_longer_hex_number);
        }
        numbers.extend(changed(Input::with_negative_number));
        numbers
    }

    /// Inputs for which the decision would go its other way with another number in one byte, if that is
    /// a count, and so much of what it counts.
    pub fn guess_count(&self, pool: &Pool, (number, other): (usize, usize), bounds: &Bounds) -> Vec<Input> {
        let question = self.trace.decisions[number].others[other].1;
        let asked = pool.inputs(question);
        if asked.len() > MOST_COUNTS {
            return Vec::new();
        }
        let evaluator = Evaluator::new(pool, &[question]);
        let with = |byte: InputId| {
            let names = &self.trace.names;
            let value =
                move |id: InputId, new: u64| if id == byte { new } else { self.input.value(id, names) };
            with_count(&self.input, byte, (names, bounds), |new| evaluator.holds(|id| value(id, new)))
        };
        asked.into_iter().filter(|&(_, bits)| bits == 8).flat_map(|(byte, _)| with(byte)).collect()
    }

    /// Inputs for which a decision about one byte goes its other way with one of the
    /// `values`, and all holds that other bytes have to do with it: `[=a=]` for `[:a:]`,
    /// where what was decided of the byte alone stands in the way.
    pub fn guess_byte(
        &self,
        pool: &mut Pool,
        (number, other): (usize, usize),
        values: impl Fn(InputId) -> Vec<u64>,
        solver: &mut dyn Solver,
    ) -> Vec<Input> {
        let trace = &self.trace;
        let decision = &trace.decisions[number];
        let question = decision.others[other].1;
        let [(byte, 8)] = pool.inputs(question)[..] else { return Vec::new() };
        let is_alone = |pool: &Pool, term: Term| matches!(pool.inputs(term)[..], [(id, _)] if id == byte);
        let mut rest = trace.path.of(pool, decision.before, question);
        rest.retain(|&term| !is_alone(pool, term));
        let asked = Evaluator::new(pool, &[question]);
        let mut inputs = Vec::new();
        for value in values(byte).into_iter().filter(|&value| asked.holds(|_| value)).take(MOST_VALUES) {
            let (term, value) = (pool.input(byte, 8), pool.constant(value, 8));
            let wanted = pool.eq(term, value);
            let terms: Vec<Term> = rest.iter().copied().chain([wanted]).collect();
            if let Ok(Answer::Sat(model)) = solver.check(pool, &self.sizes.with(pool, &terms, 0)) {
                let model = self.plainer(pool, &terms, model);
                inputs.push(self.input.with(&model, &trace.names));
            }
        }
        inputs
    }

    /// Within the bounds, and as small as a few questions find.
    fn solve(
        &self,
        pool: &Pool,
        slice: &[Term],
        solver: &mut dyn Solver,
        recent: &[Model],
    ) -> Result<Answer, SolveError> {
        let bounded = self.sizes.with(pool, slice, 0);
        let constraints = Evaluator::new(pool, &bounded);
        for model in recent.iter().rev() {
            let value = |input| match model.get(&input) {
                Some(&value) => value,
                None => self.input.value(input, &self.trace.names),
            };
            if constraints.holds(value) {
                let inputs = bounded.iter().flat_map(|&term| pool.inputs(term));
                return Ok(Answer::Sat(inputs.map(|(input, _)| (input, value(input))).collect()));
            }
        }
        let answer = solver.check(pool, &bounded)?;
        if bounded.len() == slice.len() || !matches!(answer, Answer::Sat(_)) {
            return Ok(answer);
        }
        for tightness in [2, 1] {
            let smaller = solver.check(pool, &self.sizes.with(pool, slice, tightness))?;
            if matches!(smaller, Answer::Sat(_)) {
                return Ok(smaller);
            }
        }
        Ok(answer)
    }

    /// The model with as many bytes as they were, or plain letters, as the
    /// constraints allow: solvers like zeros, and zeros end strings.
    fn plainer(&self, pool: &Pool, slice: &[Term], mut model: Model) -> Model {
        let bytes: Vec<InputId> = model.keys().copied().filter(|&id| is_byte(id)).collect();
        let constraints = Evaluator::new(pool, slice);
        let most = MOST_PLAIN.min(MOST_PLAIN_STEPS / PLAIN_VALUES / constraints.steps().max(1));
        for id in bytes.into_iter().take(most) {
            let found = model[&id];
            let before = self.input.value(id, &self.trace.names);
            let mut holds = |plain: u64| {
                model.insert(id, plain);
                let value = |input| match model.get(&input) {
                    Some(&value) => value,
                    None => self.input.value(input, &self.trace.names),
                };
                plain == found || constraints.holds(value)
            };
            // A zero is as good as no byte only where there is none now.
            let ends = before == 0
                && found != 0
                && !matches!(part(id), Some(Part::Argument(..) | Part::Variable(..)));
            let plain = if !ends && holds(before) { before } else { plainest(holds).unwrap_or(found) };
            model.insert(id, plain);
        }
        model
    }

    /// Whether a value that the run took as it was is among the constraints.
    fn is_pinned(&self, slice: &[Term]) -> bool {
        self.trace.pinned.iter().any(|&(position, _)| slice.contains(&self.trace.path.constraint(position)))
    }

    /// Whether a closed way is closed by the program, or only by our bounds or
    /// by what the run took as it was.
    fn why_closed(&self, pool: &Pool, slice: &[Term], solver: &mut dyn Solver) -> Turned {
        let is_sat = |solver: &mut dyn Solver, terms: &[Term]| match solver.check(pool, terms) {
            Ok(Answer::Sat(model)) => Some(model),
            _ => None,
        };
        let is_bounded = self.sizes.with(pool, slice, 0).len() > slice.len();
        if is_bounded && is_sat(solver, slice).is_some() {
            return Turned::Bounded;
        }
        let pin = |&(position, place): &(usize, PlaceId)| {
            let term = self.trace.path.constraint(position);
            slice.contains(&term).then_some((term, place))
        };
        let pinned: Vec<(Term, PlaceId)> = self.trace.pinned.iter().filter_map(pin).collect();
        let Some(&(_, place)) = pinned.first() else { return Turned::Closed };
        let free: Vec<Term> =
            slice.iter().copied().filter(|term| !pinned.iter().any(|(pinned, _)| pinned == term)).collect();
        match is_sat(solver, &self.sizes.with(pool, &free, 0)) {
            Some(model) => Turned::Pinned(place, vec![self.input.with(&model, &self.trace.names)]),
            None => Turned::Closed,
        }
    }
}

impl Sizes {
    fn new(trace: &mut Trace, input: &Input, bounds: &Bounds) -> Sizes {
        let mut sizes = Sizes::default();
        let mut seen = std::collections::BTreeMap::new();
        for index in 0..trace.path.len() {
            for (id, bits) in trace.pool.inputs(trace.path.constraint(index)) {
                seen.insert(id, bits);
            }
        }
        for decision in &trace.decisions {
            for &(_, term) in &decision.others {
                for (id, bits) in trace.pool.inputs(term) {
                    seen.insert(id, bits);
                }
            }
        }
        for (id, bits) in seen {
            let now = input.value(id, &trace.names);
            let most: u64 = match part(id) {
                Some(Part::ArgumentCount) => bounds.args + 1,
                Some(Part::StdinSize) => bounds.stdin_bytes,
                Some(Part::FileSize(_)) => bounds.file_bytes,
                Some(Part::Argument(_, at)) if at >= bounds.arg_bytes as usize => 0,
                Some(Part::Variable(_, at)) if at >= VARIABLE_BYTES => 0,
                _ => continue,
            }
            .into();
            let pool = &mut trace.pool;
            let term = pool.input(id, bits);
            let limit = |pool: &mut Pool, most: u64| {
                let limit = pool.constant(most, bits);
                pool.ule(term, limit)
            };
            let most = most.max(now);
            let mut limits = [most, most.min(now + 8), most.min(now + 1)].map(|most| limit(pool, most));
            if part(id) == Some(Part::ArgumentCount) {
                // The program's own name is always there.
                let one = pool.constant(1, bits);
                let some = pool.ule(one, term);
                limits = limits.map(|limit| pool.and(some, limit));
            }
            sizes.limits.push((id, limits));
        }
        sizes
    }

    /// The constraints with the bounds on what they speak of in front.
    fn with(&self, pool: &Pool, slice: &[Term], tightness: usize) -> Vec<Term> {
        let mut inputs: Vec<InputId> =
            slice.iter().flat_map(|&term| pool.inputs(term)).map(|(input, _)| input).collect();
        inputs.sort_unstable();
        let spoken_of = |(id, limits): &(InputId, [Term; 3])| {
            inputs.binary_search(id).is_ok().then_some(limits[tightness])
        };
        let mut terms: Vec<Term> = self.limits.iter().filter_map(spoken_of).collect();
        terms.retain(|&term| pool.value(term).is_none());
        terms.extend(slice);
        terms
    }
}
