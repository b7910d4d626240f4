//! `make bench`: leakscope beside its peers, on real programs.
//!
//! Each section measures one command and writes one document, so that one can
//! be renewed without the others; the index shows all of their targets. What
//! `bench/` says about a program or a tool is data; nothing here knows one by
//! name. The statistics are the best of the rounds and geometric means, and no
//! more.

mod check;
mod comparison;
mod data;
mod document;
mod grid;
mod index;
mod inputs;
mod machine;
mod measure;
mod programs;
mod rounds;
mod run;
mod soak;
mod sources;
mod tools;
mod valgrind;
mod validate;
mod variants;
mod watch;

use std::fs;
use std::path::PathBuf;
use std::process::{self, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};

use crate::programs::{Load, Size};

/// Measure leakscope beside its peers and write the documents.
///
/// Examples:
///   leakscope-bench                       all sections
///   leakscope-bench --quick --rounds 1    tries all of them
///   leakscope-bench run valgrind
///   leakscope-bench run --programs lua,sqlite3 --tool minimal
#[derive(Parser)]
#[command(version, verbatim_doc_comment)]
struct Options {
    /// What to measure; all without.
    #[arg(value_name = "SECTION")]
    sections: Vec<Section>,
    /// The leakscope to measure.
    #[arg(long, value_name = "FILE", default_value = "target/release/leakscope")]
    leakscope: PathBuf,
    /// Where the documents go: BENCHMARKS.md and bench/SECTION.md.
    #[arg(long, short, value_name = "DIR", default_value = "docs")]
    out: PathBuf,
    /// The folder of programs, tools and workloads.
    #[arg(long, value_name = "DIR", default_value = "bench")]
    data: PathBuf,
    /// The folder that keeps sources, builds and inputs for the next time.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    cache: PathBuf,
    /// Only these programs.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    programs: Vec<String>,
    /// Only this tool, beside the first one of the section; may be repeated.
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// How often each tool runs; the best run counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Small inputs: tries the harness, measures nothing of worth.
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Leak points: the cost of `leakscope run` on captured programs.
    Run,
    /// The engine for programs as they are, beside memcheck.
    Valgrind,
    /// The speed of the source check, beside compilers and analysers.
    Check,
    /// The cost of sampling, and what it gets wrong.
    Watch,
    /// Half an hour of watching, for the runtime's own memory.
    Soak,
    /// The verdicts of warnings whose truth is known.
    Validate,
}

impl Section {
    const ALL: [Section; 6] =
        [Section::Run, Section::Valgrind, Section::Check, Section::Watch, Section::Soak, Section::Validate];

    fn name(self) -> &'static str {
        match self {
            Section::Run => "run",
            Section::Valgrind => "valgrind",
            Section::Check => "check",
            Section::Watch => "watch",
            Section::Soak => "soak",
            Section::Validate => "validate",
        }
    }

    /// The section's document.
    fn measured(self, bench: &Bench) -> Result<String> {
        match self {
            Section::Run => run::measured(bench),
            Section::Valgrind => valgrind::measured(bench),
            Section::Check => check::measured(bench),
            Section::Watch => watch::measured(bench),
            Section::Soak => soak::measured(bench),
            Section::Validate => validate::measured(bench),
        }
    }
}

/// What all sections share.
#[derive(Default)]
struct Bench {
    leakscope: PathBuf,
    /// Of the executable: what it captured is kept for as long as it is the same.
    leakscope_digest: u64,
    data: PathBuf,
    cache: PathBuf,
    programs: Vec<String>,
    tools: Vec<String>,
    rounds: u32,
    quick: bool,
}

impl Bench {
    fn new(options: &Options) -> Result<Bench> {
        let data = options.data.canonicalize().with_context(|| {
            format!("no folder {}: run from the project's root or pass --data", options.data.display())
        })?;
        fs::create_dir_all(&options.cache)
            .with_context(|| format!("cannot create {}", options.cache.display()))?;
        let leakscope = &options.leakscope;
        ensure!(
            leakscope.is_file(),
            "no leakscope at {}: build it (make build) or pass --leakscope",
            leakscope.display()
        );
        Ok(Bench {
            leakscope: leakscope.canonicalize()?,
            leakscope_digest: measure::digest([leakscope.as_path()])?,
            data,
            cache: options.cache.canonicalize()?,
            programs: options.programs.clone(),
            tools: options.tools.clone(),
            rounds: options.rounds,
            quick: options.quick,
        })
    }

    /// A folder for what a tool writes while it runs a program; of this process
    /// alone, so that two sections can be measured at once.
    fn scratch(&self, program: &str, tool: &str) -> PathBuf {
        self.cache.join("run").join(process::id().to_string()).join(program).join(tool)
    }

    /// What a workload of this size is when the harness is only tried.
    fn load(&self, size: Size) -> Load {
        if self.quick { Size::Quick.into() } else { size.into() }
    }

    /// What keeps the results from being the full measurement.
    fn caveats(&self) -> Vec<&'static str> {
        let caveats = [
            (self.quick, "the inputs are too small for these numbers to mean anything"),
            (!self.programs.is_empty(), "the means and worst cases are of a choice of programs"),
        ];
        caveats.into_iter().filter(|(applies, _)| *applies).map(|(_, caveat)| caveat).collect()
    }
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
    let bench = Bench::new(options)?;
    let folder = options.out.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let all = options.sections.is_empty();
    for section in Section::ALL.into_iter().filter(|section| all || options.sections.contains(section)) {
        let document = section.measured(&bench).with_context(|| format!("section {}", section.name()))?;
        let file = folder.join(format!("{}.md", section.name()));
        fs::write(&file, document).with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("written to {}", file.display());
    }
    let index = options.out.join("BENCHMARKS.md");
    fs::write(&index, index::markdown(&folder, &Section::ALL.map(Section::name)))
        .with_context(|| format!("cannot write {}", index.display()))
}
