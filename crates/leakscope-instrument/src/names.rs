//! How the source writes the object at an address.
//!
//! Works on unoptimised code, where every variable is in memory and every
//! expression of the source is a chain of loads and address steps. The chain
//! says which bytes are meant, the debug information what the source calls
//! them. Text is what one could write at the start of the statement: an index
//! of `n++` is `n`.
//!
//! Of the arms of a union the first pointer is named, unless what is stored or
//! done with it tells another. Members of virtual bases have no name.

mod fields;
mod form;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use crate::address::{Indexed, RecordType, Step};
use crate::debug_info::{Shape, Type, Types, Variable};
use crate::ir::{Opcode, Value};
use crate::llvm::{Function, Layout, Module};
use crate::scopes::{self, Life};
use form::Form::{self, Object, Pointee};

pub use fields::FieldName;

pub struct Names<'m> {
    types: Types<'m>,
    layout: Layout<'m>,
    function: Function<'m>,
    /// The function's own variables say nothing to the user.
    is_librarys: bool,
    /// By address, with their offsets from it.
    variables: HashMap<Value<'m>, Vec<(u64, Variable<'m>)>>,
    globals: RefCell<HashMap<Value<'m>, Option<Variable<'m>>>>,
    cast_targets: OnceCell<HashMap<&'m str, Type<'m>>>,
}

/// Loads through which an expression is followed.
const DEEPEST: u32 = 12;

/// The same, where only a type is asked for.
const SHALLOW: u32 = 4;

/// Longer texts of an index become `...`.
const LONGEST_INDEX: usize = 24;

/// An address: so many bytes after the start of an object. Of the objects
/// that start there, `bytes` tells which is meant, if it is known.
struct Place<'m> {
    form: Form,
    ty: Option<Type<'m>>,
    offset: i64,
    bytes: Option<u64>,
}

/// Which arms of a union an address may be in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arms {
    /// The one that the code takes a part of.
    Taken,
    All,
}

impl Arms {
    const ANY: [Arms; 2] = [Arms::Taken, Arms::All];
}

impl<'m> Names<'m> {
    /// Collects the variables of a function.
    pub fn new(module: &'m Module<'_>, function: Function<'m>) -> Names<'m> {
        let types = Types::new(module);
        let mut variables: HashMap<_, Vec<_>> = HashMap::new();
        for at in function.instructions() {
            let Some(declared) = types.declaration(at).filter(|declared| !is_made_up(declared.variable.name))
            else {
                continue;
            };
            let named = (declared.offset, declared.variable);
            if !declared.is_indirect {
                variables.entry(declared.address).or_default().push(named);
                continue;
            }
            for user in declared.address.users() {
                if user.is(Opcode::LLVMLoad) {
                    variables.entry(user).or_default().push(named);
                } else if user.is(Opcode::LLVMStore) && user.operand(1) == declared.address {
                    variables.entry(user.operand(0)).or_default().push(named);
                }
            }
        }
        let is_librarys = types.file(function.value()).is_some_and(|file| is_installed(&file));
        Names {
            types,
            layout: module.layout(),
            function,
            is_librarys,
            variables,
            globals: RefCell::default(),
            cast_targets: OnceCell::new(),
        }
    }

    /// How the source writes the object at `address`. Of a record or array
    /// that starts with a pointer it is that pointer, since a store into a
    /// first member of a global looks like one into the whole; a local has
    /// its own name, unless it is a union.
    pub fn slot(&self, address: Value<'m>) -> Option<String> {
        self.text_of(address).filter(|_| !self.is_librarys)
    }

    /// The lives of locals that the compiler does not mark, as far as known.
    pub fn lives(&self) -> HashMap<Value<'m>, Life<'m>> {
        scopes::lives(&self.types, self.function)
    }

    /// Whether the source has a name for the object at `address`, whoever's.
    pub fn is_named(&self, address: Value<'m>) -> bool {
        self.text_of(address).is_some()
    }

    fn text_of(&self, address: Value<'m>) -> Option<String> {
        let places = Arms::ANY.map(|arms| self.place_by(arms, address, DEEPEST));
        let place = match places {
            [Some(own), Some(whole)] if !self.has_address(&own) && self.has_address(&whole) => whole,
            [own, _] => own?,
        };
        if let (true, Some(ty)) = (self.variables.contains_key(&address), place.ty)
            && !matches!(&*self.types.shape(ty), Shape::Record(record) if record.is_union)
        {
            return Some(place.form.text());
        }
        self.leaf(&place, || self.stored_or_read(address))
            .map(|(form, _)| form.text())
            .or_else(|| place.without_type())
    }

    /// Whether a function's source is installed on the system: headers of
    /// libraries, whose variables say nothing to the user.
    pub fn is_librarys(&self, function: Value<'m>) -> bool {
        self.types.file(function).is_some_and(|file| is_installed(&file))
    }

    /// The same of what is called; of a function of the C++ library that is
    /// not here only the symbol is known.
    pub fn is_librarys_callee(&self, call: Value<'m>) -> bool {
        let symbols = ["_ZNSt", "_ZNKSt", "_ZSt"];
        let is_librarys = |name: &str| symbols.iter().any(|start| name.starts_with(start));
        call.called().is_some_and(|called| self.is_librarys(called))
            || call.called_name().is_some_and(is_librarys)
    }

    /// Whether the compiler made what is called.
    pub fn is_made_callee(&self, call: Value<'m>) -> bool {
        call.called().is_some_and(|called| self.types.is_artificial(called))
    }

    /// Whether the function is a library's.
    pub fn is_in_library(&self) -> bool {
        self.is_librarys
    }

    /// Whether the compiler made a function that the source has not: a member,
    /// with an object. What begins variables holds expressions of the source.
    pub fn is_made_by_compiler(&self) -> bool {
        self.function.parameters().next().is_some() && self.types.is_artificial(self.function.value())
    }

    /// The file of the function.
    pub fn file(&self) -> Option<String> {
        self.types.file(self.function.value())
    }

    /// How the source writes the record at an address, if it is a variable or
    /// a part of one.
    fn object_text(&self, address: Value<'m>, class: Option<Type<'m>>) -> Option<String> {
        if !address.ty().is_pointer() {
            return None;
        }
        let (form, ty) = self.object_of_class(&self.place(address, DEEPEST)?, class)?;
        let is_record = matches!(*self.types.shape(ty), Shape::Record(_));
        Some(form.text()).filter(|text| is_record && text != "*this")
    }

    /// The object of this class at a place: a member may start where its record
    /// does, and be as large.
    fn object_of_class(&self, place: &Place<'m>, class: Option<Type<'m>>) -> Option<(Form, Type<'m>)> {
        let is_class = |ty: Type<'m>, rest| rest == 0 && class.is_some_and(|class| class.name() == ty.name());
        let (ty, offset) = (place.ty?, place.offset.try_into().ok()?);
        self.descend(place.form.clone(), ty, offset, &is_class).or_else(|| self.object(place))
    }

    /// What the source calls the object on which a call is made, or the first
    /// that a function gets which is no method.
    pub fn object_of(&self, call: Value<'m>) -> Option<String> {
        let signature = call.called().and_then(|called| self.types.signature(called));
        let Some(method) = signature.filter(|signature| signature.is_method) else {
            return call.arguments().find_map(|argument| self.object_text(argument, None));
        };
        let class = self.behind(&method.object());
        self.object_text(call.arguments().nth(call.returns_in_memory().into())?, class)
    }

    /// Whether a parameter of what is called may be a pointer to anything, for all
    /// that is known.
    pub fn takes_any_pointer(&self, call: Value<'m>, number: usize) -> bool {
        let Some(signature) = call.called().and_then(|called| self.types.signature(called)) else {
            return true;
        };
        let parameter = signature.parameters.get(number).copied().flatten();
        parameter.is_some_and(|ty| match *self.types.shape(ty) {
            Shape::Pointer(Some(ty)) => matches!(*self.types.shape(ty), Shape::Scalar(1)),
            Shape::Pointer(None) => true,
            _ => false,
        })
    }

    /// Whether the source means the object at `address` for an address: it is
    /// a pointer or of an integer type for them, or an arm of a union is.
    pub fn is_address(&self, address: Value<'m>) -> bool {
        let places = Arms::ANY.iter().filter_map(|&arms| self.place_by(arms, address, DEEPEST));
        places.into_iter().any(|place| self.has_address(&place))
    }

    fn has_address(&self, place: &Place<'m>) -> bool {
        const INTEGERS: [&str; 4] = ["uintptr_t", "intptr_t", "__uintptr_t", "__intptr_t"];
        let (Some(ty), Ok(offset)) = (place.ty, place.offset.try_into()) else { return false };
        let is_wanted = |ty: Type<'m>, rest| {
            rest == 0
                && (matches!(*self.types.shape(ty), Shape::Pointer(_) | Shape::Reference(_))
                    || ty.is_named(&INTEGERS))
        };
        self.descend(place.form.clone(), ty, offset, &is_wanted).is_some()
    }

    fn place(&self, address: Value<'m>, depth: u32) -> Option<Place<'m>> {
        self.place_by(Arms::Taken, address, depth)
    }

    fn place_by(&self, arms: Arms, address: Value<'m>, depth: u32) -> Option<Place<'m>> {
        let (start, steps) = address.steps(self.layout);
        let first = match steps.iter().find(|step| !matches!(step, Step::Into { offset: 0, .. })) {
            Some(&Step::Into { offset, .. }) => offset,
            _ => 0,
        };
        let mut place = self.start(start, first, depth.checked_sub(1)?)?;
        for step in steps {
            match step {
                Step::Into { record, offset, bytes } => {
                    if let Some(record) = record {
                        self.enter(arms, &mut place, record);
                    }
                    place.offset = place.offset.wrapping_add(offset);
                    place.bytes = Some(bytes);
                }
                Step::Index { index, stride, of } => place = self.element(place, index, stride, of, depth)?,
            }
        }
        Some(place)
    }

    /// The object at an address that is not computed from another one. The
    /// first offset in it tells apart the names in a structured binding.
    fn start(&self, start: Value<'m>, first: i64, depth: u32) -> Option<Place<'m>> {
        if let Some(named) = self.variables.get(&start) {
            let &(offset, variable) = named.iter().rev().find(|&&(offset, _)| offset as i64 <= first)?;
            let form = Object(variable.name.to_owned());
            return Some(Place { form, ty: Some(variable.ty), offset: -(offset as i64), bytes: None });
        }
        if start.is_global() {
            let variable =
                *self.globals.borrow_mut().entry(start).or_insert_with(|| self.types.global(start));
            let Variable { name, ty } = variable?;
            return Some(Place::of(Object(name.to_owned()), Some(ty)));
        }
        if start.is(Opcode::LLVMLoad) {
            let place = self.place(start.operand(0), depth)?;
            let leaf = self
                .leaf(&place, || self.read_as(start))
                .or_else(|| Some((Object(place.without_type()?), None)));
            return leaf.map(|(form, ty)| self.target(form.text(), ty));
        }
        if start.opcode().is_none() && !start.is_parameter() {
            return None;
        }
        let kept_in = |user: Value<'m>| {
            let is_kept = user.is(Opcode::LLVMStore) && user.operand(0) == start;
            is_kept.then(|| self.place(user.operand(1), depth)).flatten()
        };
        if let Some((form, ty)) = start.users().find_map(kept_in).and_then(|place| self.leaf(&place, || None))
        {
            return Some(self.target(form.text(), ty));
        }
        if start.is_call() { self.result(start, depth) } else { None }
    }

    /// What a pointer or reference of this type leads to.
    fn target(&self, text: String, ty: Option<Type<'m>>) -> Place<'m> {
        match ty.map(|ty| self.types.shape(ty)).as_deref() {
            Some(Shape::Reference(ty)) => Place::of(Object(text), *ty),
            Some(Shape::Pointer(ty)) => Place::of(Pointee(text), *ty),
            _ => Place::of(Pointee(text), None),
        }
    }

    /// What the result of a call leads to.
    fn result(&self, call: Value<'m>, depth: u32) -> Option<Place<'m>> {
        let mut arguments = call.arguments();
        let object = |value, class| self.object_of_class(&self.place(value, depth)?, class);
        let (signature, object) = match self.types.signature(call.called()?) {
            Some(signature) if signature.is_method => {
                let class = self.behind(&signature.object());
                let (object, _) = object(arguments.next()?, class)?;
                (signature, Some(object))
            }
            Some(signature) => (signature, None),
            None => {
                let (object, class) = object(arguments.next()?, None)?;
                (self.types.method(class, call.called_name()?)?, Some(object))
            }
        };
        let name = match signature.name.split_once('<') {
            Some((name, _)) if !name.starts_with("operator") => name,
            _ => signature.name,
        };
        let argument = arguments.next();
        let text = match (name, object) {
            ("operator[]", Some(object)) => {
                object.index(&argument.map_or("...".to_owned(), |argument| self.argument(argument, depth)))
            }
            ("operator*", Some(object)) => {
                return Some(Place::of(Pointee(object.text()), self.behind(&signature.result)));
            }
            ("operator->", Some(object)) => object,
            (name, object) => {
                let called = object.map_or(Object(name.to_owned()), |object| object.member(name));
                Object(format!("{}({})", called.text(), if argument.is_some() { "..." } else { "" }))
            }
        };
        Some(self.target(text.text(), signature.result))
    }

    fn behind(&self, ty: &Option<Type<'m>>) -> Option<Type<'m>> {
        match *self.types.shape((*ty)?) {
            Shape::Reference(ty) | Shape::Pointer(ty) => ty,
            _ => None,
        }
    }

    /// An argument that is an index, or a reference to a key.
    fn argument(&self, argument: Value<'m>, depth: u32) -> String {
        if !argument.ty().is_pointer() {
            return self.index_text(argument, depth);
        }
        let key = self.place(argument, depth).and_then(|place| self.object(&place));
        short(key.map(|(form, _)| form.text()))
    }

    /// The element of an array at a place, or of what a pointer points to.
    fn element(
        &self,
        mut place: Place<'m>,
        index: Value<'m>,
        stride: u64,
        of: Indexed,
        depth: u32,
    ) -> Option<Place<'m>> {
        let fits = |ty| self.types.bytes(ty) == stride;
        if of == Indexed::Pointer
            && place.offset == 0
            && matches!(place.form, Pointee(_))
            && place.ty.is_none_or(fits)
        {
            let ty = place.ty;
            return Some(Place::of(place.form.element(&self.index_text(index, depth)), ty));
        }
        if let Some(constant) = index.signed() {
            place.offset = place.offset.wrapping_add(constant.wrapping_mul(stride as i64));
            place.bytes = Some(stride);
            return Some(place);
        }
        let is_array = |ty, rest| match *self.types.shape(ty) {
            Shape::Array(element, _) => rest == 0 && fits(element),
            _ => false,
        };
        let array = place
            .ty
            .zip(place.offset.try_into().ok())
            .and_then(|(ty, offset)| self.descend(place.form.clone(), ty, offset, &is_array));
        // A pointer into a record steps by other strides to virtual bases.
        let is_record = |ty| matches!(*self.types.shape(ty), Shape::Record(_));
        let text = self.index_text(index, depth);
        match array {
            Some((form, ty)) => {
                let Shape::Array(element, _) = *self.types.shape(ty) else { return None };
                Some(Place::of(form.index(&text), Some(element)))
            }
            None if of == Indexed::Pointer && place.offset == 0 && !place.ty.is_some_and(is_record) => {
                Some(Place::of(place.form.element(&text), None))
            }
            None => None,
        }
    }

    /// Makes the place one in the record that code takes a part of: the part of
    /// the object that is such a record, which may tell arms of a union apart;
    /// if there is none, what the pointer was cast to.
    fn enter(&self, arms: Arms, place: &mut Place<'m>, record: RecordType<'m>) {
        let is_record = |ty, rest| rest == 0 && self.is_record(ty, record);
        let find = |is_wanted: &dyn Fn(Type<'m>, u64) -> bool| {
            self.descend(place.form.clone(), place.ty?, place.offset.try_into().ok()?, is_wanted)
        };
        if let Some((form, ty)) = find(&is_record) {
            if arms == Arms::Taken && find(&|other, rest| other != ty && is_record(other, rest)).is_none() {
                *place = Place::of(form, Some(ty));
            }
        } else if place.offset == 0 && matches!(place.form, Pointee(_)) {
            let targets = self.cast_targets.get_or_init(|| self.types.cast_targets(self.function));
            let target = targets.get(source_name(record.name)).copied();
            place.ty = target.filter(|&ty| self.is_record(ty, record)).or(place.ty);
        }
    }

    fn is_record(&self, ty: Type<'m>, RecordType { name, bytes }: RecordType<'m>) -> bool {
        let Shape::Record(record) = &*self.types.shape(ty) else { return false };
        let name = (name.starts_with("union."), source_name(name));
        record.bytes == bytes
            && record.is_union == name.0
            && (name.1 == "anon" || ty.name().is_none_or(|own| own == name.1))
    }

    /// The object at a place.
    fn object(&self, place: &Place<'m>) -> Option<(Form, Type<'m>)> {
        let (ty, offset) = (place.ty?, place.offset.try_into().ok()?);
        let fits = |ty, rest| rest == 0 && place.bytes.is_none_or(|bytes| self.types.bytes(ty) <= bytes);
        self.descend(place.form.clone(), ty, offset, &fits)
    }

    /// The pointer at a place; else the word, else the scalar. Where arms of a
    /// union are pointers to different types, `pointee` may know the name of
    /// the right one.
    fn leaf(
        &self,
        place: &Place<'m>,
        pointee: impl FnOnce() -> Option<&'m str>,
    ) -> Option<(Form, Option<Type<'m>>)> {
        let (ty, offset) = (place.ty?, place.offset.try_into().ok()?);
        let find = |is_wanted: &dyn Fn(Type<'m>, &Shape<'m>) -> bool| {
            let is_leaf = |ty, rest| rest == 0 && is_wanted(ty, &self.types.shape(ty));
            self.descend(place.form.clone(), ty, offset, &is_leaf)
        };
        let is_pointer = |shape: &Shape<'m>| matches!(shape, Shape::Pointer(_) | Shape::Reference(_));
        let found = match find(&|_, shape| is_pointer(shape)) {
            Some(first) => {
                let is_only = find(&|ty, shape| is_pointer(shape) && ty != first.1).is_none();
                let name = if is_only { None } else { pointee() };
                let right = name.and_then(|name| find(&|ty, _| self.types.pointee_name(ty) == Some(name)));
                right.or(Some(first))
            }
            None => find(&|_, shape| matches!(shape, Shape::Scalar(8)))
                .or_else(|| find(&|_, shape| matches!(shape, Shape::Scalar(_))))
                .or_else(|| self.object(place)),
        };
        found.map(|(form, ty)| (form, Some(ty)))
    }

    /// The name of what a pointer points to that is stored at or read from an
    /// address. The source's expressions each have an address of their own,
    /// but for whole variables.
    fn stored_or_read(&self, address: Value<'m>) -> Option<&'m str> {
        if !matches!(address.opcode(), Some(Opcode::LLVMGetElementPtr | Opcode::LLVMLoad)) {
            return None;
        }
        address.users().find_map(|user| match user.opcode()? {
            Opcode::LLVMStore if user.operand(1) == address => self.pointee(user.operand(0)),
            Opcode::LLVMLoad => self.read_as(user),
            _ => None,
        })
    }

    /// The name of what a loaded pointer points to, from what is done with it.
    fn read_as(&self, load: Value<'m>) -> Option<&'m str> {
        load.users().find_map(|user| match user.opcode()? {
            Opcode::LLVMGetElementPtr => Some(source_name(user.record()?)),
            Opcode::LLVMStore if user.operand(0) == load => self.kept_type(user.operand(1)),
            _ => None,
        })
    }

    /// The name of what a value points to, from where it comes from.
    fn pointee(&self, value: Value<'m>) -> Option<&'m str> {
        let value = value.without_casts();
        if value.is_call() {
            return self.types.pointee_name(self.types.signature(value.called()?)?.result?);
        }
        let place = self.place(value, SHALLOW)?;
        self.object(&place)?.1.name()
    }

    /// The name of what the pointer at an address points to.
    fn kept_type(&self, address: Value<'m>) -> Option<&'m str> {
        let place = self.place(address, SHALLOW)?;
        self.types.pointee_name(self.leaf(&place, || None)?.1?)
    }

    /// The first part of an object that covers the offset and is as wanted,
    /// going from the whole to its parts.
    fn descend(
        &self,
        form: Form,
        ty: Type<'m>,
        offset: u64,
        is_wanted: &dyn Fn(Type<'m>, u64) -> bool,
    ) -> Option<(Form, Type<'m>)> {
        if is_wanted(ty, offset) {
            return Some((form, ty));
        }
        match &*self.types.shape(ty) {
            Shape::Record(record) => record.members.iter().find_map(|member| {
                let rest = offset.checked_sub(member.offset)?;
                let covers = rest < self.types.bytes(member.ty) || self.is_open(member.ty);
                let part = || form.clone().part(member, record.is_closure);
                covers.then(|| self.descend(part(), member.ty, rest, is_wanted)).flatten()
            }),
            &Shape::Array(element, _) => {
                let stride = self.types.bytes(element);
                let index = offset.checked_div(stride)?;
                self.descend(form.index(&index.to_string()), element, offset % stride, is_wanted)
            }
            _ => None,
        }
    }

    /// Whether an array without a known end is in or at the end of an object.
    fn is_open(&self, ty: Type<'m>) -> bool {
        match &*self.types.shape(ty) {
            Shape::Record(record) => record.members.last().is_some_and(|member| self.is_open(member.ty)),
            Shape::Array(_, count) => count.is_none(),
            _ => false,
        }
    }

    /// An index as the source writes it, or `...`.
    fn index_text(&self, index: Value<'m>, depth: u32) -> String {
        short(self.number(index, depth))
    }

    fn number(&self, value: Value<'m>, depth: u32) -> Option<String> {
        let value = value.without_casts();
        if let Some(number) = value.signed() {
            return Some(number.to_string());
        }
        let depth = depth.checked_sub(1)?;
        match value.operation()? {
            Opcode::LLVMLoad => {
                let place = self.place(value.operand(0), depth)?;
                self.leaf(&place, || None).map(|(form, _)| form.text())
            }
            Opcode::LLVMAdd => {
                let (left, right) =
                    (self.number(value.operand(0), depth)?, self.number(value.operand(1), depth)?);
                Some(match right.strip_prefix('-') {
                    Some(less) => format!("{left} - {less}"),
                    None => format!("{left} + {right}"),
                })
            }
            Opcode::LLVMSub => {
                let (left, right) =
                    (self.number(value.operand(0), depth)?, self.number(value.operand(1), depth)?);
                let is_sum = right.contains(' ');
                match left.as_str() {
                    _ if is_sum => None,
                    "0" => Some(format!("-{right}")),
                    left => Some(format!("{left} - {right}")),
                }
            }
            _ => None,
        }
    }
}

impl<'m> Place<'m> {
    fn of(form: Form, ty: Option<Type<'m>>) -> Place<'m> {
        Place { form, ty, offset: 0, bytes: None }
    }

    /// The text where debug information has no type for the object.
    fn without_type(&self) -> Option<String> {
        match (&self.form, self.offset) {
            (form, 0) if self.ty.is_none() => Some(form.text()),
            (Pointee(pointer), offset @ 1..) if self.ty.is_none() => Some(format!("*({pointer} + {offset})")),
            _ => None,
        }
    }
}

/// Whether a file lies where systems keep the headers of libraries.
fn is_installed(file: &str) -> bool {
    file.starts_with("/usr/") || file.starts_with("/opt/") || file.contains("/lib/gcc/")
}

fn short(index: Option<String>) -> String {
    index.filter(|text| text.len() <= LONGEST_INDEX).unwrap_or_else(|| "...".to_owned())
}

/// A record's name in the source, from that in the module, which has a prefix,
/// and a number where it is not the first of its name.
fn source_name(record: &str) -> &str {
    let (_, name) = record.split_once('.').unwrap_or(("", record));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.rsplit_once('.').filter(|(_, number)| is_number(number)).map_or(name, |(name, _)| name);
    name.rsplit("::").next().unwrap_or(name)
}

/// Whether the compiler made the variable, for a loop over a range or the
/// length of an array.
fn is_made_up(name: &str) -> bool {
    let prefixes = ["__range", "__begin", "__end", "__vla_expr"];
    let rest = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
