//! Terms: each exists once in its pool, arguments before the terms that use
//! them.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

/// A term of one [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub(crate) u32);

/// An unknown. What it stands for is known to whoever numbered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputId(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Const(u64),
    Input(InputId),
    /// All bits the other way round.
    Not(Term),
    Binary(Binary, Term, Term),
    /// One bit wide.
    Compare(Compare, Term, Term),
    ZeroExtend(Term),
    SignExtend(Term),
    /// As many bits as the term is wide, from this one on.
    Extract(Term, u8),
    /// High bits, low bits.
    Concat(Term, Term),
    Ite(Term, Term, Term),
}

/// Division by zero and shifts by the width or more are as in SMT-LIB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

/// All terms of one run. Widths are 1 to 64 bits.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    nodes: Vec<(Node, u8)>,
    /// The same for equal terms of all pools.
    digests: Vec<u64>,
    /// How many operations lie on top of each other, up to 255.
    heights: Vec<u8>,
    /// What no value is larger than.
    pub(crate) mosts: Vec<u64>,
    terms: FxHashMap<(Node, u8), Term>,
}

impl Pool {
    pub fn node(&self, term: Term) -> Node {
        self.nodes[term.0 as usize].0
    }

    pub fn bits(&self, term: Term) -> u32 {
        self.nodes[term.0 as usize].1.into()
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let of_node = size_of::<(Node, u8)>() + 2 * size_of::<u64>() + size_of::<u8>();
        let of_entry = size_of::<((Node, u8), Term)>() + 1;
        self.nodes.capacity() * of_node + self.terms.capacity() * of_entry
    }

    pub fn value(&self, term: Term) -> Option<u64> {
        match self.node(term) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The term as it is, without simplification.
    pub(crate) fn intern(&mut self, node: Node, bits: u32) -> Term {
        debug_assert!((1..=64).contains(&bits), "a term of {bits} bits");
        let key = (node, bits as u8);
        if let Some(&term) = self.terms.get(&key) {
            return term;
        }
        let term = Term(self.nodes.len() as u32);
        self.digests.push(self.digest_of(node, key.1));
        self.heights.push(self.height_of(node));
        self.mosts.push(self.most_of(node, bits));
        self.nodes.push(key);
        self.terms.insert(key, term);
        term
    }

    fn digest_of(&self, node: Node, bits: u8) -> u64 {
        let mut hasher = FxHasher::default();
        bits.hash(&mut hasher);
        std::mem::discriminant(&node).hash(&mut hasher);
        match node {
            Node::Const(value) => value.hash(&mut hasher),
            Node::Input(input) => input.hash(&mut hasher),
            Node::Binary(op, ..) => op.hash(&mut hasher),
            Node::Compare(op, ..) => op.hash(&mut hasher),
            Node::Extract(_, low) => low.hash(&mut hasher),
            _ => {}
        }
        node.for_each_argument(|argument| self.digest(argument).hash(&mut hasher));
        hasher.finish()
    }

    /// How many operations lie on top of each other in a term, up to 255.
    pub(crate) fn height(&self, term: Term) -> u8 {
        self.heights[term.0 as usize]
    }

    fn height_of(&self, node: Node) -> u8 {
        let mut height = 0;
        node.for_each_argument(|argument| height = height.max(self.height(argument)));
        let is_operation =
            matches!(node, Node::Not(_) | Node::Binary(..) | Node::Compare(..) | Node::Ite(..));
        height.saturating_add(is_operation.into())
    }

    /// A number that equal terms of any pool share, and others hardly.
    pub fn digest(&self, term: Term) -> u64 {
        self.digests[term.0 as usize]
    }

    /// The same term as one of another pool.
    pub fn import(&mut self, from: &Pool, term: Term) -> Term {
        let mut known: FxHashMap<Term, Term> = FxHashMap::default();
        for part in from.cone(&[term]) {
            let node = from.node(part).map(|argument| known[&argument]);
            known.insert(part, self.intern(node, from.bits(part)));
        }
        known[&term]
    }

    /// The terms with some inputs as they are said to be.
    pub fn with_values(&mut self, roots: &[Term], value: impl Fn(InputId) -> Option<u64>) -> Vec<Term> {
        let mut made: FxHashMap<Term, Term> = FxHashMap::default();
        for term in self.cone(roots) {
            let (node, bits) = (self.node(term).map(|argument| made[&argument]), self.bits(term));
            let new = match node {
                Node::Input(input) => value(input).map_or(term, |value| self.constant(value, bits)),
                Node::Const(_) => term,
                Node::Not(a) => self.not(a),
                Node::Binary(op, a, b) => self.binary(op, a, b),
                Node::Compare(op, a, b) => self.compare(op, a, b),
                Node::ZeroExtend(a) => self.zero_extend(a, bits),
                Node::SignExtend(a) => self.sign_extend(a, bits),
                Node::Extract(a, low) => self.extract(a, low.into(), bits),
                Node::Concat(high, low) => self.concat(high, low),
                Node::Ite(condition, yes, no) => self.ite(condition, yes, no),
            };
            made.insert(term, new);
        }
        roots.iter().map(|root| made[root]).collect()
    }

    /// All terms that these are made of, arguments first.
    pub fn cone(&self, roots: &[Term]) -> Vec<Term> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut open = roots.to_vec();
        while let Some(term) = open.pop() {
            if seen.insert(term) {
                self.node(term).for_each_argument(|argument| open.push(argument));
            }
        }
        let mut cone: Vec<Term> = seen.into_iter().collect();
        cone.sort_unstable();
        cone
    }

    /// The inputs that a term depends on, in order.
    pub fn inputs(&self, term: Term) -> Vec<(InputId, u32)> {
        let input = |term: Term| match self.node(term) {
            Node::Input(input) => Some((input, self.bits(term))),
            _ => None,
        };
        let mut inputs: Vec<_> = self.cone(&[term]).into_iter().filter_map(input).collect();
        inputs.sort_unstable();
        inputs
    }
}

impl Node {
    /// The same node of other arguments.
    pub(crate) fn map(self, of: impl Fn(Term) -> Term) -> Node {
        match self {
            Node::Const(_) | Node::Input(_) => self,
            Node::Not(a) => Node::Not(of(a)),
            Node::Binary(op, a, b) => Node::Binary(op, of(a), of(b)),
            Node::Compare(op, a, b) => Node::Compare(op, of(a), of(b)),
            Node::ZeroExtend(a) => Node::ZeroExtend(of(a)),
            Node::SignExtend(a) => Node::SignExtend(of(a)),
            Node::Extract(a, low) => Node::Extract(of(a), low),
            Node::Concat(a, b) => Node::Concat(of(a), of(b)),
            Node::Ite(a, b, c) => Node::Ite(of(a), of(b), of(c)),
        }
    }

    pub fn for_each_argument(self, mut each: impl FnMut(Term)) {
        match self {
            Node::Const(_) | Node::Input(_) => {}
            Node::Not(a) | Node::ZeroExtend(a) | Node::SignExtend(a) | Node::Extract(a, _) => each(a),
            Node::Binary(_, a, b) | Node::Compare(_, a, b) | Node::Concat(a, b) => {
                each(a);
                each(b);
            }
            Node::Ite(a, b, c) => {
                each(a);
                each(b);
                each(c);
            }
        }
    }
}

/// The lowest `bits` bits set.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The number that these bits are, with a sign.
pub(crate) fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    ((value << unused) as i64) >> unused
}
