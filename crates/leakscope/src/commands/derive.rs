//! `leakscope derive`, and what `run` does by itself before it runs.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leakscope_capture::derive::{Derived, Variant, derive};
use leakscope_capture::{LinkId, LinkKind, Store, Unit, program};
use leakscope_instrument::{Job, Part, transform};

use crate::cli::{Derive, DeriveEngine};
use crate::models;
use crate::runtime::{KEY, Runtime};

pub fn run(options: &Derive) -> Result<ExitCode> {
    let (store, link) = program(&options.program)?;
    let derived = variant(&store, &link, options.engine, options.quiet)?;
    if !options.quiet {
        eprintln!("leakscope: {}", summary(&derived));
    }
    match &options.output {
        Some(output) => copy(&derived.program, output)?,
        None => println!("{}", derived.program.display()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The variant of a program that `leakscope run` or `leakscope watch` runs.
pub fn variant(store: &Store, link: &LinkId, engine: DeriveEngine, quiet: bool) -> Result<Derived> {
    let runtime = Runtime::unpack()?;
    let pools = models::pools()?;
    let key = if pools.is_empty() { KEY.to_owned() } else { format!("{KEY} {pools:?}") };
    let bar = progress_bar("deriving", quiet);
    let (name, what, objects) = match engine {
        DeriveEngine::Minimal => ("minimal", leakscope_instrument::Variant::Minimal, vec![runtime.object]),
        DeriveEngine::Track => ("track", leakscope_instrument::Variant::Track, vec![runtime.object]),
        DeriveEngine::Explain => ("explain", leakscope_instrument::Variant::Explain, vec![runtime.object]),
        DeriveEngine::Sample => {
            ("sample", leakscope_instrument::Variant::Sample, vec![runtime.object, runtime.sampled])
        }
        DeriveEngine::Symbolic => {
            ("symbolic", leakscope_instrument::Variant::Symbolic, vec![runtime.symbolic])
        }
    };
    let instrument = |bitcode: &[u8], unit: &Unit, kind: LinkKind| {
        let part = match kind {
            LinkKind::Executable => Part::Program,
            LinkKind::Shared => Part::Library,
        };
        let job = Job { variant: what, optimisation: &unit.optimisation, pools: &pools, part };
        transform(bitcode, &job).map_err(|error| error.to_string())
    };
    let variant = Variant {
        name,
        key: &key,
        transform: &instrument,
        runtime: &objects,
        whole: &[runtime.whole],
        link_flags: &link_flags(),
        loads_modules: engine != DeriveEngine::Symbolic,
    };
    let derived = derive(store, link, &variant, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    derived.with_context(|| "cannot make the instrumented program")
}

/// Shared libraries, also those loaded later, use the program's allocation
/// functions, which are the runtime's.
fn link_flags() -> Vec<String> {
    [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "free",
        "_Zn*",
        "_Zd*",
        "__leakscope_*",
        "leakscope_*",
        "dlclose",
        "dlopen",
        "_exit",
        "sigaction",
    ]
    .iter()
    .map(|name| format!("-Wl,--export-dynamic-symbol={name}"))
    .collect()
}

fn summary(derived: &Derived) -> String {
    let mut text = format!("{} units made, {} as they were", derived.rebuilt, derived.reused);
    for kept in &derived.kept {
        text += &format!("\n  not instrumented: {}: {}", kept.input.display(), kept.reason);
    }
    text
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // A device is nobody's to take away, least of all root's.
    if fs::metadata(to).is_ok_and(|there| !there.is_file()) {
        bail!("cannot write {}: it is there, and no file", to.display());
    }
    // Not over a program that may be running.
    let _ = fs::remove_file(to);
    fs::copy(from, to).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(())
}

/// A progress bar on a terminal, nothing elsewhere.
pub fn progress_bar(what: &'static str, quiet: bool) -> ProgressBar {
    let bar = ProgressBar::new(0).with_message(what);
    if quiet || !io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}").expect("the template is constant");
    bar.with_style(style)
}
