//! What no input leads to, as far as is shown without a run. Lines of small programs
//! say what is expected: `closed`, or `open` where some input does lead there, or where nothing of
//! the program says that none does.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use leakscope_instrument::{Extent, Line, Meant, unreached};
use leakscope_solve::{Limits, Solver, Z3};

const HEAD: &str = "\
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void leak(void);
";

fn bitcode(source: &str) -> Vec<u8> {
    let flags =
        ["-w", "-g", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "-", "-x", "c", "-"];
    let mut command = Command::new("clang-19");
    let mut child = command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{source}");
    output.stdout
}

#[track_caller]
fn check(body: &str) {
    let source = format!("{HEAD}{body}");
    let wanted: Vec<(u32, bool)> = source
        .lines()
        .zip(1..)
        .filter_map(|(text, line)| Some((line, text.split_once("// ")?.1.starts_with("closed"))))
        .collect();
    assert!(!wanted.is_empty());
    let folder = std::env::current_dir().unwrap();
    let file = folder.join("<stdin>").display().to_string();
    let lines: Vec<Line> = ["<stdin>", "-", &file, &folder.join("-").display().to_string()]
        .iter()
        .flat_map(|file| {
            wanted.iter().map(|&(line, _)| Line { file: (*file).to_owned(), line, meant: Meant::All })
        })
        .collect();
    let limits = Limits { time: Duration::from_secs(5), ..Limits::default() };
    let new_solver = || Some(Box::new(Z3::new(limits).ok()?) as Box<dyn Solver>);
    let closed = unreached(&[bitcode(&source)], Extent::Whole, &lines, &new_solver).unwrap();
    for (line, expected) in wanted {
        let found = lines.iter().zip(&closed).any(|(at, &is_closed)| at.line == line && is_closed);
        let text = source.lines().nth(line as usize - 1).unwrap_or_default();
        assert_eq!(found, expected, "line {line}: {}", text.trim());
    }
}

#[test]
fn a_counter_does_not_get_past_what_ends_its_loop() {
    check(
        "static int bad_line(const char *s) { return strlen(s) < 3; }
         int main(void) {
             char line[80];
             int bad = 0, errors = 0, c;
             while (bad < 3 && fgets(line, sizeof line, stdin))
                 if (bad_line(line)) bad++;
             if (bad > 3)
                 leak(); // closed
             if (bad == 3)
                 leak(); // open
             while ((c = getchar()) != EOF)
                 if (c == 'x' && ++errors == 4) break;
             if (errors > 4)
                 leak(); // closed
             if (errors > 3)
                 leak(); // open
             if (c > 255)
                 leak(); // closed
             if (c < 0)
                 leak(); // open
             return 0;
         }",
    );
}

#[test]
fn a_variable_has_what_was_stored() {
    check(
        "static int stack[16], depth, limit = 10, mode, passed;
         static void push(int v) { if (depth == 16) return; stack[depth++] = v; }
         static void pop(void) { if (depth > 0) depth--; }
         static int run(const char *s) { push(*s); return 0; }
         static int drop(const char *s) { pop(); return *s; }
         static int (*const commands[])(const char *) = {run, drop};
         int main(int argc, char **argv) {
             if (argc < 2) return 1;
             limit = atoi(argv[1]);
             if (limit < 1 || limit > 50) return 2;
             for (int i = 2; i < argc; i++) {
                 commands[i & 1](argv[i]);
                 if (*argv[i] == 'm') mode = *argv[i] & 3;
                 passed += 3;
             }
             if (depth > 16)
                 leak(); // closed
             if (depth < 0)
                 leak(); // closed
             if (depth == 16)
                 leak(); // open
             if (limit > 60)
                 leak(); // closed
             if (limit == 50)
                 leak(); // open
             if (mode == 4)
                 leak(); // closed
             if (mode == 1)
                 leak(); // open
             if (passed < 0)
                 leak(); // open
             return 0;
         }",
    );
}

#[test]
fn what_is_written_elsewhere_is_not_known() {
    check(
        "static int by_address, by_copy, by_jump, by_callback, late, outer;
         static struct { int a, b; } pair, whole;
         static volatile int by_signal;
         int shared;
         static void set(int *at) { scanf(\"%d\", at); }
         static int compare(const void *a, const void *b) { by_callback = 9; return 0; }
         static void at_end(void) {
             if (late == 7)
                 leak(); // open
             if (late == 8)
                 leak(); // closed
         }
         static void inner(int n) { if (n > 0) inner(n - 1); else outer = 5; }
         int main(int argc, char **argv) {
             char values[8];
             set(&by_address);
             if (by_address == 3)
                 leak(); // open
             memcpy(&by_copy, argv[0], sizeof by_copy);
             if (by_copy == 3)
                 leak(); // open
             memcpy(&whole, argv[0], sizeof whole);
             if (whole.b == 3)
                 leak(); // open
             if (by_signal == 3)
                 leak(); // open
             if (shared)
                 leak(); // closed
             pair.a = argc > 3 ? 2 : 1;
             if (pair.b)
                 leak(); // closed
             if (pair.a == 2)
                 leak(); // open
             atexit(at_end);
             by_callback = 1;
             qsort(values, 8, 1, compare);
             if (by_callback == 9)
                 leak(); // open
             outer = 1;
             inner(argc);
             if (outer == 5)
                 leak(); // open
             if (outer == 6)
                 leak(); // closed
             late = 7;
             exit(0);
         }",
    );
}

#[test]
fn a_signal_may_come_at_any_call() {
    check(
        "static int stopped, told;
         static void stop(int number) { stopped = 1; }
         static int tell(const char *s) { told = 2; return puts(s); }
         int main(int argc, char **argv) {
             int (*say)(const char *) = argc > 1 ? tell : puts;
             signal(SIGINT, stop);
             stopped = 0;
             while (getchar() != EOF) {}
             if (stopped)
                 leak(); // open
             if (stopped > 1)
                 leak(); // closed
             told = 1;
             say(argv[0]);
             if (told == 2)
                 leak(); // open
             return 0;
         }",
    );
}

#[test]
fn a_jump_back_keeps_nothing() {
    check(
        "static jmp_buf back;
         static int step;
         int main(void) {
             step = 0;
             if (setjmp(back)) {
                 if (step == 2)
                     leak(); // open
                 return 1;
             }
             step = 2;
             longjmp(back, 1);
         }",
    );
}

#[test]
fn numbers_wrap_around() {
    check(
        "int main(int argc, char **argv) {
             unsigned char small = 0;
             unsigned sum = 0;
             int up = 1;
             for (char *p = argv[0]; *p; p++) { small++; sum += *p; up *= 3; }
             if (small == 0)
                 leak(); // open
             if (sum < 5)
                 leak(); // open
             if (up < 0)
                 leak(); // open
             unsigned char length = argv[0][0];
             if (length > 255)
                 leak(); // closed
             if (length + 1 > 255)
                 leak(); // open
             int n = argv[0][1] & 15;
             if (n - 16 >= 0)
                 leak(); // closed
             if ((unsigned)(n - 1) > 14)
                 leak(); // open
             return 0;
         }",
    );
}

#[test]
fn functions_get_what_all_calls_pass() {
    check(
        "static int level(int n, int most) {
             if (n > most) return -1;
             if (n > 9)
                 leak(); // closed
             if (n == 8)
                 leak(); // open
             int c = getchar();
             return c == '(' ? level(n + 1, most) : c == ')' ? n : level(n, most);
         }
         int main(void) {
             int depth = level(0, 8);
             if (depth > 8)
                 leak(); // closed
             if (depth < -1)
                 leak(); // closed
             if (depth == -1)
                 leak(); // open
             if (depth == 8)
                 leak(); // open
             return 0;
         }",
    );
}

#[test]
fn what_was_scanned_and_checked_stays_so() {
    check(
        "static int date(const char *s, int *m, int *d) {
             if (sscanf(s, \"%d-%d\", m, d) != 2) return -1;
             if (*m < 1 || *m > 12 || *d < 1 || *d > 31) return -1;
             return 0;
         }
         int main(int argc, char **argv) {
             int m = 6, d = 1, kept = 1, n = 0;
             int *pointer = &kept;
             if (argc > 1 && date(argv[1], &m, &d) < 0) return 1;
             puts(\"read\");
             if (m > 12)
                 leak(); // closed
             if (d == 0)
                 leak(); // closed
             if (d == 31)
                 leak(); // open
             scanf(\"%d\", &n);
             if (n < 5) return 1;
             scanf(\"%d\", &n);
             if (n < 5)
                 leak(); // open
             if (argc > 2) *pointer = argc;
             if (kept == 3)
                 leak(); // open
             char text[8] = \"1234567\", *end;
             long first = strtol(text, &end, 10);
             if (argc > 3) *end = 1;
             if (text[7])
                 leak(); // open
             return first;
         }",
    );
}

#[test]
fn what_is_compared_with_another_value_stays_on_its_side() {
    check(
        "static unsigned char buf[256];
         int main(void) {
             size_t n = fread(buf, 1, sizeof buf, stdin);
             unsigned at = 12;
             while (at + 8 <= n) {
                 unsigned len = buf[at] | buf[at + 1] << 8;
                 if (len > n - at - 8) break;
                 if (len > 255)
                     leak(); // closed
                 if (len > 235)
                     leak(); // open
                 at += 8 + len;
             }
             if (n > 256)
                 leak(); // closed
             return 0;
         }",
    );
    check(
        "int main(void) {
             int depth = 0, hidden = 0, head = 0, tail = 0, c;
             while ((c = getchar()) != EOF) {
                 if (c == '{') {
                     depth++;
                     if (hidden || getchar() == '!') hidden++;
                     if (depth > 3) break;
                 } else if (c == '}') {
                     if (depth == 0) break;
                     depth--;
                     if (hidden) hidden--;
                     if (hidden > depth)
                         leak(); // closed
                     if (hidden == depth)
                         leak(); // open
                 } else if (c == '+' && tail < 64) {
                     tail++;
                 } else if (c == '-' && head < tail) {
                     head++;
                 }
                 if (head > tail)
                     leak(); // closed
                 if (head == tail)
                     leak(); // open
             }
             return 0;
         }",
    );
    check(
        "int main(void) {
             char line[80];
             if (!fgets(line, sizeof line, stdin)) return 1;
             size_t n = strlen(line), i = 0;
             while (i < n && line[i] != ':') i++;
             if (i > n)
                 leak(); // closed
             if (i == n)
                 leak(); // open
             return 0;
         }",
    );
}

#[test]
fn sums_wrap_around_and_old_values_are_old() {
    check(
        "int main(void) {
             unsigned a, n;
             int k;
             if (scanf(\"%u %u %d\", &a, &n, &k) != 3) return 1;
             if (a + 8 <= n && n < 100) {
                 if (a > n)
                     leak(); // open
             }
             if (k > 0 && k + 1 < k)
                 leak(); // open
             if (a - n < 10 && a < n)
                 leak(); // open
             return 0;
         }",
    );
    check(
        "int main(void) {
             int last = 0, before = 0, lap = 0, c;
             while ((c = getchar()) != EOF) {
                 int next = last + 1;
                 if (c < last)
                     leak(); // open
                 if (lap && before > last)
                     leak(); // open
                 if (c > last + 300)
                     leak(); // closed
                 before = last;
                 last = c;
                 if (next > last)
                     leak(); // open
                 lap = 1;
             }
             return 0;
         }",
    );
    check(
        "int main(void) {
             int i = 0, c;
             while ((c = getchar()) != EOF) {
                 int old = i, is_big = i > 5;
                 if (c == 'x') i++;
                 if (c == 'y') putchar(c);
                 if (is_big) {
                     if (old > 300)
                         leak(); // open
                     if (old < 6)
                         leak(); // closed
                 }
             }
             return 0;
         }",
    );
    check(
        "int main(void) {
             int a = 0, b = 1, c;
             while ((c = getchar()) != EOF) {
                 if (a < b && c == 's') { int t = a; a = b; b = t; }
                 if (a > b)
                     leak(); // open
                 if (c == 'u') a = b;
                 if (a == b)
                     leak(); // open
                 if (c == 'v') b = a + c;
                 if (a < b - 1)
                     leak(); // open
             }
             return 0;
         }",
    );
}

#[test]
fn what_was_compared_in_memory_stays_so_until_somebody_writes() {
    check(
        "struct account { char name[16]; long balance; char *note; struct account *next; };
         static struct account *all;
         static struct account *find(const char *name) {
             for (struct account *a = all; a; a = a->next)
                 if (!strcmp(a->name, name)) return a;
             return NULL;
         }
         static void other(struct account *a) { a->balance = getchar(); }
         int main(int argc, char **argv) {
             for (int i = 1; i < argc; i++) {
                 struct account *n = calloc(1, sizeof *n);
                 if (!n) return 1;
                 snprintf(n->name, sizeof n->name, \"%s\", argv[i]);
                 n->balance = i * 100L;
                 n->next = all;
                 all = n;
             }
             char line[80], from[16], to[16];
             long amount;
             while (fgets(line, sizeof line, stdin)) {
                 if (sscanf(line, \"%15s %15s %ld\", from, to, &amount) != 3) break;
                 struct account *a = find(from), *b = find(to);
                 if (!a || !b || a == b || amount <= 0 || a->balance < amount) continue;
                 char *note = malloc(32);
                 if (!note) return 1;
                 snprintf(note, 32, \"%s>%s\", from, to);
                 a->balance -= amount;
                 b->balance += amount;
                 if (a->balance < 0)
                     leak(); // closed
                 if (b->balance < 0)
                     leak(); // open: it wraps around
                 other(b);
                 if (a->balance < 0)
                     leak(); // open: what a function writes is not followed
                 a->note = note;
             }
             return 0;
         }",
    );
}

#[test]
fn what_may_be_the_same_in_memory_is_not_kept_apart() {
    check(
        "struct pair { int low, high; };
         static void fill(struct pair *p) { p->low = getchar(); p->high = getchar(); }
         int main(int argc, char **argv) {
             struct pair *a = malloc(sizeof *a), *b = argc > 2 ? a : malloc(sizeof *b);
             if (!a || !b) return 1;
             fill(a);
             fill(b);
             if (a->low >= a->high) return 1;
             if (a->low > a->high)
                 leak(); // closed
             b->low = 1000;
             if (a->low > a->high)
                 leak(); // open: both may be one
             for (int i = 0; i < argc; i++) {
                 if (a->high < 5 && a->low > 7)
                     leak(); // open: the loop writes
                 a->low = atoi(argv[i]);
             }
             int *numbers = calloc(4, sizeof *numbers);
             if (!numbers) return 1;
             numbers[0] = getchar();
             numbers[argc & 3] = 7;
             if (numbers[0] > 255)
                 leak(); // closed
             if (numbers[0] == 7 && (argc & 3) == 1)
                 leak(); // open
             return 0;
         }",
    );
}

#[test]
fn numbers_that_belong_together_leave_no_way() {
    check(
        "int main(int argc, char **argv) {
             if (argc != 4) return 1;
             long a = strtol(argv[1], NULL, 10), b = strtol(argv[2], NULL, 10), c = strtol(argv[3], NULL, 10);
             if (a < b && b < c && c < a)
                 leak(); // closed
             if (a < 0 || a > 1000 || b < 0 || b > 1000) return 1;
             if (a * b > 1000000)
                 leak(); // closed
             if (a * b == 999 * 999)
                 leak(); // open
             if ((a ^ b) == 5 && (a & 1) == (b & 1))
                 leak(); // closed
             if (c + a < c)
                 leak(); // open: it wraps around
             return 0;
         }",
    );
}
