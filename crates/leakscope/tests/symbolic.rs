//! The `symbolic` engine on small programs. Whatever a program does, each
//! branch's term must have, under the input of that very run, the value that
//! the program saw; and the program must do what it does without terms.

mod support;

#[path = "symbolic/run.rs"]
mod run;

use run::{Program, Run, Wanted};

/// Arguments and standard input.
type Input = (&'static [&'static str], &'static str);

/// What each program under `symbolic/programs` is run with.
const PROGRAMS: [(&str, &[Input]); 12] = [
    (
        "bytes.c",
        &[
            (&["hello", "42"], "hello big world\nfoo\n"),
            (&["a", "7"], "x"),
            (&[], ""),
            (&["helpful", "-5"], "one two  three\n\n"),
        ],
    ),
    (
        "values.c",
        &[
            (&["0x123", "Yes"], "hello\nkey = v\n12345678901234567890xyzzy\n"),
            (&["-77", "cabc"], "hello\nkey = v\n\u{7f}\u{1}aAqzZ9012345678901xyz"),
            (&["12a"], "short"),
        ],
    ),
    (
        "options.c",
        &[
            (&[], "12 -7\n 0x1f,hello z 2.5e3 tail"),
            (&["-vxo", "out", "rest"], "1 2"),
            (&["--verbose", "a", "--out=Zed", "b"], "23 17 beef,word q 1"),
            (&["--lev"], "x"),
            (&["--level=3", "--flag"], ""),
            (&["-z", "--", "-v"], "5"),
            (&["--nope=1"], "5"),
            (&["a", "-v", "b", "-q", "c", "3:7"], "5 "),
            (&["--output"], "5 6 "),
        ],
    ),
    (
        "strings.c",
        &[
            (&["alpha", "beta"], "k1=v1;k2=v2\nsecond line\n"),
            (&["a.b.c", "x"], ";;=\n"),
            (&["", "-"], "no separators at all\n\n\n"),
        ],
    ),
    ("numbers.c", &[(&["17", "0x1F", "z"], "10 20 30\n"), (&["-3", "077", "99999999999"], "7 8\n")]),
    ("tables.c", &[(&["ab"], "hello\tbig world\nfoo"), (&["zz"], "all of it")]),
    ("prints.c", &[(&["abc", "42"], ""), (&["qq", "-17"], "")]),
    ("files.c", &[(&["input.txt"], "abcdef\nghi\n"), (&["missing.txt"], "q\n")]),
    ("classes.cc", &[(&["qwabc", "sd"], "x\n"), (&["cba"], ""), (&["zzz", "nx"], "line\n")]),
    (
        "streams.cc",
        &[
            (&["input.txt", "7 11"], "magix\nword 42 60 40\nxyabq;k;z"),
            (&["input.txt", "x"], "magic\n  w -3 4294967295\n"),
        ],
    ),
    ("texts.cc", &[(&["magic"], ""), (&["42"], ""), (&["a gi/;"], "")]),
    ("objects.c", &[(&[], "# no\nxyz\nabc\n"), (&[], "abc")]),
];

#[test]
fn terms_have_the_values_that_the_program_saw() {
    for (name, runs) in PROGRAMS {
        let program = Program::of_file(name);
        for &(arguments, input) in runs {
            let run = program.run(arguments, input);
            assert_eq!(run.wrong(), Vec::<String>::new(), "{name} {arguments:?} {input:?}");
            assert!(run.symbolic() > 0, "{name} {arguments:?} {input:?}: no branch depends on the input");
            let plain = program.plain(arguments, input);
            assert_eq!(run.output, plain, "{name} {arguments:?} {input:?}");
        }
    }
}

/// What is told of a program with this `main`, run with one argument: line,
/// what happened, and the term.
fn check(body: &str, argument: &str, expected: &[&str]) {
    let source = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(int argc, char **argv) {{\n{body}\n}}\n"
    );
    let run: Run = Program::of_source("c", &source).run(&[argument], "in");
    assert_eq!(run.told(), expected, "{body}");
}

#[test]
fn branches_are_told_with_what_the_source_means() {
    check("if (argv[1][0] == 'a') return 1;", "a", &["5 taken Eq(arg1[0],97)"]);
    check("if (!(argv[1][0] == 'a')) return 1;", "a", &["5 not Eq(arg1[0],97)"]);
    check("if (argc > 1) return 1;", "a", &["5 taken Slt(1,argc)"]);
    check(
        "if (getchar() == 'x') return 1;",
        "a",
        &["5 not Eq(Ite(Ult(0,size),ZExt(stdin[0]),4294967295),120)"],
    );
    check(
        "unsigned char c = argv[1][0] + 1; if (c == 'b') return 1;",
        "a",
        &["5 taken Eq(Extract(Add(SExt(arg1[0]),1)),98)"],
    );
    check(
        "switch (argv[1][0]) { case 'x': return 1; case 'a': return 2; }",
        "a",
        &["5 case 2 SExt(arg1[0])"],
    );
}

#[test]
fn models_say_what_they_found() {
    check(
        "if (strchr(argv[1], '=')) return 1;",
        "a=",
        &["5 found And(Not(Eq(arg1[0],61)),Not(Eq(arg1[0],0)))", "5 found Eq(arg1[1],61)"],
    );
    check("char *p = malloc(argv[1][0]); free(p);", "a", &[]);
    check(
        "char t[256] = {0}; t[(unsigned char)argv[1][0]] = 1;",
        "a",
        &[
            // The address is a number of this run.
            "5 address",
        ],
    );
}

#[test]
fn tables_are_terms() {
    let body = "static const char t[256] = { ['a'] = 5, ['b'] = 5, ['z'] = 6 };\nif (t[(unsigned char)argv[1][0]] == 5) return 1;";
    check(
        body,
        "a",
        &[
            "6 taken Eq(Ite(Ule(arg1[0],96),0,Ite(Ule(arg1[0],98),5,Ite(Ule(arg1[0],121),0,Ite(Ule(arg1[0],122),6,0)))),5)",
        ],
    );
}

/// Once, and without long names for letters.
#[test]
fn options_are_told() {
    let run = Program::of_file("options.c").run(&["-v", "--flag"], "");
    assert_eq!(run.options, ["-v 0", "-o 1", "-l 2", "-x 0", "-q 0", "--flag 0", "--lever 0"]);
}

#[test]
fn objects_are_told_with_their_calls() {
    let program = Program::of_file("objects.c");
    let run = program.run(&[], "xyz\n");
    let lives = run.objects();
    // The node by `xmalloc`, its text by `strdup`, which is lost for an x.
    assert_eq!(lives, ["1 of 16 bytes: 4 < 7 < 12", "2 of 5 bytes: 7 < 12", "1 freed: 16",]);
}

/// Only objects of wanted lines are told, and their uses once after each
/// wanted line that is passed.
#[test]
fn uses_are_told_after_wanted_lines() {
    let source = "#include <stdlib.h>
#include <string.h>
static char *make(int n) {
    return malloc(n);
}
int main(void) {
    char *a = make(8), *b = make(9);
    a[0] = 1; b[0] = 2;
    strcpy(a, \"xy\");
    int done = a[1] == 'y';
    if (done)
        a[2]++, a[3]++;
    done = 2;
    free(a);
    return b[0] - done;
}
";
    let program = Program::of_source("c", source);
    let told = |lines| program.run_with(&[], "", &Wanted { lines, ..Wanted::default() }).objects();
    assert_eq!(told(&[]), Vec::<String>::new());
    // A place is wanted, or one that called it: a wrapper's objects are its callers'.
    let births = ["1 of 8 bytes: 4 < 7", "2 of 9 bytes: 4 < 7"];
    let expected = ["passed: 4", births[0], "passed: 4", births[1], "1 used: 8", "1 freed: 14"];
    assert_eq!(told(&[4]), expected);
    let rest = ["passed: 9", "1 used: 9", "passed: 13", "1 freed: 14", "2 used: 15"];
    let mut expected = vec!["passed: 7"];
    expected.extend(births);
    expected.extend(rest);
    assert_eq!(told(&[7, 9, 13]), expected);
}

#[test]
fn calls_fail_where_that_is_wanted() {
    let source = "#include <stdio.h>
#include <stdlib.h>
int main(void) {
    char *a = malloc(1), *b = realloc(0, 2);
    FILE *f = fopen(\"input.txt\", \"r\");
    return !a + 2 * !b + 4 * !f;
}
";
    let program = Program::of_source("c", source);
    let status = |fails| program.run_with(&[], "", &Wanted { fails, ..Wanted::default() }).output.1;
    for (fails, expected) in [(&[][..], 0), (&[0], 1), (&[1], 2), (&[2], 4), (&[0, 2], 5)] {
        assert_eq!(status(fails), Some(expected), "{fails:?}");
    }
}
