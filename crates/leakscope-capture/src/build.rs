//! Runs the user's build command with shims in `PATH`, and sums up what they
//! captured.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::error::CaptureError;
use crate::interrupt;
use crate::real::{BY_PATH, LAUNCHERS, is_compiler_name, is_linker_name, search_path_without_shims};
use crate::session::{EVENTS, STORE, Told};
use crate::store::{Failure, Input, Store, StoreError};

/// How a build went, and what was captured of it. Its `Display` is the
/// closing summary.
#[derive(Clone, Debug)]
pub struct BuildSummary {
    /// Of the build command; `None` where there was none to run.
    pub status: Option<ExitStatus>,
    pub units: usize,
    pub links: usize,
    /// Objects that were linked and not captured, in this build or before.
    pub unseen: usize,
    /// Assembler sources, which have no bitcode and are kept as objects.
    pub assembler: usize,
    pub failures: Vec<Failure>,
    /// Calls of a compiler that made nothing to capture.
    pub probes: usize,
}

/// Runs `command` and captures into `store`. `leakscope_exe` is the program
/// that calls [`crate::shim`] when it runs under another name than its own.
pub fn build(
    store: &Store,
    leakscope_exe: &Path,
    command: &[OsString],
) -> Result<BuildSummary, CaptureError> {
    let (program, arguments) = command.split_first().ok_or(CaptureError::NoCommand)?;
    let search_path = search_path_without_shims();
    let shims = Shims::make(store, leakscope_exe, &search_path)?;
    store.remove_unfinished();

    let events = tempfile::NamedTempFile::new()
        .map_err(|source| CaptureError::Io { path: env::temp_dir(), source })?;
    let mut build = Command::new(program);
    build.args(arguments).env(STORE, store.root()).env(EVENTS, events.path());
    build.env("PATH", prepend(&shims.folder, &search_path));
    for variable in ["CC", "CXX"] {
        if let Some(compiler) = env::var_os(variable) {
            build.env(variable, shims.stand_in_for(&compiler)?);
        }
    }
    let failed = |source| CaptureError::Run { program: program.to_string_lossy().into_owned(), source };
    // The build gets the interrupt too and ends by it; we sum up after it.
    let status = interrupt::outlive(&mut build).map_err(failed)?;
    store.remove_unfinished();
    let told = Told::read(events.path());
    let unseen = unseen_objects(store, &told);
    Ok(BuildSummary { unseen, ..BuildSummary::new(Some(status), told) })
}

/// How many objects of the links were not captured. The system's own
/// (`crt1.o`) are not among a link's arguments.
fn unseen_objects(store: &Store, told: &Told) -> usize {
    let links = told.links.iter().filter_map(|id| store.link(id).ok());
    let objects = links.flat_map(|link| link.arguments).filter_map(|input| match input {
        Input::Object { path, .. } => Some(path),
        _ => None,
    });
    objects.collect::<BTreeSet<_>>().len()
}

impl BuildSummary {
    pub(crate) fn new(status: Option<ExitStatus>, told: Told) -> BuildSummary {
        BuildSummary {
            status,
            units: told.units.len(),
            links: told.links.len(),
            unseen: 0,
            assembler: told.assembler.len(),
            failures: told.failures,
            probes: told.probes,
        }
    }
}

impl fmt::Display for BuildSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "captured {}, {}", count(self.units, "unit"), count(self.links, "link"))?;
        if self.assembler > 0 {
            write!(f, ", {} kept unchanged", count(self.assembler, "assembler file"))?;
        }
        if !self.failures.is_empty() {
            write!(f, "; {} not captured:", self.failures.len())?;
            for failure in self.failures.iter().take(FAILURES_SHOWN) {
                let name = failure.what.strip_prefix(&failure.directory).unwrap_or(&failure.what);
                write!(f, "\n  {}: {}", name.display(), failure.reason)?;
            }
            if self.failures.len() > FAILURES_SHOWN {
                write!(f, "\n  and {} more", self.failures.len() - FAILURES_SHOWN)?;
            }
        }
        let succeeded = self.status.is_none_or(|status| status.success());
        if self.units + self.assembler + self.failures.len() > 0 || !succeeded {
            return Ok(());
        }
        let problem = match (self.unseen, self.links + self.probes) {
            (0, 0) => "The build called no compiler through PATH.".to_owned(),
            (0, _) => return Ok(()),
            (unseen, _) => format!("{} linked that no compiler in PATH had made.", count(unseen, "object")),
        };
        write!(
            f,
            "\n{problem} If the build was up to date, clean it first; if it was configured with the compiler's \
             absolute path, as cmake does, configure it again under `leakscope build`, or use `leakscope build \
             --compdb compile_commands.json`."
        )
    }
}

const FAILURES_SHOWN: usize = 20;

fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// The folder of stand-ins for the compilers that there are.
struct Shims {
    folder: PathBuf,
    exe: PathBuf,
}

impl Shims {
    fn make(store: &Store, exe: &Path, search_path: &OsStr) -> Result<Shims, CaptureError> {
        let exe =
            fs::canonicalize(exe).map_err(|source| CaptureError::Io { path: exe.to_owned(), source })?;
        let shims = Shims { folder: store.root().join("shims"), exe };
        let mut names: BTreeSet<OsString> = BTreeSet::from(["cc".into()]);
        for folder in env::split_paths(search_path) {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            let names_there = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
            names.extend(names_there.filter(|name| name.to_str().is_some_and(is_shimmed)));
        }
        for name in names {
            shims.put(&shims.folder.join(name))?;
        }
        shims.renew(&shims.folder.join(BY_PATH))?;
        Ok(shims)
    }

    /// A project that was configured under another leakscope goes on with the
    /// stand-ins that it found then: they become this one's.
    fn renew(&self, folder: &Path) -> Result<(), StoreError> {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder { self.renew(&entry.path())? } else { self.put(&entry.path())? }
        }
        Ok(())
    }

    fn put(&self, path: &Path) -> Result<(), StoreError> {
        if fs::read_link(path).is_ok_and(|target| target == self.exe) {
            return Ok(());
        }
        let error = |source| StoreError::Write { path: path.to_owned(), source };
        fs::create_dir_all(path.parent().unwrap_or(&self.folder)).map_err(error)?;
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(error(source)),
            _ => symlink(&self.exe, path).map_err(error),
        }
    }

    /// The value of `CC` or `CXX` with a compiler that is named by an
    /// absolute path replaced; other names are found through `PATH`.
    fn stand_in_for(&self, value: &OsStr) -> Result<OsString, StoreError> {
        let Some(text) = value.to_str() else { return Ok(value.to_owned()) };
        let (first, rest) = text.split_once(' ').map_or((text, ""), |(first, rest)| (first, rest));
        let path = Path::new(first);
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !path.is_absolute() || path.starts_with(&self.folder) || !is_shimmed(name) {
            return Ok(value.to_owned());
        }
        let shim = self.folder.join(BY_PATH).join(first.trim_start_matches('/'));
        self.put(&shim)?;
        let mut replaced = shim.into_os_string();
        if !rest.is_empty() {
            replaced.push(" ");
            replaced.push(rest);
        }
        Ok(replaced)
    }
}

/// Whether a program of this name is one that [`crate::shim`] stands in for.
pub fn is_shimmed(name: &str) -> bool {
    is_compiler_name(name) || is_linker_name(name) || LAUNCHERS.contains(&name)
}

fn prepend(folder: &Path, search_path: &OsStr) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(search_path);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(summary: BuildSummary, expected: &str) {
        assert_eq!(summary.to_string(), expected);
    }

    #[test]
    fn summaries() {
        let failure = Failure {
            what: "/p/src/x.c".into(),
            directory: "/p".into(),
            reason: "src/x.c:1:1: error: nested functions".into(),
        };
        let summary = BuildSummary {
            status: None,
            units: 1,
            links: 2,
            unseen: 0,
            assembler: 0,
            failures: vec![],
            probes: 0,
        };
        check(summary.clone(), "captured 1 unit, 2 links");
        check(
            BuildSummary { failures: vec![failure.clone()], ..summary.clone() },
            "captured 1 unit, 2 links; 1 not captured:\n  src/x.c: src/x.c:1:1: error: nested functions",
        );
        check(
            BuildSummary { assembler: 1, ..summary.clone() },
            "captured 1 unit, 2 links, 1 assembler file kept unchanged",
        );
        let many = BuildSummary { failures: vec![failure; 22], ..summary.clone() }.to_string();
        assert!(many.ends_with("\n  and 2 more"), "{many}");
        let nothing = BuildSummary { units: 0, links: 0, ..summary.clone() }.to_string();
        assert!(nothing.starts_with("captured 0 units, 0 links\nThe build called no compiler"), "{nothing}");
        check(BuildSummary { units: 0, links: 0, probes: 3, ..summary.clone() }, "captured 0 units, 0 links");
        let unseen = BuildSummary { units: 0, unseen: 2, ..summary }.to_string();
        assert!(unseen.starts_with("captured 0 units, 2 links\n2 objects linked that no"), "{unseen}");
    }
}
