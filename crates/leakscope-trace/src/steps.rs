//! What the source calls a place to which the code's own steps lead:
//! registers, constants, loads and sums become variables, fields and elements.

use addr2line::gimli::Register;
use leakscope_wire::{Step, StepKind};

use crate::dwarf::Die;
use crate::types::Wanted;
use crate::variables::{FrameEnd, Held, Variables, Word};

/// A value that the code has: where it begins, so many bytes on, and what is
/// added to that.
#[derive(Clone)]
struct Value {
    from: From,
    offset: i64,
    indexes: Vec<Index>,
}

/// An integer of the source, so many times.
#[derive(Clone)]
struct Index {
    /// As the source writes it, if that is known.
    name: Option<String>,
    /// How far apart the elements are.
    stride: Option<i64>,
}

#[derive(Clone)]
enum From {
    /// Nothing but its offset.
    Zero,
    /// The end of the frame.
    Frame,
    Register(Register),
    /// A pointer of the source, and what it points to; or an integer.
    Pointer(String, Option<Die>),
}

/// Memory that the source has a name for.
struct Place {
    name: String,
    /// What a pointer there points to, if that is known.
    target: Option<Die>,
}

/// What the steps lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A place.
    Place,
    /// Memory, in which the place is so many bytes on.
    Behind(u64),
    /// An object of a library's type, in which it is somewhere.
    Object,
}

/// Where steps are taken.
pub struct Steps<'a> {
    pub variables: &'a Variables,
    /// The instruction's address in the file, and the end of its function's
    /// frame.
    pub probe: u64,
    pub end: Option<FrameEnd>,
    /// What is added to addresses of the file.
    pub bias: u64,
}

impl Steps<'_> {
    /// How the source writes the place to which `steps` lead.
    pub fn name(&self, steps: &[Step], target: Target) -> Option<String> {
        if let [Step { kind, value }] = *steps
            && kind == StepKind::Held as u32
        {
            // A variable may have left for another place right before.
            let before = Steps { probe: self.probe.wrapping_sub(1), ..*self };
            return Some(self.register(value).or_else(|| before.register(value))?.name);
        }
        let mut value = self.value(steps)?;
        if let Target::Behind(bytes) = target {
            value.offset = value.offset.wrapping_add(bytes.cast_signed());
        }
        if target == Target::Object {
            self.object(value)
        } else {
            Some(self.place(value, Wanted::Word)?.name)
        }
    }

    /// The number of the function's parameter that `steps` lead to, if it points
    /// to nothing of a known size.
    pub fn parameter(&self, steps: &[Step]) -> Option<u32> {
        let Value { from: From::Pointer(name, target), offset: 0, indexes } = self.named(self.value(steps)?)
        else {
            return None;
        };
        let is_any = target.and_then(|target| self.variables.types.size(target)).is_none_or(|size| size <= 1);
        self.variables.parameter(self.probe, &name).filter(|_| is_any && indexes.is_empty())
    }

    fn value(&self, steps: &[Step]) -> Option<Value> {
        let mut values = Vec::new();
        for step in steps {
            self.take(&mut values, *step)?;
        }
        values.pop()?
    }

    /// The object of a library's type around an address.
    fn object(&self, address: Value) -> Option<String> {
        match self.named(address) {
            Value { from: From::Zero, offset, indexes } if indexes.is_empty() => {
                self.variables.global((offset as u64).wrapping_sub(self.bias))?.object
            }
            Value { from: From::Frame, offset, indexes } if indexes.is_empty() => {
                self.variables.held(self.probe, Held::Below(-offset), self.end)?.object
            }
            Value { from: From::Pointer(pointer, target), offset, indexes } if indexes.is_empty() => {
                let path = self.variables.types.object(target?, u64::try_from(offset).ok()?)?;
                Some(arrow(&pointer, &path))
            }
            _ => None,
        }
    }

    /// Takes a step; a value is `None` if nothing is known of it.
    fn take(&self, values: &mut Vec<Option<Value>>, Step { kind, value }: Step) -> Option<()> {
        let result = match StepKind::from_u32(kind)? {
            StepKind::Register => {
                let register = Register(value as u16);
                Some(match self.end {
                    Some(end) if end.register == register => Value::at(From::Frame, -end.offset),
                    _ => Value::at(From::Register(register), 0),
                })
            }
            StepKind::Constant => Some(Value::at(From::Zero, value.into())),
            StepKind::Load => {
                let wanted = if value == 8 { Wanted::Word } else { Wanted::Number };
                let place = values.pop()?.and_then(|from| self.place(from, wanted));
                place.map(|Place { name, target }| match wanted {
                    Wanted::Word => Value::at(From::Pointer(name, target), 0),
                    Wanted::Number => Value::index(name),
                })
            }
            StepKind::Add => {
                let (b, a) = (values.pop()?, values.pop()?);
                sum(a, b)
            }
            StepKind::Times => values.pop()?.and_then(|number| number.into_integer()?.times(value.into())),
            StepKind::Also => match self.register(value) {
                Some(Word { name, target, .. }) => {
                    values.pop();
                    Some(Value::at(From::Pointer(name, target), 0))
                }
                None => return Some(()),
            },
            StepKind::Unknown => None,
            StepKind::Held => return None,
        };
        values.push(result);
        Some(())
    }

    fn register(&self, number: i32) -> Option<Word> {
        self.variables.held(self.probe, Held::Register(Register(number as u16)), self.end)
    }

    /// An address in a register that has a variable is that pointer's.
    fn named(&self, address: Value) -> Value {
        match address.from {
            From::Register(register) => match self.register(register.0.into()) {
                Some(Word { name, target, .. }) => Value { from: From::Pointer(name, target), ..address },
                None => address,
            },
            _ => address,
        }
    }

    /// The place of what is wanted at an address.
    fn place(&self, address: Value, wanted: Wanted) -> Option<Place> {
        let Value { from, offset, indexes } = self.named(address);
        let word = match from {
            From::Zero => self.variables.global((offset as u64).wrapping_sub(self.bias))?,
            From::Frame => self.variables.held(self.probe, Held::Below(-offset), self.end)?,
            From::Register(_) => return None,
            From::Pointer(name, target) => return self.behind(name, target, offset, indexes, wanted),
        };
        let name = match wanted {
            Wanted::Number if word.number.is_some() => word.number?,
            _ => Some(word.name).filter(|_| word.has_type)?,
        };
        Some(Place { name: with_indexes(&name, indexes)?, target: word.target })
    }

    /// The place so far behind where a pointer points to.
    fn behind(
        &self,
        pointer: String,
        target: Option<Die>,
        offset: i64,
        mut indexes: Vec<Index>,
        wanted: Wanted,
    ) -> Option<Place> {
        let types = &self.variables.types;
        let offset = u64::try_from(offset).ok()?;
        let kind = target?;
        let size = types.size(kind).filter(|&size| size > 0)?;
        let inside = if indexes.is_empty() { offset % size } else { offset };
        let found = types.descend(kind, inside, wanted)?;
        // How far a number goes of which nothing is known, nobody knows: what is there
        // must be what it goes through.
        if wanted == Wanted::Word && !found.is_pointer && indexes.iter().any(|index| index.stride.is_none()) {
            return None;
        }
        let is_element = |index: &Index| match index.stride {
            Some(stride) => stride.cast_unsigned() == size,
            // An array inside is nearer than one of which the pointer leads to an element.
            None => !found.path.contains("[0]"),
        };
        let element = indexes.iter().position(is_element).filter(|_| offset < size);
        let element = element.map(|at| indexes.remove(at).name.unwrap_or("...".to_owned()));
        let path = with_indexes(&found.path, indexes)?;
        let name = match element {
            Some(index) => format!("{pointer}[{index}]{path}"),
            None if offset < size => arrow(&pointer, &path),
            None => format!("{pointer}[{}]{path}", offset / size),
        };
        Some(Place { name, target: found.target })
    }
}

impl Value {
    fn at(from: From, offset: i64) -> Value {
        Value { from, offset, indexes: Vec::new() }
    }

    fn index(name: String) -> Value {
        Value { from: From::Zero, offset: 0, indexes: vec![Index { name: Some(name), stride: Some(1) }] }
    }

    /// The same as a number, if it is no address.
    fn into_integer(self) -> Option<Value> {
        match self.from {
            From::Zero => Some(self),
            From::Pointer(name, None) if self.offset == 0 && self.indexes.is_empty() => {
                Some(Value::index(name))
            }
            _ => None,
        }
    }

    fn times(mut self, factor: i64) -> Option<Value> {
        self.offset = self.offset.checked_mul(factor)?;
        for Index { stride, .. } in &mut self.indexes {
            *stride = stride.map(|stride| stride.wrapping_mul(factor));
        }
        Some(self)
    }
}

fn sum(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (Some(address), None) | (None, Some(address)) => {
            let unknown =
                Value { indexes: vec![Index { name: None, stride: None }], ..Value::at(From::Zero, 0) };
            (address, unknown)
        }
        (None, None) => return None,
    };
    // The address is the one that is no integer; of two integers, the first.
    let (address, number) = match (a.clone().into_integer(), b.clone().into_integer()) {
        (Some(a), Some(b)) => (a, b),
        (None, Some(b)) => (a, b),
        (Some(a), None) => (b, a),
        (None, None) => return None,
    };
    let mut sum = Value { offset: address.offset.wrapping_add(number.offset), ..address };
    for index in number.indexes {
        let same = sum.indexes.iter_mut().find(|it| it.name.is_some() && it.name == index.name);
        match (same, index.stride) {
            (Some(Index { stride: Some(stride), .. }), Some(more)) => *stride = stride.wrapping_add(more),
            _ => sum.indexes.push(index),
        }
    }
    Some(sum)
}

/// `table[0].name[0]` with other indexes, if first elements are meant there.
fn with_indexes(path: &str, mut indexes: Vec<Index>) -> Option<String> {
    indexes.sort_by_key(|index| index.stride.unwrap_or(0));
    indexes.iter().try_fold(path.to_owned(), |path, index| with_index(&path, index.name.as_deref()))
}

/// `table[0].name` with another index, if the first element is meant.
fn with_index(path: &str, index: Option<&str>) -> Option<String> {
    let at = path.rfind("[0]")?;
    Some(format!("{}[{}]{}", &path[..at], index.unwrap_or("..."), &path[at + 3..]))
}

/// How the source writes what `path` leads to behind a pointer.
fn arrow(pointer: &str, path: &str) -> String {
    match path.strip_prefix('.') {
        Some(member) => format!("{pointer}->{member}"),
        None if path.is_empty() => format!("*{pointer}"),
        None => format!("(*{pointer}){path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::as_written;

    #[test]
    fn names_are_written_as_in_the_source() {
        let check = |pointer: &str, path: &str, index: Option<&str>, expected: &str| {
            let path = index.map_or(Some(path.to_owned()), |index| with_index(path, Some(index)));
            let name = path.map_or("-".to_owned(), |path| arrow(pointer, &path));
            assert_eq!(as_written(&name), expected);
        };
        check("c", ".addr", None, "c->addr");
        check("out", "", None, "*out");
        check("rows", "[2]", None, "(*rows)[2]");
        check("table", ".buckets[0].head", Some("i"), "table->buckets[i].head");
        check("table", ".grid[1][0]", Some("column"), "table->grid[1][column]");
        // An index where there is no array says that the type is not the right one.
        check("c", ".addr", Some("i"), "-");
        check("this", ".inbox_._M_impl._M_start", None, "this->inbox_");
        check("node", "._M_t", None, "node");
    }
}
