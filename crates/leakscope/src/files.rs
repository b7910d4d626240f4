//! Bare source files as targets.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::runtime;

/// Whether a target is a source file, by its name.
pub fn is_source(path: &Path) -> bool {
    let known = ["c", "C", "cc", "cp", "cpp", "CPP", "cxx", "c++", "i", "ii"];
    path.extension().and_then(OsStr::to_str).is_some_and(|extension| known.contains(&extension))
}

/// The capture of bare source files, apart from the user's folders.
pub fn bare_store(files: &[PathBuf]) -> Result<PathBuf> {
    let mut names = Vec::new();
    for file in files {
        let path = fs::canonicalize(file).with_context(|| format!("cannot read {}", file.display()))?;
        names.extend_from_slice(path.as_os_str().as_encoded_bytes());
        names.push(0);
    }
    Ok(runtime::cache_folder()?.join("files").join(leakscope_capture::store::hash(&[&names])))
}
