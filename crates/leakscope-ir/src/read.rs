//! From bitcode to a [`Module`]: the program model of one unit.

use std::sync::Arc;

use leakscope_core::taken_destination;
use llvm_sys::LLVMAtomicRMWBinOp::*;
use llvm_sys::LLVMIntPredicate::*;
use llvm_sys::LLVMLinkage::*;
use llvm_sys::LLVMRealPredicate::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::IrError;
use crate::annotations::{ANNOTATIONS, ownership};
use crate::constants::{cells, operand, scalars, shape, steps};
use crate::debug_info::{Lines, Named, Scopes};
use crate::fingerprint::{Fingerprint, take_fingerprints};
use crate::jumps;
use crate::llvm::{self, Context, Layout, Type, Value};
use crate::program::*;
use crate::vanished::retain_vanished;

/// One unit; its ids are its own.
#[derive(Debug, Serialize, Deserialize)]
pub struct Module {
    pub program: Program,
    /// Further names of functions.
    pub aliases: Vec<(String, FuncId)>,
}

impl Module {
    /// Bytes that [`Module::kept`] reads, much faster than bitcode is read.
    pub fn keep(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain data has bytes")
    }

    pub fn kept(bytes: &[u8]) -> Option<Module> {
        postcard::from_bytes(bytes).ok()
    }
}

/// Functions and globals of a module by their values.
pub struct Names<'m> {
    pub functions: FxHashMap<Value<'m>, FuncId>,
    pub globals: FxHashMap<Value<'m>, GlobalId>,
}

/// The module in `bitcode`, in SSA form.
pub fn read(bitcode: &[u8]) -> Result<Module, IrError> {
    let context = Context::new();
    let mut module = llvm::Module::read(&context, bitcode).map_err(IrError::Read)?;
    module.mark_jumps();
    module.mark_ends();
    module.mark_stores();
    module.promote().map_err(IrError::Promote)?;
    module.lower_memory_calls();
    let layout = module.layout();
    let mut lines = Lines::new(&module);
    let functions: Vec<Value> = module.functions().collect();
    let globals: Vec<Value> = module.globals().collect();
    let names = Names {
        functions: functions
            .iter()
            .enumerate()
            .map(|(index, &value)| (value, FuncId(index as u32)))
            .collect(),
        globals: globals.iter().enumerate().map(|(index, &value)| (value, GlobalId(index as u32))).collect(),
    };
    let mut program = Program::default();
    let mut ownership = ownership(&module);
    for &global in &globals {
        let is_program = global.name() != ANNOTATIONS;
        let initial = global.initializer().filter(|_| is_program).map(|value| cells(&names, layout, value));
        program.globals.push(Global {
            name: global.name().to_owned(),
            linkage: linkage(global.linkage()),
            is_constant: global.is_constant_global(),
            ty: lines.global(global),
            initial,
            fingerprint: Fingerprint::default(),
        });
    }
    for &function in &functions {
        let body = (!function.is_declaration()).then(|| {
            let mut reader = BodyReader::new(&names, layout, &mut lines, function);
            reader.read(function);
            Arc::new(reader.body)
        });
        let ty = function.function_type();
        program.functions.push(Function {
            name: function.name().to_owned(),
            display: display_name(function.name()),
            linkage: linkage(function.linkage()),
            parameters: function.parameters().count() as u32,
            is_variadic: ty.is_variadic(),
            is_noreturn: function.has_attribute("noreturn"),
            returns_new: function.is_declaration() && function.returns_noalias(),
            ownership: ownership.remove(&function).unwrap_or_default(),
            signature: signature(ty),
            types: if function.is_declaration() { Vec::new() } else { lines.signature(function) },
            at: lines.of_function(function),
            fingerprint: Fingerprint::default(),
            body,
        });
    }
    let alias =
        |alias: Value| Some((alias.name().to_owned(), *names.functions.get(&alias.without_aliases())?));
    let aliases = module.aliases().filter_map(alias).collect();
    program.files = lines.files;
    program.types = lines.types;
    take_fingerprints(&mut program);
    Ok(Module { program, aliases })
}

fn linkage(linkage: LLVMLinkage) -> Linkage {
    match linkage {
        LLVMInternalLinkage | LLVMPrivateLinkage => Linkage::Internal,
        LLVMLinkOnceAnyLinkage
        | LLVMLinkOnceODRLinkage
        | LLVMWeakAnyLinkage
        | LLVMWeakODRLinkage
        | LLVMAvailableExternallyLinkage
        | LLVMExternalWeakLinkage => Linkage::Mergeable,
        _ => Linkage::External,
    }
}

/// The demangled name, without parameters where that is plain.
pub fn display_name(name: &str) -> String {
    let demangled = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()).flatten();
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    demangled
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| name.to_owned())
}

fn signature(ty: Type<'_>) -> Signature {
    let mut text = kind_letter(ty.result()).to_string();
    for parameter in ty.parameter_types() {
        text.push(kind_letter(parameter));
    }
    if ty.is_variadic() {
        text.push('.');
    }
    Signature(text)
}

fn kind_letter(ty: Type<'_>) -> char {
    match ty.kind() {
        LLVMTypeKind::LLVMPointerTypeKind => 'p',
        LLVMTypeKind::LLVMVoidTypeKind => 'v',
        LLVMTypeKind::LLVMIntegerTypeKind => match ty.bits() {
            64 => 'l',
            _ => 'i',
        },
        LLVMTypeKind::LLVMStructTypeKind => 's',
        _ => 'f',
    }
}

struct BodyReader<'a, 'm> {
    names: &'a Names<'m>,
    layout: Layout<'m>,
    lines: &'a mut Lines,
    values: FxHashMap<Value<'m>, ValueId>,
    blocks: FxHashMap<llvm::Block<'m>, BlockId>,
    variables: FxHashMap<usize, VariableId>,
    scopes: Scopes,
    branches: FxHashMap<Spot, u32>,
    body: Body,
}

impl<'a, 'm> BodyReader<'a, 'm> {
    fn new(names: &'a Names<'m>, layout: Layout<'m>, lines: &'a mut Lines, function: Value<'m>) -> Self {
        let mut values = FxHashMap::default();
        let instructions = function.blocks().flat_map(llvm::Block::instructions);
        for (index, value) in function.parameters().chain(instructions).enumerate() {
            values.insert(value, ValueId(index as u32));
        }
        let body = Body { values: values.len() as u32, ..Body::default() };
        let blocks =
            function.blocks().enumerate().map(|(index, block)| (block, BlockId(index as u32))).collect();
        BodyReader {
            names,
            layout,
            lines,
            values,
            blocks,
            variables: FxHashMap::default(),
            scopes: Scopes::default(),
            branches: FxHashMap::default(),
            body,
        }
    }

    fn read(&mut self, function: Value<'m>) {
        let mut local_names = Vec::new();
        for block in function.blocks() {
            let (mut instructions, mut end, mut end_at): (Vec<Instruction>, _, _) =
                (Vec::new(), Terminator::Unreachable, Spot::UNKNOWN);
            let (mut scope, mut role, mut branch) = (None, BlockRole::Plain, Branch::default());
            let mut vanished: Vec<Vanished> = Vec::new();
            if is_exit(block.name()) {
                role = BlockRole::Exit;
            }
            for instruction in block.instructions() {
                let is_phi = instruction.opcode() == Some(LLVMOpcode::LLVMPHI);
                if scope.is_none() && !is_phi {
                    scope = self.lines.scope_of(instruction, &mut self.scopes, &mut self.body);
                }
                if instruction.opcode() == Some(LLVMOpcode::LLVMLandingPad) && instruction.catches() {
                    role = BlockRole::Catches;
                }
                let jumps_at = self.lines.of_jump(instruction);
                let leaves = || instruction.leads_to().is_some_and(|block| is_exit(block.name()));
                let is_jump = instruction.opcode() == Some(LLVMOpcode::LLVMBr) && jumps_at.is_some();
                if role == BlockRole::Plain && (is_jump || leaves()) {
                    role = BlockRole::Leaves;
                }
                let before = instructions.len() as u32;
                let stored = self.lines.of_stores(instruction).into_iter();
                vanished.extend(stored.map(|at| Vanished { before, at }));
                let at = self.lines.of_instruction(instruction);
                let result = self.values[&instruction];
                match self.terminator(instruction) {
                    Some(terminator) => {
                        if let Terminator::Invoke { .. } = terminator {
                            instructions.push(Instruction { result, op: self.call(instruction), at });
                        }
                        branch = self.branch(instruction, &terminator, at);
                        (end, end_at) = (terminator.decided(), jumps_at.unwrap_or(at));
                    }
                    None => match self.op(instruction) {
                        Op::Opaque => {
                            if let Some((variable, local)) = self.declaration(instruction) {
                                local_names.push((variable, local));
                            }
                        }
                        op => {
                            // Names that SSA form brought have no line of their own.
                            let at = if at.line == 0 {
                                instructions.last().map_or(at, |before| before.at)
                            } else {
                                at
                            };
                            instructions.push(Instruction { result, op, at });
                        }
                    },
                }
            }
            for instruction in instructions.iter_mut().filter(|instruction| instruction.at.line == 0) {
                instruction.at = end_at;
            }
            retain_vanished(&mut vanished, &instructions, end_at);
            self.body.blocks.push(Block { instructions, vanished, end, end_at, scope, role, branch });
        }
        let names: FxHashMap<ValueId, VariableId> =
            local_names.into_iter().map(|(variable, local)| (local, variable)).collect();
        for instruction in self.body.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
            if let Op::Local { variable, .. } = &mut instruction.op {
                *variable = names.get(&instruction.result).copied();
            }
        }
    }

    /// Branches are told apart by place and ordinal, the same for all who
    /// read this bitcode.
    fn branch(&mut self, instruction: Value<'m>, end: &Terminator, at: Spot) -> Branch {
        if !matches!(end, Terminator::Branch { .. } | Terminator::Switch { .. }) {
            return Branch::default();
        }
        let next = self.branches.entry(at).or_default();
        let ordinal = *next;
        *next += 1;
        let is_negated = match *end {
            Terminator::Branch { yes, no, .. } => {
                let blocks = instruction.successors();
                let names = [blocks[0].name(), blocks[1].name()];
                taken_destination(names, [yes.0 as usize, no.0 as usize]) == 1
            }
            _ => false,
        };
        Branch { ordinal, is_negated }
    }

    fn operand(&self, value: Value<'m>) -> Operand {
        match self.values.get(&value) {
            Some(&id) => Operand::Value(id),
            None => operand(self.names, self.layout, value),
        }
    }

    /// The same with the members of a constant structure.
    fn whole(&self, value: Value<'m>) -> Operand {
        let Shape::Record(members) = self.shape(value.ty()) else { return self.operand(value) };
        if self.values.contains_key(&value) || !value.is_aggregate() {
            return self.operand(value);
        }
        let cells = cells(self.names, self.layout, value);
        let member = |member: &Member| {
            let cell = cells.iter().find(|cell| cell.offset == member.offset);
            cell.map_or(Operand::Int(0), |cell| cell.value.clone())
        };
        Operand::Members(members.iter().map(member).collect())
    }

    fn block(&self, block: llvm::Block<'m>) -> BlockId {
        self.blocks[&block]
    }

    fn shape(&self, ty: Type<'m>) -> Shape {
        shape(self.layout, ty)
    }

    fn op(&mut self, at: Value<'m>) -> Op {
        use LLVMOpcode::*;
        match at.opcode().expect("an instruction") {
            LLVMAlloca => {
                let bytes = at.allocated_type().bytes(self.layout);
                let count = at.operand(0).integer();
                Op::Local { bytes: count.map(|count| bytes.saturating_mul(count as u64)), variable: None }
            }
            LLVMLoad => Op::Load { from: self.operand(at.operand(0)), shape: self.shape(at.ty()) },
            LLVMStore => Op::Store {
                to: self.operand(at.operand(1)),
                value: self.whole(at.operand(0)),
                shape: self.shape(at.operand(0).ty()),
            },
            LLVMGetElementPtr => {
                let (offset, terms) = steps(self.layout, at);
                let terms = terms.into_iter().map(|(index, stride)| (self.operand(index), stride)).collect();
                Op::Step { base: self.operand(at.operand(0)), offset, terms }
            }
            LLVMICmp => Op::Compare {
                op: comparison(at),
                left: self.operand(at.operand(0)),
                right: self.operand(at.operand(1)),
            },
            LLVMFCmp => Op::CompareReal {
                op: real_comparison(at),
                left: self.operand(at.operand(0)),
                right: self.operand(at.operand(1)),
            },
            LLVMTrunc => self.cast(at, Width::Truncated(at.ty().bits())),
            LLVMZExt => self.cast(at, Width::ZeroExtended(at.operand(0).ty().bits())),
            LLVMSExt => self.cast(at, Width::SignExtended(at.operand(0).ty().bits())),
            LLVMFPExt | LLVMBitCast | LLVMPtrToInt | LLVMIntToPtr | LLVMAddrSpaceCast | LLVMFreeze => {
                self.cast(at, Width::Kept)
            }
            LLVMSub if (0..2).all(|side| at.operand(side).opcode() == Some(LLVMPtrToInt)) => Op::Binary {
                op: Binary::Distance,
                left: self.operand(at.operand(0)),
                right: self.operand(at.operand(1)),
            },
            LLVMSelect => Op::Select {
                condition: self.operand(at.operand(0)),
                yes: self.whole(at.operand(1)),
                no: self.whole(at.operand(2)),
            },
            LLVMPHI => {
                let incoming = at.incoming().map(|(block, value)| (self.block(block), self.whole(value)));
                Op::Phi { incoming: incoming.collect() }
            }
            LLVMCall => self.call(at),
            LLVMExtractValue => {
                let record = at.operand(0);
                let members = self.members(record.ty(), &at.indices());
                // Of a sum and whether it overflowed, the sum.
                if record.opcode() == Some(LLVMCall) && record.called().name().contains(".with.overflow.") {
                    return match members.start {
                        0 => Op::Cast { value: self.operand(record), width: Width::Kept },
                        _ => Op::Opaque,
                    };
                }
                Op::Extract { record: self.whole(record), members, of: scalars(self.layout, record.ty()) }
            }
            LLVMInsertValue => {
                let record = at.operand(0);
                let members = self.members(record.ty(), &at.indices());
                let of = scalars(self.layout, record.ty());
                let value = self.operand(at.operand(1));
                Op::Insert { record: self.whole(record), value, members, of }
            }
            LLVMAtomicRMW => Op::Exchange {
                at: self.operand(at.operand(0)),
                value: self.operand(at.operand(1)),
                op: match at.exchange_operation() {
                    LLVMAtomicRMWBinOpXchg => None,
                    LLVMAtomicRMWBinOpAdd => Some(Binary::Add),
                    LLVMAtomicRMWBinOpSub => Some(Binary::Sub),
                    _ => Some(Binary::Other),
                },
            },
            LLVMAtomicCmpXchg => Op::Exchange {
                at: self.operand(at.operand(0)),
                value: self.operand(at.operand(2)),
                op: Some(Binary::Other),
            },
            other => match binary(other) {
                Some(op) => {
                    Op::Binary { op, left: self.operand(at.operand(0)), right: self.operand(at.operand(1)) }
                }
                None => Op::Opaque,
            },
        }
    }

    fn cast(&self, at: Value<'m>, width: Width) -> Op {
        Op::Cast { value: self.operand(at.operand(0)), width }
    }

    /// Which of the flattened members of a record the indices choose.
    fn members(&self, record: Type<'m>, indices: &[u32]) -> std::ops::Range<u32> {
        let (mut ty, mut start) = (record, 0);
        for &index in indices {
            if let Some(members) = ty.members(self.layout) {
                start +=
                    members[..index as usize].iter().map(|&(_, ty)| scalars(self.layout, ty)).sum::<u32>();
                ty = members[index as usize].1;
            } else if let Some((element, _)) = ty.elements() {
                start += index * scalars(self.layout, element);
                ty = element;
            }
        }
        start..start + scalars(self.layout, ty)
    }

    fn call(&mut self, at: Value<'m>) -> Op {
        let called = at.called().without_aliases();
        if called.is_function() && called.is_intrinsic() {
            return self.intrinsic(at, called.name());
        }
        let callee = if called.is_assembler() {
            Callee::Assembler
        } else if let Some(&function) = self.names.functions.get(&called) {
            Callee::Function(function)
        } else {
            Callee::Pointer(self.operand(called))
        };
        Op::Call(Call {
            callee,
            arguments: at.arguments().map(|argument| self.operand(argument)).collect(),
            signature: signature(at.called_type()),
            is_noreturn: at.has_attribute("noreturn"),
        })
    }

    fn intrinsic(&mut self, at: Value<'m>, name: &str) -> Op {
        let argument = |index| self.operand(at.operand(index));
        let is = |prefix: &str| name.starts_with(prefix);
        if is("llvm.memcpy") || is("llvm.memmove") {
            return Op::Copy { to: argument(0), from: argument(1), bytes: argument(2) };
        }
        if is("llvm.memset") {
            return Op::Fill { to: argument(0), byte: argument(1), bytes: argument(2) };
        }
        if is("llvm.va_start") {
            return Op::Variadic { list: argument(0) };
        }
        if is("llvm.va_copy") {
            return Op::Copy { to: argument(0), from: argument(1), bytes: Operand::Int(VA_LIST) };
        }
        if is("llvm.lifetime.end") {
            return Op::LifeEnd { local: argument(1) };
        }
        if name == jumps::VALUE {
            let Some(named) = self.lines.named(at) else { return Op::Opaque };
            if named.value.is_some_and(Value::is_poison) {
                return self.end(named);
            }
            let value = named.value.map_or(Operand::Unknown, |value| self.operand(value));
            return Op::Name { variable: self.variable(named), value };
        }
        if is("llvm.expect") || is("llvm.launder") || is("llvm.strip.invariant") || is("llvm.ptr.annotation")
        {
            return Op::Cast { value: argument(0), width: Width::Kept };
        }
        let overflowing = [("add", Binary::Add), ("sub", Binary::Sub), ("mul", Binary::Mul)];
        if let Some((_, op)) = overflowing.iter().find(|(op, _)| {
            is(&format!("llvm.s{op}.with.overflow.")) || is(&format!("llvm.u{op}.with.overflow."))
        }) {
            return Op::Binary { op: *op, left: argument(0), right: argument(1) };
        }
        if is("llvm.trap") || is("llvm.ubsantrap") {
            let signature = Signature::default();
            return Op::Call(Call {
                callee: Callee::Assembler,
                arguments: Vec::new(),
                signature,
                is_noreturn: true,
            });
        }
        Op::Opaque
    }

    /// The variable and the local of `llvm.dbg.declare`.
    fn declaration(&mut self, at: Value<'m>) -> Option<(VariableId, ValueId)> {
        if at.opcode() != Some(LLVMOpcode::LLVMCall) || at.called().name() != jumps::DECLARE {
            return None;
        }
        let named = self.lines.named(at)?;
        let local = *self.values.get(&named.value?)?;
        Some((self.variable(named), local))
    }

    /// The end of a variable; those of a whole function end with it.
    fn end(&mut self, named: Named<'m>) -> Op {
        let variable = self.variable(named);
        let known = &mut self.body.variables[variable.0 as usize];
        let is_inner = known.scope.is_some_and(|scope| self.body.scopes[scope.0 as usize].is_some());
        known.is_ended |= is_inner;
        if is_inner { Op::End { variable } } else { Op::Opaque }
    }

    fn variable(&mut self, named: Named<'m>) -> VariableId {
        if let Some(&known) = self.variables.get(&named.key) {
            return known;
        }
        let scope =
            (named.scope != 0).then(|| self.lines.scope(named.scope, &mut self.scopes, &mut self.body));
        let id = VariableId(self.body.variables.len() as u32);
        self.body.variables.push(Variable { name: named.name, ty: named.ty, scope, is_ended: false });
        self.variables.insert(named.key, id);
        id
    }

    fn terminator(&self, at: Value<'m>) -> Option<Terminator> {
        use LLVMOpcode::*;
        let successors = || at.successors().into_iter().map(|block| self.block(block)).collect::<Vec<_>>();
        Some(match at.opcode().expect("an instruction") {
            LLVMRet => Terminator::Return((at.operand_count() > 0).then(|| self.operand(at.operand(0)))),
            LLVMBr if at.is_conditional() => {
                let successors = successors();
                let condition = self.operand(at.operand(0));
                Terminator::Branch { condition, yes: successors[0], no: successors[1] }
            }
            LLVMBr => Terminator::Jump(successors()[0]),
            LLVMSwitch => {
                let successors = successors();
                let case = |index: usize| at.operand(2 * index as u32).integer();
                let cases =
                    (1..successors.len()).map(|index| (case(index).unwrap_or(i64::MIN), successors[index]));
                Terminator::Switch {
                    value: self.operand(at.operand(0)),
                    cases: cases.collect(),
                    default: successors[0],
                }
            }
            LLVMInvoke => {
                let successors = successors();
                Terminator::Invoke { normal: successors[0], unwind: successors[1] }
            }
            LLVMResume => Terminator::Resume,
            LLVMUnreachable => Terminator::Unreachable,
            LLVMIndirectBr | LLVMCallBr | LLVMCatchSwitch | LLVMCatchRet | LLVMCleanupRet => {
                Terminator::Anywhere(successors())
            }
            _ => return None,
        })
    }
}

/// The size of a list of arguments.
const VA_LIST: i64 = 24;

/// Clang's names for the blocks that ways out of a scope meet in.
fn is_exit(name: &str) -> bool {
    name == "return" || name.starts_with("cleanup") || name.starts_with("nrvo.")
}

fn binary(opcode: LLVMOpcode) -> Option<Binary> {
    use LLVMOpcode::*;
    Some(match opcode {
        LLVMAdd => Binary::Add,
        LLVMSub => Binary::Sub,
        LLVMMul => Binary::Mul,
        LLVMSDiv | LLVMUDiv => Binary::Div,
        LLVMSRem | LLVMURem => Binary::Rem,
        LLVMAnd => Binary::And,
        LLVMOr => Binary::Or,
        LLVMXor => Binary::Xor,
        LLVMShl => Binary::Shl,
        LLVMLShr | LLVMAShr => Binary::Shr,
        _ => return None,
    })
}

/// What is no number is left out.
fn real_comparison(at: Value<'_>) -> Compare {
    match at.real_predicate() {
        LLVMRealOEQ | LLVMRealUEQ => Compare::Eq,
        LLVMRealONE | LLVMRealUNE => Compare::Ne,
        LLVMRealOLT | LLVMRealULT => Compare::Lt,
        LLVMRealOLE | LLVMRealULE => Compare::Le,
        LLVMRealOGT | LLVMRealUGT => Compare::Gt,
        LLVMRealOGE | LLVMRealUGE => Compare::Ge,
        _ => Compare::Other,
    }
}

fn comparison(at: Value<'_>) -> Compare {
    match at.predicate() {
        LLVMIntEQ => Compare::Eq,
        LLVMIntNE => Compare::Ne,
        LLVMIntSLT => Compare::Lt,
        LLVMIntSLE => Compare::Le,
        LLVMIntSGT => Compare::Gt,
        LLVMIntSGE => Compare::Ge,
        LLVMIntULT => Compare::Below,
        LLVMIntULE => Compare::NotAbove,
        LLVMIntUGT => Compare::Above,
        LLVMIntUGE => Compare::NotBelow,
    }
}
