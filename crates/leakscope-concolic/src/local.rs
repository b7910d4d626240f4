//! Questions with most of the input as it is. A checksum, a product or a hash is
//! hard to solve for all its bytes, but the run that is to be turned has bytes
//! already: a checksum is right if its own bytes are what the others give.

use std::collections::BTreeSet;

use leakscope_solve::{Answer, Compare, InputId, Model, Node, Pool, SolveError, Solver, Term, WhyUnknown};

use crate::numbers::side_by_side;

/// What is smaller is asked as it is, but for equations: what a side has alone is found first, and all
/// else kept that led to them.
const LIGHT: usize = 400;

/// What one term is made of, from where on it is left out at first.
const HEAVY: usize = 150;

/// Where all of a question is one side of an equation, so many bytes are found:
/// those that come last, as checksums do.
const LAST: usize = 4;

/// What a look at a part of a question shows.
#[derive(Debug)]
pub enum Locally {
    /// All of it holds for these values.
    Found(Model),
    /// These terms of it never hold together.
    Never(Vec<Term>),
    /// Not known: it may take more bytes.
    Open,
}

/// Asks whether all terms of `slice` can hold, its question last, with as much as
/// possible as `value` has it.
pub fn locally(
    pool: &mut Pool,
    slice: &[Term],
    value: impl Fn(InputId) -> u64,
    solver: &mut dyn Solver,
) -> Locally {
    let Some((&question, path)) = slice.split_last() else { return Locally::Open };
    let is_light = pool.cone(slice).len() < LIGHT;
    let ways = if is_light { own_bytes(pool, question) } else { first(pool, question) };
    if ways.is_empty() {
        return Locally::Open;
    }
    let inputs: Vec<BTreeSet<InputId>> = path.iter().map(|&term| inputs(pool, term)).collect();
    let all: BTreeSet<InputId> =
        inputs.iter().flatten().copied().chain(self::inputs(pool, question)).collect();
    let mut tried: Vec<BTreeSet<InputId>> = Vec::new();
    for mut free in ways {
        for (&term, inputs) in path.iter().zip(&inputs) {
            if !inputs.is_disjoint(&free) {
                free.extend(answering(pool, term, &free));
            }
        }
        if free.len() == all.len() || tried.contains(&free) {
            continue;
        }
        if let Some(model) = with_free(pool, slice, &all, &free, &value, solver) {
            return Locally::Found(model);
        }
        tried.push(free);
    }
    if is_light { Locally::Open } else { in_two_steps(pool, slice, &all, value, solver) }
}

/// Asks the same of one number at a time: bytes that stand side by side are free, the others as they
/// are, or those of one other number a small one. A product of numbers is easy where one is known.
pub fn by_numbers(
    pool: &mut Pool,
    slice: &[Term],
    value: impl Fn(InputId) -> u64,
    solver: &mut dyn Solver,
) -> Option<Model> {
    let question = *slice.last()?;
    let all: BTreeSet<InputId> = slice.iter().flat_map(|&term| inputs(pool, term)).collect();
    let numbers = side_by_side(&inputs(pool, question));
    if !(2..=MOST_NUMBERS).contains(&numbers.len()) {
        return None;
    }
    let mut solver = Counted { solver, left: FOR_NUMBERS };
    let mut with = |free: &BTreeSet<InputId>, value: &dyn Fn(InputId) -> u64| {
        with_free(pool, slice, &all, free, value, &mut solver)
    };
    let model = numbers.iter().find_map(|free| with(free, &value));
    let digits = |number: &BTreeSet<InputId>| number.iter().all(|&id| (value(id) as u8).is_ascii_digit());
    model.or_else(|| {
        SMALL.iter().find_map(|small| {
            let others = numbers.iter().filter(|number| digits(number));
            others.flat_map(|other| numbers.iter().map(move |free| (free, other))).find_map(
                |(free, other)| {
                    let set = digits_of(other, small).filter(|_| free != other)?;
                    with(free, &|id| set.get(&id).copied().unwrap_or_else(|| value(id)))
                },
            )
        })
    })
}

/// Other numbers are tried with these values.
const SMALL: [&str; 10] = ["1", "2", "3", "4", "5", "7", "8", "10", "12", "16"];

/// Of a question about more numbers, none is asked alone; and so much all may take, of which a
/// question that is answered takes one.
const MOST_NUMBERS: usize = 6;
const FOR_NUMBERS: u32 = 200;
const UNANSWERED: u32 = 50;

/// A solver that is asked only so much. Time would make answers depend on what else the machine does.
struct Counted<'s> {
    solver: &'s mut dyn Solver,
    left: u32,
}

impl Solver for Counted<'_> {
    fn check(&mut self, pool: &Pool, constraints: &[Term]) -> Result<Answer, SolveError> {
        if self.left == 0 {
            return Ok(Answer::Unknown(WhyUnknown::Limit));
        }
        let answer = self.solver.check(pool, constraints);
        let cost = if let Ok(Answer::Unknown(_)) = answer { UNANSWERED } else { 1 };
        self.left = self.left.saturating_sub(cost);
        answer
    }
}

/// Values for the bytes of a number, zeros before it, if there is room.
fn digits_of(number: &BTreeSet<InputId>, text: &str) -> Option<Model> {
    let zeros = number.len().checked_sub(text.len())?;
    let digits = std::iter::repeat_n(b'0', zeros).chain(text.bytes()).map(u64::from);
    Some(number.iter().copied().zip(digits).collect())
}

/// First without what is heavy, which may show that there is no answer; then that is
/// made right.
fn in_two_steps(
    pool: &mut Pool,
    slice: &[Term],
    all: &BTreeSet<InputId>,
    value: impl Fn(InputId) -> u64,
    solver: &mut dyn Solver,
) -> Locally {
    let (heavy, light): (Vec<Term>, Vec<Term>) =
        slice.iter().partition(|&&term| pool.cone(&[term]).len() > HEAVY);
    if heavy.is_empty() || light.last() != slice.last() {
        return Locally::Open;
    }
    let found = match solver.check(pool, &light) {
        Ok(Answer::Sat(found)) => found,
        Ok(Answer::Unsat) => return Locally::Never(light),
        _ => return Locally::Open,
    };
    let mut free = BTreeSet::new();
    for [a, b] in heavy.iter().filter_map(|&term| sides(pool, term)) {
        let (a, b) = (&a - &b, &b - &a);
        free.extend(
            [a, b].into_iter().filter(|side| !side.is_empty()).min_by_key(BTreeSet::len).unwrap_or_default(),
        );
    }
    let value = |input: InputId| found.get(&input).copied().unwrap_or_else(|| value(input));
    with_free(pool, slice, all, &free, &value, solver).map_or(Locally::Open, Locally::Found)
}

/// Values with which all holds, the free ones of `all` found, the others as they are.
fn with_free(
    pool: &mut Pool,
    slice: &[Term],
    all: &BTreeSet<InputId>,
    free: &BTreeSet<InputId>,
    value: &dyn Fn(InputId) -> u64,
    solver: &mut dyn Solver,
) -> Option<Model> {
    let fixed = |input| (!free.contains(&input)).then(|| value(input));
    let terms: Vec<Term> = pool.with_values(slice, fixed);
    let open: Vec<Term> = terms.into_iter().filter(|&term| pool.value(term) != Some(1)).collect();
    if open.iter().any(|&term| pool.value(term).is_some()) {
        return None;
    }
    let Ok(Answer::Sat(found)) = solver.check(pool, &open) else { return None };
    let found = |input: &InputId| found.get(input).copied().unwrap_or_else(|| value(*input));
    Some(all.iter().map(|input| (*input, found(input))).collect())
}

fn inputs(pool: &Pool, term: Term) -> BTreeSet<InputId> {
    pool.inputs(term).into_iter().map(|(input, _)| input).collect()
}

/// The sides of an equation, by what they depend on.
fn sides(pool: &Pool, term: Term) -> Option<[BTreeSet<InputId>; 2]> {
    match pool.node(term) {
        Node::Compare(Compare::Eq, a, b) => Some([inputs(pool, a), inputs(pool, b)]),
        _ => None,
    }
}

/// Bytes that only one side of an equation has, where both sides have some, the fewest first.
fn own_bytes(pool: &Pool, question: Term) -> Vec<BTreeSet<InputId>> {
    let Some([a, b]) = sides(pool, question).filter(|[a, b]| !a.is_empty() && !b.is_empty()) else {
        return Vec::new();
    };
    let mut ways = vec![&a - &b, &b - &a];
    ways.retain(|way| !way.is_empty());
    ways.sort_by_key(BTreeSet::len);
    ways
}

/// What may be found for a question, the fewest bytes first: what only one side
/// of it depends on, then all of it.
fn first(pool: &Pool, question: Term) -> Vec<BTreeSet<InputId>> {
    let all = inputs(pool, question);
    let mut ways: Vec<BTreeSet<InputId>> = Vec::new();
    if let Some([a, b]) = sides(pool, question) {
        ways.extend([&a - &b, &b - &a]);
    }
    ways.push(last(&all));
    ways.push(all);
    ways.retain(|way| !way.is_empty());
    ways.sort_by_key(BTreeSet::len);
    ways
}

fn last(inputs: &BTreeSet<InputId>) -> BTreeSet<InputId> {
    inputs.iter().rev().take(LAST).copied().collect()
}

/// What can make an equation hold again after the free inputs were changed: its
/// other side.
fn answering(pool: &Pool, term: Term, free: &BTreeSet<InputId>) -> BTreeSet<InputId> {
    let Some([a, b]) = sides(pool, term) else { return BTreeSet::new() };
    match (a.is_disjoint(free), b.is_disjoint(free)) {
        (true, false) if !a.is_empty() => &a - &b,
        (false, true) if !b.is_empty() => &b - &a,
        (false, true) => last(&a),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use leakscope_solve::{Binary, Limits, Z3, holds};

    use super::*;

    /// A product of sums of squares, as no solver finds its parts.
    fn hash(pool: &mut Pool, bytes: &[Term]) -> Term {
        let mut state = pool.constant(0x9e37_79b9_7f4a_7c15, 64);
        for &byte in bytes {
            let wide = pool.zero_extend(byte, 64);
            state = pool.binary(Binary::Xor, state, wide);
            state = pool.binary(Binary::Mul, state, state);
            let (low, high) = (pool.extract(state, 0, 29), pool.extract(state, 29, 35));
            state = pool.concat(low, high);
            for by in [13, 7, 17] {
                let by = pool.constant(by, 64);
                let shifted = pool.binary(Binary::LShr, state, by);
                state = pool.binary(Binary::Xor, state, shifted);
                let rotated = pool.binary(Binary::Mul, state, wide);
                state = pool.binary(Binary::Add, state, rotated);
            }
        }
        pool.extract(state, 5, 16)
    }

    #[test]
    fn of_a_product_one_number_is_found() {
        let mut pool = Pool::default();
        let mut number = |first: u64, digits: u64, slice: &mut Vec<Term>| {
            let (zero, nine) = (pool.constant(b'0'.into(), 8), pool.constant(b'9'.into(), 8));
            let (ten, less) = (pool.constant(10, 64), pool.constant(0u64.wrapping_sub(b'0'.into()), 64));
            let mut number = pool.constant(0, 64);
            for at in first..first + digits {
                let byte = pool.input(InputId(at), 8);
                slice.extend([pool.ule(zero, byte), pool.ule(byte, nine)]);
                let wide = pool.zero_extend(byte, 64);
                let digit = pool.binary(Binary::Add, wide, less);
                number = pool.binary(Binary::Mul, number, ten);
                number = pool.binary(Binary::Add, number, digit);
            }
            number
        };
        let mut slice = Vec::new();
        let (a, b) = (number(0, 6, &mut slice), number(10, 6, &mut slice));
        let (product, wanted) = (pool.binary(Binary::Mul, a, b), pool.constant(7 * 99_991, 64));
        slice.push(pool.eq(product, wanted));
        let model = by_numbers(&mut pool, &slice, |_| b'1'.into(), &mut solver()).expect("an answer");
        assert!(holds(&pool, &slice, |input| model[&input]));
    }

    /// Tests run side by side, and memory counts for all together.
    fn solver() -> Z3 {
        Z3::new(Limits { memory: 4096, ..Limits::default() }).expect("Z3")
    }

    fn check(path: impl Fn(&mut Pool, &[Term]) -> Vec<Term>) {
        let mut pool = Pool::default();
        let bytes: Vec<Term> = (0..32).map(|at| pool.input(InputId(at), 8)).collect();
        let terms = path(&mut pool, &bytes);
        let value = |InputId(at): InputId| if at < 30 { 17 * at % 251 } else { 0 };
        let mut solver = solver();
        let Locally::Found(model) = locally(&mut pool, &terms, value, &mut solver) else {
            panic!("no answer");
        };
        assert!(holds(&pool, &terms, |input| model.get(&input).copied().unwrap_or_else(|| value(input))));
    }

    #[test]
    fn a_sum_is_made_right_by_its_own_bytes() {
        check(|pool, bytes| {
            let (sum, told) = (hash(pool, &bytes[..30]), pool.concat(bytes[30], bytes[31]));
            vec![pool.eq(sum, told)]
        });
    }

    #[test]
    fn what_is_closed_without_it_is_closed() {
        let mut pool = Pool::default();
        let bytes: Vec<Term> = (0..32).map(|at| pool.input(InputId(at), 8)).collect();
        let (sum, told) = (hash(&mut pool, &bytes[..30]), pool.concat(bytes[30], bytes[31]));
        let (nine, ten) = (pool.constant(9, 8), pool.constant(10, 8));
        let [sum, less, more] = [pool.eq(sum, told), pool.ult(bytes[3], nine), pool.ult(ten, bytes[3])];
        let mut solver = solver();
        let found = locally(&mut pool, &[sum, less, more], |_| 0, &mut solver);
        assert!(matches!(found, Locally::Never(terms) if terms == [less, more]));
    }

    #[test]
    fn and_stays_right_when_another_byte_is_changed() {
        check(|pool, bytes| {
            let (sum, told) = (hash(pool, &bytes[..30]), pool.concat(bytes[30], bytes[31]));
            let wanted = pool.constant(200, 8);
            vec![pool.eq(sum, told), pool.eq(bytes[9], wanted)]
        });
    }
}
