//! The engine for programs as they are: finds Valgrind, puts our tool beside
//! its files in a folder of our own, and makes the command that runs a
//! program under it. No file of the system is changed.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use leakscope_core::{PoolFunction, PoolRole, PoolSize};

use crate::runtime::{self, place};

static TOOL: &[u8] = include_bytes!(env!("VALGRIND_TOOL"));
static PRELOAD: &[u8] = include_bytes!(env!("VALGRIND_PRELOAD"));
/// The version that the tool was built for; empty if there is no tool.
const VERSION: &str = env!("VALGRIND_VERSION");

/// Valgrind's file that it preloads into every program.
const CORE: &str = "vgpreload_core-amd64-linux.so";

/// A Valgrind that can run our tool.
pub struct Valgrind {
    launcher: PathBuf,
    /// Its files and ours.
    folder: PathBuf,
}

impl Valgrind {
    /// Says in one line what is missing if it cannot be used.
    pub fn find() -> Result<Valgrind> {
        if VERSION.is_empty() {
            bail!(
                "leakscope was built without Valgrind: install it with its headers (Debian: valgrind) and build again"
            );
        }
        let Some(named) = in_path("valgrind") else {
            bail!("there is no valgrind: install it (Debian: apt install valgrind)");
        };
        let found = version_of(&named)?;
        if found.is_empty() {
            bail!("{} does not say its version: install Valgrind again", named.display());
        }
        if found != VERSION {
            bail!("Valgrind is {found}, leakscope was built for {VERSION}: build leakscope again");
        }
        // Debian wraps it in a script that changes the program's environment.
        let real = named.with_extension("bin");
        let launcher = if real.is_file() { real } else { named };
        let Some(files) = files_of(&launcher) else {
            bail!("{} is there, but not its {CORE}: install all of Valgrind", launcher.display());
        };
        Ok(Valgrind { folder: unpack(&files)?, launcher })
    }

    /// Runs `program` with the tool, which writes to `records`; what Valgrind
    /// itself has to say goes there too, to files that end in `.log`.
    pub fn command(&self, program: &Path, records: &Path, options: &ToolOptions) -> Command {
        let mut command = Command::new(&self.launcher);
        command.env("VALGRIND_LIB", &self.folder);
        // Options of the user's own Valgrind runs are not meant for this.
        command.env_remove("VALGRIND_OPTS");
        command.args([
            "--tool=leakscope",
            "-q",
            "--command-line-only=yes",
            "--vgdb=no",
            "--trace-children=yes",
        ]);
        command.args(["--child-silent-after-fork=yes", "--sigill-diagnostics=yes", "--run-libc-freeres=no"]);
        command.arg("--run-cxx-freeres=no");
        let with = |name: &str, value: &dyn AsRef<std::ffi::OsStr>| {
            let mut option = OsString::from(name);
            option.push(value);
            option
        };
        command.arg(with("--log-file=", &escaped(&records.join("%p.log"))));
        command.arg(with("--records=", &records));
        command.arg(with("--socket=", &options.socket));
        command.arg(format!("--depth={}", options.depth));
        command.arg(format!("--last-use={}", if options.last_use { "yes" } else { "no" }));
        if let Some(every) = options.snapshot_every {
            command.arg(format!("--snapshot-every={}", every.as_millis()));
        }
        if let Some(signal) = options.snapshot_signal {
            command.arg(format!("--snapshot-signal={signal}"));
        }
        for function in &options.pools {
            command.arg(format!("--pool={}", pool_option(function)));
        }
        if let Some(frames) = &options.frames {
            command.arg(with("--frames=", frames));
        }
        if let Some(explained) = &options.explained {
            command.arg(with("--explain=", explained));
        }
        if options.has_operators {
            command.arg("--soname-synonyms=somalloc=nouserintercepts");
        }
        command.arg(program);
        command
    }
}

/// What our tool is told.
pub struct ToolOptions {
    /// Where it sends a record that it cannot write.
    pub socket: OsString,
    pub depth: u32,
    pub last_use: bool,
    pub snapshot_every: Option<std::time::Duration>,
    pub snapshot_signal: Option<i32>,
    /// The program has operators of its own around libc's `malloc`, which must run.
    /// What else has `malloc` in another place, Valgrind or the tool finds by itself.
    pub has_operators: bool,
    /// The program's own allocators.
    pub pools: Vec<PoolFunction>,
    /// Says where the program's locals end, if it was not optimised.
    pub frames: Option<PathBuf>,
    /// Names the blocks whose pointers are noted as they come and go, if that is to
    /// be explained.
    pub explained: Option<PathBuf>,
}

/// A function as our tool reads it.
fn pool_option(function: &PoolFunction) -> String {
    const NONE: u32 = 99;
    let or_none = |argument: Option<u32>| argument.unwrap_or(NONE);
    let (role, size, pointer, pool, result) = match function.role {
        PoolRole::Allocates { size, pool, result } => (0, Some(size), NONE, or_none(pool), or_none(result)),
        PoolRole::Resizes { pointer, size, pool } => (1, Some(size), pointer, or_none(pool), NONE),
        PoolRole::Frees { pointer } => (2, None, pointer, NONE, NONE),
        PoolRole::Clears { pool } => (3, None, NONE, pool, NONE),
        PoolRole::Moves { pointer, pool } => (4, None, pointer, pool, NONE),
    };
    let (kind, first, second) = match size {
        Some(PoolSize::Argument(size)) => (0, size.into(), 0),
        Some(PoolSize::Product(count, size)) => (1, count.into(), size),
        Some(PoolSize::Bytes(bytes)) => (2, bytes, 0),
        Some(PoolSize::String) | None => (3, 0, 0),
    };
    let kept = u8::from(function.is_kept);
    format!("{role},{kind},{first},{second},{pointer},{pool},{result},{kept},{}", function.name)
}

/// Why Valgrind could not go on, if it said so in its log.
pub fn complaint(records: &Path) -> Option<String> {
    let mut logs: Vec<PathBuf> =
        fs::read_dir(records).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.sort();
    let text = logs.iter().find_map(|path| fs::read_to_string(path).ok().filter(|text| !text.is_empty()))?;
    let lines = text.lines().map(|line| line.trim_start_matches(['=', '-', ' ']));
    let lines = lines.map(|line| line.trim_start_matches(|it: char| it.is_ascii_digit()));
    let mut lines = lines.map(|line| line.trim_start_matches(['=', '-', ' ', ':']).trim());
    let known = ["valgrind:", "unrecognised instruction", "FATAL", "the 'impossible' happened"];
    lines.find(|line| known.iter().any(|known| line.contains(known))).map(str::to_owned)
}

/// The folder with Valgrind's files and ours.
fn unpack(files: &Path) -> Result<PathBuf> {
    let key = leakscope_capture::store::hash(&[TOOL, PRELOAD, files.as_os_str().as_encoded_bytes()]);
    let folder = runtime::cache_folder()?.join(format!("valgrind-{key}"));
    fs::create_dir_all(&folder).with_context(|| runtime::cannot_write(&folder))?;
    let tool = place(&folder, "leakscope-amd64-linux", TOOL)?;
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755))?;
    place(&folder, "vgpreload_leakscope-amd64-linux.so", PRELOAD)?;
    for name in [CORE, "default.supp"] {
        let link = folder.join(name);
        if !link.exists() {
            let _ = fs::remove_file(&link);
            // Another run may have made it in the meantime.
            let made = symlink(files.join(name), &link);
            if !link.exists() {
                made.with_context(|| runtime::cannot_write(&link))?;
            }
        }
    }
    Ok(folder)
}

fn in_path(name: &str) -> Option<PathBuf> {
    let paths = env::var_os("PATH")?;
    env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn version_of(launcher: &Path) -> Result<String> {
    let output = Command::new(launcher)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {}", launcher.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.trim().trim_start_matches("valgrind-").to_owned())
}

/// Where Valgrind keeps its own files.
fn files_of(launcher: &Path) -> Option<PathBuf> {
    let launcher = fs::canonicalize(launcher).ok()?;
    let prefix = launcher.parent()?.parent()?;
    ["libexec/valgrind", "lib/valgrind", "lib/x86_64-linux-gnu/valgrind", "lib64/valgrind"]
        .iter()
        .map(|place| prefix.join(place))
        .find(|folder| folder.join(CORE).is_file())
}

/// A path in which Valgrind finds no `%` to replace, but for `%p`.
fn escaped(path: &Path) -> OsString {
    let text = path.to_string_lossy();
    text.replace('%', "%%").replace("%%p.log", "%p.log").into()
}
