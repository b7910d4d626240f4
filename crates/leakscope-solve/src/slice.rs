//! Independence: a question about some inputs needs only the constraints that
//! speak of them, directly or through others.

use std::collections::BTreeSet;

use crate::term::{InputId, Pool, Term};

/// Constraints of a path in order, each with the inputs it depends on.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    constraints: Vec<(Term, Vec<InputId>)>,
}

impl Slices {
    /// Adds a constraint behind those before it.
    pub fn push(&mut self, pool: &Pool, constraint: Term) {
        let inputs = pool.inputs(constraint).into_iter().map(|(input, _)| input).collect();
        self.constraints.push((constraint, inputs));
    }

    pub fn len(&self) -> usize {
        self.constraints.len()
    }

    pub fn is_empty(&self) -> bool {
        self.constraints.is_empty()
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let inputs: usize = self.constraints.iter().map(|(_, inputs)| size_of_val(inputs.as_slice())).sum();
        size_of_val(self.constraints.as_slice()) + inputs
    }

    pub fn constraint(&self, index: usize) -> Term {
        self.constraints[index].0
    }

    /// Those of the first `count` constraints that `question` depends on, in
    /// their order and each once, then `question`.
    pub fn of(&self, pool: &Pool, count: usize, question: Term) -> Vec<Term> {
        let mut wanted: BTreeSet<InputId> =
            pool.inputs(question).into_iter().map(|(input, _)| input).collect();
        let mut taken = vec![false; count];
        loop {
            let before = wanted.len();
            for (index, (_, inputs)) in self.constraints[..count].iter().enumerate() {
                if !taken[index] && inputs.iter().any(|input| wanted.contains(input)) {
                    taken[index] = true;
                    wanted.extend(inputs);
                }
            }
            if wanted.len() == before {
                break;
            }
        }
        let mut seen = BTreeSet::new();
        let relevant = (0..count).filter(|&index| taken[index]).map(|index| self.constraints[index].0);
        relevant.chain([question]).filter(|&constraint| seen.insert(constraint)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_other_inputs_is_left_out() {
        let mut pool = Pool::default();
        let [a, b, c, d] = [0, 1, 2, 3].map(|index| pool.input(InputId(index), 8));
        let five = pool.constant(5, 8);
        let mut slices = Slices::default();
        let constraints = [pool.ult(a, five), pool.ult(b, c), pool.ult(c, five), pool.ult(d, five)];
        for constraint in constraints {
            slices.push(&pool, constraint);
        }
        let question = pool.eq(b, five);
        assert_eq!(slices.of(&pool, 4, question), [constraints[1], constraints[2], question]);
        assert_eq!(slices.of(&pool, 2, question), [constraints[1], question]);
        let other = pool.eq(d, five);
        assert_eq!(slices.of(&pool, 3, other), [other]);
    }
}
