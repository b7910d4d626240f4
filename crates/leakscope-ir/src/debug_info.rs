//! Lines and variables, as debug information tells them.
//!
//! LLVM's C interface gives nodes as lists of operands; their order is that of
//! LLVM 19.

use std::ffi::c_char;
use std::ptr::null_mut;

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMMetadataKind::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;

use crate::llvm::{Module, Value};
use crate::program::{FileId, Spot};

/// Lines of one module, with the files that they are in.
pub struct Lines {
    context: LLVMContextRef,
    pub files: Vec<String>,
    /// Files by their node, and of the scope that asked last.
    known: FxHashMap<usize, FileId>,
    scopes: FxHashMap<usize, FileId>,
}

/// What `llvm.dbg.declare` or `llvm.dbg.value` says.
pub struct Named<'m> {
    /// Tells variables of one name apart.
    pub key: usize,
    pub name: String,
    pub is_pointer: bool,
    pub value: Option<Value<'m>>,
}

const POINTER_TAGS: [u16; 3] = [0x0f, 0x10, 0x42];
const QUALIFIER_TAGS: [u16; 5] = [0x16, 0x26, 0x35, 0x37, 0x47];

impl Lines {
    pub fn new(module: &Module<'_>) -> Lines {
        Lines {
            context: module.context(),
            files: vec![String::new()],
            known: FxHashMap::default(),
            scopes: FxHashMap::default(),
        }
    }

    pub fn of_instruction(&mut self, instruction: Value<'_>) -> Spot {
        // SAFETY: an instruction; its location has a scope, which the context keeps.
        unsafe {
            let location = LLVMInstructionGetDebugLoc(instruction.raw);
            if location.is_null() {
                return Spot::UNKNOWN;
            }
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
        let path = plain(&if name.starts_with('/') || folder.is_empty() { name } else { format!("{folder}/{name}") });
        let file = self.files.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.files.push(path);
            self.files.len() - 1
        });
        let file = FileId(file as u32);
        self.known.insert(node as usize, file);
        file
    }

    /// The variable that a call of a debug intrinsic names.
    pub fn named<'m>(&self, call: Value<'m>) -> Option<Named<'m>> {
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
                is_pointer: operands.get(3).is_some_and(|&ty| self.is_pointer(ty)),
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

    /// # Safety
    /// `ty` is null or metadata of this context.
    unsafe fn is_pointer(&self, ty: LLVMValueRef) -> bool {
        if ty.is_null() {
            return false;
        }
        // SAFETY: as above; operand 3 of a derived type is its base.
        unsafe {
            let mut node = LLVMValueAsMetadata(ty);
            loop {
                let tag = LLVMGetDINodeTag(node);
                if POINTER_TAGS.contains(&tag) {
                    return true;
                }
                if !QUALIFIER_TAGS.contains(&tag) {
                    return false;
                }
                match self.operands(node).get(3) {
                    Some(base) if !base.is_null() => node = LLVMValueAsMetadata(*base),
                    _ => return false,
                }
            }
        }
    }
}

fn text(start: *const c_char, length: u32) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: callers pass a text with its length.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length as usize) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The path without `.` and `..` where that needs no file system.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
