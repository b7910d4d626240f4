//! The program model: plain data, the same for one unit and for many that
//! were linked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::read::display_name;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FuncId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GlobalId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// A value of one function: its parameters come first, then the results of
/// its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ValueId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockId(pub u32);

/// A variable of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VariableId(pub u32);

/// Functions and globals of a whole program, referred to by index.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    pub functions: Vec<Function>,
    pub globals: Vec<Global>,
    /// Absolute paths where the compiler knew them.
    pub files: Vec<String>,
    pub types: Vec<Type>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TypeId(pub u32);

/// A type as the source has it, without names for other types and qualifiers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Type {
    Pointer(Option<TypeId>),
    Record(Vec<Field>),
    /// Elements with their size.
    Array(TypeId, u64),
    Scalar,
}

/// A member of a record; a base or an anonymous member has no name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub offset: i64,
    pub ty: TypeId,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// As the linker knows it.
    pub name: String,
    /// As the source has it: demangled, without parameters.
    pub display: String,
    pub linkage: Linkage,
    pub parameters: u32,
    pub is_variadic: bool,
    pub is_noreturn: bool,
    /// What it returns is nobody else's: `__attribute__((malloc))`.
    pub returns_new: bool,
    /// What its attributes say.
    pub ownership: Vec<Ownership>,
    pub signature: Signature,
    /// Of the result and the parameters, where the source and the machine
    /// agree on how many there are.
    pub types: Vec<Option<TypeId>>,
    /// Where its body begins.
    pub at: Spot,
    /// Of all that is known of it but the line where it stands; for what is only
    /// declared, nothing.
    pub fingerprint: Fingerprint,
    /// `None` for what is only declared.
    pub body: Option<Arc<Body>>,
}

/// An attribute of a function: of its result, or of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ownership {
    /// What it returns is the caller's to release.
    Returns,
    /// It releases the argument.
    Takes(u32),
    /// It keeps the argument, and will release it.
    Holds(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Linkage {
    /// Of its own unit only.
    Internal,
    /// Any definition of the name is as good as another.
    Mergeable,
    External,
}

/// Kinds of the result and the parameters, so that calls through pointers can
/// be matched with functions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Signature(pub String);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Global {
    pub name: String,
    pub linkage: Linkage,
    pub is_constant: bool,
    pub ty: Option<TypeId>,
    /// `None` for what is only declared; else what is not listed is zero.
    pub initial: Option<Vec<Cell>>,
    pub fingerprint: Fingerprint,
}

impl Global {
    /// What the source calls it: the linker's name may be mangled, and that of
    /// a function's own variable is `function.variable`, or ends in a number.
    pub fn display(&self) -> String {
        let demangled = display_name(&self.name);
        if self.name.starts_with("_ZZ") {
            return demangled.rsplit("::").next().unwrap_or_default().to_owned();
        }
        if demangled != self.name {
            return demangled;
        }
        let numbered =
            self.name.rsplit_once('.').filter(|(_, end)| end.bytes().all(|byte| byte.is_ascii_digit()));
        let name = numbered.map_or(self.name.as_str(), |(name, _)| name);
        name.rsplit('.').next().unwrap_or(name).to_owned()
    }
}

/// A part of a global's first value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub offset: i64,
    pub bytes: u32,
    pub value: Operand,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Body {
    pub blocks: Vec<Block>,
    pub variables: Vec<Variable>,
    /// The scope around each scope.
    pub scopes: Vec<Option<ScopeId>>,
    /// One more than the highest value.
    pub values: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variable {
    pub name: String,
    pub ty: Option<TypeId>,
    pub scope: Option<ScopeId>,
    /// [`Op::End`] says where.
    pub is_ended: bool,
}

/// A part of a function between braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScopeId(pub u32);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Block {
    pub instructions: Vec<Instruction>,
    /// Places of statements of which nothing else is left, in order.
    pub vanished: Vec<Vanished>,
    pub end: Terminator,
    pub end_at: Spot,
    /// Of its first instruction.
    pub scope: Option<ScopeId>,
    pub role: BlockRole,
    pub branch: Branch,
}

/// A statement that only gave a local another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vanished {
    /// The instruction of the block that comes next, or how many there are.
    pub before: u32,
    pub at: Spot,
}

/// What the source says of the branch at the end of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Among the function's branches with the same place.
    pub ordinal: u32,
    /// The source's condition holds where the machine's does not.
    pub is_negated: bool,
}

/// What the compiler made a block for, where that matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockRole {
    #[default]
    Plain,
    /// Ends with a `return`, `break`, `continue` or `goto` of the source.
    Leaves,
    /// Where those meet on the way out.
    Exit,
    /// Catches exceptions, not only to go on with them.
    Catches,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Instruction {
    pub result: ValueId,
    pub op: Op,
    pub at: Spot,
}

/// A place in the source; line 0 where it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spot {
    pub file: FileId,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operand {
    Value(ValueId),
    /// A null pointer is 0.
    Int(i64),
    /// An address so many bytes into a global.
    Global(GlobalId, i64),
    Function(FuncId),
    /// A constant structure, flattened; it has no structures in it.
    Members(Box<[Operand]>),
    /// Undefined, or of no interest.
    Unknown,
}

/// What a load or store moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    Scalar { bytes: u32, is_pointer: bool },
    Record(Arc<[Member]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub offset: i64,
    pub bytes: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// Space on the stack; its size where it is known.
    Local {
        bytes: Option<u64>,
        variable: Option<VariableId>,
    },
    Load {
        from: Operand,
        shape: Shape,
    },
    Store {
        to: Operand,
        value: Operand,
        shape: Shape,
    },
    /// `base + offset + Σ index · stride`.
    Step {
        base: Operand,
        offset: i64,
        terms: Vec<(Operand, i64)>,
    },
    Binary {
        op: Binary,
        left: Operand,
        right: Operand,
    },
    Compare {
        op: Compare,
        left: Operand,
        right: Operand,
    },
    /// Of numbers with a point; of constants, it is that of others in the same
    /// order.
    CompareReal {
        op: Compare,
        left: Operand,
        right: Operand,
    },
    /// The same bits or number in another type.
    Cast {
        value: Operand,
        width: Width,
    },
    Select {
        condition: Operand,
        yes: Operand,
        no: Operand,
    },
    Phi {
        incoming: Vec<(BlockId, Operand)>,
    },
    Call(Call),
    /// Members are numbered as flattened.
    Extract {
        record: Operand,
        members: std::ops::Range<u32>,
        of: u32,
    },
    Insert {
        record: Operand,
        value: Operand,
        members: std::ops::Range<u32>,
        of: u32,
    },
    Copy {
        to: Operand,
        from: Operand,
        bytes: Operand,
    },
    Fill {
        to: Operand,
        byte: Operand,
        bytes: Operand,
    },
    /// Changes memory at once; the result is the old content.
    Exchange {
        at: Operand,
        value: Operand,
        op: Option<Binary>,
    },
    /// A variable of the source has this value from here on.
    Name {
        variable: VariableId,
        value: Operand,
    },
    /// The scope of a variable ends.
    End {
        variable: VariableId,
    },
    /// A list of the arguments beyond the parameters begins.
    Variadic {
        list: Operand,
    },
    /// The life of a local ends.
    LifeEnd {
        local: Operand,
    },
    /// Something without effect on pointers.
    Opaque,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub callee: Callee,
    pub arguments: Vec<Operand>,
    pub signature: Signature,
    pub is_noreturn: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Callee {
    Function(FuncId),
    Pointer(Operand),
    Assembler,
}

/// What a cast does to the width of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Width {
    /// It is the same, or larger with the same sign.
    Kept,
    /// Only this many bits are left.
    Truncated(u32),
    /// A number of this many bits, which is not negative.
    ZeroExtended(u32),
    /// A number of this many bits.
    SignExtended(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Binary {
    Add,
    Sub,
    /// The difference of two pointers.
    Distance,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Unsigned.
    Below,
    NotAbove,
    Above,
    NotBelow,
    /// Of numbers with a point.
    Other,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Terminator {
    Jump(BlockId),
    Branch {
        condition: Operand,
        yes: BlockId,
        no: BlockId,
    },
    Switch {
        value: Operand,
        cases: Vec<(i64, BlockId)>,
        default: BlockId,
    },
    /// Any of these.
    Anywhere(Vec<BlockId>),
    /// The call is the last instruction of the block.
    Invoke {
        normal: BlockId,
        unwind: BlockId,
    },
    Return(Option<Operand>),
    /// An exception goes on to the caller.
    Resume,
    Unreachable,
}

impl Cell {
    pub fn covers(&self, offset: i64) -> bool {
        (self.offset..self.offset.saturating_add(self.bytes.into())).contains(&offset)
    }
}

impl Program {
    pub fn function(&self, id: FuncId) -> &Function {
        &self.functions[id.0 as usize]
    }

    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.0 as usize]
    }
}

impl Body {
    /// Whether `inner` is `outer` or in it.
    pub fn is_within(&self, inner: ScopeId, outer: ScopeId) -> bool {
        let mut scope = Some(inner);
        while let Some(at) = scope {
            if at == outer {
                return true;
            }
            scope = self.scopes[at.0 as usize];
        }
        false
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }
}

impl Spot {
    pub const UNKNOWN: Spot = Spot { file: FileId(0), line: 0, column: 0 };
}

impl Terminator {
    /// Without the choice, where the condition is a constant: so are the compiler's own
    /// flags in SSA form, as that of a returned variable that needs no destructor.
    pub fn decided(self) -> Terminator {
        match self {
            Terminator::Branch { condition: Operand::Int(flag), yes, no } => {
                Terminator::Jump(if flag != 0 { yes } else { no })
            }
            other => other,
        }
    }

    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            Terminator::Jump(to) => vec![*to],
            Terminator::Branch { yes, no, .. } => vec![*yes, *no],
            Terminator::Switch { cases, default, .. } => {
                cases.iter().map(|&(_, to)| to).chain([*default]).collect()
            }
            Terminator::Anywhere(blocks) => blocks.clone(),
            Terminator::Invoke { normal, unwind } => vec![*normal, *unwind],
            Terminator::Return(_) | Terminator::Resume | Terminator::Unreachable => Vec::new(),
        }
    }

    pub fn operand_mut(&mut self) -> Option<&mut Operand> {
        match self {
            Terminator::Branch { condition: operand, .. } | Terminator::Switch { value: operand, .. } => {
                Some(operand)
            }
            Terminator::Return(operand) => operand.as_mut(),
            _ => None,
        }
    }

    pub fn operand(&self) -> Option<&Operand> {
        match self {
            Terminator::Branch { condition: operand, .. } | Terminator::Switch { value: operand, .. } => {
                Some(operand)
            }
            Terminator::Return(operand) => operand.as_ref(),
            _ => None,
        }
    }
}

/// Calls `$each` with every operand of `$op`, by whatever reference `$op` is.
macro_rules! each_operand {
    ($op:expr, $each:expr) => {
        match $op {
            Op::Local { .. } | Op::End { .. } | Op::Opaque => {}
            Op::Load { from: operand, .. }
            | Op::Cast { value: operand, .. }
            | Op::Extract { record: operand, .. }
            | Op::Name { value: operand, .. }
            | Op::Variadic { list: operand }
            | Op::LifeEnd { local: operand } => $each(operand),
            Op::Store { to: a, value: b, .. }
            | Op::Binary { left: a, right: b, .. }
            | Op::Compare { left: a, right: b, .. }
            | Op::CompareReal { left: a, right: b, .. }
            | Op::Insert { record: a, value: b, .. }
            | Op::Exchange { at: a, value: b, .. } => {
                $each(a);
                $each(b);
            }
            Op::Select { condition: a, yes: b, no: c }
            | Op::Copy { to: a, from: b, bytes: c }
            | Op::Fill { to: a, byte: b, bytes: c } => {
                $each(a);
                $each(b);
                $each(c);
            }
            Op::Step { base, terms, .. } => {
                $each(base);
                for (index, _) in terms {
                    $each(index);
                }
            }
            Op::Phi { incoming } => {
                for (_, value) in incoming {
                    $each(value);
                }
            }
            Op::Call(call) => {
                let Call { callee, arguments, .. } = call;
                if let Callee::Pointer(pointer) = callee {
                    $each(pointer);
                }
                for argument in arguments {
                    $each(argument);
                }
            }
        }
    };
}

impl Op {
    /// Of a constant structure, its members.
    pub fn for_each_operand(&self, each: &mut dyn FnMut(&Operand)) {
        let mut each = |operand: &Operand| match operand {
            Operand::Members(members) => members.iter().for_each(&mut *each),
            one => each(one),
        };
        each_operand!(self, each);
    }

    /// The same to change them.
    pub fn for_each_operand_mut(&mut self, each: &mut dyn FnMut(&mut Operand)) {
        let mut each = |operand: &mut Operand| match operand {
            Operand::Members(members) => members.iter_mut().for_each(&mut *each),
            one => each(one),
        };
        each_operand!(self, each);
    }
}
