//! What the stacks of one record mean.

use std::collections::{BTreeMap, HashMap, HashSet};

use leakscope_core::Cause;
use leakscope_wire::Burst;

use super::{Call, PlaceId};

/// The places of one record.
pub struct RecordPlaces {
    pub(super) by_stack: HashMap<u32, PlaceId>,
    pub(super) calls: HashMap<u32, Call>,
    /// Variables of frames that were left behind.
    pub(super) held: HashMap<u32, String>,
    /// How pointers went at stacks where the source says more than the code.
    pub(super) causes: HashMap<u32, Cause>,
    /// Stacks at which a register lost a pointer, and no variable was there.
    pub(super) copies: HashSet<u32>,
    /// By such a stack and that of a last use, where the same function did that, and
    /// the variable that was in the register there.
    pub(super) last_uses: BTreeMap<(u32, u32), (PlaceId, Option<String>)>,
    /// By the stack of a latest stamp and that of a last use after it.
    pub(super) later_uses: BTreeMap<(u32, u32), PlaceId>,
    pub(super) unknown: PlaceId,
}

impl RecordPlaces {
    /// A stack that the record does not have is a place without frames.
    pub fn of(&self, stack: u32) -> PlaceId {
        self.known(stack).unwrap_or(self.unknown)
    }

    /// The library's call at the inner end of a stack, if it is one.
    pub fn call(&self, stack: u32) -> Option<Call> {
        self.calls.get(&stack).copied()
    }

    /// Places of accesses before a last one; those without frames are left out.
    pub fn burst(&self, burst: &Burst) -> Vec<PlaceId> {
        let places = burst.places.iter().take(burst.count as usize);
        places.filter_map(|&place| self.known(place)).collect()
    }

    /// What held the pointer that died at a stack, if that is known by its
    /// place in a frame alone.
    pub fn held(&self, stack: u32) -> Option<String> {
        self.held.get(&stack).cloned()
    }

    /// How the pointer went that died at a stack, where the site says less.
    pub fn cause(&self, stack: u32) -> Option<Cause> {
        self.causes.get(&stack).copied()
    }

    /// Whether what died at a stack was the compiler's own copy of a pointer.
    pub fn is_copy(&self, stack: u32) -> bool {
        self.copies.contains(&stack)
    }

    /// Where such copies had a variable last, by their stack and that of the last
    /// use.
    pub fn last_uses(&self) -> impl Iterator<Item = ((u32, u32), &(PlaceId, Option<String>))> {
        self.last_uses.iter().map(|(&stacks, last)| (stacks, last))
    }

    /// Where blocks were used after their latest stamp, by the stacks of both.
    pub fn later_uses(&self) -> impl Iterator<Item = ((u32, u32), PlaceId)> {
        self.later_uses.iter().map(|(&stacks, &place)| (stacks, place))
    }

    /// The place of a stack that has frames.
    pub fn known(&self, stack: u32) -> Option<PlaceId> {
        self.by_stack.get(&stack).copied().filter(|&place| place != self.unknown)
    }
}
