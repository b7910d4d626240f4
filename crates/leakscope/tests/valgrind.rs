//! `leakscope run` on programs as they are: which engine it takes, what it says
//! where Valgrind cannot be used, and that the program stays what it is. The
//! hazards are in `programs.rs`.

mod support;

use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use support::{Folder, Ran, project_file, ran};

const LEAKY: &str = r#"
#include <stdio.h>
#include <stdlib.h>

static void read_name(void) {
    char *name = malloc(20);
    name[0] = 'x';
}

int main(void) {
    read_name();
    puts("done");
    return 7;
}
"#;

const CLEAN: &str = "int main(void) { return 7; }\n";

/// Runs `leakscope`, its arguments split at spaces, with this `PATH`.
fn run_with_path(folder: &Folder, arguments: &str, path: &str) -> Ran {
    let mut command = folder.leakscope(arguments.split_whitespace());
    ran(command.env("PATH", path))
}

/// The place of a finding that has one, as `function line`.
fn place(ran: &Ran, field: &str) -> String {
    let frame = &ran.json()["findings"][0][field]["stack"][0];
    format!("{} {}", frame["function"].as_str().unwrap_or("?"), frame["line"])
}

#[test]
fn a_program_as_it_is_has_leak_points() {
    let folder = Folder::with(&[("prog.c", LEAKY)]);
    folder.shell(
        "gcc -g prog.c -o prog; gcc -g -static prog.c -o static; gcc -g -gsplit-dwarf prog.c -o split",
    );
    folder.shell(
        "for it in prog static; do printf '#!/bin/sh\\n./%s | cat\\n' $it > $it.sh; done; chmod +x *.sh",
    );
    for program in ["prog", "static", "split", "prog.sh", "static.sh"] {
        let ran = folder.run(&format!("run --format json {program}"));
        assert_eq!(ran.json()["engine"], "valgrind", "{program}: {ran:?}");
        assert_eq!((ran.code, ran.stdout.as_str()), (23, "done\n"), "{program}: {ran:?}");
        assert_eq!(place(&ran, "allocated"), "read_name 6", "{program}: {ran:?}");
        assert_eq!(place(&ran, "leaked"), "read_name 8", "{program}: {ran:?}");
        assert_eq!(place(&ran, "last_used"), "read_name 7", "{program}: {ran:?}");
    }
}

const LEFT_IN_REGISTER: &str = r#"
#include <stdlib.h>

static char *kept;

static void lose(void) {
    char *block = malloc(10);
    block[0] = 1;
    block = NULL;
}

int main(void) {
    lose();
    kept = malloc(5);
    return kept == NULL;
}
"#;

#[test]
fn a_function_without_a_result_gives_none() {
    let folder = Folder::with(&[("prog.c", LEFT_IN_REGISTER)]);
    folder.shell("gcc -g prog.c -o prog");
    let ran = folder.run("run --format json prog");
    assert_eq!(place(&ran, "leaked"), "lose 9", "{ran:?}");
    let finding = &ran.json()["findings"][0];
    assert_eq!(
        (&finding["cause"], &finding["variable"]),
        (&"overwritten".into(), &"block".into()),
        "{ran:?}"
    );
}

const FREED_BY_WRAPPER: &str = r#"
#include <stdlib.h>
#include <string.h>

struct item { char *name; };

static void give_back(void *block) {
    if (block)
        free(block);
}

static void clear(void *data) {
    struct item *item = data;
    free(item->name);
}

int main(void) {
    struct item items[3];
    for (int i = 0; i < 3; i++)
        items[i].name = strdup("x");
    give_back(items[0].name);
    clear(&items[1]);
    return 0;
}
"#;

#[test]
fn a_function_that_only_frees_is_no_place() {
    let folder = Folder::with(&[("prog.c", FREED_BY_WRAPPER)]);
    folder.shell("gcc -g prog.c -o prog");
    for program in ["prog.c", "prog"] {
        let ran = folder.run(&format!("run --format json {program}"));
        let freed = ran.json()["findings"][0]["freed_elsewhere"].clone();
        let places: Vec<_> = freed.as_array().expect("a list").iter().map(|it| it["place"].clone()).collect();
        assert_eq!(places.len(), 2, "{program}: {ran:?}");
        for place in places {
            let innermost = &place["stack"][0];
            let is_wrapper = innermost["wrapper"] == true;
            assert_eq!(is_wrapper, innermost["function"] == "give_back", "{program}: {ran:?}");
        }
    }
}

#[test]
fn a_function_that_hands_out_anything_is_no_place() {
    let folder = Folder::with(&[]);
    let source = project_file("tests/programs/lp_allocator_pointer.c");
    folder.shell(&format!("cp {} prog.c; gcc -g prog.c -o prog", source.display()));
    for program in ["prog.c", "prog"] {
        let ran = folder.run(&format!("run --format json {program}"));
        let report = ran.json();
        let findings = report["findings"].as_array().expect("a list");
        let headline = |place: &serde_json::Value| {
            let frames = place["stack"].as_array().expect("frames");
            let own = frames.iter().find(|frame| frame["wrapper"] != true).expect("one that is no wrapper");
            own["function"].as_str().map(str::to_owned)
        };
        let mut places: Vec<_> =
            findings.iter().map(|it| (headline(&it["allocated"]), headline(&it["leaked"]))).collect();
        places.sort();
        places.dedup();
        let expected = ["function_new", "function_free"].map(|function| Some(function.to_owned()));
        assert_eq!(places, [expected.into()], "{program}: {ran:?}");
    }
}

/// Two hundred thousand entries, of which a few lose their names.
const TABLE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    char *name;
};

static struct entry *table[4096];

static void add(int number) {
    char name[32];
    struct entry *entry = malloc(sizeof *entry);
    snprintf(name, sizeof name, "entry number %d", number);
    entry->name = strdup(name);
    entry->next = table[number % 4096];
    table[number % 4096] = entry;
}

static void clear(int place) {
    for (struct entry *entry = table[place], *next; entry; entry = next) {
        next = entry->next;
        if (place)
            free(entry->name);
        free(entry);
    }
}

int main(void) {
    for (int i = 0; i < 200000; i++)
        add(i);
    for (int i = 0; i < 4096; i++)
        clear(i);
    return 0;
}
"#;

/// Peak memory of the largest process of a command, in KiB.
fn peak(command: &mut Command) -> i64 {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts").id();
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: our own child, which nobody else waits for, and a place for what it used.
    unsafe {
        assert_eq!(libc::wait4(child as i32, &mut 0, 0, usage.as_mut_ptr()), child as i32);
        usage.assume_init().ru_maxrss
    }
}

#[test]
fn memory_is_at_most_memchecks() {
    // Naming what libc does in `puts` takes libc's debug information.
    let small = LEAKY.replace("puts(\"done\");", "");
    let folder = Folder::with(&[("small.c", &small), ("table.c", TABLE)]);
    folder.shell("gcc -g small.c -o small; gcc -g table.c -o table");
    for program in ["small", "table"] {
        let path = folder.path(program);
        let mut memcheck = Command::new("valgrind");
        let memcheck = peak(memcheck.args(["-q", "--leak-check=full", "--log-file=/dev/null"]).arg(&path));
        let ours = peak(&mut folder.leakscope(["run", program]));
        assert!(ours <= memcheck, "{program}: {ours} KiB, memcheck takes {memcheck} KiB");
    }
}

#[test]
fn the_exit_code_is_the_programs_own() {
    let folder = Folder::with(&[
        ("clean.c", CLEAN),
        ("killed.c", "#include <signal.h>\nint main(void) { raise(SIGTERM); }\n"),
    ]);
    folder.shell("gcc clean.c -o clean; gcc killed.c -o killed");
    for (program, code) in [("clean", 7), ("killed", 128 + libc::SIGTERM)] {
        let ran = folder.run(&format!("run --quiet --engine valgrind {program}"));
        assert_eq!(ran.code, code, "{ran:?}");
    }
}

#[test]
fn without_valgrind_the_heap_is_preloaded() {
    let folder = Folder::with(&[("clean.c", CLEAN), ("bin/valgrind", "#!/bin/sh\necho valgrind-9.9.9\n")]);
    folder.shell("gcc clean.c -o clean");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("bin/valgrind"), executable).unwrap();
    let other = folder.path("bin").display().to_string();
    for (path, reason) in [
        ("/nowhere", "there is no valgrind: install it (Debian: apt install valgrind)"),
        (&other, "Valgrind is 9.9.9, leakscope was built for "),
    ] {
        let fallen_back = run_with_path(&folder, "run ./clean", path);
        let first = fallen_back.stderr.lines().next().unwrap_or_default();
        assert!(
            first.contains("it runs as it is, with the heap preloaded; leak points are not found"),
            "{first}"
        );
        assert!(first.contains(reason), "{first}");
        assert_eq!(fallen_back.code, 7, "{fallen_back:?}");
        let refused = run_with_path(&folder, "run --engine valgrind ./clean", path);
        assert!(refused.code == 2 && refused.only_line().starts_with(reason), "{refused:?}");
    }
}
