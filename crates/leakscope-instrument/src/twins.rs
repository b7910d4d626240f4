//! Functions with two bodies: one as it was, and a twin to which something is
//! added. Both stand in one function and share its locals, so control can
//! cross from one to the other wherever a check asks for it (Arnold and Ryder,
//! "A Framework for Reducing the Cost of Instrumented Code", PLDI 2001).
//!
//! Crossing is possible because no value passes from block to block but
//! through memory: [`demote`] puts all of them there, and the optimiser takes
//! them out again afterwards.
//!
//! What the twin does more, and who decides where control goes, is not known
//! here.

use std::collections::{HashMap, HashSet};

use crate::apart::{self, Apart, Way};
use crate::builder::Builder;
use crate::debug_info;
use crate::ir::{Block, Opcode, Value};
use crate::llvm::{Function, Kind, Module, PassOptions, Vectors};
use crate::loops::{self, Loop};

/// A function that has two bodies. The first block has the locals, and goes on
/// to either of them.
pub struct Twins<'m> {
    pub function: Function<'m>,
    /// The first block of the body as it was.
    pub start: Block<'m>,
    twins: HashMap<Block<'m>, Block<'m>>,
    added: HashSet<Block<'m>>,
    /// Where the twin keeps which address it read last of those that computed
    /// gotos use.
    gotos: Option<Value<'m>>,
    /// Where each body has its own values, if they are not shared.
    apart: Option<Apart<'m>>,
}

/// The passes that take values out of memory again.
pub const TIDY: &str = "mem2reg,simplifycfg,early-cse,simplifycfg";

/// Whether a function may have two bodies.
pub fn is_possible(function: Function<'_>) -> bool {
    const UNFIT: [&str; 4] = ["naked", "optnone", "presplitcoroutine", "returns_twice"];
    // What may be there once only, or is returned to with registers of a
    // moment that has passed.
    let [once, twice] = ["noduplicate", "returns_twice"].map(Kind::named);
    let has_label = |at: Value<'_>| at.assembler().is_some_and(|text| text.contains(':'));
    !function.is_declaration()
        && !function.is_for_inlining_only()
        && !UNFIT.iter().any(|name| function.is(Kind::named(name)))
        && !function
            .instructions()
            .any(|at| at.is(Opcode::LLVMCallBr) || at.call_is(once) || at.call_is(twice) || has_label(at))
}

/// Readies the functions that `wanted` accepts: their locals get a block for
/// themselves, and what passes from block to block does so through memory.
pub fn demote(module: &mut Module<'_>, wanted: &HashSet<String>) -> Result<(), String> {
    // The pass leaves out what is not to be optimised.
    let [untouched, apart] = ["optnone", "noinline"].map(Kind::named);
    let mut others = Vec::new();
    {
        let builder = Builder::new(module);
        for function in module.functions().filter(|function| !function.is_declaration()) {
            if wanted.contains(function.name()) {
                part_locals(&builder, function);
                step_where_used(&builder, function);
            } else if !function.is(untouched) {
                others.push((function.name().to_owned(), function.is(apart)));
                function.set(untouched);
                function.set(apart);
            }
        }
    }
    module.run_passes("function(reg2mem)", &PassOptions::new(Vectors::None))?;
    for (name, was_apart) in others {
        let Some(function) = module.function(&name) else { continue };
        function.unset(untouched);
        if !was_apart {
            function.unset(apart);
        }
    }
    Ok(())
}

/// Puts the locals of a function into a block before all others. Arrays of
/// variable length stay where they are.
pub fn part_locals<'m>(builder: &Builder<'m>, function: Function<'m>) {
    let body = function.entry();
    let locals: Vec<Value<'m>> =
        body.instructions().filter(|at| at.is(Opcode::LLVMAlloca) && at.operand(0).is_constant()).collect();
    let first = builder.block(function, c"locals");
    first.move_before(body);
    builder.end(first);
    for local in locals {
        builder.take_over(local);
    }
    builder.jump(body);
}

/// Computes what lies at a fixed distance from a pointer in each block anew, so
/// that only the pointer passes between blocks. Else the results of both bodies
/// would meet at each check, and could not be part of an instruction's address.
fn step_where_used<'m>(builder: &Builder<'m>, function: Function<'m>) {
    let (ends, others): (Vec<_>, Vec<_>) = function.instructions().partition(|at| at.is(Opcode::LLVMPHI));
    let mut near = Near { builder, made: HashMap::new() };
    for at in others {
        for (index, operand) in (0..).zip(at.operands().collect::<Vec<_>>()) {
            if let Some(own) = near.step(operand, at) {
                at.set_operand(index, own);
            }
        }
    }
    for at in ends {
        for (index, (block, value)) in (0..).zip(at.incoming().collect::<Vec<_>>()) {
            if let Some(own) = block.terminator().and_then(|end| near.step(value, end)) {
                at.set_operand(index, own);
            }
        }
    }
}

/// Steps that were made where they are used.
struct Near<'b, 'm> {
    builder: &'b Builder<'m>,
    made: HashMap<(Block<'m>, Value<'m>), Value<'m>>,
}

impl<'m> Near<'_, 'm> {
    /// The same as `value` if that is a fixed step in another block, made
    /// before `at`.
    fn step(&mut self, value: Value<'m>, at: Value<'m>) -> Option<Value<'m>> {
        if !is_fixed_step(value) || value.block() == at.block() {
            return None;
        }
        if let Some(&made) = self.made.get(&(at.block(), value)) {
            return Some(made);
        }
        let base = self.step(value.operand(0), at);
        self.builder.before(at);
        let own = self.builder.copy(value);
        if let Some(base) = base {
            own.set_operand(0, base);
        }
        self.made.insert((at.block(), value), own);
        Some(own)
    }
}

fn is_fixed_step(value: Value<'_>) -> bool {
    value.is(Opcode::LLVMGetElementPtr)
        && value.ty().is_pointer()
        && value.operands().skip(1).all(|index| index.is_constant())
}

impl<'m> Twins<'m> {
    /// Gives a function its second body, to which nothing leads yet; `None`
    /// where values still pass between blocks.
    pub fn make(builder: &Builder<'m>, function: Function<'m>) -> Option<Twins<'m>> {
        let first = function.entry();
        let [start] = first.successors().collect::<Vec<_>>()[..] else { return None };
        let blocks: Vec<Block<'m>> = function.blocks().filter(|&block| block != first).collect();
        if !blocks.iter().all(|&block| stands_alone(block, first)) {
            return None;
        }
        let twins: HashMap<Block<'m>, Block<'m>> =
            blocks.iter().map(|&block| (block, builder.block(function, c"twin"))).collect();
        let mut copies = HashMap::new();
        for block in &blocks {
            builder.end(twins[block]);
            for at in block.instructions().filter(|at| !declares_variable(*at)) {
                copies.insert(at, builder.copy(at));
            }
        }
        for copy in blocks.iter().flat_map(|block| twins[block].instructions()) {
            if copy.is_intrinsic() {
                debug_info::retell(copy, |value| copies.get(&value).copied());
            }
            for (index, operand) in (0..).zip(copy.operands()) {
                if let Some(&own) = copies.get(&operand) {
                    copy.set_operand(index, own);
                }
            }
            for (index, successor) in (0..).zip(copy.successors().collect::<Vec<_>>()) {
                if !copy.is(Opcode::LLVMIndirectBr) {
                    copy.set_successor(index, twins[&successor]);
                }
            }
        }
        let added = twins.values().copied().collect();
        let mut twins = Twins { function, start, twins, added, gotos: None, apart: None };
        twins.stay_at_computed_gotos(builder);
        Some(twins)
    }

    /// The same, with values of its own for each body where that helps ([`apart`]).
    pub fn make_apart(builder: &Builder<'m>, function: Function<'m>) -> Option<Twins<'m>> {
        apart::demote_parameters(builder, function);
        let mut twins = Twins::make(builder, function)?;
        let blocks: Vec<Block<'m>> = twins.blocks().collect();
        let headers = loops::find(twins.start).into_iter().map(|at| at.header);
        twins.apart = Apart::new(builder, function, &blocks, &twins.twins, headers);
        Some(twins)
    }

    /// A computed goto knows addresses of the first body alone. In the twin
    /// they are compared, first the one that stands in the table where an
    /// address was read last, then one by one.
    fn stay_at_computed_gotos(&mut self, builder: &Builder<'m>) {
        let twins: Vec<Block<'m>> = self.blocks().map(|block| self.of(block)).collect();
        let end = |block: &Block<'m>| block.terminator().filter(|at| at.is(Opcode::LLVMIndirectBr));
        let gotos: Vec<Value<'m>> = twins.iter().filter_map(end).collect();
        if gotos.is_empty() {
            return;
        }
        let gotos_tables = Gotos::of(builder, self.function, &twins);
        for goto in gotos {
            let (block, target) = (goto.block(), goto.operand(0));
            let targets: Vec<Block<'m>> = goto.successors().collect();
            goto.erase();
            let Some((&last, others)) = targets.split_last() else { continue };
            let slow = builder.block(self.function, c"goto");
            builder.end(slow);
            for &other in others {
                let next = builder.block(self.function, c"goto");
                let is_other = builder.equal(target, builder.address_of(self.function, other));
                builder.branch(is_other, self.of(other), next);
                builder.end(next);
            }
            builder.jump(self.of(last));
            let mut ways = Vec::new();
            for (number, &to) in (0..).zip(&gotos_tables.targets).filter(|(_, to)| targets.contains(to)) {
                let check = builder.block(self.function, c"goto");
                builder.end(check);
                let is_it = builder.equal(target, builder.address_of(self.function, to));
                builder.branch(is_it, self.of(to), slow);
                ways.push((number, check));
            }
            builder.end(block);
            let number = builder.load(builder.word_type(), gotos_tables.read);
            builder.switch(number, &ways, slow);
        }
        self.gotos = Some(gotos_tables.read);
    }

    /// The blocks of the first body.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'m>> + use<'m> {
        let mut blocks: Vec<Block<'m>> = self.twins.keys().copied().collect();
        let order: HashMap<Block<'m>, usize> = self.function.blocks().zip(0..).collect();
        blocks.sort_by_key(|block| order[block]);
        blocks.into_iter()
    }

    /// Whether a block is a twin.
    pub fn has(&self, block: Block<'m>) -> bool {
        self.added.contains(&block)
    }

    /// The twin of a block of the first body.
    pub fn of(&self, block: Block<'m>) -> Block<'m> {
        self.twins[&block]
    }

    /// Where the function begins, `decide` says by a bit whether the twin
    /// runs; `arrive` is done on the way there.
    pub fn enter(
        &self,
        builder: &Builder<'m>,
        decide: impl FnOnce(&Builder<'m>) -> Value<'m>,
        arrive: impl FnOnce(&Builder<'m>),
    ) {
        let first = self.function.entry();
        first.terminator().expect("it goes on to the body").erase();
        let arrival = self.arrival(builder, self.start, arrive);
        builder.end(first);
        let twin = decide(builder);
        builder.branch(twin, arrival, self.start);
    }

    /// The ways of the first body to the header of a loop go through a check,
    /// with `arrive` on the way to the twin; the ways back in the twin through
    /// another, which leads to the first: so each body still has a loop with one
    /// entry. Returns the first check.
    pub fn cross_over(
        &self,
        builder: &Builder<'m>,
        at: &Loop<'m>,
        [decide, stay]: [impl FnOnce(&Builder<'m>) -> Value<'m>; 2],
        arrive: impl FnOnce(&Builder<'m>),
    ) -> Block<'m> {
        let arrival = self.arrival(builder, at.header, arrive);
        let check = self.check(builder, arrival, at.header, decide);
        for block in self.blocks() {
            redirect(block, &[at.header], check);
        }
        let departure = self.departure(builder, at.header, check);
        let stays = self.check(builder, self.of(at.header), departure, stay);
        for &latch in &at.latches {
            redirect(self.of(latch), &[self.of(at.header)], stays);
        }
        check
    }

    /// A block before the twin of another.
    fn arrival(&self, builder: &Builder<'m>, to: Block<'m>, arrive: impl FnOnce(&Builder<'m>)) -> Block<'m> {
        let arrival = builder.block(self.function, c"arrival");
        builder.end(arrival);
        if let Some(apart) = &self.apart {
            apart.bring(builder, self.function, arrival, to, Way::ToTwin);
        }
        if let Some(read) = self.gotos {
            builder.store(builder.word(u64::MAX), read);
        }
        arrive(builder);
        builder.jump(self.of(to));
        arrival
    }

    /// Where the twin goes to reach the first body at `to`, by way of `next`.
    fn departure(&self, builder: &Builder<'m>, to: Block<'m>, next: Block<'m>) -> Block<'m> {
        let Some(apart) = &self.apart else { return next };
        let departure = builder.block(self.function, c"departure");
        apart.bring(builder, self.function, departure, to, Way::Back);
        builder.jump(next);
        departure
    }

    /// The ways back to the header of a loop go through a check, in each body
    /// through its own: so each still has a loop with one entry, and one block
    /// before it. Who enters the loop stays in the body in which he is.
    pub fn cross_back(
        &self,
        builder: &Builder<'m>,
        at: &Loop<'m>,
        [decide, stay]: [impl FnOnce(&Builder<'m>) -> Value<'m>; 2],
    ) {
        let before = builder.block(self.function, c"before");
        before.move_before(at.header);
        let others = self.function.blocks().filter(|block| *block != before && !at.latches.contains(block));
        for block in others.collect::<Vec<_>>() {
            redirect(block, &[at.header], before);
        }
        builder.end(before);
        builder.jump(at.header);
        let arrival = self.arrival(builder, at.header, |_| {});
        let check = self.check(builder, arrival, at.header, decide);
        for &latch in &at.latches {
            redirect(latch, &[at.header], check);
        }
        let departure = self.departure(builder, at.header, before);
        let stays = self.check(builder, self.of(at.header), departure, stay);
        for &latch in &at.latches {
            redirect(self.of(latch), &[self.of(at.header)], stays);
        }
    }

    /// The ways back to `header` in the twin alone go through a check.
    pub fn leave(
        &self,
        builder: &Builder<'m>,
        header: Block<'m>,
        latches: &[Block<'m>],
        decide: impl FnOnce(&Builder<'m>) -> Value<'m>,
    ) {
        let departure = self.departure(builder, header, header);
        let check = self.check(builder, self.of(header), departure, decide);
        for &latch in latches {
            redirect(self.of(latch), &[self.of(header)], check);
        }
    }

    /// A block that asks which of two blocks comes.
    fn check(
        &self,
        builder: &Builder<'m>,
        twin: Block<'m>,
        otherwise: Block<'m>,
        decide: impl FnOnce(&Builder<'m>) -> Value<'m>,
    ) -> Block<'m> {
        let check = builder.block(self.function, c"check");
        check.move_before(otherwise);
        builder.end(check);
        let is_twin = decide(builder);
        builder.branch(is_twin, twin, otherwise);
        check
    }
}

/// Tables of blocks, as computed gotos use them.
struct Gotos<'m> {
    /// What all tables have, one after the other.
    targets: Vec<Block<'m>>,
    /// A local for the number of the one that was read last.
    read: Value<'m>,
}

impl<'m> Gotos<'m> {
    /// Notes what is read from tables in these blocks.
    fn of(builder: &Builder<'m>, function: Function<'m>, blocks: &[Block<'m>]) -> Gotos<'m> {
        let mut gotos = Gotos { targets: Vec::new(), read: builder.room(function, builder.word_type()) };
        let mut tables: Vec<(Value<'m>, u64)> = Vec::new();
        let is_read = |at: &Value<'m>| at.is(Opcode::LLVMLoad) && at.ty().is_pointer();
        for load in blocks.iter().flat_map(|block| block.instructions()).filter(is_read).collect::<Vec<_>>() {
            let table = load.operand(0).without_steps();
            let known = tables.iter().find(|(known, _)| *known == table).map(|&(_, first)| first);
            let first = known.or_else(|| {
                let first = gotos.targets.len() as u64;
                gotos.targets.extend(table.table_of_blocks(function)?);
                tables.push((table, first));
                Some(first)
            });
            let Some(first) = first else { continue };
            builder.before(load).nowhere();
            let [place, start] = [load.operand(0), table].map(|address| builder.as_word(address));
            let number = builder.divide(builder.subtract(place, start), size_of::<u64>() as u64);
            builder.store(builder.add(number, builder.word(first)), gotos.read);
        }
        gotos
    }
}

/// Sends a block's ways to others elsewhere. Computed gotos keep theirs.
fn redirect<'m>(block: Block<'m>, from: &[Block<'m>], to: Block<'m>) {
    let Some(terminator) = block.terminator().filter(|at| !at.is(Opcode::LLVMIndirectBr)) else { return };
    for (index, successor) in (0..).zip(terminator.successors().collect::<Vec<_>>()) {
        if from.contains(&successor) {
            terminator.set_successor(index, to);
        }
    }
}

/// Whether a block uses values of its own and locals only.
fn stands_alone<'m>(block: Block<'m>, locals: Block<'m>) -> bool {
    let is_near =
        |value: Value<'m>| value.opcode().is_none() || value.block() == block || value.block() == locals;
    block.instructions().all(|at| !at.is(Opcode::LLVMPHI) && at.operands().all(is_near))
}

/// Whether an instruction says where a variable is for as long as it lives.
fn declares_variable(at: Value<'_>) -> bool {
    at.is_intrinsic() && at.called_name() == Some("llvm.dbg.declare")
}
