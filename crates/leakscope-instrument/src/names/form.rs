//! Text of expressions.

use crate::debug_info::Member;

/// An object as the source writes it.
#[derive(Clone)]
pub enum Form {
    Object(String),
    /// What the pointer points to.
    Pointee(String),
}

use Form::{Object, Pointee};

impl Form {
    pub fn text(&self) -> String {
        match self {
            Object(text) => text.clone(),
            Pointee(pointer) => format!("*{pointer}"),
        }
    }

    pub fn part(self, member: &Member<'_>, of_closure: bool) -> Form {
        match member.name {
            "" => self,
            // Reserved for the implementation: what it is in is meant.
            name if name.starts_with("_M_") || name.starts_with("__") => self,
            name if of_closure => Object(name.to_owned()),
            name => self.member(name),
        }
    }

    pub fn member(self, name: &str) -> Form {
        Object(match self {
            Object(text) => format!("{}.{name}", primary(&text)),
            Pointee(pointer) => format!("{}->{name}", primary(&pointer)),
        })
    }

    /// An element of an array.
    pub fn index(self, index: &str) -> Form {
        Object(format!("{}[{index}]", primary(&self.text())))
    }

    /// An element of what a pointer points to.
    pub fn element(&self, index: &str) -> Form {
        match self {
            Object(text) | Pointee(text) => Object(format!("{}[{index}]", primary(text))),
        }
    }
}

/// The expression, so that a suffix applies to all of it.
fn primary(text: &str) -> String {
    if text.starts_with('*') { format!("({text})") } else { text.to_owned() }
}
