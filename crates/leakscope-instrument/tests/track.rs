//! The `track` variant on small sources: what its code still contains, and
//! what it does when it runs.

use std::io::Write;
use std::process::{Command, Stdio};

use leakscope_instrument::{InstrumentError, Variant, transform};

const LEVELS: [&str; 6] = ["O0", "O1", "O2", "O3", "Os", "Oz"];

/// Feeds `input` to a tool and takes what it writes.
fn pipe(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", output.status);
    output.stdout
}

/// Bitcode as the capture makes it.
fn capture(language: &str, source: &str) -> Vec<u8> {
    let flags = ["-w", "-g", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "-", "-x"];
    pipe("clang-19", &[&flags[..], &[language, "-"]].concat(), source.as_bytes())
}

fn track(language: &str, source: &str, level: &str) -> Vec<u8> {
    transform(&capture(language, source), Variant::Track, level).unwrap()
}

/// The instructions at `level`, as assembler.
fn assembler(language: &str, source: &str, level: &str) -> String {
    let flags = ["-x", "ir", "-S", "-Xclang", "-disable-llvm-passes", "-o", "-", "-", &format!("-{level}")];
    let text = String::from_utf8(pipe("clang-19", &flags, &track(language, source, level))).unwrap();
    let instruction = |line: &&str| !line.trim_start().starts_with(['.', '#']);
    let code = text.split("\t.section\t.debug").next().unwrap();
    code.lines().filter(instruction).map(|line| format!("{line}\n")).collect()
}

/// The machine code at every level has this many calls of each function.
/// Optimised functions that ask whether uses are wanted have two bodies.
fn check_calls(language: &str, source: &str, expected: &[(&str, usize)]) {
    for level in LEVELS {
        let text = assembler(language, source, level);
        let count = |function: &str, callee: &str| {
            let bodies = if level != "O0" && function.contains("leakscope_uses") { 2 } else { 1 };
            let call = format!("callq\t{callee}@PLT");
            let calls = function.lines().filter(|line| line.trim() == call).count();
            assert_eq!(calls % bodies, 0, "{callee} at {level} in\n{function}");
            calls / bodies
        };
        let found = expected.iter().map(|&(callee, _)| {
            // Each function begins with a comment that has its name.
            (callee, text.split("# @").map(|function| count(function, callee)).sum::<usize>())
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "calls at {level} in\n{text}");
    }
}

/// Linked with a small runtime and run, the source prints `expected` at each
/// level.
fn check_output(language: &str, source: &str, levels: &[&str], expected: &str) {
    let runtime = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/track/runtime.c");
    for level in levels {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program").display().to_string();
        let driver = if language == "c++" { "clang++-19" } else { "clang-19" };
        // As for a derived program.
        let optimisation = format!("-{}", if *level == "O0" { "O1" } else { level });
        let passes = ["-Xclang", "-disable-llvm-passes", &optimisation];
        let files = ["-x", "ir", "-", "-x", "c", runtime, "-rdynamic", "-o", &program];
        pipe(driver, &[&passes[..], &files].concat(), &track(language, source, level));
        assert_eq!(String::from_utf8(pipe(&program, &[], b"")).unwrap(), expected, "at {level}");
    }
}

/// The deaths that the runtime hears of, as `line:variable`. `make` gives a
/// block, line 1 is that of `body`.
fn check_deaths(body: &str, expected: &str) {
    check_deaths_at(&LEVELS, body, expected);
}

fn check_deaths_at(levels: &[&str], body: &str, expected: &str) {
    let source = format!("void *make(void);\nchar *held, *other;\n# 1\n{body}\n");
    check_output("c", &source, levels, expected);
}

/// Optimised code does not tell of those that a later one makes needless.
fn check_pruned(body: &str, all: &str, pruned: &str) {
    let (unoptimised, optimised) = LEVELS.split_at(1);
    assert_eq!(unoptimised, ["O0"]);
    check_deaths_at(unoptimised, body, all);
    check_deaths_at(optimised, body, pruned);
}

#[test]
fn allocations_that_nobody_uses_are_made() {
    check_calls(
        "c",
        "#include <stdlib.h>
         #include <string.h>
         #include <malloc.h>
         void leak(void) { malloc(10); calloc(2, 3); aligned_alloc(16, 16); memalign(16, 16); strdup(\"a\"); strndup(\"abc\", 2); }
         void at_once(void) { free(malloc(10)); }
         void grown(void) { free(realloc(malloc(1), 2)); reallocarray(0, 2, 3); }
         void aligned(void) { void *p; posix_memalign(&p, 16, 16); }",
        &[
            ("malloc", 3),
            ("calloc", 1),
            ("aligned_alloc", 1),
            ("memalign", 1),
            ("strdup", 1),
            ("strndup", 1),
            ("free", 2),
            ("realloc", 1),
            ("reallocarray", 1),
            ("posix_memalign", 1),
        ],
    );
}

#[test]
fn operators_that_nobody_needs_are_called() {
    check_calls(
        "c++",
        "#include <new>
         struct alignas(64) Wide { char bytes[64]; };
         void leak() { new int; new int[3]; new Wide; new (std::nothrow) int; new Wide[2]; }
         void at_once() { delete new int; delete[] new int[3]; delete new Wide; }",
        &[
            ("_Znwm", 2),
            ("_Znam", 2),
            ("_ZnwmSt11align_val_t", 2),
            ("_ZnamSt11align_val_t", 1),
            ("_ZnwmRKSt9nothrow_t", 1),
            ("_ZdlPvm", 1),
            ("_ZdlPvmSt11align_val_t", 1),
            ("_ZdaPv", 1),
        ],
    );
}

#[test]
fn malloc_and_memset_do_not_become_calloc() {
    check_calls(
        "c",
        "#include <stdlib.h>
         #include <string.h>
         void *zeroed(unsigned long n) { void *p = malloc(n); if (p) memset(p, 0, n); return p; }",
        &[("malloc", 1), ("calloc", 0)],
    );
}

#[test]
fn each_place_keeps_its_own_call() {
    check_calls(
        "c",
        "#include <stdlib.h>
         void *make(unsigned long);
         void *choose(int kind) {
             void *p;
             if (kind == 1) p = malloc(10);
             else if (kind == 2) p = make(10);
             else if (kind == 3) p = make(10);
             else p = malloc(10);
             return p;
         }",
        &[("malloc", 2), ("make", 2)],
    );
}

#[test]
fn a_call_through_a_pointer_is_kept_when_it_becomes_direct() {
    let text = assembler(
        "c",
        "#include <stdlib.h>
         static inline void twice(void *(*get)(size_t)) { get(1); get(2); }
         void start(void) { twice(malloc); }",
        "O2",
    );
    assert_eq!(text.matches("callq\tmalloc@PLT").count(), 2, "{text}");
}

#[test]
fn roots_and_contents_stay_in_memory() {
    let text = assembler(
        "c",
        "#include <stdlib.h>
         static void *never_read;
         void keep(void) { never_read = malloc(10); }
         void drop(void) { void **holder = malloc(8); *holder = malloc(3); }",
        "O2",
    );
    assert!(text.contains("never_read(%rip)"), "the store to the root is gone in\n{text}");
    let stores = |line: &str| line.starts_with("\tmovq\t%r") && line.contains(", (%r");
    assert!(text.lines().any(stores), "the store to the dropped block is gone in\n{text}");
}

#[test]
fn stacks_name_every_caller() {
    check_output(
        "c",
        "#define _GNU_SOURCE
         #include <dlfcn.h>
         #include <stdio.h>
         #include <string.h>
         __attribute__((noinline)) int leaf(int n) {
             for (void **frame = __builtin_frame_address(0);; frame = frame[0]) {
                 Dl_info info;
                 if (!dladdr(frame[1], &info) || !info.dli_sname) break;
                 puts(info.dli_sname);
                 if (!strcmp(info.dli_sname, \"main\")) break;
             }
             return n;
         }
         __attribute__((noinline)) int middle(int n) { return leaf(n + 1); }
         __attribute__((noinline)) int outer(int n) { return middle(n + 1); }
         int main(int argc, char **argv) { return outer(argc - 3); }",
        &LEVELS,
        "middle\nouter\nmain\n",
    );
}

#[test]
fn tail_recursion_needs_no_stack() {
    check_output(
        "c",
        "#include <stdio.h>
         __attribute__((noinline)) long sum(long n, long so_far) { return n ? sum(n - 1, so_far + n) : so_far; }
         int main(void) { printf(\"%ld\\n\", sum(10000000, 0)); }",
        // At O0 it does in the user's own program too.
        &LEVELS[1..],
        "50000005000000\n",
    );
}

#[test]
fn musttail_needs_no_stack() {
    check_output(
        "c",
        "#include <stdio.h>
         long odd(long n);
         __attribute__((noinline)) long even(long n) { if (!n) return 1; __attribute__((musttail)) return odd(n - 1); }
         __attribute__((noinline)) long odd(long n) { if (!n) return 0; __attribute__((musttail)) return even(n - 1); }
         int main(void) { printf(\"%ld\\n\", even(10000000)); }",
        &LEVELS,
        "1\n",
    );
}

#[test]
fn a_local_that_borrows_does_not_die() {
    // What memory holds as well is never the local's to lose.
    check_deaths(
        "__attribute__((noinline)) int look(void) { char *p = held; return *p; }
         int main(void) { held = make(); look(); char *p = held; p = held; return look(); }",
        "",
    );
    // It is where memory let go since, here or in a callee.
    check_deaths(
        "__attribute__((noinline)) void let_go(void) { held = 0; }
         __attribute__((noinline)) void take(void) {
             char *p = held;
             held = 0;
         }
         __attribute__((noinline)) void see(void) {
             char *p = held;
             let_go();
         }
         int main(void) { held = make(); take(); held = make(); see(); return 0; }",
        "4:held 5:p 1:held 9:p ",
    );
    // And where the block is new, whoever made it.
    check_deaths(
        "__attribute__((noinline)) char *get(void) { return make(); }
         __attribute__((noinline)) void lose(void) {
             char *p = get();
             *p = 1;
         }
         int main(void) { lose(); return 0; }",
        "5:p ",
    );
}

#[test]
fn a_parameter_that_is_never_assigned_is_the_callers() {
    check_deaths(
        "__attribute__((noinline)) static int peek(char *p) { return *p; }
         int main(void) {
             char *mine = make();
             peek(mine);
             return 0;
         }",
        "5:mine ",
    );
    // Nobody's after the call: that is seen in the caller.
    check_deaths(
        "__attribute__((noinline)) static int peek(char *p) { return *p; }
         int main(void) {
             peek(make());
             return 0;
         }",
        "3: ",
    );
    // Assigned, it is a variable as any other.
    check_deaths(
        "__attribute__((noinline)) static void assign(char *p) {
             p = make();
             *p = 1;
         }
         int main(void) { assign(0); return 0; }",
        "4:p ",
    );
    // What is got through it is had since the function began, not since ever.
    check_deaths(
        "__attribute__((noinline)) static int last(char **at) {
             char *p = 0;
             while (*at) p = *at++;
             other = 0;
             return *p;
         }
         int main(void) {
             static char *all[2];
             all[0] = make();
             other = make();
             return last(all);
         }",
        "4:other ",
    );
}

#[test]
fn a_function_that_others_may_call_asks_who_calls() {
    // Derived code holds what it gives,
    check_deaths(
        "static int peek(char *p) { char *copy = p; return *copy; }
         int (*volatile call)(char *) = peek;
         int main(void) { held = make(); return call(held); }",
        "",
    );
    // unless no variable does.
    check_deaths(
        "static int peek(char *p) { return *p; }
         int (*volatile call)(char *) = peek;
         int main(void) { return call(make()); }",
        "1:p ",
    );
    // What other code does is not known.
    check_deaths(
        "void *bsearch(const void *, const void *, unsigned long, unsigned long, int (*)(const void *, const void *));
         static int compare(const void *key, const void *element) { return *(char *)key - *(char *)element; }
         int main(void) { held = make(); return !bsearch(held, \"\", 1, 1, compare); }",
        "2:key ",
    );
}

#[test]
fn a_pointer_that_steps_stays_in_its_block() {
    check_pruned(
        "int main(void) {
             char *p = make();
             while (p[1]) p++;
             p += 2;
             char *q = p + 1;
             q = 0;
             p = 0;
             return 0;
         }",
        "6:q 7:p ",
        "7:p ",
    );
    // The local that had the block alone goes on in it by way of another.
    check_pruned(
        "int main(void) {
             char *p = make();
             char *q = p + 1;
             p = q - 1;
             q = 0;
             p = 0;
             return 0;
         }",
        "5:q 6:p ",
        "6:p ",
    );
    check_pruned(
        "int main(void) {
             char *p = make();
             char *q = p + 1;
             p = q + 1;
             q = 0;
             p = 0;
             return 0;
         }",
        "5:q 6:p ",
        "6:p ",
    );
    check_deaths(
        "int main(void) {
             held = make();
             held++;
             held = held + 1;
             other = held;
             held = other - 2;
             other = 0;
             held = 0;
             return 0;
         }",
        "7:other 8:held ",
    );
}

#[test]
fn a_store_of_the_same_pointer_is_no_death() {
    check_deaths(
        "int main(void) {
             char *p = make();
             held = p;
             held = p;
             p = held;
             held = 0;
             return 0;
         }",
        "6:held 7:p ",
    );
}

#[test]
fn of_copies_the_last_to_go_dies() {
    // In a loop, and by a way that both come on.
    check_pruned(
        "__attribute__((noinline)) int count(char *end) { return *end; }
         int main(void) {
             char *p = make();
             int sum = 0;
             for (char *q = p; sum < 1; q++)
                 sum += count(q) + 1;
             {
                 char *at = sum ? p : p + 2;
                 sum += count(at);
             }
             p = 0;
             return sum - 1;
         }",
        "5:q 10:at 11:p ",
        "11:p ",
    );
    // On one of two ways another has it: the first may be the last on the other.
    check_deaths(
        "__attribute__((noinline)) int is_set(char *p) { return *p; }
         int main(void) {
             char *p = make(), *q = 0;
             if (!is_set(p))
                 q = p;
             p = 0;
             return q ? is_set(q) : 1;
         }",
        "6:p 7:q ",
    );
}

/// The code generator drops what nobody needs of the clock; the linker must
/// still know what it is.
#[test]
fn programs_that_need_no_clock_are_linked() {
    check_output("c", "int main(void) { return 0; }", &LEVELS, "");
}

#[test]
fn cxx_programs_run() {
    check_output(
        "c++",
        "#include <iostream>
         #include <map>
         #include <stdexcept>
         #include <string>
         int main() {
             std::map<std::string, int> ages{{\"ada\", 36}, {\"alan\", 41}};
             try { ages.at(\"nobody\"); } catch (const std::out_of_range &) { std::cout << ages[\"ada\"] << '\\n'; }
         }",
        &LEVELS,
        "36\n",
    );
}

#[test]
fn the_level_is_the_users() {
    let source = "void add(int *restrict a, const int *restrict b, int n) { for (int i = 0; i < 1024; i++) a[i] += b[i]; }";
    let vectors = |level| assembler("c", source, level).contains("paddd");
    assert_eq!(LEVELS.map(vectors), [false, false, true, true, true, false], "vector code by level");

    let text = String::from_utf8(pipe("llvm-dis-19", &["-o", "-"], &track("c", source, "Oz"))).unwrap();
    for attribute in ["optsize", "minsize", "\"frame-pointer\"=\"all\"", "\"disable-tail-calls\"=\"true\""] {
        assert!(text.contains(attribute), "no {attribute} in\n{text}");
    }
}

#[test]
fn threads_work_side_by_side() {
    let bitcode = capture("c", "#include <stdlib.h>\nvoid *make(void) { return malloc(3); }");
    let alone = transform(&bitcode, Variant::Track, "O2").unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| transform(&bitcode, Variant::Track, "O2"))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap().unwrap(), alone);
        }
    });
}

#[test]
fn bad_input_is_an_error() {
    let good = capture("c", "int one(void) { return 1; }");
    let error = |bitcode: &[u8], level| transform(bitcode, Variant::Track, level).unwrap_err();
    assert!(matches!(error(&good, "O9"), InstrumentError::Level(level) if level == "O9"));
    for damaged in [&b""[..], b"not bitcode", &good[..good.len() / 2]] {
        let error = error(damaged, "O2");
        assert!(matches!(&error, InstrumentError::Read(reason) if !reason.is_empty()), "{error}");
    }
}
