//! The sites that a record mentions, as instrumented code describes them.

use core::mem::size_of;

use leakscope_wire::{
    BEHIND_ARGUMENT, Descriptor, Field, OF_THREAD, PLACE_IS_FRAME, PLACE_IS_LINE, PLACE_IS_VARIABLE, Site,
    field_of_place,
};
use zerocopy::FromBytes;

use crate::events::What;
use crate::{depot, modules, sys};

/// Numbers for sites, from 1 on, in the order in which they were asked for.
pub struct Sites {
    table: *mut Entry,
    capacity: usize,
    count: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    site: usize,
    place: u64,
    module: u32,
    number: u32,
}

impl Sites {
    /// Room for as many sites as there may be stacks.
    pub fn new(stacks: usize) -> Option<Sites> {
        let capacity = (2 * stacks + 1).next_power_of_two();
        let table = sys::allocate(capacity * size_of::<Entry>()) as *mut Entry;
        (!table.is_null()).then_some(Sites { table, capacity, count: 0 })
    }

    /// The number of a site that was told while a generation of modules was there, and
    /// its [`Descriptor`] with all that follows if it is new. 0 if that is not known.
    pub fn number(&mut self, what: What, generation: u32) -> (u32, Option<&'static [u8]>) {
        let Some((module, holder)) = modules::in_generation(what.site, generation) else { return (0, None) };
        let module = module as u32;
        let mut index = depot::mix(what.site as u64, what.place) as usize;
        loop {
            // SAFETY: within the table, in which there is always room.
            let entry = unsafe { &mut *self.table.add(index % self.capacity) };
            if entry.number == 0 {
                let Some(descriptor) = descriptor(holder, what.site) else { return (0, None) };
                self.count += 1;
                *entry = Entry { site: what.site, place: what.place, module, number: self.count };
                return (self.count, Some(descriptor));
            }
            if (entry.site, entry.place, entry.module) == (what.site, what.place, module) {
                return (entry.number, None);
            }
            index += 1;
        }
    }
}

/// A site as a record has it.
pub struct Described {
    pub site: Site,
    text: &'static [u8],
    /// Index to be put between the brackets of the text.
    index: Option<u64>,
}

impl Described {
    /// The variable, in pieces.
    pub fn variable(&self, mut piece: impl FnMut(&[u8])) {
        let bracket = self.text.windows(2).position(|pair| pair == b"[]");
        match (self.index, bracket) {
            (Some(index), Some(at)) => {
                piece(&self.text[..=at]);
                let mut number = crate::text::Text::<24>::new();
                piece(number.push_number(index).as_bytes());
                piece(&self.text[at + 1..]);
            }
            _ => piece(self.text),
        }
    }
}

/// Blocks with larger offsets have no fields there.
const FAR: u64 = 1 << 20;

/// A [`Descriptor`] of a module's, with all that follows; from the file if the module is gone.
fn descriptor(module: &modules::Module, site: usize) -> Option<&'static [u8]> {
    const HEADER: usize = size_of::<Descriptor>();
    if module.last_generation == u32::MAX {
        // SAFETY: instrumented code of the module told this site; fields and texts follow the
        // header.
        return Some(unsafe {
            let header = &*(site as *const Descriptor);
            core::slice::from_raw_parts(site as *const u8, HEADER + header.bytes as usize)
        });
    }
    let header = Descriptor::read_from_bytes(module.constants(site, HEADER)?).ok()?;
    module.constants(site, HEADER + header.bytes as usize)
}

/// What instrumented code says about a site by its descriptor.
pub fn describe(what: What, descriptor: &'static [u8]) -> Option<Described> {
    let (header, mut rest) = Descriptor::read_from_prefix(descriptor).ok()?;
    let mut site = header.site;
    let text;
    (text, rest) = rest.split_at_checked(site.variable_bytes as usize).unwrap_or_default();
    let mut offset = Some(what.place);
    if what.place & PLACE_IS_LINE != 0 {
        offset = field_of_place(what.place);
        (site.line, site.column) = ((what.place >> 16) as u32 & 0xff_ffff, what.place as u16 as u32);
        if what.place & PLACE_IS_VARIABLE != 0 {
            offset = None;
            (site.frame, site.held) = (OF_THREAD, (what.place >> 40) as u32 % (1 << 20) * 8);
        }
        if site.line == 0 {
            (site.line, site.column) = (header.site.line, header.site.column);
        }
    } else if what.place & PLACE_IS_FRAME != 0 {
        offset = None;
        site.frame = ((what.place & !PLACE_IS_FRAME) >> 32) as u32;
        site.held = what.place as u32;
    }
    let Some(offset) = offset else { return Some(Described { site, text, index: None }) };
    for _ in 0..header.fields {
        let Ok((field, after)) = Field::read_from_prefix(rest) else { break };
        let Some((text, after)) = after.split_at_checked(field.bytes as usize) else { break };
        rest = after;
        let (distance, stride) = (offset.wrapping_sub(u64::from(field.offset)), u64::from(field.stride));
        if distance.is_multiple_of(stride.max(1)) && distance / stride.max(1) < u64::from(field.count) {
            let index = (field.count > 1).then(|| distance / stride.max(1));
            return Some(Described { site, text, index });
        }
    }
    // Whoever gave the block to what frees it may have a name for the field.
    if site.frame == BEHIND_ARGUMENT {
        match offset {
            0..FAR => site.held |= (offset as u32) << 4,
            _ => site.frame = 0,
        }
    }
    Some(Described { site, text, index: None })
}
