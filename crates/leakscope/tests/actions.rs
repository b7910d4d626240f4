//! `--on-leak` and `--leak-limit`: what happens to a program that lost too
//! much.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use support::{Folder, Ran, project_file};

/// Loses 66 bytes, looks, and goes on.
const LOSER: &str = "\
#include <leakscope.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#define KEEP(value) __asm__ volatile(\"\" : \"+r\"(value) : : \"memory\")

static void lose(void) { char *block = malloc(66); KEEP(block); block = NULL; KEEP(block); }

static void on_abort(int number) { (void)number; puts(\"caught\"); fflush(stdout); }

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) signal(SIGABRT, on_abort);
    lose();
    leakscope_snapshot();
    puts(\"after\");
    return 0;
}
";

fn folder() -> Folder {
    let folder = Folder::with(&[("loser.c", LOSER)]);
    let include = project_file("include").display().to_string();
    let build = ["build", "--quiet", "--", "cc", "-g", "-I", &include, "loser.c", "-o", "loser"];
    assert!(folder.leakscope(build).status().expect("it runs").success());
    folder
}

#[test]
fn a_program_is_aborted_when_enough_is_lost() {
    let folder = folder();
    let check = |options: &str, code: i32, stdout: &str, said: Option<&str>| {
        for engine in ["track", "preload"] {
            let ran = folder.run(&format!("run --format json --engine {engine} {options}"));
            assert_eq!((ran.code, ran.stdout.as_str()), (code, stdout), "{engine} {options}: {ran:?}");
            let line = ran.stderr.lines().find(|line| line.starts_with("leakscope: 66 bytes are lost"));
            assert_eq!(line.map(without_numbers).as_deref(), said, "{engine} {options}");
            assert_eq!(ran.json()["summary"]["lost"]["bytes"], 66, "{engine} {options}");
        }
    };
    let aborted = "leakscope: bytes are lost: process is aborted (--on-leak abort)";
    check("--on-leak report loser", 23, "after\n", None);
    check("--on-leak abort loser", 134, "", Some(aborted));
    check("--on-leak abort --leak-limit 66 loser", 134, "", Some(aborted));
    check("--on-leak abort --leak-limit 1K loser", 0, "after\n", None);
    // A handler of the program's own does not keep it alive.
    check("--on-leak abort loser -- handled", 134, "", Some(aborted));
}

#[test]
fn the_end_counts_too() {
    let lost_late = LOSER.replace("    leakscope_snapshot();\n", "");
    let folder = Folder::with(&[("loser.c", &lost_late)]);
    let ran =
        folder.run(&format!("run --on-leak abort --cflag=-I{} loser.c", project_file("include").display()));
    assert_eq!((ran.code, ran.stdout.as_str()), (134, "after\n"), "{ran:?}");
    assert!(ran.stderr.contains("lost: 1 block, 66 bytes, allocated in lose (loser.c:7)"), "{ran:?}");
}

#[test]
fn less_than_the_limit_does_not_fail_a_run() {
    let folder = folder();
    for (limit, code) in [("1", 23), ("66", 23), ("67", 0), ("1M", 0)] {
        let ran = folder.run(&format!("run --leak-limit {limit} loser"));
        assert_eq!(ran.code, code, "{limit}: {ran:?}");
        assert!(ran.stderr.contains("lost: 1 block, 66 bytes"), "{limit}: {ran:?}");
    }
}

#[test]
fn a_stopped_program_goes_on_when_told() {
    let folder = folder();
    for engine in ["track", "preload"] {
        let mut command = folder.leakscope(["run", "--engine", engine, "--on-leak", "stop", "loser"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("readable");
        let pid: i32 = line
            .strip_prefix("leakscope: 66 bytes are lost: process ")
            .and_then(|rest| rest.split_once(' ')?.0.parse().ok())
            .unwrap_or_else(|| panic!("{engine}: {line:?}"));
        assert!(line.ends_with(&format!("`gdb -p {pid}` looks into it, `kill -CONT {pid}` lets it go on\n")));
        while state_of(pid) != Some('T') {
            std::thread::yield_now();
        }
        // SAFETY: a process that waits for this.
        unsafe { libc::kill(pid, libc::SIGCONT) };
        let mut report = String::new();
        stderr.read_to_string(&mut report).expect("readable");
        let ran = Ran::from(&child.wait_with_output().expect("it ends"));
        assert_eq!((ran.code, ran.stdout.as_str()), (23, "after\n"), "{engine}: {report}");
        assert!(!report.contains("is stopped"), "nothing more was lost: {report}");
    }
}

#[test]
fn valgrind_does_not_act() {
    let folder = folder();
    let ran = folder.run("run --engine valgrind --on-leak stop loser");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(
        ran.only_line(),
        "--on-leak stop needs another engine than valgrind: leave it out, or use --engine preload"
    );
}

fn state_of(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// A line without the words that are numbers.
fn without_numbers(line: &str) -> String {
    let words = line.split(' ').filter(|word| word.parse::<u64>().is_err());
    words.collect::<Vec<_>>().join(" ")
}
