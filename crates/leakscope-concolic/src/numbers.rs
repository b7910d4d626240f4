//! What numbers in digits must be for a question to hold, one at a time and all else as it is.
//!
//! Sums, products and differences of numbers are linear in each of them: two values of a number say
//! what the third must be, where a solver has to multiply by ten for each digit. The number found may
//! have more digits than stand there now; then it is for the text, not for the bytes.

use std::collections::BTreeSet;

use leakscope_solve::{Binary, Compare, Evaluator, InputId, Model, Node, Pool, Term, evaluate};

/// A number and what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The bytes that it has now.
    pub digits: Vec<InputId>,
    pub value: i64,
}

/// Of a question about more numbers, or larger ones, none is looked at.
const MOST_NUMBERS: usize = 8;
const MOST_DIGITS: usize = 12;

/// What a number may get to.
const LARGEST: i128 = 99_999_999_999;

/// Where a question is not linear, small values are tried, in so many steps.
const MOST_TRIED: u64 = 128;
const MOST_STEPS: usize = 1 << 17;

/// A question of more terms, as a checksum is, is not about numbers.
const MOST_TERMS: usize = 3000;

/// Values of single numbers for which the question holds, as far as one can tell.
pub fn wanted(pool: &Pool, question: Term, value: impl Fn(InputId) -> u64) -> Vec<Wanted> {
    let asked = pool.inputs(question);
    let is_digit = |&(id, bits): &(InputId, u32)| bits == 8 && (value(id) as u8).is_ascii_digit();
    let digits: BTreeSet<InputId> = asked.iter().filter(|asked| is_digit(asked)).map(|&(id, _)| id).collect();
    let numbers = side_by_side(&digits);
    if digits.is_empty() || numbers.len() > MOST_NUMBERS || pool.cone(&[question]).len() > MOST_TERMS {
        return Vec::new();
    }
    let mut found = Vec::new();
    for digits in numbers.into_iter().filter(|digits| digits.len() <= MOST_DIGITS) {
        let digits: Vec<InputId> = digits.into_iter().collect();
        let with = |number: u64| {
            let model = of_digits(&digits, number);
            let value = &value;
            move |id: InputId| model.get(&id).copied().unwrap_or_else(|| value(id))
        };
        let lines: Vec<Line> = conditions(pool, question)
            .into_iter()
            .filter_map(|condition| {
                let at = |number: u64| condition.distance(pool, with(number));
                let line = Line::new([at(0), at(1), at(2), at(9)], &condition)?;
                // Of two digits the first counts ten times as much; in a checksum it does not.
                let is_number = digits.len() < 2 || at(10) == line.at(10);
                is_number.then_some(line)
            })
            .collect();
        let answers = lines.iter().filter_map(Line::answer);
        let solved = { answers }.find(|&answer| lines.iter().all(|line| line.is_right(answer.into())));
        let values = match solved {
            Some(solved) => Some(solved),
            None => {
                let asked = Evaluator::new(pool, &[question]);
                let most = MOST_TRIED.min((MOST_STEPS / asked.steps().max(1)) as u64);
                let most = most.min(10u64.saturating_pow(digits.len() as u32));
                (0..most).find(|&number| asked.holds(with(number))).map(|number| number as i64)
            }
        };
        found.extend(values.map(|value| Wanted { digits, value }));
    }
    found
}

/// Whether a question compares with a number that no single byte is: what letters make up is a number then.
pub fn is_beyond_bytes(pool: &Pool, question: Term) -> bool {
    let is_large = |term: Term| pool.value(term).is_some_and(|value| value > u64::from(u8::MAX));
    conditions(pool, question).iter().any(|condition| is_large(condition.left) || is_large(condition.right))
}

impl Wanted {
    /// Its value in the digits that it has, with zeros before it, if there is room.
    pub fn padded(&self) -> Option<Model> {
        let value = u64::try_from(self.value).ok()?;
        let fits = value < 10u64.pow(self.digits.len() as u32);
        fits.then(|| of_digits(&self.digits, value))
    }
}

fn of_digits(digits: &[InputId], mut number: u64) -> Model {
    let mut model = Model::new();
    for &digit in digits.iter().rev() {
        model.insert(digit, u64::from(b'0') + number % 10);
        number /= 10;
    }
    model
}

/// Inputs in groups that follow one another.
pub fn side_by_side(inputs: &BTreeSet<InputId>) -> Vec<BTreeSet<InputId>> {
    let mut groups: Vec<BTreeSet<InputId>> = Vec::new();
    for &input in inputs {
        let follows = |group: &BTreeSet<InputId>| group.last().is_some_and(|last| last.0 + 1 == input.0);
        match groups.last_mut().filter(|group| follows(group)) {
            Some(group) => drop(group.insert(input)),
            None => groups.push(BTreeSet::from([input])),
        }
    }
    groups
}

/// That one side is to be less than the other, or the like.
struct Condition {
    compare: Compare,
    /// Whether it is to hold.
    holds: bool,
    left: Term,
    right: Term,
}

/// What a question says of numbers.
fn conditions(pool: &Pool, question: Term) -> Vec<Condition> {
    let (inner, holds) = match pool.node(question) {
        Node::Not(inner) => (inner, false),
        _ => (question, true),
    };
    match pool.node(inner) {
        Node::Compare(compare, left, right) => vec![Condition { compare, holds, left, right }],
        Node::Binary(Binary::And, a, b) if holds => {
            conditions(pool, a).into_iter().chain(conditions(pool, b)).collect()
        }
        _ => Vec::new(),
    }
}

impl Condition {
    /// The left side less the right one.
    fn distance(&self, pool: &Pool, value: impl Fn(InputId) -> u64) -> i128 {
        let side = |term: Term| {
            let (bits, value) = (pool.bits(term), evaluate(pool, term, &value));
            i128::from((value << (64 - bits)) as i64 >> (64 - bits))
        };
        side(self.left) - side(self.right)
    }
}

/// A condition whose distance is a linear function of one number.
struct Line {
    compare: Compare,
    holds: bool,
    zero: i128,
    slope: i128,
}

impl Line {
    /// From the distances for 0, 1, 2 and 9.
    fn new([zero, one, two, nine]: [i128; 4], condition: &Condition) -> Option<Line> {
        let slope = one - zero;
        let is_line = two == zero + 2 * slope && nine == zero + 9 * slope;
        is_line.then_some(Line { compare: condition.compare, holds: condition.holds, zero, slope })
    }

    fn at(&self, number: i128) -> i128 {
        self.zero + self.slope * number
    }

    fn is_right(&self, number: i128) -> bool {
        let distance = self.at(number);
        let found = match self.compare {
            Compare::Eq => distance == 0,
            Compare::Ult | Compare::Slt => distance < 0,
            Compare::Ule | Compare::Sle => distance <= 0,
        };
        found == self.holds
    }

    /// The value nearest to where the condition changes with which it holds.
    fn answer(&self) -> Option<i64> {
        let turns = (-self.zero).checked_div_euclid(self.slope)?;
        let is_answer = |value: &i128| value.abs() <= LARGEST && self.is_right(*value);
        let found = [0, 1, -1, 2, -2].into_iter().map(|step| turns + step).find(is_answer)?;
        i64::try_from(found).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of so many digits from this byte on.
    fn number(pool: &mut Pool, first: u64, digits: u64) -> Term {
        let (ten, less) = (pool.constant(10, 64), pool.constant(0u64.wrapping_sub(b'0'.into()), 64));
        let mut number = pool.constant(0, 64);
        for at in first..first + digits {
            let byte = pool.input(InputId(at), 8);
            let wide = pool.zero_extend(byte, 64);
            let digit = pool.binary(Binary::Add, wide, less);
            number = pool.binary(Binary::Mul, number, ten);
            number = pool.binary(Binary::Add, number, digit);
        }
        number
    }

    fn check(question: impl Fn(&mut Pool, Term, Term, Term) -> Term, expected: &[(u64, i64)]) {
        let mut pool = Pool::default();
        // 11, 1 and 111.
        let [a, b, c] = [(0, 2), (10, 1), (20, 3)].map(|(first, digits)| number(&mut pool, first, digits));
        let question = question(&mut pool, a, b, c);
        let found = wanted(&pool, question, |_| b'1'.into());
        let found: Vec<(u64, i64)> = found.iter().map(|wanted| (wanted.digits[0].0, wanted.value)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn one_number_is_what_the_others_ask_for() {
        // 11 * 1 == 111 cannot be by the first number.
        check(
            |pool, a, b, c| {
                let product = pool.binary(Binary::Mul, a, b);
                pool.eq(product, c)
            },
            &[(0, 111), (20, 11)],
        );
        check(
            |pool, a, b, c| {
                let sum = pool.binary(Binary::Add, a, b);
                let less = pool.ult(c, sum);
                let thousand = pool.constant(1000, 64);
                let more = pool.ult(thousand, sum);
                pool.and(more, less)
            },
            &[(0, 1000), (10, 990)],
        );
        check(
            |pool, a, _, c| {
                let sum = pool.binary(Binary::Add, a, c);
                let (seven, three) = (pool.constant(7, 64), pool.constant(3, 64));
                let rest = pool.binary(Binary::URem, sum, seven);
                pool.eq(rest, three)
            },
            &[(0, 4), (20, 6)],
        );
    }

    #[test]
    fn a_value_has_zeros_before_it() {
        let wanted = |value| Wanted { digits: vec![InputId(4), InputId(5)], value };
        let model: Model = [(InputId(4), b'0'.into()), (InputId(5), b'7'.into())].into_iter().collect();
        assert_eq!(wanted(7).padded(), Some(model));
        assert_eq!(wanted(100).padded(), None);
        assert_eq!(wanted(-1).padded(), None);
    }
}
