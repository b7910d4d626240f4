//! Options of `leakscope check`: what changed, what is not known, and results
//! that are kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const TWO_LEAKS: &str = "#include <stdlib.h>
void first(void)
{
    char *p = malloc(3);
    if (p)
        p[0] = 1;
}
void second(void)
{
    char *q = malloc(4);
    if (q)
        q[0] = 1;
}
void caller(void)
{
    second();
    char *r = malloc(5);
    if (r)
        r[0] = 1;
}
";

/// The variables in the warnings about `a.c` in `folder`, sorted.
fn variables(folder: &Path, options: &[&str]) -> Vec<String> {
    let report = folder.join("report.json");
    let status = Command::new(env!("CARGO_BIN_EXE_leakscope"))
        .args(["check", "--quiet", "--format", "json", "-o"])
        .arg(&report)
        .args(options)
        .arg("a.c")
        .current_dir(folder)
        .status()
        .expect("leakscope runs");
    assert!(status.code().is_some_and(|code| code < 2), "{status}");
    let report: Value = serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut names: Vec<String> =
        findings.map(|finding| finding["variable"].as_str().unwrap_or("none").to_owned()).collect();
    names.sort();
    names
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn only_changed_functions_and_their_callers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().canonicalize().expect("it is there");
    fs::write(folder.join("a.c"), TWO_LEAKS).expect("writable");
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "a.c"]);
    git(&folder, &["commit", "-q", "-m", "first"]);
    assert_eq!(variables(&folder, &[]), ["p", "q", "r"]);
    assert_eq!(variables(&folder, &["--diff", "HEAD"]), [""; 0]);
    fs::write(folder.join("a.c"), TWO_LEAKS.replace("malloc(4)", "malloc(44)")).expect("writable");
    assert_eq!(variables(&folder, &["--diff", "HEAD"]), ["q", "r"]);
    assert_eq!(variables(&folder, &[]), ["p", "q", "r"]);
}

#[test]
fn unknown_functions_keep_nothing_if_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = "#include <stdlib.h>\nvoid unknown(char *);\nvoid f(void)\n{\n    char *p = malloc(3);\n    unknown(p);\n}\n";
    fs::write(folder.path().join("a.c"), source).expect("writable");
    assert_eq!(variables(folder.path(), &[]), [""; 0]);
    assert_eq!(variables(folder.path(), &["--pedantic"]), ["p"]);
}

/// A result that was kept is that of the same source alone.
#[test]
fn results_are_those_of_the_source() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.c");
    fs::write(&path, TWO_LEAKS).expect("writable");
    for _ in 0..2 {
        assert_eq!(variables(folder.path(), &[]), ["p", "q", "r"]);
    }
    fs::write(&path, TWO_LEAKS.replace("p[0] = 1", "free(p)")).expect("writable");
    assert_eq!(variables(folder.path(), &[]), ["q", "r"]);
}
