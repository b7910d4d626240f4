//! Functions that hand memory out, or take it back, without knowing what it is
//! for: `malloc`'s and `free`'s own shape, a function in the place of both as
//! scripting languages are given one, and those of a library that get a context
//! first. What their parameters and results are tells; whoever calls them with a
//! type in mind is the one to point at.

use addr2line::gimli::{self, AttributeValue};

use crate::dwarf::{Debug, Die, Entry};

/// What a parameter, a variable or a result is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    /// A pointer to anything.
    Anything,
    Pointer,
    Integer,
    /// An integer that is meant for sizes.
    Size,
    Other,
}

/// The parts of a function.
struct Shape {
    parameters: Vec<Is>,
    /// Variables of its own; none where it has inner scopes.
    variables: Option<Vec<Is>>,
    result: Option<Is>,
}

impl Shape {
    /// Apart from the memory there are but numbers, and one pointer that comes first.
    fn is_general(&self) -> bool {
        let rest = self.parameters.iter().skip(1);
        !self.parameters.contains(&Is::Other)
            && !rest.clone().any(|&it| it == Is::Pointer)
            && matches!(self.result, None | Some(Is::Anything))
    }
}

impl Debug {
    /// Whether a function returns as many bytes of anything as it is asked for.
    pub fn gives_anything(&self, die: Die, entry: &Entry) -> bool {
        self.shape(die, entry).is_some_and(|shape| {
            shape.is_general() && shape.result == Some(Is::Anything) && shape.parameters.contains(&Is::Size)
        })
    }

    /// Whether a function is given a pointer to anything, keeps it in no variable of
    /// its own that has another type, and returns nothing: as one that only frees
    /// it. One that also gets a context or a size says so by its name, or gives
    /// memory too.
    pub fn takes_anything(&self, die: Die, entry: &Entry) -> bool {
        let Some(shape) = self.shape(die, entry) else { return false };
        let Some(variables) = &shape.variables else { return false };
        let is_named = || {
            let name = self.name(die, entry).unwrap_or_default().to_ascii_lowercase();
            name.contains("free") || name.contains("alloc")
        };
        match shape.parameters[..] {
            [Is::Anything] => variables.is_empty() && shape.result.is_none(),
            _ => {
                let is_plain = |it: &Is| matches!(it, Is::Anything | Is::Integer | Is::Size);
                let gives = shape.result.is_some() && shape.parameters.contains(&Is::Size);
                shape.is_general()
                    && shape.parameters.contains(&Is::Anything)
                    && variables.iter().all(is_plain)
                    && (gives || is_named())
            }
        }
    }

    fn shape(&self, die: Die, entry: &Entry) -> Option<Shape> {
        let origin = self.follow(die, entry, gimli::DW_AT_abstract_origin).unwrap_or(die);
        let entry = self.entry(origin)?;
        let result = self.inherited(origin, &entry, &|die, entry| self.follow(die, entry, gimli::DW_AT_type));
        let mut shape = Shape {
            parameters: Vec::new(),
            variables: Some(Vec::new()),
            result: result.map(|kind| self.kind(kind)),
        };
        for (die, part) in self.children(origin) {
            let kind = || {
                let kind =
                    self.follow(die, &part, gimli::DW_AT_type).map_or(Is::Other, |kind| self.kind(kind));
                let name = self.name(die, &part).unwrap_or_default().to_ascii_lowercase();
                let is_named = ["size", "byte", "len"].iter().any(|it| name.contains(it));
                if kind == Is::Integer && is_named { Is::Size } else { kind }
            };
            match part.tag() {
                gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site => {}
                gimli::DW_TAG_formal_parameter => shape.parameters.push(kind()),
                gimli::DW_TAG_variable => shape.variables.iter_mut().for_each(|them| them.push(kind())),
                _ => shape.variables = None,
            }
        }
        Some(shape)
    }

    fn kind(&self, kind: Die) -> Is {
        let (mut kind, mut bare) = (kind, self.entry(kind));
        // A chain is short; a damaged one may be a ring.
        for _ in 0..8 {
            let Some(entry) = &bare else { return Is::Other };
            let next = self.follow(kind, entry, gimli::DW_AT_type);
            match (entry.tag(), next) {
                (gimli::DW_TAG_pointer_type, None) => return Is::Anything,
                (gimli::DW_TAG_pointer_type, Some(next)) if self.is_bare_qualifier(next) => {
                    return Is::Anything;
                }
                (gimli::DW_TAG_pointer_type, Some(_)) => return Is::Pointer,
                (gimli::DW_TAG_base_type, _) => return integer(entry),
                (
                    gimli::DW_TAG_typedef
                    | gimli::DW_TAG_const_type
                    | gimli::DW_TAG_volatile_type
                    | gimli::DW_TAG_restrict_type,
                    Some(next),
                ) => (kind, bare) = (next, self.entry(next)),
                _ => return Is::Other,
            }
        }
        Is::Other
    }

    /// Whether a type is `const void`.
    fn is_bare_qualifier(&self, kind: Die) -> bool {
        self.entry(kind).is_some_and(|entry| {
            entry.tag() == gimli::DW_TAG_const_type && entry.attr_value(gimli::DW_AT_type).is_none()
        })
    }
}

fn integer(entry: &Entry) -> Is {
    let is_wide = entry.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value()) == Some(8);
    match entry.attr_value(gimli::DW_AT_encoding) {
        Some(AttributeValue::Encoding(gimli::DW_ATE_unsigned)) if is_wide => Is::Size,
        Some(AttributeValue::Encoding(gimli::DW_ATE_unsigned | gimli::DW_ATE_signed)) => Is::Integer,
        _ => Is::Other,
    }
}
