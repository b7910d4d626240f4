//! What the source calls a place to which the code's own steps lead:
//! registers, constants, loads and sums become variables, fields and elements.

use addr2line::gimli::Register;
use leakscope_wire::{Step, StepKind};

use crate::dwarf::Die;
use crate::types::{Found, Wanted};
use crate::variables::{FrameEnd, Held, Variables, Word};

/// A value that the code has: where it begins, so many bytes on, and what is
/// added to that.
#[derive(Clone)]
struct Value {
    from: From,
    offset: i64,
    indexes: Vec<Index>,
}

/// An integer of the source and what is added to it, so many times.
#[derive(Clone)]
struct Index {
    /// As the source writes it, if that is known.
    name: Option<String>,
    plus: i64,
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
    /// A pointer of the source, or an integer; of a union, any of the arms.
    Pointer(Vec<Place>),
}

/// Memory that the source has a name for.
#[derive(Clone)]
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
            Some(self.places(value, Wanted::Word).into_iter().next()?.name)
        }
    }

    /// The number of the function's parameter that `steps` lead to, if it points
    /// to nothing of a known size.
    pub fn parameter(&self, steps: &[Step]) -> Option<u32> {
        let Value { from: From::Pointer(places), offset: 0, indexes } = self.named(self.value(steps)?) else {
            return None;
        };
        let Place { name, target } = places.first()?;
        let is_any = target.and_then(|target| self.variables.types.size(target)).is_none_or(|size| size <= 1);
        self.variables.parameter(self.probe, name).filter(|_| is_any && indexes.is_empty())
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
            Value { from: From::Pointer(places), offset, indexes } if indexes.is_empty() => {
                let offset = u64::try_from(offset).ok()?;
                places.iter().find_map(|Place { name, target }| {
                    let path = self.variables.types.object((*target)?, offset)?;
                    Some(arrow(name, &path))
                })
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
                let places = values.pop()?.map_or(Vec::new(), |from| self.places(from, wanted));
                match wanted {
                    Wanted::Word => (!places.is_empty()).then(|| Value::at(From::Pointer(places), 0)),
                    Wanted::Number => places.into_iter().next().map(|place| Value::index(place.name)),
                }
            }
            StepKind::Add => {
                let (b, a) = (values.pop()?, values.pop()?);
                sum(a, b)
            }
            StepKind::Times => values.pop()?.and_then(|number| number.into_integer()?.times(value.into())),
            StepKind::Also => match self.register(value) {
                Some(word) => {
                    values.pop();
                    Some(Value::at(From::pointer(word), 0))
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
                Some(word) => Value { from: From::pointer(word), ..address },
                None => address,
            },
            _ => address,
        }
    }

    /// The places of what is wanted at an address: the one that is meant most likely, and
    /// other arms of unions.
    fn places(&self, address: Value, wanted: Wanted) -> Vec<Place> {
        // What compilers add to an index may lead to an array in a record.
        let places = address.folded().map_or(Vec::new(), |folded| self.places_at(folded, wanted));
        if places.is_empty() { self.places_at(address, wanted) } else { places }
    }

    fn places_at(&self, address: Value, wanted: Wanted) -> Vec<Place> {
        let Value { from, offset, indexes } = self.named(address);
        let word = match from {
            From::Zero => self.variables.global((offset as u64).wrapping_sub(self.bias)),
            From::Frame => self.variables.held(self.probe, Held::Below(-offset), self.end),
            From::Register(_) => None,
            From::Pointer(pointers) => {
                let behind = |pointer| self.behind(pointer, offset, &indexes, wanted);
                return pointers.iter().flat_map(behind).collect();
            }
        };
        let place = word.and_then(|word| {
            let name = match wanted {
                Wanted::Number if word.number.is_some() => word.number?,
                _ => Some(word.name).filter(|_| word.has_type)?,
            };
            Some(Place { name: with_indexes(&name, indexes)?, target: word.target })
        });
        Vec::from_iter(place)
    }

    /// The places so far behind where a pointer points to.
    fn behind(&self, pointer: &Place, mut offset: i64, indexes: &[Index], wanted: Wanted) -> Vec<Place> {
        let types = &self.variables.types;
        let sized = pointer.target.and_then(|kind| Some((kind, types.size(kind).filter(|&size| size > 0)?)));
        let Some((kind, size)) = sized else { return Vec::new() };
        let mut indexes = indexes.to_vec();
        // Elements further on may be counted in the code's own constant.
        let element = |index: &&mut Index| index.name.is_some() && index.stride == Some(size.cast_signed());
        if let Some(index) = indexes.iter_mut().find(element) {
            index.plus += offset.div_euclid(size.cast_signed());
            offset = offset.rem_euclid(size.cast_signed());
        }
        let Ok(offset) = u64::try_from(offset) else { return Vec::new() };
        let inside = if indexes.is_empty() { offset % size } else { offset };
        let place = |found: Found| {
            // How far a number goes of which nothing is known, nobody knows: what is there
            // must be what it goes through.
            let is_vague = indexes.iter().any(|index| index.stride.is_none());
            if wanted == Wanted::Word && !found.is_pointer && is_vague {
                return None;
            }
            let mut indexes = indexes.clone();
            let is_element = |index: &Index| match index.stride {
                Some(stride) => stride.cast_unsigned() == size,
                // An array inside is nearer than one of which the pointer leads to an element.
                None => !found.path.contains("[0]"),
            };
            let element = indexes.iter().position(is_element).filter(|_| offset < size);
            let element = element.map(|at| indexes.remove(at).text());
            let path = with_indexes(&found.path, indexes)?;
            let pointer = &pointer.name;
            let name = match element {
                Some(index) => format!("{pointer}[{index}]{path}"),
                None if offset < size => arrow(pointer, &path),
                None => format!("{pointer}[{}]{path}", offset / size),
            };
            Some(Place { name, target: found.target })
        };
        types.arms(kind, inside, wanted).into_iter().filter_map(place).collect()
    }
}

impl From {
    fn pointer(Word { name, target, .. }: Word) -> From {
        From::Pointer(vec![Place { name, target }])
    }
}

impl Index {
    fn text(&self) -> String {
        match (&self.name, self.plus) {
            (None, _) => "...".to_owned(),
            (Some(name), 0) => name.clone(),
            (Some(name), plus @ 1..) => format!("{name} + {plus}"),
            (Some(name), minus) => format!("{name} - {}", minus.unsigned_abs()),
        }
    }
}

impl Value {
    fn at(from: From, offset: i64) -> Value {
        Value { from, offset, indexes: Vec::new() }
    }

    fn index(name: String) -> Value {
        let index = Index { name: Some(name), plus: 0, stride: Some(1) };
        Value { from: From::Zero, offset: 0, indexes: vec![index] }
    }

    /// The same as a number, if it is no address.
    fn into_integer(self) -> Option<Value> {
        match &self.from {
            From::Zero => Some(self),
            From::Pointer(places) if self.offset == 0 && self.indexes.is_empty() => match &places[..] {
                [Place { name, target: None }, ..] => Some(Value::index(name.clone())),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same with what is added to indexes as a part of the offset.
    fn folded(&self) -> Option<Value> {
        let mut folded = self.clone();
        let added = |index: &&mut Index| index.plus > 0 && index.stride.is_some();
        for index in folded.indexes.iter_mut().filter(added) {
            let added = core::mem::take(&mut index.plus).wrapping_mul(index.stride?);
            folded.offset = folded.offset.wrapping_add(added);
        }
        (folded.offset != self.offset).then_some(folded)
    }

    /// Whether it leads to memory: nothing lies in the first page.
    fn is_address(&self) -> bool {
        !matches!(self.from, From::Zero) || self.offset.unsigned_abs() >= 4096
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
            let index = Index { name: None, plus: 0, stride: None };
            (address, Value { indexes: vec![index], ..Value::at(From::Zero, 0) })
        }
        (None, None) => return None,
    };
    // The address is the one that is no integer; of two integers, the one that may be a
    // variable's.
    let (address, mut number) = match (a.clone().into_integer(), b.clone().into_integer()) {
        (Some(a), Some(b)) if a.is_address() || a.indexes.is_empty() => (a, b),
        (Some(a), Some(b)) => (b, a),
        (None, Some(b)) => (a, b),
        (Some(a), None) => (b, a),
        (None, None) => return None,
    };
    // `table[i - 1]` is so far from where it begins for each `i`.
    if let [Index { name: Some(_), plus, stride: Some(stride @ 1..) }] = &mut number.indexes[..]
        && address.is_address()
        && number.offset % *stride == 0
    {
        *plus += number.offset / *stride;
        number.offset = 0;
    }
    let mut sum = Value { offset: address.offset.wrapping_add(number.offset), ..address };
    for index in number.indexes {
        let is_same = |it: &&mut Index| it.name.is_some() && (&it.name, it.plus) == (&index.name, index.plus);
        let same = sum.indexes.iter_mut().find(is_same);
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
    indexes.iter().try_fold(path.to_owned(), |path, index| with_index(&path, &index.text()))
}

/// `table[0].name` with another index, if the first element is meant.
fn with_index(path: &str, index: &str) -> Option<String> {
    let at = path.rfind("[0]")?;
    Some(format!("{}[{index}]{}", &path[..at], &path[at + 3..]))
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
            let path = index.map_or(Some(path.to_owned()), |index| with_index(path, index));
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
