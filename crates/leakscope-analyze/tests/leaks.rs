//! Leaks of small programs, by function and line; the larger corpus is in
//! `tests/check`.

use std::process::Command;

use leakscope_analyze::{Config, Models, Procedures, analyze, describe};
use leakscope_ir::{FuncId, Program, link, read};

const MODELS: &str = r#"
[[function]]
names = ["malloc", "strdup"]
returns = "new"

[[function]]
name = "free"
frees = [0]

[[function]]
name = "realloc"
returns = "new"
realloc = 0

[[function]]
name = "exit"
noreturn = true

[[function]]
name = "open_it"
out = { 0 = "new" }
fails = "negative"
"#;

const DECLARATIONS: &str = "#include <stdlib.h>\n#include <string.h>\nextern int opaque(void); extern void keep(void *); extern int open_it(char **);\n#line 1\n";

fn program(source: &str) -> Program {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.c");
    std::fs::write(&path, format!("{DECLARATIONS}{source}")).expect("writable");
    let output = Command::new("clang-19")
        .args([
            "-c",
            "-emit-llvm",
            "-g",
            "-O1",
            "-Xclang",
            "-disable-llvm-passes",
            "-fno-discard-value-names",
        ])
        .args(["-w", "-o", "-"])
        .arg(format!("-fdebug-prefix-map={}=source", folder.path().display()))
        .arg(&path)
        .output()
        .expect("clang-19 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    link(vec![read(&output.stdout).expect("bitcode")])
}

fn models() -> Models {
    let mut models = Models::default();
    models.add("test", MODELS).expect("valid models");
    models
}

/// Lines where `source` leaks.
#[track_caller]
fn check(source: &str, expected: &[u32]) {
    let analysis =
        analyze(&program(source), &models(), &Config::default(), &Procedures::default(), &|_, _| {});
    let line = |finding: &leakscope_core::Finding| finding.leaked.as_ref()?.stack.first()?.line;
    let mut found: Vec<u32> = analysis.findings.iter().filter_map(line).collect();
    found.sort();
    assert_eq!(found, expected, "{:#?}", analysis.findings);
}

#[test]
fn ends_of_scopes() {
    check("void f(void) {\n char *p = malloc(1);\n}", &[3]);
    check("void f(void) {\n char *p = malloc(1);\n free(p);\n}", &[]);
    check("int f(int n) {\n char *p = malloc(1);\n if (n)\n  return 1;\n free(p);\n return 0;\n}", &[4]);
    check(
        "void f(int n) {\n while (n--) {\n  char *p = malloc(1);\n  if (opaque())\n   continue;\n  free(p);\n }\n}",
        &[5],
    );
}

#[test]
fn overwritten_pointers() {
    check("void f(void) {\n char *p = malloc(1);\n p = malloc(2);\n free(p);\n}", &[3]);
    check("void f(void) {\n char *p = malloc(1);\n if (!p) return;\n p = realloc(p, 9);\n free(p);\n}", &[4]);
}

#[test]
fn failed_allocations() {
    check("int f(void) {\n char *p = malloc(1);\n if (!p)\n  return 1;\n free(p);\n return 0;\n}", &[]);
    check("int f(void) {\n char *p;\n if (open_it(&p) < 0)\n  return 1;\n free(p);\n return 0;\n}", &[]);
    check("int f(void) {\n char *p;\n if (open_it(&p) < 0)\n  return 1;\n return 0;\n}", &[5]);
}

#[test]
fn the_same_condition_twice() {
    check("void f(int n) {\n char *p = 0;\n if (n) p = malloc(1);\n opaque();\n if (n) free(p);\n}", &[]);
    check("void f(int n, int m) {\n char *p = 0;\n if (n) p = malloc(1);\n if (m) free(p);\n}", &[5]);
}

#[test]
fn cases_of_callees() {
    let make =
        "static int make(char **p, int n) { if (!n) return -1; *p = malloc(n); return *p ? 0 : -1; }\n";
    check(
        &format!("{make}int f(int n) {{\n char *p;\n if (make(&p, n)) return 1;\n free(p);\n return 0;\n}}"),
        &[],
    );
    check(&format!("{make}int f(int n) {{\n char *p;\n make(&p, n);\n return 0;\n}}"), &[5]);
    let free_if = "static void free_if(char *p, int n) { if (n) free(p); }\n";
    check(&format!("{free_if}void f(void) {{\n char *p = malloc(1);\n free_if(p, 1);\n}}"), &[]);
    check(&format!("{free_if}void f(void) {{\n char *p = malloc(1);\n free_if(p, 0);\n}}"), &[5]);
}

#[test]
fn lists() {
    let list = "struct s { struct s *next; char *name; };\nstatic void drop(struct s *s) { while (s) { struct s *n = s->next; free(s); s = n; } }\n";
    let build = "void f(int n) {\n struct s *l = 0;\n while (n--) {\n  struct s *s = malloc(16);\n  if (!s) break;\n  s->name = 0;\n  s->next = l;\n  l = s;\n }\n";
    check(&format!("{list}{build} drop(l);\n}}"), &[]);
    check(&format!("{list}{build}}}"), &[12]);
}

/// A chain of calls whose end decides what all others do.
#[test]
fn long_chains_of_calls() {
    const CALLS: usize = 10_000;
    let mut source = "void *f0(void);\nvoid f(void) {\n f0();\n}\n".to_owned();
    for index in 0..CALLS {
        source += &format!("void *f{}(void);\nvoid *f{index}(void) {{ return f{0}(); }}\n", index + 1);
    }
    source += &format!("void *f{CALLS}(void) {{ return malloc(1); }}\n");
    check(&source, &[3]);
}

#[test]
fn unknown_code_keeps() {
    check("void f(void) {\n char *p = malloc(1);\n keep(p);\n}", &[]);
    check("void f(void) {\n char *p = malloc(1);\n keep(&p);\n}", &[]);
}

#[test]
fn what_main_holds_at_its_end_is_no_leak() {
    check("int main(void) {\n char *p = malloc(1);\n return p != 0;\n}", &[]);
    check("int main(void) {\n char *p = malloc(1);\n p = malloc(2);\n return p != 0;\n}", &[3]);
}

#[test]
fn summaries_name_categories() {
    let check = |source: &str, function: &str, expected: &[&str]| {
        let program = program(source);
        let analysis = analyze(&program, &models(), &Config::default(), &Procedures::default(), &|_, _| {});
        let index = program.functions.iter().position(|known| known.name == function).expect("the function");
        let summary = analysis.summaries[index].as_ref().expect("a summary");
        let text = describe(&program, FuncId(index as u32), summary).to_string();
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines, expected);
    };
    check("void *f(void) { return malloc(1); }", "f", &["Alloc2Ret ret*"]);
    check("void f(char **p) { *p = malloc(1); }", "f", &["Alloc2Arg arg0**"]);
    check(
        "struct s { int n; char *name; };\nvoid f(struct s *s) { free(s->name); }",
        "f",
        &["Arg2Free arg0*.name*"],
    );
    check("char *g; void f(char *p) { g = p; }", "f", &["Arg2Glob arg0*"]);
    check("char *f(char *p) { return p; }", "f", &["Arg2Ret arg0* ret*"]);
}

/// Functions that were analysed, or whose summaries were asked for, when
/// `source` is analysed after `before`.
fn analysed(before: &str, source: &str) -> Vec<String> {
    let analyse = |source: &str, known: &[u8]| {
        let program = program(source);
        let analysis = analyze(&program, &models(), &Config::default(), &Procedures::read(known), &|_, _| {});
        (program, analysis)
    };
    let kept = analyse(before, &[]).1.kept.expect("nothing was known before");
    let (program, analysis) = analyse(source, &kept);
    let names = program.functions.iter().zip(&analysis.summaries);
    names.filter(|(_, summary)| summary.is_some()).map(|(function, _)| function.name.clone()).collect()
}

#[test]
fn a_change_is_followed_as_far_as_it_can_be_seen() {
    let source = "void give(char *p) { free(p); }
char *make(void) { return malloc(3); }
void use(void) { char *p = make(); give(p); }
void other(void) { char *q = malloc(2); free(q); }";
    assert_eq!(analysed(source, source), [""; 0]);
    assert_eq!(analysed(source, &format!("\n\n{source}")), [""; 0], "lines alone");
    let larger = source.replace("malloc(3)", "malloc(4)");
    assert_eq!(analysed(source, &larger), ["make"], "callers see no difference");
    let kept = source.replace("free(p)", "keep(p)");
    assert_eq!(analysed(source, &kept), ["give", "make", "use"]);
    let own = source.replace("malloc(2)", "malloc(opaque())");
    assert_eq!(analysed(source, &own), ["other"]);
}

#[test]
fn a_place_inside_of_a_callee_is_none_of_its_callers_business() {
    let source = "void give(char *p, char *q) { free(p); opaque(); }
void pass(char *p) { give(p, 0); }
void use(void) { pass(malloc(3)); }";
    let kept = source.replace("opaque()", "keep(q)");
    assert_eq!(analysed(source, &kept), ["give", "pass"]);
}

#[test]
fn what_is_simulated_again_for_a_caller_counts_with_its_body() {
    let source = "extern void (*hook)(char *);
void give(char *p) { free(p); }
void each(char *p, void (*f)(char *)) { char *own = malloc(3); free(own); f(p); }
void known(void) { each(malloc(1), give); }
void unknown(void) { each(malloc(1), hook); }";
    let larger = source.replace("malloc(3)", "malloc(4)");
    assert_eq!(analysed(source, &larger), ["give", "each", "known"]);
}

#[test]
fn a_change_in_a_cycle_is_followed_no_further() {
    let source = "int odd(int n);
int even(int n) { char *p = malloc(3); free(p); return n ? odd(n - 1) : 1; }
int third(int n) { return n ? even(n - 1) : 0; }
int odd(int n) { return n ? third(n - 1) : 0; }";
    assert_eq!(analysed(source, source), [""; 0]);
    let larger = source.replace("malloc(3)", "malloc(4)");
    assert_eq!(analysed(source, &larger), ["even", "odd"], "it asks for the one that it calls");
    let leaks = source.replace("free(p)", "keep(p)");
    assert_eq!(analysed(source, &leaks), ["even", "odd"]);
}
