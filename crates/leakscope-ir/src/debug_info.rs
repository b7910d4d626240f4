//! Lines, scopes, variables and types, as debug information tells them.
//!
//! LLVM's C interface gives nodes as lists of operands; their order is that of
//! LLVM 19.

use std::ffi::c_char;
use std::ptr::null_mut;

use leakscope_core::tidy;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMMetadataKind::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;

use crate::llvm::{Module, Value};
use crate::program::{Body, Field, FileId, ScopeId, Spot, Type, TypeId};
use crate::{jumps, vanished};

/// Lines of one module, with the files that they are in.
pub struct Lines {
    context: LLVMContextRef,
    pub files: Vec<String>,
    /// Files by their node, and of the scope that asked last.
    known: FxHashMap<usize, FileId>,
    scopes: FxHashMap<usize, FileId>,
    pub types: Vec<Type>,
    type_ids: FxHashMap<usize, TypeId>,
}

/// The scopes of one function by their nodes.
#[derive(Default)]
pub struct Scopes(FxHashMap<usize, ScopeId>);

/// What `llvm.dbg.declare` or `llvm.dbg.value` says.
pub struct Named<'m> {
    /// Tells variables of one name apart.
    pub key: usize,
    pub name: String,
    pub ty: Option<TypeId>,
    /// The node of its scope.
    pub scope: usize,
    pub value: Option<Value<'m>>,
}

/// DWARF's numbers.
mod tag {
    pub const ARRAY: u16 = 0x01;
    pub const MEMBER: u16 = 0x0d;
    pub const BASE_CLASS: u16 = 0x1c;
    pub const POINTERS: [u16; 3] = [0x0f, 0x10, 0x42];
    pub const RECORDS: [u16; 3] = [0x02, 0x13, 0x17];
    pub const QUALIFIERS: [u16; 6] = [0x16, 0x26, 0x35, 0x37, 0x43, 0x47];
}

/// Operands of types.
const BASE: usize = 3;
const ELEMENTS: usize = 4;

impl Lines {
    pub fn new(module: &Module<'_>) -> Lines {
        Lines {
            context: module.context(),
            files: vec![String::new()],
            known: FxHashMap::default(),
            scopes: FxHashMap::default(),
            types: Vec::new(),
            type_ids: FxHashMap::default(),
        }
    }

    pub fn of_instruction(&mut self, instruction: Value<'_>) -> Spot {
        // SAFETY: an instruction; null if it has no location.
        let location = unsafe { LLVMInstructionGetDebugLoc(instruction.raw) };
        if location.is_null() { Spot::UNKNOWN } else { self.of_location(location) }
    }

    /// Of the statement that a branch leaves a scope by.
    pub fn of_jump(&mut self, instruction: Value<'_>) -> Option<Spot> {
        jumps::place(self.context, instruction).map(|location| self.of_location(location))
    }

    /// Of statements right before an instruction that only gave a local another value.
    pub fn of_stores(&mut self, instruction: Value<'_>) -> Vec<Spot> {
        let places = vanished::stored_before(self.context, instruction);
        places.into_iter().map(|location| self.of_location(location)).collect()
    }

    fn of_location(&mut self, location: LLVMMetadataRef) -> Spot {
        // SAFETY: a live location, which has a scope; the context keeps both.
        unsafe {
            let file = self.file_of(LLVMDILocationGetScope(location));
            Spot { file, line: LLVMDILocationGetLine(location), column: LLVMDILocationGetColumn(location) }
        }
    }

    pub fn of_function(&mut self, function: Value<'_>) -> Spot {
        // SAFETY: a function, with or without debug information.
        unsafe {
            let node = LLVMGetSubprogram(function.raw);
            if node.is_null() {
                return Spot::UNKNOWN;
            }
            Spot { file: self.file_of(node), line: LLVMDISubprogramGetLine(node), column: 0 }
        }
    }

    fn file_of(&mut self, scope: LLVMMetadataRef) -> FileId {
        if let Some(&file) = self.scopes.get(&(scope as usize)) {
            return file;
        }
        // SAFETY: a live scope; strings belong to the context.
        let file = unsafe {
            let node = LLVMDIScopeGetFile(scope);
            if node.is_null() { FileId(0) } else { self.file(node) }
        };
        self.scopes.insert(scope as usize, file);
        file
    }

    /// # Safety
    /// `node` is a live `DIFile`.
    unsafe fn file(&mut self, node: LLVMMetadataRef) -> FileId {
        if let Some(&file) = self.known.get(&(node as usize)) {
            return file;
        }
        let mut length = 0;
        // SAFETY: as above; the texts live as long as the context.
        let (name, folder) = unsafe {
            let name = text(LLVMDIFileGetFilename(node, &mut length), length);
            (name, text(LLVMDIFileGetDirectory(node, &mut length), length))
        };
        let path =
            tidy(&if name.starts_with('/') || folder.is_empty() { name } else { format!("{folder}/{name}") });
        let file = self.files.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.files.push(path);
            self.files.len() - 1
        });
        let file = FileId(file as u32);
        self.known.insert(node as usize, file);
        file
    }

    /// The variable that a call of a debug intrinsic names.
    pub fn named<'m>(&mut self, call: Value<'m>) -> Option<Named<'m>> {
        // SAFETY: a debug intrinsic has these operands, as metadata; a
        // value as metadata has itself as its one operand.
        unsafe {
            let [value, variable] = [0, 1].map(|index| LLVMValueAsMetadata(call.operand(index).raw));
            let is_value = matches!(
                LLVMGetMetadataKind(value),
                LLVMLocalAsMetadataMetadataKind | LLVMConstantAsMetadataMetadataKind
            );
            let mut raw = null_mut();
            if is_value {
                LLVMGetMDNodeOperands(LLVMMetadataAsValue(self.context, value), &mut raw);
            }
            let operands = self.operands(variable);
            let name = self.string(*operands.get(1)?);
            Some(Named {
                key: variable as usize,
                ty: operands.get(BASE).and_then(|&ty| self.ty(ty)),
                scope: operands.first().map_or(0, |&scope| node_of(scope)),
                name: (!name.is_empty()).then_some(name)?,
                value: Value::new(raw),
            })
        }
    }

    /// # Safety
    /// `node` is a live node.
    unsafe fn operands(&self, node: LLVMMetadataRef) -> Vec<LLVMValueRef> {
        // SAFETY: so many operands are there.
        unsafe {
            let node = LLVMMetadataAsValue(self.context, node);
            let mut operands = vec![null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
            LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
            operands
        }
    }

    fn string(&self, node: LLVMValueRef) -> String {
        if node.is_null() {
            return String::new();
        }
        let mut length = 0;
        // SAFETY: null for what is not a string; else the context keeps it.
        unsafe { text(LLVMGetMDString(node, &mut length), length) }
    }

    /// The scope that an instruction is in.
    pub fn scope_of(&self, instruction: Value<'_>, scopes: &mut Scopes, body: &mut Body) -> Option<ScopeId> {
        // SAFETY: an instruction; its location has a scope.
        let node = unsafe {
            let location = LLVMInstructionGetDebugLoc(instruction.raw);
            if location.is_null() || LLVMDILocationGetLine(location) == 0 {
                return None;
            }
            LLVMDILocationGetScope(location)
        };
        Some(self.scope(node as usize, scopes, body))
    }

    /// The scope of a node of this module.
    pub fn scope(&self, node: usize, scopes: &mut Scopes, body: &mut Body) -> ScopeId {
        if let Some(&known) = scopes.0.get(&node) {
            return known;
        }
        let raw = node as LLVMMetadataRef;
        // SAFETY: a live scope; the first operands of a block in a function
        // are its file and the scope around it.
        let outer = unsafe {
            let is_block = matches!(
                LLVMGetMetadataKind(raw),
                LLVMDILexicalBlockMetadataKind | LLVMDILexicalBlockFileMetadataKind
            );
            if is_block { self.operands(raw).get(1).map(|&outer| node_of(outer)) } else { None }
        };
        let outer = outer.filter(|&outer| outer != 0).map(|outer| self.scope(outer, scopes, body));
        body.scopes.push(outer);
        let id = ScopeId(body.scopes.len() as u32 - 1);
        scopes.0.insert(node, id);
        id
    }

    /// Types of a function's result and parameters.
    pub fn signature(&mut self, function: Value<'_>) -> Vec<Option<TypeId>> {
        const TYPE: usize = 4;
        const TYPES: usize = 3;
        // SAFETY: a function, with or without debug information; operands of
        // nodes are nodes or null.
        unsafe {
            let node = LLVMGetSubprogram(function.raw);
            if node.is_null() {
                return Vec::new();
            }
            let Some(types) = self.child(node, TYPE).and_then(|ty| self.child(ty, TYPES)) else {
                return Vec::new();
            };
            let types = self.operands(types);
            types.into_iter().map(|ty| self.ty(ty)).collect()
        }
    }

    /// The type of a global variable.
    pub fn global(&mut self, global: Value<'_>) -> Option<TypeId> {
        let mut count = 0;
        // SAFETY: a live global; so many entries are there until released.
        unsafe {
            let entries = LLVMGlobalCopyAllMetadata(global.raw, &mut count);
            let variable = (0..count as u32)
                .map(|index| LLVMValueMetadataEntriesGetMetadata(entries, index))
                .find(|&node| matches!(LLVMGetMetadataKind(node), LLVMDIGlobalVariableExpressionMetadataKind))
                .map(|node| LLVMDIGlobalVariableExpressionGetVariable(node));
            LLVMDisposeValueMetadataEntries(entries);
            let operands = self.operands(variable?);
            operands.get(BASE).and_then(|&ty| self.ty(ty))
        }
    }

    /// # Safety
    /// `node` is a live node.
    unsafe fn child(&self, node: LLVMMetadataRef, index: usize) -> Option<LLVMMetadataRef> {
        // SAFETY: as above.
        let operand = unsafe { self.operands(node) }.get(index).copied()?;
        // SAFETY: a value that is not null.
        (!operand.is_null()).then(|| unsafe { LLVMValueAsMetadata(operand) })
    }

    fn ty(&mut self, ty: LLVMValueRef) -> Option<TypeId> {
        if ty.is_null() {
            return None;
        }
        // SAFETY: metadata of this context.
        let mut node = unsafe { LLVMValueAsMetadata(ty) };
        // SAFETY: as above; names for types and qualifiers have a base.
        while unsafe { tag::QUALIFIERS.contains(&LLVMGetDINodeTag(node)) } {
            // SAFETY: as above.
            node = unsafe { self.child(node, BASE) }?;
        }
        if let Some(&known) = self.type_ids.get(&(node as usize)) {
            return Some(known);
        }
        let id = TypeId(self.types.len() as u32);
        self.types.push(Type::Scalar);
        self.type_ids.insert(node as usize, id);
        // SAFETY: a live node.
        let ty = unsafe { self.shape(node) };
        self.types[id.0 as usize] = ty;
        Some(id)
    }

    /// # Safety
    /// `node` is a live type.
    unsafe fn shape(&mut self, node: LLVMMetadataRef) -> Type {
        // SAFETY: as above; each question is asked of the kind that has it.
        unsafe {
            let number = LLVMGetDINodeTag(node);
            let operands = self.operands(node);
            let operand = |index: usize| operands.get(index).copied().unwrap_or(null_mut());
            if tag::POINTERS.contains(&number) {
                return Type::Pointer(self.ty(operand(BASE)));
            }
            if number == tag::ARRAY {
                let Some(element) = self.ty(operand(BASE)) else { return Type::Scalar };
                let base = LLVMValueAsMetadata(operand(BASE));
                return Type::Array(element, LLVMDITypeGetSizeInBits(base) / 8);
            }
            if !tag::RECORDS.contains(&number) || operand(ELEMENTS).is_null() {
                return Type::Scalar;
            }
            let mut fields = Vec::new();
            for element in self.operands(LLVMValueAsMetadata(operand(ELEMENTS))) {
                let element = if element.is_null() { continue } else { LLVMValueAsMetadata(element) };
                let hidden = match LLVMGetDINodeTag(element) {
                    tag::MEMBER => LLVMDIFlagStaticMember | LLVMDIFlagBitField,
                    tag::BASE_CLASS => LLVMDIFlagVirtual,
                    _ => continue,
                };
                if LLVMDITypeGetFlags(element) & hidden != 0 {
                    continue;
                }
                let Some(base) = self.child(element, BASE) else { continue };
                let mut length = 0;
                let start = LLVMDITypeGetName(element, &mut length);
                let offset = (LLVMDITypeGetOffsetInBits(element) / 8) as i64;
                let Some(ty) = self.ty(LLVMMetadataAsValue(self.context, base)) else { continue };
                fields.push(Field { name: text(start, length as u32), offset, ty });
            }
            Type::Record(fields)
        }
    }
}

/// The address of the metadata in a value, as a key.
fn node_of(value: LLVMValueRef) -> usize {
    // SAFETY: null is asked for nothing; else metadata as a value.
    if value.is_null() { 0 } else { unsafe { LLVMValueAsMetadata(value) as usize } }
}

fn text(start: *const c_char, length: u32) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: callers pass a text with its length.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length as usize) };
    String::from_utf8_lossy(bytes).into_owned()
}
