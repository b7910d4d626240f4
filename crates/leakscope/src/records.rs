//! The folder that the target writes its records to.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Kept for the user, or gone with the run.
pub enum Records {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Records {
    pub fn new(kept: Option<&Path>) -> Result<Records> {
        match kept {
            Some(folder) => {
                fs::create_dir_all(folder).with_context(|| format!("cannot write {}", folder.display()))?;
                let path = fs::canonicalize(folder)?;
                if fs::read_dir(&path)?.next().is_some() {
                    bail!("{} is not empty: give --keep-records a new folder", folder.display());
                }
                Ok(Records::Kept(path))
            }
            None => {
                let folder = tempfile::Builder::new().prefix("leakscope-").tempdir().with_context(|| {
                    format!("cannot write to {}: set TMPDIR to a folder with room", env::temp_dir().display())
                })?;
                Ok(Records::Temporary(folder))
            }
        }
    }

    /// The folder, which stays.
    pub fn leave(self) -> PathBuf {
        match self {
            Records::Kept(path) => path,
            Records::Temporary(folder) => folder.keep(),
        }
    }

    /// Says where there is no room for what the program should have written.
    pub fn check_room(&self) -> Result<()> {
        let probe = self.path().join("room");
        fs::write(&probe, [0; 1 << 16]).with_context(|| {
            format!("no record, for {} is full: set TMPDIR to a folder with room", self.path().display())
        })?;
        Ok(fs::remove_file(probe)?)
    }

    pub fn path(&self) -> &Path {
        match self {
            Records::Kept(path) => path,
            Records::Temporary(folder) => folder.path(),
        }
    }
}
