//! Reference-counted blocks: which integer counts, and from when on it counted
//! more references than there were holders.
//!
//! A slot has the block from when it was set to when it was read last: what it
//! has after that helps nobody. Slots that got their pointer from one another
//! share a reference, until somebody counts up: that is a new reference, for one
//! of them and those that get their pointer from it (`holders`).
//! The leak is the moment from which on, to the end, the count exceeds the
//! references that some slot has: there a holder gave up without counting down,
//! or a reference was counted for nobody. Functions that were given the block as a
//! parameter are passed over, unless the reference began with a variable of theirs:
//! whoever gave it had the reference. Who gave what no variable of his ever had
//! cannot have meant to drop it: then the function that got it is meant, unless it
//! counts for itself.
//!
//! Where memory shares the reference and has its pointer for longer than anybody
//! reads it, the reference is the memory's: what locals got from there was
//! borrowed. A slot that handed its block over (`handed`) has none.
//!
//! A count that became zero, and a block that was not freed then, is the end
//! of whoever read it last: there it should have been freed.
//!
//! The plain stamp of such a block says when the last pointer went, which may be
//! a rightful holder's.

mod holders;

use holders::{Reference, held_until};
use leakscope_core::Frame;
use leakscope_wire::lives::IS_CALL;
use leakscope_wire::{Cause, Count, Death, Edge, Life};

use crate::handed;
use crate::record::{Module, Record, Stack};

/// How pointers to a lost block came and went, as the record has it.
#[derive(Debug)]
pub struct Details {
    /// Number of the lost block.
    pub block: u32,
    pub lives: Vec<Life>,
    pub counts: Vec<Count>,
    pub deaths: Vec<Death>,
}

/// What is known of a lost block that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    pub references: u64,
    pub holders: u64,
    pub field: Option<String>,
    /// The stack at the moment from which on there were fewer holders than
    /// references; none if lost blocks hold them all, a cycle, or where the last
    /// pointer says more.
    pub moment: Option<u32>,
    /// What held the reference that was not dropped.
    pub variable: Option<String>,
    /// How that went; none if it is not known to have gone.
    pub cause: Option<Cause>,
    /// False if some variables are known by their functions alone.
    pub is_exact: bool,
}

/// Larger counts are something else.
const REFERENCES_MOST: u64 = 1 << 20;

/// Judges all lost blocks of which details are known.
pub fn judge(record: &mut Record, details: &[Details]) {
    for block in details {
        if let Some(counted) = judge_block(record, block) {
            record.counted.insert(block.block, counted);
        }
    }
}

fn judge_block(record: &mut Record, details: &Details) -> Option<Counted> {
    let lost = *record.lost.get(details.block as usize)?;
    let mut offsets: Vec<u32> = details.counts.iter().map(|count| count.offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let (counts, field) = offsets.into_iter().find_map(|offset| {
        let counts: Vec<Count> = details.counts.iter().copied().filter(|it| it.offset == offset).collect();
        let field = counts.iter().find_map(|count| field_of(record, count.stack));
        // Blocks of other places may be of the same kind: the same code counts them down.
        let is_counted_alike = |by: u32| {
            let mut downs = counts.windows(2).filter(|pair| pair[1].value < pair[0].value);
            downs.any(|pair| is_same_call(record, pair[1].stack, by))
        };
        let is_zero_when_freed = record.zeroed.iter().any(|zeroed| {
            zeroed.offset == offset
                && (is_same_call(record, zeroed.stack, lost.stack) || is_counted_alike(zeroed.counted))
        });
        counts_references(&counts, field.as_deref(), is_zero_when_freed).then_some((counts, field))
    })?;
    let references = counts.last()?.value;
    if references == 0 {
        return Some(never_freed(record, details, counts.last()?, field));
    }
    // Lost blocks that hold it are holders for ever.
    let inner = inner_holders(record, details.block).min(references);
    if inner == references {
        let (moment, variable, cause) = (None, None, None);
        return Some(Counted { references, holders: inner, field, moment, variable, cause, is_exact: true });
    }
    let is_same_call = |one: u32, other: u32| {
        let outside = |stack: u32| record.stacks.get(&stack).and_then(|stack| stack.addresses.get(1..));
        outside(one) == outside(other)
    };
    let moment = exceeds(&details.lives, &counts, inner, &is_same_call)?;
    let is_in_registers = |life: &Life| life.slot & IS_CALL != 0 && life.is_given == 0;
    let is_exact = !details.lives.iter().any(is_in_registers);
    if !is_exact && moment.references == 1 {
        // Of what is in registers the last pointer says more.
        let (moment, variable, cause) = (None, None, None);
        return Some(Counted { references, holders: 0, field, moment, variable, cause, is_exact });
    }
    let stack = record.stacks.get(&moment.stack)?;
    let began = moment.reference.as_ref().map(|it| details.lives[it.head].set_stack);
    let skipped = (0..stack.addresses.len())
        .find(|&frame| {
            let began_here = began.is_some_and(|began| is_set_in(record, began, stack, frame));
            began_here || !is_given(record, &details.lives, stack, frame, moment.time)
        })
        .unwrap_or(0);
    // A thread's function has what it was given: nobody's code called it.
    let is_users = |&frame: &usize| !is_librarys(record, stack, frame);
    let is_called = (skipped..stack.addresses.len()).any(|frame| is_users(&frame));
    let outermost = if is_called { None } else { (0..skipped).rev().find(is_users) };
    let skipped = outermost.unwrap_or(skipped);
    // It was counted to be given to a function.
    let is_given = moment.reference.as_ref().is_some_and(|it| {
        let head = &details.lives[it.head];
        head.is_given != 0 && head.from != 0
    });
    let is_taken = skipped > 0 && is_taken_over(record, details, &counts, stack, skipped, &moment);
    let skipped = if is_taken { skipped - 1 } else { skipped };
    let told = end_of_memory(record, details, &moment).unwrap_or_else(|| match is_taken || is_given {
        true if is_taken => end_of_parameter(record, details, &stack.addresses[skipped..], &moment),
        true => End::default(),
        false => end_of_holder(record, details, &stack.addresses[skipped..], &moment),
    });
    let id = match told.stack {
        Some(id) => id,
        None => {
            let owner = Stack {
                generation: stack.generation,
                site: if skipped == 0 { stack.site } else { 0 },
                addresses: stack.addresses[skipped..].to_vec(),
            };
            let id = (0..u32::MAX).rev().find(|id| !record.stacks.contains_key(id))?;
            record.stacks.insert(id, owner);
            id
        }
    };
    let Moment { references, holders, .. } = moment;
    let (variable, cause) = (told.variable, told.cause);
    Some(Counted { references, holders, field, moment: Some(id), variable, cause, is_exact })
}

/// Whether the code of a frame is a library's of the system.
fn is_librarys(record: &Record, stack: &Stack, frame: usize) -> bool {
    let address = stack.addresses[frame].wrapping_sub(1);
    // The program itself comes first.
    let mut libraries = record.modules.iter().skip(1).filter(|module| {
        let path = module.path.to_string_lossy();
        Frame::default().of_module(leakscope_core::Module::Other(&path)).system
    });
    libraries.any(|Module { at, .. }| {
        (at.start..at.end).contains(&address)
            && (at.first_generation..=at.last_generation).contains(&stack.generation)
    })
}

/// How the slot went that had the reference, and where.
#[derive(Default)]
struct End {
    stack: Option<u32>,
    variable: Option<String>,
    cause: Option<Cause>,
}

/// The end of the slot that a function, by its stack, read last before a moment:
/// something else was stored there, a local of the same name died in the same
/// call, or the block was freed that it was in. A function that has it in no slot had it as a temporary.
fn end_of_holder(record: &Record, details: &Details, owner: &[u64], moment: &Moment) -> End {
    let site = |stack: u32| record.site(record.stacks.get(&stack)?);
    let is_in_owner = |stack: u32| {
        record.stacks.get(&stack).is_some_and(|stack| stack.addresses.get(1..) == owner.get(1..))
    };
    let lives = || details.lives.iter().filter(|life| held_until(life) <= moment.time);
    let own = lives().filter(|life| is_in_owner(life.read_stack)).max_by_key(|life| life.read);
    // A slot that others read too may not have been read here.
    let last = lives().find(|life| held_until(life) == moment.time && life.is_given == 0);
    let Some(holder) = last.filter(|life| life.ended != 0).or(own) else {
        return End { cause: Some(Cause::Discarded), ..End::default() };
    };
    let variable = site(holder.read_stack).and_then(|site| site.variable.clone());
    if holder.ended != 0 {
        let variable = site(holder.ended_stack).and_then(|site| site.variable.clone()).or(variable);
        return End { stack: Some(holder.ended_stack), variable, cause: Some(Cause::Overwritten) };
    }
    let is_its = |death: &&Death| {
        death.time >= holder.read
            && is_in_owner(death.stack)
            && site(death.stack).is_some_and(|site| site.variable == variable)
    };
    // No variable of the function's, and nothing else was stored there: a field
    // of a block that was freed later.
    let is_holders = |death: &&Death| {
        death.time >= holder.read
            && site(death.stack).is_some_and(|site| site.cause == Some(Cause::HolderFreed))
    };
    match details.deaths.iter().find(is_its).or_else(|| details.deaths.iter().find(is_holders)) {
        Some(death) => {
            let site = site(death.stack);
            let named = site.and_then(|site| site.variable.clone());
            End {
                stack: Some(death.stack),
                variable: named.or(variable),
                cause: site.and_then(|it| it.cause),
            }
        }
        None => End { variable, ..End::default() },
    }
}

/// The end of the parameter of a function, by its stack, that took the reference over: where the
/// function was left.
fn end_of_parameter(record: &Record, details: &Details, owner: &[u64], moment: &Moment) -> End {
    let ends = |death: &&Death| {
        let stack = record.stacks.get(&death.stack);
        let is_its = stack.is_some_and(|stack| stack.addresses.get(1..) == owner.get(1..));
        let site = stack.and_then(|stack| record.site(stack));
        death.time >= moment.time && is_its && site.is_some_and(|it| it.cause == Some(Cause::ScopeEnd))
    };
    let death = details.deaths.iter().find(ends);
    death.map_or(End::default(), |death| {
        let site = record.stacks.get(&death.stack).and_then(|stack| record.site(stack));
        let variable = site.and_then(|site| site.variable.clone());
        End { stack: Some(death.stack), variable, cause: site.and_then(|site| site.cause) }
    })
}

/// The end of the memory that had the reference, and has its pointer for longer than
/// anybody read it: something else was stored there, or its block was freed.
fn end_of_memory(record: &Record, details: &Details, moment: &Moment) -> Option<End> {
    let reference = moment.reference.as_ref()?;
    if !tells_locals(details) {
        return None;
    }
    let name = |stack: u32| record.site(record.stacks.get(&stack)?)?.variable.clone();
    let keeps = |&slot: &usize| {
        let life = &details.lives[slot];
        let is_memory = life.is_given == 0 && life.is_local == 0;
        let is_there = life.set <= moment.time && (life.ended == 0 || life.ended >= moment.time);
        is_memory && is_there && !handed::is_handed_over(record, details, life)
    };
    let end = |slot: usize| {
        let life = &details.lives[slot];
        let stack = match life.ended {
            0 => {
                details.deaths.iter().find(|it| it.life as usize == slot + 1 && it.time >= moment.time)?.stack
            }
            _ => life.ended_stack,
        };
        let cause = record.site(record.stacks.get(&stack)?).and_then(|site| site.cause);
        let variable = name(stack).or_else(|| name(life.set_stack));
        Some(End { stack: Some(stack), variable, cause: cause.or(Some(Cause::Overwritten)) })
    };
    reference.slots.iter().copied().filter(keeps).rev().find_map(end)
}

/// Whether locals are told from other memory, and named. Under Valgrind they are not.
fn tells_locals(details: &Details) -> bool {
    details.lives.iter().any(|life| life.is_local != 0)
}

/// Whether a function took the reference over that it was given: the frame that
/// called it, by its number, had the block in no variable, and the call did not count
/// up.
fn is_taken_over(
    record: &Record,
    details: &Details,
    counts: &[Count],
    stack: &Stack,
    caller: usize,
    moment: &Moment,
) -> bool {
    let Some(reference) = moment.reference.as_ref().filter(|_| tells_locals(details)) else { return false };
    let time = moment.time;
    let name = |stack: u32| record.site(record.stacks.get(&stack)?)?.variable.as_deref();
    let is_variable = |life: &&Life| life.is_given == 0 && name(life.set_stack).is_some();
    let has_variable = || {
        let mut variables = reference.slots.iter().map(|&slot| &details.lives[slot]).filter(is_variable);
        variables.any(|life| is_set_in(record, life.set_stack, stack, caller))
    };
    let mut given = details.lives.iter().filter(|life| life.is_given != 0 && life.set <= time);
    let since = given.rfind(|life| is_set_in(record, life.set_stack, stack, caller - 1));
    let is_inside = |stack_of_count: u32| {
        let of_count = record.stacks.get(&stack_of_count);
        of_count.is_some_and(|it| it.addresses.ends_with(&stack.addresses[caller..]))
    };
    let counts_up = |since: u64| {
        // It may do so after it read what it was given.
        let mut pairs = counts.windows(2).filter(|pair| pair[1].time >= since);
        pairs.any(|pair| pair[1].value > pair[0].value && is_inside(pair[1].stack))
    };
    since.is_some_and(|life| !has_variable() && !counts_up(life.set))
}

/// Of a block whose count became zero: whoever read a pointer to it last should
/// have freed it.
fn never_freed(record: &Record, details: &Details, zero: &Count, field: Option<String>) -> Counted {
    let read_after = details.lives.iter().filter(|life| life.read > zero.time);
    let stack = read_after.max_by_key(|life| life.read).map_or(zero.stack, |life| life.read_stack);
    let variable = record.stacks.get(&stack).and_then(|stack| record.site(stack)?.variable.clone());
    let moment = Some(stack);
    Counted { references: 0, holders: 0, field, moment, variable, cause: None, is_exact: true }
}

/// How many pointers lost blocks have to a lost block. A pointer of two words,
/// as a shared one is, is one.
fn inner_holders(record: &Record, block: u32) -> u64 {
    let holds = |edge: &&Edge| edge.to == block && edge.from != block;
    let mut from: Vec<u32> = record.edges.iter().filter(holds).map(|edge| edge.from).collect();
    from.dedup();
    from.len() as u64
}

/// Whether an integer counts references: it goes up and down by one. That siblings
/// were freed when theirs was zero settles it; else it began with one and
/// went down too, or its name says so. One that is zero at the end has a name that says so.
fn counts_references(counts: &[Count], field: Option<&str>, is_zero_when_freed: bool) -> bool {
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return false };
    let goes_by_one = counts.windows(2).all(|pair| pair[0].value.abs_diff(pair[1].value) == 1);
    if !goes_by_one || last.value > REFERENCES_MOST {
        return false;
    }
    let changes = counts.len() > 1;
    let goes_down = counts.windows(2).any(|pair| pair[1].value < pair[0].value);
    let is_named = field.is_some_and(names_references);
    match last.value {
        0 => goes_down && is_named,
        _ => is_zero_when_freed || changes && (first.value == 1 && goes_down || is_named),
    }
}

fn names_references(field: &str) -> bool {
    let field = field.to_lowercase();
    ["ref", "retain", "use_count", "users", "owners"].iter().any(|part| field.contains(part)) || field == "rc"
}

/// The field of `object->head.refs`.
fn field_of(record: &Record, stack: u32) -> Option<String> {
    let variable = record.site(record.stacks.get(&stack)?)?.variable.as_deref()?;
    let field = variable.rsplit(['.', '>']).next()?;
    (field.len() < variable.len()).then(|| field.to_owned())
}

/// Two stacks whose innermost calls are the same.
pub fn is_same_call(record: &Record, one: u32, other: u32) -> bool {
    let innermost = |stack| record.stacks.get(&stack).and_then(|stack| stack.addresses.first());
    innermost(one).is_some() && innermost(one) == innermost(other)
}

/// When a reference lost its holder.
struct Moment {
    time: u64,
    stack: u32,
    references: u64,
    holders: u64,
    /// The one that nobody has any more; none if it was counted for nobody.
    reference: Option<Reference>,
}

/// The moment from which on the count is more than the holders, `inner` of which
/// stay to the end. `is_same_call` says of two stacks whether one call of a function has both.
fn exceeds(
    lives: &[Life],
    counts: &[Count],
    inner: u64,
    is_same_call: &dyn Fn(u32, u32) -> bool,
) -> Option<Moment> {
    let mut all = holders::references(lives, counts, is_same_call);
    let holders = |time: u64| inner + all.iter().filter(|it| it.span.contains(&time)).count() as u64;
    let references =
        |time: u64| counts.iter().rev().find(|count| count.time <= time).map_or(0, |count| count.value);
    let mut times: Vec<u64> = lives
        .iter()
        .flat_map(|life| [life.set, life.read, held_until(life)])
        .chain(counts.iter().map(|it| it.time))
        .collect();
    times.sort_unstable();
    times.dedup();
    let fits = |&time: &u64| references(time) <= holders(time);
    let first = times.iter().rposition(fits).map_or(0, |last| last + 1);
    let &time = times.get(first)?;
    let (references, holders) = (references(time), holders(time));
    let end = |life: &Life| if life.ended == time { life.ended_stack } else { life.read_stack };
    let read = lives.iter().find(|life| life.read == time || held_until(life) == time).map(end);
    let stack = read.or_else(|| counts.iter().find(|count| count.time == time).map(|count| count.stack))?;
    let reference = all.iter().position(|it| it.span.end == time).map(|index| all.swap_remove(index));
    Some(Moment { time, stack, references, holders, reference })
}

/// Whether the function of a frame was given the block as a parameter, before a
/// moment: somebody set a parameter in a call from the same place.
fn is_given(record: &Record, lives: &[Life], stack: &Stack, frame: usize, time: u64) -> bool {
    let mut given = lives.iter().filter(|life| life.is_given != 0 && life.set <= time);
    given.any(|life| is_set_in(record, life.set_stack, stack, frame))
}

/// Whether the function of a frame set a slot, by the stack of that.
fn is_set_in(record: &Record, set: u32, stack: &Stack, frame: usize) -> bool {
    let set = record.stacks.get(&set);
    set.is_some_and(|set| set.addresses.get(1..) == stack.addresses.get(frame + 1..))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots as `name: set-read`, a parameter's name in parentheses, a local's after `~`, and `@f` for the function that sets it, with `/end` if it was overwritten, and `<name` for where it came from; counts as
    /// `time=value`. The moment is `time: references/holders`.
    fn check(lives: &str, counts: &str, expected: &str) {
        let names: Vec<&str> = lives.split(", ").map(|it| it.split(':').next().unwrap()).collect();
        let lives: Vec<Life> = lives
            .split(", ")
            .map(|text| {
                let (name, rest) = text.split_once(": ").unwrap();
                let (span, from) = rest.split_once(" <").unwrap_or((rest, ""));
                let (set, read) = span.split_once('-').unwrap();
                let from = names.iter().position(|&name| name == from).map_or(0, |index| index as u32 + 1);
                let (read, ended) = read.split_once('/').unwrap_or((read, "0"));
                let (read, ended): (u64, u64) = (read.parse().unwrap(), ended.parse().unwrap());
                Life {
                    slot: 0,
                    set: set.parse().unwrap(),
                    read,
                    ended,
                    ended_stack: ended as u32,
                    is_local: name.starts_with('~').into(),
                    set_stack: name.find('@').map_or(0, |at| u32::from(name.as_bytes()[at + 1])),
                    read_stack: read as u32,
                    from,
                    is_given: name.starts_with('(').into(),
                }
            })
            .collect();
        let counts: Vec<Count> = counts
            .split(' ')
            .map(|text| {
                let (time, value) = text.split_once('=').unwrap();
                let time: u64 = time.parse().unwrap();
                Count { time, value: value.parse().unwrap(), stack: time as u32, offset: 0 }
            })
            .collect();
        let found = exceeds(&lives, &counts, 0, &|one, other| one == other);
        let told = found.map(|it| format!("{}: {}/{}", it.stack, it.references, it.holders));
        assert_eq!(told.as_deref(), Some(expected));
    }

    #[test]
    fn the_moment_when_a_reference_lost_its_holder() {
        // One holder that never drops its reference.
        check("a: 1-9", "2=1", "9: 1/0");
        // The first holder gives up without dropping; the second drops at 20.
        check("a: 1-9, b: 5-20 <a", "2=1 6=2 21=1", "9: 2/1");
        // The other way round.
        check("a: 1-30, b: 5-20 <a", "2=1 6=2 31=1", "20: 2/1");
        // A loop that borrows from b does not count.
        check("a: 1-9, b: 5-40 <a, c: 12-30 <b", "2=1 6=2 41=1", "9: 2/1");
        // A reference that is counted for nobody.
        check("a: 1-30", "2=1 10=2 31=1", "10: 2/1");
        // A copy is stored before its reference is counted: no fit in between.
        check("a: 1-30, b: 10-29 <a", "2=1 3=2 12=3 31=2 32=1", "3: 2/1");
        // One that is overwritten before anybody read it.
        check("a: 1-30, b: 5-5/20 <a", "2=1 6=2 31=1", "20: 2/1");
        // A temporary is stored by a function that counts for its table, and
        // read through slots that are no holders; a copy of the table too.
        check(
            "made: 1-5, (value): 6-9 <made, entry: 8-90 <(value), found: 20-21 <entry, result: 22-23 <found, \
             (copied): 24-30 <result, other: 28-60 <(copied)",
            "2=1 7=2 25=3 61=2 91=1",
            "9: 2/1",
        );
        // What was found is counted for the caller, who forgets it.
        check(
            "made: 1-5, entry: 6-90 <made, found: 20-21 <entry, (object): 22-24 <found, kept: 25-40 <(object)",
            "2=1 23=2 91=1",
            "40: 2/1",
        );
        // A smart pointer counts through itself what it is made of.
        check("(object): 1-5, this: 6-30 <(object)", "3=1 8=2 31=1", "5: 1/0");
        // Looked up twice, and each time counted before it is handed out; the first is forgotten.
        check(
            "made: 1-3, users: 4-90 <made, u: 11-13 <users, w: 21-23 <users",
            "2=1 10=2 20=3 24=2 91=1",
            "13: 2/1",
        );
        // Its constructor was given it before; who got it by asking for it forgets it.
        check(
            "(this)@c: 1-3, made: 5-30 <(this)@c, (object): 6-8 <made, out: 9-12 <(object), got: 13-15 <out",
            "2=1 11=2 31=1",
            "15: 2/1",
        );
        // A copy in a local that nobody reads is none.
        check("made: 1-3, entry: 4-20 <made, ~value: 21-21/40 <entry", "2=1", "21: 1/0");
        // Counted to be given to a function, which forgets it.
        check("made: 1-30, (object): 5-7 <made, (value): 8-9 <(object)", "2=1 6=2 31=1", "9: 2/1");
        // Handed on: the old slot is not read again.
        check("a: 1-4, b: 5-9 <a", "2=1", "9: 1/0");
    }

    #[test]
    fn which_integers_count_references() {
        let check = |values: &[u64], field: &str, is_zero_when_freed: bool, expected: bool| {
            let count =
                |(time, &value): (usize, &u64)| Count { time: time as u64, value, stack: 0, offset: 0 };
            let counts: Vec<Count> = values.iter().enumerate().map(count).collect();
            let found = counts_references(&counts, Some(field), is_zero_when_freed);
            assert_eq!(found, expected, "{values:?} {field}");
        };
        check(&[1, 2, 1], "n", false, true);
        check(&[0, 1, 2, 1], "refcnt", false, true);
        check(&[0, 1, 2, 1], "length", false, false);
        check(&[0, 1, 2, 1], "length", true, true);
        check(&[1, 2, 3], "hits", false, false);
        check(&[1, 2, 3], "refs", false, true);
        check(&[1], "refs", false, false);
        check(&[1], "refs", true, true);
        check(&[1, 2, 1, 0], "refs", true, true);
        check(&[1, 2, 1, 0], "length", true, false);
        check(&[1, 2, 7], "refs", true, false);
    }
}
