//! Captures without a build command: bare files, compilation databases.

mod project;

use std::path::PathBuf;

use leakscope_capture::{
    CaptureError, Input, LinkKind, Store, build_compdb, capture_files, inspect, link_from_debug_info, program,
};
use project::Project;

const MAIN: (&str, &str) = ("src/main.c", "int other(void);\nint main(void) { return other(); }\n");
const OTHER: (&str, &str) = ("src/other.cc", "extern \"C\" int other() { return *new int(0); }\n");

/// The link's arguments, units by the names of their sources.
fn arguments(store: &Store, inputs: &[Input]) -> Vec<String> {
    let name = |input: &Input| match input {
        Input::Flag(flag) => flag.clone(),
        Input::Units { units, .. } => {
            let unit = store.unit(&units[0]).unwrap();
            format!("{} -{}", unit.source.file_name().unwrap().display(), unit.optimisation)
        }
        Input::Captured { path, .. } => format!("captured {}", path.file_name().unwrap().display()),
        other => format!("{other:?}"),
    };
    inputs.iter().map(name).collect()
}

#[test]
fn bare_files() {
    let project =
        Project::new(&[MAIN, OTHER, ("src/wrong.c", "int main(void) { return x; }\n"), ("src/a.txt", "")]);
    let store = Store::create(&project.path(".leakscope")).unwrap();
    let files = [MAIN.0, OTHER.0].map(|name| project.path(name));
    let link = store.link(&capture_files(&store, &files, &["-O2".to_owned()]).unwrap()).unwrap();
    assert_eq!(arguments(&store, &link.arguments), ["main.c -O2", "other.cc -O2", "-lm", "-pthread"]);
    assert!(link.driver.ends_with("clang++-19"), "{link:?}");

    let fails = |name: &str| capture_files(&store, &[project.path(name)], &[]).unwrap_err().to_string();
    let message = fails("src/wrong.c");
    assert!(message.contains("wrong.c does not compile:\n"), "{message}");
    assert!(message.contains("error: use of undeclared identifier 'x'\n"), "{message}");
    assert!(fails("src/none.c").starts_with("no such file: "));
    assert!(fails("src/a.txt").contains("is no C or C++ source"));
}

#[test]
fn compilation_databases() {
    let nested = ("src/nested.c", "int f(void) { int g(void) { return 0; } return g(); }\n");
    let project = Project::new(&[MAIN, OTHER, nested]);
    let database = r#"[
        {"directory": "BASE/b", "file": "../src/main.c", "command": "gcc -g -O1 -c ../src/main.c -o main.o"},
        {"directory": "BASE", "file": "src/other.cc", "arguments": ["ccache", "/usr/bin/g++", "-g", "-O2", "-fPIC", "-c", "src/other.cc"]},
        {"directory": "BASE", "file": "src/nested.c", "command": "gcc -c src/nested.c"}]"#;
    let database = database.replace("BASE", project.path("").to_str().unwrap().trim_end_matches('/'));
    let path = project.path("compile_commands.json");
    std::fs::write(&path, database).unwrap();
    let built = project.plain(
        "mkdir b; cd b; gcc -g -O1 -c ../src/main.c -o main.o; cd ..; g++ -g -O2 -fPIC -shared src/other.cc -o libother.so
         gcc b/main.o -L. -lother -Wl,-rpath,'$ORIGIN' -o prog; gcc -g -c src/nested.c; gcc nested.o b/main.o -L. -lother -o foreign",
    );
    assert!(built.status.success(), "{built:?}");

    let store = Store::create(&project.path(".leakscope")).unwrap();
    let summary =
        build_compdb(&store, &path, &|done, of| assert!(done <= of && of == 3)).unwrap().to_string();
    assert_eq!(
        summary,
        "captured 2 units, 0 links; 1 not captured:\n  \
         src/nested.c: src/nested.c:1:27: error: function definition is not allowed here"
    );

    let link = store.link(&link_from_debug_info(&store, &project.path("prog")).unwrap()).unwrap();
    let run_path = format!("-Wl,-rpath,{}", project.path("").to_str().unwrap().trim_end_matches('/'));
    assert_eq!(arguments(&store, &link.arguments), [run_path.as_str(), "main.c -O1", "captured libother.so"]);
    let Some(Input::Captured { link: library, .. }) = link.arguments.last() else { panic!("{link:?}") };
    let library = store.link(library).unwrap();
    assert_eq!(library.kind, LinkKind::Shared);
    assert_eq!(arguments(&store, &library.arguments)[..2], ["-shared", "other.cc -O2"]);

    let foreign = link_from_debug_info(&store, &project.path("foreign")).unwrap_err().to_string();
    assert!(foreign.starts_with("1 of the 2 sources of "), "{foreign}");
}

#[test]
fn what_is_no_captured_program() {
    let project = Project::new(&[("text", "hello"), MAIN]);
    assert!(project.plain("gcc -c src/main.c").status.success());
    let missing = project.path("missing");
    assert!(matches!(program(&missing), Err(CaptureError::NoSuchFile(path)) if path == missing));
    assert!(matches!(program(&project.path("text")), Err(CaptureError::NotAProgram(_))));
    assert!(matches!(program(&project.path("main.o")), Err(CaptureError::NotAProgram(_))));
    assert!(matches!(program(&PathBuf::from("/usr/bin/env")), Err(CaptureError::NotCaptured(_))));
    assert!(matches!(inspect(&project.path("main.o")), Err(CaptureError::NotCaptured(_))));
}

#[test]
fn scripts_of_libtool_stand_for_their_programs() {
    let script = ("prog", "#! /bin/sh\n# prog - temporary wrapper script for .libs/prog\n");
    let project = Project::new(&[script, ("main.c", "int main(void) { return 0; }\n")]);
    assert!(project.capture("mkdir .libs; gcc main.c -o .libs/lt-prog").status.success());
    let (store, link) = program(&project.path("prog")).unwrap();
    assert!(store.link(&link).unwrap().output.ends_with(".libs/lt-prog"));
}
