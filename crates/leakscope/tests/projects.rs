//! Captures the projects in `tests/projects` through their own build systems,
//! runs them, and compares the findings with `EXPECT`; the grammar is in
//! `tests/projects/README.md`.

mod support;

use std::fs;
use std::path::PathBuf;

use support::{Folder, Lines, Ran, Tally, first_frame, project_file, ran};

#[test]
fn make() {
    let project = Project::captured("make");
    project.check(&["libstore.so"]);

    // What a plain build makes is the same but for the section that names the
    // capture.
    let files =
        ["main.o", "version.o", "text/wrap.o", "text/trim.o", "store/store.pic.o", "libstore.so", "notes"];
    let captured = files.map(|name| project.folder.path(name)).map(|path| fs::read(path).unwrap());
    project.folder.shell("make -s clean && make -s");
    for (name, captured) in files.iter().zip(captured) {
        project.folder.write("captured", captured);
        project.folder.shell("objcopy -R .leakscope captured bare");
        project.folder.shell(&format!("objcopy -R .leakscope {name} plain && cmp bare plain"));
    }
    project.folder.shell("! readelf -SW plain | grep -q leakscope");
}

#[test]
fn a_source_that_is_gone_is_shown() {
    let project = Project::captured("make");
    let Ran { stderr, .. } = project.folder.run("run notes");
    assert!(stderr.contains("version.c:5"), "{stderr}");
    assert!(!project.folder.path("version.c").exists());
    assert!(stderr.contains("5 │     char *text = malloc(10);"), "{stderr}");
}

#[test]
fn cmake() {
    Project::captured("cmake").check(&["librender.so"]);
}

#[test]
fn autotools() {
    let project = Project::captured("autotools");
    let script = project.folder.read("build/packer");
    assert!(script.contains("temporary wrapper script for"), "libtool made a program at once");
    project.check(&["libpack.so.1"]);
}

#[test]
fn meson() {
    Project::captured("meson").check(&["libclock.so"]);
}

#[test]
fn odd() {
    Project::captured("odd").check(&[]);
}

#[test]
fn inspect() {
    let project = Project::captured("make");
    let inspect = |file: &str| {
        let ran = project.folder.run(&format!("inspect {file}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{file}");
        ran.stdout.replace(&format!("{}/", project.folder.path(".").display()), "")
    };
    assert_eq!(
        inspect("notes"),
        "notes, linked by /usr/bin/cc
  main.c (/usr/bin/cc -O0)
  version.c (/usr/bin/cc -O0)
  text/libtext.a
    text/trim.c (/usr/bin/cc -O0)
    text/wrap.c (/usr/bin/cc -O0)
  libstore.so (captured shared library)
"
    );
    assert_eq!(
        inspect("libstore.so"),
        "libstore.so, linked by /usr/bin/cc
  store/store.c (/usr/bin/cc -O0)
  store/journal.c (/usr/bin/cc -O0)
  text/libtext.a
    text/trim.c (/usr/bin/cc -O0)
    text/wrap.c (/usr/bin/cc -O0)
"
    );
    assert_eq!(inspect("main.o"), "main.o\n  main.c (/usr/bin/cc -O0)\n");
}

/// A program that was built without leakscope, its sources captured from
/// `compile_commands.json`.
#[test]
fn compilation_database() {
    let mut project = Project::copied("cmake");
    project
        .folder
        .shell("cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >log && make -C build >>log");
    let before = fs::read(project.folder.path("build/plotter")).unwrap();
    let built = project.folder.run("build --compdb build/compile_commands.json");
    assert_eq!((built.code, built.only_line()), (0, "captured 4 units, 0 links"));
    project.check(&["librender.so"]);
    assert!(before == fs::read(project.folder.path("build/plotter")).unwrap(), "the program was changed");

    // The same from another folder: the capture lies above the program.
    project.program = project.folder.path("build/plotter").display().to_string();
    fs::create_dir(project.folder.path("elsewhere")).unwrap();
    let mut command = project.folder.leakscope(["run", &project.program]);
    let ran = ran(command.current_dir(project.folder.path("elsewhere")));
    assert!(ran.code == 23 && !ran.stderr.contains("preloaded"), "{ran:?}");
}

/// One of the capture's sources is not in the program's debug info, or the
/// other way round: it is said, and the program runs as it is.
#[test]
fn a_capture_with_half_of_the_sources() {
    let folder = Folder::with(&[
        ("main.c", "int other(void);\nint main(void) { return other(); }\n"),
        ("other.c", "#include <stdlib.h>\nint other(void) { return malloc(7) == 0; }\n"),
    ]);
    let entry = format!(
        r#"[{{"directory": "{}", "file": "main.c", "command": "cc -g -c main.c"}}]"#,
        folder.path(".").display()
    );
    folder.write("compile_commands.json", entry);
    folder.shell("gcc -g main.c other.c -o prog");
    assert_eq!(folder.run("build --quiet --compdb compile_commands.json").code, 0);
    let said = "1 of the 2 sources of";
    let ran = folder.run("run --engine track prog");
    assert!(ran.code == 2 && ran.only_line().starts_with(said), "{ran:?}");
    let ran = folder.run("run prog");
    assert!(ran.code == 23 && ran.stderr.contains(said) && ran.stderr.contains("other.c:2"), "{ran:?}");
}

struct Project {
    folder: Folder,
    builds: Vec<String>,
    program: String,
    arguments: Vec<String>,
    stdout: String,
    expected: Lines,
}

impl Project {
    fn copied(name: &str) -> Project {
        let folder = Folder::with(&[]);
        let source = project_file("tests/projects").join(name);
        folder.shell(&format!("cp -R {}/. .", source.display()));
        let mut project = Project {
            builds: Vec::new(),
            program: String::new(),
            arguments: Vec::new(),
            stdout: String::new(),
            expected: Lines::default(),
            folder,
        };
        for line in project.folder.read("EXPECT").lines().filter(|line| !line.starts_with('#')) {
            let (item, value) = line.split_once(' ').expect("an item and its value");
            match item {
                "build" => project.builds.push(value.to_owned()),
                "program" => project.program = value.to_owned(),
                "args" => project.arguments = value.split_whitespace().map(str::to_owned).collect(),
                "stdout" => project.stdout += &format!("{value}\n"),
                kind => {
                    let words: Vec<&str> = value.split_whitespace().collect();
                    let [place, blocks, bytes] = words[..] else { panic!("{line}") };
                    let place = place.rsplit('/').next().unwrap();
                    let tally = Tally { blocks: blocks.parse().unwrap(), bytes: bytes.parse().unwrap() };
                    project.expected.add(kind, place, tally);
                }
            }
        }
        project
    }

    fn captured(name: &str) -> Project {
        let project = Project::copied(name);
        for build in &project.builds {
            let ran = ran(&mut project.folder.leakscope(["build", "--", "sh", "-ec", build]));
            assert_eq!(ran.code, 0, "{build}: {}", ran.stderr);
        }
        project
    }

    /// The program has the findings that it should have, and they come from
    /// the derived program and the derived `libraries`.
    fn check(&self, libraries: &[&str]) {
        let words = ["run", "--format", "json", "--keep-records", "records", &self.program, "--"];
        let mut command = self.folder.leakscope(words);
        let ran = ran(command.args(&self.arguments));
        assert_eq!((ran.code, &ran.stdout), (23, &self.stdout), "{}", ran.stderr);
        let json = ran.json();
        assert_eq!(json["engine"], "track");
        let differences = Lines::of_report(&json, true).differences(&self.expected, |_| false);
        assert!(differences.is_empty(), "{differences:#?}\n{json:#}");

        let derived = self.folder.path(".leakscope/derived/track");
        let mut own: Vec<PathBuf> =
            self.loaded().into_iter().filter(|path| path.starts_with(self.folder.path("."))).collect();
        own.sort();
        assert!(own.iter().all(|path| path.starts_with(&derived)), "{own:?}");
        let names: Vec<_> = own.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        for library in libraries {
            assert!(names.contains(library), "{library} is not among {names:?}");
        }
        assert_eq!(names.len(), libraries.len() + 1, "{names:?}");

        let again = self.folder.run(&format!("derive {}", self.program));
        assert!(again.code == 0 && again.stderr.starts_with("leakscope: 0 units made, "), "{again:?}");
    }

    /// The modules of the process that wrote the kept records.
    fn loaded(&self) -> Vec<PathBuf> {
        let processes = leakscope_trace::read_folder(&self.folder.path("records")).unwrap();
        let record = processes.last().and_then(|process| process.records.last()).expect("a record");
        record.modules.iter().map(|module| module.path.clone()).collect()
    }
}

/// Plugins that a program loads while it runs, by a path, through a link, by a
/// name that the loader looks for, and installed elsewhere.
#[test]
fn what_a_program_loads_itself() {
    const PLUGIN: &str = "\
#include <stdlib.h>
#include <string.h>
char *last;
int NAME(const char *word) {
    char *copy = strdup(word);
    if (strlen(copy) > 3)
        return -1;
    last = copy;
    return 0;
}
";
    const PROGRAM: &str = "\
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        void *plugin = dlopen(argv[i], RTLD_NOW);
        if (!plugin)
            return fprintf(stderr, \"%s\\n\", dlerror()), 1;
        int (*run)(const char *) = (int (*)(const char *))dlsym(plugin, argv[i + 1]);
        printf(\"%d\\n\", run(argv[i + 1]));
        dlclose(plugin);
    }
    return 0;
}
";
    let folder = Folder::with(&[("plugin.c", PLUGIN), ("host.c", PROGRAM)]);
    let shared = "cc -g -O2 -shared -fPIC plugin.c";
    folder.write(
        "build.sh",
        format!(
            "{shared} -DNAME=first -o first.so && {shared} -DNAME=second -o second.so && cc -g host.c -o host"
        ),
    );
    assert_eq!(folder.run("build --quiet -- sh -e build.sh").code, 0);
    folder.shell("mkdir there && cp second.so there/ && ln -s first.so link.so");
    for arguments in ["./first.so first", "./link.so first", "there/second.so second", "first.so first"] {
        let mut command = folder.leakscope(["run", "--format", "json", "./host", "--"]);
        command.args(arguments.split(' ')).env("LD_LIBRARY_PATH", folder.path("."));
        let ran = ran(&mut command);
        assert_eq!((ran.code, ran.stdout.as_str()), (23, "-1\n"), "{ran:?}");
        let report = ran.json();
        let finding = &report["findings"][0];
        assert_eq!(first_frame(&finding["leaked"]), "plugin.c:7", "{arguments}: {finding:#}");
        assert_eq!((&finding["variable"], &finding["exact"]), (&"copy".into(), &true.into()), "{arguments}");
    }
    // One that cannot be made anew is loaded as it is.
    folder.shell("rm -r .leakscope/derived");
    folder.write("plugin.c", "");
    let links = fs::read_dir(folder.path(".leakscope/links")).expect("links");
    for link in links.map(|link| link.expect("readable").path()) {
        let text = fs::read_to_string(&link).expect("text");
        fs::write(&link, text.replace("\"-shared\"", "\"-shared\" }, { \"flag\": \"-Wl,--no-such\""))
            .expect("writable");
    }
    let ran = folder.run("run ./host -- ./first.so first");
    assert!(ran.code == 23 && ran.stderr.contains("not instrumented: "), "{ran:?}");
}
