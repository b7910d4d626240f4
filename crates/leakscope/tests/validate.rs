//! Runs `leakscope validate` on the programs in `tests/validate`, and compares
//! its verdicts with what stands on their lines; the grammar is in
//! `tests/validate/README.md`.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde_json::Value;
use support::{Folder, project_file};

/// A warning as the comments of a program tell it.
#[derive(Default)]
struct Warning {
    /// `line TAB kind`.
    marks: Vec<(usize, String)>,
    verdict: String,
    /// Lost or reachable, where it is said.
    fate: Option<String>,
    gap: bool,
}

struct Program {
    path: PathBuf,
    options: Vec<String>,
    warnings: BTreeMap<String, Warning>,
}

#[test]
fn corpus() {
    let wanted = std::env::var("PROGRAM").unwrap_or_default();
    let mut programs: Vec<PathBuf> = fs::read_dir(project_file("tests/validate"))
        .expect("tests/validate is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "cpp"))
        .filter(|path| name(path).starts_with(&wanted))
        .collect();
    programs.sort();
    assert!(!programs.is_empty(), "no program to validate");
    let failures: Vec<String> =
        programs.par_iter().flat_map_iter(|path| Program::read(path).differences()).collect();
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    // `forks.c` tries to.
    assert!(!Path::new("/tmp/leakscope-validate-was-here").exists(), "a run wrote outside its folder");
}

impl Program {
    fn read(path: &Path) -> Program {
        let text = fs::read_to_string(path).expect("readable");
        let mut program = Program { path: path.to_owned(), options: Vec::new(), warnings: BTreeMap::new() };
        for (index, line) in text.lines().enumerate() {
            if let Some(options) = line.strip_prefix("// options: ") {
                program.options = options.split_whitespace().map(str::to_owned).collect();
            } else if let Some((_, marks)) = line.split_once("// @") {
                marks.split("; @").for_each(|mark| program.mark(index + 1, mark));
            }
        }
        assert!(!program.warnings.is_empty(), "{} has no warning", path.display());
        program
    }

    /// `NAME KIND`, and with the leak point ` = VERDICT [FATE] [gap]`.
    fn mark(&mut self, line: usize, text: &str) {
        let (mark, expected) = text.split_once(" = ").map_or((text, None), |(mark, told)| (mark, Some(told)));
        let (name, kind) = mark.split_once(' ').expect("a name and a kind");
        let warning = self.warnings.entry(name.to_owned()).or_default();
        warning.marks.push((line, kind.trim().to_owned()));
        for word in expected.into_iter().flat_map(str::split_whitespace) {
            match word {
                "gap" => warning.gap = true,
                "lost" | "reachable" => warning.fate = Some(word.to_owned()),
                verdict => warning.verdict = verdict.to_owned(),
            }
        }
    }

    fn differences(&self) -> Vec<String> {
        let file = self.path.display();
        let list: String = self
            .warnings
            .values()
            .map(|warning| {
                let marks = warning.marks.iter().map(|(line, kind)| format!("{file}\t{line}\t{kind}\n"));
                marks.collect::<String>() + "END_PATH\n"
            })
            .collect();
        let folder = Folder::with(&[("warnings", &list)]);
        let mut arguments = vec!["validate", "--quiet", "--format", "json", "-o", "report.json"];
        arguments.extend(["--warnings", "warnings", "--keep-inputs", "inputs"]);
        if !self.options.iter().any(|option| option == "--runs") {
            arguments.extend(["--runs", "400"]);
        }
        arguments.extend(self.options.iter().map(String::as_str));
        let target = self.path.to_string_lossy();
        arguments.push(&target);
        let ran = support::ran(&mut folder.leakscope(arguments));
        assert!(ran.code < 2, "{file}: {ran:?}");
        assert!(ran.stderr.is_empty(), "{file} is not quiet: {}", ran.stderr);
        let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
        self.warnings.iter().filter_map(|(name, warning)| self.difference(name, warning, &report)).collect()
    }

    fn difference(&self, name: &str, warning: &Warning, report: &Value) -> Option<String> {
        let line_of = |kind: &str| {
            let mark = warning.marks.iter().find(|(_, found)| found == kind);
            mark.unwrap_or_else(|| panic!("{name} has no {kind}")).0 as u64
        };
        let line = |place: &Value| place["stack"][0]["line"].as_u64();
        let findings = report["findings"].as_array().expect("findings");
        let finding = findings.iter().find(|finding| {
            let lines = (line(&finding["allocated"]), line(&finding["leaked"]));
            lines == (Some(line_of("MA")), Some(line_of("LK")))
        });
        let finding = finding.unwrap_or_else(|| panic!("{name} has no finding"));
        let verdict = finding["verdict"].as_str().unwrap_or_default();
        let fate = finding["evidence"]["leak"]["fate"].as_str();
        let is_so =
            verdict == warning.verdict && warning.fate.as_deref().is_none_or(|wanted| Some(wanted) == fate);
        let told = format!(
            "{} @{name}: {verdict} {}: {}",
            self.path.file_name().expect("a name").to_string_lossy(),
            fate.unwrap_or_default(),
            finding["evidence"]["reason"]
        );
        match (is_so, warning.gap) {
            (true, false) | (false, true) if verdict != "likely-not-leak" || is_so => None,
            (true, true) => Some(format!("{told}: is as written, take out the gap")),
            _ => Some(format!("{told}: expected {} {:?}", warning.verdict, warning.fate)),
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// What is not lost, but never freed, is shown again, too.
#[test]
fn a_kept_input_leaves_again_what_is_reachable() {
    let source = "#include <stdio.h>\n#include <stdlib.h>\nstatic char *kept;\nint main(void)\n{\n    \
                  kept = malloc(8);\n    if (getchar() == 'x')\n        return 0;\n    free(kept);\n    return 0;\n}\n";
    let warnings = "a.c\t6\tMA\na.c\t8\tLK\nEND_PATH\n";
    let folder = Folder::with(&[("a.c", source), ("warnings", warnings)]);
    let validate = ["validate", "--warnings", "warnings", "--format", "json", "-o", "report.json", "a.c"];
    let ran = support::ran(&mut folder.leakscope(validate));
    assert_eq!(ran.code, 1, "{ran:?}");
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    assert_eq!(report["findings"][0]["evidence"]["leak"]["fate"], "reachable", "{report:#}");
    let id = report["findings"][0]["id"].as_str().expect("an id");
    let again =
        support::ran(&mut folder.leakscope(["replay", &id[..8], "--format", "json", "-o", "again.json"]));
    assert_eq!(again.code, 23, "{again:?}");
    let report: Value = serde_json::from_str(&folder.read("again.json")).expect("JSON");
    assert_eq!(report["findings"][0]["kind"], "forgotten");
    assert_eq!(report["findings"][0]["allocated"]["stack"][0]["line"], 6);
}

/// What the input of a verdict leaks is shown again, also by the line that
/// comes with it.
#[test]
fn a_kept_input_leaks_again() {
    let source = "#include <stdio.h>\n#include <stdlib.h>\nstatic int f(int c)\n{\n    char *p = malloc(8);\n    \
                  if (c == 'x')\n        return 1;\n    free(p);\n    return 0;\n}\nint main(void)\n{\n    return f(getchar());\n}\n";
    let folder = Folder::with(&[("a.c", source)]);
    let ran =
        support::ran(&mut folder.leakscope(["validate", "--format", "json", "-o", "report.json", "a.c"]));
    assert_eq!(ran.code, 1, "{ran:?}");
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    let finding = &report["findings"][0];
    assert_eq!(finding["verdict"], "must-leak", "{finding:#}");
    assert_eq!(finding["evidence"]["input"]["stdin"], "x");
    let id = finding["id"].as_str().expect("an id");
    let again =
        support::ran(&mut folder.leakscope(["replay", &id[..8], "--format", "json", "-o", "again.json"]));
    assert_eq!(again.code, 23, "{again:?}");
    let report: Value = serde_json::from_str(&folder.read("again.json")).expect("JSON");
    assert_eq!(report["findings"][0]["kind"], "lost");
    assert_eq!(report["findings"][0]["leaked"]["stack"][0]["line"], 7);
    folder.shell("cc -g a.c -o a");
    let shell = finding["evidence"]["input"]["shell"].as_str().expect("a line");
    let native = support::ran(std::process::Command::new("bash").args(["-c", shell]));
    assert_eq!(native.code, 1, "{shell}: {native:?}");
}

/// A shared library of the program's own is a part of it: the input goes through
/// both, and the warning may be in either.
#[test]
fn libraries_are_searched_too() {
    let library = "#include <stdlib.h>\nint keep(int c)\n{\n    char *p = malloc(8);\n    if (c == 'q')\n        return 1;\n    \
                   free(p);\n    return 0;\n}\n";
    let program = "#include <stdio.h>\n#include <stdlib.h>\nint keep(int c);\nint main(void)\n{\n    int c = getchar();\n    \
                   char *p = malloc(16);\n    if (c == 'm' && keep(getchar()))\n        return 2;\n    free(p);\n    return 0;\n}\n";
    let folder = Folder::with(&[("keep.c", library), ("main.c", program)]);
    folder.shell("mkdir lib");
    for command in [
        "cc -g -fPIC -shared keep.c -o lib/libkeep.so",
        "cc -g main.c -o prog -Llib -lkeep -Wl,-rpath,$PWD/lib",
    ] {
        let ran = support::ran(&mut folder.leakscope(["build", "--", "sh", "-c", command]));
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let list = "keep.c\t4\tMA\nkeep.c\t6\tLK\nEND_PATH\nmain.c\t7\tMA\nmain.c\t9\tLK\nEND_PATH\n";
    folder.write("list", list);
    let arguments = ["validate", "--warnings", "list", "--format", "json", "-o", "report.json", "prog"];
    let ran = support::ran(&mut folder.leakscope(arguments));
    assert_eq!(ran.code, 1, "{ran:?}");
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    for finding in report["findings"].as_array().expect("findings") {
        assert_eq!(finding["verdict"], "must-leak", "{finding:#}");
        assert_eq!(finding["evidence"]["input"]["stdin"], "mq", "{finding:#}");
    }
}

/// Calls that failed fail again; what is lost then, nobody knows.
#[test]
fn an_input_with_failing_calls_is_replayed() {
    let source = "#include <stdlib.h>\nint main(void)\n{\n    char *a = malloc(8);\n    if (!a)\n        return 1;\n    \
                  char *b = malloc(9);\n    if (!b)\n        return 2;\n    free(a);\n    free(b);\n    return 0;\n}\n";
    let folder = Folder::with(&[("a.c", source), ("list", "a.c\t4\tMA\na.c\t9\tLK\nEND_PATH\n")]);
    let arguments = ["validate", "--warnings", "list", "--format", "json", "-o", "report.json", "a.c"];
    let ran = support::ran(&mut folder.leakscope(arguments));
    assert_eq!(ran.code, 1, "{ran:?}");
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    let finding = &report["findings"][0];
    assert_eq!(finding["verdict"], "must-leak", "{finding:#}");
    assert_eq!(finding["evidence"]["input"]["fails"], serde_json::json!([1]));
    let id = finding["id"].as_str().expect("an id");
    let again = support::ran(&mut folder.leakscope(["replay", &id[..8]]));
    assert_eq!(again.code, 23, "{again:?}");
    for part in ["a.c:4", "1 block, 8 bytes was not freed; what of it was lost is not known"] {
        assert!(again.stderr.contains(part), "{part}: {}", again.stderr);
    }
}

#[test]
fn check_validates_on_request() {
    let source = "#include <stdlib.h>\nstatic void f(int n)\n{\n    char *p = malloc(8);\n    if (n > 1)\n        return;\n    \
                  free(p);\n}\nint main(int argc, char **argv)\n{\n    (void)argv;\n    f(argc);\n    return 0;\n}\n";
    let folder = Folder::with(&[("a.c", source)]);
    let ran = support::ran(&mut folder.leakscope(["check", "--validate", "a.c"]));
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in ["MUST-LEAK (1)", "it was lost in f", "effort saved"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let nowhere = "a.c\t98\tMA\na.c\t99\tLK\nEND_PATH\n";
    let source = "int main(void) { return 0; }\n";
    let folder = Folder::with(&[("a.c", source), ("bad", "hello\n"), ("none", ""), ("nowhere", nowhere)]);
    let check = |arguments: &[&str], code: i32, expected: &str| {
        let ran = support::ran(&mut folder.leakscope(arguments.iter().copied()));
        assert_eq!(ran.code, code, "{ran:?}");
        // A report can be piped, an error is not in it.
        let said = if code == 2 { &ran.stderr } else { &ran.stdout };
        assert!(said.contains(expected), "{ran:?}");
    };
    check(&["validate", "--warnings", "bad", "a.c"], 2, "neither JSON nor a list");
    check(&["validate", "--warnings", "missing", "a.c"], 2, "cannot read missing");
    check(&["validate", "--warnings", "none", "a.c"], 0, "no leak was found");
    check(&["validate", "--warnings", "none", "a.c"], 0, " -  ");
    check(&["validate", "--warnings", "nowhere", "a.c"], 0, "       1     0          0         1 ");
    check(&["validate", "missing.c"], 2, "missing.c");
    check(&["replay", "0", "--from", "nowhere"], 2, "no validation was kept in");
}

/// Every run hangs, and the one that is interrupted would for ten minutes.
#[test]
fn an_interruption_is_answered_at_once() {
    let source = "#include <stdlib.h>\n#include <unistd.h>\nint main(int argc, char **argv) {\n    char *p = malloc(8);\n    \
                  if (argc > 1)\n        for (;;)\n            pause();\n    free(p);\n    return argv == 0;\n}\n";
    let folder = Folder::with(&[("a.c", source), ("list", "a.c\t4\tMA\na.c\t7\tLK\nEND_PATH\n")]);
    let command = "validate --warnings list --keep-inputs kept --run-time 600 a.c";
    let mut child =
        folder.leakscope(command.split(' ')).stderr(Stdio::piped()).spawn().expect("leakscope starts");
    while !folder.path("kept/journal").exists() {
        assert!(child.try_wait().expect("waited").is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    // SAFETY: a child that nobody has waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("interrupted: the same command goes on from here"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
