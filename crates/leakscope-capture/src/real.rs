//! Which program a shim stands for, and the environment it runs in: without
//! the shims, so that what it calls, a compiler cache for one, sees none.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::session;

/// Below the folder of the shims: stand-ins for compilers that the user
/// names by an absolute path, at that path.
pub const BY_PATH: &str = "at";

/// Programs that run the compiler named by their first argument.
pub const LAUNCHERS: &[&str] = &["ccache", "distcc", "icecc", "sccache"];

/// A program as it would have run without us.
pub struct Real {
    /// Absolute path of the program.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// `PATH` without the shims.
    pub search_path: OsString,
    /// What the caller called it.
    name: OsString,
}

impl Real {
    pub fn find(invoked_as: &OsStr, mut arguments: Vec<OsString>) -> Option<Real> {
        let search_path = search_path_without_shims();
        let program = resolve(invoked_as, &search_path)?;
        let is_launcher = LAUNCHERS.iter().any(|name| program.file_name() == Some(OsStr::new(name)));
        if is_launcher
            && let Some(compiler) = arguments.first_mut()
            && Path::new(compiler).is_absolute()
            && is_shim(Path::new(compiler))
        {
            *compiler = resolve(compiler, &search_path)?.into();
        }
        Some(Real { program, arguments, search_path, name: invoked_as.to_owned() })
    }

    /// The compiler and its arguments, behind a launcher if there is one.
    /// `None` if a launcher is called for something else.
    pub fn compiler(&self) -> Option<(PathBuf, &[OsString])> {
        if !LAUNCHERS.iter().any(|name| self.program.file_name() == Some(OsStr::new(name))) {
            return Some((self.program.clone(), &self.arguments));
        }
        let (compiler, arguments) = self.arguments.split_first()?;
        let named = |name: &OsStr| name.to_str().is_some_and(is_compiler_name);
        Path::new(compiler).file_name().filter(|name| named(name))?;
        Some((resolve(compiler, &self.search_path)?, arguments))
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // gcc finds its parts by this name, unless it is a bare one.
        if Path::new(&self.name).components().count() == 1 {
            command.arg0(&self.name);
        }
        command
            .args(&self.arguments)
            .env("PATH", &self.search_path)
            .env_remove(session::STORE)
            .env_remove(session::EVENTS);
        command
    }
}

/// `cc`, `g++-12`, `x86_64-linux-gnu-gcc`, `clang-19`, ….
pub fn is_compiler_name(name: &str) -> bool {
    let is_version = |end: &str| end.starts_with(|c: char| c.is_ascii_digit());
    let name = match name.rsplit_once('-') {
        Some((start, end)) if is_version(end) => start,
        _ => name,
    };
    let base = name.rsplit_once('-').map_or(name, |(_, base)| base);
    ["cc", "gcc", "clang", "c++", "g++", "clang++", "c89", "c99"].contains(&base)
}

/// Linkers that a build may call itself.
pub fn is_linker_name(name: &str) -> bool {
    ["ld", "ld.bfd", "ld.gold", "ld.lld"].contains(&name)
}

/// First `name` in `search_path`.
pub fn find_in(search_path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    env::split_paths(search_path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

pub fn search_path_without_shims() -> OsString {
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let folders = env::split_paths(&path).filter(|folder| !is_shim(&folder.join("cc")));
    env::join_paths(folders).expect("parts of a PATH make a PATH")
}

fn resolve(called: &OsStr, search_path: &OsStr) -> Option<PathBuf> {
    let path = Path::new(called);
    if path.is_absolute() {
        let shims = path.ancestors().find(|folder| folder.ends_with(Path::new("shims").join(BY_PATH)));
        if let Some(real) = shims.and_then(|shims| path.strip_prefix(shims).ok()) {
            return Some(Path::new("/").join(real));
        }
    }
    if path.components().count() > 1 && !is_shim(path) {
        return std::path::absolute(path).ok();
    }
    find_in(search_path, path.file_name()?)
}

/// A link to this program under another name.
fn is_shim(path: &Path) -> bool {
    let ours = env::current_exe().and_then(std::fs::canonicalize);
    match (ours, std::fs::canonicalize(path)) {
        (Ok(ours), Ok(path)) => ours == path,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_compiler_name;

    #[test]
    fn compiler_names() {
        for name in ["cc", "gcc-12", "x86_64-linux-gnu-g++-12", "clang-19", "clang++", "c99-gcc", "gcc-4.9"] {
            assert!(is_compiler_name(name), "{name}");
        }
        for name in ["gcc-ar", "clang-format", "clang-cpp-19", "ccache", "occ", "gcc-nm-12", "cpp"] {
            assert!(!is_compiler_name(name), "{name}");
        }
    }
}
