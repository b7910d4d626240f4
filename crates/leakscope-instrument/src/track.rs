//! The `track` variant: a stack taken inside an allocation function names the
//! calls that led there, each with its own line, and every allocation that the
//! source makes is made.
//!
//! Deaths of pointers are reported by what is added before optimisation, where
//! each local is an alloca and each store the source's ([`stamps`]). Calling
//! contexts are added to what the optimiser left ([`contexts`]), and so are uses.
//!
//! Tail calls between different functions become ordinary calls. A program
//! that loops through them without `musttail` needs the stack for it; a
//! function that calls itself is a loop before that, as the user's level says.

use leakscope_core::PoolFunction;

use crate::builder::Builder;
use crate::llvm::{Function, Kind, Module, PassOptions, Vectors};
use crate::stamps::Locals;
use crate::{contexts, details, guards, pools, stamps, superseded, unwinding};

/// The functions whose calls must stay.
#[rustfmt::skip]
pub const ALLOCATORS: [&str; 35] = [
    "malloc", "calloc", "realloc", "reallocarray", "free",
    "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
    "strdup", "strndup", "__strdup", "__strndup", "cfree",
    "_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_ZdlPv", "_ZdlPvm", "_ZdlPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPv", "_ZdaPvm", "_ZdaPvRKSt9nothrow_t",
    "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t",
];

/// Keeps allocations, and tells their places apart.
pub fn only_stacks(module: &Module<'_>, own: &[PoolFunction]) -> Result<(), String> {
    prepare(module);
    pools::insert(module, own)
}

/// The same, and tells how pointers die.
pub fn before_optimisation(module: &Module<'_>, own: &[PoolFunction]) -> Result<(), String> {
    unwinding::let_return(module);
    unwinding::keep_frames(module);
    prepare(module);
    stamps::insert(module, own, &guards::before_optimisation(), Locals::Apart)?;
    pools::insert(module, own)
}

/// The same, and tells how pointers come and go.
pub fn with_details(module: &Module<'_>, own: &[PoolFunction]) -> Result<(), String> {
    unwinding::let_return(module);
    let noted = details::note(module);
    prepare(module);
    stamps::insert(module, own, &guards::before_optimisation_of_all(), Locals::Together)?;
    pools::insert(module, own)?;
    details::insert(module, &noted)
}

fn prepare(module: &Module<'_>) {
    let ordinary: Vec<String> = ALLOCATORS.iter().map(|name| format!("no-builtin-{name}")).collect();
    let [alias_free, alone] = ["noalias", "nomerge"].map(Kind::named);
    for function in module.functions() {
        if ALLOCATORS.contains(&function.name()) {
            forget_meaning(function);
        }
        // A block that nobody else knows has dead stores at the end of the
        // function that drops it; but they say which blocks leak with it.
        function.unset_return(alias_free);
        if function.is_declaration() {
            continue;
        }
        // On the caller and not on each call: a call through a pointer may
        // become a direct one later.
        for name in &ordinary {
            function.set_string(name, "");
        }
        for call in function.calls() {
            call.unset_return(alias_free);
            // Two calls that become one have no line.
            call.set(alone);
        }
    }
}

/// Takes out what need not be reported, in code that is to be optimised.
pub fn prune(module: &mut Module<'_>) -> Result<(), String> {
    module.run_passes("function(sroa,early-cse)", &PassOptions::new(Vectors::None))?;
    superseded::remove(module);
    Ok(())
}

/// Keeps frames: each function has a frame pointer, and stays on the stack
/// until it returns.
pub fn after_optimisation(module: &Module<'_>) {
    for function in module.bodies() {
        function.set_string("frame-pointer", "all");
        function.set_string("disable-tail-calls", "true");
        // What is left below the stack pointer is dead.
        function.set(Kind::named("noredzone"));
        // By which the runtime knows where a function begins.
        if !function.is(Kind::named("uwtable")) {
            function.set_value(Kind::named("uwtable"), 1);
        }
    }
    contexts::insert(module);
    let builder = Builder::new(module);
    for word in ["context", "site", "clock", "tables", "outer", "uses_left", "given"] {
        builder.settle_thread_word(&format!("leakscope_{word}"));
    }
}

/// Makes an allocation function one that may do anything, so that no call of
/// it is for nothing.
pub fn forget_meaning(allocator: Function<'_>) {
    for meaning in ["builtin", "allockind", "memory", "willreturn"] {
        allocator.unset(Kind::named(meaning));
    }
    allocator.set(Kind::named("nobuiltin"));
}
