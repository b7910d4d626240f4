//! Writing down what is known: the record file of `leakscope-wire`.
//!
//! The file gets its name when it is complete, so that a reader never takes
//! half of one for the whole.

use core::ffi::CStr;

use leakscope_wire::lives::Told;
use leakscope_wire::{self as wire, SectionKind};
use zerocopy::{Immutable, IntoBytes};

use crate::arena;
use crate::calls;
use crate::heap::{Block, Held, Point, Stamp};
use crate::holders::Chain;
use crate::instrument::steps::{Way, dwarf_number};
use crate::list::{Key, List, Numbers, mix};
use crate::memory::Single;
use crate::replace::FREES;
use crate::sink::Sink;
use crate::tool::OPTIONS;
use crate::{details, holders, machine, modules, parts, scan, stamps, vg};

/// What to say besides the blocks.
pub struct Occasion {
    pub reason: wire::Reason,
    pub status: i32,
    pub sequence: u32,
    pub fault: Option<wire::Fault>,
}

/// The stacks of a record, by context and site, and their sites.
struct Mentioned {
    stacks: Numbers<(u32, u32)>,
    sites: Numbers<Site>,
}

static MENTIONED: Single<Mentioned> =
    Single::new(Mentioned { stacks: Numbers::new(), sites: Numbers::new() });

/// How a pointer died, and where it was.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Site {
    cause: u32,
    /// As in [`wire::Site`].
    frame: u32,
    held: u32,
    /// With [`wire::BY_STEPS`].
    way: Way,
    /// With [`wire::LEAVES`], as in [`wire::Site`].
    end: i32,
}

impl Key for Site {
    fn hash(&self) -> u64 {
        let place = u64::from(self.frame ^ self.held) << 32 | u64::from(self.way.number());
        mix(place ^ u64::from(self.cause) << 29)
    }
}

/// The stack of a context: an allocation's, or a free's.
pub fn stack_of(context: u32) -> u32 {
    mention(context, 0)
}

fn mention(context: u32, site: u32) -> u32 {
    if context == calls::ROOT { 0 } else { MENTIONED.get().stacks.number((context, site)) }
}

/// The stack of a place where a pointer died; 0 if there is none.
fn stack_of_stamp(stamp: Stamp) -> u32 {
    let Some(site) = stamps::site(stamp.point.site) else { return stack_of(stamp.point.context) };
    let way = site.way;
    stack_of_place(stamp.point, |cause| {
        let (frame, held) = match way.is_empty() {
            true if cause == site.cause => place_of(cause, stamp.held()),
            true => (0, 0),
            false => (wire::BY_STEPS, 0),
        };
        Site { cause, frame, held, way, end: 0 }
    })
}

/// A place as [`wire::Site`] has it.
fn place_of(cause: u32, held: Held) -> (u32, u32) {
    use wire::Cause::{HolderFreed, Overwritten, ScopeEnd, Unwound};
    let place = match wire::Cause::from_u32(cause) {
        Some(Overwritten | HolderFreed) => {
            held.argument().map(|(number, word)| (wire::BEHIND_ARGUMENT, word << 7 | number))
        }
        Some(Unwound) => held.frame().map(|(frame, words)| (frame, words * 8)),
        Some(ScopeEnd) => {
            let register = held.register().map(|register| wire::IN_REGISTER | dwarf_number(register) as u32);
            register.or(held.word().map(|words| words * 8)).map(|place| (1, place))
        }
        _ => None,
    };
    place.unwrap_or((0, 0))
}

/// The stack of a place where a block was used.
fn stack_of_use(point: Point) -> u32 {
    stack_of_place(point, |cause| Site { cause, frame: 0, held: 0, way: Way::default(), end: 0 })
}

fn stack_of_place(point: Point, site_of: impl FnOnce(u32) -> Site) -> u32 {
    let Some(site) = stamps::site(point.site) else { return 0 };
    let context = if site.address == 0 {
        point.context
    } else {
        calls::child_in(point.context, site.address, site.generation)
    };
    // What dies inside of a library function is overwritten by the call of it.
    let inside = site.cause == wire::Cause::ScopeEnd as u32 && !modules::is_users(site.address);
    let cause = if inside { wire::Cause::Overwritten as u32 } else { site.cause };
    if cause == stamps::USE {
        return mention(context, 0);
    }
    let mut mentioned = site_of(cause);
    if site.leaves != stamps::Leaves::Itself && !inside {
        mentioned.cause |= wire::LEAVES;
    }
    if let stamps::Leaves::ToEnd(end) = site.leaves {
        mentioned.end = end;
    }
    mention(context, MENTIONED.get().sites.number(mentioned))
}

/// Scans the heap, and writes a record.
pub fn write(folder: &CStr, occasion: &Occasion) {
    // SAFETY: plain query.
    let pid = unsafe { vg::vgPlain_getpid() } as u32;
    raise_file_limit();
    let mut name = Text::new();
    name.push(folder.to_bytes()).push(b"/").push_number(pid).push(b"-").push_number(occasion.sequence);
    let mut complete = Text { ..name };
    name.push(b".partial");
    complete.push(b".record");
    if let Some(file) = Sink::create(name.as_ptr()) {
        // SAFETY: C strings.
        unsafe {
            if write_to(file, occasion, pid) && vg::vgPlain_rename(name.as_ptr(), complete.as_ptr()) == 0 {
                return;
            }
            vg::vgPlain_unlink(name.as_ptr());
        }
    }
    if let Some(socket) = Sink::connect() {
        write_to(socket, occasion, pid);
    }
}

/// Whether the whole record is there.
fn write_to(sink: Sink, occasion: &Occasion, pid: u32) -> bool {
    let mut writer = Writer { sink, buffer: List::new(), written: 0, failed: false };
    writer.record(occasion, pid);
    writer.buffer.free();
    if writer.failed {
        writer.sink.close();
        return false;
    }
    writer.sink.finish()
}

/// The program may have lowered the limit for the size of files.
fn raise_file_limit() {
    const FILE_SIZE: i32 = 1;
    let mut limit = vg::vki_rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain queries with our own structure.
    unsafe {
        if vg::vgPlain_getrlimit(FILE_SIZE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            vg::vgPlain_setrlimit(FILE_SIZE, &limit);
        }
    }
}

struct Writer {
    sink: Sink,
    buffer: List<u8>,
    /// So far from the start, with what is in the buffer.
    written: u64,
    failed: bool,
}

impl Writer {
    fn record(&mut self, occasion: &Occasion, pid: u32) {
        // SAFETY: plain queries.
        let (parent, time) = unsafe {
            let mut now = vg::vki_timeval { tv_sec: 0, tv_usec: 0 };
            vg::vgPlain_gettimeofday(&mut now, core::ptr::null_mut());
            (vg::vgPlain_getppid() as u32, now.tv_sec as u64)
        };
        self.put(&wire::Header {
            magic: wire::MAGIC,
            version: wire::VERSION,
            reason: occasion.reason as u32,
            status: occasion.status,
            pid,
            parent,
            sequence: occasion.sequence,
            time,
            started: 0,
        });
        self.modules();
        match &occasion.fault {
            Some(fault) => self.section(SectionKind::FAULT, |writer| writer.put(fault)),
            None => self.blocks(),
        }
        self.sites();
        self.stacks();
        self.arguments();
        let mentioned = MENTIONED.get();
        mentioned.stacks.free();
        mentioned.sites.free();
        self.section(SectionKind::END, |_| {});
        self.flush();
    }

    fn modules(&mut self) {
        self.section(SectionKind::MODULES, |writer| {
            for module in modules::all() {
                writer.put(&wire::Module {
                    bias: module.bias as u64,
                    start: module.start as u64,
                    end: module.end as u64,
                    first_generation: module.first_generation,
                    last_generation: module.last_generation,
                    path_bytes: module.path_bytes as u32,
                    id_bytes: 0,
                });
                writer.padded(&module.path[..module.path_bytes]);
            }
        });
    }

    fn blocks(&mut self) {
        let live = scan::run();
        self.section(SectionKind::TOTALS, |writer| {
            writer.put(&wire::Totals {
                live_blocks: live.blocks,
                live_bytes: live.bytes,
                limits: if OPTIONS.get().last_use { 0 } else { wire::limits::NO_USES },
                heap_limit: 0,
            });
        });
        self.section(SectionKind::LOST, |writer| {
            scan::for_each_lost(|block| {
                writer.put(&wire::LostBlock {
                    address: block.start as u64,
                    bytes: block.bytes as u64,
                    stack: stack_of(block.allocated),
                    injected: 0,
                });
            });
        });
        self.section(SectionKind::STAMPS, |writer| {
            scan::for_each_lost(|block| {
                let last_used = stack_of_use(block.used);
                // What a pool keeps is lost with the pool, whatever points to it.
                let is_kept = block.is_part() && parts::keeper(block).is_some();
                writer.put(&if !arena::is_within(block.start) {
                    // Only pointers into the heap are.
                    wire::Stamps { last_used: wire::NOT_FOLLOWED, ..wire::Stamps::default() }
                } else if is_kept {
                    wire::Stamps { last_used, ..wire::Stamps::default() }
                } else {
                    let stacks = block.latest().map(stack_of_stamp);
                    wire::Stamps { time: block.stamped(), stacks, last_used }
                });
            });
        });
        if OPTIONS.get().last_use {
            self.numbers(SectionKind::UNUSED, Block::is_unused_since);
            self.numbers(SectionKind::USED_AFTER, Block::is_used_after);
            self.numbers(SectionKind::MAY_BE_COUNTED, stamps::may_be_counted);
        }
        self.section(SectionKind::EDGES, |writer| {
            scan::for_each_edge(|from, to| writer.put(&wire::Edge { from, to }));
        });
        if details::are_kept() {
            self.details();
        }
        self.reachable();
        self.section(SectionKind::FREES, |writer| {
            let frees = FREES.get();
            for (&(allocated, freed), &blocks) in frees.pairs.keys().iter().zip(frees.blocks.iter()) {
                writer.put(&wire::Freed { blocks, allocated: stack_of(allocated), freed: stack_of(freed) });
            }
        });
    }

    /// How pointers to lost blocks came and went.
    fn details(&mut self) {
        /// More blocks say no more.
        const BLOCKS_MOST: u32 = 256;
        let stack = |number: u32| details::stamp_of(number).map_or(0, stack_of_stamp);
        let (mut number, mut told) = (0, 0);
        self.section(SectionKind::DETAILS, |writer| {
            scan::for_each_lost(|block| {
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
                    Told::Life(life) => writer.put(&wire::Life {
                        set_stack: stack(life.set_stack),
                        read_stack: stack(life.read_stack),
                        ended_stack: stack(life.ended_stack),
                        ..life
                    }),
                    Told::Count(count) => writer.put(&wire::Count { stack: stack(count.stack), ..count }),
                    Told::Death(death) => writer.put(&wire::Death { stack: stack(death.stack), ..death }),
                });
            });
        });
        self.section(SectionKind::HANDED_OVER, |writer| {
            details::for_each_handed_over(|handed| {
                let (stack, read_stack) = (stack(handed.stack), stack(handed.read_stack));
                writer.put(&wire::HandedOver { stack, read_stack, ..handed });
            });
        });
        self.section(SectionKind::ZEROED, |writer| {
            details::for_each_zeroed(|zeroed| {
                let (stack, counted) = (stack(zeroed.stack), stack(zeroed.counted));
                writer.put(&wire::Zeroed { stack, counted, ..zeroed });
            });
        });
    }

    /// The numbers of some lost blocks.
    fn numbers(&mut self, kind: SectionKind, is_wanted: fn(&Block) -> bool) {
        self.section(kind, |writer| {
            let mut number: u64 = 0;
            scan::for_each_lost(|block| {
                if is_wanted(block) {
                    writer.put(&number);
                }
                number += 1;
            });
        });
    }

    /// Totals by allocation and last use.
    fn reachable(&mut self) {
        /// Blocks of one allocation and last use of which is told what holds them.
        const HOLDERS_EACH: u64 = 3;
        let mut pairs = Numbers::<(u32, u32)>::new();
        let mut sums = List::<(u64, u64)>::new();
        self.section(SectionKind::HOLDERS, |writer| {
            scan::for_each_reached(|block: &Block| {
                let (stack, last_used) = (stack_of(block.allocated), stack_of_use(block.used));
                let number = pairs.number((stack, last_used)) as usize;
                if number > sums.len() {
                    sums.push((0, 0));
                }
                let (blocks, bytes) = &mut sums[number - 1];
                *blocks += 1;
                *bytes += block.bytes as u64;
                if *blocks <= HOLDERS_EACH {
                    let chain = Chain::to(block);
                    writer.put(&wire::Holder { stack, last_used, ..chain.holder() });
                    chain.links().for_each(|link| writer.put(&link));
                }
            });
        });
        holders::forget();
        self.section(SectionKind::REACHABLE, |writer| {
            for (&(stack, last_used), &(blocks, bytes)) in pairs.keys().iter().zip(sums.iter()) {
                writer.put(&wire::Reachable { blocks, bytes, stack, last_used });
            }
        });
        sums.free();
        pairs.free();
    }

    fn sites(&mut self) {
        self.section(SectionKind::SITES, |writer| {
            for &Site { cause, frame, held, way, end } in MENTIONED.get().sites.keys() {
                let steps = way.steps().as_bytes();
                let variable_bytes = steps.len() as u32;
                let line = end.cast_unsigned();
                writer.put(&wire::Site { cause, line, column: 0, variable_bytes, frame, held });
                writer.bytes(steps);
            }
        });
    }

    fn stacks(&mut self) {
        let depth = OPTIONS.get().depth;
        self.section(SectionKind::STACKS, |writer| {
            let mut frames = [0_u64; 64];
            for (id, &(context, site)) in (1..).zip(MENTIONED.get().stacks.keys()) {
                let (generation, count) = frames_of(context, &mut frames[..depth]);
                writer.put(&wire::Stack { id, generation, frames: count as u32, site });
                writer.bytes(frames[..count].as_bytes());
            }
        });
    }

    /// How the calls of stacks at which pointers died got their arguments.
    fn arguments(&mut self) {
        let depth = OPTIONS.get().depth;
        let mut calls = Numbers::<u64>::new();
        let mut frames = [0_u64; 64];
        for &(context, _) in MENTIONED.get().stacks.keys().iter().filter(|(_, site)| *site != 0) {
            let (_, count) = frames_of(context, &mut frames[..depth]);
            frames[..count].iter().for_each(|&call| {
                calls.number(call);
            });
        }
        self.section(SectionKind::ARGUMENTS, |writer| {
            for &call in calls.keys() {
                for (number, way) in (0..).zip(machine::ways_at_call(call).arguments) {
                    let steps = way.steps();
                    if !steps.is_empty() {
                        writer.put(&wire::Argument { call, number, steps: steps.len() as u32 });
                        writer.bytes(steps.as_bytes());
                    }
                }
            }
        });
        calls.free();
    }

    /// A section whose length is filled in when its content is written.
    fn section(&mut self, kind: SectionKind, content: impl FnOnce(&mut Writer)) {
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

    fn put<T: IntoBytes + Immutable>(&mut self, value: &T) {
        self.bytes(value.as_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.bytes(&[0; 8][..bytes.len().next_multiple_of(8) - bytes.len()]);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        const BUFFER: usize = 1 << 16;
        for &byte in bytes {
            self.buffer.push(byte);
        }
        self.written += bytes.len() as u64;
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let place = self.written - self.buffer.len() as u64;
        self.failed |= !self.buffer.is_empty() && !self.sink.write_at(&self.buffer, place);
        self.buffer.clear();
    }
}

/// The return addresses of a context, innermost first, and the generation of
/// the innermost.
fn frames_of(context: u32, frames: &mut [u64]) -> (u32, usize) {
    let (mut at, mut count, mut generation) = (context, 0, None);
    while let Some(node) = calls::node(at).filter(|_| count < frames.len()) {
        frames[count] = node.address;
        generation = generation.or(Some(node.generation));
        at = node.parent;
        count += 1;
    }
    (generation.unwrap_or(0), count)
}

/// A path that is put together.
#[derive(Clone, Copy)]
struct Text {
    bytes: [u8; 4096],
    count: usize,
}

impl Text {
    fn new() -> Text {
        Text { bytes: [0; 4096], count: 0 }
    }

    fn push(&mut self, text: &[u8]) -> &mut Text {
        let room = &mut self.bytes[self.count..4095];
        let count = text.len().min(room.len());
        room[..count].copy_from_slice(&text[..count]);
        self.count += count;
        self
    }

    fn push_number(&mut self, number: u32) -> &mut Text {
        let (mut digits, mut at, mut rest) = ([0; 10], 10, number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return self.push(&digits[at..]);
            }
        }
    }

    fn as_ptr(&self) -> *const core::ffi::c_char {
        self.bytes.as_ptr().cast()
    }
}
