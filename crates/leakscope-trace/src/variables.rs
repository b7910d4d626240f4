//! The variables of a module, and where they are.

use std::path::Path;

use addr2line::gimli::{self, AttributeValue, Operation, Register};

use crate::dwarf::{Debug, Die, Entry, Expression, Visible};
use crate::types::{Types, Wanted};

/// Variables by where they are.
pub struct Variables {
    pub types: Types,
    statics: Vec<Placed>,
    thread_locals: Vec<Placed>,
}

/// A variable, or a part of one, at an address of the file, or of thread-local
/// storage.
#[derive(Clone, Copy)]
struct Placed {
    start: u64,
    part: Part,
    die: Die,
    /// The function that it stands in.
    function: Option<Die>,
}

/// What of a variable is at a place: the optimiser may take it apart.
#[derive(Clone, Copy)]
pub struct Part {
    within: u64,
    /// `None` if it goes on to the variable's end.
    bytes: Option<u64>,
}

/// Where a variable is.
#[derive(Clone, Copy)]
pub enum At {
    Static(u64),
    ThreadLocal(u64),
    /// So far from the base of its function's frame.
    Frame(i64),
    Register(Register),
    /// So far from where a register points to.
    Behind(Register, i64),
}

/// Where a frame has a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// So many bytes below the stack pointer of the caller.
    Below(i64),
    Register(Register),
}

/// The stack pointer of the caller is so far behind where a register points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameEnd {
    pub register: Register,
    pub offset: i64,
}

/// A word of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As the source writes it: `table[3].head`.
    pub name: String,
    pub is_external: bool,
    pub declared: Option<(String, u32)>,
    /// The function that the variable stands in.
    pub function: Option<String>,
    /// Its type says what is there.
    pub has_type: bool,
    /// The number there, as the source writes it.
    pub number: Option<String>,
    /// Of the variable, or of the part of it that is there.
    pub bytes: u64,
    /// What it points to, if that is known.
    pub target: Option<Die>,
    /// The object of a library's type that it is in.
    pub object: Option<String>,
    /// In so many functions that were inlined at the address in question it is, if
    /// that is known.
    pub inlined: Option<usize>,
}

impl Variables {
    pub fn read(module: &Path) -> Option<Variables> {
        let (mut statics, mut thread_locals) = (Vec::new(), Vec::new());
        let mut function: Option<(Die, isize)> = None;
        let types = Types::new(Debug::read(module)?, |debug, die, entry, depth| {
            function = function.filter(|&(_, outer)| depth > outer);
            match entry.tag() {
                gimli::DW_TAG_subprogram => function = Some((die, depth)),
                gimli::DW_TAG_variable => {
                    let function = function.map(|(die, _)| die);
                    let Some(AttributeValue::Exprloc(location)) = entry.attr_value(gimli::DW_AT_location)
                    else {
                        return;
                    };
                    for (at, part) in parts(debug, die, &location) {
                        match at {
                            At::Static(start) => statics.push(Placed { start, part, die, function }),
                            At::ThreadLocal(start) => {
                                thread_locals.push(Placed { start, part, die, function });
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        });
        Some(Variables { types, statics, thread_locals })
    }

    /// The word of a variable at an address of the file.
    pub fn global(&self, address: u64) -> Option<Word> {
        self.placed(&self.statics, address)
    }

    pub fn thread_local(&self, offset: u64) -> Option<Word> {
        self.placed(&self.thread_locals, offset)
    }

    fn placed(&self, all: &[Placed], address: u64) -> Option<Word> {
        all.iter().find_map(|placed| {
            let offset = address.checked_sub(placed.start)?;
            let entry = self.types.debug.entry(placed.die)?;
            self.word(placed.die, &entry, placed.part, offset, placed.function)
        })
    }

    /// What a frame has in a place while the code at `address` runs. The
    /// outermost variable counts: those of functions that were inlined are
    /// copies. But of those that have one place for as long as they live the innermost does:
    /// several share it one after the other.
    pub fn held(&self, address: u64, held: Held, end: Option<FrameEnd>) -> Option<Word> {
        let debug = &self.types.debug;
        let all = debug.visible(address);
        let word = |variable: &Visible| {
            let word = self.held_by(variable, &debug.location(variable, address)?, held, end)?;
            Some(Word { inlined: Some(variable.inlined), ..word })
        };
        let is_fixed = |variable: &&Visible| {
            let at = variable.entry.attr_value(gimli::DW_AT_location);
            matches!(at, Some(AttributeValue::Exprloc(_)))
        };
        all.iter().rev().filter(is_fixed).find_map(word).or_else(|| all.iter().find_map(word))
    }

    /// The number of a parameter of the function at an address.
    pub fn parameter(&self, address: u64, name: &str) -> Option<u32> {
        let debug = &self.types.debug;
        let all = debug.visible(address);
        let mut parameters =
            (0..).zip(all.iter().filter(|it| it.entry.tag() == gimli::DW_TAG_formal_parameter));
        let is_it = |it: &Visible| debug.name(it.die, &it.entry).as_deref() == Some(name);
        parameters.find(|(_, it)| is_it(it)).map(|(number, _)| number)
    }

    /// The one variable of a function that ever had a place of its frame: its
    /// scope may have ended.
    pub fn once_held(&self, address: u64, held: Held, end: Option<FrameEnd>) -> Option<Word> {
        let all = self.types.debug.fixed(address);
        let mut found = all.iter().filter_map(|(variable, at)| self.held_by(variable, at, held, end));
        found.next().filter(|_| found.next().is_none())
    }

    /// What a variable has in a place, if it is there.
    fn held_by(
        &self,
        variable: &Visible,
        at: &Expression,
        held: Held,
        end: Option<FrameEnd>,
    ) -> Option<Word> {
        let debug = &self.types.debug;
        let base = frame_base(debug, variable, end);
        parts(debug, variable.die, at).into_iter().find_map(|(at, part)| {
            let place = match at {
                At::Frame(offset) => Held::Below(-offset.wrapping_add(base?)),
                At::Behind(register, offset) => {
                    let end = end.filter(|end| end.register == register)?;
                    Held::Below(end.offset.wrapping_sub(offset))
                }
                At::Register(register) => Held::Register(register),
                At::Static(_) | At::ThreadLocal(_) => return None,
            };
            let offset = match (place, held) {
                (Held::Below(start), Held::Below(below)) => u64::try_from(start.checked_sub(below)?).ok()?,
                (place, held) => (place == held).then_some(0)?,
            };
            self.word(variable.die, &variable.entry, part, offset, Some(variable.function))
        })
    }

    /// The word at an offset of a part of a variable, if it is inside.
    fn word(&self, die: Die, entry: &Entry, part: Part, offset: u64, function: Option<Die>) -> Option<Word> {
        let Types { debug, .. } = &self.types;
        let name = debug.full_name(die, entry)?;
        // What the compiler or a macro of a library made is nobody's variable.
        if name.starts_with("__") {
            return None;
        }
        let kind = self.types.type_of(die, entry);
        let bytes = part.bytes.or_else(|| self.types.size(kind?)).unwrap_or(8);
        if offset >= bytes {
            return None;
        }
        let offset = offset.saturating_add(part.within);
        let find = |wanted| kind.and_then(|kind| self.types.descend(kind, offset, wanted));
        let found = find(Wanted::Word);
        let number = find(Wanted::Number).map(|found| format!("{name}{}", found.path));
        let path = match &found {
            Some(found) => found.path.clone(),
            None if offset == 0 => String::new(),
            None => format!("+{offset}"),
        };
        let is_external = debug.inherited(die, entry, &|_, entry| {
            entry.attr_value(gimli::DW_AT_external).filter(|value| *value == AttributeValue::Flag(true))
        });
        let object =
            kind.and_then(|kind| self.types.object(kind, offset)).map(|path| format!("{name}{path}"));
        Some(Word {
            object,
            name: name + &path,
            is_external: is_external.is_some(),
            declared: debug.declared(die, entry),
            function: function.and_then(|die| debug.full_name(die, &debug.entry(die)?)),
            has_type: found.is_some() || offset == 0,
            number,
            bytes,
            target: found.and_then(|found| found.target),
            inlined: None,
        })
    }
}

/// Where the parts of a variable are; none that are computed.
pub fn parts(debug: &Debug, die: Die, location: &Expression) -> Vec<(At, Part)> {
    let mut operations = location.clone().operations(debug.encoding(die));
    let (mut found, mut at, mut within) = (Vec::new(), None, 0);
    while let Ok(Some(operation)) = operations.next() {
        at = match (operation, at) {
            (Operation::Address { address }, _) => Some(At::Static(address)),
            (Operation::AddressIndex { index } | Operation::ConstantIndex { index }, _) => {
                debug.address(die, index).map(At::Static)
            }
            (Operation::UnsignedConstant { value }, _) => Some(At::Static(value)),
            (Operation::PlusConstant { value }, Some(At::Static(start))) => {
                Some(At::Static(start.wrapping_add(value)))
            }
            // A part of what a structured binding takes apart.
            (Operation::PlusConstant { value }, Some(At::Frame(offset))) => {
                Some(At::Frame(offset.wrapping_add(value as i64)))
            }
            (Operation::TLS, Some(At::Static(start))) => Some(At::ThreadLocal(start)),
            (Operation::FrameOffset { offset }, _) => Some(At::Frame(offset)),
            (Operation::Register { register }, _) => Some(At::Register(register)),
            (Operation::RegisterOffset { register, offset, .. }, _) => Some(At::Behind(register, offset)),
            (Operation::Piece { size_in_bits, .. }, at) => {
                let bytes = size_in_bits / 8;
                found.extend(at.map(|at| (at, Part { within, bytes: Some(bytes) })));
                within = u64::saturating_add(within, bytes);
                None
            }
            // What is computed is nowhere, up to the next part.
            _ => None,
        };
    }
    found.extend(at.map(|at| (at, Part { within, bytes: None })));
    found
}

/// Where the frame of a variable's function has its base, counted from its
/// end: there the caller's begins.
fn frame_base(debug: &Debug, variable: &Visible, end: Option<FrameEnd>) -> Option<i64> {
    let function = debug.entry(variable.function)?;
    let AttributeValue::Exprloc(base) = function.attr_value(gimli::DW_AT_frame_base)? else { return None };
    match base.operations(debug.encoding(variable.function)).next().ok()?? {
        Operation::CallFrameCFA => Some(0),
        // Below where the frame pointer points to lie the caller's one, and the
        // return address.
        Operation::Register { register: gimli::X86_64::RBP } => Some(-16),
        Operation::Register { register } => Some(-end.filter(|end| end.register == register)?.offset),
        _ => None,
    }
}
