//! Types and variables as debug information tells them.
//!
//! A type is seen by its [`Shape`]: names of types, qualifiers and enums are
//! looked through, static members, bit-fields and hidden pointers to virtual
//! tables left out. Virtual bases are left out too, because their place is
//! known only when the program runs.
//!
//! LLVM's C interface gives nodes as lists of operands; their order is that of
//! LLVM 19.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::rc::Rc;

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMMetadataKind::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use crate::ir::{Location, Value};
use crate::llvm::{Function, Module};

/// A type; with a dimension, an array without so many of its first indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type<'m> {
    node: Node<'m>,
    dimension: usize,
}

pub enum Shape<'m> {
    /// To data of a known type, or of none.
    Pointer(Option<Type<'m>>),
    Reference(Option<Type<'m>>),
    Record(Record<'m>),
    /// The number of elements may be known only when the program runs.
    Array(Type<'m>, Option<u64>),
    /// Of so many bytes; none for what has no size, or an unknown one.
    Scalar(u64),
}

pub struct Record<'m> {
    pub bytes: u64,
    pub members: Vec<Member<'m>>,
    pub is_union: bool,
    /// The object behind a lambda: its members are named as the variables
    /// that they capture.
    pub is_closure: bool,
}

/// A member or a base. Bases and anonymous members have no name.
pub struct Member<'m> {
    pub name: &'m str,
    pub offset: u64,
    pub ty: Type<'m>,
}

#[derive(Clone, Copy)]
pub struct Variable<'m> {
    pub name: &'m str,
    pub ty: Type<'m>,
}

/// A variable in memory: at `offset` from an address, or from the address
/// that is stored there.
pub struct Declaration<'m> {
    pub variable: Variable<'m>,
    pub address: Value<'m>,
    pub offset: u64,
    pub is_indirect: bool,
}

/// What debug information says about a function.
pub struct Signature<'m> {
    pub name: &'m str,
    pub result: Option<Type<'m>>,
    pub parameters: Vec<Option<Type<'m>>>,
    pub is_method: bool,
}

impl<'m> Signature<'m> {
    /// The type of the first parameter.
    pub fn object(&self) -> Option<Type<'m>> {
        self.parameters.first().copied().flatten()
    }
}

/// The types of a module. Each is read once.
pub struct Types<'m> {
    context: LLVMContextRef,
    shapes: RefCell<HashMap<Type<'m>, Rc<Shape<'m>>>>,
}

impl<'m> Types<'m> {
    pub fn new(module: &'m Module<'_>) -> Types<'m> {
        Types { context: module.context(), shapes: RefCell::default() }
    }

    pub fn shape(&self, ty: Type<'m>) -> Rc<Shape<'m>> {
        if let Some(shape) = self.shapes.borrow().get(&ty) {
            return shape.clone();
        }
        let shape = Rc::new(ty.shape());
        self.shapes.borrow_mut().insert(ty, shape.clone());
        shape
    }

    /// The size of an object; 0 if it is not known.
    pub fn bytes(&self, ty: Type<'m>) -> u64 {
        match *self.shape(ty) {
            Shape::Pointer(_) | Shape::Reference(_) => 8,
            Shape::Record(ref record) => record.bytes,
            Shape::Array(element, count) => self.bytes(element).saturating_mul(count.unwrap_or(0)),
            Shape::Scalar(bytes) => bytes,
        }
    }

    /// The name of the type that a pointer points to.
    pub fn pointee_name(&self, pointer: Type<'m>) -> Option<&'m str> {
        match *self.shape(pointer) {
            Shape::Pointer(pointee) | Shape::Reference(pointee) => pointee?.name(),
            _ => None,
        }
    }

    /// The scope in which a place stands.
    pub fn scope(&self, place: Location<'m>) -> Option<Scope<'m>> {
        // SAFETY: a live place.
        let raw = unsafe { LLVMDILocationGetScope(place.raw) };
        (!raw.is_null()).then_some(Scope(Node { raw, context: self.context, module: PhantomData }))
    }

    /// Whether a scope lies in another, and is not that of a function.
    pub fn is_inner(&self, scope: Scope<'m>) -> bool {
        matches!(scope.0.kind(), LLVMDILexicalBlockMetadataKind | LLVMDILexicalBlockFileMetadataKind)
    }

    /// A scope of a function, and those around it.
    pub fn scopes_around(&self, scope: Scope<'m>) -> HashSet<Scope<'m>> {
        let outer = |&scope: &Scope<'m>| {
            let parent = || scope.0.operand(1).map(Scope);
            self.is_inner(scope).then(parent).flatten()
        };
        std::iter::successors(Some(scope), outer).collect()
    }

    /// What a call of `llvm.dbg.declare` says.
    pub fn declaration(&self, call: Value<'m>) -> Option<Declaration<'m>> {
        if call.called_name() != Some("llvm.dbg.declare") {
            return None;
        }
        let [address, variable, expression] = [0, 1, 2].map(|index| call.operand(index));
        let address = Node::new(address, self.context)?;
        let variable = Node::new(variable, self.context)?;
        let (mut offset, mut is_indirect) = (0, false);
        let expression = printed(expression);
        let operations = expression.trim_start_matches("!DIExpression(").trim_end_matches(')');
        let mut operations = operations.split(", ").filter(|operation| !operation.is_empty());
        while let Some(operation) = operations.next() {
            match operation {
                "DW_OP_deref" if offset == 0 => is_indirect = true,
                "DW_OP_plus_uconst" => offset += operations.next()?.parse::<u64>().ok()?,
                _ => return None,
            }
        }
        Some(Declaration { variable: variable.variable()?, address: address.value()?, offset, is_indirect })
    }

    pub fn global(&self, global: Value<'m>) -> Option<Variable<'m>> {
        let mut count = 0;
        // SAFETY: a live global; so many entries are there until released.
        let variable = unsafe {
            let entries = LLVMGlobalCopyAllMetadata(global.raw, &mut count);
            let variable = (0..count as u32)
                .map(|index| LLVMValueMetadataEntriesGetMetadata(entries, index))
                .find(|&node| matches!(LLVMGetMetadataKind(node), LLVMDIGlobalVariableExpressionMetadataKind))
                .map(|node| LLVMDIGlobalVariableExpressionGetVariable(node));
            LLVMDisposeValueMetadataEntries(entries);
            variable?
        };
        Node { raw: variable, context: self.context, module: PhantomData }.variable()
    }

    /// Whether the compiler made a function, or the declaration of one.
    pub fn is_artificial(&self, function: Value<'m>) -> bool {
        const DECLARATION: usize = 6;
        let flags = |node: Node<'m>| printed_flags(node.as_value());
        self.subprogram(function)
            .is_some_and(|node| flags(node) || node.operand(DECLARATION).is_some_and(flags))
    }

    /// The file in which a function stands.
    pub fn file(&self, function: Value<'m>) -> Option<String> {
        let node = self.subprogram(function)?;
        // SAFETY: a function's node has a file or none; its texts live as long
        // as the context.
        let text = |read: unsafe extern "C" fn(LLVMMetadataRef, *mut u32) -> *const std::ffi::c_char| unsafe {
            let file = LLVMDIScopeGetFile(node.raw);
            let mut length = 0;
            let start = if file.is_null() { std::ptr::null() } else { read(file, &mut length) };
            if start.is_null() {
                return String::new();
            }
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length as usize);
            String::from_utf8_lossy(bytes).into_owned()
        };
        let (folder, name) = (text(LLVMDIFileGetDirectory), text(LLVMDIFileGetFilename));
        Some(if name.starts_with('/') { name } else { format!("{folder}/{name}") })
    }

    pub fn signature(&self, function: Value<'m>) -> Option<Signature<'m>> {
        self.subprogram(function)?.signature()
    }

    /// The method of a class, or of its bases, that has this symbol.
    pub fn method(&self, class: Type<'m>, symbol: &str) -> Option<Signature<'m>> {
        let elements = class.node.unqualified()?.operand(ELEMENTS)?.operands();
        elements.into_iter().flatten().find_map(|element| match element.tag() {
            tag::FUNCTION if element.operand(SYMBOL)?.string() == symbol => element.signature(),
            tag::BASE_CLASS => self.method(element.operand(BASE)?.ty()?, symbol),
            _ => None,
        })
    }

    /// Records that casts in the function's unit lead to, by name.
    pub fn cast_targets(&self, function: Function<'m>) -> HashMap<&'m str, Type<'m>> {
        const RETAINED: usize = 5;
        let unit = self.subprogram(function.value()).and_then(|node| node.operand(UNIT));
        let retained = unit.and_then(|unit| unit.operand(RETAINED)).map(Node::operands).unwrap_or_default();
        let targets = retained.into_iter().flatten().filter_map(|node| {
            let target = match node.unqualified()? {
                pointer if pointer.tag() == tag::POINTER => pointer.operand(BASE)?,
                other => other,
            };
            Some((target.ty()?.name()?, target.ty()?))
        });
        targets.collect()
    }

    fn subprogram(&self, function: Value<'m>) -> Option<Node<'m>> {
        // SAFETY: asked of a function only.
        let raw = unsafe {
            if LLVMIsAFunction(function.raw).is_null() {
                return None;
            }
            LLVMGetSubprogram(function.raw)
        };
        (!raw.is_null()).then_some(Node { raw, context: self.context, module: PhantomData })
    }
}

impl<'m> Type<'m> {
    /// The innermost name: a record's own, or that of the type definition
    /// around an anonymous one. Without arguments of templates.
    /// Whether the type, or one that it is another name for, has such a name.
    pub fn is_named(self, names: &[&str]) -> bool {
        let base = if self.node.is_qualifier() { self.node.operand(BASE).and_then(Node::ty) } else { None };
        names.contains(&self.node.name()) || base.is_some_and(|base| base.is_named(names))
    }

    pub fn name(self) -> Option<&'m str> {
        let base = if self.node.is_qualifier() { self.node.operand(BASE).and_then(Node::ty) } else { None };
        let own = self.node.name();
        let own = own.split_once('<').map_or(own, |(name, _)| name);
        base.and_then(Type::name).or(non_empty(own))
    }

    fn shape(self) -> Shape<'m> {
        let Some(node) = self.node.unqualified() else { return Shape::Scalar(0) };
        match node.tag() {
            tag::POINTER => match node.operand(BASE).and_then(Node::ty) {
                Some(base) if base.is_code() => Shape::Scalar(8),
                base => Shape::Pointer(base),
            },
            tag::REFERENCE | tag::RVALUE_REFERENCE => Shape::Reference(node.operand(BASE).and_then(Node::ty)),
            tag::ARRAY => self.array(node).unwrap_or(Shape::Scalar(0)),
            tag::STRUCT | tag::CLASS | tag::UNION => {
                let members = node.operand(ELEMENTS).map(Node::operands).unwrap_or_default();
                Shape::Record(Record {
                    bytes: node.bytes(),
                    members: members.into_iter().flatten().filter_map(Node::member).collect(),
                    is_union: node.tag() == tag::UNION,
                    is_closure: node.tag() == tag::CLASS && node.name().is_empty(),
                })
            }
            _ => Shape::Scalar(node.bytes()),
        }
    }

    /// One dimension of an array.
    fn array(self, node: Node<'m>) -> Option<Shape<'m>> {
        let ranges = node.operand(ELEMENTS)?.operands();
        let count = (*ranges.get(self.dimension)?)?.count();
        let element = if self.dimension + 1 < ranges.len() {
            Type { node, dimension: self.dimension + 1 }
        } else {
            node.operand(BASE)?.ty()?
        };
        Some(Shape::Array(element, count))
    }

    fn is_code(self) -> bool {
        self.node.unqualified().is_some_and(|node| node.tag() == tag::CODE)
    }
}

/// DWARF's numbers.
mod tag {
    pub const ARRAY: u16 = 0x01;
    pub const CLASS: u16 = 0x02;
    pub const MEMBER: u16 = 0x0d;
    pub const POINTER: u16 = 0x0f;
    pub const REFERENCE: u16 = 0x10;
    pub const STRUCT: u16 = 0x13;
    pub const CODE: u16 = 0x15;
    pub const TYPEDEF: u16 = 0x16;
    pub const UNION: u16 = 0x17;
    pub const BASE_CLASS: u16 = 0x1c;
    pub const CONST: u16 = 0x26;
    pub const FUNCTION: u16 = 0x2e;
    pub const VOLATILE: u16 = 0x35;
    pub const RESTRICT: u16 = 0x37;
    pub const RVALUE_REFERENCE: u16 = 0x42;
    pub const TEMPLATE_ALIAS: u16 = 0x43;
    pub const ATOMIC: u16 = 0x47;
}

/// Operands of types.
const BASE: usize = 3;
const ELEMENTS: usize = 4;

/// Operands of functions.
const NAME: usize = 2;
const SYMBOL: usize = 3;
const TYPE: usize = 4;
const UNIT: usize = 5;

/// Lets what an instruction tells of a variable be true of another value, if
/// there is one.
pub fn retell<'m>(note: Value<'m>, other: impl Fn(Value<'m>) -> Option<Value<'m>>) {
    if let Some(other) = told(note).flatten().and_then(other) {
        tell_of(note, other);
    }
}

/// What a note says that a variable has from there on, if that is one value;
/// `None` if it is no note.
pub fn told(note: Value<'_>) -> Option<Option<Value<'_>>> {
    let is_note = note.is_intrinsic() && note.called_name() == Some("llvm.dbg.value");
    is_note.then(|| Node::new(note.operand(0), context_of(note)).and_then(Node::value))
}

/// Lets a note say that its variable has another value.
pub fn tell_of<'m>(note: Value<'m>, value: Value<'m>) {
    if let Some(value) = Node::new(value, context_of(note)) {
        note.set_operand(0, Value::new(value.as_value()));
    }
}

fn context_of(value: Value<'_>) -> LLVMContextRef {
    // SAFETY: the context of a live value, which outlives it.
    unsafe { LLVMGetTypeContext(LLVMTypeOf(value.raw)) }
}

/// A scope of the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope<'m>(Node<'m>);

/// Any metadata.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node<'m> {
    raw: LLVMMetadataRef,
    context: LLVMContextRef,
    module: PhantomData<&'m ()>,
}

impl<'m> Node<'m> {
    /// The metadata in a value, or a constant as metadata.
    fn new(value: Value<'m>, context: LLVMContextRef) -> Option<Node<'m>> {
        if value.raw.is_null() {
            return None;
        }
        // SAFETY: a live value.
        let raw = unsafe { LLVMValueAsMetadata(value.raw) };
        Some(Node { raw, context, module: PhantomData })
    }

    fn kind(self) -> LLVMMetadataKind {
        // SAFETY: live metadata.
        unsafe { LLVMGetMetadataKind(self.raw) }
    }

    fn as_value(self) -> LLVMValueRef {
        // SAFETY: metadata of this context.
        unsafe { LLVMMetadataAsValue(self.context, self.raw) }
    }

    /// The value that metadata stands for.
    fn value(self) -> Option<Value<'m>> {
        let is_value =
            matches!(self.kind(), LLVMLocalAsMetadataMetadataKind | LLVMConstantAsMetadataMetadataKind);
        let mut value = null_mut();
        // SAFETY: a value as metadata has itself as its one operand.
        is_value.then(|| unsafe {
            LLVMGetMDNodeOperands(self.as_value(), &mut value);
            Value::new(value)
        })
    }

    fn operands(self) -> Vec<Option<Node<'m>>> {
        // SAFETY: a node; so many operands are there, and null for an absent one.
        let operands = unsafe {
            let node = self.as_value();
            let mut operands = vec![null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
            LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
            operands
        };
        operands.into_iter().map(|raw| Node::new(Value::new(raw), self.context)).collect()
    }

    fn operand(self, index: usize) -> Option<Node<'m>> {
        self.operands().get(index).copied().flatten()
    }

    fn string(self) -> &'m str {
        let mut length = 0;
        // SAFETY: null for what is not a string; else the context keeps it.
        let bytes = unsafe {
            let start = LLVMGetMDString(self.as_value(), &mut length);
            if start.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(start.cast::<u8>(), length as usize)
            }
        };
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    fn tag(self) -> u16 {
        // SAFETY: 0 for what is no node of debug information.
        unsafe { LLVMGetDINodeTag(self.raw) }
    }

    fn is_type(self) -> bool {
        matches!(
            self.kind(),
            LLVMDIBasicTypeMetadataKind
                | LLVMDIDerivedTypeMetadataKind
                | LLVMDICompositeTypeMetadataKind
                | LLVMDISubroutineTypeMetadataKind
        )
    }

    fn ty(self) -> Option<Type<'m>> {
        self.is_type().then_some(Type { node: self, dimension: 0 })
    }

    /// The name of a type or member.
    fn name(self) -> &'m str {
        if !self.is_type() {
            return "";
        }
        let mut length = 0;
        // SAFETY: a type, whose name the context keeps.
        let bytes = unsafe {
            let start = LLVMDITypeGetName(self.raw, &mut length);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast::<u8>(), length) }
        };
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    fn bytes(self) -> u64 {
        // SAFETY: asked of types only.
        if self.is_type() { unsafe { LLVMDITypeGetSizeInBits(self.raw) / 8 } } else { 0 }
    }

    fn has_flag(self, flag: LLVMDIFlags) -> bool {
        // SAFETY: asked of types only.
        self.is_type() && unsafe { LLVMDITypeGetFlags(self.raw) } & flag != 0
    }

    /// The type without qualifiers and other names; `None` for `void`.
    fn unqualified(self) -> Option<Node<'m>> {
        let mut node = self;
        while node.is_qualifier() {
            node = node.operand(BASE)?;
        }
        Some(node)
    }

    fn is_qualifier(self) -> bool {
        use tag::*;
        matches!(self.tag(), TYPEDEF | CONST | VOLATILE | RESTRICT | ATOMIC | TEMPLATE_ALIAS)
    }

    fn member(self) -> Option<Member<'m>> {
        let hidden = match self.tag() {
            tag::MEMBER => LLVMDIFlagStaticMember | LLVMDIFlagBitField | LLVMDIFlagArtificial,
            tag::BASE_CLASS => LLVMDIFlagVirtual,
            _ => return None,
        };
        if self.has_flag(hidden) {
            return None;
        }
        // SAFETY: a type, as its tag says.
        let offset = unsafe { LLVMDITypeGetOffsetInBits(self.raw) / 8 };
        Some(Member { name: self.name(), offset, ty: self.operand(BASE)?.ty()? })
    }

    fn variable(self) -> Option<Variable<'m>> {
        let operands = self.operands();
        let (name, ty) = (operands.get(1).copied()??, operands.get(3).copied()??);
        Some(Variable { name: non_empty(name.string())?, ty: ty.ty()? })
    }

    /// What a function's node says about it.
    fn signature(self) -> Option<Signature<'m>> {
        const TYPES: usize = 3;
        let operands = self.operands();
        let operand = |index: usize| operands.get(index).copied().flatten();
        let types = operand(TYPE)?.operand(TYPES)?.operands();
        let object = types.get(1).copied().flatten();
        Some(Signature {
            name: operand(NAME)?.string(),
            result: types.first().copied().flatten().and_then(Node::ty),
            parameters: types.iter().skip(1).map(|ty| ty.and_then(Node::ty)).collect(),
            is_method: object.is_some_and(|object| object.has_flag(LLVMDIFlagObjectPointer)),
        })
    }

    /// Elements in a range; `None` where it is open, also when written as 0, or
    /// depends on a variable.
    fn count(self) -> Option<u64> {
        let count = self.operand(0)?.value()?.integer()?;
        (count as i64 > 0).then_some(count)
    }
}

/// Whether a node's text says that it is the compiler's.
fn printed_flags(node: LLVMValueRef) -> bool {
    printed(Value::new(node)).contains("DIFlagArtificial")
}

/// A value as text; the C interface has no other way into an expression.
fn printed(value: Value<'_>) -> String {
    // SAFETY: a live value; the text is ours to release.
    unsafe {
        let text = LLVMPrintValueToString(value.raw);
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        copy
    }
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
