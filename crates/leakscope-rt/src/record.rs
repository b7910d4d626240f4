//! Writing down what is known: the record file of `leakscope-wire`.
//!
//! Where it goes is `sink`'s. A file gets its name when it is complete, so that a reader never takes
//! half of one for the whole.

use leakscope_wire as wire;
use zerocopy::{Immutable, IntoBytes};

use crate::details::{self, Told};
use crate::holders::Chain;
use crate::sink::Sink;
use crate::sites::{self, Sites};
use crate::sys;
use crate::text::Text;
use crate::{
    accesses, actions, activations, arena, depot, events, folder, history, inject, mode, modules, moments,
    rotation, sampling, scan, stamps, uses, walk,
};

mod sums;

use sums::{Idle, Mentioned, Reached};

const BUFFER: usize = 1 << 16;

/// Blocks of one allocation and last use of which is told what holds them.
const HOLDERS_EACH: u64 = 3;

/// What to say besides the blocks.
pub struct Occasion {
    pub reason: wire::Reason,
    pub status: i32,
    pub pid: u32,
    /// When the process began; 0 where that is not told.
    pub started: u64,
    pub sequence: u32,
    pub limits: u64,
    pub fault: Option<wire::Fault>,
}

impl Occasion {
    /// What names of this process's records begin with. Where programs are
    /// watched, another process may have had the same number, or have it in a
    /// container of its own.
    pub fn process(&self) -> Text<64> {
        let mut name = Text::new();
        name.push_number(u64::from(self.pid)).push(b"-");
        if self.started != 0 {
            name.push_number(self.started).push(b"-");
        }
        name
    }
}

/// Scans the heap, and writes a record. An error if no file for it could be
/// made.
pub fn write(occasion: &Occasion) -> Result<(), i32> {
    let mut name = Text::<4096>::new();
    name.push(folder::path()).push(b"/").push(occasion.process().as_bytes());
    name.push_number(u64::from(occasion.sequence)).push(b".partial");
    let Some(sink) = Sink::open(name.as_c_str()) else { return Err(folder::errno()) };
    let buffer = sys::allocate(BUFFER);
    let worth = !mode::samples() || rotation::writes_always() || occasion.fault.is_some();
    let mut writer = Writer { sink, buffer, used: 0, written: 0, failed: buffer == 0, worth };
    let done = writer.record(occasion) && writer.worth && writer.sink.finish();
    let in_file = matches!(writer.sink, Sink::File(_));
    writer.sink.close();
    let mut complete = Text::<4096>::new();
    complete.push(&name.as_bytes()[..name.as_bytes().len() - b"partial".len()]).push(b"record");
    // SAFETY: both are C strings.
    unsafe {
        if done && in_file {
            let named = libc::rename(name.as_c_str().as_ptr(), complete.as_c_str().as_ptr()) == 0;
            let error = folder::errno();
            rotation::make_room(folder::path(), occasion);
            return if named { Ok(()) } else { Err(error) };
        }
        if in_file && writer.failed && writer.worth && mode::samples() {
            leave_mark(&name, occasion);
        }
        libc::unlink(name.as_c_str().as_ptr());
    }
    Ok(())
}

/// Where a disk is full there is still room for a name: an empty file tells
/// who reads the folder that something was to be said. One for each process.
fn leave_mark(partial: &Text<4096>, occasion: &Occasion) {
    let mut mark = Text::<4096>::new();
    mark.push(folder::path()).push(b"/").push(occasion.process().as_bytes()).push(b"unwritten.record");
    // SAFETY: both are C strings.
    unsafe {
        if libc::truncate(partial.as_c_str().as_ptr(), 0) == 0 {
            libc::rename(partial.as_c_str().as_ptr(), mark.as_c_str().as_ptr());
        }
    }
}

struct Writer {
    sink: Sink,
    buffer: usize,
    used: usize,
    written: u64,
    failed: bool,
    /// There is something in it that somebody wants to know.
    worth: bool,
}

impl Writer {
    fn record(&mut self, occasion: &Occasion) -> bool {
        // SAFETY: a plain query.
        let parent = unsafe { libc::getppid() as u32 };
        let time = sys::nanoseconds() / 1_000_000_000;
        self.put(&wire::Header {
            magic: wire::MAGIC,
            version: wire::VERSION,
            reason: occasion.reason as u32,
            status: occasion.status,
            pid: occasion.pid,
            parent,
            sequence: occasion.sequence,
            time,
            started: occasion.started,
        });
        self.modules();
        if let Some(fault) = &occasion.fault {
            self.section(wire::SectionKind::FAULT, |writer| writer.put(fault));
        }
        let Some(mut mentioned) = Mentioned::new() else { return false };
        if let Some(fault) = &occasion.fault {
            for stack in [fault.stack, fault.allocated, fault.freed] {
                mentioned.use_stack(stack);
            }
        }
        if occasion.reason != wire::Reason::Fault {
            self.blocks(&mut mentioned, occasion.limits);
        }
        self.stacks(&mentioned);
        self.section(wire::SectionKind::END, |_| {});
        self.flush();
        !self.failed
    }

    fn modules(&mut self) {
        self.section(wire::SectionKind::MODULES, |writer| {
            for module in modules::all() {
                writer.put(&wire::Module {
                    bias: module.bias as u64,
                    start: module.start as u64,
                    end: module.end as u64,
                    first_generation: module.first_generation,
                    last_generation: module.last_generation,
                    path_bytes: module.path_bytes as u32,
                    id_bytes: module.id_bytes as u32,
                });
                writer.padded(&module.path[..module.path_bytes]);
                writer.padded(&module.id[..module.id_bytes]);
            }
        });
    }

    fn blocks(&mut self, mentioned: &mut Mentioned, limits: u64) {
        let Some(found) = scan::run() else {
            self.failed = true;
            return;
        };
        self.section(wire::SectionKind::TOTALS, |writer| {
            let limited = arena::limited_to() as u64;
            let has_uses = arena::is_followed() && uses::are_wanted();
            let limits = limits | if has_uses || mode::samples() { 0 } else { wire::limits::NO_USES };
            let limits = limits | if mode::samples() { wire::limits::NO_DEATHS } else { 0 };
            writer.put(&wire::Totals {
                live_blocks: found.live_blocks,
                live_bytes: found.live_bytes,
                limits: limits | if limited != 0 { wire::limits::ADDRESS_SPACE } else { 0 },
                heap_limit: limited,
            });
        });
        let mut lost_bytes = 0;
        self.section(wire::SectionKind::LOST, |writer| {
            scan::for_each_lost(|block| {
                let stack = block.stack();
                lost_bytes += block.size() as u64;
                mentioned.use_stack(stack);
                writer.put(&wire::LostBlock {
                    address: block.start as u64,
                    bytes: block.size() as u64,
                    stack,
                    injected: inject::is_injected(block.seat).into(),
                });
            });
        });
        actions::note_lost(lost_bytes);
        self.section(wire::SectionKind::EDGES, |writer| {
            scan::for_each_edge(|from, to| writer.put(&wire::Edge { from, to }));
        });
        if arena::is_followed() {
            self.section(wire::SectionKind::STAMPS, |writer| {
                scan::for_each_numbered(|block| {
                    let mut stamps = stamps::read(block);
                    if !arena::range().contains(&block.start) {
                        // Only pointers into the heap are.
                        stamps = wire::Stamps { last_used: wire::NOT_FOLLOWED, ..wire::Stamps::default() };
                    } else if scan::kept_by(block).is_some() {
                        // It is lost with its pool, whatever points to it.
                        stamps = wire::Stamps { last_used: stamps.last_used, ..wire::Stamps::default() };
                    }
                    stamps.stacks.iter().for_each(|&stack| mentioned.use_stack(stack));
                    mentioned.use_stack(stamps.last_used);
                    writer.put(&stamps);
                });
            });
        }
        if mode::samples() {
            self.accesses(mentioned, &found);
        }
        if moments::are_counted() {
            self.section(wire::SectionKind::MOMENTS, |writer| {
                scan::for_each_numbered(|block| writer.put(&moments::read(block.slot)));
            });
        }
        if details::are_kept() {
            self.details(mentioned);
        }
        let Some(mut reached) = Reached::new(found.live_blocks) else {
            self.failed = true;
            return;
        };
        self.section(wire::SectionKind::HOLDERS, |writer| {
            found.for_each_reached(|block, place| {
                let accessed = accesses::read(place.seat).and_then(|seen| seen.place);
                let last_used = accessed.unwrap_or_else(|| stamps::read(place).last_used);
                let stack = block.stack;
                mentioned.use_stack(stack);
                mentioned.use_stack(last_used);
                if reached.add(stack, last_used, place.size() as u64) <= HOLDERS_EACH {
                    let chain = Chain::to(&found, block);
                    writer.put(&wire::Holder { stack, last_used, ..chain.holder() });
                    chain.links().for_each(|link| writer.put(&link));
                }
            });
        });
        self.section(wire::SectionKind::FREES, |writer| {
            events::for_each_freed(|freed| {
                let events::Freed { blocks, allocated, freed } = freed;
                mentioned.use_stack(allocated);
                mentioned.use_stack(freed);
                writer.put(&wire::Freed { blocks, allocated, freed });
            });
        });
        self.section(wire::SectionKind::RETURNED, |writer| {
            events::for_each_returned(|stack, (order, shares), blocks| {
                mentioned.use_stack(stack);
                writer.put(&wire::Returned { blocks, stack, order, shares });
            });
        });
        self.section(wire::SectionKind::REACHABLE, |writer| {
            reached.for_each(|total| writer.put(total));
        });
    }

    /// How pointers to lost blocks came and went.
    fn details(&mut self, mentioned: &mut Mentioned) {
        /// More blocks say no more.
        const BLOCKS_MOST: u32 = 256;
        let (mut number, mut told) = (0, 0);
        self.section(wire::SectionKind::DETAILS, |writer| {
            scan::for_each_numbered(|block| {
                let own = number;
                number += 1;
                if told == BLOCKS_MOST {
                    return;
                }
                details::read(block, |piece| match piece {
                    Told::Numbers { lives, counts, deaths } => {
                        told += 1;
                        writer.put(&wire::Details { block: own, lives, counts, deaths });
                    }
                    Told::Life(life) => {
                        mentioned.use_stack(life.set_stack);
                        mentioned.use_stack(life.read_stack);
                        mentioned.use_stack(life.ended_stack);
                        writer.put(&life);
                    }
                    Told::Death(death) => {
                        mentioned.use_stack(death.stack);
                        writer.put(&death);
                    }
                    Told::Count(count) => {
                        mentioned.use_stack(count.stack);
                        writer.put(&count);
                    }
                });
            });
        });
        self.section(wire::SectionKind::HANDED_OVER, |writer| {
            details::for_each_handed_over(|handed| {
                mentioned.use_stack(handed.stack);
                mentioned.use_stack(handed.read_stack);
                writer.put(&handed);
            });
        });
        self.section(wire::SectionKind::ZEROED, |writer| {
            details::for_each_zeroed(|zeroed| {
                mentioned.use_stack(zeroed.stack);
                mentioned.use_stack(zeroed.counted);
                writer.put(&zeroed);
            });
        });
    }

    /// Last accesses of lost blocks, as for stamps, and of the others.
    fn accesses(&mut self, mentioned: &mut Mentioned, found: &scan::Scan) {
        let Some(mut idle) = Idle::new(found.live_blocks) else {
            self.failed = true;
            return;
        };
        self.section(wire::SectionKind::STAMPS, |writer| {
            scan::for_each_numbered(|block| {
                let last_used = accesses::read(block.seat).and_then(|seen| seen.place).unwrap_or(0);
                mentioned.use_stack(last_used);
                writer.put(&wire::Stamps { last_used, ..wire::Stamps::default() });
                writer.worth = true;
            });
        });
        found.for_each_reached(|reached, block| {
            let Some(seen) = accesses::read(block.seat) else { return };
            mentioned.use_stack(seen.place.unwrap_or(0));
            idle.add(reached.stack, block, seen);
            self.worth |= accesses::may_be_stale(seen);
        });
        self.section(wire::SectionKind::ACCESSES, |writer| idle.for_each(|total| writer.put(total)));
        self.section(wire::SectionKind::BURSTS, |writer| {
            idle.for_each(|total| {
                if let Some(burst) = history::read(total.last_used) {
                    burst.places.iter().for_each(|&place| mentioned.use_stack(place));
                    writer.put(&burst);
                }
            });
        });
        self.section(wire::SectionKind::SAMPLING, |writer| writer.put(&sampling::chosen()));
    }

    fn stacks(&mut self, mentioned: &Mentioned) {
        let Some(mut sites) = Sites::new(mentioned.used()) else {
            self.failed = true;
            return;
        };
        self.section(wire::SectionKind::SITES, |writer| {
            mentioned.for_each_used(|id| {
                let StackOf { what, generation, .. } = StackOf::read(id);
                if what.site != 0
                    && let (_, Some(descriptor)) = sites.number(what, generation)
                    && let Some(described) = sites::describe(what, descriptor)
                {
                    writer.site(&described);
                }
            });
        });
        self.section(wire::SectionKind::STACKS, |writer| {
            mentioned.for_each_used(|id| {
                let stack = StackOf::read(id);
                let frames = stack.frames();
                writer.put(&wire::Stack {
                    id,
                    generation: stack.generation,
                    frames: frames.len() as u32,
                    site: if stack.what.site != 0 { sites.number(stack.what, stack.generation).0 } else { 0 },
                });
                writer.bytes(frames.as_bytes());
            });
        });
    }

    fn site(&mut self, described: &sites::Described) {
        let mut bytes = 0;
        described.variable(|piece| bytes += piece.len());
        self.put(&wire::Site { variable_bytes: bytes as u32, ..described.site });
        described.variable(|piece| self.bytes(piece));
        self.bytes(&[0; 8][..bytes.next_multiple_of(8) - bytes]);
    }

    /// A section whose length is filled in when its content is written.
    fn section(&mut self, kind: wire::SectionKind, content: impl FnOnce(&mut Writer)) {
        let place = self.written;
        self.put(&wire::Section { kind, reserved: 0, bytes: 0 });
        let start = self.written;
        content(self);
        let bytes = self.written - start;
        if bytes > 0 {
            self.flush();
            let header = wire::Section { kind, reserved: 0, bytes };
            self.failed |= !self.sink.write_at(header.as_bytes(), place);
        }
    }

    /// Bytes, and zeros up to a multiple of eight.
    fn padded(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.bytes(&[0; 8][..bytes.len().next_multiple_of(8) - bytes.len()]);
    }

    fn put<T: IntoBytes + Immutable>(&mut self, value: &T) {
        self.bytes(value.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if self.used + bytes.len() > BUFFER {
            self.flush();
        }
        if self.failed || bytes.len() > BUFFER {
            self.failed = true;
            return;
        }
        // SAFETY: there is room, as checked above.
        unsafe {
            let place = (self.buffer + self.used) as *mut u8;
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        self.used += bytes.len();
        self.written += bytes.len() as u64;
    }

    fn flush(&mut self) {
        if self.used > 0 {
            // SAFETY: so many bytes of the buffer were written.
            let bytes = unsafe { core::slice::from_raw_parts(self.buffer as *const u8, self.used) };
            self.failed |= !self.sink.write_at(bytes, self.written - self.used as u64);
            self.used = 0;
        }
    }
}

/// A stack of the depot, as it goes into the record.
struct StackOf {
    frames: [u64; walk::DEPTH_MAX + 2],
    count: usize,
    generation: u32,
    what: events::What,
    /// Entries before the return addresses.
    inner: usize,
}

impl StackOf {
    fn read(id: u32) -> StackOf {
        let mut frames = [0; walk::DEPTH_MAX + 2];
        let (generation, count) = match activations::place(id) {
            Some((caller, address)) => {
                // As a return address: what is before it is meant.
                frames[0] = address + 1;
                let (generation, count) = depot::read(caller, &mut frames[1..]);
                (generation, count + 1)
            }
            None => depot::read(id, &mut frames),
        };
        let (what, inner) = events::split(&frames[..count]);
        StackOf { frames, count: count.min(inner + walk::depth()), generation, what, inner }
    }

    fn frames(&self) -> &[u64] {
        &self.frames[self.inner..self.count]
    }
}
