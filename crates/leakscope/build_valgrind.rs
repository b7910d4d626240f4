//! Builds the Valgrind tool and what it preloads, if Valgrind's headers and
//! archives are there. If not, leakscope is built without, and says so when
//! the engine is asked for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program asks of the tool. A request is four rotations that do
/// nothing and an exchange; `rax` points to its number, `rdx` has the answer.
/// At its start, the program gets a handler if snapshots are by signal.
const REQUESTS: &str = r#"
.section .note.GNU-stack,"",@progbits
.section .init_array,"aw"
    .quad start
.text
.globl __leakscope_snapshot
.type __leakscope_snapshot, @function
__leakscope_snapshot:
    mov $0x4c530000, %edi
request:
    sub $48, %rsp
    mov %rdi, (%rsp)
    mov %rsp, %rax
    mov $-1, %rdx
    rol $3, %rdi
    rol $13, %rdi
    rol $61, %rdi
    rol $51, %rdi
    xchg %rbx, %rbx
    mov %edx, %eax
    add $48, %rsp
    ret
.size __leakscope_snapshot, .-__leakscope_snapshot

.macro pool name number
.globl __leakscope_pool_\name
.type __leakscope_pool_\name, @function
__leakscope_pool_\name:
    mov $0x4c530000 + \number, %eax
    jmp tell
.size __leakscope_pool_\name, .-__leakscope_pool_\name
.endm
pool allocated 2
pool resized 3
pool freed 4
pool cleared 5
pool moved 6
tell:
    sub $56, %rsp
    mov %rax, (%rsp)
    mov %rdi, 8(%rsp)
    mov %rsi, 16(%rsp)
    mov %rdx, 24(%rsp)
    mov %rcx, 32(%rsp)
    mov %r8, 40(%rsp)
    mov %rsp, %rax
    xor %edx, %edx
    rol $3, %rdi
    rol $13, %rdi
    rol $61, %rdi
    rol $51, %rdi
    xchg %rbx, %rbx
    add $56, %rsp
    ret

start:
    mov $0x4c530001, %edi
    call request
    test %eax, %eax
    jle 1f
    # rt_sigaction, restarting system calls.
    sub $32, %rsp
    lea on_signal(%rip), %rcx
    mov %rcx, (%rsp)
    movq $0x14000000, 8(%rsp)
    lea restore(%rip), %rcx
    mov %rcx, 16(%rsp)
    movq $0, 24(%rsp)
    mov %eax, %edi
    mov %rsp, %rsi
    xor %edx, %edx
    mov $8, %r10d
    mov $13, %eax
    syscall
    add $32, %rsp
1:  ret

on_signal:
    mov $0x4c530000, %edi
    jmp request

restore:
    mov $15, %eax
    syscall
"#;

/// Puts the tool's files into `out`, empty ones where they cannot be built,
/// and tells the crate where they are and for which version.
pub fn build(workspace: &Path, out: &Path) {
    println!("cargo::rerun-if-changed={}", workspace.join("crates/leakscope-valgrind").display());
    println!("cargo::rerun-if-changed=build_valgrind.rs");
    for variable in ["VALGRIND_INCLUDE", "VALGRIND_ARCHIVES"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let (tool, preload) = (out.join("leakscope-amd64-linux"), out.join("vgpreload_leakscope-amd64-linux.so"));
    let version =
        Installed::find().and_then(|installed| match installed.build(workspace, out, &tool, &preload) {
            Ok(()) => Some(installed.version),
            Err(reason) => {
                println!("cargo::warning=without the engine for unmodified programs: {reason}");
                None
            }
        });
    if version.is_none() {
        for path in [&tool, &preload] {
            fs::write(path, "").expect("OUT_DIR is writable");
        }
    }
    println!("cargo::rustc-env=VALGRIND_TOOL={}", tool.display());
    println!("cargo::rustc-env=VALGRIND_PRELOAD={}", preload.display());
    println!("cargo::rustc-env=VALGRIND_VERSION={}", version.unwrap_or_default());
}

/// What the system has of Valgrind's.
struct Installed {
    archives: PathBuf,
    version: String,
}

impl Installed {
    fn find() -> Option<Installed> {
        let include = env::var("VALGRIND_INCLUDE").unwrap_or_else(|_| "/usr/include/valgrind".to_owned());
        println!("cargo::rerun-if-changed={include}/config.h");
        let config = fs::read_to_string(Path::new(&include).join("config.h")).ok()?;
        let version = config.lines().find_map(|line| line.strip_prefix("#define VERSION "))?;
        let places = ["/usr/lib/x86_64-linux-gnu/valgrind", "/usr/lib64/valgrind", "/usr/lib/valgrind"];
        let archives = env::var_os("VALGRIND_ARCHIVES").map(PathBuf::from).into_iter();
        let archives = archives
            .chain(places.map(PathBuf::from))
            .find(|folder| folder.join("libcoregrind-amd64-linux.a").exists())?;
        Some(Installed { archives, version: version.trim().trim_matches('"').to_owned() })
    }

    fn build(&self, workspace: &Path, out: &Path, tool: &Path, preload: &Path) -> Result<(), String> {
        let target = out.join("valgrind");
        let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
        cargo.current_dir(workspace).args(["rustc", "--quiet", "--package", "leakscope-valgrind", "--lib"]);
        cargo.args(["--profile", "runtime", "--crate-type", "staticlib", "--target-dir"]).arg(&target);
        for variable in ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS"] {
            cargo.env_remove(variable);
        }
        run(&mut cargo)?;

        let archive = |name: &str| self.archives.join(format!("lib{name}-amd64-linux.a"));
        let mut link = Command::new("cc");
        link.args(["-static", "-no-pie", "-nodefaultlibs", "-nostartfiles"]);
        link.args(["-u", "_start", "-u", "vgPlain_tl_pre_clo_init"]);
        link.args(["-Wl,-Ttext-segment=0x58000000", "-Wl,--build-id=none", "-Wl,-z,noexecstack"]);
        // `tool.rs` has what is called instead.
        link.arg("-Wl,--wrap=vgModuleLocal_read_debuginfo_dwarf3");
        link.args(["-Wl,--gc-sections", "-s", "-o"]).arg(tool);
        link.arg(target.join("runtime/libleakscope_valgrind.a"));
        link.args([archive("coregrind"), archive("vex")]).arg("-lgcc").arg(archive("gcc-sup"));
        run(&mut link)?;

        let requests = out.join("requests.s");
        fs::write(&requests, REQUESTS).expect("OUT_DIR is writable");
        let mut link = Command::new("cc");
        link.args(["-shared", "-nodefaultlibs", "-nostartfiles", "-Wl,-z,interpose,-z,initfirst"]);
        link.arg("-Wl,--whole-archive").arg(archive("replacemalloc_toolpreload"));
        link.arg("-Wl,--no-whole-archive").arg(&requests).arg("-o").arg(preload);
        run(&mut link)
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if output.status.success() { Ok(()) } else { Err(format!("{last} ({command:?})")) }
}
