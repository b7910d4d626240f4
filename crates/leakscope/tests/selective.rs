//! `--only` and `--two-pass`: leak points of chosen blocks alone.

mod support;

use std::process::Stdio;

use serde_json::Value;
use support::{Folder, Ran, first_frame, wait_with_input};

/// Loses a block of each of two functions and repeats its input. A third block
/// is lost if it has not run so often before.
const LOSER: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *first(void) { return malloc(11); }

static char *second(void) {
    char *block = calloc(1, 22);
    return block;
}

static int runs_before(void) {
    int lines = 0;
    FILE *file = fopen(\"runs\", \"a+\");
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\\n';
    fputs(\"run\\n\", file);
    fclose(file);
    return lines;
}

int main(int argc, char **argv) {
    char line[64], *a = first(), *b = second();
    *a = *b = 1;
    a = NULL;
    b = NULL;
    if (argc > 1 && runs_before() < atoi(argv[1]))
        (void)!realloc(NULL, 33);
    while (fgets(line, sizeof line, stdin))
        fputs(line, stdout);
    return 5;
}
";

fn folder() -> Folder {
    let folder = Folder::with(&[("loser.c", LOSER), ("clean.c", "int main(void) { return 4; }\n")]);
    folder.capture("loser");
    folder.capture("clean");
    folder
}

/// Bytes, leak line and why it is not exact, of each lost block.
fn leaks(ran: &Ran) -> Vec<(u64, String, String)> {
    let json = ran.json();
    let findings = json["findings"].as_array().expect("findings").iter();
    let lost = findings.filter(|finding| finding["kind"] == "lost");
    let told = |finding: &Value| {
        let leaked =
            if finding["leaked"].is_null() { String::new() } else { first_frame(&finding["leaked"]) };
        let inexact = finding["evidence"]["inexact"].as_str().unwrap_or_default().to_owned();
        (finding["bytes"].as_u64().expect("bytes"), leaked, inexact)
    };
    let mut leaks: Vec<_> = lost.map(told).collect();
    leaks.sort();
    leaks
}

fn owned(leaks: &[(u64, &str, &str)]) -> Vec<(u64, String, String)> {
    leaks.iter().map(|&(bytes, place, why)| (bytes, place.to_owned(), why.to_owned())).collect()
}

const FIRST: (u64, &str, &str) = (11, "loser.c:25", "");
const SECOND: (u64, &str, &str) = (22, "loser.c:26", "");
const NOT_FIRST: (u64, &str, &str) = (11, "", "its pointers were not followed");
const NOT_SECOND: (u64, &str, &str) = (22, "", "its pointers were not followed");

#[test]
fn only_chosen_blocks_have_leak_points() {
    let folder = folder();
    let check = |only: &str, expected: &[(u64, &str, &str)]| {
        let options: String = only.split(' ').map(|pattern| format!("--only alloc={pattern} ")).collect();
        let ran = folder.run(&format!("run --format json {options} loser"));
        assert_eq!((ran.code, leaks(&ran)), (23, owned(expected)), "{only}: {ran:?}");
    };
    check("first", &[FIRST, NOT_SECOND]);
    check("^second$", &[NOT_FIRST, SECOND]);
    check("loser.c:8", &[NOT_FIRST, SECOND]);
    check("first loser.c:8", &[FIRST, SECOND]);
    check("s*nd", &[NOT_FIRST, SECOND]);
    check("main", &[FIRST, SECOND]);
    check("loser.c", &[FIRST, SECOND]);
    check("runs_before", &[NOT_FIRST, NOT_SECOND]);
}

#[test]
fn patterns_that_name_nothing_are_refused() {
    let folder = folder();
    for pattern in ["third", "loser.c:1", "other.c:8"] {
        let ran = folder.run(&format!("run --only alloc={pattern} loser"));
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_eq!(
            ran.only_line(),
            format!(
                "no code of loser is named by --only alloc={pattern}: expected a function, a file or a line as in list.c:12"
            )
        );
    }
    for option in ["--only=first", "--only=alloc=", "--only alloc=first --two-pass"] {
        assert_eq!(folder.run(&format!("run {option} loser")).code, 2, "{option}");
    }
}

#[test]
fn two_passes_find_the_same_as_one() {
    let folder = folder();
    let one = folder.run("run --format json loser");
    let two = folder.run("run --format json --two-pass loser");
    assert_eq!(leaks(&two), owned(&[FIRST, SECOND]));
    let lost = |ran: &Ran| ran.json()["summary"]["lost"].clone();
    assert_eq!((one.code, lost(&one)), (two.code, lost(&two)));
    let ids = |ran: &Ran| {
        let json = ran.json();
        let lost = json["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "lost");
        lost.map(|finding| finding["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&one), ids(&two));
}

#[test]
fn the_second_run_is_not_heard() {
    let folder = folder();
    let run = |options: &str| {
        let words = format!("run --format json {options} loser -- 9");
        let mut command = folder.leakscope(words.split_whitespace());
        let output = wait_with_input(command.stdout(Stdio::piped()).stderr(Stdio::piped()), "to be\n");
        Ran::from(&output)
    };
    let once = run("--two-pass");
    assert_eq!((once.code, once.stdout.as_str()), (23, "to be\n"), "{once:?}");
    assert_eq!(folder.read("runs"), "run\nrun\n");
    assert_eq!(leaks(&once).len(), 3);
    let twice = run("--two-pass --show-second");
    assert_eq!(twice.stdout, "to be\nto be\n", "{twice:?}");
    // What loses nothing need not run again.
    let clean = folder.run("run --two-pass clean");
    assert_eq!(clean.code, 4, "{clean:?}");
}

#[test]
fn a_program_that_does_not_repeat_is_told_so() {
    let folder = folder();
    let ran = folder.run("run --format json --two-pass loser -- 1");
    let line = ran.stderr.lines().next().unwrap_or_default();
    assert!(
        line.starts_with("leakscope: the program does not repeat: it lost 3 blocks first, then 2"),
        "{line}"
    );
    assert_eq!(leaks(&ran), owned(&[FIRST, SECOND, (33, "", "the second run did not lose it")]));
    assert_eq!(ran.json()["summary"]["lost"]["blocks"], 3);
}

#[test]
fn other_engines_say_that_nothing_changes() {
    let folder = folder();
    for (option, name) in [("--two-pass", "--two-pass"), ("--only alloc=first", "--only")] {
        let ran = folder.run(&format!("run --engine preload {option} loser"));
        assert_eq!(ran.code, 23, "{ran:?}");
        let line = format!("leakscope: {name} is for captured programs; it changes nothing here");
        assert_eq!(ran.stderr.lines().next(), Some(line.as_str()), "{ran:?}");
    }
}
