//! Placeholder until the names from debug information arrive.
use crate::ir::Value;
use crate::llvm::{Function, Module};
use std::marker::PhantomData;
pub struct Names<'m>(PhantomData<&'m ()>);
pub struct FieldName {
    pub offset: u32,
    pub count: u32,
    pub stride: u32,
    pub text: String,
}
impl<'m> Names<'m> {
    pub fn new(_: &'m Module<'_>, _: Function<'m>) -> Names<'m> {
        Names(PhantomData)
    }
    pub fn slot(&self, at: Value<'m>) -> Option<String> {
        let name = at.name().trim_end_matches(".addr");
        let is_temporary =
            ["agg.tmp", "ref.tmp", "tmp", "atomic-temp", ".atomictmp", "coerce", "saved_stack"]
                .iter()
                .any(|t| name.starts_with(t));
        (at.is(crate::ir::Opcode::LLVMAlloca) && !name.is_empty() && !is_temporary).then(|| name.to_owned())
    }
    pub fn value(&self, _: Value<'m>) -> Option<String> {
        None
    }
    pub fn fields(&self, _: Value<'m>) -> Vec<FieldName> {
        Vec::new()
    }
    pub fn pointee_fields(&self, _: Value<'m>) -> Vec<FieldName> {
        Vec::new()
    }
}
