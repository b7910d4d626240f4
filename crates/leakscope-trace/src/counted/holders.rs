//! Who has the references to a block that counts them.
//!
//! The slots that held the block form a tree: each got its pointer from the one
//! that was read last before. The block is born with one reference, which all
//! slots share until somebody counts up; each such moment makes a reference of
//! a part of the tree. Which part follows from the slot through which was
//! counted, most often a parameter: what got its pointer from there afterwards,
//! as in `table->entry = ref(object)`; or the slot that was given as the
//! parameter, if that had its pointer from one that is still in use, or just now
//! from a parameter of its own function; or another that got it from there, soonest before somebody
//! counts up again; or the parameter of a function that was given it at once, as
//! in `add(table, ref(object))`.

use std::ops::Range;

use leakscope_wire::{Count, Life};

/// A slot that nobody ever read was for later, and has its pointer to the end.
pub fn held_until(life: &Life) -> u64 {
    if life.read == life.set { life.read.max(life.ended) } else { life.read }
}

/// A reference: from when to when it has a slot that is still in use, and the
/// numbers of the slot with which it began and of all that share it.
pub struct Reference {
    pub span: Range<u64>,
    pub head: usize,
    pub slots: Vec<usize>,
}

impl Reference {
    /// Until when a slot has it. A copy in a local that nobody read is none.
    pub fn until(&self, lives: &[Life], slot: usize) -> u64 {
        let is_copy = lives[slot].is_local != 0 && slot != self.head;
        if is_copy { lives[slot].read } else { held_until(&lives[slot]) }
    }
}

pub fn references(
    lives: &[Life],
    counts: &[Count],
    is_same_call: &dyn Fn(u32, u32) -> bool,
) -> Vec<Reference> {
    let mut tree = Tree { lives, heads: Vec::new(), is_same_call };
    for (index, life) in lives.iter().enumerate() {
        // Where it came from was not seen: it may be another reference.
        if tree.source(index).is_none() {
            tree.heads.push((index, life.set));
        }
    }
    let goes_up = counts.windows(2).filter(|pair| pair[1].value > pair[0].value);
    let ups: Vec<Up> = goes_up.map(|pair| Up { time: pair[1].time, before: pair[0].time }).collect();
    let next = |up: &Up| ups.iter().map(|other| other.time).find(|&time| time > up.time);
    let mut open: Vec<(Up, u64)> = ups.iter().map(|up| (*up, next(up).unwrap_or(u64::MAX))).collect();
    for rule in [Tree::counted_for, Tree::counted_before, Tree::counted_to_give] {
        open.retain(|&(up, next)| match rule(&tree, up, next) {
            Some(head) => {
                tree.heads.push((head, up.time));
                false
            }
            None => true,
        });
    }
    let reference = |&(head, from): &(usize, u64)| {
        let slots = (0..lives.len()).filter(|&index| tree.head(index) == head).collect();
        let mut reference = Reference { span: from..from, head, slots };
        let until = reference.slots.iter().map(|&slot| reference.until(lives, slot)).max();
        reference.span.end = until.unwrap_or(from);
        reference
    };
    tree.heads.iter().map(reference).collect()
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
    /// Whether one call of a function set both slots, by the stacks of that.
    is_same_call: &'a dyn Fn(u32, u32) -> bool,
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
    fn counted_for(&self, Up { time, before }: Up, next: u64) -> Option<usize> {
        let (counted, variable) = self.counted_through(time)?;
        let set_later = || {
            let soon = self.longest_below(counted, time, |life| (time..next).contains(&life.set));
            soon.or_else(|| self.longest_below(counted, time, |life| life.set > time))
        };
        let passed_on = Some(counted).filter(|&it| it != variable).and_then(|_| set_later());
        let is_new = || {
            let from_parameter = self.source(variable).is_some_and(|source| {
                let [given, set] = [source, variable].map(|slot| self.lives[slot].set_stack);
                !self.is_variable(source) && (self.is_same_call)(given, set)
            });
            self.is_second(variable, time) || from_parameter && self.lives[variable].set > before
        };
        passed_on.or_else(|| (!self.is_head(variable) && is_new()).then_some(variable))
    }

    /// The same for a reference that is counted before it is handed out, or
    /// after.
    fn counted_before(&self, Up { time, .. }: Up, next: u64) -> Option<usize> {
        let (_, variable) = self.counted_through(time)?;
        let soon = self.longest_below(variable, time, |life| (time..next).contains(&life.set));
        soon.or_else(|| self.longest_below(variable, time, |_| true))
    }

    /// The same for one that is counted to be given to a function; none if it is
    /// for nobody.
    fn counted_to_give(&self, Up { time, .. }: Up, next: u64) -> Option<usize> {
        let (counted, _) = self.counted_through(time)?;
        let is_given = |&index: &usize| {
            let life = &self.lives[index];
            !self.is_variable(index) && !self.is_head(index) && (time..next).contains(&life.set)
        };
        (counted + 1..self.lives.len()).filter(is_given).find(|&index| self.source(index) == Some(counted))
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
