//! The log of how pointers to blocks come and go, for engines that explain: each
//! slot that held one, from when it was set to when it was read last, and
//! integers in a block that go up and down by one. Of blocks that are freed
//! nothing stays but whether such an integer was zero, and where slots were
//! read for the pointer by which they were freed.
//!
//! Which blocks are followed, and where the log lies, the engine knows.

use crate::{Count, Death, HandedOver, Life, Zeroed};

/// Kept of one block; of more, the oldest go.
const MOST: u32 = 1024;

/// The largest first value of a count.
const FIRST_MOST: u64 = 16;

/// Nodes by number, 0 for none; the list of a block has the latest first.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Node {
    /// Of a life: the slot. Of a count: the value.
    value: u64,
    set: u64,
    read: u64,
    set_stack: u32,
    read_stack: u32,
    from: u32,
    kind: u32,
    next: u32,
    /// Of a count.
    offset: u32,
    /// When something else was stored in the slot, and where; 0 if not.
    ended: u64,
    ended_stack: u32,
}

/// In a slot: not an address, but a call of an optimised function, whose variables are
/// in registers.
pub const IS_CALL: u64 = 1 << 63;

/// A slot in memory, a local variable, a parameter.
pub const LIFE: u32 = 0;
pub const LOCAL: u32 = 1;
pub const GIVEN: u32 = 2;
const COUNT: u32 = 3;
/// A pointer died: `from` is its life, if that is known.
const DEATH: u32 = 4;

/// What is kept of a block. Zero is an empty one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct List {
    first: u32,
    count: u32,
    /// The life that was read last.
    last: u32,
}

pub const EMPTY: List = List { first: 0, count: 0, last: 0 };
pub const UNUSED: Node = life(0, 0, 0, LIFE, 0);

/// Where a log lies.
pub trait Memory {
    /// That of a block, by a number that the engine has for it.
    fn list(&self, block: u64) -> &List;
    fn list_mut(&mut self, block: u64) -> &mut List;
    fn node(&self, id: u32) -> &Node;
    fn node_mut(&mut self, id: u32) -> &mut Node;
    /// Whether there is a node of this number, made now if need be.
    fn has_room(&mut self, id: u32) -> bool;
}

pub struct Log<M> {
    memory: M,
    used: u32,
    free: u32,
    time: u64,
    zeroed: [Zeroed; 64],
    handed_over: [HandedOver; 128],
}

/// How an integer changes.
pub struct Change {
    pub old: u64,
    pub new: u64,
    /// False if it is known that the new value was not made of the old one.
    pub is_step: bool,
}

/// What is kept of a block, piece by piece.
pub enum Told {
    /// First: how many there are.
    Numbers {
        lives: u32,
        counts: u32,
        deaths: u32,
    },
    Life(Life),
    Count(Count),
    Death(Death),
}

impl<M: Memory> Log<M> {
    pub const fn new(memory: M) -> Log<M> {
        Log {
            memory,
            used: 1,
            free: 0,
            time: 0,
            zeroed: [Zeroed { stack: 0, offset: 0, counted: 0, blocks: 0 }; 64],
            handed_over: [HandedOver { stack: 0, read_stack: 0, blocks: 0 }; 128],
        }
    }

    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// A pointer to a block was read from a slot.
    pub fn reads(&mut self, block: u64, slot: u64, stack: u32) {
        let time = self.now();
        let id = match self.life_at(block, slot) {
            Some(id) => id,
            // It came there unseen.
            None => self.add(block, life(slot, time, stack, LIFE, 0)),
        };
        if id != 0 {
            let node = self.memory.node_mut(id);
            (node.read, node.read_stack) = (time, stack);
            self.memory.list_mut(block).last = id;
        }
    }

    /// A pointer was stored in a slot, or given as a parameter: [`LIFE`] or
    /// [`GIVEN`].
    pub fn sets(&mut self, block: u64, slot: u64, stack: u32, kind: u32) {
        let time = self.now();
        let from = self.memory.list(block).last;
        self.add(block, life(slot, time, stack, kind, from));
    }

    /// Whether a slot has a pointer to a block, as far as is known.
    pub fn has(&self, block: u64, slot: u64) -> bool {
        self.life_at(block, slot).is_some()
    }

    /// Something else is about to be stored in a slot.
    pub fn ends(&mut self, block: u64, slot: u64, stack: u32) {
        let time = self.now();
        if let Some(id) = self.life_at(block, slot) {
            let node = self.memory.node_mut(id);
            (node.ended, node.ended_stack) = (time, stack);
        }
    }

    /// A pointer to a block died, in a slot if that is known and not 0.
    pub fn dies(&mut self, block: u64, slot: u64, stack: u32) {
        let time = self.now();
        let ended = if slot == 0 { None } else { self.life_at(block, slot) };
        self.add(block, life(0, time, stack, DEATH, ended.unwrap_or(0)));
    }

    /// An integer at an offset of a block changes. `stack` makes the place of it, if it
    /// counts.
    pub fn changes(
        &mut self,
        block: u64,
        offset: u32,
        Change { old, new, is_step }: Change,
        stack: impl FnOnce() -> u32,
    ) {
        let by_one = matches!(new.wrapping_sub(old) as i32, 1 | -1);
        let is_first = !self.nodes_of(block).any(|(_, node)| node.kind == COUNT && node.offset == offset);
        if by_one || is_first && new <= FIRST_MOST {
            let stack = stack();
            if by_one && is_first && is_step {
                // It came there unseen.
                self.counts(block, offset, u64::from(old as u32), stack);
            }
            self.counts(block, offset, u64::from(new as u32), stack);
        }
    }

    fn counts(&mut self, block: u64, offset: u32, value: u64, stack: u32) {
        let time = self.now();
        let node = Node { value, set: time, offset, ..life(0, time, stack, COUNT, 0) };
        self.add(block, node);
    }

    /// A block that was allocated at `stack` is freed.
    pub fn end(&mut self, block: u64, stack: u32) {
        let last = self.nodes_of(block).find(|(_, node)| node.kind == COUNT).map(|(_, node)| node);
        // What was never anything but zero counts nothing.
        let is_counted = |offset: u32| {
            let mut counts =
                self.nodes_of(block).filter(|(_, node)| node.kind == COUNT && node.offset == offset);
            counts.any(|(_, node)| node.value == 1)
        };
        if let Some(Node { value: 0, offset, set_stack: counted, .. }) = last
            && is_counted(offset)
        {
            let known =
                |zeroed: &&mut Zeroed| zeroed.blocks == 0 || (zeroed.stack, zeroed.offset) == (stack, offset);
            if let Some(zeroed) = self.zeroed.iter_mut().find(known) {
                *zeroed = Zeroed { stack, offset, counted, blocks: zeroed.blocks.saturating_add(1) };
            }
        }
        self.hands_over(block, stack);
        let mut at = self.memory.list(block).first;
        while at != 0 {
            let next = self.memory.node(at).next;
            self.memory.node_mut(at).next = self.free;
            self.free = at;
            at = next;
        }
        *self.memory.list_mut(block) = EMPTY;
    }

    /// Calls `f` with what is kept of a block, the oldest first.
    pub fn read(&self, block: u64, mut f: impl FnMut(Told)) {
        let all =
            |is_wanted: fn(u32) -> bool| self.nodes_of(block).filter(move |(_, node)| is_wanted(node.kind));
        let [is_life, is_count, is_death]: [fn(u32) -> bool; 3] =
            [|kind| kind <= GIVEN, |kind| kind == COUNT, |kind| kind == DEATH];
        let [lives, counts, deaths] = [is_life, is_count, is_death].map(|kind| all(kind).count());
        if lives == 0 {
            return;
        }
        f(Told::Numbers { lives: lives as u32, counts: counts as u32, deaths: deaths as u32 });
        // The latest is first in the list: numbers count from the other end.
        let number_of = |wanted: u32| {
            let place = all(is_life).position(|(id, _)| id == wanted);
            place.map_or(0, |index| (lives - index) as u32)
        };
        for (_, node) in (0..lives).rev().filter_map(|index| all(is_life).nth(index)) {
            f(Told::Life(Life {
                slot: node.value,
                set: node.set,
                read: node.read,
                ended: node.ended,
                set_stack: node.set_stack,
                read_stack: node.read_stack,
                ended_stack: node.ended_stack,
                from: if node.from == 0 { 0 } else { number_of(node.from) },
                is_given: u32::from(node.kind == GIVEN),
                is_local: u32::from(node.kind == LOCAL),
            }));
        }
        for (_, node) in (0..counts).rev().filter_map(|index| all(is_count).nth(index)) {
            let Node { value, set: time, set_stack: stack, offset, .. } = node;
            f(Told::Count(Count { time, value, stack, offset }));
        }
        for (_, node) in (0..deaths).rev().filter_map(|index| all(is_death).nth(index)) {
            let life = if node.from == 0 { 0 } else { number_of(node.from) };
            f(Told::Death(Death { time: node.set, stack: node.set_stack, life }));
        }
    }

    pub fn zeroed(&self) -> impl Iterator<Item = Zeroed> {
        self.zeroed.iter().copied().filter(|zeroed| zeroed.blocks > 0)
    }

    pub fn handed_over(&self) -> impl Iterator<Item = HandedOver> {
        self.handed_over.iter().copied().filter(|handed| handed.blocks > 0)
    }

    /// The slots through which the pointer went that frees a block.
    fn hands_over(&mut self, block: u64, stack: u32) {
        let Some(mut later) = self.node_of(block, self.memory.list(block).last) else { return };
        // A number may be another life's by now.
        while let Some(node) =
            self.node_of(block, later.from).filter(|node| node.kind <= GIVEN && node.set < later.set)
        {
            if node.kind < GIVEN && node.read > node.set {
                let read_stack = node.read_stack;
                let known = |handed: &&mut HandedOver| {
                    handed.blocks == 0 || (handed.stack, handed.read_stack) == (stack, read_stack)
                };
                if let Some(handed) = self.handed_over.iter_mut().find(known) {
                    *handed = HandedOver { stack, read_stack, blocks: handed.blocks + 1 };
                }
            }
            later = node;
        }
    }

    fn life_at(&self, block: u64, slot: u64) -> Option<u32> {
        let is_it = |node: &Node| node.kind <= GIVEN && node.value == slot && node.ended == 0;
        self.nodes_of(block).find(|(_, node)| is_it(node)).map(|(id, _)| id)
    }

    fn nodes_of(&self, block: u64) -> impl Iterator<Item = (u32, Node)> {
        let mut at = self.memory.list(block).first;
        core::iter::from_fn(move || {
            let id = at;
            (id != 0).then(|| {
                at = self.memory.node(id).next;
                (id, *self.memory.node(id))
            })
        })
    }

    fn node_of(&self, block: u64, wanted: u32) -> Option<Node> {
        self.nodes_of(block).find(|&(id, _)| id == wanted).map(|(_, node)| node)
    }

    fn now(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    fn add(&mut self, block: u64, node: Node) -> u32 {
        let id = match self.free {
            0 if self.memory.has_room(self.used) => {
                self.used += 1;
                self.used - 1
            }
            0 => return 0,
            free => {
                self.free = self.memory.node(free).next;
                free
            }
        };
        let list = self.memory.list_mut(block);
        let next = core::mem::replace(&mut list.first, id);
        list.count += 1;
        let is_full = list.count > MOST;
        *self.memory.node_mut(id) = Node { next, ..node };
        if is_full {
            self.cut(block);
        }
        id
    }

    /// Drops the older half of the lives; counts stay.
    #[cold]
    fn cut(&mut self, block: u64) {
        let (mut before, mut kept) = (0, 0);
        let mut at = self.memory.list(block).first;
        while at != 0 {
            let Node { next, kind, .. } = *self.memory.node(at);
            if kept < MOST / 2 || kind == COUNT {
                (before, kept) = (at, kept + 1);
            } else {
                self.memory.node_mut(before).next = next;
                self.memory.node_mut(at).next = self.free;
                self.free = at;
                self.memory.list_mut(block).count -= 1;
            }
            at = next;
        }
    }
}

const fn life(slot: u64, set: u64, stack: u32, kind: u32, from: u32) -> Node {
    Node {
        value: slot,
        set,
        read: set,
        set_stack: stack,
        read_stack: stack,
        from,
        kind,
        next: 0,
        offset: 0,
        ended: 0,
        ended_stack: 0,
    }
}
