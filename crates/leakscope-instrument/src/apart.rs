//! Twins whose values stay apart: each body has its own place for what passes
//! from block to block, and where control crosses, what is needed there goes
//! over by the stack.
//!
//! Else a value that both bodies use is one variable for the register
//! allocator. A variable is worth a register by how often it is used in how
//! much code, and the body that reports is four times as long and seldom
//! runs: what the plain body's loops use most would lie on the stack.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::builder::Builder;
use crate::ir::{Block, Opcode, Type, Value};
use crate::llvm::Function;

/// Loops that need more values than this have some on the stack: what they
/// compute in passing takes registers too.
const REGISTERS: usize = 11;

/// Values that all of a function's crossings may bring over. Each takes some 50
/// bytes of code; beyond that a function would be several times as large as
/// with variables that are shared.
const BROUGHT_MOST: usize = 1 << 11;

/// Where control goes.
#[derive(Clone, Copy)]
pub enum Way {
    ToTwin,
    Back,
}

pub struct Apart<'m> {
    slots: Vec<Slot<'m>>,
    /// By block of the first body, those that are read there or later before
    /// they are written.
    live: HashMap<Block<'m>, Vec<usize>>,
    /// What goes over lies here meanwhile, by type.
    transit: RefCell<HashMap<Type<'m>, Vec<Value<'m>>>>,
}

/// What passes from block to block: where each body has it.
struct Slot<'m> {
    plain: Value<'m>,
    twin: Value<'m>,
    ty: Type<'m>,
}

/// Puts the parameters of a function into memory, as all else that passes from
/// block to block: they are values of the plain body too.
pub fn demote_parameters<'m>(builder: &Builder<'m>, function: Function<'m>) {
    let kept = function.parameters().filter(|at| at.passed_by_value(function).is_none());
    for parameter in kept.collect::<Vec<_>>() {
        let users: Vec<Value<'m>> = parameter.users().collect();
        if users.is_empty() {
            continue;
        }
        let slot = builder.local(function, parameter);
        let mut read: HashMap<Value<'m>, Value<'m>> = HashMap::new();
        for user in users {
            let own = *read.entry(user).or_insert_with(|| {
                builder.before(user);
                builder.load(parameter.ty(), slot)
            });
            for (index, operand) in (0..).zip(user.operands().collect::<Vec<_>>()) {
                if operand == parameter {
                    user.set_operand(index, own);
                }
            }
        }
    }
}

impl<'m> Apart<'m> {
    /// Gives the twins of `blocks` places of their own; `None` if no loop, by
    /// its header, needs so many values that registers are scarce, or all
    /// together need too many.
    pub fn new(
        builder: &Builder<'m>,
        function: Function<'m>,
        blocks: &[Block<'m>],
        twins: &HashMap<Block<'m>, Block<'m>>,
        headers: impl Iterator<Item = Block<'m>>,
    ) -> Option<Apart<'m>> {
        let is_plain = |user: Value<'m>| twins.contains_key(&user.block());
        let mut passed: Vec<(Value<'m>, Type<'m>)> = Vec::new();
        for local in function.entry().instructions().filter(|at| at.is(Opcode::LLVMAlloca)) {
            if let Some(ty) = passed_in(local).filter(|_| local.users().any(is_plain)) {
                passed.push((local, ty));
            }
        }
        let live = live(blocks, &passed);
        let needed: Vec<usize> = headers.map(|header| live[&header].len()).collect();
        if *needed.iter().max()? <= REGISTERS || needed.iter().sum::<usize>() > BROUGHT_MOST {
            return None;
        }
        let mut slots = Vec::new();
        for (plain, ty) in passed {
            let twin = builder.room(function, ty);
            let is_twin = |user: &Value<'m>| !is_plain(*user) && user.block() != function.entry();
            for user in plain.users().filter(is_twin).collect::<Vec<_>>() {
                user.set_operand(if user.is(Opcode::LLVMStore) { 1 } else { 0 }, twin);
            }
            slots.push(Slot { plain, twin, ty });
        }
        Some(Apart { slots, live, transit: RefCell::default() })
    }

    /// Brings what `to` needs from one body to the other, at the end of `block`.
    /// The memory between is volatile, so that no register stays the same. No
    /// pointer is left there, which a scan would take for one of the program's,
    /// but what is one's complement.
    pub fn bring(
        &self,
        builder: &Builder<'m>,
        function: Function<'m>,
        block: Block<'m>,
        to: Block<'m>,
        way: Way,
    ) {
        let pointer = builder.pointer_type();
        let mut used: HashMap<Type<'m>, usize> = HashMap::new();
        let mut moves = Vec::new();
        for Slot { plain, twin, ty } in self.live[&to].iter().map(|&index| &self.slots[index]) {
            let kept = if *ty == pointer { builder.word_type() } else { *ty };
            let number = used.entry(kept).or_default();
            let mut transit = self.transit.borrow_mut();
            let places = transit.entry(kept).or_default();
            if places.len() == *number {
                places.push(builder.room(function, kept));
            }
            let (from, onto) = match way {
                Way::ToTwin => (*plain, *twin),
                Way::Back => (*twin, *plain),
            };
            moves.push((from, places[*number], onto, *ty));
            *number += 1;
        }
        builder.end(block);
        let complement = |word| builder.subtract(builder.word(u64::MAX), word);
        for &(from, place, _, ty) in &moves {
            let value = builder.load(ty, from);
            let kept = if ty == pointer { complement(builder.as_word(value)) } else { value };
            builder.store(kept, place).set_volatile();
        }
        for &(_, place, onto, ty) in &moves {
            let kept = builder.load(if ty == pointer { builder.word_type() } else { ty }, place);
            kept.set_volatile();
            let value = if ty == pointer { builder.as_pointer(complement(kept)) } else { kept };
            builder.store(value, onto);
        }
    }
}

/// The type of what a local holds, if it is only read and written as a whole.
fn passed_in<'m>(local: Value<'m>) -> Option<Type<'m>> {
    let mut types = local.users().map(|user| match user.opcode() {
        Some(Opcode::LLVMLoad) if !user.is_volatile() => Some(user.ty()),
        Some(Opcode::LLVMStore) if !user.is_volatile() && user.operand(0) != local => {
            Some(user.operand(0).ty())
        }
        _ => None,
    });
    let first = types.next()??;
    types.all(|ty| ty == Some(first)).then_some(first)
}

/// By block, the slots that it or a later one reads before any writes them.
fn live<'m>(blocks: &[Block<'m>], slots: &[(Value<'m>, Type<'m>)]) -> HashMap<Block<'m>, Vec<usize>> {
    let index: HashMap<Value<'m>, usize> = slots.iter().map(|&(slot, _)| slot).zip(0..).collect();
    let number: HashMap<Block<'m>, usize> = blocks.iter().copied().zip(0..).collect();
    let nothing = Set(vec![0; slots.len().div_ceil(64)]);
    let (mut read, mut written) = (vec![nothing.clone(); blocks.len()], vec![nothing; blocks.len()]);
    for (at, block) in blocks.iter().enumerate() {
        for instruction in block.instructions() {
            if instruction.is(Opcode::LLVMLoad)
                && let Some(&slot) = index.get(&instruction.operand(0))
                && !written[at].has(slot)
            {
                read[at].add(slot);
            }
            if instruction.is(Opcode::LLVMStore)
                && let Some(&slot) = index.get(&instruction.operand(1))
            {
                written[at].add(slot);
            }
        }
    }
    let next: Vec<Vec<usize>> =
        blocks.iter().map(|block| block.successors().map(|next| number[&next]).collect()).collect();
    let mut changes = true;
    while changes {
        changes = false;
        for at in (0..blocks.len()).rev() {
            for &later in &next[at] {
                let passed = read[later].clone();
                changes |= read[at].add_all(&passed, &written[at]);
            }
        }
    }
    blocks.iter().zip(&read).map(|(&block, live)| (block, live.members().collect())).collect()
}

/// Small numbers, by bits.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    fn add(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Adds what another has but for some; whether that is more.
    fn add_all(&mut self, other: &Set, but: &Set) -> bool {
        let mut more = false;
        for ((own, others), but) in self.0.iter_mut().zip(&other.0).zip(&but.0) {
            let all = *own | others & !but;
            more |= all != *own;
            *own = all;
        }
        more
    }

    fn members(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|&number| self.has(number))
    }
}
