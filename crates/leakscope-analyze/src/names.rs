//! What the source calls a place in memory: `list`, `node->name`, `all[2]`.

use leakscope_ir::{Field, Op, Operand, Program, Type, TypeId, ValueId, VariableId};

use crate::case::Case;
use crate::simulate::Simulation;
use crate::value::{Base, HeapId, Offset, SymbolKey, Value};

/// Pointers followed to name a place.
const MAX_STEPS: u32 = 6;
/// Pointers in a record that are looked at.
const MAX_POINTERS: usize = 16;

/// A place with its type, where that is known.
struct Named {
    name: String,
    ty: Option<TypeId>,
}

impl<'a> Simulation<'a, '_> {
    /// What holds a block in `case`.
    pub fn holder(&self, case: &Case, block: HeapId) -> Option<String> {
        self.holding(case, block, MAX_STEPS).map(|named| named.name)
    }

    /// The name of the memory that an address leads to.
    pub fn place(&self, case: &Case, address: &Value) -> Option<String> {
        let Value::Sum(base, offset) = address else { return None };
        self.location(case, *base, *offset, MAX_STEPS).map(|named| named.name)
    }

    /// What a pointer to the start of something is called.
    pub fn pointer(&self, case: &Case, to: Base) -> Option<String> {
        self.named_pointer(case, to).map(|pointer| pointer.name)
    }

    /// The pointers in something, by their offsets, with their names.
    pub fn pointers_in(&self, case: &Case, to: Base) -> Vec<(i64, String)> {
        let program = self.result.scope.world.program;
        let mut found = Vec::new();
        if let Some(Named { name, ty: Some(ty) }) = self.named_pointer(case, to)
            && let Type::Pointer(Some(target)) = program.types[ty.0 as usize]
        {
            add_pointers(program, target, (0, &format!("{name}->")), &mut found);
        }
        found
    }

    fn named_pointer(&self, case: &Case, to: Base) -> Option<Named> {
        let named = |id: VariableId| {
            let variable = &self.body.variables[id.0 as usize];
            Named { name: variable.name.clone(), ty: variable.ty }
        };
        let is_it = |value: &Value| *value == Value::Sum(to, Offset::At(0));
        if let Some((id, _)) = case.variables.iter().find(|(_, value)| is_it(value)) {
            return Some(named(*id));
        }
        let Base::Symbol(id) = to else { return None };
        match self.result.scope.symbols.key(id) {
            SymbolKey::Parameter(index) => self.parameter(*index).map(named),
            SymbolKey::Content(base, at) => self.location(case, *base, *at, MAX_STEPS),
            _ => None,
        }
    }

    pub fn variable(&self, id: VariableId) -> &'a str {
        &self.body.variables[id.0 as usize].name
    }

    pub fn is_pointer(&self, id: VariableId) -> bool {
        let types = &self.result.scope.world.program.types;
        let ty = self.body.variables[id.0 as usize].ty;
        ty.is_some_and(|ty| matches!(types[ty.0 as usize], Type::Pointer(_)))
    }

    fn holding(&self, case: &Case, block: HeapId, steps: u32) -> Option<Named> {
        let steps = steps.checked_sub(1)?;
        let holds = |value: &Value| value.heap_blocks().any(|held| held == block);
        for (id, value) in case.variables.iter() {
            if holds(value) {
                let variable = &self.body.variables[id.0 as usize];
                return Some(Named { name: variable.name.clone(), ty: variable.ty });
            }
        }
        let cells =
            case.memory.iter().filter(|((base, _), cell)| *base != Base::Heap(block) && holds(&cell.value));
        cells.into_iter().find_map(|((base, offset), _)| self.location(case, *base, *offset, steps))
    }

    fn location(&self, case: &Case, base: Base, offset: Offset, steps: u32) -> Option<Named> {
        let program = self.result.scope.world.program;
        match base {
            Base::Local(local) => {
                let variable = &self.body.variables[self.variable_of(local)?.0 as usize];
                part(program, variable.name.clone(), ".", variable.ty, offset)
            }
            Base::Global(global) => {
                let global = program.global(global);
                part(program, global.display(), ".", global.ty, offset)
            }
            Base::Heap(block) => {
                let pointer = self.holding(case, block, steps)?;
                pointee(program, pointer, offset)
            }
            Base::Symbol(id) => match self.result.scope.symbols.key(id) {
                SymbolKey::Parameter(index) => {
                    let variable = &self.body.variables[self.parameter(*index)?.0 as usize];
                    let pointer = Named { name: variable.name.clone(), ty: variable.ty };
                    pointee(program, pointer, offset)
                }
                SymbolKey::Content(base, at) => {
                    let pointer = self.location(case, *base, *at, steps.checked_sub(1)?)?;
                    pointee(program, pointer, offset)
                }
                SymbolKey::Elements(base, at) => self.location(case, *base, *at, steps.checked_sub(1)?),
                _ => None,
            },
            Base::Function(_) => None,
        }
    }

    fn variable_of(&self, local: ValueId) -> Option<VariableId> {
        let mut instructions = self.body.blocks.iter().flat_map(|block| &block.instructions);
        match instructions.find(|instruction| instruction.result == local)?.op {
            Op::Local { variable, .. } => variable,
            _ => None,
        }
    }

    /// The variable that a parameter first is, or one that knows better what it
    /// points to.
    fn parameter(&self, index: u32) -> Option<VariableId> {
        let instructions = self.body.blocks.first()?.instructions.iter();
        let mut named = instructions.filter_map(|instruction| match &instruction.op {
            Op::Name { variable, value: Operand::Value(value) } if value.0 == index => Some(*variable),
            _ => None,
        });
        let types = &self.result.scope.world.program.types;
        let is_vague = |id: &VariableId| {
            let ty = self.body.variables[id.0 as usize].ty;
            ty.is_some_and(|ty| types[ty.0 as usize] == Type::Pointer(None))
        };
        let first = named.next()?;
        Some(if is_vague(&first) { named.next().unwrap_or(first) } else { first })
    }
}

fn pointee(program: &Program, pointer: Named, offset: Offset) -> Option<Named> {
    let target = match pointer.ty.map(|ty| &program.types[ty.0 as usize]) {
        Some(Type::Pointer(target)) => *target,
        _ => None,
    };
    let is_record = target.is_some_and(|target| matches!(program.types[target.0 as usize], Type::Record(_)));
    match offset {
        _ if is_record => part(program, pointer.name, "->", target, offset),
        Offset::At(0) => Some(Named { name: format!("*{}", pointer.name), ty: target }),
        _ => Some(Named { name: format!("{}[…]", pointer.name), ty: target }),
    }
}

/// Adds the pointers in a record, by their offsets.
fn add_pointers(program: &Program, ty: TypeId, (at, prefix): (i64, &str), found: &mut Vec<(i64, String)>) {
    let Type::Record(fields) = &program.types[ty.0 as usize] else { return };
    for field in fields {
        let (at, name) = (at + field.offset, format!("{prefix}{}", field.name));
        match &program.types[field.ty.0 as usize] {
            _ if found.len() >= MAX_POINTERS => return,
            Type::Pointer(_) => found.push((at, name)),
            _ => add_pointers(program, field.ty, (at, &format!("{name}.")), found),
        }
    }
}

/// The member or element at an offset of something with a name; none behind
/// its end, as in an object of a class that the name's type is a base of.
fn part(
    program: &Program,
    mut name: String,
    mut separator: &str,
    mut ty: Option<TypeId>,
    offset: Offset,
) -> Option<Named> {
    let Offset::At(mut at) = offset else { return Some(Named { name, ty: None }) };
    while let Some(id) = ty {
        match &program.types[id.0 as usize] {
            Type::Record(fields) => {
                let Some(field) = field_at(program, fields, at) else { break };
                // What is in a container of the library is the container's.
                if field.name.starts_with("_M_") || field.name.starts_with("__") {
                    return Some(Named { name, ty: None });
                }
                if !field.name.is_empty() {
                    name = format!("{name}{separator}{}", field.name);
                    separator = ".";
                }
                at -= field.offset;
                ty = Some(field.ty);
            }
            Type::Array(element, bytes) if *bytes > 0 => {
                name = format!("{name}[{}]", at / *bytes as i64);
                at %= *bytes as i64;
                ty = Some(*element);
            }
            Type::Pointer(_) if at >= 8 => return None,
            _ => break,
        }
    }
    Some(Named { name, ty })
}

/// The field that covers an offset; of a union's, one with a pointer.
pub fn field_at<'t>(program: &Program, fields: &'t [Field], at: i64) -> Option<&'t Field> {
    let covering = fields.iter().filter(|field| field.offset <= at);
    covering
        .max_by_key(|field| (field.offset, matches!(program.types[field.ty.0 as usize], Type::Pointer(_))))
}
