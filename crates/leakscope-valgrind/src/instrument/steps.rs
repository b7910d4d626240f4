//! How the program's code gets to a place: the steps from registers, constants
//! and memory to the address of a store, or to what a call is given, as far as
//! one block of code shows them; of registers that calls keep, as far as the
//! blocks before the calls do. Debug information makes a name of them later.

use leakscope_wire::{Step, StepKind};

use super::{Block, Known};
use crate::events::FIRST_ARGUMENTS;
use crate::ir::{self, RBP, RSP};
use crate::list::List;
use crate::machine::{self, KEPT, Ways};
use crate::memory::Single;
use crate::vg::{self, IRExpr, IRTemp};

/// Steps that were kept.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Way {
    start: u32,
    count: u32,
}

static ALL: Single<List<Step>> = Single::new(List::new());

impl Way {
    pub fn steps(self) -> &'static [Step] {
        &ALL.get()[self.start as usize..][..self.count as usize]
    }

    /// Ways with the same number are the same.
    pub fn number(self) -> u32 {
        if self.is_empty() { 0 } else { self.start + 1 }
    }

    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The same after a call, if that leaves what is on the way.
    fn beyond_calls(self) -> Way {
        let lasts = |step: &Step| {
            step.kind != StepKind::Register as u32
                || [RSP, RBP].iter().chain(&KEPT).any(|&kept| dwarf_number(kept) == step.value)
        };
        if self.steps().iter().all(lasts) { self } else { Way::default() }
    }

    /// The way to a register.
    pub fn to_register(register: usize) -> Way {
        keep(&[step(StepKind::Held, dwarf_number(register))])
    }
}

fn keep(steps: &[Step]) -> Way {
    let kept = ALL.get();
    let start = kept.len() as u32;
    steps.iter().for_each(|&step| kept.push(step));
    Way { start, count: steps.len() as u32 }
}

/// A longer way says nothing that a reader would follow.
const STEPS_MAX: usize = 40;
const DEPTH_MAX: u32 = 24;

/// What the block of code has done so far.
pub struct Trail {
    /// By temporary: its expression, and the statement that assigned it.
    definitions: List<(*const IRExpr, usize)>,
    /// By register: what was put there last, and when.
    written: [Option<(*const IRExpr, usize)>; 16],
}

pub static TRAIL: Single<Trail> = Single::new(Trail { definitions: List::new(), written: [None; 16] });

impl Trail {
    pub fn start(&mut self, temporaries: usize) {
        self.definitions.clear();
        self.definitions.resize(temporaries, (core::ptr::null(), 0));
        self.written = [None; 16];
    }

    pub fn assign(&mut self, temporary: IRTemp, data: *const IRExpr, index: usize) {
        if let Some(place) = self.definitions.get_mut(temporary as usize) {
            *place = (data, index);
        }
    }

    /// What a temporary was assigned.
    pub fn definition(&self, expression: *const IRExpr) -> Option<*const IRExpr> {
        let &(data, _) = self.definitions.get(ir::temporary(expression)? as usize)?;
        (!data.is_null()).then_some(data)
    }

    pub fn put(&mut self, register: usize, data: *const IRExpr, index: usize) {
        self.written[register] = Some((data, index));
    }

    /// Whether a value was put into a register last.
    pub fn is_in(&self, register: usize, value: *const IRExpr) -> bool {
        self.put_into(register).is_some_and(|put| ir::temporary(value) == Some(put))
    }

    /// The temporary that was put into a register in this block of code.
    fn put_into(&self, register: usize) -> Option<IRTemp> {
        self.written[register].and_then(|(data, _)| ir::temporary(data))
    }
}

struct Steps {
    list: [Step; STEPS_MAX],
    count: usize,
    /// There were too many.
    overflowed: bool,
}

impl Steps {
    fn push(&mut self, kind: StepKind, value: i32) {
        self.push_step(step(kind, value));
    }

    fn push_step(&mut self, step: Step) {
        match self.list.get_mut(self.count) {
            Some(place) => {
                *place = step;
                self.count += 1;
            }
            None => self.overflowed = true,
        }
    }

    fn push_constant(&mut self, value: u64) {
        match i32::try_from(value.cast_signed()) {
            Ok(value) => self.push(StepKind::Constant, value),
            Err(_) => self.push(StepKind::Unknown, 0),
        }
    }
}

fn step(kind: StepKind, value: i32) -> Step {
    Step { kind: kind as u32, value }
}

/// DWARF counts the first eight registers in another order than the processor.
pub fn dwarf_number(register: usize) -> i32 {
    const FIRST: [i32; 8] = [0, 2, 1, 3, 7, 6, 4, 5];
    FIRST.get(register).copied().unwrap_or(register as i32)
}

impl Block<'_> {
    /// The way to what an expression means where the block is, and so many
    /// words on.
    pub(super) fn way_to(&self, expression: *const IRExpr, word: usize) -> Way {
        let mut steps = Steps { list: [step(StepKind::Unknown, 0); STEPS_MAX], count: 0, overflowed: false };
        self.follow(expression, self.index, DEPTH_MAX, &mut steps);
        if word > 0 {
            steps.push_constant(8 * word as u64);
            steps.push(StepKind::Add, 0);
        }
        let says_nothing = steps.list[..steps.count].iter().all(|it| it.kind == StepKind::Unknown as u32);
        if steps.overflowed || says_nothing { Way::default() } else { keep(&steps.list[..steps.count]) }
    }

    /// A jump by which the program's function leaves what is left to another: it is as
    /// a call that returns to where we say.
    pub(super) fn note_jump(&self) -> u64 {
        let at = self.instruction + 1;
        let arguments = FIRST_ARGUMENTS.map(|register| self.way_to_register(register));
        machine::note_return_point(at as usize, Ways { arguments, ..Ways::default() });
        at
    }

    /// A call has just put the address to which it returns on the stack.
    pub(super) fn note_return_point(&mut self) {
        let mut ways = Ways::default();
        if self.is_users {
            // As the caller sees its stack.
            let stack = self.stack;
            if let Known::Stack(offset) = &mut self.stack {
                *offset += 8;
            }
            ways.arguments = FIRST_ARGUMENTS.map(|register| self.way_to_register(register));
            for ((way, register), at_start) in ways.kept.iter_mut().zip(KEPT).zip(self.kept) {
                *way = match TRAIL.get().written[register] {
                    Some(_) => self.way_to_register(register).beyond_calls(),
                    None => at_start,
                };
            }
            self.stack = stack;
        }
        machine::note_return_point(self.next as usize, ways);
    }

    /// The way to what was put into a register.
    fn way_to_register(&self, register: usize) -> Way {
        TRAIL.get().written[register].map_or_else(Way::default, |(data, _)| self.way_to(data, 0))
    }

    fn follow(&self, expression: *const IRExpr, index: usize, depth: u32, steps: &mut Steps) {
        let Some(depth) = depth.checked_sub(1) else { return steps.push(StepKind::Unknown, 0) };
        // SAFETY: VEX's expression; its tag says which arm is there.
        unsafe {
            let arm = &(*expression).Iex;
            match (*expression).tag {
                vg::Iex_RdTmp => self.follow_temporary(arm.RdTmp.tmp, depth, steps),
                vg::Iex_Const => match ir::constant_value(expression) {
                    Some(value) => steps.push_constant(value),
                    None => steps.push(StepKind::Unknown, 0),
                },
                vg::Iex_Get => {
                    let written = &TRAIL.get().written;
                    let register = ir::register_at(arm.Get.offset);
                    let is_there = |&register: &usize| {
                        register != RSP && written[register].is_none_or(|(_, at)| at < index)
                    };
                    match register.filter(is_there) {
                        Some(register) => self.follow_to_start(register, steps),
                        None => steps.push(StepKind::Unknown, 0),
                    }
                }
                vg::Iex_Load => {
                    self.follow(arm.Load.addr, index, depth, steps);
                    steps.push(StepKind::Load, ir::bytes_of(arm.Load.ty) as i32);
                }
                vg::Iex_Unop if is_conversion(arm.Unop.op) => self.follow(arm.Unop.arg, index, depth, steps),
                vg::Iex_Binop => {
                    let operation = arm.Binop;
                    let constant = ir::integer_value(operation.arg2);
                    match (operation.op, constant, ir::byte_value(operation.arg2)) {
                        (vg::Iop_Add64, ..) => {
                            self.follow(operation.arg1, index, depth, steps);
                            self.follow(operation.arg2, index, depth, steps);
                            steps.push(StepKind::Add, 0);
                        }
                        (vg::Iop_Sub64, Some(less), _) => {
                            self.follow(operation.arg1, index, depth, steps);
                            steps.push_constant(less.wrapping_neg());
                            steps.push(StepKind::Add, 0);
                        }
                        (vg::Iop_Add32 | vg::Iop_Sub32, Some(constant), _) => {
                            let more = i64::from(constant as i32);
                            let more = if operation.op == vg::Iop_Add32 { more } else { -more };
                            self.follow(operation.arg1, index, depth, steps);
                            steps.push_constant(more.cast_unsigned());
                            steps.push(StepKind::Add, 0);
                        }
                        (vg::Iop_Shl64, _, Some(bits)) if bits < 31 => {
                            self.follow(operation.arg1, index, depth, steps);
                            steps.push(StepKind::Times, 1 << bits);
                        }
                        _ => steps.push(StepKind::Unknown, 0),
                    }
                }
                _ => steps.push(StepKind::Unknown, 0),
            }
        }
    }

    /// What a register holds at the block's start.
    fn follow_to_start(&self, register: usize, steps: &mut Steps) {
        let before = KEPT.iter().position(|&it| it == register).map_or(&[][..], |at| self.kept[at].steps());
        if before.is_empty() {
            return steps.push(StepKind::Register, dwarf_number(register));
        }
        before.iter().for_each(|step| steps.push_step(*step));
        steps.push(StepKind::Also, dwarf_number(register));
    }

    fn follow_temporary(&self, temporary: IRTemp, depth: u32, steps: &mut Steps) {
        let trail = TRAIL.get();
        let stack_of = |temporary: IRTemp| match self.known.get(temporary as usize) {
            Some(&Known::Stack(offset)) => Some(offset),
            _ => None,
        };
        if let Some(offset) = stack_of(temporary) {
            // Where there is a frame pointer, frames are found by it.
            let (register, base) = match (trail.put_into(RBP).and_then(stack_of), self.stack) {
                (Some(base), _) => (RBP, base),
                (None, Known::Stack(base)) => (RSP, base),
                _ => return steps.push(StepKind::Unknown, 0),
            };
            steps.push(StepKind::Register, dwarf_number(register));
            steps.push_constant(offset.wrapping_sub(base).cast_unsigned());
            return steps.push(StepKind::Add, 0);
        }
        match trail.definitions.get(temporary as usize) {
            Some(&(data, index)) if !data.is_null() => self.follow(data, index, depth, steps),
            _ => steps.push(StepKind::Unknown, 0),
        }
        for register in (0..16).filter(|&it| it != RSP && it != RBP) {
            if trail.put_into(register) == Some(temporary) {
                steps.push(StepKind::Also, dwarf_number(register));
            }
        }
    }
}

fn is_conversion(operation: vg::IROp) -> bool {
    matches!(operation, vg::Iop_32Sto64 | vg::Iop_32Uto64 | vg::Iop_64to32)
}
