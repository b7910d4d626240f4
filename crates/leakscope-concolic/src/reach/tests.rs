use std::process::Command;

use super::*;

/// A program with a place for each function, branch and call.
pub fn program(source: &str) -> (Program, Places) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.c");
    std::fs::write(&path, source).expect("written");
    let output = Command::new("clang-19")
        .args(["-c", "-emit-llvm", "-g", "-O1", "-Xclang", "-disable-llvm-passes", "-w", "-o", "-"])
        .arg(&path)
        .output()
        .expect("clang-19 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = leakscope_ir::link(vec![leakscope_ir::read(&output.stdout).expect("bitcode")]);
    let mut list = Vec::new();
    for function in program.functions.iter().filter(|function| function.body.is_some()) {
        let place = |kind, line, column| Located {
            kind,
            file: "a.c".to_owned(),
            line,
            column,
            ordinal: 0,
            function: function.name.clone(),
            cases: Vec::new(),
            is_reversed: false,
        };
        list.push(place(PlaceKind::Function, function.at.line, 0));
        let blocks = function.body.iter().flat_map(|body| &body.blocks);
        let branches = blocks.filter(|block| matches!(block.end, Terminator::Branch { .. }));
        list.extend(branches.map(|block| place(PlaceKind::Branch, block.end_at.line, block.end_at.column)));
        let instructions =
            function.body.iter().flat_map(|body| &body.blocks).flat_map(|block| &block.instructions);
        let calls = instructions.filter(|instruction| matches!(instruction.op, Op::Call(_)));
        list.extend(calls.map(|call| place(PlaceKind::Call, call.at.line, call.at.column)));
    }
    let mut places = Places::default();
    places.add(1, list);
    (program, places)
}

/// How far it is to line `to` if the branch on line `from` goes this way, with
/// these functions on the stack, from the inside out, with the line of the call
/// where it is known.
#[track_caller]
fn check(source: &str, (from, taken): (u32, bool), stack: &[&str], to: u32, expected: Cost) {
    let (program, places) = program(source);
    let reach = Reach::new(&program, &places);
    let find = |kind, fits: &dyn Fn(&Located) -> bool| {
        let found = places.iter().find(|(_, place)| place.kind == kind && fits(place));
        found.expect("a place").0
    };
    let branch = find(PlaceKind::Branch, &|place| place.line == from);
    let frames = stack.iter().map(|frame| {
        let (name, line) = frame.split_once(':').unwrap_or((frame, ""));
        let is_there = |place: &Located| place.line.to_string() == line;
        let call = if line.is_empty() { 0 } else { find(PlaceKind::Call, &is_there) };
        Frame { function: find(PlaceKind::Function, &|place| place.function == name), call, parent: None }
    });
    let distances = reach.distances(&Spot::new("a.c", to));
    assert_eq!(reach.after(&distances, branch, Way::Branch(taken), frames), expected);
}

const CALLS: &str = "\
extern void exit(int);
extern int in(void);
static void die(void) {
    exit(1);
}
static int f(int a) {
    if (a == 1)
        return 5;
    if (a == 2)
        die();
    return 6;
}
int main(void) {
    int a = f(in());
    in();
    while (a < 9) {
        in();
        if (a == 7)
            a = in();
    }
    return a;
}
";

#[test]
fn within_a_function() {
    check(CALLS, (7, true), &["f"], 8, 0);
    check(CALLS, (7, false), &["f"], 8, NEVER);
    check(CALLS, (7, false), &["f"], 11, 1);
}

#[test]
fn back_in_the_callers_that_are_on_the_stack() {
    check(CALLS, (7, true), &["f", "main"], 15, 0);
    check(CALLS, (7, true), &["f", "main"], 17, 1);
    check(CALLS, (7, true), &["f"], 15, NEVER);
    check(CALLS, (16, true), &["main"], 14, NEVER);
}

#[test]
fn back_behind_the_call_that_it_was() {
    let source = "\
extern int in(void);
static int is(int a) {
    if (in() == a)
        return 1;
    return 0;
}
int main(void) {
    if (is(1))
        return in();
    if (is(2))
        return in();
    return 0;
}
";
    check(source, (3, true), &["is", "main"], 9, 1);
    check(source, (3, true), &["is:10", "main"], 9, NEVER);
    check(source, (3, true), &["is:8", "main"], 9, 1);
    check(source, (3, true), &["is:8", "main"], 11, 2);
    check(source, (3, true), &["is:10", "main"], 11, 1);
}

#[test]
fn calls_that_do_not_come_back() {
    check(CALLS, (9, true), &["f", "main"], 15, NEVER);
    check(CALLS, (9, true), &["f", "main"], 4, 1);
    check(CALLS, (9, false), &["f", "main"], 15, 0);
}

#[test]
fn round_a_loop() {
    check(CALLS, (18, true), &["main"], 17, 1);
    check(CALLS, (16, false), &["main"], 17, NEVER);
}

#[test]
fn calls_through_pointers_go_to_what_has_that_shape() {
    let source = "\
extern int in(void);
static int one(int a) {
    return a + 1;
}
static void two(void) {
    in();
}
static int (*table[])(int) = { one };
static void (*other)(void) = two;
int main(void) {
    if (in() == 3)
        return table[in()](4);
    return 0;
}
";
    check(source, (11, true), &["main"], 3, 1);
    check(source, (11, true), &["main"], 6, NEVER);
    check(source, (11, false), &["main"], 3, NEVER);
}

#[test]
fn to_a_line_that_only_gives_a_local_another_value() {
    let source = "\
extern int in(void);
extern void f(char *), exit(int);
int main(void) {
    char *p = 0;
    while (in()) {
        if (in() == 2) {
            p = (char *)0;
        }
        if (in() == 3) {
            in();
            p = (char *)0;
            exit(1);
        }
        f(p);
    }
    return 0;
}
";
    check(source, (6, true), &["main"], 7, 0);
    check(source, (6, false), &["main"], 7, 3);
    check(source, (9, true), &["main"], 11, 0);
    check(source, (9, false), &["main"], 11, 3);
    check(source, (9, true), &["main"], 7, NEVER);
}
