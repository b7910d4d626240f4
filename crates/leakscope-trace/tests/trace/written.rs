//! Record files as a runtime would write them.

use std::fs;
use std::path::Path;

use leakscope_trace::{Outcome, analyse, read_folder};
use leakscope_wire as wire;
use zerocopy::{Immutable, IntoBytes};

/// One record, section by section.
pub struct Written {
    header: wire::Header,
    sections: Vec<u8>,
}

impl Written {
    pub fn new(pid: u32, sequence: u32, reason: wire::Reason) -> Written {
        let header = wire::Header {
            magic: wire::MAGIC,
            version: wire::VERSION,
            reason: reason as u32,
            status: 0,
            pid,
            parent: 1,
            sequence,
            time: 1_700_000_000,
            started: 0,
        };
        Written { header, sections: Vec::new() }
    }

    pub fn section(mut self, kind: wire::SectionKind, payload: &[u8]) -> Written {
        let header = wire::Section { kind, reserved: 0, bytes: payload.len() as u64 };
        self.sections.extend_from_slice(header.as_bytes());
        self.sections.extend_from_slice(payload);
        self
    }

    pub fn all<T: IntoBytes + Immutable>(self, kind: wire::SectionKind, values: &[T]) -> Written {
        self.section(kind, values.as_bytes())
    }

    /// Modules as path, addresses and generations; the file's addresses start
    /// at 0.
    pub fn modules(self, modules: &[(&str, std::ops::Range<u64>, std::ops::RangeInclusive<u32>)]) -> Written {
        let mut payload = Vec::new();
        for (path, addresses, generations) in modules {
            let module = wire::Module {
                bias: addresses.start,
                start: addresses.start,
                end: addresses.end,
                first_generation: *generations.start(),
                last_generation: *generations.end(),
                path_bytes: path.len() as u32,
                id_bytes: 0,
            };
            payload.extend_from_slice(module.as_bytes());
            payload.extend_from_slice(path.as_bytes());
            payload.resize(payload.len().next_multiple_of(8), 0);
        }
        self.section(wire::SectionKind::MODULES, &payload)
    }

    /// Stacks as id, generation and return addresses.
    pub fn stacks(self, stacks: &[(u32, u32, &[u64])]) -> Written {
        let plain =
            |&(id, generation, addresses): &(u32, u32, &[u64])| (id, generation, 0, addresses.to_vec());
        self.stacks_with_sites(&stacks.iter().map(plain).collect::<Vec<_>>())
    }

    /// Stacks as id, generation, site and return addresses.
    pub fn stacks_with_sites(self, stacks: &[(u32, u32, u32, Vec<u64>)]) -> Written {
        let mut payload = Vec::new();
        for (id, generation, site, addresses) in stacks {
            let stack =
                wire::Stack { id: *id, generation: *generation, frames: addresses.len() as u32, site: *site };
            payload.extend_from_slice(stack.as_bytes());
            payload.extend_from_slice(addresses.as_bytes());
        }
        self.section(wire::SectionKind::STACKS, &payload)
    }

    /// Lost blocks as bytes and stack.
    pub fn lost(self, blocks: &[(u64, u32)]) -> Written {
        let block = |&(bytes, stack)| wire::LostBlock { address: 0x1000, bytes, stack, injected: 0 };
        let blocks: Vec<wire::LostBlock> = blocks.iter().map(block).collect();
        self.all(wire::SectionKind::LOST, &blocks)
    }

    pub fn edges(self, edges: &[(u32, u32)]) -> Written {
        let edges: Vec<wire::Edge> = edges.iter().map(|&(from, to)| wire::Edge { from, to }).collect();
        self.all(wire::SectionKind::EDGES, &edges)
    }

    /// Reachable blocks as blocks, bytes and stack.
    pub fn reachable(self, totals: &[(u64, u64, u32)]) -> Written {
        let total = |&(blocks, bytes, stack)| wire::Reachable { blocks, bytes, stack, last_used: 0 };
        let totals: Vec<wire::Reachable> = totals.iter().map(total).collect();
        self.all(wire::SectionKind::REACHABLE, &totals)
    }

    /// Sites as cause, line and variable.
    pub fn sites(self, sites: &[(wire::Cause, u32, &str)]) -> Written {
        let mut payload = Vec::new();
        for &(cause, line, variable) in sites {
            let variable_bytes = variable.len() as u32;
            let site = wire::Site { line, variable_bytes, ..wire::Site::of(cause) };
            payload.extend_from_slice(site.as_bytes());
            payload.extend_from_slice(variable.as_bytes());
            payload.resize(payload.len().next_multiple_of(8), 0);
        }
        self.section(wire::SectionKind::SITES, &payload)
    }

    pub fn bytes(self) -> Vec<u8> {
        let ended = self.section(wire::SectionKind::END, &[]);
        [ended.header.as_bytes(), &ended.sections].concat()
    }
}

/// What is found in records that lie in one folder.
pub fn analysed(records: Vec<Written>, program: &Path) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (index, record) in records.into_iter().enumerate() {
        fs::write(folder.path().join(format!("{index}.record")), record.bytes()).expect("written");
    }
    analyse(&read_folder(folder.path()).expect("whole records"), program)
}
