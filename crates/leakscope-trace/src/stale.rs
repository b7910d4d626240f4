//! When a block counts as stale (SWAT, section 3.4): a predicate over its
//! accesses, as the user writes it.
//!
//! ```text
//! never                     no access was seen
//! idle>100M                 idle for more than so many heap accesses
//! idle>10%                  idle for more than a share of the run so far
//! idle>10*active            idle for more than so many times its active time
//! A and B or C              combined; `and` binds before `or`
//! ```

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use leakscope_wire::{Accessed, Returned, Sampling};

/// Holds if all terms of any of its parts do.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    any: Vec<Vec<Term>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Term {
    Never,
    Accesses(u64),
    /// Of the run so far, in parts of a hundred.
    Share(f64),
    /// Times the active time.
    Active(f64),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected never, idle>N, idle>N% or idle>N*active, joined by `and` and `or`, with an N as in 5000, 100M or 0.5; found {0:?}"
)]
pub struct PredicateError(String);

impl Default for Predicate {
    /// Idle for a tenth of the run, and for longer than it was active.
    fn default() -> Predicate {
        Predicate { any: vec![vec![Term::Share(10.0), Term::Active(1.0)]] }
    }
}

impl Predicate {
    /// Whether it holds for blocks at a time.
    pub fn holds(&self, blocks: &Accessed, time: u64) -> bool {
        let (idle, active) = (blocks.idle as f64, blocks.active as f64);
        let holds = |term: &Term| match *term {
            Term::Never => blocks.never != 0,
            Term::Accesses(least) => blocks.idle > least,
            Term::Share(share) => idle > time as f64 * share / 100.0,
            Term::Active(times) => idle > times * active,
        };
        self.any.iter().any(|all| all.iter().all(holds))
    }

    /// The same with shares as numbers of accesses.
    pub fn at(&self, time: u64) -> Predicate {
        let number = |term: &Term| match *term {
            Term::Share(share) => Term::Accesses((time as f64 * share / 100.0) as u64),
            other => other,
        };
        Predicate { any: self.any.iter().map(|all| all.iter().map(number).collect()).collect() }
    }
}

/// What is stale in one snapshot, by groups of blocks that have something in
/// common.
///
/// A block that is used may be idle because its accesses were not among those
/// that were seen. Where the user does not say what is stale, blocks of a group
/// must lie idle for as many shares of the run as make that unlikely. How often
/// a used block is missed for one share shows in those that were seen to be
/// used again later than a share after their first use: for each that was seen
/// in the last share, so many were missed then and seen in the one before.
/// Blocks of a group are not all used alike. Those that are used least show by
/// coming back, and for how long they had looked stale was counted
/// ([`Returned`]).
pub struct Judgement<'a, Group> {
    predicate: &'a Predicate,
    time: u64,
    least: HashMap<Group, u64>,
}

/// The share of what is reported that may be there by chance. Blocks of a group
/// are not all alike, so it comes out at about twice as much.
const CHANCE: f64 = 0.05;

impl<'a, Group: Copy + Eq + Hash> Judgement<'a, Group> {
    pub fn new(
        predicate: &'a Predicate,
        sampling: Sampling,
        blocks: impl Iterator<Item = (Group, Accessed)>,
        returned: impl Iterator<Item = (Group, Returned)>,
    ) -> Judgement<'a, Group> {
        let mut groups: HashMap<Group, (Vec<Accessed>, Vec<Returned>)> = HashMap::new();
        if *predicate == Predicate::default() && sampling.least > 1 {
            blocks.for_each(|(group, blocks)| groups.entry(group).or_default().0.push(blocks));
            returned.for_each(|(group, blocks)| groups.entry(group).or_default().1.push(blocks));
        }
        let time = sampling.time;
        let certain = |blocks: &[Accessed], returned: &[Returned]| {
            certain_after(blocks, time).max(none_returns_after(blocks, returned, time))
        };
        let least =
            groups.into_iter().map(|(group, (blocks, returned))| (group, certain(&blocks, &returned)));
        Judgement { predicate, time, least: least.collect() }
    }

    /// For how long blocks of a group must lie idle.
    pub fn least(&self, group: Group) -> u64 {
        self.least.get(&group).copied().unwrap_or(0)
    }

    pub fn is_stale(&self, group: Group, blocks: &Accessed) -> bool {
        self.predicate.holds(blocks, self.time) && blocks.idle > self.least(group)
    }
}

fn certain_after(blocks: &[Accessed], time: u64) -> u64 {
    let share = time as f64 / 10.0;
    let number = |wanted: &dyn Fn(&Accessed) -> bool| -> f64 {
        blocks.iter().filter(|blocks| wanted(blocks)).map(|blocks| blocks.blocks as f64).sum()
    };
    let is_used_again = |blocks: &Accessed| blocks.active as f64 > share;
    let seen = number(&|at| is_used_again(at) && at.idle as f64 <= share);
    let missed = number(&|at| is_used_again(at) && at.idle as f64 > share && at.idle as f64 <= 2.0 * share);
    // Half a block more, for what happens by chance among few.
    let rate = ((missed + 0.5) / (seen + 0.5)).min(0.9);
    let used = seen / (1.0 - rate);
    let enough = (1..10).find(|&shares| {
        let idle = f64::from(shares) * share;
        used * rate.powi(shares) <= CHANCE * number(&|at| at.idle as f64 > idle)
    });
    enough.map_or(time, |shares| (f64::from(shares) * share) as u64)
}

/// After how long idle few of the blocks can be among those that come back.
/// By Little's law, as many of these look stale at a time as they looked stale
/// for, all together, in a stretch of the run, divided by its length.
fn none_returns_after(blocks: &[Accessed], returned: &[Returned], time: u64) -> u64 {
    let share = time as f64 / 10.0;
    // The stretch has the orders of the present and the one before.
    let order = u64::BITS - time.leading_zeros();
    let stretch = time - (1_u64 << order.saturating_sub(2)).min(time / 2);
    let late = returned.iter().filter(|blocks| u32::from(blocks.order) + 1 >= order);
    let looked = |shares: u32| -> f64 {
        let longer = |at: &Returned| (f64::from(at.shares) + 0.5 - f64::from(shares)).max(0.0);
        late.clone().map(|at| at.blocks as f64 * longer(at) * share).sum::<f64>() / stretch as f64
    };
    let idle = |shares: u32| -> f64 {
        let idle = blocks.iter().filter(|blocks| blocks.idle as f64 > f64::from(shares) * share);
        idle.map(|blocks| blocks.blocks as f64).sum()
    };
    let enough = (1..10).find(|&shares| looked(shares) <= CHANCE * idle(shares));
    enough.map_or(time, |shares| (f64::from(shares) * share) as u64)
}

impl FromStr for Predicate {
    type Err = PredicateError;

    fn from_str(text: &str) -> Result<Predicate, PredicateError> {
        let term = |text: &str| term(text.trim()).ok_or_else(|| PredicateError(text.trim().to_owned()));
        let all = |part: &str| part.split(" and ").map(term).collect::<Result<Vec<_>, _>>();
        Ok(Predicate { any: text.split(" or ").map(all).collect::<Result<_, _>>()? })
    }
}

fn term(text: &str) -> Option<Term> {
    if text == "never" {
        return Some(Term::Never);
    }
    let limit = text.strip_prefix("idle")?.trim_start().strip_prefix('>')?.trim();
    let positive = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(share) = limit.strip_suffix('%') {
        return positive(share).map(Term::Share);
    }
    if let Some(times) = limit.strip_suffix("active") {
        return positive(times.trim_end().strip_suffix('*')?).map(Term::Active);
    }
    let (number, unit) = match limit.strip_suffix(['K', 'M', 'G']) {
        Some(number) => (number, [('K', 1e3), ('M', 1e6), ('G', 1e9)]),
        None => (limit, [('K', 1.0); 3]),
    };
    let unit = unit.iter().find(|(unit, _)| limit.ends_with(*unit)).map_or(1.0, |&(_, factor)| factor);
    positive(number).map(|number| Term::Accesses((number * unit) as u64))
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.any.iter().map(|all| {
            let terms = all.iter().map(|term| match term {
                Term::Never => "never".to_owned(),
                Term::Accesses(least) => format!("idle>{least}"),
                Term::Share(share) => format!("idle>{share}%"),
                Term::Active(times) => format!("idle>{times}*active"),
            });
            terms.collect::<Vec<_>>().join(" and ")
        });
        f.write_str(&parts.collect::<Vec<_>>().join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_are_read_and_shown() {
        for (text, shown, at_2000) in [
            ("never", "never", "never"),
            ("idle>100M", "idle>100000000", "idle>100000000"),
            ("idle > 2.5K", "idle>2500", "idle>2500"),
            ("idle>10%", "idle>10%", "idle>200"),
            ("idle>10*active", "idle>10*active", "idle>10*active"),
            (
                "never and idle>5% or idle>1G",
                "never and idle>5% or idle>1000000000",
                "never and idle>100 or idle>1000000000",
            ),
        ] {
            let predicate: Predicate = text.parse().unwrap();
            assert_eq!(
                (predicate.to_string().as_str(), predicate.at(2000).to_string().as_str()),
                (shown, at_2000)
            );
        }
        for text in ["", "idle", "idle>", "idle>x", "idle>-1", "idle>5 xor never", "idle>3*", "active>2"] {
            assert!(text.parse::<Predicate>().is_err(), "{text}");
        }
    }

    #[test]
    fn blocks_that_are_seldom_seen_must_lie_idle_for_longer() {
        // Shares of a run of a thousand accesses: blocks, idle, active.
        let check = |groups: &[(u64, u64, u64)], expected: u64| {
            let groups: Vec<Accessed> = groups
                .iter()
                .map(|&(blocks, idle, active)| Accessed { blocks, idle, active, ..Accessed::default() })
                .collect();
            assert_eq!(certain_after(&groups, 1000), expected, "{groups:?}");
        };
        // A list that grows, whose entries are not looked at again.
        check(&[(10, 50, 0), (10, 150, 0), (10, 250, 0), (10, 350, 0), (10, 450, 0)], 100);
        // Blocks that are used, and all seen.
        check(&[(100, 50, 500), (50, 600, 10)], 100);
        // Half of those that are used are missed each time.
        check(&[(400, 50, 500), (200, 150, 500), (100, 250, 500), (50, 350, 500), (300, 800, 0)], 600);
        // All are used.
        check(&[(400, 50, 500), (200, 150, 500), (100, 250, 500), (50, 350, 500)], 1000);
    }

    #[test]
    fn what_comes_back_was_not_stale() {
        // Shares of a run of a thousand accesses: blocks by idle time, and
        // those that came back by order of the time and shares.
        let check = |idle: &[(u64, u64)], returned: &[(u64, u16, u16)], expected: u64| {
            let idle: Vec<Accessed> =
                idle.iter().map(|&(blocks, idle)| Accessed { blocks, idle, ..Accessed::default() }).collect();
            let returned: Vec<Returned> = returned
                .iter()
                .map(|&(blocks, order, shares)| Returned { blocks, stack: 0, order, shares })
                .collect();
            assert_eq!(none_returns_after(&idle, &returned, 1000), expected, "{idle:?} {returned:?}");
        };
        // None came back, or long ago.
        check(&[(100, 250), (50, 550)], &[], 100);
        check(&[(100, 250), (50, 550)], &[(500, 8, 3)], 100);
        // As many as there are now came back after one share, and some after two.
        check(&[(100, 250), (50, 550)], &[(100, 10, 1), (50, 10, 2)], 200);
        // They come back after any time.
        check(&[(100, 250), (50, 550)], &[(100, 10, 1), (50, 10, 5), (50, 10, 9)], 1000);
        // So few that they do not matter.
        check(&[(100, 250), (500, 850)], &[(10, 9, 1), (5, 10, 3)], 100);
    }

    #[test]
    fn predicates_hold_for_what_they_say() {
        let blocks = |idle, active, never| Accessed { idle, active, never, ..Accessed::default() };
        let check = |text: &str, blocks: Accessed, expected: bool| {
            assert_eq!(
                text.parse::<Predicate>().unwrap().holds(&blocks, 1000),
                expected,
                "{text}: {blocks:?}"
            );
        };
        check("never", blocks(5, 0, 1), true);
        check("never", blocks(500, 0, 0), false);
        check("idle>100", blocks(101, 0, 0), true);
        check("idle>100", blocks(100, 0, 0), false);
        check("idle>10%", blocks(101, 0, 0), true);
        check("idle>10%", blocks(99, 0, 0), false);
        check("idle>10*active", blocks(101, 10, 0), true);
        check("idle>10*active", blocks(99, 10, 0), false);
        check("idle>10% and idle>10*active", blocks(500, 60, 0), false);
        check("never or idle>10% and idle>10*active", blocks(500, 60, 1), true);
    }
}
