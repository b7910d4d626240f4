//! How the pointers to lost blocks died: what stamps say, made comparable
//! between records.

use std::collections::HashMap;

use indexmap::IndexSet;
use leakscope_core::{Cause, Frame};
use leakscope_wire as wire;

use crate::places::{PlaceId, Places, RecordPlaces};
use crate::record::Record;
use crate::roots::Roots;

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
}

/// All events that were met, each once.
#[derive(Default)]
pub struct Events {
    known: IndexSet<Event>,
}

impl Events {
    /// The events by which the blocks of `record` were lost.
    pub fn of_record<'r>(&mut self, named: &RecordPlaces, record: &'r Record) -> RecordEvents<'r> {
        let mut by_stack = HashMap::new();
        for &id in record.stamps.iter().flat_map(|stamps| &stamps.stacks) {
            let Some(place) = named.known(id).filter(|_| !by_stack.contains_key(&id)) else { continue };
            let site = record.stacks.get(&id).and_then(|stack| record.site(stack));
            let event = Event {
                place,
                cause: site.and_then(|site| site.cause).map_or(Cause::Unknown, cause),
                variable: site.and_then(|site| site.variable.clone()),
            };
            by_stack.insert(id, EventId(self.known.insert_full(event).0));
        }
        let stamped = |stamps: &wire::Stamps| (stamps.stacks[0] != 0).then_some(stamps.time);
        let times: Vec<Option<u64>> =
            (0..record.lost.len()).map(|block| record.stamps.get(block).and_then(stamped)).collect();
        RecordEvents { record, by_stack, roots: Roots::new(&times, &record.edges) }
    }

    pub fn event(&self, id: EventId) -> &Event {
        &self.known[id.0]
    }
}

/// The events of one record, by lost block.
pub struct RecordEvents<'r> {
    record: &'r Record,
    by_stack: HashMap<u32, EventId>,
    pub roots: Roots,
}

impl RecordEvents<'_> {
    /// The event by which `block` was lost: the latest of it and of all lost
    /// blocks that reach it.
    pub fn leak(&self, block: usize) -> Option<EventId> {
        self.stamps(self.roots.latest(block)?).next()?
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

fn cause(cause: wire::Cause) -> Cause {
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
