//! The value of a term for given inputs.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::fold;
use crate::term::{InputId, Node, Pool, Term, mask, signed};

/// Values of inputs; what is not listed is 0.
pub type Model = BTreeMap<InputId, u64>;

/// Terms that are to be evaluated, perhaps for many inputs.
#[derive(Debug)]
pub struct Evaluator {
    /// All that the terms are made of, arguments first: their width, and nodes
    /// whose arguments are places in this list.
    cone: Vec<(Node, u32)>,
    roots: Vec<usize>,
}

impl Evaluator {
    pub fn new(pool: &Pool, roots: &[Term]) -> Evaluator {
        let terms = pool.cone(roots);
        let places: FxHashMap<Term, u32> =
            terms.iter().enumerate().map(|(place, &term)| (term, place as u32)).collect();
        let placed =
            |&term: &Term| (pool.node(term).map(|argument| Term(places[&argument])), pool.bits(term));
        let cone = terms.iter().map(placed).collect();
        Evaluator { cone, roots: roots.iter().map(|root| places[root] as usize).collect() }
    }

    /// How many steps an evaluation takes.
    pub fn steps(&self) -> usize {
        self.cone.len()
    }

    /// Whether all of them (terms of one bit) are 1.
    pub fn holds(&self, inputs: impl Fn(InputId) -> u64) -> bool {
        let values = self.values(inputs);
        self.roots.iter().all(|&root| values[root] == 1)
    }

    fn values(&self, inputs: impl Fn(InputId) -> u64) -> Vec<u64> {
        let value = |&(node, bits): &(Node, u32)| match node {
            Node::Input(input) => inputs(input) & mask(bits),
            _ => 0,
        };
        let mut values: Vec<u64> = self.cone.iter().map(value).collect();
        self.fill(&mut values);
        values
    }

    /// All values from those of the inputs. No recursion: terms can be deep.
    fn fill(&self, values: &mut [u64]) {
        for (place, &(node, bits)) in self.cone.iter().enumerate() {
            let of = |Term(place): Term| values[place as usize];
            let width = |Term(place): Term| self.cone[place as usize].1;
            values[place] = match node {
                Node::Const(value) => value,
                Node::Input(_) => continue,
                Node::Not(a) => !of(a) & mask(bits),
                Node::Binary(op, a, b) => fold::binary(op, of(a), of(b), bits),
                Node::Compare(op, a, b) => fold::compare(op, of(a), of(b), width(a)).into(),
                Node::ZeroExtend(a) => of(a),
                Node::SignExtend(a) => signed(of(a), width(a)) as u64 & mask(bits),
                Node::Extract(a, low) => of(a) >> low & mask(bits),
                Node::Concat(high, low) => of(high) << width(low) | of(low),
                Node::Ite(condition, yes, no) => of(if of(condition) == 1 { yes } else { no }),
            };
        }
    }
}

/// An evaluator whose inputs have values, some of which are changed again and again.
#[derive(Debug)]
pub struct Tries<'e> {
    evaluator: &'e Evaluator,
    values: Vec<u64>,
    places: FxHashMap<InputId, usize>,
}

impl Evaluator {
    pub fn tries(&self, inputs: impl Fn(InputId) -> u64) -> Tries<'_> {
        let values = self.values(inputs);
        let inputs = self.cone.iter().enumerate().filter_map(|(place, (node, _))| match node {
            Node::Input(input) => Some((*input, place)),
            _ => None,
        });
        Tries { evaluator: self, values, places: inputs.collect() }
    }
}

impl Tries<'_> {
    /// Where an input is, if there is such a one.
    pub fn place(&self, input: InputId) -> Option<usize> {
        self.places.get(&input).copied()
    }

    pub fn set(&mut self, place: usize, value: u64) {
        self.values[place] = value & mask(self.evaluator.cone[place].1);
    }

    /// Whether all terms are 1 now.
    pub fn hold(&mut self) -> bool {
        self.evaluator.fill(&mut self.values);
        self.evaluator.roots.iter().all(|&root| self.values[root] == 1)
    }
}

/// Whether all constraints (terms of one bit) are 1.
pub fn holds(pool: &Pool, constraints: &[Term], inputs: impl Fn(InputId) -> u64) -> bool {
    Evaluator::new(pool, constraints).holds(inputs)
}

pub fn evaluate(pool: &Pool, term: Term, inputs: impl Fn(InputId) -> u64) -> u64 {
    let evaluator = Evaluator::new(pool, &[term]);
    evaluator.values(inputs)[evaluator.roots[0]]
}
