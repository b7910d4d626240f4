//! Projects of the build systems that configure themselves first.

mod project;

use project::{Project, summary};

const SOURCES: &[(&str, &str)] = &[
    ("main.c", "int helper(void);\nint library(void);\nint main(void) { return helper() + library(); }\n"),
    ("helper.c", "int helper(void) { return 0; }\n"),
    ("library.cc", "extern \"C\" int library() { return 0; }\n"),
];

const CMAKE: (&str, &str) = (
    "CMakeLists.txt",
    "cmake_minimum_required(VERSION 3.20)\n\
     project(p C CXX)\n\
     include(CheckFunctionExists)\n\
     check_function_exists(strlcpy HAVE_STRLCPY)\n\
     add_library(helper STATIC helper.c)\n\
     add_library(library SHARED library.cc)\n\
     add_executable(prog main.c)\n\
     target_link_libraries(prog helper library)\n",
);

const MESON: (&str, &str) = (
    "meson.build",
    "project('p', 'c', 'cpp')\n\
     meson.get_compiler('c').has_function('strlcpy')\n\
     helper = static_library('helper', 'helper.c')\n\
     library = shared_library('library', 'library.cc')\n\
     executable('prog', 'main.c', link_with: [helper, library])\n",
);

/// Configures and builds under capture in the folder `b`; the program there
/// must run, and be made of `parts`.
fn check(file: (&str, &str), configure: &str, make: &str, parts: &str) {
    let mut files = SOURCES.to_vec();
    files.push(file);
    let project = Project::new(&files);
    let configured = project.capture(configure);
    assert!(configured.status.success(), "{configured:?}");
    assert_eq!(summary(&configured), "captured 0 units, 0 links");
    let built = project.capture(make);
    assert!(built.status.success(), "{built:?}");
    assert_eq!(summary(&built), "captured 3 units, 2 links");
    assert_eq!(project.composition("b/prog"), parts);
    // What remembers the stand-ins works on without them.
    let again = project.plain(&format!("touch main.c; {make} && b/prog"));
    assert!(again.status.success(), "{again:?}");
}

#[test]
fn cmake() {
    let parts = "  main.c (/usr/bin/cc -O2)\n  b/libhelper.a\n    helper.c (/usr/bin/cc -O2)\n  \
                 b/liblibrary.so (captured shared library)";
    check(CMAKE, "cmake -S . -B b -DCMAKE_BUILD_TYPE=RelWithDebInfo", "cmake --build b -j2", parts);
}

#[test]
fn meson() {
    let parts = "  main.c (/usr/bin/cc -O0)\n  b/libhelper.a\n    helper.c (/usr/bin/cc -O0)\n  \
                 b/liblibrary.so (captured shared library)";
    check(MESON, "meson setup b", "ninja -C b", parts);
}
