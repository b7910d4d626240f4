//! The value of a term for given inputs.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::fold;
use crate::term::{InputId, Node, Pool, Term, mask, signed};

/// Values of inputs; what is not listed is 0.
pub type Model = BTreeMap<InputId, u64>;

/// Whether all constraints (terms of one bit) are 1.
pub fn holds(pool: &Pool, constraints: &[Term], inputs: impl Fn(InputId) -> u64) -> bool {
    let values = values(pool, constraints, inputs);
    constraints.iter().all(|constraint| values[constraint] == 1)
}

pub fn evaluate(pool: &Pool, term: Term, inputs: impl Fn(InputId) -> u64) -> u64 {
    values(pool, &[term], inputs)[&term]
}

/// Of the roots and all they are made of. No recursion: terms can be deep.
fn values(pool: &Pool, roots: &[Term], inputs: impl Fn(InputId) -> u64) -> FxHashMap<Term, u64> {
    let mut values: FxHashMap<Term, u64> = FxHashMap::default();
    for term in pool.cone(roots) {
        let bits = pool.bits(term);
        let value = match pool.node(term) {
            Node::Const(value) => value,
            Node::Input(input) => inputs(input) & mask(bits),
            Node::Not(a) => !values[&a] & mask(bits),
            Node::Binary(op, a, b) => fold::binary(op, values[&a], values[&b], bits),
            Node::Compare(op, a, b) => fold::compare(op, values[&a], values[&b], pool.bits(a)).into(),
            Node::ZeroExtend(a) => values[&a],
            Node::SignExtend(a) => signed(values[&a], pool.bits(a)) as u64 & mask(bits),
            Node::Extract(a, low) => values[&a] >> low & mask(bits),
            Node::Concat(high, low) => values[&high] << pool.bits(low) | values[&low],
            Node::Ite(condition, yes, no) => values[if values[&condition] == 1 { &yes } else { &no }],
        };
        values.insert(term, value);
    }
    values
}
