//! Where a procedure changes or releases what came in: so that a block that a
//! call loses has the place inside of the call, in words of the code there.

use std::sync::Arc;

use leakscope_ir::{FuncId, Spot};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::summary::ExitCase;
use crate::value::{Base, Offset, SymbolId};

/// Calls from where it is done outwards that are kept.
const MAX_STACK: usize = 4;

/// What is done to memory of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum What {
    Written(Base, Offset),
    Freed(SymbolId),
}

/// Where it is done, innermost first, and what the code there calls the place
/// that is written to, or the pointer to what is released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    pub stack: Vec<(FuncId, Spot)>,
    pub name: Option<Arc<str>>,
}

/// What one procedure does; nothing is said of what it does in several places.
#[derive(Default)]
pub struct Deeds(FxHashMap<What, Option<Arc<Deed>>>);

impl Deeds {
    /// Whether nothing is known of it yet. Done at another place, it has none.
    pub fn is_new(&mut self, what: What, at: (FuncId, Spot)) -> bool {
        let known = self.0.get_mut(&what);
        let is_new = known.is_none();
        if let Some(known) = known {
            known.take_if(|known| known.stack.last() != Some(&at));
        }
        is_new
    }

    pub fn knows(&self, what: What) -> bool {
        self.0.contains_key(&what)
    }

    /// Nothing is said of it.
    pub fn leave_out(&mut self, what: What) {
        self.0.insert(what, None);
    }

    pub fn note(&mut self, what: What, deed: Deed) {
        self.0.insert(what, Some(Arc::new(deed)));
    }

    /// Those that cases tell of, in their order.
    pub fn of(&self, cases: &[ExitCase]) -> Vec<(What, Arc<Deed>)> {
        let mut told: Vec<(What, Arc<Deed>)> = Vec::new();
        for case in cases {
            let written = case.writes.iter().map(|write| What::Written(write.base, write.offset));
            for what in written.chain(case.freed.iter().map(|id| What::Freed(*id))) {
                if let Some(Some(deed)) = self.0.get(&what)
                    && !told.iter().any(|(known, _)| *known == what)
                {
                    told.push((what, deed.clone()));
                }
            }
        }
        told
    }
}

impl Deed {
    /// The same, seen from who calls it.
    pub fn called_at(&self, at: (FuncId, Spot)) -> Deed {
        let inner = self.stack.iter().take(MAX_STACK - 1).copied();
        Deed { stack: inner.chain([at]).collect(), name: self.name.clone() }
    }
}
