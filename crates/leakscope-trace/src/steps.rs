//! What the source calls a place to which the code's own steps lead:
//! registers, constants, loads and sums become variables, fields and elements.

use addr2line::gimli::Register;
use leakscope_wire::{Step, StepKind};

use crate::dwarf::Die;
use crate::variables::{FrameEnd, Held, Variables, Word};

/// A value that the code has.
#[derive(Clone)]
enum Value {
    Unknown,
    Number(i64),
    /// An integer of the source, so many times.
    Index(String, i64),
    Address(Address),
}

/// An address, from where it was got.
#[derive(Clone)]
struct Address {
    from: From,
    offset: i64,
    /// What is added to it.
    index: Option<Index>,
}

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
    /// A pointer of the source, and what it points to.
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
            return Some(self.register(value)?.name);
        }
        let mut values = Vec::new();
        for step in steps {
            self.take(&mut values, *step)?;
        }
        let value = match (values.pop()?, target) {
            (value, Target::Behind(bytes)) => sum(value, Value::Number(bytes.cast_signed())),
            (value, _) => value,
        };
        if target == Target::Object { self.object(&value) } else { Some(self.place(&value)?.name) }
    }

    /// The object of a library's type around an address.
    fn object(&self, value: &Value) -> Option<String> {
        let mut address = self.address_of(value)?;
        self.named(&mut address);
        match address {
            Address { index: Some(_), .. } | Address { from: From::Register(_), .. } => None,
            Address { from: From::Zero, offset, .. } => {
                self.variables.global((offset as u64).wrapping_sub(self.bias))?.object
            }
            Address { from: From::Frame, offset, .. } => {
                self.variables.held(self.probe, Held::Below(-offset), self.end)?.object
            }
            Address { from: From::Pointer(pointer, target), offset, .. } => {
                let path = self.variables.types.object(target?, u64::try_from(offset).ok()?)?;
                Some(arrow(&pointer, &path))
            }
        }
    }

    fn address_of(&self, value: &Value) -> Option<Address> {
        match value {
            Value::Number(number) => Some(Address { from: From::Zero, offset: *number, index: None }),
            Value::Address(address) => Some(address.clone()),
            _ => None,
        }
    }

    fn take(&self, values: &mut Vec<Value>, Step { kind, value }: Step) -> Option<()> {
        let result = match StepKind::from_u32(kind)? {
            StepKind::Register => {
                let register = Register(value as u16);
                match self.end {
                    Some(end) if end.register == register => address(From::Frame, -end.offset),
                    _ => address(From::Register(register), 0),
                }
            }
            StepKind::Constant => Value::Number(value.into()),
            StepKind::Load => {
                let from = values.pop()?;
                let is_pointer = value == 8;
                match self.place(&from) {
                    Some(Place { name, target }) if is_pointer => address(From::Pointer(name, target), 0),
                    Some(Place { name, .. }) => Value::Index(name, 1),
                    None => Value::Unknown,
                }
            }
            StepKind::Add => {
                let (b, a) = (values.pop()?, values.pop()?);
                sum(a, b)
            }
            StepKind::Times => match values.pop()? {
                Value::Index(name, times) => Value::Index(name, times.checked_mul(value.into())?),
                Value::Number(number) => Value::Number(number.wrapping_mul(value.into())),
                Value::Address(Address { from: From::Pointer(name, None), offset: 0, index: None }) => {
                    Value::Index(name, value.into())
                }
                _ => Value::Unknown,
            },
            StepKind::Also => match self.register(value) {
                Some(Word { name, target, .. }) => {
                    values.pop();
                    address(From::Pointer(name, target), 0)
                }
                None => return Some(()),
            },
            StepKind::Unknown => Value::Unknown,
            StepKind::Held => return None,
        };
        values.push(result);
        Some(())
    }

    fn register(&self, number: i32) -> Option<Word> {
        self.variables.held(self.probe, Held::Register(Register(number as u16)), self.end)
    }

    /// An address in a register that has a variable is that pointer's.
    fn named(&self, address: &mut Address) {
        if let From::Register(register) = address.from
            && let Some(Word { name, target, .. }) = self.register(register.0.into())
        {
            address.from = From::Pointer(name, target);
        }
    }

    /// The place at an address.
    fn place(&self, value: &Value) -> Option<Place> {
        let mut address = self.address_of(value)?;
        self.named(&mut address);
        let Address { from, offset, index } = address;
        let word = match from {
            From::Zero => self.variables.global((offset as u64).wrapping_sub(self.bias))?,
            From::Frame => self.variables.held(self.probe, Held::Below(-offset), self.end)?,
            From::Register(_) => return None,
            From::Pointer(name, target) => return self.behind(name, target, offset, index),
        };
        let word = Some(word).filter(|word| word.has_type)?;
        let name = match index {
            Some(index) => with_index(&word.name, index.name.as_deref())?,
            None => word.name,
        };
        Some(Place { name, target: word.target })
    }

    /// The place so far behind where a pointer points to.
    fn behind(
        &self,
        pointer: String,
        target: Option<Die>,
        offset: i64,
        index: Option<Index>,
    ) -> Option<Place> {
        let types = &self.variables.types;
        let offset = u64::try_from(offset).ok()?;
        let kind = target?;
        let size = types.size(kind).filter(|&size| size > 0)?;
        let found = types.descend(kind, if index.is_none() { offset % size } else { offset })?;
        let name = match index {
            Some(Index { name, stride })
                if offset < size && stride.is_none_or(|stride| stride.cast_unsigned() == size) =>
            {
                format!("{pointer}[{}]{}", name.as_deref().unwrap_or("..."), found.path)
            }
            Some(Index { name, .. }) => arrow(&pointer, &with_index(&found.path, name.as_deref())?),
            None if offset < size => arrow(&pointer, &found.path),
            None => format!("{pointer}[{}]{}", offset / size, found.path),
        };
        Some(Place { name, target: found.target })
    }
}

fn address(from: From, offset: i64) -> Value {
    Value::Address(Address { from, offset, index: None })
}

fn sum(a: Value, b: Value) -> Value {
    let known = |name, stride| Some(Index { name, stride });
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Value::Number(a.wrapping_add(b)),
        (Value::Address(address), Value::Number(number))
        | (Value::Number(number), Value::Address(address)) => {
            Value::Address(Address { offset: address.offset.wrapping_add(number), ..address })
        }
        (Value::Address(address), Value::Index(name, stride))
        | (Value::Index(name, stride), Value::Address(address))
            if address.index.is_none() =>
        {
            Value::Address(Address { index: known(Some(name), Some(stride)), ..address })
        }
        (Value::Number(number), Value::Index(name, stride))
        | (Value::Index(name, stride), Value::Number(number)) => Value::Address(Address {
            from: From::Zero,
            offset: number,
            index: known(Some(name), Some(stride)),
        }),
        (Value::Address(address), Value::Unknown) | (Value::Unknown, Value::Address(address))
            if address.index.is_none() =>
        {
            Value::Address(Address { index: known(None, None), ..address })
        }
        _ => Value::Unknown,
    }
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
