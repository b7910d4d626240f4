//! Which records the pointers of a body lead to, by debug information and the
//! flow of values.

use leakscope_ir::{
    Body, Call, Callee, Function, Instruction, Op, Operand, Shape, Type, TypeId, ValueId, Width,
};

use crate::effects::Values;
use crate::records::{Member, Records};

pub struct Types<'f, 'a> {
    records: &'f Records<'a>,
    /// By value, the records that it points to.
    of: Vec<Vec<TypeId>>,
}

impl<'f, 'a> Types<'f, 'a> {
    pub fn new(
        records: &'f Records<'a>,
        function: &'a Function,
        body: &'a Body,
        values: &Values<'a>,
    ) -> Types<'f, 'a> {
        let mut types = Types { records, of: vec![Vec::new(); body.values as usize] };
        types.infer(function, body, values);
        types
    }

    pub fn of(&self, value: ValueId) -> &[TypeId] {
        &self.of[value.0 as usize]
    }

    fn infer(&mut self, function: &'a Function, body: &'a Body, values: &Values<'a>) {
        let instructions = || body.blocks.iter().flat_map(|block| &block.instructions);
        let records = self.records;
        for (index, ty) in function.types.iter().skip(1).enumerate().take(function.parameters as usize) {
            self.of[index].extend(records.pointee(*ty));
        }
        for instruction in instructions() {
            match &instruction.op {
                Op::Name { variable, value: Operand::Value(value) } => {
                    let record = records.pointee(body.variables[variable.0 as usize].ty);
                    let known = &mut self.of[value.0 as usize];
                    known.extend(record.filter(|record| !known.contains(record)));
                }
                Op::Local { variable: Some(variable), .. } => {
                    let ty = body.variables[variable.0 as usize].ty;
                    self.of[instruction.result.0 as usize].extend(ty.map(|ty| records.same(ty)));
                }
                _ => {}
            }
        }
        for _ in 0..2 {
            for instruction in instructions() {
                let (value, found) = match &instruction.op {
                    Op::Store { to, value: Operand::Value(value), .. } => (*value, self.held(values, to)),
                    _ => (instruction.result, self.inferred(values, instruction)),
                };
                let known = &mut self.of[value.0 as usize];
                if known.is_empty() {
                    known.extend(found);
                }
            }
        }
    }

    fn inferred(&self, values: &Values<'a>, instruction: &Instruction) -> Option<TypeId> {
        let records = self.records;
        let of = |operand: &Operand| match operand {
            Operand::Value(value) => self.of[value.0 as usize].first().copied(),
            Operand::Global(global, 0) => Some(records.same(records.program.global(*global).ty?)),
            _ => None,
        };
        match &instruction.op {
            Op::Load { from, shape: Shape::Scalar { is_pointer: true, .. } } => self.held(values, from),
            Op::Step { base, offset, terms } => {
                let base = of(base)?;
                let whole = if *offset == 0 { base } else { records.field((base, *offset))?.0 };
                match records.ty(whole) {
                    Type::Array(element, _) if !terms.is_empty() => Some(records.same(*element)),
                    _ if *offset == 0 && terms.is_empty() => Some(records.field((base, 0))?.0),
                    _ => Some(whole),
                }
            }
            Op::Cast { value, width: Width::Kept } => of(value),
            Op::Select { yes, no, .. } => of(yes).or_else(|| of(no)),
            Op::Phi { incoming } => incoming.iter().find_map(|(_, value)| of(value)),
            Op::Call(Call { callee: Callee::Function(callee), .. }) => {
                records.pointee(records.program.function(*callee).types.first().copied().flatten())
            }
            _ => None,
        }
    }

    /// What the pointer at an address leads to.
    fn held(&self, values: &Values<'a>, address: &Operand) -> Option<TypeId> {
        self.records.pointee(self.records.content(*self.places(values, address).first()?))
    }

    /// The members that an address is of, seen from each record around.
    pub fn members(&self, values: &Values<'a>, address: &Operand) -> Vec<Member> {
        let mut places = self.places(values, address);
        places.retain(|(ty, _)| self.records.is_record(*ty));
        places
    }

    /// The same in anything that has a type.
    fn places(&self, values: &Values<'a>, address: &Operand) -> Vec<Member> {
        let (mut found, mut at, mut next) = (Vec::new(), 0, address);
        while let Operand::Value(value) = next {
            found.extend(self.of[value.0 as usize].iter().map(|&ty| (ty, at)));
            match values.op(*value) {
                Some(Op::Step { base, offset, terms }) if terms.is_empty() => {
                    at += offset;
                    next = base;
                }
                Some(Op::Cast { value, width: Width::Kept }) => next = value,
                _ => break,
            }
        }
        if let Operand::Global(global, offset) = next {
            let ty = self.records.program.global(*global).ty;
            found.extend(ty.map(|ty| (self.records.same(ty), at + offset)));
        }
        found
    }
}
