//! The pointers in an object, by their offsets.

use super::form::Form::{self, Pointee};
use super::{DEEPEST, Names, Place};
use crate::debug_info::{Shape, Type};
use crate::ir::Value;

/// A pointer in an object, or one in each element of an array; then `text`
/// has `[]` where the index goes. The count is `u32::MAX` where only the size
/// of the block limits it.
pub struct FieldName {
    pub offset: u32,
    pub count: u32,
    pub stride: u32,
    pub text: String,
}

impl FieldName {
    /// The text of the pointer at `offset`, if the field is there.
    pub fn at(&self, offset: u64) -> Option<String> {
        let (distance, stride) = (offset.checked_sub(self.offset.into())?, u64::from(self.stride.max(1)));
        let index = distance / stride;
        let is_here = distance.is_multiple_of(stride) && index < self.count.into();
        is_here.then(|| match self.count {
            1 => self.text.clone(),
            _ => self.text.replacen("[]", &format!("[{index}]"), 1),
        })
    }
}

/// Fields of one object that get names.
const MOST_FIELDS: usize = 64;

/// An array that a field stands in.
#[derive(Clone, Copy)]
struct Repeated {
    count: u32,
    stride: u32,
}

impl<'m> Names<'m> {
    /// The pointers in the object that starts at `address`.
    pub fn fields(&self, address: Value<'m>) -> Vec<FieldName> {
        let mut fields = Vec::new();
        match self.variables.get(&address) {
            _ if self.is_librarys => {}
            // A structured binding has names for its parts alone.
            Some(parts) if parts.len() > 1 => {
                for &(offset, part) in parts {
                    self.add_fields(Form::Object(part.name.to_owned()), part.ty, offset, None, &mut fields);
                }
            }
            _ => {
                if let Some(place) = self.place(address, DEEPEST) {
                    self.add_object(&place, &mut fields);
                }
            }
        }
        fields
    }

    /// The pointers in the object that `value` points to. It may be the first
    /// of several, if it is not `this`; C++ keeps their number before them.
    pub fn pointee_fields(&self, value: Value<'m>) -> Vec<FieldName> {
        let Some(place) = self.place(value, DEEPEST).filter(|_| !self.is_librarys) else {
            return Vec::new();
        };
        let mut fields = Vec::new();
        let (elements, ty) = match (&place.form, place.ty) {
            (Pointee(pointer), Some(ty)) if pointer != "this" && !self.is_open(ty) => {
                (place.form.element(""), ty)
            }
            _ => {
                self.add_object(&place, &mut fields);
                return fields;
            }
        };
        if place.offset >= 0 && !matches!(*self.types.shape(ty), Shape::Pointer(_)) {
            self.add_object(&place, &mut fields);
        }
        let is_start = place.offset < 0 || place.offset == 0 && place.bytes.is_none();
        if let (true, stride @ 1..) = (is_start, self.types.bytes(ty)) {
            let repeated = Repeated { count: u32::MAX, stride: stride as u32 };
            self.add_fields(elements, ty, place.offset.unsigned_abs(), Some(repeated), &mut fields);
        }
        fields
    }

    /// The pointers in an object at `value` that a constructor makes, as the
    /// constructor writes them.
    pub fn constructed_fields(&self, value: Value<'m>) -> Vec<FieldName> {
        let class = value.users().filter(|user| user.is_call()).find_map(|call| {
            let is_object = call.arguments().next() == Some(value);
            self.behind(&self.types.signature(call.called().filter(|_| is_object)?)?.object())
        });
        let mut fields = Vec::new();
        if let Some(class) = class {
            self.add_fields(Pointee("this".to_owned()), class, 0, None, &mut fields);
        }
        fields
    }

    fn add_object(&self, place: &Place<'m>, fields: &mut Vec<FieldName>) {
        if let Some((form, ty)) = self.object(place) {
            self.add_fields(form, ty, 0, None, fields);
        }
    }

    /// Adds the pointers in an object. The outermost array that it is in, or
    /// that is in it, stands for all its elements; arrays in that are spelt
    /// out.
    fn add_fields(
        &self,
        form: Form,
        ty: Type<'m>,
        offset: u64,
        repeated: Option<Repeated>,
        fields: &mut Vec<FieldName>,
    ) {
        if fields.len() >= MOST_FIELDS {
            return;
        }
        match &*self.types.shape(ty) {
            Shape::Pointer(_) | Shape::Reference(_) => {
                let Ok(offset) = u32::try_from(offset) else { return };
                let Repeated { count, stride } = repeated.unwrap_or(Repeated { count: 1, stride: 8 });
                if !fields.iter().any(|field| (field.offset, field.count) == (offset, count)) {
                    fields.push(FieldName { offset, count, stride, text: form.text() });
                }
            }
            Shape::Record(record) => {
                for member in &record.members {
                    let part = form.clone().part(member, record.is_closure);
                    self.add_fields(part, member.ty, offset + member.offset, repeated, fields);
                }
            }
            &Shape::Array(element, count) => {
                let stride = self.types.bytes(element);
                let count = count.unwrap_or(u32::MAX.into()).min(u32::MAX.into());
                if repeated.is_none() {
                    let repeated = Some(Repeated { count: count as u32, stride: stride as u32 });
                    return self.add_fields(form.index(""), element, offset, repeated, fields);
                }
                for index in 0..count.min(MOST_FIELDS as u64) {
                    let before = fields.len();
                    let form = form.clone().index(&index.to_string());
                    self.add_fields(form, element, offset + index * stride, repeated, fields);
                    if fields.len() == before {
                        break;
                    }
                }
            }
            Shape::Scalar(_) => {}
        }
    }
}
