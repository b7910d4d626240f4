//! Pruning by conditions: comparisons as values, and what their outcome says
//! of the case.

use leakscope_ir::{Binary, Compare};

use crate::arithmetic;
use crate::case::{Block, Case};
use crate::containers::is_found;
use crate::fact::{Fact, negated, of_signed, swapped};
use crate::scope::Scope;
use crate::value::{Base, HeapId, Offset, SymbolId, SymbolKey, Value};

/// The value of a comparison: 0, 1 or a symbol for it.
pub fn compare(case: &Case, scope: &mut Scope, op: Compare, left: &Value, right: &Value) -> Value {
    if let Some(answer) = decide(case, scope, op, left, right) {
        return Value::Int(answer.into());
    }
    // One spelling for each condition, so that it is known when it comes again.
    let (op, left, right) = match (left, right) {
        (Value::Int(_), _) => (swapped(op), right, left),
        _ => (op, left, right),
    };
    scope.symbols.value(SymbolKey::Compare(op, left.clone(), right.clone()))
}

fn decide(case: &Case, scope: &mut Scope, op: Compare, left: &Value, right: &Value) -> Option<bool> {
    if let (Value::Sum(a, Offset::At(x)), Value::Sum(b, Offset::At(y))) = (left, right) {
        if a == b {
            return Fact::exactly(*x).compare(op, Fact::exactly(*y));
        }
        if are_distinct(case, scope, *a, *b) {
            return match op {
                Compare::Eq => Some(false),
                Compare::Ne => Some(true),
                _ => None,
            };
        }
    }
    if let (Value::Sum(a, x), Value::Sum(b, y), Compare::Eq | Compare::Ne) = (left, right, op)
        && a == b
        && is_found(case, scope, *a, [*x, *y])
    {
        return Some(op == Compare::Ne);
    }
    if let Some(answer) = case.fact_of(scope, left).compare(op, case.fact_of(scope, right)) {
        return Some(answer);
    }
    for (op, left, right) in [(op, left, right), (swapped(op), right, left)] {
        if let Some(more) = arithmetic::difference(scope, left, right)
            && let Some(answer) = case.fact_of(scope, &more).compare(of_signed(op), Fact::exactly(0))
        {
            return Some(answer);
        }
    }
    if let Value::OneOf(parts) = left {
        let mut answers = parts.iter().map(|part| decide(case, scope, op, part, right));
        let first = answers.next().flatten();
        if first.is_some() && answers.all(|answer| answer == first) {
            return first;
        }
    }
    known_outcome(case, scope, op, left, right)
}

/// Whether a value is known not to be null, if only by a test of it.
pub fn is_never_null(case: &Case, scope: &mut Scope, value: &Value) -> bool {
    decide(case, scope, Compare::Ne, value, &Value::NULL) == Some(true)
}

/// Notes of one of several values that it is not null, also in a loop; whether
/// that can be.
pub fn note_not_null(case: &mut Case, scope: &mut Scope, value: &Value) -> bool {
    if !assume_compare(case, scope, Compare::Ne, value, &Value::NULL) {
        return false;
    }
    let test = scope.symbols.get(SymbolKey::Compare(Compare::Ne, value.clone(), Value::NULL));
    test.is_none_or(|test| restrict(case, scope, test, Fact::exactly(1)))
}

/// Whether two bases are objects that cannot be the same.
fn are_distinct(case: &Case, scope: &Scope, a: Base, b: Base) -> bool {
    let is_fresh = |base| matches!(base, Base::Heap(block) if case.blocks.contains_key(&block));
    let is_input = |base| matches!(base, Base::Symbol(id) if scope.symbols.is_input(id));
    match (a, b) {
        (Base::Symbol(_), Base::Symbol(_)) => false,
        (Base::Symbol(_), other) | (other, Base::Symbol(_)) => {
            matches!(other, Base::Local(_)) && (is_input(a) || is_input(b)) || is_fresh(other)
        }
        (Base::Heap(a), Base::Heap(b)) => a != b && !a.is_older() && !b.is_older(),
        (a, b) => a != b,
    }
}

/// The outcome of the same comparison earlier on the way, or of two that say as
/// much.
fn known_outcome(case: &Case, scope: &Scope, op: Compare, left: &Value, right: &Value) -> Option<bool> {
    let known = |op| same_outcome(case, scope, op, left, right);
    known(op).or_else(|| {
        // What is known of numbers is a fact.
        if matches!(right, Value::Int(_)) || matches!(left, Value::Int(_)) {
            return None;
        }
        let (strict, weak) = match op {
            Compare::Lt | Compare::Ge => (Compare::Lt, Compare::Le),
            Compare::Gt | Compare::Le => (Compare::Gt, Compare::Ge),
            Compare::Below | Compare::NotBelow => (Compare::Below, Compare::NotAbove),
            Compare::Above | Compare::NotAbove => (Compare::Above, Compare::NotBelow),
            Compare::Eq | Compare::Ne | Compare::Other => return None,
        };
        let holds = match (known(weak), known(Compare::Ne)) {
            (Some(false), _) | (_, Some(false)) => false,
            (Some(true), Some(true)) => true,
            _ => return None,
        };
        Some(holds == (op == strict))
    })
}

/// The outcome of the same comparison earlier on the way.
fn same_outcome(case: &Case, scope: &Scope, op: Compare, left: &Value, right: &Value) -> Option<bool> {
    let spellings = [(op, left, right), (swapped(op), right, left)];
    for (op, left, right) in spellings {
        for (op, holds) in [(op, true), (negated(op), false)] {
            let id = scope.symbols.find(&SymbolKey::Compare(op, left.clone(), right.clone()));
            let known = id.and_then(|id| case.facts.get(&id)).and_then(|fact| fact.number());
            if let Some(number) = known {
                return Some((number != 0) == holds);
            }
        }
    }
    None
}

/// Keeps of `case` what agrees with `condition` being true, or false; whether
/// anything is left.
pub fn assume(case: &mut Case, scope: &mut Scope, condition: &Value, truth: bool) -> bool {
    match condition {
        Value::Sum(Base::Symbol(id), Offset::At(0)) => match scope.symbols.key(*id).clone() {
            SymbolKey::Compare(op, left, right) => {
                let op = if truth { op } else { negated(op) };
                // Which of several values it is may be another in the next turn
                // of a loop, so the outcome is not kept.
                let is_several = [&left, &right].iter().any(|value| match value {
                    Value::OneOf(_) => true,
                    Value::Sum(Base::Symbol(id), Offset::Any) => {
                        matches!(scope.symbols.key(*id), SymbolKey::Elements(..))
                    }
                    _ => false,
                });
                assume_compare(case, scope, op, &left, &right)
                    && (is_several && scope.is_in_loop()
                        || restrict(case, scope, *id, Fact::exactly(truth.into())))
            }
            _ => assume_compare(
                case,
                scope,
                if truth { Compare::Ne } else { Compare::Eq },
                condition,
                &Value::NULL,
            ),
        },
        other => {
            assume_compare(case, scope, if truth { Compare::Ne } else { Compare::Eq }, other, &Value::NULL)
        }
    }
}

/// Numbers that end what a type can hold.
const LIMITS: [i64; 4] = [i32::MAX as i64, u32::MAX as i64, i64::MAX, -1];
/// Room that is left below them, as for a header.
const ROOM: i64 = 256;

/// Whether a condition holds only where a sum or product would be too large for
/// its type: no memory holds so much, so nobody comes there.
pub fn is_overflow(scope: &Scope, condition: &Value, truth: bool) -> bool {
    let Value::Sum(Base::Symbol(id), Offset::At(0)) = condition else { return false };
    let SymbolKey::Compare(op, left, right) = scope.symbols.key(*id) else { return false };
    let is_limit = |value: &Value| {
        let Value::Sum(Base::Symbol(id), Offset::At(more)) = value else { return false };
        match scope.symbols.key(*id) {
            _ if more.abs() > ROOM => false,
            SymbolKey::Binary(Binary::Sub | Binary::Div, Value::Int(number), _) => {
                LIMITS.iter().any(|limit| (limit.saturating_sub(ROOM)..=*limit).contains(number))
            }
            _ => false,
        }
    };
    match if truth { *op } else { negated(*op) } {
        Compare::Gt | Compare::Ge | Compare::Above | Compare::NotBelow => is_limit(right),
        Compare::Lt | Compare::Le | Compare::Below | Compare::NotAbove => is_limit(left),
        _ => false,
    }
}

/// The same for a comparison.
pub fn assume_compare(case: &mut Case, scope: &mut Scope, op: Compare, left: &Value, right: &Value) -> bool {
    if let Some(answer) = decide(case, scope, op, left, right) {
        return answer;
    }
    match (left, right) {
        (Value::Int(_), Value::Int(_)) => true,
        (Value::Int(_), _) => assume_compare(case, scope, swapped(op), right, left),
        (_, Value::Int(number)) => assume_fact(case, scope, left, op, *number),
        (Value::Sum(Base::Symbol(a), Offset::At(0)), Value::Sum(Base::Symbol(b), Offset::At(0)))
            if op == Compare::Eq =>
        {
            let (first, second) = (case.fact(scope, *a), case.fact(scope, *b));
            let Some(both) = first.and(second) else { return false };
            restrict(case, scope, *a, both) && restrict(case, scope, *b, both)
        }
        _ => true,
    }
}

fn assume_fact(case: &mut Case, scope: &mut Scope, value: &Value, op: Compare, number: i64) -> bool {
    match value {
        Value::Sum(Base::Symbol(id), Offset::At(bytes)) => {
            // A truth value that is compared with a constant.
            if let (SymbolKey::Compare(..), 0) = (scope.symbols.key(*id), *bytes) {
                let truth = match (op, number) {
                    (Compare::Eq, 0) | (Compare::Ne, 1) => Some(false),
                    (Compare::Ne, 0) | (Compare::Eq, 1) => Some(true),
                    _ => None,
                };
                if let Some(truth) = truth {
                    return assume(case, scope, value, truth);
                }
            }
            // Bits that are not there together are in neither.
            if let (SymbolKey::Binary(Binary::Or, left, right), Compare::Eq, true) =
                (scope.symbols.key(*id).clone(), op, number == 0 && *bytes == 0)
            {
                return assume_compare(case, scope, op, &left, &Value::NULL)
                    && assume_compare(case, scope, op, &right, &Value::NULL)
                    && restrict(case, scope, *id, Fact::exactly(0));
            }
            let known = case.fact(scope, *id);
            let shifted = number.saturating_sub(*bytes);
            if op == Compare::Ne && known.low == shifted && shifted != 0 {
                return restrict(case, scope, *id, Fact { low: shifted.saturating_add(1), ..known });
            }
            if op == Compare::Ne && known.high == shifted && shifted != 0 {
                return restrict(case, scope, *id, Fact { high: shifted.saturating_sub(1), ..known });
            }
            // Numbers that are not negative compare in one way only.
            let op = match op {
                Compare::NotBelow if known.low >= 0 && shifted >= 0 => Compare::Ge,
                Compare::Above if known.low >= 0 && shifted >= 0 => Compare::Gt,
                op => op,
            };
            restrict(case, scope, *id, Fact::compared(op, shifted))
        }
        Value::Sum(Base::Heap(block), Offset::At(0)) if case.is_nullable(*block) => {
            if Fact::compared(op, number).contains(0) && !Fact::compared(op, number).contains(1) {
                make_null(case, *block);
            } else if !Fact::compared(op, number).contains(0) {
                case.blocks.insert(*block, Block { is_nullable: false });
            }
            true
        }
        Value::OneOf(parts) => {
            let right = Value::Int(number);
            let kept: Vec<Value> = parts
                .iter()
                .filter(|part| decide(case, scope, op, part, &right) != Some(false))
                .cloned()
                .collect();
            if kept.is_empty() {
                return false;
            }
            let narrowed = match op {
                // Whichever it is, it is this number.
                Compare::Eq if kept.len() > 1 && !kept.iter().any(Value::has_heap) => right.clone(),
                _ => Value::one_of(kept).unwrap_or(Value::Top),
            };
            replace(case, value, &narrowed);
            case.drop_unreachable(scope);
            // What it would have held if it were otherwise is not there.
            let is_left = |block: &HeapId| narrowed.heap_blocks().any(|left| left == *block);
            let gone: Vec<HeapId> = value.heap_blocks().filter(|block| !is_left(block)).collect();
            if !gone.is_empty() {
                let usable = case.usable(scope);
                case.blocks.retain(|block, _| !gone.contains(block) || usable.contains(block));
            }
            match &narrowed {
                Value::OneOf(parts) => {
                    // What is left and is nobody else's agrees too.
                    for part in parts.iter() {
                        if let Value::Sum(Base::Symbol(id), Offset::At(0)) = part
                            && !scope.symbols.is_input(*id)
                        {
                            restrict(case, scope, *id, Fact::compared(op, number));
                        }
                    }
                    true
                }
                one => assume_compare(case, scope, op, one, &right),
            }
        }
        // A place in a text, of which no more is known than how this test went.
        Value::Sum(Base::Symbol(_), Offset::Any) => {
            let test = SymbolKey::Compare(op, value.clone(), Value::Int(number));
            let known = scope.symbols.get(test);
            known.is_none_or(|id| restrict(case, scope, id, Fact::exactly(1)))
        }
        _ => true,
    }
}

/// Keeps of `case` what agrees with `fact` being true of `value`.
pub fn assume_in(case: &mut Case, scope: &mut Scope, value: &Value, fact: Fact) -> bool {
    if let Some(number) = fact.number() {
        if let (Value::Sum(Base::Symbol(id), Offset::At(0)), 0 | 1) = (value, number)
            && matches!(scope.symbols.key(*id), SymbolKey::Compare(..))
        {
            return assume(case, scope, value, number == 1);
        }
        return assume_compare(case, scope, Compare::Eq, value, &Value::Int(number));
    }
    let bound = |case: &mut Case, scope: &mut Scope, op, number: i64| {
        // Narrowed alternatives are other values than those asked for first.
        assume_compare(case, scope, op, value, &Value::Int(number))
    };
    (!fact.is_nonzero || bound(case, scope, Compare::Ne, 0))
        && (fact.low == i64::MIN || bound(case, scope, Compare::Ge, fact.low))
        && (fact.high == i64::MAX || bound(case, scope, Compare::Le, fact.high))
}

/// Of the alternatives of `value`, those of which `fact` can be true.
pub fn alternatives_in(case: &Case, scope: &Scope, value: &Value, fact: Fact) -> Value {
    let fits = |part: &&Value| case.fact_of(scope, part).and(fact).is_some();
    Value::one_of(value.parts().iter().filter(fits).cloned()).unwrap_or(Value::Top)
}

fn restrict(case: &mut Case, scope: &Scope, id: SymbolId, fact: Fact) -> bool {
    match case.fact(scope, id).and(fact) {
        Some(both) => {
            if both != Fact::ANY && case.facts.get(&id) != Some(&both) {
                case.facts.insert(id, both);
            }
            true
        }
        None => false,
    }
}

/// The allocation of `block` failed.
fn make_null(case: &mut Case, block: HeapId) {
    case.blocks.remove(&block);
    let is_block = |held: HeapId| held == block;
    case.rewrite(
        |value| value.heap_blocks().any(is_block),
        |part| match part {
            Value::Sum(base, _) if *base == Base::Heap(block) => Value::NULL,
            other => other.clone(),
        },
    );
}

/// Copies of a value with alternatives are narrowed together.
fn replace(case: &mut Case, from: &Value, to: &Value) {
    let in_env = case.env.iter_mut().map(|(_, value)| value).filter(|value| *value == from);
    in_env.for_each(|value| value.clone_from(to));
    case.variables.update(|_, value| value == from, |value| value.clone_from(to));
    case.memory.update(|_, cell| cell.value == *from, |cell| cell.value.clone_from(to));
}
