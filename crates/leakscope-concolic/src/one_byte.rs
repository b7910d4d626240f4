//! Questions that one byte answers, without a solver: most of what parsers
//! decide is about the next character.

use leakscope_solve::{Evaluator, InputId, Model, Pool, Term};

/// What one byte can do.
#[derive(Debug, PartialEq, Eq)]
pub enum OneByte {
    /// The question and all constraints hold with this byte, others as they
    /// were.
    Enough(Model),
    /// The question is about one byte, and no value of it will do.
    Never,
    /// Not known: it may take several bytes.
    Open,
}

/// Values come in this order: those that mean least first.
const PLAIN: &[u8] = b"a0 ";

/// So many values of a byte are tried against all constraints.
const MOST_TRIES: usize = 12;

/// Questions of more bytes, or that take more steps to try all their values,
/// are left to the solver.
const MOST_BYTES: usize = 16;
const MOST_STEPS: usize = 1 << 20;
const MOST_STEPS_OF_ALL: usize = 1 << 24;

/// What becomes of `question` if one byte of the input is another one.
/// `constraints` hold for the input; `is_byte` tells which inputs are bytes.
pub fn one_byte(
    pool: &Pool,
    constraints: &[Term],
    question: Term,
    value: impl Fn(InputId) -> u64,
    is_byte: impl Fn(InputId) -> bool,
) -> OneByte {
    let inputs = pool.inputs(question);
    let bytes: Vec<InputId> =
        inputs.iter().filter(|&&(id, bits)| bits == 8 && is_byte(id)).map(|&(id, _)| id).collect();
    let asked = Evaluator::new(pool, &[question]);
    if bytes.is_empty() || bytes.len() > MOST_BYTES || asked.steps() * 256 * bytes.len() > MOST_STEPS {
        return OneByte::Open;
    }
    let with = |byte: InputId, other: u64| {
        let value = &value;
        move |id: InputId| if id == byte { other } else { value(id) }
    };
    if let ([byte], 1) = (&bytes[..], inputs.len()) {
        let alone = |&term: &Term| pool.inputs(term).iter().all(|(id, _)| id == byte);
        let own: Vec<Term> = constraints.iter().copied().filter(alone).chain([question]).collect();
        let own = Evaluator::new(pool, &own);
        if own.steps() * 256 <= MOST_STEPS && !(0..256).any(|other| own.holds(with(*byte, other))) {
            return OneByte::Never;
        }
    }
    let all: Vec<Term> = constraints.iter().copied().chain([question]).collect();
    let mut every = None;
    for &byte in &bytes {
        let order = PLAIN.iter().copied().chain(b'!'..=b'~').chain(0..=255).map(u64::from);
        let now = value(byte);
        let mut tried = Vec::new();
        for other in order.filter(|&other| other != now) {
            if tried.contains(&other) || !asked.holds(with(byte, other)) {
                continue;
            }
            let every = every.get_or_insert_with(|| Evaluator::new(pool, &all));
            if every.steps() * MOST_TRIES * bytes.len() > MOST_STEPS_OF_ALL {
                return OneByte::Open;
            }
            if every.holds(with(byte, other)) {
                let inputs = all.iter().flat_map(|&term| pool.inputs(term));
                return OneByte::Enough(inputs.map(|(id, _)| (id, with(byte, other)(id))).collect());
            }
            tried.push(other);
            if tried.len() == MOST_TRIES {
                break;
            }
        }
    }
    OneByte::Open
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes 0 to 3 of a text, of which the first is asked about.
    fn check(now: &[u8], constraints: &[(usize, u8)], differs: Option<u8>, asked: u8, expected: OneByte) {
        let mut pool = Pool::default();
        let bytes: Vec<Term> = (0..now.len()).map(|at| pool.input(InputId(at as u64), 8)).collect();
        let mut terms = Vec::new();
        for &(at, most) in constraints {
            let most = pool.constant(most.into(), 8);
            terms.push(pool.ule(bytes[at], most));
        }
        if let Some(not) = differs {
            let not = pool.constant(not.into(), 8);
            let same = pool.eq(bytes[0], not);
            terms.push(pool.not(same));
        }
        let wanted = pool.constant(asked.into(), 8);
        let question = pool.eq(bytes[0], wanted);
        let value = |InputId(at): InputId| u64::from(now[at as usize]);
        assert_eq!(one_byte(&pool, &terms, question, value, |_| true), expected);
    }

    #[test]
    fn a_byte_is_enough_or_is_never_right() {
        let enough = |byte: u64| OneByte::Enough([(InputId(0), byte)].into_iter().collect());
        check(b"x", &[], None, b'y', enough(b'y'.into()));
        check(b"x", &[(0, b'z')], None, b'y', enough(b'y'.into()));
        check(b"0", &[(0, b'9')], None, b'y', OneByte::Never);
        check(b"x", &[], Some(b'y'), b'y', OneByte::Never);
    }
}
