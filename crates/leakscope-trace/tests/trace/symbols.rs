//! Addresses in programs that compilers made, by name and line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use leakscope_core::{Frame, Place};
use leakscope_wire::Reason;
use object::{Object, ObjectSymbol};
use tempfile::TempDir;

use crate::written::{Written, analysed};

/// The symbol `here` marks the address to be named.
const HERE: &str = "__asm__ volatile(\".globl here\\nhere: nop\");";

/// A program built in a folder of its own.
struct Built {
    folder: TempDir,
    here: u64,
}

impl Built {
    /// Compiles `source`, in which `HERE` stands for the mark.
    fn new(compiler: &str, flags: &[&str], source: &str) -> Built {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let name = if compiler.contains("++") { "source.cc" } else { "source.c" };
        fs::write(folder.path().join(name), source.replace("HERE", HERE)).expect("written");
        let built = Built { folder, here: 0 };
        built.run(compiler, &[flags, &[name, "-o", "program"]].concat());
        let bytes = fs::read(built.program()).expect("a program");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let here = file.symbols().find(|symbol| symbol.name() == Ok("here")).expect("the mark").address();
        Built { here, ..built }
    }

    fn run(&self, tool: &str, arguments: &[&str]) {
        let output = Command::new(tool)
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .expect("the tool runs");
        assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// The place of a call at the mark.
    fn place(&self, program: &Path) -> Place {
        let start = 0x5555_0000_0000;
        let path = self.program();
        let record = Written::new(1, 0, Reason::Exit)
            .modules(&[(path.to_str().expect("UTF-8"), start..start + 0x100_0000, 0..=0)])
            .stacks(&[(1, 0, &[start + self.here + 1])])
            .lost(&[(8, 1)]);
        let mut findings = analysed(vec![record], program).findings;
        findings.remove(0).allocated
    }

    /// Frames as `function file:line`, or without debug information `function
    /// module+`; inner ones in front in parentheses.
    fn check(&self, expected: &[&str]) {
        let frame = |frame: &Frame| {
            let function = frame.function.as_deref().unwrap_or("?");
            let module = frame.module.as_deref().unwrap_or("?");
            match (&frame.file, frame.line, frame.offset) {
                (Some(file), Some(line), None) => {
                    format!("{function} {}:{line}", file.rsplit('/').next().unwrap_or(file))
                }
                (Some(file), None, None) => {
                    format!("({function} {})", file.rsplit('/').next().unwrap_or(file))
                }
                (None, None, Some(offset)) => {
                    assert_eq!(offset, self.here);
                    format!("{function} {module}+")
                }
                _ => panic!("{frame:?}"),
            }
        };
        let place = self.place(&self.program());
        let found: Vec<String> = place.inner.iter().chain(&place.stack).map(frame).collect();
        assert_eq!(found, expected);
    }
}

const PLAIN: &str = "\
__attribute__((noinline)) void work(int n)
{
    if (n)
        HERE
}
int main(int argc, char **argv) { work(argc); return 0; }
";

#[test]
fn lines_by_both_compilers() {
    for compiler in ["gcc", "clang-19"] {
        for level in ["-O0", "-O2"] {
            Built::new(compiler, &["-g", level], PLAIN).check(&["work source.c:4"]);
        }
    }
}

#[test]
fn inlined_functions_are_frames() {
    let source = "\
static inline __attribute__((always_inline)) void inner(void)
{
    HERE
}
static inline __attribute__((always_inline)) void outer(void)
{
    inner();
}
int main(void)
{
    outer();
    return 0;
}
";
    for compiler in ["gcc", "clang-19"] {
        Built::new(compiler, &["-g", "-O2"], source).check(&[
            "inner source.c:3",
            "outer source.c:7",
            "main source.c:11",
        ]);
    }
}

#[test]
fn without_debug_information_the_symbol_is_there() {
    // The mark itself is the nearest symbol.
    Built::new("gcc", &["-g0"], PLAIN).check(&["here program+"]);
    let stripped = Built::new("gcc", &["-g0"], PLAIN);
    stripped.run("strip", &["program"]);
    stripped.check(&["? program+"]);
}

#[test]
fn cpp_names_are_demangled() {
    let source = "\
namespace shop {
template <class T> struct Box {
    __attribute__((noinline)) void put(T)
    {
        HERE
    }
};
}
int main()
{
    shop::Box<int>().put(1);
}
";
    for compiler in ["g++", "clang++-19"] {
        Built::new(compiler, &["-g"], source).check(&["shop::Box<int>::put(int) source.cc:5"]);
    }
}

#[test]
fn code_from_system_headers_is_the_systems() {
    // The line directive makes the compiler name a header.
    let source = "\
static inline __attribute__((always_inline)) void finish(void);
int main(void)
{
    finish();
    return 0;
}
# 10 \"/usr/include/c++/12/bits/stl_vector.h\"
static inline __attribute__((always_inline)) void finish(void) { HERE }
";
    Built::new("gcc", &["-g", "-O2"], source).check(&["(finish stl_vector.h)", "main source.c:4"]);
}

#[test]
fn debug_information_may_lie_in_another_file() {
    for folder in ["", ".debug/"] {
        let built = Built::new("gcc", &["-g", "-Wl,--build-id"], PLAIN);
        fs::create_dir(built.folder.path().join(".debug")).expect("a folder");
        let debug = format!("{folder}program.debug");
        built.run("objcopy", &["--only-keep-debug", "program", &debug]);
        built.run("objcopy", &["--strip-all", &format!("--add-gnu-debuglink={debug}"), "program"]);
        built.check(&["work source.c:4"]);
        // The debug file of another build is none.
        let other = Built::new("gcc", &["-g", "-O2", "-Wl,--build-id"], PLAIN);
        fs::copy(other.program(), built.folder.path().join(&debug)).expect("copied");
        built.check(&["? program+"]);
    }
}

#[test]
fn the_program_is_the_users_through_any_path_to_it() {
    let built = Built::new("gcc", &["-g"], PLAIN);
    let link = built.folder.path().join("link");
    std::os::unix::fs::symlink(built.program(), &link).expect("a link");
    assert_eq!(built.place(&link), built.place(&built.program()));
}

#[test]
fn executables_among_the_systems_libraries_are_the_users() {
    let record = Written::new(1, 0, Reason::Exit)
        .modules(&[
            ("/usr/lib/gcc/collect2", 0x1000..0x2000, 0..=0),
            ("/usr/lib/libx.so", 0x4000..0x5000, 0..=0),
        ])
        .stacks(&[(1, 0, &[0x4801, 0x1801])])
        .lost(&[(8, 1)]);
    let findings = analysed(vec![record], Path::new("/home/x/program")).findings;
    let modules: Vec<_> = findings[0].allocated.stack.iter().map(|frame| frame.module.as_deref()).collect();
    assert_eq!(modules, [Some("collect2")]);
}
