//! The `sample` variant on small sources: whichever body runs, and wherever
//! control crosses, a program does what it did; and accesses are reported.

use std::io::Write;
use std::process::{Command, Stdio};

use leakscope_instrument::{Job, Part, Variant, transform};

const LEVELS: [&str; 4] = ["O0", "O1", "O2", "Os"];

/// Feeds `input` to a tool and takes what it writes.
fn pipe(program: &str, arguments: &[&str], twin: Option<&str>, input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.envs(twin.map(|twin| ("TWIN", twin)));
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", output.status);
    output.stdout
}

/// The source as a program that has two bodies, with a small runtime.
fn build(language: &str, source: &str, level: &str, folder: &tempfile::TempDir) -> String {
    let runtime = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sample/runtime.c");
    let program = folder.path().join("program").display().to_string();
    let driver = if language == "c++" { "clang++-19" } else { "clang-19" };
    let flags = ["-w", "-g", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "-", "-x"];
    let bitcode = pipe(driver, &[&flags[..], &[language, "-"]].concat(), None, source.as_bytes());
    let job = Job { variant: Variant::Sample, optimisation: level, pools: &[], part: Part::Program };
    let module = transform(&bitcode, &job).unwrap();
    let optimisation = format!("-{}", if level == "O0" { "O1" } else { level });
    let passes = ["-Xclang", "-disable-llvm-passes", &optimisation];
    let files = ["-x", "ir", "-", "-x", "c", "-O0", runtime, "-rdynamic", "-pthread", "-o", &program];
    pipe(driver, &[&passes[..], &files].concat(), None, &module);
    program
}

/// Whatever its checks say, the program prints what it prints without any.
fn check(language: &str, source: &str) {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain").display().to_string();
    let driver = if language == "c++" { "clang++-19" } else { "clang-19" };
    let flags = ["-w", "-O0", "-pthread", "-o", &plain, "-x", language, "-"];
    pipe(driver, &flags, None, source.as_bytes());
    let expected = String::from_utf8(pipe(&plain, &[], None, b"")).unwrap();
    assert_ne!(expected, "");
    for level in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let program = build(language, source, level, &folder);
        for twin in [None, Some("always"), Some("never")] {
            let output = String::from_utf8(pipe(&program, &[], twin, b"")).unwrap();
            assert_eq!(output, expected, "at {level}, {twin:?}");
        }
    }
}

/// What the runtime sees where every check says so, at the levels at which
/// nothing is merged or made a vector.
fn check_seen(body: &str, expected: &str) {
    check_seen_if("always", body, expected);
}

fn check_seen_if(twin: &str, body: &str, expected: &str) {
    let source = format!("void *make(void);\nvoid seen(void);\n{body}\n");
    let folder = tempfile::tempdir().unwrap();
    let program = build("c", &source, "O1", &folder);
    let output = String::from_utf8(pipe(&program, &[], Some(twin), b"")).unwrap();
    assert_eq!(output, expected, "{body}");
}

#[test]
fn loops_nested_and_left_early() {
    check(
        "c",
        "#include <stdio.h>
         #include <stdlib.h>
         struct node { struct node *next; int v; };
         int main(void) {
             struct node *list = 0; long sum = 0;
             for (int i = 0; i < 50; i++) { struct node *n = malloc(sizeof *n); n->next = list; n->v = i; list = n; }
             for (int k = 0; k < 20; k++) {
                 for (struct node *n = list; n; n = n->next) {
                     if (n->v == k) continue;
                     if (n->v < k / 2) break;
                     sum += n->v * k;
                 }
                 if (sum > 100000) goto out;
             }
         out:
             while (list) { struct node *n = list; list = n->next; free(n); }
             printf(\"%ld\\n\", sum);
         }",
    );
}

/// Functions without loops that ask have their second body elsewhere, whatever
/// they are given and return.
#[test]
fn parameters_and_results_go_elsewhere() {
    check(
        "c++",
        "#include <cstdio>
         #include <cstdarg>
         #define APART __attribute__((noinline)) static
         struct pair { long a, b; }; struct large { long all[9]; };
         APART bool is_odd(const int *p) { return *p & 1; }
         APART signed char low(const int *p, signed char by) { return *p + by; }
         APART unsigned short high(int *p, unsigned char by, bool up) { return (*p += by) >> (up ? 8 : 0); }
         APART float half(const float *p, double by) { return *p / by; }
         APART double many(const double *p, double a, double b, double c, double d, double e, double f, double g, double h, double i)
         { return *p + a * b - c * d + e * f - g * h * i; }
         APART int more(const int *p, int a, int b, int c, int d, int e, int f, int g) { return *p + a - b + c - d + e - f * g; }
         APART pair both(const long *p) { return pair{p[0], p[1]}; }
         APART large all(const long *p) { large l; for (int i = 0; i < 9; i++) l.all[i] = p[i] * i; return l; }
         APART long first(large l, const long *p) { return l.all[8] + p[3]; }
         APART int sum(const int *p, ...) { va_list all; va_start(all, p); int n = *p + va_arg(all, int); va_end(all); return n; }
         APART int checked(const int *p) { if (*p > 3) throw *p; return *p; }
         struct shape { virtual int sides() const { return n; } int n = 4; virtual ~shape() {} };
         int main() {
             int *n = new int(301); float *x = new float(2.5f); double *d = new double(8);
             long *l = new long[9]{1, 2, 3, 4, 5, 6, 7, 8, 9}; shape *s = new shape; int caught = 0;
             printf(\"%d %d %d %g \", is_odd(n), low(n, -100), high(n, 250, true), half(x, 4));
             printf(\"%g %d %ld \", many(d, 1, 2, 3, 4, 5, 6, 7, 8, 9), more(n, 1, 2, 3, 4, 5, 6, 7), both(l).b);
             printf(\"%ld %d %d \", first(all(l), l), sum(n, 7), s->sides());
             try { checked(n); } catch (int value) { caught = value; }
             printf(\"%d\\n\", caught);
             delete n; delete x; delete d; delete[] l; delete s;
         }",
    );
}

/// So many of them in so many loops that the bodies share their variables.
#[test]
fn very_many_values_do_not_go_over() {
    let each = |count: usize, text: &str| {
        (0..count)
            .map(|n| text.replace('#', &n.to_string()).replace('@', &(n % 32).to_string()))
            .collect::<String>()
    };
    let source = format!(
        "#include <stdio.h>
         #include <stdlib.h>
         static __attribute__((noinline)) void touch(long *p) {{ p[0]++; }}
         static __attribute__((noinline)) long all(long *p) {{
             {} {}
             return 0{};
         }}
         int main(void) {{
             long *p = calloc(32, sizeof *p);
             for (int i = 0; i < 32; i++) p[i] = i * 7 % 11;
             for (int i = 0; i < 50; i++) printf(\"%ld \", all(p));
             puts(\"\"); free(p);
         }}",
        each(32, "long v# = p[#];"),
        each(72, "for (long i = 0; i < (p[@] & 3); i++) { touch(p); v@ = v@ * 3 + p[i] + #; }"),
        each(32, " ^ v#"),
    );
    check("c", &source);
}

/// More values than there are registers: each body has its own, and they go
/// over where control crosses.
#[test]
fn many_values_go_over_between_bodies() {
    check(
        "c++",
        "#include <cstdio>
         #include <cstdlib>
         struct node { node *next; int v; double w; };
         __attribute__((noinline)) static double mix(node *list, int a, long b, double x, const char *text, bool flip) {
             unsigned long c = a, d = b, e = 3, f = 4, g = 5, h = 6, i = 7, j = 8; double y = x, z = 1; node *last = nullptr;
             for (int round = 0; round < 9; round++) {
                 for (node *n = list; n; n = n->next) {
                     try { if (n->v % 17 == round) throw n->v; } catch (int thrown) { c += thrown; flip = !flip; }
                     c += n->v ^ d; d = d * 3 + e; e ^= f + text[n->v % 5]; f += g; g = h - i; h += j; i ^= c; j += n->v;
                     y += n->w * z; z = flip ? z + 0.5 : z - 0.25;
                     if (n->v < round) { last = n; break; }
                 }
                 if (last) y += last->v;
                 a += round;
             }
             return y + z + x + a + b + double(c % 1000 + d % 999 + e % 998 + f % 997 + g % 996 + h % 995 + i % 994 + j % 993);
         }
         int main() {
             node *list = nullptr;
             for (int i = 0; i < 60; i++) list = new node{list, i, i / 4.0};
             printf(\"%.3f\\n\", mix(list, 2, 40, 1.5, \"words\", true));
             while (list) { node *next = list->next; delete list; list = next; }
         }",
    );
}

#[test]
fn fields_are_found_from_either_body() {
    check(
        "c",
        "#include <stdio.h>
         #include <stdlib.h>
         struct part { long weight; int count[3]; };
         struct whole { struct part left, right; struct whole *next; };
         static struct whole *make(int n) {
             struct whole *all = 0;
             for (int i = 0; i < n; i++) {
                 struct whole *one = calloc(1, sizeof *one);
                 one->left.weight = i; one->right.count[2] = i * 3; one->next = all; all = one;
             }
             return all;
         }
         static long walk(struct whole *at, int side) {
             long total = 0;
             for (; at; at = at->next) {
                 long *weight = &at->left.weight;
                 int *count = side & 1 ? &at->left.count[1] : &at->right.count[2];
                 for (int i = 0; i < 4; i++) {
                     if (*weight & 1) count = &at->right.count[i % 3];
                     switch (*count % 5) {
                     case 0: weight = &at->right.weight; break;
                     case 1: case 2: ++*count; break;
                     default: *weight += i; count = at->left.count; break;
                     }
                     total += *weight * 7 + *count;
                 }
                 side ^= *count;
             }
             return total;
         }
         int main(void) {
             struct whole *all = make(40);
             for (int side = 0; side < 6; side++) printf(\"%ld\\n\", walk(all, side));
         }",
    );
}

#[test]
fn exceptions_through_both_bodies() {
    check(
        "c++",
        "#include <cstdio>
         #include <stdexcept>
         #include <string>
         #include <vector>
         #include <memory>
         struct Guard { int *n; ~Guard() { ++*n; } };
         static int risky(std::vector<std::string> &all, int i, int *dropped) {
             Guard guard{dropped};
             if (i % 7 == 3) throw std::runtime_error(\"seven \" + std::to_string(i));
             if (i % 11 == 5) throw i;
             all.push_back(std::string(20, 'a' + i % 26));
             return (int)all.size();
         }
         int main() {
             std::vector<std::string> all; int dropped = 0; long sum = 0;
             auto owned = std::make_unique<int[]>(10);
             for (int i = 0; i < 200; i++) {
                 try { sum += risky(all, i, &dropped); owned[i % 10]++; }
                 catch (const std::exception &e) { sum += e.what()[6]; }
                 catch (int n) { sum -= n; }
             }
             std::printf(\"%ld %d %d %zu\\n\", sum, dropped, owned[3], all.size());
         }",
    );
}

#[test]
fn computed_gotos_stay_in_their_body() {
    check(
        "c",
        "#include <stdio.h>
         #include <stdlib.h>
         int main(void) {
             static void *labels[] = {&&add, &&sub, &&mul, &&end};
             unsigned char *code = malloc(100); int *acc = calloc(1, sizeof *acc);
             for (int i = 0; i < 99; i++) code[i] = i % 3;
             code[99] = 3;
             int at = 0;
             goto *labels[code[at++]];
         add: *acc += at; goto *labels[code[at++]];
         sub: *acc -= 1; goto *labels[code[at++]];
         mul: *acc = *acc * 3 % 1000; goto *labels[code[at++]];
         end: printf(\"%d\\n\", *acc); free(code); free(acc);
         }",
    );
}

#[test]
fn frames_that_are_left_and_returned_to() {
    check(
        "c",
        "#include <setjmp.h>
         #include <stdarg.h>
         #include <stdio.h>
         #include <stdlib.h>
         #include <string.h>
         static jmp_buf back;
         static int *count;
         static void deep(int n) { if (n == 0) longjmp(back, 1); char text[n + 8]; memset(text, n, n + 8); *count += text[3]; deep(n - 1); }
         static int sum(int n, ...) { va_list list; va_start(list, n); int s = 0; while (n--) s += va_arg(list, int) + *count; va_end(list); return s; }
         static _Noreturn void leave(const char *why, int *code) { printf(\"%s %d\\n\", why, *code); exit(0); }
         int main(void) {
             count = calloc(1, sizeof *count);
             volatile int rounds = 0;
             if (setjmp(back) == 0 || ++rounds < 5) deep(10);
             int total = 0;
             for (int i = 1; i < 30; i++) { int vla[i]; for (int k = 0; k < i; k++) vla[k] = k + *count; total += vla[i - 1] + sum(3, i, 2, 3); }
             printf(\"%d %d\\n\", *count, total);
             leave(\"end\", count);
         }",
    );
}

#[test]
fn tail_calls_and_recursion() {
    check(
        "c",
        "#include <stdio.h>
         #include <stdlib.h>
         struct tree { struct tree *l, *r; int v; };
         static long even(struct tree *, long), odd(struct tree *, long);
         static long even(struct tree *t, long s) { if (!t) return s; __attribute__((musttail)) return odd(t->l, s + t->v); }
         static long odd(struct tree *t, long s) { if (!t) return s; __attribute__((musttail)) return even(t->r, s - t->v); }
         static struct tree *grow(int d) { if (!d) return 0; struct tree *t = malloc(sizeof *t); t->v = d; t->l = grow(d - 1); t->r = grow(d - 1); return t; }
         static long all(struct tree *t) { return t ? t->v + all(t->l) + all(t->r) : 0; }
         static void drop(struct tree *t) { if (t) { drop(t->l); drop(t->r); free(t); } }
         int main(void) { struct tree *t = grow(9); long a = even(t, 5), b = all(t); drop(t); printf(\"%ld %ld\\n\", a, b); }",
    );
}

#[test]
fn threads_count_for_themselves() {
    check(
        "c",
        "#include <pthread.h>
         #include <stdio.h>
         #include <stdlib.h>
         static void *work(void *at) { long *sum = at; for (int i = 0; i < 10000; i++) *sum += i % 7; return 0; }
         int main(void) {
             pthread_t threads[4]; long *sums = calloc(4, sizeof *sums), total = 0;
             for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, &sums[i]);
             for (int i = 0; i < 4; i++) { pthread_join(threads[i], 0); total += sums[i]; }
             free(sums);
             printf(\"%ld\\n\", total);
         }",
    );
}

#[test]
fn accesses_are_seen_and_counted() {
    check_seen(
        "int main(void) { int *p = make(); p[0] = 1; p[1] = p[0] + 1; p[2] = p[1]; seen(); }",
        "3 accesses, 1 checks\n",
    );
    // Those of a library function too.
    check_seen(
        "#include <string.h>\nvolatile int n; int main(void) { char *p = make(); n = strlen(p); seen(); }",
        "1 accesses, 1 checks\n",
    );
}

#[test]
fn what_accesses_nothing_has_no_check() {
    check_seen(
        "__attribute__((noinline)) static int twice(int n) { return n * 2; }
         static int table[4];
         __attribute__((noinline)) static void count(int n) { table[n & 3]++; }
         int main(void) { for (int i = 0; i < 5; i++) count(twice(i)); seen(); return 0; }",
        "0 accesses, 0 checks\n",
    );
}

#[test]
fn a_loop_over_one_block_is_left_after_a_round() {
    // The function, then each round until the check says otherwise.
    check_seen(
        "volatile int n = 9;
         int main(void) { int *p = make(); int k = n; for (int i = 0; i < k; i++) p[i * i] ^= 3; seen(); }",
        "18 accesses, 9 checks\n",
    );
}

#[test]
fn a_loop_with_loops_over_one_block_does_not_ask() {
    // The function alone does.
    check_seen_if(
        "never",
        "volatile int n = 4;
         int main(void) {
             int *p = make(); int k = n;
             for (int i = 0; i < k; i++) { p[i] = i; for (int j = 0; j < i; j++) p[j * j] ^= i; }
             seen();
         }",
        "0 accesses, 1 checks\n",
    );
}

#[test]
fn accesses_for_which_a_later_one_stands_are_counted() {
    check_seen(
        "struct block { long a, b, c, d; }; volatile int n = 4;
         __attribute__((noinline)) static long all(struct block *p) {
             long sum = p->a; if (sum > n) sum += p->b; else sum -= p->c; return sum + p->d;
         }
         volatile long sum; int main(void) { sum = all(make()); seen(); }",
        "3 accesses, 1 checks\n",
    );
}

#[test]
fn a_loop_in_code_that_asked_asks_only_where_it_goes_round() {
    let walk = "struct node { struct node *next; long v; };
         __attribute__((noinline)) static long walk(struct node *at) {
             long sum = at->v;
             for (at = at->next; at; at = at->next) sum += at->v;
             return sum;
         }
         volatile long sum;";
    // Not entered, and entered for one round: the function alone asks.
    check_seen(
        &format!("{walk} int main(void) {{ struct node *all = make(); sum = walk(all); seen(); }}"),
        "2 accesses, 1 checks\n",
    );
    let linked = "struct node *all = make(); all[0].next = &all[1];";
    check_seen(
        &format!("{walk} int main(void) {{ {linked} seen(); sum = walk(all); seen(); }}"),
        "1 accesses, 1 checks\n4 accesses, 1 checks\n",
    );
    check_seen(
        &format!(
            "{walk} int main(void) {{ {linked} all[1].next = &all[2]; seen(); sum = walk(all); seen(); }}"
        ),
        "2 accesses, 1 checks\n6 accesses, 2 checks\n",
    );
}
