//! The loops of a function, by their headers.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::ir::Block;

/// A loop: all blocks from which its header is reached again.
pub struct Loop<'m> {
    pub header: Block<'m>,
    /// Blocks from which control goes back to the header.
    pub latches: Vec<Block<'m>>,
    pub body: HashSet<Block<'m>>,
}

impl<'m> Loop<'m> {
    pub fn is_inside(&self, other: &Loop<'_>) -> bool {
        self.header != other.header && other.body.contains(&self.header)
    }

    /// The blocks of it that are in no loop of `all` inside.
    pub fn own<'a>(&'a self, all: &'a [Loop<'m>]) -> impl Iterator<Item = &'a Block<'m>> {
        let inner: Vec<&Loop<'m>> = all.iter().filter(|other| other.is_inside(self)).collect();
        self.body.iter().filter(move |block| !inner.iter().any(|other| other.body.contains(block)))
    }
}

/// The loops that are met from `start` on, in the order of their headers. A
/// loop is entered by its header alone unless the source jumps into it.
pub fn find<'m>(start: Block<'m>) -> Vec<Loop<'m>> {
    let (order, back) = walk(start);
    let mut before: HashMap<Block<'m>, Vec<Block<'m>>> = HashMap::new();
    for &block in &order {
        for next in block.successors() {
            before.entry(next).or_default().push(block);
        }
    }
    let place: HashMap<Block<'m>, usize> = order.iter().enumerate().map(|(at, &block)| (block, at)).collect();
    let headers: BTreeSet<usize> = back.iter().map(|(_, header)| place[header]).collect();
    let loop_at = |at: usize| {
        let header = order[at];
        let latches: Vec<Block<'m>> =
            back.iter().filter(|(_, to)| *to == header).map(|&(from, _)| from).collect();
        let mut body = HashSet::from([header]);
        let mut work = latches.clone();
        while let Some(block) = work.pop() {
            if body.insert(block) {
                work.extend(before.get(&block).into_iter().flatten());
            }
        }
        Loop { header, latches, body }
    };
    headers.into_iter().map(loop_at).collect()
}

/// All blocks in the order in which a walk into depth meets them, and the
/// edges that lead back to a block on the way to where they begin.
fn walk<'m>(start: Block<'m>) -> (Vec<Block<'m>>, Vec<(Block<'m>, Block<'m>)>) {
    let (mut order, mut back) = (Vec::new(), Vec::new());
    let (mut met, mut open) = (HashSet::from([start]), HashSet::from([start]));
    let mut way = vec![(start, start.successors().collect::<Vec<_>>())];
    order.push(start);
    while let Some((block, left)) = way.last_mut() {
        let block = *block;
        match left.pop() {
            None => {
                open.remove(&block);
                way.pop();
            }
            Some(next) if open.contains(&next) => {
                if !back.contains(&(block, next)) {
                    back.push((block, next));
                }
            }
            Some(next) if met.insert(next) => {
                open.insert(next);
                order.push(next);
                way.push((next, next.successors().collect()));
            }
            Some(_) => {}
        }
    }
    (order, back)
}
