//! The options of `leakscope run` and `leakscope report`, one by one, and that
//! the program notices nothing of them.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use support::{Folder, Ran, leakscope, ran, wait_with_input};

/// Loses blocks at two places, keeps one, and echoes what it is given.
const LEAKY: &str = "\
#include <stdio.h>
#include <stdlib.h>

static char *kept;

static void lose_small(void) { char *block = malloc(30); block[0] = 1; block = NULL; }

static void lose_large(void) { char *block = malloc(500); block[0] = 1; block = NULL; }

static void deep(int levels) { if (levels) deep(levels - 1); else lose_small(); }

int main(int argc, char **argv) {
    int c;
    lose_large();
    deep(3);
    kept = malloc(70);
    for (int i = 0; i < argc; i++)
        printf(\"[%s]\", argv[i]);
    while ((c = getchar()) != EOF)
        putchar(c);
    fputs(\"an error\\n\", stderr);
    return argc > 1 ? atoi(argv[1]) : 0;
}
";

/// A folder with the captured program, shared by the tests: they leave it as
/// it is.
fn folder() -> &'static Folder {
    static FOLDER: OnceLock<Folder> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let files = [
            ("leaky.c", LEAKY),
            ("clean.c", "int main(void) { return 4; }\n"),
            ("lsan.supp", "# an old file\nleak:lose_small\nrace:other\n"),
        ];
        let folder = Folder::shared("options", &files);
        for name in ["leaky", "clean"] {
            folder.capture(name);
            assert_eq!(folder.run(&format!("derive --quiet {name}")).code, 0);
        }
        assert_eq!(folder.run("run --quiet --format json -o known.json leaky").code, 23);
        folder
    })
}

/// `leakscope run OPTIONS leaky` ends with this code; its standard error has
/// all of `present` and none of `absent`.
fn check(options: &str, code: i32, present: &[&str], absent: &[&str]) -> Ran {
    let ran = folder().run(&format!("run {options} leaky"));
    assert_eq!(ran.code, code, "{options}: {ran:?}");
    for text in present {
        assert!(ran.stderr.contains(text), "{options}: no {text:?} in {}", ran.stderr);
    }
    for text in absent {
        assert!(!ran.stderr.contains(text), "{options}: {text:?} in {}", ran.stderr);
    }
    ran
}

const SMALL: &str = "lost: 1 block, 30 bytes, allocated in lose_small (leaky.c:6)";
const LARGE: &str = "lost: 1 block, 500 bytes, allocated in lose_large (leaky.c:8)";
const KEPT: &str = "forgotten: 1 block, 70 bytes";

#[test]
fn what_is_shown() {
    check("", 23, &[LARGE, SMALL, "(--show-forgotten lists them)"], &[KEPT, "\x1b["]);
    check("--show-forgotten", 23, &[LARGE, SMALL, KEPT], &[]);
    check("--max 1", 23, &[LARGE, "1 more"], &[SMALL]);
    check("--quiet", 23, &[LARGE], &["leakscope:"]);
    check("--quiet --suppressions lsan.supp --baseline known.json", 0, &["an error\n"], &["lost"]);
    assert_eq!(folder().run("run --quiet clean").stderr, "");
    check("--color always", 23, &["\x1b["], &[]);
    check("--color never", 23, &[LARGE], &["\x1b["]);
    check("--color auto", 23, &[LARGE], &["\x1b["]);
    check("--depth 6", 23, &["deep", "leaky.c:15"], &[]);
    check("--depth 2", 23, &["deep"], &["leaky.c:15"]);
}

#[test]
fn what_makes_a_run_fail() {
    for (options, code) in [
        ("--fail-on lost", 23),
        ("--fail-on forgotten", 23),
        ("--fail-on any", 23),
        ("--fail-on none", 0),
        ("--exit-code 99", 99),
        ("--exit-code 0", 0),
        ("--fail-on none --exit-code 99", 0),
    ] {
        check(options, code, &[LARGE, SMALL], &[]);
    }
    // What was lost is left out: only the rest can fail the run.
    folder().write("all.supp", "leak:lose_*\n");
    for (options, code) in
        [("--fail-on lost", 0), ("--fail-on forgotten", 23), ("--fail-on any", 23), ("--fail-on none", 0)]
    {
        check(&format!("--suppressions all.supp {options}"), code, &[], &[LARGE, SMALL]);
    }
    let clean = folder().run("run clean");
    assert_eq!(clean.code, 4, "{clean:?}");
}

/// Loses what a small and a large block held, by freeing these.
const HOLDERS: &str = "\
#include <stdlib.h>

struct holder { char *held; char room[1000]; };

int main(void) {
    char **small = malloc(sizeof *small);
    struct holder *large = malloc(sizeof *large);
    *small = malloc(10);
    **small = 1;
    large->held = malloc(20);
    *large->held = 1;
    free(small);
    free(large);
    return 0;
}
";

#[test]
fn how_far_pointers_are_followed() {
    let folder = Folder::with(&[("holders.c", HOLDERS)]);
    folder.capture("holders");
    // Lines of the leak points and of the last uses of both blocks; 0 is none.
    for (options, leaked, used) in [
        ("", [12, 13], [9, 11]),
        ("--mode full", [12, 13], [9, 11]),
        ("--mode full --last-use sampled", [12, 13], [9, 11]),
        ("--last-use exact", [12, 13], [9, 11]),
        ("--last-use off", [12, 13], [0, 0]),
        ("--mode partial=1K", [12, 13], [9, 11]),
        ("--mode partial=1007", [12, 0], [9, 11]),
        ("--mode partial=0", [0, 0], [9, 11]),
        ("--mode minimal", [0, 0], [0, 0]),
    ] {
        let json = folder.run(&format!("run --format json {options} holders")).json();
        let of = |bytes: u64| {
            let findings = json["findings"].as_array().unwrap();
            findings.iter().find(|finding| finding["bytes"] == bytes).unwrap_or_else(|| panic!("{json:#}"))
        };
        let lines =
            |place: &str| [10, 20].map(|bytes| of(bytes)[place]["stack"][0]["line"].as_u64().unwrap_or(0));
        assert_eq!((lines("leaked"), lines("last_used")), (leaked, used), "{options}: {json:#}");
        let said = of(10)["evidence"]["inexact"].as_str() == Some("no leak point: --mode minimal");
        assert_eq!(said, options == "--mode minimal", "{options}: {json:#}");
    }
    let preloaded = folder.run("run --engine preload --mode minimal holders");
    let said = "leakscope: --mode is for captured programs; it changes nothing here\n";
    assert!(preloaded.stderr.contains(said), "{preloaded:?}");
}

#[test]
fn suppressions() {
    let said = ["leakscope: lsan.supp:3: passed over: race:other", LARGE, "suppressed"];
    check("--suppressions lsan.supp", 23, &said, &[SMALL]);
    check("--suppressions lsan.supp --quiet", 23, &[LARGE], &[SMALL, "passed over"]);
    folder().write("large.supp", "leak:lose_large\n");
    check("--suppressions lsan.supp --suppressions large.supp", 0, &["suppressed"], &[SMALL, LARGE]);

    // `leakscope.supp` of the current folder is read by itself.
    let program = folder().path("leaky").display().to_string();
    let other = Folder::with(&[("leakscope.supp", "leak:leaky.c\n")]);
    let ran = other.run(&format!("run {program}"));
    assert!(ran.code == 0 && !ran.stderr.contains("lost: 1 block"), "{ran:?}");
}

#[test]
fn baseline() {
    let ran = check("--baseline known.json", 0, &["baseline"], &[LARGE, SMALL]);
    assert!(!ran.stderr.contains("forgotten: "), "{ran:?}");
    let mut known: Value = serde_json::from_str(&folder().read("known.json")).unwrap();
    known["findings"].as_array_mut().unwrap().retain(|finding| finding["bytes"] != 30);
    folder().write("part.json", known.to_string());
    check("--baseline part.json", 23, &[SMALL], &[LARGE]);
}

#[test]
fn formats() {
    let json = check("--format json", 23, &[], &[]).json();
    assert_eq!(json["schema"], "leakscope-findings/1");
    assert_eq!((&json["command"], &json["engine"]), (&"run".into(), &"track".into()));
    assert_eq!(json["target"], serde_json::json!({"program": "leaky", "args": [], "exit": {"code": 0}}));
    let bytes: Vec<_> =
        json["findings"].as_array().unwrap().iter().map(|finding| &finding["bytes"]).collect();
    assert_eq!(bytes, [500, 30, 70]);
    assert_eq!(json["summary"]["lost"], serde_json::json!({"findings": 2, "blocks": 2, "bytes": 530}));

    let sarif = check("--format sarif", 23, &[], &[]).json();
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let region = |result: &Value| result["locations"][0]["physicalLocation"]["region"]["startLine"].clone();
    assert!(results.iter().any(|result| region(result) == 8), "{sarif:#}");
}

#[test]
fn the_report_goes_to_a_file() {
    for (format, start) in [("text", "lost: 1 block, 500"), ("json", "{\n"), ("sarif", "{\n")] {
        let name = format!("report.{format}");
        // A longer one from before leaves nothing behind.
        folder().write(&name, "x".repeat(100_000));
        let ran = check(&format!("--format {format} -o {name}"), 23, &[], &[]);
        assert_eq!(ran.stderr, "an error\n");
        let report = folder().read(&name);
        assert!(report.starts_with(start) && !report.contains("xxx"), "{report}");
        assert!(!report.contains("\x1b["));
    }
    let ran = check("-o -", 23, &[], &[LARGE]);
    assert!(ran.stdout.contains(LARGE), "{ran:?}");
}

#[test]
fn records_are_kept_for_a_report() {
    check("--keep-records records", 23, &[LARGE], &[]);
    let report = |options: &str| folder().run(&format!("report {options} records"));
    let text = report("");
    assert!(text.code == 23 && text.stdout.contains(LARGE) && text.stdout.contains(SMALL), "{text:?}");
    assert_eq!(report("--fail-on none").code, 0);
    assert_eq!(report("--exit-code 7").code, 7);
    assert_eq!(report("--baseline known.json").code, 0);
    let json = report("--format json").json();
    assert_eq!(json["summary"]["lost"]["bytes"], 530);
    // A derived program that runs by itself writes the same.
    let derived = folder().run("derive --quiet leaky -o leaky.track");
    assert_eq!(derived.code, 0, "{derived:?}");
    folder().shell("mkfifo pipe");
    let refused = folder().run("derive --quiet leaky -o pipe");
    assert!(refused.code == 2 && refused.stderr.contains("pipe: it is there, and no file"), "{refused:?}");
    folder().shell("test -p pipe");
    fs::create_dir(folder().path("alone")).unwrap();
    let mut alone = Command::new(folder().path("leaky.track"));
    alone.env("LEAKSCOPE_DIR", folder().path("alone")).stdin(Stdio::null());
    assert_eq!(ran(&mut alone).code, 0);
    let text = folder().run("report alone");
    assert!(text.code == 23 && text.stdout.contains(LARGE), "{text:?}");
}

/// Input, output, arguments and code are the program's own.
#[test]
fn the_program_notices_nothing() {
    for engine in ["track", "preload"] {
        let words = [
            "run",
            "--engine",
            engine,
            "--fail-on",
            "none",
            "-o",
            "/dev/null",
            "./leaky",
            "--",
            "7",
            "--x",
            "a b",
        ];
        let mut command = folder().leakscope(words);
        let output = wait_with_input(command.stdout(Stdio::piped()).stderr(Stdio::piped()), "line\n");
        let ran = Ran::from(&output);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (7, "[./leaky][7][--x][a b]line\n", "an error\n"),
            "{engine}"
        );
    }
}

#[test]
fn bare_sources() {
    let folder = Folder::with(&[
        (
            "a.c",
            "#include <stdlib.h>\n#include <math.h>\nint other(int);\nint main(int argc, char **argv) {\n    \
             return other(argc) + (int)sqrt(SIZE - 9);\n}\n",
        ),
        ("b.cc", "extern \"C\" int other(int n) { new char[SIZE]; return n; }\n"),
    ]);
    for optimisation in ["-O0", "-O2"] {
        let ran =
            folder.run(&format!("run --cflag=-DSIZE=9 --cflag={optimisation} --format json a.c b.cc -- x y"));
        let json = ran.json();
        assert_eq!((ran.code, &json["target"]["exit"]["code"]), (23, &3.into()), "{json:#}");
        assert_eq!(support::first_frame(&json["findings"][0]["allocated"]), "b.cc:1", "{json:#}");
        assert_eq!(json["summary"]["lost"]["bytes"], 9);
    }
    let names: Vec<_> =
        fs::read_dir(folder.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the user's folder was written to: {names:?}");
}

/// The executable needs nothing beside it, whatever it is called and from
/// wherever it is run.
#[test]
fn installed_alone() {
    let folder = Folder::with(&[("leaky.c", LEAKY), ("bin/x", ""), ("links/x", ""), ("work/x", "")]);
    let binary = env!("CARGO_BIN_EXE_leakscope");
    fs::copy(binary, folder.path("bin/leakscope")).unwrap();
    symlink(folder.path("bin/leakscope"), folder.path("links/leakscope")).unwrap();
    symlink("../bin/leakscope", folder.path("links/leakscope-0.1")).unwrap();
    for (name, cache) in [("bin/leakscope", "1"), ("links/leakscope", "2"), ("links/leakscope-0.1", "3")] {
        let command = |words: &[&str]| {
            let mut command = Command::new(folder.path(name));
            command.args(words).current_dir(folder.path("work")).stdin(Stdio::null());
            command.env("XDG_CACHE_HOME", folder.path("cache").join(cache));
            ran(&mut command)
        };
        let built =
            command(&["build", "--quiet", "--store", cache, "--", "cc", "-g", "../leaky.c", "-o", "leaky"]);
        assert_eq!(built.code, 0, "{name}: {built:?}");
        for engine in ["track", "preload"] {
            let ran = command(&["run", "--engine", engine, "leaky"]);
            assert!(
                ran.code == 23 && ran.stderr.contains(LARGE.split(" (").next().unwrap()),
                "{name}: {ran:?}"
            );
        }
    }
    // By name, through PATH.
    let mut by_name = Command::new("leakscope");
    by_name.env("PATH", folder.path("bin")).arg("--version");
    assert_eq!(ran(&mut by_name).code, 0);
    let version = ran(leakscope().arg("--version")).stdout;
    assert_eq!(version, format!("leakscope {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn debug_files_by_build_id() {
    let folder = Folder::with(&[("leaky.c", LEAKY)]);
    folder.shell(
        "gcc -g -Wl,--build-id=0xabcdef0123456789 leaky.c -o leaky; mkdir -p debug/.build-id/ab; \
         objcopy --only-keep-debug leaky debug/.build-id/ab/cdef0123456789.debug; strip leaky",
    );
    let line = "lose_large (leaky.c:8)";
    let mut command = folder.leakscope(["run", "--quiet", "--engine", "preload", "leaky"]);
    let stripped = ran(command.env_remove("LEAKSCOPE_DEBUG_DIR"));
    assert!(stripped.code == 23 && !stripped.stderr.contains(line), "{stripped:?}");
    let named = ran(command.env("LEAKSCOPE_DEBUG_DIR", folder.path("debug")));
    assert!(named.code == 23 && named.stderr.contains(line), "{named:?}");
}

#[test]
fn under_another_command() {
    let (folder, under) = (folder(), "env -u HOME");
    let mut command = folder.leakscope(["run", "--quiet", "--under", under, "leaky", "--", "5"]);
    let ran = ran(command.stdin(Stdio::null()));
    assert!(ran.code == 23 && ran.stdout.ends_with("[5]"), "{ran:?}");
}

/// What the store still has of a source before it was edited is not shown.
#[test]
fn the_source_that_is_shown_is_the_one_that_ran() {
    let program = |lines: &str, name: &str| {
        format!(
            "#include <stdlib.h>\n{lines}int main(void) {{ char *{name} = malloc(9); {name}[0] = 1; return 0; }}\n"
        )
    };
    let folder = Folder::with(&[]);
    for (lines, name) in [("", "first"), ("\n\n", "second"), ("\n", "third"), ("", "last")] {
        folder.write("edited.c", program(lines, name));
        let ran = folder.run("run edited.c");
        let at = lines.len() + 2;
        assert!(
            ran.stderr.contains(&format!("\n{at} │ int main(void) {{ char *{name} = malloc(9);")),
            "{ran:?}"
        );
    }
}
