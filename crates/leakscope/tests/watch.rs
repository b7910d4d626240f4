//! `leakscope watch` on small programs that see every access: what goes stale,
//! and what operators do with it.

mod support;

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde_json::Value;
use support::leakscope;

/// Entries of which one in ten stays in a list and is not read again.
const FEED: &str = r#"#include <stdio.h>
#include <stdlib.h>
struct entry { struct entry *next; int reads; };
struct entry *archive;
int *hot;
void __leakscope_snapshot(void) __attribute__((weak));
static void __attribute__((noinline)) look(struct entry *e) {
    e->reads++;                                         // line 8
}
int main(int argc, char **argv) {
    hot = calloc(100, sizeof *hot);
    for (int i = 0; i < 3000; i++) {
        struct entry *e = malloc(sizeof *e);            // line 13
        look(e);
        if (i % 10 == 0) {
            e->next = archive;                          // line 16
            archive = e;
        } else {
            free(e);                                    // line 19
        }
        for (int k = 0; k < 100; k++) hot[k] += i;
        if (argc > 1 && i % 1000 == 999 && __leakscope_snapshot) __leakscope_snapshot();
    }
    printf("%d\n", hot[3]);
    fflush(stdout);
    if (argc > 2) getchar();
    return 0;
}
"#;

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new(source: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("feed.c"), source).unwrap();
        Project { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn leakscope(&self, arguments: &[&str]) -> Output {
        let output = leakscope().args(arguments).current_dir(self.folder.path()).output().unwrap();
        assert_ne!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        output
    }

    /// What `watch --once` says, and reports.
    fn watch(&self, options: &[&str]) -> (Output, Value) {
        let arguments = ["watch", "--once", "--format", "json", "-o", "report.json"];
        let ran = self.leakscope(&[&arguments[..], options].concat());
        let report = fs::read(self.path("report.json")).unwrap();
        (ran, serde_json::from_slice(&report).unwrap())
    }

    /// One file to deploy.
    fn deploy(&self) -> PathBuf {
        let built = self.leakscope(&["build", "-q", "--", "cc", "-O1", "-g", "feed.c", "-o", "feed"]);
        assert!(built.status.success(), "{}", said(&built));
        let derived =
            self.leakscope(&["derive", "./feed", "--engine", "sample", "-o", "feed.watched", "--quiet"]);
        assert!(derived.status.success(), "{}", said(&derived));
        self.path("feed.watched")
    }

    /// Runs the deployed program, which writes to `records`.
    fn run(&self, program: &Path, settings: &[(&str, &str)], arguments: &[&str]) {
        let records = self.path("records");
        fs::create_dir_all(&records).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("LEAKSCOPE_DIR", &records).env("LEAKSCOPE_MIN", "1");
        let output = command.envs(settings.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "4498500\n");
    }

    fn records(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("records")).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

/// Words beside a report, then the report of a folder.
fn said(output: &Output) -> String {
    [&output.stderr[..], &output.stdout].map(String::from_utf8_lossy).concat()
}

fn line(place: &Value) -> Option<u64> {
    place["stack"][0]["line"].as_u64()
}

/// The only stale finding in a report.
fn stale(report: &Value) -> Value {
    let all = report["findings"].as_array().unwrap();
    let stale: Vec<&Value> = all.iter().filter(|finding| finding["kind"] == "stale").collect();
    assert_eq!(stale.len(), 1, "{report:#}");
    stale[0].clone()
}

/// Asks for cleared memory where other blocks of the same size were.
const CLEARED: &str = r#"#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *__attribute__((noinline)) get(size_t size) {
    char *block = calloc(1, size);
    for (size_t i = 0; i < size; i++)
        if (block[i]) { printf("byte %zu of %zu is not cleared\n", i, size); exit(1); }
    return block;
}
int main(void) {
    for (size_t size = 1; size <= 5000; size++) {
        for (int again = 0; again < 3; again++) {
            char *block = get(size);
            memset(block, 0xa5, size);
            free(block);
        }
    }
    puts("all clear");
    return 0;
}
"#;

#[test]
fn calloc_gives_cleared_memory_of_any_size() {
    let project = Project::new(CLEARED);
    let (ran, _) = project.watch(&["--cflag=-O1", "feed.c"]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "all clear\n");
}

#[test]
fn a_run_says_what_went_stale_and_where() {
    let project = Project::new(FEED);
    let (ran, report) =
        project.watch(&["--min", "100%", "--burst-history", "--cflag=-O1", "feed.c", "--", "x"]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "4498500\n");
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    assert!(said(&ran).contains("stale means idle>"), "{}", said(&ran));
    assert_eq!((report["command"].as_str(), report["engine"].as_str()), (Some("watch"), Some("sample")));
    let finding = stale(&report);
    assert_eq!(line(&finding["allocated"]), Some(13));
    assert_eq!(line(&finding["last_used"]), Some(16));
    assert_eq!(line(&finding["freed_elsewhere"][0]["place"]), Some(19));
    let evidence = &finding["evidence"];
    // The burst that ends there came by the function that looks at entries.
    let before = evidence["burst_history"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (before["function"].as_str(), before["line"].as_u64()),
        (Some("look"), Some(8)),
        "{finding:#}"
    );
    // Of 300, all but those of the last tenth of the run.
    let blocks = finding["blocks"].as_u64().unwrap();
    assert!((265..=275).contains(&blocks), "{finding:#}");
    assert_eq!(evidence["count"], finding["blocks"]);
    assert_eq!(evidence["bytes"].as_u64(), Some(16 * blocks));
    assert_eq!(evidence["never_accessed"], 0);
    assert_eq!(evidence["live"]["blocks"], 300);
    assert_eq!(evidence["trend"], "growing");
    assert!(
        evidence["drag"].as_u64() > Some(0) && evidence["idle"]["least"].as_u64() > Some(0),
        "{finding:#}"
    );
}

#[test]
fn a_last_use_has_its_callers_where_the_function_has_no_frame() {
    let source = FEED.replace(
        "int main(",
        "static void __attribute__((noinline)) visit(struct entry *e) { look(e); hot[1]++; }\nint main(",
    );
    // Behind the other accesses to the entry.
    let project = Project::new(&source.replace("archive = e;", "archive = e; visit(e);"));
    let (_, report) = project.watch(&["--min", "100%", "--cflag=-O2", "feed.c"]);
    let finding = stale(&report);
    let stack = finding["last_used"]["stack"].as_array().unwrap();
    let functions: Vec<_> = stack.iter().map(|frame| frame["function"].as_str().unwrap()).collect();
    assert_eq!(functions, ["look", "visit", "main"], "{finding:#}");
}

#[test]
fn functions_have_their_names_without_debug_information() {
    let project = Project::new(FEED);
    let program = project.deploy();
    assert!(Command::new("strip").arg("--strip-debug").arg(&program).status().unwrap().success());
    project.run(&program, &[], &["x"]);
    let once = project.leakscope(&["watch", "--once", "records"]);
    assert!(said(&once).contains("main") && !said(&once).contains(".reports"), "{}", said(&once));
}

#[test]
fn other_predicates_say_otherwise() {
    let project = Project::new(FEED);
    let check = |stale: &str, expected: u64| {
        let (_, report) = project.watch(&["--min", "100%", "--stale", stale, "feed.c"]);
        assert_eq!(report["summary"]["stale"]["blocks"], expected, "{stale}");
    };
    check("never", 0);
    check("idle>1G", 0);
    check("idle>10*active and idle>1G or never", 0);
    // The last one lay idle for nine rounds of a hundred accesses.
    check("idle>100 and idle>0*active", 300);
}

#[test]
fn frees_that_are_left_out_are_found() {
    let project = Project::new(FEED);
    let (ran, report) = project.watch(&["--inject-leaks", "50%", "feed.c"]);
    assert_eq!(ran.status.code(), Some(23));
    let injected = |finding: &Value| finding["evidence"]["injected"].as_u64().unwrap_or(0);
    let found: u64 = report["findings"].as_array().unwrap().iter().map(injected).sum();
    // About half of 2,700.
    assert!((1200..=1500).contains(&found), "{found}");
    assert_eq!(report["summary"]["lost"]["blocks"], found);
}

#[test]
fn a_deployed_program_writes_when_something_is_wrong() {
    let project = Project::new(FEED);
    let program = project.deploy();
    project.run(&program, &[], &[]);
    assert_eq!(project.records().len(), 1);
    let once = project.leakscope(&["watch", "--once", "records"]);
    assert!(said(&once).contains("stale: 2") && said(&once).contains("feed.c:13"), "{}", said(&once));

    let clean = Project::new(&FEED.replace("if (i % 10 == 0)", "if (i < 0)"));
    let program = clean.deploy();
    clean.run(&program, &[], &[]);
    assert_eq!(clean.records(), Vec::<PathBuf>::new());
    clean.run(&program, &[("LEAKSCOPE_ALWAYS", "1")], &[]);
    assert_eq!(clean.records().len(), 1);
    let once = clean.leakscope(&["watch", "--once", "records"]);
    assert!(said(&once).contains("nothing went stale"), "{}", said(&once));
}

#[test]
fn the_end_is_the_last_that_is_written() {
    let project = Project::new(FEED);
    let program = project.deploy();
    let settings = [("LEAKSCOPE_SNAPSHOT_EVERY", "60000"), ("LEAKSCOPE_ALWAYS", "1")];
    for runs in 1..=10 {
        project.run(&program, &settings, &[]);
        assert_eq!(project.records().len(), runs);
    }
}

#[test]
fn the_folder_keeps_its_size() {
    let project = Project::new(FEED);
    let program = project.deploy();
    project.run(&program, &[], &["x"]);
    let all = project.records();
    assert_eq!(all.len(), 4);
    let size: u64 = fs::metadata(&all[3]).unwrap().len();
    project.run(&program, &[("LEAKSCOPE_DIR_MAX", &(2 * size + size / 2).to_string())], &["x"]);
    let left = project.records();
    let total: u64 = left.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    assert!(total <= 2 * size + size / 2 && !left.is_empty(), "{left:?}");
    // The last word of the last process is there.
    assert!(left.iter().any(|file| file.to_string_lossy().ends_with("-3.record")), "{left:?}");
}

#[test]
fn snapshots_that_cannot_be_read_are_passed_over() {
    let project = Project::new(FEED);
    let program = project.deploy();
    project.run(&program, &[], &["x"]);
    let files = project.records();
    let whole = fs::read(&files[0]).unwrap();
    fs::write(project.path("records/1-0.record"), &whole[..whole.len() / 2]).unwrap();
    fs::write(
        project.path("records/2-0.record"),
        b"something else, of another program, and long enough to look at",
    )
    .unwrap();
    let mut later = whole.clone();
    later[8] = 99;
    fs::write(project.path("records/3-0.record"), &later).unwrap();
    let once = project.leakscope(&["watch", "--once", "records"]);
    for words in [
        "1-0.record is cut off",
        "2-0.record is not a record",
        "3-0.record has record version 99",
        "feed.c:13",
    ] {
        assert!(said(&once).contains(words), "{words}: {}", said(&once));
    }
}

#[test]
fn two_processes_may_have_had_one_number() {
    let project = Project::new(FEED);
    let program = project.deploy();
    project.run(&program, &[], &[]);
    project.run(&program, &[], &[]);
    let files = project.records();
    assert_eq!(files.len(), 2);
    for file in &files {
        let mut bytes = fs::read(file).unwrap();
        let pid = std::mem::offset_of!(leakscope_wire::Header, pid);
        bytes[pid..pid + 4].copy_from_slice(&7_u32.to_le_bytes());
        fs::write(file, bytes).unwrap();
    }
    let (_, report) = project.watch(&["records"]);
    assert_eq!(stale(&report)["evidence"]["live"]["blocks"], 600, "{report:#}");
}

#[test]
fn two_programs_may_write_to_one_folder() {
    let project = Project::new(FEED);
    let program = project.deploy();
    let other = project.path("other.watched");
    fs::copy(&program, &other).unwrap();
    project.run(&program, &[], &[]);
    project.run(&other, &[], &[]);
    let once = project.leakscope(&["watch", "--once", "records"]);
    for words in ["feed.watched", "other.watched", "write to this folder: all of them are in this report"] {
        assert!(said(&once).contains(words), "{words}: {}", said(&once));
    }
    // What is stale is said once, however many there are.
    assert_eq!(said(&once).matches("stale means").count(), 1, "{}", said(&once));
    assert!(said(&once).contains("of 2 processes"), "{}", said(&once));
}

#[test]
fn where_nothing_can_be_written_the_program_goes_on() {
    let project = Project::new(FEED);
    let program = project.deploy();
    let records = project.path("records");
    fs::create_dir(&records).unwrap();
    let full = "ulimit -f 0; exec \"$0\" x";
    let mut command = Command::new("sh");
    command.args(["-c", full]).arg(&program).env("LEAKSCOPE_DIR", &records).env("LEAKSCOPE_MIN", "1");
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), "4498500\n"));
    // An empty file says so to who looks, and there is one at most.
    let files = project.records();
    assert!(matches!(&files[..], [mark] if fs::metadata(mark).unwrap().len() == 0), "{files:?}");
    let once = leakscope().args(["watch", "--once"]).arg(&records).output().unwrap();
    assert!(said(&once).contains("is empty: a snapshot could not be written"), "{}", said(&once));
}

#[test]
fn the_folder_is_made_and_kept_where_the_program_changes_its_own() {
    let source = FEED.replace("hot = calloc", "if (chdir(\"/\")) return 1;\n    hot = calloc");
    let project =
        Project::new(&source.replace("#include <stdio.h>", "#include <stdio.h>\n#include <unistd.h>"));
    let program = project.deploy();
    let mut command = Command::new(&program);
    command.current_dir(project.folder.path()).env("LEAKSCOPE_DIR", "made/records").env("LEAKSCOPE_MIN", "1");
    assert_eq!(said(&command.output().unwrap()), "4498500\n");
    assert_eq!(fs::read_dir(project.path("made/records")).unwrap().count(), 1);
}

#[test]
fn a_folder_that_takes_nothing_is_told_of_once() {
    let project = Project::new(FEED);
    let program = project.deploy();
    let check = |start: &str, expected: &str| {
        let mut command = Command::new("sh");
        command
            .args(["-c", start])
            .arg(&program)
            .current_dir(project.folder.path())
            .env("LEAKSCOPE_MIN", "1");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{start}: {}", said(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "4498500\n", "{start}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected, "{start}");
    };
    fs::write(project.path("file"), "").unwrap();
    let file = project.path("file/records");
    let told = format!("leakscope: cannot write to LEAKSCOPE_DIR, {}: Not a directory\n", file.display());
    check("LEAKSCOPE_DIR=file/records exec \"$0\" x", &told);
    // Nobody reads it, or it is closed.
    check("LEAKSCOPE_DIR=file/records exec \"$0\" x 2>&-", "");
    check(
        "{ sleep 1; LEAKSCOPE_DIR=file/records \"$0\" x 2>&3 3>&-; echo $? > code; } 3>&1 >out | :; cat out; exit $(cat code)",
        "",
    );
}

/// A library's own table, and copies that it makes for the program, which keeps
/// them.
const LIBRARYS_OWN: &str = r#"#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void __leakscope_snapshot(void) __attribute__((weak));
char *names[300];
int *hot;
int main(void) {
    getpwnam("root");                                   // line 9
    hot = calloc(100, sizeof *hot);
    for (int i = 0; i < 3000; i++) {
        if (i % 10 == 0) names[i / 10] = strdup("name"); // line 12
        for (int k = 0; k < 100; k++) hot[k] += i;
        if (i % 1000 == 999 && __leakscope_snapshot) __leakscope_snapshot();
    }
    printf("%d\n", hot[3]);
    return 0;
}
"#;

#[test]
fn what_a_library_keeps_for_itself_is_not_stale() {
    let project = Project::new(LIBRARYS_OWN);
    let (ran, report) = project.watch(&["--min", "100%", "feed.c"]);
    assert!(ran.status.success(), "{}", said(&ran));
    assert_eq!(line(&stale(&report)["allocated"]), Some(12), "{report:#}");
    // Whoever says what is stale gets all of it.
    let (_, report) = project.watch(&["--min", "100%", "--stale", "never", "feed.c"]);
    let lines: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|at| line(&at["allocated"])).collect();
    assert!(lines.contains(&Some(9)) && lines.contains(&Some(12)), "{lines:?}");
}

/// The same function of libc's, several calls deep, asks for blocks of two callers
/// whose frames lie at one address.
const THROUGH_LIBC: &str = r#"#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
char *kept[2000];
int *hot;
static void __attribute__((noinline)) keep(int i) {
    if (asprintf(&kept[i], "%d", i) < 0) abort();
}
static void __attribute__((noinline)) first(int i) { keep(i); __asm__ volatile(""); }
static void __attribute__((noinline)) second(int i) { keep(1000 + i); __asm__ volatile(""); }
int main(void) {
    hot = calloc(100, sizeof *hot);
    for (int i = 0; i < 1000; i++) {
        first(i);
        second(i);
        for (int k = 0; k < 100; k++) hot[k] += i;
    }
    printf("%d\n", hot[3]);
    return 0;
}
"#;

#[test]
fn what_a_library_asked_for_is_told_by_who_called_it() {
    let project = Project::new(THROUGH_LIBC);
    let (_, report) = project.watch(&["--min", "100%", "feed.c"]);
    let mut found: Vec<(&str, u64)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| {
            let callers = at["allocated"]["stack"].as_array().unwrap();
            let caller = callers
                .iter()
                .filter_map(|frame| frame["function"].as_str())
                .find(|name| ["first", "second"].contains(name));
            (caller.unwrap_or_default(), at["blocks"].as_u64().unwrap())
        })
        .collect();
    found.sort();
    assert!(matches!(found[..], [("first", 850..=1000), ("second", 850..=1000)]), "{found:?}");
}

/// Stands before libc's function, by which the runtime asks for the time: years
/// pass from one call to the next, forwards and back.
const JUMPING_CLOCK: &str = r#"#include <sys/syscall.h>
#include <time.h>
long syscall(long number, long a, long b, long c, long d, long e, long f) {
    static long calls;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (number == SYS_clock_gettime && a == CLOCK_REALTIME)
        ((struct timespec *)b)->tv_sec += ++calls % 2 ? 100000000 * calls : -100000000 * calls;
    return result;
}
"#;

#[test]
fn a_clock_that_jumps_changes_nothing() {
    let project = Project::new(FEED);
    let program = project.deploy();
    fs::write(project.path("clock.c"), JUMPING_CLOCK).unwrap();
    let clock = project.path("clock.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&clock).arg(project.path("clock.c"));
    assert!(cc.status().unwrap().success());
    for limit in ["0", "20000"] {
        project.run(
            &program,
            &[("LD_PRELOAD", clock.to_str().unwrap()), ("LEAKSCOPE_DIR_MAX", limit)],
            &["x"],
        );
        let report = project.leakscope(&["watch", "--once", "--format", "json", "records"]);
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let stale = stale(&report);
        assert_eq!((line(&stale["allocated"]), &stale["evidence"]["trend"]), (Some(13), &"growing".into()));
        let newest = |file: &PathBuf| file.to_string_lossy().ends_with("-3.record");
        assert!(project.records().iter().any(newest), "{:?}", project.records());
        fs::remove_dir_all(project.path("records")).unwrap();
    }
}

#[test]
fn another_program_at_its_place_gives_no_names_and_a_word() {
    let project = Project::new(FEED);
    let program = project.deploy();
    project.run(&program, &[], &[]);
    fs::create_dir(project.path("deployed")).unwrap();
    fs::rename(&program, project.path("deployed/feed")).unwrap();
    let other = Project::new(&FEED.replace("hot[k] += i", "hot[k] += 2 * i"));
    fs::copy(other.deploy(), &program).unwrap();
    let once = project.leakscope(&["watch", "--once", "records"]);
    assert!(
        said(&once).contains("no names for") && said(&once).contains("feed.watched+0x"),
        "{}",
        said(&once)
    );
    let mut command = leakscope();
    command.args(["watch", "--once", "records"]).env("LEAKSCOPE_DEBUG_DIR", project.path("deployed"));
    let once = command.current_dir(project.folder.path()).output().unwrap();
    assert!(!said(&once).contains("no names for") && said(&once).contains("feed.c:13"), "{}", said(&once));
}

#[test]
fn exports_are_read_by_others() {
    let project = Project::new(FEED);
    let program = project.deploy();
    project.run(&program, &[], &["x"]);
    let folded = project.leakscope(&["export", "--folded", "--measure", "stale", "records"]);
    let text = String::from_utf8_lossy(&folded.stdout);
    assert!(text.starts_with("main 4") && text.lines().count() == 1, "{text}");

    project.leakscope(&["export", "--pprof", "-o", "heap.pb", "records"]);
    let show = |index: &str| {
        let mut pprof = Command::new("go");
        pprof.args(["tool", "pprof", "-top", &format!("-sample_index={index}")]).arg(project.path("heap.pb"));
        let output = pprof.env("HOME", project.folder.path()).output().expect("golang-go is installed");
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(show("inuse_objects").contains("Type: inuse_objects"), "{}", show("inuse_objects"));
    assert!(show("stale_space").contains(" main"), "{}", show("stale_space"));

    let files = project.records();
    let [first, last] = [&files[0], &files[3]].map(|file| file.to_str().unwrap());
    let diff = project.leakscope(&["diff", first, last]);
    let text = String::from_utf8_lossy(&diff.stdout);
    assert!(text.contains("+200") && text.contains("main (feed.c:13)"), "{text}");
    let same = project.leakscope(&["diff", last, last]);
    assert_eq!(String::from_utf8_lossy(&same.stdout), "nothing changed\n");
}

#[test]
fn metrics_are_served_while_it_runs() {
    serves_metrics(FEED);
}

/// Whoever started it as root has a folder into which it may not write then.
#[test]
fn metrics_are_served_of_a_program_that_gives_up_its_user() {
    let source =
        FEED.replace("hot = calloc", "if (getuid() == 0 && setuid(65534)) return 1;\n    hot = calloc");
    serves_metrics(&source.replace("#include <stdio.h>", "#include <stdio.h>\n#include <unistd.h>"));
}

fn serves_metrics(source: &str) {
    let project = Project::new(source);
    let mut command = leakscope();
    command.args([
        "watch",
        "--once",
        "--min",
        "100%",
        "--metrics",
        "127.0.0.1:0",
        "feed.c",
        "--",
        "x",
        "wait",
    ]);
    command.current_dir(project.folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut words = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("/metrics") {
        assert_ne!(words.read_line(&mut said).unwrap(), 0, "{said}");
    }
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    // The program says its sum after its third snapshot, and waits: the second
    // is whole by then.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let (mut page, asked) = (String::new(), Instant::now());
    // What is sent, and not written, comes a little later.
    while !page.contains("leakscope_stale_bytes_at{place=\"main feed.c:") && asked.elapsed().as_secs() < 20 {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        page = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    }
    assert!(page.contains("leakscope_stale_bytes_at{place=\"main feed.c:"), "{page}");
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("prometheus is installed");
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    assert!(promtool.wait().unwrap().success(), "{page}");
    drop(child.stdin.take());
    io::copy(&mut words, &mut io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_done_is_said() {
    let project = Project::new(FEED);
    let check = |arguments: &[&str], words: &str| {
        let output = leakscope().args(arguments).current_dir(project.folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said(&output).contains(words), "{arguments:?}: {}", said(&output));
    };
    fs::create_dir(project.path("empty")).unwrap();
    check(&["watch", "--once", "empty"], "no snapshots in empty");
    check(&["watch", "--once", "nowhere"], "nowhere");
    check(&["watch", "--once", "--metrics", "0.0.0.0:0", "feed.c"], "--metrics-anybody");
    check(&["watch", "--once", "--stale", "often", "feed.c"], "expected never, idle>N");
    check(&["watch", "--once", "--min", "0%", "feed.c"], "expected a share");
    check(&["watch", "empty"], "use --once");
    check(&["diff", "empty", "empty"], "no snapshots in empty");
    check(&["export", "--pprof", "feed.c"], "is not a record");
}
