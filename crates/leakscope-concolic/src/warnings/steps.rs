//! A path as tools tell it: places, each with a sentence.

use crate::warning::{MarkKind, PathMark, Spot};

/// The marks of a path that ends at `leak`, or at its last step, if a tool points to where the
/// path begins. Sentences that are neither about a
/// branch nor about the allocation are no marks: they lie where the reader
/// looks, not where the program passes.
pub fn marks(steps: &[(Spot, String)], leak: Option<Spot>) -> Vec<PathMark> {
    let ends = |index: Option<&(Spot, String)>| index.map(|(spot, _)| spot.clone());
    let (first, last) = (ends(steps.first()), ends(steps.last()));
    let leak = if first == leak { last.or(leak) } else { leak };
    let mut marks = Vec::new();
    let mut has_allocation = false;
    for (spot, text) in steps {
        let kind = match branch(text) {
            Some(true) => MarkKind::BranchTaken,
            Some(false) => MarkKind::BranchNotTaken,
            None if !has_allocation && is_allocation(text) => {
                has_allocation = true;
                MarkKind::Allocation
            }
            None => continue,
        };
        marks.push(PathMark { kind, spot: spot.clone() });
    }
    marks.extend(leak.map(|spot| PathMark { kind: MarkKind::Leak, spot }));
    marks
}

pub fn is_allocation(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // "allocated here", "Memory is allocated", "allocation part of the trace
    // starts here"; not "allocated memory is returned".
    [
        "allocated here",
        "is allocated",
        "allocation part",
        "memory allocated",
        "dynamically allocated",
        "acquired",
    ]
    .iter()
    .any(|part| text.contains(part))
}

/// Whether a sentence says that a branch goes one way.
fn branch(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if says(&["true branch", "'true' branch", "‘true’ branch", "condition is true. entering", "branch taken"])
    {
        return (!says(&["branch not taken"])).then_some(true);
    }
    says(&["false branch", "'false' branch", "‘false’ branch", "condition is false", "branch not taken"])
        .then_some(false)
}

/// Whether a rule or a message is about memory that leaks.
pub fn is_leak(rule: &str, message: &str) -> bool {
    let text = format!("{rule} {message}").to_ascii_lowercase();
    text.contains("leak") || text.contains("cwe-401") || text.contains("never freed")
}
