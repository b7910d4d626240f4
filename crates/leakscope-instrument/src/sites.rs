//! Sites: what instrumented code tells the runtime about a place where
//! pointers die, as constant data of the module.

use std::collections::HashMap;

use leakscope_wire::{BEHIND_ARGUMENT, Cause, Descriptor, Field, PLACE_IS_LINE, Site};
use zerocopy::IntoBytes;

use crate::builder::Builder;
use crate::ir::{Location, Value};
use crate::names::FieldName;

/// The sites of a module; equal ones are made once.
#[derive(Default)]
pub struct Sites<'m> {
    made: HashMap<Vec<u8>, Value<'m>>,
}

impl<'m> Sites<'m> {
    /// The place where one pointer dies.
    pub fn of(
        &mut self,
        builder: &Builder<'m>,
        cause: Cause,
        location: Option<Location<'m>>,
        variable: Option<String>,
    ) -> Value<'m> {
        self.with_fields(builder, cause, location, variable, &[])
    }

    /// The place where memory dies that may hold several.
    pub fn with_fields(
        &mut self,
        builder: &Builder<'m>,
        cause: Cause,
        location: Option<Location<'m>>,
        variable: Option<String>,
        fields: &[FieldName],
    ) -> Value<'m> {
        self.described(builder, Site::of(cause), location, variable, fields)
    }

    /// The place where a block is freed: one that is `given` to the function as a
    /// parameter of no type may have fields for whoever calls it.
    pub fn of_free(
        &mut self,
        builder: &Builder<'m>,
        location: Option<Location<'m>>,
        fields: &[FieldName],
        given: Option<u32>,
    ) -> Value<'m> {
        let site = match given {
            Some(held) => Site { frame: BEHIND_ARGUMENT, held, ..Site::of(Cause::HolderFreed) },
            None => Site::of(Cause::HolderFreed),
        };
        self.described(builder, site, location, None, fields)
    }

    fn described(
        &mut self,
        builder: &Builder<'m>,
        site: Site,
        location: Option<Location<'m>>,
        variable: Option<String>,
        fields: &[FieldName],
    ) -> Value<'m> {
        let variable = variable.unwrap_or_default();
        let mut rest = variable.as_bytes().to_vec();
        for FieldName { offset, count, stride, text } in fields {
            let field = Field { offset: *offset, count: *count, stride: *stride, bytes: text.len() as u32 };
            rest.extend_from_slice(field.as_bytes());
            rest.extend_from_slice(text.as_bytes());
        }
        let site = Site {
            line: location.map_or(0, Location::line),
            column: location.map_or(0, Location::column),
            variable_bytes: variable.len() as u32,
            ..site
        };
        let descriptor = Descriptor { site, bytes: rest.len() as u32, fields: fields.len() as u32 };
        let bytes = [descriptor.as_bytes(), &rest].concat();
        *self.made.entry(bytes).or_insert_with_key(|bytes| builder.bytes(bytes, 8))
    }
}

/// A line and column as the runtime takes them.
pub fn place_of(location: Location<'_>) -> u64 {
    PLACE_IS_LINE | u64::from(location.line()) << 16 | u64::from(location.column().min(0xffff))
}
