//! The `symbolic` variant: the program runs as it does, and every integer and
//! pointer that depends on the input has a term beside it.
//!
//! Works on unoptimised code in SSA form, so that branches and lines are the
//! source's; what is added is optimised together with it. A term is a number
//! of 32 bits, 0 for what does not depend on the input. What computes terms is
//! a call of the runtime behind a test that they are not all 0
//! ([`helpers`]). Between functions terms go through variables of the thread.
//!
//! Without terms: floats, vectors, integers of more than 64 bits, results of
//! assembler and of atomic operations, arguments behind `...`.

mod calls;
mod helpers;
mod models;
mod places;
mod values;
mod weave;

use crate::builder::Builder;
use crate::llvm::{Kind, Module, PassOptions, Vectors};

pub fn before_optimisation(module: &mut Module<'_>) -> Result<(), String> {
    module.run_passes("function(mem2reg)", &PassOptions::new(Vectors::None))?;
    models::redirect(module);
    forget_promises(module);
    module.add(&helpers::text())?;
    {
        let builder = Builder::new(module);
        let helpers = helpers::Helpers::new(&builder);
        let mut places = places::Places::new(module, &builder);
        let functions: Vec<_> = module
            .functions()
            .filter(|function| !function.is_declaration() && !function.name().starts_with("leakscope."))
            .filter(|function| !function.is(Kind::named("naked")))
            .collect();
        for function in functions {
            weave::weave(module, &builder, &helpers, &mut places, function);
        }
        places.finish();
    }
    module.run_passes("always-inline,function(sccp,simplifycfg)", &PassOptions::new(Vectors::None))
}

/// Functions that only compute now also write terms.
fn forget_promises(module: &Module<'_>) {
    let promises = ["memory", "willreturn", "speculatable", "nosync", "nofree", "norecurse"].map(Kind::named);
    for function in module.functions() {
        for promise in promises {
            function.unset(promise);
        }
        for call in function.calls() {
            for promise in promises {
                call.unset_unless_called(promise, &[]);
            }
        }
    }
}
