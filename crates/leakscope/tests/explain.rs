//! When a program runs a second time to explain reference-counted blocks, and
//! what comes of it. The programs `lp_counted_*` in `tests/programs` have the
//! leak points.

mod support;

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;
use support::{Folder, first_frame};

/// Forgets a reference if it has not run so often before, and loses a plain
/// block if it is told to; notes each run.
const COUNTER: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { int refs; int value; };
static struct item *shelf;
static void item_drop(struct item *item) {
    if (--item->refs == 0)
        free(item);
}
static int take(int forgets) {
    struct item *item = shelf;
    item->refs++;
    if (item->value == forgets)
        return 1;
    item_drop(item);
    return 0;
}
int main(int argc, char **argv) {
    int before = 0;
    FILE *file = fopen(\"runs\", \"a+\");
    while (getc(file) != EOF)
        before++;
    putc('x', file);
    fclose(file);
    if (strcmp(argv[1], \"plain\") == 0) {
        char *lost = malloc(40);
        lost[0] = 'a';
        lost = NULL;
        return lost != NULL;
    }
    shelf = malloc(sizeof *shelf);
    *shelf = (struct item){1, 7};
    take(before < atoi(argv[1]) ? 7 : 8);
    item_drop(shelf);
    shelf = NULL;
    for (int c; (c = getchar()) != EOF;)
        putchar(c);
    return argc == 0;
}
";

/// Runs it and compares: how often it ran, the leak line, references and holders.
fn check(folder: &Folder, options: &str, arguments: &str, expected: (usize, &str, &str)) {
    folder.write("runs", "");
    let ran = folder.run(&format!("run {options} --format json -o report.json ./counter -- {arguments}"));
    assert_eq!(ran.code, 23, "{ran:?}");
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    let finding = &report["findings"][0];
    let counted = &finding["counted"];
    let counted = match counted {
        Value::Null => String::new(),
        _ => format!("{}/{}", counted["references"], counted["holders"]),
    };
    let found = (folder.read("runs").len(), first_frame(&finding["leaked"]), counted);
    assert_eq!(found, (expected.0, expected.1.to_owned(), expected.2.to_owned()), "{options} {arguments}");
}

#[test]
fn a_second_run_where_it_helps() {
    let folder = Folder::with(&[("counter.c", COUNTER)]);
    folder.capture("counter");
    // By itself only what may be counted; the plain stamp is that of the last holder.
    check(&folder, "", "9", (2, "counter.c:14", "2/1"));
    check(&folder, "--no-explain", "9", (1, "counter.c:35", ""));
    check(&folder, "", "plain", (1, "counter.c:28", ""));
    check(&folder, "--explain", "plain", (2, "counter.c:28", ""));
    // The second run does not lose it again.
    check(&folder, "", "1", (2, "counter.c:35", ""));
    assert!(folder.read("report.json").contains("the second run did not lose it"));
}

#[test]
fn piped_input_is_given_twice_if_it_is_complete_or_wanted() {
    let folder = Folder::with(&[("counter.c", COUNTER)]);
    folder.capture("counter");
    // Whether the pipe is written to its end before leakscope starts.
    for (options, complete, runs) in [("--depth=9", false, 1), ("--depth=9", true, 2), ("--explain", true, 2)]
    {
        folder.write("runs", "");
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"words\n").expect("room");
        let open = (!complete).then_some(writer);
        let mut command = folder.leakscope(["run", options, "-q", "./counter", "--", "9"]);
        let child = command.stdin(reader).stdout(Stdio::piped()).spawn().expect("it starts");
        while open.is_some() && folder.read("runs").is_empty() {
            std::thread::yield_now();
        }
        drop(open);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(
            (output.stdout.as_slice(), folder.read("runs").len()),
            (&b"words\n"[..], runs),
            "{options} {complete}"
        );
    }
}

#[test]
fn code_that_was_not_captured_loses_something_too() {
    const LOSER: &str = "#include <stdlib.h>\nvoid loses(void) { char *volatile p = malloc(3); p = 0; }\n";
    const PROGRAM: &str =
        "void loses(void);\n__attribute__((constructor)) static void also(void) { loses(); }\n";
    let folder = Folder::with(&[("counter.c", &format!("{PROGRAM}{COUNTER}")), ("loser.c", LOSER)]);
    folder.shell("cc -g -shared -fPIC loser.c -o libloser.so");
    let ran = folder.run("build --quiet -- cc -g counter.c -o counter -L. -lloser -Wl,-rpath,$ORIGIN");
    assert_eq!(ran.code, 0, "{ran:?}");
    check(&folder, "", "9", (2, "counter.c:16", "2/1"));
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    assert_eq!(first_frame(&report["findings"][1]["allocated"]), "loser.c:2");
}

/// The length of the example's list looks like a count of references until the second
/// run has looked: then the fix is told.
#[test]
fn a_length_is_no_count() {
    let folder = Folder::with(&[
        ("main.c", include_str!("../../../examples/demo/main.c")),
        ("book.c", include_str!("../../../examples/demo/book.c")),
        ("book.h", include_str!("../../../examples/demo/book.h")),
        ("card.c", include_str!("../../../examples/demo/card.c")),
    ]);
    let told = |options: &str| folder.run(&format!("run {options} main.c book.c card.c")).stderr;
    let fix = "help: add contact_free(contact) before line 25, as in book.c:58";
    assert!(!told("--no-explain").contains(fix), "it may be counted");
    assert!(told("").contains(fix));
}
