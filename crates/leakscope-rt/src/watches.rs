//! Pointers that a call may overwrite: seen before it, looked at after it.
//!
//! For functions whose code was not derived, and which write as much as they
//! like, or nothing.

use core::ops::Range;

use crate::events::What;
use crate::pointers::pointers;
use crate::thread::Thread;
use crate::walk::Caller;
use crate::{heap, modules, stamps, sys};

/// Words that can be watched at a time, by calls within calls.
pub const MOST: usize = 128;

/// More parts of a call's memory are not looked at.
const PARTS_MOST: usize = 64;

/// A word, as it was; at the start of a watch its memory if that is one part, and the
/// time.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Word {
    address: usize,
    value: usize,
}

#[repr(C)]
pub struct Watches {
    words: [Word; MOST],
    count: usize,
}

impl Watches {
    fn push(&mut self, address: usize, value: usize) -> bool {
        let Some(word) = self.words.get_mut(self.count) else { return false };
        *word = Word { address, value };
        self.count += 1;
        true
    }

    /// Notes the pointers from `start` on, which may be on the thread's `stack`. Returns
    /// what [`Watches::check`] needs.
    pub fn watch(&mut self, clock: u64, start: usize, bytes: usize, stack: Range<usize>) -> usize {
        let token = self.count;
        if self.push(start, clock as usize) {
            self.note(start, bytes, stack);
        }
        token
    }

    /// The same for memory that lies in parts.
    pub fn watch_parts(&mut self, clock: u64, parts: &[libc::iovec], stack: Range<usize>) -> usize {
        let token = self.count;
        if self.push(0, clock as usize) {
            for part in parts.iter().take(PARTS_MOST) {
                self.note(part.iov_base as usize, part.iov_len, stack.clone());
            }
        }
        token
    }

    fn note(&mut self, start: usize, bytes: usize, stack: Range<usize>) {
        if start < sys::PAGE {
            return;
        }
        // SAFETY: within a block, a stack, variables or a page that the
        // program is about to write.
        let mut pointers = unsafe { pointers(start, readable_end(start, bytes, stack)) };
        // Until there is no room.
        let _ = pointers.all(|(address, value)| self.push(address, value));
    }

    /// Stamps what was overwritten since, unless derived code saw it.
    pub fn check(&mut self, thread: &mut Thread, token: usize, site: usize, caller: Caller) {
        let end = self.count;
        let Some([first, words @ ..]) = self.words.get(token..end) else { return };
        for &Word { address, value } in words {
            // SAFETY: it was readable before the call; memory that went since
            // was freed by the program, and ours stays mapped.
            let now = unsafe { core::ptr::read_volatile(address as *const usize) };
            if now != value && heap::slot_at(now) != heap::slot_at(value) {
                let offset = if first.address == 0 { 0 } else { address - first.address };
                let what = What::at(site, offset as u64);
                stamps::stamp_since(thread, value, first.value as u64, caller, what);
            }
        }
        self.count = token;
    }
}

/// How far memory can be read for certain: to the end of the block, of the stack, of the
/// program's variables, or of the page.
fn readable_end(start: usize, bytes: usize, stack: Range<usize>) -> usize {
    let end = start.saturating_add(bytes.min(1 << 16));
    match heap::find(start) {
        Some(block) => end.min(block.start + block.room),
        None if stack.contains(&start) => end.min(stack.end),
        None if modules::variables().contains(&start) => end.min(modules::variables().end),
        None => end.min((start + 1).next_multiple_of(sys::PAGE)),
    }
}
