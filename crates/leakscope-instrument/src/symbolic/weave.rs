//! Terms beside the values of one function.

use std::collections::{HashMap, HashSet};

use leakscope_wire::symbolic::{Op, What};
use llvm_sys::LLVMIntPredicate::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};
use llvm_sys::{LLVMIntPredicate, LLVMTypeKind};

use super::helpers::{Helpers, TURNED, thread};
use super::places::{Places, begins_line};
use super::values::{self, Leaf, chosen, leaves, open_values};
use crate::builder::Builder;
use crate::ir::{Block, Callee, Opcode, Type, Value};
use crate::llvm::{Function, Layout, Module};

/// Adds terms to a function.
pub fn weave<'m>(
    module: &'m Module<'_>,
    builder: &Builder<'m>,
    helpers: &Helpers<'m>,
    places: &mut Places<'_, 'm>,
    function: Function<'m>,
) {
    let layout = module.layout();
    let place = places.of_function(function);
    let mut weaver = Weaver {
        builder,
        helpers,
        places,
        function,
        place,
        layout,
        thread: builder.thread_word(thread::NAME),
        depth: builder.word(0),
        open: open_values(layout, function),
        terms: HashMap::new(),
        positions: function.blocks().enumerate().map(|(index, block)| (block, index)).collect(),
    };
    weaver.run();
}

pub struct Weaver<'a, 'b, 'm> {
    pub builder: &'a Builder<'m>,
    pub helpers: &'a Helpers<'m>,
    pub places: &'a mut Places<'b, 'm>,
    pub function: Function<'m>,
    /// Its own.
    pub place: Value<'m>,
    pub layout: Layout<'m>,
    /// The thread's words.
    thread: Value<'m>,
    /// Calls under way where the function begins.
    pub depth: Value<'m>,
    open: HashSet<Value<'m>>,
    /// One for each leaf.
    terms: HashMap<Value<'m>, Vec<Value<'m>>>,
    positions: HashMap<Block<'m>, usize>,
}

impl<'m> Weaver<'_, '_, 'm> {
    fn run(&mut self) {
        let blocks = reverse_postorder(self.function.entry());
        let bodies: Vec<Vec<Value<'m>>> = blocks.iter().map(|block| block.instructions().collect()).collect();
        self.enter();
        for at in bodies.iter().flatten().filter(|at| at.is(Opcode::LLVMPHI)) {
            self.begin_phi(*at);
        }
        for body in &bodies {
            let mut line = 0;
            for &at in body.iter().filter(|at| !at.is(Opcode::LLVMPHI)) {
                let here = at.location().map_or(0, |location| location.line());
                if begins_line(at) && here != line {
                    line = here;
                    let place = self.places.of_line(at);
                    self.builder.before(at);
                    self.builder.call(self.helpers.point, &[place]);
                }
                self.instruction(at);
            }
        }
        for at in bodies.iter().flatten().filter(|at| at.is(Opcode::LLVMPHI)) {
            self.end_phi(*at);
        }
    }

    pub fn int(&self, value: u32) -> Value<'m> {
        // SAFETY: a type of this context.
        Value::new(unsafe { LLVMConstInt(self.term_type().raw, value.into(), 0) })
    }

    fn term_type(&self) -> Type<'m> {
        // SAFETY: a live context.
        Type::new(unsafe { LLVMInt32TypeInContext(self.builder.context()) })
    }

    /// One of the thread's words.
    pub fn word_at(&self, word: u64) -> Value<'m> {
        self.builder.constant_offset(self.thread, 8 * word)
    }

    /// Terms of a value's leaves.
    pub fn terms_of(&self, value: Value<'m>) -> Vec<Value<'m>> {
        match self.terms.get(&value) {
            Some(terms) => terms.clone(),
            None => vec![self.int(0); leaves(self.layout, value.ty()).len()],
        }
    }

    /// The term of a scalar.
    pub fn term(&self, value: Value<'m>) -> Value<'m> {
        self.terms.get(&value).and_then(|terms| terms.first().copied()).unwrap_or(self.int(0))
    }

    pub fn is_open(&self, value: Value<'m>) -> bool {
        self.open.contains(&value)
    }

    pub fn set(&mut self, value: Value<'m>, terms: Vec<Value<'m>>) {
        self.terms.insert(value, terms);
    }

    pub fn bits(&self, value: Value<'m>) -> Option<u8> {
        values::bits(self.layout, value.ty())
    }

    pub fn call(&self, helper: Callee<'m>, arguments: &[Value<'m>]) -> Value<'m> {
        self.builder.call(helper, arguments)
    }

    fn begin_phi(&mut self, at: Value<'m>) {
        if !self.is_open(at) {
            return;
        }
        let first = at.block().instructions().find(|at| !at.is(Opcode::LLVMPHI)).expect("a terminator");
        self.builder.before(first).nowhere();
        let count = leaves(self.layout, at.ty()).len();
        // SAFETY: before the first instruction that is no phi.
        let phi = || unsafe { LLVMBuildPhi(self.builder.raw(), self.term_type().raw, c"".as_ptr()) };
        let terms = (0..count).map(|_| Value::new(phi())).collect();
        self.set(at, terms);
    }

    fn end_phi(&mut self, at: Value<'m>) {
        if !self.is_open(at) {
            return;
        }
        let own = self.terms_of(at);
        // SAFETY: a phi, with so many ways in; those from blocks that nothing
        // reaches have terms 0.
        unsafe {
            for index in 0..LLVMCountIncoming(at.raw) {
                let terms = self.terms_of(Value::new(LLVMGetIncomingValue(at.raw, index)));
                for (phi, term) in own.iter().zip(terms) {
                    let (mut term, mut block) = (term.raw, LLVMGetIncomingBlock(at.raw, index));
                    LLVMAddIncoming(phi.raw, &mut term, &mut block, 1);
                }
            }
        }
    }

    fn instruction(&mut self, at: Value<'m>) {
        use Opcode::*;
        let Some(opcode) = at.opcode() else { return };
        self.builder.before(at);
        match opcode {
            LLVMLoad => self.load(at),
            LLVMStore => self.store(at),
            LLVMAtomicRMW | LLVMAtomicCmpXchg => {
                let place = self.places.of_line(at);
                self.access(at.operand(0), place);
            }
            LLVMICmp => self.compare(at),
            LLVMTrunc | LLVMZExt | LLVMSExt | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast
            | LLVMAddrSpaceCast | LLVMFreeze => self.cast(at, opcode),
            LLVMSelect => self.select(at),
            LLVMGetElementPtr => self.step(at),
            LLVMExtractValue => self.extract(at),
            LLVMInsertValue => self.insert(at),
            LLVMSIToFP | LLVMUIToFP => self.note(at, at.operand(0), What::Float),
            LLVMCall | LLVMInvoke => self.called(at),
            LLVMRet => self.leave(at),
            LLVMBr if at.is_conditional() => {
                let place = self.places.of_branch(at, &self.positions);
                let condition = at.operand(0);
                self.call(self.helpers.branch, &[place, self.term(condition), condition]);
            }
            LLVMSwitch if self.bits(at.operand(0)).is_some() => {
                let place = self.places.of_switch(at);
                let value = at.operand(0);
                let word = self.builder.as_word(value);
                self.call(self.helpers.switch, &[place, self.term(value), word]);
            }
            _ => {
                if let Some(op) = binary(opcode) {
                    self.binary(at, op);
                }
            }
        }
    }

    /// Says that a value is taken as it is, where it has a term.
    pub fn note(&mut self, at: Value<'m>, value: Value<'m>, what: What) {
        if self.is_open(value) {
            let place = self.places.of_line(at);
            self.call(self.helpers.note, &[place, self.term(value), self.int(what as u32)]);
        }
    }

    fn binary(&mut self, at: Value<'m>, op: Op) {
        if !self.is_open(at) {
            return;
        }
        let Some(bits) = self.bits(at) else {
            self.note(at, at.operand(0), What::Wide);
            return self.note(at, at.operand(1), What::Wide);
        };
        let term = self.operation(op as u32 | u32::from(bits) << 8, at.operand(0), at.operand(1));
        self.set(at, vec![term]);
    }

    pub fn operation(&self, kind: u32, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let words = [self.builder.as_word(a), self.builder.as_word(b)];
        self.call(self.helpers.binary, &[self.int(kind), self.term(a), self.term(b), words[0], words[1]])
    }

    fn compare(&mut self, at: Value<'m>) {
        let (a, b) = (at.operand(0), at.operand(1));
        let (true, Some(bits)) = (self.is_open(at), self.bits(a)) else { return };
        // SAFETY: a comparison.
        let (op, turned, swapped) = comparison(unsafe { LLVMGetICmpPredicate(at.raw) });
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let kind = op as u32 | u32::from(bits) << 8 | if turned { TURNED } else { 0 };
        let term = self.operation(kind, a, b);
        self.set(at, vec![term]);
    }

    fn cast(&mut self, at: Value<'m>, opcode: Opcode) {
        let from = at.operand(0);
        if !self.is_open(from) {
            return;
        }
        if opcode == Opcode::LLVMFreeze {
            let terms = self.terms_of(from);
            return self.set(at, terms);
        }
        let (Some(before), Some(after)) = (self.bits(from), self.bits(at)) else {
            let is_wide = matches!(opcode, Opcode::LLVMZExt | Opcode::LLVMSExt);
            return self.note(at, from, if is_wide { What::Wide } else { What::Float });
        };
        let op = match opcode {
            _ if before == after => return self.set(at, vec![self.term(from)]),
            Opcode::LLVMSExt => Op::SExt,
            _ if after > before => Op::ZExt,
            _ => Op::Trunc,
        };
        let kind = self.int(op as u32 | u32::from(after) << 8);
        let term = self.call(self.helpers.cast, &[kind, self.term(from)]);
        self.set(at, vec![term]);
    }

    fn select(&mut self, at: Value<'m>) {
        let (condition, a, b) = (at.operand(0), at.operand(1), at.operand(2));
        let (true, Some(bits), Some(1)) = (self.is_open(at), self.bits(at), self.bits(condition)) else {
            return;
        };
        let (a_word, b_word) = (self.builder.as_word(a), self.builder.as_word(b));
        let terms = [self.term(condition), self.term(a), self.term(b)];
        let term = self.call(
            self.helpers.select,
            &[self.int(bits.into()), terms[0], terms[1], terms[2], condition, a_word, b_word],
        );
        self.set(at, vec![term]);
    }

    /// The term of an address that is computed from another.
    fn step(&mut self, at: Value<'m>) {
        if !self.is_open(at) || self.bits(at).is_none() {
            return;
        }
        let base = at.operand(0);
        let (mut term, mut address) = (self.term(base), self.builder.as_word(base));
        // SAFETY: an address computation; each type has what its kind has.
        unsafe {
            let mut ty = LLVMGetGEPSourceElementType(at.raw);
            for (position, index) in at.operands().skip(1).enumerate() {
                if position > 0 && LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMStructTypeKind {
                    let member = index.integer().unwrap_or(0) as u32;
                    let offset = self.builder.word(LLVMOffsetOfElement(self.layout.raw(), ty, member));
                    (term, address) = self.advance(term, address, self.int(0), offset, self.builder.word(1));
                    ty = LLVMStructGetTypeAtIndex(ty, member);
                    continue;
                }
                if position > 0 {
                    ty = LLVMGetElementType(ty);
                }
                let stride = self.builder.word(LLVMABISizeOfType(self.layout.raw(), ty));
                let wide = Value::new(LLVMBuildIntCast2(
                    self.builder.raw(),
                    index.raw,
                    self.builder.word_type().raw,
                    1,
                    c"".as_ptr(),
                ));
                let kind = self.int(Op::SExt as u32 | 64 << 8);
                let wide_term = if self.bits(index) == Some(64) || !self.is_open(index) {
                    self.term(index)
                } else {
                    self.call(self.helpers.cast, &[kind, self.term(index)])
                };
                (term, address) = self.advance(term, address, wide_term, wide, stride);
            }
        }
        self.set(at, vec![term]);
    }

    /// An address and its term, some steps on.
    fn advance(
        &self,
        term: Value<'m>,
        address: Value<'m>,
        index_term: Value<'m>,
        index: Value<'m>,
        stride: Value<'m>,
    ) -> (Value<'m>, Value<'m>) {
        let term = self.call(self.helpers.step, &[term, index_term, address, index, stride]);
        (term, self.builder.add(address, self.builder.multiply(index, stride)))
    }

    /// A leaf of a value in memory: its address, and how it is accessed.
    fn part(&self, pointer: Value<'m>, leaf: &Leaf) -> Value<'m> {
        let address = self.builder.as_word(pointer);
        if leaf.offset == 0 { address } else { self.builder.add(address, self.builder.word(leaf.offset)) }
    }

    fn load(&mut self, at: Value<'m>) {
        let pointer = at.operand(0);
        let place = self.places.of_line(at);
        if is_constant_memory(pointer) {
            return;
        }
        let parts = leaves(self.layout, at.ty());
        if parts.iter().all(|leaf| leaf.bits.is_none()) {
            return self.access(pointer, place);
        }
        let mut terms = Vec::new();
        for leaf in &parts {
            let address = self.part(pointer, leaf);
            let arguments = [address, self.term(pointer), self.builder.word(leaf.bytes), place];
            terms.push(match leaf.bits {
                Some(bits) if u64::from(bits) == 8 * leaf.bytes => self.call(self.helpers.load, &arguments),
                Some(bits) => {
                    let whole = self.call(self.helpers.load, &arguments);
                    let kind = self.int(Op::Trunc as u32 | u32::from(bits) << 8);
                    self.call(self.helpers.cast, &[kind, whole])
                }
                None => self.int(0),
            });
        }
        self.set(at, terms);
    }

    fn store(&mut self, at: Value<'m>) {
        let (value, pointer) = (at.operand(0), at.operand(1));
        let place = self.places.of_line(at);
        let parts = leaves(self.layout, value.ty());
        if parts.is_empty() {
            // SAFETY: the type of a stored value has a size.
            let bytes = unsafe { LLVMABISizeOfType(self.layout.raw(), value.ty().raw) };
            return self.overwrite(pointer, bytes, place);
        }
        let terms = self.terms_of(value);
        for (index, (leaf, term)) in parts.iter().zip(terms).enumerate() {
            let address = self.part(pointer, leaf);
            let bytes = self.builder.word(leaf.bytes);
            let scalar = match parts.len() {
                1 if self.bits(value).is_some() => Some(value),
                _ if leaf.bits.is_some() && self.is_open(value) => self.member(value, index),
                _ => None,
            };
            match scalar {
                Some(scalar) => {
                    let word = self.builder.as_word(scalar);
                    let term = self.widened(term, leaf);
                    self.call(self.helpers.store, &[address, self.term(pointer), bytes, term, word, place]);
                }
                None => _ = self.call(self.helpers.clear, &[address, self.term(pointer), bytes, place]),
            }
        }
    }

    /// A term that fills the bytes in memory.
    fn widened(&self, term: Value<'m>, leaf: &Leaf) -> Value<'m> {
        if leaf.bits.is_none_or(|bits| u64::from(bits) == 8 * leaf.bytes) {
            return term;
        }
        let kind = self.int(Op::ZExt as u32 | (8 * leaf.bytes as u32) << 8);
        self.call(self.helpers.cast, &[kind, term])
    }

    /// A scalar member of a structure that is a value, if it is one level deep.
    fn member(&self, value: Value<'m>, index: usize) -> Option<Value<'m>> {
        let member = self.builder.extract(value, index as u32);
        self.bits(member).is_some().then_some(member)
    }

    /// Memory is read or written without terms.
    pub fn access(&self, pointer: Value<'m>, place: Value<'m>) {
        let address = self.builder.as_word(pointer);
        self.call(self.helpers.read, &[address, self.term(pointer), place]);
    }

    pub fn overwrite(&self, pointer: Value<'m>, bytes: u64, place: Value<'m>) {
        let address = self.builder.as_word(pointer);
        let bytes = self.builder.word(bytes);
        self.call(self.helpers.clear, &[address, self.term(pointer), bytes, place]);
    }

    fn extract(&mut self, at: Value<'m>) {
        let record = at.operand(0);
        if !self.is_open(at) || !self.terms.contains_key(&record) {
            return;
        }
        let range = chosen(self.layout, record.ty(), &indices(at));
        let terms = self.terms_of(record)[range].to_vec();
        self.set(at, terms);
    }

    fn insert(&mut self, at: Value<'m>) {
        if !self.is_open(at) {
            return;
        }
        let (record, value) = (at.operand(0), at.operand(1));
        let range = chosen(self.layout, record.ty(), &indices(at));
        let mut terms = self.terms_of(record);
        terms.splice(range, self.terms_of(value));
        self.set(at, terms);
    }
}

/// Indices of an instruction that takes or puts a member.
fn indices(at: Value<'_>) -> Vec<u32> {
    // SAFETY: asked of such instructions only; so many are there.
    unsafe {
        let count = LLVMGetNumIndices(at.raw) as usize;
        std::slice::from_raw_parts(LLVMGetIndices(at.raw), count).to_vec()
    }
}

/// Whether an address is that of data that never changes.
fn is_constant_memory(pointer: Value<'_>) -> bool {
    // SAFETY: asked of a global only.
    pointer.is_global() && unsafe { LLVMIsGlobalConstant(pointer.raw) != 0 }
}

/// The blocks that can be reached, each after those that dominate it.
fn reverse_postorder<'m>(entry: Block<'m>) -> Vec<Block<'m>> {
    let mut seen: HashSet<LLVMBasicBlockRef> = HashSet::from([entry.raw]);
    let mut order = Vec::new();
    let mut stack = vec![(entry, entry.successors().collect::<Vec<_>>())];
    while let Some((block, next)) = stack.last_mut() {
        match next.pop() {
            Some(successor) if seen.insert(successor.raw) => {
                let after = successor.successors().collect();
                stack.push((successor, after));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

fn binary(opcode: Opcode) -> Option<Op> {
    use Opcode::*;
    Some(match opcode {
        LLVMAdd => Op::Add,
        LLVMSub => Op::Sub,
        LLVMMul => Op::Mul,
        LLVMUDiv => Op::UDiv,
        LLVMSDiv => Op::SDiv,
        LLVMURem => Op::URem,
        LLVMSRem => Op::SRem,
        LLVMAnd => Op::And,
        LLVMOr => Op::Or,
        LLVMXor => Op::Xor,
        LLVMShl => Op::Shl,
        LLVMLShr => Op::LShr,
        LLVMAShr => Op::AShr,
        _ => return None,
    })
}

/// A comparison as a node: the operation, whether its result is turned, and
/// whether its operands are exchanged.
fn comparison(predicate: LLVMIntPredicate) -> (Op, bool, bool) {
    match predicate {
        LLVMIntEQ => (Op::Eq, false, false),
        LLVMIntNE => (Op::Eq, true, false),
        LLVMIntULT => (Op::Ult, false, false),
        LLVMIntULE => (Op::Ule, false, false),
        LLVMIntUGT => (Op::Ult, false, true),
        LLVMIntUGE => (Op::Ule, false, true),
        LLVMIntSLT => (Op::Slt, false, false),
        LLVMIntSLE => (Op::Sle, false, false),
        LLVMIntSGT => (Op::Slt, false, true),
        LLVMIntSGE => (Op::Sle, false, true),
    }
}
