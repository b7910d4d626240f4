//! A line for what the optimiser made of instructions of several lines: it has
//! line 0 in the function that they were of, and would be told as a call of
//! that function. What comes before it there is meant.

use llvm_sys::debuginfo::LLVMDILocationGetInlinedAt;

use crate::ir::{Location, Value};

/// Where `at` is, or what comes before it in the same call of its function, in
/// its block or at the ends of those that lead there; else what comes after it.
pub fn location<'m>(at: Value<'m>) -> Option<Location<'m>> {
    let own = at.location()?;
    if own.line() != 0 {
        return Some(own);
    }
    // SAFETY: live locations; null for none.
    let call = |it: Location<'m>| unsafe { LLVMDILocationGetInlinedAt(it.raw) };
    let has_line = |it: &Location<'m>| it.line() != 0 && call(*it) == call(own);
    let located = |it: Value<'m>| it.location().filter(has_line).filter(|_| !it.is_intrinsic());
    let before = |it: Value<'m>| std::iter::successors(Some(it), |it| it.previous()).find_map(located);
    let after = || std::iter::successors(at.next(), |it| it.next()).find_map(located);
    before(at).or_else(|| at.block().ways_in().find_map(before)).or_else(after).or(Some(own))
}
