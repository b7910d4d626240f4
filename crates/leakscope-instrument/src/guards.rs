//! The small functions through which instrumented code talks to the runtime:
//! a range check that is inlined, and a call behind it. They are functions
//! because LLVM's C interface cannot split a block.

use leakscope_wire::followed;

use crate::{Part, contexts};

/// Added to a module before it is optimised.
///
/// What was never written may be any value, but must be one value, hence
/// `freeze`. The runtime's functions are weak, because a shared object is
/// linked before the program that brings the runtime. They are bound when it is
/// loaded: to be bound at the first call would cost a register that they are
/// said to keep. They touch only memory of their own, as far as the program can
/// tell.
///
/// What is inlined must be small: there are as many as stores and ends of
/// lives. `leakscope.*.stamp` are behind it, and do what the runtime's functions
/// do where nothing is new: they find the block's stamp and the number of the
/// event by a few loads, and write time and event. All else they leave to the
/// runtime, which does not see them: so no frame, and a tail call.
pub fn before_optimisation() -> String {
    filled_in(BEFORE_OPTIMISATION)
}

/// Looks for the number of `%key` in `%tables`: goes to `found` with `%known`, or
/// to `help`.
const FIND: &str = "\
  %index = lshr i64 %key, $KEY_SHIFT
  %entry_at = getelementptr i64, ptr %tables, i64 %index
  %known = load atomic i64, ptr %entry_at monotonic, align 8
  %tag = shl i64 %key, $TAG_SHIFT
  %apart = xor i64 %known, %tag
  %is_known = icmp ult i64 %apart, 4294967296
  br i1 %is_known, label %found, label %help, !prof !1";

fn filled_in(text: &str) -> String {
    [
        ("$HIGH", followed::BLOCKS >> RANGE_BITS),
        ("$RANGE", u64::from(RANGE_BITS)),
        ("$BLOCKS", followed::BLOCKS),
        ("$FIRST_CHUNK", followed::BLOCKS >> followed::CHUNK_BITS),
        ("$CHUNK", followed::CHUNK_BITS.into()),
        ("$STAMPS", followed::STAMPS),
        ("$STEPS", followed::STEPS),
        ("$EVENT_BITS", u64::from(followed::EVENT_BITS)),
        ("$EVENT", (1 << followed::EVENT_BITS) - 1),
        ("$KEY_SHIFT", u64::from(64 - followed::NUMBERS_BITS)),
        ("$TAG_SHIFT", u64::from(followed::NUMBERS_BITS)),
        ("$KEY", followed::KEY),
        ("$TICKS", followed::TICKS - 1),
        ("$SPLIT", followed::SPLIT.into()),
        ("$USES", followed::USES),
    ]
    .iter()
    .fold(text.replace("$FIND", FIND), |text, (name, value)| {
        text.replace(name, &value.cast_signed().to_string())
    })
}

/// How the names of guards begin.
pub const PREFIX: &str = "leakscope.";

/// Whether a function gets the context of its call as its argument number
/// [`CONTEXT`], and not by the thread's variable.
pub fn takes_context(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(".stamp")
}

pub const CONTEXT: u32 = 4;

/// Whether a function of the runtime's does not ask where it was called.
pub fn needs_no_context(name: &str) -> bool {
    ["__leakscope_stays", "__leakscope_used_at"].contains(&name)
}

/// An address above these bits says whether it is followed.
const RANGE_BITS: u32 = 42;
const _: () = assert!(followed::END - followed::BLOCKS == 1 << RANGE_BITS);

const BEFORE_OPTIMISATION: &str = include_str!("guards/before_optimisation.ll");

/// The same where the deaths of locals are wanted that only borrow.
pub fn before_optimisation_of_all() -> String {
    before_optimisation()
        .replace("icmp ult i64 %since, %now", "icmp eq i64 %now, %now")
        .replace("i64 %since) #0", "i64 0) #0")
}

/// What is added to optimised code, and inlined there but for
/// `leakscope.used.stamp`: it writes uses as the ones above write deaths.
pub fn after_optimisation(part: Part) -> String {
    let text = filled_in(AFTER_OPTIMISATION).replace("$CALL", contexts::NUMBER);
    match part {
        // What is asked often is near: no register has to hold its address.
        Part::Program => text.replace(" external global", " external dso_local global"),
        Part::Library => text,
    }
}

const AFTER_OPTIMISATION: &str = include_str!("guards/after_optimisation.ll");

/// What is added for a run that explains: reads and sets of pointers, and
/// integers in blocks that change.
pub const DETAILS: &str = include_str!("guards/details.ll");
