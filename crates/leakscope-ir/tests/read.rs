//! What is read of small modules.

use std::process::Command;

use leakscope_ir::{Callee, Module, Op, Presence, Program, Terminator, Type, link, needed, read};

fn module(source: &str) -> Module {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.c");
    std::fs::write(&path, source).expect("writable");
    let output = Command::new("clang-19")
        .args([
            "-c",
            "-emit-llvm",
            "-g",
            "-O1",
            "-Xclang",
            "-disable-llvm-passes",
            "-fno-discard-value-names",
        ])
        .args(["-w", "-o", "-"])
        .arg(&path)
        .output()
        .expect("clang-19 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(&output.stdout).expect("bitcode")
}

/// Names of the functions that each function with a body calls.
fn calls(program: &Program) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for function in &program.functions {
        let Some(body) = &function.body else { continue };
        let mut callees = Vec::new();
        for instruction in body.blocks.iter().flat_map(|block| &block.instructions) {
            if let Op::Call(call) = &instruction.op
                && let Callee::Function(callee) = call.callee
            {
                callees.push(program.function(callee).name.clone());
            }
        }
        found.push((function.name.clone(), callees));
    }
    found
}

#[test]
fn names_mean_the_same_in_all_units() {
    let program = link(vec![
        module("void g(void); static void own(void) {} void f(void) { g(); own(); }"),
        module("static void own(void) {} void g(void) { own(); own(); }"),
    ]);
    let named = |name: &str, callees: &[&str]| {
        (name.to_owned(), callees.iter().map(|&callee| callee.to_owned()).collect::<Vec<_>>())
    };
    let mut found = calls(&program);
    found.sort();
    assert_eq!(
        found,
        [named("f", &["g", "own"]), named("g", &["own", "own"]), named("own", &[]), named("own", &[])]
    );
}

/// Members of a static library that nothing refers to are not of the program.
#[test]
fn libraries_give_what_is_needed() {
    let parts = |when| {
        vec![
            (module("void used(void); int main(void) { used(); return 0; }"), when),
            (module("void deeper(void); void used(void) { deeper(); }"), Presence::WhereNeeded),
            (module("void used(void); void unused(void) { used(); }"), Presence::WhereNeeded),
            (module("void deeper(void) {}"), Presence::WhereNeeded),
        ]
    };
    let names = |when| {
        let modules = needed(parts(when)).into_iter();
        let first = modules.map(|module| calls(&module.program)[0].0.clone());
        first.collect::<Vec<_>>()
    };
    assert_eq!(names(Presence::Always), ["main", "used", "deeper"]);
    assert_eq!(names(Presence::WhereNeeded), ["main", "used", "unused", "deeper"]);
}

#[test]
fn variables_have_names_types_and_lines() {
    let program = link(vec![module(
        "struct s { int n; char *name; };\nvoid *f(struct s *list) {\n  char *name = list->name;\n  return name;\n}",
    )]);
    let function = program.functions.iter().find(|function| function.name == "f").expect("f is there");
    assert_eq!(function.at.line, 2);
    let body = function.body.as_ref().expect("a body");
    let names: Vec<&str> = body.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["list", "name"]);
    let Some(Type::Pointer(Some(target))) = body.variables[0].ty.map(|ty| &program.types[ty.0 as usize])
    else {
        panic!("a pointer to a structure, found {:?}", body.variables[0]);
    };
    let Type::Record(fields) = &program.types[target.0 as usize] else { panic!("a structure") };
    let fields: Vec<(&str, i64)> = fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
    assert_eq!(fields, [("n", 0), ("name", 8)]);
}

#[test]
fn damaged_bitcode_is_an_error() {
    assert!(read(b"not bitcode").is_err());
    assert!(read(&[]).is_err());
}

/// Branches of a function with this body: the source from each one's place
/// on, and `not` where the machine tests the opposite of the source.
fn branches(statement: &str) -> Vec<String> {
    let line = format!("int x(void); int f(int a, int b, int c) {{ {statement} return a; }}");
    let program = link(vec![module(&line)]);
    let body = program.functions.iter().find_map(|function| function.body.as_ref()).expect("a body");
    let ends = body.blocks.iter().filter(|block| matches!(block.end, Terminator::Branch { .. }));
    ends.map(|block| {
        let rest: String = line[block.end_at.column as usize - 1..].chars().take(2).collect();
        let not = if block.branch.is_negated { " not" } else { "" };
        format!("{} {}{not}", rest.trim(), block.branch.ordinal)
    })
    .collect()
}

#[test]
fn branches_are_those_of_the_source() {
    let check = |statement, expected: &[&str]| assert_eq!(branches(statement), expected, "{statement}");
    check("if (a) x();", &["a) 0"]);
    check("if (!a) x();", &["!a 0 not"]);
    check("if (!!a) x();", &["!! 0"]);
    check("if (!a) { } else x();", &["!a 0 not"]);
    check("if (!a) return 3;", &["!a 0 not"]);
    check("if (!a && b) x();", &["&& 0 not", "!a 0"]);
    check("if (a && !b) x();", &["&& 0", "a 0 not"]);
    check("if (!a || !b) x();", &["|| 0 not", "!a 0 not"]);
    check("if (!(a || b)) x();", &["|| 0", "!( 0 not"]);
    check("if (!(a && b) && c) x();", &["&& 0", "&& 0 not", "!( 0"]);
    check("if (!(a || b) || c) x();", &["|| 0", "|| 0 not", "!( 0"]);
    check("b = !a && b;", &["&& 0 not"]);
    check("b = !a || b;", &["|| 0 not"]);
    check("b = !a ? b : c;", &["!a 0 not"]);
    check("while (!a) a = x();", &["wh 0"]);
    check("while (!a && b) a = x();", &["&& 0 not", "wh 0"]);
    check("for (; !a; a++) x();", &["fo 0"]);
    check("do a = x(); while (!a);", &["a 0"]);
    check("do { if (!b) break; } while (!a);", &["!b 0 not", "} 0"]);
    check("switch (a) { case 1: if (!b) x(); }", &["!b 0 not"]);
}

/// A macro's branches have the place where it is used.
#[test]
fn branches_of_one_place_are_numbered() {
    let program = link(vec![module(
        "int x(void);\n#define BOTH(a, b) if (a) x(); if (!b) x()\nint f(int a, int b) { BOTH(a, b); return a; }",
    )]);
    let body = program.functions.iter().find_map(|function| function.body.as_ref()).expect("a body");
    let found: Vec<(u32, u32, bool)> = body
        .blocks
        .iter()
        .filter(|block| matches!(block.end, Terminator::Branch { .. }))
        .map(|block| (block.end_at.line, block.branch.ordinal, block.branch.is_negated))
        .collect();
    assert_eq!(found, [(3, 0, false), (3, 1, true)]);
}
