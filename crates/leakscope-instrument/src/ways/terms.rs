//! Terms of what instructions compute.

use leakscope_solve::{Binary, Compare, Term};
use llvm_sys::LLVMIntPredicate;
use llvm_sys::core::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};

use super::Ways;
use crate::ir::{Opcode, Value};
use crate::llvm::Layout;

/// How many bits a number or address has, up to 64.
pub fn bits_of(value: Value<'_>) -> Option<u32> {
    // SAFETY: the width is asked of integers only.
    unsafe {
        let ty = value.ty().raw;
        match LLVMGetTypeKind(ty) {
            llvm_sys::LLVMTypeKind::LLVMPointerTypeKind => Some(64),
            llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind => {
                Some(LLVMGetIntTypeWidth(ty)).filter(|bits| (1..=64).contains(bits))
            }
            _ => None,
        }
    }
}

impl<'m> Ways<'m> {
    /// The term of a value; of one that is no number and no address, there is none.
    pub fn term(&mut self, value: Value<'m>) -> Option<Term> {
        let bits = bits_of(value)?;
        if let Some(&term) = self.values.get(&value) {
            return Some(term);
        }
        // SAFETY: a live value.
        let (is_null, is_unknown) = unsafe {
            (LLVMIsNull(value.raw) != 0, LLVMIsUndef(value.raw) != 0 || LLVMIsPoison(value.raw) != 0)
        };
        if is_unknown {
            return Some(self.unknown(bits));
        }
        let term = match value.integer() {
            Some(number) => self.pool.constant(number, bits),
            None if is_null => self.pool.constant(0, bits),
            None => {
                let stepped = is_step(value).then(|| self.stepped(value)).flatten();
                stepped.unwrap_or_else(|| self.unknown(bits))
            }
        };
        self.values.insert(value, term);
        Some(term)
    }

    /// The term of what an instruction computes, if that is known.
    pub fn computed(&mut self, at: Value<'m>) -> Option<Term> {
        let bits = bits_of(at)?;
        let opcode = at.opcode()?;
        match opcode {
            Opcode::LLVMICmp => self.compared(at),
            Opcode::LLVMZExt => {
                let value = self.term(at.operand(0))?;
                Some(self.pool.zero_extend(value, bits))
            }
            Opcode::LLVMSExt => {
                let value = self.term(at.operand(0))?;
                Some(self.pool.sign_extend(value, bits))
            }
            Opcode::LLVMTrunc => {
                let value = self.term(at.operand(0))?;
                Some(self.pool.extract(value, 0, bits))
            }
            Opcode::LLVMFreeze | Opcode::LLVMPtrToInt | Opcode::LLVMIntToPtr | Opcode::LLVMBitCast => {
                self.term(at.operand(0)).filter(|&value| self.pool.bits(value) == bits)
            }
            Opcode::LLVMSelect => {
                let [condition, yes, no] = [0, 1, 2].map(|index| self.term(at.operand(index)));
                let (condition, yes, no) = (condition?, yes?, no?);
                Some(self.pool.ite(condition, yes, no))
            }
            Opcode::LLVMGetElementPtr => self.stepped(at),
            Opcode::LLVMCall | Opcode::LLVMInvoke => self.called(at, bits),
            _ => {
                let op = binary(opcode)?;
                let (a, b) = (self.term(at.operand(0))?, self.term(at.operand(1))?);
                let result = self.pool.binary(op, a, b);
                if !matches!(op, Binary::Shl | Binary::LShr | Binary::AShr) {
                    return Some(result);
                }
                // A shift by too much gives anything.
                let most = self.pool.constant(bits.into(), bits.max(7));
                let wide = self.pool.zero_extend(b, bits.max(7));
                let is_defined = self.pool.ult(wide, most);
                let anything = self.unknown(bits);
                Some(self.pool.ite(is_defined, result, anything))
            }
        }
    }

    fn compared(&mut self, at: Value<'m>) -> Option<Term> {
        use LLVMIntPredicate::*;
        let (a, b) = (self.term(at.operand(0))?, self.term(at.operand(1))?);
        // SAFETY: a comparison of integers or addresses.
        let predicate = unsafe { LLVMGetICmpPredicate(at.raw) };
        let (op, a, b, is_so) = match predicate {
            LLVMIntEQ => (Compare::Eq, a, b, true),
            LLVMIntNE => (Compare::Eq, a, b, false),
            LLVMIntULT => (Compare::Ult, a, b, true),
            LLVMIntULE => (Compare::Ule, a, b, true),
            LLVMIntUGT => (Compare::Ult, b, a, true),
            LLVMIntUGE => (Compare::Ule, b, a, true),
            LLVMIntSLT => (Compare::Slt, a, b, true),
            LLVMIntSLE => (Compare::Sle, a, b, true),
            LLVMIntSGT => (Compare::Slt, b, a, true),
            LLVMIntSGE => (Compare::Sle, b, a, true),
        };
        let truth = self.pool.compare(op, a, b);
        Some(if is_so { truth } else { self.pool.not(truth) })
    }

    /// What is known of what a call returns.
    fn called(&mut self, at: Value<'m>, bits: u32) -> Option<Term> {
        let name = at.called_name()?;
        let argument = |ways: &mut Self, index| ways.term(at.arguments().nth(index)?);
        if at.is_intrinsic() {
            let op = match name.split('.').nth(1)? {
                "umax" => (Compare::Ult, false),
                "umin" => (Compare::Ult, true),
                "smax" => (Compare::Slt, false),
                "smin" => (Compare::Slt, true),
                _ => return None,
            };
            let (a, b) = (argument(self, 0)?, argument(self, 1)?);
            let is_less = self.pool.compare(op.0, a, b);
            return Some(if op.1 { self.pool.ite(is_less, a, b) } else { self.pool.ite(is_less, b, a) });
        }
        if !at.called().is_some_and(Value::is_declaration) {
            return None;
        }
        let result = self.unknown(bits);
        let number = |ways: &mut Self, value: i64| ways.pool.constant(value as u64, bits);
        let between = |ways: &mut Self, low: Term, high: Term| {
            let is_least = ways.pool.compare(Compare::Sle, low, result);
            let is_most = ways.pool.compare(Compare::Sle, result, high);
            let fact = ways.pool.and(is_least, is_most);
            ways.facts.push(fact);
        };
        match name {
            "getc" | "fgetc" | "getchar" | "getc_unlocked" if bits == 32 => {
                let (low, high) = (number(self, -1), number(self, 255));
                between(self, low, high);
            }
            "strlen" | "strspn" | "strcspn" if bits == 64 => {
                let (low, high) = (number(self, 0), number(self, i64::MAX - 1));
                between(self, low, high);
            }
            "fread" | "fwrite" | "strnlen" if bits == 64 => {
                let most = argument(self, if name == "strnlen" { 1 } else { 2 })?;
                let fact = self.pool.ule(result, most);
                self.facts.push(fact);
            }
            _ => {}
        }
        Some(result)
    }

    /// An address that goes on from another.
    fn stepped(&mut self, step: Value<'m>) -> Option<Term> {
        let mut address = self.term(step.operand(0))?;
        let (offset, terms) = steps(step, self.layout)?;
        for (index, stride) in terms {
            let index = self.term(index)?;
            let index = match self.pool.bits(index) {
                64 => index,
                _ => self.pool.sign_extend(index, 64),
            };
            let stride = self.pool.constant(stride, 64);
            let by = self.pool.binary(Binary::Mul, index, stride);
            address = self.pool.binary(Binary::Add, address, by);
        }
        let offset = self.pool.constant(offset as u64, 64);
        Some(self.pool.binary(Binary::Add, address, offset))
    }
}

/// Whether a value is an address that goes on from another.
pub fn is_step(value: Value<'_>) -> bool {
    // SAFETY: the code of a constant expression is asked of such only.
    unsafe {
        value.is(Opcode::LLVMGetElementPtr)
            || !LLVMIsAConstantExpr(value.raw).is_null()
                && LLVMGetConstOpcode(value.raw) == Opcode::LLVMGetElementPtr
    }
}

/// By how much an address goes on: bytes, and indices with what each counts.
pub fn steps<'m>(step: Value<'m>, layout: Layout<'m>) -> Option<(i64, Vec<(Value<'m>, u64)>)> {
    let (mut offset, mut terms) = (0i64, Vec::new());
    // SAFETY: asked of steps only, whose indices are those of their type.
    unsafe {
        let mut ty = LLVMGetGEPSourceElementType(step.raw);
        let mut add = |index: Value<'m>, stride: u64| {
            // SAFETY: a constant integer.
            match index.integer().map(|_| LLVMConstIntGetSExtValue(index.raw)) {
                Some(index) => offset = offset.wrapping_add(index.wrapping_mul(stride as i64)),
                None => terms.push((index, stride)),
            }
        };
        let mut indices = step.operands().skip(1);
        add(indices.next()?, LLVMABISizeOfType(layout.raw(), ty));
        for index in indices {
            match LLVMGetTypeKind(ty) {
                llvm_sys::LLVMTypeKind::LLVMStructTypeKind => {
                    let member = index.integer()? as u32;
                    let start = LLVMOffsetOfElement(layout.raw(), ty, member);
                    ty = LLVMStructGetTypeAtIndex(ty, member);
                    let one = Value::new(LLVMConstInt(LLVMInt64TypeInContext(LLVMGetTypeContext(ty)), 1, 0));
                    add(one, start);
                }
                llvm_sys::LLVMTypeKind::LLVMArrayTypeKind => {
                    ty = LLVMGetElementType(ty);
                    add(index, LLVMABISizeOfType(layout.raw(), ty));
                }
                _ => return None,
            }
        }
    }
    Some((offset, terms))
}

fn binary(opcode: Opcode) -> Option<Binary> {
    Some(match opcode {
        Opcode::LLVMAdd => Binary::Add,
        Opcode::LLVMSub => Binary::Sub,
        Opcode::LLVMMul => Binary::Mul,
        Opcode::LLVMUDiv => Binary::UDiv,
        Opcode::LLVMSDiv => Binary::SDiv,
        Opcode::LLVMURem => Binary::URem,
        Opcode::LLVMSRem => Binary::SRem,
        Opcode::LLVMAnd => Binary::And,
        Opcode::LLVMOr => Binary::Or,
        Opcode::LLVMXor => Binary::Xor,
        Opcode::LLVMShl => Binary::Shl,
        Opcode::LLVMLShr => Binary::LShr,
        Opcode::LLVMAShr => Binary::AShr,
        _ => return None,
    })
}
