//! `leakscope debug`: gdb stops where a finding's first block is lost, if the
//! program does the same again.

mod support;

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Folder, Ran, ran, wait_with_input};

/// Loses a line of its input: the one whose number is its argument. `drop`
/// loses what a block holds.
const LOSER: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry { char *name; int number; };

static char *kept;

static struct entry *make(int number, const char *name) {
    struct entry *entry = malloc(sizeof *entry);
    entry->name = strdup(name);
    entry->number = number;
    return entry;
}

static void drop(struct entry *entry, int forgets) {
    if (!forgets)
        free(entry->name);
    free(entry);
}

int main(int argc, char **argv) {
    char line[64];
    kept = strdup(getenv(\"KEPT\"));
    for (int i = 1; fgets(line, sizeof line, stdin); i++)
        drop(make(i, line), argc > 1 && i == atoi(argv[1]));
    printf(\"%s\\n\", kept);
    return 0;
}
";

/// Loses a block as long as a file has less than so many lines, to which it
/// adds one.
const CHANGING: &str = "\
#include <stdio.h>
#include <stdlib.h>

static void lose(void) { char *block = malloc(10); block[0] = 1; block = NULL; }

int main(int argc, char **argv) {
    int lines = 0;
    FILE *file = fopen(\"runs\", \"a+\");
    (void)argc;
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\\n';
    if (lines < atoi(argv[1]))
        lose();
    fputs(\"run\\n\", file);
    return fclose(file);
}
";

fn folder() -> Folder {
    let files = [("loser.c", LOSER), ("changing.c", CHANGING), ("input", "one\ntwo\nthree\nfour\n")];
    let folder = Folder::with(&files);
    folder.capture("loser");
    folder.capture("changing");
    folder
}

/// The id of the only finding that was lost.
fn lost(ran: &Ran) -> String {
    let json = ran.json();
    let lost = |finding: &&Value| finding["kind"] == "lost";
    let findings: Vec<&Value> = json["findings"].as_array().expect("findings").iter().filter(lost).collect();
    assert_eq!(findings.len(), 1, "{json:#}");
    findings[0]["id"].as_str().expect("an id").to_owned()
}

fn run_loser(folder: &Folder, options: &str) -> Command {
    let mut command = folder.leakscope(["run", "--format", "json"]);
    command.args(options.split_whitespace()).args(["loser", "--"]).env("KEPT", "a value");
    command
}

#[test]
fn gdb_stops_where_the_block_is_lost() {
    let folder = folder();
    for number in ["1", "3"] {
        let mut command = run_loser(&folder, "--keep-records kept");
        let id = lost(&ran(command.arg(number).stdin(File::open(folder.path("input")).unwrap())));
        let asked = ["-ex", "print *entry", "-ex", "print entry->name", "-ex", "up", "-ex", "print argv[1]"];
        let from = if number == "1" { Some("kept/run.json") } else { None };
        for from in [from, Some("kept")] {
            let mut debug = folder.leakscope(["debug", "--quiet", &id[..8]]);
            debug.args(from.map(|from| ["--from", from]).into_iter().flatten()).args(["--", "-batch"]);
            let stopped = ran(debug.args(asked));
            assert_eq!(stopped.code, 0, "{stopped:?}");
            let line = ["", "one", "two", "three"][number.parse::<usize>().unwrap()];
            for expected in [
                "in drop (entry=".to_owned(),
                "loser.c:20\n".to_owned(),
                format!("number = {number}}}"),
                format!("\"{line}\\n\""),
                format!("\"{number}\"\n"),
                "the block was allocated in make (".to_owned(),
            ] {
                assert!(stopped.stdout.contains(&expected), "no {expected:?} in {}", stopped.stdout);
            }
        }
        std::fs::remove_dir_all(folder.path("kept")).unwrap();
    }
    let batch = folder.run("debug --batch --quiet 0");
    assert_eq!(batch.code, 2, "{batch:?}");
    let mut command = run_loser(&folder, "");
    let id = lost(&ran(command.arg("2").stdin(File::open(folder.path("input")).unwrap())));
    let batch = folder.run(&format!("debug --batch {id}"));
    assert_eq!(batch.code, 0, "{batch:?}");
    assert!(batch.stdout.contains("in main (argc=2"), "the stack is shown: {}", batch.stdout);
    assert!(batch.stderr.contains("leakscope: looking for the moment: "), "{}", batch.stderr);
}

#[test]
fn piped_input_must_be_kept() {
    let folder = folder();
    let gone = wait_with_input(
        run_loser(&folder, "").arg("2").stdout(Stdio::piped()).stderr(Stdio::piped()),
        "a\nb\n",
    );
    let id = lost(&Ran::from(&gone));
    let refused = folder.run(&format!("debug --quiet --batch {id}"));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(
        refused.only_line(),
        "the program's input came through a pipe and was not kept: run it with --keep-input, or give the input by `<`"
    );
    let mut keeping = run_loser(&folder, "--keep-input");
    let kept = wait_with_input(keeping.arg("2").stdout(Stdio::piped()).stderr(Stdio::piped()), "a\nb\n");
    assert_eq!(Ran::from(&kept).stdout, "a value\n");
    let id = lost(&Ran::from(&kept));
    let mut debug = folder.leakscope(["debug", "--quiet", &id, "--", "-batch", "-ex", "print entry->name"]);
    let stopped = ran(&mut debug);
    assert!(stopped.stdout.contains("\"b\\n\""), "{stopped:?}");
}

#[test]
fn input_that_changed_is_refused() {
    let folder = folder();
    let id = lost(&ran(run_loser(&folder, "").arg("2").stdin(File::open(folder.path("input")).unwrap())));
    folder.write("input", "other\n");
    let refused = folder.run(&format!("debug --quiet --batch {id}"));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.only_line().ends_with("/input, has changed since: run it again"), "{refused:?}");
}

#[test]
fn a_program_that_does_not_repeat_is_told_so() {
    let folder = folder();
    // Lost in the first run only.
    let id = lost(&folder.run("run --format json changing -- 1"));
    let counted = folder.run(&format!("debug --quiet --batch {id}"));
    assert_eq!(counted.code, 1, "{counted:?}");
    assert_eq!(
        counted.only_line(),
        format!("the program does not repeat: {} did not come again when changing ran once more", &id[..8])
    );
    // And in the run that counts, but not under gdb.
    std::fs::remove_file(folder.path("runs")).unwrap();
    let id = lost(&folder.run("run --format json changing -- 2"));
    let stopped = folder.run(&format!("debug --quiet --batch {id}"));
    assert_eq!(stopped.code, 1, "{stopped:?}");
    let said = "leakscope: the program does not repeat: it did not come to this moment again\n";
    assert!(stopped.stdout.contains(said), "{stopped:?}");
}

#[test]
fn what_cannot_be_debugged_is_said() {
    let folder = folder();
    let check = |arguments: &str, line: &str| {
        let refused = folder.run(arguments);
        assert_eq!(refused.code, 2, "{arguments}: {refused:?}");
        assert!(refused.only_line().starts_with(line), "{arguments}: {refused:?}");
    };
    check("debug 1234", "no run was kept in this folder: use `leakscope run` first, or name one by --from");
    check("debug --from loser.c 1234", "");
    let json = ran(run_loser(&folder, "").stdin(Stdio::null())).json();
    let forgotten = json["findings"][0]["id"].as_str().expect("the kept value").to_owned();
    check(&format!("debug {forgotten}"), &format!("{} was not lost but forgotten", &forgotten[..8]));
    check("debug zz", &format!("the run found no zz, but {}", &forgotten[..8]));
    let preloaded = lost(&folder.run("run --engine preload --format json changing -- 9"));
    check(&format!("debug {preloaded}"), "leakscope debug needs a captured program");
}
