//! Rewrites captured modules into the variants that leakscope runs.
//!
//! A module comes in as unoptimised bitcode and goes out as optimised bitcode:
//! instrumentation before optimisation, while locals are still in memory; the
//! user's own optimisation level; instrumentation after it. What each variant
//! does is in a module of its own (`track`, `sample`, `symbolic`). This crate does not know where
//! a module came from, nor how it becomes a program.

mod address;
mod apart;
mod builder;
mod contexts;
mod debug_info;
mod details;
mod edges;
mod elsewhere;
mod epochs;
mod events;
mod exits;
mod frames;
mod guards;
mod ir;
mod later;
mod llvm;
mod loops;
mod names;
mod nearby;
mod objects;
mod passed;
mod pools;
mod ranges;
mod reported;
mod roots;
mod sample;
mod scopes;
mod sites;
mod stamps;
mod superseded;
mod symbolic;
mod texts;
mod track;
mod twins;
mod unreached;
mod unwinding;
mod uses;
mod variables;
mod ways;
mod writes;

use builder::Builder;
use frames::Frames;
use leakscope_core::PoolFunction;
use llvm::{Context, Kind, Module, PassOptions, Vectors};
pub use texts::texts;
pub use unreached::{Extent, Line, Meant, unreached};
use uses::Bodies;
pub use ways::NewSolver;

/// What a program is derived for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Every heap block keeps a true stack of where it was allocated.
    Minimal,
    /// The same, and deaths of pointers and uses of blocks are told.
    Track,
    /// The same, and how pointers to blocks come and go is told.
    Explain,
    /// Heap accesses are reported in bursts.
    Sample,
    /// What depends on the input is told as terms over it.
    Symbolic,
}

/// What a module is going to be part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The executable itself: what each thread has is at a known place.
    Program,
    /// A shared library, or both.
    Library,
}

/// What is to be made of a module.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub variant: Variant,
    /// `"O0"` to `"O3"`, `"Os"`, `"Oz"`.
    pub optimisation: &'a str,
    /// Of a program that has allocators of its own.
    pub pools: &'a [PoolFunction],
    pub part: Part,
}

#[derive(Debug, thiserror::Error)]
pub enum InstrumentError {
    #[error("expected one of O0, O1, O2, O3, Os, Oz as optimisation level, found {0:?}")]
    Level(String),
    #[error("cannot read the module: {0}; capture it again with clang-19")]
    Read(String),
    #[error("cannot instrument the module: {0}")]
    Instrument(String),
    #[error("cannot optimise the module: {0}")]
    Optimise(String),
    #[error("the module is not valid {when}: {reason}")]
    Verify { when: &'static str, reason: String },
}

/// The module in `bitcode`, instrumented and optimised, as bitcode.
pub fn transform(bitcode: &[u8], job: &Job<'_>) -> Result<Vec<u8>, InstrumentError> {
    let Job { variant, optimisation, pools, part } = *job;
    // Each function has a frame of its own where frames are told apart.
    let level = match variant {
        Variant::Explain => Level::O0,
        _ => Level::named(optimisation)?,
    };
    let context = Context::new();
    let mut module = Module::read(&context, bitcode).map_err(InstrumentError::Read)?;

    match variant {
        Variant::Minimal => track::only_stacks(&module, pools).map_err(InstrumentError::Instrument)?,
        Variant::Track => track::before_optimisation(&module, pools).map_err(InstrumentError::Instrument)?,
        Variant::Explain => track::with_details(&module, pools).map_err(InstrumentError::Instrument)?,
        Variant::Sample => {}
        Variant::Symbolic => {
            symbolic::before_optimisation(&mut module).map_err(InstrumentError::Instrument)?;
        }
    }
    verify(&module, "before optimisation")?;
    if variant == Variant::Track && level != Level::O0 {
        track::prune(&mut module).map_err(InstrumentError::Optimise)?;
    }
    // Terms are not worth more: they make code large, and most of it seldom runs.
    let level = if variant == Variant::Symbolic { Level::O1 } else { level };
    level.optimise(&mut module).map_err(InstrumentError::Optimise)?;
    match variant {
        Variant::Minimal | Variant::Track | Variant::Explain => {
            if variant != Variant::Minimal {
                let bodies = if level == Level::O0 { Bodies::One } else { Bodies::Two };
                uses::insert(&mut module, bodies, part).map_err(InstrumentError::Instrument)?;
            }
            track::after_optimisation(&module);
            frames::clear(&module, if level == Level::O0 { Frames::All } else { Frames::Lasting });
        }
        Variant::Sample => {
            sample::after_optimisation(&mut module, part).map_err(InstrumentError::Instrument)?
        }
        Variant::Symbolic => {}
    }
    if part == Part::Program {
        Builder::new(&module).thread_words_are_near();
    }
    verify(&module, "after instrumentation")?;
    Ok(module.bitcode())
}

fn verify(module: &Module<'_>, when: &'static str) -> Result<(), InstrumentError> {
    module.verify().map_err(|reason| InstrumentError::Verify { when, reason })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    O0,
    O1,
    O2,
    O3,
    Os,
    Oz,
}

impl Level {
    fn named(name: &str) -> Result<Level, InstrumentError> {
        Ok(match name {
            "O0" => Level::O0,
            "O1" => Level::O1,
            "O2" => Level::O2,
            "O3" => Level::O3,
            "Os" => Level::Os,
            "Oz" => Level::Oz,
            _ => return Err(InstrumentError::Level(name.to_owned())),
        })
    }

    /// Does what clang does at this level. The capture is made at O1 without
    /// passes, so what clang's front end adds for size is added here.
    fn optimise(self, module: &mut Module<'_>) -> Result<(), String> {
        let (for_size, for_least_size) = (Kind::named("optsize"), Kind::named("minsize"));
        for function in module.functions().filter(|function| !function.is_declaration()) {
            if matches!(self, Level::Os | Level::Oz) {
                function.set(for_size);
            }
            if self == Level::Oz {
                function.set(for_least_size);
            }
        }
        let (pipeline, vectors) = match self {
            Level::O0 => ("default<O0>", Vectors::None),
            Level::O1 => ("default<O1>", Vectors::None),
            Level::O2 => ("default<O2>", Vectors::All),
            Level::O3 => ("default<O3>", Vectors::All),
            Level::Os => ("default<Os>", Vectors::All),
            Level::Oz => ("default<Oz>", Vectors::StraightLine),
        };
        module.run_passes(pipeline, &PassOptions::new(vectors))
    }
}
