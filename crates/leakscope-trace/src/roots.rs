//! Which lost blocks are roots, which are lost only with them, and whose stamp
//! says when a block was lost.
//!
//! The last is the rule of the Merlin algorithm (Hertz et al., TOPLAS 2006): a
//! block was lost at the latest stamp among it and all lost blocks that reach
//! it. One pass over the components in topological order finds it.

use leakscope_wire as wire;
use petgraph::graph::{DiGraph, NodeIndex};

/// The roots of every lost block. Blocks that reach each other are one
/// component; a component that no other reaches has one root: the block to which the last
/// pointer led, if it is known what held that, or its first one.
#[derive(Debug)]
pub struct Roots {
    component_of: Vec<usize>,
    components: Vec<Component>,
}

#[derive(Clone, Debug)]
struct Component {
    root: usize,
    /// Roots of other components that reach this one.
    above: Vec<usize>,
    /// The latest stamp in it and in all components that reach it: its time,
    /// and its block.
    latest: Option<(u64, usize)>,
    /// The latest of the compiler's own copies in it: they count where nothing
    /// else does, and where no other component reaches it.
    copy: Option<(u64, usize)>,
}

/// What held a pointer that died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Something that has a name.
    Named,
    /// A register with the compiler's own copy of it.
    Copy,
    Unknown,
}

/// Roots beyond these say nothing more to a reader.
const ROOTS_MAX: usize = 8;

impl Roots {
    /// `stamped` gives the time of each block's latest stamp, and `holder` what
    /// held the pointer that died then. `edges` lead from one of these blocks to
    /// another; others are passed over.
    pub fn new(stamped: &[Option<u64>], holder: impl Fn(usize) -> Holder, edges: &[wire::Edge]) -> Roots {
        let count = stamped.len();
        let mut graph = DiGraph::<(), (), u32>::with_capacity(count, edges.len());
        for _ in 0..count {
            graph.add_node(());
        }
        for edge in edges {
            let (from, to) = (edge.from as usize, edge.to as usize);
            if from < count && to < count && from != to {
                graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
            }
        }
        let sorted = petgraph::algo::kosaraju_scc(&graph);
        let mut roots = Roots { component_of: vec![0; count], components: Vec::with_capacity(sorted.len()) };
        for blocks in &sorted {
            for block in blocks {
                roots.component_of[block.index()] = roots.components.len();
            }
            let first = blocks.iter().map(|block| block.index()).min().unwrap_or(0);
            let stamps = blocks.iter().filter_map(|block| Some((stamped[block.index()]?, block.index())));
            let (copies, stamps): (Vec<_>, Vec<_>) =
                stamps.partition(|&(_, block)| holder(block) == Holder::Copy);
            let (latest, copy) = (stamps.into_iter().max(), copies.into_iter().max());
            let is_named = |&block: &usize| holder(block) == Holder::Named;
            let root = latest.map(|(_, block)| block).filter(is_named).unwrap_or(first);
            roots.components.push(Component { root, above: Vec::new(), latest, copy });
        }
        // What points comes before what it points to: the components are
        // sorted the other way round.
        for (number, blocks) in sorted.iter().enumerate().rev() {
            let component = &mut roots.components[number];
            if component.above.is_empty() || component.latest.is_none() {
                component.latest = component.latest.max(component.copy);
            }
            let Component { root, above, latest, .. } = component.clone();
            let above = if above.is_empty() { vec![root] } else { above };
            for next in blocks.iter().flat_map(|&block| graph.neighbors(block)) {
                let target = roots.component_of[next.index()];
                if target != number {
                    let target = &mut roots.components[target];
                    merge(&mut target.above, &above);
                    target.latest = target.latest.max(latest);
                }
            }
        }
        roots
    }

    /// The roots that reach `block`, a few at most; none if it is a root.
    pub fn above(&self, block: usize) -> &[usize] {
        let component = &self.components[self.component_of[block]];
        match &component.above[..] {
            [] if component.root == block => &[],
            [] => std::slice::from_ref(&component.root),
            above => above,
        }
    }

    /// The block with the latest stamp among `block` and all that reach it.
    pub fn latest(&self, block: usize) -> Option<usize> {
        Some(self.components[self.component_of[block]].latest?.1)
    }
}

fn merge(roots: &mut Vec<usize>, more: &[usize]) {
    for &root in more {
        if roots.len() < ROOTS_MAX && !roots.contains(&root) {
            roots.push(root);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(count: usize, edges: &[(u32, u32)]) -> Vec<Vec<usize>> {
        let edges: Vec<wire::Edge> = edges.iter().map(|&(from, to)| wire::Edge { from, to }).collect();
        let roots = Roots::new(&vec![None; count], |_| Holder::Named, &edges);
        (0..count).map(|block| roots.above(block).to_vec()).collect()
    }

    #[test]
    fn roots_of_lost_blocks() {
        let check = |count, edges: &[(u32, u32)], expected: &[&[usize]]| {
            assert_eq!(roots(count, edges), expected, "{edges:?}");
        };
        check(0, &[], &[]);
        check(2, &[], &[&[], &[]]);
        check(3, &[(0, 1), (1, 2)], &[&[], &[0], &[0]]);
        check(3, &[(2, 1), (1, 0)], &[&[2], &[2], &[]]);
        // A block that points to itself is still a root.
        check(1, &[(0, 0)], &[&[]]);
        // A cycle has one root; what hangs from it is reached from there.
        check(3, &[(0, 1), (1, 0), (1, 2)], &[&[], &[0], &[0]]);
        // Two roots share a child.
        check(3, &[(0, 2), (1, 2)], &[&[], &[], &[0, 1]]);
        // A cycle below a root.
        check(3, &[(2, 0), (0, 1), (1, 0)], &[&[2], &[2], &[]]);
        // A record may lie.
        check(1, &[(0, 7), (7, 0)], &[&[]]);
    }

    #[test]
    fn the_latest_stamp_above_a_block_is_its_own() {
        // Stamps by block, 0 for none; `-` is a block without any.
        let check_with = |copies: &[usize], stamped: &[u64], edges: &[(u32, u32)], expected: &str| {
            let stamped: Vec<Option<u64>> = stamped.iter().map(|&time| (time > 0).then_some(time)).collect();
            let edges: Vec<wire::Edge> = edges.iter().map(|&(from, to)| wire::Edge { from, to }).collect();
            let holder = |block| if copies.contains(&block) { Holder::Copy } else { Holder::Named };
            let roots = Roots::new(&stamped, holder, &edges);
            let found: Vec<String> = (0..stamped.len())
                .map(|block| roots.latest(block).map_or("-".to_owned(), |latest| latest.to_string()))
                .collect();
            assert_eq!(found.join(" "), expected, "{copies:?} {edges:?}");
        };
        let check =
            |stamped: &[u64], edges: &[(u32, u32)], expected| check_with(&[], stamped, edges, expected);
        check(&[0, 7], &[], "- 1");
        // A chain: the last pointer to its head, unless one below died later.
        check(&[9, 3, 4], &[(0, 1), (1, 2)], "0 0 0");
        check(&[5, 8, 4], &[(0, 1), (1, 2)], "0 1 1");
        // A cycle has one answer, and so has what hangs from it.
        check(&[2, 6, 1, 0], &[(0, 1), (1, 2), (2, 0), (2, 3)], "1 1 1 1");
        // Two roots share a child.
        check(&[3, 5, 4], &[(0, 2), (1, 2)], "0 1 1");
        // The compiler's copy counts for a root, but not below one that is known.
        check_with(&[0, 1], &[5, 8], &[(0, 1)], "0 0");
        check_with(&[1], &[0, 8], &[(0, 1)], "- 1");
        check_with(&[0, 1], &[5, 8], &[(0, 1), (1, 0)], "1 1");
    }

    #[test]
    fn long_lists_and_large_cycles_take_no_time() {
        let count = 200_000;
        let mut list: Vec<(u32, u32)> = (1..count).map(|block| (block - 1, block)).collect();
        let below = |found: Vec<Vec<usize>>| found.iter().filter(|above| **above == [0]).count();
        assert_eq!(below(roots(count as usize, &list)), count as usize - 1);
        // All of a ring point to one block of another ring.
        list.push((count - 1, 0));
        let other: Vec<(u32, u32)> = list.iter().map(|&(from, to)| (from + count, to + count)).collect();
        list.extend(other);
        list.extend((0..count).map(|block| (block, count)));
        assert_eq!(below(roots(2 * count as usize, &list)), 2 * count as usize - 1);
    }

    proptest::proptest! {
        /// The rule written down plainly: a root is the lowest block of those
        /// that reach each other and that nothing else reaches; the latest
        /// stamp is the latest of all blocks that reach a block.
        #[test]
        fn roots_agree_with_the_rule(
            edges in proptest::collection::vec((0..8_u32, 0..8_u32), 0..20),
            times in proptest::collection::vec(0..20_u64, 8),
        ) {
            let mut reaches = [[false; 8]; 8];
            for &(from, to) in &edges {
                reaches[from as usize][to as usize] = true;
            }
            for through in 0..8 {
                for from in 0..8 {
                    for to in 0..8 {
                        reaches[from][to] |= reaches[from][through] && reaches[through][to];
                    }
                }
            }
            let is_root = |block: usize| (0..8).all(|other| {
                other == block || !reaches[other][block] || reaches[block][other] && block < other
            });
            let stamped: Vec<Option<u64>> = times.iter().map(|&time| (time > 0).then_some(time)).collect();
            let wired: Vec<wire::Edge> = edges.iter().map(|&(from, to)| wire::Edge { from, to }).collect();
            let found = Roots::new(&stamped, |_| Holder::Named, &wired);
            for (block, mut above) in roots(8, &edges).into_iter().enumerate() {
                above.sort_unstable();
                let expected: Vec<usize> = (0..8)
                    .filter(|&root| !is_root(block) && is_root(root) && reaches[root][block])
                    .collect();
                proptest::prop_assert_eq!(above, expected, "block {}", block);
                let latest = (0..8)
                    .filter(|&other| other == block || reaches[other][block])
                    .filter_map(|other| stamped[other])
                    .max();
                let found = found.latest(block).and_then(|other| stamped[other]);
                proptest::prop_assert_eq!(found, latest, "block {}", block);
            }
        }
    }
}
