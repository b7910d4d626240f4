//! Procedural summaries: the exit cases of a procedure, each with its guard.
//!
//! SPARROW's eight categories (table 3) are all here: blocks in `result` and
//! `writes` are Alloc2Ret and Alloc2Arg, `freed` is Arg2Free, `escaped` and
//! writes to globals are Arg2Glob, the other writes and results Arg2Arg,
//! Arg2Ret, Glob2Arg and Glob2Ret. An anchor is a symbol: its key is the access
//! path.

use std::sync::Arc;

use leakscope_ir::{Compare, FuncId, GlobalId, Spot};
use serde::{Deserialize, Serialize};

use crate::case::Block;
use crate::deeds::{Deed, What};
use crate::fact::Fact;
use crate::scope::Origin;
use crate::value::{Base, HeapId, Offset, SymbolId, SymbolKey, Symbols, Value};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub cases: Vec<ExitCase>,
    pub symbols: Arc<Symbols>,
    /// It calls itself: what it releases a part of, it releases as a whole.
    pub is_recursive: bool,
    /// It may write numbers through its arguments that no case tells of.
    pub writes_numbers: bool,
    /// It closes descriptors.
    pub closes: bool,
    /// It returns a number that depends on its first two arguments alone.
    pub compares: bool,
    /// Of arguments, a function that runs, and what it is called with.
    pub runs: Option<[u32; 2]>,
    /// How the result compares with 0 where it has taken what it takes.
    pub takes_if: Option<Compare>,
    /// What it releases in loops, which are taken to run at least once.
    pub freed_in_loops: Vec<SymbolId>,
    /// What it releases by another place than the one that it got: what that is a
    /// member of.
    pub freed_around: Vec<SymbolId>,
    /// Of the blocks, by site.
    pub origins: Vec<Arc<Origin>>,
    /// Where it does what its cases tell of.
    pub deeds: Vec<(What, Arc<Deed>)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExitCase {
    pub exit: Exit,
    /// What must hold of the input, and what is known of results.
    pub facts: Vec<(SymbolId, Fact)>,
    pub result: Value,
    /// The result is not null, though each of the values that it may be can be.
    pub has_result: bool,
    pub writes: Vec<Write>,
    pub freed: Vec<SymbolId>,
    pub escaped: Vec<SymbolId>,
    /// What came in and could not be made larger: it is as it was, and the
    /// procedure that lost it knows that it did.
    pub refused: Vec<SymbolId>,
    /// Elements of containers, of which one went.
    pub removed: Vec<SymbolId>,
    /// New blocks that the caller can get at.
    pub blocks: Vec<(HeapId, Block)>,
    pub zeroed: Vec<Base>,
    pub path: Arc<[Step]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    Return,
    Throw,
}

/// Memory that another sees holds something else than before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Write {
    pub base: Base,
    pub offset: Offset,
    pub value: Value,
    pub bytes: u32,
}

/// A branch on the way to an exit or a leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub function: FuncId,
    pub at: Spot,
    pub ordinal: u32,
    pub is_taken: bool,
}

impl Summary {
    /// How much its cases tell, as a measure of the work with it.
    pub fn size(&self) -> usize {
        let sizes = self.cases.iter().map(|case| {
            case.facts.len() + case.writes.len() + case.freed.len() + case.escaped.len() + case.blocks.len()
        });
        sizes.sum()
    }

    /// Globals of which it knows what they held before.
    pub fn globals_read(&self) -> impl Iterator<Item = GlobalId> {
        self.symbols.all().filter_map(|id| match self.symbols.key(id) {
            SymbolKey::Content(Base::Global(global), _) => Some(*global),
            _ => None,
        })
    }

    /// Pointers of the program that hold new blocks afterwards.
    pub fn globals_written(&self) -> impl Iterator<Item = GlobalId> {
        self.cases.iter().flat_map(|case| &case.writes).filter_map(|write| match write.base {
            Base::Global(global) if write.offset == Offset::At(0) && write.value.has_heap() => Some(global),
            _ => None,
        })
    }

    /// Where it does something, if that is one place.
    pub fn deed(&self, what: What) -> Option<&Arc<Deed>> {
        self.deeds.iter().find(|(known, _)| *known == what).map(|(_, deed)| deed)
    }

    /// Numbers that a recursion counts stand for all that it could count
    /// further: of what comes in, only the sign is kept.
    pub fn widen_guards(&mut self) {
        for case in &mut self.cases {
            for (id, fact) in &mut case.facts {
                if self.symbols.is_input(*id) && fact.number().is_none() {
                    fact.low = if fact.low > 0 { 1 } else { i64::MIN };
                    fact.high = if fact.high < 0 { -1 } else { i64::MAX };
                }
            }
        }
    }
}

impl ExitCase {
    /// What it knows of a symbol.
    pub fn fact(&self, id: SymbolId) -> Fact {
        self.facts.iter().find(|(known, _)| *known == id).map_or(Fact::ANY, |(_, fact)| *fact)
    }

    pub fn returning(result: Value) -> ExitCase {
        ExitCase {
            exit: Exit::Return,
            facts: Vec::new(),
            result,
            has_result: false,
            writes: Vec::new(),
            freed: Vec::new(),
            escaped: Vec::new(),
            refused: Vec::new(),
            removed: Vec::new(),
            blocks: Vec::new(),
            zeroed: Vec::new(),
            path: Arc::new([]),
        }
    }
}
