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
    warned(folder, &[options, &["a.c"]].concat())
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

const FILES: [(&str, &str); 3] = [
    (
        "main.c",
        "#include <stdlib.h>
#include <string.h>
struct box { char *name; char *text; };
char *take(const char *text);
void drop(struct box *box);
void each(void (*run)(char *), char *what);
extern int verbose;
extern void (*const actions[2])(char *);
static char *copy(const char *text) { return strdup(text); }
static void release(char *what) { free(what); }
static void look(char *what) { what[0] = 1; }
int labelled(const char *name)
{
    struct box box = {copy(name), take(name)};
    drop(&box);
    return 1;
}
int chosen(const char *name)
{
    char *kept = copy(name);
    if (!kept)
        return 1;
    if (verbose)
        return 2;
    actions[0](kept);
    return 0;
}
int run(const char *name)
{
    char *given = take(name);
    if (!given)
        return 1;
    each(release, given);
    look((char[]){1, 0});
    return 0;
}
int main(int count, char **names) { return labelled(names[0]) + chosen(names[0]) + run(names[count - 1]); }
",
    ),
    (
        "parts.c",
        "#include <stdlib.h>
#include <string.h>
struct box { char *name; char *text; };
int verbose = 0;
static void release(char *what) { free(what); }
static void look(char *what) { what[0] = 2; }
void (*const actions[2])(char *) = {release, look};
char *take(const char *text)
{
    char *made = malloc(strlen(text) + 1);
    if (made)
        strcpy(made, text);
    return made;
}
void drop(struct box *box)
{
    free(box->name);
    free(box->text);
}
void tell(void) { look((char[]){'a', 0}); }
",
    ),
    ("each.c", "void each(void (*run)(char *), char *what) { run(what); }\n"),
];

/// One after the other: which file, what is there, what is put there, and the
/// variables in the warnings then.
const EDITS: [(&str, &str, &str, &[&str]); 10] = [
    ("main.c", "int run(", "\n\nint run(", &[]),
    ("parts.c", "    free(box->text);\n", "", &["box.text"]),
    ("main.c", "struct box {", "/* moved */\n\nstruct box {", &["box.text"]),
    ("main.c", "char *text; };", "char *label; };", &["box.label"]),
    ("parts.c", "{release, look}", "{look, release}", &["box.label", "kept"]),
    ("parts.c", "void tell(void) {", "void tell(void) { verbose = 1;", &["box.label", "kept"]),
    ("parts.c", "{look, release}", "{release, look}", &["box.label", "kept"]),
    ("parts.c", "void tell(void) { verbose = 1;", "void tell(void) {", &["box.label"]),
    ("each.c", "{ run(what); }", "{ (void)run; (void)what; }", &["box.label", "given"]),
    ("main.c", "each(release, given);", "each(release, given), release(given);", &["box.label"]),
];

/// After each edit the warnings are those of an analysis that starts anew.
#[test]
fn what_is_kept_of_procedures_is_current() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    for (name, text) in FILES {
        fs::write(folder.join(name), text).expect("writable");
    }
    let warnings = |store: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_leakscope"))
            .args(["check", "--quiet", "--format", "json", "--output", "report.json"])
            .args(FILES.map(|(name, _)| name))
            .env("XDG_CACHE_HOME", folder.join(store))
            .current_dir(folder)
            .output()
            .expect("leakscope runs");
        assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
        let report = fs::read(folder.join("report.json")).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        report["findings"].clone()
    };
    warnings("kept");
    for (name, from, to, expected) in EDITS {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).expect("it is there");
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).expect("writable");
        let found = warnings("kept");
        let mut variables: Vec<&str> = found
            .as_array()
            .expect("findings")
            .iter()
            .map(|f| f["variable"].as_str().unwrap_or(""))
            .collect();
        variables.sort();
        assert_eq!(variables, *expected, "after {from:?} became {to:?}");
        assert_eq!(found, warnings("anew"), "after {from:?} became {to:?}");
        fs::remove_dir_all(folder.join("anew")).expect("results are kept");
    }
    // A file that is damaged counts as none.
    let found = warnings("kept");
    let damage = "find kept -path '*derived/check/*' -type f | while read f; do \
                  printf '\\377\\377' | dd of=\"$f\" bs=1 seek=40 conv=notrunc status=none; done";
    assert!(Command::new("sh").args(["-c", damage]).current_dir(folder).status().expect("sh runs").success());
    assert_eq!(found, warnings("kept"));
}

/// The way there by its conditions, the release on another way, and what to write.
#[test]
fn a_warning_tells_the_way_and_the_fix() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = "#include <stdlib.h>\nint f(const char *s, int n)\n{\n    char *p = malloc(3);\n    if (!p || n < 0)\n        return -1;\n    \
                  p[0] = *s;\n    free(p);\n    return 0;\n}\n";
    fs::write(folder.path().join("a.c"), source).expect("writable");
    let output = Command::new(env!("CARGO_BIN_EXE_leakscope"))
        .args(["check", "a.c"])
        .current_dir(folder.path())
        .output()
        .expect("leakscope runs");
    let report = String::from_utf8_lossy(&output.stdout);
    for said in [
        "help: add free(p) before line 6, as in a.c:8",
        "freed here on another way: the place to copy the fix from",
        "on this way   f (a.c:5): `!p` is false",
        "f (a.c:5): `!p || n < 0` is true",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
}

/// What one function frees with an element, another forgets: the first is the
/// model.
#[test]
fn a_forgotten_member_is_freed_as_elsewhere() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/demo");
    let output = Command::new(env!("CARGO_BIN_EXE_leakscope"))
        .args(["check", "main.c", "book.c", "card.c"])
        .current_dir(demo)
        .output()
        .expect("leakscope runs");
    let report = String::from_utf8_lossy(&output.stdout);
    let said = "help: add free(contact->phone) before line 38, as in book.c:57";
    assert!(report.contains(said), "{report}");
}

/// Builds with `leakscope build -- sh -c COMMANDS` in `folder`.
fn build(folder: &Path, commands: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_leakscope"))
        .args(["build", "--", "sh", "-c", commands])
        .current_dir(folder)
        .output()
        .expect("leakscope runs");
    assert!(output.status.success(), "{output:?}");
}

/// The variables in the warnings about `targets`, sorted.
fn warned(folder: &Path, targets: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_leakscope"))
        .args(["check", "--quiet", "--format", "json"])
        .args(targets)
        .current_dir(folder)
        .output()
        .expect("leakscope runs");
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON on standard output");
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut names: Vec<String> =
        findings.map(|finding| finding["variable"].as_str().unwrap_or("none").to_owned()).collect();
    names.sort();
    names
}

#[test]
fn folders_archives_and_objects_are_targets() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let text = format!("#include <stdlib.h>\n{text}");
        fs::write(folder.path().join(name), text).expect("a source");
    };
    write("used.c", "int used(void) { char *one = malloc(1); return one != 0; }\n");
    write("unused.c", "int unused(void) { char *two = malloc(2); return two != 0; }\n");
    write("loose.c", "int loose(void) { char *three = malloc(3); return three != 0; }\n");
    write(
        "main.c",
        "int used(void);\nint four(void) { char *four = malloc(4); return four != 0; }\n\
         int main(void) { return used() + four(); }\n",
    );
    write(
        "other.c",
        "int used(void);\nint five(void) { char *five = malloc(5); return five != 0; }\n\
         int main(void) { return used() + five(); }\n",
    );
    build(
        folder.path(),
        "cc -g -c used.c unused.c loose.c && ar rc libboth.a used.o unused.o && \
         cc -g main.c libboth.a -o main && cc -g other.c libboth.a -o other",
    );
    let all = ["five", "four", "one", "three", "two"];
    assert_eq!(warned(folder.path(), &["."]), all);
    assert_eq!(warned(folder.path(), &["libboth.a"]), ["one", "two"]);
    assert_eq!(warned(folder.path(), &["loose.o"]), ["three"]);
    assert_eq!(warned(folder.path(), &["main"]), ["four", "one"]);
    assert_eq!(warned(folder.path(), &["main", "other"]), ["five", "four", "one"]);
    // To run one, it must be chosen.
    let output = Command::new(env!("CARGO_BIN_EXE_leakscope"))
        .args(["validate", "."])
        .current_dir(folder.path())
        .output()
        .expect("leakscope runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "leakscope: . is a folder: give one program in it\n");
}

#[test]
fn what_one_function_refuses_is_one_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let callers: String = (0..5)
        .map(|number| format!("void caller_{number}(struct stack *s) {{ push(s, strdup(\"{number}\")); }}\n"))
        .collect();
    let push = "#include <stdlib.h>\n#include <string.h>\n\
        struct stack { char **items; int count, room; };\n\
        int push(struct stack *s, char *item)\n{\n\
            if (s->count == s->room)\n        return -1;\n\
            s->items[s->count++] = item;\n    return 0;\n}\n";
    fs::write(folder.path().join("a.c"), format!("{push}{callers}")).expect("a source");
    assert_eq!(variables(folder.path(), &[]).len(), 1);
    let text = Command::new(env!("CARGO_BIN_EXE_leakscope"))
        .args(["check", "--quiet", "a.c"])
        .current_dir(folder.path())
        .output()
        .expect("leakscope runs");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("look whether `push` kept it, and release it if not"), "{text}");
    assert!(text.contains("4 more blocks are lost in the same way"), "{text}");
}
