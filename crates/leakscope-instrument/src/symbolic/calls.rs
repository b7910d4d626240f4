//! Terms across calls: where a function begins and ends, and what it calls.

use leakscope_wire::symbolic::{Op, What};

use super::helpers::{PREFIX, TURNED, thread};
use super::values::leaves;
use super::weave::Weaver;
use crate::ir::Value;

/// Intrinsics that compute nothing from the program's values.
const SILENT: [&str; 9] = [
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.is.constant",
    "llvm.objectsize",
    "llvm.va_",
    "llvm.stack",
    "llvm.prefetch",
    "llvm.threadlocal",
];

/// Functions that only put out what they get.
const OUTPUT: [&str; 29] = [
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "__printf_chk",
    "__fprintf_chk",
    "__vfprintf_chk",
    "puts",
    "fputs",
    "fputs_unlocked",
    "putchar",
    "putchar_unlocked",
    "putc",
    "putc_unlocked",
    "fputc",
    "fputc_unlocked",
    "__overflow",
    "fwrite",
    "fwrite_unlocked",
    "write",
    "perror",
    "error",
    "exit",
    "_exit",
    "fflush",
    "fflush_unlocked",
    "syslog",
    "warn",
    "warnx",
];

impl<'m> Weaver<'_, '_, 'm> {
    /// Takes the terms of the arguments.
    pub fn enter(&mut self) {
        let own = self.function.value();
        self.builder.before(self.function.entry().after_locals()).nowhere();
        let word = self.builder.word_type();
        self.depth = self.builder.load(word, self.word_at(thread::DEPTH));
        self.call(self.helpers.enter, &[self.place]);
        let parameters: Vec<Value<'m>> = self.function.parameters().collect();
        let is_main = self.function.name() == "main" && parameters.len() >= 2;
        if is_main && self.bits(parameters[0]) == Some(32) {
            let term = self.call(self.helpers.main, &[parameters[0], parameters[1]]);
            return self.set(parameters[0], vec![term]);
        }
        let taken = |parameter: &Value<'m>| parameter.users().next().is_some();
        if !parameters.iter().take(thread::MOST_ARGUMENTS).any(taken) {
            return;
        }
        let callee = self.builder.load(word, self.word_at(thread::CALLEE));
        let is_own = self.builder.equal(callee, self.builder.as_word(own));
        let left = self.builder.select(is_own, self.builder.word(0), callee);
        self.builder.store(left, self.word_at(thread::CALLEE));
        for (index, parameter) in parameters.into_iter().enumerate().take(thread::MOST_ARGUMENTS) {
            if !taken(&parameter) {
                continue;
            }
            let slot = self.word_at(thread::ARGUMENTS + index as u64);
            let passed = self.builder.load(word, slot);
            if let Some(ty) = parameter.passed_by_value(self.function) {
                let bytes = self.builder.word(ty.bytes(self.layout));
                let original = self.builder.select(is_own, passed, self.builder.word(0));
                self.call(self.helpers.passed, &[self.builder.as_word(parameter), original, bytes]);
            } else if self.bits(parameter).is_some() {
                let term = self.call(self.helpers.argument, &[passed, is_own]);
                self.set(parameter, vec![term]);
            }
        }
    }

    /// Leaves the terms of the result to the caller.
    pub fn leave(&mut self, at: Value<'m>) {
        if at.previous().is_some_and(Value::must_be_tail_call) {
            return;
        }
        if let Some(result) = at.operands().next() {
            let own = self.builder.as_word(self.function.value());
            for (index, term) in self.terms_of(result).into_iter().enumerate().take(thread::MOST_RESULTS) {
                let passed = self.call(self.helpers.returned, &[term, own]);
                self.builder.store(passed, self.word_at(thread::RESULTS + index as u64));
            }
        }
        self.call(self.helpers.leave, &[self.place]);
        self.builder.store(self.depth, self.word_at(thread::DEPTH));
    }

    pub fn called(&mut self, at: Value<'m>) {
        if at.called_name().is_some_and(|name| name.starts_with(PREFIX)) {
            return;
        }
        if at.calls_assembler() {
            for argument in at.arguments().collect::<Vec<_>>() {
                self.note(at, argument, What::Assembler);
            }
        } else if at.is_intrinsic() {
            self.intrinsic(at);
        } else {
            self.ordinary(at);
        }
    }

    fn ordinary(&mut self, at: Value<'m>) {
        let Some(called) = at.called() else { return };
        let place = self.places.of_call(at);
        // The call is under way.
        let kept = self.builder.remainder(self.depth, thread::KEPT_CALLS);
        let slot = self.builder.element(self.word_at(thread::CALLS), kept);
        self.builder.store(self.builder.as_word(place), slot);
        let deeper = self.builder.add(self.depth, self.builder.word(1));
        self.builder.store(deeper, self.word_at(thread::DEPTH));

        if self.is_open(called) {
            self.access(called, place);
        }
        let arguments: Vec<Value<'m>> = at.arguments().take(thread::MOST_ARGUMENTS).collect();
        let puts_out = at.called_name().is_some_and(|name| OUTPUT.contains(&name));
        for argument in arguments.iter().filter(|argument| puts_out && argument.ty().is_pointer()) {
            self.call(self.helpers.uses, &[self.builder.as_word(*argument), place]);
        }
        let called_word = self.builder.as_word(called);
        let by_value: Vec<bool> = (0..arguments.len()).map(|index| at.passes_copy(index as u32)).collect();
        let is_open = |index: usize| by_value[index] || self.is_open(arguments[index]);
        let passes = (0..arguments.len()).any(is_open);
        if passes {
            for (index, &argument) in arguments.iter().enumerate() {
                let passed = if by_value[index] {
                    self.builder.as_word(argument)
                } else {
                    self.builder.as_word(self.term(argument))
                };
                self.builder.store(passed, self.word_at(thread::ARGUMENTS + index as u64));
            }
            self.builder.store(called_word, self.word_at(thread::CALLEE));
        }
        let results = leaves(self.layout, at.ty());
        let results = if results.iter().all(|leaf| leaf.bits.is_none()) { 0 } else { results.len() };
        for index in 0..results {
            self.builder.store(self.builder.word(0), self.word_at(thread::RESULTS + index as u64));
        }
        let is_shared = at.normal_block().is_some_and(|block| !block.has_one_way_in());
        if at.must_be_tail_call() || at.never_returns() || is_shared {
            return;
        }
        self.builder.after(at);
        let word = self.builder.word_type();
        if passes && !puts_out {
            let callee = self.builder.load(word, self.word_at(thread::CALLEE));
            let count = self.builder.word(arguments.len() as u64);
            self.call(self.helpers.foreign, &[callee, called_word, place, count]);
        }
        let mut terms = Vec::new();
        for index in 0..results {
            let passed = self.builder.load(word, self.word_at(thread::RESULTS + index as u64));
            terms.push(self.call(self.helpers.result, &[passed, called_word]));
        }
        if results > 0 {
            self.set(at, terms);
        }
    }

    fn intrinsic(&mut self, at: Value<'m>) {
        let name = at.called_name().unwrap_or_default();
        let is = |start: &str| name.starts_with(start);
        let arguments: Vec<Value<'m>> = at.arguments().collect();
        if is("llvm.memcpy.") || is("llvm.memmove.") {
            let place = self.places.of_line(at);
            let [to, from, bytes] = [0, 1, 2].map(|index| self.builder.as_word(arguments[index]));
            let terms = [0, 1, 2].map(|index| self.term(arguments[index]));
            let both = self.call(self.helpers.pair, &[terms[0], terms[1]]);
            self.call(self.helpers.copy, &[to, from, bytes, both, terms[2], place]);
        } else if is("llvm.memset.") {
            let place = self.places.of_line(at);
            let [to, byte, bytes] = [0, 1, 2].map(|index| self.builder.as_word(arguments[index]));
            let terms = [0, 1, 2].map(|index| self.term(arguments[index]));
            let both = self.call(self.helpers.pair, &[terms[0], terms[1]]);
            let byte = self.builder.lower_half(byte);
            self.call(self.helpers.fill, &[to, byte, bytes, both, terms[2], place]);
        } else if is("llvm.lifetime.start") {
            // What lay in the same place of the stack before.
            let place = self.places.of_line(at);
            if let Some(bytes) = arguments[0].integer().filter(|&bytes| bytes < 1 << 32) {
                self.overwrite(arguments[1], bytes, place);
            }
        } else if is("llvm.expect") || is("llvm.launder") || is("llvm.strip.invariant") {
            if self.is_open(arguments[0]) {
                self.set(at, vec![self.term(arguments[0])]);
            }
        } else if is("llvm.bswap.") {
            if self.is_open(arguments[0]) && self.bits(at).is_some() {
                let word = self.builder.as_word(arguments[0]);
                let term = self.call(self.helpers.swap, &[self.term(arguments[0]), word]);
                self.set(at, vec![term]);
            }
        } else if let Some((op, signed)) = overflowing(name) {
            self.overflowing(at, op, signed);
        } else if let Some((op, turned)) = extreme(name) {
            self.extreme(at, op, turned);
        } else if is("llvm.abs.") {
            self.absolute(at);
        } else if !SILENT.iter().any(|start| is(start)) {
            for argument in arguments {
                self.note(at, argument, What::Operation);
            }
        }
    }

    /// An operation that also says whether it overflowed.
    fn overflowing(&mut self, at: Value<'m>, op: Op, signed: bool) {
        let (a, b) = (at.operand(0), at.operand(1));
        let Some(bits) = self.bits(a).filter(|_| self.is_open(a) || self.is_open(b)) else { return };
        let kind = op as u32 | u32::from(bits) << 8;
        let result = self.operation(kind, a, b);
        let words = [self.builder.as_word(a), self.builder.as_word(b)];
        let kind = self.int(kind | if signed { TURNED } else { 0 });
        let arguments = [kind, self.term(a), self.term(b), words[0], words[1]];
        let overflow = self.call(self.helpers.overflow, &arguments);
        self.set(at, vec![result, overflow]);
    }

    /// The smaller or the larger of two.
    fn extreme(&mut self, at: Value<'m>, op: Op, turned: bool) {
        let (a, b) = (at.operand(0), at.operand(1));
        let Some(bits) = self.bits(at).filter(|_| self.is_open(a) || self.is_open(b)) else { return };
        let turn = if turned { TURNED } else { 0 };
        let condition = self.operation(op as u32 | u32::from(bits) << 8 | turn, a, b);
        self.choose(at, bits, condition, a, b);
    }

    fn absolute(&mut self, at: Value<'m>) {
        let value = at.operand(0);
        let Some(bits) = self.bits(at).filter(|_| self.is_open(value)) else { return };
        let width = u32::from(bits) << 8;
        let zero = self.builder.zero_of(value);
        let negative = self.operation(Op::Slt as u32 | width, value, zero);
        let turned = self.operation(Op::Sub as u32 | width, zero, value);
        let (word, zero_word) = (self.builder.as_word(value), self.builder.word(0));
        let turned_word = self.builder.subtract(zero_word, word);
        let bits = self.int(bits.into());
        let is_negative = self.builder.is_negative(value);
        let arguments = [bits, negative, turned, self.term(value), is_negative, turned_word, word];
        let term = self.call(self.helpers.select, &arguments);
        self.set(at, vec![term]);
    }

    /// `a` if the condition, which only has a term, holds; else `b`.
    fn choose(&mut self, at: Value<'m>, bits: u8, condition: Value<'m>, a: Value<'m>, b: Value<'m>) {
        self.builder.after(at);
        let is_a = self.builder.equal(at, a);
        let words = [self.builder.as_word(a), self.builder.as_word(b)];
        let terms = [self.term(a), self.term(b)];
        let arguments = [self.int(bits.into()), condition, terms[0], terms[1], is_a, words[0], words[1]];
        let term = self.call(self.helpers.select, &arguments);
        self.set(at, vec![term]);
    }
}

/// The operation of an intrinsic that says whether it overflowed, and whether
/// it is signed.
fn overflowing(name: &str) -> Option<(Op, bool)> {
    let (operation, _) = name.strip_prefix("llvm.")?.split_once(".with.overflow.")?;
    let op = match operation.get(1..)? {
        "add" => Op::Add,
        "sub" => Op::Sub,
        "mul" => Op::Mul,
        _ => return None,
    };
    Some((op, operation.starts_with('s')))
}

/// The comparison that says that the first of two is the one, and whether it
/// is turned.
fn extreme(name: &str) -> Option<(Op, bool)> {
    Some(match name.strip_prefix("llvm.")?.split('.').next()? {
        "umin" => (Op::Ult, false),
        "umax" => (Op::Ule, true),
        "smin" => (Op::Slt, false),
        "smax" => (Op::Sle, true),
        _ => return None,
    })
}
