//! Variants made from records that are written by hand, with transformations
//! that change nothing or refuse.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use leakscope_capture::derive::{DeriveError, Derived, Kept, Variant, derive};
use leakscope_capture::{Blob, Input, Link, LinkId, LinkKind, Member, Store, Unit, UnitId};

/// A folder with sources, and a store beside them.
struct Project {
    folder: tempfile::TempDir,
    store: Store,
    runtime: Vec<PathBuf>,
}

impl Project {
    fn new() -> Project {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join(".leakscope")).unwrap();
        Project { folder, store, runtime: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a tool in the project's folder, and gives what it wrote.
    fn tool(&self, program: &str, arguments: &[&str]) -> String {
        output(Command::new(program).args(arguments).current_dir(&self.folder))
    }

    fn unit(&self, name: &str, source: &str) -> UnitId {
        self.unit_with(name, source, "O2", &["-fPIC"])
    }

    fn unit_with(&self, name: &str, source: &str, optimisation: &str, codegen: &[&str]) -> UnitId {
        fs::write(self.path(name), source).unwrap();
        let flags = ["-g", "-O1", "-fPIC", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"];
        self.tool("clang-19", &[&flags[..], &[name, "-o", "unit.bc"]].concat());
        let unit = Unit {
            source: self.path(name),
            text: None,
            directory: self.folder.path().to_owned(),
            compiler: "/usr/bin/gcc".into(),
            arguments: vec!["-c".into(), name.into()],
            optimisation: optimisation.into(),
            codegen: codegen.iter().map(|flag| flag.to_string()).collect(),
        };
        self.store.add_unit(&unit, &fs::read(self.path("unit.bc")).unwrap()).unwrap()
    }

    /// An object that the user's own compiler made.
    fn object(&self, source: &str) -> Blob {
        fs::write(self.path("own.c"), source).unwrap();
        self.tool("gcc", &["-fPIC", "-c", "own.c", "-o", "own.o"]);
        self.store.add_blob(&fs::read(self.path("own.o")).unwrap()).unwrap()
    }

    fn link(&self, name: &str, driver: &str, arguments: Vec<Input>) -> LinkId {
        let shared = arguments.contains(&Input::Flag("-shared".into()));
        let link = Link {
            output: self.path(name),
            directory: self.folder.path().to_owned(),
            driver: driver.into(),
            kind: if shared { LinkKind::Shared } else { LinkKind::Executable },
            arguments,
        };
        self.store.add_link(&link).unwrap()
    }

    /// Makes the variant with a transformation that refuses the sources
    /// whose names begin with "refused".
    fn derive(&self, link: &LinkId) -> Result<Derived, DeriveError> {
        let transform = |bitcode: &[u8], unit: &Unit, _: LinkKind| {
            let name = unit.source.file_name().unwrap().to_str().unwrap();
            if name.starts_with("refused") { Err("refused here".to_owned()) } else { Ok(bitcode.to_vec()) }
        };
        let variant = Variant {
            name: "test",
            key: "1",
            transform: &transform,
            runtime: &self.runtime,
            whole: &[],
            link_flags: &["-Wl,--export-dynamic-symbol=runtime_*".to_owned()],
            loads_modules: true,
        };
        derive(&self.store, link, &variant, &|_, _| {})
    }

    /// Derives `link`, runs it, and compares what it prints; then derives it
    /// again, which must find everything in place.
    fn check(&self, link: &LinkId, expected: &str) -> Derived {
        let derived = self.derive(link).unwrap();
        let entries = fs::read_dir(self.store.root().join("derived/test")).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(!names.any(|name| name.starts_with("tmp-")), "a half-made file is left");
        assert_eq!(output(&mut Command::new(&derived.program)), expected);
        let again = self.derive(link).unwrap();
        assert_eq!(
            again,
            Derived { rebuilt: 0, reused: derived.rebuilt + derived.reused, relinked: 0, ..derived.clone() }
        );
        derived
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {} {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

fn flag(text: &str) -> Input {
    Input::Flag(text.into())
}

fn units(units: &[&UnitId]) -> Input {
    let units = units.iter().map(|unit| (*unit).clone()).collect();
    Input::Units { units, object: None, path: "unit.o".into() }
}

fn member(name: &str, units: &[&UnitId], object: Option<Blob>) -> Member {
    Member { name: name.into(), units: units.iter().map(|unit| (*unit).clone()).collect(), object }
}

fn kept(input: impl AsRef<Path>, reason: &str) -> Kept {
    Kept { input: input.as_ref().to_owned(), reason: reason.to_owned() }
}

const HELLO: &str = "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n";

#[test]
fn a_c_program_at_every_level() {
    for level in ["O0", "O1", "O2", "O3", "Os", "Oz"] {
        let project = Project::new();
        let unit = project.unit_with("main.c", HELLO, level, &["-fPIE", "-ffunction-sections"]);
        let link = project.link("prog", "/usr/bin/gcc", vec![flag("-pie"), units(&[&unit])]);
        let derived = project.check(&link, "hello\n");
        assert_eq!((derived.rebuilt, derived.reused, derived.relinked), (1, 0, 1));
        assert!(derived.program.ends_with("prog") && derived.kept.is_empty());
    }
}

#[test]
fn a_cxx_program() {
    let project = Project::new();
    let source = "#include <iostream>
        #include <stdexcept>
        void fail();
        int main() { try { fail(); } catch (const std::exception &error) { std::cout << error.what() << '\\n'; } }";
    let main = project.unit("main.cc", source);
    let fail = project
        .unit("fail.cc", "#include <stdexcept>\nvoid fail() { throw std::runtime_error(\"failed\"); }");
    for driver in ["/usr/bin/g++", "/usr/bin/clang++-19", "/nowhere/bin/g++"] {
        let link = project.link("prog", driver, vec![units(&[&main]), units(&[&fail])]);
        project.check(&link, "failed\n");
    }
}

#[test]
fn an_archive_keeps_order_and_equal_names() {
    let project = Project::new();
    let main = project.unit("main.c", "int one(void), two(void), three(void);\n#include <stdio.h>\nint main(void) { printf(\"%d %d %d\\n\", one(), two(), three()); }");
    let one = project.unit("one.c", "int one(void) { return 1; }");
    let two = project.unit("two.c", "int two(void) { return 2; }");
    let three = project.object("int three(void) { return 3; }");
    let path = project.path("lib/libnumbers.a");
    let members = vec![
        member("part.o", &[&one], None),
        member("part.o", &[&two], None),
        member("s.o", &[], Some(three)),
    ];
    let archive = Input::Archive { path: path.clone(), members };
    let link = project.link("prog", "/usr/bin/gcc", vec![units(&[&main]), archive]);
    let derived = project.check(&link, "1 2 3\n");
    assert_eq!(derived.kept, [kept(path.join("s.o"), "not captured")]);

    let folder = project.store.root().join("derived/test/archives");
    let folder = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let archive = folder.join("libnumbers.a");
    assert_eq!(project.tool("ar", &["t", archive.to_str().unwrap()]), "part.o\npart.o\ns.o\n");
}

#[test]
fn a_member_of_several_units_is_taken_whole() {
    let project = Project::new();
    let main = project.unit("main.c", "int one(void);\nint main(void) { return one() - 1; }");
    let one = project.unit("one.c", "int one(void) { return 1; }");
    let start = project.unit(
        "start.c",
        "#include <stdio.h>\n__attribute__((constructor)) static void start(void) { puts(\"started\"); }",
    );
    let members = vec![member("both.o", &[&one, &start], None)];
    let archive = Input::Archive { path: project.path("libboth.a"), members };
    let empty = Input::Archive { path: project.path("libempty.a"), members: Vec::new() };
    let link = project.link("prog", "/usr/bin/gcc", vec![units(&[&main]), empty, archive]);
    assert_eq!(project.check(&link, "started\n").rebuilt, 3);
}

#[test]
fn the_runtime_is_in_the_program_whole() {
    let mut project = Project::new();
    let source =
        "#include <stdio.h>\n__attribute__((constructor)) static void start(void) { puts(\"runtime\"); }";
    fs::write(project.path("rt.c"), source).unwrap();
    project.tool("gcc", &["-c", "rt.c"]);
    project.tool("ar", &["rc", "librt.a", "rt.o"]);
    project.runtime = vec![project.path("librt.a")];
    let unit = project.unit("main.c", HELLO);
    let link = project.link("prog", "/usr/bin/gcc", vec![units(&[&unit])]);
    project.check(&link, "runtime\nhello\n");
}

#[test]
fn captured_libraries_are_the_ones_found() {
    let mut project = Project::new();
    fs::write(project.path("rt.c"), "int runtime_number(void) { return 42; }").unwrap();
    project.tool("gcc", &["-c", "rt.c"]);
    project.runtime = vec![project.path("rt.o")];

    let script = project.store.add_blob(b"{ global: inner; outer; local: *; };").unwrap();
    let inner =
        project.unit("inner.c", "int runtime_number(void);\nint inner(void) { return runtime_number(); }");
    let inner = project.link(
        "libinner.so",
        "/usr/bin/gcc",
        vec![
            flag("-shared"),
            Input::File {
                before: "-Wl,-z,defs,-soname,libinner.so.1,--version-script=".into(),
                file: script,
                after: ",--no-undefined".into(),
            },
            units(&[&inner]),
        ],
    );
    let outer = project.unit("outer.c", "int inner(void);\nint outer(void) { return inner(); }");
    let outer = project.link(
        "libouter.so",
        "/usr/bin/gcc",
        vec![
            flag("-shared"),
            flag("-z"),
            flag("defs"),
            units(&[&outer]),
            Input::Captured { path: project.path("libinner.so"), link: inner },
        ],
    );
    let main = project.unit(
        "main.c",
        "#include <stdio.h>\nint outer(void);\nint main(void) { printf(\"%d\\n\", outer()); }",
    );
    let link = project.link(
        "prog",
        "/usr/bin/gcc",
        vec![
            units(&[&main]),
            flag("-Wl,--enable-new-dtags,-rpath,$ORIGIN/other"),
            Input::Captured { path: project.path("libouter.so"), link: outer },
        ],
    );
    let derived = project.check(&link, "42\n");
    assert_eq!((derived.rebuilt, derived.relinked), (3, 3));
    let names: Vec<_> = derived.libraries.iter().map(|library| library.file_name().unwrap()).collect();
    assert_eq!(names, ["libinner.so.1", "libouter.so"]);

    // The user's own libraries, where the environment says to look first.
    project.object("int inner(void) { return 1; }");
    project.tool("gcc", &["-shared", "own.o", "-o", "libinner.so.1"]);
    let mut command = Command::new(&derived.program);
    assert_eq!(output(command.env("LD_LIBRARY_PATH", project.folder.path())), "42\n");
    let dynamic = project.tool("readelf", &["-d", derived.program.to_str().unwrap()]);
    let other = format!("{}/other", project.folder.path().display());
    assert!(dynamic.contains("(RPATH)") && dynamic.contains(&other), "{dynamic}");
}

#[test]
fn what_was_not_captured_stays() {
    let project = Project::new();
    let main = project.unit("main.c", "int own(void);\nint main(void) { return own(); }");
    let own = Input::Object { object: project.object("int own(void) { return 0; }"), path: "own.o".into() };
    let link = project.link("prog", "/usr/bin/gcc", vec![units(&[&main]), own]);
    assert_eq!(project.check(&link, "").kept, [kept("own.o", "not captured")]);
}

#[test]
fn a_refused_unit_stays_the_users_own() {
    let project = Project::new();
    let says = |what: &str| format!("#include <stdio.h>\nvoid say(void) {{ puts(\"{what}\"); }}");
    let main = project.unit("main.c", "void say(void);\nint main(void) { say(); }");
    let refused = project.unit("refused.c", &says("as captured"));
    let impossible = project.unit_with("impossible.c", &says("as captured"), "O2", &["-mcmodel=nonsense"]);

    let say =
        |unit: &UnitId, object| Input::Units { units: vec![unit.clone()], object, path: "say.o".into() };
    let link = |input| project.link("prog", "/usr/bin/gcc", vec![units(&[&main]), input]);

    let derived =
        project.check(&link(say(&refused, Some(project.object(&says("own object"))))), "own object\n");
    assert_eq!(derived.kept, [kept("say.o", "refused here")]);
    let derived = project.check(&link(say(&refused, None)), "as captured\n");
    assert_eq!((derived.rebuilt, derived.reused, derived.kept.len()), (0, 1, 1));

    let derived =
        project.check(&link(say(&impossible, Some(project.object(&says("own object"))))), "own object\n");
    assert!(derived.kept[0].reason.contains("nonsense"), "{:?}", derived.kept);
    let error = project.derive(&link(say(&impossible, None))).unwrap_err().to_string();
    assert!(error.contains("impossible.c") && error.contains("nonsense"), "{error}");
}

#[test]
fn flags_that_do_not_fit_are_left_out() {
    let project = Project::new();
    let unit = project.unit("main.c", HELLO);
    let flags = [
        "-s",
        "-Wl,-s,-S",
        "-Wl,--strip-all",
        "-flto",
        "-flto=auto",
        "-fuse-linker-plugin",
        "-x",
        "c",
        "-O2",
        "-Wl,-Map,prog.map",
        "-Wl,-Map=prog.map",
        "-Xlinker",
        "-Map",
        "-Xlinker",
        "prog.map",
        "-Wall",
        "-fsanitize=address",
    ];
    for driver in ["/usr/bin/gcc", "/usr/bin/clang-19"] {
        let mut arguments: Vec<Input> = flags.iter().map(|text| flag(text)).collect();
        arguments.extend([flag("-Werror"), flag("-DX"), units(&[&unit])]);
        let derived = project.check(&project.link("prog", driver, arguments), "hello\n");
        let sections = project.tool("readelf", &["-SW", derived.program.to_str().unwrap()]);
        assert!(sections.contains(".debug_info") && sections.contains(".symtab"), "{sections}");
        assert!(!project.path("prog.map").exists(), "{driver} wrote the user's map file");
    }
}

#[test]
fn a_changed_file_or_key_is_linked_again() {
    let project = Project::new();
    let unit = project.unit("main.c", "int own(void);\nint main(void) { return own(); }");
    project.object("int own(void) { return 0; }");
    project.tool("gcc", &["-shared", "own.o", "-Wl,-soname,libown.so", "-o", "libown.so"]);
    let link = project.link(
        "prog",
        "/usr/bin/gcc",
        vec![units(&[&unit]), flag("libown.so"), flag("-Wl,-rpath,$ORIGIN")],
    );
    let first = project.check(&link, "");

    project.tool("strip", &["libown.so"]);
    let second = project.check(&link, "");
    assert_eq!((second.rebuilt, second.reused, second.relinked), (0, 1, 1));
    assert_ne!(first.program, second.program);

    fs::remove_file(project.path("libown.so")).unwrap();
    let error = project.derive(&link).unwrap_err();
    assert!(matches!(&error, DeriveError::Vanished { file, .. } if file.ends_with("libown.so")), "{error}");

    let calls = Mutex::new(0);
    let transform = |bitcode: &[u8], _: &Unit, _: LinkKind| {
        *calls.lock().unwrap() += 1;
        Ok(bitcode.to_vec())
    };
    let steps = Mutex::new(Vec::new());
    let variant = Variant {
        name: "test",
        key: "2",
        transform: &transform,
        runtime: &[],
        whole: &[],
        link_flags: &[],
        loads_modules: true,
    };
    let error =
        derive(&project.store, &link, &variant, &|done, total| steps.lock().unwrap().push((done, total)));
    assert!(error.is_err());
    assert_eq!((*calls.lock().unwrap(), &steps.lock().unwrap()[..]), (1, &[(1, 2)][..]));
}

#[test]
fn static_programs_are_loaded() {
    let project = Project::new();
    let main = project.unit("main.c", HELLO);
    for how in ["-static", "-static-pie"] {
        let link = project.link("prog", "/usr/bin/gcc", vec![flag(how), units(&[&main])]);
        let derived = project.check(&link, "hello\n");
        let program = fs::read(&derived.program).unwrap();
        assert!(program.windows(8).any(|bytes| bytes == b"ld-linux"), "{how}");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let project = Project::new();
    let check = |link: &LinkId, expected: &[&str]| {
        let error = project.derive(link).unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "expected {part:?} in {error}");
        }
    };
    let main = project.unit("main.c", "int missing(void);\nint main(void) { return missing(); }");
    let link = project.link("prog", "/usr/bin/gcc", vec![units(&[&main])]);
    check(&link, &["/usr/bin/gcc cannot make", "prog", "undefined reference to `missing'"]);
    check(&project.link("prog", "/usr/bin/gcc", vec![units(&[&main]), flag("-lnowhere")]), &["-lnowhere"]);
    check(&LinkId("0123".into()), &["damaged", "0123.json"]);
    let gone = UnitId("4567".into());
    check(&project.link("prog", "/usr/bin/gcc", vec![units(&[&gone])]), &["damaged", "4567.bc"]);
    let object = Input::Object { object: Blob("89ab".into()), path: "a.o".into() };
    check(&project.link("prog", "/usr/bin/gcc", vec![object]), &["damaged", "89ab"]);
}

#[test]
fn several_derives_at_once() {
    let project = Project::new();
    let unit = project.unit("main.c", HELLO);
    let link = project.link("prog", "/usr/bin/gcc", vec![units(&[&unit])]);
    let transform = |bitcode: &[u8], _: &Unit, _: LinkKind| Ok(bitcode.to_vec());
    let variant = Variant {
        name: "test",
        key: "1",
        transform: &transform,
        runtime: &[],
        whole: &[],
        link_flags: &[],
        loads_modules: true,
    };
    std::thread::scope(|scope| {
        let derives: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| derive(&project.store, &link, &variant, &|_, _| {}).unwrap()))
            .collect();
        for derived in derives {
            assert_eq!(output(&mut Command::new(derived.join().unwrap().program)), "hello\n");
        }
    });
}

#[test]
fn what_a_killed_derive_left_goes_after_a_day() {
    let project = Project::new();
    let folder = project.store.root().join("derived/test");
    for name in ["tmp-old", "tmp-new"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    project.tool("touch", &["-d", "2 days ago", folder.join("tmp-old").to_str().unwrap()]);
    let unit = project.unit("main.c", HELLO);
    let link = project.link("prog", "/usr/bin/gcc", vec![units(&[&unit])]);
    project.derive(&link).unwrap();
    assert_eq!(["tmp-old", "tmp-new"].map(|name| folder.join(name).exists()), [false, true]);
}
