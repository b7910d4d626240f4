//! Records and their members, as all units of a program have them.

use leakscope_ir::{Program, Type, TypeId};
use rustc_hash::FxHashMap;

use crate::names::field_at;

/// A record with the distance of a member.
pub type Member = (TypeId, i64);

/// Records as they are the same in all units: by names and places of members.
pub struct Records<'a> {
    pub program: &'a Program,
    same: Vec<Option<TypeId>>,
}

impl<'a> Records<'a> {
    pub fn new(program: &'a Program) -> Records<'a> {
        let mut first: FxHashMap<Vec<(&str, i64)>, TypeId> = FxHashMap::default();
        let mut same = |(id, ty): (usize, &'a Type)| match ty {
            Type::Record(fields) if !fields.is_empty() => {
                let key = fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
                Some(*first.entry(key).or_insert(TypeId(id as u32)))
            }
            _ => None,
        };
        let same = program.types.iter().enumerate().map(&mut same).collect();
        Records { program, same }
    }

    pub fn ty(&self, id: TypeId) -> &'a Type {
        &self.program.types[id.0 as usize]
    }

    /// The same type in all units, for records.
    pub fn same(&self, id: TypeId) -> TypeId {
        self.same[id.0 as usize].unwrap_or(id)
    }

    pub fn is_record(&self, id: TypeId) -> bool {
        self.same[id.0 as usize].is_some()
    }

    /// Whether a record starts with another, as an object with that of its base.
    pub fn starts_with(&self, mut whole: TypeId, part: TypeId) -> bool {
        while let Type::Record(fields) = self.ty(whole)
            && let Some(first) = field_at(self.program, fields, 0)
        {
            // Not the same one of all units: of those that have a base and nothing
            // else, it may be the next one's.
            whole = first.ty;
            if self.same(whole) == part {
                return true;
            }
        }
        false
    }

    /// What a pointer of a type leads to.
    pub fn pointee(&self, pointer: Option<TypeId>) -> Option<TypeId> {
        match self.ty(pointer?) {
            Type::Pointer(target) => Some(self.same((*target)?)),
            _ => None,
        }
    }

    /// The outermost thing in another that starts at a place, and its name.
    pub fn field(&self, mut place: Member) -> Option<(TypeId, String)> {
        let mut name = String::new();
        loop {
            let (part, inside) = self.part(place)?;
            if !name.is_empty() && !part.is_empty() {
                name.push('.');
            }
            name.push_str(part);
            if inside.1 == 0 {
                return Some((self.same(inside.0), name));
            }
            place = inside;
        }
    }

    /// The field or element that a place is in, with a field's name, and where in it.
    fn part(&self, (whole, at): Member) -> Option<(&str, Member)> {
        match self.ty(whole) {
            Type::Record(fields) => {
                let field = field_at(self.program, fields, at)?;
                Some((&field.name, (field.ty, at - field.offset)))
            }
            Type::Array(element, bytes) if *bytes > 0 => Some(("", (*element, at % *bytes as i64))),
            _ => None,
        }
    }

    /// The innermost record that a place is in, and where.
    pub fn innermost(&self, mut place: Member) -> Option<Member> {
        let mut found = None;
        loop {
            let is_record = matches!(self.ty(place.0), Type::Record(_));
            if is_record {
                found = Some((self.same(place.0), place.1));
            }
            match self.part(place) {
                Some((_, inside)) => place = inside,
                // Between fields.
                None if is_record => return None,
                None => return found,
            }
        }
    }

    /// What is loaded at a place.
    pub fn content(&self, (mut ty, at): Member) -> Option<TypeId> {
        if at != 0 {
            ty = self.field((ty, at))?.0;
        }
        loop {
            ty = match self.ty(ty) {
                Type::Record(fields) => field_at(self.program, fields, 0)?.ty,
                Type::Array(element, _) => *element,
                Type::Pointer(_) | Type::Scalar => return Some(ty),
            };
        }
    }

    /// The name of a member that is a pointer, and none to the next record of
    /// its kind.
    pub fn owned(&self, member: Member) -> Option<String> {
        let (mut ty, mut name) = self.field(member)?;
        loop {
            ty = match self.ty(ty) {
                Type::Record(fields) => {
                    let first = field_at(self.program, fields, 0)?;
                    if !name.is_empty() && !first.name.is_empty() {
                        name.push('.');
                    }
                    name.push_str(&first.name);
                    first.ty
                }
                Type::Array(element, _) => *element,
                Type::Pointer(_) => break,
                Type::Scalar => return None,
            };
        }
        (self.pointee(Some(ty)) != Some(member.0)).then_some(name)
    }
}
