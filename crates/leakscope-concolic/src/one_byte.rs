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

/// Stand where any letter does, any digit, and any space.
const PLAIN: [u8; 3] = *b"a0 ";

/// Stands where only small numbers do, as a length or a count.
const SMALL: u8 = 2;

/// Signs of texts, some of which stand where no letter does and a space may.
const SIGNS: &[u8] = b"!.=_~";

/// Of the values that hold, one that means little: a letter, a digit, a space; a small number where no
/// sign of a text holds and that does. A byte that is at most 32 is no space, and not 32 either: what it
/// counts must be there.
pub fn plainest(mut holds: impl FnMut(u64) -> bool) -> Option<u64> {
    let [letter, digit, space] = PLAIN;
    let mut first = |values: &[u8]| values.iter().map(|&value| u64::from(value)).find(|&value| holds(value));
    if let Some(value) = first(&[letter, digit]) {
        return Some(value);
    }
    let is_text = first(SIGNS).is_some();
    if is_text { first(&[space]) } else { first(&[SMALL, space]) }
}

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
        let plainest = plainest(|value| asked.holds(with(byte, value)));
        let order =
            plainest.into_iter().chain(PLAIN.into_iter().chain(b'!'..=b'~').chain(0..=255).map(u64::from));
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
    fn what_is_only_small_is_a_count() {
        let check = |holds: fn(u8) -> bool, expected: Option<u8>| {
            assert_eq!(plainest(|value| holds(value as u8)), expected.map(u64::from));
        };
        check(|_| true, Some(b'a'));
        check(|byte| byte < b'a', Some(b'0'));
        check(|byte| byte <= 32, Some(SMALL));
        check(|byte| byte.is_ascii_whitespace(), Some(b' '));
        check(|byte| !byte.is_ascii_alphanumeric(), Some(b' '));
        check(|byte| byte == b'(', None);
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
