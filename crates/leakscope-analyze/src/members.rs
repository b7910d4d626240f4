//! What bodies do with members of records: which they release, hand on, or fill
//! with new blocks. By types and the flow of values in one body; of callees,
//! only whether they release or keep an argument.

use leakscope_ir::{
    BlockId, Body, Call, Callee, FuncId, Instruction, Op, Operand, Shape, Spot, Type, TypeId, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::effects::{Effects, Made, Use, Values};
use crate::records::{Member, Records};
use crate::types::Types;
use crate::value::{Base, SymbolId, SymbolKey};

mod turns;
mod ways;

/// A place where an element is released.
pub struct End {
    pub record: TypeId,
    pub at: Spot,
    pub block: BlockId,
    pub callee: FuncId,
    pub variable: Option<String>,
    pub from: Source,
    /// Numbers in the element that are one constant wherever this is reached.
    pub tags: Vec<Member>,
}

/// A new block is stored in a member: by whom it is made, and where.
#[derive(Clone, Copy)]
pub struct Filled {
    pub member: Member,
    pub by: FuncId,
    pub at: Spot,
    /// The element was made here too.
    pub is_first: bool,
}

/// A new value is stored in a member of an element that was found.
pub struct Replaced {
    pub member: Member,
    pub at: Spot,
    pub variable: Option<String>,
    /// Of an array, at a place that has its turn again and again, and of which
    /// nothing was looked at.
    pub in_turn: bool,
    by: ValueId,
}

/// A new block, or null, is stored in a member of what was there before, in a
/// function that used the one in it, as to copy it.
pub struct Outgrown {
    pub member: Member,
    pub at: Spot,
    pub variable: Option<String>,
    pub is_cleared: bool,
    by: ValueId,
}

/// Where an element comes from that is released.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Memory,
    Parameter,
    /// It was made here.
    New,
}

/// What one body does.
#[derive(Default)]
pub struct Facts {
    pub freed: Vec<(Member, BlockId)>,
    /// The calls that do it.
    pub freed_at: Vec<(Member, Spot)>,
    pub kept: FxHashSet<Member>,
    /// From one place to another.
    pub kept_parts: Vec<(TypeId, i64, i64)>,
    /// Compared with null, or written to.
    pub touched: FxHashSet<Member>,
    /// Records as a whole.
    pub seen_to: FxHashSet<TypeId>,
    pub filled: FxHashSet<TypeId>,
    pub ends: Vec<End>,
    /// Released whenever the element is, and only at times.
    pub always: FxHashSet<Member>,
    pub at_times: FxHashSet<Member>,
    pub made: Vec<Filled>,
    /// New blocks are stored in elements that were made here, and in others.
    pub set_up: FxHashSet<Member>,
    pub replaced: Vec<Replaced>,
    pub outgrown: Vec<Outgrown>,
    /// Loaded from elements of arrays that have their turn again and again.
    pub turns: FxHashSet<Member>,
    /// Written to in an element that was not made here.
    pub rewritten: FxHashSet<Member>,
    /// Records that are made here, and by which function.
    pub makes: FxHashSet<(TypeId, FuncId)>,
    pub foreign: FxHashSet<Member>,
    pub foreign_records: FxHashSet<TypeId>,
}

impl Facts {
    /// Whether a new block is stored in a member.
    pub fn refills(&self, member: Member) -> bool {
        self.made.iter().any(|filled| filled.member == member)
    }

    /// Whether places that have their turn may be without a block afterwards.
    pub fn empties(&self, member: Member) -> bool {
        self.turns.contains(&member) && !self.refills(member)
    }

    pub fn handles(&self, member: Member) -> bool {
        self.seen_to.contains(&member.0)
            || self.kept.contains(&member)
            || self.freed.iter().any(|(freed, _)| *freed == member)
            || self
                .kept_parts
                .iter()
                .any(|&(record, from, to)| record == member.0 && (from..to).contains(&member.1))
    }
}

pub struct Finder<'f, 'a> {
    effects: &'f Effects<'a>,
    records: &'f Records<'a>,
    id: FuncId,
    body: &'a Body,
    values: Values<'a>,
    types: Types<'f, 'a>,
    /// By comparison with null, what is compared.
    tests: FxHashMap<ValueId, Vec<Member>>,
    /// What was loaded to be compared with null.
    looks: Vec<(Member, ValueId)>,
    /// Records of which something is loaded.
    read: FxHashSet<TypeId>,
    facts: Facts,
}

/// Bytes of the last member of a record.
const WORD: i64 = 8;

impl<'f, 'a> Finder<'f, 'a> {
    pub fn new(effects: &'f Effects<'a>, records: &'f Records<'a>, id: FuncId) -> Option<Finder<'f, 'a>> {
        let function = effects.world.program.function(id);
        let body = function.body.as_ref().filter(|_| effects.world.model(id).is_none())?;
        let values = Values::new(body);
        Some(Finder {
            effects,
            records,
            id,
            body,
            types: Types::new(records, function, body, &values),
            values,
            tests: FxHashMap::default(),
            looks: Vec::new(),
            read: FxHashSet::default(),
            facts: Facts::default(),
        })
    }

    fn instructions(&self) -> impl Iterator<Item = &'a Instruction> + use<'a> {
        self.body.blocks.iter().flat_map(|block| &block.instructions)
    }

    /// The members that an address is of, seen from each record around.
    fn members(&self, address: &Operand) -> Vec<Member> {
        self.types.members(&self.values, address)
    }

    fn is_local(&self, address: &Operand) -> bool {
        let mut next = address;
        while let Operand::Value(value) = next {
            next = match self.values.op(*value) {
                Some(Op::Step { base: from, .. } | Op::Cast { value: from, .. }) => from,
                Some(Op::Local { .. }) => return true,
                _ => return false,
            };
        }
        false
    }

    pub fn facts(mut self) -> Facts {
        for instruction in self.instructions() {
            match &instruction.op {
                Op::Load { from, shape } => {
                    let members = self.members(from);
                    if matches!(shape, Shape::Scalar { is_pointer: true, .. }) && !members.is_empty() {
                        self.note_uses(&members, instruction.result);
                        if self.has_turns(from) {
                            self.facts.turns.extend(&members);
                        }
                    }
                    self.note_whole(&members, shape);
                }
                Op::Store { to, value, shape } => self.note_store(instruction, to, value, shape),
                Op::Copy { to, from, .. } => {
                    let (source, target) = (self.members(from), self.members(to));
                    self.facts.seen_to.extend(source.iter().map(|(record, _)| record));
                    let is_same = target.iter().any(|member| source.contains(member)) && !self.is_local(from);
                    if !is_same {
                        self.facts.foreign_records.extend(target.iter().map(|(record, _)| record));
                    }
                }
                Op::Fill { to, .. } => {
                    let records: Vec<TypeId> = self.members(to).iter().map(|(record, _)| *record).collect();
                    self.facts.filled.extend(records);
                }
                Op::Exchange { at, .. } => {
                    let members = self.members(at);
                    self.facts.kept.extend(&members);
                    self.facts.foreign.extend(members);
                }
                Op::Call(call) => self.note_call(instruction, call),
                _ => {}
            }
        }
        self.note_pairs();
        for index in 0..self.facts.ends.len() {
            self.facts.ends[index].tags = self.tags(&self.facts.ends[index]);
        }
        let mut replaced = std::mem::take(&mut self.facts.replaced);
        replaced.retain(|store| {
            let is_read = store.in_turn && self.read.contains(&store.member.0);
            !is_read && !self.is_tested_before(store)
        });
        self.facts.replaced = replaced;
        let mut outgrown = std::mem::take(&mut self.facts.outgrown);
        outgrown.retain(|store| !self.is_where_null(store));
        self.facts.outgrown = outgrown;
        self.facts
    }

    /// Which members are released with their elements.
    fn note_pairs(&mut self) {
        for end in &self.facts.ends {
            for &(member, _) in self.facts.freed.iter().filter(|(member, _)| member.0 == end.record) {
                if self.is_skipped(member, end.block) {
                    self.facts.at_times.insert(member);
                } else {
                    self.facts.always.insert(member);
                }
            }
        }
    }

    /// A record that is loaded in registers, all of it.
    fn note_whole(&mut self, members: &[Member], shape: &Shape) {
        let records = || members.iter().map(|(record, _)| *record);
        self.read.extend(records());
        if matches!(shape, Shape::Record(_)) {
            self.facts.seen_to.extend(records());
        }
    }

    fn note_uses(&mut self, members: &[Member], value: ValueId) {
        let Finder { id, values, facts, effects, tests, looks, .. } = self;
        values.each_use(value, &mut |how| match how {
            Use::Argument(call, Call { callee, .. }, at) => {
                let callees = effects.world.callees(*id, call.result, callee);
                let each = || callees.iter().map(|callee| effects.of(*callee, *at));
                let (frees, keeps) = (
                    each().any(|effect| effect.frees),
                    callees.is_empty() || each().any(|effect| effect.keeps),
                );
                if frees {
                    let block = values.block_of[call.result.0 as usize];
                    facts.freed.extend(members.iter().map(|member| (*member, block)));
                    facts.freed_at.extend(members.iter().map(|member| (*member, call.at)));
                }
                if keeps && !frees {
                    facts.kept.extend(members);
                }
            }
            Use::Tested(by) => {
                facts.touched.extend(members);
                looks.extend(members.iter().map(|&member| (member, value)));
                tests.entry(*by).or_default().extend(members);
            }
            Use::Stored | Use::Returned | Use::Kept => facts.kept.extend(members),
            Use::Flows(_) => {}
        });
    }

    fn note_store(&mut self, instruction: &Instruction, to: &Operand, value: &Operand, shape: &Shape) {
        let at = instruction.at;
        let members = self.members(to);
        if members.is_empty() || self.is_local(to) {
            return;
        }
        let next = self.base(to);
        let (is_new, is_found) = self.origins(next);
        // What is made here is no element that others forget.
        if !is_new || is_found {
            self.facts.touched.extend(&members);
        }
        if matches!(shape, Shape::Record(_)) {
            return self.facts.foreign_records.extend(members.iter().map(|(record, _)| record));
        }
        if !is_new {
            self.facts.rewritten.extend(&members);
        }
        if is_new && *value != Operand::Int(0) {
            self.facts.set_up.extend(&members);
        }
        let name = match next {
            Operand::Value(value) => self.variable(*value),
            _ => self.variable_around(to),
        };
        let in_turn = !is_new && self.has_turns(to);
        if (is_found || in_turn) && *value != Operand::Int(0) {
            let by = instruction.result;
            let replaced = |&member| Replaced { member, at, in_turn, by, variable: name.clone() };
            self.facts.replaced.extend(members.iter().map(replaced));
        }
        let (by, is_cleared) = (instruction.result, *value == Operand::Int(0));
        let outgrown = |&member| Outgrown { member, at, variable: name.clone(), is_cleared, by };
        let is_outgrown =
            |own: &Self| !is_new && own.is_used_before(next, instruction.result, &members, value);
        for source in self.values.sources(value) {
            match self.source_of(source, &members) {
                Stored::Nothing if *value == Operand::Int(0) && is_outgrown(self) => {
                    self.facts.outgrown.extend(members.iter().map(outgrown));
                }
                Stored::Nothing => {}
                Stored::New(by, at) => {
                    let is_first = is_new;
                    let filled = |&member| Filled { member, by, at, is_first };
                    self.facts.made.extend(members.iter().map(filled));
                    if is_outgrown(self) {
                        self.facts.outgrown.extend(members.iter().map(outgrown));
                    }
                }
                Stored::Foreign => self.facts.foreign.extend(&members),
            }
        }
    }

    fn source_of(&self, source: &Operand, members: &[Member]) -> Stored {
        let value = match source {
            Operand::Int(0) => return Stored::Nothing,
            Operand::Value(value) => *value,
            _ => return Stored::Foreign,
        };
        if let Some(Op::Load { from, .. }) = self.values.op(value)
            && self.members(from).iter().any(|member| members.contains(member))
        {
            return Stored::Nothing;
        }
        let mut made = Made::default();
        let is_single = made.add(self.effects.world, self.id, &self.values, value, 1).is_some();
        match made.by.first() {
            Some(&(by, at)) if is_single && self.effects.is_new(&made) => Stored::New(by, at),
            _ => Stored::Foreign,
        }
    }

    fn note_call(&mut self, instruction: &Instruction, call: &Call) {
        if let Callee::Function(callee) = call.callee
            && self.effects.is_maker[callee.0 as usize]
        {
            let made = self.types.of(instruction.result).iter().copied();
            let made = made.filter(|ty| self.records.is_record(*ty));
            self.facts.makes.extend(made.map(|ty| (ty, callee)));
        }
        for (at, argument) in (0..).zip(&call.arguments) {
            let Operand::Value(value) = argument else { continue };
            let members = self.members(argument);
            if members.is_empty() {
                continue;
            }
            let Callee::Function(callee) = call.callee else {
                self.facts.seen_to.extend(members.iter().map(|(record, _)| record));
                continue;
            };
            let own = self.types.of(*value).iter().copied();
            let own: Vec<TypeId> = own.filter(|ty| self.records.is_record(*ty)).collect();
            self.note_parts(callee, at, argument, &members, instruction.at);
            let effect = self.effects.of(callee, at);
            let program = self.records.program;
            let expected = program.function(callee).types.get(at as usize + 1).copied().flatten();
            let expected = self.records.pointee(expected);
            let has_body = program.function(callee).body.is_some();
            // Functions of a base see to what is the base's.
            let starts =
                |whole: &TypeId| expected.filter(|part| has_body && self.records.starts_with(*whole, *part));
            let parts = own.iter().filter_map(|whole| Some((*whole, 0, self.length(starts(whole)?))));
            let parts: Vec<(TypeId, i64, i64)> = parts.collect();
            if expected.is_some_and(|expected| !own.contains(&expected)) || effect.keeps && !has_body {
                let is_seen = |whole: &&TypeId| !parts.iter().any(|(part, ..)| part == *whole);
                self.facts.seen_to.extend(own.iter().filter(is_seen));
            }
            self.facts.kept_parts.extend(parts);
            if let (true, [record]) = (effect.frees, own.as_slice()) {
                let end = End {
                    record: *record,
                    at: instruction.at,
                    block: self.values.block_of[instruction.result.0 as usize],
                    callee,
                    variable: self.variable(*value),
                    from: self.origin(argument),
                    tags: Vec::new(),
                };
                self.facts.ends.push(end);
            }
        }
    }

    /// The address of a member is handed on, or of a record to what knows it.
    fn note_parts(&mut self, callee: FuncId, at: u32, argument: &Operand, members: &[Member], spot: Spot) {
        let model = self.effects.world.model(callee);
        let is_it =
            |id: SymbolId| model.is_some_and(|model| *model.symbols.key(id) == SymbolKey::Parameter(at));
        let is_base = |base: &Base| matches!(base, Base::Symbol(id) if is_it(*id));
        let cases = || model.into_iter().flat_map(|model| &model.cases);
        let is_inside = |id: &SymbolId| {
            model.is_some_and(
                |model| matches!(model.symbols.key(*id), SymbolKey::Content(base, _) if is_base(base)),
            )
        };
        let makes =
            cases().flat_map(|case| &case.writes).any(|write| is_base(&write.base) && write.value.has_heap());
        let is_part = matches!(argument, Operand::Value(value) if matches!(self.values.op(*value), Some(Op::Step { terms, .. }) if terms.is_empty()));
        if is_part && makes {
            self.facts.touched.extend(members);
            let filled = |&member| Filled { member, by: callee, at: spot, is_first: false };
            self.facts.made.extend(members.iter().map(filled));
        } else if is_part {
            for &(record, from) in members {
                let length = self.records.field((record, from)).map_or(WORD, |(ty, _)| self.length(ty));
                self.facts.kept_parts.push((record, from, from + length));
                if length == WORD {
                    self.facts.foreign.insert((record, from));
                }
            }
        } else if makes || cases().flat_map(|case| &case.freed).any(is_inside) {
            self.facts.seen_to.extend(members.iter().map(|(record, _)| record));
        }
    }

    fn length(&self, ty: TypeId) -> i64 {
        match self.records.ty(ty) {
            Type::Record(fields) => {
                fields.iter().map(|field| field.offset + self.length(field.ty)).max().unwrap_or(WORD)
            }
            _ => WORD,
        }
    }

    /// The variable that leads to an address.
    fn variable_around(&self, address: &Operand) -> Option<String> {
        let Operand::Value(value) = address else { return None };
        self.variable(*value).or_else(|| match self.values.op(*value)? {
            Op::Step { base: from, .. } | Op::Cast { value: from, .. } => self.variable_around(from),
            _ => None,
        })
    }

    fn variable(&self, value: ValueId) -> Option<String> {
        self.instructions().find_map(|instruction| match &instruction.op {
            Op::Name { variable, value: Operand::Value(named) } if *named == value => {
                Some(self.body.variables[variable.0 as usize].name.clone())
            }
            _ => None,
        })
    }

    /// Where an element comes from. The next one of its kind comes from where it
    /// does.
    fn origin(&self, element: &Operand) -> Source {
        match self.origins(element) {
            (true, _) => Source::New,
            (_, true) => Source::Memory,
            _ => Source::Parameter,
        }
    }

    /// Whether it may be made here, and whether it may be found in memory.
    fn origins(&self, element: &Operand) -> (bool, bool) {
        let (mut open, mut seen) = (self.values.sources(element), FxHashSet::default());
        let (mut is_new, mut is_found) = (false, false);
        while let Some(operand) = open.pop() {
            let Operand::Value(value) = operand else { continue };
            if !seen.insert(*value) {
                continue;
            }
            let own = self.types.of(*value);
            match self.values.op(*value) {
                None => {}
                Some(Op::Load { from, .. }) if self.members(from).iter().any(|(of, _)| own.contains(of)) => {
                    open.extend(self.values.sources(self.base(from)));
                }
                Some(Op::Call(Call { callee: Callee::Function(callee), .. }))
                    if self.effects.is_maker[callee.0 as usize] =>
                {
                    is_new = true;
                }
                Some(Op::Load { from, .. }) if self.is_filled(from, *value) => is_new = true,
                _ => is_found = true,
            }
        }
        (is_new, is_found)
    }

    /// Whether a new block is put at an address before it is loaded, by a store or
    /// by who is given it.
    fn is_filled(&self, address: &Operand, loaded: ValueId) -> bool {
        let Operand::Value(at) = address else { return false };
        let is_new = |value: &Operand| match value {
            Operand::Value(value) => matches!(
                self.values.op(*value),
                Some(Op::Call(Call { callee: Callee::Function(callee), .. }))
                    if self.effects.is_maker[callee.0 as usize]
            ),
            _ => false,
        };
        let mut is_filled = self
            .instructions()
            .take_while(|made| made.result != loaded)
            .any(|made| matches!(&made.op, Op::Store { to, value, .. } if to == address && is_new(value)));
        self.values.each_use(*at, &mut |how| {
            if let Use::Argument(made, Call { callee: Callee::Function(callee), .. }, argument) = how {
                is_filled |= made.result < loaded && self.effects.fills(*callee, *argument);
            }
        });
        is_filled
    }

    /// The pointer that an address was computed from.
    fn base<'o>(&self, address: &'o Operand) -> &'o Operand
    where
        'a: 'o,
    {
        let mut next = address;
        while let Operand::Value(value) = next
            && let Some(Op::Step { base: from, .. } | Op::Cast { value: from, .. }) = self.values.op(*value)
        {
            next = from;
        }
        next
    }
}

enum Stored {
    Nothing,
    New(FuncId, Spot),
    Foreign,
}
