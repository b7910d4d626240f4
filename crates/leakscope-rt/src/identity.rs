//! What a call stack is called in every run of the same program.

use leakscope_wire as wire;

use crate::{depot, modules, walk};

/// The identity of an allocation's stack.
pub fn of_stack(stack: u32) -> u64 {
    let mut frames = [0; walk::DEPTH_MAX];
    let (_, count) = depot::read(stack, &mut frames);
    // As many as a record has.
    let count = count.min(walk::depth());
    if frames[..count].iter().any(|&address| module_of(address).is_none()) {
        // One that was loaded since the list was read.
        modules::update();
    }
    let relative = |&address: &u64| module_of(address).map_or(0, |module| address - module.bias as u64);
    wire::identity(frames[..count].iter().map(relative))
}

/// The module into which a return address leads.
pub fn module_of(address: u64) -> Option<&'static modules::Module> {
    modules::around(address.wrapping_sub(1) as usize).map(|(_, module)| module)
}
