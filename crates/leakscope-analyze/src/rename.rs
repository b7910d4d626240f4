//! Summaries and leaks with other ids for functions, globals and files, as they
//! are when they are kept from one run to the next.

use std::sync::Arc;

use leakscope_ir::{FuncId, GlobalId, Spot};

use crate::deeds::{Deed, What};
use crate::leaks::Leak;
use crate::scope::Origin;
use crate::summary::{ExitCase, Step, Summary, Write};
use crate::value::{Base, HeapId, SymbolId, SymbolKey, Value};

pub trait Rename {
    fn function(&mut self, id: FuncId) -> FuncId;
    fn global(&mut self, id: GlobalId) -> GlobalId;
    /// A place in a function.
    fn place(&mut self, function: FuncId, at: Spot) -> (FuncId, Spot);

    fn symbol(&mut self, id: SymbolId) -> SymbolId {
        id
    }

    fn block(&mut self, id: HeapId) -> HeapId {
        id
    }
}

pub fn summary(with: &mut dyn Rename, summary: &Summary) -> Summary {
    Summary {
        cases: summary.cases.iter().map(|case| exit_case(with, case)).collect(),
        symbols: Arc::new(summary.symbols.map(|key| symbol(with, key))),
        origins: summary.origins.iter().map(|known| Arc::new(origin(with, known))).collect(),
        freed_in_loops: symbols(with, &summary.freed_in_loops),
        freed_around: symbols(with, &summary.freed_around),
        deeds: deeds(with, &summary.deeds),
        ..*summary
    }
}

pub fn deeds(with: &mut dyn Rename, deeds: &[(What, Arc<Deed>)]) -> Vec<(What, Arc<Deed>)> {
    let renamed = deeds.iter().map(|(what, deed)| {
        let what = match *what {
            What::Written(to, offset) => What::Written(base(with, to), offset),
            What::Freed(id) => What::Freed(with.symbol(id)),
        };
        (what, Arc::new(Deed { stack: stack(with, &deed.stack), name: deed.name.clone() }))
    });
    renamed.collect()
}

fn stack(with: &mut dyn Rename, stack: &[(FuncId, Spot)]) -> Vec<(FuncId, Spot)> {
    stack.iter().map(|&(function, at)| with.place(function, at)).collect()
}

fn symbols(with: &mut dyn Rename, ids: &[SymbolId]) -> Vec<SymbolId> {
    ids.iter().map(|id| with.symbol(*id)).collect()
}

pub fn leak(with: &mut dyn Rename, id: FuncId, leak: &Leak) -> Leak {
    let mut at = |spot: Spot| with.place(id, spot).1;
    let own = at(leak.at);
    let others =
        leak.others.iter().map(|(spot, cause, variable)| (at(*spot), *cause, variable.clone())).collect();
    let (freed, inner) = (stack(with, &leak.freed), stack(with, &leak.inner));
    let path = leak.path.iter().map(|known| step(with, known)).collect();
    let refused_by = leak.refused_by.map(|by| with.function(by));
    Leak { at: own, inner, others, freed, path, refused_by, variable: leak.variable.clone(), ..*leak }
}

pub fn origin(with: &mut dyn Rename, origin: &Origin) -> Origin {
    Origin { stack: stack(with, &origin.stack), ..origin.clone() }
}

pub fn exit_case(with: &mut dyn Rename, case: &ExitCase) -> ExitCase {
    let write = |write: &Write, with: &mut dyn Rename| Write {
        base: base(with, write.base),
        value: value(with, &write.value),
        ..*write
    };
    ExitCase {
        exit: case.exit,
        facts: case.facts.iter().map(|&(id, fact)| (with.symbol(id), fact)).collect(),
        result: value(with, &case.result),
        has_result: case.has_result,
        writes: case.writes.iter().map(|known| write(known, with)).collect(),
        freed: symbols(with, &case.freed),
        escaped: symbols(with, &case.escaped),
        refused: symbols(with, &case.refused),
        removed: symbols(with, &case.removed),
        blocks: case.blocks.iter().map(|&(id, block)| (with.block(id), block)).collect(),
        zeroed: case.zeroed.iter().map(|&known| base(with, known)).collect(),
        path: case.path.iter().map(|known| step(with, known)).collect(),
    }
}

fn step(with: &mut dyn Rename, step: &Step) -> Step {
    let (function, at) = with.place(step.function, step.at);
    Step { function, at, ..*step }
}

fn base(with: &mut dyn Rename, base: Base) -> Base {
    match base {
        Base::Global(id) => Base::Global(with.global(id)),
        Base::Function(id) => Base::Function(with.function(id)),
        Base::Symbol(id) => Base::Symbol(with.symbol(id)),
        Base::Heap(id) => Base::Heap(with.block(id)),
        Base::Local(_) => base,
    }
}

fn value(with: &mut dyn Rename, known: &Value) -> Value {
    match known {
        Value::Top | Value::Int(_) => known.clone(),
        Value::Sum(from, offset) => Value::Sum(base(with, *from), *offset),
        Value::OneOf(_) | Value::Record(_) => known.map(|part| value(with, part)),
    }
}

pub fn symbol(with: &mut dyn Rename, key: &SymbolKey) -> SymbolKey {
    match key {
        SymbolKey::Content(from, offset) => SymbolKey::Content(base(with, *from), *offset),
        SymbolKey::Elements(from, offset) => SymbolKey::Elements(base(with, *from), *offset),
        SymbolKey::Binary(op, left, right) => SymbolKey::Binary(*op, value(with, left), value(with, right)),
        SymbolKey::Compare(op, left, right) => SymbolKey::Compare(*op, value(with, left), value(with, right)),
        SymbolKey::Parameter(_) | SymbolKey::Result(..) | SymbolKey::Joined(..) => key.clone(),
    }
}
