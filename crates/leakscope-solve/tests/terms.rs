//! Simplified terms against an evaluation that knows no simplification, and
//! the two solvers against each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leakscope_solve::{
    Answer, Binary, Compare, InputId, Limits, Model, Node, Pool, Process, Solver, Term, WhyUnknown, Z3,
    evaluate, holds,
};
use proptest::prelude::*;

const BINARY: [Binary; 13] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::UDiv,
    Binary::SDiv,
    Binary::URem,
    Binary::SRem,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::Shl,
    Binary::LShr,
    Binary::AShr,
];
const COMPARE: [Compare; 5] = [Compare::Eq, Compare::Ult, Compare::Ule, Compare::Slt, Compare::Sle];
const INPUTS: usize = 3;

/// A term as a program makes it.
#[derive(Clone, Debug)]
enum Tree {
    Const(u64),
    Input(u32),
    Not(Box<Tree>),
    Binary(usize, Box<Tree>, Box<Tree>),
    Compare(usize, Box<Tree>, Box<Tree>),
    /// Widened by that many bits, as far as there is room.
    Widen(bool, u32, Box<Tree>),
    Extract(u32, u32, Box<Tree>),
    Concat(Box<Tree>, Box<Tree>),
    Ite(Box<Tree>, Box<Tree>, Box<Tree>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let edges = prop_oneof![Just(0u64), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u64>()];
    let leaf = prop_oneof![edges.prop_map(Tree::Const), (0..INPUTS as u32).prop_map(Tree::Input)];
    leaf.prop_recursive(6, 48, 3, |inner| {
        let boxed = inner.prop_map(Box::new).boxed();
        prop_oneof![
            boxed.clone().prop_map(Tree::Not),
            (0..13usize, boxed.clone(), boxed.clone()).prop_map(|(op, a, b)| Tree::Binary(op, a, b)),
            (0..5usize, boxed.clone(), boxed.clone()).prop_map(|(op, a, b)| Tree::Compare(op, a, b)),
            (any::<bool>(), 0..40u32, boxed.clone()).prop_map(|(sign, by, a)| Tree::Widen(sign, by, a)),
            (any::<u32>(), any::<u32>(), boxed.clone())
                .prop_map(|(low, bits, a)| Tree::Extract(low, bits, a)),
            (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Tree::Concat(a, b)),
            (boxed.clone(), boxed.clone(), boxed).prop_map(|(a, b, c)| Tree::Ite(a, b, c)),
        ]
    })
}

/// The simplified term, and the value that the plain reading of the tree has.
fn build(pool: &mut Pool, tree: &Tree, inputs: &[u64; INPUTS]) -> (Term, u64) {
    match tree {
        Tree::Const(value) => (pool.constant(*value, 8), value & 0xff),
        Tree::Input(index) => (pool.input(InputId((*index).into()), 8), inputs[*index as usize] & 0xff),
        Tree::Not(a) => {
            let (a, value) = build(pool, a, inputs);
            let all = all(pool.bits(a));
            (pool.not(a), !value & all)
        }
        Tree::Binary(op, a, b) => {
            let ((a, x), (b, y)) = same_width(pool, a, b, inputs);
            (pool.binary(BINARY[*op], a, b), plain(BINARY[*op], x, y, pool.bits(a)))
        }
        Tree::Compare(op, a, b) => {
            let ((a, x), (b, y)) = same_width(pool, a, b, inputs);
            let (sx, sy) = (with_sign(x, pool.bits(a)), with_sign(y, pool.bits(a)));
            let truth = [x == y, x < y, x <= y, sx < sy, sx <= sy][*op];
            (pool.compare(COMPARE[*op], a, b), truth.into())
        }
        Tree::Widen(sign, by, a) => {
            let (a, value) = build(pool, a, inputs);
            let bits = pool.bits(a);
            let wide = (bits + by).min(64);
            match sign {
                true => (pool.sign_extend(a, wide), with_sign(value, bits) as u64 & all(wide)),
                false => (pool.zero_extend(a, wide), value),
            }
        }
        Tree::Extract(low, count, a) => {
            let (a, value) = build(pool, a, inputs);
            let low = low % pool.bits(a);
            let count = count % (pool.bits(a) - low) + 1;
            (pool.extract(a, low, count), value >> low & all(count))
        }
        Tree::Concat(a, b) => {
            let ((high, x), (low, y)) = (build(pool, a, inputs), build(pool, b, inputs));
            let bits = pool.bits(low);
            if pool.bits(high) + bits > 64 {
                return (low, y);
            }
            (pool.concat(high, low), x << bits | y)
        }
        Tree::Ite(condition, a, b) => {
            let (condition, truth) = build(pool, condition, inputs);
            let (condition, truth) = (pool.extract(condition, 0, 1), truth & 1);
            let ((a, x), (b, y)) = same_width(pool, a, b, inputs);
            (pool.ite(condition, a, b), if truth == 1 { x } else { y })
        }
    }
}

fn same_width(pool: &mut Pool, a: &Tree, b: &Tree, inputs: &[u64; INPUTS]) -> ((Term, u64), (Term, u64)) {
    let ((a, x), (b, y)) = (build(pool, a, inputs), build(pool, b, inputs));
    let bits = pool.bits(a).max(pool.bits(b));
    ((pool.zero_extend(a, bits), x), (pool.zero_extend(b, bits), y))
}

fn plain(op: Binary, x: u64, y: u64, bits: u32) -> u64 {
    let wide = |value: u64| i128::from(with_sign(value, bits));
    let result = match op {
        Binary::Add => u128::from(x) + u128::from(y),
        Binary::Sub => (u128::from(x) + (1 << 64)) - u128::from(y),
        Binary::Mul => u128::from(x) * u128::from(y),
        Binary::UDiv => u128::from(x.checked_div(y).unwrap_or(u64::MAX)),
        Binary::URem => u128::from(x.checked_rem(y).unwrap_or(x)),
        Binary::SDiv if y == 0 => (if wide(x) < 0 { 1i128 } else { -1 }) as u128,
        Binary::SDiv => (wide(x) / wide(y)) as u128,
        Binary::SRem if y == 0 => x.into(),
        Binary::SRem => (wide(x) % wide(y)) as u128,
        Binary::And => (x & y).into(),
        Binary::Or => (x | y).into(),
        Binary::Xor => (x ^ y).into(),
        Binary::Shl => u128::from(x).checked_shl(y.min(127) as u32).unwrap_or(0),
        Binary::LShr => u128::from(x).checked_shr(y.min(127) as u32).unwrap_or(0),
        Binary::AShr => (wide(x) >> y.min(127)) as u128,
    };
    result as u64 & all(bits)
}

fn all(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

fn with_sign(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

fn of(model: &Model) -> impl Fn(InputId) -> u64 + '_ {
    |input| model.get(&input).copied().unwrap_or(0)
}

/// The command line of Z3's own executable, the second solver of these tests.
fn process() -> Process {
    Process::new(vec!["z3".to_owned(), "-in".to_owned()], Limits::default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn a_simplified_term_has_the_value_of_the_plain_one(tree in trees(), inputs in any::<[u64; INPUTS]>()) {
        let mut pool = Pool::default();
        let (term, expected) = build(&mut pool, &tree, &inputs);
        prop_assert_eq!(evaluate(&pool, term, |input| inputs[input.0 as usize]), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn both_solvers_agree_and_their_models_hold(a in trees(), b in trees()) {
        let mut pool = Pool::default();
        let constraints: Vec<Term> = [a, b]
            .iter()
            .map(|tree| {
                let (term, _) = build(&mut pool, tree, &[0; INPUTS]);
                pool.extract(term, 0, 1)
            })
            .collect();
        let mut answers = Vec::new();
        let mut solvers: [Box<dyn Solver>; 2] =
            [Box::new(Z3::new(Limits::default()).expect("Z3 is there")), Box::new(process())];
        for solver in &mut solvers {
            // The second constraint alone, then both: a level is kept or not.
            for asked in [&constraints[1..], &constraints[..], &constraints[..1]] {
                let answer = solver.check(&pool, asked).expect("answers");
                if let Answer::Sat(model) = &answer {
                    prop_assert!(holds(&pool, asked, of(model)));
                }
                answers.push(matches!(answer, Answer::Sat(_)));
            }
        }
        prop_assert_eq!(&answers[..3], &answers[3..]);
    }
}

/// A hash that no short work inverts.
fn hard(pool: &mut Pool) -> Term {
    let mut hash = pool.constant(0x9e37_79b9_7f4a_7c15, 64);
    for index in 0..16 {
        let input = pool.input(InputId(index), 32);
        let wide = pool.zero_extend(input, 64);
        let mixed = pool.binary(Binary::Xor, hash, wide);
        let product = pool.binary(Binary::Mul, mixed, mixed);
        hash = pool.binary(Binary::URem, product, mixed);
    }
    let wanted = pool.constant(0x1234_5678_9abc_def1, 64);
    pool.eq(hash, wanted)
}

/// As programs without a table compute it: each bit has a choice.
#[test]
fn a_checksum_has_so_many_terms_as_steps() {
    const BYTES: u64 = 32;
    let mut pool = Pool::default();
    let (one, polynomial) = (pool.constant(1, 32), pool.constant(0xedb8_8320, 32));
    let mut sum = pool.constant(0xffff_ffff, 32);
    for byte in 0..BYTES {
        let input = pool.input(InputId(byte), 8);
        let wide = pool.zero_extend(input, 32);
        sum = pool.binary(Binary::Xor, sum, wide);
        for _ in 0..8 {
            let low = pool.binary(Binary::And, sum, one);
            let zero = pool.constant(0, 32);
            let is_even = pool.eq(low, zero);
            let half = pool.binary(Binary::LShr, sum, one);
            let other = pool.binary(Binary::Xor, half, polynomial);
            sum = pool.ite(is_even, half, other);
        }
    }
    assert!(pool.len() < 8 * BYTES as usize * 10, "{} terms", pool.len());
    // Of the bytes 0, 1, 2 and so on, without the last step that turns all bits.
    assert_eq!(evaluate(&pool, sum, |InputId(byte)| byte), 0x6ed9_8175);
}

#[test]
fn a_question_that_is_too_hard_ends_at_its_limit() {
    let mut pool = Pool::default();
    let question = hard(&mut pool);
    let short = Limits { time: Duration::from_millis(300), work: 200_000, ..Limits::default() };
    let check = |mut solver: Box<dyn Solver>| {
        let answer = solver.check(&pool, &[question]).expect("answers");
        assert_eq!(answer, Answer::Unknown(WhyUnknown::Limit));
    };
    check(Box::new(Z3::new(short).expect("Z3 is there")));
    check(Box::new(Z3::new(Limits { work: 0, ..short }).expect("Z3 is there")));
    check(Box::new(Process::new(vec!["z3".to_owned(), "-in".to_owned()], short)));
}

#[test]
fn a_question_ends_when_all_is_to_stop() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut pool = Pool::default();
    let question = hard(&mut pool);
    let limits = Limits { time: Duration::from_secs(600), work: 0, stop: Some(&STOP), ..Limits::default() };
    let check = |mut solver: Box<dyn Solver>| {
        STOP.store(false, Ordering::Relaxed);
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                STOP.store(true, Ordering::Relaxed);
            });
            solver.check(&pool, &[question])
        });
        assert_eq!(answer.expect("answers"), Answer::Unknown(WhyUnknown::Limit));
    };
    check(Box::new(Z3::new(limits).expect("Z3 is there")));
    check(Box::new(Process::new(vec!["z3".to_owned(), "-in".to_owned()], limits)));
}

#[test]
fn a_solver_that_is_missing_or_dies_says_so() {
    let check = |command: &[&str], expected: &str| {
        let mut pool = Pool::default();
        let input = pool.input(InputId(0), 1);
        let command = command.iter().map(|&word| word.to_owned()).collect();
        let error = Process::new(command, Limits::default()).check(&pool, &[input]).expect_err("no solver");
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&["no-such-solver"], "cannot start the solver no-such-solver");
    check(&["true"], "the solver ended before it answered");
    check(&["sh", "-c", "read question; echo hello; cat > /dev/null"], "expected sat, unsat or unknown");
}

/// One bit with a sign is 0 or all ones, and only 0 is less than 1.
#[test]
fn what_is_less_than_one_is_zero() {
    let mut pool = Pool::default();
    let input = pool.input(InputId(0), 8);
    let zero = pool.constant(0, 8);
    let is_zero = pool.eq(input, zero);
    let wide = pool.sign_extend(is_zero, 2);
    let one = pool.constant(1, 2);
    let less = pool.ult(wide, one);
    for value in [0, 1] {
        assert_eq!(evaluate(&pool, less, |_| value), value);
    }
}

/// Sums that a remainder keeps small need no division.
#[test]
fn a_remainder_of_a_small_sum_is_a_subtraction() {
    let mut pool = Pool::default();
    let mut sum = pool.constant(0, 32);
    let modulus = pool.constant(255, 32);
    for at in 0..4 {
        let byte = pool.input(InputId(at), 8);
        let wide = pool.zero_extend(byte, 32);
        sum = pool.binary(Binary::Add, sum, wide);
        sum = pool.binary(Binary::SRem, sum, modulus);
    }
    let divides = |term: Term| matches!(pool.node(term), Node::Binary(Binary::URem | Binary::SRem, ..));
    assert!(!pool.cone(&[sum]).into_iter().any(divides));
    assert_eq!(evaluate(&pool, sum, |InputId(at)| [255, 3, 200, 100][at as usize]), 558 % 255);
}
