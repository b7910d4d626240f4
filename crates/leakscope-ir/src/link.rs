//! Many units as one [`Program`]: names that mean the same become one id.
//!
//! Of several definitions of one name the first is taken, as a linker does
//! with libraries and with what is mergeable.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::program::*;
use crate::read::Module;

/// The program that the modules make, in their order.
pub fn link(modules: Vec<Module>) -> Program {
    let mut linker = Linker { program: Program::default(), ..Linker::default() };
    for module in modules {
        linker.add(module);
    }
    linker.resolve();
    linker.program
}

/// When a linker takes a module into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Always,
    /// A member of a static library.
    WhereNeeded,
}

/// The modules that a linker takes: of those of static libraries only what
/// others refer to. A program of nothing but libraries has all of them.
pub fn needed(modules: Vec<(Module, Presence)>) -> Vec<Module> {
    let mut is_taken: Vec<bool> = modules.iter().map(|(_, when)| *when == Presence::Always).collect();
    if !is_taken.contains(&true) {
        return modules.into_iter().map(|(module, _)| module).collect();
    }
    let mut providers: FxHashMap<&str, usize> = FxHashMap::default();
    for (index, (module, _)) in modules.iter().enumerate() {
        for name in module.defined() {
            let known = providers.entry(name).or_insert(index);
            if is_taken[index] && !is_taken[*known] {
                *known = index;
            }
        }
    }
    let mut open: Vec<usize> = (0..modules.len()).filter(|&index| is_taken[index]).collect();
    while let Some(index) = open.pop() {
        for name in modules[index].0.undefined() {
            if let Some(&provider) = providers.get(name)
                && !std::mem::replace(&mut is_taken[provider], true)
            {
                open.push(provider);
            }
        }
    }
    let mut is_taken = is_taken.into_iter();
    modules.into_iter().filter(|_| is_taken.next() == Some(true)).map(|(module, _)| module).collect()
}

impl Module {
    /// Names that other modules can refer to.
    fn defined(&self) -> impl Iterator<Item = &str> {
        let Program { functions, globals, .. } = &self.program;
        let functions = functions
            .iter()
            .filter(|function| function.body.is_some() && function.linkage != Linkage::Internal)
            .map(|function| function.name.as_str());
        let globals = globals
            .iter()
            .filter(|global| global.initial.is_some() && global.linkage != Linkage::Internal)
            .map(|global| global.name.as_str());
        functions.chain(globals).chain(self.aliases.iter().map(|(name, _)| name.as_str()))
    }

    fn undefined(&self) -> impl Iterator<Item = &str> {
        let Program { functions, globals, .. } = &self.program;
        let functions = functions.iter().filter(|function| function.body.is_none());
        let globals = globals.iter().filter(|global| global.initial.is_none());
        functions.map(|function| function.name.as_str()).chain(globals.map(|global| global.name.as_str()))
    }
}

#[derive(Default)]
struct Linker {
    program: Program,
    functions: FxHashMap<String, FuncId>,
    globals: FxHashMap<String, GlobalId>,
    files: FxHashMap<String, FileId>,
    /// Functions that are another name for one with a body.
    aliases: Vec<(FuncId, FuncId)>,
}

/// Ids of one module in the program.
struct Renaming {
    functions: Vec<FuncId>,
    globals: Vec<GlobalId>,
    files: Vec<FileId>,
    first_type: u32,
}

impl Linker {
    fn add(&mut self, module: Module) {
        let Program { functions, globals, files, types } = module.program;
        let first_type = self.program.types.len() as u32;
        let files = files.into_iter().map(|path| self.file(path)).collect();
        let function_ids = functions.iter().map(|function| self.function_id(function)).collect();
        let global_ids = globals.iter().map(|global| self.global_id(global)).collect();
        let renaming = Renaming { functions: function_ids, globals: global_ids, files, first_type };
        self.program.types.extend(types.into_iter().map(|ty| renaming.shape(ty)));
        for (function, &id) in functions.into_iter().zip(&renaming.functions) {
            let known = &mut self.program.functions[id.0 as usize];
            if known.ownership.is_empty() {
                known.ownership.clone_from(&function.ownership);
            }
            if known.body.is_none() && function.body.is_some() {
                *known = renaming.function(function);
            }
        }
        for (global, &id) in globals.into_iter().zip(&renaming.globals) {
            let known = &mut self.program.globals[id.0 as usize];
            if known.initial.is_none() && global.initial.is_some() {
                *known = renaming.global(global);
            }
        }
        for (name, function) in module.aliases {
            let target = renaming.functions[function.0 as usize];
            let alias = match self.functions.get(&name) {
                Some(&alias) => alias,
                None => {
                    let mut declared = self.program.function(target).clone();
                    (declared.name, declared.body) = (name.clone(), None);
                    self.push(declared, Some(name))
                }
            };
            self.aliases.push((alias, target));
        }
    }

    fn file(&mut self, path: String) -> FileId {
        let files = &mut self.program.files;
        *self.files.entry(path.clone()).or_insert_with(|| {
            files.push(path);
            FileId(files.len() as u32 - 1)
        })
    }

    fn function_id(&mut self, function: &Function) -> FuncId {
        let shared = function.linkage != Linkage::Internal;
        if let Some(&known) = self.functions.get(&function.name).filter(|_| shared) {
            return known;
        }
        let declared = Function { body: None, at: Spot::UNKNOWN, types: Vec::new(), ..function.clone() };
        self.push(declared, shared.then(|| function.name.clone()))
    }

    fn push(&mut self, function: Function, name: Option<String>) -> FuncId {
        let id = FuncId(self.program.functions.len() as u32);
        self.program.functions.push(function);
        if let Some(name) = name {
            self.functions.insert(name, id);
        }
        id
    }

    fn global_id(&mut self, global: &Global) -> GlobalId {
        let shared = global.linkage != Linkage::Internal;
        if let Some(&known) = self.globals.get(&global.name).filter(|_| shared) {
            return known;
        }
        let id = GlobalId(self.program.globals.len() as u32);
        self.program.globals.push(Global { initial: None, ty: None, ..global.clone() });
        if shared {
            self.globals.insert(global.name.clone(), id);
        }
        id
    }

    /// Gives each alias that has no body of its own that of its target.
    fn resolve(&mut self) {
        for &(alias, target) in &self.aliases {
            if self.program.function(alias).body.is_none() {
                let function = self.program.function(target).clone();
                let known = &mut self.program.functions[alias.0 as usize];
                (known.body, known.at, known.signature) = (function.body, function.at, function.signature);
                known.fingerprint = function.fingerprint;
            }
        }
    }
}

impl Renaming {
    fn ty(&self, id: TypeId) -> TypeId {
        TypeId(id.0 + self.first_type)
    }

    fn shape(&self, ty: Type) -> Type {
        match ty {
            Type::Pointer(to) => Type::Pointer(to.map(|to| self.ty(to))),
            Type::Array(element, bytes) => Type::Array(self.ty(element), bytes),
            Type::Record(fields) => Type::Record(
                fields.into_iter().map(|field| Field { ty: self.ty(field.ty), ..field }).collect(),
            ),
            Type::Scalar => Type::Scalar,
        }
    }

    fn function(&self, mut function: Function) -> Function {
        function.at.file = self.files[function.at.file.0 as usize];
        for ty in function.types.iter_mut().flatten() {
            *ty = self.ty(*ty);
        }
        let body = function.body.as_mut().and_then(Arc::get_mut).expect("a body of its own");
        for ty in body.variables.iter_mut().filter_map(|variable| variable.ty.as_mut()) {
            *ty = self.ty(*ty);
        }
        for block in &mut body.blocks {
            block.end_at.file = self.files[block.end_at.file.0 as usize];
            for gone in &mut block.vanished {
                gone.at.file = self.files[gone.at.file.0 as usize];
            }
            if let Some(operand) = block.end.operand_mut() {
                self.operand(operand);
            }
            for instruction in &mut block.instructions {
                instruction.at.file = self.files[instruction.at.file.0 as usize];
                instruction.op.for_each_operand_mut(&mut |operand| self.operand(operand));
                if let Op::Call(Call { callee: Callee::Function(id), .. }) = &mut instruction.op {
                    *id = self.functions[id.0 as usize];
                }
            }
        }
        function
    }

    fn global(&self, mut global: Global) -> Global {
        global.ty = global.ty.map(|ty| self.ty(ty));
        for cell in global.initial.iter_mut().flatten() {
            self.operand(&mut cell.value);
        }
        global
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Global(id, _) => *id = self.globals[id.0 as usize],
            Operand::Function(id) => *id = self.functions[id.0 as usize],
            _ => {}
        }
    }
}
