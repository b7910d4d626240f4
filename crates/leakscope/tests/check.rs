//! Runs `leakscope check` on the programs in `tests/check`, and compares its
//! warnings and summaries with what stands on their lines; the grammar is in
//! `tests/check/README.md`. The same for programs that are made by crossing
//! sources and flows: a sample of them here, `CASES=all` for all.

mod cases;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::{Case, Judged, Role};
use serde_json::Value;
use support::{Folder, first_frame, leakscope, project_file, ran};

#[test]
fn corpus() {
    let wanted = std::env::var("PROGRAM").unwrap_or_default();
    let mut programs: Vec<PathBuf> = fs::read_dir(project_file("tests/check"))
        .expect("tests/check is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_dir() || sources_only(path))
        .filter(|path| name(path).starts_with(&wanted))
        .collect();
    programs.sort();
    assert!(!programs.is_empty(), "no program to check");
    let failures = in_parallel(&programs, |path| {
        Program::read(path).differences().into_iter().map(|line| format!("{}: {line}", name(path))).collect()
    });
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn crossed() {
    let judged = in_parallel(&crossed_programs(), |cases| check_crossed(cases.clone()));
    if std::env::var_os("CASES").is_some() {
        println!("{}", cases::table(&judged));
    }
    let (gaps, rest): (Vec<&Judged>, Vec<&Judged>) =
        judged.iter().partition(|judged| judged.case.flow.has_gap);
    let mut wrong: Vec<String> = rest.into_iter().flat_map(complaints).collect();
    // What is known not to be so must not be so, for one case at least.
    let open: BTreeSet<&str> = gaps
        .iter()
        .filter(|judged| !complaints(judged).is_empty())
        .map(|judged| judged.case.flow.name.as_str())
        .collect();
    let closed: BTreeSet<&str> = gaps
        .iter()
        .map(|judged| judged.case.flow.name.as_str())
        .filter(|flow| !open.contains(flow))
        .collect();
    wrong.extend(closed.into_iter().map(|flow| format!("{flow} is as written: take out the gap")));
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), judged.len(), wrong.join("\n"));
}

/// What the crossed programs say of themselves is so when they run.
#[test]
fn crossed_cases_leak_as_they_say() {
    let wrong = in_parallel(&crossed_programs(), |cases| {
        let program = cases::Program::of(cases.iter().filter(|case| case.flow.runs).cloned().collect());
        if program.functions.is_empty() {
            return Vec::new();
        }
        let folder = written(&program, &program.prove());
        folder.shell(&format!("{} -g -w *.c* -o prove", if program.is_cxx() { "c++" } else { "cc" }));
        // What is freed counts as free at once.
        let tunables = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");
        let ran = ran(Command::new(folder.path("prove")).env(tunables.0, tunables.1));
        assert_eq!(ran.code, 0, "{ran:?}");
        let grown: BTreeSet<&str> = ran.stderr.lines().collect();
        let is_wrong = |(name, role): &&(String, Role)| grown.contains(name.as_str()) != (*role == Role::Bad);
        program.functions.iter().filter(is_wrong).map(|(name, _)| name.clone()).collect()
    });
    assert!(wrong.is_empty(), "{} are not as they say:\n{}", wrong.len(), wrong.join("\n"));
}

/// The cases of each program: a sample, or what `CASES` asks for.
fn crossed_programs() -> Vec<Vec<Case>> {
    let all = cases::all();
    let wanted = std::env::var("CASES").unwrap_or_default();
    let programs: Vec<Vec<Case>> = match wanted.as_str() {
        // Two sources for each flow, by turns; one program for each language.
        "" => {
            let sources = all.iter().map(|case| &case.source.name).collect::<BTreeSet<_>>().len();
            let sampled = |index: &usize| (index % sources + 5 * (index / sources)) % sources < 2;
            let sample = all.iter().enumerate().filter(|(index, _)| sampled(index));
            let (cxx, c) = sample.map(|(_, case)| case.clone()).partition(Case::is_cxx);
            vec![c, cxx]
        }
        // All sources of a flow in one program.
        "all" => {
            let mut programs: BTreeMap<(String, bool), Vec<Case>> = BTreeMap::new();
            for case in all {
                programs.entry((case.flow.name.clone(), case.is_cxx())).or_default().push(case);
            }
            programs.into_values().collect()
        }
        "each" => all.into_iter().map(|case| vec![case]).collect(),
        flow => {
            all.into_iter().filter(|case| case.flow.name.starts_with(flow)).map(|case| vec![case]).collect()
        }
    };
    assert!(!programs.is_empty(), "no flow starts with {wanted}");
    programs
}

/// A folder with the program's files; below `CASES_IN` it stays.
fn written(program: &cases::Program, main: &str) -> Folder {
    let folder = match std::env::var_os("CASES_IN") {
        Some(below) => Folder::at(&Path::new(&below).join(&program.functions[0].0)),
        None => Folder::with(&[]),
    };
    for (name, text) in &program.files {
        folder.write(name, text);
    }
    folder.write(if program.is_cxx() { "main.cc" } else { "main.c" }, main);
    folder
}

fn check_crossed(cases: Vec<Case>) -> Vec<Judged> {
    let program = cases::Program::of(cases);
    let folder = written(&program, &program.main());
    let main = if program.is_cxx() { "main.cc" } else { "main.c" };
    let names = program.files.iter().map(|(name, _)| name.as_str()).chain([main]);
    program.judge(&report(&names.map(|name| folder.path(name)).collect::<Vec<_>>()))
}

fn complaints(judged: &Judged) -> Vec<String> {
    let case = format!("{} from {}", judged.case.flow.name, judged.case.source.name);
    let missed = (judged.found == 0).then(|| format!("{case}: missed"));
    let wrong = judged.wrong.iter().map(|place| format!("{case}: false at {place}"));
    missed.into_iter().chain(wrong).collect()
}

/// The warnings about a program of these sources, in JSON.
fn report(files: &[PathBuf]) -> Value {
    let output = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut command = leakscope();
    command.args(["check", "--quiet", "--format", "json", "-o"]).arg(output.path());
    command.args(files.iter().filter(|path| sources_only(path)));
    let ran = ran(&mut command);
    assert!(matches!(ran.code, 0 | 1), "{files:?}: {ran:?}");
    serde_json::from_slice(&fs::read(output.path()).expect("readable")).expect("a report in JSON")
}

/// A program of `tests/check`: its sources and what they expect.
#[derive(Debug, Default)]
struct Program {
    files: Vec<PathBuf>,
    leaks: BTreeMap<String, Leak>,
    /// Allocation places of blocks of which it is known that not all is found
    /// as written.
    gaps: Vec<String>,
    /// Function, category and anchors.
    summaries: BTreeMap<String, BTreeSet<String>>,
}

/// Places of one leak, as `file.c:12`.
#[derive(Debug, Default)]
struct Leak {
    allocated: String,
    leaked: String,
    variable: String,
}

/// The variable of a leak that is not compared.
const ANY: &str = "?";

impl Program {
    fn read(path: &Path) -> Program {
        let mut program = Program::default();
        if path.is_dir() {
            let entries = fs::read_dir(path).expect("readable").map(|entry| entry.expect("readable").path());
            program.files.extend(entries.filter(|path| sources_only(path) || name(path).ends_with(".h")));
            program.files.sort();
        } else {
            program.files.push(path.to_owned());
        }
        for file in program.files.clone() {
            for (index, line) in fs::read_to_string(&file).expect("readable").lines().enumerate() {
                program.line(&format!("{}:{}", name(&file), index + 1), line);
            }
        }
        for (label, leak) in &program.leaks {
            let is_whole = !(leak.allocated.is_empty() || leak.leaked.is_empty());
            assert!(is_whole, "{}: @{label} has no `alloc` or no `leak`", name(path));
        }
        program
    }

    fn line(&mut self, place: &str, line: &str) {
        let Some((_, comment)) = line.split_once("// ") else { return };
        for part in comment.split("; ") {
            let (what, value) = part.split_once(": ").unwrap_or((part, ""));
            let (what, label) = what.split_once(" @").unwrap_or((what, ""));
            match what {
                "alloc" => replace_empty(&mut self.leak(label).allocated, place),
                "leak" => {
                    replace_empty(&mut self.leak(label).leaked, place);
                    self.leak(label).variable = value.to_owned();
                }
                "gap" => self.gaps.push(place.to_owned()),
                _ => {
                    if let Some(function) = what.strip_prefix("summary ") {
                        self.summaries.entry(function.to_owned()).or_default().insert(value.to_owned());
                    }
                }
            }
        }
    }

    fn leak(&mut self, label: &str) -> &mut Leak {
        self.leaks.entry(label.to_owned()).or_default()
    }

    /// How what `leakscope check` says differs from what is expected.
    fn differences(&self) -> Vec<String> {
        let mut differences = self.leak_differences(&report(&self.files));
        // What is known not to be so must not be so.
        for place in &self.gaps {
            let count = differences.len();
            differences.retain(|(of, _)| of != place);
            if differences.len() == count {
                differences.push((place.clone(), "as written: take out the gap".to_owned()));
            }
        }
        let mut told: Vec<String> =
            differences.into_iter().map(|(of, what)| format!("{of}: {what}")).collect();
        for (function, expected) in &self.summaries {
            let found = self.summary(function);
            if found != *expected {
                told.push(format!("summary of {function}: {found:?}, expected {expected:?}"));
            }
        }
        told
    }

    /// Allocation places, and how what is said of their blocks differs.
    fn leak_differences(&self, report: &Value) -> Vec<(String, String)> {
        let mut differences = Vec::new();
        let mut open: BTreeMap<&String, &Leak> = self.leaks.iter().collect();
        for finding in report["findings"].as_array().expect("findings") {
            let (allocated, leaked) = (first_frame(&finding["allocated"]), first_frame(&finding["leaked"]));
            let variable = finding["variable"].as_str().unwrap_or("");
            let of: Vec<(&String, &Leak)> = open
                .iter()
                .filter(|(_, leak)| leak.allocated == allocated)
                .map(|(label, leak)| (*label, *leak))
                .collect();
            let at = of.iter().copied().find(|(_, leak)| leak.leaked == leaked);
            let Some((label, leak)) = at.or(of.into_iter().find(|(_, leak)| leak.variable == variable))
            else {
                differences.push((allocated, format!("{variable} does not leak at {leaked}")));
                continue;
            };
            open.remove(label);
            if at.is_none() {
                differences
                    .push((allocated, format!("{variable} leaks at {}, not at {leaked}", leak.leaked)));
            } else if leak.variable != ANY && leak.variable != variable {
                let what = format!("what leaks at {leaked} is {}, not {variable}", leak.variable);
                differences.push((allocated, what));
            }
        }
        let missed = |leak: &&Leak| {
            (leak.allocated.clone(), format!("{} leaks at {}, and is missed", leak.variable, leak.leaked))
        };
        differences.extend(open.values().map(missed));
        differences
    }

    /// The lines of `--summary FUNCTION` that name a category, as the
    /// expectations have them.
    fn summary(&self, function: &str) -> BTreeSet<String> {
        let mut command = leakscope();
        command.args(["check", "--quiet", "--summary", function]);
        command.args(self.files.iter().filter(|path| sources_only(path)));
        let ran = ran(&mut command);
        if !matches!(ran.code, 0 | 1) {
            return BTreeSet::from([format!("{ran:?}")]);
        }
        let category = |line: &&str| {
            line.contains('2')
                && line.split_whitespace().next().is_some_and(|word| CATEGORIES.contains(&word))
        };
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        ran.stdout.lines().filter(category).map(words).collect()
    }
}

const CATEGORIES: [&str; 8] =
    ["Alloc2Ret", "Alloc2Arg", "Arg2Free", "Arg2Glob", "Arg2Arg", "Arg2Ret", "Glob2Arg", "Glob2Ret"];

/// What `work` gives for each item, in the order of the items, by two threads.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Vec<R> + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(item);
                    results.lock().unwrap().insert(index, result);
                }
            });
        }
    });
    results.into_inner().unwrap().into_values().flatten().collect()
}

/// Places come once.
fn replace_empty(slot: &mut String, place: &str) {
    assert!(slot.is_empty(), "{place}: {slot} has the same label");
    *slot = place.to_owned();
}

fn sources_only(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "c" || extension == "cc")
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}
