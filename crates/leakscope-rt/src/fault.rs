//! Misuse of the heap: the program cannot go on, and is told why.

use leakscope_wire::{Fault, FaultKind};

use crate::heap::{Block, Refused};
use crate::sys::File;
use crate::text::Text;
use crate::thread::Thread;
use crate::walk::{self, Caller};
use crate::{folder, life};

/// Reports a free that was refused, and stops the program as `abort` does.
#[cold]
pub fn stop(thread: &mut Thread, address: usize, refused: Refused, caller: Caller) -> ! {
    let (kind, block) = match refused {
        Refused::FreedBefore(block) => (FaultKind::DoubleFree, Some(block)),
        Refused::NotABlock(block) => (FaultKind::InvalidFree, block),
    };
    let (allocated, freed) = match refused {
        Refused::FreedBefore(block) => block.last_stacks(),
        Refused::NotABlock(block) => (block.map_or(0, |block| block.stack()), 0),
    };
    let fault = Fault {
        address: address as u64,
        block: block.map_or(0, |block| block.start as u64),
        bytes: block.filter(Block::is_live).map_or(0, |block| block.size() as u64),
        kind: kind as u32,
        stack: walk::stack(thread, caller),
        allocated,
        freed,
    };
    if folder::is_wanted() {
        life::report_fault(fault);
    } else {
        let mut message = Text::<256>::new();
        message.push(b"leakscope: ");
        message.push(if kind == FaultKind::DoubleFree { b"double free" } else { b"invalid free" });
        message.push(b" of ").push_hex(address as u64);
        message.push(b"; `leakscope run` shows where it was allocated and freed\n");
        File(2).write_all(message.as_bytes());
    }
    // SAFETY: ends the program.
    unsafe { libc::abort() }
}
