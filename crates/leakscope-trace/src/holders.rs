//! What still holds forgotten blocks: a root (a variable, a frame, a register),
//! and the way from there through other blocks, in the words of the source.
//! Part of a finding's `evidence`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use leakscope_wire as wire;
use object::{Object, ObjectSymbol};
use serde_json::{Value, json};

use crate::dwarf::Die;
use crate::module_file;
use crate::record::{self, Record};
use crate::variables::{Held, Variables, Word};

/// What holds a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldBy {
    /// Blocks between the root and the block: the fewest come first.
    pub length: usize,
    root: Root,
    /// One part for each block on the way: `[3].next`.
    path: Vec<String>,
    /// Blocks on the way that `path` leaves out at its end.
    omitted: u32,
}

/// Where the first pointer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Root {
    /// `global`, `static`, `thread-local`, `thread-data`, `local`, `stack`,
    /// `register` or `mapping`.
    kind: &'static str,
    /// The variable: `table[3].head`.
    name: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    /// Whose frame it is in.
    function: Option<String>,
    /// File name of the executable or shared object.
    module: Option<String>,
    /// 1 is the main thread.
    thread: Option<u32>,
}

/// What holds the blocks of a record of which somebody wants to know: finding
/// out may take reading much of a module. `function` names the one at a return
/// address.
pub fn of_record<'r>(
    record: &'r Record,
    wanted: impl Fn(&wire::Holder) -> bool,
    function: &mut dyn FnMut(u64) -> Option<String>,
) -> Vec<(&'r wire::Holder, HeldBy)> {
    let mut by_module: BTreeMap<Option<&Path>, Vec<&(wire::Holder, Vec<wire::Link>)>> = BTreeMap::new();
    for holder in record.holders.iter().filter(|(holder, _)| wanted(holder)) {
        let module = module_of(record, &holder.0).map(|module| module.path.as_path());
        by_module.entry(module).or_default().push(holder);
    }
    let mut found = Vec::new();
    for (path, holders) in by_module {
        let variables = path.and_then(Variables::read);
        let module = Module { path, variables, symbols: OnceCell::new() };
        for (holder, links) in holders {
            let (root, target) = module.root(record, holder, function);
            let path = module.path(links, target);
            let length = links.len() + holder.omitted as usize;
            found.push((holder, HeldBy { length, root, path, omitted: holder.omitted }));
        }
    }
    found
}

/// What is known of the module that has the roots, if any has.
struct Module<'a> {
    path: Option<&'a Path>,
    variables: Option<Variables>,
    /// Data symbols: address, size and name.
    symbols: OnceCell<Vec<(u64, u64, String)>>,
}

/// The module that has the variable or the code.
fn module_of<'r>(record: &'r Record, holder: &wire::Holder) -> Option<&'r record::Module> {
    match wire::Root::from_u32(holder.root)? {
        wire::Root::Global | wire::Root::ThreadLocal => record.modules.get(holder.module as usize),
        wire::Root::Stack => record.modules.iter().find(|record::Module { at, .. }| {
            at.last_generation == u32::MAX && (at.start..at.end).contains(&holder.code.wrapping_sub(1))
        }),
        _ => None,
    }
}

fn code_in_file(record: &Record, holder: &wire::Holder) -> Option<u64> {
    let module = module_of(record, holder).filter(|_| holder.code != 0)?;
    Some(holder.code.wrapping_sub(module.at.bias))
}

impl Module<'_> {
    /// The root, and the type to which it points.
    fn root(
        &self,
        record: &Record,
        holder: &wire::Holder,
        function: &mut dyn FnMut(u64) -> Option<String>,
    ) -> (Root, Option<Die>) {
        let module = self.path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let thread = (holder.thread != 0).then_some(holder.thread);
        let plain = |kind| Root { kind, module: module.clone(), thread, ..Root::default() };
        let of_word = |kind, word: Word| {
            let (file, line) = word.declared.unzip();
            let (name, function) = (Some(word.name), word.function);
            (Root { name, file, line, function, ..plain(kind) }, word.target)
        };
        let variables = self.variables.as_ref();
        match wire::Root::from_u32(holder.root) {
            Some(wire::Root::Global) => {
                match variables.and_then(|variables| variables.global(holder.address)) {
                    Some(word) => of_word(if word.is_external { "global" } else { "static" }, word),
                    None => (Root { name: self.symbol(holder.address), ..plain("global") }, None),
                }
            }
            Some(wire::Root::ThreadLocal) => {
                match variables.and_then(|variables| variables.thread_local(holder.address)) {
                    Some(word) => of_word("thread-local", word),
                    None => (plain("thread-local"), None),
                }
            }
            Some(wire::Root::Stack) => {
                let known = variables.zip(code_in_file(record, holder));
                // Counted from the frame's end upwards.
                let held = Held::Below((holder.address as i64).wrapping_neg());
                let word =
                    known.and_then(|(variables, code)| variables.held(code.wrapping_sub(1), held, None));
                match word {
                    Some(word) => of_word("local", word),
                    None => {
                        let function = Some(holder.code).filter(|&code| code != 0).and_then(function);
                        (Root { function, ..plain("stack") }, None)
                    }
                }
            }
            Some(wire::Root::ThreadData) => (plain("thread-data"), None),
            Some(wire::Root::Register) => (plain("register"), None),
            _ => (plain("mapping"), None),
        }
    }

    fn path(&self, links: &[wire::Link], mut target: Option<Die>) -> Vec<String> {
        let mut path = Vec::new();
        for link in links {
            let inside = link.offset.checked_sub(link.entered);
            let (part, next) = match (&self.variables, inside) {
                (Some(variables), Some(inside)) => {
                    variables.types.in_block(target, link.bytes.saturating_sub(link.entered), inside)
                }
                _ => (format!("[{}]", link.offset / 8), None),
            };
            path.push(part);
            target = next;
        }
        path
    }

    /// The data symbol around an address of the file, where there is no debug
    /// information.
    fn symbol(&self, address: u64) -> Option<String> {
        let symbols = self.symbols.get_or_init(|| self.path.and_then(data_symbols).unwrap_or_default());
        let (start, _, name) =
            symbols.iter().find(|(start, bytes, _)| address.wrapping_sub(*start) < *bytes)?;
        let name = addr2line::demangle_auto(name.into(), None);
        Some(match address - start {
            0 => name.into_owned(),
            offset => format!("{name}+{offset}"),
        })
    }
}

fn data_symbols(module: &Path) -> Option<Vec<(u64, u64, String)>> {
    let cache = module_file::open(module)?;
    let file = object::File::parse(&cache).ok()?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let data = symbols.filter(|symbol| symbol.kind() == object::SymbolKind::Data);
    Some(data.filter_map(|data| Some((data.address(), data.size(), data.name().ok()?.to_owned()))).collect())
}

impl HeldBy {
    pub fn to_json(&self) -> Value {
        let Root { kind, name, file, line, function, module, thread } = &self.root;
        json!({
            "text": self.text(),
            "root": {
                "kind": kind, "name": name, "file": file, "line": line, "function": function, "module": module,
                "thread": thread,
            },
            "path": self.path,
            "omitted": self.omitted,
        })
    }

    /// `global cache in cache.c:12 -> [3].next`.
    pub fn text(&self) -> String {
        let mut text = self.root.text();
        let mut parts = self.path.iter().peekable();
        while let Some(part) = parts.next() {
            let mut times = 1;
            while parts.next_if_eq(&part).is_some() {
                times += 1;
            }
            text += &match times {
                1 => format!(" -> {part}"),
                _ => format!(" -> {part} ({times} times)"),
            };
        }
        if self.omitted > 0 {
            text += &format!(" -> … {} more", self.omitted);
        }
        text
    }
}

impl Root {
    fn text(&self) -> String {
        let whose = match self.thread {
            None => "a thread".to_owned(),
            Some(1) => "the main thread".to_owned(),
            Some(number) => format!("thread {number}"),
        };
        let at = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)),
            _ => self.module.clone().unwrap_or_default(),
        };
        let of_thread = match self.thread {
            None | Some(1) => String::new(),
            _ => format!(" ({whose})"),
        };
        let of_function = self.function.as_ref().map_or(String::new(), |function| format!(" of {function}"));
        match (self.kind, &self.name, &self.function) {
            ("global", None, _) => format!("data of {at}"),
            ("thread-local", None, _) => format!("thread-local data of {at}{of_thread}"),
            ("global" | "static" | "thread-local" | "local", Some(name), _) => {
                format!("{} {name}{of_function} in {at}{of_thread}", self.kind)
            }
            ("stack", _, Some(function)) => format!("the frame of {function}{of_thread}"),
            ("thread-data", ..) => format!("thread-specific data of {whose}"),
            ("register", ..) => format!("a register of {whose}"),
            ("mapping", ..) => "memory that the program mapped".to_owned(),
            _ => format!("the stack of {whose}"),
        }
    }
}
