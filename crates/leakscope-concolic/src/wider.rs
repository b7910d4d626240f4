//! Numbers that get room: what relates two of them (`size % count == 0`) may hold for none that has as few
//! digits as they have. With zeros before it a number is what it was and the run goes the same way, and a
//! solver has more digits to choose.

use std::collections::BTreeSet;

use leakscope_solve::InputId;

use crate::input::Input;
use crate::numbers::side_by_side;
use crate::solve::Run;

/// Numbers are made so long. A single one is better computed, and of many none is looked at.
const DIGITS: usize = 4;
const FEWEST: usize = 2;
const MOST: usize = 6;

impl Run {
    /// The input with zeros before the numbers that a decision and what led to it are about.
    pub fn with_wider_numbers(&self, (number, other): (usize, usize)) -> Option<Input> {
        let (trace, decision) = (&self.trace, &self.trace.decisions[number]);
        let asked = trace.path.of(&trace.pool, decision.before, decision.others[other].1);
        let inputs = asked.iter().flat_map(|&term| trace.pool.inputs(term));
        let is_digit = |id: &InputId| (self.input.value(*id, &trace.names) as u8).is_ascii_digit();
        let digits: BTreeSet<InputId> =
            inputs.filter(|&(_, bits)| bits == 8).map(|(id, _)| id).filter(is_digit).collect();
        let numbers = side_by_side(&digits);
        if !(FEWEST..=MOST).contains(&numbers.len()) {
            return None;
        }
        // From the last one on, so that places stay what they are.
        let mut input = self.input.clone();
        for digits in numbers.iter().rev() {
            if let Some(wider) = input.with_wider_number(*digits.first()?, DIGITS, &trace.names) {
                input = wider;
            }
        }
        (input != self.input).then_some(input)
    }

    /// The decision of this run that is the same one of another.
    pub fn twin(&self, of: &Run, (number, other): (usize, usize)) -> Option<(usize, usize)> {
        let place = of.trace.decisions[number].place;
        let before = of.trace.decisions[..number].iter().filter(|decision| decision.place == place).count();
        let mut same =
            self.trace.decisions.iter().enumerate().filter(|(_, decision)| decision.place == place);
        let (found, decision) = same.nth(before)?;
        let wanted = of.trace.decisions[number].others[other].0;
        decision.others.get(other).is_some_and(|&(way, _)| way == wanted).then_some((found, other))
    }
}
