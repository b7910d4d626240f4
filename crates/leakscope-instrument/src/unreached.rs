//! Lines that no input leads to, as far as the optimiser sees.
//!
//! A call of an unknown function is put before each line that is asked for, and
//! the code is optimised: where the call is gone, the way there was shown to be
//! closed. (Theodoridis, Rigger and Su, "Finding Missed Optimizations through
//! the Lens of Dead Code Elimination", ASPLOS 2022, test compilers so.) What
//! the optimiser may assume only because C leaves it undefined is taken from
//! it: that numbers do not overflow, that types do not mix. So is what it knows
//! of allocations: they can fail.

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMStripModuleDebugInfo;

use crate::InstrumentError;
use crate::builder::Builder;
use crate::ir::{Opcode, Value};
use crate::llvm::{Context, Kind, Module, PassOptions, Vectors};
use crate::ranges;
use crate::symbolic::{begins_line, file_of};
use crate::track::{ALLOCATORS, forget_meaning};
use crate::ways::{self, NewSolver};

/// A line of a source file, which is named as the symbolic program names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub file: String,
    pub line: u32,
    pub meant: Meant,
}

/// What of a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meant {
    All,
    /// What is behind a condition on the same line: `return` in `if (n > 9) return;`.
    Guarded,
}

/// What is handed in of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of its code: nothing but `main` is called from outside.
    Whole,
    Part,
}

/// What the functions before lines are called.
pub(crate) const POINT: &str = "leakscope_point_";

/// Touches memory that the program cannot: of LLVM's `memory` attribute.
const ELSEWHERE: u64 = 0b1100;

/// Three ways to simplify, each of which shows what the others do not. In the first,
/// functions learn what they do to memory before they are inlined: what is called
/// twice with nothing between gives the same twice. In the second, what was
/// compared is looked at, across loops too, before two comparisons become one. The third
/// leaves comparisons as they are, for `ranges` and `ways`.
const PIPELINES: [&str; 3] = [
    "function(sroa,early-cse<memssa>,simplifycfg),ipsccp,cgscc(function-attrs),function(gvn),default<O2>",
    "function(sroa,early-cse<memssa>,simplifycfg),ipsccp,cgscc(inline),\
     function(sroa,early-cse<memssa>,jump-threading,constraint-elimination,simplifycfg),default<O2>",
    "function(sroa,early-cse<memssa>),cgscc(inline),globalopt,\
     function(sroa,early-cse<memssa>,gvn,jump-threading)",
];

/// Programs of so many instructions are small; in them, functions are inlined that LLVM takes
/// for so large.
const MOST_INLINED: usize = 20_000;
const THRESHOLD: &str = "1500";

/// For each of the lines, whether code of it is there and none of it can be
/// reached.
pub fn unreached(
    units: &[Vec<u8>],
    extent: Extent,
    lines: &[Line],
    new_solver: NewSolver<'_>,
) -> Result<Vec<bool>, InstrumentError> {
    let mut closed = vec![false; lines.len()];
    for pipeline in PIPELINES {
        let open: Vec<usize> = (0..lines.len()).filter(|&number| !closed[number]).collect();
        let wanted: Vec<Line> = open.iter().map(|&number| lines[number].clone()).collect();
        if wanted.is_empty() {
            break;
        }
        for (number, is_closed) in
            open.into_iter().zip(unreached_by(pipeline, units, extent, &wanted, new_solver)?)
        {
            closed[number] = is_closed;
        }
    }
    Ok(closed)
}

fn unreached_by(
    pipeline: &str,
    units: &[Vec<u8>],
    extent: Extent,
    lines: &[Line],
    new_solver: NewSolver<'_>,
) -> Result<Vec<bool>, InstrumentError> {
    let context = Context::new();
    let mut modules = Vec::new();
    for unit in units {
        modules.push(Module::read(&context, unit).map_err(InstrumentError::Read)?);
    }
    if extent == Extent::Whole {
        let mut rest = modules.split_off(1.min(modules.len())).into_iter();
        if let [whole] = &modules[..] {
            rest.try_for_each(|module| whole.link(module)).map_err(InstrumentError::Optimise)?;
            hide_all_but_main(whole);
        }
    }
    let (mut is_there, mut is_left) = (vec![false; lines.len()], vec![false; lines.len()]);
    for mut module in modules {
        for number in put_points(&module, lines) {
            is_there[number] = true;
        }
        let has_point = |name: &str| module.function(name).is_some();
        if !(0..lines.len()).any(|number| has_point(&format!("{POINT}{number}"))) {
            continue;
        }
        forget_assumptions(&module);
        inline_more(&module);
        module.run_passes(pipeline, &PassOptions::new(Vectors::None)).map_err(InstrumentError::Optimise)?;
        let come_to = ranges::reached(&module, POINT);
        let is_come_to = |name: &String| {
            let has_calls = module.function(name).is_some_and(|point| point.value().users().next().is_some());
            has_calls && come_to.as_ref().is_none_or(|come_to| come_to.contains(name.as_str()))
        };
        let names = (0..lines.len()).map(|number| (number, format!("{POINT}{number}")));
        let (numbers, names): (Vec<usize>, Vec<String>) = names.filter(|(_, name)| is_come_to(name)).unzip();
        let is_closed = match pipeline == PIPELINES[2] {
            true => ways::closed(&module, &names, new_solver),
            false => vec![false; names.len()],
        };
        for (number, is_closed) in numbers.into_iter().zip(is_closed) {
            is_left[number] |= !is_closed;
        }
    }
    Ok(is_there.into_iter().zip(is_left).map(|(is_there, is_left)| is_there && !is_left).collect())
}

/// Puts a call before each piece of code of the lines; says of which there is
/// some.
fn put_points(module: &Module<'_>, lines: &[Line]) -> Vec<usize> {
    let builder = Builder::new(module);
    let [never_throws, returns, calls_nobody, memory] =
        ["nounwind", "willreturn", "nocallback", "memory"].map(Kind::named);
    let mut put = Vec::new();
    let bodies: Vec<_> = module.functions().filter(|function| !function.is_declaration()).collect();
    for at in bodies.into_iter().flat_map(|function| function.instructions().collect::<Vec<_>>()) {
        let Some(location) = at.location().filter(|_| begins_line(at)) else { continue };
        for (number, line) in lines.iter().enumerate() {
            let is_here = line.line == location.line() && line.file == file_of(at);
            if is_here && (line.meant == Meant::All || is_guarded(at, line.line)) {
                let point = builder.runtime(&format!("{POINT}{number}"), builder.void_type(), &[]);
                builder.before(at).call(point, &[]);
                put.push(number);
            }
        }
    }
    put.sort_unstable();
    put.dedup();
    for number in &put {
        let point = module.function(&format!("{POINT}{number}")).expect("it was just put");
        for promise in [never_throws, returns, calls_nobody] {
            point.set(promise);
        }
        point.set_value(memory, ELSEWHERE);
    }
    put
}

/// Whether only a condition on the line leads to an instruction, which is not part of
/// another one.
fn is_guarded(at: Value<'_>, line: u32) -> bool {
    let decides = |end: Value<'_>| {
        end.is_conditional() && end.location().is_some_and(|location| location.line() == line)
    };
    let block = at.block();
    let mut ways_in = block.ways_in().peekable();
    ways_in.peek().is_some() && ways_in.all(decides) && !block.terminator().is_some_and(decides)
}

/// What is undefined in C happens all the same, and allocations fail.
fn forget_assumptions(module: &Module<'_>) {
    // It would only have to be kept up to date.
    // SAFETY: a live module, of which no handle to debug information is kept.
    unsafe { LLVMStripModuleDebugInfo(module.raw()) };
    let ordinary: Vec<String> = ALLOCATORS.iter().map(|name| format!("no-builtin-{name}")).collect();
    for function in module.functions() {
        if ALLOCATORS.contains(&function.name()) {
            forget_meaning(function);
        }
        if function.is_declaration() {
            continue;
        }
        for name in &ordinary {
            function.set_string(name, "");
        }
        for at in function.instructions() {
            at.forget_notes();
            // SAFETY: live instructions of the kinds that have these flags.
            unsafe {
                match at.opcode() {
                    Some(Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMMul | Opcode::LLVMShl) => {
                        LLVMSetNSW(at.raw, 0);
                        LLVMSetNUW(at.raw, 0);
                    }
                    Some(Opcode::LLVMGetElementPtr) => LLVMSetIsInBounds(at.raw, 0),
                    _ => {}
                }
            }
        }
    }
}

/// In small programs, most is seen of functions that are part of their callers.
fn inline_more(module: &Module<'_>) {
    let size: usize = module.bodies().map(|function| function.instructions().count()).sum();
    if size <= MOST_INLINED {
        for function in module.bodies() {
            function.set_string("function-inline-threshold", THRESHOLD);
        }
    }
}

/// Nobody else calls the functions of a whole program; but libraries call
/// allocators that it has of its own.
fn hide_all_but_main(module: &Module<'_>) {
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let is_called = function.name() == "main" || ALLOCATORS.contains(&function.name());
        if !is_called && !function.is_for_inlining_only() {
            // SAFETY: a live function with a body.
            unsafe {
                LLVMSetLinkage(function.raw(), LLVMLinkage::LLVMInternalLinkage);
                llvm_sys::comdat::LLVMSetComdat(function.raw(), std::ptr::null_mut());
            }
        }
    }
    for variable in module.variables() {
        // SAFETY: a live variable.
        unsafe {
            let linkage = LLVMGetLinkage(variable.raw);
            let is_own = matches!(linkage, LLVMLinkage::LLVMExternalLinkage | LLVMLinkage::LLVMCommonLinkage);
            if LLVMIsDeclaration(variable.raw) == 0 && is_own && !variable.name().starts_with("llvm.") {
                LLVMSetLinkage(variable.raw, LLVMLinkage::LLVMInternalLinkage);
                llvm_sys::comdat::LLVMSetComdat(variable.raw, std::ptr::null_mut());
            }
        }
    }
}
