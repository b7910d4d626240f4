//! The `symbolic` variant: the program runs as it does, and every integer and
//! pointer that depends on the input has a term beside it.
//!
//! Works on unoptimised code in SSA form, so that branches and lines are the
//! source's, but for choices on one line ([`choices`]) and steps of checksums ([`updates`]); what is added is optimised together with it. A term is a number
//! of 32 bits, 0 for what does not depend on the input. What computes terms is
//! a call of the runtime behind a test that they are not all 0
//! ([`helpers`]). Between functions terms go through variables of the thread.
//!
//! Without terms: floats, vectors, integers of more than 64 bits, results of
//! assembler and of atomic operations, arguments behind `...`.

mod calls;
mod choices;
mod helpers;
mod lines;
mod models;
mod places;
mod updates;
mod values;
mod weave;

use helpers::Helpers;
pub use lines::begins_line;
use places::Places;
pub use places::file_of;

use crate::builder::Builder;
use crate::llvm::{Function, Kind, Layout, Module, PassOptions, Vectors};

pub fn before_optimisation(module: &mut Module<'_>) -> Result<(), String> {
    models::redirect(module);
    forget_promises(module);
    module.add(&helpers::text())?;
    in_all_functions(module, choices::flatten);
    in_all_functions(module, updates::flatten);
    // Lines first: what only sets a local leaves nothing in SSA form.
    in_all_functions(module, lines::tell);
    module.run_passes("function(mem2reg)", &PassOptions::new(Vectors::None))?;
    in_all_functions(module, weave::weave);
    module.run_passes("always-inline,function(sccp,simplifycfg)", &PassOptions::new(Vectors::None))
}

/// What all that is added to a function needs.
struct Tools<'a, 'm> {
    layout: Layout<'m>,
    builder: &'a Builder<'m>,
    helpers: &'a Helpers<'m>,
    places: Places<'a, 'm>,
}

fn in_all_functions(module: &Module<'_>, add: for<'a, 'm> fn(&mut Tools<'a, 'm>, Function<'m>)) {
    let builder = Builder::new(module);
    let helpers = Helpers::new(&builder);
    let places = Places::new(module, &builder);
    let mut tools = Tools { layout: module.layout(), builder: &builder, helpers: &helpers, places };
    let is_own = |function: &Function<'_>| function.name().starts_with(helpers::PREFIX);
    let functions: Vec<_> = module
        .functions()
        .filter(|function| !function.is_declaration() && !is_own(function))
        .filter(|function| !function.is(Kind::named("naked")))
        .collect();
    for function in functions {
        add(&mut tools, function);
    }
    tools.places.finish();
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
