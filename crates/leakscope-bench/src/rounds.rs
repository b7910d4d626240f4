//! Rounds over tools: in each round every tool runs the workload once, so that
//! a machine that slows down does so for all of them. The best run counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::Bench;
use crate::comparison::{Comparison, Tool};
use crate::grid::{Cell, Grid, Row};
use crate::inputs;
use crate::programs::{self, Load, Program, Workload};
use crate::sources;
use crate::tools;
use crate::variants::{Builder, Variant};

/// What builds of the programs need: sqlite3 generates its sources by Tcl.
const BUILD_TOOLS: [&str; 6] = ["gcc", "g++", "clang-19", "make", "dpkg-source", "tclsh"];

/// The programs that the user chose, with their sources.
pub struct Programs {
    list: Vec<Program>,
    fetched: BTreeMap<String, PathBuf>,
}

/// A program that can be run.
pub struct Ready<'a> {
    pub builder: Builder<'a>,
    pub folder: PathBuf,
    pub workload: Workload,
}

impl Programs {
    pub fn fetch(bench: &Bench) -> Result<Programs> {
        let list = programs::chosen(&bench.data, &bench.programs)?;
        tools::require(BUILD_TOOLS)?;
        let packages: Vec<&str> = list.iter().filter_map(|program| program.package.as_deref()).collect();
        let fetched = sources::fetch(&packages, &bench.cache)?;
        Ok(Programs { list, fetched })
    }

    pub fn versions(&self) -> Result<String> {
        Ok(sources::versions(&self.fetched)?.join(", "))
    }

    /// All programs under all tools of the comparison.
    pub fn measured(&self, bench: &Bench, comparison: &Comparison) -> Result<Grid> {
        tools::require(comparison.tools.iter().flat_map(Tool::needs))?;
        let load = bench.load(comparison.size);
        let tools: Vec<&Tool> = comparison.tools.iter().collect();
        let rows = self.list.iter().map(|program| self.row(bench, program, &tools, load));
        Ok(Grid { rows: rows.collect::<Result<_>>()? })
    }

    pub fn named(&self, name: &str) -> Option<&Program> {
        self.list.iter().find(|program| program.name == name)
    }

    /// What the program needs to run, its input among it.
    pub fn ready<'a>(&'a self, bench: &'a Bench, program: &Program, load: Load) -> Result<Ready<'a>> {
        let builder = Builder::new(bench, &self.fetched);
        // Its tree is the working folder, so it is always there.
        builder.build(program, Variant::Clang)?;
        let folder = builder.working_folder(program);
        let stdin = inputs::made(program, load.size, &bench.cache, &folder)?;
        Ok(Ready { builder, folder, workload: program.workload(load, &bench.data, stdin) })
    }

    /// One program under tools, of which the first is the one to agree with.
    pub fn row(&self, bench: &Bench, program: &Program, tools: &[&Tool], load: Load) -> Result<Row> {
        let Ready { builder, folder, workload } = self.ready(bench, program, load)?;
        let builds = built(&builder, program, tools)?;
        let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
        let mut expected = None;
        for round in 1..=bench.rounds {
            eprint!("{}: round {round} of {}:", program.name, bench.rounds);
            for tool in tools {
                if is_settled(&cells, tool) {
                    continue;
                }
                let usage = builds[&tool.variant].clone().and_then(|binary| {
                    let scratch = bench.scratch(&program.name, &tool.name);
                    let usage = tool
                        .run(bench, &binary, &workload, &folder, &scratch)
                        .map_err(|error| format!("{error:#}"))
                        .and_then(|outcome| outcome.agreeing_with(*expected.get_or_insert(outcome.digest)))
                        .map_err(|error| format!("{error} (see {})", scratch.display()))?;
                    // What a tool recorded can be gigabytes; only a failed run's is of use.
                    let _ = fs::remove_dir_all(&scratch);
                    Ok(usage)
                });
                match &usage {
                    Ok(usage) => eprint!(" {} {:.2}s", tool.name, usage.cpu.as_secs_f64()),
                    Err(error) if tool.name == tools[0].name => {
                        bail!("{} does not run natively: {error}", program.name)
                    }
                    Err(error) => eprint!(" {} {error}", tool.name),
                }
                let cell = match (cells.remove(&tool.name), usage) {
                    (Some(Ok(best)), Ok(usage)) => Ok(best.better_of(usage)),
                    (None, usage) => usage,
                    (Some(Err(error)), _) | (_, Err(error)) => Err(error),
                };
                cells.insert(tool.name.clone(), cell);
            }
            eprintln!();
        }
        let name = program.name.clone();
        Ok(Row { name, about: program.about(load), real: program.package.is_some(), cells })
    }
}

/// Every variant of one program that the tools need. One that cannot be built
/// becomes an error in the table, unless it is the first tool's.
fn built(
    builder: &Builder,
    program: &Program,
    tools: &[&Tool],
) -> Result<BTreeMap<Variant, Result<PathBuf, String>>> {
    let mut builds = BTreeMap::new();
    for tool in tools {
        if builds.contains_key(&tool.variant) {
            continue;
        }
        let build = builder.build(program, tool.variant).map_err(|error| format!("{error:#}"));
        if let Err(error) = &build {
            if tool.name == tools[0].name {
                bail!("{error}");
            }
            eprintln!("{}: {error}", program.name);
        }
        builds.insert(tool.variant, build);
    }
    Ok(builds)
}

/// Whether another run of this tool would tell nothing new.
fn is_settled(cells: &BTreeMap<String, Cell>, tool: &Tool) -> bool {
    cells.get(&tool.name).is_some_and(|cell| cell.is_err() || tool.once)
}
