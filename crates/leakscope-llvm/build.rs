//! Writes a stand-in for each function of LLVM's C interface; those that
//! nobody calls the linker leaves out.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LLVM_SYS_191_PREFIX");
    let prefix = env::var("LLVM_SYS_191_PREFIX").expect("`.cargo/config.toml` says where LLVM is");
    let link = Path::new(&prefix).join("lib/libLLVM-19.so");
    let library = fs::canonicalize(&link).unwrap_or_else(|error| {
        panic!("cannot find {}: {error}; `scripts/setup.sh build` installs it", link.display())
    });
    println!("cargo::rerun-if-changed={}", library.display());
    println!("cargo::rustc-env=LLVM_LIBRARY={}", library.display());

    let list =
        Command::new("nm").args(["--dynamic", "--defined-only"]).arg(&library).output().expect("nm runs");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let functions: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_once(" T ")?.1.split('@').next())
        .filter(|name| name.starts_with("LLVM"))
        .collect();
    assert!(functions.len() > 1000, "{} has the C interface", library.display());

    let mut assembly = String::new();
    for name in functions {
        writeln!(assembly, "leakscope_llvm_stand_in {name}").expect("memory is there");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("stand_ins.s"), assembly).expect("OUT_DIR is writable");
}
