//! Which variable a place in a frame was, from debug information.
//!
//! A place is a word of the frame or a register. A word in which a function
//! keeps a register for its caller is that register there; so the question
//! goes outwards, by the rules of `.eh_frame`, until a function has a variable
//! in the place, or uses it for something else. Variables that debug
//! information has at computed addresses are not looked for.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EndianRcSlice, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection, UnwindTableRow,
};
use leakscope_wire as wire;
use object::{Object, ObjectSection};

use crate::dwarf::{Debug, Die, Entry};
use crate::module_file;
use crate::steps::{Steps, Target};
use crate::types::as_written;
use crate::variables::{FrameEnd, Held, Variables, Word};

impl Held {
    /// As a record has it.
    pub fn new(held: u32) -> Held {
        if held & wire::IN_REGISTER != 0 {
            Held::Register(Register((held & !wire::IN_REGISTER) as u16))
        } else {
            Held::Below(held.into())
        }
    }
}

/// What is smaller has no room for a pointer.
const POINTER: u64 = 8;

/// Finds variables; keeps what it has read of each module.
#[derive(Default)]
pub struct FrameSlots {
    modules: HashMap<PathBuf, Option<Code>>,
}

/// An instruction: its address in a file that is loaded `bias` further on.
pub struct CodePlace {
    pub path: PathBuf,
    pub probe: u64,
    pub bias: u64,
}

struct Code {
    /// None without debug information.
    variables: Option<Variables>,
    rules: Rules,
}

/// How the frames of a module's functions are laid out.
pub struct Rules {
    frames: EhFrame<EndianRcSlice<LittleEndian>>,
    bases: BaseAddresses,
}

impl FrameSlots {
    /// What was `held` in the first of some frames: each a file, and the
    /// address in it of the call that leads to the frame inside.
    pub fn name(&mut self, frames: &[(&Path, u64)], held: Held) -> Option<String> {
        self.name_within(frames, held).map(|(name, _)| name)
    }

    /// The same, and in how many functions that were inlined into the first frame's it is, if
    /// it is there.
    pub fn name_within(
        &mut self,
        frames: &[(&Path, u64)],
        mut held: Held,
    ) -> Option<(String, Option<usize>)> {
        for (number, &(path, probe)) in frames.iter().enumerate() {
            let code = self.code(path)?;
            if let Some(variables) = &code.variables {
                let found = |probe| {
                    let word = variables.held(probe, held, code.frame_end(probe))?;
                    (word.bytes >= POINTER).then_some(word)
                };
                let before = || Some(Word { inlined: None, ..found(code.before_epilogue(probe)?)? });
                let once = || variables.once_held(probe, held, code.frame_end(probe));
                if let Some(word) = found(probe).or_else(before).or_else(once) {
                    let inlined = word.inlined.filter(|_| number == 0);
                    return word.has_type.then(|| (as_written(&word.name).to_owned(), inlined));
                }
            }
            held = code.passed_on(probe, held)?;
        }
        None
    }

    /// The statement that the compiler has put together with the end of its
    /// function at a place.
    pub fn statement(&mut self, path: &Path, probe: u64) -> Option<(u32, Option<u32>)> {
        self.code(path)?.variables.as_ref()?.types.debug.statement(probe)
    }

    /// What `ask` says of each function at a place, the innermost first.
    pub fn functions(&mut self, path: &Path, probe: u64, ask: fn(&Debug, Die, &Entry) -> bool) -> Vec<bool> {
        let variables = self.code(path).and_then(|code| code.variables.as_ref());
        variables.map_or(Vec::new(), |variables| variables.types.debug.functions(probe, ask))
    }

    pub fn has_variables(&mut self, path: &Path) -> bool {
        self.code(path).is_some_and(|code| code.variables.is_some())
    }

    /// The thread-local variable at an offset of an executable's.
    pub fn of_thread(&mut self, path: &Path, offset: u32) -> Option<String> {
        Some(self.code(path)?.variables.as_ref()?.thread_local(offset.into())?.name)
    }

    /// What the steps of the code at a place lead to.
    pub fn by_steps(&mut self, from: &CodePlace, steps: &[wire::Step], target: Target) -> Option<String> {
        Some(as_written(&self.steps_at(from)?.name(steps, target)?).to_owned())
    }

    /// The same of an argument that a call at a place passes in its register, after
    /// what it was got from has changed.
    pub fn by_argument(&mut self, from: &CodePlace, number: u32, target: Target) -> Option<String> {
        const PASSED_IN: [Register; 2] = [gimli::X86_64::RDI, gimli::X86_64::RSI];
        let value = PASSED_IN.get(number as usize)?.0.into();
        // What is in it ends with the call, before the call's last byte.
        let before =
            CodePlace { path: from.path.clone(), probe: from.probe.wrapping_sub(1), bias: from.bias };
        let step = wire::Step { kind: wire::StepKind::Register as u32, value };
        self.by_steps(&before, &[step], target)
    }

    /// The number of the parameter of its function that the steps at a place lead
    /// to, if it is a pointer to anything.
    pub fn parameter(&mut self, from: &CodePlace, steps: &[wire::Step]) -> Option<u32> {
        self.steps_at(from)?.parameter(steps)
    }

    fn steps_at(&mut self, from: &CodePlace) -> Option<Steps<'_>> {
        let code = self.code(&from.path)?;
        let (probe, bias) = (from.probe, from.bias);
        Some(Steps { variables: code.variables.as_ref()?, probe, end: code.frame_end(probe), bias })
    }

    fn code(&mut self, path: &Path) -> Option<&Code> {
        self.modules.entry(path.to_owned()).or_insert_with(|| Code::read(path)).as_ref()
    }
}

impl Rules {
    pub fn read(path: &Path) -> Option<Rules> {
        let cache = module_file::open(path)?;
        let file = object::File::parse(&cache).ok()?;
        let data = file.section_by_name(".eh_frame").and_then(|section| section.uncompressed_data().ok());
        let mut frames =
            EhFrame::from(EndianRcSlice::new(Rc::from(&*data.unwrap_or_default()), LittleEndian));
        frames.set_address_size(8);
        let address = |name: &str| file.section_by_name(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")).set_text(address(".text"));
        Some(Rules { frames, bases })
    }

    /// What the rules for the frame of the function at `probe` say.
    fn at<T>(&self, probe: u64, read: impl FnOnce(&UnwindTableRow<usize>) -> Option<T>) -> Option<T> {
        let entry = self.frames.fde_for_address(&self.bases, probe, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        read(entry.unwind_info_for_address(&self.frames, &self.bases, &mut context, probe).ok()?)
    }

    /// How large the frame of the function at `probe` becomes; none if that depends on the run.
    pub fn frame_bytes(&self, probe: u64) -> Option<u32> {
        let entry = self.frames.fde_for_address(&self.bases, probe, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let mut rows = entry.rows(&self.frames, &self.bases, &mut context).ok()?;
        let mut most = 0;
        while let Ok(Some(row)) = rows.next_row() {
            match *row.cfa() {
                CfaRule::RegisterAndOffset { register: gimli::X86_64::RSP, offset } => {
                    most = offset.max(most)
                }
                _ => return None,
            }
        }
        u32::try_from(most).ok()
    }
}

impl Code {
    fn read(path: &Path) -> Option<Code> {
        Some(Code { variables: Variables::read(path), rules: Rules::read(path)? })
    }

    fn rules<T>(&self, probe: u64, read: impl FnOnce(&UnwindTableRow<usize>) -> Option<T>) -> Option<T> {
        self.rules.at(probe, read)
    }

    fn frame_end(&self, probe: u64) -> Option<FrameEnd> {
        self.rules(probe, |row| match *row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Some(FrameEnd { register, offset }),
            CfaRule::Expression(_) => None,
        })
    }

    /// Where the function at `probe` is about to take down its frame, if it
    /// is doing that at `probe`: registers are restored already.
    fn before_epilogue(&self, probe: u64) -> Option<u64> {
        let Rules { frames, bases } = &self.rules;
        let entry = frames.fde_for_address(bases, probe, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let mut rows = entry.rows(frames, bases, &mut context).ok()?;
        let (mut size, mut start) = (0, None);
        while let Ok(Some(row)) = rows.next_row() {
            let CfaRule::RegisterAndOffset { offset, .. } = *row.cfa() else { return None };
            match offset.cmp(&size) {
                Ordering::Less => start = start.or(Some(row.start_address())),
                Ordering::Greater => start = None,
                Ordering::Equal => {}
            }
            size = offset;
            if row.contains(probe) {
                return start?.checked_sub(1);
            }
        }
        None
    }

    /// Where the caller has what is `held`, if this function did not use the
    /// place for itself.
    fn passed_on(&self, probe: u64, held: Held) -> Option<Held> {
        let place = |rule: &RegisterRule<usize>| match rule {
            RegisterRule::Offset(offset) => Some(-offset),
            _ => None,
        };
        self.rules(probe, |row| match held {
            Held::Below(distance) => row
                .registers()
                .find(|(_, rule)| place(rule) == Some(distance))
                .map(|(register, _)| Held::Register(*register)),
            Held::Register(register) => match row.register(register) {
                Some(rule) if place(&rule).is_some() => None,
                _ => Some(held),
            },
        })
    }
}
