//! Makes the bindings to Valgrind's headers, for the version that is
//! installed. Without headers the crate is empty, so that the workspace still
//! builds: `--cfg valgrind` says that they are there.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=VALGRIND_INCLUDE");
    println!("cargo::rustc-check-cfg=cfg(valgrind)");
    let include = env::var("VALGRIND_INCLUDE").unwrap_or_else(|_| "/usr/include/valgrind".to_owned());
    println!("cargo::rerun-if-changed={include}/config.h");
    let header = Path::new("src/headers.h");
    println!("cargo::rerun-if-changed={}", header.display());
    if !Path::new(&include).join("pub_tool_tooliface.h").exists() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let platform = ["VGA_amd64", "VGO_linux", "VGP_amd64_linux", "VGPV_amd64_linux_vanilla"];
    let bindings = bindgen::Builder::default()
        .header(header.to_string_lossy())
        .clang_arg(format!("-I{include}"))
        .clang_args(platform.map(|name| format!("-D{name}=1")))
        .use_core()
        .layout_tests(false)
        .derive_debug(false)
        .prepend_enum_name(false)
        .allowlist_function("vgPlain_.*|.*IR.*|VG_.*")
        .allowlist_type(
            "vki_timeval|IR.*|Vex.*|vgPlain_.*|Vg.*|NSegment|SegKind|VexGuestAMD64State|vki_rlimit",
        )
        .allowlist_var("vgPlain_.*|VKI_.*|I[a-z]{2,3}_.*|Sk.*")
        .generate();
    match bindings {
        Ok(bindings) => {
            bindings.write_to_file(out.join("valgrind.rs")).expect("OUT_DIR is writable");
            println!("cargo::rustc-cfg=valgrind");
        }
        Err(error) => println!("cargo::warning=no bindings to Valgrind: {error}"),
    }
}
