//! Which live blocks can still be reached.
//!
//! Conservative, as in `leakscope-rt`: a word that points into a block, at any
//! offset, reaches it. Roots are the registers of all threads and all writable
//! memory of the program that is not the heap: of the stack of a thread only
//! the part in use. Stale words on stacks are no matter: they were cleared
//! when their frames died.

use crate::arena;
use crate::events::{self, aligned_words};
use crate::heap::{self, Block, State};
use crate::holders::{self, Reached};
use crate::ir::RSP;
use crate::life::{self, AtWork};
use crate::list::List;
use crate::memory::PAGE;
use crate::{modules, parts, tool, vg};

/// What there is, before anything is marked.
#[derive(Default)]
pub struct Live {
    pub blocks: u64,
    pub bytes: u64,
}

/// Marks what is reachable.
pub fn run() -> Live {
    life::forget_results();
    let mut live = Live::default();
    heap::for_each_live(|block| {
        block.state = State::Live;
        block.is_shared = false;
        if is_told(block) {
            live.blocks += 1;
            live.bytes += block.bytes as u64;
        }
    });
    let mut work = List::<*mut Block>::new();
    holders::forget();
    for_each_register(|word, thread| reach(&mut work, word, thread as usize));
    let stacks = stacks();
    modules::for_each_segment(vg::SkFileC | vg::SkAnonC | vg::SkShmC, |segment| {
        let (start, end) = (segment.start as usize, segment.end as usize + 1);
        // Of files also what was made read-only after it was written.
        let is_data = segment.hasW != 0 || segment.kind == vg::SkFileC && segment.hasX == 0;
        if segment.hasR == 0 || !is_data || arena::is_within(start) || is_device(segment) {
            return;
        }
        let low = stacks.iter().copied().filter(|stack| (start..end).contains(stack)).min();
        let start = low.map_or(start, |stack| start.max(stack - life::LIVE_BELOW));
        if segment.kind == vg::SkAnonC {
            for_each_present(start, end, |words| reach_words(&mut work, words));
        } else {
            for_each_copied(start, end, |place, words| {
                for (index, &word) in words.iter().enumerate() {
                    let from = place + index * 8;
                    if !parts::are_used() || parts::end_of(from).is_none() {
                        reach(&mut work, word, from);
                    }
                }
            });
        }
        drain(&mut work);
    });
    drain(&mut work);
    while kept(&mut work) {
        drain(&mut work);
    }
    work.free();
    live
}

/// Whether the block is this process's, not inherited by fork, and not told by
/// the blocks of pools that lie in it.
fn is_told(block: &Block) -> bool {
    let is_pools = parts::are_used() && !block.is_part() && parts::are_within(block);
    block.epoch == life::epoch() && !is_pools
}

/// Blocks that are reachable because their pool is. False if there are no more.
fn kept(work: &mut List<*mut Block>) -> bool {
    parts::for_each_live(|block| {
        if block.state != State::Reached
            && let Some(pool) = parts::keeper(block)
            && heap::pointed_to(pool).is_none_or(|holder| holder.state == State::Reached)
        {
            mark(work, Some(block), Reached { from: pool, entered: 0 });
        }
    });
    !work.is_empty()
}

/// Calls `f` for each own block that was not reached, and numbers it.
pub fn for_each_lost(mut f: impl FnMut(&Block)) {
    let mut count = 0;
    heap::for_each_live(|block| {
        if is_told(block) && block.state != State::Reached {
            block.state = State::Lost;
            block.link = count;
            count += 1;
            f(block);
        }
    });
}

pub fn for_each_reached(mut f: impl FnMut(&Block)) {
    heap::for_each_live(|block| {
        if is_told(block) && block.state == State::Reached {
            f(block);
        }
    });
}

/// Calls `f` for each pointer between lost blocks, by their numbers.
pub fn for_each_edge(mut f: impl FnMut(u32, u32)) {
    heap::for_each_live(|block| {
        if block.state != State::Lost {
            return;
        }
        let from = block.link;
        let keeper = if block.is_part() { parts::keeper(block).and_then(heap::pointed_to) } else { None };
        if let Some(keeper) = keeper.filter(|keeper| keeper.state == State::Lost) {
            f(keeper.link, from);
        }
        for &mut word in block.words() {
            if let Some(to) = heap::pointed_to(word).filter(|to| to.state == State::Lost) {
                f(from, to.link);
            }
        }
    });
}

/// A word at `from` reaches what it points to.
#[inline]
fn reach(work: &mut List<*mut Block>, word: usize, from: usize) {
    let Some(mut block) = heap::pointed_to(word) else { return };
    if block.is_shared {
        // Reached before, by what must have been the pool's own pointer.
        block.is_shared = false;
        mark(work, parts::first_in(block).filter(|part| part.is_live()), Reached { from, entered: 0 });
    }
    if block.is_part()
        && block.start == word
        && let Some(whole) = heap::whole(word).filter(|whole| whole.state != State::Reached)
        // Else each part has a block to itself.
        && block.start + 2 * block.bytes <= whole.start + whole.bytes
        && parts::first_in(whole).is_some_and(|first| core::ptr::eq(first, block))
    {
        // Perhaps the pool's pointer to its memory.
        whole.is_shared = true;
        block = whole;
    }
    let entered = word - block.start;
    mark(work, Some(block), Reached { from, entered });
}

#[inline]
fn mark(work: &mut List<*mut Block>, block: Option<&mut Block>, reached: Reached) {
    if let Some(block) = block.filter(|block| block.state != State::Reached) {
        block.state = State::Reached;
        holders::note(block, reached);
        work.push(block);
    }
}

fn drain(work: &mut List<*mut Block>) {
    while let Some(block) = work.pop() {
        // SAFETY: descriptors stay.
        let block = unsafe { &mut *block };
        if block.is_part() {
            block.words().iter().for_each(|word| reach(work, *word, core::ptr::from_ref(word) as usize));
        } else {
            reach_words(work, block.words());
        }
    }
}

/// Memory but for the blocks of pools in it: these are reached by themselves, or
/// given back.
fn reach_words(work: &mut List<*mut Block>, words: &[usize]) {
    if !parts::are_used() {
        return words.iter().for_each(|word| reach(work, *word, core::ptr::from_ref(word) as usize));
    }
    let mut at = 0;
    while at < words.len() {
        let address = (&raw const words[at]) as usize;
        match parts::end_of(address) {
            Some(end) => at += (end - address).div_ceil(8),
            None => {
                reach(work, words[at], address);
                at += 1;
            }
        }
    }
}

/// The registers of all threads, but not what a return left dead in them, and
/// whose they are.
fn for_each_register(mut f: impl FnMut(usize, vg::ThreadId)) {
    for_each_thread(|thread, is_stopped| {
        let dead = tool::thread(thread.number as usize).dead;
        for (register, &word) in thread.registers.iter().enumerate() {
            if is_stopped || word != dead[register] || !events::dies_by_return(register) {
                f(word, thread.number);
            }
        }
    });
}

/// Stack pointers of all threads that run.
fn stacks() -> [usize; 64] {
    let mut stacks = [usize::MAX; 64];
    let mut places = stacks.iter_mut();
    for_each_thread(|thread, is_stopped| {
        if !is_stopped && let Some(place) = places.next() {
            *place = thread.registers[RSP];
        }
    });
    stacks
}

/// Calls `f` for each thread that has not ended, and says whether the end of
/// the process has stopped it.
pub fn for_each_thread(mut f: impl FnMut(&AtWork, bool)) {
    let (mut thread, mut low, mut high) = (0, 0, 0);
    // SAFETY: Valgrind's iteration over threads.
    unsafe {
        vg::vgPlain_thread_stack_reset_iter(&mut thread);
        while vg::vgPlain_thread_stack_next(&mut thread, &mut low, &mut high) != 0 {
            f(&AtWork::new(thread), false);
        }
    }
    life::STOPPED.get().iter().for_each(|thread| f(thread, true));
}

fn is_device(segment: &vg::NSegment) -> bool {
    modules::path_of(segment).is_some_and(|path| {
        path.starts_with(b"/dev/") && !path.starts_with(b"/dev/shm/") && !path.starts_with(b"/dev/zero")
    })
}

/// Calls `f` with the words of pages that have memory behind them: a program
/// may reserve far more than it uses.
pub fn for_each_present(start: usize, end: usize, mut f: impl FnMut(&[usize])) {
    const BATCH: usize = 512;
    let mut words = |low: usize, high: usize| {
        let low = low.next_multiple_of(8);
        if low < high {
            f(&aligned_words(low, high)[..(high - low) / 8]);
        }
    };
    let file = if end - start > 64 * PAGE { File::open(c"/proc/thread-self/pagemap") } else { None };
    let Some(file) = file else { return words(start, end) };
    let mut entries = [0_u64; BATCH];
    let mut page = start / PAGE;
    while page * PAGE < end {
        let count = file.read_at(&mut entries, page * 8) / 8;
        if count == 0 {
            return words(start.max(page * PAGE), end);
        }
        for entry in &entries[..count] {
            // Bit 63: in memory. Bit 62: swapped out.
            if entry >> 62 != 0 {
                words(start.max(page * PAGE), end.min((page + 1) * PAGE));
            }
            page += 1;
            if page * PAGE >= end {
                break;
            }
        }
    }
}

/// Files may be shorter than their mapping: read through the kernel, which
/// says so instead of killing us.
fn for_each_copied(start: usize, end: usize, mut f: impl FnMut(usize, &[usize])) {
    let file = File::open(c"/proc/thread-self/mem");
    let mut words = [0_usize; PAGE / 8];
    let mut at = start;
    while at < end {
        let count = match &file {
            Some(file) => file.read_at(&mut words, at),
            None => copy(&mut words, at),
        };
        let count = count.min(end - at);
        f(at, &words[..count / 8]);
        at += PAGE;
    }
}

/// Where a program that changed its root or its user cannot open the file.
/// How many bytes were copied.
fn copy(words: &mut [usize], from: usize) -> usize {
    const READ_MEMORY_OF: usize = 310;
    let to = [words.as_mut_ptr() as usize, size_of_val(words)];
    let from = [from, size_of_val(words)];
    // SAFETY: the kernel copies to our own buffer, as much as it holds.
    let count = unsafe {
        let thread = vg::vgPlain_gettid() as usize;
        life::system_call(READ_MEMORY_OF, [thread, &raw const to as usize, 1, &raw const from as usize, 1, 0])
    };
    count.max(0) as usize
}

/// A file of the kernel's. In `/proc/self` those about memory are empty once
/// the main thread has left through `pthread_exit`: hence `thread-self`.
struct File(i32);

impl File {
    fn open(path: &core::ffi::CStr) -> Option<File> {
        // SAFETY: a C string.
        let file = unsafe { vg::vgPlain_fd_open(path.as_ptr(), 0, 0) };
        (file >= 0).then_some(File(file))
    }

    /// How many bytes of the buffer were read.
    fn read_at<T: Copy, const N: usize>(&self, buffer: &mut [T; N], offset: usize) -> usize {
        const FROM_START: i32 = 0;
        // SAFETY: plain integers, as many bytes as the buffer has.
        unsafe {
            if vg::vgPlain_lseek(self.0, offset as i64, FROM_START) < 0 {
                return 0;
            }
            vg::vgPlain_read(self.0, buffer.as_mut_ptr().cast(), size_of::<[T; N]>() as i32).max(0) as usize
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: our own descriptor.
        unsafe { vg::vgPlain_close(self.0) };
    }
}
