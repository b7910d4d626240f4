//! Builds the runtimes that go into target programs: as an object for linking,
//! as a shared object for preloading, and as an object for programs that tell
//! terms. All become part of the `leakscope` executable, so that they are
//! always found and always fit.

#[path = "build_valgrind.rs"]
mod valgrind;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let workspace = Path::new("../..").canonicalize().expect("the workspace is two folders up");
    for source in [
        "crates/leakscope-rt",
        "crates/leakscope-rt-symbolic",
        "crates/leakscope-wire",
        "crates/leakscope-instrument",
        "Cargo.toml",
    ] {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }

    let target = out.join("runtime");
    cargo(&workspace, &target, "leakscope-rt", "staticlib", &["--features", "executable"]);
    let object = only_member(&target, "leakscope_rt", &out);
    cargo(&workspace, &target, "leakscope-rt", "cdylib", &[]);
    let preload = target.join("runtime/libleakscope_rt.so");
    cargo(&workspace, &target, "leakscope-rt-symbolic", "staticlib", &[]);
    let symbolic = only_member(&target, "leakscope_rt_symbolic", &out);

    // Linked in where all code of a program keeps frame pointers, and where it
    // was derived to sample accesses.
    let [whole, sampled] = ["whole", "sampled"].map(|name| marker(&out, name));

    valgrind::build(&workspace, &out);

    let mut hasher = blake3::Hasher::new();
    for (variable, path) in [
        ("RUNTIME_OBJECT", &object),
        ("RUNTIME_PRELOAD", &preload),
        ("RUNTIME_WHOLE", &whole),
        ("RUNTIME_SAMPLED", &sampled),
        ("RUNTIME_SYMBOLIC", &symbolic),
    ] {
        println!("cargo::rustc-env={variable}={}", path.display());
        hasher.update(&fs::read(path).expect("built just now"));
    }
    for path in files_in(&workspace.join("crates/leakscope-instrument/src")) {
        hasher.update(&fs::read(path).expect("the workspace is whole"));
    }
    println!("cargo::rustc-env=RUNTIME_KEY={}", &hasher.finalize().to_hex()[..16]);

    let mut hasher = blake3::Hasher::new();
    for folder in
        ["crates/leakscope-analyze/src", "crates/leakscope-ir/src", "crates/leakscope-core/src", "models"]
    {
        println!("cargo::rerun-if-changed={}", workspace.join(folder).display());
        for path in files_in(&workspace.join(folder)) {
            hasher.update(&fs::read(path).expect("the workspace is whole"));
        }
    }
    println!("cargo::rustc-env=ANALYSIS_KEY={}", &hasher.finalize().to_hex()[..16]);
}

/// An object that only defines a symbol, by which the runtime knows something
/// of the program that it is linked into.
fn marker(out: &Path, name: &str) -> PathBuf {
    let (source, object) = (out.join(format!("{name}.s")), out.join(format!("{name}.o")));
    let symbol = format!("leakscope_{name}");
    let text =
        format!(".section .note.GNU-stack,\"\",@progbits\n.data\n.globl {symbol}\n{symbol}: .byte 1\n");
    fs::write(&source, text).expect("OUT_DIR is writable");
    run(Command::new("cc").arg("-c").arg(&source).arg("-o").arg(&object));
    object
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the workspace is whole");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

/// Builds the runtime. The flags are its own, whatever the workspace is built
/// with; the target folder is its own, so that cargo does not wait for itself.
fn cargo(workspace: &Path, target: &Path, package: &str, crate_type: &str, more: &[&str]) {
    let mut command = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    command.current_dir(workspace).args(["rustc", "--quiet", "--package", package, "--lib"]);
    command.args(["--profile", "runtime", "--crate-type", crate_type]).args(more);
    command.arg("--target-dir").arg(target);
    for variable in
        ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_TARGET_DIR"]
    {
        command.env_remove(variable);
    }
    command.env("RUSTFLAGS", "-C force-frame-pointers=yes -C force-unwind-tables=yes");
    run(&mut command);
}

/// After link-time optimisation all of the runtime is in one object of the
/// archive; the others are compiler support that it does not need.
fn only_member(target: &Path, name: &str, out: &Path) -> PathBuf {
    let archive = target.join(format!("runtime/lib{name}.a"));
    let list = Command::new("ar").arg("t").arg(&archive).output().expect("ar runs");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let start = format!("{name}-");
    let members: Vec<&str> = list.lines().filter(|member| member.starts_with(&start)).collect();
    let [member] = members[..] else { panic!("expected one object of the runtime, found {members:?}") };
    let object = out.join(format!("{name}.o"));
    let content = Command::new("ar").arg("p").arg(&archive).arg(member).output().expect("ar runs");
    fs::write(&object, content.stdout).expect("OUT_DIR is writable");
    // A program may have its own `operator new`, or even its own `malloc`.
    run(Command::new("objcopy").arg("--weaken").args(set_apart(&object)).arg(&object));
    object
}

/// Parts of the runtime that a program needs in a copy of itself, which writes
/// the records, or only if pointers are followed, it is C++ or has pools of its
/// own; or seldom.
const APART: [&str; 31] = [
    "6record",
    "4scan",
    "7holders",
    "4sink",
    "8rotation",
    "4text",
    "7details",
    "7moments",
    "6client",
    "5pools",
    "4left",
    "4ends",
    "3cxx",
    "5fault",
    "4park",
    "7signals",
    "6stamps",
    "4uses",
    "7watches",
    "11activations",
    "7history",
    "5loads",
    "6limits",
    "4only",
    "4maps",
    "4mode",
    "3api17go_on_selectively",
    "3api17begin_selectively",
    "6folder4tell",
    "6folder8make_all",
    "4lock",
];

/// Of these parts, what each program needs when it starts.
const NEEDED: [&str; 1] = ["7signals7install"];

/// Functions of libc's that few programs call.
const FEW_CALL: [&str; 5] = ["reallocarray", "posix_memalign", "aligned_alloc", "valloc", "pvalloc"];

/// The section for them, of which the runtime is told where it is.
const SELDOM: &str = "leakscope_seldom";

/// What programs call that are watched.
const WATCHED: [&str; 2] = ["leakscope_access", "leakscope_dispatch"];

/// Options for `objcopy` by which linkers put the code of these parts together,
/// and all the rest, whether it is likely or not: the system brings code into
/// memory in pieces of 64 KiB or more, and what is not used would come with what
/// is.
fn set_apart(object: &Path) -> Vec<String> {
    let list = Command::new("objdump").args(["-h", "-w"]).arg(object).output().expect("objdump runs");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let sections = list.lines().filter_map(|line| line.split_whitespace().nth(1)?.strip_prefix(".text."));
    let is_apart = |name: &str| {
        let module = name.strip_prefix("_ZN12leakscope_rt");
        let is_in = |parts: &[&str], module: &str| parts.iter().any(|part| module.starts_with(part));
        module.is_some_and(|module| is_in(&APART, module) && !is_in(&NEEDED, module))
            || FEW_CALL.contains(&name)
            || ["_Zn", "_Zd"].iter().any(|operator| name.starts_with(operator))
            || name.trim_start_matches('_').starts_with("leakscope_") && !WATCHED.contains(&name)
    };
    let renamed = |section: &str| {
        let name = section.strip_prefix("unlikely.").unwrap_or(section);
        let place = if is_apart(name) { SELDOM.to_owned() } else { format!(".text.{name}") };
        format!("--rename-section=.text.{section}={place}")
    };
    sections.map(renamed).collect()
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
}
