//! Where the modules of a process were: from addresses in memory to those of their files.

use crate::record::{Module, Record};
use crate::symbols::{ModuleId, Symboliser};

/// Where the modules of one process were, by start address.
pub struct AddressSpace {
    spans: Vec<Span>,
}

struct Span {
    start: u64,
    end: u64,
    /// The furthest end of this and all spans before it: modules that are
    /// there at different times may overlap.
    reach: u64,
    first_generation: u32,
    last_generation: u32,
    bias: u64,
    module: ModuleId,
}

impl AddressSpace {
    pub fn new(record: &Record, symboliser: &mut Symboliser) -> AddressSpace {
        // The loader lists the executable first.
        if let Some(executable) = record.modules.first() {
            symboliser.add_program(&executable.path);
        }
        let span = |Module { at: module, path, build_id }: &Module| Span {
            start: module.start,
            end: module.end,
            reach: 0,
            first_generation: module.first_generation,
            last_generation: module.last_generation,
            bias: module.bias,
            module: symboliser.module(path, build_id),
        };
        let mut spans: Vec<Span> = record.modules.iter().map(span).collect();
        spans.sort_by_key(|span| span.start);
        let mut reach = 0;
        for span in &mut spans {
            reach = span.end.max(reach);
            span.reach = reach;
        }
        AddressSpace { spans }
    }

    /// The module at `address` in `generation`, and the address in its file.
    pub fn find(&self, generation: u32, address: u64) -> Option<(ModuleId, u64)> {
        let before = self.spans.partition_point(|span| span.start <= address);
        self.spans[..before]
            .iter()
            .rev()
            .take_while(|span| address < span.reach)
            .find(|span| {
                address < span.end && (span.first_generation..=span.last_generation).contains(&generation)
            })
            .map(|span| (span.module, address.wrapping_sub(span.bias)))
    }
}
