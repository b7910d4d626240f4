//! `leakscope validate`: which warnings are real, shown with an input.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use indicatif::ProgressBar;
use leakscope_analyze::{Config, Procedures, analyze};
use leakscope_concolic::{
    Automaton, Bounds, DerivedProgram, Fate, Input, Journal, News, Options, Outcome, Settings, SolverChoice,
    Spot, Subject, Warning, warnings,
};
use leakscope_core::{self as core, Engine, Finding, Kind, Report, Target, Validation, Verdict};
use leakscope_solve::Limits;
use leakscope_wire::symbolic::wants;
use serde_json::{Value, json};

use crate::analysed::Analysed;
use crate::cli::{Check, Cli, Command, DeriveEngine, Validate};
use crate::commands::check::{is_ignored, note_given_up, progress};
use crate::commands::derive::{progress_bar, variant};
use crate::kept_inputs::{self, Kept};
use crate::models::models;
use crate::named_files::named_files;
use crate::output::{Filters, Output, note};
use crate::ruled_out::rule_out;
use crate::seeds::seeds;
use crate::tracked::{Tracked, about, all_about};

pub fn run(options: &Validate) -> Result<ExitCode> {
    let start = Instant::now();
    let report_options = options.report_options();
    let filters = Filters::read(&report_options)?;
    let output = Output::open(&report_options, Output::Stdout)?;
    let analysed = Analysed::read(&options.targets, &options.common.cflag, &report_options)?;
    let (mut report, warnings) = warned(options, &analysed, &filters)?;
    let folder = match &options.keep_inputs {
        Some(folder) => folder.clone(),
        None => kept_inputs::folder()?,
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot write {}", folder.display()))?;

    let mut made = Runs::default();
    if !warnings.is_empty() {
        let judge = Judge { options, tracked: OnceLock::new() };
        let outcomes = search(options, &analysed, &warnings, &judge, &folder, &mut made)?;
        for (finding, outcome) in report.findings.iter_mut().zip(outcomes) {
            judge.tell(finding, outcome, &folder)?;
        }
        report.include(None);
    }
    let mut kept = Kept::new(&options.targets, &options.common.cflag)?;
    kept.warnings = report.findings.iter().map(kept_warning).collect();
    kept.write(&folder)?;
    let seconds = start.elapsed().as_secs_f64();
    let Runs { count: runs, seconds: run_seconds } = made;
    report.validation = Some(Validation { runs, run_seconds, seconds, seed: options.seed });
    output.write(&report, &analysed.sources, &report_options)?;
    Ok(ExitCode::from(u8::from(report_options.fail_on.fails(&report))))
}

/// The options of `check --validate`.
pub fn of_check(options: &Check) -> Result<Validate> {
    // What `check` has no option for is as `validate` has it by itself.
    let words = [OsStr::new("leakscope"), OsStr::new("validate"), options.targets[0].as_os_str()];
    let Command::Validate(mut validate) = Cli::try_parse_from(words)?.command else {
        unreachable!("the command line is one of `validate`");
    };
    let report = options.report_options();
    validate.targets.clone_from(&options.targets);
    validate.common.clone_from(&options.common);
    validate.at_exit = options.at_exit;
    validate.pedantic = options.pedantic;
    validate.format = report.format;
    validate.fail_on = report.fail_on;
    Ok(*validate)
}

/// The warnings, from a file or from the check of the source: with ids, in
/// order, without those that are suppressed.
fn warned(options: &Validate, analysed: &Analysed, filters: &Filters) -> Result<(Report, Vec<Warning>)> {
    let report_options = options.report_options();
    let mut all = match &options.warnings {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let read = warnings::parse(&text).with_context(|| path.display().to_string())?;
            read.notes.iter().for_each(|text| note(&report_options, text));
            read.warnings
        }
        None => {
            let config = Config { at_exit: options.at_exit, pedantic: options.pedantic };
            let analysis = analyze(
                &analysed.program,
                &models()?,
                &config,
                &Procedures::default(),
                &progress(report_options.quiet),
            );
            note_given_up(&analysis.cut, &analysis.failed, &report_options);
            analysis.findings.into_iter().map(Warning::of_finding).collect()
        }
    };
    // Findings are put in order; this says which is which.
    const NUMBER: &str = "number";
    for (number, warning) in all.iter_mut().enumerate() {
        warning.finding.evidence.insert(NUMBER.to_owned(), number.into());
    }
    let findings = all.iter().map(|warning| warning.finding.clone()).collect();
    let target = Target { program: options.targets[0].display().to_string(), args: Vec::new(), exit: None };
    let mut report = Report::new(core::Command::Validate, Engine::Concolic, target, findings);
    filters.apply(&mut report);
    report.retain(|finding| !is_ignored(finding, &analysed.sources));
    let mut warnings = Vec::new();
    for finding in &mut report.findings {
        let number = finding.evidence.remove(NUMBER).and_then(|number| number.as_u64());
        let number = number.context("a warning lost its number")?;
        warnings.push(Warning { finding: finding.clone(), ..all[number as usize].clone() });
    }
    Ok((report, warnings))
}

/// Runs of the symbolic program, and their processor time.
#[derive(Default)]
struct Runs {
    count: u64,
    seconds: f64,
}

/// An outcome for each warning; `made` tells of all runs.
fn search(
    options: &Validate,
    analysed: &Analysed,
    warnings: &[Warning],
    judge: &Judge,
    folder: &Path,
    made: &mut Runs,
) -> Result<Vec<Outcome>> {
    let report_options = options.report_options();
    let derived = variant(&analysed.store, &analysed.link, DeriveEngine::Symbolic, options.common.quiet)?;
    for kept in &derived.kept {
        let text = format!("not instrumented: {}: {}", kept.input.display(), kept.reason);
        note(&report_options, &text);
    }
    let seeds = seeds(options, &analysed.program, named_files(analysed)?)?;
    let name = kept_inputs::program(&options.targets);
    let mut target = DerivedProgram::new(&derived.program, name.as_os_str(), settings(options, &seeds))?;
    if !target.holds_back_writes() {
        note(&report_options, "this kernel has no Landlock: the program may write outside its folder");
    }
    let places = target.places()?;
    let mut automata: Vec<Automaton> =
        warnings.iter().map(|warning| Automaton::new(warning, &places)).collect();
    if let Err(error) = rule_out(analysed, &mut automata, &places, &search_options(options)?.solver) {
        note(&report_options, &format!("what no input leads to is not looked for: {error:#}"));
    }
    target.want(automata.iter().flat_map(Automaton::marked));
    if !options.no_objects {
        target.want(automata.iter().flat_map(Automaton::allocating));
    }

    let search = search_options(options)?;
    let key = key(options, warnings, &seeds, &derived.program);
    let mut journal = Journal::open(&folder.join("journal"), &key)
        .with_context(|| format!("cannot write {}", folder.display()))?;
    if !journal.is_empty() {
        note(&report_options, &format!("{} answers are known from before", journal.len()));
    }
    let subject = Subject {
        program: &analysed.program,
        places: &places,
        warnings,
        automata: &automata,
        target: &target,
        fate: &|warning, input| judge.fate(warning, input),
    };
    let bar = progress_bar("validating", options.common.quiet);
    bar.set_length(warnings.len() as u64);
    let mut telling = Telling { bar: &bar, warnings, runs: 0 };
    on_interrupt(target.scratch().to_owned());
    let outcomes =
        leakscope_concolic::validate(&subject, &seeds, &search, &mut journal, &STOP, &mut |news| {
            telling.tell(&news)
        });
    *made = Runs { count: telling.runs.into(), seconds: target.spent().as_secs_f64() };
    bar.finish_and_clear();
    let outcomes = outcomes?;
    if STOP.load(Ordering::Relaxed) {
        note(&report_options, "interrupted: the same command goes on from here");
    }
    Ok(outcomes)
}

/// Verdicts as they fall.
struct Telling<'a> {
    bar: &'a ProgressBar,
    warnings: &'a [Warning],
    runs: u32,
}

impl Telling<'_> {
    fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Runs(runs) => {
                self.runs = *runs;
                self.bar.set_message(format!("validating, {runs} runs"));
            }
            News::Verdict(number, outcome) => {
                let place = leakscope_report::place(&self.warnings[*number].finding.allocated);
                self.bar.println(format!("{:15} {place}: {}", verdict_name(outcome.verdict), outcome.reason));
                self.bar.inc(1);
            }
        }
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::MustLeak => "MUST-LEAK",
        Verdict::MayLeak => "MAY-LEAK",
        Verdict::Bloat => "BLOAT",
        Verdict::LikelyNotLeak => "LIKELY-NOT-LEAK",
    }
}

/// Knows what becomes of objects, by running inputs under the `track` engine.
struct Judge<'a> {
    options: &'a Validate,
    tracked: OnceLock<Option<Tracked>>,
}

impl Judge<'_> {
    fn tracked(&self) -> Option<&Tracked> {
        let settings = Settings { time: self.options.run_time, ..Settings::default() };
        let make = || match Tracked::new(&self.options.targets, &self.options.common.cflag, settings) {
            Ok(tracked) => Some(tracked),
            Err(error) => {
                note(&self.options.report_options(), &format!("leak points are not looked for: {error:#}"));
                None
            }
        };
        self.tracked.get_or_init(make).as_ref()
    }

    /// The finding about the warned objects of a run on the input. Only a
    /// program that runs as it is can be asked.
    fn finding(&self, warning: &Finding, input: &Input) -> Option<Finding> {
        if !input.fails.is_empty() || STOP.load(Ordering::Relaxed) {
            return None;
        }
        let findings = self.tracked()?.findings(input).ok()?;
        about(&findings, &warning.allocated).cloned()
    }

    fn fate(&self, warning: &Warning, input: &Input) -> Fate {
        if !input.fails.is_empty() || STOP.load(Ordering::Relaxed) {
            return Fate::Unknown;
        }
        let findings = self.tracked().and_then(|tracked| tracked.findings(input).ok()).unwrap_or_default();
        let about: Vec<&Finding> = all_about(&findings, &warning.finding.allocated).collect();
        if about.is_empty() {
            return Fate::Unknown;
        }
        if about.iter().all(|finding| finding.kind != Kind::Lost) {
            return Fate::Reachable;
        }
        let place = |finding: &&Finding| {
            let frame = finding.leaked.as_ref().filter(|_| finding.kind == Kind::Lost)?.headline()?;
            Some(Spot::new(frame.file.clone()?, frame.line?))
        };
        Fate::Lost(about.iter().map(place).collect::<Option<Vec<Spot>>>().unwrap_or_default())
    }

    /// Writes an outcome into its finding, and keeps the input.
    fn tell(&self, finding: &mut Finding, outcome: Outcome, folder: &Path) -> Result<()> {
        let mut reason = outcome.reason;
        let mut notes = outcome.notes;
        let mut leak = Value::Null;
        if let (Some(found), Some(input)) = (outcome.leak, &outcome.input) {
            finding.blocks = Some(found.blocks);
            finding.bytes = Some(found.bytes);
            let seen = self.finding(finding, input);
            let (fate, text) = fate_text(seen.as_ref(), input);
            reason = format!("{reason}; {text}");
            notes.extend(differs(finding, seen.as_ref()));
            leak = json!({
                "fate": fate,
                "leaked": seen.as_ref().and_then(|seen| seen.leaked.clone()),
                "last_used": seen.as_ref().and_then(|seen| seen.last_used.clone()),
                "variable": seen.as_ref().and_then(|seen| seen.variable.clone()),
            });
        }
        finding.verdict = Some(outcome.verdict);
        let evidence = &mut finding.evidence;
        evidence.insert("reason".to_owned(), reason.into());
        if !notes.is_empty() {
            evidence.insert("notes".to_owned(), notes.into());
        }
        evidence.insert("marks".to_owned(), json!({"passed": outcome.passed, "all": outcome.marks}));
        evidence.insert("runs".to_owned(), json!({"made": outcome.runs, "on_path": outcome.tally.suite}));
        let tally = &outcome.tally;
        evidence.insert(
            "objects".to_owned(),
            json!({"freed_used": tally.freed.used, "freed_unused": tally.freed.unused, "freed_before": tally.freed.before}),
        );
        if !leak.is_null() {
            evidence.insert("leak".to_owned(), leak);
        }
        if let Some(input) = &outcome.input {
            let (id, program) =
                (&finding.id[..8.min(finding.id.len())], kept_inputs::program(&self.options.targets));
            let place = folder.join(id);
            let shell = kept_inputs::keep(input, &place, &program, id)?;
            let args: Vec<String> =
                input.args.iter().map(|argument| String::from_utf8_lossy(argument).into_owned()).collect();
            let stdin = String::from_utf8_lossy(&input.stdin);
            let fails: Vec<u32> = input.fails.iter().copied().collect();
            let told = json!({"folder": place, "shell": shell, "args": args, "stdin": stdin, "fails": fails});
            evidence.insert("input".to_owned(), told);
        }
        Ok(())
    }
}

/// What became of the object, as a word and as a sentence.
fn fate_text(seen: Option<&Finding>, input: &Input) -> (&'static str, String) {
    match seen {
        Some(seen) if seen.kind == Kind::Lost => {
            let at = seen.leaked.as_ref().map(leakscope_report::place);
            ("lost", at.map_or("it was lost".to_owned(), |at| format!("it was lost in {at}")))
        }
        Some(_) => ("reachable", "it was still reachable, only never freed".to_owned()),
        None if !input.fails.is_empty() => {
            ("unknown", "whether it was lost is not known, since calls are made to fail".to_owned())
        }
        None if STOP.load(Ordering::Relaxed) => {
            ("unknown", "whether it was lost is not known, since leakscope was interrupted".to_owned())
        }
        None => ("unknown", "whether it was lost is not known".to_owned()),
    }
}

/// Where the static leak point is not the real one.
fn differs(finding: &Finding, seen: Option<&Finding>) -> Option<String> {
    let warned = finding.leaked.as_ref()?;
    let real = seen?.leaked.as_ref()?;
    let line = |place: &core::Place| place.headline().and_then(|frame| frame.line);
    let says = || {
        let place = leakscope_report::place;
        format!("the leak point of the warning is {}, the real one {}", place(warned), place(real))
    };
    (line(warned) != line(real)).then(says)
}

fn kept_warning(finding: &Finding) -> kept_inputs::Warning {
    let reason = finding.evidence.get("reason").and_then(Value::as_str).unwrap_or_default();
    kept_inputs::Warning {
        id: finding.id.clone(),
        verdict: finding.verdict,
        reason: reason.to_owned(),
        has_input: finding.evidence.contains_key("input"),
        is_reachable: finding.evidence.get("leak").is_some_and(|leak| leak["fate"] == "reachable"),
    }
}

pub fn settings(options: &Validate, seeds: &[Input]) -> Settings {
    let mut wanted = wants::ALL_CALLS | wants::FILES | wants::COUNTS;
    for (bit, is_wanted) in [
        (wants::ARGUMENTS, options.sym_args[0] > 0),
        (wants::STDIN, options.sym_stdin > 0),
        (wants::ENVIRONMENT, !options.no_env),
        (wants::FAILURES, !options.no_failures),
    ] {
        wanted |= if is_wanted { bit } else { 0 };
    }
    let files = seeds.iter().flat_map(|seed| seed.files.keys().cloned());
    let patterns: BTreeSet<String> = options.sym_file.iter().cloned().chain(files).collect();
    Settings {
        wants: wanted,
        patterns: patterns.into_iter().collect(),
        time: options.run_time,
        memory: options.run_memory,
        stop: Some(&STOP),
        ..Settings::default()
    }
}

/// Hard questions that there is to be time for, at least.
const QUESTIONS: u32 = 12;

fn search_options(options: &Validate) -> Result<Options> {
    let solver = match &options.solver {
        None => SolverChoice::Z3,
        Some(command) => SolverChoice::Command(
            shlex::split(command)
                .with_context(|| format!("expected a command for --solver, found {command:?}"))?,
        ),
    };
    let mut search = Options {
        runs: options.runs,
        time: options.time,
        seed: options.seed,
        bounds: bounds(options),
        memory: options.memory as usize,
        limits: Limits {
            // One question is not to take all the time that there is for a warning.
            time: options.solver_time.min(options.time / QUESTIONS),
            memory: ((options.memory / 2) >> 20) as u32,
            stop: Some(&STOP),
            ..Limits::default()
        },
        solver,
        ..Options::default()
    };
    search.jobs = options.jobs.unwrap_or(search.jobs);
    Ok(search)
}

fn bounds(options: &Validate) -> Bounds {
    Bounds {
        args: options.sym_args[0],
        arg_bytes: options.sym_args[1],
        stdin_bytes: options.sym_stdin,
        file_bytes: options.sym_file_size,
    }
}

/// Names a search: what it depends on.
fn key(options: &Validate, warnings: &[Warning], seeds: &[Input], program: &Path) -> String {
    let marks: Vec<_> = warnings.iter().map(|warning| &warning.marks).collect();
    let text = format!(
        "{} {marks:?} {seeds:?} {:?} {} {} {:?} {:?}",
        program.display(),
        bounds(options),
        options.seed,
        options.no_failures,
        options.sym_file,
        options.solver,
    );
    leakscope_capture::store::hash(&[text.as_bytes()])
}

static STOP: AtomicBool = AtomicBool::new(false);

/// From an interruption to the end of leakscope, at most.
const PATIENCE: Duration = Duration::from_millis(1700);

/// The first interruption ends the search, the second one leakscope; and so does
/// whatever does not look up from its work in time.
fn on_interrupt(scratch: PathBuf) {
    extern "C" fn stop(signal: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
        // SAFETY: safe in a handler; the next signal has its usual effect.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler calls only what is safe at any moment.
        unsafe { libc::signal(signal, stop as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
    thread::spawn(move || {
        while !STOP.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(PATIENCE);
        // Runs have ended by now. What cannot be removed stays.
        let _ = fs::remove_dir_all(scratch);
        eprintln!("leakscope: interrupted, without a report: the same command goes on from here");
        std::process::exit(2);
    });
}
