//! Summaries without what only the procedure itself needed: symbols and
//! allocation sites that no case mentions. What a change inside of a procedure
//! leaves as it was then looks as it did, and callers need not be looked at
//! again.

use std::sync::Arc;

use leakscope_ir::{FuncId, GlobalId, Spot, ValueId};
use rustc_hash::FxHashMap;

use crate::rename::{self, Rename};
use crate::summary::{ExitCase, Summary};
use crate::value::{HeapId, Offset, SymbolId, SymbolKey, Symbols};

pub fn compact(summary: Summary) -> Summary {
    let mut kept =
        Kept { of: &summary.symbols, ids: FxHashMap::default(), symbols: Vec::new(), sites: Vec::new() };
    let cases: Vec<ExitCase> = summary.cases.iter().map(|case| rename::exit_case(&mut kept, case)).collect();
    let freed_in_loops = summary.freed_in_loops.iter().map(|id| kept.symbol(*id)).collect();
    let freed_around = summary.freed_around.iter().map(|id| kept.symbol(*id)).collect();
    let deeds = rename::deeds(&mut kept, &summary.deeds);
    kept.keep_elements();
    let Kept { symbols, sites, .. } = kept;
    Summary {
        cases,
        freed_in_loops,
        freed_around,
        deeds,
        symbols: Arc::new(Symbols::of(summary.symbols.max_depth, symbols.into_iter())),
        origins: sites.into_iter().map(|site| summary.origins[site].clone()).collect(),
        ..summary
    }
}

/// What is mentioned, in the order in which it comes up.
struct Kept<'s> {
    of: &'s Symbols,
    ids: FxHashMap<SymbolId, SymbolId>,
    symbols: Vec<SymbolKey>,
    sites: Vec<usize>,
}

impl Kept<'_> {
    /// That elements of an array were looked at is told by their symbol alone.
    fn keep_elements(&mut self) {
        for id in self.of.all() {
            if matches!(self.of.key(id), SymbolKey::Content(_, Offset::Any)) && self.of.is_input(id) {
                self.symbol(id);
            }
        }
    }
}

impl Rename for Kept<'_> {
    fn function(&mut self, id: FuncId) -> FuncId {
        id
    }

    fn global(&mut self, id: GlobalId) -> GlobalId {
        id
    }

    fn place(&mut self, function: FuncId, at: Spot) -> (FuncId, Spot) {
        (function, at)
    }

    fn symbol(&mut self, id: SymbolId) -> SymbolId {
        if let Some(known) = self.ids.get(&id) {
            return *known;
        }
        let of = self.of;
        let key = rename::symbol(self, of.key(id));
        let new = SymbolId(self.symbols.len() as u32);
        // Where it came from does not matter to others.
        let is_unnamed = matches!(key, SymbolKey::Result(..) | SymbolKey::Joined(..));
        self.symbols.push(if is_unnamed { SymbolKey::Result(ValueId(new.0), 0) } else { key });
        self.ids.insert(id, new);
        new
    }

    fn block(&mut self, id: HeapId) -> HeapId {
        let site = self.sites.iter().position(|site| *site == id.site()).unwrap_or_else(|| {
            self.sites.push(id.site());
            self.sites.len() - 1
        });
        if id.is_older() { HeapId::recent(site).older() } else { HeapId::recent(site) }
    }
}
