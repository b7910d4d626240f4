//! Types of values.

use std::marker::PhantomData;

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};

use crate::llvm::Layout;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type<'m> {
    pub raw: LLVMTypeRef,
    module: PhantomData<&'m ()>,
}

impl<'m> Type<'m> {
    pub fn new(raw: LLVMTypeRef) -> Type<'m> {
        Type { raw, module: PhantomData }
    }

    fn kind(self) -> LLVMTypeKind {
        // SAFETY: a live type.
        unsafe { LLVMGetTypeKind(self.raw) }
    }

    pub fn is_pointer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }

    pub fn is_void(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVoidTypeKind
    }

    pub fn is_any_integer(self) -> bool {
        // SAFETY: a live type.
        unsafe { LLVMGetTypeKind(self.raw) == LLVMTypeKind::LLVMIntegerTypeKind }
    }

    pub fn is_integer(self, bits: u32) -> bool {
        // SAFETY: the width is asked of integers only.
        self.kind() == LLVMTypeKind::LLVMIntegerTypeKind && unsafe { LLVMGetIntTypeWidth(self.raw) } == bits
    }

    /// Which members of a structure are pointers.
    pub fn pointer_members(self) -> Vec<u32> {
        if self.kind() != LLVMTypeKind::LLVMStructTypeKind {
            return Vec::new();
        }
        // SAFETY: a structure, with so many members.
        unsafe {
            (0..LLVMCountStructElementTypes(self.raw))
                .filter(|&index| Type::new(LLVMStructGetTypeAtIndex(self.raw, index)).is_pointer())
                .collect()
        }
    }

    pub fn bytes(self, layout: Layout<'m>) -> u64 {
        // SAFETY: types of values have a size.
        unsafe { LLVMABISizeOfType(layout.raw(), self.raw) }
    }

    /// Offsets of the words in a value of this type that may hold pointers:
    /// pointers and integers as large as one. At most `limit`, then `None`.
    pub fn words(self, layout: Layout<'m>, limit: usize) -> Option<Vec<u64>> {
        let mut words = Vec::new();
        self.add_words(layout, 0, limit, &mut words).then_some(words)
    }

    fn add_words(self, layout: Layout<'m>, at: u64, limit: usize, words: &mut Vec<u64>) -> bool {
        // SAFETY: each question is asked of the kind of type that has it.
        unsafe {
            match self.kind() {
                LLVMTypeKind::LLVMStructTypeKind => (0..LLVMCountStructElementTypes(self.raw)).all(|index| {
                    let element = Type::new(LLVMStructGetTypeAtIndex(self.raw, index));
                    element.add_words(
                        layout,
                        at + LLVMOffsetOfElement(layout.raw(), self.raw, index),
                        limit,
                        words,
                    )
                }),
                LLVMTypeKind::LLVMArrayTypeKind => {
                    let element = Type::new(LLVMGetElementType(self.raw));
                    let step = element.bytes(layout);
                    (0..LLVMGetArrayLength2(self.raw))
                        .all(|index| element.add_words(layout, at + index * step, limit, words))
                }
                _ => {
                    if (self.is_pointer() || self.is_integer(64)) && at.is_multiple_of(8) {
                        words.push(at);
                    }
                    words.len() <= limit
                }
            }
        }
    }
}
