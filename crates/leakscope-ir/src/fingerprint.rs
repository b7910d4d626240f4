//! What a function or a global is, as a hash: the same in two captures if
//! nothing that is known of it changed. Neither ids, which depend on all that
//! comes before, nor the line where a function begins are in it.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::program::*;

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    pub fn of(content: &impl Serialize) -> Fingerprint {
        let bytes = postcard::to_stdvec(content).expect("plain data has bytes");
        let mut print = [0; 16];
        print.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..16]);
        Fingerprint(print)
    }
}

impl Debug for Fingerprint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// How a global is told from others: constants of the compiler, as texts, have
/// names that change with all that comes before them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Label {
    Name(String),
    Content(Fingerprint),
}

impl Global {
    pub fn label(&self) -> Label {
        match self.is_plain_constant() {
            true => Label::Content(self.fingerprint),
            false => Label::Name(self.name.clone()),
        }
    }

    fn is_plain_constant(&self) -> bool {
        let is_plain = |cell: &Cell| !matches!(cell.value, Operand::Global(..) | Operand::Function(_));
        let is_own = self.linkage == Linkage::Internal && self.is_constant;
        is_own && self.initial.as_ref().is_some_and(|cells| cells.iter().all(is_plain))
    }
}

impl Spot {
    /// The same place, counted from where a function begins, if it is in the
    /// same file.
    pub fn relative_to(self, at: Spot) -> Spot {
        Spot { line: if self.file == at.file { self.line.wrapping_sub(at.line) } else { self.line }, ..self }
    }

    /// The place that [`Spot::relative_to`] was asked for.
    pub fn absolute_from(self, at: Spot) -> Spot {
        Spot { line: if self.file == at.file { self.line.wrapping_add(at.line) } else { self.line }, ..self }
    }
}

/// Types refer to each other in cycles; names up to this distance count.
const TYPE_DEPTH: usize = 6;

/// Of all functions and globals of a module.
pub fn take_fingerprints(program: &mut Program) {
    let types = type_fingerprints(&program.types);
    // Those without references first, since others are told by them.
    for plain in [true, false] {
        for index in 0..program.globals.len() {
            if program.globals[index].is_plain_constant() == plain {
                let print = of_global(program, &types, &program.globals[index]);
                program.globals[index].fingerprint = print;
            }
        }
    }
    for index in 0..program.functions.len() {
        if let Some(body) = program.functions[index].body.clone() {
            program.functions[index].fingerprint =
                of_function(program, &types, &program.functions[index], &body);
        }
    }
}

fn type_fingerprints(types: &[Type]) -> Vec<Fingerprint> {
    let mut prints = vec![Fingerprint::default(); types.len()];
    for _ in 0..TYPE_DEPTH {
        let print = |ty: &TypeId| prints[ty.0 as usize];
        let next = types.iter().map(|ty| match ty {
            Type::Pointer(to) => Fingerprint::of(&("pointer", to.as_ref().map(print))),
            Type::Array(element, bytes) => Fingerprint::of(&("array", print(element), bytes)),
            Type::Record(fields) => {
                let fields = fields.iter().map(|field| (&field.name, field.offset, print(&field.ty)));
                Fingerprint::of(&fields.collect::<Vec<_>>())
            }
            Type::Scalar => Fingerprint::default(),
        });
        prints = next.collect();
    }
    prints
}

/// Ids as they come up in one function or global, and what they stand for.
struct Mentioned<'p> {
    program: &'p Program,
    functions: FxHashMap<FuncId, u32>,
    globals: FxHashMap<GlobalId, u32>,
    files: FxHashMap<FileId, u32>,
    names: Vec<Label>,
}

impl<'p> Mentioned<'p> {
    fn new(program: &'p Program) -> Mentioned<'p> {
        let (functions, globals, files) = Default::default();
        Mentioned { program, functions, globals, files, names: Vec::new() }
    }

    fn function(&mut self, id: FuncId) -> FuncId {
        let (next, names) = (self.functions.len() as u32, &mut self.names);
        FuncId(*self.functions.entry(id).or_insert_with(|| {
            names.push(Label::Name(self.program.function(id).name.clone()));
            next
        }))
    }

    fn operand(&mut self, operand: &mut Operand) {
        match operand {
            Operand::Function(id) => *id = self.function(*id),
            Operand::Global(id, _) => {
                let (next, names) = (self.globals.len() as u32, &mut self.names);
                *id = GlobalId(*self.globals.entry(*id).or_insert_with(|| {
                    names.push(self.program.global(*id).label());
                    next
                }));
            }
            _ => {}
        }
    }

    fn spot(&mut self, spot: &mut Spot, at: Spot) {
        *spot = spot.relative_to(at);
        let (next, names) = (self.files.len() as u32, &mut self.names);
        spot.file = FileId(*self.files.entry(spot.file).or_insert_with(|| {
            names.push(Label::Name(self.program.files[spot.file.0 as usize].clone()));
            next
        }));
    }
}

fn of_global(program: &Program, types: &[Fingerprint], global: &Global) -> Fingerprint {
    let mut mentioned = Mentioned::new(program);
    let mut cells = global.initial.clone();
    for cell in cells.iter_mut().flatten() {
        mentioned.operand(&mut cell.value);
    }
    let name = (!global.is_plain_constant()).then_some(&global.name);
    let ty = global.ty.map(|ty| types[ty.0 as usize]);
    Fingerprint::of(&(name, global.linkage, global.is_constant, ty, cells, mentioned.names))
}

fn of_function(
    program: &Program,
    types: &[Fingerprint],
    function: &Function,
    body: &Arc<Body>,
) -> Fingerprint {
    let mut mentioned = Mentioned::new(program);
    let mut body = Body::clone(body);
    let of_type = |ty: &Option<TypeId>| ty.map(|ty| types[ty.0 as usize]);
    let mut of_types: Vec<Option<Fingerprint>> = function.types.iter().map(of_type).collect();
    for variable in &mut body.variables {
        of_types.push(of_type(&variable.ty));
        variable.ty = None;
    }
    for block in &mut body.blocks {
        mentioned.spot(&mut block.end_at, function.at);
        // Nothing that is left depends on them.
        block.vanished.clear();
        if let Some(operand) = block.end.operand_mut() {
            mentioned.operand(operand);
        }
        for instruction in &mut block.instructions {
            mentioned.spot(&mut instruction.at, function.at);
            instruction.op.for_each_operand_mut(&mut |operand| mentioned.operand(operand));
            if let Op::Call(Call { callee: Callee::Function(id), .. }) = &mut instruction.op {
                *id = mentioned.function(*id);
            }
        }
    }
    let mut own = function.at;
    mentioned.spot(&mut own, function.at);
    let attributes = (function.is_noreturn, function.returns_new, function.is_variadic, &function.ownership);
    let kind = (&function.name, function.linkage, function.parameters, &function.signature, attributes);
    Fingerprint::of(&(kind, of_types, own, body, mentioned.names))
}
