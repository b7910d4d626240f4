//! Who has the references to a block that counts them.
//!
//! The slots that held the block form a tree: each got its pointer from the one
//! that was read last before. The block is born with one reference, which all
//! slots share until somebody counts up; each such moment makes a reference of
//! a part of the tree. Which part follows from the slot through which was
//! counted, most often a parameter: what got its pointer from there afterwards,
//! as in `table->entry = ref(object)`; or the slot that was given as the
//! parameter, if that had its pointer from one that is still in use, or just now
//! from a parameter; or another that got it from there.

use std::ops::Range;

use leakscope_wire::{Count, Life};

/// A slot that nobody ever read was for later, and has its pointer to the end.
pub fn held_until(life: &Life) -> u64 {
    if life.read == life.set { life.read.max(life.ended) } else { life.read }
}

/// From when to when each reference has a slot that is still in use.
pub fn spans(lives: &[Life], counts: &[Count]) -> Vec<Range<u64>> {
    let mut tree = Tree { lives, heads: Vec::new() };
    for (index, life) in lives.iter().enumerate() {
        // Where it came from was not seen: it may be another reference.
        if tree.source(index).is_none() {
            tree.heads.push((index, life.set));
        }
    }
    let goes_up = counts.windows(2).filter(|pair| pair[1].value > pair[0].value);
    let mut open: Vec<Up> = goes_up.map(|pair| Up { time: pair[1].time, before: pair[0].time }).collect();
    for rule in [Tree::counted_for, Tree::counted_before] {
        open.retain(|&up| match rule(&tree, up) {
            Some(head) => {
                tree.heads.push((head, up.time));
                false
            }
            None => true,
        });
    }
    let span = |&(head, from): &(usize, u64)| {
        let shares = |index: &usize| tree.head(*index) == head;
        let until = (0..lives.len()).filter(shares).map(|index| held_until(&lives[index])).max();
        from..until.unwrap_or(from)
    };
    tree.heads.iter().map(span).collect()
}

/// The count goes up, and when it changed before.
#[derive(Clone, Copy)]
struct Up {
    time: u64,
    before: u64,
}

/// Slots by number, with what each reference begins with, and when.
struct Tree<'a> {
    lives: &'a [Life],
    heads: Vec<(usize, u64)>,
}

impl Tree<'_> {
    fn source(&self, index: usize) -> Option<usize> {
        (self.lives[index].from as usize).checked_sub(1).filter(|&from| from < index)
    }

    /// Those that the pointer went through before, the nearest first.
    fn sources(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.source(index), |&index| self.source(index))
    }

    fn is_head(&self, index: usize) -> bool {
        self.heads.iter().any(|&(head, _)| head == index)
    }

    /// What the reference that a slot shares begins with.
    fn head(&self, index: usize) -> usize {
        std::iter::once(index).chain(self.sources(index)).find(|&it| self.is_head(it)).unwrap_or(index)
    }

    fn is_variable(&self, index: usize) -> bool {
        self.lives[index].is_given == 0
    }

    /// The slot through which was counted at `time`, and the one that was given as
    /// a parameter, if it is one.
    fn counted_through(&self, time: u64) -> Option<(usize, usize)> {
        let has_it = |&index: &usize| {
            let life = &self.lives[index];
            (life.set..=held_until(life)).contains(&time)
        };
        let counted = (0..self.lives.len()).filter(has_it).max_by_key(|&index| self.lives[index].set)?;
        let mut given = std::iter::once(counted).chain(self.sources(counted));
        Some((counted, given.find(|&index| self.is_variable(index))?))
    }

    /// With which slot a reference begins: what was set by way of the parameter,
    /// or what was given as the parameter.
    fn counted_for(&self, Up { time, before }: Up) -> Option<usize> {
        let (counted, variable) = self.counted_through(time)?;
        let set_later = || self.longest_below(counted, time, |life| life.set > time);
        let passed_on = Some(counted).filter(|&it| it != variable).and_then(|_| set_later());
        let is_new = || {
            let from_parameter = self.source(variable).is_some_and(|source| !self.is_variable(source));
            self.is_second(variable, time) || from_parameter && self.lives[variable].set > before
        };
        passed_on.or_else(|| (!self.is_head(variable) && is_new()).then_some(variable))
    }

    /// The same for a reference that is counted before it is handed out, or
    /// after; none if it is for nobody.
    fn counted_before(&self, Up { time, .. }: Up) -> Option<usize> {
        let (_, variable) = self.counted_through(time)?;
        self.longest_below(variable, time, |_| true)
    }

    /// Whether a slot shares its reference with one from which it got its pointer,
    /// and which is in use after a time.
    fn is_second(&self, index: usize, time: u64) -> bool {
        let head = self.head(index);
        let mut others = self.sources(index).take_while(|&source| index != head && self.head(source) == head);
        others.any(|source| held_until(&self.lives[source]) > time)
    }

    /// Of the variables that got their pointer from a slot, the one that is in
    /// use for longest after a time, itself or what got its pointer from it.
    fn longest_below(&self, slot: usize, time: u64, is_meant: impl Fn(&Life) -> bool) -> Option<usize> {
        let meant = |index: &usize| {
            self.is_variable(*index) && !self.is_head(*index) && is_meant(&self.lives[*index])
        };
        // The first on the way to a slot that is meant, and when that was read last.
        let way = |index: usize| {
            let mut on_way: Vec<usize> = vec![index];
            on_way.extend(self.sources(index).take_while(|&source| source != slot));
            let is_below = on_way.last().is_some_and(|&top| self.source(top) == Some(slot));
            let top = on_way.into_iter().rfind(meant).filter(|_| is_below)?;
            Some((held_until(&self.lives[index]), std::cmp::Reverse(top)))
        };
        let longest = (slot + 1..self.lives.len()).filter_map(way).max()?;
        (longest.0 > time).then_some(longest.1.0)
    }
}
