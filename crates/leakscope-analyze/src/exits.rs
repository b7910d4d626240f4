//! From the cases at a procedure's exits to its summary (SPARROW, section
//! 4.2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leakscope_ir::{FuncId, ValueId};

use crate::case::Case;
use crate::compact::compact;
use crate::fact::Fact;
use crate::join::{Growth, Property, join};
use crate::refine::is_never_null;
use crate::scope::Scope;
use crate::simulate::{Simulated, steps};
use crate::summary::{Exit, ExitCase, Summary, Write};
use crate::value::{Base, HeapId, Offset, Point, SymbolId, SymbolKey, Symbols, Value};

/// Stands for the result, so that it is joined like any value.
const RESULT: ValueId = ValueId(u32::MAX);
/// Whether that is known not to be null, where it is one of several values.
const HAS_RESULT: ValueId = ValueId(u32::MAX - 1);
/// Cases of a summary.
const MAX_CASES: usize = 10;
/// Memory cells that a summary tells of.
const MAX_WRITES: usize = 32;
/// Facts in the guard of a case.
const MAX_GUARDS: usize = 16;

/// How a result is told apart by a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Zero,
    Negative,
    Positive,
    Other,
}

pub fn summarise(id: FuncId, simulated: Simulated) -> Summary {
    let Simulated { mut scope, exits, .. } = simulated;
    let mut cases = grouped(&mut scope, exits, true);
    if cases.len() > MAX_CASES {
        let exits = cases.into_iter().map(|(exit, mut case)| {
            let value = case.remove(RESULT).unwrap_or(Value::Top);
            (exit, case, value)
        });
        cases = grouped(&mut scope, exits.collect(), false);
        bound(&mut scope, &mut cases);
    }
    let mut cases: Vec<ExitCase> =
        cases.into_iter().map(|(exit, case)| exit_case(id, &mut scope, exit, case)).collect();
    keep_guards(&scope, &mut cases);
    let deeds = scope.deeds.of(&cases);
    compact(Summary {
        cases,
        symbols: Arc::new(scope.symbols),
        freed_in_loops: scope.inputs_freed_in_loops.into_iter().collect(),
        freed_around: scope.freed_around.into_iter().collect(),
        deeds,
        origins: scope.sites.origins,
        ..Summary::default()
    })
}

fn grouped(scope: &mut Scope, exits: Vec<(Exit, Case, Value)>, by_class: bool) -> Vec<(Exit, Case)> {
    let mut groups: BTreeMap<(bool, Class, Property), Vec<Case>> = BTreeMap::new();
    let mut count = 0;
    for (exit, mut case, value) in exits {
        let class = if by_class { class_of(case.fact_of(scope, &value)) } else { Class::Other };
        let is_tested = is_never_null(&case, scope, &value);
        if is_tested || case.get(HAS_RESULT) == Value::Top {
            case.set(HAS_RESULT, Value::Int(is_tested.into()));
        }
        case.set(RESULT, value);
        let key = (exit == Exit::Throw, class, Property::of(&case, scope));
        let group = groups.entry(key).or_default();
        let is_full = count >= MAX_CASES;
        match group.iter_mut().find(|known| is_full || !known.excludes(&case, scope)) {
            Some(known) => drop(join(known, case, scope, Point::Exit, Growth::Free)),
            None => {
                count += 1;
                group.push(case);
            }
        }
    }
    let exit = |is_throw| if is_throw { Exit::Throw } else { Exit::Return };
    let apart = groups
        .into_iter()
        .flat_map(|((is_throw, ..), cases)| cases.into_iter().map(move |case| (exit(is_throw), case)));
    apart.collect()
}

/// Joins the nearest cases until there are few enough.
fn bound(scope: &mut Scope, cases: &mut Vec<(Exit, Case)>) {
    while cases.len() > MAX_CASES {
        let (exit, last) = cases.pop().expect("more than the bound");
        let property = Property::of(&last, scope);
        let nearest = cases
            .iter_mut()
            .filter(|(other, _)| *other == exit)
            .min_by_key(|(_, case)| Property::of(case, scope).distance(&property));
        if let Some((_, nearest)) = nearest {
            join(nearest, last, scope, Point::Exit, Growth::Free);
        }
    }
}

fn class_of(fact: Fact) -> Class {
    if fact.is_zero() {
        Class::Zero
    } else if fact.high < 0 {
        Class::Negative
    } else if fact.low > 0 {
        Class::Positive
    } else {
        Class::Other
    }
}

fn exit_case(id: FuncId, scope: &mut Scope, exit: Exit, mut case: Case) -> ExitCase {
    let result = outside(&case.get(RESULT));
    // A place in a text, too: what the text is may be several things in a caller.
    let is_several = matches!(result, Value::OneOf(_) | Value::Sum(Base::Symbol(_), Offset::Any));
    let has_result = is_several && case.get(HAS_RESULT) == Value::Int(1);
    case.env.clear();
    let visible = visible_blocks(&case, &result);
    let mut writes = Vec::new();
    let cells: Vec<_> = case.memory.iter().map(|(key, cell)| (*key, cell.clone())).collect();
    for ((base, offset), cell) in cells {
        let is_seen = match base {
            Base::Symbol(id) => scope.symbols.is_input(id) && !case.freed.contains(&id),
            Base::Global(_) => true,
            Base::Heap(block) => visible.contains(&block) && case.blocks.contains_key(&block),
            Base::Local(_) | Base::Function(_) => false,
        };
        let value = outside(&cell.value);
        let is_new = !matches!(base, Base::Symbol(_) | Base::Global(_))
            || case.first_content(scope, base, offset) != value;
        if !is_seen || !is_new {
            continue;
        }
        // Deep in what came in, only new blocks are worth telling of.
        let is_deep = matches!(base, Base::Symbol(id) if !scope.symbols.has_near_members(id));
        if is_deep && !value.has_heap() {
            case.escape(scope, &value);
        } else {
            writes.push(Write { base, offset, value, bytes: cell.bytes });
        }
    }
    if writes.len() > MAX_WRITES {
        // Those with blocks first; what is left out has escaped.
        writes.sort_by_key(|write| !write.value.has_heap());
        for write in writes.split_off(MAX_WRITES) {
            case.escape(scope, &write.value);
        }
    }
    let is_told = |block: &HeapId| visible.contains(block) && !scope.pools.contains(&block.site());
    let blocks = case.blocks.iter().filter(|(block, _)| is_told(block));
    let blocks: Vec<_> = blocks.map(|(block, state)| (*block, *state)).collect();
    let zeroed =
        case.zeroed.iter().filter(|base| matches!(base, Base::Heap(block) if visible.contains(block)));
    let mentioned = symbols_in(&result, &writes);
    let facts = case.facts.iter().filter(|(id, _)| scope.symbols.is_input(**id) || mentioned.contains(id));
    ExitCase {
        exit,
        facts: facts.map(|(id, fact)| (*id, *fact)).collect(),
        result,
        has_result,
        freed: case.freed.iter().copied().collect(),
        escaped: escaped(&scope.symbols, &case, &writes),
        refused: case.refused.iter().copied().filter(|id| !case.freed.contains(id)).collect(),
        removed: case.removed.iter().copied().collect(),
        blocks,
        zeroed: zeroed.copied().collect(),
        path: steps(id, case.path.as_ref()).into(),
        writes,
    }
}

/// What escaped, without what goes with something else that does: callers find
/// it there, unless it was written over, and it need not be released, as what is
/// released and escapes is.
fn escaped(symbols: &Symbols, case: &Case, writes: &[Write]) -> Vec<SymbolId> {
    let goes_along = |id: SymbolId| {
        let mut next = id;
        while let SymbolKey::Content(base @ Base::Symbol(outer), _) = symbols.key(next)
            && !matches!(symbols.key(*outer), SymbolKey::Elements(..))
            && !writes.iter().any(|write| write.base == *base)
        {
            if case.escaped.contains(outer) {
                return true;
            }
            next = *outer;
        }
        false
    };
    let is_told = |id: &SymbolId| case.freed.contains(id) || !goes_along(*id);
    case.escaped.iter().copied().filter(is_told).collect()
}

/// Facts about input are kept where they tell cases apart; those of what is
/// computed from arguments also where all agree, for these tell with which ones
/// the procedure does not come back.
fn keep_guards(scope: &Scope, cases: &mut [ExitCase]) {
    let mut seen: BTreeMap<SymbolId, (usize, BTreeSet<Fact>)> = BTreeMap::new();
    for (id, fact) in cases.iter().flat_map(|case| &case.facts) {
        let (count, facts) = seen.entry(*id).or_default();
        *count += 1;
        facts.insert(*fact);
    }
    let count = cases.len();
    let tells_apart = |id: SymbolId| {
        let (held, facts) = &seen[&id];
        count > 1 && (*held < count || facts.len() > 1)
    };
    for case in cases {
        let (mut guards, results): (Vec<_>, Vec<_>) =
            case.facts.drain(..).partition(|(id, _)| scope.symbols.is_input(*id));
        // What is handed on is known better with it. A single case has a guard
        // where others do not come back.
        let mentioned = symbols_in(&case.result, &case.writes);
        let is_common = |id: SymbolId| match scope.symbols.key(id) {
            SymbolKey::Binary(..) | SymbolKey::Compare(..) => scope.symbols.is_of_parameters(id),
            _ => count == 1 && is_shallow(scope, id),
        };
        guards.retain(|(id, _)| tells_apart(*id) || mentioned.contains(id) || is_common(*id));
        guards.sort_by_key(|(id, _)| !tells_apart(*id));
        guards.truncate(MAX_GUARDS);
        case.facts = guards.into_iter().chain(results).collect();
    }
}

/// An argument itself, or what it points to.
fn is_shallow(scope: &Scope, id: SymbolId) -> bool {
    match scope.symbols.key(id) {
        SymbolKey::Parameter(_) => true,
        SymbolKey::Content(Base::Symbol(outer), _) => {
            matches!(scope.symbols.key(*outer), SymbolKey::Parameter(_))
        }
        _ => false,
    }
}

/// A value without what only the procedure itself can mean.
fn outside(value: &Value) -> Value {
    value.map(|part| match part {
        Value::Sum(Base::Local(_), _) => Value::Top,
        other => other.clone(),
    })
}

/// Blocks that the caller can get at.
fn visible_blocks(case: &Case, result: &Value) -> BTreeSet<HeapId> {
    let mut open: Vec<HeapId> = result.heap_blocks().collect();
    for ((base, _), cell) in case.memory.iter() {
        if matches!(base, Base::Symbol(_) | Base::Global(_)) {
            open.extend(cell.value.heap_blocks());
        }
    }
    let mut found = BTreeSet::new();
    while let Some(block) = open.pop() {
        if found.insert(block) {
            open.extend(case.cells(Base::Heap(block)).flat_map(|(_, cell)| cell.value.heap_blocks()));
        }
    }
    found
}

fn symbols_in(result: &Value, writes: &[Write]) -> BTreeSet<SymbolId> {
    let values = writes.iter().map(|write| &write.value).chain([result]);
    values
        .flat_map(Value::bases)
        .filter_map(|(base, _)| match base {
            Base::Symbol(id) => Some(id),
            _ => None,
        })
        .collect()
}
