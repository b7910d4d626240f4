//! What goes wrong gets one clear line that says what to do, and a code that
//! is not zero; nothing of the user's is lost.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{Folder, Ran, ran};

/// Loses a block, and leaves a trace of having run.
const LEAKY: &str = "\
#include <stdio.h>
#include <stdlib.h>
static void lose(void) { char *block = malloc(10); block[0] = 1; block = NULL; }
int main(void) { fclose(fopen(\"ran\", \"w\")); lose(); return 0; }
";

/// Waits until a signal ends it.
const WAITING: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void lose(void) { char *block = malloc(10); block[0] = 1; block = NULL; }
int main(void) { lose(); puts(\"ready\"); fflush(stdout); for (;;) pause(); }
";

const FOLDER: &str = "folder is a folder: build what is in it with `leakscope build -- make`, or whatever builds it, \
                      then give the program";

/// `leakscope` with these arguments says only this line, with code 2.
fn check(folder: &Folder, arguments: &str, line: &str) {
    let ran = folder.run(arguments);
    assert_eq!(ran.code, 2, "{arguments}: {ran:?}");
    let root = folder.path(".").display().to_string();
    assert_eq!(ran.only_line().replace(&root, "."), line, "{arguments}");
}

#[test]
fn no_program() {
    let folder = Folder::with(&[("text", "hello"), ("empty", ""), ("folder/a.c", "")]);
    fs::set_permissions(folder.path("empty"), fs::Permissions::from_mode(0o755)).unwrap();
    for (target, line) in [
        ("missing", "no such program: missing; build it first, or check the name"),
        ("text/missing", "no such program: text/missing; build it first, or check the name"),
        ("missing.c", "cannot read missing.c: No such file or directory (os error 2)"),
        ("folder", "folder is a folder: give the program in it"),
        ("text", "text is not executable: give a program, or `chmod +x` it"),
        ("empty", "./empty is neither an ELF program nor a script"),
        (
            "text empty",
            "expected one program, or only source files; the program's own arguments come after `--`",
        ),
    ] {
        check(&folder, &format!("run {target}"), line);
    }
    for (command, line) in [
        ("derive missing -o out", "no such file: missing"),
        ("derive text -o out", "text is neither an ELF program nor a shared library"),
        ("inspect folder", FOLDER),
        ("check folder", FOLDER),
        ("check text", "text is neither an ELF program nor a shared library"),
        ("report missing", "cannot read missing: No such file or directory (os error 2)"),
        ("report folder", "no records in folder: was LEAKSCOPE_DIR set to it?"),
        ("build -- missing", "cannot run missing: No such file or directory (os error 2)"),
        ("build --compdb missing", "no such file: missing"),
    ] {
        check(&folder, command, line);
    }
    assert!(!folder.path("out").exists());
}

#[test]
fn not_captured() {
    let folder = Folder::with(&[("prog.c", LEAKY)]);
    folder.shell("cc -g prog.c -o prog");
    let line = "prog was not captured: build it with `leakscope build -- <your build command>`, from clean \
                if it is up to date";
    for command in ["run --engine track prog", "derive prog", "inspect prog"] {
        check(&folder, command, line);
    }
    // The build is up to date, so nothing was compiled under capture.
    folder.write("Makefile", "prog: prog.c\n\tcc -g prog.c -o prog\n");
    let built = folder.run("build -- make");
    assert!(built.code == 0 && built.stderr.contains("clean it first"), "{built:?}");
    check(&folder, "run --engine track prog", line);
    assert!(!folder.path("ran").exists());
}

#[test]
fn damaged_store() {
    let damage = |script: &str| {
        let folder = Folder::with(&[
            ("prog.c", LEAKY),
            ("word.s", ".data\n.globl word\nword: .long 1\n.section .note.GNU-stack,\"\"\n"),
        ]);
        assert_eq!(folder.run("build --quiet -- cc -g prog.c word.s -o prog").code, 0);
        folder.shell(&format!("cd .leakscope; {script}"));
        let ran = folder.run("run prog");
        assert_eq!((ran.code, folder.path("ran").exists()), (2, false), "{script}: {ran:?}");
        ran.only_line().replace(&folder.path(".").display().to_string(), ".")
    };
    for script in [
        "for unit in units/*.json; do truncate -s 20 $unit; done",
        "for unit in units/*.json; do echo '{}' > $unit; done",
        "rm units/*.json",
        "for unit in units/*.bc; do truncate -s 64 $unit; done",
        "for unit in units/*.bc; do echo text > $unit; done",
        "rm units/*.bc",
        "for link in links/*.json; do truncate -s 20 $link; done",
        "rm links/*.json",
        "rm -r blobs",
    ] {
        let line = damage(script);
        let (damaged, remedy) = ("the capture is damaged at ./.leakscope/", "; remove it and capture again");
        assert!(line.contains(damaged) && line.ends_with(remedy), "{script}: {line}");
    }
    for version in ["0", "2"] {
        assert_eq!(
            damage(&format!("echo leakscope-store/{version} > format")),
            format!(
                "./.leakscope has format \"leakscope-store/{version}\", this leakscope reads \
                 \"leakscope-store/1\": remove the folder and capture again"
            )
        );
    }
    let removed = damage("rm -r ../.leakscope");
    assert_eq!(removed, "no capture at ./.leakscope: run `leakscope build -- <your build command>` first");
}

/// A folder of the user's is not taken for a store, and not filled.
#[test]
fn another_store_is_left_alone() {
    let folder = Folder::with(&[("old/format", "leakscope-store/0"), ("old/units/a.json", "{}")]);
    check(
        &folder,
        "build --store old -- touch built",
        "./old has format \"leakscope-store/0\", this leakscope reads \"leakscope-store/1\": remove the \
         folder and capture again",
    );
    assert!(!folder.path("built").exists() && !folder.path("old/links").exists());
}

#[test]
fn source_with_errors() {
    let folder = Folder::with(&[("wrong.c", "int main(void)\n{\n    return x;\n}\n")]);
    let ran = folder.run("run wrong.c");
    let said =
        "leakscope: wrong.c does not compile:\nwrong.c:3:12: error: use of undeclared identifier 'x'\n";
    assert!(ran.code == 2 && ran.stderr.starts_with(said), "{ran:?}");
    // In a build, the message and the code are those of the user's compiler.
    let plain = ran_plain(&folder, "gcc -c wrong.c");
    let built = folder.run("build --quiet -- gcc -c wrong.c");
    assert_eq!((built.code, built.stderr), (plain.code, plain.stderr));
    assert!(built.code != 0);
}

fn ran_plain(folder: &Folder, command: &str) -> Ran {
    ran(Command::new("sh").current_dir(folder.path(".")).args(["-c", &format!("exec {command}")]))
}

#[test]
fn a_crash_is_reported() {
    let folder = Folder::with(&[(
        "prog.c",
        "#include <stdlib.h>\nstatic void lose(void) { char *block = malloc(10); block[0] = 1; block = NULL; }\n\
         int main(void) { lose(); *(volatile int *)8 = 1; return 0; }\n",
    )]);
    folder.capture("prog");
    for engine in ["track", "preload"] {
        let ran = folder.run(&format!("run --engine {engine} prog"));
        assert_eq!(ran.code, 139, "{ran:?}");
        for said in ["signal 11 (SIGSEGV)", "lost: 1 block, 10 bytes", "prog.c:2"] {
            assert!(ran.stderr.contains(said), "{said}: {ran:?}");
        }
    }
}

#[test]
fn no_debug_info() {
    let folder = Folder::with(&[("prog.c", LEAKY)]);
    folder.shell("gcc prog.c -o prog && gcc -s prog.c -o bare");
    for (program, place) in [("prog", "in lose in prog+0x"), ("bare", "in bare+0x")] {
        let Ran { code, stderr, .. } = folder.run(&format!("run --quiet {program}"));
        assert!(code == 23 && stderr.contains(place), "{stderr}");
        assert!(
            stderr.contains("hint: no line numbers for") && stderr.contains("compile with -g"),
            "{stderr}"
        );
    }
}

const MODES: &str = "expected minimal, full or partial=SIZE with a SIZE as in 4096, 64K or 1M, found";

/// Mistakes that are found before the program runs.
#[test]
fn the_program_is_not_run_for_nothing() {
    let folder = Folder::with(&[("prog.c", LEAKY), ("file", "garbage\n"), ("kept/x", "")]);
    folder.capture("prog");
    for (options, line) in [
        ("-o no/report", "cannot write no/report: No such file or directory (os error 2)"),
        ("-o file/report", "cannot write file/report: Not a directory (os error 20)"),
        ("-o kept", "cannot write kept: Is a directory (os error 21)"),
        ("--baseline none", "cannot read none: No such file or directory (os error 2)"),
        ("--suppressions none", "cannot read none: No such file or directory (os error 2)"),
        ("--suppressions file", "file: suppressions, line 1: expected `leak:pattern`, found \"garbage\""),
        (
            "--baseline file",
            "file: the baseline is not a leakscope report: expected value at line 1 column 1; write one with \
             `--format json -o FILE`",
        ),
        ("--keep-records kept", "kept is not empty: give --keep-records a new folder"),
        ("--keep-records file", "cannot write file: File exists (os error 17)"),
        ("--keep-records file/x", "cannot write file/x: Not a directory (os error 20)"),
    ] {
        check(&folder, &format!("run {options} prog"), line);
    }
    for (options, said) in [
        ("--frobnicate", "error: unexpected argument '--frobnicate' found"),
        ("--snapshot-signal FOO", "expected a signal as in USR2 or 12, found \"FOO\""),
        ("--snapshot-signal KILL", "expected a signal as in USR2 or 12, found \"KILL\""),
        ("--snapshot-every 0", "expected a number of seconds above 0, found \"0\""),
        ("--fail-on sometimes", "expected lost, forgotten, must-leak, any or none, found \"sometimes\""),
        ("--depth 0", "0 is not in 1..="),
        ("--format xml", "[possible values: text, json, sarif, gcc]"),
        ("--engine magic", "[possible values: track, valgrind, preload]"),
        ("--last-use never", "[possible values: off, sampled, exact]"),
        ("--mode most", MODES),
        ("--mode partial", MODES),
        ("--mode partial=some", MODES),
        ("--mode partial=1KB", MODES),
    ] {
        let ran = folder.run(&format!("run {options} prog"));
        assert!(ran.code == 2 && ran.stderr.contains(said), "{options}: {ran:?}");
    }
    assert!(!folder.path("ran").exists());
    assert_eq!(folder.read("file"), "garbage\n");
}

/// An earlier report stays as it is until there is another.
#[test]
fn an_earlier_report_is_kept() {
    let folder = Folder::with(&[("prog.c", LEAKY), ("report", "the last one\n")]);
    folder.capture("prog");
    let mut command = folder.leakscope(["run", "-o", "report", "prog"]);
    assert_eq!(ran(command.env("TMPDIR", "/nonexistent")).code, 2);
    assert_eq!(folder.read("report"), "the last one\n");
    assert_eq!(folder.run("run -o report prog").code, 23);
    assert!(folder.read("report").starts_with("lost: 1 block"));
}

#[test]
fn no_place_for_temporary_files() {
    let folder = Folder::with(&[("prog.c", LEAKY), ("tmp/x", ""), ("file", "")]);
    folder.capture("prog");
    let ran_in = |place: &str| ran(folder.leakscope(["run", "prog"]).env("TMPDIR", folder.path(place)));
    for place in ["none", "file"] {
        let ran = ran_in(place);
        let said = "set TMPDIR to a folder with room";
        assert!(ran.code == 2 && ran.only_line().contains(said), "{ran:?}");
    }
    assert!(!folder.path("ran").exists());
    // Where there is no home, the cache goes there too.
    let mut command = folder.leakscope(["run", "--quiet", "prog"]);
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env("TMPDIR", folder.path("tmp"));
    let homeless = ran(&mut command);
    assert!(homeless.code == 23 && homeless.stderr.starts_with("lost: 1 block"), "{homeless:?}");
    // A cache that cannot be written is passed by in the same way.
    let mut command = folder.leakscope(["run", "--quiet", "prog"]);
    let blocked =
        ran(command.env("XDG_CACHE_HOME", folder.path("file/cache")).env("TMPDIR", folder.path("tmp")));
    assert!(blocked.code == 23 && blocked.stderr.starts_with("lost: 1 block"), "{blocked:?}");
}

#[test]
fn no_permission_for_the_store() {
    let folder = Folder::with(&[("prog.c", LEAKY), ("file", "")]);
    check(
        &folder,
        "build --store file/store -- cc -g prog.c -o prog",
        "cannot write ./file/store/units: Not a directory (os error 20)",
    );
    assert!(!folder.path("prog").exists());
}

#[test]
fn full_disk() {
    let folder = Folder::with(&[("prog.c", LEAKY), ("full/x", "")]);
    folder.capture("prog");
    // The report is worth a run: it goes to standard error instead.
    let ran_full = folder.run("run -o /dev/full prog");
    assert!(ran_full.code == 2 && ran_full.stderr.starts_with("lost: 1 block"), "{ran_full:?}");
    let said =
        "leakscope: cannot write /dev/full: the report is above: No space left on device (os error 28)\n";
    assert!(ran_full.stderr.ends_with(said), "{ran_full:?}");

    let Some(_mounted) = Mounted::at(folder.path("full")) else {
        eprintln!("no file system can be mounted here, so only /dev/full was full");
        return;
    };
    // What the build makes is there, what is captured of it has no room.
    folder.shell("head -c 56k /dev/zero > full/rest");
    let built = folder.run("build --store full/store -- cc -g prog.c -o built");
    assert!(built.code == 0 && folder.path("built").exists(), "{built:?}");
    assert!(
        built.stderr.contains("  prog.c: cannot write") && built.stderr.contains("No space left"),
        "{built:?}"
    );

    folder.shell("dd if=/dev/zero of=full/rest bs=1k seek=56 2>log || true");
    let no_store = folder.run("build --store full/another -- cc -g prog.c -o other");
    let said = "No space left on device (os error 28)";
    assert!(no_store.code == 2 && no_store.only_line().contains(said), "{no_store:?}");
    // The record has no room there, and comes through the socket.
    let mut command = folder.leakscope(["run", "--quiet", "prog"]);
    let reported = ran(command.env("TMPDIR", folder.path("full")));
    assert!(reported.code == 23 && reported.stderr.starts_with("lost: 1 block"), "{reported:?}");
    assert_eq!(entries(&folder.path("full")), ["another", "rest", "store"]);
}

/// A small file system, gone with this.
struct Mounted(PathBuf);

impl Mounted {
    fn at(path: PathBuf) -> Option<Mounted> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&path).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Mounted(path))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn programs_that_nothing_can_be_preloaded_into() {
    let folder = Folder::with(&[("prog.c", LEAKY), ("loop.c", "void _start(void) { for (;;) {} }\n")]);
    folder.shell(
        "gcc -static prog.c -o static; gcc -static -s prog.c -o stripped; \
         objcopy --add-section .note.go.buildid=prog.c stripped go; gcc -m32 -nostdlib -static loop.c -o small; gcc prog.c -o prog; \
         gcc prog.c -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl",
    );
    check(
        &folder,
        "run --engine preload static",
        "./static is statically linked, so nothing can be preloaded: \
         use --engine valgrind, or capture it with `leakscope build`",
    );
    check(
        &folder,
        "run --engine preload musl",
        "./musl is linked with musl, for which there is no heap to preload: \
         use --engine valgrind, or capture it with `leakscope build`",
    );
    check(
        &folder,
        "run --engine valgrind stripped",
        "./stripped is statically linked and has no symbol malloc: run it as it was before `strip`",
    );
    check(
        &folder,
        "run go",
        "./go is written in Go, whose memory is collected: there is no heap of C's to look at",
    );
    check(&folder, "run small", "./small is not an x86-64 program; leakscope runs no others");

    // Of another user, so that running it changes the user; only root can
    // make such a program, anybody else finds one.
    // SAFETY: no arguments, cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let program = if is_root {
        folder.shell("chown 65534 prog && chmod 4755 prog");
        folder.path("prog")
    } else {
        "/usr/bin/su".into()
    };
    let ran = folder.run(&format!("run {}", program.display()));
    let said = "is setuid or setgid, so the system lets nothing into it: copy it and run the copy";
    assert!(ran.code == 2 && ran.only_line().ends_with(said), "{ran:?}");
    assert!(!folder.path("ran").exists());
}

/// Whom a signal is sent to.
#[derive(Clone, Copy)]
enum To {
    /// As the terminal does it.
    Group,
    Leakscope,
}

/// Runs `leakscope` on something that says `ready` and waits for a signal.
fn signalled(folder: &Folder, arguments: &[&str], signal: i32, to: To) -> Ran {
    let mut command = folder.leakscope(arguments.iter().copied());
    command.env("TMPDIR", folder.path("tmp")).process_group(0);
    let default = || {
        for (signal, _) in SIGNALS {
            // SAFETY: sets no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // Shells let what runs in the background ignore some of them.
    // SAFETY: only what may be called between `fork` and `exec`.
    unsafe { command.pre_exec(default) };
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let pid = child.id() as i32;
    // SAFETY: sends a signal to a process, or group, of our own.
    unsafe { libc::kill(if matches!(to, To::Group) { -pid } else { pid }, signal) };
    let ran = Ran::from(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, 128 + signal, "{arguments:?}: {ran:?}");
    assert_eq!(entries(&folder.path("tmp")), ["x"], "{arguments:?} left something");
    ran
}

const SIGNALS: [(i32, To); 5] = [
    (libc::SIGINT, To::Group),
    (libc::SIGQUIT, To::Group),
    (libc::SIGTERM, To::Group),
    (libc::SIGTERM, To::Leakscope),
    (libc::SIGHUP, To::Leakscope),
];

#[test]
fn signals_to_a_run() {
    let folder = Folder::with(&[("prog.c", WAITING), ("tmp/x", "")]);
    folder.capture("prog");
    assert_eq!(folder.run("derive --quiet prog").code, 0);
    for engine in ["track", "preload"] {
        for (signal, to) in SIGNALS {
            let ran = signalled(&folder, &["run", "--engine", engine, "prog"], signal, to);
            assert!(ran.stderr.contains("lost: 1 block, 10 bytes"), "{engine}, signal {signal}: {ran:?}");
        }
    }
}

/// What was captured until then is there, and summed up.
#[test]
fn signals_to_a_build() {
    let folder = Folder::with(&[("prog.c", LEAKY), ("tmp/x", "")]);
    for (signal, to) in SIGNALS {
        let script = "ulimit -c 0; cc -g prog.c -o prog; echo ready; exec sleep 1000";
        let ran = signalled(&folder, &["build", "--", "sh", "-c", script], signal, to);
        assert_eq!(ran.only_line(), "captured 1 unit, 1 link");
    }
    assert_eq!(folder.run("run prog").code, 23);
}

/// What `nohup` set to be ignored stays so.
#[test]
fn ignored_signals_stay_ignored() {
    let folder = Folder::with(&[(
        "prog.c",
        "#include <signal.h>\nint main(void) { raise(SIGHUP); raise(SIGINT); return 3; }\n",
    )]);
    folder.capture("prog");
    let mut shell = Command::new("sh");
    let script = format!("trap '' HUP INT; exec {} run --quiet prog", env!("CARGO_BIN_EXE_leakscope"));
    let ran = ran(shell.args(["-c", &script]).current_dir(folder.path(".")));
    assert_eq!(ran.code, 3, "{ran:?}");
}
