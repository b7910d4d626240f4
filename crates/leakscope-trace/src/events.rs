//! How the pointers to lost blocks died: what stamps say, made comparable
//! between records.

use std::collections::{HashMap, HashSet};

use indexmap::IndexSet;
use leakscope_core::{Cause, Frame};
use leakscope_wire as wire;

use crate::objects::Called;
use crate::places::{PlaceId, Places, RecordPlaces};
use crate::record::{Record, Site};
use crate::roots::{Holder, Roots};

/// An event by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(usize);

/// A pointer died.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    pub place: PlaceId,
    pub cause: Cause,
    /// What held it.
    pub variable: Option<String>,
    pub exactness: Exactness,
}

/// Whether the last pointer died there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exactness {
    Exact,
    /// After that: optimised code kept it in a register.
    Later,
    /// After that: a library, or an object that was ended at exit, had it, with no
    /// code of the user's around.
    Unseen,
}

/// All events that were met, each once.
#[derive(Default)]
pub struct Events {
    known: IndexSet<Event>,
}

impl Events {
    /// The events by which the blocks of `record` were lost.
    pub fn of_record<'r>(
        &mut self,
        places: &Places,
        named: &RecordPlaces,
        record: &'r Record,
    ) -> RecordEvents<'r> {
        let mut by_stack = HashMap::new();
        for &id in record.stamps.iter().flat_map(|stamps| &stamps.stacks) {
            let Some(place) = named.known(id).filter(|_| !by_stack.contains_key(&id)) else { continue };
            let site = record.stacks.get(&id).and_then(|stack| record.site(stack));
            let mut event = Event {
                place,
                cause: named
                    .cause(id)
                    .unwrap_or_else(|| site.and_then(|site| site.cause).map_or(Cause::Unknown, cause)),
                variable: site.and_then(|site| site.variable.clone()).or_else(|| named.held(id)),
                exactness: Exactness::Exact,
            };
            // A frame or thread that is left behind has names of its own.
            if !matches!(event.cause, Cause::Unwound | Cause::ThreadEnd)
                && let Some((called, object)) = places.object(place)
            {
                event.variable = object.map(str::to_owned);
                event.cause = match called {
                    Called::Destructor => Cause::ScopeEnd,
                    Called::Assignment => Cause::Overwritten,
                    Called::Other => event.cause,
                };
            }
            by_stack.insert(id, EventId(self.known.insert_full(event).0));
        }
        let mut last_uses = HashMap::new();
        for (stacks, (place, variable)) in named.last_uses() {
            let variable = variable.clone();
            let died = by_stack.get(&stacks.0).map(|&id| self.event(id));
            let (place, cause, exactness) = match died {
                // Whatever had it in the frame, it went with that.
                Some(Event { place, cause: Cause::Unwound, exactness, .. }) => {
                    (*place, Cause::Unwound, *exactness)
                }
                // The compiler needed the register when no variable had it any more.
                Some(Event { cause: Cause::Overwritten, .. }) if variable.is_some() => {
                    (*place, Cause::ScopeEnd, Exactness::Later)
                }
                died => (*place, died.map_or(Cause::Unknown, |event| event.cause), Exactness::Later),
            };
            let event = Event { place, cause, variable, exactness };
            last_uses.insert(stacks, EventId(self.known.insert_full(event).0));
        }
        let mut later_uses = HashMap::new();
        for (stacks, place) in named.later_uses() {
            let line = |place: PlaceId| places.stack(place).next().map(|frame| (&frame.file, frame.line));
            let stamped = by_stack.get(&stacks.0).map(|&id| self.event(id).place);
            if stamped.and_then(line) != line(place) {
                let event =
                    Event { place, cause: Cause::ScopeEnd, variable: None, exactness: Exactness::Later };
                later_uses.insert(stacks, EventId(self.known.insert_full(event).0));
            }
        }
        let mut thrown = HashSet::new();
        for stamps in &record.stamps {
            let [freed, before, _] = stamps.stacks.map(|stack| by_stack.get(&stack).copied());
            if let (Some(freed), Some(before)) = (freed, before)
                && self.is_taken_back(freed, before, places)
            {
                thrown.insert((freed, before));
            }
        }
        let mut unseen = HashMap::new();
        for stamps in &record.stamps {
            let is_users = |id: &EventId| places.is_users(self.event(*id).place);
            let mut known = stamps.stacks.iter().map(|stack| by_stack.get(stack).copied());
            let is_late = known.next().flatten().is_some_and(|latest| !is_users(&latest));
            if let Some(before) = known.flatten().find(is_users).filter(|_| is_late) {
                let event = Event { exactness: Exactness::Unseen, ..self.event(before).clone() };
                unseen.insert(before, EventId(self.known.insert_full(event).0));
            }
        }
        let unwound = by_stack.values().copied().filter(|&id| self.event(id).cause == Cause::Unwound);
        let is_users = |&id: &EventId| places.is_users(self.event(id).place);
        let users = by_stack.values().copied().filter(is_users).collect();
        let (unwound, nameless) = unwound.partition(|&id| self.event(id).variable.is_some());
        let stamped = |stamps: &wire::Stamps| (stamps.stacks[0] != 0).then_some(stamps.time);
        let times: Vec<Option<u64>> =
            (0..record.lost.len()).map(|block| record.stamps.get(block).and_then(stamped)).collect();
        let copies: HashSet<u32> = by_stack.keys().copied().filter(|&id| named.is_copy(id)).collect();
        let holder = |block: usize| match record.stamps.get(block).map(|stamps| stamps.stacks[0]) {
            Some(latest) if copies.contains(&latest) => Holder::Copy,
            Some(latest) if by_stack.get(&latest).is_some_and(|&id| self.event(id).variable.is_some()) => {
                Holder::Named
            }
            _ => Holder::Unknown,
        };
        let roots = Roots::new(&times, holder, &record.edges);
        RecordEvents {
            record,
            by_stack,
            last_uses,
            later_uses,
            thrown,
            unseen,
            users,
            unwound,
            nameless,
            copies,
            roots,
        }
    }

    /// Whether memory was freed because of a throw inside the same statement, as
    /// that of an object whose constructor throws under `new`.
    fn is_taken_back(&self, freed: EventId, thrown: EventId, places: &Places) -> bool {
        let (freed, thrown) = (self.event(freed), self.event(thrown));
        let lines = |place| places.stack(place).map(|frame| (&frame.function, &frame.file, frame.line));
        let [outer, inner] = [freed.place, thrown.place].map(|place| lines(place).collect::<Vec<_>>());
        (freed.cause, thrown.cause) == (Cause::HolderFreed, Cause::Unwound) && inner.ends_with(&outer)
    }

    pub fn event(&self, id: EventId) -> &Event {
        &self.known[id.0]
    }
}

/// The events of one record, by lost block.
pub struct RecordEvents<'r> {
    record: &'r Record,
    by_stack: HashMap<u32, EventId>,
    /// By stack of a copy's death and of the last use.
    last_uses: HashMap<(u32, u32), EventId>,
    /// By stack of a latest stamp and of a last use after it.
    later_uses: HashMap<(u32, u32), EventId>,
    /// Frees by which a throw took back the memory of an object that was never
    /// finished, with the throw.
    thrown: HashSet<(EventId, EventId)>,
    /// Events after which the last pointer went with no code of the user's around,
    /// as they are told.
    unseen: HashMap<EventId, EventId>,
    /// Those in which code of the user's had a part.
    users: HashSet<EventId>,
    /// Frames were left behind; what was in them had a name, or none.
    unwound: HashSet<EventId>,
    nameless: HashSet<EventId>,
    /// Stacks of the compiler's own copies.
    copies: HashSet<u32>,
    pub roots: Roots,
}

impl RecordEvents<'_> {
    /// The event by which `block` was lost: the latest of it and of all lost
    /// blocks that reach it.
    /// Where the compiler had a copy in a register that no variable had, what it
    /// was a copy of is meant, or the last use by the same function; where somebody used the
    /// block after all that was seen to die, that use. Where libraries drop copies of their own with no
    /// code of the user's around them, that comes too late to be meant. Frames that are left behind hold copies in words that are nobody's:
    /// the variable that was left with them is meant.
    pub fn leak(&self, block: usize) -> Option<EventId> {
        let latest = self.roots.latest(block)?;
        if let Some(original) = self.original(latest) {
            return Some(original);
        }
        let stamps = self.record.stamps.get(latest)?;
        let stacks = (stamps.stacks[0], stamps.last_used);
        if let Some(&last_use) = self.last_uses.get(&stacks) {
            return Some(last_use);
        }
        if let Some(&use_after) = self.later_uses.get(&stacks).filter(|_| self.record.is_used_after(latest)) {
            return Some(use_after);
        }
        if let Some(original) = self.original_beside(latest) {
            return Some(original);
        }
        if let Some(thrown) = self.thrown(latest) {
            return Some(thrown);
        }
        let mut stamps = self.stamps(latest);
        let latest = stamps.next()??;
        if !self.users.contains(&latest) {
            let before = stamps.flatten().find(|event| self.users.contains(event));
            return Some(before.map_or(latest, |event| self.unseen.get(&event).copied().unwrap_or(event)));
        }
        let is_named = |event: &EventId| self.unwound.contains(event);
        let named = self.nameless.contains(&latest).then(|| stamps.flatten().find(is_named)).flatten();
        Some(named.unwrap_or(latest))
    }

    /// What died in memory before the compiler's copy of it did in a register, if
    /// nobody used the block after that, or a function of a library did it that was
    /// given the memory in the same call.
    fn original(&self, block: usize) -> Option<EventId> {
        let record = self.record;
        let [copy, original, ..] = record.stamps.get(block)?.stacks;
        let original_at = record.stacks.get(&original)?;
        let in_memory = record.site(original_at).and_then(|site| site.cause);
        let is_unused = record.unused.contains(&(block as u64))
            && matches!(
                in_memory,
                Some(wire::Cause::Overwritten | wire::Cause::HolderFreed | wire::Cause::ScopeEnd)
            );
        let by_library = || record.site(original_at).is_some_and(Site::is_behind_argument);
        let is_meant = is_unused || self.called_inside(copy, original).is_some() && by_library();
        self.by_stack
            .get(&original)
            .copied()
            .filter(|event| self.copies.contains(&copy) && is_meant && self.users.contains(event))
    }

    /// What died in memory before, in the same call of a function.
    fn original_beside(&self, block: usize) -> Option<EventId> {
        let [copy, original, ..] = self.record.stamps.get(block)?.stacks;
        let is_beside = self.copies.contains(&copy) && self.called_inside(copy, original)? == 1;
        self.by_stack.get(&original).copied().filter(|event| is_beside && self.users.contains(event))
    }

    /// The throw that made the memory go in which the last pointer was.
    fn thrown(&self, block: usize) -> Option<EventId> {
        let mut stamps = self.stamps(block);
        let (freed, thrown) = (stamps.next()??, stamps.next()??);
        self.thrown.contains(&(freed, thrown)).then_some(thrown)
    }

    /// How many calls inside of the one with a copy's death, with itself, another
    /// death was.
    fn called_inside(&self, copy: u32, other: u32) -> Option<usize> {
        let [copy, other] = [self.record.stacks.get(&copy)?, self.record.stacks.get(&other)?];
        Some(other.addresses.strip_suffix(copy.addresses.get(1..)?)?.len())
    }

    /// What may be meant if that is not the answer: earlier events of the
    /// block that was stamped then, and those of `block` itself.
    pub fn earlier(&self, block: usize) -> impl Iterator<Item = EventId> {
        let latest = self.roots.latest(block);
        let own = Some(block).filter(|&block| latest != Some(block));
        let before = latest.into_iter().flat_map(|block| self.stamps(block).skip(1));
        before.chain(own.into_iter().flat_map(|block| self.stamps(block))).flatten()
    }

    /// Latest first; none where the place is not known.
    fn stamps(&self, block: usize) -> impl Iterator<Item = Option<EventId>> {
        let stamps = self.record.stamps.get(block).copied().unwrap_or_default();
        stamps.stacks.into_iter().map(|stack| self.by_stack.get(&stack).copied())
    }
}

/// Why the leak point is only a bound, if it is.
pub fn inexact(event: Option<&Event>, places: &Places) -> Option<String> {
    let Some(event) = event else {
        return Some(
            "no pointer to the block was seen to die: code that is not instrumented had it".to_owned(),
        );
    };
    let reason = match event.exactness {
        Exactness::Exact => None,
        Exactness::Later => {
            Some("optimised code kept the pointer in a register after this, its last use in the function")
        }
        Exactness::Unseen => {
            Some("the last pointer went later, where none of the program's own functions was running")
        }
    };
    if let Some(reason) = reason {
        return Some(reason.to_owned());
    }
    let caller = places.stack(event.place).nth(1);
    let unseen = caller.filter(|caller| event.cause == Cause::Returned && caller.system)?;
    Some(format!("the pointer was returned to code that is not instrumented, {}", name(unseen)))
}

fn name(frame: &Frame) -> String {
    let (function, module) = (frame.function.as_deref(), frame.module.as_deref());
    match (function, module) {
        (Some(function), Some(module)) => format!("{function} in {module}"),
        (known, None) | (None, known) => known.unwrap_or("of which no name is known").to_owned(),
    }
}

pub fn cause(cause: wire::Cause) -> Cause {
    match cause {
        wire::Cause::Overwritten => Cause::Overwritten,
        wire::Cause::ScopeEnd => Cause::ScopeEnd,
        wire::Cause::HolderFreed => Cause::HolderFreed,
        wire::Cause::Discarded => Cause::Discarded,
        wire::Cause::Returned => Cause::Returned,
        wire::Cause::Unwound => Cause::Unwound,
        wire::Cause::ThreadEnd => Cause::ThreadEnd,
    }
}
