//! Section `run`: what leak points cost on captured programs, how the cost
//! grows with the length of a run, and whether threads still scale.

use anyhow::{Context, Result};

use crate::Bench;
use crate::comparison::{Comparison, Tool};
use crate::document::{Document, Judged, Table, at_least, at_most};
use crate::grid::{Grid, Quantity, geometric_mean, shown};
use crate::programs::Load;
use crate::rounds::Programs;

/// The mode that people run without saying more.
const DEFAULT_MODE: &str = "full, sampled";

/// What a run of twice the length may cost above twice as much, before it is more than noise.
const GROWTH_LIMIT: f64 = 1.05;

/// The program that takes a number of threads, and the numbers that it is given.
const THREADED: &str = "alloc-threads";
const FEW: u32 = 1;
const MANY: u32 = 4;

pub fn measured(bench: &Bench) -> Result<String> {
    let comparison = Comparison::read(&bench.data, "run", &bench.tools)?;
    let programs = Programs::fetch(bench)?;
    let grid = programs.measured(bench, &comparison)?;
    let growth = Growth::measured(bench, &programs, &comparison, &grid)?;
    let scaling = Scaling::measured(bench, &programs, &comparison)?;

    let mut document = Document::new(
        "leakscope run",
        "What allocation stacks (`--mode minimal`), leak points (`full`) and last uses (`off`, `sampled`, `exact`) cost. \
         Ratios are to the native program by clang-19, the compiler behind leakscope's and LeakSanitizer's programs; 1.00x \
         is no cost.",
        &bench.caveats(),
    );
    let mut judged = comparison.judged(&grid);
    judged.extend([growth.judged(), scaling.judged()]);
    document.targets(&judged);
    for quantity in [Quantity::Time, Quantity::Memory] {
        document.heading(quantity.heading());
        document.table(&grid.table(&comparison, quantity));
    }
    document.heading("Runs twice as long");
    document.paragraph(
        "Processor time of the workload over that of half of it. What leakscope adds grows as the program does if \
         both columns are alike.",
    );
    document.table(&growth.table());
    document.heading("Threads");
    document.paragraph(&format!(
        "Work done per second by {MANY} threads of `{THREADED}` over that done by {FEW}, in elapsed time."
    ));
    document.table(&scaling.table());
    document.heading("How it was measured");
    document.table(&grid.workloads());
    document.paragraph(&format!(
        "Real programs are built from Debian's source packages ({}); the others are in `bench/`.",
        programs.versions()?
    ));
    document.list(&[
        format!(
            "Processor time is user plus system time of the program and of the children it waited for; peak memory is \
             the largest resident set. Each is the lowest of {} rounds, in each of which all tools run in turn. Memcheck \
             and `exact` run once.",
            bench.rounds
        ),
        "All builds are `-O2 -g`: native by clang-19 (with `-gdwarf-4`, for Debian's valgrind) and by gcc; LeakSanitizer by \
         clang-19 with `-fsanitize=leak -fno-omit-frame-pointer`; leakscope's by `leakscope build` around the gcc build and \
         `leakscope derive`, with one program for all modes but `minimal`, which has its own."
            .to_owned(),
        "Memcheck (`--leak-check=full`) and heaptrack run the native program by clang-19. Heaptrack is preloaded and writes \
         its raw record; its compression and interpretation are not counted."
            .to_owned(),
        "LeakSanitizer and leakscope look for leaks at exit and write what they found; neither's symbolising is counted."
            .to_owned(),
        "Exit code, standard output and written files must be those of the native run, else there is no number."
            .to_owned(),
    ]);
    document.finished()
}

/// The base and the default mode.
fn pair(comparison: &Comparison) -> Vec<&Tool> {
    let is_base = |tool: &&Tool| tool.name == comparison.base() || tool.name == DEFAULT_MODE;
    comparison.tools.iter().filter(is_base).collect()
}

/// How processor time grows from half of the workload to all of it.
struct Growth {
    rows: Vec<Grown>,
}

/// How many times as long a program took, natively and under leakscope.
struct Grown {
    name: String,
    factors: Result<[f64; 2], String>,
}

impl Growth {
    fn measured(bench: &Bench, programs: &Programs, comparison: &Comparison, full: &Grid) -> Result<Growth> {
        let tools = pair(comparison);
        let size = comparison.size.halved().context("runs of half the size have no name")?;
        let mut rows = Vec::new();
        for row in full.rows.iter().filter(|row| row.real) {
            let Some(program) = programs.named(&row.name) else { continue };
            let half = programs.row(bench, program, &tools, bench.load(size))?;
            let of = |tool: &str| -> Result<f64, String> {
                Ok(Quantity::Time.of(row.usage(tool)?) / Quantity::Time.of(half.usage(tool)?))
            };
            let factors = of(comparison.base()).and_then(|base| Ok([base, of(DEFAULT_MODE)?]));
            rows.push(Grown { name: row.name.clone(), factors });
        }
        Ok(Growth { rows })
    }

    fn judged(&self) -> Judged {
        let beyond = self.rows.iter().map(|row| row.factors.as_ref().ok().map(|[base, ours]| ours / base));
        let mean = geometric_mean(beyond).map(|mean| (mean, format!("{mean:.3}x")));
        let what = format!("{DEFAULT_MODE}: growth of a run twice as long over native's, geometric mean");
        at_most(&what, GROWTH_LIMIT, "x", mean)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["program", "native", DEFAULT_MODE]);
        for Grown { name, factors } in &self.rows {
            let cells = match factors {
                Ok(factors) => factors.map(|factor| shown(Ok(factor))),
                Err(error) => [shown(Err(error)), String::new()],
            };
            table.row([name].into_iter().chain(&cells));
        }
        table
    }
}

/// How much more work many threads do in a second than few.
struct Scaling {
    base: Option<f64>,
    ours: Option<f64>,
}

impl Scaling {
    fn measured(bench: &Bench, programs: &Programs, comparison: &Comparison) -> Result<Scaling> {
        let Some(program) = programs.named(THREADED) else { return Ok(Scaling { base: None, ours: None }) };
        let tools = pair(comparison);
        let load = |threads| Load { threads, ..bench.load(comparison.size) };
        let few = programs.row(bench, program, &tools, load(FEW))?;
        let many = programs.row(bench, program, &tools, load(MANY))?;
        // Each thread does the same work, however many there are.
        let scaling = |tool: &str| {
            let slower =
                Quantity::Elapsed.of(many.usage(tool).ok()?) / Quantity::Elapsed.of(few.usage(tool).ok()?);
            Some(f64::from(MANY) / f64::from(FEW) / slower)
        };
        Ok(Scaling { base: scaling(comparison.base()), ours: scaling(DEFAULT_MODE) })
    }

    fn judged(&self) -> Judged {
        let share = self.ours.zip(self.base).map(|(ours, base)| ours / base);
        let what = format!("{DEFAULT_MODE}: scaling of {MANY} threads over native's");
        at_least(&what, 0.5, "x", share.map(|share| (share, format!("{share:.2}x"))))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["program", "native", DEFAULT_MODE]);
        let cell = |scaling: Option<f64>| shown(scaling.ok_or("-"));
        table.row([THREADED.to_owned(), cell(self.base), cell(self.ours)]);
        table
    }
}
