//! The runtime for target programs, which this executable carries along.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Changes with the runtime and with what instrumentation does.
pub const KEY: &str = env!("RUNTIME_KEY");

static OBJECT: &[u8] = include_bytes!(env!("RUNTIME_OBJECT"));
static WHOLE: &[u8] = include_bytes!(env!("RUNTIME_WHOLE"));
static SAMPLED: &[u8] = include_bytes!(env!("RUNTIME_SAMPLED"));
static SYMBOLIC: &[u8] = include_bytes!(env!("RUNTIME_SYMBOLIC"));
static PRELOAD: &[u8] = include_bytes!(env!("RUNTIME_PRELOAD"));

/// The runtime as files.
pub struct Runtime {
    /// To be linked into a program.
    pub object: PathBuf,
    /// To be linked as well where all of a program's code was derived.
    pub whole: PathBuf,
    /// To be linked into a program that samples its accesses.
    pub sampled: PathBuf,
    /// To be linked into a program that tells terms, instead of all others.
    pub symbolic: PathBuf,
    /// To be preloaded.
    pub preload: PathBuf,
}

impl Runtime {
    /// Puts the files into the user's cache, where they are not there yet.
    pub fn unpack() -> Result<Runtime> {
        let folder = cache_folder()?.join(format!("runtime-{KEY}"));
        fs::create_dir_all(&folder).with_context(|| cannot_write(&folder))?;
        let place = |name: &str, content: &[u8]| place(&folder, name, content);
        Ok(Runtime {
            object: place("leakscope_rt.o", OBJECT)?,
            whole: place("whole.o", WHOLE)?,
            sampled: place("sampled.o", SAMPLED)?,
            symbolic: place("leakscope_rt_symbolic.o", SYMBOLIC)?,
            preload: place("libleakscope_preload.so", PRELOAD)?,
        })
    }
}

/// A file with this content in a folder of ours; made if it is not there yet.
pub fn place(folder: &Path, name: &str, content: &[u8]) -> Result<PathBuf> {
    let path = folder.join(name);
    if fs::metadata(&path).is_ok_and(|found| found.len() == content.len() as u64) {
        return Ok(path);
    }
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(|| cannot_write(folder))?;
    file.write_all(content).with_context(|| cannot_write(&path))?;
    file.persist(&path).with_context(|| cannot_write(&path))?;
    Ok(path)
}

/// Where things are kept that can be made again.
pub fn cache_folder() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let folder = base.map(|base| base.join("leakscope"));
    if let Some(folder) = folder.filter(|folder| fs::create_dir_all(folder).is_ok()) {
        return Ok(folder);
    }
    // SAFETY: no arguments, cannot fail.
    let user = unsafe { libc::getuid() };
    let folder = env::temp_dir().join(format!("leakscope-{user}"));
    fs::create_dir_all(&folder).with_context(|| cannot_write(&folder))?;
    Ok(folder)
}

pub fn cannot_write(path: &Path) -> String {
    format!("cannot write {}: set XDG_CACHE_HOME to a folder with room that you may write to", path.display())
}
