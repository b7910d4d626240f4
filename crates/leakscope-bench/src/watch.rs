//! Section `watch`: what watching costs, on programs and on a server under
//! load, and what sampling misjudges (SWAT 4.1.3).

mod server;
mod stale;

use anyhow::Result;

use crate::Bench;
use crate::comparison::Comparison;
use crate::document::Document;
use crate::grid::Quantity;
use crate::rounds::Programs;

/// The tool that the targets are about.
pub const WATCHED: &str = "watched";

pub fn measured(bench: &Bench) -> Result<String> {
    let costs = Comparison::read(&bench.data, "watch", &bench.tools)?;
    let counts = Comparison::read(&bench.data, "instructions", &bench.tools)?;
    let programs = Programs::fetch(bench)?;
    let cost = programs.measured(bench, &costs)?;
    let counted = programs.measured(bench, &counts)?;
    let server = server::measured(bench, &costs)?;
    let stale = stale::measured(bench, &programs)?;

    let mut document = Document::new(
        "leakscope watch",
        "What sampling costs at its default rates (`--min 0.1%`), and what it gets wrong. Ratios are to the native program by \
         clang-19. jemalloc's profiler, which an operator would use instead, stands beside it.",
        &bench.caveats(),
    );
    let mut judged = costs.judged(&cost);
    judged.extend(counts.judged(&counted));
    judged.extend([server.judged(&costs), stale.judged()]);
    document.targets(&judged);
    for quantity in [Quantity::Time, Quantity::Memory] {
        document.heading(quantity.heading());
        document.table(&cost.table(&costs, quantity));
    }
    document.heading(Quantity::Instructions.heading());
    document.table(&counted.table(&counts, Quantity::Instructions));
    server.describe(&mut document, &costs);
    stale.describe(&mut document);
    document.heading("How it was measured");
    document.table(&cost.workloads());
    document.list(&[
        format!(
            "Processor time and peak memory are the lowest of {} rounds, in each of which all tools run in turn; \
             instructions are callgrind's, counted once, at a quarter of that size. A short run pays more, since each \
             check begins at a rate of 100%.",
            bench.rounds
        ),
        "*checks alone*: the heap with its allocation stacks, and the checks, but no sampling (`LEAKSCOPE_BURST=0`). \
         *jemalloc's profiler*: Debian's libjemalloc2, preloaded with `prof:true`, a sample for each 512 KiB."
            .to_owned(),
        "Exit code, standard output and written files must be those of the native run, else there is no number."
            .to_owned(),
    ]);
    document.finished()
}
