//! Summaries for people: SPARROW's eight categories with their anchors (table
//! 3, section 4.2), as text and as a graph.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use leakscope_ir::{FuncId, Program, Type, TypeId};

use crate::names::field_at;
use crate::summary::{Summary, Write as Cell};
use crate::value::{Base, HeapId, Offset, SymbolId, SymbolKey, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Alloc2Ret,
    Alloc2Arg,
    Arg2Free,
    Arg2Glob,
    Arg2Arg,
    Arg2Ret,
    Glob2Arg,
    Glob2Ret,
}

/// What a procedure does, by category: anchors, or pairs of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    name: String,
    lines: BTreeSet<(Category, Vec<String>)>,
    cases: usize,
}

/// The categories of a procedure's summary.
pub fn describe(program: &Program, id: FuncId, summary: &Summary) -> Description {
    let mut writer = Writer { program, id, summary, lines: BTreeSet::new() };
    for index in 0..summary.cases.len() {
        writer.case(index);
    }
    Description {
        name: program.function(id).display.clone(),
        lines: writer.lines,
        cases: summary.cases.len(),
    }
}

/// A place with its type: `arg0*.next`.
#[derive(Clone)]
struct Anchor {
    text: String,
    ty: Option<TypeId>,
    root: Root,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Argument,
    Global,
    Other,
}

struct Writer<'a> {
    program: &'a Program,
    id: FuncId,
    summary: &'a Summary,
    lines: BTreeSet<(Category, Vec<String>)>,
}

impl Writer<'_> {
    fn case(&mut self, index: usize) {
        let case = &self.summary.cases[index];
        let result = Anchor {
            text: "ret".to_owned(),
            ty: self.program.function(self.id).types.first().copied().flatten(),
            root: Root::Other,
        };
        self.value(
            &case.result,
            &result,
            &case.writes,
            Category::Alloc2Ret,
            (Category::Arg2Ret, Category::Glob2Ret),
        );
        for write in &case.writes {
            match write.base {
                Base::Symbol(id) if self.symbol(id).is_some_and(|anchor| anchor.root == Root::Argument) => {
                    let Some(holder) = self.symbol(id) else { continue };
                    let place = self.member(&self.deref(&holder), write.offset);
                    let to = (Category::Arg2Arg, Category::Glob2Arg);
                    self.value(&write.value, &place, &case.writes, Category::Alloc2Arg, to);
                }
                Base::Global(_) | Base::Symbol(_) => self.globalised(&write.value),
                _ => {}
            }
        }
        for &id in &case.escaped {
            self.globalised(&Value::symbol(id));
        }
        for &id in &case.freed {
            if let Some(anchor) = self.symbol(id).filter(|anchor| anchor.root == Root::Argument) {
                self.lines.insert((Category::Arg2Free, vec![self.deref(&anchor).text]));
            }
        }
    }

    /// What a place outside holds afterwards.
    fn value(
        &mut self,
        value: &Value,
        place: &Anchor,
        writes: &[Cell],
        new: Category,
        (from_argument, from_global): (Category, Category),
    ) {
        let target = self.deref(place);
        for (base, _) in value.bases() {
            match base {
                Base::Heap(block) => self.blocks(block, &target, writes, new, &mut Vec::new()),
                Base::Global(_) => drop(self.lines.insert((from_global, vec![target.text.clone()]))),
                Base::Symbol(id) => match self.symbol(id) {
                    Some(anchor) if anchor.root == Root::Argument && self.is_pointer(&anchor) => {
                        let pair = vec![self.deref(&anchor).text, target.text.clone()];
                        self.lines.insert((from_argument, pair));
                    }
                    Some(anchor) if anchor.root == Root::Global && self.is_pointer(&anchor) => {
                        self.lines.insert((from_global, vec![target.text.clone()]));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    /// New blocks at an anchor, and those that they hold.
    fn blocks(&mut self, block: HeapId, at: &Anchor, writes: &[Cell], new: Category, seen: &mut Vec<HeapId>) {
        if seen.contains(&block) {
            return;
        }
        seen.push(block);
        self.lines.insert((new, vec![at.text.clone()]));
        for write in writes.iter().filter(|write| write.base == Base::Heap(block)) {
            for inner in write.value.heap_blocks() {
                let place = self.deref(&self.member(at, write.offset));
                self.blocks(inner, &place, writes, new, seen);
            }
        }
    }

    fn globalised(&mut self, value: &Value) {
        for (base, _) in value.bases() {
            if let Base::Symbol(id) = base
                && let Some(anchor) = self.symbol(id).filter(|anchor| anchor.root == Root::Argument)
                && self.is_pointer(&anchor)
            {
                self.lines.insert((Category::Arg2Glob, vec![self.deref(&anchor).text]));
            }
        }
    }

    /// A symbol as the place that holds it at the start.
    fn symbol(&self, id: SymbolId) -> Option<Anchor> {
        match self.summary.symbols.key(id) {
            SymbolKey::Parameter(index) => Some(Anchor {
                text: format!("arg{index}"),
                ty: self.program.function(self.id).types.get(*index as usize + 1).copied().flatten(),
                root: Root::Argument,
            }),
            SymbolKey::Content(Base::Symbol(outer), offset) => {
                let outer = self.symbol(*outer)?;
                Some(self.member(&self.deref(&outer), *offset))
            }
            SymbolKey::Content(Base::Global(global), offset) => {
                let global = self.program.global(*global);
                let whole = Anchor { text: global.display(), ty: global.ty, root: Root::Global };
                Some(self.member(&whole, *offset))
            }
            _ => None,
        }
    }

    fn is_pointer(&self, anchor: &Anchor) -> bool {
        match anchor.ty.map(|ty| &self.program.types[ty.0 as usize]) {
            Some(Type::Pointer(_)) | None => true,
            Some(_) => false,
        }
    }

    fn deref(&self, anchor: &Anchor) -> Anchor {
        let ty = match anchor.ty.map(|ty| &self.program.types[ty.0 as usize]) {
            Some(Type::Pointer(target)) => *target,
            _ => None,
        };
        Anchor { text: format!("{}*", anchor.text), ty, root: anchor.root }
    }

    fn member(&self, anchor: &Anchor, offset: Offset) -> Anchor {
        let mut anchor = anchor.clone();
        let Offset::At(mut at) = offset else {
            anchor.text.push_str("[]");
            if let Some(Type::Array(element, _)) = anchor.ty.map(|ty| &self.program.types[ty.0 as usize]) {
                anchor.ty = Some(*element);
            }
            return anchor;
        };
        while let Some(ty) = anchor.ty {
            match &self.program.types[ty.0 as usize] {
                Type::Record(fields) => {
                    let Some(field) = field_at(self.program, fields, at) else { break };
                    if !field.name.is_empty() {
                        let _ = write!(anchor.text, ".{}", field.name);
                    }
                    at -= field.offset;
                    anchor.ty = Some(field.ty);
                }
                Type::Array(element, bytes) if *bytes > 0 => {
                    let _ = write!(anchor.text, "[{}]", at / *bytes as i64);
                    at %= *bytes as i64;
                    anchor.ty = Some(*element);
                }
                _ => break,
            }
        }
        if at != 0 {
            let _ = write!(anchor.text, "+{at}");
        }
        anchor
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cases == 1 { "" } else { "s" };
        writeln!(f, "{}: {} case{plural}", self.name, self.cases)?;
        for (category, anchors) in &self.lines {
            writeln!(f, "  {category:?} {}", anchors.join(" "))?;
        }
        Ok(())
    }
}

impl Description {
    /// The graph of the paper's figures: new blocks have an exclamation mark,
    /// released ones a zero; what was there before is dotted.
    pub fn dot(&self) -> String {
        let mut nodes: BTreeMap<String, &str> = BTreeMap::new();
        let mut edges: BTreeMap<(String, String), (String, &str)> = BTreeMap::new();
        for (category, anchors) in &self.lines {
            let (mark, style) = match category {
                Category::Alloc2Ret | Category::Alloc2Arg => ("!", "solid"),
                Category::Arg2Free => ("0", "dotted"),
                _ => ("", "dotted"),
            };
            for anchor in anchors {
                add_path(anchor, style, &mut nodes, &mut edges);
            }
            if let (Some(last), false) = (anchors.last(), mark.is_empty()) {
                nodes.insert(last.clone(), mark);
            }
            let pair = match (&anchors[..], category) {
                ([from, to], _) => Some((to.clone(), from.clone())),
                ([from], Category::Arg2Glob) => Some(("global".to_owned(), from.clone())),
                ([to], Category::Glob2Arg | Category::Glob2Ret) => Some((to.clone(), "global".to_owned())),
                _ => None,
            };
            if let Some((from, to)) = pair {
                nodes.entry(from.clone()).or_insert("");
                nodes.entry(to.clone()).or_insert("");
                edges.insert((from, to), (String::new(), "solid"));
            }
        }
        let mut out = format!("digraph \"{}\" {{\n", self.name);
        for (node, mark) in nodes {
            let shape = if node.ends_with('*') { "circle" } else { "box" };
            let label = if shape == "circle" { mark } else { node.as_str() };
            let _ = writeln!(out, "  \"{node}\" [shape={shape}, label=\"{label}\"];");
        }
        for ((from, to), (label, style)) in edges {
            let _ = writeln!(out, "  \"{from}\" -> \"{to}\" [label=\"{label}\", style={style}];");
        }
        out + "}\n"
    }
}

/// The nodes and edges along an anchor, from its root.
fn add_path<'s>(
    anchor: &str,
    style: &'s str,
    nodes: &mut BTreeMap<String, &'s str>,
    edges: &mut BTreeMap<(String, String), (String, &'s str)>,
) {
    let ends: Vec<usize> = anchor.match_indices('*').map(|(at, _)| at + 1).collect();
    let root = anchor.split(['*', '.', '[']).next().unwrap_or(anchor).to_owned();
    nodes.entry(root.clone()).or_insert("");
    let mut before = root;
    for end in ends {
        let node = anchor[..end].to_owned();
        nodes.entry(node.clone()).or_insert("");
        let label = node[before.len()..node.len() - 1].trim_start_matches('.').to_owned();
        let label = if label.is_empty() { "*".to_owned() } else { label };
        edges.entry((before, node.clone())).or_insert((label, style));
        before = node;
    }
}
