//! What memory holds, as far as it is known: numbers and addresses at addresses, and what may have
//! written over them.

use leakscope_solve::{Pool, Term};
use llvm_sys::core::*;
use rustc_hash::FxHashSet;

use super::Ways;
use super::terms::{bits_of, is_step, steps};
use crate::ir::{Opcode, Value};
use crate::llvm::{Function, Module};
use crate::ranges::library;

/// Something in memory.
#[derive(Clone, Debug)]
struct Entry<'m> {
    place: Place<'m>,
    bits: u32,
    value: Term,
}

/// Where something is.
#[derive(Clone, Debug, PartialEq)]
struct Place<'m> {
    /// What the address goes on from, and by how much where that is constant.
    root: Value<'m>,
    offset: Option<i64>,
    address: Term,
}

#[derive(Clone, Debug, Default)]
pub struct Memory<'m> {
    entries: Vec<Entry<'m>>,
}

/// The most that is known at once.
const MOST_ENTRIES: usize = 128;

impl<'m> Memory<'m> {
    /// What holds behind several ways, each with its condition.
    pub fn joined(pool: &mut Pool, ways_in: &[(Term, &Memory<'m>)]) -> Memory<'m> {
        let Some(((_, first), others)) = ways_in.split_first() else { return Memory::default() };
        let mut entries = Vec::new();
        for entry in &first.entries {
            let alike = |other: &&Entry<'m>| other.place == entry.place && other.bits == entry.bits;
            let values: Option<Vec<(Term, Term)>> = others
                .iter()
                .map(|(edge, memory)| Some((*edge, memory.entries.iter().find(alike)?.value)))
                .collect();
            let Some(values) = values else { continue };
            let mut value = entry.value;
            for (edge, other) in values {
                value = pool.ite(edge, other, value);
            }
            entries.push(Entry { value, ..entry.clone() });
        }
        Memory { entries }
    }

    pub fn load(&mut self, ways: &mut Ways<'m>, at: Value<'m>) -> Option<Term> {
        let bits = bits_of(at).filter(|_| !at.is_volatile())?;
        let place = Place::of(ways, at.operand(0))?;
        let known = |entry: &&Entry<'m>| entry.place.address == place.address && entry.bits == bits;
        if let Some(entry) = self.entries.iter().find(known) {
            return Some(entry.value);
        }
        let value = ways.unknown(bits);
        self.add(Entry { place, bits, value });
        Some(value)
    }

    pub fn store(&mut self, ways: &mut Ways<'m>, at: Value<'m>, effects: &Effects<'m>) {
        let (value, to) = (at.operand(0), at.operand(1));
        let place = Place::of(ways, to);
        let bits = bits_of(value).filter(|_| !at.is_volatile());
        let (Some(place), Some(bits), Some(value)) = (place, bits, ways.term(value)) else {
            self.entries.retain(|entry| effects.are_apart(ways, entry.place.root, to.root()));
            return;
        };
        let bytes = |bits: u32| i64::from(bits.div_ceil(8));
        let mut kept = Vec::new();
        for mut entry in std::mem::take(&mut self.entries) {
            if entry.place.address == place.address && entry.bits == bits {
                continue;
            }
            let is_same_object = entry.place.root == place.root;
            let is_apart = match (entry.place.offset, place.offset) {
                (Some(a), Some(b)) if is_same_object => a + bytes(entry.bits) <= b || b + bytes(bits) <= a,
                _ => !is_same_object && effects.are_apart(ways, entry.place.root, place.root),
            };
            let may_be_it = entry.bits == bits
                && !(is_same_object && entry.place.offset.is_some() && place.offset.is_some());
            if !is_apart && may_be_it {
                let is_it = ways.pool.eq(entry.place.address, place.address);
                entry.value = ways.pool.ite(is_it, value, entry.value);
            }
            if is_apart || may_be_it {
                kept.push(entry);
            }
        }
        self.entries = kept;
        self.add(Entry { place, bits, value });
    }

    fn add(&mut self, entry: Entry<'m>) {
        if self.entries.len() == MOST_ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push(entry);
    }

    /// Forgets what an instruction may write, whatever that is.
    pub fn forget(&mut self, ways: &Ways<'m>, at: Value<'m>, effects: &Effects<'m>) {
        match at.opcode() {
            Some(Opcode::LLVMStore) => {
                let written = at.operand(1).root();
                self.entries.retain(|entry| effects.are_apart(ways, entry.place.root, written));
            }
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr) => match effects.of_call(at) {
                Effect::None => {}
                Effect::Through(argument) => {
                    let Some(written) = at.arguments().nth(argument).map(|address| address.root()) else {
                        return self.entries.clear();
                    };
                    // SAFETY: a live value.
                    let is_nothing = unsafe { LLVMIsNull(written.raw) != 0 };
                    self.entries
                        .retain(|entry| is_nothing || effects.are_apart(ways, entry.place.root, written));
                }
                Effect::Any => {
                    let given: Vec<Value<'m>> = at.arguments().map(|given| given.root()).collect();
                    self.entries.retain(|entry| {
                        effects.is_private(entry.place.root) && !given.contains(&entry.place.root)
                    });
                }
            },
            Some(
                Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg | Opcode::LLVMFence | Opcode::LLVMVAArg,
            ) => {
                self.entries.clear();
            }
            _ => {}
        }
    }
}

impl<'m> Place<'m> {
    fn of(ways: &mut Ways<'m>, address: Value<'m>) -> Option<Place<'m>> {
        let (mut root, mut offset) = (address, Some(0i64));
        while is_step(root) {
            let (by, terms) = steps(root, ways.layout)?;
            offset = offset.filter(|_| terms.is_empty()).map(|offset| offset.wrapping_add(by));
            root = root.operand(0);
        }
        Some(Place { root, offset, address: ways.term(address)? })
    }
}

impl<'m> Value<'m> {
    /// What an address goes on from.
    fn root(self) -> Value<'m> {
        let mut root = self;
        while is_step(root) {
            root = root.operand(0);
        }
        root
    }
}

/// What a call may write.
enum Effect {
    None,
    /// The object that this argument is in.
    Through(usize),
    Any,
}

/// What calls write, and whose addresses nobody else has.
pub struct Effects<'m> {
    is_undisturbed: bool,
    /// Functions with bodies that write nothing that others see.
    quiet: FxHashSet<Value<'m>>,
    private: FxHashSet<Value<'m>>,
}

/// Functions of the library that write nothing of the program's, or free a block.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "strlen", "strnlen", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp", "bcmp", "strchr", "strrchr", "memchr",
    "strstr", "strspn", "strcspn", "strpbrk", "atoi", "atol", "atoll", "abs", "labs", "printf", "fprintf", "puts", "fputs",
    "putchar", "fputc", "putc", "fwrite", "perror", "fflush", "feof", "ferror", "fileno", "fseek", "ftell", "rewind", "fclose",
    "fopen", "getc", "fgetc", "getchar", "ungetc", "getenv", "isalpha", "isdigit", "isalnum", "isspace", "isupper", "islower",
    "isxdigit", "ispunct", "isprint", "toupper", "tolower", "malloc", "calloc", "free", "strdup", "strndup", "exit", "abort",
    "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc", "__printf_chk", "__fprintf_chk", "_Znwm", "_Znam",
    "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm",
];

/// And those that write through one argument only.
#[rustfmt::skip]
const WRITERS: &[(&str, usize)] = &[
    ("snprintf", 0), ("sprintf", 0), ("__snprintf_chk", 0), ("__sprintf_chk", 0), ("strcpy", 0), ("strncpy", 0), ("strcat", 0),
    ("strncat", 0), ("stpcpy", 0), ("memcpy", 0), ("memmove", 0), ("memset", 0), ("__strcpy_chk", 0), ("__strcat_chk", 0),
    ("__memcpy_chk", 0), ("__memset_chk", 0), ("fgets", 0), ("__fgets_chk", 0), ("fread", 0), ("__fread_chk", 0), ("read", 1),
    ("strtol", 1), ("strtoul", 1), ("strtoll", 1), ("strtoull", 1), ("__isoc23_strtol", 1), ("__isoc23_strtoul", 1),
    ("strtod", 1),
];

/// Functions that give a block that nobody had.
#[rustfmt::skip]
const NEW: &[&str] = &["malloc", "calloc", "strdup", "strndup", "_Znwm", "_Znam"];

/// Intrinsics that write what their first argument points to, and those that do nothing to memory.
const MEMORY: [&str; 3] = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
const HARMLESS: [&str; 12] = [
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.dbg.",
    "llvm.expect.",
    "llvm.umax.",
    "llvm.umin.",
    "llvm.smax.",
    "llvm.smin.",
    "llvm.abs.",
    "llvm.fshl.",
    "llvm.bswap.",
    "llvm.ctlz.",
];

impl<'m> Effects<'m> {
    pub fn of(module: &'m Module<'_>) -> Effects<'m> {
        let locals = module.bodies().flat_map(Function::instructions).filter(|at| at.is(Opcode::LLVMAlloca));
        // SAFETY: a live variable.
        let is_own = |global: &Value<'m>| unsafe {
            LLVMGetLinkage(global.raw) == llvm_sys::LLVMLinkage::LLVMInternalLinkage
        };
        let globals = module.variables().filter(is_own);
        let mut effects = Effects {
            is_undisturbed: library::is_undisturbed(module),
            quiet: module.bodies().map(Function::value).collect(),
            private: locals.chain(globals).filter(|&of| is_kept(of)).collect(),
        };
        // Who calls somebody that writes does so, too.
        loop {
            let writes = |function: &Function<'m>| function.instructions().any(|at| effects.is_seen(at));
            let gone: Vec<Value<'m>> = module
                .bodies()
                .filter(|function| effects.quiet.contains(&function.value()) && writes(function))
                .map(Function::value)
                .collect();
            if gone.is_empty() {
                return effects;
            }
            for function in gone {
                effects.quiet.remove(&function);
            }
        }
    }

    /// Whether an instruction writes what is there before and after its function.
    fn is_seen(&self, at: Value<'m>) -> bool {
        let is_local = |address: Value<'m>| address.root().is(Opcode::LLVMAlloca);
        match at.opcode() {
            Some(Opcode::LLVMStore) => !is_local(at.operand(1)),
            Some(
                Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg | Opcode::LLVMFence | Opcode::LLVMVAArg,
            ) => true,
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr) => match self.of_call(at) {
                Effect::None => false,
                Effect::Through(argument) => !at.arguments().nth(argument).is_some_and(is_local),
                Effect::Any => true,
            },
            _ => false,
        }
    }

    fn of_call(&self, at: Value<'m>) -> Effect {
        let (Some(called), Some(name)) = (at.called(), at.called_name()) else { return Effect::Any };
        if self.quiet.contains(&called) {
            return Effect::None;
        }
        if !called.is_declaration() {
            return Effect::Any;
        }
        let begins = |begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
        if begins(&HARMLESS) || name.starts_with(crate::unreached::POINT) {
            return Effect::None;
        }
        if begins(&MEMORY) {
            return Effect::Through(0);
        }
        if !self.is_undisturbed {
            return Effect::Any;
        }
        match WRITERS.iter().find(|(writer, _)| *writer == name) {
            Some(&(_, argument)) => Effect::Through(argument),
            None if READERS.contains(&name) => Effect::None,
            None => Effect::Any,
        }
    }

    fn is_private(&self, root: Value<'m>) -> bool {
        self.private.contains(&root) && root.is(Opcode::LLVMAlloca)
    }

    /// Whether what two addresses go on from are different objects for sure.
    fn are_apart(&self, ways: &Ways<'m>, a: Value<'m>, b: Value<'m>) -> bool {
        if a == b {
            return false;
        }
        let is_local = |root: Value<'m>| root.is(Opcode::LLVMAlloca);
        let is_new = |root: Value<'m>| {
            let is_call = root.is(Opcode::LLVMCall) || root.is(Opcode::LLVMInvoke);
            is_call && self.is_undisturbed && root.called_name().is_some_and(|name| NEW.contains(&name))
        };
        let is_object = |root: Value<'m>| is_local(root) || root.is_global() || is_new(root);
        let order = |root: Value<'m>| ways.order.get(&root).copied();
        // An address that was there before a block or variable came to be is none of that.
        let came_before = |older: Value<'m>, newer: Value<'m>| {
            // What has no place yet comes later.
            older.is_parameter()
                || order(older).is_some_and(|older| order(newer).is_none_or(|newer| older < newer))
        };
        let one_way = |a: Value<'m>, b: Value<'m>| {
            self.private.contains(&a)
                || is_local(a) && b.is_parameter()
                || is_new(a) && (b.is_global() || came_before(b, a))
        };
        is_object(a) && is_object(b) || one_way(a, b) || one_way(b, a)
    }
}

/// Whether an address is only used to read and write there, or by the library while a call lasts.
fn is_kept(address: Value<'_>) -> bool {
    address.users().all(|user| match user.opcode() {
        Some(Opcode::LLVMLoad | Opcode::LLVMICmp) => true,
        Some(Opcode::LLVMStore) => user.operand(0) != address,
        Some(Opcode::LLVMCall) => library::lets_go(user),
        _ => is_step(user) && user.operand(0) == address && is_kept(user),
    })
}
