//! What is captured of each kind of command that builds use.

mod project;

use std::fs;

use leakscope_capture::{Input, program};
use project::{Project, summary};

const MAIN: (&str, &str) = ("main.c", "int other(void);\nint main(void) { return other(); }\n");
const OTHER: (&str, &str) = ("other.c", "int other(void) { return 0; }\n");
const ASSEMBLER: (&str, &str) =
    ("other.S", ".globl other\nother: xor %eax, %eax\nret\n.section .note.GNU-stack\n");

/// Builds `files` by `script` under capture, and compares the composition of
/// `prog` (or of what the script names last, after `#`) and the summary.
fn check(files: &[(&str, &str)], script: &str, composition: &str, captured: &str) {
    let project = Project::new(files);
    let output = project.capture(script);
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    let target = script.rsplit_once('#').map_or("prog", |(_, target)| target.trim());
    assert_eq!(
        project.composition(target),
        composition,
        "{script}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(summary(&output), captured, "{script}");
}

const BOTH: &str = "  main.c (/usr/bin/gcc -O0)\n  other.c (/usr/bin/gcc -O0)";

fn check_both(script: &str) {
    check(&[MAIN, OTHER], script, BOTH, "captured 2 units, 1 link");
}

#[test]
fn compiles_and_links() {
    check_both("gcc -c main.c; gcc -c other.c -o x.o; gcc main.o x.o -o prog");
    check_both("gcc -c main.c other.c; gcc *.o -oprog");
    check_both("gcc main.c other.c -o prog");
    check_both("gcc -c other.c; gcc main.c other.o -o prog");
    check_both("gcc -c -save-temps -pipe main.c other.c; gcc *.o -o prog");
    check_both(
        "gcc -c main.c -MD -MF main.d -MT x; gcc -MMD -c other.c; gcc *.o -o prog; grep -q '^x:' main.d",
    );
    check_both("mkdir b; cd b; gcc -c ../main.c ../other.c; gcc *.o -o ../prog");
    check_both("gcc main.c -x c other.c -x none -o prog");
    check_both("gcc -flto -O0 -c main.c other.c; gcc -flto *.o -o prog");
    check_both(
        "gcc -E main.c >/dev/null; gcc --version >/dev/null; gcc -M main.c >/dev/null; gcc main.c other.c -o prog",
    );
    check_both(
        "echo '-c @inner' > outer; echo \"main.c 'other.c'\" > inner; gcc @outer; rm outer inner; gcc *.o -o prog",
    );
    check_both("gcc -c main.c other.c; echo 'main.o other.o' > list; gcc -Wl,@list -o prog");
    check(&[MAIN, OTHER], "gcc main.c other.c # a.out", BOTH, "captured 2 units, 1 link");
}

#[test]
fn other_compilers_and_languages() {
    let cxx = ("main.cc", "#include <vector>\nint main() { std::vector<int> v(3); return v[0]; }\n");
    check(&[cxx], "g++-12 -O2 main.cc -o prog", "  main.cc (/usr/bin/g++-12 -O2)", "captured 1 unit, 1 link");
    check(
        &[cxx],
        "x86_64-linux-gnu-g++ -O2 main.cc -o prog",
        "  main.cc (/usr/bin/x86_64-linux-gnu-g++ -O2)",
        "captured 1 unit, 1 link",
    );
    check(
        &[MAIN, OTHER],
        "clang-19 -Os -flto -c main.c; clang-19 -c -Oz other.c; clang-19 -flto -fuse-ld=gold main.o other.o -o prog",
        "  main.c (/usr/bin/clang-19 -Os)\n  other.c (/usr/bin/clang-19 -Oz)",
        "captured 2 units, 1 link",
    );
    for standard in ["c89", "gnu89", "iso9899:199409", "c99", "gnu99", "c11", "gnu17", "c2x", "gnu2x"] {
        check_both(&format!("gcc -std={standard} main.c other.c -o prog"));
    }
    let plain = ("main.cc", "int main() { return 0; }\n");
    for standard in ["c++98", "gnu++03", "c++11", "c++14", "gnu++17", "c++20", "gnu++2b", "c++23"] {
        let script = format!("g++ -O1 -std={standard} main.cc -o prog");
        check(&[plain], &script, "  main.cc (/usr/bin/g++ -O1)", "captured 1 unit, 1 link");
    }
}

#[test]
fn source_on_standard_input() {
    check(
        &[MAIN, OTHER],
        "gcc -x c - -c -o main.o < main.c; gcc -x c - -x none main.o -o prog < other.c",
        "  - (/usr/bin/gcc -O0)\n  - (/usr/bin/gcc -O0)",
        "captured 2 units, 1 link",
    );
}

#[test]
fn assembler_and_what_clang_cannot_compile() {
    let kept = "captured 1 unit, 1 link, 1 assembler file kept unchanged";
    let parts = "  main.c (/usr/bin/gcc -O0)\n  other.S (not captured)";
    check(&[MAIN, ASSEMBLER], "gcc main.c other.S -o prog", parts, kept);
    let parts = "  main.c (/usr/bin/gcc -O0)\n  other.o (not captured)";
    check(&[MAIN, ASSEMBLER], "gcc -c other.S; gcc main.c other.o -o prog", parts, kept);
    let nested = ("other.c", "int other(void) { int in(void) { return 0; } return in(); }\n");
    let captured = "captured 1 unit, 1 link; 1 not captured:\n  \
                    other.c: other.c:1:32: error: function definition is not allowed here";
    check(&[MAIN, nested], "gcc -c other.c; gcc main.c other.o -o prog", parts, captured);
    let parts = "  main.c (/usr/bin/gcc -O0)\n  other.c (not captured)";
    check(&[MAIN, nested], "gcc main.c other.c -o prog", parts, captured);
}

#[test]
fn flags_of_gcc_alone() {
    check_both(
        "gcc -fipa-pta -fno-ivopts -fconserve-stack -mno-fp-ret-in-387 --param max-inline-insns-single=9 \
         -fno-guess-branch-probability -Wno-unused-but-set-variable -fexcess-precision=standard -fmax-errors=1 \
         -fno-tree-loop-im -frecord-gcc-switches -fstack-usage main.c other.c -o prog; rm *.su",
    );
    let openmp = ("main.c", "#include <omp.h>\nint main(void) { return omp_get_thread_num(); }\n");
    check(&[openmp], "gcc -fopenmp main.c -o prog", "  main.c (/usr/bin/gcc -O0)", "captured 1 unit, 1 link");
    let permissive = ("main.c", "main() { return f(); } f() { char *p = 7; return p != 0; }\n");
    check(&[permissive], "gcc -w main.c -o prog", "  main.c (/usr/bin/gcc -O0)", "captured 1 unit, 1 link");
}

#[test]
fn headers_are_precompiled_untouched() {
    let header = ("x.h", "int other(void);\n");
    let script = "gcc x.h; test -f x.h.gch; gcc -include x.h main.c other.c -o prog";
    check(&[MAIN, OTHER, header], script, BOTH, "captured 2 units, 1 link");
}

#[test]
fn archives_and_joined_objects() {
    let archive = "  main.c (/usr/bin/gcc -O0)\n  libx.a\n    other.c (/usr/bin/gcc -O0)";
    let files = [MAIN, OTHER, ASSEMBLER];
    let captured = "captured 2 units, 1 link";
    let make = "gcc -c main.c other.c";
    check(&files, &format!("{make}; ar rc libx.a other.o; gcc main.o libx.a -o prog"), archive, captured);
    check(&files, &format!("{make}; ar rcT libx.a other.o; gcc main.o -L. -lx -o prog"), archive, captured);
    check(
        &files,
        &format!("{make}; ar rc libx.a other.o; gcc main.o -L . -Wl,-Bstatic,-lx,-Bdynamic -o prog"),
        archive,
        captured,
    );
    check(&files, &format!("{make}; ld -r main.o other.o -o x.o; gcc x.o -o prog"), BOTH, captured);
    check(&files, &format!("{make}; gcc -r main.o other.o -o x.o; gcc x.o -o prog"), BOTH, captured);
    check(&files, "gcc -r main.c other.c -o x.o; gcc x.o -o prog", BOTH, captured);
    check(&files, "gcc -flto -c main.c other.c; gcc -flto -r *.o -o x.o; gcc x.o -o prog", BOTH, captured);
    let mixed = "  main.c (/usr/bin/gcc -O0)\n  x.o (not captured)";
    check(
        &files,
        "gcc -c main.c other.S; ld -r main.o other.o -o x.o; gcc x.o -o prog",
        mixed,
        "captured 1 unit, 1 link, 1 assembler file kept unchanged",
    );
    let library = "  other.c (/usr/bin/gcc -O0)";
    check(&files, "gcc -c other.c; ar rc libx.a other.o # libx.a", library, "captured 1 unit, 0 links");
}

#[test]
fn shared_libraries() {
    let parts = "  main.c (/usr/bin/gcc -O0)\n  libx.so (captured shared library)";
    let captured = "captured 2 units, 2 links";
    check(
        &[MAIN, OTHER],
        "gcc -fPIC -shared other.c -o libx.so; gcc main.c -L. -lx -o prog",
        parts,
        captured,
    );
    check(
        &[MAIN, OTHER],
        "gcc -fPIC -shared other.c -o libx.so; gcc main.c ./libx.so -o prog",
        parts,
        captured,
    );
    check(
        &[MAIN, OTHER],
        "gcc -fPIC -c other.c; ld -shared other.o -soname libx.so -o libx.so; gcc main.c -L. -lx -o prog",
        parts,
        captured,
    );
}

#[test]
fn files_of_a_link_may_be_deleted() {
    let script = ("x.map", "{ global: other; local: *; };\n");
    let project = Project::new(&[OTHER, script]);
    let output = project.capture("gcc -fPIC -c other.c; gcc -shared -Wl,--version-script=x.map -Wl,-Map=out other.o -o x.so; rm -f other.* x.map");
    assert!(output.status.success());
    let (store, link) = program(&project.path("x.so")).unwrap();
    let link = store.link(&link).unwrap();
    let Input::Flag(shared) = &link.arguments[0] else { panic!("{link:?}") };
    assert_eq!(shared, "-shared");
    let Input::File { before, file, .. } = &link.arguments[1] else { panic!("{link:?}") };
    assert_eq!(
        (before.as_str(), fs::read_to_string(store.blob(file)).unwrap().as_str()),
        ("-Wl,--version-script=", script.1)
    );
    let Input::Units { units, object: Some(object), .. } = &link.arguments[2] else { panic!("{link:?}") };
    assert!(store.blob(object).is_file());
    let unit = store.unit(&units[0]).unwrap();
    assert_eq!(fs::read_to_string(store.blob(&unit.text.unwrap())).unwrap(), OTHER.1);
    assert_eq!(unit.codegen, ["-fPIC"]);
    assert!(fs::read(store.bitcode(&units[0])).unwrap().starts_with(b"BC\xc0\xde"));
    assert_eq!(link.arguments.len(), 3, "{link:?}");
}

#[test]
fn configure_probes_are_not_captured() {
    let conftest = ("conftest.c", "int main(void) { return 0; }\n");
    let inside = ("CMakeFiles/CMakeScratch/x/a.c", conftest.1);
    let project = Project::new(&[conftest, inside]);
    let output = project.capture("gcc conftest.c -o conftest; cd CMakeFiles/CMakeScratch/x; gcc a.c -o a");
    assert_eq!(summary(&output), "captured 0 units, 0 links");
}

#[test]
fn cached_compiles_are_captured_and_the_cache_stays_clean() {
    let make = "ccache gcc -c main.c; ccache gcc -c other.c; gcc *.o -o prog";
    check_both(&format!("{make}; rm *.o prog; export CCACHE_HARDLINK=1; {make}"));
    let project = Project::new(&[MAIN, OTHER]);
    assert!(project.capture(make).status.success());
    let plain = project.plain("rm *.o; ccache gcc -c main.c; ccache -s");
    assert!(plain.status.success());
    let object = fs::read(project.path("main.o")).unwrap();
    assert!(!object.windows(10).any(|bytes| bytes == b".leakscope"));
    assert!(String::from_utf8_lossy(&plain.stdout).contains("Hits:               1"), "{plain:?}");
}

#[test]
fn compilers_named_by_path() {
    let project = Project::new(&[MAIN, OTHER]);
    let output = project.capture_with(("CC", "/usr/bin/gcc -O1"), "$CC main.c other.c -o prog");
    assert_eq!(summary(&output), "captured 2 units, 1 link");
    assert_eq!(project.composition("prog"), BOTH.replace("-O0", "-O1"));
    let output = Project::new(&[MAIN, OTHER]).capture("/usr/bin/gcc -c main.c other.c; gcc *.o -o prog");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("captured 0 units, 1 link\n2 objects linked that no compiler in PATH"), "{said}");
}

#[test]
fn compilers_found_under_a_leakscope_that_is_gone() {
    let project = Project::new(&[MAIN, OTHER]);
    let configure = "echo \"prog: ; $CC main.c other.c -o prog\" > Makefile";
    assert!(project.capture_with(("CC", "/usr/bin/gcc"), configure).status.success());
    let old = "for f in $(find .leakscope/shims -type l); do ln -sf /usr/bin/gone $f; done";
    assert!(project.plain(old).status.success());
    let output = project.capture("make");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(summary(&output), "captured 2 units, 1 link");
    assert_eq!(project.composition("prog"), BOTH);
}

#[test]
fn shims_stand_aside_outside_a_capture() {
    let project = Project::new(&[MAIN, OTHER]);
    assert!(project.capture("gcc -c main.c").status.success());
    let output = project.plain("rm main.o; .leakscope/shims/gcc main.c other.c -o prog && ./prog");
    assert!(output.status.success(), "{output:?}");
    assert!(project.composition("prog").contains("was not captured"));
}

#[test]
fn failing_builds() {
    let wrong = ("main.c", "int main(void) { return x; }\n");
    let project = Project::new(&[wrong, OTHER]);
    let output = project.capture("gcc -c other.c; gcc -c main.c || exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(summary(&output), "captured 1 unit, 0 links");
    assert!(String::from_utf8_lossy(&output.stderr).contains("undeclared"), "gcc's message is passed on");
    assert_eq!(project.composition("other.o"), "  other.c (/usr/bin/gcc -O0)");
}

#[test]
fn an_interrupt_leaves_a_usable_store() {
    let project = Project::new(&[MAIN, OTHER]);
    // Also where a shell lets what runs in the background ignore it.
    let output = project.capture(
        "env --default-signal=INT sh -c 'gcc -c other.c; kill -INT 0; gcc -c main.c' || exit 1; gcc -c main.c",
    );
    assert_eq!(summary(&output), "captured 1 unit, 0 links");
    assert!(!output.status.success());
    let output = project.capture("gcc -c main.c; gcc main.o other.o -o prog");
    assert_eq!(summary(&output), "captured 1 unit, 1 link");
    assert_eq!(project.composition("prog"), BOTH);
}

#[test]
fn parallel_builds() {
    let names: Vec<String> = (0..24).map(|number| format!("u{number:02}.c")).collect();
    let texts: Vec<String> =
        (0..24).map(|number| format!("int f{number}(void) {{ return {number}; }}\n")).collect();
    let mut files: Vec<_> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("Makefile", "x.a: $(patsubst %.c,%.o,$(wildcard *.c))\n\tar rc $@ $^\n"));
    let project = Project::new(&files);
    let output = project.capture("make -j8");
    assert_eq!(summary(&output), "captured 24 units, 0 links");
    assert_eq!(project.composition("x.a").lines().count(), 24);
}

#[test]
fn what_can_be_read_once_is_read_by_the_real_compiler() {
    let project = Project::new(&[MAIN, OTHER]);
    let output = project
        .capture("cat other.c | gcc -x c /dev/stdin -c -o other.o; gcc main.c other.o -o prog; ./prog");
    assert!(output.status.success(), "{output:?}");
    assert!(summary(&output).contains("/dev/stdin: it is no file"), "{}", summary(&output));
}

#[test]
fn the_compilers_end_is_passed_on() {
    let project =
        Project::new(&[("gcc", "#!/bin/sh\ncase $1 in -k) kill -TERM $$;; *) exit 3;; esac\n"), OTHER]);
    let script = "chmod +x gcc; export CC=$PWD/gcc PATH=$PWD/.leakscope/shims:$PWD:$PATH
                  gcc other.c || test $? = 3; gcc -k other.c || test $? = 143";
    let output = project.capture(script);
    assert!(output.status.success(), "{output:?}");
}
