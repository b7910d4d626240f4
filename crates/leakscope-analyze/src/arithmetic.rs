//! Operations on abstract numbers and addresses.

use leakscope_ir::Binary;

use crate::fact::{Fact, negated};
use crate::memory::LOW_HALF;
use crate::scope::Scope;
use crate::value::{Base, Offset, SymbolKey, Value};

/// The result of an operation; `Top` where it has no name.
pub fn binary(scope: &mut Scope, op: Binary, left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => numbers(op, *a, *b),
        (Value::OneOf(_), _) => left.map(|part| binary(scope, op, part, right)),
        (_, Value::OneOf(_)) => right.map(|part| binary(scope, op, left, part)),
        (Value::Top, Value::Sum(..)) | (Value::Sum(..), Value::Top) => {
            match (op, address(left).or(address(right))) {
                (Binary::Add | Binary::Sub | Binary::And | Binary::Or, Some(base)) => {
                    Value::Sum(base, Offset::Any)
                }
                _ => Value::Top,
            }
        }
        (Value::Record(_), Value::Int(LOW_HALF)) if op == Binary::And => left.member(0),
        (Value::Record(_), Value::Int(32)) if op == Binary::Shr => left.member(1),
        (Value::Top | Value::Record(_), _) | (_, Value::Top | Value::Record(_)) => Value::Top,
        (Value::Sum(Base::Symbol(id), Offset::At(0)), Value::Int(1)) if op == Binary::Xor => {
            match scope.symbols.key(*id).clone() {
                SymbolKey::Compare(op, left, right) => {
                    scope.symbols.value(SymbolKey::Compare(negated(op), left, right))
                }
                _ => named(scope, op, left, right),
            }
        }
        (Value::Sum(Base::Symbol(id), Offset::At(0)), Value::Int(mask)) if op == Binary::And => {
            let key = scope.symbols.key(*id).clone();
            masked(scope, key, *mask).unwrap_or_else(|| named(scope, op, left, right))
        }
        (Value::Sum(base, offset), Value::Int(number)) => match op {
            Binary::Add => Value::Sum(*base, offset.plus(*number)),
            Binary::Sub | Binary::Distance => Value::Sum(*base, offset.plus(number.wrapping_neg())),
            Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr if *number == 0 => left.clone(),
            Binary::Mul | Binary::Div if *number == 1 => left.clone(),
            Binary::Mul | Binary::And if *number == 0 => Value::Int(0),
            // Functions begin at even addresses: the bit says that it is none.
            Binary::And if *number == 1 && matches!(base, Base::Function(_)) => Value::Int(0),
            _ => named(scope, op, left, right),
        },
        (Value::Int(number), Value::Sum(base, offset)) if op == Binary::Add => {
            Value::Sum(*base, offset.plus(*number))
        }
        (Value::Sum(a, Offset::At(x)), Value::Sum(b, Offset::At(y)))
            if matches!(op, Binary::Sub | Binary::Distance) && a == b =>
        {
            Value::Int(x.wrapping_sub(*y))
        }
        _ if op == Binary::Sub => {
            difference(scope, left, right).unwrap_or_else(|| named(scope, op, left, right))
        }
        _ => named(scope, op, left, right),
    }
}

/// What is known of a result by its sides. Nothing overflows, and a pointer is
/// not behind the one that it is measured from.
pub fn range(op: Binary, [left, right]: [Fact; 2]) -> Fact {
    let are_counts = left.low >= 0 && right.low >= 0;
    match op {
        Binary::Add if are_counts => Fact::at_least(left.low.saturating_add(right.low)),
        Binary::Mul if are_counts => Fact::at_least(left.low.saturating_mul(right.low)),
        Binary::Mul if left.is_nonzero && right.is_nonzero => Fact::NONZERO,
        Binary::Shl if left.is_nonzero => Fact::NONZERO,
        Binary::Div | Binary::Shr if are_counts => Fact::NOT_NEGATIVE,
        Binary::Rem if left.low >= 0 => Fact::NOT_NEGATIVE,
        Binary::And if right.low >= 0 => Fact::NOT_NEGATIVE,
        Binary::Distance => Fact::NOT_NEGATIVE,
        _ => Fact::ANY,
    }
}

/// `sum - part` where that is one of the two that were added up.
pub fn difference(scope: &Scope, sum: &Value, part: &Value) -> Option<Value> {
    let (Value::Sum(Base::Symbol(sum), Offset::At(more)), Value::Sum(part, Offset::At(less))) = (sum, part)
    else {
        return None;
    };
    let SymbolKey::Binary(Binary::Add, a, b) = scope.symbols.key(*sum) else { return None };
    let without = |one: &Value, other: &Value| match one {
        Value::Sum(base, Offset::At(at)) if base == part => {
            Some(other.plus(Offset::At(more.wrapping_add(*at).wrapping_sub(*less))))
        }
        _ => None,
    };
    without(a, b).or_else(|| without(b, a))
}

/// Bits that were set or cleared before, as those of bit fields.
fn masked(scope: &mut Scope, key: SymbolKey, mask: i64) -> Option<Value> {
    match key {
        _ if mask == 0 => Some(Value::Int(0)),
        SymbolKey::Binary(Binary::Or, _, Value::Int(set)) if set & mask == mask => Some(Value::Int(mask)),
        SymbolKey::Binary(Binary::Or, rest, Value::Int(set)) if set & mask == 0 => {
            Some(binary(scope, Binary::And, &rest, &Value::Int(mask)))
        }
        SymbolKey::Binary(Binary::And, rest, Value::Int(kept)) => {
            Some(binary(scope, Binary::And, &rest, &Value::Int(kept & mask)))
        }
        _ => None,
    }
}

/// The same operation on the same values has the same name. Addresses of
/// objects stay addresses into them, as in pointers with tags.
fn named(scope: &mut Scope, op: Binary, left: &Value, right: &Value) -> Value {
    match (address(left), address(right)) {
        (Some(base), None) | (None, Some(base)) if !matches!(op, Binary::Other | Binary::Distance) => {
            return Value::Sum(base, Offset::Any);
        }
        (Some(_), Some(_)) => return Value::Top,
        _ => {}
    }
    scope.symbols.value(SymbolKey::Binary(op, left.clone(), right.clone()))
}

/// The object whose address a value is.
fn address(value: &Value) -> Option<Base> {
    match value {
        Value::Sum(base @ (Base::Heap(_) | Base::Local(_) | Base::Global(_)), _) => Some(*base),
        _ => None,
    }
}

fn numbers(op: Binary, a: i64, b: i64) -> Value {
    let result = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub | Binary::Distance => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => a.checked_div(b),
        Binary::Rem => a.checked_rem(b),
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::Shl => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)),
        Binary::Shr => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
        Binary::Other => None,
    };
    result.map_or(Value::Top, Value::Int)
}
