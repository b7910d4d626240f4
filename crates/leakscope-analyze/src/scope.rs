//! What all cases of one procedure share while it is analysed.

use std::collections::BTreeSet;
use std::sync::Arc;

use leakscope_ir::{BlockId, FuncId, GlobalId, Spot, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::deeds::Deeds;
use crate::value::{Base, HeapId, SymbolId, SymbolKey, Symbols, Value};
use crate::world::World;

pub struct Scope<'a> {
    pub world: &'a World<'a>,
    pub symbols: Symbols,
    pub sites: Sites,
    /// Sites whose blocks are freed in loops, with the heads of those.
    pub freed_in_loops: BTreeSet<(usize, BlockId)>,
    /// The same of what came in.
    pub inputs_freed_in_loops: BTreeSet<SymbolId>,
    /// What came in as a member of something that is released.
    pub freed_around: BTreeSet<SymbolId>,
    /// Sites whose blocks are released, with the calls that do it.
    pub freed_at: BTreeSet<(usize, Spot)>,
    pub deeds: Deeds,
    /// Sites whose blocks held others when they were lost.
    pub holding: BTreeSet<usize>,
    /// Sites of blocks that are cut into pieces, of which a global has one:
    /// the others are handed out, and the block stays.
    pub pools: BTreeSet<usize>,
    /// What came in and is released in some case.
    pub ever_freed: BTreeSet<SymbolId>,
    /// Globals that a loop writes over unseen: what they held is its to see to.
    pub rewritten: FxHashSet<GlobalId>,
    /// Symbols whose parts have addresses: pointers, and no numbers.
    pub pointers: FxHashSet<SymbolId>,
    /// Heads of the loops around the block that runs now.
    pub loops: Vec<BlockId>,
}

/// Where blocks come from, in this procedure or in those that it calls.
#[derive(Default)]
pub struct Sites {
    pub origins: Vec<Arc<Origin>>,
    /// The instructions that bring them.
    pub at: Vec<ValueId>,
    /// Heads of the loops around them.
    loops: Vec<Vec<BlockId>>,
    ids: FxHashMap<(ValueId, u32), usize>,
}

/// How a block came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
            inputs_freed_in_loops: BTreeSet::new(),
            freed_around: BTreeSet::new(),
            freed_at: BTreeSet::new(),
            deeds: Deeds::default(),
            holding: BTreeSet::new(),
            pools: BTreeSet::new(),
            ever_freed: BTreeSet::new(),
            rewritten: FxHashSet::default(),
            pointers: FxHashSet::default(),
            loops: Vec::new(),
        }
    }

    pub fn note_free(&mut self, block: HeapId) {
        self.freed_in_loops.extend(self.loops.iter().map(|&head| (block.site(), head)));
    }

    /// What somebody else has from now on counts as freed.
    pub fn note_taken(&mut self, value: &Value) {
        value.heap_blocks().for_each(|block| self.note_free(block));
    }

    pub fn note_pointers(&mut self, value: &Value) {
        self.pointers.extend(value.bases().filter_map(|(base, _)| match base {
            Base::Symbol(id) => Some(id),
            _ => None,
        }));
    }

    /// Whether a place is in, or was found through, what nobody writes: no block
    /// of the program's is there.
    pub fn is_constant(&self, base: Base) -> bool {
        match base {
            Base::Global(global) => !self.world.is_written(global),
            Base::Symbol(id) => match self.symbols.key(id) {
                SymbolKey::Content(from, _) => self.is_constant(*from),
                _ => false,
            },
            _ => false,
        }
    }

    pub fn is_in_loop(&self) -> bool {
        !self.loops.is_empty()
    }

    /// Whether a block comes from the loop that runs now.
    pub fn is_made_in_loop(&self, block: HeapId) -> bool {
        self.loops.first().is_some_and(|head| self.sites.loops[block.site()].contains(head))
    }
}

impl Sites {
    /// The site of the `number`th block that an instruction brings.
    pub fn get(
        &mut self,
        at: ValueId,
        number: u32,
        loops: &[BlockId],
        origin: impl FnOnce() -> Arc<Origin>,
    ) -> usize {
        let (origins, places, around) = (&mut self.origins, &mut self.at, &mut self.loops);
        *self.ids.entry((at, number)).or_insert_with(|| {
            origins.push(origin());
            places.push(at);
            around.push(loops.to_vec());
            origins.len() - 1
        })
    }
}
