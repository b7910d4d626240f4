//! The table of places: data of the module, in a section in which the linker
//! puts those of all units one behind the other.

use std::collections::HashMap;
use std::ffi::c_char;

use leakscope_core::{taken_destination, tidy};
use leakscope_wire::symbolic::{PLACES_SECTION, Place, PlaceKind};
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use crate::builder::Builder;
use crate::ir::{Block, Value};
use crate::llvm::{Function, Module};

/// What is known of a place beside where it is.
struct Entry<'m> {
    kind: PlaceKind,
    ordinal: u16,
    line: u32,
    column: u32,
    traits: u32,
    file: Value<'m>,
    function: Value<'m>,
    detail: Option<Value<'m>>,
    cases: u32,
}

pub struct Places<'b, 'm> {
    module: LLVMModuleRef,
    builder: &'b Builder<'m>,
    /// Stands for the table until its size is known.
    table: Value<'m>,
    entries: Vec<Entry<'m>>,
    texts: HashMap<String, Value<'m>>,
    lines: HashMap<(Value<'m>, u32, u32), Value<'m>>,
    ordinals: HashMap<(Value<'m>, PlaceKind, u32, u32), u16>,
}

impl<'b, 'm> Places<'b, 'm> {
    pub fn new(module: &'m Module<'_>, builder: &'b Builder<'m>) -> Places<'b, 'm> {
        Places {
            module: module.raw(),
            builder,
            table: builder.zeroed(size_of::<Place>() as u64),
            entries: Vec::new(),
            texts: HashMap::new(),
            lines: HashMap::new(),
            ordinals: HashMap::new(),
        }
    }

    pub fn of_function(&mut self, function: Function<'m>) -> Value<'m> {
        // SAFETY: a live function, with or without debug information.
        let (file, line) = unsafe {
            let node = LLVMGetSubprogram(function.raw());
            if node.is_null() {
                (String::new(), 0)
            } else {
                (path(LLVMDIScopeGetFile(node)), LLVMDISubprogramGetLine(node))
            }
        };
        let file = self.text(&file);
        let function = self.text(function.name());
        self.add(Entry {
            kind: PlaceKind::Function,
            ordinal: 0,
            line,
            column: 0,
            traits: 0,
            file,
            function,
            detail: None,
            cases: 0,
        })
    }

    /// The line that an instruction is on, once for each function.
    pub fn of_line(&mut self, at: Value<'m>) -> Value<'m> {
        let (line, column) = position(at);
        let key = (at.function(), line, column);
        if let Some(&known) = self.lines.get(&key) {
            return known;
        }
        let place = self.of_instruction(at, PlaceKind::Line, 0, None, 0);
        self.lines.insert(key, place);
        place
    }

    pub fn of_call(&mut self, at: Value<'m>) -> Value<'m> {
        let called = at
            .called_name()
            .map(|name| name.strip_prefix(leakscope_wire::symbolic::MODEL_PREFIX).unwrap_or(name).to_owned());
        let detail = called.map(|name| self.text(&name));
        self.of_instruction(at, PlaceKind::Call, 0, detail, 0)
    }

    pub fn of_branch(&mut self, at: Value<'m>, blocks: &HashMap<Block<'m>, usize>) -> Value<'m> {
        let to: Vec<Block<'m>> = at.successors().collect();
        let names = [to[0].name(), to[1].name()];
        let positions = [blocks[&to[0]], blocks[&to[1]]];
        let is_reversed = taken_destination(names, positions) == 1;
        self.of_instruction(at, PlaceKind::Branch, if is_reversed { Place::REVERSED } else { 0 }, None, 0)
    }

    /// With its cases, in the order of the code.
    pub fn of_switch(&mut self, at: Value<'m>) -> Value<'m> {
        let count = at.successors().count() as u32 - 1;
        let cases = (1..=count).filter_map(|index| at.operand(2 * index).integer());
        let bytes: Vec<u8> = cases.flat_map(u64::to_le_bytes).collect();
        let detail = (!bytes.is_empty()).then(|| self.builder.bytes(&bytes, 8));
        let cases = bytes.len() as u32 / 8;
        self.of_instruction(at, PlaceKind::Switch, 0, detail, cases)
    }

    fn of_instruction(
        &mut self,
        at: Value<'m>,
        kind: PlaceKind,
        traits: u32,
        detail: Option<Value<'m>>,
        cases: u32,
    ) -> Value<'m> {
        let (line, column) = position(at);
        // Branches and switches count together, as the check's do.
        let counted = if kind == PlaceKind::Switch { PlaceKind::Branch } else { kind };
        let next = self.ordinals.entry((at.function(), counted, line, column)).or_default();
        let ordinal = *next;
        *next = next.saturating_add(1);
        let (file, function) = (self.text(&file_of(at)), self.text(at.function().name()));
        self.add(Entry { kind, ordinal, line, column, traits, file, function, detail, cases })
    }

    fn add(&mut self, entry: Entry<'m>) -> Value<'m> {
        let at = self.entries.len() * size_of::<Place>();
        self.entries.push(entry);
        self.builder.constant_offset(self.table, at as u64)
    }

    fn text(&mut self, text: &str) -> Value<'m> {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let data = self.builder.bytes(&[text.as_bytes(), &[0]].concat(), 1);
        self.texts.insert(text.to_owned(), data);
        data
    }

    /// Makes the table.
    pub fn finish(self) {
        if self.entries.is_empty() {
            return self.builder.discard(self.table);
        }
        let context = self.builder.context();
        // SAFETY: constants and types of one context; the table refers to
        // itself by distances, which the linker knows.
        unsafe {
            let (half, word) = (LLVMInt16TypeInContext(context), LLVMInt32TypeInContext(context));
            let mut members = [word, half, half, word, word, word, word, word, word, word, word];
            let entry_ty = LLVMStructTypeInContext(context, members.as_mut_ptr(), members.len() as u32, 0);
            let ty = LLVMArrayType2(entry_ty, self.entries.len() as u64);
            let table = LLVMAddGlobal(self.module, ty, c"leakscope.places".as_ptr());
            let distance = |to: Option<Value<'m>>, at: u64| {
                let Some(to) = to else { return LLVMConstInt(word, 0, 0) };
                let from = self.builder.constant_offset(Value::new(table), at);
                let wide = self.builder.word_type().raw;
                let bytes = LLVMConstSub(LLVMConstPtrToInt(to.raw, wide), LLVMConstPtrToInt(from.raw, wide));
                LLVMConstTrunc(bytes, word)
            };
            let mut entries: Vec<LLVMValueRef> = Vec::new();
            for (index, entry) in self.entries.iter().enumerate() {
                let at = (index * size_of::<Place>()) as u64;
                let number = |value: u32| LLVMConstInt(word, value.into(), 0);
                let mut fields = [
                    number(0),
                    LLVMConstInt(half, entry.kind as u64, 0),
                    LLVMConstInt(half, entry.ordinal.into(), 0),
                    number(entry.line),
                    number(entry.column),
                    distance(Some(entry.file), at + Place::FILE_AT),
                    distance(Some(entry.function), at + Place::FUNCTION_AT),
                    distance(entry.detail, at + Place::DETAIL_AT),
                    number(entry.cases),
                    number(entry.traits),
                    number(0),
                ];
                entries.push(LLVMConstStructInContext(context, fields.as_mut_ptr(), fields.len() as u32, 0));
            }
            let data = LLVMConstArray2(entry_ty, entries.as_mut_ptr(), entries.len() as u64);
            LLVMSetInitializer(table, data);
            LLVMSetLinkage(table, LLVMLinkage::LLVMInternalLinkage);
            let section = std::ffi::CString::new(PLACES_SECTION).expect("no null byte");
            LLVMSetSection(table, section.as_ptr());
            LLVMSetAlignment(table, 8);
            self.builder.replace(self.table, Value::new(table));
        }
    }
}

fn position(at: Value<'_>) -> (u32, u32) {
    at.location().map_or((0, 0), |location| (location.line(), location.column()))
}

/// The file that an instruction stands in, as places have it.
pub fn file_of(at: Value<'_>) -> String {
    // SAFETY: a live instruction; its location has a scope.
    unsafe {
        let location = LLVMInstructionGetDebugLoc(at.raw);
        if location.is_null() {
            String::new()
        } else {
            path(LLVMDIScopeGetFile(LLVMDILocationGetScope(location)))
        }
    }
}

/// The path of a file as the check has it.
///
/// # Safety
/// `file` is null or a live node of a file.
unsafe fn path(file: LLVMMetadataRef) -> String {
    if file.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says; texts live as long as the context.
    let text = |read: unsafe extern "C" fn(LLVMMetadataRef, *mut u32) -> *const c_char| unsafe {
        let mut length = 0;
        let start = read(file, &mut length);
        if start.is_null() {
            return String::new();
        }
        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length as usize);
        String::from_utf8_lossy(bytes).into_owned()
    };
    let (folder, name) = (text(LLVMDIFileGetDirectory), text(LLVMDIFileGetFilename));
    tidy(&if name.starts_with('/') || folder.is_empty() { name } else { format!("{folder}/{name}") })
}
