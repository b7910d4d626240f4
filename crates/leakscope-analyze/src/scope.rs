//! What all cases of one procedure share while it is analysed.

use std::collections::BTreeSet;
use std::sync::Arc;

use leakscope_ir::{FuncId, Spot, ValueId};
use rustc_hash::FxHashMap;

use crate::value::{HeapId, Symbols};
use crate::world::World;

pub struct Scope<'a> {
    pub world: &'a World<'a>,
    pub symbols: Symbols,
    pub sites: Sites,
    /// Sites whose blocks are freed in a loop that runs now.
    pub freed_in_loops: BTreeSet<usize>,
    pub is_in_loop: bool,
}

/// Where blocks come from, in this procedure or in those that it calls.
#[derive(Default)]
pub struct Sites {
    pub origins: Vec<Arc<Origin>>,
    ids: FxHashMap<(ValueId, u32), usize>,
}

/// How a block came to be.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin {
    /// Calls that led to the allocation, innermost first.
    pub stack: Vec<(FuncId, Spot)>,
    /// The function that allocated, as `strdup`.
    pub allocator: String,
    /// `memory`, `file`, ….
    pub kind: String,
}

impl<'a> Scope<'a> {
    pub fn new(world: &'a World<'a>) -> Scope<'a> {
        Scope {
            world,
            symbols: Symbols::default(),
            sites: Sites::default(),
            freed_in_loops: BTreeSet::new(),
            is_in_loop: false,
        }
    }

    pub fn note_free(&mut self, block: HeapId) {
        if self.is_in_loop {
            self.freed_in_loops.insert(block.site());
        }
    }
}

impl Sites {
    /// The site of the `number`th block that an instruction brings.
    pub fn get(&mut self, at: ValueId, number: u32, origin: impl FnOnce() -> Arc<Origin>) -> usize {
        let origins = &mut self.origins;
        *self.ids.entry((at, number)).or_insert_with(|| {
            origins.push(origin());
            origins.len() - 1
        })
    }
}
