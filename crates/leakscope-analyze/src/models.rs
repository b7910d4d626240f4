//! Library knowledge: what functions without a body do, as data
//! (`models/*.toml`) that becomes summaries. The keys are explained in
//! `models/README.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use leakscope_core::{Allocator, PoolFunction, PoolRole};
use leakscope_ir::{Compare, Function, Ownership, ValueId};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::case::Block;
use crate::fact::Fact;
use crate::scope::Origin;
use crate::summary::{ExitCase, Summary, Write};
use crate::value::{Base, HeapId, Offset, SymbolId, SymbolKey, Symbols, Value};

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{file}: {reason}")]
    Parse { file: String, reason: String },
    #[error("{file}: [[allocator]]: {reason}")]
    Allocator { file: String, reason: String },
    #[error("{file}: {name}: expected {expected} for `{key}`, found {found:?}")]
    Value { file: String, name: String, key: &'static str, expected: &'static str, found: String },
}

/// Models by name; exact names go before prefixes, later files before earlier
/// ones.
#[derive(Debug, Default)]
pub struct Models {
    exact: FxHashMap<String, Arc<Model>>,
    prefixes: Vec<(String, Arc<Model>)>,
    /// The program's own allocators, function by function.
    pub pools: Vec<PoolFunction>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    function: Vec<Entry>,
    #[serde(default)]
    allocator: Vec<Allocator>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    #[serde(default)]
    names: Vec<String>,
    returns: Option<String>,
    #[serde(default)]
    out: BTreeMap<String, String>,
    #[serde(default)]
    frees: Vec<u32>,
    #[serde(default)]
    takes: Vec<u32>,
    #[serde(default)]
    keeps: Vec<u32>,
    #[serde(default)]
    links: Vec<[u32; 2]>,
    buffer: Option<u32>,
    realloc: Option<u32>,
    #[serde(default)]
    clears: Vec<String>,
    cuts: Option<u32>,
    family: Option<String>,
    kind: Option<String>,
    fails: Option<String>,
    #[serde(default)]
    noreturn: bool,
    #[serde(default)]
    noreturn_if: BTreeMap<String, String>,
    #[serde(default)]
    fills: BTreeMap<String, u32>,
    #[serde(default)]
    zeroed: bool,
    #[serde(default)]
    pure: bool,
    #[serde(default)]
    compares: bool,
    runs: Option<[u32; 2]>,
}

impl Entry {
    /// What a function of a pool does to those who call it.
    fn of_pool(function: &PoolFunction) -> Entry {
        let (mut entry, is_kept) = (Entry::default(), function.is_kept);
        entry.name = Some(function.name.clone());
        match function.role {
            PoolRole::Allocates { .. } if is_kept => entry.returns = Some("borrowed".to_owned()),
            PoolRole::Allocates { result: Some(argument), .. } => {
                entry.out.insert(argument.to_string(), "new".to_owned());
            }
            PoolRole::Allocates { .. } => entry.returns = Some("new".to_owned()),
            PoolRole::Resizes { .. } if is_kept => entry.returns = Some("borrowed".to_owned()),
            PoolRole::Resizes { pointer, .. } => {
                entry.returns = Some("new".to_owned());
                entry.realloc = Some(pointer);
            }
            PoolRole::Frees { pointer } => entry.frees.push(pointer),
            PoolRole::Clears { .. } | PoolRole::Moves { .. } => entry.pure = true,
        }
        entry
    }
}

/// What one entry says, checked.
#[derive(Debug)]
pub struct Model {
    returns: Option<Place>,
    out: Vec<(Member, Place)>,
    frees: Vec<u32>,
    /// What members hold is released.
    clears: Vec<Member>,
    /// Where it does not fail.
    takes: Vec<u32>,
    keeps: Vec<u32>,
    /// What this argument points to holds a text that loses its first part,
    /// which is the result.
    cuts: Option<u32>,
    links: Vec<[u32; 2]>,
    buffer: Option<u32>,
    realloc: Option<u32>,
    kind: String,
    /// New memory is all zero.
    is_zeroed: bool,
    fails: Fails,
    is_noreturn: bool,
    noreturn_if: Vec<(u32, Fact)>,
    /// The first is written to, up to as many bytes as the second says: it is
    /// null only where these are none.
    fills: Vec<(u32, u32)>,
    /// Writes nothing through its arguments.
    is_pure: bool,
    /// The same texts give the same number.
    compares: bool,
    /// An argument that is a function runs, with another argument.
    runs: Option<[u32; 2]>,
}

/// An argument, and a place in what it points to, in bytes.
type Member = (u32, i64);

/// What a result or output argument is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    New,
    /// A block with others in it.
    Table,
    Borrowed,
    Argument(u32),
    Within(u32),
    NonNull,
    Positive,
    Count,
    Length,
    Null,
    Realloc,
    /// A byte that is 1.
    Set,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    Null,
    Negative,
    Nonzero,
    Never,
}

impl Model {
    /// Whether it makes blocks, or releases them.
    pub fn is_allocator(&self) -> bool {
        self.returns == Some(Place::New) || self.realloc.is_some() || !self.frees.is_empty()
    }
}

impl Models {
    /// Adds the models in the text of one file.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), ModelError> {
        let parsed: File = toml::from_str(text)
            .map_err(|error| ModelError::Parse { file: file.to_owned(), reason: error.to_string() })?;
        let mut entries = parsed.function;
        for allocator in parsed.allocator {
            let functions = allocator
                .functions()
                .map_err(|reason| ModelError::Allocator { file: file.to_owned(), reason })?;
            entries.extend(functions.iter().map(Entry::of_pool));
            self.pools.extend(functions);
        }
        for entry in entries {
            let names: Vec<String> = entry.name.iter().chain(&entry.names).cloned().collect();
            let model = Arc::new(Model::new(entry, file, names.first().map_or("", String::as_str))?);
            for name in names {
                match name.strip_suffix('*') {
                    Some(prefix) => self.prefixes.insert(0, (prefix.to_owned(), model.clone())),
                    None => drop(self.exact.insert(name, model.clone())),
                }
            }
        }
        Ok(())
    }

    pub fn of(&self, function: &Function) -> Option<&Arc<Model>> {
        let exact = self.exact.get(&function.name).or_else(|| self.exact.get(&function.display));
        exact.or_else(|| {
            let fits = |(prefix, _): &&(String, Arc<Model>)| {
                function.name.starts_with(prefix) || function.display.starts_with(prefix)
            };
            self.prefixes.iter().filter(fits).max_by_key(|(prefix, _)| prefix.len()).map(|(_, model)| model)
        })
    }
}

impl Model {
    fn new(entry: Entry, file: &str, name: &str) -> Result<Model, ModelError> {
        let wrong = |key, expected, found: &str| ModelError::Value {
            file: file.to_owned(),
            name: name.to_owned(),
            key,
            expected,
            found: found.to_owned(),
        };
        let place = |key, text: &str| {
            Place::named(text).ok_or_else(|| {
                wrong(
                    key,
                    "new, table, borrowed, argN, withinN, nonnull, positive, count, length or null",
                    text,
                )
            })
        };
        let returns = entry.returns.as_deref().map(|text| place("returns", text)).transpose()?;
        let mut out = Vec::new();
        for (member, text) in &entry.out {
            let to = member_named(member).ok_or_else(|| wrong("out", MEMBER, member))?;
            out.push((to, place("out", text)?));
        }
        let clears = entry
            .clears
            .iter()
            .map(|member| member_named(member).ok_or_else(|| wrong("clears", MEMBER, member)));
        let clears = clears.collect::<Result<_, _>>()?;
        let mut noreturn_if = Vec::new();
        for (argument, text) in &entry.noreturn_if {
            let number =
                argument.parse().map_err(|_| wrong("noreturn_if", "an argument's number", argument))?;
            let fact = match text.as_str() {
                "nonzero" => Fact::exactly(0),
                "zero" | "null" => Fact::NONZERO,
                _ => return Err(wrong("noreturn_if", "zero or nonzero", text)),
            };
            noreturn_if.push((number, fact));
        }
        let fills = entry.fills.iter().map(|(to, &bytes)| match to.parse() {
            Ok(to) => Ok((to, bytes)),
            Err(_) => Err(wrong("fills", "an argument's number", to)),
        });
        let fills = fills.collect::<Result<_, _>>()?;
        let fails = match entry.fails.as_deref() {
            None if returns == Some(Place::New) => Fails::Null,
            None | Some("never") => Fails::Never,
            Some("null" | "zero") => Fails::Null,
            Some("negative") => Fails::Negative,
            Some("nonzero") => Fails::Nonzero,
            Some(other) => return Err(wrong("fails", "null, zero, negative, nonzero or never", other)),
        };
        let _ = &entry.family;
        Ok(Model {
            returns,
            out,
            frees: entry.frees,
            clears,
            takes: entry.takes,
            keeps: entry.keeps,
            cuts: entry.cuts,
            links: entry.links,
            buffer: entry.buffer,
            realloc: entry.realloc,
            kind: entry.kind.unwrap_or_else(|| "memory".to_owned()),
            is_zeroed: entry.zeroed,
            fails,
            is_noreturn: entry.noreturn,
            noreturn_if,
            fills,
            is_pure: entry.pure || entry.compares,
            compares: entry.compares,
            runs: entry.runs,
        })
    }

    /// Of a function without a body whose attributes say something: what they
    /// do not say, it keeps.
    pub fn of_attributes(function: &Function) -> Option<Arc<Model>> {
        if function.body.is_some() || !function.returns_new && function.ownership.is_empty() {
            return None;
        }
        let returns = function.returns_new || function.ownership.contains(&Ownership::Returns);
        let frees: Vec<u32> = function
            .ownership
            .iter()
            .filter_map(|said| match said {
                Ownership::Takes(index) => Some(*index),
                _ => None,
            })
            .collect();
        Some(Arc::new(Model {
            returns: returns.then_some(Place::New),
            out: Vec::new(),
            keeps: (0..16).filter(|index| !frees.contains(index)).collect(),
            takes: Vec::new(),
            clears: Vec::new(),
            cuts: None,
            frees,
            links: Vec::new(),
            buffer: None,
            realloc: None,
            kind: "memory".to_owned(),
            is_zeroed: false,
            fails: if returns { Fails::Null } else { Fails::Never },
            is_noreturn: function.is_noreturn,
            noreturn_if: Vec::new(),
            fills: Vec::new(),
            is_pure: false,
            compares: false,
            runs: None,
        }))
    }

    /// The summary of `function`, of which this is the model.
    pub fn summary(&self, function: &Function) -> Summary {
        let mut symbols = Symbols::default();
        let parameters: Vec<SymbolId> = (0..function.parameters.max(16))
            .map(|index| symbols.get(SymbolKey::Parameter(index)).expect("a parameter is not deep"))
            .collect();
        let origin =
            Origin { stack: Vec::new(), allocator: function.display.clone(), kind: self.kind.clone() };
        let mut maker = Maker { model: self, symbols, parameters, blocks: 0 };
        let cases = if self.is_noreturn { Vec::new() } else { maker.cases() };
        let origin = Arc::new(origin);
        let origins = std::iter::repeat_n(origin, maker.blocks).collect();
        let symbols = Arc::new(maker.symbols);
        let (compares, closes) = (self.compares, self.kind == DESCRIPTOR && !self.frees.is_empty());
        Summary {
            cases,
            symbols,
            writes_numbers: !self.is_pure,
            origins,
            closes,
            compares,
            runs: self.runs,
            takes_if: match self.fails {
                _ if self.takes.is_empty() => None,
                Fails::Never => None,
                Fails::Null => Some(Compare::Ne),
                Fails::Negative => Some(Compare::Ge),
                Fails::Nonzero => Some(Compare::Eq),
            },
            ..Summary::default()
        }
    }
}

/// The kind of what is known by a small number.
pub const DESCRIPTOR: &str = "descriptor";

struct Maker<'a> {
    model: &'a Model,
    symbols: Symbols,
    parameters: Vec<SymbolId>,
    blocks: usize,
}

impl Maker<'_> {
    fn cases(&mut self) -> Vec<ExitCase> {
        let model = self.model;
        let mut cases = match (model.realloc, model.buffer, model.cuts) {
            (Some(argument), ..) => self.realloc(argument),
            (_, Some(argument), _) => self.buffer(argument),
            (.., Some(argument)) => self.cuts(argument),
            _ => self.plain(),
        };
        let cleared: Vec<SymbolId> = model.clears.iter().filter_map(|&member| self.content(member)).collect();
        for case in &mut cases {
            case.freed.extend(model.frees.iter().filter_map(|&index| self.parameters.get(index as usize)));
            case.freed.extend(&cleared);
            case.escaped.extend(model.keeps.iter().filter_map(|&index| self.parameters.get(index as usize)));
            for &[from, to] in &model.links {
                let (from, to) = (self.parameters[from as usize], self.parameters[to as usize]);
                let (base, value) = (Base::Symbol(to), Value::symbol(from));
                case.writes.push(Write { base, offset: Offset::Any, value, bytes: 8 });
            }
            for &(index, fact) in &model.noreturn_if {
                case.facts.push((self.parameters[index as usize], fact));
            }
        }
        for &(to, bytes) in &model.fills {
            let [to, bytes] = [to, bytes].map(|index| self.parameters[index as usize]);
            let mut measuring = cases.clone();
            cases.iter_mut().for_each(|case| case.facts.push((to, Fact::NONZERO)));
            for case in &mut measuring {
                case.facts.extend([(to, Fact::exactly(0)), (bytes, Fact::exactly(0))]);
            }
            cases.append(&mut measuring);
        }
        cases
    }

    /// Success, and failure where it can be told from it.
    fn plain(&mut self) -> Vec<ExitCase> {
        let model = self.model;
        let makes = model.out.iter().any(|(_, place)| matches!(place, Place::New | Place::Table));
        let result_new = model.returns == Some(Place::New);
        if result_new && model.fails == Fails::Null && model.out.is_empty() && model.takes.is_empty() {
            let mut case = ExitCase::returning(Value::Top);
            case.result = self.new_block(&mut case, true);
            return vec![case];
        }
        let (succeeds, fails) = match model.fails {
            Fails::Never => (Fact::ANY, None),
            Fails::Null => (Fact::NONZERO, Some(Fact::exactly(0))),
            Fails::Negative => (Fact::NOT_NEGATIVE, Some(Fact::exactly(-1))),
            Fails::Nonzero => (Fact::exactly(0), Some(Fact::NONZERO)),
        };
        let mut cases = Vec::new();
        let mut case = ExitCase::returning(Value::Top);
        case.result = self.result(&mut case, succeeds);
        self.outputs(&mut case);
        case.escaped.extend(model.takes.iter().filter_map(|&index| self.parameters.get(index as usize)));
        cases.append(&mut self.with_realloc_outputs(case));
        let returns_argument = matches!(model.returns, Some(Place::Argument(_)));
        let takes = !model.takes.is_empty();
        if let Some(fact) = fails.filter(|_| makes || takes || result_new || returns_argument) {
            let mut case = ExitCase::returning(Value::Top);
            case.result = self.unknown(&mut case, fact);
            cases.push(case);
        }
        cases
    }

    /// `*argument` is a new block if it was null, else what it was.
    fn with_realloc_outputs(&mut self, case: ExitCase) -> Vec<ExitCase> {
        let output = self.model.out.iter().find(|(_, place)| *place == Place::Realloc);
        let Some(&(member, _)) = output else { return vec![case] };
        let Some(content) = self.content(member) else { return vec![case] };
        let (mut kept, mut made) = (case.clone(), case);
        kept.facts.push((content, Fact::NONZERO));
        made.facts.push((content, Fact::exactly(0)));
        let value = self.new_block(&mut made, true);
        made.writes.extend(self.write(member, value));
        vec![kept, made]
    }

    /// The text that `*argument` holds is the result; what is left of it is
    /// nothing, or further on in the same block.
    fn cuts(&mut self, argument: u32) -> Vec<ExitCase> {
        let member = (argument, 0);
        let Some(content) = self.content(member) else { return Vec::new() };
        let mut none = ExitCase::returning(Value::NULL);
        none.facts.push((content, Fact::exactly(0)));
        let rests = [Value::NULL, Value::Sum(Base::Symbol(content), Offset::Any)];
        let some = rests.into_iter().map(|rest| {
            let mut case = ExitCase::returning(Value::symbol(content));
            case.facts.push((content, Fact::NONZERO));
            case.writes.extend(self.write(member, rest));
            case
        });
        [none].into_iter().chain(some).collect()
    }

    fn content(&mut self, (argument, at): Member) -> Option<SymbolId> {
        let base = Base::Symbol(*self.parameters.get(argument as usize)?);
        self.symbols.get(SymbolKey::Content(base, Offset::At(at)))
    }

    fn write(&self, (argument, at): Member, value: Value) -> Option<Write> {
        let base = Base::Symbol(*self.parameters.get(argument as usize)?);
        let bytes = match value {
            Value::Int(1) => 1,
            _ if self.model.kind == DESCRIPTOR => 4,
            _ => 8,
        };
        Some(Write { base, offset: Offset::At(at), value, bytes })
    }

    fn result(&mut self, case: &mut ExitCase, fact: Fact) -> Value {
        match self.model.returns {
            Some(Place::New) => self.new_block(case, false),
            Some(Place::Table) => self.table(case),
            Some(Place::Argument(index)) => Value::symbol(self.parameters[index as usize]),
            Some(Place::Within(index)) => {
                let inside = Value::Sum(Base::Symbol(self.parameters[index as usize]), Offset::Any);
                Value::one_of([Value::NULL, inside]).unwrap_or(Value::Top)
            }
            Some(Place::NonNull) => self.unknown(case, Fact::ADDRESS),
            Some(Place::Positive) => self.unknown(case, Fact::POSITIVE),
            Some(Place::Count) => self.unknown(case, Fact::NOT_NEGATIVE),
            Some(Place::Length) => self.unknown(case, Fact::at_least(-1)),
            Some(Place::Null) => Value::NULL,
            Some(Place::Borrowed | Place::Realloc | Place::Set) | None => self.unknown(case, fact),
        }
    }

    fn outputs(&mut self, case: &mut ExitCase) {
        for &(member, place) in &self.model.out {
            let value = match place {
                Place::New => self.new_block(case, false),
                Place::Table => self.table(case),
                Place::Null => Value::NULL,
                Place::Argument(index) => Value::symbol(self.parameters[index as usize]),
                Place::Within(index) => {
                    Value::Sum(Base::Symbol(self.parameters[index as usize]), Offset::Any)
                }
                Place::Borrowed | Place::NonNull | Place::Positive | Place::Count | Place::Length => {
                    self.unknown(case, Fact::ANY)
                }
                Place::Set => Value::Int(1),
                Place::Realloc => continue,
            };
            case.writes.extend(self.write(member, value));
        }
    }

    /// The old block, larger; nothing, with the old one as it was; or a new
    /// one if there was none. The block keeps its identity, and what it holds.
    fn realloc(&mut self, argument: u32) -> Vec<ExitCase> {
        let old = self.parameters[argument as usize];
        let mut grown = ExitCase::returning(Value::symbol(old));
        grown.facts.push((old, Fact::NONZERO));
        let mut failed = ExitCase::returning(Value::NULL);
        failed.facts.push((old, Fact::NONZERO));
        failed.refused.push(old);
        // Nothing is refused to who asks for nothing: the block is freed then.
        let others = self.parameters.iter().filter(|id| **id != old);
        failed.facts.extend(others.map(|&id| (id, Fact::NONZERO)));
        let mut made = ExitCase::returning(Value::Top);
        made.facts.push((old, Fact::exactly(0)));
        made.result = self.new_block(&mut made, self.model.fails == Fails::Null);
        if self.model.fails == Fails::Never { vec![grown, made] } else { vec![grown, failed, made] }
    }

    fn buffer(&mut self, argument: u32) -> Vec<ExitCase> {
        let given = self.parameters[argument as usize];
        let result = Value::one_of([Value::NULL, Value::symbol(given)]).unwrap_or(Value::Top);
        let mut used = ExitCase::returning(result);
        used.facts.push((given, Fact::NONZERO));
        let mut made = ExitCase::returning(Value::Top);
        made.facts.push((given, Fact::exactly(0)));
        made.result = self.new_block(&mut made, self.model.fails == Fails::Null);
        vec![used, made]
    }

    fn new_block(&mut self, case: &mut ExitCase, is_nullable: bool) -> Value {
        let block = HeapId::recent(self.blocks);
        self.blocks += 1;
        case.blocks.push((block, Block { is_nullable }));
        if self.model.is_zeroed {
            case.zeroed.push(Base::Heap(block));
        }
        Value::address(Base::Heap(block))
    }

    /// A block in which there are others, nobody knows where.
    fn table(&mut self, case: &mut ExitCase) -> Value {
        let (table, value) = (self.new_block(case, false), self.new_block(case, false));
        let write = |(base, _)| Write { base, offset: Offset::Any, value: value.clone(), bytes: 8 };
        case.writes.extend(table.bases().map(write));
        table
    }

    fn unknown(&mut self, case: &mut ExitCase, fact: Fact) -> Value {
        let number = self.symbols.len() as u32;
        let Some(id) = self.symbols.get(SymbolKey::Result(ValueId(0), number)) else { return Value::Top };
        if fact != Fact::ANY {
            case.facts.push((id, fact));
        }
        Value::symbol(id)
    }
}

const MEMBER: &str = "an argument's number, or one and a number of bytes (N+BYTES)";

fn member_named(text: &str) -> Option<Member> {
    let (argument, at) = text.split_once('+').unwrap_or((text, "0"));
    Some((argument.parse().ok()?, at.parse().ok()?))
}

impl Place {
    fn named(text: &str) -> Option<Place> {
        let numbered = |prefix: &str| text.strip_prefix(prefix)?.parse().ok();
        Some(match text.split(':').next()? {
            "new" => Place::New,
            "table" => Place::Table,
            "borrowed" => Place::Borrowed,
            "nonnull" => Place::NonNull,
            "positive" => Place::Positive,
            "count" => Place::Count,
            "length" => Place::Length,
            "null" => Place::Null,
            "realloc" => Place::Realloc,
            "set" => Place::Set,
            _ => match (numbered("arg"), numbered("within")) {
                (Some(index), _) => Place::Argument(index),
                (None, Some(index)) => Place::Within(index),
                (None, None) => return None,
            },
        })
    }
}
