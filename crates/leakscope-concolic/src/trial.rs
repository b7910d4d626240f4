//! Questions of a few bytes, answered by trying them: two that make up one
//! number in hexadecimal, or a hash that is to have a remainder. No solver turns a
//! product round, and what one value in thousands answers, thousands of tries find.

use leakscope_solve::{Evaluator, InputId, Model, Pool, Term};
use rustc_hash::FxHashMap;

/// Steps that all tries of one question may take: of two bytes together, and of more.
const STEPS_OF_PAIRS: usize = 1 << 20;
const STEPS_OF_CHANCE: usize = 1 << 25;

/// Of a question with more bytes than these, no two are tried alone.
const MOST_IN_PAIRS: usize = 4;

/// So many bytes of a question are changed at once.
const MOST_BYTES: usize = 6;

/// A question with more bytes is left to the solver.
const MOST_ASKED: usize = 64;

/// Values come in this order: those that mean least first.
fn values() -> impl Iterator<Item = u64> {
    let plain = b'a'..=b'z';
    let digits = b'0'..=b'9';
    digits.chain(plain).chain(b' '..b'0').chain(b':'..b'a').chain(0..b' ').chain(b'{'..=255).map(u64::from)
}

/// A question, and what stands around it.
pub struct Trial<'p> {
    pool: &'p Pool,
    question: Term,
    all: Vec<Term>,
    /// What the inputs are.
    now: FxHashMap<InputId, u64>,
    /// The bytes of the question, each with the values that it may have as far as it
    /// stands alone.
    bytes: Vec<(InputId, Vec<u64>)>,
}

impl<'p> Trial<'p> {
    /// `None` if there are not two bytes to try.
    pub fn new(
        pool: &'p Pool,
        constraints: &[Term],
        question: Term,
        value: impl Fn(InputId) -> u64,
        is_byte: impl Fn(InputId) -> bool,
    ) -> Option<Trial<'p>> {
        let asked = pool.inputs(question);
        let bytes = asked.iter().filter(|&&(id, bits)| bits == 8 && is_byte(id)).map(|&(id, _)| id);
        let bytes: Vec<InputId> = bytes.collect();
        if !(2..=MOST_ASKED).contains(&bytes.len()) {
            return None;
        }
        let mut alone: FxHashMap<InputId, Vec<Term>> = FxHashMap::default();
        let mut now: FxHashMap<InputId, u64> = FxHashMap::default();
        for &term in constraints.iter().chain([&question]) {
            let inputs = pool.inputs(term);
            now.extend(inputs.iter().map(|&(id, _)| (id, value(id))));
            if let [(id, 8)] = inputs[..] {
                alone.entry(id).or_default().push(term);
            }
        }
        let allowed = |id: InputId| {
            let own = Evaluator::new(pool, alone.get(&id).map(Vec::as_slice).unwrap_or_default());
            (id, values().filter(|&value| own.holds(|_| value)).collect::<Vec<_>>())
        };
        let bytes = bytes.into_iter().map(allowed).filter(|(_, values)| values.len() > 1).collect();
        let all = constraints.iter().copied().chain([question]).collect();
        Some(Trial { pool, question, all, now, bytes })
    }

    /// Tries two neighbouring bytes, all their values.
    pub fn pairs(&self) -> Option<Model> {
        if self.bytes.len() > MOST_IN_PAIRS {
            return None;
        }
        let asked = Evaluator::new(self.pool, &[self.question]);
        let every = Evaluator::new(self.pool, &self.all);
        let mut left = STEPS_OF_PAIRS;
        let mut tries = asked.tries(|id| self.now[&id]);
        for pair in self.bytes.windows(2) {
            let ((a, first), (b, second)) = (&pair[0], &pair[1]);
            left = left.checked_sub(first.len() * second.len() * asked.steps())?;
            let (at_a, at_b) = (tries.place(*a)?, tries.place(*b)?);
            for &x in first {
                tries.set(at_a, x);
                for &y in second {
                    tries.set(at_b, y);
                    if !tries.hold() {
                        continue;
                    }
                    left = left.checked_sub(every.steps())?;
                    if let Some(model) = self.answer(&every, &[(*a, x), (*b, y)]) {
                        return Some(model);
                    }
                }
            }
            tries.set(at_a, self.now[a]);
            tries.set(at_b, self.now[b]);
        }
        None
    }

    /// Tries several bytes by chance, the same ones each time.
    pub fn chance(&self) -> Option<Model> {
        if self.bytes.is_empty() {
            return None;
        }
        let asked = Evaluator::new(self.pool, &[self.question]);
        let every = Evaluator::new(self.pool, &self.all);
        let mut left = STEPS_OF_CHANCE;
        let mut state = self.pool.digest(self.question).max(1);
        let mut below = |count: usize| {
            // The steps of xorshift64.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 16) as usize % count
        };
        let mut tries = asked.tries(|id| self.now[&id]);
        let mut changed: Vec<(InputId, u64)> = Vec::new();
        loop {
            left = left.checked_sub(asked.steps())?;
            for (id, _) in changed.drain(..) {
                tries.set(tries.place(id)?, self.now[&id]);
            }
            let start = below(self.bytes.len());
            for (id, values) in self.bytes.iter().cycle().skip(start).take(MOST_BYTES.min(self.bytes.len())) {
                let value = values[below(values.len())];
                changed.push((*id, value));
                tries.set(tries.place(*id)?, value);
            }
            if tries.hold() {
                left = left.checked_sub(every.steps())?;
                if let Some(model) = self.answer(&every, &changed) {
                    return Some(model);
                }
            }
        }
    }

    /// The values of all inputs with these changed, if every constraint holds then.
    fn answer(&self, every: &Evaluator, changed: &[(InputId, u64)]) -> Option<Model> {
        let with = |id: InputId| {
            let new = changed.iter().find(|(changed, _)| *changed == id);
            new.map_or_else(|| self.now[&id], |&(_, value)| value)
        };
        every.holds(with).then(|| self.now.keys().map(|&id| (id, with(id))).collect())
    }
}

#[cfg(test)]
mod tests {
    use leakscope_solve::{Binary, holds};

    use super::*;

    fn text(pool: &mut Pool, length: u64) -> Vec<Term> {
        (0..length).map(|at| pool.input(InputId(at), 8)).collect()
    }

    #[test]
    fn two_digits_make_a_number() {
        let mut pool = Pool::default();
        let bytes = text(&mut pool, 3);
        let (zero, sixteen) = (pool.constant(b'0'.into(), 8), pool.constant(16, 8));
        let digits: Vec<Term> = bytes.iter().map(|&byte| pool.binary(Binary::Sub, byte, zero)).collect();
        let high = pool.binary(Binary::Mul, digits[1], sixteen);
        let number = pool.binary(Binary::Add, high, digits[2]);
        let (nine, wanted) = (pool.constant(9, 8), pool.constant(0x42, 8));
        let constraints: Vec<Term> = digits.iter().map(|&digit| pool.ule(digit, nine)).collect();
        let question = pool.eq(number, wanted);
        let trial = Trial::new(&pool, &constraints, question, |_| b'0'.into(), |_| true).expect("bytes");
        let model = trial.pairs().expect("an answer");
        assert_eq!((model[&InputId(1)], model[&InputId(2)]), (b'4'.into(), b'2'.into()));
    }

    #[test]
    fn a_hash_has_a_remainder() {
        let mut pool = Pool::default();
        let bytes = text(&mut pool, 6);
        let mut hash = pool.constant(2_166_136_261, 32);
        let (prime, modulus, wanted) =
            (pool.constant(16_777_619, 32), pool.constant(9973, 32), pool.constant(1234, 32));
        for &byte in &bytes {
            let wide = pool.zero_extend(byte, 32);
            hash = pool.binary(Binary::Xor, hash, wide);
            hash = pool.binary(Binary::Mul, hash, prime);
        }
        let rest = pool.binary(Binary::URem, hash, modulus);
        let question = pool.eq(rest, wanted);
        let letter = pool.constant(b'z'.into(), 8);
        let constraints: Vec<Term> = bytes.iter().map(|&byte| pool.ule(byte, letter)).collect();
        let trial = Trial::new(&pool, &constraints, question, |_| b'a'.into(), |_| true).expect("bytes");
        let model = trial.chance().expect("an answer");
        let all: Vec<Term> = constraints.into_iter().chain([question]).collect();
        assert!(holds(&pool, &all, |id| model[&id]));
    }
}
