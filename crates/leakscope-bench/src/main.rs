//! `make bench`: leakscope's runtime beside LeakSanitizer, memcheck and
//! heaptrack on real programs, as ratios to the native program.
//!
//! Sources come from Debian through an apt of our own, each program is built
//! once for each variant, and all tools run in turn, round after round. What
//! `bench/` says about a program is data; nothing here knows one by name. The
//! statistics are the best of the rounds and geometric means, and no more.

mod inputs;
mod machine;
mod measure;
mod programs;
mod sources;
mod table;
mod tools;
mod variants;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;

use crate::measure::Usage;
use crate::programs::{Program, Size};
use crate::table::{Cell, Results, Row};
use crate::tools::Tool;
use crate::variants::{Builder, Variant};

/// Measure leakscope beside its peers and write the table.
///
/// Examples:
///   leakscope-bench --quick --rounds 1
///   leakscope-bench --programs lua,sqlite3 --tools leakscope,lsan
#[derive(Parser)]
#[command(version, verbatim_doc_comment)]
struct Options {
    /// The leakscope to measure.
    #[arg(long, value_name = "FILE", default_value = "target/release/leakscope")]
    leakscope: PathBuf,
    /// Where the table goes.
    #[arg(long, short, value_name = "FILE", default_value = "docs/BENCHMARKS.md")]
    out: PathBuf,
    /// The folder of programs and workloads.
    #[arg(long, value_name = "DIR", default_value = "bench")]
    data: PathBuf,
    /// The folder that keeps sources, builds and inputs for the next time.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    cache: PathBuf,
    /// Only these programs.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    programs: Vec<String>,
    /// Only these tools; the native program is always measured.
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    tools: Vec<Tool>,
    /// How often each tool runs; the best run counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Small inputs: tries the harness, measures nothing of worth.
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    match bench(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leakscope-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn bench(options: &Options) -> Result<()> {
    let data = options.data.canonicalize().with_context(|| {
        format!("no folder {}: run from the project's root or pass --data", options.data.display())
    })?;
    fs::create_dir_all(&options.cache)
        .with_context(|| format!("cannot create {}", options.cache.display()))?;
    let cache = options.cache.canonicalize()?;
    let size = if options.quick { Size::Quick } else { Size::Full };
    let programs = programs::chosen(&data.join("programs.json"), &options.programs)?;
    let tools = chosen_tools(&options.tools);
    tools::require(&tools, &options.leakscope)?;

    let packages: Vec<&str> = programs.iter().filter_map(|program| program.package.as_deref()).collect();
    let fetched = sources::fetch(&packages, &cache)?;
    let builder = Builder {
        data: &data,
        cache: &cache,
        fetched: &fetched,
        leakscope: options.leakscope.canonicalize().unwrap_or_else(|_| options.leakscope.clone()),
    };
    let mut rows = Vec::new();
    for program in &programs {
        eprintln!("{}: building", program.name);
        let builds = built(&builder, program, &tools)?;
        rows.push(measured(program, size, options.rounds, &tools, &builds, &builder)?);
    }

    let results = Results {
        rows,
        tools,
        rounds: options.rounds,
        caveats: caveats(options),
        machine: machine::describe()?,
        packages: sources::versions(&fetched)?,
    };
    if let Some(folder) = options.out.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(&options.out, table::markdown(&results))
        .with_context(|| format!("cannot write {}", options.out.display()))?;
    eprintln!("written to {}", options.out.display());
    Ok(())
}

fn caveats(options: &Options) -> Vec<&'static str> {
    let caveats = [
        (options.quick, "the inputs are too small for these numbers to mean anything"),
        (!options.programs.is_empty(), "the means and worst cases are of a choice of programs"),
    ];
    caveats.into_iter().filter(|(applies, _)| *applies).map(|(_, caveat)| caveat).collect()
}

/// The native program first, as everything is compared with it.
fn chosen_tools(wanted: &[Tool]) -> Vec<Tool> {
    let is_wanted = |tool: &Tool| *tool == Tool::Native || wanted.is_empty() || wanted.contains(tool);
    Tool::ALL.into_iter().filter(is_wanted).collect()
}

/// Every variant of one program that the tools need. One that cannot be built
/// becomes an error in the table, unless it is the native one.
fn built(
    builder: &Builder,
    program: &Program,
    tools: &[Tool],
) -> Result<BTreeMap<Variant, Result<PathBuf, String>>> {
    let mut builds = BTreeMap::new();
    for variant in tools.iter().map(|tool| tool.variant()) {
        if builds.contains_key(&variant) {
            continue;
        }
        let build = builder.build(program, variant).map_err(|error| format!("{error:#}"));
        if let Err(error) = &build {
            if variant == Variant::Clang {
                bail!("{error}");
            }
            eprintln!("{}: {error}", program.name);
        }
        builds.insert(variant, build);
    }
    Ok(builds)
}

/// One row of the table: rounds over all tools, so that a machine that slows
/// down does so for every one of them.
fn measured(
    program: &Program,
    size: Size,
    rounds: u32,
    tools: &[Tool],
    builds: &BTreeMap<Variant, Result<PathBuf, String>>,
    &Builder { data, cache, ref leakscope, .. }: &Builder,
) -> Result<Row> {
    let native_tree = variants::tree(cache, Variant::Clang, program);
    let workload = program.workload(size, data, &inputs::made(program, size, cache, &native_tree)?);
    let mut cells: BTreeMap<Tool, Cell> = BTreeMap::new();
    let mut expected = None;
    for round in 1..=rounds {
        eprint!("{}: round {round} of {rounds}:", program.name);
        for tool in tools {
            if is_settled(&cells, *tool) {
                continue;
            }
            let usage = builds[&tool.variant()].clone().and_then(|binary| {
                let scratch = cache.join("run").join(&program.name).join(tool.name());
                let usage = tools::run(*tool, leakscope, &binary, &workload, &native_tree, &scratch)
                    .map_err(|error| format!("{error:#}"))
                    .and_then(|outcome| outcome.agreeing_with(*expected.get_or_insert(outcome.digest)))
                    .map_err(|error| format!("{error} (see {})", scratch.display()))?;
                // What a tool recorded can be gigabytes; only a failed run's is of use.
                let _ = fs::remove_dir_all(&scratch);
                Ok(usage)
            });
            if *tool == Tool::Native
                && let Err(error) = &usage
            {
                bail!("{} does not run natively: {error}", program.name);
            }
            match &usage {
                Ok(usage) => eprint!(" {} {:.2}s", tool.name(), usage.cpu.as_secs_f64()),
                Err(error) => eprint!(" {} {error}", tool.name()),
            }
            let cell = match (cells.remove(tool), usage) {
                (Some(Ok(best)), Ok(usage)) => Ok(best.better_of(usage)),
                (None, usage) => usage,
                (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            };
            cells.insert(*tool, cell);
        }
        eprintln!();
    }
    Ok(Row { name: program.name.clone(), about: program.about(size), real: program.package.is_some(), cells })
}

/// Whether another run of this tool would tell nothing new. Memcheck runs
/// once: it takes minutes, and its ratio needs no second decimal.
fn is_settled(cells: &BTreeMap<Tool, Cell>, tool: Tool) -> bool {
    match cells.get(&tool) {
        None => false,
        Some(cell) => cell.is_err() || tool.is_emulated(),
    }
}

impl Usage {
    fn better_of(self, other: Usage) -> Usage {
        Usage { cpu: self.cpu.min(other.cpu), peak_kib: self.peak_kib.min(other.peak_kib) }
    }
}
