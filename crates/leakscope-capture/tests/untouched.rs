//! A build under capture makes the files that it makes without.

mod project;

use std::fs;

use project::Project;

const FILES: &[(&str, &str)] = &[
    ("main.c", "#include <stdio.h>\nint f(int);\nint main(void) { printf(\"%d\\n\", f(1)); return 0; }\n"),
    ("f.c", "int f(int x) { return x + 1; }\n"),
    ("g.cc", "#include <string>\nstd::string g() { return \"g\"; }\n"),
];

/// Runs `script` with and without capture in the same folder. Each of `outputs`
/// must be the same up to the end of the plain one, but for the two fields of
/// the ELF header that place the section table, and be the same when the
/// section is taken out again.
fn check(script: &str, outputs: &[&str]) {
    let project = Project::new(FILES);
    assert!(project.plain(script).status.success(), "{script}");
    let plain: Vec<_> = outputs.iter().map(|name| fs::read(project.path(name)).unwrap()).collect();
    assert!(project.plain(&format!("rm {}", outputs.join(" "))).status.success());
    assert!(project.capture(script).status.success(), "{script}");
    for (name, plain) in outputs.iter().zip(plain) {
        let mut captured = fs::read(project.path(name)).unwrap();
        assert!(captured.len() > plain.len(), "{script}: {name} has no marker");
        assert!(captured.len() < plain.len() + 8192, "{script}: {name} has grown");
        captured.truncate(plain.len());
        for field in [0x28..0x30, 0x3c..0x3e] {
            captured[field.clone()].copy_from_slice(&plain[field]);
        }
        assert!(captured == plain, "{script}: {name} differs");
        let checked =
            project.plain(&format!("readelf -aW {name} >/dev/null && objcopy -R .leakscope {name} bare"));
        assert!(checked.status.success() && checked.stderr.is_empty(), "{script}: {checked:?}");
    }
}

#[test]
fn outputs_are_those_of_the_plain_build() {
    check("gcc -O2 -g -c main.c f.c; gcc main.o f.o -o prog; ./prog", &["main.o", "f.o", "prog"]);
    check("gcc -g main.c f.c -o prog -Wl,--build-id; ./prog", &["prog"]);
    check(
        "gcc -fPIC -shared f.c -o libf.so; gcc main.c -L. -lf -Wl,-rpath,. -o prog; ./prog",
        &["libf.so", "prog"],
    );
    check("g++ -O1 -ffunction-sections -c g.cc", &["g.o"]);
    check("clang-19 -O2 -g -c main.c f.c; clang-19 main.o f.o -o prog; ./prog", &["main.o", "f.o", "prog"]);
    check("gcc -c main.c f.c; ar rcD libf.a f.o; gcc main.o libf.a -o prog -s; ./prog", &["prog"]);
}

#[test]
fn times_stay_as_the_compiler_set_them() {
    let project = Project::new(FILES);
    let output =
        project.capture("gcc -c f.c; gcc -MD -c main.c; test ! main.d -nt main.o; make -q -f /dev/null f.o");
    assert!(output.status.success(), "{output:?}");
}
