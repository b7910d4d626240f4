//! The smallest program that captures, for the tests: under its own name it
//! is `shim STORE COMMAND…` and builds, under another it is that compiler.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use leakscope_capture::{Store, build, shim};

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_default();
    if Path::new(&name).file_name() != Some("shim".as_ref()) {
        return shim(&name, arguments.collect());
    }
    let store = Store::create(Path::new(&arguments.next().expect("a store"))).expect("a store");
    let command: Vec<OsString> = arguments.collect();
    let exe = env::current_exe().expect("a path of this program");
    let summary = build(&store, &exe, &command).expect("a build");
    eprintln!("{summary}");
    ExitCode::from(summary.status.and_then(|status| status.code()).unwrap_or(1) as u8)
}
