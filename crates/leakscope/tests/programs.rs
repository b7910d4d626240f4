//! Runs every program in `tests/programs` under each engine, and compares the
//! report with the expectations written in the program. The grammar is in
//! `tests/programs/README.md`. Where blocks leaked is compared under `track`
//! and, without uses, under `valgrind`.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use support::groups::Groups;
use support::{Lines, Tally, leakscope, project_file, wait_with_input};

#[test]
fn track() {
    check_all("track");
}

#[test]
fn preload() {
    check_all("preload");
}

#[test]
fn valgrind() {
    check_all("valgrind");
}

#[test]
fn groups_compare_with_findings() {
    let program = [
        "p = malloc(16); // lost @a: 1 block, 16 bytes; lost @b: 2 blocks, 32 bytes; frees @b: 3 blocks",
        "use(p); // last used @b",
        "p = NULL; // leaks @a: overwritten p",
        "} // leaks @b: scope-end ?",
    ];
    let place = |line: u32| json!({"stack": [{"file": "/src/x.c", "line": line}]});
    let a = json!({"kind": "lost", "blocks": 1, "bytes": 16, "via": [], "cause": "overwritten", "variable": "p",
        "allocated": place(1), "leaked": place(3), "last_used": place(2), "freed_elsewhere": []});
    let b = json!({"kind": "lost", "blocks": 2, "bytes": 32, "via": [], "cause": "scope-end", "variable": "q",
        "allocated": place(1), "leaked": place(4), "last_used": place(2),
        "freed_elsewhere": [{"place": place(1), "blocks": 3}]});
    let check = |finding: &Value, field: &str, value: Value, expected: &[&str]| {
        let mut other = finding.clone();
        other[field] = value;
        let findings = [&a, &b].map(|known| if known == finding { &other } else { known });
        let mut read = Program { has_places: true, ..Program::default() };
        for (index, line) in program.iter().enumerate() {
            read.annotation(&format!("x.c:{}", index + 1), line);
        }
        assert_eq!(read.groups.differences(&json!({"findings": findings})), expected, "{field}");
    };
    check(&a, "variable", json!("p"), &[]);
    check(&a, "last_used", Value::Null, &[]);
    check(&b, "variable", json!("r"), &[]);
    check(&a, "variable", Value::Null, &["@a, allocated at x.c:1: variable: , expected p"]);
    check(
        &a,
        "cause",
        json!("discarded"),
        &["@a, allocated at x.c:1: cause: discarded, expected overwritten"],
    );
    check(&a, "via", json!(["1"]), &["@a, allocated at x.c:1: only indirect: true, expected false"]);
    check(&b, "last_used", place(3), &["@b, allocated at x.c:1: last used: x.c:3, expected x.c:2"]);
    check(
        &b,
        "freed_elsewhere",
        json!([]),
        &["@b, allocated at x.c:1: freed elsewhere: {}, expected {\"x.c:1\": 3}"],
    );
    check(
        &a,
        "leaked",
        place(2),
        &[
            "@a, allocated at x.c:1: none leaks at x.c:3 (overwritten p), but 1 blocks, 16 bytes at x.c:2 (overwritten p); \
         2 blocks, 32 bytes at x.c:4 (scope-end q)",
        ],
    );
    check(
        &a,
        "leaked",
        place(4),
        &[
            "@a, allocated at x.c:1: none leaks at x.c:3 (overwritten p), but 1 blocks, 16 bytes at x.c:4 (overwritten p); \
         2 blocks, 32 bytes at x.c:4 (scope-end q)",
            "@b, allocated at x.c:1: blocks: Tally { blocks: 3, bytes: 48 }, expected Tally { blocks: 2, bytes: 32 }",
            "@b, allocated at x.c:1: cause: overwritten, scope-end, expected scope-end",
        ],
    );
}

#[test]
fn explanations_cover_what_they_name() {
    use Compared::{Places, Totals};
    let check = |totals: &[&str], places: &[&str], explained: &[Compared], expected: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let differences = vec![(Totals, owned(totals)), (Places, owned(places))];
        assert_eq!(unexplained(differences, &explained.iter().copied().collect()), expected);
    };
    check(&[], &[], &[], &[]);
    check(&["total"], &["place"], &[], &["total", "place"]);
    check(&["total"], &["place"], &[Places], &["total"]);
    check(&["total"], &["place"], &[Totals], &["place"]);
    check(&["total"], &["place"], &[Totals, Places], &[]);
    check(&[], &["place"], &[Totals, Places], &["Totals: a difference is explained, but there is none"]);
    check(&["total"], &[], &[Places], &["total", "Places: a difference is explained, but there is none"]);
}

fn check_all(engine: &str) {
    let wanted = std::env::var("PROGRAM").ok();
    let mut programs: Vec<PathBuf> = fs::read_dir(project_file("tests/programs"))
        .expect("tests/programs is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name.ends_with(".c") || name.ends_with(".cc"))
                && !name.contains(".plugin")
                && wanted.as_ref().is_none_or(|wanted| name.starts_with(wanted.as_str()))
        })
        .collect();
    programs.sort();
    assert!(!programs.is_empty(), "no program to run");
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut program = Program::read(path);
                    for variant in program.variants(engine) {
                        program.variant = variant;
                        if let Err(reason) = program.check(engine) {
                            let failure = format!("{} {}: {reason}", program.name, program.variant);
                            failures.lock().unwrap().push(failure);
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(
        failures.is_empty(),
        "{} of {} under {engine}:\n{}",
        failures.len(),
        programs.len(),
        failures.join("\n")
    );
}

/// What of a report can be explained to be another than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Compared {
    /// Lost, indirect and forgotten blocks by allocation line.
    Totals,
    /// Where and why blocks leaked, and where others were freed.
    Places,
    /// What held the last pointer.
    Variables,
}

/// What is left of `differences` once some are explained. An explanation of
/// none is one more.
fn unexplained(differences: Vec<(Compared, Vec<String>)>, explained: &BTreeSet<Compared>) -> Vec<String> {
    let judge = |(compared, differences): (Compared, Vec<String>)| match (
        explained.contains(&compared),
        differences.is_empty(),
    ) {
        (true, true) => vec![format!("{compared:?}: a difference is explained, but there is none")],
        (true, false) => Vec::new(),
        (false, _) => differences,
    };
    differences.into_iter().flat_map(judge).collect()
}

/// Programs that say where blocks leak are run under Valgrind by gcc's code of
/// both kinds.
const VALGRIND_VARIANTS: [&str; 2] = ["-O0", "-O2"];

/// A program and what it expects.
#[derive(Default)]
struct Program {
    path: PathBuf,
    name: String,
    flags: Vec<String>,
    plugins: Vec<(String, String)>,
    /// Its `leakscope.toml`.
    config: String,
    arguments: Vec<String>,
    options: Vec<String>,
    environment: Vec<(String, String)>,
    limits: Vec<(String, String)>,
    stdin: String,
    stdout: String,
    files: BTreeMap<String, String>,
    code: i32,
    stops: Option<String>,
    has_report: bool,
    has_places: bool,
    engines: Vec<String>,
    /// Which of its results are others under Valgrind, as the header says, and
    /// in which variant.
    valgrind_differs: BTreeSet<(String, Compared)>,
    /// Which of them are others in some runs, as its threads meet.
    valgrind_may_differ: BTreeSet<(String, Compared)>,
    variants: Vec<String>,
    /// Variants whose leak points are known to differ.
    gaps: Vec<String>,
    /// Flags of the variant that is being checked.
    variant: String,
    expected: Lines,
    groups: Groups,
    marks: BTreeMap<String, String>,
    allocating_lines: Vec<String>,
}

impl Program {
    fn read(path: &Path) -> Program {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut program = Program {
            path: path.to_owned(),
            name: name.clone(),
            has_report: true,
            has_places: true,
            engines: ["track", "preload", "valgrind"].map(str::to_owned).to_vec(),
            ..Program::default()
        };
        let text = fs::read_to_string(path).expect("readable");
        for line in text.lines() {
            let Some(directive) = line.strip_prefix("// ") else { break };
            program.directive(directive);
        }
        let mut sources = vec![(name, text)];
        for (file, _) in &program.plugins {
            sources.push((file.clone(), fs::read_to_string(path.with_file_name(file)).expect("readable")));
        }
        for (file, text) in sources {
            for (index, line) in text.lines().enumerate() {
                program.annotation(&format!("{file}:{}", index + 1), line);
            }
        }
        program
    }

    fn directive(&mut self, directive: &str) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let Some((name, value)) = directive.split_once(": ") else { return };
        let pair =
            |separator| value.split_once(separator).map(|(a, b): (&str, &str)| (a.to_owned(), b.to_owned()));
        let (name, variant) = name.split_once(' ').unwrap_or((name, ""));
        match name {
            "flags" => self.flags = words(value),
            "plugin" => self.plugins.extend(pair(" -> ")),
            "config" => self.config += &format!("{value}\n"),
            "args" => self.arguments = words(value),
            "options" => self.options = words(value),
            "env" => self.environment.extend(pair("=")),
            "rlimit" => self.limits.extend(pair(" ")),
            "stdin" => self.stdin += &format!("{value}\n"),
            "stdout" => self.stdout += &format!("{value}\n"),
            "file" => {
                let (file, text) = pair(": ").expect("file: NAME: text");
                *self.files.entry(file).or_default() += &format!("{text}\n");
            }
            "exit" => self.code = value.parse().expect("a number"),
            "signal" => self.code = 128 + value.parse::<i32>().expect("a number"),
            "stops" => {
                self.stops = Some(value.to_owned());
                self.code = 134;
            }
            "report" => self.has_report = value != "none",
            "places" => self.has_places = value != "unknown",
            "engines" => self.engines = words(value),
            "valgrind" => self.explained(variant, Compared::Places, value),
            "valgrind-totals" => self.explained(variant, Compared::Totals, value),
            "valgrind-variable" => self.explained(variant, Compared::Variables, value),
            "variants" => self.variants = words(value),
            "gap" => {
                let (variants, _) = value.split_once(": ").expect("gap: VARIANTS: why");
                self.gaps.extend(words(variants));
            }
            _ => {}
        }
    }

    /// Under Valgrind the program `differs: why`, or `may differ: why`.
    fn explained(&mut self, variant: &str, compared: Compared, value: &str) {
        let explained = match value.split_once(": ") {
            Some(("differs", why)) if !why.trim().is_empty() => &mut self.valgrind_differs,
            Some(("may differ", why)) if !why.trim().is_empty() => &mut self.valgrind_may_differ,
            _ => panic!("{}: expected `differs: why` or `may differ: why`, found `{value}`", self.name),
        };
        let variants = if variant.is_empty() { &VALGRIND_VARIANTS[..] } else { &[variant] };
        explained.extend(variants.iter().map(|&variant| (variant.to_owned(), compared)));
    }

    /// What an explanation says of the variant that is being checked.
    fn of_variant(&self, explained: &BTreeSet<(String, Compared)>) -> BTreeSet<Compared> {
        let is_of = |(variant, _): &&(String, Compared)| *variant == self.variant;
        explained.iter().filter(is_of).map(|(_, compared)| *compared).collect()
    }

    fn annotation(&mut self, place: &str, line: &str) {
        let allocates = ["alloc", "strdup", "strndup", "new ", "new(", "getline", "asprintf", "memalign"];
        if allocates.iter().any(|name| line.contains(name)) {
            self.allocating_lines.push(place.to_owned());
        }
        let Some((_, comment)) = line.rsplit_once("// ") else { return };
        for mark in ["allocated", "first freed", "stops here"] {
            if comment.trim() == mark {
                self.marks.insert(mark.to_owned(), place.to_owned());
            }
        }
        if line.starts_with("//") {
            return;
        }
        for part in comment.split("; ") {
            let (head, rest) = part.split_once(": ").unwrap_or((part, ""));
            let (what, label) = head.trim().split_once(" @").unwrap_or((head.trim(), ""));
            let numbers: Vec<u64> = rest.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
            match (what, &numbers[..]) {
                ("lost" | "indirect" | "forgotten", &[blocks, bytes, ..]) if !rest.contains("(snapshot") => {
                    let (place, tally) = (if self.has_places { place } else { "" }, Tally { blocks, bytes });
                    self.expected.add(what, place, tally);
                    self.groups.add_blocks(label, what, place, tally);
                }
                ("leaks", _) => self.groups.add_leak(label, place, rest),
                ("last used", _) => self.groups.add_last_use(label, place),
                ("counted", &[references, holders]) => {
                    self.groups.add_count(label, references, holders);
                }
                ("frees", &[blocks]) => self.groups.add_free(label, place, blocks),
                _ => {}
            }
        }
    }

    /// The flags with which the program is compiled in turn, beside its own.
    fn variants(&self, engine: &str) -> Vec<String> {
        if !self.engines.iter().any(|known| known == engine) {
            Vec::new()
        } else if engine == "preload" {
            vec![String::new()]
        } else if engine == "valgrind" {
            let count = if self.groups.say_where_leaked() { VALGRIND_VARIANTS.len() } else { 1 };
            VALGRIND_VARIANTS[..count].iter().map(|&variant| variant.to_owned()).collect()
        } else if !self.variants.is_empty() {
            self.variants.clone()
        } else if self.groups.say_where_leaked() {
            vec!["-O0".to_owned(), "-O2".to_owned()]
        } else {
            vec![String::new()]
        }
    }

    fn check(&self, engine: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path();
        for (source, library) in &self.plugins {
            let mut cc = Command::new(if source.ends_with(".cc") { "g++" } else { "gcc" });
            cc.args(["-g", "-shared", "-fPIC"])
                .arg(self.path.with_file_name(source))
                .arg("-o")
                .arg(folder.join(library));
            run_quietly(&mut cc)?;
        }
        if !self.config.is_empty() {
            fs::write(folder.join("leakscope.toml"), &self.config).expect("writable");
        }
        let report = folder.join("report.json");
        let mut command = self.run_command(engine, folder, &report)?;
        let output = wait_with_input(&mut command, &self.stdin);
        let said = || format!("\n--- stderr\n{}", String::from_utf8_lossy(&output.stderr));
        if !self.has_report {
            return self.check_without_report(output.status, &said());
        }

        let json = fs::read_to_string(&report).unwrap_or_default();
        let json: Value = serde_json::from_str(&json).map_err(|error| format!("{error}{}", said()))?;
        let found = Lines::of_report(&json, self.has_places);
        let lost = found.lost_anything();
        let code = if lost && self.code < 128 { 23 } else { self.code };
        if output.status.code() != Some(code) {
            return Err(format!("exit {:?}, expected {code}{}", output.status.code(), said()));
        }
        let stdout = String::from_utf8_lossy(&output.stdout);
        if stdout != self.stdout {
            return Err(format!("printed {stdout:?}, expected {:?}{}", self.stdout, said()));
        }
        for (file, text) in &self.files {
            let found = fs::read_to_string(folder.join(file)).unwrap_or_default();
            if found != *text {
                return Err(format!("{file} has {found:?}, expected {text:?}"));
            }
        }
        if let Some(kind) = &self.stops {
            return self.check_fault(kind, &json);
        }
        let totals = found
            .differences(&self.expected, |place| !self.allocating_lines.iter().any(|line| line == place));
        // What is known not to be met must be not met, or be said no more.
        let places = match engine {
            "track" => self.groups.differences(&json),
            "valgrind" => self.groups.only_leaks().differences(&json),
            _ => Vec::new(),
        };
        let (differs, may_differ) = match engine {
            "valgrind" => {
                (self.of_variant(&self.valgrind_differs), self.of_variant(&self.valgrind_may_differ))
            }
            _ => Default::default(),
        };
        let explained = match engine {
            "valgrind" => differs.clone(),
            "track" if self.gaps.contains(&self.variant) => BTreeSet::from([Compared::Places]),
            _ => BTreeSet::new(),
        };
        // Where the place is another, so is the variable.
        let explains_places = engine != "valgrind"
            || differs.contains(&Compared::Places)
            || may_differ.contains(&Compared::Places);
        let (variables, places) = places
            .into_iter()
            .partition(|difference| !explains_places && difference.contains(": variable: "));
        let mut differences =
            vec![(Compared::Totals, totals), (Compared::Places, places), (Compared::Variables, variables)];
        differences.retain(|(compared, _)| !may_differ.contains(compared));
        let differences = unexplained(differences, &explained);
        if !differences.is_empty() {
            return Err(format!("{}{}", differences.join("; "), said()));
        }
        Ok(())
    }

    /// `leakscope run` on the source, or on the program compiled as usual.
    fn run_command(&self, engine: &str, folder: &Path, report: &Path) -> Result<Command, String> {
        let mut command = leakscope();
        command.current_dir(folder).args(["run", "--format", "json", "-o"]).arg(report);
        command.args(["--engine", engine]).args(&self.options);
        if !self.limits.is_empty() {
            // Of the program, and not leakscope's.
            let limits: String =
                self.limits.iter().map(|(name, value)| format!(" --{name}={value}")).collect();
            command.args(["--under", &format!("prlimit{limits}")]);
        }
        if engine == "track" {
            command.args(self.all_flags().iter().map(|flag| format!("--cflag={flag}"))).arg(&self.path);
        } else {
            let program = folder.join("program");
            self.compile(&program)?;
            command.arg(program);
        }
        command.arg("--").args(&self.arguments).envs(self.environment.iter().cloned());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// The program ends as it would, and the report's absence is said.
    fn check_without_report(&self, status: ExitStatus, said: &str) -> Result<(), String> {
        if status.code() != Some(self.code) || !said.contains("no record of") {
            return Err(format!("exit {:?}, expected {}\n--- stderr\n{said}", status.code(), self.code));
        }
        Ok(())
    }

    fn all_flags(&self) -> Vec<String> {
        let include = format!("-I{}", project_file("include").display());
        let standard = if self.name.ends_with(".cc") { vec!["-std=c++17".to_owned()] } else { Vec::new() };
        let variant = self.variant.split_whitespace().map(str::to_owned).collect();
        [vec!["-g".to_owned(), include], standard, self.flags.clone(), variant].concat()
    }

    /// The program as its own build would make it.
    fn compile(&self, program: &Path) -> Result<(), String> {
        let compiler = if self.name.ends_with(".cc") { "g++" } else { "gcc" };
        run_quietly(Command::new(compiler).arg(&self.path).arg("-o").arg(program).args(self.all_flags()))
    }

    fn check_fault(&self, kind: &str, json: &Value) -> Result<(), String> {
        let fault = &json["fault"];
        let found = fault["kind"].as_str().unwrap_or_default().replace('-', " ");
        if found != *kind {
            return Err(format!("found {found:?}, expected {kind:?}"));
        }
        for (mark, field) in [("allocated", "allocated"), ("first freed", "freed"), ("stops here", "place")] {
            if let Some(place) = self.marks.get(mark) {
                let found = support::first_frame(&fault[field]);
                if found != *place {
                    return Err(format!("{mark}: found {found}, expected {place}"));
                }
            }
        }
        Ok(())
    }
}

fn run_quietly(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)))
}
