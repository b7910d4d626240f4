//! What stopped the program: a block freed twice, or a free of what is none.

use annotate_snippets::Level;
use leakscope_core::{Fault, FaultKind, Place};

use crate::snippet::Files;
use crate::stack;
use crate::text::{self, ALLOCATED, ALLOCATION_LINES, BOLD, LOST, OTHER_LINES, Page};

/// A place of a fault, and what is said of it.
pub(crate) struct Part<'a> {
    pub place: &'a Place,
    /// Beside the source.
    pub label: &'static str,
    /// Before a function's name.
    pub title: &'static str,
}

/// The places of `fault`, the wrong call first.
pub(crate) fn parts(fault: &Fault) -> Vec<Part<'_>> {
    let (label, title) = match fault.kind {
        FaultKind::DoubleFree => ("freed again here", "freed again"),
        FaultKind::InvalidFree => ("freed here", "freed"),
    };
    let mut parts = vec![Part { place: &fault.place, label, title }];
    let freed = fault.freed.as_ref();
    parts.extend(freed.map(|place| Part { place, label: "first freed here", title: "first freed" }));
    let allocated = fault.allocated.as_ref();
    parts.extend(allocated.map(|place| Part { place, label: ALLOCATED, title: "allocated" }));
    parts
}

pub(crate) fn name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::DoubleFree => "double free",
        FaultKind::InvalidFree => "invalid free",
    }
}

/// What is wrong with the pointer.
pub(crate) fn reason(fault: &Fault) -> &'static str {
    match (fault.kind, &fault.allocated) {
        (FaultKind::DoubleFree, _) => "the block was freed before",
        (FaultKind::InvalidFree, Some(_)) => "the pointer is not the start of the block that it lies in",
        (FaultKind::InvalidFree, None) => "the pointer is not to a block of the heap",
    }
}

/// What to do about it.
pub(crate) fn hint(fault: &Fault) -> &'static str {
    match (fault.kind, &fault.allocated) {
        (FaultKind::DoubleFree, _) => {
            "decide which of the two places owns the block and frees it; the other must not, or must know that it is gone"
        }
        (FaultKind::InvalidFree, Some(_)) => {
            "keep the pointer that the allocation returned, and free that one"
        }
        (FaultKind::InvalidFree, None) => {
            "free only what malloc, new and the like returned; locals, globals and string literals are not freed"
        }
    }
}

impl Page<'_> {
    /// The fault in full, or nothing.
    pub(crate) fn fault(&self, files: &mut Files) -> String {
        let Some(fault) = &self.report.fault else {
            return String::new();
        };
        let parts = parts(fault);
        let at: Vec<String> = parts
            .iter()
            .filter(|part| part.label != ALLOCATED)
            .map(|part| format!("{} in {}", part.title, self.place(part.place)))
            .collect();
        let kind = self.paint(LOST, &format!("{} of {:#x}:", name(fault.kind), fault.address));
        let mut out = format!("{kind} {}\n", self.paint(BOLD, &at.join(", ")));
        let spots = text::spots(parts.iter().map(|part| (part.place.headline(), part.label.to_owned())));
        out += &self.snippets(Level::ERROR, spots, files);
        let lines = |part: &Part| if part.label == ALLOCATED { ALLOCATION_LINES } else { OTHER_LINES };
        let stacks = parts.iter().map(|part| (part.title, stack::folded(part.place, lines(part))));
        out += &self.titled_stacks(stacks.collect());
        if fault.freed.is_none() {
            out += &format!("  {}\n", reason(fault));
        }
        out.push('\n');
        out
    }
}
