//! Section `valgrind`: the engine for programs as they are, beside memcheck.

use anyhow::Result;

use crate::Bench;
use crate::comparison::Comparison;
use crate::document::Document;
use crate::grid::Quantity;
use crate::rounds::Programs;

pub fn measured(bench: &Bench) -> Result<String> {
    let comparison = Comparison::read(&bench.data, "valgrind", &bench.tools)?;
    let programs = Programs::fetch(bench)?;
    let grid = programs.measured(bench, &comparison)?;

    let mut document = Document::new(
        "leakscope run on any binary",
        "Leak points without rebuilding, by a Valgrind tool of ours. Ratios are to the native program, and for ours also \
         to memcheck.",
        &bench.caveats(),
    );
    document.targets(&comparison.judged(&grid));
    for quantity in [Quantity::Time, Quantity::Memory] {
        document.heading(quantity.heading());
        document.table(&grid.table(&comparison, quantity));
    }
    document.heading("How it was measured");
    document.table(&grid.workloads());
    document.list(&[
        format!(
            "Each figure is the lowest of {} rounds, in each of which all tools run in turn, at half of the size \
             of section `run`.",
            bench.rounds
        ),
        "Programs are those that Debian ships where it ships one, else built by gcc -O2 -g from its source package \
         (jsoncpp) or from `bench/`."
            .to_owned(),
        "`leak points` and `with last use` are `leakscope run --engine valgrind` with `--last-use off` and `exact`, from \
         start to report; memcheck runs with `--leak-check=full`."
            .to_owned(),
        "Peak memory is that of the largest process. Under a small program that is `leakscope` itself, which waits and then \
         writes the report: about 100 MiB, most of it LLVM's library."
            .to_owned(),
        "Exit code, standard output and written files must be those of the native run, else there is no number."
            .to_owned(),
    ]);
    document.finished()
}
